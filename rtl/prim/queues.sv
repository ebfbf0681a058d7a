// FIFOs side by side in one RAM. Words are read in order and leave in order: what was read and has not left can be read
// again.
//
// - A word goes in with `push_i`. Each queue has room for `Depth` of them.
// - `read_i` reads the next word of a queue, one of those with `more_o`: in the next cycle it is at `data_o`, and
//   `place_o` tells it apart from the others of its queue. Both hold until the next read.
// - `pop_i`: the oldest word of a queue leaves; it was read. `oldest_o` is its place.
// - `again_i`: the next word that is read of the queue is its oldest one, of which there has to be one. A read of the
//   same cycle gets the word that it would have got.
//
// Timing: all outputs are registers.
module queues #(
    parameter  int unsigned Width     = 32,
    parameter  int unsigned Count     = 8,
    parameter  int unsigned Depth     = 32,                               // a power of two
    localparam int unsigned IndexBits = (Count > 1) ? $clog2(Count) : 1,
    localparam int unsigned PlaceBits = $clog2(Depth)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                 push_i,
    input logic [IndexBits-1:0] push_index_i,
    input logic [    Width-1:0] data_i,

    input  logic                 read_i,
    input  logic [IndexBits-1:0] read_index_i,
    output logic [    Width-1:0] data_o,
    output logic [PlaceBits-1:0] place_o,

    input logic                 pop_i,
    input logic                 again_i,
    input logic [IndexBits-1:0] index_i,  // of both

    output logic [Count-1:0]                some_o,   // there is a word
    output logic [Count-1:0]                more_o,   // one that was not read
    output logic [Count-1:0][PlaceBits-1:0] oldest_o
);

  logic [Count-1:0][PlaceBits-1:0] put_q, read_q, oldest_q;
  logic [Count-1:0] some_q, more_q, some_d, more_d;
  logic [PlaceBits-1:0] behind_read, behind_oldest;

  assign behind_read   = read_q[read_index_i] + 1'b1;
  assign behind_oldest = oldest_q[index_i] + 1'b1;

  ram_1r1w #(
      .Width(Width),
      .Depth(2 ** IndexBits * Depth)
  ) u_words (
      .clk_i,
      .write_i        (push_i),
      .write_address_i({push_index_i, put_q[push_index_i]}),
      .data_i,
      .read_i,
      .read_address_i ({read_index_i, read_q[read_index_i]}),
      .data_o
  );

  always_comb begin
    some_d = some_q;
    more_d = more_q;
    if (pop_i && behind_oldest == put_q[index_i]) some_d[index_i] = 1'b0;
    if (read_i && behind_read == put_q[read_index_i]) more_d[read_index_i] = 1'b0;
    if (again_i) more_d[index_i] = 1'b1;
    if (push_i) {some_d[push_index_i], more_d[push_index_i]} = '1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      put_q    <= '0;
      read_q   <= '0;
      oldest_q <= '0;
      some_q   <= '0;
      more_q   <= '0;
    end else begin
      some_q <= some_d;
      more_q <= more_d;
      if (push_i) put_q[push_index_i] <= put_q[push_index_i] + 1'b1;
      if (pop_i) oldest_q[index_i] <= behind_oldest;
      if (read_i) read_q[read_index_i] <= behind_read;
      if (again_i) read_q[index_i] <= oldest_q[index_i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) place_o <= read_q[read_index_i];
  end

  assign some_o   = some_q;
  assign more_o   = more_q;
  assign oldest_o = oldest_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!push_i || !some_q[push_index_i] || put_q[push_index_i] != oldest_q[push_index_i])
      else $error("queues: a word that has no room");
      assert (!read_i || more_q[read_index_i])
      else $error("queues: a read of no word");
      assert (!(pop_i || again_i) || some_q[index_i])
      else $error("queues: a queue without words");
    end
  end

endmodule
