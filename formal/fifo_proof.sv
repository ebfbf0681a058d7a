// Proof of fifo: a word comes out unchanged, after exactly those that were in front of it; the count is right;
// nothing overflows; full throughput.
//
// An arbitrary word is followed from the cycle in which it goes in.
module fifo_proof #(
    parameter  int unsigned Depth     = 4,
    localparam int unsigned Width     = 4,
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic             clk_i,
    input logic             valid_i,
    input logic             ready_i,
    input logic [Width-1:0] data_i,
    input logic             follow_i
);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;

  logic ready, valid;
  logic [Width-1:0] data;
  logic [CountBits-1:0] count;
  fifo #(
      .Width(Width),
      .Depth(Depth)
  ) u_dut (
      .clk_i,
      .rst_i  (!started_q),
      .valid_i,
      .ready_o(ready),
      .data_i,
      .valid_o(valid),
      .ready_i,
      .data_o (data),
      .count_o(count)
  );

  logic push, pop;
  assign push = started_q && valid_i && ready;
  assign pop  = started_q && valid && ready_i;

  // The followed word, and the number of words in front of it
  logic follows_q = 1'b0;
  logic [CountBits-1:0] front_q;
  logic [Width-1:0] word_q;
  logic [CountBits-1:0] inside_q = '0;  // words that went in minus words that came out
  logic leaves;
  assign leaves = pop && follows_q && front_q == '0;

  always_ff @(posedge clk_i) begin
    inside_q <= inside_q + CountBits'(push) - CountBits'(pop);
    if (follows_q) begin
      if (leaves) follows_q <= 1'b0;
      else front_q <= front_q - CountBits'(pop);
    end else if (push && follow_i) begin
      follows_q <= 1'b1;
      front_q   <= inside_q - CountBits'(pop);
      word_q    <= data_i;
    end
  end

  // State of the previous cycle
  logic waited_q = 1'b0;
  logic [Width-1:0] offered_q;
  logic [2:0] ready_run_q = '0;  // consecutive cycles in which the FIFO was not empty and nothing was offered
  always_ff @(posedge clk_i) begin
    waited_q    <= started_q && valid && !ready_i;
    offered_q   <= data;
    ready_run_q <= (started_q && inside_q != '0 && !valid) ? ready_run_q + 3'd1 : '0;
  end

  // Position of the followed word: in the output register, or in the RAM at the read pointer plus the words in front.
  if (Depth > 1) begin : gen_where
    logic [31:0] slot, stored;
    assign stored = 32'(count) - 32'(valid);
    assign slot   = (32'(u_dut.gen_ram.read_q) + 32'(front_q) - 32'(valid)) % Depth;
    always_comb begin
      if (started_q) begin
        a_pointers :
        assert ((32'(u_dut.gen_ram.read_q) + stored) % Depth == 32'(u_dut.gen_ram.write_q) && 32'(u_dut.gen_ram.read_q) < Depth);
        a_word :
        assert (!follows_q || ((front_q == '0 && valid) ? data == word_q : u_dut.gen_ram.u_ram.words_q[slot[$clog2(
            Depth
        )-1:0]] == word_q));
      end
    end
  end else begin : gen_register
    always_comb begin
      if (started_q) begin
        a_register : assert (!follows_q || data == word_q);
      end
    end
  end

  always_comb begin
    if (started_q) begin
      a_count : assert (count == inside_q && 32'(inside_q) <= Depth);
      a_front : assert (!follows_q || front_q < inside_q);
      a_order : assert (!leaves || data == word_q);
      a_offer : assert (!valid || inside_q != '0);
      a_room : assert (ready == (32'(inside_q) != Depth));
      a_hold : assert (!waited_q || (valid && data == offered_q));
      a_latency : assert (ready_run_q == '0 || (Depth > 1 && ready_run_q == 3'd1 && valid));
    end
  end

endmodule
