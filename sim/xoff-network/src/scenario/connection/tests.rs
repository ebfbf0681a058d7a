use super::*;
use crate::scenario::topology::{Star, Topology};
use xoff_sim::time::Length;

/// Hosts at one switch.
fn star(hosts: u32) -> Scenario {
    let mut scenario = Scenario::new("star", Duration::from_ms(10));
    scenario.host.nic = crate::scenario::NicKind::Model;
    let star = Star {
        hosts,
        cable: Length::from_m(2),
        rate: None,
    };
    scenario.topology = Some(Topology::from(star));
    scenario
}

fn flow(from: &str, to: &str, pairs: Pairs) -> FlowSettings {
    FlowSettings {
        pairs,
        ..FlowSettings::new("f", from, to)
    }
}

/// Name, sender and receiver of each flow.
fn flows(hosts: u32, flow: FlowSettings) -> Vec<String> {
    let scenario = star(hosts).flow(flow);
    let whole = scenario.checked().unwrap();
    let (flows, series) = whole.connections();
    assert_eq!(flows.len(), series.len());
    let show = |flow: &Connection<'_>| format!("{} {}>{}", flow.name, flow.from, flow.to);
    flows.iter().map(show).collect()
}

#[test]
fn groups_send_in_order() {
    let of = |from: &str, to: &str| flows(6, flow(from, to, Pairs::InOrder));
    assert_eq!(of("h0", "h1"), ["f h0>h1"]);
    assert_eq!(of("h0..1", "h2"), ["f.h0 h0>h2", "f.h1 h1>h2"]);
    assert_eq!(of("h2", "h0..1"), ["f.h0 h2>h0", "f.h1 h2>h1"]);
    assert_eq!(
        of("h0..3", "h4..5"),
        [
            "f.h0.h4 h0>h4",
            "f.h1.h5 h1>h5",
            "f.h2.h4 h2>h4",
            "f.h3.h5 h3>h5"
        ]
    );
    // Within one group each sends to the next.
    assert_eq!(
        of("h0..2", "h0..2"),
        ["f.h0.h1 h0>h1", "f.h1.h2 h1>h2", "f.h2.h0 h2>h0"]
    );
}

#[test]
fn each_to_each_leaves_itself_out_and_qps_are_numbered() {
    let each = flow("h0..1", "h0..2", Pairs::Each);
    assert_eq!(
        flows(3, each),
        [
            "f.h0.h1 h0>h1",
            "f.h0.h2 h0>h2",
            "f.h1.h0 h1>h0",
            "f.h1.h2 h1>h2"
        ]
    );
    let mut two = flow("h0", "h1", Pairs::InOrder);
    two.qps = 2;
    assert_eq!(flows(2, two), ["f.0 h0>h1", "f.1 h0>h1"]);
}

#[test]
fn a_permutation_has_each_receiver_once_and_depends_on_the_seed() {
    let receivers = |seed| {
        let mut scenario = star(40).flow(flow("h", "h", Pairs::Permutation));
        scenario.seed = seed;
        let whole = scenario.checked().unwrap();
        let flows = whole.connections().0;
        assert!(flows.iter().all(|flow| flow.from != flow.to));
        flows.into_iter().map(|flow| flow.to).collect::<Vec<_>>()
    };
    let one = receivers(1);
    let mut sorted = one.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), 40);
    assert_eq!(one, receivers(1));
    assert_ne!(one, receivers(2));
}

fn web(load: f64, distribution: &str) -> FlowSettings {
    let mut flow = FlowSettings::new("web", "", "");
    flow.sizes = Some("sizes.txt".into());
    flow.distribution = Some(Sizes::parse("sizes.txt", distribution));
    flow.load = Some(load);
    flow
}

/// Over 10 ms, 20 hosts of 40 Gb/s at half load, flows of 0 to 20,000 bytes: 20 · 40 Gb/s / 2 · 10 ms / 80,000 bits =
/// 50,000 flows. The number of a Poisson process lies within five times its root, 1,118; the bytes within five
/// standard deviations, √50,000 · √(E size²) = 224 · 11,547 bytes each. Gaps are exponential: the part that is longer
/// than the mean is 1/e.
#[test]
fn arrivals_are_poisson_and_make_the_load() {
    let scenario = star(20).flow(web(0.5, "0 0\n20000 100"));
    // More than the NICs have QPs, which does not matter here.
    let said = scenario.checked().unwrap_err().to_string();
    assert!(
        said.ends_with("flows, and its NIC 4096 QPs, and so with 19 others"),
        "{said}"
    );
    let whole = scenario.written_out().unwrap().unwrap();
    let (flows, series) = whole.connections();
    assert_eq!(series.len(), 1);
    assert!(series[0].workload && series[0].flows == (0..flows.len()));
    assert!(flows.len().abs_diff(50_000) < 1_118, "{}", flows.len());
    let bytes: u64 = flows.iter().map(|flow| flow.messages[0].1.get()).sum();
    assert!(bytes.abs_diff(500_000_000) < 12_910_000, "{bytes}");
    assert!(flows.iter().all(|flow| flow.from != flow.to));
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    // Of one host: a flow every 4 µs on average.
    let of_one: Vec<Duration> = flows
        .iter()
        .filter(|flow| flow.from == "h7")
        .map(|flow| flow.start)
        .collect();
    let gaps = of_one.windows(2).map(|pair| pair[1] - pair[0]);
    let long = gaps.filter(|gap| *gap > Duration::from_us(4)).count();
    let part = long as f64 / of_one.len() as f64;
    // 2,500 gaps: a standard deviation is 0.0096.
    assert!((part - 0.3679).abs() < 0.048, "{part}");
    let receivers: std::collections::BTreeSet<&String> =
        flows.iter().map(|flow| &flow.to).collect();
    assert_eq!(receivers.len(), 20);
}

#[test]
fn arrivals_keep_to_their_time_hosts_and_rates() {
    let mut entry = web(1.0, "1000 0\n1000 100");
    (entry.from, entry.to) = ("h0..1".into(), "h2..3".into());
    entry.start = Duration::from_us(100);
    entry.until = Some(Duration::from_us(300));
    let of = |rate: &str| {
        let mut scenario = star(4).flow(entry.clone());
        scenario.host.rate = rate.parse().unwrap();
        let whole = scenario.written_out().unwrap().unwrap();
        let flows = whole.connections().0;
        for flow in &flows {
            assert!(flow.from == "h0" || flow.from == "h1");
            assert!(flow.to == "h2" || flow.to == "h3");
            let time = flow.start.as_ps() / 1_000_000;
            assert!((100..300).contains(&time));
        }
        flows.len()
    };
    // 2 · 200 µs · 40 Gb/s / 8,000 bits = 2,000, and 1/4 and 10 times that; five times the root is 224, 112, 707.
    for (rate, count) in [
        ("40 Gb/s", 2_000_usize),
        ("10 Gb/s", 500),
        ("400 Gb/s", 20_000),
    ] {
        let most = 5.0 * (count as f64).sqrt();
        assert!(
            of(rate).abs_diff(count) < most as usize,
            "{rate}: {}",
            of(rate)
        );
    }
}

#[test]
fn a_list_starts_when_the_entry_says() {
    let mut entry = FlowSettings::new("list", "", "");
    entry.ns3 = Some("f.txt".into());
    entry.listed = Some(FlowList::parse(
        "f.txt",
        "2\n1 0 6 100 70 2.00001\n0 1 3 100 5000 2\n",
    ));
    entry.start = Duration::from_us(3);
    let scenario = star(2).flow(entry);
    let whole = scenario.checked().unwrap();
    let flows = whole.connections().0;
    let show = |flow: &Connection<'_>| {
        let us = flow.start.as_ps() / 1_000_000;
        (
            flow.from.clone(),
            flow.messages[0].1.get(),
            flow.count,
            us,
            flow.dscp,
        )
    };
    let flows: Vec<_> = flows.iter().map(show).collect();
    assert_eq!(
        flows,
        [
            ("h1".into(), 70, Some(1), 13, 48),
            ("h0".into(), 5000, Some(1), 3, 24)
        ]
    );
}

#[test]
fn flows_that_do_not_fit_are_all_listed() {
    let said = |scenario: &Scenario| scenario.checked().unwrap_err().to_string();
    let mut scenario = star(3)
        .host("x")
        .host("y")
        .link("x", "y", Length::from_m(1));
    let mut own = flow("h0", "h0", Pairs::InOrder);
    own.name = "own".into();
    let mut apart = flow("h", "x", Pairs::InOrder);
    apart.name = "apart".into();
    let mut unknown = flow("h7", "", Pairs::InOrder);
    unknown.name = "unknown".into();
    unknown.load = Some(0.5);
    let mut over = web(1.5, "0 0\n20000 100");
    over.count = Some(3);
    over.qps = 2;
    over.until = Some(Duration::ZERO);
    let mut broken = web(0.5, "0 0\n20000 99");
    broken.name = "broken".into();
    let mut list = FlowSettings::new("list", "h0", "");
    list.ns3 = Some("f.txt".into());
    list.sizes = Some("w.txt".into());
    for flow in [own, apart, unknown, over, broken, list] {
        scenario = scenario.flow(flow);
    }
    assert_eq!(
        said(&scenario),
        "flows.own.to: 'h0' would send to itself\n\
         flows.apart.to: no path leads from h0 to x, nor 2 other pairs\n\
         flows.unknown.load: goes with sizes, or with pattern = \"incast\"\n\
         flows.unknown.from: 'h7' is no host: hosts are h0, h1, h2, x, y\n\
         flows.unknown.to: required: the name of a host\n\
         flows.web.count: not with sizes: each flow is one message\n\
         flows.web.qps: not with sizes: each flow has a QP of its own\n\
         flows.web.load: 1.5: above 0 to 1, a part of the line rate\n\
         flows.web.until: 0 ps: after start, 0 ps\n\
         flows.web.sizes: no path leads from h0 to x\n\
         sizes.txt:2: ends at 99 %: the last percentile is 100, or the last fraction 1\n\
         flows.list.sizes: ns3 is given too: one of them"
    );
    let mut list = FlowSettings::new("list", "", "");
    list.ns3 = Some("f.txt".into());
    list.listed = Some(FlowList::parse(
        "f.txt",
        "2\n0 9 3 100 70 2\n0 1 3 100 70 2\n",
    ));
    assert_eq!(
        said(&star(3).flow(list)),
        "f.txt:2: dst 9: there is no host h9: hosts are h0, h1, h2"
    );
    // 3 hosts, 10 ms: 3 · 40 Gb/s · 10 ms / 8 bits.
    assert_eq!(
        said(&star(3).flow(web(1.0, "1 0\n1 100"))),
        "flows.web.load: 1 makes about 150000000 flows, and 1048575 are the most"
    );
    let mut too_many = flow("h", "h", Pairs::Each);
    too_many.qps = 4_096;
    assert_eq!(
        said(&star(300).flow(too_many)),
        "flows.f.pairs: 368640000 flows: 1048575 at most"
    );
}

/// Each host probes one behind its ToR, one behind its leafs and one behind the spines, and is probed by as many.
#[test]
fn probes_go_to_one_host_of_each_reach() {
    let mut scenario = Scenario::new("clos", Duration::from_us(100));
    scenario.host.nic = crate::scenario::NicKind::Model;
    let clos = crate::scenario::Clos {
        podsets: 2,
        tors: 3,
        hosts: 4,
        leafs: 2,
        spines: 2,
        host_cable: Length::from_m(2),
        leaf_cable: Length::from_m(20),
        spine_cable: Length::from_m(300),
        host_rate: None,
        leaf_rate: None,
        spine_rate: None,
    };
    scenario.topology = Some(Topology::from(clos));
    scenario.pingmesh = Some(crate::scenario::Pingmesh::default());
    let whole = scenario.checked().unwrap();
    let (flows, series) = whole.connections();
    assert_eq!(flows.len(), 3 * 24);
    let names: Vec<&str> = series.iter().map(|series| &*series.name).collect();
    assert_eq!(names, ["pingmesh.tor", "pingmesh.podset", "pingmesh.dc"]);
    assert!(
        series
            .iter()
            .all(|series| series.probes && series.flows.len() == 24)
    );
    let number = |host: &str| host[1..].parse::<usize>().unwrap();
    for (reach, of_reach) in series.iter().enumerate() {
        let mut probed = [0; 24];
        for flow in &flows[of_reach.flows.clone()] {
            let [from, to] = [&flow.from, &flow.to].map(|host| number(host));
            probed[to] += 1;
            let (same_rack, same_podset) = (from / 4 == to / 4, from / 12 == to / 12);
            let expected = [(true, true), (false, true), (false, false)][reach];
            assert_eq!((same_rack, same_podset), expected, "{from} > {to}");
            assert_ne!(from, to);
        }
        assert_eq!(probed, [1; 24], "{}", of_reach.name);
    }
    // Behind one switch there is one reach.
    let mut star = star(5);
    star.pingmesh = Some(crate::scenario::Pingmesh::default());
    let whole = star.checked().unwrap();
    let (flows, series) = whole.connections();
    assert_eq!((flows.len(), series.len()), (5, 1));
    assert_eq!((&*flows[4].from, &*flows[4].to), ("h4", "h0"));
}
