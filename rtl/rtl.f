// All of rtl/ for Verilator and slang: packages in the order of their use, then the folders in which a module is found by its name.
pkg/eth_pkg.sv
pkg/time_pkg.sv
pkg/pfc_pkg.sv
pkg/roce_pkg.sv
pkg/stream_pkg.sv
pkg/crc_pkg.sv
pkg/parser_pkg.sv
pkg/dcqcn_pkg.sv
pkg/gbn_pkg.sv
pkg/gbn_step_pkg.sv
pkg/nic_registers_pkg.sv
pkg/nic_pkg.sv
-y prim
-y parser
-y pfc
-y dcqcn
-y gbn
-y translation
-y nic
