// Rate limiter: paces the packets of each QP to its rate and shows which QPs may start a packet. rtl/dcqcn/README.md
// is the contract.
//
// UPDATE has no back-pressure:
//
// - The newest rate of each QP waits in a RAM. QPs with a waiting rate are in a FIFO in front of the divider, each at
//   most once.
// - Latency: an update that finds no other in front of it, taken in cycle n, takes effect in n + 21 (`gap_valid_o`).
//   Each division in front of it adds 19 cycles; a SENT of one of these QPs that is under way adds up to 3.
// - A division under way is finished when a newer rate of its QP comes, and the newer rate follows it. Until a rate
//   takes effect, the old gap and the old `limited` apply.
//
// SENT:
//
// - Latency: `eligible_o` reflects a SENT taken in cycle n from n + 4 on.
// - Throughput: one per cycle of different QPs. A SENT is not taken while the last one of its QP is in the pipeline
//   (three cycles) or while a new gap of its QP is put in place. No update is therefore lost, and no SENT reads half
//   of one.
//
// `next` may be at most 2^46 cycles ahead: so far nobody comes who waits for `eligible_o`. If it is more than 2^40
// cycles behind when a sweep comes by, it is marked as old, and nothing depends on it any more. Sweeps come by at least
// every 2^46 cycles, so that no `next` seems to be in the future because it is long past.
//
// `next` is kept in two RAMs with the same contents: one is read by SENT, the other by the sweep over waiting QPs and
// for new gaps. A sweep of a group visits one QP per cycle, except in the cycle of a new gap. It skips a QP with a SENT
// in the pipeline, because the SENT itself checks `next`.
//
// Timing: `sent_ready_o` depends on `sent_qp_i`, `idle_o` on `sent_valid_i`, `update_valid_i` and `now_i` of the same
// cycle; all other outputs are registers.
module rate_limiter
  import time_pkg::*, dcqcn_pkg::*;
#(
    parameter  int unsigned Qps      = 64,          // 2 to 1,024
    parameter  int unsigned PeriodPs = 5120,        // of clk_i, 477 or more
    localparam int unsigned QpBits   = $clog2(Qps)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input  logic               update_valid_i,
    input  logic  [QpBits-1:0] update_qp_i,
    input  rate_t              update_rate_i,
    input  logic               update_limited_i,
    output logic               update_ready_o,

    input  logic              sent_valid_i,
    input  logic [QpBits-1:0] sent_qp_i,
    input  logic [      15:0] sent_bytes_i,
    output logic              sent_ready_o,

    input logic [15:0] burst_i,

    output logic [Qps-1:0] eligible_o,

    // A gap takes effect: SENTs taken in this cycle are the first that it paces.
    output logic              gap_valid_o,
    output logic [QpBits-1:0] gap_qp_o,
    output logic [      31:0] gap_o,
    output logic              gap_limited_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  if (PeriodPs < 477) $error("PeriodPs is %0d, has to be 477 or more", PeriodPs);

  localparam int unsigned FractionBits = 24;
  // Cycles per byte at 1 kb/s. Dividing this floor by the rate gives the floor of the whole quotient, because
  // PeriodPs and the rate are integers.
  localparam logic [63:0] SlowestGap = (64'd8_000_000_000 << FractionBits) / 64'(PeriodPs);

  typedef struct packed {
    cycle_t                  cycle;
    logic [FractionBits-1:0] fraction;
  } next_t;

  typedef struct packed {
    logic        limited;
    logic [31:0] gap;      // cycles per byte, in units of 2^-24
  } pace_t;

  typedef struct packed {
    logic  limited;
    rate_t rate;
  } wish_t;

  // The first cycle that is not before `next`
  function automatic cycle_t first_cycle(input next_t next);
    return next.cycle + 48'(next.fraction != '0);
  endfunction

  logic clear;
  logic [QpBits-1:0] clear_qp;

  ram_clear #(
      .Depth(Qps)
  ) u_clear (
      .clk_i,
      .rst_i,
      .valid_o  (clear),
      .address_o(clear_qp)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // UPDATE: division of a rate into a gap

  logic [Qps-1:0] pending_q, pending_d;  // the QP is in the FIFO
  logic take_update, push;
  logic head_valid, pop;
  logic [QpBits-1:0] head_qp;
  logic fifo_ready;
  logic [$clog2(Qps + 1)-1:0] waiting;
  wish_t wish;
  logic [$bits(wish_t)-1:0] wish_bits;
  logic busy_q, load_q, divided, division_ready, division_done;
  logic [QpBits-1:0] busy_qp_q;
  logic [31:0] gap, quotient;
  logic commit;

  assign update_ready_o = !clear;
  assign take_update    = update_valid_i && update_ready_o;
  assign push           = take_update && !pending_q[update_qp_i];
  // No pop in the cycle in which the head's rate is replaced.
  assign pop            = head_valid && !busy_q && !(take_update && update_qp_i == head_qp);

  always_comb begin
    pending_d = pending_q;
    if (pop) pending_d[head_qp] = 1'b0;
    if (take_update) pending_d[update_qp_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) pending_q <= '0;
    else pending_q <= pending_d;
  end

  fifo #(
      .Width(QpBits),
      .Depth(Qps)
  ) u_waiting (
      .clk_i,
      .rst_i,
      .valid_i(push),
      .ready_o(fifo_ready),
      .data_i (update_qp_i),
      .valid_o(head_valid),
      .ready_i(pop),
      .data_o (head_qp),
      .count_o(waiting)
  );

  ram_1r1w #(
      .Width($bits(wish_t)),
      .Depth(Qps)
  ) u_wishes (
      .clk_i,
      .write_i        (take_update),
      .write_address_i(update_qp_i),
      .data_i         ({update_limited_i, update_rate_i}),
      .read_i         (pop),
      .read_address_i (head_qp),
      .data_o         (wish_bits)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q <= 1'b0;
      load_q <= 1'b0;
    end else begin
      busy_q <= pop || (busy_q && !commit);
      load_q <= pop;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop) busy_qp_q <= head_qp;
  end

  assign wish = wish_bits;

  divider #(
      .DividendBits(48),
      .DivisorBits (32),
      .QuotientBits(32),
      .BitsPerCycle(2)
  ) u_divider (
      .clk_i,
      .rst_i,
      .start_i   (load_q),
      .ready_o   (division_ready),
      .dividend_i(SlowestGap[47:0]),
      .divisor_i (wish.rate),
      .done_o    (division_done),
      .quotient_o(quotient)
  );

  // Rate 0, that of a closed QP, has no gap.
  assign gap     = (wish.rate == '0) ? '0 : quotient;
  assign divided = busy_q && !load_q && division_ready;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // SENT, stage 1: taken; `next` and the gap are read

  logic take_sent;
  logic [3:1] sent_q;
  logic [QpBits-1:0] sent_qp_q[1:3];
  logic [15:0] bytes_q;
  cycle_t since_q;  // now − burst: earlier lateness is not caught up
  logic [Qps-1:0] olds_q, olds_d;  // `next` is old
  logic old_q;
  pace_t pace;
  logic [$bits(pace_t)-1:0] pace_bits;
  next_t sent_next;
  logic [1:0][$bits(next_t)-1:0] next_bits;  // 0: for SENT, 1: for visits
  logic [3:1] sent_inside, divided_inside;

  for (genvar s = 1; s <= 3; s++) begin : gen_inside
    assign sent_inside[s]    = sent_q[s] && sent_qp_q[s] == sent_qp_i;
    assign divided_inside[s] = sent_q[s] && sent_qp_q[s] == busy_qp_q;
  end

  assign commit       = divided && divided_inside == '0;
  assign sent_ready_o = !clear && sent_inside == '0 && !(divided && busy_qp_q == sent_qp_i);
  assign take_sent    = sent_valid_i && sent_ready_o;

  always_ff @(posedge clk_i) begin
    if (rst_i) sent_q <= '0;
    else sent_q <= {sent_q[2:1], take_sent};
  end

  always_ff @(posedge clk_i) begin
    if (take_sent) begin
      sent_qp_q[1] <= sent_qp_i;
      bytes_q      <= sent_bytes_i;
      since_q      <= now_i - 48'(burst_i);
      old_q        <= olds_q[sent_qp_i];
    end
    if (sent_q[1]) sent_qp_q[2] <= sent_qp_q[1];
    if (sent_q[2]) sent_qp_q[3] <= sent_qp_q[2];
  end

  ram_1r1w #(
      .Width($bits(pace_t)),
      .Depth(Qps)
  ) u_paces (
      .clk_i,
      .write_i        (clear || commit),
      .write_address_i(clear ? clear_qp : busy_qp_q),
      .data_i         (clear ? '0 : {wish.limited, gap}),
      .read_i         (take_sent),
      .read_address_i (sent_qp_i),
      .data_o         (pace_bits)
  );

  assign pace      = pace_bits;
  assign sent_next = next_bits[0];

  // Stage 2: where the schedule continues, and by how much. Stage 3: their sum.
  next_t base_q, sum_q, sum;
  logic [47:0] step_q;
  logic [ 3:2] limited_q;

  always_ff @(posedge clk_i) begin
    if (sent_q[1]) begin
      base_q       <= (old_q || earlier(sent_next.cycle, since_q)) ? '{cycle: since_q, fraction: '0} : sent_next;
      step_q       <= 48'(bytes_q) * 48'(pace.gap);
      limited_q[2] <= pace.limited;
    end
    if (sent_q[2]) begin
      sum_q        <= sum;
      limited_q[3] <= limited_q[2];
    end
  end

  assign sum = base_q + 72'(step_q);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Visits: of the sweep, or by a new gap that takes effect

  logic [Qps-1:0] waits_q, waits_d;
  logic sweep, sweep_idle, visit;
  logic [QpBits-1:0] sweep_qp, visit_qp;
  logic visit_q, commit_q, waits_was_q, old_was_q, passed_q, visit_limited_q;
  logic [QpBits-1:0] visit_qp_q;
  logic [31:0] gap_q;
  next_t visit_next;
  logic [3:1] sweep_inside;

  for (genvar s = 1; s <= 3; s++) begin : gen_sweep_inside
    assign sweep_inside[s] = sent_q[s] && sent_qp_q[s] == sweep_qp;
  end

  assign visit    = commit || sweep;
  assign visit_qp = commit ? busy_qp_q : sweep_qp;

  for (genvar r = 0; r < 2; r++) begin : gen_next
    ram_1r1w #(
        .Width($bits(next_t)),
        .Depth(Qps)
    ) u_next (
        .clk_i,
        .write_i        (sent_q[3]),
        .write_address_i(sent_qp_q[3]),
        .data_i         (sum_q),
        .read_i         ((r == 0) ? take_sent : visit),
        .read_address_i ((r == 0) ? sent_qp_i : visit_qp),
        .data_o         (next_bits[r])
    );
  end

  assign visit_next = next_bits[1];

  always_ff @(posedge clk_i) begin
    if (rst_i) visit_q <= 1'b0;
    else visit_q <= visit;
  end

  always_ff @(posedge clk_i) begin
    if (visit) begin
      commit_q    <= commit;
      visit_qp_q  <= visit_qp;
      waits_was_q <= waits_q[sweep_qp];
      old_was_q   <= olds_q[visit_qp];
      passed_q    <= sweep_inside != '0 || (take_sent && sent_qp_i == sweep_qp);
    end
    if (commit) begin
      visit_limited_q <= wish.limited;
      gap_q           <= gap;
    end
  end

  assign gap_valid_o   = visit_q && commit_q;
  assign gap_qp_o      = visit_qp_q;
  assign gap_o         = gap_q;
  assign gap_limited_o = visit_limited_q;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Eligibility: which QPs wait, and until when

  logic sent_waits, visit_reached, visit_old, visit_waits, visit_counts;
  logic [7:0] behind;  // by how much `next` is behind, in units of 2^40 cycles; negative: it is ahead
  logic [1:0] seen_q;
  logic [1:0][QpBits-1:0] seen_qp_q;
  cycle_t [1:0] seen_at_q;

  always_comb begin
    sent_waits    = 1'b0;
    visit_reached = 1'b0;
    visit_old     = 1'b0;
    behind        = '0;
    if (sent_q[3]) sent_waits = limited_q[3] && earlier(now_i, first_cycle(sum_q));
    if (visit_q) begin
      behind        = 8'((now_i - first_cycle(visit_next)) >> 40);
      visit_reached = old_was_q || !behind[7];
      visit_old     = old_was_q || (!behind[7] && behind != '0);
    end
  end

  assign visit_waits  = (commit_q ? visit_limited_q : waits_was_q) && !visit_reached;
  assign visit_counts = visit_q && (commit_q || !passed_q);

  // A sweep ends a wait but starts none, because what it has read of a QP may be older than a new gap right before
  // it.
  always_comb begin
    waits_d = waits_q;
    if (visit_counts && (commit_q || visit_reached)) waits_d[visit_qp_q] = visit_waits;
    if (sent_q[3]) waits_d[sent_qp_q[3]] = sent_waits;

    olds_d = olds_q;
    if (visit_counts) olds_d[visit_qp_q] = visit_old;
    if (sent_q[3]) olds_d[sent_qp_q[3]] = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {waits_q, olds_q} <= {{Qps{1'b0}}, {Qps{1'b1}}};
    else {waits_q, olds_q} <= {waits_d, olds_d};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) seen_q <= '0;
    else seen_q <= {visit_counts && visit_waits, sent_q[3] && sent_waits};
  end

  always_ff @(posedge clk_i) begin
    if (sent_q[3]) {seen_qp_q[0], seen_at_q[0]} <= {sent_qp_q[3], first_cycle(sum_q)};
    if (visit_q) {seen_qp_q[1], seen_at_q[1]} <= {visit_qp_q, first_cycle(visit_next)};
  end

  deadline_sweep #(
      .Entries(Qps),
      .Sources(2)
  ) u_sweep (
      .clk_i,
      .rst_i,
      .now_i,
      .seen_valid_i (seen_q),
      .seen_index_i (seen_qp_q),
      .seen_at_i    (seen_at_q),
      .visit_valid_o(sweep),
      .visit_index_o(sweep_qp),
      .visit_ready_i(!commit),
      .idle_o       (sweep_idle),
      .wake_o
  );

  assign eligible_o = ~waits_q;
  assign idle_o     = !sent_valid_i && !update_valid_i && !clear && waiting == '0 && !busy_q && sent_q == '0 && !visit_q && sweep_idle;

  //////////////////////////////////////////////////////////////////////////////////////////////

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push || fifo_ready)
      else $error("rate_limiter: more QPs wait than there are");
      assert (!load_q || division_ready)
      else $error("rate_limiter: the divider is busy");
      assert (!(visit_counts && sent_q[3] && visit_qp_q == sent_qp_q[3]))
      else $error("rate_limiter: visit and SENT decide on one QP");
      assert (!division_done || divided)
      else $error("rate_limiter: a quotient that nobody waits for");
      assert (!sent_q[1] || !(sent_q[2] && sent_qp_q[1] == sent_qp_q[2]) && !(sent_q[3] && sent_qp_q[1] == sent_qp_q[3]))
      else $error("rate_limiter: two SENTs of a QP inside");
      assert (!sent_q[3] || earlier(sum_q.cycle, farthest(now_i)))
      else $error("rate_limiter: QP %0d is more than 2^46 cycles ahead", sent_qp_q[3]);
    end
  end

endmodule
