// First half of a requester's step: the facts that follow from event, context and what is kept beside it, without the
// ring. What an answer acknowledges is decided here.
//
// What it acknowledges up to is known late, so it is compared before: each PSN that it may be has its own comparisons.
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
    input requester_kept_t           kept_i,
    input requester_kind_e           kind_i,
    input psn_t                      psn_i,         // of an answer
    input logic               [ 7:0] syndrome_i,
    input returned_t                 returned_i,    // RESPONSE
    input work_e                     work_kind_i,   // POST
    input logic               [31:0] length_i,
    input logic                      asks_i,        // a packet that asks for an ACK waits for the wire
    input logic                      left_valid_i,  // a packet that asked has left since the ACK timer was started
    input cycle_t                    left_i,        // when the last one did
    input logic                      answer_i,      // an answer waits, so an ACK timer is not due

    output requester_facts_t facts_o
);

  cycle_t timeout, rnr;

  gbn_times #(
      .PeriodPs(PeriodPs)
  ) u_times (
      .timeout_i(context_i.configuration.timeout),
      .timeout_o(timeout),
      .rnr_i    (syndrome_i[4:0]),
      .rnr_o    (rnr)
  );

  function automatic requester_facts_t look();
    psn_t unacknowledged;
    logic [22:0] window;
    logic [7:0] ack_every;
    logic [31:0] less;  // packets − 1
    logic atomic;
    cycle_t left;

    // Of an answer
    logic is_ack, is_response;
    logic ack, rnr_nak, sequence_nak, error, reserved;
    logic waits, begun, behind_una, at_una, behind_first, at_first, behind_awaited, at_awaited, behind_top, behind_low;
    logic unsent, missing;
    psn_t una, first, end_psn;  // `end_psn`: what is acknowledged without more ado
    logic to_first, to_end;  // `una_psn` becomes that one

    // Of a packet in its message, or of a RESPONSE in its READ
    logic [3:0] shift;
    psn_t distance;  // packets
    logic [31:0] offset;  // bytes

    // Of a RESPONSE
    logic read, read_first, read_last, begins, ends, right, right_bytes, responds, wrong;
    logic [12:0] before_last;  // bytes of the READ without those of this response

    look = '0;
    una = context_i.una_psn;
    first = context_i.asking.first_psn;
    is_ack = kind_i == RequesterAck;
    is_response = kind_i == RequesterResponse;
    shift = mtu_bits(context_i.configuration.mtu);

    look.due = context_i.timer_runs && !earlier(now_i, context_i.deadline) && (!answer_i || context_i.rnr_wait);
    look.empty = context_i.tail == context_i.head;
    look.full = context_i.head - context_i.tail == ring_t'(Wqes);

    // POST. ⌈length / mtu⌉ − 1; 0 for length 0, which is one packet
    less = (length_i == '0) ? '0 : (length_i - 1'b1) >> shift;
    atomic = work_kind_i inside {WorkCmpSwap, WorkFetchAdd};
    look.work_bad = work_kind_i > WorkFetchAdd || (atomic && length_i != 32'(AtomicBytes)) ||
        length_i > MessageBytesMax || less >= 32'(MessagePacketsMax);
    look.packets_less = less[21:0];

    // SEND
    unacknowledged = context_i.next_psn - una;
    ack_every = context_i.configuration.ack_every;
    window = window_packets(context_i.configuration.window);
    look.sendable = requester_sendable(context_i);
    look.first = context_i.next_psn == kept_i.current_psn;
    look.window_last = unacknowledged + 1'b1 >= psn_t'(window);
    look.asked_long_ago = ack_every != '0 && 9'(context_i.unasked) + 9'd1 >= 9'(ack_every);
    look.again = psn_behind(context_i.next_psn, context_i.top_psn);

    distance = is_response ? psn_i - first : context_i.next_psn - kept_i.current_psn;
    offset = 32'(distance) << shift;
    look.offset = offset;

    // Syndrome of an answer
    ack = syndrome_i[7:5] == 3'b000;
    rnr_nak = syndrome_i[7:5] == 3'b001;
    sequence_nak = syndrome_i == SyndromeSequence;
    error = syndrome_i == SyndromeInvalid || syndrome_i == SyndromeAccess || syndrome_i == SyndromeOperate;
    reserved = !(ack || rnr_nak || sequence_nak || error);
    look.ack = ack;
    look.rnr = rnr_nak;
    look.sequence_nak = sequence_nak;
    look.error = error;

    // Its PSN
    waits = context_i.asking.tail != context_i.asking.head;
    begun = !psn_behind(una, first);
    behind_una = psn_behind(psn_i, una);
    at_una = psn_i == una;
    behind_first = psn_behind(psn_i, first);
    at_first = psn_i == first;
    behind_top = psn_behind(psn_i, context_i.top_psn);

    // The response that comes next is at `una_psn`, or at `first_psn` if that is ahead.
    behind_awaited = begun ? behind_una : behind_first;
    at_awaited = begun ? at_una : at_first;
    unsent = !behind_top || (is_response && (!waits || behind_awaited));
    missing = waits && !behind_una && behind_top &&
        (at_awaited ? !is_response && ack : !behind_awaited && (is_response || !reserved));

    // The NAK of a go-back-0 responder may have the PSN of the message's first packet, which may be acknowledged
    // already.
    behind_low = (is_ack && !ack && context_i.configuration.restart && !look.empty) ?
        psn_behind(psn_i, kept_i.tail_psn) : behind_una;
    look.behind = behind_low;
    look.unsent = unsent;
    look.missing = missing;
    look.begun = begun;
    look.unwanted = behind_una || !psn_behind(psn_i, requester_end_wanted(context_i));

    // A response against its READ
    read = returned_i.operation inside {OpReadRespFirst, OpReadRespMid, OpReadRespLast, OpReadRespOnly};
    read_first = returned_i.operation inside {OpReadRespFirst, OpReadRespOnly};
    read_last = returned_i.operation inside {OpReadRespLast, OpReadRespOnly};
    begins = at_first || (context_i.asking.resumes && psn_i == context_i.asking.resumed_psn);
    ends = psn_i + 1'b1 == kept_i.awaited.end_psn;
    before_last = kept_i.awaited.length - returned_i.bytes[12:0];
    right_bytes = ends ? returned_i.bytes[15:13] == '0 && before_last == offset[12:0] :
        returned_i.bytes == 16'd1 << shift;
    if (kept_i.awaited.atomic) right = returned_i.operation == OpAtomicAck && returned_i.bytes == 16'(AtomicBytes);
    else right = read && read_first == begins && read_last == ends && right_bytes;
    responds = is_response && ack && !(behind_una || unsent || missing) &&
        (read_first || !begins || !read || kept_i.awaited.atomic);
    wrong = responds && !right;
    look.responds = responds;
    look.wrong = wrong;
    look.ends = ends;

    // A NAK acknowledges the packets before its PSN. What says that a response is missing, and one that is wrong,
    // acknowledge what is in front of the READ.
    end_psn = psn_i + psn_t'(ack || is_response);
    to_first = context_i.state == QpReady && !begun && ((missing && (is_ack || is_response)) || wrong);
    to_end = context_i.state == QpReady && ((responds && right) ||
        (is_ack && !(missing || reserved || behind_low || unsent || behind_una) && (ack || !at_una)));
    look.acknowledges = to_first || to_end;
    look.una_psn = to_first ? first : to_end ? end_psn : una;
    look.next_behind = (to_first && psn_behind(context_i.next_psn, first)) ||
        (to_end && psn_behind(context_i.next_psn, end_psn));
    look.asked_behind = (to_first && psn_behind(context_i.asked_psn, first)) ||
        (to_end && psn_behind(context_i.asked_psn, end_psn));
    look.asked_ahead = to_first ? psn_behind(first, context_i.asked_psn) : psn_behind(end_psn, context_i.asked_psn);

    // Timers
    left = left_i + timeout;
    look.ack_timer_on = context_i.configuration.timeout != '0;
    look.ack_deadline = now_i + timeout;
    look.rnr_deadline = now_i + rnr;
    look.held = !context_i.rnr_wait && (asks_i || (left_valid_i && earlier(now_i, left)));
    look.held_deadline = asks_i ? look.ack_deadline : left;
  endfunction

  always_comb begin
    facts_o = '0;
    if (valid_i) facts_o = look();
  end

endmodule
