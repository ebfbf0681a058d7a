//! What the NIC does in kept random cases, to the cycle.
//!
//! The properties say what is right. This says what is the same: a change of the RTL that moves a frame, a completion
//! or a write by a cycle, or lets another QP go first, changes a digest here, wanted or not; so does one of how cases
//! are drawn. `xoff regress` finds the first cycle, port and frame in which two versions differ.

use xoff_sim::kernel::Digest;
use xoff_sim::seeded::SplitMix;
use xoff_verify::property::nic::bench;
use xoff_verify::property::nic::events::history_of;

/// QPs of a case: all.
const QPS: u16 = xoff_rtl::nic::QPS as u16;
/// Cases of a digest.
const CASES: u64 = 10;

/// Digests of cases with the seeds from ten times the place on. All have 64 QPs, with all their values random.
///
/// 2026-11-23: begun; regions at all 256 indices; deadlines no longer wait for a sweep of all QPs; random immediate
/// data and identifiers, later their low bits too; headers have a register of their own before the frame. 2026-11-24:
/// events pass those of QPs in the requester's pipeline, and an answer completes the oldest message; MAC control goes
/// ahead of other frames. 2026-11-25: QPs have their turns in rounds over all classes, an ACK timer waits for answers that
/// are in the NIC, and mostly NAKs use up retries; frames of another VLAN than the QP's, as a flipped bit makes them, are
/// dropped; answers of a quarter of the QPs have a class of their own. 2026-11-26: answers go ahead of requests, a class
/// takes slots by what is left, and a QP has a step every two cycles at the responder. 2026-11-27: CLOSE waits for
/// completions behind READ data, too, and for atomics at the host, some cycles if there are none. A QP that fails on its
/// receive side sends nothing more, and such failures come one at a time. Messages are sent from memory that is
/// registered, and some of it cannot be read. 2026-11-28: a digest takes the hash of a frame's bytes in place of them.
/// 2026-11-29: classes share the port by weight; packets above 2 KiB take fewer slots, and a round is one for QPs in the
/// requester's pipeline, too; writes of registers take a cycle more, the oldest packet of a class is offered from its
/// second cycle on, and completions of the requester go into the queue a cycle later.
const BASELINE: [&str; 12] = [
    "0e652a4afd3af1ce",
    "1b51b2693c41922e",
    "3f60078b170288d6",
    "8f995f8e7cc01284",
    "3e75bb774962f583",
    "792c338477f0673e",
    "c1b1e50e0506ce5c",
    "0bc954f43392774a",
    "cebf363fb047c98c",
    "6840211bbce7be37",
    "c55eb05599d11145",
    "4445aad054bf97d8",
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
