//! READs and atomics between two NICs at a cable, and what is lost of them.

use super::losses::{LIVELOCK, busy};
use super::pausing::lossless;
use super::*;
use crate::headers::Headers;
use crate::kernel::Direction;
use crate::protocol::gbn::{Status, Work};
use crate::time::Cycles;
use crate::wire::Opcode;

const MTU: u32 = 1024;
/// Most READs and atomics unanswered.
const LIMIT: u16 = 16;

fn reader(host: u8, pcie: &PcieConfig, change: impl FnOnce(&mut ModelNicConfig)) -> ModelNic {
    let mut nic = nic(host, pcie, change);
    nic.enable_reads(LIMIT);
    nic
}

/// Two NICs with flows from the first to the second, and faults for both ways.
fn network(
    flows: &[FlowConfig],
    pcie: &PcieConfig,
    change: impl Fn(&mut QpSettings),
    faults: [&[&str]; 2],
) -> Network<ModelNic> {
    let ahead = |it: &mut ModelNicConfig| it.settings.read_ahead = pcie.read_ahead();
    let (mut a, mut b) = (reader(1, pcie, ahead), reader(2, pcie, ahead));
    for (index, config) in (0..).zip(flows) {
        connect((&mut a, 1), (&mut b, 2), index, config, &change);
    }
    pair([a, b], faults)
}

fn read(message: u32, count: Option<u64>) -> FlowConfig {
    flow(0, WorkKind::READ, message, count)
}

#[test]
fn reads_and_atomics_arrive() {
    for (kind, message) in [
        (WorkKind::READ, 1),
        (WorkKind::READ, MTU),
        (WorkKind::READ, 10 * MTU + 3),
        (WorkKind::FETCH_ADD, 8),
        (WorkKind::CMP_SWAP, 8),
    ] {
        let config = flow(0, kind, message, Some(50));
        let mut network = network(&[config], &PcieConfig::default(), |_| (), [&[], &[]]);
        finish(&mut network, us(1_000), |_| ());
        let a = network.node(A).host();
        assert_eq!(a.senders()[0].delivered().len(), 50);
        assert_eq!(a.receivers()[0].whole(), 50);
        assert_eq!(a.receivers()[0].fresh_bytes(), 50 * u64::from(message));
        for node in [A, B] {
            good(network.node(node));
            let counters = network.node(node).counters();
            for register in [reg::TIMEOUTS, reg::DROP_RESPONSE, reg::DUPLICATES_IN] {
                assert_eq!(counters.get(register), 0, "{register:#x}");
            }
        }
        assert_eq!(network.node(A).counters().get(reg::IMPLIED_NAKS), 0);
    }
}

/// Bytes that a flow has written for the first time between two times, as a part of the line's rate.
fn goodput(network: &mut Network<ModelNic>, (flow, from, to): (usize, Time, Time)) -> f64 {
    network.run_until(from, |_| ());
    let bytes =
        |network: &Network<ModelNic>| network.node(A).host().receivers()[flow].fresh_bytes();
    let before = bytes(network);
    network.run_until(to, |_| ());
    let bits = (bytes(network) - before) as f64 * 8.0;
    bits / (to.saturating_since(from).as_ps() as f64 / 25.0)
}

/// Bytes of payload a byte on the wire, of READs of 4 KiB: of each frame 82 are headers, FCS, preamble and gap, with an
/// AETH 86.
const MOST: f64 = 4096.0 / (2.0 * (1024.0 + 82.0) + 2.0 * (1024.0 + 86.0));

#[test]
fn reads_of_4_kib_fill_the_line_with_1_us_of_pcie() {
    let pcie = PcieConfig {
        latency: Duration::from_us(1),
        ..PcieConfig::default()
    };
    // Four QPs: an application posts its next READ behind the completion that it saw last.
    let flows: Vec<_> = (0..4)
        .map(|number| FlowConfig {
            outstanding: 16,
            ..flow(number, WorkKind::READ, 4 << 10, None)
        })
        .collect();
    let mut network = network(&flows, &pcie, |_| (), [&[], &[]]);
    network.run_until(us(100), |_| ());
    let shares: Vec<f64> = (0..4)
        .map(|flow| goodput(&mut network.clone(), (flow, us(100), us(600))))
        .collect();
    let share: f64 = shares.iter().sum();
    println!("{share:.4} of the line, {MOST:.4} at most: {shares:.4?}");
    assert!(share > 0.995 * MOST, "{share:.4} of {MOST:.4}");
    assert!(
        shares
            .iter()
            .all(|it| (it / share * 4.0 - 1.0).abs() < 0.02)
    );
}

/// READs that return nothing take a round trip each, and as many are under way as may be.
#[test]
fn empty_reads_come_at_their_number_a_round_trip() {
    let rate = |limit: u16, posted: u64| {
        let (mut a, mut b) = (
            nic(1, &PcieConfig::default(), |_| ()),
            nic(2, &PcieConfig::default(), |_| ()),
        );
        a.enable_reads(limit);
        b.enable_reads(limit);
        a.open(0, &qp(1, 2, 0));
        b.open(0, &qp(2, 1, 0));
        a.host_mut().take_over(Seed(1));
        let mut network = pair([a, b], [&[], &[]]);
        let (mut left, mut done) = (posted, Vec::new());
        let mut under_way = 0;
        while done.len() < posted as usize {
            // The ring of 16 stays full.
            network.update(A, |nic| {
                for _ in under_way..left.min(16) {
                    let work = Work {
                        kind: WorkKind::READ,
                        signaled: true,
                        ..Work::default()
                    };
                    nic.host_mut().post(Cycles(0), 0, work);
                }
            });
            under_way = left.min(16);
            network.run_until(network.now() + Duration::from_ns(10), |_| ());
            let completions = network.update(A, |nic| nic.host_mut().take_completions());
            for (_, completion) in completions {
                assert_eq!(completion.status, Status::Success);
                (left, under_way) = (left - 1, under_way - 1);
                done.push(network.now());
            }
            assert!(network.now() < us(2_000));
        }
        let (first, last) = (done[0], done[done.len() - 1]);
        let time = last.saturating_since(first).as_ps() as f64;
        (done.len() - 1) as f64 / time * 1e6
    };
    let (one, alone) = (rate(1, 100), 1.0);
    for limit in [2, 4] {
        let found = rate(limit, 200) / one;
        let share = found / (f64::from(limit) * alone);
        println!("{limit} at a time: {found:.3} of the rate of one, {one:.3} a microsecond");
        assert!((0.95..=1.05).contains(&share), "{share}");
    }
}

/// The PSNs of frames of an opcode that were sent by a node, by how far they are ahead of the flow's first one.
fn sent(records: &[Record], from: NodeId, opcodes: &[Opcode], first: u32) -> Vec<i32> {
    let seen = |record: &&Record| record.node == from && record.direction == Direction::Sent;
    let psn = |record: &Record| {
        let bth = Headers::at(record.frame.bytes.headers())?.bth?;
        let ahead = bth.psn.ahead_of(Psn::wrapping(first));
        opcodes.contains(&bth.opcode).then_some(ahead)
    };
    records.iter().filter(seen).filter_map(psn).collect()
}

/// What is lost: its name, by rules for both directions; what is asked for, implied NAKs and timeouts.
type Lost = (&'static str, [Vec<String>; 2], &'static [i32], u64, u64);

/// Two READs of eight responses; what is lost, on the way there and back, and what is asked for: the PSN of each
/// request, how often something was missing, and timeouts.
#[test]
fn what_is_lost_is_asked_for_again_from_there() {
    let rule = |n: u32, shots: u32| {
        let psn = (0xFF_FFF0 + 1000 + n) & 0xFF_FFFF;
        format!("psn {psn}, shots {shots}: drop")
    };
    let one = |n| vec![rule(n, 1)];
    let cases: [Lost; 11] = [
        ("nothing", [vec![], vec![]], &[0, 8], 0, 0),
        (
            "a request, whose successor is refused",
            [one(0), vec![]],
            &[0, 8, 0, 8],
            0,
            0,
        ),
        ("the last request", [one(8), vec![]], &[0, 8, 8], 0, 1),
        (
            "a request twice",
            [vec![rule(0, 2)], vec![]],
            &[0, 8, 0, 8, 0, 8],
            0,
            1,
        ),
        (
            "a request and its NAK",
            [one(0), one(0)],
            &[0, 8, 0, 8],
            0,
            1,
        ),
        ("a first response", [vec![], one(0)], &[0, 8, 0, 8], 1, 0),
        ("a middle one", [vec![], one(3)], &[0, 8, 3, 8], 1, 0),
        ("a last one", [vec![], one(7)], &[0, 8, 7, 8], 1, 0),
        ("the very last one", [vec![], one(15)], &[0, 8, 15], 0, 1),
        (
            "a middle one twice",
            [vec![], vec![rule(3, 2)]],
            &[0, 8, 3, 8, 3, 8],
            1,
            1,
        ),
        (
            "a middle one, and what asks for it",
            [one(3), one(3)],
            &[0, 8, 3, 8, 3, 8],
            1,
            1,
        ),
    ];
    for (what, rules, asked, implied, timeouts) in cases {
        let faults = rules
            .each_ref()
            .map(|it| it.iter().map(String::as_str).collect::<Vec<_>>());
        let [there, back] = &faults;
        let config = read(8 * MTU, Some(2));
        let mut network = network(
            &[config],
            &PcieConfig::default(),
            |_| (),
            [&there[..], &back[..]],
        );
        network.tap(A, PortId(0), true);
        let mut requests = Vec::new();
        finish(&mut network, us(1_000), |records| {
            let opcode = [Opcode::RC_READ_REQUEST];
            requests.extend(sent(records, A, &opcode, 0xFF_FFF0 + 1000));
        });
        let nic = network.node(A);
        assert_eq!(requests, asked, "{what}");
        let found = (
            nic.counters().get(reg::IMPLIED_NAKS),
            nic.counters().get(reg::TIMEOUTS),
        );
        assert_eq!(found, (implied, timeouts), "{what}");
        assert_eq!(nic.host().senders()[0].delivered().len(), 2);
        assert_eq!(nic.host().receivers()[0].whole(), 2);
        good(nic);
        good(network.node(B));
    }
}

/// Each atomic finds what the one before has left, whatever is lost, doubled or late.
#[test]
fn atomics_are_performed_once() {
    for kind in [WorkKind::FETCH_ADD, WorkKind::CMP_SWAP] {
        let faults: &[&str] = &[
            "chance 1/20: drop",
            "chance 1/20: duplicate",
            "chance 1/20: delay 3 us",
        ];
        let config = flow(0, kind, 8, Some(1_000));
        let mut network = network(&[config], &PcieConfig::default(), |_| (), [faults, faults]);
        finish(&mut network, us(100_000), |_| ());
        let a = network.node(A);
        assert_eq!(a.host().receivers()[0].whole(), 1_000);
        assert!(
            a.counters().get(reg::IMPLIED_NAKS) > 10,
            "{}",
            a.counters().get(reg::IMPLIED_NAKS)
        );
        assert!(network.node(B).counters().get(reg::DUPLICATES_IN) > 50);
        good(a);
        good(network.node(B));
    }
}

/// Go-back-N and go-back-0 over a wire that loses one response of 256 (SIGCOMM 2016, section 4.1): READs of 4 MB.
#[test]
fn go_back_0_reads_nothing_over_a_wire_that_loses_one_packet_of_256() {
    let share = |restart: bool| {
        let change = |qp: &mut QpSettings| qp.requester.restart = restart;
        let faults: [&[&str]; 2] = [&[], &[LIVELOCK]];
        let config = read(4 << 20, None);
        let mut network = network(&[config], &PcieConfig::default(), change, faults);
        let busy = busy(&mut network, B);
        let nic = network.node(A);
        assert_eq!(nic.counters().get(reg::TIMEOUTS), 0);
        assert!(nic.counters().get(reg::IMPLIED_NAKS) > 20);
        good(nic);
        let receiver = &nic.host().receivers()[0];
        (busy, receiver.whole(), receiver.fresh_bytes())
    };
    let (busy, whole, fresh) = share(true);
    println!("go-back-0: {busy:.4} of the wire, {whole} messages");
    assert!(
        busy > 0.95 && whole == 0 && fresh < 1 << 20,
        "{busy} {whole} {fresh}"
    );
    let (busy, whole, fresh) = share(false);
    // Of 256 packets W are sent between a loss and what asks for it again (255 − W)/256 is left.
    let goodput = fresh as f64 * 200.0 / 3.1e9 * (1024.0 + 82.0) / 1024.0;
    let wasted = 255.0 - 256.0 * goodput;
    println!("go-back-N: {busy:.4} of the wire, {goodput:.4} goodput, {wasted:.1} packets a loss");
    assert!(
        busy > 0.95 && whole >= 3 && (3.0..12.0).contains(&wasted),
        "{busy} {goodput}"
    );
}

/// Losses of READs on eight QPs cost a ninth no more than 2 % of what it has without them.
#[test]
fn losses_of_other_qps_cost_a_ninth_nothing() {
    let ninth = |faults: [&[&str]; 2]| {
        let flows: Vec<_> = (0..9)
            .map(|number| FlowConfig {
                interval: Some(Duration::from_us(if number == 8 { 4 } else { 20 })),
                ..flow(number, WorkKind::READ, 4 << 10, None)
            })
            .collect();
        let mut network = network(&flows, &PcieConfig::default(), |_| (), faults);
        let share = goodput(&mut network, (8, us(100), us(2_100)));
        (share, network.node(A).counters().get(reg::IMPLIED_NAKS))
    };
    // The ninth QP has number 0x108.
    let rules: Vec<String> = (0..8)
        .map(|qp| format!("qpn {}, chance 1/30: drop", 0x100 + qp))
        .collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let (alone, none) = ninth([&[], &[]]);
    let (beside, missing) = ninth([&[], &rules]);
    println!(
        "{alone:.4} of the line, {beside:.4} beside losses, {missing} times something was missing"
    );
    assert_eq!(none, 0);
    assert!(missing > 100, "{missing}");
    assert!(beside > 0.98 * alone, "{beside} of {alone}");
}

/// Responses that are marked slow down the QP that sends them, by CNPs of the requester.
#[test]
fn marked_responses_slow_their_sender() {
    let mut nics = [1, 2].map(|host| {
        reader(host, &PcieConfig::default(), |it| {
            it.settings.dcqcn = Some(super::switched::dcqcn());
        })
    });
    let [a, b] = &mut nics;
    connect((a, 1), (b, 2), 0, &read(1 << 20, None), |_| ());
    let mut network = pair(nics, [&[], &["chance 1/100: ecn"]]);
    let share = goodput(&mut network, (0, us(200), us(1_200)));
    let [a, b] = [A, B].map(|node| network.node(node));
    let (rate, _, limited) = b.rate(0).expect("DCQCN");
    let rate = f64::from(rate.0) / f64::from(super::switched::dcqcn().rp.rate_max.0);
    println!("{share:.4} of the line, the rate is {rate:.4} of it now");
    assert!(limited && share < 0.5, "{share}");
    let [out, in_] = [
        a.counters().get(reg::CNPS_OUT),
        b.counters().get(reg::CNPS_IN),
    ];
    assert!(out > 5 && out.abs_diff(in_) <= 1, "{out} {in_}");
    let marked = a.counters().get(reg::MARKED_IN);
    assert!(marked >= out, "{marked} {out}");
    assert!(!a.rate(0).expect("DCQCN").2, "requests are not slowed");
    assert_eq!(
        (
            a.counters().get(reg::IMPLIED_NAKS),
            a.counters().get(reg::TIMEOUTS)
        ),
        (0, 0)
    );
    good(a);
}

/// A host that takes 10 Gb/s pauses what it reads, and nothing is dropped.
#[test]
fn a_slow_reader_pauses_responses() {
    let slow = PcieConfig {
        rate: Some(crate::time::Rate::from_gbps(10)),
        ..PcieConfig::default()
    };
    let mut nics = [
        reader(1, &slow, lossless),
        reader(2, &PcieConfig::default(), lossless),
    ];
    let [a, b] = &mut nics;
    connect((a, 1), (b, 2), 0, &read(1 << 20, None), |_| ());
    // Another QP sends the other way, in the same class: requests and responses of a NIC wait alike.
    let write = flow(1, WorkKind::WRITE, 1 << 20, None);
    connect((b, 2), (a, 1), 1, &write, |_| ());
    let mut network = pair(nics, [&[], &[]]);
    let shares = [0, 1].map(|flow| goodput(&mut network.clone(), (flow, us(200), us(2_200))));
    println!("{shares:.4?} of the line");
    assert!((shares[0] + shares[1] - 0.25).abs() < 0.003, "{shares:?}");
    assert!((shares[0] - shares[1]).abs() < 0.01, "{shares:?}");
    network.run_until(us(2_200), |_| ());
    let a = network.node(A);
    assert!(a.counters().get(reg::PFC_OUT) > 20);
    for register in [reg::DROP_FULL, reg::GAPS_IN, reg::TIMEOUTS] {
        assert_eq!(a.counters().get(register), 0);
    }
    assert_eq!(a.counters().get(reg::IMPLIED_NAKS), 0);
    good(a);
    good(network.node(B));
}

/// Both read from each other as fast as their PCIe allows.
#[test]
fn two_that_read_each_other_as_fast_as_their_hosts_can_go_on() {
    let slow = PcieConfig {
        rate: Some(crate::time::Rate::from_gbps(30)),
        ..PcieConfig::default()
    };
    let mut nics = [1, 2].map(|host| reader(host, &slow, lossless));
    let [a, b] = &mut nics;
    for index in 0..4 {
        connect(
            (a, 1),
            (b, 2),
            index,
            &flow(index.into(), WorkKind::READ, 64 << 10, None),
            |_| (),
        );
        let back = flow(u32::from(index) + 4, WorkKind::READ, 64 << 10, None);
        connect((b, 2), (a, 1), index + 4, &back, |_| ());
    }
    let mut network = pair(nics, [&[], &[]]);
    let whole = |network: &Network<ModelNic>, node| -> u64 {
        let receivers = network.node(node).host().receivers();
        receivers.iter().map(Receiver::fresh_bytes).sum()
    };
    for step in 1..=20 {
        let before = [A, B].map(|node| whole(&network, node));
        network.run_until(us(250 * step), |_| ());
        for (node, before) in [A, B].into_iter().zip(before) {
            let bytes = whole(&network, node) - before;
            // 30 Gb/s for 250 us are 937,500 bytes.
            assert!(bytes > 850_000, "{bytes} in step {step}");
        }
    }
    for node in [A, B] {
        let nic = network.node(node);
        assert_eq!(
            (
                nic.counters().get(reg::IMPLIED_NAKS),
                nic.counters().get(reg::TIMEOUTS)
            ),
            (0, 0)
        );
        good(nic);
    }
}
