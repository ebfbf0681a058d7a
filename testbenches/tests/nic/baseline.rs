//! What the NIC does in kept random cases, to the cycle.
//!
//! The properties say what is right. This says what is the same: a change of the RTL that moves a frame, a completion
//! or a write by a cycle, or lets another QP go first, changes a digest here, wanted or not; so does one of how cases
//! are drawn. `xoff regress` finds the first cycle, port and frame in which two versions differ.

use xoff::property::nic::bench;
use xoff::property::nic::events::history_of;
use xoff_sim::kernel::Digest;
use xoff_sim::seeded::SplitMix;

use crate::tested::judged;

/// QPs of a case: all.
const QPS: u16 = xoff_rtl::nic::QPS as u16;
/// Cases of a digest.
const CASES: u64 = 10;

/// Digests of cases with the seeds from ten times the place on. All have 64 QPs, with all their values random.
///
/// 2026-11-23: begun; regions at all 256 indices; deadlines no longer wait for a sweep of all QPs; random
/// immediate data and identifiers; headers have a register of their own in front of the frame.
const BASELINE: [&str; 12] = [
    "7f010db268b1b9d6",
    "1d30820a1fb67b9b",
    "8ebf91f7981dca0a",
    "38502b8bc4957127",
    "5afd74ab454d2e2f",
    "6642d50fb585a580",
    "4bbf580517fc8510",
    "1402577d4f574955",
    "cf56f6b84d076d84",
    "8345331942dc8f49",
    "9d2adb852d2c1562",
    "fc6fd441604dcb3f",
];

fn digest(seed: u64) -> Digest {
    let mut case = history_of(QPS, &mut SplitMix::new(seed));
    (case.head.twice, case.head.values) = (false, seed + 1);
    let digest = judged(|| bench::digest(seed, &case.head, &case.events));
    digest.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"))
}

#[test]
fn random_cases_of_64_qps_run_as_before() {
    for (place, expected) in (0..).zip(BASELINE) {
        let mut all = Digest::default();
        let seeds = CASES * place..CASES * (place + 1);
        seeds.clone().for_each(|seed| all.part(digest(seed)));
        assert_eq!(all.to_string(), expected, "seeds {seeds:?}");
    }
}
