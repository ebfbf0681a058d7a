//! How histories of the pause units are drawn: storms, stalls and settings of all kinds, mostly around deadlines.

use xoff_sim::seeded::SplitMix;
use xoff_sim::wire::frame::ControlHead;
use xoff_sim::wire::{CONTROL_PAUSE, CONTROL_PFC};

use super::events::{Bench, DEPTH_BITS, Event, Head, THRESHOLD_BITS};
use super::pair::{Wire, XOFF, XON};
use crate::property::history::History;

/// Cycles at which histories begin: ordinary ones, and those at which a deadline has a higher bit set than `now_i`,
/// or has wrapped.
const STARTS: [u64; 8] = [
    0,
    1,
    1_000,
    (1 << 16) - 20,
    (1 << 32) - 300,
    (1 << 47) - 1_000,
    (1 << 48) - 20,
    (1 << 48) - 1_000,
];
/// Maximum number of events of a history, not counting the last few that belong together.
const MAX_EVENTS: u32 = 120;

/// Events, each with the wait before it.
#[derive(Default)]
struct Steps {
    events: Vec<Event>,
    count: usize,
}

impl Steps {
    /// Adds a wait and an event; without an event the outputs are only checked.
    fn push(&mut self, wait: Event, event: Option<Event>) {
        self.events.extend((wait != Event::Wait(0)).then_some(wait));
        self.events.extend(event);
        self.count += 1;
    }

    fn after(&mut self, cycles: u64, event: Event) {
        self.push(Event::Wait(cycles), Some(event));
    }

    /// Adds events that all come after one cycle.
    fn opening(&mut self, events: impl IntoIterator<Item = Event>) {
        for (i, event) in events.into_iter().enumerate() {
            self.after(u64::from(i == 0), event);
        }
    }
}

/// Draws a history of a bench. `opening` adds a configuration in which something can happen, `more` adds an event or a
/// few that belong together.
fn history(
    draw: &mut SplitMix,
    bench: Bench,
    opening: fn(&mut SplitMix, &mut Steps),
    more: fn(&mut SplitMix, &mut Steps),
) -> History<Head, Event> {
    let start = draw.one_of(&STARTS);
    let walk = match draw.below(64) {
        0 => 2_000,
        1..=5 => 20,
        _ => 0,
    };
    let mut steps = Steps::default();
    opening(draw, &mut steps);
    let end = 1 + draw.below(MAX_EVENTS) as usize;
    while steps.count < end {
        match draw.below(64) {
            0 => steps.push(wait(draw), Some(Event::Reset)),
            1..=2 => steps.push(wait(draw), None),
            _ => more(draw, &mut steps),
        }
    }
    History {
        head: Head { bench, start, walk },
        events: steps.events,
    }
}

/// Draws the wait before an event. Edge cases are at deadlines, so half of the events are in the cycles around one.
fn wait(draw: &mut SplitMix) -> Event {
    match draw.below(32) {
        0..=9 => Event::Wait(1),
        10..=13 => Event::Wait(0),
        14..=17 => Event::Wait(2 + u64::from(draw.below(6))),
        18..=28 => Event::Wake(draw.one_of(&[-2, -1, -1, 0, 0, 0, 1, 1, 2])),
        29..=30 => Event::Wait(u64::from(draw.below(300))),
        _ => Event::Wait(draw.up_to_bits(41)),
    }
}

/// Draws a set of classes: all, one, none or any.
fn classes(draw: &mut SplitMix) -> u8 {
    match draw.below(8) {
        0..=2 => 0xFF,
        3..=4 => 1 << draw.below(8),
        5 => 0,
        _ => draw.bits() as u8,
    }
}

/// `pfc_rx`: frames, storms of them, switches of what is obeyed, links that go down for a while.
pub fn rx(draw: &mut SplitMix) -> History<Head, Event> {
    let bench = draw.one_of(&[true, false]);
    let bench = if bench { Bench::Rx40 } else { Bench::Rx100 };
    let opening = |draw: &mut SplitMix, steps: &mut Steps| {
        steps.opening([
            Event::Classes(classes(draw)),
            Event::PauseEnable(!draw.once_in(4)),
        ]);
    };
    history(draw, bench, opening, |draw, steps| {
        let event = match draw.below(32) {
            0..=2 => Event::Classes(classes(draw)),
            3..=4 => Event::PauseEnable(draw.once_in(2)),
            5 => return storm(draw, steps),
            6 => {
                steps.push(wait(draw), Some(Event::LinkDown(true)));
                if draw.once_in(2) {
                    steps.push(wait(draw), Some(Event::Frame(frame(draw))));
                }
                Event::LinkDown(false)
            }
            _ => Event::Frame(frame(draw)),
        };
        steps.push(wait(draw), Some(event));
    })
}

/// Draws a pause time. Short ones end during the history.
fn quanta(draw: &mut SplitMix) -> u16 {
    match draw.below(16) {
        0..=2 => 0,
        3..=9 => draw.below(5) as u16,
        10..=12 => draw.below(60) as u16,
        13 => u16::MAX,
        // A time with a single bit set.
        14 => 1 << draw.below(16),
        _ => draw.bits() as u16,
    }
}

fn frame(draw: &mut SplitMix) -> ControlHead {
    let same = draw.once_in(2).then(|| quanta(draw));
    let timers = std::array::from_fn(|_| same.unwrap_or_else(|| quanta(draw)));
    if draw.once_in(4) {
        return ControlHead {
            opcode: CONTROL_PAUSE,
            // A PAUSE has no class-enable vector; the unit must ignore it. The parser reports 0.
            class_enable: draw.bits() as u16 & draw.one_of(&[0, 0x0010, 0x00FF, 0xFFFF]),
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

/// Adds repeated XOFF and XON in adjacent cycles.
fn storm(draw: &mut SplitMix, steps: &mut Steps) {
    let mut frame = frame(draw);
    let stop = frame.timers;
    for i in 0..2 + draw.below(8) {
        frame.timers = if i % 2 == 0 { stop } else { [0; 8] };
        steps.after(1, Event::Frame(frame));
    }
}

/// Few values, so that depths and thresholds meet.
const DEPTHS: [u32; 10] = [0, 1, 2, 9, 10, 11, 20, 21, (1 << 24) - 2, (1 << 24) - 1];

fn bytes(draw: &mut SplitMix) -> u32 {
    match draw.once_in(16) {
        true => draw.up_to_bits(DEPTH_BITS) as u32,
        false => draw.one_of(&DEPTHS),
    }
}

fn refresh(draw: &mut SplitMix) -> u32 {
    match draw.below(8) {
        0 => draw.up_to_bits(32) as u32,
        1 => u32::MAX,
        2 => 0,
        _ => draw.one_of(&[1, 2, 3, 4, 10, 100, 1_000, 60_000]),
    }
}

/// `pfc_tx`: depths that cross thresholds, a busy wire, changing settings, silence.
pub fn tx(draw: &mut SplitMix) -> History<Head, Event> {
    let opening = |draw: &mut SplitMix, steps: &mut Steps| {
        steps.opening([
            Event::Classes(classes(draw) | 1 << draw.below(8)),
            Event::Xoff(0xFF, draw.one_of(&[20, 20, 20, 1, 0])),
            Event::Xon(0xFF, 10),
            Event::Quanta(draw.one_of(&[100, 1, 0xFFFF])),
            Event::Refresh(refresh(draw)),
            Event::Ready(true),
        ]);
        if draw.once_in(4) {
            steps.after(0, Event::Xon(classes(draw), bytes(draw)));
            steps.after(0, Event::Xoff(classes(draw), bytes(draw)));
        }
    };
    history(draw, Bench::Tx, opening, |draw, steps| {
        let wait = wait(draw);
        let event = match draw.below(32) {
            0 => Event::Xoff(classes(draw), bytes(draw)),
            1 => Event::Xon(classes(draw), bytes(draw)),
            2 => Event::Classes(classes(draw)),
            3 => Event::Quanta(draw.up_to_bits(16) as u16),
            4 => Event::Refresh(refresh(draw)),
            5..=6 => Event::Silence(true),
            7..=9 => Event::Silence(false),
            10..=12 => Event::Ready(false),
            13..=18 => Event::Ready(true),
            _ => Event::Depth(classes(draw), bytes(draw)),
        };
        steps.push(wait, Some(event));
        // A wire that stays busy, or a unit that stays silent, hides the effect of later events. So mostly these end
        // soon.
        let lasts = draw.once_in(4);
        let over = match event {
            Event::Ready(false) if !lasts => Event::Ready(true),
            Event::Silence(true) if !lasts => Event::Silence(false),
            _ => return,
        };
        let cycles = match draw.once_in(16) {
            true => u64::from(draw.below(250)),
            false => 1 + u64::from(draw.below(4)),
        };
        steps.after(cycles, over);
    })
}

fn threshold(draw: &mut SplitMix) -> u64 {
    match draw.below(16) {
        0 => draw.up_to_bits(THRESHOLD_BITS),
        1 => (1 << THRESHOLD_BITS) - 1,
        2 => 10_000,
        // A threshold with a single bit set.
        3 => 1 << draw.below(THRESHOLD_BITS),
        _ => u64::from(draw.one_of(&[0u32, 1, 1, 2, 2, 3, 4, 5, 8])),
    }
}

/// `pause_watchdog`: stalls of any length against any thresholds, re-arms at any time.
pub fn watchdog(draw: &mut SplitMix) -> History<Head, Event> {
    let opening = |draw: &mut SplitMix, steps: &mut Steps| {
        steps.opening([
            Event::Bark(threshold(draw)),
            Event::Bite(threshold(draw)),
            Event::AutoRearm(draw.once_in(2)),
            Event::Pausing(true),
        ]);
    };
    history(draw, Bench::Watchdog, opening, |draw, steps| {
        let event = match draw.below(32) {
            0..=3 => Event::Bark(threshold(draw)),
            4..=7 => Event::Bite(threshold(draw)),
            8 => Event::AutoRearm(draw.once_in(2)),
            9..=11 => Event::Pausing(false),
            12..=15 => Event::Pausing(true),
            16..=21 => Event::Progress(true),
            _ => Event::Rearm,
        };
        let wait = match event {
            // A stall has to last to have an effect.
            Event::Progress(true) | Event::Pausing(false) if !draw.once_in(3) => {
                Event::Wake(draw.one_of(&[-1, 0, 0, 1]))
            }
            Event::Rearm if draw.once_in(2) => Event::Wake(draw.one_of(&[-1, 0, 0, 1])),
            _ => wait(draw),
        };
        let over = match event {
            Event::Progress(true) => Some(Event::Progress(false)),
            Event::Pausing(false) => Some(Event::Pausing(true)),
            _ => None,
        };
        steps.push(wait, Some(event));
        // Mostly for one cycle only: a NIC that makes progress or does not pause has no stall.
        if let Some(over) = over
            && !draw.once_in(4)
        {
            steps.after(1, over);
        }
    })
}

/// A wire and two NICs: depths that cross thresholds, silence.
pub fn pair(draw: &mut SplitMix) -> History<Head, Event> {
    let bench = Bench::Pair(Wire::draw(draw));
    let opening = |draw: &mut SplitMix, steps: &mut Steps| {
        steps.after(1, Event::Depth(classes(draw), XOFF));
    };
    history(draw, bench, opening, |draw, steps| {
        let wait = match draw.below(8) {
            0..=3 => draw.up_to_bits(12),
            4 => draw.up_to_bits(16),
            5 => 0,
            _ => 1 + u64::from(draw.below(4)),
        };
        let event = match draw.below(24) {
            0..=1 => Event::Silence(true),
            2..=4 => Event::Silence(false),
            _ => Event::Depth(
                classes(draw),
                draw.one_of(&[XOFF, XOFF, 0xFF_FFFF, XOFF - 1, XON + 1, XON, XON, 0]),
            ),
        };
        steps.after(wait, event);
    })
}
