//! Cost of the Rust side: cycles per second of a unit, driven alternately from Rust and by a plain C++ loop over the
//! same model with the same stimulus. Also the cost of the models, and that of a network as it grows.
//!
//! `cargo bench --bench harness` measures all, `cargo bench --bench harness -- network` one of `parser`, `nic`,
//! `gates`, `tracing`, `network`. With `--quick` the parts that need no other build run for a moment, to see that they do.

use std::time::{Duration, Instant};

mod gates;
mod loads;
mod network;
mod nic;
mod parser;
mod tracing;
mod variants;
#[path = "../work.rs"]
mod work;

/// That of `xoff`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// As usual.
    Whole,
    /// So little that times mean nothing; what needs another build is left out.
    Quick,
}

fn timed(run: impl FnOnce() -> u64) -> (Duration, u64) {
    let start = Instant::now();
    let digest = run();
    (start.elapsed(), digest)
}

/// Times both loops, prints cycles per second and returns their ratio.
fn report(
    name: &str,
    cycles: u64,
    count: usize,
    rust: impl Fn() -> u64,
    plain: impl Fn() -> u64,
) -> f64 {
    let mut rounds: Vec<(f64, f64)> = (0..count)
        .map(|_| {
            let (rust, from_rust) = timed(&rust);
            let (plain, from_cpp) = timed(&plain);
            assert_eq!(from_rust, from_cpp, "both loops see the same outputs");
            let rate = |time: Duration| cycles as f64 / time.as_secs_f64();
            (rate(rust), rate(plain))
        })
        .collect();
    println!("{name}, {count} rounds of {cycles} cycles, medians");
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<_> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[count / 2]
    };
    println!(
        "  driven from Rust {:>12.0} cycles/s",
        median(|round| round.0)
    );
    println!(
        "  plain C++ loop   {:>12.0} cycles/s",
        median(|round| round.1)
    );
    // The ratio is taken within a round, in which both loops had the same share of the machine.
    rounds.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    rounds[count / 2].0 / rounds[count / 2].1
}

fn main() {
    // Cargo adds options of its own, such as `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [single, name, threads] = &arguments[..]
        && single == network::SINGLE
    {
        return network::single(name, threads);
    }
    if let [single, name] = &arguments[..]
        && single == loads::SINGLE
    {
        return loads::single(name);
    }
    let named: Vec<&String> = (arguments.iter())
        .filter(|name| !name.starts_with("--"))
        .collect();
    let extent = match arguments.iter().any(|argument| argument == "--quick") {
        true => Extent::Quick,
        false => Extent::Whole,
    };
    type Part = (&'static str, fn(Extent));
    let parts: [Part; 5] = [
        ("parser", parser::measure),
        ("nic", nic::measure),
        ("gates", gates::measure),
        ("tracing", tracing::measure),
        ("network", network::measure),
    ];
    let known = parts.map(|(name, _)| name);
    if let Some(unknown) = named.iter().find(|name| !known.contains(&name.as_str())) {
        eprintln!("'{unknown}': there are {}", known.join(", "));
        std::process::exit(2);
    }
    for (name, measure) in parts {
        if named.is_empty() || named.iter().any(|given| *given == name) {
            measure(extent);
        }
    }
}
