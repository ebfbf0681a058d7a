//! The NIC under load in both directions, and idle but evaluated in every cycle. The stimulus is recorded once and
//! replayed by both loops.

use verilated::Settings;
use xoff::property::nic::pair::{PERIOD, Pair, PairConfig, REGION, all};
use xoff_rtl::nic::{In, Out};
use xoff_rtl::{Nic, plain};
use xoff_sim::protocol::gbn::{Work, WorkKind};

use crate::report;

const QPS: u16 = 8;
/// Cycles under load.
const BUSY: u64 = 20_000;
/// Idle cycles.
const IDLE: u64 = 40_000;
const ROUNDS: usize = 11;

/// Returns the inputs of a NIC from its reset on: registers, then QPs that write 64 kB messages in both directions.
fn load() -> Vec<In> {
    let mut pair = Pair::of(&PairConfig {
        seed: 1,
        settings: None,
        change: &|_| {},
        qps: QPS,
        read_delay: PERIOD * 100,
        record: true,
    })
    .expect("the NIC keeps its rules");
    for id in 0..16 {
        for qp in 0..QPS {
            for side in 0..2 {
                let work = Work {
                    kind: WorkKind::WRITE,
                    length: 1 << 16,
                    local_va: 0x7F00_0000_0000 + (u64::from(qp) << 20),
                    remote_va: REGION + (u64::from(qp) << 20),
                    remote_key: pair.key[1 - side],
                    id,
                    ..Work::default()
                };
                pair.post(side, qp, work);
            }
        }
    }
    for _ in 0..BUSY {
        pair.step(&mut all).expect("the NIC keeps its rules");
    }
    pair.update(0, |host| host.take_record())
}

/// Returns the inputs for a reset followed by idle cycles.
fn rest() -> Vec<In> {
    let mut stimulus: Vec<_> = (0..IDLE)
        .map(|now_i| In {
            now_i,
            ..In::default()
        })
        .collect();
    stimulus[0].rst_i = 1;
    stimulus
}

fn rust_loop(stimulus: &[In]) -> u64 {
    let mut model =
        Nic::new(&Settings::new("bench").period_ps(5_120)).expect("the settings are right");
    let mut out = Out::default();
    let mut digest = 0u64;
    for pins in stimulus {
        model.cycle(pins, &mut out).expect("no assertion fails");
        if out.tx_valid_o != 0 {
            digest = (digest.wrapping_mul(31)).wrapping_add(out.tx_data_o[7].into());
        }
        if out.write_valid_o != 0 {
            digest = (digest.wrapping_mul(31)).wrapping_add(out.write_data_o[7].into());
        }
    }
    digest
}

pub fn measure() {
    for (name, stimulus) in [("under load", load()), ("at rest", rest())] {
        let ratio = report(
            &format!("NIC {name}"),
            stimulus.len() as u64,
            ROUNDS,
            || rust_loop(&stimulus),
            || plain::nic_loop(&stimulus),
        );
        println!("harness ratio nic: {ratio:.2} {name}");
    }
}
