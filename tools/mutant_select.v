// In every netlist of tools/mutants.py: which mutation is active, as the plusarg +mutant=NUMBER says; 0, none of them, without one.
module mutant_select (output reg [15:0] mutant_o);
  initial if (!$value$plusargs("mutant=%d", mutant_o)) mutant_o = 0;
endmodule
