// Reports each granted packet, in bytes on the wire, to the limiter and the reaction point, and tells the scheduler
// when its QP may send again.
//
// A step of a grant makes a packet or none. With `paced_i` a packet counts at the limiter, and at the reaction point if
// the QP is limited: the bytes of other QPs change nothing there. The QP is released
//
// - with a packet of a limited QP: four cycles after the limiter has taken it, when `eligible` reflects it;
// - else in the cycle of the step, because the limiter does not hold it up.
//
// `room_o` guarantees room for the packets that four grants may still bring.
//
// Timing: `idle_o` and a release depend on the step of the same cycle; all other outputs are registers or depend on
// registers only.
module sent_account
  import roce_pkg::*, eth_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic              write_i,       // writes the path of a QP
    input logic [QpBits-1:0] write_qp_i,
    input logic [       1:0] write_tags_i,
    input logic              write_ipv6_i,

    input  logic              step_valid_i,     // step of a SEND, or what became of a READ response
    input  logic [QpBits-1:0] step_qp_i,
    input  logic              packet_i,         // the step made a packet
    input  logic [       7:0] opcode_i,
    input  logic [      15:0] payload_bytes_i,
    input  logic              paced_i,
    input  logic              limited_i,        // the step's QP is limited
    output logic              room_o,
    output logic              counted_o,        // the packet of two cycles before
    output logic [      15:0] counted_bytes_o,  // on the wire

    output logic              sent_valid_o,   // to rate_limiter
    output logic              bytes_valid_o,  // to dcqcn_rp
    output logic [QpBits-1:0] qp_o,
    output logic [      15:0] bytes_o,
    input  logic              sent_ready_i,
    input  logic              bytes_ready_i,

    output logic [1:0]             release_o,
    output logic [1:0][QpBits-1:0] release_qp_o,

    output logic idle_o
);

  localparam int unsigned Depth = 16;
  localparam int unsigned WireOverhead = 24;  // FCS, preamble, gap

  // Length of the packet on the wire
  logic [2:0] path_bits;
  logic holds;  // the QP waits for the limiter
  logic step_q, counted_q, packet_q, holds_q;
  logic [QpBits-1:0] qp_q;
  logic [15:0] inner_q, frame;  // BTH to ICRC
  ext_layout_t layout;

  ram_1r1w #(
      .Width(3),
      .Depth(Qps)
  ) u_paths (
      .clk_i,
      .write_i,
      .write_address_i(write_qp_i),
      .data_i         ({write_tags_i, write_ipv6_i}),
      .read_i         (step_valid_i),
      .read_address_i (step_qp_i),
      .data_o         (path_bits)
  );

  assign layout = ext_layout(opcode_i, 1'b0);
  assign holds  = packet_i && paced_i && limited_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) step_q <= 1'b0;
    else step_q <= step_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (step_valid_i) begin
      counted_q <= packet_i;
      packet_q <= packet_i && paced_i;
      holds_q <= holds;
      qp_q <= step_qp_i;
      inner_q  <= 16'(BthBytes + IcrcBytes) + {11'd0, layout.words, 2'b00} + {payload_bytes_i[15:2] + 14'(|payload_bytes_i[1:0]), 2'b00};
    end
  end

  logic unused_layout;
  assign unused_layout = ^layout;

  always_comb begin
    frame = inner_q + 16'(EthHeaderBytes + UdpHeaderBytes) + (path_bits[0] ? 16'(Ipv6HeaderBytes) : 16'(Ipv4HeaderBytes));
    if (path_bits[2:1] != '0) frame += (path_bits[2:1] == 2'd1) ? 16'(TagBytes) : 16'(2 * TagBytes);
    if (frame < 16'(MinFrameBytes)) frame = 16'(MinFrameBytes);
    frame += 16'(WireOverhead);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) counted_o <= 1'b0;
    else counted_o <= step_q && counted_q;
  end

  always_ff @(posedge clk_i) begin
    if (step_q) counted_bytes_o <= frame;
  end

  logic valid, ready, pop, held, sent_done_q, bytes_done_q;
  logic [$clog2(Depth + 1)-1:0] count;

  fifo #(
      .Width(1 + QpBits + 16),
      .Depth(Depth)
  ) u_packets (
      .clk_i,
      .rst_i,
      .valid_i(step_q && packet_q),
      .ready_o(ready),
      .data_i ({holds_q, qp_q, frame}),
      .valid_o(valid),
      .ready_i(pop),
      .data_o ({held, qp_o, bytes_o}),
      .count_o(count)
  );

  assign sent_valid_o  = valid && !sent_done_q;
  assign bytes_valid_o = valid && held && !bytes_done_q;
  assign pop           = valid && (sent_done_q || sent_ready_i) && (!held || bytes_done_q || bytes_ready_i);
  assign room_o        = count < 5'(Depth - 5);

  always_ff @(posedge clk_i) begin
    if (rst_i) {sent_done_q, bytes_done_q} <= '0;
    else begin
      sent_done_q  <= !pop && (sent_done_q || (valid && sent_ready_i));
      bytes_done_q <= !pop && (bytes_done_q || (bytes_valid_o && bytes_ready_i));
    end
  end

  // The limiter's eligibility reflects a packet four cycles after it was taken.
  logic [3:0] known_q;
  logic [3:0][QpBits-1:0] known_qp_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) known_q <= '0;
    else known_q <= {known_q[2:0], sent_valid_o && sent_ready_i && held};
  end

  always_ff @(posedge clk_i) begin
    if (sent_valid_o && sent_ready_i) known_qp_q[0] <= qp_o;
    for (int unsigned i = 1; i < 4; i++) if (known_q[i-1]) known_qp_q[i] <= known_qp_q[i-1];
  end

  assign release_o    = {known_q[3], step_valid_i && !holds};
  assign release_qp_o = {known_qp_q[3], step_qp_i};

  assign idle_o = !step_valid_i && !step_q && !counted_o && count == '0 && !valid && known_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!(step_q && packet_q) || ready)
      else $error("sent_account: a packet that has no room");
  end

endmodule
