//! What a run says about settings that may not be intended, and about what was sent in vain.

use std::collections::{BTreeMap, BTreeSet};

use crate::scenario_runs::{run_watched, scenario};
use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::Source;
use xoff_network::scenario::Scenario;
use xoff_sim::protocol::parse;
use xoff_sim::wire::frame::Verdict;
use xoff_waves::capture::{self, Direction};
use xoff_waves::report::{Finding, FindingKind, Report, Summary};

/// Two senders and a receiver at a switch, for 200 µs, with more keys.
fn star(more: &str) -> Scenario {
    star_for("200 us", more)
}

fn star_for(duration: &str, more: &str) -> Scenario {
    let text = format!(
        r#"
        title = "two to one"
        duration = "{duration}"
        hosts = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "r" }}]
        links = [{{ ends = ["a", "t"] }}, {{ ends = ["b", "t"] }}, {{ ends = ["r", "t"] }}]
        flows = [{{ name = "f", from = "a", to = "r" }}, {{ name = "g", from = "b", to = "r" }}]
        host.nic = "model"
        {more}"#
    );
    let source = Source {
        name: "star".into(),
        origin: "star".into(),
        text,
        folder: Default::default(),
    };
    source.read(&[]).unwrap().written().clone()
}

const SWITCH: &str = "[[switches]]\nname = \"t\"\n";

fn ran(more: &str) -> Report {
    run_watched(&star(more), &[])
}

fn notes(more: &str) -> Vec<String> {
    ran(more).summary.notes
}

/// Where XOFF is low enough that the incast pauses, and all ends agree, there is nothing to say.
#[test]
fn settings_that_agree_have_no_notes() {
    let agree = format!("{SWITCH}xoff = {{ static = \"100 KB\" }}");
    assert_eq!(notes(&agree), [""; 0]);
    let marks = format!("host.dcqcn = {{}}\n{agree}\necn = {{}}");
    assert_eq!(notes(&marks), [""; 0]);
    // With less than 1/1024 of 12 MB as Kmin.
    let alpha = "xoff = { alpha = { num = 1, den = 1024 } }\necn = { kmin = \"11 KB\" }";
    assert_eq!(
        notes(&format!("host.dcqcn = {{}}\n{SWITCH}{alpha}")),
        [""; 0]
    );
    // 99 KB each 100 us are 7.92 Gb/s.
    let probes = "xoff = { static = \"24 KB\" }\n[pingmesh]\nmessage = \"99 KB\"";
    assert_eq!(notes(&format!("{SWITCH}{probes}")), [""; 0]);
    let off = format!("{SWITCH}pauses = \"off\"");
    assert_eq!(notes(&off), [""; 0]);
}

#[test]
fn settings_that_contradict_each_other_are_said() {
    let low = format!("{SWITCH}xoff = {{ static = \"24 KB\" }}\n");
    for (more, expected) in [
        (
            format!("{low}lossless = [3, 4]"),
            "switches.t.lossless: hosts do not obey pauses of class 4, so it loses packets: host.lossless is [3]",
        ),
        (
            format!("host.lossless = [3, 4]\nhost.buffer = \"512 KiB\"\n{low}"),
            "switches.t.lossless: [3] is without class 4, which is lossless at hosts: it is dropped here where a buffer \
             is full",
        ),
        (
            format!("{low}ecn = {{ kmin = \"24 KB\" }}\n[host.dcqcn]"),
            "switches.t.ecn.kmin: 24 KB is not below XOFF, 24 KB: class 3 pauses before a packet is marked",
        ),
        (
            format!("{low}[pingmesh]\nmessage = \"128 KB\""),
            "pingmesh: its probes are up to 10.24 Gb/s a host, a load for which they wait themselves, so what they find \
             may be no fault: a longer interval or a shorter message, below 8 Gb/s",
        ),
        // 1/1024 of 12 MB.
        (
            format!(
                "{SWITCH}xoff = {{ alpha = {{ num = 1, den = 1024 }} }}\necn = {{ kmin = \"12 KB\" }}\n[host.dcqcn]"
            ),
            "switches.t.ecn.kmin: 12 KB is not below XOFF, 11.718 KB: class 3 pauses before a packet is marked",
        ),
        // Ten times the 5 KB of 40 Gb/s.
        (
            format!("host.rate = \"400 Gb/s\"\nhost.dcqcn = {{}}\n{low}ecn = {{}}"),
            "switches.t.ecn.kmin: 50 KB is not below XOFF, 24 KB: class 3 pauses before a packet is marked",
        ),
        (
            format!("{low}ecn = {{}}"),
            "switches.t.ecn: no packet is marked: host.dcqcn is off, so that packets are not ECN capable",
        ),
        (
            format!("host.dcqcn = {{}}\n{low}"),
            "host.dcqcn: no switch marks the packets of a flow: without `ecn` no rate is ever cut",
        ),
    ] {
        assert_eq!(notes(&more), [expected], "{more}");
    }
}

/// An unmarked job: DSCP 0, in a network with a lossless class 3. Packets are lost, and it is said why.
#[test]
fn a_flow_in_a_lossy_class_is_said() {
    let mut scenario = star(&format!("{SWITCH}buffer = \"300 KB\""));
    scenario.flows[0].dscp = 0;
    scenario.flows[1].dscp = 0;
    let summary = run_watched(&scenario, &[]).summary;
    assert!(summary.metrics["drops.total"] > 0.0);
    let of = |flow| {
        format!(
            "flows.{flow}.dscp: class 0 is lossless neither at hosts nor at switches: its packets are dropped where a \
             buffer is full"
        )
    };
    assert_eq!(summary.notes, [of("f"), of("g")]);
}

#[test]
fn classes_by_dscp_at_one_end_and_by_pcp_at_the_other_are_said() {
    let xoff = "xoff = { static = \"24 KB\" }";
    let notes = notes(&format!("{SWITCH}{xoff}\nclassify = \"pcp\""));
    let of = |flow| {
        format!(
            "switches.t.classify: by PCP, and hosts by DSCP: flow {flow} is of class 0 here and 3 there"
        )
    };
    assert_eq!(notes, [of("f"), of("g")]);
}

/// A window of 256 packets of at most 1,106 bytes, 1,024 and all headers that are possible, is 283,136 bytes; XOFF is
/// far above. With α it depends on what is free: at least what all packets under way leave of 12 MB less headroom.
#[test]
fn an_incast_without_a_pause_is_explained() {
    let headroom = "headroom = \"40 KB\"";
    for (xoff, said) in [
        ("{ static = \"400 KB\" }", "400 KB"),
        // (12,000,000 - 3 · 40,000 - 2 · 283,136) / 16.
        ("{ alpha = { num = 1, den = 16 } }", "at least 707.1 KB"),
        ("{ alpha = { num = 1, den = 32 } }", "at least 353.6 KB"),
    ] {
        let notes = notes(&format!("{SWITCH}{headroom}\nxoff = {xoff}"));
        let expected = format!(
            "2 hosts send to r, and no switch pauses: at most 283.1 KB are outstanding by one port of t, XOFF is {said} \
             there"
        );
        assert_eq!(notes, [expected], "{xoff}");
    }
    // 176.777 KB when all packets are under way, so that the windows do not explain it. Packets leave meanwhile.
    assert_eq!(
        notes(&format!(
            "{SWITCH}{headroom}\nxoff = {{ alpha = {{ num = 1, den = 64 }} }}"
        )),
        [""; 0]
    );
}

fn found(report: &Report) -> Vec<(FindingKind, &str)> {
    let findings = report.summary.findings.iter();
    findings
        .map(|finding| (finding.kind, &finding.text[..]))
        .collect()
}

/// A dead receiver: its link swallows what is sent to it, and a QP without retries gives up.
#[test]
fn what_is_sent_in_vain_is_found() {
    let died = "events = [{ at = \"50 us\", do.die = \"r\" }]";
    let mut scenario = star(&format!("{died}\n{SWITCH}"));
    for flow in &mut scenario.flows {
        flow.timeout = 2;
        flow.retries = 1;
    }
    let report = run_watched(&scenario, &[]);
    let metrics = &report.summary.metrics;
    assert_eq!(metrics["failed_qps"], 2.0);
    let lost = metrics["link_losses"];
    let vanished =
        format!("{lost} frames vanished on the way from t to r: link down, or host dead");
    let gave_up = |host| format!("one QP of {host} ended in error: retries were used up");
    let [a, b] = ["a", "b"].map(gave_up);
    let expected = [
        (FindingKind::FailedQps, &a[..]),
        (FindingKind::FailedQps, &b),
        (FindingKind::BlackHole, &vanished),
    ];
    assert_eq!(found(&report), expected);
    // The table of drops has the same frames.
    let drops = report.summary.drops.iter();
    let drops: Vec<(&str, &str, f64)> = drops
        .map(|drop| (&drop.node[..], &drop.reason[..], drop.count as f64))
        .collect();
    assert_eq!(drops, [("t → r", "link", lost)]);
}

/// A switch that is cut off from the receiver has no way for its packets.
#[test]
fn a_black_hole_is_found() {
    let down = "events = [{ at = \"50 us\", do.link_down = [\"t\", \"r\"] }]";
    let report = ran(&format!("{down}\n{SWITCH}"));
    let kinds: Vec<&str> = (found(&report).iter())
        .filter(|(kind, _)| *kind == FindingKind::BlackHole)
        .map(|(_, text)| *text)
        .collect();
    assert!(
        kinds
            .iter()
            .any(|text| text.contains("nowhere to go at t: link down")),
        "{kinds:?}"
    );
}

/// Findings and notes are in the JSON also when there are none; a storm that is over when the measured window begins
/// is one of the run and not of the window.
#[test]
fn json_has_findings_notes_and_those_of_the_window() {
    let storm = "events = [{ at = \"1 ms\", do.pause_storm = { host = \"r\", for = \"2 ms\" } }]";
    let window = "measure_from = \"6 ms\"";
    let xoff = "xoff = { static = \"24 KB\" }";
    let scenario = star_for("8 ms", &format!("{window}\n{storm}\n{SWITCH}{xoff}"));
    let report = run_watched(&scenario, &[]);
    let metrics = &report.summary.metrics;
    assert_eq!((metrics["storms"], metrics["measured_storms"]), (1.0, 0.0));
    let quiet = ran(&format!("{SWITCH}{xoff}"));
    let json = serde_json::to_value(&quiet.summary).unwrap();
    assert_eq!(json["findings"], serde_json::json!([]));
    assert_eq!(json["notes"], serde_json::json!([]));
}

/// Pauses of the event are the NIC's own: it counts them, and so many as the switch sees. One each 419.4 µs, half of
/// 65,535 quanta at 40 Gb/s, from 1 ms until the end at 5 ms.
#[test]
fn pauses_of_a_storm_are_counted_where_they_are_sent() {
    let storm = "events = [{ at = \"1 ms\", do.pause_storm = { host = \"r\" } }]";
    let scenario = star_for("5 ms", &format!("{storm}\n{SWITCH}"));
    let metrics = run_watched(&scenario, &[]).summary.metrics;
    assert_eq!(metrics["pause_frames_tx.r"], 10.0);
    assert_eq!(metrics["pause_frames_rx.t"], 10.0);
}

/// What the event sends is captured at the port of the host that sends it, and at that of the switch where it arrives.
#[test]
fn pauses_of_a_storm_are_captured_where_they_are_sent() {
    let storm = "events = [{ at = \"1 ms\", do.pause_storm = { host = \"r\" } }]";
    let scenario = star_for("5 ms", &format!("{storm}\n{SWITCH}"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.pcapng");
    let scenario = scenario.checked().unwrap();
    let options = RunOptions {
        capture: Some((execute::all_ports(&scenario), path.clone())),
        ..RunOptions::new(xoff_cosim::endpoints())
    };
    execute::run(&scenario, &options).unwrap();
    let mut captured: BTreeMap<(String, Option<Direction>), Vec<u64>> = BTreeMap::new();
    let mut reader = capture::open(&path).unwrap();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        if parse(&record.bytes).verdict == Verdict::Pfc {
            let port = reader.interfaces()[record.interface].name.clone().unwrap();
            let at = captured.entry((port, record.direction)).or_default();
            at.push(record.time_ns);
        }
    }
    let sent = ("r.0".to_owned(), Some(Direction::Sent));
    let received = ("t.2".to_owned(), Some(Direction::Received));
    let ports: Vec<_> = captured.keys().cloned().collect();
    assert_eq!(ports, [sent.clone(), received.clone()]);
    // Each half of 65,535 quanta, behind at most a frame that was just being sent.
    let due = (0..10).map(|number| 1_000_000 + 419_424 * number);
    assert_eq!(captured[&sent].len(), 10);
    for (at, due) in captured[&sent].iter().zip(due) {
        assert!((due..due + 500).contains(at), "{at} {due}");
    }
    assert_eq!(captured[&received].len(), 10);
}

/// Two racks. `h` stops everything from 1 ms on for a while, so `slow` fills the way to it, and the flows from `b` to
/// `r` stand because of that.
fn racks(more: &str) -> Report {
    let text = format!(
        r#"
        title = "two racks"
        duration = "8 ms"
        host.nic = "model"
        hosts = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }}, {{ name = "h" }}, {{ name = "r" }}]
        switches = [{{ name = "t0", xoff.static = "40 KB" }}, {{ name = "t1", xoff.static = "40 KB" }}]
        events = [{{ at = "1 ms", do.pause_storm = {{ host = "h", for = "2 ms" }} }}]
        links = [
            {{ ends = ["a", "t0"] }},
            {{ ends = ["b", "t0"] }},
            {{ ends = ["c", "t0"] }},
            {{ ends = ["h", "t1"] }},
            {{ ends = ["r", "t1"] }},
            {{ ends = ["t0", "t1"] }},
        ]
        {more}
        [[flows]]
        name = "slow"
        from = "a"
        to = "h"
        [[flows]]
        name = "beside"
        from = "b"
        to = "r"
        qps = 8"#
    );
    let source = Source {
        name: "racks".into(),
        origin: "racks".into(),
        text,
        folder: Default::default(),
    };
    run_watched(&source.read(&[]).unwrap(), &[])
}

fn victims(report: &Report) -> Vec<&Finding> {
    let findings = report.summary.findings.iter();
    findings
        .filter(|finding| finding.kind == FindingKind::Victim)
        .collect()
}

#[test]
fn victims_of_one_entry_are_one_line() {
    let report = racks("");
    assert_eq!(report.summary.metrics["victims"], 8.0);
    let [victims] = victims(&report)[..] else {
        panic!("{:#?}", victims(&report));
    };
    assert!(
        victims.text.starts_with("8 flows of beside stood for "),
        "{victims:?}"
    );
    assert!(
        victims
            .text
            .ends_with(", because of h that pauses, which is not on their paths"),
        "{victims:?}"
    );
    assert_eq!(victims.details, [""; 0]);
}

/// Another entry is counted with them, and has a line of its own below.
#[test]
fn victims_of_several_entries_are_one_line_with_details() {
    let report = racks("[[flows]]\nname = \"other\"\nfrom = \"c\"\nto = \"r\"");
    // Behind it comes `slow`, which stands for a moment when the others start again.
    let all = victims(&report)[0];
    assert!(all.text.starts_with("9 flows stood for "), "{all:?}");
    let details = all.details.iter();
    let of: BTreeSet<&str> = details.filter_map(|line| line.split(':').next()).collect();
    let expected = ["8 flows of beside at b → t0", "flow other at c → t0"];
    assert_eq!(of, expected.into());
}

/// Deadlocks, storms and victims of the run, and those of the measured window, as the JSON has them.
fn run_and_window(summary: &Summary, what: &str) -> (f64, f64) {
    let json = serde_json::to_value(summary).unwrap();
    let of = |name: &str| json["metrics"][name].as_f64().unwrap();
    (of(what), of(&format!("measured_{what}")))
}

/// The storm ends at 3 ms, and what it has stopped has moved soon after.
#[test]
fn storms_and_victims_before_the_window_are_those_of_the_run_alone() {
    for (from, storms, victims) in [("6 ms", 0.0, 0.0), ("2 ms", 1.0, 8.0)] {
        let summary = racks(&format!("measure_from = \"{from}\"")).summary;
        assert_eq!(run_and_window(&summary, "storms"), (1.0, storms), "{from}");
        assert_eq!(
            run_and_window(&summary, "victims"),
            (8.0, victims),
            "{from}"
        );
    }
}

/// The third flow locks the ring at 2.975 ms, and ends; a watchdog breaks the cycle 2 ms later. What two flows do then
/// is no deadlock.
#[test]
fn a_deadlock_before_the_window_is_one_of_the_run_alone() {
    let watchdog = "{ ports = \"all\", detect = \"2 ms\", restore = \"1 ms\" }";
    for (from, measured) in [("8 ms", 0.0), ("4 ms", 1.0)] {
        let settings = [
            ("switches.A.watchdog", watchdog),
            ("flows.three.count", "8"),
            ("duration", "12 ms"),
            ("measure_from", from),
        ];
        let summary = run_watched(&scenario("ring-deadlock", &settings), &[]).summary;
        assert_eq!(
            run_and_window(&summary, "deadlocks"),
            (1.0, measured),
            "{from}"
        );
    }
}
