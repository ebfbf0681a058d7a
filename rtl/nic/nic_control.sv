// Control of the NIC: what the host does to it other than by frames, and what it is told.
//
//     registers ─► settings_o, regions; qp_commands ─► OPEN and CLOSE to the other rooms
//     completions of both halves ─► completion_queue ─► host
//     failures: a QP has one state, so that when one half fails, the other half gets FAIL
//     qp_drain: whether anything of a closed QP is left
//     counters
//
// Timing: `idle_o` and the readies of registers and completions depend on inputs of the same cycle; all other outputs
// are registers or depend on registers only.
module nic_control
  import eth_pkg::*, gbn_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps        = 64,
    parameter  int unsigned Wqes       = 16,
    parameter  int unsigned Regions    = 256,
    parameter  int unsigned HeaderBits = 12,              // of the numbers of what waits in nic_receive
    parameter  int unsigned AnswerBits = 7,
    parameter  int unsigned StepBits   = 8,
    parameter  int unsigned AtomicBits = 7,
    parameter  int unsigned Cells      = 2048,            // of the receive buffer
    localparam int unsigned QpBits     = $clog2(Qps),
    localparam int unsigned RegionBits = $clog2(Regions)
) (
    input logic clk_i,
    input logic rst_i,

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

    output nic_settings_t settings_o,
    output class_maps_t   maps_o,
    output logic          rearm_o,     // of the pause watchdog

    output logic                     region_write_o,
    output logic    [RegionBits-1:0] region_index_o,
    output region_t                  region_o,
    input  logic                     reads_pass_i,      // no read is to come that was checked before the region command
    output table_t                   table_o,
    input  logic                     translator_busy_i,

    // OPEN and CLOSE
    output logic                           path_write_o,
    output path_t                          path_o,
    output peer_t                          peer_o,
    output logic                           command_open_o,
    output logic                           command_query_o,    // a command is a query
    output logic              [QpBits-1:0] command_qp_o,
    output logic                           requester_valid_o,
    output requester_config_t              requester_o,
    input  logic                           requester_ready_i,
    output logic                           responder_valid_o,
    output responder_config_t              responder_o,
    input  logic                           responder_ready_i,
    output logic                           rp_valid_o,
    input  logic                           rp_ready_i,
    output logic                           np_valid_o,         // OPEN only
    input  logic                           np_ready_i,
    output logic                           discard_o,          // discard what waits of the closed QP
    output logic                           forget_o,           // nothing of it is left

    // Steps of both units, with the context after them
    input logic                            requester_step_i,
    input logic               [QpBits-1:0] requester_qp_i,
    input requester_context_t              requester_context_i,
    input logic                            responder_step_i,
    input logic               [QpBits-1:0] responder_qp_i,
    input responder_context_t              responder_context_i,

    // QPs
    output logic   [Qps-1:0] open_o,
    output class_t [Qps-1:0] class_o,         // of requests
    output class_t [Qps-1:0] answer_class_o,
    output logic   [Qps-1:0] tagged_o,        // the path of the QP has tags
    output logic   [    7:0] class_open_o,    // classes of open QPs

    // What may be left of the closed QP
    input logic [   Buffers-1:0][HeaderBits-1:0] headers_i,
    input logic [   Buffers-1:0]                 header_pop_i,
    input logic [AnswerBits-1:0]                 answers_i,
    input logic                                  answer_pop_i,
    input logic [   Buffers-1:0][  StepBits-1:0] steps_i,
    input logic [   Buffers-1:0]                 step_pop_i,
    input logic [AtomicBits-1:0]                 atomics_i,
    input logic                                  atomic_pop_i,
    input logic                                  refusing_i,
    input logic [       Qps-1:0]                 holds_i,       // QPs with a transmit slot

    // READ data of peers, as in send_completions
    input logic                 landing_i,       // the requester has taken some
    input buffer_t              landing_part_i,
    input logic                 landed_i,
    input buffer_t              landed_part_i,
    input logic                 checked_i,
    input buffer_t              checked_part_i,
    input logic                 unwritten_i,
    input logic    [QpBits-1:0] unwritten_qp_i,

    // Failures: of one half, to the other
    input  logic              send_failed_i,
    input  logic [QpBits-1:0] send_failed_qp_i,
    output logic              fail_receive_valid_o,
    output logic [QpBits-1:0] fail_receive_qp_o,
    input  logic              fail_receive_ready_i,
    input  logic              receive_failed_i,
    input  logic [QpBits-1:0] receive_failed_qp_i,
    output logic              fail_send_valid_o,
    output logic [QpBits-1:0] fail_send_qp_o,
    input  logic              fail_send_ready_i,
    output logic [   Qps-1:0] send_failing_o,        // QPs whose send side has still to fail

    // Completions
    input  logic                     send_valid_i,
    input  logic        [QpBits-1:0] send_qp_i,
    input  logic                     send_silent_i,
    input  completion_t              send_i,
    output logic                     send_room_o,
    input  logic                     receive_valid_i,
    input  logic        [QpBits-1:0] receive_qp_i,
    input  completion_t              receive_i,
    output logic                     receive_ready_o,
    output logic                     cqe_valid_o,
    output logic        [QpBits-1:0] cqe_qp_o,
    output completion_t              cqe_o,
    input  logic                     cqe_ready_i,

    // Counters
    input logic [Counters-1:0] event_i,
    input logic [        15:0] bytes_in_i,
    input logic [        15:0] bytes_out_i,

    output logic idle_o
);

  logic clk_control;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Registers and commands

  logic [31:0] command_data;
  logic qp_command, qp_query, region_command, busy, region_busy_q, registers_idle;
  logic [6:0][31:0] state_words;
  logic [Counters-1:0][31:0] counters;
  logic [1:0][31:0] bytes_high;

  nic_registers #(
      .Cells(Cells)
  ) u_registers (
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
      .settings_o,
      .data_o          (command_data),
      .qp_command_o    (qp_command),
      .qp_query_o      (qp_query),
      .busy_i          (busy),
      .open_i          (open_o != '0 || busy),
      .state_i         (state_words),
      .region_command_o(region_command),
      .region_busy_i   (region_busy_q || translator_busy_i),
      .tables_busy_i   (translator_busy_i),
      .rearm_o,
      .counters_i      (counters),
      .high_i          (bytes_high),
      .idle_o          (registers_idle)
  );

  assign maps_o = '{by_pcp: settings_o.class_by_pcp, pcp: settings_o.pcp_map, dscp: settings_o.dscp_map};

  assign region_write_o = region_command && 32'(command_data[15:0]) < Regions;
  assign region_index_o = command_data[RegionBits-1:0];
  assign region_o = '{
          valid: settings_o.region_valid,
          local_write: settings_o.region_local_write,
          remote_write: settings_o.region_remote_write,
          remote_read: settings_o.region_remote_read,
          remote_atomic: settings_o.region_remote_atomic,
          pd: settings_o.region_pd,
          tag: settings_o.region_tag,
          base: {settings_o.region_base_high, settings_o.region_base_low},
          length: {settings_o.region_length_high, settings_o.region_length_low}
      };

  assign table_o = '{
          translated: settings_o.translation_on && settings_o.region_translated,
          page: settings_o.region_page,
          first: {settings_o.region_table_high, settings_o.region_table_low}
      };

  // A region command is over when what was checked before it has left, and what was to be read has come.
  logic region_passed, region_drain_idle;

  always_ff @(posedge clk_control) begin
    if (rst_i) region_busy_q <= 1'b0;
    else region_busy_q <= region_write_o || (region_busy_q && !(region_passed && reads_pass_i));
  end

  drain #(
      .Count    (Buffers),
      .CountBits(StepBits)
  ) u_region_drain (
      .clk_i   (clk_control),
      .rst_i   (rst_i || region_write_o),
      .start_i (region_busy_q && !region_passed),
      .count_i (steps_i),
      .pop_i   (step_pop_i),
      .passed_o(region_passed),
      .idle_o  (region_drain_idle)
  );

  logic drained, queried;

  qp_query #(
      .Qps(Qps)
  ) u_query (
      .clk_i            (clk_control),
      .rst_i,
      .active_i         (command_query_o),
      .qp_i             (command_qp_o),
      .done_o           (queried),
      .requester_valid_i(requester_valid_o),
      .requester_step_i,
      .requester_qp_i,
      .requester_context_i,
      .responder_valid_i(responder_valid_o),
      .responder_step_i,
      .responder_qp_i,
      .responder_context_i,
      .words_o          (state_words)
  );

  qp_commands #(
      .Qps(Qps)
  ) u_commands (
      .clk_i      (clk_control),
      .rst_i,
      .command_i  ((qp_command || qp_query) && 32'(command_data[15:0]) < Qps),
      .open_i     (command_data[16]),
      .query_i    (qp_query),
      .qp_i       (command_data[QpBits-1:0]),
      .settings_i (settings_o),
      .maps_i     (maps_o),
      .busy_o     (busy),
      .write_o    (path_write_o),
      .qp_o       (command_qp_o),
      .path_o,
      .peer_o,
      .discard_o,
      .drained_i  (drained),
      .query_o    (command_query_o),
      .queried_i  (queried),
      .kind_open_o(command_open_o),
      .requester_valid_o,
      .requester_o,
      .requester_ready_i,
      .responder_valid_o,
      .responder_o,
      .responder_ready_i,
      .rp_valid_o,
      .rp_ready_i,
      .np_valid_o,
      .np_ready_i,
      .open_o,
      .class_o,
      .answer_class_o,
      .tagged_o,
      .class_open_o
  );

  logic unused_command;
  assign unused_command = ^command_data[31:17];

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Completions

  logic completions_idle, sends_idle, send_valid, send_pop, queue_room;
  logic [QpBits-1:0] send_qp;
  completion_t send;
  logic [$clog2(8 * (Wqes + 1) + 9)-1:0] completions, sends;

  assign forget_o = discard_o && drained;

  send_completions #(
      .Qps (Qps),
      .Wqes(Wqes)
  ) u_sends (
      .clk_i       (clk_control),
      .rst_i,
      .taken_i     (landing_i),
      .taken_part_i(landing_part_i),
      .landed_i,
      .landed_part_i,
      .checked_i,
      .checked_part_i,
      .unwritten_i,
      .unwritten_qp_i,
      .forget_i    (forget_o),
      .forget_qp_i (command_qp_o),
      .valid_i     (send_valid_i),
      .qp_i        (send_qp_i),
      .silent_i    (send_silent_i),
      .completion_i(send_i),
      .room_o      (send_room_o),
      .valid_o     (send_valid),
      .qp_o        (send_qp),
      .completion_o(send),
      .room_i      (queue_room),
      .count_o     (sends),
      .pop_o       (send_pop),
      .idle_o      (sends_idle)
  );

  completion_queue #(
      .Qps (Qps),
      .Wqes(Wqes)
  ) u_completions (
      .clk_i       (clk_control),
      .rst_i,
      .send_valid_i(send_valid),
      .send_qp_i   (send_qp),
      .send_i      (send),
      .receive_valid_i,
      .receive_qp_i,
      .receive_i,
      .receive_ready_o,
      .cqe_valid_o,
      .cqe_qp_o,
      .cqe_o,
      .cqe_ready_i,
      .count_o     (completions),
      .room_o      (queue_room),
      .idle_o      (completions_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Failure and drain

  logic send_failed_idle, receive_failed_idle, unwritten_idle, drain_idle;

  // A QP whose READ data cannot be written fails on both sides, in a cycle in which no other QP does.
  logic spread_valid, spread;
  logic [QpBits-1:0] spread_qp;

  assign spread = spread_valid && !send_failed_i && !receive_failed_i;

  logic [Qps-1:0] unused_unwritten;

  qp_set #(
      .Qps(Qps)
  ) u_unwritten (
      .clk_i     (clk_control),
      .rst_i,
      .add_i     (unwritten_i),
      .add_qp_i  (unwritten_qp_i),
      .clear_i   (discard_o),
      .clear_qp_i(command_qp_o),
      .valid_o   (spread_valid),
      .qp_o      (spread_qp),
      .ready_i   (spread),
      .waits_o   (unused_unwritten),
      .idle_o    (unwritten_idle)
  );

  logic [Qps-1:0] unused_send_failed;

  qp_set #(
      .Qps(Qps)
  ) u_send_failed (
      .clk_i     (clk_control),
      .rst_i,
      .add_i     (send_failed_i || spread),
      .add_qp_i  (spread ? spread_qp : send_failed_qp_i),
      .clear_i   (discard_o),
      .clear_qp_i(command_qp_o),
      .valid_o   (fail_receive_valid_o),
      .qp_o      (fail_receive_qp_o),
      .ready_i   (fail_receive_ready_i),
      .waits_o   (unused_send_failed),
      .idle_o    (send_failed_idle)
  );

  qp_set #(
      .Qps(Qps)
  ) u_receive_failed (
      .clk_i     (clk_control),
      .rst_i,
      .add_i     (receive_failed_i || spread),
      .add_qp_i  (spread ? spread_qp : receive_failed_qp_i),
      .clear_i   (discard_o),
      .clear_qp_i(command_qp_o),
      .valid_o   (fail_send_valid_o),
      .qp_o      (fail_send_qp_o),
      .ready_i   (fail_send_ready_i),
      .waits_o   (send_failing_o),
      .idle_o    (receive_failed_idle)
  );

  qp_drain #(
      .HeaderBits    (HeaderBits),
      .AnswerBits    (AnswerBits),
      .StepBits      (StepBits),
      .AtomicBits    (AtomicBits),
      .CompletionBits($bits(completions))
  ) u_drain (
      .clk_i           (clk_control),
      .rst_i,
      .discard_i       (discard_o),
      .headers_i,
      .header_pop_i,
      .answers_i,
      .answer_pop_i,
      .steps_i,
      .step_pop_i,
      .atomics_i,
      .atomic_pop_i,
      .refusing_i,
      .holds_i         (holds_i[command_qp_o]),
      .sends_i         (sends),
      .send_pop_i      (send_pop),
      .completions_i   (completions),
      .completion_pop_i(cqe_valid_o && cqe_ready_i),
      .drained_o       (drained),
      .idle_o          (drain_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Counters

  nic_counters u_counters (
      .clk_i,
      .rst_i,
      .event_i,
      .bytes_in_i,
      .bytes_out_i,
      .counters_o(counters),
      .high_o    (bytes_high)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////

  logic rests;

  assign rests = registers_idle && !busy && !region_busy_q && region_drain_idle && drain_idle &&
      send_failed_idle && receive_failed_idle && unwritten_idle && sends_idle && completions_idle;
  assign idle_o = rests && event_i == '0;

  clock_gate u_clk_control (
      .clk_i,
      .enable_i(rst_i || !rests),
      .clk_o   (clk_control)
  );

endmodule
