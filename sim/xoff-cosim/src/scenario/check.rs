//! Checks of a scenario before it runs.

use std::collections::BTreeSet;

use thiserror::Error;
use xoff_sim::time::{Duration, LineRate};

use super::expectation::Op;
use super::{FlowSettings, InjectEntry, NicKind, Scenario};

/// Number of QPs of a NIC, and of entries in its table of regions.
pub const QPS: usize = xoff_rtl::nic::QPS as usize;
/// Number of work requests that a NIC holds for each QP.
pub const RING: u32 = xoff_rtl::nic::WQES;

/// Largest number of hosts in a scenario. A host's number has 24 bits in its addresses, and this many model NICs fill
/// the memory of a computer.
pub const MOST_HOSTS: u64 = 1 << 16;
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

fn misfit(place: impl Into<String>, problem: impl Into<String>) -> Misfit {
    Misfit {
        place: place.into(),
        problem: problem.into(),
    }
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
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
        self.check_sizes()?;
        self.check_thresholds()?;
        let hosts = self.check_names()?;
        self.check_hosts()?;
        self.check_links(&hosts)?;
        self.check_injections(&hosts)?;
        self.check_expectations()?;
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
                    if *qps > QPS {
                        let problem =
                            format!("host {end} has more than {QPS} flows, and its NIC {QPS} QPs");
                        return Err(misfit(format!("flows.{name}"), problem));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_thresholds(&self) -> Result<(), Misfit> {
        if self.detect.storm_window == Duration::ZERO {
            return Err(misfit(
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
                let problem = format!("{part} is no part of the time: above 0, at most 1");
                return Err(misfit(format!("detect.{key}"), problem));
            }
        }
        Ok(())
    }

    /// The flows that an entry stands for, each with its name and its sender.
    pub fn flow_ends(&self, flow: &FlowSettings) -> Vec<(String, String)> {
        let entry = self.hosts.iter().find(|host| host.name == flow.from);
        match entry.filter(|host| host.count.is_some()) {
            None => vec![(flow.name.clone(), flow.from.clone())],
            Some(entry) => {
                let each = |from: String| (format!("{}.{from}", flow.name), from);
                entry.names().into_iter().map(each).collect()
            }
        }
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
        let count = |name: &String| {
            let entry = self.hosts.iter().find(|host| host.name == *name);
            u64::from(entry.and_then(|entry| entry.count).unwrap_or(1))
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
        let series = 3 * flows + hosts + self.switches.len() as u64;
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
        for switch in &self.switches {
            Self::check_name("switches", switch.name.clone(), &mut nodes)?;
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
            if let Some(ecn) = &switch.ecn
                && !(0.0..=1.0).contains(&ecn.pmax)
            {
                let problem = format!("{}: a probability is 0 to 1", ecn.pmax);
                return Err(misfit(
                    format!("switches.{}.ecn.pmax", switch.name),
                    problem,
                ));
            }
        }
        if host.xon > host.xoff {
            let problem = format!("{} is above xoff, {}", host.xon, host.xoff);
            return Err(misfit("host.xon", problem));
        }
        let own = |entry: &super::HostEntry| matches!(self.settings_of(entry).nic, NicKind::Own(_));
        if host.rate != LineRate::G40 && !self.hosts.iter().all(own) {
            let problem = format!(
                "{}: nic 'rtl' and 'model' have 256 bits a cycle and 40 Gb/s",
                host.rate
            );
            return Err(misfit("host.rate", problem));
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
        for (a, b, _) in self.cables() {
            for end in [&a, &b] {
                let known =
                    hosts.contains(end) || self.switches.iter().any(|switch| switch.name == *end);
                if !known {
                    let switches = self.switches.iter().map(|switch| &switch.name);
                    let problem = format!(
                        "'{end}' is no node: nodes are {}",
                        list(hosts.iter().chain(switches))
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
        let expand = |end: &String| match self.hosts.iter().find(|host| host.name == *end) {
            Some(entry) => entry.names(),
            None => vec![end.clone()],
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
