// State that no port shows and nothing reads, of every kind that waves show: what a model keeps only for waves.
module hidden (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        write_i,
  input  logic [2:0]  row_i,
  input  logic [99:0] data_i,
  output logic [15:0] sum_o,
  output logic [99:0] row_o
);
  // Read by nothing.
  logic [39:0] writes_q;
  logic [99:0] last_q;
  logic [99:0] dead_mem_q [8];
  logic [1:0]  ahead;
  logic        unused_valid;
  // What an initial block and a plusarg set, once.
  logic [7:0]  started_q;

  initial begin
    started_q = 8'd17;
    if ($test$plusargs("late")) started_q = 8'd99;
    $display("started with %0d", started_q);
  end

  always_ff @(posedge clk_i) begin
    writes_q <= rst_i ? '0 : writes_q + 40'(write_i);
    if (write_i) begin
      last_q            <= data_i;
      dead_mem_q[row_i] <= data_i;
    end
  end
  assign ahead = {write_i, ^last_q};

  for (genvar g = 0; g < 2; g++) begin : g_lane
    logic [15:0] lane_sum;
    hidden_lane u_lane (
      .clk_i, .rst_i, .write_i(write_i && row_i[0] == 1'(g)), .data_i(data_i[15:0]),
      .sum_o(lane_sum), .valid_o()
    );
  end
  hidden_lane u_spare (
    .clk_i, .rst_i, .write_i, .data_i(data_i[31:16]), .sum_o(), .valid_o(unused_valid)
  );
  assign sum_o = g_lane[0].lane_sum ^ g_lane[1].lane_sum ^ 16'(started_q);

  // A register file with a loop in its process, which has a variable of its own.
  logic [99:0] rows_q [8];
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 8; i++) begin
      if (rst_i) rows_q[i] <= '0;
      else if (write_i && row_i == 3'(i)) rows_q[i] <= data_i;
    end
  end
  assign row_o = rows_q[row_i];

  a_row: assert property (@(posedge clk_i) rst_i || data_i != 100'hbad) else $error("bad data in row %0d", row_i);
endmodule

// A sum with an output that nobody may use.
module hidden_lane (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        write_i,
  input  logic [15:0] data_i,
  output logic [15:0] sum_o,
  output logic        valid_o
);
  logic seen_q;
  assign valid_o = seen_q;

  always_ff @(posedge clk_i) begin
    sum_o  <= rst_i ? '0 : sum_o + (write_i ? data_i : '0);
    seen_q <= write_i;
  end
endmodule
