//! How much headroom a link needs.

use serde::{Deserialize, Serialize};

use crate::kernel::frame::wire_bytes;
use crate::time::{ByteCount, Duration, Length, LineRate};

/// Size of a pause frame with FCS: the least there is.
const PAUSE_FRAME_BYTES: u64 = 64;

/// What decides how many bytes come in after a queue has asked for a pause (the terms of IEEE 802.1Q annex O).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// Both ways.
    pub rate: LineRate,
    /// The largest frame, both ways, FCS included.
    pub frame: ByteCount,
    /// The cable.
    pub cable: Length,
    /// MAC and PHY at both ends together, one way: [`Link::interface`](crate::link::Link::interface).
    pub interface: Duration,
    /// From the pause frame's last bit at the peer to where no further frame starts.
    pub response: Duration,
}

impl Headroom {
    /// The exact maximum where frames count when their last bit arrives: B · (1 + ⌈(W + 84 + 2 · (cable + interface) + response) / W⌉), B being the frame's bytes, W its bytes on the
    /// wire, and the rest in bytes of time.
    ///
    /// Just before the limit is passed the port has started a frame of the largest size (W); the pause frame follows (84 bytes on the wire), and travels; the peer answers and has just
    /// started a frame; all that is under way arrives. The frame that passed the limit is the one more.
    pub fn exact(&self) -> ByteCount {
        let on_wire = wire_bytes(self.frame.get());
        let ps_on_wire = self.rate.time_of(on_wire).as_ps();
        let one_way = self.cable.delay() + self.interface;
        let round = self.rate.time_of(on_wire + wire_bytes(PAUSE_FRAME_BYTES))
            + one_way * 2
            + self.response;
        self.frame * (1 + round.as_ps().div_ceil(ps_on_wire))
    }

    /// The sum of annex O's terms as planners take it: two frames, a pause frame (84 bytes), twice cable and interface, response. Frames do not come in parts, so where they count
    /// whole, at their last bit, it can fall short of [`exact`](Self::exact).
    pub fn annex_o(&self) -> ByteCount {
        let one_way = self.cable.delay() + self.interface;
        let under_way = self.rate.bytes_in(one_way * 2 + self.response);
        self.frame * 2 + ByteCount::new(wire_bytes(PAUSE_FRAME_BYTES) + under_way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_gigabits_300_metres() {
        // (1,106 + 84 + 2 · 7,500) / 1,106 = 14.6: 16 frames in all.
        let headroom = Headroom {
            rate: LineRate::G40,
            frame: ByteCount::new(1086),
            cable: Length::from_m(300),
            interface: Duration::ZERO,
            response: Duration::ZERO,
        };
        assert_eq!(headroom.exact(), ByteCount::new(16 * 1086));
    }

    #[test]
    fn annex_o_with_a_vendors_interfaces() {
        // 24,576 bit times of interface and 118 quanta of response at 40 Gb/s: 30,952 bytes. With 7,500 bit times: 26.7 KB.
        let mut headroom = Headroom {
            rate: LineRate::G40,
            frame: ByteCount::new(1086),
            cable: Length::from_m(300),
            interface: Duration::from_ps(24_576 * 25),
            response: LineRate::G40.time_of_quanta(118),
        };
        assert_eq!(headroom.annex_o(), ByteCount::new(30_952));
        assert_eq!(headroom.exact(), ByteCount::new(29 * 1086));
        headroom.interface = Duration::from_ps(7_500 * 25);
        assert_eq!(headroom.annex_o(), ByteCount::new(26_683));
    }
}
