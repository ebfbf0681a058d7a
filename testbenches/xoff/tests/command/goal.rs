//! Schedules of GOAL files, as a scenario names them: RTL and model NICs, one result, and what is said of broken files.

use std::fs;

use crate::common::{file, said};
use crate::scenario_runs::run_watched;
use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::{Setting, Source};
use xoff_network::Simulation;
use xoff_network::scenario::Scenario;
use xoff_sim::time::Time;

/// What a frame of 1,024 bytes of payload takes at 40 Gb/s: 1,024 and 62 of headers, ICRC and FCS, 20 of preamble and
/// gap.
const FRAME_NS: f64 = 1_106.0 * 8.0 / 40.0;

/// The ring all-reduce of four ranks, with other settings.
fn ring(settings: &[&str]) -> Scenario {
    let settings: Vec<Setting> = settings.iter().map(|it| it.parse().unwrap()).collect();
    let path = file("goal/ring.toml");
    Source::find(path.to_str().unwrap())
        .unwrap()
        .read(&settings)
        .unwrap()
        .written()
        .clone()
}

/// How long a schedule takes with these NICs, in nanoseconds, with the monitors at every port.
fn took(scenario: &Scenario) -> f64 {
    let metrics = run_watched(scenario, &[]).summary.metrics;
    assert_eq!(metrics["payload_errors"], 0.0);
    assert_eq!(metrics["completion_errors"], 0.0);
    assert_eq!(metrics["job_rounds.ring"], 1.0);
    metrics["job_completion_ns.ring.p50"]
}

/// 2(n − 1)/n · S/B + 2(n − 1) · latency, the latency from the same ring with a frame in each message.
#[test]
fn a_ring_of_rtl_nics_takes_the_time_of_its_closed_form() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(file("goal/ring.goal")).unwrap();
    fs::write(
        folder.path().join("short.goal"),
        text.replace("65536b", "1024b"),
    )
    .unwrap();
    let short = folder.path().join("short.goal");
    let short = format!("flows.ring.goal={}", short.display());
    for nic in ["host.nic=rtl", "host.nic=model"] {
        let latency = took(&ring(&[nic, &short])) / 6.0 - FRAME_NS;
        let expected = 6.0 * (64.0 * FRAME_NS + latency);
        let measured = took(&ring(&[nic]));
        assert!(
            (measured / expected - 1.0).abs() < 0.03,
            "{nic}: {measured}, not {expected}"
        );
    }
}

/// RTL NICs, threads, cycles that are skipped or not, and a checkpoint in between.
#[test]
fn one_schedule_has_one_result() {
    let scenario = ring(&["host.nic=rtl", "duration=150 us"]);
    let digest = |threads, no_skip| {
        let options = RunOptions {
            threads: Some(threads),
            no_skip,
            ..RunOptions::new(xoff_cosim::endpoints())
        };
        let summary = execute::run(&scenario.checked().unwrap(), &options)
            .unwrap()
            .summary;
        assert_eq!(summary.metrics["job_rounds.ring"], 1.0);
        assert_eq!(summary.jobs[0].kind, "goal");
        summary.digest
    };
    let whole = digest(1, false);
    assert_eq!(digest(2, false), whole);
    assert_eq!(digest(1, true), whole);
    let endpoints = xoff_cosim::endpoints();
    let mut first = Simulation::with(&scenario.checked().unwrap(), &endpoints).unwrap();
    first.run_until(Time::from_us(47)).unwrap();
    let saved = first.save().unwrap();
    let mut second = Simulation::restore(&saved, &endpoints).unwrap();
    second.run_until(Time::ZERO + scenario.duration).unwrap();
    assert_eq!(second.digest().to_string(), whole);
}

/// A calculation between messages is as long for an RTL NIC, and starts with the first message's arrival.
#[test]
fn calculations_are_exact_beside_rtl_nics() {
    let folder = tempfile::tempdir().unwrap();
    let with = |ns: u32| {
        let text = format!(
            "num_ranks 2\nrank 0 {{\ns: send 100b to 1\nr: recv 100b from 1\n}}\n\
             rank 1 {{\nr: recv 100b from 0\nc: calc {ns}\nc requires r\ns: send 100b to 0\ns requires c\n}}\n"
        );
        fs::write(folder.path().join("a.goal"), text).unwrap();
        let path = folder.path().join("a.goal");
        took(&ring(&[
            "host.nic=rtl",
            &format!("flows.ring.goal={}", path.display()),
        ]))
    };
    let [none, some] = [0, 12_345].map(with);
    assert!((some - none - 12_345.0).abs() < 6.5, "{some} {none}");
}

#[test]
fn broken_files_are_said_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    let scenario = fs::read_to_string(file("goal/ring.toml")).unwrap();
    fs::write(&path, &scenario).unwrap();
    let run = || {
        let (_, said) = said(&["run", path.to_str().unwrap()], [], 2);
        said.replace(folder.path().to_str().unwrap(), "…")
    };
    let missing = run();
    assert!(
        missing.contains("flows.ring.goal: ring.goal: "),
        "{missing}"
    );
    fs::write(
        folder.path().join("ring.goal"),
        "num_ranks 2\nrank 0 {\na: send 5b to 7\nb: calc 5us\na requires c\n}\nrank 1 {\n}\n",
    )
    .unwrap();
    let wrong = run();
    for line in [
        "ring.goal:3: 'a: send 5b to 7': rank 7: ranks are 0 to 1",
        "ring.goal:4: 'b: calc 5us': calc '5us': whole nanoseconds are right",
        "ring.goal:5: 'a requires c': no operation of rank 0 is 'c': labels are those of the same rank",
    ] {
        assert!(wrong.contains(line), "{wrong}");
    }
}
