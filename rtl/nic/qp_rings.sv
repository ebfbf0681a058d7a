// Which ring of resolve_rings the work of a QP waits in: that of the part of the receive buffer that its last packet
// came from, for packets of the responder and for those of the requester each. What a QP leaves without a packet
// follows what its responder left before. A QP that is opened begins in the ring of the class of its answers.
//
// A packet that comes from another part than the last one of its QP moves the QP to another ring (`moves_o`), where it
// must not leave before what is in the ring that it comes from (`from_o`). One packet at a time moves its QP: from when
// it is taken until that is assured (`moved_i`) no packet is taken (`waits_o`).
//
// With `on_i` = 0 all is in ring 0.
//
// Timing: `waits_o` is a register; all other outputs depend on inputs of the same cycle.
module qp_rings
  import nic_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,
    input logic on_i,

    // The packet that is next, in the cycle in which it leaves its part and later
    input  logic                 next_i,
    input  logic                 next_returned_i,  // it is for the requester
    input  logic    [QpBits-1:0] next_qp_i,
    input  buffer_t              next_part_i,
    output logic                 waits_o,          // it is not taken
    input  logic                 taken_i,

    // What comes to a ring
    input  logic                 valid_i,
    input  logic                 opens_i,
    input  buffer_t              opens_part_i,  // that of the class of its answers
    input  logic                 packet_i,
    input  logic                 returned_i,
    input  logic    [QpBits-1:0] qp_i,
    input  buffer_t              part_i,
    output buffer_t              ring_o,
    output logic                 moves_o,
    output buffer_t              from_o,

    input logic moved_i  // what moves its QP leaves its ring, or does not wait
);

  buffer_t [1:0][Qps-1:0] ring_q;
  logic other_q;  // the packet that is next moves its QP
  logic moving_q;

  assign from_o  = ring_q[returned_i][qp_i];
  assign ring_o  = !on_i ? '0 : packet_i ? part_i : opens_i ? opens_part_i : from_o;
  assign moves_o = on_i && packet_i && from_o != part_i;
  assign waits_o = moving_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      ring_q   <= '0;
      moving_q <= 1'b0;
    end else begin
      if (valid_i && moves_o) ring_q[returned_i][qp_i] <= part_i;
      if (valid_i && opens_i) begin
        ring_q[0][qp_i] <= opens_part_i;
        ring_q[1][qp_i] <= opens_part_i;
      end
      moving_q <= (taken_i && other_q) || (moving_q && !moved_i);
    end
  end

  // What moves its QP has come to its ring by then, so that the table is right.
  always_ff @(posedge clk_i) begin
    if (next_i || (moved_i && moving_q)) other_q <= on_i && ring_q[next_returned_i][next_qp_i] != next_part_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!(valid_i && moves_o) || moving_q)
      else $error("qp_rings: a packet moves its QP that was taken for another");
      assert (!moved_i || moving_q)
      else $error("qp_rings: nothing moves");
    end
  end

endmodule
