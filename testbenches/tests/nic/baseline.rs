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
const CASES: u64 = 16;

/// Digests of cases with the seeds from sixteen times the place on. All have 64 QPs, with all their values random.
///
/// 2026-11-23: begun.
const BASELINE: [&str; 12] = [
    "9921fb39d1a6d966",
    "72d2aa885e2ce959",
    "256f07f8ae9c2932",
    "5fd03d1ba2b0739c",
    "85b4a6dc246b257f",
    "b647ee407910c657",
    "86423999bdaa9cf7",
    "26ac7a662f04b08d",
    "0a86727988a96f58",
    "794521aa230551f3",
    "0cffce8f5f8638c4",
    "08da3b59efcb37d9",
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
