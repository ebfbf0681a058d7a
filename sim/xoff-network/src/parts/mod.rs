//! A simulation in parts that run at the same time, in threads of a process or in processes of several machines.
//!
//! Every part builds the whole simulation from the same scenario and runs the nodes that it has; the rest are places.
//! Part 0 *leads*: it measures, and all others *obey* its orders ([`Simulation::obey`]), of which the first is to run
//! until a time. What happens by itself needs no order: all parts carry out the events of the scenario when they are
//! due, each at its own nodes.
//!
//! To measure, the leading part has to look at all nodes. Before it does, the others show what has changed at theirs
//! (`Seen` for hosts, [`ShownSwitch`] for switches), and the leading part has that at the nodes' places: recorder,
//! detectors, watch, audit, findings and results are the same code with the same numbers, whoever runs what. To send
//! states has a cost, at each sample and each window of rates, but the other way, in which each part measures its own
//! nodes, would have cut every detector in two: a cycle of pauses goes through several parts.
//!
//! QPs are connected by all parts at a time, with what each says of the ends that it has.
//!
//! A checkpoint is saved in parts too, each by the part that has the nodes ([`kept`]). All of them together are the
//! checkpoint of a run in one part, from which any number of parts can go on.

pub mod kept;
mod seen;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xoff_sim::kernel::exchange::{Exchange, ExchangeError};
use xoff_sim::kernel::part::exchange;
use xoff_sim::kernel::{Digest, ExchangeCounters, NodeId, PortId, ShownPorts};
use xoff_sim::switch::forwarding::Forwarding;
use xoff_sim::switch::{Level, ShownRates, ShownSwitch};
use xoff_sim::time::Time;

use self::kept::{Kept, NotKept, Place};
use crate::events::Change;
use crate::results::Exchanged;
use crate::{Simulation, SimulationError, Station};

pub(crate) use seen::Seen;

/// The way to the other parts, for as many simulations as there are, one after the other.
pub type Way = Arc<Mutex<dyn Exchange>>;

/// What the leading part has the others do.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Order {
    /// Run until this time (exclusive), as it does itself.
    Run(Time),
    /// Show what has changed.
    Show(Look),
    /// Pass the frames of these ports on, or no longer.
    Tap(Vec<(NodeId, PortId)>, bool),
    /// Skip idle cycles of RTL NICs, or evaluate them.
    Skip(bool),
    /// Let the flows of an entry post messages, or keep them from that.
    Posting(String, bool),
    /// Have these changes happen now.
    Change(Vec<Change>),
    /// Keep the state of their nodes.
    Keep(Place),
    /// Say what was exchanged. The simulation is over.
    End,
}

/// How closely the leading part looks at the nodes of the others. What is looked at more closely is looked at as
/// closely as before too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Look {
    /// At all that rates are measured by: hosts, wires, and when ports were paused. Of switches nothing else.
    Rates,
    /// At everything.
    All,
    /// Also at how full switches were since the last such look.
    Levels,
}

/// What a part shows.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Shown {
    /// Nodes that have changed, each a serialized [`ShownNode`].
    nodes: Vec<(NodeId, Bytes)>,
    levels: Vec<(NodeId, [Level; 2])>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ShownNode {
    ports: ShownPorts,
    station: ShownStation,
}

#[derive(Debug, Serialize, Deserialize)]
enum ShownStation {
    Endpoint(Box<Seen>),
    Rates(ShownRates),
    /// With its tables, if they have changed.
    Switch(Box<ShownSwitch>, Option<Box<Forwarding>>),
}

/// What was shown of a node before.
#[derive(Debug, Clone, Default)]
struct Known {
    host: seen::Known,
    /// Of a switch: its tables, and what rates are measured by.
    tables: Digest,
    rates: Digest,
    all: Digest,
}

/// The part of a simulation that runs here.
#[derive(Debug)]
pub(super) struct Parts {
    way: Way,
    number: u32,
    parts: u32,
    /// The part of each node.
    owners: Vec<u32>,
    /// For each node what was shown of it; of no use for nodes of other parts.
    known: Vec<Known>,
    /// When other parts showed their nodes last, and how closely.
    looked: (Time, Look),
    /// Levels of other parts' switches since they were taken, by node.
    levels: Vec<[Level; 2]>,
    /// An order that could not be given.
    failed: Option<ExchangeError>,
}

impl Parts {
    /// The way to the other parts.
    pub(super) fn way(&self) -> Way {
        Arc::clone(&self.way)
    }
}

pub(super) fn lock(way: &Way) -> MutexGuard<'_, dyn Exchange + 'static> {
    way.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulation {
    /// Divides the simulation among the parts on a way: from now on it runs the nodes of one. All parts have to do this
    /// with simulations of the same scenario in the same state: at time zero, or at one checkpoint. Has no effect if
    /// there is a single part.
    ///
    /// # Panics
    ///
    /// Panics if the simulation was divided before.
    pub fn divide(&mut self, way: Way) {
        let (number, parts) = {
            let way = lock(&way);
            (way.part(), way.parts())
        };
        if parts == 1 {
            return;
        }
        assert!(self.parts.is_none(), "divided once");
        let owners = self.network.divided(parts);
        let known = |(_, station): (NodeId, &Station)| Known {
            host: station.endpoint().map(seen::Known::of).unwrap_or_default(),
            ..Known::default()
        };
        let known: Vec<Known> = self.stations().map(known).collect();
        let others = (0..).map(NodeId).zip(&owners);
        for (node, _) in others.filter(|(_, owner)| **owner != number) {
            self.network.exchange(node, |station| {
                if let Station::Endpoint(placed) = station {
                    let mut nothing = seen::Known::nothing(placed.node());
                    let seen = Seen::of(placed.node(), &mut nothing);
                    placed.replace(seen);
                }
            });
        }
        self.network.take_part(number, owners.clone());
        let now = self.now();
        self.parts = Some(Parts {
            way,
            number,
            parts,
            owners,
            levels: vec![Default::default(); known.len()],
            known,
            // All parts have all nodes as they are now. Levels since the last look are in the switches of a checkpoint,
            // and their own part tells them.
            looked: match now {
                Time::ZERO => (now, Look::Levels),
                _ => (now, Look::All),
            },
            failed: None,
        });
    }

    /// Whether this is one of several parts, and not the one that leads.
    pub fn obeys(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.number > 0)
    }

    /// The number of this part.
    pub fn part(&self) -> u32 {
        self.parts.as_ref().map_or(0, |parts| parts.number)
    }

    /// How many parts there are.
    pub fn parts(&self) -> u32 {
        self.parts.as_ref().map_or(1, |parts| parts.parts)
    }

    /// A message to each other part, and those of the others.
    fn exchange<M: Serialize, R: for<'de> Deserialize<'de>>(
        &mut self,
        message: impl Fn(u32) -> M,
    ) -> Result<Vec<(u32, R)>, ExchangeError> {
        let Some(parts) = &self.parts else {
            return Ok(Vec::new());
        };
        let mut counters = ExchangeCounters::default();
        let got = exchange(&mut *lock(&parts.way), &mut counters, message);
        self.network.count_exchange(counters);
        got
    }

    /// The same message to all parts; what the others said.
    pub(super) fn share<M: Serialize + for<'de> Deserialize<'de>>(
        &mut self,
        message: &M,
    ) -> Result<Vec<M>, ExchangeError> {
        let got = self.exchange(|_| message)?;
        Ok(got.into_iter().map(|(_, message)| message).collect())
    }

    /// Gives an order to all other parts if this one leads. If that fails, the next run does.
    fn order(&mut self, order: &Order) {
        let leads = self.parts.as_ref().is_some_and(|parts| parts.number == 0);
        if leads && let Err(error) = self.exchange::<_, Option<Order>>(|_| Some(order)) {
            self.parts
                .as_mut()
                .and_then(|parts| parts.failed.replace(error));
        }
    }

    fn ordered(&mut self) -> Result<(), ExchangeError> {
        let failed = self.parts.as_mut().and_then(|parts| parts.failed.take());
        failed.map_or(Ok(()), Err)
    }

    /// Has all parts run until `end`, as this one will.
    pub(super) fn order_run(&mut self, end: Time) -> Result<(), ExchangeError> {
        self.order(&Order::Run(end));
        self.ordered()
    }

    /// Has the flows of an entry post messages or not in all other parts.
    pub(super) fn order_posting(&mut self, entry: &str, posting: bool) {
        self.order(&Order::Posting(entry.into(), posting));
    }

    /// Has changes happen now in all other parts.
    pub(super) fn order_changes(&mut self, changes: &[Change]) {
        self.order(&Order::Change(changes.to_vec()));
    }

    /// Has all other parts skip idle cycles or not.
    pub(super) fn order_skip(&mut self, skip: bool) {
        self.order(&Order::Skip(skip));
    }

    /// Sets whether the frames of ports are passed to the observer of
    /// [`run_until_observed`](Self::run_until_observed), whichever part has their nodes.
    pub fn tap(&mut self, ports: &[(NodeId, PortId)], on: bool) {
        self.order(&Order::Tap(ports.to_vec(), on));
        for (node, port) in ports {
            self.network.tap(*node, *port, on);
        }
    }

    /// Has all parts show what has changed since they did so last, as closely as has to be measured: that is measured
    /// afterwards as it is now. Of no effect in a simulation of one part, or after a look as close at this time.
    ///
    /// # Errors
    ///
    /// A part that is gone.
    pub fn look(&mut self, look: Look) -> Result<(), SimulationError> {
        let now = self.now();
        let Some(parts) = &self.parts else {
            return Ok(());
        };
        if parts.looked.0 == now && parts.looked.1 >= look {
            return Ok(());
        }
        self.order(&Order::Show(look));
        self.ordered()?;
        let shown = self.exchange::<_, Option<Shown>>(|_| None::<Shown>)?;
        for shown in shown.into_iter().filter_map(|(_, shown)| shown) {
            for (node, bytes) in shown.nodes {
                let read = postcard::from_bytes::<ShownNode>(&bytes);
                let ShownNode { ports, station } = read.map_err(SimulationError::Shown)?;
                self.network.see(node, ports, |here| here.see(station));
            }
            if let Some(parts) = &mut self.parts {
                for (node, levels) in shown.levels {
                    parts.levels[node.0 as usize] = levels;
                }
            }
        }
        if let Some(parts) = &mut self.parts {
            parts.looked = (now, look);
        }
        Ok(())
    }

    /// The levels that another part has shown of a switch.
    pub(super) fn shown_levels(&self, node: NodeId) -> [Level; 2] {
        let parts = self.parts.as_ref();
        parts.map_or_else(Default::default, |parts| parts.levels[node.0 as usize])
    }

    /// What of the nodes here has changed since it was shown.
    fn show(&mut self, look: Look) -> Shown {
        let mut shown = Shown::default();
        let own: Vec<NodeId> = (0..self.names.len() as u32)
            .map(NodeId)
            .filter(|node| self.network.has(*node))
            .collect();
        if look == Look::Levels {
            let all = self.take_levels();
            let of_own = own.iter().map(|node| (*node, all[node.0 as usize]));
            let switches = of_own.filter(|(node, _)| self.network.node(*node).switch().is_some());
            shown.levels = switches.collect();
        }
        for node in own {
            shown
                .nodes
                .extend(self.show_node(node, look).map(|bytes| (node, bytes)));
        }
        shown
    }

    /// A [`ShownNode`] of a node here. `None`: the leading part has seen as much as that.
    fn show_node(&mut self, node: NodeId, look: Look) -> Option<Bytes> {
        let known = &mut self.parts.as_mut()?.known[node.0 as usize];
        let ports = self.network.ports_shown(node);
        let mut rates = Digest::default();
        let station = match self.network.node(node) {
            Station::Endpoint(placed) => {
                ShownStation::Endpoint(Box::new(Seen::of(placed.node(), &mut known.host)))
            }
            Station::Switch(switch) => {
                let shown = switch.rates_shown();
                rates = digest(&serialized(&(&ports, &shown)));
                match look {
                    Look::Rates if rates == known.rates => return None,
                    Look::Rates => ShownStation::Rates(shown),
                    Look::All | Look::Levels => {
                        let tables = digest(&serialized(switch.forwarding()));
                        let changed = std::mem::replace(&mut known.tables, tables) != tables;
                        let tables = changed.then(|| Box::new(switch.forwarding().clone()));
                        ShownStation::Switch(Box::new(switch.shown()), tables)
                    }
                }
            }
        };
        let partly = matches!(station, ShownStation::Rates(_));
        let bytes = serialized(&ShownNode { ports, station });
        let all = match partly {
            true => known.all,
            false => digest(&bytes),
        };
        let news = (known.rates, known.all) != (rates, all);
        (known.rates, known.all) = (rates, all);
        news.then(|| bytes.into())
    }

    /// Does what the leading part orders, until it ends the simulation. `keep` keeps this part of a checkpoint.
    ///
    /// # Errors
    ///
    /// As [`run_until_observed`](Self::run_until_observed), or a part that is gone.
    ///
    /// # Panics
    ///
    /// Panics if the simulation was not divided, or this part leads.
    pub fn obey(
        mut self,
        mut keep: impl FnMut(&Self, &Place) -> Result<Kept, NotKept>,
    ) -> Result<(), SimulationError> {
        assert!(self.obeys(), "one of several parts, and not the first");
        loop {
            let orders = self.exchange::<_, Option<Order>>(|_| None::<Order>)?;
            // That of part 0, which is the first of the others.
            match orders.into_iter().next().and_then(|(_, order)| order) {
                Some(Order::Run(end)) => self.run_here(end, |_| {})?,
                Some(Order::Show(look)) => {
                    let shown = self.show(look);
                    self.exchange::<_, ()>(|part| (part == 0).then_some(&shown))?;
                }
                Some(Order::Tap(ports, on)) => self.tap(&ports, on),
                Some(Order::Skip(skip)) => self.set_skip(skip),
                Some(Order::Posting(entry, posting)) => self.set_posting(&entry, posting),
                Some(Order::Change(changes)) => self.schedule(changes),
                Some(Order::Keep(place)) => {
                    let kept = keep(&self, &place);
                    self.exchange::<_, ()>(|part| (part == 0).then_some(&kept))?;
                }
                Some(Order::End) => {
                    let counters = self.network.exchanged();
                    self.exchange::<_, ()>(|_| counters)?;
                    return Ok(());
                }
                None => {}
            }
        }
    }

    /// Ends the simulation in all other parts, and returns what the parts exchanged. `None`: it is in one part.
    ///
    /// # Errors
    ///
    /// A part that is gone.
    pub fn end_parts(&mut self) -> Result<Option<Exchanged>, SimulationError> {
        let Some(parts) = &self.parts else {
            return Ok(None);
        };
        let number = parts.parts;
        self.order(&Order::End);
        self.ordered()?;
        let own = self.network.exchanged();
        let others = self.exchange::<_, ExchangeCounters>(|_| ())?;
        let all: Vec<ExchangeCounters> = std::iter::once(own)
            .chain(others.into_iter().map(|(_, counters)| counters))
            .collect();
        Ok(Some(Exchanged {
            parts: number,
            windows: own.windows,
            frames: all.iter().map(|part| part.frames).sum(),
            bytes: all.iter().map(|part| part.bytes).sum(),
            waited_s: all.iter().map(|part| part.waited.as_secs_f64()).collect(),
        }))
    }
}

impl Station {
    /// Takes what the part in which it runs has shown of it.
    fn see(&mut self, shown: ShownStation) {
        match (self, shown) {
            (Self::Endpoint(placed), ShownStation::Endpoint(seen)) => placed.see(*seen),
            (Self::Switch(switch), ShownStation::Rates(shown)) => switch.see_rates(shown),
            (Self::Switch(switch), ShownStation::Switch(shown, tables)) => {
                switch.see(*shown, tables.map(|tables| *tables));
            }
            _ => unreachable!("parts have the same scenario"),
        }
    }
}

fn serialized<T: Serialize>(shown: &T) -> Vec<u8> {
    postcard::to_stdvec(shown).expect("what is shown is plain data")
}

fn digest(bytes: &[u8]) -> Digest {
    let mut digest = Digest::default();
    digest.bytes(bytes);
    digest
}

#[cfg(test)]
mod tests;
