//! How a simulation is built: hosts, switches, and flows with their QPs.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::host::{self, FlowConfig, Host, Receiver, Sender};
use xoff_sim::kernel::{NetworkBuilder, NodeId};
use xoff_sim::link::Link;
use xoff_sim::nic::{Address, QpSettings, ReadRights, Region};
use xoff_sim::protocol::gbn::requester::selective::Selective;
use xoff_sim::protocol::gbn::{RequesterConfig, ResponderConfig};
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::switch::Switch;
use xoff_sim::switch::forwarding::ForwardingConfig;
use xoff_sim::time::{ByteCount, Clock, Duration, Time};
use xoff_sim::wire::Psn;

use super::connect::Connecting;
use super::{FlowEnds, Simulation, SimulationError};
use crate::attach::inside::Inside;
use crate::convergence::Converged;
use crate::endpoint::{Endpoint, EndpointSetup, Endpoints, HostSetup, Kind, Placed};
use crate::events::Agenda;
use crate::ideal::Paths;
use crate::plan::{Plan, receive_buffer};
use crate::policy::SlowLoop;
use crate::scenario::check::{Issue, QPS};
use crate::scenario::{
    self, Checked, Connection, Gate, Job, LinkEntry, NicKind, Recovery, Scenario, SwitchSettings,
};
use crate::station::Station;

/// Tag (low byte) of all keys.
const KEY_TAG: u8 = 0x5A;
/// The largest frame that a NIC takes, FCS included.
const MAX_FRAME: ByteCount = ByteCount::new(9_216);
/// RNR timer code 1: 10 µs (IBTA table 45).
const RNR_TIMER: u8 = 1;

impl Simulation {
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

pub(super) fn endpoint_of(station: &mut Station) -> &mut dyn Endpoint {
    let endpoint = station.endpoint_mut();
    endpoint.expect("flows end at hosts: the scenario was checked")
}

pub(super) fn host_of(station: &mut Station) -> &mut Host {
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
