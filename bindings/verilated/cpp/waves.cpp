// Verilator's writer of FST files, with one mistake mended.
//
// When waves are restricted to some signals, it keeps a vector of bits, one for each that it is to write, and makes it as
// long as the last of these. It then reads the bits of all signals from it, after calling `reserve`, which does not make
// it longer. What lies beyond its end is whatever was in memory before: values of signals that the file does not have
// are then written to it, which ends the process. Here `reserve` of that vector, and of no other, adds zeros.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "verilated.h"
#include "verilated_fst_c.h"

namespace {

// The vector, with all that the writer does with it.
struct EnabledSignals final {
    std::vector<bool>& bits;

    void clear() { bits.clear(); }
    bool empty() const { return bits.empty(); }
    std::size_t size() const { return bits.size(); }
    void resize(std::size_t signals) { bits.resize(signals); }
    void reserve(std::size_t signals) { bits.resize(std::max(signals, bits.size())); }
    std::vector<bool>::reference operator[](std::size_t signal) { return bits[signal]; }
};

}  // namespace

// The header that declares the vector is above. A name inside of its own macro is not replaced again.
#define m_sigs_enabledVec EnabledSignals{m_sigs_enabledVec}
#include "verilated_fst_c.cpp"
#undef m_sigs_enabledVec
