//! A failing case of a network again, with waves of its queues, pauses and rates, a capture of all ports, and the last
//! frames.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, bail};
use xoff_network::Simulation;
use xoff_network::scenario::Scenario;
use xoff_sim::kernel::{Direction, Record};
use xoff_sim::protocol;
use xoff_sim::time::{Duration, Time};
use xoff_waves::capture::{TapPort, TapWriter};
use xoff_waves::layout::Marker;

use super::bench::{self, Recording};
use crate::property::nic::pair::PERIOD;
use crate::property::retrace::{BEFORE, Failed, Retraced, Shows, Wanted, Waves, in_a_line};
use xoff_waves::fabric::{FABRIC, FabricWaves, FabricWindow};

/// The shortest window before a failure. What a switch drops was sent some microseconds before.
const LEAST: Duration = Duration::from_us(50);
/// The most frames in the account of a failure.
const MOST_FRAMES: usize = 20;

/// Runs a case, and again with waves and a capture if it fails.
///
/// # Errors
///
/// A file cannot be written, or the case does not fail again.
pub fn network(scenario: &Scenario, wanted: &Wanted) -> anyhow::Result<Retraced> {
    let violated = match bench::check(scenario) {
        Ok(outcome) => {
            wanted.clear()?;
            return Ok(Retraced::Held {
                events: outcome.frames,
                waves: Vec::new(),
            });
        }
        Err(violated) => violated,
    };
    wanted.create()?;
    // A network has no clock: the cycles that are wanted are those of a NIC at 40 Gb/s.
    let before = LEAST.max(PERIOD * wanted.before.unwrap_or(BEFORE));
    let from = match wanted.whole {
        true => Time::ZERO,
        false => Time::from_ps(violated.at.as_ps().saturating_sub(before.as_ps())),
    };
    let window = FabricWindow {
        path: wanted.folder.join(FABRIC).with_extension("fst"),
        from,
        until: violated.at,
    };
    let mut recorder = Recorder {
        dcqcn: scenario.host.dcqcn.is_some(),
        capture: None,
        capture_path: wanted.folder.join("capture.pcapng"),
        names: Vec::new(),
        waves: None,
        last: VecDeque::new(),
        error: None,
        window,
    };
    let again = bench::recorded(scenario, Some(&mut recorder));
    if let Some(error) = recorder.error.take() {
        return Err(error);
    }
    match again {
        Err(again) if again.what == violated.what => {}
        _ => bail!("the case did not fail again in the same way: something is not deterministic"),
    }
    let (waves, capture) = recorder.end(violated.at)?;
    Ok(Retraced::Failed(Failed {
        disagreement: violated.what,
        waves: vec![waves],
        events: recorder.last.into(),
        capture: Some(capture),
        ..Failed::default()
    }))
}

/// Writes waves and a capture of a window.
struct Recorder {
    window: FabricWindow,
    dcqcn: bool,
    waves: Option<FabricWaves>,
    capture: Option<TapWriter<BufWriter<File>>>,
    capture_path: PathBuf,
    /// Names of the nodes.
    names: Vec<String>,
    /// The last frames, a line each.
    last: VecDeque<String>,
    /// The first error.
    error: Option<anyhow::Error>,
}

impl Recorder {
    fn begin(&mut self, simulation: &Simulation) -> anyhow::Result<()> {
        self.waves = Some(FabricWaves::create(simulation, self.dcqcn, &self.window)?);
        let ports = simulation.all_ports();
        let ports = ports.into_iter().map(|port| TapPort::of(simulation, port));
        let file = File::create(&self.capture_path)
            .and_then(|file| TapWriter::new(BufWriter::new(file), ports));
        let named = || self.capture_path.display().to_string();
        self.capture = Some(file.with_context(named)?);
        self.names = simulation.names().to_vec();
        Ok(())
    }

    /// Completes the files.
    fn end(&mut self, failed: Time) -> anyhow::Result<(Waves, PathBuf)> {
        let named = || self.capture_path.display().to_string();
        let (Some(mut waves), Some(mut capture)) = (self.waves.take(), self.capture.take()) else {
            bail!("the case failed before its first frame");
        };
        let text = "the failure was noticed here";
        capture
            .comment(failed.as_ps() / 1_000, text)
            .and_then(|()| capture.flush())
            .with_context(named)?;
        waves.marker = Some(Marker {
            name: "failure".into(),
            time_ps: failed.as_ps(),
        });
        waves.finish()?;
        let waves = Waves {
            path: self.window.path.clone(),
            shows: Shows::Network,
            failed_ps: failed.as_ps(),
        };
        Ok((waves, self.capture_path.clone()))
    }

    fn keep(&mut self, result: anyhow::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl Recording for Recorder {
    fn due(&self) -> Option<Time> {
        match &self.waves {
            _ if self.error.is_some() => None,
            None => Some(self.window.from),
            Some(waves) => waves.due(),
        }
    }

    fn look(&mut self, simulation: &Simulation) {
        if self.error.is_some() || simulation.now() < self.window.from {
            return;
        }
        if self.waves.is_none() {
            let begun = self.begin(simulation);
            self.keep(begun);
        }
        if let Some(waves) = &mut self.waves {
            let sampled = waves.sample(simulation);
            self.keep(sampled.map_err(Into::into));
        }
    }

    fn see(&mut self, record: &Record) {
        let Some(capture) =
            (self.capture.as_mut()).filter(|_| record.frame.end <= self.window.until)
        else {
            return;
        };
        let wrote = capture.write(record);
        let wrote = wrote.with_context(|| self.capture_path.display().to_string());
        self.keep(wrote);
        if record.direction != Direction::Sent {
            return;
        }
        if self.last.len() == MOST_FRAMES {
            self.last.pop_front();
        }
        self.last.push_back(format!(
            "{:>9} ns  {}.{} sent {}",
            record.frame.start.as_ps() / 1_000,
            self.names[record.node.0 as usize],
            record.port.0,
            in_a_line(&protocol::parse(&record.frame.bytes.whole()))
        ));
    }
}
