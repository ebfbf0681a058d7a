// RoCE: opcodes, transport headers, and the parser's result (IBTA volume 1 chapters 5 and 9, annexes A16, A17).
package roce_pkg;

  localparam logic [15:0] UdpPortRoce = 16'd4791;  // A17.3
  localparam logic [7:0] GrhNextHeader = 8'h1B;  // A16: the next header is a BTH

  localparam int unsigned BthBytes = 12;
  localparam int unsigned IcrcBytes = 4;

  // Opcode = service (high three bits) and operation (low five bits), IBTA table 38.
  localparam logic [2:0] ServiceRc = 3'b000;
  localparam logic [2:0] ServiceUc = 3'b001;
  localparam logic [2:0] ServiceUd = 3'b011;
  localparam logic [7:0] OpcodeCnp = 8'h81;  // A17.9

  typedef enum logic [4:0] {
    OpSendFirst     = 5'h00,
    OpSendMiddle    = 5'h01,
    OpSendLast      = 5'h02,
    OpSendLastImm   = 5'h03,
    OpSendOnly      = 5'h04,
    OpSendOnlyImm   = 5'h05,
    OpWriteFirst    = 5'h06,
    OpWriteMiddle   = 5'h07,
    OpWriteLast     = 5'h08,
    OpWriteLastImm  = 5'h09,
    OpWriteOnly     = 5'h0A,
    OpWriteOnlyImm  = 5'h0B,
    OpReadRequest   = 5'h0C,
    OpReadRespFirst = 5'h0D,
    OpReadRespMid   = 5'h0E,
    OpReadRespLast  = 5'h0F,
    OpReadRespOnly  = 5'h10,
    OpAck           = 5'h11,
    OpAtomicAck     = 5'h12,
    OpCmpSwap       = 5'h13,
    OpFetchAdd      = 5'h14,
    OpSendLastInv   = 5'h16,
    OpSendOnlyInv   = 5'h17
  } operation_e;

  // Base transport header, 96 bits, as on the wire.
  typedef struct packed {
    logic [7:0]  opcode;
    logic        solicited;
    logic        mig_req;
    logic [1:0]  pad;
    logic [3:0]  tver;
    logic [15:0] pkey;
    logic        fecn;
    logic        becn;
    logic [5:0]  reserved6;
    logic [23:0] dest_qp;
    logic        ack_req;
    logic [6:0]  reserved7;
    logic [23:0] psn;
  } bth_t;

  // Fields of all extension headers. The opcode determines which are valid (ext_layout_t); the others are zero. 440
  // bits.
  typedef struct packed {
    logic [63:0] va;        // RETH, AtomicETH
    logic [31:0] rkey;      // RETH, AtomicETH
    logic [31:0] dma_len;   // RETH
    logic [63:0] swap_add;  // AtomicETH
    logic [63:0] compare;   // AtomicETH
    logic [7:0]  syndrome;  // AETH
    logic [23:0] msn;       // AETH
    logic [63:0] original;  // AtomicAckETH
    logic [31:0] imm;       // ImmDt, or IETH: the rkey to invalidate
    logic [31:0] qkey;      // DETH
    logic [23:0] src_qp;    // DETH
  } ext_head_t;

  // Extension headers of an opcode, in wire order
  typedef struct packed {
    logic       known;       // the opcode exists
    logic       deth;
    logic       reth;
    logic       atomic;      // AtomicETH
    logic       aeth;
    logic       atomic_ack;
    logic       imm;         // ImmDt or IETH
    logic       cnp;         // 16 reserved bytes
    logic       payload;     // payload is allowed
    logic [2:0] words;       // total length in 4-byte words: 0 to 7
  } ext_layout_t;

  typedef enum logic [2:0] {
    VerdictOther     = 3'd0,
    VerdictRoceV2    = 3'd1,
    VerdictRoceV1    = 3'd2,
    VerdictCnp       = 3'd3,
    VerdictPfc       = 3'd4,
    VerdictPause     = 3'd5,
    VerdictMalformed = 3'd6
  } verdict_e;

  // Reason why a frame is malformed, as defined in rtl/parser/README.md
  typedef enum logic [4:0] {
    ReasonNone              = 5'd0,
    ReasonEthTruncated      = 5'd1,
    ReasonVlanTruncated     = 5'd2,
    ReasonControlTruncated  = 5'd3,
    ReasonControlAddress    = 5'd4,
    ReasonIpTruncated       = 5'd5,
    ReasonIpVersion         = 5'd6,
    ReasonIpHeaderLength    = 5'd7,
    ReasonIpLength          = 5'd8,
    ReasonIpChecksum        = 5'd9,
    ReasonIpFragment        = 5'd10,
    ReasonGrhNextHeader     = 5'd11,
    ReasonUdpTruncated      = 5'd12,
    ReasonUdpLength         = 5'd13,
    ReasonBthTruncated      = 5'd14,
    ReasonIbAlignment       = 5'd15,
    ReasonBthVersion        = 5'd16,
    ReasonUnknownOpcode     = 5'd17,
    ReasonHeaderTruncated   = 5'd18,
    ReasonPadCount          = 5'd19,
    ReasonUnexpectedPayload = 5'd20
  } reason_e;

  // Layout of an opcode's extension headers. It depends on `grh` because a CNP exists in RoCEv2 only.
  function automatic ext_layout_t ext_layout(input logic [7:0] opcode, input logic grh);
    ext_layout_t layout = '0;
    logic [2:0] service = opcode[7:5];
    operation_e operation = operation_e'(opcode[4:0]);
    if (opcode == OpcodeCnp) begin
      layout.known = ~grh;
      layout.cnp   = ~grh;
      layout.words = grh ? 3'd0 : 3'd4;
    end else if (service == ServiceUd) begin
      layout.known   = operation inside {OpSendOnly, OpSendOnlyImm};
      layout.deth    = layout.known;
      layout.imm     = operation == OpSendOnlyImm;
      layout.payload = layout.known;
      layout.words   = !layout.known ? 3'd0 : layout.imm ? 3'd3 : 3'd2;
    end else if (service == ServiceRc || (service == ServiceUc && opcode[4:0] <= OpWriteOnlyImm)) begin
      layout.known   = 1'b1;
      layout.payload = 1'b1;
      case (operation)
        OpSendFirst, OpSendMiddle, OpSendLast, OpSendOnly: ;
        OpWriteMiddle, OpWriteLast, OpReadRespMid:         ;
        OpSendLastImm, OpSendOnlyImm, OpWriteLastImm, OpSendLastInv, OpSendOnlyInv: begin
          layout.imm   = 1'b1;
          layout.words = 3'd1;
        end
        OpWriteFirst, OpWriteOnly: begin
          layout.reth  = 1'b1;
          layout.words = 3'd4;
        end
        OpWriteOnlyImm: begin
          layout.reth  = 1'b1;
          layout.imm   = 1'b1;
          layout.words = 3'd5;
        end
        OpReadRequest: begin
          layout.reth    = 1'b1;
          layout.payload = 1'b0;
          layout.words   = 3'd4;
        end
        OpReadRespFirst, OpReadRespLast, OpReadRespOnly: begin
          layout.aeth  = 1'b1;
          layout.words = 3'd1;
        end
        OpAck: begin
          layout.aeth    = 1'b1;
          layout.payload = 1'b0;
          layout.words   = 3'd1;
        end
        OpAtomicAck: begin
          layout.aeth       = 1'b1;
          layout.atomic_ack = 1'b1;
          layout.payload    = 1'b0;
          layout.words      = 3'd3;
        end
        OpCmpSwap, OpFetchAdd: begin
          layout.atomic  = 1'b1;
          layout.payload = 1'b0;
          layout.words   = 3'd7;
        end
        default:                                           layout = '0;
      endcase
    end
    return layout;
  endfunction

  // Distance by which PSN a is ahead of PSN b, modulo 2^24; negative when it is behind. The sign is that of (a − b)
  // << 8 in 32 bits. At a distance of 2^23 each is behind the other.
  typedef logic [23:0] psn_t;

  function automatic logic signed [23:0] psn_distance(input psn_t a, input psn_t b);
    return signed'(a - b);
  endfunction

  function automatic logic psn_ahead(input psn_t a, input psn_t b);
    return psn_distance(a, b) > 24'sd0;
  endfunction

  function automatic logic psn_behind(input psn_t a, input psn_t b);
    return psn_distance(a, b) < 24'sd0;
  endfunction

  // Result of the parser for a frame: verdict, and what is reported. 48 bits.
  typedef struct packed {
    verdict_e    verdict;
    reason_e     reason;         // ReasonNone unless malformed
    logic        has_eth;
    logic        has_control;
    logic        has_ip;
    logic        has_bth;
    logic        has_ext;
    logic        has_payload;    // payload_bytes is valid
    logic        has_icrc;       // icrc_ok is valid
    logic        icrc_ok;
    logic [15:0] payload_bytes;  // without pad and ICRC
    logic [15:0] frame_bytes;    // without FCS
  } parse_result_t;

endpackage
