//! Charts and network for the report.

use xoff_sim::time::Time;
use xoff_waves::report::{Band, Chart, Level, Line, Link, Node, NodeKind, Shape, Topology};

use xoff_cosim::detect::LinkClass;
use xoff_cosim::metrics::Samples;
use xoff_cosim::network::{Simulation, Station};
use xoff_cosim::scenario::{LinkEntry, Scenario};

/// Returns a line for each series that has at least one value.
fn lines<'a>(
    samples: &Samples,
    names: impl Iterator<Item = &'a String>,
    series: &[Vec<f64>],
    shape: Shape,
) -> Vec<Line> {
    let lines = names.zip(series).map(|(name, values)| Line {
        name: name.clone(),
        points: samples
            .at_ns
            .iter()
            .copied()
            .zip(values.iter().copied())
            .collect(),
        shape,
    });
    lines
        .filter(|line| line.points.iter().any(|point| point.1.is_finite()))
        .collect()
}

/// Returns the charts of a run, the most important first. Charts without data are left out.
pub fn charts(simulation: &Simulation, scenario: &Scenario, samples: &Samples) -> Vec<Chart> {
    let flows = || simulation.series().iter().map(|series| &series.name);
    let nodes = || simulation.names().iter();
    let mut charts = vec![
        Chart {
            title: "Goodput".into(),
            unit: "b/s".into(),
            note: "Payload that arrives in order for the first time.".into(),
            lines: lines(samples, flows(), &samples.goodput, Shape::Mean),
            ..Chart::default()
        },
        Chart {
            title: "Wire in use".into(),
            unit: "%".into(),
            note: "Time that a host's port sends, preamble and gap included; resent packets count."
                .into(),
            lines: lines(samples, nodes(), &samples.wire, Shape::Mean),
            range: Some((0.0, 100.0)),
            ..Chart::default()
        },
    ];
    if samples.queue.iter().flatten().any(|bytes| *bytes > 0.0) {
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
            lines: lines(samples, nodes(), &samples.queue, Shape::Straight),
            levels: levels.unwrap_or_default(),
            ..Chart::default()
        });
    }
    if !samples.paused.is_empty() {
        let names = samples.paused.keys();
        let name = |link: &LinkClass| format!("{} class {}", link.text(simulation), link.class);
        let names: Vec<String> = names.map(name).collect();
        let series: Vec<Vec<f64>> = samples.paused.values().cloned().collect();
        charts.push(Chart {
            title: "Pause time".into(),
            unit: "%".into(),
            note: "Part of the time for which pauses stop a link.".into(),
            lines: lines(samples, names.iter(), &series, Shape::Mean),
            range: Some((0.0, 100.0)),
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

/// Returns the topology of the network.
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
        rate: scenario.rate_of(&scenario.links[entry]).to_string(),
        length: length(&scenario.links[entry]),
    });
    Topology {
        nodes: nodes.collect(),
        links: links.collect(),
    }
}
