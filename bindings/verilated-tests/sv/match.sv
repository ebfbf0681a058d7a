// A module whose name is a keyword of Rust.
module match (
  input  logic clk_i,
  input  logic d_i,
  output logic q_o
);
  always_ff @(posedge clk_i) q_o <= d_i;
endmodule
