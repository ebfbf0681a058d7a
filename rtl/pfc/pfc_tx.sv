// Pause sender: forms PFC frames (XOFF, XON and refresh per class) from the depth of the receive buffer.
// rtl/pfc/README.md is the contract.
//
// Every frame repeats the XOFF of all classes that want it and resumes all other classes of `xoff_o`, so that one
// refresh deadline serves all classes.
//
// Timing: frame and `xoff_o` are registers; `idle_o` depends on the inputs of the same cycle.
module pfc_tx
  import eth_pkg::*, time_pkg::*;
(
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input logic [ 7:0][23:0] depth_i,
    input logic [ 7:0][23:0] xoff_i,
    input logic [ 7:0][23:0] xon_i,
    input logic [ 7:0]       classes_i,
    input logic [15:0]       quanta_i,
    input logic [31:0]       refresh_i,
    input logic              silence_i,

    output logic     frame_valid_o,
    output control_t frame_o,
    input  logic     frame_ready_i,

    output logic [7:0] xoff_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  logic [7:0] told_q;  // classes for which the peer was last told XOFF
  logic [7:0] stop;  // classes that want XOFF
  logic due;
  cycle_t refresh_q;

  // The waiting frame: classes in its vector, those of them that get XOFF, and the pause time.
  logic valid_q;
  logic [7:0] named_q, stop_q;
  logic [15:0] quanta_q;

  always_comb begin
    for (int unsigned c = 0; c < 8; c++) begin
      if (!classes_i[c]) stop[c] = 1'b0;
      else if (depth_i[c] >= xoff_i[c]) stop[c] = 1'b1;
      else if (depth_i[c] <= xon_i[c]) stop[c] = 1'b0;
      else stop[c] = told_q[c];
    end
  end

  assign due = !valid_q && !silence_i && (stop != told_q || (told_q != '0 && !earlier(now_i, refresh_q)));

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      told_q  <= '0;
    end else begin
      if (due) valid_q <= 1'b1;
      else if (frame_ready_i) valid_q <= 1'b0;
      if (silence_i) told_q <= '0;
      else if (due) told_q <= stop;
    end
  end

  always_ff @(posedge clk_i) begin
    if (due) begin
      named_q   <= stop | told_q;
      stop_q    <= stop;
      quanta_q  <= quanta_i;
      refresh_q <= now_i + cycle_t'(refresh_i);
    end
  end

  always_comb begin
    frame_o.opcode       = ControlPfc;
    frame_o.class_enable = {8'd0, named_q};
    for (int unsigned c = 0; c < 8; c++) frame_o.timer[c] = stop_q[c] ? quanta_q : '0;
  end

  assign frame_valid_o = valid_q;
  assign xoff_o        = told_q;
  assign idle_o        = !due && !valid_q && !(silence_i && told_q != '0);
  assign wake_o        = (told_q != '0) ? refresh_q : farthest(now_i);

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!valid_q || named_q != '0)
      else $error("pfc_tx: a frame that names no class");
  end

endmodule
