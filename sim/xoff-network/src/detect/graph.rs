//! Who waits for whom at an instant: the graph of stopped links.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::time::{Duration, Time};

use super::pauses::{LinkClass, Recent};
use crate::Simulation;

/// A port's share of what an ingress queue holds counts as a cause of its pause from this part on, as its reciprocal:
/// a tenth. Fewer bytes are those of packets that pass through.
const LEAST_SHARE: u64 = 10;

/// Where a chain of waits ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Root {
    /// An egress queue that was not stopped since the last observation, and for which bytes arrive faster than it sends
    /// them: congestion.
    Congested(LinkClass),
    /// A link that a host stops. A host is where frames end, so nothing keeps it from draining but itself.
    Paused(LinkClass),
    /// A link of a cycle.
    Cycle(LinkClass),
}

impl Root {
    /// The link where the chain ends.
    pub const fn link(self) -> LinkClass {
        match self {
            Self::Congested(link) | Self::Paused(link) | Self::Cycle(link) => link,
        }
    }
}

/// A link that is stopped now, or was since the last observation.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) link: LinkClass,
    /// Since when it is stopped without a gap, if it is stopped now.
    pub(super) since: Option<Time>,
    /// How long it was stopped since the last observation.
    pub(super) paused: Duration,
    /// For a link that is stopped now: the stopped links at which bytes wait that keep this one stopped, each with
    /// their number.
    pub(super) waits_for: Vec<(usize, u64)>,
    /// Links where enough bytes wait to count as a cause.
    causes: Vec<usize>,
    /// Roots directly behind this link.
    ends: Vec<Root>,
}

/// The links that are stopped, or were since the last observation, in the order of [`LinkClass`].
#[derive(Debug, Default)]
pub(super) struct WaitGraph {
    pub(super) waits: Vec<Wait>,
}

/// Bytes that wait in a switch, of one class: by ingress port, then egress port.
type Waiting = BTreeMap<PortId, BTreeMap<PortId, u64>>;

fn waiting(simulation: &Simulation, node: NodeId, class: u8) -> Waiting {
    let mut all = Waiting::new();
    let Some(switch) = simulation.network().node(node).switch() else {
        return all;
    };
    for out in simulation.ports(node) {
        for (ingress, bytes) in switch.waiting_from(out, class) {
            all.entry(ingress).or_default().insert(out, bytes);
        }
    }
    all
}

impl WaitGraph {
    /// The graph of the links in `recent`.
    pub(super) fn new(simulation: &Simulation, recent: &[Recent]) -> Self {
        let links = recent.iter().enumerate();
        let index: BTreeMap<LinkClass, usize> =
            links.map(|(place, recent)| (recent.link, place)).collect();
        let mut switches: BTreeMap<(NodeId, u8), Waiting> = BTreeMap::new();
        let waits = recent.iter().map(|of| {
            let link = of.link;
            let mut wait = Wait {
                link,
                since: of.since,
                paused: of.paused,
                waits_for: Vec::new(),
                causes: Vec::new(),
                ends: Vec::new(),
            };
            let Some((peer, at)) = link.peer(simulation) else {
                return wait;
            };
            let Some(switch) = simulation.network().node(peer).switch() else {
                wait.ends.push(Root::Paused(link));
                return wait;
            };
            // Without XOFF the XON is on its way, or the link is between two pauses.
            let holds = of.since.is_some() && switch.xoff(at) & 1 << link.class != 0;
            let waiting = (switches.entry((peer, link.class)))
                .or_insert_with(|| waiting(simulation, peer, link.class));
            let Some(outs) = waiting.get(&at) else {
                return wait;
            };
            let all: u64 = outs.values().sum();
            for (&port, &bytes) in outs {
                let out = LinkClass {
                    node: peer,
                    port,
                    class: link.class,
                };
                let counts = bytes * LEAST_SHARE >= all;
                match index.get(&out) {
                    Some(&next) => {
                        if holds && recent[next].since.is_some() {
                            wait.waits_for.push((next, bytes));
                        }
                        wait.causes.extend(counts.then_some(next));
                    }
                    None => wait.ends.extend(counts.then_some(Root::Congested(out))),
                }
            }
            wait
        });
        Self {
            waits: waits.collect(),
        }
    }

    /// Makes links of cycles roots, so that what waits for a cycle has one.
    pub(super) fn end_at(&mut self, cycles: impl Iterator<Item = LinkClass>) {
        for link in cycles {
            if let Some(place) = self.place(link) {
                self.waits[place].ends.push(Root::Cycle(link));
            }
        }
    }

    /// The place of a link among the waits.
    pub(super) fn place(&self, link: LinkClass) -> Option<usize> {
        self.waits
            .binary_search_by_key(&link, |wait| wait.link)
            .ok()
    }

    /// The trees of links that stand because of each root, in the order of roots.
    pub(super) fn trees(&self) -> Vec<Tree> {
        let mut before = vec![Vec::new(); self.waits.len()];
        let mut firsts: BTreeMap<Root, Vec<usize>> = BTreeMap::new();
        for (place, wait) in self.waits.iter().enumerate() {
            for next in &wait.causes {
                before[*next].push(place);
            }
            for root in &wait.ends {
                firsts.entry(*root).or_default().push(place);
            }
        }
        let tree = |(root, firsts): (Root, Vec<usize>)| {
            let mut tree = Tree {
                root,
                links: firsts.into_iter().map(|place| (place, 0)).collect(),
                has: vec![false; self.waits.len()],
            };
            for (place, _) in &tree.links {
                tree.has[*place] = true;
            }
            let mut next = 0;
            while let Some(&(place, far)) = tree.links.get(next) {
                next += 1;
                for &place in &before[place] {
                    if !std::mem::replace(&mut tree.has[place], true) {
                        tree.links.push((place, far + 1));
                    }
                }
            }
            tree
        };
        firsts.into_iter().map(tree).collect()
    }
}

/// The links that stand because of a root.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Root,
    /// The places of the links among the waits, each with its distance: 0 for those directly before the root.
    pub(super) links: Vec<(usize, u32)>,
    /// For each wait, whether it is one of them.
    pub(super) has: Vec<bool>,
}
