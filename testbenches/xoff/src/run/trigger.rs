//! Waves around the first clock edge at which a condition holds: `xoff run --wave-when`.
//!
//! The condition may name any signal of the NIC, so the run is traced while it is looked for, with the signals of the
//! condition alone: in segments whose waves are searched and removed. Before each segment the state of the run is kept
//! in memory. When the edge is found, the run goes back to the last state that is early enough, and is traced from the
//! wanted number of cycles before the edge on. So neither memory nor disk grows with the length of the run.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use xoff_network::plan::Plan;
use xoff_network::scenario::{NicKind, Scenario};
use xoff_network::{Endpoints, Run, Simulation, WaveWindow};
use xoff_sim::kernel::Record;
use xoff_sim::time::{Duration, Length, Time};

use super::checkpoint::{restore, save};
use crate::interruption::interrupted;
use xoff_waves::read::condition::Condition;
use xoff_waves::read::file::Waves;
use xoff_waves::read::rows::{Window, rows};

/// The option, for messages.
const OPTION: &str = "--wave-when";
/// The simulated time of the first segment. Each is twice as long as the one before, since opening a file and reading
/// its table of signals costs as much as some hundred cycles.
const FIRST_SEGMENT: Duration = Duration::from_us(2);
/// The longest segment. Its waves are some tens of MB.
const LONGEST_SEGMENT: Duration = Duration::from_us(64);

/// Waves of a host around the first clock edge at which a condition holds.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// The host.
    pub host: String,
    /// The condition.
    pub condition: Condition,
    /// What waves of the host's NIC have.
    pub signals: Signals,
    /// Edges before this time do not count.
    pub from: Time,
    /// Cycles before the edge, and behind it.
    pub cycles: [u64; 2],
    /// The file of waves.
    pub path: PathBuf,
}

/// The signals that are traced while a condition is looked for.
#[derive(Debug, Clone)]
pub struct Signals {
    /// The names of those of the condition and of the clock; no name if only waves of the whole NIC have them.
    only: Vec<String>,
    /// The whole name of the NIC's clock: clocks of parts may be gated.
    clock: String,
    /// The period of the clock.
    period: Duration,
}

impl Signals {
    /// Finds the signals of a condition in waves of a NIC of this kind, before anything runs.
    ///
    /// # Errors
    ///
    /// Returns an error for the first that it does not have.
    pub fn find(
        condition: &Condition,
        host: &str,
        nic: &NicKind,
        endpoints: &Endpoints,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("nic.fst");
        let peer = if host == "a" { "b" } else { "a" };
        let mut alone = Scenario::new("signals", Duration::from_us(1));
        alone = alone.host(host).host(peer);
        alone = alone.link(host, peer, Length::from_m(1));
        for entry in &mut alone.hosts {
            entry.nic = Some(if entry.name == host {
                nic.clone()
            } else {
                NicKind::Model
            });
        }
        let mut simulation = Simulation::with(&alone.checked()?, endpoints)?;
        simulation.set_skip(false);
        let clocked = simulation
            .station(host)
            .endpoint()
            .and_then(|nic| nic.clocked());
        let clock = clocked.and_then(|nic| Some((nic.clock_signal()?, nic.period())));
        let (clock, period) =
            clock.with_context(|| format!("{OPTION}: the NIC of {host} writes no waves"))?;
        let mut waves = |only: &[String]| -> anyhow::Result<Waves> {
            let window = WaveWindow {
                path: path.clone(),
                from: Time::ZERO,
                until: Time::MAX,
                only: only.to_vec(),
            };
            simulation.set_waves(host, window)?;
            let until = simulation.now() + period * 4;
            simulation.run_until(until)?;
            simulation.close_waves()?;
            Ok(Waves::open(&path)?)
        };
        let all = waves(&[])?;
        let condition_there = condition.resolve(&all, OPTION)?;
        let wanted = condition_there
            .signals()
            .into_iter()
            .map(|signal| signal.id);
        let name = |id| all.signals.iter().find(|signal| signal.id == id);
        let mut only: Vec<String> = wanted
            .filter_map(|id| Some(name(id)?.name.clone()))
            .collect();
        only.push(clock.clone());
        // Names of elements of arrays are not spelled in all files as Verilator spells them.
        if condition.resolve(&waves(&only)?, OPTION).is_err() {
            only.clear();
        }
        Ok(Self {
            only,
            clock,
            period,
        })
    }
}

impl Trigger {
    /// Finds the host of a condition: the one whose name its signals begin with, or the only one with RTL.
    ///
    /// # Errors
    ///
    /// Returns an error if the condition is not of one host with RTL.
    pub fn host(condition: &Condition, scenario: &Scenario, plan: &Plan) -> anyhow::Result<String> {
        let software = [Some(&NicKind::Model), Some(&NicKind::Tcp)];
        let rtl = |name: &&String| !software.contains(&scenario.nic_of(name));
        let hosts: Vec<&String> = plan.names[..plan.hosts].iter().filter(rtl).collect();
        let listed = || {
            let listed: Vec<&str> = hosts.iter().map(|host| &host[..]).collect();
            listed.join(", ")
        };
        if hosts.is_empty() {
            bail!("{OPTION}: all NICs are models, and only RTL has waves: nic = \"rtl\"");
        }
        let names = condition.names();
        let first = names
            .iter()
            .map(|name| name.split('.').next().unwrap_or_default());
        let mut named: Vec<&String> = hosts.clone();
        let first: Vec<&str> = first.collect();
        named.retain(|host| first.contains(&&host[..]));
        match (&named[..], &hosts[..]) {
            ([one], _) | ([], [one]) => Ok((*one).clone()),
            ([], _) => bail!(
                "{OPTION} '{condition}': of which host? Write HOST.SIGNAL; hosts with an RTL NIC are {}",
                listed()
            ),
            _ => bail!(
                "{OPTION} '{condition}': signals of several hosts: a condition is about one of {}",
                listed()
            ),
        }
    }

    fn time(&self, cycles: u64) -> Duration {
        self.signals.period * cycles
    }

    /// The window of waves around a rising edge. It contains cycles by the time at which they begin, which is less than
    /// a period before their edge.
    pub fn window(&self, edge: Time) -> WaveWindow {
        let before = self.time(self.cycles[0] + 1).as_ps();
        WaveWindow {
            path: self.path.clone(),
            from: Time::from_ps(edge.as_ps().saturating_sub(before)),
            until: edge + self.time(self.cycles[1]),
            only: Vec::new(),
        }
    }

    /// Runs until the condition holds at a clock edge, or until its end. Returns the state of the run, in the former case
    /// one before the window of waves, and the time of the edge. `told` is called from time to time.
    ///
    /// # Errors
    ///
    /// Returns an error for a run that fails, a state that cannot be saved, and waves that cannot be written.
    pub fn find(
        &self,
        mut run: Run,
        endpoints: &Endpoints,
        mut told: impl FnMut(Time),
    ) -> anyhow::Result<(Run, Option<Time>)> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let folder = tempfile::Builder::new()
            .prefix(".trigger-")
            .tempdir_in(folder)
            .with_context(|| format!("{}", folder.display()))?;
        let path = folder.path().join("segment.fst");
        let before = self.time(self.cycles[0] + 1);
        let mut saved: VecDeque<(Time, Vec<u8>)> = VecDeque::new();
        let ignore = |_: &[Record]| {};
        let mut length = FIRST_SEGMENT;
        let end = run.end();
        while run.now() < end && !interrupted() {
            let begin = run.now();
            if run.next_sample() + before <= self.from {
                run.advance(end, ignore)?;
                told(run.now());
                continue;
            }
            let kept = save(&run).map_err(|_| {
                anyhow::anyhow!("{OPTION}: a host with an own NIC cannot be saved: use --waves")
            })?;
            saved.push_back((begin, kept));
            // An edge in this segment needs a state at or before the beginning of its window.
            while saved
                .get(1)
                .is_some_and(|(time, _)| *time + before <= begin)
            {
                saved.pop_front();
            }
            if run.next_sample() <= self.from {
                run.advance(end, ignore)?;
                told(run.now());
                continue;
            }
            let segment = WaveWindow {
                path: path.clone(),
                from: begin,
                until: Time::MAX,
                only: self.signals.only.clone(),
            };
            run.simulation.set_waves(&self.host, segment)?;
            let until = (begin + length).min(end);
            length = (length * 2).min(LONGEST_SEGMENT);
            while run.now() < until && !interrupted() {
                run.advance(end, ignore)?;
            }
            run.simulation.close_waves()?;
            told(run.now());
            // A NIC that rests is not evaluated, and then there are no waves.
            if path.exists() {
                if let Some(edge) = self.first_edge(&path)? {
                    let wanted = self.window(edge).from;
                    let early = saved.iter().rfind(|(time, _)| *time <= wanted);
                    let (_, kept) = early.or(saved.front()).expect("one was kept before");
                    let run = restore(kept, endpoints).map_err(anyhow::Error::msg)?;
                    return Ok((run, Some(edge)));
                }
                std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
            }
        }
        Ok((run, None))
    }

    /// Returns the time of the first clock edge in a file at which the condition holds.
    fn first_edge(&self, path: &Path) -> anyhow::Result<Option<Time>> {
        let mut waves = Waves::open(path)?;
        if waves.times().is_empty() {
            return Ok(None);
        }
        let condition = self.condition.resolve(&waves, OPTION)?;
        let clock = waves.find(OPTION, &self.signals.clock)?;
        let window = Window::new(&waves, None, None)?;
        let edges = rows(&mut waves, &[], window, Some(clock), Some(&condition))?;
        let times = edges.iter().map(|row| Time::from_ps(waves.ps(row.tick).0));
        Ok(times.into_iter().find(|time| *time >= self.from))
    }
}
