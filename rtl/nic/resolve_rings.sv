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
// - `asks_o`, by ring: its first waited for a verdict in the cycle before. `stalled_o`, by class: the first of a ring
//   waits for entries of page tables.
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
    output logic [Buffers-1:0] asks_o,
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

  logic asks_in, moves_in, push, leaves, leaves_q, moved, first_in, second_in, fetches, fetched_q;
  mark_t mark_in, fetched;
  mark_t [Buffers-1:0] mark_q, next, next_q;  // of the first of each ring, and of the second
  logic [Buffers-1:0] some_q, asks, settles, moves, ready, leave;
  logic [Buffers-1:0][5:0] asks_q, asks_d;
  logic [Buffers-1:0][PlaceBits-1:0] put_q, get_q;
  logic [2:0] put_high_q, get_high_q;  // of one alone: the rings one behind the other
  logic [Buffers-1:0][CountBits-1:0] count_q, count_d;
  logic [PlaceBits-1:0] third;  // place of the third of the ring that one leaves
  buffer_t put_high, get_high, pick, fetched_ring_q;
  logic unused_turn_moves;

  assign push = on_i && valid_i;
  assign moves_in = moves_i && count_q[from_i] != '0;
  assign asks_in = left_i.work_valid && (left_i.work.write || left_i.work.atomic || left_i.work.responds);
  assign ask_valid_o = push && asks_in;
  assign ask_o = left_i.work.place;
  assign mark_in = '{
          asks: asks_in,
          settles: left_i.granted || left_i.unbars,
          moves: moves_in,
          class_of: left_i.work.class_of
      };

  // The marks of two of a ring are in registers. When one leaves, that of the third is fetched, and is the second then.
  assign first_in = push && (count_q[ring_i] == '0 || (leave[ring_i] && count_q[ring_i] == CountBits'(1)));
  assign second_in = push && (leave[ring_i] ? count_q[ring_i] == CountBits'(2) : count_q[ring_i] == CountBits'(1));
  assign fetches = leaves && count_q[pick] > CountBits'(2);
  assign third = get_q[pick] + PlaceBits'(2);

  ram_1r1w #(
      .Width($bits(mark_t)),
      .Depth(Buffers * Depth)
  ) u_marks (
      .clk_i,
      .write_i        (push),
      .write_address_i({put_high, put_q[ring_i]}),
      .data_i         (mark_in),
      .read_i         (fetches),
      .read_address_i ({get_high + 3'(!parts_i && third < PlaceBits'(2)), third}),
      .data_o         (fetched)
  );

  always_comb begin
    next = next_q;
    if (fetched_q) next[fetched_ring_q] = fetched;
  end

  always_comb begin
    for (int unsigned r = 0; r < Buffers; r++)
    {asks[r], settles[r], moves[r]} = {mark_q[r].asks, mark_q[r].settles, mark_q[r].moves};
  end

  always_comb begin
    ready = some_q & (~asks | verdict_valid_i);
    if (!moved) ready &= ~moves;
    if (leaves_q) ready &= ~settles;
    if (hold_i) ready = '0;
  end

  assign verdict_ready_o = leave & asks;

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

  always_comb begin
    count_d = count_q;
    asks_d  = asks_q;
    if (push || leaves)
      for (int unsigned r = 0; r < Buffers; r++) begin
        count_d[r] = count_q[r] + CountBits'(push && ring_i == buffer_t'(r)) - CountBits'(leave[r]);
        asks_d[r]  = asks_q[r] + 6'(ask_valid_o && ring_i == buffer_t'(r)) - 6'(verdict_ready_o[r]);
      end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q   <= '0;
      asks_q    <= '0;
      some_q    <= '0;
      few_o     <= '1;
      put_q     <= '0;
      get_q     <= '0;
      fetched_q <= 1'b0;
      room_o    <= 1'b1;
    end else begin
      fetched_q <= fetches;
      if (push) put_q[ring_i] <= put_q[ring_i] + 1'b1;
      if (leaves) get_q[pick] <= get_q[pick] + 1'b1;
      if (push || leaves) begin
        count_q <= count_d;
        asks_q  <= asks_d;
        room_o  <= 1'b1;
        for (int unsigned r = 0; r < Buffers; r++) begin
          some_q[r] <= count_d[r] != '0;
          few_o[r]  <= asks_d[r] < AsksMax / 2;
          if (asks_d[r] >= AsksMax) room_o <= 1'b0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetches) fetched_ring_q <= pick;
    if (fetched_q) next_q[fetched_ring_q] <= fetched;
    if (leaves) mark_q[pick] <= next[pick];
    if (first_in) mark_q[ring_i] <= mark_in;
    if (second_in) next_q[ring_i] <= mark_in;
  end

  // What is in front of the one that moves, in the ring that it comes from
  logic moves_q;  // one is in its ring
  logic front_idle;
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
      .count_i (count_q[from]),
      .pop_i   (leave[from]),
      .passed_o(moved),
      .idle_o  (front_idle)
  );

  assign put_high = parts_i ? ring_i : put_high_q;
  assign get_high = parts_i ? pick : get_high_q;

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
      .write_address_i({put_high, put_q[ring_i]}),
      .data_i         ({work_qp_i, step_qp_i, left_i}),
      .read_i         (leaves),
      .read_address_i ({get_high, get_q[pick]}),
      .data_o         ({work_qp, step_qp, left})
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) {leaves_q, moved_o} <= '0;
    else {leaves_q, moved_o} <= {leaves, (leaves && moves[pick]) || (push && moves_i && !moves_in)};
  end

  always_ff @(posedge clk_i) begin
    if (leaves) {ring_q, gone_q} <= {pick, asks[pick] && gone_i[pick]};
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

  logic [Buffers-1:0] stalled;
  assign stalled = some_q & asks & waits_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) asks_o <= '0;
    else asks_o <= some_q & asks & ~verdict_valid_i;
  end

  always_comb begin
    stalled_o = '0;
    if (stalled != '0) for (int unsigned r = 0; r < Buffers; r++) if (stalled[r]) stalled_o[mark_q[r].class_of] = 1'b1;
  end

  assign idle_o = !push && some_q == '0 && count_q == '0 && !leaves_q && !moved_o && !fetched_q && asks_o == '0 &&
      front_idle;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push || 32'(count_q[ring_i]) < (parts_i ? Depth : Alone))
      else $error("resolve_rings: a step that has no room");
      assert (!(push && moves_i) || !moves_q)
      else $error("resolve_rings: two packets move their QPs");
    end
  end

endmodule
