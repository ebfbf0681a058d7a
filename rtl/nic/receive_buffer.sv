// Receive buffer in `Buffers` parts: each has payload in a ring of beats and headers in a queue beside it, in order of
// arrival. A class belongs to one part, so that a flood of one class takes no room from the classes of other parts.
// Reports the depth per class.
//
// - Both are cut in cells of 64 bytes: a part of n cells has n · 64 bytes of payload and n headers. Parts 1 to 3 have
//   `cells_i`; part 0 has the rest. Sizes may change only while no frame is kept; a frame that arrives then is dropped.
// - The map of classes may change at any time. A frame belongs to the part that its class has when its payload begins,
//   or with its verdict if it has none, and carries the part to its release.
// - A request with more payload than any packet has (PayloadTooLong) is kept without its payload.
// - Payload beats are written to the ring as they arrive. The frame's verdict comes with or after its last beat: with
//   `keep_i` the beats stay and the header goes into the queue, otherwise the next frame overwrites them.
// - A frame whose payload or header does not fit into its part is dropped as a whole: `full_o` in the cycle of the
//   verdict.
// - A frame counts at least 60 bytes of depth and takes at most as many bytes of the ring. No frame is therefore
//   dropped below 15/16 of its part.
// - A header leaves the queue long before its payload leaves the ring. `release_i` frees ring and depth.
//
// Headers are in one RAM. Each part has one ready to be taken: it is fetched while the one before it is taken, and is
// offered two cycles later.
//
// Timing: `full_o` and `idle_o` depend on inputs of the same cycle; all other outputs are registers.
module receive_buffer
  import nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned BufferBytes = 131072,                           // a power of two
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned AddressBits = $clog2(BufferBytes / DataBytes),
    localparam int unsigned CountBits   = $clog2(BufferBytes / 64 + 1)
) (
    input logic clk_i,        // frames; rises when `moves_o` is 1
    input logic clk_beats_i,  // payload: rises with every beat that comes or is read
    input logic rst_i,

    input cells_t  [Buffers-1:1] cells_i,
    input buffer_t [        7:0] buffer_of_i, // by class

    input class_t                   class_i,          // of the frame, with its payload; that of the header is its own
    input logic                     payload_valid_i,
    input logic   [DataBytes*8-1:0] payload_data_i,

    input  logic                  done_valid_i,
    input  logic                  keep_i,
    input  logic     [QpBits-1:0] qp_i,
    input  waiting_t              header_i,      // `part` and `beat` are set here
    output logic                  full_o,

    output logic     [Buffers-1:0]             head_valid_o,
    input  logic     [Buffers-1:0]             head_ready_i,
    output logic     [Buffers-1:0][QpBits-1:0] head_qp_o,
    output waiting_t [Buffers-1:0]             head_o,

    output logic [Buffers-1:0][AddressBits-1:0] first_o,  // first and last beat of each ring
    output logic [Buffers-1:0][AddressBits-1:0] last_o,

    input  logic                   read_i,
    input  logic [AddressBits-1:0] read_address_i,
    output logic [DataBytes*8-1:0] read_data_o,

    input logic           release_i,
    input class_t         release_class_i,
    input buffer_t        release_part_i,
    input logic    [15:0] release_bytes_i,  // of the frame
    input beats_t         release_beats_i,

    output logic [7:0][23:0] depth_o,

    output logic [Buffers-1:0][CountBits-1:0] count_o,  // headers in each queue

    output logic settles_o,  // sizes have changed; `clk_beats_i` rises in this cycle too
    output logic moves_o,    // the state on `clk_i` changes with this cycle
    output logic idle_o
);

  localparam int unsigned Cells = BufferBytes / 64;
  localparam int unsigned CellBits = $clog2(Cells);
  localparam int unsigned BeatsBits = $clog2(64 / DataBytes);  // beats of a cell, as a power of two

  typedef logic [AddressBits-1:0] address_t;
  typedef logic [AddressBits:0] number_t;  // of beats
  typedef logic [CellBits-1:0] slot_t;  // of a header

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Bounds: parts 1 to 3 one behind the other, then part 0

  logic [Buffers-1:0][CountBits-1:0] base_d, base_q, size_d, size_q;  // in cells

  // The first cell behind the parts so far: of the lower half, and of the upper half without those of the lower one
  logic [CountBits-1:0] lower_d, upper_d;
  cells_t [Buffers-1:1] cells_q;
  logic cells_move, moved_q;  // bounds follow two cycles after a change

  assign cells_move = cells_q != cells_i;

  always_comb begin
    {lower_d, upper_d} = '0;
    for (int unsigned b = 1; b < Buffers; b++) size_d[b] = CountBits'(cells_q[b]);
    for (int unsigned b = 1; b < Buffers / 2; b++) begin
      base_d[b] = lower_d;
      lower_d   = lower_d + size_d[b];
    end
    for (int unsigned b = Buffers / 2; b < Buffers; b++) begin
      base_d[b] = lower_d + upper_d;
      upper_d   = upper_d + size_d[b];
    end
    base_d[0] = lower_d + upper_d;
    size_d[0] = CountBits'(Cells) - base_d[0];
  end

  always_ff @(posedge clk_i) moved_q <= rst_i || cells_move;

  always_ff @(posedge clk_i) begin
    cells_q <= cells_i;
    if (moved_q) {base_q, size_q} <= {base_d, size_d};
  end

  number_t [Buffers-1:0] room;  // beats of each ring
  slot_t [Buffers-1:0] first_slot, last_slot;

  always_comb begin
    for (int unsigned b = 0; b < Buffers; b++) begin
      room[b]       = number_t'(size_q[b]) << BeatsBits;
      first_o[b]    = address_t'(base_q[b]) << BeatsBits;
      last_o[b]     = first_o[b] + address_t'(room[b]) - 1'b1;
      first_slot[b] = slot_t'(base_q[b]);
      last_slot[b]  = first_slot[b] + slot_t'(size_q[b]) - 1'b1;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Payload

  buffer_t to_q, to, part;  // part of the payload that arrives, and of its header
  address_t [Buffers-1:0] tail_q;  // where the next frame begins
  number_t  [Buffers-1:0] used_q;  // beats of frames that were kept
  address_t at_q, at, behind;  // next beat of this frame, and the one behind it
  number_t came_q, came;  // beats of this frame
  logic over_q, over;  // payload of this frame did not fit
  logic begun_q;  // some of it came
  logic write, fits, keep, slot_free, bounds_move, settling_q;
  logic [Buffers-1:0] some;  // parts with room for a first beat
  logic bare;  // kept without its payload

  assign to     = begun_q ? to_q : buffer_of_i[class_i];
  assign part   = (begun_q || payload_valid_i) ? to : buffer_of_i[header_i.class_of];
  assign at     = begun_q ? at_q : tail_q[to];
  assign behind = (at == last_o[to]) ? first_o[to] : at + 1'b1;
  assign write  = payload_valid_i && !over_q && fits;
  assign over   = over_q || (payload_valid_i && !write) || (settling_q && (came_q != '0 || payload_valid_i));
  assign came   = came_q + number_t'(write);
  assign bare   = header_i.arrival.payload_bytes == PayloadTooLong;
  assign keep   = done_valid_i && keep_i && (!over || bare) && slot_free;
  assign full_o = done_valid_i && keep_i && !keep;

  // The class of a first beat is known late, and how much room there is before.
  always_comb begin
    some = '0;
    fits = 1'b0;
    if (begun_q) fits = came_q < number_t'(room[to_q] - used_q[to_q]);
    else if (payload_valid_i) begin
      for (int unsigned b = 0; b < Buffers; b++) some[b] = used_q[b] != room[b];
      fits = some[to];
    end
  end

  always_ff @(posedge clk_beats_i) begin
    if (rst_i) begin
      came_q  <= '0;
      over_q  <= 1'b0;
      begun_q <= 1'b0;
    end else begin
      came_q  <= done_valid_i ? '0 : came;
      over_q  <= !done_valid_i && over;
      begun_q <= !done_valid_i && (begun_q || payload_valid_i);
    end
  end

  address_t beat_q, beat;  // first beat of this frame
  assign beat = begun_q ? beat_q : tail_q[to];

  always_ff @(posedge clk_beats_i) begin
    if (write) {at_q, beat_q} <= {behind, beat};
    if (payload_valid_i) to_q <= to;
  end

  ram_1r1w #(
      .Width(DataBytes * 8),
      .Depth(BufferBytes / DataBytes)
  ) u_ring (
      .clk_i          (clk_beats_i),
      .write_i        (write),
      .write_address_i(at),
      .data_i         (payload_data_i),
      .read_i,
      .read_address_i,
      .data_o         (read_data_o)
  );

  // That a frame is kept is known late, so that it only chooses.
  for (genvar b = 0; b < Buffers; b++) begin : gen_ring
    logic come, go;
    number_t stays;
    assign come  = keep && part == buffer_t'(b);
    assign go    = release_i && release_part_i == buffer_t'(b);
    assign stays = go ? used_q[b] - number_t'(release_beats_i) : used_q[b];

    // An empty ring begins anew at its first beat, wherever that is now.
    always_ff @(posedge clk_i) begin
      if (come && !bare && (write || came_q != '0)) tail_q[b] <= write ? behind : at_q;
      else if (used_q[b] == '0) tail_q[b] <= first_o[b];

      if (rst_i) used_q[b] <= '0;
      else if (come || go) used_q[b] <= come ? stays + (bare ? '0 : came_q) + number_t'(!bare && write) : stays;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Headers

  slot_t [Buffers-1:0] put_q, get_q;
  logic [Buffers-1:0][CountBits-1:0] stored_q;  // in the RAM
  logic [Buffers-1:0] wanted, fetch, fetch_q, valid_q;
  waiting_t header;
  slot_t fetch_slot;
  logic [QpBits+$bits(waiting_t)-1:0] fetched;

  logic [Buffers-1:0] slots_free;

  always_comb begin
    slots_free = '0;
    if (done_valid_i) for (int unsigned b = 0; b < Buffers; b++) slots_free[b] = stored_q[b] < size_q[b];
  end

  assign slot_free = slots_free[part];

  always_comb begin
    header      = header_i;
    header.part = part;
    header.beat = 16'(beat);
    for (int unsigned b = 0; b < Buffers; b++)
    wanted[b] = stored_q[b] != '0 && !fetch_q[b] && (!valid_q[b] || head_ready_i[b]);
    fetch      = wanted & (~wanted + 1'b1);
    fetch_slot = '0;
    for (int unsigned b = 0; b < Buffers; b++) if (fetch[b]) fetch_slot |= get_q[b];
  end

  ram_1r1w #(
      .Width(QpBits + $bits(waiting_t)),
      .Depth(Cells)
  ) u_headers (
      .clk_i,
      .write_i        (keep),
      .write_address_i(put_q[part]),
      .data_i         ({qp_i, header}),
      .read_i         (fetch != '0),
      .read_address_i (fetch_slot),
      .data_o         (fetched)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      fetch_q <= '0;
      valid_q <= '0;
    end else begin
      fetch_q <= fetch;
      valid_q <= fetch_q | (valid_q & ~head_ready_i);
    end
  end

  for (genvar b = 0; b < Buffers; b++) begin : gen_queue
    logic push;
    assign push = keep && part == buffer_t'(b);

    always_ff @(posedge clk_i) begin
      if (rst_i) stored_q[b] <= '0;
      else stored_q[b] <= stored_q[b] + CountBits'(push) - CountBits'(fetch[b]);

      if (stored_q[b] == '0 && !push) {put_q[b], get_q[b]} <= {2{first_slot[b]}};
      else begin
        if (push) put_q[b] <= (put_q[b] == last_slot[b]) ? first_slot[b] : put_q[b] + 1'b1;
        if (fetch[b]) get_q[b] <= (get_q[b] == last_slot[b]) ? first_slot[b] : get_q[b] + 1'b1;
      end
      if (fetch_q[b]) {head_qp_o[b], head_o[b]} <= fetched;
    end

    assign count_o[b] = stored_q[b] + CountBits'(fetch_q[b]) + CountBits'(valid_q[b]);
  end

  assign head_valid_o = valid_q;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Depth

  for (genvar c = 0; c < 8; c++) begin : gen_class
    logic [23:0] depth_q, stays;
    logic come, go;

    assign come  = keep && header_i.class_of == class_t'(c);
    assign go    = release_i && release_class_i == class_t'(c);
    assign stays = go ? depth_q - 24'(release_bytes_i) : depth_q;

    always_ff @(posedge clk_i) begin
      if (rst_i) depth_q <= '0;
      else if (come || go) depth_q <= come ? stays + 24'(header_i.frame_bytes) : stays;
    end

    assign depth_o[c] = depth_q;
  end

  // Bounds settle two cycles after a change, empty queues in the cycle after that.
  logic happens, happened_q;
  assign bounds_move = cells_move || moved_q;
  assign happens = keep || release_i || wanted != '0 || fetch_q != '0 || (valid_q & head_ready_i) != '0 || bounds_move;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      happened_q <= 1'b0;
      settling_q <= 1'b0;
    end else begin
      happened_q <= happens;
      settling_q <= bounds_move;
    end
  end

  assign settles_o = settling_q;
  assign moves_o   = happens || happened_q;

  assign idle_o    = !payload_valid_i && !done_valid_i && !release_i && count_o == '0 && !bounds_move && !happened_q;

  logic empty;  // no frame is in the buffer
  assign empty = used_q == '0 && count_o == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      for (int unsigned b = 0; b < Buffers; b++) begin
        assert (used_q[b] <= room[b] || empty)
        else $error("receive_buffer: more in a ring than it has");
      end
      assert (empty || !bounds_move)
      else $error("receive_buffer: sizes change while a frame is in the buffer");
      assert (!keep || !(begun_q || payload_valid_i) || header_i.class_of == class_i)
      else $error("receive_buffer: header and payload of different classes");
    end
  end

endmodule
