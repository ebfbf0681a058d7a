//! Builds the tops of `rtl/units.toml` that only tests of units run.

#[path = "../tops.rs"]
mod tops;

fn main() {
    tops::run(|_, top| top);
}
