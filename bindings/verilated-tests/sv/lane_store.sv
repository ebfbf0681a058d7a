// A wide memory whose indices do not start at 0, and its last row as narrow cells.
module lane_store (
  input  logic        clk_i,
  input  logic        write_i,
  input  logic [2:0]  row_i,
  input  logic [1:0]  column_i,
  input  logic [99:0] data_i,
  output logic        parity_o
);
  logic [99:0]       wide_q [8:39];
  logic signed [6:0] narrow_q [4];
  logic [1:0][2:0]   last;

  logic [5:0] place;
  assign place = 6'd8 + {1'b0, row_i, column_i};

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      wide_q[place]      <= data_i;
      narrow_q[column_i] <= data_i[6:0];
      last               <= {row_i, 1'b0, column_i};
    end
  end

  assign parity_o = ^{wide_q[place], narrow_q[column_i], last};
endmodule
