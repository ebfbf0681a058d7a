//! The flows at a tap: who sends to which queue pair, and which two flows are the two directions of a connection.
//!
//! A BTH names only the destination's queue pair. A flow is therefore identified by source address, destination
//! address and destination queue pair. It carries the requests of one end, and that end's answers to the requests of
//! the other.
//!
//! An answer belongs to a flow with the opposite addresses. If there are several, it belongs to the flow that has
//! sent a request with the answer's PSN and of its kind (a READ for a READ response, an atomic for its answer). As
//! long as more than one flow fits, the answer's flow stays unpaired and its answers are not judged; each further
//! answer narrows the candidates.

use std::collections::BTreeMap;

use xoff_sim::time::{Duration, LineRate, Time};
use xoff_sim::wire::frame::{IpHead, IpKind, ParsedFrame};
use xoff_sim::wire::{Opcode, Qpn};

use crate::marks::{Marks, Owed};
use crate::operation::{self, Service};
use crate::packet::Packet;
use crate::report::Findings;
use crate::requests::{Place, Requests};
use crate::tap::Side;
use crate::{Habit, Rule};

/// Bytes that a packet with 4,096 bytes of payload takes on the wire, with IPv6, a tag, RETH, FCS, preamble and gap.
const LONGEST_ROCE_FRAME: u64 = 4_222;

/// PSNs that a READ of 2^31 bytes, the longest, takes up at the least MTU.
const MOST_RESPONSES: u64 = 1 << 23;

/// The source and destination address of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AddressPair {
    kind: IpKind,
    src: u128,
    dst: u128,
}

impl AddressPair {
    fn of(ip: &IpHead) -> Self {
        Self {
            kind: ip.kind,
            src: ip.src,
            dst: ip.dst,
        }
    }

    fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            ..self
        }
    }
}

#[derive(Debug)]
struct Flow {
    pair: AddressPair,
    qpn: Qpn,
    requests: Requests,
    /// The flow in the other direction.
    peer: Option<usize>,
    /// Flows that may be the other direction, while that is not known.
    candidates: Vec<usize>,
    pkey: u16,
    service: Service,
    marks: Marks,
    last_cnp: Option<Time>,
}

/// The flows at one tap.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    by_name: BTreeMap<(AddressPair, u32), usize>,
    by_pair: BTreeMap<AddressPair, Vec<usize>>,
    /// Least time between CNPs to a queue pair, if that is judged.
    cnp_interval: Option<Duration>,
    /// How long a packet may have waited for a frame on the wire.
    wire_wait: Duration,
    /// The CNP that the host owes whose port this is.
    owed: Owed,
    /// When a pause was received the last time.
    paused: Option<Time>,
    /// By the addresses of requests, when an answer to requests that are not known passed the last time.
    strays: BTreeMap<AddressPair, Time>,
}

impl Flows {
    pub fn new(cnp_interval: Option<Duration>, rate: Option<LineRate>) -> Self {
        Self {
            cnp_interval,
            wire_wait: rate.map_or(Duration::ZERO, |rate| rate.time_of(LONGEST_ROCE_FRAME)),
            ..Self::default()
        }
    }

    /// Records that a pause was received.
    pub fn paused(&mut self, time: Time) {
        self.paused = Some(time);
    }

    /// Records that a host has sent a packet that is broken, at its own port: its PSN is used, but not known. It may
    /// have been a READ, which takes several.
    pub fn broken(&mut self, parsed: &ParsedFrame) {
        let Some(ip) = &parsed.ip else { return };
        let known = parsed
            .bth
            .map(|bth| bth.opcode)
            .filter(|opcode| opcode.name().is_some());
        let psns = match known {
            Some(opcode) if opcode != Opcode::RC_READ_REQUEST => 1,
            _ => MOST_RESPONSES,
        };
        for &flow in self.by_pair.get(&AddressPair::of(ip)).into_iter().flatten() {
            self.flows[flow].requests.broken += psns;
        }
    }

    /// Judges a packet that has passed the checks of its format. `side` is that of the packet's sender. `paced`: CNPs
    /// have the distance here that their sender gave them.
    pub fn see(&mut self, packet: &Packet, side: Side, paced: bool, out: &mut Findings) {
        let opcode = packet.bth.opcode;
        let service = Service::of(opcode);
        if side == Side::Sender && opcode != Opcode::CNP {
            (self.owed).sends(packet.time, self.cnp_interval, self.paused, out);
        }
        let index = self.flow(packet);
        let flow = &mut self.flows[index];
        out.check(
            Rule::PKey,
            packet.bth.pkey & 0x7FFF != 0 && packet.bth.pkey & 0x7FFF == flow.pkey & 0x7FFF,
            || {
                format!(
                    "P_Key {:#06x} to QP {}, {:#06x} before; 0x0000 and 0x8000 are none",
                    packet.bth.pkey, flow.qpn, flow.pkey
                )
            },
        );
        if packet.is_marked() {
            flow.marks.add(packet.time);
        }
        if opcode == Opcode::CNP {
            self.cnp(index, packet, side, paced, out);
        } else if operation::request(opcode).is_some() {
            if flow.requests.seen() && flow.service != service {
                out.remark(Habit::NewConnection, || {
                    format!("{opcode} to QP {}", flow.qpn)
                });
                flow.requests = Requests::default();
            }
            flow.service = service;
            let place = Place {
                side,
                paused: self.paused,
                wire_wait: self.wire_wait,
                stray: None,
            };
            flow.requests.see(packet, place, out);
        } else if service == Service::Rc {
            match self.peer(index, packet) {
                Some(peer) => {
                    let place = Place {
                        side: side.reversed(),
                        paused: self.paused,
                        wire_wait: self.wire_wait,
                        stray: self.strays.get(&self.flows[peer].pair).copied(),
                    };
                    let requests = &mut self.flows[peer].requests;
                    requests.answer(packet, place, out);
                    if let Some(mark) = requests.confirmed_mark(packet) {
                        self.owed.mark(mark, self.cnp_interval);
                    }
                }
                None => {
                    let pair = self.flows[index].pair.reversed();
                    self.strays.insert(pair, packet.time);
                    out.remark(Habit::Unpaired, || {
                        format!(
                            "{opcode} to QP {} for PSN {}",
                            packet.bth.dest_qp, packet.bth.psn
                        )
                    });
                }
            }
        }
    }

    fn flow(&mut self, packet: &Packet) -> usize {
        let pair = AddressPair::of(&packet.ip);
        let qpn = packet.bth.dest_qp;
        let next = self.flows.len();
        let index = *self.by_name.entry((pair, qpn.get())).or_insert(next);
        if index == next {
            self.by_pair.entry(pair).or_default().push(index);
            self.flows.push(Flow {
                pair,
                qpn,
                requests: Requests::default(),
                peer: None,
                candidates: Vec::new(),
                pkey: packet.bth.pkey,
                service: Service::of(packet.bth.opcode),
                marks: Marks::default(),
                last_cnp: None,
            });
        }
        index
    }

    /// Returns the flow whose requests the answer belongs to.
    fn peer(&mut self, index: usize, packet: &Packet) -> Option<usize> {
        let flow = &self.flows[index];
        if flow.peer.is_some() {
            return flow.peer;
        }
        let fits = |other: &usize| {
            let other = &self.flows[*other];
            other.peer.is_none_or(|peer| peer == index)
                && other.service == Service::Rc
                && other.requests.may_answer(packet)
        };
        let mut left: Vec<usize> = flow.candidates.iter().copied().filter(fits).collect();
        if left.is_empty() {
            let back = self.by_pair.get(&flow.pair.reversed());
            left = back.into_iter().flatten().copied().filter(fits).collect();
        }
        let peer = <[usize; 1]>::try_from(left.as_slice())
            .ok()
            .map(|[peer]| peer);
        if let Some(peer) = peer {
            self.flows[peer].peer = Some(index);
        } else {
            for &candidate in &left {
                self.flows[candidate].requests.unsure = true;
            }
        }
        let flow = &mut self.flows[index];
        flow.peer = peer;
        flow.candidates = left;
        peer
    }

    fn cnp(&mut self, index: usize, packet: &Packet, side: Side, paced: bool, out: &mut Findings) {
        let flow = &mut self.flows[index];
        let last = flow.last_cnp.replace(packet.time);
        if let Some(interval) = self.cnp_interval
            && paced
            && let Some(last) = last
        {
            let since = packet.time.saturating_since(last);
            let at_most =
                Duration::from_ps(since.as_ps().saturating_add(packet.resolution.as_ps()));
            out.check(
                Rule::CnpInterval,
                at_most + self.wire_wait >= interval,
                || {
                    format!(
                        "CNP to QP {} {since} after the one before; {interval} is the least",
                        flow.qpn
                    )
                },
            );
        }
        if side != Side::Sender {
            return;
        }
        let (qpn, peer) = (flow.qpn, flow.peer);
        self.owed.cnp(packet.time, self.cnp_interval, out);
        if let Some(peer) = peer {
            let cause = self.flows[peer].marks.answer(last, self.cnp_interval);
            out.check(Rule::CnpCause, cause, || {
                format!(
                    "CNP to QP {qpn}: no marked packet of it has arrived that no CNP has answered"
                )
            });
        }
    }
}
