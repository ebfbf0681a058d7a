// Answer arbiter: sends GRANTs to the responder for QPs that owe an answer, and holds one answer per class until it
// is sent. With one holding register per class, a paused class does not block the others.
//
// One GRANT is under way at a time, so there is one answer every seven cycles. What becomes owed meanwhile
// waits for the next one.
//
// Timing: `idle_o` depends on inputs of the same cycle; all other outputs are registers.
module answer_scheduler
  import roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic   [Qps-1:0] owed_i,
    input class_t [Qps-1:0] class_i, // of answers

    input logic              discard_i,    // clears the held answer of a QP
    input logic [QpBits-1:0] discard_qp_i,

    output logic              grant_valid_o,
    output logic [QpBits-1:0] grant_qp_o,
    input  logic              grant_ready_i,

    input logic                   step_valid_i,      // step of a GRANT
    input logic      [QpBits-1:0] step_qp_i,
    input logic                   response_valid_i,
    input response_t              response_i,

    output logic      [7:0]             head_o,
    output logic      [7:0][QpBits-1:0] head_qp_o,
    output response_t [7:0]             head_response_o,
    input  logic      [7:0]             pop_i,            // at most one bit

    output logic idle_o
);

  logic [7:0] full_q, full_d;
  logic [7:0][QpBits-1:0] qp_q;
  response_t [7:0] response_q;
  logic [1:0] busy_q;  // bit 0: a GRANT is under way; bit 1: its step has come
  logic [Qps-1:0] request;
  class_t class_of;
  logic [7:0][Qps-1:0] of_class;  // QPs of each class; changes only with an OPEN

  always_comb begin
    for (int unsigned c = 0; c < 8; c++)
    for (int unsigned q = 0; q < Qps; q++) of_class[c][q] = class_i[q] == class_t'(c);
  end

  always_comb begin
    request = '0;
    if (busy_q == '0 && owed_i != '0) begin
      for (int unsigned c = 0; c < 8; c++) if (!full_q[c]) request |= of_class[c];
      request &= owed_i;
    end
  end

  qp_picker #(
      .Qps(Qps)
  ) u_picker (
      .clk_i,
      .rst_i,
      .request_i(request),
      .valid_o  (grant_valid_o),
      .qp_o     (grant_qp_o),
      .ready_i  (grant_ready_i),
      .drop_i   (1'b0)
  );

  assign class_of = class_i[step_qp_i];

  always_comb begin
    full_d = full_q & ~pop_i;
    if (discard_i) for (int unsigned c = 0; c < 8; c++) if (qp_q[c] == discard_qp_i) full_d[c] = 1'b0;
    if (step_valid_i && response_valid_i) full_d[class_of] = 1'b1;
  end

  // Busy until the cycle after the step, because `owed_i` reflects the step only then.
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      full_q <= '0;
      busy_q <= '0;
    end else begin
      full_q    <= full_d;
      busy_q[0] <= (busy_q[0] && !step_valid_i) || (grant_valid_o && grant_ready_i);
      busy_q[1] <= step_valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_valid_i && response_valid_i) begin
      qp_q[class_of]       <= step_qp_i;
      response_q[class_of] <= response_i;
    end
  end

  assign head_o = full_q;
  assign head_qp_o = qp_q;
  assign head_response_o = response_q;
  assign idle_o = busy_q == '0 && !grant_valid_o && request == '0 && !step_valid_i && pop_i == '0 && !discard_i;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!(step_valid_i && response_valid_i) || !full_q[class_of])
      else $error("answer_scheduler: two answers of a class");
  end

endmodule
