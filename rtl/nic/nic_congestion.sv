// Congestion control of the NIC: CNPs that came in slow their QP down, CE marks make CNPs, and the limiter says which
// QPs may send. rtl/dcqcn/README.md is the contract of the units.
//
//     CNPs, bytes sent ─► dcqcn_rp ─► rate_limiter ─► eligible_o
//     CE marks ─────────► dcqcn_np ─► CNPs to be sent
//
// - CNPs wait in sets of QPs, so that several CNPs of one QP become one, and none waits for another QP's.
// - CE marks have priority over OPENs because they cannot wait.
//
// Timing: readies depend on the valids of the same cycle, `eligible_o` and the outputs for charts on registers only,
// `idle_o` on the inputs of the same cycle.
module nic_congestion
  import dcqcn_pkg::*, time_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps      = 64,
    parameter  int unsigned PeriodPs = 5120,
    localparam int unsigned QpBits   = $clog2(Qps)
) (
    input logic   clk_i,
    input logic   rst_i,
    input cycle_t now_i,

    input nic_settings_t settings_i,

    input  logic              command_open_i,
    input  logic [QpBits-1:0] command_qp_i,
    input  logic              rp_command_valid_i,
    output logic              rp_command_ready_o,
    input  logic              np_command_valid_i,  // OPEN only
    output logic              np_command_ready_o,
    input  logic              discard_i,           // discard what waits of a closed QP

    // Received frames
    input logic              cnp_in_i,
    input logic              mark_i,    // a request has a CE mark
    input logic [QpBits-1:0] qp_in_i,

    // Packets sent: to the limiter, and as bytes to the reaction point
    input  class_t [   Qps-1:0] class_i,
    input  logic   [       7:0] paused_i,
    input  logic                sent_valid_i,
    output logic                sent_ready_o,
    input  logic                bytes_valid_i,
    output logic                bytes_ready_o,
    input  logic   [QpBits-1:0] sent_qp_i,
    input  logic   [      15:0] sent_bytes_i,
    output logic   [   Qps-1:0] eligible_o,
    output logic   [   Qps-1:0] limited_o,      // QPs that are slowed down

    // CNPs to be sent
    output logic              cnp_valid_o,
    output logic [QpBits-1:0] cnp_qp_o,
    input  logic              cnp_ready_i,

    // For waves and charts: the state of a QP after a step
    output logic              rate_valid_o,
    output logic [QpBits-1:0] rate_qp_o,
    output logic [      31:0] rate_o,
    output logic              rate_limited_o,
    output logic [      24:0] alpha_o,

    output logic   idle_o,
    output cycle_t wake_o
);

  logic clk_dcqcn;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Reaction point: commands, CNPs and bytes take turns

  typedef enum logic [1:0] {
    FromCommand = 2'd0,
    FromCnp     = 2'd1,
    FromBytes   = 2'd2
  } from_e;

  logic [2:0] rp_wish, rp_grant;
  logic [1:0] rp_from;
  logic rp_valid, rp_ready;
  logic [1:0] rp_kind;
  logic [QpBits-1:0] rp_qp;

  logic cnp_in, cnp_in_valid, cnp_in_ready, cnps_in_idle;
  logic [QpBits-1:0] cnp_in_qp;

  assign cnp_in = cnp_in_i && settings_i.dcqcn_on;

  logic [Qps-1:0] unused_cnps_in;

  qp_set #(
      .Qps(Qps)
  ) u_cnps_in (
      .clk_i     (clk_dcqcn),
      .rst_i,
      .add_i     (cnp_in),
      .add_qp_i  (qp_in_i),
      .clear_i   (discard_i),
      .clear_qp_i(command_qp_i),
      .valid_o   (cnp_in_valid),
      .qp_o      (cnp_in_qp),
      .ready_i   (cnp_in_ready),
      .waits_o   (unused_cnps_in),
      .idle_o    (cnps_in_idle)
  );

  assign rp_wish[FromCommand] = rp_command_valid_i;
  assign rp_wish[FromCnp]     = cnp_in_valid;
  assign rp_wish[FromBytes]   = bytes_valid_i;

  // The reaction point takes no event of a QP that is in its pipeline. A source that was refused for two cycles is
  // masked in the third, so that the events of one QP do not block those of other QPs.
  logic refused_q, unused_rp_moves;
  logic [2:0] pass_q, rp_request;

  assign rp_request = ((rp_wish & ~pass_q) != '0) ? rp_wish & ~pass_q : rp_wish;

  always_ff @(posedge clk_dcqcn) begin
    if (rst_i) begin
      refused_q <= 1'b0;
      pass_q    <= '0;
    end else begin
      refused_q <= rp_valid && !rp_ready && !refused_q;
      pass_q    <= (rp_valid && !rp_ready && refused_q) ? rp_grant : '0;
    end
  end

  round_robin_arbiter #(
      .Count(3)
  ) u_rp_turn (
      .clk_i    (clk_dcqcn),
      .rst_i,
      .request_i(rp_request),
      .valid_o  (rp_valid),
      .grant_o  (rp_grant),
      .index_o  (rp_from),
      .ready_i  (rp_ready),
      .moves_o  (unused_rp_moves)
  );

  always_comb begin
    case (from_e'(rp_from))
      FromCommand: {rp_kind, rp_qp} = {command_open_i ? RpOpen[1:0] : RpClose[1:0], command_qp_i};
      FromCnp:     {rp_kind, rp_qp} = {RpCnp[1:0], cnp_in_qp};
      default:     {rp_kind, rp_qp} = {RpBytes[1:0], sent_qp_i};
    endcase
  end

  assign rp_command_ready_o = rp_grant[FromCommand] && rp_ready;
  assign cnp_in_ready       = rp_grant[FromCnp] && rp_ready;
  assign bytes_ready_o      = rp_grant[FromBytes] && rp_ready;

  rp_params_t rp_params;
  logic rp_step, rp_rate, rp_idle;
  logic [QpBits-1:0] rp_step_qp;
  rp_context_t rp_context;
  rp_kind_e rp_step_kind;
  cycle_t unused_rp_now, rp_wake;
  logic [15:0] unused_rp_bytes;

  assign rp_params = '{
          rate_max: settings_i.rate_max,
          rate_min: settings_i.rate_min,
          rate_ai: settings_i.rate_ai,
          rate_hai: settings_i.rate_hai,
          g: settings_i.g,
          alpha_time: settings_i.alpha_time,
          rate_time: settings_i.rate_time,
          byte_limit: settings_i.byte_limit,
          stages: settings_i.stages
      };

  dcqcn_rp #(
      .Qps(Qps)
  ) u_rp (
      .clk_i         (clk_dcqcn),
      .rst_i,
      .now_i,
      .params_i      (rp_params),
      .event_valid_i (rp_valid),
      .event_kind_i  (rp_kind),
      .event_qp_i    (rp_qp),
      .event_bytes_i (sent_bytes_i),
      .event_ready_o (rp_ready),
      .step_valid_o  (rp_step),
      .step_kind_o   (rp_step_kind),
      .step_qp_o     (rp_step_qp),
      .step_now_o    (unused_rp_now),
      .step_bytes_o  (unused_rp_bytes),
      .step_context_o(rp_context),
      .rate_valid_o  (rp_rate),
      .idle_o        (rp_idle),
      .wake_o        (rp_wake)
  );

  logic unused_rp_context;
  assign unused_rp_context = ^rp_context;

  // A CNP or a timer may change α without changing the rate.
  assign rate_valid_o      = rp_step && (rp_rate || (rp_context.open && rp_step_kind inside {RpCnp, RpTimer}));
  assign rate_qp_o         = rp_step_qp;
  assign rate_o            = rp_context.rate_current;
  assign rate_limited_o    = rp_context.limited;
  assign alpha_o           = rp_context.alpha;

  logic [Qps-1:0] limited_q;

  always_ff @(posedge clk_dcqcn) begin
    if (rst_i) limited_q <= '0;
    else if (rp_rate) limited_q[rp_step_qp] <= rp_context.limited;
  end

  assign limited_o = limited_q;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Limiter

  logic fresh, fresh_idle, limiter_idle;
  logic unused_update_ready, unused_gap_valid, unused_gap_limited;
  logic [QpBits-1:0] unused_gap_qp;
  logic [31:0] unused_gap;
  cycle_t limiter_wake;

  resumed_classes u_resumed (
      .clk_i   (clk_dcqcn),
      .rst_i,
      .now_i,
      .window_i(settings_i.limiter_burst),
      .paused_i,
      .class_i (class_i[sent_qp_i]),
      .fresh_o (fresh),
      .idle_o  (fresh_idle)
  );

  rate_limiter #(
      .Qps     (Qps),
      .PeriodPs(PeriodPs)
  ) u_limiter (
      .clk_i(clk_dcqcn),
      .rst_i,
      .now_i,
      .update_valid_i(rp_step && rp_rate),
      .update_qp_i(rp_step_qp),
      .update_rate_i(rp_context.rate_current),
      .update_limited_i(rp_context.limited),
      .update_ready_o(unused_update_ready),  // no step comes while reset clears both
      .sent_valid_i,
      .sent_qp_i,
      .sent_bytes_i,
      .sent_ready_o,
      .burst_i(fresh ? 16'd0 : settings_i.limiter_burst),
      .eligible_o,
      .gap_valid_o(unused_gap_valid),
      .gap_qp_o(unused_gap_qp),
      .gap_o(unused_gap),
      .gap_limited_o(unused_gap_limited),
      .idle_o(limiter_idle),
      .wake_o(limiter_wake)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Notification point

  logic mark, np_ready, np_cnp, np_idle, cnps_idle;
  logic [QpBits-1:0] np_cnp_qp;
  cycle_t np_wake;

  assign mark               = mark_i && settings_i.dcqcn_on;
  assign np_command_ready_o = np_ready && !mark;

  dcqcn_np #(
      .Qps(Qps)
  ) u_np (
      .clk_i        (clk_dcqcn),
      .rst_i,
      .now_i,
      .interval_i   (settings_i.cnp_interval),
      .event_valid_i(mark || np_command_valid_i),
      .event_open_i (!mark),
      .event_qp_i   (mark ? qp_in_i : command_qp_i),
      .event_ready_o(np_ready),
      .cnp_valid_o  (np_cnp),
      .cnp_qp_o     (np_cnp_qp),
      .idle_o       (np_idle),
      .wake_o       (np_wake)
  );

  logic [Qps-1:0] unused_cnps;

  qp_set #(
      .Qps(Qps)
  ) u_cnps (
      .clk_i     (clk_dcqcn),
      .rst_i,
      .add_i     (np_cnp),
      .add_qp_i  (np_cnp_qp),
      .clear_i   (discard_i),
      .clear_qp_i(command_qp_i),
      .valid_o   (cnp_valid_o),
      .qp_o      (cnp_qp_o),
      .ready_i   (cnp_ready_i),
      .waits_o   (unused_cnps),
      .idle_o    (cnps_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////

  assign idle_o = cnps_in_idle && rp_wish == '0 && !refused_q && pass_q == '0 && rp_idle && fresh_idle && limiter_idle &&
      np_idle && cnps_idle;

  logic unused_wake_valid;

  earliest #(
      .Count(3)
  ) u_wake (
      .valid_i('1),
      .at_i   ({limiter_wake, rp_wake, np_wake}),
      .valid_o(unused_wake_valid),
      .at_o   (wake_o)
  );

  clock_gate u_clk_dcqcn (
      .clk_i,
      .enable_i(rst_i || !idle_o),
      .clk_o   (clk_dcqcn)
  );

  logic unused_settings;
  assign unused_settings = ^settings_i;

endmodule
