// Top level of the NIC: a RoCEv2 pipeline between a MAC and a host. rtl/nic/README.md is the contract.
//
//     rx ─► nic_receive ─┬─ requests ─► DMA writes, atomics ──────► host
//                        ├─ own answers ──────┐
//                        ├─ answers of peers ─┤  (READ responses go there by way of the buffer, and back)
//                        ├─ CNPs, CE marks ─► nic_congestion ─┐
//                        ├─ pause frames ───┐                 │
//                        └─ depth ──────────┴► nic_pause ─────┤
//     host ─► work requests, DMA reads ─────► nic_transmit ◄──┘ ─► tx
//     host ◄► nic_control: registers, OPEN and CLOSE of QPs, failures, completions, counters
//
// This module connects the rooms and has no state of its own. Each room has its gated clocks; only the gates are on
// `clk_i`.
//
// Timing: `idle_o` and the readies of registers, work requests and receive buffers depend on inputs of the same
// cycle. So do the tx outputs, as described in packet_builder.
module nic
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*, time_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Wqes        = 16,
    parameter  int unsigned Recvs       = 16,
    parameter  int unsigned Reads       = 16,
    parameter  int unsigned PeriodPs    = 5120,
    parameter  int unsigned QuantumNum  = 5,
    parameter  int unsigned QuantumDen  = 2,
    parameter  int unsigned BufferBytes = 131072,
    parameter  int unsigned Slots       = 32,
    parameter  int unsigned Regions     = 256,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned SlotBits    = $clog2(Slots)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    // MAC
    input  logic                   rx_valid_i,
    input  logic                   rx_control_i,
    input  logic                   rx_last_i,
    input  logic [            6:0] rx_bytes_i,
    input  logic [DataBytes*8-1:0] rx_data_i,
    output logic                   tx_valid_o,
    output logic                   tx_last_o,
    output logic [            6:0] tx_bytes_o,
    output logic [DataBytes*8-1:0] tx_data_o,
    input  logic                   tx_ready_i,
    input  logic                   link_down_i,

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
    input  logic                   data_error_i,    // with the last beat: the host cannot read the payload
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

    // Atomics, which the host performs in their order, and what they found in memory
    output logic        atomic_valid_o,
    output logic        atomic_add_o,       // fetch and add, of `atomic_swap_add_o`; else compare and swap
    output logic [63:0] atomic_va_o,
    output logic [31:0] atomic_key_o,
    output logic [63:0] atomic_swap_add_o,
    output logic [63:0] atomic_compare_o,
    input  logic        atomic_ready_i,
    input  logic        original_valid_i,
    input  logic [63:0] original_i,

    // Page table entries, which the host reads in their order
    output logic          entry_valid_o,
    output entry_number_t entry_number_o,
    input  logic          entry_ready_i,
    input  logic          entry_come_i,    // the oldest one that was asked for
    input  logic          entry_there_i,   // names a page

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

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Control

  nic_settings_t settings;
  class_maps_t   maps;
  logic rearm, region_write, path_write, command_open, command_query, discard, forget, control_idle;
  logic [RegionBits-1:0] region_index;
  region_t region;
  table_t pages;
  logic translator_busy, reads_pass, invalidate;
  logic [RegionBits-1:0] invalidate_index;
  path_t path;
  peer_t peer;
  logic [QpBits-1:0] command_qp;
  logic requester_valid, requester_ready, responder_valid, responder_ready, rp_valid, rp_ready, np_valid, np_ready;
  requester_config_t requester_configuration;
  responder_config_t responder_configuration;
  logic requester_step, responder_step;
  logic [QpBits-1:0] requester_step_qp, responder_step_qp;
  requester_context_t requester_context;
  responder_context_t responder_context;
  logic [Qps-1:0] open, with_tags, holds;
  class_t [Qps-1:0] classes, answer_classes;
  logic [7:0] class_open;

  // Numbers of what waits in nic_receive
  localparam int unsigned HeaderBits = $clog2(BufferBytes / 64 + 1);
  localparam int unsigned AnswerBits = $clog2(AnswersIn + 1);
  localparam int unsigned StepBits = $clog2(8 * (Recvs + 1) + 9);
  localparam int unsigned AtomicBits = $clog2(AtomicsOut + 1);

  logic [Buffers-1:0][HeaderBits-1:0] headers;
  logic [Buffers-1:0] header_pop;
  logic [Qps-1:0] awaits;
  logic reaction_valid, reaction_ready, landing_valid, landed, checked, unwritten, send_completion_silent;
  logic [QpBits-1:0] reaction_qp, landing_qp, unwritten_qp;
  reaction_t reaction;
  landing_t landing;
  logic [AnswerBits-1:0] answers;
  logic [Buffers-1:0][StepBits-1:0] steps;
  logic [Buffers-1:0] step_pop;
  logic answer_pop, refusing, atomic_pop;
  buffer_t landing_part, landed_part, checked_part;
  logic [AtomicBits-1:0] atomics;
  place_t atomic_place;
  atomic_t atomic;

  logic send_failed, receive_failed, fail_send_valid, fail_send_ready, fail_receive_valid, fail_receive_ready;
  logic [QpBits-1:0] send_failed_qp, receive_failed_qp, fail_send_qp, fail_receive_qp;
  logic [Qps-1:0] send_failing;

  logic send_completion_valid, send_completion_room, receive_completion_valid, receive_completion_ready;
  logic [QpBits-1:0] send_completion_qp, receive_completion_qp;
  completion_t send_completion, receive_completion;

  logic [15:0] bytes_in, bytes_out;

  nic_control #(
      .Qps       (Qps),
      .Wqes      (Wqes),
      .Regions   (Regions),
      .HeaderBits(HeaderBits),
      .AnswerBits(AnswerBits),
      .StepBits  (StepBits),
      .AtomicBits(AtomicBits),
      .Cells     (BufferBytes / 64)
  ) u_control (
      .clk_i,
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
      .settings_o          (settings),
      .maps_o              (maps),
      .rearm_o             (rearm),
      .region_write_o      (region_write),
      .region_index_o      (region_index),
      .region_o            (region),
      .reads_pass_i        (reads_pass),
      .table_o             (pages),
      .translator_busy_i   (translator_busy),
      .path_write_o        (path_write),
      .path_o              (path),
      .peer_o              (peer),
      .command_open_o      (command_open),
      .command_query_o     (command_query),
      .command_qp_o        (command_qp),
      .requester_valid_o   (requester_valid),
      .requester_o         (requester_configuration),
      .requester_ready_i   (requester_ready),
      .responder_valid_o   (responder_valid),
      .responder_o         (responder_configuration),
      .responder_ready_i   (responder_ready),
      .rp_valid_o          (rp_valid),
      .rp_ready_i          (rp_ready),
      .np_valid_o          (np_valid),
      .np_ready_i          (np_ready),
      .requester_step_i    (requester_step),
      .requester_qp_i      (requester_step_qp),
      .requester_context_i (requester_context),
      .responder_step_i    (responder_step),
      .responder_qp_i      (responder_step_qp),
      .responder_context_i (responder_context),
      .discard_o           (discard),
      .forget_o            (forget),
      .open_o              (open),
      .class_o             (classes),
      .answer_class_o      (answer_classes),
      .tagged_o            (with_tags),
      .class_open_o        (class_open),
      .headers_i           (headers),
      .header_pop_i        (header_pop),
      .answers_i           (answers),
      .answer_pop_i        (answer_pop),
      .steps_i             (steps),
      .step_pop_i          (step_pop),
      .atomics_i           (atomics),
      .atomic_pop_i        (atomic_pop),
      .refusing_i          (refusing),
      .holds_i             (holds),
      .landing_i           (landing_valid),
      .landing_part_i      (landing_part),
      .landed_i            (landed),
      .landed_part_i       (landed_part),
      .checked_i           (checked),
      .checked_part_i      (checked_part),
      .unwritten_i         (unwritten),
      .unwritten_qp_i      (unwritten_qp),
      .send_failed_i       (send_failed),
      .send_failed_qp_i    (send_failed_qp),
      .fail_receive_valid_o(fail_receive_valid),
      .fail_receive_qp_o   (fail_receive_qp),
      .fail_receive_ready_i(fail_receive_ready),
      .receive_failed_i    (receive_failed),
      .receive_failed_qp_i (receive_failed_qp),
      .fail_send_valid_o   (fail_send_valid),
      .fail_send_qp_o      (fail_send_qp),
      .fail_send_ready_i   (fail_send_ready),
      .send_failing_o      (send_failing),
      .send_valid_i        (send_completion_valid),
      .send_qp_i           (send_completion_qp),
      .send_silent_i       (send_completion_silent),
      .send_i              (send_completion),
      .send_room_o         (send_completion_room),
      .receive_valid_i     (receive_completion_valid),
      .receive_qp_i        (receive_completion_qp),
      .receive_i           (receive_completion),
      .receive_ready_o     (receive_completion_ready),
      .cqe_valid_o,
      .cqe_qp_o,
      .cqe_o,
      .cqe_ready_i,
      .event_i             (event_o),
      .bytes_in_i          (bytes_in),
      .bytes_out_i         (bytes_out),
      .idle_o              (control_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Translation

  logic [Askers-1:0] verdict_valid, verdict_waits, verdict_gone, verdict_ready;
  logic receive_ask_valid, receive_ask_room, transmit_ask_valid;
  buffer_t receive_ask_ring;
  place_t receive_ask, transmit_ask;
  logic [Counters-1:0] translation_event;
  logic translation_idle;

  nic_translation #(
      .Regions(Regions),
      .Asks   (Slots > 32 ? Slots : 32)
  ) u_translation (
      .clk_i,
      .rst_i,
      .settings_i          (settings),
      .region_write_i      (region_write),
      .region_index_i      (region_index),
      .region_i            (region),
      .table_i             (pages),
      .busy_o              (translator_busy),
      .entry_valid_o,
      .entry_number_o,
      .entry_ready_i,
      .entry_come_i,
      .entry_there_i,
      .receive_ask_valid_i (receive_ask_valid),
      .receive_ask_ring_i  (receive_ask_ring),
      .receive_ask_i       (receive_ask),
      .transmit_ask_valid_i(transmit_ask_valid),
      .transmit_ask_i      (transmit_ask),
      .receive_room_o      (receive_ask_room),
      .verdict_valid_o     (verdict_valid),
      .verdict_waits_o     (verdict_waits),
      .verdict_gone_o      (verdict_gone),
      .verdict_ready_i     (verdict_ready),
      .event_o             (translation_event),
      .idle_o              (translation_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Receive

  logic pause_valid, pause_pfc, cnp_in, mark, progress, receive_idle;
  control_t pause;
  logic [QpBits-1:0] judged_qp;
  logic [7:0][23:0] depth;
  logic ack_valid, ack_ready;
  logic [Qps-1:0] ack_waits;
  logic [QpBits-1:0] ack_qp;
  psn_t ack_psn;
  logic [7:0] ack_syndrome;
  logic [7:0] answer_head, answer_coming, answer_behind, answer_head_pop;
  logic [7:0][QpBits-1:0] answer_head_qp;
  response_t [7:0] answer_response;
  logic [Counters-1:0] receive_event;
  logic [Qps-1:0] answerable, sending;
  logic respond_valid, respond_ready, reply_valid, reply_ready;
  logic unread_valid, unread_ready, refused_valid;
  logic [QpBits-1:0] respond_qp, reply_qp, unread_qp, refused_qp;
  refusal_t unread;
  reply_t   reply;

  nic_receive #(
      .DataBytes  (DataBytes),
      .Qps        (Qps),
      .Recvs      (Recvs),
      .Reads      (Reads),
      .BufferBytes(BufferBytes),
      .Regions    (Regions)
  ) u_receive (
      .clk_i,
      .rst_i,
      .rx_valid_i,
      .rx_control_i,
      .rx_last_i,
      .rx_bytes_i,
      .rx_data_i,
      .settings_i        (settings),
      .maps_i            (maps),
      .open_i            (open),
      .answer_class_i    (answer_classes),
      .path_write_i      (path_write),
      .peer_i            (peer),
      .command_valid_i   (responder_valid),
      .command_open_i    (command_open),
      .command_query_i   (command_query),
      .command_qp_i      (command_qp),
      .configuration_i   (responder_configuration),
      .command_ready_o   (responder_ready),
      .step_o            (responder_step),
      .step_qp_o         (responder_step_qp),
      .step_context_o    (responder_context),
      .pd_i              (settings.qp_pd),
      .region_write_i    (region_write),
      .region_index_i    (region_index),
      .region_i          (region),
      .invalidate_o      (invalidate),
      .invalidate_index_o(invalidate_index),
      .ask_valid_o       (receive_ask_valid),
      .ask_ring_o        (receive_ask_ring),
      .ask_o             (receive_ask),
      .ask_room_i        (receive_ask_room),
      .verdict_valid_i   (verdict_valid[Buffers-1:0]),
      .verdict_waits_i   (verdict_waits[Buffers-1:0]),
      .verdict_gone_i    (verdict_gone[Buffers-1:0]),
      .verdict_ready_o   (verdict_ready[Buffers-1:0]),
      .fail_valid_i      (fail_receive_valid),
      .fail_qp_i         (fail_receive_qp),
      .fail_ready_o      (fail_receive_ready),
      .failed_o          (receive_failed),
      .failed_qp_o       (receive_failed_qp),
      .discard_i         (discard),
      .forget_i          (forget),
      .headers_o         (headers),
      .header_pop_o      (header_pop),
      .answers_o         (answers),
      .answer_pop_o      (answer_pop),
      .steps_o           (steps),
      .step_pop_o        (step_pop),
      .refusing_o        (refusing),
      .atomics_o         (atomics),
      .atomic_pop_o      (atomic_pop),
      .pause_valid_o     (pause_valid),
      .pause_pfc_o       (pause_pfc),
      .pause_o           (pause),
      .cnp_o             (cnp_in),
      .mark_o            (mark),
      .judged_qp_o       (judged_qp),
      .depth_o           (depth),
      .progress_o        (progress),
      .ack_valid_o       (ack_valid),
      .ack_qp_o          (ack_qp),
      .ack_psn_o         (ack_psn),
      .ack_syndrome_o    (ack_syndrome),
      .ack_ready_i       (ack_ready),
      .ack_waits_o       (ack_waits),
      .awaits_i          (awaits),
      .reaction_valid_o  (reaction_valid),
      .reaction_qp_o     (reaction_qp),
      .reaction_o        (reaction),
      .reaction_ready_i  (reaction_ready),
      .landing_valid_i   (landing_valid),
      .landing_qp_i      (landing_qp),
      .landing_i         (landing),
      .landed_o          (landed),
      .landed_part_o     (landed_part),
      .checked_o         (checked),
      .checked_part_o    (checked_part),
      .unwritten_o       (unwritten),
      .unwritten_qp_o    (unwritten_qp),
      .answer_o          (answer_head),
      .answer_qp_o       (answer_head_qp),
      .answer_response_o (answer_response),
      .answer_coming_o   (answer_coming),
      .answer_behind_o   (answer_behind),
      .answer_pop_i      (answer_head_pop),
      .answerable_o      (answerable),
      .sending_i         (sending),
      .read_valid_i      (respond_valid),
      .read_qp_i         (respond_qp),
      .read_ready_o      (respond_ready),
      .reply_valid_o     (reply_valid),
      .reply_qp_o        (reply_qp),
      .reply_o           (reply),
      .reply_ready_i     (reply_ready),
      .unread_valid_i    (unread_valid),
      .unread_qp_i       (unread_qp),
      .unread_i          (unread),
      .unread_ready_o    (unread_ready),
      .refused_valid_o   (refused_valid),
      .refused_qp_o      (refused_qp),
      .recv_valid_i,
      .recv_qp_i,
      .recv_i,
      .recv_ready_o,
      .completion_valid_o(receive_completion_valid),
      .completion_qp_o   (receive_completion_qp),
      .completion_o      (receive_completion),
      .completion_ready_i(receive_completion_ready),
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
      .atomic_place_o    (atomic_place),
      .atomic_o          (atomic),
      .atomic_ready_i,
      .original_valid_i,
      .original_i,
      .frame_bytes_o     (bytes_in),
      .event_o           (receive_event),
      .idle_o            (receive_idle)
  );

  assign atomic_va_o       = atomic_place.va;
  assign atomic_key_o      = atomic_place.key;
  assign atomic_add_o      = atomic.add;
  assign atomic_swap_add_o = atomic.swap_add;
  assign atomic_compare_o  = atomic.compare;

  logic unused_atomic;
  assign unused_atomic = ^{atomic_place, atomic};

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Pause

  logic pfc_valid, pfc_ready, pause_idle;
  control_t pfc;
  logic [Counters-1:0] pause_event;
  cycle_t pause_wake;

  nic_pause #(
      .QuantumNum(QuantumNum),
      .QuantumDen(QuantumDen)
  ) u_pause (
      .clk_i,
      .rst_i,
      .now_i,
      .settings_i   (settings),
      .rearm_i      (rearm),
      .link_down_i,
      .frame_valid_i(pause_valid),
      .frame_pfc_i  (pause_pfc),
      .frame_i      (pause),
      .depth_i      (depth),
      .progress_i   (progress),
      .pfc_valid_o  (pfc_valid),
      .pfc_o        (pfc),
      .pfc_ready_i  (pfc_ready),
      .paused_o,
      .event_o      (pause_event),
      .idle_o       (pause_idle),
      .wake_o       (pause_wake)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Congestion

  logic sent_valid, sent_ready, bytes_valid, bytes_ready, cnp_valid, cnp_ready, congestion_idle;
  logic [QpBits-1:0] sent_qp, cnp_qp;
  logic [15:0] sent_bytes;
  logic [Qps-1:0] eligible, limited;
  cycle_t congestion_wake;

  nic_congestion #(
      .Qps     (Qps),
      .PeriodPs(PeriodPs)
  ) u_congestion (
      .clk_i,
      .rst_i,
      .now_i,
      .settings_i        (settings),
      .command_open_i    (command_open),
      .command_qp_i      (command_qp),
      .rp_command_valid_i(rp_valid),
      .rp_command_ready_o(rp_ready),
      .np_command_valid_i(np_valid),
      .np_command_ready_o(np_ready),
      .discard_i         (discard),
      .cnp_in_i          (cnp_in),
      .mark_i            (mark),
      .qp_in_i           (judged_qp),
      .class_i           (classes),
      .paused_i          (paused_o),
      .sent_valid_i      (sent_valid),
      .sent_ready_o      (sent_ready),
      .bytes_valid_i     (bytes_valid),
      .bytes_ready_o     (bytes_ready),
      .sent_qp_i         (sent_qp),
      .sent_bytes_i      (sent_bytes),
      .eligible_o        (eligible),
      .limited_o         (limited),
      .cnp_valid_o       (cnp_valid),
      .cnp_qp_o          (cnp_qp),
      .cnp_ready_i       (cnp_ready),
      .rate_valid_o,
      .rate_qp_o,
      .rate_o,
      .rate_limited_o,
      .alpha_o,
      .idle_o            (congestion_idle),
      .wake_o            (congestion_wake)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Transmit

  logic transmit_idle;
  logic [Counters-1:0] transmit_event;
  fetch_t fetch;
  cycle_t transmit_wake;

  nic_transmit #(
      .DataBytes(DataBytes),
      .Qps      (Qps),
      .Wqes     (Wqes),
      .Reads    (Reads),
      .PeriodPs (PeriodPs),
      .Slots    (Slots),
      .Regions  (Regions)
  ) u_transmit (
      .clk_i,
      .rst_i,
      .now_i,
      .paused_i           (paused_o),
      .dcqcn_on_i         (settings.dcqcn_on),
      .cnp_dscp_i         (settings.cnp_dscp),
      .cnp_pcp_i          (settings.cnp_pcp),
      .port_mac_i         ({settings.port_mac_high, settings.port_mac_low}),
      .maps_i             (maps),
      .class_costs_i      (settings.class_costs),
      .path_write_i       (path_write),
      .path_qp_i          (command_qp),
      .path_i             (path),
      .pd_i               (settings.qp_pd),
      .region_write_i     (region_write),
      .region_index_i     (region_index),
      .region_i           (region),
      .invalidate_i       (invalidate),
      .invalidate_index_i (invalidate_index),
      .reads_pass_o       (reads_pass),
      .translating_i      (settings.translation_on),
      .ask_valid_o        (transmit_ask_valid),
      .ask_o              (transmit_ask),
      .verdict_valid_i    (verdict_valid[AskTransmit]),
      .verdict_waits_i    (verdict_waits[AskTransmit]),
      .verdict_gone_i     (verdict_gone[AskTransmit]),
      .verdict_ready_o    (verdict_ready[AskTransmit]),
      .command_valid_i    (requester_valid),
      .command_open_i     (command_open),
      .command_query_i    (command_query),
      .configuration_i    (requester_configuration),
      .psn_i              (settings.qp_requester_psn),
      .command_ready_o    (requester_ready),
      .step_o             (requester_step),
      .step_qp_o          (requester_step_qp),
      .step_context_o     (requester_context),
      .class_i            (classes),
      .tagged_i           (with_tags),
      .class_open_i       (class_open),
      .holds_o            (holds),
      .fail_valid_i       (fail_send_valid),
      .fail_qp_i          (fail_send_qp),
      .fail_ready_o       (fail_send_ready),
      .failing_i          (send_failing),
      .failed_o           (send_failed),
      .failed_qp_o        (send_failed_qp),
      .work_valid_i,
      .work_qp_i,
      .work_i,
      .work_ready_o,
      .ack_valid_i        (ack_valid),
      .ack_qp_i           (ack_qp),
      .ack_psn_i          (ack_psn),
      .ack_syndrome_i     (ack_syndrome),
      .ack_ready_o        (ack_ready),
      .ack_waits_i        (ack_waits),
      .awaits_o           (awaits),
      .reaction_valid_i   (reaction_valid),
      .reaction_qp_i      (reaction_qp),
      .reaction_i         (reaction),
      .reaction_ready_o   (reaction_ready),
      .landing_valid_o    (landing_valid),
      .landing_qp_o       (landing_qp),
      .landing_o          (landing),
      .landing_part_o     (landing_part),
      .completion_valid_o (send_completion_valid),
      .completion_silent_o(send_completion_silent),
      .completion_qp_o    (send_completion_qp),
      .completion_o       (send_completion),
      .completion_room_i  (send_completion_room),
      .eligible_i         (eligible),
      .limited_i          (limited),
      .sent_valid_o       (sent_valid),
      .bytes_valid_o      (bytes_valid),
      .sent_qp_o          (sent_qp),
      .sent_bytes_o       (sent_bytes),
      .sent_ready_i       (sent_ready),
      .bytes_ready_i      (bytes_ready),
      .pfc_valid_i        (pfc_valid),
      .pfc_i              (pfc),
      .pfc_ready_o        (pfc_ready),
      .cnp_valid_i        (cnp_valid),
      .cnp_qp_i           (cnp_qp),
      .cnp_ready_o        (cnp_ready),
      .answer_i           (answer_head),
      .answer_qp_i        (answer_head_qp),
      .answer_response_i  (answer_response),
      .answer_coming_i    (answer_coming),
      .answer_behind_i    (answer_behind),
      .answer_pop_o       (answer_head_pop),
      .answerable_i       (answerable),
      .sending_o          (sending),
      .respond_valid_o    (respond_valid),
      .respond_qp_o       (respond_qp),
      .respond_ready_i    (respond_ready),
      .reply_valid_i      (reply_valid),
      .reply_qp_i         (reply_qp),
      .reply_i            (reply),
      .reply_ready_o      (reply_ready),
      .unread_valid_o     (unread_valid),
      .unread_qp_o        (unread_qp),
      .unread_o           (unread),
      .unread_ready_i     (unread_ready),
      .refused_valid_i    (refused_valid),
      .refused_qp_i       (refused_qp),
      .read_ahead_i       (settings.read_ahead),
      .read_valid_o,
      .read_tag_o,
      .read_o             (fetch),
      .read_ready_i,
      .data_valid_i,
      .data_tag_i,
      .data_last_i,
      .data_error_i,
      .data_data_i,
      .tx_valid_o,
      .tx_last_o,
      .tx_bytes_o,
      .tx_data_o,
      .tx_ready_i,
      .frame_bytes_o      (bytes_out),
      .event_o            (transmit_event),
      .idle_o             (transmit_idle),
      .wake_o             (transmit_wake)
  );

  assign {read_va_o, read_key_o, read_bytes_o} = fetch;

  //////////////////////////////////////////////////////////////////////////////////////////////

  assign event_o = receive_event | transmit_event | translation_event | pause_event;
  assign idle_o = control_idle && translation_idle && receive_idle && pause_idle && congestion_idle && transmit_idle;

  logic unused_wake_valid;

  earliest #(
      .Count(3)
  ) u_wake (
      .valid_i('1),
      .at_i   ({transmit_wake, congestion_wake, pause_wake}),
      .valid_o(unused_wake_valid),
      .at_o   (wake_o)
  );

endmodule
