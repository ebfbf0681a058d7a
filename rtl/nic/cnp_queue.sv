// CNPs to be sent: a bit a QP, so that none is ever lost for want of room; two for a QP that wait become one.
//
// Timing: outputs are registers.
module cnp_queue #(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic              add_i,
    input logic [QpBits-1:0] add_qp_i,

    output logic              valid_o,
    output logic [QpBits-1:0] qp_o,
    input  logic              ready_i,

    output logic idle_o  // nothing waits but what is offered
);

  logic [Qps-1:0] waiting_q, waiting_d;

  always_comb begin
    waiting_d = waiting_q;
    if (valid_o && ready_i) waiting_d[qp_o] = 1'b0;
    if (add_i) waiting_d[add_qp_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) waiting_q <= '0;
    else waiting_q <= waiting_d;
  end

  qp_picker #(
      .Qps(Qps)
  ) u_picker (
      .clk_i,
      .rst_i,
      .request_i(waiting_q),
      .valid_o,
      .qp_o,
      .ready_i
  );

  assign idle_o = !add_i && (waiting_q == '0 || (valid_o && !ready_i));

endmodule
