// Go-back-N requester: a sender's work requests, window and retransmissions, with one context per QP in a RAM.
// rtl/gbn/README.md is the contract.
//
// Each slot of the pipeline is one of: an event; a visit of the sweep to a QP whose deadline may have come; a
// follow-up step, which is WALK or TIMER. Cycles of a slot:
//
//     n        taken; the context is read, and what is kept beside it
//     n + 1    context available, `now_i` sampled; facts that do not need the ring; the ring's slot is read
//     n + 2    step; the context is written, and what is kept beside it
//     n + 3    `step_valid_o` and the other results; the next slot of the same QP: its follow-up step, if there is one
//
// Arbitration of the slots:
//
// - A WALK follows a step that asks for it. A TIMER follows a step, or its last WALK, that leaves the QP with a
//   deadline that has come. The sweep can therefore skip a QP that is in the pipeline, and an event of the very QP
//   that the sweep is at goes before the visit.
// - Follow-up steps come first. While a sweep runs, events and visits get alternate slots of those that remain, and
//   each side may use a slot that the other leaves free. A sweep of the 16 QPs of a group therefore takes at most 32
//   cycles, not counting those of follow-up steps.
// - A step is followed by at most Wqes + 4 steps (no completion comes twice), so an event waits at most 3 · Wqes + 16
//   cycles.
//
// ACK timer: when it has run out, it is held for a packet that asked for an ACK and has been away for less than the
// timeout, because it still waits for the wire (`asks_i`) or left (`left_…`) after the timer was started. The first
// packet that leaves then counts. `left_end_i` is 0 for a packet that is about to leave.
//
// While `timers_i` is 0 a sweep stands still and no TIMER follows. The deadline of a QP that a TIMER would have
// followed is found by the next sweep. So is that of an ACK timer that runs out while an answer waits (`answers_i`).
//
// Timing: `event_ready_o` depends on `timers_i` and, unless `Outside`, on `event_qp_i`, `idle_o` on `event_valid_i` and
// `now_i` of the same cycle; all other outputs are registers.
module gbn_requester
  import time_pkg::*, roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter  int unsigned Qps      = 64,          // 2 to 1,024
    parameter  int unsigned Wqes     = 16,          // slots of a QP's ring: a power of two, 2 to 128
    parameter  int unsigned Reads    = 16,          // READs of a QP that may be unanswered: a power of two, 2 to 16
    parameter  int unsigned PeriodPs = 5120,        // of clk_i: 1,000 to 10,000
    parameter  bit          Outside  = 1'b0,        // events are of QPs outside of the pipeline only
    localparam int unsigned QpBits   = $clog2(Qps)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input  logic                           event_valid_i,
    input  logic              [       3:0] event_kind_i,           // requester_kind_e, without TIMER and WALK
    input  logic              [QpBits-1:0] event_qp_i,
    input  requester_config_t              event_configuration_i,  // OPEN
    input  psn_t                           event_psn_i,            // OPEN, ACK, RESPONSE
    input  logic              [       7:0] event_syndrome_i,       // ACK, RESPONSE: that of an ACK if it has no AETH
    input  work_t                          event_work_i,           // POST
    input  returned_t                      event_returned_i,       // RESPONSE
    output logic                           event_ready_o,

    input logic [Qps-1:0] asks_i,  // per QP: a packet that asks for an ACK waits for the wire
    input logic left_valid_i,  // a packet that asks for an ACK leaves
    input logic left_end_i,  // 1: its last bit; 0: it is about to leave
    input logic [QpBits-1:0] left_qp_i,

    input logic timers_i,  // there is room for the results of TIMER steps
    input logic [Qps-1:0] answers_i,  // per QP: an answer of its peer waits to become an event

    output logic                            step_valid_o,
    output requester_kind_e                 step_kind_o,
    output logic               [QpBits-1:0] step_qp_o,
    output cycle_t                          step_now_o,
    output requester_context_t              step_context_o,
    output requester_note_e                 step_note_o,
    output logic                            request_valid_o,
    output request_t                        request_o,
    output logic                            completion_valid_o,
    output logic                            completion_silent_o,
    output completion_t                     completion_o,
    output logic                            place_valid_o,
    output place_t                          place_o,

    output logic [Qps-1:0] sendable_o,
    output logic [Qps-1:0] awaits_o,    // QPs with a READ that is not answered; like `sendable_o`
    output logic [Qps-1:0] full_o,      // QPs whose ring has no room; like `sendable_o` from the cycle after a step on

    // QPs in the pipeline, of which no event is taken in this cycle
    output logic [1:0]             inside_valid_o,
    output logic [1:0][QpBits-1:0] inside_qp_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  localparam int unsigned SlotBits = $clog2(Wqes);
  localparam int unsigned ReadBits = $clog2(Reads);

  // A slot as it was taken
  typedef struct packed {
    logic              visit;          // makes a TIMER if one is due: visit of the sweep, or behind a step
    logic              own;            // made by the unit: WALK, TIMER
    requester_kind_e   kind;
    logic [QpBits-1:0] qp;
    requester_config_t configuration;
    psn_t              psn;
    logic [7:0]        syndrome;
    returned_t         returned;
    posted_t           work;           // without PSNs
  } taken_t;

  // A slot with its context
  typedef struct packed {
    taken_t             taken;
    logic               step;   // not a visit that found nothing due
    cycle_t             now;
    requester_facts_t   facts;
    requester_kept_t    kept;
    requester_context_t c;
  } looked_t;

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
  // Slot arbitration

  logic follow_q, follow_walk_q, step_q;
  logic sweep, sweep_ready, sweep_idle;
  logic [QpBits-1:0] sweep_qp;
  logic sweep_turn_q;  // an event had the last slot of the two
  logic event_inside, sweep_inside;  // the QP is in the pipeline
  logic take, take_event, take_sweep;
  logic taken_valid_q, looked_valid_q;
  taken_t taken_d, taken_q;
  looked_t looked_q;

  assign inside_valid_o = {looked_valid_q, taken_valid_q};
  assign inside_qp_o = {looked_q.taken.qp, taken_q.qp};
  assign event_inside = (taken_valid_q && taken_q.qp == event_qp_i) || (looked_valid_q && looked_q.taken.qp == event_qp_i);
  assign sweep_inside = (taken_valid_q && taken_q.qp == sweep_qp) || (looked_valid_q && looked_q.taken.qp == sweep_qp);

  assign event_ready_o = !clear && !follow_q && (Outside || !event_inside) &&
      !(sweep && timers_i && !sweep_inside && sweep_turn_q);
  assign take_event = event_valid_i && event_ready_o;
  assign take_sweep = sweep && timers_i && !sweep_inside && !follow_q && !take_event;
  assign sweep_ready = timers_i && (take_sweep || sweep_inside || (take_event && event_qp_i == sweep_qp));
  assign take = follow_q || take_event || take_sweep;

  always_ff @(posedge clk_i) begin
    if (rst_i) sweep_turn_q <= 1'b0;
    else if (take_event) sweep_turn_q <= 1'b1;
    else if (take_sweep) sweep_turn_q <= 1'b0;
  end

  always_comb begin
    taken_d = '0;
    taken_d.visit = follow_q ? !follow_walk_q : !take_event;
    taken_d.own = follow_q;
    taken_d.kind = follow_q ? RequesterWalk : requester_kind_e'(event_kind_i);
    taken_d.qp = follow_q ? step_qp_o : take_event ? event_qp_i : sweep_qp;
    if (take_event) begin
      taken_d.configuration = event_configuration_i;
      taken_d.psn = event_psn_i;
      taken_d.syndrome = event_syndrome_i;
      taken_d.returned = event_returned_i;
      taken_d.work = '{
          kind: event_work_i.kind,
          signaled: event_work_i.signaled,
          solicited: event_work_i.solicited,
          fence: event_work_i.fence,
          length: event_work_i.length,
          local_va: event_work_i.local_va,
          local_key: event_work_i.local_key,
          remote_va: event_work_i.remote_va,
          remote_key: event_work_i.remote_key,
          imm: event_work_i.imm,
          id: event_work_i.id,
          default: '0
      };
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) taken_valid_q <= 1'b0;
    else taken_valid_q <= take;
  end

  operands_t taken_operands_q, operands;

  always_ff @(posedge clk_i) begin
    if (take) taken_q <= taken_d;
    if (take_event) taken_operands_q <= '{swap_add: event_work_i.swap_add, compare: event_work_i.compare};
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 1: context

  requester_context_t read_context;
  requester_kept_t read_kept;
  requester_kind_e read_kind;
  requester_facts_t facts;
  logic [$bits(requester_kept_t)+$bits(requester_context_t)-1:0] read_bits;

  assign {read_kept, read_context} = read_bits;
  assign read_kind = taken_q.visit ? RequesterTimer : taken_q.kind;

  // Armed: the ACK timer was started, and no packet has left since. Left: a packet that asked has left since, at the
  // time in the RAM.
  logic [Qps-1:0] armed_q, armed_d, left_q, left_d;
  cycle_t left;
  logic left_write, fresh_q;

  assign left_write = left_valid_i && armed_q[left_qp_i];

  always_comb begin
    armed_d = armed_q;
    left_d  = left_q;
    if (left_write) left_d[left_qp_i] = 1'b1;
    if (left_write && left_end_i) armed_d[left_qp_i] = 1'b0;
    if (step_q && fresh_q) begin
      armed_d[step_qp_o] = 1'b1;
      left_d[step_qp_o]  = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {armed_q, left_q} <= '0;
    else {armed_q, left_q} <= {armed_d, left_d};
  end

  // QPs with a packet that asks and is waiting or leaves. Both cycles of the read count, so that none is missed. Which QP
  // is read comes late, so all are kept, with what was in the RAM then.
  logic [Qps-1:0] waiting, waited_q, was_left_q;

  always_comb begin
    waiting = asks_i & armed_q;
    if (left_write) waiting[left_qp_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (take) {waited_q, was_left_q} <= {waiting, left_q};
  end

  ram_1r1w #(
      .Width($bits(cycle_t)),
      .Depth(Qps)
  ) u_left (
      .clk_i,
      .write_i        (left_write),
      .write_address_i(left_qp_i),
      .data_i         (now_i),
      .read_i         (take),
      .read_address_i (taken_d.qp),
      .data_o         (left)
  );

  gbn_requester_look #(
      .Wqes    (Wqes),
      .PeriodPs(PeriodPs)
  ) u_look (
      .valid_i     (taken_valid_q),
      .now_i,
      .context_i   (read_context),
      .kept_i      (read_kept),
      .kind_i      (read_kind),
      .psn_i       (taken_q.psn),
      .syndrome_i  (taken_q.syndrome),
      .returned_i  (taken_q.returned),
      .work_kind_i (taken_q.work.kind),
      .length_i    (taken_q.work.length),
      .asks_i      (waited_q[taken_q.qp] || waiting[taken_q.qp]),
      .left_valid_i(was_left_q[taken_q.qp]),
      .left_i      (left),
      .answer_i    (answers_i[taken_q.qp]),
      .facts_o     (facts)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) looked_valid_q <= 1'b0;
    else looked_valid_q <= taken_valid_q;
  end

  always_ff @(posedge clk_i) begin
    if (taken_valid_q) begin
      looked_q.taken      <= taken_q;
      looked_q.step       <= !taken_q.visit || facts.due;
      looked_q.now        <= now_i;
      looked_q.facts      <= facts;
      looked_q.kept       <= read_kept;
      looked_q.c          <= read_context;
      looked_q.taken.kind <= read_kind;
      if (taken_q.visit) looked_q.taken.own <= facts.due;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 2: step

  requester_context_t step_context;
  requester_kept_t step_kept;
  requester_note_e step_note;
  logic walk, due, fresh, request_valid, completion_valid, silent, place_valid, post, ask;
  request_t request;
  completion_t completion;
  place_t place;
  posted_t posted, post_word;
  following_t following, ask_word;
  destination_t destination;
  logic [$bits(posted_t)-1:0] posted_bits;
  logic [$bits(following_t)-1:0] following_bits;
  logic [$bits(destination_t)-1:0] destination_bits;

  assign posted      = posted_bits;
  assign following   = following_bits;
  assign destination = destination_bits;

  gbn_requester_step #(
      .Reads(Reads)
  ) u_step (
      .own_i             (looked_q.taken.own),
      .kind_i            (looked_q.taken.kind),
      .configuration_i   (looked_q.taken.configuration),
      .psn_i             (looked_q.taken.psn),
      .error_i           (looked_q.taken.syndrome[1:0]),
      .bytes_i           (looked_q.taken.returned.bytes),
      .work_i            (looked_q.taken.work),
      .context_i         (looked_q.c),
      .kept_i            (looked_q.kept),
      .facts_i           (looked_q.facts),
      .posted_i          (posted),
      .operands_i        (operands),
      .following_i       (following),
      .destination_i     (destination),
      .context_o         (step_context),
      .kept_o            (step_kept),
      .note_o            (step_note),
      .walk_o            (walk),
      .due_o             (due),
      .ack_timer_o       (fresh),
      .request_valid_o   (request_valid),
      .request_o         (request),
      .completion_valid_o(completion_valid),
      .silent_o          (silent),
      .completion_o      (completion),
      .place_valid_o     (place_valid),
      .place_o           (place),
      .post_o            (post),
      .posted_o          (post_word),
      .ask_o             (ask),
      .asked_o           (ask_word)
  );

  ram_1r1w #(
      .Width($bits(requester_kept_t) + $bits(requester_context_t)),
      .Depth(Qps)
  ) u_contexts (
      .clk_i,
      .write_i        (clear || (looked_valid_q && looked_q.step)),
      .write_address_i(clear ? clear_qp : looked_q.taken.qp),
      .data_i         (clear ? '0 : {step_kept, step_context}),
      .read_i         (take),
      .read_address_i (taken_d.qp),
      .data_o         (read_bits)
  );

  logic [SlotBits-1:0] read_slot;
  assign read_slot = taken_q.kind == RequesterSend ? read_context.current[SlotBits-1:0] : read_context.tail[SlotBits-1:0];

  ram_1r1w #(
      .Width($bits(posted_t)),
      .Depth(Qps * Wqes)
  ) u_ring (
      .clk_i,
      .write_i        (looked_valid_q && post),
      .write_address_i({looked_q.taken.qp, looked_q.c.head[SlotBits-1:0]}),
      .data_i         (post_word),
      .read_i         (taken_valid_q),
      .read_address_i ({taken_q.qp, read_slot}),
      .data_o         (posted_bits)
  );

  // Operands of atomics, beside the ring. What is kept for a POST that is refused is never read.
  logic [$bits(operands_t)-1:0] operands_bits;

  assign operands = operands_bits;

  ram_1r1w #(
      .Width($bits(operands_t)),
      .Depth(Qps * Wqes)
  ) u_operands (
      .clk_i,
      .write_i        (taken_valid_q && taken_q.kind == RequesterPost && !taken_q.visit && !facts.full),
      .write_address_i({taken_q.qp, read_context.head[SlotBits-1:0]}),
      .data_i         (taken_operands_q),
      .read_i         (taken_valid_q && taken_q.kind == RequesterSend),
      .read_address_i ({taken_q.qp, read_slot}),
      .data_o         (operands_bits)
  );

  // READs that were asked for and not answered: for a response the place of the oldest one, and the one behind it, which
  // is the oldest next.
  logic read_response;
  logic [ReadBits-1:0] second;

  assign read_response = taken_valid_q && taken_q.kind == RequesterResponse;
  assign second        = read_context.asking.tail[ReadBits-1:0] + 1'b1;

  ram_1r1w #(
      .Width($bits(destination_t)),
      .Depth(Qps * Reads)
  ) u_destinations (
      .clk_i,
      .write_i        (looked_valid_q && ask),
      .write_address_i({looked_q.taken.qp, looked_q.c.asking.head[ReadBits-1:0]}),
      .data_i         ({posted.local_va, posted.local_key}),
      .read_i         (read_response),
      .read_address_i ({taken_q.qp, read_context.asking.tail[ReadBits-1:0]}),
      .data_o         (destination_bits)
  );

  ram_1r1w #(
      .Width($bits(following_t)),
      .Depth(Qps * Reads)
  ) u_following (
      .clk_i,
      .write_i        (looked_valid_q && ask),
      .write_address_i({looked_q.taken.qp, looked_q.c.asking.head[ReadBits-1:0]}),
      .data_i         (ask_word),
      .read_i         (read_response),
      .read_address_i ({taken_q.qp, second}),
      .data_o         (following_bits)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 3: results

  logic out_valid_q;  // a step or a visit
  logic [Qps-1:0] sendable_q, full_q, awaits_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      out_valid_q        <= 1'b0;
      step_q             <= 1'b0;
      request_valid_o    <= 1'b0;
      completion_valid_o <= 1'b0;
      place_valid_o      <= 1'b0;
      follow_q           <= 1'b0;
    end else begin
      out_valid_q        <= looked_valid_q;
      step_q             <= looked_valid_q && looked_q.step;
      request_valid_o    <= looked_valid_q && request_valid;
      completion_valid_o <= looked_valid_q && completion_valid;
      place_valid_o      <= looked_valid_q && place_valid;
      follow_q           <= looked_valid_q && looked_q.step && (walk || (due && timers_i));
    end
  end

  always_ff @(posedge clk_i) begin
    if (looked_valid_q) begin
      step_kind_o    <= looked_q.taken.kind;
      step_qp_o      <= looked_q.taken.qp;
      step_now_o     <= looked_q.now;
      step_context_o <= step_context;
      step_note_o    <= step_note;
      follow_walk_q  <= walk;
      fresh_q        <= fresh;
    end
    if (looked_valid_q && request_valid) request_o <= request;
    if (looked_valid_q && completion_valid) {completion_silent_o, completion_o} <= {silent, completion};
    if (looked_valid_q && place_valid) place_o <= place;
  end

  assign step_valid_o = step_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) {sendable_q, full_q, awaits_q} <= '0;
    else if (step_q) begin
      sendable_q[step_qp_o] <= requester_sendable(step_context_o);
      full_q[step_qp_o]     <= step_context_o.head - step_context_o.tail == ring_t'(Wqes);
      awaits_q[step_qp_o]   <= step_context_o.asking.tail != step_context_o.asking.head;
    end
  end

  assign sendable_o = sendable_q;
  assign full_o     = full_q;
  assign awaits_o   = awaits_q;

  // A deadline is reported only by the last of the steps that follow each other.
  deadline_sweep #(
      .Entries(Qps),
      .Sources(1)
  ) u_sweep (
      .clk_i,
      .rst_i,
      .now_i,
      .seen_valid_i (out_valid_q && !follow_q && step_context_o.timer_runs),
      .seen_index_i (step_qp_o),
      .seen_at_i    (step_context_o.deadline),
      .visit_valid_o(sweep),
      .visit_index_o(sweep_qp),
      .visit_ready_i(sweep_ready),
      .idle_o       (sweep_idle),
      .wake_o
  );

  assign idle_o = !event_valid_i && !clear && !taken_valid_q && !looked_valid_q && !out_valid_q && sweep_idle;

  //////////////////////////////////////////////////////////////////////////////////////////////

  localparam int unsigned WaitMax = 3 * Wqes + 16;
  localparam int unsigned SweepMax = 2 * ((Qps > 16) ? 16 : Qps);

  logic [$clog2(WaitMax+2)-1:0] wait_q;  // cycles that an event has waited
  logic [$clog2(SweepMax+2)-1:0] sweep_q;  // cycles of a sweep, without those of follow-up steps
  logic [QpBits-1:0] event_qp_q;
  ring_t ring, sent;

  assign ring = step_context_o.head - step_context_o.tail;
  assign sent = step_context_o.current - step_context_o.tail;

  always_ff @(posedge clk_i) begin
    event_qp_q <= event_qp_i;
    if (rst_i || clear || !event_valid_i || event_ready_o || event_qp_i != event_qp_q) wait_q <= '0;
    else wait_q <= wait_q + 1'b1;
    if (rst_i || !sweep) sweep_q <= '0;
    else if (!follow_q && timers_i) sweep_q <= sweep_q + 1'b1;

    if (!rst_i) begin
      assert (32'(wait_q) <= WaitMax)
      else $error("gbn_requester: an event waits too long");
      assert (32'(sweep_q) <= SweepMax)
      else $error("gbn_requester: a sweep takes too long");
      assert (!Outside || !event_valid_i || !event_inside)
      else $error("gbn_requester: an event of a QP in the pipeline");
      assert (!(taken_valid_q && looked_valid_q && taken_q.qp == looked_q.taken.qp))
      else $error("gbn_requester: two slots of a QP in the pipeline");
      assert (!looked_valid_q || !looked_q.step || !looked_q.taken.own || looked_q.taken.kind != RequesterTimer ||
              (looked_q.facts.due && looked_q.c.after == AfterNone))
      else $error("gbn_requester: TIMER of a QP with nothing due");
      assert (!looked_valid_q || looked_q.taken.own || looked_q.taken.visit ||
              (looked_q.c.after == AfterNone && (looked_q.c.state != QpError || looked_q.facts.empty)))
      else $error("gbn_requester: an event found something to walk");
      assert (!looked_valid_q || looked_q.c.after != AfterFail || !looked_q.facts.empty)
      else $error("gbn_requester: a QP fails with nothing in its ring");
    end

    if (!rst_i && step_q) begin
      assert (step_context_o.state != QpClosed || step_context_o == '0)
      else $error("gbn_requester: a closed QP has a state");
      assert (32'(ring) <= Wqes && sent <= ring)
      else $error("gbn_requester: ring indexes out of order");
      assert (!psn_behind(
          step_context_o.next_psn, step_context_o.una_psn
      ) && !psn_ahead(
          step_context_o.next_psn, step_context_o.top_psn
      ))
      else $error("gbn_requester: PSNs out of order");
      assert (!psn_behind(
          step_context_o.asked_psn, step_context_o.una_psn
      ) && !psn_ahead(
          step_context_o.asked_psn, step_context_o.next_psn
      ))
      else $error("gbn_requester: what asked was not sent, or is acknowledged");
      assert (step_context_o.timer_runs || !step_context_o.rnr_wait)
      else $error("gbn_requester: an RNR wait without an end");
      assert (!step_context_o.timer_runs || step_context_o.state == QpReady)
      else $error("gbn_requester: the timer of a QP that is not ready runs");
    end
  end

endmodule
