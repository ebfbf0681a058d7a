// Earliest of the valid ones among `Count` deadlines; the farthest time if none is valid.
//
// Purely combinational: a tree of ⌈log2 Count⌉ levels of comparison.
module earliest
  import time_pkg::*;
#(
    parameter int unsigned Count = 8
) (
    input  cycle_t             now_i,
    input  logic   [Count-1:0] valid_i,
    input  cycle_t [Count-1:0] at_i,
    output cycle_t             at_o
);

  // Stored as a heap: node 0 is the root, node n has the children 2n + 1 and 2n + 2, the last `Count` nodes are the
  // leaves.
  cycle_t [2*Count-2:0] least;

  always_comb begin
    for (int unsigned i = 0; i < Count; i++) least[Count-1+i] = valid_i[i] ? at_i[i] : farthest(now_i);
    for (int n = int'(Count) - 2; n >= 0; n--)
    least[n] = earlier(least[2*n+1], least[2*n+2]) ? least[2*n+1] : least[2*n+2];
  end

  assign at_o = least[0];

endmodule
