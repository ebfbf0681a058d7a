// Structs of enums and of arrays, of which ports and memories are arrays.
package cells_pkg;
  typedef enum logic [1:0] {Red, Green, Blue} colour_e;

  typedef struct packed {
    logic [7:0] data;
    colour_e    colour;
  } cell_t;

  typedef struct packed {
    cell_t [1:0] pair;
    logic        valid;
  } line_t;
endpackage
