//! Names of nodes and of groups of nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::{HostEntry, Scenario, SwitchSettings};

/// The nodes of a scenario, and what a name in `ends`, `from`, `to` and `host` stands for.
///
/// A name is that of a node; that of an entry with a count, which means each of its nodes; or a range such as
/// `h0..191`, which means the nodes `h0` to `h191`, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    hosts: BTreeSet<String>,
    switches: BTreeSet<String>,
    groups: BTreeMap<String, Vec<String>>,
}

/// The names that a name with a count stands for. `numbers` are those that are put behind it, if they are not 0, 1, 2 …
pub(super) fn numbered(name: &str, count: Option<u32>, numbers: Option<&[u32]>) -> Vec<String> {
    match (count, numbers) {
        (None, _) => vec![name.into()],
        (Some(_), Some(numbers)) => (numbers.iter()).map(|i| format!("{name}{i}")).collect(),
        (Some(count), None) => (0..count).map(|i| format!("{name}{i}")).collect(),
    }
}

impl Names {
    /// The names of a scenario written out.
    pub fn of(scenario: &Scenario) -> Self {
        let mut groups = BTreeMap::new();
        for entry in scenario
            .switches
            .iter()
            .filter(|entry| entry.count.is_some())
        {
            groups.insert(entry.name.clone(), entry.names());
        }
        for entry in scenario.hosts.iter().filter(|entry| entry.count.is_some()) {
            groups.insert(entry.name.clone(), entry.names());
        }
        let hosts = scenario.hosts.iter().flat_map(HostEntry::names);
        let switches = scenario.switches.iter().flat_map(SwitchSettings::names);
        Self {
            hosts: hosts.collect(),
            switches: switches.collect(),
            groups,
        }
    }

    /// The names of all hosts.
    pub const fn hosts(&self) -> &BTreeSet<String> {
        &self.hosts
    }

    /// The names of all switches.
    pub const fn switches(&self) -> &BTreeSet<String> {
        &self.switches
    }

    /// Whether the name stands for several nodes, or may do so.
    pub fn is_group(&self, name: &str) -> bool {
        self.groups.contains_key(name) || range(name).is_some()
    }

    /// The nodes that a name stands for; `None` if it, or a part of it, is no node.
    pub fn nodes(&self, name: &str) -> Option<Vec<String>> {
        self.select(name, |node| {
            self.hosts.contains(node) || self.switches.contains(node)
        })
    }

    /// The hosts that a name stands for; `None` if it, or a part of it, is no host.
    pub fn hosts_of(&self, name: &str) -> Option<Vec<String>> {
        self.select(name, |node| self.hosts.contains(node))
    }

    fn select(&self, name: &str, known: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let nodes = match (self.groups.get(name), range(name)) {
            (Some(group), _) => group.clone(),
            (None, Some((prefix, from, to))) => {
                // Checked before a list of any length is made.
                let (first, last) = (format!("{prefix}{from}"), format!("{prefix}{to}"));
                if !known(&first) || !known(&last) {
                    return None;
                }
                (from..=to).map(|i| format!("{prefix}{i}")).collect()
            }
            (None, None) => vec![name.into()],
        };
        nodes.iter().all(|node| known(node)).then_some(nodes)
    }

    /// What there is, for a message: entries with a count by their first and last name.
    pub fn list_hosts(&self) -> String {
        self.list(&self.hosts)
    }

    /// As [`list_hosts`](Self::list_hosts), of hosts and switches.
    pub fn list_nodes(&self) -> String {
        let nodes = self.hosts.union(&self.switches).cloned().collect();
        self.list(&nodes)
    }

    fn list(&self, nodes: &BTreeSet<String>) -> String {
        let long = |group: &&Vec<String>| group.len() > 8 && nodes.contains(&group[0]);
        let groups: Vec<&Vec<String>> = self.groups.values().filter(long).collect();
        let in_group: BTreeSet<&String> = groups.iter().copied().flatten().collect();
        let alone = nodes.iter().filter(|node| !in_group.contains(node));
        let groups = groups.iter().map(|group| match group.as_slice() {
            [first, .., last] => format!("{first} to {last}"),
            _ => String::new(),
        });
        let all: Vec<String> = alone.cloned().chain(groups).collect();
        match all.is_empty() {
            true => "none".into(),
            false => all.join(", "),
        }
    }
}

/// The parts of a range such as `h0..191`, with `h0..h191` allowed too: the name's first part, the first number and the
/// last.
fn range(text: &str) -> Option<(&str, u32, u32)> {
    let (first, last) = text.split_once("..")?;
    let digits = first.len() - first.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, from) = first.split_at(first.len() - digits);
    let last = last.strip_prefix(prefix).unwrap_or(last);
    let (from, to) = (from.parse().ok()?, last.parse().ok()?);
    (from <= to).then_some((prefix, from, to))
}

#[cfg(test)]
mod tests {
    use xoff_sim::time::Duration;

    use super::*;

    fn names() -> Names {
        let mut scenario = Scenario::new("names", Duration::from_us(1))
            .host("h")
            .host("a");
        scenario.hosts[0].count = Some(12);
        scenario = scenario.switch("t");
        scenario.switches[0].count = Some(2);
        Names::of(&scenario)
    }

    #[test]
    fn a_name_is_a_node_a_group_or_a_range() {
        let names = names();
        let of = |name: &str| names.nodes(name).map(|nodes| nodes.join(" "));
        assert_eq!(of("a").as_deref(), Some("a"));
        assert_eq!(of("t").as_deref(), Some("t0 t1"));
        assert_eq!(of("h9..11").as_deref(), Some("h9 h10 h11"));
        assert_eq!(of("h9..h9").as_deref(), Some("h9"));
        assert_eq!(names.nodes("h").unwrap().len(), 12);
        for wrong in [
            "",
            "b",
            "h12",
            "h3..2",
            "h3..12",
            "h..3",
            "a..b",
            "h0..4000000000",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(names.hosts_of("t0"), None);
        assert_eq!(names.list_nodes(), "a, t0, t1, h0 to h11");
    }
}
