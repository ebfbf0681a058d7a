//! The buffer arithmetic of the DCQCN paper (SIGCOMM 2015, section 4): which PFC and ECN thresholds let ECN act
//! before PFC does.

use serde::{Deserialize, Serialize};

use super::buffer::NothingToShare;
use crate::time::ByteCount;

/// A switch as seen by that arithmetic: every port has the same lossless classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Size of the whole buffer, B.
    pub buffer: ByteCount,
    /// Number of ports, n; at least 1.
    pub ports: u64,
    /// Number of lossless classes of a port, at least 1; the paper: all 8.
    pub classes: u64,
    /// Headroom of each port and class, t_flight.
    pub headroom: ByteCount,
}

impl Thresholds {
    /// Number of ingress queues: one for each port and class, 8n in the paper.
    pub const fn queues(&self) -> u64 {
        self.classes * self.ports
    }

    /// Bytes that headroom leaves to share: B − 8 n t_flight. Zero if it leaves none.
    pub fn shared(&self) -> ByteCount {
        self.buffer.saturating_sub(self.headroom * self.queues())
    }

    /// Checks that headroom leaves something to share, as a switch does.
    ///
    /// # Errors
    ///
    /// [`NothingToShare`] when headroom takes up all of the buffer.
    pub fn check(&self) -> Result<(), NothingToShare> {
        match self.shared() {
            ByteCount::ZERO => Err(NothingToShare {
                ports: self.ports as usize,
                taken: self.headroom * self.queues(),
                total: self.buffer,
            }),
            _ => Ok(()),
        }
    }

    /// The largest static PFC threshold that cannot overrun the buffer: (B − 8 n t_flight) / 8 n, rounded down.
    pub fn static_pfc(&self) -> ByteCount {
        ByteCount::new(self.shared().get() / self.queues())
    }

    /// The length at which each of `full` ingress queues pauses its peer when all of them fill alike and the limit is α
    /// = `num` / `den` of what is free ([`Limit::Alpha`](super::Limit::Alpha)): x = α (B_shared − `full` · x), hence x
    /// = α · B_shared / (1 + `full` · α), rounded down.
    pub fn alpha_pfc(&self, num: u32, den: u32, full: u64) -> ByteCount {
        let (num, den) = (u128::from(num), u128::from(den));
        let divisor = den + u128::from(full) * num;
        let each = u128::from(self.shared().get()) * num / divisor.max(1);
        // At most what is shared.
        ByteCount::new(each as u64)
    }

    /// The bound on a static ECN threshold: below t_PFC / n, so that PFC does not come first when all ports send to
    /// one. A bound below one frame cannot be met.
    pub fn static_ecn(&self) -> ByteCount {
        ByteCount::new(self.static_pfc().get() / self.ports)
    }

    /// The bound on the ECN threshold when the PFC threshold is β / 8 n times the free buffer: β (B − 8 n t_flight) /
    /// (8 n (β + 1)), rounded down.
    pub fn dynamic_ecn(&self, beta: u64) -> ByteCount {
        let divisor = u128::from(self.queues()) * (u128::from(beta) + 1);
        let bound = u128::from(self.shared().get()) * u128::from(beta) / divisor;
        // Less than what is shared.
        ByteCount::new(bound as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::PortId;
    use crate::switch::buffer::SharedBuffer;
    use crate::switch::{BufferConfig, Limit, PriorityBuffer};
    use crate::wire::PRIORITIES;

    const TRIDENT: Thresholds = Thresholds {
        buffer: ByteCount::new(12_000_000),
        ports: 32,
        classes: 8,
        headroom: ByteCount::new(22_400),
    };

    #[test]
    fn the_papers_numbers() {
        // As in the paper: 24.47 KB; below one frame; 21.75 KB at β = 8.
        assert_eq!(TRIDENT.static_pfc(), ByteCount::new(24_475));
        assert_eq!(TRIDENT.static_ecn(), ByteCount::new(764));
        assert_eq!(TRIDENT.dynamic_ecn(8), ByteCount::new(21_755));
    }

    #[test]
    fn a_buffer_that_is_all_headroom_leaves_nothing() {
        let small = Thresholds {
            buffer: ByteCount::new(5_734_400),
            ..TRIDENT
        };
        let text = small.check().unwrap_err().to_string();
        assert!(
            text.contains("32 ports take 5.7344 MB of a buffer of 5.7344 MB"),
            "{text}"
        );
        assert_eq!(small.static_pfc(), ByteCount::ZERO);
        let a_byte_more = Thresholds {
            buffer: ByteCount::new(5_734_401),
            ..TRIDENT
        };
        assert_eq!(a_byte_more.check(), Ok(()));
    }

    /// Fills queues in turn, frame by frame, until the first of them pauses its peer. Returns its length then.
    fn switch_pauses_at(of: &Thresholds, (num, den): (u32, u32), full: u64) -> u64 {
        const FRAME: u64 = 100;
        let limit = Limit::Alpha { num, den };
        let config = BufferConfig {
            total: of.buffer,
            priorities: [PriorityBuffer::lossless(limit, of.headroom); PRIORITIES],
        };
        let mut buffer = SharedBuffer::new(config, of.ports as usize).unwrap();
        let queues = (0..full).map(|i| (PortId((i / 8) as u16), (i % 8) as u8));
        for (port, class) in queues.cycle() {
            buffer.admit(port, class, FRAME).unwrap();
            let queue = buffer.queue(port, class);
            if queue.xoff {
                return queue.shared;
            }
        }
        unreachable!("the buffer is finite")
    }

    #[test]
    fn the_switch_pauses_where_the_arithmetic_says() {
        // One queue of 12 MB that are all shared: 12,000,000 / 17 and / 65.
        let shared = Thresholds {
            headroom: ByteCount::ZERO,
            ..TRIDENT
        };
        assert_eq!(shared.alpha_pfc(1, 16, 1), ByteCount::new(705_882));
        assert_eq!(shared.alpha_pfc(1, 64, 1), ByteCount::new(184_615));
        // Four that fill alike: 12,000,000 / 20.
        assert_eq!(shared.alpha_pfc(1, 16, 4), ByteCount::new(600_000));
        for alpha in [(1, 16), (1, 64), (1, 1), (8, 1)] {
            for full in [1, 2, 4, 31, 256] {
                let each = TRIDENT.alpha_pfc(alpha.0, alpha.1, full).get();
                let paused = switch_pauses_at(&TRIDENT, alpha, full);
                // A queue pauses with the first frame that does not fit. Other queues have one frame more or less.
                assert!(
                    paused.abs_diff(each) <= 200,
                    "{alpha:?}, {full} queues: {paused}, not {each}"
                );
            }
        }
    }
}
