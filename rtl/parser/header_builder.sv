// Forms the headers of a packet from its descriptor, in wire order, with lengths and pad count filled in. In place of
// the IPv4 checksum are ones, as the ICRC counts it.
//
// Purely combinational. `l2_o` and `l3_o` are left-aligned. `l3_o` runs from the network header to the last extension
// header; for MAC control it is opcode, vector and timers. The opcode determines the extension headers; an undefined
// opcode has none. Without `valid_i` all outputs are 0, so that nothing is formed in a cycle without a descriptor.
module header_builder
  import eth_pkg::*, roce_pkg::*;
(
    input logic             valid_i,
    input eth_head_t        eth_i,
    input control_t         control_i,
    input ip_head_t         ip_i,            // IpNone: a MAC control frame
    input logic      [15:0] udp_src_port_i,
    input bth_t             bth_i,
    input ext_head_t        ext_i,
    input logic      [15:0] payload_bytes_i,

    output logic [175:0] l2_o,
    output logic [1:0] l2_words_o,  // beyond 14 bytes
    output logic [703:0] l3_o,
    output logic [4:0] l3_words_o,
    output logic [1:0][15:0] ipv4_sum_o  // one's complement sum of the IPv4 header without the checksum
);

  logic grh;
  ext_layout_t layout;
  logic [1:0] pad;
  logic [13:0] payload_words;
  logic [13:0] ib_base;  // words from BTH to ICRC without the payload
  logic [15:0] ib_bytes, udp_bytes, ipv4_bytes, ipv4_flags, ether_type;
  logic [223:0] ext;  // extension headers, left-aligned
  logic [95:0] bth;
  logic [63:0] udp;
  logic [159:0] ipv4;
  logic [319:0] ipv6;
  logic [127:0] timers;

  logic [8:0][15:0] ipv4_terms;

  ones_complement_sum #(
      .Count(9),
      .Width(16)
  ) u_ipv4_sum (
      .terms_i(ipv4_terms),
      .sum_o  (ipv4_sum_o)
  );

  always_comb begin
    grh           = ip_i.kind == IpGrh;
    layout        = ext_layout(bth_i.opcode, grh);
    pad           = 2'd0 - payload_bytes_i[1:0];
    payload_words = payload_bytes_i[15:2];
    ib_base       = '0;
    ib_bytes      = '0;
    udp_bytes     = '0;
    ext           = '0;
    bth           = '0;
    udp           = '0;
    ipv4_bytes    = '0;
    ipv4_flags    = '0;
    ipv4          = '0;
    ipv4_terms    = '0;
    ipv6          = '0;
    timers        = '0;
    ether_type    = '0;
    l2_o          = '0;
    l2_words_o    = '0;
    l3_o          = '0;
    l3_words_o    = '0;

    if (valid_i) begin
      // Lengths: one addition each
      ib_base = 14'((BthBytes + IcrcBytes) / 4) + 14'(layout.words) + 14'(payload_bytes_i[1:0] != 2'd0);
      ib_bytes = {payload_words + ib_base, 2'b00};
      udp_bytes = {payload_words + (ib_base + 14'(UdpHeaderBytes / 4)), 2'b00};
      ipv4_bytes = {payload_words + (ib_base + 14'((UdpHeaderBytes + Ipv4HeaderBytes) / 4)), 2'b00};

      if (layout.deth) ext[223-:96] = {ext_i.qkey, 8'd0, ext_i.src_qp, layout.imm ? ext_i.imm : 32'd0};
      else if (layout.reth) ext[223-:160] = {ext_i.va, ext_i.rkey, ext_i.dma_len, layout.imm ? ext_i.imm : 32'd0};
      else if (layout.atomic) ext = {ext_i.va, ext_i.rkey, ext_i.swap_add, ext_i.compare};
      else if (layout.aeth) ext[223-:96] = {ext_i.syndrome, ext_i.msn, layout.atomic_ack ? ext_i.original : 64'd0};
      else if (layout.imm) ext[223-:32] = ext_i.imm;

      bth = {
        bth_i.opcode,
        bth_i.solicited,
        bth_i.mig_req,
        pad,
        4'd0,
        bth_i.pkey,
        bth_i.fecn,
        bth_i.becn,
        bth_i.reserved6,
        bth_i.dest_qp,
        bth_i.ack_req,
        bth_i.reserved7,
        bth_i.psn
      };
      udp = {udp_src_port_i, UdpPortRoce, udp_bytes, 16'd0};

      ipv4_flags = {ip_i.flags, 13'd0};
      ipv4 = {
        8'h45,
        ip_i.traffic_class,
        ipv4_bytes,
        ip_i.id,
        ipv4_flags,
        ip_i.hop_limit,
        IpProtocolUdp,
        16'hFFFF,
        ip_i.src[31:0],
        ip_i.dst[31:0]
      };
      ipv6 = {
        4'd6,
        ip_i.traffic_class,
        ip_i.flow_label,
        grh ? ib_bytes : udp_bytes,
        grh ? GrhNextHeader : IpProtocolUdp,
        ip_i.hop_limit,
        ip_i.src,
        ip_i.dst
      };

      // The length is known last.
      ipv4_terms = {
        ipv4_bytes,
        ipv4_flags,
        8'h45,
        ip_i.traffic_class,
        ip_i.id,
        ip_i.hop_limit,
        IpProtocolUdp,
        ip_i.src[31:0],
        ip_i.dst[31:0]
      };

      for (int unsigned c = 0; c < 8; c++) timers[127-16*c-:16] = control_i.timer[c];
      case (ip_i.kind)
        IpV4: begin
          ether_type = EtherTypeIpv4;
          l3_o       = {ipv4, udp, bth, ext, 160'd0};
          l3_words_o = 5'd10 + 5'(layout.words);
        end
        IpV6: begin
          ether_type = EtherTypeIpv6;
          l3_o       = {ipv6, udp, bth, ext};
          l3_words_o = 5'd15 + 5'(layout.words);
        end
        IpGrh: begin
          ether_type = EtherTypeRoceV1;
          l3_o       = {ipv6, bth, ext, 64'd0};
          l3_words_o = 5'd13 + 5'(layout.words);
        end
        default: begin
          ether_type = EtherTypeMacControl;
          l3_o       = {control_i.opcode, control_i.class_enable, timers, 544'd0};
          l3_words_o = 5'd5;
          // PAUSE has its single timer in the place of PFC's vector.
          if (control_i.opcode == ControlPause) l3_o = {control_i.opcode, control_i.timer[0], 672'd0};
        end
      endcase

      l2_words_o = (eth_i.tags > 2'd2) ? 2'd2 : eth_i.tags;
      case (eth_i.tags)
        2'd0:    l2_o = {eth_i.dst, eth_i.src, ether_type, 64'd0};
        2'd1:    l2_o = {eth_i.dst, eth_i.src, EtherTypeCTag, eth_i.outer, ether_type, 32'd0};
        default: l2_o = {eth_i.dst, eth_i.src, EtherTypeSTag, eth_i.outer, EtherTypeCTag, eth_i.inner, ether_type};
      endcase
    end
  end

  // The structs are shared with the parser. Here these fields follow from others.
  logic unused_fields;
  assign unused_fields = ^{
    eth_i.ether_type, ip_i.offset, ip_i.next_header, ip_i.length, bth_i.pad, bth_i.tver, layout.known, layout.cnp, layout.payload
  };

endmodule
