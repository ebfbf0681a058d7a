// Drain monitor: says when everything that was in a FIFO, or in any of `Count` side by side, when `start_i` rose has left
// it. It counts while `start_i` is 1; `passed_o` falls with `start_i`.
//
// Timing: `passed_o` depends on registers only, `idle_o` on `start_i`.
module drain #(
    parameter int unsigned Count     = 1,
    parameter int unsigned CountBits = 4
) (
    input logic clk_i,
    input logic rst_i,

    input  logic                            start_i,
    input  logic [Count-1:0][CountBits-1:0] count_i,   // words in each FIFO
    input  logic [Count-1:0]                pop_i,     // a word leaves
    output logic                            passed_o,
    output logic                            idle_o
);

  logic started_q;
  logic [Count-1:0][CountBits-1:0] left_q, left;

  assign left     = started_q ? left_q : count_i;
  assign passed_o = started_q && left_q == '0;
  assign idle_o   = !start_i && !started_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || !start_i) started_q <= 1'b0;
    else started_q <= 1'b1;
  end

  for (genvar i = 0; i < Count; i++) begin : gen_fifo
    always_ff @(posedge clk_i) begin
      if (start_i) left_q[i] <= left[i] - CountBits'(pop_i[i] && left[i] != '0);
    end
  end

endmodule
