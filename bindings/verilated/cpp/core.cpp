#include "verilated_rs/core.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "verilated5/src/ffi.rs.h"
#include "verilated_cov.h"
#include "verilated_fst_c.h"
#include "verilated_save.h"
#include "verilated_syms.h"

namespace verilated_rs {

__thread Core* current_model = nullptr;
__thread std::uint64_t current_context = 0;
__thread std::size_t current_name_length = 0;

namespace {

// Limits the memory of a model that prints without end. Text beyond the limit is dropped.
constexpr std::size_t kOutputLimit = 1U << 20;

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

// Writes to memory. Uses Verilator's own buffer as long as the state fits into it.
class Writer final : public VerilatedSerialize {
public:
    void begin() {
        m_cp = m_bufp;
        more_.clear();
    }
    rust::Slice<const std::uint8_t> end() {
        if (more_.empty()) return {m_bufp, static_cast<std::size_t>(m_cp - m_bufp)};
        flush();
        return {more_.data(), more_.size()};
    }
    void flush() override {
        more_.insert(more_.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }

private:
    std::vector<std::uint8_t> more_;
};

struct TooShort final : std::exception {
    const char* what() const noexcept override { return "saved state ends early"; }
};

// Reads from memory. Verilator calls fill() when less than one insert's worth is left, so the copy is followed by
// that much padding: valid reads stay inside it, and a call of fill() means that the read ran past the end.
class Reader final : public VerilatedDeserialize {
public:
    void begin(rust::Slice<const std::uint8_t> bytes) {
        copy_.assign(bytes.size() + bufferInsertSize(), 0);
        std::memcpy(copy_.data(), bytes.data(), bytes.size());
        m_cp = copy_.data();
        m_endp = copy_.data() + copy_.size();
    }
    bool at_end() const {
        return static_cast<std::size_t>(m_endp - m_cp) == bufferInsertSize();
    }
    void fill() override { throw TooShort{}; }

private:
    std::vector<std::uint8_t> copy_;
};

// While it lives, counts are half of what they were.
class Halved final {
public:
    explicit Halved(std::vector<std::uint32_t*> counts)
        : counts_{std::move(counts)} {
        for (std::uint32_t* count : counts_) {
            before_.push_back(*count);
            *count /= 2;
        }
    }
    ~Halved() {
        for (std::size_t at = 0; at < counts_.size(); ++at) *counts_[at] = before_[at];
    }
    Halved(const Halved&) = delete;
    Halved& operator=(const Halved&) = delete;

private:
    std::vector<std::uint32_t*> counts_;
    std::vector<std::uint32_t> before_;
};

// The width of an element of a signal. Verilator 5.048 has it only here, and says 1 where older ones have it.
template <class Var>
auto bits_of(const Var& var, int) -> decltype(static_cast<std::uint32_t>(var.entBits())) {
    return var.entBits();
}
template <class Var>
std::uint32_t bits_of(const Var& var, long) {
    return static_cast<std::uint32_t>(var.elements(0));
}

// Replaces blanks in names from Rust, because Verilator separates scopes by them in a wave file.
std::string scope_name(rust::Str instance) {
    std::string name{instance.data(), instance.size()};
    for (char& letter : name) {
        if (static_cast<unsigned char>(letter) <= ' ') letter = '_';
    }
    return name;
}

}  // namespace

struct Core::Failed final {
    std::uint8_t kind;
    std::string file;
    std::uint32_t line;
    std::string hierarchy;
    std::string text;
    std::uint64_t time;
    std::uint32_t further = 0;
};

Core::Core(rust::Str instance, std::int32_t seed, std::uint64_t period)
    : period_{period}
    , half_{period / 2}
    , name_{scope_name(instance)}
    , id_{next_id()} {
    // By default, every context would start one thread per processor.
    context_.threads(1);
    // Costs nothing while no file is open, and cannot be enabled later.
    context_.traceEverOn(true);
    no_arguments(context_);
    current_context = id_;
    current_name_length = name_.size();
    if (seed != 0) {
        context_.randReset(2);
        context_.randSeed(seed);
    }
}

Core::~Core() = default;

std::unique_lock<std::mutex> Core::building() {
    static std::mutex mutex;
    return std::unique_lock<std::mutex>{mutex};
}

void Core::built() { context_.randReset(0); }

void Core::claim_thread() noexcept {
    Verilated::threadContextp(&context_);
    current_context = id_;
    current_name_length = name_.size();
}

void Core::set_time(std::uint64_t picoseconds) noexcept {
    time_ = picoseconds;
    context_.time(picoseconds);
}

void Core::add_plusarg(rust::Str argument) {
    plusargs_.emplace_back(argument.data(), argument.size());
    const char* pointer = plusargs_.back().c_str();
    context_.commandArgsAdd(1, &pointer);
}

void Core::say(const char* text, std::size_t length) {
    last_said_.assign(text, length);
    if (output_.size() < kOutputLimit) output_.append(text, length);
}

void Core::fail(std::uint8_t kind, const char* file, int line, const char* hierarchy, const char* message) {
    status_ = kFailed;
    if (failed_) {
        ++failed_->further;
        return;
    }
    failed_.reset(new Failed{kind,
                             file ? file : "",
                             line > 0 ? static_cast<std::uint32_t>(line) : 0,
                             hierarchy ? hierarchy : "",
                             message ? message : last_said_,
                             context_.time()});
}

Report Core::report() const {
    if (!failed_) return Report{};
    return Report{failed_->kind,
                  rust::String::lossy(failed_->file),
                  failed_->line,
                  rust::String::lossy(failed_->hierarchy),
                  rust::String::lossy(failed_->text),
                  failed_->time,
                  failed_->further};
}

void Core::clear_failure() noexcept {
    status_ = kFine;
    failed_.reset();
    context_.gotError(false);
    context_.gotFinish(false);
    context_.errorCount(0);
}

rust::String Core::take_output() {
    auto text = rust::String::lossy(output_);
    output_.clear();
    return text;
}

rust::Slice<const std::uint8_t> Core::capture() {
    static thread_local Writer writer;
    writer.begin();
    put(writer);
    return writer.end();
}

bool Core::reinstate(rust::Slice<const std::uint8_t> bytes) noexcept {
    static thread_local Reader reader;
    const Enter enter{*this};
    try {
        reader.begin(bytes);
        get(reader);
        return reader.at_end();
    } catch (...) {
        return false;
    }
}

void Core::trace_only(rust::Slice<const rust::String> signals) {
    only_.clear();
    for (const auto& signal : signals) only_.emplace_back(signal.data(), signal.size());
}

bool Core::trace_open(rust::Str path) {
    const Enter enter{*this};
    const bool sound = status_ == kFine;
    trace_close();
    try {
        auto wave = std::make_unique<VerilatedFstC>();
        trace(*wave);
        // One level from the signal itself, which has none below it.
        for (const auto& signal : only_) wave->dumpvars(1, signal);
        wave->open(std::string{path.data(), path.size()}.c_str());
        if (!wave->isOpen()) return false;
        wave_ = std::move(wave);
        return true;
    } catch (const Fatal&) {
        // The file is the cause, not the model.
        if (sound) clear_failure();
        return false;
    }
}

void Core::trace_close() noexcept {
    const Enter enter{*this};
    gather();
    // Since Verilator 5.048 a file without a time is written wrong: its header lies on what it has after it.
    if (wave_ && !dumped_) dump(time_);
    wave_.reset();
    dumped_ = false;
}

void Core::dump(std::uint64_t time) {
    // Waves cannot go back in time. Verilator would print a warning each time and write nothing either.
    if (dumped_ && time <= last_dump_) return;
    wave_->dump(time);
    dumped_ = true;
    last_dump_ = time;
    // Flush on a failure, so that the waves that led to it can be read whatever happens to the process.
    if (status_ != kFine) wave_->flush();
}

rust::Vec<Readable> Core::readable() const {
    rust::Vec<Readable> list;
    places_.clear();
    // scopeNameMap() only reads, but is not declared const.
    for (const auto& scope : *const_cast<VerilatedContext&>(context_).scopeNameMap()) {
        const VerilatedVarNameMap* const vars = scope.second->varsp();
        if (!vars) continue;
        // A scope is named by the instance, the top and the path below the top.
        std::string below{scope.first + name_.size()};
        below.erase(0, below.find('.', 1));
        if (!below.empty()) below = below.substr(1) + ".";
        for (const auto& entry : *vars) {
            const VerilatedVar& var = entry.second;
            const bool bits = var.vltype() >= VLVT_UINT8 && var.vltype() <= VLVT_WDATA;
            if (!bits || var.isParam()) continue;
            Readable found{};
            found.path = rust::String::lossy(below + entry.first);
            found.bits = bits_of(var, 0);
            for (int at = 1; at <= var.udims(); ++at) {
                found.lows.push_back(var.low(at));
                found.elements.push_back(static_cast<std::uint32_t>(var.elements(at)));
            }
            list.push_back(std::move(found));
            places_.push_back({static_cast<const unsigned char*>(var.datap()), var.entSize()});
        }
    }
    return list;
}

std::uint32_t Core::readable_word(std::size_t signal, std::size_t element, std::uint32_t word) const noexcept {
    // A model that has evaluated in place of this one has the newest values. What is read stays the same.
    const_cast<Core*>(this)->gather();
    // The signal may have been looked up in another instance, so this one's list may still be empty.
    if (places_.empty()) readable();
    const Place& place = places_[signal];
    const std::size_t at = std::size_t{word} * 4;
    std::uint32_t value = 0;
    // An element is a number of whole words or smaller than one word. Bytes are little-endian, which Verilator
    // requires.
    std::memcpy(&value, place.data + element * place.bytes + at, std::min<std::size_t>(4, place.bytes - at));
    return value;
}

bool Core::coverage_write(rust::Str path) {
    const Enter enter{*this};
    const bool sound = status_ == kFine;
    // Verilator counts changes. A bit that is constant after reset has one too, if it is not 0.
    const Halved halved{changes()};
    try {
        context_.coveragep()->write(std::string{path.data(), path.size()}.c_str());
        return true;
    } catch (const Fatal&) {
        if (sound) clear_failure();
        return false;
    }
}

}  // namespace verilated_rs

// Verilator's hooks. Each acts for the model that evaluates on this thread. Outside of a model's calls, as in a plain
// C++ loop over a Verilated class, there is no such model: the hooks then print and mark the context, as Verilator
// does, but do not end the process.

using verilated_rs::current_model;

namespace {

void outside(const char* file, int line, const char* message) {
    std::fprintf(stderr, "%s:%d: %s\n", file ? file : "", line, message);
    Verilated::threadContextp()->gotError(true);
    Verilated::threadContextp()->gotFinish(true);
}

}  // namespace

extern "C" int verilated_rs_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        std::string text(static_cast<std::size_t>(length) + 1, '\0');
        std::vsnprintf(&text[0], text.size(), format, again);
        text.pop_back();
        if (current_model) {
            current_model->say(text.data(), text.size());
        } else {
            std::fwrite(text.data(), 1, text.size(), stdout);
        }
    }
    va_end(again);
    return length;
}

void vl_finish(const char* filename, int linenum, const char* hier) {
    if (!current_model) return outside(filename, linenum, "$finish");
    current_model->fail(verilated_rs::kFinish, filename, linenum, hier, "$finish");
}

void vl_stop(const char* filename, int linenum, const char* hier) {
    if (!current_model) return outside(filename, linenum, "$stop");
    current_model->fail(verilated_rs::kStop, filename, linenum, hier, nullptr);
}

void vl_fatal(const char* filename, int linenum, const char* hier, const char* msg) {
    if (current_model) {
        current_model->fail(verilated_rs::kFatal, filename, linenum, hier, msg);
    } else {
        outside(filename, linenum, msg);
    }
    throw verilated_rs::Fatal{};
}

void vl_warn(const char* filename, int linenum, const char* hier, const char* msg) {
    (void)hier;
    verilated_rs_printf("%%Warning: %s:%d: %s\n", filename ? filename : "", linenum, msg);
}
