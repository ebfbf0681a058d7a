// Cache of page table entries: which of them the NIC has. Sets of four, of which the entry that was used longest ago
// gives way. What an entry says, the address of its page, is not kept: DMA goes by key and address.
//
// - One operation at a time, by `operation_i` in a cycle with `ready_o`:
//   LOOK: two cycles later `looked_o` is 1, and `hit_o` says whether the entry is there. It counts as used.
//   FILL: takes the entry in, as used last. It must not be there. Ready again after two cycles.
//   FORGET: drops the entries `number_i` to `number_i` + `count_i` − 1, or all. Takes as many cycles as there are sets.
// - `log_sets_i`: binary logarithm of the sets that are used, 0 to that of `Sets`; may change while the cache is empty.
// - Entries are undefined after reset: FORGET of all comes first.
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

    input  logic                 look_i,
    input  logic                 fill_i,
    input  logic                 forget_i,
    input  logic                 all_i,
    input  entry_number_t        number_i,
    input  logic          [39:0] count_i,
    output logic                 ready_o,
    output logic                 forgetting_o,
    output logic                 looked_o,
    output logic                 hit_o
);

  typedef struct packed {
    logic          valid;
    entry_number_t number;
  } way_t;

  typedef enum logic [2:0] {
    Ready  = 3'd0,
    Match  = 3'd1,
    Judge  = 3'd2,
    Fill   = 3'd3,
    Forget = 3'd4
  } state_e;

  state_e state_q;
  entry_number_t number_q;
  entry_number_t end_q;  // the last one that is forgotten
  logic all_q, wraps_q, last_q;
  logic [SetBits-1:0] set, set_q, next_q;
  way_t [Ways-1:0] ways, kept;  // the one that was used last is number 0
  logic [Ways-1:0] match_q;
  logic write;

  // FORGET drops it.
  function automatic logic forgotten(input entry_number_t number);
    logic from, until_end;
    from      = number >= number_q;
    until_end = number <= end_q;
    forgotten = all_q || (wraps_q ? from || until_end : from && until_end);
  endfunction

  function automatic logic [SetBits-1:0] set_of(input logic [SetBits-1:0] number, input logic [3:0] log_sets);
    return number & ~({SetBits{1'b1}} << log_sets);
  endfunction

  // FORGET reads a set while it writes the one before.
  logic taken, reads;
  assign taken = ready_o && (look_i || fill_i || forget_i);
  assign reads = taken || (state_q == Forget && !last_q);

  always_comb begin
    set = next_q;
    if (taken) set = forget_i ? '0 : set_of(number_i[SetBits-1:0], log_sets_i);
  end

  ram_1r1w #(
      .Width($bits(ways)),
      .Depth(Sets)
  ) u_sets (
      .clk_i,
      .write_i        (write),
      .write_address_i(set_q),
      .data_i         (kept),
      .read_i         (reads),
      .read_address_i (set),
      .data_o         (ways)
  );

  always_ff @(posedge clk_i) begin
    if (state_q == Match)
      for (int unsigned w = 0; w < Ways; w++) match_q[w] <= ways[w].valid && ways[w].number == number_q;
  end

  always_comb begin
    kept  = ways;
    write = 1'b0;
    case (state_q)
      Judge: begin
        write = match_q != '0;
        // Those in front of it move back by one.
        for (int unsigned w = 1; w < Ways; w++) if ((match_q >> w) != '0) kept[w] = ways[w-1];
        kept[0] = '{valid: 1'b1, number: number_q};
      end
      Fill: begin
        write = 1'b1;
        kept  = {ways[Ways-2:0], way_t'({1'b1, number_q})};
      end
      Forget: begin
        write = 1'b1;
        for (int unsigned w = 0; w < Ways; w++) if (forgotten(ways[w].number)) kept[w].valid = 1'b0;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= Ready;
    else if (taken) state_q <= forget_i ? Forget : look_i ? Match : Fill;
    else if (state_q == Match) state_q <= Judge;
    else if (state_q != Forget || last_q) state_q <= Ready;
  end

  always_ff @(posedge clk_i) begin
    if (taken) begin
      {number_q, all_q} <= {number_i, all_i};
      {wraps_q, end_q}  <= 41'(number_i) + 41'(count_i) - 41'd1;
    end
    if (reads) begin
      set_q  <= set;
      next_q <= set + 1'b1;
      last_q <= set == SetBits'(Sets - 1);
    end
  end

  assign ready_o      = state_q == Ready;
  assign forgetting_o = state_q == Forget;
  assign looked_o     = state_q == Judge;
  assign hit_o        = match_q != '0;

endmodule
