// Triggers as bits of words. Verilator 5.006 has an array of `bool`, which is written byte by byte and read 16 bytes at
// a time. The processor then waits for the writes in every `eval()`, which takes a third of the time of a model with a
// dozen clocks. This header comes before all others, so that all of a model's code has the same type.
#ifndef VERILATED_RS_TRIGGERS_H_
#define VERILATED_RS_TRIGGERS_H_

#include "verilated.h"

#if VERILATOR_VERSION_INTEGER < 5007000

#include <cstddef>
#include <cstdint>

namespace verilated_rs {

template <std::size_t N>
class Triggers final {
    static constexpr std::size_t kWords = N == 0 ? 1 : (N + 63) / 64;
    std::uint64_t words_[kWords] = {};

    class Bit final {
    public:
        Bit(std::uint64_t& word, unsigned at) noexcept
            : word_{word}
            , at_{at} {}
        void operator=(bool on) noexcept {
            word_ = (word_ & ~(std::uint64_t{1} << at_)) | (static_cast<std::uint64_t>(on) << at_);
        }
        operator bool() const noexcept { return (word_ >> at_) & 1; }

    private:
        std::uint64_t& word_;
        const unsigned at_;
    };

public:
    Bit at(std::size_t index) noexcept { return Bit{words_[index / 64], static_cast<unsigned>(index % 64)}; }
    void clear() noexcept {
        for (std::uint64_t& word : words_) word = 0;
    }
    bool any() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t word : words_) all |= word;
        return all != 0;
    }
    void set(const Triggers& other) noexcept {
        for (std::size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
    }
    void andNot(const Triggers& a, const Triggers& b) noexcept {
        for (std::size_t i = 0; i < kWords; ++i) words_[i] = a.words_[i] & ~b.words_[i];
    }
};

}  // namespace verilated_rs

#define VlTriggerVec verilated_rs::Triggers

#endif
#endif
