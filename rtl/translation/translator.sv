// Translates the memory of packets: says of each when the NIC has its page table entries, and whether one of them names no
// page. Receive and transmit ask, and each gets its verdicts in the order of its asks. What the cache does not have is read
// from the host.
//
//     receive's  ask ─┐                     ┌───────────────── put off ◄───────────────┐
//                     ├─► tables: numbers ──┴─► cache: each entry ──┬─► there ─────────┴─► verdict
//     transmit's ask ─┘   of one or two                             └─► missing ─► host ─► verdict
//                         entries
//
// - Receive asks for each of its rings: they and transmit are the askers. None waits for a verdict of another.
// - All are looked up in the order in which they come, one entry in a cycle. What cannot be decided then is put off, and
//   looked up again, in the order of its asker: what is missing while as many entries are read as may be; what is behind
//   something that is put off; and, of a ring of receive without `ahead_i`, what is behind a miss that has not come.
//   Only an entry that is decided counts as a hit or a miss.
// - Up to `EntryReads` entries are read at a time, in order. What has come makes room for another when no verdict needs
//   it any more.
// - Asks have no back-pressure: at most `Asks` of an asker wait for their verdict to be taken, and of receive as many in
//   front of the tables (asserted).
// - Regions, their tables, `busy_o` and `on_i`: as in translation_tables.
//
// Timing: `idle_o` and `busy_o` depend on inputs of the same cycle; all other outputs are registers or depend on
// registers only.
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

  localparam int unsigned PlaceBits = $clog2(Asks);
  localparam int unsigned ReadBits = $clog2(EntryReads);
  localparam int unsigned WaitBits = $clog2(2 * Askers * (Asks + 1));

  // A page of an ask on its way through the cache
  typedef struct packed {
    asker_t               asker;
    entry_number_t        number;
    logic                 looks;   // else the ask has no entries
    logic                 second;  // page
    logic                 last;    // page
    logic                 again;   // the ask was put off,
    logic [PlaceBits-1:0] place;   // and waits at this place of its queue
  } look_t;

  logic located_valid, located_ready, forget_valid, forget_all, forgets, tables_busy, tables_idle;
  asker_t   located_asker;
  located_t located;
  entry_number_t forget_first, forget_span;

  translation_tables #(
      .Regions(Regions),
      .Asks   (Asks)
  ) u_tables (
      .clk_i,
      .rst_i,
      .on_i,
      .write_i,
      .index_i,
      .region_i,
      .table_i,
      .busy_o          (tables_busy),
      .receive_valid_i (receive_ask_valid_i),
      .receive_ring_i  (receive_ask_ring_i),
      .receive_i       (receive_ask_i),
      .receive_room_o,
      .transmit_valid_i(transmit_ask_valid_i),
      .transmit_i      (transmit_ask_i),
      .located_valid_o (located_valid),
      .located_asker_o (located_asker),
      .located_o       (located),
      .located_ready_i (located_ready),
      .forget_valid_o  (forget_valid),
      .forget_all_o    (forget_all),
      .forget_first_o  (forget_first),
      .forget_span_o   (forget_span),
      .forget_ready_i  (forgets),
      .idle_o          (tables_idle)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What was put off. Of an asker several may be looked up again one behind the other; if one is put off again, those
  // behind it count for nothing, and the oldest is read next.

  logic judge_valid_q, done, puts_off, again, later_reads, later_valid_q, takes_later, ends;
  logic unused_wish, unused_turn_moves;
  look_t judge_q;
  logic [Askers-1:0] later_some, later_more, later_wish, waiting, unused_grant;
  logic [Askers-1:0] late;  // rings that look nothing up before what they wait for has come
  logic [Askers-1:0] second_q;  // of the ask that is next, the first page is done,
  entry_wait_t [Askers-1:0] first_wait_q;  // and waits for this
  logic [Askers-1:0][PlaceBits-1:0] oldest;
  asker_t later_asker, later_asker_q;
  logic [PlaceBits-1:0] later_place;
  located_t later, judged;

  queues #(
      .Width($bits(located_t)),
      .Count(Askers),
      .Depth(Asks)
  ) u_later (
      .clk_i,
      .rst_i,
      .push_i      (puts_off),
      .push_index_i(judge_q.asker),
      .data_i      (judged),
      .read_i      (later_reads),
      .read_index_i(later_asker),
      .data_o      (later),
      .place_o     (later_place),
      .pop_i       (done && judge_q.again),
      .again_i     (again),
      .index_i     (judge_q.asker),
      .some_o      (later_some),
      .more_o      (later_more),
      .oldest_o    (oldest)
  );

  assign later_wish = later_more & ~late;

  round_robin_arbiter #(
      .Count(Askers)
  ) u_later_turn (
      .clk_i,
      .rst_i,
      .request_i(later_wish),
      .valid_o  (unused_wish),
      .grant_o  (unused_grant),
      .index_o  (later_asker),
      .ready_i  (later_reads),
      .moves_o  (unused_turn_moves)
  );

  assign later_reads = later_wish != '0 && (!later_valid_q || takes_later);

  always_ff @(posedge clk_i) begin
    if (rst_i) later_valid_q <= 1'b0;
    else later_valid_q <= later_reads || (later_valid_q && !takes_later);
  end

  always_ff @(posedge clk_i) begin
    if (later_reads) later_asker_q <= later_asker;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Look up: what is new, and what was put off, in turn

  logic look_valid_q, match_valid_q, later_last_q, free, launches, cache_ready, cache_idle, hit, used;
  logic fill_wish, fills;
  logic passes_d, passes_q;  // the first page, which is done
  look_t look_d, look_q, match_q;
  located_t entries;
  logic [ReadBits-1:0] issue, come, fill;  // reads that are next
  entry_number_t [EntryReads-1:0] missing_q;  // what is read
  logic [EntryReads-1:0] wanted_q;  // and is to be taken in, unless it turns out to name no page
  logic [EntryReads-1:0] same_q;  // as what is judged
  logic issues;

  assign ends          = launches && look_q.last;
  assign free          = !look_valid_q || ends;
  assign takes_later   = free && later_valid_q && !(located_valid && later_last_q);
  assign located_ready = free && !takes_later;
  assign entries       = takes_later ? later : located;

  always_comb begin
    look_d.asker  = takes_later ? later_asker_q : located_asker;
    look_d.again  = takes_later;
    look_d.place  = later_place;
    look_d.looks  = entries.pages != '0;
    passes_d      = takes_later && later_place == oldest[later_asker_q] && second_q[later_asker_q];
    look_d.second = 1'b0;
    look_d.last   = entries.pages != 2'd2;
    look_d.number = entries.first;
  end

  assign launches = look_valid_q && !passes_q && !fill_wish && (!look_q.looks || cache_ready);
  assign fills = fill_wish && cache_ready && !forgets;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      look_valid_q  <= 1'b0;
      match_valid_q <= 1'b0;
      judge_valid_q <= 1'b0;
      later_last_q  <= 1'b0;
    end else begin
      look_valid_q  <= (free && (later_valid_q || located_valid)) || (look_valid_q && !ends);
      match_valid_q <= launches;
      judge_valid_q <= match_valid_q;
      if (free && (later_valid_q || located_valid)) later_last_q <= takes_later;
    end
  end

  always_ff @(posedge clk_i) begin
    if (free && (later_valid_q || located_valid)) {look_q, passes_q} <= {look_d, passes_d};
    else if (launches || (look_valid_q && passes_q)) begin
      passes_q      <= 1'b0;
      look_q.number <= look_q.number + 1'b1;
      look_q.second <= 1'b1;
      look_q.last   <= 1'b1;
    end
    if (launches) match_q <= look_q;
    if (match_valid_q) begin
      judge_q <= match_q;
      for (int unsigned m = 0; m < EntryReads; m++) same_q[m] <= wanted_q[m] && missing_q[m] == match_q.number;
    end
  end

  translation_cache #(
      .Sets(Sets)
  ) u_cache (
      .clk_i,
      .rst_i,
      .log_sets_i,
      .look_i  (launches && look_q.looks),
      .fill_i  (fills),
      .number_i(fill_wish ? missing_q[fill] : look_q.number),
      .ready_o (cache_ready),
      .hit_o   (hit),
      .forget_i(forgets),
      .all_i   (forget_all),
      .first_i (forget_first),
      .span_i  (forget_span),
      .idle_o  (cache_idle)
  );

  // Behind what was asked before
  assign forgets = forget_valid && cache_idle && !look_valid_q && !match_valid_q && !judge_valid_q && later_some == '0;
  assign busy_o  = tables_busy || !cache_ready;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Judge: it is there, it is under way, or it is read

  logic next, blocked, turn, found;
  logic room;  // for another read
  entry_wait_t waits;
  entry_wait_t [1:0] needed;

  assign next = judge_q.again ? judge_q.place == oldest[judge_q.asker] : !later_some[judge_q.asker];
  assign blocked = late[judge_q.asker] && !judge_q.second;
  assign turn = judge_valid_q && next && !blocked && second_q[judge_q.asker] == judge_q.second;
  assign found = !judge_q.looks || hit;
  assign issues = turn && !found && same_q == '0 && room && (judge_q.again || later_some == '0);
  assign used = turn && (found || same_q != '0 || issues);
  assign done = used && judge_q.last;
  assign puts_off = judge_valid_q && judge_q.last && !done && !judge_q.again;
  assign again = judge_valid_q && judge_q.last && !done && judge_q.again && next;

  assign judged = '{
          first: judge_q.number - 40'(judge_q.second),
          pages: !judge_q.looks ? 2'd0 : judge_q.second ? 2'd2 : 2'd1
      };

  always_ff @(posedge clk_i) begin
    if (rst_i) second_q <= '0;
    else if (used) second_q[judge_q.asker] <= !judge_q.last;
  end

  // The first page keeps no read that has come: the second one may need its room.
  always_ff @(posedge clk_i) begin
    if (come_i)
      for (int unsigned a = 0; a < Askers; a++)
      if (first_wait_q[a].waits && first_wait_q[a].read == come) begin
        first_wait_q[a].waits <= 1'b0;
        first_wait_q[a].gone  <= !there_i;
      end
    if (used) first_wait_q[judge_q.asker] <= waits;
  end

  assign hit_o  = used && judge_q.looks && hit;
  assign miss_o = used && judge_q.looks && !hit;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Reads of entries, in their order

  logic [ReadBits:0] issue_q, come_q, fill_q;
  logic [EntryReads-1:0] pending_q, gone_q;
  logic [EntryReads-1:0][WaitBits-1:0] needed_q;  // verdicts that need the read
  logic entry_valid_q, drops, fill_over, verdicts_idle;
  entry_number_t entry_number_q;
  entry_wait_t [1:0] dropped;

  assign issue     = issue_q[ReadBits-1:0];
  assign come      = come_q[ReadBits-1:0];
  assign fill      = fill_q[ReadBits-1:0];
  assign room      = !entry_valid_q && (issue_q ^ fill_q) != {1'b1, ReadBits'(0)} && needed_q[issue] == '0;
  assign fill_wish = fill_q != come_q && wanted_q[fill];
  assign fill_over = fill_q != come_q && (fills || !fill_wish);

  always_comb begin
    waits = '{waits: issues, gone: 1'b0, read: issue};
    for (int unsigned m = 0; m < EntryReads; m++) if (same_q[m]) waits.read = ReadBits'(m);
    if (!found && same_q != '0) begin
      waits.waits = pending_q[waits.read] && !(come_i && come == waits.read);
      waits.gone  = !waits.waits && (pending_q[waits.read] ? !there_i : gone_q[waits.read]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      issue_q       <= '0;
      come_q        <= '0;
      fill_q        <= '0;
      wanted_q      <= '0;
      pending_q     <= '0;
      entry_valid_q <= 1'b0;
    end else begin
      issue_q       <= issue_q + (ReadBits + 1)'(issues);
      come_q        <= come_q + (ReadBits + 1)'(come_i);
      fill_q        <= fill_q + (ReadBits + 1)'(fill_over);
      entry_valid_q <= issues || (entry_valid_q && !entry_ready_i);
      if (come_i) pending_q[come] <= 1'b0;
      if (come_i && !there_i) wanted_q[come] <= 1'b0;
      if (fill_over) wanted_q[fill] <= 1'b0;
      if (forgets)
        for (int unsigned m = 0; m < EntryReads; m++)
        if (forget_all || missing_q[m] - forget_first <= forget_span) wanted_q[m] <= 1'b0;
      if (issues) {wanted_q[issue], pending_q[issue]} <= '1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (issues) {missing_q[issue], entry_number_q} <= {2{judge_q.number}};
    if (come_i) gone_q[come] <= !there_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) needed_q <= '0;
    else if (done || drops)
      for (int unsigned m = 0; m < EntryReads; m++) begin
        needed_q[m] <= needed_q[m] + WaitBits'(done && needed[0].waits && needed[0].read == ReadBits'(m)) +
            WaitBits'(done && needed[1].waits && needed[1].read == ReadBits'(m)) -
            WaitBits'(drops && dropped[0].waits && dropped[0].read == ReadBits'(m)) -
            WaitBits'(drops && dropped[1].waits && dropped[1].read == ReadBits'(m));
      end
  end

  // What the last ask of each ring waits for that was looked up. As long as it does, none takes the room of its reads.
  entry_wait_t [Buffers-1:0][1:0] last_wait_q;

  always_ff @(posedge clk_i) begin
    if (done) for (int unsigned r = 0; r < Buffers; r++) if (judge_q.asker == asker_t'(r)) last_wait_q[r] <= needed;
  end

  always_comb begin
    late = '0;
    if (!ahead_i && waiting != '0)
      for (int unsigned r = 0; r < Buffers; r++)
      for (int unsigned p = 0; p < 2; p++)
      if (waiting[r] && last_wait_q[r][p].waits && pending_q[last_wait_q[r][p].read]) late[r] = 1'b1;
  end

  assign entry_valid_o = entry_valid_q;
  assign entry_number_o = entry_number_q;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Verdicts

  assign needed = {waits, judge_q.second ? first_wait_q[judge_q.asker] : entry_wait_t'('0)};

  translation_verdicts #(
      .Asks(Asks)
  ) u_verdicts (
      .clk_i,
      .rst_i,
      .done_i   (done),
      .asker_i  (judge_q.asker),
      .wait_i   (needed),
      .pending_i(pending_q),
      .gone_i   (gone_q),
      .drops_o  (drops),
      .dropped_o(dropped),
      .waiting_o(waiting),
      .verdict_valid_o,
      .waits_o,
      .gone_o,
      .verdict_ready_i,
      .idle_o   (verdicts_idle)
  );

  assign idle_o = tables_idle && !look_valid_q && !match_valid_q && !judge_valid_q && !later_valid_q &&
      later_some == '0 && later_more == '0 && verdicts_idle && fill_q == issue_q && come_q == issue_q && !entry_valid_q && cache_idle;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!come_i || come_q != issue_q)
      else $error("translator: an entry that nothing asked for");
      assert (!done || !judge_q.second || second_q[judge_q.asker])
      else $error("translator: a second page without the first");
    end
  end

endmodule
