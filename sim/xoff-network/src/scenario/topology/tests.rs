use std::collections::BTreeSet;

use xoff_sim::time::ByteCount;

use super::*;
use crate::plan::Plan;
use crate::scenario::{FlowSettings, Names, NicKind, Pingmesh};
use crate::{Endpoints, Simulation};

fn scenario(topology: impl Into<Topology>) -> Scenario {
    let mut scenario = Scenario::new("network", Duration::from_us(50));
    scenario.host.nic = NicKind::Model;
    scenario.topology = Some(topology.into());
    scenario
}

fn cables(scenario: &Scenario) -> BTreeSet<String> {
    let whole = scenario.checked().unwrap();
    let cables = whole.cables().into_iter();
    cables.map(|(a, b, _)| format!("{a}-{b}")).collect()
}

fn said(scenario: &Scenario) -> String {
    scenario.checked().unwrap_err().to_string()
}

#[test]
fn a_star_and_a_ring() {
    let star = Star {
        hosts: 3,
        cable: Length::from_m(7),
        rate: Some(LineRate::G100),
    };
    let star = scenario(star);
    star.checked().unwrap();
    let names = |list: &[&str]| {
        list.iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(cables(&star), names(&["h0-s0", "h1-s0", "h2-s0"]));
    let link = star.checked().unwrap().links[2].clone();
    assert_eq!(
        (link.cable, link.rate),
        (Length::from_m(7), Some(LineRate::G100))
    );
    let ring = Ring {
        switches: 3,
        hosts: 2,
        host_cable: Length::from_m(2),
        cable: Length::from_m(20),
        host_rate: None,
        rate: Some(LineRate::G100),
    };
    let ring = scenario(ring);
    ring.checked().unwrap();
    assert_eq!(
        cables(&ring),
        names(&[
            "h0-s0", "h1-s0", "h2-s1", "h3-s1", "h4-s2", "h5-s2", "s0-s1", "s1-s2", "s2-s0"
        ])
    );
    let plan = Plan::new(&ring.checked().unwrap());
    assert_eq!(plan.ports[6..], [4, 4, 4]);
}

/// The paper's network (SIGCOMM 2016, section 5.4) in its own numbers: 384 servers and 48 ToRs in two podsets, 4 leafs
/// each, 64 spines; 64 uplinks a podset, and 16 of each leaf.
#[test]
fn a_clos_of_three_tiers() {
    let scenario = scenario(Clos::PAPER);
    let plan = Plan::new(&scenario.checked().unwrap());
    assert_eq!((plan.hosts, plan.names.len()), (384, 384 + 48 + 8 + 64));
    let ports = |name: &str| plan.ports[plan.number(name).0 as usize];
    assert_eq!(
        ["t0", "t47", "l0", "l7", "s0", "s63"].map(ports),
        [12, 12, 40, 40, 2, 2]
    );
    let all = cables(&scenario);
    assert_eq!(all.len(), 384 + 48 * 4 + 2 * 64);
    let uplinks = |leaf: &str| all.iter().filter(|cable| cable.starts_with(leaf)).count();
    assert_eq!((uplinks("l0-"), uplinks("l7-")), (16, 16));
    for cable in [
        "h0-t0", "h7-t0", "h8-t1", "h383-t47", "t23-l3", "t24-l4", "l0-s15", "l1-s16", "l4-s0",
        "l7-s63",
    ] {
        assert!(all.contains(cable), "{cable}");
    }
    let whole = scenario.checked().unwrap();
    let longest = whole.links.iter().map(|link| link.cable).max();
    assert_eq!(longest, Some(Length::from_m(300)));
}

/// Two tiers: 2 ToRs of 24 hosts with 4 uplinks, as in the paper's latency experiment: 24 · 40 to 4 · 40 Gb/s.
#[test]
fn a_clos_of_two_tiers_with_settings_by_tier() {
    let clos = Clos {
        podsets: 1,
        tors: 2,
        hosts: 24,
        leafs: 4,
        spines: 0,
        leaf_rate: Some(LineRate::G100),
        ..Clos::PAPER
    };
    let mut scenario = scenario(clos);
    let buffer = |mb: u64| {
        Some(SwitchSettings {
            buffer: xoff_sim::time::ByteCount::new(mb * 1_000_000),
            ..SwitchSettings::default()
        })
    };
    let topology = scenario.topology.as_mut().unwrap();
    (topology.switch, topology.tor) = (buffer(12), buffer(9));
    let whole = scenario.checked().unwrap();
    let buffers: Vec<_> = (whole.switches.iter())
        .map(|switch| (switch.names().join(" "), switch.buffer.get() / 1_000_000))
        .collect();
    assert_eq!(
        buffers,
        [("t0 t1".to_owned(), 9), ("l0 l1 l2 l3".to_owned(), 12)]
    );
    let plan = Plan::new(&scenario.checked().unwrap());
    let rate = |node: &str, port| plan.rate(plan.number(node), xoff_sim::kernel::PortId(port));
    assert_eq!(
        (rate("t1", 0), rate("t1", 24)),
        (LineRate::G40, LineRate::G100)
    );
}

#[test]
fn a_file_adds_to_its_topology() {
    let mut scenario = scenario(Clos {
        podsets: 1,
        tors: 1,
        hosts: 2,
        leafs: 1,
        spines: 0,
        ..Clos::PAPER
    });
    scenario = scenario.host("x").switch("y");
    scenario = scenario
        .link("x", "y", Length::from_m(1))
        .link("y", "l", Length::from_m(1));
    scenario = scenario.flow(FlowSettings::new("f", "x", "h"));
    let plan = Plan::new(&scenario.checked().unwrap());
    assert_eq!(plan.names, ["h0", "h1", "x", "t0", "l0", "y"]);
    // The file's own links keep their places.
    assert_eq!(scenario.checked().unwrap().links[0].ends, ["x", "y"]);
    let whole = scenario.checked().unwrap();
    let flows = whole.connections().0;
    let names: Vec<_> = flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.to.as_str()))
        .collect();
    assert_eq!(names, [("f.h0", "h0"), ("f.h1", "h1")]);
    assert!(Names::of(&whole).nodes("l").is_some());
}

#[test]
fn everything_that_is_wrong_is_listed() {
    let mut both = scenario(Star {
        hosts: 0,
        cable: Length::from_m(1),
        rate: Some("1 Gb/s".parse().unwrap()),
    });
    let ring = Ring {
        switches: 2,
        hosts: 1,
        host_cable: Length::from_m(1),
        cable: Length::from_m(1),
        host_rate: None,
        rate: None,
    };
    let topology = both.topology.as_mut().unwrap();
    topology.ring = Some(ring);
    topology.leaf = Some(SwitchSettings {
        name: "x".into(),
        count: Some(2),
        ..SwitchSettings::default()
    });
    both.measure_from = both.duration;
    let mut flow = FlowSettings::new("f", "h0", "nobody");
    flow.mtu = 1000;
    both = both.flow(flow);
    assert_eq!(
        said(&both),
        "measure_from: 50 us leaves nothing to measure: less than the duration, 50 us\n\
         topology: star and ring are given: one of them\n\
         topology.star.hosts: 0: 1 or more\n\
         topology.star.rate: 1 Gb/s: 10 to 800 Gb/s\n\
         topology.ring.switches: 2: a ring has 3 switches or more\n\
         topology.leaf.name: 'x': the topology names its switches\n\
         topology.leaf.count: 2: the topology says how many there are\n\
         topology.leaf: only a clos has tiers: topology.switch\n\
         flows.f.mtu: 1000: 256, 512, 1024, 2048 or 4096"
    );
    assert_eq!(
        said(&scenario(Topology::default())),
        "topology: of which kind? One of star, clos, ring and ns3"
    );
    assert_eq!(
        said(&scenario(Clos {
            podsets: 70_000,
            spines: 6,
            ..Clos::PAPER
        })),
        "topology.clos: 13440000 hosts: a network has 65536 at most\n\
         topology.clos: 1960006 switches: a network has 65536 at most\n\
         topology.clos: 6720000 cables between ToRs and leafs: 4194304 at most\n\
         topology.clos.spines: 6: a multiple of the 4 leafs, which share the spines evenly"
    );
    assert_eq!(
        said(&scenario(Clos {
            spines: 0,
            ..Clos::PAPER
        })),
        "topology.clos.spines: 0: nothing connects the 2 podsets; two tiers are one podset"
    );
    let mut probes = scenario(Clos::PAPER);
    probes.pingmesh = Some(Pingmesh {
        interval: Duration::ZERO,
        ..Pingmesh::default()
    });
    assert_eq!(
        said(&probes),
        "pingmesh.interval: must be above 0, for example '100 us': probes are no load"
    );
    let mut unread = scenario(Topology::default());
    unread.topology.as_mut().unwrap().ns3 = Some("fat.txt".into());
    assert_eq!(said(&unread), "topology.ns3: fat.txt has not been read");
}

/// RTL NICs behind generated links of another rate are said once for all of them.
#[test]
fn rtl_nics_want_40g() {
    let mut scenario = scenario(Clos {
        host_rate: Some(LineRate::G100),
        ..Clos::PAPER
    });
    scenario.host.nic = NicKind::Rtl;
    assert_eq!(
        said(&scenario),
        "topology.clos.host_rate: 100 Gb/s: the RTL NIC of host h0 has 256 bits a cycle and 40 Gb/s; nic = \"model\" has 10 to 800 Gb/s"
    );
}

#[test]
fn mistakes_in_settings_of_generated_switches_name_the_key_that_was_written() {
    let clos = |change: &dyn Fn(&mut Topology)| {
        let mut topology = Topology::from(Clos {
            podsets: 1,
            tors: 2,
            hosts: 2,
            leafs: 2,
            spines: 2,
            ..Clos::PAPER
        });
        change(&mut topology);
        scenario(topology).flow(FlowSettings::new("f", "h0", "h2"))
    };
    let wrong = || SwitchSettings {
        pause_quanta: 0,
        ..SwitchSettings::default()
    };
    let zero = "0 pauses nothing: 1 to 65535";
    // Once, although three tiers have the settings.
    let all = clos(&|topology| topology.switch = Some(wrong()));
    assert_eq!(said(&all), format!("topology.switch.pause_quanta: {zero}"));
    let tier = clos(&|topology| topology.leaf = Some(wrong()));
    assert_eq!(said(&tier), format!("topology.leaf.pause_quanta: {zero}"));
    // What depends on the ports of a switch names the switch too.
    let small = clos(&|topology| {
        topology.spine = Some(SwitchSettings {
            buffer: ByteCount::new(100),
            ..SwitchSettings::default()
        });
    });
    small.checked().unwrap();
    let error = Simulation::check(&small.checked().unwrap(), &Endpoints::default()).unwrap_err();
    assert_eq!(error.to_string(), "switch s0, topology.spine");
}
