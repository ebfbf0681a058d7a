//! The table of the test modules.

use verilated_build::{Build, Top};

fn main() {
    Build::new()
        .list("sv/tests.f")
        .waiver("sv/waivers.vlt")
        .top(Top::new("adder"))
        .top(Top::new("alarms"))
        .top(Top::new("array_ports"))
        .top(Top::new("counter"))
        .top(Top::new("counter").without_waves().named("WavelessCounter"))
        .top(
            Top::new("counter")
                .param("Width", 12)
                .param("Limit", 100)
                .named("Counter12"),
        )
        .top(
            Top::new("counter")
                .param("Limit", 250)
                .sampled(&[&["en_i"]])
                .named("SampledCounter"),
        )
        .top(
            Top::new("counter")
                .param("Limit", 250)
                .sampled(&[&["en_i"]])
                .rescheduled()
                .named("RescheduledCounter"),
        )
        .top(Top::new("gated").readable("gated", "turned"))
        .top(gated().named("GatedRescheduled"))
        .top(gated().waves_apart().large().named("GatedApart"))
        .top(Top::new("hidden").readable("hidden", "rows_q"))
        .top(
            Top::new("hidden")
                .waves_apart()
                .readable("hidden", "rows_q")
                .named("HiddenApart"),
        )
        .top(
            Top::new("hidden")
                .waves_apart()
                .sampled(&[&["write_i", "row_i"]])
                .large()
                .named("HiddenSampled"),
        )
        .top(
            Top::new("lanes")
                .readable("lanes", "meta_q")
                .readable("lanes", "count_q")
                .readable("lane_store", "*_q"),
        )
        .top(Top::new("match"))
        .top(Top::new("pipeline").cpp("cpp/plain_loop.cpp"))
        .top(Top::new("ram"))
        .top(Top::new("ram").param("Words", 65_536).named("LargeRam"))
        .top(Top::new("regs"))
        .top(
            Top::new("sample")
                .param("Width", 7)
                .source("../verilated-build/tests/types/sample.sv")
                .flag("-Wno-lint")
                .flag("-Wno-style"),
        )
        .top(Top::new("spin"))
        .top(Top::new("wide_ports"))
        .top(Top::new("wide_reset"))
        .run();
}

fn gated() -> Top {
    Top::new("gated")
        .sampled(&[&["step_i"]])
        .rescheduled()
        .readable("gated", "turned")
}
