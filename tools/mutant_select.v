// In every netlist of tools/mutants.py: which mutation is active, as the plusarg +mutant=NUMBER says; 0, none of them,
// without one; 65535: none of them, and the plusarg +reached=FILE names the file to which mutant_watch writes.
module mutant_select (output reg [15:0] mutant_o);
  initial if (!$value$plusargs("mutant=%d", mutant_o)) mutant_o = 0;
endmodule

// Which mutants of enables are reached, by number.
package mutant_enables;
  bit told[65536];
endpackage

// One for each register and memory behind a clock gate: fails when the gate rests in a cycle in which its clock would
// change something. It looks at the original and at the mutants of enables, whose numbers begin at First: others may
// change what is behind a gate in any cycle. With +reached=FILE it names the mutant of the gate's enable, `needs_i`, that
// would rest in this cycle and fail so; 0 is none.
module gate_watch #(parameter [31:0] First = 0) (
    input clk_i, input [15:0] mutant_i, input rests_i, input changes_i, input [15:0] needs_i
);
  string name;
  integer file;
  always @(posedge clk_i) begin
    if (changes_i && rests_i && (mutant_i == 0 || {16'd0, mutant_i} >= First))
      $error("would change while its clock rests");
    if (mutant_i == 16'hffff && changes_i && needs_i != 0 && !mutant_enables::told[needs_i]) begin
      mutant_enables::told[needs_i] = 1;
      if (!$value$plusargs("reached=%s", name)) $fatal(1, "no +reached=FILE");
      file = $fopen(name, "a");
      $fwrite(file, "%0d\n", needs_i);
      $fclose(file);
    end
  end
endmodule

// One for each mutation: when the original reaches it for the first time, its number becomes a line of a file.
module mutant_watch #(parameter [15:0] Number = 0) (input clk_i, input [15:0] mutant_i, input reached_i);
  reg told = 0;
  string name;
  integer file;
  always @(posedge clk_i)
    if (mutant_i == 16'hffff && !told && reached_i) begin
      told <= 1;
      if (!$value$plusargs("reached=%s", name)) $fatal(1, "no +reached=FILE");
      file = $fopen(name, "a");
      $fwrite(file, "%0d\n", Number);
      $fclose(file);
    end
endmodule
