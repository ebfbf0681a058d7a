// Proof of class_scheduler: what two classes paid, while both offer packets, differs by no more than a longest packet
// of each costs and twice what a class may save up; a strict class goes before all others, the highest first; what is
// granted was offered.
//
// Two arbitrary classes of given costs are followed, and what they paid is counted by the proof itself.
module class_scheduler_proof #(
    parameter  int unsigned CostBits   = 2,
    parameter  int unsigned LengthBits = 2,
    parameter  logic [15:0] Costs      = 16'h6193,              // of the classes, two bits each
    localparam int unsigned PriceBits  = CostBits + LengthBits,
    localparam int unsigned DebtBits   = PriceBits + 2
) (
    input logic                         clk_i,
    input logic [7:0]                   wants_i,
    input logic [7:0]                   offer_i,
    input logic                         ready_i,
    input logic [     LengthBits-1:0]   length_i,
    input logic [2:0]                   who_i,
    input logic [2:0]                   other_i   // its number, exclusive or that of the followed one
);

  logic started_q = 1'b0;
  logic [2:0] who_q, beside_q, other;
  assign other = who_q ^ ((beside_q == '0) ? 3'd1 : beside_q);
  logic [7:0][CostBits-1:0] cost;
  assign cost = Costs;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      who_q   <= who_i;
      beside_q <= other_i;
    end
  end

  logic valid, settles;
  logic [7:0] grant;
  logic [2:0] chosen;

  class_scheduler #(
      .CostBits  (CostBits),
      .LengthBits(LengthBits)
  ) u_dut (
      .clk_i,
      .rst_i    (!started_q),
      .cost_i   (cost),
      .wants_i,
      .offer_i,
      .valid_o  (valid),
      .grant_o  (grant),
      .class_o  (chosen),
      .ready_i,
      .length_i,
      .settles_o(settles)
  );

  // Since both offer packets: what the followed one paid more than the other, and their debts when that began
  localparam int unsigned PaidBits = DebtBits + 2;
  logic live_q = 1'b0;
  logic signed [PaidBits-1:0] ahead_q = '0, began_q = '0, apart;
  logic [2:0] class_q;
  logic [PriceBits-1:0] price, most_who, most_other;

  assign price      = length_i * cost[class_q];
  assign most_who   = {LengthBits{1'b1}} * cost[who_q];
  assign most_other = {LengthBits{1'b1}} * cost[other];
  assign apart      = PaidBits'($signed(u_dut.debt_q[who_q])) - PaidBits'($signed(u_dut.debt_q[other]));

  always_ff @(posedge clk_i) begin
    class_q <= chosen;
    if (!started_q) live_q <= 1'b0;
    else if (!settles) begin
      live_q <= offer_i[who_q] && offer_i[other];
      if (!live_q) {ahead_q, began_q} <= {PaidBits'(0), apart};
    end else begin
      if (!wants_i[who_q] || !wants_i[other]) live_q <= 1'b0;
      if (class_q == who_q) ahead_q <= ahead_q + PaidBits'(price);
      if (class_q == other) ahead_q <= ahead_q - PaidBits'(price);
    end
  end

  // What a class may save up
  logic signed [PaidBits-1:0] saved;
  logic [CostBits-1:0] dearest;
  assign saved = PaidBits'({dearest, LengthBits'(0)}) + 1'b1;

  always_comb begin
    dearest = '0;
    for (int unsigned c = 0; c < 8; c++) if (cost[c] > dearest) dearest = cost[c];
  end

  logic [7:0] strict;
  for (genvar c = 0; c < 8; c++) begin : gen_strict
    assign strict[c] = offer_i[c] && cost[c] == '0;
  end

  // How far the followed ones can be apart
  logic signed [PaidBits-1:0] furthest, nearest;
  assign furthest = PaidBits'(most_who) + saved;
  assign nearest  = PaidBits'(most_other) + saved;

  always_comb begin
    if (started_q) begin
      a_one_hot : assert ((grant & (grant - 1'b1)) == '0);
      a_asked : assert ((grant & ~offer_i) == '0);
      a_busy : assert (valid == (offer_i != '0 && !settles) && valid == (grant != '0));
      a_strict : assert (!valid || strict == '0 || strict[chosen]);
      a_highest : assert (!valid || (strict >> chosen) <= 8'd1);
      a_paid : assert (!live_q || ahead_q == apart - began_q);
      a_share : assert (!live_q || (ahead_q <= furthest + nearest && ahead_q >= -(furthest + nearest)));
    end
  end

endmodule
