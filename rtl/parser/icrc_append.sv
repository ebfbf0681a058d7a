// Appends the ICRC to a packet.
//
// The length of a packet is a multiple of 4. When its last beat is full, the ICRC gets a beat of its own.
//
// Timing: all outputs, including `ready_o`, depend on inputs of the same cycle.
module icrc_append
  import stream_pkg::*;
#(
    parameter int unsigned DataBytes = 32
) (
    input logic clk_i,
    input logic rst_i,

    input  beat_t                   beat_i,
    input  logic  [DataBytes*8-1:0] data_i,
    input  logic                    wanted_i,  // 0: the frame passes unchanged
    input  logic  [           31:0] icrc_i,    // with the last beat
    output logic                    ready_o,

    output logic                   valid_o,
    output logic                   first_o,
    output logic                   last_o,
    output logic [            6:0] bytes_o,
    output logic [DataBytes*8-1:0] data_o,
    input  logic                   ready_i
);

  localparam int unsigned DataBits = DataBytes * 8;
  localparam int unsigned Lanes = DataBytes / 4;

  logic alone_q;  // the last beat has left; the ICRC's own beat follows
  logic full;

  assign full = wanted_i && beat_i.last && beat_i.bytes == 7'(DataBytes);

  always_comb begin
    data_o  = data_i;
    bytes_o = beat_i.bytes;
    if (alone_q) begin
      data_o  = {icrc_i, {(DataBits - 32) {1'b0}}};
      bytes_o = 7'd4;
    end else if (wanted_i && beat_i.last && !full) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (beat_i.bytes == 7'(4 * l)) data_o[DataBits-1-32*l-:32] = icrc_i;
      end
      bytes_o = beat_i.bytes + 7'd4;
    end
  end

  assign valid_o = beat_i.valid;
  assign first_o = beat_i.first && !alone_q;
  assign last_o  = beat_i.last && (alone_q || !full);
  assign ready_o = ready_i && (alone_q || !full);

  always_ff @(posedge clk_i) begin
    if (rst_i) alone_q <= 1'b0;
    else if (beat_i.valid && ready_i) alone_q <= full && !alone_q;
  end

endmodule
