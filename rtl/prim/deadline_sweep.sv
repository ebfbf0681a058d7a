// Deadline sweep: decides when the deadlines in a RAM are examined, and steps through its entries. Entries are in groups
// of `Group`; a group is swept when the least deadline reported of it since its last sweep has come. So a deadline does
// not wait for a sweep of all entries.
//
// - The owner reports every deadline that it writes, or that it reads and leaves in place, with its entry
//   (`seen_valid_i`, `seen_index_i`, `seen_at_i`, up to `Sources` per cycle).
// - A sweep offers the entries of a group one after the other (`visit_valid_o`, `visit_index_o`, held until
//   `visit_ready_i`). The owner handles what is due and reports what is not. Groups that are due are swept in turn, with
//   at least one cycle without a visit between them.
// - Reports from the first cycle of a sweep on count for the next sweep of the group.
// - A deadline that was removed meanwhile costs an early sweep; a deadline that is not reported is lost.
// - A group without a deadline is swept after 2^46 cycles, because no stored time may be farther ahead or behind.
// - `idle_o`: no sweep, no report in the pipeline, no least deadline that is made anew, and it has not come. Until a
//   report comes or `now_i` reaches `wake_o`, nothing changes.
// - One register has the least deadline of all groups (`wake_o`); before it has come, no group is looked at. A sweep
//   leaves it behind, and it is made anew when no group is due.
//
// Latency: one cycle from deadline to first visit if no other group is due, two from report to `wake_o`. With all visits
// taken, an entry is visited at most (Group + 1) · groups cycles after its deadline.
//
// Timing: `idle_o` depends on `now_i` and `seen_valid_i` of the same cycle; all other outputs are registers.
module deadline_sweep
  import time_pkg::*;
#(
    parameter  int unsigned Entries   = 64,                                  // 1 or more
    parameter  int unsigned Sources   = 2,
    parameter  int unsigned Group     = (Entries > 16) ? 16 : Entries,       // a power of two, or all entries
    localparam int unsigned IndexBits = (Entries > 1) ? $clog2(Entries) : 1
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input logic   [Sources-1:0]                seen_valid_i,
    input logic   [Sources-1:0][IndexBits-1:0] seen_index_i,
    input cycle_t [Sources-1:0]                seen_at_i,

    output logic                 visit_valid_o,
    output logic [IndexBits-1:0] visit_index_o,
    input  logic                 visit_ready_i,

    output logic   idle_o,
    output cycle_t wake_o
);

  localparam int unsigned Groups = (Entries + Group - 1) / Group;

  localparam int unsigned GroupBits = (Groups > 1) ? $clog2(Groups) : 1;

  typedef logic [IndexBits-1:0] index_t;

  logic   [Sources-1:0] seen_valid_q;
  index_t [Sources-1:0] seen_index_q;
  cycle_t [Sources-1:0] seen_at_q;
  cycle_t [Groups-1:0] least_q, least_d;
  cycle_t wake_q, wake_d;
  logic [Sources-1:0][GroupBits-1:0] group;
  logic [Sources-1:0] least;
  logic [Groups-1:0] due, behind, turn, start;
  logic come;  // the least deadline has come, or had before the last sweep began
  logic renew_q;
  logic visit_q, last;
  index_t index_q, first;

  assign come = !earlier(now_i, wake_q);

  // The groups that are due take turns: first those behind the one that was swept last.
  always_comb begin
    due    = '0;
    behind = '0;
    if (come) begin
      for (int unsigned g = 0; g < Groups; g++) begin
        due[g]    = !earlier(now_i, least_q[g]);
        behind[g] = due[g] && g * Group > 32'(index_q);
      end
    end
    turn  = (behind != '0) ? behind : due;
    start = visit_q ? '0 : turn & (~turn + 1'b1);
    first = '0;
    if (come) for (int unsigned g = 0; g < Groups; g++) if (start[g]) first |= index_t'(g * Group);
  end

  // A report counts when it is earlier than what its group had, and than those of the same group and cycle before it.
  always_comb begin
    group   = '0;
    least   = '0;
    least_d = least_q;
    if (come) for (int unsigned g = 0; g < Groups; g++) if (start[g]) least_d[g] = farthest(now_i);
    if (seen_valid_q != '0) begin
      for (int unsigned s = 0; s < Sources; s++) begin
        group[s] = GroupBits'(32'(seen_index_q[s]) / Group);
        least[s] = seen_valid_q[s] && (start[group[s]] || earlier(seen_at_q[s], least_q[group[s]]));
        for (int unsigned r = 0; r < s; r++) begin
          if (seen_valid_q[r] && group[r] == group[s] && !earlier(seen_at_q[s], seen_at_q[r])) least[s] = 1'b0;
        end
      end
      for (int unsigned g = 0; g < Groups; g++) begin
        for (int unsigned s = 0; s < Sources; s++) if (least[s] && group[s] == GroupBits'(g)) least_d[g] = seen_at_q[s];
      end
    end
  end

  // The least of the groups is made anew in a cycle after one in which none of them was due, and in which nothing is
  // reported: so it need not be compared with a report behind the tree.
  cycle_t least_of_groups, reported;
  logic unused_least, any_reported, wakes;

  earliest #(
      .Count(Groups)
  ) u_least (
      .valid_i('1),
      .at_i   (least_q),
      .valid_o(unused_least),
      .at_o   (least_of_groups)
  );

  earliest #(
      .Count(Sources)
  ) u_reported (
      .valid_i(seen_valid_q),
      .at_i   (seen_at_q),
      .valid_o(any_reported),
      .at_o   (reported)
  );

  assign wake_d = any_reported ? reported : least_of_groups;
  assign wakes  = any_reported ? earlier(reported, wake_q) : renew_q;

  assign last   = 32'(index_q) % Group == Group - 1 || 32'(index_q) == Entries - 1;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      seen_valid_q <= '0;
      least_q      <= {Groups{farthest(now_i)}};
      wake_q       <= farthest(now_i);
      renew_q      <= 1'b0;
      visit_q      <= 1'b0;
      index_q      <= '0;
    end else begin
      seen_valid_q <= seen_valid_i;
      renew_q      <= come && due == '0 && !renew_q;
      if (come || seen_valid_q != '0) least_q <= least_d;
      if (wakes) wake_q <= wake_d;
      if (start != '0) begin
        visit_q <= 1'b1;
        index_q <= first;
      end else if (visit_q && visit_ready_i) begin
        visit_q <= !last;
        if (!last) index_q <= index_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < Sources; s++) begin
      if (seen_valid_i[s]) {seen_index_q[s], seen_at_q[s]} <= {seen_index_i[s], seen_at_i[s]};
    end
  end

  assign visit_valid_o = visit_q;
  assign visit_index_o = index_q;
  assign idle_o        = !visit_q && !renew_q && !come && seen_valid_q == '0 && seen_valid_i == '0;
  assign wake_o        = wake_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!visit_q || 32'(index_q) < Entries)
      else $error("deadline_sweep: visits behind the last entry");
  end

endmodule
