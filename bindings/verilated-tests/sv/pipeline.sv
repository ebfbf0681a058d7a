// Work like a network pipeline's, to measure speed with: wide data through stages, a CRC as a matrix of constants, a small memory.
module pipeline (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         valid_i,
  input  logic         last_i,
  input  logic [511:0] data_i,
  output logic         valid_o,
  output logic [31:0]  crc_o,
  output logic [511:0] data_o,
  output logic [47:0]  total_o
);
  localparam int unsigned Bits = 512;
  typedef logic [31:0][Bits+31:0] matrix_t;

  // Row i: which bits of {state, data} make bit i of the next state.
  function automatic matrix_t crc_matrix();
    matrix_t rows;
    for (int unsigned bit_in = 0; bit_in < Bits + 32; bit_in++) begin
      logic [31:0] state;
      state = bit_in >= Bits ? 32'd1 << (bit_in - Bits) : '0;
      for (int unsigned step = 0; step < Bits; step++) begin
        logic feedback;
        feedback = state[31] ^ (step == bit_in);
        state = {state[30:0], 1'b0} ^ (feedback ? 32'h04c1_1db7 : '0);
      end
      for (int unsigned row = 0; row < 32; row++) rows[row][bit_in] = state[row];
    end
    return rows;
  endfunction
  localparam matrix_t Matrix = crc_matrix();

  logic [511:0] first_q, second_q;
  logic         first_valid_q, first_last_q, second_valid_q;
  logic [31:0]  state_q, state_d;
  logic [47:0]  totals_q [64];
  logic [47:0]  total_q;

  always_comb for (int unsigned row = 0; row < 32; row++) state_d[row] = ^({state_q, first_q} & Matrix[row]);

  always_ff @(posedge clk_i) begin
    first_q        <= data_i;
    first_last_q   <= last_i;
    first_valid_q  <= valid_i & ~rst_i;
    second_q       <= {first_q[255:0], first_q[511:256]} ^ {16{state_q}};
    second_valid_q <= first_valid_q & ~rst_i;
    if (rst_i || (first_valid_q && first_last_q)) state_q <= '1;
    else if (first_valid_q) state_q <= state_d;
    if (first_valid_q) totals_q[first_q[5:0]] <= totals_q[first_q[5:0]] + 48'(first_q[21:6]);
    total_q <= totals_q[first_q[5:0]];
  end

  assign valid_o = second_valid_q;
  assign data_o  = second_q;
  assign crc_o   = state_q;
  assign total_o = total_q;

  a_reset_empties: assert property (@(posedge clk_i) disable iff (rst_i) $past(rst_i) |-> !second_valid_q);
endmodule
