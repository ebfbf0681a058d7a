// A port pair of every width that is handled differently; each output is its input a cycle later. Below, the odd shapes:
// an unpacked array, names that are keywords, an ascending range, a struct and an enum.
module wide_ports
  import kinds_pkg::*;
(
  input logic clk_i,
  input  logic p1_i,
  output logic p1_o,
  input  logic [1:0] p2_i,
  output logic [1:0] p2_o,
  input  logic [6:0] p7_i,
  output logic [6:0] p7_o,
  input  logic [7:0] p8_i,
  output logic [7:0] p8_o,
  input  logic [8:0] p9_i,
  output logic [8:0] p9_o,
  input  logic [14:0] p15_i,
  output logic [14:0] p15_o,
  input  logic [15:0] p16_i,
  output logic [15:0] p16_o,
  input  logic [16:0] p17_i,
  output logic [16:0] p17_o,
  input  logic [30:0] p31_i,
  output logic [30:0] p31_o,
  input  logic [31:0] p32_i,
  output logic [31:0] p32_o,
  input  logic [32:0] p33_i,
  output logic [32:0] p33_o,
  input  logic [62:0] p63_i,
  output logic [62:0] p63_o,
  input  logic [63:0] p64_i,
  output logic [63:0] p64_o,
  input  logic [64:0] p65_i,
  output logic [64:0] p65_o,
  input  logic [94:0] p95_i,
  output logic [94:0] p95_o,
  input  logic [95:0] p96_i,
  output logic [95:0] p96_o,
  input  logic [96:0] p97_i,
  output logic [96:0] p97_o,
  input  logic [127:0] p128_i,
  output logic [127:0] p128_o,
  input  logic [144:0] p145_i,
  output logic [144:0] p145_o,
  input  logic [510:0] p511_i,
  output logic [510:0] p511_o,
  input  logic [511:0] p512_i,
  output logic [511:0] p512_o,
  input  logic [512:0] p513_i,
  output logic [512:0] p513_o,
  input  logic [999:0] p1000_i,
  output logic [999:0] p1000_o,
  input  logic [1023:0] p1024_i,
  output logic [1023:0] p1024_o,
  input  logic [2048:0] p2049_i,
  output logic [2048:0] p2049_o,
  input  logic [8:0]  list_i [3],
  output logic [8:0]  list_o [3],
  input  logic [99:0] grid_i [2][4],
  output logic [99:0] grid_o [2][4],
  input  logic [11:2] high_i,
  output logic [11:2] high_o,
  input  logic        \type ,
  output logic        \dyn ,
  input  logic        bool,
  output logic        \a.b ,
  input  meta_t       meta_i,
  output meta_t       meta_o,
  input  kind_e       kind_i,
  output kind_e       kind_o
);
  always_ff @(posedge clk_i) begin
    p1_o <= p1_i;
    p2_o <= p2_i;
    p7_o <= p7_i;
    p8_o <= p8_i;
    p9_o <= p9_i;
    p15_o <= p15_i;
    p16_o <= p16_i;
    p17_o <= p17_i;
    p31_o <= p31_i;
    p32_o <= p32_i;
    p33_o <= p33_i;
    p63_o <= p63_i;
    p64_o <= p64_i;
    p65_o <= p65_i;
    p95_o <= p95_i;
    p96_o <= p96_i;
    p97_o <= p97_i;
    p128_o <= p128_i;
    p145_o <= p145_i;
    p511_o <= p511_i;
    p512_o <= p512_i;
    p513_o <= p513_i;
    p1000_o <= p1000_i;
    p1024_o <= p1024_i;
    p2049_o <= p2049_i;
    list_o <= list_i;
    grid_o <= grid_i;
    high_o <= high_i;
    \dyn  <= \type ;
    \a.b  <= bool;
    meta_o <= meta_i;
    kind_o <= kind_i;
  end
endmodule
