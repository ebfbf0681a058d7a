//! The NIC under load in both directions, and idle but evaluated in every cycle. The stimulus is recorded once and
//! replayed by both loops.

use verilated::Settings;
use xoff_rtl::nic::{In, Out};
use xoff_rtl::{Nic, plain};

use crate::loads::{BUSY, IDLE};
use crate::{Extent, report, work};

const ROUNDS: usize = 11;

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

pub fn measure(extent: Extent) {
    let rounds = if extent == Extent::Quick { 1 } else { ROUNDS };
    for (name, stimulus) in [
        ("under load", work::nic(BUSY)),
        ("at rest", work::nic_at_rest(IDLE)),
    ] {
        let ratio = report(
            &format!("NIC {name}"),
            stimulus.len() as u64,
            rounds,
            || rust_loop(&stimulus),
            || plain::nic_loop(&stimulus),
        );
        println!("harness ratio nic: {ratio:.2} {name}");
    }
}
