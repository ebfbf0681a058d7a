// Second stage of the parser: the network header (IPv4 with options, IPv6, GRH), or MAC control.
//
// Takes the stream behind the Ethernet header, strips the network header and passes on the rest, realigned to its
// first byte. Frames without a network header pass unchanged.
//
//     IPv4  0 version, IHL   1 TOS   2 total length   4 id   6 flags, offset   8 TTL   9 protocol   10 checksum
//           12 source   16 destination   20 options
//     IPv6  0 version, traffic class, flow label   4 payload length   6 next header   7 hop limit   8 source
//           24 destination
//     GRH   as IPv6
//
// Timing: registered outputs. `head_o` holds from the frame's first beat to its last.
module ip_parser
  import eth_pkg::*, stream_pkg::*, roce_pkg::*, parser_pkg::*;
#(
    parameter int unsigned DataBytes = 32
) (
    input logic clk_i,
    input logic rst_i,

    input beat_t                      beat_i,
    input logic     [DataBytes*8-1:0] data_i,
    input l2_head_t                   head_i,         // with the first beat
    input logic     [           15:0] frame_bytes_i,  // with the last beat
    input logic                       icrc_ok_i,      // with the last beat

    output beat_t                      beat_o,
    output logic     [DataBytes*8-1:0] data_o,
    output l3_head_t                   head_o,
    output tail_t                      tail_o
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned Lanes = DataBytes / 4;
  localparam int unsigned MaxWords = 15;  // IPv4 with all options
  localparam int unsigned FieldBits = Ipv6HeaderBytes * 8;  // all fields are in the first 40 bytes
  localparam int unsigned FirstBits = (DataBits < FieldBits) ? DataBits : FieldBits;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Header capture: bytes with fields, IPv4 sum, bytes received and announced

  l2_head_t l2_q;
  logic [FieldBits-1:0] wire_q;
  logic second_q;  // the next beat of the frame is its second
  logic [6:0] seen_q;  // bytes from the network header on; stops at 64 or more
  logic [16:0] left_q, left;  // announced bytes still to come, including this beat
  logic [3:0] words;  // length of the network header; valid with the first beat

  always_comb begin
    left = left_q;
    case (head_i.ip_kind)
      IpNone:  words = 4'd0;
      IpV4:    words = data_i[DataBits-5-:4];
      default: words = 4'(Ipv6HeaderBytes / 4);
    endcase
    if (beat_i.first) begin
      case (head_i.ip_kind)
        IpNone:  left = '0;
        IpV4:    left = {1'b0, data_i[DataBits-17-:16]};
        default: left = {1'b0, data_i[DataBits-33-:16]} + 17'(Ipv6HeaderBytes);
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      second_q <= 1'b0;
      seen_q   <= '0;
      left_q   <= '0;
    end else if (beat_i.valid) begin
      second_q <= beat_i.first;
      if (beat_i.first) seen_q <= beat_i.bytes;
      else if (seen_q < 7'd64) seen_q <= seen_q + beat_i.bytes;
      left_q <= (left > 17'(DataBytes)) ? left - 17'(DataBytes) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (beat_i.valid) begin
      if (beat_i.first) begin
        l2_q <= head_i;
        wire_q[FieldBits-1-:FirstBits] <= data_i[DataBits-1-:FirstBits];
      end
    end
  end

  if (DataBits < FieldBits) begin : gen_rest_of_fields
    localparam int unsigned RestBits = FieldBits - DataBits;
    always_ff @(posedge clk_i) begin
      if (beat_i.valid && !beat_i.first && second_q) wire_q[RestBits-1:0] <= data_i[DataBits-1-:RestBits];
    end
  end

  // Sum of the words of the IPv4 header, which is within the first 60 bytes. Of two beats if a beat has less.
  localparam bit TwoBeats = Lanes < MaxWords;
  logic [Lanes+1:0][31:0] terms;
  logic [1:0][31:0] sum_q, sum;
  logic [3:0] header_words;

  assign header_words = beat_i.first ? words : wire_q[FieldBits-5-:4];

  always_comb begin
    terms = '0;
    if (TwoBeats && !beat_i.first) terms[Lanes+:2] = sum_q;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (5'(l) + (beat_i.first ? 5'd0 : 5'(Lanes)) < {1'b0, header_words}) terms[l] = data_i[DataBits-1-32*l-:32];
    end
  end

  ones_complement_sum #(
      .Count(Lanes + 2)
  ) u_sum (
      .terms_i(terms),
      .sum_o  (sum)
  );

  always_ff @(posedge clk_i) begin
    if (beat_i.valid && (beat_i.first || (second_q && TwoBeats))) sum_q <= sum;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
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
      .tail_i ({frame_bytes_i, icrc_ok_i, left > 17'(beat_i.bytes)}),
      .beat_o (rest),
      .data_o (rest_data),
      .tail_o (rest_tail)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Checks, made when the first beat behind the header leaves: by then all that the frame has of the header has been
  // captured.

  control_head_t control;

  control_parser u_control (
      .wire_i (wire_q[FieldBits-1-:160]),
      .bytes_i(seen_q),
      .dst_i  (l2_q.eth.dst),
      .head_o (control)
  );

  logic [1:0][15:0] halves;
  logic checksum_ok;
  logic [15:0] header_bytes;
  l3_head_t head;

  ones_complement_sum #(
      .Count(4),
      .Width(16)
  ) u_halves (
      .terms_i(sum_q),
      .sum_o  (halves)
  );

  // Two words have the sum 0 modulo 65,535 when they are each other's complement. Both are 0 only if the header is, and
  // both all ones only if no term is 0 (formal/ones_complement_sum_proof.sv).
  assign checksum_ok  = (halves[0] ^ halves[1]) == '1;
  assign header_bytes = {10'd0, wire_q[FieldBits-5-:4], 2'b00};

  always_comb begin
    head = '0;
    if (rest.first) begin
      head.has_eth = l2_q.whole;
      head.eth     = l2_q.eth;
      head.reason  = l2_q.reason;
      if (l2_q.control) begin
        head.control = control;
        head.reason  = control.reason;
      end else if (l2_q.ip_kind == IpV4) begin
        if (seen_q < 7'(Ipv4HeaderBytes)) head.reason = ReasonIpTruncated;
        else if (wire_q[319-:4] != 4'd4) head.reason = ReasonIpVersion;
        else begin
          head.has_ip           = 1'b1;
          head.ip.kind          = IpV4;
          head.ip.traffic_class = wire_q[311-:8];
          head.ip.length        = wire_q[303-:16];
          head.ip.id            = wire_q[287-:16];
          head.ip.flags         = wire_q[271-:3];
          head.ip.offset        = wire_q[268-:13];
          head.ip.hop_limit     = wire_q[255-:8];
          head.ip.next_header   = wire_q[247-:8];
          head.ip.src           = 128'(wire_q[223-:32]);
          head.ip.dst           = 128'(wire_q[191-:32]);
          head.payload_bytes    = head.ip.length - header_bytes;
          head.checksum_bad     = !checksum_ok;
          if (header_bytes < 16'(Ipv4HeaderBytes)) head.reason = ReasonIpHeaderLength;
          else if (16'(seen_q) < header_bytes) head.reason = ReasonIpTruncated;
          else if (head.ip.length < header_bytes) head.reason = ReasonIpLength;
        end
      end else if (l2_q.ip_kind != IpNone) begin
        if (seen_q < 7'(Ipv6HeaderBytes)) head.reason = ReasonIpTruncated;
        else if (wire_q[319-:4] != 4'd6) head.reason = ReasonIpVersion;
        else begin
          head.has_ip           = 1'b1;
          head.ip.kind          = l2_q.ip_kind;
          head.ip.traffic_class = wire_q[315-:8];
          head.ip.flow_label    = wire_q[307-:20];
          head.ip.length        = wire_q[287-:16];
          head.ip.next_header   = wire_q[271-:8];
          head.ip.hop_limit     = wire_q[263-:8];
          head.ip.src           = wire_q[255-:128];
          head.ip.dst           = wire_q[127-:128];
          head.payload_bytes    = head.ip.length;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) beat_o <= '0;
    else beat_o <= rest;
  end

  always_ff @(posedge clk_i) begin
    if (rest.valid) begin
      data_o <= rest_data;
      tail_o <= rest_tail;
      if (rest.first) head_o <= head;
    end
  end

endmodule
