// XOR matrix of CRC-32: the CRC register after a beat of `DataBytes` bytes, starting from zero.
//
// - Output bit o is the parity of the data bits that reach it. Which bits these are is an elaboration-time constant.
// - `crc_o` is a register, loaded with `enable_i`, so that a simulator evaluates the matrix only in these cycles.
// - The caller adds the effect of a register that was not zero: it is that of the same four bytes, lowest first, in
//   front of the beat.
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

  // Row o has a one for each data bit that reaches bit o of the register. The loop goes from the last byte to the
  // first: each byte is followed by one zero byte more than the one after it.
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
