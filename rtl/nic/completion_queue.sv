// Completion queue: collects the completions of requester and responder in one FIFO to the host.
//
// - Requester: completions cannot be back-pressured. `room_o` = 1 guarantees room for all completions that four of
//   its events may still cause (each may end its QP and flush a ring of `Wqes`). While it is 0 the owner gives the
//   requester no event that could make a completion.
// - Responder: completions wait (`receive_ready_o`).
//
// A completion of the requester goes into the FIFO a cycle after it came, so that one of the responder that waits does
// not depend on it in the same cycle.
//
// Timing: `idle_o` depends on both valids of the same cycle; all other outputs are registers or depend on registers
// only.
module completion_queue
  import gbn_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    parameter  int unsigned Wqes   = 16,
    localparam int unsigned QpBits = $clog2(Qps),
    localparam int unsigned Reserve = 4 * (Wqes + 1) + 4,
    localparam int unsigned Depth = 2 * Reserve,
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                     send_valid_i,
    input logic        [QpBits-1:0] send_qp_i,
    input completion_t              send_i,

    input  logic                     receive_valid_i,
    input  logic        [QpBits-1:0] receive_qp_i,
    input  completion_t              receive_i,
    output logic                     receive_ready_o,

    output logic                     cqe_valid_o,
    output logic        [QpBits-1:0] cqe_qp_o,
    output completion_t              cqe_o,
    input  logic                     cqe_ready_i,

    output logic [CountBits-1:0] count_o,  // completions that wait for the host
    output logic room_o,
    output logic idle_o
);

  logic ready, sent_q;  // a completion of the requester goes into the FIFO
  logic [QpBits-1:0] sent_qp_q;
  completion_t send_q;
  logic [CountBits-1:0] queued;

  always_ff @(posedge clk_i) begin
    if (rst_i) sent_q <= 1'b0;
    else sent_q <= send_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (send_valid_i) {sent_qp_q, send_q} <= {send_qp_i, send_i};
  end

  assign count_o         = queued + CountBits'(sent_q);
  assign room_o          = 32'(queued) < Depth - Reserve - 1;
  assign receive_ready_o = !sent_q && room_o;

  fifo #(
      .Width(QpBits + $bits(completion_t)),
      .Depth(Depth)
  ) u_queue (
      .clk_i,
      .rst_i,
      .valid_i(sent_q || (receive_valid_i && room_o)),
      .ready_o(ready),
      .data_i (sent_q ? {sent_qp_q, send_q} : {receive_qp_i, receive_i}),
      .valid_o(cqe_valid_o),
      .ready_i(cqe_ready_i),
      .data_o ({cqe_qp_o, cqe_o}),
      .count_o(queued)
  );

  assign idle_o = !send_valid_i && !receive_valid_i && count_o == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!sent_q || ready)
      else $error("completion_queue: a completion is lost");
  end

endmodule
