//! The watch over servers: from when on what they do in an interval is an alarm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::Duration;

use super::Scenario;
use super::check::{Issue, issue};

/// What is counted of each server, interval by interval: pauses, the time for which it stops its switch, and whether it
/// is available.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Watch {
    /// Length of an interval. What is left of the run behind the last whole one is not watched.
    pub interval: Duration,
    /// Pause frames a second, XON among them; a server that sends more in an interval is in alarm.
    pub pauses: f64,
    /// Part of an interval, 0 to 1; a server that stops its switch for more of it is in alarm.
    pub stopped: f64,
}

impl Default for Watch {
    /// Production counts over five minutes; a run of some milliseconds has intervals of one. The server of the pause
    /// storm sent more than 2,000 pauses a second (SIGCOMM 2016 §6.2), and 1,000 µs a second in which a port stands is
    /// an anomaly to Collie (NSDI 2022).
    fn default() -> Self {
        Self {
            interval: Duration::from_ms(1),
            pauses: 2_000.0,
            stopped: 1e-3,
        }
    }
}

impl Scenario {
    /// Checks the settings of the watch.
    pub(super) fn check_watch(&self) -> Result<(), Issue> {
        let Some(watch) = self.watch else {
            return Ok(());
        };
        if watch.interval == Duration::ZERO || watch.interval > self.duration {
            let problem = format!(
                "{} must be above 0 and at most the duration, {}",
                watch.interval, self.duration
            );
            return Err(issue("watch.interval", problem));
        }
        if !(watch.pauses >= 0.0 && watch.pauses.is_finite()) {
            let problem = format!("{} must be 0 or above: pause frames a second", watch.pauses);
            return Err(issue("watch.pauses", problem));
        }
        if !(0.0..=1.0).contains(&watch.stopped) {
            let problem = format!("{} must be 0 to 1: a part of the interval", watch.stopped);
            return Err(issue("watch.stopped", problem));
        }
        Ok(())
    }
}
