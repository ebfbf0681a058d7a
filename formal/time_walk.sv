// Time as a simulator may advance it: by one, or from an idle cycle by any jump that does not pass the wake cycle. It
// begins anywhere, and wraps.
module time_walk
  import time_pkg::*;
(
    input  logic   clk_i,
    input  logic   idle_i,
    input  cycle_t wake_i,
    input  cycle_t jump_i,  // unconstrained
    output cycle_t now_o
);

  cycle_t now_q;
  always_ff @(posedge clk_i) now_q <= (idle_i && earlier(now_q, jump_i) && !earlier(wake_i, jump_i)) ? jump_i : now_q + 1'b1;
  assign now_o = now_q;

endmodule
