// State of a QP, for software that looks for an error: both units take a WALK from outside, which changes nothing and
// whose step shows the context. The words hold until the next query.
//
// Timing: all outputs are registers or depend on registers only.
module qp_query
  import gbn_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic              active_i,  // a query is being carried out
    input  logic [QpBits-1:0] qp_i,
    output logic              done_o,    // the words are those of the QP

    input logic                            requester_valid_i,    // not yet taken by the requester
    input logic                            requester_step_i,
    input logic               [QpBits-1:0] requester_qp_i,
    input requester_context_t              requester_context_i,
    input logic                            responder_valid_i,
    input logic                            responder_step_i,
    input logic               [QpBits-1:0] responder_qp_i,
    input responder_context_t              responder_context_i,

    output logic [6:0][31:0] words_o  // from register qp_states on
);

  logic requester_q, responder_q, requester, responder;  // the context has come
  logic [2:0][31:0] sends_q;
  logic [1:0][31:0] receives_q;
  logic [31:0] states_q, rings_q;

  assign requester = active_i && !requester_valid_i && !requester_q && requester_step_i && requester_qp_i == qp_i;
  assign responder = active_i && !responder_valid_i && !responder_q && responder_step_i && responder_qp_i == qp_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) {requester_q, responder_q} <= '0;
    else begin
      requester_q <= active_i && (requester_q || requester);
      responder_q <= active_i && (responder_q || responder);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) {states_q, rings_q, sends_q, receives_q} <= '0;
    else begin
      if (requester) begin
        states_q[9:0] <= {
          requester_context_i.timer_runs,
          requester_context_i.rnr_wait,
          requester_context_i.rnr_retries,
          requester_context_i.retries,
          requester_context_i.state
        };
        sends_q <= {
          32'(requester_context_i.post_psn), 32'(requester_context_i.next_psn), 32'(requester_context_i.una_psn)
        };
        rings_q[7:0] <= requester_context_i.head - requester_context_i.tail;
      end
      if (responder) begin
        states_q[29:16] <= {
          responder_context_i.syndrome,
          responder_context_i.owed,
          responder_context_i.silent,
          responder_context_i.under_way,
          responder_context_i.state
        };
        receives_q <= {32'(responder_context_i.msn), 32'(responder_context_i.expected_psn)};
        rings_q[15:8] <= responder_context_i.head - responder_context_i.tail;
      end
    end
  end

  assign done_o  = requester_q && responder_q;
  assign words_o = {rings_q, receives_q, sends_q, states_q};

  logic unused_contexts;
  assign unused_contexts = ^{requester_context_i, responder_context_i};

endmodule
