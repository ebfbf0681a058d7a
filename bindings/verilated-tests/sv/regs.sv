// Registers without reset, to see how they start; and a function with a local, to see that it starts the same everywhere.
module regs (
  input  logic         clk_i,
  input  logic         hold_i,
  output logic [6:0]   narrow_o,
  output logic [39:0]  middle_o,
  output logic [199:0] wide_o,
  output logic [31:0]  memory_o
);
  logic [31:0] words_q [32];
  logic [4:0]  at_q;

  function automatic logic [4:0] after(logic [4:0] at);
    logic [4:0] one;
    one = 5'd1;
    return at + one;
  endfunction

  assign memory_o = words_q[at_q];
  always_ff @(posedge clk_i) begin
    at_q <= after(at_q);
    if (!hold_i) begin
      narrow_o <= '0;
      middle_o <= '0;
      wide_o   <= '0;
      words_q[at_q] <= '0;
    end
  end
endmodule
