//! Counters of a NIC.

use serde::{Deserialize, Serialize};

use crate::nic_registers as reg;

/// Counters, addressed by the offsets of their registers, [`FRAMES_IN`](reg::FRAMES_IN) to
/// [`DROP_ADDRESS`](reg::DROP_ADDRESS). They are wider than the registers and never saturate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCounters(Vec<u64>);

const fn place(register: u16) -> usize {
    reg::event_bit(register) as usize
}

impl Default for NicCounters {
    fn default() -> Self {
        Self(vec![0; reg::COUNTERS.len()])
    }
}

impl NicCounters {
    /// The counters of received frames other than ACKs and NAKs. Each such frame counts in one of them.
    pub const RECEIVED: [u16; 22] = [
        reg::PFC_IN,
        reg::PAUSE_IN,
        reg::PAUSE_IGNORED,
        reg::DROP_NOT_ROCE,
        reg::DROP_MALFORMED,
        reg::DROP_ROCE_V1,
        reg::DROP_SERVICE,
        reg::DROP_ICRC,
        reg::DROP_QP,
        reg::DROP_RESPONSE,
        reg::DROP_PKEY,
        reg::DROP_VLAN,
        reg::DROP_ADDRESS,
        reg::DROP_FULL,
        reg::CNPS_IN,
        reg::REQUESTS_IN,
        reg::DUPLICATES_IN,
        reg::GAPS_IN,
        reg::NO_BUFFER,
        reg::INVALID_IN,
        reg::ACCESS_IN,
        reg::NOT_READY_IN,
    ];

    /// Adds `more` to the counter of a register. Panics when the offset is not that of a counter, as does
    /// [`get`](Self::get).
    pub fn add(&mut self, register: u16, more: u64) {
        self.0[place(register)] += more;
    }

    /// Adds one for each bit set in `events`, in the form of `event_o` of the RTL: bit n belongs to counter n. The bits
    /// of byte counters do not say how many bytes, which are to be [added](Self::add).
    pub fn events(&mut self, events: u64) {
        const BYTES: u64 = 1 << reg::event_bit(reg::BYTES_IN) | 1 << reg::event_bit(reg::BYTES_OUT);
        let mut events = events & !BYTES;
        while events != 0 {
            self.0[events.trailing_zeros() as usize] += 1;
            events &= events - 1;
        }
    }

    /// The value of a register's counter.
    pub fn get(&self, register: u16) -> u64 {
        self.0[place(register)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_registers_in_their_order() {
        let mut counters = NicCounters::default();
        counters.events(0b1111 | 1 << (reg::COUNTERS.len() - 1));
        counters.add(reg::FRAMES_OUT, 4);
        counters.add(reg::BYTES_IN, 60);
        let found = [
            reg::FRAMES_IN,
            reg::BYTES_IN,
            reg::BYTES_OUT,
            reg::FRAMES_OUT,
            reg::UNREAD,
            reg::TIMEOUTS,
        ]
        .map(|register| counters.get(register));
        assert_eq!(found, [1, 60, 0, 5, 1, 0]);
    }
}
