//! Hosts whose NIC is a device in Rust: its model is nothing but wires, and its driver is the NIC.

use std::collections::VecDeque;
use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use verilated::{BuildError, Failure, Model, Port, RestoreError, Settings, TraceError};
use xoff_network::scenario::flow::Operation;
use xoff_network::scenario::{FlowSettings, NicKind, Scenario};
use xoff_network::{Endpoints, Simulation, SimulationError};
use xoff_sim::frame::Frame;
use xoff_sim::host::{Host, PcieConfig};
use xoff_sim::kernel::{Arrivals, Departures, Node};
use xoff_sim::mac::Beat;
use xoff_sim::nic::{Address, NicSettings, PfcSettings, QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::Idle;
use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig, WorkKind};
use xoff_sim::time::{ByteCount, Clock, Cycles, Duration, Length, LineRate, Time};
use xoff_sim::wire::{MacAddr, Pfc, PfcRepr, Psn, control_frame};

use super::super::device::{DeviceModel, Limits, PortShape};
use super::*;

use crate::units::{axi_stream, axi_stream::Lanes};

/// Bytes of a beat.
const WIDTH: usize = 32;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stream {
    valid: bool,
    bytes: u8,
    last: bool,
    data: [u32; WIDTH / 4],
}

impl Stream {
    fn new(beat: Option<&Beat>) -> Self {
        let mut this = Self::default();
        if let Some(beat) = beat {
            axi_stream::put(&mut this.data, &beat.data);
            (this.valid, this.bytes, this.last) = (true, beat.data.len() as u8, beat.last);
        }
        this
    }

    fn beat(&self) -> Option<Beat> {
        let bytes = (0..self.bytes.into()).map(|lane| self.data.lane(lane));
        self.valid.then(|| Beat {
            data: bytes.collect(),
            last: self.last,
        })
    }
}

/// The inputs, which are the outputs too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pins {
    rx: Stream,
    tx: Stream,
    tx_ready: bool,
    paused: u8,
    requests: u8,
}

/// A model that passes its inputs on, and counts cycles.
#[derive(Debug)]
struct Wires {
    name: String,
    cycles: u64,
}

impl Model for Wires {
    type In = Pins;
    type Out = Pins;
    const NAME: &'static str = "Wires";
    const PORTS: &'static [Port] = &[];
    const COVERAGE: bool = false;

    fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self {
            name: settings.instance.clone(),
            cycles: 0,
        })
    }

    fn cycle(&mut self, inputs: &Pins, outputs: &mut Pins) -> Result<(), Failure> {
        self.cycles += 1;
        self.eval(inputs, outputs)
    }

    fn eval(&mut self, inputs: &Pins, outputs: &mut Pins) -> Result<(), Failure> {
        *outputs = *inputs;
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(self.cycles.to_le_bytes().into())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), RestoreError> {
        let found = saved.to_vec();
        let bytes = saved
            .try_into()
            .map_err(|_| RestoreError::NotSaved { found })?;
        self.cycles = u64::from_le_bytes(bytes);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<u8>, Failure> {
        self.save()
    }

    fn trace_only(&mut self, _signals: &[String]) {}

    fn trace_open(&mut self, _path: &Path) -> Result<(), TraceError> {
        Ok(())
    }

    fn trace_check(&mut self) -> Result<(), TraceError> {
        Ok(())
    }

    fn trace_close(&mut self) -> Result<(), TraceError> {
        Ok(())
    }

    fn time_ps(&self) -> u64 {
        0
    }

    fn instance(&self) -> &str {
        &self.name
    }
}

impl DeviceModel for Wires {
    fn set_time_ps(&mut self, _picoseconds: u64) {}

    fn tracing(&self) -> bool {
        false
    }
}

const NOBODY: u8 = 0;
const PINS: u8 = 1;
const BTH: u8 = 2;
const CHATTY: u8 = 3;

/// The pins, with ports of several kinds.
#[derive(Debug)]
struct Wired<const KIND: u8>;

impl<const KIND: u8> Device for Wired<KIND> {
    type Model = Wires;
    const PORT: PortShape = PortShape {
        width: WIDTH,
        period: Clock::PERIOD_40G,
        receive: Receive::EveryBeat,
        transmit: match KIND {
            BTH => Transmit::StoreAndForward,
            _ => Transmit::CutThrough,
        },
        fcs: false,
        padded: true,
        pauses: match KIND {
            NOBODY => Pauses::Nobody,
            _ => Pauses::Pins,
        },
        framing: match KIND {
            BTH => Framing::Bth,
            _ => Framing::Ethernet,
        },
    };
    const CHECKPOINTS: bool = KIND == CHATTY;

    fn reset(_pins: &mut Pins, _active: bool) {}

    fn receive(pins: &mut Pins, beat: Option<&Beat>) {
        pins.rx = Stream::new(beat);
    }

    fn transmit_ready(pins: &mut Pins, ready: bool) {
        pins.tx_ready = ready;
    }

    fn transmit(out: &Pins) -> Result<Option<Beat>, String> {
        Ok(out.tx.beat())
    }

    fn paused(pins: &mut Pins, classes: u8) {
        pins.paused = classes;
    }

    fn pause_requests(out: &Pins) -> u8 {
        out.requests
    }

    fn idle(out: &Pins, _: Cycles) -> Idle {
        match out.tx.valid {
            true => Idle::No,
            false => Idle::Forever,
        }
    }
}

/// A NIC that does what it is told: sends frames of class 3, and asks for pauses. A chatty one sends a frame every
/// 2,000 cycles.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Script<const KIND: u8> {
    /// Frames, each with the first cycle in which it may start.
    frames: VecDeque<(u64, Bytes)>,
    /// Bytes of the first frame that the MAC has taken.
    sent: usize,
    /// The classes to ask pauses for, from a cycle on.
    requests: VecDeque<(u64, u8)>,
    /// The QPs that packets are sent from.
    senders: VecDeque<u16>,
    asking: u8,
    /// The paused classes that the pins show, from which cycle on.
    paused: Vec<(u64, u8)>,
    received: Vec<Bytes>,
    receiving: Vec<u8>,
}

impl<const KIND: u8> Script<KIND> {
    fn stopped(&self) -> bool {
        let now = self.paused.last().map_or(0, |(_, classes)| *classes);
        now >> 3 & 1 != 0 && self.sent == 0
    }
}

impl<const KIND: u8> Driver for Script<KIND> {
    type Device = Wired<KIND>;

    fn limits() -> Limits {
        Limits {
            qps: 4,
            operations: &[WorkKind::SEND],
            answers: &[WorkKind::SEND],
            granted: 0,
            mtus: &[1024],
            message: 4096,
            outstanding: 16,
            ipv6: true,
        }
    }

    fn new(_setup: &HostSetup) -> Self {
        let frame = |i: u8| (2_000 * u64::from(i), vec![i; 100].into());
        Self {
            frames: (0..200).filter(|_| KIND == CHATTY).map(frame).collect(),
            ..Self::default()
        }
    }

    fn create(&mut self, _index: u16, _psn: Psn, _region: &Region) {}

    fn created(&self, index: u16) -> Option<Created> {
        Some(Created {
            qpn: 0x20 + u32::from(index),
            psn: Psn::wrapping(1),
            key: 1,
        })
    }

    fn connect(&mut self, _index: u16, _settings: &QpSettings) {}

    fn connected(&self, _index: u16) -> bool {
        true
    }

    fn before(&mut self, pins: &mut Pins, edge: &mut Edge<'_>) {
        // A flow waits until its receive buffers are posted.
        while edge.host.recv(edge.now).is_some() {
            edge.host.recv_taken();
        }
        let now = edge.now.0;
        if self.paused.last().map_or(0, |(_, last)| *last) != pins.paused {
            self.paused.push((now, pins.paused));
        }
        while self.requests.front().is_some_and(|(from, _)| *from <= now) {
            self.asking = self.requests.pop_front().map_or(0, |(_, classes)| classes);
        }
        pins.requests = self.asking;
        let stopped = self.stopped();
        let frame = self.frames.front();
        let beat = frame
            .filter(|(from, _)| *from <= now && !stopped)
            .map(|(_, frame)| {
                let end = frame.len().min(self.sent + WIDTH);
                Beat {
                    data: frame.slice(self.sent..end),
                    last: end == frame.len(),
                }
            });
        pins.tx = Stream::new(beat.as_ref());
    }

    fn after(&mut self, pins: &Pins, out: &Pins, _edge: &mut Edge<'_>) -> Result<(), String> {
        if let Some(beat) = out.tx.beat().filter(|_| pins.tx_ready) {
            self.sent += beat.data.len();
            if beat.last {
                self.frames.pop_front();
                self.sent = 0;
            }
        }
        if let Some(beat) = out.rx.beat() {
            self.receiving.extend(beat.data);
            if beat.last {
                self.received
                    .push(std::mem::take(&mut self.receiving).into());
            }
        }
        Ok(())
    }

    fn sends_from(&mut self, packet: &[u8]) -> Option<u16> {
        assert_eq!(packet.len() % 4, 0);
        self.senders.pop_front()
    }

    fn next_event(&self, host: &Host) -> Option<Cycles> {
        let frame = self.frames.front().filter(|_| !self.stopped());
        let request = self.requests.front();
        let times = [frame.map(|(from, _)| *from), request.map(|(from, _)| *from)];
        (times.into_iter().flatten().map(Cycles))
            .chain(host.next_recv())
            .min()
    }
}

fn address(host: u8) -> Address {
    Address {
        mac: MacAddr([2, 0, 0, 0, 0, host]),
        ip: std::net::Ipv4Addr::new(10, 0, 0, host).into(),
    }
}

const CLOCK: Clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);

/// Class 3 is lossless; an XOFF lasts 1,000 quanta and is repeated after half of it.
fn host<const KIND: u8>(change: impl FnOnce(&mut Script<KIND>)) -> RtlHost<Script<KIND>> {
    let mut settings = NicSettings::new(address(1).mac);
    settings.pfc = PfcSettings {
        classes: 1 << 3,
        quanta: 1_000,
        // 6.4 us of 5.12 ns each.
        refresh: 1_250,
        ..PfcSettings::default()
    };
    let setup = HostSetup {
        name: "own".into(),
        address: address(1),
        clock: CLOCK,
        rate: LineRate::G40,
        settings,
        neighbours: vec![],
    };
    let behind = Host::new(CLOCK, WIDTH, &PcieConfig::default());
    let mut host = RtlHost::with_setup(config(), &setup, behind).unwrap();
    change(host.driver_mut());
    host
}

fn config() -> RtlHostConfig {
    RtlHostConfig {
        name: "own".into(),
        seed: 1,
        clock: CLOCK,
        rate: LineRate::G40,
        max_frame: ByteCount::new(9_216),
        time: Cycles(0),
    }
}

/// Runs in windows of 1 us, and returns the frames that left.
fn run<const KIND: u8>(host: &mut RtlHost<Script<KIND>>, us: u64) -> Vec<Frame> {
    let left = run_on(host, us);
    assert_eq!(host.failure(), None);
    left
}

fn run_on<const KIND: u8>(host: &mut RtlHost<Script<KIND>>, us: u64) -> Vec<Frame> {
    let mut left = Vec::new();
    for window in 1..=us {
        let until = Time::from_us(window);
        let (mut inbox, mut departures) = (VecDeque::new(), Departures::default());
        host.advance(
            until,
            &mut Arrivals::new(&mut inbox, until),
            &mut departures,
        );
        left.extend(departures.take().into_iter().map(|(_, frame)| frame));
    }
    left
}

fn edge(cycle: u64) -> Time {
    CLOCK.edge(Cycles(cycle))
}

fn pfc_frame(class_enable: u16, quanta: u16, end: Time) -> Frame {
    let pfc = PfcRepr {
        class_enable,
        timers: [quanta; 8],
    };
    Frame {
        bytes: control_frame(address(9).mac, |bytes| {
            pfc.emit(&mut Pfc::new_unchecked(bytes));
        })
        .into(),
        fcs_ok: true,
        start: Time::ZERO,
        end,
    }
}

#[test]
fn received_pauses_are_shown_at_the_pins() {
    for skip in [true, false] {
        let mut host = host::<PINS>(|script| {
            for (from, fill) in [(10, 1), (10, 2), (21, 3)] {
                script.frames.push_back((from, vec![fill; 60].into()));
            }
        });
        host.set_skip(skip);
        // 10 quanta of 512 bits at 40 Gb/s are 128 ns. 100 ns is behind edge 19, 228 ns behind edge 44.
        host.receive(pfc_frame(1 << 3, 10, Time::from_ps(100_000)));
        let left = run(&mut host, 1);
        assert_eq!(host.driver().paused, [(20, 1 << 3), (45, 0)], "skip {skip}");
        assert_eq!(host.pauses().ended(3), [(edge(20), edge(45))]);
        // A frame of 60 bytes holds the line for 84 · 200 ps. The third waits for the edge at which the pause ends.
        let starts: Vec<Time> = left.iter().map(|frame| frame.start).collect();
        let second = edge(10) + Duration::from_ps(16_800);
        assert_eq!(starts, [edge(10), second, edge(45)], "skip {skip}");
        assert_eq!(host.counters().get(reg::PFC_IN), 1);
        assert_eq!(host.mac_counters().frames, 1);
        assert!(host.driver().received.is_empty());
        // 1 us has 195 cycles.
        assert_eq!(
            host.cycles_evaluated() < 60,
            skip,
            "{}",
            host.cycles_evaluated()
        );
    }
}

#[test]
fn requests_at_the_pins_become_pause_frames() {
    for skip in [true, false] {
        let mut host = host::<PINS>(|script| {
            // Class 2 is not lossless.
            script.requests.extend([(100, 1 << 3 | 1 << 2), (1_500, 0)]);
        });
        host.set_skip(skip);
        let left = run(&mut host, 10);
        let told: Vec<_> = left
            .iter()
            .map(|frame| {
                let pfc = PfcRepr::parse(&Pfc::new_checked(&frame.bytes.headers()[14..]).unwrap());
                (frame.start, pfc.class_enable, pfc.timers[3])
            })
            .collect();
        // One cycle behind the pins; repeated 6.4 us, which are 1,250 cycles, later.
        let expected = [
            (edge(101), 8, 1_000),
            (edge(101 + 1_250), 8, 1_000),
            (edge(1_501), 8, 0),
        ];
        assert_eq!(told, expected, "skip {skip}");
        assert_eq!(host.counters().get(reg::PFC_OUT), 3);
        assert_eq!(
            host.cycles_evaluated() < 20,
            skip,
            "{}",
            host.cycles_evaluated()
        );
    }
}

#[test]
fn an_xoff_waits_for_the_frame_on_the_wire_only() {
    for skip in [true, false] {
        let mut host = host::<PINS>(|script| {
            script.frames.push_back((90, vec![1; 1_000].into()));
            script.frames.push_back((90, vec![2; 1_000].into()));
            script.requests.push_back((100, 1 << 3));
        });
        host.set_skip(skip);
        let left = run(&mut host, 3);
        // Preamble 8, FCS 4 and gap 12 beside the bytes, of 200 ps each.
        let first_ends = edge(90) + Duration::from_ps(1_024 * 200);
        let xoff_ends = first_ends + Duration::from_ps(84 * 200);
        let found: Vec<_> = left
            .iter()
            .map(|frame| (frame.start, frame.bytes.len()))
            .collect();
        assert_eq!(
            found,
            [(edge(90), 1_000), (first_ends, 60), (xoff_ends, 1_000)],
            "skip {skip}"
        );
    }
}

#[test]
fn a_nic_that_knows_no_pauses_never_sees_one() {
    let mut host = host::<NOBODY>(|script| {
        script.frames.push_back((30, vec![1; 60].into()));
        script.requests.push_back((10, 1 << 3));
    });
    host.receive(pfc_frame(1 << 3, 1_000, Time::from_ps(100_000)));
    host.receive(Frame {
        bytes: vec![7; 100].into(),
        ..pfc_frame(0, 0, Time::from_ps(200_000))
    });
    let left = run(&mut host, 1);
    assert_eq!((left.len(), left[0].start), (1, edge(30)));
    let counters = host.counters();
    let counted =
        [reg::PAUSE_IGNORED, reg::PFC_IN, reg::PFC_OUT].map(|register| counters.get(register));
    assert_eq!(counted, [1, 0, 0]);
    assert_eq!(host.driver().received, [Bytes::from(vec![7; 100])]);
    assert_eq!(
        (host.mac_counters().frames, host.driver().paused.len()),
        (2, 0)
    );
}

#[test]
fn what_the_mac_does_needs_the_hosts_settings() {
    let behind = Host::new(CLOCK, WIDTH, &PcieConfig::default());
    let driver = Script::<PINS>::default();
    let error = RtlHost::new(config(), driver, behind)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("own: its device leaves pauses or layers of its frames to the MAC"),
        "{error}"
    );
}

fn qp(own: u8, peer: u8, peer_qpn: u32) -> QpSettings {
    QpSettings {
        own: address(own),
        peer: address(peer),
        tags: vec![],
        dscp: 24,
        answer_dscp: None,
        answer_pcp: None,
        hop_limit: 64,
        udp_port: 0xC000,
        pkey: 0xFFFF,
        pd: 0,
        peer_qpn,
        requester: RequesterConfig::default(),
        requester_psn: Psn::wrapping(1),
        responder: ResponderConfig::default(),
        responder_psn: Psn::wrapping(1),
        selective: None,
    }
}

/// A SEND of 40 bytes to a QPN, from its BTH on.
fn packet(qpn: u8) -> Bytes {
    let mut packet = vec![0x5A; 12 + 40];
    packet[..12].copy_from_slice(&[4, 0, 0xFF, 0xFF, 0, 0, 0, qpn, 0x80, 0, 0, 1]);
    packet.into()
}

/// The script's QPs have the numbers 0x20 and 0x21; the other ends of both have 0x11.
fn from_the_bth(change: impl FnOnce(&mut Script<BTH>)) -> RtlHost<Script<BTH>> {
    let mut host = host::<BTH>(change);
    for (index, peer) in [(0, 2), (1, 3)] {
        host.connect(index, &qp(1, peer, 0x11)).unwrap();
    }
    host
}

#[test]
fn packets_from_the_bth_on_are_completed() {
    let mut host = from_the_bth(|script| {
        script
            .frames
            .extend([(10, packet(0x11)), (10, packet(0x11))]);
        script.senders.extend([1, 0]);
    });
    let left = run(&mut host, 1);
    let seen: Vec<_> = left
        .iter()
        .map(|frame| {
            let parsed = xoff_sim::protocol::parse(&frame.bytes.whole());
            let (eth, ip) = (parsed.eth.unwrap(), parsed.ip.unwrap());
            assert_eq!(
                (parsed.icrc_ok, &parsed.payload[..]),
                (Some(true), &[0x5A; 40][..])
            );
            (eth.dst, ip.dst & 0xFF)
        })
        .collect();
    assert_eq!(seen, [(address(3).mac, 3), (address(2).mac, 2)]);
    // 52 bytes are two beats, and a frame starts when it is whole: with the edge of its last beat.
    assert_eq!(left[0].start, edge(11));
    // Ethernet 14, IPv4 20, UDP 8, ICRC 4.
    assert_eq!(left[0].bytes.len(), 14 + 20 + 8 + 52 + 4);
    assert_eq!(host.counters().get(reg::BYTES_OUT), 2 * 52);
}

#[test]
fn a_packet_whose_qp_nobody_can_tell_ends_the_run() {
    let mut host = from_the_bth(|script| script.frames.push_back((10, packet(0x11))));
    assert!(run_on(&mut host, 1).is_empty());
    let failure = host.failure().unwrap();
    assert!(
        failure.contains("own: a packet to QPN 0x11, which is the other end of QP indices 0 and 1"),
        "{failure}"
    );
}

#[test]
fn received_packets_are_checked_and_stripped() {
    let mut peer = Encapsulation::new(address(3), None);
    peer.connect(0, 0x11, &qp(3, 1, 0x21)).unwrap();
    let good = peer.wrap(&packet(0x21), None).unwrap();
    let mut bad = good.to_vec();
    // A payload byte: Ethernet, IP, UDP and BTH have 54.
    bad[60] ^= 1;
    let mut host = from_the_bth(|_| {});
    for (bytes, end) in [
        (bad.into(), 100_000),
        (good, 200_000),
        (vec![0; 100].into(), 300_000),
    ] {
        host.receive(Frame {
            bytes: bytes.into(),
            ..pfc_frame(0, 0, Time::from_ps(end))
        });
    }
    host.receive(pfc_frame(1 << 3, 10, Time::from_ps(400_000)));
    assert!(run(&mut host, 1).is_empty());
    assert_eq!(host.driver().received, [packet(0x21)]);
    let registers = [reg::DROP_ICRC, reg::DROP_ADDRESS, reg::PFC_IN, reg::DROP_QP];
    assert_eq!(
        registers.map(|register| host.counters().get(register)),
        [1, 1, 1, 0]
    );
    assert_eq!(host.mac_counters().frames, 4);
}

/// An own NIC and a model NIC on a cable, with messages to the own one, which never answers.
fn talking(nic: &str) -> Scenario {
    let mut scenario = Scenario::new("own", Duration::from_us(100))
        .host("own")
        .host("model");
    scenario.hosts[0].nic = Some(NicKind::Custom(nic.into()));
    scenario.hosts[1].nic = Some(NicKind::Model);
    let flow = FlowSettings {
        operation: Operation::Send,
        timeout: 2,
        ..FlowSettings::new("f", "model", "own").messages(4, ByteCount::new(3_000))
    };
    scenario.link("own", "model", Length::from_m(2)).flow(flow)
}

fn nics() -> Endpoints {
    Endpoints::default()
        .with("chatty", kind::<Script<CHATTY>>())
        .with("silent", kind::<Script<PINS>>())
}

#[test]
fn a_simulation_with_an_own_nic_goes_on_from_its_saved_state() {
    let scenario = talking("chatty");
    let at = |us| Time::from_us(us);
    let mut whole = Simulation::with(&scenario.checked().unwrap(), &nics()).unwrap();
    whole.run_until(at(100)).unwrap();
    let mut first = Simulation::with(&scenario.checked().unwrap(), &nics()).unwrap();
    first.run_until(at(37)).unwrap();
    let saved = first.save().unwrap();
    let mut second = Simulation::restore(&saved, &nics()).unwrap();
    assert_eq!(second.digest(), first.digest());
    second.run_until(at(100)).unwrap();
    assert_eq!(second.digest(), whole.digest());
    assert_ne!(second.digest(), first.digest());
    let rtl = |simulation: &Simulation| {
        let nic = simulation.station("own").endpoint().unwrap();
        (
            nic.clocked().unwrap().cycles_evaluated(),
            nic.counters().clone(),
            nic.mac_counters(),
        )
    };
    assert_eq!(rtl(&second), rtl(&whole));
    let (_, counters, mac) = rtl(&whole);
    let sent = counters.get(reg::BYTES_OUT);
    assert!(
        sent > 4 * 100 && mac.frames > 2,
        "{sent} bytes, {} frames",
        mac.frames
    );
    // State that was saved again before it got its NIC is the same.
    let dormant: Simulation = postcard::from_bytes(&saved).unwrap();
    assert_eq!(dormant.save().unwrap(), saved);
}

#[test]
fn an_own_nic_that_cannot_go_on_is_named() {
    let told = |result: Result<Simulation, _>| {
        let error: SimulationError = result.map(drop).unwrap_err();
        error.to_string()
    };
    let silent = Simulation::with(&talking("silent").checked().unwrap(), &nics()).unwrap();
    let error = silent.save().unwrap_err().to_string();
    assert!(
        error.starts_with("hosts.own.nic: a host with an own NIC is in no checkpoint"),
        "{error}"
    );
    let saved = Simulation::with(&talking("chatty").checked().unwrap(), &nics())
        .unwrap()
        .save()
        .unwrap();
    let error = told(Simulation::restore(&saved, &Endpoints::default()));
    assert!(
        error.starts_with("hosts.own.nic: no own NIC of the name 'chatty'"),
        "{error}"
    );
    let others = Endpoints::default().with("chatty", kind::<Script<PINS>>());
    let error = told(Simulation::restore(&saved, &others));
    assert!(
        error.contains("hosts.own.nic: the NIC 'chatty' cannot go on")
            && error.contains("it has the driver"),
        "{error}"
    );
    let error = told(Simulation::restore(&saved[..20], &nics()));
    assert!(error.starts_with("checkpoint: "), "{error}");
}
