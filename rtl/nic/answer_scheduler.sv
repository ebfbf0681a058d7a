// Answer arbiter: sends GRANTs to the responder for QPs that owe an answer, and holds two answers of each class until
// they are sent. A paused class does not block the others, and one answer is here while another one is sent.
//
// A GRANT that was offered and that has to wait after all (`grant_drop_i`) is replaced by that of another QP.
//
// GRANTs of several QPs are under way at a time, of a QP one at most, and of a class no more than it has room for. What
// a QP comes to owe meanwhile waits for its next GRANT.
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
    input  logic              grant_drop_i,   // not with `grant_ready_i`

    input logic                   step_valid_i,      // step of a GRANT
    input logic      [QpBits-1:0] step_qp_i,
    input logic                   response_valid_i,
    input response_t              response_i,

    output logic      [7:0]             head_o,
    output logic      [7:0][QpBits-1:0] head_qp_o,
    output response_t [7:0]             head_response_o,
    input  logic      [7:0]             pop_i,            // at most one bit
    output logic      [7:0]             coming_o,         // an answer of the class is about to come

    output logic idle_o
);

  // What a class holds, the older answer first
  logic [7:0][1:0] held_q, held_d;
  logic [7:0][1:0][QpBits-1:0] qp_q;
  response_t [7:0][1:0] response_q;

  logic [7:0][1:0] granted_q;  // number of GRANTs of a class that are under way
  logic [Qps-1:0] locked_q, locked_d;  // QPs with a GRANT under way
  logic [Qps-1:0] request;
  logic [7:0] room;
  logic take, comes;
  class_t class_of;
  logic [7:0][Qps-1:0] of_class;  // QPs of each class; changes only with an OPEN

  always_comb begin
    for (int unsigned c = 0; c < 8; c++)
    for (int unsigned q = 0; q < Qps; q++) of_class[c][q] = class_i[q] == class_t'(c);
  end

  always_comb begin
    for (int unsigned c = 0; c < 8; c++)
    room[c] = granted_q[c] == '0 ? !held_q[c][1] : granted_q[c] == 2'd1 && !held_q[c][0];
  end

  always_comb begin
    request = '0;
    if (owed_i != '0) begin
      for (int unsigned c = 0; c < 8; c++) if (room[c]) request |= of_class[c];
      request &= owed_i & ~locked_q;
    end
  end

  qp_picker #(
      .Qps(Qps)
  ) u_picker (
      .clk_i,
      .rst_i,
      .request_i(request),
      .waits_i  ('0),
      .valid_o  (grant_valid_o),
      .qp_o     (grant_qp_o),
      .ready_i  (grant_ready_i),
      .drop_i   (grant_drop_i)
  );

  assign take     = grant_valid_o && grant_ready_i;
  assign class_of = class_i[step_qp_i];
  assign comes    = step_valid_i && response_valid_i;

  // `owed_i` reflects a step from the cycle after it on.
  always_comb begin
    locked_d = locked_q;
    if (step_valid_i) locked_d[step_qp_i] = 1'b0;
    if (take) locked_d[grant_qp_o] = 1'b1;
  end

  for (genvar c = 0; c < 8; c++) begin : gen_class
    logic granted, stepped, put;
    logic [1:0] stays;
    assign granted = take && class_i[grant_qp_o] == class_t'(c);
    assign stepped = step_valid_i && class_of == class_t'(c);
    assign put     = stepped && response_valid_i;

    always_comb begin
      for (int unsigned i = 0; i < 2; i++) stays[i] = held_q[c][i] && !(discard_i && qp_q[c][i] == discard_qp_i);
      if (pop_i[c]) stays[0] = 1'b0;
      held_d[c] = put ? {stays != '0, 1'b1} : {stays == 2'b11, stays != '0};
    end

    always_ff @(posedge clk_i) begin
      if (held_q[c][1] && !stays[0]) {qp_q[c][0], response_q[c][0]} <= {qp_q[c][1], response_q[c][1]};
      if (put && stays == '0) {qp_q[c][0], response_q[c][0]} <= {step_qp_i, response_i};
      if (put && stays != '0) {qp_q[c][1], response_q[c][1]} <= {step_qp_i, response_i};
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) granted_q[c] <= '0;
      else granted_q[c] <= granted_q[c] + 2'(granted) - 2'(stepped);
    end

    assign head_o[c]          = held_q[c][0];
    assign head_qp_o[c]       = qp_q[c][0];
    assign head_response_o[c] = response_q[c][0];
    assign coming_o[c]        = granted_q[c] != '0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held_q   <= '0;
      locked_q <= '0;
    end else begin
      held_q   <= held_d;
      locked_q <= locked_d;
    end
  end

  assign idle_o = locked_q == '0 && !grant_valid_o && request == '0 && !step_valid_i && pop_i == '0 && !discard_i;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!comes || held_q[class_of] != 2'b11)
      else $error("answer_scheduler: an answer that has no room");
      assert (!step_valid_i || granted_q[class_of] != '0)
      else $error("answer_scheduler: a step that nothing was granted for");
    end
  end

endmodule
