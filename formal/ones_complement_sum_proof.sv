// Proof of the sum of IPv4 headers (ones_complement_sum and its use in ip_parser), for all headers.
//
// A sum of two words is 0 modulo 65,535 when they are each other's complement, or both all ones. The second form does
// not occur in the sum of a header, because some of its terms are always 0; so ip_parser does not look for it.
module ones_complement_sum_proof #(
    parameter int unsigned Lanes = 8  // words of a beat; a header has up to 15 words
) (
    input logic            [ 2:0][15:0] three_i,
    input logic [Lanes-1:0][31:0] first_i,
    input logic [Lanes-1:0][31:0] second_i
);

  // One step of the tree, which has only such steps.
  logic [1:0][15:0] two;
  logic [17:0] sum_of_three, sum_of_two;

  ones_complement_sum #(
      .Count(3),
      .Width(16)
  ) u_step (
      .terms_i(three_i),
      .sum_o  (two)
  );

  assign sum_of_three = 18'(three_i[0]) + 18'(three_i[1]) + 18'(three_i[2]);
  assign sum_of_two   = 18'(two[0]) + 18'(two[1]);

  // The header, as ip_parser gives it to the tree: in one or two beats, of which the last is not full.
  localparam bit TwoBeats = Lanes < 15;
  localparam int unsigned Last = TwoBeats ? 15 - Lanes : 15;
  logic [Lanes+1:0][31:0] first_terms, last_terms;
  logic [1:0][31:0] first_sum, last_sum;
  logic [1:0][15:0] halves;

  always_comb begin
    first_terms = {64'd0, first_i};
    last_terms  = {first_sum, second_i};
    if (TwoBeats) last_terms[Lanes-1:Last] = '0;
    else first_terms[Lanes-1:Last] = '0;
  end

  ones_complement_sum #(
      .Count(Lanes + 2)
  ) u_first (
      .terms_i(first_terms),
      .sum_o  (first_sum)
  );

  ones_complement_sum #(
      .Count(Lanes + 2)
  ) u_last (
      .terms_i(last_terms),
      .sum_o  (last_sum)
  );

  ones_complement_sum #(
      .Count(4),
      .Width(16)
  ) u_halves (
      .terms_i(TwoBeats ? last_sum : first_sum),
      .sum_o  (halves)
  );

  always_comb begin
    a_same_sum :
    assert (sum_of_three == sum_of_two || sum_of_three == sum_of_two + 18'd65535 ||
            sum_of_three == sum_of_two + 18'd131070);
    a_never_all_ones : assert (halves[0] != '1 || halves[1] != '1);
  end

endmodule
