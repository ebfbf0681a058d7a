//! Settings of an instance.

use std::cell::RefCell;

/// An instance's name, the start value of its registers, its clock period, its start time and its plusargs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The instance's name in failures, and the outermost scope of its waves. Blanks and control characters become
    /// `_` in waves.
    pub instance: String,
    /// The start value of every register and memory: zero for `None`, random bits for `Some`. A seed gives the same
    /// bits on every thread, whatever other instances are being built. Seeds are folded to 31 bits, so two of them
    /// may give the same start. A model that was built for coverage starts with zeros: random bits on their way through
    /// a pipeline would count as toggles.
    pub seed: Option<u64>,
    /// The clock period in picoseconds, by which a cycle advances the time. At least 2, since the clock rises in the
    /// middle.
    pub period_ps: u64,
    /// The time before the first cycle, in picoseconds.
    pub start_ps: u64,
    /// The plusargs that `$value$plusargs` and `$test$plusargs` find, without the `+`: `trace`, `depth=16`.
    pub plusargs: Vec<String>,
}

thread_local! {
    static PLUSARGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Calls `make`, and adds these plusargs to all settings that it creates on this thread.
///
/// The plusargs come first in [`Settings::plusargs`]. This is how to reach instances that a testbench creates
/// internally.
pub fn with_plusargs<R>(plusargs: &[String], make: impl FnOnce() -> R) -> R {
    /// Restores the previous plusargs, also after a panic.
    struct Before(Vec<String>);
    impl Drop for Before {
        fn drop(&mut self) {
            PLUSARGS.set(std::mem::take(&mut self.0));
        }
    }
    let _before = Before(PLUSARGS.replace(plusargs.to_vec()));
    make()
}

impl Settings {
    /// Creates settings with this name: registers start at zero, the period is 1,000 ps and the start time is 0.
    pub fn new(instance: impl Into<String>) -> Settings {
        Settings {
            instance: instance.into(),
            seed: None,
            period_ps: 1_000,
            start_ps: 0,
            plusargs: PLUSARGS.with_borrow(Clone::clone),
        }
    }

    /// Starts registers and memories with random bits; see [`Settings::seed`].
    pub fn seed(mut self, seed: u64) -> Settings {
        self.seed = Some(seed);
        self
    }

    /// Sets the clock period in picoseconds.
    pub fn period_ps(mut self, period_ps: u64) -> Settings {
        self.period_ps = period_ps;
        self
    }

    /// Sets the time before the first cycle in picoseconds.
    pub fn start_ps(mut self, start_ps: u64) -> Settings {
        self.start_ps = start_ps;
        self
    }

    /// Adds a plusarg, without its `+`.
    pub fn plusarg(mut self, argument: impl Into<String>) -> Settings {
        self.plusargs.push(argument.into());
        self
    }

    /// The seed in the form Verilator takes: 0 for none, otherwise 1 to 2³¹ − 1.
    pub(crate) fn folded_seed(&self) -> i32 {
        let Some(seed) = self.seed else { return 0 };
        // The finalizer of SplitMix64, so that neighbouring seeds do not fold to neighbouring starts.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The remainder is below 2³¹ − 1, so the cast loses nothing.
        (mixed % (i32::MAX as u64)) as i32 + 1
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::new("top")
    }
}

/// Why an instance could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The period is too short for the clock to rise and fall.
    #[error(
        "instance `{instance}`: a clock period of {period_ps} ps is too short, 2 ps is the least"
    )]
    Period {
        /// The instance.
        instance: String,
        /// The requested period.
        period_ps: u64,
    },
    /// Verilator's run time could not construct the model.
    #[error("instance `{instance}` of {model} could not be built: {reason}")]
    Refused {
        /// The instance.
        instance: String,
        /// The model.
        model: &'static str,
        /// The reason it gave.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_never_verilators_no_seed() {
        assert_eq!(Settings::new("a").folded_seed(), 0);
        for seed in [0, 1, 2, u64::MAX, 1 << 31, 1 << 32] {
            assert!(Settings::new("a").seed(seed).folded_seed() > 0);
        }
    }

    #[test]
    fn plusargs_from_outside_end_with_the_call() {
        let inside = with_plusargs(&["mode=2".to_owned()], || {
            Settings::new("a").plusarg("more")
        });
        assert_eq!(inside.plusargs, ["mode=2", "more"]);
        let _ = std::panic::catch_unwind(|| with_plusargs(&["x".to_owned()], || panic!("inside")));
        assert!(Settings::new("a").plusargs.is_empty());
    }

    #[test]
    fn neighbours_differ() {
        let folded: std::collections::BTreeSet<_> = (0..1000)
            .map(|seed| Settings::new("a").seed(seed).folded_seed())
            .collect();
        assert_eq!(folded.len(), 1000);
    }
}
