// Drain monitor of a closed QP: says when nothing of the QP is left. It waits until the queues of the receive path
// have moved on by what was in them, until the QP holds no transmit slot, and until the host has its completions.
//
// `discard_i` rises when the QP is closed to packets and its contexts are cleared. What is in the queues at that time
// leaves them as packets of a closed QP. What the responder accepted before is written.
//
//     phase     ends when
//     settle    frames that were judged before are in their queue
//     queues    the headers and answers in front of the QP's, and the QP's own, have left
//     settle    their steps have come
//     steps     what these steps left to be written is written
//     atomics   what the host has still to perform is performed
//     refusals  no packet of the QP that was refused waits for the responder
//     slots     no packet of the QP waits for the wire, and none waits for data
//     told      completions that waited for READ data by then, then what is in the queue of completions, have left
//
// All phases begin anew when `discard_i` has been 0 for a cycle.
//
// Timing: `drained_o` depends on registers only, `idle_o` on `discard_i`.
module qp_drain
  import nic_pkg::*;
#(
    parameter int unsigned HeaderBits     = 11,
    parameter int unsigned AnswerBits     = 7,
    parameter int unsigned StepBits       = 8,
    parameter int unsigned AtomicBits     = 7,
    parameter int unsigned CompletionBits = 8
) (
    input logic clk_i,
    input logic rst_i,

    input logic discard_i,

    input logic [       Buffers-1:0][HeaderBits-1:0] headers_i,        // of each part of the receive buffer
    input logic [       Buffers-1:0]                 header_pop_i,
    input logic [    AnswerBits-1:0]                 answers_i,
    input logic                                      answer_pop_i,
    input logic [       Buffers-1:0][  StepBits-1:0] steps_i,          // of each ring
    input logic [       Buffers-1:0]                 step_pop_i,
    input logic [    AtomicBits-1:0]                 atomics_i,        // at the host
    input logic                                      atomic_pop_i,
    input logic                                      refusing_i,       // a REFUSE waits, perhaps the QP's
    input logic                                      holds_i,          // the QP has a transmit slot
    input logic [CompletionBits-1:0]                 sends_i,          // completions that wait for READ data
    input logic                                      send_pop_i,
    input logic [CompletionBits-1:0]                 completions_i,
    input logic                                      completion_pop_i,

    output logic drained_o,
    output logic idle_o
);

  // Cycles from the judgement of a frame to its queue, and from a queue to the writer; more than the number of
  // stages.
  localparam logic [3:0] Settle = 4'd15;

  logic [3:0] first_q, second_q;
  logic restart;  // no discard: the phases of the last one are over
  logic headers, answers, steps, atomics;
  logic sends;
  logic headers_idle, answers_idle, steps_idle, atomics_idle, sends_idle, completions_idle;
  logic written_q;  // all phases but the last are over

  assign restart = rst_i || !discard_i;

  always_ff @(posedge clk_i) begin
    if (restart) first_q <= '0;
    else if (first_q != Settle) first_q <= first_q + 1'b1;
  end

  drain #(
      .Count    (Buffers),
      .CountBits(HeaderBits)
  ) u_headers (
      .clk_i,
      .rst_i   (restart),
      .start_i (first_q == Settle),
      .count_i (headers_i),
      .pop_i   (header_pop_i),
      .passed_o(headers),
      .idle_o  (headers_idle)
  );

  drain #(
      .CountBits(AnswerBits)
  ) u_answers (
      .clk_i,
      .rst_i   (restart),
      .start_i (first_q == Settle),
      .count_i (answers_i),
      .pop_i   (answer_pop_i),
      .passed_o(answers),
      .idle_o  (answers_idle)
  );

  always_ff @(posedge clk_i) begin
    if (restart || !headers || !answers) second_q <= '0;
    else if (second_q != Settle) second_q <= second_q + 1'b1;
  end

  drain #(
      .Count    (Buffers),
      .CountBits(StepBits)
  ) u_steps (
      .clk_i,
      .rst_i   (restart),
      .start_i (second_q == Settle),
      .count_i (steps_i),
      .pop_i   (step_pop_i),
      .passed_o(steps),
      .idle_o  (steps_idle)
  );

  drain #(
      .CountBits(AtomicBits)
  ) u_atomics (
      .clk_i,
      .rst_i   (restart),
      .start_i (steps),
      .count_i (atomics_i),
      .pop_i   (atomic_pop_i),
      .passed_o(atomics),
      .idle_o  (atomics_idle)
  );

  always_ff @(posedge clk_i) begin
    if (restart) written_q <= 1'b0;
    else if (atomics && !refusing_i && !holds_i) written_q <= 1'b1;
  end

  drain #(
      .CountBits(CompletionBits)
  ) u_sends (
      .clk_i,
      .rst_i   (restart),
      .start_i (written_q),
      .count_i (sends_i),
      .pop_i   (send_pop_i),
      .passed_o(sends),
      .idle_o  (sends_idle)
  );

  drain #(
      .CountBits(CompletionBits)
  ) u_completions (
      .clk_i,
      .rst_i   (restart),
      .start_i (sends),
      .count_i (completions_i),
      .pop_i   (completion_pop_i),
      .passed_o(drained_o),
      .idle_o  (completions_idle)
  );

  assign idle_o = !discard_i && first_q == '0 && second_q == '0 && headers_idle && answers_idle && steps_idle &&
      atomics_idle && !written_q && sends_idle && completions_idle;

endmodule
