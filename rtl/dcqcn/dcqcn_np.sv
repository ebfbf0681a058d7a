// Notification point: decides which CE-marked packets are answered with a CNP. rtl/dcqcn/README.md is the contract.
//
// - Throughput: one event per cycle, also of the same QP. The context is written in the cycle after the event; an
//   event directly behind gets it forwarded from a register.
// - Latency: an event taken in cycle n gives its CNP in n + 2, using `now_i` and `interval_i` of n.
// - No back-pressure: `event_ready_o` is 0 only while reset clears the RAM.
// - The time of the last CNP is compared with now − interval, which is formed one stage earlier, so that each stage
//   has only one comparison.
// - Times wrap. Every 2^46 / Qps cycles one QP is visited in a cycle without an event, and its last CNP is forgotten if
//   the interval has passed since: so none becomes so old that it would seem to be in the future.
//
// Timing: `idle_o` depends on `event_valid_i` and `now_i` of the same cycle; all other outputs are registers.
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

  localparam cycle_t VisitPeriod = 48'd1 << (46 - QpBits);

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
  logic visit;  // instead of an event
  logic valid_q, open_q, visit_q, forward_q;
  logic [QpBits-1:0] qp, qp_q;
  cycle_t now_q;
  cycle_t latest, latest_q;  // now − interval: a CNP sent by then is long enough ago
  cycle_t visit_at_q;  // time of the next visit
  logic [QpBits-1:0] visit_qp_q;
  logic visit_due;

  assign event_ready_o = !clear;
  assign take          = event_valid_i && event_ready_o;
  assign visit_due     = !earlier(now_i, visit_at_q);
  assign visit         = visit_due && !clear && !event_valid_i;
  assign latest        = now_i - 48'(interval_i);
  assign qp            = visit ? visit_qp_q : event_qp_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= 1'b0;
    else valid_q <= take || visit;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      visit_at_q <= now_i + VisitPeriod;
      visit_qp_q <= '0;
    end else if (visit) begin
      visit_at_q <= now_i + VisitPeriod;
      visit_qp_q <= (32'(visit_qp_q) == Qps - 1) ? '0 : visit_qp_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take || visit) begin
      open_q    <= event_open_i && take;
      visit_q   <= visit;
      qp_q      <= qp;
      now_q     <= now_i;
      latest_q  <= latest;
      forward_q <= valid_q && qp_q == qp;  // the RAM's word is older than the one written now
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 2: decision, the context is written

  np_context_t read, was, is, is_q;
  logic [$bits(np_context_t)-1:0] read_bits;
  logic passed, cnp, cnp_q;
  logic [QpBits-1:0] cnp_qp_q;

  assign read = read_bits;
  assign was = forward_q ? is_q : read;
  assign passed = !was.sent || !earlier(latest_q, was.last);
  assign cnp = valid_q && !open_q && !visit_q && passed;

  always_comb begin
    is = was;
    if (open_q || (visit_q && passed)) is = '0;
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
      .read_i         (take || visit),
      .read_address_i (qp),
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
  assign idle_o      = !clear && !event_valid_i && !visit_due && !valid_q && !cnp_q;
  assign wake_o      = visit_at_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i && valid_q) begin
      assert (!was.sent || !earlier(now_q, was.last))
      else $error("dcqcn_np: a CNP in the future");
      assert (open_q || visit_q || is.sent)
      else $error("dcqcn_np: a marked packet and no CNP, now or before");
    end
  end

endmodule
