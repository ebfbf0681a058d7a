// Proof of qp_drain under qp_commands: CLOSE leaves nothing behind. When CLOSE ends, or OPEN of an open QP goes on to
// write the new path, no element that was the QP's when the discard began is left: in no queue, and on no way between
// two of them.
//
// An arbitrary element of the QP is followed, in an arbitrary one of the queues for headers and answers, and behind it
// in an arbitrary ring of steps, to the queue of completions or, as an atomic, to the host. A completion of the QP may
// also come from elsewhere before the discard, and wait for READ data first. The queues here are models: words in front
// of the element, and words in all. What they assume is what the rest of the NIC guarantees:
// - What was judged when the discard begins is in its queue at most `Stages` cycles later; so is the step of a header
//   or answer that was taken from its queue.
// - A refusal comes with its step. `refusing_i` is 1 while it waits, `holds_i` while the QP has a slot.
// - No element of the QP comes while `discard_o` is 1: the QP is closed to packets.
module qp_drain_proof
  import gbn_pkg::*, nic_registers_pkg::*, nic_pkg::*;
(
    input logic                    clk_i,
    input logic                    command_i,
    input logic                    open_i,
    input logic                    qp_i,
    input logic [        3:0]      ready_i,       // of requester, responder, reaction and notification point
    input logic [Buffers-1:0][1:0] headers_i,     // of the queues without the element
    input logic [Buffers-1:0]      header_pop_i,
    input logic [        1:0]      answers_i,
    input logic                    answer_pop_i,
    input logic                    push_i,        // a word comes to the queue that is followed
    input logic                    pop_i,
    input logic [        2:0]      ring_i,
    input logic [Buffers-1:0][1:0] steps_i,       // of the rings without the element
    input logic [Buffers-1:0]      step_pops_i,
    input logic                    step_push_i,
    input logic                    step_pop_i,
    input logic                    atomic_i,      // the step is an atomic's: the element goes to the host
    input logic                    atomic_push_i,
    input logic                    atomic_pop_i,
    input logic                    refusing_i,
    input logic                    holds_i,
    input logic [        3:0]      queue_i,
    input logic                    appear_i,
    input logic                    arrive_i,      // what is on the way comes to its queue
    input logic                    refuse_i,      // its step is refused
    input logic                    leave_i,       // refusal and slot go
    input logic                    slot_i,
    input logic                    tell_i,        // the element makes a completion, or is one from the start
    input logic                    wait_i,        // such a completion waits for READ data first
    input logic                    wait_push_i,
    input logic                    wait_pop_i,
    input logic                    told_push_i,
    input logic                    told_pop_i
);

  localparam logic [4:0] Stages = 5'd15;
  localparam logic [3:0] Answers = 4'(Buffers);  // the queue of answers; those below are headers

  logic started_q = 1'b0;
  logic [3:0] queue_q;
  logic [2:0] ring_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) queue_q <= (queue_i < Answers) ? queue_i : Answers;
    if (!started_q) ring_q <= ring_i;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Design

  logic busy, write, discard, drained, kind, requester, responder, rp, np;
  logic unused_qp, unused_idle;
  logic [Buffers-1:0][1:0] headers, steps_in;
  logic [Buffers-1:0] header_pop, steps_pop;
  logic [1:0] answers, count_q, step_count_q, atomic_count_q, wait_count_q;
  logic answer_pop, pop, step_pop, atomic_pop, wait_pop, told_pop, refusal_q, slot_q;
  logic [1:0] told_count_q;

  qp_commands #(
      .Qps(2)
  ) u_commands (
      .clk_i,
      .rst_i            (!started_q),
      .command_i        (command_i && !busy),
      .open_i,
      .query_i          (1'b0),
      .qp_i,
      .settings_i       ('0),
      .maps_i           ('0),
      .busy_o           (busy),
      .write_o          (write),
      .qp_o             (unused_qp),
      .path_o           (),
      .peer_o           (),
      .discard_o        (discard),
      .drained_i        (drained),
      .query_o          (),
      .queried_i        (1'b0),
      .kind_open_o      (kind),
      .requester_valid_o(requester),
      .requester_o      (),
      .requester_ready_i(ready_i[0]),
      .responder_valid_o(responder),
      .responder_o      (),
      .responder_ready_i(ready_i[1]),
      .rp_valid_o       (rp),
      .rp_ready_i       (ready_i[2]),
      .np_valid_o       (np),
      .np_ready_i       (ready_i[3]),
      .open_o           (),
      .class_o          (),
      .tagged_o         (),
      .class_open_o     ()
  );

  qp_drain #(
      .HeaderBits(2),
      .AnswerBits(2),
      .StepBits  (2),
      .AtomicBits(2),
      .CompletionBits(2)
  ) u_drain (
      .clk_i,
      .rst_i       (!started_q),
      .discard_i   (discard),
      .headers_i   (headers),
      .header_pop_i(header_pop),
      .answers_i   (answers),
      .answer_pop_i(answer_pop),
      .steps_i     (steps_in),
      .step_pop_i  (steps_pop),
      .atomics_i   (atomic_count_q),
      .atomic_pop_i(atomic_pop),
      .refusing_i  (refusing_i || refusal_q),
      .holds_i     (holds_i || slot_q),
      .completions_i(told_count_q),
      .sends_i     (wait_count_q),
      .send_pop_i  (wait_pop),
      .completion_pop_i(told_pop),
      .drained_o   (drained),
      .idle_o      (unused_idle)
  );

  always_comb begin
    headers    = headers_i;
    header_pop = header_pop_i;
    answers    = answers_i;
    answer_pop = answer_pop_i;
    steps_in   = steps_i;
    steps_pop  = step_pops_i;
    steps_in[ring_q]  = step_count_q;
    steps_pop[ring_q] = step_pop;
    if (queue_q == Answers) begin
      answers    = count_q;
      answer_pop = pop;
    end else begin
      headers[queue_q[2:0]]    = count_q;
      header_pop[queue_q[2:0]] = pop;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // The element

  typedef enum logic [2:0] {
    Nowhere = 3'd0,
    Judged  = 3'd1,  // on its way to its queue
    Queued  = 3'd2,
    Taken   = 3'd3,  // on its way to the queue of steps
    Stepped = 3'd4,  // in the queue of steps
    Told    = 3'd5,  // in the queue of completions
    Host    = 3'd6,  // an atomic, at the host
    Waits   = 3'd7   // a completion that waits for READ data
  } where_e;

  where_e where_q, where_d;
  logic [1:0] front_q, step_front_q, atomic_front_q, wait_front_q, told_front_q;  // words in front of the element
  logic [4:0] discards_q;  // cycles for which `discard` has been 1; saturates
  logic [4:0] taken_q;  // cycles since the element was taken; saturates
  logic push, step_push, atomic_push, wait_push, told_push, arrives, steps, asks, waits, tells;

  assign pop       = pop_i && count_q != '0;
  assign step_pop  = step_pop_i && step_count_q != '0;
  assign told_pop  = told_pop_i && told_count_q != '0;
  assign atomic_pop = atomic_pop_i && atomic_count_q != '0;
  assign wait_pop = wait_pop_i && wait_count_q != '0;

  // The element arrives at any time up to its last cycle. The queues have room for it.
  assign arrives   = where_q == Judged && (arrive_i || (discard && discards_q == Stages - 5'd1));
  assign steps     = where_q == Taken && (arrive_i || taken_q == Stages);
  assign push      = arrives || (push_i && count_q < 2'd2);
  assign step_push = steps || (step_push_i && step_count_q < 2'd2);
  assign asks      = where_d == Host && where_q != Host;
  assign atomic_push = asks || (atomic_push_i && atomic_count_q < 2'd2);
  assign waits     = where_d == Waits && where_q != Waits;
  assign wait_push = waits || (wait_push_i && wait_count_q < 2'd2);
  assign tells     = where_d == Told && where_q != Told;
  assign told_push = tells || (told_push_i && told_count_q < 2'd2);

  always_comb begin
    where_d = where_q;
    case (where_q)
      Nowhere: if (appear_i && !discard) where_d = !tell_i ? Judged : wait_i ? Waits : Told;
      Judged:  if (arrives) where_d = Queued;
      Queued:  if (pop && front_q == '0) where_d = (queue_q == Answers) ? Nowhere : Taken;
      Taken:   if (steps) where_d = Stepped;
      Stepped: if (step_pop && step_front_q == '0) where_d = tell_i ? Told : atomic_i ? Host : Nowhere;
      Waits:   if (wait_pop && wait_front_q == '0) where_d = Told;
      Host:    if (atomic_pop && atomic_front_q == '0) where_d = Nowhere;
      default: if (told_pop && told_front_q == '0) where_d = Nowhere;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!started_q) begin
      where_q      <= Nowhere;
      count_q      <= '0;
      step_count_q <= '0;
      told_count_q <= '0;
      atomic_count_q <= '0;
      wait_count_q <= '0;
      refusal_q    <= 1'b0;
      slot_q       <= 1'b0;
      discards_q   <= '0;
    end else begin
      where_q      <= where_d;
      count_q      <= count_q + 2'(push) - 2'(pop);
      step_count_q <= step_count_q + 2'(step_push) - 2'(step_pop);
      told_count_q <= told_count_q + 2'(told_push) - 2'(told_pop);
      atomic_count_q <= atomic_count_q + 2'(atomic_push) - 2'(atomic_pop);
      wait_count_q <= wait_count_q + 2'(wait_push) - 2'(wait_pop);
      refusal_q    <= (steps && refuse_i) || (refusal_q && !leave_i);
      slot_q       <= (slot_i && !discard) || (slot_q && !leave_i);
      discards_q   <= !discard ? '0 : (discards_q == Stages) ? Stages : discards_q + 1'b1;
    end
    front_q      <= arrives ? count_q - 2'(pop) : front_q - 2'(pop);
    step_front_q <= steps ? step_count_q - 2'(step_pop) : step_front_q - 2'(step_pop);
    atomic_front_q <= asks ? atomic_count_q - 2'(atomic_pop) : atomic_front_q - 2'(atomic_pop);
    wait_front_q <= waits ? wait_count_q - 2'(wait_pop) : wait_front_q - 2'(wait_pop);
    told_front_q <= tells ? told_count_q - 2'(told_pop) : told_front_q - 2'(told_pop);
    taken_q      <= (where_q != Taken) ? 5'd1 : taken_q + 1'b1;
  end

  logic left;  // the element is somewhere
  assign left = where_q != Nowhere || refusal_q || slot_q;

  // Previous cycle, and whether an open QP is being closed
  logic discard_q = 1'b0, closing_q = 1'b0;
  always_ff @(posedge clk_i) begin
    discard_q <= started_q && discard;
    closing_q <= started_q && ((u_commands.start && u_commands.close) || (closing_q && !(discard && drained)));
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // State of the drains: that of the followed queue, and that of the steps

  logic queue_started;
  logic [1:0] queue_left;
  logic [Buffers:0] all_started, all_passed;
  logic [Buffers:0][1:0] all_left;
  for (genvar b = 0; b < Buffers; b++) begin : gen_headers
    assign all_started[b] = u_drain.u_headers.started_q;
    assign all_left[b]    = u_drain.u_headers.left_q[b];
  end
  assign all_started[Buffers] = u_drain.u_answers.started_q;
  assign all_left[Buffers]    = u_drain.u_answers.left_q;
  for (genvar b = 0; b <= Buffers; b++) begin : gen_passed
    assign all_passed[b] = all_started[b] && all_left[b] == '0;
  end
  assign queue_started = all_started[queue_q];
  assign queue_left    = all_left[queue_q];

  always_comb begin
    if (started_q) begin
      // What the induction needs
      a_model :
      assert (32'(discards_q) == 32'(u_drain.first_q) && queue_q <= Answers &&
              (where_q != Judged || discards_q < Stages) && (where_q == Queued || count_q < 2'd3) &&
              (where_q == Stepped || step_count_q < 2'd3) && (where_q != Queued || front_q < count_q) &&
              (where_q != Stepped || step_front_q < step_count_q) && (where_q == Told || told_count_q < 2'd3) &&
              (where_q != Told || told_front_q < told_count_q) && (where_q == Host || atomic_count_q < 2'd3) &&
              (where_q != Host || atomic_front_q < atomic_count_q) &&
              (where_q == Waits || wait_count_q < 2'd3) && (where_q != Waits || wait_front_q < wait_count_q));
      a_discards : assert (!discard || u_commands.closed);
      a_begins : assert (all_started == '0 || u_drain.first_q == 4'd15);
      a_passes : assert (u_drain.second_q == '0 || all_passed == '1);
      a_steps_begin : assert (!u_drain.u_steps.started_q || u_drain.second_q == 4'd15);
      a_queued : assert (where_q != Queued || !queue_started || front_q < queue_left);
      a_taken : assert (where_q != Taken || (taken_q <= Stages && 5'(u_drain.second_q) < taken_q));
      a_stepped :
      assert (where_q != Stepped || !u_drain.u_steps.started_q || step_front_q < u_drain.u_steps.left_q[ring_q]);
      a_atomics_begin :
      assert (!u_drain.u_atomics.started_q || (u_drain.u_steps.started_q && u_drain.u_steps.left_q == '0));
      a_performed :
      assert (where_q != Host || !u_drain.u_atomics.started_q || atomic_front_q < u_drain.u_atomics.left_q);
      a_written :
      assert (!u_drain.written_q || (where_q inside {Nowhere, Waits, Told} && !refusal_q && !slot_q));
      a_waits_begin : assert (!u_drain.u_sends.started_q || u_drain.written_q);
      a_waited : assert (where_q != Waits || !u_drain.u_sends.started_q || wait_front_q < u_drain.u_sends.left_q);
      a_tells_begin :
      assert (!u_drain.u_completions.started_q || (u_drain.u_sends.started_q && u_drain.u_sends.left_q == '0));
      a_told :
      assert (where_q != Told || !u_drain.u_completions.started_q || told_front_q < u_drain.u_completions.left_q);
      // What is proved
      a_nothing_left : assert (!(discard && drained) || !left);
      a_end : assert (!(discard_q && !discard) || !left);
      a_closes : assert (!closing_q || (u_commands.busy_q && !kind && !write));
    end
  end

endmodule
