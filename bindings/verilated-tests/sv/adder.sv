// Combinational: no clock.
module adder (
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [32:0] sum_o
);
  assign sum_o = {1'b0, a_i} + {1'b0, b_i};
endmodule
