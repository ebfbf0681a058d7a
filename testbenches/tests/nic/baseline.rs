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
/// 2026-11-23: begun; regions at all 256 indices; deadlines no longer wait for a sweep of all QPs.
const BASELINE: [&str; 12] = [
    "d774375f8bcbce4d",
    "1a6a4eb9e3f8e5a1",
    "e83624387f7ccb4f",
    "ce2c1a22cf0674e6",
    "ee9c2c9b72aaf484",
    "159064715e251b22",
    "a60bbfd30e659c2f",
    "f0e75fe3ace0032a",
    "9e5c85a122edf014",
    "10128c2c8e2c8536",
    "8e5c6d588555c76a",
    "8a3dd16b30c58c75",
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
