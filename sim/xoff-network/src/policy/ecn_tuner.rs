//! Thresholds of marks that follow the queues: ACC without the learning.
//!
//! ACC (Yan et al., 'ACC: Automatic ECN Tuning for High-Speed Datacenter Networks', SIGCOMM 2021) has each switch look
//! at its queues, its utilization and its marks, and choose Kmin, Kmax and Pmax, with thresholds that are powers of two
//! times 20 KB; what it learned is when to go which way. This policy goes by two lines, for each switch at each look:
//!
//! 1. If the switch sent pauses, or what waited at its fullest port on average takes longer than `target` to leave,
//!    Kmin and Kmax are halved, down to a Kmax of `least`.
//! 2. Otherwise, if it marked packets, its busiest port was busy for less than the part `full` of the time, and less
//!    than a quarter of `target` waited, they are doubled, up to a Kmax of `most`: marks cost throughput, and nothing
//!    is gained by them.
//!
//! Pmax, and the ratio of Kmin to Kmax, stay as they are.

use serde::{Deserialize, Serialize};
use xoff_sim::time::{ByteCount, Duration, LineRate};

use super::{Measured, Policy, PolicySetup};
use crate::metrics::Quantity;
use crate::scenario::Action;
use crate::scenario::event::Set;
use crate::scenario::switch::Ecn;

/// What the scenario may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Parameters {
    /// How long what waits at a port may take to leave.
    target: Duration,
    /// The least and the greatest Kmax.
    least: ByteCount,
    most: ByteCount,
    /// The part of the time for which a port is busy that counts as full.
    full: f64,
}

impl Default for Parameters {
    /// The time that the DCQCN paper's Kmax takes at its rate, 200 KB at 40 Gb/s; the ends of ACC's range.
    fn default() -> Self {
        Self {
            target: Duration::from_us(40),
            least: ByteCount::new(20_000),
            most: ByteCount::new(10_000_000),
            full: 0.95,
        }
    }
}

/// The policy `ecn-tuner`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EcnTuner {
    parameters: Parameters,
    switches: Vec<Tuned>,
}

/// A switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tuned {
    name: String,
    ports: u16,
    /// The rate of its slowest port, at which queues take longest.
    slowest: LineRate,
    kmin: u64,
    kmax: u64,
    pmax: f64,
    classes: Vec<u8>,
}

impl EcnTuner {
    /// Its name in scenarios.
    pub const NAME: &'static str = "ecn-tuner";
}

impl Policy for EcnTuner {
    fn new(setup: &PolicySetup<'_>) -> Result<Self, String> {
        let parameters: Parameters = setup.read()?;
        let Parameters {
            target,
            least,
            most,
            full,
        } = &parameters;
        if *target == Duration::ZERO {
            return Err("target: above 0, such as '40 us'".into());
        }
        if !(ByteCount::new(2)..=*most).contains(least) {
            return Err(format!("least: {least}: 2 B up to most, {most}"));
        }
        if !(*full > 0.0 && *full <= 1.0) {
            return Err(format!("full: {full}: above 0 to 1"));
        }
        let mut switches = Vec::new();
        for entry in &setup.scenario.switches {
            let Some(ecn) = &entry.ecn else { continue };
            let names = entry.names();
            for node in setup.switches().filter(|node| names.contains(&node.name)) {
                let slowest = node.ports.iter().max_by_key(|rate| rate.byte_time());
                let Some(&slowest) = slowest else { continue };
                let red = ecn.curve().red().at(slowest);
                switches.push(Tuned {
                    name: node.name.clone(),
                    ports: node.ports.len() as u16,
                    slowest,
                    kmin: red.kmin.get(),
                    kmax: red.kmax.get(),
                    pmax: ecn.pmax,
                    classes: ecn
                        .classes
                        .clone()
                        .unwrap_or_else(|| entry.lossless.clone()),
                });
            }
        }
        match switches.is_empty() {
            true => Err("no switch marks packets: switches.NAME.ecn has it do so".into()),
            false => Ok(Self {
                parameters,
                switches,
            }),
        }
    }

    fn step(&mut self, measured: &Measured) -> Vec<Action> {
        let parameters = &self.parameters;
        let changed = |switch: &mut Tuned| switch.step(parameters, measured);
        self.switches.iter_mut().filter_map(changed).collect()
    }
}

impl Tuned {
    fn step(&mut self, parameters: &Parameters, measured: &Measured) -> Option<Action> {
        let waiting = measured.queue.get(&self.name)?.mean;
        let delay = waiting * self.slowest.byte_time().as_ps() as f64;
        let target = parameters.target.as_ps() as f64;
        let busy = (0..self.ports)
            .map(|port| measured.of_port(Quantity::WireUtilization, &self.name, port))
            .fold(0.0, f64::max);
        let count = |quantity| measured.of_node(quantity, &self.name);
        let kmax = if count(Quantity::PauseFramesTx) > 0.0 || delay > target {
            (self.kmax / 2).max(parameters.least.get()).min(self.kmax)
        } else if count(Quantity::EcnMarked) > 0.0 && busy < parameters.full && delay < target / 4.0
        {
            (self.kmax * 2).min(parameters.most.get()).max(self.kmax)
        } else {
            self.kmax
        };
        if kmax == self.kmax {
            return None;
        }
        // In proportion, and below Kmax whatever is rounded.
        let kmin = u128::from(self.kmin) * u128::from(kmax) / u128::from(self.kmax);
        self.kmin = (kmin as u64).min(kmax - 1);
        self.kmax = kmax;
        Some(Action::Set(Box::new(Set {
            switch: self.name.clone(),
            xoff: None,
            ecn: Some(Ecn {
                kmin: Some(ByteCount::new(self.kmin)),
                kmax: Some(ByteCount::new(self.kmax)),
                pmax: self.pmax,
                classes: Some(self.classes.clone()),
                ..Ecn::default()
            }),
            lossless_never_floods: None,
        })))
    }
}
