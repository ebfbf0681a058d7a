//! How often an access pattern misses, and what that costs a NIC that receives it: `xoff calc mtt`.
//!
//! Misses are counted by running the cache that the NIC has over the places that messages go to. The rest is arithmetic
//! with the NIC's own times: what waits for a miss is one packet after the other, so the time of a message is that of
//! its packets' steps and of its misses.

use super::{Cache, TranslationConfig};
use crate::frame::{FCS_BYTES, wire_bytes};
use crate::host::{ENTRY_BYTES, Pcie, PcieConfig, WorkingSet};
use crate::nic::model::latency;
use crate::switch::headroom::PAUSE_FRAME_BYTES;
use crate::time::{Clock, Cycles, Duration, LineRate};
use crate::wire::{BthRepr, EthernetRepr, ICRC_BYTES, Ipv4Repr, RethRepr, UdpRepr};

/// Messages over which misses are counted.
const MESSAGES: u64 = 1 << 17;
/// Bytes of a packet's headers in the NIC's buffer.
const HEADERS: usize = EthernetRepr::LEN + Ipv4Repr::LEN + UdpRepr::LEN + BthRepr::LEN + ICRC_BYTES;
/// What a frame has on the wire beside its bytes in the buffer.
const AROUND: u64 = wire_bytes(FCS_BYTES);
/// Bytes of a pause frame on the wire.
const PAUSE: u64 = wire_bytes(PAUSE_FRAME_BYTES);

/// WRITEs of so many QPs that take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// QPs, 1 or more, each with a working set of its own.
    pub qps: u64,
    /// The working set of each; of messages of `message` bytes a whole number.
    pub working_set: WorkingSet,
    /// Bytes of a message, 1 to 2³¹.
    pub message: u32,
    /// Path MTU.
    pub mtu: u32,
}

/// What a message of a pattern does on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Misses {
    /// Pages of its packets that are looked up.
    pub lookups: f64,
    /// Those that are not in the cache.
    pub misses: f64,
    /// Packets that wait for one.
    pub stalls: f64,
}

impl Pattern {
    /// Pages that all working sets have together.
    pub const fn pages(&self, config: &TranslationConfig) -> u64 {
        self.qps * config.page.touched(0, self.working_set.bytes)
    }

    /// Packets of a message.
    pub const fn packets(&self) -> u64 {
        match (self.message as u64).div_ceil(self.mtu as u64) {
            0 => 1,
            packets => packets,
        }
    }

    /// Lookups and misses of a message, when each page was touched before.
    pub fn misses(&self, config: &TranslationConfig) -> Misses {
        let mut cache = Cache::new(config.sets, config.ways());
        let each = config.page.touched(0, self.working_set.bytes);
        let last = (self.qps * each).saturating_sub(config.entries.into());
        (last..self.qps * each).for_each(|number| cache.insert(number));
        let [mut lookups, mut misses, mut stalls] = [0u64; 3];
        for count in 0..MESSAGES {
            let (index, qp) = (count / self.qps, count % self.qps);
            let offset = self.working_set.offset(qp as u32, index, self.message);
            let (mut done, message) = (0, u64::from(self.message));
            while done < message {
                let bytes = (message - done).min(self.mtu.into());
                let first = qp * each + config.page.number(offset + done);
                let mut missed = false;
                for number in first..first + config.page.touched(offset + done, bytes) {
                    lookups += 1;
                    if !cache.uses(number) {
                        cache.insert(number);
                        (misses, missed) = (misses + 1, true);
                    }
                }
                stalls += u64::from(missed);
                done += bytes;
            }
        }
        let [lookups, misses, stalls] =
            [lookups, misses, stalls].map(|count| count as f64 / MESSAGES as f64);
        Misses {
            lookups,
            misses,
            stalls,
        }
    }
}

/// A NIC that receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver {
    /// The line to it, which is full as long as it does not pause.
    pub rate: LineRate,
    /// Its clock.
    pub clock: Clock,
    /// Its bus.
    pub pcie: PcieConfig,
    /// The most that a miss takes longer than the bus; half of it on average.
    pub jitter: Duration,
    /// Bytes in the receive buffer from which on it pauses its peer.
    pub xoff: u64,
    /// Bytes at or below which the peer may send again.
    pub xon: u64,
    /// From the last bit of a pause frame until the peer starts no other frame, without cable.
    pub response: Duration,
    /// Delay of cable, MAC and PHY, one way.
    pub link: Duration,
}

/// What a pattern does to a NIC. Times in nanoseconds, rates in bits a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// What a miss takes.
    pub miss_ns: f64,
    /// What a message takes receive.
    pub message_ns: f64,
    /// Payload that the line brings.
    pub line_bps: f64,
    /// Payload that receive could take.
    pub capacity_bps: f64,
    /// Payload that is received: the lesser of the two.
    pub goodput_bps: f64,
    /// Part of the time for which a packet waits for a translation, 0 to 1.
    pub stalled: f64,
    /// Times a second that the NIC pauses its peer: each is an XOFF and an XON.
    pub pauses: f64,
}

impl Receiver {
    /// Cycles of a miss, without what is drawn.
    fn miss_cycles(&self) -> u64 {
        let mut bus = Pcie::new(&self.pcie, &self.clock);
        bus.read(Cycles(0), ENTRY_BYTES, 1).0
    }

    /// What receiving a pattern costs, whose messages miss so often.
    pub fn forecast(&self, pattern: &Pattern, misses: &Misses) -> Forecast {
        let ns = |duration: Duration| duration.as_ps() as f64 / 1e3;
        let cycle = ns(self.clock.period);
        let drawn = self.clock.cycles_in(self.jitter).0 as f64 / 2.0;
        let miss_ns = (self.miss_cycles() as f64 + drawn) * cycle;
        let packets = pattern.packets();
        let steps = (packets * latency::RESPOND_EVERY) as f64 * cycle;
        let message_ns = misses.stalls * miss_ns + steps;
        let message = u64::from(pattern.message);
        let stored = message + packets * HEADERS as u64 + RethRepr::LEN as u64;
        let line_ns = ns(self.rate.time_of(stored + packets * AROUND));
        let bps = |time: f64| message as f64 * 8e9 / time;
        let slower = message_ns.max(line_ns);
        let pauses = match message_ns > line_ns {
            true => {
                let frames = packets as f64;
                let frame = stored as f64 / frames;
                self.pauses(frame, line_ns / frames, message_ns / frames)
            }
            false => 0.0,
        };
        Forecast {
            miss_ns,
            message_ns,
            line_bps: bps(line_ns),
            capacity_bps: bps(message_ns),
            goodput_bps: bps(slower),
            stalled: misses.stalls * miss_ns / slower,
            pauses,
        }
    }

    /// How often a second it pauses a peer whose frames come every `line` ns and leave every `drain` ns, which is more.
    ///
    /// The buffer rises by what comes more than leaves until XOFF, and on for what is on its way; it falls to XON, and
    /// on until the peer's next frame. Frames count by their last bits, and the one that leaves does so half on average
    /// when XOFF is reached.
    fn pauses(&self, frame: f64, line: f64, drain: f64) -> f64 {
        let between = (self.xoff as f64 / frame).ceil() - (self.xon as f64 / frame).floor();
        let between = (between - 0.5).max(0.5);
        let ns = |duration: Duration| duration.as_ps() as f64 / 1e3;
        let stages = latency::SELECT_PFC + latency::PARSE + latency::CLASSIFY + latency::RESPOND;
        let reaction = ns(self.clock.period) * stages as f64
            + ns(self.rate.time_of(PAUSE))
            + 2.0 * ns(self.link)
            + ns(self.response);
        let behind = (reaction / line).ceil();
        let rise = 1.0 / (1.0 / line - 1.0 / drain);
        let period = between * (drain + rise) + behind * drain + reaction / line * rise;
        1e9 / period
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Order;
    use crate::nic::translation::PageSize;
    use crate::time::Rate;

    fn pattern(order: Order, bytes: u64, message: u32) -> Pattern {
        Pattern {
            qps: 16,
            working_set: WorkingSet {
                bytes,
                order,
                seed: 1,
            },
            message,
            mtu: 1_024,
        }
    }

    /// Drawn places of n pages hit a cache of c entries with c/n; a walk through more than fit misses each page.
    #[test]
    fn misses_are_those_of_the_textbook() {
        let config = TranslationConfig::default();
        for (pages, expected) in [(64u64, 0.0), (128, 0.0), (256, 0.5), (1_024, 0.875)] {
            let drawn = pattern(Order::Uniform, pages << 12, 1_024).misses(&config);
            assert!((drawn.misses - expected).abs() < 0.01, "{pages}: {drawn:?}");
            assert_eq!((drawn.lookups, drawn.misses), (1.0, drawn.stalls));
        }
        let walk = |qps, pages: u64| {
            let all = pattern(Order::Walk, pages << 12, 1_024);
            Pattern { qps, ..all }.misses(&config).misses
        };
        assert_eq!((walk(1, 2_048), walk(16, 128)), (0.0, 0.0));
        let one = walk(1, 4_096);
        assert!(
            (one - 0.25).abs() < 0.01,
            "{one}: one of four packets begins a page"
        );
        // Eight QPs at a time are at pages of the same set, which has four entries.
        assert_eq!(walk(16, 256), 1.0, "they walk in step");
        let large = TranslationConfig {
            page: PageSize::MOST,
            ..config
        };
        assert_eq!(
            pattern(Order::Uniform, 256 << 20, 1_024)
                .misses(&large)
                .misses,
            0.0
        );
    }

    #[test]
    fn packets_that_cross_pages_look_up_two() {
        let config = TranslationConfig::default();
        let crossing = Pattern {
            qps: 1,
            working_set: WorkingSet {
                bytes: 6_144,
                order: Order::Walk,
                seed: 1,
            },
            message: 3_072,
            mtu: 4_096,
        };
        // The first message is in one page, the second in two.
        assert_eq!(crossing.misses(&config).lookups, 1.5);
        assert_eq!((crossing.packets(), crossing.pages(&config)), (1, 2));
    }

    #[test]
    fn a_message_takes_its_steps_and_its_misses() {
        let receiver = Receiver {
            rate: LineRate::G40,
            clock: Clock::new(Clock::PERIOD_40G, Duration::ZERO),
            pcie: PcieConfig {
                latency: Duration::from_ns(512),
                rate: Some(Rate::from_gbps(64)),
            },
            jitter: Duration::ZERO,
            xoff: 32 << 10,
            xon: 30 << 10,
            response: Duration::ZERO,
            link: Duration::from_ns(200),
        };
        let all = Misses {
            lookups: 1.0,
            misses: 1.0,
            stalls: 1.0,
        };
        let none = Misses {
            misses: 0.0,
            stalls: 0.0,
            ..all
        };
        let pattern = pattern(Order::Uniform, 64 << 20, 1_024);
        // 200 cycles of a miss and 2 of a step, 5.12 ns each.
        let slow = receiver.forecast(&pattern, &all);
        assert_eq!((slow.miss_ns, slow.message_ns), (1_024.0, 1_034.24));
        assert!((slow.goodput_bps - 1_024.0 * 8e9 / 1_034.24).abs() < 1.0);
        assert!(slow.pauses > 1_000.0 && slow.stalled > 0.98, "{slow:?}");
        // 1,122 bytes of a WRITE of 1 KiB on the wire.
        let fast = receiver.forecast(&pattern, &none);
        assert!((fast.goodput_bps - 1_024.0 * 40e9 / 1_122.0).abs() < 1.0);
        assert_eq!((fast.pauses, fast.stalled), (0.0, 0.0));
    }
}
