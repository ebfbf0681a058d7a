//! What a unit reports about the cycles to come.

use serde::{Deserialize, Serialize};

use super::Cycle;

/// `idle_o` and `wake_o` combined: until when neither state nor outputs change if the inputs do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Idle {
    /// `idle_o` is 0: the next cycle has to be evaluated.
    No,
    /// This cycle, that of `wake_o`, has to be evaluated; the cycles before it need not be.
    Until(Cycle),
    /// Nothing changes until an input does.
    Forever,
}

impl Idle {
    /// Idle until the earliest of `deadlines`.
    pub fn until(deadlines: impl IntoIterator<Item = u64>) -> Self {
        (deadlines.into_iter().min()).map_or(Self::Forever, |cycle| Self::Until(Cycle(cycle)))
    }

    /// What the ports `idle_o` and `wake_o` of the RTL say in cycle `now`. It is never [`Forever`](Self::Forever): also
    /// a unit that waits for nothing is to be woken, so that no time in it becomes too old to be compared.
    #[inline]
    pub const fn of_ports(idle_o: u8, wake_o: u64, now: Cycle) -> Self {
        match idle_o {
            0 => Self::No,
            _ => Self::Until(now.near(wake_o)),
        }
    }

    /// The cycle until which it is idle, [`Cycle::MAX`] if that is for ever; `None` if it is not.
    #[inline]
    pub const fn wake(self) -> Option<Cycle> {
        match self {
            Self::No => None,
            Self::Until(wake) => Some(wake),
            Self::Forever => Some(Cycle::MAX),
        }
    }

    /// Whether the unit, in cycle `now`, waits for nothing but its inputs.
    pub const fn waits_for_nothing(self, now: Cycle) -> bool {
        match self {
            Self::No => false,
            Self::Until(wake) => wake.0 - now.0 > Cycle::FARTHEST / 2,
            Self::Forever => true,
        }
    }

    /// The same for someone whose cycle 0 is the unit's cycle `start`.
    #[inline]
    #[must_use]
    pub const fn since(self, start: Cycle) -> Self {
        match self {
            Self::Until(wake) => Self::Until(Cycle(wake.0.saturating_sub(start.0))),
            other => other,
        }
    }
}
