// Round-robin arbiter: grants one of `Count` requests.
//
// - A grant is taken in a cycle with `ready_i`; priority then moves to the request after it.
// - A request that holds is granted and taken after at most Count − 1 others.
// - A grant that waits for `ready_i` stands as long as its request does, whatever other requests come. When the
//   request is withdrawn, the next one in turn is granted in the same cycle.
//
// - `moves_o`: the priority changes with this cycle, for the gate of a clock.
//
// Timing: the grant depends on the requests of the same cycle, not on `ready_i`; `moves_o` depends on both.
module round_robin_arbiter #(
    parameter  int unsigned Count     = 8,                               // 1 or more
    localparam int unsigned IndexBits = (Count > 1) ? $clog2(Count) : 1
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [    Count-1:0] request_i,
    output logic                 valid_o,
    output logic [    Count-1:0] grant_o,    // one-hot; zero without a request
    output logic [IndexBits-1:0] index_o,    // of the grant; 0 without one
    input  logic                 ready_i,
    output logic                 moves_o
);

  // Requests whose index has bit `b`
  function automatic logic [Count-1:0] with_bit(input int unsigned b);
    for (int unsigned i = 0; i < Count; i++) with_bit[i] = 1'((i >> b) & 1);
  endfunction

  // Ones from the first one of `bits` on, in log2 Count steps
  function automatic logic [Count-1:0] from_first(input logic [Count-1:0] bits);
    from_first = bits;
    for (int unsigned s = 1; s < Count; s *= 2) from_first |= from_first << s;
  endfunction

  // Thermometer code of the priority: ones from the request with the highest priority to the last one. Zero is
  // equivalent to all ones.
  logic [Count-1:0] turn_q, turn_d;
  logic [Count-1:0] from_turn, from_request, from_grant;

  assign from_turn    = from_first(request_i & turn_q);
  assign from_request = from_first(request_i);
  assign from_grant   = from_turn[Count-1] ? from_turn : from_request;
  assign grant_o      = from_grant & ~(from_grant << 1);
  assign valid_o      = request_i != '0;
  assign turn_d       = !valid_o ? turn_q : ready_i ? from_grant << 1 : from_grant;
  assign moves_o      = turn_d != turn_q;

  always_comb begin
    for (int unsigned b = 0; b < IndexBits; b++) index_o[b] = (grant_o & with_bit(b)) != '0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) turn_q <= '1;
    else turn_q <= turn_d;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert ($onehot0(grant_o))
      else $error("round_robin_arbiter: two grants");
      assert ((grant_o & ~request_i) == '0)
      else $error("round_robin_arbiter: a grant without a request");
    end
  end

endmodule
