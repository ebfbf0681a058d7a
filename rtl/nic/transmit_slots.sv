// Slots for requests and READ responses whose payload is being fetched, one packet per slot, handed on in the order of
// grants within a class.
//
// - Grant: `take_i` takes a slot while `free_o` is 1. The step of the grant, three cycles later, fills or frees it
//   (`step_valid_i`, in the order of grants).
// - A response takes its slot by itself (`take_response_i`), one at a time, and fills or frees it as a step does, with
//   `response_i`. The owner has no two of these in one cycle.
// - Fetch: the payload is requested by DMA with tag = slot and comes in beats. A packet is ready when its last beat
//   has arrived. With `read_ahead_i` other than 0, no read is offered while so many units of 256 bytes are still to
//   come. The read of a packet that is withdrawn before it was offered is left out.
// - Memory: the region of a request's payload is checked when its slot is filled, before its read is offered. Where
//   addresses are translated the read waits, and those behind it, until the page table entries of its payload are there.
//   The memory of a READ response was checked and translated before. A packet whose region does not hold its payload
//   or of which a page is gone (no read is offered then), or whose data comes with an error, is not sent: when it is the
//   oldest of its class, `unread_valid_o` offers its QP and PSN, of one packet at a time. The requester's step of it
//   withdraws a request and what is behind it; the responder's refusal (`refused_…`) withdraws a READ response and those
//   of its QP behind it. Of a QP whose response is offered no further response is built (`unread_qps_o`).
// - Pop: `head_o` shows the oldest packet of each class if it is ready, from its second cycle as the oldest on, and from
//   the second cycle after its data; `pop_i` takes it, and `info_o` gives its content one cycle later, `info_bytes_o`
//   its length.
// - Release: `release_i` frees a slot; up to two per cycle.
// - Share (`class_free_o`): one slot is kept for each class of an open QP (`class_open_i`) that holds none. A class
//   takes another one while it holds fewer than are left then, as the queues of a switch share its buffer: alone it
//   gets half of them, and however many classes hold theirs because they are paused, as much again is left for the
//   next. What a slot is for is to hide the latency of its read, and of packets above 2 KiB few slots do that: while a
//   class has such packets, each of its slots counts as three.
// - Withdrawal: after every step of a QP (`context_…`), those of its waiting packets that it no longer has to send
//   are withdrawn, because they are acknowledged, will be granted again, or the QP has ended. Those of a QP whose
//   failure waits for its step (`failing_i`) are withdrawn when they are the oldest of their class. `withdrawn_o` pulses
//   when one leaves the queue of its class. Its slot is free when no more data is to come for it.
//   Responses are withdrawn by themselves, because they have a PSN space of their own: all of a QP, or those of a READ
//   that is asked again (`withdraw_…`). If one of a later READ waits here, that one would be lost, and all stay.
// - `asks_o`: QPs with a packet here that asks for an ACK. `sending_o`: with a READ response that waits for the wire, a
//   cycle later.
//
// Timing: `pop_asks_o` depends on `pop_i`, `idle_o` on the valids of the same cycle; all other outputs are registers or
// depend on registers only. A class that opens counts two cycles later.
module transmit_slots
  import roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Slots       = 32,                            // a power of two, 4 or more
    parameter  int unsigned Regions     = 256,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned SlotBits    = $clog2(Slots),
    localparam int unsigned SlotBeats   = 4096 / DataBytes,
    localparam int unsigned AddressBits = SlotBits + $clog2(SlotBeats),
    localparam int unsigned RegionBits  = $clog2(Regions),
    localparam int unsigned InfoBits    = $bits(request_t)
) (
    input logic clk_i,        // packets; rises when `moves_o` is 1
    input logic clk_beats_i,  // payload
    input logic rst_i,

    input  logic         take_i,
    input  class_t       take_class_i,
    input  logic         take_response_i,        // not with `take_i`
    input  class_t       take_response_class_i,
    input  logic   [7:0] class_open_i,
    output logic         free_o,
    output logic   [7:0] class_free_o,
    output logic   [7:0] class_held_o,           // classes that hold a slot

    input logic              context_valid_i,   // a step, now or a cycle ago, with the context after
    input logic [QpBits-1:0] context_qp_i,
    input logic              context_ready_i,   // the QP is ready
    input psn_t              context_oldest_i,  // oldest PSN that may be wanted: as requester_oldest_wanted has it
    input psn_t              context_next_i,    // next PSN to be granted

    input logic [Qps-1:0] failing_i,  // QPs that fail: none of their packets is wanted

    input logic                     region_write_i,
    input logic    [RegionBits-1:0] region_index_i,
    input region_t                  region_i,
    input logic                     pd_write_i,         // sets the protection domain of a QP
    input logic    [    QpBits-1:0] pd_qp_i,
    input pd_t                      pd_i,
    input logic                     invalidate_i,
    input logic    [RegionBits-1:0] invalidate_index_i,

    // Translation, as in translator: the payload of a request asks when its slot is filled.
    input  logic   translating_i,
    output logic   ask_valid_o,
    output place_t ask_o,
    input  logic   verdict_valid_i,
    input  logic   verdict_waits_i,
    input  logic   verdict_gone_i,
    output logic   verdict_ready_o,
    output logic   stalled_o,        // the read that is next waits for entries of page tables
    output class_t stalled_class_o,

    input logic                 withdraw_i,
    input logic    [QpBits-1:0] withdraw_qp_i,
    input logic                 withdraw_all_i,
    input reread_t              withdraw_read_i, // unless all

    input logic                     step_valid_i,    // step of a SEND, or what became of a READ response
    input logic                     response_i,
    input logic                     packet_i,        // there is a packet
    input logic        [QpBits-1:0] step_qp_i,
    input request_t                 request_i,
    input logic                     counted_i,       // two cycles after a step with a packet: its length on the wire
    input wire_bytes_t              counted_bytes_i,

    input  logic   [         8:0] read_ahead_i,
    output logic                  read_valid_o,
    output logic   [SlotBits-1:0] read_tag_o,
    output fetch_t                read_o,
    input  logic                  read_ready_i,

    input logic                   data_valid_i,
    input logic [   SlotBits-1:0] data_tag_i,
    input logic                   data_last_i,
    input logic                   data_error_i,  // with the last beat: the payload could not be read
    input logic [DataBytes*8-1:0] data_data_i,

    output logic                  unread_valid_o,     // a packet whose payload cannot be read
    output logic                  unread_response_o,  // a READ response
    output logic     [QpBits-1:0] unread_qp_o,
    output refusal_t              unread_o,           // request: its PSN only
    input  logic                  unread_ready_i,
    output logic     [   Qps-1:0] unread_qps_o,       // the QP of a READ response
    input  logic                  refused_valid_i,    // the responder has taken a refusal
    input  logic     [QpBits-1:0] refused_qp_i,
    output logic                  reads_pass_o,       // none is to come of what was checked when a region was written

    output logic           [         7:0]               head_o,
    output logic           [         7:0][SlotBits-1:0] head_slot_o,
    output logic           [         7:0][  QpBits-1:0] head_qp_o,
    output payload_bytes_t [         7:0]               head_bytes_o,
    output beats_t         [         7:0]               head_beats_o,
    input  logic           [         7:0]               pop_i,         // at most one bit
    output logic           [InfoBits-1:0]               info_o,        // request_t
    output wire_bytes_t                                 info_bytes_o,  // its length on the wire

    input  logic                   payload_read_i,
    input  logic [AddressBits-1:0] payload_address_i,
    output logic [DataBytes*8-1:0] payload_data_o,

    output logic           withdrawn_o,
    output logic [Qps-1:0] asks_o,
    output logic [Qps-1:0] sending_o,
    output logic           pop_asks_o,   // the popped packet asks for an ACK
    output logic [Qps-1:0] holds_o,      // QPs that have a slot

    input logic [1:0]               release_i,
    input logic [1:0][SlotBits-1:0] release_slot_i,

    output logic moves_o,  // the state on `clk_i` changes with this cycle
    output logic idle_o
);

  localparam int unsigned CountBits = SlotBits + 1;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Slot allocation

  logic [Slots-1:0] used_q, used_d, whole_q, whole_d;
  class_t [Slots-1:0] class_q;
  logic [7:0][CountBits-1:0] held_q;  // number of slots per class, with those that became free in the last cycle
  logic [7:0][CountBits+1:0] share_q;  // what they count as
  logic [SlotBits-1:0] next_free;
  logic step_free;  // a grant that made no packet

  always_comb begin
    next_free = '0;
    for (int i = int'(Slots) - 1; i >= 0; i--) if (!used_q[i]) next_free = SlotBits'(i);
  end

  assign free_o = used_q != '1;

  logic [7:0] free_q, free_d;  // classes that may take a slot
  logic [7:0] none_q, open_q;  // classes that hold no slot, and that are open
  logic [CountBits-1:0] left_q;  // slots that count for no class
  logic signed [CountBits+2:0] shared;  // of these, without one for each class that is both; below 0 when one opens

  assign class_held_o = ~none_q;
  assign class_free_o = free_q;

  // Grants whose step has not come yet
  logic granted_valid, granted_ready, reserved_q;
  logic [SlotBits-1:0] granted_slot, step_slot, reserved_slot_q;
  class_t granted_class, step_class, reserved_class_q;
  logic [CountBits-1:0] granted;

  fifo #(
      .Width(SlotBits + 3),
      .Depth(Slots)
  ) u_granted (
      .clk_i,
      .rst_i,
      .valid_i(take_i),
      .ready_o(granted_ready),
      .data_i ({next_free, take_class_i}),
      .valid_o(granted_valid),
      .ready_i(step_valid_i && !response_i),
      .data_o ({step_slot, step_class}),
      .count_o(granted)
  );

  assign {granted_slot, granted_class} = response_i ? {reserved_slot_q, reserved_class_q} : {step_slot, step_class};

  always_ff @(posedge clk_i) begin
    if (rst_i) reserved_q <= 1'b0;
    else reserved_q <= take_response_i || (reserved_q && !(step_valid_i && response_i));
  end

  always_ff @(posedge clk_i) begin
    if (take_response_i) {reserved_slot_q, reserved_class_q} <= {next_free, take_response_class_i};
  end

  logic fill, empty;
  assign fill      = step_valid_i && packet_i;
  assign step_free = step_valid_i && !packet_i;
  assign empty     = request_i.payload_bytes == '0;

  // State of a slot: filled (has a packet, until its release), queued (waits to be popped), unwanted (withdrawn,
  // still in its queue), draining (withdrawn, data still to come).
  logic [Slots-1:0] filled_q, filled_d, queued_q, queued_d, unwanted_q, unwanted_d, draining_q, draining_d, asks_q;
  logic [Slots-1:0] response_q;  // READ responses
  logic [Slots-1:0] bad_q, bad_d;  // the payload cannot be read
  logic [Slots-1:0][QpBits-1:0] qp_q;
  psn_t [Slots-1:0] psn_q;
  logic [Qps-1:0] sending;
  logic [7:0] drop;  // class whose oldest packet is withdrawn; at most one bit
  logic [7:0] ends;  // classes whose oldest packet is of a QP that fails
  logic [7:0] head_asks;  // classes whose oldest packet asks for an ACK
  logic [SlotBits-1:0] drop_slot, pop_slot;
  logic done, dropped, come_last, refused;
  logic [SlotBits-1:0] done_tag, refused_slot;  // slot for which no more data is to come, for which none was asked
  logic unread_valid_q, unread_told_q;
  psn_t unread_psn_q;
  logic [3:0] freed;
  logic [3:0][SlotBits-1:0] freed_slot;

  // A response of a later READ waits here.
  logic later;
  always_comb begin
    later = 1'b0;
    if (withdraw_i && !withdraw_all_i)
      for (int unsigned s = 0; s < Slots; s++)
      if (queued_q[s] && !unwanted_q[s] && response_q[s] && qp_q[s] == withdraw_qp_i && !psn_behind(
              psn_q[s], withdraw_read_i.end_psn
          ))
        later = 1'b1;
  end

  assign dropped = drop != '0;
  assign freed = {
    done && draining_q[done_tag], dropped && (whole_q[drop_slot] || (done && done_tag == drop_slot)), release_i
  };
  assign freed_slot = {done_tag, drop_slot, release_slot_i};
  assign withdrawn_o = dropped;
  assign pop_asks_o = (pop_i & head_asks) != '0;

  always_comb begin
    used_d     = used_q;
    whole_d    = whole_q;
    filled_d   = filled_q;
    queued_d   = queued_q;
    unwanted_d = unwanted_q;
    draining_d = draining_q;
    bad_d      = bad_q;
    if (context_valid_i)
      for (int unsigned s = 0; s < Slots; s++) begin
        if (queued_q[s] && !response_q[s] && qp_q[s] == context_qp_i && (!context_ready_i || psn_behind(
                psn_q[s], context_oldest_i
            ) || !psn_behind(
                psn_q[s], context_next_i
            )))
          unwanted_d[s] = 1'b1;
      end
    for (int unsigned c = 0; c < 8; c++) if (ends[c]) unwanted_d[head_slot_o[c]] = 1'b1;
    if (withdraw_i && !later)
      for (int unsigned s = 0; s < Slots; s++)
      if (queued_q[s] && response_q[s] && qp_q[s] == withdraw_qp_i && (withdraw_all_i || !psn_behind(
              psn_q[s], withdraw_read_i.first_psn
          )))
        unwanted_d[s] = 1'b1;
    if (refused_valid_i && unread_valid_q && unread_told_q && unread_response_o && unread_qp_o == refused_qp_i)
      for (int unsigned s = 0; s < Slots; s++)
      if (queued_q[s] && response_q[s] && qp_q[s] == refused_qp_i && !psn_behind(psn_q[s], unread_psn_q))
        unwanted_d[s] = 1'b1;
    if (come_last && data_error_i) bad_d[data_tag_i] = 1'b1;
    if (refused) bad_d[refused_slot] = 1'b1;
    if (verdict_ready_o && verdict_gone_i) bad_d[read_tag_o] = 1'b1;
    if (take_i || take_response_i) used_d[next_free] = 1'b1;
    if (step_free) used_d[granted_slot] = 1'b0;
    if (pop_i != '0) queued_d[pop_slot] = 1'b0;
    if (dropped) begin
      queued_d[drop_slot]   = 1'b0;
      draining_d[drop_slot] = !freed[2];
    end
    for (int unsigned r = 0; r < 4; r++) begin
      if (freed[r]) begin
        used_d[freed_slot[r]]     = 1'b0;
        filled_d[freed_slot[r]]   = 1'b0;
        draining_d[freed_slot[r]] = 1'b0;
      end
    end
    if (done) whole_d[done_tag] = 1'b1;
    if (fill) begin
      whole_d[granted_slot]    = empty;
      filled_d[granted_slot]   = 1'b1;
      queued_d[granted_slot]   = 1'b1;
      unwanted_d[granted_slot] = 1'b0;
      bad_d[granted_slot]      = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      used_q     <= '0;
      whole_q    <= '0;
      filled_q   <= '0;
      queued_q   <= '0;
      unwanted_q <= '0;
      draining_q <= '0;
      bad_q      <= '0;
    end else begin
      used_q     <= used_d;
      whole_q    <= whole_d;
      filled_q   <= filled_d;
      queued_q   <= queued_d;
      unwanted_q <= unwanted_d;
      draining_q <= draining_d;
      bad_q      <= bad_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fill) begin
      class_q[granted_slot] <= granted_class;
      qp_q[granted_slot]    <= step_qp_i;
      psn_q[granted_slot]   <= request_i.psn;
      asks_q[granted_slot]  <= request_i.ack_req;
      response_q[granted_slot] <= response_i;
    end
  end

  always_comb begin
    asks_o  = '0;
    holds_o = '0;
    sending = '0;
    for (int unsigned s = 0; s < Slots; s++) begin
      if (filled_q[s]) holds_o[qp_q[s]] = 1'b1;
      if (filled_q[s] && !unwanted_q[s] && asks_q[s]) asks_o[qp_q[s]] = 1'b1;
      if (queued_q[s] && !unwanted_q[s] && response_q[s]) sending[qp_q[s]] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) sending_o <= sending;

  // The length comes two cycles behind the step, and no packet is popped before the cycle after that.
  logic                       filled_was_q;  // one was filled in the cycle before
  logic   [1:0][SlotBits-1:0] filled_slot_q;
  class_t [1:0]               filled_class_q;

  // The longest packet with 2 KiB of payload on the wire, with room for VLAN tags and the longest headers
  localparam wire_bytes_t Long = wire_bytes_t'(2048 + 256);

  // A slot counts for its class until two cycles after the one in which it becomes free.
  logic [3:0] freed_q;
  logic [3:0][SlotBits-1:0] freed_slot_q;
  logic [4:0] gone_q;
  class_t [4:0] gone_class_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) {freed_q, gone_q} <= '0;
    else {freed_q, gone_q} <= {freed, step_free, freed_q};
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < 4; r++) begin
      if (freed[r]) freed_slot_q[r] <= freed_slot[r];
      if (freed_q[r]) gone_class_q[r] <= class_q[freed_slot_q[r]];
    end
    if (step_free) gone_class_q[4] <= granted_class;
  end

  // What is taken comes late in a cycle, so that it only chooses between what the rest makes.
  logic takes;
  logic [7:0] come, none;  // `none`: classes that hold no slot, before
  logic [CountBits-1:0] left;

  assign takes  = take_i || take_response_i;
  assign left   = left_q + CountBits'($countones(gone_q));
  assign shared = (CountBits + 3)'(left_q) - (CountBits + 3)'($countones(none_q & open_q));

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      free_q <= '1;
      none_q <= '1;
      open_q <= '0;
      left_q <= CountBits'(Slots);
    end else begin
      free_q <= free_d;
      none_q <= none & ~come;
      open_q <= class_open_i;
      left_q <= takes ? left - 1'b1 : left;
    end
  end

  for (genvar c = 0; c < 8; c++) begin : gen_held
    logic long_q, long_d;
    logic [4:0] go;
    logic [CountBits-1:0] others;  // slots that it holds without the one that it takes
    logic signed [CountBits+2:0] spare;  // what is shared more than what it counts as

    // What so many slots count as
    function automatic logic [CountBits+1:0] share(input logic [CountBits-1:0] slots);
      share = long_q ? (CountBits + 2)'(slots) + {1'b0, slots, 1'b0} : (CountBits + 2)'(slots);
    endfunction

    assign come[c] = (take_i && take_class_i == class_t'(c)) || (take_response_i && take_response_class_i == class_t'(c));
    for (genvar r = 0; r < 5; r++) begin : gen_go
      assign go[r] = gone_q[r] && gone_class_q[r] == class_t'(c);
    end

    assign others = held_q[c] - CountBits'($countones(go));
    assign none[c] = others == '0;

    // What is taken counts at once, what becomes free a cycle later.
    assign spare = shared - $signed({1'b0, share_q[c]});
    assign free_d[c] = (none_q[c] && !come[c]) || (come[c] ? spare > (long_q ? 4 : 2) : takes ? spare > 1 : spare > 0);
    assign long_d = (counted_i && filled_class_q[1] == class_t'(c)) ? counted_bytes_i > Long : long_q;

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        held_q[c]  <= '0;
        share_q[c] <= '0;
        long_q     <= 1'b0;
      end else begin
        held_q[c]  <= come[c] ? others + 1'b1 : others;
        share_q[c] <= come[c] ? share(others + 1'b1) : share(others);
        long_q     <= long_d;
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Slot contents and the order within a class

  logic [7:0][SlotBits-1:0] slot;
  logic [7:0] valid, unused_ready, drop_wish, bad_wish, bad;
  logic look;  // at a packet that is bad
  logic [SlotBits-1:0] bad_slot;
  logic [7:0][CountBits-1:0] unused_count;

  // Whether its QP fails, and whether it is ready, is known of a packet that was the oldest in the cycle before.
  logic [7:0] stays_q, stays_d, fails_q, fails_d, ready_q, ready_d;

  always_ff @(posedge clk_i) begin
    if (rst_i) {stays_q, ready_q} <= '0;
    else {stays_q, ready_q} <= {stays_d, ready_d};
  end

  always_ff @(posedge clk_i) fails_q <= fails_d;

  // Payload of the packet that comes
  payload_bytes_t bytes;
  beats_t beats;
  assign bytes = request_i.payload_bytes[$bits(payload_bytes_t)-1:0];
  assign beats = beats_t'((request_i.payload_bytes + 16'(DataBytes - 1)) >> $clog2(DataBytes));

  for (genvar c = 0; c < 8; c++) begin : gen_order
    fifo #(
        .Width(1 + SlotBits + QpBits + $bits(beats_t) + $bits(payload_bytes_t)),
        .Depth(Slots)
    ) u_order (
        .clk_i,
        .rst_i,
        .valid_i(fill && granted_class == class_t'(c)),
        .ready_o(unused_ready[c]),  // there are never more packets than slots
        .data_i({request_i.ack_req, granted_slot, step_qp_i, beats, bytes}),
        .valid_o(valid[c]),
        .ready_i(pop_i[c] || drop[c]),
        .data_o({head_asks[c], slot[c], head_qp_o[c], head_beats_o[c], head_bytes_o[c]}),
        .count_o(unused_count[c])
    );

    assign stays_d[c] = valid[c] && !pop_i[c] && !drop[c];
    assign fails_d[c] = valid[c] && failing_i[head_qp_o[c]];
    assign ready_d[c] = stays_d[c] && whole_q[slot[c]] && !unwanted_d[slot[c]] && !bad_q[slot[c]] &&
        !(fails_d[c] && !response_q[slot[c]]);
    assign ends[c] = stays_q[c] && fails_q[c] && !response_q[slot[c]];
    assign bad_wish[c] = stays_q[c] && whole_q[slot[c]] && !unwanted_q[slot[c]] && !ends[c] && bad_q[slot[c]];
    assign drop_wish[c] = valid[c] && unwanted_q[slot[c]];
  end

  assign head_o      = ready_q;
  assign head_slot_o = slot;

  always_comb begin
    pop_slot  = '0;
    drop_slot = '0;
    if (pop_i != '0) for (int unsigned c = 0; c < 8; c++) if (pop_i[c]) pop_slot |= slot[c];
    if (drop != '0) for (int unsigned c = 0; c < 8; c++) if (drop[c]) drop_slot |= slot[c];
  end

  assign drop = drop_wish & (~drop_wish + 1'b1);

  ram_1r1w #(
      .Width(InfoBits),
      .Depth(Slots)
  ) u_info (
      .clk_i,
      .write_i        (fill),
      .write_address_i(granted_slot),
      .data_i         (request_i),
      .read_i         (pop_i != '0),
      .read_address_i (pop_slot),
      .data_o         (info_o)
  );

  always_ff @(posedge clk_i) filled_was_q <= !rst_i && fill;

  always_ff @(posedge clk_i) begin
    if (fill) {filled_slot_q[0], filled_class_q[0]} <= {granted_slot, granted_class};
    if (filled_was_q) {filled_slot_q[1], filled_class_q[1]} <= {filled_slot_q[0], filled_class_q[0]};
  end

  ram_1r1w #(
      .Width($bits(wire_bytes_t)),
      .Depth(Slots)
  ) u_lengths (
      .clk_i,
      .write_i        (counted_i),
      .write_address_i(filled_slot_q[1]),
      .data_i         (counted_bytes_i),
      .read_i         (pop_i != '0),
      .read_address_i (pop_slot),
      .data_o         (info_bytes_o)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // The packet whose payload cannot be read: of the first class that has one. It stands until it is withdrawn. The NAK of
  // a READ response has the MSN before that of the response.

  logic looked_q, unread_response_q;
  logic [SlotBits-1:0] unread_slot_q;
  logic [QpBits-1:0] unread_qp_q;
  logic [23:0] unread_msn;

  ram_1r1w #(
      .Width(24),
      .Depth(Slots)
  ) u_msns (
      .clk_i,
      .write_i        (fill && response_i),
      .write_address_i(granted_slot),
      .data_i         (request_i.imm[23:0]),
      .read_i         (look),
      .read_address_i (bad_slot),
      .data_o         (unread_msn)
  );

  assign bad  = bad_wish & (~bad_wish + 1'b1);
  assign look = bad_wish != '0 && !unread_valid_q;

  always_comb begin
    bad_slot = '0;
    if (look) for (int unsigned c = 0; c < 8; c++) if (bad[c]) bad_slot |= slot[c];
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      unread_valid_q <= 1'b0;
      looked_q       <= 1'b0;
    end else begin
      unread_valid_q <= look || (unread_valid_q && !unwanted_q[unread_slot_q]);
      looked_q       <= look;
    end
  end

  always_ff @(posedge clk_i) begin
    if (look) unread_slot_q <= bad_slot;
    unread_told_q <= !look && (unread_told_q || (unread_valid_o && unread_ready_i));
  end

  always_ff @(posedge clk_i) begin
    if (looked_q)
      {unread_psn_q, unread_response_q, unread_qp_q} <= {
        psn_q[unread_slot_q], response_q[unread_slot_q], qp_q[unread_slot_q]
      };
  end

  assign unread_response_o = unread_response_q;
  assign unread_qp_o       = unread_qp_q;
  assign unread_valid_o    = unread_valid_q && !looked_q && !unread_told_q && !unwanted_q[unread_slot_q];
  // The NAK of a READ response is that of a responder which cannot carry out the request.
  assign unread_o          = '{psn: unread_psn_q, msn: unread_msn - 1'b1, remote: 1'b0};

  always_comb begin
    unread_qps_o = '0;
    if (unread_valid_q && !looked_q && unread_response_q) unread_qps_o[unread_qp_q] = 1'b1;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // DMA

  fetch_t fetch;
  logic ask, fetch_ready, fetch_waits, fetch_valid, translates, asked, skipped;
  logic [CountBits-1:0] fetches;

  assign ask   = fill && !empty && !response_i;
  assign fetch = '{va: request_i.local_va, key: request_i.local_key, bytes: request_i.payload_bytes};

  fifo #(
      .Width(1 + SlotBits + $bits(fetch_t)),
      .Depth(Slots)
  ) u_fetches (
      .clk_i,
      .rst_i,
      .valid_i(fill && !empty),
      .ready_o(fetch_ready),
      .data_i ({ask_valid_o, granted_slot, fetch}),
      .valid_o(fetch_waits),
      .ready_i(asked || skipped),
      .data_o ({translates, read_tag_o, read_o}),
      .count_o(fetches)
  );

  assign ask_valid_o = ask && translating_i;
  assign ask_o = '{va: fetch.va, key: fetch.key, remote: 1'b0, bytes: 15'(fetch.bytes)};
  assign verdict_ready_o = translates && (asked || skipped);
  assign stalled_o = fetch_waits && translates && verdict_waits_i;
  assign stalled_class_o = class_q[read_tag_o];

  // The verdict on a request's payload comes two cycles behind its step, and counts in the cycle after that. Its read is
  // offered then at the earliest.
  logic allowed, regions_idle, unused_other;
  logic [1:0] asked_q;
  logic [1:0][SlotBits-1:0] asked_slot_q;

  region_table #(
      .Regions(Regions),
      .Qps    (Qps)
  ) u_regions (
      .clk_i,
      .rst_i,
      .write_i      (region_write_i),
      .write_index_i(region_index_i),
      .region_i,
      .pd_write_i,
      .pd_qp_i,
      .pd_i,
      .ask_i        (ask),
      .qp_i         (step_qp_i),
      .use_i        (UseLocalRead),
      .key_i        (fetch.key),
      .va_i         (fetch.va),
      .bytes_i      (32'(fetch.bytes)),
      .allowed_o    (allowed),
      .other_key_i  ('0),
      .other_valid_o(unused_other),
      .invalidate_i,
      .invalidate_index_i,
      .idle_o       (regions_idle)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      asked_q <= '0;
      refused <= 1'b0;
    end else begin
      asked_q <= {asked_q[0], ask};
      refused <= asked_q[1] && !allowed;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ask) asked_slot_q[0] <= granted_slot;
    if (asked_q[0]) asked_slot_q[1] <= asked_slot_q[0];
    if (asked_q[1]) refused_slot <= asked_slot_q[1];
  end

  assign fetch_valid = fetch_waits && !(asked_q[1] && asked_slot_q[1] == read_tag_o) && (!translates || verdict_valid_i);

  // What was offered stays until it is taken.
  logic offered_q, offered_d, room, left_out;
  assign left_out     = unwanted_q[read_tag_o] || bad_q[read_tag_o] || (refused && refused_slot == read_tag_o) ||
      (translates && verdict_gone_i);
  assign read_valid_o = fetch_valid && (offered_q || (room && !left_out));
  assign asked = read_valid_o && read_ready_i;
  assign offered_d = read_valid_o && !read_ready_i;

  // A read that is left out counts as its last data, when no other data is the last.
  assign come_last = data_valid_i && data_last_i;
  assign skipped = fetch_valid && !offered_q && left_out && !come_last;
  assign done = come_last || skipped;
  assign done_tag = come_last ? data_tag_i : read_tag_o;

  // Units that are to come
  localparam int unsigned UnitBeats = 256 / DataBytes;
  localparam int unsigned UnitsBits = 5;  // of a packet
  localparam int unsigned AheadBits = $clog2(Slots * 4096 / 256 + 1);
  logic [AheadBits-1:0] ahead_q;
  logic [UnitsBits-1:0] read_units;
  logic [$clog2(SlotBeats)-1:0] beat_q;  // of the packet whose data is arriving
  logic unit_come;

  assign read_units = read_o.bytes[12:8] + UnitsBits'(read_o.bytes[7:0] != '0);
  assign unit_come  = data_valid_i && (data_last_i || beat_q[$clog2(UnitBeats)-1:0] == '1);
  assign room       = read_ahead_i == '0 || 32'(ahead_q) < 32'(read_ahead_i);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      offered_q <= 1'b0;
      ahead_q   <= '0;
    end else begin
      offered_q <= offered_d;
      ahead_q   <= ahead_q + (asked ? AheadBits'(read_units) : '0) - AheadBits'(unit_come);
    end
  end

  always_ff @(posedge clk_beats_i) begin
    if (rst_i) beat_q <= '0;
    else if (data_valid_i) beat_q <= data_last_i ? '0 : beat_q + 1'b1;
  end

  ram_1r1w #(
      .Width(DataBytes * 8),
      .Depth(Slots * SlotBeats)
  ) u_payload (
      .clk_i          (clk_beats_i),
      .write_i        (data_valid_i),
      .write_address_i({data_tag_i, beat_q}),
      .data_i         (data_data_i),
      .read_i         (payload_read_i),
      .read_address_i (payload_address_i),
      .data_o         (payload_data_o)
  );

  // Reads that are to come, or whose verdict is, of packets that were checked before a region was last written
  logic [Slots-1:0] coming_q, passing_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) {coming_q, passing_q} <= '0;
    else begin
      if (done) coming_q[done_tag] <= 1'b0;
      if (fill) coming_q[granted_slot] <= !empty;
      if (region_write_i) passing_q <= coming_q;
      if (done) passing_q[done_tag] <= 1'b0;
    end
  end

  assign reads_pass_o = passing_q == '0;

  // Queues offer a word in the second cycle after it came, so that the cycle after each event counts too. What follows
  // something else a cycle later counts until it does.
  logic happens, happened_q, follows, settings_come;
  assign settings_come = region_write_i || pd_write_i || invalidate_i;
  assign follows = stays_q != stays_d || fails_q != fails_d || sending_o != sending || open_q != class_open_i ||
      free_q != free_d || ready_q != ready_d || freed_q != '0 || gone_q != '0;
  assign happens = take_i || take_response_i || step_valid_i || withdraw_i || context_valid_i ||
      pop_i != '0 || drop_wish != '0 || ends != '0 || look || unread_valid_q || settings_come || !regions_idle ||
      release_i != '0 || unit_come || asked || skipped || offered_q != offered_d || counted_i || asked_q != '0 || follows;

  always_ff @(posedge clk_i) begin
    if (rst_i) happened_q <= 1'b0;
    else happened_q <= happens;
  end

  assign moves_o = happens || happened_q;

  // A slot that waits for DMA data or for its class to resume does not count: it changes nothing by itself.
  assign idle_o = !take_i && !take_response_i && !reserved_q && !withdraw_i && granted == '0 && !step_valid_i &&
      fetches == '0 && !region_write_i && !invalidate_i && regions_idle && bad_wish == '0 && !unread_valid_q &&
      !data_valid_i && release_i == '0 && pop_i == '0 && !context_valid_i && drop_wish == '0 && ends == '0 &&
      !follows && !happened_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!take_response_i || (free_o && !take_i && !reserved_q))
      else $error("transmit_slots: a response without a slot");
      assert ((head_o & drop_wish) == '0)
      else $error("transmit_slots: a packet that is withdrawn is offered");
      assert (!take_i || (free_o && granted_ready))
      else $error("transmit_slots: a grant without a slot");
      assert (!step_valid_i || (response_i ? reserved_q : granted_valid))
      else $error("transmit_slots: a step that nothing was granted for");
      assert (!(fetch_valid && asked_q[0] && asked_slot_q[0] == read_tag_o))
      else $error("transmit_slots: a DMA read before its verdict");
      assert (!fill || empty || fetch_ready)
      else $error("transmit_slots: a DMA read has no room");
      assert (!fill || 32'(request_i.payload_bytes) <= PayloadBytesMax)
      else $error("transmit_slots: more payload than a packet has");
      assert (!fill || (used_q[granted_slot] && !filled_q[granted_slot]))
      else $error("transmit_slots: a packet for a slot that has one");
    end
  end

  // Reads whose data is to come, and the number of its last beat. Data of any other read would be sent as if it were
  // theirs: that of a read from before a reset, too.
  logic [Slots-1:0] awaited_q;
  logic [Slots-1:0][$clog2(SlotBeats)-1:0] last_beat_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) awaited_q <= '0;
    else begin
      if (asked) awaited_q[read_tag_o] <= 1'b1;
      if (come_last) awaited_q[data_tag_i] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (asked) last_beat_q[read_tag_o] <= $clog2(SlotBeats)'((read_o.bytes - 1'b1) >> $clog2(DataBytes));
  end

  always_ff @(posedge clk_beats_i) begin
    if (!rst_i && data_valid_i) begin
      assert (awaited_q[data_tag_i])
      else $error("transmit_slots: data with tag %0d, which was not asked for", data_tag_i);
      assert (data_last_i == (beat_q == last_beat_q[data_tag_i]))
      else $error("transmit_slots: data with tag %0d ends with another beat than its read", data_tag_i);
    end
  end

endmodule
