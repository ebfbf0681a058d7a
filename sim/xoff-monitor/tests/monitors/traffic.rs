//! Traffic of the model NIC: no violation at any port, with or without losses, and counters that agree with the
//! frames.

use xoff_monitor::counters::Counter;
use xoff_monitor::{Habit, Monitor, Report, Rule, Sighting, Tap};
use xoff_sim::host::{FlowConfig, PcieConfig, Shapes};
use xoff_sim::kernel::{Network, NodeId, PortId, Record};
use xoff_sim::nic::ModelNic;
use xoff_sim::nic::model::pair::{connect, nic, pair};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::WorkKind;
use xoff_sim::time::{Duration, LineRate, Time};

/// Frames as seen at a port.
pub type Frames = Vec<Record>;

const KINDS: &[WorkKind] = &[
    WorkKind::SEND,
    WorkKind::WRITE,
    WorkKind::WRITE_IMM,
    WorkKind::SEND,
];
const WITH_READS: &[WorkKind] = &[
    WorkKind::READ,
    WorkKind::FETCH_ADD,
    WorkKind::SEND,
    WorkKind::READ,
    WorkKind::CMP_SWAP,
    WorkKind::WRITE,
];

/// Runs flows of these kinds in both directions between two NICs until they end, with faults on the cable for each
/// direction.
fn run(kinds: &[WorkKind], faults: [&[&str]; 2]) -> (Network<ModelNic>, Frames) {
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), |_| ()));
    if kinds.iter().any(|kind| kind.returns()) {
        nics.iter_mut().for_each(|nic| nic.enable_reads(16));
    }
    for (index, &kind) in (0..).zip(kinds) {
        let [a, b] = &mut nics;
        let (from, to) = match index % 2 {
            0 => ((a, 1), (b, 2)),
            _ => ((b, 2), (a, 1)),
        };
        let bytes = match kind.is_atomic() {
            true => 8,
            false => 9_000 + 1_001 * u32::from(index),
        };
        let config = FlowConfig {
            number: index.into(),
            shapes: Shapes::all(kind, bytes),
            count: Some(30),
            outstanding: 8,
            start: Time::ZERO,
            interval: None,
            working_set: None,
        };
        connect(from, to, index, &config, |_| ());
    }
    let mut network = pair(nics, faults);
    let [a, b] = [NodeId(0), NodeId(1)];
    let mut frames = Vec::new();
    for node in [a, b] {
        network.tap(node, PortId(0), true);
    }
    let busy =
        |network: &Network<ModelNic>| [a, b].iter().any(|it| !network.node(*it).host().finished());
    while busy(&network) {
        assert!(
            network.now() < Time::from_us(50_000),
            "the flows do not end"
        );
        let until = network.now() + Duration::from_us(50);
        network.run_until(until, |records| frames.extend_from_slice(records));
    }
    (network, frames)
}

fn watch(frames: &[Record], host: bool) -> Monitor {
    let mut monitor = Monitor::new();
    for name in ["a", "b"] {
        monitor.add_tap(Tap {
            host,
            rate: Some(LineRate::G40),
            ..Tap::new(name)
        });
    }
    for (number, record) in (1..).zip(frames) {
        let bytes = record.frame.bytes.whole();
        monitor.see(&Sighting {
            tap: record.node.0 as usize,
            number,
            time: record.frame.end,
            direction: Some(record.direction),
            bytes: &bytes,
            line: None,
            kept: bytes.len(),
            addressed: true,
            fcs_ok: record.frame.fcs_ok,
        });
    }
    monitor
}

const LOSSES: [[&[&str]; 2]; 4] = [
    [&[], &[]],
    [&["any, chance 1/40: drop"], &[]],
    [&[], &["any, chance 1/20: drop"]],
    [
        &["any, chance 1/60: drop", "any, chance 1/50: corrupt"],
        &["any, chance 1/50: drop"],
    ],
];

fn nothing(report: &Report) {
    assert_eq!(report.violations, []);
    for habit in [Habit::Unpaired, Habit::DscpChanges] {
        assert_eq!(report.remarks.get(&habit), None);
    }
}

#[test]
fn model_nics_break_no_rule() {
    for faults in LOSSES {
        let (_, frames) = run(KINDS, faults);
        assert!(frames.len() > 1_000);
        for host in [true, false] {
            let monitor = watch(&frames, host);
            nothing(monitor.report());
            // All traffic sent was judged.
            let checked = |rule| monitor.report().rules[rule].checked;
            assert!(checked(Rule::Msn) > 200, "{}", checked(Rule::Msn));
            assert_eq!(checked(Rule::PsnOrder) > 1_000, host);
            let lossy = faults.iter().any(|rules| !rules.is_empty());
            assert_eq!(checked(Rule::ResendStart) > 0, lossy);
            assert_eq!(checked(Rule::NakOnce) > 0, lossy);
        }
        // Like a capture that starts in the middle.
        for from in [17, 300, 501, 900] {
            let monitor = watch(&frames[from..], false);
            assert_eq!(monitor.report().violations, [], "from {from}");
        }
    }
}

#[test]
fn reads_and_atomics_of_model_nics_break_no_rule() {
    for faults in LOSSES {
        let (_, frames) = run(WITH_READS, faults);
        for host in [true, false] {
            let monitor = watch(&frames, host);
            nothing(monitor.report());
            let checked = |rule| monitor.report().rules[rule].checked;
            for rule in [Rule::ReadResponse, Rule::ReadOrder, Rule::AtomicAnswer] {
                assert!(checked(rule) >= 60, "{rule:?}: {}", checked(rule));
            }
        }
        // A capture that starts anywhere, also among responses to READs that it does not have, or has again only. Where
        // READs are asked for again, and nothing before a response says so, the few frames look like a fault.
        let starts: Vec<usize> = (1..frames.len() - 500).step_by(23).collect();
        let named = |from: &&usize| {
            !watch(&frames[**from..], false)
                .report()
                .violations
                .is_empty()
        };
        let wrong = starts.iter().filter(named).count();
        let lossy = faults.iter().any(|rules| !rules.is_empty());
        let most = if lossy { starts.len() / 12 } else { 0 };
        assert!(wrong <= most, "{wrong} of {} starts", starts.len());
    }
}

#[test]
fn counters_of_the_nic_are_those_of_the_frames() {
    for faults in LOSSES {
        let (network, frames) = run(KINDS, faults);
        let monitor = watch(&frames, true);
        for node in [NodeId(0), NodeId(1)] {
            let nic = network.node(node).counters();
            let says = [
                (Counter::FramesIn, reg::FRAMES_IN),
                (Counter::FramesOut, reg::FRAMES_OUT),
                (Counter::PacketSeqErr, reg::NAKS_IN),
                (Counter::SeqNaksOut, reg::NAKS_OUT),
                (Counter::RnrNaksOut, reg::RNR_NAKS_OUT),
                (Counter::RnrNakRetryErr, reg::RNR_NAKS_IN),
                (Counter::NpCnpSent, reg::CNPS_OUT),
                (Counter::RpCnpHandled, reg::CNPS_IN),
                (Counter::RxIcrcEncapsulated, reg::DROP_ICRC),
            ]
            .map(|(counter, register)| (counter, nic.get(register)));
            let counts = monitor.counts(node.0 as usize);
            assert_eq!(counts.differences(&says), [], "node {}, {faults:?}", node.0);
            // A counter that is off by one is found.
            let off = [(Counter::FramesIn, nic.get(reg::FRAMES_IN) + 1)];
            assert_eq!(counts.differences(&off).len(), 1);
        }
    }
}
