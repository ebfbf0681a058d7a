//! TCP against itself, over cables and switches.

use xoff_sim::kernel::NodeId;
use xoff_sim::nic_registers as reg;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Duration, Length, Time};

use crate::Simulation;
use crate::metrics::{dropped, lost_on_links};
use crate::scenario::{FlowSettings, NicKind, Scenario};
use crate::testing::{ran, tcp_pair};

/// Two hosts with TCP at a switch, and a flow of `count` messages of `size` bytes.
fn pair(count: u64, size: u64) -> Scenario {
    let flow = FlowSettings::new("f", "a", "b").messages(count, ByteCount::new(size));
    let mut scenario = tcp_pair(flow, Duration::from_ms(100));
    // No cable is too long for a network without pauses.
    scenario.host.lossless.clear();
    scenario.switches[0].lossless.clear();
    scenario
}

/// What a host's counter says.
fn counted(simulation: &Simulation, node: NodeId, register: u16) -> u64 {
    let station = simulation.network().node(node);
    station.nic_counters().unwrap().get(register)
}

#[test]
fn messages_arrive_whole_and_are_complete_when_they_are_acknowledged() {
    let simulation = ran(&pair(20, 100_000));
    let flow = &simulation.flows()[0];
    assert!(simulation.finished());
    let receiver = simulation.receiver(flow);
    assert_eq!((receiver.whole(), receiver.fresh_bytes()), (20, 2_000_000));
    for node in [flow.from, flow.to] {
        assert_eq!(simulation.host(node).errors(), Default::default());
    }
    // 68 or 69 segments of 1,460 bytes each, and none again.
    let sent = counted(&simulation, flow.from, reg::REQUESTS_OUT);
    assert!((1_370..1_400).contains(&sent), "{sent}");
    assert_eq!(counted(&simulation, flow.from, reg::RESENT_OUT), 0);
    assert_eq!(counted(&simulation, flow.to, reg::REQUESTS_IN), sent);
    // Each has an ACK, and there was a SYN with its answer.
    let acks = counted(&simulation, flow.to, reg::FRAMES_OUT);
    assert_eq!(acks, sent + 1);
}

/// Every frame that a host sent has arrived at the other one or was dropped, and why is counted; every byte is there
/// all the same.
#[test]
fn what_is_lost_on_the_way_is_counted_and_comes_again() {
    let mut scenario = pair(100, 100_000);
    scenario.duration = Duration::from_s(4);
    scenario.host.tcp.min_rto = Duration::from_ms(10);
    let rules = [
        "chance 1/200: drop",
        "chance 1/200: corrupt",
        "chance 1/200: flip",
        "chance 1/200: duplicate",
        "chance 1/200: delay 100 us",
    ];
    scenario.links[0].faults = rules.map(|rule| rule.parse().unwrap()).into();
    let simulation = ran(&scenario);
    let flow = &simulation.flows()[0];
    let receiver = simulation.receiver(flow);
    assert!(simulation.finished(), "{} of 100", receiver.whole());
    assert_eq!(receiver.fresh_bytes(), 10_000_000);
    assert_eq!(simulation.host(flow.to).errors(), Default::default());

    let [sent, again] = [reg::FRAMES_OUT, reg::RESENT_OUT]
        .map(|register| counted(&simulation, flow.from, register));
    let arrived = counted(&simulation, flow.to, reg::FRAMES_IN);
    let lost: u64 = lost_on_links(&simulation).map(|(_, lost)| lost).sum();
    let drops = dropped(&simulation);
    let of = |node: NodeId| drops.iter().filter(move |drop| drop.node == node);
    let sum = |node| of(node).map(|drop| drop.frames).sum::<u64>();
    let switch = simulation.node("s").unwrap();
    let faults = simulation
        .network()
        .faults(flow.from, xoff_sim::kernel::PortId(0));
    let twice = faults
        .unwrap()
        .counters()
        .find(|(rule, _)| rule.to_string().contains("duplicate"));
    let twice = twice.unwrap().1.hit;
    assert!(
        again > 50 && lost > 20 && twice > 20,
        "{again}, {lost}, {twice}"
    );
    assert_eq!(sent + twice, lost + sum(switch) + arrived);
    // What arrived was broken, a SYN or its end, or data; a flipped bit is found by a checksum.
    let named: Vec<(&str, u64)> = of(flow.to)
        .filter(|drop| drop.frames > 0)
        .map(|drop| (&*drop.reason, drop.frames))
        .collect();
    assert!(
        named.iter().any(|(name, _)| *name == "malformed"),
        "{named:?}"
    );
    let data = counted(&simulation, flow.to, reg::REQUESTS_IN);
    assert_eq!(arrived, data + sum(flow.to) + 2, "{named:?}");
}

/// Goodput of a flow without end over a path of `rtt`, of whose frames one in `one_in` is lost, in segments a round
/// trip.
fn window(rtt: Duration, one_in: u32, change: impl FnOnce(&mut Scenario)) -> f64 {
    let mut scenario = pair(1, 1_000_000);
    scenario.flows[0].count = None;
    scenario.host.tcp.kernel_median = Duration::ZERO;
    scenario.host.tcp.kernel_p99 = Duration::ZERO;
    scenario.host.tcp.min_rto = Duration::from_ms(300);
    // 5 ns a metre.
    scenario.links[1].cable = Length::from_m(rtt.as_ps() / 10_000);
    scenario.links[0].faults = vec![format!("chance 1/{one_in}: drop").parse().unwrap()];
    scenario.duration = rtt * 3_000;
    change(&mut scenario);
    let simulation = ran(&scenario);
    let bytes = simulation.receiver(&simulation.flows()[0]).fresh_bytes();
    let trips = scenario.duration.as_ps() as f64 / rtt.as_ps() as f64;
    bytes as f64 / 1_460.0 / trips
}

/// The mean window under random losses p is C / √p segments (Mathis, Semke, Mahdavi and Ott 1997). C is 1.31 for a
/// receiver that acknowledges every segment, as this one does, and losses that are independent of each other (there,
/// table 1); 1.22 = √(3/2) is that of a loss every 1/p segments.
#[test]
fn throughput_under_loss_is_that_of_mathis() {
    for one_in in [500, 1_000] {
        let mathis = 1.31 * f64::from(one_in).sqrt();
        let found = window(Duration::from_ms(100), one_in, |_| ());
        println!(
            "1/{one_in}: {found:.1} of {mathis:.1}, {:.3}",
            found / mathis
        );
        assert!(
            (0.8..1.2).contains(&(found / mathis)),
            "1/{one_in}: {found} of {mathis}"
        );
    }
}

/// Two flows that begin at different times share a port of 10 Gb/s and its buffer.
#[test]
fn two_flows_share_a_port_evenly() {
    let mut scenario = Scenario::new("tcp", Duration::from_ms(250)).switch("s");
    for (name, start) in [("a", 0), ("b", 20)] {
        scenario = scenario.host(name);
        let mut flow = FlowSettings::new(name, name, "c");
        (flow.dscp, flow.start) = (0, Duration::from_ms(start));
        scenario = scenario.flow(flow);
    }
    scenario = scenario.host("c");
    for name in ["a", "b", "c"] {
        scenario = scenario.link(name, "s", Length::from_m(5_000));
    }
    scenario.host.nic = NicKind::Tcp;
    scenario.host.rate = "10 Gb/s".parse().unwrap();
    scenario.host.tcp.kernel_median = Duration::ZERO;
    scenario.host.tcp.kernel_p99 = Duration::ZERO;
    scenario.host.tcp.min_rto = Duration::from_ms(2);
    scenario.switches[0].buffer = ByteCount::new(300_000);
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let bytes = |simulation: &Simulation| -> Vec<u64> {
        let flows = simulation.flows().iter();
        flows
            .map(|flow| simulation.receiver(flow).fresh_bytes())
            .collect()
    };
    simulation.run_until(Time::from_ms(100)).unwrap();
    let before = bytes(&simulation);
    simulation.run_until(Time::from_ms(250)).unwrap();
    let after = bytes(&simulation);
    let rates: Vec<f64> = (after.iter().zip(&before))
        .map(|(after, before)| (after - before) as f64 * 8.0 / 0.15 / 1e9)
        .collect();
    let sum: f64 = rates.iter().sum();
    let jain = sum * sum / (2.0 * rates.iter().map(|rate| rate * rate).sum::<f64>());
    println!("{rates:?} Gb/s, Jain {jain:.4}");
    assert!(jain > 0.95, "{rates:?}");
    assert!(sum > 8.0, "{rates:?}");
}

/// RDMA from r0 to r1 and TCP from c to d over one link between two switches, whose class 0 holds little; and RDMA from
/// r2 to r3 at ports of their own.
fn beside() -> Scenario {
    let mut scenario = Scenario::new("beside", Duration::from_ms(3));
    for name in ["r0", "r1", "r2", "r3", "c", "d"] {
        scenario = scenario.host(name);
    }
    for host in &mut scenario.hosts[4..] {
        host.nic = Some(NicKind::Tcp);
    }
    scenario.host.nic = NicKind::Model;
    scenario.host.tcp.kernel_median = Duration::from_us(5);
    scenario.host.tcp.kernel_p99 = Duration::from_us(20);
    scenario.host.tcp.min_rto = Duration::from_ms(1);
    scenario = scenario.switch("s").switch("t");
    for switch in &mut scenario.switches {
        switch.lossy_limit = Limit::Static(ByteCount::new(60_000));
    }
    for (host, switch) in [
        ("r0", "s"),
        ("r1", "t"),
        ("r2", "s"),
        ("r3", "s"),
        ("c", "s"),
        ("d", "t"),
    ] {
        scenario = scenario.link(host, switch, Length::from_m(2));
    }
    scenario = scenario.link("s", "t", Length::from_m(20));
    for (name, from, to, dscp) in [
        ("shared", "r0", "r1", 26),
        ("apart", "r2", "r3", 26),
        ("tcp", "c", "d", 0),
    ] {
        let mut flow = FlowSettings::new(name, from, to);
        (flow.dscp, flow.message) = (dscp, ByteCount::new(64 << 10));
        scenario = scenario.flow(flow);
    }
    scenario
}

/// On a wire that they share RDMA waits for TCP's frames, as weights say. Nothing else of RDMA changes: none of its
/// frames is dropped or sent again, nobody pauses TCP's class or pauses because of it, and at other ports of the same
/// switch everything happens at the same picosecond as without TCP.
#[test]
fn tcp_drops_its_own_frames_and_touches_none_of_rdma() {
    let whole = ran(&beside());
    let mut alone = beside();
    alone.flows.pop();
    let alone = ran(&alone);
    let node = |name: &str| whole.node(name).unwrap();
    for name in ["r2", "r3"] {
        assert_eq!(
            whole.host(node(name)).digest(),
            alone.host(node(name)).digest()
        );
        let counters = |of: &Simulation| of.network().node(node(name)).nic_counters().cloned();
        assert_eq!(counters(&whole), counters(&alone));
    }
    for name in ["r0", "r1"] {
        for register in [reg::RESENT_OUT, reg::NAKS_OUT, reg::TIMEOUTS] {
            assert_eq!(counted(&whole, node(name), register), 0, "{name}");
        }
    }
    let mut dropped_of_tcp = 0;
    for switch in ["s", "t"] {
        let station = whole.network().node(node(switch));
        assert_eq!(station.pause_times(whole.now())[0], Duration::ZERO);
        for port in whole.ports(node(switch)) {
            let counters = station.switch().unwrap().counters(port);
            assert_eq!(counters.xoff[0], 0);
            dropped_of_tcp += counters.dropped.iter().map(|of| of[0]).sum::<u64>();
            let others = counters
                .dropped
                .iter()
                .map(|of| of[1..].iter().sum::<u64>());
            assert_eq!(others.sum::<u64>(), 0);
        }
    }
    // TCP lost frames, sent them again, and went on.
    let again = counted(&whole, node("c"), reg::RESENT_OUT);
    assert!(
        dropped_of_tcp > 10 && again > 10,
        "{dropped_of_tcp}, {again}"
    );
    let bytes = |of: &Simulation, flow: usize| of.receiver(&of.flows()[flow]).fresh_bytes();
    assert!(bytes(&whole, 2) > 200_000, "{}", bytes(&whole, 2));
    // RDMA has at least its weight's half of the wire.
    assert!(bytes(&whole, 0) * 2 > bytes(&alone, 0) * 95 / 100);
    assert_eq!(whole.host(node("d")).errors(), Default::default());
}

#[test]
fn the_result_depends_on_the_seed_and_not_on_threads() {
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut scenario = beside();
        scenario.seed = seed;
        pool.unwrap().install(|| ran(&scenario).digest())
    };
    assert_eq!(with(1, 1), with(3, 1));
    assert_ne!(with(1, 1), with(1, 2));
}

#[test]
fn a_checkpoint_is_refused() {
    let error = ran(&pair(1, 100)).save().unwrap_err().to_string();
    assert!(
        error.starts_with("hosts.a.nic: a TCP host is in no checkpoint"),
        "{error}"
    );
}

/// 8 connections that fill a line of 40 Gb/s: the processor shares of SIGCOMM 2016, 6 % to send and 12 % to receive.
#[test]
fn a_full_line_costs_the_processors_what_was_measured() {
    let mut scenario = pair(1, 1 << 20);
    (scenario.flows[0].count, scenario.flows[0].qps) = (None, 8);
    scenario.duration = Duration::from_ms(15);
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let read = |simulation: &Simulation| {
        let flows = simulation.flows().iter();
        let bytes: u64 = flows
            .map(|flow| simulation.receiver(flow).fresh_bytes())
            .sum();
        let cpu = |name: &str| {
            let endpoint = simulation.station(name).endpoint().unwrap();
            let cpu = endpoint.processor_time().unwrap();
            cpu.busy.as_ps() as f64 / f64::from(cpu.cores)
        };
        [bytes as f64 * 8.0, cpu("a"), cpu("b")]
    };
    simulation.run_until(Time::from_ms(10)).unwrap();
    let before = read(&simulation);
    simulation.run_until(Time::from_ms(15)).unwrap();
    let after = read(&simulation);
    let [bits, send, receive] = std::array::from_fn(|i| after[i] - before[i]);
    let (gbps, send, receive) = (bits / 5e6, send / 5e9 * 100.0, receive / 5e9 * 100.0);
    println!("{gbps:.2} Gb/s of payload, {send:.2} % to send, {receive:.2} % to receive");
    // 1,460 of 1,538 bytes of time are payload.
    assert!((36.0..38.5).contains(&gbps), "{gbps}");
    assert!(
        (5.5..6.5).contains(&send) && (11.0..13.0).contains(&receive),
        "{send}, {receive}"
    );
}
