// Picks one of the requesting QPs, in rounds: a QP that is taken has had its turn, and is not picked again while a
// request of a QP that has not is there. Among those that have their turn, the lowest index comes first.
//
// A round ends when none of the requests has its turn. The QPs that request then, and those that only wait for a moment
// (`waits_i`), and no others, have it again. So a QP keeps its turn while it cannot request, because its class is paused
// or has no slot: what other classes get meanwhile does not cost the QPs of this one their order. While a QP requests,
// each other one is taken at most twice before it, and once if it has its turn.
//
// A pick made in cycle n is offered from n + 1 on and held until taken or dropped, whatever its request does. After one
// that was taken, the next pick is made in the cycle after, so that it sees the requests as the grant has changed them.
// A QP that was picked and dropped still has its turn.
//
// Timing: all outputs are registers.
module qp_picker #(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [   Qps-1:0] request_i,
    input  logic [   Qps-1:0] waits_i,    // for which a round is, too, though they do not request just now
    output logic              valid_o,
    output logic [QpBits-1:0] qp_o,
    input  logic              ready_i,
    input  logic              drop_i      // the pick is replaced, if there is a request; not when it is taken
);

  // QPs are searched in groups, and in the group: two short searches are faster than a long one.
  localparam int unsigned MemberBits = QpBits / 2;
  localparam int unsigned Members = 2 ** MemberBits;
  localparam int unsigned Groups = Qps / Members;
  typedef logic [Groups-1:0] groups_t;  // or the members of one

  // The lowest one, in log2 steps: a carry chain is slower.
  function automatic groups_t lowest(input groups_t some);
    groups_t from;
    from = some;
    for (int unsigned s = 1; s < Groups; s *= 2) from |= from << s;
    lowest = some & ~(from << 1);
  endfunction

  // Those whose index has bit `b`
  function automatic groups_t with_bit(input int unsigned b);
    for (int unsigned i = 0; i < Groups; i++) with_bit[i] = 1'((i >> b) & 1);
  endfunction

  function automatic logic [QpBits-1:0] lowest_index(input logic [Qps-1:0] qps);
    groups_t some, group, members, member;
    members = '0;
    for (int unsigned g = 0; g < Groups; g++) some[g] = qps[g*Members+:Members] != '0;
    group = lowest(some);
    for (int unsigned g = 0; g < Groups; g++) if (group[g]) members |= groups_t'(qps[g*Members+:Members]);
    member = lowest(members);
    for (int unsigned b = 0; b < QpBits; b++)
    lowest_index[b] = (b < MemberBits) ? (member & with_bit(b)) != '0 : (group & with_bit(b - MemberBits)) != '0;
  endfunction

  logic valid_q, holds, pick, round;
  logic [QpBits-1:0] qp_q, index;
  logic [Qps-1:0] had_q, had_d;  // QPs that have had their turn
  logic [Qps-1:0] turns;

  assign holds = valid_q && !(drop_i && request_i != '0);
  assign pick  = !holds && request_i != '0;

  always_comb begin
    turns = '0;
    round = 1'b0;
    index = '0;
    had_d = had_q;
    if (pick) begin
      turns = request_i & ~had_q;
      round = turns == '0;
      index = round ? lowest_index(request_i) : lowest_index(turns);
      if (round) had_d = had_q & ~(request_i | waits_i);
    end
    if (valid_q && ready_i) had_d[qp_q] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      had_q   <= '0;
    end else begin
      valid_q <= holds ? !ready_i : pick;
      had_q   <= had_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pick) qp_q <= index;
  end

  assign valid_o = valid_q;
  assign qp_o    = qp_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!(valid_q && ready_i && drop_i))
      else $error("qp_picker: a pick that is taken is dropped");
  end

endmodule
