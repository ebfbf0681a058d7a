// Event and byte counters. Event counters have 32 bits and saturate. Byte counters have 64 bits; their high halves
// are in `high_o`.
//
// Timing: all outputs are registers.
module nic_counters
  import nic_registers_pkg::*;
(
    input logic clk_i,
    input logic rst_i,

    input logic [Counters-1:0] event_i,
    input logic [        15:0] bytes_in_i,  // added with CountBytesIn
    input logic [        15:0] bytes_out_i, // added with CountBytesOut

    output logic [Counters-1:0][31:0] counters_o,
    output logic [         1:0][31:0] high_o       // 0: CountBytesIn, 1: CountBytesOut
);

  logic clk_count;

  clock_gate u_clk_count (
      .clk_i,
      .enable_i(rst_i || event_i != '0),
      .clk_o   (clk_count)
  );

  for (genvar i = 0; i < Counters; i++) begin : gen_counter
    if (i == int'(CountBytesIn) || i == int'(CountBytesOut)) begin : gen_bytes
      logic [63:0] count_q;

      always_ff @(posedge clk_count) begin
        if (rst_i) count_q <= '0;
        else if (event_i[i]) count_q <= count_q + ((i == int'(CountBytesIn)) ? 64'(bytes_in_i) : 64'(bytes_out_i));
      end

      assign counters_o[i] = count_q[31:0];
      assign high_o[i==int'(CountBytesOut)] = count_q[63:32];
    end else begin : gen_events
      logic [31:0] count_q;

      always_ff @(posedge clk_count) begin
        if (rst_i) count_q <= '0;
        else if (event_i[i] && count_q != '1) count_q <= count_q + 1'b1;
      end

      assign counters_o[i] = count_q;
    end
  end

endmodule
