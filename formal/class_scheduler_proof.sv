// Proof of class_scheduler: what two classes paid, while both offer packets, differs by no more than a longest packet
// of each costs; a strict class goes before all others, the highest first; what is granted was offered.
//
// Two arbitrary classes are followed, and what they paid is counted by the proof itself.
module class_scheduler_proof #(
    parameter  int unsigned CostBits   = 2,
    parameter  int unsigned LengthBits = 2,
    localparam int unsigned DebtBits   = CostBits + LengthBits
) (
    input logic                         clk_i,
    input logic [7:0][    CostBits-1:0] cost_i,
    input logic [7:0]                   offer_i,
    input logic                         ready_i,
    input logic [     LengthBits-1:0]   length_i,
    input logic [2:0]                   who_i,
    input logic [2:0]                   other_i   // its number, exclusive or that of the followed one
);

  logic started_q = 1'b0;
  logic [2:0] who_q, beside_q, other;
  assign other = who_q ^ ((beside_q == '0) ? 3'd1 : beside_q);
  logic [7:0][CostBits-1:0] cost_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      who_q   <= who_i;
      beside_q <= other_i;
      cost_q  <= cost_i;
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
      .cost_i   (cost_q),
      .offer_i,
      .valid_o  (valid),
      .grant_o  (grant),
      .class_o  (chosen),
      .ready_i,
      .length_i,
      .settles_o(settles)
  );

  // Since both offer packets: what the followed one paid more than the other, and their debts when that began
  localparam int unsigned PaidBits = DebtBits + 3;
  logic live_q = 1'b0;
  logic signed [PaidBits-1:0] ahead_q = '0, began_q = '0, apart;
  logic [2:0] class_q;
  logic [DebtBits-1:0] price, most_who, most_other;

  assign price      = length_i * cost_q[class_q];
  assign most_who   = {LengthBits{1'b1}} * cost_q[who_q];
  assign most_other = {LengthBits{1'b1}} * cost_q[other];
  assign apart      = PaidBits'(u_dut.debt_q[who_q]) - PaidBits'(u_dut.debt_q[other]);

  always_ff @(posedge clk_i) begin
    class_q <= chosen;
    if (!started_q) live_q <= 1'b0;
    else if (!settles) begin
      live_q <= offer_i[who_q] && offer_i[other];
      if (!live_q) {ahead_q, began_q} <= {PaidBits'(0), apart};
    end else begin
      if (class_q == who_q) ahead_q <= ahead_q + PaidBits'(price);
      if (class_q == other) ahead_q <= ahead_q - PaidBits'(price);
    end
  end

  logic [7:0] strict, over;
  for (genvar c = 0; c < 8; c++) begin : gen_class
    assign strict[c] = offer_i[c] && cost_q[c] == '0;

    // No class owes more than its longest packet costs.
    assign over[c]   = u_dut.debt_q[c] > {LengthBits{1'b1}} * cost_q[c];
  end

  always_comb begin
    if (started_q) begin
      a_debt : assert (over == '0);
      a_one_hot : assert ((grant & (grant - 1'b1)) == '0);
      a_asked : assert ((grant & ~offer_i) == '0);
      a_busy : assert (valid == (offer_i != '0 && !settles) && valid == (grant != '0));
      a_strict : assert (!valid || strict == '0 || strict[chosen]);
      a_highest : assert (!valid || (strict >> chosen) <= 8'd1);
      a_class : assert (!settles || class_q == u_dut.class_q);
      a_paid : assert (!live_q || ahead_q == apart - began_q);
      a_began : assert (!live_q || (began_q <= $signed(PaidBits'(most_who)) && began_q >= -$signed(PaidBits'(most_other))));
      a_share : assert (!live_q || (ahead_q <= $signed(PaidBits'(most_who) + PaidBits'(most_other)) &&
          ahead_q >= -$signed(PaidBits'(most_who) + PaidBits'(most_other))));
    end
  end

endmodule
