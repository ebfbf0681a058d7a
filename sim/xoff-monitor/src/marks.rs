//! Packets marked 'congestion experienced', and the CNPs that answer them.

use std::collections::VecDeque;

use xoff_sim::time::{Duration, Time};

use crate::report::Findings;
use crate::{Habit, Rule};

/// How many marks of a flow are remembered.
const REMEMBERED: usize = 65_536;
/// Least time in which a host has to answer a mark.
const ANSWER_WITHIN: Duration = Duration::from_us(20);
/// The interval that is assumed where none is set (DCQCN's paper).
const USUAL_INTERVAL: Duration = Duration::from_us(50);

/// The marks of a flow that no CNP has answered.
#[derive(Debug, Default)]
pub(crate) struct Marks(VecDeque<Time>);

impl Marks {
    pub fn add(&mut self, time: Time) {
        self.0.push_back(time);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// Whether a CNP has a mark of its own, which is taken. `last`: when the CNP before was sent. It was decided upon
    /// some time before that, and so may the one now; a mark from before the interval that it began is none of these.
    pub fn answer(&mut self, last: Option<Time>, interval: Option<Duration>) -> bool {
        if let (Some(last), Some(interval)) = (last, interval.filter(|it| *it > Duration::ZERO)) {
            let old = |mark: &&Time| mark.saturating_add(interval) < last;
            while self.0.front().filter(old).is_some() {
                self.0.pop_front();
            }
        }
        self.0.pop_front().is_some()
    }
}

/// The CNP that a host owes, at its own port.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// When a mark arrived that no CNP has answered.
    since: Option<Time>,
    last_cnp: Option<Time>,
}

impl Owed {
    /// Takes in a mark on a packet that the host has acknowledged, and when it arrived.
    pub fn mark(&mut self, time: Time, interval: Option<Duration>) {
        let interval = interval.unwrap_or(USUAL_INTERVAL);
        let within = |last: Time| time < last.saturating_add(interval);
        if !self.last_cnp.is_some_and(within) {
            self.since.get_or_insert(time);
        }
    }

    /// Takes in a CNP that the host sends.
    pub fn cnp(&mut self, time: Time, interval: Option<Duration>, out: &mut Findings) {
        if self.since.take().is_some() && interval.is_some() {
            out.check(Rule::CnpOwed, true, String::new);
        }
        self.last_cnp = Some(time);
    }

    /// Judges that the host sends another packet. `paused`: when it was paused the last time.
    pub fn sends(
        &mut self,
        time: Time,
        interval: Option<Duration>,
        paused: Option<Time>,
        out: &mut Findings,
    ) {
        let Some(since) = self.since else { return };
        if paused.is_some_and(|paused| paused >= since) {
            self.since = None;
            return;
        }
        let late = time.saturating_since(since);
        if late <= interval.unwrap_or(USUAL_INTERVAL).max(ANSWER_WITHIN) {
            return;
        }
        self.since = None;
        let text = || format!("a marked packet came {late} ago, and no CNP was sent since");
        match interval {
            Some(_) => {
                out.check(Rule::CnpOwed, false, text);
            }
            None => out.remark(Habit::MarksUnanswered, text),
        }
    }
}
