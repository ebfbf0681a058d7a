// FIFO of `Depth` words, in a RAM with an output register.
//
// - A word goes in when `valid_i` and `ready_o` are 1, and comes out when `valid_o` and `ready_i` are 1. While
//   `valid_o` waits, it and its word hold.
// - `ready_o` is 0 when the FIFO is full: no word is dropped or overwritten.
// - Depth 1 is one register: a word is offered one cycle after it went in; throughput is one word in two cycles
//   (register_slice has one per cycle).
// - Depth 2 and more: a word is offered two cycles after it went in, if the words in front have left. From depth 3
//   on, throughput is one word per cycle.
//
// Timing: all outputs are registers or depend on registers only; none depends on an input of the same cycle.
module fifo #(
    parameter  int unsigned Width     = 32,
    parameter  int unsigned Depth     = 16,                // 1 or more, not only powers of two
    localparam int unsigned CountBits = $clog2(Depth + 1)
) (
    input logic clk_i,
    input logic rst_i,

    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,

    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o,

    output logic [CountBits-1:0] count_o  // words in the FIFO
);

  logic push, pop;
  assign push = valid_i && ready_o;
  assign pop  = valid_o && ready_i;

  if (Depth == 1) begin : gen_register
    logic full_q;
    logic [Width-1:0] data_q;

    always_ff @(posedge clk_i) begin
      if (rst_i) full_q <= 1'b0;
      else full_q <= push || (full_q && !pop);
    end

    always_ff @(posedge clk_i) begin
      if (push) data_q <= data_i;
    end

    assign ready_o = !full_q;
    assign valid_o = full_q;
    assign data_o  = data_q;
    assign count_o = full_q;
  end else begin : gen_ram
    localparam int unsigned PointerBits = $clog2(Depth);

    logic [PointerBits-1:0] write_q, read_q;
    logic [CountBits-1:0] count_q, stored;
    logic valid_q;  // the RAM's output register holds the oldest word
    logic fetch;

    function automatic logic [PointerBits-1:0] next(input logic [PointerBits-1:0] pointer);
      return (pointer == PointerBits'(Depth - 1)) ? '0 : pointer + 1'b1;
    endfunction

    assign stored = count_q - CountBits'(valid_q);
    assign fetch  = stored != '0 && (!valid_q || ready_i);

    ram_1r1w #(
        .Width(Width),
        .Depth(Depth)
    ) u_ram (
        .clk_i,
        .write_i        (push),
        .write_address_i(write_q),
        .data_i,
        .read_i         (fetch),
        .read_address_i (read_q),
        .data_o
    );

    always_ff @(posedge clk_i) begin
      if (rst_i) begin
        write_q <= '0;
        read_q  <= '0;
        count_q <= '0;
        valid_q <= 1'b0;
      end else begin
        if (push) write_q <= next(write_q);
        if (fetch) read_q <= next(read_q);
        count_q <= count_q + CountBits'(push) - CountBits'(pop);
        valid_q <= fetch || (valid_q && !ready_i);
      end
    end

    assign ready_o = count_q != CountBits'(Depth);
    assign valid_o = valid_q;
    assign count_o = count_q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (32'(count_o) <= Depth)
      else $error("fifo: more words than depth");
      assert (!valid_o || count_o != '0)
      else $error("fifo: offers a word that it does not have");
    end
  end

endmodule
