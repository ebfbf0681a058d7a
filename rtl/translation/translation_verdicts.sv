// Verdicts on what was asked, for each asker in the order of its asks: that its entries are there, and whether one of
// them names no page. One that waits for reads of entries becomes known when they have come, however long it then is
// not taken.
//
// - Of the asks that wait, the oldest of one asker is looked at in a cycle; the askers take turns, each at most once in
//   three cycles.
// - `drops_o`: the verdict that waited for the reads `dropped_o` needs them no longer.
// - Of an asker one verdict that names no page is known at a time, and nothing behind a second one.
// - At most `Asks` of an asker are here (asserted).
//
// Timing: all outputs are registers or depend on registers only.
module translation_verdicts
  import nic_pkg::*;
#(
    parameter int unsigned Asks = 32
) (
    input logic clk_i,
    input logic rst_i,

    input logic              done_i,   // an ask was looked up
    input asker_t            asker_i,
    input entry_wait_t [1:0] wait_i,   // what each of its pages waits for

    input logic [EntryReads-1:0] pending_i,  // reads that have not come
    input logic [EntryReads-1:0] gone_i,     // those that have named no page

    output logic              drops_o,
    output entry_wait_t [1:0] dropped_o,

    output logic [Askers-1:0] waiting_o,  // asks that wait

    output logic [Askers-1:0] verdict_valid_o,
    output logic [Askers-1:0] waits_o,          // the next verdict is there when entries have come
    output logic [Askers-1:0] gone_o,
    input  logic [Askers-1:0] verdict_ready_i,

    output logic idle_o
);

  localparam int unsigned CountBits = $clog2(Asks + 1);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Those that wait

  logic waits, looks, here, gone, unused_moves;
  logic look_q, tell_q, here_q, told_gone_q;
  entry_wait_t [1:0] oldest;
  logic [Askers-1:0] late_q;  // the oldest was looked at, and reads have not come
  logic [Askers-1:0] wish, unread, unused_grant;
  asker_t look_asker, look_asker_q, tell_asker_q;
  logic [Askers-1:0][$clog2(Asks)-1:0] unused_oldest;
  logic [$clog2(Asks)-1:0] unused_place;
  logic [Askers-1:0][CountBits-1:0] count_q;  // of those that are known
  logic [Askers-1:0] known_q;  // there are some
  logic [Askers-1:0] gone_q;  // one of them names no page,
  logic [Askers-1:0][CountBits-1:0] front_q;  // behind so many others

  assign waits = done_i && (wait_i[0].waits || wait_i[0].gone || wait_i[1].waits || wait_i[1].gone || waiting_o[asker_i]);

  queues #(
      .Width($bits(oldest)),
      .Count(Askers),
      .Depth(Asks)
  ) u_waiting (
      .clk_i,
      .rst_i,
      .push_i      (waits),
      .push_index_i(asker_i),
      .data_i      (wait_i),
      .read_i      (looks),
      .read_index_i(look_asker),
      .data_o      (oldest),
      .place_o     (unused_place),
      .pop_i       (drops_o),
      .again_i     (tell_q && !drops_o),
      .index_i     (tell_asker_q),
      .some_o      (waiting_o),
      .more_o      (unread),
      .oldest_o    (unused_oldest)
  );

  always_comb begin
    wish = unread;
    if (look_q) wish[look_asker_q] = 1'b0;
    if (tell_q) wish[tell_asker_q] = 1'b0;
  end

  round_robin_arbiter #(
      .Count(Askers)
  ) u_turn (
      .clk_i,
      .rst_i,
      .request_i(wish),
      .valid_o  (looks),
      .grant_o  (unused_grant),
      .index_o  (look_asker),
      .ready_i  (1'b1),
      .moves_o  (unused_moves)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) {look_q, tell_q} <= '0;
    else {look_q, tell_q} <= {looks, look_q};
  end

  always_ff @(posedge clk_i) begin
    if (looks) look_asker_q <= look_asker;
    if (look_q) {tell_asker_q, dropped_o, here_q, told_gone_q} <= {look_asker_q, oldest, here, gone};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) late_q <= '0;
    else if (look_q) late_q[look_asker_q] <= !here;
  end

  always_comb begin
    here = 1'b1;
    gone = 1'b0;
    for (int unsigned p = 0; p < 2; p++) begin
      if (oldest[p].waits && pending_i[oldest[p].read]) here = 1'b0;
      if (oldest[p].gone || (oldest[p].waits && gone_i[oldest[p].read])) gone = 1'b1;
    end
  end

  assign drops_o = tell_q && here_q && !(told_gone_q && gone_q[tell_asker_q]);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Those that are known

  logic direct;
  logic [Askers-1:0] taken;
  logic [Askers-1:0][CountBits-1:0] count_d;

  assign direct = done_i && !waits;
  assign taken  = verdict_ready_i & known_q;

  always_comb begin
    count_d = count_q;
    if (direct || drops_o || taken != '0)
      for (int unsigned a = 0; a < Askers; a++) begin
        // Not both: a verdict is known at once when none of its asker waits.
        count_d[a] = count_q[a] - CountBits'(taken[a]) +
            CountBits'((direct && asker_i == asker_t'(a)) || (drops_o && tell_asker_q == asker_t'(a)));
      end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q <= '0;
      known_q <= '0;
      gone_q  <= '0;
    end else if (direct || drops_o || taken != '0) begin
      count_q <= count_d;
      for (int unsigned a = 0; a < Askers; a++) begin
        known_q[a] <= count_d[a] != '0;
        if (drops_o && told_gone_q && tell_asker_q == asker_t'(a)) begin
          gone_q[a]  <= 1'b1;
          front_q[a] <= count_q[a] - CountBits'(taken[a]);
        end else if (taken[a]) begin
          gone_q[a]  <= gone_q[a] && front_q[a] != '0;
          front_q[a] <= front_q[a] - 1'b1;
        end
      end
    end
  end

  always_comb begin
    gone_o = gone_q;
    if (gone_q != '0) for (int unsigned a = 0; a < Askers; a++) if (front_q[a] != '0) gone_o[a] = 1'b0;
  end

  assign verdict_valid_o = known_q;
  assign waits_o         = late_q & ~known_q;
  assign idle_o          = waiting_o == '0 && unread == '0 && !look_q && !tell_q && known_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!direct || 32'(count_q[asker_i]) < Asks)
      else $error("translation_verdicts: a verdict that has no room");
    end
  end

endmodule
