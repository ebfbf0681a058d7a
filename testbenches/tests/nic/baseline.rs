//! What the NIC does in kept random cases, to the cycle.
//!
//! The properties say what is right. This says what is the same: a change of the RTL that moves a frame, a completion
//! or a write by a cycle, or lets another QP go first, changes a digest here, wanted or not; so does one of how cases
//! are drawn. `xoff regress` finds the first cycle, port and frame in which two versions differ.

use xoff::property::nic::bench;
use xoff::property::nic::events::history_of;
use xoff_sim::kernel::Digest;
use xoff_sim::seeded::SplitMix;

/// QPs of a case: all.
const QPS: u16 = xoff_rtl::nic::QPS as u16;
/// Cases of a digest.
const CASES: u64 = 10;

/// Digests of cases with the seeds from ten times the place on. All have 64 QPs, with all their values random.
///
/// 2026-11-23: begun; regions at all 256 indices; deadlines no longer wait for a sweep of all QPs; random immediate
/// data and identifiers, later their low bits too; headers have a register of their own before the frame. 2026-11-24:
/// events pass those of QPs in the requester's pipeline, and an answer completes the oldest message; MAC control goes
/// ahead of other frames. 2026-11-25: a frame in whose tag a flip has changed the VLAN, which no ICRC covers, is dropped.
const BASELINE: [&str; 12] = [
    "486fef6860ae936b",
    "edfb7d3473fd0893",
    "66c614f35074e84d",
    "c8802518b8ba2654",
    "a102dfc9a04d356e",
    "6d92e24b23fda9fb",
    "19275e387b152d54",
    "0f0e8838fcaca468",
    "efb0a4508ed501f9",
    "b7266be5980eb002",
    "4f0c273e48935322",
    "0df03ad44c57e765",
];

fn digest(seed: u64) -> Digest {
    let mut case = history_of(QPS, &mut SplitMix::new(seed));
    (case.head.twice, case.head.values) = (false, seed + 1);
    let digest = bench::digest(seed, &case.head, &case.events);
    digest.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"))
}

#[test]
fn random_cases_of_64_qps_run_as_before() {
    let mut now = vec![];
    for place in 0..BASELINE.len() as u64 {
        let mut all = Digest::default();
        let seeds = CASES * place..CASES * (place + 1);
        seeds.for_each(|seed| all.part(digest(seed)));
        now.push(all.to_string());
    }
    assert_eq!(now, BASELINE);
}
