//! What happens to `pfc_rx`: frames, storms of them, switches of what is obeyed.

use xoff_sim::reference::pfc_rx::PfcRxIn;
use xoff_sim::wire::frame::ControlHead;
use xoff_sim::wire::{CONTROL_PAUSE, CONTROL_PFC};

use super::dice::Dice;
use super::history::{Step, Vocabulary, Wait, draw_wait};
use super::lockstep::Drives;
use super::words;

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

/// A time. Short ones end while the history goes on.
fn quanta(dice: &mut Dice) -> u16 {
    match dice.below(16) {
        0..=2 => 0,
        3..=9 => dice.below(5) as u16,
        10..=12 => dice.below(60) as u16,
        13 => u16::MAX,
        _ => dice.any() as u16,
    }
}

fn frame(dice: &mut Dice) -> ControlHead {
    let same = dice.once_in(2).then(|| quanta(dice));
    let timers = std::array::from_fn(|_| same.unwrap_or_else(|| quanta(dice)));
    if dice.once_in(4) {
        return ControlHead {
            opcode: CONTROL_PAUSE,
            // Not a PAUSE's, and not to be looked at.
            class_enable: dice.any() as u16,
            timers,
        };
    }
    let class_enable = match dice.below(8) {
        0..=3 => u16::from(dice.classes()),
        4 => 0xFF00,
        5 => 0xFFFF,
        _ => dice.any() as u16,
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

    fn draw_setup(dice: &mut Dice) -> Rate {
        dice.one_of(&[Rate::At40G, Rate::At100G])
    }

    fn opening(dice: &mut Dice) -> Vec<Step<Self>> {
        vec![
            Step::after(1, Self::Classes(dice.classes())),
            Step::with(Self::PauseEnable(!dice.once_in(4))),
        ]
    }

    fn draw(dice: &mut Dice, steps: &mut Vec<Step<Self>>) {
        let event = match dice.below(32) {
            0..=2 => Self::Classes(dice.classes()),
            3..=4 => Self::PauseEnable(dice.once_in(2)),
            5 => return storm(dice, steps),
            _ => Self::Frame(frame(dice)),
        };
        steps.push(Step {
            wait: draw_wait(dice),
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
fn storm(dice: &mut Dice, steps: &mut Vec<Step<RxEvent>>) {
    let mut frame = frame(dice);
    let stop = frame.timers;
    for i in 0..2 + dice.below(8) {
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
        for smaller in [0, 1, timer / 2, timer.saturating_sub(1)] {
            if smaller < timer {
                let mut frame = *frame;
                frame.timers[p] = smaller;
                simpler.push(frame);
            }
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
