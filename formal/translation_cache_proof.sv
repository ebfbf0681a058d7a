// Proof of translation_cache: with one operation in each cycle, of the same set or not, LOOK finds what it would find if
// each operation had ended before the next one began.
//
// Two sets, and eight entries, four of each set, or all of one.
module translation_cache_proof
  import nic_pkg::*;
(
    input logic       clk_i,
    input logic       one_set_i,
    input logic       look_i,
    input logic       fill_i,
    input logic [2:0] number_i,
    input logic       forget_i,
    input logic       all_i,
    input logic [2:0] first_i,
    input logic [2:0] span_i
);

  logic started_q = 1'b0, forgotten_q = 1'b0;
  logic one_set_q;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_ff @(posedge clk_i) if (!started_q) one_set_q <= one_set_i;

  logic ready, hit, idle, look, fill, forget, present;

  // Entries of each set, the one that was used last first
  typedef struct packed {
    logic       valid;
    logic [2:0] number;
  } way_t;
  way_t [1:0][3:0] sets_q = '0, sets;
  logic index;

  assign index = number_i[0] && !one_set_q;

  always_comb begin
    present = 1'b0;
    for (int unsigned w = 0; w < 4; w++) if (sets_q[index][w] == {1'b1, number_i}) present = 1'b1;
  end

  // FORGET of all comes first, FILL of what is not there.
  assign forget = started_q && forget_i && idle && (forgotten_q || all_i);
  assign look   = started_q && look_i && forgotten_q && !forget;
  assign fill   = started_q && fill_i && forgotten_q && !forget && !look && !present;

  always_ff @(posedge clk_i) if (forget) forgotten_q <= 1'b1;

  always_comb begin
    logic moves;
    sets  = sets_q;
    moves = 1'b1;
    if (ready && (fill || (look && present))) begin
      sets[index][0] = {1'b1, number_i};
      for (int unsigned w = 0; w < 3; w++) begin
        if (sets_q[index][w] == {1'b1, number_i}) moves = 1'b0;
        if (moves) sets[index][w+1] = sets_q[index][w];
      end
    end
    if (forget) begin
      for (int unsigned s = 0; s < 2; s++)
      for (int unsigned w = 0; w < 4; w++)
      if (all_i || (sets_q[s][w].number >= first_i && 4'(sets_q[s][w].number) <= 4'(first_i) + 4'(span_i)))
        sets[s][w].valid = 1'b0;
    end
  end

  always_ff @(posedge clk_i) sets_q <= sets;

  translation_cache #(
      .Sets(2)
  ) u_dut (
      .clk_i,
      .rst_i       (!started_q),
      .log_sets_i  (one_set_q ? 4'd0 : 4'd1),
      .look_i      (look),
      .fill_i      (fill),
      .number_i    (40'(number_i)),
      .ready_o     (ready),
      .hit_o       (hit),
      .forget_i    (forget),
      .all_i,
      .first_i     (40'(first_i)),
      .span_i      (40'(span_i)),
      .idle_o      (idle)
  );

  // What LOOK found two cycles ago, and how long it was not ready: two cycles, for each set one
  logic [1:0] looked_q = '0, present_q;
  logic [2:0] waits_q = '0;

  always_ff @(posedge clk_i) begin
    looked_q  <= {looked_q[0], look && ready};
    present_q <= {present_q[0], present};
    waits_q   <= ready ? '0 : waits_q + 1'b1;
  end

  always_comb begin
    if (started_q) begin
      a_found : assert (!looked_q[1] || hit == present_q[1]);
      a_ready : assert (ready || waits_q < 3'd2);
    end
  end

endmodule
