// Verilator's writer of FST files, with one mistake mended.
//
// When waves are restricted to some signals, it keeps a vector of bits, one for each that it is to write, and makes it as
// long as the last of these. It then reads the bits of all signals from it, after calling `reserve`, which does not make
// it longer. What lies beyond its end is whatever was in memory before: values of signals that the file does not have
// are then written to it, which ends the process. In its place `resize` is called, which adds zeros.
//
// Everything that the file includes is included here first, because it uses the function of that name too.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verilated.h"
#include "verilated_fst_c.h"
#include "verilated_intrinsics.h"
#include "verilated_threads.h"
#include "verilated_trace.h"

#define reserve resize
#include "verilated_fst_c.cpp"
#undef reserve
