// Ethernet and IP: constants and header layouts as in IEEE 802.3, 802.1Q, RFC 791, RFC 8200 and RFC 768.
//
// A packed struct has its fields in wire order, so a header cut from a stream in network order is the struct.
package eth_pkg;

  // EtherTypes (IEEE registration authority)
  localparam logic [15:0] EtherTypeIpv4 = 16'h0800;
  localparam logic [15:0] EtherTypeCTag = 16'h8100;  // 802.1Q customer tag
  localparam logic [15:0] EtherTypeIpv6 = 16'h86DD;
  localparam logic [15:0] EtherTypeMacControl = 16'h8808;  // 802.3 clause 31
  localparam logic [15:0] EtherTypeSTag = 16'h88A8;  // 802.1Q service tag
  localparam logic [15:0] EtherTypeRoceV1 = 16'h8915;  // IBTA A16

  // Header sizes in bytes
  localparam int unsigned EthHeaderBytes = 14;
  localparam int unsigned TagBytes = 4;
  localparam int unsigned Ipv4HeaderBytes = 20;  // without options
  localparam int unsigned Ipv6HeaderBytes = 40;
  localparam int unsigned UdpHeaderBytes = 8;
  localparam int unsigned MinFrameBytes = 60;  // 802.3 minFrameSize without FCS

  // MAC control (802.3 annex 31B and 31D)
  localparam logic [47:0] ControlAddress = 48'h0180_C200_0001;
  localparam logic [15:0] ControlPause = 16'h0001;
  localparam logic [15:0] ControlPfc = 16'h0101;

  localparam logic [7:0] IpProtocolUdp = 8'd17;
  localparam logic [7:0] IpProtocolFragment = 8'd44;  // IPv6 fragment header, RFC 8200 4.5

  typedef struct packed {
    logic [2:0]  pcp;
    logic        dei;
    logic [11:0] vid;
  } tci_t;

  // Ethernet header with up to two tags. 146 bits.
  typedef struct packed {
    logic [47:0] dst;
    logic [47:0] src;
    logic [1:0]  tags;        // 0, 1 or 2 tags reported
    tci_t        outer;
    tci_t        inner;
    logic [15:0] ether_type;  // after the tags
  } eth_head_t;

  // Network header in one form for IPv4, IPv6 and GRH. 350 bits. IPv4 addresses are in the low 32 bits; the others
  // are zero.
  typedef enum logic [1:0] {
    IpNone = 2'd0,
    IpV4   = 2'd1,
    IpV6   = 2'd2,
    IpGrh  = 2'd3
  } ip_kind_e;

  typedef struct packed {
    ip_kind_e     kind;
    logic [7:0]   traffic_class;  // IPv4 TOS: DSCP 6, ECN 2
    logic [19:0]  flow_label;     // IPv6, GRH
    logic [15:0]  id;             // IPv4
    logic [2:0]   flags;          // IPv4: reserved, DF, MF
    logic [12:0]  offset;         // IPv4 fragment offset
    logic [7:0]   hop_limit;      // IPv4 TTL
    logic [7:0]   next_header;    // IPv4 protocol
    logic [15:0]  length;         // as on the wire: IPv4 total length, IPv6 and GRH payload length
    logic [127:0] src;
    logic [127:0] dst;
  } ip_head_t;

  typedef struct packed {
    logic [15:0] src_port;
    logic [15:0] dst_port;
    logic [15:0] length;
    logic [15:0] checksum;
  } udp_t;

  // MAC control: class-enable vector and eight timers of PFC, with class 7 first in the struct so that timer[c] is
  // class c. PAUSE has its single timer in timer[0]. 160 bits.
  typedef struct packed {
    logic [15:0]      opcode;
    logic [15:0]      class_enable;
    logic [7:0][15:0] timer;         // quanta of 512 bit times
  } control_t;

endpackage
