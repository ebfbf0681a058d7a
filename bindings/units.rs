//! The list of units and tops, `rtl/units.toml`, which says what its keys mean. Build scripts have this as a module: of
//! the crates of tops, and of `xoff-verify`.

// Each script reads a part.
#![allow(dead_code)]

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The file, relative to the folders of the crates that read it.
const FILE: &str = "../../rtl/units.toml";

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    unit: Vec<Unit>,
}

/// A unit. Of its keys, `proofs` is for tools alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    pub name: String,
    #[serde(rename = "crate", default = "tops_of_tests")]
    pub package: String,
    pub fuzz: Option<String>,
    #[serde(default)]
    pub cases: u64,
    #[serde(default)]
    pub cost: u64,
    #[serde(default = "counts")]
    pub coverage: bool,
    #[serde(default)]
    pub tops: Vec<Top>,
    #[serde(rename = "proofs")]
    _proofs: Option<IgnoredAny>,
}

fn tops_of_tests() -> String {
    "xoff-rtl-units".to_owned()
}

fn counts() -> bool {
    true
}

/// A top. The other keys are for tools alone.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Top {
    pub module: String,
    #[serde(default)]
    pub params: String,
    pub rust: Option<String>,
    #[serde(rename = "synth")]
    _synth: Option<IgnoredAny>,
    #[serde(rename = "mutants")]
    _mutants: Option<IgnoredAny>,
    #[serde(rename = "gates")]
    _gates: Option<IgnoredAny>,
}

impl Top {
    /// Names and values of its parameters.
    ///
    /// # Panics
    ///
    /// Panics if they are not written as `Name=value Name=value`.
    pub fn params(&self) -> impl Iterator<Item = (&str, &str)> {
        self.params.split_whitespace().map(|word| {
            word.split_once('=').unwrap_or_else(|| {
                panic!(
                    "rtl/units.toml: {}: params = \"{}\"; they are \"Name=value Name=value\"",
                    self.module, self.params
                )
            })
        })
    }
}

/// Reads the list, in its order, and has Cargo run the build script again when it changes.
///
/// # Panics
///
/// Panics with a message that names the file and the line if the list cannot be read.
pub fn read() -> Vec<Unit> {
    println!("cargo::rerun-if-changed={FILE}");
    let text = std::fs::read_to_string(Path::new(FILE));
    let text = text.unwrap_or_else(|error| panic!("rtl/units.toml: {error}"));
    let list: Result<List, _> = toml::from_str(&text);
    list.unwrap_or_else(|error| panic!("rtl/units.toml: {error}"))
        .unit
}
