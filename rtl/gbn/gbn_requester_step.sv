// Step function of the requester: context, event and a message of the ring in, context and actions out.
// rtl/gbn/README.md is the contract.
//
// - `facts_i` is the output of gbn_requester_look for the same event and context.
// - `posted_i` is the ring's slot `current` for a SEND, `tail` for all other steps. It is valid when the ring is not
//   empty.
// - READ stands for atomics, too, unless they are named: both are answered with data.
// - `operands_i` are those of the slot `current`, if it holds an atomic.
// - `awaited_i` is the oldest READ that is not answered, for a RESPONSE; `next_first_i` the first PSN of the one behind.
// - `own_i` marks TIMER and WALK steps made by the unit. An event with one of these kinds and `own_i` = 0 is ignored.
//
// Purely combinational.
module gbn_requester_step
  import roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter int unsigned Reads = 16
) (
    input logic                     own_i,
    input requester_kind_e          kind_i,
    input requester_config_t        configuration_i,  // OPEN
    input psn_t                     psn_i,            // OPEN, ACK, RESPONSE, UNREAD
    input logic               [1:0] error_i,          // ACK: the low bits of the syndrome
    input returned_t                returned_i,       // RESPONSE
    input posted_t                  work_i,           // POST: without PSNs
    input requester_context_t       context_i,
    input requester_facts_t         facts_i,
    input posted_t                  posted_i,
    input operands_t                operands_i,       // SEND
    input awaited_t                 awaited_i,
    input psn_t                     next_first_i,

    output requester_context_t context_o,
    output requester_note_e    note_o,
    output logic               walk_o,              // a WALK step comes next
    output logic               due_o,               // a timer runs and its deadline has come
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
    output awaited_t           asked_o
);

  requester_context_t c;
  assign c = context_i;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Packet to send

  logic first, last, asks, write, read, atomic, has_imm;
  logic [3:0] shift;
  logic [31:0] offset;
  psn_t sent;  // packets of the message before this one
  logic [12:0] left;  // bytes
  operation_e operation;

  assign first   = c.next_psn == posted_i.first_psn;
  assign atomic  = posted_i.kind inside {WorkCmpSwap, WorkFetchAdd};
  assign read    = posted_i.kind == WorkRead || atomic;
  assign last    = read || c.next_psn == posted_i.last_psn;
  assign write   = posted_i.kind inside {WorkWrite, WorkWriteImm};
  assign has_imm = posted_i.kind inside {WorkSendImm, WorkSendInv, WorkWriteImm};
  assign asks    = last || facts_i.asked_long_ago || facts_i.window_last;
  assign shift   = mtu_bits(c.configuration.mtu);
  assign sent = c.next_psn - posted_i.first_psn;
  assign offset = 32'(sent) << shift;
  assign left = posted_i.length[12:0] - offset[12:0];

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
    if (read) begin
      // What is not answered of it: a READ is asked again from its inside.
      request_o.va      = posted_i.remote_va + 64'(offset);
      request_o.rkey    = posted_i.remote_key;
      request_o.dma_len = atomic ? '0 : posted_i.length - offset;
      if (atomic) {request_o.swap_add, request_o.compare} = operands_i;
    end else begin
      request_o.solicited     = last && posted_i.solicited;
      request_o.payload_bytes = last ? 16'(left) : 16'd1 << shift;
      request_o.local_va      = posted_i.local_va + 64'(offset);
      request_o.local_key     = posted_i.local_key;
    end
    if (first && write) begin
      request_o.va      = posted_i.remote_va;
      request_o.rkey    = posted_i.remote_key;
      request_o.dma_len = posted_i.length;
    end
    if (last && has_imm) request_o.imm = posted_i.imm;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // READs: whether the work has to wait for others, and a response

  // PSNs in use stay within half of all, so that each is either ahead or behind.
  localparam psn_t DistanceMax = 24'h7F_FFFF;

  logic hindered;
  read_t limit, unanswered;

  assign limit = (c.configuration.reads == '0 || 32'(c.configuration.reads) > Reads) ? read_t'(Reads) : c.configuration.reads;
  assign unanswered = c.asking.asked - c.asking.tail;

  always_comb begin
    hindered = posted_i.fence && unanswered != '0;
    if (read) hindered |= unanswered >= limit || posted_i.last_psn - c.una_psn >= DistanceMax;
    else hindered |= c.next_psn - c.una_psn >= DistanceMax;
  end

  always_comb begin
    asked_o = '{
        atomic: atomic,
        first_psn: posted_i.first_psn,
        last_psn: posted_i.last_psn,
        length: posted_i.length,
        local_va: posted_i.local_va,
        local_key: posted_i.local_key
    };
  end

  logic responds, response_read, response_first, response_last, response_ends, response_right;
  logic [31:0] response_offset;
  logic [12:0] response_left;  // bytes from its PSN on, if it is the last one

  assign response_read   = returned_i.operation inside {OpReadRespFirst, OpReadRespMid, OpReadRespLast, OpReadRespOnly};
  assign response_first  = returned_i.operation inside {OpReadRespFirst, OpReadRespOnly};
  assign response_last   = returned_i.operation inside {OpReadRespLast, OpReadRespOnly};
  assign response_ends   = psn_i == awaited_i.last_psn;
  assign response_offset = 32'(psn_t'(psn_i - awaited_i.first_psn)) << shift;
  assign response_left   = awaited_i.length[12:0] - response_offset[12:0];

  always_comb begin
    if (awaited_i.atomic) response_right = returned_i.operation == OpAtomicAck && returned_i.bytes == 16'(AtomicBytes);
    else
      response_right = response_read && response_first == facts_i.begins && response_last == response_ends &&
          returned_i.bytes == (response_ends ? 16'(response_left) : 16'd1 << shift);
  end

  assign place_o = '{
          va: awaited_i.local_va + 64'(response_offset),
          key: awaited_i.local_key,
          remote: 1'b0,
          bytes: returned_i.bytes[14:0]
      };

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Work request to post, and completion of the oldest

  logic flush, acknowledged, acknowledged_further;

  always_comb begin
    posted_o           = work_i;
    posted_o.first_psn = c.post_psn;
    posted_o.last_psn  = c.post_psn + psn_t'(facts_i.packets_less);
  end

  assign flush                = c.state == QpError && !facts_i.empty;
  assign acknowledged         = !facts_i.empty && psn_behind(posted_i.last_psn, c.una_psn);
  assign acknowledged_further = posted_i.last_psn != c.una_psn - 1'b1;  // a packet of the next message

  always_comb begin
    completion_o           = '0;
    completion_o.status    = flush ? c.status : StatusSuccess;
    completion_o.id        = posted_i.id;
    completion_o.operation = 8'(posted_i.kind);
    if (completion_o.status == StatusSuccess) completion_o.length = posted_i.length;
  end

  assign silent_o = !flush && !posted_i.signaled;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Context

  logic low_behind;
  logic acknowledges;  // `una_psn` advances
  logic answered;  // what came was taken: the oldest message may be complete
  logic goes_back;  // to a response that is missing
  logic use_retry;  // use up a retry; the QP fails if none is left
  logic fresh;  // a timer was started
  requester_context_t acked, n;
  status_e error_status;

  // The NAK of a go-back-0 responder may have the PSN of the message's first packet, which may be acknowledged
  // already.
  assign low_behind = (!facts_i.ack && c.configuration.restart && !facts_i.empty) ? psn_behind(
      psn_i, posted_i.first_psn
  ) : facts_i.behind_una;

  always_comb begin
    case (error_i)
      SyndromeInvalid[1:0]: error_status = StatusRemoteInvalid;
      SyndromeAccess[1:0]:  error_status = StatusRemoteAccess;
      default:              error_status = StatusRemoteOperate;
    endcase
  end

  // What is acknowledged
  logic reserved, wrong, taken;

  assign reserved = !(facts_i.ack || facts_i.rnr || facts_i.sequence_nak || facts_i.error);
  assign responds = kind_i == RequesterResponse && facts_i.ack && !(facts_i.behind_una || facts_i.unsent || facts_i.missing) &&
      (response_first || !facts_i.begins || !response_read || awaited_i.atomic);

  assign wrong = responds && !response_right;

  always_comb begin
    taken = 1'b0;
    if (facts_i.missing) taken = kind_i inside {RequesterAck, RequesterResponse};
    else if (kind_i == RequesterAck) taken = !(reserved || low_behind || facts_i.unsent);
    else if (responds) taken = !wrong || !facts_i.begun;
    acknowledges = c.state == QpReady && taken && facts_i.progress;
  end

  always_comb begin
    acked = c;
    if (acknowledges) begin
      // What is in front of a response that is wrong is acknowledged all the same.
      acked.una_psn     = wrong ? psn_i : facts_i.una_psn;
      acked.retries     = c.configuration.retry;
      acked.rnr_retries = c.configuration.rnr_retry;
      if (facts_i.next_behind) acked.next_psn = acked.una_psn;
      if (facts_i.asked_behind) acked.asked_psn = acked.una_psn;
      if (!c.rnr_wait && !wrong) begin
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
    n                  = acked;
    note_o             = RequesterNone;
    walk_o             = 1'b0;
    request_valid_o    = 1'b0;
    completion_valid_o = 1'b0;
    place_valid_o      = 1'b0;
    post_o             = 1'b0;
    ask_o              = 1'b0;
    answered           = 1'b0;
    goes_back          = 1'b0;
    use_retry          = 1'b0;
    fresh              = acknowledges && acked.timer_runs && !c.rnr_wait && !wrong;

    case (kind_i)
      RequesterOpen: begin
        n               = '0;
        n.state         = QpReady;
        n.configuration = configuration_i;
        n.post_psn      = psn_i;
        n.next_psn      = psn_i;
        n.top_psn       = psn_i;
        n.una_psn       = psn_i;
        n.asked_psn     = psn_i;
        n.retries       = configuration_i.retry;
        n.rnr_retries   = configuration_i.rnr_retry;
      end

      RequesterClose: n = '0;

      RequesterPost: begin
        if (c.state == QpClosed) note_o = RequesterRefusedState;
        else if (facts_i.work_bad) note_o = RequesterRefusedWork;
        else if (facts_i.full) note_o = RequesterRefusedFull;
        else begin
          post_o     = 1'b1;
          n.head     = c.head + 1'b1;
          n.post_psn = c.post_psn + psn_t'(facts_i.packets_less) + 1'b1;
          walk_o     = c.state == QpError;
        end
      end

      RequesterSend: begin
        if (!facts_i.sendable) note_o = RequesterBlocked;
        else if (hindered) begin
          note_o           = RequesterBlocked;
          n.asking.blocked = 1'b1;
        end else begin
          request_valid_o = 1'b1;
          n.next_psn      = (read ? posted_i.last_psn : c.next_psn) + 1'b1;
          if (psn_ahead(n.next_psn, c.top_psn)) n.top_psn = n.next_psn;
          if (last) n.current = c.current + 1'b1;
          if (asks) begin
            n.asked_psn = n.next_psn;
            n.unasked   = '0;
            if (!c.timer_runs && facts_i.ack_timer_on) begin
              n.timer_runs = 1'b1;
              n.deadline   = facts_i.ack_deadline;
              fresh        = 1'b1;
            end
          end else if (c.unasked != '1) n.unasked = c.unasked + 1'b1;
          if (read) begin
            n.asking.asked = c.asking.asked + 1'b1;
            n.asking.psns  = c.asking.psns + (n.next_psn - c.next_psn);
            // That of an older READ, which is answered first, stays.
            if (!first) {n.asking.resumes, n.asking.resumed_psn} = {1'b1, c.next_psn};
            else if (unanswered == '0) {n.asking.resumes, n.asking.resumed_psn} = '0;
            if (c.asking.asked == c.asking.head) begin
              ask_o         = 1'b1;
              n.asking.head = c.asking.head + 1'b1;
              if (c.asking.tail == c.asking.head) n.asking.first_psn = posted_i.first_psn;
            end
          end
        end
      end

      RequesterAck: begin
        if (c.state != QpReady) note_o = RequesterIgnored;
        else if (facts_i.missing) goes_back = 1'b1;
        else if (reserved) note_o = RequesterReserved;
        else if (low_behind) note_o = RequesterStale;
        else if (facts_i.unsent) note_o = RequesterUnsent;
        else begin
          answered = 1'b1;
          if (facts_i.ack) note_o = RequesterProgress;
          else if (facts_i.error) begin
            note_o   = RequesterRemoteError;
            n.after  = AfterFail;
            n.status = error_status;
          end else if (c.rnr_wait) note_o = facts_i.progress ? RequesterProgress : RequesterStale;
          else if (facts_i.sequence_nak) begin
            note_o    = RequesterNak;
            n.after   = AfterRewind;
            use_retry = c.configuration.nak_retry;
          end else if (n.rnr_retries == '0) begin
            note_o   = RequesterExhausted;
            n.after  = AfterFail;
            n.status = StatusRnrExceeded;
          end else begin
            note_o  = RequesterRnr;
            n.after = AfterRewind;
            if (c.configuration.rnr_retry != 3'd7) n.rnr_retries = n.rnr_retries - 1'b1;
          end
        end
      end

      RequesterResponse: begin
        if (c.state != QpReady) note_o = RequesterIgnored;
        else if (facts_i.behind_una) note_o = RequesterStale;
        else if (facts_i.unsent) note_o = RequesterUnsent;
        else if (facts_i.missing) goes_back = 1'b1;
        else if (!facts_i.ack) note_o = RequesterReserved;
        else if (!responds) note_o = RequesterStale;  // of the answer before the READ was asked again
        else begin
          answered = 1'b1;
          if (!wrong) begin
            note_o             = RequesterProgress;
            place_valid_o      = returned_i.bytes != '0;
            n.asking.went_back = 1'b0;
            if (c.asking.resumed_psn == psn_i) {n.asking.resumes, n.asking.resumed_psn} = '0;
            if (unanswered != '0) n.asking.psns = c.asking.psns - 1'b1;
            if (response_ends) begin
              n.asking.tail      = c.asking.tail + 1'b1;
              n.asking.first_psn = (n.asking.tail == c.asking.head) ? '0 : next_first_i;
              if (unanswered == '0) n.asking.asked = n.asking.tail;
            end
          end else begin
            note_o   = RequesterRemoteError;
            n.after  = AfterFail;
            n.status = StatusBadResponse;
          end
        end
      end

      RequesterTimer:
      if (!own_i) note_o = RequesterIgnored;
      else begin
        n.timer_runs = 1'b0;
        // Nothing of an old answer is under way any more.
        if (!facts_i.held) n.asking.went_back = 1'b0;
        if (facts_i.held) begin
          n.timer_runs = 1'b1;
          n.deadline   = facts_i.held_deadline;
          fresh        = 1'b1;
        end else if (c.rnr_wait) begin
          note_o     = RequesterRnrOver;
          n.rnr_wait = 1'b0;
        end else begin
          note_o    = RequesterTimeout;
          n.after   = AfterRewind;
          use_retry = 1'b1;
          walk_o    = 1'b1;
        end
      end

      RequesterFail:
      if (c.state != QpReady) note_o = RequesterIgnored;
      else begin
        n.timer_runs = 1'b0;
        n.rnr_wait   = 1'b0;
        n.status     = StatusFlushed;
        if (facts_i.empty) begin
          n.state  = QpError;
          n.asking = '0;
        end else begin
          n.after = AfterFail;
          walk_o  = 1'b1;
        end
      end

      RequesterUnread:
      if (c.state != QpReady) note_o = RequesterIgnored;
      else if (facts_i.unwanted) note_o = RequesterStale;
      else begin
        {n.unread, n.unread_psn} = {1'b1, psn_i};
        walk_o = 1'b1;
      end

      RequesterWalk:
      if (!own_i) note_o = RequesterIgnored;
      else if (flush || acknowledged) begin
        completion_valid_o = 1'b1;
        if (flush) n.status = StatusFlushed;
        n.tail = c.tail + 1'b1;
        if (c.current == c.tail) n.current = n.tail;
        walk_o = (n.tail != c.head && (flush || acknowledged_further)) || (!flush && (c.after != AfterNone || c.unread));
      end else if (c.after == AfterRewind) begin
        n.after   = AfterNone;
        n.current = c.tail;
        if (c.configuration.restart && !facts_i.empty) n.una_psn = posted_i.first_psn;
        n.next_psn               = n.una_psn;
        n.asked_psn              = n.una_psn;
        n.unasked                = '0;
        n.asking.asked           = c.asking.tail;
        n.asking.psns            = '0;
        n.asking.blocked         = 1'b0;
        {n.unread, n.unread_psn} = '0;
      end else if (c.after == AfterFail) begin
        n.after = AfterNone;
        n.state = QpError;
        n.asking = '0;
        {n.unread, n.unread_psn} = '0;
        walk_o = 1'b1;
      end else if (c.unread && !psn_behind(posted_i.last_psn, c.unread_psn)) begin
        // All messages before it are complete.
        note_o       = RequesterUnreadable;
        n.after      = AfterFail;
        n.status     = StatusLocalAccess;
        n.timer_runs = 1'b0;
        walk_o       = 1'b1;
      end

      default: note_o = RequesterIgnored;
    endcase

    // Once for a response that is missing: what comes behind it is of the same answer.
    if (goes_back) begin
      answered = 1'b1;
      if ((c.asking.went_back && facts_i.begun) || c.rnr_wait) note_o = RequesterStale;
      else begin
        note_o             = RequesterImplied;
        n.asking.went_back = 1'b1;
        n.after            = AfterRewind;
        use_retry          = c.configuration.nak_retry;
      end
    end

    if (use_retry) begin
      if (n.retries == '0) begin
        note_o   = RequesterExhausted;
        n.after  = AfterFail;
        n.status = StatusRetryExceeded;
      end else n.retries = n.retries - 1'b1;
    end

    if (answered) begin
      if (!facts_i.empty && psn_behind(posted_i.last_psn, n.una_psn)) begin
        completion_valid_o = 1'b1;
        n.tail             = c.tail + 1'b1;
        if (c.current == c.tail) n.current = n.tail;
        walk_o = n.tail != c.head && posted_i.last_psn != n.una_psn - 1'b1;
      end
      if (n.after != AfterNone || n.unread) walk_o = 1'b1;
    end

    // A rewind stops an ACK timer, a failure any timer. The RNR wait is the one timer that starts with a rewind.
    if (kind_i != RequesterWalk && n.after != AfterNone) begin
      n.timer_runs = 1'b0;
      if (n.after == AfterFail) n.rnr_wait = 1'b0;
      else if (note_o == RequesterRnr) begin
        n.rnr_wait   = 1'b1;
        n.timer_runs = 1'b1;
        n.deadline   = facts_i.rnr_deadline;
        fresh        = 1'b1;
      end
    end
  end

  assign context_o   = n;
  assign due_o       = n.timer_runs && facts_i.due && !fresh;
  assign ack_timer_o = fresh && !n.rnr_wait && kind_i != RequesterTimer;

endmodule
