// Frames between their selection and the MAC. Tells the requester's ACK timers when a packet that asks for an ACK is
// about to leave, and when its last beat goes to the MAC.
//
// Frames leave the builder in the order in which they went in, which is that of their selection; only PFC frames go in
// ahead of what is selected. A packet that was selected before its QP went back (`back_i`) is not reported any more:
// its successor is what the timer waits for.
//
// Timing: all outputs are registers or depend on registers only; what leaves is told in the cycle after.
module asking_frames #(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic              select_i,  // a packet is selected
    input logic              asks_i,    // it asks for an ACK
    input logic [QpBits-1:0] qp_i,      // of a packet that does

    input logic              back_i,    // nothing that a QP has sent is outstanding any more
    input logic [QpBits-1:0] back_qp_i,

    input logic enter_i,  // a frame goes into the builder
    input logic pfc_i,    // it is a PFC frame
    input logic end_i,    // the last beat of a frame goes to the MAC

    output logic              left_valid_o,
    output logic              left_end_o,    // 1: its last bit; 0: it is about to leave
    output logic [QpBits-1:0] left_qp_o,

    output logic idle_o
);

  localparam int unsigned Depth = 16;  // two between selection and builder, eight in the builder
  localparam int unsigned IndexBits = $clog2(Depth);

  logic [3:0] frames;
  logic frame_valid, frame_room, frame_pfc, leave;

  fifo #(
      .Width(1),
      .Depth(8)
  ) u_frames (
      .clk_i,
      .rst_i,
      .valid_i(enter_i),
      .ready_o(frame_room),
      .data_i (pfc_i),
      .valid_o(frame_valid),
      .ready_i(end_i),
      .data_o (frame_pfc),
      .count_o(frames)
  );

  assign leave = end_i && !frame_pfc;

  // Selected packets: the oldest, the next one to be told as about to leave, and where the next one comes
  logic [IndexBits-1:0] first_q, tell_q, last_q;
  logic [Depth-1:0] asks_q, asks_d;
  logic [Depth-1:0][QpBits-1:0] qp_q;
  logic tell, left_end;

  assign left_end = leave && asks_q[first_q];
  assign tell     = tell_q != last_q && !left_end;

  always_comb begin
    asks_d = asks_q;
    if (back_i) for (int unsigned i = 0; i < Depth; i++) if (qp_q[i] == back_qp_i) asks_d[i] = 1'b0;
    if (select_i) asks_d[last_q] = asks_i && !(back_i && back_qp_i == qp_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      first_q <= '0;
      tell_q  <= '0;
      last_q  <= '0;
      asks_q  <= '0;
    end else begin
      if (leave) first_q <= first_q + 1'b1;
      if (tell) tell_q <= tell_q + 1'b1;
      if (select_i) last_q <= last_q + 1'b1;
      if (first_q != last_q || select_i) asks_q <= asks_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (select_i) qp_q[last_q] <= qp_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) left_valid_o <= 1'b0;
    else left_valid_o <= left_end || (tell && asks_q[tell_q]);
  end

  always_ff @(posedge clk_i) begin
    if (left_end || tell) {left_end_o, left_qp_o} <= {left_end, qp_q[left_end?first_q : tell_q]};
  end

  assign idle_o = frames == '0 && first_q == last_q && tell_q == last_q && !left_valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!select_i || last_q + 1'b1 != first_q)
      else $error("asking_frames: more packets are selected than frames end");
      assert (!enter_i || frame_room)
      else $error("asking_frames: more frames in the builder than are counted");
      assert (!end_i || frame_valid)
      else $error("asking_frames: a frame that never went in");
      assert (!leave || first_q != tell_q)
      else $error("asking_frames: a packet left before it was told to be about to");
    end
  end

endmodule
