//! Compares the cycles per second of one model driven from Rust with those of a plain C++ loop, alternately in one
//! run.

use std::time::{Duration, Instant};

use verilated::Settings;
use verilated_tests::pipeline::{In, Out};
use verilated_tests::{Pipeline, pipeline_loop};

const CYCLES: u64 = 20_000;
const TURNS: usize = 60;

fn stimulus() -> Vec<In> {
    let mut state = 88_172_645_463_325_252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..1024)
        .map(|at| {
            let mut data_i = [0; 16];
            data_i.fill_with(|| next() as u32);
            In {
                rst_i: u8::from(at < 4),
                valid_i: u8::from(next() % 8 != 0),
                last_i: u8::from(next() % 9 == 0),
                data_i,
            }
        })
        .collect()
}

fn rust_loop(stimulus: &[In], cycles: u64) -> u64 {
    let mut model = Pipeline::new(&Settings::new("bench")).expect("the settings are right");
    let mut out = Out::default();
    let mut digest = 0u64;
    for cycle in 0..cycles {
        model
            .cycle(
                &stimulus[(cycle % stimulus.len() as u64) as usize],
                &mut out,
            )
            .expect("nothing fails");
        digest = digest
            .wrapping_mul(31)
            .wrapping_add(u64::from(out.crc_o))
            .wrapping_add(u64::from(out.data_o[7]))
            .wrapping_add(out.total_o)
            .wrapping_add(u64::from(out.valid_o));
    }
    digest
}

/// Takes the best of many turns, because other work on the machine can only slow a turn down.
fn main() {
    let stimulus = stimulus();
    let (mut rust, mut plain) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        let start = Instant::now();
        let from_rust = rust_loop(&stimulus, CYCLES);
        rust = rust.min(start.elapsed());
        let start = Instant::now();
        let from_cpp = pipeline_loop(&stimulus, CYCLES);
        plain = plain.min(start.elapsed());
        assert_eq!(from_rust, from_cpp, "both loops must see the same outputs");
    }
    let rate = |time: Duration| CYCLES as f64 / time.as_secs_f64();
    println!("driven from Rust    {:>12.0} cycles/s", rate(rust));
    println!("plain C++ loop      {:>12.0} cycles/s", rate(plain));
    println!("ratio               {:>12.3}", rate(rust) / rate(plain));
}
