// Deadline sweep: decides when the deadlines in a RAM are examined, and steps through its entries. One sweep over all
// entries starts when the least deadline reported since the last sweep has come.
//
// - The owner reports every deadline that it writes, or that it reads and leaves in place (`seen_valid_i`,
//   `seen_at_i`, up to `Sources` per cycle).
// - When the least of them is no later than `now_i`, a sweep offers the entries one after the other (`visit_valid_o`,
//   `visit_index_o`, held until `visit_ready_i`). The owner handles what is due and reports what is not.
// - Reports from the first cycle of a sweep on count for the next sweep.
// - A deadline that was removed meanwhile costs an early sweep; a deadline that is not reported is lost.
// - `idle_o`: no sweep, no report in the pipeline, and the least deadline has not come. Until a report comes or
//   `now_i` reaches `wake_o`, nothing changes.
//
// Latency: one cycle from deadline to first visit, two from report to `wake_o`.
//
// Timing: `idle_o` depends on `now_i` and `seen_valid_i` of the same cycle; all other outputs are registers.
module deadline_sweep
  import time_pkg::*;
#(
    parameter  int unsigned Entries   = 64,                                  // 1 or more
    parameter  int unsigned Sources   = 2,
    localparam int unsigned IndexBits = (Entries > 1) ? $clog2(Entries) : 1
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input logic   [Sources-1:0] seen_valid_i,
    input cycle_t [Sources-1:0] seen_at_i,

    output logic                 visit_valid_o,
    output logic [IndexBits-1:0] visit_index_o,
    input  logic                 visit_ready_i,

    output logic   idle_o,
    output cycle_t wake_o
);

  cycle_t seen, seen_q, least_q, least;
  logic seen_valid_q;
  logic visit_q;
  logic [IndexBits-1:0] index_q;
  logic start;

  earliest #(
      .Count(Sources)
  ) u_seen (
      .valid_i(seen_valid_i),
      .at_i   (seen_at_i),
      .at_o   (seen)
  );

  assign start = !visit_q && least_q <= now_i;
  assign least = start ? Never : least_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      seen_valid_q <= 1'b0;
      least_q      <= Never;
      visit_q      <= 1'b0;
      index_q      <= '0;
    end else begin
      seen_valid_q <= seen_valid_i != '0;
      least_q      <= (seen_valid_q && (start || seen_q < least_q)) ? seen_q : least;
      if (start) begin
        visit_q <= 1'b1;
        index_q <= '0;
      end else if (visit_q && visit_ready_i) begin
        visit_q <= index_q != IndexBits'(Entries - 1);
        index_q <= index_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (seen_valid_i != '0) seen_q <= seen;
  end

  assign visit_valid_o = visit_q;
  assign visit_index_o = index_q;
  assign idle_o        = !visit_q && !start && !seen_valid_q && seen_valid_i == '0;
  assign wake_o        = least_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!visit_q || 32'(index_q) < Entries)
      else $error("deadline_sweep: visits behind the last entry");
  end

endmodule
