// The class template of a model. Only the code that drives and samples its ports is generated.
#ifndef VERILATED_RS_SHIM_H_
#define VERILATED_RS_SHIM_H_

#include <cstddef>
#include <type_traits>
#include <utility>

#include "verilated_rs/apart.h"
#include "verilated_rs/core.h"

namespace verilated_rs {

// A model that was built without waves has no `trace`.
template <class Model>
auto add_waves(Model& model, VerilatedFstC& wave, int) -> decltype(static_cast<void>(model.trace(&wave, 99))) {
    model.trace(&wave, 99);
}
template <class Model>
void add_waves(Model&, VerilatedFstC&, long) {}

// Ports: a class with `drive(Root&, const In&)`, `sample(const Root&, Out&)`, `clock(Root&, bit)`, `put`, `get` and
// `kClocked`. With `kRises`, also `rise(Root&)`, which raises the clock of a model that has settled and returns what of
// its logic is left to be evaluated; `settle(Root&, left)`, which does that with the next inputs, and `finish(Root&,
// left)`, which does it before somebody looks at the state. With `kCounts`,
// also `changes()`, the ranges of coverage counts of single bits. With `kApart`, also `apart(name, plusargs)`, which
// returns a model that is evaluated in place of this one while waves are written.
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
        gather();
        const Enter enter{*this};
        try {
            model_.final();
        } catch (...) {
            // There is no caller to report a failing final block to.
        }
        // Destructors of scopes look into the current context, and the second model has had one of its own.
        apart_.reset();
        claim_thread();
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
                rise(root);
                if (VL_UNLIKELY(tracing())) finish();
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
        gather();
        raise_activity(*model_.rootp->vlSymsp, 0);
        raise_root_activity(*model_.rootp, 0);
        Ports::put(model_, to);
    }
    void get(VerilatedDeserialize& from) override {
        Ports::get(model_, from);
        left_ = 0;
        ahead_ = false;
        if constexpr (Ports::kApart) {
            if (tracing()) apart_->take(*model_.rootp);
        }
    }
    void trace(VerilatedFstC& wave) override {
        finish();
        if constexpr (Ports::kApart) {
            if (!apart_) {
                const auto lock = building();
                apart_ = Ports::apart(name_.c_str(), plusargs());
                claim_thread();
            }
            apart_->take(*model_.rootp);
            apart_->trace(wave);
        } else {
            add_waves(model_, wave, 0);
        }
    }
    void gather() noexcept override {
        finish();
        if constexpr (Ports::kApart) {
            if (!ahead_) return;
            ahead_ = false;
            const Enter enter{*this};
            try {
                apart_->give(*model_.rootp);
            } catch (const Fatal&) {
                // The hook has recorded the failure.
            }
        }
    }

    std::vector<std::uint32_t*> changes() override {
        std::vector<std::uint32_t*> list;
        if constexpr (Ports::kCounts) {
            for (const auto& range : Ports::changes()) {
                for (std::size_t at = range.first; at < range.second; ++at) {
                    // Verilator's own cast: it writes the counts as plain numbers.
                    list.push_back(reinterpret_cast<std::uint32_t*>(&model_.rootp->vlSymsp->__Vcoverage[at]));
                }
            }
        }
        return list;
    }

private:
    using Root = typename std::remove_reference<decltype(*std::declval<Model&>().rootp)>::type;

    void settle(Root& root, const In& in, Out& out) {
        if constexpr (Ports::kApart) {
            if (VL_UNLIKELY(tracing())) {
                ahead_ = true;
                apart_->settle(context_.time(), in, out);
                return;
            }
        }
        Ports::drive(root, in);
        if (Ports::kClocked) Ports::clock(root, 0);
        if constexpr (Ports::kRises) {
            // An evaluation before the first edge also sets up the model.
            if (left_ != 0) {
                Ports::settle(root, std::exchange(left_, 0));
            } else {
                model_.eval();
            }
        } else {
            model_.eval();
        }
        Ports::sample(root, out);
    }

    void rise(Root& root) {
        if constexpr (Ports::kApart) {
            if (VL_UNLIKELY(tracing())) {
                apart_->rise(context_.time());
                return;
            }
        }
        if constexpr (Ports::kRises) {
            left_ = Ports::rise(root);
        } else {
            Ports::clock(root, 1);
            model_.eval();
        }
    }

    // Evaluates what an edge has left.
    void finish() noexcept {
        if constexpr (Ports::kRises) {
            if (left_ == 0) return;
            const Enter enter{*this};
            try {
                Ports::finish(*model_.rootp, std::exchange(left_, 0));
            } catch (const Fatal&) {
                // The hook has recorded the failure.
            }
        }
    }

    Model model_;
    // What of the logic is to be evaluated with the next inputs; 0 of a model that is evaluated whole.
    std::uint64_t left_ = 0;
    // The model with waves, from the first wave file on, if it is a model of its own; and whether it has evaluated since
    // this one has had its state.
    std::unique_ptr<Apart<Root, In, Out>> apart_;
    bool ahead_ = false;
};

// Constructs a model while no other is being constructed.
template <class Shim>
std::unique_ptr<Shim> make(rust::Str instance, std::int32_t seed, std::uint64_t period) {
    const auto lock = Shim::one_at_a_time();
    return std::make_unique<Shim>(instance, seed, period);
}

}  // namespace verilated_rs

#endif
