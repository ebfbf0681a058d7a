//! Checks of what flows wait for: patterns, answers, and entries that come after others.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::time::ByteCount;

use super::check::{Issue, issue};
use super::connection::{Connection, MOST_FLOWS};
use super::names::Names;
use super::pattern::BARRIER_BYTES;
use super::{FlowSettings, Pairs, Pattern, Scenario};

/// Least number of hosts of a pattern.
const LEAST_HOSTS: usize = 2;

impl FlowSettings {
    fn place(&self, key: &str) -> String {
        format!("flows.{}.{key}", self.name)
    }

    /// Says of those of these keys that are given that they do not go with something, and why.
    pub(super) fn not_with<'a>(
        &self,
        with: &str,
        keys: impl IntoIterator<Item = (&'a str, bool, &'a str)>,
    ) -> Vec<Issue> {
        let given = keys.into_iter().filter(|(_, given, _)| *given);
        let said = |(key, _, why)| issue(self.place(key), format!("not with {with}: {why}"));
        given.map(said).collect()
    }
}

impl Scenario {
    /// Checks the keys of an entry that say what it waits for, apart from its hosts.
    pub(super) fn check_waits(&self, flow: &FlowSettings) -> Vec<Issue> {
        let mut found = Vec::new();
        let mut wrong = |key: &str, problem: String| found.push(issue(flow.place(key), problem));
        let only = |pattern: Pattern| flow.pattern == Some(pattern);
        let beside = [
            ("chunk", flow.chunk.is_some(), Pattern::TreeAllReduce),
            ("response", flow.response.is_some(), Pattern::Queries),
            ("senders", flow.senders.is_some(), Pattern::Incast),
        ];
        for (key, given, pattern) in beside {
            if given && !only(pattern) {
                wrong(key, format!("goes with pattern = \"{}\"", pattern.name()));
            }
        }
        let answered = (self.flows.iter()).any(|other| other.answers.as_ref() == Some(&flow.name));
        match flow.depth {
            Some(0) => wrong("depth", "0: 1 or more".into()),
            Some(_) if flow.pattern.is_some_and(Pattern::is_storage) => {}
            Some(_) if !answered => {
                wrong(
                    "depth",
                    format!("goes with another entry that answers '{}'", flow.name),
                );
            }
            _ => {}
        }
        let waits = flow.waits() || flow.lockstep || flow.lockstep_qps || flow.depth.is_some();
        if flow.think.is_some() && !waits {
            let problem =
                "nothing to wait for before: goes with pattern, after, answers, depth or lockstep";
            wrong("think", problem.into());
        }
        if flow.lockstep && flow.lockstep_qps {
            wrong("lockstep_qps", "lockstep is given too: one of them".into());
        }
        found.extend(self.check_order(flow));
        found
    }

    /// Checks that the entries that come before one are there and end some time, and that none waits for itself.
    fn check_order(&self, flow: &FlowSettings) -> Vec<Issue> {
        let mut found = Vec::new();
        for name in &flow.after {
            let Some(before) = self.flows.iter().find(|other| other.name == *name) else {
                let names: Vec<&str> = self.flows.iter().map(|other| &*other.name).collect();
                let problem = format!(
                    "'{name}' is no entry of flows: there are {}",
                    names.join(", ")
                );
                found.push(issue(flow.place("after"), problem));
                continue;
            };
            let ends = before.count.is_some()
                || before.is_workload()
                || before.goal.is_some()
                || before.pattern == Some(Pattern::Incast)
                || before.answers.is_some();
            if !ends {
                let problem =
                    format!("'{name}' does not end: flows.{name}.count says how often it sends");
                found.push(issue(flow.place("after"), problem));
            }
        }
        if let Some(cycle) = self.cycle(flow) {
            let problem = format!("{} wait for each other, so none begins", cycle.join(", "));
            found.push(issue(flow.place("after"), problem));
        }
        found
    }

    /// The entries that an entry comes after and that come after it, if there are any, from the entry on. Only the
    /// first entry of a cycle has it.
    fn cycle(&self, flow: &FlowSettings) -> Option<Vec<String>> {
        let entry = |name: &String| self.flows.iter().find(|other| other.name == *name);
        let mut trace = vec![(flow, flow.after.iter())];
        let mut seen = BTreeSet::new();
        while let Some((_, next)) = trace.last_mut() {
            let Some(name) = next.next() else {
                trace.pop();
                continue;
            };
            if *name == flow.name {
                let cycle: Vec<String> =
                    trace.iter().map(|(entry, _)| entry.name.clone()).collect();
                let place = |name: &String| self.flows.iter().position(|other| other.name == *name);
                let first = cycle.iter().map(place).min();
                return (first == Some(place(&flow.name))).then_some(cycle);
            }
            if let Some(before) = entry(name).filter(|_| seen.insert(name)) {
                trace.push((before, before.after.iter()));
            }
        }
        None
    }

    /// Checks the hosts and sizes of a pattern.
    pub(super) fn check_pattern(
        &self,
        place: usize,
        flow: &FlowSettings,
        pattern: Pattern,
        names: &Names,
        groups: Option<&BTreeMap<String, usize>>,
    ) -> Vec<Issue> {
        let mut found = keys_beside(flow, pattern);
        let mut hosts = Vec::new();
        for (key, name) in [("from", &flow.from), ("to", &flow.to)] {
            let needed = key == "from" || !pattern.is_collective();
            match names.hosts_of(name) {
                _ if !needed => hosts.push(Vec::new()),
                _ if name.is_empty() => {
                    found.push(issue(flow.place(key), "required: the name of hosts"))
                }
                None => {
                    let problem = format!("'{name}' is no host: hosts are {}", names.list_hosts());
                    found.push(issue(flow.place(key), problem));
                }
                Some(known) => hosts.push(known),
            }
        }
        let [from, to] = &hosts[..] else {
            return found;
        };
        found.extend(match pattern.is_collective() {
            true => sizes(flow, pattern, from.len()),
            false => ends(flow, pattern, from, to),
        });
        let all = from.iter().chain(to);
        if let Some(groups) = groups
            && let Some(other) = all
                .clone()
                .find(|host| groups.get(*host) != groups.get(&from[0]))
        {
            let problem = format!("no path leads from {} to {other}", from[0]);
            found.push(issue(flow.place("from"), problem));
        }
        if !found.is_empty() {
            return found;
        }
        let rates = self.host_rates(names);
        let rates: Vec<_> = to
            .iter()
            .filter_map(|host| rates.get(host).copied())
            .collect();
        let request = flow.request(self, (from, to), (place, &rates));
        let Some(request) = request else {
            return found;
        };
        let count = request.count();
        if count > MOST_FLOWS {
            found.push(issue(
                flow.place("pattern"),
                format!("{count} flows: {MOST_FLOWS} at most"),
            ));
        }
        found
    }

    /// Checks an entry that answers another.
    pub(super) fn check_answers(&self, flow: &FlowSettings) -> Vec<Issue> {
        let given = [
            ("from", !flow.from.is_empty(), "those who are asked send"),
            ("to", !flow.to.is_empty(), "answers go to those who ask"),
            (
                "pairs",
                flow.pairs != Pairs::InOrder,
                "the pairs are those who ask and are asked",
            ),
            ("qps", flow.qps > 1, "there is a QP for each that asks"),
            ("count", flow.count.is_some(), "each request has an answer"),
            (
                "interval",
                flow.interval.is_some(),
                "answers go when requests have come",
            ),
            (
                "lockstep",
                flow.lockstep,
                "answers go when requests have come",
            ),
            (
                "lockstep_qps",
                flow.lockstep_qps,
                "answers go when requests have come",
            ),
            (
                "pattern",
                flow.pattern.is_some(),
                "a pattern has its own answers",
            ),
        ];
        let mut found = flow.not_with("answers", given);
        let mut wrong = |key: &str, problem: &str| found.push(issue(flow.place(key), problem));
        match self.asked(flow) {
            None => {
                let names: Vec<&str> = self.flows.iter().map(|other| &*other.name).collect();
                let name = flow.answers.as_deref().unwrap_or_default();
                let problem = format!(
                    "'{name}' is no entry of flows: there are {}",
                    names.join(", ")
                );
                wrong("answers", &problem);
            }
            Some((_, asked)) => {
                let plain = asked.answers.is_none()
                    && asked.pattern.is_none()
                    && asked.goal.is_none()
                    && !asked.is_workload()
                    && !asked.lockstep
                    && !asked.lockstep_qps;
                if !plain || asked.name == flow.name {
                    let problem = format!(
                        "'{}': only flows between pairs can be answered, not answers, patterns, workloads or flows in \
                         lockstep",
                        asked.name
                    );
                    wrong("answers", &problem);
                }
                let same = |other: &&FlowSettings| other.answers == flow.answers;
                let first = self.flows.iter().find(same);
                if first.is_some_and(|first| first.name != flow.name) {
                    let problem = format!("'{}' is answered by another entry already", asked.name);
                    wrong("answers", &problem);
                }
            }
        }
        found
    }

    /// Checks that each host of an entry that comes after others sees something of them.
    pub(super) fn check_reached(&self, flows: &[Connection<'_>]) -> Vec<Issue> {
        let mut found = Vec::new();
        let ranges = self.ranges(flows);
        for (entry, range) in self.flows.iter().zip(&ranges) {
            for name in &entry.after {
                let before = self.flows.iter().position(|other| other.name == *name);
                let Some(before) = before.map(|place| ranges[place].clone()) else {
                    continue;
                };
                let ends = flows[before].iter().flat_map(|flow| [&flow.from, &flow.to]);
                let hosts: BTreeSet<&String> = ends.collect();
                let mut senders = flows[range.clone()].iter().map(|flow| &flow.from);
                if let Some(host) = senders.find(|host| !hosts.contains(host)) {
                    let problem = format!(
                        "'{name}' does not reach {host}: no flow of it starts or ends there, so {host} sees nothing of \
                         its end; pattern = \"barrier\" with hosts of both, in between, tells it"
                    );
                    found.push(issue(entry.place("after"), problem));
                }
            }
        }
        found
    }
}

/// Keys that a pattern does not have.
fn keys_beside(flow: &FlowSettings, pattern: Pattern) -> Vec<Issue> {
    let given = [
        (
            "to",
            pattern.is_collective() && !flow.to.is_empty(),
            "the hosts are those of from",
        ),
        ("pairs", flow.pairs != Pairs::InOrder, "the pairs are given"),
        ("qps", flow.qps > 1, "each pair has one QP"),
        (
            "lockstep",
            flow.lockstep,
            "its messages wait for each other anyway",
        ),
        (
            "lockstep_qps",
            flow.lockstep_qps,
            "its messages wait for each other anyway",
        ),
        (
            "interval",
            flow.interval.is_some(),
            "`think` is the time between rounds",
        ),
        (
            "ns3",
            flow.ns3.is_some(),
            "flows of a file start when it says",
        ),
        ("sizes", flow.sizes.is_some(), "sizes are given"),
        (
            "answers",
            flow.answers.is_some(),
            "a pattern answers nothing",
        ),
        (
            "count",
            pattern == Pattern::Incast && flow.count.is_some(),
            "`until` ends it",
        ),
        (
            "think",
            pattern == Pattern::Incast && flow.think.is_some(),
            "`load` says how often it comes",
        ),
    ];
    let mut found = flow.not_with(&format!("pattern = \"{}\"", pattern.name()), given);
    let load = flow.load.is_some_and(|load| load > 0.0 && load <= 1.0);
    if pattern == Pattern::Incast {
        if !load {
            let problem = match flow.load {
                None => "required with incast: such as 0.1".into(),
                Some(load) => format!("{load}: above 0 to 1, a part of the receiver's line rate"),
            };
            found.push(issue(flow.place("load"), problem));
        }
        if flow.senders.is_none() {
            found.push(issue(
                flow.place("senders"),
                "required with incast: such as 8",
            ));
        }
    }
    found
}

/// Checks the number of hosts of a collective, and that its data can be cut.
fn sizes(flow: &FlowSettings, pattern: Pattern, hosts: usize) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut wrong = |key: &str, problem: String| found.push(issue(flow.place(key), problem));
    if hosts < LEAST_HOSTS {
        wrong("from", format!("{hosts} host: {LEAST_HOSTS} or more"));
        return found;
    }
    if pattern == Pattern::HalvingDoublingAllReduce && !hosts.is_power_of_two() {
        let [below, above] = [hosts.next_power_of_two() / 2, hosts.next_power_of_two()];
        let problem =
            format!("{hosts} hosts: halving needs a power of two, such as {below} or {above}");
        wrong("from", problem);
    }
    let bytes = flow.message.get();
    if pattern.divides() && !bytes.is_multiple_of(hosts as u64) {
        let below = ByteCount::new((bytes / hosts as u64).max(1) * hosts as u64);
        let problem = format!(
            "{bytes} bytes among {hosts} hosts: a multiple of {hosts}, such as {} bytes",
            below.get()
        );
        wrong("message", problem);
    }
    if let Some(chunk) = flow.chunk.filter(|_| pattern == Pattern::TreeAllReduce) {
        let fits = chunk.get() > 0 && bytes.is_multiple_of(chunk.get());
        if !fits {
            let problem = format!(
                "{} bytes: a part of message, {bytes} bytes, that goes into it",
                chunk.get()
            );
            wrong("chunk", problem);
        }
    }
    let untouched = FlowSettings::new("", "", "").message;
    if pattern == Pattern::Barrier && ![BARRIER_BYTES, untouched].contains(&flow.message) {
        let problem = format!(
            "{}: messages of a barrier have {BARRIER_BYTES}",
            flow.message
        );
        wrong("message", problem);
    }
    found
}

/// Checks the hosts of both ends of queries and incasts.
fn ends(flow: &FlowSettings, pattern: Pattern, from: &[String], to: &[String]) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut wrong = |key: &str, problem: String| found.push(issue(flow.place(key), problem));
    let others = |of: &String, list: &[String]| list.iter().filter(|other| *other != of).count();
    if pattern == Pattern::Queries {
        if let Some(host) = from.iter().find(|host| others(host, to) == 0) {
            wrong("to", format!("'{host}' would ask itself"));
        }
        if let Some(response) = flow
            .response
            .filter(|response| !(1..=1 << 31).contains(&response.get()))
        {
            wrong("response", format!("{response}: 1 to 2147483648 bytes"));
        }
        return found;
    }
    if pattern.is_storage() {
        let pairs =
            (0..from.len().max(to.len())).map(|k| (&from[k % from.len()], &to[k % to.len()]));
        if let Some((host, _)) = pairs.into_iter().find(|(from, to)| from == to) {
            wrong("to", format!("'{host}' would be its own target"));
        }
        if flow.operation != super::Operation::default() {
            let problem = "what asks and answers are SENDs, data go by WRITE and READ".into();
            wrong("operation", problem);
        }
        return found;
    }
    let least = to.iter().map(|host| others(host, from)).min().unwrap_or(0);
    if let Some(senders) = flow.senders
        && !(1..=least).contains(&(senders as usize))
    {
        let problem = match least {
            0 => {
                format!("{senders}: nobody is left to send: hosts of from other than the receiver")
            }
            _ => format!("{senders}: 1 to {least}, the hosts of from other than the receiver"),
        };
        wrong("senders", problem);
    }
    found
}
