// Puts a prefix of Base + 4·words_i bytes in front of every frame of a stream.
//
// - The prefix comes beside the stream with `head_valid_i`, left-aligned in `head_i`. It has to hold until
//   `head_ready_o`, which comes with its last byte.
// - `alone_i`: no body follows; the frame consists of its prefix.
// - Bytes of the body beyond `bytes` have to be zero; they come out as zero.
//
// Timing: all outputs, including both readies, depend on the inputs of the same cycle. A beat leaves in every cycle
// in which prefix, body and receiver are ready, so a frame takes as many cycles as it has beats. While `beat_o.valid`
// waits for `ready_i`, it and the data hold.
module stream_prepend
  import stream_pkg::*;
#(
    parameter  int unsigned DataBytes = 32,
    parameter  int unsigned Base      = 0,
    parameter  int unsigned MaxWords  = 22,
    localparam int unsigned WordBits  = $clog2(MaxWords + 1),
    localparam int unsigned HeadBits  = 8 * (Base + 4 * MaxWords)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                head_valid_i,
    output logic                head_ready_o,
    input  logic [HeadBits-1:0] head_i,
    input  logic [WordBits-1:0] words_i,
    input  logic                alone_i,

    input  logic                   body_valid_i,
    input  logic                   body_last_i,
    input  logic [            6:0] body_bytes_i,
    input  logic [DataBytes*8-1:0] body_data_i,
    output logic                   body_ready_o,

    output beat_t                   beat_o,
    output logic  [DataBytes*8-1:0] data_o,
    input  logic                    ready_i
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned Lanes = DataBytes / 4;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned Odd = Base % 4;
  localparam int unsigned BaseLanes = Base / 4;
  localparam int unsigned HeadBeats = (HeadBits + DataBits - 1) / DataBits;
  localparam int unsigned BeatBits = $clog2(HeadBeats + 1);

  // Lanes at which a prefix can end; the rotator has only these.
  function automatic logic [Lanes-1:0] reachable_lanes();
    logic [Lanes-1:0] reach = '0;
    for (int unsigned w = 0; w <= MaxWords; w++) reach[(BaseLanes+w)%Lanes] = 1'b1;
    return reach;
  endfunction

  localparam logic [Lanes-1:0] Reachable = reachable_lanes();

  typedef enum logic [1:0] {
    StHead,  // next: a beat of the prefix; the last one is shared with the body
    StBody,  // next: what the last beat of the body left over, joined with a new one
    StFlush  // next: what the end of the body left over
  } state_e;

  state_e state_q, state_d;
  logic [BeatBits-1:0] sent_q, sent_d;  // beats of the prefix
  logic [LaneBits-1:0] lane_q, lane;
  logic [6:0] left_q, shift, total;
  logic [DataBits-1:0] carry_q, front, rotated;
  logic [15:0] head_lanes;
  logic in_prefix, join_body;

  assign head_lanes = 16'(BaseLanes) + 16'(words_i);
  assign lane = (state_q == StHead) ? LaneBits'(head_lanes) : lane_q;
  assign shift = {{(5 - LaneBits) {1'b0}}, lane, 2'(Odd)};
  // A whole beat of prefix; there are head_lanes / Lanes of these.
  assign in_prefix = state_q == StHead && 16'(sent_q) < head_lanes / 16'(Lanes);
  assign join_body = (state_q == StHead && !in_prefix && !alone_i) || state_q == StBody;
  assign total = shift + body_bytes_i;

  logic [  DataBits-1:0] behind;  // mask of the bytes from `shift` on
  logic [2*DataBits-1:0] twice;
  assign twice = {2{body_data_i}};

  always_comb begin
    // Body rotated by `shift` bytes. The bytes that do not fit wrap around to the front, where the next beat needs
    // them.
    rotated = body_data_i;
    behind  = '1;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (Reachable[l] && lane == LaneBits'(l)) begin
        rotated = twice[8*(4*l+Odd)+:DataBits];
        behind  = {DataBits{1'b1}} >> (8 * (4 * l + Odd));
      end
    end
  end

  logic [HeadBeats*DataBits-1:0] head_beats;
  assign head_beats = {head_i, {(HeadBeats * DataBits - HeadBits) {1'b0}}};

  always_comb begin
    front = carry_q;
    if (state_q == StHead) begin
      front = '0;
      for (int unsigned b = 0; b < HeadBeats; b++) begin
        if (sent_q == BeatBits'(b)) front = head_beats[(HeadBeats-b)*DataBits-1-:DataBits];
      end
    end
  end

  always_comb begin
    data_o = front;
    if (!in_prefix) begin
      data_o = front & ~behind;
      if (join_body) data_o |= rotated & behind;
    end
  end

  always_comb begin
    state_d      = state_q;
    sent_d       = sent_q;
    beat_o       = '0;
    head_ready_o = 1'b0;
    body_ready_o = 1'b0;
    beat_o.first = state_q == StHead && sent_q == '0;
    beat_o.bytes = 7'(DataBytes);
    if (state_q == StFlush) begin
      beat_o.valid = 1'b1;
      beat_o.last  = 1'b1;
      beat_o.bytes = left_q;
      if (ready_i) state_d = StHead;
    end else if (in_prefix) begin
      beat_o.valid = head_valid_i;
      beat_o.last  = alone_i && shift == '0 && 16'(sent_q) + 16'd1 == head_lanes / 16'(Lanes);
      if (head_valid_i && ready_i) begin
        sent_d       = beat_o.last ? '0 : sent_q + 1'b1;
        head_ready_o = beat_o.last;
      end
    end else if (!join_body) begin
      beat_o.valid = head_valid_i;
      beat_o.last  = 1'b1;
      beat_o.bytes = shift;
      if (head_valid_i && ready_i) begin
        sent_d       = '0;
        head_ready_o = 1'b1;
      end
    end else begin
      beat_o.valid = body_valid_i && (head_valid_i || state_q == StBody);
      beat_o.last  = body_last_i && total <= 7'(DataBytes);
      if (beat_o.last) beat_o.bytes = total;
      if (beat_o.valid && ready_i) begin
        body_ready_o = 1'b1;
        head_ready_o = state_q == StHead;
        sent_d       = '0;
        state_d      = !body_last_i ? StBody : beat_o.last ? StHead : StFlush;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= StHead;
      sent_q  <= '0;
    end else begin
      state_q <= state_d;
      sent_q  <= sent_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (beat_o.valid && ready_i) begin
      lane_q <= lane;
      if (join_body) begin
        carry_q <= rotated;
        left_q  <= total - 7'(DataBytes);
      end
    end
  end

endmodule
