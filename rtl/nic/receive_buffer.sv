// Receive buffer: payload in a ring of beats, headers in a queue beside it, in order of arrival; reports the depth
// per class.
//
// - Payload beats are written to the ring as they arrive. The frame's verdict comes with or after its last beat: with
//   `keep_i` the beats stay and the header goes into the queue, otherwise the ring's end goes back to the start of
//   the frame.
// - A frame whose payload or header does not fit is dropped as a whole: `full_o` in the cycle of the verdict.
// - A frame counts at least 60 bytes of depth and takes at most as many bytes of the ring; the queue has BufferBytes
//   / 64 headers. No frame is therefore dropped below 15/16 of BufferBytes.
// - A header leaves the queue long before its payload leaves the ring. `release_i` frees ring and depth.
//
// Timing: `full_o` and `idle_o` depend on inputs of the same cycle; all other outputs are registers.
module receive_buffer
  import nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned BufferBytes = 65536,                            // a power of two
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned AddressBits = $clog2(BufferBytes / DataBytes),
    localparam int unsigned CountBits   = $clog2(BufferBytes / 64 + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                   payload_valid_i,
    input logic [DataBytes*8-1:0] payload_data_i,

    input  logic                  done_valid_i,
    input  logic                  keep_i,
    input  logic     [QpBits-1:0] qp_i,
    input  waiting_t              header_i,
    output logic                  full_o,

    output logic                  head_valid_o,
    input  logic                  head_ready_i,
    output logic     [QpBits-1:0] head_qp_o,
    output waiting_t              head_o,

    input  logic                   read_i,
    input  logic [AddressBits-1:0] read_address_i,
    output logic [DataBytes*8-1:0] read_data_o,

    input logic          release_i,
    input class_t        release_class_i,
    input logic   [15:0] release_bytes_i,  // of the frame
    input beats_t        release_beats_i,

    output logic [7:0][23:0] depth_o,

    output logic [CountBits-1:0] count_o,  // headers in the queue

    output logic idle_o
);

  localparam int unsigned Beats = BufferBytes / DataBytes;
  localparam int unsigned Headers = BufferBytes / 64;

  logic [AddressBits:0] kept_q, end_q, end_d, free_q;  // modulo 2 · Beats
  logic over_q, over;  // payload of this frame did not fit
  logic write, keep, queue_ready;
  logic [CountBits-1:0] queued;

  assign write  = payload_valid_i && (end_q - free_q) != (AddressBits + 1)'(Beats) && !over_q;
  assign over   = over_q || (payload_valid_i && !write);
  assign end_d  = end_q + (AddressBits + 1)'(write);
  assign keep   = done_valid_i && keep_i && !over && queue_ready;
  assign full_o = done_valid_i && keep_i && !keep;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      kept_q <= '0;
      end_q  <= '0;
      free_q <= '0;
      over_q <= 1'b0;
    end else begin
      if (keep) kept_q <= end_d;
      end_q  <= (done_valid_i && !keep) ? kept_q : end_d;
      over_q <= !done_valid_i && over;
      if (release_i) free_q <= free_q + (AddressBits + 1)'(release_beats_i);
    end
  end

  ram_1r1w #(
      .Width(DataBytes * 8),
      .Depth(Beats)
  ) u_ring (
      .clk_i,
      .write_i        (write),
      .write_address_i(end_q[AddressBits-1:0]),
      .data_i         (payload_data_i),
      .read_i,
      .read_address_i,
      .data_o         (read_data_o)
  );

  fifo #(
      .Width(QpBits + $bits(waiting_t)),
      .Depth(Headers)
  ) u_headers (
      .clk_i,
      .rst_i,
      .valid_i(keep),
      .ready_o(queue_ready),
      .data_i ({qp_i, header_i}),
      .valid_o(head_valid_o),
      .ready_i(head_ready_i),
      .data_o ({head_qp_o, head_o}),
      .count_o(queued)
  );

  for (genvar c = 0; c < 8; c++) begin : gen_class
    logic [23:0] depth_q;
    logic come, go;

    assign come = keep && header_i.class_of == class_t'(c);
    assign go   = release_i && release_class_i == class_t'(c);

    always_ff @(posedge clk_i) begin
      if (rst_i) depth_q <= '0;
      else if (come || go)
        depth_q <= depth_q + (come ? 24'(header_i.frame_bytes) : 24'd0) - (go ? 24'(release_bytes_i) : 24'd0);
    end

    assign depth_o[c] = depth_q;
  end

  assign count_o = queued;
  assign idle_o  = !payload_valid_i && !done_valid_i && !release_i && queued == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (end_q - free_q <= (AddressBits + 1)'(Beats))
      else $error("receive_buffer: more in the ring than it has");
  end

endmodule
