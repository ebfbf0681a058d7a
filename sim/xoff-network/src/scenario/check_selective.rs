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
                // What TCP has instead is said elsewhere.
                NicKind::Model | NicKind::Tcp | NicKind::Attached => None,
                NicKind::Rtl | NicKind::Custom(_) => {
                    Some("goes back: nic = \"model\" repeats selectively")
                }
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
            let mut ends = [&flow.from, &flow.to].into_iter();
            let lacks = ends.find_map(|end| Some((end, lacking[end]?)));
            let problem = match lacks {
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

#[cfg(test)]
mod tests {
    use xoff_sim::time::Duration;

    use super::*;
    use crate::scenario::{Operation, TranslationSettings};
    use crate::testing::pair;

    fn wrong(nic: NicKind, change: impl FnOnce(&mut Scenario)) -> String {
        let mut flow = FlowSettings::new("f", "a", "b");
        flow.recovery = Recovery::Selective;
        flow.few_timeout = 3;
        let mut scenario = pair(nic, flow, Duration::from_ms(1));
        change(&mut scenario);
        let found = scenario.checked();
        found.map_or_else(|wrong| wrong.to_string(), |_| String::new())
    }

    #[test]
    fn only_model_nics_repeat_selectively_and_only_sends_and_writes() {
        assert_eq!(wrong(NicKind::Model, |_| ()), "");
        assert_eq!(
            wrong(NicKind::Rtl, |_| ()),
            "flows.f.recovery: selective: the NIC of a goes back: nic = \"model\" repeats selectively"
        );
        assert_eq!(
            wrong(NicKind::Model, |it| it.host.translation =
                Some(TranslationSettings::default())),
            "flows.f.recovery: selective: the NIC of a translates addresses, which goes with go-back-n"
        );
        let returning = "flows.f.recovery: selective: READs and atomics go back; SENDs and WRITEs do not have to";
        assert_eq!(
            wrong(NicKind::Model, |it| it.flows[0].operation = Operation::Read),
            returning
        );
        let mix = [(Operation::Write, 3), (Operation::Read, 1)];
        assert_eq!(
            wrong(NicKind::Model, |it| it.flows[0].mix = Some(mix.into())),
            returning
        );
    }

    #[test]
    fn the_second_timeout_is_of_selective_repeat() {
        assert_eq!(
            wrong(NicKind::Model, |it| it.flows[0].recovery =
                Recovery::GoBackN),
            "flows.f.few_timeout: goes with recovery = \"selective\""
        );
        assert_eq!(
            wrong(NicKind::Model, |it| it.flows[0].few_timeout = 32),
            "flows.f.few_timeout: 32: 0 to 31"
        );
    }
}
