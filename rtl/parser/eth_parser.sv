// First stage of the parser: Ethernet header and up to two VLAN tags.
//
// Takes one beat per cycle as the MAC delivers it. Strips the header and passes on the rest, realigned to its first
// byte, with the header's fields and the layer named by its EtherType. A frame that ends with the header gives one
// empty beat.
//
//      0               6               12      14      16      18
//     +---------------+---------------+-------+-------+-------+----
//     |  destination  |    source     | type  |                        untagged
//     |               |               | TPID  |  TCI  | type  |        one tag; a second one repeats TPID and TCI
//     +---------------+---------------+-------+-------+-------+----
//
// Timing: registered outputs. `head_o` holds from the frame's first beat to its last.
module eth_parser
  import eth_pkg::*, stream_pkg::*, roce_pkg::*, parser_pkg::*;
#(
    parameter int unsigned DataBytes = 32
) (
    input logic clk_i,
    input logic rst_i,

    input logic                   valid_i,
    input logic                   last_i,
    input logic [            6:0] bytes_i,
    input logic [DataBytes*8-1:0] data_i,

    output beat_t beat_o,
    output logic [DataBytes*8-1:0] data_o,
    output l2_head_t head_o,
    output logic [15:0] frame_bytes_o  // with the last beat: the whole frame, from the destination address on
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned MaxHeaderBytes = EthHeaderBytes + 2 * TagBytes;

  function automatic logic is_tag(input logic [15:0] ether_type);
    return ether_type == EtherTypeCTag || ether_type == EtherTypeSTag;
  endfunction

  // Position of the beat in its frame
  logic in_frame_q;
  logic [15:0] seen_q, frame_bytes;
  beat_t beat;

  assign beat = '{valid: valid_i, first: ~in_frame_q, last: last_i, bytes: last_i ? bytes_i : 7'(DataBytes)};
  assign frame_bytes = (beat.first ? 16'd0 : seen_q) + 16'(beat.bytes);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      in_frame_q <= 1'b0;
      seen_q     <= '0;
    end else if (valid_i) begin
      in_frame_q <= ~last_i;
      seen_q     <= frame_bytes;
    end
  end

  // Header fields; all bytes of the header are in the first beat.
  logic [MaxHeaderBytes*8-1:0] wire_head;
  logic [15:0] type0, type1, type2;
  logic tag0, tag1, cut;
  l2_head_t head, head_q;

  assign wire_head = data_i[DataBits-1-:MaxHeaderBytes*8];
  assign {type0, type1, type2} = {wire_head[79-:16], wire_head[47-:16], wire_head[15-:16]};

  always_comb begin
    tag0 = 1'b0;
    tag1 = 1'b0;
    cut  = 1'b0;
    head = '0;
    if (beat.valid && beat.first) begin
      // Bytes behind the end of a cut frame are stale, so each level is valid only when the previous one is whole.
      tag0 = is_tag(type0) && beat.bytes >= 7'd18;
      tag1 = tag0 && is_tag(type1) && beat.bytes >= 7'd22;
      cut  = tag0 ? is_tag(type1) && !tag1 : is_tag(type0);

      if (beat.bytes < 7'd14) begin
        head.reason = ReasonEthTruncated;
      end else begin
        head.whole    = 1'b1;
        head.eth.dst  = wire_head[175-:48];
        head.eth.src  = wire_head[127-:48];
        head.eth.tags = {tag1, tag0 & ~tag1};
        if (tag0) head.eth.outer = wire_head[63-:16];
        if (tag1) head.eth.inner = wire_head[31-:16];
        head.eth.ether_type = tag1 ? type2 : tag0 ? type1 : type0;
        if (cut) head.reason = ReasonVlanTruncated;
        else
          case (head.eth.ether_type)
            EtherTypeIpv4:       head.ip_kind = IpV4;
            EtherTypeIpv6:       head.ip_kind = IpV6;
            EtherTypeRoceV1:     head.ip_kind = IpGrh;
            EtherTypeMacControl: head.control = ~tag0;
            default:             ;
          endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && beat.first) head_q <= head;
  end

  // Header strip
  beat_t rest;
  logic [DataBits-1:0] rest_data;
  logic [15:0] rest_frame_bytes;

  stream_strip #(
      .DataBytes(DataBytes),
      .Base(EthHeaderBytes),
      .MaxWords(2),
      .TailBits(16)
  ) u_strip (
      .clk_i,
      .rst_i,
      .beat_i (beat),
      .data_i,
      .words_i({tag1, tag0 & ~tag1}),
      .tail_i (frame_bytes),
      .beat_o (rest),
      .data_o (rest_data),
      .tail_o (rest_frame_bytes)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) beat_o <= '0;
    else beat_o <= rest;
  end

  always_ff @(posedge clk_i) begin
    if (rest.valid) begin
      data_o        <= rest_data;
      frame_bytes_o <= rest_frame_bytes;
      if (rest.first) head_o <= head_q;
    end
  end

endmodule
