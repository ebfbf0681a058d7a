// Table of registered memory regions, and of the protection domains of QPs. Checks an access: region valid, tag of the
// key right, of the QP's protection domain, this use granted, va to va + bytes − 1 inside the region. Also tells whether
// a second key names a valid region of that domain that a peer may write, which SEND with invalidate needs: a peer
// invalidates only what it has a right to (IBTA volume 1, 10.6.7.2).
//
// - A key is index · 256 + tag.
// - Latency: a request in cycle n is answered in n + 2; one request per cycle. The answer is that of the table at the
//   beginning of cycle n + 2, with one exception: a region that is written in cycle n or n + 1 permits nothing, and its
//   key is not valid, because what was read of it may be of the region that it replaces.
// - After reset all regions are invalid.
//
// Timing: `idle_o` depends on `ask_i` of the same cycle; all other outputs are registers or depend on registers only.
module region_table
  import nic_pkg::*;
#(
    parameter  int unsigned Regions   = 256,              // 2 to 65,536
    parameter  int unsigned Qps       = 64,
    localparam int unsigned IndexBits = $clog2(Regions),
    localparam int unsigned QpBits    = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic                    write_i,
    input logic    [IndexBits-1:0] write_index_i,
    input region_t                 region_i,

    input logic              pd_write_i,  // sets the domain of a QP
    input logic [QpBits-1:0] pd_qp_i,
    input pd_t               pd_i,

    input  logic              ask_i,
    input  logic [QpBits-1:0] qp_i,
    input  use_e              use_i,
    input  logic [      31:0] key_i,
    input  logic [      63:0] va_i,
    input  logic [      31:0] bytes_i,
    output logic              allowed_o,
    input  logic [      31:0] other_key_i,   // asked at the same time
    output logic              other_valid_o,

    input logic                 invalidate_i,
    input logic [IndexBits-1:0] invalidate_index_i,

    output logic idle_o
);

  logic [Regions-1:0] valid_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= '0;
    else begin
      if (invalidate_i) valid_q[invalidate_index_i] <= 1'b0;
      if (write_i) valid_q[write_index_i] <= region_i.valid;
    end
  end

  logic [$bits(region_t)-1:0] bits;
  region_t region;
  assign region = bits;

  ram_1r1w #(
      .Width($bits(region_t)),
      .Depth(Regions)
  ) u_regions (
      .clk_i,
      .write_i,
      .write_address_i(write_index_i),
      .data_i         (region_i),
      .read_i         (ask_i),
      .read_address_i (key_i[8+:IndexBits]),
      .data_o         (bits)
  );

  pd_t pd;  // of the QP

  ram_1r1w #(
      .Width($bits(pd_t)),
      .Depth(Qps)
  ) u_pds (
      .clk_i,
      .write_i        (pd_write_i),
      .write_address_i(pd_qp_i),
      .data_i         (pd_i),
      .read_i         (ask_i),
      .read_address_i (qp_i),
      .data_o         (pd)
  );

  logic other_remote;
  logic [7:0] other_tag;
  pd_t other_pd;

  ram_1r1w #(
      .Width(9 + $bits(pd_t)),
      .Depth(Regions)
  ) u_tags (
      .clk_i,
      .write_i,
      .write_address_i(write_index_i),
      .data_i         ({region_i.remote_write, region_i.tag, region_i.pd}),
      .read_i         (ask_i),
      .read_address_i (other_key_i[8+:IndexBits]),
      .data_o         ({other_remote, other_tag, other_pd})
  );

  // Stage 1: the region is read; compare it with the key. What is written in the cycle of a read or behind it comes too
  // late for it.
  logic ask_q, late_q, other_late_q;
  use_e use_q;
  logic [31:0] key_q, bytes_q, other_key_q;
  logic [63:0] va_q;

  // A region has less than 2^48 bytes, so the offset in it has 48 bits and no more: the upper ones of the address are
  // those of its base, or one more with a borrow from the lower ones.
  logic [48:0] offset, spare;  // spare: the greatest offset at which the access fits, below 0 if there is none
  assign offset = 49'(va_q[47:0]) - 49'(region.base[47:0]);
  assign spare  = 49'(region.length) - 49'(bytes_q);

  always_ff @(posedge clk_i) begin
    if (rst_i) ask_q <= 1'b0;
    else ask_q <= ask_i;
  end

  always_ff @(posedge clk_i) begin
    if (ask_i) begin
      use_q        <= use_i;
      key_q        <= key_i;
      bytes_q      <= bytes_i;
      va_q         <= va_i;
      other_key_q  <= other_key_i;
      late_q       <= write_i && write_index_i == key_i[8+:IndexBits];
      other_late_q <= write_i && write_index_i == other_key_i[8+:IndexBits];
    end
  end

  logic late, other_late;
  assign late       = late_q || (write_i && write_index_i == key_q[8+:IndexBits]);
  assign other_late = other_late_q || (write_i && write_index_i == other_key_q[8+:IndexBits]);

  logic granted;  // the region may be used so
  always_comb begin
    case (use_q)
      UseLocalWrite:  granted = region.local_write;
      UseRemoteWrite: granted = region.remote_write;
      UseRemoteRead:  granted = region.remote_read;
      UseLocalRead:   granted = 1'b1;
      default:        granted = region.remote_atomic;
    endcase
  end

  // Stage 2: compare the range.
  logic named_q, other_named_q, borrow_q, same_q, above_q, fits_q, near;
  logic [IndexBits-1:0] index_q, other_index_q;
  logic [47:0] offset_q, spare_q;

  always_ff @(posedge clk_i) begin
    if (ask_q) begin
      named_q <= region.tag == key_q[7:0] && 32'(key_q[31:8]) < Regions && region.pd == pd && granted && !late;
      index_q <= key_q[8+:IndexBits];
      {borrow_q, offset_q} <= offset;
      same_q <= va_q[63:48] == region.base[63:48];
      above_q <= 17'(va_q[63:48]) == 17'(region.base[63:48]) + 1'b1;
      {fits_q, spare_q} <= {!spare[48], spare[47:0]};
      other_named_q <= other_remote && other_tag == other_key_q[7:0] && other_pd == pd && 32'(other_key_q[31:8]) < Regions && !other_late;
      other_index_q <= other_key_q[8+:IndexBits];
    end
  end

  assign near          = borrow_q ? above_q : same_q;
  assign allowed_o     = named_q && near && valid_q[index_q] && fits_q && offset_q <= spare_q;
  assign other_valid_o = other_named_q && valid_q[other_index_q];
  assign idle_o        = !ask_q && !ask_i;

  logic unused_valid;  // kept in valid_q
  assign unused_valid = region.valid;

endmodule
