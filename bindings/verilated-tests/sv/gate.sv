// A clock gate: a latch that is open while the clock is 0, and an AND.
module gate (
    input  logic clk_i,
    input  logic enable_i,
    output logic clk_o
);
  logic enable_q;

  always_latch if (!clk_i) enable_q = enable_i;

  assign clk_o = clk_i & enable_q;
endmodule
