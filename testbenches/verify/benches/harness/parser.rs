//! The parser under load.

use verilated::Settings;
use xoff_rtl::packet_parser256::{In, Out};
use xoff_rtl::{PacketParser256, plain};

use crate::{Extent, report, work};

const CYCLES: u64 = 100_000;
const ROUNDS: usize = 21;

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

pub fn measure(extent: Extent) {
    let rounds = if extent == Extent::Quick { 1 } else { ROUNDS };
    let stimulus = work::parser(400);
    let ratio = report(
        "parser, 400 frames' worth of beats",
        CYCLES,
        rounds,
        || rust_loop(&stimulus, CYCLES),
        || plain::parser_loop(&stimulus, CYCLES),
    );
    println!("harness ratio parser: {ratio:.2}");
}
