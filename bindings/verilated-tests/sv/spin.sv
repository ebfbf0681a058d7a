// A combinational loop that never settles while go_i is set.
module spin (
  input  logic clk_i,
  input  logic go_i,
  output logic turn_o
);
  /* verilator lint_off UNOPTFLAT */
  logic turn;
  assign turn = go_i & ~turn;
  /* verilator lint_on UNOPTFLAT */
  logic turn_q;
  always_ff @(posedge clk_i) turn_q <= turn;
  assign turn_o = turn_q;
endmodule
