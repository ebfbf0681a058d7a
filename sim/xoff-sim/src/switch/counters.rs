//! Counters per port and priority. Nothing is lost silently.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::PRIORITIES;

/// Why a frame was dropped. Counted at the port where it came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// Its FCS was wrong.
    BadFcs,
    /// Shorter than 64 bytes.
    Runt,
    /// Longer than the switch takes.
    Giant,
    /// A rule of fault injection said so.
    Fault,
    /// A MAC control frame that is neither PFC nor PAUSE; such are never forwarded.
    Control,
    /// No route has its destination.
    NoRoute,
    /// Its time to live was over.
    TtlExpired,
    /// No ARP entry for a connected host.
    ArpMiss,
    /// No MAC entry, and the switch does not flood.
    MacMiss,
    /// Lossless, and the ARP entry is incomplete: it has no MAC entry.
    IncompleteArp,
    /// It would go out where it came in.
    SamePort,
    /// Lossy, and its ingress queue is over its limit.
    OverLimit,
    /// Lossless, and its headroom is full: the settings lose frames that they promise to keep.
    HeadroomFull,
    /// The egress queue is long and the packet not capable of ECN.
    RedIncapable,
}

impl DropReason {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 14] = [
        Self::BadFcs,
        Self::Runt,
        Self::Giant,
        Self::Fault,
        Self::Control,
        Self::NoRoute,
        Self::TtlExpired,
        Self::ArpMiss,
        Self::MacMiss,
        Self::IncompleteArp,
        Self::SamePort,
        Self::OverLimit,
        Self::HeadroomFull,
        Self::RedIncapable,
    ];

    /// As serialized: `no_route`.
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
            Self::NoRoute => "no route",
            Self::TtlExpired => "TTL expired",
            Self::ArpMiss => "no ARP entry",
            Self::MacMiss => "no MAC entry",
            Self::IncompleteArp => "incomplete ARP entry",
            Self::SamePort => "same port",
            Self::OverLimit => "over the limit",
            Self::HeadroomFull => "headroom full",
            Self::RedIncapable => "RED, not ECN capable",
        })
    }
}

/// Frames and bytes, FCS included.
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

/// What a port has seen. Indices are priorities.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortCounters {
    /// Came in, whatever then became of it; MAC control not included. Frames whose priority was not looked at (bad FCS, runts, giants) count as priority 0.
    pub received: [Traffic; PRIORITIES],
    /// Went out; MAC control not included.
    pub sent: [Traffic; PRIORITIES],
    /// Made here and not received: copies of flooded or duplicated frames beyond the first.
    pub copies: u64,
    /// Came in here and were dropped, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub dropped: [[u64; PRIORITIES]; DropReason::ALL.len()],
    /// Marked "congestion experienced" on their way out here.
    pub marked: [u64; PRIORITIES],
    /// Pause frames that came in.
    pub pauses_received: u64,
    /// Pause frames that went out, XON included.
    pub pauses_sent: u64,
    /// How often an ingress queue here went to XOFF.
    pub xoff: [u64; PRIORITIES],
    /// The most bytes of an ingress queue here, headroom included.
    pub ingress_peak: [u64; PRIORITIES],
    /// The most bytes in an ingress queue's headroom here.
    pub headroom_peak: [u64; PRIORITIES],
    /// The most bytes that waited in an egress queue here.
    pub egress_peak: [u64; PRIORITIES],
}

impl PortCounters {
    /// Drops of one kind, all priorities.
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize].iter().sum()
    }

    /// All drops.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().flatten().sum()
    }

    /// Frames received, all priorities.
    pub fn frames_received(&self) -> u64 {
        self.received.iter().map(|traffic| traffic.frames).sum()
    }

    /// Frames sent, all priorities.
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
