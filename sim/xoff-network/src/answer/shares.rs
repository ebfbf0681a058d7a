//! Flows that get less than they could: victims of pauses, unfair shares, ports that rest.

use std::collections::BTreeMap;

use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic::translation::PageSize;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Duration, Time};

use super::{Broken, Cure, Seen};
use crate::FlowEnds;
use crate::detect::{LinkClass, MOST_CONGESTED, Root};
use crate::metrics::{Metric, Quantity, Subject};
use crate::scenario::{Action, Event, FlowSettings, HostEntry, SwitchSettings, entry_of};
use crate::words::{bytes, count, digits, gbps, list, part};

/// Why congestion control cures what pauses cause.
const BEFORE_PAUSES: &str = "marks tell the senders to slow down before links are paused";

/// α of a switch's dynamic limit, from which on a larger one is not proposed: the paper's 1/16.
const GOOD_ALPHA: f64 = 1.0 / 16.0;
/// Flows to one port that get shares this far apart are unfair.
const UNFAIR: f64 = 1.5;
/// Flows that stood for less of the time are told of, but do not break anything.
const LEAST_STOOD: f64 = 0.01;
/// Flows with congestion control and without pauses that get shares this far apart are unfair: it evens them out in the
/// mean of many cuts, and a window has few.
const UNFAIR_ALONE: f64 = 2.0;
/// A port that is used for less than this has room for all of its flows.
const CONTENDED: f64 = 0.5;
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
    fn part_of_run(&self, time: Duration) -> f64 {
        let observed = self.recorder.detector().observed();
        time.as_ps() as f64 / observed.as_ps().max(1) as f64
    }

    /// The flow that stood longest because of others, and for which part of the time.
    pub(super) fn stood_most(&self) -> Option<(&str, f64)> {
        let victims = self.recorder.detector().victims();
        let most = victims.iter().max_by_key(|victim| victim.stood)?;
        let name = &self.simulation.flows()[most.flow].name;
        Some((name, self.part_of_run(most.stood)))
    }

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
        let share = self.part_of_run(alarm.paused);
        let of_host = |root: Root| matches!(root, Root::Paused(link) if link == alarm.link);
        let victims: Vec<_> = (detector.victims().into_iter())
            .filter(|victim| victim.most().is_some_and(|(_, root)| of_host(root)))
            .collect();
        if victims.is_empty() && share < LEAST_STOOD {
            return None;
        }
        let first = detector.pauses().find(|(link, _)| *link == alarm.link);
        let first = first.and_then(|(_, pauses)| pauses.spans.first());
        let since = first.map_or(String::new(), |span| {
            format!(" from {}", crate::words::at(span.from))
        });
        let who = match &victims[..] {
            [] => ": it takes in less than it is sent".to_owned(),
            [most, ..] => {
                let name = &self.simulation.flows()[most.flow].name;
                let stood = self.part_of_run(most.stood);
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
            "look at the bus of {host} and at its stalls: no setting of the network makes it faster"
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
        let stood = self.part_of_run(most.stood);
        if stood < LEAST_STOOD {
            return None;
        }
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
                "more, smaller flows: the hash of ECMP puts several flows on one link and none on others",
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
            cures.push(Cure::by_hand(format!("send less by {}", text(link))));
        }
        Some(Broken::new(headline, cures))
    }

    /// Whether a flow had as much to send as it might in all of the measured window: it began before, goes on without an
    /// end, and waits for nothing.
    fn is_greedy(&self, name: &str, start: Time) -> bool {
        let entry = entry_of(name);
        let settings = self.scenario.flows.iter().find(|flow| flow.name == entry);
        let endless = |flow: &FlowSettings| {
            flow.interval.is_none() && flow.count.is_none() && flow.depth.is_none() && !flow.waits()
        };
        let is_of_it = |named: &String| named == name || named == entry;
        let stopped = |event: &Event| match &event.action {
            Action::Stop(flow) | Action::Start(flow) => is_of_it(flow),
            _ => false,
        };
        let before = start.since_start() <= self.scenario.measure_from;
        settings.is_some_and(endless)
            && before
            && !self.scenario.events.iter().chain(self.changes).any(stopped)
    }

    /// Receivers of several flows of a class that never rest by themselves, with the goodput of each flow, greatest
    /// first.
    fn shared_ports(&self) -> Vec<(NodeId, Vec<(&str, f64)>)> {
        let mut ports: BTreeMap<(NodeId, u8), Vec<(&str, f64)>> = BTreeMap::new();
        let flows = self.simulation.flows();
        for series in self.simulation.series() {
            let flow = flows.get(series.flows.start);
            let greedy = |flow: &&FlowEnds| self.is_greedy(&series.name, flow.start);
            if let Some(flow) = flow.filter(greedy)
                && !series.workload
                && !series.probes
            {
                let rate = self.value(&Metric::flow(Quantity::GoodputGbps, &series.name));
                ports
                    .entry((flow.target, flow.class))
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
            .map(|((to, _), flows)| (to, flows))
            .collect()
    }

    /// The part of the measured window for which the port to a host sends.
    fn used(&self, to: NodeId) -> Option<f64> {
        let (edge, port) = self.simulation.network().peer(to, PortId(0))?;
        Some(self.value(&Metric {
            quantity: Quantity::WireUtilization,
            subject: Subject::Port(self.name(edge).into(), port.0),
        }))
    }

    /// Flows of a port that get very different shares.
    pub(super) fn unfair(&self) -> Option<Broken> {
        self.shared_ports().into_iter().find_map(|(to, flows)| {
            let (most, least) = (flows.first()?, flows.last()?);
            let alone = self.controlled() && self.total(Quantity::XoffTransitions) == 0.0;
            let unfair = if alone { UNFAIR_ALONE } else { UNFAIR };
            let contended = self.used(to).is_none_or(|used| used >= CONTENDED);
            if most.1.is_nan() || most.1 <= unfair * least.1 || !contended {
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
            let times = match least.1 > 0.0 {
                true => format!(", {} times less", digits((10.0 * most.1 / least.1).round() / 10.0)),
                false => String::new(),
            };
            let headline = format!(
                "Unfair: {} gets {} of the port {switch} → {}, {} {}{each}{times}",
                most.0,
                gbps(most.1),
                self.name(to),
                list(&less, MOST_NAMES + 1),
                gbps(least.1),
            );
            let cure = match (self.controlled(), alone) {
                (false, _) => self.slow_down(BEFORE_PAUSES),
                (true, true) => Cure::by_hand(
                    "measure for longer: congestion control evens shares out over many cuts of the rates",
                ),
                (true, false) => self.hold_more(switch).unwrap_or_else(|| {
                    Cure::by_hand(
                        "find what pauses: pauses give each port of the switch a turn, not each flow",
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
        let (what, cure) = match self.hold_more(switch) {
            Some(cure) => ("Pauses come before marks", cure),
            None => (
                "Pauses in spite of marks",
                Cure::by_hand(
                    "find what keeps senders from slowing down in time: late CNPs, marks when packets join a long queue",
                ),
            ),
        };
        let share = match self.unfair() {
            Some(unfair) => format!("; {}", unfair.headline.replacen("Unfair: ", "", 1)),
            None => String::new(),
        };
        let headline = format!(
            "{what}: {switch} pauses its peers {} in the measured window, though DCQCN is on{share}",
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
            let (edge, _) = self.simulation.network().peer(to, PortId(0))?;
            let switch = self.name(edge);
            let used = self.used(to)?;
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
