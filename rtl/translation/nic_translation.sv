// Translation of the NIC: the translator, which receive and transmit ask, its clock, and what is counted of it.
//
// Timing: `idle_o` and `event_o` depend on inputs of the same cycle; all other outputs are registers or depend on
// registers only.
module nic_translation
  import gbn_pkg::*, nic_registers_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned Regions    = 256,
    parameter  int unsigned Asks       = 32,              // as in translator
    localparam int unsigned RegionBits = $clog2(Regions)
) (
    input logic clk_i,
    input logic rst_i,

    input nic_settings_t settings_i,

    // Regions and page tables, as in translator
    input  logic                           region_write_i,
    input  logic          [RegionBits-1:0] region_index_i,
    input  region_t                        region_i,
    input  table_t                         table_i,
    output logic                           busy_o,
    output logic                           entry_valid_o,
    output entry_number_t                  entry_number_o,
    input  logic                           entry_ready_i,
    input  logic                           entry_come_i,
    input  logic                           entry_there_i,

    input  logic    receive_ask_valid_i,
    input  buffer_t receive_ask_ring_i,
    input  place_t  receive_ask_i,
    output logic    receive_room_o,
    input  logic    transmit_ask_valid_i,
    input  place_t  transmit_ask_i,

    // By asker
    output logic [Askers-1:0] verdict_valid_o,
    output logic [Askers-1:0] verdict_waits_o,
    output logic [Askers-1:0] verdict_gone_o,
    input  logic [Askers-1:0] verdict_ready_i,

    output logic [Counters-1:0] event_o,
    output logic                idle_o
);

  logic clk, hit, miss;

  translator #(
      .Regions(Regions),
      .Asks   (Asks)
  ) u_translator (
      .clk_i     (clk),
      .rst_i,
      .on_i      (settings_i.translation_on),
      .ahead_i   (settings_i.translation_ahead),
      .log_sets_i(settings_i.translation_sets),
      .write_i   (region_write_i),
      .index_i   (region_index_i),
      .region_i,
      .table_i,
      .busy_o,
      .receive_ask_valid_i,
      .receive_ask_ring_i,
      .receive_ask_i,
      .receive_room_o,
      .transmit_ask_valid_i,
      .transmit_ask_i,
      .verdict_valid_o,
      .waits_o   (verdict_waits_o),
      .gone_o    (verdict_gone_o),
      .verdict_ready_i,
      .entry_valid_o,
      .entry_number_o,
      .entry_ready_i,
      .come_i    (entry_come_i),
      .there_i   (entry_there_i),
      .hit_o     (hit),
      .miss_o    (miss),
      .idle_o
  );

  always_comb begin
    event_o = '0;
    event_o[CountTranslationHits] = hit;
    event_o[CountTranslationMisses] = miss;
  end

  logic unused_settings;
  assign unused_settings = ^settings_i;

  clock_gate u_clk_translate (
      .clk_i,
      .enable_i(rst_i || !idle_o || entry_come_i),
      .clk_o   (clk)
  );

endmodule
