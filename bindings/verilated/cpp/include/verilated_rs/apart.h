// A second model of the same source, which can write waves, in place of one that cannot and is faster.
//
// Verilator keeps every signal that waves can show, and a model that does so is slower while none are written too. Here
// the model that can write them is evaluated only while a wave file is open: it takes the state of the other one then,
// and gives it back afterwards.
#ifndef VERILATED_RS_APART_H_
#define VERILATED_RS_APART_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "verilated.h"
#include "verilated_fst_c.h"
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

// The model that can write waves, as the shim sees it. Root: the state of the model without waves. Times are in
// picoseconds.
template <class Root, class In, class Out>
class Apart {
public:
    virtual ~Apart() = default;
    // Takes over all state, or gives it back.
    virtual void take(const Root& from) = 0;
    virtual void give(Root& to) = 0;
    // Drives the inputs, settles and samples the outputs, with the clock low.
    virtual void settle(std::uint64_t time, const In& in, Out& out) = 0;
    // Raises the clock.
    virtual void rise(std::uint64_t time) = 0;
    virtual void trace(VerilatedFstC& wave) = 0;
};

// Copies a member of one model to the member of the same name of the other one.
template <class Member>
void carry(const Member& from, Member& to) {
    if constexpr (std::is_array<Member>::value) {
        std::memcpy(&to, &from, sizeof to);
    } else {
        to = from;
    }
}

// A context for the second model: two models in one context would share the names of their scopes.
inline std::unique_ptr<VerilatedContext> context_apart(const std::vector<std::string>& plusargs) {
    auto context = std::make_unique<VerilatedContext>();
    context->threads(1);
    context->traceEverOn(true);
    no_arguments(*context);
    for (const std::string& argument : plusargs) {
        const char* text = argument.c_str();
        context->commandArgsAdd(1, &text);
    }
    // Constructors of models read the current one. Start values come from the other model, so none are random.
    Verilated::threadContextp(context.get());
    return context;
}

// State: a class with `carry(from, to)` for the members that both models have, and `settle(root)` for each model, which
// computes all others from them.
template <class Model, class Root, class In, class Out, class Ports, class State>
class ModelApart final : public Apart<Root, In, Out> {
public:
    ModelApart(const char* name, const std::vector<std::string>& plusargs)
        : context_{context_apart(plusargs)}
        , model_{std::make_unique<Model>(context_.get(), name)} {}
    ~ModelApart() override {
        Verilated::threadContextp(context_.get());
        model_.reset();
    }

    void take(const Root& from) override {
        auto& root = *model_->rootp;
        State::carry(from, root);
        raise_activity(*root.vlSymsp, 0);
        raise_root_activity(root, 0);
        // Before the first evaluation there is nothing to settle: initial blocks run in it.
        root.vlSymsp->__Vm_didInit = from.vlSymsp->__Vm_didInit;
        if (root.vlSymsp->__Vm_didInit) State::settle(root);
    }
    void give(Root& to) override {
        const auto& root = *model_->rootp;
        State::carry(root, to);
        to.vlSymsp->__Vm_didInit = root.vlSymsp->__Vm_didInit;
        if (root.vlSymsp->__Vm_didInit) State::settle(to);
    }
    void settle(std::uint64_t time, const In& in, Out& out) override {
        auto& root = *model_->rootp;
        context_->time(time);
        Ports::drive(root, in);
        if (Ports::kClocked) Ports::clock(root, 0);
        model_->eval();
        Ports::sample(root, out);
    }
    void rise(std::uint64_t time) override {
        context_->time(time);
        Ports::clock(*model_->rootp, 1);
        model_->eval();
    }
    void trace(VerilatedFstC& wave) override { model_->trace(&wave, 99); }

private:
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Model> model_;
};

}  // namespace verilated_rs

#endif
