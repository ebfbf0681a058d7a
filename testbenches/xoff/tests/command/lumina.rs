//! The injections of Lumina (SIGCOMM 2023): a loss, a mark or an error at a chosen packet, and at its retransmission.
//! They are judged as there: by state machines over the frames at both hosts, by the counters of the NICs, which equal
//! the frames, and by the two latencies of a retransmission apart from each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::scenario_runs::star;
use xoff_monitor::counters::Counter;
use xoff_monitor::{Monitor, Rule, Sighting, Tap};
use xoff_network::Simulation;
use xoff_network::scenario::{NicKind, Scenario};
use xoff_sim::kernel::{Direction, Record};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{NakCode, Opcode, Psn, SyndromeMeaning};

/// Six messages of eight packets each; packets 24 to 31 are the fourth.
fn six_messages() -> String {
    let head = r#"
title = "six messages"
duration = "500 us"
[[switches]]
name = "s"
"#;
    let flows = r#"[[flows]]
name = "f"
from = "a"
to = "b"
message = "8 KiB"
count = 6
timeout = 3
"#;
    [head, &star(&["a", "b"]), flows].concat()
}

/// What is done to the packets of `a`, and what has to follow.
struct Case {
    name: &'static str,
    /// Rules for the direction from `a` to `b`, and back.
    rules: [&'static [&'static str]; 2],
    /// Number of QPs.
    qps: u32,
    /// NAKs that `b` sends: one for each gap.
    naks: u64,
    /// Expiries of the ACK timer at `a`.
    timeouts: u64,
    /// Whether `a` sends packets again.
    resent: bool,
}

const fn case(
    name: &'static str,
    rules: [&'static [&'static str]; 2],
    naks: u64,
    timeouts: u64,
) -> Case {
    Case {
        name,
        rules,
        qps: 1,
        naks,
        timeouts,
        resent: naks + timeouts > 0,
    }
}

/// IBTA volume 1, chapter 9: there is one NAK for a gap; a packet that was accepted before is acknowledged again and
/// changes nothing; the requester continues from the PSN of a NAK, and after a timeout from the oldest packet that is
/// not acknowledged.
const CASES: [Case; 19] = [
    case("nothing", [&[], &[]], 0, 0),
    case(
        "first of a message",
        [&["psn +24, shots 1: drop"], &[]],
        1,
        0,
    ),
    case(
        "middle of a message",
        [&["psn +28, shots 1: drop"], &[]],
        1,
        0,
    ),
    case(
        "last of a message",
        [&["psn +31, shots 1: drop"], &[]],
        1,
        0,
    ),
    // Nothing comes behind the very last packet that could show the gap.
    case("last of all", [&["psn +47, shots 1: drop"], &[]], 0, 1),
    // There is one NAK for a gap, so the loss of a retransmission shows by the timer.
    case(
        "its retransmission too",
        [&["psn +28, shots 2: drop"], &[]],
        1,
        1,
    ),
    case(
        "its retransmission twice",
        [&["psn +28, shots 3: drop"], &[]],
        1,
        2,
    ),
    case(
        "two packets in a row",
        [&["psn +28-+29, shots 2: drop"], &[]],
        1,
        0,
    ),
    case(
        "two packets apart",
        [&["psn +12, shots 1: drop", "psn +40, shots 1: drop"], &[]],
        2,
        0,
    ),
    // A later ACK acknowledges what the lost one did.
    case(
        "an ACK",
        [&[], &["opcode 0x11, psn +31, shots 1: drop"]],
        0,
        0,
    ),
    case(
        "the last ACK",
        [&[], &["opcode 0x11, psn +47, shots 1: drop"]],
        0,
        1,
    ),
    case(
        "a NAK",
        [
            &["psn +28, shots 1: drop"],
            &["opcode 0x11, psn +28, shots 1: drop"],
        ],
        1,
        1,
    ),
    // It comes after its NAK and is taken; those that overtook it are missing then, which is a second gap.
    case(
        "a packet overtaken by three",
        [&["psn +28, shots 1: delay 800 ns"], &[]],
        2,
        0,
    ),
    case(
        "a packet twice",
        [&["psn +28, shots 1: duplicate"], &[]],
        0,
        0,
    ),
    case(
        "a bit under a right FCS",
        [&["psn +28, shots 1: flip"], &[]],
        1,
        0,
    ),
    case("a wrong FCS", [&["psn +28, shots 1: corrupt"], &[]], 1, 0),
    case("one mark", [&["psn +28, shots 1: ecn"], &[]], 0, 0),
    case("marks on all", [&["src 10.0.0.1: ecn"], &[]], 0, 0),
    Case {
        qps: 4,
        ..case(
            "a packet of each of four QPs",
            [
                &[
                    "qpn 0x100, psn +28, shots 1: drop",
                    "qpn 0x101, psn +28, shots 1: drop",
                    "qpn 0x102, psn +28, shots 1: drop",
                    "qpn 0x103, psn +28, shots 1: drop",
                ],
                &[],
            ],
            4,
            0,
        )
    },
];

/// Bits of the time that the standard's timer may take: T to 4 T, with T = 4.096 µs · 2³.
const TIMEOUT: Duration = Duration::from_ps(4_096_000 << 3);

struct Seen {
    /// Frames at both hosts' ports, in order.
    records: [Vec<Record>; 2],
    simulation: Simulation,
    monitor: Monitor,
    /// Each fault rule, and how many frames it hit.
    hits: Vec<(String, u64)>,
}

fn run(case: &Case, nic: &NicKind, dcqcn: bool) -> Seen {
    let mut scenario: Scenario = toml::from_str(&six_messages()).unwrap();
    scenario.host.nic = nic.clone();
    if dcqcn {
        scenario.host.dcqcn = Some(Default::default());
    }
    scenario.flows[0].qps = case.qps;
    run_changed(case, scenario)
}

fn run_changed(case: &Case, mut scenario: Scenario) -> Seen {
    let parsed = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
    scenario.links[0].faults = parsed(case.rules[0]);
    scenario.links[0].faults_back = parsed(case.rules[1]);
    let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
    let mut monitor = Monitor::new();
    if let Some(dcqcn) = &scenario.host.dcqcn {
        monitor = monitor.with_cnp_interval(dcqcn.cnp_interval);
    }
    let hosts = ["a", "b"].map(|name| simulation.node(name).unwrap());
    let taps = ["a", "b"].map(|name| {
        monitor.add_tap(Tap {
            host: true,
            orderly: !case.name.contains("overtaken"),
            ..Tap::new(name)
        })
    });
    for host in hosts {
        let port = simulation.ports(host).next().unwrap();
        simulation.network_mut().tap(host, port, true);
    }
    let mut records = [vec![], vec![]];
    let see = |seen: &[Record]| {
        for record in seen {
            let side = usize::from(record.node == hosts[1]);
            monitor.see(&Sighting {
                tap: taps[side],
                number: (records[side].len() + 1) as u64,
                time: record.frame.end,
                direction: Some(record.direction),
                bytes: &record.frame.bytes.whole(),
                line: None,
                kept: record.frame.bytes.len(),
                addressed: true,
                fcs_ok: record.frame.fcs_ok,
            });
            records[side].push(record.clone());
        }
    };
    simulation
        .run_until_observed(Time::ZERO + scenario.duration, see)
        .unwrap();
    let uses = simulation.faults(&scenario.checked().unwrap()).into_iter();
    let hits = uses.map(|used| (used.rule, used.hit)).collect();
    Seen {
        records,
        simulation,
        monitor,
        hits,
    }
}

fn parsed(record: &Record) -> ParsedFrame {
    protocol::parse(&record.frame.bytes.whole())
}

/// The data packets among frames in one direction, each with its QP and PSN.
fn requests(records: &[Record], direction: Direction) -> Vec<(&Record, u32, Psn)> {
    (records.iter())
        .filter(|record| record.direction == direction)
        .filter_map(|record| {
            let bth = parsed(record).bth?;
            (bth.opcode.0 < Opcode::RC_ACK.0).then_some((record, bth.dest_qp.get(), bth.psn))
        })
        .collect()
}

/// The times of a retransmission.
#[derive(Debug)]
struct Latencies {
    /// From the last bit of the packet that shows the gap to the first bit of the NAK, at `b`.
    gap_to_nak: Duration,
    /// From the last bit of the NAK to the first bit of the packet that is sent again, at `a`.
    nak_to_resend: Duration,
    /// From the last bit of the packet that is lost to its first bit when it is sent again, at `a`.
    drop_to_resend: Duration,
}

/// The times of the first retransmission of each QP, in the order of their numbers.
fn latencies(seen: &Seen) -> Vec<Latencies> {
    let [a, b] = &seen.records;
    let naks = |records: &[Record], direction: Direction| -> Vec<(Record, u32, Psn)> {
        (records.iter())
            .filter_map(|record| {
                let parsed = parsed(record);
                let bth = parsed.bth?;
                let meaning = parsed.ext?.aeth?.syndrome.meaning();
                let is = record.direction == direction
                    && meaning == SyndromeMeaning::Nak(NakCode::PsnSequenceError);
                is.then(|| (record.clone(), bth.dest_qp.get(), bth.psn))
            })
            .collect()
    };
    let (out, back) = (naks(b, Direction::Sent), naks(a, Direction::Received));
    let sent = requests(a, Direction::Sent);
    let came = requests(b, Direction::Received);
    // The QPs of both sides are numbered in the same order.
    let numbers = |of: &[u32]| {
        of.iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
    };
    let to_b = numbers(&sent.iter().map(|(_, qp, _)| *qp).collect::<Vec<_>>());
    let to_a = numbers(&out.iter().map(|(_, qp, _)| *qp).collect::<Vec<_>>());
    let of_qp = |(to_b, to_a): (&u32, &u32)| {
        let (nak, _, missing) = out.iter().find(|(_, qp, _)| qp == to_a)?;
        let (shows, ..) = came
            .iter()
            .find(|(_, qp, psn)| qp == to_b && psn.ahead_of(*missing) > 0)?;
        let (nak_in, ..) = back.iter().find(|(_, qp, _)| qp == to_a)?;
        let of_missing = || {
            sent.iter()
                .filter(|(_, qp, psn)| qp == to_b && psn == missing)
        };
        let (first, ..) = of_missing().next()?;
        let (again, ..) =
            of_missing().find(|(record, ..)| record.frame.start > nak_in.frame.end)?;
        Some(Latencies {
            gap_to_nak: nak.frame.start - shows.frame.end,
            nak_to_resend: again.frame.start - nak_in.frame.end,
            drop_to_resend: again.frame.start - first.frame.end,
        })
    };
    to_b.iter().zip(&to_a).filter_map(of_qp).collect()
}

/// What a responder says of packets that came, as a state machine over the frames: duplicates, and packets behind a
/// gap (`duplicate_request` and `out_of_sequence` of `rdma statistic`).
fn duplicates_and_gaps(seen: &Seen) -> [u64; 2] {
    let mut expected = BTreeMap::<u32, Psn>::new();
    let [mut duplicates, mut gaps] = [0; 2];
    for (record, qp, psn) in requests(&seen.records[1], Direction::Received) {
        if !record.frame.fcs_ok || parsed(record).icrc_ok == Some(false) {
            continue;
        }
        // The first packet of a QP is never the one that is lost.
        let next = expected.entry(qp).or_insert(psn);
        match psn.ahead_of(*next) {
            0 => *next = psn.advance(1),
            ahead if ahead > 0 => gaps += 1,
            _ => duplicates += 1,
        }
    }
    [duplicates, gaps]
}

/// How often a requester went back without a NAK, as a state machine over the frames at its port
/// (`local_ack_timeout_err` of `rdma statistic`). What it sends behind a NAK goes back for the NAK.
fn timeouts(seen: &Seen) -> u64 {
    let mut records: Vec<_> = seen.records[0].iter().collect();
    records.sort_by_key(|record| record.frame.end);
    let (mut last, mut named) = (BTreeMap::<u32, Psn>::new(), BTreeSet::new());
    let mut timeouts = 0;
    for record in records {
        let parsed = parsed(record);
        let Some(bth) = parsed.bth else { continue };
        if record.direction == Direction::Received {
            let aeth = parsed.ext.and_then(|ext| ext.aeth);
            let meaning = aeth.map(|aeth| aeth.syndrome.meaning());
            if meaning == Some(SyndromeMeaning::Nak(NakCode::PsnSequenceError)) {
                named.insert(bth.psn.get());
            }
        } else if bth.opcode.0 < Opcode::RC_ACK.0 {
            let before = last.insert(bth.dest_qp.get(), bth.psn);
            let back = before.is_some_and(|before| bth.psn.ahead_of(before) <= 0);
            timeouts += u64::from(back && !named.remove(&bth.psn.get()));
        }
    }
    timeouts
}

#[test]
fn injected_losses_marks_and_errors_have_the_consequences_of_the_standard() {
    for nic in [NicKind::Rtl, NicKind::Model] {
        for case in &CASES {
            let marks = case.name.contains("mark");
            let seen = run(case, &nic, marks);
            let what = format!("{nic:?}: {}", case.name);
            let report = seen.monitor.report();
            let broken: Vec<_> = report.violations.iter().map(|found| found.rule).collect();
            let expected: &[Rule] = match case.name {
                "a bit under a right FCS" => &[Rule::Icrc],
                _ => &[],
            };
            assert_eq!(broken, expected, "{what}: {:?}", report.violations);
            assert!(seen.simulation.finished(), "{what}: messages are missing");
            // The case is what its name says.
            assert_eq!(
                seen.hits.len(),
                case.rules.iter().map(|rules| rules.len()).sum::<usize>()
            );
            for (rule, hits) in &seen.hits {
                let shots = rule.split_once("shots ").map(|(_, rest)| {
                    let digits = rest.split(|of: char| !of.is_ascii_digit());
                    digits.into_iter().next().unwrap().parse::<u64>().unwrap()
                });
                assert!(
                    *hits > 0 && shots.is_none_or(|shots| shots == *hits),
                    "{what}: {hits} hits of {rule}"
                );
            }
            let counters = ["a", "b"].map(|name| {
                let station = seen.simulation.station(name);
                station.nic_counters().unwrap()
            });
            let [a, b] = counters;
            assert_eq!(b.get(reg::NAKS_OUT), case.naks, "{what}: NAKs");
            assert_eq!(a.get(reg::TIMEOUTS), case.timeouts, "{what}: timeouts");
            assert_eq!(
                a.get(reg::RESENT_OUT) > 0,
                case.resent,
                "{what}: sent again"
            );
            // The counters are those of the frames.
            for (side, counters) in counters.into_iter().enumerate() {
                let nic: Vec<_> = [
                    (Counter::FramesIn, reg::FRAMES_IN),
                    (Counter::FramesOut, reg::FRAMES_OUT),
                    (Counter::PacketSeqErr, reg::NAKS_IN),
                    (Counter::SeqNaksOut, reg::NAKS_OUT),
                    (Counter::RxIcrcEncapsulated, reg::DROP_ICRC),
                    (Counter::NpCnpSent, reg::CNPS_OUT),
                    (Counter::NpEcnMarkedRocePackets, reg::MARKED_IN),
                    (Counter::RpCnpHandled, reg::CNPS_IN),
                ]
                .map(|(counter, register)| (counter, counters.get(register)))
                .to_vec();
                let differ = seen.monitor.counts(side).differences(&nic);
                assert_eq!(differ, [], "{what}, side {side}: NIC and frames");
            }
            let sent = requests(&seen.records[0], Direction::Sent);
            let mut times = BTreeMap::<_, u64>::new();
            for (_, qp, psn) in &sent {
                *times.entry((*qp, psn.get())).or_default() += 1;
            }
            assert_eq!(times.len() as u32, 48 * case.qps, "{what}: packets");
            let again: u64 = times.values().map(|times| times - 1).sum();
            // What was withdrawn was granted again, and did not leave the first time.
            let resent = a.get(reg::RESENT_OUT) - a.get(reg::WITHDRAWN);
            assert_eq!(resent, again, "{what}: sent again");
            let came = requests(&seen.records[1], Direction::Received).len() as u64;
            let taken = [
                reg::REQUESTS_IN,
                reg::DUPLICATES_IN,
                reg::GAPS_IN,
                reg::DROP_ICRC,
            ];
            let taken: u64 = taken.iter().map(|register| b.get(*register)).sum();
            assert_eq!(taken, came, "{what}: a packet is neither taken nor counted");
            let trace = duplicates_and_gaps(&seen);
            let told = [reg::DUPLICATES_IN, reg::GAPS_IN].map(|register| b.get(register));
            assert_eq!(
                told, trace,
                "{what}: duplicates and gaps, of the NIC and the frames"
            );
            assert_eq!(
                a.get(reg::TIMEOUTS),
                timeouts(&seen),
                "{what}: timeouts of the NIC and the frames"
            );
            match case.name {
                "one mark" => assert_eq!([b.get(reg::CNPS_OUT), a.get(reg::CNPS_IN)], [1, 1]),
                "marks on all" => assert_eq!(b.get(reg::MARKED_IN), came, "{what}"),
                "a packet twice" => assert_eq!(b.get(reg::DUPLICATES_IN), 1, "{what}"),
                "a bit under a right FCS" => assert_eq!(b.get(reg::DROP_ICRC), 1, "{what}"),
                _ => {}
            }
            if case.name == "a NAK" || case.naks == 0 {
                continue;
            }
            let latencies = latencies(&seen);
            assert_eq!(
                latencies.len() as u32,
                case.qps,
                "{what}: QPs that sent again"
            );
            for of in latencies {
                println!(
                    "{what}: gap to NAK {}, NAK to retransmission {}, lost packet to retransmission {}",
                    of.gap_to_nak, of.nak_to_resend, of.drop_to_resend
                );
                // At most 1 µs and the frame that is on the wire: 1,106 bytes with preamble and gap. Of several QPs the
                // packets of the others are in between.
                let frame = Duration::from_ps(1_106 * 200);
                let resend = Duration::from_us(1) + frame * (4 * u64::from(case.qps) - 3);
                assert!(of.nak_to_resend <= resend, "{what}: {of:?}");
                assert!(of.gap_to_nak <= Duration::from_us(1), "{what}: {of:?}");
                assert!(
                    of.drop_to_resend > of.gap_to_nak + of.nak_to_resend,
                    "{what}: {of:?}"
                );
            }
        }
    }
}

/// DCQCN (SIGCOMM 2015, 3.1): the notification point sends a CNP for a marked packet unless it has sent one of the flow
/// within the interval. Each twentieth packet is marked, and several intervals pass.
#[test]
fn marks_on_a_part_of_the_packets_make_a_cnp_an_interval() {
    let interval = Duration::from_us(4);
    let case = case(
        "marks on one packet in twenty",
        [&["src 10.0.0.1, chance 1/20: ecn"], &[]],
        0,
        0,
    );
    for nic in [NicKind::Rtl, NicKind::Model] {
        let mut scenario: Scenario = toml::from_str(&six_messages()).unwrap();
        scenario.host.nic = nic.clone();
        scenario.flows[0].count = Some(60);
        scenario.host.dcqcn.get_or_insert_default().cnp_interval = interval;
        let seen = run_changed(&case, scenario);
        let report = seen.monitor.report();
        assert_eq!(
            report.violations.len(),
            0,
            "{nic:?}: {:?}",
            report.violations
        );
        let marked = (requests(&seen.records[1], Direction::Received).into_iter())
            .filter(|(record, ..)| record.frame.bytes.headers()[15] & 3 == 3)
            .map(|(record, ..)| record.frame.end);
        let (mut expected, mut last, mut marks) = (0, None, 0);
        for at in marked {
            marks += 1;
            if last.is_none_or(|last: Time| at >= last + interval) {
                expected += 1;
                last = Some(at);
            }
        }
        let cnps = (seen.records[1].iter())
            .filter(|record| record.direction == Direction::Sent)
            .filter(|record| {
                parsed(record)
                    .bth
                    .is_some_and(|bth| bth.opcode == Opcode::CNP)
            });
        let times: Vec<_> = cnps.map(|record| record.frame.start).collect();
        println!(
            "{nic:?}: {marks} marks, {} CNPs, {expected} expected",
            times.len()
        );
        assert_eq!(seen.hits[0].1, marks, "{nic:?}");
        assert!(times.len() >= 4, "{nic:?}: {} CNPs", times.len());
        // A mark at the very end of an interval may fall on either side.
        assert!(
            times.len().abs_diff(expected) <= 1,
            "{nic:?}: {} CNPs, {expected} expected",
            times.len()
        );
        let [a, b] = ["a", "b"].map(|name| seen.simulation.station(name).nic_counters().unwrap());
        assert_eq!(b.get(reg::MARKED_IN), marks);
        assert_eq!(
            [b.get(reg::CNPS_OUT), a.get(reg::CNPS_IN)],
            [times.len() as u64; 2]
        );
    }
}

/// IBTA volume 1, 9.7.6.1.3: the timer expires between T and 4 T after the last packet that asks for an ACK.
#[test]
fn a_lost_tail_is_sent_again_after_one_to_four_timeouts() {
    for nic in [NicKind::Rtl, NicKind::Model] {
        let case = CASES
            .iter()
            .find(|case| case.name == "last of all")
            .unwrap();
        let seen = run(case, &nic, false);
        let sent = requests(&seen.records[0], Direction::Sent);
        let last = sent
            .iter()
            .map(|(_, _, psn)| *psn)
            .fold(
                sent[0].2,
                |last, psn| {
                    if psn.ahead_of(last) > 0 { psn } else { last }
                },
            );
        let of_last: Vec<_> = sent.iter().filter(|(_, _, psn)| *psn == last).collect();
        let [(first, ..), (second, ..)] = of_last[..] else {
            panic!("the last packet is sent {} times", of_last.len());
        };
        let waited = second.frame.start - first.frame.end;
        println!("{nic:?}: sent again after {waited}, T is {TIMEOUT}");
        assert!(
            waited >= TIMEOUT && waited <= TIMEOUT * 4,
            "{nic:?}: {waited}"
        );
    }
}
