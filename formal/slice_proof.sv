// Proof of register_slice: order, no loss, hold, one word per cycle.
module slice_proof (
    input logic       clk_i,
    input logic       valid_i,
    input logic       ready_i,
    input logic [3:0] data_i,
    input logic       follow_i
);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;

  logic ready, valid;
  logic [3:0] data;
  register_slice #(
      .Width(4)
  ) u_dut (
      .clk_i,
      .rst_i  (!started_q),
      .valid_i,
      .ready_o(ready),
      .data_i,
      .valid_o(valid),
      .ready_i,
      .data_o (data)
  );

  logic push, pop;
  assign push = started_q && valid_i && ready;
  assign pop  = started_q && valid && ready_i;

  logic [1:0] inside_q = '0, front_q;
  logic follows_q = 1'b0, leaves;
  logic [3:0] word_q, offered_q;
  logic waited_q = 1'b0, taken_q = 1'b0;
  assign leaves = pop && follows_q && front_q == '0;

  always_ff @(posedge clk_i) begin
    inside_q  <= inside_q + 2'(push) - 2'(pop);
    waited_q  <= started_q && valid && !ready_i;
    offered_q <= data;
    taken_q   <= started_q && ready_i;
    if (follows_q) begin
      if (leaves) follows_q <= 1'b0;
      else front_q <= front_q - 2'(pop);
    end else if (push && follow_i) begin
      follows_q <= 1'b1;
      front_q   <= inside_q - 2'(pop);
      word_q    <= data_i;
    end
  end

  always_comb begin
    if (started_q) begin
      a_count : assert (inside_q == 2'(valid) + 2'(!ready));
      a_front : assert (!follows_q || front_q < inside_q);
      a_word : assert (!follows_q || (front_q == '0 ? data == word_q : u_dut.spare_q == word_q));
      a_order : assert (!leaves || data == word_q);
      a_hold : assert (!waited_q || (valid && data == offered_q));
      a_offer : assert ((inside_q != '0) == valid);
      a_throughput : assert (!taken_q || ready);
    end
  end

endmodule
