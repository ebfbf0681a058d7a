// Address counter that clears a RAM after reset: steps through all addresses once, one per cycle, with `valid_o` in
// the first `Depth` cycles after `rst_i`.
//
// Timing: all outputs are registers.
module ram_clear #(
    parameter  int unsigned Depth       = 512,
    localparam int unsigned AddressBits = (Depth > 1) ? $clog2(Depth) : 1
) (
    input logic clk_i,
    input logic rst_i,

    output logic                   valid_o,
    output logic [AddressBits-1:0] address_o
);

  logic valid_q;
  logic [AddressBits-1:0] address_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q   <= 1'b1;
      address_q <= '0;
    end else if (valid_q) begin
      valid_q   <= address_q != AddressBits'(Depth - 1);
      address_q <= address_q + 1'b1;
    end
  end

  assign valid_o   = valid_q;
  assign address_o = address_q;

endmodule
