// One's complement sum of `Count` words, as the sum of two words: carries out of the top bit come in again at the
// bottom, which is addition modulo 2^Width − 1. The halves of a 32-bit result have the same sum modulo 65,535 as the
// 16-bit words of the terms.
//
// Purely combinational, without carry chains: a tree of about log1.5 (Count / 2) levels of full adders.
module ones_complement_sum #(
    parameter int unsigned Count = 3,  // 3 or more; the last ones pass the fewest levels
    parameter int unsigned Width = 32
) (
    input  logic [Count-1:0][Width-1:0] terms_i,
    output logic [      1:0][Width-1:0] sum_o
);

  // A queue: each step takes three words from the front and appends two with the same sum, until two are left.
  localparam int unsigned Words = 3 * Count - 4;
  logic [Words-1:0][Width-1:0] words;

  // A word at a time, carries rotated as a whole: bit by bit, Verilator checks the bounds of every bit.
  always_comb begin
    logic [Width-1:0] carries;
    words = (Words * Width)'(terms_i);
    for (int unsigned k = 0; k < Count - 2; k++) begin
      words[Count+2*k] = words[3*k] ^ words[3*k+1] ^ words[3*k+2];
      carries = (words[3*k] & words[3*k+1]) | (words[3*k+2] & (words[3*k] | words[3*k+1]));
      words[Count+2*k+1] = {carries[Width-2:0], carries[Width-1]};
    end
  end

  assign sum_o = words[Words-1-:2];

endmodule
