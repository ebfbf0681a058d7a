//! What happens to `pfc_rx`: frames, storms of them, switches of what is obeyed.

use xoff_sim::protocol::pfc_rx::PfcRxIn;
use xoff_sim::wire::frame::ControlHead;
use xoff_sim::wire::{CONTROL_PAUSE, CONTROL_PFC};

use super::history::{Step, Vocabulary, Wait, draw_wait, less_than};
use super::lockstep::Drives;
use super::words;
use crate::property::draw::Draw;

/// Which of the two models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// 40 Gb/s.
    At40G,
    /// 100 Gb/s.
    At100G,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
pub enum RxEvent {
    /// A frame, for one cycle.
    Frame(ControlHead),
    /// Classes that obey PFC.
    Classes(u8),
    /// Whether PAUSE is obeyed.
    PauseEnable(bool),
}

/// A set of classes: all, one, none or any.
pub fn classes(draw: &mut Draw) -> u8 {
    match draw.below(8) {
        0..=2 => 0xFF,
        3..=4 => 1 << draw.below(8),
        5 => 0,
        _ => draw.bits() as u8,
    }
}

/// A time. Short ones end while the history goes on.
fn quanta(draw: &mut Draw) -> u16 {
    match draw.below(16) {
        0..=2 => 0,
        3..=9 => draw.below(5) as u16,
        10..=12 => draw.below(60) as u16,
        13 => u16::MAX,
        // One bit alone makes it a time.
        14 => 1 << draw.below(16),
        _ => draw.bits() as u16,
    }
}

fn frame(draw: &mut Draw) -> ControlHead {
    let same = draw.once_in(2).then(|| quanta(draw));
    let timers = std::array::from_fn(|_| same.unwrap_or_else(|| quanta(draw)));
    if draw.once_in(4) {
        return ControlHead {
            opcode: CONTROL_PAUSE,
            // Not a PAUSE's, and not to be looked at.
            class_enable: draw.bits() as u16,
            timers,
        };
    }
    let class_enable = match draw.below(8) {
        0..=3 => u16::from(classes(draw)),
        4 => 0xFF00,
        5 => 0xFFFF,
        _ => draw.bits() as u16,
    };
    ControlHead {
        opcode: CONTROL_PFC,
        class_enable,
        timers,
    }
}

impl Vocabulary for RxEvent {
    type Setup = Rate;
    const UNIT: &'static str = "pfc_rx";
    const EXAMPLE: &'static str = "frame pfc enable=0x00ff quanta=[1,0,0,0,0,0,0,65535]";

    fn draw_setup(draw: &mut Draw) -> Rate {
        draw.one_of(&[Rate::At40G, Rate::At100G])
    }

    fn opening(draw: &mut Draw) -> Vec<Step<Self>> {
        vec![
            Step::after(1, Self::Classes(classes(draw))),
            Step::with(Self::PauseEnable(!draw.once_in(4))),
        ]
    }

    fn draw(draw: &mut Draw, steps: &mut Vec<Step<Self>>) {
        let event = match draw.below(32) {
            0..=2 => Self::Classes(classes(draw)),
            3..=4 => Self::PauseEnable(draw.once_in(2)),
            5 => return storm(draw, steps),
            _ => Self::Frame(frame(draw)),
        };
        steps.push(Step {
            wait: draw_wait(draw),
            action: super::history::Action::Event(event),
        });
    }

    fn simpler(&self) -> Vec<Self> {
        match self {
            Self::Frame(frame) => simpler_frames(frame).into_iter().map(Self::Frame).collect(),
            &Self::Classes(set) => fewer_bits(set.into())
                .map(|set| Self::Classes(set as u8))
                .collect(),
            Self::PauseEnable(_) => vec![],
        }
    }

    fn write_setup(rate: &Rate) -> String {
        match rate {
            Rate::At40G => "40G".to_owned(),
            Rate::At100G => "100G".to_owned(),
        }
    }

    fn read_setup(words: &[&str]) -> Option<Rate> {
        match words {
            ["40G"] => Some(Rate::At40G),
            ["100G"] => Some(Rate::At100G),
            _ => None,
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Frame(frame) => format!(
                "frame {} enable={:#06x} quanta={}",
                if frame.opcode == CONTROL_PFC {
                    "pfc"
                } else {
                    "pause"
                },
                frame.class_enable,
                words::write_list(&frame.timers)
            ),
            Self::Classes(set) => format!("classes {set:#04x}"),
            Self::PauseEnable(on) => format!("pause-enable {}", words::on_off(*on)),
        }
    }

    fn read(words: &mut dyn Iterator<Item = &str>) -> Option<Self> {
        Some(match words.next()? {
            "frame" => Self::Frame(ControlHead {
                opcode: match words.next()? {
                    "pfc" => CONTROL_PFC,
                    "pause" => CONTROL_PAUSE,
                    _ => return None,
                },
                class_enable: words::hex(words::value(words.next(), "enable"), 16)? as u16,
                timers: words::list(words::value(words.next(), "quanta"))?
                    .try_into()
                    .ok()?,
            }),
            "classes" => Self::Classes(words::hex(words.next(), 8)? as u8),
            "pause-enable" => Self::PauseEnable(words::switch(words.next())?),
            _ => return None,
        })
    }
}

/// Stop and go in adjacent cycles, over and over.
fn storm(draw: &mut Draw, steps: &mut Vec<Step<RxEvent>>) {
    let mut frame = frame(draw);
    let stop = frame.timers;
    for i in 0..2 + draw.below(8) {
        frame.timers = if i % 2 == 0 { stop } else { [0; 8] };
        steps.push(Step {
            wait: Wait::Cycles(1),
            action: super::history::Action::Event(RxEvent::Frame(frame)),
        });
    }
}

fn simpler_frames(frame: &ControlHead) -> Vec<ControlHead> {
    let mut simpler: Vec<_> = fewer_bits(frame.class_enable)
        .map(|class_enable| ControlHead {
            class_enable,
            ..*frame
        })
        .collect();
    for (p, &timer) in frame.timers.iter().enumerate() {
        for less in less_than(timer.into()) {
            let mut frame = *frame;
            frame.timers[p] = less as u16;
            simpler.push(frame);
        }
    }
    simpler
}

/// None of the bits, then all but one.
pub fn fewer_bits(set: u16) -> impl Iterator<Item = u16> {
    std::iter::once(0)
        .chain((0..16).map(move |bit| set & !(1 << bit)))
        .filter(move |&fewer| fewer != set)
}

impl Drives<PfcRxIn> for RxEvent {
    fn apply(&self, inputs: &mut PfcRxIn) {
        match *self {
            Self::Frame(frame) => inputs.frame = Some(frame),
            Self::Classes(set) => inputs.pfc_classes = set,
            Self::PauseEnable(on) => inputs.pause_enable = on,
        }
    }

    fn quiet(inputs: &mut PfcRxIn) {
        inputs.frame = None;
    }
}
