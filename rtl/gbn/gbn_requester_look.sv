// First half of a requester's step: the facts that follow from event and context without the ring.
//
// Purely combinational. Without `valid_i` the facts are 0, so that nothing is computed for a cycle without a step.
module gbn_requester_look
  import time_pkg::*, roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter int unsigned Wqes     = 16,
    parameter int unsigned PeriodPs = 5120
) (
    input logic                      valid_i,
    input cycle_t                    now_i,
    input requester_context_t        context_i,
    input logic                      response_i,    // RESPONSE; else `syndrome_i` is that of an ACK
    input psn_t                      psn_i,         // of an answer
    input logic               [ 7:0] syndrome_i,
    input work_e                     kind_i,        // of a work request
    input logic               [31:0] length_i,
    input logic                      asks_i,        // a packet that asks for an ACK waits for the wire
    input logic                      left_valid_i,  // a packet that asked has left since the ACK timer was started
    input cycle_t                    left_i,        // when the last one did
    input logic                      answer_i,      // an answer waits, so an ACK timer is not due

    output requester_facts_t facts_o
);

  cycle_t timeout, rnr;
  psn_t unacknowledged;
  logic [22:0] window;
  logic [7:0] ack_every;
  logic [31:0] less;  // packets − 1
  logic ack, rnr_nak, sequence_nak, error;
  logic waits, begun, ahead, atomic;
  psn_t una, awaited;
  cycle_t left;

  gbn_times #(
      .PeriodPs(PeriodPs)
  ) u_times (
      .timeout_i(context_i.configuration.timeout),
      .timeout_o(timeout),
      .rnr_i    (syndrome_i[4:0]),
      .rnr_o    (rnr)
  );

  always_comb begin
    facts_o = '0;
    unacknowledged = '0;
    ack_every = '0;
    window = '0;
    less = '0;
    ack = '0;
    rnr_nak = '0;
    sequence_nak = '0;
    error = '0;
    left = '0;
    una = '0;
    {waits, begun, ahead, atomic} = '0;
    awaited = '0;
    if (valid_i) begin
      unacknowledged = context_i.next_psn - context_i.una_psn;
      ack_every = context_i.configuration.ack_every;
      window = window_packets(context_i.configuration.window);

      // ⌈length / mtu⌉ − 1; 0 for length 0, which is one packet
      less = (length_i == '0) ? '0 : (length_i - 1'b1) >> mtu_bits(context_i.configuration.mtu);

      ack = syndrome_i[7:5] == 3'b000;
      rnr_nak = syndrome_i[7:5] == 3'b001;
      sequence_nak = syndrome_i == SyndromeSequence;
      error = syndrome_i == SyndromeInvalid || syndrome_i == SyndromeAccess || syndrome_i == SyndromeOperate;
      left = left_i + timeout;

      // PSN of the response that comes next
      waits = context_i.asking.tail != context_i.asking.head;
      begun = !psn_behind(context_i.una_psn, context_i.asking.first_psn);
      awaited = begun ? context_i.una_psn : context_i.asking.first_psn;
      ahead = psn_ahead(psn_i, awaited);
      facts_o.due = context_i.timer_runs && !earlier(now_i, context_i.deadline) && (!answer_i || context_i.rnr_wait);
      facts_o.empty = context_i.tail == context_i.head;
      facts_o.full = context_i.head - context_i.tail == ring_t'(Wqes);

      atomic = kind_i inside {WorkCmpSwap, WorkFetchAdd};
      facts_o.work_bad = kind_i > WorkFetchAdd || (atomic && length_i != 32'(AtomicBytes)) ||
          length_i > MessageBytesMax || less >= 32'(MessagePacketsMax);
      facts_o.packets_less = less[21:0];

      facts_o.sendable = requester_sendable(context_i);
      facts_o.window_last = unacknowledged + 1'b1 >= psn_t'(window);
      facts_o.asked_long_ago = ack_every != '0 && 9'(context_i.unasked) + 9'd1 >= 9'(ack_every);
      facts_o.again = psn_behind(context_i.next_psn, context_i.top_psn);

      facts_o.ack = ack;
      facts_o.rnr = rnr_nak;
      facts_o.sequence_nak = sequence_nak;
      facts_o.error = error;
      facts_o.behind_una = psn_behind(psn_i, context_i.una_psn);
      facts_o.unsent = !psn_behind(psn_i, context_i.top_psn) || (response_i && (!waits || psn_behind(psn_i, awaited)));
      facts_o.missing = waits && !facts_o.behind_una && psn_behind(psn_i, context_i.top_psn) &&
          ((ahead && (response_i || ack || rnr_nak || sequence_nak || error)) ||
           (psn_i == awaited && !response_i && ack));
      facts_o.begun = begun;
      facts_o.begins = psn_i == context_i.asking.first_psn ||
          (context_i.asking.resumes && psn_i == context_i.asking.resumed_psn);
      // A NAK acknowledges the packets before its PSN, and what says that a response is missing those before the READ.
      una = facts_o.missing ? awaited : psn_i + psn_t'(ack || response_i);
      if (facts_o.missing) facts_o.progress = !begun;
      else if (ack || response_i) facts_o.progress = !facts_o.behind_una;
      else facts_o.progress = psn_ahead(psn_i, context_i.una_psn);
      facts_o.una_psn = una;
      facts_o.next_behind = psn_behind(context_i.next_psn, una);
      facts_o.asked_behind = psn_behind(context_i.asked_psn, una);
      facts_o.asked_ahead = psn_ahead(context_i.asked_psn, una);
      facts_o.ack_timer_on = context_i.configuration.timeout != '0;
      facts_o.ack_deadline = now_i + timeout;
      facts_o.rnr_deadline = now_i + rnr;
      facts_o.unwanted = facts_o.behind_una || !psn_behind(psn_i, requester_end_wanted(context_i));
      facts_o.held = !context_i.rnr_wait && (asks_i || (left_valid_i && earlier(now_i, left)));
      facts_o.held_deadline = asks_i ? facts_o.ack_deadline : left;
    end
  end

endmodule
