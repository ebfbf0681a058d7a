// Earliest of the valid ones among `Count` deadlines.
//
// Purely combinational: a tree of ⌈log2 Count⌉ levels of comparison.
module earliest
  import time_pkg::*;
#(
    parameter int unsigned Count = 8
) (
    input  logic   [Count-1:0] valid_i,
    input  cycle_t [Count-1:0] at_i,
    output logic               valid_o,  // any is valid
    output cycle_t             at_o      // without meaning if none is
);

  // Stored as a heap: node 0 is the root, node n has the children 2n + 1 and 2n + 2, the last `Count` nodes are the
  // leaves.
  logic   [2*Count-2:0] valid;
  cycle_t [2*Count-2:0] least;

  always_comb begin
    for (int unsigned i = 0; i < Count; i++) {valid[Count-1+i], least[Count-1+i]} = {valid_i[i], at_i[i]};
    for (int n = int'(Count) - 2; n >= 0; n--) begin
      valid[n] = valid[2*n+1] || valid[2*n+2];
      least[n] = least[2*n+2];
      if (valid[2*n+1] && !(valid[2*n+2] && earlier(least[2*n+2], least[2*n+1]))) least[n] = least[2*n+1];
    end
  end

  assign valid_o = valid[0];
  assign at_o    = least[0];

endmodule
