//! What was sent in vain: QPs that gave up, and frames that had nowhere to go.

use xoff_sim::host::{Receiver, Sender};
use xoff_sim::kernel::NodeId;
use xoff_sim::link::FaultInjector;
use xoff_sim::protocol::gbn::Status;
use xoff_sim::switch::DropReason;
use xoff_sim::time::Time;

use super::pauses::name;
use crate::Simulation;
use crate::results::{Finding, FindingKind, ns};
use crate::words::grouped;

/// For reasons of a switch to drop a frame because there is no way on, what there was instead. Frames that are dropped
/// for want of buffer, or by rules, had a way.
const NO_WAY: [(DropReason, &str); 5] = [
    (DropReason::NoRoute, "no route"),
    (DropReason::TtlExpired, "TTL ended on the way"),
    (DropReason::ArpMiss, "no ARP entry"),
    (DropReason::MacMiss, "no MAC entry"),
    (DropReason::LinkDown, "link down"),
];

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
    for (node, station) in simulation.stations() {
        let Some(switch) = station.switch() else {
            continue;
        };
        for (reason, what) in NO_WAY {
            let counters = simulation.ports(node).map(|port| switch.counters(port));
            let frames: u64 = counters.map(|port| port.dropped_for(reason)).sum();
            if frames > 0 {
                let name = name(simulation, node);
                let text = format!("{} had nowhere to go at {name}: {what}", frames_of(frames));
                found.push(finding(FindingKind::BlackHole, text));
            }
        }
    }
    for (node, port) in simulation.all_ports() {
        let faults = simulation.network().faults(node, port);
        let frames = faults.map_or(0, FaultInjector::swallowed);
        let peer = simulation.network().peer(node, port);
        if let (1.., Some((peer, _))) = (frames, peer) {
            let [from, to] = [node, peer].map(|node: NodeId| name(simulation, node));
            let text = format!(
                "{} vanished on the way from {from} to {to}: link down, or host dead",
                frames_of(frames)
            );
            found.push(finding(FindingKind::BlackHole, text));
        }
    }
    found
}
