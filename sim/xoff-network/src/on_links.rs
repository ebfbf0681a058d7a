//! What a scenario does to frames on its links: fault rules and injected frames.

use xoff_sim::kernel::{InjectionCounters, NodeId, PortId};
use xoff_sim::link::{FaultInjector, FirstPsn, RuleCounters};

use crate::plan::{CHECKED, Plan};
use crate::scenario::check::Misfit;
use crate::scenario::{Scenario, Towards};
use crate::{Simulation, SimulationError, Station};

/// A fault rule of a scenario, and what it has done in all places where it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUse {
    /// The rule's key in the scenario, such as `links.0.faults.1` or `switches.s.faults.0`.
    pub place: String,
    /// The rule's text.
    pub rule: String,
    /// Number of frames that matched, and of frames that were hit.
    pub counters: RuleCounters,
}

/// The frames injected into one direction of a host's wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionUse {
    /// The host.
    pub host: String,
    /// The direction.
    pub towards: Towards,
    /// Number of frames that the scenario has for this wire.
    pub frames: u64,
    /// What happened to them. Frames in none of the counts were scheduled for later than the end of the run.
    pub counters: InjectionCounters,
}

impl Simulation {
    /// Passes the first PSNs of flows to all fault rules.
    pub(super) fn know_first_psns(&mut self, flows: &[FirstPsn]) {
        for node in (0..self.names().len() as u32).map(NodeId) {
            for port in self.ports(node) {
                if let Some(faults) = self.network_mut().faults_mut(node, port) {
                    faults.know(flows);
                }
            }
            self.network_mut().update(node, |station| {
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
                return Err(SimulationError::Misfit(Misfit {
                    place: format!("inject.{place}.file"),
                    problem: format!("the frames of {} have not been read", entry.file),
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
    pub fn rule_uses(&self, scenario: &Scenario) -> Vec<RuleUse> {
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
                uses.push(RuleUse {
                    place: format!("{place}.{number}"),
                    rule: text,
                    counters: all,
                });
            }
        };
        let plan = Plan::new(scenario);
        let whole = scenario.expanded().expect(CHECKED);
        let scenario = &*whole;
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
    pub fn injection_uses(&self, scenario: &Scenario) -> Vec<InjectionUse> {
        let mut uses: Vec<InjectionUse> = Vec::new();
        let whole = scenario.expanded().expect(CHECKED);
        let scenario = &*whole;
        for entry in &scenario.inject {
            let frames = entry.frames.as_ref().map_or(0, Vec::len) as u64;
            for host in scenario.injected_hosts(entry) {
                let same = |known: &&mut InjectionUse| {
                    known.host == host && known.towards == entry.towards
                };
                if let Some(known) = uses.iter_mut().find(same) {
                    known.frames += frames;
                    continue;
                }
                let wire = self.wire(&host, entry.towards);
                let injection = wire.and_then(|(node, port)| self.network().injection(node, port));
                uses.push(InjectionUse {
                    towards: entry.towards,
                    frames,
                    counters: injection
                        .map(|injection| injection.counters())
                        .unwrap_or_default(),
                    host,
                });
            }
        }
        uses
    }
}
