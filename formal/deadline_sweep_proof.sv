// Proof of deadline_sweep: a reported deadline is not lost; once it has come, a sweep of its group begins within the
// time of one sweep of every group, and visits its entry; nothing is swept without a deadline that has come; idle and
// wake tell no later time than that of any deadline.
//
// An arbitrary entry is followed.
module deadline_sweep_proof
  import time_pkg::*;
#(
    parameter  int unsigned Entries   = 8,
    parameter  int unsigned Group     = 2,
    localparam int unsigned IndexBits = $clog2(Entries)
) (
    input logic                          clk_i,
    input cycle_t                        jump_i,
    input logic   [1:0]                  seen_valid_i,
    input logic   [1:0][IndexBits-1:0]   seen_index_i,
    input cycle_t [1:0]                  seen_at_i,
    input logic                          ready_i,
    input logic        [IndexBits-1:0]   who_i
);

  localparam int unsigned Groups = Entries / Group;

  logic started_q = 1'b0;
  logic [IndexBits-1:0] who_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) who_q <= who_i;
  end

  cycle_t now, wake;
  logic valid, idle;
  logic [IndexBits-1:0] index;

  time_walk u_time (
      .clk_i,
      .idle_i(idle && started_q),
      .wake_i(wake),
      .jump_i,
      .now_o (now)
  );

  deadline_sweep #(
      .Entries(Entries),
      .Sources(2),
      .Group  (Group)
  ) u_dut (
      .clk_i,
      .rst_i        (!started_q),
      .now_i        (now),
      .seen_valid_i (started_q ? seen_valid_i : 2'b0),
      .seen_index_i,
      .seen_at_i,
      .visit_valid_o(valid),
      .visit_index_o(index),
      .visit_ready_i(ready_i),
      .idle_o       (idle),
      .wake_o       (wake)
  );

  // The group of the entry, and reports of the last cycle: of the entry, and of any entry of its group
  int unsigned group;
  logic begins;
  logic reported_q = 1'b0, any_q = 1'b0;
  cycle_t reported_at_q, any_at_q;
  assign group  = 32'(who_q) / Group;
  assign begins = u_dut.start[group];

  logic reported, any;
  cycle_t reported_at, any_at;
  always_comb begin
    {reported, any} = '0;
    reported_at     = farthest(now);
    any_at          = farthest(now);
    for (int unsigned s = 0; s < 2; s++) begin
      if (seen_valid_i[s] && seen_index_i[s] == who_q) begin
        reported = 1'b1;
        if (earlier(seen_at_i[s], reported_at)) reported_at = seen_at_i[s];
      end
      if (seen_valid_i[s] && 32'(seen_index_i[s]) / Group == group) begin
        any = 1'b1;
        if (earlier(seen_at_i[s], any_at)) any_at = seen_at_i[s];
      end
    end
  end

  // By the contract: the entry has a deadline that no sweep has taken up; a sweep that has owes it a visit; the least
  // deadline of the group; cycles for which the sweep has been due, without those in which a visit waits
  logic pending_q = 1'b0, owed_q = 1'b0;
  cycle_t pending_at_q, least_q;
  logic due, waited_q = 1'b0;
  logic [7:0] late_q = '0, rest, left;
  logic [IndexBits-1:0] index_q;
  assign due = pending_q && !earlier(now, pending_at_q);

  always_ff @(posedge clk_i) begin
    reported_q    <= started_q && reported;
    reported_at_q <= reported_at;
    any_q         <= started_q && any;
    any_at_q      <= any_at;
    pending_q     <= started_q && (reported_q || (pending_q && !begins));
    if (reported_q && !(pending_q && !begins && earlier(pending_at_q, reported_at_q))) pending_at_q <= reported_at_q;
    owed_q <= started_q && (begins ? pending_q : owed_q && !(valid && ready_i && index == who_q));
    if (!started_q) least_q <= farthest(now);
    else if (any_q && (begins || earlier(any_at_q, least_q))) least_q <= any_at_q;
    else if (begins) least_q <= farthest(now);
    late_q   <= (started_q && due && !begins) ? late_q + 8'(!valid || ready_i) : '0;
    waited_q <= started_q && valid && !ready_i;
    index_q  <= index;
  end

  // Cycles until the sweep of the group begins, at most
  assign rest = valid ? 8'(Group - 32'(index) % Group) : '0;
  assign left = rest + 8'((group + Groups - 1 - 32'(index) / Group) % Groups * (Group + 1));

  // Premises: what is reported is at most 2^45 cycles ahead or behind, and no sweep is kept waiting that long.
  localparam cycle_t Far = 48'd1 << 45;
  logic [Groups+2:0] ranges;  // times that are too far ahead, or of a report behind
  always_comb begin
    ranges = '0;
    for (int unsigned g = 0; g < Groups; g++) begin
      assume (!started_q || !earlier(u_dut.least_q[g], now - Far));
      ranges[g] = earlier(farthest(now), u_dut.least_q[g]);
    end
    assume (!started_q || !earlier(wake, now - Far));
    ranges[Groups] = earlier(farthest(now), wake);
    for (int unsigned s = 0; s < 2; s++) begin
      assume (!earlier(seen_at_i[s], now - Far) && !earlier(now + Far, seen_at_i[s]));
      ranges[Groups+1+s] = u_dut.seen_valid_q[s] &&
          (earlier(u_dut.seen_at_q[s], now - Far - 1'b1) || earlier(now + Far, u_dut.seen_at_q[s]));
    end
  end

  always_comb begin
    if (started_q) begin
      a_pipe :
      assert (!reported_q ||
              (u_dut.seen_valid_q[0] && u_dut.seen_index_q[0] == who_q && u_dut.seen_at_q[0] == reported_at_q) ||
              (u_dut.seen_valid_q[1] && u_dut.seen_index_q[1] == who_q && u_dut.seen_at_q[1] == reported_at_q));
      a_least : assert (u_dut.least_q[group] == least_q);
      a_early : assert (!begins || !earlier(now, least_q));
      a_kept : assert (!pending_q || !earlier(pending_at_q, u_dut.least_q[group]));
      a_owed : assert (!owed_q || (valid && 32'(index) / Group == group && index <= who_q));
      a_hold : assert (!waited_q || (valid && index == index_q));
      a_in_time : assert (!due || 32'(late_q) + 32'(left) < Groups * (Group + 1));
      a_wake : assert (!pending_q || !earlier(pending_at_q, wake));
      a_bound : assert (!earlier(u_dut.least_q[group], wake));
      a_range : assert (ranges == '0);
      a_idle : assert (!idle || (!due && !owed_q && !reported_q));
    end
  end

endmodule
