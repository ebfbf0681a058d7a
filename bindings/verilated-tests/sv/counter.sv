// Counts the cycles in which en_i is set. Says so when it passes its limit.
module counter #(
  parameter int unsigned Width = 8,
  parameter int unsigned Limit = 200
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             en_i,
  output logic [Width-1:0] count_o,
  // The value that comes after the next edge: outputs that depend on inputs in the same cycle.
  output logic [Width-1:0] next_o
);
  assign next_o = rst_i ? '0 : count_o + Width'(en_i);

  always_ff @(posedge clk_i) count_o <= next_o;

  a_limit: assert property (@(posedge clk_i) int'(count_o) <= int'(Limit))
    else $error("count %0d is over %0d", count_o, Limit);
endmodule
