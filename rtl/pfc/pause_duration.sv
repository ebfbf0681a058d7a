// Converts pause quanta into cycles: ⌈quanta · QuantumNum / QuantumDen⌉. Purely combinational: one multiplication by
// a constant.
//
// Proof that it is exact, with the scale S = 2^20, A = ⌊QuantumNum · S / QuantumDen⌋ and t quanta:
//
// - t · A / S is less than the exact quotient, by less than t / S.
// - A quotient that is not an integer is at least 1 / QuantumDen above the integer below it. Adding (S − 1) / S
//   therefore reaches the next integer if t / S + 1 / S ≤ 1 / QuantumDen, that is (t + 1) · QuantumDen ≤ S. This
//   holds, as 65,536 · 15 < 2^20.
// - An integer quotient is never exceeded, because less than 1 is added.
//
// formal/pause_duration_proof.sv also proves it, for all t.
module pause_duration #(
    parameter int unsigned QuantumNum = 5,  // 1 to 255
    parameter int unsigned QuantumDen = 2   // 1 to 15
) (
    input  logic [15:0] quanta_i,
    output logic [23:0] cycles_o
);

  if (QuantumNum < 1 || QuantumNum > 255) $error("QuantumNum is %0d, has to be 1 to 255", QuantumNum);
  if (QuantumDen < 1 || QuantumDen > 15) $error("QuantumDen is %0d, has to be 1 to 15", QuantumDen);

  localparam int unsigned ScaleBits = 20;
  localparam logic [27:0] Factor = 28'((QuantumNum << ScaleBits) / QuantumDen);

  logic [43:0] scaled;
  assign scaled   = quanta_i * Factor + 44'((1 << ScaleBits) - 1);
  assign cycles_o = scaled[ScaleBits+:24];

  logic unused_fraction;
  assign unused_fraction = ^scaled[ScaleBits-1:0];

endmodule
