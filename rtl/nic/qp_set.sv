// Set of QPs that wait for the same thing: one bit per QP, so that no QP is lost for want of room and none takes
// another's place. Adding a QP that already waits changes nothing.
//
// While `clear_i` is 1, `clear_qp_i` is neither in the set nor offered, even if it was being offered.
//
// Timing: `valid_o` depends on `clear_i` and `clear_qp_i`, `idle_o` on all inputs of the same cycle; `qp_o` and `waits_o`
// are registers.
module qp_set #(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic              add_i,
    input logic [QpBits-1:0] add_qp_i,
    input logic              clear_i,
    input logic [QpBits-1:0] clear_qp_i,

    output logic              valid_o,
    output logic [QpBits-1:0] qp_o,
    input  logic              ready_i,
    output logic [   Qps-1:0] waits_o,  // all that are in it

    output logic idle_o  // at most the offered QP waits
);

  logic [Qps-1:0] waiting_q, waiting_d;
  logic picked, gone;
  logic cleared_q;  // a QP was cleared in the last cycle
  logic [QpBits-1:0] cleared_qp_q;

  // A QP that is cleared in the cycle of its pick or later is not offered.
  assign gone    = (cleared_q && cleared_qp_q == qp_o) || (clear_i && clear_qp_i == qp_o);
  assign valid_o = picked && !gone;

  always_comb begin
    waiting_d = waiting_q;
    if (valid_o && ready_i) waiting_d[qp_o] = 1'b0;
    if (add_i) waiting_d[add_qp_i] = 1'b1;
    if (clear_i) waiting_d[clear_qp_i] = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      waiting_q <= '0;
      cleared_q <= 1'b0;
    end else begin
      waiting_q <= waiting_d;
      cleared_q <= clear_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (clear_i) cleared_qp_q <= clear_qp_i;
  end

  qp_picker #(
      .Qps(Qps)
  ) u_picker (
      .clk_i,
      .rst_i,
      .request_i(waiting_q),
      .waits_i('0),
      .valid_o(picked),
      .qp_o,
      .ready_i(ready_i || gone),
      .drop_i(1'b0)
  );

  assign waits_o = waiting_q;

  assign idle_o  = !add_i && !clear_i && !cleared_q && ((waiting_q == '0 && !picked) || (valid_o && !ready_i));

endmodule
