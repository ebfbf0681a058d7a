// Strips the first Base + 4·words_i bytes from every frame of a stream and realigns the rest to the first byte of a
// beat.
//
// - `words_i` is read with the first beat of a frame.
// - Every frame gives at least one beat. If nothing is left, it is one beat of 0 bytes that is first and last.
// - `tail_i` is read with the last beat of a frame and comes out with its last beat.
// - Bytes beyond `bytes` may have any value.
//
// Timing: outputs depend on the inputs of the same cycle.
//
// - A beat leaves when its last byte has come, at the latest one cycle after the frame's last beat came in.
// - When the first beat of a frame leaves, all bytes that were stripped from it have come in an earlier cycle.
// - There is no back-pressure: one beat per cycle, frames of any length back to back.
module stream_strip
  import stream_pkg::*;
#(
    parameter  int unsigned DataBytes = 32,
    parameter  int unsigned Base      = 0,
    parameter  int unsigned MaxWords  = 15,
    parameter  int unsigned TailBits  = 1,
    localparam int unsigned WordBits  = $clog2(MaxWords + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input beat_t                   beat_i,
    input logic  [DataBytes*8-1:0] data_i,
    input logic  [   WordBits-1:0] words_i,
    input logic  [   TailBits-1:0] tail_i,

    output beat_t                   beat_o,
    output logic  [DataBytes*8-1:0] data_o,
    output logic  [   TailBits-1:0] tail_o
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned Lanes = DataBytes / 4;
  localparam int unsigned LaneBits = $clog2(Lanes);
  // A strip of Base + 4w bytes consists of `skip` whole beats followed by Odd + 4·lane bytes.
  localparam int unsigned Odd = Base % 4;
  localparam int unsigned BaseLanes = Base / 4;
  localparam int unsigned SkipBits = $clog2((BaseLanes + MaxWords) / Lanes + 1) + 1;

  // Lanes at which a strip can end; the multiplexer has only these.
  function automatic logic [Lanes-1:0] reachable_lanes();
    logic [Lanes-1:0] reach = '0;
    for (int unsigned w = 0; w <= MaxWords; w++) reach[(BaseLanes+w)%Lanes] = 1'b1;
    return reach;
  endfunction

  localparam logic [Lanes-1:0] Reachable = reachable_lanes();

  // End of the current frame's strip, determined with its first beat
  logic [SkipBits-1:0] skip_q, skip;
  logic [LaneBits-1:0] lane_q, lane;
  logic [15:0] strip_lanes;

  assign strip_lanes = 16'(BaseLanes) + 16'(words_i);
  assign skip = beat_i.first ? SkipBits'(strip_lanes / 16'(Lanes)) : skip_q;
  assign lane = beat_i.first ? LaneBits'(strip_lanes) : lane_q;

  // Held beat: its upper bytes have left, its lower bytes wait for the next beat
  logic                held_q;
  logic                held_first_q;  // nothing of this frame has left yet
  logic                held_last_q;
  logic [         6:0] held_bytes_q;
  logic [DataBits-1:0] held_data_q;
  logic [TailBits-1:0] held_tail_q;

  logic                flush;  // the held beat ends its frame and leaves alone
  logic                joined;  // the held beat leaves with bytes of the current one
  logic                used_up;  // the current beat ends its frame and leaves completely
  logic [         6:0] shift_q;

  assign shift_q = {{(5 - LaneBits) {1'b0}}, lane_q, 2'(Odd)};
  assign flush   = held_q & held_last_q;
  assign joined  = held_q & ~held_last_q & beat_i.valid;
  assign used_up = joined & beat_i.last & (beat_i.bytes <= shift_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      held_q       <= 1'b0;
      held_first_q <= 1'b0;
      held_last_q  <= 1'b0;
      held_bytes_q <= '0;
      skip_q       <= '0;
      lane_q       <= '0;
    end else begin
      if (beat_i.valid) begin
        lane_q <= lane;
        skip_q <= (skip == '0) ? '0 : skip - 1'b1;
        if (skip == '0) begin
          held_q       <= ~used_up;
          held_first_q <= beat_i.first | (held_first_q & ~joined);
          held_last_q  <= beat_i.last;
          held_bytes_q <= beat_i.bytes;
        end else begin
          // Within the strip. A frame that ends here leaves the empty beat, any other leaves nothing.
          held_q       <= beat_i.last;
          held_first_q <= 1'b1;
          held_last_q  <= 1'b1;
          held_bytes_q <= '0;
        end
      end else if (flush) begin
        held_q <= 1'b0;
      end
    end
  end

  // Data needs no reset because `held_q` qualifies it.
  always_ff @(posedge clk_i) begin
    if (beat_i.valid) begin
      held_data_q <= data_i;
      if (beat_i.last) held_tail_q <= tail_i;
    end
  end

  always_comb begin
    beat_o.valid = flush | joined;
    beat_o.first = held_first_q;
    beat_o.last  = flush | used_up;
    if (flush) begin
      beat_o.bytes = (held_bytes_q > shift_q) ? held_bytes_q - shift_q : 7'd0;
    end else if (beat_i.last && beat_i.bytes <= shift_q) begin
      beat_o.bytes = 7'(DataBytes) - shift_q + beat_i.bytes;
    end else begin
      beat_o.bytes = 7'(DataBytes);
    end
  end

  assign tail_o = flush ? held_tail_q : tail_i;

  logic [2*DataBits-1:0] pair;
  assign pair = {held_data_q, data_i};

  always_comb begin
    data_o = '0;
    if (beat_o.valid) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (Reachable[l] && lane_q == LaneBits'(l)) begin
          data_o = pair[2*DataBits-1-8*(4*l+Odd)-:DataBits];
        end
      end
    end
  end

endmodule
