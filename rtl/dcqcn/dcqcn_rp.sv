// Reaction point: the sender rate of DCQCN, with one context per QP in a RAM. rtl/dcqcn/README.md is the contract.
//
// Each slot of the pipeline is an event or a visit of the sweep to a QP whose deadlines may have come. Cycles of a
// slot:
//
//     n        taken (`event_ready_o`, or a visit); the context is read
//     n + 1    `now_i` and `params_i` are sampled; a visit that finds something due becomes a TIMER step,
//              any other visit only reports its deadlines to the sweep
//     n + 8    `step_valid_o` and the other results; the context is written
//     n + 9    the next slot of the same QP
//
// No update is lost: no event of a QP is taken while the QP is in the pipeline. Nothing is reordered: there is one
// pipeline and no queue.
//
// - A sweep that comes to a QP with an event in the pipeline marks that event and goes on. The QP is visited in the
//   cycle after the event leaves the pipeline, before anything else.
// - A QP with a TIMER step in the pipeline is not marked: its visit is under way, and what is still due after it is
//   reported for the next sweep. A marked visit is therefore followed by the QP's next event, however short its
//   periods are.
// - While a sweep runs, events and visits get alternate slots, and each side may use a slot that the other leaves
//   free. A sweep of the 16 QPs of a group therefore takes at most 32 cycles and those of an event in its way.
// - An event waits at most 26 cycles: 8 for an event of its QP that a sweep has marked, 9 for the visit, and 9 if the
//   sweep takes the slot in the cycle in which the visit leaves.
// - A deadline that comes right after a visit has looked is reported 8 cycles later. Together with 3 cycles to the
//   next sweep's first visit and 9 for an event in the pipeline when the sweep arrives, a deadline is stepped at most
//   33 · g + 20 cycles late, if QPs of g groups have deadlines.
//
// Timing: `event_ready_o` depends on `event_qp_i`, `idle_o` on `event_valid_i` and `now_i` of the same cycle; all
// other outputs are registers.
module dcqcn_rp
  import time_pkg::*, dcqcn_pkg::*;
#(
    parameter  int unsigned Qps    = 64,          // 2 to 1,024
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic       clk_i,
    input logic       rst_i,
    input cycle_t     now_i,
    input rp_params_t params_i,

    input  logic              event_valid_i,
    input  logic [       1:0] event_kind_i,   // RpOpen to RpBytes
    input  logic [QpBits-1:0] event_qp_i,
    input  logic [      15:0] event_bytes_i,
    output logic              event_ready_o,

    output logic                     step_valid_o,
    output rp_kind_e                 step_kind_o,
    output logic        [QpBits-1:0] step_qp_o,
    output cycle_t                   step_now_o,
    output logic        [      15:0] step_bytes_o,    // BYTES: as in the event
    output rp_context_t              step_context_o,
    output logic                     rate_valid_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  localparam int unsigned Last = RpStepLatency;

  // A slot in the pipeline, beside its context
  typedef struct packed {
    logic              step;   // not a visit that found nothing due
    logic              again;  // the sweep passed this event: visit the QP when it leaves
    rp_kind_e          kind;
    logic [QpBits-1:0] qp;
    logic [15:0]       bytes;
    cycle_t            now;
  } slot_t;

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

  logic again_q;  // a marked event has left the pipeline: visit its QP
  logic [QpBits-1:0] again_qp_q;
  logic sweep, sweep_ready, sweep_idle;
  logic [QpBits-1:0] sweep_qp;
  logic sweep_turn_q;  // an event had the last slot of the two
  logic event_inside, sweep_inside;  // the QP is in the pipeline
  logic take_event, take_sweep;

  assign event_ready_o = !clear && !again_q && !event_inside && !(sweep && !sweep_inside && sweep_turn_q);
  assign take_event    = event_valid_i && event_ready_o;
  assign take_sweep    = sweep && !sweep_inside && !again_q && !take_event;
  assign sweep_ready   = take_sweep || sweep_inside;

  always_ff @(posedge clk_i) begin
    if (rst_i) sweep_turn_q <= 1'b0;
    else if (take_event) sweep_turn_q <= 1'b1;
    else if (take_sweep) sweep_turn_q <= 1'b0;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 1: context; is anything due?

  logic read_q, visit_q, due;
  logic done, rate_changed;
  logic [1:0] read_kind_q;
  logic [QpBits-1:0] read_qp, read_qp_q;
  logic [15:0] read_bytes_q;
  rp_context_t read_context;
  logic [$bits(rp_context_t)-1:0] read_bits;
  rp_kind_e kind;

  assign read_qp = again_q ? again_qp_q : take_event ? event_qp_i : sweep_qp;

  always_ff @(posedge clk_i) begin
    if (rst_i) read_q <= 1'b0;
    else read_q <= again_q || take_event || take_sweep;
  end

  always_ff @(posedge clk_i) begin
    if (again_q || take_event || take_sweep) begin
      visit_q      <= !take_event;
      read_kind_q  <= event_kind_i;
      read_qp_q    <= read_qp;
      read_bytes_q <= event_bytes_i;
    end
  end

  assign read_context = read_bits;

  always_comb begin
    due = 1'b0;
    if (read_q && visit_q) begin
      due = (read_context.alpha_runs && !earlier(now_i, read_context.alpha_deadline)) ||
          (read_context.rate_runs && !earlier(now_i, read_context.rate_deadline));
    end
  end

  assign kind = visit_q ? (due ? RpTimer : RpNone) : rp_kind_e'({1'b0, read_kind_q});

  dcqcn_rp_step u_step (
      .clk_i,
      .rst_i,
      .now_i,
      .params_i,
      .valid_i     (read_q),
      .kind_i      (kind),
      .bytes_i     (read_bytes_q),
      .context_i   (read_context),
      .valid_o     (done),
      .context_o   (step_context_o),
      .rate_valid_o(rate_changed)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Pipeline contents

  logic [Last:1] flight_valid_q;
  slot_t flight_q[1:Last];
  logic [Last:0] event_match, sweep_match;  // 0: the context has just been read
  slot_t done_slot;

  assign event_match[0] = read_q && read_qp_q == event_qp_i;
  assign sweep_match[0] = read_q && read_qp_q == sweep_qp;

  for (genvar s = 1; s <= Last; s++) begin : gen_match
    assign event_match[s] = flight_valid_q[s] && flight_q[s].step && flight_q[s].qp == event_qp_i;
    assign sweep_match[s] = flight_valid_q[s] && flight_q[s].step && flight_q[s].qp == sweep_qp;
  end

  assign event_inside = event_match != '0;
  assign sweep_inside = sweep_match != '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) flight_valid_q <= '0;
    else flight_valid_q <= {flight_valid_q[Last-1:1], read_q};
  end

  always_ff @(posedge clk_i) begin
    if (read_q) begin
      flight_q[1].step  <= !visit_q || due;
      flight_q[1].again <= sweep && sweep_match[0];
      flight_q[1].kind  <= kind;
      flight_q[1].qp    <= read_qp_q;
      flight_q[1].bytes <= read_bytes_q;
      flight_q[1].now   <= now_i;
    end
  end

  for (genvar s = 2; s <= Last; s++) begin : gen_flight
    always_ff @(posedge clk_i) begin
      if (flight_valid_q[s-1]) begin
        flight_q[s]       <= flight_q[s-1];
        flight_q[s].again <= flight_q[s-1].again || (sweep && sweep_match[s-1]);
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Results

  assign done_slot    = flight_q[Last];
  assign step_valid_o = done && done_slot.step;
  assign step_kind_o  = done_slot.kind;
  assign step_qp_o    = done_slot.qp;
  assign step_now_o   = done_slot.now;
  assign step_bytes_o = done_slot.bytes;
  assign rate_valid_o = rate_changed;

  ram_1r1w #(
      .Width($bits(rp_context_t)),
      .Depth(Qps)
  ) u_contexts (
      .clk_i,
      .write_i        (clear || step_valid_o),
      .write_address_i(clear ? clear_qp : done_slot.qp),
      .data_i         (clear ? '0 : step_context_o),
      .read_i         (again_q || take_event || take_sweep),
      .read_address_i (read_qp),
      .data_o         (read_bits)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) again_q <= 1'b0;
    else again_q <= step_valid_o && done_slot.kind != RpTimer && (done_slot.again || (sweep && sweep_match[Last]));
  end

  always_ff @(posedge clk_i) begin
    if (step_valid_o) again_qp_q <= done_slot.qp;
  end

  deadline_sweep #(
      .Entries(Qps),
      .Sources(2)
  ) u_sweep (
      .clk_i,
      .rst_i,
      .now_i,
      .seen_valid_i ({done && step_context_o.alpha_runs, done && step_context_o.rate_runs}),
      .seen_index_i ({2{done_slot.qp}}),
      .seen_at_i    ({step_context_o.alpha_deadline, step_context_o.rate_deadline}),
      .visit_valid_o(sweep),
      .visit_index_o(sweep_qp),
      .visit_ready_i(sweep_ready),
      .idle_o       (sweep_idle),
      .wake_o
  );

  assign idle_o = !event_valid_i && !clear && !again_q && !read_q && flight_valid_q == '0 && sweep_idle;

  //////////////////////////////////////////////////////////////////////////////////////////////

  logic [$clog2(2*Qps+16):0] age_q;  // cycles of a sweep

  always_ff @(posedge clk_i) begin
    if (rst_i || !sweep) age_q <= '0;
    else age_q <= age_q + 1'b1;
    if (!rst_i) begin
      assert (done == flight_valid_q[Last])
      else $error("dcqcn_rp: context and slot lost each other");
      assert (!step_valid_o || step_context_o.alpha <= AlphaOne)
      else $error("dcqcn_rp: alpha above 1");
      assert (!step_valid_o || step_context_o.open || step_context_o == '0)
      else $error("dcqcn_rp: a QP that is not open has a state");
      assert (!(step_valid_o && step_kind_o == RpOpen) || (rate_valid_o && step_context_o.open))
      else $error("dcqcn_rp: OPEN gave no rate");
      assert (!take_event || !(take_sweep || again_q))
      else $error("dcqcn_rp: two slots in a cycle");
      assert (32'(age_q) <= 2 * ((Qps > 16) ? 16 : Qps) + 16)
      else $error("dcqcn_rp: a sweep takes too long");
    end
  end

  // A QP has at most one step in the pipeline.
  for (genvar s = 1; s < Last; s++) begin : gen_alone
    always_ff @(posedge clk_i) begin
      if (!rst_i)
        assert (!(step_valid_o && flight_valid_q[s] && flight_q[s].step && flight_q[s].qp == step_qp_o))
        else $error("dcqcn_rp: two steps of a QP in the pipeline");
    end
  end

endmodule
