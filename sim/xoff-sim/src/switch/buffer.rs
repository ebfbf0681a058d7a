//! The shared buffer, accounted at ingress for each port and priority.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::DropReason;
use crate::kernel::PortId;
use crate::time::ByteCount;
use crate::wire::PRIORITIES;

/// How much of the shared part an ingress queue may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// A fixed number of bytes.
    Static(ByteCount),
    /// α = `num` / `den` times the shared bytes that are free. The paper's incident: 1/64 instead of 1/16
    /// (SIGCOMM 2016).
    Alpha {
        /// Numerator.
        num: u32,
        /// Denominator, not 0.
        den: u32,
    },
}

/// Settings of one priority, the same at each port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityBuffer {
    /// Whether the priority pauses the peer instead of dropping frames.
    pub lossless: bool,
    /// Bytes reserved for each port, which are used first.
    pub reserved: ByteCount,
    /// Limit on the use of the shared part, which is used second.
    pub limit: Limit,
    /// Lossless: bytes at each port for frames that arrive after XOFF. Lossy: 0.
    pub headroom: ByteCount,
    /// Lossless: XON is sent when the queue is this many bytes below its limit. The DCQCN paper uses 2 MTU.
    pub xon_offset: ByteCount,
}

impl PriorityBuffer {
    /// A lossy priority with a limit of α = `num` / `den` and nothing reserved.
    pub const fn lossy(num: u32, den: u32) -> Self {
        Self {
            lossless: false,
            reserved: ByteCount::ZERO,
            limit: Limit::Alpha { num, den },
            headroom: ByteCount::ZERO,
            xon_offset: ByteCount::ZERO,
        }
    }

    /// A lossless priority with nothing reserved, and XON two frames of 1,086 bytes below XOFF.
    pub const fn lossless(limit: Limit, headroom: ByteCount) -> Self {
        Self {
            lossless: true,
            reserved: ByteCount::ZERO,
            limit,
            headroom,
            xon_offset: ByteCount::new(2 * 1086),
        }
    }
}

/// Settings of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferConfig {
    /// Size of the whole buffer. The paper's switches have 9 or 12 MB.
    pub total: ByteCount,
    /// Settings of each priority.
    pub priorities: [PriorityBuffer; PRIORITIES],
}

/// The error for a buffer that leaves nothing to share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "reserved and headroom of {ports} ports take {taken} of a buffer of {total}: nothing is left to share"
)]
pub struct NothingToShare {
    /// Number of ports.
    pub ports: usize,
    /// Bytes of reserves and headroom, of all ports and priorities.
    pub taken: ByteCount,
    /// Size of the whole buffer.
    pub total: ByteCount,
}

/// The bytes that an ingress queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IngressQueue {
    /// Bytes in its own reserve.
    pub reserved: u64,
    /// Bytes in the shared part.
    pub shared: u64,
    /// Bytes in its headroom.
    pub headroom: u64,
    /// Whether the peer has to pause.
    pub xoff: bool,
}

impl IngressQueue {
    /// The sum of all parts.
    pub const fn bytes(&self) -> u64 {
        self.reserved + self.shared + self.headroom
    }
}

/// The accounting of the buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedBuffer {
    config: BufferConfig,
    shared_size: u64,
    shared_used: u64,
    queues: Vec<[IngressQueue; PRIORITIES]>,
    /// Number of queues in XOFF.
    in_xoff: usize,
}

impl SharedBuffer {
    /// Creates an empty buffer.
    ///
    /// # Errors
    ///
    /// [`NothingToShare`] when reserves and headroom take up all of it.
    pub fn new(config: BufferConfig, ports: usize) -> Result<Self, NothingToShare> {
        let fixed = |buffer: &PriorityBuffer| buffer.reserved + buffer.headroom;
        let taken = config.priorities.iter().map(fixed).sum::<ByteCount>() * ports as u64;
        if taken >= config.total {
            return Err(NothingToShare {
                ports,
                taken,
                total: config.total,
            });
        }
        Ok(Self {
            shared_size: (config.total - taken).get(),
            shared_used: 0,
            queues: vec![[IngressQueue::default(); PRIORITIES]; ports],
            in_xoff: 0,
            config,
        })
    }

    /// The settings of a priority, as they are now.
    pub fn of_priority(&self, priority: u8) -> &PriorityBuffer {
        &self.config.priorities[usize::from(priority)]
    }

    /// Whether a priority is lossless.
    pub fn lossless(&self, priority: u8) -> bool {
        self.config.priorities[usize::from(priority)].lossless
    }

    /// Bytes at each port for frames that arrive after XOFF.
    pub fn headroom(&self, priority: u8) -> u64 {
        self.config.priorities[usize::from(priority)].headroom.get()
    }

    /// The bytes that a port's queue holds.
    pub fn queue(&self, port: PortId, priority: u8) -> &IngressQueue {
        &self.queues[usize::from(port.0)][usize::from(priority)]
    }

    /// Size of the shared part in bytes, used or not.
    pub fn shared_size(&self) -> u64 {
        self.shared_size
    }

    /// Bytes held in all queues.
    pub fn occupancy(&self) -> u64 {
        self.queues.iter().flatten().map(IngressQueue::bytes).sum()
    }

    /// Changes the limit of a priority. Queues that are above a new, lower limit enter XOFF with their next frame.
    pub fn set_limit(&mut self, priority: u8, limit: Limit) {
        self.config.priorities[usize::from(priority)].limit = limit;
    }

    /// How many bytes of the shared part a queue of this priority may hold now.
    pub fn limit(&self, priority: u8) -> u64 {
        self.limit_when(priority, self.shared_used)
    }

    fn limit_when(&self, priority: u8, shared_used: u64) -> u64 {
        let free = self.shared_size.saturating_sub(shared_used);
        match self.config.priorities[usize::from(priority)].limit {
            Limit::Static(limit) => limit.get(),
            Limit::Alpha { num, den } => {
                let limit = u128::from(free) * u128::from(num) / u128::from(den.max(1));
                u64::try_from(limit).unwrap_or(u64::MAX)
            }
        }
    }

    /// The fill at which an ingress queue of this priority enters XOFF now: its reserve and its part of what is shared.
    pub fn xoff_at(&self, priority: u8) -> u64 {
        let reserved = self.config.priorities[usize::from(priority)].reserved;
        reserved.get().saturating_add(self.limit(priority))
    }

    /// The least that [`xoff_at`](Self::xoff_at) is while all queues together hold at most so many bytes.
    pub fn least_xoff(&self, priority: u8, held: u64) -> u64 {
        let reserved = self.config.priorities[usize::from(priority)].reserved;
        reserved
            .get()
            .saturating_add(self.limit_when(priority, held))
    }

    /// Takes in `size` bytes: first in the reserve, then in the shared part up to the limit as it was before, then in
    /// the headroom.
    ///
    /// If the rest of a frame that is not covered by the reserve does not fit below the limit, all of that rest goes
    /// into the headroom, and the queue enters XOFF.
    ///
    /// # Errors
    ///
    /// The reason why the frame has to be dropped. Nothing is taken in then, but a lossless queue that holds
    /// something still enters XOFF.
    pub fn admit(&mut self, port: PortId, priority: u8, size: u64) -> Result<(), DropReason> {
        let limit = self.limit(priority);
        let settings = &self.config.priorities[usize::from(priority)];
        let free = self.shared_size - self.shared_used;
        let queue = &mut self.queues[usize::from(port.0)][usize::from(priority)];
        let reserved = size.min(settings.reserved.get() - queue.reserved);
        let rest = size - reserved;
        if rest == 0 || (queue.shared + rest <= limit && rest <= free) {
            queue.reserved += reserved;
            queue.shared += rest;
            self.shared_used += rest;
        } else if settings.lossless {
            let fits = queue.headroom + rest <= settings.headroom.get();
            if fits {
                queue.reserved += reserved;
                queue.headroom += rest;
            }
            // An empty queue will not release anything, so nothing would ever end its XOFF.
            if queue.bytes() > 0 {
                self.in_xoff += usize::from(!queue.xoff);
                queue.xoff = true;
            }
            if !fits {
                return Err(DropReason::HeadroomFull);
            }
        } else {
            return Err(DropReason::OverLimit);
        }
        self.check();
        Ok(())
    }

    /// Releases `size` bytes: first from the headroom, then from the shared part, then from the reserve.
    pub fn release(&mut self, port: PortId, priority: u8, size: u64) {
        let queue = &mut self.queues[usize::from(port.0)][usize::from(priority)];
        let headroom = size.min(queue.headroom);
        let shared = (size - headroom).min(queue.shared);
        let reserved = size - headroom - shared;
        queue.headroom -= headroom;
        queue.shared -= shared;
        queue.reserved -= reserved;
        self.shared_used -= shared;
        self.check();
    }

    /// Takes queues that are far enough below their limit out of XOFF, and calls `resumed` for each. Call it after
    /// releases, which raise the limits of all queues.
    pub fn resume(&mut self, mut resumed: impl FnMut(PortId, u8)) {
        if self.in_xoff == 0 {
            return;
        }
        for priority in 0..PRIORITIES as u8 {
            let settings = &self.config.priorities[usize::from(priority)];
            let xon = self
                .limit(priority)
                .saturating_sub(settings.xon_offset.get());
            for (port, queues) in self.queues.iter_mut().enumerate() {
                let queue = &mut queues[usize::from(priority)];
                if queue.xoff && queue.headroom == 0 && queue.shared <= xon {
                    queue.xoff = false;
                    self.in_xoff -= 1;
                    resumed(PortId(port as u16), priority);
                }
            }
        }
    }

    /// The queues in XOFF that stay there when every queue releases all but `held` of its bytes and nothing arrives.
    pub fn xoff_with(&self, held: impl Fn(PortId, u8) -> u64) -> Vec<(PortId, u8)> {
        let mut after = self.clone();
        for port in (0..self.queues.len() as u16).map(PortId) {
            for priority in 0..PRIORITIES as u8 {
                let bytes = self.queue(port, priority).bytes();
                after.release(port, priority, bytes.saturating_sub(held(port, priority)));
            }
        }
        after.resume(|_, _| {});
        let all = (0..self.queues.len() as u16)
            .flat_map(|port| (0..PRIORITIES as u8).map(move |priority| (PortId(port), priority)));
        all.filter(|&(port, priority)| after.queue(port, priority).xoff)
            .collect()
    }

    /// Checks that the parts add up.
    fn check(&self) {
        debug_assert_eq!(
            self.shared_used,
            self.queues
                .iter()
                .flatten()
                .map(|queue| queue.shared)
                .sum::<u64>()
        );
        debug_assert!(self.shared_used <= self.shared_size);
        debug_assert!(self.occupancy() <= self.config.total.get());
        debug_assert!(self.queues.iter().all(|queues| {
            queues
                .iter()
                .zip(&self.config.priorities)
                .all(|(queue, settings)| {
                    queue.reserved <= settings.reserved.get()
                        && queue.headroom <= settings.headroom.get()
                })
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(total: u64, priority_3: PriorityBuffer) -> SharedBuffer {
        let mut priorities = [PriorityBuffer::lossy(1, 1); PRIORITIES];
        priorities[3] = priority_3;
        let config = BufferConfig {
            total: ByteCount::new(total),
            priorities,
        };
        SharedBuffer::new(config, 4).unwrap()
    }

    const PORT: PortId = PortId(1);

    #[test]
    fn alpha_is_a_share_of_what_is_free() {
        let limit = Limit::Alpha { num: 1, den: 16 };
        let mut buffer = buffer(
            1_004_000,
            PriorityBuffer::lossless(limit, ByteCount::new(1000)),
        );
        assert_eq!(buffer.shared_size(), 1_000_000);
        assert_eq!(buffer.limit(3), 62_500);
        // A single queue fills up to x = (1,000,000 − x) / 16, which is 58,823 bytes, and then asks for a pause.
        let mut held = 0;
        while !buffer.queue(PORT, 3).xoff {
            buffer.admit(PORT, 3, 100).unwrap();
            held += 100;
        }
        // The last frame was judged by the limit at 58,800 bytes held, which is 58,825.
        assert_eq!(buffer.queue(PORT, 3).shared, 58_800);
        assert_eq!((held, buffer.queue(PORT, 3).headroom), (58_900, 100));
        // Lossy queues beside it reduce the limit.
        buffer.admit(PortId(0), 0, 400_000).unwrap();
        assert_eq!(buffer.limit(3), (1_000_000 - 58_800 - 400_000) / 16);
    }

    #[test]
    fn a_quarter_of_alpha_pauses_at_about_a_quarter() {
        let xoff_at = |den| {
            let limit = Limit::Alpha { num: 1, den };
            let mut buffer = buffer(
                12_000_000,
                PriorityBuffer::lossless(limit, ByteCount::new(2000)),
            );
            while !buffer.queue(PORT, 3).xoff {
                buffer.admit(PORT, 3, 1086).unwrap();
            }
            buffer.queue(PORT, 3).shared
        };
        // With 12 MB: 706 KB and 185 KB.
        assert_eq!(xoff_at(16) / 10_000, 70);
        assert_eq!(xoff_at(64) / 10_000, 18);
    }

    #[test]
    fn reserve_then_shared_then_headroom_then_drop_and_back() {
        let settings = PriorityBuffer {
            reserved: ByteCount::new(150),
            xon_offset: ByteCount::new(200),
            ..PriorityBuffer::lossless(Limit::Static(ByteCount::new(300)), ByteCount::new(250))
        };
        let mut buffer = buffer(100_000, settings);
        let parts = |buffer: &SharedBuffer| {
            let queue = buffer.queue(PORT, 3);
            (queue.reserved, queue.shared, queue.headroom, queue.xoff)
        };
        for (admitted, then) in [
            (Ok(()), (100, 0, 0, false)),
            (Ok(()), (150, 50, 0, false)),
            (Ok(()), (150, 150, 0, false)),
            (Ok(()), (150, 250, 0, false)),
            (Ok(()), (150, 250, 100, true)),
            (Ok(()), (150, 250, 200, true)),
            (Err(DropReason::HeadroomFull), (150, 250, 200, true)),
        ] {
            assert_eq!(buffer.admit(PORT, 3, 100), admitted);
            assert_eq!(parts(&buffer), then);
        }
        let mut resumed_after = None;
        for released in 1..=6 {
            buffer.release(PORT, 3, 100);
            buffer.resume(|port, priority| {
                assert_eq!((port, priority), (PORT, 3));
                resumed_after = Some((released, 0));
            });
        }
        // The headroom is empty after two releases; after four the shared part is at 100 = 300 − 200 or below.
        assert_eq!(resumed_after, Some((4, 0)));
        assert_eq!(parts(&buffer), (0, 0, 0, false));
    }

    #[test]
    fn what_is_held_back_keeps_a_queue_in_xoff() {
        let settings =
            PriorityBuffer::lossless(Limit::Static(ByteCount::new(3_000)), ByteCount::new(2_000));
        let mut buffer = buffer(100_000, settings);
        for _ in 0..4 {
            buffer.admit(PORT, 3, 1_000).unwrap();
        }
        // XON comes at 3,000 − 2,172 = 828 bytes of shared buffer, and only when the headroom is empty.
        assert!(buffer.queue(PORT, 3).xoff);
        let with = |held| buffer.xoff_with(|_, _| held);
        assert_eq!(with(4_000), [(PORT, 3)]);
        assert_eq!(with(829), [(PORT, 3)]);
        assert_eq!(with(828), []);
        assert!(buffer.queue(PORT, 3).xoff);
    }

    #[test]
    fn lossy_drops_over_its_limit_and_never_pauses() {
        let mut buffer = buffer(1000, PriorityBuffer::lossy(1, 1));
        assert_eq!(buffer.admit(PORT, 0, 400), Ok(()));
        assert_eq!(buffer.admit(PORT, 0, 300), Err(DropReason::OverLimit));
        assert_eq!(buffer.admit(PORT, 0, 200), Ok(()));
        assert!(!buffer.queue(PORT, 0).xoff);
        assert_eq!(buffer.occupancy(), 600);
    }

    #[test]
    fn an_empty_queue_is_never_in_xoff() {
        let settings = PriorityBuffer::lossless(Limit::Static(ByteCount::ZERO), ByteCount::new(50));
        let mut buffer = buffer(1000, settings);
        assert_eq!(buffer.admit(PORT, 3, 51), Err(DropReason::HeadroomFull));
        assert!(!buffer.queue(PORT, 3).xoff);
        assert_eq!(buffer.admit(PORT, 3, 50), Ok(()));
        assert!(buffer.queue(PORT, 3).xoff);
    }

    #[test]
    fn a_buffer_that_is_all_headroom_is_refused() {
        let config = BufferConfig {
            total: ByteCount::new(100_000),
            priorities: [PriorityBuffer::lossless(
                Limit::Static(ByteCount::ZERO),
                ByteCount::new(22_400),
            ); PRIORITIES],
        };
        assert_eq!(
            SharedBuffer::new(config, 32).unwrap_err().to_string(),
            "reserved and headroom of 32 ports take 5.7344 MB of a buffer of 100 KB: nothing is left to share"
        );
    }
}
