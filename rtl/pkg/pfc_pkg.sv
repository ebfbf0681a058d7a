// What the pause units hand to their neighbours. rtl/pfc/README.md is their contract.
package pfc_pkg;

  // Pulses of pfc_rx, for counters: what became of a frame.
  typedef struct packed {
    logic pfc;      // PFC, obeyed in at least one class
    logic pause;    // PAUSE, obeyed
    logic ignored;  // nothing of it was obeyed
  } pfc_rx_event_t;

endpackage
