// Classes that were paused so recently that a packet may be late because of the pause.
//
// The limiter lets a QP catch up lateness, but it must not catch up what a pause held back: sent at line rate, that
// would fill the peer's buffer again, and pauses would cause more pauses.
//
// - `fresh_o`: class `class_i` was paused at some time within the last `window_i` cycles and is not paused now.
// - `idle_o`: the state changes only with `paused_i`; 0 while a window runs.
//
// Timing: `fresh_o` depends on `class_i` and `paused_i`; it reflects the end of a pause from the second cycle after it
// on.
module resumed_classes
  import time_pkg::*, nic_pkg::*;
(
    input  logic          clk_i,
    input  logic          rst_i,
    input  cycle_t        now_i,
    input  logic   [15:0] window_i,
    input  logic   [ 7:0] paused_i,
    input  class_t        class_i,
    output logic          fresh_o,
    output logic          idle_o
);

  logic [7:0] paused_q;
  logic [7:0] runs_q;  // the window of the class has not ended: it ends at `until_q`, which the cycle before says
  cycle_t until_q[8];

  always_ff @(posedge clk_i) begin
    if (rst_i) paused_q <= '0;
    else paused_q <= paused_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) runs_q <= '0;
    else if (runs_q != '0 || paused_q != paused_i) begin
      for (int unsigned c = 0; c < 8; c++) begin
        if (paused_q[c] && !paused_i[c]) runs_q[c] <= window_i > 16'd1;
        else if (!earlier(now_i + 48'd1, until_q[c])) runs_q[c] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned c = 0; c < 8; c++) if (paused_q[c] && !paused_i[c]) until_q[c] <= now_i + 48'(window_i);
  end

  assign fresh_o = !paused_i[class_i] && runs_q[class_i];
  assign idle_o  = paused_q == paused_i && runs_q == '0;

endmodule
