//! What was sent in vain: QPs that gave up, and frames that had nowhere to go.

use xoff_sim::host::{Receiver, Sender};
use xoff_sim::kernel::NodeId;
use xoff_sim::link::FaultInjector;
use xoff_sim::protocol::gbn::Status;
use xoff_sim::switch::DropReason;
use xoff_sim::time::Time;

use super::pauses::name;
use crate::results::{Finding, FindingKind, ns};
use crate::words::{grouped, list};
use crate::{Simulation, Station};

/// For reasons of a switch to drop a frame because there is no way on, what there was instead. Frames that are dropped
/// for want of buffer, or by rules, had a way.
const NO_WAY: [(DropReason, &str); 5] = [
    (DropReason::NoRoute, "no route"),
    (DropReason::TtlExpired, "TTL ended on the way"),
    (DropReason::ArpMiss, "no ARP entry"),
    (DropReason::MacMiss, "no MAC entry"),
    (DropReason::LinkDown, "link down"),
];

/// Places that are named in a line.
const MOST_PLACES: usize = 3;

/// Why a QP ended, by the status of the first message that failed.
const fn why(status: Status) -> &'static str {
    match status {
        Status::Success => "no message failed",
        Status::LocalLength => "a message was longer than its buffer",
        Status::Flushed => "its peer, or the other half, had failed",
        Status::RetryExceeded => "retries were used up",
        Status::RnrExceeded => "there was no receive buffer, and RNR retries were used up",
        Status::RemoteInvalid => "its peer took a request for invalid",
        Status::RemoteAccess => "its peer refused an access",
        Status::RemoteOperate => "its peer could not carry out a request",
        Status::LocalAccess => {
            "its own memory is not there: what it sends, a receive buffer, or that of its READ"
        }
        Status::BadResponse => "a response to its READ or atomic cannot be",
    }
}

fn frames_of(number: u64) -> String {
    match number {
        1 => "one frame".into(),
        _ => format!("{} frames", grouped(number)),
    }
}

/// The QPs of each host that ended in error, and the frames that switches and links let vanish, since `began`.
pub(super) fn findings(simulation: &Simulation, began: Time) -> Vec<Finding> {
    let finding = |kind, text| Finding {
        kind,
        text,
        details: Vec::new(),
        from_ns: ns(began),
        to_ns: None,
    };
    let mut found = Vec::new();
    for (node, station) in simulation.stations() {
        let Some(host) = station.host() else { continue };
        let senders = host.senders().iter().filter_map(Sender::failed);
        let receivers = host.receivers().iter().filter_map(Receiver::failed);
        let ends: Vec<Status> = senders.chain(receivers).collect();
        for status in Status::ALL {
            let failed = match ends.iter().filter(|end| **end == status).count() {
                0 => continue,
                1 => "one QP".into(),
                failed => format!("{failed} QPs"),
            };
            let name = name(simulation, node);
            let text = format!("{failed} of {name} ended in error: {}", why(status));
            found.push(finding(FindingKind::FailedQps, text));
        }
    }
    for (reason, what) in NO_WAY {
        let at = |(node, station): (NodeId, &Station)| {
            let switch = station.switch()?;
            let counters = simulation.ports(node).map(|port| switch.counters(port));
            let frames: u64 = counters.map(|port| port.dropped_for(reason)).sum();
            (frames > 0).then(|| (name(simulation, node).to_owned(), frames))
        };
        let places: Vec<_> = simulation.stations().filter_map(at).collect();
        found.extend(vanished(&places, began, |frames, places| {
            format!("{frames} had nowhere to go at {places}: {what}")
        }));
    }
    let on_link = |(node, port)| {
        let faults = simulation.network().faults(node, port);
        let frames = faults.map_or(0, FaultInjector::swallowed);
        let (peer, _) = simulation.network().peer(node, port)?;
        let [from, to] = [node, peer].map(|node: NodeId| name(simulation, node));
        (frames > 0).then(|| (format!("{from} to {to}"), frames))
    };
    let links: Vec<_> = simulation
        .all_ports()
        .into_iter()
        .filter_map(on_link)
        .collect();
    found.extend(vanished(&links, began, |frames, links| {
        format!("{frames} vanished on the way from {links}: link down, or host dead")
    }));
    found
}

/// One finding for all places where frames went missing for the same reason, each with its number of frames.
fn vanished(
    places: &[(String, u64)],
    began: Time,
    text: impl Fn(String, String) -> String,
) -> Option<Finding> {
    let frames = places.iter().map(|(_, frames)| frames).sum();
    let mut most: Vec<&(String, u64)> = places.iter().collect();
    most.sort_by_key(|(_, frames)| std::cmp::Reverse(*frames));
    let names: Vec<&str> = most.iter().map(|(name, _)| &**name).collect();
    let detail = |(name, frames): &&(String, u64)| format!("{name}: {}", frames_of(*frames));
    (frames > 0).then(|| Finding {
        kind: FindingKind::BlackHole,
        text: text(frames_of(frames), list(&names, MOST_PLACES)),
        details: match &most[..] {
            [_] => Vec::new(),
            several => several.iter().map(detail).collect(),
        },
        from_ns: ns(began),
        to_ns: None,
    })
}
