//! The table of tops. A new one is a line.

use verilated_build::{Build, Top};

fn main() {
    Build::new()
        // Messages name files as they are called from here: `rtl/parser/packet_parser.sv`.
        .root("../..")
        .packages([
            "rtl/pkg/eth_pkg.sv",
            "rtl/pkg/roce_pkg.sv",
            "rtl/pkg/stream_pkg.sv",
            "rtl/pkg/crc_pkg.sv",
            "rtl/pkg/parser_pkg.sv",
        ])
        .search(["rtl/prim", "rtl/parser"])
        .waiver("rtl/waivers.vlt")
        .top(
            Top::new("packet_parser")
                .param("DataBytes", 32)
                .named("PacketParser256"),
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
        .run();
}
