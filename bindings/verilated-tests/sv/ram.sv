// A memory with one write port, read in the same cycle. No reset: it starts as the simulator starts it.
module ram #(
  parameter int unsigned Words = 1024
) (
  input  logic        clk_i,
  input  logic        write_i,
  input  logic [$clog2(Words)-1:0] addr_i,
  input  logic [63:0] data_i,
  output logic [63:0] data_o
);
  logic [63:0] words_q [Words];
  assign data_o = words_q[addr_i];
  always_ff @(posedge clk_i) if (write_i) words_q[addr_i] <= data_i;
endmodule
