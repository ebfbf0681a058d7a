//! The run of a scenario: the network goes from sample to sample, is measured, and is shown to observers.
//!
//! | stage | what it is |
//! |---|---|
//! | source | a [`Run`]: [new](Run::new), or what a checkpoint has |
//! | run | [`Run::go`]: steps, which a [`Control`] may hold or end, and [`Observer`]s see |
//! | results | [`Run::finish`]: observers complete their files, a [`Summary`] has what was measured and what they found |

use std::error::Error;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::Record;
use xoff_sim::time::{Duration, Time};

use crate::metrics::Recorder;
use crate::onboarding::Gatekeeper;
use crate::parts::{Look, Way};
use crate::policy::SlowLoop;
use crate::results::Summary;
use crate::scenario::Checked;
use crate::watch::ServerWatch;
use crate::{Endpoints, Simulation, SimulationError};

/// Why an observer cannot go on, such as a full disk.
pub type ObserverError = Box<dyn Error + Send + Sync>;

/// Whoever watches a run: a capture, protocol monitors, waves of the network, a progress bar. Nothing that it does
/// changes the run.
pub trait Observer {
    /// When it wants to see the network at the latest; `None` if it does not matter.
    fn due(&self) -> Option<Time> {
        None
    }

    /// Sees the network while time stands still, before each step.
    ///
    /// # Errors
    ///
    /// It cannot go on; this ends the run.
    fn network(&mut self, _run: &Run) -> Result<(), ObserverError> {
        Ok(())
    }

    /// Sees frames at the ports that are tapped, ordered by time.
    ///
    /// # Errors
    ///
    /// It cannot go on; this ends the run behind the step.
    fn frames(&mut self, _records: &[Record]) -> Result<(), ObserverError> {
        Ok(())
    }

    /// Sees the network when the run has ended or was interrupted.
    ///
    /// # Errors
    ///
    /// What it has seen cannot be completed.
    fn end(&mut self, _run: &Run) -> Result<(), ObserverError> {
        Ok(())
    }

    /// Adds what it has found to the results of a run that has ended.
    fn add_to(&self, _summary: &mut Summary) {}
}

/// Whoever holds a run, or moves it: a peer outside, whose clock it follows; checkpoints that are taken, and from which
/// it goes on; a request to end. `()` lets it run.
pub trait Control {
    /// Before each step, says until when the run may go at most. `None`: it goes no further.
    ///
    /// # Errors
    ///
    /// It cannot go on; this ends the run.
    fn before(&mut self, run: &mut Run) -> Result<Option<Time>, ObserverError> {
        Ok(Some(run.end()))
    }

    /// Has the run behind each step, and may put another one in its place.
    ///
    /// # Errors
    ///
    /// As [`before`](Self::before).
    fn after(&mut self, _run: &mut Run) -> Result<(), ObserverError> {
        Ok(())
    }

    /// Has the run when it has come to its end or goes no further.
    ///
    /// # Errors
    ///
    /// As [`before`](Self::before).
    fn end(&mut self, _run: &mut Run) -> Result<(), ObserverError> {
        Ok(())
    }
}

impl Control for () {}

/// A run between two steps. In serialized form it is a checkpoint, from which the run goes on as if it had never
/// stopped.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    /// The network.
    pub simulation: Simulation,
    /// What was measured so far.
    pub recorder: Recorder,
    next_sample: Time,
    sampling: Duration,
    next_window: Time,
    window: Duration,
    measure_from: Time,
    end: Time,
    slow_loop: Option<SlowLoop>,
}

impl Run {
    /// A run of a scenario at time zero.
    ///
    /// # Errors
    ///
    /// The scenario is inconsistent, or a host cannot be created.
    pub fn new(scenario: &Checked, endpoints: &Endpoints) -> Result<Self, SimulationError> {
        let mut simulation = Simulation::with(scenario, endpoints)?;
        let (series, nodes) = (simulation.series().len(), simulation.names().len());
        let (sampling, window) = (
            scenario.sampling(series, nodes),
            scenario.window(series, nodes),
        );
        // From here on switches keep account.
        simulation.take_levels();
        let mut recorder =
            Recorder::with(&simulation, scenario.detect).watching(&simulation, scenario.watch);
        if scenario.audit.is_some() {
            recorder = recorder.auditing(&simulation, scenario);
        }
        if let Some(onboarding) = &scenario.onboarding {
            recorder.onboard(&mut simulation, onboarding.clone());
        }
        let slow_loop = match scenario.policy {
            None => None,
            Some(_) => SlowLoop::new(scenario, endpoints, &simulation, &mut recorder)?,
        };
        Ok(Self {
            slow_loop,
            recorder,
            next_sample: Time::ZERO + sampling,
            sampling,
            next_window: Time::ZERO + window,
            window,
            measure_from: Time::ZERO + scenario.measure_from,
            end: Time::ZERO + scenario.duration,
            simulation,
        })
    }

    /// Gives a deserialized run its own NICs and its policy, which go on from the state that was saved.
    ///
    /// # Errors
    ///
    /// As [`Simulation::attach`]; also a policy that is not in `endpoints`.
    pub fn attach(&mut self, endpoints: &Endpoints) -> Result<(), SimulationError> {
        self.simulation.attach(endpoints)?;
        if let Some(slow_loop) = &mut self.slow_loop {
            slow_loop.attach(endpoints)?;
        }
        Ok(())
    }

    /// The policy, if there is one.
    pub const fn slow_loop(&self) -> Option<&SlowLoop> {
        self.slow_loop.as_ref()
    }

    /// Divides the run among the parts on a way, as [`Simulation::divide`] does. In part 0 it goes on as if it were
    /// whole; in the others its simulation [obeys](Simulation::obey).
    pub fn divide(&mut self, way: Way) {
        self.simulation.divide(way);
    }

    /// The time at which it has come.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// The time at which it ends.
    pub const fn end(&self) -> Time {
        self.end
    }

    /// When the next sample is due.
    pub const fn next_sample(&self) -> Time {
        self.next_sample
    }

    /// Ends it with its next step, which measures it as at the end of its time.
    pub fn end_soon(&mut self) {
        self.end = self.end.min(self.now() + Duration::from_ns(1));
    }

    /// Whether it has come to its end.
    pub fn has_ended(&self) -> bool {
        self.now() >= self.end
    }

    /// Runs to the next sample, the end of a window of rates or of an interval of the watch over servers, the judgement
    /// of a stage, a look of the policy, the start of the measured window, the end or `stop`, whichever is first, and
    /// returns that time. `observe` is given what happens at tapped ports.
    ///
    /// # Errors
    ///
    /// A host cannot go on, for example because an assertion of its RTL failed.
    pub fn advance(
        &mut self,
        stop: Time,
        observe: impl FnMut(&[Record]),
    ) -> Result<Time, SimulationError> {
        let begins = (self.now() < self.measure_from).then_some(self.measure_from);
        let watched = self.recorder.watch().map(ServerWatch::due);
        let judged = self.recorder.gatekeeper().and_then(Gatekeeper::due);
        let steered = self.slow_loop.as_ref().and_then(SlowLoop::due);
        let until = begins
            .map_or(self.next_sample, |begins| begins.min(self.next_sample))
            .min(watched.unwrap_or(self.end))
            .min(judged.unwrap_or(self.end))
            .min(steered.unwrap_or(self.end))
            .min(self.next_window)
            .min(self.end)
            .min(stop);
        self.simulation.run_until_observed(until, observe)?;
        let begins = begins.is_some() && until == self.measure_from;
        let window = until == self.next_window;
        let interval = Some(until) == watched;
        let sample = until == self.next_sample || until == self.end || Some(until) == judged;
        let steers = Some(until) == steered;
        if sample || steers {
            self.simulation.look(Look::Levels)?;
        } else if begins {
            self.simulation.look(Look::All)?;
        } else if window || interval {
            self.simulation.look(Look::Rates)?;
        }
        if begins {
            self.recorder.begin(&self.simulation);
        }
        if window {
            self.recorder.end_window(&self.simulation);
            self.next_window = until + self.window;
        }
        if interval {
            self.recorder.end_interval(&self.simulation);
        }
        if sample {
            self.recorder.sample(&mut self.simulation);
        }
        if until == self.next_sample || until == self.end {
            self.next_sample = until + self.sampling;
        }
        if Some(until) == judged {
            self.recorder.judge_stage(&mut self.simulation);
        }
        if let Some(slow_loop) = self.slow_loop.as_mut().filter(|_| steers) {
            slow_loop.look(&mut self.simulation, &mut self.recorder)?;
        }
        Ok(until)
    }

    /// Goes to its end, or until `control` ends it. Observers see it on the way.
    ///
    /// # Errors
    ///
    /// The run or an observer cannot go on, or `control` says so.
    pub fn go(
        &mut self,
        control: &mut dyn Control,
        observers: &mut [&mut dyn Observer],
    ) -> Result<(), ObserverError> {
        while !self.has_ended()
            && let Some(stop) = control.before(self)?
        {
            self.step(stop, observers)?;
            control.after(self)?;
        }
        control.end(self)
    }

    /// Ends what observers and RTL write, and returns what was measured until now, with what observers have found. The
    /// expectations are judged if the run has come to its end.
    ///
    /// # Errors
    ///
    /// A file cannot be completed, an expectation is about a metric that does not exist, or another part is gone.
    pub fn finish(
        &mut self,
        scenario: &Checked,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Summary, ObserverError> {
        for observer in &mut *observers {
            observer.end(self)?;
        }
        self.simulation.close_waves()?;
        self.simulation.look(Look::Levels)?;
        let mut summary = Summary::of(self, scenario)?;
        summary.exchange = self.simulation.end_parts()?;
        for observer in &*observers {
            observer.add_to(&mut summary);
        }
        Ok(summary)
    }

    /// Shows the network to the observers, and then advances, at most to `stop` and to the time at which the first of
    /// them wants to see it again.
    fn step(
        &mut self,
        stop: Time,
        observers: &mut [&mut dyn Observer],
    ) -> Result<(), ObserverError> {
        let due = |observers: &[&mut dyn Observer]| {
            let due = observers.iter().filter_map(|observer| observer.due());
            due.min()
        };
        // Whoever did not ask for this time has nothing to see that was not measured.
        if due(observers).is_some_and(|due| due <= self.now()) {
            self.simulation.look(Look::All)?;
        }
        for observer in &mut *observers {
            observer.network(self)?;
        }
        let due = due(observers);
        let mut seen = Ok(());
        self.advance(due.unwrap_or(stop).min(stop), |records| {
            if seen.is_ok() {
                seen = (observers.iter_mut()).try_for_each(|observer| observer.frames(records));
            }
        })?;
        seen
    }
}
