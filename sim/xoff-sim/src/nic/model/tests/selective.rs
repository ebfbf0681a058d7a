//! Selective repeat: what a loss costs, and that memory and completions are as without it.

use std::collections::BTreeMap;

use super::flows::one_flow;
use super::losses::{LIVELOCK, one_buffer};
use super::*;
use crate::kernel::Direction;
use crate::protocol::gbn::requester::selective::Selective;
use crate::protocol::parse;
use crate::wire::Syndrome;

fn selective(qp: &mut QpSettings) {
    qp.selective = Some(Selective {
        few_timeout: 1,
        packets: 64,
    });
    qp.requester.window = 64;
    qp.requester.ack_every = 1;
}

/// What B's port sees.
#[derive(Default)]
struct Seen {
    /// How often each PSN arrived.
    arrived: BTreeMap<u32, u32>,
    /// NAKs: the missing packet, and the one that came.
    naks: Vec<(Psn, Psn)>,
}

impl Seen {
    fn see(&mut self, record: &Record) {
        let frame = parse(&record.frame.bytes.whole());
        let Some(bth) = frame.bth else { return };
        let psn = bth.psn.get();
        match (record.direction, frame.ext.and_then(|ext| ext.aeth)) {
            (Direction::Sent, Some(aeth)) if aeth.syndrome == Syndrome::PSN_SEQUENCE_ERROR => {
                self.naks.push((bth.psn, Psn::wrapping(aeth.msn.get())));
            }
            (_, Some(_)) | (Direction::Sent, None) => {}
            (Direction::Received, None) => *self.arrived.entry(psn).or_default() += 1,
        }
    }
}

#[test]
fn a_loss_costs_one_packet() {
    for kind in [WorkKind::SEND, WorkKind::WRITE, WorkKind::WRITE_IMM] {
        let config = flow(0, kind, 256 << 10, Some(40));
        let mut network = one_flow(&config, selective, [&[LIVELOCK], &[]]);
        network.tap(B, PortId(0), true);
        let mut seen = Seen::default();
        finish(&mut network, us(20_000), |records| {
            records.iter().for_each(|record| seen.see(record));
        });
        let dropped = network.counters(A, PortId(0)).frames_sent
            - network.counters(B, PortId(0)).frames_received;
        let resent = network.node(A).counters().get(reg::RESENT_OUT);
        println!("{dropped} lost, {resent} sent again");
        assert!(dropped > 35, "{dropped}");
        assert_eq!(resent, dropped, "no more and no less");
        assert!(seen.arrived.values().all(|times| *times == 1));
        assert_eq!(network.node(A).counters().get(reg::TIMEOUTS), 0);
        assert!(
            seen.naks
                .iter()
                .all(|(missing, came)| came.ahead_of(*missing) > 0)
        );
        assert_eq!(network.node(A).host().senders()[0].delivered().len(), 40);
        good(network.node(A));
        good(network.node(B));
    }
}

#[test]
fn memory_and_completions_are_exact_whatever_is_lost_or_comes_late() {
    for (place, faults) in [
        [
            ["any, chance 5/100: drop"].as_slice(),
            &["any, chance 5/100: drop"],
        ],
        [
            &["any, chance 1/10: delay 3 us"],
            &["any, chance 1/10: delay 3 us"],
        ],
        [
            &["any, chance 5/100: duplicate"],
            &["any, chance 5/100: duplicate"],
        ],
        [
            &["any, chance 3/10: drop", "any, chance 1/5: delay 9 us"],
            &["any, chance 3/10: drop"],
        ],
    ]
    .into_iter()
    .enumerate()
    {
        for kind in [WorkKind::SEND_IMM, WorkKind::WRITE_IMM] {
            let config = flow(0, kind, 20 << 10, Some(60));
            let mut network = one_flow(&config, selective, faults);
            finish(&mut network, us(100_000), |_| ());
            let host = network.node(A).host();
            assert_eq!(host.senders()[0].delivered().len(), 60, "{place}");
            assert_eq!(network.node(B).host().receivers()[0].whole(), 60, "{place}");
            assert_eq!(network.node(B).buffer_bytes(), 0);
            good(network.node(A));
            good(network.node(B));
        }
    }
}

#[test]
fn packets_that_wait_for_a_missing_one_take_no_room_in_the_receive_buffer() {
    let config = flow(0, WorkKind::WRITE, 60 << 10, Some(1));
    // The first packet comes again after the short timeout, all others wait for it.
    let faults = [["any, shots 1: drop"].as_slice(), &["any: drop"]];
    let mut network = one_flow(&config, selective, faults);
    network.run_until(us(40), |_| ());
    assert_eq!(network.node(A).counters().get(reg::REQUESTS_OUT), 60);
    assert_eq!(network.node(B).counters().get(reg::REQUESTS_IN), 0);
    assert_eq!(network.node(B).counters().get(reg::NAKS_OUT), 59);
    assert_eq!(network.node(B).buffer_bytes(), 0);
    assert_eq!(network.node(B).host().receivers()[0].fresh_bytes(), 0);
}

#[test]
fn a_packet_that_comes_again_ahead_is_named_again() {
    let config = flow(0, WorkKind::WRITE, 3 << 10, Some(1));
    // The first of three packets is lost twice, and the NAKs that name the others once.
    let faults = [
        ["psn +0, shots 2: drop"].as_slice(),
        &["any, shots 2: drop"],
    ];
    let mut network = one_flow(&config, selective, faults);
    finish(&mut network, us(100_000), |_| ());
    let counters = network.node(A).counters();
    assert_eq!(counters.get(reg::TIMEOUTS), 2);
    // All three, and then the first alone.
    assert_eq!(counters.get(reg::RESENT_OUT), 4);
    assert_eq!(network.node(B).counters().get(reg::DUPLICATES_IN), 2);
    good(network.node(A));
    good(network.node(B));
}

#[test]
fn what_waits_behind_a_refused_packet_is_dropped_and_counted() {
    let mut network = one_buffer(selective, [&["psn +0, shots 1: drop"], &[]]);
    finish(&mut network, us(5_000), |_| ());
    let [a, b] = [A, B].map(|node| network.node(node));
    // Eight are outstanding. The first comes again and has the buffer, the second is refused, and with it the other six;
    // and so on, with those behind.
    assert!(b.counters().get(reg::GAPS_IN) >= 6);
    // What arrives counts once: as what it becomes.
    let fates = [
        reg::REQUESTS_IN,
        reg::GAPS_IN,
        reg::DUPLICATES_IN,
        reg::NO_BUFFER,
    ];
    let counted: u64 = fates.iter().map(|fate| b.counters().get(*fate)).sum();
    let withdrawn = a.counters().get(reg::WITHDRAWN);
    assert_eq!(counted, a.counters().get(reg::REQUESTS_OUT) - withdrawn - 1);
    assert!(b.counters().get(reg::RNR_NAKS_OUT) > 5);
    assert_eq!(a.host().senders()[0].delivered().len(), 40);
    good(a);
    good(b);
}
