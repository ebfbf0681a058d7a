// Bounded proof of transmit_slots, from reset to the depth in proofs.toml: once the context of its QP says not ready, a
// packet that waits is never offered; it is withdrawn when it is the oldest of its class; its slot is held until its
// data has come, and is free then. A packet that is wanted is not withdrawn, and its read is not left out. A read that
// is offered stays until it is taken, and is not offered first while as much is to come as the bound allows. `holds_o`
// says exactly which QPs have a slot. A class that holds none finds one free. What came with an error is never offered.
//
// An arbitrary slot is followed, with every packet that is in it. What the rest of the NIC guarantees is assumed: the
// step of a grant comes three cycles after it; a step that makes a packet leaves its QP ready; the beats of a tag come
// together and only for a slot whose read was taken; a packet that is popped is released once, in the same cycle if it
// has no payload.
module transmit_slots_proof
  import roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps      = 4,
    parameter  int unsigned Slots    = 4,
    localparam int unsigned QpBits   = $clog2(Qps),
    localparam int unsigned SlotBits = $clog2(Slots)
) (
    input logic                clk_i,
    input logic                take_i,
    input logic                take_class_i,    // two classes are used
    input logic                packet_i,
    input logic [  QpBits-1:0] step_qp_i,
    input logic [         2:0] psn_i,
    input logic                empty_i,
    input logic                context_i,       // a step of another kind
    input logic [  QpBits-1:0] context_qp_i,
    input logic                ready_i,
    input logic [         2:0] una_i,
    input logic [         2:0] next_i,
    input logic                bound_i,         // one read at a time
    input logic                read_ready_i,
    input logic                data_valid_i,
    input logic [SlotBits-1:0] data_tag_i,
    input logic                data_last_i,
    input logic                data_error_i,
    input logic                unread_ready_i,
    input logic [         7:0] pop_i,
    input logic                release_i,
    input logic [SlotBits-1:0] release_slot_i,
    input logic [SlotBits-1:0] slot_i
);

  logic started_q = 1'b0;
  logic [SlotBits-1:0] slot_q;  // that is followed
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) slot_q <= slot_i;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Surroundings

  logic free, take, step, fill, context_valid, context_ready;
  logic [QpBits-1:0] context_qp;
  logic [2:0] takes_q = '0;  // grants of the last three cycles
  request_t request;
  logic read_valid, data_valid, data_last, more_q = 1'b0;
  logic [SlotBits-1:0] read_tag, data_tag, more_tag_q;
  logic [Slots-1:0] reads_q = '0, popped_q = '0;  // whose data is to come; that were popped and have payload
  logic [7:0] head, pop, class_free;
  logic [7:0][SlotBits-1:0] head_slot;
  payload_bytes_t [7:0] head_bytes;
  logic [SlotBits-1:0] pop_slot;
  logic pop_empty, releases;
  logic [Qps-1:0] holds;

  assign take          = started_q && take_i && free && class_free[take_class_i];
  assign step          = takes_q[2];
  assign fill          = step && packet_i;
  assign context_valid = started_q && (step || context_i);
  assign context_qp    = step ? step_qp_i : context_qp_i;
  assign context_ready = fill || ready_i;
  assign data_tag      = more_q ? more_tag_q : data_tag_i;
  assign data_valid    = data_valid_i && reads_q[data_tag];
  assign data_last     = data_valid && data_last_i;
  assign pop           = !started_q ? '0 : pop_i & head & (~(pop_i & head) + 1'b1);
  assign releases      = release_i && popped_q[release_slot_i];

  always_comb begin
    request               = '0;
    request.psn           = psn_t'(psn_i);
    request.payload_bytes = 16'(!empty_i);
    pop_slot              = '0;
    pop_empty             = 1'b0;
    for (int unsigned c = 0; c < 8; c++) begin
      if (pop[c]) {pop_slot, pop_empty} = {head_slot[c], head_bytes[c] == '0};
    end
  end

  // The region of all payload, from the first cycle on
  logic registered_q = 1'b0;
  region_t region;

  always_comb begin
    region        = '0;
    region.valid  = 1'b1;
    region.length = '1;
  end

  always_ff @(posedge clk_i) if (started_q) registered_q <= 1'b1;

  always_ff @(posedge clk_i) begin
    takes_q <= {takes_q[1:0], take};
    if (started_q && read_valid && read_ready_i) reads_q[read_tag] <= 1'b1;
    if (data_last) reads_q[data_tag] <= 1'b0;
    if (data_valid) {more_q, more_tag_q} <= {!data_last_i, data_tag};
    if (releases) popped_q[release_slot_i] <= 1'b0;
    if (pop != '0 && !pop_empty) popped_q[pop_slot] <= 1'b1;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Design

  transmit_slots #(
      .Qps(Qps),
      .Slots(Slots),
      .Regions(2)
  ) u_dut (
      .clk_i,
      .clk_beats_i          (clk_i),
      .rst_i                (!started_q),
      .take_i               (take),
      .take_class_i         ({2'b00, take_class_i}),
      .take_response_i      (1'b0),                                // READ responses are not followed
      .take_response_class_i('0),
      .class_open_i         (8'b11),
      .free_o               (free),
      .class_free_o         (class_free),
      .context_valid_i      (context_valid),
      .context_qp_i         (context_qp),
      .context_ready_i      (context_ready),
      .context_oldest_i     (psn_t'(una_i)),
      .context_next_i       (psn_t'(next_i)),
      .failing_i            ('0),
      .region_write_i       (started_q && !registered_q),
      .region_index_i       (1'b0),
      .region_i             (region),
      .pd_write_i           (1'b0),
      .pd_qp_i              ('0),
      .pd_i                 ('0),
      .invalidate_i         (1'b0),
      .invalidate_index_i   ('0),
      .withdraw_i           (1'b0),
      .withdraw_qp_i        ('0),
      .withdraw_all_i       (1'b0),
      .withdraw_read_i      ('0),
      .step_valid_i         (step),
      .response_i           (1'b0),
      .packet_i             (fill),
      .step_qp_i,
      .request_i            (request),
      .read_ahead_i         ({8'b0, bound_i}),
      .read_valid_o         (read_valid),
      .read_tag_o           (read_tag),
      .read_o               (),
      .read_ready_i,
      .data_valid_i         (data_valid),
      .data_tag_i           (data_tag),
      .data_last_i          (data_last),
      .data_error_i,
      .data_data_i          ('0),
      .unread_valid_o       (),
      .unread_response_o    (),
      .unread_qp_o          (),
      .unread_o             (),
      .unread_ready_i,
      .unread_qps_o         (),
      .refused_valid_i      (1'b0),
      .refused_qp_i         ('0),
      .reads_pass_o         (),
      .head_o               (head),
      .head_slot_o          (head_slot),
      .head_qp_o            (),
      .head_bytes_o         (head_bytes),
      .head_beats_o         (),
      .pop_i                (pop),
      .info_o               (),
      .payload_read_i       (1'b0),
      .payload_address_i    ('0),
      .payload_data_o       (),
      .withdrawn_o          (),
      .asks_o               (),
      .sending_o            (),
      .pop_asks_o           (),
      .holds_o              (holds),
      .release_i            ({releases, pop != '0 && pop_empty}),
      .release_slot_i       ({release_slot_i, pop_slot}),
      .moves_o              (),
      .idle_o               ()
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // The packet in the slot, by the contract

  typedef enum logic [1:0] {
    Nowhere = 2'd0,
    Waits   = 2'd1,  // in the queue of its class
    Leaves  = 2'd2,  // was popped
    Drains  = 2'd3   // was withdrawn, its data is to come
  } where_e;

  where_e where_q = Nowhere, where_d;
  logic [QpBits-1:0] qp_q;
  logic [2:0] packet_psn_q;
  logic dead_q, stale_q;  // its QP was not ready since; it had not to be sent any more
  logic data_q, data;  // data is to come
  logic bad_q;  // it came with an error
  logic left_out;  // its read
  logic shown_q = 1'b0;  // a read was offered and not taken
  logic [SlotBits-1:0] shown_tag_q;
  logic fills, pops, dropped, named;
  logic [7:0] offered;
  logic oldest;  // of its class
  logic [3:0] oldest_q = '0;  // cycles in which it was that, and dead

  assign fills   = fill && u_dut.granted_slot == slot_q;
  assign pops    = pop != '0 && pop_slot == slot_q;
  assign dropped = u_dut.dropped && u_dut.drop_slot == slot_q;
  assign left_out = u_dut.skipped && read_tag == slot_q;
  assign data    = data_q && !(data_last && data_tag == slot_q) && !left_out;
  assign named   = context_valid && context_qp == qp_q && where_q == Waits;

  always_comb begin
    oldest = 1'b0;
    for (int unsigned c = 0; c < 8; c++) begin
      offered[c] = head[c] && head_slot[c] == slot_q;
      if (u_dut.valid[c] && head_slot[c] == slot_q) oldest = where_q == Waits;
    end
    where_d = where_q;
    case (where_q)
      Nowhere: if (fills) where_d = Waits;
      Waits:   if (pops) where_d = pop_empty ? Nowhere : Leaves;
 else if (dropped) where_d = data ? Drains : Nowhere;
      Leaves:  if (releases && release_slot_i == slot_q) where_d = Nowhere;
      default: if (!data) where_d = Nowhere;
    endcase
  end

  logic left_q = 1'b0;  // the packet was there in the previous cycle
  always_ff @(posedge clk_i) begin
    if (started_q) {shown_q, shown_tag_q} <= {read_valid && !read_ready_i, read_tag};
    where_q  <= where_d;
    left_q   <= where_q != Nowhere;
    oldest_q <= (oldest && dead_q) ? oldest_q + 4'(oldest_q != '1) : '0;
    if (fills) begin
      {qp_q, packet_psn_q, dead_q, stale_q, data_q} <= {step_qp_i, psn_i, 2'b00, !empty_i};
      bad_q <= 1'b0;
    end else begin
      data_q <= data;
      if (data_last && data_error_i && data_tag == slot_q) bad_q <= 1'b1;
      if (named && !context_ready) dead_q <= 1'b1;
      if (named && (psn_behind(
              psn_t'(packet_psn_q), psn_t'(una_i)
          ) || !psn_behind(
              psn_t'(packet_psn_q), psn_t'(next_i)
          )))
        stale_q <= 1'b1;
    end
  end

  // QPs with a packet in a slot, from the state of all slots
  logic [Qps-1:0] filled;
  always_comb begin
    filled = '0;
    for (int unsigned s = 0; s < Slots; s++) if (u_dut.filled_q[s]) filled[u_dut.qp_q[s]] = 1'b1;
  end

  always_comb begin
    if (started_q) begin
      a_dead : assert (where_q != Waits || !(dead_q || stale_q) || offered == '0);
      a_offer : assert (offered == '0 || (where_q == Waits && !data_q));
      a_readable : assert (offered == '0 || !bad_q);
      a_once : assert ((offered & (offered - 1'b1)) == '0);
      a_wanted : assert (!dropped || (where_q == Waits && (dead_q || stale_q)));
      a_withdraws : assert (32'(oldest_q) <= Slots);
      a_filled :
      assert (u_dut.filled_q[slot_q] == (where_q != Nowhere) && (where_q == Nowhere || u_dut.qp_q[slot_q] == qp_q));
      a_holds : assert (holds == filled);
      a_left_out : assert (!left_out || (dead_q || stale_q));
      a_shown : assert (!shown_q || (read_valid && read_tag == shown_tag_q));
      a_bound : assert (!(read_valid && bound_i) || shown_q || reads_q == '0);
      a_used : assert (where_q == Nowhere || u_dut.used_q[slot_q]);
      a_kept : assert (!(u_dut.none_q[0] || u_dut.none_q[1]) || free);
      a_freed : assert (!(left_q && where_q == Nowhere) || !u_dut.used_q[slot_q]);
    end
  end

endmodule
