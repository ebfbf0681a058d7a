// Send arbiter: picks the next QP to send among those whose window, rate, class and slots allow it.
//
// A QP that is in the requester's pipeline (`inside_…`) is passed over, and a pick of a QP that has entered it since is
// replaced if there is another QP: its packet would have to wait for the steps that are under way. It is not starved,
// because it is outside in one of three cycles at least, and in the pipeline only for what its own packets cause. A
// round that begins meanwhile is one for it, too.
//
// A pick whose slot a READ response has taken (`stale_i`) waits, and is replaced if there is another QP.
//
// A granted QP is locked until `release_i`, and so is one whose READ response is granted (`lock_i`). By then its packet
// has been accounted for in window and limiter, so that neither is exceeded. Up to two releases per cycle.
//
// Timing: `idle_o` depends on inputs of the same cycle; all other outputs are registers.
module send_scheduler
  import nic_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic   [Qps-1:0] sendable_i,
    input logic             paced_i,          // the limiter applies
    input logic   [Qps-1:0] eligible_i,
    input class_t [Qps-1:0] class_i,
    input logic   [    7:0] class_allowed_i,  // not paused, and has a free slot
    input logic             allowed_i,        // there is room for the results of a packet

    input logic [1:0]             inside_valid_i,
    input logic [1:0][QpBits-1:0] inside_qp_i,

    output logic              valid_o,
    output logic [QpBits-1:0] qp_o,
    input  logic              ready_i,

    input  logic              stale_i,    // not with `ready_i`
    input  logic              lock_i,
    input  logic [QpBits-1:0] lock_qp_i,
    output logic [   Qps-1:0] locked_o,

    input logic [1:0]             release_i,
    input logic [1:0][QpBits-1:0] release_qp_i,

    output logic idle_o
);

  logic [Qps-1:0] locked_q, locked_d, request, outside;
  logic take, entered;
  logic [7:0][Qps-1:0] of_class;  // QPs of each class; changes only with an OPEN

  always_comb begin
    for (int unsigned c = 0; c < 8; c++)
    for (int unsigned q = 0; q < Qps; q++) of_class[c][q] = class_i[q] == class_t'(c);
  end

  always_comb begin
    request = '0;
    if (allowed_i && sendable_i != '0) begin
      for (int unsigned c = 0; c < 8; c++) if (class_allowed_i[c]) request |= of_class[c];
      request &= sendable_i & ~locked_q & (eligible_i | {Qps{!paced_i}});
    end
    outside = request;
    for (int unsigned i = 0; i < 2; i++) if (inside_valid_i[i]) outside[inside_qp_i[i]] = 1'b0;
  end

  qp_picker #(
      .Qps(Qps)
  ) u_picker (
      .clk_i,
      .rst_i,
      .request_i(outside),
      .waits_i(request),
      .valid_o,
      .qp_o,
      .ready_i,
      .drop_i(entered || stale_i)
  );

  assign entered = (inside_valid_i[0] && inside_qp_i[0] == qp_o) || (inside_valid_i[1] && inside_qp_i[1] == qp_o);
  assign take = valid_o && ready_i;

  always_comb begin
    locked_d = locked_q;
    for (int unsigned r = 0; r < 2; r++) if (release_i[r]) locked_d[release_qp_i[r]] = 1'b0;
    if (take) locked_d[qp_o] = 1'b1;
    if (lock_i) locked_d[lock_qp_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) locked_q <= '0;
    else locked_q <= locked_d;
  end

  assign locked_o = locked_q;
  assign idle_o   = request == '0 && !valid_o && release_i == '0 && !lock_i;

endmodule
