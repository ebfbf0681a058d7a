// Page tables of the NIC's regions: from the memory of a packet to the numbers of its page table entries. Receive and
// transmit ask; the answers come in the order of the asks of each of them.
//
// - An access that its region does not hold has no entries here, and one of a region without a table neither. That it
//   is not permitted is found elsewhere.
// - Asks have no back-pressure: at most `Asks` of receive and of transmit are here (asserted).
// - A region that is written forgets the entries of the table that it had, behind all that was asked before: they are
//   offered at `forget_…`. `busy_o` is 1 meanwhile, and no other region may be written. Turning translation on forgets
//   all, tables too; regions that are written before have none.
//
//     cycle 0   an ask: its region's table is read
//     cycle 1   its pages
//     cycle 2   numbers of entries, until they are taken
//
// Timing: `busy_o` and `idle_o` depend on inputs of the same cycle; all other outputs are registers or depend on
// registers only.
module translation_tables
  import nic_pkg::*, gbn_pkg::*;
#(
    parameter  int unsigned Regions   = 256,
    parameter  int unsigned Asks      = 32,
    localparam int unsigned IndexBits = $clog2(Regions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic on_i,

    input  logic                    write_i,
    input  logic    [IndexBits-1:0] index_i,
    input  region_t                 region_i,
    input  table_t                  table_i,
    output logic                    busy_o,

    input  logic    receive_valid_i,
    input  buffer_t receive_ring_i,
    input  place_t  receive_i,
    output logic    receive_room_o,    // less than half of the asks that there is room for are here
    input  logic    transmit_valid_i,
    input  place_t  transmit_i,

    output logic     located_valid_o,
    output asker_t   located_asker_o,
    output located_t located_o,
    input  logic     located_ready_i,

    output logic          forget_valid_o,
    output logic          forget_all_o,
    output entry_number_t forget_first_o,
    output entry_number_t forget_span_o,   // the last one is number `forget_first_o` + `forget_span_o`
    input  logic          forget_ready_i,

    output logic idle_o
);

  localparam int unsigned CountBits = $clog2(Asks + 1);

  typedef struct packed {
    logic [7:0]    tag;
    logic [63:0]   base;
    logic [63:0]   last;   // its last byte
    logic [3:0]    page;
    entry_number_t first;
  } mapping_t;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // When a region is written, its old table is read and replaced, and then forgotten.

  typedef enum logic [1:0] {
    Quiet   = 2'd0,
    Read    = 2'd1,
    Replace = 2'd2,
    Forget  = 2'd3
  } change_e;

  change_e change_q;
  logic all_q, on_q, forgotten;
  logic [Regions-1:0] translated_q;
  logic [IndexBits-1:0] index_q;
  logic new_translated_q;
  mapping_t new_q, mapping;
  logic [64:0] new_behind;  // the first byte behind the region that is written
  entry_number_t forget_first_q;
  logic [51:0] forget_base_q, forget_last_q;  // the first and the last page that are forgotten

  logic asks_read, read_q, read_moves;
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
      .read_address_i (change_q == Read ? index_q : ask.key[8+:IndexBits]),
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
      all_q <= (on_i && !on_q) || (all_q && !forgotten);
      if (on_i && !on_q) translated_q <= '0;
      else if (change_q == Replace) translated_q[index_q] <= new_translated_q;
      case (change_q)
        Quiet: begin
          if (write_i && on_i) change_q <= Read;
          else if (all_q) change_q <= Forget;
        end
        Read: if (!read_q) change_q <= Replace;
        Replace: change_q <= translated_q[index_q] ? Forget : Quiet;
        default: if (forgotten) change_q <= Quiet;
      endcase
    end
  end

  assign new_behind = 65'(region_i.base) + 65'(region_i.length);

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

  assign forget_valid_o = change_q == Forget && !read_q && !located_valid_o;
  assign forget_all_o   = all_q;
  assign forget_first_o = forget_first_q;
  assign forget_span_o  = 40'(forget_last_q - forget_base_q);
  assign forgotten      = forget_valid_o && forget_ready_i;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Asks

  logic [1:0][CountBits-1:0] asked;
  logic [1:0] ask_valid, asks_ready;  // of receive and of transmit
  buffer_t ring;  // of receive's ask
  place_t [1:0] asks;
  logic ask_from, ask_last_q;  // whether transmit's ask is read, and was last

  fifo #(
      .Width($bits(buffer_t) + $bits(place_t)),
      .Depth(Asks)
  ) u_receive_asks (
      .clk_i,
      .rst_i,
      .valid_i(receive_valid_i),
      .ready_o(asks_ready[0]),
      .data_i ({receive_ring_i, receive_i}),
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
      .valid_i(transmit_valid_i),
      .ready_o(asks_ready[1]),
      .data_i (transmit_i),
      .valid_o(ask_valid[1]),
      .ready_i(asks_read && ask_from),
      .data_o (asks[1]),
      .count_o(asked[1])
  );

  assign receive_room_o = 32'(asked[0]) < Asks / 2;
  assign ask_from       = ask_valid[!ask_last_q] ^ ask_last_q;
  assign ask            = asks[ask_from];
  assign asks_read      = ask_valid != '0 && change_q == Quiet && !write_i && !all_q && (!read_q || read_moves);

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Numbers of entries

  logic in_region, located_valid_q, entries_q;
  asker_t read_asker_q, located_asker_q;
  place_t place_q;
  logic [63:0] last;
  logic [51:0] first_page, last_page, base_page_q, first_page_q;
  logic two_q;
  entry_number_t first_q;

  assign read_moves = !located_valid_q || located_ready_i;
  assign last       = place_q.va + 64'(place_q.bytes) - 64'd1;
  assign in_region  = place_q.va >= mapping.base && last >= place_q.va && last <= mapping.last;
  assign first_page = place_q.va[63:12] >> mapping.page;
  assign last_page  = last[63:12] >> mapping.page;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      read_q          <= 1'b0;
      located_valid_q <= 1'b0;
      ask_last_q      <= 1'b0;
    end else begin
      read_q          <= asks_read || (read_q && !read_moves);
      located_valid_q <= read_q || (located_valid_q && !located_ready_i);
      if (asks_read) ask_last_q <= ask_from;
    end
  end

  always_ff @(posedge clk_i) begin
    if (asks_read) {read_asker_q, place_q} <= {ask_from ? asker_t'(AskTransmit) : asker_t'(ring), ask};
    if (read_q && read_moves) begin
      located_asker_q <= read_asker_q;
      entries_q <= translated_q[place_q.key[8+:IndexBits]] && place_q.bytes != '0 && mapping.tag == place_q.key[7:0] &&
          32'(place_q.key[31:8]) < Regions && in_region;
      two_q <= first_page != last_page;
      first_page_q <= first_page;
      base_page_q <= mapping.base[63:12] >> mapping.page;
      first_q <= mapping.first;
    end
  end

  assign located_valid_o = located_valid_q;
  assign located_asker_o = located_asker_q;
  assign located_o.first = first_q + 40'(first_page_q - base_page_q);
  assign located_o.pages = !entries_q ? 2'd0 : two_q ? 2'd2 : 2'd1;

  logic unused_bits;
  assign unused_bits = ^{region_i.local_write, region_i.remote_write, region_i.remote_read, region_i.remote_atomic,
                         region_i.pd, place_q.remote, last[11:0]};

  assign busy_o = change_q != Quiet || (write_i && on_i) || all_q || (on_i && !on_q);
  assign idle_o = !receive_valid_i && !transmit_valid_i && asked == '0 && !read_q && !located_valid_q && !busy_o &&
      on_i == on_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert ((!receive_valid_i || asks_ready[0]) && (!transmit_valid_i || asks_ready[1]))
      else $error("translation_tables: an ask that has no room");
    end
  end

endmodule
