//! The headroom that a link needs: how many bytes may still arrive after a queue has asked for a pause.

use serde::{Deserialize, Serialize};

use crate::frame::{GAP_BYTES, PREAMBLE_BYTES, wire_bytes};
use crate::time::{ByteCount, Duration, Length, LineRate};

/// Size of a pause frame with FCS, which is the smallest frame size.
pub(crate) const PAUSE_FRAME_BYTES: u64 = 64;

/// Size of the smallest frame with FCS (IEEE 802.3 §3.2.8).
const LEAST_FRAME_BYTES: u64 = 64;

/// Bytes of line time between the last bit of the frame that exceeds the limit and the last bit of the pause frame,
/// other than delays and the frame in between: preamble and pause frame, without the gap before the peer's next frame.
const PAUSE_AFTER_GAP: u64 = PREAMBLE_BYTES + PAUSE_FRAME_BYTES - GAP_BYTES;

/// Bytes around the payload of the longest RoCEv2 packet, WRITE ONLY with immediate data: Ethernet 14, IPv4 20, UDP
/// 8, BTH 12, RETH 16, ImmDt 4, ICRC 4, FCS 4.
const LONGEST_HEADERS: u64 = 82;

/// Size of the longest frame of a RoCEv2 flow with this path MTU, FCS included: over IPv4, without a VLAN tag.
pub const fn longest_frame(mtu: u64) -> u64 {
    // A payload that is no multiple of 4 is padded.
    mtu.next_multiple_of(4) + LONGEST_HEADERS
}

/// Time that the standards give a port to act on a pause, in quanta.
///
/// 10 Gb/s: 6,144 bit times, what the higher layer has in the budget of IEEE 802.1Q annex O (Linux, `ixgbe_type.h`).
/// Other rates: IEEE 802.3, 31B.3.7, as in the headroom scripts of SONiC (`sonic-swss`, `buffer_headroom_*.lua`), of
/// which the one for Mellanox has the number of 800 Gb/s.
pub const fn response_quanta(rate: LineRate) -> u16 {
    match rate {
        LineRate::G10 => 12,
        LineRate::G25 => 80,
        LineRate::G40 => 118,
        LineRate::G50 => 147,
        LineRate::G100 => 394,
        LineRate::G200 => 453,
        // 400 and 800 Gb/s.
        _ => 905,
    }
}

/// The longest time that a port may take to act on a pause: [`response_quanta`]. The headroom of a peer counts on it,
/// and the monitors judge by it.
pub fn longest_response(rate: LineRate) -> Duration {
    rate.time_of_quanta(response_quanta(rate))
}

/// The quantities that determine how many bytes arrive after a queue has asked for a pause, in the terms of IEEE
/// 802.1Q annex O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// Line rate, in both directions.
    pub rate: LineRate,
    /// The largest frame of the class, FCS included.
    pub frame: ByteCount,
    /// The largest frame of any class that may be on the wire before the pause frame, FCS included. Where TCP or jumbo
    /// frames share the link, it is larger than `frame`.
    pub other_frame: ByteCount,
    /// Length of the cable.
    pub cable: Length,
    /// Delay of MAC and PHY at both ends together, for one direction:
    /// [`Link::interface`](crate::link::Link::interface).
    pub interface: Duration,
    /// Time from the pause frame's last bit at the peer until no further frame starts.
    pub response: Duration,
}

/// The terms of IEEE 802.1Q annex O, in bytes: what may arrive after XOFF is due. Each delay is rounded up such that
/// the sum is rounded up only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The frame of any class that has just started, and for which the pause frame waits.
    pub other_frame: ByteCount,
    /// The pause frame with preamble and gap.
    pub pause_frame: ByteCount,
    /// The cable, there and back.
    pub cable: ByteCount,
    /// MACs and PHYs, there and back.
    pub interface: ByteCount,
    /// The response of the peer.
    pub response: ByteCount,
    /// The frame of the class that the peer has just started when it stops.
    pub frame: ByteCount,
}

impl Budget {
    /// The sum of all terms.
    pub fn sum(&self) -> ByteCount {
        let delays = self.cable + self.interface + self.response;
        self.other_frame + self.pause_frame + delays + self.frame
    }
}

impl Headroom {
    /// The exact form: B · (1 + ⌈(W' + 84 + 2 · (cable + interface) + response) / W⌉), if frames count when their last
    /// bit arrives. B is the bytes of the class's largest frame, W its bytes on the wire, and W' those of the largest
    /// frame of any class; the other terms are in bytes of line time.
    ///
    /// In the worst case, the port has started to send a frame of the largest size (W') just before the limit is
    /// exceeded. The pause frame follows (84 bytes on the wire) and travels to the peer. The peer responds, but has
    /// just started another frame. Everything that is on its way then arrives. The additional frame is the one that
    /// exceeded the limit.
    ///
    /// For frames of one size it is never below [`most_used`](Self::most_used), and above it, by one frame, only where
    /// the remainder of the division is 1 to 24 byte times. Frames of mixed sizes can use more:
    /// [`most_of_any_sizes`](Self::most_of_any_sizes).
    pub fn exact(&self) -> ByteCount {
        self.frame * (1 + self.frames_in(wire_bytes(PAUSE_FRAME_BYTES)))
    }

    /// The most that a class with frames of one size can use, if frames count when their last bit arrives.
    ///
    /// It is [`exact`](Self::exact) with 60 bytes for the pause frame: neither the gap behind it nor the gap before the
    /// peer's next frame delays anything.
    pub fn most_used(&self) -> ByteCount {
        self.frame * (1 + self.frames_in(PAUSE_AFTER_GAP))
    }

    /// The most that a class with frames of any sizes from 64 bytes to `frame` can use, if frames count when their last
    /// bit arrives.
    ///
    /// The frame that exceeds the limit is a longest one, and so is the last one, which starts just before the peer
    /// stops. Those in between fill the line until then to the byte: as few as possible, since each has 20 bytes on the
    /// wire that are not buffered. With frames of one size the last one starts up to a frame earlier, so that
    /// [`exact`](Self::exact) is up to a frame less. [`worst_case`](Self::worst_case) is 5 bytes and those 20 for each
    /// frame in between above it, or more where small frames do not fill the line.
    pub fn most_of_any_sizes(&self) -> ByteCount {
        let between = self.between();
        self.frame * 2 + ByteCount::new(between.iter().sum())
    }

    /// Sizes of the frames between the one that exceeds the limit and the last one, in the worst case.
    pub(super) fn between(&self) -> Vec<u64> {
        let byte = self.rate.byte_time().as_ps();
        let (longest, least) = (wire_bytes(self.frame.get()), wire_bytes(LEAST_FRAME_BYTES));
        // The last frame starts a byte time before the peer stops, or less.
        let fill = self.round(PAUSE_AFTER_GAP).as_ps().div_ceil(byte) - 1;
        let frames = fill / longest;
        let mut sizes = vec![longest; frames as usize];
        // One frame more fills the rest. Where that is less than the least frame, others give it what is missing.
        let mut rest = fill - frames * longest;
        let missing = least.saturating_sub(rest);
        let gives = (longest - least) * frames;
        // It has to bring more than its preamble and gap.
        if rest > wire_bytes(0) && missing <= gives {
            let mut missing = missing;
            rest += missing;
            for size in &mut sizes {
                let given = missing.min(longest - least);
                *size -= given;
                missing -= given;
            }
            sizes.push(rest);
        }
        sizes.iter().map(|size| size - wire_bytes(0)).collect()
    }

    /// Frames that the peer starts until it stops, when the pause takes `pause` bytes of line time.
    fn frames_in(&self, pause: u64) -> u64 {
        let on_wire = self.rate.time_of(wire_bytes(self.frame.get()));
        self.round(pause).as_ps().div_ceil(on_wire.as_ps())
    }

    /// Time from the last bit of the frame that exceeds the limit until the peer starts no further frame, seen at the
    /// peer, when the pause takes `pause` bytes of line time.
    fn round(&self, pause: u64) -> Duration {
        let before = self
            .rate
            .time_of(wire_bytes(self.other_frame.get()) + pause);
        let one_way = self.cable.delay() + self.interface;
        before + one_way * 2 + self.response
    }

    /// The terms of annex O.
    pub fn budget(&self) -> Budget {
        let cable = self.cable.delay() * 2;
        let interface = self.interface * 2;
        let bytes = |time| self.rate.bytes_in(time);
        let both = bytes(cable + interface);
        Budget {
            other_frame: self.other_frame,
            pause_frame: ByteCount::new(wire_bytes(PAUSE_FRAME_BYTES)),
            cable: ByteCount::new(bytes(cable)),
            interface: ByteCount::new(both - bytes(cable)),
            response: ByteCount::new(bytes(cable + interface + self.response) - both),
            frame: self.frame,
        }
    }

    /// The sum of annex O's terms as planners use it: two frames, a pause frame (84 bytes), twice cable and
    /// interface, response.
    ///
    /// The annex counts bits from when XOFF is due. Where frames count with their last bit, the one that exceeds the
    /// limit is charged to the headroom too, and this sum can fall short of [`exact`](Self::exact).
    pub fn annex_o(&self) -> ByteCount {
        self.budget().sum()
    }

    /// The sum of annex O's terms and the frame that exceeds the limit: never below [`exact`](Self::exact), and enough
    /// for frames of the class of any sizes up to `frame`, if frames count when their last bit arrives.
    pub fn worst_case(&self) -> ByteCount {
        self.annex_o() + self.frame
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Link of the tests: 1,086-byte frames both ways.
    fn link(rate: LineRate, metres: u64, interface: Duration, response: Duration) -> Headroom {
        Headroom {
            rate,
            frame: ByteCount::new(1086),
            other_frame: ByteCount::new(1086),
            cable: Length::from_m(metres),
            interface,
            response,
        }
    }

    #[test]
    fn forty_gigabits_300_metres() {
        // (1,106 + 84 + 2 · 7,500) / 1,106 = 14.6: 16 frames in total.
        let headroom = link(LineRate::G40, 300, Duration::ZERO, Duration::ZERO);
        assert_eq!(headroom.exact(), ByteCount::new(16 * 1086));
        // Behind a jumbo frame: (9,236 + 84 + 2 · 7,500) / 1,106 = 21.99.
        let behind_jumbo = Headroom {
            other_frame: ByteCount::new(9216),
            ..headroom
        };
        assert_eq!(behind_jumbo.exact(), ByteCount::new(23 * 1086));
    }

    #[test]
    fn annex_o_with_a_vendors_interfaces() {
        // 24,576 bit times of interface delay and 118 quanta of response at 40 Gb/s: 30,952 bytes. With 7,500 bit
        // times: 26.7 KB.
        let mut headroom = link(
            LineRate::G40,
            300,
            Duration::from_ps(24_576 * 25),
            LineRate::G40.time_of_quanta(118),
        );
        let budget = Budget {
            other_frame: ByteCount::new(1086),
            pause_frame: ByteCount::new(84),
            cable: ByteCount::new(15_000),
            interface: ByteCount::new(6_144),
            response: ByteCount::new(7_552),
            frame: ByteCount::new(1086),
        };
        assert_eq!(headroom.budget(), budget);
        assert_eq!(headroom.annex_o(), ByteCount::new(30_952));
        assert_eq!(headroom.exact(), ByteCount::new(29 * 1086));
        assert_eq!(headroom.worst_case(), ByteCount::new(30_952 + 1086));
        // 1,106 + 60 + 28,696 bytes are 27 frames to the byte; the exact form has 24 more.
        assert_eq!(headroom.most_used(), ByteCount::new(28 * 1086));
        headroom.interface = Duration::from_ps(7_500 * 25);
        assert_eq!(headroom.annex_o(), ByteCount::new(26_683));
    }

    #[test]
    fn the_longest_frames_of_an_mtu() {
        // Ethernet, IPv4, UDP, BTH, RETH, immediate, payload, ICRC, FCS.
        assert_eq!(
            longest_frame(1024),
            14 + 20 + 8 + 12 + 16 + 4 + 1024 + 4 + 4
        );
        assert_eq!(longest_frame(1021), longest_frame(1024));
    }

    /// Counts the bytes that a queue takes in from the frame on that exceeds its limit, packet by packet.
    ///
    /// The peer sends frames of the sizes that `frames` returns without a gap. `phase` is how long ago the port has
    /// started a frame of the other direction, which the pause frame follows.
    fn used(link: &Headroom, phase: Duration, mut frames: impl FnMut() -> u64) -> u64 {
        let time = |bytes| link.rate.time_of(bytes);
        let one_way = link.cable.delay() + link.interface;
        let exceeds = frames();
        let now = time(PREAMBLE_BYTES + exceeds) + one_way;
        let pause_start = now + time(wire_bytes(link.other_frame.get())) - phase;
        let pause_end = pause_start + time(PREAMBLE_BYTES + PAUSE_FRAME_BYTES);
        let stop = pause_end + one_way + link.response;
        let (mut start, mut bytes) = (time(wire_bytes(exceeds)), exceeds);
        while start < stop {
            let frame = frames();
            bytes += frame;
            start += time(wire_bytes(frame));
        }
        bytes
    }

    /// The most over all phases, a byte time apart.
    fn most(link: &Headroom) -> u64 {
        let phases = 0..wire_bytes(link.other_frame.get());
        let phases = phases.map(|byte| link.rate.time_of(byte));
        let used = phases.map(|phase| used(link, phase, || link.frame.get()));
        used.max().unwrap()
    }

    #[test]
    fn the_exact_form_is_the_most_over_all_phases() {
        let vendor = Duration::from_ps(614_400);
        for rate in [LineRate::G10, LineRate::G40, LineRate::G100] {
            for metres in [2, 30, 300] {
                for (interface, response) in [
                    (Duration::from_ns(100), Duration::ZERO),
                    // 24,576 bit times at 40 Gb/s, and 6,144 bit times at 10 Gb/s.
                    (vendor, vendor),
                ] {
                    let link = link(rate, metres, interface, response);
                    assert_eq!(most(&link), link.exact().get(), "{link:?}");
                }
            }
        }
    }

    fn links() -> impl Strategy<Value = Headroom> {
        const RATES: [LineRate; 5] = [
            LineRate::G10,
            LineRate::G25,
            LineRate::G40,
            LineRate::G100,
            LineRate::G400,
        ];
        let frames = (64..=4200u64, 0..=6000u64);
        let delays = (0..=1_000_000u64, 0..=2_000_000u64, 0..=2_000_000u64);
        (prop::sample::select(&RATES), frames, delays).prop_map(
            |(rate, (frame, longer), (mm, interface, response))| Headroom {
                rate,
                frame: ByteCount::new(frame),
                other_frame: ByteCount::new(frame + longer),
                cable: Length::from_mm(mm),
                interface: Duration::from_ps(interface),
                response: Duration::from_ps(response),
            },
        )
    }

    /// By hand, with 1,106 + 60 + 15,000 = 16,166 bytes until the peer stops: 14 frames of 1,106 bytes on the wire and
    /// one of 681, of which 661 are buffered, end a byte before, and a last one starts.
    #[test]
    fn a_small_frame_lets_a_large_one_start_late() {
        let link = link(LineRate::G40, 300, Duration::ZERO, Duration::ZERO);
        let sizes = [vec![1086; 14], vec![661]].concat();
        assert_eq!(link.between(), sizes);
        assert_eq!(link.most_of_any_sizes().get(), 16 * 1086 + 661);
        assert_eq!(link.exact().get(), 16 * 1086);
        assert_eq!(link.worst_case().get(), 16 * 1086 + 661 + 5 + 15 * 20);
        // What is left behind 15 frames is not worth another up to 20 bytes; from 21 on it is, and another frame is
        // shorter so that it has 84.
        for (rest, frames) in [(20, 15), (21, 16), (84, 16)] {
            let longer = Headroom {
                interface: LineRate::G40.time_of(1106 - 681 + rest) / 2,
                ..link
            };
            assert_eq!(longer.between().len(), frames, "{rest}");
        }
    }

    proptest! {
        /// Frames as [`Headroom::between`] says use just that much.
        #[test]
        fn the_most_of_any_sizes_is_reached(link in links()) {
            let mut sizes = vec![link.frame.get()];
            sizes.extend(link.between());
            let mut sizes = sizes.into_iter().chain(std::iter::repeat(link.frame.get()));
            let bytes = used(&link, Duration::ZERO, || sizes.next().unwrap());
            prop_assert_eq!(bytes, link.most_of_any_sizes().get());
            prop_assert!(link.most_used() <= link.most_of_any_sizes());
            prop_assert!(link.most_of_any_sizes() <= link.worst_case());
        }

        #[test]
        fn a_count_of_packets_uses_no_more_and_no_less(link in links()) {
            prop_assert_eq!(used(&link, Duration::ZERO, || link.frame.get()), link.most_used().get());
            let more = link.exact() - link.most_used();
            prop_assert!(more == ByteCount::ZERO || more == link.frame);
            prop_assert!(link.exact() <= link.worst_case());
            prop_assert_eq!(link.budget().sum(), link.annex_o());
        }

        #[test]
        fn frames_of_any_sizes_use_no_more(
            link in links(),
            sizes in prop::collection::vec(any::<u64>(), 1..40),
        ) {
            let mut sizes = sizes.iter().cycle();
            let mut first = true;
            let bytes = used(&link, Duration::ZERO, || {
                // The frame that exceeds the limit is a large one, as are most of the others.
                let size = *sizes.next().unwrap();
                let large = std::mem::take(&mut first) || size % 4 > 0;
                if large { link.frame.get() } else { 64 + size % (link.frame.get() - 63) }
            });
            prop_assert!(bytes <= link.most_of_any_sizes().get());
        }
    }
}
