// Proof of pause_duration: the result is the least number of cycles not below quanta · QuantumNum / QuantumDen, for
// all quanta.
module pause_duration_proof #(
    parameter int unsigned QuantumNum = 5,
    parameter int unsigned QuantumDen = 2
) (
    input logic [15:0] quanta_i
);

  logic [23:0] cycles;
  pause_duration #(
      .QuantumNum(QuantumNum),
      .QuantumDen(QuantumDen)
  ) u_dut (
      .quanta_i,
      .cycles_o(cycles)
  );

  logic [27:0] wanted, given;  // both multiplied by QuantumDen
  assign wanted = 28'(quanta_i) * 28'(QuantumNum);
  assign given  = 28'(cycles) * 28'(QuantumDen);

  always_comb begin
    a_long_enough : assert (given >= wanted);
    a_not_longer : assert (given < wanted + 28'(QuantumDen));
  end

endmodule
