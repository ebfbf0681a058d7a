// Carries out what the responder's steps leave to be done, in order: writes payload by DMA or discards it, frees room
// in the receive buffer, issues completions.
//
// - `step_valid_i` has no back-pressure. `room_o` = 1 guarantees room for all steps that four events may still cause
//   (each may end its QP and flush a ring of `Recvs` buffers), here, or where steps wait in rings before they come here
//   (`translating_i`). The owner takes a packet or a receive buffer only while it is 1, and none of a part of the
//   receive buffer whose ring is not short (`short_o`): what waits in one ring leaves room for the others.
// - A write is checked here for the last time before it leaves, two cycles after its step. If its region does not hold
//   it, nothing is written, `refused_o` pulses, and the QP is barred until `unbar_i`: nothing of it is written, and no
//   message of it completes with success. If the write belongs to a receive buffer, the next completion of the QP, that
//   of the buffer, has the status local access.
// - A READ response that is refused (`unwritten_o`) ends its QP, and nothing that is returned to the QP is written any
//   more until it is closed. `landed_o`: what was returned is written, or never will be.
// - The last packet of a SEND with invalidate invalidates the region that its key names, at the time of this check and
//   with its answer (`invalidate_o`): no packet behind it is written there. A key that names no valid region is refused
//   as a write is.
// - A completion is issued after the last beat of its message was taken.
// - An atomic is checked as a write is, and offered to the host when all writes in front of it were taken (`atomic_…`).
// - READs and atomics that were accepted pass through the same queue: `settled_valid_o` says that all writes in front
//   of one were taken. The memory of a READ response is checked as a write is, and goes no further (`responds_…`).
// - An entry without payload takes one cycle.
// - With `translating_i` steps are counted by ring, from `queued_i` on, and each of them has an entry, so that those of a
//   ring leave in order. The owner lets none come while `full_o` is 1.
//
//     cycle 0   step; the region table is asked
//     cycle 2   its answer: a job for the reader, an entry for the head queue
//     later     heads and beats are joined at the output
//
// Timing: `pass_o` depends on `write_ready_i`, `completion_ready_i` and `settled_ready_i`, `idle_o` on `step_valid_i` and
// `forget_i` of the same cycle; all other outputs are registers or depend on registers only.
module payload_writer
  import roce_pkg::*, gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Recvs       = 16,
    parameter  int unsigned Regions     = 256,
    parameter  int unsigned BufferBytes = 131072,
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned RegionBits  = $clog2(Regions),
    localparam int unsigned AddressBits = $clog2(BufferBytes / DataBytes),
    localparam int unsigned Reserve     = 4 * (Recvs + 1) + 4,
    localparam int unsigned Depth       = 2 * Reserve,
    localparam int unsigned CountBits   = $clog2(Depth + 1)                 // also of what waits in a ring
) (
    input logic clk_i,        // steps; rises when `moves_o` is 1
    input logic clk_beats_i,  // payload; rises when `beats_move_o` is 1
    input logic rst_i,

    input  logic                     region_write_i,
    input  logic    [RegionBits-1:0] region_index_i,
    input  region_t                  region_i,
    input  logic                     pd_write_i,         // sets the protection domain of a QP
    input  logic    [    QpBits-1:0] pd_qp_i,
    input  pd_t                      pd_i,
    output logic                     invalidate_o,       // the peer invalidates a region
    output logic    [RegionBits-1:0] invalidate_index_o,

    input logic unbar_i,  // the responder has taken REFUSE of the QP
    input logic [QpBits-1:0] unbar_qp_i,
    input logic bar_i,  // a refusal of the QP is on its way that does not come from here; not with `bars_o`
    input logic [QpBits-1:0] bar_qp_i,
    input logic forget_i,  // the QP was closed, and nothing of it is left: clears its bits
    input logic [QpBits-1:0] forget_qp_i,

    input logic                   step_valid_i,
    input logic      [QpBits-1:0] step_qp_i,
    input work_off_t              step_i,
    input logic                   step_gone_i,    // memory of its payload is gone
    input logic                   translating_i,  // steps come out of a ring, and those without work, too
    input logic                   parts_i,        // out of one of several
    input buffer_t                step_ring_i,
    input logic                   queued_i,       // a step goes into a ring
    input buffer_t                queued_ring_i,

    output logic                              room_o,
    output logic                              full_o,
    output logic [Buffers-1:0]                short_o,
    output logic [Buffers-1:0]                pass_o,   // the oldest step of a ring leaves
    output logic [Buffers-1:0][CountBits-1:0] count_o,  // steps that are queued; all of ring 0 unless `translating_i`

    output logic                 refused_o,       // a packet is not written
    output logic                 bars_o,          // and bars its QP: the step two cycles ago
    output logic                 bars_remote_o,   // because of a key of the peer
    output logic    [   Qps-1:0] barred_o,
    output logic                 landed_o,
    output logic                 checked_o,       // two cycles after the step of what was returned
    output buffer_t              checked_part_o,
    output logic                 unwritten_o,
    output logic    [QpBits-1:0] unwritten_qp_o,

    input  logic [    Buffers-1:0][AddressBits-1:0] first_i,         // first and last beat of each ring
    input  logic [    Buffers-1:0][AddressBits-1:0] last_i,
    output logic                                    read_o,
    output logic [AddressBits-1:0]                  read_address_o,
    input  logic [DataBytes*8-1:0]                  read_data_i,

    output logic              responds_o,       // a READ response two cycles ago: its memory is checked
    output logic              responds_held_o,  // and may be read
    output logic              settled_valid_o,
    output logic [QpBits-1:0] settled_qp_o,
    input  logic              settled_ready_i,

    output logic                 atomic_valid_o,
    output logic    [QpBits-1:0] atomic_qp_o,
    output place_t               atomic_place_o,
    output atomic_t              atomic_o,
    input  logic                 atomic_ready_i,

    output logic                   write_valid_o,
    output logic [           63:0] write_va_o,
    output logic [           31:0] write_key_o,
    output logic                   write_remote_o,
    output logic                   write_first_o,
    output logic                   write_last_o,
    output logic [            6:0] write_bytes_o,
    output logic [DataBytes*8-1:0] write_data_o,
    input  logic                   write_ready_i,

    output logic           release_o,        // a request leaves the receive buffer
    output class_t         release_class_o,
    output buffer_t        release_part_o,
    output logic    [15:0] release_bytes_o,
    output beats_t         release_beats_o,

    output logic                     completion_valid_o,
    output logic        [QpBits-1:0] completion_qp_o,
    output completion_t              completion_o,
    input  logic                     completion_ready_i,

    output logic moves_o,       // the state on `clk_i` changes with this cycle
    output logic beats_move_o,  // and that on `clk_beats_i`
    output logic idle_o
);

  localparam int unsigned BeatBits = $clog2(DataBytes);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Region check

  logic allowed, named, regions_idle;
  use_e checked_use;

  always_comb begin
    if (step_i.responds) checked_use = UseRemoteRead;
    else if (step_i.atomic) checked_use = UseRemoteAtomic;
    else checked_use = step_i.place.remote ? UseRemoteWrite : UseLocalWrite;
  end

  region_table #(
      .Regions(Regions),
      .Qps    (Qps)
  ) u_regions (
      .clk_i,
      .rst_i,
      .write_i           (region_write_i),
      .write_index_i     (region_index_i),
      .region_i,
      .pd_write_i,
      .pd_qp_i,
      .pd_i,
      .ask_i             (step_valid_i),
      .qp_i              (step_qp_i),
      .use_i             (checked_use),
      .key_i             (step_i.place.key),
      .va_i              (step_i.place.va),
      .bytes_i           (32'(step_i.place.bytes)),
      .allowed_o         (allowed),
      .other_key_i       (step_i.completion.imm),
      .other_valid_o     (named),
      .invalidate_i      (invalidate_o),
      .invalidate_index_i(invalidate_index_o),
      .idle_o            (regions_idle)
  );

  logic [1:0] asked_q, gone_q;
  buffer_t [1:0] ring_q;
  logic [1:0][QpBits-1:0] qp_q;
  work_off_t [1:0] step_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) asked_q <= '0;
    else asked_q <= {asked_q[0], step_valid_i};
  end

  always_ff @(posedge clk_i) begin
    if (step_valid_i) {qp_q[0], ring_q[0], step_q[0], gone_q[0]} <= {step_qp_i, step_ring_i, step_i, step_gone_i};
    if (asked_q[0]) {qp_q[1], ring_q[1], step_q[1], gone_q[1]} <= {qp_q[0], ring_q[0], step_q[0], gone_q[0]};
  end

  // The answer of the region table makes a job and a head. A QP whose receive buffer could not be written remembers
  // this until the completion of the message (spoilt).
  logic [Qps-1:0] barred_q, spoilt_q;
  logic [Qps-1:0] dead_q;  // a READ response was refused
  logic [Qps-1:0] twice_q;  // two refusals of the QP are on their way
  logic write, needs_memory, writable, invalidates, held, refused, returned, barred, bars_again, spoilt;
  beats_t beats;
  payload_bytes_t rounded;  // rounded up to whole beats
  work_off_t head_in;

  assign rounded = step_q[1].payload_bytes + payload_bytes_t'(DataBytes - 1);
  assign beats = beats_t'(rounded[$left(rounded):BeatBits]);
  assign returned = step_q[1].returned;
  // A READ response that was stepped before the QP was barred comes before what barred it: it is sent, or refused by
  // itself. Later ones wait for REFUSE.
  assign barred = returned ? dead_q[qp_q[1]] : barred_q[qp_q[1]] && !step_q[1].responds;
  assign bars_again = bars_o && barred_q[qp_q[1]];
  assign invalidates = step_q[1].completion_valid && step_q[1].completion.status == StatusSuccess &&
      step_q[1].completion.operation inside {{ServiceRc, OpSendLastInv}, {ServiceRc, OpSendOnlyInv}};
  assign needs_memory = step_q[1].write || step_q[1].atomic || (step_q[1].responds && step_q[1].place.bytes != '0);
  assign writable = (allowed && !gone_q[1]) || !needs_memory;
  assign held = writable && (named || !invalidates) && !barred;  // the packet is carried out
  assign write = asked_q[1] && step_q[1].write && held;
  assign refused = asked_q[1] && (step_q[1].write || step_q[1].atomic || step_q[1].responds || invalidates) && !held;
  assign bars_o = refused && !barred && !returned;
  assign checked_o = asked_q[1] && returned;
  assign checked_part_o = step_q[1].part;
  assign unwritten_o = refused && !barred && returned;
  assign unwritten_qp_o = qp_q[1];
  assign bars_remote_o = step_q[1].place.remote || writable;
  assign refused_o = refused && !step_q[1].responds;
  assign responds_o = asked_q[1] && step_q[1].responds;
  assign responds_held_o = held;
  assign barred_o = barred_q;
  assign spoilt = spoilt_q[qp_q[1]] || (bars_o && !bars_remote_o);

  assign invalidate_o = asked_q[1] && invalidates && held;
  assign invalidate_index_o = step_q[1].completion.imm[8+:RegionBits];

  always_comb begin
    head_in        = step_q[1];
    head_in.write  = write;
    head_in.atomic = step_q[1].atomic && held;
    if (!step_q[1].atomic && (spoilt || ((barred || refused) && head_in.completion.status == StatusSuccess))) begin
      head_in.completion.status = spoilt ? StatusLocalAccess : StatusFlushed;
      head_in.completion.length = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      barred_q <= '0;
      twice_q  <= '0;
      spoilt_q <= '0;
      dead_q   <= '0;
    end else begin
      // What is refused in the cycle of REFUSE was stepped before it.
      if (refused && !returned) barred_q[qp_q[1]] <= 1'b1;
      if (unwritten_o) dead_q[qp_q[1]] <= 1'b1;
      if (bars_again && !(unbar_i && unbar_qp_i == qp_q[1])) twice_q[qp_q[1]] <= 1'b1;
      if (unbar_i && !(bars_again && unbar_qp_i == qp_q[1])) begin
        twice_q[unbar_qp_i]  <= 1'b0;
        barred_q[unbar_qp_i] <= twice_q[unbar_qp_i];
      end
      if (bar_i) begin
        barred_q[bar_qp_i] <= 1'b1;
        if (unbar_i && unbar_qp_i == bar_qp_i) twice_q[bar_qp_i] <= twice_q[bar_qp_i];
        else if (barred_q[bar_qp_i]) twice_q[bar_qp_i] <= 1'b1;
      end
      if (asked_q[1] && !returned) spoilt_q[qp_q[1]] <= spoilt && !step_q[1].completion_valid;
      if (forget_i) begin
        barred_q[forget_qp_i] <= 1'b0;
        twice_q[forget_qp_i]  <= 1'b0;
        spoilt_q[forget_qp_i] <= 1'b0;
        dead_q[forget_qp_i]   <= 1'b0;
      end
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Queues

  logic job_valid, job_ready, head_valid, head_ready, push_head;
  logic job_room, head_room;
  logic [AddressBits-1:0] job_address;
  buffer_t job_buffer;
  beats_t job_beats;
  logic [6:0] job_bytes, last_bytes;
  logic [QpBits-1:0] head_qp;
  buffer_t head_ring;
  work_off_t head;
  logic [CountBits-1:0] heads, unused_jobs;

  assign push_head = asked_q[1] && (step_q[1].packet || step_q[1].completion_valid || translating_i);
  assign last_bytes = (step_q[1].payload_bytes[BeatBits-1:0] == '0) ? 7'(DataBytes) : 7'(step_q[1].payload_bytes[BeatBits-1:0]);

  fifo #(
      .Width($bits(buffer_t) + AddressBits + $bits(beats_t) + 7),
      .Depth(Depth)
  ) u_jobs (
      .clk_i,
      .rst_i,
      .valid_i(write),
      .ready_o(job_room),
      .data_i ({step_q[1].part, step_q[1].beat[AddressBits-1:0], beats, last_bytes}),
      .valid_o(job_valid),
      .ready_i(job_ready),
      .data_o ({job_buffer, job_address, job_beats, job_bytes}),
      .count_o(unused_jobs)
  );

  fifo #(
      .Width(QpBits + $bits(buffer_t) + $bits(work_off_t)),
      .Depth(Depth)
  ) u_heads (
      .clk_i,
      .rst_i,
      .valid_i(push_head),
      .ready_o(head_room),
      .data_i ({qp_q[1], ring_q[1], head_in}),
      .valid_o(head_valid),
      .ready_i(head_ready),
      .data_o ({head_qp, head_ring, head}),
      .count_o(heads)
  );

  // Packets leave some of a ring's RingMost to steps that belong to no part.
  localparam int unsigned RingShort = 24;

  logic pass;
  logic rings_room;
  logic [Buffers-1:0][CountBits-1:0] queued_q, queued_d;

  assign pass   = head_valid && head_ready;
  assign full_o = 32'(heads) >= Depth - 8;

  always_comb begin
    pass_o = '0;
    pass_o[head_ring] = pass;
  end

  always_comb begin
    queued_d = queued_q;
    if (queued_i || pass)
      for (int unsigned r = 0; r < Buffers; r++)
      queued_d[r] = queued_q[r] + CountBits'(queued_i && queued_ring_i == buffer_t'(r)) - CountBits'(pass_o[r]);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) queued_q <= '0;
    else if (translating_i && (queued_i || pass)) queued_q <= queued_d;
  end

  always_comb begin
    short_o    = '1;
    rings_room = 1'b1;
    if (parts_i)
      for (int unsigned r = 0; r < Buffers; r++) begin
        short_o[r] = 32'(queued_q[r]) < RingShort;
        if (32'(queued_q[r]) >= RingMost) rings_room = 1'b0;
      end
  end

  always_comb begin
    count_o = queued_q;
    if (!translating_i) begin
      count_o    = '0;
      count_o[0] = heads;
    end
  end

  assign room_o = parts_i ? rings_room : 32'(count_o[0]) < Depth - Reserve;

  logic beat_valid, beat_ready, reader_idle, unused_done;

  payload_reader #(
      .DataBytes(DataBytes),
      .Depth    (BufferBytes / DataBytes)
  ) u_reader (
      .clk_i        (clk_beats_i),
      .rst_i,
      .job_valid_i  (job_valid),
      .job_ready_o  (job_ready),
      .job_address_i(job_address),
      .job_begin_i  (first_i[job_buffer]),
      .job_end_i    (last_i[job_buffer]),
      .job_beats_i  (job_beats),
      .job_bytes_i  (job_bytes),
      .done_o       (unused_done),
      .read_o,
      .read_address_o,
      .read_data_i,
      .valid_o      (beat_valid),
      .first_o      (write_first_o),
      .last_o       (write_last_o),
      .bytes_o      (write_bytes_o),
      .data_o       (write_data_o),
      .ready_i      (beat_ready),
      .idle_o       (reader_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Output: beats of the head, then its completion

  logic [63:0] offset_q;  // offset of the beat in its packet
  logic written_q;  // all beats were taken, the completion was not
  logic last_beat, written;

  assign write_valid_o      = head_valid && head.write && !written_q && beat_valid;
  assign beat_ready         = head_valid && head.write && !written_q && write_ready_i;
  assign write_va_o         = head.place.va + offset_q;
  assign write_key_o        = head.place.key;
  assign write_remote_o     = head.place.remote;
  assign last_beat          = write_valid_o && write_ready_i && write_last_o;
  assign written            = written_q || !head.write;

  assign completion_valid_o = head_valid && head.completion_valid && written;
  assign completion_qp_o    = head_qp;
  assign completion_o       = head.completion;

  logic atomic_taken_q;  // by the host
  assign atomic_valid_o = head_valid && head.atomic && !atomic_taken_q;
  assign atomic_qp_o    = head_qp;
  assign atomic_place_o = head.place;
  assign atomic_o       = head.completion;

  // What the head settles is told from its second cycle on.
  logic settles;
  assign settles = head_valid && head.reads && (!head.atomic || atomic_taken_q) && !pass;

  always_ff @(posedge clk_i) begin
    if (rst_i) settled_valid_o <= 1'b0;
    else settled_valid_o <= settles;
  end

  always_ff @(posedge clk_i) begin
    if (settles) settled_qp_o <= head_qp;
  end

  always_comb begin
    if (head.reads) head_ready = settled_valid_o && settled_ready_i;
    else head_ready = head.completion_valid ? written && completion_ready_i : !head.write || last_beat;
  end

  always_ff @(posedge clk_beats_i) begin
    if (rst_i) begin
      written_q <= 1'b0;
      atomic_taken_q <= 1'b0;
      offset_q <= '0;
    end else begin
      atomic_taken_q <= atomic_valid_o ? atomic_ready_i : atomic_taken_q && !pass;
      if (last_beat) offset_q <= '0;
      else if (write_valid_o && write_ready_i) offset_q <= offset_q + 64'(DataBytes);
      if (pass) written_q <= 1'b0;
      else if (last_beat) written_q <= 1'b1;
    end
  end

  payload_bytes_t release_rounded;
  assign release_rounded = head.payload_bytes + payload_bytes_t'(DataBytes - 1);

  always_ff @(posedge clk_i) begin
    if (rst_i) {release_o, landed_o} <= '0;
    else {release_o, landed_o} <= {pass && head.packet, pass && head.returned};
  end

  always_ff @(posedge clk_i) begin
    if (pass) begin
      release_class_o <= head.class_of;
      release_part_o  <= head.part;
      release_bytes_o <= head.frame_bytes;
      release_beats_o <= beats_t'(release_rounded[$left(release_rounded):BeatBits]);
    end
  end

  logic unused_rounded;
  assign unused_rounded = ^{rounded, release_rounded, step_q[1].beat, head.beat, head.responds};

  // The queues offer a word in the second cycle after it came or the one before it left.
  logic queues_q, queues;
  assign queues = asked_q[1] || pass || (job_valid && job_ready);

  always_ff @(posedge clk_i) begin
    if (rst_i) queues_q <= 1'b0;
    else queues_q <= queues;
  end

  assign moves_o = region_write_i || pd_write_i || !regions_idle || step_valid_i || asked_q != '0 || unbar_i ||
      forget_i || queues || queues_q || release_o || settled_valid_o != settles;
  assign beats_move_o = job_valid || !reader_idle || head_valid;

  assign idle_o = regions_idle && !step_valid_i && asked_q == '0 && heads == '0 && reader_idle && !forget_i && !queues_q &&
      !release_o;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push_head || head_room)
      else $error("payload_writer: a step that has no room");
      assert (!write || job_room)
      else $error("payload_writer: a job that has no room");
      assert (!asked_q[1] || !step_q[1].packet || 32'(step_q[1].payload_bytes) <= PayloadBytesMax)
      else $error("payload_writer: more payload than a packet has");
    end
  end

endmodule
