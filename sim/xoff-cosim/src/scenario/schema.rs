//! A scenario and its parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::time::{Duration, Length, Rate};

use super::{Expectation, FlowSettings, HostSettings, InjectEntry, NicKind, SwitchSettings};
use crate::detect::Thresholds;

/// The version of the scenario format: the value of the key `version`.
pub const VERSION: u32 = 1;

/// A network, the flows in it, and what is expected of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the format, 1. A scenario of a newer version is refused.
    #[serde(default = "version")]
    pub version: u32,
    /// Short name, which is also that of the folder of results; without it the name of the file without its ending.
    #[serde(default)]
    pub name: String,
    /// What the scenario shows, in a line.
    pub title: String,
    /// What happens and why, in some lines, with sources.
    #[serde(default)]
    pub description: String,
    /// Simulated time after which the run ends.
    pub duration: Duration,
    /// From when on goodput, utilization, pauses and latencies count; drops and errors count from the start.
    #[serde(default)]
    pub measure_from: Duration,
    /// Time between two points of the charts; without it a two-hundredth of the duration.
    #[serde(default)]
    pub sample: Option<Duration>,
    /// What everything random is drawn from.
    #[serde(default = "one")]
    pub seed: u64,
    /// Settings of all hosts; an entry of `hosts` may have its own.
    #[serde(default)]
    pub host: HostSettings,
    /// The hosts.
    pub hosts: Vec<HostEntry>,
    /// The switches.
    #[serde(default)]
    pub switches: Vec<SwitchSettings>,
    /// The links, each between two nodes.
    pub links: Vec<LinkEntry>,
    /// The flows.
    pub flows: Vec<FlowSettings>,
    /// Captured frames that are put on wires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inject: Vec<InjectEntry>,
    /// From when on detectors report pauses.
    #[serde(default)]
    pub detect: Thresholds,
    /// What is expected of the metrics.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

const fn version() -> u32 {
    VERSION
}

const fn one() -> u64 {
    1
}

/// A host, or several of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// Name of the host. With a count it is the first part of the names: `s` and 2 make `s0` and `s1`.
    pub name: String,
    /// How many hosts the entry stands for; without it one.
    #[serde(default)]
    pub count: Option<u32>,
    /// The kind of the NIC; without it as in `host`.
    #[serde(default)]
    pub nic: Option<NicKind>,
    /// Latency between NIC and host memory, one way; without it as in `host`.
    #[serde(default)]
    pub pcie_latency: Option<Duration>,
    /// Payload rate of the bus, each direction; without it as in `host`.
    #[serde(default)]
    pub pcie_rate: Option<Rate>,
}

/// A link between two nodes, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkEntry {
    /// Names of the two nodes. The name of a host with a count means each of its hosts, with a link each.
    pub ends: [String; 2],
    /// Length of the cable, 5 ns a metre.
    #[serde(default = "two_metres")]
    pub cable: Length,
    /// Delay of MAC and PHY, both ends together.
    #[serde(default = "interface")]
    pub interface: Duration,
    /// Faults of frames from the first end to the second.
    #[serde(default)]
    pub faults: Vec<FaultRule>,
    /// Faults of frames from the second end to the first.
    #[serde(default)]
    pub faults_back: Vec<FaultRule>,
}

const fn two_metres() -> Length {
    Length::from_m(2)
}

/// Default delay of MAC and PHY: 7,500 bit times at 40 Gb/s, as some vendors assume in their plans.
const fn interface() -> Duration {
    Duration::from_ps(187_500)
}

impl Scenario {
    /// Creates a scenario that has no nodes yet and runs for `duration`; the other methods add to it.
    pub fn new(title: impl Into<String>, duration: Duration) -> Self {
        Self {
            version: VERSION,
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
            inject: Vec::new(),
            detect: Thresholds::default(),
            expect: Vec::new(),
        }
    }

    /// Adds a host with the common settings.
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

    /// Adds a switch with the default settings.
    #[must_use]
    pub fn switch(mut self, name: &str) -> Self {
        self.switches.push(SwitchSettings {
            name: name.into(),
            ..SwitchSettings::default()
        });
        self
    }

    /// Adds a link.
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

    /// Adds a flow.
    #[must_use]
    pub fn flow(mut self, flow: FlowSettings) -> Self {
        self.flows.push(flow);
        self
    }

    /// Time between two points of the charts.
    pub fn sampling(&self) -> Duration {
        let default = || (self.duration / 200).max(Duration::from_ns(100));
        self.sample.unwrap_or_else(default)
    }
}

impl HostEntry {
    /// Names of the hosts that the entry stands for.
    pub fn names(&self) -> Vec<String> {
        match self.count {
            None => vec![self.name.clone()],
            Some(count) => (0..count).map(|i| format!("{}{i}", self.name)).collect(),
        }
    }
}

impl Scenario {
    /// The settings of an entry's hosts: the common ones with the entry's own.
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
