// Proof of answer_scheduler: an answer is held unchanged until it is sent or its QP is discarded, behind those of its
// class that came before it; after the discard none of the QP is offered, whatever is held for other QPs; a QP has one
// GRANT under way at most, and there is room for the answer of each GRANT.
//
// An arbitrary class is followed. A GRANT's step comes once, for a QP that was granted, in the order of grants; the
// class of a QP changes only while it is closed, and holds here. Of an answer, the PSN stands for all of its fields.
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
    input logic                grant_drop_i,
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
  logic [QpBits-1:0] grant_qp, step_qp;
  logic [7:0] head, pop, unused_coming;
  logic [7:0][QpBits-1:0] head_qp;
  response_t [7:0] head_response;
  response_t response;

  // QPs of the GRANTs that are under way, the oldest first: three, as the pipeline of the responder has room for
  logic [2:0] granted_q = '0;
  logic [2:0][QpBits-1:0] granted_qp_q;
  logic take;
  assign take       = grant_valid && grant_ready_i && !grant_drop_i && !granted_q[2];
  assign step_valid = step_i && granted_q[0];
  assign step_qp    = granted_qp_q[0];
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
      .grant_ready_i  (grant_ready_i && !grant_drop_i && !granted_q[2]),
      .grant_drop_i,
      .step_valid_i   (step_valid),
      .step_qp_i      (step_qp),
      .response_valid_i,
      .response_i     (response),
      .head_o         (head),
      .head_qp_o      (head_qp),
      .head_response_o(head_response),
      .pop_i          (pop),
      .coming_o       (unused_coming),
      .idle_o         (unused_idle)
  );

  // The answers that the class should hold, the older one first
  logic [1:0] held_q = '0;
  logic comes, discarded_q = 1'b0;
  logic [1:0] stays;
  logic [1:0][QpBits-1:0] qp_q;
  logic [QpBits-1:0] discard_qp_q;
  psn_t [1:0] psn_q;
  assign comes    = step_valid && response_valid_i && class_q[step_qp] == which_q;
  assign stays[0] = held_q[0] && !pop[which_q] && !(discard_i && discard_qp_i == qp_q[0]);
  assign stays[1] = held_q[1] && !(discard_i && discard_qp_i == qp_q[1]);

  always_ff @(posedge clk_i) begin
    if (take) begin
      if (!granted_q[0] || (step_valid && !granted_q[1])) granted_qp_q[0] <= grant_qp;
      else if (!granted_q[1] || (step_valid && !granted_q[2])) granted_qp_q[1] <= grant_qp;
      else granted_qp_q[2] <= grant_qp;
    end
    if (step_valid && granted_q[1]) granted_qp_q[0] <= granted_qp_q[1];
    if (step_valid && granted_q[2]) granted_qp_q[1] <= granted_qp_q[2];
    if (started_q) granted_q <= step_valid ? {1'b0, granted_q[2:1]} | ({2'b0, take} << $countones(granted_q[2:1])) :
        granted_q | ({2'b0, take} << $countones(granted_q));

    held_q <= '0;
    if (started_q) begin
      held_q <= {stays == 2'b11 || (comes && stays != '0), stays != '0 || comes};
      if (!stays[0]) {qp_q[0], psn_q[0]} <= {qp_q[1], psn_q[1]};
      if (comes && stays == '0) {qp_q[0], psn_q[0]} <= {step_qp, psn_i};
      if (comes && stays != '0) {qp_q[1], psn_q[1]} <= {step_qp, psn_i};
    end
    discarded_q  <= started_q && discard_i && !(comes && step_qp == discard_qp_i);
    discard_qp_q <= discard_qp_i;
  end

  // QPs that have a GRANT under way; classes with the right number of them, with room for their answers and the next,
  // and with no younger answer alone
  logic [Qps-1:0] locked;
  logic [7:0] counted, roomy, ordered;
  always_comb begin
    logic [2:0] granted;
    locked = '0;
    for (int unsigned g = 0; g < 3; g++) if (granted_q[g]) locked[granted_qp_q[g]] = 1'b1;
    for (int unsigned c = 0; c < 8; c++) begin
      granted = '0;
      for (int unsigned g = 0; g < 3; g++)
      granted += 3'(granted_q[g] && class_q[granted_qp_q[g]] == class_t'(c));
      counted[c] = 3'(u_dut.granted_q[c]) == granted;
      roomy[c] = granted + 3'($countones(u_dut.held_q[c])) + 3'(grant_valid && class_q[grant_qp] == class_t'(c)) <= 3'd2;
      ordered[c] = u_dut.held_q[c] != 2'b10;
    end
  end

  always_comb begin
    if (started_q) begin
      a_one :
      assert (granted_q inside {3'b000, 3'b001, 3'b011, 3'b111} && u_dut.locked_q == locked &&
              4'($countones(locked)) == 4'($countones(granted_q)));
      a_grant : assert (!(grant_valid && locked[grant_qp]));
      a_count : assert (counted == '1);
      a_room : assert (roomy == '1);
      a_kept : assert (head[which_q] == held_q[0] && u_dut.held_q[which_q][1] == held_q[1] && ordered == '1);
      a_answer : assert (!held_q[0] || (head_qp[which_q] == qp_q[0] && head_response[which_q].psn == psn_q[0]));
      a_second :
      assert (!held_q[1] || (u_dut.qp_q[which_q][1] == qp_q[1] && u_dut.response_q[which_q][1].psn == psn_q[1]));
      a_discarded : assert (!(discarded_q && head[which_q] && head_qp[which_q] == discard_qp_q));
    end
  end

endmodule
