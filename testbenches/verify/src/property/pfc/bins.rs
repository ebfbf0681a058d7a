//! What happens to the pause units, observed at their inputs and at the outputs of the references.

use xoff_sim::protocol::pause_watchdog::{WatchdogIn, WatchdogOut};
use xoff_sim::protocol::pfc_rx::{PfcRxIn, PfcRxOut};
use xoff_sim::protocol::pfc_tx::{PfcTxIn, PfcTxOut};
use xoff_sim::protocol::{CyclesPerQuantum, Quanta};
use xoff_sim::wire::CONTROL_PFC;
use xoff_sim::wire::frame::ControlHead;

use super::pair::Level;
use crate::axis;
use crate::property::bins::{Bins, Group, Groups};
use crate::property::frames::Classes;

axis! {
    /// The kind of a pause frame.
    pub enum Kind, "frame" { Pfc "PFC", Pause "PAUSE" }
}

axis! {
    /// How much of a frame is obeyed.
    pub enum Obeyed, "obeyed" { Nothing "nothing", Part "some classes", Whole "all of it" }
}

axis! {
    /// What the reserved half of a class-enable vector holds.
    pub enum Reserved, "reserved half" { Zero "zero", Set "not zero" }
}

axis! {
    /// What a timer is loaded with.
    pub enum Load, "load" {
        Stop "PFC with a time",
        Go "PFC with 0",
        PauseStop "PAUSE with a time",
        PauseGo "PAUSE with 0",
    }
}

axis! {
    /// What the timer did when the load came.
    pub enum Overlap, "the timer" {
        Stands "stood",
        Last "was in its last cycle",
        Longer "ran, and ends later now",
        Same "ran, and ends as before",
        Shorter "ran, and ends earlier now",
    }
}

axis! {
    /// Whether PAUSE stops all classes.
    pub enum Pause, "PAUSE" { Off "does not run", Runs "runs", Masked "runs, and is not obeyed" }
}

axis! {
    /// What a frame of `pfc_tx` tells the peer.
    pub enum Told, "tells" { Stop "XOFF only", Go "XON only", Both "XOFF and XON" }
}

axis! {
    /// Why `pfc_tx` sends a frame.
    pub enum Why, "because" { Change "a class changes", Refresh "an XOFF is repeated" }
}

axis! {
    /// Whether the wire takes a frame.
    pub enum Wire, "the wire" { Takes "takes it at once", Busy "is busy" }
}

axis! {
    /// Where the bytes of a class are.
    pub enum Depth, "depth" {
        Xon "at XON or below",
        Between "between the thresholds",
        Xoff "at XOFF or above",
        Overlap "both: the thresholds overlap",
    }
}

axis! {
    /// What the peer was last told about a class.
    pub enum State, "last told" { Go "XON", Stop "XOFF" }
}

axis! {
    /// Whether a class pauses.
    pub enum Class, "class" { Lossy "lossy", Lossless "lossless" }
}

axis! {
    /// Whether the watchdog silences the unit.
    pub enum Silence, "silence" { Off "off", On "on" }
}

axis! {
    /// Threshold of the bark.
    pub enum Bark, "bark" { Never "never", First "in the first cycle", Later "later" }
}

axis! {
    /// Threshold of the bite.
    pub enum Bite, "bite" { Never "never", First "in the first cycle", Later "later" }
}

axis! {
    /// What ends a stall.
    pub enum EndedBy, "ended by" {
        Progress "progress",
        Running "the end of the pause",
        Both "both in one cycle",
    }
}

axis! {
    /// How far a stall came.
    pub enum Reached, "reached" { Nothing "nothing", Barked "the bark" }
}

axis! {
    /// When the bark of a stall comes that bites.
    pub enum Order, "bark" {
        Never "never",
        Before "before the bite",
        Same "with the bite",
        After "after the bite",
    }
}

axis! {
    /// Whether software re-arms in the cycle of the bite.
    pub enum Rearm, "re-arm" { No "not in that cycle", Yes "in that cycle" }
}

axis! {
    /// What lifts the silence.
    pub enum LiftedBy, "lifted by" { Rearm "a re-arm", Progress "progress", Both "both" }
}

axis! {
    /// Whether the stall lasts while the silence is lifted.
    pub enum Stalled, "the stall" { Over "is over", Lasts "lasts" }
}

axis! {
    /// How full a class was.
    pub enum From, "from" { Empty "XON or below", Between "between", Full "XOFF or above" }
}

axis! {
    /// How full a class is.
    pub enum To, "to" { Empty "XON or below", Between "between", Full "XOFF or above" }
}

axis! {
    /// Whether a pause frame is on the wire.
    pub enum Flight, "on the wire" { Nothing "nothing", Frame "a frame" }
}

/// Frames to `pfc_rx`.
pub static FRAMES: Group<(Kind, Classes, Obeyed, Reserved)> = Group {
    name: "rx_frames",
    counts: "frames to pfc_rx",
    unreachable: |(kind, classes, obeyed, _)| match (kind, classes, obeyed) {
        (Kind::Pause, _, Obeyed::Part) => Some("a PAUSE is for all classes"),
        (Kind::Pfc, Classes::None, Obeyed::Part | Obeyed::Whole) => Some("no class is enabled"),
        (Kind::Pfc, Classes::One, Obeyed::Part) => Some("there is one class"),
        _ => None,
    },
};

/// Loads of timers, by what they replace.
pub static LOADS: Group<(Load, Overlap)> = Group {
    name: "rx_loads",
    counts: "timers loaded",
    unreachable: |(load, overlap)| match (load, overlap) {
        (Load::Go | Load::PauseGo, Overlap::Longer | Overlap::Same) => {
            Some("a time of 0 ends the pause")
        }
        _ => None,
    },
};

/// Who stops whom.
pub static STOPS: Group<(Classes, Pause)> = Group {
    name: "rx_stops",
    counts: "cycles evaluated, by the classes that PFC stops",
    unreachable: |_| None,
};

/// Frames of `pfc_tx`.
pub static SENT: Group<(Told, Why, Wire)> = Group {
    name: "tx_frames",
    counts: "frames of pfc_tx",
    unreachable: |(told, why, _)| match (told, why) {
        (Told::Go | Told::Both, Why::Refresh) => Some("what is repeated is XOFF alone"),
        _ => None,
    },
};

/// Classes of `pfc_tx` when an input changes.
pub static LEVELS: Group<(Depth, State, Class, Silence)> = Group {
    name: "tx_levels",
    counts: "classes in cycles in which an input changes",
    unreachable: |_| None,
};

/// Stalls of `pause_watchdog`.
pub static STALLS: Group<(Bark, Bite)> = Group {
    name: "watchdog_stalls",
    counts: "stalls, by their thresholds",
    unreachable: |_| None,
};

/// Ends of stalls that did not bite.
pub static ENDS: Group<(EndedBy, Reached)> = Group {
    name: "watchdog_ends",
    counts: "stalls that end without a bite",
    unreachable: |_| None,
};

/// Bites.
pub static BITES: Group<(Order, Rearm)> = Group {
    name: "watchdog_bites",
    counts: "stalls that bite",
    unreachable: |_| None,
};

/// Ends of silences.
pub static LIFTS: Group<(LiftedBy, Stalled)> = Group {
    name: "watchdog_lifts",
    counts: "silences that are lifted",
    unreachable: |(by, stalled)| match (by, stalled) {
        (LiftedBy::Progress | LiftedBy::Both, Stalled::Lasts) => {
            Some("progress is the end of a stall")
        }
        _ => None,
    },
};

/// Depths of a class whose peer obeys.
pub static DEPTHS: Group<(From, To, Silence, Flight)> = Group {
    name: "pair_depths",
    counts: "depths set in a pair",
    unreachable: |_| None,
};

/// The groups.
pub const GROUPS: Groups = &[
    &FRAMES, &LOADS, &STOPS, &SENT, &LEVELS, &STALLS, &ENDS, &BITES, &LIFTS, &DEPTHS,
];

/// Counts what it sees of a unit, in every evaluated cycle.
pub trait Observer {
    /// Inputs of the unit.
    type Inputs;
    /// Outputs of its reference.
    type Outputs;

    /// Forgets everything, as the unit does.
    fn reset(&mut self);
    /// Sees a cycle.
    fn see(&mut self, now: u64, inputs: &Self::Inputs, outputs: &Self::Outputs, bins: &mut Bins);
}

/// Sees `pfc_rx`.
pub struct RxObserver {
    quantum: CyclesPerQuantum,
    /// The last cycle of each class' timer, then of that of PAUSE.
    ends: [Option<u64>; 9],
}

impl RxObserver {
    /// Creates it for a unit with this quantum.
    pub fn new(quantum: CyclesPerQuantum) -> Self {
        Self {
            quantum,
            ends: [None; 9],
        }
    }

    fn load(&mut self, now: u64, timer: usize, quanta: u16, bins: &mut Bins) {
        let load = match (timer, quanta) {
            (8, 0) => Load::PauseGo,
            (8, _) => Load::PauseStop,
            (_, 0) => Load::Go,
            _ => Load::Stop,
        };
        let cycles = self.quantum.duration(Quanta(quanta));
        let end = (cycles > 0).then_some(now + cycles);
        let overlap = match self.ends[timer].filter(|&before| now <= before) {
            None => Overlap::Stands,
            Some(before) if before == now => Overlap::Last,
            before if end > before => Overlap::Longer,
            before if end == before => Overlap::Same,
            _ => Overlap::Shorter,
        };
        bins.hit(&LOADS, (load, overlap));
        self.ends[timer] = end;
    }

    fn frame(&mut self, now: u64, frame: &ControlHead, inputs: &PfcRxIn, bins: &mut Bins) {
        let [reserved, enable] = frame.class_enable.to_be_bytes();
        let (kind, obeyed) = match frame.opcode {
            CONTROL_PFC => {
                let obeys = enable & inputs.pfc_classes;
                for class in (0..8).filter(|class| obeys >> class & 1 != 0) {
                    self.load(now, class, frame.timers[class], bins);
                }
                let obeyed = match obeys {
                    0 => Obeyed::Nothing,
                    _ if obeys == enable => Obeyed::Whole,
                    _ => Obeyed::Part,
                };
                (Kind::Pfc, obeyed)
            }
            _ if inputs.pause_enable => {
                self.load(now, 8, frame.timers[0], bins);
                (Kind::Pause, Obeyed::Whole)
            }
            _ => (Kind::Pause, Obeyed::Nothing),
        };
        let reserved = match reserved {
            0 => Reserved::Zero,
            _ => Reserved::Set,
        };
        bins.hit(&FRAMES, (kind, Classes::of(enable), obeyed, reserved));
    }
}

impl Observer for RxObserver {
    type Inputs = PfcRxIn;
    type Outputs = PfcRxOut;

    fn reset(&mut self) {
        self.ends = [None; 9];
    }

    fn see(&mut self, now: u64, inputs: &PfcRxIn, _: &PfcRxOut, bins: &mut Bins) {
        let runs = |timer: usize| self.ends[timer].is_some_and(|end| now <= end);
        let stopped = (0..8).fold(0, |set, class| set | u8::from(runs(class)) << class);
        let pause = match (runs(8), inputs.pause_enable) {
            (false, _) => Pause::Off,
            (true, true) => Pause::Runs,
            (true, false) => Pause::Masked,
        };
        bins.hit(&STOPS, (Classes::of(stopped & inputs.pfc_classes), pause));
        if inputs.link_down {
            self.ends = [None; 9];
        } else if let Some(frame) = &inputs.frame {
            self.frame(now, frame, inputs, bins);
        }
    }
}

/// Sees `pfc_tx`.
#[derive(Default)]
pub struct TxObserver {
    inputs: Option<PfcTxIn>,
    /// Classes that had been told XOFF in the cycle before.
    told: u8,
    waits: bool,
}

impl Observer for TxObserver {
    type Inputs = PfcTxIn;
    type Outputs = PfcTxOut;

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn see(&mut self, _: u64, inputs: &PfcTxIn, out: &PfcTxOut, bins: &mut Bins) {
        if let (Some(_), false) = (out.frame, self.waits) {
            // In the cycle after a frame is formed, xoff_o is what it says; before, it was what was told last.
            let (wanted, before) = (out.xoff, self.told);
            let told = match (wanted, before & !wanted) {
                (_, 0) => Told::Stop,
                (0, _) => Told::Go,
                _ => Told::Both,
            };
            let why = match wanted == before {
                true => Why::Refresh,
                false => Why::Change,
            };
            let wire = match inputs.frame_ready {
                true => Wire::Takes,
                false => Wire::Busy,
            };
            bins.hit(&SENT, (told, why, wire));
        }
        self.waits = out.frame.is_some() && !inputs.frame_ready;
        self.told = out.xoff;
        if self.inputs.as_ref() != Some(inputs) {
            self.inputs = Some(*inputs);
            for class in 0..8 {
                let (high, low) = (
                    inputs.depth[class] >= inputs.xoff[class],
                    inputs.depth[class] <= inputs.xon[class],
                );
                let depth = match (high, low) {
                    (false, false) => Depth::Between,
                    (false, true) => Depth::Xon,
                    (true, false) => Depth::Xoff,
                    (true, true) => Depth::Overlap,
                };
                let has = |set: u8| set >> class & 1 != 0;
                let state = match has(out.xoff) {
                    true => State::Stop,
                    false => State::Go,
                };
                let lossless = match has(inputs.classes) {
                    true => Class::Lossless,
                    false => Class::Lossy,
                };
                bins.hit(&LEVELS, (depth, state, lossless, silence(inputs.silence)));
            }
        }
    }
}

fn silence(on: bool) -> Silence {
    match on {
        true => Silence::On,
        false => Silence::Off,
    }
}

/// Sees `pause_watchdog`.
#[derive(Default)]
pub struct WatchdogObserver {
    stall: Option<Stall>,
    /// Inputs of the cycle before, if its output was silence.
    silent: Option<WatchdogIn>,
}

struct Stall {
    bark_at: Option<u64>,
    bite_at: Option<u64>,
    barked: bool,
}

impl Observer for WatchdogObserver {
    type Inputs = WatchdogIn;
    type Outputs = WatchdogOut;

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn see(&mut self, now: u64, inputs: &WatchdogIn, out: &WatchdogOut, bins: &mut Bins) {
        let stuck = inputs.pausing && !inputs.progress;
        if let Some(before) = self.silent.filter(|_| !out.silence) {
            let by = match (before.rearm, before.progress && before.auto_rearm) {
                (true, false) => LiftedBy::Rearm,
                (true, true) => LiftedBy::Both,
                _ => LiftedBy::Progress,
            };
            let stalled = match before.pausing && !before.progress {
                true => Stalled::Lasts,
                false => Stalled::Over,
            };
            bins.hit(&LIFTS, (by, stalled));
            self.stall = None;
        }
        self.silent = out.silence.then_some(*inputs);
        match &mut self.stall {
            None if stuck => {
                let bark = match inputs.bark {
                    0 => Bark::Never,
                    1 => Bark::First,
                    _ => Bark::Later,
                };
                let bite = match inputs.bite {
                    0 => Bite::Never,
                    1 => Bite::First,
                    _ => Bite::Later,
                };
                bins.hit(&STALLS, (bark, bite));
                let at = |threshold: u64| (threshold > 0).then(|| now + threshold - 1);
                self.stall = Some(Stall {
                    bark_at: at(inputs.bark),
                    bite_at: at(inputs.bite),
                    barked: false,
                });
            }
            Some(stall) if !stuck && !out.silence => {
                // The pulse of a bark in the stall's last cycle comes in this one.
                let reached = match stall.barked || out.bark {
                    true => Reached::Barked,
                    false => Reached::Nothing,
                };
                let by = match (inputs.progress, inputs.pausing) {
                    (true, true) => EndedBy::Progress,
                    (false, _) => EndedBy::Running,
                    (true, false) => EndedBy::Both,
                };
                bins.hit(&ENDS, (by, reached));
                self.stall = None;
            }
            _ => {}
        }
        if let Some(stall) = &mut self.stall {
            stall.barked |= out.bark;
            if stall.bite_at == Some(now) {
                let order = match stall.bark_at {
                    None => Order::Never,
                    Some(bark) if bark < now => Order::Before,
                    Some(bark) if bark == now => Order::Same,
                    Some(_) => Order::After,
                };
                let rearm = match inputs.rearm && !out.silence {
                    true => Rearm::Yes,
                    false => Rearm::No,
                };
                bins.hit(&BITES, (order, rearm));
                if rearm == Rearm::Yes {
                    self.stall = None;
                }
            }
        }
    }
}

/// Counts a depth that is set in a pair.
pub fn depth(bins: &mut Bins, from: Level, to: Level, silent: bool, flying: bool) {
    let from = match from {
        Level::Empty => From::Empty,
        Level::Between => From::Between,
        Level::Full => From::Full,
    };
    let to = match to {
        Level::Empty => To::Empty,
        Level::Between => To::Between,
        Level::Full => To::Full,
    };
    let flight = match flying {
        true => Flight::Frame,
        false => Flight::Nothing,
    };
    bins.hit(&DEPTHS, (from, to, silence(silent), flight));
}
