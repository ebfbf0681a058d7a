// Proof of pfc_rx: a class is paused in exactly the cycles that the last frame asked for; idle and wake are exact.
module pfc_rx_proof
  import eth_pkg::*, time_pkg::*, pfc_pkg::*;
#(
    parameter int unsigned QuantumNum = 5,
    parameter int unsigned QuantumDen = 2,
    parameter int unsigned Class      = 0   // the class that is followed
) (
    input logic           clk_i,
    input cycle_t         jump_i,
    input logic           link_down_i,
    input logic           frame_valid_i,
    input logic           frame_pfc_i,
    input control_t       control_i,
    input logic     [7:0] pfc_classes_i,
    input logic           pause_enable_i
);

  logic started_q = 1'b0, next_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    next_q    <= started_q;
  end

  cycle_t now, wake;
  logic [7:0] paused;
  logic idle;
  pfc_rx_event_t events;

  time_walk u_time (
      .clk_i,
      .idle_i(idle && started_q),
      .wake_i(wake),
      .jump_i,
      .now_o (now)
  );

  pfc_rx #(
      .QuantumNum(QuantumNum),
      .QuantumDen(QuantumDen)
  ) u_dut (
      .clk_i,
      .rst_i   (!started_q),
      .now_i   (now),
      .link_down_i,
      .frame_valid_i,
      .frame_pfc_i,
      .control_i,
      .pfc_classes_i,
      .pause_enable_i,
      .paused_o(paused),
      .event_o (events),
      .idle_o  (idle),
      .wake_o  (wake)
  );

  // Last frame that loaded the timer of the class, and last PAUSE: whether it stopped anything, and until when.
  logic pfc_load, pause_load;
  assign pfc_load   = !link_down_i && frame_valid_i && frame_pfc_i && control_i.class_enable[Class] && pfc_classes_i[Class];
  assign pause_load = !link_down_i && frame_valid_i && !frame_pfc_i && pause_enable_i;

  function automatic cycle_t duration(input logic [15:0] quanta);
    return cycle_t'((32'(quanta) * QuantumNum + QuantumDen - 1) / QuantumDen);
  endfunction

  logic pfc_stop_q = 1'b0, pause_stop_q = 1'b0;
  cycle_t pfc_last_q, pause_last_q;
  logic pfc_runs, pause_runs;
  always_ff @(posedge clk_i) begin
    if (!started_q || link_down_i) begin
      pfc_stop_q   <= 1'b0;
      pause_stop_q <= 1'b0;
    end
    if (!earlier(now, pfc_last_q)) pfc_stop_q <= 1'b0;
    if (!earlier(now, pause_last_q)) pause_stop_q <= 1'b0;
    if (started_q && pfc_load) begin
      pfc_stop_q <= control_i.timer[Class] != '0;
      pfc_last_q <= now + duration(control_i.timer[Class]);
    end
    if (started_q && pause_load) begin
      pause_stop_q <= control_i.timer[0] != '0;
      pause_last_q <= now + duration(control_i.timer[0]);
    end
  end
  assign pfc_runs = pfc_stop_q;
  assign pause_runs = pause_stop_q;

  // Previous cycle
  logic quiet_q, at_wake_q, xon_q, other_q, pause_enable_q, link_down_q;
  logic [7:0] classes_q, paused_q;
  logic   [8:0] runs_q;
  cycle_t [8:0] end_q;
  cycle_t wake_q, now_q;
  pfc_rx_event_t expect_q;
  always_ff @(posedge clk_i) begin
    quiet_q <= idle && earlier(now, wake);
    at_wake_q <= idle && now == wake;
    xon_q <= pfc_load && control_i.timer[Class] == '0;
    other_q <= !pfc_load && !link_down_i;
    classes_q <= pfc_classes_i;
    pause_enable_q <= pause_enable_i;
    link_down_q <= link_down_i;
    paused_q <= paused;
    runs_q <= u_dut.runs_q;
    end_q <= u_dut.end_q;
    wake_q <= wake;
    now_q <= now;
    expect_q.pfc <= !link_down_i && frame_valid_i && frame_pfc_i && (control_i.class_enable[7:0] & pfc_classes_i) != '0;
    expect_q.pause <= pause_load;
    expect_q.ignored <= frame_valid_i && (link_down_i ? 1'b1 : frame_pfc_i ? (control_i.class_enable[7:0] & pfc_classes_i) == '0 : !pause_enable_i);
  end

  logic [8:0] missed;  // a timer runs past its end, or longer than any pause
  for (genvar i = 0; i < 9; i++) begin : gen_missed
    assign missed[i] = u_dut.runs_q[i] &&
        (earlier(u_dut.end_q[i], now) || earlier(now + 48'd65535, u_dut.end_q[i]));
  end

  always_comb begin
    if (started_q) begin
      a_ends : assert (missed == '0);
      a_last : assert (!(pfc_runs && earlier(pfc_last_q, now)) && !(pause_runs && earlier(pause_last_q, now)));
      a_timer : assert (u_dut.runs_q[Class] == pfc_runs && (!pfc_runs || u_dut.end_q[Class] == pfc_last_q));
      a_pause_timer : assert (u_dut.runs_q[8] == pause_runs && (!pause_runs || u_dut.end_q[8] == pause_last_q));
      a_paused : assert (paused[Class] == ((pfc_runs && pfc_classes_i[Class]) || (pause_runs && pause_enable_i)));
      a_wake_not_late : assert (!u_dut.runs_q[Class] || !earlier(u_dut.end_q[Class], wake));
      a_no_wake : assert (u_dut.runs_q != '0 || wake == farthest(now));
    end
    if (next_q) begin
      a_event : assert (events == expect_q);
      a_link : assert (!link_down_q || (u_dut.runs_q == '0 && paused == '0));
      a_xon : assert (!xon_q || !paused[Class] || pause_runs);
      a_independent :
      assert (!(other_q && runs_q[Class] && earlier(now_q, end_q[Class])) || (u_dut.runs_q[Class] && u_dut.end_q[Class] == end_q[Class]));
      a_idle_state : assert (!quiet_q || (u_dut.runs_q == runs_q && u_dut.end_q == end_q && events == '0));
      a_idle_outputs :
      assert (!(quiet_q && classes_q == pfc_classes_i && pause_enable_q == pause_enable_i) || (paused == paused_q && (wake == wake_q || u_dut.runs_q == '0)));
      a_wake_not_early : assert (!at_wake_q || u_dut.runs_q != runs_q);
    end
  end

endmodule
