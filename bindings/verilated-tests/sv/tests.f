// Packages first, then where modules are found.
pkg/kinds_pkg.sv
-y .
