// Verilator's save and restore, less the context. A model writes its context among its registers: the time, the random seed,
// counts of errors, and padding with whatever lay there. Two models in the same state would differ, and a restore would bring back
// another model's seed. The time is kept beside the state instead, and the rest belongs to the instance.
//
// Verilator's own file is taken in whole, since newer versions may add to it; its two functions for the context are turned
// into functions for a class that nobody has.

// What verilated_save.cpp says first; its header asks for it.
#define VERILATOR_VERILATED_SAVE_CPP_

#include "verilated_imp.h"
#include "verilated_save.h"

class VerilatedRsNoContext final : public VerilatedContext {};

#define VerilatedContext VerilatedRsNoContext
#include "verilated_save.cpp"
#undef VerilatedContext

VerilatedSerialize& operator<<(VerilatedSerialize& os, VerilatedContext*) { return os; }
VerilatedDeserialize& operator>>(VerilatedDeserialize& os, VerilatedContext*) { return os; }
