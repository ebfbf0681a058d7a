// Types passed between the stages of the parser
package parser_pkg;
  import eth_pkg::*, roce_pkg::*;

  // Result of the Ethernet header: its fields, and what the EtherType announces
  typedef struct packed {
    logic      whole;    // the 14 bytes are in the frame: `eth` is valid
    eth_head_t eth;
    ip_kind_e  ip_kind;  // the network header that follows, if any
    logic      control;  // MAC control follows
    reason_e   reason;   // parsing ends here unless ReasonNone
  } l2_head_t;

  // Result of MAC control
  typedef struct packed {
    logic     whole;    // `fields` is valid
    control_t fields;
    verdict_e verdict;
    reason_e  reason;
  } control_head_t;

  // Result of the network header or of MAC control
  typedef struct packed {
    logic          has_eth;
    eth_head_t     eth;
    control_head_t control;        // all zero unless MAC control
    logic          has_ip;
    ip_head_t      ip;
    logic [15:0]   payload_bytes;  // length announced for what follows
    logic          checksum_bad;   // IPv4: malformed, but parsing continues
    reason_e       reason;         // parsing ends here unless ReasonNone
  } l3_head_t;

  // Known with the last beat of a frame
  typedef struct packed {
    logic [15:0] frame_bytes;
    logic        icrc_ok;
    logic        cut;          // the frame is shorter than the network header announces
  } tail_t;

endpackage
