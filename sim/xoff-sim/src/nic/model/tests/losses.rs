//! Losses on the way, and their cost.

use std::collections::HashSet;

use super::flows::{one_flow, share};
use super::*;
use crate::headers::Headers;
use crate::kernel::Direction;
use crate::protocol::gbn::Status;

/// The rule of the livelock experiment (SIGCOMM 2016, section 4.1): one packet in 256 is lost, chosen by the low byte
/// of its IP identification.
pub const LIVELOCK: &str = "ip_id_low 0xff: drop";

fn restarting(restart: bool) -> impl Fn(&mut QpSettings) {
    move |qp| {
        qp.requester.restart = restart;
        qp.responder.restart = restart;
    }
}

/// The part of the wire from a node that is busy, over 3 ms from 100 us on.
pub fn busy(network: &mut Network<ModelNic>, node: NodeId) -> f64 {
    network.run_until(us(100), |_| ());
    let before = network.counters(node, PortId(0));
    network.run_until(us(3_100), |_| ());
    let after = network.counters(node, PortId(0));
    let frames = after.frames_sent - before.frames_sent;
    let bytes = after.bytes_sent - before.bytes_sent + 20 * frames;
    bytes as f64 * 200.0 / 3e9
}

#[test]
fn go_back_0_delivers_nothing_over_a_wire_that_loses_one_packet_of_256() {
    let config = flow(0, WorkKind::SEND, 4 << 20, None);
    let mut network = one_flow(&config, restarting(true), [&[LIVELOCK], &[]]);
    let busy = busy(&mut network, A);
    println!("{busy:.4} busy");
    assert!(busy > 0.95, "{busy}");
    assert_eq!(network.node(B).host().receivers()[0].whole(), 0);
    assert!(network.node(A).host().senders()[0].delivered().is_empty());
    assert!(network.node(A).counters().get(reg::NAKS_IN) > 20);
}

#[test]
fn go_back_n_loses_what_a_round_trip_holds() {
    let config = flow(0, WorkKind::SEND, 4 << 20, None);
    let (from, to) = (us(100), us(4_100));
    let whole = share(
        &mut one_flow(&config, restarting(false), [&[], &[]]),
        from,
        to,
    );
    let mut network = one_flow(&config, restarting(false), [&[LIVELOCK], &[]]);
    // W: the packets after a lost one that have to be sent again, as seen on the wire at the receiver.
    network.tap(B, PortId(0), true);
    let mut expected = Psn::wrapping(0xFF_FFF0 + 1000);
    let (mut lost, mut wasted) = (HashSet::new(), 0);
    network.run_until(from, |_| ());
    let busy_before = network.wire_time(A, PortId(0));
    let before = network.node(B).host().receivers()[0].fresh_bytes();
    let mut first = true;
    network.run_until(to, |records| {
        for record in records
            .iter()
            .filter(|record| record.direction == Direction::Received)
        {
            let psn = Headers::at(record.frame.bytes.headers())
                .unwrap()
                .bth
                .unwrap()
                .psn;
            if std::mem::take(&mut first) {
                expected = psn;
            }
            match psn.ahead_of(expected) {
                0 => expected = psn.advance(1),
                _ => {
                    lost.insert(expected);
                    wasted += 1;
                }
            }
        }
    });
    let bytes = network.node(B).host().receivers()[0].fresh_bytes() - before;
    let time = to.saturating_since(from).as_ps() as f64;
    let lossy = bytes as f64 / 1024.0 * 1106.0 * 200.0 / time;
    let per_loss = f64::from(wasted) / lost.len() as f64;
    // After a NAK the wire rests until the payload of the lost packet is read again.
    let busy = (network.wire_time(A, PortId(0)) - busy_before).as_ps() as f64 / time;
    let predicted = (255.0 - per_loss) / 256.0 * busy;
    println!(
        "W {per_loss:.2}, wire busy {busy:.4}, goodput {:.4} of loss-free, predicted {predicted:.4}",
        lossy / whole
    );
    assert!(lost.len() > 40, "{}", lost.len());
    assert!(
        (lossy / whole - predicted).abs() < 0.003,
        "{} {predicted}",
        lossy / whole
    );
    good(network.node(B));
}

#[test]
fn what_is_lost_comes_again() {
    // A packet in the middle of a message, which causes a NAK; the last one, which causes a timeout; an ACK.
    let config = flow(0, WorkKind::WRITE_IMM, 6 << 10, Some(1));
    for (faults, counter) in [
        (
            [["any, skip 2, shots 1: drop"].as_slice(), &[]],
            reg::NAKS_IN,
        ),
        ([&["any, skip 5, shots 1: drop"], &[]], reg::TIMEOUTS),
        ([&[], &["any, skip 1, shots 5: drop"]], reg::TIMEOUTS),
        ([&["any, skip 3, shots 1: corrupt"], &[]], reg::NAKS_IN),
    ] {
        let mut network = one_flow(&config, |_| (), faults);
        finish(&mut network, us(2_000), |_| ());
        assert!(network.node(A).counters().get(counter) > 0, "{faults:?}");
        assert!(network.node(A).counters().get(reg::RESENT_OUT) > 0);
        assert_eq!(network.node(A).host().senders()[0].delivered().len(), 1);
        good(network.node(A));
        good(network.node(B));
    }
}

#[test]
fn packets_in_another_class_are_taken() {
    let config = flow(0, WorkKind::WRITE_IMM, 6 << 10, Some(20));
    let faults: [&[&str]; 2] = [&["any: dscp 63"], &["any: dscp 0"]];
    let mut network = one_flow(&config, |_| (), faults);
    network.tap(A, PortId(0), true);
    network.tap(B, PortId(0), true);
    let mut seen = HashSet::new();
    finish(&mut network, us(2_000), |records| {
        let received = |record: &&Record| record.direction == Direction::Received;
        for record in records.iter().filter(received) {
            let headers = Headers::at(record.frame.bytes.headers()).unwrap();
            seen.insert((record.node, headers.ip.unwrap().traffic_class >> 2));
        }
    });
    // Data in class 7, acknowledgements in class 0; both left in class 3.
    assert_eq!(seen, HashSet::from([(B, 63), (A, 0)]));
    assert_eq!(network.node(A).host().senders()[0].delivered().len(), 20);
    assert_eq!(network.node(A).counters().get(reg::RESENT_OUT), 0);
    good(network.node(A));
    good(network.node(B));
}

#[test]
fn a_peer_that_is_gone_ends_the_qp() {
    let config = flow(0, WorkKind::SEND, 6 << 10, Some(20));
    let mut network = one_flow(
        &config,
        |qp| {
            qp.requester.retry = 3;
            qp.requester.timeout = 1;
        },
        [&["any, skip 40: drop"], &[]],
    );
    finish(&mut network, us(2_000), |_| ());
    let nic = network.node(A);
    assert_eq!(nic.host().failure(), Some(Status::RetryExceeded));
    assert_eq!(nic.counters().get(reg::TIMEOUTS), 3);
    assert_eq!(nic.counters().get(reg::EXHAUSTED), 1);
    assert_eq!(nic.host().senders()[0].open(), 0, "all came back flushed");
}

/// A flow of 40 SENDs to a host with one receive buffer, posted again after a round trip over the bus.
pub fn one_buffer(change: impl Fn(&mut QpSettings), faults: [&[&str]; 2]) -> Network<ModelNic> {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
    let [a, b] = &mut nics;
    let config = flow(0, WorkKind::SEND, 700, Some(40));
    connect((a, 1), (b, 2), 0, &config, &change);
    let settings = nics[1].config().clone();
    let mut host = Host::new(settings.clock, 32, &PcieConfig::default());
    let mut alone = nic(2, &PcieConfig::default(), |_| ());
    let key = {
        let mut other = nic(1, &PcieConfig::default(), |_| ());
        connect((&mut other, 1), (&mut alone, 2), 0, &config, &change);
        alone.register(
            0,
            Region {
                base: config.base(),
                length: config.region_bytes(),
                tag: 0x5A,
                pd: 0,
                local_write: true,
                remote_write: true,
            },
        )
    };
    host.receive(Receiver::new(config.clone(), 0, key, 1));
    *alone.host_mut() = host;
    nics[1] = alone;
    pair(nics, faults)
}

#[test]
fn a_receiver_without_buffers_is_waited_for() {
    let mut network = one_buffer(|_| (), [&[], &[]]);
    finish(&mut network, us(5_000), |_| ());
    let [a, b] = [A, B].map(|node| network.node(node));
    good(a);
    good(b);
    assert_eq!(a.host().senders()[0].delivered().len(), 40);
    assert!(b.counters().get(reg::NO_BUFFER) > 5);
    assert!(b.counters().get(reg::RNR_NAKS_OUT) > 5);
    assert_eq!(
        a.counters().get(reg::RNR_NAKS_IN),
        b.counters().get(reg::RNR_NAKS_OUT)
    );
}
