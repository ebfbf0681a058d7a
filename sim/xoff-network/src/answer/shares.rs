//! Flows that get less than they could: victims of pauses, unfair shares, ports that rest.

use std::collections::BTreeMap;

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic::translation::PageSize;
use xoff_sim::switch::Limit;
use xoff_sim::time::ByteCount;

use super::{Broken, Cure, Seen};
use crate::detect::{LinkClass, MOST_CONGESTED, Root};
use crate::metrics::{Metric, Quantity, Subject};
use crate::scenario::{HostEntry, SwitchSettings, entry_of};
use crate::words::{bytes, count, digits, gbps, list, part};

/// Why congestion control cures what pauses cause.
const BEFORE_PAUSES: &str = "marks tell the senders to slow down before links are paused";

/// α of a switch's dynamic limit, from which on a larger one is not proposed: the paper's 1/16.
const GOOD_ALPHA: f64 = 1.0 / 16.0;
/// Flows to one port that get shares this far apart are unfair.
const UNFAIR: f64 = 1.5;
/// A port to which several hosts have data to send, and that is used for less than this, rests.
const RESTS: f64 = 0.97;
/// Names in a headline.
const MOST_NAMES: usize = 3;

fn alpha(limit: Limit) -> Option<f64> {
    match limit {
        Limit::Static(_) => None,
        Limit::Alpha { num, den } => Some(f64::from(num) / f64::from(den)),
    }
}

impl Seen<'_> {
    /// The congested links because of which flows stood, those with the most victims first.
    pub(super) fn congested(&self) -> Vec<LinkClass> {
        let mut roots: BTreeMap<LinkClass, usize> = BTreeMap::new();
        for victim in self.recorder.detector().victims() {
            if let Some((_, Root::Congested(link))) = victim.most() {
                *roots.entry(link).or_default() += 1;
            }
        }
        let mut roots: Vec<_> = roots.into_iter().collect();
        roots.sort_by_key(|(link, victims)| (std::cmp::Reverse(*victims), *link));
        roots.into_iter().map(|(link, _)| link).collect()
    }

    /// The setting that lets a switch hold more before it pauses, if it holds little.
    fn hold_more(&self, switch: &str) -> Option<Cure> {
        let settings = self.switch(switch)?;
        let has = match (settings.xoff, alpha(settings.xoff)) {
            (Limit::Static(limit), _) => format!("{} fixed", bytes(limit)),
            (Limit::Alpha { num, den }, Some(alpha)) if alpha < GOOD_ALPHA => {
                format!("{num}/{den} of what is free")
            }
            _ => return None,
        };
        Some(Cure::new(
            format!(
                "{}.xoff={{ alpha = {{ num = 1, den = 16 }} }}",
                settings.place()
            ),
            format!("{switch} holds more before it pauses its peers: XOFF is {has} now"),
        ))
    }

    /// Congestion control, with marks at the switches that set none.
    pub(super) fn slow_down(&self, why: &str) -> Cure {
        let unmarked = self
            .scenario
            .switches
            .iter()
            .filter(|switch| switch.ecn.is_none());
        let mut places: Vec<String> = unmarked.map(SwitchSettings::place).collect();
        places.dedup();
        let ecn = places.into_iter().map(|place| format!("{place}.ecn={{}}"));
        Cure::all(
            std::iter::once("host.dcqcn.on=true".to_owned()).chain(ecn),
            why,
        )
    }

    /// A host that pauses for more than it should, and whom that stops.
    pub(super) fn slow_receiver(&self) -> Option<Broken> {
        let detector = self.recorder.detector();
        let alarm = *detector.alarms().first()?;
        let host = self.name(alarm.link.peer(self.simulation)?.0);
        let edge = self.name(alarm.link.node);
        let share = alarm.paused.as_ps() as f64 / detector.observed().as_ps().max(1) as f64;
        let of_host = |root: Root| matches!(root, Root::Paused(link) if link == alarm.link);
        let victims: Vec<_> = (detector.victims().into_iter())
            .filter(|victim| victim.most().is_some_and(|(_, root)| of_host(root)))
            .collect();
        let first = detector.pauses().find(|(link, _)| *link == alarm.link);
        let first = first.and_then(|(_, pauses)| pauses.spans.first());
        let since = first.map_or(String::new(), |span| {
            format!(" from {}", crate::words::at(span.from))
        });
        let who = match &victims[..] {
            [] => ": it takes in less than it is sent".to_owned(),
            [most, ..] => {
                let name = &self.simulation.flows()[most.flow].name;
                let stood = most.stood.as_ps() as f64 / detector.observed().as_ps().max(1) as f64;
                let who = match victims.len() as u64 {
                    1 => format!("flow {name} stands"),
                    several => format!("{several} flows stand, {name} most,"),
                };
                format!(
                    ": {who} for {} though nothing of it goes there",
                    part(stood)
                )
            }
        };
        let headline = format!(
            "Slow receiver: {host} pauses {edge} for {} of the time{since}{who}",
            part(share)
        );
        let mut cures: Vec<Cure> = match victims.is_empty() {
            true => Vec::new(),
            false => self.hold_more(edge).into_iter().collect(),
        };
        cures.extend(self.larger_pages(host));
        cures.push(Cure::by_hand(format!(
            "no setting of the network makes {host} faster: look at its bus and its stalls"
        )));
        Some(Broken::new(headline, cures))
    }

    /// The largest pages for a host whose NIC misses translations.
    fn larger_pages(&self, host: &str) -> Option<Cure> {
        let metric = Metric::node(Quantity::TranslationMisses, host);
        let missed = self.value(&metric) > 0.0;
        let named = |entry: &&HostEntry| entry.names().iter().any(|name| name == host);
        let entry = self.scenario.hosts.iter().find(named)?;
        let settings = self.scenario.settings_of(entry).translation?;
        let place = match entry.translation {
            Some(_) => format!("hosts.{}.translation.page", entry.name),
            None => "host.translation.page".into(),
        };
        let most = PageSize::MOST;
        let smaller = settings.page.get() < most.bytes();
        (missed && smaller).then(|| {
            let covered = settings.page.get() * u64::from(settings.entries);
            Cure::new(
                format!("{place}=\"{most}\""),
                format!(
                    "the NIC of {host} misses translations: it keeps those of {} now",
                    bytes(ByteCount::new(covered))
                ),
            )
        })
    }

    /// Flows that stand because of pauses that congestion elsewhere has caused.
    pub(super) fn victims(&self) -> Option<Broken> {
        let detector = self.recorder.detector();
        let victims = detector.victims();
        let (most, (at, root)) = victims
            .iter()
            .find_map(|victim| Some((victim, victim.most()?)))?;
        let Root::Congested(link) = root else {
            return None;
        };
        let stood = most.stood.as_ps() as f64 / detector.observed().as_ps().max(1) as f64;
        let name = &self.simulation.flows()[most.flow].name;
        let from = crate::words::at(victims.iter().map(|victim| victim.from).min()?);
        let congested = self.congested();
        let text = |link: LinkClass| link.text(self.simulation);
        let switch = self.name(link.node);
        if congested.len() > MOST_CONGESTED {
            let headline = format!(
                "Collisions: {} stand for up to {} of the time from {from} because of {} congested links, such as {}, \
                 that are not on their paths; {} of payload arrive",
                count(victims.len() as u64, "flow", "flows"),
                part(stood),
                congested.len(),
                text(congested[0]),
                gbps(self.total(Quantity::GoodputGbps)),
            );
            let cure = Cure::by_hand(
                "no setting: the hash of ECMP puts several flows on one link and none on others; more, smaller flows even it out",
            );
            return Some(Broken::new(headline, vec![cure]));
        }
        let who = match victims.len() as u64 {
            1 => format!("flow {name} stands"),
            several => format!("{several} flows stand, {name} most,"),
        };
        let headline = format!(
            "Victim: {who} for {} of the time from {from}, at {}, because {} is congested, by which it does not go",
            part(stood),
            text(at),
            text(link)
        );
        let mut cures: Vec<Cure> = self.hold_more(switch).into_iter().collect();
        if !self.controlled() {
            cures.push(self.slow_down(BEFORE_PAUSES));
        }
        if cures.is_empty() {
            cures.push(Cure::by_hand(format!(
                "no setting: less has to be sent by {}",
                text(link)
            )));
        }
        Some(Broken::new(headline, cures))
    }

    /// Receivers of several flows, which post without a pause of their own, with the goodput of each flow, greatest
    /// first.
    fn shared_ports(&self) -> Vec<(NodeId, Vec<(&str, f64)>)> {
        let mut ports: BTreeMap<NodeId, Vec<(&str, f64)>> = BTreeMap::new();
        let flows = self.simulation.flows();
        for series in self.simulation.series() {
            let entry = entry_of(&series.name);
            let settings = self.scenario.flows.iter().find(|flow| flow.name == entry);
            let greedy =
                settings.is_some_and(|flow| flow.interval.is_none() && flow.count.is_none());
            let flow = flows.get(series.flows.start);
            if let Some(flow) = flow.filter(|_| greedy && !series.workload && !series.probes) {
                let rate = self.value(&Metric::flow(Quantity::GoodputGbps, &series.name));
                ports
                    .entry(flow.target)
                    .or_default()
                    .push((&series.name, rate));
            }
        }
        for flows in ports.values_mut() {
            flows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        }
        ports
            .into_iter()
            .filter(|(_, flows)| flows.len() > 1)
            .collect()
    }

    /// Flows of a port that get very different shares.
    pub(super) fn unfair(&self) -> Option<Broken> {
        self.shared_ports().into_iter().find_map(|(to, flows)| {
            let (most, least) = (flows.first()?, flows.last()?);
            if most.1.is_nan() || most.1 <= UNFAIR * least.1 {
                return None;
            }
            let mut less: Vec<&str> = (flows.iter())
                .filter(|flow| flow.1 < (most.1 + least.1) / 2.0)
                .map(|flow| flow.0)
                .collect();
            less.sort_unstable();
            let (edge, _) = self.simulation.network().peer(to, PortId(0))?;
            let switch = self.name(edge);
            let each = if less.len() == 1 { "" } else { " each" };
            let headline = format!(
                "Unfair: {} gets {} of the port {switch} → {}, {} {}{each}, {:.1} times less",
                most.0,
                gbps(most.1),
                self.name(to),
                list(&less, MOST_NAMES + 1),
                gbps(least.1),
                most.1 / least.1,
            );
            let cure = match self.controlled() {
                false => self.slow_down(BEFORE_PAUSES),
                true => self.hold_more(switch).unwrap_or_else(|| {
                    Cure::by_hand(
                        "no setting: pauses give each port of the switch a turn, not each flow",
                    )
                }),
            };
            Some(Broken::new(headline, vec![cure]))
        })
    }

    /// Pauses although DCQCN is on: XOFF comes before marks.
    pub(super) fn early_pauses(&self) -> Option<Broken> {
        let xoff = self.total(Quantity::XoffTransitions);
        if !self.dcqcn() || xoff.is_nan() || xoff == 0.0 {
            return None;
        }
        let names = self
            .simulation
            .stations()
            .filter(|(_, station)| station.switch().is_some());
        let names = names.map(|(node, _)| self.name(node));
        let of = |name: &&str| self.value(&Metric::node(Quantity::XoffTransitions, name)) as u64;
        let switch = names.max_by_key(|name| (of(name), std::cmp::Reverse(*name)))?;
        let cure = self.hold_more(switch)?;
        let share = match self.unfair() {
            Some(unfair) => format!("; {}", unfair.headline.replacen("Unfair: ", "", 1)),
            None => String::new(),
        };
        let headline = format!(
            "Pauses come before marks: {switch} pauses its peers {} in the measured window, though DCQCN is on{share}",
            count(of(&switch), "time", "times")
        );
        Some(Broken::new(headline, vec![cure]))
    }

    /// A port that rests though several hosts have data for it: with DCQCN all of them cut together.
    pub(super) fn resting(&self) -> Option<Broken> {
        if !self.dcqcn() {
            return None;
        }
        self.shared_ports().into_iter().find_map(|(to, flows)| {
            let (edge, port) = self.simulation.network().peer(to, PortId(0))?;
            let switch = self.name(edge);
            let used = self.value(&Metric {
                quantity: Quantity::WireUtilization,
                subject: Subject::Port(switch.into(), port.0),
            });
            let settings = self.switch(switch)?;
            let ecn = settings.ecn.as_ref()?;
            if used.is_nan() || used >= RESTS {
                return None;
            }
            let headline = format!(
                "{switch} → {} rests for {} of the time though {} have data: with Pmax {} marks come late, and all cut together",
                self.name(to),
                part(1.0 - used),
                count(flows.len() as u64, "flow", "flows"),
                format_args!("{} %", digits(100.0 * ecn.pmax)),
            );
            let cures = vec![
                Cure::new(
                    format!("{}.ecn.pmax={}", settings.place(), digits((10.0 * ecn.pmax).min(1.0))),
                    "more marks while the queue is short",
                ),
                Cure::new(
                    format!("{}.ecn.mark_at=\"dequeue\"", settings.place()),
                    "a mark tells of the queue as it is when a packet leaves",
                ),
            ];
            Some(Broken::new(headline, cures))
        })
    }
}
