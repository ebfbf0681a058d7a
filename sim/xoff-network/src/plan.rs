//! Translates a scenario into settings of nodes: names to numbers, addresses, routes, headroom.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use xoff_sim::frame::FCS_BYTES;
use xoff_sim::kernel::{NodeId, PortId};
use xoff_sim::nic::settings::{DcqcnSettings, PfcSettings, WatchdogSettings, register_cycles};
use xoff_sim::nic::shape;
use xoff_sim::nic::{Address, BufferParts, ClassCosts, ModelNicConfig, NicSettings};
use xoff_sim::protocol::dcqcn::{Rate as DcqcnRate, RpParameters};
use xoff_sim::seeded::Seed;
use xoff_sim::switch::classify::DscpMap;
use xoff_sim::switch::config::PortConfig;
use xoff_sim::switch::forwarding::{ForwardingConfig, HostEntry};
use xoff_sim::switch::headroom;
use xoff_sim::switch::{
    self, BufferConfig, Headroom, Miss, NextHop, PauseConfig, PauseKind, PriorityBuffer, Route,
    Service, SwitchConfig, WatchdogConfig,
};
use xoff_sim::time::{ByteCount, Clock, Duration, LineRate, Rate};
use xoff_sim::wire::{EthernetRepr, Ipv4Repr, Ipv6Repr, MacAddr, PRIORITIES, VlanTagRepr};

use crate::scenario::check::Issue;
use crate::scenario::check::QPS;
use crate::scenario::host::{Dcqcn, NicKind};
use crate::scenario::switch::{Classify, Curve, Watched};
use crate::scenario::{
    Checked, Connection, FlowSettings, HostSettings, IpVersion, RouteEntry, Scenario,
    SwitchSettings,
};

/// By how many bytes the header of IPv6 is longer: 40 (RFC 8200 §3) instead of 20.
pub(super) const IPV6_MORE_BYTES: u64 = (Ipv6Repr::LEN - Ipv4Repr::LEN) as u64;
/// Fill at which a NIC pauses its peer, unless the scenario says otherwise or the buffer is too small.
const XOFF_DEFAULT: ByteCount = ByteCount::new(32 << 10);

/// Names, numbers and cables of a scenario's network.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name of each node: the hosts in the scenario's order, then the switches.
    pub names: Vec<String>,
    /// How many of the nodes are hosts.
    pub hosts: usize,
    /// The two ends of every cable.
    pub cables: Vec<[(NodeId, PortId); 2]>,
    /// For each cable, the index of its entry in the scenario's list of links.
    pub entries: Vec<usize>,
    /// Number of ports of each node.
    pub ports: Vec<u16>,
    /// For each node, the group of switches that it belongs to: the name of its entry, if that has a count. Hosts have
    /// none.
    pub groups: Vec<Option<String>>,
    /// The version of IP of each host's address.
    versions: Vec<IpVersion>,
    numbers: BTreeMap<String, NodeId>,
    /// For each node, its ports in order, each with the end at the other side of its cable.
    peers: Vec<Vec<(PortId, (NodeId, PortId))>>,
    /// For each node, its ports in order, each with its rate and the entry of its link.
    lines: Vec<Vec<(LineRate, usize)>>,
}

impl Plan {
    /// All ports of all nodes.
    pub fn all_ports(&self) -> Vec<(NodeId, PortId)> {
        let of_node = |(node, ports): (usize, &u16)| {
            (0..*ports).map(move |port| (NodeId(node as u32), PortId(port)))
        };
        self.ports.iter().enumerate().flat_map(of_node).collect()
    }

    /// Creates the plan of a scenario. Entries of links are those of the scenario written out.
    pub fn new(scenario: &Checked) -> Self {
        let hosts: Vec<String> = scenario
            .hosts
            .iter()
            .flat_map(crate::scenario::HostEntry::names)
            .collect();
        let version = |entry: &crate::scenario::HostEntry| {
            let version = scenario.settings_of(entry).ip;
            entry.names().into_iter().map(move |_| version)
        };
        let versions = scenario.hosts.iter().flat_map(version).collect();
        let group = |entry: &SwitchSettings| {
            let group = entry.count.map(|_| entry.name.clone());
            entry.names().into_iter().map(move |_| group.clone())
        };
        let groups = scenario.switches.iter().flat_map(group);
        let groups = hosts.iter().map(|_| None).chain(groups).collect();
        let switches = scenario.switches.iter().flat_map(SwitchSettings::names);
        let count = hosts.len();
        let names: Vec<String> = hosts.into_iter().chain(switches).collect();
        let ids = (0..names.len() as u32).map(NodeId);
        let numbers: BTreeMap<String, NodeId> = names.iter().cloned().zip(ids).collect();
        let mut ports = vec![0; names.len()];
        let mut port = |name: &str| {
            let node = numbers[name];
            let free = &mut ports[node.0 as usize];
            *free += 1;
            (node, PortId(*free - 1))
        };
        let all = scenario.cables();
        let cables: Vec<[_; 2]> = all.iter().map(|(a, b, _)| [port(a), port(b)]).collect();
        let mut peers = vec![Vec::new(); names.len()];
        let mut lines = vec![Vec::new(); names.len()];
        for ([a, b], (_, _, entry)) in cables.iter().zip(&all) {
            peers[a.0.0 as usize].push((a.1, *b));
            peers[b.0.0 as usize].push((b.1, *a));
            let rate = scenario.rate_of(&scenario.links[*entry]);
            for (node, _) in [a, b] {
                lines[node.0 as usize].push((rate, *entry));
            }
        }
        Self {
            cables,
            entries: all.iter().map(|cable| cable.2).collect(),
            hosts: count,
            ports,
            names,
            groups,
            versions,
            numbers,
            peers,
            lines,
        }
    }

    /// The number of the node with this name.
    ///
    /// Panics when there is none, which the check of the scenario rules out.
    pub fn number(&self, name: &str) -> NodeId {
        let number = self.numbers.get(name).copied();
        number.unwrap_or_else(|| panic!("no node {name}"))
    }

    /// The hosts of an entry of the scenario written out: name, number, and settings with the rate of the host's own
    /// port.
    pub fn hosts_of(
        &self,
        scenario: &Scenario,
        entry: &crate::scenario::HostEntry,
    ) -> impl Iterator<Item = (String, NodeId, HostSettings)> {
        let of_entry = scenario.settings_of(entry);
        entry.names().into_iter().map(move |name| {
            let node = self.number(&name);
            let settings = HostSettings {
                rate: self.rate(node, PortId(0)),
                ..of_entry.clone()
            };
            (name, node, settings)
        })
    }

    /// The rate of a port.
    ///
    /// Panics when the node has no such port.
    pub fn rate(&self, node: NodeId, port: PortId) -> LineRate {
        self.lines[node.0 as usize][usize::from(port.0)].0
    }

    /// The index of the entry that the link of a port comes from, in the list of the scenario written out.
    ///
    /// Panics when the node has no such port.
    pub fn entry(&self, node: NodeId, port: PortId) -> usize {
        self.lines[node.0 as usize][usize::from(port.0)].1
    }

    /// Addresses of all hosts as `host` reaches them: its own, and the others' with the MAC address of the first hop.
    pub fn neighbours(&self, host: NodeId) -> impl Iterator<Item = Address> + '_ {
        (0..self.hosts as u32).map(NodeId).map(move |peer| {
            let address = self.address(peer);
            let mac = match peer == host {
                true => address.mac,
                false => self.first_hop(host, peer),
            };
            Address { mac, ..address }
        })
    }

    /// The address of a host.
    pub fn address(&self, host: NodeId) -> Address {
        let number = host.0 + 1;
        let [_, a, b, c] = number.to_be_bytes();
        Address {
            mac: MacAddr([0x02, 0, 0, a, b, c]),
            ip: match self.versions[host.0 as usize] {
                IpVersion::V4 => Ipv4Addr::from(0x0A00_0000 | number).into(),
                // fd00::/8, the unique local addresses whose global part is assigned locally (RFC 4193 §3.1).
                IpVersion::V6 => Ipv6Addr::from(0xFD << 120 | u128::from(number)).into(),
            },
        }
    }

    /// The MAC address to which a host sends what is for `peer`: the peer's own on a cable between the two, otherwise
    /// that of the switch's port at the other end of the host's cable.
    pub fn first_hop(&self, host: NodeId, peer: NodeId) -> MacAddr {
        let next = self.peers(host).first().map(|(_, end)| *end);
        next.map_or(self.address(peer).mac, |(node, port)| self.mac(node, port))
    }

    /// The MAC address of a port.
    fn mac(&self, node: NodeId, port: PortId) -> MacAddr {
        if self.is_host(node) {
            return self.address(node).mac;
        }
        let [.., high, low] = node.0.to_be_bytes();
        MacAddr([0x02, 1, high, low, (port.0 >> 8) as u8, port.0 as u8])
    }

    /// The VLAN in which packets reach a host: that of a trunk port; none, 0, from another port of a switch, since what
    /// is routed loses its tag. `None` without a switch.
    fn vlan_at(&self, scenario: &Scenario, host: NodeId) -> Option<u16> {
        let (_, (edge, _)) = self.peers(host).first()?;
        let name = &self.names[edge.0 as usize];
        let mut switches = scenario.switches.iter();
        let switch = switches.find(|entry| entry.names().contains(name))?;
        Some(switch.trunk.unwrap_or(0))
    }

    /// The VLAN of the tags of a flow's packets at a host that is one of its ends.
    pub(super) fn vlan(&self, scenario: &Scenario, host: NodeId, flow: &FlowSettings) -> u16 {
        let own = flow.vlan.or_else(|| self.vlan_at(scenario, host));
        own.unwrap_or(1)
    }

    /// Checks that tagged packets reach the ends of their flows in the VLAN that the flow has.
    ///
    /// # Errors
    ///
    /// A flow with another VLAN.
    pub(super) fn check_vlans(
        &self,
        scenario: &Scenario,
        flows: &[Connection<'_>],
    ) -> Result<(), Issue> {
        for flow in flows {
            let (Some(vlan), Some(_)) = (flow.settings.vlan, flow.settings.pcp) else {
                continue;
            };
            for end in [&flow.from, &flow.to] {
                let found = self.vlan_at(scenario, self.number(end));
                let Some(found) = found.filter(|found| *found != vlan) else {
                    continue;
                };
                let problem = match found {
                    0 => format!(
                        "{vlan}: packets reach {end} without a tag, which its switch takes off; without this key they \
                         have only a priority"
                    ),
                    _ => format!(
                        "{vlan}: packets reach {end} in VLAN {found}, that of its trunk port"
                    ),
                };
                let place = format!("flows.{}.vlan", flow.settings.name);
                return Err(Issue {
                    key: place,
                    message: problem,
                });
            }
        }
        Ok(())
    }

    /// The cables between two nodes, each with the end at `a` first.
    pub fn between(&self, a: NodeId, b: NodeId) -> Vec<[(NodeId, PortId); 2]> {
        let joins = |&&(_, peer): &&(PortId, (NodeId, PortId))| peer.0 == b;
        let cables = self.peers(a).iter().filter(joins);
        cables.map(|(port, peer)| [(a, *port), *peer]).collect()
    }

    /// Whether a node is a host.
    pub const fn is_host(&self, node: NodeId) -> bool {
        (node.0 as usize) < self.hosts
    }

    /// The ports of a node in order, each with the end at the other side of its cable.
    pub(super) fn peers(&self, node: NodeId) -> &[(PortId, (NodeId, PortId))] {
        &self.peers[node.0 as usize]
    }

    /// For each switch, the number of cables on the shortest path to the hosts behind `edge`, the switch that they
    /// are attached to; for `edge` itself it is 1. `None` where there is no path. Hosts do not forward.
    pub(super) fn distances(&self, edge: NodeId) -> Vec<Option<u32>> {
        self.distances_without(edge, &BTreeSet::new())
    }

    /// Like [`distances`](Self::distances), without the links of some ports; both ends are among these.
    fn distances_without(
        &self,
        edge: NodeId,
        down: &BTreeSet<(NodeId, PortId)>,
    ) -> Vec<Option<u32>> {
        let mut far = vec![None; self.names.len()];
        far[edge.0 as usize] = Some(1);
        let mut queue = VecDeque::from([edge]);
        while let Some(node) = queue.pop_front() {
            let next = far[node.0 as usize].map(|far| far + 1);
            for &(port, (peer, _)) in self.peers(node) {
                let forwards = peer.0 as usize >= self.hosts && !down.contains(&(node, port));
                if forwards && far[peer.0 as usize].is_none() {
                    far[peer.0 as usize] = next;
                    queue.push_back(peer);
                }
            }
        }
        far
    }

    /// Routes of every switch to every host, in the order of switches: all shortest paths. Distances are computed
    /// once for all hosts behind the same switch, since their paths differ in the last cable only.
    pub fn routes(&self, scenario: &Scenario) -> Vec<ForwardingConfig> {
        self.routes_without(scenario, &BTreeSet::new())
    }

    /// Like [`routes`](Self::routes), without the links of some ports; both ends are among these. A given route without
    /// any link left gives way to the shortest paths.
    pub(super) fn routes_without(
        &self,
        scenario: &Scenario,
        down: &BTreeSet<(NodeId, PortId)>,
    ) -> Vec<ForwardingConfig> {
        let mut all = vec![ForwardingConfig::default(); self.names.len() - self.hosts];
        let mut distances = BTreeMap::new();
        for host in (0..self.hosts as u32).map(NodeId) {
            let (_, (edge, _)) = self.peers(host)[0];
            let Address { mac, ip } = self.address(host);
            if self.is_host(edge) {
                continue;
            }
            let far: &Vec<_> =
                (distances.entry(edge)).or_insert_with(|| self.distances_without(edge, down));
            for (config, number) in all.iter_mut().zip(self.hosts as u32..) {
                let switch = NodeId(number);
                let Some(own) = far[switch.0 as usize] else {
                    continue;
                };
                let hop = if switch == edge {
                    let port = self.peers(switch).iter().find(|(_, peer)| peer.0 == host);
                    config
                        .hosts
                        .extend(port.map(|&(port, _)| HostEntry { ip, mac, port }));
                    NextHop::Connected
                } else {
                    let nearer = |&&(port, (peer, _)): &&(PortId, (NodeId, PortId))| {
                        let far = far[peer.0 as usize];
                        far.is_some_and(|peer| peer < own) && !down.contains(&(switch, port))
                    };
                    let ports = self.peers(switch).iter().filter(nearer);
                    NextHop::Ports(ports.map(|(port, _)| *port).collect())
                };
                config.routes.push(Route {
                    prefix: ip,
                    length: match ip {
                        IpAddr::V4(_) => Ipv4Addr::BITS as u8,
                        IpAddr::V6(_) => Ipv6Addr::BITS as u8,
                    },
                    hop,
                });
            }
        }
        for entry in &scenario.routes {
            self.pin(entry, down, &mut all);
        }
        all
    }

    /// Replaces the routes of a switch to a host, or to all hosts at a switch.
    fn pin(
        &self,
        entry: &RouteEntry,
        down: &BTreeSet<(NodeId, PortId)>,
        all: &mut [ForwardingConfig],
    ) {
        let (switch, to) = (self.number(&entry.switch), self.number(&entry.to));
        let hosts: Vec<NodeId> = match self.is_host(to) {
            true => vec![to],
            false => {
                let peers = self.peers(to).iter().map(|(_, peer)| peer.0);
                peers.filter(|peer| self.is_host(*peer)).collect()
            }
        };
        let via = entry.via.iter().map(|name| self.number(name));
        let ports: Vec<PortId> = via
            .flat_map(|next| self.between(switch, next))
            .filter(|[own, _]| !down.contains(own))
            .map(|[(_, port), _]| port)
            .collect();
        if ports.is_empty() {
            return;
        }
        let routes = &mut all[switch.0 as usize - self.hosts].routes;
        for host in hosts {
            let ip = self.address(host).ip;
            if let Some(route) = routes.iter_mut().find(|route| ip == route.prefix) {
                route.hop = NextHop::Ports(ports.clone());
            }
        }
    }

    /// Checks that [`routes`](Self::routes) with given ones send no packet around for ever. Shortest paths never do.
    ///
    /// # Errors
    ///
    /// A host whose packets go around, and the switches that they do not leave.
    pub fn check_loops(&self, all: &[ForwardingConfig]) -> Result<(), Issue> {
        for host in (0..self.hosts as u32).map(NodeId) {
            let ip = self.address(host).ip;
            let mut steps = Vec::new();
            for (config, number) in all.iter().zip(self.hosts as u32..) {
                let route = config.routes.iter().find(|route| ip == route.prefix);
                let Some(NextHop::Ports(ports)) = route.map(|route| &route.hop) else {
                    continue;
                };
                let peers = self.peers(NodeId(number));
                steps.extend(
                    ports
                        .iter()
                        .map(|port| (number, peers[usize::from(port.0)].1.0.0)),
                );
            }
            let parts = tarjan_scc(&DiGraph::<(), ()>::from_edges(steps));
            if let Some(part) = parts.into_iter().find(|part| part.len() > 1) {
                let mut names: Vec<&str> = part
                    .iter()
                    .map(|node| self.names[node.index()].as_str())
                    .collect();
                names.sort_unstable();
                return Err(Issue {
                    key: "routes".into(),
                    message: format!(
                        "packets for {} go around among {}: a route of one of them has to lead out, unless \
                         `routing_loops = true` says that they may",
                        self.names[host.0 as usize],
                        names.join(", ")
                    ),
                });
            }
        }
        Ok(())
    }

    /// The settings of the switch of this name in a scenario written out, given its [`routes`](Self::routes).
    pub fn switch(
        &self,
        scenario: &Scenario,
        name: &str,
        settings: &SwitchSettings,
        routes: ForwardingConfig,
        seed: Seed,
    ) -> SwitchConfig {
        let node = self.number(name);
        let ports = usize::from(self.ports[node.0 as usize]);
        let mut config = SwitchConfig::new(ports, scenario.host.rate);
        let watchdog = settings.watchdog.as_ref();
        let port = |&(port, peer): &(PortId, (NodeId, PortId))| PortConfig {
            rate: self.rate(node, port),
            mac: self.mac(node, port),
            peer: Some(self.mac(peer.0, peer.1)),
            bridges: false,
            // Frames of a host renew its entry in the MAC table, which matters only where entries can end.
            learn: self.is_host(peer.0)
                && (settings.on_mac_miss == Miss::Flood || settings.mac_timeout.is_some()),
            trunk: settings.trunk.filter(|_| self.is_host(peer.0)),
            watchdog: watchdog
                .filter(|watchdog| watchdog.ports == Watched::All || self.is_host(peer.0))
                .map(|watchdog| WatchdogConfig {
                    detect: watchdog.detect,
                    restore: watchdog.restore,
                }),
        };
        config.ports = self.peers(node).iter().map(port).collect();
        let headroom = settings
            .headroom
            .unwrap_or_else(|| self.headroom(scenario, node));
        let lossy = PriorityBuffer {
            limit: settings.lossy_limit,
            ..PriorityBuffer::lossy(1, 1)
        };
        let mut priorities = [lossy; PRIORITIES];
        let pausing = settings
            .lossless
            .iter()
            .filter(|_| settings.pauses != PauseKind::Off);
        for &class in pausing {
            priorities[usize::from(class)] = PriorityBuffer {
                xon_offset: settings.xon_offset,
                reserved: settings.reserved,
                ..PriorityBuffer::lossless(settings.xoff, headroom)
            };
        }
        if let Some(ecn) = &settings.ecn {
            for &class in ecn.classes.as_ref().unwrap_or(&settings.lossless) {
                config.red[usize::from(class)] = Some(ecn.curve().red());
            }
            config.mark_at = ecn.mark_at;
        }
        for own in &settings.classes {
            let class = usize::from(own.class);
            let buffer = &mut priorities[class];
            buffer.reserved = own.reserved.unwrap_or(buffer.reserved);
            if buffer.lossless {
                buffer.limit = own.xoff.unwrap_or(buffer.limit);
                buffer.headroom = own.headroom.unwrap_or(buffer.headroom);
                buffer.xon_offset = own.xon_offset.unwrap_or(buffer.xon_offset);
            } else {
                buffer.limit = own.lossy_limit.unwrap_or(buffer.limit);
            }
            let curve = own.ecn.as_ref().map(Curve::red);
            config.red[class] = curve.or(config.red[class].take());
        }
        config.buffer = BufferConfig {
            total: settings.buffer,
            priorities,
        };
        config.group_priority = (0..8)
            .find(|class| !settings.lossless.contains(class))
            .unwrap_or(0);
        config.services = settings.weights.map(service);
        config.classify = match settings.classify {
            Classify::Dscp => switch::Classify::Dscp(DscpMap::class_selectors()),
            Classify::Pcp => switch::Classify::Pcp([0, 1, 2, 3, 4, 5, 6, 7]),
        };
        config.pause = PauseConfig {
            kind: settings.pauses,
            quanta: settings.pause_quanta,
            refresh: settings.pause_refresh,
            response: settings.pause_response,
            asymmetric: settings.asymmetric_pfc,
        };
        let neighbours = self.peers(node).iter();
        let detours = neighbours.filter(|(_, peer)| !self.is_host(peer.0));
        config.forwarding = ForwardingConfig {
            arp_timeout: settings.arp_timeout,
            mac_timeout: settings.mac_timeout,
            on_mac_miss: settings.on_mac_miss,
            lossless_never_floods: settings.lossless_never_floods,
            ecmp_seed: settings.hash_seed.map_or(seed.derive(&[2]), Seed),
            spray: settings.spray,
            detours: match settings.reroute {
                true => detours.map(|(port, _)| *port).collect(),
                false => Vec::new(),
            },
            ..routes
        };
        config.latency = settings.latency;
        config.faults.clone_from(&settings.faults);
        config.seed = seed;
        config
    }

    /// The headroom that suffices at every port of a node, to the byte: the most that one of its cables needs. The
    /// packets of a flow have several sizes, since the last of a message is shorter and the first may have a RETH.
    pub fn headroom(&self, scenario: &Scenario, node: NodeId) -> ByteCount {
        let frame = largest_frame(scenario);
        let of = |&(rate, entry): &(LineRate, usize)| {
            let link = &scenario.links[entry];
            let needs = Headroom {
                rate,
                frame,
                other_frame: frame,
                cable: link.cable,
                interface: link.interface,
                response: headroom::longest_response(rate),
            };
            needs.most_of_any_sizes()
        };
        let needs = self.lines[node.0 as usize].iter().map(of);
        needs.max().unwrap_or(ByteCount::ZERO)
    }

    /// The settings of a NIC.
    ///
    /// # Errors
    ///
    /// A receive buffer that cannot hold what arrives after a pause.
    pub fn nic(
        &self,
        scenario: &Scenario,
        host: NodeId,
        settings: &HostSettings,
        clock: &Clock,
    ) -> Result<NicSettings, Issue> {
        let cycles =
            |duration: Option<Duration>| duration.map_or(0, |duration| clock.cycles_in(duration).0);
        let mut nic = NicSettings::new(self.address(host).mac);
        nic.class_by_pcp = settings.classify == Classify::Pcp;
        nic.class_costs = ClassCosts::of_weights(settings.weights).map_err(|wrong| Issue {
            key: "host.weights".into(),
            message: wrong.to_string(),
        })?;
        let quanta = u16::MAX;
        let classes = class_bits(&settings.lossless);
        nic.buffer = BufferParts::new(classes, receive_buffer(settings));
        let (xoff, xon) = self.pauses_at(scenario, host, settings, &nic.buffer)?;
        nic.pfc = PfcSettings {
            classes,
            xoff: [xoff; PRIORITIES],
            xon: [xon; PRIORITIES],
            quanta,
            refresh: clock.cycles_in(settings.rate.time_of_quanta(quanta) / 2).0 as u32,
        };
        nic.watchdog = WatchdogSettings {
            bark: cycles(settings.watchdog_bark),
            bite: cycles(settings.watchdog_bite),
            auto_rearm: false,
        };
        let dcqcn = settings.marks();
        nic.dcqcn = dcqcn.map(|dcqcn| of_dcqcn(&dcqcn, settings.rate, clock));
        nic.read_ahead = settings.pcie().read_ahead();
        Ok(nic)
    }

    /// The fills at which a NIC pauses its peer and lets it go on: as in the scenario, or the default. Behind XOFF,
    /// each lossless class needs room for what its cable still delivers, and for two frames that the NIC has not
    /// counted: one in the MAC, which stores a frame before it delivers it, and one in front of the builder when a
    /// pause is due.
    fn pauses_at(
        &self,
        scenario: &Scenario,
        host: NodeId,
        settings: &HostSettings,
        parts: &BufferParts,
    ) -> Result<(u32, u32), Issue> {
        let behind = self.headroom(scenario, host) + largest_frame(scenario) * 2;
        let part_of = |class: u8| parts.of_class[usize::from(class)];
        let room_of = |class: &u8| {
            let beside = settings.lossless.iter().collect::<BTreeSet<_>>();
            let beside = beside
                .into_iter()
                .filter(|other| part_of(**other) == part_of(*class));
            parts.holds(part_of(*class), receive_buffer(settings)) / beside.count() as u64
        };
        let bytes = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX).min(0xFF_FFFF);
        let mut most = XOFF_DEFAULT;
        if let Some(class) = settings.lossless.iter().min_by_key(|class| room_of(class)) {
            let room = room_of(class);
            let left = ByteCount::new(room.saturating_sub(behind.get()));
            let refuse = |place: &str, what: String| {
                let problem = format!(
                    "class {class} of {} has {} of the receive buffer, of which {behind} are for what arrives after a \
                     pause: {what}",
                    self.names[host.0 as usize],
                    ByteCount::new(room)
                );
                Err(Issue {
                    key: place.into(),
                    message: problem,
                })
            };
            match settings.xoff {
                _ if left < largest_frame(scenario) => {
                    let what = "nothing is left before it; a shorter cable, fewer lossless classes, or for model NICs \
                                a larger host.buffer";
                    return refuse("host.lossless", what.into());
                }
                Some(xoff) if xoff > left => {
                    return refuse("host.xoff", format!("{xoff} is too much, {left} at most"));
                }
                _ => most = most.min(left),
            }
        }
        let xoff = settings.xoff.unwrap_or(most);
        let xon = settings
            .xon
            .unwrap_or_else(|| ByteCount::new(xoff.get() / 16 * 15));
        if xon > xoff {
            return Err(Issue {
                key: "host.xon".into(),
                message: format!("{xon} is above xoff, {xoff}"),
            });
        }
        Ok((bytes(xoff.get()), bytes(xon.get())))
    }
}

/// Size in bytes of the receive buffer of a host's NIC.
pub fn receive_buffer(settings: &HostSettings) -> u64 {
    match (&settings.nic, settings.buffer) {
        (NicKind::Model, Some(buffer)) => buffer.get() / BufferParts::CELL * BufferParts::CELL,
        (NicKind::Model, None) => ModelNicConfig::buffer_at(settings.rate),
        _ => shape::BUFFER_BYTES,
    }
}

/// Bytes around an IP packet in a frame: Ethernet header and FCS.
const AROUND_IP: u64 = (EthernetRepr::LEN as u64) + FCS_BYTES;

/// The largest frame of the flows, FCS included, those of TCP among them; that of 1,500 bytes of IP, with a tag,
/// without flows.
fn largest_frame(scenario: &Scenario) -> ByteCount {
    let version = |entry: &crate::scenario::HostEntry| scenario.settings_of(entry).ip;
    let ip = match scenario.hosts.iter().map(version).max() {
        Some(IpVersion::V6) => IPV6_MORE_BYTES,
        Some(IpVersion::V4) | None => 0,
    };
    // Hosts tag the packets of some flows, and trunk ports of switches all that leave.
    let tagged = scenario.flows.iter().any(|flow| flow.pcp.is_some())
        || scenario.switches.iter().any(|it| it.trunk.is_some());
    let tag = if tagged { VlanTagRepr::LEN as u64 } else { 0 };
    let mtus = scenario.flows.iter().map(|flow| u64::from(flow.mtu));
    let longest = |mtu| headroom::longest_frame(mtu) + ip + tag;
    let tcp = scenario.hosts.iter();
    let tcp = tcp.filter(|entry| scenario.settings_of(entry).nic == NicKind::Tcp);
    let tcp = tcp.map(|_| u64::from(scenario.host.tcp.mtu) + AROUND_IP + tag);
    ByteCount::new(mtus.max().map_or(1522, longest).max(tcp.max().unwrap_or(0)))
}

/// Classes, 0 to 7, as a bit each.
pub fn class_bits(classes: &[u8]) -> u8 {
    classes.iter().fold(0, |bits, class| bits | 1 << class)
}

/// How a switch serves a class with this weight: 0 is before all that have turns.
pub const fn service(weight: u32) -> Service {
    match weight {
        0 => Service::Strict,
        weight => Service::Weighted(weight),
    }
}

/// A rate in kb/s, saturating at 32 bits.
pub fn kbps(rate: Rate) -> DcqcnRate {
    DcqcnRate((rate.as_bits_per_second() / 1_000).min(u32::MAX.into()) as u32)
}

/// The rate of a line in bits a second.
pub fn bits_per_second(rate: LineRate) -> f64 {
    8e12 / rate.byte_time().as_ps() as f64
}

/// A gain of α in units of 2⁻¹⁶, as registers have it.
pub fn gain(g: f64) -> u16 {
    (g * 65_536.0).round() as u16
}

/// A number of bytes as registers have it.
pub fn byte_limit(bytes: ByteCount) -> u32 {
    bytes.get().min(u32::MAX.into()) as u32
}

/// The settings of a NIC's DCQCN units, with times in cycles of its clock.
pub fn of_dcqcn(dcqcn: &Dcqcn, rate: LineRate, clock: &Clock) -> DcqcnSettings {
    let cycles = |duration| register_cycles(clock, duration);
    let paper = RpParameters::paper(
        DcqcnRate((bits_per_second(rate) / 1e3) as u32),
        clock.period.as_ps(),
    );
    let [rate_ai, rate_hai] = dcqcn.steps(rate);
    DcqcnSettings {
        rp: RpParameters {
            g: gain(dcqcn.g),
            alpha_time: cycles(dcqcn.alpha_timer),
            rate_time: cycles(dcqcn.rate_timer),
            byte_limit: byte_limit(dcqcn.byte_counter),
            stages: dcqcn.stages,
            rate_ai: kbps(rate_ai),
            rate_hai: kbps(rate_hai),
            ..paper
        },
        cnp_interval: cycles(dcqcn.cnp_interval),
        cnp_dscp: dcqcn.cnp_dscp,
        // The class selector of the DSCP (RFC 2474 §4.2.2).
        cnp_pcp: dcqcn.cnp_dscp >> 3,
        // Covers the limiter's own lateness (rtl/dcqcn/README.md) and no more: if a QP could send as a burst what a
        // pause held back, one pause would cause the next.
        burst: 2 * QPS as u16 + 16,
    }
}

#[cfg(test)]
mod tests;
