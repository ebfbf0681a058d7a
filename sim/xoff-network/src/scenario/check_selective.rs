//! Checks of flows that repeat selectively.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Issue, issue};
use super::connection::Connection;
use super::{FlowSettings, HostEntry, NicKind, Recovery, Scenario};

impl Scenario {
    /// Checks that flows which repeat selectively are between model NICs that can do it. Each entry is named once.
    pub(super) fn check_selective(&self, flows: &[Connection<'_>]) -> Vec<Issue> {
        let each = |entry: &HostEntry| {
            let settings = self.settings_of(entry);
            let lacks = match settings.nic {
                NicKind::Model if settings.translation.is_some() => {
                    Some("translates addresses, which goes with go-back-n")
                }
                NicKind::Model => None,
                _ => Some("goes back: nic = \"model\" repeats selectively"),
            };
            entry.names().into_iter().map(move |name| (name, lacks))
        };
        let lacking: BTreeMap<String, _> = self.hosts.iter().flat_map(each).collect();
        let mut named = BTreeSet::new();
        let mut found = Vec::new();
        for flow in flows {
            let settings = flow.settings;
            if settings.recovery != Recovery::Selective {
                continue;
            }
            let key = format!("flows.{}.recovery", settings.name);
            let ends = [&flow.from, &flow.to].into_iter();
            let lacks = ends.filter_map(|end| Some((end, lacking.get(end).copied().flatten()?)));
            let problem = match lacks.into_iter().next() {
                Some((host, why)) => format!("selective: the NIC of {host} {why}"),
                None if settings.returns() => {
                    "selective: READs and atomics go back; SENDs and WRITEs do not have to".into()
                }
                None => continue,
            };
            if named.insert(&settings.name) {
                found.push(issue(key, problem));
            }
        }
        found
    }

    /// Checks the keys that go with selective repeat.
    pub(super) fn check_few_timeout(flow: &FlowSettings) -> Option<Issue> {
        let given = flow.few_timeout != 0 && flow.recovery != Recovery::Selective;
        let key = || format!("flows.{}.few_timeout", flow.name);
        given.then(|| issue(key(), "goes with recovery = \"selective\""))
    }
}

impl FlowSettings {
    /// Whether some of its messages are READs or atomics.
    fn returns(&self) -> bool {
        match &self.mix {
            Some(mix) => mix.keys().any(|operation| operation.returns()),
            None => self.operation.returns(),
        }
    }
}
