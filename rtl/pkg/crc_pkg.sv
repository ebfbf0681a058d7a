// CRC-32 of IEEE 802.3 and of the ICRC, bit-reflected: bit 0 of the register is the highest power.
//
// `state` is the register between bytes, before the final complement. All functions except crc32_apply are evaluated
// at elaboration, to make constants.
package crc_pkg;

  localparam logic [31:0] Crc32Polynomial = 32'hEDB8_8320;

  // Register after a whole message that ends with its own complemented CRC, lowest byte first.
  localparam logic [31:0] Crc32Residue = 32'hDEBB_20E3;

  // Register after `bits` further zero bits
  function automatic logic [31:0] crc32_forward(input logic [31:0] state, input int unsigned bits);
    logic [31:0] s = state;
    for (int unsigned i = 0; i < bits; i++) s = {1'b0, s[31:1]} ^ (s[0] ? Crc32Polynomial : 32'd0);
    return s;
  endfunction

  // Register before the last `bits` bits, if these were zero. Bit 31 of the polynomial is set, so the top bit of the
  // register tells what was shifted out.
  function automatic logic [31:0] crc32_backward(input logic [31:0] state, input int unsigned bits);
    logic [31:0] s = state;
    for (int unsigned i = 0; i < bits; i++) s = s[31] ? {s[30:0] ^ Crc32Polynomial[30:0], 1'b1} : {s[30:0], 1'b0};
    return s;
  endfunction

  // Linear map of the register: row o has a one for each bit that reaches bit o.
  typedef logic [31:0][31:0] crc32_map_t;

  // Map over `bits` zero bits: forward, or back to the register before them.
  function automatic crc32_map_t crc32_map(input int unsigned bits, input logic backward);
    crc32_map_t map;
    logic [31:0] column;
    for (int unsigned i = 0; i < 32; i++) begin
      column = backward ? crc32_backward(32'd1 << i, bits) : crc32_forward(32'd1 << i, bits);
      for (int unsigned o = 0; o < 32; o++) map[o][i] = column[o];
    end
    return map;
  endfunction

  function automatic logic [31:0] crc32_apply(input crc32_map_t map, input logic [31:0] state);
    logic [31:0] moved;
    for (int unsigned o = 0; o < 32; o++) moved[o] = ^(state & map[o]);
    return moved;
  endfunction

endpackage
