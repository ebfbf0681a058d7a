// A register of more than 64 words, which Verilator sets at once, between others. Its reset value has zeros above the one.
module wide_reset (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        write_i,
  input  logic [11:0] at_i,
  input  logic        bit_i,
  output logic        below_o,
  output logic        wide_o,
  output logic        above_o
);
  logic [2303:0] below_q;
  logic [2303:0] wide_q;
  logic [2303:0] above_q;

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      below_q[at_i] <= bit_i;
      above_q[at_i] <= bit_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) wide_q <= 2304'd1 << 600;
    else if (write_i) wide_q[at_i] <= bit_i;
  end

  assign below_o = below_q[at_i];
  assign wide_o  = wide_q[at_i];
  assign above_o = above_q[at_i];
endmodule
