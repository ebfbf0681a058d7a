// A small RoCEv2 NIC: one RC queue pair, SENDs of one packet, IPv4.
//
// Requester: one message under way. It is sent again after a timeout or a NAK; after `retries` times it fails.
// Responder: takes packets in order and answers each with an ACK, a gap with one NAK, a missing receive buffer with an
// RNR NAK.
// ARP: asks for the peer's MAC address when it is told to connect, and again after each timeout.
//
// AXI4-Stream to and from the MAC and the host, first byte in lane 0. Inside it works a byte a cycle: s_axis_tready is
// low while it does, and m_axis_tvalid falls inside a frame. Frames have no FCS; the MAC pads them. Reset is
// synchronous, active low.
module axis_nic #(
    parameter logic [23:0] Qpn = 24'h00BEEF,
    parameter logic [23:0] FirstPsn = 24'h123456
) (
    input logic aclk,
    input logic aresetn,

    // Frames from the MAC.
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,
    input  logic [63:0] s_axis_tdata,
    input  logic [ 7:0] s_axis_tkeep,
    input  logic        s_axis_tlast,

    // Frames to the MAC.
    output logic        m_axis_tvalid,
    input  logic        m_axis_tready,
    output logic [63:0] m_axis_tdata,
    output logic [ 7:0] m_axis_tkeep,
    output logic        m_axis_tlast,

    // A message to send, 1 to 1,024 bytes, and what became of it.
    input  logic        s_msg_tvalid,
    output logic        s_msg_tready,
    input  logic [63:0] s_msg_tdata,
    input  logic [ 7:0] s_msg_tkeep,
    input  logic        s_msg_tlast,
    output logic        sent_valid,
    output logic        sent_ok,

    // A message that was received; it is taken only while a buffer is there.
    input  logic        buffer_ready,
    output logic        m_msg_tvalid,
    input  logic        m_msg_tready,
    output logic [63:0] m_msg_tdata,
    output logic [ 7:0] m_msg_tkeep,
    output logic        m_msg_tlast,

    // Registers, AXI4-Lite: see the localparams.
    input  logic        awvalid,
    output logic        awready,
    input  logic [ 7:0] awaddr,
    input  logic        wvalid,
    output logic        wready,
    input  logic [31:0] wdata,
    output logic        bvalid,
    input  logic        bready,
    output logic [ 1:0] bresp,
    input  logic        arvalid,
    output logic        arready,
    input  logic [ 7:0] araddr,
    output logic        rvalid,
    input  logic        rready,
    output logic [31:0] rdata,
    output logic [ 1:0] rresp
);

  localparam logic [7:0] RegQpn = 8'h00;  // read only
  localparam logic [7:0] RegFirstPsn = 8'h04;  // read only
  localparam logic [7:0] RegStatus = 8'h08;  // read only; bit 0: the peer's MAC address is known
  localparam logic [7:0] RegMacLow = 8'h10;
  localparam logic [7:0] RegMacHigh = 8'h14;
  localparam logic [7:0] RegIp = 8'h18;
  localparam logic [7:0] RegPeerIp = 8'h1C;
  localparam logic [7:0] RegPeerQpn = 8'h20;
  localparam logic [7:0] RegPeerPsn = 8'h24;
  localparam logic [7:0] RegPort = 8'h28;  // UDP source port, DSCP above it
  localparam logic [7:0] RegTimeout = 8'h2C;  // cycles
  localparam logic [7:0] RegRetries = 8'h30;
  localparam logic [7:0] RegConnect = 8'h34;  // writing 1 asks for the peer's MAC address

  localparam logic [7:0] OpSendOnly = 8'h04;
  localparam logic [7:0] OpAck = 8'h11;
  localparam logic [15:0] RocePort = 16'd4791;
  localparam logic [11:0] Headers = 12'd54;  // Ethernet 14, IPv4 20, UDP 8, BTH 12
  localparam logic [11:0] MessageMax = 12'd1024;
  // The ICRC's register after eight bytes of 0xFF, and after a packet with its right ICRC: the same.
  localparam logic [31:0] CrcState = 32'hDEBB_20E3;

  // ------------------------------------------------------------------------------------------------------------------
  // Registers.

  logic [47:0] mac;
  logic [31:0] ip, peer_ip, timeout;
  logic [23:0] peer_qpn;
  logic [15:0] udp_port;
  logic [5:0] dscp;
  logic [7:0] retries;
  logic connect, psn_set, write;
  logic [47:0] peer_mac;
  logic resolved;

  assign write = awvalid && wvalid && !bvalid;
  assign awready = write;
  assign wready = write;
  assign arready = !rvalid;
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign psn_set = write && awaddr == RegPeerPsn;
  assign connect = write && awaddr == RegConnect && wdata[0];

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      bvalid <= 1'b0;
      rvalid <= 1'b0;
      mac <= '0;
      ip <= '0;
      peer_ip <= '0;
      peer_qpn <= '0;
      udp_port <= 16'hC000;
      dscp <= '0;
      timeout <= 32'd100_000;
      retries <= 8'd7;
    end else begin
      if (bready) bvalid <= 1'b0;
      if (rready) rvalid <= 1'b0;
      if (write) begin
        bvalid <= 1'b1;
        case (awaddr)
          RegMacLow: mac[31:0] <= wdata;
          RegMacHigh: mac[47:32] <= wdata[15:0];
          RegIp: ip <= wdata;
          RegPeerIp: peer_ip <= wdata;
          RegPeerQpn: peer_qpn <= wdata[23:0];
          RegPort: {dscp, udp_port} <= wdata[21:0];
          RegTimeout: timeout <= wdata;
          RegRetries: retries <= wdata[7:0];
          default: ;
        endcase
      end
      if (arvalid && arready) begin
        rvalid <= 1'b1;
        case (araddr)
          RegQpn: rdata <= {8'd0, Qpn};
          RegFirstPsn: rdata <= {8'd0, FirstPsn};
          RegStatus: rdata <= {31'd0, resolved};
          default: rdata <= '0;
        endcase
      end
    end
  end

  // ------------------------------------------------------------------------------------------------------------------
  // Receive: a beat is taken, then its bytes one a cycle; `at` is the place of the byte in its frame.

  logic [63:0] beat;
  logic [7:0] keep;
  logic beat_last, frame_end;
  logic [11:0] at;
  logic byte_valid;
  logic [7:0] data;

  assign byte_valid = keep[0];
  assign data = beat[7:0];
  assign frame_end = byte_valid && beat_last && !keep[1];
  // The message of the last frame goes to the host first.
  logic delivering, judging;
  assign s_axis_tready = (!byte_valid || !keep[1]) && !frame_end && !delivering && !judging;

  logic to_us, is_arp, is_roce;
  logic [ 7:0] opcode;
  logic [ 1:0] pad;
  logic [15:0] ip_length;
  logic [23:0] psn;
  logic [ 7:0] syndrome;
  logic [47:0] arp_mac;
  logic arp_ok;
  logic [31:0] crc, crc_next;
  logic [11:0] packet_end;
  logic masked;

  assign packet_end = 12'd14 + ip_length[11:0];
  // TOS, TTL, header checksum, UDP checksum, and the byte of FECN and BECN.
  assign masked = at == 15 || at == 22 || at == 24 || at == 25 || at == 40 || at == 41 || at == 46;

  crc32_byte u_rx_crc (
      .crc (crc),
      .data(masked ? 8'hFF : data),
      .next(crc_next)
  );

  // The byte that a field has at this place, most significant first.
  function automatic logic [7:0] pick(input logic [47:0] field, input logic [11:0] place, input int unsigned last);
    return field[8*(last-32'(place))+:8];
  endfunction

  logic [63:0] rx_ram[128];
  logic [9:0] rx_place;
  assign rx_place = 10'(at - Headers);

  always_ff @(posedge aclk) begin
    if (byte_valid && at >= Headers && at < Headers + MessageMax) rx_ram[rx_place[9:3]][8*rx_place[2:0]+:8] <= data;
  end

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      keep <= '0;
      at <= '0;
      judging <= 1'b0;
      beat_last <= 1'b0;
    end else begin
      judging <= frame_end;
      if (byte_valid) begin
        beat <= {8'd0, beat[63:8]};
        keep <= {1'b0, keep[7:1]};
        at   <= frame_end ? '0 : (at == '1 ? at : at + 12'd1);
      end
      if (s_axis_tvalid && s_axis_tready) begin
        beat <= s_axis_tdata;
        keep <= s_axis_tkeep;
        beat_last <= s_axis_tlast;
      end
      if (byte_valid) begin
        if (at == 0) begin
          {to_us, is_arp, is_roce, arp_ok} <= 4'b1111;
          crc <= CrcState;
          // Long, until it is read.
          ip_length <= 16'h07FF;
        end
        if (at < 6 && data != pick(mac, at, 5)) to_us <= 1'b0;
        if (at == 12 && data != 8'h08) {is_arp, is_roce} <= 2'b00;
        if (at == 13 && data != 8'h00) is_roce <= 1'b0;
        if (at == 13 && data != 8'h06) is_arp <= 1'b0;
        // ARP: a reply of the peer.
        if (at == 21 && data != 8'h02) arp_ok <= 1'b0;
        if (at >= 22 && at < 28) arp_mac <= {arp_mac[39:0], data};
        if (at >= 28 && at < 32 && data != pick({16'd0, peer_ip}, at, 31)) arp_ok <= 1'b0;
        // IPv4 without options, UDP, to the port of RoCEv2, from the peer.
        if (at == 14 && data != 8'h45) is_roce <= 1'b0;
        if (at == 16 || at == 17) ip_length <= {ip_length[7:0], data};
        if (at == 23 && data != 8'd17) is_roce <= 1'b0;
        if (at >= 26 && at < 30 && data != pick({16'd0, peer_ip}, at, 29)) is_roce <= 1'b0;
        if (at >= 30 && at < 34 && data != pick({16'd0, ip}, at, 33)) is_roce <= 1'b0;
        if ((at == 36 || at == 37) && data != pick({32'd0, RocePort}, at, 37)) is_roce <= 1'b0;
        // BTH.
        if (at == 42) opcode <= data;
        if (at == 43) pad <= data[5:4];
        if (at >= 47 && at < 50 && data != pick({24'd0, Qpn}, at, 49)) is_roce <= 1'b0;
        if (at >= 51 && at < 54) psn <= {psn[15:0], data};
        if (at == 54) syndrome <= data;
        if (at >= 14 && at < packet_end) crc <= crc_next;
      end
    end
  end

  // A whole frame is judged in the cycle behind its last byte; `length` is how many bytes it had.
  logic [11:0] length;
  always_ff @(posedge aclk) if (byte_valid) length <= at + 12'd1;

  logic roce, request, answer, expected, duplicate;
  logic [23:0] peer_psn;
  logic [11:0] message_bytes;

  assign roce = judging && to_us && is_roce && crc == CrcState && ip_length[15:12] == 0 &&
                length >= packet_end && packet_end >= Headers + 12'd4;
  assign request = roce && opcode == OpSendOnly;
  assign answer = roce && opcode == OpAck && packet_end >= Headers + 12'd8;
  assign message_bytes = packet_end - 12'd4 - Headers - 12'(pad);
  assign expected = psn == peer_psn;
  // Behind by less than half of the PSNs: a duplicate.
  assign duplicate = !expected && 24'(peer_psn - psn) < 24'h80_0000;

  // ------------------------------------------------------------------------------------------------------------------
  // Responder.

  logic [23:0] msn;
  logic gap_told, respond, responded;
  logic [23:0] answer_psn;
  logic [ 7:0] answer_syndrome;
  logic [10:0] given, message_length;

  // ACK without a limit of credits; NAK, PSN sequence error; NAK, invalid request; RNR NAK, 0.01 ms.
  localparam logic [7:0] Ack = 8'h1F;
  localparam logic [7:0] NakSequence = 8'h60;
  localparam logic [7:0] NakInvalid = 8'h61;
  localparam logic [7:0] NakNotReady = 8'h21;

  logic fits;
  assign fits = message_bytes != 0 && message_bytes <= MessageMax;

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      peer_psn   <= '0;
      msn        <= '0;
      gap_told   <= 1'b0;
      respond    <= 1'b0;
      delivering <= 1'b0;
    end else begin
      if (responded) respond <= 1'b0;
      if (psn_set) begin
        peer_psn <= wdata[23:0];
        msn <= '0;
        gap_told <= 1'b0;
      end
      if (request && expected) begin
        respond <= 1'b1;
        answer_psn <= psn;
        answer_syndrome <= !fits ? NakInvalid : buffer_ready ? Ack : NakNotReady;
        gap_told <= 1'b0;
        if (fits && buffer_ready) begin
          peer_psn <= peer_psn + 24'd1;
          msn <= msn + 24'd1;
          delivering <= 1'b1;
          given <= '0;
          message_length <= message_bytes[10:0];
        end
      end else if (request && duplicate) begin
        respond <= 1'b1;
        answer_psn <= peer_psn - 24'd1;
        answer_syndrome <= Ack;
      end else if (request && !gap_told) begin
        respond <= 1'b1;
        answer_psn <= peer_psn;
        answer_syndrome <= NakSequence;
        gap_told <= 1'b1;
      end
      // The message leaves in beats that are put together below.
      if (delivering && m_msg_tvalid && m_msg_tready) begin
        given <= given + 11'd8;
        if (m_msg_tlast) delivering <= 1'b0;
      end
    end
  end

  assign m_msg_tvalid = delivering;
  assign m_msg_tlast  = given + 11'd8 >= message_length;
  assign m_msg_tdata  = rx_ram[given[9:3]];
  always_comb begin
    for (int unsigned lane = 0; lane < 8; lane++) m_msg_tkeep[lane] = given + 11'(lane) < message_length;
  end

  // ------------------------------------------------------------------------------------------------------------------
  // Requester.

  typedef enum logic [2:0] {
    Idle,
    Load,
    Send,
    Wait,
    Report
  } requester_e;

  requester_e state;
  logic [63:0] tx_ram[128];
  logic [6:0] tx_word;
  logic [10:0] tx_length;
  logic [23:0] own_psn;
  logic [31:0] waited;
  logic [7:0] tries;
  logic send_done, ok;
  logic acked, not_ready, naked;

  assign s_msg_tready = (state == Idle && resolved) || state == Load;
  assign acked = answer && state == Wait && psn == own_psn && syndrome[7:5] == 3'b000;
  assign not_ready = answer && state == Wait && psn == own_psn && syndrome[7:5] == 3'b001;
  assign naked = answer && state == Wait && psn == own_psn && syndrome[7:5] == 3'b011;
  assign sent_valid = state == Report;
  assign sent_ok = ok;
  assign tx_word = state == Idle ? '0 : tx_length[9:3];

  always_ff @(posedge aclk) begin
    if (s_msg_tvalid && s_msg_tready) tx_ram[tx_word] <= s_msg_tdata;
  end

  function automatic logic [10:0] count(input logic [7:0] lanes);
    count = '0;
    for (int unsigned lane = 0; lane < 8; lane++) count = count + 11'(lanes[lane]);
  endfunction

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      state   <= Idle;
      own_psn <= FirstPsn;
    end else begin
      case (state)
        Idle: begin
          tries <= '0;
          if (s_msg_tvalid && s_msg_tready) begin
            tx_length <= count(s_msg_tkeep);
            state <= s_msg_tlast ? Send : Load;
          end
        end
        Load:
        if (s_msg_tvalid) begin
          tx_length <= tx_length + count(s_msg_tkeep);
          if (s_msg_tlast) state <= Send;
        end
        Send: begin
          waited <= '0;
          if (send_done) state <= Wait;
        end
        Wait: begin
          waited <= waited + 32'd1;
          if (acked) begin
            ok <= 1'b1;
            own_psn <= own_psn + 24'd1;
            state <= Report;
          end else if (naked && syndrome != NakSequence) begin
            ok <= 1'b0;
            state <= Report;
          end else if (naked || waited >= timeout) begin
            ok <= 1'b0;
            tries <= tries + 8'd1;
            state <= tries == retries ? Report : Send;
          end else if (not_ready) begin
            // As long as the timeout, and no try is counted.
            waited <= '0;
            tries <= tries - 8'(tries != 0);
          end
        end
        default: state <= Idle;
      endcase
    end
  end

  // ------------------------------------------------------------------------------------------------------------------
  // ARP.

  logic asking, ask, asked;
  logic [31:0] asked_for;

  assign ask = asking && asked_for == 0;

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      asking <= 1'b0;
      resolved <= 1'b0;
      asked_for <= '0;
    end else begin
      if (asking && asked_for != 0) asked_for <= asked_for - 32'd1;
      if (asked) asked_for <= timeout;
      if (connect) begin
        asking <= 1'b1;
        resolved <= 1'b0;
        asked_for <= '0;
      end else if (asking && judging && to_us && is_arp && arp_ok && length >= 42) begin
        peer_mac <= arp_mac;
        resolved <= 1'b1;
        asking <= 1'b0;
      end
    end
  end

  // ------------------------------------------------------------------------------------------------------------------
  // Transmit: a byte a cycle into a beat. Answers go first, then ARP, then messages.

  typedef enum logic [1:0] {
    Nothing,
    Answer,
    Request,
    Message
  } frame_e;

  frame_e frame;
  logic [11:0] tx_at, tx_payload, tx_end, tx_icrc;
  logic [1:0] tx_pad;
  logic [63:0] tx_beat;
  logic [7:0] tx_keep;
  logic tx_full, tx_last, step, tx_final;
  logic [ 7:0] tx_byte;
  logic [31:0] tx_crc, tx_crc_next;
  logic tx_masked;
  logic [15:0] total, checksum, ip_id;
  logic [23:0] tx_psn;
  logic [ 7:0] tx_opcode;

  assign tx_pad = frame == Message ? 2'(3'd4 - 3'(tx_length[1:0])) : 2'd0;
  assign tx_payload = frame == Message ? 12'(tx_length) + 12'(tx_pad) : 12'd4;
  assign tx_icrc = Headers + tx_payload;
  assign tx_end = frame == Request ? 12'd42 : tx_icrc + 12'd4;
  assign total = 16'(tx_end) - 16'd14;
  assign tx_psn = frame == Message ? own_psn : aeth_psn;
  assign tx_opcode = frame == Message ? OpSendOnly : OpAck;

  // RFC 1071, over a header of ten words.
  function automatic logic [15:0] ones_sum(input logic [159:0] header);
    logic [19:0] sum;
    sum = '0;
    for (int unsigned i = 0; i < 10; i++) sum = sum + 20'(header[16*i+:16]);
    sum = 20'(sum[15:0]) + 20'(sum[19:16]);
    sum = 20'(sum[15:0]) + 20'(sum[19:16]);
    return ~sum[15:0];
  endfunction

  logic [159:0] ip_header;
  logic [53:0][7:0] header, arp;
  assign ip_header = {8'h45, dscp, 2'b00, total, ip_id, 16'h4000, 8'd64, 8'd17, 16'd0, ip, peer_ip};
  assign checksum = ones_sum(ip_header);
  assign header = {
    peer_mac, mac, 16'h0800,
    ip_header[159:80], checksum, ip_header[63:0],
    udp_port, RocePort, 16'(total - 16'd20), 16'd0,
    tx_opcode, 2'b01, tx_pad, 4'd0, 16'hFFFF, 8'd0, peer_qpn, frame == Message, 7'd0, tx_psn
  };
  assign arp = {
    48'hFFFF_FFFF_FFFF, mac, 16'h0806, 64'h0001_0800_0604_0001, mac, ip, 48'd0, peer_ip, 96'd0
  };

  // Of the answer under way.
  logic [31:0] aeth;
  logic [23:0] aeth_psn;
  logic [9:0] tx_place;
  assign tx_place = 10'(tx_at - Headers);

  always_comb begin
    tx_byte = '0;
    if (frame == Request) tx_byte = arp[6'(Headers - 12'd1 - tx_at)];
    else if (tx_at < Headers) tx_byte = header[6'(Headers - 12'd1 - tx_at)];
    else if (tx_at >= tx_icrc) tx_byte = ~tx_crc[8*2'(tx_at-tx_icrc)+:8];
    else if (frame == Answer) tx_byte = aeth[8*2'(Headers + 12'd3 - tx_at)+:8];
    else if (tx_at < Headers + 12'(tx_length)) tx_byte = tx_ram[tx_place[9:3]][8*tx_place[2:0]+:8];
  end

  assign tx_masked = tx_at == 15 || tx_at == 22 || tx_at == 24 || tx_at == 25 || tx_at == 40 || tx_at == 41 ||
                     tx_at == 46;
  crc32_byte u_tx_crc (
      .crc (tx_crc),
      .data(tx_masked ? 8'hFF : tx_byte),
      .next(tx_crc_next)
  );

  assign step = frame != Nothing && !tx_full;
  assign tx_final = tx_at == tx_end - 12'd1;
  assign responded = frame == Nothing && respond && resolved;
  assign asked = frame == Request && step && tx_final;
  assign send_done = frame == Message && step && tx_final;
  assign m_axis_tvalid = tx_full;
  assign m_axis_tdata = tx_beat;
  assign m_axis_tkeep = tx_keep;
  assign m_axis_tlast = tx_last;

  always_ff @(posedge aclk) begin
    if (!aresetn) begin
      frame <= Nothing;
      tx_full <= 1'b0;
      tx_keep <= '0;
      tx_at <= '0;
      ip_id <= '0;
    end else begin
      if (m_axis_tvalid && m_axis_tready) begin
        tx_full <= 1'b0;
        tx_keep <= '0;
      end
      if (frame == Nothing) begin
        tx_at  <= '0;
        tx_crc <= CrcState;
        if (responded) begin
          frame <= Answer;
          aeth <= {answer_syndrome, msn};
          aeth_psn <= answer_psn;
        end else if (ask) frame <= Request;
        else if (state == Send) frame <= Message;
      end
      if (step) begin
        tx_beat[8*3'(tx_at)+:8] <= tx_byte;
        tx_keep[3'(tx_at)] <= 1'b1;
        tx_full <= tx_at[2:0] == 3'd7 || tx_final;
        tx_last <= tx_final;
        tx_at <= tx_at + 12'd1;
        if (tx_at >= 14 && tx_at < tx_icrc) tx_crc <= tx_crc_next;
        if (tx_final) begin
          frame <= Nothing;
          ip_id <= ip_id + 16'd1;
        end
      end
    end
  end

endmodule
