// Register file behind AXI4-Lite, 32 bits: settings, commands, state and counters. registers.toml is the source of
// the register map, registers.md its table.
//
// - A write is taken in the second cycle in which address and data are both valid, when the previous response was taken;
//   a read in the first.
// - Addresses without a register read 0 and ignore writes.
// - SLVERR, and no effect: a write without all four strobes; a QP command or query while another one is being carried
//   out; parts of the receive buffer that are together larger than it, or written while a QP is open; a map that names a
//   part that does not exist; the switch of translation while a QP is open; a region command while translations of the
//   region before are being forgotten.
// - Reading the low word of a byte counter latches the high word of the same cycle for the next read.
//
// Timing: readies depend on the valids of the same cycle. Commands are pulses in the cycle after their write.
module nic_registers
  import nic_registers_pkg::*;
#(
    parameter int unsigned Cells = 2048  // of the receive buffer
) (
    input logic clk_i,
    input logic rst_i,

    input  logic            awvalid_i,
    output logic            awready_o,
    input  address_t        awaddr_i,
    input  logic            wvalid_i,
    output logic            wready_o,
    input  logic     [31:0] wdata_i,
    input  logic     [ 3:0] wstrb_i,
    output logic            bvalid_o,
    input  logic            bready_i,
    output logic     [ 1:0] bresp_o,
    input  logic            arvalid_i,
    output logic            arready_o,
    input  address_t        araddr_i,
    output logic            rvalid_o,
    input  logic            rready_i,
    output logic     [31:0] rdata_o,
    output logic     [ 1:0] rresp_o,

    output nic_settings_t settings_o,

    output logic [31:0] data_o,            // data of the command
    output logic        qp_command_o,
    output logic        qp_query_o,
    input  logic        busy_i,
    input  logic        open_i,            // a QP is open, or may be
    output logic        region_command_o,
    input  logic        region_busy_i,
    input  logic        tables_busy_i,     // entries of a page table that was replaced are being forgotten
    output logic        rearm_o,

    input logic [Counters-1:0][31:0] counters_i,
    input logic [         1:0][31:0] high_i,      // high words of the byte counters
    input logic [         6:0][31:0] state_i,     // of the QP of the last query, from qp_states on

    output logic idle_o
);

  localparam logic [31:0] Identity = 32'h584F_4646;  // 'XOFF'
  localparam logic [31:0] Version = 32'd2;
  localparam logic [1:0] SlaveError = 2'b10;

  typedef struct packed {
    logic qp;
    logic query;
    logic region;
    logic rearm;
  } commands_t;

  nic_settings_t settings_q;
  commands_t commands_q, commands;
  logic [31:0] data_q, rdata_q, rdata;
  logic bvalid_q, rvalid_q, error_q, error;
  logic write, read;
  logic [1:0][31:0] high_q;

  // A write takes two cycles: the first one adds up the size of the receive buffer with it.
  logic writes, added_q;
  assign writes = awvalid_i && wvalid_i && !bvalid_q;
  assign write  = writes && added_q;
  assign read   = arvalid_i && !rvalid_q;

  function automatic logic [19:0] sum(input logic [6:0][15:0] cells);
    sum = '0;
    for (int unsigned b = 0; b < $size(cells); b++) sum += 20'(cells[b]);
  endfunction

  logic sizes, sizes_q, unfit;  // sizes: it writes the size of a part
  logic [15:0] part;  // the size that this part has
  logic [19:0] cells_q, cells_with_q;  // of all parts together, without and with the write

  always_comb begin
    sizes = 1'b0;
    part  = '0;
    if (writes)
      for (int unsigned b = 0; b < $size(settings_q.buffer_cells); b++)
      if (awaddr_i == AddressBufferCells + 16'(4 * b)) begin
        sizes = 1'b1;
        part  = settings_q.buffer_cells[b];
      end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      added_q <= 1'b0;
      cells_q <= sum(SettingsReset.buffer_cells);
    end else begin
      added_q <= writes && !added_q;
      if (write && !error && sizes_q) cells_q <= cells_with_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (writes) sizes_q <= sizes;
    if (writes) cells_with_q <= cells_q - 20'(part) + 20'(wdata_i[15:0]);
  end

  always_comb begin
    unfit = 1'b0;
    if (write) begin
      unfit = (sizes_q && (open_i || commands_q.qp || 32'(cells_with_q) > Cells)) ||
          (awaddr_i == AddressBufferMap && (wdata_i & 32'h8888_8888) != '0) ||
          (awaddr_i == AddressTranslation && (open_i || commands_q.qp)) ||
          (awaddr_i == AddressRegionCommand && (tables_busy_i || commands_q.region));
    end
  end

  logic command_busy;
  assign command_busy = busy_i || commands_q.qp || commands_q.query;

  always_comb begin
    commands.qp     = awaddr_i == AddressQpCommand;
    commands.query  = awaddr_i == AddressQpQuery;
    commands.region = awaddr_i == AddressRegionCommand;
    commands.rearm  = awaddr_i == AddressRearm;
    error           = wstrb_i != '1 || unfit || ((commands.qp || commands.query) && command_busy);
    if (!write || error) commands = '0;
  end

  logic [15:0] counter;
  logic [ 2:0] state;
  assign counter = (araddr_i - AddressCounters) >> 2;
  assign state   = 3'((araddr_i - AddressQpStates) >> 2);

  always_comb begin
    rdata = '0;
    if (read) begin
      rdata = settings_read(settings_q, araddr_i);
      case (araddr_i)
        AddressIdentity: rdata = Identity;
        AddressVersion: rdata = Version;
        AddressBusy: rdata = 32'(command_busy);
        AddressRegionBusy: rdata = 32'(region_busy_i || commands_q.region);
        AddressBytesInHigh: rdata = high_q[0];
        AddressBytesOutHigh: rdata = high_q[1];
        default: begin
          if (araddr_i >= AddressCounters && 32'(counter) < Counters) rdata = counters_i[counter[5:0]];
          if (araddr_i >= AddressQpStates && araddr_i < AddressQpStates + 16'd28) rdata = state_i[state];
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      settings_q <= SettingsReset;
      commands_q <= '0;
      bvalid_q   <= 1'b0;
      rvalid_q   <= 1'b0;
      high_q     <= '0;
    end else begin
      if (write && !error) settings_q <= settings_write(settings_q, awaddr_i, wdata_i);
      commands_q <= commands;
      bvalid_q   <= write || (bvalid_q && !bready_i);
      rvalid_q   <= read || (rvalid_q && !rready_i);
      if (read && araddr_i == AddressCounters + 16'(4 * int'(CountBytesIn))) high_q[0] <= high_i[0];
      if (read && araddr_i == AddressCounters + 16'(4 * int'(CountBytesOut))) high_q[1] <= high_i[1];
    end
  end

  always_ff @(posedge clk_i) begin
    if (write) {data_q, error_q} <= {wdata_i, error};
    if (read) rdata_q <= rdata;
  end

  assign awready_o        = write;
  assign wready_o         = write;
  assign bvalid_o         = bvalid_q;
  assign bresp_o          = error_q ? SlaveError : 2'b00;
  assign arready_o        = read;
  assign rvalid_o         = rvalid_q;
  assign rdata_o          = rdata_q;
  assign rresp_o          = 2'b00;
  assign settings_o       = settings_q;
  assign data_o           = data_q;
  assign qp_command_o     = commands_q.qp;
  assign qp_query_o       = commands_q.query;
  assign region_command_o = commands_q.region;
  assign rearm_o          = commands_q.rearm;
  assign idle_o           = {awvalid_i, wvalid_i, arvalid_i, added_q, bvalid_q, rvalid_q} == '0 && commands_q == '0;

endmodule
