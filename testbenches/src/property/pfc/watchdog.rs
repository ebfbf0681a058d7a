//! What happens to `pause_watchdog`: stalls of any length against any thresholds, re-arms at any time.

use xoff_sim::protocol::pause_watchdog::WatchdogIn;

use super::history::{Action, Step, Vocabulary, Wait, draw_wait, less_than};
use super::lockstep::Drives;
use super::words;
use crate::property::draw::Draw;

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchdogEvent {
    /// Whether the NIC holds its peer in XOFF.
    Pausing(bool),
    /// Whether a packet leaves the receive buffer, in every cycle from this one on.
    Progress(bool),
    /// Cycles until the bark.
    Bark(u64),
    /// Cycles until the bite.
    Bite(u64),
    /// A re-arm in this cycle.
    Rearm,
    /// Whether progress re-arms.
    AutoRearm(bool),
}

/// Bits of the thresholds.
const THRESHOLD_BITS: u32 = 40;

fn threshold(draw: &mut Draw) -> u64 {
    match draw.below(16) {
        0 => draw.up_to_bits(THRESHOLD_BITS),
        1 => (1 << THRESHOLD_BITS) - 1,
        2 => 10_000,
        // One bit alone makes it a threshold.
        3 => 1 << draw.below(THRESHOLD_BITS),
        _ => u64::from(draw.one_of(&[0u32, 1, 1, 2, 2, 3, 4, 5, 8])),
    }
}

impl Vocabulary for WatchdogEvent {
    type Setup = ();
    const UNIT: &'static str = "pause_watchdog";
    const EXAMPLE: &'static str = "bark 2";

    fn draw_setup(_: &mut Draw) {}

    fn opening(draw: &mut Draw) -> Vec<Step<Self>> {
        vec![
            Step::after(1, Self::Bark(threshold(draw))),
            Step::with(Self::Bite(threshold(draw))),
            Step::with(Self::AutoRearm(draw.once_in(2))),
            Step::with(Self::Pausing(true)),
        ]
    }

    fn draw(draw: &mut Draw, steps: &mut Vec<Step<Self>>) {
        let event = match draw.below(32) {
            0..=3 => Self::Bark(threshold(draw)),
            4..=7 => Self::Bite(threshold(draw)),
            8 => Self::AutoRearm(draw.once_in(2)),
            9..=11 => Self::Pausing(false),
            12..=15 => Self::Pausing(true),
            16..=21 => Self::Progress(true),
            _ => Self::Rearm,
        };
        let wait = match event {
            // A stall has to last if it is to come to something.
            Self::Progress(true) | Self::Pausing(false) if !draw.once_in(3) => {
                Wait::Wake(draw.one_of(&[-1, 0, 0, 1]))
            }
            Self::Rearm if draw.once_in(2) => Wait::Wake(draw.one_of(&[-1, 0, 0, 1])),
            _ => draw_wait(draw),
        };
        let over = match event {
            Self::Progress(true) => Some(Self::Progress(false)),
            Self::Pausing(false) => Some(Self::Pausing(true)),
            _ => None,
        };
        steps.push(Step {
            wait,
            action: Action::Event(event),
        });
        // Mostly for a cycle: a NIC that moves, or does not pause, has no stall.
        if let Some(over) = over
            && !draw.once_in(4)
        {
            steps.push(Step::after(1, over));
        }
    }

    fn simpler(&self) -> Vec<Self> {
        match *self {
            Self::Bark(n) => less_than(n).map(Self::Bark).collect(),
            Self::Bite(n) => less_than(n).map(Self::Bite).collect(),
            _ => vec![],
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
            Self::Pausing(on) => format!("pausing {}", words::on_off(on)),
            Self::Progress(on) => format!("progress {}", words::on_off(on)),
            Self::Bark(n) => format!("bark {n}"),
            Self::Bite(n) => format!("bite {n}"),
            Self::Rearm => "rearm".to_owned(),
            Self::AutoRearm(on) => format!("auto-rearm {}", words::on_off(on)),
        }
    }

    fn read(words: &mut dyn Iterator<Item = &str>) -> Option<Self> {
        Some(match words.next()? {
            "pausing" => Self::Pausing(words::switch(words.next())?),
            "progress" => Self::Progress(words::switch(words.next())?),
            "bark" => Self::Bark(words::number(words.next(), THRESHOLD_BITS)?),
            "bite" => Self::Bite(words::number(words.next(), THRESHOLD_BITS)?),
            "rearm" => Self::Rearm,
            "auto-rearm" => Self::AutoRearm(words::switch(words.next())?),
            _ => return None,
        })
    }
}

impl Drives<WatchdogIn> for WatchdogEvent {
    fn apply(&self, inputs: &mut WatchdogIn) {
        match *self {
            Self::Pausing(on) => inputs.pausing = on,
            Self::Progress(on) => inputs.progress = on,
            Self::Bark(n) => inputs.bark = n,
            Self::Bite(n) => inputs.bite = n,
            Self::Rearm => inputs.rearm = true,
            Self::AutoRearm(on) => inputs.auto_rearm = on,
        }
    }

    fn quiet(inputs: &mut WatchdogIn) {
        inputs.rearm = false;
    }
}
