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
/// 2026-11-23: begun.
const BASELINE: [&str; 12] = [
    "50f693f923903846",
    "ac6c6c18e7577e95",
    "e953c9ff3c943f58",
    "08e73fa3806d3d14",
    "c1e604eedecb726f",
    "7249e94d6d0e6c21",
    "7aa038136ec42f1f",
    "150d0807d7624edc",
    "aa757e410031ec08",
    "ecd4372a9343bc76",
    "fc21340bfb348e16",
    "ff3da5cf1109330f",
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
