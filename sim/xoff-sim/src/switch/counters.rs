//! Counters for each port and priority. No frame is lost without being counted.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::PRIORITIES;

/// Why a frame was dropped. Drops are counted at the port where the frame arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// Its FCS was wrong.
    BadFcs,
    /// It was shorter than 64 bytes.
    Runt,
    /// It was longer than the switch accepts.
    Giant,
    /// A fault rule dropped it.
    Fault,
    /// It was a MAC control frame that is neither PFC nor PAUSE; such frames are never forwarded.
    Control,
    /// It was for another MAC address than the port's, and the port only routes.
    OtherMac,
    /// No route matches its destination, or it is for the switch itself.
    NoRoute,
    /// Its time to live has ended.
    TtlExpired,
    /// There is no ARP entry for its destination, a connected host.
    ArpMiss,
    /// There is no MAC entry, and the switch does not flood.
    MacMiss,
    /// It is lossless, and its ARP entry is incomplete: there is no MAC entry for it.
    IncompleteArp,
    /// It would be sent out of the port where it arrived.
    SamePort,
    /// It is lossy, and its ingress queue is over its limit.
    OverLimit,
    /// It is lossless, and its headroom is full: the settings do not suffice to keep their promise of no loss.
    HeadroomFull,
    /// The egress queue is long, and the packet is not ECN capable.
    RedIncapable,
    /// The pause watchdog of its port, of entry or of exit, has given up the lossless priority.
    Watchdog,
    /// The link that it was to leave by is down.
    LinkDown,
    /// It has no VLAN tag, and the port is a trunk.
    Untagged,
}

impl DropReason {
    /// All reasons, in the order of their counters.
    pub const ALL: [Self; 18] = [
        Self::BadFcs,
        Self::Runt,
        Self::Giant,
        Self::Fault,
        Self::Control,
        Self::OtherMac,
        Self::NoRoute,
        Self::TtlExpired,
        Self::ArpMiss,
        Self::MacMiss,
        Self::IncompleteArp,
        Self::SamePort,
        Self::OverLimit,
        Self::HeadroomFull,
        Self::RedIncapable,
        Self::Watchdog,
        Self::LinkDown,
        Self::Untagged,
    ];

    /// The name as serialized, such as `no_route`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
        }
        name
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BadFcs => "bad FCS",
            Self::Runt => "runt",
            Self::Giant => "giant",
            Self::Fault => "fault injected",
            Self::Control => "unknown MAC control",
            Self::OtherMac => "for another MAC address",
            Self::NoRoute => "no route",
            Self::TtlExpired => "TTL expired",
            Self::ArpMiss => "no ARP entry",
            Self::MacMiss => "no MAC entry",
            Self::IncompleteArp => "incomplete ARP entry",
            Self::SamePort => "same port",
            Self::OverLimit => "over the limit",
            Self::HeadroomFull => "headroom full",
            Self::RedIncapable => "RED, not ECN capable",
            Self::Watchdog => "pause watchdog",
            Self::LinkDown => "link down",
            Self::Untagged => "no VLAN tag",
        })
    }
}

/// Numbers of frames and bytes, FCS included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Traffic {
    pub(super) fn count(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

/// Counters of a port. Arrays are indexed by priority.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortCounters {
    /// Frames received, whatever happened to them afterwards; without MAC control. Frames whose priority was not
    /// determined (bad FCS, runts, giants) count as priority 0.
    pub received: [Traffic; PRIORITIES],
    /// Frames sent; without MAC control.
    pub sent: [Traffic; PRIORITIES],
    /// Frames created here rather than received: copies of flooded or duplicated frames beyond the first.
    pub copies: u64,
    /// Frames received here and dropped, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub dropped: Box<[[u64; PRIORITIES]; DropReason::ALL.len()]>,
    /// Frames marked "congestion experienced" when sent here.
    pub marked: [u64; PRIORITIES],
    /// Pause frames received.
    pub pauses_received: u64,
    /// Pause frames sent, XON included.
    pub pauses_sent: u64,
    /// How often the pause watchdog gave up a priority here.
    pub watchdog: [u64; PRIORITIES],
    /// How often an ingress queue here entered XOFF.
    pub xoff: [u64; PRIORITIES],
    /// The most bytes that an ingress queue here held, headroom included.
    pub ingress_peak: [u64; PRIORITIES],
    /// The most bytes that were in an ingress queue's headroom here.
    pub headroom_peak: [u64; PRIORITIES],
    /// The most bytes that waited in an egress queue here.
    pub egress_peak: [u64; PRIORITIES],
}

impl PortCounters {
    /// Frames dropped for one reason, of all priorities.
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize].iter().sum()
    }

    /// Frames dropped for any reason, of all priorities.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().flatten().sum()
    }

    /// Frames received, of all priorities.
    pub fn frames_received(&self) -> u64 {
        self.received.iter().map(|traffic| traffic.frames).sum()
    }

    /// Frames sent, of all priorities.
    pub fn frames_sent(&self) -> u64 {
        self.sent.iter().map(|traffic| traffic.frames).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_the_order_of_their_counters() {
        for (i, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i);
        }
    }
}
