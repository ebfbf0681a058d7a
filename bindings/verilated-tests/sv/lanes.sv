// Registers and memories that no port shows, in generated instances, to be read by name.
module lanes
  import kinds_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        write_i,
  input  logic        lane_i,
  input  logic [2:0]  row_i,
  input  logic [1:0]  column_i,
  input  logic [99:0] data_i,
  output logic        parity_o
);
  logic [39:0] count_q;
  meta_t       meta_q;
  logic [1:0]  parity;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q <= '0;
      meta_q  <= '{kind: Zero, psn: '0, addr: '0, last: 1'b0};
    end else if (write_i) begin
      count_q <= count_q + 40'd1;
      meta_q  <= '{kind: lane_i ? Two : One, psn: data_i[23:0], addr: {28'd0, data_i}, last: &row_i};
    end
  end

  for (genvar lane = 0; lane < 2; lane++) begin : g_lane
    lane_store u_store (
      .clk_i,
      .write_i (write_i && lane_i == 1'(lane)),
      .row_i,
      .column_i,
      .data_i,
      .parity_o(parity[lane])
    );
  end

  assign parity_o = ^{parity, count_q, meta_q};
endmodule
