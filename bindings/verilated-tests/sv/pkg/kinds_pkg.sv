// A package, so that builds with packages are tested.
package kinds_pkg;
  typedef enum logic [1:0] {Zero = 2'd0, One = 2'd1, Two = 2'd2} kind_e;

  typedef struct packed {
    kind_e        kind;
    logic [23:0]  psn;
    logic [127:0] addr;
    logic         last;
  } meta_t;
endpackage
