// MAC control frames, which the MAC hands on ahead of frames that wait, also between the beats of one that is on its
// way. rtl/nic/README.md is the contract.
//
//      0               6               12      14      16      18                 34
//     +---------------+---------------+-------+-------+-------+------- … --------+----
//     |  destination  |    source     | 8808  |       control_parser             | padding
//     +---------------+---------------+-------+-------+-------+------- … --------+----
//
// - A frame has at least 60 bytes, and no tag: the MAC drops shorter ones, and a tagged one is no MAC control.
// - A pause for this port is offered two cycles after the frame's last beat, for one cycle.
// - The verdict on each frame waits until `judged_ready_i`, because only one frame is counted in a cycle.
//
// Timing: all outputs are registers or depend on registers only.
module control_receive
  import eth_pkg::*, roce_pkg::*, parser_pkg::*, nic_pkg::*;
#(
    parameter int unsigned DataBytes = 32
) (
    input logic        clk_i,
    input logic        rst_i,
    input logic [47:0] port_mac_i,

    input logic                   valid_i,
    input logic                   last_i,
    input logic [            6:0] bytes_i,
    input logic [DataBytes*8-1:0] data_i,

    output logic     pause_valid_o,  // PFC or PAUSE for this port
    output logic     pause_pfc_o,
    output control_t pause_o,

    output logic         judged_valid_o,
    output fate_e        fate_o,
    output logic  [15:0] frame_bytes_o,
    input  logic         judged_ready_i
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned FieldBits = 34 * 8;  // from the destination to the last timer of PFC

  // Every frame, of MAC control or not, takes two cycles of the stream or more, so that few verdicts wait.
  localparam int unsigned Waiting = 4;

  logic first_q, done_q;  // the beat to come is the first; the frame is whole
  logic [15:0] frame_bytes_q;
  logic [FieldBits-1:0] wire_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      first_q <= 1'b1;
      done_q  <= 1'b0;
    end else begin
      if (valid_i) first_q <= last_i;
      done_q <= valid_i && last_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) frame_bytes_q <= (first_q ? 16'd0 : frame_bytes_q) + (last_i ? 16'(bytes_i) : 16'(DataBytes));
  end

  if (DataBits < FieldBits) begin : gen_two_beats
    localparam int unsigned RestBits = FieldBits - DataBits;
    logic second_q;  // the beat to come is the second

    always_ff @(posedge clk_i) begin
      if (valid_i) second_q <= first_q;
      if (valid_i && first_q) wire_q[FieldBits-1-:DataBits] <= data_i;
      if (valid_i && second_q) wire_q[RestBits-1:0] <= data_i[DataBits-1-:RestBits];
    end
  end else begin : gen_one_beat
    always_ff @(posedge clk_i) begin
      if (valid_i && first_q) wire_q <= data_i[DataBits-1-:FieldBits];
    end

    logic unused_padding;
    assign unused_padding = ^data_i[DataBits-FieldBits-1:0];
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Verdict

  logic [47:0] dst;
  control_head_t head;
  logic pause, taken;
  fate_e fate;

  assign dst = wire_q[FieldBits-1-:48];

  control_parser u_parser (
      .wire_i (wire_q[159:0]),
      .bytes_i(7'd46),
      .dst_i  (dst),
      .head_o (head)
  );

  // PFC is sent to the MAC control address, PAUSE there or to the port's own.
  assign pause = head.verdict inside {VerdictPfc, VerdictPause} && head.reason == ReasonNone;
  assign taken = dst == port_mac_i || (pause && dst == ControlAddress);

  always_comb begin
    if (!taken) fate = FateAddress;
    else if (pause) fate = FateControl;
    else fate = (head.reason == ReasonNone) ? FateNotRoce : FateMalformed;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) pause_valid_o <= 1'b0;
    else pause_valid_o <= done_q && fate == FateControl;
  end

  always_ff @(posedge clk_i) begin
    if (done_q) begin
      pause_pfc_o <= head.verdict == VerdictPfc;
      pause_o     <= head.fields;
    end
  end

  logic room;
  logic [$clog2(Waiting+1)-1:0] unused_count;
  logic [$bits(fate_e)-1:0] fate_bits;

  fifo #(
      .Width($bits(fate_e) + 16),
      .Depth(Waiting)
  ) u_judged (
      .clk_i,
      .rst_i,
      .valid_i(done_q),
      .ready_o(room),
      .data_i ({fate, frame_bytes_q}),
      .valid_o(judged_valid_o),
      .ready_i(judged_ready_i),
      .data_o ({fate_bits, frame_bytes_o}),
      .count_o(unused_count)
  );

  assign fate_o = fate_e'(fate_bits);

  logic unused_fields;
  assign unused_fields = ^{wire_q[FieldBits-49:160], head.whole};

  always_ff @(posedge clk_i) begin
    if (!rst_i && done_q) begin
      assert (room)
      else $error("control_receive: a MAC control frame is not counted");
      assert (wire_q[175:160] == EtherTypeMacControl)
      else $error("control_receive: a frame is not MAC control");
      assert (frame_bytes_q >= 16'd60)
      else $error("control_receive: a frame is too short");
    end
  end

endmodule
