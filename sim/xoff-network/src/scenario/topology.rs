//! Networks that a few keys describe: star, ring, Clos, or a file of ns-3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::seeded::Chance;
use xoff_sim::time::{Duration, Length, LineRate, Rate};

use super::check::{Issue, Issues, MOST_HOSTS, RATES};
use super::clos::Clos;
use super::ns3;
use super::{HostEntry, LinkEntry, Scenario, SwitchSettings};

/// Hosts, switches and links that a few keys describe: exactly one of `star`, `clos`, `ring` and `ns3`. `hosts`,
/// `switches` and `links` add to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Topology {
    /// Hosts around one switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub star: Option<Star>,
    /// Racks under leafs, and spines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clos: Option<Clos>,
    /// Switches in a ring, each with hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Ring>,
    /// A topology file of ns-3's RDMA simulations; a relative path starts at the folder of the scenario file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns3: Option<String>,
    /// Settings of all generated switches, without name and count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchSettings>,
    /// Settings of a Clos network's ToRs; without it as in `switch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tor: Option<SwitchSettings>,
    /// Settings of a Clos network's leafs; without it as in `switch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<SwitchSettings>,
    /// Settings of a Clos network's spines; without it as in `switch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spine: Option<SwitchSettings>,
    /// What the file of `ns3` has, or what is wrong with it; read by whoever reads the scenario.
    #[serde(skip)]
    pub file: Option<Result<ns3::Network, Issues>>,
}

/// Hosts h0, h1, … at one switch, s0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// Number of hosts.
    pub hosts: u32,
    /// Length of the cables.
    #[serde(default = "two_metres")]
    pub cable: Length,
    /// Rate of the links; without it `host.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<LineRate>,
}

/// Switches s0, s1, … in a ring, each linked with the next and the last with the first. Each has hosts: the first of
/// h0, h1, … are those of s0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// Number of switches, 3 or more.
    pub switches: u32,
    /// Hosts of a switch.
    pub hosts: u32,
    /// Length of the cables between hosts and switches.
    #[serde(default = "two_metres")]
    pub host_cable: Length,
    /// Length of the cables between switches.
    #[serde(default = "twenty_metres")]
    pub cable: Length,
    /// Rate of the links between hosts and switches; without it `host.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<LineRate>,
    /// Rate of the links between switches; without it `host.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<LineRate>,
}

const fn two_metres() -> Length {
    Length::from_m(2)
}
const fn twenty_metres() -> Length {
    Length::from_m(20)
}

/// Switches of a ring: two would be joined by two links, and one with itself.
const LEAST_RING: u32 = 3;

pub(super) fn issue(place: impl Into<String>, problem: impl Into<String>) -> Issue {
    Issue {
        key: place.into(),
        message: problem.into(),
    }
}

/// Counts of a topology that are 0.
pub(super) fn counts(topology: &str, counts: &[(&str, u32)]) -> Vec<Issue> {
    let zero = counts.iter().filter(|(_, count)| *count == 0);
    let place = |key: &str| format!("topology.{topology}.{key}");
    zero.map(|(key, _)| issue(place(key), "0: 1 or more"))
        .collect()
}

/// Checks a rate of a generated link.
pub(super) fn rate_fits(place: &str, rate: Option<LineRate>) -> Option<Issue> {
    let rate = rate.filter(|rate| !RATES.contains(&Rate::from(*rate)))?;
    Some(issue(place, format!("{rate}: 10 to 800 Gb/s")))
}

/// A generated network.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Generated {
    hosts: Vec<HostEntry>,
    switches: Vec<SwitchSettings>,
    links: Vec<LinkEntry>,
}

impl Generated {
    pub(super) fn hosts(&mut self, name: &str, count: u32, numbers: Option<Vec<u32>>) {
        self.hosts.push(HostEntry {
            count: Some(count),
            numbers,
            ..HostEntry::new(name)
        });
    }

    pub(super) fn switches(
        &mut self,
        name: &str,
        count: u32,
        numbers: Option<Vec<u32>>,
        settings: &SwitchSettings,
    ) {
        self.switches.push(SwitchSettings {
            name: name.into(),
            count: Some(count),
            numbers,
            ..settings.clone()
        });
    }

    /// Adds a link. `origin` is the key of its rate.
    pub(super) fn link(
        &mut self,
        a: String,
        b: String,
        (origin, rate, cable): (&str, Option<LineRate>, Length),
    ) {
        self.links.push(LinkEntry {
            rate,
            origin: Some(origin.into()),
            ..LinkEntry::new(a, b, cable)
        });
    }
}

impl From<Clos> for Topology {
    fn from(clos: Clos) -> Self {
        Self {
            clos: Some(clos),
            ..Self::default()
        }
    }
}

impl From<Star> for Topology {
    fn from(star: Star) -> Self {
        Self {
            star: Some(star),
            ..Self::default()
        }
    }
}

impl From<Ring> for Topology {
    fn from(ring: Ring) -> Self {
        Self {
            ring: Some(ring),
            ..Self::default()
        }
    }
}

impl Star {
    fn check(&self) -> Vec<Issue> {
        let mut found = counts("star", &[("hosts", self.hosts)]);
        if u64::from(self.hosts) > MOST_HOSTS {
            let problem = format!("{}: a network has {MOST_HOSTS} hosts at most", self.hosts);
            found.push(issue("topology.star.hosts", problem));
        }
        found.extend(rate_fits("topology.star.rate", self.rate));
        found
    }

    fn generate(&self, settings: &SwitchSettings) -> Generated {
        let mut network = Generated::default();
        network.hosts("h", self.hosts, None);
        network.switches("s", 1, None, settings);
        for host in 0..self.hosts {
            let kind = ("topology.star.rate", self.rate, self.cable);
            network.link(format!("h{host}"), "s0".into(), kind);
        }
        network
    }
}

impl Ring {
    fn check(&self) -> Vec<Issue> {
        let mut found = counts("ring", &[("hosts", self.hosts)]);
        if self.switches < LEAST_RING {
            let problem = format!("{}: a ring has 3 switches or more", self.switches);
            found.push(issue("topology.ring.switches", problem));
        }
        let hosts = u64::from(self.switches) * u64::from(self.hosts);
        if hosts.max(self.switches.into()) > MOST_HOSTS {
            let problem =
                format!("{hosts} hosts: a network has {MOST_HOSTS} hosts and switches at most");
            found.push(issue("topology.ring", problem));
        }
        found.extend(rate_fits("topology.ring.host_rate", self.host_rate));
        found.extend(rate_fits("topology.ring.rate", self.rate));
        found
    }

    fn generate(&self, settings: &SwitchSettings) -> Generated {
        let mut network = Generated::default();
        network.hosts("h", self.switches * self.hosts, None);
        network.switches("s", self.switches, None, settings);
        for switch in 0..self.switches {
            for host in switch * self.hosts..(switch + 1) * self.hosts {
                let kind = ("topology.ring.host_rate", self.host_rate, self.host_cable);
                network.link(format!("h{host}"), format!("s{switch}"), kind);
            }
        }
        for switch in 0..self.switches {
            let next = (switch + 1) % self.switches;
            let kind = ("topology.ring.rate", self.rate, self.cable);
            network.link(format!("s{switch}"), format!("s{next}"), kind);
        }
        network
    }
}

impl ns3::Network {
    /// The network: hosts h and switches s, with the file's numbers.
    fn generate(&self, settings: &SwitchSettings) -> Generated {
        let mut network = Generated::default();
        let hosts: Vec<u32> = self.hosts().collect();
        network.hosts("h", hosts.len() as u32, Some(hosts));
        let switches: Vec<u32> = self.switches.iter().copied().collect();
        if !switches.is_empty() {
            network.switches("s", switches.len() as u32, Some(switches), settings);
        }
        for link in &self.links {
            let name = |node: u32| match self.switches.contains(&node) {
                true => format!("s{node}"),
                false => format!("h{node}"),
            };
            let origin = format!("{}:{}", self.file, link.line);
            let kind = (origin.as_str(), Some(link.rate), Length::from_mm(0));
            network.link(name(link.ends[0]), name(link.ends[1]), kind);
            if let Some(entry) = network.links.last_mut() {
                entry.interface = link.delay;
                if link.loss != Chance::NEVER {
                    let rule: Result<FaultRule, _> = format!("chance {}: drop", link.loss).parse();
                    entry.faults = rule.into_iter().collect();
                    entry.faults_back.clone_from(&entry.faults);
                }
            }
        }
        network
    }
}

impl Topology {
    /// Everything that does not fit in the table.
    fn check(&self) -> Vec<Issue> {
        let kinds = [
            ("star", self.star.is_some()),
            ("clos", self.clos.is_some()),
            ("ring", self.ring.is_some()),
            ("ns3", self.ns3.is_some()),
        ];
        let given: Vec<&str> = (kinds.iter().filter(|(_, given)| *given))
            .map(|(key, _)| *key)
            .collect();
        let mut found = Vec::new();
        match given.as_slice() {
            [_] => {}
            [] => found.push(issue(
                "topology",
                "of which kind? One of star, clos, ring and ns3",
            )),
            several => {
                let problem = format!("{} are given: one of them", several.join(" and "));
                found.push(issue("topology", problem));
            }
        }
        found.extend(self.star.iter().flat_map(Star::check));
        found.extend(self.clos.iter().flat_map(Clos::check));
        found.extend(self.ring.iter().flat_map(Ring::check));
        match (&self.ns3, &self.file) {
            (Some(path), None) => {
                let problem = format!("{path} has not been read");
                found.push(issue("topology.ns3", problem));
            }
            (Some(_), Some(Err(wrong))) => found.extend(wrong.0.iter().cloned()),
            _ => {}
        }
        let tables = [
            ("switch", &self.switch),
            ("tor", &self.tor),
            ("leaf", &self.leaf),
            ("spine", &self.spine),
        ];
        for (key, settings) in tables {
            let Some(settings) = settings else { continue };
            let place = |inner: &str| format!("topology.{key}.{inner}");
            if !settings.name.is_empty() {
                let problem = format!("'{}': the topology names its switches", settings.name);
                found.push(issue(place("name"), problem));
            }
            if let Some(count) = settings.count {
                let problem = format!("{count}: the topology says how many there are");
                found.push(issue(place("count"), problem));
            }
            if key != "switch" && self.clos.is_none() {
                let problem = "only a clos has tiers: topology.switch";
                found.push(issue(format!("topology.{key}"), problem));
            }
        }
        found
    }

    fn generate(&self) -> Result<Generated, Issues> {
        let found = self.check();
        if !found.is_empty() {
            return Err(Issues(found));
        }
        // Messages name the key that was written, not the switches that come of it.
        let under = |key, settings: &SwitchSettings| SwitchSettings {
            key: Some(key),
            ..settings.clone()
        };
        let default = SwitchSettings::default();
        let all = &under("topology.switch", self.switch.as_ref().unwrap_or(&default));
        Ok(match self {
            Self {
                star: Some(star), ..
            } => star.generate(all),
            Self {
                ring: Some(ring), ..
            } => ring.generate(all),
            Self {
                clos: Some(clos), ..
            } => {
                let tiers = [
                    ("topology.tor", &self.tor),
                    ("topology.leaf", &self.leaf),
                    ("topology.spine", &self.spine),
                ];
                let tiers = tiers.map(|(key, tier)| match tier {
                    Some(settings) => under(key, settings),
                    None => all.clone(),
                });
                clos.generate(tiers.each_ref())
            }
            Self {
                file: Some(Ok(network)),
                ..
            } => network.generate(all),
            _ => Generated::default(),
        })
    }
}

impl Scenario {
    /// The scenario with its topology and its probes written out as hosts, switches, links and flows; `None` if it has
    /// neither.
    ///
    /// Generated hosts and switches come before those of the scenario, generated links after them.
    ///
    /// # Errors
    ///
    /// Everything that does not fit in the topology, or in its file.
    pub(super) fn written_out(&self) -> Result<Option<Self>, Issues> {
        if self.topology.is_none() && self.pingmesh.is_none() {
            return Ok(None);
        }
        let mut whole = self.clone();
        if let Some(pingmesh) = whole.pingmesh.take() {
            whole.flows.push(pingmesh.flow());
        }
        if let Some(topology) = whole.topology.take() {
            let Generated {
                mut hosts,
                mut switches,
                links,
            } = topology.generate()?;
            hosts.append(&mut whole.hosts);
            switches.append(&mut whole.switches);
            (whole.hosts, whole.switches) = (hosts, switches);
            whole.links.extend(links);
        }
        Ok(Some(whole))
    }
}

/// The least delay of a link of a file, which is that of every link.
pub(super) const LEAST_DELAY: Duration = xoff_sim::link::MIN_LATENCY;

#[cfg(test)]
mod tests;
