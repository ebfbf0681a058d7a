//! The injections of Lumina (SIGCOMM 2023): a loss, a mark or an error at a chosen packet, and at its retransmission.
//! They are judged as there: by state machines over the frames at both hosts, by the counters of the NICs, which equal
//! the frames, and by the two latencies of a retransmission apart from each other.

use std::collections::BTreeMap;

use crate::common::scenarios::star;
use xoff_cosim::network::Simulation;
use xoff_cosim::scenario::{NicKind, Scenario};
use xoff_monitor::counters::Counter;
use xoff_monitor::{Monitor, Rule, Sighting, Tap};
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
            [&["psn +28, shots 4: drop"], &[]],
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
}

fn run(case: &Case, nic: &NicKind, dcqcn: bool) -> Seen {
    let mut scenario: Scenario = toml::from_str(&six_messages()).unwrap();
    scenario.host.nic = nic.clone();
    if dcqcn {
        scenario.host.dcqcn = Some(Default::default());
    }
    scenario.flows[0].qps = case.qps;
    let parsed = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
    scenario.links[0].faults = parsed(case.rules[0]);
    scenario.links[0].faults_back = parsed(case.rules[1]);
    let mut simulation = Simulation::new(&scenario).unwrap();
    let mut monitor = Monitor::new();
    if let Some(dcqcn) = &scenario.host.dcqcn {
        monitor = monitor.with_cnp_interval(dcqcn.cnp_interval);
    }
    let hosts = ["a", "b"].map(|name| simulation.node(name).unwrap());
    let taps = ["a", "b"].map(|name| {
        monitor.add_tap(Tap {
            host: true,
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
                bytes: &record.frame.bytes,
                fcs_ok: record.frame.fcs_ok,
            });
            records[side].push(record.clone());
        }
    };
    simulation
        .run_until_observed(Time::ZERO + scenario.duration, see)
        .unwrap();
    Seen {
        records,
        simulation,
        monitor,
    }
}

fn parsed(record: &Record) -> ParsedFrame {
    protocol::parse(&record.frame.bytes)
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

/// The times of a retransmission: from the arrival of the packet that shows the gap to the NAK at `b`, and from the
/// NAK's last bit to the first bit of the packet sent again at `a`.
fn latencies(seen: &Seen) -> Option<(Duration, Duration)> {
    let nak = |direction: Direction| {
        move |record: &&Record| {
            let aeth = parsed(record).ext.and_then(|ext| ext.aeth);
            let meaning = aeth.map(|aeth| aeth.syndrome.meaning());
            record.direction == direction
                && meaning == Some(SyndromeMeaning::Nak(NakCode::PsnSequenceError))
        }
    };
    let [a, b] = &seen.records;
    let sent = b.iter().find(nak(Direction::Sent))?;
    let missing = parsed(sent).bth?.psn;
    let behind = requests(b, Direction::Received);
    let (shows, ..) = behind
        .iter()
        .find(|(_, _, psn)| psn.ahead_of(missing) > 0)?;
    let came = a.iter().find(nak(Direction::Received))?;
    let again = requests(a, Direction::Sent);
    let (again, ..) = (again.iter())
        .find(|(record, _, psn)| *psn == missing && record.frame.start > came.frame.end)?;
    Some((
        sent.frame.start - shows.frame.end,
        again.frame.start - came.frame.end,
    ))
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
            match case.name {
                "one mark" => assert_eq!([b.get(reg::CNPS_OUT), a.get(reg::CNPS_IN)], [1, 1]),
                "marks on all" => assert_eq!(b.get(reg::MARKED_IN), came, "{what}"),
                "a packet twice" => assert_eq!(b.get(reg::DUPLICATES_IN), 1, "{what}"),
                "a bit under a right FCS" => assert_eq!(b.get(reg::DROP_ICRC), 1, "{what}"),
                _ => {}
            }
            // Of several QPs the packets of the others are in between.
            if case.name == "a NAK" || case.naks == 0 || case.qps > 1 {
                continue;
            }
            let (gap, resend) = latencies(&seen).expect("there is a NAK");
            println!("{what}: gap to NAK {gap}, NAK to retransmission {resend}");
            // At most 1 µs and the frame that is on the wire: 1,106 bytes with preamble and gap.
            let frame = Duration::from_ps(1_106 * 200);
            assert!(resend <= Duration::from_us(1) + frame, "{what}: {resend}");
            assert!(gap <= Duration::from_us(1), "{what}: {gap}");
        }
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
