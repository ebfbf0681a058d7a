// CRC-32 of a byte more, bit-reflected (0xEDB88320), without the final complement.
module crc32_byte (
    input  logic [31:0] crc,
    input  logic [ 7:0] data,
    output logic [31:0] next
);

  always_comb begin
    next = crc ^ {24'd0, data};
    for (int unsigned i = 0; i < 8; i++) next = {1'b0, next[31:1]} ^ (next[0] ? 32'hEDB8_8320 : 32'd0);
  end

endmodule
