// Parser of MAC control frames: PAUSE (802.3 annex 31B) and priority flow control (802.1Q clause 36, 802.3 annex
// 31D).
//
//      0         2                4          6               20
//     +---------+----------------+----------+--- … --------+
//     | 0x0001  | pause time     |                         |  PAUSE
//     | 0x0101  | class enable   | time of class 0 … 7     |  PFC
//     +---------+----------------+----------+--- … --------+
//
// Purely combinational. Other opcodes are not parsed and give VerdictOther.
module control_parser
  import eth_pkg::*, roce_pkg::*, parser_pkg::*;
(
    input  logic          [159:0] wire_i,   // the bytes after the EtherType
    input  logic          [  6:0] bytes_i,  // number of these bytes in the frame, or more
    input  logic          [ 47:0] dst_i,
    output control_head_t         head_o
);

  logic [15:0] opcode;
  logic reserved_address, individual_address;

  assign opcode = wire_i[159-:16];
  assign reserved_address = dst_i == ControlAddress;
  assign individual_address = ~dst_i[40];

  always_comb begin
    head_o = '0;
    head_o.verdict = VerdictOther;
    if (bytes_i < 7'd2) begin
      head_o.reason = ReasonControlTruncated;
    end else if (opcode == ControlPause) begin
      if (bytes_i < 7'd4) begin
        head_o.reason = ReasonControlTruncated;
      end else begin
        head_o.whole           = 1'b1;
        head_o.verdict         = VerdictPause;
        head_o.fields.opcode   = opcode;
        head_o.fields.timer[0] = wire_i[143-:16];
        if (!reserved_address && !individual_address) head_o.reason = ReasonControlAddress;
      end
    end else if (opcode == ControlPfc) begin
      if (bytes_i < 7'd20) begin
        head_o.reason = ReasonControlTruncated;
      end else begin
        head_o.whole               = 1'b1;
        head_o.verdict             = VerdictPfc;
        head_o.fields.opcode       = opcode;
        head_o.fields.class_enable = wire_i[143-:16];
        for (int unsigned c = 0; c < 8; c++) head_o.fields.timer[c] = wire_i[127-16*c-:16];
        if (!reserved_address) head_o.reason = ReasonControlAddress;
      end
    end
  end

endmodule
