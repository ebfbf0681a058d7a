// XOR matrix of CRC-32: what a beat of `DataBytes` bytes leaves in a register that was zero.
//
// Output bit o is the parity of the data bits that reach it; which those are is an elaboration-time constant.
// `crc_o` is a register, taken when `enable_i` says so: simulated, the matrix costs nothing in any other cycle.
// A register that was not zero is added by the caller: its effect is that of the same four bytes, lowest first, in front of the beat.
module crc32_fold #(
    parameter int unsigned DataBytes = 32
) (
    input  logic                   clk_i,
    input  logic                   enable_i,
    input  logic [DataBytes*8-1:0] data_i,    // network order
    output logic [           31:0] crc_o
);

  localparam int unsigned DataBits = DataBytes * 8;

  typedef logic [31:0][DataBits-1:0] matrix_t;

  // Row o holds a one for each data bit that reaches bit o of the register. Walks from the last byte to the first: a byte further
  // in front is followed by one more zero byte.
  function automatic matrix_t fold_matrix();
    matrix_t rows;
    logic [31:0] column;
    for (int unsigned b = 0; b < 8; b++) begin
      column = crc_pkg::crc32_forward(32'd1 << b, 8);
      for (int unsigned i = 0; i < DataBytes; i++) begin
        for (int unsigned o = 0; o < 32; o++) rows[o][8*i+b] = column[o];
        column = crc_pkg::crc32_forward(column, 8);
      end
    end
    return rows;
  endfunction

  localparam matrix_t Rows = fold_matrix();

  always_ff @(posedge clk_i) begin
    if (enable_i) for (int unsigned o = 0; o < 32; o++) crc_o[o] <= ^(data_i & Rows[o]);
  end

endmodule
