// Step function of the responder: context, event and the oldest receive buffer in, context and actions out.
// rtl/gbn/README.md is the contract.
//
// - `facts_i` is the output of gbn_responder_look for the same event and context.
// - `buffer_i` is the ring's slot `tail`. It is valid when the ring is not empty.
// - `own_i` marks WALK steps made by the unit. An event of kind WALK with `own_i` = 0 is ignored.
// - `kept_i` and `cursor_i` are those of the READ in a slot: with READ, of `slot` of the facts; with RETURN, of
//   `original_i`; with a WALK that looks for the READ that is asked again (`search_i`), of the READ with index
//   `search_index_i`.
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

  responder_context_t c, n;
  assign c = context_i;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Payload placement, answer and completion

  logic flush;
  assign flush = c.state == QpError && !facts_i.empty;

  always_comb begin
    place_o.va     = (facts_i.send ? buffer_i.local_va : facts_i.va) + 64'(facts_i.offset);
    place_o.key    = facts_i.send ? buffer_i.local_key : facts_i.rkey;
    place_o.remote = !facts_i.send;
    place_o.bytes  = payload_bytes_i[14:0];
    if (facts_i.read) place_o = '{va: facts_i.va, key: facts_i.rkey, remote: 1'b1, bytes: 15'(AtomicBytes)};
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

  // With READ: the response of the cursor
  logic [15:0] mtu;
  logic last;  // no other response follows it
  logic [15:0] bytes;
  assign mtu   = 16'd1 << mtu_bits(c.configuration.mtu);
  assign last  = cursor_i.left <= 32'(mtu);
  assign bytes = last ? cursor_i.left[15:0] : mtu;

  logic atomic;  // `kept_i` is one
  assign atomic = kept_i.asked != AskedRead;

  always_comb begin
    case ({
      cursor_i.begun, last
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
    read_o.key   = kept_i.rkey;
    read_o.bytes = bytes;
  end

  // With a WALK: whether what is kept is asked again: a READ from its beginning or its inside, or an atomic, which is
  // known by its PSN, as it is to Linux
  psn_t ahead;
  logic [35:0] skipped;  // bytes of it that are not asked again
  logic repeats, ended;  // ended: it was answered to its end
  assign ahead   = asked_i.psn - kept_i.psn;
  assign skipped = 36'(ahead) << mtu_bits(c.configuration.mtu);

  always_comb begin
    if (atomic) repeats = asked_i.asked == kept_i.asked && ahead == '0;
    else
      repeats = asked_i.asked == AskedRead && (ahead == '0 || skipped < 36'(kept_i.length)) && asked_i.rkey == kept_i.rkey &&
          asked_i.va == kept_i.va + 64'(skipped) && 37'(skipped) + 37'(asked_i.length) <= 37'(kept_i.length);
  end

  assign ended = c.reads.head - search_index_i > c.reads.head - c.reads.done;

  assign reread_o = '{
          first_psn: asked_i.psn,
          end_psn: asked_i.psn + psn_t'(read_responses(asked_i.length, c.configuration.mtu))
      };

  always_comb begin
    kept_o = '{
        asked: facts_i.asked,
        psn: psn_i,
        va: facts_i.va,
        rkey: facts_i.rkey,
        length: facts_i.dma_len,
        msn: c.msn + 1'b1
    };
    cursor_o = '{psn: psn_i, va: facts_i.va, left: facts_i.asked == AskedRead ? facts_i.dma_len : '0, begun: 1'b0};
    read_slot_o = 4'(c.reads.head[ReadBits-1:0]);
    if (kind_i == ResponderReturn) begin
      cursor_o    = '{psn: kept_i.psn, va: original_i.original, left: '0, begun: 1'b0};
      read_slot_o = 4'(original_i.index[ReadBits-1:0]);
    end else if (kind_i == ResponderRead) begin
      cursor_o = '{
          psn: cursor_i.psn + 1'b1,
          va: cursor_i.va + 64'(bytes),
          left: cursor_i.left - 32'(bytes),
          begun: 1'b1
      };
      read_slot_o = facts_i.slot;
    end else if (search_i) begin
      cursor_o = '{psn: asked_i.psn, va: asked_i.va, left: asked_i.length, begun: 1'b0};
      read_slot_o = 4'(search_index_i[ReadBits-1:0]);
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Result of a packet in order; the first check that fails decides

  responder_note_e fate;

  always_comb begin
    if (facts_i.invalid) fate = ResponderInvalid;
    else if (facts_i.access) fate = ResponderAccess;
    else if (facts_i.length_bad) fate = ResponderInvalid;
    else if (facts_i.needs_buffer && facts_i.empty) fate = ResponderNoBuffer;
    else if (facts_i.send && facts_i.bytes > 33'(buffer_i.length)) fate = ResponderTooLong;
    else fate = ResponderAccepted;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Context

  logic leave;  // afterwards no message is under way

  always_comb begin
    n                  = c;
    note_o             = ResponderNone;
    walk_o             = 1'b0;
    place_valid_o      = 1'b0;
    response_valid_o   = 1'b0;
    completion_valid_o = 1'b0;
    post_o             = 1'b0;
    search_o           = 1'b0;
    read_valid_o       = 1'b0;
    reread_valid_o     = 1'b0;
    keep_o             = 1'b0;
    move_o             = 1'b0;
    leave              = 1'b0;

    case (kind_i)
      ResponderOpen: begin
        n               = '0;
        n.state         = QpReady;
        n.configuration = configuration_i;
        n.expected_psn  = psn_i;
      end

      ResponderClose: n = '0;

      ResponderPost: begin
        if (c.state == QpClosed) note_o = ResponderRefusedState;
        else if (facts_i.full) note_o = ResponderRefusedFull;
        else begin
          post_o = 1'b1;
          n.head = c.head + 1'b1;
          walk_o = c.state == QpError;
        end
      end

      ResponderPacket: begin
        if (!facts_i.request) note_o = ResponderIgnored;
        else if (c.state != QpReady) note_o = ResponderNotReady;
        else if (facts_i.gap) begin
          note_o = c.silent ? ResponderGapAgain : ResponderGap;
          if (!c.silent) begin
            n.silent   = 1'b1;
            n.owed     = OwedNak;
            n.syndrome = SyndromeSequence;
            if (c.configuration.restart && c.under_way) begin
              n.expected_psn = c.first_psn;
              leave          = 1'b1;
            end
          end
        end else if (facts_i.duplicate) begin
          note_o = ResponderDuplicate;
          if (facts_i.read) begin
            search_o = c.reads.kept != '0;
            walk_o   = search_o;
          end else if (c.owed == OwedNone) n.owed = OwedAck;
        end else begin
          note_o = fate;
          if (facts_i.start_over) begin
            n.expected_psn = psn_i;
            leave          = 1'b1;
          end
          case (fate)
            ResponderAccepted:
            if (facts_i.read) begin
              // Its responses acknowledge what came before it.
              n.silent       = 1'b0;
              n.expected_psn = psn_i + facts_i.responses;
              n.owed         = OwedNone;
              n.msn          = c.msn + 1'b1;
              n.reads.head   = c.reads.head + 1'b1;
              if (c.reads.kept != read_t'(Reads)) n.reads.kept = c.reads.kept + 1'b1;
              if (c.reads.done == c.reads.head) n.reads.top_psn = psn_i;
              n.reads.again[read_slot_o] = 1'b0;
              n.reads.performing[c.reads.head[3:0]] = facts_i.asked != AskedRead;
              place_valid_o = facts_i.asked != AskedRead;
              keep_o = 1'b1;
              move_o = 1'b1;
            end else begin
              place_valid_o  = payload_bytes_i != '0;
              n.silent       = 1'b0;
              n.expected_psn = psn_i + 1'b1;
              if (ack_req_i || c.owed == OwedNak) n.owed = OwedAck;
              leave       = facts_i.ends;
              n.under_way = 1'b1;
              n.writing   = !facts_i.send;
              n.offset    = facts_i.bytes[31:0];
              if (facts_i.starts) n.first_psn = psn_i;
              n.va      = facts_i.send ? '0 : facts_i.va;
              n.rkey    = facts_i.send ? '0 : facts_i.rkey;
              n.dma_len = facts_i.send ? '0 : facts_i.dma_len;
              if (facts_i.ends) n.msn = c.msn + 1'b1;
              if (facts_i.completes) begin
                completion_valid_o = 1'b1;
                n.tail             = c.tail + 1'b1;
              end
            end
            ResponderNoBuffer: begin
              n.silent   = 1'b1;
              n.owed     = OwedNak;
              n.syndrome = SyndromeRnr | 8'(c.configuration.rnr_timer);
            end
            default: begin
              n.state    = QpError;
              n.silent   = 1'b0;
              n.owed     = OwedNak;
              n.syndrome = fate == ResponderAccess ? SyndromeAccess : SyndromeInvalid;
              n.status   = fate == ResponderTooLong ? StatusLocalLength : StatusFlushed;
              walk_o     = 1'b1;
            end
          endcase
        end
        if (leave) begin
          n.under_way = 1'b0;
          n.writing   = 1'b0;
          n.first_psn = '0;
          n.offset    = '0;
          n.va        = '0;
          n.rkey      = '0;
          n.dma_len   = '0;
        end
      end

      ResponderGrant: begin
        if (c.owed == OwedNone || facts_i.unanswered) note_o = ResponderNothingOwed;
        else begin
          response_valid_o = 1'b1;
          n.owed           = OwedNone;
        end
      end

      ResponderSettle:
      if (c.state == QpClosed) note_o = ResponderIgnored;
      else n.reads.settled = c.reads.settled + 1'b1;

      ResponderRead:
      if (!facts_i.answerable) note_o = ResponderNothingOwed;
      else if (c.state == QpError && !psn_behind(cursor_i.psn, c.expected_psn)) begin
        // The QP has failed in front of it (REFUSE).
        note_o        = ResponderNothingOwed;
        n.reads.done  = c.reads.head;
        n.reads.again = '0;
      end else if (!facts_i.rereads && !reads_performed(c.reads)) note_o = ResponderNothingOwed;
      else begin
        read_valid_o = 1'b1;
        move_o       = !atomic;
        if (!read_o.again) n.reads.top_psn = cursor_i.psn + 1'b1;
        if (last && facts_i.rereads) n.reads.again[facts_i.slot] = 1'b0;
        if (last && !facts_i.rereads) n.reads.done = c.reads.done + 1'b1;
      end

      ResponderReturn:
      if (!c.reads.performing[original_i.index]) note_o = ResponderIgnored;
      else begin
        n.reads.performing[original_i.index] = 1'b0;
        move_o = 1'b1;
      end

      ResponderFail:
      if (c.state != QpReady) note_o = ResponderIgnored;
      else begin
        n.state  = QpError;
        n.status = StatusFlushed;
        // An answer would go past the READs that are not answered, also one of REFUSE.
        n.silent = reads_wait(c.reads);
        if (n.silent) n.owed = OwedNone;
        n.reads.done  = c.reads.head;
        n.reads.again = '0;
        walk_o        = 1'b1;
      end

      ResponderRefuse:
      if (c.state == QpClosed) note_o = ResponderIgnored;
      else begin
        note_o  = ResponderUnwritable;
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
        walk_o = 1'b1;
      end

      ResponderWalk:
      if (!own_i) note_o = ResponderIgnored;
      else if (search_i) begin
        reread_valid_o = repeats;
        move_o         = repeats && !atomic;
        walk_o         = !repeats && !search_last_i;
        if (repeats && ended) n.reads.again[read_slot_o] = 1'b1;
      end else if (flush) begin
        completion_valid_o = 1'b1;
        n.status           = StatusFlushed;
        n.tail             = c.tail + 1'b1;
        walk_o             = n.tail != c.head;
      end

      default: note_o = ResponderIgnored;
    endcase
  end

  assign context_o = n;

endmodule
