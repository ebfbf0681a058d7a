// A memory of two dimensions that do not start at 0, and its last row as narrow cells.
module lane_store (
  input  logic        clk_i,
  input  logic        write_i,
  input  logic [2:0]  row_i,
  input  logic [1:0]  column_i,
  input  logic [99:0] data_i,
  output logic        parity_o
);
  logic [99:0]       wide_q [8:15][3:0];
  logic signed [6:0] narrow_q [4];

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      wide_q[{1'b1, row_i}][column_i] <= data_i;
      narrow_q[column_i]              <= data_i[6:0];
    end
  end

  assign parity_o = ^{wide_q[{1'b1, row_i}][column_i], narrow_q[column_i]};
endmodule
