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
  logic [1:0] grows_q;  // byte counters that `bytes_q` is added to
  logic [1:0][15:0] bytes_q;

  clock_gate u_clk_count (
      .clk_i,
      .enable_i(rst_i || event_i != '0 || grows_q != '0),
      .clk_o   (clk_count)
  );

  always_ff @(posedge clk_count) begin
    if (rst_i) grows_q <= '0;
    else grows_q <= {event_i[CountBytesOut], event_i[CountBytesIn]};
  end

  always_ff @(posedge clk_count) begin
    if (event_i[CountBytesIn]) bytes_q[0] <= bytes_in_i;
    if (event_i[CountBytesOut]) bytes_q[1] <= bytes_out_i;
  end

  for (genvar i = 0; i < Counters; i++) begin : gen_counter
    if (i == int'(CountBytesIn) || i == int'(CountBytesOut)) begin : gen_bytes
      localparam int unsigned Way = (i == int'(CountBytesOut)) ? 1 : 0;
      logic [63:0] count_q;

      always_ff @(posedge clk_count) begin
        if (rst_i) count_q <= '0;
        else if (grows_q[Way]) count_q <= count_q + 64'(bytes_q[Way]);
      end

      assign counters_o[i] = count_q[31:0];
      assign high_o[Way]   = count_q[63:32];
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
