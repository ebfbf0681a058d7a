// Transmit of the NIC: feeds the requester, fetches payload, builds frames.
//
// - The requester's events are arbitrated round robin: commands, answers, work requests, grants, failures of the
//   receive side, reactions: what came by way of the receive buffer, and packets whose payload cannot be read. What a
//   reaction leaves to be done comes with its step (`landing_…`).
// - Answers, work requests, failures, packets that cannot be read and timers wait while there is no room for the
//   completions that they may cause.
// - A work request waits while its ring is full.
// - Events of a QP that is in the requester's pipeline wait aside, so that other QPs' events pass them.
// - READ responses come from the responder, one at a time, and take the way of requests: slots, account, selection.
//   They go there in cycles without a SEND's step.
//
// Three clocks rest apart: that of the requester and what belongs to its steps, that of the slots and of what is
// selected, both once per packet, and that of payload and frames, once per beat.
//
// Timing: readies depend on valids and QPs of the same cycle.
module nic_transmit
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*, time_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes  = 32,
    parameter  int unsigned Qps        = 64,
    parameter  int unsigned Wqes       = 16,
    parameter  int unsigned Reads      = 16,
    parameter  int unsigned PeriodPs   = 5120,
    parameter  int unsigned Slots      = 32,
    parameter  int unsigned Regions    = 256,
    localparam int unsigned QpBits     = $clog2(Qps),
    localparam int unsigned SlotBits   = $clog2(Slots),
    localparam int unsigned RegionBits = $clog2(Regions)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input logic        [ 7:0] paused_i,
    input logic               dcqcn_on_i,
    input logic        [ 5:0] cnp_dscp_i,
    input logic        [ 2:0] cnp_pcp_i,
    input logic        [47:0] port_mac_i,
    input class_maps_t        maps_i,
    input class_cost_t [ 7:0] class_costs_i,

    input logic               path_write_i,
    input logic  [QpBits-1:0] path_qp_i,
    input path_t              path_i,
    input pd_t                pd_i,

    // Regions, as in transmit_slots
    input  logic                     region_write_i,
    input  logic    [RegionBits-1:0] region_index_i,
    input  region_t                  region_i,
    input  logic                     invalidate_i,
    input  logic    [RegionBits-1:0] invalidate_index_i,
    output logic                     reads_pass_o,

    // Translation, as in transmit_slots
    input  logic   translating_i,
    output logic   ask_valid_o,
    output place_t ask_o,
    input  logic   verdict_valid_i,
    input  logic   verdict_waits_i,
    input  logic   verdict_gone_i,
    output logic   verdict_ready_o,

    input  logic              command_valid_i,
    input  logic              command_open_i,
    input  logic              command_query_i,  // reads the context
    input  requester_config_t configuration_i,
    input  psn_t              psn_i,
    output logic              command_ready_o,

    output logic                            step_o,         // a step of the requester, with the context after it
    output logic               [QpBits-1:0] step_qp_o,
    output requester_context_t              step_context_o,

    input  class_t [Qps-1:0] class_i,
    input  logic   [Qps-1:0] tagged_i,
    input  logic   [    7:0] class_open_i,  // classes of open QPs
    output logic   [Qps-1:0] holds_o,       // QPs with a packet that waits for the wire or for data

    input  logic              fail_valid_i,  // the receive side of the QP has failed
    input  logic [QpBits-1:0] fail_qp_i,
    output logic              fail_ready_o,
    input  logic [   Qps-1:0] failing_i,     // QPs whose failure waits: they send nothing more
    output logic              failed_o,      // a QP failed on the send side
    output logic [QpBits-1:0] failed_qp_o,

    input  logic               work_valid_i,
    input  logic  [QpBits-1:0] work_qp_i,
    input  work_t              work_i,
    output logic               work_ready_o,

    input  logic              ack_valid_i,
    input  logic [QpBits-1:0] ack_qp_i,
    input  psn_t              ack_psn_i,
    input  logic [       7:0] ack_syndrome_i,
    output logic              ack_ready_o,
    input  logic [   Qps-1:0] ack_waits_i,     // QPs of which an answer waits

    // READ responses, and answers behind them
    output logic      [   Qps-1:0] awaits_o,          // QPs that wait for a response
    input  logic                   reaction_valid_i,
    input  logic      [QpBits-1:0] reaction_qp_i,
    input  reaction_t              reaction_i,
    output logic                   reaction_ready_o,
    output logic                   landing_valid_o,
    output logic      [QpBits-1:0] landing_qp_o,
    output landing_t               landing_o,
    output buffer_t                landing_part_o,    // of the receive buffer that it came from

    output logic                     completion_valid_o,
    output logic                     completion_silent_o,
    output logic        [QpBits-1:0] completion_qp_o,
    output completion_t              completion_o,
    input  logic                     completion_room_i,

    input  logic [   Qps-1:0] eligible_i,
    input  logic [   Qps-1:0] limited_i,      // QPs that DCQCN has slowed down
    output logic              sent_valid_o,
    output logic              bytes_valid_o,
    output logic [QpBits-1:0] sent_qp_o,
    output logic [      15:0] sent_bytes_o,
    input  logic              sent_ready_i,
    input  logic              bytes_ready_i,

    input  logic     pfc_valid_i,
    input  control_t pfc_i,
    output logic     pfc_ready_o,

    input  logic              cnp_valid_i,
    input  logic [QpBits-1:0] cnp_qp_i,
    output logic              cnp_ready_o,

    input  logic      [7:0]             answer_i,
    input  logic      [7:0][QpBits-1:0] answer_qp_i,
    input  response_t [7:0]             answer_response_i,
    input  logic      [7:0]             answer_coming_i,    // is about to come
    input  logic      [7:0]             answer_behind_i,    // behind a packet that is looked up
    output logic      [7:0]             answer_pop_o,

    // READ responses
    input  logic   [   Qps-1:0] answerable_i,     // QPs that have one to be built
    output logic   [   Qps-1:0] sending_o,        // QPs of which one is under way or waits for the wire
    output logic                respond_valid_o,  // builds one
    output logic   [QpBits-1:0] respond_qp_o,
    input  logic                respond_ready_i,
    input  logic                reply_valid_i,
    input  logic   [QpBits-1:0] reply_qp_i,
    input  reply_t              reply_i,
    output logic                reply_ready_o,

    // READ responses whose payload cannot be read, and refusals that the responder has taken
    output logic                  unread_valid_o,
    output logic     [QpBits-1:0] unread_qp_o,
    output refusal_t              unread_o,
    input  logic                  unread_ready_i,
    input  logic                  refused_valid_i,
    input  logic     [QpBits-1:0] refused_qp_i,

    input  logic   [            8:0] read_ahead_i,
    output logic                     read_valid_o,
    output logic   [   SlotBits-1:0] read_tag_o,
    output fetch_t                   read_o,
    input  logic                     read_ready_i,
    input  logic                     data_valid_i,
    input  logic   [   SlotBits-1:0] data_tag_i,
    input  logic                     data_last_i,
    input  logic                     data_error_i,
    input  logic   [DataBytes*8-1:0] data_data_i,

    output logic                   tx_valid_o,
    output logic                   tx_last_o,
    output logic [            6:0] tx_bytes_o,
    output logic [DataBytes*8-1:0] tx_data_o,
    input  logic                   tx_ready_i,

    output logic   [        15:0] frame_bytes_o,  // of the frame that ends
    output logic   [Counters-1:0] event_o,
    output logic                  idle_o,
    output cycle_t                wake_o
);

  localparam int unsigned SlotBeats = 4096 / DataBytes;
  localparam int unsigned AddressBits = SlotBits + $clog2(SlotBeats);

  logic clk_requester, clk_slots, clk_beats;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Event arbitration

  typedef enum logic [2:0] {
    FromCommand  = 3'd0,
    FromAck      = 3'd1,
    FromWork     = 3'd2,
    FromSend     = 3'd3,
    FromFail     = 3'd4,
    FromReaction = 3'd5,
    FromUnread   = 3'd6
  } from_e;

  logic fails_q;  // a failure is under way
  logic [6:0] want, wish, grant;
  logic [2:0] from;
  logic event_valid, event_ready;
  requester_kind_e kind;
  logic [QpBits-1:0] qp, send_qp;
  psn_t psn;
  logic send_valid, send_ready, hold_send, stale_send, unused_turn_moves;

  logic unread_valid, unread_response, unread_ready;
  logic [QpBits-1:0] unread_qp;
  refusal_t unread;

  assign want[FromCommand]  = command_valid_i;
  assign want[FromAck]      = ack_valid_i && completion_room_i;
  assign want[FromSend]     = send_valid && !hold_send && !stale_send;
  assign want[FromFail]     = fail_valid_i && completion_room_i && !fails_q;
  assign want[FromReaction] = reaction_valid_i && completion_room_i;
  assign want[FromUnread]   = unread_valid && !unread_response && completion_room_i;

  logic [6:0][QpBits-1:0] want_qp;
  logic [1:0] inside_valid;
  logic [1:0][QpBits-1:0] inside_qp;

  assign want_qp[FromCommand]  = path_qp_i;
  assign want_qp[FromAck]      = ack_qp_i;
  assign want_qp[FromWork]     = work_qp_i;
  assign want_qp[FromSend]     = send_qp;
  assign want_qp[FromFail]     = fail_qp_i;
  assign want_qp[FromReaction] = reaction_qp_i;
  assign want_qp[FromUnread]   = unread_qp;

  for (genvar s = 0; s < 7; s++) begin : gen_wish
    assign wish[s] = want[s] && !(inside_valid[0] && inside_qp[0] == want_qp[s]) &&
        !(inside_valid[1] && inside_qp[1] == want_qp[s]);
  end

  round_robin_arbiter #(
      .Count(7)
  ) u_turn (
      .clk_i    (clk_requester),
      .rst_i,
      .request_i(wish),
      .valid_o  (event_valid),
      .grant_o  (grant),
      .index_o  (from),
      .ready_i  (event_ready),
      .moves_o  (unused_turn_moves)
  );

  logic [7:0] syndrome;

  always_comb begin
    psn      = ack_psn_i;
    syndrome = ack_syndrome_i;
    case (from_e'(from))
      FromCommand: begin
        {kind, qp} = {command_open_i ? RequesterOpen : RequesterClose, path_qp_i};
        psn        = psn_i;
        // WALK from outside changes nothing: its step shows the context.
        if (command_query_i) kind = RequesterWalk;
      end
      FromAck:  {kind, qp} = {RequesterAck, ack_qp_i};
      FromWork: {kind, qp} = {RequesterPost, work_qp_i};
      FromFail: {kind, qp} = {RequesterFail, fail_qp_i};
      FromReaction: begin
        {kind, qp}      = {reaction_i.answer ? RequesterAck : RequesterResponse, reaction_qp_i};
        {psn, syndrome} = {reaction_i.psn, reaction_i.syndrome};
      end
      FromUnread: begin
        {kind, qp} = {RequesterUnread, unread_qp};
        psn        = unread.psn;
      end
      default:  {kind, qp} = {RequesterSend, send_qp};
    endcase
  end

  assign command_ready_o  = grant[FromCommand] && event_ready;
  assign ack_ready_o      = grant[FromAck] && event_ready;
  assign work_ready_o     = grant[FromWork] && event_ready;
  assign send_ready       = grant[FromSend] && event_ready;
  assign fail_ready_o     = grant[FromFail] && event_ready;
  assign reaction_ready_o = grant[FromReaction] && event_ready;

  logic step_valid, request_valid, requester_idle, send_step;
  requester_kind_e step_kind;
  logic [QpBits-1:0] step_qp;
  requester_note_e step_note;
  requester_context_t context_after;

  // QPs that send nothing more: their failure waits or is under way, one at a time. The QP is ready until all that is
  // acknowledged is complete.
  logic [QpBits-1:0] fails_qp_q;
  logic [Qps-1:0] failing;

  always_comb begin
    failing = failing_i;
    if (fails_q) failing[fails_qp_q] = 1'b1;
  end

  always_ff @(posedge clk_requester) begin
    if (rst_i) fails_q <= 1'b0;
    else if (fail_ready_o) fails_q <= 1'b1;
    else if (step_valid && step_qp == fails_qp_q && context_after.state != QpReady) fails_q <= 1'b0;
  end

  always_ff @(posedge clk_requester) begin
    if (fail_ready_o) fails_qp_q <= fail_qp_i;
  end

  request_t request;
  logic [Qps-1:0] sendable, full, asks;
  logic left_valid, left_end, withdrawn;
  logic [QpBits-1:0] left_qp;
  logic place_valid;
  place_t place;
  cycle_t unused_now;

  // A step shows in `full` in the cycle after it.
  assign want[FromWork] = work_valid_i && completion_room_i && !full[work_qp_i] &&
      !(step_valid && step_qp == work_qp_i);

  gbn_requester #(
      .Qps     (Qps),
      .Wqes    (Wqes),
      .Reads   (Reads),
      .PeriodPs(PeriodPs),
      .Outside (1'b1)
  ) u_requester (
      .clk_i                (clk_requester),
      .rst_i,
      .now_i,
      .event_valid_i        (event_valid),
      .event_kind_i         (kind),
      .event_qp_i           (qp),
      .event_configuration_i(configuration_i),
      .event_psn_i          (psn),
      .event_syndrome_i     (syndrome),
      .event_work_i         (work_i),
      .event_returned_i     (reaction_i.returned),
      .event_ready_o        (event_ready),
      .asks_i               (asks),
      .left_valid_i         (left_valid),
      .left_end_i           (left_end),
      .left_qp_i            (left_qp),
      .timers_i             (completion_room_i),
      .answers_i            (ack_waits_i),
      .step_valid_o         (step_valid),
      .step_kind_o          (step_kind),
      .step_qp_o            (step_qp),
      .step_now_o           (unused_now),
      .step_context_o       (context_after),
      .step_note_o          (step_note),
      .request_valid_o      (request_valid),
      .request_o            (request),
      .completion_valid_o,
      .completion_silent_o,
      .completion_o,
      .place_valid_o        (place_valid),
      .place_o              (place),
      .sendable_o           (sendable),
      .awaits_o,
      .full_o               (full),
      .inside_valid_o       (inside_valid),
      .inside_qp_o          (inside_qp),
      .idle_o               (requester_idle),
      .wake_o
  );

  assign completion_qp_o = step_qp;
  assign failed_o = step_valid && step_note inside {RequesterRemoteError, RequesterExhausted, RequesterUnreadable};
  assign failed_qp_o = step_qp;
  assign step_o = step_valid;
  assign step_qp_o = step_qp;
  assign step_context_o = context_after;
  assign send_step = step_valid && step_kind == RequesterSend;

  // A step shows three cycles after its event was taken.
  logic [2:0] reacts_q;
  buffer_t [2:0] reacts_part_q;

  always_ff @(posedge clk_requester) begin
    if (rst_i) reacts_q <= '0;
    else reacts_q <= {reacts_q[1:0], reaction_ready_o};
  end

  always_ff @(posedge clk_requester) begin
    if (reaction_ready_o) reacts_part_q[0] <= reaction_i.part;
    if (reacts_q[0]) reacts_part_q[1] <= reacts_part_q[0];
    if (reacts_q[1]) reacts_part_q[2] <= reacts_part_q[1];
  end

  assign landing_valid_o = reacts_q[2];
  assign landing_qp_o    = step_qp;
  assign landing_o       = '{write: place_valid, place: place};
  assign landing_part_o  = reacts_part_q[2];

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Grants

  logic [1:0] unlock;
  logic [1:0][QpBits-1:0] unlock_qp;
  logic [7:0] class_free, class_held;
  logic slot_free, account_room, account_idle, scheduler_idle, may_send;

  assign may_send = slot_free && account_room;

  // Packets that go to slots and account: of SENDs, and of responses in the cycles without
  logic put, put_packet, response_over, withdraw, take_response;
  logic responses_idle, responses_move, counted;
  logic [1:0] counted_response_q;  // of the packets of the last two cycles
  logic [15:0] counted_bytes;
  logic [QpBits-1:0] put_qp;
  request_t put_request;
  logic [Qps-1:0] locked, under_way, waiting, unread_qps;

  assign reply_ready_o = !send_step;
  assign response_over = reply_valid_i && reply_ready_o && reply_i.over;
  assign withdraw      = reply_valid_i && reply_ready_o && !reply_i.over;
  assign put           = send_step || response_over;
  assign put_packet    = send_step ? request_valid : reply_i.all;
  assign put_qp        = send_step ? step_qp : reply_qp_i;

  always_comb begin
    put_request = request;
    if (!send_step) begin
      put_request               = '0;
      put_request.opcode        = reply_i.response.opcode;
      put_request.psn           = reply_i.response.psn;
      put_request.again         = reply_i.response.again;
      put_request.payload_bytes = reply_i.response.bytes;
      put_request.local_va      = reply_i.response.va;
      put_request.local_key     = reply_i.response.key;
      put_request.imm           = {SyndromeAck, reply_i.response.msn};  // AETH
      put_request.swap_add      = reply_i.response.va;  // original
    end
  end

  response_scheduler #(
      .Qps(Qps)
  ) u_responses (
      .clk_i             (clk_requester),
      .rst_i,
      .answerable_i      (answerable_i & ~unread_qps),
      .paced_i           (dcqcn_on_i),
      .eligible_i,
      .locked_i          (locked),
      .class_i,
      .class_allowed_i   (class_free & ~paused_i),
      .allowed_i         (may_send),
      .request_i         (send_valid),
      .sent_i            (send_ready),
      .hold_o            (hold_send),
      .take_o            (take_response),
      .qp_o              (respond_qp_o),
      .read_valid_o      (respond_valid_o),
      .read_ready_i      (respond_ready_i),
      .over_i            (response_over),
      .under_way_o       (under_way),
      .counted_i         (counted),
      .counted_response_i(counted_response_q[1]),
      .counted_bytes_i   (counted_bytes),
      .moves_o           (responses_move),
      .idle_o            (responses_idle)
  );

  assign sending_o = under_way | waiting;

  // Responses have taken slots since the send arbiter made its pick: perhaps that one's. What is left shows a cycle
  // later.
  logic taken_q, taking_q, free_q;

  always_ff @(posedge clk_requester) begin
    if (rst_i) {taken_q, taking_q} <= '0;
    else begin
      taken_q  <= send_valid && !send_ready && (taken_q || take_response);
      taking_q <= take_response;
    end
  end

  always_ff @(posedge clk_requester) begin
    if (send_valid) free_q <= slot_free && class_free[class_i[send_qp]];
  end

  assign stale_send = taken_q && (taking_q || !free_q);

  always_ff @(posedge clk_requester) begin
    if (put) counted_response_q[0] <= !send_step;
    counted_response_q[1] <= counted_response_q[0];
  end

  send_scheduler #(
      .Qps(Qps)
  ) u_scheduler (
      .clk_i          (clk_requester),
      .rst_i,
      .sendable_i     (sendable & ~failing),
      .paced_i        (dcqcn_on_i),
      .eligible_i,
      .class_i,
      .class_allowed_i(class_free & ~paused_i),
      .allowed_i      (may_send),
      .inside_valid_i (inside_valid),
      .inside_qp_i    (inside_qp),
      .valid_o        (send_valid),
      .qp_o           (send_qp),
      .ready_i        (send_ready),
      .stale_i        (stale_send),
      .lock_i         (take_response),
      .lock_qp_i      (respond_qp_o),
      .locked_o       (locked),
      .release_i      (unlock),
      .release_qp_i   (unlock_qp),
      .idle_o         (scheduler_idle)
  );

  sent_account #(
      .Qps(Qps)
  ) u_account (
      .clk_i          (clk_requester),
      .rst_i,
      .write_i        (path_write_i),
      .write_qp_i     (path_qp_i),
      .write_tags_i   (path_i.tags),
      .write_ipv6_i   (path_i.ipv6),
      .step_valid_i   (put),
      .step_qp_i      (put_qp),
      .packet_i       (put_packet),
      .opcode_i       (put_request.opcode),
      .payload_bytes_i(put_request.payload_bytes),
      .paced_i        (dcqcn_on_i),
      .limited_i      (limited_i[put_qp]),
      .room_o         (account_room),
      .counted_o      (counted),
      .counted_bytes_o(counted_bytes),
      .sent_valid_o,
      .bytes_valid_o,
      .qp_o           (sent_qp_o),
      .bytes_o        (sent_bytes_o),
      .sent_ready_i,
      .bytes_ready_i,
      .release_o      (unlock),
      .release_qp_o   (unlock_qp),
      .idle_o         (account_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Payload and frames

  logic   stalled;  // the next read waits for page table entries
  class_t stalled_class;
  logic [7:0] head, pop;
  logic [7:0][SlotBits-1:0] head_slot;
  logic [7:0][QpBits-1:0] head_qp;
  payload_bytes_t [7:0] head_bytes;
  beats_t [7:0] head_beats;
  logic [$bits(request_t)-1:0] info;
  wire_bytes_t info_bytes;
  logic payload_read;
  logic [AddressBits-1:0] payload_address;
  logic [DataBytes*8-1:0] payload_data;
  logic [1:0] slot_release;
  logic [1:0][SlotBits-1:0] slot_release_slot;
  logic slots_idle, slots_move, select_moves;

  logic popped;  // what is popped asks for an ACK

  // A step takes back what waits or leaves a cycle later. After one that leaves a QP with nothing outstanding, what it
  // sent before is acknowledged or will be sent again.
  logic stepped_q, ready_q, went_back_q;
  logic [QpBits-1:0] stepped_qp_q;
  psn_t oldest_q, end_q;

  always_ff @(posedge clk_requester) stepped_q <= !rst_i && step_valid;

  always_ff @(posedge clk_requester) begin
    if (step_valid) begin
      stepped_qp_q <= step_qp;
      ready_q      <= context_after.state == QpReady;
      oldest_q     <= requester_oldest_wanted(context_after);
      end_q        <= requester_end_wanted(context_after);
      went_back_q  <= context_after.next_psn == context_after.una_psn;
    end
  end

  transmit_slots #(
      .DataBytes(DataBytes),
      .Qps      (Qps),
      .Slots    (Slots),
      .Regions  (Regions)
  ) u_slots (
      .clk_i                (clk_slots),
      .clk_beats_i          (clk_beats),
      .rst_i,
      .take_i               (send_ready),
      .take_class_i         (class_i[send_qp]),
      .take_response_i      (take_response),
      .take_response_class_i(class_i[respond_qp_o]),
      .class_open_i,
      .free_o               (slot_free),
      .class_free_o         (class_free),
      .class_held_o         (class_held),
      .context_valid_i      (stepped_q),
      .context_qp_i         (stepped_qp_q),
      .context_ready_i      (ready_q),
      .context_oldest_i     (oldest_q),
      .context_next_i       (end_q),
      .failing_i            (failing),
      .region_write_i,
      .region_index_i,
      .region_i,
      .pd_write_i           (path_write_i),
      .pd_qp_i              (path_qp_i),
      .pd_i,
      .invalidate_i,
      .invalidate_index_i,
      .translating_i,
      .ask_valid_o,
      .ask_o,
      .verdict_valid_i,
      .verdict_waits_i,
      .verdict_gone_i,
      .verdict_ready_o,
      .stalled_o            (stalled),
      .stalled_class_o      (stalled_class),
      .withdraw_i           (withdraw),
      .withdraw_qp_i        (reply_qp_i),
      .withdraw_all_i       (reply_i.all),
      .withdraw_read_i      ('{first_psn: reply_i.response.psn, end_psn: reply_i.end_psn}),
      .step_valid_i         (put),
      .response_i           (!send_step),
      .packet_i             (put_packet),
      .step_qp_i            (put_qp),
      .request_i            (put_request),
      .counted_i            (counted),
      .counted_bytes_i      (wire_bytes_t'(counted_bytes)),
      .read_ahead_i,
      .read_valid_o,
      .read_tag_o,
      .read_o,
      .read_ready_i,
      .data_valid_i,
      .data_tag_i,
      .data_last_i,
      .data_error_i,
      .data_data_i,
      .unread_valid_o       (unread_valid),
      .unread_response_o    (unread_response),
      .unread_qp_o          (unread_qp),
      .unread_o             (unread),
      .unread_ready_i       (unread_ready),
      .unread_qps_o         (unread_qps),
      .refused_valid_i,
      .refused_qp_i,
      .reads_pass_o,
      .head_o               (head),
      .head_slot_o          (head_slot),
      .head_qp_o            (head_qp),
      .head_bytes_o         (head_bytes),
      .head_beats_o         (head_beats),
      .pop_i                (pop),
      .info_o               (info),
      .info_bytes_o         (info_bytes),
      .payload_read_i       (payload_read),
      .payload_address_i    (payload_address),
      .payload_data_o       (payload_data),
      .withdrawn_o          (withdrawn),
      .asks_o               (asks),
      .sending_o            (waiting),
      .pop_asks_o           (popped),
      .holds_o,
      .release_i            (slot_release),
      .release_slot_i       (slot_release_slot),
      .moves_o              (slots_move),
      .idle_o               (slots_idle)
  );

  // A READ response is refused when none of its QP is on its way here: it would be sent.
  assign unread_valid_o = unread_valid && unread_response && !under_way[unread_qp];
  assign unread_qp_o    = unread_qp;
  assign unread_o       = unread;
  assign unread_ready   = unread_response ? unread_valid_o && unread_ready_i : grant[FromUnread] && event_ready;

  logic job_valid, job_ready;
  logic [AddressBits-1:0] job_address;
  beats_t job_beats;
  logic [6:0] job_bytes;
  logic [SlotBits-1:0] job_slot, reading_q;
  logic desc_valid, desc_ready, select_idle;
  eth_head_t eth;
  ip_head_t  ip;
  logic [15:0] udp_port, payload_bytes;
  bth_t bth;
  ext_head_t ext;

  transmit_select #(
      .DataBytes(DataBytes),
      .Qps      (Qps),
      .Slots    (Slots)
  ) u_select (
      .clk_i           (clk_slots),
      .rst_i,
      .paused_i,
      .ecn_i           (dcqcn_on_i),
      .cnp_dscp_i,
      .cnp_pcp_i,
      .maps_i,
      .class_costs_i,
      .write_i         (path_write_i),
      .write_qp_i      (path_qp_i),
      .path_i,
      .tagged_i,
      .cnp_valid_i,
      .cnp_qp_i,
      .cnp_ready_o,
      .answer_i,
      .answer_qp_i,
      .answer_response_i,
      .answer_coming_i,
      .answer_behind_i,
      .answer_pop_o,
      .slot_held_i     (class_held),
      .slot_valid_i    (head),
      .slot_i          (head_slot),
      .slot_qp_i       (head_qp),
      .slot_bytes_i    (head_bytes),
      .slot_beats_i    (head_beats),
      .slot_pop_o      (pop),
      .request_i       (info),
      .request_bytes_i (info_bytes),
      .slot_free_o     (slot_release[0]),
      .slot_free_slot_o(slot_release_slot[0]),
      .job_valid_o     (job_valid),
      .job_ready_i     (job_ready),
      .job_address_o   (job_address),
      .job_beats_o     (job_beats),
      .job_bytes_o     (job_bytes),
      .job_slot_o      (job_slot),
      .desc_valid_o    (desc_valid),
      .desc_ready_i    (desc_ready),
      .eth_o           (eth),
      .ip_o            (ip),
      .udp_port_o      (udp_port),
      .bth_o           (bth),
      .ext_o           (ext),
      .payload_bytes_o (payload_bytes),
      .moves_o         (select_moves),
      .idle_o          (select_idle)
  );

  logic beat_valid, beat_first, beat_last, beat_ready, reader_idle, door_idle;
  logic [6:0] beat_bytes;
  logic [DataBytes*8-1:0] beat_data;

  payload_reader #(
      .DataBytes(DataBytes),
      .Depth    (Slots * SlotBeats)
  ) u_reader (
      .clk_i         (clk_beats),
      .rst_i,
      .job_valid_i   (job_valid),
      .job_ready_o   (job_ready),
      .job_address_i (job_address),
      .job_begin_i   ('0),               // no packet wraps: a slot holds the longest
      .job_end_i     ('1),
      .job_beats_i   (job_beats),
      .job_bytes_i   (job_bytes),
      .done_o        (slot_release[1]),
      .read_o        (payload_read),
      .read_address_o(payload_address),
      .read_data_i   (payload_data),
      .valid_o       (beat_valid),
      .first_o       (beat_first),
      .last_o        (beat_last),
      .bytes_o       (beat_bytes),
      .data_o        (beat_data),
      .ready_i       (beat_ready),
      .idle_o        (reader_idle)
  );

  always_ff @(posedge clk_beats) begin
    if (job_valid && job_ready) reading_q <= job_slot;
  end

  assign slot_release_slot[1] = reading_q;

  transmit_door #(
      .DataBytes(DataBytes)
  ) u_door (
      .clk_i               (clk_beats),
      .rst_i,
      .port_mac_i,
      .pfc_valid_i,
      .pfc_ready_o,
      .pfc_i,
      .desc_valid_i        (desc_valid),
      .desc_ready_o        (desc_ready),
      .eth_i               (eth),
      .ip_i                (ip),
      .udp_port_i          (udp_port),
      .bth_i               (bth),
      .ext_i               (ext),
      .payload_bytes_i     (payload_bytes),
      .payload_valid_i     (beat_valid),
      .payload_first_i     (beat_first),
      .payload_last_i      (beat_last),
      .payload_beat_bytes_i(beat_bytes),
      .payload_data_i      (beat_data),
      .payload_ready_o     (beat_ready),
      .tx_valid_o,
      .tx_last_o,
      .tx_bytes_o,
      .tx_data_o,
      .tx_ready_i,
      .frame_bytes_o       (frame_bytes_o),
      .idle_o              (door_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Packets that ask for an ACK, for the requester's ACK timer. A packet that was selected counts as leaving until its end
  // has left, because its slot, once released, no longer reports it as waiting.

  logic selected, frame_end, frames_idle;
  logic [QpBits-1:0] popping_qp;

  assign selected  = pop != '0 || answer_pop_o != '0 || cnp_ready_o;
  assign frame_end = tx_valid_o && tx_ready_i && tx_last_o;

  always_comb begin
    popping_qp = '0;
    if (popped) for (int unsigned c = 0; c < 8; c++) if (pop[c]) popping_qp |= head_qp[c];
  end

  asking_frames #(
      .Qps(Qps)
  ) u_asking (
      .clk_i       (clk_beats),
      .rst_i,
      .select_i    (selected),
      .asks_i      (popped),
      .qp_i        (popping_qp),
      .back_i      (stepped_q && went_back_q),
      .back_qp_i   (stepped_qp_q),
      .enter_i     (pfc_ready_o || (desc_valid && desc_ready)),
      .pfc_i       (pfc_ready_o),
      .end_i       (frame_end),
      .left_valid_o(left_valid),
      .left_end_o  (left_end),
      .left_qp_o   (left_qp),
      .idle_o      (frames_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////

  always_comb begin
    event_o                                                   = '0;
    event_o[CountWithdrawn]                                   = withdrawn;
    event_o[CountFramesOut]                                   = frame_end;
    event_o[CountBytesOut]                                    = frame_end;
    event_o[CountCnpsOut]                                     = cnp_ready_o;
    event_o[CountPfcOut]                                      = pfc_ready_o;
    event_o[CountRequestsOut]                                 = request_valid;
    event_o[CountUnread]                                      = unread_valid && unread_ready;
    event_o[32'(CountTranslationStalled0)+32'(stalled_class)] = stalled;
    event_o[CountResentOut]                                   = put && put_packet && put_request.again;
    if (step_valid) begin
      event_o[CountNaksIn] = step_note == RequesterNak;
      event_o[CountImpliedNaks] = step_note == RequesterImplied;
      event_o[CountDropResponse] = step_note == RequesterUnsent && step_kind == RequesterResponse;
      event_o[CountRnrNaksIn] = step_note == RequesterRnr;
      event_o[CountRemoteErrorsIn] = step_note == RequesterRemoteError;
      event_o[CountTimeouts] = step_note == RequesterTimeout;
      event_o[CountExhausted] = step_note == RequesterExhausted;
      event_o[CountAnswersUnused] = (step_note == RequesterStale && step_kind != RequesterUnread) ||
          step_note == RequesterReserved ||
          (step_note == RequesterUnsent && step_kind != RequesterResponse);
      event_o[CountWorkRefused] = step_note inside {RequesterRefusedFull, RequesterRefusedState, RequesterRefusedWork};
    end
  end

  assign idle_o = want == '0 && !ack_valid_i && !work_valid_i && !fail_valid_i && !reaction_valid_i && !data_valid_i &&
      requester_idle && reacts_q == '0 && !step_valid && !stepped_q && scheduler_idle && responses_idle &&
      !reply_valid_i && account_idle && slots_idle && select_idle && reader_idle && door_idle && frames_idle;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Clocks. An enable counts what the idle of a unit leaves out because it changes nothing by itself: a path that is
  // written, a packet that leaves.

  clock_gate u_clk_requester (
      .clk_i,
      .enable_i(
          rst_i || want != '0 || reacts_q != '0 || stepped_q || !requester_idle || left_valid || !scheduler_idle ||
              responses_move || !account_idle || path_write_i
      ),
      .clk_o(clk_requester)
  );

  clock_gate u_clk_slots (
      .clk_i,
      .enable_i(rst_i || slots_move || select_moves),
      .clk_o   (clk_slots)
  );

  clock_gate u_clk_beats (
      .clk_i,
      .enable_i(rst_i || data_valid_i || job_valid || !reader_idle || !door_idle || selected || !frames_idle),
      .clk_o(clk_beats)
  );

  always_ff @(posedge clk_requester) begin
    if (!rst_i)
      assert (!landing_valid_o || (step_valid && step_kind inside {RequesterAck, RequesterResponse}))
      else $error("nic_transmit: a reaction without its step");
  end

endmodule
