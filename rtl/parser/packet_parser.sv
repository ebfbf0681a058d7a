// Packet parser: says what a frame is, and delivers its header fields, its payload, and whether its ICRC is right.
//
// README.md in this folder is the contract: verdicts, reasons, order of checks, what is reported of which frame.
//
//     rx ─► eth_parser ─► icrc ─► ip_parser ─► transport_parser ─► fields, payload, result
//           strips        checks  strips       strips UDP,
//           Ethernet      in line IP, GRH      BTH, extensions
//
// - Throughput: one beat per cycle, frames of 1 to 16,383 bytes back to back. There is no back-pressure, and nothing
//   is dropped here.
// - Each frame gives one `head_valid_o` and one `done_valid_o`, in order, four to ten cycles after its header and
//   after its last beat.
// - Fields hold from `head_valid_o` to `done_valid_o`, both cycles included. The payload comes between them.
module packet_parser
  import eth_pkg::*, stream_pkg::*, roce_pkg::*, parser_pkg::*;
#(
    parameter int unsigned DataBytes = 32  // 32 or 64
) (
    input logic clk_i,
    input logic rst_i,

    // Frame from the destination address on, without FCS
    input logic                   rx_valid_i,
    input logic                   rx_last_i,
    input logic [            6:0] rx_bytes_i,  // with the last beat: 1 to DataBytes
    input logic [DataBytes*8-1:0] rx_data_i,

    output logic                 head_valid_o,
    output logic                 done_valid_o,
    output parse_result_t        result_o,
    output eth_head_t            eth_o,
    output control_t             control_o,
    output ip_head_t             ip_o,
    output logic          [15:0] udp_src_port_o,
    output bth_t                 bth_o,
    output ext_head_t            ext_o,

    output logic                   payload_valid_o,
    output logic                   payload_last_o,
    output logic [            6:0] payload_bytes_o,
    output logic [DataBytes*8-1:0] payload_data_o
);

  localparam int unsigned DataBits = DataBytes * 8;

  beat_t l3_beat, checked_beat, l4_beat;
  logic [DataBits-1:0] l3_data, checked_data, l4_data;
  l2_head_t l2_head, checked_head;
  l3_head_t l3_head;
  logic [15:0] frame_bytes, checked_frame_bytes;
  logic         icrc_ok;
  logic  [31:0] unused_icrc;  // used in packet_builder
  tail_t        tail;

  eth_parser #(
      .DataBytes(DataBytes)
  ) u_eth (
      .clk_i,
      .rst_i,
      .valid_i      (rx_valid_i),
      .last_i       (rx_last_i),
      .bytes_i      (rx_bytes_i),
      .data_i       (rx_data_i),
      .beat_o       (l3_beat),
      .data_o       (l3_data),
      .head_o       (l2_head),
      .frame_bytes_o(frame_bytes)
  );

  icrc #(
      .DataBytes(DataBytes),
      .Check    (1'b1),
      .HeadBits ($bits(l2_head_t)),
      .TailBits (16)
  ) u_icrc (
      .clk_i,
      .rst_i,
      .enable_i(1'b1),
      .beat_i  (l3_beat),
      .data_i  (l3_data),
      .kind_i  (l2_head.ip_kind),
      .head_i  (l2_head),
      .tail_i  (frame_bytes),
      .beat_o  (checked_beat),
      .data_o  (checked_data),
      .head_o  (checked_head),
      .tail_o  (checked_frame_bytes),
      .ok_o    (icrc_ok),
      .icrc_o  (unused_icrc)
  );

  ip_parser #(
      .DataBytes(DataBytes)
  ) u_ip (
      .clk_i,
      .rst_i,
      .beat_i       (checked_beat),
      .data_i       (checked_data),
      .head_i       (checked_head),
      .frame_bytes_i(checked_frame_bytes),
      .icrc_ok_i    (icrc_ok),
      .beat_o       (l4_beat),
      .data_o       (l4_data),
      .head_o       (l3_head),
      .tail_o       (tail)
  );

  transport_parser #(
      .DataBytes(DataBytes)
  ) u_transport (
      .clk_i,
      .rst_i,
      .beat_i(l4_beat),
      .data_i(l4_data),
      .head_i(l3_head),
      .tail_i(tail),
      .head_valid_o,
      .done_valid_o,
      .result_o,
      .eth_o,
      .control_o,
      .ip_o,
      .udp_src_port_o,
      .bth_o,
      .ext_o,
      .payload_valid_o,
      .payload_last_o,
      .payload_bytes_o,
      .payload_data_o
  );

endmodule
