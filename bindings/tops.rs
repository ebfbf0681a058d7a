//! What the tables of tops have in common. They are in two crates, so that who runs networks does not compile the tops
//! that only tests of units run.

use std::env;

use verilated_build::{Build, Top};

/// A build of tops of `rtl/`.
pub fn build() -> Build {
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
pub fn variant(mut top: Top) -> Top {
    if cfg!(feature = "ungated") {
        top = top.flag("-DCLOCK_GATE_WIRE");
    }
    if cfg!(feature = "untraced") {
        top = top.without_waves();
    }
    top
}
