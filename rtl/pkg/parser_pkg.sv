// What the stages of the parser hand to each other.
package parser_pkg;
  import eth_pkg::*, roce_pkg::*;

  // Out of the Ethernet header: its fields and what the EtherType announces.
  typedef struct packed {
    logic      whole;    // the 14 bytes are there: `eth` counts
    eth_head_t eth;
    ip_kind_e  ip_kind;  // the network header that follows, if any
    logic      control;  // MAC control follows
    reason_e   reason;   // ends the walk here
  } l2_head_t;

  // Out of MAC control.
  typedef struct packed {
    logic     whole;    // `fields` counts
    control_t fields;
    verdict_e verdict;
    reason_e  reason;
  } control_head_t;

  // Out of the network header, or out of MAC control.
  typedef struct packed {
    logic          has_eth;
    eth_head_t     eth;
    control_head_t control;        // all zero unless MAC control
    logic          has_ip;
    ip_head_t      ip;
    logic [15:0]   payload_bytes;  // announced for what follows
    logic          checksum_bad;   // IPv4: malformed, but the walk goes on
    reason_e       reason;         // ends the walk here
  } l3_head_t;

  // Known with a frame's last beat.
  typedef struct packed {
    logic [15:0] frame_bytes;
    logic        icrc_ok;
    logic        cut;          // the frame ended before the network header's length
  } tail_t;

endpackage
