//! What the build scripts of the tops have in common. The tops of `rtl/units.toml` are in two crates, so that who runs
//! networks does not compile those that only tests of units run.

#[path = "units.rs"]
mod units;

use std::env;

use verilated_build::{Build, Top};

/// The modules that the features `ungated` and `untraced` change.
const VARIED: [&str; 2] = ["nic", "nic_counters"];

/// Builds the tops of the running build script's crate. `special` adds to a top, by its name in Rust, what no other has.
pub fn run(special: impl Fn(&str, Top) -> Top) {
    let package = env::var("CARGO_PKG_NAME").expect("Cargo sets it");
    let mut build = build();
    for unit in units::read() {
        for top in unit.tops.iter().filter(|_| unit.package == package) {
            if let Some(name) = &top.rust {
                let made = (top.params()).fold(Top::new(&top.module), |made, (name, value)| {
                    made.param(name, value)
                });
                let mut made = special(name, made.named(name));
                if !unit.coverage {
                    made = made.without_coverage();
                }
                if VARIED.contains(&&*top.module) {
                    made = variant(made);
                }
                build = build.top(made);
            }
        }
    }
    build.run();
}

/// A build of tops of `rtl/`.
fn build() -> Build {
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
