// Proof of answer_queue: a QP waits exactly while an answer of it is in the queue, and for one cycle more.
//
// An arbitrary QP is followed.
module answer_queue_proof
  import roce_pkg::*;
#(
    parameter  int unsigned Qps    = 4,          // a power of two, so that every index is a QP
    localparam int unsigned Depth  = 4,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic              clk_i,
    input logic              valid_i,
    input logic [QpBits-1:0] qp_i,
    input logic              ready_i,
    input logic [QpBits-1:0] who_i
);

  logic started_q = 1'b0;
  logic [QpBits-1:0] who_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) who_q <= who_i;
  end

  logic ready, valid, unused_idle;
  logic [QpBits-1:0] qp;
  psn_t unused_psn;
  logic [7:0] unused_syndrome;
  logic [$clog2(Depth+1)-1:0] unused_count;
  logic [Qps-1:0] waits;

  answer_queue #(
      .Qps  (Qps),
      .Depth(Depth)
  ) u_dut (
      .clk_i,
      .rst_i     (!started_q),
      .valid_i,
      .ready_o   (ready),
      .qp_i,
      .psn_i     ('0),
      .syndrome_i('0),
      .valid_o   (valid),
      .ready_i,
      .qp_o      (qp),
      .psn_o     (unused_psn),
      .syndrome_o(unused_syndrome),
      .count_o   (unused_count),
      .waits_o   (waits),
      .idle_o    (unused_idle)
  );

  // Answers of the QP that went in and have not come out, and those of the cycle before
  logic [2:0] inside_q = '0, before_q = '0;
  logic in, out;
  assign in  = valid_i && ready && qp_i == who_q;
  assign out = valid && ready_i && qp == who_q;

  always_ff @(posedge clk_i) begin
    if (!started_q) {inside_q, before_q} <= '0;
    else begin
      inside_q <= inside_q + 3'(in) - 3'(out);
      before_q <= inside_q;
    end
  end

  always_comb begin
    if (started_q) begin
      a_waits : assert (inside_q == '0 || waits[who_q]);
      a_rests : assert (!waits[who_q] || inside_q != '0 || before_q != '0);
    end
  end

endmodule
