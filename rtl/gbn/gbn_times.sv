// Timeout and RNR times: the durations of two 5-bit codes in cycles of PeriodPs picoseconds, rounded up.
//
// Purely combinational: two tables of 32 constants.
module gbn_times
  import time_pkg::*;
#(
    parameter int unsigned PeriodPs = 5120  // 1,000 to 10,000
) (
    input  logic   [4:0] timeout_i,  // local ACK timeout: 4.096 us << timeout; 0 is off
    output cycle_t       timeout_o,
    input  logic   [4:0] rnr_i,      // IBTA table 45
    output cycle_t       rnr_o
);

  typedef logic [31:0][$bits(cycle_t)-1:0] table_t;

  localparam longint unsigned TimeoutPs = 64'd4_096_000;
  localparam longint unsigned RnrPs = 64'd10_000_000;  // the table's unit: 10 us

  function automatic cycle_t cycles(input longint unsigned ps);
    return cycle_t'((ps + 64'(PeriodPs) - 64'd1) / 64'(PeriodPs));
  endfunction

  function automatic table_t timeout_table();
    table_t t;
    for (int unsigned i = 0; i < 32; i++) t[i] = cycles(TimeoutPs << i);
    return t;
  endfunction

  // From code 1 on 1, 2, 3, 4, 6, 8, 12 … units: powers of two and, from 3 on, 1.5 times powers of two between them.
  // Code 0 continues the sequence after code 31.
  function automatic table_t rnr_table();
    table_t t;
    t[0] = cycles(RnrPs << 16);
    t[1] = cycles(RnrPs);
    for (int unsigned i = 2; i < 32; i++)
    t[i] = (i % 2 == 0) ? cycles(RnrPs << (i / 2)) : cycles((RnrPs * 64'd3) << ((i - 3) / 2));
    return t;
  endfunction

  localparam table_t TimeoutTable = timeout_table();
  localparam table_t RnrTable = rnr_table();

  assign timeout_o = TimeoutTable[timeout_i];
  assign rnr_o     = RnrTable[rnr_i];

endmodule
