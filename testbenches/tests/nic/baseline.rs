//! What the NIC does in kept random cases, to the cycle.
//!
//! The properties say what is right. This says what is the same: a change of the RTL that moves a frame, a completion or
//! a write by a cycle, or lets another QP go first, changes a digest here, wanted or not; so does one of how cases are
//! drawn. `xoff regress` finds the first
//! cycle, port and frame in which two versions differ.

use xoff::property::nic::bench;
use xoff::property::nic::events::history;
use xoff_sim::kernel::Digest;
use xoff_sim::seeded::SplitMix;

use crate::tested::judged;

/// Cases of a digest.
const CASES: u64 = 10;

/// Digests of cases with the seeds from ten times the place on. All have 64 QPs, with all their values random.
///
/// 2026-11-23: begun.
const BASELINE: [&str; 12] = [
    "bcef00f2df567780",
    "feb2185bb1594d1a",
    "0d16cb820e106e78",
    "792f84e1b6ebf4e0",
    "5b031fa574258c53",
    "98741c68fc6589f4",
    "48689886eed0d5f5",
    "303007f77d07fa76",
    "7389936c42c7cc02",
    "fe24c170a03d72df",
    "2fb57d9d47525047",
    "3ac2c673ca1857c0",
];

fn digest(seed: u64) -> Digest {
    let mut case = history(&mut SplitMix::new(seed));
    (case.head.qps, case.head.twice) = (64, false);
    case.head.values = seed + 1;
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
