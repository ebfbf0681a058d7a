//! The reference model of `pfc_tx`: when to ask the peer to pause which classes, by cycle (IEEE 802.1Q clause 36,
//! annex O; `rtl/pfc/README.md` for the hysteresis).

use serde::{Deserialize, Serialize};

use super::idle::Idle;
use super::pause_time::Quanta;
use crate::wire::CONTROL_PFC;
use crate::wire::frame::ControlHead;

/// Number of classes of IEEE 802.1Q.
const CLASSES: usize = 8;

/// Inputs in a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcTxIn {
    /// Bytes that the receive buffer holds, by class. 24 bits.
    pub depth: [u32; 8],
    /// A class with this many bytes or more wants XOFF. 24 bits.
    pub xoff: [u32; 8],
    /// A class with this many bytes or fewer wants XON. 24 bits.
    pub xon: [u32; 8],
    /// Bit p: class p is lossless. Only those pause.
    pub classes: u8,
    /// Pause time of an XOFF.
    pub quanta: Quanta,
    /// Cycles after which an XOFF is repeated.
    pub refresh: u32,
    /// From the watchdog: send no pauses.
    pub silence: bool,
    /// Whether the frame is taken.
    pub frame_ready: bool,
}

/// Outputs in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcTxOut {
    /// The frame to send, if any.
    pub frame: Option<ControlHead>,
    /// Bit p: class p was last told to stop.
    pub xoff: u8,
    /// Whether nothing will change, and for how long.
    pub idle: Idle,
}

/// State of `pfc_tx`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcTx {
    waiting: Option<ControlHead>,
    /// For each class that was last told XOFF, the cycle in which that has to be repeated.
    refresh_at: [Option<u64>; CLASSES],
}

impl PfcTx {
    /// The unit after reset.
    pub fn new() -> Self {
        Self::default()
    }

    /// A cycle of reset: clears frame and XOFF.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Returns the outputs in cycle `now`, then applies the clock edge that ends it. Cycles between two calls must be
    /// such that [`Idle`] allows skipping them.
    pub fn cycle(&mut self, now: u64, inputs: &PfcTxIn) -> PfcTxOut {
        let stopped = set_of(|p| self.refresh_at[p].is_some());
        let wanted = set_of(|p| self.wants_xoff(p, inputs));
        let late = self
            .refresh_at
            .iter()
            .flatten()
            .any(|&deadline| now >= deadline);
        let due = self.waiting.is_none() && !inputs.silence && (wanted != stopped || late);
        let falls_silent = inputs.silence && stopped != 0;
        let out = PfcTxOut {
            frame: self.waiting,
            xoff: stopped,
            idle: match due || self.waiting.is_some() || falls_silent {
                true => Idle::No,
                false => Idle::until(self.refresh_at.into_iter().flatten()),
            },
        };

        if inputs.frame_ready {
            self.waiting = None;
        }
        if due {
            self.waiting = Some(ControlHead {
                opcode: CONTROL_PFC,
                class_enable: u16::from(wanted | stopped),
                timers: std::array::from_fn(|p| if has(wanted, p) { inputs.quanta.0 } else { 0 }),
            });
            let deadline = now + u64::from(inputs.refresh);
            self.refresh_at = std::array::from_fn(|p| has(wanted, p).then_some(deadline));
        }
        if inputs.silence {
            // The peer is not told: its timers run out by themselves.
            self.refresh_at = [None; CLASSES];
        }
        out
    }

    /// Whether a class wants XOFF. XOFF takes precedence where the thresholds overlap; between them, what was told
    /// last stays.
    fn wants_xoff(&self, p: usize, inputs: &PfcTxIn) -> bool {
        if !has(inputs.classes, p) {
            false
        } else if inputs.depth[p] >= inputs.xoff[p] {
            true
        } else if inputs.depth[p] <= inputs.xon[p] {
            false
        } else {
            self.refresh_at[p].is_some()
        }
    }
}

fn has(set: u8, p: usize) -> bool {
    set >> p & 1 != 0
}

fn set_of(holds: impl Fn(usize) -> bool) -> u8 {
    (0..CLASSES).fold(0, |set, p| set | u8::from(holds(p)) << p)
}

#[cfg(test)]
mod tests {
    use super::super::Cycle;
    use super::*;

    fn frame(class_enable: u16, timers: [u16; 8]) -> Option<ControlHead> {
        Some(ControlHead {
            opcode: CONTROL_PFC,
            class_enable,
            timers,
        })
    }

    /// All classes lossless and empty, XOFF at 100 bytes, XON at 50, 20 quanta, repeated after 10 cycles, the wire
    /// free.
    fn inputs() -> PfcTxIn {
        PfcTxIn {
            depth: [0; 8],
            xoff: [100; 8],
            xon: [50; 8],
            classes: 0xFF,
            quanta: Quanta(20),
            refresh: 10,
            silence: false,
            frame_ready: true,
        }
    }

    fn with_depth(class: usize, bytes: u32) -> PfcTxIn {
        let mut inputs = inputs();
        inputs.depth[class] = bytes;
        inputs
    }

    #[test]
    fn xoff_at_the_threshold_and_not_below() {
        let mut unit = PfcTx::new();
        assert_eq!(unit.cycle(0, &with_depth(1, 99)).idle, Idle::Forever);
        assert_eq!(unit.cycle(1, &with_depth(1, 100)).idle, Idle::No);
        let out = unit.cycle(2, &with_depth(1, 100));
        assert_eq!(
            out,
            PfcTxOut {
                frame: frame(2, [0, 20, 0, 0, 0, 0, 0, 0]),
                xoff: 2,
                idle: Idle::No
            }
        );
        let out = unit.cycle(3, &with_depth(1, 100));
        assert_eq!(
            out,
            PfcTxOut {
                frame: None,
                xoff: 2,
                idle: Idle::Until(Cycle(11))
            }
        );
    }

    #[test]
    fn between_the_thresholds_stands_what_was_told_last() {
        let mut unit = PfcTx::new();
        unit.cycle(0, &with_depth(0, 100));
        unit.cycle(1, &with_depth(0, 51));
        assert_eq!(
            unit.cycle(2, &with_depth(0, 51)).idle,
            Idle::Until(Cycle(10))
        );
        unit.cycle(3, &with_depth(0, 50));
        let out = unit.cycle(4, &with_depth(0, 99));
        assert_eq!((out.frame, out.xoff), (frame(1, [0; 8]), 0));
        assert_eq!(unit.cycle(5, &with_depth(0, 99)).idle, Idle::Forever);
    }

    #[test]
    fn one_frame_serves_several_classes_and_repeats_the_others() {
        let mut unit = PfcTx::new();
        let mut inputs = inputs();
        inputs.depth = [100, 100, 0, 0, 0, 0, 0, 0];
        unit.cycle(0, &inputs);
        unit.cycle(1, &inputs);
        inputs.depth = [100, 0, 100, 0, 0, 0, 0, 0];
        unit.cycle(2, &inputs);
        let out = unit.cycle(3, &inputs);
        assert_eq!(
            (out.frame, out.xoff),
            (frame(0b111, [20, 0, 20, 0, 0, 0, 0, 0]), 0b101)
        );
        // Class 0 is due 10 cycles after this frame, not after the first one.
        assert_eq!(unit.cycle(4, &inputs).idle, Idle::Until(Cycle(12)));
    }

    #[test]
    fn a_class_that_is_not_lossless_never_pauses_and_is_let_go() {
        let mut unit = PfcTx::new();
        let lossy = PfcTxIn {
            classes: 0xFE,
            ..with_depth(0, 1000)
        };
        assert_eq!(unit.cycle(0, &lossy).idle, Idle::Forever);
        unit.cycle(1, &with_depth(0, 1000));
        unit.cycle(2, &lossy);
        unit.cycle(3, &lossy);
        assert_eq!(unit.cycle(4, &lossy).frame, frame(1, [0; 8]));
    }

    #[test]
    fn xoff_wins_where_thresholds_overlap() {
        let mut unit = PfcTx::new();
        let overlap = PfcTxIn {
            xon: [200; 8],
            ..with_depth(0, 150)
        };
        unit.cycle(0, &overlap);
        assert_eq!(unit.cycle(1, &overlap).xoff, 1);
    }

    #[test]
    fn a_frame_holds_until_taken_and_the_next_is_formed_one_cycle_later() {
        let mut unit = PfcTx::new();
        let stalled = PfcTxIn {
            frame_ready: false,
            ..with_depth(0, 100)
        };
        unit.cycle(0, &stalled);
        let first = frame(1, [20, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unit.cycle(1, &stalled).frame, first);
        // The class is empty again and the wire is free; the frame that was waiting goes first.
        assert_eq!(unit.cycle(2, &inputs()).frame, first);
        assert_eq!(unit.cycle(3, &inputs()).frame, None);
        assert_eq!(unit.cycle(4, &inputs()).frame, frame(1, [0; 8]));
    }

    #[test]
    fn xoff_is_repeated_at_the_deadline_that_counts_from_forming() {
        let mut unit = PfcTx::new();
        let full = with_depth(0, 100);
        unit.cycle(0, &full);
        unit.cycle(1, &full);
        assert_eq!(unit.cycle(9, &full).idle, Idle::Until(Cycle(10)));
        assert_eq!(unit.cycle(10, &full).idle, Idle::No);
        assert_eq!(
            unit.cycle(11, &full).frame,
            frame(1, [20, 0, 0, 0, 0, 0, 0, 0])
        );
        assert_eq!(unit.cycle(12, &full).idle, Idle::Until(Cycle(20)));
    }

    #[test]
    fn refresh_0_repeats_as_soon_as_the_last_frame_is_taken() {
        let mut unit = PfcTx::new();
        let full = PfcTxIn {
            refresh: 0,
            ..with_depth(0, 100)
        };
        let sent: Vec<_> = (0..6)
            .map(|now| unit.cycle(now, &full).frame.is_some())
            .collect();
        assert_eq!(sent, [false, true, false, true, false, true]);
    }

    #[test]
    fn silence_forgets_xoff_but_sends_what_waits() {
        let mut unit = PfcTx::new();
        let full = with_depth(0, 100);
        let silent = PfcTxIn {
            silence: true,
            frame_ready: false,
            ..full
        };
        unit.cycle(0, &full);
        assert_eq!(unit.cycle(1, &silent).xoff, 1);
        let out = unit.cycle(2, &silent);
        assert_eq!((out.frame.is_some(), out.xoff), (true, 0));
        assert!(
            unit.cycle(
                3,
                &PfcTxIn {
                    silence: true,
                    ..full
                }
            )
            .frame
            .is_some()
        );
        assert_eq!(
            unit.cycle(4, &silent),
            PfcTxOut {
                frame: None,
                xoff: 0,
                idle: Idle::Forever
            }
        );
        // The silence is over, and the class is still full.
        unit.cycle(5, &full);
        assert_eq!(unit.cycle(6, &full).xoff, 1);
    }

    #[test]
    fn is_not_idle_while_silence_is_about_to_forget() {
        let mut unit = PfcTx::new();
        let full = with_depth(0, 100);
        unit.cycle(0, &full);
        unit.cycle(1, &full);
        assert_eq!(
            unit.cycle(
                2,
                &PfcTxIn {
                    silence: true,
                    ..full
                }
            )
            .idle,
            Idle::No
        );
        assert_eq!(
            unit.cycle(
                3,
                &PfcTxIn {
                    silence: true,
                    ..full
                }
            )
            .idle,
            Idle::Forever
        );
    }

    #[test]
    fn reset_takes_back_frame_and_xoff() {
        let mut unit = PfcTx::new();
        unit.cycle(0, &with_depth(0, 100));
        unit.reset();
        assert_eq!(
            unit.cycle(1, &inputs()),
            PfcTxOut {
                frame: None,
                xoff: 0,
                idle: Idle::Forever
            }
        );
    }
}
