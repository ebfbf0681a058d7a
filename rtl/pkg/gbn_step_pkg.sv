// Inside the go-back-N units: what lies in the rings, and what passes from the first half of a step to the second. No interface has these types.
package gbn_step_pkg;
  import roce_pkg::*, time_pkg::*, gbn_pkg::*;

  // A work request as it lies in its ring: without what only atomics have, with its PSNs. 374 bits.
  typedef struct packed {
    work_e       kind;
    logic        signaled;
    logic        solicited;
    logic [31:0] length;
    logic [63:0] local_va;
    logic [31:0] local_key;
    logic [63:0] remote_va;
    logic [31:0] remote_key;
    logic [31:0] imm;
    logic [63:0] id;
    psn_t        first_psn;
    psn_t        last_psn;
  } posted_t;

  // What a requester's event and context say without the ring. Fields of other kinds than the event's hold anything.
  typedef struct packed {
    logic        due;             // a timer runs and its deadline has come
    logic        empty;           // ring: tail = head
    logic        full;
    // POST
    logic        work_bad;        // kind or length
    logic [21:0] packets_less;    // packets − 1
    // SEND
    logic        sendable;
    logic        window_last;     // the window is full after it
    logic        asked_long_ago;  // ack_every says: ask
    logic        again;
    // ACK: the syndrome's class, none of them if reserved
    logic        ack;
    logic        rnr;
    logic        sequence_nak;
    logic        error;
    // ACK: where its PSN is, and where `una_psn` goes
    logic        behind_una;
    logic        unsent;
    logic        progress;        // `una_psn` moves
    psn_t        una_psn;         // to here
    logic        next_behind;     // and passes these
    logic        asked_behind;
    logic        asked_ahead;     // something that asked is still not acknowledged
    logic        ack_timer_on;    // the ACK timeout is not switched off
    cycle_t      ack_deadline;    // of timers that start now
    cycle_t      rnr_deadline;
    // TIMER
    logic        held;            // what the ACK timer is for has not been away for T
    cycle_t      held_deadline;   // it has then
  } requester_facts_t;

  // What a responder's event and context say without the buffer.
  typedef struct packed {
    logic         empty;
    logic         full;
    // PACKET
    logic         request;       // the operation is one of a request
    logic         gap;           // ahead of the expected PSN
    logic         duplicate;     // behind, and no message starts over
    logic         start_over;    // go-back-0: the first packet of the message under way
    logic         invalid;       // order, payload or DMA length
    logic access;                // memory that must not be written
    logic         length_bad;    // of a WRITE: its packets do not make its DMA length
    logic         needs_buffer;
    logic         starts;        // First or Only
    logic         ends;          // Last or Only
    logic         send;          // else WRITE
    logic         has_imm;
    logic         completes;     // ends, and takes a buffer with it
    logic [31:0]  offset;        // of its payload in the message
    logic [32:0]  bytes;         // of the message with it
    logic [63:0]  va;            // WRITE: what RETH says, of this packet or kept
    logic [31:0]  rkey;
    logic [31:0]  dma_len;
  } responder_facts_t;

  // Path MTU is 1 << this: 8 to 12.
  function automatic logic [3:0] mtu_bits(input logic [2:0] mtu);
    return mtu > 3'd4 ? 4'd12 : 4'd8 + 4'(mtu);
  endfunction

  // Packets that may be unacknowledged.
  function automatic logic [22:0] window_packets(input logic [22:0] window);
    return (window == '0 || window > 23'(MessagePacketsMax)) ? 23'(MessagePacketsMax) : window;
  endfunction

  // A packet of the QP may be sent.
  function automatic logic requester_sendable(input requester_context_t c);
    return c.state == QpReady && c.current != c.head && !c.rnr_wait &&
        c.next_psn - c.una_psn < psn_t'(window_packets(c.configuration.window));
  endfunction

endpackage
