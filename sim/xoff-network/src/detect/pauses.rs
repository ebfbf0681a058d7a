//! Pauses of every directed link over time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::PRIORITIES;

use crate::{Simulation, Station};

/// A class of a directed link, named by the port where it starts: what one pause stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LinkClass {
    /// The node that sends on the link, and that the pause stops.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// The class, 0 to 7.
    pub class: u8,
}

impl LinkClass {
    /// The port at the other end of the link: the one that pauses.
    pub fn peer(self, simulation: &Simulation) -> Option<(NodeId, PortId)> {
        simulation.network().peer(self.node, self.port)
    }

    /// Names of the nodes at its ends, the sender's first. The other is empty if the port has no cable.
    pub fn ends(self, simulation: &Simulation) -> [String; 2] {
        let peer = self.peer(simulation);
        let to = peer.map_or("", |(to, _)| name(simulation, to));
        [name(simulation, self.node), to].map(str::to_owned)
    }

    /// The link as text: `t0 → la`, with the number of the port if another cable joins the same nodes.
    pub fn text(self, simulation: &Simulation) -> String {
        let Some((to, _)) = self.peer(simulation) else {
            return simulation.port_name(self.node, self.port);
        };
        let to_same = |port: &PortId| {
            let peer = simulation.network().peer(self.node, *port);
            peer.is_some_and(|peer| peer.0 == to)
        };
        let from = name(simulation, self.node);
        let to = name(simulation, to);
        match simulation.ports(self.node).filter(to_same).count() {
            0 | 1 => format!("{from} → {to}"),
            _ => format!("{from}.{} → {to}", self.port.0),
        }
    }
}

/// The name of a node.
pub(super) fn name(simulation: &Simulation, node: NodeId) -> &str {
    &simulation.names()[node.0 as usize]
}

/// A part of a run in which a link was stopped, all of the time or some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The start: that of the pause, or of the observed interval if several pauses were in it.
    pub from: Time,
    /// The end, likewise.
    pub to: Time,
    /// How much of the time in between the link was stopped.
    pub paused: Duration,
}

impl Span {
    /// Whether the link was stopped all of the time.
    fn full(&self) -> bool {
        self.paused == self.to.saturating_since(self.from)
    }
}

/// The pauses of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkPauses {
    /// How long the link was stopped in all.
    pub total: Duration,
    /// When, in the order of time. The spans' `paused` add up to the total.
    pub spans: Vec<Span>,
}

/// How long each link that was ever stopped was stopped in all, for one who asks again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    /// Of the log of each NIC and class, the number of pauses that are counted, and their length.
    logs: BTreeMap<LinkClass, (usize, Duration)>,
}

impl Totals {
    /// Gives each link that was ever stopped with its last stop and its total until now.
    pub(crate) fn each(
        &mut self,
        simulation: &Simulation,
        mut stopped: impl FnMut(LinkClass, (Time, Time), Duration),
    ) {
        let now = simulation.now();
        for (node, station) in simulation.stations() {
            match station {
                Station::Switch(switch) => {
                    for port in simulation.ports(node) {
                        for class in 0..PRIORITIES as u8 {
                            if let Some(stop) = switch.last_stop(port, class) {
                                let total = switch.paused_for(port, class, now);
                                stopped(LinkClass { node, port, class }, stop, total);
                            }
                        }
                    }
                }
                host => {
                    let Some(log) = host.pauses() else { continue };
                    for class in 0..PRIORITIES {
                        let (ended, since) = (log.ended(class), log.since(class));
                        let going = since.map(|since| (since, Time::MAX));
                        let Some(stop) = going.or(ended.last().copied()) else {
                            continue;
                        };
                        let link = LinkClass {
                            node,
                            port: PortId(0),
                            class: class as u8,
                        };
                        let (counted, length) = self.logs.entry(link).or_default();
                        for (from, to) in &ended[*counted..] {
                            *length += to.saturating_since(*from);
                        }
                        *counted = ended.len();
                        let going =
                            since.map_or(Duration::ZERO, |since| now.saturating_since(since));
                        stopped(link, stop, *length + going);
                    }
                }
            }
        }
    }
}

/// A link that is stopped, or was since the observation before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recent {
    pub(super) link: LinkClass,
    /// Since when it is stopped without a gap, if it is stopped now.
    pub(super) since: Option<Time>,
    /// When the last stop ended or will end.
    pub(super) until: Time,
    /// How long it was stopped since the observation before.
    pub(super) paused: Duration,
}

/// The pauses of all links that were ever stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pauses {
    pub(super) links: BTreeMap<LinkClass, LinkPauses>,
    totals: Totals,
    observed: Time,
}

impl Pauses {
    /// Starts to observe at `now`; earlier pauses do not count.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let mut this = Self {
            links: BTreeMap::new(),
            totals: Totals::default(),
            observed: simulation.now(),
        };
        this.observe(simulation);
        for link in this.links.values_mut() {
            link.spans.clear();
        }
        this
    }

    /// The links that were stopped at any time since the last call.
    pub(super) fn observe(&mut self, simulation: &Simulation) -> Vec<Recent> {
        let now = simulation.now();
        let mut recent = Vec::new();
        let mut totals = std::mem::take(&mut self.totals);
        totals.each(simulation, |link, stop, total| {
            recent.extend(self.count(link, stop, total, now));
        });
        self.totals = totals;
        self.observed = now;
        recent
    }

    /// Counts the time in which a link was stopped since the last observation. `stop` is its last stop.
    fn count(
        &mut self,
        link: LinkClass,
        stop: (Time, Time),
        total: Duration,
        now: Time,
    ) -> Option<Recent> {
        let pauses = self.links.entry(link).or_default();
        let since = (stop.1 > now).then_some(stop.0);
        let paused = Duration::from_ps(total.as_ps().saturating_sub(pauses.total.as_ps()));
        if paused > Duration::ZERO {
            let mut span = Span {
                from: stop.0.max(self.observed),
                to: stop.1.min(now),
                paused,
            };
            if !span.full() {
                // Earlier pauses are in this interval too, and only their sum is known.
                (span.from, span.to) = (self.observed, now);
            }
            pauses.total = total;
            match pauses.spans.last_mut() {
                Some(last) if last.to == span.from && last.full() && span.full() => {
                    last.to = span.to;
                    last.paused += span.paused;
                }
                _ => pauses.spans.push(span),
            }
        }
        (since.is_some() || paused > Duration::ZERO).then_some(Recent {
            link,
            since,
            until: stop.1,
            paused,
        })
    }

    /// The time of the last observation.
    pub(super) const fn observed(&self) -> Time {
        self.observed
    }
}
