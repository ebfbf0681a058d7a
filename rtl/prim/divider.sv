// Sequential divider: ⌊dividend / divisor⌋. The result is all ones if the quotient needs more than `QuotientBits`
// bits, which includes division by zero.
//
// - `start_i` is taken in a cycle with `ready_o`.
// - `done_o` comes ⌈QuotientBits / BitsPerCycle⌉ + 1 cycles later, for one cycle, and `ready_o` with it.
// - `quotient_o` is valid with `done_o` and holds until the next start.
// - Registers change only during a division.
//
// Restoring division: the remainder is shifted by one bit of the dividend, and the divisor is subtracted if it fits.
// `BitsPerCycle` such subtractions are chained in one cycle.
//
// Timing: all outputs are registers.
module divider #(
    parameter int unsigned DividendBits = 48,
    parameter int unsigned DivisorBits  = 32,
    parameter int unsigned QuotientBits = 32,  // at most DividendBits; the difference is at most DivisorBits
    parameter int unsigned BitsPerCycle = 1    // divides QuotientBits
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                    start_i,
    output logic                    ready_o,
    input  logic [DividendBits-1:0] dividend_i,
    input  logic [ DivisorBits-1:0] divisor_i,

    output logic                    done_o,
    output logic [QuotientBits-1:0] quotient_o
);

  localparam int unsigned Steps = QuotientBits / BitsPerCycle;
  localparam int unsigned StepBits = $clog2(Steps + 1);

  if (QuotientBits % BitsPerCycle != 0) $error("QuotientBits is %0d, no multiple of BitsPerCycle", QuotientBits);
  if (DividendBits < QuotientBits) $error("DividendBits is %0d, less than QuotientBits", DividendBits);
  if (DividendBits - QuotientBits > DivisorBits)
    $error("DivisorBits is %0d, less than the dividend has above the quotient", DivisorBits);

  logic [StepBits-1:0] left_q;  // steps to go
  logic ready_q, done_q, over_q;
  logic [DivisorBits-1:0] divisor_q, remainder_q, remainder;
  logic [QuotientBits-1:0] low_q, low;  // high: dividend still to come; low: quotient so far
  logic [DivisorBits-1:0] high;
  logic start;

  assign start = start_i && ready_q;
  assign high  = DivisorBits'(dividend_i >> QuotientBits);

  always_comb begin
    logic [  DivisorBits:0] next;
    logic [DivisorBits+1:0] rest;
    remainder = remainder_q;
    low       = low_q;
    for (int unsigned b = 0; b < BitsPerCycle; b++) begin
      next      = {remainder, low[QuotientBits-1]};
      rest      = {1'b0, next} - {2'b0, divisor_q};
      low       = {low[QuotientBits-2:0], !rest[DivisorBits+1]};
      remainder = rest[DivisorBits+1] ? next[DivisorBits-1:0] : rest[DivisorBits-1:0];
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      left_q  <= '0;
      ready_q <= 1'b1;
      done_q  <= 1'b0;
    end else begin
      done_q <= left_q == StepBits'(1);
      if (start) begin
        left_q  <= StepBits'(Steps);
        ready_q <= 1'b0;
      end else if (left_q != '0) begin
        left_q  <= left_q - 1'b1;
        ready_q <= left_q == StepBits'(1);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      divisor_q   <= divisor_i;
      remainder_q <= high;
      low_q       <= dividend_i[QuotientBits-1:0];
      over_q      <= high >= divisor_i;
    end else if (left_q != '0) begin
      remainder_q <= remainder;
      low_q       <= low;
    end
  end

  assign ready_o    = ready_q;
  assign done_o     = done_q;
  assign quotient_o = over_q ? '1 : low_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (ready_q || over_q || remainder_q < divisor_q)
      else $error("divider: remainder too large");
  end

endmodule
