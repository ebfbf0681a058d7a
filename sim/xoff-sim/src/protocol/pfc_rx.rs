//! The reference model of `pfc_rx`: which classes the peer's PFC and PAUSE frames stop, by cycle (IEEE 802.1Q clause
//! 36.1, 802.3 annex 31B.3).

use serde::{Deserialize, Serialize};

use super::idle::Idle;
use super::pause_time::{CyclesPerQuantum, Quanta};
use crate::wire::CONTROL_PFC;
use crate::wire::frame::ControlHead;

/// Number of timers: one for each class for PFC, and one for PAUSE.
const TIMERS: usize = 9;
/// Index of the timer that PAUSE loads.
const PAUSE: usize = 8;

/// Inputs in a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcRxIn {
    /// Whether the link is down: no timer runs, and frames are ignored.
    pub link_down: bool,
    /// A frame that the parser accepted: PFC, or PAUSE with its time in `timers[0]`.
    pub frame: Option<ControlHead>,
    /// Bit p: class p obeys PFC.
    pub pfc_classes: u8,
    /// Whether PAUSE is obeyed, by all classes.
    pub pause_enable: bool,
}

/// The effect of the frame of the previous cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PfcRxEvent {
    /// PFC, obeyed in at least one class.
    Pfc,
    /// PAUSE, obeyed.
    Pause,
    /// Nothing in it was obeyed.
    Ignored,
}

/// Outputs in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcRxOut {
    /// Bit p: class p must not start a frame.
    pub paused: u8,
    /// The event pulse, for counters.
    pub event: Option<PfcRxEvent>,
    /// Whether nothing will change, and for how long.
    pub idle: Idle,
}

/// State of `pfc_rx`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcRx {
    quantum: CyclesPerQuantum,
    /// For each timer, the last cycle in which it runs. A time that has passed has the same effect as `None`.
    ends: [Option<u64>; TIMERS],
    event: Option<PfcRxEvent>,
}

impl PfcRx {
    /// The unit after reset.
    pub const fn new(quantum: CyclesPerQuantum) -> Self {
        Self {
            quantum,
            ends: [None; TIMERS],
            event: None,
        }
    }

    /// The length of a quantum.
    pub const fn quantum(&self) -> CyclesPerQuantum {
        self.quantum
    }

    /// A cycle of reset: stops the timers.
    pub fn reset(&mut self) {
        *self = Self::new(self.quantum);
    }

    /// Returns the outputs in cycle `now`, then applies the clock edge that ends it. Cycles between two calls must be
    /// such that [`Idle`] allows skipping them.
    pub fn cycle(&mut self, now: u64, inputs: &PfcRxIn) -> PfcRxOut {
        let runs = |end: Option<u64>| end.is_some_and(|end| now <= end);
        let by_pfc = (0..PAUSE).fold(0, |set, p| set | u8::from(runs(self.ends[p])) << p);
        let by_pause = runs(self.ends[PAUSE]) && inputs.pause_enable;
        // A masked timer ends too, and that is a change of state.
        let ends = self.ends.contains(&Some(now));
        let cut = inputs.link_down && self.ends.into_iter().any(runs);
        let busy = inputs.frame.is_some() || self.event.is_some() || ends || cut;
        let out = PfcRxOut {
            paused: if by_pause {
                u8::MAX
            } else {
                by_pfc & inputs.pfc_classes
            },
            event: self.event,
            idle: match busy {
                true => Idle::No,
                false => Idle::until(self.ends.into_iter().filter(|&end| runs(end)).flatten()),
            },
        };
        self.event = inputs.frame.map(|frame| self.obey(now, &frame, inputs));
        if inputs.link_down {
            self.ends = [None; TIMERS];
        }
        out
    }

    fn obey(&mut self, now: u64, frame: &ControlHead, inputs: &PfcRxIn) -> PfcRxEvent {
        if inputs.link_down {
            return PfcRxEvent::Ignored;
        }
        let quantum = self.quantum;
        // A load replaces the remaining time, whether it is longer or shorter.
        let load = |t: u16| match quantum.duration(Quanta(t)) {
            0 => None,
            cycles => Some(now + cycles),
        };
        if frame.opcode != CONTROL_PFC {
            if !inputs.pause_enable {
                return PfcRxEvent::Ignored;
            }
            self.ends[PAUSE] = load(frame.timers[0]);
            return PfcRxEvent::Pause;
        }
        // The high byte of the vector is reserved: sent as 0, ignored on receipt.
        let [_, enable] = frame.class_enable.to_be_bytes();
        let obeyed = enable & inputs.pfc_classes;
        for p in (0..PAUSE).filter(|p| obeyed >> p & 1 != 0) {
            self.ends[p] = load(frame.timers[p]);
        }
        if obeyed == 0 {
            PfcRxEvent::Ignored
        } else {
            PfcRxEvent::Pfc
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cycle;
    use super::*;
    use crate::wire::CONTROL_PAUSE;

    const QUIET: PfcRxIn = PfcRxIn {
        link_down: false,
        frame: None,
        pfc_classes: 0xFF,
        pause_enable: true,
    };

    fn pfc(class_enable: u16, timers: [u16; 8]) -> PfcRxIn {
        let frame = ControlHead {
            opcode: CONTROL_PFC,
            class_enable,
            timers,
        };
        PfcRxIn {
            frame: Some(frame),
            ..QUIET
        }
    }

    fn pause(t: u16) -> PfcRxIn {
        let frame = ControlHead {
            opcode: CONTROL_PAUSE,
            class_enable: 0xFFFF,
            timers: [t, 9, 9, 9, 9, 9, 9, 9],
        };
        PfcRxIn {
            frame: Some(frame),
            ..QUIET
        }
    }

    /// `paused_o` in cycles `from` to `from + N - 1` with quiet inputs.
    fn paused<const N: usize>(unit: &mut PfcRx, from: u64) -> [u8; N] {
        std::array::from_fn(|i| unit.cycle(from + i as u64, &QUIET).paused)
    }

    fn unit() -> PfcRx {
        PfcRx::new(CyclesPerQuantum::AT_40G)
    }

    #[test]
    fn runs_from_the_cycle_after_the_load_for_the_duration() {
        let mut unit = unit();
        assert_eq!(unit.cycle(10, &pfc(0x04, [1; 8])).paused, 0);
        assert_eq!(paused(&mut unit, 11), [4, 4, 4, 0]);
    }

    #[test]
    fn the_reserved_half_of_the_vector_is_ignored() {
        let mut unit = unit();
        unit.cycle(0, &pfc(0xFF00, [100; 8]));
        let out = unit.cycle(1, &QUIET);
        assert_eq!((out.paused, out.event), (0, Some(PfcRxEvent::Ignored)));
    }

    #[test]
    fn classes_without_their_bit_go_on() {
        let mut unit = unit();
        unit.cycle(0, &pfc(0x03, [2; 8]));
        unit.cycle(1, &pfc(0x01, [0; 8]));
        assert_eq!(paused(&mut unit, 2), [2, 2, 2, 2, 0]);
    }

    #[test]
    fn a_load_replaces_what_was_left() {
        let mut unit = unit();
        unit.cycle(0, &pfc(1, [100; 8]));
        unit.cycle(1, &pfc(1, [1; 8]));
        assert_eq!(paused(&mut unit, 2), [1, 1, 1, 0]);
    }

    #[test]
    fn a_load_in_the_cycle_in_which_the_timer_would_end_goes_on() {
        let mut unit = unit();
        unit.cycle(0, &pfc(1, [1; 8]));
        assert_eq!(unit.cycle(3, &pfc(1, [1; 8])).paused, 1);
        assert_eq!(paused(&mut unit, 4), [1, 1, 1, 0]);
    }

    #[test]
    fn pause_stops_all_classes_with_its_first_time() {
        let mut unit = unit();
        unit.cycle(0, &pause(1));
        let out = unit.cycle(
            1,
            &PfcRxIn {
                pfc_classes: 0,
                ..QUIET
            },
        );
        assert_eq!((out.paused, out.event), (0xFF, Some(PfcRxEvent::Pause)));
        assert_eq!(paused(&mut unit, 2), [0xFF, 0xFF, 0]);
    }

    #[test]
    fn pause_and_pfc_keep_their_own_timers() {
        let mut unit = unit();
        unit.cycle(0, &pfc(0x81, [2; 8]));
        unit.cycle(1, &pause(1));
        unit.cycle(2, &pause(0));
        assert_eq!(paused(&mut unit, 3), [0x81, 0x81, 0x81, 0]);
    }

    #[test]
    fn switching_a_class_off_masks_its_timer_and_does_not_stop_it() {
        let mut unit = unit();
        unit.cycle(0, &pfc(3, [2; 8]));
        assert_eq!(
            unit.cycle(
                1,
                &PfcRxIn {
                    pfc_classes: 2,
                    ..QUIET
                }
            )
            .paused,
            2
        );
        assert_eq!(unit.cycle(2, &QUIET).paused, 3);
        unit.cycle(3, &pause(9));
        assert_eq!(
            unit.cycle(
                4,
                &PfcRxIn {
                    pause_enable: false,
                    ..QUIET
                }
            )
            .paused,
            3
        );
        assert_eq!(unit.cycle(5, &QUIET).paused, 0xFF);
    }

    #[test]
    fn what_is_not_obeyed_is_ignored() {
        let mut unit = unit();
        unit.cycle(
            0,
            &PfcRxIn {
                pfc_classes: 0xF0,
                ..pfc(0x0F, [9; 8])
            },
        );
        assert_eq!(unit.cycle(1, &QUIET).event, Some(PfcRxEvent::Ignored));
        unit.cycle(
            2,
            &PfcRxIn {
                pause_enable: false,
                ..pause(9)
            },
        );
        assert_eq!(
            unit.cycle(3, &QUIET),
            PfcRxOut {
                paused: 0,
                event: Some(PfcRxEvent::Ignored),
                idle: Idle::No
            }
        );
    }

    #[test]
    fn xon_counts_as_obeyed() {
        let mut unit = unit();
        unit.cycle(0, &pfc(1, [0; 8]));
        assert_eq!(unit.cycle(1, &QUIET).event, Some(PfcRxEvent::Pfc));
    }

    #[test]
    fn no_pause_outlives_the_link() {
        const DOWN: PfcRxIn = PfcRxIn {
            link_down: true,
            ..QUIET
        };
        let mut unit = unit();
        unit.cycle(0, &pfc(0xFF, [9; 8]));
        unit.cycle(1, &pause(9));
        let out = unit.cycle(2, &DOWN);
        assert_eq!((out.paused, out.idle), (0xFF, Idle::No));
        let out = unit.cycle(3, &DOWN);
        assert_eq!((out.paused, out.idle), (0, Idle::Forever));
        let late = PfcRxIn {
            link_down: true,
            ..pfc(0xFF, [9; 8])
        };
        unit.cycle(4, &late);
        assert_eq!(unit.cycle(5, &DOWN).event, Some(PfcRxEvent::Ignored));
        assert_eq!(paused(&mut unit, 6), [0; 3]);
        unit.cycle(9, &pfc(1, [1; 8]));
        assert_eq!(paused(&mut unit, 10), [1, 1, 1, 0]);
    }

    #[test]
    fn wakes_in_the_last_cycle_of_the_first_timer_that_ends() {
        let mut unit = unit();
        assert_eq!(unit.cycle(0, &QUIET).idle, Idle::Forever);
        assert_eq!(
            unit.cycle(1, &pfc(3, [4, 2, 0, 0, 0, 0, 0, 0])).idle,
            Idle::No
        );
        assert_eq!(unit.cycle(2, &QUIET).idle, Idle::No);
        assert_eq!(unit.cycle(3, &QUIET).idle, Idle::Until(Cycle(6)));
        assert_eq!(unit.cycle(6, &QUIET).idle, Idle::No);
        assert_eq!(
            unit.cycle(
                7,
                &PfcRxIn {
                    pfc_classes: 0,
                    ..QUIET
                }
            )
            .idle,
            Idle::Until(Cycle(11))
        );
        assert_eq!(unit.cycle(12, &QUIET).idle, Idle::Forever);
    }

    #[test]
    fn reset_stops_timers_and_takes_the_pulse_back() {
        let mut unit = unit();
        unit.cycle(0, &pfc(1, [9; 8]));
        unit.reset();
        assert_eq!(
            unit.cycle(1, &QUIET),
            PfcRxOut {
                paused: 0,
                event: None,
                idle: Idle::Forever
            }
        );
    }
}
