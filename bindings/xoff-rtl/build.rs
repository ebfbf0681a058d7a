//! Builds the tops of `rtl/units.toml` from which NICs, parsers and builders are made.

#[path = "../tops.rs"]
mod tops;

use verilated_build::Top;

fn main() {
    tops::run(|name, top| match name {
        "PacketParser256" => top.cpp("bindings/xoff-rtl/cpp/parser_loop.cpp"),
        "Nic" => nic(top),
        _ => top,
    });
}

fn nic(top: Top) -> Top {
    top.large()
        .waves_apart()
        .rescheduled()
        // Verilator takes several of these for one, and another one of them with waves.
        .readable("qp_set", "cleared_*")
        .sampled(&[
            &["now_i"],
            &[
                "rx_valid_i",
                "rx_control_i",
                "rx_last_i",
                "rx_bytes_i",
                "rx_data_i",
                "tx_ready_i",
                "read_ready_i",
                "data_valid_i",
                "data_tag_i",
                "data_last_i",
                "data_data_i",
                "write_ready_i",
            ],
        ])
        .cpp("bindings/xoff-rtl/cpp/nic_loop.cpp")
}
