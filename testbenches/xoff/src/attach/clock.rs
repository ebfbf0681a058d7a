//! The clock that simulated time follows: that on the wall, or that of a guest.

use std::time::{Duration as Wall, Instant};

use xoff_network::results::Stepped;
use xoff_sim::time::{Duration, Time};

use super::guest::{Guest, StepOptions};
use super::pace::{Pace, SLICE};

const PS_PER_NS: u64 = 1_000;

/// A simulated duration as one on the wall, whose unit is the nanosecond.
pub(super) fn on_wall(simulated: Duration) -> Wall {
    Wall::from_nanos(simulated.as_ps() / PS_PER_NS)
}

/// A duration on the wall as a simulated one: the longest, of one that is too long.
pub(super) fn simulated(wall: Wall) -> Duration {
    let ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_ps(ns.saturating_mul(PS_PER_NS))
}

/// How simulated time goes.
#[derive(Debug, Clone, PartialEq)]
pub enum ClockOptions {
    /// In simulated seconds a second on the wall.
    Pace(f64),
    /// In step with a guest.
    Step(StepOptions),
}

impl ClockOptions {
    /// Reads them from the arguments.
    ///
    /// # Errors
    ///
    /// They do not go together.
    pub fn of(
        pace: Option<f64>,
        step: Option<Duration>,
        monitor: Option<&super::Monitor>,
    ) -> anyhow::Result<Self> {
        match (pace, step, monitor) {
            (pace, None, None) => Ok(Self::Pace(pace.unwrap_or(1.0))),
            (None, Some(step), Some(monitor)) => Ok(Self::Step(StepOptions {
                monitor: monitor.clone(),
                step,
            })),
            (Some(_), _, _) => anyhow::bail!(
                "--pace: with --step, simulated time goes as far as the guest's clock; without --pace is right"
            ),
            (_, Some(_), None) => anyhow::bail!(
                "--step: the guest is stopped by QEMU's monitor; --qmp unix:PATH says where that is, of QEMU's \
                 -qmp unix:PATH,server=on,wait=off"
            ),
            (_, None, Some(_)) => anyhow::bail!(
                "--qmp: the guest is stopped for --step alone; --step 1ms is right, or neither of them"
            ),
        }
    }
}

/// The clock that simulated time follows.
pub(crate) enum Clock {
    /// That on the wall.
    Wall {
        /// How simulated time follows it.
        pace: Pace,
        /// When it began.
        since: Instant,
    },
    /// That of a guest.
    Guest {
        /// The guest, which stands still.
        guest: Box<Guest>,
        /// The simulated time at which its clock began.
        began: Option<Time>,
    },
}

impl Clock {
    /// Starts the clock. A guest's monitor is waited for so long at most. `None`: the process was asked to end.
    ///
    /// # Errors
    ///
    /// The guest cannot be stopped.
    pub fn start(options: &ClockOptions, wait: Wall) -> anyhow::Result<Option<Self>> {
        Ok(match options {
            ClockOptions::Pace(pace) => Some(Self::Wall {
                pace: Pace::new(*pace),
                since: Instant::now(),
            }),
            ClockOptions::Step(options) => Guest::stop(options, wait)?.map(|guest| Self::Guest {
                guest: Box::new(guest),
                began: None,
            }),
        })
    }

    /// Has a guest run for a step, if the simulation is as far as it. Returns how long may be waited for a frame of the
    /// peer, in a simulation that is at `now` and does something next at `next`.
    ///
    /// # Errors
    ///
    /// The guest cannot be stepped any more.
    pub fn wait(&mut self, now: Time, next: Option<Time>) -> anyhow::Result<Wall> {
        match self {
            Self::Wall { pace, .. } => Ok(pace.pause(now, next)),
            Self::Guest { guest, began } => {
                let began = *began.get_or_insert(now);
                if now >= began + guest.time() {
                    guest.step()?;
                }
                // What the guest has sent was sent before it stopped.
                Ok(Wall::ZERO)
            }
        }
    }

    /// Until when the simulation may go before it is looked for frames.
    pub fn until(&mut self, now: Time, next: Option<Time>) -> Time {
        match self {
            Self::Wall { pace, .. } => pace.until(now, next),
            Self::Guest { guest, began } => {
                let until = began.map_or(now, |began| began + guest.time());
                next.map_or(until, |next| until.min(next.max(now) + SLICE))
            }
        }
    }

    /// What has passed of the time that the peer has, in which its silence is measured.
    pub fn passed(&self) -> Wall {
        match self {
            Self::Wall { since, .. } => since.elapsed(),
            Self::Guest { guest, .. } => on_wall(guest.time()),
        }
    }

    /// What became of a guest's steps.
    pub const fn stepped(&self) -> Option<Stepped> {
        match self {
            Self::Wall { .. } => None,
            Self::Guest { guest, .. } => Some(guest.stepped()),
        }
    }
}
