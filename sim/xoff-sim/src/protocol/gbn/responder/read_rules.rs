//! What is the same of READs at any responder: how many responses there are and what they are called, and which request
//! repeats which (IBTA volume 1 §9.4.4, §9.7.5).

use serde::{Deserialize, Serialize};

use super::answered::{ATOMIC_BYTES, Asked};
use super::{Fault, ResponderContext};
use crate::protocol::gbn::types::MESSAGE_BYTES_MAX;
use crate::protocol::gbn::{Arrival, Owed, mtu_bytes};
use crate::wire::{Opcode, Psn};

/// Most responses to a READ: a quarter of all PSNs, so that a PSN is never both ahead and behind.
const RESPONSES_MAX: u32 = 1 << 22;

/// PSNs that a READ of so many bytes takes: one for each response.
pub(super) fn responses(bytes: u32, mtu: u32) -> u32 {
    bytes.div_ceil(mtu).max(1)
}

/// Whether a READ asks for more than there may be of one.
fn is_too_long(bytes: u32, mtu: u32) -> bool {
    bytes > MESSAGE_BYTES_MAX || responses(bytes, mtu) > RESPONSES_MAX
}

/// The opcode of a response: whether others have `begun` the READ, and whether it is the `last` one.
pub(super) const fn opcode(begun: bool, last: bool) -> Opcode {
    match (begun, last) {
        (false, true) => Opcode::RC_READ_RESP_ONLY,
        (false, false) => Opcode::RC_READ_RESP_FIRST,
        (true, false) => Opcode::RC_READ_RESP_MIDDLE,
        (true, true) => Opcode::RC_READ_RESP_LAST,
    }
}

/// What a READ asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadAsked {
    pub psn: Psn,
    pub va: u64,
    pub rkey: u32,
    pub bytes: u32,
}

impl ReadAsked {
    pub const fn of(arrival: &Arrival) -> Self {
        Self {
            psn: arrival.psn,
            va: arrival.va,
            rkey: arrival.rkey,
            bytes: arrival.dma_len,
        }
    }

    /// Whether a later request repeats this one from its beginning or its inside, with the same key.
    pub fn is_repeated_by(&self, again: &Self, mtu: u32) -> bool {
        let ahead = again.psn.ahead_of(self.psn);
        let skipped = u64::from(mtu) * ahead.max(0) as u64;
        0 <= ahead
            && (ahead as u32) < responses(self.bytes, mtu)
            && again.rkey == self.rkey
            && again.va == self.va.wrapping_add(skipped)
            && skipped + u64::from(again.bytes) <= self.bytes.into()
    }
}

impl ResponderContext {
    /// What is wrong with a READ or an atomic that is in order. `full`: so many are unanswered as may be; `allowed`: its
    /// key permits what it asks for.
    pub(super) fn fault_of_asked(
        &self,
        arrival: &Arrival,
        asked: Asked,
        full: bool,
        allowed: bool,
    ) -> Option<Fault> {
        let mtu = mtu_bytes(self.configuration.mtu);
        let is_atomic = matches!(asked, Asked::Atomic(_));
        let too_long = !is_atomic && is_too_long(asked.bytes(), mtu);
        if self.under_way || full || too_long || arrival.payload_bytes > 0 {
            return Some(Fault::Invalid);
        }
        if asked.bytes() > 0 && !allowed {
            return Some(Fault::Access);
        }
        let aligned = arrival.va.is_multiple_of(ATOMIC_BYTES.into());
        (is_atomic && !aligned).then_some(Fault::Invalid)
    }

    /// Takes a READ or an atomic in order, with so many responses: these acknowledge what came before it, and count it.
    pub(super) fn accept_asked(&mut self, psn: Psn, responses: u32) {
        self.silent = false;
        self.expected_psn = psn.advance(responses);
        self.owed = Owed::None;
        self.msn = self.msn.advance(1);
    }
}
