//! Charts and network for the report.

use std::collections::{BTreeMap, VecDeque};
use xoff_sim::time::Time;

use xoff_sim::kernel::{NodeId, PortId};
use xoff_waves::report::{Band, Chart, Level, Line, Link, Node, NodeKind, Shape, Topology, Way};

use xoff_network::detect::LinkClass;
use xoff_network::metrics::{Interval, Samples, Tally};
use xoff_network::scenario::{LinkEntry, Scenario, SwitchSettings, entry_of};
use xoff_network::{Simulation, Station};
use xoff_sim::switch::Limit;

/// What a chart of bands says of them.
const BAND: &str =
    "The line is the mean of an interval, the band goes from its least to its greatest.";

/// The name of a line, and that of the group that it is shown with among many.
type Named = (String, String);

/// Returns a line for each series that has at least one value.
fn lines(
    samples: &Samples,
    names: impl Iterator<Item = Named>,
    series: &[Vec<f64>],
    shape: Shape,
) -> Vec<Line> {
    let lines = names.zip(series).map(|((name, group), values)| Line {
        name,
        group,
        points: samples
            .at_ns
            .iter()
            .copied()
            .zip(values.iter().copied())
            .collect(),
        shape,
        ..Line::default()
    });
    lines
        .filter(|line| line.points.iter().any(|point| point.1.is_finite()))
        .collect()
}

/// Returns a line for each series that has values, with a band from the least to the greatest.
fn bands<'a>(
    samples: &Samples,
    names: impl Iterator<Item = Named>,
    series: impl Iterator<Item = &'a Vec<Interval>>,
) -> Vec<Line> {
    let lines = names.zip(series).map(|((name, group), values)| Line {
        name,
        group,
        points: (samples.at_ns.iter().copied())
            .zip(values.iter().map(|value| value.mean))
            .collect(),
        ranges: (values.iter())
            .map(|value| (value.least, value.greatest))
            .collect(),
        shape: Shape::Mean,
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// What a node is shown together with: the hosts, or the switches of its tier.
fn tier(simulation: &Simulation, node: NodeId) -> &str {
    match simulation.network().node(node) {
        Station::Endpoint(_) => "hosts",
        Station::Switch(_) => simulation.group(node).unwrap_or("switches"),
    }
}

/// Returns the charts of a run, the most important first. Charts without data are left out.
pub fn charts(simulation: &Simulation, scenario: &Scenario, samples: &Samples) -> Vec<Chart> {
    let flows = || {
        let names = simulation.series().iter().map(|series| &series.name);
        names.map(|name| (name.clone(), entry_of(name).to_owned()))
    };
    let nodes = || {
        let names = simulation.names().iter().zip((0..).map(NodeId));
        names.map(|(name, node)| (name.clone(), tier(simulation, node).to_owned()))
    };
    let mut charts = vec![
        Chart {
            title: "Goodput".into(),
            unit: "b/s".into(),
            note: format!("Payload that arrives in order for the first time. {BAND}"),
            lines: bands(samples, flows(), samples.goodput.iter()),
            ..Chart::default()
        },
        Chart {
            title: "Wire in use".into(),
            unit: "%".into(),
            note: format!(
                "Time that a host's port sends, preamble and gap included; resent packets count. {BAND}"
            ),
            lines: bands(samples, nodes(), samples.wire.iter()),
            range: Some((0.0, 100.0)),
            ..Chart::default()
        },
    ];
    let filled = |queues: &[Vec<Interval>]| queues.iter().flatten().any(|fill| fill.greatest > 0.0);
    if filled(&samples.queue) {
        charts.push(Chart {
            title: "Longest queue".into(),
            unit: "B".into(),
            note: format!("Bytes that wait at the fullest port of a switch. {BAND}"),
            lines: bands(samples, nodes(), samples.queue.iter()),
            levels: ecn_levels(scenario),
            ..Chart::default()
        });
    }
    if filled(&samples.ingress) {
        charts.push(Chart {
            title: "Fullest ingress queue".into(),
            unit: "B".into(),
            note: format!("Bytes that came by one port in one lossless class and wait in a switch; above XOFF the switch pauses that port. {BAND}"),
            lines: bands(samples, nodes(), samples.ingress.iter()),
            levels: xoff_levels(scenario, samples, &headrooms(simulation)),
            ..Chart::default()
        });
    }
    if !samples.paused.is_empty() {
        let named = |link: &LinkClass| {
            let class = link.class;
            let group = link.peer(simulation).map(|(peer, _)| {
                let [from, to] = [link.node, peer].map(|node| tier(simulation, node));
                format!("{from} → {to} class {class}")
            });
            let name = format!("{} class {class}", link.text(simulation));
            (name, group.unwrap_or_default())
        };
        charts.push(Chart {
            title: "Pause time".into(),
            unit: "%".into(),
            note: format!("Part of the time for which pauses stop a link. {BAND}"),
            lines: bands(
                samples,
                samples.paused.keys().map(named),
                samples.paused.values(),
            ),
            range: Some((0.0, 100.0)),
            ..Chart::default()
        });
    }
    charts.extend(signals(samples));
    let bands = pauses(simulation);
    if !bands.is_empty() {
        charts.push(Chart {
            title: "Paused".into(),
            note: "When a host may not send a class.".into(),
            bands,
            ..Chart::default()
        });
    }
    let rates = lines(samples, flows(), &samples.rate, Shape::Hold);
    if !rates.is_empty() {
        charts.push(Chart {
            title: "DCQCN rate".into(),
            unit: "b/s".into(),
            note: "What the reaction point lets a flow send.".into(),
            lines: rates,
            ..Chart::default()
        });
        charts.push(Chart {
            title: "DCQCN α".into(),
            note: "The estimate of congestion: a CNP cuts the rate by α/2.".into(),
            lines: lines(samples, flows(), &samples.alpha, Shape::Hold),
            range: Some((0.0, 1.0)),
            ..Chart::default()
        });
    }
    charts
}

/// Drops, packets sent again, marks and CNPs of the whole network, if there are any.
fn signals(samples: &Samples) -> Option<Chart> {
    type Count = fn(&Tally) -> u64;
    let counts: [(&str, Count); 4] = [
        ("dropped or lost", |tally| tally.drops),
        ("sent again", |tally| tally.resent),
        ("marked", |tally| tally.marked),
        ("CNPs", |tally| tally.cnps),
    ];
    let line = |(name, count): (&str, Count)| {
        let mut before = 0;
        let rate = |(at_ns, tally): (&u64, &Tally)| {
            let ms = (at_ns - std::mem::replace(&mut before, *at_ns)) as f64 / 1e6;
            (*at_ns, count(tally) as f64 / ms)
        };
        let any = samples.tallies.iter().any(|tally| count(tally) > 0);
        any.then(|| Line {
            name: name.into(),
            points: samples
                .at_ns
                .iter()
                .zip(&samples.tallies)
                .map(rate)
                .collect(),
            shape: Shape::Mean,
            ..Line::default()
        })
    };
    let lines: Vec<Line> = counts.into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| Chart {
        title: "Losses and signals of congestion".into(),
        unit: "packets/ms".into(),
        note: "In the whole network: frames dropped or lost on links, packets sent again, packets marked and CNPs sent."
            .into(),
        lines,
        ..Chart::default()
    })
}

/// Thresholds that switches have, one of each value. Where they differ, the names of the first with that value are
/// added.
fn levels(values: impl Iterator<Item = (&'static str, String, u64)>) -> Vec<Level> {
    let mut found: BTreeMap<(&'static str, u64), String> = BTreeMap::new();
    for (name, switch, value) in values {
        found.entry((name, value)).or_insert(switch);
    }
    let same = |name: &str| found.keys().filter(|(other, _)| *other == name).count();
    let level = |((name, value), switch): (&(&str, u64), &String)| Level {
        name: match same(name) {
            1 => (*name).into(),
            _ => format!("{name} of {switch}"),
        },
        value: *value as f64,
    };
    found.iter().map(level).collect()
}

/// Kmin and Kmax of the switches.
fn ecn_levels(scenario: &Scenario) -> Vec<Level> {
    levels(scenario.switches.iter().flat_map(|switch| {
        let ecn = switch.ecn.as_ref();
        ecn.into_iter().flat_map(|ecn| {
            let red = ecn.curve().red().at(scenario.fastest(&switch.name));
            [
                ("Kmin", switch.name.clone(), red.kmin.get()),
                ("Kmax", switch.name.clone(), red.kmax.get()),
            ]
        })
    }))
}

/// XOFF and XON of the switches' lossless queues. A dynamic limit moves with the buffer: its greatest and least value
/// in the run are given.
fn xoff_levels(
    scenario: &Scenario,
    samples: &Samples,
    headrooms: &BTreeMap<&str, u64>,
) -> Vec<Level> {
    let fixed = scenario.switches.iter().flat_map(|switch| {
        let xoff = match switch.xoff {
            Limit::Static(limit) => Some((switch.reserved + limit).get()),
            Limit::Alpha { .. } => None,
        };
        xoff.into_iter().flat_map(|xoff| {
            let xon = xoff.saturating_sub(switch.xon_offset.get());
            let headroom = headrooms.get(&*switch.name);
            [
                ("XOFF + headroom", headroom.map(|headroom| xoff + headroom)),
                ("XOFF", Some(xoff)),
                ("XON", Some(xon)),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name, switch.name.clone(), value?)))
        })
    });
    let mut all = levels(fixed);
    let dynamic = |switch: &SwitchSettings| matches!(switch.xoff, Limit::Alpha { .. });
    if scenario.switches.iter().any(dynamic) {
        let limits = || samples.xoff.iter().flatten().copied();
        let most = limits().reduce(f64::max);
        let headroom = headrooms.values().max();
        for (name, value) in [
            (
                "XOFF at most + headroom",
                most.zip(headroom).map(|(most, room)| most + *room as f64),
            ),
            ("XOFF at most", most),
            ("XOFF at least", limits().reduce(f64::min)),
        ] {
            all.extend(value.map(|value| Level {
                name: name.into(),
                value,
            }));
        }
    }
    all
}

/// The largest headroom of a lossless queue of each switch.
fn headrooms(simulation: &Simulation) -> BTreeMap<&str, u64> {
    let headroom = |(node, station): (NodeId, &Station)| {
        let buffer = station.switch()?.buffer();
        let lossless = (0..8).filter(|class| buffer.lossless(*class));
        let headroom = lossless.map(|class| buffer.headroom(class)).max()?;
        let name: &str = &simulation.names()[node.0 as usize];
        Some((name, headroom))
    };
    simulation.stations().filter_map(headroom).collect()
}

fn pauses(simulation: &Simulation) -> Vec<Band> {
    let ns = |time: Time| time.as_ps() / 1_000;
    let mut bands = Vec::new();
    for (node, station) in simulation.stations() {
        for class in 0..8 {
            let spans = station.pause_spans(class, simulation.now());
            if !spans.is_empty() {
                bands.push(Band {
                    name: format!("{} class {class}", simulation.names()[node.0 as usize]),
                    spans: spans
                        .into_iter()
                        .map(|(from, to)| (ns(from), ns(to)))
                        .collect(),
                });
            }
        }
    }
    bands
}

/// The length of a link's cable, or its delay if that is all that is known, as of ns-3's links.
fn length(link: &LinkEntry) -> String {
    match link.cable.as_mm() {
        0 => link.interface.to_string(),
        _ => link.cable.to_string(),
    }
}

/// The ports of the cables between two nodes, at the first and at the second. Cables between the same nodes are in the
/// order of their ports, which is that of the scenario's links.
fn ports(simulation: &Simulation) -> BTreeMap<(NodeId, NodeId), VecDeque<(PortId, PortId)>> {
    let mut ports = BTreeMap::<_, VecDeque<_>>::new();
    for (node, _) in simulation.stations() {
        for port in simulation.ports(node) {
            if let Some((peer, peer_port)) = simulation.network().peer(node, port) {
                let cables = ports.entry((node, peer)).or_default();
                cables.push_back((port, peer_port));
            }
        }
    }
    ports
}

/// What happened on a cable in the direction from one port to the other.
fn way(simulation: &Simulation, from: (NodeId, PortId), to: (NodeId, PortId)) -> Way {
    let (network, now) = (simulation.network(), simulation.now());
    let (sender, receiver) = (network.node(from.0), network.node(to.0));
    let paused = match sender.switch() {
        Some(switch) => std::array::from_fn(|class| switch.paused_for(from.1, class as u8, now)),
        None => sender.pause_times(now),
    };
    let lost = network
        .faults(from.0, from.1)
        .map_or(0, |faults| faults.lost());
    let dropped = match receiver.switch() {
        Some(switch) => (switch.counters(to.1).dropped.iter().flatten()).sum(),
        None => 0,
    };
    let marks = match sender.switch() {
        Some(switch) => switch.counters(from.1).marked.iter().sum(),
        None => 0,
    };
    Way {
        paused_ns: paused
            .into_iter()
            .max()
            .map_or(0, |time| time.as_ps() / 1_000),
        drops: lost + dropped,
        lost,
        marks,
    }
}

/// Returns the topology of the network.
pub fn topology(simulation: &Simulation, scenario: &Scenario) -> Topology {
    let nodes = simulation.stations().map(|(node, station)| Node {
        name: simulation.names()[node.0 as usize].clone(),
        kind: match station {
            Station::Switch(_) => NodeKind::Switch,
            Station::Endpoint(_) if station.clocked().is_some() => NodeKind::HostRtl,
            Station::Endpoint(_) => NodeKind::HostModel,
        },
    });
    let mut ports = ports(simulation);
    let numbers: BTreeMap<&String, NodeId> =
        (simulation.names().iter()).zip((0..).map(NodeId)).collect();
    let links = scenario.cables().into_iter().map(|(a, b, entry)| {
        let ends = [&a, &b].map(|name| numbers.get(name).copied());
        let port = ends[0]
            .zip(ends[1])
            .and_then(|ends| ports.get_mut(&ends)?.pop_front());
        let (there, back) = match (port, ends) {
            (Some(ports), [Some(a), Some(b)]) => (
                way(simulation, (a, ports.0), (b, ports.1)),
                way(simulation, (b, ports.1), (a, ports.0)),
            ),
            _ => Default::default(),
        };
        Link {
            rate: scenario.rate_of(&scenario.links[entry]).to_string(),
            length: length(&scenario.links[entry]),
            a,
            b,
            there,
            back,
        }
    });
    Topology {
        nodes: nodes.collect(),
        links: links.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_network::Endpoints;
    use xoff_network::metrics::Recorder;
    use xoff_network::scenario::switch::Ecn;
    use xoff_network::scenario::{FlowSettings, NicKind};
    use xoff_sim::time::{ByteCount, Duration, Length, LineRate};

    /// Two hosts send to a third; the switch pauses them at 8 kB and marks above 10 kB; one packet of `a` is lost.
    fn incast() -> Scenario {
        let cable = Length::from_m(2);
        let mut scenario = Scenario::new("two to one", Duration::from_us(100));
        for host in ["a", "b", "r"] {
            scenario = scenario.host(host).link(host, "s", cable);
        }
        scenario = scenario
            .switch("s")
            .flow(FlowSettings::new("a", "a", "r"))
            .flow(FlowSettings::new("b", "b", "r"));
        scenario.host.nic = NicKind::Model;
        // Packets are marked only if they are ECN capable, which DCQCN makes them.
        scenario.host.dcqcn = Some(Default::default());
        scenario.switches[0].xoff = Limit::Static(ByteCount::new(8_000));
        scenario.switches[0].ecn = Some(Ecn {
            kmax: Some(ByteCount::new(10_000)),
            ..Ecn::default()
        });
        scenario.links[0].faults = vec!["psn +10, shots 1: drop".parse().unwrap()];
        scenario
    }

    #[test]
    fn what_happened_is_on_the_link_and_in_the_direction_where_it_did() {
        let scenario = incast();
        let mut simulation =
            Simulation::with(&scenario.checked().unwrap(), &Endpoints::default()).unwrap();
        let mut recorder = Recorder::new(&simulation);
        for us in 1..=100 {
            simulation.run_until(Time::from_ps(us * 1_000_000)).unwrap();
            recorder.sample(&mut simulation);
        }
        let topology = topology(&simulation, &scenario);
        let ends: Vec<_> = topology
            .links
            .iter()
            .map(|link| (&*link.a, &*link.b))
            .collect();
        assert_eq!(ends, [("a", "s"), ("b", "s"), ("r", "s")]);
        let [a, b, r] = &topology.links[..] else {
            panic!("three links")
        };
        // The senders are stopped, the receiver stops nobody.
        assert!(a.there.paused_ns > 0 && b.there.paused_ns > 0);
        for way in [a.back, b.back, r.there, r.back] {
            assert_eq!(way.paused_ns, 0);
        }
        assert!(a.there.paused_ns.max(b.there.paused_ns) < 100_000);
        assert_eq!((a.there.drops, b.there.drops, r.there.drops), (1, 0, 0));
        // Two packets come for each that leaves: the queue passes Kmax in 2 µs, and XOFF long before a CNP is back.
        // ACKs are not marked.
        assert!(r.back.marks > 0);
        assert_eq!((a.back.marks, b.back.marks), (0, 0));

        let charts = charts(&simulation, &scenario, recorder.samples());
        let levels = |title: &str| -> Vec<(String, f64)> {
            let chart = charts.iter().find(|chart| chart.title == title).unwrap();
            let levels = chart.levels.iter();
            levels
                .map(|level| (level.name.clone(), level.value))
                .collect()
        };
        // XON is two frames of 1,086 bytes below; Kmin is the DCQCN paper's.
        let room = simulation.network().node(NodeId(3)).switch().unwrap();
        let room = room.buffer().headroom(3) as f64;
        let ingress = [
            ("XOFF".into(), 8_000.0),
            ("XOFF + headroom".into(), 8_000.0 + room),
            ("XON".into(), 5_828.0),
        ];
        assert_eq!(levels("Fullest ingress queue"), ingress);
        let egress = [("Kmax".into(), 10_000.0), ("Kmin".into(), 5_000.0)];
        assert_eq!(levels("Longest queue"), egress);
    }

    #[test]
    fn defaults_of_kmin_and_kmax_are_those_of_the_rate() {
        let mut scenario = incast();
        scenario.host.rate = LineRate::G100;
        scenario.switches[0].ecn = Some(Ecn::default());
        let levels = ecn_levels(&scenario).into_iter();
        let levels: Vec<_> = levels.map(|level| (level.name, level.value)).collect();
        assert_eq!(
            levels,
            [("Kmax".into(), 500_000.0), ("Kmin".into(), 12_500.0)]
        );
    }

    #[test]
    fn levels_that_differ_have_names() {
        let mut scenario = incast().switch("t");
        scenario.switches[1].xoff = Limit::Static(ByteCount::new(30_000));
        let names = |levels: Vec<Level>| -> Vec<String> {
            levels.into_iter().map(|level| level.name).collect()
        };
        let samples = Samples::default();
        let expected = ["XOFF of s", "XOFF of t", "XON of s", "XON of t"];
        assert_eq!(
            names(xoff_levels(&scenario, &samples, &BTreeMap::new())),
            expected
        );
        // α·free, which only the run tells: 1/16 of what is free at the start, and less later.
        for switch in &mut scenario.switches {
            switch.xoff = Limit::Alpha { num: 1, den: 16 };
        }
        let samples = Samples {
            xoff: vec![vec![], vec![500.0, 300.0], vec![400.0, 450.0]],
            ..Samples::default()
        };
        let levels = xoff_levels(&scenario, &samples, &BTreeMap::new());
        let values: Vec<f64> = levels.iter().map(|level| level.value).collect();
        assert_eq!(values, [500.0, 300.0]);
        assert_eq!(names(levels), ["XOFF at most", "XOFF at least"]);
    }
}
