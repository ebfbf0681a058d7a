//! A scenario and its parts.

use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::time::{Duration, Length, Rate};

use super::{Expectation, FlowSettings, HostSettings, NicKind, SwitchSettings};

/// A network, what runs in it, what is expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name: a file's, without its ending.
    #[serde(default)]
    pub name: String,
    /// A line.
    pub title: String,
    /// Some lines: what happens and why, with sources.
    #[serde(default)]
    pub description: String,
    /// How long it runs.
    pub duration: Duration,
    /// Goodput, utilization, pauses and latencies of these count from here on; drops and errors always.
    #[serde(default)]
    pub measure_from: Duration,
    /// From point to point of the charts; left out: a two-hundredth of the duration.
    #[serde(default)]
    pub sample: Option<Duration>,
    /// Everything random comes from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// What all hosts have, unless they say otherwise.
    #[serde(default)]
    pub host: HostSettings,
    /// Hosts.
    pub hosts: Vec<HostEntry>,
    /// Switches.
    #[serde(default)]
    pub switches: Vec<SwitchSettings>,
    /// Links.
    pub links: Vec<LinkEntry>,
    /// Flows.
    pub flows: Vec<FlowSettings>,
    /// What is expected.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

const fn one() -> u64 {
    1
}

/// A host, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// Its name; with a count the first part of names: `s` and 2 make `s0`, `s1`.
    pub name: String,
    /// How many of them.
    #[serde(default)]
    pub count: Option<u32>,
    /// RTL or model, if not as the others.
    #[serde(default)]
    pub nic: Option<NicKind>,
    /// Likewise.
    #[serde(default)]
    pub pcie_latency: Option<Duration>,
    /// Likewise.
    #[serde(default)]
    pub pcie_rate: Option<Rate>,
}

/// A cable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkEntry {
    /// Names of the two nodes; the name of a host with a count means each of them.
    pub ends: [String; 2],
    /// Its length, 5 ns a metre.
    #[serde(default = "two_metres")]
    pub cable: Length,
    /// MAC and PHY at both ends together.
    #[serde(default = "interface")]
    pub interface: Duration,
    /// What befalls frames from the first end to the second.
    #[serde(default)]
    pub faults: Vec<FaultRule>,
    /// And back.
    #[serde(default)]
    pub faults_back: Vec<FaultRule>,
}

const fn two_metres() -> Length {
    Length::from_m(2)
}

/// 7,500 bit times at 40 Gb/s, as some vendors plan with.
const fn interface() -> Duration {
    Duration::from_ps(187_500)
}

impl Scenario {
    /// An empty one that runs so long: for those who build theirs in Rust.
    pub fn new(title: impl Into<String>, duration: Duration) -> Self {
        Self {
            name: String::new(),
            title: title.into(),
            description: String::new(),
            duration,
            measure_from: Duration::ZERO,
            sample: None,
            seed: one(),
            host: HostSettings::default(),
            hosts: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
            expect: Vec::new(),
        }
    }

    /// One more host, with what all have.
    #[must_use]
    pub fn host(mut self, name: &str) -> Self {
        self.hosts.push(HostEntry {
            name: name.into(),
            count: None,
            nic: None,
            pcie_latency: None,
            pcie_rate: None,
        });
        self
    }

    /// One more switch, with the defaults.
    #[must_use]
    pub fn switch(mut self, name: &str) -> Self {
        self.switches.push(SwitchSettings {
            name: name.into(),
            ..SwitchSettings::default()
        });
        self
    }

    /// One more link.
    #[must_use]
    pub fn link(mut self, a: &str, b: &str, cable: Length) -> Self {
        self.links.push(LinkEntry {
            ends: [a.into(), b.into()],
            cable,
            interface: interface(),
            faults: Vec::new(),
            faults_back: Vec::new(),
        });
        self
    }

    /// One more flow.
    #[must_use]
    pub fn flow(mut self, flow: FlowSettings) -> Self {
        self.flows.push(flow);
        self
    }

    /// From point to point of the charts.
    pub fn sampling(&self) -> Duration {
        let default = || (self.duration / 200).max(Duration::from_ns(100));
        self.sample.unwrap_or_else(default)
    }
}

impl HostEntry {
    /// Names of the hosts that it stands for.
    pub fn names(&self) -> Vec<String> {
        match self.count {
            None => vec![self.name.clone()],
            Some(count) => (0..count).map(|i| format!("{}{i}", self.name)).collect(),
        }
    }
}

impl Scenario {
    /// Settings of the hosts of an entry.
    pub fn settings_of(&self, entry: &HostEntry) -> HostSettings {
        let all = &self.host;
        HostSettings {
            nic: entry.nic.as_ref().unwrap_or(&all.nic).clone(),
            pcie_latency: entry.pcie_latency.unwrap_or(all.pcie_latency),
            pcie_rate: entry.pcie_rate.unwrap_or(all.pcie_rate),
            ..all.clone()
        }
    }
}
