//! The table of tops from which NICs, parsers and builders are made. Add a top by adding an entry.

#[path = "../tops.rs"]
mod tops;

use tops::{build, variant};
use verilated_build::Top;

fn main() {
    build()
        .top(
            Top::new("packet_parser")
                .param("DataBytes", 32)
                .named("PacketParser256")
                .cpp("bindings/xoff-rtl/cpp/parser_loop.cpp"),
        )
        .top(
            Top::new("packet_parser")
                .param("DataBytes", 64)
                .named("PacketParser512"),
        )
        .top(
            Top::new("packet_builder")
                .param("DataBytes", 32)
                .named("PacketBuilder256"),
        )
        .top(
            Top::new("packet_builder")
                .param("DataBytes", 64)
                .named("PacketBuilder512"),
        )
        .top(variant(
            Top::new("nic")
                .param("DataBytes", 32)
                .param("Qps", 64)
                .large()
                .waves_apart()
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
                // The NIC's hosts save its state, and with counts it would take many minutes to compile.
                .without_coverage()
                .cpp("bindings/xoff-rtl/cpp/nic_loop.cpp"),
        ))
        .run();
}
