//! Tests of whole scenarios: their measurements, equal digests however they are run, and the model NIC compared with
//! the RTL.

#[path = "../../../../examples/first_bench.rs"]
mod first_bench;

use std::collections::BTreeMap;

use crate::common::argument;
use crate::scenario_runs::{holds, run_watched, scenario, star, summary};
use xoff::run::checkpoint::Every;
use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::Source;
use xoff_network::metrics::{Metric, Recorder, names, nic_cycles};
use xoff_network::scenario::{NicKind, Recovery, Scenario};
use xoff_network::{Endpoints, Simulation};
use xoff_sim::frame::Frame;
use xoff_sim::kernel::{Direction, PortId, Record};
use xoff_sim::nic_registers as reg;
use xoff_sim::switch::headroom::longest_response;
use xoff_sim::time::{Duration, Length, LineRate, Time};
use xoff_sim::wire::MacAddr;
use xoff_waves::report::Summary;

#[test]
fn the_first_bench_runs() {
    first_bench::main().unwrap();
}

#[test]
fn every_built_in_scenario_is_read() {
    for (name, _) in xoff::scenario_file::BUILT_IN {
        let scenario = scenario(name, &[]);
        assert_eq!(scenario.name, name);
        assert!(!scenario.expect.is_empty() && !scenario.description.is_empty());
    }
}

/// A digest covers every frame at every port and its time. A change here is a change of behaviour: it needs a reason,
/// kept with the new number.
///
/// All changed when a frame's bytes began to be hashed once a hop, and payload among model NICs to count as its place.
/// `incast` changed when the MAC of a host began to hand pauses on ahead of other frames. `pair` and `incast` with RTL NICs
/// changed when the oldest packet of a class began to be offered from its second cycle on. Those with RTL NICs changed
/// before that when events began to pass those of QPs in the requester's pipeline and an answer to complete the oldest
/// message in its own step, and when the headers of a frame got a register of their own, so that it leaves one cycle
/// later, and when the receive buffer got its parts: a request is offered to the responder one cycle later. All changed
/// when hosts began to address their switch's MAC address, which every hop rewrites, and the default headroom became
/// that of the response time that the standard allows. Before that `livelock` and `incast` changed when packets that an
/// ACK or NAK made useless were withdrawn from the transmit slots, the ACK timer began to count from the packet's last
/// bit, and a CE mark behind a gap began to cause a CNP. `incast` with RTL NICs changed when pacing and timers no
/// longer waited for a sweep of all QPs. `livelock` changed when QPs got their turns in rounds and sequence NAKs a count of
/// retries.
#[test]
fn digests_are_those_of_earlier_versions() {
    let kept = [
        ("pair", &[("duration", "300 us")][..], "27e46b70d9a28fa9"),
        (
            "pair",
            &[("duration", "300 us"), ("host.nic", "model")],
            "badcbde01f8f01ee",
        ),
        ("livelock", &[("duration", "500 us")], "07abb1e0b5aecc55"),
        ("livelock", &[("host.nic", "model")], "318f5d13aceb15bd"),
        (
            "incast",
            &[
                ("variant", "static"),
                ("duration", "300 us"),
                ("measure_from", "0 us"),
            ],
            "eccebf2ed5064926",
        ),
        (
            "incast",
            &[
                ("variant", "static"),
                ("duration", "300 us"),
                ("measure_from", "0 us"),
                ("host.nic", "model"),
            ],
            "6e20608e92a9fcbe",
        ),
    ];
    let now = kept.map(|(name, settings, _)| (name, settings, summary(name, settings).digest));
    assert_eq!(
        now,
        kept.map(|(name, settings, digest)| (name, settings, digest.to_owned()))
    );
}

#[test]
fn a_pair_fills_the_wire() {
    let rtl = summary("pair", &[("duration", "300 us")]);
    holds(&rtl);
    let model = summary("pair", &[("duration", "300 us"), ("host.nic", "model")]);
    holds(&model);
    let goodput = |summary: &Summary| summary.metrics["goodput_gbps.bulk"];
    assert!((goodput(&rtl) / goodput(&model) - 1.0).abs() < 0.01);
}

/// Without losses, RTL and model send the same requests.
#[test]
fn rtl_and_model_send_the_same_requests() {
    let requests = |nic: &str, ip: &str| {
        let settings = [
            ("duration", "200 us"),
            ("host.nic", nic),
            ("host.ip", ip),
            ("flows.bulk.count", "5"),
        ];
        let scenario = scenario("pair", &settings);
        let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        let mut sent = Vec::new();
        let a = simulation.node("a").unwrap();
        simulation
            .network_mut()
            .tap(a, xoff_sim::kernel::PortId(0), true);
        let end = Time::ZERO + scenario.duration;
        simulation
            .run_until_observed(end, |records| {
                let ours = records
                    .iter()
                    .filter(|record| record.direction == xoff_sim::kernel::Direction::Sent);
                sent.extend(ours.map(|record| record.frame.bytes.clone()));
            })
            .unwrap();
        assert!(simulation.finished());
        sent
    };
    for ip in ["v4", "v6"] {
        let (rtl, model) = (requests("rtl", ip), requests("model", ip));
        assert_eq!(rtl.len(), model.len());
        assert!(
            rtl == model,
            "{ip}: the first that differs: {:?}",
            rtl.iter().zip(&model).position(|(a, b)| a != b)
        );
    }
}

/// A `model` host in place of an `rtl` one: goodput within 1 % where nothing is lost. Under DCQCN, whose marks are drawn
/// for other packets as soon as one is sent in another cycle, the mean of three seeds is within 3 %.
#[test]
fn models_have_the_goodput_of_the_rtl() {
    // The means of goodput and of CNPs.
    let goodput = |nic: &str, seeds: &[&str], settings: &[(&str, &str)]| {
        let runs = seeds.iter().map(|seed| {
            let short = [
                ("variant", "static"),
                ("host.nic", nic),
                ("duration", "600 us"),
                ("measure_from", "100 us"),
                ("seed", seed),
            ];
            let metrics = summary("incast", &[&short, settings].concat()).metrics;
            assert_eq!(metrics["drops.total"], 0.0);
            (metrics["goodput_gbps.total"], metrics["cnps_tx.r"])
        });
        let sum = runs.reduce(|a, b| (a.0 + b.0, a.1 + b.1)).unwrap();
        let count = seeds.len() as f64;
        (sum.0 / count, sum.1 / count)
    };
    let pfc = [("host.dcqcn.on", "false")];
    let dcqcn = [("hosts.s.count", "8"), ("switches.t.ecn.pmax", "0.1")];
    let cases = [
        (&pfc[..], &["1"][..], false, 0.01),
        (&dcqcn[..], &["1", "2", "3"], true, 0.03),
    ];
    for (settings, seeds, limited, tolerance) in cases {
        let [rtl, model] = ["rtl", "model"].map(|nic| goodput(nic, seeds, settings));
        assert!(
            (rtl.0 / model.0 - 1.0).abs() < tolerance,
            "{rtl:?} and {model:?}"
        );
        assert_eq!([rtl.1 > 10.0, model.1 > 10.0], [limited; 2]);
    }
}

#[test]
fn incast_with_pfc_and_with_dcqcn() {
    for senders in ["2", "4", "8"] {
        let [limited, pauses_alone] = ["true", "false"].map(|dcqcn| {
            let settings = [
                ("variant", "static"),
                ("host.nic", "model"),
                ("hosts.s.count", senders),
                ("host.dcqcn.on", dcqcn),
                ("duration", "20 ms"),
                ("measure_from", "5 ms"),
            ];
            let summary = summary("incast", &settings);
            assert_eq!(summary.metrics["drops.total"], 0.0);
            assert!(
                summary.metrics["goodput_gbps.total"] > 0.98 * 37.034,
                "{senders} {dcqcn}"
            );
            assert_eq!(summary.metrics["cnps_tx.r"] > 0.0, dcqcn == "true");
            summary.metrics["pause_frames_tx.t"]
        });
        assert!(pauses_alone > 1_000.0, "{senders} senders: {pauses_alone}");
        // If senders answered the end of a pause with a burst, the next pause would follow at once, and this would be a
        // fifth.
        assert!(
            limited < 0.1 * pauses_alone,
            "{senders} senders: {limited} pauses, {pauses_alone} without DCQCN"
        );
    }
}

#[test]
fn incast_on_the_rtl_pauses_and_keeps_every_packet() {
    let settings = [
        ("variant", "static"),
        ("duration", "400 us"),
        ("measure_from", "100 us"),
        ("host.dcqcn.on", "false"),
    ];
    let summary = summary("incast", &settings);
    assert_eq!(summary.metrics["drops.total"], 0.0);
    assert!(summary.metrics["pause_frames_tx.t"] > 20.0);
    assert!(summary.metrics["pause_time_ns.s0.3"] > 10_000.0);
    assert!(summary.metrics["goodput_gbps.total"] > 0.97 * 37.034);
}

/// The storm of `pause-storm` stops T0's port to its host, and no other one of T0, all of the measured window: that is
/// one pause. Senders of the incast are paused again and again.
#[test]
fn the_longest_pause_is_a_part_of_all() {
    let window = |from, to| {
        [
            ("variant", "base"),
            ("measure_from", from),
            ("duration", to),
        ]
    };
    let storm = summary("pause-storm", &window("15 ms", "20 ms")).metrics;
    assert_eq!(storm["longest_pause_ns.T0.3"], 5e6);
    // A difference of fractions, which is not exact.
    assert!((storm["pause_time_ns.T0.3"] - 5e6).abs() < 1e-3);
    let incast = |nic| {
        let static_xoff = [("variant", "static"), ("host.nic", nic)];
        let window = window("100 us", "400 us");
        summary("incast", &[&window[1..], &static_xoff].concat()).metrics
    };
    let incasts = ["model", "rtl"].map(incast);
    for metrics in &incasts {
        assert!(metrics["longest_pause_ns.s0.3"] < 0.5 * metrics["pause_time_ns.s0.3"]);
    }
    for metrics in [&storm].into_iter().chain(&incasts) {
        for (name, longest) in metrics {
            if let Some(class) = name.strip_prefix("longest_pause_ns.") {
                let all = metrics[&format!("pause_time_ns.{class}")];
                assert!(
                    *longest < all + 1e-3 && (*longest > 0.0) == (all > 0.0),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn light_load_leaves_most_cycles_out() {
    // 4 KiB every 8.86 us: a tenth of 37 Gb/s.
    let settings = [
        ("flows.bulk.message", "4 KiB"),
        ("flows.bulk.interval", "8.86 us"),
        ("duration", "300 us"),
    ];
    let mut light = scenario("pair", &settings);
    light.expect.clear();
    let summary = run_watched(&light, &[]).summary;
    let part = summary.nic_cycles_evaluated as f64 / summary.nic_cycles as f64;
    assert!(part < 0.25, "{part}");
    assert!(summary.metrics["messages.bulk"] > 30.0);
}

/// Returns a short version of each scenario, all with the RTL.
fn short() -> BTreeMap<&'static str, Scenario> {
    let lossy = "src 10.0.0.1, chance 1/50: drop";
    let mut pair = scenario(
        "pair",
        &[
            ("duration", "60 us"),
            ("flows.bulk.message", "20 KB"),
            ("measure_from", "0 ps"),
        ],
    );
    pair.links[0].faults.push(lossy.parse().unwrap());
    pair.expect.clear();
    let mut incast = scenario(
        "incast",
        &[
            ("variant", "static"),
            ("duration", "60 us"),
            ("measure_from", "0 ps"),
            ("switches.t.ecn.pmax", "1.0"),
        ],
    );
    incast.expect.clear();
    [("pair", pair), ("incast", incast)].into()
}

/// The pair with model NICs that repeat selectively, and many losses: at any time packets wait for a missing one.
fn selective() -> Scenario {
    let mut pair = short().remove("pair").unwrap();
    pair.host.nic = NicKind::Model;
    pair.links[0].faults = vec!["src 10.0.0.1, chance 1/8: drop".parse().unwrap()];
    for flow in &mut pair.flows {
        flow.recovery = Recovery::Selective;
        (flow.ack_every, flow.timeout) = (1, 1);
    }
    pair
}

#[test]
fn one_digest_whatever_the_manner() {
    let folder = tempfile::tempdir().unwrap();
    for (name, scenario) in short() {
        let digest = |options: &RunOptions| {
            execute::run(&scenario.checked().unwrap(), options)
                .unwrap()
                .summary
                .digest
        };
        let expected = digest(&RunOptions::new(xoff_cosim::endpoints()));
        let other = Scenario {
            seed: 2,
            ..scenario.clone()
        };
        assert_ne!(
            execute::run(
                &other.checked().unwrap(),
                &RunOptions::new(xoff_cosim::endpoints())
            )
            .unwrap()
            .summary
            .digest,
            expected,
            "{name}: a seed that changes nothing"
        );
        let simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        let ports = simulation.all_ports();
        let host = simulation.names()[0].clone();
        let window = xoff_network::WaveWindow {
            path: folder.path().join(format!("{name}.fst")),
            from: Time::from_ps(10_000_000),
            until: Time::from_ps(20_000_000),
            only: Vec::new(),
        };
        let interval = Every::Interval(Duration::from_us(3));
        let checkpoints = Some((folder.path().to_owned(), interval));
        for options in [
            RunOptions {
                threads: Some(1),
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            RunOptions {
                threads: Some(2),
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            RunOptions {
                no_skip: true,
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            RunOptions {
                capture: Some((ports.clone(), folder.path().join("all.pcapng"))),
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            RunOptions {
                waves: vec![(host.clone(), window.clone())],
                fabric: Some((folder.path().join("fabric.fst"), Vec::new())),
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            RunOptions {
                check: Some(ports),
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            RunOptions {
                checkpoints: checkpoints.clone(),
                ..RunOptions::new(xoff_cosim::endpoints())
            },
            // From the checkpoint at 9 µs to the window's end, and then at 60 µs.
            RunOptions {
                waves: vec![(host, window)],
                checkpoints,
                ..RunOptions::new(xoff_cosim::endpoints())
            },
        ] {
            assert_eq!(digest(&options), expected, "{name} {options:?}");
        }
    }
}

/// An idle NIC is not run until now, and its clock goes on all the same: how many cycles there were does not depend on
/// where windows end, which is elsewhere with several ranks.
#[test]
fn cycles_of_nics_are_counted_until_now() {
    let source = Source {
        name: "idle".into(),
        origin: "idle".into(),
        text: r#"
            title = "a message, and then nothing"
            duration = "1 ms"
            hosts = [{ name = "a" }, { name = "b" }]
            links = [{ ends = ["a", "b"] }]
            flows = [{ name = "f", from = "a", to = "b", message = "4 KB", count = 1 }]"#
            .into(),
        folder: Default::default(),
    };
    let mut simulation = xoff_cosim::simulation(&source.read(&[]).unwrap()).unwrap();
    for us in [3, 333, 777] {
        simulation
            .run_until(Time::ZERO + Duration::from_us(us))
            .unwrap();
        let (cycles, evaluated) = nic_cycles(&simulation);
        // Edges of two clocks, each with a phase of its own.
        let each = us * 1_000_000 / 5_120;
        assert!(
            (2 * each..=2 * each + 2).contains(&cycles),
            "{us} us: {cycles}"
        );
        assert!(us == 3 || evaluated < each / 10, "{us} us: {evaluated}");
    }
}

#[test]
fn metrics_have_the_same_names_at_all_times() {
    for (name, scenario) in short() {
        let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        let mut recorder = Recorder::new(&simulation);
        let known: Vec<Metric> = names(&scenario.checked().unwrap()).into_iter().collect();
        for _ in 0..2 {
            let measured: Vec<Metric> = recorder.metrics(&simulation).into_keys().collect();
            assert_eq!(measured, known, "{name}");
            simulation
                .run_until(Time::ZERO + scenario.duration)
                .unwrap();
        }
        for metric in ["drops.total", "jain_index", "payload_errors"] {
            assert!(known.contains(&metric.parse().unwrap()), "{metric}");
        }
    }
}

#[test]
fn one_digest_over_a_checkpoint() {
    for (name, scenario) in short().into_iter().chain([("selective", selective())]) {
        let end = Time::ZERO + scenario.duration;
        let mut whole = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        whole.run_until(end).unwrap();
        let mut first = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        first.run_until(Time::from_ps(23_456_789)).unwrap();
        let saved = first.save().unwrap();
        drop(first);
        let mut second = Simulation::restore(&saved, &xoff_cosim::endpoints()).unwrap();
        second.run_until(end).unwrap();
        assert_eq!(second.digest(), whole.digest(), "{name}");
        let sent = |simulation: &Simulation| {
            simulation
                .stations()
                .filter_map(|(_, station)| station.nic_counters())
                .map(|nic| nic.get(reg::FRAMES_OUT))
                .sum::<u64>()
        };
        assert_eq!(sent(&second), sent(&whole), "{name}");
        assert!(sent(&whole) > 100, "{name}");
    }
}

#[test]
fn frames_of_a_capture_have_right_icrcs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.pcapng");
    let scenario = &short()["incast"];
    let options = RunOptions {
        capture: Some((
            execute::all_ports(&scenario.checked().unwrap()),
            path.clone(),
        )),
        ..RunOptions::new(xoff_cosim::endpoints())
    };
    execute::run(&scenario.checked().unwrap(), &options).unwrap();
    let (mut packets, mut pauses) = (0, 0);
    for record in xoff_waves::capture::open(&path).unwrap() {
        let parsed = xoff_sim::protocol::parse(&record.unwrap().bytes);
        match parsed.icrc_ok {
            Some(ok) => {
                assert!(ok, "{parsed:?}");
                packets += 1;
            }
            None => pauses += 1,
        }
    }
    assert!(packets > 500 && pauses > 0, "{packets} {pauses}");
}

/// Both directions of every cable are busy and one host sends to two others, so pauses wait behind frames of the
/// largest size, in the NIC's MAC and on the wire.
fn busy_both_ways() -> String {
    let head = r#"
title = "Pauses against traffic"
duration = "200 us"
[[switches]]
name = "s"
xoff = { static = "20 KB" }
"#;
    let flows = r#"[[flows]]
name = "bd"
from = "b"
to = "d"
[[flows]]
name = "cd"
from = "c"
to = "d"
[[flows]]
name = "db"
from = "d"
to = "b"
[[flows]]
name = "ca"
from = "c"
to = "a"
"#;
    [head, &star(&["a", "b", "c", "d"]), flows].concat()
}

/// IEEE 802.1Q annex O: headroom that covers the response time of the peer makes a lossless class lossless. The default
/// headroom of a switch is that of the standard's response time, and the NICs answer within it.
#[test]
fn the_default_headroom_loses_no_lossless_frame() {
    let nics = [NicKind::Rtl, NicKind::Model];
    for (nic, mtu) in nics.iter().flat_map(|nic| [(nic, 4096), (nic, 1024)]) {
        let mut scenario: Scenario = toml::from_str(&busy_both_ways()).unwrap();
        scenario.host.nic = nic.clone();
        for flow in &mut scenario.flows {
            flow.mtu = mtu;
            flow.message = xoff_sim::time::ByteCount::new(1_000_000);
        }
        let report = run_watched(&scenario, &[]);
        let metrics = &report.summary.metrics;
        assert_eq!(metrics["drops.total"], 0.0, "{nic:?} {mtu}");
        assert!(metrics["pause_frames_tx.s"] > 4.0, "{nic:?} {mtu}");
    }
}

/// IEEE 802.1Q annex O counts the response of a port to a pause from the pause's last bit: 118 quanta at 40 Gb/s, 1,510
/// ns, with the frame on the wire, even one of 4,096 bytes of payload. A pause does not wait behind the frame before it,
/// although the receive MAC hands a frame on only when it has all of it: no frame begins later than 130 ns.
#[test]
fn the_response_to_a_pause_is_what_is_stated() {
    let head = r#"
title = "pauses at many phases"
duration = "500 us"
[[switches]]
name = "s"
"#;
    let flow = |from: &str, to: &str| {
        format!(
            "[[flows]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             mtu = 4096\nmessage = \"1 MB\"\ndscp = 24\n"
        )
    };
    // With frames as long as they get both ways, each pause comes right behind one, and the two ways keep their phase.
    // With frames one way, pauses come in every phase.
    let one_way = flow("a", "b");
    let both_ways = [flow("a", "b"), flow("b", "a")].concat();
    let quanta = 300;
    let cases =
        [NicKind::Rtl, NicKind::Model].map(|nic| [(nic.clone(), &one_way), (nic, &both_ways)]);
    for (nic, flows) in cases.into_iter().flatten() {
        let mut scenario: Scenario =
            toml::from_str(&[head, &star(&["a", "b"]), flows].concat()).unwrap();
        scenario.host.nic = nic.clone();
        let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        let [a, s] = ["a", "s"].map(|name| simulation.node(name).unwrap());
        let mut bytes = MacAddr::CONTROL.0.to_vec();
        bytes.extend([2, 0, 0, 0, 0, 9, 0x88, 0x08, 1, 1, 0, 1 << 3]);
        (0..8).for_each(|_| bytes.extend(u16::to_be_bytes(quanta)));
        bytes.resize(60, 0);
        // About 10 µs apart, each time 21 ns more, so that pauses come in every phase of a frame, with which the sender
        // goes on at the end of the pause before.
        let pause = |number: u64| {
            let start = Time::from_ps(50_000_000 + (10_000_000 + 10_673 * number) * number);
            Frame::sent(bytes.clone().into(), start, LineRate::G40)
        };
        (simulation.network_mut()).inject(s, PortId(0), (0..40).map(pause));
        simulation.network_mut().tap(a, PortId(0), true);
        let mut records = vec![];
        let end = Time::ZERO + scenario.duration;
        let see = |seen: &[Record]| records.extend_from_slice(seen);
        simulation.run_until_observed(end, see).unwrap();
        let control = |record: &&Record| record.frame.bytes.headers()[12..14] == [0x88, 0x08];
        let pauses = records.iter().filter(control);
        let pauses: Vec<_> = pauses.map(|record| record.frame.end).collect();
        assert_eq!(pauses.len(), 40, "{nic:?}");
        let (mut starts, mut ends) = (vec![], vec![]);
        for since in pauses {
            let until = since + LineRate::G40.time_of_quanta(quanta);
            let last = (records.iter())
                .filter(|record| record.direction == Direction::Sent)
                .filter(|record| record.frame.start < until)
                .max_by_key(|record| record.frame.start)
                .expect("frames before the pause");
            // 0: the last one began before the pause.
            starts.push(last.frame.start.saturating_since(since));
            ends.push(last.frame.end.saturating_since(since));
        }
        let [start, end] = [&starts, &ends].map(|times| *times.iter().max().unwrap());
        println!(
            "{nic:?}: the last frame begins at most {start} after a pause and ends at most {end} after it"
        );
        assert!(end <= longest_response(LineRate::G40), "{nic:?}: {end}");
        assert!(start <= Duration::from_ns(130), "{nic:?}: {start}");
        if *flows == one_way {
            // The phases differ, and frames do begin after a pause.
            assert!(start > Duration::ZERO, "{nic:?}: {start}");
            assert!(end > Duration::from_ns(850), "{nic:?}: {end}");
        }
    }
}

/// A receiver that takes 5 Gb/s, and so many senders in each of three classes: `a`, `a1`, … in class 3, `b`, … in
/// class 4, `c`, … in class 0.
fn slow_host(senders: usize) -> String {
    let head = r#"
title = "three classes into a slow host"
duration = "400 us"
[[switches]]
name = "s"
"#;
    let hosts: Vec<(String, u8)> = [("a", 24), ("b", 32), ("c", 0)]
        .into_iter()
        .flat_map(|(class, dscp)| (0..senders).map(move |number| (sender(class, number), dscp)))
        .collect();
    let names: Vec<&str> = hosts
        .iter()
        .map(|(name, _)| &**name)
        .chain(["slow"])
        .collect();
    let flow = |(name, dscp): &(String, u8)| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"slow\"\ndscp = {dscp}\nmessage = \"1 MB\"\n"
        )
    };
    let flows: String = hosts.iter().map(flow).collect();
    [head, &star(&names), "pcie_rate = \"5 Gb/s\"\n", &flows].concat()
}

/// The name of a sender of a class.
fn sender(class: &str, number: usize) -> String {
    match number {
        0 => class.to_owned(),
        _ => format!("{class}{number}"),
    }
}

/// IEEE 802.1Qbb: a class under priority flow control loses no frame to congestion, whatever the other classes of the
/// link do. The receive buffer of the NIC holds by class: two lossless classes beside each other, and one beside a
/// flood of a class that may be dropped. Three hosts send in each class, over cables of the default length and over
/// such of 300 m, in which 6 µs of frames follow a pause.
#[test]
fn what_other_classes_do_costs_a_lossless_class_no_frame() {
    const SENDERS: usize = 3;
    let cases = [
        (NicKind::Rtl, 1024, vec![3, 4], false),
        (NicKind::Rtl, 4096, vec![3], false),
        (NicKind::Rtl, 4096, vec![3], true),
        (NicKind::Model, 1024, vec![3, 4], false),
        (NicKind::Model, 1024, vec![3], false),
        (NicKind::Model, 4096, vec![3, 4], false),
        (NicKind::Model, 4096, vec![3], false),
        (NicKind::Model, 4096, vec![3], true),
    ];
    for (nic, mtu, lossless, long) in cases {
        let mut scenario: Scenario = toml::from_str(&slow_host(SENDERS)).unwrap();
        scenario.host.nic = nic.clone();
        scenario.host.lossless = lossless.clone();
        scenario.switches[0].lossless = lossless.clone();
        for flow in &mut scenario.flows {
            flow.mtu = mtu;
        }
        if long {
            for link in &mut scenario.links {
                link.cable = Length::from_m(300);
            }
        }
        let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
        simulation
            .run_until(Time::ZERO + scenario.duration)
            .unwrap();
        let what = format!("{nic:?}, classes {lossless:?}, MTU {mtu}, 300 m: {long}");
        let count = |host: &str, register| {
            let station = simulation.station(host);
            station.nic_counters().unwrap().get(register)
        };
        assert!(count("slow", reg::PFC_OUT) > 1, "{what}");
        let of = |class: &str, register| {
            (0..SENDERS)
                .map(|number| count(&sender(class, number), register))
                .collect::<Vec<_>>()
        };
        let harm = |class| {
            [
                of(class, reg::NAKS_IN),
                of(class, reg::RESENT_OUT),
                of(class, reg::TIMEOUTS),
            ]
        };
        let none = [vec![0; SENDERS], vec![0; SENDERS], vec![0; SENDERS]];
        assert_eq!(
            harm("a"),
            none,
            "{what}: NAKs, packets sent again, timeouts"
        );
        assert_eq!(
            harm("b") == none,
            lossless.contains(&4),
            "{what}: {:?}",
            harm("b")
        );
        assert_ne!(harm("c"), none, "{what}: the flood is not dropped");
        assert!(
            of("a", reg::FRAMES_OUT).iter().all(|frames| *frames > 10),
            "{what}"
        );
    }
}

/// The NIC's buffer has to hold what arrives after a pause; a scenario for which it is too small is refused with the
/// numbers.
#[test]
fn a_receive_buffer_that_cannot_hold_what_follows_a_pause_is_refused() {
    let refused = |settings: &[(&str, &str)]| {
        let mut table: toml::Table = toml::from_str(&slow_host(1)).unwrap();
        let mut host = toml::Table::new();
        for (key, value) in settings {
            let value: toml::Table = toml::from_str(&format!("it = {value}")).unwrap();
            host.insert((*key).into(), value["it"].clone());
        }
        table.insert("host".into(), host.into());
        let scenario: Scenario = table.try_into().unwrap();
        let scenario = scenario.checked().map_err(|issues| issues.to_string())?;
        Simulation::check(&scenario, &xoff_cosim::endpoints()).map_err(|error| error.to_string())
    };
    assert_eq!(refused(&[]), Ok(()));
    // 7/8 of 128 KiB, of which 15/16 hold frames of any length.
    let all = refused(&[("xoff", "\"100 KiB\"")]).unwrap_err();
    assert!(
        all.contains("host.xoff") && all.contains("107.52 KB"),
        "{all}"
    );
    assert!(all.contains("102.4 KB is too much"), "{all}");
    let many = refused(&[("lossless", "[0, 1, 2, 3, 4, 5, 6, 7]")]).unwrap_err();
    assert!(many.contains("nothing is left before it"), "{many}");
    let more = [
        ("lossless", "[0, 1, 2, 3, 4, 5, 6, 7]"),
        ("nic", "\"model\""),
        ("buffer", "\"1 MiB\""),
    ];
    assert_eq!(refused(&more), Ok(()));
    let on = refused(&[("xon", "\"40 KiB\"")]).unwrap_err();
    assert!(
        on.contains("host.xon: 40.96 KB is above xoff, 32.768 KB"),
        "{on}"
    );
    let small = refused(&[("nic", "\"model\""), ("buffer", "\"1 KB\"")]).unwrap_err();
    assert!(small.contains("host.buffer: 1 KB: 4.096 KB to"), "{small}");
}

/// Networks of model NICs are the same in a program without RTL, and one that has none says so.
#[test]
fn models_need_no_rtl() {
    let models = scenario(
        "incast",
        &[
            ("host.nic", "model"),
            ("duration", "1 ms"),
            ("measure_from", "0 us"),
        ],
    );
    let digest = |endpoints| {
        let report = execute::run(&models.checked().unwrap(), &RunOptions::new(endpoints)).unwrap();
        report.summary.digest
    };
    assert_eq!(
        digest(Endpoints::default()),
        digest(xoff_cosim::endpoints())
    );
    let program = xoff::Program::without_rtl(Endpoints::default());
    for (arguments, why) in [
        (
            ["run", "pair"],
            "rtl: this program has no RTL NIC; \"model\" is right",
        ),
        (
            ["decode", &argument("captures/vlan100.pcap")],
            "this program has no RTL: --model takes the reference model",
        ),
        (
            ["encode", "opcode=RC_SEND_ONLY"],
            "this program has no RTL: --model takes the reference model",
        ),
    ] {
        let said = crate::common::run_with(&program, &arguments, None, false);
        let said = format!("{:#}", said.outcome.unwrap_err());
        assert!(said.contains(why), "{said}");
    }
}
