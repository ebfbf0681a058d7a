// Gate in front of the packet builder: lets frames in as a whole, PFC frames before anything else.
//
// - A packet is let in when its first payload beat is available. The reader keeps the following beats coming, so
//   `tx_valid_o` does not fall inside a frame.
// - A PFC frame goes ahead of any packet that has not yet been offered to the builder.
//
// Timing: readies depend on `tx_ready_i` of the same cycle.
module transmit_door
  import eth_pkg::*, roce_pkg::*;
#(
    parameter int unsigned DataBytes = 32
) (
    input logic clk_i,
    input logic rst_i,

    input logic [47:0] port_mac_i,

    input  logic     pfc_valid_i,
    output logic     pfc_ready_o,
    input  control_t pfc_i,

    input  logic             desc_valid_i,
    output logic             desc_ready_o,
    input  eth_head_t        eth_i,
    input  ip_head_t         ip_i,
    input  logic      [15:0] udp_port_i,
    input  bth_t             bth_i,
    input  ext_head_t        ext_i,
    input  logic      [15:0] payload_bytes_i,

    input  logic                   payload_valid_i,
    input  logic                   payload_first_i,
    input  logic                   payload_last_i,
    input  logic [            6:0] payload_beat_bytes_i,
    input  logic [DataBytes*8-1:0] payload_data_i,
    output logic                   payload_ready_o,

    output logic                   tx_valid_o,
    output logic                   tx_last_o,
    output logic [            6:0] tx_bytes_o,
    output logic [DataBytes*8-1:0] tx_data_o,
    input  logic                   tx_ready_i,
    output logic [           15:0] frame_bytes_o, // of the frame, up to and with the beat at tx

    output logic idle_o
);

  // Number of cycles without input and output until nothing moves inside the builder; more than its number of stages.
  localparam logic [3:0] Settle = 4'd15;

  logic inside_q;  // payload of the packet that was let in is still to come
  logic held_pfc_q, held_desc_q;  // offered and not yet taken
  logic let_pfc, let_desc, ready;
  logic [3:0] moving_q;

  assign let_pfc = !inside_q && pfc_valid_i && !held_desc_q;
  assign let_desc = !inside_q && desc_valid_i && !let_pfc && !held_pfc_q &&
      (payload_bytes_i == '0 || (payload_valid_i && payload_first_i));
  assign pfc_ready_o = let_pfc && ready;
  assign desc_ready_o = let_desc && ready;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q    <= 1'b0;
      held_pfc_q  <= 1'b0;
      held_desc_q <= 1'b0;
      moving_q    <= Settle;  // what reset leaves moves on too
    end else begin
      if (let_desc && ready) inside_q <= payload_bytes_i != '0;
      else if (payload_valid_i && payload_ready_o) inside_q <= !payload_last_i;
      held_pfc_q  <= let_pfc && !ready;
      held_desc_q <= let_desc && !ready;
      if (let_pfc || let_desc || inside_q || tx_valid_o) moving_q <= Settle;
      else if (moving_q != '0) moving_q <= moving_q - 1'b1;
    end
  end

  eth_head_t pfc_eth, eth;
  ip_head_t ip;

  always_comb begin
    pfc_eth     = '0;
    pfc_eth.dst = ControlAddress;
    pfc_eth.src = port_mac_i;
    eth         = let_pfc ? pfc_eth : eth_i;
    ip          = ip_i;
    if (let_pfc) ip.kind = IpNone;
  end

  packet_builder #(
      .DataBytes(DataBytes)
  ) u_builder (
      .clk_i,
      .rst_i,
      .desc_valid_i   (let_pfc || let_desc),
      .desc_ready_o   (ready),
      .eth_i          (eth),
      .control_i      (pfc_i),
      .ip_i           (ip),
      .udp_src_port_i (udp_port_i),
      .bth_i,
      .ext_i,
      .payload_bytes_i(let_pfc ? '0 : payload_bytes_i),
      .payload_valid_i(payload_valid_i && inside_q),
      .payload_last_i,
      .payload_beat_bytes_i,
      .payload_data_i,
      .payload_ready_o,
      .tx_valid_o,
      .tx_last_o,
      .tx_bytes_o,
      .tx_data_o,
      .tx_ready_i
  );

  logic [15:0] sent_q;  // bytes of the frame in front of the beat at tx

  always_ff @(posedge clk_i) begin
    if (rst_i) sent_q <= '0;
    else if (tx_valid_o && tx_ready_i) sent_q <= tx_last_o ? '0 : frame_bytes_o;
  end

  assign frame_bytes_o = sent_q + 16'(tx_bytes_o);

  assign idle_o = !pfc_valid_i && !desc_valid_i && !inside_q && !tx_valid_o && moving_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!inside_q || payload_valid_i)
      else $error("transmit_door: payload falls behind inside a packet");
  end

endmodule
