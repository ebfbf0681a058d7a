// Table of registered memory regions. Checks an access: region valid, tag of the key right, write access granted, va
// to va + bytes − 1 inside the region.
//
// - A key is index · 256 + tag.
// - Latency: a request in cycle n is answered in n + 2; one request per cycle.
// - After reset all regions are invalid: reset clears the table in its first `Regions` cycles, in which nothing may
//   be written.
//
// Timing: `idle_o` depends on `ask_i` of the same cycle; all other outputs are registers or depend on registers only.
module region_table
  import nic_pkg::*;
#(
    parameter  int unsigned Regions   = 256,             // 2 to 65,536
    localparam int unsigned IndexBits = $clog2(Regions)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    write_i,
    input logic    [IndexBits-1:0] write_index_i,
    input region_t                 region_i,

    input  logic        ask_i,
    input  logic        remote_i,  // 1: WRITE of a peer; 0: receive buffer
    input  logic [31:0] key_i,
    input  logic [63:0] va_i,
    input  logic [31:0] bytes_i,
    output logic        allowed_o,

    output logic clear_o,  // reset is clearing the table
    output logic idle_o
);

  logic clear;
  logic [IndexBits-1:0] clear_index;

  ram_clear #(
      .Depth(Regions)
  ) u_clear (
      .clk_i,
      .rst_i,
      .valid_o  (clear),
      .address_o(clear_index)
  );

  logic [$bits(region_t)-1:0] bits;
  region_t region;
  assign region = bits;

  ram_1r1w #(
      .Width($bits(region_t)),
      .Depth(Regions)
  ) u_regions (
      .clk_i,
      .write_i        (clear || write_i),
      .write_address_i(clear ? clear_index : write_index_i),
      .data_i         (clear ? '0 : region_i),
      .read_i         (ask_i),
      .read_address_i (key_i[8+:IndexBits]),
      .data_o         (bits)
  );

  // Stage 1: the region is read; compare it with the key.
  logic ask_q, remote_q;
  logic [31:0] key_q, bytes_q;
  logic [63:0] va_q, offset;

  assign offset = va_q - region.base;

  always_ff @(posedge clk_i) begin
    if (rst_i) ask_q <= 1'b0;
    else ask_q <= ask_i;
  end

  always_ff @(posedge clk_i) begin
    if (ask_i) begin
      remote_q <= remote_i;
      key_q    <= key_i;
      bytes_q  <= bytes_i;
      va_q     <= va_i;
    end
  end

  // Stage 2: compare the range.
  logic named_q;
  logic [63:0] offset_q;
  logic [47:0] length_q;
  logic [31:0] asked_q;

  always_ff @(posedge clk_i) begin
    if (ask_q) begin
      named_q  <= region.valid && region.tag == key_q[7:0] && 32'(key_q[31:8]) < Regions &&
          (remote_q ? region.remote_write : region.local_write) && va_q >= region.base;
      offset_q <= offset;
      length_q <= region.length;
      asked_q <= bytes_q;
    end
  end

  assign allowed_o = named_q && 65'(offset_q) + 65'(asked_q) <= 65'(length_q);
  assign clear_o   = clear;
  assign idle_o    = !clear && !ask_q && !ask_i;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!(clear && write_i))
      else $error("region_table: a region is written while reset clears the table");
  end

endmodule
