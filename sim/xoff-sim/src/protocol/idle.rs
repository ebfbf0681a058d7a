//! What a unit reports about the cycles to come.

use serde::{Deserialize, Serialize};

/// `idle_o` and `wake_o` combined: until when neither state nor outputs change if the inputs do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Idle {
    /// `idle_o` is 0: the next cycle has to be evaluated.
    No,
    /// The cycle `wake_o` has to be evaluated; the cycles before it need not be.
    Until(u64),
    /// `wake_o` is as far ahead as a time can be: nothing changes until an input does.
    Forever,
}

impl Idle {
    /// Idle until the earliest of `deadlines`.
    pub fn until(deadlines: impl IntoIterator<Item = u64>) -> Self {
        deadlines
            .into_iter()
            .min()
            .map_or(Self::Forever, Self::Until)
    }
}
