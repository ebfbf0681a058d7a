// Invariant CRC of RoCE (IBTA volume 1, 7.8.1; A16, A17), computed in line with the stream that it covers.
//
// The stream starts at the network header, whose kind comes with its first beat. The CRC covers eight bytes of ones,
// followed by the packet with ones in place of the fields that a router or switch may change:
//
//     IPv4        TOS (byte 1), TTL (8), header checksum (10, 11)
//     IPv6, GRH   traffic class, flow label (low half of byte 0 to byte 3), hop limit (7)
//     UDP         checksum (6, 7)
//     BTH         byte 4: FECN, BECN and six reserved bits
//
// - Check = 1: the stream includes the ICRC, and `ok_o` says whether it is right. The length of the packet is read from
//   the network header; bytes of the frame behind it are not covered.
// - Check = 0: the stream ends before the ICRC, and `icrc_o` is its value, with the first byte of the wire in the top
//   bits. Bytes of the last beat behind its end have to be zero, and an IPv4 header has no options.
// - The result of a packet whose length is not a multiple of 4, or that is cut short, has no meaning.
//
// Timing: latency is two enabled cycles. `head_i` is carried with the first beat, `tail_i` with the last; `ok_o` and
// `icrc_o` are valid with the last. The feedback of the CRC register is one 32 by 32 matrix; the wide matrix has a
// stage of its own.
module icrc
  import eth_pkg::*, stream_pkg::*, crc_pkg::*;
#(
    parameter int unsigned DataBytes = 32,
    parameter bit          Check     = 1'b1,
    parameter int unsigned HeadBits  = 1,
    parameter int unsigned TailBits  = 1
) (
    input logic clk_i,
    input logic rst_i,
    input logic enable_i, // clock enable of the whole pipeline

    input beat_t                      beat_i,
    input logic     [DataBytes*8-1:0] data_i,
    input ip_kind_e                   kind_i,  // with the first beat; IpNone: nothing to cover
    input logic     [   HeadBits-1:0] head_i,
    input logic     [   TailBits-1:0] tail_i,

    output beat_t                   beat_o,
    output logic  [DataBytes*8-1:0] data_o,
    output logic  [   HeadBits-1:0] head_o,
    output logic  [   TailBits-1:0] tail_o,
    output logic                    ok_o,
    output logic  [           31:0] icrc_o
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned Lanes = DataBytes / 4;
  localparam int unsigned LaneBits = $clog2(Lanes);
  // The bits that are replaced by ones are in the first 24 words of a packet.
  localparam int unsigned HeadBeats = (24 + Lanes - 1) / Lanes;
  localparam int unsigned BeatBits = $clog2(HeadBeats + 1);

  // CRC register after eight bytes of ones: the first four clear it, and four more on a clear register give the CRC
  // of the empty message, which is the residue.
  localparam logic [31:0] Preset = Crc32Residue;

  typedef logic [Lanes-1:0][31:0] residues_t;

  // Residue of a message whose last beat was filled up with l zero words.
  function automatic residues_t residues();
    residues_t r;
    for (int unsigned l = 0; l < Lanes; l++) r[l] = crc32_forward(Crc32Residue, 32 * l);
    return r;
  endfunction

  localparam residues_t Residues = residues();

  typedef crc32_map_t [LaneBits-1:0] maps_t;

  // Inverse maps over 1, 2, 4 … zero words
  function automatic maps_t maps_back();
    maps_t maps;
    for (int unsigned i = 0; i < LaneBits; i++) maps[i] = crc32_map(32 << i, 1'b1);
    return maps;
  endfunction

  localparam maps_t Backs = maps_back();

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Coverage: which bytes of this beat are covered, and which are replaced

  logic [3:0] words_q, words;  // of the network header
  logic udp_q, udp;
  logic [BeatBits-1:0] beats_q, beats;  // beats of the packet before this one; stops behind the headers
  logic [5:0] lane0;  // word of the packet at which this beat starts
  logic any;  // something in this beat is covered
  logic ends;  // coverage ends in this beat
  logic [LaneBits-1:0] fill;  // number of zero words behind the end

  always_comb begin
    words = words_q;
    udp   = udp_q;
    beats = beats_q;
    if (beat_i.first) begin
      words = (kind_i != IpV4) ? 4'd10 : Check ? data_i[DataBits-5-:4] : 4'(Ipv4HeaderBytes / 4);
      udp   = kind_i != IpGrh;
      beats = '0;
    end
    lane0 = 6'(beats) * 6'(Lanes);
  end

  always_ff @(posedge clk_i) begin
    if (enable_i && beat_i.valid) begin
      words_q <= words;
      udp_q   <= udp;
      beats_q <= (beats != BeatBits'(HeadBeats)) ? beats + 1'b1 : beats;
    end
  end

  if (Check) begin : gen_length
    logic [16:0] left_q, left;  // bytes still to cover, including this beat

    always_comb begin
      left = left_q;
      if (beat_i.first) begin
        case (kind_i)
          IpNone:  left = '0;
          IpV4:    left = {1'b0, data_i[DataBits-17-:16]};
          default: left = {1'b0, data_i[DataBits-33-:16]} + 17'(Ipv6HeaderBytes);
        endcase
      end
      any  = left != '0;
      ends = any && left <= 17'(DataBytes);
      fill = ends ? LaneBits'(Lanes) - left[2+:LaneBits] : '0;
    end

    always_ff @(posedge clk_i) begin
      if (rst_i) left_q <= '0;
      else if (enable_i && beat_i.valid) left_q <= (left > 17'(DataBytes)) ? left - 17'(DataBytes) : '0;
    end
  end else begin : gen_whole
    logic covers_q;

    always_comb begin
      any  = beat_i.first ? kind_i != IpNone : covers_q;
      ends = any && beat_i.last;
      fill = ends ? LaneBits'(Lanes) - beat_i.bytes[2+:LaneBits] : '0;
    end

    always_ff @(posedge clk_i) begin
      if (enable_i && beat_i.valid) covers_q <= any;
    end
  end

  logic [DataBits-1:0] covered;

  always_comb begin
    covered = data_i;
    if (beat_i.first) begin
      if (kind_i == IpV4) covered[DataBits-1-:96] |= 96'h00FF0000_00000000_FF00FFFF;
      else covered[DataBits-1-:96] |= 96'h0FFFFFFF_000000FF_00000000;
    end
    if (beat_i.valid && beats != BeatBits'(HeadBeats)) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (udp && lane0 + 6'(l) == 6'(words) + 6'd1) covered[DataBits-1-32*l-:32] |= 32'h0000FFFF;
        if (lane0 + 6'(l) == 6'(words) + (udp ? 6'd3 : 6'd1)) covered[DataBits-1-32*l-:32] |= 32'hFF000000;
      end
    end
    if (Check && fill != '0) begin
      for (int unsigned l = 1; l < Lanes; l++) begin
        if (l + 32'(fill) >= Lanes) covered[DataBits-1-32*l-:32] = '0;
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 1: CRC of the beat alone

  logic [31:0] fold_q;

  crc32_fold #(
      .DataBytes(DataBytes)
  ) u_fold (
      .clk_i,
      .enable_i(enable_i && beat_i.valid && any),
      .data_i  (covered),
      .crc_o   (fold_q)
  );

  beat_t beat_q;
  logic [DataBits-1:0] data_q;
  logic [HeadBits-1:0] head_q;
  logic [TailBits-1:0] tail_q;
  logic covers_q;
  logic [LaneBits-1:0] fill_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) beat_q <= '0;
    else if (enable_i) beat_q <= beat_i;
  end

  always_ff @(posedge clk_i) begin
    if (enable_i && beat_i.valid) begin
      data_q   <= data_i;
      covers_q <= any;
      fill_q   <= fill;
      if (beat_i.first) head_q <= head_i;
      if (beat_i.last) tail_q <= tail_i;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Stage 2: CRC register

  localparam crc32_map_t OverBeat = crc32_map(DataBits, 1'b0);

  logic [31:0] crc_q, crc;

  always_comb begin
    crc = '0;
    if (beat_q.valid) crc = crc32_apply(OverBeat, beat_q.first ? Preset : crc_q) ^ fold_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) beat_o <= '0;
    else if (enable_i) beat_o <= beat_q;
  end

  always_ff @(posedge clk_i) begin
    if (enable_i && beat_q.valid) begin
      data_o <= data_q;
      if (beat_q.first) head_o <= head_q;
      if (beat_q.last) tail_o <= tail_q;
      if (covers_q) crc_q <= crc;
    end
  end

  if (Check) begin : gen_check
    logic ends_q;

    always_ff @(posedge clk_i) begin
      if (enable_i && beat_i.valid) ends_q <= ends;
      if (enable_i && beat_q.valid) begin
        if (ends_q) ok_o <= crc == Residues[fill_q];
        else if (beat_q.first) ok_o <= 1'b0;
      end
    end
    assign icrc_o = '0;
  end else begin : gen_make
    // The register includes the zero words that filled the last beat: undo them, by powers of two.
    logic [LaneBits-1:0] back_q;
    logic [31:0] crc_end;

    always_ff @(posedge clk_i) begin
      if (enable_i && beat_q.valid) back_q <= fill_q;
    end

    always_comb begin
      crc_end = crc_q;
      for (int unsigned i = 0; i < LaneBits; i++) begin
        if (back_q[i]) crc_end = crc32_apply(Backs[i], crc_end);
      end
    end

    // Complemented, lowest byte first
    assign icrc_o = ~{crc_end[7:0], crc_end[15:8], crc_end[23:16], crc_end[31:24]};
    assign ok_o   = 1'b0;
  end

endmodule
