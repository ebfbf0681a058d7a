// Verilator's save and restore, without the context. Verilated models save their context along with their registers:
// the time, the random seed, counts of errors, and uninitialized padding. Two models in the same state would then
// differ, and a restore would bring back another model's seed. Here the time is kept beside the state instead, and
// the rest stays with the instance.
//
// Verilator's own file is included as a whole, since newer versions may add to it. Its two functions for the context
// are turned into functions for an unused class.

// verilated_save.cpp defines this first; its header requires it.
#define VERILATOR_VERILATED_SAVE_CPP_

#include "verilated_imp.h"
#include "verilated_save.h"

class VerilatedRsNoContext final : public VerilatedContext {};

#define VerilatedContext VerilatedRsNoContext
#include "verilated_save.cpp"
#undef VerilatedContext

VerilatedSerialize& operator<<(VerilatedSerialize& os, VerilatedContext*) { return os; }
VerilatedDeserialize& operator>>(VerilatedDeserialize& os, VerilatedContext*) { return os; }
