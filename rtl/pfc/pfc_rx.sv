// Pause receiver: obeys priority flow control per class, and PAUSE for all classes. rtl/pfc/README.md is the
// contract.
//
// A timer consists of a flag and the last cycle in which it runs. `paused_o` and `event_o` reflect a frame of cycle n
// from n + 1 on. One frame per cycle is allowed. While the link is down no timer runs.
//
// Timing: `paused_o` depends on `pfc_classes_i` and `pause_enable_i` of the same cycle, `idle_o` on `link_down_i`,
// `frame_valid_i` and `now_i`;
// all other outputs are registers.
module pfc_rx
  import eth_pkg::*, time_pkg::*, pfc_pkg::*;
#(
    parameter int unsigned QuantumNum = 5,  // a quantum is QuantumNum / QuantumDen cycles
    parameter int unsigned QuantumDen = 2
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input logic     link_down_i,
    input logic     frame_valid_i,
    input logic     frame_pfc_i,
    input control_t control_i,

    input logic [7:0] pfc_classes_i,
    input logic       pause_enable_i,

    output logic          [7:0] paused_o,
    output pfc_rx_event_t       event_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  localparam int unsigned PauseTimer = 8;  // index of the PAUSE timer, after those of the eight classes

  logic [8:0] load, nonzero, ends;
  logic [8:0] runs_q;
  cycle_t [8:0] end_q;  // the last cycle in which the timer runs
  logic [8:0][23:0] new_cycles;  // duration of the new pause
  logic [7:0] class_nonzero;
  logic [7:0][23:0] class_cycles;
  pfc_rx_event_t event_q, event_d;

  for (genvar c = 0; c < 8; c++) begin : gen_class
    pause_duration #(
        .QuantumNum(QuantumNum),
        .QuantumDen(QuantumDen)
    ) u_duration (
        .quanta_i(control_i.timer[c]),
        .cycles_o(class_cycles[c])
    );
    assign class_nonzero[c] = control_i.timer[c] != '0;
  end
  // The time of PAUSE is in the place of PFC's timer of class 0.
  assign new_cycles = {class_cycles[0], class_cycles};
  assign nonzero = {class_nonzero[0], class_nonzero};

  always_comb begin
    load = '0;
    if (frame_valid_i && frame_pfc_i && !link_down_i) load[7:0] = control_i.class_enable[7:0] & pfc_classes_i;
    load[PauseTimer] = frame_valid_i && !frame_pfc_i && pause_enable_i && !link_down_i;

    event_d.pfc      = load[7:0] != '0;
    event_d.pause    = load[PauseTimer];
    event_d.ignored  = frame_valid_i && load == '0;
  end

  always_comb begin
    ends = '0;
    if (runs_q != '0) for (int unsigned i = 0; i < 9; i++) ends[i] = runs_q[i] && !earlier(now_i, end_q[i]);
  end

  for (genvar i = 0; i < 9; i++) begin : gen_timer
    always_ff @(posedge clk_i) begin
      if (rst_i || link_down_i) runs_q[i] <= 1'b0;
      else if (load[i]) runs_q[i] <= nonzero[i];
      else if (ends[i]) runs_q[i] <= 1'b0;
    end

    always_ff @(posedge clk_i) begin
      if (load[i]) end_q[i] <= now_i + cycle_t'(new_cycles[i]);
    end

    always_ff @(posedge clk_i) begin
      if (!rst_i)
        assert (!runs_q[i] || !earlier(end_q[i], now_i))
        else $error("pfc_rx: timer %0d missed its end", i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) event_q <= '0;
    else event_q <= event_d;
  end

  assign paused_o = (runs_q[7:0] & pfc_classes_i) | {8{runs_q[PauseTimer] && pause_enable_i}};
  assign event_o  = event_q;
  assign idle_o   = !frame_valid_i && event_q == '0 && ends == '0 && !(link_down_i && runs_q != '0);

  logic   runs;
  cycle_t first_end;

  earliest #(
      .Count(9)
  ) u_wake (
      .valid_i(runs_q),
      .at_i   (end_q),
      .valid_o(runs),
      .at_o   (first_end)
  );

  assign wake_o = runs ? first_end : farthest(now_i);

  logic unused_control;  // frame_pfc_i replaces the opcode; the vector's high byte is reserved
  assign unused_control = ^{control_i.opcode, control_i.class_enable[15:8]};

endmodule
