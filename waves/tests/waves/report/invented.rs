//! Invented runs, to look at the page with. Their numbers have the shape of real ones.

use xoff_waves::report::{
    Band, Chart, Drop, Expectation, Fault, Injection, Level, Line, Link, Marker, Node, NodeKind,
    Op, Report, Shape, Summary, Topology,
};

/// Pseudo-random numbers that are the same everywhere: a linear congruential generator (Knuth's MMIX constants).
struct Noise(u64);

impl Noise {
    /// Returns a number from 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = (self.0)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

fn node(name: impl Into<String>, kind: NodeKind) -> Node {
    Node {
        name: name.into(),
        kind,
    }
}

fn link(a: &str, b: &str, rate: &str, length: &str) -> Link {
    Link {
        a: a.into(),
        b: b.into(),
        rate: rate.into(),
        length: length.into(),
        ..Link::default()
    }
}

fn line(name: &str, shape: Shape, points: Vec<(u64, f64)>) -> Line {
    Line {
        name: name.into(),
        points,
        shape,
        ..Line::default()
    }
}

/// Two flows over a switch that drops one packet in 256: go-back-0 has no goodput at all, go-back-N 0.95.
pub fn livelock() -> Report {
    const STEP: u64 = 20_000;
    let mut noise = Noise(7);
    let times = || (1..=600).map(|step| step * STEP);
    let mut around = |mean: f64, spread: f64| -> Vec<(u64, f64)> {
        times()
            .map(|time| (time, mean + (noise.next() - 0.5) * spread))
            .collect()
    };
    let go_back_n = around(0.953, 0.02);
    let busy = around(0.998, 0.003);
    let busy_n = around(0.997, 0.003);
    let sawtooth = times()
        .map(|time| (time, (time / STEP * 37 % 250) as f64))
        .collect();
    Report {
        title: "One packet in 256 lost: go-back-0 stands still on a full wire".into(),
        description: "Two flows of 4 MB messages cross a switch that drops every packet whose IP identification ends in 0xFF. The flow that begins a message anew after each loss \
            never finishes one, while its wire is full. The flow that goes back to the lost packet alone keeps 0.95 of the rate.\n\n\
            After Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.1.".into(),
        command: "xoff run livelock --set flows.zero.history=go_back_0 --set flows.n.history=go_back_n --seed 1".into(),
        summary: Summary {
            faults: vec![],
            injections: vec![],
            scenario: "livelock".into(),
            seed: 1,
            settings: serde_json::json!({
                "duration": "12 ms",
                "drop": {"ip_id_mask": "0xff", "ip_id": "0xff", "on": ["t0.p2", "t0.p3"]},
                "flows": {"zero": {"message": "4 MB", "history": "go_back_0"}, "n": {"message": "4 MB", "history": "go_back_n"}},
                "nic": {"qps": 256, "mtu": 1024, "retry": 7, "dcqcn": false},
            }),
            digest: "9f2b44c1e07d53aa".into(),
            duration_ns: 12_000_000,
            wall_s: 34.217,
            nic_cycles: 9_375_000,
            nic_cycles_evaluated: 8_101_442,
            expectations: vec![
                Expectation::judge("flow.zero.goodput_fraction", Op::Eq, 0.0, Some(0.0), Some("No message ever completes.".into())),
                Expectation::judge("flow.zero.wire_fraction", Op::Ge, 0.99, Some(0.998_1), Some("The wire is full all the same.".into())),
                Expectation::judge("flow.n.goodput_fraction", Op::Ge, 0.94, Some(0.953_125), Some("Each loss wastes at most a round trip.".into())),
                Expectation::judge("check.bytes_wrong", Op::Eq, 0.0, Some(0.0), None),
            ],
            drops: vec![
                Drop { node: "t0".into(), reason: "fault: ip_id & 0xff == 0xff".into(), count: 3_391 },
                Drop { node: "b0".into(), reason: "psn ahead of expected".into(), count: 37_301 },
                Drop { node: "b1".into(), reason: "psn behind expected".into(), count: 212 },
            ],
            metrics: [
                ("flow.zero.goodput_fraction", 0.0), ("flow.zero.wire_fraction", 0.998_1), ("flow.zero.messages", 0.0), ("flow.n.messages", 13.0),
                ("flow.n.goodput_fraction", 0.953_125), ("flow.n.goodput_bps", 37.4e9), ("check.bytes_wrong", 0.0), ("latency.p99_ns", 412_345.678),
            ].map(|(name, value)| (name.into(), value)).into(),
            ..Summary::default()
        },
        topology: Topology {
            nodes: vec![
                node("a0", NodeKind::HostRtl), node("a1", NodeKind::HostRtl), node("t0", NodeKind::Switch),
                node("b0", NodeKind::HostRtl), node("b1", NodeKind::HostModel),
            ],
            links: ["a0", "a1", "b0", "b1"].map(|host| link(host, "t0", "40 Gb/s", "2 m")).into(),
        },
        charts: vec![
            Chart {
                title: "Goodput and use of the wire".into(),
                note: "Goodput counts the bytes of finished messages, the wire everything on it.".into(),
                lines: vec![
                    line("go-back-N goodput", Shape::Mean, go_back_n),
                    line("go-back-0 goodput", Shape::Mean, times().map(|time| (time, 0.0)).collect()),
                    line("go-back-N wire", Shape::Mean, busy_n),
                    line("go-back-0 wire", Shape::Mean, busy),
                ],
                markers: vec![
                    Marker { at_ns: 410_000, text: "first loss".into() },
                    Marker { at_ns: 530_000, text: "first NAK".into() },
                    Marker { at_ns: 11_900_000, text: "go-back-0: message 1 begins for the 132nd time".into() },
                ],
                ..Chart::default()
            },
            Chart {
                title: "Position in the message".into(),
                unit: "packets".into(),
                note: "Go-back-0 never comes further than the next loss.".into(),
                lines: vec![line("go-back-0", Shape::Straight, sawtooth)],
                levels: vec![Level { name: "message".into(), value: 4096.0 }],
                ..Chart::default()
            },
        ],
        ..Report::default()
    }
}

/// Eight senders to one: queue and rates under DCQCN, pauses at the start.
pub fn incast() -> Report {
    const LINE: f64 = 40e9;
    let mut noise = Noise(11);
    let mut rates = Vec::new();
    for sender in 0..8_u64 {
        let mut rate = LINE;
        let mut points = vec![(0, rate)];
        let mut time = 40_000 + sender * 3_500;
        while time < 20_000_000 {
            let fair = LINE / 8.0;
            rate = if rate > fair * (0.8 + 0.5 * noise.next()) {
                rate * (0.55 + 0.3 * noise.next())
            } else {
                rate + 0.05 * fair
            };
            points.push((time, rate));
            time += 50_000 + (noise.next() * 12_000.0) as u64;
        }
        rates.push(line(&format!("s{sender} QP 1"), Shape::Hold, points));
    }
    let alphas = (0..8_u64)
        .map(|sender| {
            let points = (0..360_u64)
                .map(|step| {
                    let time = step * 55_000 + sender * 3_500;
                    let decay = (-(step as f64) / 90.0).exp();
                    (time, (0.12 + 0.88 * decay) * (0.92 + 0.08 * noise.next()))
                })
                .collect();
            line(&format!("s{sender} QP 1"), Shape::Hold, points)
        })
        .collect();
    let mut depth = 0.0_f64;
    let queue = (0..20_000_u64)
        .map(|step| {
            let push = if step < 120 {
                1_900.0
            } else {
                (noise.next() - 0.5) * 2_600.0
            };
            depth = (depth + push - (depth - 42_000.0) * 0.02).clamp(0.0, 212_000.0);
            if step == 9_000 {
                depth = 171_000.0;
            }
            (step * 1_000, depth)
        })
        .collect();
    let bands = (0..8_u64)
        .map(|sender| {
            let mut spans = Vec::new();
            let mut time = 30_000 + sender * 2_000;
            while time < 1_600_000 + sender * 90_000 {
                spans.push((time, time + 6_000 + sender * 2_500));
                time += 24_000 + (noise.next() * 9_000.0) as u64;
            }
            if sender == 3 {
                spans.push((9_000_000, 9_350_000));
            }
            if sender == 5 {
                spans.clear();
            }
            Band {
                name: format!("s{sender} class 3"),
                spans,
            }
        })
        .collect();
    let senders: Vec<String> = (0..8).map(|sender| format!("s{sender}")).collect();
    let mut nodes = vec![
        node("leaf0", NodeKind::Switch),
        node("t0", NodeKind::Switch),
        node("t1", NodeKind::Switch),
    ];
    nodes.extend(senders.iter().map(|name| node(name, NodeKind::HostRtl)));
    nodes.push(node("receiver", NodeKind::HostRtl));
    let mut links = vec![
        link("t0", "leaf0", "100 Gb/s", "300 m"),
        link("t1", "leaf0", "100 Gb/s", "300 m"),
    ];
    links.extend(
        senders
            .iter()
            .enumerate()
            .map(|(index, name)| link(name, if index < 4 { "t0" } else { "t1" }, "40 Gb/s", "2 m")),
    );
    links.push(link("receiver", "t1", "40 Gb/s", "2 m"));
    Report {
        title: "Eight to one: DCQCN takes over from PFC".into(),
        description: "Eight senders start at line rate towards one receiver. PFC holds the first burst; then the marks bring every rate near an eighth.".into(),
        command: "xoff run incast --set senders=8 --seed 42 --threads 2".into(),
        summary: Summary {
            faults: vec![],
            injections: vec![],
            scenario: "incast".into(),
            seed: 42,
            settings: serde_json::json!({"senders": 8, "switch": {"alpha": "1/16", "ecn": {"kmin": "5 KB", "kmax": "200 KB", "pmax": 0.01}}}),
            digest: "00c3e1725ab9914f".into(),
            duration_ns: 20_000_000,
            wall_s: 212.04,
            nic_cycles: 35_156_250,
            nic_cycles_evaluated: 9_020_113,
            expectations: vec![
                Expectation::judge("goodput_bps", Op::Ge, 39e9, Some(38.21e9), Some("An incast of 20 or fewer keeps the receiver's line busy.".into())),
                Expectation::judge("switch.t1.drops", Op::Eq, 0.0, Some(0.0), Some("Lossless means lossless.".into())),
                Expectation::judge("fairness.jain", Op::Ge, 0.9, Some(0.9731), None),
                Expectation::judge("pauses.after_5ms", Op::Le, 0.0, Some(1.0), Some("Once rates have settled nobody pauses.".into())),
                Expectation::judge("victim.goodput_bps", Op::Gt, 9e9, None, None),
            ],
            drops: vec![],
            metrics: [("goodput_bps", 38.21e9), ("fairness.jain", 0.9731), ("pauses.after_5ms", 1.0)].map(|(name, value)| (name.into(), value)).into(),
            ..Summary::default()
        },
        topology: Topology { nodes, links },
        charts: vec![
            Chart { title: "Rate of each sender".into(), unit: "b/s".into(), lines: rates, levels: vec![Level { name: "fair share".into(), value: 5e9 }], ..Chart::default() },
            Chart { title: "α of each sender".into(), lines: alphas, range: Some((0.0, 1.0)), ..Chart::default() },
            Chart {
                title: "Queue towards the receiver".into(),
                unit: "B".into(),
                note: "Marks begin at Kmin and are certain above Kmax.".into(),
                lines: vec![line("t1 port 4 class 3", Shape::Straight, queue)],
                levels: vec![
                    Level { name: "Kmin".into(), value: 5_000.0 },
                    Level { name: "Kmax".into(), value: 200_000.0 },
                    Level { name: "XOFF".into(), value: 706_000.0 },
                ],
                markers: vec![Marker { at_ns: 9_000_000, text: "burst".into() }],
                ..Chart::default()
            },
            Chart { title: "Paused by the switch".into(), note: "Share of the time and number of pauses at the right.".into(), bands, ..Chart::default() },
        ],
        ..Report::default()
    }
}

/// A network too large for names, and text that must be escaped.
pub fn hostile() -> Report {
    let mut nodes = Vec::new();
    let mut links = Vec::new();
    for leaf in 0..8 {
        nodes.push(node(format!("leaf{leaf}"), NodeKind::Switch));
    }
    for tor in 0..24 {
        let name = format!("tor{tor}");
        nodes.push(node(&name, NodeKind::Switch));
        links.extend((0..8).map(|leaf| link(&name, &format!("leaf{leaf}"), "40 Gb/s", "20 m")));
        for host in 0..8 {
            let host = format!("h{tor}-{host}");
            nodes.push(node(&host, NodeKind::HostModel));
            links.push(link(&host, &name, "40 Gb/s", "2 m"));
        }
    }
    let evil = "</script><script>alert('1')</script> & \"q\" \u{1b}";
    Report {
        title: evil.into(),
        description: evil.into(),
        command: evil.into(),
        summary: Summary {
            faults: vec![Fault {
                place: evil.into(),
                rule: evil.into(),
                matched: 0,
                hit: 0,
            }],
            injections: vec![Injection {
                host: evil.into(),
                direction: evil.into(),
                frames: 3,
                injected: 2,
                waited: 1,
                delayed: 1,
            }],
            scenario: evil.into(),
            settings: serde_json::json!({evil: evil}),
            digest: evil.into(),
            expectations: vec![Expectation::judge(
                evil,
                Op::Ne,
                f64::NAN,
                Some(f64::INFINITY),
                Some(evil.into()),
            )],
            drops: vec![Drop {
                node: evil.into(),
                reason: evil.into(),
                count: 1,
            }],
            metrics: [(evil.to_owned(), f64::NAN)].into(),
            ..Summary::default()
        },
        topology: Topology { nodes, links },
        charts: vec![Chart {
            title: evil.into(),
            unit: evil.into(),
            note: evil.into(),
            lines: vec![
                line(evil, Shape::Hold, vec![(0, 1.0), (5, f64::NAN), (9, -3.0)]),
                line("empty", Shape::Mean, vec![]),
            ],
            bands: vec![Band {
                name: evil.into(),
                spans: vec![(2, 3)],
            }],
            markers: vec![Marker {
                at_ns: 4,
                text: evil.into(),
            }],
            levels: vec![Level {
                name: evil.into(),
                value: 0.5,
            }],
            ..Chart::default()
        }],
        ..Report::default()
    }
}
