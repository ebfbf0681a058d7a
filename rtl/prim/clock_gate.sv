// Clock gate: `clk_o` rises at the end of a cycle if `enable_i` was 1 in it.
//
// A group of units whose state does not change while `enable_i` is 0 can run on `clk_o` instead of `clk_i`: the results
// are the same, and a group that rests costs neither power nor, in simulation, time. `enable_i` has to be 1 in every
// cycle that changes the state of the group, reset included. It may depend on inputs of the same cycle.
//
// The cell is a latch, open while `clk_i` is 0, and an AND: the integrated clock gate of an ASIC library. Two macros
// replace it:
//
// - `CLOCK_GATE_WIRE`: `clk_o` is `clk_i`, so that the design has one clock. For formal proofs and for FPGAs whose
//   tools turn enables into clock enables.
// - `CLOCK_GATE_BUFGCE`: the clock buffer with enable of AMD's FPGAs.
module clock_gate (
    input  logic clk_i,
    input  logic enable_i,
    output logic clk_o
);

`ifdef CLOCK_GATE_WIRE
  logic unused_enable;
  assign unused_enable = enable_i;

  assign clk_o = clk_i;
`elsif CLOCK_GATE_BUFGCE
  BUFGCE u_buffer (
      .I (clk_i),
      .CE(enable_i),
      .O (clk_o)
  );
`else
  logic enable_q;

  always_latch if (!clk_i) enable_q = enable_i;

  assign clk_o = clk_i & enable_q;
`endif

endmodule
