//! A policy in a run.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};

use super::kind::Object;
use super::measured::Meter;
use super::{NodeFacts, PolicySetup, Steered};
use crate::events::settings;
use crate::metrics::Recorder;
use crate::plan::Plan;
use crate::results::ns;
use crate::scenario::check::Issue;
use crate::scenario::subjects::Subjects;
use crate::scenario::{Checked, Event};
use crate::{Endpoints, Simulation, SimulationError};

/// A policy, when it looks, and the changes that it has made. In serialized form it is a part of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub struct SlowLoop {
    name: String,
    every: Duration,
    next: Time,
    end: Time,
    looks: u64,
    subjects: Subjects,
    meter: Meter,
    policy: Held,
    #[serde(with = "crate::as_text")]
    changes: Vec<Event>,
}

#[derive(Debug)]
enum Held {
    Policy(Box<dyn Object>),
    /// Read from a checkpoint, and of no use until it is attached.
    Saved(Vec<u8>),
}

impl Serialize for Held {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Policy(policy) => policy.save().serialize(serializer),
            Self::Saved(saved) => saved.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Held {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::Saved)
    }
}

/// The policy that a scenario names, if it names one.
fn made(scenario: &Checked, endpoints: &Endpoints) -> Result<Option<Box<dyn Object>>, Issue> {
    let Some(settings) = &scenario.policy else {
        return Ok(None);
    };
    let kind = endpoints.policy(&settings.name).map_err(|message| Issue {
        key: "policy.name".into(),
        message,
    })?;
    let plan = Plan::new(scenario);
    let facts = |(number, name): (u32, &String)| {
        let ports = 0..plan.ports[number as usize];
        NodeFacts {
            name: name.clone(),
            host: plan.is_host(NodeId(number)),
            ports: ports
                .map(|port| plan.rate(NodeId(number), PortId(port)))
                .collect(),
        }
    };
    let nodes: Vec<NodeFacts> = (0..).zip(&plan.names).map(facts).collect();
    let (_, series) = scenario.connections();
    let flows: Vec<String> = series.into_iter().map(|series| series.name).collect();
    let setup = PolicySetup {
        scenario,
        every: settings.every,
        nodes: &nodes,
        flows: &flows,
        parameters: &settings.parameters,
    };
    kind.make(&setup).map(Some).map_err(|message| Issue {
        key: "policy.parameters".into(),
        message,
    })
}

impl SlowLoop {
    /// Checks that the policy of a scenario can be made.
    pub(crate) fn check(scenario: &Checked, endpoints: &Endpoints) -> Result<(), Issue> {
        made(scenario, endpoints).map(drop)
    }

    /// The policy of a scenario that begins, if it names one.
    pub(crate) fn new(
        scenario: &Checked,
        endpoints: &Endpoints,
        simulation: &Simulation,
        recorder: &mut Recorder,
    ) -> Result<Option<Self>, Issue> {
        let (Some(policy), Some(settings)) = (made(scenario, endpoints)?, &scenario.policy) else {
            return Ok(None);
        };
        recorder.keep_for_policy();
        Ok(Some(Self {
            name: settings.name.clone(),
            every: settings.every,
            next: simulation.now() + settings.every,
            end: Time::ZERO + scenario.duration,
            looks: 0,
            subjects: Subjects::of(scenario, &scenario.connections().0),
            meter: Meter::new(simulation),
            policy: Held::Policy(policy),
            changes: Vec::new(),
        }))
    }

    /// Gives it its policy back, after it was read from a checkpoint.
    pub(crate) fn attach(&mut self, endpoints: &Endpoints) -> Result<(), Issue> {
        if let Held::Saved(saved) = &self.policy {
            let kind = endpoints.policy(&self.name);
            let policy = kind.and_then(|kind| kind.restored(saved));
            self.policy = Held::Policy(policy.map_err(|message| Issue {
                key: "policy".into(),
                message: format!("'{}' cannot go on from saved state: {message}", self.name),
            })?);
        }
        Ok(())
    }

    /// When it looks next. None at the end, where nothing can be changed.
    pub(crate) fn due(&self) -> Option<Time> {
        (self.next < self.end).then_some(self.next)
    }

    /// Has the policy look now, and its changes happen.
    pub(crate) fn look(
        &mut self,
        simulation: &mut Simulation,
        recorder: &mut Recorder,
    ) -> Result<(), SimulationError> {
        let fills = recorder.take_fills(simulation);
        let measured = self.meter.measure(simulation, &fills);
        let Held::Policy(policy) = &mut self.policy else {
            panic!("a run that was read from a checkpoint gets its policy by `attach`");
        };
        let now = simulation.now();
        self.next = now + self.every;
        self.looks += 1;
        for action in policy.step(&measured) {
            self.subjects
                .check(&action)
                .map_err(|wrong| SimulationError::Failed {
                    at: now,
                    what: format!("policy '{}': {wrong}", self.name),
                })?;
            simulation.schedule(settings(&self.subjects, &action));
            self.changes.push(Event::once(now.since_start(), action));
        }
        Ok(())
    }

    /// The state of the policy.
    #[cfg(test)]
    pub(super) fn saved(&self) -> Vec<u8> {
        match &self.policy {
            Held::Policy(policy) => policy.save(),
            Held::Saved(saved) => saved.clone(),
        }
    }

    /// What it has changed until now, as events.
    pub(crate) fn changes(&self) -> &[Event] {
        &self.changes
    }

    /// What it has done until now.
    pub fn steered(&self) -> Steered {
        Steered {
            name: self.name.clone(),
            every_ns: ns(Time::ZERO + self.every),
            looks: self.looks,
            changes: self.changes.clone(),
            recorded: None,
        }
    }
}
