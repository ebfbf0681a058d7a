//! Checks of a scenario before it runs.

use std::collections::BTreeSet;

use thiserror::Error;
use xoff_sim::time::{Duration, LineRate, Rate};

use super::expectation::Op;
use super::variant::BASE;
use super::{FlowSettings, InjectEntry, NicKind, Scenario, SwitchSettings};

/// Number of QPs of an RTL NIC, and of entries in its table of regions.
pub const QPS: usize = xoff_rtl::nic::QPS as usize;
/// Largest number of QPs of a model NIC, which has as many as its flows need and at least [`QPS`]. A QP takes a few KB.
pub const MODEL_QPS: usize = 4_096;
/// Number of work requests that a NIC holds for each QP.
pub const RING: u32 = xoff_rtl::nic::WQES;

/// Largest number of hosts in a scenario. A host's number has 24 bits in its addresses, and this many model NICs fill
/// the memory of a computer.
pub const MOST_HOSTS: u64 = 1 << 16;
/// Rates that a link may have.
pub const RATES: std::ops::RangeInclusive<Rate> = Rate::from_gbps(10)..=Rate::from_gbps(400);
/// Largest number of values that all charts may have together: 32 MB of numbers.
pub const MOST_SAMPLES: u64 = 4_000_000;

/// Something in a scenario that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct Misfit {
    /// The key of the scenario, such as `flows.a.message`.
    pub place: String,
    /// The value that was read, and what would be right.
    pub problem: String,
}

pub(super) fn misfit(place: impl Into<String>, problem: impl Into<String>) -> Misfit {
    Misfit {
        place: place.into(),
        problem: problem.into(),
    }
}

pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    names.join(", ")
}

impl Scenario {
    /// Checks the scenario for anything that does not fit together.
    ///
    /// # Errors
    ///
    /// The first thing found, with its key.
    pub fn check(&self) -> Result<(), Misfit> {
        if !(1..=super::VERSION).contains(&self.version) {
            let problem = format!(
                "{}: this xoff reads version {}",
                self.version,
                super::VERSION
            );
            return Err(misfit("version", problem));
        }
        if self.duration == Duration::ZERO {
            return Err(misfit("duration", "0 runs nothing: such as '10 ms'"));
        }
        if self.measure_from >= self.duration {
            let problem = format!(
                "{} leaves nothing to measure: less than the duration, {}",
                self.measure_from, self.duration
            );
            return Err(misfit("measure_from", problem));
        }
        if self.sampling() == Duration::ZERO {
            return Err(misfit("sample", "0 never goes on: such as '100 us'"));
        }
        if self.variant != BASE && !self.variants.contains_key(&self.variant) {
            let names = [BASE.to_owned()];
            let problem = format!(
                "'{}': variants are {}",
                self.variant,
                list(names.iter().chain(self.variants.keys()))
            );
            return Err(misfit("variant", problem));
        }
        self.check_sizes()?;
        let hosts = self.check_names()?;
        self.check_hosts()?;
        self.check_links(&hosts)?;
        self.check_switches()?;
        self.check_routes()?;
        self.check_events(&hosts)?;
        self.check_injections(&hosts)?;
        self.check_expectations()?;
        let limits = self.most_qps();
        let mut used = std::collections::BTreeMap::<String, usize>::new();
        let mut names = BTreeSet::new();
        for flow in &self.flows {
            self.check_flow(flow, &hosts)?;
            for (name, from) in self.flow_ends(flow) {
                if !names.insert(name.clone()) {
                    return Err(misfit(
                        format!("flows.{name}"),
                        "there are two of this name",
                    ));
                }
                for end in [from, flow.to.clone()] {
                    let qps = used.entry(end.clone()).or_default();
                    *qps += 1;
                    let most = limits.get(&end).copied().unwrap_or(usize::MAX);
                    if *qps > most {
                        let problem = format!(
                            "host {end} has more than {most} flows, and its NIC {most} QPs"
                        );
                        return Err(misfit(format!("flows.{name}"), problem));
                    }
                }
            }
        }
        Ok(())
    }

    /// The largest number of QPs of each host. The driver of a NIC of your own knows its limit; the host is not here.
    fn most_qps(&self) -> std::collections::BTreeMap<String, usize> {
        let limit = |entry: &super::HostEntry| match self.settings_of(entry).nic {
            NicKind::Rtl => Some(QPS),
            NicKind::Model => Some(MODEL_QPS),
            NicKind::Own(_) => None,
        };
        let each = |entry: &super::HostEntry| {
            let limit = limit(entry)?;
            Some(entry.names().into_iter().map(move |name| (name, limit)))
        };
        self.hosts.iter().filter_map(each).flatten().collect()
    }

    /// The flows that an entry stands for, each with its name and its sender.
    pub fn flow_ends(&self, flow: &FlowSettings) -> Vec<(String, String)> {
        let entry = self.hosts.iter().find(|host| host.name == flow.from);
        let ends = match entry.filter(|host| host.count.is_some()) {
            None => vec![(flow.name.clone(), flow.from.clone())],
            Some(entry) => {
                let each = |from: String| (format!("{}.{from}", flow.name), from);
                entry.names().into_iter().map(each).collect()
            }
        };
        let Some(qps) = flow.qps else { return ends };
        let each = |(name, from): &(String, String)| {
            let of_qp = |qp| (format!("{name}.{qp}"), from.clone());
            (0..qps).map(of_qp).collect::<Vec<_>>()
        };
        ends.iter().flat_map(each).collect()
    }

    /// Names of the hosts whose wires an entry injects into.
    pub fn injected_hosts(&self, entry: &InjectEntry) -> Vec<String> {
        match self.hosts.iter().find(|host| host.name == entry.host) {
            Some(host) => host.names(),
            None => vec![entry.host.clone()],
        }
    }

    fn check_injections(&self, hosts: &BTreeSet<String>) -> Result<(), Misfit> {
        for (place, entry) in self.inject.iter().enumerate() {
            let wrong =
                |key: &str, problem: String| Err(misfit(format!("inject.{place}.{key}"), problem));
            if !self
                .injected_hosts(entry)
                .iter()
                .all(|host| hosts.contains(host))
            {
                let problem = format!("'{}' is no host: hosts are {}", entry.host, list(hosts));
                return wrong("host", problem);
            }
            if entry.start >= self.duration {
                let problem = format!("{}: the run ends at {}", entry.start, self.duration);
                return wrong("start", problem);
            }
            if !(1e-6..=1e6).contains(&entry.scale) {
                return wrong("scale", format!("{}: 0.000001 to 1000000", entry.scale));
            }
            if entry.interval.is_some() && entry.scale != 1.0 {
                return wrong(
                    "scale",
                    "the capture's times are not used: interval is given".into(),
                );
            }
        }
        Ok(())
    }

    fn check_expectations(&self) -> Result<(), Misfit> {
        for expectation in &self.expect {
            let place = format!("expect.{}", expectation.metric);
            if !expectation.value.is_finite() {
                let problem = format!("value {}: a finite number", expectation.value);
                return Err(misfit(place, problem));
            }
            match (expectation.op, expectation.tolerance) {
                (Op::Within, None) => {
                    return Err(misfit(place, "'within' what? such as tolerance = 0.01"));
                }
                (Op::Within, Some(part)) if !(0.0..1.0).contains(&part) => {
                    let problem = format!("tolerance {part}: a part of the value, 0 to below 1");
                    return Err(misfit(place, problem));
                }
                (Op::Within, Some(_)) | (_, None) => {}
                (_, Some(_)) => {
                    return Err(misfit(place, "a tolerance goes with op = 'within'"));
                }
            }
        }
        Ok(())
    }

    /// Refuses unbounded sizes before anything is allocated for them.
    fn check_sizes(&self) -> Result<(), Misfit> {
        let mut hosts = 0;
        for entry in &self.hosts {
            hosts += u64::from(entry.count.unwrap_or(1));
            if hosts > MOST_HOSTS {
                let place = format!("hosts.{}.count", entry.name);
                let count = entry.count.unwrap_or(1);
                let problem = format!("{count}: a network has {MOST_HOSTS} hosts at most");
                return Err(misfit(place, problem));
            }
        }
        let switches = |entry: &SwitchSettings| u64::from(entry.count.unwrap_or(1));
        let mut nodes = 0;
        for entry in &self.switches {
            nodes += switches(entry);
            if nodes > MOST_HOSTS {
                let place = format!("switches.{}.count", entry.name);
                let problem = format!(
                    "{}: a network has {MOST_HOSTS} switches at most",
                    switches(entry)
                );
                return Err(misfit(place, problem));
            }
        }
        let count = |name: &String| {
            let hosts = self.hosts.iter().find(|host| host.name == *name);
            let switches = self.switches.iter().find(|switch| switch.name == *name);
            let count = hosts.and_then(|entry| entry.count);
            let count = count.or(switches.and_then(|entry| entry.count));
            u64::from(count.unwrap_or(1))
        };
        let cables = self
            .links
            .iter()
            .map(|link| count(&link.ends[0]) * count(&link.ends[1]));
        // One cable for each host; the rest connect switches.
        let most = hosts + 64 * MOST_HOSTS;
        if cables.fold(0, u64::saturating_add) > most {
            return Err(misfit(
                "links",
                format!("a network has {most} cables at most"),
            ));
        }
        let flows: u64 = self.flows.iter().map(|flow| count(&flow.from)).sum();
        let series = 3 * flows + hosts + nodes;
        let points = self.duration.as_ps() / self.sampling().as_ps();
        if points.saturating_mul(series) > MOST_SAMPLES {
            let least =
                Duration::from_ps(self.duration.as_ps() / (MOST_SAMPLES / series.max(1)).max(1));
            let problem = format!(
                "{} makes {points} points of {series} lines, more than {MOST_SAMPLES} values: {least} or longer",
                self.sampling()
            );
            return Err(misfit("sample", problem));
        }
        Ok(())
    }

    fn check_names(&self) -> Result<BTreeSet<String>, Misfit> {
        let mut nodes = BTreeSet::new();
        let mut hosts = BTreeSet::new();
        for entry in &self.hosts {
            if entry.count == Some(0) {
                return Err(misfit(
                    format!("hosts.{}.count", entry.name),
                    "0: leave the entry out instead",
                ));
            }
            for name in entry.names() {
                hosts.insert(name.clone());
                Self::check_name("hosts", name, &mut nodes)?;
            }
        }
        for entry in &self.switches {
            if entry.count == Some(0) {
                return Err(misfit(
                    format!("switches.{}.count", entry.name),
                    "0: leave the entry out instead",
                ));
            }
            for name in entry.names() {
                Self::check_name("switches", name, &mut nodes)?;
            }
        }
        Ok(hosts)
    }

    fn check_name(list: &str, name: String, nodes: &mut BTreeSet<String>) -> Result<(), Misfit> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(good) {
            let problem = format!("'{name}' is no name: letters, digits, - and _");
            return Err(misfit(format!("{list}.name"), problem));
        }
        if !nodes.insert(name.clone()) {
            return Err(misfit(
                format!("{list}.{name}"),
                "there are two nodes of this name",
            ));
        }
        Ok(())
    }

    fn check_hosts(&self) -> Result<(), Misfit> {
        let host = &self.host;
        let classes = |place: &str, list: &[u8]| match list.iter().find(|class| **class > 7) {
            Some(class) => Err(misfit(place, format!("class {class}: classes are 0 to 7"))),
            None => Ok(()),
        };
        classes("host.lossless", &host.lossless)?;
        for switch in &self.switches {
            classes(
                &format!("switches.{}.lossless", switch.name),
                &switch.lossless,
            )?;
        }
        if host.xon > host.xoff {
            let problem = format!("{} is above xoff, {}", host.xon, host.xoff);
            return Err(misfit("host.xon", problem));
        }
        if let Some(dcqcn) = &host.dcqcn {
            if !(0.0..1.0).contains(&dcqcn.g) {
                return Err(misfit(
                    "host.dcqcn.g",
                    format!("{}: a gain is 0 to below 1", dcqcn.g),
                ));
            }
            if dcqcn.stages > 31 || dcqcn.cnp_dscp > 63 {
                return Err(misfit(
                    "host.dcqcn",
                    "stages are 0 to 31, cnp_dscp is 0 to 63",
                ));
            }
        }
        Ok(())
    }

    fn check_links(&self, hosts: &BTreeSet<String>) -> Result<(), Misfit> {
        let mut cables = std::collections::BTreeMap::<String, usize>::new();
        let rtl = |entry: &&super::HostEntry| self.settings_of(entry).nic == NicKind::Rtl;
        let rtl: BTreeSet<String> = (self.hosts.iter().filter(rtl))
            .flat_map(super::HostEntry::names)
            .collect();
        let switches: BTreeSet<String> = self
            .switches
            .iter()
            .flat_map(SwitchSettings::names)
            .collect();
        for (a, b, number) in self.cables() {
            let link = &self.links[number];
            let rate = self.rate_of(link);
            let place = || match link.rate {
                Some(_) => format!("links.{number}.rate"),
                None => "host.rate".into(),
            };
            if !RATES.contains(&Rate::from(rate)) {
                return Err(misfit(place(), format!("{rate}: 10 to 400 Gb/s")));
            }
            for end in [&a, &b] {
                if rate != LineRate::G40 && rtl.contains(end) {
                    let problem = format!(
                        "{rate}: the RTL NIC of host {end} has 256 bits a cycle and 40 Gb/s; nic = \"model\" has 10 to 400 Gb/s"
                    );
                    return Err(misfit(place(), problem));
                }
                if !hosts.contains(end) && !switches.contains(end) {
                    let problem = format!(
                        "'{end}' is no node: nodes are {}",
                        list(hosts.iter().chain(&switches))
                    );
                    return Err(misfit("links.ends", problem));
                }
                *cables.entry(end.clone()).or_default() += 1;
            }
            if a == b {
                return Err(misfit("links.ends", format!("'{a}' is joined with itself")));
            }
        }
        for host in hosts {
            let ports = cables.get(host).copied().unwrap_or(0);
            if ports != 1 {
                return Err(misfit(
                    format!("hosts.{host}"),
                    format!("{ports} links end here: a NIC has one port"),
                ));
            }
        }
        Ok(())
    }

    /// Every cable: its two ends, and the index of its entry in the list.
    pub fn cables(&self) -> Vec<(String, String, usize)> {
        let mut cables = Vec::new();
        let expand = |end: &String| {
            let hosts = self.hosts.iter().find(|host| host.name == *end);
            let switches = self.switches.iter().find(|switch| switch.name == *end);
            match (hosts, switches) {
                (Some(entry), _) => entry.names(),
                (None, Some(entry)) => entry.names(),
                (None, None) => vec![end.clone()],
            }
        };
        for (i, link) in self.links.iter().enumerate() {
            for a in expand(&link.ends[0]) {
                for b in expand(&link.ends[1]) {
                    cables.push((a.clone(), b, i));
                }
            }
        }
        cables
    }

    fn check_flow(&self, flow: &FlowSettings, names: &BTreeSet<String>) -> Result<(), Misfit> {
        let place = |key: &str| format!("flows.{}.{key}", flow.name);
        let group = |name: &String| self.hosts.iter().any(|host| host.name == *name);
        if !names.contains(&flow.from) && !group(&flow.from) {
            let problem = format!("'{}' is no host: hosts are {}", flow.from, list(names));
            return Err(misfit(place("from"), problem));
        }
        if !names.contains(&flow.to) {
            let problem = format!("'{}' is no host: hosts are {}", flow.to, list(names));
            return Err(misfit(place("to"), problem));
        }
        if self
            .flow_ends(flow)
            .iter()
            .any(|(_, from)| *from == flow.to)
        {
            return Err(misfit(
                place("to"),
                format!("'{}' would send to itself", flow.to),
            ));
        }
        if flow.mtu_code().is_none() {
            let problem = format!("{}: 256, 512, 1024, 2048 or 4096", flow.mtu);
            return Err(misfit(place("mtu"), problem));
        }
        let ranges = [
            ("message", flow.message.get(), 1, 1 << 31, "bytes"),
            ("count", flow.count.unwrap_or(1), 1, u64::MAX, ""),
            ("outstanding", flow.outstanding.into(), 1, RING.into(), ""),
            ("dscp", flow.dscp.into(), 0, 63, ""),
            ("pcp", flow.pcp.unwrap_or(0).into(), 0, 7, ""),
            ("vlan", flow.vlan.into(), 0, 4094, ""),
            ("qps", flow.qps.unwrap_or(1).into(), 1, QPS as u64, ""),
            ("window", flow.window.into(), 1, 1 << 22, "packets"),
            ("timeout", flow.timeout.into(), 0, 31, ""),
            ("retries", flow.retries.into(), 0, 7, ""),
            ("rnr_retries", flow.rnr_retries.into(), 0, 7, ""),
        ];
        for (key, value, least, most, unit) in ranges {
            if !(least..=most).contains(&value) {
                let problem = format!("{value}: {least} to {most} {unit}");
                return Err(misfit(place(key), problem.trim_end()));
            }
        }
        Ok(())
    }
}
