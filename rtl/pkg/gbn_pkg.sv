// Go-back-N: work requests, packets, answers, completions, and a QP's context at both ends. rtl/gbn/README.md is the
// contract.
package gbn_pkg;
  import roce_pkg::*, time_pkg::*;

  typedef logic [7:0] ring_t;  // index into a QP's ring, modulo 256; its low bits are the slot

  localparam int unsigned MessagePacketsMax = 1 << 22;  // keeps all distances between two PSNs in use below 2^23
  localparam logic [31:0] MessageBytesMax = 32'h8000_0000;  // IBTA 9.4.2: 2^31

  typedef enum logic [1:0] {
    QpClosed = 2'd0,
    QpReady  = 2'd1,
    QpError  = 2'd2
  } qp_state_e;

  // Completion status of a work request or receive buffer
  typedef enum logic [3:0] {
    StatusSuccess       = 4'd0,
    StatusLocalLength   = 4'd1,  // receive: the message is longer than the buffer
    StatusFlushed       = 4'd2,  // the QP was in error
    StatusRetryExceeded = 4'd3,
    StatusRnrExceeded   = 4'd4,
    StatusRemoteInvalid = 4'd5,
    StatusRemoteAccess  = 4'd6,
    StatusRemoteOperate = 4'd7,
    StatusLocalAccess   = 4'd8,  // the memory of the work request, or the receive buffer, is not registered
    StatusBadResponse   = 4'd9   // a READ response that cannot be
  } status_e;

  typedef enum logic [3:0] {
    WorkSend     = 4'd0,
    WorkSendImm  = 4'd1,
    WorkSendInv  = 4'd2,
    WorkWrite    = 4'd3,
    WorkWriteImm = 4'd4,
    WorkRead     = 4'd5,
    WorkCmpSwap  = 4'd6,
    WorkFetchAdd = 4'd7
  } work_e;

  // Work request for the send queue. 455 bits.
  typedef struct packed {
    work_e       kind;
    logic        signaled;    // also success makes a completion
    logic        solicited;
    logic        fence;       // waits until all READs and atomics before it are answered
    logic [31:0] length;      // bytes; of an atomic 8
    logic [63:0] local_va;
    logic [31:0] local_key;
    logic [63:0] remote_va;
    logic [31:0] remote_key;
    logic [31:0] imm;         // immediate data, or the key to invalidate
    logic [63:0] swap_add;    // of an atomic
    logic [63:0] compare;
    logic [63:0] id;
  } work_t;

  // Buffer for the receive queue. 192 bits.
  typedef struct packed {
    logic [31:0] length;     // bytes
    logic [63:0] local_va;
    logic [31:0] local_key;
    logic [63:0] id;
  } recv_t;

  // Configuration of a QP's requester, set by software. 52 bits.
  typedef struct packed {
    logic [2:0]  mtu;        // 256 << mtu bytes; 5 to 7 count as 4
    logic [4:0]  timeout;    // 4.096 us << timeout; 0: off
    logic [2:0]  retry;
    logic        nak_retry;  // a sequence NAK uses up a retry, like a timeout: 1 by the standard
    logic [2:0]  rnr_retry;  // 7: unlimited
    logic [7:0]  ack_every;  // an ACK is requested every so many packets; 0: only by the last of a message
    logic [22:0] window;     // packets that may be unacknowledged; 0 and more than 2^22 count as 2^22
    logic        restart;    // go-back-0: a retransmission starts at the message's first packet
    logic [4:0]  reads;      // READs that may be unanswered; 0 and more than the unit has count as these
  } requester_config_t;

  typedef enum logic [1:0] {
    AfterNone   = 2'd0,
    AfterRewind = 2'd1,
    AfterFail   = 2'd2
  } after_e;

  localparam int unsigned AtomicBytes = 8;  // at the address of an atomic, which is a multiple of it
  localparam int unsigned ReadsMax = 16;  // READs of a QP that either end keeps, at most

  typedef logic [4:0] read_t;  // index of a READ, modulo 32; its low bits are the slot

  // READs and atomics that a QP's requester asks for: READ stands for both. 89 bits.
  typedef struct packed {
    read_t head;         // index of the next READ that is asked for the first time
    read_t asked;        // index of the next one to be asked: after a rewind those not answered are asked again
    read_t tail;         // index of the oldest one that is not answered
    psn_t  first_psn;    // of that one; 0 if there is none
    psn_t  psns;         // of responses to what was asked since the last rewind that have not come
    logic  resumes;      // a READ was asked again from its inside, and that response has not come
    psn_t  resumed_psn;  // its PSN
    logic  went_back;    // it went back for a missing response, and none has come since
    logic  blocked;      // SEND found that its work has to wait for READs; until something is acknowledged
  } asking_t;

  // Context of a QP at the requester. 382 bits.
  typedef struct packed {
    qp_state_e         state;
    requester_config_t configuration;
    ring_t             head;           // index of the next work request
    ring_t             current;        // index of the message that `next_psn` belongs to
    ring_t             tail;           // index of the oldest message that is not complete
    psn_t              post_psn;       // first PSN of the next work request
    psn_t              next_psn;       // next PSN to send
    psn_t              top_psn;        // after the highest PSN ever sent
    psn_t              una_psn;        // oldest PSN not acknowledged
    psn_t              asked_psn;      // after the newest packet that asked for an ACK, since the last rewind
    logic [7:0]        unasked;        // packets since that one; saturates
    logic [2:0]        retries;        // retries left
    logic [2:0]        rnr_retries;    // RNR retries left
    after_e            after;          // what the walk does after it has completed all that is acknowledged
    status_e           status;         // status of the next completion of a QP that fails or has failed
    logic              rnr_wait;       // the deadline is that of an RNR wait, not of an ACK timeout
    logic              timer_runs;
    cycle_t            deadline;
    asking_t           asking;
    logic              unread;         // the payload of a packet cannot be read: nothing is sent from it on
    psn_t              unread_psn;     // its PSN
  } requester_context_t;

  typedef enum logic [3:0] {
    RequesterOpen     = 4'd0,
    RequesterClose    = 4'd1,
    RequesterPost     = 4'd2,
    RequesterSend     = 4'd3,
    RequesterAck      = 4'd4,
    RequesterTimer    = 4'd5,
    RequesterWalk     = 4'd6,
    RequesterFail     = 4'd7,  // the QP's other half has failed
    RequesterResponse = 4'd8,  // a READ response, or the answer of an atomic
    RequesterUnread   = 4'd9   // the payload of a packet that was to be sent cannot be read
  } requester_kind_e;

  // Result of a step, for counters
  typedef enum logic [4:0] {
    RequesterNone = 5'd0,
    RequesterProgress = 5'd1,  // an ACK or a response acknowledged something
    RequesterStale = 5'd2,  // an answer for a PSN that is acknowledged already
    RequesterUnsent = 5'd3,  // an answer for a PSN that was never sent
    RequesterReserved = 5'd4,  // a syndrome that the standard does not define
    RequesterNak = 5'd5,  // a sequence NAK; rewind
    RequesterRnr = 5'd6,  // an RNR NAK; rewind and wait
    RequesterRemoteError = 5'd7,  // a NAK or a response that ends the QP
    RequesterTimeout = 5'd8,  // ACK timeout; rewind
    RequesterRnrOver = 5'd9,  // the RNR wait has ended
    RequesterExhausted = 5'd10,  // no retry left: the QP ends
    RequesterBlocked = 5'd11,  // SEND, but nothing may be sent
    RequesterRefusedFull = 5'd12,  // POST, but the ring is full
    RequesterRefusedState = 5'd13,  // POST, but the QP is closed
    RequesterRefusedWork = 5'd14,  // POST with an illegal kind or length
    RequesterIgnored = 5'd15,  // no such event, or not in this state
    RequesterImplied = 5'd16,  // what came says that a READ response is missing; rewind
    RequesterUnreadable = 5'd17  // the oldest message cannot be sent, because its payload cannot be read: the QP ends
  } requester_note_e;

  // Request packet to build. Fields that its opcode does not have are zero. 435 bits.
  typedef struct packed {
    logic [7:0]  opcode;
    psn_t        psn;
    logic        ack_req;
    logic        solicited;
    logic        again;          // was sent before
    logic [15:0] payload_bytes;
    logic [63:0] local_va;       // address of the payload
    logic [31:0] local_key;
    logic [63:0] va;             // RETH, AtomicETH
    logic [31:0] rkey;           // RETH, AtomicETH
    logic [31:0] dma_len;        // RETH
    logic [31:0] imm;            // ImmDt, IETH
    logic [63:0] swap_add;       // AtomicETH
    logic [63:0] compare;        // AtomicETH
  } request_t;

  // READ response, or answer of an atomic, as the requester needs it, without the payload. 21 bits.
  typedef struct packed {
    logic [4:0]  operation;  // low bits of the opcode
    logic [15:0] bytes;      // of payload; of an atomic those of its original
  } returned_t;

  // Completion. 169 bits.
  typedef struct packed {
    logic        receive;    // of the receive queue
    status_e     status;
    logic [63:0] id;
    logic [7:0]  operation;  // send: work_e; receive: opcode of the packet that completed it, 0 if none did
    logic [31:0] length;     // bytes; 0 unless success
    logic [31:0] imm;
    logic        solicited;
    logic [26:0] reserved;   // zero
  } completion_t;

  // Configuration of a QP's responder, set by software. 9 bits.
  typedef struct packed {
    logic [2:0] mtu;        // as in requester_config_t
    logic [4:0] rnr_timer;  // IBTA table 45: sent with RNR NAKs
    logic       restart;    // go-back-0: after a gap the message's first packet is expected
  } responder_config_t;

  typedef enum logic [1:0] {
    OwedNone = 2'd0,
    OwedAck  = 2'd1,
    OwedNak  = 2'd2
  } owed_e;

  // What a QP's responder owes for READs and atomics, and which it keeps for duplicates: READ stands for both. 76 bits.
  typedef struct packed {
    read_t               head;        // index of the next READ
    read_t               settled;     // index of the oldest READ with writes in front of it that are not in memory yet
    read_t               done;        // index of the oldest READ that was never answered to its end
    read_t               kept;        // number of READs that are kept: those before `head`
    logic [ReadsMax-1:0] again;       // slots of READs before `done` that are to be answered again
    logic [ReadsMax-1:0] performing;  // atomics whose original has not come from the host, by their index modulo 16
    psn_t                top_psn;     // after the highest PSN of a response
  } reads_t;

  // Context of a QP at the responder
  typedef struct packed {
    qp_state_e         state;
    responder_config_t configuration;
    ring_t             head;           // index of the next buffer
    ring_t             tail;           // index of the oldest buffer
    psn_t              expected_psn;
    psn_t              first_psn;      // of the message under way
    logic [23:0]       msn;            // messages completed
    logic              under_way;      // a message is under way
    logic              writing;        // the message under way is a WRITE
    logic [31:0]       offset;         // bytes of the message received so far
    logic [63:0]       va;             // WRITE: RETH
    logic [31:0]       rkey;
    logic [31:0]       dma_len;
    logic              silent;         // a NAK for this gap has been owed already
    owed_e             owed;
    logic [7:0]        syndrome;       // of the NAK owed
    status_e           status;         // status of the next completion of a QP that has failed
    reads_t            reads;
  } responder_context_t;

  typedef enum logic [3:0] {
    ResponderOpen   = 4'd0,
    ResponderClose  = 4'd1,
    ResponderPost   = 4'd2,
    ResponderPacket = 4'd3,
    ResponderGrant  = 4'd4,
    ResponderFail   = 4'd5,  // the QP's other half has failed
    ResponderWalk   = 4'd6,
    ResponderRefuse = 4'd7,  // a packet that was accepted cannot be written
    ResponderSettle = 4'd8,  // all that came before the QP's next READ is in memory
    ResponderRead   = 4'd9,  // the QP may send a READ response
    ResponderReturn = 4'd10  // the host has performed an atomic
  } responder_kind_e;

  typedef enum logic [3:0] {
    ResponderNone         = 4'd0,
    ResponderAccepted     = 4'd1,
    ResponderDuplicate    = 4'd2,
    ResponderGap          = 4'd3,   // ahead of the expected PSN; a NAK is owed for it
    ResponderGapAgain     = 4'd4,   // ahead of the expected PSN, a NAK has been owed already
    ResponderNoBuffer     = 4'd5,   // RNR NAK
    ResponderInvalid      = 4'd6,   // NAK invalid request, the QP ends
    ResponderAccess       = 4'd7,   // NAK remote access, the QP ends
    ResponderTooLong      = 4'd8,   // longer than the buffer: NAK invalid request, the QP ends
    ResponderNotReady     = 4'd9,   // packet for a QP that is closed or in error
    ResponderNothingOwed  = 4'd10,  // GRANT or READ, and no answer is owed, or it has to wait
    ResponderRefusedFull  = 4'd11,  // POST, but the ring is full
    ResponderRefusedState = 4'd12,  // POST, but the QP is closed
    ResponderUnwritable   = 4'd13,  // REFUSE: NAK remote access or remote operational error, the QP ends
    ResponderIgnored      = 4'd15   // no such event, or the opcode is not a request
  } responder_note_e;

  // Received request packet, as far as the responder needs it, without the payload. 336 bits.
  typedef struct packed {
    logic [4:0]   operation;      // low bits of the opcode; the service is RC
    psn_t         psn;
    logic         ack_req;
    logic         solicited;
    logic [15:0]  payload_bytes;
    logic access;                 // va, rkey and dma_len name memory that may be used as the request does
    logic [63:0]  va;
    logic [31:0]  rkey;
    logic [31:0]  dma_len;
    logic [31:0]  imm;
    logic [63:0]  swap_add;
    logic [63:0]  compare;
  } arrival_t;

  // Packet that was accepted, and whose payload cannot be written. 49 bits.
  typedef struct packed {
    psn_t        psn;
    logic [23:0] msn;     // messages completed before it
    logic        remote;  // it is a WRITE; else it belongs to a receive buffer
  } refusal_t;

  // Destination of a packet's payload, or memory of an atomic. 112 bits.
  typedef struct packed {
    logic [63:0] va;
    logic [31:0] key;
    logic        remote;  // `key` is the peer's rkey, not the buffer's own key
    logic [14:0] bytes;
  } place_t;

  // Answer to build. 128 bits.
  typedef struct packed {
    logic [7:0]  opcode;
    psn_t        psn;
    logic [7:0]  syndrome;
    logic [23:0] msn;
    logic [63:0] original;  // AtomicAckETH
  } response_t;

  // What an atomic found in memory. 68 bits.
  typedef struct packed {
    logic [3:0]  index;     // of the atomic, modulo 16
    logic [63:0] original;
  } original_t;

  // READ response, or answer of an atomic, to build. 189 bits.
  typedef struct packed {
    logic [7:0]  opcode;
    psn_t        psn;
    logic [23:0] msn;     // AETH; the syndrome is that of an ACK
    logic        again;   // was built before
    logic [63:0] va;      // of the payload; of an atomic: its original
    logic [31:0] key;     // the peer's rkey
    logic [15:0] bytes;   // of payload; 0 to 4,096
  } read_response_t;

  // PSNs of a READ that is asked again: its responses are built again from the first one on. 48 bits.
  typedef struct packed {
    psn_t first_psn;
    psn_t end_psn;    // behind the last one
  } reread_t;

  localparam logic [7:0] SyndromeAck = 8'h1F;  // unlimited credits
  localparam logic [7:0] SyndromeRnr = 8'h20;  // the low five bits are the timer
  localparam logic [7:0] SyndromeSequence = 8'h60;
  localparam logic [7:0] SyndromeInvalid = 8'h61;
  localparam logic [7:0] SyndromeAccess = 8'h62;
  localparam logic [7:0] SyndromeOperate = 8'h63;

endpackage
