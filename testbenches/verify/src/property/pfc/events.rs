//! Events of the pause units.

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::Quanta;
use xoff_sim::protocol::pause_watchdog::WatchdogIn;
use xoff_sim::protocol::pfc_rx::PfcRxIn;
use xoff_sim::protocol::pfc_tx::PfcTxIn;
use xoff_sim::wire::frame::ControlHead;

use super::pair::Wire;
use crate::property::history::{Part, fewer_bits, less_than};

/// Last cycle in which an event may come: `now_i` has wrapped four times.
pub const LAST_EVENT: u64 = 1 << 50;
/// Width in bits of depths and thresholds of `pfc_tx`.
pub const DEPTH_BITS: u32 = 24;
/// Width in bits of the thresholds of `pause_watchdog`.
pub const THRESHOLD_BITS: u32 = 40;

/// The unit under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bench {
    /// `pfc_rx` at 40 Gb/s.
    Rx40,
    /// `pfc_rx` at 100 Gb/s.
    Rx100,
    /// `pfc_tx`.
    Tx,
    /// `pause_watchdog`.
    Watchdog,
    /// A `pfc_tx` and the `pfc_rx` at the other end of a wire.
    Pair(Wire),
}

/// Settings of a whole case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The unit under test.
    pub bench: Bench,
    /// The cycle of the first reset.
    pub start: u64,
    /// Cycles at either end of a jump that a second instance evaluates one by one, to check that the jump changes
    /// nothing. 0: no second instance.
    pub walk: u16,
}

impl Part for Head {
    fn simpler(&self) -> Vec<Self> {
        match self.start {
            0 => vec![],
            _ => vec![Self {
                start: 0,
                ..self.clone()
            }],
        }
    }

    fn valid(&self) -> Result<(), String> {
        if self.start > LAST_EVENT {
            return Err(format!(
                "start {}; expected at most {LAST_EVENT}",
                self.start
            ));
        }
        match &self.bench {
            Bench::Pair(wire) => wire.valid(),
            _ => Ok(()),
        }
    }
}

/// An event, in the cycle in which the last wait ended. Events of other units than the bench's do nothing. Sets are
/// sets of classes, one bit per class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Wait this many cycles. Without an event after it, the outputs are checked in that cycle.
    Wait(u64),
    /// Wait until this many cycles after `wake_o`, taken once the unit is idle; until the next cycle if that has passed
    /// or there is none.
    Wake(i8),
    /// A reset in this cycle.
    Reset,
    /// `pfc_rx`: a frame, for one cycle.
    Frame(ControlHead),
    /// `pfc_rx`, `pfc_tx`: classes that obey PFC, lossless classes.
    Classes(u8),
    /// `pfc_rx`: whether PAUSE is obeyed.
    PauseEnable(bool),
    /// `pfc_rx`: whether the link is down.
    LinkDown(bool),
    /// `pfc_tx`: bytes in the receive buffer.
    Depth(u8, u32),
    /// `pfc_tx`: threshold of XOFF.
    Xoff(u8, u32),
    /// `pfc_tx`: threshold of XON.
    Xon(u8, u32),
    /// `pfc_tx`: time that an XOFF asks for.
    Quanta(u16),
    /// `pfc_tx`: cycles after which an XOFF is repeated.
    Refresh(u32),
    /// `pfc_tx`: silence from the watchdog.
    Silence(bool),
    /// `pfc_tx`: whether the wire takes a frame.
    Ready(bool),
    /// `pause_watchdog`: whether the NIC holds its peer in XOFF.
    Pausing(bool),
    /// `pause_watchdog`: whether a packet leaves the receive buffer, in every cycle from this one on.
    Progress(bool),
    /// `pause_watchdog`: cycles until the bark.
    Bark(u64),
    /// `pause_watchdog`: cycles until the bite.
    Bite(u64),
    /// `pause_watchdog`: a re-arm in this cycle.
    Rearm,
    /// `pause_watchdog`: whether progress re-arms.
    AutoRearm(bool),
}

impl Event {
    /// Returns whether the event begins another cycle.
    pub fn waits(&self) -> bool {
        matches!(self, Self::Wait(_) | Self::Wake(_))
    }
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let sets = |set: u8| fewer_bits(set.into()).map(|set| set as u8);
        let less = |n: u32| less_than(n.into()).map(|less| less as u32);
        let of_classes = |event: fn(u8, u32) -> Self, set: u8, n: u32| {
            (sets(set).map(|set| event(set, n)))
                .chain(less(n).map(|n| event(set, n)))
                .collect()
        };
        match *self {
            Self::Wait(0 | 1) => vec![],
            Self::Wait(n) => less_than(n - 1).map(|n| Self::Wait(n + 1)).collect(),
            Self::Wake(_) => vec![Self::Wait(1)],
            Self::Frame(frame) => simpler_frames(&frame).map(Self::Frame).collect(),
            Self::Classes(set) => sets(set).map(Self::Classes).collect(),
            Self::Depth(set, n) => of_classes(Self::Depth, set, n),
            Self::Xoff(set, n) => of_classes(Self::Xoff, set, n),
            Self::Xon(set, n) => of_classes(Self::Xon, set, n),
            Self::Quanta(n) => less(n.into()).map(|n| Self::Quanta(n as u16)).collect(),
            Self::Refresh(n) => less(n).map(Self::Refresh).collect(),
            Self::Bark(n) => less_than(n).map(Self::Bark).collect(),
            Self::Bite(n) => less_than(n).map(Self::Bite).collect(),
            _ => vec![],
        }
    }

    fn valid(&self) -> Result<(), String> {
        let (n, bits) = match *self {
            Self::Depth(_, n) | Self::Xoff(_, n) | Self::Xon(_, n) => (n.into(), DEPTH_BITS),
            Self::Bark(n) | Self::Bite(n) => (n, THRESHOLD_BITS),
            _ => return Ok(()),
        };
        match n >> bits {
            0 => Ok(()),
            _ => Err(format!("{n}; expected a number below 2^{bits}")),
        }
    }
}

fn simpler_frames(frame: &ControlHead) -> impl Iterator<Item = ControlHead> {
    let frame = *frame;
    let classes = fewer_bits(frame.class_enable).map(move |class_enable| ControlHead {
        class_enable,
        ..frame
    });
    let timers = (0..8).flat_map(move |p| {
        less_than(frame.timers[p].into()).map(move |less| {
            let mut simpler = frame;
            simpler.timers[p] = less as u16;
            simpler
        })
    });
    classes.chain(timers)
}

/// Applies events to the inputs of a unit.
pub trait Driven {
    /// Applies an event, from this cycle on.
    fn apply(&mut self, event: &Event);
    /// Ends inputs that last one cycle.
    fn quiet(&mut self) {}
}

impl Driven for PfcRxIn {
    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Frame(frame) => self.frame = Some(frame),
            Event::Classes(set) => self.pfc_classes = set,
            Event::PauseEnable(on) => self.pause_enable = on,
            Event::LinkDown(down) => self.link_down = down,
            _ => {}
        }
    }

    fn quiet(&mut self) {
        self.frame = None;
    }
}

impl Driven for PfcTxIn {
    fn apply(&mut self, event: &Event) {
        let fill = |numbers: &mut [u32; 8], set: u8, number: u32| {
            for (p, place) in numbers.iter_mut().enumerate() {
                if set >> p & 1 != 0 {
                    *place = number;
                }
            }
        };
        match *event {
            Event::Depth(set, n) => fill(&mut self.depth, set, n),
            Event::Xoff(set, n) => fill(&mut self.xoff, set, n),
            Event::Xon(set, n) => fill(&mut self.xon, set, n),
            Event::Classes(set) => self.classes = set,
            Event::Quanta(n) => self.quanta = Quanta(n),
            Event::Refresh(n) => self.refresh = n,
            Event::Silence(on) => self.silence = on,
            Event::Ready(on) => self.frame_ready = on,
            _ => {}
        }
    }
}

impl Driven for WatchdogIn {
    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Pausing(on) => self.pausing = on,
            Event::Progress(on) => self.progress = on,
            Event::Bark(n) => self.bark = n,
            Event::Bite(n) => self.bite = n,
            Event::Rearm => self.rearm = true,
            Event::AutoRearm(on) => self.auto_rearm = on,
            _ => {}
        }
    }

    fn quiet(&mut self) {
        self.rearm = false;
    }
}
