// The base class of all models: context, time, messages and failures, saved state, waves.
#ifndef VERILATED_RS_CORE_H_
#define VERILATED_RS_CORE_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rust/cxx.h"
#include "verilated.h"

class VerilatedDeserialize;
class VerilatedFstC;
class VerilatedSerialize;

namespace verilated_rs {

struct Readable;
struct Report;

// Thrown where Verilator expects the process to end. If vl_fatal returned, a model that does not converge would loop
// for ever.
struct Fatal final : std::exception {
    const char* what() const noexcept override { return "the model cannot go on"; }
};

// Status of a call. It is a number so that it is returned in a register.
enum Status : std::uint32_t { kFine = 0, kFailed = 1 };

// Kinds of failure. src/failure.rs relies on these values.
enum Kind : std::uint8_t { kStop = 1, kFatal = 2, kFinish = 3 };

// Says that there are no plusargs so far: before anything is said, asking for one is a fatal error.
inline void no_arguments(VerilatedContext& context) {
    const char* none = nullptr;
    context.commandArgs(0, &none);
}

class Core {
public:
    virtual ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    std::uint64_t time() const noexcept { return time_; }
    void set_time(std::uint64_t picoseconds) noexcept;

    // For $value$plusargs. The argument includes its plus sign.
    void add_plusarg(rust::Str argument);
    // The arguments so far, with their plus signs.
    const std::vector<std::string>& plusargs() const noexcept { return plusargs_; }

    // The first failure since failures were last cleared.
    Report report() const;
    void clear_failure() noexcept;
    // Text of $display and the like since the last call.
    rust::String take_output();

    // State without time. The view is valid until the next capture on this thread.
    rust::Slice<const std::uint8_t> capture();
    // Restores what capture returned; false if the bytes are too few or too many.
    bool reinstate(rust::Slice<const std::uint8_t> bytes) noexcept;

    // The signals in wave files opened from now on, by their whole names; without any, all are.
    void trace_only(rust::Slice<const rust::String> signals);
    // Opens a wave file in FST format; false if it cannot be created.
    bool trace_open(rust::Str path);
    void trace_close() noexcept;
    bool tracing() const noexcept { return static_cast<bool>(wave_); }

    // Writes coverage counts; false if the file cannot be written. A toggle is a change and a change back.
    bool coverage_write(rust::Str path);

    // The signals that the build made readable.
    rust::Vec<Readable> readable() const;
    // Returns 32 bits of an element; word 0 is the least significant. All three arguments must be in range.
    std::uint32_t readable_word(std::size_t signal, std::size_t element, std::uint32_t word) const noexcept;

    // Called by the hooks.
    void say(const char* text, std::size_t length);
    void fail(std::uint8_t kind, const char* file, int line, const char* hierarchy, const char* message);

protected:
    Core(rust::Str instance, std::int32_t seed, std::uint64_t period);

    // Locks the construction of models: only one is built at a time, because Verilator's random state is shared by
    // all threads of the process.
    static std::unique_lock<std::mutex> building();
    // To be called after the model is constructed: turns random start values off.
    void built();
    // Makes this model's context Verilator's current one on this thread.
    void claim_thread() noexcept;

    virtual void put(VerilatedSerialize& to) = 0;
    virtual void get(VerilatedDeserialize& from) = 0;
    virtual void trace(VerilatedFstC& wave) = 0;
    // Brings the state to where put and readable signals are, if another model has evaluated since.
    virtual void gather() noexcept = 0;
    // The counts of changes of single bits, if the model counts coverage.
    virtual std::vector<std::uint32_t*> changes() = 0;

    // While it lives, the hooks on this thread act for this model.
    class Enter final {
    public:
        explicit Enter(Core& core) noexcept;
        ~Enter();
        Enter(const Enter&) = delete;
        Enter& operator=(const Enter&) = delete;

    private:
        Core* const before_;
    };

    // Record a cycle in the wave file: with the clock low, and with the clock high.
    void dump_settled() {
        if (VL_UNLIKELY(tracing())) dump(time_);
    }
    void dump_clocked() {
        if (VL_UNLIKELY(tracing())) dump(time_ + half_);
    }
    void at_edge() noexcept { context_.time(time_ + half_); }
    void next_cycle() noexcept {
        time_ += period_;
        context_.time(time_);
    }

    VerilatedContext context_;
    std::uint64_t time_ = 0;
    std::uint64_t period_;
    std::uint64_t half_;
    std::uint32_t status_ = kFine;
    std::string name_;

private:
    struct Failed;
    // The address of a readable signal, and the number of bytes of an element.
    struct Place {
        const unsigned char* data;
        std::size_t bytes;
    };

    void dump(std::uint64_t time);

    const std::uint64_t id_;
    std::vector<std::string> plusargs_;
    std::string output_;
    std::string last_said_;
    std::unique_ptr<Failed> failed_;
    // In the order of readable(). Filled by the first look-up.
    mutable std::vector<Place> places_;
    std::vector<std::string> only_;
    std::unique_ptr<VerilatedFstC> wave_;
    bool dumped_ = false;
    std::uint64_t last_dump_ = 0;
};

// The model that evaluates on this thread, and the id of the model whose context is Verilator's current one. They are
// plain variables, reached with one instruction: no construction, no wrapper call.
extern __thread Core* current_model __attribute__((tls_model("initial-exec")));
extern __thread std::uint64_t current_context __attribute__((tls_model("initial-exec")));

inline Core::Enter::Enter(Core& core) noexcept
    : before_{current_model} {
    current_model = &core;
    if (VL_UNLIKELY(current_context != core.id_)) core.claim_thread();
}

inline Core::Enter::~Enter() { current_model = before_; }

}  // namespace verilated_rs

#endif
