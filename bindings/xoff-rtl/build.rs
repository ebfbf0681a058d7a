//! The table of tops. Add a top by adding an entry.

use std::env;

use verilated_build::{Build, Top};

fn main() {
    let mut build = Build::new();
    // `make mutants` replaces a unit's tops by netlists with mutations.
    println!("cargo::rerun-if-env-changed=XOFF_MUTANTS");
    if let (true, Ok(folder)) = (cfg!(feature = "mutants"), env::var("XOFF_MUTANTS")) {
        build = build.netlists(folder);
    }
    // `make planted` replaces modules of single tops by broken ones. It is no feature, so that what is compiled from
    // the rest of the sources is the same, and compiled once.
    println!("cargo::rerun-if-env-changed=XOFF_PLANTED");
    if let Ok(folder) = env::var("XOFF_PLANTED") {
        println!("cargo::rerun-if-changed={folder}");
        build = build.modules(folder);
    }
    build
        // Paths in messages start at the repository's root: `rtl/parser/packet_parser.sv`.
        .root("../..")
        // The packages in their order, and the folders of modules.
        .list("rtl/rtl.f")
        .waiver("rtl/waivers.vlt")
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
        // A quantum is 512 bit times: 5/2 cycles at 40 Gb/s and 195.3125 MHz, 8/5 at 100 Gb/s and 312.5 MHz.
        .top(
            Top::new("pfc_rx")
                .param("QuantumNum", 5)
                .param("QuantumDen", 2)
                .named("PfcRx40"),
        )
        .top(
            Top::new("pfc_rx")
                .param("QuantumNum", 8)
                .param("QuantumDen", 5)
                .named("PfcRx100"),
        )
        .top(Top::new("pfc_tx"))
        .top(Top::new("pause_watchdog"))
        .top(Top::new("dcqcn_rp_step").named("DcqcnRpStep"))
        .top(Top::new("dcqcn_rp").param("Qps", 64).named("DcqcnRp"))
        .top(Top::new("dcqcn_rp").param("Qps", 4).named("DcqcnRp4"))
        .top(Top::new("dcqcn_np").param("Qps", 64).named("DcqcnNp"))
        .top(
            Top::new("rate_limiter")
                .param("Qps", 64)
                .named("RateLimiter"),
        )
        .top(
            Top::new("rate_limiter")
                .param("Qps", 4)
                .named("RateLimiter4"),
        )
        .top(
            Top::new("gbn_requester")
                .param("Qps", 64)
                .param("Wqes", 16)
                .named("GbnRequester"),
        )
        .top(
            Top::new("gbn_requester")
                .param("Qps", 4)
                .param("Wqes", 4)
                .named("GbnRequester4"),
        )
        .top(
            Top::new("gbn_responder")
                .param("Qps", 64)
                .param("Recvs", 16)
                .named("GbnResponder"),
        )
        .top(
            Top::new("gbn_responder")
                .param("Qps", 4)
                .param("Recvs", 4)
                .named("GbnResponder4"),
        )
        .top(variant(Top::new("nic_counters")))
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

/// With the feature `ungated`, clock gates are wires; with `untraced`, the model has no waves.
fn variant(mut top: Top) -> Top {
    if cfg!(feature = "ungated") {
        top = top.flag("-DCLOCK_GATE_WIRE");
    }
    if cfg!(feature = "untraced") {
        top = top.without_waves();
    }
    top
}
