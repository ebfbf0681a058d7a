// Answers of peers that wait for the requester, in order of arrival, and for each QP whether one of its own waits
// (`waits_o`), so that no timeout comes before an answer that is here.
//
// `waits_o` rises with the cycle after an answer went in, and falls two cycles after the QP's last one came out.
//
// Timing: all outputs are registers or depend on registers only.
module answer_queue
  import roce_pkg::*;
#(
    parameter  int unsigned Qps       = 64,
    parameter  int unsigned Depth     = 64,                // a power of two
    localparam int unsigned QpBits    = $clog2(Qps),
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic              valid_i,
    output logic              ready_o,
    input  logic [QpBits-1:0] qp_i,
    input  psn_t              psn_i,
    input  logic [       7:0] syndrome_i,

    output logic              valid_o,
    input  logic              ready_i,
    output logic [QpBits-1:0] qp_o,
    output psn_t              psn_o,
    output logic [       7:0] syndrome_o,

    output logic [CountBits-1:0] count_o,
    output logic [      Qps-1:0] waits_o,
    output logic                 idle_o
);

  logic push, pop;
  assign push = valid_i && ready_o;
  assign pop  = valid_o && ready_i;

  fifo #(
      .Width(QpBits + $bits(psn_t) + 8),
      .Depth(Depth)
  ) u_answers (
      .clk_i,
      .rst_i,
      .valid_i,
      .ready_o,
      .data_i({qp_i, psn_i, syndrome_i}),
      .valid_o,
      .ready_i,
      .data_o({qp_o, psn_o, syndrome_o}),
      .count_o
  );

  // Answers are numbered. The one that comes out is its QP's last one if no later number was noted for the QP.
  logic [CountBits-1:0] in_q, out_q, last, popped_number_q;
  logic popped_q, followed_q;  // an answer came out in the last cycle; another one of its QP went in then
  logic [QpBits-1:0] popped_qp_q;
  logic [Qps-1:0] waits_q, waits_d;

  ram_1r1w #(
      .Width(CountBits),
      .Depth(Qps)
  ) u_last (
      .clk_i,
      .write_i        (push),
      .write_address_i(qp_i),
      .data_i         (in_q),
      .read_i         (pop),
      .read_address_i (qp_o),
      .data_o         (last)
  );

  always_comb begin
    waits_d = waits_q;
    if (popped_q && !followed_q && last == popped_number_q) waits_d[popped_qp_q] = 1'b0;
    if (push) waits_d[qp_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_q     <= '0;
      out_q    <= '0;
      popped_q <= 1'b0;
      waits_q  <= '0;
    end else begin
      in_q     <= in_q + CountBits'(push);
      out_q    <= out_q + CountBits'(pop);
      popped_q <= pop;
      if (push || popped_q) waits_q <= waits_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pop) begin
      popped_qp_q     <= qp_o;
      popped_number_q <= out_q;
      followed_q      <= push && qp_i == qp_o;
    end
  end

  assign waits_o = waits_q;
  assign idle_o  = count_o == '0 && !popped_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!valid_o || waits_q[qp_o])
      else $error("answer_queue: an answer waits, and its QP does not");
  end

endmodule
