// Constants with zeros above their highest one, for variables of more than 64 words, as Verilator has them since 5.018.
// Before, VL_CONSTHI_W_… cleared words behind the variable instead, and left its own as they were: a register was not
// reset, and another one changed (verilator/verilator, issue 2473 and pull request 4556).
#ifndef VERILATED_RS_CONSTANTS_H_
#define VERILATED_RS_CONSTANTS_H_

#include "verilated.h"

#if VERILATOR_VERSION_INTEGER < 5018000

namespace verilated_rs {

// Sets the words of `out` from bit `lsb` on, of which the most significant one comes first, and clears those above.
template <typename... Words>
inline WDataOutP high_words(int bits, int lsb, WDataOutP out, Words... words) {
    const EData from_high[] = {words...};
    constexpr int count = sizeof...(Words);
    const int low = VL_WORDS_I(lsb);
    for (int word = 0; word < count; ++word) out[low + word] = from_high[count - 1 - word];
    for (int word = low + count; word < VL_WORDS_I(bits); ++word) out[word] = 0;
    return out;
}

}  // namespace verilated_rs

#define VL_CONSTHI_W_1X verilated_rs::high_words
#define VL_CONSTHI_W_2X verilated_rs::high_words
#define VL_CONSTHI_W_3X verilated_rs::high_words
#define VL_CONSTHI_W_4X verilated_rs::high_words
#define VL_CONSTHI_W_5X verilated_rs::high_words
#define VL_CONSTHI_W_6X verilated_rs::high_words
#define VL_CONSTHI_W_7X verilated_rs::high_words
#define VL_CONSTHI_W_8X verilated_rs::high_words

#endif

#endif
