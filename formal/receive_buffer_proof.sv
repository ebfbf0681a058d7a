// Proof of receive_buffer with few cells, for all maps of classes: a kept frame's header leaves its part's
// queue unchanged, after exactly those that were kept before it; its payload is read at `beat` and behind it until its
// release; a frame that is not kept leaves no trace; `full_o` exactly when the frame does not fit; depth and used beats
// are the sums over the frames inside.
//
// An arbitrary class, an arbitrary frame of its part and an arbitrary beat of this frame are followed. The other parts
// do what they like meanwhile, so that none of it depends on them.
//
// What the rest of the NIC guarantees is assumed: the class is stable in a frame; sizes and the map hold, and frames
// come only after they have settled; frames are released in the order in which their headers were taken, each with its
// own beats, bytes and class. Releases of the other parts are only assumed to be no larger than what is in the part, as
// is proved for the part that is followed, which may be any of them. Of headers and payload, a few bits stand for all,
// because the buffer looks at none of them.
module receive_buffer_proof
  import nic_pkg::*;
#(
    parameter  int unsigned Qps         = 4,
    parameter  int unsigned BufferBytes = 512,
    parameter  int unsigned Cells1      = 2,                 // of parts 1 to 3; 4 to 7 have none
    parameter  int unsigned Cells2      = 2,
    parameter  int unsigned Cells3      = 2,
    parameter  int unsigned Part        = 2,                 // that is followed
    localparam int unsigned Cells       = BufferBytes / 64,
    localparam int unsigned Beats       = BufferBytes / 32,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned CellBits    = $clog2(Cells),
    localparam int unsigned AddressBits = $clog2(Beats)
) (
    input logic                      clk_i,
    input buffer_t [            7:0] buffer_of_i,
    input class_t                    class_i,
    input logic                      payload_valid_i,
    input logic    [            1:0] payload_i,
    input logic                      done_valid_i,
    input logic                      keep_i,
    input logic                      bare_i,
    input logic    [     QpBits-1:0] qp_i,
    input logic    [            3:0] bytes_i,
    input logic    [            1:0] mark_i,
    input logic    [    Buffers-1:0] head_ready_i,
    input logic                      read_i,
    input logic    [AddressBits-1:0] read_address_i,
    input logic                      release_i,
    input class_t                    release_class_i,
    input logic    [            3:0] release_bytes_i,
    input logic    [  AddressBits:0] release_beats_i,
    input class_t                    which_i,
    input logic    [AddressBits-1:0] beat_i,
    input logic                      follow_i
);

  typedef logic [6:0] number_t;  // of beats, frames and headers; large enough for the sums here

  localparam buffer_t Followed = buffer_t'(Part);
  localparam number_t TakenMax = 7'd6;  // frames whose headers were taken and that were not released

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Constants: map, class, its part, beat. In cycle 0 they are chosen; the sizes settle until cycle 3, and
  // then the queues.

  logic [2:0] age_q = '0;
  buffer_t [7:0] buffer_of_q;
  class_t which_q;
  number_t beat_q;
  logic runs;

  assign runs = age_q == 3'd5;  // the bounds have settled

  always_ff @(posedge clk_i) begin
    if (!runs) age_q <= age_q + 1'b1;
    if (age_q == '0) begin
      buffer_of_q          <= buffer_of_i;
      buffer_of_q[which_i] <= Followed;
      which_q              <= which_i;
      beat_q               <= number_t'(beat_i);
    end
  end

  cells_t [Buffers-1:1] sizes;
  number_t [Buffers-1:0] base, size;
  number_t first, room, first_slot, slots;  // of the part

  always_comb begin
    sizes    = '0;
    sizes[1] = cells_t'(Cells1);
    sizes[2] = cells_t'(Cells2);
    sizes[3] = cells_t'(Cells3);
    for (int unsigned b = 1; b < Buffers; b++) size[b] = number_t'(sizes[b]);
    base[1] = '0;
    for (int unsigned b = 2; b < Buffers; b++) base[b] = base[b-1] + size[b-1];
    base[0]    = base[Buffers-1] + size[Buffers-1];
    size[0]    = number_t'(Cells) - base[0];
    first_slot = base[Followed];
    slots      = size[Followed];
    first      = first_slot << 1;
    room       = slots << 1;
  end

  function automatic number_t wrap(input number_t at, input number_t begins, input number_t length);
    return (at >= begins + length) ? at - length : at;
  endfunction

  function automatic logic lies_in(input number_t at, input number_t begins, input number_t length);
    return at >= begins && at < begins + length;
  endfunction

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Design

  logic payload_valid, done_valid, released, full, unused_settles, unused_moves, unused_idle;
  logic in_frame_q = 1'b0;
  class_t frame_class_q, frame_class;
  waiting_t header;
  logic [Buffers-1:0] head_valid, head_ready;
  logic [Buffers-1:0][QpBits-1:0] head_qp;
  waiting_t [Buffers-1:0] head;
  logic [Buffers-1:0][AddressBits-1:0] ring_first, ring_last;
  logic [255:0] read_data;
  logic [7:0][23:0] depth;
  logic [Buffers-1:0][$clog2(Cells+1)-1:0] count;
  number_t frames_q, headers_q, taken;  // frames inside; those whose header is in the queue, and the others

  assign payload_valid = payload_valid_i && runs;
  assign done_valid    = done_valid_i && runs;
  assign released      = release_i && runs;
  assign frame_class   = in_frame_q ? frame_class_q : class_i;
  assign taken         = frames_q - headers_q;

  always_comb begin
    header                  = '0;
    header.class_of         = frame_class;
    header.frame_bytes      = 16'(bytes_i);
    header.arrival.psn[1:0] = mark_i;
    if (bare_i) header.arrival.payload_bytes = PayloadTooLong;
    head_ready              = head_ready_i;
    if (taken == TakenMax) head_ready[Followed] = 1'b0;
  end

  receive_buffer #(
      .Qps        (Qps),
      .BufferBytes(BufferBytes)
  ) u_dut (
      .clk_i,
      .clk_beats_i    (clk_i),
      .rst_i          (age_q < 3'd2),
      .cells_i        (sizes),
      .buffer_of_i    (buffer_of_q),
      .class_i        (frame_class),
      .payload_valid_i(payload_valid),
      .payload_data_i (256'(payload_i)),
      .done_valid_i   (done_valid),
      .keep_i,
      .qp_i,
      .header_i       (header),
      .full_o         (full),
      .head_valid_o   (head_valid),
      .head_ready_i   (head_ready),
      .head_qp_o      (head_qp),
      .head_o         (head),
      .first_o        (ring_first),
      .last_o         (ring_last),
      .read_i,
      .read_address_i,
      .read_data_o    (read_data),
      .release_i      (released),
      .release_class_i,
      .release_part_i (buffer_of_q[release_class_i]),
      .release_bytes_i(16'(release_bytes_i)),
      .release_beats_i(beats_t'(release_beats_i)),
      .depth_o        (depth),
      .count_o        (count),
      .settles_o      (unused_settles),
      .moves_o        (unused_moves),
      .idle_o         (unused_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What is in the part, by the contract

  number_t inside_q;  // beats of kept frames
  number_t came_q, came;  // beats of the frame that arrives; saturates
  number_t stays;  // those that stay: none of a frame that is kept without its payload
  number_t stored;  // headers in the queue's RAM
  logic over_q, over, mine, keep, pop, go;
  logic [23:0] depth_q;

  assign mine   = buffer_of_q[frame_class] == Followed;
  assign pop    = head_valid[Followed] && head_ready[Followed];
  assign go     = released && buffer_of_q[release_class_i] == Followed;
  assign stored = headers_q - number_t'(head_valid[Followed]) - number_t'(u_dut.fetch_q[Followed]);
  assign over   = over_q || (payload_valid && inside_q + came_q >= room);
  assign came   = came_q + number_t'(payload_valid && came_q != 7'd31);
  assign stays  = bare_i ? '0 : came;
  assign keep   = mine && done_valid && keep_i && (!over || bare_i) && stored < slots;

  always_ff @(posedge clk_i) begin
    if (!runs) begin
      in_frame_q <= 1'b0;
      over_q     <= 1'b0;
      came_q     <= '0;
      inside_q   <= '0;
      frames_q   <= '0;
      headers_q  <= '0;
      depth_q    <= '0;
    end else begin
      in_frame_q <= !done_valid && (in_frame_q || payload_valid);
      over_q <= !done_valid && over;
      came_q <= done_valid ? '0 : came;
      inside_q <= inside_q + (keep ? stays : '0) - (go ? number_t'(release_beats_i) : '0);
      frames_q <= frames_q + number_t'(keep) - number_t'(go);
      headers_q <= headers_q + number_t'(keep) - number_t'(pop);
      depth_q    <= depth_q + ((keep && frame_class == which_q) ? 24'(bytes_i) : '0) -
          ((go && release_class_i == which_q) ? 24'(release_bytes_i) : '0);
    end
    frame_class_q <= frame_class;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // The frame that is followed

  typedef enum logic [1:0] {
    Nowhere = 2'd0,
    Arrives = 2'd1,
    Waits   = 2'd2,  // its header is in the queue
    Taken   = 2'd3   // its header was taken
  } where_e;

  typedef struct packed {
    logic [QpBits-1:0] qp;
    class_t            class_of;
    buffer_t           part;
    logic [15:0]       frame_bytes;
    logic [15:0]       beat;
    logic [1:0]        mark;
  } mark_t;

  function automatic mark_t mark_of(input logic [QpBits-1:0] qp, input waiting_t from);
    return '{qp, from.class_of, from.part, from.frame_bytes, from.beat, from.arrival.psn[1:0]};
  endfunction

  where_e where_q, where;  // `where` with the frame that begins in this cycle
  mark_t   mark_q;
  number_t length_q;  // its beats
  number_t front_q, front_beats_q, behind_beats_q;  // frames and beats in front of it, and behind it
  number_t front_headers_q;
  logic [1:0] data_q;  // of the followed beat
  logic kept, begins, leaves;

  assign begins = where_q == Nowhere && (payload_valid || done_valid) && !in_frame_q && mine && follow_i;
  assign where  = begins ? Arrives : where_q;
  assign kept   = where_q == Waits || where_q == Taken;
  assign leaves = kept && go && front_q == '0;

  always_ff @(posedge clk_i) begin
    if (!runs) where_q <= Nowhere;
    else if (where == Arrives && done_valid) where_q <= keep ? Waits : Nowhere;
    else if (leaves) where_q <= Nowhere;
    else if (where_q == Waits && pop && front_headers_q == '0) where_q <= Taken;
    else where_q <= where;

    if (where == Arrives) begin
      if (payload_valid && came_q == beat_q) data_q <= payload_i;
      mark_q          <= '{qp_i, frame_class, Followed, 16'(bytes_i), 16'(u_dut.beat), mark_i};
      length_q        <= done_valid ? stays : came;
      front_q         <= frames_q - number_t'(go);
      front_beats_q   <= inside_q - (go ? number_t'(release_beats_i) : '0);
      front_headers_q <= headers_q - number_t'(pop);
      behind_beats_q  <= '0;
    end else begin
      if (go && front_q != '0) begin
        front_q       <= front_q - 1'b1;
        front_beats_q <= front_beats_q - number_t'(release_beats_i);
      end
      if (pop && front_headers_q != '0) front_headers_q <= front_headers_q - 1'b1;
      if (keep) behind_beats_q <= behind_beats_q + stays;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Releases

  always_comb begin
    if (released && !go) begin
      assume (number_t'(release_beats_i) <= number_t'(u_dut.used_q[buffer_of_q[release_class_i]]));
    end
    if (go) begin
      assume (taken != '0);
      if (!kept) begin
        assume (number_t'(release_beats_i) <= inside_q && (frames_q != 7'd1 || number_t'(release_beats_i) == inside_q));
      end else if (front_q != '0) begin
        assume (number_t'(release_beats_i) <= front_beats_q);
        assume (front_q != 7'd1 || number_t'(release_beats_i) == front_beats_q);
      end else begin
        assume (number_t'(release_beats_i) == length_q);
        assume (release_class_i == mark_q.class_of && 16'(release_bytes_i) == mark_q.frame_bytes);
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Positions in the RAMs: of the followed beat, and of the header

  number_t begin_at, beat_at, slot_at, tail, at, ahead;
  logic has_beat, read_q;
  // Parts that have no more beats than room; whose next beat and next header are within their bounds
  logic [Buffers-1:0] fits, beats_within, headers_within;
  buffer_t arriving;  // part of the frame that arrives

  typedef struct packed {
    logic [QpBits-1:0] qp;
    waiting_t          header;
  } word_t;
  word_t word, fetched;

  assign begin_at = kept ? number_t'(mark_q.beat) : number_t'(u_dut.beat_q);
  assign beat_at  = wrap(begin_at + beat_q, first, room);
  assign has_beat = kept ? beat_q < length_q : where_q == Arrives && !over_q && beat_q < came_q;
  assign ahead    = number_t'(head_valid[Followed]) + number_t'(u_dut.fetch_q[Followed]);  // of the RAM
  assign slot_at  = wrap(number_t'(u_dut.get_q[Followed]) + front_headers_q - ahead, first_slot, slots);
  assign word     = u_dut.u_headers.words_q[slot_at[CellBits-1:0]];
  assign fetched  = u_dut.fetched;
  assign tail     = number_t'(u_dut.tail_q[Followed]);
  assign at       = number_t'(u_dut.at_q);
  assign arriving = buffer_of_q[frame_class_q];

  always_comb begin
    for (int unsigned b = 0; b < Buffers; b++) begin
      fits[b]           = number_t'(u_dut.used_q[b]) <= size[b] << 1;
      beats_within[b]   = size[b] == '0 || lies_in(number_t'(u_dut.tail_q[b]), base[b] << 1, size[b] << 1);
      headers_within[b] = size[b] == '0 || lies_in(number_t'(u_dut.put_q[b]), base[b], size[b]);
    end
  end

  always_ff @(posedge clk_i) begin
    read_q <= runs && read_i && kept && has_beat && number_t'(read_address_i) == beat_at;
  end

  always_comb begin
    if (age_q != '0) begin
      a_sizes :
      assert (buffer_of_q[which_q] == Followed &&
              u_dut.cells_q == sizes && (age_q < 3'd3 || (u_dut.base_q == u_dut.base_d && u_dut.size_q == u_dut.size_d)) &&
              (age_q < 3'd3 || !u_dut.moved_q) && (!runs || !u_dut.settling_q));
      a_reset :
      assert (runs || (u_dut.used_q == '0 && u_dut.stored_q == '0 && u_dut.fetch_q == '0 && u_dut.valid_q == '0 &&
                       u_dut.came_q == '0 && !u_dut.over_q && !u_dut.begun_q && depth == '0));
    end
    if (runs) begin
      // What the induction needs
      a_model :
      assert (headers_q <= frames_q && taken <= TakenMax && (frames_q != '0 || inside_q == '0) && inside_q <= room &&
              (in_frame_q ? came_q != '0 && came_q <= 7'd31 : came_q == '0 && !over_q && where_q != Arrives) &&
              (where_q != Arrives || arriving == Followed));
      a_arriving :
      assert (u_dut.begun_q == in_frame_q && (!in_frame_q || u_dut.came_q != '0 || u_dut.over_q) &&
              (in_frame_q ? u_dut.to_q == arriving && (u_dut.came_q == '0 || (number_t'(u_dut.used_q[arriving]) + number_t'(u_dut.came_q) <= size[arriving] << 1 &&
               lies_in(
          at, base[arriving] << 1, size[arriving] << 1
      ))) : u_dut.came_q == '0 && !u_dut.over_q));
      a_rings : assert (fits == '1);
      a_tail : assert (beats_within == '1);
      a_slots : assert (headers_within == '1);
      a_frame :
      assert (!in_frame_q || arriving != Followed || (u_dut.over_q == over_q && (over_q || number_t'(u_dut.came_q) == came_q) &&
              (u_dut.came_q == '0 || (lies_in(
          number_t'(u_dut.beat_q), first, room
      ) && at == wrap(
          number_t'(u_dut.beat_q) + number_t'(u_dut.came_q), first, room
      )))));
      a_behind :
      assert (!kept || length_q == '0 || (lies_in(
          begin_at, first, room
      ) && tail == wrap(
          begin_at + length_q + behind_beats_q, first, room
      ) && (!in_frame_q || arriving != Followed || u_dut.came_q == '0 || number_t'(u_dut.beat_q) == tail)));
      a_word : assert (!has_beat || u_dut.u_ring.words_q[beat_at[AddressBits-1:0]][1:0] == data_q);
      a_pointers :
      assert (number_t'(u_dut.stored_q[Followed]) == stored && stored <= slots && ahead <= 7'd1 && ahead <= headers_q &&
              (slots == '0 || (lies_in(
          number_t'(u_dut.get_q[Followed]), first_slot, slots
      ) && number_t'(u_dut.put_q[Followed]) == wrap(
          number_t'(u_dut.get_q[Followed]) + stored, first_slot, slots
      ))));
      a_header :
      assert ((where_q != Waits || (front_headers_q < headers_q && front_q == taken + front_headers_q)) &&
              (where_q != Taken || front_q < taken) &&
              (where_q != Waits || (front_headers_q == '0 && head_valid[Followed]) ||
              mark_q == ((front_headers_q == '0 && u_dut.fetch_q[Followed]) ? mark_of(
          fetched.qp, fetched.header
      ) : mark_of(
          word.qp, word.header
      ))));
      // What is proved
      a_order :
      assert (where_q != Waits || front_headers_q != '0 || !head_valid[Followed] || mark_of(
          head_qp[Followed], head[Followed]
      ) == mark_q);
      a_payload : assert (!read_q || read_data[1:0] == data_q);
      a_full : assert (!mine || full == (done_valid && keep_i && !keep));
      a_used :
      assert (number_t'(u_dut.used_q[Followed]) == inside_q &&
              (!kept || (inside_q == front_beats_q + length_q + behind_beats_q && front_q < frames_q &&
              (front_q != '0 || front_beats_q == '0) && (frames_q != front_q + 1'b1 || behind_beats_q == '0) &&
              length_q <= room && front_beats_q <= room && behind_beats_q <= room)));
      a_depth : assert (depth[which_q] == depth_q);
      a_count : assert (number_t'(count[Followed]) == headers_q);
      a_bounds :
      assert (slots == '0 || (number_t'(ring_first[Followed]) == first && number_t'(ring_last[Followed]) == first + room - 1'b1));
    end
  end

endmodule
