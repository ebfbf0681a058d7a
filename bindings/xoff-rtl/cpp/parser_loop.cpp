// A plain C++ loop over the parser's model, as a C++ programmer would write it. It is the reference for the speed of
// the Rust side.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "PacketParser256.h"

// Runs `cycles` cycles and returns a digest of the outputs. The stimulus is repeated as often as needed.
extern "C" std::uint64_t xoff_plain_parser_loop(
    const models::PacketParser256In* stimulus, std::size_t length, std::uint64_t cycles) {
    const auto context = std::make_unique<VerilatedContext>();
    context->threads(1);
    const auto model = std::make_unique<models::PacketParser256>(context.get());
    std::uint64_t digest = 0;
    std::size_t at = 0;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
        const models::PacketParser256In& in = stimulus[at];
        at = at + 1 == length ? 0 : at + 1;
        model->rst_i = in.rst_i;
        model->rx_valid_i = in.rx_valid_i;
        model->rx_last_i = in.rx_last_i;
        model->rx_bytes_i = in.rx_bytes_i;
        for (int word = 0; word < 8; ++word) model->rx_data_i[word] = in.rx_data_i[word];
        model->clk_i = 0;
        model->eval();
        if (model->done_valid_o) digest = digest * 31 + model->result_o + model->bth_o[0];
        if (model->payload_valid_o) digest = digest * 31 + model->payload_data_o[7];
        context->timeInc(2560);
        model->clk_i = 1;
        model->eval();
        context->timeInc(2560);
    }
    return digest;
}
