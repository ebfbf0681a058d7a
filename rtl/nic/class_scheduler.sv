// Shares a port among eight classes by weight: start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996).
//
// A class pays for each packet its length on the wire times its cost, which is inversely proportional to its weight.
// What it has paid more than the class that is served is its debt. Of the classes that offer a packet the one with the
// least debt is next, of several the lowest. Its debt is taken off that of all others, down to 0: a class that had
// nothing to send does not save up for later. While two classes always offer, what they have paid differs by no more
// than a longest packet of each costs.
//
// A class of cost 0 has no debt, and is strict: it goes before all others, and of several the highest goes first.
//
// The length of a packet is known one cycle after it was taken. Debts change then, and none is granted.
//
// Timing: the grant depends on the offers of the same cycle, not on `ready_i`.
module class_scheduler #(
    parameter  int unsigned CostBits   = 10,
    parameter  int unsigned LengthBits = 13,
    localparam int unsigned DebtBits   = CostBits + LengthBits
) (
    input logic clk_i,
    input logic rst_i,

    input logic [7:0][CostBits-1:0] cost_i,

    input  logic [           7:0] offer_i,
    output logic                  valid_o,
    output logic [           7:0] grant_o,   // one-hot; zero unless valid
    output logic [           2:0] class_o,   // of the grant; 0 without one
    input  logic                  ready_i,
    input  logic [LengthBits-1:0] length_i,  // of the packet taken in the cycle before, on the wire
    output logic                  settles_o  // that cycle
);

  logic [7:0][DebtBits-1:0] debt_q, debt_d;
  logic settles_q, take;
  logic [2:0] class_q;
  logic [7:0] strict, first, least;

  for (genvar c = 0; c < 8; c++) begin : gen_strict
    assign strict[c] = offer_i[c] && cost_i[c] == '0;
  end

  // A class is served if no other one that offers goes before it.
  always_comb begin
    least = offer_i;
    first = '0;
    for (int unsigned c = 0; c < 8; c++) if (strict[c]) first = 8'(1 << c);
    if ((offer_i & (offer_i - 1'b1)) != '0)
      for (int unsigned a = 0; a < 8; a++)
      for (int unsigned b = 0; b < 8; b++)
      if (offer_i[b] && ((b < a) ? debt_q[b] <= debt_q[a] : debt_q[b] < debt_q[a])) least[a] = 1'b0;
  end

  assign valid_o = offer_i != '0 && !settles_q;
  assign grant_o = settles_q ? '0 : (first != '0) ? first : least;
  assign class_o = {grant_o[7:4] != '0, (grant_o & 8'hCC) != '0, (grant_o & 8'hAA) != '0};
  assign take = valid_o && ready_i;

  logic [DebtBits-1:0] served_q;

  always_comb begin
    debt_d = debt_q;
    if (settles_q) begin
      for (int unsigned c = 0; c < 8; c++) debt_d[c] = (debt_q[c] > served_q) ? debt_q[c] - served_q : '0;
      debt_d[class_q] = length_i * cost_i[class_q];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      debt_q    <= '0;
      settles_q <= 1'b0;
    end else begin
      debt_q    <= debt_d;
      settles_q <= take;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) {class_q, served_q} <= {class_o, debt_q[class_o]};
  end

  assign settles_o = settles_q;

endmodule
