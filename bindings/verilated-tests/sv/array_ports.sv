// Ports that are arrays of structs, unpacked and packed, and a memory of structs; each output is its input a cycle later,
// and `line_o` two cycles later.
module array_ports
  import cells_pkg::*;
(
  input  logic        clk_i,
  input  cell_t       cells_i [4],
  output cell_t       cells_o [4],
  input  cell_t [1:0] pair_i,
  output cell_t [1:0] pair_o,
  input  line_t       line_i,
  output line_t       line_o
);
  line_t lines_q [2];

  assign line_o = lines_q[1];

  always_ff @(posedge clk_i) begin
    cells_o    <= cells_i;
    pair_o     <= pair_i;
    lines_q[0] <= line_i;
    lines_q[1] <= lines_q[0];
  end
endmodule
