//! Feeds the requests of a capture to a NIC, each at its time, and takes its answers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use xoff_sim::headers::Headers;
use xoff_sim::nic::{Address, QpSettings, ReadRights};
use xoff_sim::protocol::gbn::{Recv, RequesterConfig, ResponderConfig, mtu_code};
use xoff_sim::protocol::icrc;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{
    BthRepr, ICRC_BYTES, MIN_FRAME_BYTES, MacAddr, Msn, Psn, UDP_PORT_ROCE, Walk, address_of,
};

use crate::bench::Bench;

use super::Error;
use super::connect::Connection;
use super::history::{History, Planned};
use super::memory::{Keyed, RECEIVE};
use super::packet::{Answer, Class, Packet, Recorded};

/// How long before a frame software of the host does what the frame needs.
const BEFORE: Duration = Duration::from_us(1);
/// In how long a NIC has answered all requests.
const SETTLED: Duration = Duration::from_us(20);
/// How long the NIC may answer after the last frame.
const AFTER: Duration = Duration::from_ms(1);
/// The first UDP source port of the range of which RoCE's are.
const PORT: u16 = 0xC000;
/// A key that no region has.
const NO_KEY: u32 = 0xFFFF_FF00;

/// An answer of the NIC.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    /// The place of the packet that was fed last before.
    pub after: usize,
    pub answer: Answer,
}

/// What came of feeding a capture.
#[derive(Debug, Default)]
pub(super) struct Fed {
    /// The NIC's answers, by connection.
    pub sent: Vec<Vec<Sent>>,
    /// Requests that were fed.
    pub requests: u64,
    /// Damaged frames that were fed.
    pub damaged: u64,
    /// Requests that only their key's refusal in the capture has refused.
    pub denied: u64,
    /// Bytes that READ responses of the capture have, and that memory had by earlier packets.
    pub remembered: u64,
    /// Bytes that memory got from READ responses and atomics of the capture.
    pub taken: u64,
    /// Which of READs and atomics the NIC answers.
    pub answers: ReadRights,
    /// Frames of the NIC that answer no connection.
    pub strange: u64,
}

/// One connection while it is fed.
struct Line<'a> {
    connection: &'a Connection,
    history: &'a History,
    settings: QpSettings,
    qpn: u32,
    /// The key of receive buffers.
    key: u32,
    /// Messages that were complete when the QP was opened.
    msn: u32,
    /// Whether the rest of it cannot be fed: the NIC has no READ that was refused.
    over: bool,
    /// Receive buffers posted.
    posted: u64,
}

/// All of it, while it is fed.
pub(super) struct Feeder<'a> {
    bench: Bench,
    packets: &'a [Packet],
    side: u128,
    lines: Vec<Line<'a>>,
    /// Each key of the capture, with the NIC's.
    keys: BTreeMap<u32, (u32, Keyed)>,
    fed: Fed,
    /// The place of the last packet.
    place: usize,
}

impl<'a> Feeder<'a> {
    /// Sets up the NIC: a QP for each connection, and one more for each region of memory.
    pub fn new(
        mut bench: Bench,
        packets: &'a [Packet],
        side: u128,
        connections: &'a [(Connection, History)],
        regions: &BTreeMap<u32, Keyed>,
        granted: u16,
    ) -> Result<Self, Error> {
        let mut fed = Fed {
            sent: vec![Vec::new(); connections.len()],
            answers: bench.nic.enable_reads(granted),
            ..Fed::default()
        };
        let mut lines = Vec::new();
        for (index, (connection, history)) in connections.iter().enumerate() {
            let created = bench.create(index as u16, Psn::default(), &RECEIVE)?;
            let settings = settings(connection, packets, index);
            bench.connect(index as u16, &settings)?;
            lines.push(Line {
                connection,
                history,
                settings,
                qpn: created.qpn,
                key: created.key,
                msn: history.msn,
                over: false,
                posted: 0,
            });
        }
        let mut keys = BTreeMap::new();
        for (index, (key, keyed)) in (lines.len()..).zip(regions) {
            let created = bench.create(index as u16, Psn::default(), &keyed.region)?;
            bench.nic.permit(index as u16, keyed.rights);
            keys.insert(*key, (created.key, *keyed));
        }
        fed.strange += bench.take().len() as u64;
        Ok(Self {
            bench,
            packets,
            side,
            lines,
            keys,
            fed,
            place: 0,
        })
    }

    /// Feeds all packets.
    pub fn feed(mut self) -> Result<Fed, Error> {
        let mut planned = BTreeMap::new();
        for (number, line) in self.lines.iter().enumerate() {
            planned.extend(line.history.planned.iter().map(|it| (it.at, (number, *it))));
        }
        let packets = self.packets;
        let start = self.bench.now() + BEFORE * 2;
        for (at, packet) in packets.iter().enumerate() {
            let time = start + packet.time.since_start();
            match planned.get(&at) {
                Some((number, planned)) if planned.fed && !self.lines[*number].over => {
                    self.request(time, *number, planned)?;
                }
                None if self.is_damaged(packet) => {
                    self.frame(time, at, packet.bytes.clone());
                    self.fed.damaged += 1;
                }
                _ => {}
            }
        }
        self.bench.run_until(self.bench.now() + AFTER);
        self.collect();
        if let Some(failure) = self.bench.nic.failure() {
            return Err(Error::Nic(failure.to_owned()));
        }
        Ok(self.fed)
    }

    /// Whether a frame is a packet to the NIC that is not whole: it has to drop it.
    fn is_damaged(&self, packet: &Packet) -> bool {
        let headers = Headers::at(&packet.bytes);
        let to = headers.is_some_and(|it| {
            let port = it.ports.map(|(_, port)| port);
            it.ip.is_some_and(|ip| ip.dst == self.side) && port == Some(UDP_PORT_ROCE)
        });
        to && packet.roce.is_none()
    }

    fn request(&mut self, time: Time, number: usize, planned: &Planned) -> Result<(), Error> {
        let Planned { at, request, .. } = *planned;
        let ReadRights { read, atomic } = self.fed.answers;
        if !read && request.is_read() || !atomic && request.is_atomic() {
            return self.pass_over(time, number, planned);
        }
        self.before(time);
        if let Some(length) = planned.receive {
            let line = &mut self.lines[number];
            line.posted += 1;
            let recv = Recv {
                id: line.posted,
                local_va: RECEIVE.base,
                local_key: line.key,
                length,
            };
            self.bench.post(number as u16, recv);
        }
        self.remember(number, planned);
        let bytes = self.translated(number, planned);
        self.fed.requests += 1;
        self.frame(time, at, bytes);
        Ok(())
    }

    /// A NIC that does not answer READs or atomics is set up again behind one.
    fn pass_over(&mut self, time: Time, number: usize, planned: &Planned) -> Result<(), Error> {
        // What is owed for earlier requests would be forgotten.
        self.before(time);
        self.bench.run_until(self.bench.now() + SETTLED);
        self.collect();
        self.place = planned.at;
        let line = &mut self.lines[number];
        if planned.new && planned.taken {
            let psns = planned.request.psns(line.connection.mtu);
            line.settings.responder_psn = planned.request.psn.advance(psns);
            line.msn = line.history.msn + line.history.complete_at(planned.at);
            self.bench.connect(number as u16, &line.settings)?;
            self.collect();
        } else if planned.new {
            line.over = true;
        }
        Ok(())
    }

    /// Runs until shortly before a frame.
    fn before(&mut self, time: Time) {
        let until = Time::ZERO + time.since_start().saturating_sub(BEFORE);
        if until > self.bench.now() {
            self.bench.run_until(until);
            self.collect();
        }
    }

    fn frame(&mut self, time: Time, at: usize, bytes: Bytes) {
        self.before(time);
        self.collect();
        self.place = at;
        // Recorders at a sender see frames before they are padded.
        let bytes = match bytes.len() {
            MIN_FRAME_BYTES.. => bytes,
            _ => {
                let mut padded = bytes.to_vec();
                padded.resize(MIN_FRAME_BYTES, 0);
                padded.into()
            }
        };
        self.bench.arrive(bytes, time);
    }

    /// Gives memory the content that the answers to a request show.
    fn remember(&mut self, number: usize, planned: &Planned) {
        let Planned { at, request, .. } = planned;
        let (connection, Some(va)) = (self.lines[number].connection, request.va) else {
            return;
        };
        let behind = connection.answers.partition_point(|it| it <= at);
        let answers = connection.answers[behind..].iter();
        let answers = answers.filter_map(|it| self.packets[*it].answer.as_ref());
        if request.is_atomic() {
            let own = |it: &&Answer| it.class() == Class::Atomic && it.psn == request.psn;
            let original = answers.filter(own).find_map(|it| it.original);
            if let Some(original) = original.filter(|_| planned.new) {
                self.write(va, &original.to_le_bytes());
            }
            return;
        }
        if !request.is_read() {
            return;
        }
        let mtu = connection.mtu;
        let mut missing: Vec<bool> = vec![true; request.psns(mtu) as usize];
        let mut found = Vec::new();
        for answer in answers {
            let ahead = answer.psn.ahead_of(request.psn);
            if ahead >= missing.len() as i32 || found.len() == missing.len() {
                break;
            }
            let own = answer.class() == Class::Read && ahead >= 0;
            if own && std::mem::take(&mut missing[ahead as usize]) {
                let offset = u64::from(mtu) * ahead as u64;
                found.push((va.wrapping_add(offset), answer.payload.clone()));
            }
        }
        for (va, payload) in found {
            self.write(va, &payload);
        }
    }

    fn write(&mut self, va: u64, bytes: &[u8]) {
        let host = self.bench.nic.host_mut();
        let mut old = vec![0; bytes.len()];
        host.read_memory(va, &mut old);
        let same = old.iter().zip(bytes).filter(|(old, new)| old == new);
        let same = same.count();
        self.fed.remembered += same as u64;
        self.fed.taken += (bytes.len() - same) as u64;
        if same < bytes.len() {
            host.write_memory(va, bytes);
        }
    }

    /// The NIC's key for one of the capture.
    fn key(&mut self, key: u32, planned: &Planned) -> u32 {
        match self.keys.get(&key) {
            Some((_, keyed)) if planned.denied && keyed.permits(&planned.request) => {
                self.fed.denied += 1;
                NO_KEY
            }
            Some((own, _)) => *own,
            None => NO_KEY,
        }
    }

    /// The frame of a request with the NIC's QP number and key in place of those of the capture.
    fn translated(&mut self, number: usize, planned: &Planned) -> Bytes {
        let packet = &self.packets[planned.at];
        let request = &planned.request;
        let rkey = request.rkey.map(|key| self.key(key, planned));
        let invalidated = request.invalidates.map(|key| self.key(key, planned));
        let qpn = self.lines[number].qpn;
        let mut bytes = packet.bytes.to_vec();
        let walk = Walk::of(&bytes);
        let Some((protected, ip)) = walk.and_then(|walk| Some((walk.protected(), walk.ip()?)))
        else {
            return bytes.into();
        };
        let (bth, end) = (protected.start, protected.end - ICRC_BYTES);
        let ext = bth + BthRepr::LEN;
        bytes[bth + 5..bth + 8].copy_from_slice(&qpn.to_be_bytes()[1..]);
        // In both headers that have one, the key follows the address.
        if let Some(key) = rkey {
            bytes[ext + 8..ext + 12].copy_from_slice(&key.to_be_bytes());
        }
        if let Some(key) = invalidated {
            bytes[ext..ext + 4].copy_from_slice(&key.to_be_bytes());
        }
        if let Ok(right) = icrc(ip.head.kind, &bytes[ip.at..end]) {
            bytes[end..end + ICRC_BYTES].copy_from_slice(&right);
        }
        bytes.into()
    }

    /// Takes the NIC's answers.
    fn collect(&mut self) {
        for frame in self.bench.take() {
            let packet = Packet::new(&Recorded {
                number: 0,
                time: Time::ZERO,
                bytes: frame.bytes.whole(),
            });
            let to = packet.roce.map(|(ip, bth, _)| (ip.dst, bth.dest_qp.get()));
            let line = self
                .lines
                .iter()
                .position(|line| to == Some((line.connection.peer, line.connection.peer_qpn)));
            match line.zip(packet.answer) {
                Some((number, mut answer)) => {
                    let before = self.lines[number].msn;
                    answer.msn = answer.msn.map(|msn: Msn| msn.advance(before));
                    let after = self.place;
                    self.fed.sent[number].push(Sent { after, answer });
                }
                None => self.fed.strange += 1,
            }
        }
    }
}

/// Settings of the QP of a connection: those that its requests show.
fn settings(connection: &Connection, packets: &[Packet], index: usize) -> QpSettings {
    let packet = connection.requests.first().map(|at| &packets[*at]);
    let roce = packet.and_then(|it| it.roce);
    let eth = packet.and_then(|it| it.frame.eth.clone());
    let (src, dst) = eth
        .as_ref()
        .map_or_else(Default::default, |it| (it.src, it.dst));
    let tags = eth.map_or_else(Vec::new, |it| it.tags);
    let ip = roce.map(|(ip, ..)| ip);
    let address = |mac: MacAddr, ip: IpAddr| Address { mac, ip };
    let is_v4 = ip.is_none_or(|it| it.kind == IpKind::V4);
    let of = |bits: u128| address_of(bits, is_v4);
    let mtu = mtu_code(connection.mtu).unwrap_or(4);
    QpSettings {
        own: address(dst, of(ip.map_or(0, |it| it.dst))),
        peer: address(src, of(connection.peer)),
        tags: (tags.iter())
            .map(|tag| u16::from(tag.pcp) << 13 | u16::from(tag.dei) << 12 | tag.vid)
            .collect(),
        dscp: ip.map_or(0, |it| it.traffic_class >> 2),
        answer_dscp: None,
        answer_pcp: None,
        hop_limit: ip.map_or(64, |it| it.hop_limit),
        udp_port: PORT + (index as u16 & 0xFFF),
        pkey: roce.map_or(0xFFFF, |(_, bth, _)| bth.pkey),
        pd: 0,
        peer_qpn: connection.peer_qpn,
        requester: RequesterConfig {
            mtu,
            ..RequesterConfig::default()
        },
        requester_psn: Psn::default(),
        responder: ResponderConfig {
            mtu,
            rnr_timer: connection.rnr_timer,
            restart: false,
        },
        responder_psn: connection.first_psn,
        selective: None,
    }
}
