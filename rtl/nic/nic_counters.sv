// Counters of events and bytes, 32 bits, saturating.
//
// Timing: all outputs are registers.
module nic_counters
  import nic_registers_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input logic [Counters-1:0] event_i,
    input logic [        15:0] bytes_in_i,  // with CountBytesIn
    input logic [         6:0] bytes_out_i, // with CountBytesOut

    output logic [Counters-1:0][31:0] counters_o
);

  for (genvar i = 0; i < Counters; i++) begin : gen_counter
    logic [31:0] count_q;
    logic [32:0] next;
    logic [15:0] step;

    assign step = (i == int'(CountBytesIn)) ? bytes_in_i : (i == int'(CountBytesOut)) ? 16'(bytes_out_i) : 16'd1;
    assign next = 33'(count_q) + 33'(step);

    always_ff @(posedge clk_i) begin
      if (rst_i) count_q <= '0;
      else if (event_i[i]) count_q <= next[32] ? '1 : next[31:0];
    end

    assign counters_o[i] = count_q;
  end

endmodule
