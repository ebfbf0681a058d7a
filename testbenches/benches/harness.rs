//! What the Rust side costs: cycles a second of the parser under traffic, driven from Rust and by a plain C++ loop over the same model with the same stimulus, in turn.

use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use verilated::Settings;
use xoff::units::beat;
use xoff_rtl::packet_parser256::{In, Out};
use xoff_rtl::{PacketParser256, plain};
use xoff_sim::strategies;

const CYCLES: u64 = 100_000;
const ROUNDS: usize = 21;

/// Frames of all kinds and lengths, back to back.
fn traffic() -> Vec<In> {
    let mut runner = TestRunner::deterministic();
    let mut stimulus = vec![
        In {
            rst_i: 1,
            ..In::default()
        };
        2
    ];
    for _ in 0..400 {
        let frame = strategies::frame()
            .new_tree(&mut runner)
            .expect("nothing is rejected")
            .current();
        let last = (frame.bytes.len() - 1) / 32;
        for (b, bytes) in frame.bytes.chunks(32).enumerate() {
            let mut pins = In {
                rx_valid_i: 1,
                rx_last_i: u8::from(b == last),
                rx_bytes_i: bytes.len() as u8,
                ..In::default()
            };
            beat::put(&mut pins.rx_data_i, bytes);
            stimulus.push(pins);
        }
    }
    stimulus
}

fn rust_loop(stimulus: &[In], cycles: u64) -> u64 {
    let mut model = PacketParser256::new(&Settings::new("bench").period_ps(5_120))
        .expect("the settings are right");
    let mut out = Out::default();
    let mut digest = 0u64;
    let mut pins = stimulus.iter().cycle();
    for _ in 0..cycles {
        let pins = pins.next().expect("it never ends");
        model.cycle(pins, &mut out).expect("no assertion fails");
        if out.done_valid_o != 0 {
            digest = digest
                .wrapping_mul(31)
                .wrapping_add(out.result_o)
                .wrapping_add(out.bth_o[0].into());
        }
        if out.payload_valid_o != 0 {
            digest = digest
                .wrapping_mul(31)
                .wrapping_add(out.payload_data_o[7].into());
        }
    }
    digest
}

fn timed(run: impl FnOnce() -> u64) -> (Duration, u64) {
    let start = Instant::now();
    let digest = run();
    (start.elapsed(), digest)
}

fn main() {
    let stimulus = traffic();
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| {
            let (rust, from_rust) = timed(|| rust_loop(&stimulus, CYCLES));
            let (plain, from_cpp) = timed(|| plain::parser_loop(&stimulus, CYCLES));
            assert_eq!(from_rust, from_cpp, "both loops see the same outputs");
            let rate = |time: Duration| CYCLES as f64 / time.as_secs_f64();
            (rate(rust), rate(plain))
        })
        .collect();
    println!(
        "parser, {} frames' worth of beats, {ROUNDS} rounds of {CYCLES} cycles, medians",
        400
    );
    // A ratio within a round: both loops then had the machine to the same degree.
    rounds.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let ratio = rounds[ROUNDS / 2].0 / rounds[ROUNDS / 2].1;
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<_> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[ROUNDS / 2]
    };
    println!(
        "  driven from Rust {:>12.0} cycles/s",
        median(|round| round.0)
    );
    println!(
        "  plain C++ loop   {:>12.0} cycles/s",
        median(|round| round.1)
    );
    println!("harness ratio parser: {ratio:.2}");
}
