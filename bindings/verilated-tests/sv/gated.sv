// Two registers, each behind a clock gate, one that is not, and logic behind all of them: when a gate opens, and what
// is counted, depends on all.
module gated (
    input  logic       clk_i,
    input  logic       rst_i,
    input  logic [3:0] step_i,
    input  logic [1:0] open_i,
    output logic [7:0] mixed_o,
    output logic [7:0] sum_o     // depends on inputs of the same cycle
);
  logic clk_a, clk_b;
  logic [7:0] a_q, b_q, c_q, mixed, turned;

  gate u_a (
      .clk_i,
      .enable_i(rst_i || (open_i[0] && turned[1])),
      .clk_o   (clk_a)
  );
  gate u_b (
      .clk_i,
      .enable_i(rst_i || (open_i[1] && mixed[0])),
      .clk_o   (clk_b)
  );

  assign mixed   = (a_q ^ {b_q[3:0], b_q[7:4]}) + c_q;
  assign turned  = mixed - {a_q[0], b_q[6:0]};
  assign mixed_o = mixed;
  assign sum_o   = mixed + 8'(step_i);

  always_ff @(posedge clk_a) a_q <= rst_i ? 8'h1 : a_q + 8'(step_i) + turned;
  always_ff @(posedge clk_b) b_q <= rst_i ? 8'h35 : b_q + mixed;
  always_ff @(posedge clk_i) c_q <= rst_i ? '0 : c_q + 8'(mixed[3]) + 8'd1;
endmodule
