// A plain C++ loop over the NIC's model, as a C++ programmer would write it. It is the reference for the speed of the
// Rust side.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "Nic.h"

// Runs one cycle for each element and returns a digest of the outputs.
extern "C" std::uint64_t xoff_plain_nic_loop(const models::NicIn* stimulus, std::size_t length) {
    const auto context = std::make_unique<VerilatedContext>();
    context->threads(1);
    const auto model = std::make_unique<models::Nic>(context.get());
    std::uint64_t digest = 0;
    for (std::size_t cycle = 0; cycle < length; ++cycle) {
        const models::NicIn& in = stimulus[cycle];
        model->rst_i = in.rst_i;
        model->rx_valid_i = in.rx_valid_i;
        model->rx_control_i = in.rx_control_i;
        model->rx_last_i = in.rx_last_i;
        model->rx_bytes_i = in.rx_bytes_i;
        model->tx_ready_i = in.tx_ready_i;
        model->work_valid_i = in.work_valid_i;
        model->work_qp_i = in.work_qp_i;
        model->recv_valid_i = in.recv_valid_i;
        model->recv_qp_i = in.recv_qp_i;
        model->cqe_ready_i = in.cqe_ready_i;
        model->read_ready_i = in.read_ready_i;
        model->data_valid_i = in.data_valid_i;
        model->data_tag_i = in.data_tag_i;
        model->data_last_i = in.data_last_i;
        model->write_ready_i = in.write_ready_i;
        model->awvalid_i = in.awvalid_i;
        model->wvalid_i = in.wvalid_i;
        model->wstrb_i = in.wstrb_i;
        model->bready_i = in.bready_i;
        model->arvalid_i = in.arvalid_i;
        model->rready_i = in.rready_i;
        model->awaddr_i = in.awaddr_i;
        model->araddr_i = in.araddr_i;
        for (int word = 0; word < 8; ++word) model->rx_data_i[word] = in.rx_data_i[word];
        for (int word = 0; word < 8; ++word) model->data_data_i[word] = in.data_data_i[word];
        model->wdata_i = in.wdata_i;
        model->now_i = in.now_i;
        for (int word = 0; word < 15; ++word) model->work_i[word] = in.work_i[word];
        for (int word = 0; word < 6; ++word) model->recv_i[word] = in.recv_i[word];
        model->clk_i = 0;
        model->eval();
        if (model->tx_valid_o) digest = digest * 31 + model->tx_data_o[7];
        if (model->write_valid_o) digest = digest * 31 + model->write_data_o[7];
        context->timeInc(2560);
        model->clk_i = 1;
        model->eval();
        context->timeInc(2560);
    }
    return digest;
}
