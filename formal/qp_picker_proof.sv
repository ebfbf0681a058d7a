// Proof of qp_picker: what is offered holds and was requested; while a QP requests, no other one is taken more than twice
// before it; a QP loses its turn only by being taken.
//
// Two arbitrary QPs are followed.
module qp_picker_proof #(
    parameter  int unsigned Qps    = 4,  // a power of two, so that every index is a QP
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic              clk_i,
    input logic [   Qps-1:0] request_i,
    input logic [   Qps-1:0] waits_i,
    input logic              ready_i,
    input logic              drop_i,
    input logic [QpBits-1:0] who_i,
    input logic [QpBits-1:0] other_i
);

  logic started_q = 1'b0;
  logic [QpBits-1:0] who_q, other_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      who_q   <= who_i;
      other_q <= (other_i == who_i) ? ~who_i : other_i;
    end
  end

  logic valid, ready, drop;
  logic [QpBits-1:0] qp;
  assign ready = ready_i;
  assign drop  = drop_i && !ready_i;

  qp_picker #(
      .Qps(Qps)
  ) u_dut (
      .clk_i,
      .rst_i  (!started_q),
      .request_i,
      .waits_i,
      .valid_o(valid),
      .qp_o   (qp),
      .ready_i(ready),
      .drop_i (drop)
  );

  logic taken, taken_who, taken_other;
  assign taken       = valid && ready;
  assign taken_who   = taken && qp == who_q;
  assign taken_other = taken && qp == other_q;

  // How often the other one was taken while the followed one requests
  logic [2:0] passed_q = '0;
  // State of the previous cycle
  logic held_q = 1'b0, had_q = 1'b0, taken_q = 1'b0, asked_q = 1'b0;
  logic [QpBits-1:0] qp_q;
  always_ff @(posedge clk_i) begin
    if (!started_q || !request_i[who_q] || taken_who) passed_q <= '0;
    else if (taken_other) passed_q <= passed_q + 1'b1;
    held_q  <= started_q && valid && !ready && !drop;
    qp_q    <= qp;
    had_q   <= started_q && u_dut.had_q[who_q];
    taken_q <= started_q && taken_who;
    asked_q <= started_q && (request_i[who_q] || waits_i[who_q]);
  end

  always_comb begin
    if (started_q) begin
      a_hold : assert (!held_q || (valid && qp == qp_q));
      a_turn : assert (!valid || !u_dut.had_q[qp]);
      a_kept : assert (!u_dut.had_q[who_q] || had_q || taken_q);
      a_round : assert (!had_q || u_dut.had_q[who_q] || asked_q);
      a_first : assert (passed_q != 3'd1 || !u_dut.had_q[who_q] || u_dut.had_q[other_q]);
      a_second : assert (passed_q != 3'd2 || (!u_dut.had_q[who_q] && u_dut.had_q[other_q]));
      a_passed : assert (passed_q <= 3'd2);
    end
  end

endmodule
