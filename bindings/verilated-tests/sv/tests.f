// Packages first, then where modules are found.
pkg/kinds_pkg.sv
pkg/cells_pkg.sv
-y .
