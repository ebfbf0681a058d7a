//! Traffic of the model NIC: no violation at any port, with or without losses, and counters that agree with the
//! frames.

use xoff_monitor::counters::Counter;
use xoff_monitor::{Monitor, Report, Rule, Sighting, Tap};
use xoff_sim::host::{FlowConfig, Host, PcieConfig, Receiver, Sender};
use xoff_sim::kernel::{Network, NetworkBuilder, NodeId, PortId, Record};
use xoff_sim::link::Link;
use xoff_sim::nic::{Address, ModelNic, ModelNicConfig, NicSettings, QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig, WorkKind};
use xoff_sim::seeded::Seed;
use xoff_sim::time::{Clock, Duration, Length, LineRate, Time};
use xoff_sim::wire::{MacAddr, Psn};

/// Frames as seen at a port.
pub type Frames = Vec<Record>;

fn address(host: u8) -> Address {
    let ip = std::net::Ipv4Addr::new(10, 0, 0, host).into();
    Address {
        mac: MacAddr([2, 0, 0, 0, 0, host]),
        ip,
    }
}

fn nic(host: u8) -> ModelNic {
    let clock = Clock::new(Clock::PERIOD_40G, Duration::from_ps(977 * u64::from(host)));
    let config = ModelNicConfig::new(clock, NicSettings::new(address(host).mac));
    ModelNic::new(config, Host::new(clock, 32, &PcieConfig::default()))
}

fn qp(own: u8, peer: u8, index: u16) -> QpSettings {
    let psn =
        |host: u8| Psn::wrapping(0xFF_FFF0 + 5_000 * u32::from(index) + u32::from(host) * 1_000);
    QpSettings {
        own: address(own),
        peer: address(peer),
        tags: vec![],
        dscp: 24,
        hop_limit: 64,
        udp_port: 0xC000 + index,
        pkey: 0xFFFF,
        peer_qpn: 0x100 + u32::from(index),
        requester: RequesterConfig {
            mtu: 2,
            timeout: 4,
            retry: 7,
            rnr_retry: 7,
            ack_every: 4,
            window: 200,
            ..RequesterConfig::default()
        },
        requester_psn: psn(own),
        responder: ResponderConfig {
            mtu: 2,
            rnr_timer: 1,
            restart: false,
        },
        responder_psn: psn(peer),
    }
}

/// Runs flows of all kinds in both directions between two NICs until they end, with faults on the cable for each
/// direction.
fn run(faults: [&[&str]; 2]) -> (Network<ModelNic>, Frames) {
    let mut nics = [1, 2].map(nic);
    let kinds = [
        WorkKind::SEND,
        WorkKind::WRITE,
        WorkKind::WRITE_IMM,
        WorkKind::SEND,
    ];
    for (index, kind) in (0..).zip(kinds) {
        let [a, b] = &mut nics;
        let ((from, to), hosts) = if index % 2 == 0 {
            ((a, b), [1, 2])
        } else {
            ((b, a), [2, 1])
        };
        let config = FlowConfig {
            number: index.into(),
            kind,
            message: 9_000 + 1_001 * u32::from(index),
            count: Some(30),
            outstanding: 8,
            start: Time::ZERO,
            interval: None,
        };
        let region = Region {
            base: config.base(),
            length: config.region_bytes(),
            tag: 0x5A,
            local_write: true,
            remote_write: true,
        };
        from.open(index, &qp(hosts[0], hosts[1], index));
        to.open(index, &qp(hosts[1], hosts[0], index));
        let local = from.register(index, region);
        let remote = to.register(index, region);
        from.host_mut()
            .send(Sender::new(config.clone(), index, local, remote));
        to.host_mut()
            .receive(Receiver::new(config, index, remote, 16));
    }
    let mut builder = NetworkBuilder::new(Seed(3));
    let [a, b] = nics.map(|nic| builder.node(nic));
    let mut link = Link::new(Length::from_m(20), Duration::from_ns(150));
    for (rules, texts) in link.faults.iter_mut().zip(faults) {
        *rules = texts.iter().map(|text| text.parse().unwrap()).collect();
    }
    builder
        .connect((a, PortId(0)), (b, PortId(0)), &link)
        .unwrap();
    let mut network = builder.build();
    let mut frames = Vec::new();
    for node in [a, b] {
        network.tap(node, PortId(0), true);
    }
    let busy =
        |network: &Network<ModelNic>| [a, b].iter().any(|it| !network.node(*it).host().finished());
    while busy(&network) {
        assert!(
            network.now() < Time::ZERO + Duration::from_us(50_000),
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
        monitor.see(&Sighting {
            tap: record.node.0 as usize,
            number,
            time: record.frame.end,
            direction: Some(record.direction),
            bytes: &record.frame.bytes,
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
    assert_eq!(report.remarks.get(&xoff_monitor::Habit::Unpaired), None);
}

#[test]
fn model_nics_break_no_rule() {
    for faults in LOSSES {
        let (_, frames) = run(faults);
        assert!(frames.len() > 1_000);
        for host in [true, false] {
            let monitor = watch(&frames, host);
            nothing(monitor.report());
            // All traffic sent was judged.
            let checked = |rule| monitor.report().rules[&rule].checked;
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
fn counters_of_the_nic_are_those_of_the_frames() {
    for faults in LOSSES {
        let (network, frames) = run(faults);
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
