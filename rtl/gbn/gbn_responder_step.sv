// Step function of the responder: context, event and the oldest receive buffer in, context and actions out.
// rtl/gbn/README.md is the contract.
//
// - `facts_i` is the output of gbn_responder_look for the same event and context.
// - `buffer_i` is the ring's slot `tail`. It is valid when the ring is not empty.
// - `own_i` marks WALK steps made by the unit. An event of kind WALK with `own_i` = 0 is ignored.
// - `kept_i` and `cursor_i` are those of the READ in a slot: with READ, of `slot` of the facts; with RETURN, of
//   `original_i`; with a WALK that looks for the READ that is asked again (`search_i`), of the READ with index
//   `search_index_i`.
// - `buffer_i`, `kept_i` and `cursor_i` come out of RAMs, which are slow: there is one addition or comparison behind
//   them, and what it says selects among results that are there already.
//
// Purely combinational.
module gbn_responder_step
  import roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter int unsigned Reads = 16
) (
    input logic                      own_i,
    input responder_kind_e           kind_i,
    input responder_config_t         configuration_i,  // OPEN
    input psn_t                      psn_i,            // OPEN, PACKET
    input logic               [ 4:0] operation_i,      // PACKET; so are all inputs up to imm_i
    input logic                      ack_req_i,
    input logic                      solicited_i,
    input logic               [15:0] payload_bytes_i,
    input logic               [31:0] imm_i,
    input refusal_t                  refusal_i,        // REFUSE
    input original_t                 original_i,       // RETURN
    input responder_context_t        context_i,
    input responder_facts_t          facts_i,
    input recv_t                     buffer_i,
    input logic                      search_i,         // WALK; so are the inputs up to search_last_i
    input asked_read_t               asked_i,
    input read_t                     search_index_i,
    input logic                      search_last_i,    // no other READ is kept
    input kept_read_t                kept_i,
    input read_cursor_t              cursor_i,

    output responder_context_t       context_o,
    output responder_note_e          note_o,
    output logic                     walk_o,              // a WALK step comes next
    output logic                     place_valid_o,
    output place_t                   place_o,
    output logic                     response_valid_o,
    output response_t                response_o,
    output logic                     completion_valid_o,
    output completion_t              completion_o,
    output logic                     post_o,              // the event's buffer goes into slot `head`
    output logic                     search_o,            // WALKs look for the READ that this packet asks again
    output asked_read_t              asked_o,             // it
    output logic                     read_valid_o,
    output read_response_t           read_o,
    output logic                     reread_valid_o,      // a READ is answered again
    output reread_t                  reread_o,
    output logic                     keep_o,              // `kept_o` goes into slot `read_slot_o`
    output kept_read_t               kept_o,
    output logic                     move_o,              // so does `cursor_o`
    output read_cursor_t             cursor_o,
    output logic               [3:0] read_slot_o
);

  responder_context_t c;
  assign c = context_i;

  logic into_buffer;  // the packet belongs to the receive buffer
  assign into_buffer = facts_i.send && !facts_i.read;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Payload placement, answer and completion

  logic flush;
  assign flush = c.state == QpError && !facts_i.empty;

  always_comb begin
    // Offsets are multiples of the MTU. That of an atomic is 0: no message is under way when one is accepted.
    place_o.va = into_buffer ? buffer_i.local_va : facts_i.va;
    place_o.va[63:8] += 56'(facts_i.offset[31:8]);
    place_o.key    = into_buffer ? buffer_i.local_key : facts_i.rkey;
    place_o.remote = !into_buffer;
    place_o.bytes  = facts_i.read ? 15'(AtomicBytes) : payload_bytes_i[14:0];
  end

  always_comb begin
    response_o          = '0;
    response_o.opcode   = {ServiceRc, OpAck};
    response_o.psn      = c.owed == OwedNak ? c.expected_psn : c.expected_psn - 1'b1;
    response_o.syndrome = c.owed == OwedNak ? c.syndrome : SyndromeAck;
    response_o.msn      = c.msn;
  end

  always_comb begin
    completion_o         = '0;
    completion_o.receive = 1'b1;
    completion_o.id      = buffer_i.id;
    if (flush) completion_o.status = c.status;
    else begin
      completion_o.status    = StatusSuccess;
      completion_o.operation = {ServiceRc, operation_i};
      completion_o.length    = facts_i.send ? facts_i.bytes[31:0] : facts_i.dma_len;
      completion_o.imm       = facts_i.has_imm ? imm_i : '0;
      completion_o.solicited = solicited_i;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // READs

  localparam int unsigned ReadBits = $clog2(Reads);

  logic [15:0] mtu;
  assign mtu = 16'd1 << mtu_bits(c.configuration.mtu);

  logic atomic;  // `kept_i` is one
  assign atomic = kept_i.read.asked != AskedRead;

  // With READ: the response of the cursor
  always_comb begin
    case ({
      cursor_i.begun, cursor_i.last
    })
      2'b00:   read_o.opcode = {ServiceRc, OpReadRespFirst};
      2'b01:   read_o.opcode = {ServiceRc, OpReadRespOnly};
      2'b10:   read_o.opcode = {ServiceRc, OpReadRespMid};
      default: read_o.opcode = {ServiceRc, OpReadRespLast};
    endcase
    if (atomic) read_o.opcode = {ServiceRc, OpAtomicAck};
    read_o.psn   = cursor_i.psn;
    read_o.msn   = kept_i.msn;
    read_o.again = psn_behind(cursor_i.psn, c.reads.top_psn);
    read_o.va    = cursor_i.va;
    read_o.key   = kept_i.read.rkey;
    read_o.bytes = cursor_i.last ? cursor_i.left[15:0] : mtu;
  end

  // With PACKET: what is kept of a READ, and what is compared with it when it is asked again
  always_comb begin
    kept_o.read = '{
        asked: facts_i.asked,
        psn: psn_i,
        origin: read_origin(facts_i.va, {1'b0, psn_i}, c.configuration.mtu),
        rkey: facts_i.rkey,
        end_psn: 25'(psn_i) + facts_i.responses,
        rest: read_rest(facts_i.dma_len, c.configuration.mtu)
    };
    kept_o.msn = c.msn + 1'b1;
    asked_o = '{
        read: kept_o.read,
        wrapped: 32'(read_origin(facts_i.va, {1'b1, psn_i}, c.configuration.mtu) >> 32),
        va: facts_i.va,
        length: facts_i.dma_len
    };
  end

  // With a WALK: whether what is kept is asked again: a READ from its beginning or its inside, or an atomic, which is
  // known by its PSN, as it is to Linux. Between the beginnings of two READs PSNs may have wrapped. A READ has no more
  // than 2^22 of them, so what ends not behind the end of one that wraps, modulo 2^24, began behind the wrap.
  logic same_read, same_atomic;  // for a READ without the upper half of its origin
  logic before_end;  // it does not end behind what is kept, modulo 2^24
  logic lies_in, lies_in_wrapped;  // it is a part of what is kept; and begins behind the wrap of its PSNs
  logic repeats, ended;  // ended: it was answered to its end

  always_comb begin
    same_read = asked_i.read.asked == AskedRead && kept_i.read.asked == AskedRead &&
        asked_i.read.rkey == kept_i.read.rkey && asked_i.read.origin[31:0] == kept_i.read.origin[31:0];
    same_atomic = asked_i.read.asked != AskedRead && asked_i.read.asked == kept_i.read.asked &&
        asked_i.read.psn == kept_i.read.psn;
    before_end = {asked_i.read.end_psn[23:0], asked_i.read.rest} <= {kept_i.read.end_psn[23:0], kept_i.read.rest};
    lies_in = asked_i.read.origin[63:32] == kept_i.read.origin[63:32] && asked_i.read.psn >= kept_i.read.psn &&
        (asked_i.read.end_psn[24] == kept_i.read.end_psn[24] ? before_end : kept_i.read.end_psn[24]);
    lies_in_wrapped = asked_i.wrapped == kept_i.read.origin[63:32] && !asked_i.read.end_psn[24] &&
        kept_i.read.end_psn[24] && before_end;
    repeats = same_atomic || (same_read && lies_in) || (same_read && lies_in_wrapped);
  end

  assign ended = c.reads.head - search_index_i > c.reads.head - c.reads.done;
  assign reread_o = '{first_psn: asked_i.read.psn, end_psn: asked_i.read.end_psn[23:0]};

  // What is left to be sent: of a READ that begins, all.
  logic [31:0] left;

  always_comb begin
    if (search_i) left = asked_i.length;
    else left = facts_i.asked == AskedRead ? facts_i.dma_len : '0;

    cursor_o = '{
        psn: search_i ? asked_i.read.psn : psn_i,
        va: search_i ? asked_i.va : facts_i.va,
        left: left,
        last: left <= 32'(mtu),
        begun: 1'b0
    };
    read_slot_o = search_i ? 4'(search_index_i[ReadBits-1:0]) : 4'(c.reads.head[ReadBits-1:0]);
    if (kind_i == ResponderReturn) begin
      cursor_o    = '{psn: kept_i.read.psn, va: original_i.original, left: '0, last: 1'b1, begun: 1'b0};
      read_slot_o = 4'(original_i.index[ReadBits-1:0]);
    end else if (kind_i == ResponderRead) begin
      cursor_o = '{
          psn: cursor_i.psn + 1'b1,
          va: va_after(cursor_i.va, 32'(mtu)),
          left: cursor_i.left - 32'(mtu),
          last: 33'(cursor_i.left) <= {16'd0, mtu, 1'b0},
          begun: 1'b1
      };
      read_slot_o = facts_i.slot;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Result of a packet in order; the first check that fails decides. That of the length of the buffer is the last.

  responder_note_e fate;  // if the buffer is long enough

  always_comb begin
    if (facts_i.invalid) fate = ResponderInvalid;
    else if (facts_i.access) fate = ResponderAccess;
    else if (facts_i.length_bad) fate = ResponderInvalid;
    else if (facts_i.needs_buffer && facts_i.empty) fate = ResponderNoBuffer;
    else fate = ResponderAccepted;
  end

  function automatic responder_context_t without_message(input responder_context_t whole);
    responder_context_t after = whole;
    {after.under_way, after.writing, after.first_psn, after.offset} = '0;
    {after.va, after.rkey, after.dma_len} = '0;
    return after;
  endfunction

  responder_context_t found;  // the context without a message that starts over
  responder_context_t failed;  // if the packet ends the QP

  always_comb begin
    found = facts_i.start_over ? without_message(c) : c;
    if (facts_i.start_over) found.expected_psn = psn_i;
    failed          = found;
    failed.state    = QpError;
    failed.silent   = 1'b0;
    failed.owed     = OwedNak;
    failed.syndrome = fate == ResponderAccess ? SyndromeAccess : SyndromeInvalid;
    // Nothing else is wrong with a packet that is too long for its buffer.
    failed.status   = fate == ResponderAccepted ? StatusLocalLength : StatusFlushed;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Context, as far as it depends neither on the buffer nor on what is kept of READs

  responder_context_t n;
  responder_note_e note;
  logic walk, place, complete;
  logic accept, answer;  // the packet, if the buffer is long enough; the READ, if the QP was not refused in front of it

  always_comb begin
    n                = c;
    note             = ResponderNone;
    walk             = 1'b0;
    place            = 1'b0;
    complete         = 1'b0;
    accept           = 1'b0;
    answer           = 1'b0;
    response_valid_o = 1'b0;
    post_o           = 1'b0;
    search_o         = 1'b0;
    keep_o           = 1'b0;

    case (kind_i)
      ResponderOpen: begin
        n               = '0;
        n.state         = QpReady;
        n.configuration = configuration_i;
        n.expected_psn  = psn_i;
      end

      ResponderClose: n = '0;

      ResponderPost: begin
        if (c.state == QpClosed) note = ResponderRefusedState;
        else if (facts_i.full) note = ResponderRefusedFull;
        else begin
          post_o = 1'b1;
          n.head = c.head + 1'b1;
          walk   = c.state == QpError;
        end
      end

      ResponderPacket: begin
        if (!facts_i.request) note = ResponderIgnored;
        else if (c.state != QpReady) note = ResponderNotReady;
        else if (facts_i.gap) begin
          note = c.silent ? ResponderGapAgain : ResponderGap;
          if (!c.silent) begin
            if (c.configuration.restart && c.under_way) begin
              n              = without_message(c);
              n.expected_psn = c.first_psn;
            end
            n.silent   = 1'b1;
            n.owed     = OwedNak;
            n.syndrome = SyndromeSequence;
          end
        end else if (facts_i.duplicate) begin
          note = ResponderDuplicate;
          if (facts_i.read) begin
            search_o = c.reads.kept != '0;
            walk     = search_o;
          end else if (c.owed == OwedNone) n.owed = OwedAck;
        end else begin
          note = fate;
          n    = found;
          case (fate)
            ResponderAccepted: begin
              accept = 1'b1;
              if (facts_i.read) begin
                // Its responses acknowledge what came before it.
                n.silent       = 1'b0;
                n.expected_psn = kept_o.read.end_psn[23:0];
                n.owed         = OwedNone;
                n.msn          = c.msn + 1'b1;
                n.reads.head   = c.reads.head + 1'b1;
                if (c.reads.kept != read_t'(Reads)) n.reads.kept = c.reads.kept + 1'b1;
                if (c.reads.done == c.reads.head) n.reads.top_psn = psn_i;
                n.reads.again[read_slot_o]            = 1'b0;
                n.reads.performing[c.reads.head[3:0]] = facts_i.asked != AskedRead;
                place                                 = facts_i.asked != AskedRead;
                keep_o                                = 1'b1;
              end else begin
                place          = payload_bytes_i != '0;
                n.silent       = 1'b0;
                n.expected_psn = psn_i + 1'b1;
                if (ack_req_i || c.owed == OwedNak) n.owed = OwedAck;
                n.under_way = 1'b1;
                n.writing   = !facts_i.send;
                n.offset    = facts_i.bytes[31:0];
                if (facts_i.starts) n.first_psn = psn_i;
                n.va      = facts_i.send ? '0 : facts_i.va;
                n.rkey    = facts_i.send ? '0 : facts_i.rkey;
                n.dma_len = facts_i.send ? '0 : facts_i.dma_len;
                if (facts_i.ends) begin
                  n     = without_message(n);
                  n.msn = c.msn + 1'b1;
                end
                if (facts_i.completes) begin
                  complete = 1'b1;
                  n.tail   = c.tail + 1'b1;
                end
              end
            end
            ResponderNoBuffer: begin
              n.silent   = 1'b1;
              n.owed     = OwedNak;
              n.syndrome = SyndromeRnr | 8'(c.configuration.rnr_timer);
            end
            default: begin
              n    = failed;
              walk = 1'b1;
            end
          endcase
        end
      end

      ResponderGrant: begin
        if (c.owed == OwedNone || facts_i.unanswered) note = ResponderNothingOwed;
        else begin
          response_valid_o = 1'b1;
          n.owed           = OwedNone;
        end
      end

      ResponderSettle:
      if (c.state == QpClosed) note = ResponderIgnored;
      else n.reads.settled = c.reads.settled + 1'b1;

      ResponderRead: begin
        answer = facts_i.answerable && (facts_i.rereads || reads_performed(c.reads));
        if (!answer) note = ResponderNothingOwed;
      end

      ResponderReturn:
      if (!c.reads.performing[original_i.index]) note = ResponderIgnored;
      else n.reads.performing[original_i.index] = 1'b0;

      ResponderFail:
      if (c.state != QpReady) note = ResponderIgnored;
      else begin
        n.state  = QpError;
        n.status = StatusFlushed;
        // An answer would go past the READs that are not answered, also one of REFUSE.
        n.silent = reads_wait(c.reads);
        if (n.silent) n.owed = OwedNone;
        n.reads.done  = c.reads.head;
        n.reads.again = '0;
        walk          = 1'b1;
      end

      ResponderRefuse:
      if (c.state == QpClosed) note = ResponderIgnored;
      else begin
        note    = ResponderUnwritable;
        n.state = QpError;
        if (c.state == QpReady) begin
          n.status = StatusFlushed;
          n.silent = 1'b0;
        end
        n.expected_psn = refusal_i.psn;
        n.msn          = refusal_i.msn;
        if (!n.silent) begin
          n.owed     = OwedNak;
          n.syndrome = refusal_i.remote ? SyndromeAccess : SyndromeOperate;
        end
        walk = 1'b1;
      end

      ResponderWalk:
      if (!own_i) note = ResponderIgnored;
      else if (flush && !search_i) begin
        complete = 1'b1;
        n.status = StatusFlushed;
        n.tail   = c.tail + 1'b1;
        walk     = n.tail != c.head;
      end

      default: note = ResponderIgnored;
    endcase
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What is left to decide with what comes out of the RAMs, which is late: each of it only selects.

  logic too_long;  // the message is longer than the buffer
  logic refused;  // the QP was refused in front of the READ that is to be answered
  logic [ReadsMax-1:0] asked_again;  // what `again` gets if the kept READ is asked again
  assign too_long = accept && into_buffer && facts_i.bytes > 33'(buffer_i.length);
  assign refused = kind_i == ResponderRead && facts_i.answerable && c.state == QpError && !psn_behind(
      cursor_i.psn, c.expected_psn
  );

  always_comb begin
    asked_again = '0;
    if (search_i && ended) asked_again[read_slot_o] = 1'b1;
  end

  assign walk_o = walk || too_long || (search_i && !repeats && !search_last_i);
  assign place_valid_o = place && !too_long;
  assign completion_valid_o = complete && !too_long;
  assign read_valid_o = answer && !refused;
  assign reread_valid_o = search_i && repeats;

  always_comb begin
    move_o = keep_o || (read_valid_o && !atomic) || (reread_valid_o && asked_i.read.asked == AskedRead);
    if (kind_i == ResponderReturn) move_o = c.reads.performing[original_i.index];

    note_o = note;
    if (too_long) note_o = ResponderTooLong;
    if (refused) note_o = ResponderNothingOwed;

    context_o = too_long ? failed : n;
    if (answer && cursor_i.last) begin
      if (facts_i.rereads) context_o.reads.again[facts_i.slot] = 1'b0;
      else context_o.reads.done = c.reads.done + 1'b1;
    end
    if (refused) begin
      context_o.reads.done  = c.reads.head;
      context_o.reads.again = '0;
    end
    if (read_valid_o && !read_o.again) context_o.reads.top_psn = cursor_i.psn + 1'b1;
    if (repeats) context_o.reads.again |= asked_again;
  end

endmodule
