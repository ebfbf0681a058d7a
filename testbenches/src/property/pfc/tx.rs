//! What happens to `pfc_tx`: depths that cross thresholds, a wire that is not free, settings that change, silence.

use xoff_sim::protocol::Quanta;
use xoff_sim::protocol::pfc_tx::PfcTxIn;

use super::history::{Action, Step, Vocabulary, Wait, draw_wait, less_than};
use super::lockstep::Drives;
use super::rx::{classes, fewer_bits};
use super::words;
use crate::property::draw::Draw;

/// What can happen. Sets say for which classes.
#[derive(Debug, Clone, PartialEq)]
pub enum TxEvent {
    /// Bytes in the receive buffer.
    Depth(u8, u32),
    /// Threshold of XOFF.
    Xoff(u8, u32),
    /// Threshold of XON.
    Xon(u8, u32),
    /// Lossless classes.
    Classes(u8),
    /// Time that an XOFF asks for.
    Quanta(u16),
    /// Cycles after which an XOFF is repeated.
    Refresh(u32),
    /// From the watchdog.
    Silence(bool),
    /// Whether the wire takes a frame.
    Ready(bool),
}

/// Bits of depths and thresholds.
const DEPTH_BITS: u32 = 24;
/// Few values, so that depths and thresholds meet.
const DEPTHS: [u32; 10] = [0, 1, 2, 9, 10, 11, 20, 21, (1 << 24) - 2, (1 << 24) - 1];

fn bytes(draw: &mut Draw) -> u32 {
    match draw.once_in(16) {
        true => draw.up_to_bits(DEPTH_BITS) as u32,
        false => draw.one_of(&DEPTHS),
    }
}

fn refresh(draw: &mut Draw) -> u32 {
    match draw.below(8) {
        0 => draw.up_to_bits(32) as u32,
        1 => u32::MAX,
        2 => 0,
        _ => draw.one_of(&[1, 2, 3, 4, 10, 100, 1_000, 60_000]),
    }
}

impl Vocabulary for TxEvent {
    type Setup = ();
    const UNIT: &'static str = "pfc_tx";
    const EXAMPLE: &'static str = "depth 0x01 20";

    fn draw_setup(_: &mut Draw) {}

    fn opening(draw: &mut Draw) -> Vec<Step<Self>> {
        let mut opening = vec![
            Step::after(1, Self::Classes(classes(draw) | 1 << draw.below(8))),
            Step::with(Self::Xoff(0xFF, draw.one_of(&[20, 20, 20, 1, 0]))),
            Step::with(Self::Xon(0xFF, 10)),
            Step::with(Self::Quanta(draw.one_of(&[100, 1, 0xFFFF]))),
            Step::with(Self::Refresh(refresh(draw))),
            Step::with(Self::Ready(true)),
        ];
        if draw.once_in(4) {
            opening.push(Step::with(Self::Xon(classes(draw), bytes(draw))));
            opening.push(Step::with(Self::Xoff(classes(draw), bytes(draw))));
        }
        opening
    }

    fn draw(draw: &mut Draw, steps: &mut Vec<Step<Self>>) {
        let wait = draw_wait(draw);
        let event = match draw.below(32) {
            0 => Self::Xoff(classes(draw), bytes(draw)),
            1 => Self::Xon(classes(draw), bytes(draw)),
            2 => Self::Classes(classes(draw)),
            3 => Self::Quanta(draw.up_to_bits(16) as u16),
            4 => Self::Refresh(refresh(draw)),
            5..=6 => Self::Silence(true),
            7..=9 => Self::Silence(false),
            10..=12 => Self::Ready(false),
            13..=18 => Self::Ready(true),
            _ => Self::Depth(classes(draw), bytes(draw)),
        };
        steps.push(Step {
            wait,
            action: Action::Event(event),
        });
        // A wire that stays busy, or stays quiet, hides what comes after. Mostly it does not last.
        let lasts = draw.once_in(4);
        let over = match event_of(steps) {
            Some(Self::Ready(false)) if !lasts => Self::Ready(true),
            Some(Self::Silence(true)) if !lasts => Self::Silence(false),
            _ => return,
        };
        let cycles = match draw.once_in(16) {
            true => u64::from(draw.below(250)),
            false => 1 + u64::from(draw.below(4)),
        };
        steps.push(Step {
            wait: Wait::Cycles(cycles),
            action: Action::Event(over),
        });
    }

    fn simpler(&self) -> Vec<Self> {
        let sets = |set: u8| fewer_bits(set.into()).map(|set| set as u8);
        let less = |n: u32| less_than(n.into()).map(|less| less as u32);
        match *self {
            Self::Depth(set, n) => (sets(set).map(|set| Self::Depth(set, n)))
                .chain(less(n).map(|n| Self::Depth(set, n)))
                .collect(),
            Self::Xoff(set, n) => (sets(set).map(|set| Self::Xoff(set, n)))
                .chain(less(n).map(|n| Self::Xoff(set, n)))
                .collect(),
            Self::Xon(set, n) => (sets(set).map(|set| Self::Xon(set, n)))
                .chain(less(n).map(|n| Self::Xon(set, n)))
                .collect(),
            Self::Classes(set) => sets(set).map(Self::Classes).collect(),
            Self::Quanta(n) => less(n.into()).map(|n| Self::Quanta(n as u16)).collect(),
            Self::Refresh(n) => less(n).map(Self::Refresh).collect(),
            Self::Silence(_) | Self::Ready(_) => vec![],
        }
    }

    fn write_setup((): &()) -> String {
        String::new()
    }

    fn read_setup(words: &[&str]) -> Option<()> {
        words.is_empty().then_some(())
    }

    fn write(&self) -> String {
        match *self {
            Self::Depth(set, n) => format!("depth {set:#04x} {n}"),
            Self::Xoff(set, n) => format!("xoff {set:#04x} {n}"),
            Self::Xon(set, n) => format!("xon {set:#04x} {n}"),
            Self::Classes(set) => format!("classes {set:#04x}"),
            Self::Quanta(n) => format!("quanta {n}"),
            Self::Refresh(n) => format!("refresh {n}"),
            Self::Silence(on) => format!("silence {}", words::on_off(on)),
            Self::Ready(on) => format!("ready {}", words::on_off(on)),
        }
    }

    fn read(words: &mut dyn Iterator<Item = &str>) -> Option<Self> {
        let kind = words.next()?;
        let mut of_classes = |event: fn(u8, u32) -> Self| {
            let set = words::hex(words.next(), 8)? as u8;
            let bytes = words::number(words.next(), DEPTH_BITS)? as u32;
            Some(event(set, bytes))
        };
        match kind {
            "depth" => of_classes(Self::Depth),
            "xoff" => of_classes(Self::Xoff),
            "xon" => of_classes(Self::Xon),
            "classes" => Some(Self::Classes(words::hex(words.next(), 8)? as u8)),
            "quanta" => Some(Self::Quanta(words::number(words.next(), 16)? as u16)),
            "refresh" => Some(Self::Refresh(words::number(words.next(), 32)? as u32)),
            "silence" => Some(Self::Silence(words::switch(words.next())?)),
            "ready" => Some(Self::Ready(words::switch(words.next())?)),
            _ => None,
        }
    }
}

fn event_of(steps: &[Step<TxEvent>]) -> Option<TxEvent> {
    match &steps.last()?.action {
        Action::Event(event) => Some(event.clone()),
        _ => None,
    }
}

impl Drives<PfcTxIn> for TxEvent {
    fn apply(&self, inputs: &mut PfcTxIn) {
        let fill = |numbers: &mut [u32; 8], set: u8, number: u32| {
            for (p, place) in numbers.iter_mut().enumerate() {
                if set >> p & 1 != 0 {
                    *place = number;
                }
            }
        };
        match *self {
            Self::Depth(set, n) => fill(&mut inputs.depth, set, n),
            Self::Xoff(set, n) => fill(&mut inputs.xoff, set, n),
            Self::Xon(set, n) => fill(&mut inputs.xon, set, n),
            Self::Classes(set) => inputs.classes = set,
            Self::Quanta(n) => inputs.quanta = Quanta(n),
            Self::Refresh(n) => inputs.refresh = n,
            Self::Silence(on) => inputs.silence = on,
            Self::Ready(on) => inputs.frame_ready = on,
        }
    }

    fn quiet(_: &mut PfcTxIn) {}
}
