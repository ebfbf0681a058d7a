//! A simulation: a scenario that runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use xoff_sim::host::{self, FlowConfig, Host, Receiver, Sender};
use xoff_sim::kernel::{
    BuildError, Digest, ExchangeError, JoinError, Network, NetworkBuilder, Node, NodeId, PortId,
    Record,
};
use xoff_sim::link::{FaultInjector, FirstPsn, Link};
use xoff_sim::nic::{Address, QpSettings, ReadRights, Region};
use xoff_sim::protocol::gbn::requester::selective::Selective;
use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig};
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::switch::forwarding::ForwardingConfig;
use xoff_sim::switch::{ConfigError, Level, Switch};
use xoff_sim::time::{ByteCount, Clock, Duration, LineRate, Time};
use xoff_sim::wire::{Psn, Qpn, address_bits};

use crate::attach::Outside;
use crate::attach::inside::Inside;
use crate::convergence::Converged;
use crate::endpoint::{
    Created, Endpoint, EndpointError, EndpointSetup, Endpoints, HostSetup, Kind, Placed, WaveWindow,
};
use crate::events::Agenda;
use crate::ideal::Paths;
use crate::parts::{self, Parts};
use crate::plan::{Plan, receive_buffer};
use crate::policy::SlowLoop;
use crate::results::ToolEnd;
use crate::scenario::check::{Issue, Issues, QPS};
use crate::scenario::{
    self, Checked, Connection, Gate, Job, LinkEntry, NicKind, Recovery, Scenario, Series,
    SwitchSettings,
};
use crate::station::Station;

/// Tag (low byte) of all keys.
const KEY_TAG: u8 = 0x5A;
/// The largest frame that a NIC takes, FCS included.
const MAX_FRAME: ByteCount = ByteCount::new(9_216);
/// Interval at which drivers are asked whether their QPs are connected.
pub const POLL: Duration = Duration::from_us(1);
/// RNR timer code 1: 10 µs (IBTA table 45).
const RNR_TIMER: u8 = 1;

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

/// A flow whose two QPs are being connected.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Connecting {
    number: u32,
    ends: [NodeId; 2],
    qps: [u16; 2],
    /// The QPs' settings, without what the other end will report.
    settings: [QpSettings; 2],
    created: [Option<Created>; 2],
    /// The sides at which its data arrives.
    arrives: [bool; 2],
    connecting: bool,
    /// Whether the receiving end has been told to post its buffers.
    receiving: bool,
}

fn switch(
    plan: &Plan,
    scenario: &Scenario,
    name: &str,
    settings: &SwitchSettings,
    routes: ForwardingConfig,
    seed: Seed,
) -> Result<Switch, SimulationError> {
    let config = plan.switch(scenario, name, settings, routes, seed);
    Switch::new(config).map_err(|source| SimulationError::Switch {
        name: match settings.key {
            Some(key) => format!("{name}, {key}"),
            None => name.into(),
        },
        source,
    })
}

/// Checks that routes which replace shortest paths send no packet around, at the start and when switches know of failed
/// links, unless the scenario wants them to.
fn check_loops(
    scenario: &Scenario,
    plan: &Plan,
    routes: &[ForwardingConfig],
    converged: &Converged,
) -> Result<(), Issue> {
    if scenario.routes.is_empty() || scenario.routing_loops {
        return Ok(());
    }
    plan.check_loops(routes)?;
    let mut later = converged.tables.iter();
    later.try_for_each(|routes| plan.check_loops(routes))
}

fn link(entry: &LinkEntry) -> Link {
    Link {
        cable: entry.cable,
        interface: entry.interface,
        faults: [entry.faults.clone(), entry.faults_back.clone()],
    }
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

    /// Builds the network of a scenario that may use NICs of your own.
    ///
    /// QPs whose driver needs no simulated time for it are connected at time zero. The other drivers are asked every
    /// [`POLL`], and a flow starts when both of its ends are connected and the receiving one has posted its buffers.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); also a NIC that is not in `endpoints`, or a flow that such a NIC cannot carry.
    pub fn with(scenario: &Checked, endpoints: &Endpoints) -> Result<Self, SimulationError> {
        let plan = Plan::new(scenario);
        let routes = plan.routes(scenario);
        let converged = Converged::new(scenario, &plan);
        check_loops(scenario, &plan, &routes, &converged)?;
        let (connections, series) = scenario.connections();
        plan.check_vlans(scenario, &connections)?;
        let seed = Seed(scenario.seed);
        let mut notes = scenario.notes(&connections);
        let (mut stations, kinds) =
            hosts((scenario, &plan), endpoints, &connections, seed, &mut notes)?;
        let switches = scenario.switches.iter();
        let named = |settings: &SwitchSettings| settings.names().into_iter();
        let switches = switches.flat_map(|entry| named(entry).map(move |name| (name, entry)));
        for ((name, settings), routes) in switches.zip(routes) {
            let node = plan.number(&name);
            let own = seed.derive(&[2, node.0.into()]);
            let switch = switch(&plan, scenario, &name, settings, routes, own)?;
            stations.push(Station::Switch(Box::new(switch)));
        }
        let mut paths = Paths::new(scenario, &plan);
        let (flows, connecting_flows) = create(
            scenario,
            &connections,
            &mut paths,
            &kinds,
            &mut stations,
            seed.derive(&[3]),
        )?;
        let (gates, jobs) = scenario.gates(&connections);
        gate(gates, &jobs, &flows, &mut stations);
        for (host, schedule) in scenario.schedules(&connections) {
            let node = plan.number(&host);
            let schedule = schedule.map(|flow| flows[flow].sender, |flow| flows[flow].receiver());
            host_of(&mut stations[node.0 as usize]).add_schedule(schedule);
        }
        let mut builder = NetworkBuilder::new(seed.derive(&[4]));
        for station in stations {
            builder.node(station);
        }
        for (cable, entry) in plan.cables.iter().zip(&plan.entries) {
            let link = link(&scenario.links[*entry]);
            let name = |end: usize| plan.names[cable[end].0.0 as usize].clone();
            builder
                .connect(cable[0], cable[1], &link)
                .map_err(|source| SimulationError::Link {
                    a: name(0),
                    b: name(1),
                    source,
                })?;
        }
        let agenda = Agenda::new(
            (scenario, &plan, &connections),
            converged,
            seed.derive(&[5]),
        );
        let mut simulation = Self {
            network: builder.build(),
            names: plan.names,
            ports: plan.ports,
            groups: plan.groups,
            flows,
            series,
            jobs,
            connecting_flows,
            agenda,
            notes,
            parts: None,
        };
        simulation.connect()?;
        simulation.inject(scenario)?;
        Ok(simulation)
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

    /// Checks for everything that [`with`](Self::with) would refuse. Creates models of NICs only if there are NICs of
    /// your own.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn check(scenario: &Checked, endpoints: &Endpoints) -> Result<(), SimulationError> {
        for entry in &scenario.hosts {
            let settings = scenario.settings_of(entry);
            endpoints.of(&entry.name, &settings)?;
            endpoints.congestion_of(&entry.name, &settings)?;
            if matches!(settings.nic, NicKind::Custom(_)) {
                SlowLoop::check(scenario, endpoints)?;
                // Only its driver knows what a NIC of your own can carry.
                return Self::with(scenario, endpoints).map(drop);
            }
        }
        SlowLoop::check(scenario, endpoints)?;
        let plan = Plan::new(scenario);
        let converged = Converged::new(scenario, &plan);
        check_loops(scenario, &plan, &plan.routes(scenario), &converged)?;
        plan.check_vlans(scenario, &scenario.connections().0)?;
        for entry in &scenario.hosts {
            for (_, node, settings) in plan.hosts_of(scenario, entry) {
                let clock = Clock::new(Clock::PERIOD_40G, Duration::ZERO);
                plan.nic(scenario, node, &settings, &clock)?;
            }
        }
        for settings in &scenario.switches {
            for name in settings.names() {
                let routes = ForwardingConfig::default();
                switch(&plan, scenario, &name, settings, routes, Seed(0))?;
            }
        }
        for entry in &scenario.links {
            link(entry)
                .latency()
                .map_err(|source| SimulationError::Link {
                    a: entry.ends[0].clone(),
                    b: entry.ends[1].clone(),
                    source: source.into(),
                })?;
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

    /// Continues connecting QPs, as far as their drivers are done. All parts take the same steps, each at the ends that
    /// it has.
    fn connect(&mut self) -> Result<(), SimulationError> {
        let mut flows = std::mem::take(&mut self.connecting_flows);
        let (now, divided) = (self.now(), self.parts.is_some());
        let (mut first_psns, mut failed) = (Vec::new(), None);
        let mut going = true;
        while going {
            going = false;
            let mut reached: Vec<Reached> = Vec::new();
            if divided {
                reached = flows
                    .iter()
                    .map(|flow| flow.reached(&self.network))
                    .collect();
                for others in self.share(&reached)? {
                    let all = reached.iter_mut().zip(others);
                    all.for_each(|(known, other)| known.join(other));
                }
            }
            let mut reached = reached.into_iter();
            let network = &mut self.network;
            flows.retain_mut(|flow| {
                let step = match reached.next() {
                    Some(reached) => flow.step(network, now, &reached),
                    None => flow.advance(network, now),
                };
                match step {
                    Ok(Step::Connected) => {
                        first_psns.extend(flow.first_psns());
                        return false;
                    }
                    Ok(Step::Went) => going = true,
                    Ok(Step::Waits) => {}
                    Err(error) => failed = failed.take().or(Some(error.to_string())),
                }
                true
            });
        }
        self.connecting_flows = flows;
        if !first_psns.is_empty() {
            self.set_first_psns(&first_psns);
        }
        failed.map_or(Ok(()), |what| {
            Err(SimulationError::Failed { at: now, what })
        })
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

/// How far the two ends of a flow have come, as far as their nodes run here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Reached {
    created: [Option<Created>; 2],
    connected: [bool; 2],
    posted: [bool; 2],
}

impl Reached {
    /// Adds what another part knows.
    fn join(&mut self, other: Self) {
        for side in 0..2 {
            self.created[side] = self.created[side].or(other.created[side]);
            self.connected[side] |= other.connected[side];
            self.posted[side] |= other.posted[side];
        }
    }
}

/// What a step towards connected QPs came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A driver is not done yet.
    Waits,
    /// The next step can be tried.
    Went,
    /// The flow has started.
    Connected,
}

/// Changes a node, if it runs here.
fn update<R>(
    network: &mut Network<Station>,
    node: NodeId,
    change: impl FnOnce(&mut Station) -> R,
) -> Option<R> {
    network.has(node).then(|| network.update(node, change))
}

impl Connecting {
    /// How far its ends have come, as far as they run here.
    fn reached(&self, network: &Network<Station>) -> Reached {
        let mut reached = Reached::default();
        for (side, end) in self.ends.into_iter().enumerate() {
            let Some(endpoint) = network.node(end).endpoint().filter(|_| network.has(end)) else {
                continue;
            };
            let qp = self.qps[side];
            reached.created[side] = self.created[side].or_else(|| endpoint.created(qp));
            reached.connected[side] = self.connecting && endpoint.connected(qp);
            if self.arrives[side] {
                reached.posted[side] = self.receiving && endpoint.host().has_posted(self.number);
            }
        }
        reached
    }

    /// Takes all steps towards connected QPs that can be taken now, in a network of one part.
    fn advance(
        &mut self,
        network: &mut Network<Station>,
        now: Time,
    ) -> Result<Step, EndpointError> {
        loop {
            let reached = self.reached(network);
            match self.step(network, now, &reached)? {
                Step::Went => {}
                step => return Ok(step),
            }
        }
    }

    /// Takes the next step at the ends that run here, given how far both have come. The last one is that both QPs are
    /// connected, the receiving end has posted its buffers, and the flow starts.
    fn step(
        &mut self,
        network: &mut Network<Station>,
        now: Time,
        reached: &Reached,
    ) -> Result<Step, EndpointError> {
        for side in 0..2 {
            self.created[side] = self.created[side].or(reached.created[side]);
        }
        let [Some(a), Some(b)] = self.created else {
            return Ok(Step::Waits);
        };
        if !self.connecting {
            for (side, own, peer) in [(0, a, b), (1, b, a)] {
                let qp = &mut self.settings[side];
                qp.peer_qpn = peer.qpn;
                (qp.requester_psn, qp.responder_psn) = (own.psn, peer.psn);
                let connected = update(network, self.ends[side], |station| {
                    endpoint_of(station).connect(self.qps[side], qp)
                });
                connected.unwrap_or(Ok(()))?;
            }
            self.connecting = true;
            return Ok(Step::Went);
        }
        if reached.connected != [true; 2] {
            return Ok(Step::Waits);
        }
        if !self.receiving {
            for (side, own) in [a, b]
                .into_iter()
                .enumerate()
                .filter(|(side, _)| self.arrives[*side])
            {
                update(network, self.ends[side], |station| {
                    host_of(station).connect_receiver(self.number, now, own.key);
                });
            }
            self.receiving = true;
            return Ok(Step::Went);
        }
        // A message that finds no buffer is refused, and may end a QP whose sender was only too early.
        if reached.posted != self.arrives {
            return Ok(Step::Waits);
        }
        update(network, self.ends[0], |station| {
            host_of(station).connect_sender(self.number, now, a.key, b.key);
        });
        Ok(Step::Connected)
    }

    /// The flow's first PSN, listed for the QPs of both ends, for use by fault rules.
    fn first_psns(&self) -> impl Iterator<Item = FirstPsn> {
        let psn = self.settings[0].requester_psn;
        self.settings.iter().map(move |side| FirstPsn {
            dst: address_bits(side.peer.ip),
            qpn: Qpn::new(side.peer_qpn).expect("a NIC's QPNs have 24 bits"),
            psn,
        })
    }
}

/// The most READs of a QP that its register can allow.
const READS_IN_REGISTER: u16 = 31;

/// Makes the hosts, in the order of their nodes, and says of which kind each is. What is slower than its line is noted.
fn hosts(
    (scenario, plan): (&Checked, &Plan),
    endpoints: &Endpoints,
    connections: &[Connection<'_>],
    seed: Seed,
    notes: &mut Vec<String>,
) -> Result<(Vec<Station>, BTreeMap<NodeId, Kind>), SimulationError> {
    let mut stations = Vec::new();
    let mut kinds = BTreeMap::new();
    let qps = qps_in_use(connections, plan);
    for entry in &scenario.hosts {
        let own_settings = scenario.settings_of(entry);
        let (kind_name, kind) = endpoints.of(&entry.name, &own_settings)?;
        for (name, node, settings) in plan.hosts_of(scenario, entry) {
            if let Some(slow) = (kind.too_slow)(settings.rate) {
                let note = format!("hosts.{}: {slow}", entry.name);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            let own = seed.derive(&[1, node.0.into()]);
            // Each clock has a random phase, so that ties between NICs favour none of them.
            let period = (kind.period)(settings.rate);
            let phase = Duration::from_ps(own.draws().below(period.as_ps()));
            let clock = Clock::new(period, phase);
            let setup = EndpointSetup {
                seed: own.0,
                max_frame: MAX_FRAME,
                buffer: receive_buffer(&settings),
                qps: qps[node.0 as usize].max(QPS),
                pcie: settings.pcie(),
                congestion: endpoints.congestion_of(&name, &settings)?,
                translation: settings.translation(),
                tcp: settings.tcp.clone(),
                host: HostSetup {
                    name,
                    address: plan.address(node),
                    clock,
                    rate: settings.rate,
                    settings: plan.nic(scenario, node, &settings, &clock)?,
                    neighbours: plan.neighbours(node).collect(),
                },
            };
            let endpoint: Box<dyn Endpoint> = match &entry.tool {
                None => (kind.make)(setup)?,
                Some(tool) => {
                    let server = tool
                        .server
                        .as_ref()
                        .map(|it| plan.address(plan.number(it)).ip);
                    Box::new(Inside::new(
                        own_settings.nic.clone(),
                        &kind,
                        setup,
                        tool,
                        server,
                    )?)
                }
            };
            kinds.insert(node, kind);
            stations.push(Station::Endpoint(Placed::new(kind_name, endpoint)));
        }
    }
    Ok((stations, kinds))
}

/// The number of QPs that flows take at each node.
fn qps_in_use(flows: &[Connection<'_>], plan: &Plan) -> Vec<usize> {
    let mut qps = vec![0; plan.names.len()];
    for end in flows.iter().flat_map(|flow| [&flow.from, &flow.to]) {
        qps[plan.number(end).0 as usize] += 1;
    }
    qps
}

/// The memory of a flow, at each of its ends.
fn region(config: &FlowConfig) -> Region {
    Region {
        base: config.base(),
        length: config.region_bytes(),
        tag: KEY_TAG,
        pd: 0,
        local_write: true,
        remote_write: true,
    }
}

/// Asks for a QP with memory at both ends of each flow, and installs the flow's applications there.
fn create(
    scenario: &Scenario,
    connections: &[Connection<'_>],
    paths: &mut Paths<'_>,
    kinds: &BTreeMap<NodeId, Kind>,
    stations: &mut [Station],
    seed: Seed,
) -> Result<(Vec<FlowEnds>, Vec<Connecting>), SimulationError> {
    let mut connecting_flows = Vec::new();
    let mut flows = Vec::new();
    let plan = paths.plan();
    let mut used = BTreeMap::<NodeId, u16>::new();
    let mut reading = BTreeSet::new();
    let mut touched = BTreeMap::<NodeId, Vec<u16>>::new();
    let mut draws = seed.draws();
    for connection in connections {
        let settings = connection.settings;
        let ends = [&connection.from, &connection.to].map(|end| plan.number(end));
        let qps = ends.map(|end| {
            let next = used.entry(end).or_default();
            *next += 1;
            *next - 1
        });
        let config = FlowConfig {
            number: flows.len() as u32,
            shapes: scenario::shapes(&connection.messages),
            count: connection.count,
            outstanding: settings.outstanding,
            start: Time::ZERO + connection.start,
            interval: settings.interval,
            working_set: settings.working_set(scenario.seed),
        };
        let region = region(&config);
        let mut settings_of_qps = qp_pair((scenario, plan), connection, ends, &mut draws);
        for (qp, end) in settings_of_qps.iter_mut().zip(ends) {
            // The RTL takes more than it has for what it has.
            qp.requester.reads = paths.host(end).max_rd_atomic.min(READS_IN_REGISTER) as u8;
        }
        // The sides at which its data arrives. Of a mix it is both, and the far one counts as that it goes to.
        let arrives = [config.returns(), config.arrives()];
        let [source, target] = if arrives[1] { [0, 1] } else { [1, 0] };
        let qp = settings_of_qps[source].clone();
        let mut created = [None; 2];
        for side in 0..2 {
            let node = ends[side].0 as usize;
            let max_rd_atomic = paths.host(ends[0]).max_rd_atomic;
            let kind = kinds[&ends[side]];
            kind.check(
                &plan.names[node],
                connection,
                side == 0,
                max_rd_atomic,
                qps[side],
            )?;
            let psn = settings_of_qps[side].requester_psn;
            let endpoint = endpoint_of(&mut stations[node]);
            if config.returns() && reading.insert(ends[side]) {
                endpoint.enable_reads(paths.host(ends[side]).max_rd_atomic);
            }
            if let Some(size) = settings.page_size() {
                endpoint.set_page(qps[side], size);
            }
            created[side] = endpoint.create(qps[side], psn, &region)?;
            if settings.touched {
                touched.entry(ends[side]).or_default().push(qps[side]);
            }
            if config.returns() && side == 1 {
                let (read, atomic) = (true, true);
                endpoint.permit(qps[side], ReadRights { read, atomic });
            }
        }
        connecting_flows.push(Connecting {
            number: config.number,
            ends,
            qps,
            settings: settings_of_qps,
            created,
            arrives,
            connecting: false,
            receiving: false,
        });
        let host = host_of(&mut stations[ends[0].0 as usize]);
        let sender = host.senders().len();
        host.send(Sender::unconnected(config.clone(), qps[0]));
        let receivers = [0, 1].map(|side| {
            let host = host_of(&mut stations[ends[side].0 as usize]);
            let buffers = (kinds[&ends[side]].limits)().outstanding;
            let receiver = Receiver::unconnected(config.clone(), qps[side], buffers);
            let receiver = if side == 0 {
                receiver.returning()
            } else {
                receiver
            };
            let place = host.receivers().len();
            arrives[side].then(|| {
                host.receive(receiver);
                place
            })
        });
        flows.push(FlowEnds {
            name: connection.name.clone(),
            from: ends[0],
            sender,
            to: ends[1],
            qps,
            source: ends[source],
            target: ends[target],
            receivers,
            mtu: settings.mtu,
            start: Time::ZERO + connection.start,
            class: (paths.host(ends[source]).classify).class(connection.dscp, settings.pcp),
            workload: settings.is_workload(),
            ideals: ideals(paths, connection),
            waits: settings.waits(),
            qp,
        });
    }
    for (node, qps) in touched {
        endpoint_of(&mut stations[node.0 as usize]).touch(&qps)?;
    }
    Ok((flows, connecting_flows))
}

/// How long the messages of a flow take alone, from its first one until they are alike again; of a workload, all of it.
fn ideals(paths: &mut Paths<'_>, flow: &Connection<'_>) -> Vec<Duration> {
    let count = match flow.settings.is_workload() {
        true => flow.count.unwrap_or(1),
        false => 1,
    };
    // Few of them differ.
    let mut known = BTreeMap::new();
    let mut ideal = |message: &scenario::Message| {
        *(known.entry(*message)).or_insert_with(|| paths.ideal(flow, *message, count))
    };
    flow.messages.iter().map(&mut ideal).collect()
}

/// Installs the gates at the hosts of their flows, and has the receivers of jobs keep when messages arrive.
fn gate(gates: Vec<Gate>, jobs: &[Job], flows: &[FlowEnds], stations: &mut [Station]) {
    let units = jobs.iter().flat_map(|job| &job.units);
    for (flow, _) in units.flat_map(|unit| unit.begin.iter().chain(&unit.flows)) {
        let flow = &flows[*flow];
        host_of(&mut stations[flow.target.0 as usize]).keep_arrivals(flow.receiver());
    }
    for gate in gates {
        let node = flows[gate.senders[0]].from;
        let end = |end| match end {
            scenario::End::Arrived(flow) => host::End::Receiver(flows[flow].receiver()),
            scenario::End::Sent(flow) => host::End::Sender(flows[flow].sender),
        };
        let gate = gate.map(|flow| flows[flow].sender, end);
        host_of(&mut stations[node.0 as usize]).add_gate(gate);
    }
}

fn endpoint_of(station: &mut Station) -> &mut dyn Endpoint {
    let endpoint = station.endpoint_mut();
    endpoint.expect("flows end at hosts: the scenario was checked")
}

fn host_of(station: &mut Station) -> &mut Host {
    endpoint_of(station).host_mut()
}

/// Settings of a flow's two QPs, the sender's and the receiver's, with proposals for their first PSNs. The peer's QP
/// numbers are not known yet.
fn qp_pair(
    (scenario, plan): (&Scenario, &Plan),
    connection: &Connection<'_>,
    ends: [NodeId; 2],
    draws: &mut Draws,
) -> [QpSettings; 2] {
    let flow = connection.settings;
    let mtu = flow.mtu_code().unwrap_or(2);
    let restart = flow.recovery == Recovery::GoBack0;
    let udp_port = flow.udp_port.unwrap_or(0xC000 + draws.below(0x4000) as u16);
    let psn = [(); 2].map(|()| Psn::wrapping(draws.below(1 << 24) as u32));
    [0, 1].map(|side| QpSettings {
        own: plan.address(ends[side]),
        peer: Address {
            mac: plan.first_hop(ends[side], ends[1 - side]),
            ..plan.address(ends[1 - side])
        },
        // PCP in the upper three bits (IEEE 802.1Q figure 9-2).
        tags: (flow.pcp.iter())
            .map(|pcp| u16::from(*pcp) << 13 | plan.vlan(scenario, ends[side], flow))
            .collect(),
        dscp: connection.dscp,
        answer_dscp: flow.ack_dscp,
        answer_pcp: flow.ack_pcp,
        hop_limit: flow.ttl,
        udp_port,
        pkey: 0xFFFF,
        pd: 0,
        peer_qpn: 0,
        requester: RequesterConfig {
            mtu,
            timeout: flow.timeout,
            retry: flow.retries,
            nak_retry: flow.nak_retry,
            rnr_retry: flow.rnr_retries,
            ack_every: flow.ack_every,
            window: flow.window,
            restart,
            reads: 0,
        },
        requester_psn: psn[side],
        responder: ResponderConfig {
            mtu,
            rnr_timer: RNR_TIMER,
            restart,
        },
        responder_psn: psn[1 - side],
        selective: (flow.recovery == Recovery::Selective).then_some(Selective {
            few_timeout: flow.few_timeout,
            packets: flow.window,
        }),
    })
}
