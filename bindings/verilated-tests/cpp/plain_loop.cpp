// A plain C++ loop over the same model, as a C++ programmer would write it. It is the reference for the speed of the
// Rust side.
#include <cstdint>
#include <cstring>
#include <memory>

#include "Pipeline.h"

// Runs `cycles` cycles and returns a digest of the outputs. The stimulus is repeated as often as needed.
extern "C" std::uint64_t plain_pipeline(const models::PipelineIn* stimulus, std::size_t length, std::uint64_t cycles) {
    const auto context = std::make_unique<VerilatedContext>();
    context->threads(1);
    const auto model = std::make_unique<models::Pipeline>(context.get());
    std::uint64_t digest = 0;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
        const models::PipelineIn& in = stimulus[cycle % length];
        model->rst_i = in.rst_i;
        model->valid_i = in.valid_i;
        model->last_i = in.last_i;
        for (int word = 0; word < 16; ++word) model->data_i[word] = in.data_i[word];
        model->clk_i = 0;
        model->eval();
        digest = digest * 31 + model->crc_o + model->data_o[7] + model->total_o + model->valid_o;
        context->timeInc(500);
        model->clk_i = 1;
        model->eval();
        context->timeInc(500);
    }
    return digest;
}
