// What the proofs of clock gates cut out of the design: gates, and RAMs. Modules without contents are black boxes.

module clock_gate (
    input  logic clk_i,
    input  logic enable_i,
    output logic clk_o
);
endmodule

module ram_1r1w #(
    parameter  int unsigned Width       = 32,
    parameter  int unsigned Depth       = 512,
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
endmodule
