// Notification point: decides which CE-marked packets are answered with a CNP. rtl/dcqcn/README.md is the contract.
//
// - Throughput: one event per cycle, also of the same QP. The context is written in the cycle after the event; an
//   event directly behind gets it forwarded from a register.
// - Latency: an event taken in cycle n gives its CNP in n + 2, using `now_i` and `interval_i` of n.
// - No back-pressure: `event_ready_o` is 0 only while reset clears the RAM.
// - The time of the last CNP is compared with now − interval, which is formed one stage earlier, so that each stage
//   has only one comparison.
//
// Timing: `idle_o` depends on `event_valid_i` of the same cycle; all other outputs are registers. `wake_o` is
// constant, because the unit has no deadline.
module dcqcn_np
  import time_pkg::*;
#(
    parameter  int unsigned Qps    = 64,          // 2 to 1,024
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic          clk_i,
    input logic          rst_i,
    input cycle_t        now_i,
    input logic   [31:0] interval_i, // cycles between two CNPs of a QP; 0: one for every marked packet

    input  logic              event_valid_i,
    input  logic              event_open_i,   // 1: OPEN, 0: MARKED
    input  logic [QpBits-1:0] event_qp_i,
    output logic              event_ready_o,

    output logic              cnp_valid_o,
    output logic [QpBits-1:0] cnp_qp_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  typedef struct packed {
    logic   sent;
    cycle_t last;
  } np_context_t;

  logic clear;
  logic [QpBits-1:0] clear_qp;

  ram_clear #(
      .Depth(Qps)
  ) u_clear (
      .clk_i,
      .rst_i,
      .valid_o  (clear),
      .address_o(clear_qp)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 1: the event is taken, the context is read

  logic take;
  logic valid_q, open_q, forward_q;
  logic [QpBits-1:0] qp_q;
  cycle_t now_q;
  logic [48:0] latest;  // now − interval: a CNP sent by then is long enough ago; may be negative
  logic [48:0] latest_q;

  assign event_ready_o = !clear;
  assign take          = event_valid_i && event_ready_o;
  assign latest        = {1'b0, now_i} - 49'(interval_i);

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= take;
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      open_q    <= event_open_i;
      qp_q      <= event_qp_i;
      now_q     <= now_i;
      latest_q  <= latest;
      forward_q <= valid_q && qp_q == event_qp_i;  // the RAM's word is older than the one written now
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 2: decision, the context is written

  np_context_t read, was, is, is_q;
  logic [$bits(np_context_t)-1:0] read_bits;
  logic cnp, cnp_q;
  logic [QpBits-1:0] cnp_qp_q;

  assign read = read_bits;
  assign was  = forward_q ? is_q : read;
  assign cnp  = valid_q && !open_q && (!was.sent || (!latest_q[48] && was.last <= latest_q[47:0]));

  always_comb begin
    is = was;
    if (open_q) is = '0;
    else if (cnp) is = '{sent: 1'b1, last: now_q};
  end

  ram_1r1w #(
      .Width($bits(np_context_t)),
      .Depth(Qps)
  ) u_contexts (
      .clk_i,
      .write_i        (clear || valid_q),
      .write_address_i(clear ? clear_qp : qp_q),
      .data_i         (clear ? '0 : is),
      .read_i         (take),
      .read_address_i (event_qp_i),
      .data_o         (read_bits)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) cnp_q <= 1'b0;
    else cnp_q <= cnp;
  end

  always_ff @(posedge clk_i) begin
    if (valid_q) begin
      is_q     <= is;
      cnp_qp_q <= qp_q;
    end
  end

  assign cnp_valid_o = cnp_q;
  assign cnp_qp_o    = cnp_qp_q;
  assign idle_o      = !clear && !event_valid_i && !valid_q && !cnp_q;
  assign wake_o      = Never;

  always_ff @(posedge clk_i) begin
    if (!rst_i && valid_q) begin
      assert (!was.sent || was.last <= now_q)
      else $error("dcqcn_np: a CNP in the future");
      assert (open_q || is.sent)
      else $error("dcqcn_np: a marked packet and no CNP, now or before");
    end
  end

endmodule
