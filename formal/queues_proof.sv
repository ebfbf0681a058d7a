// Proof of queues: words of each queue are read in their order and unchanged, again from the oldest where that is asked
// for; what is said of each queue, whether it has words, unread ones, and where its oldest is, is right.
//
// An arbitrary word is followed from the cycle in which it goes in.
module queues_proof #(
    parameter  int unsigned Depth     = 4,
    localparam int unsigned Count     = 2,
    localparam int unsigned Width     = 2,
    localparam int unsigned PlaceBits = $clog2(Depth),
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic             clk_i,
    input logic             push_i,
    input logic             push_index_i,
    input logic [Width-1:0] data_i,
    input logic             read_i,
    input logic             read_index_i,
    input logic             pop_i,
    input logic             again_i,
    input logic             index_i,
    input logic             follow_i
);

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;

  logic [Width-1:0] data;
  logic [PlaceBits-1:0] place;
  logic [Count-1:0] some, more;
  logic [Count-1:0][PlaceBits-1:0] oldest;

  // Words in each queue, and those of them that were not read: what comes is what may come
  logic [Count-1:0][CountBits-1:0] inside_q = '0, unread_q = '0;
  logic push, read, pop, again;
  assign push  = started_q && push_i && 32'(inside_q[push_index_i]) < Depth;
  assign read  = started_q && read_i && more[read_index_i];
  assign pop   = started_q && pop_i && some[index_i] && inside_q[index_i] != unread_q[index_i];
  assign again = started_q && again_i && !pop && some[index_i];

  queues #(
      .Width(Width),
      .Count(Count),
      .Depth(Depth)
  ) u_dut (
      .clk_i,
      .rst_i   (!started_q),
      .push_i  (push),
      .push_index_i,
      .data_i,
      .read_i  (read),
      .read_index_i,
      .data_o  (data),
      .place_o (place),
      .pop_i   (pop),
      .again_i (again),
      .index_i,
      .some_o  (some),
      .more_o  (more),
      .oldest_o(oldest)
  );

  // The followed word, its queue, the words in front of it, and those of them that are to be read before it
  logic follows_q = 1'b0, queue_q;
  logic [CountBits-1:0] front_q, unread_front_q;
  logic unread_word_q;  // it is to be read
  logic [Width-1:0] word_q;
  logic reads_word, pops_queue;
  logic offers_q = 1'b0;  // it was read in the cycle before
  logic [PlaceBits-1:0] place_q;  // of what was read last of a queue,
  logic read_q = 1'b0, read_index_q;
  logic was_oldest_q;  // which was the oldest

  assign reads_word = read && follows_q && read_index_i == queue_q && unread_word_q && unread_front_q == '0;
  assign pops_queue = pop && follows_q && index_i == queue_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned q = 0; q < Count; q++) begin
      inside_q[q] <= inside_q[q] + CountBits'(push && push_index_i == 1'(q)) - CountBits'(pop && index_i == 1'(q));
      if (again && index_i == 1'(q)) unread_q[q] <= inside_q[q] + CountBits'(push && push_index_i == 1'(q));
      else unread_q[q] <= unread_q[q] + CountBits'(push && push_index_i == 1'(q)) - CountBits'(read && read_index_i == 1'(q));
    end
    if (follows_q) begin
      if (pops_queue && front_q == '0) follows_q <= 1'b0;
      if (pops_queue) front_q <= front_q - 1'b1;
      if (again && index_i == queue_q) {unread_word_q, unread_front_q} <= {1'b1, front_q};
      else if (reads_word) unread_word_q <= 1'b0;
      else if (read && read_index_i == queue_q && unread_word_q) unread_front_q <= unread_front_q - 1'b1;
    end else if (push && follow_i) begin
      follows_q      <= 1'b1;
      queue_q        <= push_index_i;
      front_q        <= inside_q[push_index_i] - CountBits'(pop && index_i == push_index_i);
      unread_word_q  <= 1'b1;
      unread_front_q <= (again && index_i == push_index_i) ? inside_q[push_index_i] :
          unread_q[push_index_i] - CountBits'(read && read_index_i == push_index_i);
      word_q         <= data_i;
    end
    offers_q     <= reads_word;
    read_q       <= read;
    read_index_q <= read_index_i;
    was_oldest_q <= unread_q[read_index_i] == inside_q[read_index_i];
    place_q      <= oldest[read_index_i];
  end

  logic [PlaceBits-1:0] at;  // where the followed word is
  assign at = oldest[queue_q] + PlaceBits'(front_q);

  logic [Count-1:0] pointers_right, counts_right, has, has_unread;

  always_comb begin
    for (int unsigned q = 0; q < Count; q++) begin
      pointers_right[q] = u_dut.put_q[q] == PlaceBits'(oldest[q] + PlaceBits'(inside_q[q])) &&
          u_dut.put_q[q] == PlaceBits'(u_dut.read_q[q] + PlaceBits'(unread_q[q]));
      counts_right[q] = 32'(inside_q[q]) <= Depth && unread_q[q] <= inside_q[q];
      has[q] = inside_q[q] != '0;
      has_unread[q] = unread_q[q] != '0;
    end
  end

  always_comb begin
    if (started_q) begin
      a_pointers : assert (pointers_right == '1);
      a_counts : assert (counts_right == '1);
      a_some : assert (some == has);
      a_more : assert (more == has_unread);
      a_front :
      assert (!follows_q || (front_q < inside_q[queue_q] && (!unread_word_q || (unread_front_q < unread_q[queue_q] &&
                inside_q[queue_q] - front_q == unread_q[queue_q] - unread_front_q))));
      a_word : assert (!follows_q || u_dut.u_words.words_q[{queue_q, at}] == word_q);
      a_order : assert (!offers_q || data == word_q);
      a_place : assert (!read_q || (place == place_q) == was_oldest_q);
    end
  end

endmodule
