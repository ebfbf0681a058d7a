// Translates the memory of packets: says of each when the NIC has its page table entries, and whether one of them names no
// page. Receive and transmit ask, and each gets its verdicts in the order of its asks. What the cache does not have is read
// from the host.
//
//     receive's  ask ─┐                    ┌─► numbers of one or two entries ─┐        ┌─ there ────────────► verdict
//                     ├─► region's table ──┤                 ...              ├─► cache┤
//     transmit's ask ─┘                    └─► numbers of one or two entries ─┘        └─ missing ─► host ──► verdict
//
// - Receive asks for each of its rings. Behind the tables each ring has a queue of its own, and so has transmit: they
//   are the askers, which take turns at the cache, and none waits for a verdict of another.
// - Up to `Misses` entries are read at a time, in order. What is behind a miss is looked up meanwhile; for a ring of
//   receive only with `ahead_i`, else when all has come that the ring waits for.
// - An access that its region does not hold is not looked up, and one of a region without a table neither: its verdict
//   is that all is there. That it is not permitted is found elsewhere.
// - Asks have no back-pressure: at most `Asks` of an asker wait for their verdict to be taken (asserted).
// - A region that is written forgets the entries of the table that it had; `busy_o` is 1 meanwhile, and no other region
//   may be written. Turning translation on forgets all, tables too; regions that are written before have none.
//
// Timing: `idle_o` depends on inputs of the same cycle; all other outputs are registers or depend on registers only.
module translator
  import gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Regions   = 256,
    parameter  int unsigned Sets      = 512,
    parameter  int unsigned Asks      = 32,              // of an asker; a power of two
    localparam int unsigned IndexBits = $clog2(Regions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic       on_i,
    input logic       ahead_i,    // rings look up what is behind a miss meanwhile
    input logic [3:0] log_sets_i,

    input  logic                    write_i,
    input  logic    [IndexBits-1:0] index_i,
    input  region_t                 region_i,
    input  table_t                  table_i,
    output logic                    busy_o,

    input  logic    receive_ask_valid_i,
    input  buffer_t receive_ask_ring_i,
    input  place_t  receive_ask_i,
    output logic    receive_room_o,        // less than half of the asks that there is room for wait for the tables
    input  logic    transmit_ask_valid_i,
    input  place_t  transmit_ask_i,

    // By asker: the rings of receive, and transmit
    output logic [Askers-1:0] verdict_valid_o,
    output logic [Askers-1:0] waits_o,          // the next verdict is there when entries have come
    output logic [Askers-1:0] gone_o,           // an entry names no page
    input  logic [Askers-1:0] verdict_ready_i,

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
  localparam int unsigned CountBits = $clog2(Asks + 1);

  // Reads of entries are numbered. A verdict is known at most Asks cycles after the last read has come that it waits
  // for, and as many may have come since.
  localparam int unsigned ReadBits = $clog2(4 * Asks);
  typedef logic [ReadBits-1:0] read_t;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Tables of regions. When a region is written, its old table is read and replaced, and then forgotten.

  typedef struct packed {
    logic [7:0]    tag;
    logic [63:0]   base;
    logic [63:0]   last;   // its last byte
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
  logic [64:0] new_behind;  // the first byte behind the region that is written
  entry_number_t forget_first_q;
  logic [51:0] forget_base_q, forget_last_q;  // the first and the last page that are forgotten
  logic [39:0] forget_count;

  logic [1:0] ask_valid, asks_ready;  // of receive and of transmit
  buffer_t ring;  // of receive's ask
  place_t [1:0] asks;
  place_t ask;

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

  assign new_behind   = 65'(region_i.base) + 65'(region_i.length);
  assign forget_count = 40'(forget_last_q - forget_base_q) + 1'b1;

  always_ff @(posedge clk_i) begin
    if (write_i && on_i) begin
      index_q <= index_i;
      new_translated_q <= region_i.valid && table_i.translated && region_i.length != '0;
      new_q <= '{
          tag: region_i.tag,
          base: region_i.base,
          last: new_behind[64] ? '1 : new_behind[63:0] - 1'b1,
          page: table_i.page,
          first: table_i.first
      };
    end
    if (change_q == Replace) begin
      forget_first_q <= mapping.first;
      forget_base_q  <= mapping.base[63:12] >> mapping.page;
      forget_last_q  <= mapping.last[63:12] >> mapping.page;
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Asks, and the numbers of their entries

  typedef logic [$clog2(Askers)-1:0] asker_t;

  typedef struct packed {
    entry_number_t first;
    logic [1:0]    pages;
  } located_t;

  logic [1:0][CountBits-1:0] asked;
  logic [Askers-1:0][CountBits-1:0] located_count;
  logic [Askers-1:0] located_ready, located_valid, look_done;
  logic ask_from, ask_last_q;  // whether transmit's ask is read, and was last
  located_t numbers;
  located_t [Askers-1:0] located;

  logic in_region, pages_valid_q;
  asker_t read_from_q, pages_from_q;
  place_t place_q;
  logic [63:0] last;
  logic [51:0] first_page_q, last_page_q, base_page_q;
  logic looked_up_q;
  entry_number_t first_q;

  fifo #(
      .Width($bits(buffer_t) + $bits(place_t)),
      .Depth(Asks)
  ) u_receive_asks (
      .clk_i,
      .rst_i,
      .valid_i(receive_ask_valid_i),
      .ready_o(asks_ready[0]),
      .data_i ({receive_ask_ring_i, receive_ask_i}),
      .valid_o(ask_valid[0]),
      .ready_i(asks_read && !ask_from),
      .data_o ({ring, asks[0]}),
      .count_o(asked[0])
  );

  fifo #(
      .Width($bits(place_t)),
      .Depth(Asks)
  ) u_transmit_asks (
      .clk_i,
      .rst_i,
      .valid_i(transmit_ask_valid_i),
      .ready_o(asks_ready[1]),
      .data_i (transmit_ask_i),
      .valid_o(ask_valid[1]),
      .ready_i(asks_read && ask_from),
      .data_o (asks[1]),
      .count_o(asked[1])
  );

  for (genvar a = 0; a < Askers; a++) begin : gen_located
    fifo #(
        .Width($bits(located_t)),
        .Depth(Asks)
    ) u_located (
        .clk_i,
        .rst_i,
        .valid_i(pages_valid_q && pages_from_q == asker_t'(a)),
        .ready_o(located_ready[a]),
        .data_i (numbers),
        .valid_o(located_valid[a]),
        .ready_i(look_done[a]),
        .data_o (located[a]),
        .count_o(located_count[a])
    );
  end

  assign receive_room_o = 32'(asked[0]) < Asks / 2;
  assign ask_from       = ask_valid[!ask_last_q] ^ ask_last_q;
  assign ask            = asks[ask_from];
  assign asks_read      = ask_valid != '0 && change_q == Quiet && !write_i && !all_q;
  assign last           = place_q.va + 64'(place_q.bytes) - 64'd1;
  assign in_region      = place_q.va >= mapping.base && last >= place_q.va && last <= mapping.last;

  always_comb begin
    numbers.first = first_q + 40'(first_page_q - base_page_q);
    numbers.pages = !looked_up_q ? 2'd0 : (first_page_q == last_page_q) ? 2'd1 : 2'd2;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      read_q        <= 1'b0;
      pages_valid_q <= 1'b0;
      ask_last_q    <= 1'b0;
    end else begin
      read_q        <= asks_read;
      pages_valid_q <= read_q;
      if (asks_read) ask_last_q <= ask_from;
    end
  end

  always_ff @(posedge clk_i) begin
    if (asks_read) {read_from_q, place_q} <= {ask_from ? asker_t'(AskTransmit) : asker_t'(ring), ask};
    if (read_q) begin
      pages_from_q <= read_from_q;
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

  typedef struct packed {
    logic  waits;
    read_t read;
  } wait_t;

  logic looks, looked, hit, fills, under_way, issues, page_done, cache_ready, forgetting;
  asker_t look_from, look_last_q;  // whose entry is looked up, and whose was last
  logic unused_look_valid, unused_turn_moves;
  logic [Askers-1:0] look_wish, unused_look_grant, second_q, ring_waits_q;  // `ring_waits_q`: for entries
  entry_number_t [Askers-1:0] number;
  entry_number_t number_q;  // that is looked up
  read_t issued_q, come_q, filled_q;  // numbers of reads that were asked for, that have come, and that are taken in
  logic [Misses-1:0] wanted_q, match;
  entry_number_t [Misses-1:0] missing_q;
  read_t waited;  // the read that the entry waits for
  logic fill_pending, fill_useful;
  logic entry_valid_q;
  entry_number_t entry_number_q;
  logic [4*Asks-1:0] gone_q;
  wait_t [Askers-1:0] first_wait_q;

  always_comb begin
    for (int unsigned m = 0; m < Misses; m++) begin
      match[m] = wanted_q[m] && missing_q[m] == number_q;
    end
  end

  always_comb begin
    waited = issued_q;
    for (int unsigned m = 0; m < Misses; m++) begin
      // The slot of a read is its number modulo Misses.
      if (match[m]) waited = filled_q + {(ReadBits - 3)'(0), 3'(m) - filled_q[2:0]};
    end
  end

  for (genvar a = 0; a < Askers; a++) begin : gen_looks
    logic last_page;
    assign number[a] = located[a].first + 40'(second_q[a]);
    assign last_page = 2'(second_q[a]) + 1'b1 == located[a].pages;
    assign look_wish[a] = located_valid[a] && located[a].pages != '0 &&
        (a == AskTransmit || ahead_i || second_q[a] || !ring_waits_q[a]);
    assign look_done[a] = located_valid[a] &&
        (located[a].pages == '0 || (page_done && look_last_q == asker_t'(a) && last_page));

    always_ff @(posedge clk_i) begin
      if (rst_i) second_q[a] <= 1'b0;
      else if (page_done && look_last_q == asker_t'(a)) second_q[a] <= !last_page;
    end

    always_ff @(posedge clk_i) begin
      if (page_done && look_last_q == asker_t'(a)) first_wait_q[a] <= '{waits: !hit, read: waited};
    end
  end

  round_robin_arbiter #(
      .Count(Askers)
  ) u_look_turn (
      .clk_i,
      .rst_i,
      .request_i(look_wish),
      .valid_o  (unused_look_valid),
      .grant_o  (unused_look_grant),
      .index_o  (look_from),
      .ready_i  (looks),
      .moves_o  (unused_turn_moves)
  );

  assign fill_pending = filled_q != come_q;
  assign fill_useful = wanted_q[filled_q[2:0]] && !gone_q[filled_q];
  assign fills = cache_ready && fill_pending && fill_useful;
  assign looks = cache_ready && !fills && look_wish != '0;
  // Behind what was asked before
  assign forgets = change_q == Forget && cache_ready && !fills && !read_q && !pages_valid_q && located_count == '0;
  assign busy_o = change_q != Quiet || (write_i && on_i) || all_q || (on_i && !on_q) || forgetting;
  assign under_way = match != '0;
  assign issues = looked && !hit && !under_way && !entry_valid_q && issued_q - filled_q < read_t'(Misses);
  assign page_done = looked && (hit || under_way || issues);

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
      .number_i(forgets ? forget_first_q : fills ? missing_q[filled_q[2:0]] : number[look_from]),
      .count_i (forget_count),
      .ready_o (cache_ready),
      .forgetting_o(forgetting),
      .looked_o(looked),
      .hit_o   (hit)
  );

  // Reads under way
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      look_last_q   <= '0;
      issued_q      <= '0;
      come_q        <= '0;
      filled_q      <= '0;
      wanted_q      <= '0;
      entry_valid_q <= 1'b0;
    end else begin
      if (looks) look_last_q <= look_from;
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
        if (all_q || missing_q[m] - forget_first_q < forget_count) wanted_q[m] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (looks) number_q <= number[look_from];
    if (issues) begin
      missing_q[issued_q[2:0]] <= number_q;
      entry_number_q <= number_q;
    end
    if (come_i) gone_q[come_q] <= !there_i;
  end

  assign entry_valid_o  = entry_valid_q;
  assign entry_number_o = entry_number_q;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Verdicts: those that wait for entries, and those that are known. The oldest that waits becomes known as soon as its
  // entries have come, however long it then is not taken.

  logic [Askers-1:0][CountBits-1:0] waiting, known;
  logic [Askers-1:0] waiting_ready, waiting_valid, has_come, known_ready;

  function automatic logic came(input wait_t awaited, input read_t come);
    return !awaited.waits || 32'(read_t'(come - awaited.read - 1'b1)) < 3 * Asks;
  endfunction

  for (genvar a = 0; a < Askers; a++) begin : gen_verdicts
    wait_t [1:0] needed, oldest;  // of the first page, and of the last one

    always_comb begin
      needed    = '0;
      needed[0] = second_q[a] ? first_wait_q[a] : '0;
      if (located[a].pages != '0) needed[1] = '{waits: !hit, read: waited};
    end

    fifo #(
        .Width($bits(oldest)),
        .Depth(Asks)
    ) u_waiting (
        .clk_i,
        .rst_i,
        .valid_i(look_done[a]),
        .ready_o(waiting_ready[a]),
        .data_i (needed),
        .valid_o(waiting_valid[a]),
        .ready_i(has_come[a]),
        .data_o (oldest),
        .count_o(waiting[a])
    );

    assign has_come[a] = waiting_valid[a] && came(oldest[0], come_q) && came(oldest[1], come_q);

    fifo #(
        .Width(1),
        .Depth(Asks)
    ) u_known (
        .clk_i,
        .rst_i,
        .valid_i(has_come[a]),
        .ready_o(known_ready[a]),
        .data_i ((oldest[0].waits && gone_q[oldest[0].read]) || (oldest[1].waits && gone_q[oldest[1].read])),
        .valid_o(verdict_valid_o[a]),
        .ready_i(verdict_ready_i[a]),
        .data_o (gone_o[a]),
        .count_o(known[a])
    );

    assign waits_o[a] = waiting_valid[a] && !has_come[a] && known[a] == '0;

    always_ff @(posedge clk_i) begin
      if (rst_i) ring_waits_q[a] <= 1'b0;
      else if (look_done[a] && (needed[0].waits || needed[1].waits)) ring_waits_q[a] <= 1'b1;
      else if (has_come[a] && (oldest[0].waits || oldest[1].waits)) ring_waits_q[a] <= 1'b0;
    end
  end

  logic unused_bits;
  assign unused_bits = ^{region_i.local_write, region_i.remote_write, region_i.remote_read, region_i.remote_atomic,
                         region_i.pd, place_q.remote,
                         last[11:0]};

  assign idle_o = !receive_ask_valid_i && !transmit_ask_valid_i && asked == '0 && !read_q && !pages_valid_q &&
      located_count == '0 && waiting == '0 && known == '0 && filled_q == issued_q && come_q == issued_q &&
      !entry_valid_q && cache_ready && !busy_o && on_i == on_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert ((!receive_ask_valid_i || asks_ready[0]) && (!transmit_ask_valid_i || asks_ready[1]))
      else $error("translator: an ask that has no room");
      assert (!pages_valid_q || located_ready[pages_from_q])
      else $error("translator: numbers that have no room");
      assert ((look_done & ~waiting_ready) == '0 && (has_come & ~known_ready) == '0)
      else $error("translator: a verdict that has no room");
      assert (!come_i || come_q != issued_q)
      else $error("translator: an entry that nothing asked for");
    end
  end

endmodule
