// Packet builder: makes a frame, including the ICRC, from a descriptor and a payload.
//
//     descriptor ─► header_builder ─► register ─► stream_prepend ─► icrc ─► icrc_append ─► stream_prepend ─► tx
//     payload ──────────────────────────────────► network header          at the end     Ethernet header
//
// A descriptor consists of the parser's structs, so the output of the parser is a descriptor. These fields are filled
// in here, whatever the descriptor has in them:
//
// - EtherType
// - IP version, length, protocol, header checksum; fragment offset 0
// - UDP destination port, length; checksum 0
// - BTH pad count; TVer 0
// - which extension headers there are (by opcode)
// - ICRC, and zeros up to 60 bytes
//
// A single tag has TPID 0x8100; of two tags the outer one has 0x88A8. `ip_i.kind` IpNone makes a MAC control frame.
//
// Protocol:
//
// - A descriptor holds until `desc_ready_o`. It is taken in advance, when the headers of the one before it have left.
// - The payload of a descriptor is taken behind it, from the cycle after it on.
// - Payload starts in the first byte of a beat. With `payload_bytes_i` = 0 none is taken.
// - An illegal descriptor (payload behind an ACK, more bytes than 16-bit lengths allow) makes an illegal frame but
//   never a stall.
//
// Timing:
//
// - Throughput: a frame takes as many cycles as it has beats, back to back. `tx_valid_o` falls inside a frame only if
//   the payload does.
// - Latency: the first beat of a frame leaves at least three cycles after its descriptor.
// - The readies depend on `tx_ready_i` of the same cycle.
module packet_builder
  import eth_pkg::*, stream_pkg::*, roce_pkg::*;
#(
    parameter int unsigned DataBytes = 32  // 32 or 64
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             desc_valid_i,
    output logic             desc_ready_o,
    input  eth_head_t        eth_i,
    input  control_t         control_i,
    input  ip_head_t         ip_i,
    input  logic      [15:0] udp_src_port_i,
    input  bth_t             bth_i,
    input  ext_head_t        ext_i,
    input  logic      [15:0] payload_bytes_i,

    input  logic                   payload_valid_i,
    input  logic                   payload_last_i,
    input  logic [            6:0] payload_beat_bytes_i,  // with the last beat: 1 to DataBytes
    input  logic [DataBytes*8-1:0] payload_data_i,
    output logic                   payload_ready_o,

    output logic                   tx_valid_o,
    output logic                   tx_last_o,
    output logic [            6:0] tx_bytes_o,
    output logic [DataBytes*8-1:0] tx_data_o,
    input  logic                   tx_ready_i
);

  localparam int unsigned DataBits = DataBytes * 8;

  typedef struct packed {
    logic [175:0] l2;
    logic [1:0]   l2_words;
    logic         covered;   // has an ICRC
    logic         ipv4;
    logic [15:0]  checksum;  // of IPv4
  } head_t;

  typedef struct packed {
    logic [175:0]     l2;
    logic [1:0]       l2_words;
    logic [1:0][15:0] ipv4_sum;
    ip_kind_e         kind;
    logic [703:0]     l3;
    logic [4:0]       l3_words;
    logic             alone;     // no payload
  } headers_t;

  headers_t headers, headers_q;
  head_t head, l3_head;
  logic headers_valid_q, headers_ready;

  header_builder u_header (
      .valid_i   (desc_valid_i),
      .eth_i,
      .control_i,
      .ip_i,
      .udp_src_port_i,
      .bth_i,
      .ext_i,
      .payload_bytes_i,
      .l2_o      (headers.l2),
      .l2_words_o(headers.l2_words),
      .l3_o      (headers.l3),
      .l3_words_o(headers.l3_words),
      .ipv4_sum_o(headers.ipv4_sum)
  );
  assign headers.kind  = ip_i.kind;
  assign headers.alone = payload_bytes_i == '0;

  assign desc_ready_o  = !headers_valid_q || headers_ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) headers_valid_q <= 1'b0;
    else if (desc_ready_o) headers_valid_q <= desc_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (desc_valid_i && desc_ready_o) headers_q <= headers;
  end

  logic [16:0] ipv4_sum;

  assign ipv4_sum = 17'(headers_q.ipv4_sum[0]) + 17'(headers_q.ipv4_sum[1]);

  always_comb begin
    head.l2       = headers_q.l2;
    head.l2_words = headers_q.l2_words;
    head.covered  = headers_q.kind != IpNone;
    head.ipv4     = headers_q.kind == IpV4;
    head.checksum = ~(ipv4_sum[15:0] + 16'(ipv4_sum[16]));
  end

  // Pad: bytes behind the end of the payload are zero, and the length is rounded up to a multiple of 4.
  logic [6:0] padded_bytes;
  logic [DataBits-1:0] padded_data;

  always_comb begin
    padded_bytes = 7'(DataBytes);
    padded_data  = payload_data_i;
    if (payload_last_i) begin
      padded_bytes = {payload_beat_bytes_i[6:2] + 5'(|payload_beat_bytes_i[1:0]), 2'b00};
      for (int unsigned b = 0; b < DataBytes; b++) begin
        if (7'(b) >= payload_beat_bytes_i) padded_data[DataBits-1-8*b-:8] = '0;
      end
    end
  end

  // Network header to pad
  beat_t l3_beat, covered_beat;
  logic [DataBits-1:0] l3_data, covered_data;
  logic enable;
  logic [31:0] icrc;
  logic unused_tail, unused_ok;  // used in packet_parser

  stream_prepend #(
      .DataBytes(DataBytes),
      .MaxWords (22)
  ) u_l3 (
      .clk_i,
      .rst_i,
      .head_valid_i(headers_valid_q),
      .head_ready_o(headers_ready),
      .head_i      (headers_q.l3),
      .words_i     (headers_q.l3_words),
      .alone_i     (headers_q.alone),
      .body_valid_i(payload_valid_i),
      .body_last_i (payload_last_i),
      .body_bytes_i(padded_bytes),
      .body_data_i (padded_data),
      .body_ready_o(payload_ready_o),
      .beat_o      (l3_beat),
      .data_o      (l3_data),
      .ready_i     (enable)
  );

  icrc #(
      .DataBytes(DataBytes),
      .Check    (1'b0),
      .HeadBits ($bits(head_t))
  ) u_icrc (
      .clk_i,
      .rst_i,
      .enable_i(enable),
      .beat_i  (l3_beat),
      .data_i  (l3_data),
      .kind_i  (headers_q.kind),
      .head_i  (head),
      .tail_i  (1'b0),
      .beat_o  (covered_beat),
      .data_o  (covered_data),
      .head_o  (l3_head),
      .tail_o  (unused_tail),
      .ok_o    (unused_ok),
      .icrc_o  (icrc)
  );

  // The ICRC counts the checksum of IPv4 as ones; it is put in behind it.
  logic [DataBits-1:0] summed_data;

  always_comb begin
    summed_data = covered_data;
    if (covered_beat.first && l3_head.ipv4) summed_data[DataBits-81-:16] = l3_head.checksum;
  end

  logic append_ready, whole_valid, whole_first, whole_last, whole_ready;
  logic [6:0] whole_bytes;
  logic [DataBits-1:0] whole_data;

  assign enable = ~covered_beat.valid | append_ready;

  icrc_append #(
      .DataBytes(DataBytes)
  ) u_append (
      .clk_i,
      .rst_i,
      .beat_i  (covered_beat),
      .data_i  (summed_data),
      .wanted_i(l3_head.covered),
      .icrc_i  (icrc),
      .ready_o (append_ready),
      .valid_o (whole_valid),
      .first_o (whole_first),
      .last_o  (whole_last),
      .bytes_o (whole_bytes),
      .data_o  (whole_data),
      .ready_i (whole_ready)
  );

  // Ethernet header. It is within the first beat, so it is taken from the packet's first beat only.
  beat_t frame_beat;
  logic unused_head_ready, unused_first;
  assign unused_first = frame_beat.first;

  stream_prepend #(
      .DataBytes(DataBytes),
      .Base     (EthHeaderBytes),
      .MaxWords (2)
  ) u_l2 (
      .clk_i,
      .rst_i,
      .head_valid_i(whole_valid & whole_first),
      .head_ready_o(unused_head_ready),
      .head_i      (l3_head.l2),
      .words_i     (l3_head.l2_words),
      .alone_i     (1'b0),
      .body_valid_i(whole_valid),
      .body_last_i (whole_last),
      .body_bytes_i(whole_bytes),
      .body_data_i (whole_data),
      .body_ready_o(whole_ready),
      .beat_o      (frame_beat),
      .data_o      (tx_data_o),
      .ready_i     (tx_ready_i)
  );

  // Minimum frame: 60 bytes. They end in the first beat of 64 bytes or in the second of 32. Every frame has a second
  // beat of 32, as the shortest one has 34 bytes.
  localparam int unsigned MinBeat = (MinFrameBytes - 1) / DataBytes;
  localparam logic [6:0] MinBytes = 7'(MinFrameBytes - MinBeat * DataBytes);
  logic [1:0] beat_q;  // beat of the frame; stops at 2

  always_ff @(posedge clk_i) begin
    if (rst_i) beat_q <= '0;
    else if (frame_beat.valid && tx_ready_i) beat_q <= frame_beat.last ? '0 : beat_q[1] ? beat_q : beat_q + 1'b1;
  end

  assign tx_valid_o = frame_beat.valid;
  assign tx_last_o = frame_beat.last;
  assign tx_bytes_o = (frame_beat.last && beat_q == 2'(MinBeat) && frame_beat.bytes < MinBytes) ? MinBytes : frame_beat.bytes;

endmodule
