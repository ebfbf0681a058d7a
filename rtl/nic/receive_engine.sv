// Receive side behind the buffer: feeds the responder, carries out what its steps leave to be done, and offers its
// answers.
//
// - The responder's events are arbitrated round robin: commands, receive buffers, packets, grants, failures of the
//   send side, refusals, READs whose turn to be answered has come, READ responses.
// - The verdict on a write comes before its answer. The region of a packet's payload is checked after the packet's step;
//   if the payload cannot be written, the responder gets REFUSE, and what it answers for the QP until then is discarded.
//   An answer cannot overtake the verdict: a GRANT is stepped at least two cycles after the packet before it, and the
//   verdict comes two cycles after the packet's step.
// - Packets, receive buffers and failures wait while there is no room for what they may leave to be done. A receive
//   buffer waits while its ring is full.
// - While packets wait, and while they pile up (`backlog_i`), at most one grant per `PacketsPerGrant` packets is
//   requested: a QP's packet and its receive buffer take three cycles, and the shortest packets come every 3.28 cycles.
// - What a peer returns, READ responses and answers behind them, goes to the requester (`reaction_…`), and what that
//   leaves to be done comes back (`landing_…`, in order, with or without payload). Packets leave the buffer in their
//   order, so that those for the responder and those for the requester take turns: no packet of one kind is under way
//   while a packet of the other kind is taken.
// - An atomic goes to the host when all writes in front of it were taken, and what it found comes back as an event of
//   its QP. At most `AtomicsOut` are at the host.
// - Where addresses are translated (`translating_i`), what the steps leave, work, answers and what is told about READs,
//   waits in order until the memory of all that is in front of it is there. With `parts_i` each part of the receive
//   buffer has an order of its own, and what waits in one does not stop the others.
// - One READ response is under way at a time, from `read_valid_i` until `reply_o` says what became of it; none is begun
//   while a refusal of its QP waits for its step. Its memory is checked as that of a write is, and a refusal is told in
//   the same way. No ACK or NAK of a QP is granted while one of its responses is to be sent, here or behind
//   (`sending_i`): none goes past a response.
//
// Three clocks rest apart: that of the responder and of what belongs to its steps, once per packet, that of the queue of
// what waits for translations, and that of the payload that is written, once per beat.
//
// Timing: readies depend on valids and QPs of the same cycle.
module receive_engine
  import roce_pkg::*, gbn_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Recvs       = 16,
    parameter  int unsigned Reads       = 16,
    parameter  int unsigned Regions     = 256,
    parameter  int unsigned BufferBytes = 131072,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned RegionBits  = $clog2(Regions),
    localparam int unsigned AddressBits = $clog2(BufferBytes / DataBytes),
    localparam int unsigned CountBits   = $clog2(8 * (Recvs + 1) + 9),      // as in payload_writer
    localparam int unsigned AtomicBits  = $clog2(AtomicsOut + 1),
    localparam int unsigned RefusalBits = $clog2(2 * Qps + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                            command_valid_i,
    input  logic                            command_open_i,
    input  logic                            command_query_i,  // reads the context
    input  logic               [QpBits-1:0] command_qp_i,
    input  responder_config_t               configuration_i,
    input  psn_t                            psn_i,
    output logic                            command_ready_o,
    output logic                            step_o,           // a step, with the context after it
    output logic               [QpBits-1:0] step_qp_o,
    output responder_context_t              step_context_o,

    input  logic                              discard_i,   // discard what waits of a closed QP
    input  logic                              forget_i,    // nothing of it is left
    output logic                              refusing_o,  // a REFUSE waits
    // Steps that are queued, by ring
    output logic [Buffers-1:0]                pass_o,      // the oldest one leaves
    output logic [Buffers-1:0][CountBits-1:0] count_o,

    input  logic              fail_valid_i,  // the send side of the QP has failed
    input  logic [QpBits-1:0] fail_qp_i,
    output logic              fail_ready_o,
    output logic              failed_o,      // a QP failed on the receive side
    output logic [QpBits-1:0] failed_qp_o,

    input  logic                     region_write_i,
    input  logic    [RegionBits-1:0] region_index_i,
    input  region_t                  region_i,
    input  logic                     pd_write_i,
    input  logic    [    QpBits-1:0] pd_qp_i,
    input  pd_t                      pd_i,
    output logic                     invalidate_o,       // a peer invalidates a region
    output logic    [RegionBits-1:0] invalidate_index_o,

    // Translation, as in resolve_rings
    input  logic                  translating_i,
    input  logic                  parts_i,
    input  buffer_t [        7:0] buffer_of_i,      // by class, as in receive_buffer
    output logic                  ask_valid_o,
    output buffer_t               ask_ring_o,
    output place_t                ask_o,
    input  logic                  ask_room_i,       // few asks wait for the translator
    input  logic    [Buffers-1:0] verdict_valid_i,
    input  logic    [Buffers-1:0] verdict_waits_i,
    input  logic    [Buffers-1:0] verdict_gone_i,
    output logic    [Buffers-1:0] verdict_ready_o,

    input  logic               recv_valid_i,
    input  logic  [QpBits-1:0] recv_qp_i,
    input  recv_t              recv_i,
    output logic               recv_ready_o,

    // Oldest request of each part of the receive buffer
    input  logic     [Buffers-1:0]             packet_valid_i,
    input  logic     [Buffers-1:0][QpBits-1:0] packet_qp_i,
    input  waiting_t [Buffers-1:0]             packet_i,
    output logic     [Buffers-1:0]             packet_ready_o,
    output logic     [Buffers-1:0]             next_o,          // part of the packet that has left it and waits
    output logic     [Buffers-1:0]             passed_o,        // that of one that is taken
    input  logic                               backlog_i,       // a part holds more than a few

    output logic                   reaction_valid_o,
    output logic      [QpBits-1:0] reaction_qp_o,
    output reaction_t              reaction_o,
    input  logic                   reaction_ready_i,
    input  logic                   landing_valid_i,   // of each reaction that was taken
    input  logic      [QpBits-1:0] landing_qp_i,
    input  landing_t               landing_i,
    output logic                   landed_o,          // one is carried out
    output logic                   checked_o,
    output buffer_t                checked_part_o,
    output logic                   unwritten_o,       // the first one of a QP that cannot be
    output logic      [QpBits-1:0] unwritten_qp_o,

    input class_t [Qps-1:0] answer_class_i,

    input  logic [    Buffers-1:0][AddressBits-1:0] first_i,         // first and last beat of each part
    input  logic [    Buffers-1:0][AddressBits-1:0] last_i,
    output logic                                    read_o,
    output logic [AddressBits-1:0]                  read_address_o,
    input  logic [DataBytes*8-1:0]                  read_data_i,

    output logic                   write_valid_o,
    output logic [           63:0] write_va_o,
    output logic [           31:0] write_key_o,
    output logic                   write_remote_o,
    output logic                   write_first_o,
    output logic                   write_last_o,
    output logic [            6:0] write_bytes_o,
    output logic [DataBytes*8-1:0] write_data_o,
    input  logic                   write_ready_i,

    // Atomics, and what they found in memory, in the same order
    output logic                     atomic_valid_o,
    output place_t                   atomic_place_o,
    output atomic_t                  atomic_o,
    input  logic                     atomic_ready_i,
    input  logic                     original_valid_i,
    input  logic    [          63:0] original_i,
    output logic    [AtomicBits-1:0] atomics_o,         // that the host has taken and the responder does not know of
    output logic                     atomic_pop_o,      // the responder knows of the oldest one

    output logic           release_o,
    output class_t         release_class_o,
    output buffer_t        release_part_o,
    output logic    [15:0] release_bytes_o,
    output beats_t         release_beats_o,

    output logic                     completion_valid_o,
    output logic        [QpBits-1:0] completion_qp_o,
    output completion_t              completion_o,
    input  logic                     completion_ready_i,

    output logic      [7:0]             answer_o,
    output logic      [7:0][QpBits-1:0] answer_qp_o,
    output response_t [7:0]             answer_response_o,
    output logic      [7:0]             answer_coming_o,
    output logic      [7:0]             answer_behind_o,    // and waits behind a packet that is looked up
    input  logic      [7:0]             answer_pop_i,

    // READ responses
    output logic   [   Qps-1:0] answerable_o,   // QPs that have one to be built
    input  logic   [   Qps-1:0] sending_i,      // QPs of which one is under way or waits for the wire
    input  logic                read_valid_i,   // builds one
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

    output logic [Counters-1:0] event_o,
    output logic                idle_o
);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Event arbitration

  logic clk_responder, clk_resolve, clk_beats;

  typedef enum logic [3:0] {
    FromCommand = 4'd0,
    FromRecv    = 4'd1,
    FromPacket  = 4'd2,
    FromGrant   = 4'd3,
    FromFail    = 4'd4,
    FromRefuse  = 4'd5,
    FromSettle  = 4'd6,
    FromRead    = 4'd7,
    FromHost    = 4'd8   // an atomic is performed
  } from_e;

  logic [8:0] wish, grant;
  logic [3:0] from;
  logic event_valid, event_ready, room, rings_room, asks_room, recv_room, carried_ready, ring_waits;
  logic [3:0] kind;
  logic [QpBits-1:0] qp, grant_qp;
  logic grant_valid, may_take, packet_wish, refuse_valid;
  logic settled_valid, behind_read;
  logic [Qps-1:0] barred;
  logic [QpBits-1:0] refuse_qp, settled_qp;
  refusal_t refusal;
  logic [RefusalBits-1:0] refusals;  // that wait

  typedef struct packed {
    logic [QpBits-1:0] qp;
    logic [3:0]        index;
  } performed_t;

  logic performed_valid, performing, atomic_valid, atomic_ready;
  performed_t performed;
  logic [QpBits-1:0] atomic_qp;
  logic [63:0] original;

  // The parts of the receive buffer take turns, packet by packet; with several rings those whose ring is short. The packet
  // that is next leaves its part, and is kept here until responder or requester takes it.
  logic next_valid, next, packet_valid_q, packet_passes, event_taken, reaction_taken, parts_move, unused_turn_moves;
  logic offer;  // it is returned, and is offered to the requester from the next cycle on
  logic offered_q;
  logic reacting;  // what is returned is offered or under way
  logic [Buffers-1:0] part, part_q, parts_wish, ring_short, ring_few;
  buffer_t part_index;
  logic [QpBits-1:0] packet_qp;
  waiting_t packet;

  round_robin_arbiter #(
      .Count(Buffers)
  ) u_parts (
      .clk_i    (clk_responder),
      .rst_i,
      .request_i(parts_wish),
      .valid_o  (next_valid),
      .grant_o  (part),
      .index_o  (part_index),
      .ready_i  (next),
      .moves_o  (parts_move)
  );

  assign parts_wish    = parts_i ? packet_valid_i & ring_short & ring_few : packet_valid_i;
  assign next          = next_valid && !packet_valid_q;
  assign packet_passes = event_taken || reaction_taken;

  always_ff @(posedge clk_responder) begin
    if (rst_i) packet_valid_q <= 1'b0;
    else packet_valid_q <= next || (packet_valid_q && !packet_passes);
  end

  always_ff @(posedge clk_responder) begin
    if (next) begin
      part_q    <= part;
      packet_qp <= packet_qp_i[part_index];
      packet    <= packet_i[part_index];
    end
  end

  localparam logic [5:0] PacketsPerGrant = 6'd16;
  logic [5:0] packets_q;  // packets since the last grant; saturates

  assign wish[FromCommand] = command_valid_i;
  assign wish[FromRecv] = recv_valid_i && room && recv_room;
  assign asks_room = rings_room && ask_room_i;
  assign may_take = room && asks_room && carried_ready && !ring_waits;
  assign packet_wish = packet_valid_q && !packet.returned && may_take && !reacting;
  assign wish[FromPacket] = packet_wish;
  assign wish[FromGrant]   = grant_valid && !behind_read && (packets_q == PacketsPerGrant || !(packet_wish || (backlog_i && may_take)));
  assign wish[FromFail] = fail_valid_i && room;
  assign wish[FromRefuse] = refuse_valid && room;
  assign wish[FromSettle] = settled_valid;
  assign wish[FromRead] = read_valid_i && !barred[read_qp_i] && ((room && asks_room) || !translating_i);
  assign wish[FromHost] = performed_valid;

  round_robin_arbiter #(
      .Count(9)
  ) u_turn (
      .clk_i    (clk_responder),
      .rst_i,
      .request_i(wish),
      .valid_o  (event_valid),
      .grant_o  (grant),
      .index_o  (from),
      .ready_i  (event_ready),
      .moves_o  (unused_turn_moves)
  );

  always_ff @(posedge clk_responder) begin
    if (rst_i || (grant[FromGrant] && event_ready)) packets_q <= '0;
    else if (event_taken && packets_q != PacketsPerGrant) packets_q <= packets_q + 1'b1;
  end

  always_comb begin
    case (from_e'(from))
      // WALK from outside changes nothing: its step shows the context.
      FromCommand: begin
        {kind, qp} = {command_open_i ? ResponderOpen : ResponderClose, command_qp_i};
        if (command_query_i) kind = ResponderWalk;
      end
      FromRecv:   {kind, qp} = {ResponderPost, recv_qp_i};
      FromPacket: {kind, qp} = {ResponderPacket, packet_qp};
      FromFail:   {kind, qp} = {ResponderFail, fail_qp_i};
      FromRefuse: {kind, qp} = {ResponderRefuse, refuse_qp};
      FromSettle: {kind, qp} = {ResponderSettle, settled_qp};
      FromRead:   {kind, qp} = {ResponderRead, read_qp_i};
      FromHost:   {kind, qp} = {ResponderReturn, performed.qp};
      default:    {kind, qp} = {ResponderGrant, grant_qp};
    endcase
  end

  assign command_ready_o = grant[FromCommand] && event_ready;
  assign recv_ready_o    = grant[FromRecv] && event_ready;
  assign event_taken     = grant[FromPacket] && event_ready;
  assign packet_ready_o  = next ? part : '0;
  assign fail_ready_o    = grant[FromFail] && event_ready;
  assign read_ready_o    = grant[FromRead] && event_ready;

  logic step_valid, place_valid, response_valid, completion_valid;
  responder_kind_e step_kind;
  logic [QpBits-1:0] step_qp;
  responder_note_e step_note;
  place_t place;
  response_t response;
  completion_t completion;
  logic [Qps-1:0] owed;
  logic responder_idle;
  responder_context_t step_context;
  logic accepts_read, read_valid, reread_valid;
  logic [3:0] accepts_index;
  read_response_t read;
  reread_t reread;

  gbn_responder #(
      .Qps  (Qps),
      .Recvs(Recvs),
      .Reads(Reads)
  ) u_responder (
      .clk_i                (clk_responder),
      .rst_i,
      .event_valid_i        (event_valid),
      .event_kind_i         (kind),
      .event_qp_i           (qp),
      .event_configuration_i(configuration_i),
      .event_psn_i          (psn_i),
      .event_recv_i         (recv_i),
      .event_arrival_i      (packet.arrival),
      .event_refusal_i      (refusal),
      .event_original_i     ('{index: performed.index, original: original}),
      .event_ready_o        (event_ready),
      .post_qp_i            (recv_qp_i),
      .post_room_o          (recv_room),
      .step_valid_o         (step_valid),
      .step_kind_o          (step_kind),
      .step_qp_o            (step_qp),
      .step_context_o       (step_context),
      .step_note_o          (step_note),
      .place_valid_o        (place_valid),
      .place_o              (place),
      .response_valid_o     (response_valid),
      .response_o           (response),
      .completion_valid_o   (completion_valid),
      .completion_o         (completion),
      .accepts_read_o       (accepts_read),
      .accepts_index_o      (accepts_index),
      .read_valid_o         (read_valid),
      .read_o               (read),
      .reread_valid_o       (reread_valid),
      .reread_o             (reread),
      .owed_o               (owed),
      .reads_answerable_o   (answerable_o),
      .idle_o               (responder_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Fields of a packet that bypass the responder

  typedef struct packed {
    class_t         class_of;
    buffer_t        part;
    logic [15:0]    frame_bytes;
    logic [15:0]    beat;
    payload_bytes_t payload_bytes;
  } carried_t;

  // What the responder does not need of an atomic
  typedef struct packed {
    logic        atomic;
    logic        add;
    logic [63:0] swap_add;
    logic [63:0] compare;
  } operands_t;

  carried_t carried_in, carried, reacted;
  operands_t operands_in, operands;
  logic packet_step, carried_valid;
  logic [3:0] carried_count;

  assign carried_in = '{
          class_of: packet.class_of,
          part: packet.part,
          frame_bytes: packet.frame_bytes,
          beat: packet.beat,
          payload_bytes: packet.arrival.payload_bytes[$bits(payload_bytes_t)-1:0]
      };
  assign operands_in = '{
          atomic: packet.arrival.operation inside {OpCmpSwap, OpFetchAdd},
          add: packet.arrival.operation == OpFetchAdd,
          swap_add: packet.arrival.swap_add,
          compare: packet.arrival.compare
      };
  assign packet_step = step_valid && step_kind == ResponderPacket;

  fifo #(
      .Width($bits(operands_t) + $bits(carried_t)),
      .Depth(8)
  ) u_carried (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(event_taken),
      .ready_o(carried_ready),
      .data_i ({operands_in, carried_in}),
      .valid_o(carried_valid),
      .ready_i(packet_step),
      .data_o ({operands, carried}),
      .count_o(carried_count)
  );

  // Packets for the requester: at most as many under way as the writer's room counts as an event each
  localparam int unsigned ReactionsMax = 4;

  typedef struct packed {
    logic [QpBits-1:0] qp;
    landing_t          landing;
  } landed_t;

  logic reactions_ready, reacted_valid, landings_ready, landing_valid, land, responder_works;
  logic tell, step_unbars, step_granted, step_leaves;
  logic [QpBits-1:0] landing_qp;
  landing_t landing;
  logic [$clog2(ReactionsMax+1)-1:0] reactions, landings;

  assign reacting = offered_q || reactions != '0;
  assign offer = (next ? packet_i[part_index].returned && !parts_i : packet_valid_q && packet.returned && !offered_q) &&
      reactions_ready && room && asks_room && !ring_waits && carried_count == '0;
  assign reaction_taken = reaction_valid_o && reaction_ready_i;

  always_ff @(posedge clk_responder) begin
    if (rst_i) offered_q <= 1'b0;
    else if (offer) offered_q <= 1'b1;
    else if (reaction_taken) offered_q <= 1'b0;
  end

  assign reaction_valid_o = offered_q;
  assign reaction_qp_o = packet_qp;
  assign reaction_o = '{
          psn: packet.arrival.psn,
          syndrome: packet.syndrome,
          answer: packet.arrival.operation == OpAck,
          part: packet.part,
          returned: '{operation: packet.arrival.operation, bytes: packet.arrival.payload_bytes}
      };
  assign next_o = packet_valid_q ? part_q : '0;
  assign passed_o = packet_passes ? part_q : '0;

  fifo #(
      .Width($bits(carried_t)),
      .Depth(ReactionsMax)
  ) u_reacted (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(reaction_taken),
      .ready_o(reactions_ready),
      .data_i (carried_in),
      .valid_o(reacted_valid),
      .ready_i(land),
      .data_o (reacted),
      .count_o(reactions)
  );

  fifo #(
      .Width($bits(landed_t)),
      .Depth(ReactionsMax)
  ) u_landings (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(landing_valid_i),
      .ready_o(landings_ready),
      .data_i ({landing_qp_i, landing_i}),
      .valid_o(landing_valid),
      .ready_i(land),
      .data_o ({landing_qp, landing}),
      .count_o(landings)
  );

  // In a cycle in which the responder leaves nothing to be done; with several rings, nothing at all, which may belong to
  // another ring
  assign responder_works = step_valid && (packet_step || completion_valid || read_valid);
  assign land            = landing_valid && reacted_valid && !responder_works && !(parts_i && step_leaves);

  atomic_t atomic;
  assign atomic = '{
          unused: '0,
          index: accepts_index,
          add: operands.add,
          swap_add: operands.swap_add,
          compare: operands.compare
      };

  work_off_t work_off;

  always_comb begin
    work_off               = '0;
    work_off.packet        = packet_step;
    work_off.class_of      = carried.class_of;
    work_off.part          = carried.part;
    work_off.frame_bytes   = carried.frame_bytes;
    work_off.payload_bytes = carried.payload_bytes;
    work_off.beat          = carried.beat;
    work_off.write         = packet_step && place_valid && !operands.atomic;
    work_off.atomic        = packet_step && place_valid && operands.atomic;
    work_off.reads         = packet_step && accepts_read;
    work_off.responds      = read_valid;
    work_off.place         = place;
    if (read_valid) work_off.place = '{va: read.va, key: read.key, remote: 1'b1, bytes: read.bytes[14:0]};
    if (read_valid && translating_i) work_off.class_of = answer_class_i[step_qp];
    work_off.completion_valid = completion_valid;
    work_off.completion       = completion;
    if (work_off.atomic) work_off.completion = atomic;
    if (land) begin
      work_off               = '0;
      work_off.packet        = 1'b1;
      work_off.returned      = 1'b1;
      work_off.class_of      = reacted.class_of;
      work_off.part          = reacted.part;
      work_off.frame_bytes   = reacted.frame_bytes;
      work_off.payload_bytes = reacted.payload_bytes;
      work_off.beat          = reacted.beat;
      work_off.write         = landing.write;
      work_off.place         = landing.place;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What steps leave to others. Where addresses are translated it waits here, in order, until its memory is known. Answers
  // need no room at the writer: of each class two are under way at most (answer_scheduler).

  logic left_in_valid, left_valid, left_gone, left_moved, ring_moves, resolve_idle;
  logic [QpBits-1:0] left_in_qp, left_work_qp, left_qp;
  left_t left_in, left;
  buffer_t ring_in, ring_from, left_ring;
  logic [7:0] stalled;
  logic [Buffers-1:0] ring_asks;
  logic writer_full, hold, hold_q;
  reply_t reply;  // what a step tells of READs
  logic left_tells;
  logic [1:0] tell_q;
  logic [2:0] replies;

  assign step_unbars   = step_valid && step_kind == ResponderRefuse;
  assign step_granted  = step_valid && step_kind == ResponderGrant;
  assign step_leaves   = tell || step_unbars || step_granted;
  assign left_in_valid = responder_works || land || step_leaves;
  assign left_in_qp    = land ? landing_qp : step_qp;
  assign ask_ring_o    = ring_in;

  qp_rings #(
      .Qps(Qps)
  ) u_qp_rings (
      .clk_i          (clk_responder),
      .rst_i,
      .on_i           (parts_i),
      .next_i         (next),
      .next_returned_i(next ? packet_i[part_index].returned : packet.returned),
      .next_qp_i      (next ? packet_qp_i[part_index] : packet_qp),
      .next_part_i    (next ? part_index : packet.part),
      .waits_o        (ring_waits),
      .taken_i        (packet_passes),
      .valid_i        (left_in_valid),
      .opens_i        (step_valid && step_kind == ResponderOpen),
      .opens_part_i   (buffer_of_i[answer_class_i[step_qp]]),
      .packet_i       (work_off.packet),
      .returned_i     (land),
      .qp_i           (left_in_qp),
      .part_i         (work_off.part),
      .ring_o         (ring_in),
      .moves_o        (ring_moves),
      .from_o         (ring_from),
      .moved_i        (left_moved)
  );

  always_comb begin
    left_in.work_valid     = responder_works || land;
    left_in.work           = work_off;
    left_in.refusal.psn    = step_context.expected_psn - 1'b1;
    left_in.refusal.msn    = step_context.msn - 24'(!step_context.under_way);
    left_in.refusal.remote = 1'b0;
    if (read_valid) {left_in.refusal.psn, left_in.refusal.msn} = {read.psn, read.msn - 1'b1};
    left_in.unbars         = step_unbars;
    left_in.tells          = tell;
    left_in.reply          = reply;
    left_in.granted        = step_granted;
    left_in.answers        = left_in.granted && !left_in.work_valid;
    left_in.response_valid = response_valid;
    left_in.response       = response;
  end

  // A ring has room for what the writer lets come to it, and for two answers of each class. Alone it has all of theirs.
  localparam int unsigned RingDepth = 2 ** $clog2(RingMost + 4 * (Recvs + 1) + 4 + 16);
  localparam int unsigned AloneNeeds = 8 * (Recvs + 1) + 8 + 16;
  localparam int unsigned AloneDepth = AloneNeeds > RingDepth ? AloneNeeds : RingDepth;

  resolve_rings #(
      .Qps  (Qps),
      .Depth(RingDepth),
      .Alone(AloneDepth)
  ) u_resolve (
      .clk_i    (clk_resolve),
      .rst_i,
      .on_i     (translating_i),
      .parts_i,
      .valid_i  (left_in_valid),
      .ring_i   (ring_in),
      .moves_i  (ring_moves),
      .from_i   (ring_from),
      .work_qp_i(left_in_qp),
      .step_qp_i(step_qp),
      .left_i   (left_in),
      .valid_o  (left_valid),
      .ring_o   (left_ring),
      .work_qp_o(left_work_qp),
      .step_qp_o(left_qp),
      .left_o   (left),
      .gone_o   (left_gone),
      .moved_o  (left_moved),
      .hold_i   (hold_q),
      .ask_valid_o,
      .ask_o,
      .verdict_valid_i,
      .waits_i  (verdict_waits_i),
      .gone_i   (verdict_gone_i),
      .verdict_ready_o,
      .few_o    (ring_few),
      .room_o   (rings_room),
      .asks_o   (ring_asks),
      .stalled_o(stalled),
      .idle_o   (resolve_idle)
  );

  logic writer_idle, writer_moves, writer_beats_move, refused, bars, bars_remote, responds, responds_held;

  payload_writer #(
      .DataBytes  (DataBytes),
      .Qps        (Qps),
      .Recvs      (Recvs),
      .Regions    (Regions),
      .BufferBytes(BufferBytes)
  ) u_writer (
      .clk_i          (clk_responder),
      .clk_beats_i    (clk_beats),
      .rst_i,
      .region_write_i,
      .region_index_i,
      .region_i,
      .pd_write_i,
      .pd_qp_i,
      .pd_i,
      .invalidate_o,
      .invalidate_index_o,
      .unbar_i        (left_valid && left.unbars),
      .unbar_qp_i     (left_qp),
      .bar_i          (unread_ready_o),
      .bar_qp_i       (unread_qp_i),
      .forget_i,
      .forget_qp_i    (command_qp_i),
      .pass_o,
      .count_o,
      .step_valid_i   (left_valid && (left.work_valid || (translating_i && !left.answers))),
      .step_qp_i      (left_work_qp),
      .step_i         (left.work),
      .step_gone_i    (left_gone),
      .translating_i,
      .parts_i,
      .step_ring_i    (left_ring),
      .queued_i       (left_in_valid && !left_in.answers),
      .queued_ring_i  (ring_in),
      .room_o         (room),
      .full_o         (writer_full),
      .short_o        (ring_short),
      .refused_o      (refused),
      .bars_o         (bars),
      .bars_remote_o  (bars_remote),
      .barred_o       (barred),
      .landed_o,
      .checked_o,
      .checked_part_o,
      .unwritten_o,
      .unwritten_qp_o,
      .responds_o     (responds),
      .responds_held_o(responds_held),
      .settled_valid_o(settled_valid),
      .settled_qp_o   (settled_qp),
      .settled_ready_i(grant[FromSettle] && event_ready),
      .atomic_valid_o (atomic_valid),
      .atomic_qp_o    (atomic_qp),
      .atomic_place_o,
      .atomic_o,
      .atomic_ready_i (atomic_ready),
      .first_i,
      .last_i,
      .read_o,
      .read_address_o,
      .read_data_i,
      .write_valid_o,
      .write_va_o,
      .write_key_o,
      .write_remote_o,
      .write_first_o,
      .write_last_o,
      .write_bytes_o,
      .write_data_o,
      .write_ready_i,
      .release_o,
      .release_class_o,
      .release_part_o,
      .release_bytes_o,
      .release_beats_o,
      .completion_valid_o,
      .completion_qp_o,
      .completion_o,
      .completion_ready_i,
      .moves_o        (writer_moves),
      .beats_move_o   (writer_beats_move),
      .idle_o         (writer_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Atomics: the host performs them in their order, so that what comes back belongs to the oldest. There is room for
  // what may come back.

  logic atomic_room, original_room, original_valid;
  logic [AtomicBits-1:0] originals;

  assign atomic_valid_o = atomic_valid && atomic_room;
  assign atomic_ready = atomic_ready_i && atomic_room;
  assign atomic_pop_o = grant[FromHost] && event_ready;
  assign performed_valid = performing && original_valid;

  fifo #(
      .Width($bits(performed_t)),
      .Depth(AtomicsOut)
  ) u_atomics (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(atomic_valid && atomic_ready_i),
      .ready_o(atomic_room),
      .data_i ({atomic_qp, atomic_o.index}),
      .valid_o(performing),
      .ready_i(atomic_pop_o),
      .data_o (performed),
      .count_o(atomics_o)
  );

  fifo #(
      .Width(64),
      .Depth(AtomicsOut)
  ) u_originals (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(original_valid_i),
      .ready_o(original_room),
      .data_i (original_i),
      .valid_o(original_valid),
      .ready_i(atomic_pop_o),
      .data_o (original),
      .count_o(originals)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Refusals: where the responder goes back to, carried beside the check of the region. There is room for all: REFUSE
  // waits for room behind what is queued, so that nothing of that may wait for a REFUSE. A QP has two on their way at
  // most.

  typedef struct packed {
    logic [QpBits-1:0] qp;
    refusal_t          refusal;
  } refused_t;

  refused_t refused_d, refused_in_q;
  refused_t [1:0] refused_q;
  logic refusals_ready, refuses_q, checked, checked_q;

  assign refused_d = '{qp: left_work_qp, refusal: left.refusal};
  assign checked   = left_valid && left.work_valid;

  always_ff @(posedge clk_responder) begin
    if (rst_i) checked_q <= 1'b0;
    else checked_q <= checked;
  end

  always_ff @(posedge clk_responder) begin
    if (checked) refused_q[0] <= refused_d;
    if (checked_q) refused_q[1] <= refused_q[0];
  end

  always_ff @(posedge clk_responder) begin
    if (rst_i) refuses_q <= 1'b0;
    else refuses_q <= bars || unread_ready_o;
  end

  always_ff @(posedge clk_responder) begin
    if (bars) begin
      refused_in_q <= refused_q[1];
      refused_in_q.refusal.remote <= bars_remote;
    end else if (unread_ready_o) refused_in_q <= {unread_qp_i, unread_i};
  end

  fifo #(
      .Width($bits(refused_t)),
      .Depth(2 * Qps)
  ) u_refusals (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(refuses_q),
      .ready_o(refusals_ready),
      .data_i (refused_in_q),
      .valid_o(refuse_valid),
      .ready_i(grant[FromRefuse] && event_ready),
      .data_o ({refuse_qp, refusal}),
      .count_o(refusals)
  );

  assign refusing_o = refuses_q || refusals != '0;

  // READ responses whose payload cannot be read come in between.
  assign unread_ready_o  = unread_valid_i && !bars;
  assign refused_valid_o = step_unbars;
  assign refused_qp_o    = step_qp;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What becomes of READ events, behind the check of their memory; and withdrawals, as they come between them

  typedef struct packed {
    logic [QpBits-1:0] qp;
    reply_t            reply;
  } told_t;

  logic replies_ready, replies_idle;
  told_t told_in;
  told_t [1:0] told_q;

  // There is room for what is on its way to where it is told, and for two that leave their ring meanwhile.
  assign hold = writer_full || 4'(replies) + 4'(tell_q[0]) + 4'(tell_q[1]) + 4'(left_tells) >= 4'd2;

  always_ff @(posedge clk_responder) hold_q <= !rst_i && hold;

  assign left_tells = left_valid && left.tells;
  assign tell = step_valid && (step_kind inside {ResponderRead, ResponderOpen, ResponderClose} || reread_valid);

  always_comb begin
    reply = '0;
    if (tell) begin
      reply.over     = step_kind == ResponderRead;
      reply.all      = read_valid || !reread_valid;
      reply.end_psn  = reread.end_psn;
      reply.response = read;
      if (step_kind == ResponderRead) reply.all = read_valid;
      else reply.response.psn = reread.first_psn;
    end
  end

  always_ff @(posedge clk_responder) begin
    if (rst_i) tell_q <= '0;
    else tell_q <= {tell_q[0], left_tells};
  end

  always_ff @(posedge clk_responder) begin
    if (left_tells) told_q[0] <= '{qp: left_qp, reply: left.reply};
    if (tell_q[0]) told_q[1] <= told_q[0];
  end

  always_comb begin
    told_in = told_q[1];
    if (responds && !responds_held) told_in.reply.all = 1'b0;
  end

  fifo #(
      .Width($bits(told_t)),
      .Depth(4)
  ) u_replies (
      .clk_i  (clk_responder),
      .rst_i,
      .valid_i(tell_q[1]),
      .ready_o(replies_ready),
      .data_i (told_in),
      .valid_o(reply_valid_o),
      .ready_i(reply_ready_i),
      .data_o ({reply_qp_o, reply_o}),
      .count_o(replies)
  );

  assign replies_idle = !left_tells && tell_q == '0 && replies == '0;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Answers

  logic answers_idle, answer_valid, answered_q, left_granted, left_responds, responded_q, response_valid_q;
  logic [7:0] coming;
  logic [QpBits-1:0] answered_qp_q;
  response_t response_q;

  // Whether its QP is barred is looked up in the cycle behind the step, in which a READ response counts as an answer.
  assign left_granted  = left_valid && left.granted;
  assign left_responds = left_valid && left.work_valid && left.work.responds;

  always_ff @(posedge clk_responder) begin
    if (rst_i) {answered_q, responded_q} <= '0;
    else {answered_q, responded_q} <= {left_granted, left_responds};
  end

  always_ff @(posedge clk_responder) begin
    if (left_granted) {answered_qp_q, response_valid_q, response_q} <= {left_qp, left.response_valid, left.response};
  end

  // An answer of a QP that is closed meanwhile is discarded, too.
  assign answer_valid = response_valid_q && !barred[answered_qp_q] && !(bars && refused_q[1].qp == answered_qp_q) &&
      !(translating_i && discard_i && command_qp_i == answered_qp_q);

  assign behind_read = sending_i[grant_qp];

  answer_scheduler #(
      .Qps(Qps)
  ) u_answers (
      .clk_i           (clk_responder),
      .rst_i,
      .owed_i          (owed & ~sending_i),
      .class_i         (answer_class_i),
      .discard_i,
      .discard_qp_i    (command_qp_i),
      .grant_valid_o   (grant_valid),
      .grant_qp_o      (grant_qp),
      .grant_ready_i   (grant[FromGrant] && event_ready),
      .grant_drop_i    (behind_read),
      .step_valid_i    (answered_q),
      .step_qp_i       (answered_qp_q),
      .response_valid_i(answer_valid),
      .response_i      (response_q),
      .head_o          (answer_o),
      .head_qp_o       (answer_qp_o),
      .head_response_o (answer_response_o),
      .pop_i           (answer_pop_i),
      .coming_o        (coming),
      .idle_o          (answers_idle)
  );

  // One that waits for page table entries, as it did in the cycle before, is not a few cycles away; and one behind a
  // packet that is looked up is somewhat more.
  logic stalled_q;

  always_ff @(posedge clk_resolve) stalled_q <= !rst_i && stalled != '0;

  assign answer_coming_o = stalled_q ? '0 : coming;

  always_comb begin
    answer_behind_o = '0;
    if (ring_asks != '0)
      for (int unsigned c = 0; c < 8; c++) answer_behind_o[c] = ring_asks[parts_i?buffer_of_i[c] : '0];
  end

  assign failed_o = step_valid &&
      step_note inside {ResponderInvalid, ResponderAccess, ResponderTooLong, ResponderUnwritable};
  assign failed_qp_o = step_qp;
  assign step_o = step_valid;
  assign step_qp_o = step_qp;
  assign step_context_o = step_context;

  always_comb begin
    event_o = '0;
    if (packet_step) begin
      event_o[CountRequestsIn]   = step_note == ResponderAccepted;
      event_o[CountDuplicatesIn] = step_note == ResponderDuplicate;
      event_o[CountGapsIn]       = step_note inside {ResponderGap, ResponderGapAgain};
      event_o[CountNoBuffer]     = step_note == ResponderNoBuffer;
      event_o[CountInvalidIn]    = step_note inside {ResponderInvalid, ResponderTooLong};
      event_o[CountAccessIn]     = step_note == ResponderAccess;
      event_o[CountNotReadyIn]   = step_note == ResponderNotReady;
    end
    event_o[CountRecvRefused] = step_valid && step_kind == ResponderPost &&
        step_note inside {ResponderRefusedFull, ResponderRefusedState};
    event_o[CountLocalAccess] = refused;
    if (answered_q && answer_valid) begin
      event_o[CountAnswersOut] = 1'b1;
      event_o[CountNaksOut]    = response_q.syndrome == SyndromeSequence;
      event_o[CountRnrNaksOut] = response_q.syndrome[7:5] == SyndromeRnr[7:5];
    end
    if (responded_q) event_o[CountAnswersOut] = 1'b1;
    event_o[32'(CountTranslationStalled0)+:8] = stalled;
  end

  assign idle_o = wish == '0 && !recv_valid_i && packet_valid_i == '0 && !fail_valid_i && responder_idle &&
      !step_valid && !packet_valid_q && !reacting && !landing_valid_i && landings == '0 && carried_count == '0 &&
      !refusing_o &&
      !original_valid_i && originals == '0 && writer_idle && answers_idle && replies_idle && resolve_idle;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Clocks

  clock_gate u_clk_responder (
      .clk_i,
      .enable_i(rst_i || wish != '0 || ring_waits || hold != hold_q || unread_ready_o || next || offer || reacting ||
          landing_valid_i || landings != '0 ||
          parts_move || !responder_idle || carried_count != '0 || refusing_o || original_valid_i || originals != '0 ||
          atomic_valid || (atomics_o != '0 && !performing) || writer_moves || !answers_idle || !replies_idle ||
          left_in_valid || left_valid),
      .clk_o(clk_responder)
  );

  clock_gate u_clk_resolve (
      .clk_i,
      .enable_i(rst_i || !resolve_idle || stalled_q),
      .clk_o   (clk_resolve)
  );

  clock_gate u_clk_beats (
      .clk_i,
      .enable_i(rst_i || writer_beats_move),
      .clk_o   (clk_beats)
  );

  always_ff @(posedge clk_responder) begin
    if (!rst_i)
      assert (!packet_step || carried_valid)
      else $error("receive_engine: a packet's step without its packet");
    if (!rst_i)
      assert (!packet_passes || 32'(packet.arrival.payload_bytes) <= PayloadBytesMax ||
              packet.arrival.payload_bytes == PayloadTooLong)
      else $error("receive_engine: more payload than a packet has");
    if (!rst_i)
      assert (!landing_valid_i || landings_ready)
      else $error("receive_engine: a landing that has no room");
    if (!rst_i)
      assert (!offered_q || (packet_valid_q && packet.returned))
      else $error("receive_engine: a reaction without its packet");
    if (!rst_i)
      assert (!reaction_taken || reactions_ready)
      else $error("receive_engine: a reaction that has no room");
    if (!rst_i)
      assert (!refuses_q || refusals_ready)
      else $error("receive_engine: a refusal that has no room");
    if (!rst_i)
      assert (!original_valid_i || (original_room && originals < atomics_o))
      else $error("receive_engine: an original that nothing asked for");
    if (!rst_i)
      assert (!tell_q[1] || replies_ready)
      else $error("receive_engine: a reply that has no room");
    if (!rst_i)
      assert (!responds || (tell_q[1] && told_q[1].reply.over))
      else $error("receive_engine: a response without its reply");
  end

endmodule
