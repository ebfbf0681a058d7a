// The NIC's registers. Made by tools/registers.py from rtl/nic/registers.toml: do not edit.
package nic_registers_pkg;

  typedef logic [15:0] address_t;

  localparam address_t AddressIdentity = 16'h000;
  localparam address_t AddressVersion = 16'h004;
  localparam address_t AddressQpnBase = 16'h008;
  localparam address_t AddressPortMacLow = 16'h00C;
  localparam address_t AddressPortMacHigh = 16'h010;
  localparam address_t AddressControl = 16'h014;
  localparam address_t AddressPfcClasses = 16'h018;
  localparam address_t AddressPcpMap = 16'h01C;
  localparam address_t AddressDscpMap = 16'h020;
  localparam address_t AddressBufferCells = 16'h1C0;
  localparam address_t AddressBufferMap = 16'h0E0;
  localparam address_t AddressPfcXoff = 16'h040;
  localparam address_t AddressPfcXon = 16'h060;
  localparam address_t AddressPfcQuanta = 16'h080;
  localparam address_t AddressPfcRefresh = 16'h084;
  localparam address_t AddressBarkLow = 16'h088;
  localparam address_t AddressBarkHigh = 16'h08C;
  localparam address_t AddressBiteLow = 16'h090;
  localparam address_t AddressBiteHigh = 16'h094;
  localparam address_t AddressRearm = 16'h098;
  localparam address_t AddressRateMax = 16'h0A0;
  localparam address_t AddressRateMin = 16'h0A4;
  localparam address_t AddressRateAi = 16'h0A8;
  localparam address_t AddressRateHai = 16'h0AC;
  localparam address_t AddressG = 16'h0B0;
  localparam address_t AddressAlphaTime = 16'h0B4;
  localparam address_t AddressRateTime = 16'h0B8;
  localparam address_t AddressByteLimit = 16'h0BC;
  localparam address_t AddressStages = 16'h0C0;
  localparam address_t AddressCnpInterval = 16'h0C4;
  localparam address_t AddressCnpDscp = 16'h0C8;
  localparam address_t AddressCnpPcp = 16'h0D0;
  localparam address_t AddressReadAhead = 16'h0E4;
  localparam address_t AddressClassCosts = 16'h1E0;
  localparam address_t AddressLimiterBurst = 16'h0CC;
  localparam address_t AddressQpDstMacLow = 16'h100;
  localparam address_t AddressQpDstMacHigh = 16'h104;
  localparam address_t AddressQpSrcMacLow = 16'h108;
  localparam address_t AddressQpSrcMacHigh = 16'h10C;
  localparam address_t AddressQpTci = 16'h110;
  localparam address_t AddressQpNetwork = 16'h114;
  localparam address_t AddressQpPortKey = 16'h118;
  localparam address_t AddressQpPeerQpn = 16'h11C;
  localparam address_t AddressQpOwnIp = 16'h120;
  localparam address_t AddressQpPeerIp = 16'h130;
  localparam address_t AddressQpRequester = 16'h140;
  localparam address_t AddressQpWindow = 16'h144;
  localparam address_t AddressQpRequesterPsn = 16'h148;
  localparam address_t AddressQpResponder = 16'h14C;
  localparam address_t AddressQpResponderPsn = 16'h150;
  localparam address_t AddressQpPd = 16'h1B4;
  localparam address_t AddressQpCommand = 16'h154;
  localparam address_t AddressBusy = 16'h158;
  localparam address_t AddressQpQuery = 16'h15C;
  localparam address_t AddressQpStates = 16'h160;
  localparam address_t AddressQpUnaPsn = 16'h164;
  localparam address_t AddressQpNextPsn = 16'h168;
  localparam address_t AddressQpPostPsn = 16'h16C;
  localparam address_t AddressQpExpectedPsn = 16'h170;
  localparam address_t AddressQpMsn = 16'h174;
  localparam address_t AddressQpRings = 16'h178;
  localparam address_t AddressRegionBaseLow = 16'h180;
  localparam address_t AddressRegionBaseHigh = 16'h184;
  localparam address_t AddressRegionLengthLow = 16'h188;
  localparam address_t AddressRegionLengthHigh = 16'h18C;
  localparam address_t AddressRegionRights = 16'h190;
  localparam address_t AddressRegionPd = 16'h1B0;
  localparam address_t AddressRegionCommand = 16'h194;
  localparam address_t AddressRegionBusy = 16'h198;
  localparam address_t AddressRegionTableLow = 16'h19C;
  localparam address_t AddressRegionTable = 16'h1A8;
  localparam address_t AddressTranslation = 16'h1AC;
  localparam address_t AddressBytesInHigh = 16'h1A0;
  localparam address_t AddressBytesOutHigh = 16'h1A4;
  localparam address_t AddressCounters = 16'h400;

  typedef struct packed {
    logic [23:0] qpn_base;
    logic [31:0] port_mac_low;
    logic [15:0] port_mac_high;
    logic class_by_pcp;
    logic dcqcn_on;
    logic pause_obeyed;
    logic auto_rearm;
    logic [7:0] pfc_classes;
    logic [31:0] pcp_map;
    logic [7:0][31:0] dscp_map;
    logic [6:0][15:0] buffer_cells;
    logic [31:0] buffer_map;
    logic [7:0][23:0] pfc_xoff;
    logic [7:0][23:0] pfc_xon;
    logic [15:0] pfc_quanta;
    logic [31:0] pfc_refresh;
    logic [31:0] bark_low;
    logic [7:0] bark_high;
    logic [31:0] bite_low;
    logic [7:0] bite_high;
    logic [31:0] rate_max;
    logic [31:0] rate_min;
    logic [31:0] rate_ai;
    logic [31:0] rate_hai;
    logic [15:0] g;
    logic [31:0] alpha_time;
    logic [31:0] rate_time;
    logic [31:0] byte_limit;
    logic [4:0] stages;
    logic [31:0] cnp_interval;
    logic [5:0] cnp_dscp;
    logic [2:0] cnp_pcp;
    logic [8:0] read_ahead;
    logic [7:0][9:0] class_costs;
    logic [15:0] limiter_burst;
    logic [31:0] qp_dst_mac_low;
    logic [15:0] qp_dst_mac_high;
    logic [31:0] qp_src_mac_low;
    logic [15:0] qp_src_mac_high;
    logic [15:0] qp_inner;
    logic [15:0] qp_outer;
    logic [1:0] qp_tags;
    logic qp_ipv6;
    logic [2:0] qp_answer_pcp;
    logic [5:0] qp_dscp;
    logic [7:0] qp_hop_limit;
    logic [5:0] qp_answer_dscp;
    logic [15:0] qp_udp_port;
    logic [15:0] qp_pkey;
    logic [23:0] qp_peer_qpn;
    logic [3:0][31:0] qp_own_ip;
    logic [3:0][31:0] qp_peer_ip;
    logic [2:0] qp_mtu;
    logic [4:0] qp_timeout;
    logic [2:0] qp_retry;
    logic qp_nak_retry;
    logic [2:0] qp_rnr_retry;
    logic qp_restart;
    logic [7:0] qp_ack_every;
    logic [4:0] qp_reads;
    logic [22:0] qp_window;
    logic [23:0] qp_requester_psn;
    logic [2:0] qp_responder_mtu;
    logic [4:0] qp_rnr_timer;
    logic qp_responder_restart;
    logic [23:0] qp_responder_psn;
    logic [15:0] qp_pd;
    logic [31:0] region_base_low;
    logic [31:0] region_base_high;
    logic [31:0] region_length_low;
    logic [15:0] region_length_high;
    logic [7:0] region_tag;
    logic region_local_write;
    logic region_remote_write;
    logic region_valid;
    logic region_remote_read;
    logic region_remote_atomic;
    logic [15:0] region_pd;
    logic [31:0] region_table_low;
    logic [7:0] region_table_high;
    logic [3:0] region_page;
    logic region_translated;
    logic translation_on;
    logic translation_ahead;
    logic translation_parts;
    logic [3:0] translation_sets;
  } nic_settings_t;

  localparam nic_settings_t SettingsReset = '{
      qpn_base: 24'h0,
      port_mac_low: 32'h0,
      port_mac_high: 16'h0,
      class_by_pcp: 1'h0,
      dcqcn_on: 1'h0,
      pause_obeyed: 1'h0,
      auto_rearm: 1'h0,
      pfc_classes: 8'h0,
      pcp_map: 32'h76543210,
      dscp_map: {8{32'h0}},
      buffer_cells: {7{16'h0}},
      buffer_map: 32'h0,
      pfc_xoff: {8{24'hFFFFFF}},
      pfc_xon: {8{24'h0}},
      pfc_quanta: 16'hFFFF,
      pfc_refresh: 32'hFFFFFFFF,
      bark_low: 32'h0,
      bark_high: 8'h0,
      bite_low: 32'h0,
      bite_high: 8'h0,
      rate_max: 32'h2625A00,
      rate_min: 32'h2710,
      rate_ai: 32'h9C40,
      rate_hai: 32'h30D40,
      g: 16'h100,
      alpha_time: 32'h29F7,
      rate_time: 32'h29F7,
      byte_limit: 32'h989680,
      stages: 5'h5,
      cnp_interval: 32'h2626,
      cnp_dscp: 6'h30,
      cnp_pcp: 3'h6,
      read_ahead: 9'h0,
      class_costs: {8{10'h1}},
      limiter_burst: 16'h200,
      qp_dst_mac_low: 32'h0,
      qp_dst_mac_high: 16'h0,
      qp_src_mac_low: 32'h0,
      qp_src_mac_high: 16'h0,
      qp_inner: 16'h0,
      qp_outer: 16'h0,
      qp_tags: 2'h0,
      qp_ipv6: 1'h0,
      qp_answer_pcp: 3'h0,
      qp_dscp: 6'h0,
      qp_hop_limit: 8'h40,
      qp_answer_dscp: 6'h0,
      qp_udp_port: 16'hC000,
      qp_pkey: 16'hFFFF,
      qp_peer_qpn: 24'h0,
      qp_own_ip: {4{32'h0}},
      qp_peer_ip: {4{32'h0}},
      qp_mtu: 3'h2,
      qp_timeout: 5'hE,
      qp_retry: 3'h7,
      qp_nak_retry: 1'h1,
      qp_rnr_retry: 3'h7,
      qp_restart: 1'h0,
      qp_ack_every: 8'h0,
      qp_reads: 5'h0,
      qp_window: 23'h0,
      qp_requester_psn: 24'h0,
      qp_responder_mtu: 3'h2,
      qp_rnr_timer: 5'h1,
      qp_responder_restart: 1'h0,
      qp_responder_psn: 24'h0,
      qp_pd: 16'h0,
      region_base_low: 32'h0,
      region_base_high: 32'h0,
      region_length_low: 32'h0,
      region_length_high: 16'h0,
      region_tag: 8'h0,
      region_local_write: 1'h0,
      region_remote_write: 1'h0,
      region_valid: 1'h0,
      region_remote_read: 1'h0,
      region_remote_atomic: 1'h0,
      region_pd: 16'h0,
      region_table_low: 32'h0,
      region_table_high: 8'h0,
      region_page: 4'h0,
      region_translated: 1'h0,
      translation_on: 1'h0,
      translation_ahead: 1'h0,
      translation_parts: 1'h0,
      translation_sets: 4'h0
  };

  // The settings after a write. Bits that do not exist are ignored, as is a write to anything else.
  function automatic nic_settings_t settings_write(input nic_settings_t old, input address_t address,
                                                   input logic [31:0] data);
    nic_settings_t settings = old;
    case (address)
      16'h008: settings.qpn_base = data[23:0];
      16'h00C: settings.port_mac_low = data;
      16'h010: settings.port_mac_high = data[15:0];
      16'h014: begin
        settings.class_by_pcp = data[0];
        settings.dcqcn_on = data[1];
        settings.pause_obeyed = data[2];
        settings.auto_rearm = data[3];
      end
      16'h018: settings.pfc_classes = data[7:0];
      16'h01C: settings.pcp_map = data;
      16'h020: settings.dscp_map[0] = data;
      16'h024: settings.dscp_map[1] = data;
      16'h028: settings.dscp_map[2] = data;
      16'h02C: settings.dscp_map[3] = data;
      16'h030: settings.dscp_map[4] = data;
      16'h034: settings.dscp_map[5] = data;
      16'h038: settings.dscp_map[6] = data;
      16'h03C: settings.dscp_map[7] = data;
      16'h1C0: settings.buffer_cells[0] = data[15:0];
      16'h1C4: settings.buffer_cells[1] = data[15:0];
      16'h1C8: settings.buffer_cells[2] = data[15:0];
      16'h1CC: settings.buffer_cells[3] = data[15:0];
      16'h1D0: settings.buffer_cells[4] = data[15:0];
      16'h1D4: settings.buffer_cells[5] = data[15:0];
      16'h1D8: settings.buffer_cells[6] = data[15:0];
      16'h0E0: settings.buffer_map = data;
      16'h040: settings.pfc_xoff[0] = data[23:0];
      16'h044: settings.pfc_xoff[1] = data[23:0];
      16'h048: settings.pfc_xoff[2] = data[23:0];
      16'h04C: settings.pfc_xoff[3] = data[23:0];
      16'h050: settings.pfc_xoff[4] = data[23:0];
      16'h054: settings.pfc_xoff[5] = data[23:0];
      16'h058: settings.pfc_xoff[6] = data[23:0];
      16'h05C: settings.pfc_xoff[7] = data[23:0];
      16'h060: settings.pfc_xon[0] = data[23:0];
      16'h064: settings.pfc_xon[1] = data[23:0];
      16'h068: settings.pfc_xon[2] = data[23:0];
      16'h06C: settings.pfc_xon[3] = data[23:0];
      16'h070: settings.pfc_xon[4] = data[23:0];
      16'h074: settings.pfc_xon[5] = data[23:0];
      16'h078: settings.pfc_xon[6] = data[23:0];
      16'h07C: settings.pfc_xon[7] = data[23:0];
      16'h080: settings.pfc_quanta = data[15:0];
      16'h084: settings.pfc_refresh = data;
      16'h088: settings.bark_low = data;
      16'h08C: settings.bark_high = data[7:0];
      16'h090: settings.bite_low = data;
      16'h094: settings.bite_high = data[7:0];
      16'h0A0: settings.rate_max = data;
      16'h0A4: settings.rate_min = data;
      16'h0A8: settings.rate_ai = data;
      16'h0AC: settings.rate_hai = data;
      16'h0B0: settings.g = data[15:0];
      16'h0B4: settings.alpha_time = data;
      16'h0B8: settings.rate_time = data;
      16'h0BC: settings.byte_limit = data;
      16'h0C0: settings.stages = data[4:0];
      16'h0C4: settings.cnp_interval = data;
      16'h0C8: settings.cnp_dscp = data[5:0];
      16'h0D0: settings.cnp_pcp = data[2:0];
      16'h0E4: settings.read_ahead = data[8:0];
      16'h1E0: settings.class_costs[0] = data[9:0];
      16'h1E4: settings.class_costs[1] = data[9:0];
      16'h1E8: settings.class_costs[2] = data[9:0];
      16'h1EC: settings.class_costs[3] = data[9:0];
      16'h1F0: settings.class_costs[4] = data[9:0];
      16'h1F4: settings.class_costs[5] = data[9:0];
      16'h1F8: settings.class_costs[6] = data[9:0];
      16'h1FC: settings.class_costs[7] = data[9:0];
      16'h0CC: settings.limiter_burst = data[15:0];
      16'h100: settings.qp_dst_mac_low = data;
      16'h104: settings.qp_dst_mac_high = data[15:0];
      16'h108: settings.qp_src_mac_low = data;
      16'h10C: settings.qp_src_mac_high = data[15:0];
      16'h110: begin
        settings.qp_inner = data[15:0];
        settings.qp_outer = data[31:16];
      end
      16'h114: begin
        settings.qp_tags = data[1:0];
        settings.qp_ipv6 = data[2];
        settings.qp_answer_pcp = data[5:3];
        settings.qp_dscp = data[13:8];
        settings.qp_hop_limit = data[23:16];
        settings.qp_answer_dscp = data[29:24];
      end
      16'h118: begin
        settings.qp_udp_port = data[15:0];
        settings.qp_pkey = data[31:16];
      end
      16'h11C: settings.qp_peer_qpn = data[23:0];
      16'h120: settings.qp_own_ip[0] = data;
      16'h124: settings.qp_own_ip[1] = data;
      16'h128: settings.qp_own_ip[2] = data;
      16'h12C: settings.qp_own_ip[3] = data;
      16'h130: settings.qp_peer_ip[0] = data;
      16'h134: settings.qp_peer_ip[1] = data;
      16'h138: settings.qp_peer_ip[2] = data;
      16'h13C: settings.qp_peer_ip[3] = data;
      16'h140: begin
        settings.qp_mtu = data[2:0];
        settings.qp_timeout = data[7:3];
        settings.qp_retry = data[10:8];
        settings.qp_nak_retry = data[11];
        settings.qp_rnr_retry = data[14:12];
        settings.qp_restart = data[15];
        settings.qp_ack_every = data[23:16];
        settings.qp_reads = data[28:24];
      end
      16'h144: settings.qp_window = data[22:0];
      16'h148: settings.qp_requester_psn = data[23:0];
      16'h14C: begin
        settings.qp_responder_mtu = data[2:0];
        settings.qp_rnr_timer = data[7:3];
        settings.qp_responder_restart = data[8];
      end
      16'h150: settings.qp_responder_psn = data[23:0];
      16'h1B4: settings.qp_pd = data[15:0];
      16'h180: settings.region_base_low = data;
      16'h184: settings.region_base_high = data;
      16'h188: settings.region_length_low = data;
      16'h18C: settings.region_length_high = data[15:0];
      16'h190: begin
        settings.region_tag = data[7:0];
        settings.region_local_write = data[8];
        settings.region_remote_write = data[9];
        settings.region_valid = data[10];
        settings.region_remote_read = data[11];
        settings.region_remote_atomic = data[12];
      end
      16'h1B0: settings.region_pd = data[15:0];
      16'h19C: settings.region_table_low = data;
      16'h1A8: begin
        settings.region_table_high = data[7:0];
        settings.region_page = data[11:8];
        settings.region_translated = data[12];
      end
      16'h1AC: begin
        settings.translation_on = data[0];
        settings.translation_ahead = data[1];
        settings.translation_parts = data[2];
        settings.translation_sets = data[11:8];
      end
      default: ;
    endcase
    return settings;
  endfunction

  // A setting as it reads back; 0 for what is none.
  function automatic logic [31:0] settings_read(input nic_settings_t settings, input address_t address);
    logic [31:0] data = '0;
    case (address)
      16'h008: data = 32'(settings.qpn_base);
      16'h00C: data = settings.port_mac_low;
      16'h010: data = 32'(settings.port_mac_high);
      16'h014: begin
        data[0] = settings.class_by_pcp;
        data[1] = settings.dcqcn_on;
        data[2] = settings.pause_obeyed;
        data[3] = settings.auto_rearm;
      end
      16'h018: data = 32'(settings.pfc_classes);
      16'h01C: data = settings.pcp_map;
      16'h020: data = settings.dscp_map[0];
      16'h024: data = settings.dscp_map[1];
      16'h028: data = settings.dscp_map[2];
      16'h02C: data = settings.dscp_map[3];
      16'h030: data = settings.dscp_map[4];
      16'h034: data = settings.dscp_map[5];
      16'h038: data = settings.dscp_map[6];
      16'h03C: data = settings.dscp_map[7];
      16'h1C0: data = 32'(settings.buffer_cells[0]);
      16'h1C4: data = 32'(settings.buffer_cells[1]);
      16'h1C8: data = 32'(settings.buffer_cells[2]);
      16'h1CC: data = 32'(settings.buffer_cells[3]);
      16'h1D0: data = 32'(settings.buffer_cells[4]);
      16'h1D4: data = 32'(settings.buffer_cells[5]);
      16'h1D8: data = 32'(settings.buffer_cells[6]);
      16'h0E0: data = settings.buffer_map;
      16'h040: data = 32'(settings.pfc_xoff[0]);
      16'h044: data = 32'(settings.pfc_xoff[1]);
      16'h048: data = 32'(settings.pfc_xoff[2]);
      16'h04C: data = 32'(settings.pfc_xoff[3]);
      16'h050: data = 32'(settings.pfc_xoff[4]);
      16'h054: data = 32'(settings.pfc_xoff[5]);
      16'h058: data = 32'(settings.pfc_xoff[6]);
      16'h05C: data = 32'(settings.pfc_xoff[7]);
      16'h060: data = 32'(settings.pfc_xon[0]);
      16'h064: data = 32'(settings.pfc_xon[1]);
      16'h068: data = 32'(settings.pfc_xon[2]);
      16'h06C: data = 32'(settings.pfc_xon[3]);
      16'h070: data = 32'(settings.pfc_xon[4]);
      16'h074: data = 32'(settings.pfc_xon[5]);
      16'h078: data = 32'(settings.pfc_xon[6]);
      16'h07C: data = 32'(settings.pfc_xon[7]);
      16'h080: data = 32'(settings.pfc_quanta);
      16'h084: data = settings.pfc_refresh;
      16'h088: data = settings.bark_low;
      16'h08C: data = 32'(settings.bark_high);
      16'h090: data = settings.bite_low;
      16'h094: data = 32'(settings.bite_high);
      16'h0A0: data = settings.rate_max;
      16'h0A4: data = settings.rate_min;
      16'h0A8: data = settings.rate_ai;
      16'h0AC: data = settings.rate_hai;
      16'h0B0: data = 32'(settings.g);
      16'h0B4: data = settings.alpha_time;
      16'h0B8: data = settings.rate_time;
      16'h0BC: data = settings.byte_limit;
      16'h0C0: data = 32'(settings.stages);
      16'h0C4: data = settings.cnp_interval;
      16'h0C8: data = 32'(settings.cnp_dscp);
      16'h0D0: data = 32'(settings.cnp_pcp);
      16'h0E4: data = 32'(settings.read_ahead);
      16'h1E0: data = 32'(settings.class_costs[0]);
      16'h1E4: data = 32'(settings.class_costs[1]);
      16'h1E8: data = 32'(settings.class_costs[2]);
      16'h1EC: data = 32'(settings.class_costs[3]);
      16'h1F0: data = 32'(settings.class_costs[4]);
      16'h1F4: data = 32'(settings.class_costs[5]);
      16'h1F8: data = 32'(settings.class_costs[6]);
      16'h1FC: data = 32'(settings.class_costs[7]);
      16'h0CC: data = 32'(settings.limiter_burst);
      16'h100: data = settings.qp_dst_mac_low;
      16'h104: data = 32'(settings.qp_dst_mac_high);
      16'h108: data = settings.qp_src_mac_low;
      16'h10C: data = 32'(settings.qp_src_mac_high);
      16'h110: begin
        data[15:0]  = settings.qp_inner;
        data[31:16] = settings.qp_outer;
      end
      16'h114: begin
        data[1:0] = settings.qp_tags;
        data[2] = settings.qp_ipv6;
        data[5:3] = settings.qp_answer_pcp;
        data[13:8] = settings.qp_dscp;
        data[23:16] = settings.qp_hop_limit;
        data[29:24] = settings.qp_answer_dscp;
      end
      16'h118: begin
        data[15:0]  = settings.qp_udp_port;
        data[31:16] = settings.qp_pkey;
      end
      16'h11C: data = 32'(settings.qp_peer_qpn);
      16'h120: data = settings.qp_own_ip[0];
      16'h124: data = settings.qp_own_ip[1];
      16'h128: data = settings.qp_own_ip[2];
      16'h12C: data = settings.qp_own_ip[3];
      16'h130: data = settings.qp_peer_ip[0];
      16'h134: data = settings.qp_peer_ip[1];
      16'h138: data = settings.qp_peer_ip[2];
      16'h13C: data = settings.qp_peer_ip[3];
      16'h140: begin
        data[2:0] = settings.qp_mtu;
        data[7:3] = settings.qp_timeout;
        data[10:8] = settings.qp_retry;
        data[11] = settings.qp_nak_retry;
        data[14:12] = settings.qp_rnr_retry;
        data[15] = settings.qp_restart;
        data[23:16] = settings.qp_ack_every;
        data[28:24] = settings.qp_reads;
      end
      16'h144: data = 32'(settings.qp_window);
      16'h148: data = 32'(settings.qp_requester_psn);
      16'h14C: begin
        data[2:0] = settings.qp_responder_mtu;
        data[7:3] = settings.qp_rnr_timer;
        data[8]   = settings.qp_responder_restart;
      end
      16'h150: data = 32'(settings.qp_responder_psn);
      16'h1B4: data = 32'(settings.qp_pd);
      16'h180: data = settings.region_base_low;
      16'h184: data = settings.region_base_high;
      16'h188: data = settings.region_length_low;
      16'h18C: data = 32'(settings.region_length_high);
      16'h190: begin
        data[7:0] = settings.region_tag;
        data[8]   = settings.region_local_write;
        data[9]   = settings.region_remote_write;
        data[10]  = settings.region_valid;
        data[11]  = settings.region_remote_read;
        data[12]  = settings.region_remote_atomic;
      end
      16'h1B0: data = 32'(settings.region_pd);
      16'h19C: data = settings.region_table_low;
      16'h1A8: begin
        data[7:0]  = settings.region_table_high;
        data[11:8] = settings.region_page;
        data[12]   = settings.region_translated;
      end
      16'h1AC: begin
        data[0] = settings.translation_on;
        data[1] = settings.translation_ahead;
        data[2] = settings.translation_parts;
        data[11:8] = settings.translation_sets;
      end
      default: ;
    endcase
    return data;
  endfunction

  localparam int unsigned Counters = 58;

  typedef enum logic [5:0] {
    CountFramesIn = 6'd0,
    CountBytesIn = 6'd1,
    CountFramesOut = 6'd2,
    CountBytesOut = 6'd3,
    CountDropNotRoce = 6'd4,
    CountDropMalformed = 6'd5,
    CountDropRoceV1 = 6'd6,
    CountDropService = 6'd7,
    CountDropIcrc = 6'd8,
    CountDropQp = 6'd9,
    CountDropResponse = 6'd10,
    CountDropFull = 6'd11,
    CountRequestsIn = 6'd12,
    CountDuplicatesIn = 6'd13,
    CountGapsIn = 6'd14,
    CountNoBuffer = 6'd15,
    CountInvalidIn = 6'd16,
    CountAccessIn = 6'd17,
    CountNotReadyIn = 6'd18,
    CountLocalAccess = 6'd19,
    CountCnpsIn = 6'd20,
    CountCnpsOut = 6'd21,
    CountMarkedIn = 6'd22,
    CountPfcIn = 6'd23,
    CountPauseIn = 6'd24,
    CountPauseIgnored = 6'd25,
    CountPfcOut = 6'd26,
    CountBarks = 6'd27,
    CountBites = 6'd28,
    CountRequestsOut = 6'd29,
    CountResentOut = 6'd30,
    CountAnswersOut = 6'd31,
    CountNaksOut = 6'd32,
    CountRnrNaksOut = 6'd33,
    CountNaksIn = 6'd34,
    CountRnrNaksIn = 6'd35,
    CountRemoteErrorsIn = 6'd36,
    CountTimeouts = 6'd37,
    CountExhausted = 6'd38,
    CountAnswersUnused = 6'd39,
    CountWorkRefused = 6'd40,
    CountRecvRefused = 6'd41,
    CountDropPkey = 6'd42,
    CountWithdrawn = 6'd43,
    CountDropAddress = 6'd44,
    CountDropVlan = 6'd45,
    CountImpliedNaks = 6'd46,
    CountTranslationHits = 6'd47,
    CountTranslationMisses = 6'd48,
    CountTranslationStalled0 = 6'd49,
    CountTranslationStalled1 = 6'd50,
    CountTranslationStalled2 = 6'd51,
    CountTranslationStalled3 = 6'd52,
    CountTranslationStalled4 = 6'd53,
    CountTranslationStalled5 = 6'd54,
    CountTranslationStalled6 = 6'd55,
    CountTranslationStalled7 = 6'd56,
    CountUnread = 6'd57
  } counter_e;

endpackage
