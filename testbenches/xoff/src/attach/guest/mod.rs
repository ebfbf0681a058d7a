//! A guest of QEMU in step with the simulation: it runs for a moment, and stands still while the simulation goes as far.
//!
//! | module | what is in it |
//! |---|---|
//! | `monitor` | QEMU's monitor, by which it is stopped and goes on |
//! | `steps` | how long it runs at a time, and what its clock says |

mod monitor;
mod steps;
#[cfg(test)]
mod tests;

use std::thread;
use std::time::{Duration as Wall, Instant};

use anyhow::{anyhow, bail};
use xoff_network::results::Stepped;
use xoff_sim::time::Duration;

pub use monitor::Place;
use monitor::{Cont, Human, Monitor, QueryStatus, Stop};
use steps::{Steps, Timer};

use super::clock::simulated;

/// How long QEMU may take to answer.
const PATIENCE: Wall = Wall::from_secs(10);
/// Reads the ACPI power management timer, where SeaBIOS puts it on QEMU's machines pc and q35.
const READ_TIMER: Human = Human { line: "i /w 0x608" };

/// How a guest is stepped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOptions {
    /// Where QEMU's monitor is.
    pub monitor: Place,
    /// How long the guest runs at a time.
    pub step: Duration,
}

/// A guest that runs while it is stepped, and stands still otherwise. It is left running.
pub(crate) struct Guest {
    monitor: Monitor,
    steps: Steps,
    timer: Timer,
    /// What has passed of the guest's time.
    time: Duration,
    count: u64,
    longest: Duration,
    /// Whether it may be that the guest stands still.
    stopped: bool,
}

impl Guest {
    /// Connects to a guest's monitor, waiting for it so long at most, and stops the guest. `None`: the process was asked
    /// to end.
    ///
    /// # Errors
    ///
    /// There is no monitor, or it is refused, or the guest cannot be stopped and go on.
    pub fn stop(options: &StepOptions, wait: Wall) -> anyhow::Result<Option<Self>> {
        Self::stop_patiently(options, wait, PATIENCE)
    }

    fn stop_patiently(
        options: &StepOptions,
        wait: Wall,
        patience: Wall,
    ) -> anyhow::Result<Option<Self>> {
        let Some(monitor) = Monitor::connect(&options.monitor, wait, patience)? else {
            return Ok(None);
        };
        let mut guest = Self {
            monitor,
            steps: Steps::new(options.step),
            timer: Timer::default(),
            time: Duration::ZERO,
            count: 0,
            longest: Duration::ZERO,
            stopped: false,
        };
        let state = guest.monitor.execute(&QueryStatus {})?;
        // With -S it has not begun.
        if !state.running && !["paused", "prelaunch"].contains(&state.status.as_str()) {
            bail!(
                "{}: the guest is in state '{}', in which it cannot go on; 'running', 'paused' or 'prelaunch' is right",
                guest.monitor.name(),
                state.status
            );
        }
        guest.stopped = true;
        guest.monitor.execute(&Stop {})?;
        let read = guest.read_timer()?;
        guest.timer.passed(read, Duration::ZERO);
        guest.monitor.events();
        Ok(Some(guest))
    }

    /// Has the guest run for a step. Returns its time since it was stopped first.
    ///
    /// # Errors
    ///
    /// QEMU is gone, refuses, or does not answer.
    pub fn step(&mut self) -> anyhow::Result<Duration> {
        let length = self.steps.next();
        let before = Instant::now();
        self.monitor.execute(&Cont {})?;
        thread::sleep(length);
        // The answers come together.
        self.monitor.send(&Stop {})?;
        self.monitor.send(&READ_TIMER)?;
        self.monitor.answer::<Stop>()?;
        // It cannot have run for longer.
        let most = simulated(before.elapsed());
        let said = self.monitor.answer::<Human>()?;
        let read = self.timer_of(&said)?;
        let about = self.ran_by_events().unwrap_or(most).min(most);
        let passed = self.timer.passed(read, about).unwrap_or(about);
        self.steps.ran(passed);
        self.time += passed;
        self.count += 1;
        self.longest = self.longest.max(passed);
        Ok(self.time)
    }

    /// How long the guest has run as events tell: a little longer than it has, since they are sent outside of the time
    /// that its clock goes.
    fn ran_by_events(&mut self) -> Option<Duration> {
        let (mut since, mut ran) = (None, None);
        for event in self.monitor.events() {
            match event.name.as_str() {
                "RESUME" => since = Some(event.us()),
                "STOP" => {
                    if let Some(since) = since.take() {
                        let us = u64::try_from(event.us().saturating_sub(since)).unwrap_or(0);
                        *ran.get_or_insert(Duration::ZERO) += simulated(Wall::from_micros(us));
                    }
                }
                _ => {}
            }
        }
        ran
    }

    fn read_timer(&mut self) -> anyhow::Result<u32> {
        let said = self.monitor.execute(&READ_TIMER)?;
        self.timer_of(&said)
    }

    /// The value in an answer such as `portl[0x0608] = 0x0028c372`.
    fn timer_of(&self, said: &str) -> anyhow::Result<u32> {
        let value = said.split_once("= 0x").map(|(_, value)| value.trim());
        let value = value.and_then(|value| u32::from_str_radix(value, 16).ok());
        value.ok_or_else(|| {
            anyhow!(
                "{}: '{}' was answered with '{}'; a port's value, such as 'portl[0x0608] = 0x0028c372', is right",
                self.monitor.name(),
                READ_TIMER.line,
                said.trim().escape_debug()
            )
        })
    }

    /// What has passed of the guest's time.
    pub const fn time(&self) -> Duration {
        self.time
    }

    /// What became of its steps.
    pub const fn stepped(&self) -> Stepped {
        Stepped {
            steps: self.count,
            guest: self.time,
            longest: self.longest,
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.stopped {
            // Also behind an error, of which there is a message already: QEMU may be gone, or behind an answer.
            let _ = self.monitor.send(&Cont {});
            let _ = self.monitor.answer::<Cont>();
        }
    }
}
