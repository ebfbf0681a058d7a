// Step function of the responder: context, event and the oldest receive buffer in, context and actions out.
// rtl/gbn/README.md is the contract.
//
// - `facts_i` is the output of gbn_responder_look for the same event and context.
// - `buffer_i` is the ring's slot `tail`. It is valid when the ring is not empty.
// - `own_i` marks WALK steps made by the unit. An event of kind WALK with `own_i` = 0 is ignored.
//
// Purely combinational.
module gbn_responder_step
  import roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
(
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
    input responder_context_t        context_i,
    input responder_facts_t          facts_i,
    input recv_t                     buffer_i,

    output responder_context_t context_o,
    output responder_note_e    note_o,
    output logic               walk_o,              // a WALK step comes next
    output logic               place_valid_o,
    output place_t             place_o,
    output logic               response_valid_o,
    output response_t          response_o,
    output logic               completion_valid_o,
    output completion_t        completion_o,
    output logic               post_o               // the event's buffer goes into slot `head`
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
          if (c.owed == OwedNone) n.owed = OwedAck;
        end else begin
          note_o = fate;
          if (facts_i.start_over) begin
            n.expected_psn = psn_i;
            leave          = 1'b1;
          end
          case (fate)
            ResponderAccepted: begin
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
        if (c.owed == OwedNone) note_o = ResponderNothingOwed;
        else begin
          response_valid_o = 1'b1;
          n.owed           = OwedNone;
        end
      end

      ResponderFail:
      if (c.state != QpReady) note_o = ResponderIgnored;
      else begin
        n.state  = QpError;
        n.status = StatusFlushed;
        walk_o   = 1'b1;
      end

      ResponderRefuse:
      if (c.state == QpClosed) note_o = ResponderIgnored;
      else begin
        note_o  = ResponderUnwritable;
        n.state = QpError;
        if (c.state == QpReady) n.status = StatusFlushed;
        n.expected_psn = refusal_i.psn;
        n.msn          = refusal_i.msn;
        n.owed         = OwedNak;
        n.syndrome     = refusal_i.remote ? SyndromeAccess : SyndromeOperate;
        walk_o         = 1'b1;
      end

      ResponderWalk:
      if (!own_i) note_o = ResponderIgnored;
      else if (flush) begin
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
