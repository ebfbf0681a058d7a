// Proof of round_robin_arbiter: the grant is one-hot and goes only to a request; if there is a request, there is a
// grant; a waiting grant stands; no request waits for more than Count − 1 others.
//
// An arbitrary request is followed.
module arbiter_proof #(
    parameter  int unsigned Count     = 5,
    localparam int unsigned IndexBits = $clog2(Count)
) (
    input logic                 clk_i,
    input logic [    Count-1:0] request_i,
    input logic                 ready_i,
    input logic [IndexBits-1:0] who_i
);

  logic started_q = 1'b0;
  logic [IndexBits-1:0] who_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) who_q <= (32'(who_i) < Count) ? who_i : '0;
  end

  logic valid;
  logic [Count-1:0] grant;
  logic [IndexBits-1:0] index;
  round_robin_arbiter #(
      .Count(Count)
  ) u_dut (
      .clk_i,
      .rst_i  (!started_q),
      .request_i,
      .valid_o(valid),
      .grant_o(grant),
      .index_o(index),
      .ready_i,
      .moves_o(unused_moves)
  );

  // Number of other grants taken while the followed request has been waiting
  logic [7:0] passed_q = '0;
  logic [Count-1:0] waiting_q = '0;  // the grant, if it was not taken
  always_ff @(posedge clk_i) begin
    waiting_q <= (started_q && !ready_i) ? grant : '0;
    if (!started_q || !request_i[who_q] || (grant[who_q] && ready_i)) passed_q <= '0;
    else if (valid && ready_i) passed_q <= passed_q + 8'd1;
  end

  // Requests in turn before the followed one. A turn of all zeros is equivalent to all ones: the first request has
  // priority.
  logic [31:0] first, turns;
  always_comb begin
    first = 0;
    for (int unsigned i = 0; i < Count; i++) if (!u_dut.turn_q[i] && u_dut.turn_q != '0) first += 1;
    turns = (32'(who_q) + Count - first) % Count;
  end

  always_comb begin
    if (started_q) begin
      a_one_hot : assert ((grant & (grant - 1'b1)) == '0);
      a_asked : assert ((grant & ~request_i) == '0);
      a_busy : assert (valid == (request_i != '0) && valid == (grant != '0));
      a_index : assert (!valid || grant == (Count'(1) << index));
      a_stands : assert ((waiting_q & request_i) == '0 || grant == waiting_q);
      a_thermometer : assert (32'(who_q) < Count && (~u_dut.turn_q & (~u_dut.turn_q + 1'b1)) == '0);
      a_turns : assert (32'(passed_q) + turns <= Count - 1);
      a_no_starvation : assert (32'(passed_q) <= Count - 1);
    end
  end

endmodule
