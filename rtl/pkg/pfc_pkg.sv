// Types at the interfaces of the pause units. rtl/pfc/README.md is their contract.
package pfc_pkg;

  // Pulses of pfc_rx for counters: how a frame was treated
  typedef struct packed {
    logic pfc;      // PFC, obeyed in at least one class
    logic pause;    // PAUSE, obeyed
    logic ignored;  // frame of which nothing was obeyed
  } pfc_rx_event_t;

endpackage
