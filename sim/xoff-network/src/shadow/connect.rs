//! Which QPs of the two ends belong together, and how they were set up: told by messages of the communication manager,
//! by settings, or else inferred from the packets.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::gbn::{mtu_bytes, mtu_code};
use xoff_sim::wire::{Opcode, Psn, SyndromeMeaning};

use super::cm::Agreed;
use super::packet::{Packet, Request};

/// What is known of a connection apart from the capture. What is not given is inferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Number of the answering end's QP.
    pub qpn: u32,
    /// Number of the other end's QP.
    pub peer_qpn: Option<u32>,
    /// The first PSN that the answering end expects.
    pub first_psn: Option<u32>,
    /// Path MTU in bytes.
    pub mtu: Option<u32>,
    /// Number of messages that were complete before the first request.
    pub msn: Option<u32>,
    /// The code that RNR NAKs have, 0 to 31.
    pub rnr_timer: Option<u8>,
}

/// How something was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// It was given.
    Settings,
    /// By messages of the communication manager.
    ConnectionManager,
    /// From the packets.
    Packets,
}

/// A connection, as its answering end is to be set up.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub peer: u128,
    pub qpn: u32,
    pub peer_qpn: u32,
    pub told: Told,
    pub first_psn: Psn,
    pub mtu: u32,
    /// Whether a packet or a setting shows the MTU. Otherwise it is the largest, which all packets fit.
    pub mtu_shown: bool,
    /// Messages before the first request, if known.
    pub msn: Option<u32>,
    pub rnr_timer: u8,
    /// Indices of requests and of answers among the packets.
    pub requests: Vec<usize>,
    pub answers: Vec<usize>,
    /// Requests before the first that begins a message.
    pub skipped: u64,
}

/// Packets of one direction: the other end's address, the QP they are for, their places.
type Flows = BTreeMap<(u128, u32), Vec<usize>>;

/// What is in the capture, by what can be done with it.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub connections: Vec<Connection>,
    /// Requests that nothing answers: peer, QP, number.
    pub unanswered: Vec<(u128, u32, u64)>,
    /// Answers whose requests are not known: peer, QP of the peer, number.
    pub unasked: Vec<(u128, u32, u64)>,
}

/// Finds the connections of which `side` is the answering end.
pub(super) fn sort(packets: &[Packet], side: u128, agreed: &[Agreed], known: &[Known]) -> Sorted {
    let (mut asked, mut answered) = (Flows::new(), Flows::new());
    for (at, packet) in packets.iter().enumerate() {
        let Some((ip, bth, _)) = packet.roce else {
            continue;
        };
        if ip.dst == side && packet.request.is_some() {
            asked
                .entry((ip.src, bth.dest_qp.get()))
                .or_default()
                .push(at);
        }
        if ip.src == side && packet.answer.is_some() {
            answered
                .entry((ip.dst, bth.dest_qp.get()))
                .or_default()
                .push(at);
        }
    }
    let mut sorted = Sorted::default();
    let mut partners = partners(packets, &asked, &answered);
    for ((peer, qpn), requests) in &asked {
        let known = known.iter().find(|it| it.qpn == *qpn);
        let agreed = agreed.iter().find_map(|it| it.with(side, *peer, *qpn));
        let told = (known.and_then(|it| it.peer_qpn)).or(agreed.map(|(_, peer_qpn)| peer_qpn));
        let partner = told.or_else(|| partners.remove(&(*peer, *qpn)));
        let answers = partner.and_then(|qp| answered.remove(&(*peer, qp)).zip(Some(qp)));
        let Some((answers, peer_qpn)) = answers else {
            sorted.unanswered.push((*peer, *qpn, requests.len() as u64));
            continue;
        };
        let agreed = agreed.map(|(agreed, _)| agreed);
        let found = Found {
            key: (*peer, *qpn, peer_qpn),
            requests,
            answers,
        };
        sorted
            .connections
            .push(found.set_up(packets, agreed, known));
    }
    sorted.unasked = (answered.into_iter())
        .map(|((peer, qp), answers)| (peer, qp, answers.len() as u64))
        .collect();
    sorted
}

impl Agreed {
    /// Seen from the end `side`, whose QP has this number: first PSN that it expects and MTU; the peer's QP.
    fn with(&self, side: u128, peer: u128, qpn: u32) -> Option<((Psn, u32), u32)> {
        let [one, other] = self.ends;
        [(one, other), (other, one)]
            .into_iter()
            .find(|(own, _)| (own.ip, own.qpn) == (side, qpn))
            .filter(|(_, its)| its.ip == peer)
            .map(|(own, its)| ((own.psn, self.mtu), its.qpn))
    }
}

/// For the QP of each flow of requests the QP of its answers: the one most of whose answers have PSNs of these
/// requests, if there is no other as good.
fn partners(packets: &[Packet], asked: &Flows, answered: &Flows) -> BTreeMap<(u128, u32), u32> {
    let psns_of = |places: &Vec<usize>| -> [BTreeSet<u32>; 2] {
        let requests = || places.iter().filter_map(|at| packets[*at].request);
        let own = requests().map(|request| request.psn.get());
        // Of a READ, whose MTU is not known yet, as many as it may have answers.
        let all = requests().flat_map(|request| {
            let most = request.psns(mtu_bytes(0)).min(1 << 16);
            (0..most).map(move |ahead| request.psn.advance(ahead).get())
        });
        [own.collect(), all.collect()]
    };
    let psns: BTreeMap<_, _> = (asked.iter())
        .map(|(key, places)| (*key, psns_of(places)))
        .collect();
    let mut votes: Vec<(usize, (u128, u32), u32)> = Vec::new();
    for ((peer, qp), places) in answered {
        let answers: Vec<u32> = (places.iter())
            .filter_map(|at| packets[*at].answer.as_ref())
            .map(|answer| answer.psn.get())
            .collect();
        for (key, psns) in psns.iter().filter(|(key, _)| key.0 == *peer) {
            let [own, all] = [0, 1].map(|set: usize| {
                let of: &BTreeSet<u32> = &psns[set];
                answers.iter().filter(|psn| of.contains(psn)).count()
            });
            if all * 2 > answers.len() {
                votes.push((all + own, *key, *qp));
            }
        }
    }
    let unique = |(count, key, qp): &(usize, (u128, u32), u32)| {
        let rivals = votes.iter().filter(|(other, of, to)| {
            other >= count && ((of == key) != (to == qp && of.0 == key.0))
        });
        rivals.count() == 0
    };
    (votes.iter().filter(|vote| unique(vote)))
        .map(|(_, key, qp)| (*key, *qp))
        .collect()
}

struct Found<'a> {
    /// Peer, QP, the peer's QP.
    key: (u128, u32, u32),
    requests: &'a [usize],
    answers: Vec<usize>,
}

impl Found<'_> {
    fn set_up(
        self,
        packets: &[Packet],
        agreed: Option<(Psn, u32)>,
        known: Option<&Known>,
    ) -> Connection {
        let (peer, qpn, peer_qpn) = self.key;
        let known = known.copied().unwrap_or_default();
        let begins = |at: &&usize| packets[**at].request.is_some_and(|it| it.begins());
        let told = (known.first_psn.map(Psn::wrapping)).or(agreed.map(|(psn, _)| psn));
        let skipped = match told {
            Some(_) => 0,
            None => {
                let first = self.requests.iter().position(|at| begins(&at));
                first.unwrap_or(self.requests.len())
            }
        };
        let requests = self.requests[skipped..].to_vec();
        let first = requests.first().and_then(|at| packets[*at].request);
        let shown = self.mtu_shown(packets);
        let mtu = known.mtu.or(agreed.map(|(_, mtu)| mtu)).or(shown);
        let rnr_timer = self.answers.iter().find_map(|at| {
            match packets[*at].answer.as_ref()?.syndrome?.meaning() {
                SyndromeMeaning::RnrNak(timer) => Some(timer.code()),
                _ => None,
            }
        });
        Connection {
            peer,
            qpn,
            peer_qpn,
            told: match (known.first_psn, agreed) {
                (Some(_), _) => Told::Settings,
                (None, Some(_)) => Told::ConnectionManager,
                (None, None) => Told::Packets,
            },
            first_psn: told.or(first.map(|it| it.psn)).unwrap_or_default(),
            mtu: mtu.unwrap_or(mtu_bytes(4)),
            mtu_shown: mtu.is_some(),
            msn: known.msn,
            rnr_timer: known.rnr_timer.or(rnr_timer).unwrap_or_default(),
            requests,
            answers: self.answers,
            skipped: skipped as u64,
        }
    }

    /// The payload of the largest packet that is not its message's last, which is the path MTU.
    fn mtu_shown(&self, packets: &[Packet]) -> Option<u32> {
        let full = |at: &usize| {
            let packet = &packets[*at];
            let request = packet.request.filter(is_full);
            let payload = u32::from(packet.frame.payload_bytes?);
            let answer = packet.answer.as_ref().filter(|it| {
                [Opcode::RC_READ_RESP_FIRST, Opcode::RC_READ_RESP_MIDDLE].contains(&it.opcode)
            });
            (request.is_some() || answer.is_some()).then_some(payload)
        };
        let sizes = self.requests.iter().chain(&self.answers).filter_map(full);
        sizes.filter(|size| mtu_code(*size).is_some()).max()
    }
}

/// Whether a packet of a request has as much payload as the path MTU allows.
fn is_full(request: &Request) -> bool {
    !request.ends()
}
