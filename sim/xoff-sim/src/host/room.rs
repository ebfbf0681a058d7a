//! Room for messages and receive buffers: each completion makes room for one, from when it is seen.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::time::Cycles;

/// When completions were seen that made room which is not used yet, in their order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Room(VecDeque<Cycles>);

impl Room {
    /// Notes a completion seen at `seen`.
    pub(super) fn made(&mut self, seen: Cycles) {
        self.0.push_back(seen);
    }

    /// From when on there is room for one more, if fewer than `most` are `open`. What was never used has room from the
    /// start.
    pub(super) fn from(&self, open: u64, most: u32) -> Cycles {
        match self.0.front() {
            Some(seen) if open + self.0.len() as u64 >= most.into() => *seen,
            _ => Cycles(0),
        }
    }

    /// Notes that one was posted, which makes it `open` ones of at most `most`.
    pub(super) fn used(&mut self, open: u64, most: u32) {
        if open + self.0.len() as u64 > most.into() {
            self.0.pop_front();
        }
    }
}
