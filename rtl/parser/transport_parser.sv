// Third stage of the parser: UDP, base transport header, extension headers; then the payload and the verdict.
//
//     UDP           0 source port   2 destination port   4 length   6 checksum   (not under a GRH)
//     BTH           0 opcode   1 SE, M, pad, TVer   2 P_Key   4 FECN, BECN, reserved   5 destination QP
//                   8 A, reserved   9 PSN
//     DETH          0 Q_Key   5 source QP
//     RETH          0 VA   8 R_Key   12 DMA length
//     AETH          0 syndrome   1 MSN
//     AtomicETH     0 VA   8 R_Key   12 swap or add   20 compare
//     AtomicAckETH  0 original value
//     ImmDt, IETH   0 value
//
// Timing: registered outputs.
//
// - `head_valid_o` comes with or before the frame's first payload beat and its `done_valid_o`. The fields hold from
//   there to `done_valid_o`.
// - The result is that of the headers alone with `head_valid_o`, and final with `done_valid_o`.
module transport_parser
  import eth_pkg::*, stream_pkg::*, roce_pkg::*, parser_pkg::*;
#(
    parameter int unsigned DataBytes = 32
) (
    input logic clk_i,
    input logic rst_i,

    input beat_t                      beat_i,
    input logic     [DataBytes*8-1:0] data_i,
    input l3_head_t                   head_i,  // with the first beat
    input tail_t                      tail_i,  // with the last beat

    output logic                 head_valid_o,
    output logic                 done_valid_o,
    output parse_result_t        result_o,
    output eth_head_t            eth_o,
    output control_t             control_o,
    output ip_head_t             ip_o,
    output logic          [15:0] udp_src_port_o,
    output bth_t                 bth_o,
    output ext_head_t            ext_o,

    output logic                   payload_valid_o,
    output logic                   payload_last_o,
    output logic [            6:0] payload_bytes_o,
    output logic [DataBytes*8-1:0] payload_data_o
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned MaxExtBytes = 28;  // AtomicETH
  localparam int unsigned WireBytes = UdpHeaderBytes + BthBytes + MaxExtBytes;
  localparam int unsigned WireBits = WireBytes * 8;
  localparam int unsigned FirstBits = (DataBits < WireBits) ? DataBits : WireBits;
  localparam int unsigned MaxWords = WireBytes / 4;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Header capture

  l3_head_t l3_q;
  logic [WireBits-1:0] wire_q;
  ext_layout_t layout_q, layout;
  logic grh;
  logic [1:0] pad;
  logic [3:0] words;
  logic [5:0] overhead_q, overhead_pad_q;  // bytes of the packet behind the network header that are not payload

  assign grh = head_i.ip.kind == IpGrh;
  assign layout = ext_layout(grh ? data_i[DataBits-1-:8] : data_i[DataBits-1-8*UdpHeaderBytes-:8], grh);
  assign words = 4'(BthBytes / 4) + (grh ? 4'd0 : 4'(UdpHeaderBytes / 4)) + 4'(layout.words);

  assign pad = grh ? data_i[DataBits-11-:2] : data_i[DataBits-11-8*UdpHeaderBytes-:2];

  always_ff @(posedge clk_i) begin
    if (beat_i.valid && beat_i.first) begin
      l3_q <= head_i;
      layout_q <= layout;
      overhead_q <= {words, 2'b00} + 6'(IcrcBytes);
      overhead_pad_q <= {words, 2'b00} + 6'(IcrcBytes) + 6'(pad);
      wire_q[WireBits-1-:FirstBits] <= data_i[DataBits-1-:FirstBits];
    end
  end

  if (DataBits < WireBits) begin : gen_rest_of_headers
    localparam int unsigned RestBits = WireBits - DataBits;
    logic second_q;  // the next beat of the frame is its second

    always_ff @(posedge clk_i) begin
      if (rst_i) second_q <= 1'b0;
      else if (beat_i.valid) second_q <= beat_i.first;
    end

    always_ff @(posedge clk_i) begin
      if (beat_i.valid && !beat_i.first && second_q) wire_q[RestBits-1:0] <= data_i[DataBits-1-:RestBits];
    end
  end

  // Header strip
  beat_t rest;
  logic [DataBits-1:0] rest_data;
  tail_t rest_tail;

  stream_strip #(
      .DataBytes(DataBytes),
      .MaxWords (MaxWords),
      .TailBits ($bits(tail_t))
  ) u_strip (
      .clk_i,
      .rst_i,
      .beat_i,
      .data_i,
      .words_i(words),
      .tail_i,
      .beat_o (rest),
      .data_o (rest_data),
      .tail_o (rest_tail)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Header checks, made when the first beat behind the headers leaves; of no meaning in other beats

  logic [15:0] udp_src_port, udp_dst_port, udp_length;
  bth_t bth;
  logic [8*MaxExtBytes-1:0] ext_wire;
  ext_head_t ext;

  assign {udp_src_port, udp_dst_port, udp_length} = wire_q[WireBits-1-:48];
  assign {bth, ext_wire} = (l3_q.ip.kind == IpGrh) ? wire_q[WireBits-1-:320] : wire_q[319:0];

  always_comb begin
    ext = '0;
    if (rest.first) begin
      if (layout_q.deth) begin
        ext.qkey   = ext_wire[223-:32];
        ext.src_qp = ext_wire[183-:24];
        if (layout_q.imm) ext.imm = ext_wire[159-:32];
      end else if (layout_q.reth) begin
        {ext.va, ext.rkey, ext.dma_len} = ext_wire[223-:128];
        if (layout_q.imm) ext.imm = ext_wire[95-:32];
      end else if (layout_q.atomic) begin
        {ext.va, ext.rkey, ext.swap_add, ext.compare} = {ext_wire[223-:96], ext_wire[127:0]};
      end else if (layout_q.aeth) begin
        {ext.syndrome, ext.msn} = ext_wire[223-:32];
        if (layout_q.atomic_ack) ext.original = ext_wire[191-:64];
      end else if (layout_q.imm) begin
        ext.imm = ext_wire[223-:32];
      end
    end
  end

  // Result of the headers alone, valid if the frame turns out to be long enough.
  typedef struct packed {
    logic          outer_stop;    // a check failed before the network header's length was compared with the frame
    logic          checksum_bad;
    parse_result_t result;
  } found_t;

  found_t found, found_q;
  logic hands_on;  // the payload is delivered
  logic [16:0] transport_bytes, ext_bytes, payload_and_pad;
  logic [15:0] payload_total;  // of the packet, if it is well-formed
  logic ipv6_fragment;  // a UDP datagram's: a fragment header whose next header is UDP

  assign ipv6_fragment = l3_q.ip.kind == IpV6 && l3_q.ip.next_header == IpProtocolFragment &&
      l3_q.payload_bytes >= 16'd8 && wire_q[WireBits-1-:8] == IpProtocolUdp;

  always_comb begin
    found = '0;
    hands_on = 1'b0;
    transport_bytes = '0;
    ext_bytes = '0;
    payload_and_pad = '0;
    payload_total = '0;
    if (rest.first) begin
      found.result.has_eth = l3_q.has_eth;
      found.result.has_ip = l3_q.has_ip;
      found.result.has_control = l3_q.control.whole;

      transport_bytes = (l3_q.ip.kind == IpGrh) ? 17'(l3_q.payload_bytes) : 17'(l3_q.payload_bytes) - 17'(UdpHeaderBytes);
      ext_bytes = {12'd0, layout_q.words, 2'b00};
      payload_and_pad = 17'(l3_q.payload_bytes) - 17'(overhead_q);
      payload_total = l3_q.payload_bytes - 16'(overhead_pad_q);

      if (l3_q.reason != ReasonNone) begin
        found.outer_stop    = 1'b1;
        found.result.reason = l3_q.reason;
      end else if (!l3_q.has_ip) begin
        found.result.verdict = l3_q.control.verdict;
      end else begin
        found.checksum_bad = l3_q.checksum_bad;
        if (l3_q.ip.kind == IpGrh && l3_q.ip.next_header != GrhNextHeader) begin
          found.result.reason = ReasonGrhNextHeader;
        end else if (ipv6_fragment) begin
          found.result.reason = ReasonIpFragment;
        end else if (l3_q.ip.kind != IpGrh && l3_q.ip.next_header != IpProtocolUdp) begin
          found.result.verdict = VerdictOther;
        end else if (l3_q.ip.kind == IpV4 && (l3_q.ip.flags[0] || l3_q.ip.offset != '0)) begin
          found.result.reason = ReasonIpFragment;
        end else if (l3_q.ip.kind != IpGrh && l3_q.payload_bytes < 16'(UdpHeaderBytes)) begin
          found.result.reason = ReasonUdpTruncated;
        end else if (l3_q.ip.kind != IpGrh && udp_dst_port != UdpPortRoce) begin
          found.result.verdict = VerdictOther;
        end else if (l3_q.ip.kind != IpGrh && udp_length != l3_q.payload_bytes) begin
          found.result.reason = ReasonUdpLength;
        end else if (transport_bytes < 17'(BthBytes + IcrcBytes)) begin
          found.result.reason = ReasonBthTruncated;
        end else begin
          found.result.has_bth  = 1'b1;
          found.result.has_icrc = transport_bytes[1:0] == '0;
          if (transport_bytes[1:0] != '0) found.result.reason = ReasonIbAlignment;
          else if (bth.tver != '0) found.result.reason = ReasonBthVersion;
          else if (!layout_q.known) found.result.reason = ReasonUnknownOpcode;
          else if (transport_bytes < 17'(BthBytes + IcrcBytes) + ext_bytes) found.result.reason = ReasonHeaderTruncated;
          else begin
            found.result.has_ext = 1'b1;
            if (17'(bth.pad) > payload_and_pad) found.result.reason = ReasonPadCount;
            else if (!layout_q.payload && payload_and_pad != '0) found.result.reason = ReasonUnexpectedPayload;
            else begin
              found.result.has_payload = 1'b1;
              found.result.payload_bytes = payload_total;
              found.result.verdict = layout_q.cnp ? VerdictCnp : (l3_q.ip.kind == IpGrh) ? VerdictRoceV1 : VerdictRoceV2;
              hands_on = ~l3_q.checksum_bad;
            end
          end
        end
      end
      if (found.result.reason != ReasonNone) found.result.verdict = VerdictMalformed;
    end
  end

  // Final result, once the end of the frame is known. The check of the network header's length comes before all
  // checks of inner layers.
  found_t present;
  parse_result_t result;

  always_comb begin
    present = rest.first ? found : found_q;
    result  = present.result;
    if (rest.last) begin
      result.frame_bytes = rest_tail.frame_bytes;
      result.icrc_ok     = rest_tail.icrc_ok;
      if (rest_tail.cut && !present.outer_stop) begin
        result.verdict = VerdictMalformed;
        result.reason = ReasonIpTruncated;
        {result.has_bth, result.has_ext, result.has_payload, result.has_icrc} = '0;
      end
    end
    if (present.checksum_bad) begin
      result.verdict = VerdictMalformed;
      result.reason  = ReasonIpChecksum;
    end
    if (!result.has_icrc) result.icrc_ok = 1'b0;
    if (!result.has_payload) result.payload_bytes = '0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      head_valid_o <= 1'b0;
      done_valid_o <= 1'b0;
    end else begin
      head_valid_o <= rest.valid & rest.first;
      done_valid_o <= rest.valid & rest.last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rest.valid && rest.first) begin
      found_q        <= found;
      eth_o          <= l3_q.eth;
      control_o      <= l3_q.control.fields;
      ip_o           <= l3_q.ip;
      udp_src_port_o <= (l3_q.ip.kind == IpGrh) ? '0 : udp_src_port;
      bth_o          <= bth;
      ext_o          <= ext;
    end
    if (rest.valid && (rest.first || rest.last)) result_o <= result;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Payload without pad and ICRC

  logic [15:0] owed_q, owed;  // payload bytes from this beat on, if the packet is handed on
  logic handed_on_q, handed_on;
  logic payload_valid, payload_last;
  logic [6:0] payload_bytes;
  logic [DataBits-1:0] payload_data;

  assign owed = rest.first ? payload_total : owed_q;
  assign handed_on = rest.first ? hands_on : handed_on_q;

  always_comb begin
    payload_valid = rest.valid && handed_on && owed != '0 && rest.bytes != '0;
    payload_last  = rest.last || owed <= 16'(rest.bytes);
    payload_bytes = (owed < 16'(rest.bytes)) ? 7'(owed) : rest.bytes;
    payload_data  = rest_data;
    if (payload_last) begin
      for (int unsigned b = 0; b < DataBytes; b++) begin
        if (7'(b) >= payload_bytes) payload_data[DataBits-1-8*b-:8] = '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      payload_valid_o <= 1'b0;
      handed_on_q     <= 1'b0;
      owed_q          <= '0;
    end else begin
      payload_valid_o <= payload_valid;
      if (rest.valid) handed_on_q <= handed_on;
      if (rest.valid) owed_q <= (owed > 16'(rest.bytes)) ? owed - 16'(rest.bytes) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (payload_valid) begin
      payload_last_o  <= payload_last;
      payload_bytes_o <= payload_bytes;
      payload_data_o  <= payload_data;
    end
  end

endmodule
