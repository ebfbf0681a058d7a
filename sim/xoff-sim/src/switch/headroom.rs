//! The headroom that a link needs.

use serde::{Deserialize, Serialize};

use crate::kernel::frame::wire_bytes;
use crate::time::{ByteCount, Duration, Length, LineRate};

/// Size of a pause frame with FCS, which is the smallest frame size.
const PAUSE_FRAME_BYTES: u64 = 64;

/// The quantities that determine how many bytes arrive after a queue has asked for a pause, in the terms of IEEE
/// 802.1Q annex O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// Line rate, in both directions.
    pub rate: LineRate,
    /// The largest frame in either direction, FCS included.
    pub frame: ByteCount,
    /// Length of the cable.
    pub cable: Length,
    /// Delay of MAC and PHY at both ends together, for one direction:
    /// [`Link::interface`](crate::link::Link::interface).
    pub interface: Duration,
    /// Time from the pause frame's last bit at the peer until no further frame starts.
    pub response: Duration,
}

impl Headroom {
    /// The exact maximum, if frames count when their last bit arrives: B · (1 + ⌈(W + 84 + 2 · (cable + interface) +
    /// response) / W⌉). B is the frame's bytes and W its bytes on the wire; the other terms are in bytes of line
    /// time.
    ///
    /// In the worst case, the port has started to send a frame of the largest size (W) just before the limit is
    /// exceeded. The pause frame follows (84 bytes on the wire) and travels to the peer. The peer responds, but has
    /// just started another frame. Everything that is on its way then arrives. The additional frame is the one that
    /// exceeded the limit.
    pub fn exact(&self) -> ByteCount {
        let on_wire = wire_bytes(self.frame.get());
        let ps_on_wire = self.rate.time_of(on_wire).as_ps();
        let one_way = self.cable.delay() + self.interface;
        let round = self.rate.time_of(on_wire + wire_bytes(PAUSE_FRAME_BYTES))
            + one_way * 2
            + self.response;
        self.frame * (1 + round.as_ps().div_ceil(ps_on_wire))
    }

    /// The sum of annex O's terms as planners use it: two frames, a pause frame (84 bytes), twice cable and
    /// interface, response.
    ///
    /// Frames arrive as a whole. Where they count with their last bit, this sum can therefore fall short of
    /// [`exact`](Self::exact).
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
        // (1,106 + 84 + 2 · 7,500) / 1,106 = 14.6: 16 frames in total.
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
        // 24,576 bit times of interface delay and 118 quanta of response at 40 Gb/s: 30,952 bytes. With 7,500 bit
        // times: 26.7 KB.
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
