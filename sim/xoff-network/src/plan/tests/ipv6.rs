//! Hosts with IPv6 addresses: their packets, paths and hop limits.

use std::collections::{BTreeMap, BTreeSet};

use xoff_sim::headers::Headers;
use xoff_sim::kernel::Direction;
use xoff_sim::wire::EtherType;

use super::*;
use crate::detect::victims;
use crate::scenario::Topology;

/// Two racks of two hosts under two leafs, each host with eight flows to one of the other rack.
fn racks(ip: IpVersion) -> Scenario {
    let mut scenario = unchecked(
        "
        [topology.clos]
        tors = 2
        hosts = 2
        leafs = 2
        leaf_rate = '100 Gb/s'
        [[flows]]
        name = 'f'
        from = 'h0..1'
        to = 'h2..3'
        qps = 8
        ",
    );
    scenario.host.ip = ip;
    scenario.duration = Duration::from_us(150);
    scenario.measure_from = Duration::from_us(50);
    scenario.checked().unwrap();
    scenario
}

/// What a wire of 40 Gb/s carries of packets with 1,024 bytes: Ethernet 14, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and
/// gap 20, and IPv4 with 20 or IPv6 with 40 (RFC 8200 §3).
fn goodput_of(ip_header: f64) -> f64 {
    40.0 * 1024.0 / (1024.0 + 62.0 + ip_header)
}

#[test]
fn a_clos_network_of_ipv6_hosts() {
    let scenario = racks(IpVersion::V6);
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let mut recorder = Recorder::new(&simulation);
    for name in ["h0", "h2", "h3", "l0", "l1"] {
        let node = simulation.node(name).unwrap();
        for port in simulation.ports(node) {
            simulation.network_mut().tap(node, port, true);
        }
    }
    let nodes = ["h0", "h2", "h3", "l0", "l1"].map(|name| simulation.node(name).unwrap());
    let mut limits = BTreeSet::new();
    // The leafs by which requests go, by addresses and UDP source port.
    let mut leafs = BTreeMap::<_, BTreeSet<NodeId>>::new();
    let see = |records: &[xoff_sim::kernel::Record]| {
        for record in records {
            let headers = Headers::at(record.frame.bytes.headers()).unwrap();
            if headers.ether_type == EtherType::MAC_CONTROL {
                continue;
            }
            assert_eq!(headers.ether_type, EtherType::IPV6);
            let ip = headers.ip.unwrap();
            // fd00::1 to fd00::4, in the order of the hosts.
            for address in [ip.src, ip.dst] {
                assert_eq!((address >> 120, address << 8 >> 8 <= 4), (0xFD, true));
            }
            let place = nodes.iter().position(|node| *node == record.node).unwrap();
            limits.insert((["h", "h", "h", "l", "l"][place], record.direction, ip.ttl));
            if place > 2 && ip.dst & 0xFF > 2 && record.direction == Direction::Received {
                let flow = (ip.src, ip.dst, headers.ports.unwrap().0);
                leafs.entry(flow).or_default().insert(record.node);
            }
        }
    };
    let at = |duration| Time::ZERO + duration;
    simulation
        .run_until_observed(at(scenario.measure_from), see)
        .unwrap();
    recorder.begin(&simulation);
    simulation.run_until(at(scenario.duration)).unwrap();
    let metrics = recorder.metrics(&simulation);
    // 64 at the sender, one less behind each of three routers (RFC 8200 §3): ToR, leaf, ToR.
    let expected = [
        ("h", Direction::Received, 61),
        ("h", Direction::Sent, 64),
        ("l", Direction::Received, 63),
        ("l", Direction::Sent, 62),
    ];
    assert_eq!(limits, BTreeSet::from(expected));
    // Each flow keeps to one leaf, both have some, and it is the leaf by which detectors believe that it goes.
    assert_eq!(leafs.len(), 16);
    assert!(leafs.values().all(|leafs| leafs.len() == 1));
    let used: BTreeSet<NodeId> = leafs.values().flatten().copied().collect();
    assert_eq!(used.len(), 2);
    for flow in simulation.flows() {
        let path = victims::path(&simulation, flow);
        let [own, peer] = [flow.qp.own.ip, flow.qp.peer.ip].map(|ip| match ip {
            IpAddr::V6(ip) => ip.to_bits(),
            IpAddr::V4(ip) => panic!("{ip}"),
        });
        let seen = &leafs[&(own, peer, flow.qp.udp_port)];
        assert!(path.iter().any(|(link, _)| seen.contains(&link.node)));
    }
    for (host, peer) in [("h0", "h2"), ("h1", "h3")] {
        let flows = (0..8).map(|qp| format!("goodput_gbps.f.{host}.{peer}.{qp}"));
        let goodput: f64 = flows.map(|name| value(&metrics, &name)).sum();
        // Some packets more or less of each flow at the ends of the window: 1,024 bytes in 100 µs are 0.08 Gb/s.
        assert!(
            (goodput - goodput_of(40.0)).abs() < 0.3,
            "{host}: {goodput}"
        );
    }
    assert_eq!(metrics[&Metric::total(Quantity::Drops)], 0.0);
    assert_eq!(metrics[&Metric::network(Quantity::PayloadErrors)], 0.0);
}

/// The headroom is that of the longer frames, B = 1,024 + 82 + 20 over IPv6, and the time of a message alone too: eight
/// hops with 20 bytes more at 40 Gb/s, or 100 Gb/s between ToR and leaf: 2 · (4 + 1.6) ns for a packet and its ACK.
#[test]
fn headroom_and_times_count_the_longer_header() {
    let at = |ip| {
        let mut scenario = racks(ip);
        scenario.flows[0].message = ByteCount::new(1);
        let whole = scenario.checked().unwrap();
        let plan = Plan::new(&whole);
        let tor = whole.switches[0].names().remove(0);
        let routes = ForwardingConfig::default();
        let config = plan.switch(&whole, &tor, &whole.switches[0], routes, Seed(0));
        let (flows, _) = whole.connections();
        let shape = flows[0].messages[0];
        let alone = crate::ideal::Paths::new(&whole, &plan).ideal(&flows[0], shape, 1);
        (config.buffer.priorities[3].headroom.get(), alone)
    };
    // The longest link has 20 m and 100 Gb/s: twice 287.5 ns are 7,187.5 bytes, and so 7,188 to the byte, and the
    // response has 394 quanta.
    let of = |frame: u64| headroom_of(frame, 7_188 + 25_216);
    let ((v4, alone_v4), (v6, alone_v6)) = (at(IpVersion::V4), at(IpVersion::V6));
    assert_eq!((v4, v6), (of(1_106), of(1_126)));
    // Packet and ACK each pass two links at either rate, 20 bytes of 200 and of 80 ps; their beats of 32 bytes are 3
    // and 2 with IPv4 (78 and 62 bytes), 4 and 3 with IPv6 (98 and 82), of the NIC's 5.12 ns.
    let more = 2 * 2 * 20 * (200 + 80) + 2 * 5_120;
    assert_eq!((alone_v6 - alone_v4).as_ps(), more);
}

/// A switch with two hosts of each version: the flows of both get through, and ends of different versions are refused.
#[test]
fn hosts_of_both_versions_in_one_network() {
    let text = |to: &str| {
        unchecked(&format!(
            "
            [[hosts]]
            name = 'a'
            count = 2
            [[hosts]]
            name = 'b'
            count = 2
            ip = 'v6'
            [[switches]]
            name = 's'
            [[links]]
            ends = ['a', 's']
            [[links]]
            ends = ['b', 's']
            [[flows]]
            name = 'old'
            from = 'a0'
            to = '{to}'
            message = '64 KiB'
            count = 1
            [[flows]]
            name = 'new'
            from = 'b0'
            to = 'b1'
            message = '64 KiB'
            count = 1
            "
        ))
    };
    let both = text("a1");
    both.checked().unwrap();
    let (simulation, metrics) = run(&both);
    assert!(simulation.finished());
    assert_eq!(metrics[&Metric::total(Quantity::Drops)], 0.0);
    // Hosts keep their numbers: the third is fd00::3.
    let ips = simulation
        .flows()
        .iter()
        .map(|flow| flow.qp.own.ip.to_string());
    assert_eq!(ips.collect::<Vec<_>>(), ["10.0.0.1", "fd00::3"]);
    assert_eq!(
        text("b").checked().unwrap_err().to_string(),
        "flows.old: a0 has an IPv4 address and b0 an IPv6 one: the same `ip` for both"
    );
}

/// Rules with IPv6 addresses hit, with PSNs that count from the flow's first.
#[test]
fn faults_of_ipv6_packets() {
    let mut scenario = racks(IpVersion::V6);
    scenario.flows[0].qps = 1;
    scenario.flows[0].count = Some(1);
    scenario.flows[0].message = ByteCount::new(64 << 10);
    // A packet that is lost again is not NAKed again: the timer of 4.096 µs · 2³ sends it.
    scenario.flows[0].timeout = 3;
    scenario.duration = Duration::from_us(400);
    let tor = |rule: &str| Topology {
        switch: Some(SwitchSettings {
            faults: vec![rule.parse().unwrap()],
            ..SwitchSettings::default()
        }),
        ..scenario.topology.clone().unwrap()
    };
    for (rule, hit) in [
        // Each of the two ToRs and the leaf of that flow; a shot each, and those behind see the packet sent again.
        ("dst fd00::3, psn +10, shots 1: drop", 3),
        ("dst fd00::7, psn +10, shots 1: drop", 0),
        ("src 0.0.0.1: drop", 0),
    ] {
        let mut scenario = scenario.clone();
        scenario.topology = Some(tor(rule));
        let (simulation, metrics) = run(&scenario);
        assert!(simulation.finished(), "{rule}");
        assert_eq!(
            metrics[&Metric::total(Quantity::Drops)],
            f64::from(hit),
            "{rule}"
        );
    }
}
