// CRC-32 of IEEE 802.3 and of the ICRC, bit-reflected: the register's bit 0 is the highest power.
//
// `state` is the register as it stands between bytes, before the final complement. All but crc32_apply run at elaboration, to make constants.
package crc_pkg;

  localparam logic [31:0] Crc32Polynomial = 32'hEDB8_8320;

  // The register after a whole message whose own complemented CRC, lowest byte first, stands at its end.
  localparam logic [31:0] Crc32Residue = 32'hDEBB_20E3;

  // The register after `bits` further zero bits.
  function automatic logic [31:0] crc32_forward(input logic [31:0] state, input int unsigned bits);
    logic [31:0] s = state;
    for (int unsigned i = 0; i < bits; i++) s = {1'b0, s[31:1]} ^ (s[0] ? Crc32Polynomial : 32'd0);
    return s;
  endfunction

  // The register before the last `bits` bits, if they were zero. The polynomial's bit 31 is set, so a register's top bit tells what was shifted out.
  function automatic logic [31:0] crc32_backward(input logic [31:0] state, input int unsigned bits);
    logic [31:0] s = state;
    for (int unsigned i = 0; i < bits; i++) s = s[31] ? {s[30:0] ^ Crc32Polynomial[30:0], 1'b1} : {s[30:0], 1'b0};
    return s;
  endfunction

  // A linear map of the register: row o holds a one for each bit that reaches bit o.
  typedef logic [31:0][31:0] crc32_map_t;

  // Over `bits` zero bits, forward or back to where the register was before them.
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
