// The NIC: a QP's path, packets on their way through it. rtl/nic/README.md is the contract.
package nic_pkg;
  import eth_pkg::*, gbn_pkg::*;

  typedef logic [2:0] class_t;  // of PFC

  localparam int unsigned PayloadBytesMax = 4096;  // the largest path MTU (IBTA volume 1, 9.7.4.1)
  typedef logic [12:0] payload_bytes_t;  // of a packet: 0 to PayloadBytesMax
  typedef logic [7:0] beats_t;  // of a packet's payload: at most PayloadBytesMax / 32

  // How a QP's packets travel. IPv4 addresses stand in the low 32 bits.
  typedef struct packed {
    logic [47:0]  dst_mac;
    logic [47:0]  src_mac;
    logic [1:0]   tags;       // 0 to 2
    tci_t         outer;      // the only one of one
    tci_t         inner;
    logic         ipv6;
    logic [127:0] own_ip;
    logic [127:0] peer_ip;
    logic [5:0]   dscp;
    logic [7:0]   hop_limit;
    logic [15:0]  udp_port;   // source
    logic [23:0]  peer_qpn;
    logic [15:0]  pkey;
  } path_t;

  // What a packet has to have to be of a QP.
  typedef struct packed {
    logic         ipv6;
    logic [127:0] peer_ip;
    logic [14:0]  pkey;
  } peer_t;

  // Memory that may be written.
  typedef struct packed {
    logic        valid;
    logic        local_write;
    logic        remote_write;
    logic [7:0]  tag;
    logic [63:0] base;
    logic [47:0] length;
  } region_t;

  // What becomes of a frame.
  typedef enum logic [3:0] {
    FateControl   = 4'd0,   // PFC, PAUSE: pfc_rx has it
    FateRequest   = 4'd1,
    FateAnswer    = 4'd2,
    FateCnp       = 4'd3,
    FateNotRoce   = 4'd4,   // this one and those below are dropped
    FateMalformed = 4'd5,
    FateRoceV1    = 4'd6,
    FateService   = 4'd7,
    FateIcrc      = 4'd8,
    FateQp        = 4'd9,
    FateResponse  = 4'd10,
    FatePayload   = 4'd11   // more than PayloadBytesMax
  } fate_e;

  // A frame that has been judged, but for its QP.
  typedef struct packed {
    class_t      class_of;
    logic        ce;
    logic [15:0] frame_bytes;
    logic [7:0]  syndrome;     // answers
    arrival_t    arrival;
  } judged_t;

  // Header of a request in the receive buffer, but for its QP.
  typedef struct packed {
    class_t      class_of;
    logic [15:0] frame_bytes;
    arrival_t    arrival;
  } waiting_t;

  // What the responder's step leaves to do: payload to be written or thrown away, a completion to be told after it. But for the QP.
  typedef struct packed {
    logic           packet;            // a request leaves the buffer
    class_t         class_of;
    logic [15:0]    frame_bytes;
    payload_bytes_t payload_bytes;
    logic           write;             // its payload goes to `place`
    place_t         place;
    logic           completion_valid;
    completion_t    completion;
  } work_off_t;

  // A DMA read.
  typedef struct packed {
    logic [63:0] va;
    logic [31:0] key;
    logic [15:0] bytes;
  } fetch_t;

  // Which class a frame is of.
  typedef struct packed {
    logic             by_pcp;  // of the outer tag, else by DSCP
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
