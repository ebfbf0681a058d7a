//! Conversations: packets grouped by queue pairs, with retransmissions and refusals.
//!
//! A packet names only its destination QP. Two flows are recognized as the two directions of one conversation when a
//! response has the PSN of a request.
//!
//! A capture of several ports contains a frame once for each port that it passed. Everything is counted separately per
//! port and direction, and the place that saw the most is shown, so a conversation counts each frame once.

use std::collections::{BTreeMap, HashMap};

use xoff_sim::wire::frame::{IpKind, ParsedFrame};
use xoff_sim::wire::{Opcode, Psn, SyndromeMeaning};
use xoff_waves::capture::Direction;

use crate::row::addresses;

/// Maximum number of requests without a partner that are kept. A capture of one direction only must not fill the
/// memory.
const MOST_PENDING: usize = 1 << 16;

/// The place where frames were captured: interface and direction.
pub type Tap = (usize, Option<Direction>);

/// Packets to one QP from one host, with all places where they were captured.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Address of the sender.
    pub src: String,
    /// Address of the receiver.
    pub dst: String,
    /// The receiver's QP.
    pub dest_qp: u32,
    /// The sender's QP, if the packets contain it (UD).
    src_qp: Option<u32>,
    /// Traffic per place, in the order of the first packet there; never empty.
    pub taps: Vec<(Tap, Traffic)>,
    /// The opposite direction.
    partner: Option<usize>,
}

impl Flow {
    /// Returns the traffic at the place that saw the most packets. Each packet counts once, including packets that were
    /// lost after that place.
    pub fn traffic(&self) -> &Traffic {
        let most = self
            .taps
            .iter()
            .rev()
            .max_by_key(|(_, traffic)| traffic.packets);
        &most.expect("a flow starts with a packet").1
    }
}

/// Traffic of a flow at one place.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// First and furthest PSN of requests.
    pub psns: Option<(Psn, Psn)>,
    /// Furthest PSN of READ responses.
    responses: Option<Psn>,
    /// Packets whose PSN had been sent before.
    pub again: u64,
    /// NAKs by their meaning.
    pub naks: BTreeMap<String, u64>,
    /// Congestion notifications.
    pub cnps: u64,
}

/// Role of one packet in its conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event {
    /// Its PSN had been sent before.
    pub again: bool,
    /// It refuses a request.
    pub nak: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Hosts {
    kind: IpKind,
    src: u128,
    dst: u128,
}

impl Hosts {
    fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            ..self
        }
    }
}

/// All flows of a capture.
#[derive(Default)]
pub struct Conversations {
    flows: Vec<Flow>,
    hosts: Vec<Hosts>,
    by_key: HashMap<(Hosts, u32), usize>,
    /// The flow that sent a request with a PSN; `None` when there were several.
    pending: HashMap<(Hosts, Psn), Option<usize>>,
    /// Payload of the largest first or middle packet so far, which is the path MTU.
    mtu: u32,
    /// Number of frames whose headers cannot be trusted, per place.
    damaged: BTreeMap<Tap, u64>,
}

impl Conversations {
    /// Adds a frame that was captured at `tap`. A frame without IP and transport header belongs to no conversation.
    pub fn add(&mut self, tap: Tap, frame: &ParsedFrame) -> Event {
        let (Some(ip), Some(bth)) = (frame.ip, frame.bth) else {
            return Event::default();
        };
        if !frame.verdict.is_roce() {
            return Event::default();
        }
        // A packet with a bad ICRC may name any QP and PSN.
        if frame.icrc_ok == Some(false) {
            *self.damaged.entry(tap).or_default() += 1;
            return Event::default();
        }
        let hosts = Hosts {
            kind: ip.kind,
            src: ip.src,
            dst: ip.dst,
        };
        let index = self.flow(hosts, bth.dest_qp.get(), frame);
        let mut event = Event::default();

        let whole = &mut self.flows[index];
        let ext = frame.ext.unwrap_or_default();
        if let Some(deth) = ext.deth {
            whole.src_qp = Some(deth.src_qp.get());
        }
        let partner = whole.partner;
        let place = whole.taps.iter().position(|(known, _)| *known == tap);
        let place = place.unwrap_or_else(|| {
            whole.taps.push((tap, Traffic::default()));
            whole.taps.len() - 1
        });
        let flow = &mut whole.taps[place].1;
        flow.packets += 1;
        flow.bytes += frame.frame_bytes as u64;
        if let Some(aeth) = ext.aeth {
            let what = match aeth.syndrome.meaning() {
                SyndromeMeaning::Ack(_) => None,
                SyndromeMeaning::RnrNak(_) => Some("receiver not ready".to_string()),
                SyndromeMeaning::Nak(code) => Some(code.to_string()),
                SyndromeMeaning::Reserved => Some("reserved syndrome".to_string()),
            };
            if let Some(what) = what {
                *flow.naks.entry(what).or_default() += 1;
                event.nak = true;
            }
        }

        match Kind::of(bth.opcode) {
            Kind::Notification => flow.cnps += 1,
            Kind::Unconnected => {
                flow.psns = Some((flow.psns.map_or(bth.psn, |(first, _)| first), bth.psn))
            }
            Kind::Request => {
                if is_inner(bth.opcode) {
                    self.mtu = self.mtu.max(frame.payload_bytes.unwrap_or(0).into());
                }
                // A READ request takes as many PSNs as its response has packets.
                let packets = match ext.reth {
                    Some(reth) if bth.opcode == Opcode::RC_READ_REQUEST && self.mtu > 0 => {
                        reth.dma_len.div_ceil(self.mtu).max(1)
                    }
                    _ => 1,
                };
                let last = bth.psn.advance(packets - 1);
                let (first, furthest) = flow.psns.unwrap_or((bth.psn, bth.psn.advance(u32::MAX)));
                event.again = bth.psn.ahead_of(furthest) <= 0;
                flow.psns = Some((
                    first,
                    if last.ahead_of(furthest) > 0 {
                        last
                    } else {
                        furthest
                    },
                ));
                flow.again += u64::from(event.again);
                if partner.is_none() && self.pending.len() < MOST_PENDING {
                    let flow_of_psn = self.pending.entry((hosts, bth.psn)).or_insert(Some(index));
                    if *flow_of_psn != Some(index) {
                        *flow_of_psn = None;
                    }
                }
            }
            Kind::Response => {
                if bth.opcode.has_payload() {
                    if is_inner(bth.opcode) {
                        self.mtu = self.mtu.max(frame.payload_bytes.unwrap_or(0).into());
                    }
                    event.again = flow
                        .responses
                        .is_some_and(|furthest| bth.psn.ahead_of(furthest) <= 0);
                    flow.again += u64::from(event.again);
                    if !event.again {
                        flow.responses = Some(bth.psn);
                    }
                }
                if partner.is_none()
                    && let Some(&Some(partner)) = self.pending.get(&(hosts.reversed(), bth.psn))
                    && self.flows[partner].partner.is_none()
                {
                    self.pair(index, partner);
                }
            }
        }
        event
    }

    fn flow(&mut self, hosts: Hosts, dest_qp: u32, frame: &ParsedFrame) -> usize {
        *self.by_key.entry((hosts, dest_qp)).or_insert_with(|| {
            let (src, dst) = addresses(frame).unwrap_or_default();
            self.hosts.push(hosts);
            self.flows.push(Flow {
                src,
                dst,
                dest_qp,
                src_qp: None,
                taps: Vec::new(),
                partner: None,
            });
            self.flows.len() - 1
        })
    }

    fn pair(&mut self, a: usize, b: usize) {
        self.flows[a].partner = Some(b);
        self.flows[b].partner = Some(a);
    }

    /// Returns the number of frames with a bad ICRC at the place that has seen the most of them. They belong to no
    /// conversation.
    pub fn damaged(&self) -> u64 {
        self.damaged.values().copied().max().unwrap_or(0)
    }

    /// Returns the conversations, most bytes first: a flow and the opposite one, if there is one. The flow that was
    /// seen first comes first.
    pub fn finish(mut self) -> Vec<(Flow, Option<Flow>)> {
        self.pair_the_rest();
        let mut all: Vec<(Flow, Option<Flow>)> = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            match flow.partner {
                Some(partner) if partner < index => {}
                partner => all.push((
                    flow.clone(),
                    partner.map(|partner| self.flows[partner].clone()),
                )),
            }
        }
        let bytes = |(flow, back): &(Flow, Option<Flow>)| {
            flow.traffic().bytes + back.as_ref().map_or(0, |back| back.traffic().bytes)
        };
        all.sort_by_key(|conversation| std::cmp::Reverse(bytes(conversation)));
        all
    }

    /// Pairs the remaining flows: UD flows by the source QP in their packets, and flows of two hosts with one flow left
    /// in each direction.
    fn pair_the_rest(&mut self) {
        for index in 0..self.flows.len() {
            let Some(src_qp) = self.flows[index].src_qp else {
                continue;
            };
            if let Some(&back) = self.by_key.get(&(self.hosts[index].reversed(), src_qp))
                && self.flows[index].partner.is_none()
                && self.flows[back].partner.is_none()
                && self.flows[back].src_qp == Some(self.flows[index].dest_qp)
            {
                self.pair(index, back);
            }
        }
        let mut single: HashMap<Hosts, Option<usize>> = HashMap::new();
        for (index, flow) in self.flows.iter().enumerate() {
            // The source QP of a UD flow has been used above; such a flow is not paired by elimination.
            if flow.partner.is_none() && flow.src_qp.is_none() {
                single
                    .entry(self.hosts[index])
                    .and_modify(|flow| *flow = None)
                    .or_insert(Some(index));
            }
        }
        for index in 0..self.flows.len() {
            let hosts = self.hosts[index];
            if self.flows[index].partner.is_none()
                && let (Some(&Some(there)), Some(&Some(back))) =
                    (single.get(&hosts), single.get(&hosts.reversed()))
                && there == index
                && back != index
            {
                self.pair(there, back);
            }
        }
    }
}

/// Role of an opcode.
enum Kind {
    Request,
    Response,
    /// UC and UD: no responses, no retransmissions.
    Unconnected,
    Notification,
}

impl Kind {
    fn of(opcode: Opcode) -> Self {
        match opcode {
            Opcode::CNP => Kind::Notification,
            Opcode::RC_READ_RESP_FIRST
            | Opcode::RC_READ_RESP_MIDDLE
            | Opcode::RC_READ_RESP_LAST
            | Opcode::RC_READ_RESP_ONLY
            | Opcode::RC_ACK
            | Opcode::RC_ATOMIC_ACK => Kind::Response,
            // The high three bits are the service; RC is 0.
            Opcode(code) if code >> 5 == 0 => Kind::Request,
            _ => Kind::Unconnected,
        }
    }
}

/// First and middle packets are as long as the path MTU.
fn is_inner(opcode: Opcode) -> bool {
    opcode
        .name()
        .is_some_and(|name| name.ends_with("FIRST") || name.ends_with("MIDDLE"))
}
