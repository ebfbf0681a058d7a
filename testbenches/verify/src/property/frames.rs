//! Axes of bins that frames have: what the parser takes, and what the builder makes.

use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::{IpKind, Reason, Verdict};

use super::bins::Value;
use crate::axis;

/// The opcode of a packet, of those that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation(pub Opcode);

impl Value for Operation {
    const AXIS: &'static str = "opcode";
    const COUNT: usize = Opcode::ALL.len();

    fn at(index: usize) -> Self {
        Self(Opcode::ALL[index])
    }
    fn index(self) -> usize {
        let place = Opcode::ALL.iter().position(|&opcode| opcode == self.0);
        place.expect("a packet has an opcode with a name")
    }
    fn name(self) -> &'static str {
        self.0.name().unwrap_or_default()
    }
}

macro_rules! coded {
    ($Type:ident, $axis:literal) => {
        impl Value for $Type {
            const AXIS: &'static str = $axis;
            const COUNT: usize = $Type::ALL.len();

            fn at(index: usize) -> Self {
                Self::ALL[index]
            }
            fn index(self) -> usize {
                let place = Self::ALL.iter().position(|&value| value == self);
                place.expect("it is one of all")
            }
            fn name(self) -> &'static str {
                $Type::name(self)
            }
        }
    };
}

coded!(Verdict, "verdict");
coded!(Reason, "reason");

axis! {
    /// Length of a payload in bytes, without its pad.
    pub enum Payload, "payload" {
        Empty "0",
        Short "1 to 31",
        Beats "32 to 255",
        Pmtu "a path MTU",
        Other "256 to 4,096, no path MTU",
        Jumbo "more than 4,096",
    }
}

impl Payload {
    /// The class of a length. Path MTUs are 256 to 4,096 by powers of two.
    pub fn of(bytes: usize) -> Self {
        match bytes {
            0 => Self::Empty,
            1..32 => Self::Short,
            32..256 => Self::Beats,
            256 | 512 | 1_024 | 2_048 | 4_096 => Self::Pmtu,
            257..4_096 => Self::Other,
            _ => Self::Jumbo,
        }
    }
}

axis! {
    /// What a RoCE packet lies in.
    pub enum Network, "network" { V4 "IPv4", V6 "IPv6", Grh "GRH" }
}

impl From<IpKind> for Network {
    fn from(kind: IpKind) -> Self {
        match kind {
            IpKind::V4 => Self::V4,
            IpKind::V6 => Self::V6,
            IpKind::Grh => Self::Grh,
        }
    }
}

axis! {
    /// How many VLAN tags a frame has.
    pub enum Tags, "tags" { None "no tag", One "one tag", Two "two tags" }
}

impl Tags {
    /// The class of a number of tags.
    pub fn of(count: usize) -> Self {
        match count {
            0 => Self::None,
            1 => Self::One,
            _ => Self::Two,
        }
    }
}

/// How many bytes of the last beat of 64 bytes a frame fills: 1 to 64. At 32 bytes a beat, n and n + 32 are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastBeat(u8);

impl LastBeat {
    /// The last beat of a frame of this many bytes, 1 or more.
    pub fn of(bytes: usize) -> Self {
        Self(((bytes.max(1) - 1) % 64) as u8)
    }

    /// The number of these bytes, 1 to 64.
    pub fn bytes(self) -> u8 {
        self.0 + 1
    }
}

impl Value for LastBeat {
    const AXIS: &'static str = "bytes of the last beat";
    const COUNT: usize = 64;

    fn at(index: usize) -> Self {
        Self(index as u8)
    }
    fn index(self) -> usize {
        self.0.into()
    }
    fn name(self) -> &'static str {
        const NAMES: [&str; 64] = [
            "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
            "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30",
            "31", "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44",
            "45", "46", "47", "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58",
            "59", "60", "61", "62", "63", "64",
        ];
        NAMES[self.index()]
    }
}

axis! {
    /// How many of the eight classes a set has.
    pub enum Classes, "classes" { None "none", One "one", Several "several", All "all eight" }
}

impl Classes {
    /// The size of a set, one bit per class.
    pub fn of(set: u8) -> Self {
        match set.count_ones() {
            0 => Self::None,
            1 => Self::One,
            8 => Self::All,
            _ => Self::Several,
        }
    }
}

axis! {
    /// What the timers of a PFC frame ask for that count.
    pub enum Asks, "asks for" {
        Nothing "no class",
        Stop "XOFF only",
        Go "XON only",
        Both "XOFF and XON",
    }
}

impl Asks {
    /// What a frame with these classes and timers asks for.
    pub fn of(classes: u8, timers: &[u16; 8]) -> Self {
        let some = |wanted: fn(u16) -> bool| {
            (0..8).any(|class| classes >> class & 1 != 0 && wanted(timers[class]))
        };
        match (some(|timer| timer > 0), some(|timer| timer == 0)) {
            (false, false) => Self::Nothing,
            (true, false) => Self::Stop,
            (false, true) => Self::Go,
            (true, true) => Self::Both,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_their_indexes() {
        fn both_ways<T: Value + PartialEq + std::fmt::Debug>() {
            for index in 0..T::COUNT {
                assert_eq!(T::at(index).index(), index);
            }
        }
        both_ways::<Operation>();
        both_ways::<Verdict>();
        both_ways::<Reason>();
        both_ways::<LastBeat>();
        assert_eq!(LastBeat::of(64).name(), "64");
        assert_eq!(LastBeat::of(65).name(), "1");
        assert_eq!(Operation(Opcode::CNP).name(), "CNP");
    }

    #[test]
    fn classes_of_numbers() {
        let payloads = [0, 31, 32, 255, 256, 4_095, 4_096, 4_097].map(Payload::of);
        use Payload::*;
        assert_eq!(
            payloads,
            [Empty, Short, Beats, Beats, Pmtu, Other, Pmtu, Jumbo]
        );
        let timers = [0, 0, 0, 5, 0, 0, 0, 0];
        assert_eq!(
            [0, 8, 7, 15].map(|set| Asks::of(set, &timers)),
            [Asks::Nothing, Asks::Stop, Asks::Go, Asks::Both]
        );
    }
}
