// Register slice: two registers that cut a valid/ready path in both directions.
//
// A word is offered in the cycle after it went in; throughput is one word per cycle. While `valid_o` waits, it and
// its word hold.
//
// Timing: all outputs are registers; none depends on an input of the same cycle.
module register_slice #(
    parameter int unsigned Width = 32
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,

    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);

  logic valid_q, ready_q;  // ready_q = 0: the spare register holds the next word
  logic [Width-1:0] data_q, spare_q;
  logic move;  // the output register can be loaded in this cycle

  assign move = !valid_q || ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q <= 1'b0;
      ready_q <= 1'b1;
    end else begin
      if (move) valid_q <= valid_i || !ready_q;
      ready_q <= move || (ready_q && !valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) data_q <= ready_q ? data_i : spare_q;
    if (ready_q) spare_q <= data_i;
  end

  assign valid_o = valid_q;
  assign ready_o = ready_q;
  assign data_o  = data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_i)
      assert (valid_q || ready_q)
      else $error("register_slice: a word waits behind nothing");
  end

endmodule
