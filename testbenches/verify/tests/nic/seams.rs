//! What used to be lost in the seams of the pipeline: answers behind requests, slots of idle classes, rights of a peer,
//! rings that are full, and new SENDs at line rate.

use std::collections::BTreeMap;

use crate::fixture::{Tested, opened, signaled_write};
use crate::standard::packet;
use xoff_network::scenario::Scenario;
use xoff_sim::nic::Region;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::protocol::parse;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, all, qp};

/// Posts work of side 0, and returns how it ended.
pub fn end(pair: &mut Tested, work: Work) -> Status {
    pair.post(0, 0, work);
    pair.run(20_000, &mut all, |pair| !pair.completions[0].is_empty());
    pair.completions[0][0].1.status
}

/// Posts a WRITE of 64 bytes on each of the first QPs of side 0, while side 1 sends packets on the last one. Returns the
/// longest time that one has waited for its ACK since it arrived, and its QP.
pub fn answered_beside_requests(pair: &mut Tested, qps: u16) -> (Duration, u32) {
    let (completed, sent, arrivals) = (
        pair.completions[0].len(),
        pair.frames.len(),
        pair.arrivals.len(),
    );
    let bulk = signaled_write(pair, 1, 0, 1 << 20);
    pair.post(1, qps, bulk);
    for _ in 0..4_000 {
        pair.step(&mut all);
    }
    for index in 0..qps {
        let work = signaled_write(pair, 0, 0, 64);
        pair.post(0, index, work);
    }
    pair.run(40_000, &mut all, |pair| {
        pair.completions[0].len() == completed + usize::from(qps)
    });
    let of = |frame: &ParsedFrame| frame.bth.unwrap().dest_qp.get() - QPN_BASE;
    let mut arrived = BTreeMap::new();
    for (side, frame) in &pair.arrivals[arrivals..] {
        let parsed = parse(&frame.bytes.whole());
        if *side == 1 && of(&parsed) < u32::from(qps) {
            arrived.insert(of(&parsed), frame.end);
        }
    }
    let answers = (pair.frames[sent..].iter())
        .filter(|(side, _, parsed)| *side == 1 && of(parsed) < u32::from(qps));
    let waited = answers.map(|(_, frame, parsed)| {
        let index = of(parsed);
        (frame.start.saturating_since(arrived[&index]), index)
    });
    waited.max().unwrap()
}

/// An ACK is 66 bytes, so those of 56 QPs take 0.9 us of the wire beside whatever else is sent. Here one waits for a
/// packet of 4,096 bytes each.
#[test]
fn answers_do_not_wait_for_a_request_each() {
    const QPS: u16 = 56;
    let mut pair = opened(&[], QPS + 1, |_, _, setup| {
        (setup.requester.mtu, setup.responder.mtu) = (4, 4);
        setup.requester.timeout = 0;
    });
    let (waited, index) = answered_beside_requests(&mut pair, QPS);
    assert!(
        waited < Duration::from_us(3),
        "QP {index} waited for its ACK: {waited:?}"
    );
}

/// Goodput of flow `f` between 100 and 280 us, in bytes, beside QPs that have nothing to send, each of a class, where
/// memory is half of `round_trip` away.
fn beside_idle(classes: &[u8], round_trip: Duration) -> u64 {
    let mut text = format!(
        "title = \"Idle\"\nduration = \"300 us\"\n[host]\npcie_latency = \"{} ns\"\n[[hosts]]\nname = \"a\"\n\
         [[hosts]]\nname = \"b\"\n\
         [[links]]\nends = [\"a\", \"b\"]\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nmessage = \"64 KiB\"\nmtu = 1024\ndscp = 26\n",
        round_trip.as_ps() / 2_000
    );
    for class in classes {
        text += &format!(
            "[[flows]]\nname = \"i{class}\"\nfrom = \"a\"\nto = \"b\"\nmessage = \"64 B\"\ncount = 1\n\
             start = \"290 us\"\ndscp = {}\n",
            8 * class
        );
    }
    let scenario: Scenario = toml::from_str(&text).unwrap();
    let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
    let mut bytes_at = |us| {
        simulation.run_until(Time::from_us(us)).unwrap();
        simulation.receiver(&simulation.flows()[0]).fresh_bytes()
    };
    let before = bytes_at(100);
    bytes_at(280) - before
}

/// QPs that send nothing take nothing from the others, however far memory is: what one class has under way beside seven
/// others fills the wire over a round trip of 2 us.
#[test]
fn idle_classes_take_nothing() {
    for round_trip in [Duration::from_ns(500), Duration::from_us(2)] {
        let alone = beside_idle(&[], round_trip);
        let beside = beside_idle(&[0, 1, 2, 4, 5, 6, 7], round_trip);
        assert!(
            50 * beside > 49 * alone,
            "{round_trip:?} away: {alone} bytes, {beside} beside idle classes"
        );
        // 1,024 of 1,110 bytes on the wire are payload in most packets, with RETH, ICRC, FCS and gap.
        let line = 180_000 * 5 * 1_024 / 1_110;
        assert!(50 * beside > 48 * line, "{beside} of {line} bytes");
    }
}

/// IBTA volume 1, 10.6.7.2: a peer invalidates only what it has a right to, which a region that it may not access is
/// not.
#[test]
fn a_peer_invalidates_only_what_it_may_touch() {
    const INDEX: u16 = 5;
    let mut pair = opened(&[], 1, |_, _, _| {});
    let own = Region {
        base: 0x50_0000_0000,
        length: 4_096,
        tag: 3,
        pd: 0,
        local_write: true,
        remote_write: false,
    };
    for (address, word) in own.writes(INDEX) {
        pair.write(1, address, word).unwrap();
    }
    let recv = Recv {
        length: 64,
        local_va: REGION,
        local_key: pair.key[1],
        id: 1,
    };
    pair.post_recv(1, 0, recv);
    let work = Work {
        kind: WorkKind::SEND_INV,
        imm: own.key(INDEX),
        ..signaled_write(&pair, 0, 0, 64)
    };
    assert_ne!(
        end(&mut pair, work),
        Status::Success,
        "invalidated by a peer without any right to it"
    );
}

/// What is taken with valid and ready is not lost.
#[test]
fn a_full_ring_is_not_ready() {
    let mut pair = opened(&[], 1, |_, _, setup| setup.requester.timeout = 0);
    let mut deaf = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    for _ in 0..20 {
        let work = signaled_write(&pair, 0, 0, 64);
        pair.post(0, 0, work);
    }
    for _ in 0..4_000 {
        pair.step(&mut deaf);
    }
    assert_eq!(pair.count(0, reg::WORK_REFUSED), 0, "refused in a counter");
}

/// Sends new SENDs with this payload to side 1, back to back at line rate, on so many QPs in turn. Each asks for an ACK.
/// The host keeps 16 receive buffers of each QP posted.
pub fn receive_sends(pair: &mut Tested, qps: u16, sends: usize, payload: &[u8]) {
    let of = |number: usize| (number % usize::from(qps)) as u16;
    let frames: Vec<_> = (0..sends)
        .map(|number| {
            let (index, round) = (of(number), number / usize::from(qps));
            let psn = qp(0, index).requester_psn.advance(round as u32);
            packet(0, index, psn, |roce| {
                roce.bth.opcode = Opcode::RC_SEND_ONLY;
                roce.bth.ack_req = true;
                roce.payload = payload.to_vec();
            })
        })
        .collect();
    let recv = Recv {
        length: 1,
        local_va: REGION,
        local_key: pair.key[1],
        id: 0,
    };
    let mut posted = 0;
    let mut post = |pair: &mut Tested, until: usize| {
        while posted < until.min(sends) {
            pair.post_recv(1, of(posted), recv);
            posted += 1;
        }
    };
    post(pair, 16 * usize::from(qps));
    pair.receive_back_to_back(1, frames);
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    while !pair.host(1).received() {
        pair.step(&mut nothing);
        let done = pair.completions[1].len();
        post(pair, done + 16 * usize::from(qps));
    }
    pair.rest(5_000, &mut nothing);
}

/// Line rate with the smallest frames, of one QP or many: new ones too, not only duplicates.
#[test]
fn new_smallest_sends_back_to_back_are_all_taken() {
    for qps in [1, 16] {
        let mut pair = Tested::new(|setup| setup.requester.timeout = 0, qps);
        receive_sends(&mut pair, qps, 20_000, &[]);
        let lost = pair.count(1, reg::DROP_FULL);
        assert_eq!(
            lost, 0,
            "new SENDs of 64 bytes on the wire: dropped, {qps} QPs"
        );
    }
}
