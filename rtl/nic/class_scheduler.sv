// Shares a port among eight classes by weight: start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996), in which
// packets that are late keep their class's place.
//
// A class pays for each packet its length on the wire times its cost, which is inversely proportional to its weight.
// What it has paid more than the class that is served is its debt. Of the classes that offer a packet the one with the
// least debt is next, of several the lowest. Its debt is taken off that of all others. A class that wants nothing does
// not save up for later: its debt is 0 at least. One that waits for its packets (`wants_i`) saves up what two packets
// of 4 KiB of the dearest class cost, at most, so a gap between its packets does not cost it its share. While two
// classes always offer, what they pay differs by no more than a longest packet of each costs and twice what a class may
// save up.
//
// A class of cost 0 pays nothing, and is strict: it goes before all others, and of several the highest goes first.
//
// The length of a packet is known one cycle after it was taken. Debts change then, and none is granted.
//
// Timing: the grant depends on the offers of the same cycle, not on `ready_i`.
module class_scheduler #(
    parameter  int unsigned CostBits   = 10,
    parameter  int unsigned LengthBits = 13,
    localparam int unsigned PriceBits  = CostBits + LengthBits,
    localparam int unsigned DebtBits   = PriceBits + 2
) (
    input logic clk_i,
    input logic rst_i,

    input logic [7:0][CostBits-1:0] cost_i,

    input  logic [           7:0] wants_i,   // classes with packets that they may send, or that are about to come
    input  logic [           7:0] offer_i,
    output logic                  valid_o,
    output logic [           7:0] grant_o,   // one-hot; zero unless valid
    output logic [           2:0] class_o,   // of the grant; 0 without one
    input  logic                  ready_i,
    input  logic [LengthBits-1:0] length_i,  // of the packet taken in the cycle before, on the wire
    output logic                  settles_o  // that cycle
);

  typedef logic signed [DebtBits-1:0] debt_t;

  debt_t [7:0] debt_q;
  logic settles_q, take;
  logic [2:0] class_q;
  logic [7:0] strict, first, least;

  // More than one class offers, without the carry chain of `offers & (offers − 1)`
  logic several;
  logic [7:0] from;  // ones from the lowest offer on

  always_comb begin
    from = offer_i | (offer_i << 1);
    from |= from << 2;
    from |= from << 4;
    several = (offer_i & (from << 1)) != '0;
  end

  for (genvar c = 0; c < 8; c++) begin : gen_order
    localparam logic [7:0] Lower = 8'((1 << c) - 1);
    logic [7:0] ahead;  // classes that owe less
    always_comb begin
      ahead = '0;
      if (several)
        for (int unsigned o = 0; o < 8; o++) ahead[o] = (Lower[o] && debt_q[o] == debt_q[c]) || debt_q[o] < debt_q[c];
    end

    assign strict[c] = offer_i[c] && cost_i[c] == '0;
    assign least[c]  = offer_i[c] && (offer_i & ahead) == '0;
  end

  always_comb begin
    first = '0;
    for (int unsigned c = 0; c < 8; c++) if (strict[c]) first = 8'(1 << c);
  end

  assign valid_o = offer_i != '0 && !settles_q;
  assign grant_o = settles_q ? '0 : (first != '0) ? first : least;
  assign class_o = {grant_o[7:4] != '0, (grant_o & 8'hCC) != '0, (grant_o & 8'hAA) != '0};
  assign take = valid_o && ready_i;

  // What a class may save up: so much of the dearest one
  logic [3:0][CostBits-1:0] fours;  // the dearer one of each two
  logic [1:0][CostBits-1:0] twos;
  debt_t saved_q;

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) fours[i] = (cost_i[2*i] > cost_i[2*i+1]) ? cost_i[2*i] : cost_i[2*i+1];
    for (int unsigned i = 0; i < 2; i++) twos[i] = (fours[2*i] > fours[2*i+1]) ? fours[2*i] : fours[2*i+1];
  end

  always_ff @(posedge clk_i) begin
    if (take) saved_q <= ~debt_t'({(twos[0] > twos[1]) ? twos[0] : twos[1], LengthBits'(0)});
  end

  debt_t served_q;

  for (genvar c = 0; c < 8; c++) begin : gen_debt
    debt_t debt, floor;
    assign debt  = debt_q[c] - served_q;
    assign floor = wants_i[c] ? saved_q : '0;

    always_ff @(posedge clk_i) begin
      if (rst_i) debt_q[c] <= '0;
      else if (settles_q) begin
        if (class_q == 3'(c) || cost_i[c] == '0) debt_q[c] <= debt_t'(length_i * cost_i[c]);
        else debt_q[c] <= (debt > floor) ? debt : floor;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) settles_q <= 1'b0;
    else settles_q <= take;
  end

  always_ff @(posedge clk_i) begin
    if (take) {class_q, served_q} <= {class_o, debt_q[class_o]};
  end

  assign settles_o = settles_q;

endmodule
