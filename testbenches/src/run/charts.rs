//! Charts and network for the report.

use std::collections::BTreeMap;

use xoff_sim::time::Time;
use xoff_waves::report::{Band, Chart, Level, Line, Link, Node, NodeKind, Shape, Topology};

use super::recorder::{Points, Samples};
use xoff_cosim::network::{Simulation, Station};
use xoff_cosim::scenario::Scenario;

fn lines(of: BTreeMap<String, Points>, shape: Shape) -> Vec<Line> {
    let line = |(name, points)| Line {
        name,
        points,
        shape,
    };
    of.into_iter().map(line).collect()
}

/// Charts of a run, the most telling first. What has nothing to show is left out.
pub fn charts(simulation: &Simulation, scenario: &Scenario, samples: Samples) -> Vec<Chart> {
    let mut charts = vec![
        Chart {
            title: "Goodput".into(),
            unit: "b/s".into(),
            note: "Payload that arrives for the first time.".into(),
            lines: lines(samples.goodput, Shape::Mean),
            ..Chart::default()
        },
        Chart {
            title: "Wire in use".into(),
            unit: "%".into(),
            note: "Time that a host's port sends, preamble and gap included; resent packets count."
                .into(),
            lines: lines(samples.wire, Shape::Mean),
            range: Some((0.0, 100.0)),
            ..Chart::default()
        },
    ];
    if samples
        .queue
        .values()
        .flatten()
        .any(|(_, bytes)| *bytes > 0.0)
    {
        let ecn = scenario
            .switches
            .iter()
            .find_map(|switch| switch.ecn.as_ref());
        let levels = ecn.map(|ecn| {
            let level = |name: &str, value: u64| Level {
                name: name.into(),
                value: value as f64,
            };
            vec![level("Kmin", ecn.kmin.get()), level("Kmax", ecn.kmax.get())]
        });
        charts.push(Chart {
            title: "Longest queue".into(),
            unit: "B".into(),
            note: "Bytes that wait at the fullest port of a switch.".into(),
            lines: lines(samples.queue, Shape::Straight),
            levels: levels.unwrap_or_default(),
            ..Chart::default()
        });
    }
    let bands = pauses(simulation);
    if !bands.is_empty() {
        charts.push(Chart {
            title: "Paused".into(),
            note: "When a host may not send a class.".into(),
            bands,
            ..Chart::default()
        });
    }
    if !samples.rate.is_empty() {
        charts.push(Chart {
            title: "DCQCN rate".into(),
            unit: "b/s".into(),
            note: "What the reaction point lets a flow send.".into(),
            lines: lines(samples.rate, Shape::Hold),
            ..Chart::default()
        });
        charts.push(Chart {
            title: "DCQCN α".into(),
            note: "The estimate of congestion: a CNP cuts the rate by α/2.".into(),
            lines: lines(samples.alpha, Shape::Hold),
            range: Some((0.0, 1.0)),
            ..Chart::default()
        });
    }
    charts
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

/// Who is connected to whom.
pub fn topology(simulation: &Simulation, scenario: &Scenario) -> Topology {
    let nodes = simulation.stations().map(|(node, station)| Node {
        name: simulation.names()[node.0 as usize].clone(),
        kind: match station {
            Station::Rtl(_) | Station::Own(_) => NodeKind::HostRtl,
            Station::Model(_) => NodeKind::HostModel,
            Station::Switch(_) => NodeKind::Switch,
        },
    });
    let links = scenario.cables().into_iter().map(|(a, b, entry)| Link {
        a,
        b,
        rate: scenario.host.rate.to_string(),
        length: scenario.links[entry].cable.to_string(),
    });
    Topology {
        nodes: nodes.collect(),
        links: links.collect(),
    }
}
