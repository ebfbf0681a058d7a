// Selects the next packet to build and forms its headers. Priority: CNPs, answers, requests and READ responses. A
// paused class is skipped. Answers of several classes that are ready take turns by QP; packets in slots are served by
// the weights of their classes (class_scheduler). Counts the IPv4 identification.
//
// A request waits also for an answer that is a few cycles away (`answer_coming_i`): answers come more slowly than the
// shortest of them are sent, and each would wait for a request of 4 KiB. One that is behind a packet whose memory is
// looked up (`answer_behind_i`) takes as long as a frame of some 300 bytes: requests up to `ShortBytes` do not wait for
// it. A request that waits lets at most `AnswersFirst` answers go ahead.
//
//     select    the packet leaves its queue; path and slot are read; its payload becomes a job of the reader
//     path      the path is read; headers are formed
//     offered   `desc_valid_o` until taken
//
// A packet is selected only when the reader has nothing else to read. At most two packets are therefore selected and
// not begun, and the last one is selected late.
//
// Timing: pops depend on `paused_i`, on `job_ready_i`, on the heads and, through the stages, on `desc_ready_i` of the
// same cycle.
module transmit_select
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Slots       = 32,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned SlotBits    = $clog2(Slots),
    localparam int unsigned BeatBits    = $clog2(DataBytes),
    localparam int unsigned AddressBits = SlotBits + 12 - BeatBits
) (
    input logic clk_i,
    input logic rst_i,

    input logic        [7:0] paused_i,
    input logic              ecn_i,         // requests are sent with ECT(0)
    input logic        [5:0] cnp_dscp_i,
    input logic        [2:0] cnp_pcp_i,
    input class_maps_t       maps_i,
    input class_cost_t [7:0] class_costs_i,

    input logic               write_i,     // writes the path of a QP
    input logic  [QpBits-1:0] write_qp_i,
    input path_t              path_i,

    input logic [Qps-1:0] tagged_i,  // paths with tags

    input  logic              cnp_valid_i,
    input  logic [QpBits-1:0] cnp_qp_i,
    output logic              cnp_ready_o,

    input  logic      [7:0]             answer_i,
    input  logic      [7:0][QpBits-1:0] answer_qp_i,
    input  response_t [7:0]             answer_response_i,
    input  logic      [7:0]             answer_coming_i,
    input  logic      [7:0]             answer_behind_i,
    output logic      [7:0]             answer_pop_o,

    input  logic           [         7:0]               slot_held_i,      // classes that hold a slot
    input  logic           [         7:0]               slot_valid_i,
    input  logic           [         7:0][SlotBits-1:0] slot_i,
    input  logic           [         7:0][  QpBits-1:0] slot_qp_i,
    input  payload_bytes_t [         7:0]               slot_bytes_i,
    input  beats_t         [         7:0]               slot_beats_i,
    output logic           [         7:0]               slot_pop_o,
    input  request_t                                    request_i,        // one cycle after the pop
    input  wire_bytes_t                                 request_bytes_i,  // likewise, on the wire
    output logic                                        slot_free_o,      // the popped packet had no payload
    output logic           [SlotBits-1:0]               slot_free_slot_o,

    output logic                     job_valid_o,
    input  logic                     job_ready_i,
    output logic   [AddressBits-1:0] job_address_o,
    output beats_t                   job_beats_o,
    output logic   [            6:0] job_bytes_o,
    output logic   [   SlotBits-1:0] job_slot_o,

    output logic             desc_valid_o,
    input  logic             desc_ready_i,
    output eth_head_t        eth_o,
    output ip_head_t         ip_o,
    output logic      [15:0] udp_port_o,
    output bth_t             bth_o,
    output ext_head_t        ext_o,
    output logic      [15:0] payload_bytes_o,

    output logic moves_o,  // the state changes with this cycle
    output logic idle_o
);

  typedef enum logic [1:0] {
    KindCnp     = 2'd0,
    KindAnswer  = 2'd1,
    KindRequest = 2'd2
  } kind_e;

  typedef struct packed {
    eth_head_t   eth;
    ip_head_t    ip;
    logic [15:0] udp_port;
    bth_t        bth;
    ext_head_t   ext;
    logic [15:0] payload_bytes;
  } desc_t;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Select stage

  logic [7:0] answer_wish, slot_wish, answer_grant, slot_grant;
  logic answer_some, slot_some, settles, cnp_wish;
  logic [2:0] answer_class, slot_class;
  class_t cnp_class;
  logic cnp_known_q, cnp_known_d, cnp_tagged_q;
  logic select, stage_ready, may_select, turn;
  kind_e kind;
  logic [QpBits-1:0] qp;
  payload_bytes_t bytes;

  assign answer_wish = answer_i & ~paused_i;
  assign slot_wish   = slot_valid_i & ~paused_i;
  assign cnp_class   = class_of_frame(maps_i, {1'b0, cnp_tagged_q}, cnp_pcp_i, cnp_dscp_i);
  assign cnp_wish    = cnp_valid_i && cnp_known_q && !paused_i[cnp_class];
  assign may_select  = stage_ready && job_ready_i;
  assign select      = may_select && (cnp_wish || answer_some || turn);

  // Whether a CNP has a tag is looked up in the cycle before.
  assign cnp_known_d = cnp_valid_i && !cnp_ready_o;

  always_ff @(posedge clk_i) begin
    if (rst_i) cnp_known_q <= 1'b0;
    else cnp_known_q <= cnp_known_d;
  end

  always_ff @(posedge clk_i) begin
    if (cnp_valid_i && !cnp_known_q) cnp_tagged_q <= tagged_i[cnp_qp_i];
  end

  // Answers that went ahead of the request that waits
  localparam logic [3:0] AnswersFirst = 4'd15;
  logic [3:0] ahead_q;

  // Payload of a request that does not wait long for an answer
  localparam int unsigned ShortBytes = 512;
  logic big;
  logic [7:0] awaited;

  always_comb begin
    big = 1'b0;
    if (answer_behind_i != '0)
      for (int unsigned c = 0; c < 8; c++) if (slot_wish[c] && 32'(slot_bytes_i[c]) > ShortBytes) big = 1'b1;
  end

  assign awaited = answer_coming_i & ~paused_i & (big ? '1 : ~answer_behind_i);
  assign turn    = slot_some && (ahead_q == AnswersFirst || !(answer_some || awaited != '0));

  always_ff @(posedge clk_i) begin
    if (rst_i) ahead_q <= '0;
    else if (may_select && !cnp_wish) begin
      if (turn) ahead_q <= '0;
      else if (answer_some) ahead_q <= (slot_wish != '0) ? ahead_q + 1'b1 : '0;
    end
  end

  class_turns #(
      .Qps(Qps)
  ) u_answer (
      .clk_i,
      .rst_i,
      .offer_i(answer_wish),
      .qp_i   (answer_qp_i),
      .valid_o(answer_some),
      .grant_o(answer_grant),
      .class_o(answer_class),
      .ready_i(may_select && kind == KindAnswer)
  );

  class_scheduler #(
      .CostBits  ($bits(class_cost_t)),
      .LengthBits($bits(wire_bytes_t))
  ) u_slot (
      .clk_i,
      .rst_i,
      .cost_i   (class_costs_i),
      .wants_i  (slot_held_i & ~paused_i),
      .offer_i  (slot_wish),
      .valid_o  (slot_some),
      .grant_o  (slot_grant),
      .class_o  (slot_class),
      .ready_i  (may_select && kind == KindRequest),
      .length_i (request_bytes_i),
      .settles_o(settles)
  );

  assign kind         = cnp_wish ? KindCnp : turn ? KindRequest : KindAnswer;
  assign cnp_ready_o  = may_select && cnp_wish;
  assign answer_pop_o = (may_select && kind == KindAnswer) ? answer_grant : '0;
  assign slot_pop_o   = (may_select && kind == KindRequest) ? slot_grant : '0;

  always_comb begin
    case (kind)
      KindCnp:    qp = cnp_qp_i;
      KindAnswer: qp = answer_qp_i[answer_class];
      default:    qp = slot_qp_i[slot_class];
    endcase
  end

  assign bytes            = (kind == KindRequest) ? slot_bytes_i[slot_class] : '0;
  assign job_valid_o      = slot_pop_o != '0 && job_beats_o != '0;
  assign job_slot_o       = slot_i[slot_class];
  assign job_address_o    = {job_slot_o, {(12 - BeatBits) {1'b0}}};
  assign job_beats_o      = slot_beats_i[slot_class];
  assign job_bytes_o      = (bytes[BeatBits-1:0] == '0) ? 7'(DataBytes) : 7'(bytes[BeatBits-1:0]);
  assign slot_free_o      = slot_pop_o != '0 && job_beats_o == '0;
  assign slot_free_slot_o = job_slot_o;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Path stage

  logic [$bits(path_t)-1:0] path_bits;
  path_t path;
  assign path = path_bits;

  ram_1r1w #(
      .Width($bits(path_t)),
      .Depth(Qps)
  ) u_paths (
      .clk_i,
      .write_i,
      .write_address_i(write_qp_i),
      .data_i         (path_i),
      .read_i         (select),
      .read_address_i (qp),
      .data_o         (path_bits)
  );

  logic found_q, offered_q, move;
  kind_e kind_q;
  response_t response_q;
  payload_bytes_t bytes_q;
  logic [15:0] id_q;
  desc_t desc_d, desc_q;

  assign move        = found_q && (!offered_q || desc_ready_i);
  assign stage_ready = !found_q || move;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      found_q   <= 1'b0;
      offered_q <= 1'b0;
      id_q      <= '0;
    end else begin
      found_q   <= select || (found_q && !move);
      offered_q <= move || (offered_q && !desc_ready_i);
      if (move && !path.ipv6) id_q <= id_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (select) begin
      kind_q     <= kind;
      response_q <= answer_response_i[answer_class];
      bytes_q    <= bytes;
    end
    if (move) desc_q <= desc_d;
  end

  always_comb begin
    desc_d                  = '0;
    desc_d.eth.dst          = path.dst_mac;
    desc_d.eth.src          = path.src_mac;
    desc_d.eth.tags         = path.tags;
    desc_d.eth.outer        = path.outer;
    desc_d.eth.inner        = path.inner;
    desc_d.ip.kind          = path.ipv6 ? IpV6 : IpV4;
    desc_d.ip.traffic_class = {path.dscp, ecn_i ? 2'b10 : 2'b00};
    desc_d.ip.id            = id_q;
    desc_d.ip.flags         = 3'b010;  // don't fragment
    desc_d.ip.hop_limit     = path.hop_limit;
    desc_d.ip.src           = path.own_ip;
    desc_d.ip.dst           = path.peer_ip;
    desc_d.udp_port         = path.udp_port;
    desc_d.bth.pkey         = path.pkey;
    desc_d.bth.dest_qp      = path.peer_qpn;
    desc_d.payload_bytes    = 16'(bytes_q);
    case (kind_q)
      KindCnp: begin
        desc_d.ip.traffic_class = {cnp_dscp_i, 2'b10};
        desc_d.bth.opcode       = OpcodeCnp;
        if (path.tags != '0) desc_d.eth.outer.pcp = cnp_pcp_i;
        desc_d.bth.becn = 1'b1;
      end
      KindAnswer: begin
        desc_d.ip.traffic_class = {path.answer_dscp, 2'b00};
        if (path.tags != '0) desc_d.eth.outer.pcp = path.answer_pcp;
        desc_d.bth.opcode   = response_q.opcode;
        desc_d.bth.psn      = response_q.psn;
        desc_d.ext.syndrome = response_q.syndrome;
        desc_d.ext.msn      = response_q.msn;
        desc_d.ext.original = response_q.original;
      end
      default: begin
        desc_d.bth.opcode                     = request_i.opcode;
        desc_d.bth.psn                        = request_i.psn;
        desc_d.bth.ack_req                    = request_i.ack_req;
        desc_d.bth.solicited                  = request_i.solicited;
        desc_d.ext.va                         = request_i.va;
        desc_d.ext.rkey                       = request_i.rkey;
        desc_d.ext.dma_len                    = request_i.dma_len;
        desc_d.ext.imm                        = request_i.imm;
        // A READ response has its AETH there, and the answer of an atomic its original below.
        {desc_d.ext.syndrome, desc_d.ext.msn} = request_i.imm;
        desc_d.ext.swap_add                   = request_i.swap_add;
        desc_d.ext.original                   = request_i.swap_add;
        desc_d.ext.compare                    = request_i.compare;
      end
    endcase
  end

  assign desc_valid_o = offered_q;
  assign {eth_o, ip_o, udp_port_o, bth_o, ext_o, payload_bytes_o} = desc_q;

  logic unused_fields;  // fields of packed types that are not needed here
  assign unused_fields = ^{request_i, maps_i};

  assign moves_o = write_i || select || settles || move || (offered_q && desc_ready_i) || cnp_known_q != cnp_known_d;
  assign idle_o = !cnp_wish && cnp_known_q == cnp_known_d && answer_wish == '0 && slot_wish == '0 && !found_q &&
      !offered_q;

endmodule
