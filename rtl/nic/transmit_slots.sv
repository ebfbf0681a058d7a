// Request packets whose payload is being fetched: a slot each, handed on in the order of grants within a class.
//
// A grant takes a slot (`take_i`, while `free_o`); its step, three cycles later, fills or frees it (`step_valid_i`, in the order of grants). A payload is asked for by DMA, tag = slot, and comes in beats; a
// packet is ready when its last beat is here. `head_o` shows the first slot of each class that is ready; `pop_i` takes it, and `info_o`, one cycle after it, is what is in it. The slot is free again
// with `release_i`, of which two may come in a cycle.
// `class_free_o`: a class may hold all slots when it is the only one used, else half of them.
//
// Timing: all outputs are registers or depend on registers, `class_free_o` on `classes_used_i`.
module transmit_slots
  import gbn_pkg::*, nic_pkg::*;
#(
    parameter  int unsigned DataBytes   = 32,
    parameter  int unsigned Qps         = 64,
    parameter  int unsigned Slots       = 16,                            // a power of two, 4 or more
    localparam int unsigned QpBits      = $clog2(Qps),
    localparam int unsigned SlotBits    = $clog2(Slots),
    localparam int unsigned SlotBeats   = 4096 / DataBytes,
    localparam int unsigned AddressBits = SlotBits + $clog2(SlotBeats),
    localparam int unsigned InfoBits    = $bits(request_t)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic         take_i,
    input  class_t       take_class_i,
    input  logic   [7:0] classes_used_i,
    output logic         free_o,
    output logic   [7:0] class_free_o,

    input logic                  step_valid_i,  // of a SEND
    input logic                  packet_i,      // it made one
    input logic     [QpBits-1:0] step_qp_i,
    input request_t              request_i,

    output logic                  read_valid_o,
    output logic   [SlotBits-1:0] read_tag_o,
    output fetch_t                read_o,
    input  logic                  read_ready_i,

    input logic                   data_valid_i,
    input logic [   SlotBits-1:0] data_tag_i,
    input logic                   data_last_i,
    input logic [DataBytes*8-1:0] data_data_i,

    output logic [         7:0]               head_o,
    output logic [         7:0][SlotBits-1:0] head_slot_o,
    output logic [         7:0][  QpBits-1:0] head_qp_o,
    output logic [         7:0][        12:0] head_bytes_o,  // of payload
    input  logic [         7:0]               pop_i,         // one at most
    output logic [InfoBits-1:0]               info_o,        // request_t

    input  logic                   payload_read_i,
    input  logic [AddressBits-1:0] payload_address_i,
    output logic [DataBytes*8-1:0] payload_data_o,

    input logic [1:0]               release_i,
    input logic [1:0][SlotBits-1:0] release_slot_i,

    output logic idle_o
);

  localparam int unsigned CountBits = SlotBits + 1;

  //////////////////////////////////////////////////////////////////////////////////////////////
  // Which slots are free, and whose the others are.

  logic [Slots-1:0] used_q, used_d, whole_q, whole_d;
  class_t [Slots-1:0] class_q;
  logic [7:0][CountBits-1:0] held_q;  // slots of a class
  logic [SlotBits-1:0] next_free;
  logic step_free;  // a grant that made no packet

  always_comb begin
    next_free = '0;
    for (int i = int'(Slots) - 1; i >= 0; i--) if (!used_q[i]) next_free = SlotBits'(i);
  end

  assign free_o = used_q != '1;

  always_comb begin
    for (int unsigned c = 0; c < 8; c++)
    class_free_o[c] = (classes_used_i & ~(8'd1 << c)) == '0 || held_q[c] < CountBits'(Slots / 2);
  end

  // Grants whose step has not come.
  logic granted_valid, granted_ready;
  logic [SlotBits-1:0] granted_slot;
  class_t granted_class;
  logic [CountBits-1:0] granted;

  fifo #(
      .Width(SlotBits + 3),
      .Depth(Slots)
  ) u_granted (
      .clk_i,
      .rst_i,
      .valid_i(take_i),
      .ready_o(granted_ready),
      .data_i ({next_free, take_class_i}),
      .valid_o(granted_valid),
      .ready_i(step_valid_i),
      .data_o ({granted_slot, granted_class}),
      .count_o(granted)
  );

  logic fill, empty;
  assign fill      = step_valid_i && packet_i;
  assign step_free = step_valid_i && !packet_i;
  assign empty     = request_i.payload_bytes == '0;

  always_comb begin
    used_d  = used_q;
    whole_d = whole_q;
    if (take_i) used_d[next_free] = 1'b1;
    if (step_free) used_d[granted_slot] = 1'b0;
    for (int unsigned r = 0; r < 2; r++) if (release_i[r]) used_d[release_slot_i[r]] = 1'b0;
    if (fill) whole_d[granted_slot] = empty;
    if (data_valid_i && data_last_i) whole_d[data_tag_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      used_q  <= '0;
      whole_q <= '0;
    end else begin
      used_q  <= used_d;
      whole_q <= whole_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fill) class_q[granted_slot] <= granted_class;
  end

  for (genvar c = 0; c < 8; c++) begin : gen_held
    logic come, back;
    logic [1:0] go;
    assign come  = take_i && take_class_i == class_t'(c);
    assign go[0] = release_i[0] && class_q[release_slot_i[0]] == class_t'(c);
    assign go[1] = release_i[1] && class_q[release_slot_i[1]] == class_t'(c);
    assign back  = step_free && granted_class == class_t'(c);

    always_ff @(posedge clk_i) begin
      if (rst_i) held_q[c] <= '0;
      else held_q[c] <= held_q[c] + CountBits'(come) - CountBits'(go[0]) - CountBits'(go[1]) - CountBits'(back);
    end
  end

  //////////////////////////////////////////////////////////////////////////////////////////////
  // What is in a slot, and the order of a class.

  logic [7:0][SlotBits-1:0] slot;
  logic [7:0] valid, unused_ready;
  logic [7:0][CountBits-1:0] unused_count;
  logic [SlotBits-1:0] pop_slot;

  for (genvar c = 0; c < 8; c++) begin : gen_order
    fifo #(
        .Width(SlotBits + QpBits + 13),
        .Depth(Slots)
    ) u_order (
        .clk_i,
        .rst_i,
        .valid_i(fill && granted_class == class_t'(c)),
        .ready_o(unused_ready[c]),  // no more packets than slots
        .data_i({granted_slot, step_qp_i, request_i.payload_bytes[12:0]}),
        .valid_o(valid[c]),
        .ready_i(pop_i[c]),
        .data_o({slot[c], head_qp_o[c], head_bytes_o[c]}),
        .count_o(unused_count[c])
    );

    assign head_o[c] = valid[c] && whole_q[slot[c]];
  end

  assign head_slot_o = slot;

  always_comb begin
    pop_slot = '0;
    for (int unsigned c = 0; c < 8; c++) if (pop_i[c]) pop_slot |= slot[c];
  end

  ram_1r1w #(
      .Width(InfoBits),
      .Depth(Slots)
  ) u_info (
      .clk_i,
      .write_i        (fill),
      .write_address_i(granted_slot),
      .data_i         (request_i),
      .read_i         (pop_i != '0),
      .read_address_i (pop_slot),
      .data_o         (info_o)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////
  // DMA.

  fetch_t fetch;
  logic fetch_ready;
  logic [CountBits-1:0] fetches;

  assign fetch = '{va: request_i.local_va, key: request_i.local_key, bytes: request_i.payload_bytes};

  fifo #(
      .Width(SlotBits + $bits(fetch_t)),
      .Depth(Slots)
  ) u_fetches (
      .clk_i,
      .rst_i,
      .valid_i(fill && !empty),
      .ready_o(fetch_ready),
      .data_i ({granted_slot, fetch}),
      .valid_o(read_valid_o),
      .ready_i(read_ready_i),
      .data_o ({read_tag_o, read_o}),
      .count_o(fetches)
  );

  logic [$clog2(SlotBeats)-1:0] beat_q;  // of the packet that is coming

  always_ff @(posedge clk_i) begin
    if (rst_i) beat_q <= '0;
    else if (data_valid_i) beat_q <= data_last_i ? '0 : beat_q + 1'b1;
  end

  ram_1r1w #(
      .Width(DataBytes * 8),
      .Depth(Slots * SlotBeats)
  ) u_payload (
      .clk_i,
      .write_i        (data_valid_i),
      .write_address_i({data_tag_i, beat_q}),
      .data_i         (data_data_i),
      .read_i         (payload_read_i),
      .read_address_i (payload_address_i),
      .data_o         (payload_data_o)
  );

  // Waiting for DMA, or for its class to go on, changes nothing.
  assign idle_o = !take_i && granted == '0 && !step_valid_i && fetches == '0 && !data_valid_i && release_i == '0 && pop_i == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!take_i || (free_o && granted_ready))
      else $error("transmit_slots: a grant without a slot");
      assert (!step_valid_i || granted_valid)
      else $error("transmit_slots: a step that nothing was granted for");
      assert (!fill || empty || fetch_ready)
      else $error("transmit_slots: a DMA read has no room");
      assert (!data_valid_i || used_q[data_tag_i])
      else $error("transmit_slots: data for a slot that is free");
    end
  end

endmodule
