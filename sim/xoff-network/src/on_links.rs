//! What a scenario does to frames on its links: fault rules and injected frames.

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::link::{FaultInjector, FirstPsn, RuleCounters};

use crate::plan::Plan;
use crate::results::{Fault, Injection};
use crate::scenario::check::Issue;
use crate::scenario::{Checked, Scenario, Towards};
use crate::{Simulation, SimulationError, Station};

impl Simulation {
    /// Passes the first PSNs of flows to all fault rules.
    pub(super) fn set_first_psns(&mut self, flows: &[FirstPsn]) {
        for node in (0..self.names().len() as u32).map(NodeId) {
            for port in self.ports(node) {
                if let Some(faults) = self.faults_mut(node, port) {
                    faults.know(flows);
                }
            }
            self.update(node, |station| {
                if let Station::Switch(switch) = station {
                    switch.faults_mut().know(flows);
                }
            });
        }
    }

    /// The port at which one direction of a host's wire begins.
    fn wire(&self, host: &str, towards: Towards) -> Option<(NodeId, PortId)> {
        let own = (self.node(host)?, PortId(0));
        match towards {
            Towards::Network => Some(own),
            Towards::Host => self.network().peer(own.0, own.1),
        }
    }

    /// Schedules the frames of a scenario's `inject` entries on their wires.
    pub(super) fn inject(&mut self, scenario: &Scenario) -> Result<(), SimulationError> {
        for (place, entry) in scenario.inject.iter().enumerate() {
            if entry.frames.is_none() {
                return Err(SimulationError::Issue(Issue {
                    key: format!("inject.{place}.file"),
                    message: format!("the frames of {} have not been read", entry.file),
                }));
            }
            for host in scenario.injected_hosts(entry) {
                if let Some((node, port)) = self.wire(&host, entry.towards) {
                    let frames = entry.on_wire(self.line_rate(node, port));
                    self.network_mut().inject(node, port, frames);
                }
            }
        }
        Ok(())
    }

    /// Returns every fault rule of the simulated scenario, in its order, and what each has done.
    pub fn faults(&self, scenario: &Checked) -> Vec<Fault> {
        let mut uses = Vec::new();
        let mut add = |place: String, injectors: Vec<&FaultInjector>, rules: usize| {
            for number in 0..rules {
                let mut all = RuleCounters::default();
                let mut text = String::new();
                for injector in &injectors {
                    if let Some((rule, counters)) = injector.counters().nth(number) {
                        all.matched += counters.matched;
                        all.hit += counters.hit;
                        text = rule.to_string();
                    }
                }
                uses.push(Fault {
                    place: format!("{place}.{number}"),
                    rule: text,
                    matched: all.matched,
                    hit: all.hit,
                });
            }
        };
        let plan = Plan::new(scenario);
        for (number, entry) in scenario.links.iter().enumerate() {
            let sides = [
                ("faults", &entry.faults),
                ("faults_back", &entry.faults_back),
            ];
            for (side, (key, rules)) in sides.into_iter().enumerate() {
                if rules.is_empty() {
                    continue;
                }
                let cables = plan.cables.iter().zip(&plan.entries);
                let cables = cables.filter(|(_, entry)| **entry == number);
                let at = |(cable, _): (&[(NodeId, PortId); 2], _)| {
                    let (node, port) = cable[side];
                    self.network().faults(node, port)
                };
                add(
                    format!("links.{number}.{key}"),
                    cables.filter_map(at).collect(),
                    rules.len(),
                );
            }
        }
        for entry in &scenario.switches {
            let names = entry.names();
            let switches = names.iter().filter_map(|name| {
                let node = self.node(name)?;
                self.network().node(node).switch()
            });
            add(
                format!("switches.{}.faults", entry.name),
                switches.map(|switch| switch.faults()).collect(),
                entry.faults.len(),
            );
        }
        uses
    }

    /// Returns every wire into which the simulated scenario injects frames, and what happened to those frames.
    pub fn injections(&self, scenario: &Checked) -> Vec<Injection> {
        let mut uses: Vec<Injection> = Vec::new();
        for entry in &scenario.inject {
            let frames = entry.frames.as_ref().map_or(0, Vec::len) as u64;
            for host in scenario.injected_hosts(entry) {
                let direction = match entry.towards {
                    Towards::Host => "towards",
                    Towards::Network => "from",
                };
                let same =
                    |known: &&mut Injection| known.host == host && known.direction == direction;
                if let Some(known) = uses.iter_mut().find(same) {
                    known.frames += frames;
                    continue;
                }
                let wire = self.wire(&host, entry.towards);
                let injection = wire.and_then(|(node, port)| self.network().injection(node, port));
                let counters = injection.map(|injection| injection.counters());
                let counters = counters.unwrap_or_default();
                uses.push(Injection {
                    host,
                    direction: direction.into(),
                    frames,
                    injected: counters.injected,
                    waited: counters.waited,
                    delayed: counters.delayed,
                });
            }
        }
        uses
    }
}
