// Proof of the order of PSNs (roce_pkg), for all a, b and k.
module psn_proof
  import roce_pkg::*;
(
    input psn_t a_i,
    input psn_t b_i,
    input psn_t k_i
);

  logic half;  // at this distance each is behind the other
  assign half = psn_t'(a_i - b_i) == 24'h80_0000;

  logic [31:0] shifted;
  assign shifted = {psn_t'(a_i - b_i), 8'd0};

  always_comb begin
    a_sign : assert (psn_behind(a_i, b_i) == shifted[31]);
    a_antisymmetric : assert (half || psn_ahead(a_i, b_i) == psn_behind(b_i, a_i));
    a_one_of_three : assert (2'(psn_ahead(a_i, b_i)) + 2'(psn_behind(a_i, b_i)) + 2'(a_i == b_i) == 2'd1);
    a_distance : assert (half || psn_distance(a_i, b_i) == -psn_distance(b_i, a_i));
    a_step_ahead : assert (k_i == '0 || k_i >= 24'h80_0000 || psn_ahead(a_i + k_i, a_i));
  end

endmodule
