// Proof of qp_set: a QP is offered only if it was added and neither taken nor cleared since; while it is cleared and
// afterwards it is not offered; none is lost; what is offered holds.
//
// An arbitrary QP is followed.
module qp_set_proof #(
    parameter  int unsigned Qps    = 4,  // a power of two, so that every index is a QP
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic              clk_i,
    input logic              add_i,
    input logic [QpBits-1:0] add_qp_i,
    input logic              clear_i,
    input logic [QpBits-1:0] clear_qp_i,
    input logic              ready_i,
    input logic [QpBits-1:0] who_i
);

  logic started_q = 1'b0;
  logic [QpBits-1:0] who_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) who_q <= who_i;
  end

  logic valid, unused_idle;
  logic [QpBits-1:0] qp;
  qp_set #(
      .Qps(Qps)
  ) u_dut (
      .clk_i,
      .rst_i  (!started_q),
      .add_i,
      .add_qp_i,
      .clear_i,
      .clear_qp_i,
      .valid_o(valid),
      .qp_o   (qp),
      .ready_i,
      .idle_o (unused_idle)
  );

  logic added, cleared, offered;
  assign added   = add_i && add_qp_i == who_q;
  assign cleared = clear_i && clear_qp_i == who_q;
  assign offered = valid && qp == who_q;

  // Whether the QP waits, by the contract; and whether it was cleared and not added since
  logic waits_q = 1'b0, gone_q = 1'b0;
  // State of the previous cycle
  logic waited_q = 1'b0;
  always_ff @(posedge clk_i) begin
    waits_q  <= started_q && !cleared && (added || (waits_q && !(offered && ready_i)));
    gone_q   <= started_q && (cleared || (gone_q && !added));
    waited_q <= started_q && offered && !ready_i;
  end

  always_comb begin
    if (started_q) begin
      a_waits : assert (u_dut.waiting_q[who_q] == waits_q);
      a_offer : assert (!offered || waits_q);
      a_cleared : assert (!(offered && cleared));
      a_gone : assert (!(offered && gone_q) && !(waits_q && gone_q));
      a_hold : assert (!waited_q || cleared || gone_q || offered);
    end
  end

endmodule
