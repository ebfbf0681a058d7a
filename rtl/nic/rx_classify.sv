// Frame classifier: finds the QP and the class of a received frame, or the reason for dropping it. rtl/nic/README.md
// is the contract.
//
// The parser's outputs are taken as they come; there is no back-pressure. `done_valid_o` gives the verdict two cycles
// after the parser's `done_valid_o`. The payload has the same delay, so that the verdict of a frame comes with or
// after its last beat and before the first beat of the next frame. MAC control is not for it (control_receive).
//
// The original that an atomic returns becomes its payload: eight bytes, little-endian, as the host keeps numbers.
//
//     stage 0   result of the parser; the RAMs are read: peer of the QP, region of the key
//     stage 1   verdict, except for the region
//     stage 2   output
//
// Timing: `access` of `judged_o` depends on registers through a comparison, `idle_o` on the valids of the same cycle;
// all other outputs are registers.
module rx_classify
  import eth_pkg::*, roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes  = 32,
    parameter  int unsigned Qps        = 64,
    parameter  int unsigned Regions    = 256,
    localparam int unsigned QpBits     = $clog2(Qps),
    localparam int unsigned RegionBits = $clog2(Regions)
) (
    input logic                  clk_i,        // frames; rises when `moves_o` is 1
    input logic                  clk_beats_i,  // payload: the parser's clock
    input logic                  rst_i,
    input logic        [   47:0] port_mac_i,
    input logic        [   23:0] qpn_base_i,
    input class_maps_t           maps_i,
    input logic        [Qps-1:0] open_i,

    input logic                     peer_write_i,
    input logic    [    QpBits-1:0] peer_qp_i,
    input peer_t                    peer_i,
    input pd_t                      pd_i,
    input logic                     region_write_i,
    input logic    [RegionBits-1:0] region_index_i,
    input region_t                  region_i,
    input logic                     invalidate_i,       // a peer has invalidated a region
    input logic    [RegionBits-1:0] invalidate_index_i,

    // From packet_parser
    input logic                            done_valid_i,
    input parse_result_t                   result_i,
    input eth_head_t                       eth_i,
    input ip_head_t                        ip_i,
    input bth_t                            bth_i,
    input ext_head_t                       ext_i,
    input logic                            payload_valid_i,
    input logic          [            6:0] payload_bytes_i,
    input logic          [DataBytes*8-1:0] payload_data_i,

    output logic                      next_valid_o,     // a verdict comes in the next cycle
    output logic    [     QpBits-1:0] next_qp_o,        // its QP
    output logic                      done_valid_o,
    output fate_e                     fate_o,
    output logic    [     QpBits-1:0] qp_o,
    output judged_t                   judged_o,
    output class_t                    class_o,          // with payload and verdict of a frame that is kept
    output logic                      payload_valid_o,
    output logic    [DataBytes*8-1:0] payload_data_o,

    output logic moves_o,  // the state on `clk_i` changes with this cycle
    output logic idle_o
);

  logic [23:0] index;
  logic in_range;

  assign index    = bth_i.dest_qp - qpn_base_i;
  assign in_range = 32'(index) < Qps;

  logic [$bits(peer_t)-1:0] peer_bits;
  peer_t peer;
  assign peer = peer_bits;

  ram_1r1w #(
      .Width($bits(peer_t)),
      .Depth(Qps)
  ) u_peers (
      .clk_i,
      .write_i        (peer_write_i),
      .write_address_i(peer_qp_i),
      .data_i         (peer_i),
      .read_i         (done_valid_i),
      .read_address_i (in_range ? index[QpBits-1:0] : '0),
      .data_o         (peer_bits)
  );

  logic allowed, regions_idle;
  logic unused_other;
  use_e asked_use;

  always_comb begin
    case (operation_e'(bth_i.opcode[4:0]))
      OpReadRequest:         asked_use = UseRemoteRead;
      OpCmpSwap, OpFetchAdd: asked_use = UseRemoteAtomic;
      default:               asked_use = UseRemoteWrite;
    endcase
  end

  region_table #(
      .Regions(Regions),
      .Qps    (Qps)
  ) u_regions (
      .clk_i,
      .rst_i,
      .write_i      (region_write_i),
      .write_index_i(region_index_i),
      .region_i,
      .pd_write_i   (peer_write_i),
      .pd_qp_i      (peer_qp_i),
      .pd_i,
      .ask_i        (done_valid_i),
      .qp_i         (in_range ? index[QpBits-1:0] : '0),
      .use_i        (asked_use),
      .key_i        (ext_i.rkey),
      .va_i         (ext_i.va),
      .bytes_i      (asked_use == UseRemoteAtomic ? 32'(AtomicBytes) : ext_i.dma_len),
      .allowed_o    (allowed),
      .other_key_i  ('0),
      .other_valid_o(unused_other),
      .invalidate_i,
      .invalidate_index_i,
      .idle_o       (regions_idle)
  );

  // Verdict by the frame alone; FateRequest, FateAnswer, FateCnp and FateResponse hold only if the QP matches (stage
  // 1). A packet with a reserved opcode is a request that the responder refuses, as is one with more payload than any
  // path MTU has (IBTA volume 1, 9.7.4.1); neither is malformed for the QP, although the former is for the parser.
  fate_e fate, fate_q, fate_d;
  logic reserved, too_long;

  assign reserved = result_i.verdict == VerdictMalformed && result_i.reason == ReasonUnknownOpcode && result_i.icrc_ok &&
      bth_i.opcode[7:5] == ServiceRc && ip_i.kind != IpGrh;
  assign too_long = !reserved && result_i.payload_bytes > 16'(PayloadBytesMax);

  always_comb begin
    case (result_i.verdict)
      VerdictMalformed: fate = reserved ? FateRequest : FateMalformed;
      VerdictRoceV1:    fate = FateRoceV1;
      VerdictCnp:       fate = result_i.icrc_ok ? FateCnp : FateIcrc;
      VerdictRoceV2: begin
        if (!result_i.icrc_ok) fate = FateIcrc;
        else if (bth_i.opcode[7:5] != ServiceRc) fate = FateService;
        else begin
          case (operation_e'(bth_i.opcode[4:0]))
            OpAck:                                                                       fate = FateAnswer;
            OpReadRespFirst, OpReadRespMid, OpReadRespLast, OpReadRespOnly, OpAtomicAck: fate = FateResponse;
            default:                                                                     fate = FateRequest;
          endcase
        end
      end
      default:          fate = FateNotRoce;
    endcase
    if (eth_i.dst != port_mac_i) fate = FateAddress;
  end

  // The parser hands on no payload of an atomic's answer.
  logic atomic_ack;
  logic [15:0] arrived_bytes;
  assign atomic_ack = done_valid_i && result_i.verdict == VerdictRoceV2 && bth_i.opcode == {ServiceRc, OpAtomicAck};

  always_comb begin
    if (too_long) arrived_bytes = PayloadTooLong;
    else if (reserved) arrived_bytes = '0;
    else arrived_bytes = atomic_ack ? 16'(AtomicBytes) : result_i.payload_bytes;
  end

  // Stage 1
  logic done_q, known_q, ipv6_q;
  logic [127:0] src_q, dst_q;
  vlans_t vlans_q;
  logic [15:0] pkey_q;
  logic [QpBits-1:0] qp_q;
  judged_t judged_d, judged_q;
  class_t ip_class;
  assign ip_class = class_of_frame(maps_i, eth_i.tags, eth_i.outer.pcp, ip_i.traffic_class[7:2]);

  always_comb begin
    judged_d = '0;
    if (done_valid_i) begin
      judged_d.class_of = ip_class;
      if (!result_i.has_ip) judged_d.class_of = class_of_frame(maps_i, eth_i.tags, eth_i.outer.pcp, 6'd0);
      judged_d.ce = ip_i.traffic_class[1:0] == 2'b11;
      judged_d.frame_bytes = result_i.frame_bytes;
      judged_d.syndrome = ext_i.syndrome;
      judged_d.arrival = '{
          operation: bth_i.opcode[4:0],
          psn: bth_i.psn,
          ack_req: bth_i.ack_req,
          solicited: bth_i.solicited,
          payload_bytes: arrived_bytes,
          access : 1'b0,
          va: ext_i.va,
          rkey: ext_i.rkey,
          dma_len: ext_i.dma_len,
          imm: ext_i.imm,
          swap_add: ext_i.swap_add,
          compare: ext_i.compare
      };
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) done_q <= 1'b0;
    else done_q <= done_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (done_valid_i) begin
      fate_q   <= fate;
      known_q  <= in_range && open_i[index[QpBits-1:0]];
      ipv6_q   <= ip_i.kind == IpV6;
      src_q    <= ip_i.src;
      dst_q    <= ip_i.dst;
      vlans_q  <= vlans_of(eth_i.tags, eth_i.outer.vid, eth_i.inner.vid);
      pkey_q   <= bth_i.pkey;
      qp_q     <= index[QpBits-1:0];
      judged_q <= judged_d;
    end
  end

  // Two P_Keys match when their low 15 bits are equal and at least one of the two is that of a full member (IBTA volume
  // 1, 10.9).
  logic ours, pkeys_match;
  assign ours = known_q && peer.ipv6 == ipv6_q && peer.own_ip == dst_q && peer.peer_ip == src_q;
  assign pkeys_match = peer.pkey[14:0] == pkey_q[14:0] && (peer.pkey[15] || pkey_q[15]);

  always_comb begin
    fate_d = fate_q;
    if (fate_q inside {FateRequest, FateAnswer, FateCnp, FateResponse}) begin
      if (!ours) fate_d = FateQp;
      else if (peer.vlans != vlans_q) fate_d = FateVlan;
      else if (!pkeys_match) fate_d = FatePkey;
    end
  end

  // Stage 2
  logic done_out_q;
  fate_e fate_out_q;
  logic [QpBits-1:0] qp_out_q;
  judged_t judged_out_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) done_out_q <= 1'b0;
    else done_out_q <= done_q;
  end

  always_ff @(posedge clk_i) begin
    if (done_q) begin
      fate_out_q   <= fate_d;
      qp_out_q     <= qp_q;
      judged_out_q <= judged_q;
    end
  end

  assign next_valid_o = done_q;
  assign next_qp_o    = qp_q;
  assign done_valid_o = done_out_q;
  assign fate_o       = fate_out_q;
  assign qp_o         = qp_out_q;

  always_comb begin
    judged_o                = judged_out_q;
    judged_o.arrival.access = allowed;
  end

  // Payload delay. A frame that is kept has an IP header, so that its class is known with its first payload. The class
  // also goes with the verdict on a frame without payload.
  class_t [1:0] class_q;
  logic [1:0] payload_valid_q;
  logic [1:0][DataBytes*8-1:0] payload_data_q;

  always_ff @(posedge clk_beats_i) begin
    if (rst_i) payload_valid_q <= '0;
    else payload_valid_q <= {payload_valid_q[0], payload_valid_i || atomic_ack};
  end

  always_ff @(posedge clk_beats_i) begin
    if (payload_valid_i) payload_data_q[0] <= payload_data_i;
    if (atomic_ack)
      for (int unsigned b = 0; b < 8; b++) payload_data_q[0][DataBytes*8-1-8*b-:8] <= ext_i.original[8*b+:8];
    if (payload_valid_q[0]) payload_data_q[1] <= payload_data_q[0];
    if (payload_valid_i || done_valid_i) class_q[0] <= ip_class;
    if (payload_valid_q[0] || done_q) class_q[1] <= class_q[0];
  end

  assign payload_valid_o = payload_valid_q[1];
  assign payload_data_o  = payload_data_q[1];
  assign class_o         = class_q[1];

  logic unused_fields;  // fields of the parser that are not needed here
  assign unused_fields = ^{result_i, eth_i, ip_i, bth_i, ext_i, payload_bytes_i};

  assign moves_o = peer_write_i || region_write_i || invalidate_i || !regions_idle || done_valid_i || done_q || done_out_q;

  assign idle_o = regions_idle && !done_valid_i && !done_q && !done_out_q && !payload_valid_i && payload_valid_q == '0;

endmodule
