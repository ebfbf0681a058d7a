// Step function of the requester: context, event and a message of the ring in, context and actions out.
// rtl/gbn/README.md is the contract.
//
// - `facts_i` is the output of gbn_requester_look for the same event, context and `kept_i`.
// - `posted_i` is the ring's slot `current` for a SEND, `tail` for all other steps. It is valid when the ring is not
//   empty.
// - READ stands for atomics, too, unless they are named: both are answered with data.
// - `operands_i` are those of the slot `current`, if it holds an atomic.
// - For a RESPONSE `destination_i` is that of the oldest READ that is not answered, `following_i` the one behind it.
// - The ring is known late: what depends on it is one comparison of `end_psn`, then a choice.
// - `own_i` marks TIMER and WALK steps made by the unit. An event with one of these kinds and `own_i` = 0 is ignored.
//
// Purely combinational.
module gbn_requester_step
  import roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter int unsigned Reads = 16
) (
    input logic                      own_i,
    input requester_kind_e           kind_i,
    input requester_config_t         configuration_i,  // OPEN
    input psn_t                      psn_i,            // OPEN, RESPONSE, UNREAD
    input logic               [ 1:0] error_i,          // ACK: the low bits of the syndrome
    input logic               [15:0] bytes_i,          // RESPONSE: of its payload
    input posted_t                   work_i,           // POST: without PSNs
    input requester_context_t        context_i,
    input requester_kept_t           kept_i,
    input requester_facts_t          facts_i,
    input posted_t                   posted_i,
    input operands_t                 operands_i,       // SEND
    input following_t                following_i,
    input destination_t              destination_i,

    output requester_context_t context_o,
    output requester_kept_t    kept_o,
    output requester_note_e    note_o,
    output logic               walk_o,              // a WALK step comes next
    output logic               due_o,               // a timer runs and its deadline has come; undefined with `walk_o`
    output logic               ack_timer_o,         // an ACK timer was started; 0 for one that is held
    output logic               request_valid_o,
    output request_t           request_o,
    output logic               completion_valid_o,
    output logic               silent_o,            // not for software: a success that was not asked for
    output completion_t        completion_o,
    output logic               place_valid_o,       // RESPONSE: its payload goes to `place_o`
    output place_t             place_o,
    output logic               post_o,              // `posted_o` goes into slot `head`
    output posted_t            posted_o,
    output logic               ask_o,               // `asked_o` goes into the READs' slot `head`
    output following_t         asked_o
);

  requester_context_t c;
  logic behind;  // the message ends before `una_psn`: a packet of the next one is acknowledged

  assign c      = context_i;
  assign behind = psn_behind(posted_i.end_psn, facts_i.una_psn);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Packet to send

  logic first, last, asks, write, read, atomic, has_imm;
  logic [31:0] left;  // bytes
  psn_t after;  // the next PSN after it
  operation_e operation;

  assign first   = facts_i.first;
  assign atomic  = posted_i.kind inside {WorkCmpSwap, WorkFetchAdd};
  assign read    = posted_i.kind == WorkRead || atomic;
  assign last    = read || c.next_psn + 1'b1 == posted_i.end_psn;
  assign write   = posted_i.kind inside {WorkWrite, WorkWriteImm};
  assign has_imm = posted_i.kind inside {WorkSendImm, WorkSendInv, WorkWriteImm};
  assign after   = read ? posted_i.end_psn : c.next_psn + 1'b1;
  assign asks    = last || facts_i.asked_long_ago || facts_i.window_last;
  assign left    = posted_i.length - facts_i.offset;

  always_comb begin
    case ({
      first, last
    })
      2'b11:
      case (posted_i.kind)
        WorkSendImm:  operation = OpSendOnlyImm;
        WorkSendInv:  operation = OpSendOnlyInv;
        WorkWrite:    operation = OpWriteOnly;
        WorkWriteImm: operation = OpWriteOnlyImm;
        default:      operation = OpSendOnly;
      endcase
      2'b10: operation = write ? OpWriteFirst : OpSendFirst;
      2'b01:
      case (posted_i.kind)
        WorkSendImm:  operation = OpSendLastImm;
        WorkSendInv:  operation = OpSendLastInv;
        WorkWrite:    operation = OpWriteLast;
        WorkWriteImm: operation = OpWriteLastImm;
        default:      operation = OpSendLast;
      endcase
      default: operation = write ? OpWriteMiddle : OpSendMiddle;
    endcase
    if (read) operation = OpReadRequest;
    if (atomic) operation = posted_i.kind == WorkCmpSwap ? OpCmpSwap : OpFetchAdd;
  end

  always_comb begin
    request_o         = '0;
    request_o.opcode  = {ServiceRc, operation};
    request_o.psn     = c.next_psn;
    request_o.ack_req = asks;
    request_o.again   = facts_i.again;
    if (read || (first && write)) begin
      // What is not answered of it: a READ is asked again from its inside. Of a WRITE all.
      request_o.va      = va_after(posted_i.remote_va, facts_i.offset);
      request_o.rkey    = posted_i.remote_key;
      request_o.dma_len = atomic ? '0 : left;
    end
    if (atomic) {request_o.swap_add, request_o.compare} = operands_i;
    if (!read) begin
      request_o.solicited     = last && posted_i.solicited;
      request_o.payload_bytes = last ? 16'(left[12:0]) : 16'd1 << mtu_bits(c.configuration.mtu);
      request_o.local_va      = va_after(posted_i.local_va, facts_i.offset);
      request_o.local_key     = posted_i.local_key;
    end
    if (last && has_imm) request_o.imm = posted_i.imm;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // READs: whether the work has to wait for others, and where a response goes

  // PSNs in use stay within half of all, so that each is either ahead or behind.
  localparam psn_t DistanceMax = 24'h7F_FFFF;

  logic hindered, sends_read, sends;
  read_t limit, unanswered;

  assign limit = (c.configuration.reads == '0 || 32'(c.configuration.reads) > Reads) ? read_t'(Reads) : c.configuration.reads;
  assign unanswered = c.asking.asked - c.asking.tail;

  // Apart from how far ahead a READ ends
  always_comb begin
    hindered = posted_i.fence && unanswered != '0;
    if (read) hindered |= unanswered >= limit;
    else hindered |= c.next_psn - c.una_psn >= DistanceMax;
  end

  // The end of a READ that is not asked for is ahead of `una_psn`. Where it is too far ahead, it looks behind.
  assign sends_read = read && facts_i.sendable && !hindered && !behind;
  assign sends = sends_read || (!read && facts_i.sendable && !hindered);

  assign asked_o.first_psn = kept_i.current_psn;
  assign asked_o.awaited = '{atomic: atomic, end_psn: posted_i.end_psn, length: posted_i.length[12:0]};

  assign place_o = '{
          va: va_after(destination_i.va, facts_i.offset),
          key: destination_i.key,
          remote: 1'b0,
          bytes: bytes_i[14:0]
      };

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Work request to post, and completion of the oldest

  logic flush, acknowledged, more;  // `more`: than the oldest

  always_comb begin
    posted_o         = work_i;
    posted_o.end_psn = c.post_psn + psn_t'(facts_i.packets_less) + 1'b1;
  end

  assign flush        = c.state == QpError && !facts_i.empty;
  assign acknowledged = !facts_i.empty && (behind || posted_i.end_psn == facts_i.una_psn);
  assign more         = !facts_i.empty && c.tail + 1'b1 != c.head;

  always_comb begin
    completion_o           = '0;
    completion_o.status    = flush ? c.status : StatusSuccess;
    completion_o.id        = posted_i.id;
    completion_o.operation = 8'(posted_i.kind);
    if (completion_o.status == StatusSuccess) completion_o.length = posted_i.length;
  end

  assign silent_o = !flush && !posted_i.signaled;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Context without the ring

  logic answered;  // what came was taken: the oldest message may be complete
  logic goes_back;  // to a response that is missing
  logic use_retry;  // use up a retry; the QP fails if none is left
  logic fresh;  // a timer was started
  logic walk;
  requester_context_t acked, n;
  requester_kept_t kept;
  requester_note_e note;
  status_e error_status;

  always_comb begin
    case (error_i)
      SyndromeInvalid[1:0]: error_status = StatusRemoteInvalid;
      SyndromeAccess[1:0]:  error_status = StatusRemoteAccess;
      default:              error_status = StatusRemoteOperate;
    endcase
  end

  // What is acknowledged
  logic reserved;

  assign reserved = !(facts_i.ack || facts_i.rnr || facts_i.sequence_nak || facts_i.error);

  always_comb begin
    acked = c;
    if (facts_i.acknowledges) begin
      acked.una_psn     = facts_i.una_psn;
      acked.retries     = c.configuration.retry;
      acked.rnr_retries = c.configuration.rnr_retry;
      if (facts_i.next_behind) acked.next_psn = acked.una_psn;
      if (facts_i.asked_behind) acked.asked_psn = acked.una_psn;
      if (!c.rnr_wait && !facts_i.wrong) begin
        acked.timer_runs = facts_i.asked_ahead && facts_i.ack_timer_on;
        if (acked.timer_runs) acked.deadline = facts_i.ack_deadline;
      end
      acked.asking.blocked = 1'b0;
      // It was sent before, when its payload could be read, and what is behind it waits no longer to be sent.
      if (c.unread && psn_behind(c.unread_psn, acked.una_psn)) begin
        {acked.unread, acked.unread_psn} = '0;
        acked.after = AfterRewind;
      end
    end
  end

  always_comb begin
    n             = acked;
    kept          = kept_i;
    note          = RequesterNone;
    walk          = 1'b0;
    place_valid_o = 1'b0;
    post_o        = 1'b0;
    answered      = 1'b0;
    goes_back     = 1'b0;
    use_retry     = 1'b0;
    fresh         = facts_i.acknowledges && acked.timer_runs && !c.rnr_wait && !facts_i.wrong;

    case (kind_i)
      RequesterOpen: begin
        n                = '0;
        n.state          = QpReady;
        n.configuration  = configuration_i;
        n.post_psn       = psn_i;
        n.next_psn       = psn_i;
        n.top_psn        = psn_i;
        n.una_psn        = psn_i;
        n.asked_psn      = psn_i;
        n.retries        = configuration_i.retry;
        n.rnr_retries    = configuration_i.rnr_retry;
        kept.tail_psn    = psn_i;
        kept.current_psn = psn_i;
      end

      RequesterClose: n = '0;

      RequesterPost: begin
        if (c.state == QpClosed) note = RequesterRefusedState;
        else if (facts_i.work_bad) note = RequesterRefusedWork;
        else if (facts_i.full) note = RequesterRefusedFull;
        else begin
          post_o     = 1'b1;
          n.head     = c.head + 1'b1;
          n.post_psn = posted_o.end_psn;
          walk       = c.state == QpError;
        end
      end

      RequesterAck: begin
        if (c.state != QpReady) note = RequesterIgnored;
        else if (facts_i.missing) goes_back = 1'b1;
        else if (reserved) note = RequesterReserved;
        else if (facts_i.behind) note = RequesterStale;
        else if (facts_i.unsent) note = RequesterUnsent;
        else begin
          answered = 1'b1;
          if (facts_i.ack) note = RequesterProgress;
          else if (facts_i.error) begin
            note     = RequesterRemoteError;
            n.after  = AfterFail;
            n.status = error_status;
          end else if (c.rnr_wait) note = facts_i.acknowledges ? RequesterProgress : RequesterStale;
          else if (facts_i.sequence_nak) begin
            note      = RequesterNak;
            n.after   = AfterRewind;
            use_retry = c.configuration.nak_retry;
          end else if (n.rnr_retries == '0) begin
            note     = RequesterExhausted;
            n.after  = AfterFail;
            n.status = StatusRnrExceeded;
          end else begin
            note    = RequesterRnr;
            n.after = AfterRewind;
            if (c.configuration.rnr_retry != 3'd7) n.rnr_retries = n.rnr_retries - 1'b1;
          end
        end
      end

      RequesterResponse: begin
        if (c.state != QpReady) note = RequesterIgnored;
        else if (facts_i.behind) note = RequesterStale;
        else if (facts_i.unsent) note = RequesterUnsent;
        else if (facts_i.missing) goes_back = 1'b1;
        else if (!facts_i.ack) note = RequesterReserved;
        else if (!facts_i.responds) note = RequesterStale;  // of the answer before the READ was asked again
        else begin
          answered = 1'b1;
          if (!facts_i.wrong) begin
            note               = RequesterProgress;
            place_valid_o      = bytes_i != '0;
            n.asking.went_back = 1'b0;
            if (c.asking.resumed_psn == psn_i) {n.asking.resumes, n.asking.resumed_psn} = '0;
            if (unanswered != '0) n.asking.psns = c.asking.psns - 1'b1;
            if (facts_i.ends) begin
              n.asking.tail      = c.asking.tail + 1'b1;
              n.asking.first_psn = (n.asking.tail == c.asking.head) ? '0 : following_i.first_psn;
              kept.awaited       = following_i.awaited;
              if (unanswered == '0) n.asking.asked = n.asking.tail;
            end
          end else begin
            note     = RequesterRemoteError;
            n.after  = AfterFail;
            n.status = StatusBadResponse;
          end
        end
      end

      RequesterTimer:
      if (!own_i) note = RequesterIgnored;
      else begin
        n.timer_runs = 1'b0;
        // Nothing of an old answer is under way any more.
        if (!facts_i.held) n.asking.went_back = 1'b0;
        if (facts_i.held) begin
          n.timer_runs = 1'b1;
          n.deadline   = facts_i.held_deadline;
          fresh        = 1'b1;
        end else if (c.rnr_wait) begin
          note       = RequesterRnrOver;
          n.rnr_wait = 1'b0;
        end else begin
          note      = RequesterTimeout;
          n.after   = AfterRewind;
          use_retry = 1'b1;
          walk      = 1'b1;
        end
      end

      RequesterFail:
      if (c.state != QpReady) note = RequesterIgnored;
      else begin
        n.timer_runs = 1'b0;
        n.rnr_wait   = 1'b0;
        n.status     = StatusFlushed;
        if (facts_i.empty) begin
          n.state  = QpError;
          n.asking = '0;
        end else begin
          n.after = AfterFail;
          walk    = 1'b1;
        end
      end

      RequesterUnread:
      if (c.state != QpReady) note = RequesterIgnored;
      else if (facts_i.unwanted) note = RequesterStale;
      else begin
        {n.unread, n.unread_psn} = {1'b1, psn_i};
        walk = 1'b1;
      end

      RequesterSend, RequesterWalk: ;

      default: note = RequesterIgnored;
    endcase

    // Once for a response that is missing: what comes behind it is of the same answer.
    if (goes_back) begin
      answered = 1'b1;
      if ((c.asking.went_back && facts_i.begun) || c.rnr_wait) note = RequesterStale;
      else begin
        note               = RequesterImplied;
        n.asking.went_back = 1'b1;
        n.after            = AfterRewind;
        use_retry          = c.configuration.nak_retry;
      end
    end

    if (use_retry) begin
      if (n.retries == '0) begin
        note     = RequesterExhausted;
        n.after  = AfterFail;
        n.status = StatusRetryExceeded;
      end else n.retries = n.retries - 1'b1;
    end

    // A rewind stops an ACK timer, a failure any timer. The RNR wait is the one timer that starts with a rewind.
    if (kind_i != RequesterWalk && n.after != AfterNone) begin
      n.timer_runs = 1'b0;
      if (n.after == AfterFail) n.rnr_wait = 1'b0;
      else if (note == RequesterRnr) begin
        n.rnr_wait   = 1'b1;
        n.timer_runs = 1'b1;
        n.deadline   = facts_i.rnr_deadline;
        fresh        = 1'b1;
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What the ring decides: SEND, WALK, and whether a message is complete

  logic starts, completes, unreadable;

  // The ACK timer, by this packet. A timer that runs is not due then, so that `due_o` need not wait for it.
  assign starts = kind_i == RequesterSend && sends && asks && !c.timer_runs && facts_i.ack_timer_on;
  assign unreadable = c.unread && c.after == AfterNone && psn_behind(c.unread_psn, posted_i.end_psn);

  always_comb begin
    context_o       = n;
    kept_o          = kept;
    note_o          = note;
    walk_o          = walk;
    request_valid_o = 1'b0;
    ask_o           = 1'b0;
    completes       = 1'b0;

    case (kind_i)
      RequesterSend: begin
        if (!sends) begin
          note_o                   = RequesterBlocked;
          context_o.asking.blocked = c.asking.blocked || facts_i.sendable;
        end else begin
          request_valid_o    = 1'b1;
          context_o.next_psn = after;
          if (read ? psn_behind(c.top_psn, posted_i.end_psn) : !facts_i.again) context_o.top_psn = after;
          if (last) begin
            context_o.current  = c.current + 1'b1;
            kept_o.current_psn = posted_i.end_psn;
          end
          if (asks) begin
            context_o.asked_psn = after;
            context_o.unasked   = '0;
          end else if (c.unasked != '1) context_o.unasked = c.unasked + 1'b1;
        end
        if (sends_read) begin
          context_o.asking.asked = c.asking.asked + 1'b1;
          context_o.asking.psns  = c.asking.psns - c.next_psn + posted_i.end_psn;
          // That of an older READ, which is answered first, stays.
          if (!first) {context_o.asking.resumes, context_o.asking.resumed_psn} = {1'b1, c.next_psn};
          else if (unanswered == '0) {context_o.asking.resumes, context_o.asking.resumed_psn} = '0;
          if (c.asking.asked == c.asking.head) begin
            ask_o                 = 1'b1;
            context_o.asking.head = c.asking.head + 1'b1;
            if (c.asking.tail == c.asking.head) begin
              context_o.asking.first_psn = kept_i.current_psn;
              kept_o.awaited             = asked_o.awaited;
            end
          end
        end
        if (starts) {context_o.timer_runs, context_o.deadline} = {1'b1, facts_i.ack_deadline};
      end

      RequesterWalk:
      if (!own_i) note_o = RequesterIgnored;
      else begin
        walk_o = (more && (flush || behind)) ||
            (!flush && (c.after == AfterFail || unreadable || (acknowledged && (c.after == AfterRewind || c.unread))));
        if (flush || acknowledged) begin
          completes = 1'b1;
          if (flush) context_o.status = StatusFlushed;
        end else if (c.after == AfterRewind) begin
          context_o.after   = AfterNone;
          context_o.current = c.tail;
          if (c.configuration.restart && !facts_i.empty) context_o.una_psn = kept_i.tail_psn;
          kept_o.current_psn                       = kept_i.tail_psn;
          context_o.next_psn                       = context_o.una_psn;
          context_o.asked_psn                      = context_o.una_psn;
          context_o.unasked                        = '0;
          context_o.asking.asked                   = c.asking.tail;
          context_o.asking.psns                    = '0;
          context_o.asking.blocked                 = 1'b0;
          {context_o.unread, context_o.unread_psn} = '0;
        end else if (c.after == AfterFail) begin
          context_o.after                          = AfterNone;
          context_o.state                          = QpError;
          context_o.asking                         = '0;
          {context_o.unread, context_o.unread_psn} = '0;
        end

        // All messages before it are complete, and its own is not acknowledged.
        if (!flush && unreadable) begin
          note_o               = RequesterUnreadable;
          context_o.after      = AfterFail;
          context_o.status     = StatusLocalAccess;
          context_o.timer_runs = 1'b0;
        end
      end

      default:
      if (answered) begin
        completes = acknowledged;
        walk_o    = (more && behind) || n.after != AfterNone || n.unread;
      end
    endcase

    if (completes) begin
      context_o.tail  = c.tail + 1'b1;
      kept_o.tail_psn = posted_i.end_psn;
      if (c.current == c.tail) begin
        context_o.current  = c.tail + 1'b1;
        kept_o.current_psn = posted_i.end_psn;
      end
    end
  end

  assign completion_valid_o = completes;
  assign due_o              = n.timer_runs && facts_i.due && !fresh;
  assign ack_timer_o        = starts || (fresh && !n.rnr_wait && kind_i != RequesterTimer);

endmodule
