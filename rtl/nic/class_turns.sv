// Chooses one of eight offers, one per class, each of a QP: in rounds over the QPs, so that a class with many QPs has
// more turns than one with few. No QP is chosen twice in a round; a round ends when none of the offers is of a QP that
// has its turn. Among those that have it the lowest class comes first.
//
// Timing: the grant depends on the offers of the same cycle, not on `ready_i`. State changes only when an offer is
// taken.
module class_turns #(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [7:0]             offer_i,
    input  logic [7:0][QpBits-1:0] qp_i,
    output logic                   valid_o,
    output logic [7:0]             grant_o,  // one-hot; zero without an offer
    output logic [2:0]             class_o,  // of the grant; 0 without one
    input  logic                   ready_i
);

  logic [Qps-1:0] had_q;  // QPs that have had their turn
  logic [7:0] turns, wish;
  logic round;

  always_comb begin
    turns = '0;
    if (offer_i != '0) for (int unsigned c = 0; c < 8; c++) turns[c] = offer_i[c] && !had_q[qp_i[c]];
  end

  assign round   = turns == '0;
  assign wish    = round ? offer_i : turns;
  assign grant_o = wish & (~wish + 1'b1);
  assign valid_o = offer_i != '0;
  assign class_o = {grant_o[7:4] != '0, (grant_o & 8'hCC) != '0, (grant_o & 8'hAA) != '0};

  logic [Qps-1:0] had_d;
  always_comb begin
    had_d = had_q;
    if (valid_o && ready_i) begin
      if (round) had_d = '0;
      had_d[qp_i[class_o]] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) had_q <= '0;
    else had_q <= had_d;
  end

endmodule
