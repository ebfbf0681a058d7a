// Receive of the NIC: from the MAC to the host's memory.
//
//     rx ─┬─► control_receive ─► pause frames
//         └─► packet_parser ─► rx_classify ─┬─► CNPs, CE marks: told in the cycle of their verdict
//                                           ├─► answers ─► their queue ─► requester
//                                           └─► requests, READ responses ─► receive_buffer ─► receive_engine ─┬─► requester
//                                                                                  DMA writes, own answers ◄──┘
//
// What must not wait behind requests has a way of its own: answers have a queue here, CNPs one in nic_congestion. Only
// answers of a QP that waits for READ responses go through the buffer, because they must not pass these.
//
// Clocks: one for the parser and the payload that it hands on, one for what happens once per received frame; the
// engine has its own.
//
// Timing: readies and `idle_o` depend on inputs of the same cycle, the verdict on a frame on registers only.
module nic_receive
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Recvs       = 16,
    parameter  int unsigned Reads       = 16,
    parameter  int unsigned BufferBytes = 131072,
    parameter  int unsigned Regions     = 256,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned RegionBits  = $clog2(Regions),
    localparam int unsigned AnswerBits  = $clog2(AnswersIn + 1),
    localparam int unsigned AtomicBits  = $clog2(AtomicsOut + 1),
    localparam int unsigned HeaderBits  = $clog2(BufferBytes / 64 + 1),  // as in receive_buffer
    localparam int unsigned StepBits    = $clog2(8 * (Recvs + 1) + 9)    // as in payload_writer
) (
    input logic clk_i,
    input logic rst_i,

    // MAC
    input logic                   rx_valid_i,
    input logic                   rx_control_i,
    input logic                   rx_last_i,
    input logic [            6:0] rx_bytes_i,
    input logic [DataBytes*8-1:0] rx_data_i,

    // Settings and commands
    input nic_settings_t settings_i,
    input class_maps_t maps_i,
    input logic [Qps-1:0] open_i,
    input class_t [Qps-1:0] answer_class_i,
    input logic path_write_i,
    input peer_t peer_i,
    input logic command_valid_i,
    input logic command_open_i,
    input logic command_query_i,  // reads the context
    input logic [QpBits-1:0] command_qp_i,
    input responder_config_t configuration_i,
    output logic command_ready_o,
    output logic step_o,  // a step of the responder, with the context after it
    output logic [QpBits-1:0] step_qp_o,
    output responder_context_t step_context_o,
    input logic region_write_i,
    input logic [RegionBits-1:0] region_index_i,
    input region_t region_i,
    input pd_t pd_i,
    output logic invalidate_o,  // a peer invalidates a region
    output logic [RegionBits-1:0] invalidate_index_o,

    // Translation, as in resolve_queue
    output logic                  ask_valid_o,
    output buffer_t               ask_ring_o,
    output place_t                ask_o,
    input  logic                  ask_room_i,
    input  logic    [Buffers-1:0] verdict_valid_i,
    input  logic    [Buffers-1:0] verdict_waits_i,
    input  logic    [Buffers-1:0] verdict_gone_i,
    output logic    [Buffers-1:0] verdict_ready_o,

    input  logic              fail_valid_i,  // the send side of the QP has failed
    input  logic [QpBits-1:0] fail_qp_i,
    output logic              fail_ready_o,
    output logic              failed_o,      // a QP failed on the receive side
    output logic [QpBits-1:0] failed_qp_o,

    // What is left of a closed QP, for qp_drain
    input  logic                                  discard_i,     // discard what waits of a closed QP
    input  logic                                  forget_i,      // nothing of it is left
    output logic [   Buffers-1:0][HeaderBits-1:0] headers_o,
    output logic [   Buffers-1:0]                 header_pop_o,
    output logic [AnswerBits-1:0]                 answers_o,
    output logic                                  answer_pop_o,
    output logic [   Buffers-1:0][  StepBits-1:0] steps_o,
    output logic [   Buffers-1:0]                 step_pop_o,
    output logic                                  refusing_o,
    output logic [AtomicBits-1:0]                 atomics_o,
    output logic                                  atomic_pop_o,

    // Pause frames for this port, to nic_pause
    output logic     pause_valid_o,
    output logic     pause_pfc_o,
    output control_t pause_o,

    // CNPs and CE marks, to nic_congestion
    output logic              cnp_o,
    output logic              mark_o,
    output logic [QpBits-1:0] judged_qp_o,

    // Depth of the receive buffer by class, and a request that leaves it
    output logic [7:0][23:0] depth_o,
    output logic             progress_o,

    // Answers of peers, to the requester
    output logic              ack_valid_o,
    output logic [QpBits-1:0] ack_qp_o,
    output psn_t              ack_psn_o,
    output logic [       7:0] ack_syndrome_o,
    input  logic              ack_ready_i,
    output logic [   Qps-1:0] ack_waits_o,     // QPs of which an answer is here

    // READ responses of peers, and answers behind them, as in receive_engine
    input  logic      [   Qps-1:0] awaits_i,
    output logic                   reaction_valid_o,
    output logic      [QpBits-1:0] reaction_qp_o,
    output reaction_t              reaction_o,
    input  logic                   reaction_ready_i,
    input  logic                   landing_valid_i,
    input  logic      [QpBits-1:0] landing_qp_i,
    input  landing_t               landing_i,
    output logic                   landed_o,
    output buffer_t                landed_part_o,
    output logic                   checked_o,
    output buffer_t                checked_part_o,
    output logic                   unwritten_o,
    output logic      [QpBits-1:0] unwritten_qp_o,

    // Own answers to be sent: the next of each class
    output logic      [7:0]             answer_o,
    output logic      [7:0][QpBits-1:0] answer_qp_o,
    output response_t [7:0]             answer_response_o,
    output logic      [7:0]             answer_coming_o,    // is about to come
    output logic      [7:0]             answer_behind_o,    // behind a packet that is looked up
    input  logic      [7:0]             answer_pop_i,

    // READ responses, as in receive_engine
    output logic   [   Qps-1:0] answerable_o,
    input  logic   [   Qps-1:0] sending_i,
    input  logic                read_valid_i,
    input  logic   [QpBits-1:0] read_qp_i,
    output logic                read_ready_o,
    output logic                reply_valid_o,
    output logic   [QpBits-1:0] reply_qp_o,
    output reply_t              reply_o,
    input  logic                reply_ready_i,

    // READ responses whose payload cannot be read, and refusals that the responder has taken
    input  logic                  unread_valid_i,
    input  logic     [QpBits-1:0] unread_qp_i,
    input  refusal_t              unread_i,
    output logic                  unread_ready_o,
    output logic                  refused_valid_o,
    output logic     [QpBits-1:0] refused_qp_o,

    // Host
    input  logic                     recv_valid_i,
    input  logic        [QpBits-1:0] recv_qp_i,
    input  recv_t                    recv_i,
    output logic                     recv_ready_o,
    output logic                     completion_valid_o,
    output logic        [QpBits-1:0] completion_qp_o,
    output completion_t              completion_o,
    input  logic                     completion_ready_i,

    output logic                   write_valid_o,
    output logic [           63:0] write_va_o,
    output logic [           31:0] write_key_o,
    output logic                   write_remote_o,
    output logic                   write_first_o,
    output logic                   write_last_o,
    output logic [            6:0] write_bytes_o,
    output logic [DataBytes*8-1:0] write_data_o,
    input  logic                   write_ready_i,

    // Atomics, as in receive_engine
    output logic           atomic_valid_o,
    output place_t         atomic_place_o,
    output atomic_t        atomic_o,
    input  logic           atomic_ready_i,
    input  logic           original_valid_i,
    input  logic    [63:0] original_i,

    output logic [        15:0] frame_bytes_o,  // of the frame that is counted
    output logic [Counters-1:0] event_o,
    output logic                idle_o
);

  localparam int unsigned AddressBits = $clog2(BufferBytes / DataBytes);

  logic clk_parser, clk_judge;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Parser

  logic unused_head_valid, done_valid, payload_valid, unused_payload_last;
  parse_result_t result;
  eth_head_t eth;
  control_t unused_control;
  ip_head_t ip;
  logic [15:0] unused_udp_port;
  bth_t bth;
  ext_head_t ext;
  logic [6:0] payload_bytes;
  logic [DataBytes*8-1:0] payload_data;

  packet_parser #(
      .DataBytes(DataBytes)
  ) u_parser (
      .clk_i          (clk_parser),
      .rst_i,
      .rx_valid_i     (rx_valid_i && !rx_control_i),
      .rx_last_i,
      .rx_bytes_i,
      .rx_data_i,
      .head_valid_o   (unused_head_valid),
      .done_valid_o   (done_valid),
      .result_o       (result),
      .eth_o          (eth),
      .control_o      (unused_control),
      .ip_o           (ip),
      .udp_src_port_o (unused_udp_port),
      .bth_o          (bth),
      .ext_o          (ext),
      .payload_valid_o(payload_valid),
      .payload_last_o (unused_payload_last),
      .payload_bytes_o(payload_bytes),
      .payload_data_o (payload_data)
  );

  // Number of cycles after the last beat until nothing moves in the parser and behind it on its clock; more than the
  // number of stages, which are twelve.
  localparam logic [4:0] Settle = 5'd20;
  logic [4:0] moving_q;

  always_ff @(posedge clk_parser) begin
    if (rst_i || rx_valid_i) moving_q <= Settle;
    else if (moving_q != '0) moving_q <= moving_q - 1'b1;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Verdict

  logic judged_valid, judged_payload_valid, classify_moves, classify_idle;
  fate_e fate;
  judged_t judged;
  logic [DataBytes*8-1:0] judged_payload;
  class_t judged_class;
  logic next_valid;  // a verdict comes in the next cycle
  logic [QpBits-1:0] next_qp;

  rx_classify #(
      .DataBytes(DataBytes),
      .Qps      (Qps),
      .Regions  (Regions)
  ) u_classify (
      .clk_i             (clk_judge),
      .clk_beats_i       (clk_parser),
      .rst_i,
      .port_mac_i        ({settings_i.port_mac_high, settings_i.port_mac_low}),
      .qpn_base_i        (settings_i.qpn_base),
      .maps_i,
      .open_i,
      .peer_write_i      (path_write_i),
      .peer_qp_i         (command_qp_i),
      .peer_i,
      .pd_i,
      .region_write_i,
      .region_index_i,
      .region_i,
      .invalidate_i      (invalidate_o),
      .invalidate_index_i(invalidate_index_o),
      .done_valid_i      (done_valid),
      .result_i          (result),
      .eth_i             (eth),
      .ip_i              (ip),
      .bth_i             (bth),
      .ext_i             (ext),
      .payload_valid_i   (payload_valid),
      .payload_bytes_i   (payload_bytes),
      .payload_data_i    (payload_data),
      .next_valid_o      (next_valid),
      .next_qp_o         (next_qp),
      .done_valid_o      (judged_valid),
      .fate_o            (fate),
      .qp_o              (judged_qp_o),
      .judged_o          (judged),
      .class_o           (judged_class),
      .payload_valid_o   (judged_payload_valid),
      .payload_data_o    (judged_payload),
      .moves_o           (classify_moves),
      .idle_o            (classify_idle)
  );

  assign cnp_o  = judged_valid && fate == FateCnp;
  assign mark_o = judged_valid && fate inside {FateRequest, FateResponse} && judged.ce;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // MAC control, whose frames are counted when no other frame is

  logic control_judged;
  fate_e control_fate, counted_fate;
  logic [15:0] control_bytes;

  control_receive #(
      .DataBytes(DataBytes)
  ) u_control (
      .clk_i         (clk_parser),
      .rst_i,
      .port_mac_i    ({settings_i.port_mac_high, settings_i.port_mac_low}),
      .valid_i       (rx_valid_i && rx_control_i),
      .last_i        (rx_last_i),
      .bytes_i       (rx_bytes_i),
      .data_i        (rx_data_i),
      .pause_valid_o,
      .pause_pfc_o,
      .pause_o,
      .judged_valid_o(control_judged),
      .fate_o        (control_fate),
      .frame_bytes_o (control_bytes),
      .judged_ready_i(!judged_valid)
  );

  assign counted_fate  = judged_valid ? fate : control_fate;
  assign frame_bytes_o = judged_valid ? judged.frame_bytes : control_bytes;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Answers of peers

  logic answer_in, answer_room, answers_idle;
  logic returned;  // it goes to the requester by way of the buffer

  // Whether the QP waits for a response, as of the cycle before: none has come to what was asked for in this one.
  logic awaits_q;

  always_ff @(posedge clk_judge) if (next_valid) awaits_q <= awaits_i[next_qp];

  assign answer_in = judged_valid && fate == FateAnswer && !awaits_q;
  assign returned  = fate inside {FateAnswer, FateResponse} && awaits_q;

  // An answer may be of another class than the responses that it must not pass. It counts as one of theirs, that of the
  // QP's last one, and so comes into their part of the buffer.
  class_t [Qps-1:0] response_class_q;
  logic [Qps-1:0] responded_q;  // since it was opened
  class_t behind_class_q;
  logic responds, responded, behind_q, behind;

  assign responds  = judged_valid && fate == FateResponse;
  assign responded = responds && judged_qp_o == next_qp;

  always_ff @(posedge clk_judge) begin
    if (rst_i) responded_q <= '0;
    else begin
      if (responds) responded_q[judged_qp_o] <= 1'b1;
      if (path_write_i) responded_q[command_qp_i] <= 1'b0;
    end
  end

  always_ff @(posedge clk_judge) begin
    if (responds) response_class_q[judged_qp_o] <= judged_class;
    if (next_valid) begin
      behind_q       <= responded || responded_q[next_qp];
      behind_class_q <= responded ? judged_class : response_class_q[next_qp];
    end
  end

  assign behind = returned && fate == FateAnswer && behind_q;

  answer_queue #(
      .Qps  (Qps),
      .Depth(AnswersIn)
  ) u_answers_in (
      .clk_i     (clk_judge),
      .rst_i,
      .valid_i   (answer_in),
      .ready_o   (answer_room),
      .qp_i      (judged_qp_o),
      .psn_i     (judged.arrival.psn),
      .syndrome_i(judged.syndrome),
      .valid_o   (ack_valid_o),
      .ready_i   (ack_ready_i),
      .qp_o      (ack_qp_o),
      .psn_o     (ack_psn_o),
      .syndrome_o(ack_syndrome_o),
      .count_o   (answers_o),
      .waits_o   (ack_waits_o),
      .idle_o    (answers_idle)
  );

  assign answer_pop_o = ack_valid_o && ack_ready_i;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Requests

  waiting_t header_in;
  waiting_t [Buffers-1:0] header;
  logic [Buffers-1:0] header_valid, header_ready, next;
  logic [Buffers-1:0][HeaderBits-1:0] headers;
  logic [Buffers-1:0][QpBits-1:0] header_qp;
  logic buffer_full, buffer_settles, buffer_moves, buffer_idle;
  buffer_t [7:0] buffer_of;
  logic [Buffers-1:0][AddressBits-1:0] ring_first, ring_last;
  logic ring_read, release_valid;
  logic [AddressBits-1:0] ring_address;
  logic [DataBytes*8-1:0] ring_data;
  class_t release_class;
  buffer_t release_part;
  logic [15:0] release_bytes;
  beats_t release_beats;

  assign header_in = '{
          returned: returned,
          class_of: behind ? behind_class_q : judged.class_of,
          part: '0,
          frame_bytes: judged.frame_bytes,
          beat: '0,
          syndrome: judged.syndrome,
          arrival: judged.arrival
      };

  for (genvar c = 0; c < 8; c++) begin : gen_part
    assign buffer_of[c] = settings_i.buffer_map[4*c+:3];
  end

  receive_buffer #(
      .DataBytes  (DataBytes),
      .Qps        (Qps),
      .BufferBytes(BufferBytes)
  ) u_buffer (
      .clk_i          (clk_judge),
      .clk_beats_i    (clk_parser),
      .rst_i,
      .cells_i        (settings_i.buffer_cells),
      .buffer_of_i    (buffer_of),
      .class_i        (judged_class),
      .payload_valid_i(judged_payload_valid),
      .payload_data_i (judged_payload),
      .done_valid_i   (judged_valid),
      .keep_i         (fate == FateRequest || returned),
      .qp_i           (judged_qp_o),
      .header_i       (header_in),
      .full_o         (buffer_full),
      .head_valid_o   (header_valid),
      .head_ready_i   (header_ready),
      .head_qp_o      (header_qp),
      .head_o         (header),
      .first_o        (ring_first),
      .last_o         (ring_last),
      .read_i         (ring_read),
      .read_address_i (ring_address),
      .read_data_o    (ring_data),
      .release_i      (release_valid),
      .release_class_i(release_class),
      .release_part_i (release_part),
      .release_bytes_i(release_bytes),
      .release_beats_i(release_beats),
      .depth_o,
      .count_o        (headers),
      .settles_o      (buffer_settles),
      .moves_o        (buffer_moves),
      .idle_o         (buffer_idle)
  );

  // The packet that is next counts as if it were in its part: none goes past it.
  always_comb begin
    headers_o = headers;
    if (next != '0) for (int unsigned b = 0; b < Buffers; b++) headers_o[b] = headers[b] + HeaderBits'(next[b]);
  end

  assign progress_o = release_valid;
  assign landed_part_o = release_part;

  // Requests that pile up: what is on its way between buffer and responder is less.
  localparam int unsigned BacklogMin = 8;
  logic backlog, backlog_q;

  always_comb begin
    backlog = 1'b0;
    for (int unsigned b = 0; b < Buffers; b++) if (32'(headers[b]) >= BacklogMin) backlog = 1'b1;
  end

  always_ff @(posedge clk_judge) begin
    if (rst_i) backlog_q <= 1'b0;
    else backlog_q <= backlog;
  end

  logic engine_idle;
  logic [Counters-1:0] engine_event;

  receive_engine #(
      .DataBytes  (DataBytes),
      .Qps        (Qps),
      .Recvs      (Recvs),
      .Reads      (Reads),
      .Regions    (Regions),
      .BufferBytes(BufferBytes)
  ) u_engine (
      .clk_i,
      .rst_i,
      .command_valid_i,
      .command_open_i,
      .command_query_i,
      .command_qp_i,
      .configuration_i,
      .psn_i          (settings_i.qp_responder_psn),
      .command_ready_o,
      .step_o,
      .step_qp_o,
      .step_context_o,
      .discard_i,
      .forget_i,
      .pass_o         (step_pop_o),
      .count_o        (steps_o),
      .refusing_o,
      .fail_valid_i,
      .fail_qp_i,
      .fail_ready_o,
      .failed_o,
      .failed_qp_o,
      .region_write_i,
      .region_index_i,
      .region_i,
      .pd_write_i     (path_write_i),
      .pd_qp_i        (command_qp_i),
      .pd_i,
      .translating_i  (settings_i.translation_on),
      .parts_i        (settings_i.translation_on && settings_i.translation_parts),
      .buffer_of_i    (buffer_of),
      .ask_valid_o,
      .ask_ring_o,
      .ask_o,
      .ask_room_i,
      .verdict_valid_i,
      .verdict_waits_i,
      .verdict_gone_i,
      .verdict_ready_o,
      .invalidate_o,
      .invalidate_index_o,
      .recv_valid_i,
      .recv_qp_i,
      .recv_i,
      .recv_ready_o,
      .packet_valid_i (header_valid),
      .packet_qp_i    (header_qp),
      .packet_i       (header),
      .packet_ready_o (header_ready),
      .next_o         (next),
      .passed_o       (header_pop_o),
      .reaction_valid_o,
      .reaction_qp_o,
      .reaction_o,
      .reaction_ready_i,
      .landing_valid_i,
      .landing_qp_i,
      .landing_i,
      .landed_o,
      .checked_o,
      .checked_part_o,
      .unwritten_o,
      .unwritten_qp_o,
      .backlog_i      (backlog_q),
      .answer_class_i,
      .first_i        (ring_first),
      .last_i         (ring_last),
      .read_o         (ring_read),
      .read_address_o (ring_address),
      .read_data_i    (ring_data),
      .write_valid_o,
      .write_va_o,
      .write_key_o,
      .write_remote_o,
      .write_first_o,
      .write_last_o,
      .write_bytes_o,
      .write_data_o,
      .write_ready_i,
      .atomic_valid_o,
      .atomic_place_o,
      .atomic_o,
      .atomic_ready_i,
      .original_valid_i,
      .original_i,
      .atomics_o,
      .atomic_pop_o,
      .release_o      (release_valid),
      .release_class_o(release_class),
      .release_part_o (release_part),
      .release_bytes_o(release_bytes),
      .release_beats_o(release_beats),
      .completion_valid_o,
      .completion_qp_o,
      .completion_o,
      .completion_ready_i,
      .answer_o,
      .answer_qp_o,
      .answer_response_o,
      .answer_coming_o,
      .answer_behind_o,
      .answer_pop_i,
      .answerable_o,
      .sending_i,
      .read_valid_i,
      .read_qp_i,
      .read_ready_o,
      .reply_valid_o,
      .reply_qp_o,
      .reply_o,
      .reply_ready_i,
      .unread_valid_i,
      .unread_qp_i,
      .unread_i,
      .unread_ready_o,
      .refused_valid_o,
      .refused_qp_o,
      .event_o        (engine_event),
      .idle_o         (engine_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////

  always_comb begin
    event_o = engine_event;
    event_o[CountFramesIn] = judged_valid || control_judged;
    event_o[CountBytesIn] = judged_valid || control_judged;
    if (judged_valid || control_judged) begin
      event_o[CountDropNotRoce]   = counted_fate == FateNotRoce;
      event_o[CountDropMalformed] = counted_fate == FateMalformed;
      event_o[CountDropRoceV1]    = counted_fate == FateRoceV1;
      event_o[CountDropService]   = counted_fate == FateService;
      event_o[CountDropIcrc]      = counted_fate == FateIcrc;
      event_o[CountDropQp]        = counted_fate == FateQp;
      event_o[CountDropResponse]  = judged_valid && fate == FateResponse && !returned;
      event_o[CountDropPkey]      = counted_fate == FatePkey;
      event_o[CountDropVlan]      = counted_fate == FateVlan;
      event_o[CountDropAddress]   = counted_fate == FateAddress;
      event_o[CountDropFull]      = buffer_full || (answer_in && !answer_room);
      event_o[CountCnpsIn]        = cnp_o;
      event_o[CountMarkedIn]      = mark_o;
    end
  end

  assign idle_o = !rx_valid_i && moving_q == '0 && !judged_valid && classify_idle && answers_idle && buffer_idle &&
      engine_idle;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Clocks. The enable of the parser's counts a read of the ring, which the idle of the buffer leaves out, and a change
  // of the sizes, which drops a frame that stands still while it arrives.

  clock_gate u_clk_parser (
      .clk_i,
      .enable_i(rst_i || rx_valid_i || moving_q != '0 || ring_read || buffer_settles),
      .clk_o   (clk_parser)
  );

  clock_gate u_clk_judge (
      .clk_i,
      .enable_i(rst_i || classify_moves || buffer_moves || backlog != backlog_q || answer_in || !answers_idle),
      .clk_o   (clk_judge)
  );

  logic unused_settings;
  assign unused_settings = ^settings_i;

endmodule
