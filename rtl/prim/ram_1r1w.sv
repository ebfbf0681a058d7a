// Memory with one write port and one read port.
//
// - Read latency is one cycle: an address with `read_i` in cycle n gives its word in n + 1. `data_o` then holds until
//   the next read.
// - A read of the address that is written in the same cycle gives the old word.
// - Words are undefined until written. Addresses have to be below Depth.
// - There is no reset, so that it maps to block RAM, or to LUT RAM and a register when shallow.
module ram_1r1w #(
    parameter  int unsigned Width       = 32,
    parameter  int unsigned Depth       = 512,                             // 2 or more
    localparam int unsigned AddressBits = (Depth > 1) ? $clog2(Depth) : 1
) (
    input logic clk_i,

    input logic                   write_i,
    input logic [AddressBits-1:0] write_address_i,
    input logic [      Width-1:0] data_i,

    input  logic                   read_i,
    input  logic [AddressBits-1:0] read_address_i,
    output logic [      Width-1:0] data_o
);

  logic [Width-1:0] words_q[Depth];
  logic [Width-1:0] data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[write_address_i] <= data_i;
    if (read_i) data_q <= words_q[read_address_i];
  end

  assign data_o = data_q;

endmodule
