// Types of the NIC: path of a QP, and records of packets on their way through it. rtl/nic/README.md is the contract.
package nic_pkg;
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*;

  typedef logic [2:0] class_t;  // of PFC

  localparam int unsigned PayloadBytesMax = 4096;  // the largest path MTU (IBTA volume 1, 9.7.4.1.6)
  localparam logic [15:0] PayloadTooLong = 16'h8000;  // in place of more; what remains of it is 0 bytes
  typedef logic [12:0] payload_bytes_t;  // payload of a packet: 0 to PayloadBytesMax
  typedef logic [12:0] wire_bytes_t;  // a packet on the wire, with preamble, FCS and gap
  typedef logic [15:0] pd_t;  // protection domain
  typedef logic [9:0] class_cost_t;  // of a byte of a class
  typedef logic [7:0] beats_t;  // beats of a packet's payload: at most PayloadBytesMax / 32

  localparam int unsigned Buffers = 8;  // parts of the receive buffer
  typedef logic [2:0] buffer_t;
  typedef logic [15:0] cells_t;  // size of a part, in cells of 64 bytes

  localparam int unsigned AtomicsOut = 64;  // atomics at the host
  localparam int unsigned AnswersIn = 64;  // answers of peers that wait for the requester

  // Path of a QP: the header fields of its packets. IPv4 addresses are in the low 32 bits.
  typedef struct packed {
    logic [47:0]  dst_mac;
    logic [47:0]  src_mac;
    logic [1:0]   tags;         // 0 to 2
    tci_t         outer;        // also the tag if there is only one
    tci_t         inner;
    logic         ipv6;
    logic [127:0] own_ip;
    logic [127:0] peer_ip;
    logic [5:0]   dscp;
    logic [5:0]   answer_dscp;
    logic [2:0]   answer_pcp;   // in the outer tag
    logic [7:0]   hop_limit;
    logic [15:0]  udp_port;     // source port
    logic [23:0]  peer_qpn;
    logic [15:0]  pkey;
  } path_t;

  // VLANs of a frame by its tags, the outer one first. 0 is no VLAN: without a tag, or with a tag that has only a
  // priority (IEEE 802.1Q, 9.6).
  typedef logic [1:0][11:0] vlans_t;

  function automatic vlans_t vlans_of(input logic [1:0] tags, input logic [11:0] outer, input logic [11:0] inner);
    return {tags == '0 ? 12'd0 : outer, tags[1] ? inner : 12'd0};
  endfunction

  // Fields that a received packet must have to belong to a QP
  typedef struct packed {
    logic         ipv6;
    logic [127:0] own_ip;
    logic [127:0] peer_ip;
    vlans_t       vlans;
    logic [15:0]  pkey;
  } peer_t;

  // What is to be done with memory
  typedef enum logic [2:0] {
    UseLocalWrite   = 3'd0,  // receive buffer, data of a READ
    UseRemoteWrite  = 3'd1,  // WRITE of a peer
    UseRemoteRead   = 3'd2,  // READ of a peer
    UseRemoteAtomic = 3'd3,  // atomic of a peer
    UseLocalRead    = 3'd4   // payload of a SEND or WRITE: every region permits it (IBTA volume 1, 10.6.3.1)
  } use_e;

  // Memory region, and what it may be used for
  typedef struct packed {
    logic        valid;
    logic        local_write;
    logic        remote_write;
    logic        remote_read;
    logic        remote_atomic;
    pd_t         pd;
    logic [7:0]  tag;
    logic [63:0] base;
    logic [47:0] length;
  } region_t;

  // Numbers of page table entries: all tables of a host, one behind the other
  typedef logic [39:0] entry_number_t;

  // Page table of a region: an entry for each page that the region touches
  typedef struct packed {
    logic          translated;  // else its translations are on chip
    logic [3:0]    page;        // size of its pages: 4 KiB, doubled so often, up to 9 times
    entry_number_t first;       // number of its first entry
  } table_t;

  // Verdict on a received frame
  typedef enum logic [3:0] {
    FateControl   = 4'd0,   // PFC, PAUSE: to pfc_rx
    FateRequest   = 4'd1,
    FateAnswer    = 4'd2,
    FateCnp       = 4'd3,
    FateNotRoce   = 4'd4,   // from here on: dropped
    FateMalformed = 4'd5,
    FateRoceV1    = 4'd6,
    FateService   = 4'd7,
    FateIcrc      = 4'd8,
    FateQp        = 4'd9,
    FateResponse  = 4'd10,  // READ response, answer of an atomic: dropped if nothing asked for it
    FatePkey      = 4'd11,  // P_Keys that do not match
    FateAddress   = 4'd12,  // to another MAC address
    FateVlan      = 4'd13   // of another VLAN than the QP's
  } fate_e;

  // Frame after classification, without its QP
  typedef struct packed {
    class_t      class_of;
    logic        ce;
    logic [15:0] frame_bytes;
    logic [7:0]  syndrome;     // answers and responses
    arrival_t    arrival;
  } judged_t;

  // Header of a packet in the receive buffer, without its QP
  typedef struct packed {
    logic        returned;     // to the requester: a response or, of a QP that waits for some, an answer
    class_t      class_of;
    buffer_t     part;         // of the receive buffer
    logic [15:0] frame_bytes;
    logic [15:0] beat;         // address of the first beat of its payload
    logic [7:0]  syndrome;     // of what is returned
    arrival_t    arrival;
  } waiting_t;

  // Response or answer of a peer, for the requester, without its QP
  typedef struct packed {
    psn_t       psn;
    logic [7:0] syndrome;
    logic       answer;    // else a response
    buffer_t    part;      // of the receive buffer
    returned_t  returned;
  } reaction_t;

  // What became of one: where its payload goes. Without its QP.
  typedef struct packed {
    logic   write;
    place_t place;
  } landing_t;

  // What an atomic does, and its index at the responder, modulo 16: in place of a completion, which it does not have.
  typedef struct packed {
    logic [$bits(completion_t)-134:0] unused;
    logic [3:0]                       index;
    logic                             add;       // fetch and add; else compare and swap
    logic [63:0]                      swap_add;
    logic [63:0]                      compare;
  } atomic_t;

  // Work that a step of the responder leaves to be done: payload to be written or discarded, then a completion; or an
  // atomic at `place`. Or a step of the requester, that of a response: payload. Without the QP.
  typedef struct packed {
    logic           packet;            // a packet leaves the receive buffer
    logic           returned;          // it was for the requester
    class_t         class_of;
    buffer_t        part;              // of the receive buffer
    logic [15:0]    frame_bytes;
    payload_bytes_t payload_bytes;
    logic [15:0]    beat;              // address of the first beat of the payload
    logic           write;             // the payload is written to `place`
    logic           reads;             // a READ or an atomic was accepted
    logic           atomic;            // an atomic: `completion` is an atomic_t
    logic           responds;          // no such work: `place` is what a READ response is made of
    place_t         place;
    logic           completion_valid;
    completion_t    completion;
  } work_off_t;

  // What the responder did for READs, in its order, without the QP: a READ event is over, or packets are withdrawn.
  typedef struct packed {
    logic           over;      // a READ event is over; else a withdrawal
    logic           all;       // it made a response; withdrawal: of all responses
    psn_t           end_psn;   // withdrawal: behind the READ that is asked again
    read_response_t response;  // withdrawal: its first PSN
  } reply_t;

  // All that a step of the responder, or a landing beside it, leaves to others, without the QPs
  typedef struct packed {
    logic      work_valid;      // of the work's QP; all else is of the step's
    work_off_t work;
    refusal_t  refusal;         // where the responder goes back to if the work is refused; `remote` is not known yet
    logic      unbars;          // REFUSE
    logic      tells;
    reply_t    reply;
    logic      granted;         // GRANT
    logic      answers;         // and there is no work
    logic      response_valid;
    response_t response;
  } left_t;

  // Steps that may wait in a ring of resolve_rings, one of several, when another event is taken
  localparam int unsigned RingMost = 40;

  // Who asks the translator: the rings of receive, one for each part of its buffer, and transmit behind them
  localparam int unsigned AskTransmit = Buffers;
  localparam int unsigned Askers = Buffers + 1;
  typedef logic [3:0] asker_t;

  // Page table entries of a packet's memory: the number of the first one, and how many there are, 0 to 2
  typedef struct packed {
    entry_number_t first;
    logic [1:0]    pages;
  } located_t;

  // Reads of page table entries that may be under way, and what an entry waits for
  localparam int unsigned EntryReads = 8;

  typedef struct packed {
    logic       waits;
    logic       gone;   // it does not, and names no page
    logic [2:0] read;
  } entry_wait_t;

  // DMA read
  typedef struct packed {
    logic [63:0] va;
    logic [31:0] key;
    logic [15:0] bytes;
  } fetch_t;

  // Maps from header fields to the class of a frame
  typedef struct packed {
    logic             by_pcp;  // 1: by the PCP of the outer tag, 0: by DSCP
    logic [7:0][3:0]  pcp;
    logic [63:0][3:0] dscp;
  } class_maps_t;

  function automatic class_t class_of_frame(input class_maps_t maps, input logic [1:0] tags, input logic [2:0] pcp,
                                            input logic [5:0] dscp);
    logic [3:0] by_pcp = maps.pcp[(tags=='0)?3'd0 : pcp];
    logic [3:0] by_dscp = maps.dscp[dscp];
    return class_t'(maps.by_pcp ? by_pcp : by_dscp);
  endfunction

endpackage
