// Picks one of the requesting QPs, round robin.
//
// A pick made in cycle n is offered from n + 1 on and held until taken or dropped, whatever its request does. After one
// that was taken, the next pick is made in the cycle after, so that it sees the requests as the grant has changed them.
//
// Timing: all outputs are registers.
module qp_picker #(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic [   Qps-1:0] request_i,
    output logic              valid_o,
    output logic [QpBits-1:0] qp_o,
    input  logic              ready_i,
    input  logic              drop_i      // the pick is replaced by another one, if there is a request
);

  logic valid_q, holds, some, unused_moves;
  logic [QpBits-1:0] qp_q, index;
  logic [Qps-1:0] unused_grant;

  assign holds = valid_q && !(drop_i && request_i != '0);

  round_robin_arbiter #(
      .Count(Qps)
  ) u_turn (
      .clk_i,
      .rst_i,
      .request_i(holds ? '0 : request_i),
      .valid_o  (some),
      .grant_o  (unused_grant),
      .index_o  (index),
      .ready_i  (1'b1),
      .moves_o  (unused_moves)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= holds ? !ready_i : some;
  end

  always_ff @(posedge clk_i) begin
    if (some) qp_q <= index;
  end

  assign valid_o = valid_q;
  assign qp_o    = qp_q;

endmodule
