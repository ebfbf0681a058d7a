// Proof of pfc_tx: for any one class, XOFF and XON are sent at once, XOFF is repeated in time, silence is kept; a
// waiting frame holds; idle and wake are exact.
module pfc_tx_proof
  import eth_pkg::*, time_pkg::*;
(
    input logic                clk_i,
    input cycle_t              jump_i,
    input logic   [ 7:0][23:0] depth_i,
    input logic   [ 7:0][23:0] xoff_i,
    input logic   [ 7:0][23:0] xon_i,
    input logic   [ 7:0]       classes_i,
    input logic   [15:0]       quanta_i,
    input logic   [31:0]       refresh_i,
    input logic                silence_i,
    input logic                frame_ready_i,
    input logic   [ 2:0]       class_i
);

  logic started_q = 1'b0, next_q = 1'b0;
  logic [2:0] p_q;  // the class that is followed
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    next_q    <= started_q;
    if (!started_q) p_q <= class_i;
  end

  cycle_t now, wake;
  logic valid, idle;
  control_t frame;
  logic [7:0] told;

  time_walk u_time (
      .clk_i,
      .idle_i(idle && started_q),
      .wake_i(wake),
      .jump_i,
      .now_o (now)
  );

  pfc_tx u_dut (
      .clk_i,
      .rst_i        (!started_q),
      .now_i        (now),
      .depth_i,
      .xoff_i,
      .xon_i,
      .classes_i,
      .quanta_i,
      .refresh_i,
      .silence_i,
      .frame_valid_o(valid),
      .frame_o      (frame),
      .frame_ready_i,
      .xoff_o       (told),
      .idle_o       (idle),
      .wake_o       (wake)
  );

  logic want_stop, want_go;
  assign want_stop = classes_i[p_q] && depth_i[p_q] >= xoff_i[p_q];
  assign want_go   = !classes_i[p_q] || (depth_i[p_q] <= xon_i[p_q] && depth_i[p_q] < xoff_i[p_q]);

  // Previous cycle, and the deadline of class p: it counts from the cycle in which the last frame that named the
  // class was formed.
  logic stop_q, go_q, may_q, silent_q, waited_q, valid_q, quiet_q, overdue_q;
  logic [15:0] quanta_q;
  logic [7:0] told_q;
  control_t frame_q;
  logic [31:0] refresh_q;
  cycle_t deadline_q, deadline, now_q, wake_q;
  logic [649:0] inputs, inputs_q;
  assign inputs = 650'({depth_i, xoff_i, xon_i, classes_i, quanta_i, refresh_i, silence_i});

  always_ff @(posedge clk_i) begin
    stop_q     <= want_stop;
    go_q       <= want_go;
    may_q      <= !valid && !silence_i;
    silent_q   <= silence_i;
    waited_q   <= valid && !frame_ready_i;
    valid_q    <= valid;
    quiet_q    <= idle && earlier(now, wake);
    overdue_q  <= told[p_q] && !earlier(now, deadline);
    quanta_q   <= quanta_i;
    told_q     <= told;
    frame_q    <= frame;
    refresh_q  <= refresh_i;
    now_q      <= now;
    wake_q     <= wake;
    inputs_q   <= inputs;
    deadline_q <= deadline;
  end
  assign deadline = (next_q && valid && !valid_q && frame.class_enable[p_q]) ? now_q + cycle_t'(refresh_q) : deadline_q;

  always_comb begin
    if (started_q) begin
      a_deadline : assert (!told[p_q] || u_dut.refresh_q == deadline);
      a_wake : assert (told[p_q] ? wake == deadline : (told != '0 || wake == farthest(now)));
      a_names :
      assert (!valid || (frame.opcode == ControlPfc && frame.class_enable[15:8] == '0 && frame.class_enable != '0));
      a_silent_state : assert (!valid || u_dut.told_q == '0 || u_dut.told_q == u_dut.stop_q);
    end
    if (next_q) begin
      a_hold : assert (!waited_q || (valid && frame == frame_q));
      a_stop : assert (!(may_q && stop_q) || told[p_q]);
      a_stop_told :
      assert (!(may_q && stop_q && !told_q[p_q]) || (valid && frame.class_enable[p_q] && frame.timer[p_q] == quanta_q));
      a_go_told :
      assert (!(may_q && go_q && told_q[p_q]) || (valid && frame.class_enable[p_q] && frame.timer[p_q] == '0 && !told[p_q]));
      a_between : assert (stop_q || go_q || silent_q || told[p_q] == told_q[p_q]);
      a_repeat : assert (!(may_q && overdue_q) || (valid && frame.class_enable[p_q]));
      a_repeat_all :
      assert (!(valid && !valid_q && told[p_q]) || (frame.class_enable[p_q] && frame.timer[p_q] == quanta_q));
      a_unnamed : assert (!valid || frame.class_enable[p_q] || frame.timer[p_q] == '0);
      a_silence : assert (!silent_q || (told == '0 && (!valid || valid_q)));
      a_idle_state : assert (!quiet_q || (told == told_q && valid == valid_q && (wake == wake_q || told == '0)));
      a_idle_outputs : assert (!(quiet_q && inputs == inputs_q && earlier(now, wake)) || idle);
    end
  end

endmodule
