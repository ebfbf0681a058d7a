//! Networks as scenarios describe them, and what becomes of them.

use xoff_sim::switch::Limit;
use xoff_sim::time::Time;

use super::*;
use crate::Simulation;
use crate::metrics::{Metric, Quantity, Recorder};
use crate::scenario::ClassSettings;
use crate::testing::to_the_end;

mod ipv6;

/// A scenario of 50 µs with model NICs, not checked.
fn unchecked(text: &str) -> Scenario {
    let head = "title = 'network'\nduration = '50 us'\n[host]\nnic = 'model'\n";
    toml::from_str(&format!("{head}{text}")).unwrap()
}

/// A scenario of 50 µs with model NICs.
fn scenario(text: &str) -> Scenario {
    let scenario = unchecked(text);
    scenario.checked().unwrap();
    scenario
}

/// The metrics of a run from `measure_from` on.
fn run(scenario: &Scenario) -> (Simulation, crate::metrics::Metrics) {
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    simulation
        .run_until(Time::ZERO + scenario.measure_from)
        .unwrap();
    let mut recorder = Recorder::new(&simulation);
    to_the_end(&mut simulation, scenario);
    let metrics = recorder.metrics(&simulation);
    (simulation, metrics)
}

/// Two racks of two hosts, joined by two switches: every group is linked each with each.
const RACKS: &str = "
    [[hosts]]
    name = 'a'
    count = 2
    [[hosts]]
    name = 'b'
    count = 2
    [[switches]]
    name = 't'
    count = 2
    faults = ['dst 10.0.0.4, psn +10, shots 1: drop']
    [[switches]]
    name = 'l'
    count = 2
    [[links]]
    ends = ['a', 't0']
    [[links]]
    ends = ['b', 't1']
    [[links]]
    ends = ['t', 'l']
    faults = ['dst 10.0.0.4, psn +20, shots 1: drop']
    [[flows]]
    name = 'f'
    from = 'a'
    to = 'b1'
    message = '64 KiB'
    count = 1
";

#[test]
fn a_group_of_switches_is_linked_and_faulty_as_a_group() {
    let scenario = scenario(RACKS);
    let plan = Plan::new(&scenario.checked().unwrap());
    assert_eq!(plan.names, ["a0", "a1", "b0", "b1", "t0", "t1", "l0", "l1"]);
    // 2 + 2 cables to hosts, and 2 · 2 between the switches.
    assert_eq!(plan.cables.len(), 8);
    assert_eq!(plan.ports, [1, 1, 1, 1, 4, 4, 2, 2]);
    let (simulation, metrics) = run(&scenario);
    assert!(simulation.finished());
    let uses = simulation.faults(&scenario.checked().unwrap());
    let of = |place: &str| {
        let rule = uses.iter().find(|rule| rule.place == place).unwrap();
        (rule.matched, rule.hit)
    };
    // Each switch and each cable has the rule for itself: t0 drops packet 10 of the first flow and lets that of the
    // second pass, which t1 drops. Data goes up only, by one uplink of t0 or by two.
    let (_, in_switches) = of("switches.t.faults.0");
    assert_eq!(in_switches, 2, "one at each ToR");
    let (_, on_links) = of("links.2.faults.0");
    assert!((1..=2).contains(&on_links), "one on each uplink in use");
    assert_eq!(metrics[&Metric::network(Quantity::PayloadErrors)], 0.0);
}

/// Two hosts send 80 Gb/s in class 3 to one that takes 40. The switch that they meet at pauses them, unless their DSCP
/// was bleached before: then it has them in class 0, and drops what is above its limit of lossy classes. A switch that
/// bleaches has classified the packets before.
#[test]
fn a_bleached_dscp_is_a_lossy_class() {
    let rule = "faults = ['roce: dscp 0']";
    let events = "
        [[events]]
        at = '0 us'
        do.faults = { from = 'a0', to = 't0', rules = ['roce: dscp 0'] }
        [[events]]
        at = '0 us'
        do.faults = { from = 'a1', to = 't0', rules = ['roce: dscp 0'] }
    ";
    for (link, switch, events, classes) in [
        ("", "", "", [3, 3]),
        (rule, "", "", [0, 0]),
        ("", rule, "", [3, 0]),
        ("", "", events, [0, 0]),
    ] {
        let (simulation, metrics) = run(&scenario(&format!(
            "
            [[hosts]]
            name = 'a'
            count = 2
            [[hosts]]
            name = 'b'
            [[switches]]
            name = 't'
            count = 2
            xoff = {{ static = '20 KB' }}
            lossy_limit = {{ static = '20 KB' }}
            {switch}
            [[links]]
            ends = ['a', 't0']
            {link}
            [[links]]
            ends = ['t0', 't1']
            rate = '100 Gb/s'
            [[links]]
            ends = ['b', 't1']
            [[flows]]
            name = 'f'
            from = 'a'
            to = 'b'
            {events}
            "
        )));
        // The classes in which requests reached t0, from a0, and t1, from t0.
        for (name, class) in ["t0", "t1"].into_iter().zip(classes) {
            let switch = simulation.station(name).switch().unwrap();
            let received = &switch.counters(PortId(0)).received;
            let found: Vec<usize> = (0..8).filter(|at| received[*at].frames > 0).collect();
            assert_eq!(found, [class], "{name}");
        }
        let bleached = classes[1] == 0;
        assert_eq!(value(&metrics, "drops.t1.over_limit") > 0.0, bleached);
        assert_eq!(value(&metrics, "drops.total") > 0.0, bleached);
        assert_eq!(value(&metrics, "xoff_transitions.t1") > 0.0, !bleached);
        assert_eq!(value(&metrics, "payload_errors"), 0.0);
    }
}

/// Hosts at different rates behind two switches: one at 400 Gb/s sends to one at 10, 25, 100 or 400.
fn rates(to: &str) -> Scenario {
    scenario(&format!(
        "
        [[hosts]]
        name = 'a'
        [[hosts]]
        name = 'b'
        [[switches]]
        name = 's'
        count = 2
        [[links]]
        ends = ['a', 's0']
        rate = '400 Gb/s'
        [[links]]
        ends = ['s0', 's1']
        rate = '100 Gb/s'
        [[links]]
        ends = ['b', 's1']
        rate = '{to} Gb/s'
        [[flows]]
        name = 'f'
        from = 'a'
        to = 'b'
        mtu = 4096
        outstanding = 16
        "
    ))
}

/// Behind a slower link goodput is what that link's payload is of its wire, whatever the rates of the others: 4,096 of
/// 4,178 bytes (58 of headers with ICRC, 4 of FCS, 20 of preamble and gap). The ports behind it are full.
#[test]
fn every_link_has_its_rate() {
    for (to, bottleneck) in [("10", 10.0), ("25", 25.0), ("100", 100.0), ("400", 100.0)] {
        let mut scenario = rates(to);
        scenario.measure_from = Duration::from_us(25);
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        let mut recorder = Recorder::new(&simulation);
        let at = |duration| Time::ZERO + duration;
        simulation.run_until(at(scenario.measure_from)).unwrap();
        recorder.begin(&simulation);
        simulation.run_until(at(scenario.duration)).unwrap();
        let metrics = recorder.metrics(&simulation);
        let goodput = metrics[&Metric::flow(Quantity::GoodputGbps, "f")];
        let full = bottleneck * 4096.0 / 4178.0;
        // A packet more or less at the ends of the window: 4,096 bytes in 25 µs are 1.3 Gb/s.
        assert!((goodput - full).abs() < 1.4, "{to}: {goodput} {full}");
        assert_eq!(metrics[&Metric::total(Quantity::Drops)], 0.0, "{to}");
        let wire = |metric: &str| metrics[&metric.parse::<Metric>().unwrap()];
        // Port 1 of s1 is that to b: full unless its link is faster than the one before it.
        let part = bottleneck / to.parse::<f64>().unwrap();
        let used = wire("wire_utilization.s1.1");
        assert!(
            (used - part).abs() < 0.01 * part + 0.005,
            "{to}: {used} {part}"
        );
        let plan = Plan::new(&scenario.checked().unwrap());
        let rate = |node: &str, port| plan.rate(plan.number(node), PortId(port)).to_string();
        assert_eq!(rate("a", 0), "400 Gb/s");
        assert_eq!(rate("s0", 1), "100 Gb/s");
        assert_eq!(rate("s1", 1), format!("{to} Gb/s"));
        let b = simulation.node("b").unwrap();
        assert_eq!(simulation.line_rate(b, PortId(0)), plan.rate(b, PortId(0)));
    }
}

/// The least clock that carries every length of frame (32 bytes a beat: one of 33 takes two beats, and 33 + 24 bytes
/// of line) has to be faster than the line; a quantum of pause has to be a small ratio of its cycles.
#[test]
fn model_nics_have_a_clock_for_every_rate() {
    use xoff_sim::nic::ModelNicConfig;
    assert_eq!(ModelNicConfig::period(LineRate::G40), Clock::PERIOD_40G);
    for rate in [
        "10", "12.5", "16", "25", "40", "50", "62.5", "80", "100", "125", "200", "250", "400",
    ] {
        let rate: LineRate = format!("{rate} Gb/s").parse().unwrap();
        let period = ModelNicConfig::period(rate);
        for bytes in 60..1600_u64 {
            let beats = period * bytes.div_ceil(32);
            assert!(beats <= rate.time_of(bytes + 24), "{rate}: {bytes} bytes");
        }
        let clock = Clock::new(period, Duration::ZERO);
        let nic = xoff_sim::nic::NicSettings::new(MacAddr([2, 0, 0, 0, 0, 1]));
        let config = ModelNicConfig::at(rate, clock, nic);
        let host = xoff_sim::host::Host::new(clock, 32, &xoff_sim::host::PcieConfig::default());
        // Panics when a quantum is no such ratio.
        drop(xoff_sim::nic::ModelNic::new(config, host));
    }
}

/// The headroom for frames of any sizes up to `frame`, where the way there and back and the response take `delays`
/// bytes of line time: the frame that exceeds XOFF, the last one, and between them what the peer sends until a byte
/// before it stops. A frame of any class, the pause frame with its preamble (72) and less the gap that nobody waits for
/// (12) come before that; each frame has 20 bytes on the wire that no buffer holds.
fn headroom_of(frame: u64, delays: u64) -> u64 {
    let wire = frame + 20;
    let between = wire + 60 + delays - 1;
    // What whole frames leave is a frame too.
    assert!(between % wire >= 84);
    2 * frame + between - 20 * between.div_ceil(wire)
}

/// IEEE 802.1Q §9.6: a tag has 4 bytes. Tagged are the packets of a flow with a PCP, and what trunk ports send.
#[test]
fn headroom_counts_tags() {
    let plain = rates("400");
    let mut by_host = plain.clone();
    by_host.flows[0].pcp = Some(3);
    let mut by_switch = plain.clone();
    by_switch.switches[0].trunk = Some(2);
    for (scenario, frame) in [(plain, 4178), (by_host, 4182), (by_switch, 4182)] {
        let switch = &scenario.switches[0];
        let routes = ForwardingConfig::default();
        let config = Plan::new(&scenario.checked().unwrap()).switch(
            &scenario,
            "s0",
            switch,
            routes,
            Seed(0),
        );
        let headroom = config.buffer.priorities[3].headroom.get();
        assert_eq!(headroom, headroom_of(frame, 19_750 + 57_920));
    }
}

#[test]
fn headroom_and_line_rate_of_dcqcn_follow_the_link() {
    let scenario = rates("10");
    let plan = Plan::new(&scenario.checked().unwrap());
    let headroom = |switch: &str| {
        let routes = ForwardingConfig::default();
        let config = plan.switch(&scenario, switch, &scenario.switches[0], routes, Seed(0));
        let PriorityBuffer { headroom, .. } = config.buffer.priorities[3];
        headroom.get()
    };
    // B = 4,096 + 82. At 400 Gb/s 905 quanta are 57,920 bytes, and twice the way of 197.5 ns 19,750. At 100 Gb/s 394
    // quanta are 25,216 bytes, and the way 4,937.5, and so 4,938 to the byte; 10 Gb/s needs less.
    assert_eq!(headroom("s0"), headroom_of(4178, 19_750 + 57_920));
    assert_eq!(headroom("s1"), headroom_of(4178, 4_938 + 25_216));
    let mut settings = scenario.host.clone();
    settings.dcqcn = Some(Dcqcn::default());
    settings.rate = LineRate::G400;
    let clock = Clock::new(Duration::from_ps(512), Duration::ZERO);
    let nic = plan.nic(&scenario, plan.number("a"), &settings, &clock);
    assert_eq!(
        nic.unwrap().dcqcn.unwrap().rp.rate_max,
        DcqcnRate::mbps(400_000)
    );
    // 1.6 times the line, and never below Gen3 ×8.
    assert_eq!(settings.pcie().rate, Some(Rate::from_gbps(640)));
    settings.rate = LineRate::G10;
    assert_eq!(settings.pcie().rate, Some(Rate::from_gbps(64)));
}

/// Three senders fill lines of 100 to 800 Gb/s as far as headers of 1,024-byte packets allow: 1,024 of 1,106 bytes.
/// With the paper's steps of increase, which are for 40 Gb/s, they leave 19 of 100 Gb/s empty, and with its Kmin and Kmax
/// 35 % of 400 Gb/s.
#[test]
fn dcqcn_fills_faster_lines_than_the_papers() {
    let part = |rate: u64, rate_ai: Option<&str>, ecn: &str| {
        let mut scenario = scenario(&format!(
            "
            [host.dcqcn]
            [topology]
            star = {{ hosts = 4 }}
            [topology.switch.ecn]
            {ecn}
            [[flows]]
            name = 'f'
            from = 'h1..3'
            to = 'h0'
            "
        ));
        scenario.host.rate = Rate::from_gbps(rate).try_into().unwrap();
        scenario.host.dcqcn.as_mut().unwrap().rate_ai = rate_ai.map(|rate| rate.parse().unwrap());
        scenario.duration = Duration::from_ms(25);
        scenario.measure_from = Duration::from_ms(10);
        let (_, metrics) = run(&scenario);
        metrics[&Metric::total(Quantity::GoodputGbps)] / rate as f64
    };
    let most = 1024.0 / 1106.0;
    for rate in [100, 200, 400, 800] {
        let part = part(rate, None, "");
        assert!((0.95 * most..=most).contains(&part), "{rate} Gb/s: {part}");
    }
    assert!(part(100, Some("40 Mb/s"), "") < 0.9 * most);
    assert!(part(400, None, "kmax = '200 KB'") < 0.7 * most);
}

/// A flow of more than 2 GiB is two messages, and one flow to everything that counts flows: its completion time is that
/// of the last message, and alone it takes as long as it says.
#[test]
fn a_flow_of_two_messages_completes_once() {
    let whole = |bytes: u64| {
        let mut scenario = workload(&format!("1\n0 1 3 100 {bytes} 2\n"));
        scenario.flows[0].mtu = 4096;
        scenario.flows[0].window = 1 << 20;
        scenario.duration = Duration::from_ms(180);
        scenario.sample = Some(Duration::from_ms(10));
        run(&scenario)
    };
    let (simulation, metrics) = whole((1 << 31) + 1);
    assert!(simulation.finished());
    assert_eq!(value(&metrics, "messages.list"), 2.0);
    let slowdown = value(&metrics, "slowdown.list.p50");
    assert!((0.999..1.001).contains(&slowdown), "{slowdown}");
}

/// A quantum is 1.28 ns at 400 Gb/s, where there are 905, and 12.8 ns at 40 Gb/s, where there are 118.
#[test]
fn a_response_that_the_standard_does_not_allow_is_said() {
    let mut scenario = rates("40");
    let said = |scenario: &Scenario| scenario.checked().err().map(|issues| issues.to_string());
    scenario.switches[0].pause_response = Duration::from_ps(1_158_400);
    assert_eq!(said(&scenario), None);
    scenario.switches[0].pause_response = Duration::from_ps(1_158_401);
    let expected = "switches.s.pause_response: 1.158401 us: at 400 Gb/s, of the link to a, the standard allows 1.1584 us, which the headroom at the other end counts on";
    assert_eq!(said(&scenario).as_deref(), Some(expected));
    scenario.links[0].rate = Some(LineRate::G100);
    scenario.switches[0].pause_response = Duration::from_ps(1_510_400);
    assert_eq!(said(&scenario), None);
    scenario.switches[0].pause_response = Duration::from_ps(1_510_401);
    let found = said(&scenario).unwrap_or_default();
    assert!(found.contains("at 40 Gb/s, of the link to b, "), "{found}");
}

/// 1,024 hosts with 8 QPs each have 24,576 lines for their flows and 1,205 or more for nodes: 155 points or fewer.
#[test]
fn large_networks_have_fewer_points_instead_of_a_refusal() {
    use crate::scenario::Clos;
    let clos = Clos {
        tors: 64,
        spines: 172,
        ..Clos::PAPER
    };
    let mut scenario = clos.scenario(8, Duration::from_us(200));
    scenario.sample = None;
    assert_eq!(scenario.checked().err(), None);
    let nodes = 1_024 + 2 * (64 + 4) + 172;
    let points = |scenario: &Scenario, series, nodes| {
        scenario.duration.as_ps() / scenario.sampling(series, nodes).as_ps()
    };
    let lines = 3 * 8_192 + nodes as u64;
    let most = points(&scenario, 8_192, nodes);
    assert!(
        (150..=155).contains(&most) && most * lines <= 4_000_000,
        "{most}"
    );
    // Small ones have 200, and what is asked for is refused where it is too much.
    assert_eq!(points(&scenario, 16, 20), 200);
    scenario.sample = Some(Duration::from_us(1));
    let said = scenario.checked().unwrap_err().to_string();
    let expected = "sample: 1 us makes 200 points of ";
    assert!(
        said.starts_with(expected) && said.contains("4000000 values: 1.29"),
        "{said}"
    );
}

#[test]
fn rates_that_do_not_fit_are_said() {
    let mut scenario = rates("100");
    let said = |scenario: &Scenario| scenario.checked().unwrap_err().to_string();
    scenario.hosts[1].nic = Some(crate::scenario::NicKind::Rtl);
    assert_eq!(
        said(&scenario),
        "links.2.rate: 100 Gb/s: the RTL NIC of host b has 256 bits a cycle and 40 Gb/s; nic = \"model\" has 10 to 800 Gb/s"
    );
    scenario.links[2].rate = Some(LineRate::G40);
    scenario.checked().unwrap();
    scenario.links[1].rate = Some("8 Gb/s".parse().unwrap());
    assert_eq!(said(&scenario), "links.1.rate: 8 Gb/s: 10 to 800 Gb/s");
    scenario.links[1].rate = None;
    scenario.host.rate = "1000 Gb/s".parse().unwrap();
    assert_eq!(said(&scenario), "host.rate: 1 Tb/s: 10 to 800 Gb/s");
}

/// 70 hosts send to one, which is more than an RTL NIC has QPs.
#[test]
fn a_model_host_has_as_many_qps_as_its_flows() {
    let mut scenario = scenario(
        "
        [[hosts]]
        name = 'a'
        count = 70
        [[hosts]]
        name = 'b'
        [[switches]]
        name = 's'
        [[links]]
        ends = ['a', 's']
        [[links]]
        ends = ['b', 's']
        [[flows]]
        name = 'f'
        from = 'a'
        to = 'b'
        message = '2 KiB'
        count = 1
        ",
    );
    let (simulation, metrics) = run(&scenario);
    assert!(simulation.finished());
    assert_eq!(metrics[&Metric::total(Quantity::Messages)], 70.0);
    assert_eq!(metrics[&Metric::network(Quantity::PayloadErrors)], 0.0);
    scenario.hosts[1].nic = Some(crate::scenario::NicKind::Rtl);
    assert_eq!(
        scenario.checked().unwrap_err().to_string(),
        "flows.f.a64: host b has more than 64 flows, and its NIC 64 QPs"
    );
    scenario.hosts[1].nic = None;
    scenario.hosts[0].count = Some(4_097);
    assert_eq!(
        scenario.checked().unwrap_err().to_string(),
        "flows.f.a4096: host b has more than 4096 flows, and its NIC 4096 QPs"
    );
}

/// Two racks of two hosts at 100 Gb/s behind a 400 Gb/s core, as a file of ns-3, and a list of flows that are never
/// there at the same time: numbers of hosts and switches are mixed.
const SMALL_FAT: &str = "7 3 6
2 3 6
0 2 100Gbps 1000ns 0
1 2 100Gbps 1000ns 0
4 3 100Gbps 1000ns 0
5 3 40Gbps 300ns 0
2 6 400Gbps 1000ns 0
3 6 400Gbps 1000ns 0
";

fn workload(flows: &str) -> Scenario {
    use crate::scenario::ns3::{FlowList, Network};
    let mut scenario = unchecked(
        "
        [topology]
        ns3 = 'fat.txt'
        [[flows]]
        name = 'list'
        ns3 = 'flow.txt'
        ",
    );
    scenario.topology.as_mut().unwrap().file = Some(Network::parse("fat.txt", SMALL_FAT));
    scenario.flows[0].listed = Some(FlowList::parse("flow.txt", flows));
    scenario.checked().unwrap();
    scenario
}

fn value(metrics: &crate::metrics::Metrics, name: &str) -> f64 {
    metrics[&name.parse::<Metric>().unwrap()]
}

/// `b` stops its switch from 10 to 20 µs, from 30 to 35 µs and from 42 µs to the end at 50 µs, each 211.9 ns later: 72
/// bytes with the preamble take 14.4 ns, the link 197.5. The first pause is refreshed every 4 µs. One at the start or
/// the end of the measured window counts as far as it is within.
#[test]
fn the_longest_pause_is_that_within_the_window() {
    const WAY: f64 = 211.9;
    let mut scenario = scenario(
        "
        [[hosts]]
        name = 'a'
        [[hosts]]
        name = 'b'
        [[switches]]
        name = 's'
        xoff = { static = '20 KB' }
        [[links]]
        ends = ['a', 's']
        [[links]]
        ends = ['b', 's']
        [[flows]]
        name = 'f'
        from = 'a'
        to = 'b'
        [[events]]
        at = '10 us'
        do.pause_storm = { host = 'b', for = '10 us', interval = '4 us' }
        [[events]]
        at = '30 us'
        do.pause_storm = { host = 'b', for = '5 us' }
        [[events]]
        at = '42 us'
        do.pause_storm = { host = 'b' }
        ",
    );
    for (from, longest, all) in [
        (0, 10_000.0, 23_000.0 - WAY),
        (11, 9_000.0 + WAY, 22_000.0),
        (16, 8_000.0 - WAY, 17_000.0),
        (33, 8_000.0 - WAY, 10_000.0),
        (45, 5_000.0, 5_000.0),
    ] {
        scenario.measure_from = Duration::from_us(from);
        let (_, metrics) = run(&scenario);
        let of = |name: &str| value(&metrics, name);
        // Sums of fractions are not exact.
        let same = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let [longest_of_s, all_of_s] = ["longest_pause_ns.s.3", "pause_time_ns.s.3"].map(of);
        assert!(same(longest_of_s, longest), "from {from}: {longest_of_s}");
        assert!(same(all_of_s, all), "from {from}: {all_of_s}");
        // `a` is stopped as often, as soon as 20 KB have come in 4 µs.
        let [longest_of_a, all_of_a] = ["longest_pause_ns.a.3", "pause_time_ns.a.3"].map(of);
        let one = from == 45;
        assert!(longest_of_a > 0.0 && same(longest_of_a, all_of_a) == one);
        assert!(one || longest_of_a < all_of_a);
        assert_eq!(of("longest_pause_ns.s.0") + of("longest_pause_ns.b.3"), 0.0);
    }
}

/// A flow that nothing else meets takes the time that slowdown compares with: for any size, over slower and faster
/// links, in both directions. What differs are some cycles of the NICs.
#[test]
fn a_flow_alone_has_a_slowdown_of_one() {
    for (src, dst) in [(0, 4), (0, 1), (5, 0), (0, 5), (4, 5)] {
        for bytes in [1, 1024, 1500, 20_000, 300_000] {
            let mut scenario = workload(&format!("1\n{src} {dst} 3 100 {bytes} 2\n"));
            scenario.duration = Duration::from_us(100);
            let (simulation, metrics) = run(&scenario);
            assert!(simulation.finished(), "{src} {dst} {bytes}");
            let slowdown = value(&metrics, "slowdown.list.p50");
            assert!(
                (1.0..1.02).contains(&slowdown),
                "{src} {dst} {bytes}: {slowdown}"
            );
        }
    }
}

/// One byte from h0 to h4, by hand, in ns. Four hops of 1,000 each way and three switches of 300. A packet of 82 bytes
/// (1 byte padded to 4, 62 of headers, 16 of RETH) and its preamble of 8 at 100, 400, 400 and 100 Gb/s: 18. An ACK of
/// 66 and 8 likewise: 14.8. The bus of 250 four times. And cycles of the NICs, of 2.048: a beat of the bus, 22 out, 2
/// more beats of the packet and 26 to the ACK, 1 more beat of that and 15 to the completion: 67.
#[test]
fn the_time_alone_is_that_of_the_path() {
    let scenario = workload("1\n0 4 3 100 1 2\n");
    let simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    let alone = simulation.flows()[0].ideal(0).as_ps() as f64 / 1e3;
    let by_hand = 8_000.0 + 1_800.0 + 18.0 + 14.8 + 1_000.0;
    let cycles = (alone - by_hand) / 2.048;
    assert!((cycles - 67.0).abs() < 0.1, "{alone} {by_hand} {cycles}");
}

/// Two flows of the same size to one host share its link: the later half of each waits for the other, so both take
/// about twice the time of one alone. One more that starts after the end of the run is no flow of it, and one that
/// starts just before is unfinished.
#[test]
fn a_workload_is_measured_under_one_name() {
    let scenario = workload(
        "4\n0 4 3 100 200000 2\n1 4 3 100 200000 2\n5 0 3 100 9000 2.0000499\n5 1 3 100 9000 2.1\n",
    );
    let (simulation, metrics) = run(&scenario);
    assert_eq!(simulation.flows().len(), 4);
    assert_eq!(value(&metrics, "messages.list"), 2.0);
    assert_eq!(value(&metrics, "flows_unfinished.list"), 1.0);
    let slowdown = value(&metrics, "slowdown.list.p99");
    // 200 KB at 100 Gb/s take 17.3 µs and the way 11: two of them 34.6 + 11.
    let expected = (2.0 * 17.3 + 11.0) / (17.3 + 11.0);
    assert!(
        (slowdown / expected - 1.0).abs() < 0.05,
        "{slowdown} {expected}"
    );
    let completion = value(&metrics, "flow_completion_ns.list.p99");
    assert!((completion / 45_600.0 - 1.0).abs() < 0.05, "{completion}");
    // All metrics of flows are those of the one name.
    let flows: Vec<_> = crate::metrics::names(&scenario.checked().unwrap())
        .into_iter()
        .map(|metric| metric.to_string())
        .filter(|name| name.contains(".list"))
        .collect();
    assert_eq!(flows.len(), 15, "{flows:?}");
    // The priority is the class.
    let switch = simulation.station("s3").switch().unwrap();
    assert!(switch.counters(PortId(0)).sent[3].bytes > 400_000);
}

/// Classes of a switch with settings of their own: thresholds, headroom and marks; the others have the common ones.
#[test]
fn classes_have_settings_of_their_own() {
    let own = |toml: &str| -> ClassSettings { toml::from_str(toml).unwrap() };
    let mut scenario = rates("40");
    let switch = &mut scenario.switches[0];
    switch.lossless = vec![3, 4];
    switch.classes = vec![
        own(
            "class = 4\nxoff = { static = '50 KB' }\nheadroom = '90 KB'\nxon_offset = '4 KB'\nreserved = '2 KB'",
        ),
        own(
            "class = 0\nlossy_limit = { alpha = { num = 1, den = 8 } }\nreserved = '3 KB'\necn = { kmax = '10 KB', pmax = 1 }",
        ),
    ];
    let plan = Plan::new(&scenario.checked().unwrap());
    let routes = ForwardingConfig::default();
    let config = plan.switch(&scenario, "s0", &scenario.switches[0], routes, Seed(0));
    let of = |class: usize| config.buffer.priorities[class];
    let kb = |kb: u64| ByteCount::new(1_000 * kb);
    let expected = PriorityBuffer {
        lossless: true,
        reserved: kb(2),
        limit: Limit::Static(kb(50)),
        headroom: kb(90),
        xon_offset: kb(4),
    };
    assert_eq!(of(4), expected);
    // As without the table: 1/16, XON two frames below, the links' headroom.
    assert_eq!(of(3).limit, Limit::Alpha { num: 1, den: 16 });
    assert_eq!(
        (of(3).reserved, of(3).xon_offset),
        (kb(0), ByteCount::new(2_172))
    );
    assert_ne!(of(3).headroom, kb(90));
    let lossy = PriorityBuffer {
        reserved: kb(3),
        ..PriorityBuffer::lossy(1, 8)
    };
    assert_eq!((of(0), of(1)), (lossy, PriorityBuffer::lossy(1, 1)));
    let red = config
        .red
        .map(|red| red.map(|red| (red.kmin, red.kmax, red.pmax_ppm)));
    let mut curves = [None; PRIORITIES];
    curves[0] = Some((kb(5), kb(10), 1_000_000));
    assert_eq!(red, curves);
    // 100 Gb/s in and 40 out: what waits is marked in class 0, and in no other. With DCQCN packets are ECN capable.
    scenario.host.dcqcn = Some(Dcqcn::default());
    for (dscp, marked) in [(0, true), (24, false)] {
        let mut scenario = scenario.clone();
        scenario.flows[0].dscp = dscp;
        let (_, metrics) = run(&scenario);
        assert_eq!(
            metrics[&Metric::total(Quantity::EcnMarked)] > 0.0,
            marked,
            "{dscp}"
        );
    }
}

#[test]
fn nodes_without_a_link_are_refused() {
    let said = |scenario: Scenario| scenario.checked().unwrap_err().to_string();
    let switch = "switches.x: no link ends here: a switch has a port for each";
    assert_eq!(said(rates("40").switch("x")), switch);
    let host = "hosts.x: 0 links end here: a NIC has one port";
    assert_eq!(said(rates("40").host("x")), host);
}

#[test]
fn lossless_classes_of_a_host_are_0_to_7() {
    let mut scenario = rates("40");
    scenario.hosts[0].lossless = Some(vec![3, 9]);
    let said = scenario.checked().unwrap_err().to_string();
    let place = format!("hosts.{}.lossless", scenario.hosts[0].name);
    assert_eq!(said, format!("{place}: class 9: classes are 0 to 7"));
}

#[test]
fn a_bus_has_a_rate() {
    let mut scenario = rates("40");
    scenario.host.pcie_rate = Some("2 Mb/s".parse().unwrap());
    assert!(scenario.checked().is_ok());
    scenario.hosts[0].pcie_rate = Some("0 Gb/s".parse().unwrap());
    let said = scenario.checked().unwrap_err().to_string();
    let place = format!("hosts.{}.pcie_rate", scenario.hosts[0].name);
    assert_eq!(
        said,
        format!("{place}: 0 b/s must be 2 Mb/s or more, for example '40 Gb/s'")
    );
}

#[test]
fn settings_of_classes_that_do_not_fit_are_said() {
    let said = |toml: &[&str]| {
        let mut scenario = rates("40");
        scenario.switches[0].classes = toml
            .iter()
            .map(|toml| toml::from_str(toml).unwrap())
            .collect();
        scenario.checked().err().map(|issues| issues.to_string())
    };
    assert_eq!(said(&["class = 3\nxoff = { static = '1 KB' }"]), None);
    for (toml, expected) in [
        (&["class = 8"][..], "class: 8: classes are 0 to 7"),
        (
            &["class = 0\nheadroom = '1 KB'"],
            "headroom: class 0 is lossy, and this is for a lossless one",
        ),
        (
            &["class = 3\nlossy_limit = { static = '1 KB' }"],
            "lossy_limit: class 3 is lossless, and this is for a lossy one",
        ),
        (
            &["class = 3\nxoff = { alpha = { num = 1, den = 0 } }"],
            "xoff: den 0: a part such as 1/16 has a denominator",
        ),
        (
            &["class = 3\necn = { kmin = '1 MB' }"],
            "ecn.kmin: 1 MB is not below kmax, 200 KB",
        ),
        (&["class = 3", "class = 3"], "class: 3 has settings twice"),
    ] {
        assert_eq!(said(toml), Some(format!("switches.s.classes.0.{expected}")));
    }
}
