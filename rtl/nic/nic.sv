// Top level of the NIC: a RoCEv2 pipeline between a MAC and a host. rtl/nic/README.md is the contract.
//
//     rx ─► packet_parser ─┬─► pfc_rx                          settings, counters ◄─► nic_registers
//                          └─► rx_classify ─┬─► CNPs ─► dcqcn_rp ─► rate_limiter
//                                           ├─► CE marks ─► dcqcn_np ─► CNPs
//                                           ├─► answers ─► transmit_engine (gbn_requester) ─► tx
//                                           └─► receive_buffer ─► receive_engine (gbn_responder)
//                                                                 └─► DMA writes, answers
//
// This module connects the units. The received frames that it queues itself are those that must not wait behind
// requests: CNPs and answers.
//
// Clocks: groups of units that rest together have a gated clock, with its enable at the end of this module and of the
// two engines. Only the gates themselves are on `clk_i`.
//
//     clk_parser     parser, and the payload that it hands on
//     clk_judge      what happens once per received frame: classifier, headers of the receive buffer
//     clk_control    registers, commands, PFC, watchdog, completions, answers that wait
//     clk_dcqcn      reaction point, rate limiter, notification point
//
// Timing: `idle_o` and the readies of registers, work requests and receive buffers depend on inputs of the same
// cycle. So do the tx outputs, as described in packet_builder.
module nic
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*, dcqcn_pkg::*, pfc_pkg::*, time_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Wqes        = 16,
    parameter  int unsigned Recvs       = 16,
    parameter  int unsigned PeriodPs    = 5120,
    parameter  int unsigned QuantumNum  = 5,
    parameter  int unsigned QuantumDen  = 2,
    parameter  int unsigned BufferBytes = 131072,
    parameter  int unsigned Slots       = 16,
    parameter  int unsigned Regions     = 256,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned SlotBits    = $clog2(Slots)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    // MAC
    input  logic                   rx_valid_i,
    input  logic                   rx_last_i,
    input  logic [            6:0] rx_bytes_i,
    input  logic [DataBytes*8-1:0] rx_data_i,
    output logic                   tx_valid_o,
    output logic                   tx_last_o,
    output logic [            6:0] tx_bytes_o,
    output logic [DataBytes*8-1:0] tx_data_o,
    input  logic                   tx_ready_i,

    // Work requests, receive buffers and completions
    input  logic                     work_valid_i,
    input  logic        [QpBits-1:0] work_qp_i,
    input  work_t                    work_i,
    output logic                     work_ready_o,
    input  logic                     recv_valid_i,
    input  logic        [QpBits-1:0] recv_qp_i,
    input  recv_t                    recv_i,
    output logic                     recv_ready_o,
    output logic                     cqe_valid_o,
    output logic        [QpBits-1:0] cqe_qp_o,
    output completion_t              cqe_o,
    input  logic                     cqe_ready_i,

    // DMA
    output logic                   read_valid_o,
    output logic [   SlotBits-1:0] read_tag_o,
    output logic [           63:0] read_va_o,
    output logic [           31:0] read_key_o,
    output logic [           15:0] read_bytes_o,
    input  logic                   read_ready_i,
    input  logic                   data_valid_i,
    input  logic [   SlotBits-1:0] data_tag_i,
    input  logic                   data_last_i,
    input  logic [DataBytes*8-1:0] data_data_i,
    output logic                   write_valid_o,
    output logic [           63:0] write_va_o,
    output logic [           31:0] write_key_o,
    output logic                   write_remote_o,
    output logic                   write_first_o,
    output logic                   write_last_o,
    output logic [            6:0] write_bytes_o,
    output logic [DataBytes*8-1:0] write_data_o,
    input  logic                   write_ready_i,

    // Registers, AXI4-Lite
    input  logic        awvalid_i,
    output logic        awready_o,
    input  logic [15:0] awaddr_i,
    input  logic        wvalid_i,
    output logic        wready_o,
    input  logic [31:0] wdata_i,
    input  logic [ 3:0] wstrb_i,
    output logic        bvalid_o,
    input  logic        bready_i,
    output logic [ 1:0] bresp_o,
    input  logic        arvalid_i,
    output logic        arready_o,
    input  logic [15:0] araddr_i,
    output logic        rvalid_o,
    input  logic        rready_i,
    output logic [31:0] rdata_o,
    output logic [ 1:0] rresp_o,

    // For waves and charts: classes that may not send, one bit per counter, DCQCN state of a QP
    output logic [         7:0] paused_o,
    output logic [Counters-1:0] event_o,
    output logic                rate_valid_o,
    output logic [  QpBits-1:0] rate_qp_o,
    output logic [        31:0] rate_o,
    output logic                rate_limited_o,
    output logic [        24:0] alpha_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  localparam int unsigned RegionBits = $clog2(Regions);
  localparam int unsigned AddressBits = $clog2(BufferBytes / DataBytes);

  logic clk_parser, clk_judge, clk_control, clk_dcqcn;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Registers, commands, counters

  nic_settings_t settings;
  class_maps_t maps;
  rp_params_t rp_params;
  logic [31:0] command_data;
  logic qp_command, region_command, rearm, busy, registers_idle, region_write;
  logic [Counters-1:0][31:0] counters;
  logic [1:0][31:0] bytes_high;
  logic discard, drained, drain_idle;
  logic invalidate;
  logic [RegionBits-1:0] invalidate_index;
  logic [Counters-1:0] receive_event, transmit_event;

  nic_registers u_registers (
      .clk_i           (clk_control),
      .rst_i,
      .awvalid_i,
      .awready_o,
      .awaddr_i,
      .wvalid_i,
      .wready_o,
      .wdata_i,
      .wstrb_i,
      .bvalid_o,
      .bready_i,
      .bresp_o,
      .arvalid_i,
      .arready_o,
      .araddr_i,
      .rvalid_o,
      .rready_i,
      .rdata_o,
      .rresp_o,
      .settings_o      (settings),
      .data_o          (command_data),
      .qp_command_o    (qp_command),
      .busy_i          (busy),
      .region_command_o(region_command),
      .rearm_o         (rearm),
      .counters_i      (counters),
      .high_i          (bytes_high),
      .idle_o          (registers_idle)
  );

  assign maps = '{by_pcp: settings.class_by_pcp, pcp: settings.pcp_map, dscp: settings.dscp_map};
  assign rp_params = '{
          rate_max: settings.rate_max,
          rate_min: settings.rate_min,
          rate_ai: settings.rate_ai,
          rate_hai: settings.rate_hai,
          g: settings.g,
          alpha_time: settings.alpha_time,
          rate_time: settings.rate_time,
          byte_limit: settings.byte_limit,
          stages: settings.stages
      };

  region_t region;
  assign region = '{
          valid: settings.region_valid,
          local_write: settings.region_local_write,
          remote_write: settings.region_remote_write,
          tag: settings.region_tag,
          base: {settings.region_base_high, settings.region_base_low},
          length: {settings.region_length_high, settings.region_length_low}
      };
  assign region_write = region_command && 32'(command_data[15:0]) < Regions;

  logic path_write, kind_open, requester_valid, requester_ready, responder_valid, responder_ready;
  logic rp_open_valid, rp_open_ready, np_open_valid, np_open_ready;
  logic [QpBits-1:0] command_qp;
  path_t path;
  peer_t peer;
  requester_config_t requester_configuration;
  responder_config_t responder_configuration;
  logic [Qps-1:0] open;
  class_t [Qps-1:0] classes;
  logic [Qps-1:0] tagged_paths, holds;
  logic [3:0] classes_used;

  qp_commands #(
      .Qps(Qps)
  ) u_commands (
      .clk_i            (clk_control),
      .rst_i,
      .command_i        (qp_command && 32'(command_data[15:0]) < Qps),
      .open_i           (command_data[16]),
      .qp_i             (command_data[QpBits-1:0]),
      .settings_i       (settings),
      .maps_i           (maps),
      .busy_o           (busy),
      .write_o          (path_write),
      .qp_o             (command_qp),
      .path_o           (path),
      .peer_o           (peer),
      .discard_o        (discard),
      .drained_i        (drained),
      .kind_open_o      (kind_open),
      .requester_valid_o(requester_valid),
      .requester_o      (requester_configuration),
      .requester_ready_i(requester_ready),
      .responder_valid_o(responder_valid),
      .responder_o      (responder_configuration),
      .responder_ready_i(responder_ready),
      .rp_valid_o       (rp_open_valid),
      .rp_ready_i       (rp_open_ready),
      .np_valid_o       (np_open_valid),
      .np_ready_i       (np_open_ready),
      .open_o           (open),
      .class_o          (classes),
      .tagged_o         (tagged_paths),
      .classes_used_o   (classes_used)
  );

  logic unused_command;
  assign unused_command = ^command_data[31:17];

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Receive

  logic head_valid, done_valid, payload_valid, unused_payload_last;
  parse_result_t result;
  eth_head_t eth;
  control_t control;
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
      .rx_valid_i,
      .rx_last_i,
      .rx_bytes_i,
      .rx_data_i,
      .head_valid_o   (head_valid),
      .done_valid_o   (done_valid),
      .result_o       (result),
      .eth_o          (eth),
      .control_o      (control),
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

  logic pause_frame, pfc_rx_idle;  // `pause_frame`: from rx_classify
  pfc_rx_event_t pause_event;
  cycle_t pfc_rx_wake;

  pfc_rx #(
      .QuantumNum(QuantumNum),
      .QuantumDen(QuantumDen)
  ) u_pfc_rx (
      .clk_i         (clk_control),
      .rst_i,
      .now_i,
      .frame_valid_i (pause_frame),
      .frame_pfc_i   (result.verdict == VerdictPfc),
      .control_i     (control),
      .pfc_classes_i (settings.pfc_classes),
      .pause_enable_i(settings.pause_obeyed),
      .paused_o,
      .event_o       (pause_event),
      .idle_o        (pfc_rx_idle),
      .wake_o        (pfc_rx_wake)
  );

  logic judged_valid, judged_payload_valid, classify_moves, classify_idle;
  fate_e fate;
  logic [QpBits-1:0] judged_qp;
  judged_t judged;
  logic [DataBytes*8-1:0] judged_payload;
  class_t judged_class;

  rx_classify #(
      .DataBytes(DataBytes),
      .Qps      (Qps),
      .Regions  (Regions)
  ) u_classify (
      .clk_i             (clk_judge),
      .clk_beats_i       (clk_parser),
      .rst_i,
      .port_mac_i        ({settings.port_mac_high, settings.port_mac_low}),
      .qpn_base_i        (settings.qpn_base),
      .maps_i            (maps),
      .open_i            (open),
      .peer_write_i      (path_write),
      .peer_qp_i         (command_qp),
      .peer_i            (peer),
      .region_write_i    (region_write),
      .region_index_i    (command_data[RegionBits-1:0]),
      .region_i          (region),
      .invalidate_i      (invalidate),
      .invalidate_index_i(invalidate_index),
      .done_valid_i      (done_valid),
      .result_i          (result),
      .eth_i             (eth),
      .ip_i              (ip),
      .bth_i             (bth),
      .ext_i             (ext),
      .payload_valid_i   (payload_valid),
      .payload_bytes_i   (payload_bytes),
      .payload_data_i    (payload_data),
      .control_valid_o   (pause_frame),
      .done_valid_o      (judged_valid),
      .fate_o            (fate),
      .qp_o              (judged_qp),
      .judged_o          (judged),
      .class_o           (judged_class),
      .payload_valid_o   (judged_payload_valid),
      .payload_data_o    (judged_payload),
      .moves_o           (classify_moves),
      .idle_o            (classify_idle)
  );

  // CNPs and answers have queues of their own, so that they do not wait behind requests. Several waiting CNPs of one
  // QP become one.
  logic cnp_in, cnp_in_valid, cnp_in_ready, cnps_in_idle, answer_in, answer_room, answer_valid, answer_ready;
  logic [QpBits-1:0] cnp_in_qp, answer_qp;
  logic [6:0] answers_in;
  psn_t answer_psn;
  logic [7:0] answer_syndrome;

  assign cnp_in    = judged_valid && fate == FateCnp && settings.dcqcn_on;
  assign answer_in = judged_valid && fate == FateAnswer;

  qp_set #(
      .Qps(Qps)
  ) u_cnps_in (
      .clk_i     (clk_dcqcn),
      .rst_i,
      .add_i     (cnp_in),
      .add_qp_i  (judged_qp),
      .clear_i   (discard),
      .clear_qp_i(command_qp),
      .valid_o   (cnp_in_valid),
      .qp_o      (cnp_in_qp),
      .ready_i   (cnp_in_ready),
      .idle_o    (cnps_in_idle)
  );

  fifo #(
      .Width(QpBits + 32),
      .Depth(64)
  ) u_answers_in (
      .clk_i  (clk_control),
      .rst_i,
      .valid_i(answer_in),
      .ready_o(answer_room),
      .data_i ({judged_qp, judged.arrival.psn, judged.syndrome}),
      .valid_o(answer_valid),
      .ready_i(answer_ready),
      .data_o ({answer_qp, answer_psn, answer_syndrome}),
      .count_o(answers_in)
  );

  waiting_t header_in;
  waiting_t [Buffers-1:0] header;
  logic [Buffers-1:0] header_valid, header_ready;
  logic [Buffers-1:0][QpBits-1:0] header_qp;
  logic buffer_full, buffer_moves, buffer_idle;
  buffer_t [7:0] buffer_of;
  logic [Buffers-1:0][AddressBits-1:0] ring_first, ring_last;
  logic ring_read, release_valid;
  logic [AddressBits-1:0] ring_address;
  logic [DataBytes*8-1:0] ring_data;
  class_t release_class;
  logic [15:0] release_bytes;
  beats_t release_beats;
  logic [Buffers-1:0][$clog2(BufferBytes / 64 + 1)-1:0] headers;
  logic [7:0][23:0] depth;

  assign header_in = '{
          class_of: judged.class_of,
          frame_bytes: judged.frame_bytes,
          beat: '0,
          arrival: judged.arrival
      };

  logic unused_map;
  for (genvar c = 0; c < 8; c++) begin : gen_part
    assign buffer_of[c] = settings.buffer_map[4*c+:2];
  end
  assign unused_map = ^settings.buffer_map;

  receive_buffer #(
      .DataBytes  (DataBytes),
      .Qps        (Qps),
      .BufferBytes(BufferBytes)
  ) u_buffer (
      .clk_i          (clk_judge),
      .clk_beats_i    (clk_parser),
      .rst_i,
      .cells_i        (settings.buffer_cells),
      .buffer_of_i    (buffer_of),
      .class_i        (judged_class),
      .payload_valid_i(judged_payload_valid),
      .payload_data_i (judged_payload),
      .done_valid_i   (judged_valid),
      .keep_i         (fate == FateRequest),
      .qp_i           (judged_qp),
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
      .release_bytes_i(release_bytes),
      .release_beats_i(release_beats),
      .depth_o        (depth),
      .count_o        (headers),
      .moves_o        (buffer_moves),
      .idle_o         (buffer_idle)
  );

  logic receive_completion_valid, receive_completion_ready, receive_idle;
  logic [QpBits-1:0] receive_completion_qp;
  completion_t receive_completion;
  logic [7:0] answer_head, answer_pop;
  logic receive_pass, receive_refusing, send_failed_valid, send_failed_ready, send_failed_idle, receive_fails;
  logic [QpBits-1:0] send_failed_qp, receive_fails_qp;
  logic [$clog2(8 * (Recvs + 1) + 9)-1:0] receive_steps;
  logic [7:0][QpBits-1:0] answer_head_qp;
  response_t [7:0] answer_response;

  receive_engine #(
      .DataBytes  (DataBytes),
      .Qps        (Qps),
      .Recvs      (Recvs),
      .Regions    (Regions),
      .BufferBytes(BufferBytes)
  ) u_receive (
      .clk_i,
      .rst_i,
      .command_valid_i   (responder_valid),
      .command_open_i    (kind_open),
      .command_qp_i      (command_qp),
      .configuration_i   (responder_configuration),
      .psn_i             (settings.qp_responder_psn),
      .command_ready_o   (responder_ready),
      .discard_i         (discard),
      .pass_o            (receive_pass),
      .count_o           (receive_steps),
      .refusing_o        (receive_refusing),
      .fail_valid_i      (send_failed_valid),
      .fail_qp_i         (send_failed_qp),
      .fail_ready_o      (send_failed_ready),
      .failed_o          (receive_fails),
      .failed_qp_o       (receive_fails_qp),
      .region_write_i    (region_write),
      .region_index_i    (command_data[RegionBits-1:0]),
      .region_i          (region),
      .invalidate_o      (invalidate),
      .invalidate_index_o(invalidate_index),
      .recv_valid_i,
      .recv_qp_i,
      .recv_i,
      .recv_ready_o,
      .packet_valid_i    (header_valid),
      .packet_qp_i       (header_qp),
      .packet_i          (header),
      .packet_ready_o    (header_ready),
      .class_i           (classes),
      .buffer_of_i       (buffer_of),
      .first_i           (ring_first),
      .last_i            (ring_last),
      .read_o            (ring_read),
      .read_address_o    (ring_address),
      .read_data_i       (ring_data),
      .write_valid_o,
      .write_va_o,
      .write_key_o,
      .write_remote_o,
      .write_first_o,
      .write_last_o,
      .write_bytes_o,
      .write_data_o,
      .write_ready_i,
      .release_o         (release_valid),
      .release_class_o   (release_class),
      .release_bytes_o   (release_bytes),
      .release_beats_o   (release_beats),
      .completion_valid_o(receive_completion_valid),
      .completion_qp_o   (receive_completion_qp),
      .completion_o      (receive_completion),
      .completion_ready_i(receive_completion_ready),
      .answer_o          (answer_head),
      .answer_qp_o       (answer_head_qp),
      .answer_response_o (answer_response),
      .answer_pop_i      (answer_pop),
      .event_o           (receive_event),
      .idle_o            (receive_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Pause

  logic pfc_valid, pfc_ready, silence, bark, pfc_tx_idle, watchdog_idle, silence_q;
  control_t pfc_frame;
  logic [7:0] xoff;
  cycle_t pfc_tx_wake, watchdog_wake;

  pfc_tx u_pfc_tx (
      .clk_i        (clk_control),
      .rst_i,
      .now_i,
      .depth_i      (depth),
      .xoff_i       (settings.pfc_xoff),
      .xon_i        (settings.pfc_xon),
      .classes_i    (settings.pfc_classes),
      .quanta_i     (settings.pfc_quanta),
      .refresh_i    (settings.pfc_refresh),
      .silence_i    (silence),
      .frame_valid_o(pfc_valid),
      .frame_o      (pfc_frame),
      .frame_ready_i(pfc_ready),
      .xoff_o       (xoff),
      .idle_o       (pfc_tx_idle),
      .wake_o       (pfc_tx_wake)
  );

  pause_watchdog u_watchdog (
      .clk_i       (clk_control),
      .rst_i,
      .now_i,
      .pausing_i   (xoff != '0),
      .progress_i  (release_valid),
      .bark_i      ({settings.bark_high, settings.bark_low}),
      .bite_i      ({settings.bite_high, settings.bite_low}),
      .rearm_i     (rearm),
      .auto_rearm_i(settings.auto_rearm),
      .bark_o      (bark),
      .silence_o   (silence),
      .idle_o      (watchdog_idle),
      .wake_o      (watchdog_wake)
  );

  always_ff @(posedge clk_control) begin
    if (rst_i) silence_q <= 1'b0;
    else silence_q <= silence;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // DCQCN

  typedef enum logic [1:0] {
    FromOpen  = 2'd0,
    FromCnp   = 2'd1,
    FromBytes = 2'd2
  } from_e;

  logic [2:0] rp_wish, rp_grant;
  logic [1:0] rp_from;
  logic rp_valid, rp_ready, bytes_valid, bytes_ready, sent_valid, sent_ready;
  logic [1:0] rp_kind;
  logic [QpBits-1:0] rp_qp, sent_qp;
  logic [15:0] sent_bytes;

  assign rp_wish[FromOpen]  = rp_open_valid;
  assign rp_wish[FromCnp]   = cnp_in_valid;
  assign rp_wish[FromBytes] = bytes_valid;

  // The reaction point takes no event of a QP that is in its pipeline. A source that was refused for two cycles is
  // masked in the third, so that the events of one QP do not block those of other QPs.
  logic refused_q, unused_rp_moves;
  logic [2:0] pass_q, rp_request;

  assign rp_request = ((rp_wish & ~pass_q) != '0) ? rp_wish & ~pass_q : rp_wish;

  always_ff @(posedge clk_dcqcn) begin
    if (rst_i) begin
      refused_q <= 1'b0;
      pass_q    <= '0;
    end else begin
      refused_q <= rp_valid && !rp_ready && !refused_q;
      pass_q    <= (rp_valid && !rp_ready && refused_q) ? rp_grant : '0;
    end
  end

  round_robin_arbiter #(
      .Count(3)
  ) u_rp_turn (
      .clk_i(clk_dcqcn),
      .rst_i,
      .request_i(rp_request),
      .valid_o(rp_valid),
      .grant_o(rp_grant),
      .index_o(rp_from),
      .ready_i(rp_ready),
      .moves_o(unused_rp_moves)
  );

  always_comb begin
    case (from_e'(rp_from))
      FromOpen: {rp_kind, rp_qp} = {kind_open ? RpOpen[1:0] : RpClose[1:0], command_qp};
      FromCnp:  {rp_kind, rp_qp} = {RpCnp[1:0], cnp_in_qp};
      default:  {rp_kind, rp_qp} = {RpBytes[1:0], sent_qp};
    endcase
  end

  assign rp_open_ready = rp_grant[FromOpen] && rp_ready;
  assign cnp_in_ready  = rp_grant[FromCnp] && rp_ready;
  assign bytes_ready   = rp_grant[FromBytes] && rp_ready;

  logic rp_step, rp_rate, rp_idle, limiter_idle;
  logic [QpBits-1:0] rp_step_qp;
  rp_context_t rp_context;
  rp_kind_e rp_step_kind;
  cycle_t unused_rp_now, rp_wake, limiter_wake;
  logic [15:0] unused_rp_bytes;

  dcqcn_rp #(
      .Qps(Qps)
  ) u_rp (
      .clk_i         (clk_dcqcn),
      .rst_i,
      .now_i,
      .params_i      (rp_params),
      .event_valid_i (rp_valid),
      .event_kind_i  (rp_kind),
      .event_qp_i    (rp_qp),
      .event_bytes_i (sent_bytes),
      .event_ready_o (rp_ready),
      .step_valid_o  (rp_step),
      .step_kind_o   (rp_step_kind),
      .step_qp_o     (rp_step_qp),
      .step_now_o    (unused_rp_now),
      .step_bytes_o  (unused_rp_bytes),
      .step_context_o(rp_context),
      .rate_valid_o  (rp_rate),
      .idle_o        (rp_idle),
      .wake_o        (rp_wake)
  );

  logic unused_rp_context;
  assign unused_rp_context = ^rp_context;

  // A CNP or a timer may change α without changing the rate.
  assign rate_valid_o = rp_step && (rp_rate || (rp_context.open && rp_step_kind inside {RpCnp, RpTimer}));
  assign rate_qp_o = rp_step_qp;
  assign rate_o = rp_context.rate_current;
  assign rate_limited_o = rp_context.limited;
  assign alpha_o = rp_context.alpha;

  logic [7:0] fresh;
  logic fresh_idle;

  resumed_classes u_resumed (
      .clk_i(clk_dcqcn),
      .rst_i,
      .now_i,
      .window_i(settings.limiter_burst),
      .paused_i(paused_o),
      .fresh_o(fresh),
      .idle_o(fresh_idle)
  );

  logic [Qps-1:0] eligible;
  logic unused_update_ready, unused_gap_valid, unused_gap_limited;
  logic [QpBits-1:0] unused_gap_qp;
  logic [31:0] unused_gap;

  rate_limiter #(
      .Qps     (Qps),
      .PeriodPs(PeriodPs)
  ) u_limiter (
      .clk_i(clk_dcqcn),
      .rst_i,
      .now_i,
      .update_valid_i(rp_step && rp_rate),
      .update_qp_i(rp_step_qp),
      .update_rate_i(rp_context.rate_current),
      .update_limited_i(rp_context.limited),
      .update_ready_o(unused_update_ready),  // no step comes while reset clears both
      .sent_valid_i(sent_valid),
      .sent_qp_i(sent_qp),
      .sent_bytes_i(sent_bytes),
      .sent_ready_o(sent_ready),
      .burst_i(fresh[classes[sent_qp]] ? 16'd0 : settings.limiter_burst),
      .eligible_o(eligible),
      .gap_valid_o(unused_gap_valid),
      .gap_qp_o(unused_gap_qp),
      .gap_o(unused_gap),
      .gap_limited_o(unused_gap_limited),
      .idle_o(limiter_idle),
      .wake_o(limiter_wake)
  );

  // CE marks are reported when their packet is judged, whatever the responder does with it. They have priority over
  // OPENs because they cannot wait.
  logic marked, mark, np_ready, np_cnp, np_idle, cnp_valid, cnp_ready, cnps_idle;
  logic [QpBits-1:0] np_cnp_qp, cnp_qp;
  cycle_t unused_np_wake;  // no deadline

  assign marked        = judged_valid && fate == FateRequest && judged.ce;
  assign mark          = marked && settings.dcqcn_on;
  assign np_open_ready = np_ready && !mark;

  dcqcn_np #(
      .Qps(Qps)
  ) u_np (
      .clk_i        (clk_dcqcn),
      .rst_i,
      .now_i,
      .interval_i   (settings.cnp_interval),
      .event_valid_i(mark || np_open_valid),
      .event_open_i (!mark),
      .event_qp_i   (mark ? judged_qp : command_qp),
      .event_ready_o(np_ready),
      .cnp_valid_o  (np_cnp),
      .cnp_qp_o     (np_cnp_qp),
      .idle_o       (np_idle),
      .wake_o       (unused_np_wake)
  );

  qp_set #(
      .Qps(Qps)
  ) u_cnps (
      .clk_i     (clk_dcqcn),
      .rst_i,
      .add_i     (np_cnp),
      .add_qp_i  (np_cnp_qp),
      .clear_i   (discard),
      .clear_qp_i(command_qp),
      .valid_o   (cnp_valid),
      .qp_o      (cnp_qp),
      .ready_i   (cnp_ready),
      .idle_o    (cnps_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Transmit and completions

  logic send_completion_valid, completion_room, completions_idle, transmit_idle;
  logic [$clog2(8 * (Wqes + 1) + 9)-1:0] completions;
  logic [15:0] frame_bytes_out;
  logic [QpBits-1:0] send_completion_qp;
  completion_t send_completion;
  fetch_t fetch;
  cycle_t requester_wake;
  logic receive_failed_valid, receive_failed_ready, receive_failed_idle, send_fails;
  logic [QpBits-1:0] receive_failed_qp, send_fails_qp;

  transmit_engine #(
      .DataBytes(DataBytes),
      .Qps      (Qps),
      .Wqes     (Wqes),
      .PeriodPs (PeriodPs),
      .Slots    (Slots)
  ) u_transmit (
      .clk_i,
      .rst_i,
      .now_i,
      .paused_i          (paused_o),
      .dcqcn_on_i        (settings.dcqcn_on),
      .cnp_dscp_i        (settings.cnp_dscp),
      .cnp_pcp_i         (settings.cnp_pcp),
      .port_mac_i        ({settings.port_mac_high, settings.port_mac_low}),
      .maps_i            (maps),
      .path_write_i      (path_write),
      .path_qp_i         (command_qp),
      .path_i            (path),
      .command_valid_i   (requester_valid),
      .command_open_i    (kind_open),
      .configuration_i   (requester_configuration),
      .psn_i             (settings.qp_requester_psn),
      .command_ready_o   (requester_ready),
      .class_i           (classes),
      .tagged_i          (tagged_paths),
      .classes_used_i    (classes_used),
      .holds_o           (holds),
      .fail_valid_i      (receive_failed_valid),
      .fail_qp_i         (receive_failed_qp),
      .fail_ready_o      (receive_failed_ready),
      .failed_o          (send_fails),
      .failed_qp_o       (send_fails_qp),
      .work_valid_i,
      .work_qp_i,
      .work_i,
      .work_ready_o,
      .ack_valid_i       (answer_valid),
      .ack_qp_i          (answer_qp),
      .ack_psn_i         (answer_psn),
      .ack_syndrome_i    (answer_syndrome),
      .ack_ready_o       (answer_ready),
      .completion_valid_o(send_completion_valid),
      .completion_qp_o   (send_completion_qp),
      .completion_o      (send_completion),
      .completion_room_i (completion_room),
      .eligible_i        (eligible),
      .sent_valid_o      (sent_valid),
      .bytes_valid_o     (bytes_valid),
      .sent_qp_o         (sent_qp),
      .sent_bytes_o      (sent_bytes),
      .sent_ready_i      (sent_ready),
      .bytes_ready_i     (bytes_ready),
      .pfc_valid_i       (pfc_valid),
      .pfc_i             (pfc_frame),
      .pfc_ready_o       (pfc_ready),
      .cnp_valid_i       (cnp_valid),
      .cnp_qp_i          (cnp_qp),
      .cnp_ready_o       (cnp_ready),
      .answer_i          (answer_head),
      .answer_qp_i       (answer_head_qp),
      .answer_response_i (answer_response),
      .answer_pop_o      (answer_pop),
      .read_ahead_i      (settings.read_ahead),
      .read_valid_o,
      .read_tag_o,
      .read_o            (fetch),
      .read_ready_i,
      .data_valid_i,
      .data_tag_i,
      .data_last_i,
      .data_data_i,
      .tx_valid_o,
      .tx_last_o,
      .tx_bytes_o,
      .tx_data_o,
      .tx_ready_i,
      .frame_bytes_o     (frame_bytes_out),
      .event_o           (transmit_event),
      .idle_o            (transmit_idle),
      .wake_o            (requester_wake)
  );

  assign {read_va_o, read_key_o, read_bytes_o} = fetch;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Failure and drain. A QP has one state: when one half fails, the other half gets FAIL. The drain monitor finds out
  // when nothing of a closed QP is left.

  qp_set #(
      .Qps(Qps)
  ) u_send_failed (
      .clk_i     (clk_control),
      .rst_i,
      .add_i     (send_fails),
      .add_qp_i  (send_fails_qp),
      .clear_i   (discard),
      .clear_qp_i(command_qp),
      .valid_o   (send_failed_valid),
      .qp_o      (send_failed_qp),
      .ready_i   (send_failed_ready),
      .idle_o    (send_failed_idle)
  );

  qp_set #(
      .Qps(Qps)
  ) u_receive_failed (
      .clk_i     (clk_control),
      .rst_i,
      .add_i     (receive_fails),
      .add_qp_i  (receive_fails_qp),
      .clear_i   (discard),
      .clear_qp_i(command_qp),
      .valid_o   (receive_failed_valid),
      .qp_o      (receive_failed_qp),
      .ready_i   (receive_failed_ready),
      .idle_o    (receive_failed_idle)
  );

  qp_drain #(
      .HeaderBits($bits(headers[0])),
      .AnswerBits($bits(answers_in)),
      .StepBits($bits(receive_steps)),
      .CompletionBits($bits(completions))
  ) u_drain (
      .clk_i           (clk_control),
      .rst_i,
      .discard_i       (discard),
      .headers_i       (headers),
      .header_pop_i    (header_valid & header_ready),
      .answers_i       (answers_in),
      .answer_pop_i    (answer_valid && answer_ready),
      .steps_i         (receive_steps),
      .step_pop_i      (receive_pass),
      .refusing_i      (receive_refusing),
      .holds_i         (holds[command_qp]),
      .completions_i   (completions),
      .completion_pop_i(cqe_valid_o && cqe_ready_i),
      .drained_o       (drained),
      .idle_o          (drain_idle)
  );

  completion_queue #(
      .Qps (Qps),
      .Wqes(Wqes)
  ) u_completions (
      .clk_i          (clk_control),
      .rst_i,
      .send_valid_i   (send_completion_valid),
      .send_qp_i      (send_completion_qp),
      .send_i         (send_completion),
      .receive_valid_i(receive_completion_valid),
      .receive_qp_i   (receive_completion_qp),
      .receive_i      (receive_completion),
      .receive_ready_o(receive_completion_ready),
      .cqe_valid_o,
      .cqe_qp_o,
      .cqe_o,
      .cqe_ready_i,
      .count_o        (completions),
      .room_o         (completion_room),
      .idle_o         (completions_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Events and idle

  always_comb begin
    event_o = receive_event | transmit_event;
    event_o[CountFramesIn] = judged_valid;
    event_o[CountBytesIn] = judged_valid;
    if (judged_valid) begin
      event_o[CountDropNotRoce]   = fate == FateNotRoce;
      event_o[CountDropMalformed] = fate == FateMalformed;
      event_o[CountDropRoceV1]    = fate == FateRoceV1;
      event_o[CountDropService]   = fate == FateService;
      event_o[CountDropIcrc]      = fate == FateIcrc;
      event_o[CountDropQp]        = fate == FateQp;
      event_o[CountDropResponse]  = fate == FateResponse;
      event_o[CountDropPayload]   = fate == FatePayload;
      event_o[CountDropAddress]   = fate == FateAddress;
      event_o[CountDropFull]      = buffer_full || (answer_in && !answer_room);
      event_o[CountCnpsIn]        = fate == FateCnp;
      event_o[CountMarkedIn]      = marked;
    end
    event_o[CountPfcIn]        = pause_event.pfc;
    event_o[CountPauseIn]      = pause_event.pause;
    event_o[CountPauseIgnored] = pause_event.ignored;
    event_o[CountBarks]        = bark;
    event_o[CountBites]        = silence && !silence_q;
  end

  nic_counters u_counters (
      .clk_i,
      .rst_i,
      .event_i    (event_o),
      .bytes_in_i (judged.frame_bytes),
      .bytes_out_i(frame_bytes_out),
      .counters_o (counters),
      .high_o     (bytes_high)
  );


  logic unused_head_valid;
  assign unused_head_valid = head_valid;

  assign idle_o = !rx_valid_i && moving_q == '0 && !work_valid_i && !recv_valid_i && !data_valid_i && event_o == '0 &&
      registers_idle && !busy && drain_idle &&
      pfc_rx_idle && classify_idle && cnps_in_idle && send_failed_idle && receive_failed_idle && answers_in == '0 &&
      buffer_idle && receive_idle && pfc_tx_idle && watchdog_idle &&
      silence == silence_q && rp_wish == '0 && !refused_q && pass_q == '0 && rp_idle &&
      fresh_idle && limiter_idle && np_idle && cnps_idle && transmit_idle && completions_idle;

  earliest #(
      .Count(6)
  ) u_wake (
      .valid_i('1),
      .at_i   ({requester_wake, limiter_wake, rp_wake, watchdog_wake, pfc_tx_wake, pfc_rx_wake}),
      .at_o   (wake_o)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Clocks. An enable counts what the idle of a unit leaves out because it changes nothing by itself: a command, a
  // read of the ring, a pause that ends.

  clock_gate u_clk_parser (
      .clk_i,
      .enable_i(rst_i || rx_valid_i || moving_q != '0 || ring_read),
      .clk_o   (clk_parser)
  );

  clock_gate u_clk_judge (
      .clk_i,
      .enable_i(rst_i || classify_moves || buffer_moves),
      .clk_o   (clk_judge)
  );

  clock_gate u_clk_control (
      .clk_i,
      .enable_i(rst_i || !registers_idle || qp_command || busy || !drain_idle || !pfc_rx_idle ||
          !pfc_tx_idle || !watchdog_idle || silence != silence_q || answer_in || answers_in != '0 || !send_failed_idle ||
          !receive_failed_idle || !completions_idle),
      .clk_o(clk_control)
  );

  clock_gate u_clk_dcqcn (
      .clk_i,
      .enable_i(rst_i || !cnps_in_idle || rp_wish != '0 || refused_q || pass_q != '0 || !rp_idle || !fresh_idle ||
          !limiter_idle || !np_idle || !cnps_idle),
      .clk_o(clk_dcqcn)
  );

endmodule
