//! The reference model of `pause_watchdog`: reports (bark), and later silences (bite), a NIC that pauses its peer
//! without making progress (SIGCOMM 2016 §4.3; `rtl/pfc/README.md` for the cycles).

use serde::{Deserialize, Serialize};

use super::idle::Idle;

/// Inputs in a cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogIn {
    /// The NIC holds its peer in XOFF.
    pub pausing: bool,
    /// A packet left the receive buffer.
    pub progress: bool,
    /// Cycles of stall until the bark; 0: never. 40 bits.
    pub bark: u64,
    /// Cycles of stall until the bite; 0: never. 40 bits.
    pub bite: u64,
    /// Whether software lifts the silence.
    pub rearm: bool,
    /// Whether progress lifts the silence, too.
    pub auto_rearm: bool,
}

/// Outputs in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogOut {
    /// A pulse, once in each stall.
    pub bark: bool,
    /// Whether pauses must not be generated.
    pub silence: bool,
    /// Whether nothing will change, and for how long.
    pub idle: Idle,
}

/// A stall in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stall {
    /// The cycle in which the bark is due; it may have passed.
    bark_at: Option<u64>,
    /// The cycle in which the bite is due; it may have passed.
    bite_at: Option<u64>,
}

impl Stall {
    /// A stall that begins in cycle `now`, with the thresholds of that cycle.
    fn beginning(now: u64, inputs: &WatchdogIn) -> Self {
        let due = |threshold: u64| threshold.checked_sub(1).map(|later| now + later);
        Self {
            bark_at: due(inputs.bark),
            bite_at: due(inputs.bite),
        }
    }
}

/// State of `pause_watchdog`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseWatchdog {
    /// The stall of the last cycle, if nothing ended it there.
    stall: Option<Stall>,
    bark: bool,
    silence: bool,
}

impl PauseWatchdog {
    /// The unit after reset.
    pub fn new() -> Self {
        Self::default()
    }

    /// A cycle of reset: clears stall and silence.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Returns the outputs in cycle `now`, then applies the clock edge that ends it. Cycles between two calls must be
    /// such that [`Idle`] allows skipping them.
    pub fn cycle(&mut self, now: u64, inputs: &WatchdogIn) -> WatchdogOut {
        let stuck = inputs.pausing && !inputs.progress;
        // Silence itself makes `pausing` fall, so a silenced NIC stays in its stall.
        let stall = match self.stall {
            None if stuck => Some(Stall::beginning(now, inputs)),
            Some(stall) if stuck || self.silence => Some(stall),
            _ => None,
        };
        let due = |at: fn(&Stall) -> Option<u64>| stall.as_ref().and_then(at);
        let (bark_at, bite_at) = (due(|stall| stall.bark_at), due(|stall| stall.bite_at));
        let (barks, bites) = (bark_at == Some(now), bite_at == Some(now));
        let lifted = match self.silence {
            true => inputs.rearm || (inputs.progress && inputs.auto_rearm),
            false => bites && inputs.rearm,
        };

        let begins_or_ends = stall.is_some() != self.stall.is_some() || lifted;
        let out = WatchdogOut {
            bark: self.bark,
            silence: self.silence,
            idle: match begins_or_ends || barks || bites || self.bark {
                true => Idle::No,
                false => Idle::until(
                    [bark_at, bite_at]
                        .into_iter()
                        .flatten()
                        .filter(|&at| at > now),
                ),
            },
        };
        self.bark = barks;
        self.silence = (self.silence || bites) && !lifted;
        self.stall = stall.filter(|_| !lifted);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cycle;
    use super::*;

    const MOVING: WatchdogIn = WatchdogIn {
        pausing: false,
        progress: true,
        bark: 3,
        bite: 5,
        rearm: false,
        auto_rearm: false,
    };
    const STUCK: WatchdogIn = WatchdogIn {
        pausing: true,
        progress: false,
        ..MOVING
    };
    const REARM: WatchdogIn = WatchdogIn {
        rearm: true,
        ..STUCK
    };

    /// `bark_o` and `silence_o` of each cycle as text: `.` neither, `b` bark, `s` silence, `B` both.
    fn seen(unit: &mut PauseWatchdog, from: u64, inputs: &[WatchdogIn]) -> String {
        let letter = |out: WatchdogOut| match (out.bark, out.silence) {
            (false, false) => '.',
            (true, false) => 'b',
            (false, true) => 's',
            (true, true) => 'B',
        };
        (from..)
            .zip(inputs)
            .map(|(now, inputs)| letter(unit.cycle(now, inputs)))
            .collect()
    }

    fn seen_from_reset(inputs: &[WatchdogIn]) -> String {
        seen(&mut PauseWatchdog::new(), 100, inputs)
    }

    #[test]
    fn barks_and_bites_in_the_cycle_after_the_threshold() {
        assert_eq!(seen_from_reset(&[STUCK; 7]), "...b.ss");
    }

    #[test]
    fn a_stall_of_k_cycles_barks_from_k_on() {
        assert_eq!(
            seen_from_reset(&[STUCK, STUCK, MOVING, MOVING, MOVING]),
            "....."
        );
        assert_eq!(
            seen_from_reset(&[STUCK, STUCK, STUCK, MOVING, MOVING]),
            "...b."
        );
    }

    #[test]
    fn progress_ends_the_stall_and_the_next_counts_anew() {
        let moved = WatchdogIn {
            progress: true,
            ..STUCK
        };
        assert_eq!(
            seen_from_reset(&[
                STUCK, STUCK, STUCK, STUCK, moved, STUCK, STUCK, STUCK, STUCK, STUCK
            ]),
            "...b....b."
        );
    }

    #[test]
    fn one_bark_a_stall() {
        let no_bite = WatchdogIn { bite: 0, ..STUCK };
        assert_eq!(seen_from_reset(&[no_bite; 9]), "...b.....");
    }

    #[test]
    fn zero_is_never_and_one_is_at_once() {
        assert_eq!(
            seen_from_reset(
                &[WatchdogIn {
                    bark: 0,
                    bite: 0,
                    ..STUCK
                }; 5]
            ),
            "....."
        );
        assert_eq!(
            seen_from_reset(
                &[WatchdogIn {
                    bark: 1,
                    bite: 2,
                    ..STUCK
                }; 4]
            ),
            ".bss"
        );
        assert_eq!(
            seen_from_reset(
                &[WatchdogIn {
                    bark: 1,
                    bite: 1,
                    ..STUCK
                }; 3]
            ),
            ".Bs"
        );
    }

    #[test]
    fn silence_keeps_the_stall_and_its_bark() {
        let late = WatchdogIn {
            bark: 4,
            bite: 1,
            ..STUCK
        };
        let let_go = WatchdogIn {
            pausing: false,
            ..late
        };
        assert_eq!(
            seen_from_reset(&[late, let_go, let_go, let_go, let_go, let_go]),
            ".sssBs"
        );
    }

    #[test]
    fn rearm_lifts_silence_and_a_new_stall_begins_in_the_cycle_after() {
        let inputs = [
            STUCK, STUCK, STUCK, STUCK, STUCK, REARM, STUCK, STUCK, STUCK, STUCK,
        ];
        assert_eq!(seen_from_reset(&inputs), "...b.s...b");
    }

    #[test]
    fn progress_lifts_silence_only_when_told_to() {
        let moved = WatchdogIn {
            pausing: false,
            progress: true,
            bite: 1,
            bark: 0,
            ..STUCK
        };
        let bite = WatchdogIn {
            bite: 1,
            bark: 0,
            ..STUCK
        };
        assert_eq!(seen_from_reset(&[bite, moved, moved]), ".ss");
        let auto = WatchdogIn {
            auto_rearm: true,
            ..moved
        };
        assert_eq!(seen_from_reset(&[bite, auto, auto]), ".s.");
    }

    #[test]
    fn a_rearm_in_the_cycle_of_the_bite_wins_and_ends_the_stall() {
        let inputs = [
            STUCK, STUCK, STUCK, STUCK, REARM, STUCK, STUCK, STUCK, STUCK,
        ];
        assert_eq!(seen_from_reset(&inputs), "...b....b");
    }

    #[test]
    fn a_rearm_at_any_other_time_does_nothing() {
        assert_eq!(
            seen_from_reset(&[REARM, REARM, REARM, REARM, STUCK, STUCK]),
            "...b.s"
        );
    }

    #[test]
    fn thresholds_hold_for_the_stall_in_which_they_were_read() {
        let never = WatchdogIn {
            bark: 0,
            bite: 0,
            ..STUCK
        };
        assert_eq!(
            seen_from_reset(&[STUCK, never, never, never, never, never]),
            "...b.s"
        );
    }

    #[test]
    fn wakes_when_something_is_due() {
        let mut unit = PauseWatchdog::new();
        let idle = |unit: &mut PauseWatchdog, now, inputs| unit.cycle(now, inputs).idle;
        assert_eq!(idle(&mut unit, 0, &MOVING), Idle::Forever);
        assert_eq!(idle(&mut unit, 1, &STUCK), Idle::No);
        assert_eq!(idle(&mut unit, 2, &STUCK), Idle::Until(Cycle(3)));
        assert_eq!(idle(&mut unit, 3, &STUCK), Idle::No);
        assert_eq!(idle(&mut unit, 4, &STUCK), Idle::No);
        assert_eq!(idle(&mut unit, 5, &STUCK), Idle::No);
        assert_eq!(idle(&mut unit, 6, &STUCK), Idle::Forever);
        assert_eq!(idle(&mut unit, 7, &REARM), Idle::No);
        assert_eq!(idle(&mut unit, 8, &MOVING), Idle::Forever);
    }

    #[test]
    fn reset_takes_back_stall_and_silence() {
        let mut unit = PauseWatchdog::new();
        seen(&mut unit, 0, &[STUCK; 6]);
        unit.reset();
        assert_eq!(seen(&mut unit, 6, &[STUCK; 7]), "...b.ss");
    }
}
