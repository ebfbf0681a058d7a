// Types inside the go-back-N units: contents of the rings, and what the first half of a step passes to the second. No
// interface uses them.
package gbn_step_pkg;
  import roce_pkg::*, time_pkg::*, gbn_pkg::*;

  // Work request in its ring: with the end of its PSNs, without the fields that only atomics use. 351 bits.
  typedef struct packed {
    work_e       kind;
    logic        signaled;
    logic        solicited;
    logic        fence;
    logic [31:0] length;
    logic [63:0] local_va;
    logic [31:0] local_key;
    logic [63:0] remote_va;
    logic [31:0] remote_key;
    logic [31:0] imm;
    logic [63:0] id;
    psn_t        end_psn;     // behind its last one
  } posted_t;

  // What an atomic does, kept beside its work request. 128 bits.
  typedef struct packed {
    logic [63:0] swap_add;
    logic [63:0] compare;
  } operands_t;

  // READ or atomic that was asked for, as its responses are compared with it. 38 bits.
  typedef struct packed {
    logic        atomic;
    psn_t        end_psn;  // behind its last one
    logic [12:0] length;   // low bits of its bytes, which give those of the last response
  } awaited_t;

  // The same of the one behind the oldest. 62 bits.
  typedef struct packed {
    psn_t     first_psn;
    awaited_t awaited;
  } following_t;

  // Where its payload goes. 96 bits.
  typedef struct packed {
    logic [63:0] va;
    logic [31:0] key;
  } destination_t;

  // What the requester keeps of a QP beside its context: copies out of the rings, which it has read only when a step
  // is half over. 86 bits.
  typedef struct packed {
    psn_t     tail_psn;     // first PSN of the message in slot `tail`; if there is none, of the next work request
    psn_t     current_psn;  // the same of slot `current`
    awaited_t awaited;      // the oldest READ that is not answered; undefined if there is none
  } requester_kept_t;

  // Facts that follow from a requester's event, context and what is kept beside it, without the ring. Fields of other
  // kinds of event are undefined, but `una_psn` has a value in all steps.
  typedef struct packed {
    logic        due;             // a timer runs and its deadline has come
    logic        empty;           // ring: tail = head
    logic        full;
    // POST
    logic        work_bad;        // illegal kind or length
    logic [21:0] packets_less;    // packets − 1
    // SEND
    logic        sendable;
    logic        first;           // the packet is its message's first
    logic        window_last;     // the window is full after this packet
    logic        asked_long_ago;  // `ack_every` is reached: ask for an ACK
    logic        again;
    // SEND, RESPONSE
    logic [31:0] offset;          // of the packet in its message, or of the response in its READ: bytes
    // ACK, RESPONSE: class of the syndrome, all 0 if reserved
    logic        ack;
    logic        rnr;
    logic        sequence_nak;
    logic        error;
    // ACK, RESPONSE: position of its PSN, and the new `una_psn`
    logic        behind;          // behind `low`, a RESPONSE behind `una_psn`
    logic        unsent;
    logic        missing;         // it comes behind a response that has not come
    logic        begun;           // all before the oldest READ that is not answered is acknowledged
    logic        responds;        // RESPONSE: the one that comes next, right or wrong
    logic        wrong;           // one that cannot be
    logic        ends;            // at the READ's last PSN
    logic        acknowledges;    // `una_psn` advances
    psn_t        una_psn;         // new `una_psn`; the old one if it does not advance
    logic        next_behind;     // the named PSN is behind the new `una_psn`
    logic        asked_behind;
    logic        asked_ahead;     // a packet that asked is still not acknowledged
    logic        ack_timer_on;    // the ACK timer is not off
    cycle_t      ack_deadline;    // deadline of an ACK timer that starts now
    cycle_t      rnr_deadline;
    // UNREAD
    logic        unwanted;        // the packet is acknowledged, or no longer to be sent
    // TIMER
    logic        held;            // the ACK timer is held: its packet has been away for less than T
    cycle_t      held_deadline;   // end of the hold
  } requester_facts_t;

  // What is answered with data
  typedef enum logic [1:0] {
    AskedRead        = 2'd0,
    AskedCompareSwap = 2'd1,
    AskedFetchAdd    = 2'd2
  } asked_e;

  // Facts that follow from a responder's event and context without the receive buffer
  typedef struct packed {
    logic         empty;
    logic         full;
    // PACKET
    logic         request;       // the opcode is a request
    logic         gap;           // ahead of the expected PSN
    logic         duplicate;     // behind, and does not start a message over
    logic         start_over;    // go-back-0: the first packet of the message under way
    logic         invalid;       // wrong order, payload length or DMA length
    logic access;                // the memory may not be written
    logic         length_bad;    // WRITE: the bytes of its packets do not match its DMA length
    logic         needs_buffer;
    logic         starts;        // First or Only
    logic         ends;          // Last or Only
    logic         send;          // else WRITE
    logic         has_imm;
    logic         completes;     // ends the message and completes a buffer
    logic [31:0]  offset;        // of the packet's payload in the message
    logic [32:0]  bytes;         // bytes of the message including this packet
    logic [63:0]  va;            // WRITE, READ, atomic: of the RETH or AtomicETH, from this packet or kept
    logic [31:0]  rkey;
    logic [31:0]  dma_len;
    logic         read;          // READ request or atomic
    asked_e       asked;         // which of them
    logic [24:0]  responses;     // READ: PSNs that it takes
    // READs
    logic         unanswered;    // some are to be answered, at once or later
    logic         answerable;    // one can be answered now: that in `slot`
    logic         rereads;       // it was answered to its end before
    logic [3:0]   slot;          // of the READ to be answered next
  } responder_facts_t;

  // READ or atomic, in the form in which two are compared: nothing is to be added to what comes out of a RAM. One that
  // begins inside of another has its origin. 160 bits.
  typedef struct packed {
    asked_e      asked;
    psn_t        psn;
    logic [63:0] origin;   // the address that PSN 0 would have
    logic [31:0] rkey;
    logic [24:0] end_psn;  // behind its last response, not modulo 2^24
    logic [12:0] rest;     // bytes of its last response, 4,096 if these are all that the MTU allows
  } compared_read_t;

  // READ or atomic that was accepted, as it is kept for duplicates. 184 bits.
  typedef struct packed {
    compared_read_t read;
    logic [23:0]    msn;
  } kept_read_t;

  // What is left to be sent of a READ's responses. Of an atomic it stays: its one answer. 122 bits.
  typedef struct packed {
    psn_t        psn;    // of the next one
    logic [63:0] va;     // of an atomic: its original
    logic [31:0] left;   // bytes
    logic        last;   // the next one is the last; when that is sent, nothing here has a meaning
    logic        begun;  // the next one is not the first since it was asked
  } read_cursor_t;

  // READ request or atomic, as a search for what it repeats needs it. 288 bits.
  typedef struct packed {
    compared_read_t read;
    logic [31:0]    wrapped;  // upper half of its origin if PSNs have wrapped since the beginning of what it repeats
    logic [63:0]    va;
    logic [31:0]    length;
  } asked_read_t;

  // Path MTU is 1 << mtu_bits: 8 to 12
  function automatic logic [3:0] mtu_bits(input logic [2:0] mtu);
    return mtu > 3'd4 ? 4'd12 : 4'd8 + 4'(mtu);
  endfunction

  // Address so many bytes further. Its upper half is chosen and not added up, because carries through 64 bits take long.
  function automatic logic [63:0] va_after(input logic [63:0] va, input logic [31:0] bytes);
    logic [32:0] low = 33'(va[31:0]) + 33'(bytes);
    logic [31:0] next = va[63:32] + 1'b1;
    return {low[32] ? next : va[63:32], low[31:0]};
  endfunction

  // PSNs that a READ of so many bytes takes: one for each response
  function automatic logic [24:0] read_responses(input logic [31:0] length, input logic [2:0] mtu);
    logic [ 3:0] bits = mtu_bits(mtu);
    logic [32:0] rounded = 33'(length) + (33'd1 << bits) - 33'd1;
    return length == '0 ? 25'd1 : 25'(rounded >> bits);
  endfunction

  // Bytes of a READ's last response, 4,096 if these are all that the MTU allows
  function automatic logic [12:0] read_rest(input logic [31:0] length, input logic [2:0] mtu);
    logic [11:0] rest = length[11:0] & ((12'd1 << mtu_bits(mtu)) - 12'd1);
    return {length != '0 && rest == '0, rest};
  endfunction

  // The address that PSN 0 would have, if this PSN has this one
  function automatic logic [63:0] read_origin(input logic [63:0] va, input logic [24:0] psn, input logic [2:0] mtu);
    return va - (64'(psn) << mtu_bits(mtu));
  endfunction

  // Responses are to be sent, at once or later
  function automatic logic reads_wait(input reads_t reads);
    return reads.again != '0 || reads.done != reads.head;
  endfunction

  // The host has what the oldest READ that was never answered to its end has to wait for.
  function automatic logic reads_performed(input reads_t reads);
    return !reads.performing[reads.done[3:0]];
  endfunction

  // A response can be sent now. What was asked again was settled before. In a QP that has failed an atomic that was
  // refused has its turn too: it leaves.
  function automatic logic reads_answerable(input reads_t reads, input logic failed);
    return reads.again != '0 ||
        (reads.done != reads.head && reads.done != reads.settled && (failed || reads_performed(reads)));
  endfunction

  // Number of packets that may be unacknowledged
  function automatic logic [22:0] window_packets(input logic [22:0] window);
    return (window == '0 || window > 23'(MessagePacketsMax)) ? 23'(MessagePacketsMax) : window;
  endfunction

  // The QP may send a packet, unless its work has to wait for READs. PSNs of responses are not its packets.
  function automatic logic requester_sendable(input requester_context_t c);
    return c.state == QpReady && c.current != c.head && !c.rnr_wait && !c.asking.blocked && !c.unread &&
        c.next_psn - c.una_psn - c.asking.psns < psn_t'(window_packets(c.configuration.window));
  endfunction

  // Packets before this PSN are not wanted on the wire any more. The request of a READ is, until all of it is answered: if
  // it is asked for again, responses of the answer before may come in the meantime, and not all of them.
  function automatic psn_t requester_oldest_wanted(input requester_context_t c);
    return (c.asking.tail != c.asking.head && psn_behind(c.asking.first_psn, c.una_psn)) ? c.asking.first_psn :
        c.una_psn;
  endfunction

  // Packets from this PSN on are not wanted on the wire: not granted, or from one on whose payload cannot be read
  function automatic psn_t requester_end_wanted(input requester_context_t c);
    return c.unread ? c.unread_psn : c.next_psn;
  endfunction

endpackage
