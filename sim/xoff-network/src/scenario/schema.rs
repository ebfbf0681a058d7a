//! A scenario and its parts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::link::FaultRule;
use xoff_sim::time::{Duration, Length, LineRate, Rate};

use super::audit::{Audit, Onboarding};
use super::check::{MOST_SAMPLES, lines};
use super::names::numbered;
use super::pingmesh::Pingmesh;
use super::tool::ToolSettings;
use super::translation::TranslationSettings;
use super::variant::BASE;
use super::watch::Watch;
use super::{
    Event, Expectation, FlowSettings, HostSettings, InjectEntry, IpVersion, NicKind,
    PolicySettings, RouteEntry, SwitchSettings, Topology, Variant,
};
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
    /// Time between two points of the charts; without it a two-hundredth of the duration, and in networks with more
    /// than 20,000 lines to draw as much longer as it takes to stay below 4 million values.
    #[serde(default)]
    pub sample: Option<Duration>,
    /// What everything random is drawn from.
    #[serde(default = "one")]
    pub seed: u64,
    /// Settings of all hosts; an entry of `hosts` may have its own.
    #[serde(default)]
    pub host: HostSettings,
    /// A network that a few keys describe; without it `hosts` and `links` are required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// The hosts.
    #[serde(default)]
    pub hosts: Vec<HostEntry>,
    /// The switches.
    #[serde(default)]
    pub switches: Vec<SwitchSettings>,
    /// The links, each between two nodes.
    #[serde(default)]
    pub links: Vec<LinkEntry>,
    /// The flows. There may be none beside probes (`pingmesh`) or captured frames (`inject`).
    #[serde(default)]
    pub flows: Vec<FlowSettings>,
    /// Probes between hosts, whose latencies are measured by how far they go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pingmesh: Option<Pingmesh>,
    /// The watch over servers: pauses and availability of each, interval by interval, with alarms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// The audit of the configuration: what devices were meant to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// Stages in which flows are let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onboarding: Option<Onboarding>,
    /// What changes settings of switches, NICs and flows again and again while the network runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicySettings>,
    /// Routes that replace those on shortest paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteEntry>,
    /// Whether `routes` may send packets around among switches, until their TTL ends or buffers wait for each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub routing_loops: bool,
    /// What happens during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Captured frames that are put on wires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inject: Vec<InjectEntry>,
    /// From when on detectors report pauses.
    #[serde(default)]
    pub detect: Thresholds,
    /// What is expected of the metrics.
    #[serde(default)]
    pub expect: Vec<Expectation>,
    /// Rules of the protocol monitors that frames break by design, such as `ack-back`: `xoff run --check` counts them
    /// apart and does not fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<String>,
    /// Which of the variants runs; `base` is none.
    #[serde(default = "base")]
    pub variant: String,
    /// Variants by name: the same network with other settings and expectations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Variant>,
}

fn base() -> String {
    BASE.into()
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
    /// With a count: the numbers behind the name, if they are not 0, 1, 2 …
    #[serde(skip)]
    pub numbers: Option<Vec<u32>>,
    /// The kind of the NIC; without it as in `host`.
    #[serde(default)]
    pub nic: Option<NicKind>,
    /// The version of IP of the address; without it as in `host`.
    #[serde(default)]
    pub ip: Option<IpVersion>,
    /// Most READs and atomics of a QP that are not answered, in each direction, 1 to 128; without it as in `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rd_atomic: Option<u16>,
    /// Page tables and their cache, of model NICs; without it as in `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationSettings>,
    /// Latency between NIC and host memory, one way; without it as in `host`.
    #[serde(default)]
    pub pcie_latency: Option<Duration>,
    /// Payload rate of the bus, each direction; without it as in `host`.
    #[serde(default)]
    pub pcie_rate: Option<Rate>,
    /// Classes that obey PFC and send it; without it as in `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Vec<u8>>,
    /// How the classes share the port of the NIC; without it as in `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<[u32; 8]>,
    /// The tool that the host runs with its peer at an attached host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolSettings>,
}

/// A link between two nodes, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkEntry {
    /// Names of the two nodes. The name of an entry with a count means each of its hosts or switches, with a link
    /// each, and a range such as `h0..7` the nodes h0 to h7.
    pub ends: [String; 2],
    /// Length of the cable, 5 ns a metre, beside the delay of the `interface`s.
    #[serde(default = "two_metres")]
    pub cable: Length,
    /// Rate of both ports, 10 to 800 Gb/s; without it `host.rate`. A port of an RTL NIC has 40 Gb/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<LineRate>,
    /// Delay of MAC and PHY, both ends together.
    #[serde(default = "interface")]
    pub interface: Duration,
    /// Faults of frames from the first end to the second.
    #[serde(default)]
    pub faults: Vec<FaultRule>,
    /// Faults of frames from the second end to the first.
    #[serde(default)]
    pub faults_back: Vec<FaultRule>,
    /// What a generated link comes from, for messages: a key, or a file and its line.
    #[serde(skip)]
    pub origin: Option<String>,
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
            topology: None,
            hosts: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
            pingmesh: None,
            watch: None,
            audit: None,
            onboarding: None,
            policy: None,
            routes: Vec::new(),
            routing_loops: false,
            events: Vec::new(),
            inject: Vec::new(),
            detect: Thresholds::default(),
            expect: Vec::new(),
            breaks: Vec::new(),
            variant: base(),
            variants: BTreeMap::new(),
        }
    }

    /// Adds a host with the common settings.
    #[must_use]
    pub fn host(mut self, name: &str) -> Self {
        self.hosts.push(HostEntry::new(name));
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
        self.links.push(LinkEntry::new(a.into(), b.into(), cable));
        self
    }

    /// Adds a flow.
    #[must_use]
    pub fn flow(mut self, flow: FlowSettings) -> Self {
        self.flows.push(flow);
        self
    }

    /// Time between two points of the charts in a network of so many hosts and switches, with so many series (flows
    /// and workloads) that are drawn.
    pub fn sampling(&self, series: usize, nodes: usize) -> Duration {
        self.sample
            .unwrap_or_else(|| self.default_sampling(series, nodes))
    }

    fn default_sampling(&self, series: usize, nodes: usize) -> Duration {
        let lines = lines(series as u64, nodes as u64);
        let points = (MOST_SAMPLES / lines.max(1)).clamp(1, POINTS);
        (self.duration / points).max(Duration::from_ns(100))
    }

    /// Length of the windows whose least and greatest goodput and pauses are drawn, whatever `sample` is.
    pub fn window(&self, series: usize, nodes: usize) -> Duration {
        (self.default_sampling(series, nodes) / WINDOWS).max(Duration::from_ns(100))
    }
}

/// Windows of rates between two points of a chart.
const WINDOWS: u64 = 4;

/// Points of a chart, unless the scenario says otherwise or there are too many lines.
const POINTS: u64 = 200;

impl LinkEntry {
    /// A link without faults, with the common rate.
    pub const fn new(a: String, b: String, cable: Length) -> Self {
        Self {
            ends: [a, b],
            cable,
            rate: None,
            interface: interface(),
            faults: Vec::new(),
            faults_back: Vec::new(),
            origin: None,
        }
    }
}

impl HostEntry {
    /// A host with the common settings.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            count: None,
            numbers: None,
            nic: None,
            ip: None,
            max_rd_atomic: None,
            translation: None,
            pcie_latency: None,
            pcie_rate: None,
            lossless: None,
            weights: None,
            tool: None,
        }
    }

    /// Names of the hosts that the entry stands for.
    pub fn names(&self) -> Vec<String> {
        numbered(&self.name, self.count, self.numbers.as_deref())
    }
}

impl Scenario {
    /// The rate of both ports of a link.
    pub fn rate_of(&self, link: &LinkEntry) -> LineRate {
        link.rate.unwrap_or(self.host.rate)
    }

    /// The rate of the fastest port of a switch, by its name, in a scenario written out.
    pub fn fastest(&self, switch: &str) -> LineRate {
        let links = self.links.iter();
        let own = links.filter(|link| link.ends.iter().any(|end| end == switch));
        own.map(|link| self.rate_of(link))
            .min_by_key(|rate| rate.byte_time())
            .unwrap_or(self.host.rate)
    }

    /// The kind of a host's NIC, by the host's name, in a scenario written out. `None` if there is no such host.
    pub fn nic_of(&self, host: &str) -> Option<&NicKind> {
        let is_it = |entry: &&HostEntry| entry.names().iter().any(|name| name == host);
        let entry = self.hosts.iter().find(is_it)?;
        Some(entry.nic.as_ref().unwrap_or(&self.host.nic))
    }

    /// The settings of an entry's hosts: the common ones with the entry's own. TCP hosts have no lossless class.
    pub fn settings_of(&self, entry: &HostEntry) -> HostSettings {
        let all = &self.host;
        let nic = entry.nic.as_ref().unwrap_or(&all.nic).clone();
        HostSettings {
            // TCP and an attached host pause nobody.
            lossless: match nic {
                NicKind::Tcp | NicKind::Attached => Vec::new(),
                _ => entry.lossless.as_ref().unwrap_or(&all.lossless).clone(),
            },
            translation: match nic {
                // The kernel's memory is none of the NIC's.
                NicKind::Tcp | NicKind::Attached => None,
                _ => (entry.translation.as_ref())
                    .or(all.translation.as_ref())
                    .cloned(),
            },
            nic,
            ip: entry.ip.unwrap_or(all.ip),
            max_rd_atomic: entry.max_rd_atomic.unwrap_or(all.max_rd_atomic),
            pcie_latency: entry.pcie_latency.unwrap_or(all.pcie_latency),
            pcie_rate: entry.pcie_rate.or(all.pcie_rate),
            weights: entry.weights.unwrap_or(all.weights),
            ..all.clone()
        }
    }
}
