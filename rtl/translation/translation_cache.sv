// Cache of page table entries: which of them the NIC has. Sets of four, of which the entry that was used longest ago
// gives way. What an entry says, the address of its page, is not kept: DMA goes by key and address.
//
// One operation may enter in each cycle with `ready_o`, which is 0 while FORGET reads the sets:
//   LOOK: two cycles later `hit_o` says whether the entry is there. It counts as used.
//   FILL: takes the entry in, as used last. It must not be there.
//
// - FORGET drops the entries `first_i` to `first_i` + `span_i`, or all. It begins in a cycle with `idle_o`, and nothing
//   else enters then; it takes as many cycles as there are sets.
// - `log_sets_i`: binary logarithm of the sets that are used, 0 to that of `Sets`; may change while the cache is empty.
// - Entries are undefined after reset: FORGET of all comes first.
//
//     cycle 0   the set is read
//     cycle 1   its entries are compared
//     cycle 2   the set is written
//
// Timing: all outputs are registers or depend on registers only.
module translation_cache
  import nic_pkg::*;
#(
    parameter  int unsigned Sets    = 512,
    localparam int unsigned Ways    = 4,
    localparam int unsigned SetBits = $clog2(Sets)
) (
    input logic clk_i,
    input logic rst_i,

    input logic [3:0] log_sets_i,

    input  logic          look_i,
    input  logic          fill_i,    // not both
    input  entry_number_t number_i,
    output logic          ready_o,

    output logic hit_o,

    input logic          forget_i,
    input logic          all_i,
    input entry_number_t first_i,
    input entry_number_t span_i,

    output logic idle_o
);

  typedef struct packed {
    logic          valid;
    entry_number_t number;
  } way_t;

  typedef enum logic [1:0] {
    Look   = 2'd0,
    Fill   = 2'd1,
    Forget = 2'd2
  } operation_e;

  typedef struct packed {
    operation_e         operation;
    logic [SetBits-1:0] index;      // of the set
    entry_number_t      number;
  } entry_t;

  logic enters, match_valid_q, judge_valid_q, write;
  entry_t entering, match_q, judge_q;
  way_t [Ways-1:0] stored, ways, ways_q, kept, written_q;  // the one that was used last is number 0
  logic [Ways-1:0] hits_q;

  // FORGET
  logic forgets_q, all_q, wraps_q;
  logic [SetBits-1:0] forget_set_q;
  entry_number_t first_q, last_q;

  function automatic logic forgotten(input entry_number_t number);
    logic from, until_last;
    from       = number >= first_q;
    until_last = number <= last_q;
    forgotten  = all_q || (wraps_q ? from || until_last : from && until_last);
  endfunction

  function automatic logic [SetBits-1:0] set_of(input logic [SetBits-1:0] number, input logic [3:0] log_sets);
    return number & ~({SetBits{1'b1}} << log_sets);
  endfunction

  assign ready_o = !forgets_q;

  always_comb begin
    entering = '{
        operation: fill_i ? Fill : Look,
        index: set_of(number_i[SetBits-1:0], log_sets_i),
        number: number_i
    };
    if (forgets_q) {entering.operation, entering.index} = {Forget, forget_set_q};
  end

  assign enters = forgets_q || ((look_i || fill_i) && ready_o);

  ram_1r1w #(
      .Width($bits(ways)),
      .Depth(Sets)
  ) u_sets (
      .clk_i,
      .write_i        (write),
      .write_address_i(judge_q.index),
      .data_i         (kept),
      .read_i         (enters),
      .read_address_i (entering.index),
      .data_o         (stored)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      forgets_q     <= 1'b0;
      match_valid_q <= 1'b0;
      judge_valid_q <= 1'b0;
    end else begin
      forgets_q     <= forget_i || (forgets_q && forget_set_q != SetBits'(Sets - 1));
      match_valid_q <= enters;
      judge_valid_q <= match_valid_q;
    end
  end

  // A set is read before the two operations in front have written it.
  logic written_valid_q;
  logic [SetBits-1:0] written_index_q;

  always_comb begin
    ways = stored;
    if (judge_valid_q && judge_q.index == match_q.index) ways = kept;
    else if (written_valid_q && written_index_q == match_q.index) ways = written_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) written_valid_q <= 1'b0;
    else written_valid_q <= judge_valid_q;
  end

  always_ff @(posedge clk_i) begin
    if (judge_valid_q) {written_index_q, written_q} <= {judge_q.index, kept};
  end

  always_ff @(posedge clk_i) begin
    if (enters) match_q <= entering;
    if (match_valid_q) begin
      judge_q <= match_q;
      ways_q  <= ways;
      for (int unsigned w = 0; w < Ways; w++) hits_q[w] <= ways[w].valid && ways[w].number == match_q.number;
    end
    if (forget_i) begin
      {wraps_q, last_q} <= 41'(first_i) + 41'(span_i);
      {first_q, all_q}  <= {first_i, all_i};
      forget_set_q      <= '0;
    end else if (forgets_q) forget_set_q <= forget_set_q + 1'b1;
  end

  always_comb begin
    kept  = ways_q;
    write = judge_valid_q;
    case (judge_q.operation)
      Fill:   kept = {ways_q[Ways-2:0], way_t'({1'b1, judge_q.number})};
      Forget: for (int unsigned w = 0; w < Ways; w++) if (forgotten(ways_q[w].number)) kept[w].valid = 1'b0;
      default: begin
        write = judge_valid_q && hit_o;
        // Those in front of it move back by one.
        for (int unsigned w = 1; w < Ways; w++) if ((hits_q >> w) != '0) kept[w] = ways_q[w-1];
        if (hit_o) kept[0] = '{valid: 1'b1, number: judge_q.number};
      end
    endcase
  end

  assign hit_o  = hits_q != '0;
  assign idle_o = !forgets_q && !match_valid_q && !judge_valid_q && !written_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!forget_i || (idle_o && !look_i && !fill_i))
      else $error("translation_cache: FORGET beside another operation");
    end
  end

endmodule
