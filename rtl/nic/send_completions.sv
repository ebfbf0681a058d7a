// Completions of the requester on their way to the completion queue: one waits until all READ data that was taken
// before it is written.
//
// - READ data is counted when the requester takes it (`taken_i`, with or before the step that completes its READ) and
//   when it is written (`landed_i`), by the part of the receive buffer that it comes from: that of a part is written in
//   its order. While none is in between, completions pass at once.
// - `room_o` = 1 guarantees room for all completions that four of the requester's events may still cause, as that of
//   the completion queue does.
// - Whether data can be written is known some time before its `landed_i`: with its `checked_i`, `unwritten_i` says that
//   it cannot. Its READ fails with local access, although the requester may have completed it: behind the completions
//   that do not wait for this data it is the first of the QP that is a READ's or tells of no success. What follows is
//   flushed, until `forget_i`. The requester gets FAIL meanwhile.
// - A completion that is silent goes to software only when it fails.
//
// Timing: outputs to the queue depend on inputs of the same cycle, `idle_o` on the valids.
module send_completions
  import gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps       = 64,
    parameter  int unsigned Wqes      = 16,
    localparam int unsigned QpBits    = $clog2(Qps),
    localparam int unsigned Reserve   = 4 * (Wqes + 1) + 4,
    localparam int unsigned Depth     = 2 * Reserve,
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 taken_i,
    input buffer_t              taken_part_i,
    input logic                 landed_i,
    input buffer_t              landed_part_i,
    input logic                 checked_i,
    input buffer_t              checked_part_i,
    input logic                 unwritten_i,     // the first of its QP
    input logic    [QpBits-1:0] unwritten_qp_i,
    input logic                 forget_i,        // the QP was closed, and nothing of it is left
    input logic    [QpBits-1:0] forget_qp_i,

    input  logic                     valid_i,
    input  logic        [QpBits-1:0] qp_i,
    input  logic                     silent_i,
    input  completion_t              completion_i,
    output logic                     room_o,

    output logic                     valid_o,
    output logic        [QpBits-1:0] qp_o,
    output completion_t              completion_o,
    input  logic                     room_i,        // of the queue

    output logic [CountBits-1:0] count_o,  // completions that wait
    output logic                 pop_o,    // the oldest one leaves
    output logic                 idle_o
);

  // More data than can be under way
  typedef logic [9:0] number_t;

  typedef struct packed {
    logic              silent;
    logic [QpBits-1:0] qp;
    completion_t       completion;
  } told_t;

  // By part. `after`: so much data is taken before the oldest that waits
  number_t [Buffers-1:0] taken_q, taken, checked_q, landed_q, after;
  logic missing;
  told_t come, held, out;
  logic straight, push, pop, ready, held_valid;
  logic [CountBits-1:0] count;

  always_comb begin
    taken = taken_q;
    if (taken_i)
      for (int unsigned b = 0; b < Buffers; b++) if (taken_part_i == buffer_t'(b)) taken[b] = taken_q[b] + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {taken_q, checked_q, landed_q} <= '0;
    else begin
      if (taken_i) taken_q <= taken;
      if (checked_i) checked_q[checked_part_i] <= checked_q[checked_part_i] + 1'b1;
      if (landed_i) landed_q[landed_part_i] <= landed_q[landed_part_i] + 1'b1;
    end
  end

  assign straight = count == '0 && taken == landed_q;
  assign come     = '{silent: silent_i, qp: qp_i, completion: completion_i};
  assign push     = valid_i && !straight;

  always_comb begin
    missing = 1'b0;
    if (held_valid)
      for (int unsigned b = 0; b < Buffers; b++)
      if (number_t'(after[b] - landed_q[b] - 1'b1) < number_t'(512)) missing = 1'b1;
  end

  fifo #(
      .Width($bits(after) + $bits(told_t)),
      .Depth(Depth)
  ) u_held (
      .clk_i,
      .rst_i,
      .valid_i(push),
      .ready_o(ready),
      .data_i ({taken, come}),
      .valid_o(held_valid),
      .ready_i(pop),
      .data_o ({after, held}),
      .count_o(count)
  );

  // Data that cannot be written, by part and number. It counts when no completion waits that came before it.
  logic [Buffers-1:0]
      refused_valid, refused_ready, waits, counts, refused, refused_q;  // `waits`: the oldest completion
  logic [Buffers-1:0][QpBits-1:0] refused_qp;
  logic [Buffers-1:0][$clog2(Qps+1)-1:0] refusals;
  logic refused_idle;

  for (genvar b = 0; b < Buffers; b++) begin : gen_refused
    number_t number;

    fifo #(
        .Width(QpBits + $bits(number_t)),
        .Depth(Qps)
    ) u_refused (
        .clk_i,
        .rst_i,
        .valid_i(unwritten_i && checked_part_i == buffer_t'(b)),
        .ready_o(refused_ready[b]),
        .data_i ({unwritten_qp_i, checked_q[b]}),
        .valid_o(refused_valid[b]),
        .ready_i(refused_q[b]),
        .data_o ({refused_qp[b], number}),
        .count_o(refusals[b])
    );

    assign waits[b] = refused_valid[b] && held_valid && number_t'(number - after[b]) >= number_t'(512);
  end

  // What counts is told in the next cycle.
  assign counts       = (waits | (refused_valid & {Buffers{count == '0}})) & ~refused_q;
  assign refused      = counts & (~counts + 1'b1);
  assign refused_idle = refusals == '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) refused_q <= '0;
    else refused_q <= refused;
  end

  // Behind what is known of its data; that it may leave is found in the cycle before
  logic may_q;
  assign pop = may_q && room_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) may_q <= 1'b0;
    else may_q <= held_valid && !pop && !missing && waits == '0;
  end

  // QPs with a READ that is to fail, and those behind it
  logic [Qps-1:0] spoilt_q, flushed_q;
  logic success, fails, returns;  // returns: it took data

  assign out     = straight ? come : held;
  assign success = out.completion.status == StatusSuccess;
  assign returns = out.completion.operation inside {8'(WorkRead), 8'(WorkCmpSwap), 8'(WorkFetchAdd)};
  assign fails   = spoilt_q[out.qp] && (!success || returns);

  always_comb begin
    completion_o = out.completion;
    if (fails && (success || out.completion.status == StatusFlushed)) completion_o.status = StatusLocalAccess;
    else if (flushed_q[out.qp]) completion_o.status = StatusFlushed;
    if (completion_o.status != StatusSuccess) completion_o.length = '0;
  end

  logic leaves;
  assign leaves  = straight ? valid_i : pop;
  assign valid_o = leaves && !(out.silent && completion_o.status == StatusSuccess);
  assign qp_o    = out.qp;

  always_ff @(posedge clk_i) begin
    if (rst_i) {spoilt_q, flushed_q} <= '0;
    else begin
      if (leaves && fails) begin
        spoilt_q[out.qp]  <= 1'b0;
        flushed_q[out.qp] <= 1'b1;
      end
      for (int unsigned b = 0; b < Buffers; b++) if (refused_q[b]) spoilt_q[refused_qp[b]] <= 1'b1;
      if (forget_i) begin
        spoilt_q[forget_qp_i]  <= 1'b0;
        flushed_q[forget_qp_i] <= 1'b0;
      end
    end
  end

  assign room_o  = room_i && 32'(count) < Depth - Reserve;
  assign count_o = count;
  assign pop_o   = pop;
  assign idle_o  = !taken_i && !landed_i && !checked_i && !valid_i && !forget_i && count == '0 && refused_idle;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push || ready)
      else $error("send_completions: a completion is lost");
      assert (!landed_i || taken_q[landed_part_i] != landed_q[landed_part_i])
      else $error("send_completions: data is written that was not taken");
      assert (!unwritten_i || (checked_i && refused_ready[checked_part_i]))
      else $error("send_completions: a refusal is lost");
    end
  end

endmodule
