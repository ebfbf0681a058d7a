// Reads the payload of packets from a RAM and offers it as a stream. Once the first beat of a packet is offered, the
// stream has no gap inside the packet as long as beats are taken.
//
// - A job names the first word, the number of words and the number of bytes in the last word, and the ring that holds
//   the words: behind address `job_end_i` comes `job_begin_i`. Jobs are read in order.
// - `job_ready_o` = 1: all words of the previous job have been read, or the last one is read in this cycle. A job is
//   therefore at most `Ahead` words ahead of what is taken.
// - `done_o` = 1: the last word of a job is being read.
// - Words wait in a FIFO of `Ahead` entries; throughput is one word per cycle.
// - Latency: the first beat is offered at least five cycles after its job was taken.
//
// Timing: `job_ready_o` depends on registers only.
module payload_reader #(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Depth       = 2048,              // of the RAM
    parameter  int unsigned Ahead       = 8,
    localparam int unsigned AddressBits = $clog2(Depth),
    localparam int unsigned CountBits   = $clog2(Ahead + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                   job_valid_i,
    output logic                   job_ready_o,
    input  logic [AddressBits-1:0] job_address_i,
    input  logic [AddressBits-1:0] job_begin_i,
    input  logic [AddressBits-1:0] job_end_i,
    input  logic [            7:0] job_beats_i,    // at least 1
    input  logic [            6:0] job_bytes_i,    // in the last beat
    output logic                   done_o,

    output logic                   read_o,
    output logic [AddressBits-1:0] read_address_o,
    input  logic [DataBytes*8-1:0] read_data_i,     // one cycle later

    output logic                   valid_o,
    output logic                   first_o,
    output logic                   last_o,
    output logic [            6:0] bytes_o,
    output logic [DataBytes*8-1:0] data_o,
    input  logic                   ready_i,

    output logic idle_o
);

  logic [7:0] left_q;  // words of the job not yet read
  logic first_q;
  logic [6:0] bytes_q;
  logic [AddressBits-1:0] address_q, begin_q, end_q;

  logic read_q, read_first_q, read_last_q;
  logic [6:0] read_bytes_q;
  logic [CountBits-1:0] owed_q;  // words read and not yet taken
  logic pop, take;
  logic unused_ready;
  logic [CountBits-1:0] ahead;  // words in the FIFO

  assign read_o         = left_q != '0 && owed_q != CountBits'(Ahead);
  assign read_address_o = address_q;
  assign done_o         = read_o && left_q == 8'd1;
  assign job_ready_o    = left_q == '0 || done_o;
  assign take           = job_valid_i && job_ready_o;
  assign pop            = valid_o && ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      left_q <= '0;
      read_q <= 1'b0;
      owed_q <= '0;
    end else begin
      left_q <= take ? job_beats_i : left_q - 8'(read_o);
      read_q <= read_o;
      owed_q <= owed_q + CountBits'(read_o) - CountBits'(pop);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      address_q <= job_address_i;
      begin_q   <= job_begin_i;
      end_q     <= job_end_i;
      bytes_q   <= job_bytes_i;
      first_q   <= 1'b1;
    end else if (read_o) begin
      address_q <= (address_q == end_q) ? begin_q : address_q + 1'b1;
      first_q   <= 1'b0;
    end
    if (read_o) begin
      read_first_q <= first_q;
      read_last_q  <= left_q == 8'd1;
      read_bytes_q <= (left_q == 8'd1) ? bytes_q : 7'(DataBytes);
    end
  end

  fifo #(
      .Width(9 + DataBytes * 8),
      .Depth(Ahead)
  ) u_ahead (
      .clk_i,
      .rst_i,
      .valid_i(read_q),
      .ready_o(unused_ready),  // `owed_q` guarantees room
      .data_i({read_first_q, read_last_q, read_bytes_q, read_data_i}),
      .valid_o,
      .ready_i,
      .data_o({first_o, last_o, bytes_o, data_o}),
      .count_o(ahead)
  );

  assign idle_o = left_q == '0 && !read_q && owed_q == '0 && ahead == '0 && !valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!read_q || unused_ready)
      else $error("payload_reader: a word that has no room");
  end

endmodule
