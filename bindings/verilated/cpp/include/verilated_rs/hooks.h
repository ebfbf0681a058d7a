// Included before every file of the run time, so that Verilator's output goes to the model that prints it.
#ifndef VERILATED_RS_HOOKS_H_
#define VERILATED_RS_HOOKS_H_

extern "C" int verilated_rs_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define VL_PRINTF verilated_rs_printf

#endif
