// Translates the memory of packets: says, in the order in which it is asked, when the NIC has the page table entries of
// each, and whether one of them names no page. What the cache does not have is read from the host.
//
//     ask ─► region's table ─► numbers of one or two entries ─► cache ─┬─ there ──────────► verdict
//                                                                      └─ missing ─► host ─► fill, verdict
//
// - Up to `Misses` entries are read at a time, in order. What is behind a miss is looked up meanwhile with `ahead_i`, else
//   when all that it waits for has come.
// - An access that its region does not hold is not looked up, and one of a region without a table neither: its verdict
//   is that all is there. That it is not permitted is found elsewhere.
// - `ask_valid_i` has no back-pressure: at most 32 asks wait for their verdict to be taken (asserted).
// - A region that is written forgets the entries of the table that it had; `busy_o` is 1 meanwhile, and no other region
//   may be written. Turning translation on forgets all, tables too; regions that are written before have none.
//
// Timing: `idle_o` depends on inputs of the same cycle; all other outputs are registers or depend on registers only.
module translator
  import gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Regions   = 256,
    parameter  int unsigned Sets      = 512,
    localparam int unsigned IndexBits = $clog2(Regions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic       on_i,
    input logic       ahead_i,    // looks up what is behind a miss meanwhile
    input logic [3:0] log_sets_i,

    input  logic                    write_i,
    input  logic    [IndexBits-1:0] index_i,
    input  region_t                 region_i,
    input  table_t                  table_i,
    output logic                    busy_o,

    input logic   ask_valid_i,
    input place_t ask_i,

    output logic verdict_valid_o,
    output logic waits_o,          // the next verdict is there when entries have come
    output logic gone_o,           // an entry names no page
    input  logic verdict_ready_i,

    // Page table entries in the host's memory. What is read comes in order, without back-pressure.
    output logic          entry_valid_o,
    output entry_number_t entry_number_o,
    input  logic          entry_ready_i,
    input  logic          come_i,
    input  logic          there_i,         // it names a page

    output logic hit_o,
    output logic miss_o,
    output logic idle_o
);

  localparam int unsigned Misses = 8;
  localparam int unsigned Asks = 32;

  // Reads of entries are numbered. A verdict may refer to those of the last Asks asks, of two pages each, and of Misses
  // that are under way.
  typedef logic [6:0] read_t;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Tables of regions. When a region is written, its old table is read and replaced, and then forgotten.

  typedef struct packed {
    logic [7:0]    tag;
    logic [63:0]   base;
    logic [47:0]   length;
    logic [3:0]    page;
    entry_number_t first;
  } mapping_t;

  typedef enum logic [1:0] {
    Quiet   = 2'd0,
    Read    = 2'd1,
    Replace = 2'd2,
    Forget  = 2'd3
  } change_e;

  change_e change_q;
  logic all_q, on_q, asks_read, read_q, forgets;
  logic [Regions-1:0] translated_q;
  logic [IndexBits-1:0] index_q;
  logic new_translated_q;
  mapping_t new_q, mapping;
  entry_number_t forget_first_q;
  logic [39:0] forget_count_q;

  // End of the region that is replaced
  logic [63:0] old_last;
  assign old_last = mapping.base + 64'(mapping.length) - 64'd1;

  logic ask_valid, asks_ready;
  place_t ask;
  logic [$clog2(Asks+1)-1:0] asked;

  ram_1r1w #(
      .Width($bits(mapping_t)),
      .Depth(Regions)
  ) u_mappings (
      .clk_i,
      .write_i        (change_q == Replace),
      .write_address_i(index_q),
      .data_i         (new_q),
      .read_i         (asks_read || (change_q == Read && !read_q)),
      .read_address_i (asks_read ? ask.key[8+:IndexBits] : index_q),
      .data_o         (mapping)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      change_q     <= Quiet;
      all_q        <= 1'b0;
      on_q         <= 1'b0;
      translated_q <= '0;
    end else begin
      on_q  <= on_i;
      all_q <= (on_i && !on_q) || (all_q && !forgets);
      if (on_i && !on_q) translated_q <= '0;
      else if (change_q == Replace) translated_q[index_q] <= new_translated_q;
      case (change_q)
        Quiet: begin
          if (write_i && on_i) change_q <= Read;
          else if (all_q) change_q <= Forget;
        end
        Read: if (!read_q) change_q <= Replace;
        Replace: change_q <= translated_q[index_q] ? Forget : Quiet;
        default: if (forgets) change_q <= Quiet;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      index_q <= index_i;
      new_translated_q <= region_i.valid && table_i.translated;
      new_q <= '{
          tag: region_i.tag,
          base: region_i.base,
          length: region_i.length,
          page: table_i.page,
          first: table_i.first
      };
    end
    if (change_q == Replace) begin
      forget_first_q <= mapping.first;
      forget_count_q <= 40'((old_last[63:12] >> mapping.page) - (mapping.base[63:12] >> mapping.page) + 52'd1);
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Asks, and the numbers of their entries

  fifo #(
      .Width($bits(place_t)),
      .Depth(Asks)
  ) u_asks (
      .clk_i,
      .rst_i,
      .valid_i(ask_valid_i),
      .ready_o(asks_ready),
      .data_i (ask_i),
      .valid_o(ask_valid),
      .ready_i(asks_read),
      .data_o (ask),
      .count_o(asked)
  );

  logic pages_ready, in_region, pages_valid_q, numbers_valid_q, numbers_ready, takes, looked_all;
  place_t place_q;
  logic [63:0] offset, last;
  logic [51:0] first_page_q, last_page_q, base_page_q;
  logic looked_up_q;
  entry_number_t first_q;
  logic [1:0] pages_left_q;
  entry_number_t number_q;

  assign asks_read     = ask_valid && !read_q && change_q == Quiet && !write_i && !all_q;
  assign offset        = place_q.va - mapping.base;
  assign last          = place_q.va + 64'(place_q.bytes) - 64'd1;
  assign in_region     = place_q.va >= mapping.base && 65'(offset) + 65'(place_q.bytes) <= 65'(mapping.length);
  assign takes         = read_q && pages_ready;
  assign pages_ready   = !pages_valid_q || numbers_ready;
  assign numbers_ready = !numbers_valid_q || looked_all;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      read_q          <= 1'b0;
      pages_valid_q   <= 1'b0;
      numbers_valid_q <= 1'b0;
    end else begin
      read_q          <= asks_read || (read_q && !pages_ready);
      pages_valid_q   <= takes || (pages_valid_q && !numbers_ready);
      numbers_valid_q <= pages_valid_q || (numbers_valid_q && !looked_all);
    end
  end

  always_ff @(posedge clk_i) begin
    if (asks_read) place_q <= ask;
    if (takes) begin
      looked_up_q <= translated_q[place_q.key[8+:IndexBits]] && place_q.bytes != '0 && mapping.tag == place_q.key[7:0] &&
          32'(place_q.key[31:8]) < Regions && in_region;
      first_page_q <= place_q.va[63:12] >> mapping.page;
      last_page_q <= last[63:12] >> mapping.page;
      base_page_q <= mapping.base[63:12] >> mapping.page;
      first_q <= mapping.first;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Look up

  logic may_look, looks, looked, hit, fills, under_way, issues, page_done, cache_ready, forgetting;
  read_t issued_q, come_q, filled_q;  // numbers of reads that were asked for, that have come, and that are taken in
  logic [Misses-1:0] wanted_q, match;
  entry_number_t [Misses-1:0] missing_q;
  read_t waited;  // the read that the entry waits for
  logic waits;
  logic fill_pending, fill_useful;
  logic entry_valid_q;
  entry_number_t entry_number_q;
  logic [127:0] gone_q;

  typedef struct packed {
    logic  waits;
    read_t read;
  } wait_t;

  wait_t first_wait_q;
  wait_t [1:0] waiting, verdict;
  logic verdicts_ready, verdict_valid, second_q;

  always_comb begin
    for (int unsigned m = 0; m < Misses; m++) begin
      match[m] = wanted_q[m] && missing_q[m] == number_q;
    end
  end

  always_comb begin
    waited = issued_q;
    for (int unsigned m = 0; m < Misses; m++) begin
      // The slot of a read is its number modulo Misses.
      if (match[m]) waited = filled_q + {4'd0, 3'(m) - filled_q[2:0]};
    end
  end

  assign fill_pending = filled_q != come_q;
  assign fill_useful = wanted_q[filled_q[2:0]] && !gone_q[filled_q];
  assign fills = cache_ready && fill_pending && fill_useful;
  assign may_look = ahead_i || second_q || filled_q == issued_q;
  assign looks = cache_ready && !fills && numbers_valid_q && pages_left_q != '0 && may_look;
  // Behind what was asked before
  assign forgets = change_q == Forget && cache_ready && !fills && !read_q && !pages_valid_q && !numbers_valid_q;
  assign busy_o = change_q != Quiet || (write_i && on_i) || all_q || (on_i && !on_q) || forgetting;
  assign under_way = match != '0;
  assign issues = looked && !hit && !under_way && !entry_valid_q && issued_q - filled_q < read_t'(Misses);
  assign waits = !hit;
  assign page_done = looked && (hit || under_way || issues);
  assign looked_all = numbers_valid_q && (pages_left_q == '0 || (page_done && pages_left_q == 2'd1));

  assign hit_o = page_done && hit;
  assign miss_o = page_done && !hit;

  translation_cache #(
      .Sets(Sets)
  ) u_cache (
      .clk_i,
      .rst_i,
      .log_sets_i,
      .look_i  (looks),
      .fill_i  (fills),
      .forget_i(forgets),
      .all_i   (all_q),
      .number_i(forgets ? forget_first_q : fills ? missing_q[filled_q[2:0]] : number_q),
      .count_i (forget_count_q),
      .ready_o (cache_ready),
      .forgetting_o(forgetting),
      .looked_o(looked),
      .hit_o   (hit)
  );

  always_ff @(posedge clk_i) begin
    if (pages_valid_q && numbers_ready) begin
      number_q     <= first_q + 40'(first_page_q - base_page_q);
      pages_left_q <= !looked_up_q ? 2'd0 : (first_page_q == last_page_q) ? 2'd1 : 2'd2;
      second_q     <= 1'b0;
      first_wait_q <= '0;
    end else if (page_done) begin
      number_q     <= number_q + 1'b1;
      pages_left_q <= pages_left_q - 1'b1;
      second_q     <= 1'b1;
      first_wait_q <= '{waits: waits, read: waited};
    end
  end

  // Reads under way
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      issued_q      <= '0;
      come_q        <= '0;
      filled_q      <= '0;
      wanted_q      <= '0;
      entry_valid_q <= 1'b0;
    end else begin
      issued_q <= issued_q + read_t'(issues);
      come_q <= come_q + read_t'(come_i);
      entry_valid_q <= issues || (entry_valid_q && !entry_ready_i);
      if (issues) wanted_q[issued_q[2:0]] <= 1'b1;
      if (fill_pending && (fills || !fill_useful)) begin
        filled_q <= filled_q + 1'b1;
        wanted_q[filled_q[2:0]] <= 1'b0;
      end
      if (forgets) begin
        for (int unsigned m = 0; m < Misses; m++)
        if (all_q || missing_q[m] - forget_first_q < forget_count_q) wanted_q[m] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (issues) begin
      missing_q[issued_q[2:0]] <= number_q;
      entry_number_q <= number_q;
    end
    if (come_i) gone_q[come_q] <= !there_i;
  end

  assign entry_valid_o  = entry_valid_q;
  assign entry_number_o = entry_number_q;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Verdicts

  logic [$clog2(Asks+1)-1:0] verdicts;

  always_comb begin
    waiting    = '0;
    waiting[0] = second_q ? first_wait_q : '0;
    if (pages_left_q != '0) waiting[1] = '{waits: waits, read: waited};
  end

  fifo #(
      .Width($bits(verdict)),
      .Depth(Asks)
  ) u_verdicts (
      .clk_i,
      .rst_i,
      .valid_i(looked_all),
      .ready_o(verdicts_ready),
      .data_i (waiting),
      .valid_o(verdict_valid),
      .ready_i(verdict_ready_i && verdict_valid_o),
      .data_o (verdict),
      .count_o(verdicts)
  );

  function automatic logic has_come(input wait_t awaited, input read_t come);
    return !awaited.waits || read_t'(come - awaited.read - 1'b1) < 7'd96;
  endfunction

  assign verdict_valid_o = verdict_valid && has_come(verdict[0], come_q) && has_come(verdict[1], come_q);
  assign waits_o = verdict_valid && !verdict_valid_o;
  assign gone_o = (verdict[0].waits && gone_q[verdict[0].read]) || (verdict[1].waits && gone_q[verdict[1].read]);

  logic unused_bits;
  assign unused_bits = ^{region_i.local_write, region_i.remote_write, region_i.remote_read, region_i.remote_atomic, place_q.remote,
                         old_last[11:0], last[11:0]};

  assign idle_o = !ask_valid_i && asked == '0 && !read_q && !pages_valid_q && !numbers_valid_q && verdicts == '0 &&
      filled_q == issued_q && !entry_valid_q && cache_ready && !busy_o && on_i == on_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!ask_valid_i || asks_ready)
      else $error("translator: an ask that has no room");
      assert (!looked_all || verdicts_ready)
      else $error("translator: a verdict that has no room");
      assert (!come_i || come_q != issued_q)
      else $error("translator: an entry that nothing asked for");
    end
  end

endmodule
