// The class template of a model. Only the code that drives and samples its ports is generated.
#ifndef VERILATED_RS_SHIM_H_
#define VERILATED_RS_SHIM_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "verilated_rs/core.h"

namespace verilated_rs {

// Verilator's flags for "something changed since the last dump" are part of the saved state, and only tracing clears
// them. Setting them before a save makes a traced model and an untraced one save the same bytes. Setting them is
// always safe: at most, a signal that did not change is compared.
template <class Syms>
auto raise_activity(Syms& syms, int) -> decltype(static_cast<void>(syms.__Vm_activity)) {
    syms.__Vm_activity = true;
}
template <class Syms>
void raise_activity(Syms&, long) {}

template <class Root>
auto raise_root_activity(Root& root, int) -> decltype(static_cast<void>(root.__Vm_traceActivity)) {
    for (std::size_t i = 0; i < sizeof(root.__Vm_traceActivity); ++i) {
        reinterpret_cast<unsigned char*>(&root.__Vm_traceActivity)[i] = 1;
    }
}
template <class Root>
void raise_root_activity(Root&, long) {}

// A model that was built without waves has no `trace`.
template <class Model>
auto add_waves(Model& model, VerilatedFstC& wave, int) -> decltype(static_cast<void>(model.trace(&wave, 99))) {
    model.trace(&wave, 99);
}
template <class Model>
void add_waves(Model&, VerilatedFstC&, long) {}

// Ports: a class with `drive(Root&, const In&)`, `sample(const Root&, Out&)`, `clock(Root&, bit)`, `put`, `get` and
// `kClocked`.
template <class Model, class In, class Out, class Ports>
class Shim : public Core {
public:
    Shim(rust::Str instance, std::int32_t seed, std::uint64_t period)
        : Core{instance, seed, period}
        , model_{&context_, name_.c_str()} {
        built();
    }

    ~Shim() override {
        trace_close();
        const Enter enter{*this};
        try {
            model_.final();
        } catch (...) {
            // There is no caller to report a failing final block to.
        }
    }

    // Drive, settle, sample, rising edge.
    std::uint32_t cycle(const In& in, Out& out) noexcept {
        const Enter enter{*this};
        try {
            auto& root = *model_.rootp;
            settle(root, in, out);
            dump_settled();
            if (VL_UNLIKELY(status_ != kFine)) return status_;
            if (Ports::kClocked) {
                at_edge();
                Ports::clock(root, 1);
                model_.eval();
                dump_clocked();
                if (VL_UNLIKELY(status_ != kFine)) return status_;
            }
            next_cycle();
        } catch (const Fatal&) {
            // The hook has recorded the failure.
        }
        return status_;
    }

    // Drive, settle, sample; the time does not advance.
    std::uint32_t eval(const In& in, Out& out) noexcept {
        const Enter enter{*this};
        try {
            settle(*model_.rootp, in, out);
        } catch (const Fatal&) {
            // As above.
        }
        return status_;
    }

    static std::unique_lock<std::mutex> one_at_a_time() { return building(); }

protected:
    void put(VerilatedSerialize& to) override {
        raise_activity(*model_.rootp->vlSymsp, 0);
        raise_root_activity(*model_.rootp, 0);
        Ports::put(model_, to);
    }
    void get(VerilatedDeserialize& from) override { Ports::get(model_, from); }
    void trace(VerilatedFstC& wave) override { add_waves(model_, wave, 0); }

private:
    template <class Root>
    void settle(Root& root, const In& in, Out& out) {
        Ports::drive(root, in);
        if (Ports::kClocked) Ports::clock(root, 0);
        model_.eval();
        Ports::sample(root, out);
    }

    Model model_;
};

// Constructs a model while no other is being constructed.
template <class Shim>
std::unique_ptr<Shim> make(rust::Str instance, std::int32_t seed, std::uint64_t period) {
    const auto lock = Shim::one_at_a_time();
    return std::make_unique<Shim>(instance, seed, period);
}

}  // namespace verilated_rs

#endif
