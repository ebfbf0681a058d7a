//! Figures of a log, for tests that bound them: shares of the wire, and how long answers take.

use std::collections::BTreeMap;

use crate::breach::Place;
use crate::fact::Ps;
use crate::packet::Packet;

/// The time from a request that asks for an acknowledgement to the next answer of its QP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Side of the receiver.
    pub side: usize,
    /// Its QP.
    pub qpn: u32,
    /// When the last byte of the request arrived, the first one since the last answer.
    pub asked: Ps,
    /// When the first byte of the answer was sent.
    pub answered: Ps,
}

/// Figures of what was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// By the sender's side and the number of the QP to which they go: bytes of requests on the wire, with preamble,
    /// FCS and gap.
    pub requests: BTreeMap<(usize, u32), u64>,
    /// By the sender's side and DSCP: bytes of all RoCE packets on the wire.
    pub classes: BTreeMap<(usize, u8), u64>,
    /// How long answers took, in their order.
    pub delays: Vec<Delay>,
    /// By side and QP, when an answer was first asked for.
    asked: BTreeMap<(usize, u32), Ps>,
}

impl Stats {
    /// The longest time that an answer took.
    pub fn longest_delay(&self) -> Option<Delay> {
        self.delays
            .iter()
            .copied()
            .max_by_key(|delay| delay.answered - delay.asked)
    }

    pub(crate) fn sent(&mut self, side: usize, packet: &Packet) {
        *self.classes.entry((side, packet.dscp)).or_default() += packet.wire_bytes;
        if packet.is_request() {
            *self.requests.entry((side, packet.qpn)).or_default() += packet.wire_bytes;
        }
    }

    pub(crate) fn asked(&mut self, place: &Place) {
        if let Some(qpn) = place.qpn {
            self.asked.entry((place.side, qpn)).or_insert(place.at);
        }
    }

    pub(crate) fn answered(&mut self, place: &Place) {
        let asked = place
            .qpn
            .and_then(|qpn| Some((qpn, self.asked.remove(&(place.side, qpn))?)));
        if let Some((qpn, asked)) = asked {
            self.delays.push(Delay {
                side: place.side,
                qpn,
                asked,
                answered: place.at,
            });
        }
    }
}
