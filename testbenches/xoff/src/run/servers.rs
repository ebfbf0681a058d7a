//! Charts of what the watch over servers saw.

use std::collections::BTreeMap;

use xoff_network::watch::Servers;
use xoff_waves::report::{Chart, Line, Shape};

/// Returns how many servers were available, and the pauses of each that sent any, interval by interval.
pub fn charts(servers: &Servers) -> Vec<Chart> {
    let ends = || servers.intervals.iter().map(|all| all.to_ns);
    let per_s = 1e9 / servers.interval_ns.max(1) as f64;
    let mut of_server = BTreeMap::<&str, BTreeMap<u64, u64>>::new();
    for row in servers.rows.iter().filter(|row| row.pauses_sent > 0) {
        let sent = of_server.entry(&row.server).or_default();
        sent.insert(row.to_ns, row.pauses_sent);
    }
    let line = |(server, sent): (&&str, &BTreeMap<u64, u64>)| Line {
        name: (*server).into(),
        group: "servers".into(),
        points: ends()
            .map(|end| (end, sent.get(&end).map_or(0.0, |sent| *sent as f64 * per_s)))
            .collect(),
        shape: Shape::Mean,
        ..Line::default()
    };
    let mut charts = vec![Chart {
        title: "Available servers".into(),
        note: "Servers most of whose probes, or flows if there are no probes, went on in an interval of the watch.".into(),
        lines: vec![Line {
            name: format!("of {}", servers.number),
            points: (servers.intervals.iter())
                .map(|all| (all.to_ns, all.available as f64))
                .collect(),
            shape: Shape::Mean,
            ..Line::default()
        }],
        range: Some((0.0, servers.number as f64)),
        ..Chart::default()
    }];
    if !of_server.is_empty() {
        charts.push(Chart {
            title: "Pauses that servers send".into(),
            unit: "frames/s".into(),
            note: "XON among them, in an interval of the watch.".into(),
            lines: of_server.iter().map(line).collect(),
            ..Chart::default()
        });
    }
    charts.retain(|_| !servers.intervals.is_empty());
    charts
}
