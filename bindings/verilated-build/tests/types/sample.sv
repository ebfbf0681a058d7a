// What the type tables in this folder were written for.
typedef enum {UnitA, UnitB} unit_e;

package sample_pkg;
  typedef enum logic [1:0] {Zero = 2'd0, One = 2'd1, Two = 2'd2} kind_e;
  typedef kind_e alias_e;
  typedef enum {Less = -1, More = 5} signed_e;
  typedef logic [1:0] two_t;
  typedef union packed {
    logic [7:0] raw;
    struct packed {kind_e kind; logic [5:0] rest;} parts;
  } either_t;
  typedef struct packed {
    kind_e first, second;
    two_t two;
    alias_e aliased;
    kind_e [3:0] kinds;
    logic [0:2][6:0] ascending;
    logic signed [4:0] offset;
    signed_e sign;
    unit_e unit;
    either_t either;
    struct packed {logic x; logic [2:0] y;} nameless;
    enum logic [2:0] {Red, Green} colour;
    logic [199:0] words;
    logic [99:0] wide;
    bit [3:0] \type ;
  } all_t;
  localparam kind_e Kind = One;
  localparam int Negative = -5;
  localparam bit Yes = 1;
  localparam logic [99:0] Wide = 100'h1_00000000_00000000_00000002;
  localparam logic [1:0][3:0] Pair = 8'h21;
  localparam string Text = "no bits";
  localparam logic [3:0] Unknown = 4'bx1;
  localparam real Real = 1.5;
  localparam logic [7:0] List[2] = '{1, 2};
endpackage

module sample
  import sample_pkg::*;
#(
    parameter int unsigned Width = 4,
    localparam int unsigned Double = 2 * Width
) (
    input  logic              clk_i,
    input  all_t              all_i,
    output all_t              all_o,
    input  kind_e [1:0]       kinds_i[3],
    input  alias_e            kind_i,
    input  logic [1:0][3:0]   nibbles_i,
    input  logic [Double-1:0] plain_i
);
  always_ff @(posedge clk_i) all_o <= all_i;
endmodule
