// Go-back-N responder: accepts packets in order, places their payload, and keeps the answers owed, with one context
// per QP in a RAM. rtl/gbn/README.md is the contract.
//
// Each slot of the pipeline is an event or a WALK that follows a step. Cycles of a slot that waits for nothing:
//
//     n        taken; the context is read
//     n + 1    context available; facts that do not need the buffer; the ring's slot `tail` is read
//     n + 2    step; the context is written
//     n + 3    `step_valid_o` and the other results
//
// A slot of a QP whose step is in this cycle waits for it in stage n + 1, and those behind it with it. It goes on with
// the context that comes out, so a QP can have a step every two cycles. Behind a POST that finds other buffers in the
// ring it goes on at once: a packet and the POST of its buffer take three cycles.
//
// A WALK enters in stage n + 1, in the cycle after the step that it follows; what is in that stage waits. A step is
// followed by at most Recvs or Reads WALKs, so an event waits at most 3 · max(Recvs, Reads) + 8 cycles.
//
// READs and atomics are kept in two RAMs, what was asked in one and what is left to be sent in the other. In stage
// n + 1 the slot is read of the READ that is to be answered, of the atomic that the host has performed, or of what a
// WALK compares with the one that is asked again. Their words have the form in which the step needs them, since it has
// less than half of a cycle for what comes out of a block RAM.
//
// `post_room_o`: the ring of QP `post_qp_i` has room for a POST that is taken in this cycle.
//
// Timing: `post_room_o` depends on `post_qp_i`, `idle_o` on `event_valid_i` of the same cycle; all other outputs depend
// on registers only, and most are registers. The unit has no deadline, so it needs no time.
module gbn_responder
  import roce_pkg::*, gbn_pkg::*, gbn_step_pkg::*;
#(
    parameter  int unsigned Qps    = 64,          // 2 to 1,024
    parameter  int unsigned Recvs  = 16,          // slots of a QP's ring: a power of two, 2 to 128
    parameter  int unsigned Reads  = 16,          // READs of a QP that may be unanswered: a power of two, 2 to 16
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                           event_valid_i,
    input  logic              [       3:0] event_kind_i,           // responder_kind_e, but WALK
    input  logic              [QpBits-1:0] event_qp_i,
    input  responder_config_t              event_configuration_i,  // OPEN
    input  psn_t                           event_psn_i,            // OPEN
    input  recv_t                          event_recv_i,           // POST
    input  arrival_t                       event_arrival_i,        // PACKET
    input  refusal_t                       event_refusal_i,        // REFUSE
    input  original_t                      event_original_i,       // RETURN
    output logic                           event_ready_o,
    input  logic              [QpBits-1:0] post_qp_i,
    output logic                           post_room_o,

    output logic                            step_valid_o,
    output responder_kind_e                 step_kind_o,
    output logic               [QpBits-1:0] step_qp_o,
    output responder_context_t              step_context_o,
    output responder_note_e                 step_note_o,
    output logic                            place_valid_o,
    output place_t                          place_o,
    output logic                            response_valid_o,
    output response_t                       response_o,
    output logic                            completion_valid_o,
    output completion_t                     completion_o,
    output logic                            accepts_read_o,      // the step has accepted a READ or an atomic
    output logic               [       3:0] accepts_index_o,     // its index modulo 16
    output logic                            read_valid_o,
    output read_response_t                  read_o,
    output logic                            reread_valid_o,
    output reread_t                         reread_o,

    output logic [Qps-1:0] owed_o,
    output logic [Qps-1:0] reads_answerable_o, // one can be sent now

    output logic idle_o
);

  localparam int unsigned SlotBits = $clog2(Recvs);
  localparam int unsigned ReadBits = $clog2(Reads);

  // A slot as it was taken
  typedef struct packed {
    logic              own;            // made by the unit: WALK
    responder_kind_e   kind;
    logic [QpBits-1:0] qp;
    responder_config_t configuration;
    psn_t              psn;            // of OPEN or of the packet
    recv_t             work;
    logic [4:0]        operation;
    logic              ack_req;
    logic              solicited;
    logic [15:0]       payload_bytes;
    logic [31:0]       imm;
    refusal_t          refusal;
    original_t         original;
  } taken_t;

  // Fields that only the first half of the step reads
  typedef struct packed {
    logic access;
    logic [63:0]  va;
    logic [31:0]  rkey;
    logic [31:0]  dma_len;
  } memory_t;

  // A slot with its context
  typedef struct packed {
    taken_t             taken;
    logic               search;  // WALK that looks for the READ that is asked again
    responder_facts_t   facts;
    responder_context_t c;
  } looked_t;

  logic clear;
  logic [QpBits-1:0] clear_qp;

  ram_clear #(
      .Depth(Qps)
  ) u_clear (
      .clk_i,
      .rst_i,
      .valid_o  (clear),
      .address_o(clear_qp)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Slot arbitration

  logic follow_q;  // a WALK follows the step that came out
  logic take, advance;  // the slot in stage n + 1 goes on
  logic again, light;  // a slot of its QP comes out; is in its step, and is a POST that it need not wait for
  logic step_q;
  logic taken_valid_q, looked_valid_q;
  taken_t taken_d, taken_q;
  memory_t memory_q;
  looked_t looked_d, looked_q;

  assign again = step_q && step_qp_o == taken_q.qp;
  assign light = looked_q.taken.kind == ResponderPost && looked_q.c.state == QpReady && !looked_q.facts.empty;
  assign advance = taken_valid_q && !follow_q && !(looked_valid_q && looked_q.taken.qp == taken_q.qp && !light);
  assign event_ready_o = !clear && (!taken_valid_q || advance);
  assign take = event_valid_i && event_ready_o;

  always_comb begin
    taken_d.own           = 1'b0;
    taken_d.kind          = responder_kind_e'(event_kind_i);
    taken_d.qp            = event_qp_i;
    taken_d.configuration = event_configuration_i;
    taken_d.psn           = event_kind_i == ResponderPacket ? event_arrival_i.psn : event_psn_i;
    taken_d.work          = event_recv_i;
    taken_d.operation     = event_arrival_i.operation;
    taken_d.ack_req       = event_arrival_i.ack_req;
    taken_d.solicited     = event_arrival_i.solicited;
    taken_d.payload_bytes = event_arrival_i.payload_bytes;
    taken_d.imm           = event_arrival_i.imm;
    taken_d.refusal       = event_refusal_i;
    taken_d.original      = event_original_i;
  end

  logic unused_arrival;  // what the host needs for an atomic goes past the responder
  assign unused_arrival = ^{event_arrival_i.swap_add, event_arrival_i.compare};

  always_ff @(posedge clk_i) begin
    if (rst_i) taken_valid_q <= 1'b0;
    else taken_valid_q <= take || (taken_valid_q && !advance);
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      taken_q <= taken_d;
      memory_q <= '{
          access : event_arrival_i.access,
          va: event_arrival_i.va,
          rkey: event_arrival_i.rkey,
          dma_len: event_arrival_i.dma_len
      };
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 1: context

  responder_context_t read_context, context_now;
  responder_facts_t facts;
  logic [$bits(responder_context_t)-1:0] read_bits;

  assign read_context = read_bits;

  // What was read may be older than the last steps of the QP: their contexts come from the pipeline.
  always_comb begin
    context_now = read_context;
    if (follow_q || again) context_now = step_context_o;
    if (!follow_q && looked_valid_q && looked_q.taken.qp == taken_q.qp) begin
      context_now = looked_q.c;
      if (!looked_q.facts.full) context_now.head = looked_q.c.head + 1'b1;
    end
  end

  // The READ that is asked again, and how many are still to be compared with it: the newest first. This goes with the
  // WALK that follows: between two WALKs of a QP there are steps of others, which may look for READs of their own.
  typedef struct packed {
    asked_read_t asked;
    read_t       index;
    read_t       left;
  } search_t;

  logic searching_q;  // the WALK that follows compares one
  search_t next_search_q, search_q;  // for the WALK that follows; for that in its step

  always_comb begin
    looked_d = '{taken: taken_q, search: searching_q, facts: facts, c: context_now};
    if (follow_q) {looked_d.taken.own, looked_d.taken.kind, looked_d.taken.qp} = {1'b1, ResponderWalk, step_qp_o};
  end

  gbn_responder_look #(
      .Recvs(Recvs),
      .Reads(Reads)
  ) u_look (
      .context_i      (context_now),
      .operation_i    (taken_q.operation),
      .psn_i          (taken_q.psn),
      .payload_bytes_i(taken_q.payload_bytes),
      .access_i       (memory_q.access),
      .va_i           (memory_q.va),
      .rkey_i         (memory_q.rkey),
      .dma_len_i      (memory_q.dma_len),
      .facts_o        (facts)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) looked_valid_q <= 1'b0;
    else looked_valid_q <= advance || follow_q;
  end

  always_ff @(posedge clk_i) begin
    if (advance || follow_q) looked_q <= looked_d;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 2: step

  responder_context_t step_context;
  responder_note_e step_note;
  logic walk, place_valid, response_valid, completion_valid, post;
  place_t place;
  response_t response;
  completion_t completion;
  recv_t oldest;
  logic [$bits(recv_t)-1:0] oldest_bits;

  assign oldest = oldest_bits;

  logic search, read_valid, reread_valid, keep, move_cursor, look_up;
  read_response_t read;
  reread_t reread;
  asked_read_t asked;
  kept_read_t kept, keep_read;
  read_cursor_t cursor, moved_cursor;
  logic [3:0] read_slot;
  logic [ReadBits-1:0] look_up_slot;
  logic [$bits(kept_read_t)-1:0] kept_bits;
  logic [$bits(read_cursor_t)-1:0] cursor_bits;

  assign kept    = kept_bits;
  assign cursor  = cursor_bits;
  assign look_up = searching_q || (advance && taken_q.kind inside {ResponderRead, ResponderReturn});

  always_comb begin
    if (searching_q) look_up_slot = next_search_q.index[ReadBits-1:0];
    else if (taken_q.kind == ResponderReturn) look_up_slot = taken_q.original.index[ReadBits-1:0];
    else look_up_slot = facts.slot[ReadBits-1:0];
  end

  gbn_responder_step #(
      .Reads(Reads)
  ) u_step (
      .own_i             (looked_q.taken.own),
      .kind_i            (looked_q.taken.kind),
      .configuration_i   (looked_q.taken.configuration),
      .psn_i             (looked_q.taken.psn),
      .operation_i       (looked_q.taken.operation),
      .ack_req_i         (looked_q.taken.ack_req),
      .solicited_i       (looked_q.taken.solicited),
      .payload_bytes_i   (looked_q.taken.payload_bytes),
      .imm_i             (looked_q.taken.imm),
      .refusal_i         (looked_q.taken.refusal),
      .original_i        (looked_q.taken.original),
      .context_i         (looked_q.c),
      .facts_i           (looked_q.facts),
      .buffer_i          (oldest),
      .search_i          (looked_q.search),
      .asked_i           (search_q.asked),
      .search_index_i    (search_q.index),
      .search_last_i     (search_q.left == read_t'(1)),
      .kept_i            (kept),
      .cursor_i          (cursor),
      .context_o         (step_context),
      .note_o            (step_note),
      .walk_o            (walk),
      .place_valid_o     (place_valid),
      .place_o           (place),
      .response_valid_o  (response_valid),
      .response_o        (response),
      .completion_valid_o(completion_valid),
      .completion_o      (completion),
      .post_o            (post),
      .search_o          (search),
      .asked_o           (asked),
      .read_valid_o      (read_valid),
      .read_o            (read),
      .reread_valid_o    (reread_valid),
      .reread_o          (reread),
      .keep_o            (keep),
      .kept_o            (keep_read),
      .move_o            (move_cursor),
      .cursor_o          (moved_cursor),
      .read_slot_o       (read_slot)
  );

  ram_1r1w #(
      .Width($bits(responder_context_t)),
      .Depth(Qps)
  ) u_contexts (
      .clk_i,
      .write_i        (clear || looked_valid_q),
      .write_address_i(clear ? clear_qp : looked_q.taken.qp),
      .data_i         (clear ? '0 : step_context),
      .read_i         (take),
      .read_address_i (taken_d.qp),
      .data_o         (read_bits)
  );

  ram_1r1w #(
      .Width($bits(recv_t)),
      .Depth(Qps * Recvs)
  ) u_ring (
      .clk_i,
      .write_i        (looked_valid_q && post),
      .write_address_i({looked_q.taken.qp, looked_q.c.head[SlotBits-1:0]}),
      .data_i         (looked_q.taken.work),
      .read_i         (advance || follow_q),
      .read_address_i ({looked_d.taken.qp, context_now.tail[SlotBits-1:0]}),
      .data_o         (oldest_bits)
  );

  logic unused_slot;  // its bits above those of a slot
  assign unused_slot = ^{read_slot, facts.slot};

  ram_1r1w #(
      .Width($bits(kept_read_t)),
      .Depth(Qps * Reads)
  ) u_kept (
      .clk_i,
      .write_i        (looked_valid_q && keep),
      .write_address_i({looked_q.taken.qp, read_slot[ReadBits-1:0]}),
      .data_i         (keep_read),
      .read_i         (look_up),
      .read_address_i ({looked_d.taken.qp, look_up_slot}),
      .data_o         (kept_bits)
  );

  ram_1r1w #(
      .Width($bits(read_cursor_t)),
      .Depth(Qps * Reads)
  ) u_cursors (
      .clk_i,
      .write_i        (looked_valid_q && move_cursor),
      .write_address_i({looked_q.taken.qp, read_slot[ReadBits-1:0]}),
      .data_i         (moved_cursor),
      .read_i         (look_up),
      .read_address_i ({looked_d.taken.qp, look_up_slot}),
      .data_o         (cursor_bits)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) searching_q <= 1'b0;
    else searching_q <= looked_valid_q && walk && (search || looked_q.search);
  end

  always_ff @(posedge clk_i) begin
    if (looked_valid_q && search) begin
      next_search_q.asked <= asked;
      next_search_q.index <= looked_q.c.reads.head - 1'b1;
      next_search_q.left  <= looked_q.c.reads.kept;
    end else if (looked_valid_q && looked_q.search) begin
      next_search_q.asked <= search_q.asked;
      next_search_q.index <= search_q.index - 1'b1;
      next_search_q.left  <= search_q.left - 1'b1;
    end
    if (searching_q) search_q <= next_search_q;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage n + 3: results

  logic [Qps-1:0] owed_q, reads_answerable_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      step_q             <= 1'b0;
      place_valid_o      <= 1'b0;
      response_valid_o   <= 1'b0;
      completion_valid_o <= 1'b0;
      accepts_read_o     <= 1'b0;
      read_valid_o       <= 1'b0;
      reread_valid_o     <= 1'b0;
      follow_q           <= 1'b0;
    end else begin
      step_q             <= looked_valid_q;
      place_valid_o      <= looked_valid_q && place_valid;
      response_valid_o   <= looked_valid_q && response_valid;
      completion_valid_o <= looked_valid_q && completion_valid;
      accepts_read_o     <= looked_valid_q && keep;
      read_valid_o       <= looked_valid_q && read_valid;
      reread_valid_o     <= looked_valid_q && reread_valid;
      follow_q           <= looked_valid_q && walk;
    end
  end

  always_ff @(posedge clk_i) begin
    if (looked_valid_q) begin
      step_kind_o    <= looked_q.taken.kind;
      step_qp_o      <= looked_q.taken.qp;
      step_context_o <= step_context;
      step_note_o    <= step_note;
    end
    if (looked_valid_q && place_valid) place_o <= place;
    if (looked_valid_q && response_valid) response_o <= response;
    if (looked_valid_q && completion_valid) completion_o <= completion;
    if (looked_valid_q && keep) accepts_index_o <= looked_q.c.reads.head[3:0];
    if (looked_valid_q && read_valid) read_o <= read;
    if (looked_valid_q && reread_valid) reread_o <= reread;
  end

  assign step_valid_o = step_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      owed_q             <= '0;
      reads_answerable_q <= '0;
    end else if (step_q) begin
      owed_q[step_qp_o]             <= step_context_o.owed != OwedNone && !reads_wait(step_context_o.reads);
      reads_answerable_q[step_qp_o] <= reads_answerable(step_context_o.reads, step_context_o.state == QpError);
    end
  end

  assign owed_o             = owed_q;
  assign reads_answerable_o = reads_answerable_q;

  // Room in each ring after the last step, 3 for more, and POSTs that are to be stepped
  logic [Qps-1:0][1:0] room_q;
  logic [1:0] posts;
  ring_t ring;

  assign ring = step_context_o.head - step_context_o.tail;

  always_ff @(posedge clk_i) begin
    if (rst_i) room_q <= {Qps{(Recvs > 3) ? 2'd3 : 2'(Recvs)}};
    else if (step_q) room_q[step_qp_o] <= (ring_t'(Recvs) - ring > ring_t'(3)) ? 2'd3 : 2'(ring_t'(Recvs) - ring);
  end

  always_comb begin
    posts = 2'(taken_valid_q && taken_q.kind == ResponderPost && taken_q.qp == post_qp_i) +
        2'(looked_valid_q && looked_q.taken.kind == ResponderPost && looked_q.taken.qp == post_qp_i) +
        2'(step_q && step_kind_o == ResponderPost && step_qp_o == post_qp_i);
  end

  assign post_room_o = room_q[post_qp_i] > posts;
  assign idle_o = !event_valid_i && !clear && !taken_valid_q && !looked_valid_q && !step_q;

  //////////////////////////////////////////////////////////////////////////////////////////////

  localparam int unsigned WaitMax = 3 * (Recvs > Reads ? Recvs : Reads) + 8;

  logic [$clog2(WaitMax+2)-1:0] wait_q;  // cycles that an event has waited
  logic [QpBits-1:0] event_qp_q;

  always_ff @(posedge clk_i) begin
    event_qp_q <= event_qp_i;
    if (rst_i || clear || !event_valid_i || event_ready_o || event_qp_i != event_qp_q) wait_q <= '0;
    else wait_q <= wait_q + 1'b1;

    if (!rst_i) begin
      assert (32'(wait_q) <= WaitMax)
      else $error("gbn_responder: an event waits too long");
      assert (!(advance && looked_valid_q && looked_q.taken.qp == taken_q.qp && looked_q.taken.own))
      else $error("gbn_responder: a slot passes a WALK of its QP");
      assert (!looked_valid_q || !place_valid || !looked_q.taken.payload_bytes[15])
      else $error("gbn_responder: more payload than a place has bytes");
      assert (!looked_valid_q || looked_q.taken.own || looked_q.c.state != QpError || looked_q.facts.empty)
      else $error("gbn_responder: an event found something to walk");
    end

    if (!rst_i && step_q) begin
      assert (step_context_o.state != QpClosed || step_context_o == '0)
      else $error("gbn_responder: a closed QP has a state");
      assert (32'(ring) <= Recvs)
      else $error("gbn_responder: ring indexes out of order");
      assert (32'(read_t'(step_context_o.reads.head - step_context_o.reads.done)) <= Reads &&
              32'(read_t'(step_context_o.reads.head - step_context_o.reads.settled)) <= Reads &&
              32'(step_context_o.reads.kept) <= Reads)
      else $error("gbn_responder: more READs than may be unanswered");
      assert (step_context_o.under_way || {step_context_o.writing, step_context_o.first_psn, step_context_o.offset, step_context_o.va,
                                           step_context_o.rkey, step_context_o.dma_len} == '0)
      else $error("gbn_responder: fields of a message that is not under way");
      assert (step_context_o.owed != OwedNak || step_context_o.syndrome >= SyndromeRnr)
      else $error("gbn_responder: a NAK without a syndrome");
      assert (!(step_context_o.state == QpReady && step_context_o.under_way && !step_context_o.writing) || ring != '0)
      else $error("gbn_responder: a SEND under way without a buffer");
    end
  end

endmodule
