//! Run time of models that Verilator 5 made of SystemVerilog: drive, trace, save, restore.
