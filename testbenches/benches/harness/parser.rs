//! The parser under load.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use verilated::Settings;
use xoff_cosim::units::beat;
use xoff_rtl::packet_parser256::{In, Out};
use xoff_rtl::{PacketParser256, plain};
use xoff_sim::strategies;

use crate::report;

const CYCLES: u64 = 100_000;
const ROUNDS: usize = 21;

/// Returns frames of all kinds and lengths, back to back.
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

pub fn measure() {
    let stimulus = traffic();
    let ratio = report(
        "parser, 400 frames' worth of beats",
        CYCLES,
        ROUNDS,
        || rust_loop(&stimulus, CYCLES),
        || plain::parser_loop(&stimulus, CYCLES),
    );
    println!("harness ratio parser: {ratio:.2}");
}
