// What steps of the responder and landings leave to others, in their order: nothing of it is published before the
// memory of all that is in front of it is translated, and its own.
//
// - While translation is off, what comes in goes out in the same cycle (`on_i` may change while the queue is empty).
// - Otherwise it waits for the verdict of the translator, and while the owner says so (`hold_i`). What an answer or a
//   REFUSE must find settled, that of the step before it, left two cycles earlier at least.
// - `room_o` = 1: there is room for what the writer has room for, and for as many asks as may be under way.
// - `stalled_o`: the work that is next waits for entries of page tables.
//
// Timing: outputs depend on inputs of the same cycle while translation is off; `idle_o` depends on `valid_i`.
module resolve_queue
  import gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps       = 64,
    parameter  int unsigned Depth     = 144,
    localparam int unsigned QpBits    = $clog2(Qps),
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic clk_i,
    input logic rst_i,
    input logic on_i,

    input logic               valid_i,
    input logic  [QpBits-1:0] work_qp_i,
    input logic  [QpBits-1:0] step_qp_i,
    input left_t              left_i,

    output logic               valid_o,
    output logic  [QpBits-1:0] work_qp_o,
    output logic  [QpBits-1:0] step_qp_o,
    output left_t              left_o,
    output logic               gone_o,     // memory of the work has a page that is gone
    input  logic               hold_i,

    output logic   ask_valid_o,
    output place_t ask_o,
    input  logic   verdict_valid_i,
    input  logic   waits_i,          // for entries of page tables
    input  logic   gone_i,
    output logic   verdict_ready_o,

    output logic   room_o,
    output logic   stalled_o,
    output class_t stalled_class_o,
    output logic   idle_o
);

  // Asks that may be under way when another packet is taken: half of what the translator has room for
  localparam logic [5:0] AsksMax = 6'd16;

  logic asks, asks_in, next_valid, leaves, left_q, queue_ready;
  logic [5:0] asks_q;
  logic [CountBits-1:0] count;
  logic [QpBits-1:0] work_qp, step_qp;
  left_t next;

  assign asks_in = left_i.work_valid && (left_i.work.write || left_i.work.atomic || left_i.work.responds);
  assign ask_valid_o = on_i && valid_i && asks_in;
  assign ask_o = left_i.work.place;

  fifo #(
      .Width(1 + 2 * QpBits + $bits(left_t)),
      .Depth(Depth)
  ) u_queue (
      .clk_i,
      .rst_i,
      .valid_i(on_i && valid_i),
      .ready_o(queue_ready),
      .data_i ({asks_in, work_qp_i, step_qp_i, left_i}),
      .valid_o(next_valid),
      .ready_i(leaves),
      .data_o ({asks, work_qp, step_qp, next}),
      .count_o(count)
  );

  assign leaves = next_valid && !hold_i && (!asks || verdict_valid_i) && !(left_q && (next.granted || next.unbars));
  assign verdict_ready_o = leaves && asks;
  assign stalled_o = next_valid && asks && waits_i;
  assign stalled_class_o = next.work.class_of;
  assign room_o = asks_q < AsksMax;

  always_comb begin
    valid_o   = valid_i;
    work_qp_o = work_qp_i;
    step_qp_o = step_qp_i;
    left_o    = left_i;
    gone_o    = 1'b0;
    if (on_i) begin
      valid_o   = leaves;
      work_qp_o = work_qp;
      step_qp_o = step_qp;
      left_o    = next;
      gone_o    = asks && gone_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      left_q <= 1'b0;
      asks_q <= '0;
    end else begin
      left_q <= leaves;
      asks_q <= asks_q + 6'(ask_valid_o) - 6'(verdict_ready_o);
    end
  end

  assign idle_o = !(on_i && valid_i) && count == '0 && !left_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!(on_i && valid_i) || queue_ready)
      else $error("resolve_queue: a step that has no room");
    end
  end

endmodule
