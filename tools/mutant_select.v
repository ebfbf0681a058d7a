// In every netlist of tools/mutants.py: which mutation is active, as the plusarg +mutant=NUMBER says; 0, none of them,
// without one; 65535: none of them, and what a run reaches is told (mutants_reached).
module mutant_select (output reg [15:0] mutant_o);
  initial if (!$value$plusargs("mutant=%d", mutant_o)) mutant_o = 0;
endmodule

// What a run reaches: each mutant's number becomes a line of the file that the plusarg +reached=FILE names, once.
package mutants_reached;
  bit told[65536];
  string name;
  integer file;

  task tell(input bit [15:0] number);
    if (!told[number]) begin
      told[number] = 1;
      if (!$value$plusargs("reached=%s", name)) $fatal(1, "no +reached=FILE");
      file = $fopen(name, "a");
      $fwrite(file, "%0d\n", number);
      $fclose(file);
    end
  endtask
endpackage

// One for each register and memory behind a clock gate: fails when the gate rests in a cycle in which its clock would
// change something. It looks at the original and at the mutants of enables, whose numbers begin at First: others may
// change what is behind a gate in any cycle. Of the original it tells which mutant of the gate's enable would rest in
// this cycle, `needs_i`, and fail so; 0 is none.
module gate_watch #(parameter [31:0] First = 0) (
    input clk_i, input [15:0] mutant_i, input rests_i, input changes_i, input [15:0] needs_i
);
  always @(posedge clk_i) begin
    if (changes_i && rests_i && (mutant_i == 0 || {16'd0, mutant_i} >= First))
      $error("would change while its clock rests");
    if (mutant_i == 16'hffff && changes_i && needs_i != 0) mutants_reached::tell(needs_i);
  end
endmodule

// One for each mutation: tells when the original reaches it.
module mutant_watch #(parameter [15:0] Number = 0) (input clk_i, input [15:0] mutant_i, input reached_i);
  always @(posedge clk_i) if (mutant_i == 16'hffff && reached_i) mutants_reached::tell(Number);
endmodule
