//! A NIC in the place of an end of a captured conversation: it gets the other end's requests at their times, and its
//! answers are held against those of the capture.
//!
//! | module | what is in it |
//! |---|---|
//! | `packet` | packets of the capture: requests and answers |
//! | `cm` | messages of the communication manager |
//! | `connect` | which QPs belong together, and how they were set up |
//! | `history` | what became of each request, as far as the answers show |
//! | `memory` | regions and content of memory, as far as the packets show them |
//! | `feed` | feeds the requests, and takes the NIC's answers |
//! | `judge` | holds answers against answers |
//! | `rules` | what may differ, and why |

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use thiserror::Error;
use xoff_sim::nic::Address;
use xoff_sim::wire::frame::{IpHead, IpKind};
use xoff_sim::wire::{Opcode, address_bits, address_of};

use crate::bench::Bench;
use crate::endpoint::{EndpointError, Endpoints};
use crate::scenario::NicKind;

mod cm;
mod connect;
mod feed;
mod history;
mod judge;
mod memory;
mod packet;
mod rules;
#[cfg(test)]
mod tests;

pub use connect::{Known, Told};
pub use judge::Difference;
pub use memory::KnownRegion;
pub use packet::{Answer, Recorded};
pub use rules::Allowed;

use connect::{Connection, Sorted};
use feed::{Fed, Feeder};
use history::History;
use judge::Verdict;
use packet::Packet;

/// How many READs and atomics a QP may have unanswered, if nothing says it: what Linux's `rdma_rxe` and most NICs
/// grant.
pub const GRANTED: u16 = 16;

/// What is to be done with a capture.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of the end in whose place the NIC stands.
    pub side: IpAddr,
    /// The kind of NIC.
    pub nic: NicKind,
    /// How many READs and atomics a QP may have unanswered, 1 or more.
    pub granted: u16,
    /// What is known of connections.
    pub connections: Vec<Known>,
    /// What is known of memory.
    pub regions: Vec<KnownRegion>,
}

/// Why a NIC cannot stand in for an end of a capture.
#[derive(Debug, Error)]
pub enum Error {
    /// The kind of NIC is not there.
    #[error("{0}")]
    Kind(String),
    /// No packet is from the end or to it.
    #[error("{side}: no packet is to this address; the capture has packets to {}", list(.others))]
    NoSuchSide {
        /// The address.
        side: IpAddr,
        /// Addresses that there are.
        others: Vec<String>,
    },
    /// Nothing can be judged.
    #[error("{side}: no conversation of RC in which this end answers: {why}")]
    NothingToJudge {
        /// The address.
        side: IpAddr,
        /// What is there instead.
        why: String,
    },
    /// The NIC has too few QPs.
    #[error(
        "{connections} connections and {regions} memory regions: the NIC has {qps} QPs, one for each"
    )]
    QueuePairs {
        /// Number of connections.
        connections: usize,
        /// Number of regions.
        regions: usize,
        /// Number of QPs.
        qps: u16,
    },
    /// The NIC could not be set up.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The NIC stopped working.
    #[error("the NIC stopped working: {0}")]
    Nic(String),
}

fn list(addresses: &[String]) -> String {
    match addresses {
        [] => "no address".into(),
        addresses => addresses.join(", "),
    }
}

/// A connection, and what is known of it.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// Number of the answering end's QP.
    pub qpn: u32,
    /// Address of the other end.
    pub peer: IpAddr,
    /// Number of its QP.
    pub peer_qpn: u32,
    /// How the QP was found to be set up.
    pub told: Told,
    /// The first PSN that was expected.
    pub first_psn: u32,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Whether packets, messages or settings show the MTU; else it is the largest, which all packets fit.
    pub mtu_shown: bool,
    /// Number of messages that were complete before.
    pub msn: u32,
    /// Requests in the capture.
    pub requests: u64,
    /// Answers of both sides.
    pub answers: u64,
    /// The same answer, or allowed by a rule.
    pub matched: u64,
    /// Allowed by a rule.
    pub allowed: u64,
    /// Neither.
    pub different: u64,
    /// Requests before the first that begins a message.
    pub skipped: u64,
    /// Requests that the answering end shows not to have got.
    pub lost_behind_tap: u64,
    /// What is judged is before this frame: a request that the answering end got is not in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_at_tap: Option<u64>,
    /// Answers from there on, and to requests before the first that was fed.
    pub unjudged: u64,
}

/// What is in the capture and is not judged, in packets to or from the end.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NotJudged {
    /// Requests of RC without answers in the capture.
    pub requests_without_answers: u64,
    /// Answers of RC whose requests are not known: not in the capture, or of several QPs that cannot be told apart.
    pub answers_without_requests: u64,
    /// UC and UD, which nothing answers.
    pub unreliable: u64,
    /// RoCEv1 and extended RC.
    pub other_services: u64,
    /// Congestion notifications.
    pub cnps: u64,
    /// What the end asks of others, and their answers.
    pub own_requests: u64,
}

/// What became of all answers.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The end in whose place the NIC stood.
    pub side: IpAddr,
    /// The kind of NIC.
    pub nic: String,
    /// Frames of the capture.
    pub frames: u64,
    /// Requests that the NIC got.
    pub requests: u64,
    /// Damaged packets that it got.
    pub damaged: u64,
    /// Answers that were held against each other: pairs, and those that one side alone has.
    pub answers: u64,
    /// Alike in all fields.
    pub matched: u64,
    /// Not alike, by the rule that allows it.
    pub allowed: BTreeMap<Allowed, u64>,
    /// Answers to what the NIC cannot do.
    pub unsupported: BTreeMap<&'static str, u64>,
    /// All others.
    pub different: u64,
    /// The connections.
    pub connections: Vec<Judged>,
    /// What is not judged.
    pub not_judged: NotJudged,
    /// Requests that were refused because the capture's answer says so: their keys permit them elsewhere.
    pub denied: u64,
    /// Bytes of memory in answers of the capture that earlier packets had put there.
    pub memory_known: u64,
    /// Bytes of memory that were taken from answers of the capture.
    pub memory_taken: u64,
    /// Frames of the NIC that are no answers.
    pub strange: u64,
    /// The answers that are different.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Whether all answers match or are allowed.
    pub fn held(&self) -> bool {
        self.different == 0 && self.unsupported.is_empty() && self.strange == 0
    }
}

/// Puts a NIC in the place of an end of a capture.
///
/// # Errors
///
/// The capture has nothing that could be judged, or the NIC cannot be made, set up or go on.
pub fn shadow(
    recorded: &[Recorded],
    settings: &Settings,
    endpoints: &Endpoints,
) -> Result<Report, Error> {
    let kind = (endpoints.kind(&settings.nic)).map_err(Error::Kind)?;
    let packets: Vec<Packet> = recorded.iter().map(Packet::new).collect();
    let side = address_bits(settings.side);
    let agreed = cm::agreed(&packets);
    let Sorted {
        connections,
        unanswered,
        unasked,
    } = connect::sort(&packets, side, &agreed, &settings.connections);
    let mut not_judged = not_judged(&packets, side);
    not_judged.requests_without_answers = unanswered.iter().map(|(.., count)| count).sum();
    not_judged.answers_without_requests = unasked.iter().map(|(.., count)| count).sum();
    let Some(own) = own_address(&connections, &packets, settings.side) else {
        return Err(nothing(&packets, settings.side, &not_judged));
    };
    let connections: Vec<(Connection, History)> = (connections.into_iter())
        .map(|connection| {
            let history = History::of(&connection, &packets);
            (connection, history)
        })
        .collect();
    let planned = connections.iter().flat_map(|(_, history)| &history.planned);
    let regions = memory::regions(planned, &settings.regions);
    let limits = (kind.limits)();
    let qps = connections.len() + regions.len();
    if qps > usize::from(limits.qps) {
        return Err(Error::QueuePairs {
            connections: connections.len(),
            regions: regions.len(),
            qps: limits.qps,
        });
    }
    let bench = Bench::new("shadow", &kind, own, qps.max(2))?;
    let feeder = Feeder::new(
        bench,
        &packets,
        side,
        &connections,
        &regions,
        settings.granted,
    )?;
    let fed = feeder.feed()?;
    let verdicts: Vec<Verdict> = (connections.iter().zip(&fed.sent))
        .map(|((connection, history), sent)| {
            judge::judge(connection, history, &packets, sent, fed.answers)
        })
        .collect();
    let report = report(settings, &packets, &connections, verdicts, fed, not_judged);
    match report.answers {
        0 => Err(nothing(&packets, settings.side, &report.not_judged)),
        _ => Ok(report),
    }
}

/// The end's own addresses, as the first request shows them.
fn own_address(connections: &[Connection], packets: &[Packet], ip: IpAddr) -> Option<Address> {
    let first = connections.iter().find_map(|it| it.requests.first())?;
    let mac = packets[*first].frame.eth.as_ref()?.dst;
    Some(Address { mac, ip })
}

fn nothing(packets: &[Packet], side: IpAddr, not_judged: &NotJudged) -> Error {
    let bits = address_bits(side);
    let ips = || packets.iter().filter_map(|it| it.roce).map(|(ip, ..)| ip);
    if !ips().any(|ip| ip.dst == bits) {
        let text = |ip: IpHead| address_of(ip.dst, ip.kind == IpKind::V4).to_string();
        let mut others: Vec<String> = ips().map(text).collect();
        others.sort();
        others.dedup();
        return Error::NoSuchSide { side, others };
    }
    let NotJudged {
        requests_without_answers,
        answers_without_requests,
        unreliable,
        ..
    } = not_judged;
    let why = format!(
        "{requests_without_answers} requests to it without answers in the capture, {answers_without_requests} answers \
         of it without requests, {unreliable} packets of UC and UD, which nothing answers"
    );
    Error::NothingToJudge { side, why }
}

/// Counts what is not RC, or is the other direction.
fn not_judged(packets: &[Packet], side: u128) -> NotJudged {
    let mut counts = NotJudged::default();
    for packet in packets {
        let frame = &packet.frame;
        let (Some(ip), Some(bth)) = (frame.ip, frame.bth) else {
            continue;
        };
        let to = ip.dst == side;
        if !to && ip.src != side {
            continue;
        }
        let count = match (packet.roce, bth.opcode) {
            (None, _) if frame.icrc_ok == Some(false) => continue,
            (None, _) => &mut counts.other_services,
            (Some(_), Opcode::CNP) => &mut counts.cnps,
            (Some(_), Opcode(0x20..0x80)) => &mut counts.unreliable,
            (Some(_), Opcode(0x80..)) => &mut counts.other_services,
            (Some(_), _) if to == packet.answer.is_some() => &mut counts.own_requests,
            (Some(_), _) => continue,
        };
        *count += 1;
    }
    counts
}

fn report(
    settings: &Settings,
    packets: &[Packet],
    connections: &[(Connection, History)],
    verdicts: Vec<Verdict>,
    fed: Fed,
    not_judged: NotJudged,
) -> Report {
    let mut report = Report {
        side: settings.side,
        nic: settings.nic.name().to_owned(),
        frames: packets.len() as u64,
        requests: fed.requests,
        damaged: fed.damaged,
        answers: 0,
        matched: 0,
        allowed: BTreeMap::new(),
        unsupported: BTreeMap::new(),
        different: 0,
        connections: Vec::new(),
        not_judged,
        denied: fed.denied,
        memory_known: fed.remembered,
        memory_taken: fed.taken,
        strange: fed.strange,
        differences: Vec::new(),
    };
    for ((connection, history), verdict) in connections.iter().zip(verdicts) {
        let allowed: u64 = verdict.allowed.values().sum();
        let unsupported: u64 = verdict.unsupported.values().sum();
        let different = verdict.different.len() as u64;
        let answers = verdict.matched + allowed + unsupported + different;
        report.answers += answers;
        report.matched += verdict.matched;
        report.different += different;
        for (rule, count) in verdict.allowed {
            *report.allowed.entry(rule).or_default() += count;
        }
        for (what, count) in verdict.unsupported {
            *report.unsupported.entry(what).or_default() += count;
        }
        report.differences.extend(verdict.different);
        report.connections.push(Judged {
            qpn: connection.qpn,
            peer: address_of(connection.peer, settings.side.is_ipv4()),
            peer_qpn: connection.peer_qpn,
            told: connection.told,
            first_psn: connection.first_psn.get(),
            mtu: connection.mtu,
            mtu_shown: connection.mtu_shown,
            msn: history.msn,
            requests: connection.requests.len() as u64,
            answers,
            matched: verdict.matched,
            allowed,
            different,
            skipped: connection.skipped,
            lost_behind_tap: history.lost_behind,
            lost_at_tap: history.lost_at_tap.map(|at| packets[at].number),
            unjudged: verdict.unjudged,
        });
    }
    report.differences.sort_by_key(|it| it.frame);
    report
}
