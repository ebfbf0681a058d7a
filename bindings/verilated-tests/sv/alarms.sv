// Every way in which a source can stop its simulation, one at a time.
module alarms (
  input  logic       clk_i,
  input  logic [3:0] what_i,
  output logic [3:0] seen_o
);
  always_ff @(posedge clk_i) seen_o <= what_i;

  always_ff @(posedge clk_i) begin
    unique case (what_i)
      4'd1: $error("an error, what is %0d", what_i);
      4'd2: $fatal(1, "a fatal one");
      4'd3: $stop;
      4'd4: $finish;
      4'd5: $display("only talk: %0d", what_i);
      4'd6: $warning("a warning");
      4'd8: begin
        $display("before");
        $error("first");
        $error("second");
      end
      default: ;
    endcase
  end

  // Shows before the edge.
  always_comb begin
    a_settle: assert (what_i != 4'd7) else $error("seven at %0t", $time);
  end

  a_silent: assert property (@(posedge clk_i) what_i != 4'd9);
endmodule
