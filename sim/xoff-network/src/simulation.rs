//! A simulation: a scenario that runs.

mod build;
mod connect;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use xoff_sim::host::{Host, Receiver, Sender};
use xoff_sim::kernel::{
    BuildError, Digest, ExchangeError, JoinError, Network, Node, NodeId, PortId, Record,
};
use xoff_sim::link::FaultInjector;
use xoff_sim::nic::QpSettings;
use xoff_sim::switch::{ConfigError, Level};
use xoff_sim::time::{Duration, LineRate, Time};

use self::connect::{Connecting, update};
use crate::attach::Outside;
use crate::endpoint::{EndpointError, Endpoints, WaveWindow};
use crate::events::Agenda;
use crate::parts::{self, Parts};
use crate::results::ToolEnd;
use crate::scenario::check::{Issue, Issues};
use crate::scenario::{Checked, Job, Series};
use crate::station::Station;

/// Interval at which drivers are asked whether their QPs are connected.
pub const POLL: Duration = Duration::from_us(1);

/// Why a scenario cannot run, or cannot go on.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The scenario contradicts itself.
    #[error(transparent)]
    Issue(#[from] Issue),
    /// The scenario contradicts itself, in one place or several.
    #[error(transparent)]
    Issues(#[from] Issues),
    /// The settings of a switch do not fit.
    #[error("switch {name}")]
    Switch {
        /// The switch's name.
        name: String,
        /// What does not fit.
        source: ConfigError,
    },
    /// A link does not fit.
    #[error("link from {a} to {b}")]
    Link {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// What does not fit.
        source: BuildError,
    },
    /// An endpoint could not be made or configured.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The state cannot be saved, or saved state cannot be restored.
    #[error("checkpoint: {0}")]
    Checkpoint(#[from] postcard::Error),
    /// The parts of a checkpoint do not make a whole one.
    #[error("checkpoint: {0}")]
    Join(#[from] JoinError),
    /// Another part of the network is gone.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// What another part of the network has shown cannot be read: it is of another build of the program.
    #[error("another part of the network shows what cannot be read: {0}")]
    Shown(postcard::Error),
    /// An endpoint failed during the run.
    #[error("at {at}: {what}")]
    Failed {
        /// When the failure was noticed.
        at: Time,
        /// The assertion that failed, or the rule that was broken.
        what: String,
    },
}

/// A flow, with its two ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowEnds {
    /// The flow's name.
    pub name: String,
    /// The node that posts its messages.
    pub from: NodeId,
    /// Index among the flows that start at that node.
    pub sender: usize,
    /// The node at the other end.
    pub to: NodeId,
    /// QP indices at `from` and at `to`.
    pub qps: [u16; 2],
    /// Where its data comes from: `from`, but if all messages are READs and atomics `to`.
    pub source: NodeId,
    /// Where its data goes.
    pub target: NodeId,
    /// Index among what arrives at `from` and at `to`: what is read, and all other data.
    pub receivers: [Option<usize>; 2],
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// When its first message is posted, if its QP is connected by then.
    pub start: Time,
    /// The class of its data at `source`.
    pub class: u8,
    /// Whether it is of a workload, and so measured as a whole and not message by message.
    pub workload: bool,
    /// Times when nothing else is on its way: of messages, by number, and round again; of a workload of all of it.
    ideals: Vec<Duration>,
    /// Whether its first message may wait for others, so that it begins when that is posted.
    pub waits: bool,
    /// Settings of the QP that sends its data, without what the other end reports about its own.
    pub qp: QpSettings,
}

impl FlowEnds {
    /// Index of the QP that sends its data, at `source`.
    pub fn source_qp(&self) -> u16 {
        self.qps[usize::from(self.source != self.from)]
    }

    /// The time that a message takes when nothing else is on its way, by its number; of a workload, all of the flow.
    pub fn ideal(&self, message: u64) -> Duration {
        self.ideals[(message % self.ideals.len() as u64) as usize]
    }

    /// The nodes at which its data arrives, with the index there: what is read at `from`, all else at `to`.
    pub fn sinks(&self) -> impl Iterator<Item = (NodeId, usize)> + use<> {
        let ends = [self.from, self.to].into_iter().zip(self.receivers);
        ends.filter_map(|(node, receiver)| Some((node, receiver?)))
    }

    /// Index among what arrives at [`target`](Self::target).
    pub(crate) fn receiver(&self) -> usize {
        let [read, sent] = self.receivers;
        sent.or(read).expect("data of a flow arrives somewhere")
    }
}

/// A scenario that runs. In serialized form it is a checkpoint; NICs of your own come back by
/// [`attach`](Self::attach).
#[derive(Debug, Serialize, Deserialize)]
pub struct Simulation {
    pub(super) network: Network<Station>,
    pub(super) names: Vec<String>,
    ports: Vec<u16>,
    groups: Vec<Option<String>>,
    flows: Vec<FlowEnds>,
    series: Vec<Series>,
    jobs: Vec<Job>,
    /// Flows whose QPs are not connected yet, or whose receive buffers are not posted.
    connecting_flows: Vec<Connecting>,
    pub(super) agenda: Agenda,
    notes: Vec<String>,
    /// The part that runs here, if it is one of several.
    #[serde(skip)]
    pub(super) parts: Option<Parts>,
}

impl Simulation {
    /// Builds the network of a scenario, at time zero.
    ///
    /// # Errors
    ///
    /// The part of the scenario that does not fit, or an RTL NIC that cannot be created.
    pub fn new(scenario: &Checked) -> Result<Self, SimulationError> {
        Self::with(scenario, &Endpoints::default())
    }

    /// The state, for [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// A host with an own NIC whose device does not say that it can be saved, or a NIC that has failed.
    pub fn save(&self) -> Result<Vec<u8>, SimulationError> {
        match self.unsaved() {
            Some(issue) => Err(issue.into()),
            None => Ok(postcard::to_stdvec(self)?),
        }
    }

    /// Why it can be in no checkpoint: the first host here that cannot be saved. `None`: it can.
    pub fn unsaved(&self) -> Option<Issue> {
        let why = |station: &Station| match station {
            Station::Endpoint(own) => own.unsaved(),
            Station::Switch(_) => None,
        };
        let mut own = self.stations().filter(|(node, _)| self.network.has(*node));
        own.find_map(|(node, station)| {
            Some(Issue {
                key: format!("hosts.{}.nic", self.names[node.0 as usize]),
                message: why(station)?.into(),
            })
        })
    }

    /// Restores a simulation that [`save`](Self::save) saved in a program of the same build, with its own NICs.
    ///
    /// # Errors
    ///
    /// Bytes that are not a simulation's, or as [`attach`](Self::attach).
    pub fn restore(saved: &[u8], endpoints: &Endpoints) -> Result<Self, SimulationError> {
        let mut simulation: Self = postcard::from_bytes(saved)?;
        simulation.attach(endpoints)?;
        Ok(simulation)
    }

    /// Gives a deserialized simulation its own NICs, which go on from the state that was saved. Until then their hosts
    /// cannot be used: everything that asks one of them panics. Has no effect on other hosts.
    ///
    /// # Errors
    ///
    /// A NIC that is not in `endpoints`, or that is there with another driver or another build of its model.
    pub fn attach(&mut self, endpoints: &Endpoints) -> Result<(), SimulationError> {
        for number in 0..self.names.len() as u32 {
            let node = NodeId(number);
            if let Station::Endpoint(own) = self.network.node(node)
                && let Some(own) = endpoints.restore(&self.names[number as usize], own)?
            {
                self.network
                    .exchange(node, |station| *station = Station::Endpoint(own));
            }
        }
        Ok(())
    }

    /// The group of switches that a node belongs to, as in [`Plan::groups`](crate::plan::Plan::groups).
    ///
    /// Panics when there is no such node.
    pub fn group(&self, node: NodeId) -> Option<&str> {
        self.groups[node.0 as usize].as_deref()
    }

    /// Has a node whose host is outside of the simulation exchange frames with it, at the time that was reached. `None`:
    /// the node has none.
    pub fn outside<R>(
        &mut self,
        node: NodeId,
        with: impl FnOnce(&mut Outside, Time) -> R,
    ) -> Option<R> {
        let now = self.now();
        self.network.exchange(node, |station| {
            Some(with(station.endpoint_mut()?.outside()?, now))
        })
    }

    /// What became of the tools of hosts whose peer is outside, in the order of the hosts.
    pub fn tools(&self) -> Vec<ToolEnd> {
        let tool = |(node, station): (NodeId, &Station)| {
            let report = station.endpoint()?.tool()?;
            Some(ToolEnd {
                host: self.names[node.0 as usize].clone(),
                ended: report.ended,
                messages: report.messages,
            })
        };
        self.stations().filter_map(tool).collect()
    }

    /// Notes about settings that may not be intended, such as a NIC that is slower than its line.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Number of flows whose QPs are not connected yet, or whose receive buffers are not posted.
    pub fn connecting_flows(&self) -> usize {
        self.connecting_flows.len()
    }

    /// Runs until `end` (exclusive). `observe` receives the frames of tapped ports.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL that failed, or a rule of its pins that a NIC broke.
    pub fn run_until_observed(
        &mut self,
        end: Time,
        observe: impl FnMut(&[Record]),
    ) -> Result<(), SimulationError> {
        self.order_run(end)?;
        self.run_here(end, observe)
    }

    /// The same, without an order to other parts.
    pub(super) fn run_here(
        &mut self,
        end: Time,
        mut observe: impl FnMut(&[Record]),
    ) -> Result<(), SimulationError> {
        while self.now() < end {
            self.apply_due_events();
            let event = self.agenda.next().unwrap_or(Time::MAX);
            // Polls at multiples of the interval, so that it makes no difference where runs end.
            let intervals = self.now().as_ps() / POLL.as_ps() + 1;
            let poll = (!self.connecting_flows.is_empty()).then(|| Time::ZERO + POLL * intervals);
            let until = poll.unwrap_or(Time::MAX).min(event).min(end);
            self.run_network(until, &mut observe)?;
            if poll == Some(until) {
                self.connect()?;
            }
        }
        let failure = self
            .stations()
            .find_map(|(_, station)| station.failure().map(str::to_owned));
        match failure {
            None => Ok(()),
            Some(what) => Err(SimulationError::Failed {
                at: self.network.now(),
                what,
            }),
        }
    }

    /// Runs the kernel's network until `end`, with those of other parts.
    fn run_network(
        &mut self,
        end: Time,
        observe: impl FnMut(&[Record]),
    ) -> Result<(), ExchangeError> {
        match self.parts.as_ref().map(Parts::way) {
            Some(way) => (self.network).run_part_until(end, &mut *parts::lock(&way), observe),
            None => {
                self.network.run_until(end, observe);
                Ok(())
            }
        }
    }

    /// Runs until `end` (exclusive).
    ///
    /// # Errors
    ///
    /// As [`run_until_observed`](Self::run_until_observed).
    pub fn run_until(&mut self, end: Time) -> Result<(), SimulationError> {
        self.run_until_observed(end, |_| {})
    }

    /// The current simulated time: everything before this instant has happened.
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// The digest over every frame at every port with its time, and over every completion.
    pub fn digest(&self) -> Digest {
        let mut digest = self.network.digest();
        for host in self.stations().filter_map(|(_, station)| station.host()) {
            digest.part(host.digest());
        }
        digest
    }

    /// The kernel's network.
    pub const fn network(&self) -> &Network<Station> {
        &self.network
    }

    /// The kernel's network, for changes between two runs.
    pub const fn network_mut(&mut self) -> &mut Network<Station> {
        &mut self.network
    }

    /// For each node how full the queues of a switch were since the last call: [`Switch::take_levels`]. Zeros for
    /// hosts.
    pub fn take_levels(&mut self) -> Vec<[Level; 2]> {
        let now = self.now();
        let nodes = (0..self.names.len() as u32).map(NodeId);
        let levels = nodes.map(|node| match self.network.node(node).switch() {
            None => Default::default(),
            Some(_) if !self.network.has(node) => self.shown_levels(node),
            Some(_) => self.network.update(node, |station| match station {
                Station::Switch(switch) => switch.take_levels(now),
                Station::Endpoint(_) => Default::default(),
            }),
        });
        levels.collect()
    }

    /// Names of the nodes, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The ports of a node.
    pub fn ports(&self, node: NodeId) -> impl Iterator<Item = PortId> + use<> {
        (0..self.ports[node.0 as usize]).map(PortId)
    }

    /// All ports of all nodes.
    pub fn all_ports(&self) -> Vec<(NodeId, PortId)> {
        (self.stations())
            .flat_map(|(node, _)| self.ports(node).map(move |port| (node, port)))
            .collect()
    }

    /// The name of a port: that of its node, and its number, as in `s.2`.
    pub fn port_name(&self, node: NodeId, port: PortId) -> String {
        format!("{}.{}", self.names[node.0 as usize], port.0)
    }

    /// The rate of a port.
    ///
    /// Panics when the node has no such port.
    pub fn line_rate(&self, node: NodeId, port: PortId) -> LineRate {
        self.network.node(node).line_rates()[usize::from(port.0)]
    }

    /// All nodes with their numbers.
    pub fn stations(&self) -> impl Iterator<Item = (NodeId, &Station)> {
        (0..self.names.len() as u32)
            .map(|number| (NodeId(number), self.network.node(NodeId(number))))
    }

    /// The number of the node with this name, if there is one.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let place = self.names.iter().position(|known| known == name)?;
        Some(NodeId(place as u32))
    }

    /// The node with this name.
    ///
    /// Panics when there is none.
    pub fn station(&self, name: &str) -> &Station {
        let node = self
            .node(name)
            .unwrap_or_else(|| panic!("no node {name}: nodes are {}", self.names.join(", ")));
        self.network.node(node)
    }

    /// The flows, in the scenario's order. Those of a workload have one name, that of their entry.
    pub fn flows(&self) -> &[FlowEnds] {
        &self.flows
    }

    /// What is measured under one name: each flow, and each workload as a whole.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// What flows do together, round by round.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The sending end of a flow.
    pub fn sender(&self, flow: &FlowEnds) -> &Sender {
        &self.host(flow.from).senders()[flow.sender]
    }

    /// The receiving end of a flow: of a mix that of what is not read.
    pub fn receiver(&self, flow: &FlowEnds) -> &Receiver {
        &self.host(flow.target).receivers()[flow.receiver()]
    }

    /// Bytes of a flow that have arrived in order and for the first time, at both ends.
    pub fn fresh_bytes(&self, flow: &FlowEnds) -> u64 {
        let receivers = flow.sinks();
        let bytes = receivers.map(|(node, place)| self.host(node).receivers()[place].fresh_bytes());
        bytes.sum()
    }

    /// The host of a node.
    ///
    /// Panics when the node is a switch.
    pub fn host(&self, node: NodeId) -> &Host {
        let host = self.network.node(node).host();
        host.unwrap_or_else(|| panic!("{} is no host", self.names[node.0 as usize]))
    }

    /// Whether all flows have finished, and all operations of schedules have ended. Never true if the scenario has a
    /// flow without end.
    pub fn finished(&self) -> bool {
        let mut hosts = self.stations().filter_map(|(_, station)| station.host());
        hosts.all(Host::finished)
    }

    /// Writes waves of a host's NIC for a window of time.
    ///
    /// # Errors
    ///
    /// There is no such host, or its NIC is a model.
    pub fn set_waves(&mut self, host: &str, window: WaveWindow) -> Result<(), SimulationError> {
        let wrong = |problem: String| Issue {
            key: format!("waves of {host}"),
            message: problem,
        };
        let node = self
            .node(host)
            .ok_or_else(|| wrong(format!("no such node: there are {}", self.names.join(", "))))?;
        let set = self.network.update(node, |station| {
            let rtl = station.clocked_mut()?;
            rtl.set_waves(window);
            Some(())
        });
        set.ok_or_else(|| wrong("only an RTL NIC has waves".into()).into())
    }

    /// Closes all files of waves.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn close_waves(&mut self) -> Result<(), EndpointError> {
        for node in (0..self.names.len() as u32).map(NodeId) {
            let closed = self.update(node, |station| match station.clocked_mut() {
                Some(rtl) => rtl.close_waves(),
                None => Ok(()),
            });
            closed.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// Sets whether idle cycles of RTL NICs are skipped, in all parts.
    pub fn set_skip(&mut self, skip: bool) {
        self.order_skip(skip);
        for node in (0..self.names.len() as u32).map(NodeId) {
            self.update(node, |station| {
                if let Some(rtl) = station.clocked_mut() {
                    rtl.set_skip(skip);
                }
            });
        }
    }

    /// Changes a node, if it runs here.
    pub(super) fn update<R>(
        &mut self,
        node: NodeId,
        change: impl FnOnce(&mut Station) -> R,
    ) -> Option<R> {
        update(&mut self.network, node, change)
    }

    /// The faults of the link that starts at a port, for changes, if its node runs here.
    pub(super) fn faults_mut(&mut self, node: NodeId, port: PortId) -> Option<&mut FaultInjector> {
        match self.network.has(node) {
            true => self.network.faults_mut(node, port),
            false => None,
        }
    }
}
