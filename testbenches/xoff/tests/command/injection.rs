//! Tests of injected frames and fault rules in scenarios with the RTL.

use std::fs::File;
use std::path::Path;

use crate::common;
use crate::scenario_runs::scenario;
use xoff::injection::captured;
use xoff::run::execute::{self, RunOptions};
use xoff_network::scenario::{InjectEntry, Scenario};
use xoff_sim::kernel::{Direction, PortId, Record};
use xoff_sim::time::{Duration, Time};
use xoff_waves::capture::{PcapngWriter, open};
use xoff_waves::report::Summary;

/// Writes a capture of legal frames and some illegal ones.
fn hostile(path: &Path) {
    let mut writer = PcapngWriter::new(File::create(path).unwrap(), ["eth0", "eth1"]).unwrap();
    let sound = open(common::file("captures/vlan100.pcap"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .bytes;
    let frames: [(&[u8], bool); 6] = [
        (&sound, true),
        (&sound, false),
        (&[2; 30], true),
        (&[], true),
        (&[2; 9_300], true),
        (&[2; 60], true),
    ];
    for (number, (frame, fcs_ok)) in (0..).zip(frames) {
        let direction = [Direction::Received, Direction::Sent][usize::from(number == 0)];
        writer
            .write_seen(0, 1_000 * number, frame, Some(direction), fcs_ok)
            .unwrap();
    }
    writer.write(1, 99, &[2; 60]).unwrap();
}

fn entry(keys: &str, folder: &Path) -> InjectEntry {
    let mut entry: InjectEntry = toml::from_str(&format!("file = 'c.pcapng'\n{keys}")).unwrap();
    entry.frames = Some(captured(&entry, folder).unwrap());
    entry
}

/// Scenario `pair` with little traffic that is completed.
fn pair(nic: &str) -> Scenario {
    let settings = [
        ("duration", "60 us"),
        ("measure_from", "0 ps"),
        ("host.nic", nic),
        ("flows.bulk.message", "20 KB"),
        ("flows.bulk.count", "5"),
    ];
    let mut scenario = scenario("pair", &settings);
    scenario.expect.clear();
    scenario
}

fn run(scenario: &Scenario, options: &RunOptions) -> Summary {
    execute::run(&scenario.checked().unwrap(), options)
        .unwrap()
        .summary
}

fn dropped(summary: &Summary, node: &str, reason: &str) -> u64 {
    let is = |drop: &&xoff_waves::report::Drop| drop.node == node && drop.reason == reason;
    summary.drops.iter().filter(is).map(|drop| drop.count).sum()
}

#[test]
fn hostile_frames_reach_the_nic_and_harm_no_flow() {
    let folder = tempfile::tempdir().unwrap();
    hostile(&folder.path().join("c.pcapng"));
    for nic in ["rtl", "model"] {
        let mut scenario = pair(nic);
        for keys in [
            "host = 'b'\nstart = '5 us'\ninterface = 'eth0'",
            "host = 'a'\ntowards = 'network'\nstart = '7 us'\nscale = 0.1\ninterface = 'eth0'",
        ] {
            scenario.inject.push(entry(keys, folder.path()));
        }
        let summary = run(&scenario, &RunOptions::new(xoff_cosim::endpoints()));
        assert_eq!(summary.metrics["messages.bulk"], 5.0);
        assert_eq!(summary.metrics["payload_errors"], 0.0);
        for (reason, count) in [("bad_fcs", 1), ("runt", 2), ("giant", 1)] {
            assert_eq!(
                dropped(&summary, "b", reason),
                count,
                "{nic} {reason}: {:?}",
                summary.drops
            );
        }
        let injected: Vec<_> = summary
            .injections
            .iter()
            .map(|wire| (wire.frames, wire.injected))
            .collect();
        assert_eq!(injected, [(6, 6), (6, 6)]);
        // The wire from a is full of requests: injected frames wait, and later requests are delayed.
        assert!(summary.injections[1].waited > 0 && summary.injections[1].delayed > 0);
    }
}

#[test]
fn one_digest_with_injection_whatever_the_manner_of_running() {
    let folder = tempfile::tempdir().unwrap();
    hostile(&folder.path().join("c.pcapng"));
    let mut scenario = pair("rtl");
    let without = run(&scenario, &RunOptions::new(xoff_cosim::endpoints())).digest;
    let keys = "host = 'b'\ninterval = '3 us'\ninterface = 'eth0'";
    scenario.inject.push(entry(keys, folder.path()));
    let with = run(&scenario, &RunOptions::new(xoff_cosim::endpoints())).digest;
    assert_ne!(with, without);
    for options in [
        RunOptions {
            threads: Some(2),
            ..RunOptions::new(xoff_cosim::endpoints())
        },
        RunOptions {
            no_skip: true,
            ..RunOptions::new(xoff_cosim::endpoints())
        },
    ] {
        assert_eq!(run(&scenario, &options).digest, with);
    }
}

/// Returns the frames that arrive at b, with the times of their ends.
fn arrivals(scenario: &Scenario) -> Vec<(Vec<u8>, Time)> {
    let mut simulation = xoff_cosim::simulation(&scenario.checked().unwrap()).unwrap();
    let b = simulation.node("b").unwrap();
    simulation.network_mut().tap(b, PortId(0), true);
    let mut arrivals = Vec::new();
    let observe = |records: &[Record]| {
        let received = records
            .iter()
            .filter(|record| record.direction == Direction::Received);
        arrivals
            .extend(received.map(|record| (record.frame.bytes.whole().to_vec(), record.frame.end)));
    };
    simulation
        .run_until_observed(Time::ZERO + scenario.duration, observe)
        .unwrap();
    arrivals
}

#[test]
fn a_run_is_replayed_from_its_capture() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorded = pair("model");
    let options = RunOptions {
        capture: Some((
            execute::all_ports(&recorded.checked().unwrap()),
            folder.path().join("c.pcapng"),
        )),
        ..RunOptions::new(xoff_cosim::endpoints())
    };
    run(&recorded, &options);
    let first = arrivals(&recorded);
    recorded.flows.clear();
    let keys = "host = 'b'\ninterface = 'b.0'\nonly = 'received'\nstart = '1 us'";
    recorded.inject.push(entry(keys, folder.path()));
    let second = arrivals(&recorded);
    assert!(first.len() >= 100 && first.len() == second.len());
    for (first_frame, second_frame) in first.iter().zip(&second) {
        assert_eq!(first_frame.0, second_frame.0);
        let since =
            |frame: &(Vec<u8>, Time), origin: &(Vec<u8>, Time)| (frame.1 - origin.1).as_ps() as i64;
        let off = since(first_frame, &first[0]) - since(second_frame, &second[0]);
        // A capture has a resolution of nanoseconds.
        assert!(off.abs() <= 1_000, "{off} ps");
    }
}

#[test]
fn a_simulation_without_the_frames_is_refused() {
    let mut scenario = pair("model");
    scenario
        .inject
        .push(toml::from_str("file = 'c.pcapng'\nhost = 'b'").unwrap());
    assert_eq!(
        xoff_cosim::simulation(&scenario.checked().unwrap())
            .unwrap_err()
            .to_string(),
        "inject.0.file: the frames of c.pcapng have not been read"
    );
}

#[test]
fn frames_later_than_the_end_are_counted_as_not_injected() {
    let folder = tempfile::tempdir().unwrap();
    hostile(&folder.path().join("c.pcapng"));
    let mut scenario = pair("model");
    let keys = "host = 'b'\nstart = '50 us'\ninterval = '4 us'\ninterface = 'eth0'";
    scenario.inject.push(entry(keys, folder.path()));
    let summary = run(&scenario, &RunOptions::new(xoff_cosim::endpoints()));
    assert_eq!(
        summary.injections[0].to_string(),
        "injected towards b: 3 of 6 frames"
    );
}

#[test]
fn relative_rules_hit_requests_and_their_acknowledgements_whatever_the_seed() {
    for nic in ["rtl", "model"] {
        for seed in [1, 77] {
            let mut scenario = Scenario { seed, ..pair(nic) };
            let rule = |text: &str| text.parse().unwrap();
            // Rules of the link from a to the switch, of the way back, and of the switch itself.
            scenario.links[0].faults.push(rule("psn +3, shots 1: flip"));
            scenario.links[0]
                .faults
                .push(rule("psn +30, shots 1: drop"));
            scenario.links[0]
                .faults_back
                .push(rule("opcode 0x11, psn +0-+99: ecn"));
            scenario.switches[0].faults.push(rule("psn +4000000: drop"));
            let summary = run(&scenario, &RunOptions::new(xoff_cosim::endpoints()));
            let hit: Vec<u64> = summary.faults.iter().map(|fault| fault.hit).collect();
            let places: Vec<&str> = summary
                .faults
                .iter()
                .map(|fault| &fault.place[..])
                .collect();
            assert_eq!(
                places,
                [
                    "links.0.faults.0",
                    "links.0.faults.1",
                    "links.0.faults_back.0",
                    "switches.s.faults.0"
                ]
            );
            assert_eq!(
                (hit[0], hit[1], hit[3]),
                (1, 1, 0),
                "{nic} {seed}: {:?}",
                summary.faults
            );
            // Five messages of 20 packets, with at least one ACK per message.
            assert!(hit[2] >= 5, "{nic} {seed}: {:?}", summary.faults);
            assert_eq!(summary.metrics["messages.bulk"], 5.0, "{nic} {seed}");
            assert!(summary.metrics["retransmitted_packets.a"] >= 2.0);
            // The MAC does not detect the flipped bit (its FCS is right); the ICRC does.
            assert_eq!(dropped(&summary, "b", "bad_fcs"), 0);
            let icrc: u64 = (summary.drops.iter())
                .filter(|drop| drop.node == "b" && drop.reason.contains("icrc"))
                .map(|drop| drop.count)
                .sum();
            assert_eq!(icrc, 1, "{:?}", summary.drops);
        }
    }
}

#[test]
fn a_rule_that_hits_nothing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let said = common::run(
        &[
            "run",
            "pair",
            "--set",
            "host.nic=model",
            "--set",
            "duration=\"30 us\"",
            "--set",
            "measure_from=\"0 us\"",
            "--set",
            "links.0.faults=[\"psn +4000000: drop\", \"any, skip 1000000: drop\", \"psn +2: ecn\"]",
            "--out",
            out,
        ],
        Some(80),
        false,
    );
    assert!(
        said.out
            .contains("  fault rule never matched: 'psn +4000000: drop' (links.0.faults.0)\n"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains(" and hit none: 'skip 1000000: drop' (links.0.faults.1)\n"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("links.0.faults.2"), "{}", said.out);
    let page = std::fs::read_to_string(folder.path().join("pair/report.html")).unwrap();
    assert!(page.contains("links.0.faults.0: never matched"));
}

/// A pause lasts for its quanta, of 512 bits each (IEEE 802.3, annex 31D): at 40 Gb/s 65,535 of them are 838.8 µs.
#[test]
fn who_misses_the_end_of_a_pause_stands_still_for_its_quanta() {
    for nic in ["rtl", "model"] {
        let silence = |rules: &[&str]| {
            let mut scenario = pair(nic);
            scenario.duration = Duration::from_us(1_000);
            scenario.flows[0].count = Some(20);
            scenario.events = vec![
                toml::from_str("at = '5 us'\ndo.stall = { host = 'b', for = '30 us' }").unwrap(),
            ];
            let rules = rules.iter().map(|rule| rule.parse().unwrap());
            scenario.links[1].faults = rules.collect();
            let arrivals = arrivals(&scenario);
            let gaps = arrivals.windows(2).map(|pair| pair[1].1 - pair[0].1);
            gaps.max().unwrap()
        };
        let ended = silence(&[]);
        assert!(
            Duration::from_us(10) < ended && ended < Duration::from_us(40),
            "{nic}: {ended}"
        );
        // The first pause arrives, what comes behind it does not.
        let lost = silence(&["pause, skip 1: drop"]);
        let quanta = Duration::from_ps(65_535 * 512 * 25);
        assert!(
            quanta <= lost && lost < quanta + Duration::from_us(2),
            "{nic}: {lost}"
        );
    }
}
