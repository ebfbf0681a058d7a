//! What about a scenario is not refused, but may not be intended: settings of two ends that contradict each other.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::switch::{Limit, PauseKind};
use xoff_sim::time::{ByteCount, LineRate, Rate};

use super::connection::Connection;
use super::names::Names;
use super::switch::{Classify, Curve};
use super::{Action, NicKind, Pairs, Scenario, SwitchSettings};
use crate::words::gbps;

/// Probes that are more than this part of a host's line are a load.
const MOST_PROBES: f64 = 0.2;

fn words(classify: Classify) -> &'static str {
    match classify {
        Classify::Dscp => "DSCP",
        Classify::Pcp => "PCP",
    }
}

impl SwitchSettings {
    /// The curve of marks of a class, if it is marked.
    fn curve_of(&self, class: u8) -> Option<Curve> {
        let own = self.classes.iter().find(|own| own.class == class);
        let common = self.ecn.as_ref().filter(|ecn| {
            let classes = ecn.classes.as_ref().unwrap_or(&self.lossless);
            classes.contains(&class)
        });
        own.and_then(|own| own.ecn.clone())
            .or_else(|| common.map(|ecn| ecn.curve()))
    }

    /// The most that an ingress queue of a lossless class may hold before it pauses its peer.
    fn xoff_of(&self, class: u8) -> ByteCount {
        let own = self.classes.iter().find(|own| own.class == class);
        match own.and_then(|own| own.xoff).unwrap_or(self.xoff) {
            Limit::Static(bytes) => bytes,
            Limit::Alpha { num, den } => {
                let part = u128::from(self.buffer.get()) * u128::from(num);
                let part = part / u128::from(den.max(1));
                ByteCount::new(u64::try_from(part).unwrap_or(u64::MAX))
            }
        }
    }
}

impl Scenario {
    /// Notes about a scenario written out with these [flows](Self::connections), a line each, with the key that each is
    /// about.
    pub fn notes(&self, flows: &[Connection<'_>]) -> Vec<String> {
        // Without pauses no class of a switch is lossless, and whoever wrote that knows it.
        let pausing = self.switches.iter();
        let pausing: Vec<&SwitchSettings> = pausing
            .filter(|switch| switch.pauses != PauseKind::Off)
            .collect();
        let mut said = Vec::new();
        for switch in &pausing {
            said.extend(self.lossless_at_one_end(switch));
            said.extend(pauses_before_marks(switch, self.fastest(&switch.name)));
        }
        said.extend(self.lossless_nowhere(&pausing, flows));
        said.extend(self.classes_apart(flows));
        said.extend(self.marks_without_reaction(flows));
        said.extend(self.probes_that_load(flows));
        said.extend(self.attached_hosts().iter().map(|host| {
            format!(
                "hosts.{host}: it is outside, so that no run is the same again, whatever the seed"
            )
        }));
        // Tiers of a topology may have the same settings.
        let mut known = BTreeSet::new();
        said.retain(|note| known.insert(note.clone()));
        said
    }

    fn lossless_at_one_end(&self, switch: &SwitchSettings) -> Vec<String> {
        let hosts = &self.host.lossless;
        let missing = |of: &[u8], from: &[u8]| {
            let classes = of.iter().filter(|class| !from.contains(class));
            classes.map(ToString::to_string).collect::<Vec<_>>()
        };
        let place = switch.place();
        let mut said = Vec::new();
        let only_here = missing(&switch.lossless, hosts);
        if !only_here.is_empty() {
            let classes = only_here.join(", ");
            said.push(format!(
                "{place}.lossless: hosts do not obey pauses of class {classes}, so it loses packets: host.lossless is \
                 {hosts:?}"
            ));
        }
        let only_there = missing(hosts, &switch.lossless);
        if !only_there.is_empty() {
            let classes = only_there.join(", ");
            said.push(format!(
                "{place}.lossless: {:?} is without class {classes}, which is lossless at hosts: it is dropped here where \
                 a buffer is full",
                switch.lossless
            ));
        }
        said
    }

    /// Flows of a class that is lossy at hosts and at switches, where there are lossless ones.
    fn lossless_nowhere(
        &self,
        pausing: &[&SwitchSettings],
        flows: &[Connection<'_>],
    ) -> Vec<String> {
        let lossless = |class: u8| {
            let mut switches = pausing.iter();
            self.host.lossless.contains(&class) || switches.any(|it| it.lossless.contains(&class))
        };
        if pausing.is_empty() || !(0..8).any(lossless) {
            return Vec::new();
        }
        let key = match self.host.classify {
            Classify::Dscp => "dscp",
            Classify::Pcp => "pcp",
        };
        // That is where TCP belongs.
        let tcp = self.tcp_hosts();
        let rdma = flows.iter().filter(|flow| !tcp.contains(&flow.from));
        let said = rdma.filter_map(|flow| {
            let entry = flow.settings;
            let class = self.host.classify.class(flow.dscp, entry.pcp);
            (!lossless(class)).then(|| {
                format!(
                    "flows.{}.{key}: class {class} is lossless neither at hosts nor at switches: its packets are \
                     dropped where a buffer is full",
                    entry.name
                )
            })
        });
        said.collect()
    }

    /// Switches that take the class from elsewhere than hosts, and flows to which that makes a difference.
    fn classes_apart(&self, flows: &[Connection<'_>]) -> Vec<String> {
        let here = self.host.classify;
        let mut said = Vec::new();
        for switch in self.switches.iter().filter(|it| it.classify != here) {
            let there = switch.classify;
            for flow in flows {
                let pcp = flow.settings.pcp;
                let [own, other] = [here, there].map(|it| it.class(flow.dscp, pcp));
                if own != other {
                    said.push(format!(
                        "{}.classify: by {}, and hosts by {}: flow {} is of class {other} here and {own} there",
                        switch.place(),
                        words(there),
                        words(here),
                        flow.settings.name
                    ));
                }
            }
        }
        said
    }

    /// Probes that are a load wait for each other, and what is wrong with them may be nothing else.
    fn probes_that_load(&self, flows: &[Connection<'_>]) -> Option<String> {
        let probes = flows
            .iter()
            .filter(|flow| flow.settings.pairs == Pairs::Reaches);
        let mut sent = BTreeMap::<&str, f64>::new();
        for probe in probes {
            let bits = probe.settings.message.get() as f64 * 8e3;
            let interval = probe.settings.interval?.as_ps().max(1) as f64;
            *sent.entry(&probe.from).or_default() += bits / interval;
        }
        let sent = sent.into_values().max_by(f64::total_cmp)?;
        let rates = self.host_rates(&Names::of(self));
        let slowest = rates.into_values().max_by_key(|rate| rate.byte_time())?;
        let line = Rate::from(slowest).as_bits_per_second() as f64 / 1e9;
        (sent > MOST_PROBES * line).then(|| {
            format!(
                "pingmesh: its probes are up to {} a host, a load for which they wait themselves, so what they find may \
                 be no fault: a longer interval or a shorter message, below {}",
                gbps(sent),
                gbps(MOST_PROBES * line)
            )
        })
    }

    fn marks_without_reaction(&self, flows: &[Connection<'_>]) -> Option<String> {
        // Only its maker knows whether a NIC of one's own reacts to marks.
        let mut nics = self.hosts.iter().map(|entry| self.settings_of(entry).nic);
        if nics.any(|nic| matches!(nic, NicKind::Custom(_))) {
            return None;
        }
        let (on, own) = (self.host.marks().is_some(), self.host.own_congestion());
        // TCP's stack knows no marks, and its packets say so.
        let tcp = self.tcp_hosts();
        let classes: BTreeSet<u8> = (flows.iter())
            .filter(|flow| !tcp.contains(&flow.from))
            .map(|flow| self.host.classify.class(flow.dscp, flow.settings.pcp))
            .collect();
        let marks = |switch: &&SwitchSettings| {
            let mut classes = classes.iter();
            classes.any(|class| switch.curve_of(*class).is_some())
        };
        let later = self.events.iter().any(|event| match &event.action {
            Action::Set(set) => set.ecn.is_some(),
            _ => false,
        });
        let marking = self.switches.iter().find(marks);
        match (on, marking) {
            (false, Some(switch)) => Some(format!(
                "{}.ecn: no packet is marked: host.dcqcn is off, so that packets are not ECN capable",
                switch.place()
            )),
            // Others may go by round trips.
            (true, None) if own.is_none() && !later && !self.switches.is_empty() => Some(
                "host.dcqcn: no switch marks the packets of a flow: without `ecn` no rate is ever cut".into(),
            ),
            _ => None,
        }
    }
}

/// Lossless classes whose ingress queues are in XOFF before the egress queue is marked, when one port fills it.
fn pauses_before_marks(switch: &SwitchSettings, rate: LineRate) -> Vec<String> {
    let notes = switch.lossless.iter().filter_map(|class| {
        let kmin = switch.curve_of(*class)?.red().at(rate).kmin;
        let xoff = switch.xoff_of(*class);
        (kmin >= xoff).then(|| {
            format!(
                "{}.ecn.kmin: {kmin} is not below XOFF, {xoff}: class {class} pauses before a packet is marked",
                switch.place()
            )
        })
    });
    notes.collect()
}
