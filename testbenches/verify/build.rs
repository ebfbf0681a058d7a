//! Writes what the programs and tests go through, from the list of units and tops, `rtl/units.toml`.

#[path = "../../bindings/units.rs"]
mod units;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use units::Unit;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let units = units::read();
    let out = env::var("OUT_DIR").expect("Cargo sets it");
    for (name, text) in [("units.rs", list(&units)), ("tops.rs", tops(&units))] {
        fs::write(Path::new(&out).join(name), text).expect("the folder for output can be written");
    }
}

/// For `property/unit.rs`: the units with properties, as a macro with the list and as a constant for each.
fn list(units: &[Unit]) -> String {
    let (mut entries, mut constants) = (String::new(), String::new());
    for unit in units {
        let Some(help) = &unit.fuzz else { continue };
        let Unit {
            name, cases, cost, ..
        } = unit;
        assert!(
            *cases > 0,
            "rtl/units.toml: {name}: a unit with a property has `cases`"
        );
        let (camel, upper) = (upper_camel(name), name.to_uppercase());
        let tops: Vec<_> = rust_tops(unit).collect();
        let _ = writeln!(
            entries,
            "            #[doc = {help:?}] {camel}, {name}::{camel}, {upper};"
        );
        let _ = writeln!(
            constants,
            "/// {help}.\npub const {upper}: Listed = \
             Listed {{ name: {name:?}, cases: {cases}, cost: {cost}, tops: &{tops:?} }};"
        );
    }
    format!(
        "/// Calls a macro with the list of units: their help, variants of [`Unit`], modules, properties, and constants\n\
         /// of what is listed.\n\
         #[macro_export]\nmacro_rules! for_each_unit {{\n    ($callback:ident) => {{\n        $callback! {{\n\
         {entries}        }}\n    }};\n}}\n\n{constants}"
    )
}

/// For `cost/size.rs`: the tops by their crates, for a macro there.
fn tops(units: &[Unit]) -> String {
    let mut text = String::from("tops! {\n");
    for unit in units {
        let package = unit.package.replace('-', "_");
        for name in rust_tops(unit) {
            let _ = writeln!(text, "    {package}::{name},");
        }
    }
    text + "}\n"
}

/// The tops of a unit that are types in Rust.
fn rust_tops(unit: &Unit) -> impl Iterator<Item = &str> {
    unit.tops.iter().filter_map(|top| top.rust.as_deref())
}

/// `gbn` → `Gbn`.
fn upper_camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}
