//! A Clos network of podsets, as in "RDMA over Commodity Ethernet at Scale" (SIGCOMM 2016), section 2 and 5.4.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::{ByteCount, Duration, Length, LineRate};

use super::check::{Issue, MOST_HOSTS};
use super::host::Dcqcn;
use super::switch::Ecn;
use super::topology::{Generated, Topology, counts, issue, rate_fits};
use super::{FlowSettings, NicKind, Scenario, SwitchSettings};

/// A Clos network: podsets of racks under leaf switches, joined by spines, if there are any. Hosts are h0, h1, … in the
/// order of podsets and racks, ToRs t0, t1, … in the order of podsets, leafs l0, l1, … likewise, spines s0, s1, …
/// Each ToR is linked with each leaf of its podset. The spines are divided evenly: the first leaf of each podset is
/// linked with the first spines / leafs of them, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clos {
    /// Number of podsets.
    #[serde(default = "one")]
    pub podsets: u32,
    /// Racks of a podset, each with one switch (ToR).
    pub tors: u32,
    /// Hosts of a rack.
    pub hosts: u32,
    /// Leaf switches of a podset.
    pub leafs: u32,
    /// Spine switches in all, a multiple of `leafs`; 0 for two tiers, which is one podset.
    #[serde(default)]
    pub spines: u32,
    /// Length of the cables between hosts and ToRs.
    #[serde(default = "to_host")]
    pub host_cable: Length,
    /// Length of the cables between ToRs and leafs.
    #[serde(default = "to_leaf")]
    pub leaf_cable: Length,
    /// Length of the cables between leafs and spines.
    #[serde(default = "to_spine")]
    pub spine_cable: Length,
    /// Rate of the links between hosts and ToRs; without it `host.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<LineRate>,
    /// Rate of the links between ToRs and leafs; without it `host.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_rate: Option<LineRate>,
    /// Rate of the links between leafs and spines; without it `host.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spine_rate: Option<LineRate>,
}

const fn one() -> u32 {
    1
}

// SIGCOMM 2016, section 2: about 2 m from server to ToR, 10 to 20 m from ToR to leaf, 200 to 300 m from leaf to spine.
const fn to_host() -> Length {
    Length::from_m(2)
}
const fn to_leaf() -> Length {
    Length::from_m(20)
}
const fn to_spine() -> Length {
    Length::from_m(300)
}

impl Clos {
    /// The network of the paper's section 5.4: 2 podsets of 24 racks with 8 hosts each, 4 leafs, 64 spines.
    pub const PAPER: Self = Self {
        podsets: 2,
        tors: 24,
        hosts: 8,
        leafs: 4,
        spines: 64,
        host_cable: to_host(),
        leaf_cable: to_leaf(),
        spine_cable: to_spine(),
        host_rate: None,
        leaf_rate: None,
        spine_rate: None,
    };

    /// Hosts of a podset.
    pub const fn podset_hosts(&self) -> u32 {
        self.tors * self.hosts
    }

    pub(super) fn check(&self) -> Vec<Issue> {
        let place = |key: &str| format!("topology.clos.{key}");
        let mut found = counts(
            "clos",
            &[
                ("podsets", self.podsets),
                ("tors", self.tors),
                ("hosts", self.hosts),
                ("leafs", self.leafs),
            ],
        );
        let product = |parts: &[u32]| {
            let parts = parts.iter().map(|part| u64::from(*part));
            parts.fold(1, u64::saturating_mul)
        };
        let hosts = product(&[self.podsets, self.tors, self.hosts]);
        let switches = product(&[self.podsets, self.tors])
            .saturating_add(product(&[self.podsets, self.leafs]))
            .saturating_add(self.spines.into());
        let cables = product(&[self.podsets, self.tors, self.leafs]);
        for (what, count) in [("hosts", hosts), ("switches", switches)] {
            if count > MOST_HOSTS {
                let problem = format!("{count} {what}: a network has {MOST_HOSTS} at most");
                found.push(issue("topology.clos", problem));
            }
        }
        if cables > 64 * MOST_HOSTS {
            let problem = format!("{cables} cables between ToRs and leafs: 4194304 at most");
            found.push(issue("topology.clos", problem));
        }
        if self.spines == 0 && self.podsets > 1 {
            let problem = format!(
                "0: nothing connects the {} podsets; two tiers are one podset",
                self.podsets
            );
            found.push(issue(place("spines"), problem));
        }
        if self.leafs > 0 && !self.spines.is_multiple_of(self.leafs) {
            let problem = format!(
                "{}: a multiple of the {} leafs, which share the spines evenly",
                self.spines, self.leafs
            );
            found.push(issue(place("spines"), problem));
        }
        for (key, rate) in [
            ("host_rate", self.host_rate),
            ("leaf_rate", self.leaf_rate),
            ("spine_rate", self.spine_rate),
        ] {
            found.extend(rate_fits(&place(key), rate));
        }
        found
    }

    /// The network. The settings are those of ToRs, leafs and spines.
    pub(super) fn generate(&self, settings: [&SwitchSettings; 3]) -> Generated {
        let mut network = Generated::default();
        network.hosts("h", self.podsets * self.podset_hosts(), None);
        let [tor, leaf, spine] = settings;
        network.switches("t", self.podsets * self.tors, None, tor);
        network.switches("l", self.podsets * self.leafs, None, leaf);
        if self.spines > 0 {
            network.switches("s", self.spines, None, spine);
        }
        let to_host = ("topology.clos.host_rate", self.host_rate, self.host_cable);
        let to_leaf = ("topology.clos.leaf_rate", self.leaf_rate, self.leaf_cable);
        let to_spine = (
            "topology.clos.spine_rate",
            self.spine_rate,
            self.spine_cable,
        );
        for podset in 0..self.podsets {
            let tors = podset * self.tors..(podset + 1) * self.tors;
            for tor in tors.clone() {
                for host in tor * self.hosts..(tor + 1) * self.hosts {
                    network.link(format!("h{host}"), format!("t{tor}"), to_host);
                }
            }
            for tor in tors {
                for leaf in podset * self.leafs..(podset + 1) * self.leafs {
                    network.link(format!("t{tor}"), format!("l{leaf}"), to_leaf);
                }
            }
            let each = self.spines / self.leafs;
            for place in 0..self.leafs {
                let leaf = podset * self.leafs + place;
                for spine in place * each..(place + 1) * each {
                    network.link(format!("l{leaf}"), format!("s{spine}"), to_spine);
                }
            }
        }
        network
    }

    /// Creates a scenario with this network, model NICs, ECN and DCQCN.
    ///
    /// There are `flows` flows from each host of the first podset to the host at the same place of the second podset,
    /// and as many in the other direction.
    pub fn scenario(self, flows: u32, duration: Duration) -> Scenario {
        let mut scenario = Scenario::new("Clos network", duration);
        scenario.name = "clos".into();
        scenario.host.nic = NicKind::Model;
        scenario.host.dcqcn = Some(Dcqcn::default());
        let switch = SwitchSettings {
            ecn: Some(Ecn::default()),
            ..SwitchSettings::default()
        };
        scenario.topology = Some(Topology {
            switch: Some(switch),
            ..Topology::from(self)
        });
        let of_podset = |podset: u32| {
            let hosts = self.podset_hosts();
            format!("h{}..{}", podset * hosts, (podset + 1) * hosts - 1)
        };
        for (name, from, to) in [("there", 0, 1), ("back", 1, 0)] {
            let mut flow = FlowSettings::new(name, &of_podset(from), &of_podset(to));
            flow.message = ByteCount::new(64 << 10);
            flow.qps = flows;
            scenario = scenario.flow(flow);
        }
        scenario
    }
}
