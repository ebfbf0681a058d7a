// Carries out OPEN, CLOSE and queries of a QP. A query changes nothing: requester and responder show their contexts to
// qp_query. OPEN and CLOSE: writes its path, sends the command to the four units that keep a context
// (requester, responder, reaction point, notification point), and keeps the state that other units read: which QPs
// are open, and their classes.
//
// - A command is taken when `busy_o` is 0. Register window and index have to hold until `busy_o` is 0 again.
// - Meanwhile the QP is closed to packets: `open_o` falls with the command and rises when all units have taken OPEN.
// - The classes of open QPs share the transmit slots (`class_open_o`).
// - The class is that of the path's tag or DSCP, by the class maps at that time.
// - A QP that is open is closed first, also by OPEN: the units with a context take CLOSE, then `discard_o` holds
//   until nothing of the QP is left anywhere (`drained_i`). Only then is the path of OPEN written.
//
// Timing: all outputs are registers, or depend on registers and on the held window only.
module qp_commands
  import eth_pkg::*, gbn_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                       command_i,   // pulse
    input  logic                       open_i,      // 1: OPEN, 0: CLOSE
    input  logic                       query_i,     // neither
    input  logic          [QpBits-1:0] qp_i,
    input  nic_settings_t              settings_i,
    input  class_maps_t                maps_i,
    output logic                       busy_o,

    output logic               write_o,  // writes path and peer
    output logic  [QpBits-1:0] qp_o,
    output path_t              path_o,
    output peer_t              peer_o,

    output logic discard_o,  // discard whatever can be discarded of the QP
    input  logic drained_i,  // all that was present when `discard_o` rose is gone

    output logic              query_o,            // a query is being carried out
    input  logic              queried_i,          // the contexts have come
    output logic              kind_open_o,
    output logic              requester_valid_o,
    output requester_config_t requester_o,
    input  logic              requester_ready_i,
    output logic              responder_valid_o,
    output responder_config_t responder_o,
    input  logic              responder_ready_i,
    output logic              rp_valid_o,
    input  logic              rp_ready_i,
    output logic              np_valid_o,         // OPEN only
    input  logic              np_ready_i,

    output logic   [Qps-1:0] open_o,
    output class_t [Qps-1:0] class_o,         // of requests
    output class_t [Qps-1:0] answer_class_o,
    output logic   [Qps-1:0] tagged_o,        // the path of the QP has tags
    output logic   [    7:0] class_open_o     // classes of open QPs
);

  typedef struct packed {
    logic requester;
    logic responder;
    logic rp;
    logic np;
  } units_t;

  logic busy_q, write_q, kind_q, query_q;
  logic discard_q, reopen_q;  // discard_q: CLOSE, waiting for `drained_i`; reopen_q: OPEN follows
  logic close, closed, drained;
  units_t left_q, left;
  logic [QpBits-1:0] qp_q;
  logic [Qps-1:0] open_q;
  class_t [Qps-1:0] class_q, answer_class_q;
  logic [Qps-1:0] tagged_q;
  logic start, finish;
  logic changed_q;  // `open_q` changed in the last cycle

  always_comb begin
    left           = left_q;
    left.requester = left_q.requester && !requester_ready_i;
    left.responder = left_q.responder && !responder_ready_i;
    left.rp        = left_q.rp && !rp_ready_i;
    left.np        = left_q.np && !np_ready_i;
  end

  assign start   = command_i && !busy_o;
  assign close   = !open_i || open_q[qp_i];  // OPEN of a QP that is not open needs no CLOSE first
  assign closed  = busy_q && !kind_q && !query_q && !write_q && left == '0;
  assign drained = closed && discard_q && drained_i;

  always_comb begin
    if (query_q) finish = busy_q && queried_i;
    else finish = kind_q ? busy_q && !write_q && left == '0 : drained && !reopen_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q  <= 1'b0;
      changed_q <= 1'b0;
      write_q <= 1'b0;
      left_q  <= '0;
      open_q    <= '0;
      class_q   <= '0;
      answer_class_q <= '0;
      tagged_q  <= '0;
      discard_q <= 1'b0;
      reopen_q  <= 1'b0;
      kind_q    <= 1'b0;
      query_q   <= 1'b0;
    end else begin
      busy_q    <= start || (busy_q && !finish);
      changed_q <= start || finish;
      write_q   <= (start && !close && !query_i) || (drained && reopen_q);
      discard_q <= closed && !drained;
      if (start) begin
        left_q <= '{requester: 1'b1, responder: 1'b1, rp: !query_i, np: !query_i && !close};
        if (!query_i) open_q[qp_i] <= 1'b0;
        query_q  <= query_i;
        kind_q   <= !query_i && !close;
        reopen_q <= !query_i && open_i;
      end else if (drained && reopen_q) begin
        left_q <= '{requester: 1'b1, responder: 1'b1, rp: 1'b1, np: 1'b1};
        kind_q <= 1'b1;
      end else begin
        left_q <= left;
        if (write_q) tagged_q[qp_q] <= path_o.tags != '0;
        if (write_q) begin
          class_q[qp_q]        <= class_of_frame(maps_i, path_o.tags, path_o.outer.pcp, path_o.dscp);
          answer_class_q[qp_q] <= class_of_frame(maps_i, path_o.tags, path_o.answer_pcp, path_o.answer_dscp);
        end
        if (finish && !query_q) open_q[qp_q] <= kind_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) qp_q <= qp_i;
  end

  // Zero unless `write_o`, to keep these wide signals quiet.
  always_comb begin
    path_o = '0;
    if (write_q) begin
      path_o = '{
          dst_mac: {settings_i.qp_dst_mac_high, settings_i.qp_dst_mac_low},
          src_mac: {settings_i.qp_src_mac_high, settings_i.qp_src_mac_low},
          tags: settings_i.qp_tags,
          outer: settings_i.qp_outer,
          inner: settings_i.qp_inner,
          ipv6: settings_i.qp_ipv6,
          own_ip: settings_i.qp_own_ip,
          peer_ip: settings_i.qp_peer_ip,
          dscp: settings_i.qp_dscp,
          answer_dscp: settings_i.qp_answer_dscp,
          answer_pcp: settings_i.qp_answer_pcp,
          hop_limit: settings_i.qp_hop_limit,
          udp_port: settings_i.qp_udp_port,
          peer_qpn: settings_i.qp_peer_qpn,
          pkey: settings_i.qp_pkey
      };
    end
  end

  assign peer_o = '{
          ipv6: path_o.ipv6,
          own_ip: path_o.own_ip,
          peer_ip: path_o.peer_ip,
          vlans: vlans_of(path_o.tags, path_o.outer.vid, path_o.inner.vid),
          pkey: path_o.pkey
      };

  assign requester_o = '{
          mtu: settings_i.qp_mtu,
          timeout: settings_i.qp_timeout,
          retry: settings_i.qp_retry,
          nak_retry: settings_i.qp_nak_retry,
          rnr_retry: settings_i.qp_rnr_retry,
          ack_every: settings_i.qp_ack_every,
          window: settings_i.qp_window,
          restart: settings_i.qp_restart,
          reads: settings_i.qp_reads
      };
  assign responder_o = '{
          mtu: settings_i.qp_responder_mtu,
          rnr_timer: settings_i.qp_rnr_timer,
          restart: settings_i.qp_responder_restart
      };

  assign busy_o = busy_q || changed_q;
  assign write_o = write_q;
  assign qp_o = qp_q;
  assign kind_open_o = kind_q;
  assign query_o = busy_q && query_q;
  assign requester_valid_o = left_q.requester;
  assign responder_valid_o = left_q.responder;
  assign rp_valid_o = left_q.rp;
  assign np_valid_o = left_q.np;
  assign open_o = open_q;
  assign tagged_o = tagged_q;
  assign discard_o = discard_q;
  assign class_o = class_q;
  assign answer_class_o = answer_class_q;

  // Set in the cycle after a change
  logic [7:0] used, used_q;

  always_comb begin
    used = '0;
    if (changed_q) for (int unsigned q = 0; q < Qps; q++) if (open_q[q]) used[class_q[q]] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) used_q <= '0;
    else if (changed_q) used_q <= used;
  end

  assign class_open_o = used_q;

  logic unused_settings;
  assign unused_settings = ^settings_i;

endmodule
