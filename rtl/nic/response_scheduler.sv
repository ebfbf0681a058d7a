// Response arbiter: picks the next QP to send a READ response among those that have one, and whose rate, class and
// slots allow it. Takes turns with requests by bytes on the wire.
//
// One response is under way at a time: the slot is taken, the responder builds the response, and what it built goes
// into the slot or frees it (`over_i`).
//
//     pick     a QP is picked (qp_picker), and another one if its class may not send any more
//     grant    its turn has come: `take_o` takes a slot and locks the QP at the limiter, in a cycle without a request
//     read     the responder is asked, until it has taken the event
//     reply    until `over_i`
//     account  its slot shows that it waits from the next cycle on; the bytes are counted then
//
// While requests and responses wait, both get as many bytes: a request waits (`hold_o`) while requests have had more
// than responses or as many, and a response while responses have had more. What had to wait for nothing is not counted.
// When the class of the response may no longer send, requests wait for it a cycle longer.
//
// Timing: `take_o` depends on `allowed_i` and `sent_i`, `idle_o` on inputs of the same cycle; all other outputs are
// registers or depend on registers only.
module response_scheduler
  import nic_pkg::*;
#(
    parameter  int unsigned Qps    = 64,
    localparam int unsigned QpBits = $clog2(Qps)
) (
    input logic clk_i,
    input logic rst_i,

    input logic   [Qps-1:0] answerable_i,     // QPs with a response
    input logic             paced_i,          // the limiter applies
    input logic   [Qps-1:0] eligible_i,
    input logic   [Qps-1:0] locked_i,         // QPs with a packet that the limiter does not know yet
    input class_t [Qps-1:0] class_i,
    input logic   [    7:0] class_allowed_i,  // not paused, and has a free slot
    input logic             allowed_i,        // there is room for a packet

    input  logic request_i,  // a request waits
    input  logic sent_i,     // and is granted in this cycle
    output logic hold_o,     // requests wait

    output logic              take_o,        // a slot is taken
    output logic [QpBits-1:0] qp_o,
    output logic              read_valid_o,
    input  logic              read_ready_i,
    input  logic              over_i,
    output logic [   Qps-1:0] under_way_o,   // the QP with a response whose slot does not show it yet

    input logic        counted_i,           // bytes on the wire of a packet that was granted
    input logic        counted_response_i,
    input logic [15:0] counted_bytes_i,

    output logic moves_o,  // the state changes with this cycle
    output logic idle_o
);

  typedef enum logic [1:0] {
    Pick    = 2'd0,
    Read    = 2'd1,
    Reply   = 2'd2,
    Account = 2'd3
  } state_e;

  state_e state_q;
  logic [Qps-1:0] request;
  logic picked, may, may_q, waits, replaced;
  logic [QpBits-1:0] picked_qp, qp_q;

  always_comb begin
    request = '0;
    if (answerable_i != '0 && state_q == Pick) begin
      for (int unsigned q = 0; q < Qps; q++) request[q] = class_allowed_i[class_i[q]];
      request &= answerable_i & ~locked_i & (eligible_i | {Qps{!paced_i}});
    end
  end

  qp_picker #(
      .Qps(Qps)
  ) u_picker (
      .clk_i,
      .rst_i,
      .request_i(request),
      .waits_i  ('0),
      .valid_o  (picked),
      .qp_o     (picked_qp),
      .ready_i  (take_o),
      .drop_i   (picked && !may)
  );

  assign may      = class_allowed_i[class_i[picked_qp]];
  assign replaced = picked ? !may && request != '0 : request != '0;

  // Bytes of responses less those of requests, while both wait. Responses have their turn while they are not ahead.
  logic signed [17:0] ahead_q, ahead;
  logic turn_q;

  always_comb begin
    ahead = ahead_q;
    if (counted_i) begin
      ahead += counted_response_i ? 18'(counted_bytes_i) : -18'(counted_bytes_i);
      if (!(counted_response_i ? request_i : waits)) ahead = '0;
    end
  end

  assign waits  = (picked && may_q) || state_q != Pick;
  assign hold_o = waits && turn_q;
  assign take_o = picked && may && state_q == Pick && allowed_i && !sent_i && (turn_q || !request_i);
  assign qp_o   = state_q == Pick ? picked_qp : qp_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Pick;
      ahead_q <= '0;
      turn_q  <= 1'b1;
    end else begin
      case (state_q)
        Pick:    if (take_o) state_q <= Read;
        Read:    if (read_ready_i) state_q <= Reply;
        Reply:   if (over_i) state_q <= Account;
        default: state_q <= Pick;
      endcase
      if (counted_i) {ahead_q, turn_q} <= {ahead, ahead <= 0};
    end
  end

  always_ff @(posedge clk_i) begin
    may_q <= !picked || may;
    if (take_o) qp_q <= picked_qp;
  end

  assign read_valid_o = state_q == Read;

  always_comb begin
    under_way_o = '0;
    if (state_q != Pick) under_way_o[qp_q] = 1'b1;
  end

  assign moves_o = replaced || (picked && may != may_q) || take_o || state_q != Pick || counted_i;
  assign idle_o  = !moves_o;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (!over_i || state_q == Reply)
      else $error("response_scheduler: a reply that nothing asked for");
  end

endmodule
