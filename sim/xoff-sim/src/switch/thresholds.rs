//! The buffer arithmetic of the DCQCN paper (SIGCOMM 2015, section 4): which PFC and ECN thresholds let ECN act
//! before PFC does.

use serde::{Deserialize, Serialize};

use crate::time::ByteCount;
use crate::wire::PRIORITIES;

/// A switch as seen by that arithmetic: every port and priority is lossless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Size of the whole buffer, B.
    pub buffer: ByteCount,
    /// Number of ports, n; at least 1.
    pub ports: u64,
    /// Headroom of each port and priority, t_flight.
    pub headroom: ByteCount,
}

impl Thresholds {
    /// Bytes that headroom leaves to share.
    fn shared(&self) -> u64 {
        let headroom = self.headroom * (PRIORITIES as u64 * self.ports);
        self.buffer.saturating_sub(headroom).get()
    }

    /// The largest static PFC threshold that cannot overrun the buffer: (B − 8 n t_flight) / 8 n, rounded down.
    pub fn static_pfc(&self) -> ByteCount {
        ByteCount::new(self.shared() / (PRIORITIES as u64 * self.ports))
    }

    /// The bound on a static ECN threshold: below t_PFC / n, so that PFC does not come first when all ports send to
    /// one. A bound below one frame cannot be met.
    pub fn static_ecn(&self) -> ByteCount {
        ByteCount::new(self.static_pfc().get() / self.ports)
    }

    /// The bound on the ECN threshold when the PFC threshold is β times the free buffer: β (B − 8 n t_flight) / (8 n
    /// (β + 1)), rounded down.
    pub fn dynamic_ecn(&self, beta: u64) -> ByteCount {
        let divisor = PRIORITIES as u64 * self.ports * (beta + 1);
        ByteCount::new(self.shared() * beta / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_numbers() {
        let trident = Thresholds {
            buffer: ByteCount::new(12_000_000),
            ports: 32,
            headroom: ByteCount::new(22_400),
        };
        // As in the paper: 24.47 KB; below one frame; 21.75 KB at β = 8.
        assert_eq!(trident.static_pfc(), ByteCount::new(24_475));
        assert_eq!(trident.static_ecn(), ByteCount::new(764));
        assert_eq!(trident.dynamic_ecn(8), ByteCount::new(21_755));
    }
}
