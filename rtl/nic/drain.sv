// Drain monitor: says when everything that was in a FIFO when `start_i` rose has left it. It counts while `start_i`
// is 1; `passed_o` falls with `start_i`.
//
// Timing: `passed_o` depends on registers only, `idle_o` on `start_i`.
module drain #(
    parameter int unsigned CountBits = 4
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                 start_i,
    input  logic [CountBits-1:0] count_i,   // words in the FIFO
    input  logic                 pop_i,     // a word leaves
    output logic                 passed_o,
    output logic                 idle_o
);

  logic started_q;
  logic [CountBits-1:0] left_q, left;

  assign left     = started_q ? left_q : count_i;
  assign passed_o = started_q && left_q == '0;
  assign idle_o   = !start_i && !started_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || !start_i) started_q <= 1'b0;
    else started_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (start_i) left_q <= left - CountBits'(pop_i && left != '0);
  end

endmodule
