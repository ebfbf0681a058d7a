// Proof of answer_scheduler: an answer is held unchanged until it is sent or its QP is discarded; after the discard it
// is not offered, whatever is held for other QPs; one GRANT is under way at a time, and there is room for its answer.
//
// An arbitrary class is followed. A GRANT's step comes once, for the QP that was granted; the class of a QP changes
// only while it is closed, and holds here. Of an answer, the PSN stands for all of its fields.
module answer_scheduler_proof
  import roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps    = 4,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic                clk_i,
    input logic   [   Qps-1:0] owed_i,
    input class_t [   Qps-1:0] class_i,
    input logic                discard_i,
    input logic   [QpBits-1:0] discard_qp_i,
    input logic                grant_ready_i,
    input logic                step_i,
    input logic                response_valid_i,
    input psn_t                psn_i,
    input logic   [       7:0] pop_i,
    input class_t              which_i
);

  logic started_q = 1'b0;
  class_t which_q;
  class_t [Qps-1:0] class_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      which_q <= which_i;
      class_q <= class_i;
    end
  end

  logic grant_valid, step_valid, unused_idle;
  logic [QpBits-1:0] grant_qp;
  logic [7:0] head, pop;
  logic [7:0][QpBits-1:0] head_qp;
  response_t [7:0] head_response;
  response_t response;

  // A GRANT under way, and its QP
  logic granted_q = 1'b0;
  logic [QpBits-1:0] granted_qp_q;
  assign step_valid = step_i && granted_q;
  assign pop        = pop_i & head & (~pop_i + 1'b1);

  always_comb begin
    response     = '0;
    response.psn = psn_i;
  end

  answer_scheduler #(
      .Qps(Qps)
  ) u_dut (
      .clk_i,
      .rst_i          (!started_q),
      .owed_i,
      .class_i        (class_q),
      .discard_i,
      .discard_qp_i,
      .grant_valid_o  (grant_valid),
      .grant_qp_o     (grant_qp),
      .grant_ready_i,
      .step_valid_i   (step_valid),
      .step_qp_i      (granted_qp_q),
      .response_valid_i,
      .response_i     (response),
      .head_o         (head),
      .head_qp_o      (head_qp),
      .head_response_o(head_response),
      .pop_i          (pop),
      .idle_o         (unused_idle)
  );

  // The answer that the class should hold
  logic held_q = 1'b0, comes, goes, discarded_q = 1'b0;
  logic [QpBits-1:0] qp_q, discard_qp_q;
  psn_t psn_q;
  assign comes = step_valid && response_valid_i && class_q[granted_qp_q] == which_q;
  assign goes  = pop[which_q] || (discard_i && discard_qp_i == qp_q);

  always_ff @(posedge clk_i) begin
    granted_q <= started_q && ((granted_q && !step_valid) || (grant_valid && grant_ready_i));
    if (grant_valid && grant_ready_i) granted_qp_q <= grant_qp;
    held_q <= started_q && (comes || (held_q && !goes));
    if (comes) {qp_q, psn_q} <= {granted_qp_q, psn_i};
    discarded_q  <= started_q && discard_i && !(comes && granted_qp_q == discard_qp_i);
    discard_qp_q <= discard_qp_i;
  end

  always_comb begin
    if (started_q) begin
      a_grant : assert (u_dut.busy_q[0] == granted_q && !(grant_valid && u_dut.busy_q != '0) && u_dut.busy_q != 2'b11);
      a_room : assert (!(grant_valid && head[class_q[grant_qp]]) && !(granted_q && head[class_q[granted_qp_q]]));
      a_kept : assert (head[which_q] == held_q);
      a_answer : assert (!held_q || (head_qp[which_q] == qp_q && head_response[which_q].psn == psn_q));
      a_discarded : assert (!(discarded_q && head[which_q] && head_qp[which_q] == discard_qp_q));
    end
  end

endmodule
