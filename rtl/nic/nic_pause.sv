// Pause of the NIC: obeys the pauses of its peer, and pauses the peer by the depth of the receive buffer. The watchdog
// silences a NIC that pauses without end. rtl/pfc/README.md is the contract of the units.
//
// Timing: `event_o` depends on registers only, `idle_o` on the inputs of the same cycle; all other outputs are those of
// pfc_rx and pfc_tx.
module nic_pause
  import eth_pkg::*, pfc_pkg::*, time_pkg::*, nic_registers_pkg::*;
#(
    parameter int unsigned QuantumNum = 5,
    parameter int unsigned QuantumDen = 2
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input nic_settings_t settings_i,
    input logic          rearm_i,

    // A link that is down ends the pauses of the peer, and the peer forgets what it was told
    input logic link_down_i,

    // A pause frame for this port
    input logic     frame_valid_i,
    input logic     frame_pfc_i,
    input control_t frame_i,

    input logic [7:0][23:0] depth_i,    // of the receive buffer, by class
    input logic             progress_i, // a request leaves the receive buffer

    output logic     pfc_valid_o,
    output control_t pfc_o,
    input  logic     pfc_ready_i,

    output logic   [         7:0] paused_o,  // classes that may not send
    output logic   [Counters-1:0] event_o,
    output logic                  idle_o,
    output cycle_t                wake_o
);

  logic clk_pause;
  pfc_rx_event_t rx_event;
  logic rx_idle, tx_idle, watchdog_idle;
  logic silence, silence_q, bark;
  logic [7:0] xoff;
  cycle_t rx_wake, tx_wake, watchdog_wake;

  pfc_rx #(
      .QuantumNum(QuantumNum),
      .QuantumDen(QuantumDen)
  ) u_pfc_rx (
      .clk_i         (clk_pause),
      .rst_i,
      .now_i,
      .link_down_i,
      .frame_valid_i,
      .frame_pfc_i,
      .control_i     (frame_i),
      .pfc_classes_i (settings_i.pfc_classes),
      .pause_enable_i(settings_i.pause_obeyed),
      .paused_o,
      .event_o       (rx_event),
      .idle_o        (rx_idle),
      .wake_o        (rx_wake)
  );

  pfc_tx u_pfc_tx (
      .clk_i        (clk_pause),
      .rst_i,
      .now_i,
      .depth_i,
      .xoff_i       (settings_i.pfc_xoff),
      .xon_i        (settings_i.pfc_xon),
      .classes_i    (settings_i.pfc_classes),
      .quanta_i     (settings_i.pfc_quanta),
      .refresh_i    (settings_i.pfc_refresh),
      .silence_i    (silence || link_down_i),
      .frame_valid_o(pfc_valid_o),
      .frame_o      (pfc_o),
      .frame_ready_i(pfc_ready_i),
      .xoff_o       (xoff),
      .idle_o       (tx_idle),
      .wake_o       (tx_wake)
  );

  pause_watchdog u_watchdog (
      .clk_i       (clk_pause),
      .rst_i,
      .now_i,
      .pausing_i   (xoff != '0),
      .progress_i,
      .bark_i      ({settings_i.bark_high, settings_i.bark_low}),
      .bite_i      ({settings_i.bite_high, settings_i.bite_low}),
      .rearm_i,
      .auto_rearm_i(settings_i.auto_rearm),
      .bark_o      (bark),
      .silence_o   (silence),
      .idle_o      (watchdog_idle),
      .wake_o      (watchdog_wake)
  );

  always_ff @(posedge clk_pause) begin
    if (rst_i) silence_q <= 1'b0;
    else silence_q <= silence;
  end

  always_comb begin
    event_o                    = '0;
    event_o[CountPfcIn]        = rx_event.pfc;
    event_o[CountPauseIn]      = rx_event.pause;
    event_o[CountPauseIgnored] = rx_event.ignored;
    event_o[CountBarks]        = bark;
    event_o[CountBites]        = silence && !silence_q;
  end

  assign idle_o = rx_idle && tx_idle && watchdog_idle && silence == silence_q;

  logic unused_wake_valid;

  earliest #(
      .Count(3)
  ) u_wake (
      .valid_i('1),
      .at_i   ({watchdog_wake, tx_wake, rx_wake}),
      .valid_o(unused_wake_valid),
      .at_o   (wake_o)
  );

  clock_gate u_clk_pause (
      .clk_i,
      .enable_i(rst_i || !idle_o),
      .clk_o   (clk_pause)
  );

  logic unused_settings;
  assign unused_settings = ^settings_i;

endmodule
