//! Checks of a scenario before it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use thiserror::Error;
use xoff_sim::host::PcieConfig;
use xoff_sim::nic::ClassCosts;
use xoff_sim::switch::headroom::longest_response;
use xoff_sim::time::{ByteCount, Duration, LineRate, Rate};

use super::connection::{Connection, MOST_FLOWS, Series, interval_ps};
use super::expectation::Op;
use super::names::Names;
use super::variant::BASE;
use super::{
    FlowSettings, HostEntry, InjectEntry, IpVersion, LinkEntry, NicKind, Scenario, SwitchSettings,
};

pub use xoff_sim::nic::shape::QPS;
/// Largest number of QPs of a model NIC, which has as many as its flows need and at least [`QPS`]. A QP takes a few KB.
pub const MODEL_QPS: usize = 4_096;
pub use xoff_sim::nic::shape::WQES as RING;

/// Largest number of hosts in a scenario, and of switches. A host's number has 24 bits in its addresses, and this many
/// model NICs fill the memory of a computer.
pub const MOST_HOSTS: u64 = 1 << 16;
/// Largest number of ports of a switch.
pub const MOST_PORTS: usize = u16::MAX as usize;
/// Rates that a link may have.
pub const RATES: std::ops::RangeInclusive<Rate> = Rate::from_gbps(10)..=Rate::from_gbps(800);
/// Largest number of values that all charts may have together: 32 MB of numbers.
pub const MOST_SAMPLES: u64 = 4_000_000;

/// Number of lines in the charts of a network: goodput, rate and α of each series, and one for each node.
pub(super) const fn lines(series: u64, nodes: u64) -> u64 {
    3 * series + nodes
}

/// An issue of a scenario: something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct Issue {
    /// The key of the scenario, such as `flows.a.message`.
    pub key: String,
    /// The value that was read, and what would be right.
    pub message: String,
}

/// All issues of a scenario, in its order. As text one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Error)]
pub struct Issues(pub Vec<Issue>);

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, issue) in self.0.iter().enumerate() {
            if place > 0 {
                writeln!(f)?;
            }
            write!(f, "{issue}")?;
        }
        Ok(())
    }
}

impl From<Issue> for Issues {
    fn from(issue: Issue) -> Self {
        Self(vec![issue])
    }
}

pub(super) fn issue(place: impl Into<String>, problem: impl Into<String>) -> Issue {
    Issue {
        key: place.into(),
        message: problem.into(),
    }
}

impl Scenario {
    /// The check of [`checked`](Self::checked). Returns the scenario written out, if it has something to write out.
    pub(super) fn check(&self) -> Result<Option<Self>, Issues> {
        if !(1..=super::VERSION).contains(&self.version) {
            let problem = format!(
                "{}: this xoff reads version {}",
                self.version,
                super::VERSION
            );
            return Err(issue("version", problem).into());
        }
        let times = self.check_times();
        let timed = times.is_ok();
        let mut found: Vec<Issue> = times.err().into_iter().collect();
        let whole = self.written_out();
        match &whole {
            Ok(whole) => {
                let whole = whole.as_ref().unwrap_or(self);
                // Keys of probes are those of the entry that stands for them.
                let probes = format!("flows.{}.", super::pingmesh::NAME);
                let of_network = whole.check_network(timed).into_iter();
                found.extend(
                    of_network.map(|issue| match issue.key.strip_prefix(&probes) {
                        Some(key) if self.pingmesh.is_some() => Issue {
                            key: format!("pingmesh.{key}"),
                            ..issue
                        },
                        _ => issue,
                    }),
                );
            }
            Err(wrong) => {
                found.extend(wrong.0.iter().cloned());
                found.extend(self.flows.iter().flat_map(|flow| self.check_keys(flow)));
            }
        }
        found.extend(self.check_thresholds().err());
        found.extend(self.check_watch().err());
        found.extend(self.check_audit());
        found.extend(self.check_policy());
        found.extend(self.check_expectations().err());
        match found.is_empty() {
            true => whole,
            false => Err(Issues(found)),
        }
    }

    fn check_times(&self) -> Result<(), Issue> {
        if self.duration == Duration::ZERO {
            return Err(issue("duration", "must be above 0, for example '10 ms'"));
        }
        if self.measure_from >= self.duration {
            let problem = format!(
                "{} leaves nothing to measure: less than the duration, {}",
                self.measure_from, self.duration
            );
            return Err(issue("measure_from", problem));
        }
        if self.sample == Some(Duration::ZERO) {
            return Err(issue("sample", "must be above 0, for example '100 us'"));
        }
        let probes = self.pingmesh.as_ref();
        if probes.is_some_and(|probes| probes.interval == Duration::ZERO) {
            let problem = "must be above 0, for example '100 us': probes are no load";
            return Err(issue("pingmesh.interval", problem));
        }
        if self.variants.contains_key(BASE) {
            let problem =
                "'base' is the scenario without a variant; its settings are those at the top";
            return Err(issue(format!("variants.{BASE}"), problem));
        }
        if self.variant != BASE && !self.variants.contains_key(&self.variant) {
            let mut names = vec![BASE];
            names.extend(self.variants.keys().map(String::as_str));
            let problem = format!("'{}': variants are {}", self.variant, names.join(", "));
            return Err(issue("variant", problem));
        }
        Ok(())
    }

    fn check_thresholds(&self) -> Result<(), Issue> {
        if self.detect.storm_window == Duration::ZERO {
            return Err(issue(
                "detect.storm_window",
                "0 has no pauses in it: such as '1 ms'",
            ));
        }
        let parts = [
            ("storm_part", self.detect.storm_part),
            ("alarm_part", self.detect.alarm_part),
        ];
        for (key, part) in parts {
            if !(part > 0.0 && part <= 1.0) {
                let problem = format!("{part} must be above 0 and at most 1");
                return Err(issue(format!("detect.{key}"), problem));
            }
        }
        Ok(())
    }

    /// Checks a scenario written out. `timed`: its times are right.
    fn check_network(&self, timed: bool) -> Vec<Issue> {
        let mut found: Vec<Issue> = self.check_hosts().err().into_iter().collect();
        found.extend(self.host.tcp.check());
        let named = self.check_sizes().and_then(|()| self.check_names());
        if let Err(wrong) = named {
            found.push(wrong);
            return found;
        }
        let names = Names::of(self);
        let links = self.check_links(&names);
        let linked = links.is_empty();
        found.extend(links);
        found.extend(self.check_injections(&names));
        found.extend(self.check_switches());
        found.extend(self.check_translation());
        found.extend(self.check_routes(&names));
        found.extend(self.check_events(&names));
        let before = found.len();
        let groups = linked.then(|| self.connected(&names));
        for (place, flow) in self.flows.iter().enumerate() {
            found.extend(self.check_keys(flow));
            found.extend(self.check_waits(flow));
            found.extend(match flow.pattern {
                Some(pattern) => self.check_pattern(place, flow, pattern, &names, groups.as_ref()),
                None if flow.goal.is_some() => self.check_goal(flow, &names, groups.as_ref()),
                None if flow.is_workload() => self.check_workload(flow, &names, groups.as_ref()),
                None if flow.answers.is_some() => self.check_answers(flow),
                None => self.check_pairs(place, flow, &names, groups.as_ref()),
            });
        }
        if found.len() == before && linked {
            let (flows, series) = self.connections();
            found.extend(self.check_qps(&flows, &series));
            found.extend(self.check_versions(&flows));
            found.extend(self.check_tcp(&flows));
            found.extend(self.check_attached(&flows));
            found.extend(self.check_selective(&flows));
            found.extend(self.check_reached(&flows));
            found.extend(self.check_events_of_flows(&flows, &series));
            if timed {
                found.extend(self.check_samples(series.len() as u64).err());
            }
        }
        found
    }

    /// Checks the flows together: names, and QPs of each host.
    fn check_qps(&self, flows: &[Connection<'_>], series: &[Series]) -> Vec<Issue> {
        let mut found = Vec::new();
        if flows.len() > MOST_FLOWS {
            let problem = format!("{} flows in all: {MOST_FLOWS} at most", flows.len());
            found.push(issue("flows", problem));
        }
        let mut names = BTreeSet::new();
        for Series { name, .. } in series {
            if !names.insert(name) {
                found.push(issue(format!("flows.{name}"), "there are two of this name"));
            }
        }
        let limits = self.most_qps();
        let mut used = BTreeMap::<&str, usize>::new();
        // For each entry the first flow that is too many, its host, and how many hosts there are.
        let mut over = BTreeMap::<&str, (&Connection<'_>, &str, usize)>::new();
        for flow in flows {
            for end in [&flow.from, &flow.to] {
                let qps = used.entry(end).or_default();
                *qps += 1;
                if limits.get(end).is_some_and(|most| *qps == most + 1) {
                    let first = over.entry(&flow.settings.name).or_insert((flow, end, 0));
                    first.2 += 1;
                }
            }
        }
        for (flow, host, count) in over.into_values() {
            let most = limits[host];
            let others = match count {
                1 => String::new(),
                _ => format!(", and so with {} others", count - 1),
            };
            let problem =
                format!("host {host} has more than {most} flows, and its NIC {most} QPs{others}");
            found.push(issue(format!("flows.{}", flow.name), problem));
        }
        found
    }

    /// Checks that the ends of each flow have addresses of the same version. Each entry of flows is said once.
    fn check_versions(&self, flows: &[Connection<'_>]) -> Vec<Issue> {
        let each = |entry: &HostEntry| {
            let version = self.settings_of(entry).ip;
            entry.names().into_iter().map(move |name| (name, version))
        };
        let versions: BTreeMap<String, IpVersion> = self.hosts.iter().flat_map(each).collect();
        let mut said = BTreeSet::new();
        let mut found = Vec::new();
        for flow in flows {
            let [from, to] = [&flow.from, &flow.to].map(|end| versions[end]);
            if from != to && said.insert(&flow.settings.name) {
                let problem = format!(
                    "{} has an {from} address and {} an {to} one: the same `ip` for both",
                    flow.from, flow.to
                );
                found.push(issue(format!("flows.{}", flow.settings.name), problem));
            }
        }
        found
    }

    /// The largest number of QPs of each host. The driver of a NIC of your own knows its limit; the host is not here.
    fn most_qps(&self) -> BTreeMap<String, usize> {
        let limit = |entry: &HostEntry| match self.settings_of(entry).nic {
            NicKind::Rtl => Some(QPS),
            NicKind::Model | NicKind::Tcp => Some(MODEL_QPS),
            NicKind::Custom(_) | NicKind::Attached => None,
        };
        let each = |entry: &HostEntry| {
            let limit = limit(entry)?;
            Some(entry.names().into_iter().map(move |name| (name, limit)))
        };
        self.hosts.iter().filter_map(each).flatten().collect()
    }

    /// Names of the hosts whose wires an entry injects into. The scenario is written out.
    pub fn injected_hosts(&self, entry: &InjectEntry) -> Vec<String> {
        let hosts = Names::of(self).hosts_of(&entry.host);
        hosts.unwrap_or_else(|| vec![entry.host.clone()])
    }

    fn check_injections(&self, names: &Names) -> Vec<Issue> {
        let mut found = Vec::new();
        for (place, entry) in self.inject.iter().enumerate() {
            let mut wrong = |key: &str, problem: String| {
                found.push(issue(format!("inject.{place}.{key}"), problem))
            };
            if names.hosts_of(&entry.host).is_none() {
                let problem = format!(
                    "'{}' is no host: hosts are {}",
                    entry.host,
                    names.list_hosts()
                );
                wrong("host", problem);
            }
            if entry.start >= self.duration {
                let problem = format!("{}: the run ends at {}", entry.start, self.duration);
                wrong("start", problem);
            }
            if !(1e-6..=1e6).contains(&entry.scale) {
                wrong("scale", format!("{}: 0.000001 to 1000000", entry.scale));
            }
            if entry.interval.is_some() && entry.scale != 1.0 {
                wrong(
                    "scale",
                    "the capture's times are not used: interval is given".into(),
                );
            }
        }
        found
    }

    fn check_expectations(&self) -> Result<(), Issue> {
        for expectation in &self.expect {
            let place = format!("expect.{}", expectation.metric);
            if !expectation.value.is_finite() {
                let problem = format!("value {}: a finite number", expectation.value);
                return Err(issue(place, problem));
            }
            match (expectation.op, expectation.tolerance) {
                (Op::Within, None) => {
                    return Err(issue(
                        place,
                        "op = 'within' needs a tolerance, for example tolerance = 0.01",
                    ));
                }
                (Op::Within, Some(part)) if !(0.0..1.0).contains(&part) => {
                    let problem =
                        format!("tolerance {part}: must be a part of the value, from 0 to below 1");
                    return Err(issue(place, problem));
                }
                (Op::Within, Some(_)) | (_, None) => {}
                (_, Some(_)) => {
                    return Err(issue(place, "a tolerance goes with op = 'within'"));
                }
            }
        }
        Ok(())
    }

    /// Refuses unbounded sizes before anything is allocated for them.
    fn check_sizes(&self) -> Result<(), Issue> {
        let mut hosts = 0;
        for entry in &self.hosts {
            hosts += u64::from(entry.count.unwrap_or(1));
            if hosts > MOST_HOSTS {
                let place = format!("hosts.{}.count", entry.name);
                let count = entry.count.unwrap_or(1);
                let problem = format!("{count}: a network has {MOST_HOSTS} hosts at most");
                return Err(issue(place, problem));
            }
        }
        let mut switches = 0;
        for entry in &self.switches {
            let count = entry.count.unwrap_or(1);
            switches += u64::from(count);
            if switches > MOST_HOSTS {
                let problem = format!("{count}: a network has {MOST_HOSTS} switches at most");
                return Err(issue(format!("switches.{}.count", entry.name), problem));
            }
        }
        Ok(())
    }

    /// Refuses a `sample` that makes more points of charts than anybody looks at. `series` are the flows that are
    /// drawn.
    fn check_samples(&self, series: u64) -> Result<(), Issue> {
        let Some(sample) = self.sample else {
            return Ok(());
        };
        let hosts = self.hosts.iter().map(|entry| entry.count.unwrap_or(1));
        let switches = self.switches.iter().map(|entry| entry.count.unwrap_or(1));
        let nodes: u64 = hosts.chain(switches).map(u64::from).sum();
        let lines = lines(series, nodes);
        let points = self.duration.as_ps() / sample.as_ps();
        if points.saturating_mul(lines) > MOST_SAMPLES {
            let least =
                Duration::from_ps(self.duration.as_ps() / (MOST_SAMPLES / lines.max(1)).max(1));
            let problem = format!(
                "{sample} makes {points} points of {lines} lines, more than {MOST_SAMPLES} values: {least} or longer"
            );
            return Err(issue("sample", problem));
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Issue> {
        if self.hosts.is_empty() {
            let problem = "none: [[hosts]], or a [topology] that has some";
            return Err(issue("hosts", problem));
        }
        let mut nodes = BTreeSet::new();
        let hosts = self.hosts.iter();
        let hosts = hosts.map(|entry| ("hosts", &entry.name, entry.count, entry.names()));
        let switches = self.switches.iter();
        let switches = switches.map(|entry| ("switches", &entry.name, entry.count, entry.names()));
        for (list, entry, count, names) in hosts.chain(switches) {
            if count == Some(0) {
                let place = format!("{list}.{entry}.count");
                return Err(issue(place, "0: leave the entry out instead"));
            }
            for name in names {
                Self::check_name(list, name, &mut nodes)?;
            }
        }
        // A name that is both would mean the group.
        let hosts = self
            .hosts
            .iter()
            .map(|entry| ("hosts", &entry.name, entry.count));
        let switches = self.switches.iter();
        let switches = switches.map(|entry| ("switches", &entry.name, entry.count));
        let mut groups = BTreeSet::new();
        for (list, name, count) in hosts.chain(switches) {
            if count.is_some() && (nodes.contains(name) || !groups.insert(name)) {
                return Err(issue(
                    format!("{list}.{name}"),
                    "there are two nodes or groups of this name",
                ));
            }
        }
        Ok(())
    }

    fn check_name(list: &str, name: String, nodes: &mut BTreeSet<String>) -> Result<(), Issue> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(good) {
            let problem = format!("'{name}' is not a valid name: use letters, digits, - and _");
            return Err(issue(format!("{list}.name"), problem));
        }
        if !nodes.insert(name.clone()) {
            return Err(issue(
                format!("{list}.{name}"),
                "there are two nodes of this name",
            ));
        }
        Ok(())
    }

    fn check_hosts(&self) -> Result<(), Issue> {
        let host = &self.host;
        let classes = |place: &str, list: &[u8]| match list.iter().find(|class| **class > 7) {
            Some(class) => Err(issue(place, format!("class {class}: classes are 0 to 7"))),
            None => Ok(()),
        };
        classes("host.lossless", &host.lossless)?;
        for entry in &self.hosts {
            let own = entry.lossless.as_deref().unwrap_or_default();
            classes(&format!("hosts.{}.lossless", entry.name), own)?;
        }
        for switch in &self.switches {
            let place = format!("{}.lossless", switch.place());
            classes(&place, &switch.lossless)?;
            if (0..8).all(|class| switch.lossless.contains(&class)) {
                let problem = "all eight classes: at most seven, since broadcast and multicast need a lossy one";
                return Err(issue(place, problem));
            }
        }
        self.check_weights()?;
        if let Some(buffer) = host.buffer {
            let (least, most) = (ByteCount::new(4 << 10), ByteCount::new(1 << 30));
            if !(least..=most).contains(&buffer) {
                return Err(issue("host.buffer", format!("{buffer}: {least} to {most}")));
            }
        }
        let limits = self
            .hosts
            .iter()
            .map(|host| (format!("hosts.{}", host.name), host.max_rd_atomic));
        for (place, limit) in limits.chain([("host".into(), Some(host.max_rd_atomic))]) {
            if let Some(limit) = limit.filter(|limit| !(1..=128).contains(limit)) {
                let problem = format!("{limit}: 1 to 128");
                return Err(issue(format!("{place}.max_rd_atomic"), problem));
            }
        }
        let buses = self
            .hosts
            .iter()
            .map(|host| (format!("hosts.{}", host.name), host.pcie_rate));
        let least = PcieConfig::LEAST_RATE;
        for (place, rate) in buses.chain([("host".into(), host.pcie_rate)]) {
            if let Some(rate) = rate.filter(|rate| *rate < least) {
                let problem = format!("{rate} must be {least} or more, for example '40 Gb/s'");
                return Err(issue(format!("{place}.pcie_rate"), problem));
            }
        }
        if let Some(dcqcn) = &host.dcqcn {
            if !(0.0..1.0).contains(&dcqcn.g) {
                return Err(issue(
                    "host.dcqcn.g",
                    format!("{}: a gain is 0 to below 1", dcqcn.g),
                ));
            }
            if dcqcn.stages > 31 || dcqcn.cnp_dscp > 63 {
                return Err(issue(
                    "host.dcqcn",
                    "stages are 0 to 31, cnp_dscp is 0 to 63",
                ));
            }
        }
        Ok(())
    }

    fn check_weights(&self) -> Result<(), Issue> {
        let of_entry = |entry: &HostEntry| Some((format!("hosts.{}", entry.name), entry.weights?));
        let own = self.hosts.iter().filter_map(of_entry);
        for (place, weights) in [("host".into(), self.host.weights)].into_iter().chain(own) {
            ClassCosts::of_weights(weights)
                .map_err(|wrong| issue(format!("{place}.weights"), wrong.to_string()))?;
        }
        let queues = |entry: &&HostEntry| {
            let kind = self.settings_of(entry).nic;
            entry.weights.is_some() && matches!(kind, NicKind::Tcp | NicKind::Attached)
        };
        match self.hosts.iter().find(queues) {
            Some(entry) => Err(issue(
                format!("hosts.{}.weights", entry.name),
                "a host with TCP, and one that is attached, has one queue: weights are of NICs that are RTL, models or \
                 one's own",
            )),
            None => Ok(()),
        }
    }

    /// Where a link's rate is given.
    fn place_of_rate(&self, number: usize, link: &LinkEntry) -> String {
        match (link.rate, &link.origin) {
            (None, _) => "host.rate".into(),
            (Some(_), Some(origin)) => origin.clone(),
            (Some(_), None) => format!("links.{number}.rate"),
        }
    }

    fn check_links(&self, names: &Names) -> Vec<Issue> {
        let mut found = Vec::new();
        let mut count: u64 = 0;
        for link in &self.links {
            let mut cables = 1;
            for end in &link.ends {
                match names.nodes(end) {
                    Some(nodes) => cables *= nodes.len() as u64,
                    None => {
                        let nodes = names.list_nodes();
                        let problem = format!("'{end}' is no node: nodes are {nodes}");
                        found.push(issue("links.ends", problem));
                    }
                }
            }
            count = count.saturating_add(cables);
        }
        // One cable for each host; the rest connect switches.
        let most = names.hosts().len() as u64 + 64 * MOST_HOSTS;
        if count > most {
            let problem = format!("{count} cables: a network has {most} at most");
            found.push(issue("links", problem));
        }
        if !found.is_empty() {
            return found;
        }
        let kinds = |entry: &HostEntry| {
            let rtl = self.settings_of(entry).nic == NicKind::Rtl;
            let names = entry.names().into_iter().filter(move |_| rtl);
            names
                .map(|name| (name, entry.name.clone()))
                .collect::<Vec<_>>()
        };
        let rtl: BTreeMap<String, String> = self.hosts.iter().flat_map(kinds).collect();
        let named = |entry: &SwitchSettings| entry.names().into_iter();
        let switches: BTreeMap<String, &SwitchSettings> = (self.switches.iter())
            .flat_map(|entry| named(entry).map(move |name| (name, entry)))
            .collect();
        // Each mistake is said once: a rate for each place where it is given, an RTL NIC for each entry of hosts, and
        // the response of each entry of switches.
        let mut said = BTreeSet::new();
        let mut cables = BTreeMap::<String, usize>::new();
        for (a, b, number) in self.cables_of(names) {
            let link = &self.links[number];
            let rate = self.rate_of(link);
            let place = || self.place_of_rate(number, link);
            if !RATES.contains(&Rate::from(rate)) && said.insert(place()) {
                found.push(issue(place(), format!("{rate}: 10 to 800 Gb/s")));
            }
            for end in [&a, &b] {
                if let Some(entry) = rtl.get(end).filter(|_| rate != LineRate::G40)
                    && said.insert(format!("{} RTL", place()))
                    && said.insert(format!("hosts.{entry}"))
                {
                    let problem = format!(
                        "{rate}: the RTL NIC of host {end} has 256 bits a cycle and 40 Gb/s; nic = \"model\" has 10 to 800 Gb/s"
                    );
                    found.push(issue(place(), problem));
                }
                if let Some(switch) = switches.get(end)
                    && switch.pause_response > longest_response(rate)
                    && said.insert(format!("switches.{}", switch.name))
                {
                    let problem = format!(
                        "{}: at {rate}, of the link to {}, the standard allows {}, which the headroom at the other end counts on",
                        switch.pause_response,
                        if *end == a { &b } else { &a },
                        longest_response(rate)
                    );
                    found.push(issue(
                        format!("switches.{}.pause_response", switch.name),
                        problem,
                    ));
                }
                *cables.entry(end.clone()).or_default() += 1;
            }
            if a == b {
                found.push(issue("links.ends", format!("'{a}' is joined with itself")));
            }
        }
        for host in names.hosts() {
            let ports = cables.get(host).copied().unwrap_or(0);
            if ports != 1 {
                found.push(issue(
                    format!("hosts.{host}"),
                    format!("{ports} links end here: a NIC has one port"),
                ));
            }
        }
        for switch in names.switches() {
            let problem = match cables.get(switch).copied().unwrap_or(0) {
                0 => "no link ends here: a switch has a port for each".into(),
                1..=MOST_PORTS => continue,
                ports => format!("{ports} links end here: a switch has {MOST_PORTS} ports at most"),
            };
            found.push(issue(format!("switches.{switch}"), problem));
        }
        found
    }

    /// Every cable of a scenario written out: its two ends, and the index of its entry in the list.
    pub fn cables(&self) -> Vec<(String, String, usize)> {
        self.cables_of(&Names::of(self))
    }

    /// As [`cables`](Self::cables), given the scenario's names.
    pub fn cables_of(&self, names: &Names) -> Vec<(String, String, usize)> {
        let mut cables = Vec::new();
        let expand = |end: &String| names.nodes(end).unwrap_or_else(|| vec![end.clone()]);
        for (i, link) in self.links.iter().enumerate() {
            let [from, to] = [&link.ends[0], &link.ends[1]].map(expand);
            for a in from {
                cables.extend(to.iter().map(|b| (a.clone(), b.clone(), i)));
            }
        }
        cables
    }

    /// For each node the smallest node that it is connected with, over any number of cables.
    fn connected(&self, names: &Names) -> BTreeMap<String, usize> {
        let nodes = names.hosts().union(names.switches());
        let numbers: BTreeMap<&String, usize> = nodes.zip(0..).collect();
        let mut above: Vec<usize> = (0..numbers.len()).collect();
        fn top(above: &mut [usize], mut node: usize) -> usize {
            while above[node] != node {
                above[node] = above[above[node]];
                node = above[node];
            }
            node
        }
        for (a, b, _) in self.cables_of(names) {
            let [a, b] = [a, b].map(|end| top(&mut above, numbers[&end]));
            above[a.max(b)] = a.min(b);
        }
        let numbers = numbers.into_iter();
        numbers
            .map(|(name, number)| (name.clone(), top(&mut above, number)))
            .collect()
    }

    /// Checks the keys of a flow that need no network, and its file.
    fn check_keys(&self, flow: &FlowSettings) -> Vec<Issue> {
        let mut found = Vec::new();
        let place = |key: &str| format!("flows.{}.{key}", flow.name);
        let mut wrong = |key: &str, problem: String| found.push(issue(place(key), problem));
        let working_set = flow.check_working_set();
        if flow.mtu_code().is_none() {
            wrong("mtu", format!("{}: 256, 512, 1024, 2048 or 4096", flow.mtu));
        }
        let ranges = [
            ("message", flow.message.get(), 1, 1 << 31, "bytes"),
            ("count", flow.count.unwrap_or(1), 1, u64::MAX, ""),
            ("outstanding", flow.outstanding.into(), 1, RING.into(), ""),
            ("qps", flow.qps.into(), 1, MODEL_QPS as u64, ""),
            ("dscp", flow.dscp.into(), 0, 63, ""),
            ("pcp", flow.pcp.unwrap_or(0).into(), 0, 7, ""),
            ("ack_dscp", flow.ack_dscp.unwrap_or(0).into(), 0, 63, ""),
            ("ack_pcp", flow.ack_pcp.unwrap_or(0).into(), 0, 7, ""),
            ("vlan", flow.vlan.unwrap_or(0).into(), 0, 4094, ""),
            ("ttl", flow.ttl.into(), 1, 255, ""),
            ("window", flow.window.into(), 1, 1 << 22, "packets"),
            ("timeout", flow.timeout.into(), 0, 31, ""),
            ("few_timeout", flow.few_timeout.into(), 0, 31, ""),
            ("retries", flow.retries.into(), 0, 7, ""),
            ("rnr_retries", flow.rnr_retries.into(), 0, 7, ""),
        ];
        for (key, value, least, most, unit) in ranges {
            if !(least..=most).contains(&value) {
                let problem = format!("{value}: {least} to {most} {unit}");
                wrong(key, problem.trim_end().into());
            }
        }
        let answered = self
            .flows
            .iter()
            .any(|it| it.answers.as_ref() == Some(&flow.name));
        let mixed = flow.check_mix(answered);
        if flow.mix.is_none() && flow.operation.returns() {
            let atomic = flow.operation.is_atomic();
            if atomic && flow.message.get() != 8 {
                wrong("message", format!("{}: an atomic has 8 B", flow.message));
            }
            for (key, given) in [
                ("pattern", flow.pattern.is_some()),
                ("lockstep", flow.lockstep),
                ("answers", flow.answers.is_some() || answered),
            ] {
                if given {
                    let problem = "its messages arrive at another host, and those of READs and atomics do not";
                    wrong(key, problem.into());
                }
            }
        }
        if let (Some(pcp), None) = (flow.ack_pcp, flow.pcp) {
            let problem = format!("{pcp}: the flow's packets have a tag only with `pcp`");
            wrong("ack_pcp", problem);
        }
        found.extend(working_set);
        found.extend(mixed);
        found.extend(Self::check_few_timeout(flow));
        found.extend(self.check_listed(flow));
        found
    }

    /// Checks the keys that say what a workload sends: a file, or a distribution of sizes with its load.
    fn check_listed(&self, flow: &FlowSettings) -> Vec<Issue> {
        let mut found = Vec::new();
        let place = |key: &str| format!("flows.{}.{key}", flow.name);
        let mut wrong = |key: &str, problem: String| found.push(issue(place(key), problem));
        match (&flow.ns3, &flow.sizes) {
            (Some(_), Some(_)) => {
                wrong("sizes", "ns3 is given too: one of them".into());
                return found;
            }
            (None, None) => {
                for (key, given) in [
                    ("load", flow.load.is_some()),
                    ("until", flow.until.is_some()),
                ] {
                    if given && flow.pattern != Some(super::Pattern::Incast) {
                        wrong(key, "goes with sizes, or with pattern = \"incast\"".into());
                    }
                }
                return found;
            }
            _ if flow.pattern.is_some() || flow.goal.is_some() => return found,
            _ => {}
        }
        let with = if flow.ns3.is_some() { "ns3" } else { "sizes" };
        let own = [
            ("count", flow.count.is_some(), "each flow is one message"),
            (
                "interval",
                flow.interval.is_some(),
                "each flow is one message",
            ),
            ("qps", flow.qps > 1, "each flow has a QP of its own"),
            ("lockstep", flow.lockstep, "flows start when the file says"),
            (
                "lockstep_qps",
                flow.lockstep_qps,
                "flows start when the file says",
            ),
            ("depth", flow.depth.is_some(), "each flow is one message"),
            ("answers", flow.answers.is_some(), "the file has no answers"),
            (
                "udp_port",
                flow.udp_port.is_some(),
                "each flow draws its own",
            ),
            (
                "pairs",
                flow.pairs != super::Pairs::InOrder,
                "the pairs are given",
            ),
        ];
        found.extend(flow.not_with(with, own));
        let mut wrong = |key: &str, problem: String| found.push(issue(place(key), problem));
        let file = match (&flow.ns3, &flow.sizes) {
            (Some(path), _) => {
                for (key, given) in [
                    ("from", !flow.from.is_empty()),
                    ("to", !flow.to.is_empty()),
                    ("load", flow.load.is_some()),
                    ("until", flow.until.is_some()),
                ] {
                    if given {
                        wrong(key, "not with ns3: the file says it".into());
                    }
                }
                (path, flow.listed.as_ref().map(|list| list.as_ref().err()))
            }
            (None, Some(path)) => {
                match flow.load {
                    None => wrong("load", "required with sizes: such as 0.5".into()),
                    Some(load) if !(load > 0.0 && load <= 1.0) => {
                        wrong(
                            "load",
                            format!("{load}: above 0 to 1, a part of the line rate"),
                        );
                    }
                    Some(_) => {}
                }
                let until = flow.until.unwrap_or(self.duration);
                if until <= flow.start {
                    wrong("until", format!("{until}: after start, {}", flow.start));
                }
                let sizes = flow.distribution.as_ref();
                (path, sizes.map(|sizes| sizes.as_ref().err()))
            }
            (None, None) => return found,
        };
        match file {
            (path, None) => wrong(with, format!("{path} has not been read")),
            (_, Some(Some(wrong))) => found.extend(wrong.0.iter().cloned()),
            (_, Some(None)) => {}
        }
        found
    }

    /// Checks the ends of a flow that is no workload.
    fn check_pairs(
        &self,
        number: usize,
        flow: &FlowSettings,
        names: &Names,
        groups: Option<&BTreeMap<String, usize>>,
    ) -> Vec<Issue> {
        let mut found = Vec::new();
        let place = |key: &str| format!("flows.{}.{key}", flow.name);
        let ends = [("from", &flow.from), ("to", &flow.to)];
        let mut hosts = Vec::new();
        // Probes go between all hosts.
        let ends = ends
            .into_iter()
            .filter(|_| flow.pairs != super::Pairs::Reaches);
        for (key, name) in ends {
            match names.hosts_of(name) {
                _ if name.is_empty() => {
                    found.push(issue(place(key), "required: the name of a host"));
                }
                None => {
                    let problem = format!("'{name}' is no host: hosts are {}", names.list_hosts());
                    found.push(issue(place(key), problem));
                }
                Some(known) => hosts.push(known.len()),
            }
        }
        let all = names.hosts().len();
        let (from, to) = match hosts[..] {
            [from, to] => (from, to),
            _ if flow.pairs == super::Pairs::Reaches => (all, all),
            _ => return found,
        };
        let count = match flow.pairs {
            super::Pairs::Each => from.saturating_mul(to),
            _ => from.max(to),
        };
        let count = count.saturating_mul(flow.qps as usize);
        if count > MOST_FLOWS {
            found.push(issue(
                place("pairs"),
                format!("{count} flows: {MOST_FLOWS} at most"),
            ));
            return found;
        }
        let pairs = self.pairs(number, flow, names);
        if let Some((host, _)) = pairs.iter().find(|(from, to)| from == to) {
            found.push(issue(place("to"), format!("'{host}' would send to itself")));
        }
        if flow.lockstep {
            let [from, to] = [0, 1].map(|end| {
                let ends = pairs.iter().map(|(from, to)| [from, to][end]);
                let mut ends: Vec<&String> = ends.collect();
                ends.sort_unstable();
                ends
            });
            let twice = from.windows(2).any(|two| two[0] == two[1]);
            if from != to || twice || flow.qps > 1 {
                found.push(issue(
                    place("lockstep"),
                    "each of the hosts has to send to one and to receive from one, on one QP: from and to are the \
                     same group",
                ));
            }
        }
        if pairs.is_empty() {
            found.push(issue(
                place("pairs"),
                "none is left: nobody sends to itself",
            ));
        }
        if let Some(groups) = groups {
            let apart = |pair: &&(String, String)| groups.get(&pair.0) != groups.get(&pair.1);
            let mut apart = pairs.iter().filter(apart);
            if let Some((from, to)) = apart.next() {
                let more = match apart.count() {
                    0 => String::new(),
                    1 => ", nor another pair".into(),
                    more => format!(", nor {more} other pairs"),
                };
                let problem = format!("no path leads from {from} to {to}{more}");
                found.push(issue(place("to"), problem));
            }
        }
        found
    }

    /// Checks the hosts of a workload, and how many flows it has.
    fn check_workload(
        &self,
        flow: &FlowSettings,
        names: &Names,
        groups: Option<&BTreeMap<String, usize>>,
    ) -> Vec<Issue> {
        let mut found = Vec::new();
        let place = |key: &str| format!("flows.{}.{key}", flow.name);
        if let Some(Ok(list)) = &flow.listed {
            for one in &list.flows {
                let line = format!("{}:{}", list.file, one.line);
                let ends = [("src", one.src), ("dst", one.dst)];
                let ends = ends.map(|(what, number)| (what, number, format!("h{number}")));
                let unknown = ends.iter().filter(|end| !names.hosts().contains(&end.2));
                let before = found.len();
                found.extend(unknown.map(|(what, number, _)| {
                    let problem = format!(
                        "{what} {number}: there is no host h{number}: hosts are {}",
                        names.list_hosts()
                    );
                    issue(&line, problem)
                }));
                let [(_, _, from), (_, _, to)] = &ends;
                if let Some(groups) = groups.filter(|_| found.len() == before)
                    && groups.get(from) != groups.get(to)
                {
                    found.push(issue(&line, format!("no path leads from {from} to {to}")));
                }
            }
        }
        let Some(Ok(sizes)) = &flow.distribution else {
            return found;
        };
        for (key, name) in [("from", &flow.from), ("to", &flow.to)] {
            if !name.is_empty() && names.hosts_of(name).is_none() {
                let problem = format!("'{name}' is no host: hosts are {}", names.list_hosts());
                found.push(issue(place(key), problem));
            }
        }
        if !found.is_empty() {
            return found;
        }
        let (from, to) = self.workload_ends(flow, names);
        if let [from] = from.as_slice()
            && to.iter().all(|to| to == from)
        {
            found.push(issue(place("to"), format!("'{from}' would send to itself")));
        }
        let Some(groups) = groups else { return found };
        let of = |host: &String| groups.get(host).copied();
        let first = from.first().and_then(of);
        if let Some(other) = from.iter().chain(&to).find(|host| of(host) != first) {
            let problem = format!("no path leads from {} to {other}", from[0]);
            found.push(issue(place("sizes"), problem));
        }
        let load = flow.load.unwrap_or(0.0);
        if load > 0.0 && load <= 1.0 {
            let rates = self.host_rates(names);
            let rates = from.iter().filter_map(|host| rates.get(host));
            let time = flow
                .until
                .unwrap_or(self.duration)
                .saturating_sub(flow.start);
            let count: f64 = rates
                .map(|rate| time.as_ps() as f64 / interval_ps(sizes, load, *rate))
                .sum();
            if count > MOST_FLOWS as f64 {
                let problem =
                    format!("{load} makes about {count:.0} flows, and {MOST_FLOWS} are the most");
                found.push(issue(place("load"), problem));
            }
        }
        found
    }
}
