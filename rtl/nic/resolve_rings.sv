// What steps of the responder and landings leave to others, in a ring for each part of the receive buffer (`parts_i`),
// or in one alone: nothing of a ring is published before the memory of all that is in front of it is translated, and
// its own. What waits in one ring does not stop the others.
//
// - While translation is off, what comes in goes out in the same cycle (`on_i` and `parts_i` may change while the rings
//   are empty).
// - Otherwise it waits for the verdict of the translator, of which each ring gets its own, and while the owner says so
//   (`hold_i`). What an answer or a REFUSE must find settled, that of the step before it, left two cycles earlier at
//   least. The rings take turns.
// - One that moves its QP to another ring (`moves_i`) waits also until all has left that was in the ring `from_i` when
//   it came. The owner has one of these at a time: until `moved_o` says that it leaves, or that it does not wait.
// - `few_o` of a ring: it has asked for less than half of what `room_o` allows to each. `room_o` = 1: there is room for
//   what the owner lets come, and for as many asks as may be under way.
// - `stalled_o`, by class: what is next in a ring waits for entries of page tables.
//
// The rings are in one RAM, which is read when a ring has its turn; what it has to wait for is beside it.
//
// Timing: outputs depend on inputs of the same cycle while translation is off; `idle_o` depends on `valid_i`.
module resolve_rings
  import gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps       = 64,
    parameter  int unsigned Depth     = 128,               // of each of several rings; a power of two
    parameter  int unsigned Alone     = 160,               // of one alone, Depth to that of all
    localparam int unsigned QpBits    = $clog2(Qps),
    localparam int unsigned PlaceBits = $clog2(Depth),
    localparam int unsigned CountBits = $clog2(Alone + 1)
) (
    input logic clk_i,
    input logic rst_i,
    input logic on_i,
    input logic parts_i,

    input logic                 valid_i,
    input buffer_t              ring_i,
    input logic                 moves_i,
    input buffer_t              from_i,
    input logic    [QpBits-1:0] work_qp_i,
    input logic    [QpBits-1:0] step_qp_i,
    input left_t                left_i,

    output logic                 valid_o,
    output buffer_t              ring_o,
    output logic    [QpBits-1:0] work_qp_o,
    output logic    [QpBits-1:0] step_qp_o,
    output left_t                left_o,
    output logic                 gone_o,     // memory of the work has a page that is gone
    output logic                 moved_o,
    input  logic                 hold_i,

    output logic   ask_valid_o,  // of ring `ring_i`
    output place_t ask_o,

    // By ring
    input  logic [Buffers-1:0] verdict_valid_i,
    input  logic [Buffers-1:0] waits_i,          // for entries of page tables
    input  logic [Buffers-1:0] gone_i,
    output logic [Buffers-1:0] verdict_ready_o,

    output logic [Buffers-1:0] few_o,
    output logic               room_o,
    output logic [        7:0] stalled_o,
    output logic               idle_o
);

  // Asks of a ring that may be under way when another packet is taken: half of what the translator has room for
  localparam logic [5:0] AsksMax = 6'd16;

  // What the first of a ring waits for
  typedef struct packed {
    logic   asks;      // a verdict
    logic   settles;   // what left before it
    logic   moves;     // the ring that its QP was in before
    class_t class_of;
  } mark_t;

  logic asks_in, moves_in, push, leaves, leaves_q, moved;
  mark_t mark_in;
  mark_t [Buffers-1:0] mark;
  logic [Buffers-1:0] mark_valid, ready, leave, full;
  logic [Buffers-1:0][5:0] asks_q;
  logic [Buffers-1:0][PlaceBits-1:0] put_q, get_q;
  logic [2:0] put_high_q, get_high_q;  // of one alone: the rings one behind the other
  logic [Buffers-1:0][CountBits-1:0] count;
  buffer_t pick;
  logic unused_turn_moves;

  assign push = on_i && valid_i;
  assign moves_in = moves_i && count[from_i] != '0;
  assign asks_in = left_i.work_valid && (left_i.work.write || left_i.work.atomic || left_i.work.responds);
  assign ask_valid_o = push && asks_in;
  assign ask_o = left_i.work.place;
  assign mark_in = '{
          asks: asks_in,
          settles: left_i.granted || left_i.unbars,
          moves: moves_in,
          class_of: left_i.work.class_of
      };

  for (genvar r = 0; r < Buffers; r++) begin : gen_ring
    localparam int unsigned MarkBits = $clog2((r == 0 ? Alone : Depth) + 1);
    logic comes, mark_ready;
    logic [MarkBits-1:0] marks;

    assign comes = push && ring_i == buffer_t'(r);
    assign count[r] = CountBits'(marks);

    fifo #(
        .Width($bits(mark_t)),
        .Depth(r == 0 ? Alone : Depth)
    ) u_marks (
        .clk_i,
        .rst_i,
        .valid_i(comes),
        .ready_o(mark_ready),
        .data_i (mark_in),
        .valid_o(mark_valid[r]),
        .ready_i(leave[r]),
        .data_o (mark[r]),
        .count_o(marks)
    );

    assign full[r] = !mark_ready;
    assign ready[r] = mark_valid[r] && !hold_i && (!mark[r].asks || verdict_valid_i[r]) && (!mark[r].moves || moved) &&
        !(leaves_q && mark[r].settles);
    assign verdict_ready_o[r] = leave[r] && mark[r].asks;
    assign few_o[r] = asks_q[r] < AsksMax / 2;

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        put_q[r]  <= '0;
        get_q[r]  <= '0;
        asks_q[r] <= '0;
      end else begin
        put_q[r]  <= put_q[r] + PlaceBits'(comes);
        get_q[r]  <= get_q[r] + PlaceBits'(leave[r]);
        asks_q[r] <= asks_q[r] + 6'(comes && asks_in) - 6'(verdict_ready_o[r]);
      end
    end
  end

  round_robin_arbiter #(
      .Count(Buffers)
  ) u_turn (
      .clk_i,
      .rst_i,
      .request_i(ready),
      .valid_o  (leaves),
      .grant_o  (leave),
      .index_o  (pick),
      .ready_i  (1'b1),
      .moves_o  (unused_turn_moves)
  );

  // What is in front of the one that moves, in the ring that it comes from
  logic moves_q;  // one is in its ring
  logic unused_drain_idle;
  buffer_t from, from_q;

  assign from = moves_q ? from_q : from_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) moves_q <= 1'b0;
    else if (push && moves_in) moves_q <= 1'b1;
    else if (moved_o) moves_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (push && moves_in) from_q <= from_i;
  end

  drain #(
      .CountBits(CountBits)
  ) u_front (
      .clk_i,
      .rst_i,
      .start_i (moves_q || (push && moves_in)),
      .count_i (count[from]),
      .pop_i   (leave[from]),
      .passed_o(moved),
      .idle_o  (unused_drain_idle)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i || parts_i) {put_high_q, get_high_q} <= '0;
    else begin
      put_high_q <= put_high_q + 3'(push && put_q[0] == '1);
      get_high_q <= get_high_q + 3'(leave[0] && get_q[0] == '1);
    end
  end

  // What leaves is there in the next cycle.
  logic gone_q;
  buffer_t ring_q;
  logic [QpBits-1:0] work_qp, step_qp;
  left_t left;

  ram_1r1w #(
      .Width(2 * QpBits + $bits(left_t)),
      .Depth(Buffers * Depth)
  ) u_rings (
      .clk_i,
      .write_i        (push),
      .write_address_i({parts_i ? ring_i : put_high_q, put_q[ring_i]}),
      .data_i         ({work_qp_i, step_qp_i, left_i}),
      .read_i         (leaves),
      .read_address_i ({parts_i ? pick : get_high_q, get_q[pick]}),
      .data_o         ({work_qp, step_qp, left})
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) {leaves_q, moved_o} <= '0;
    else {leaves_q, moved_o} <= {leaves, (leaves && mark[pick].moves) || (push && moves_i && !moves_in)};
  end

  always_ff @(posedge clk_i) begin
    if (leaves) {ring_q, gone_q} <= {pick, mark[pick].asks && gone_i[pick]};
  end

  always_comb begin
    valid_o   = valid_i;
    ring_o    = '0;
    work_qp_o = work_qp_i;
    step_qp_o = step_qp_i;
    left_o    = left_i;
    gone_o    = 1'b0;
    if (on_i) begin
      valid_o   = leaves_q;
      ring_o    = ring_q;
      work_qp_o = work_qp;
      step_qp_o = step_qp;
      left_o    = left;
      gone_o    = gone_q;
    end
  end

  always_comb begin
    room_o    = 1'b1;
    stalled_o = '0;
    for (int unsigned r = 0; r < Buffers; r++) begin
      if (asks_q[r] >= AsksMax) room_o = 1'b0;
      if (mark_valid[r] && mark[r].asks && waits_i[r]) stalled_o[mark[r].class_of] = 1'b1;
    end
  end

  assign idle_o = !push && count == '0 && !leaves_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push || !full[ring_i])
      else $error("resolve_rings: a step that has no room");
      assert (!(push && moves_i) || !moves_q)
      else $error("resolve_rings: two packets move their QPs");
    end
  end

endmodule
