//! Flows in lockstep and patterns: a ring all-reduce against its closed form.

use crate::common::said;
use crate::scenario_runs::scenario;
use xoff::run::execute::{self, RunOptions};
use xoff_network::scenario::NicKind;

/// What a frame of 1,024 bytes of payload takes at 40 Gb/s: 1,024 and 62 of headers, ICRC and FCS, 20 of preamble and gap.
const FRAME_NS: f64 = 1_106.0 * 8.0 / 40.0;

/// The time of a ring all-reduce of `hosts` hosts, whose steps have so many frames, in nanoseconds.
fn time(nic: &str, hosts: u32, frames: u32) -> f64 {
    let settings = [
        ("host.nic", nic),
        ("topology.star.hosts", &hosts.to_string()),
        ("flows.ring.count", &(2 * (hosts - 1)).to_string()),
        ("flows.ring.message", &format!("{frames} KiB")),
        ("duration", "4 ms"),
    ];
    let scenario = scenario("allreduce", &settings);
    let options = RunOptions::new(xoff_cosim::endpoints());
    let summary = execute::run(&scenario.checked().unwrap(), &options)
        .unwrap()
        .summary;
    assert_eq!(summary.metrics["flows_unfinished.ring"], 0.0);
    assert_eq!(summary.metrics["payload_errors"], 0.0);
    summary.metrics["flow_completion_ns.ring.p999"]
}

/// What a step of a frame takes besides the wire, and what the last acknowledgement takes: from rings of four and eight
/// hosts, which have 6 and 14 steps.
fn latencies(nic: &str) -> (f64, f64) {
    let [four, eight] = [4, 8].map(|hosts| time(nic, hosts, 1));
    let step = (eight - four) / 8.0;
    (step - FRAME_NS, four - 6.0 * step)
}

/// 2 (n - 1) steps, each of the frames' time on the wire and a latency that does not depend on them.
#[test]
fn a_ring_takes_the_time_of_its_closed_form() {
    let (latency, last) = latencies("model");
    for (hosts, frames) in [(4, 64), (16, 1), (16, 64), (16, 256), (64, 16)] {
        let steps = f64::from(2 * (hosts - 1));
        let expected = steps * (f64::from(frames) * FRAME_NS + latency) + last;
        let measured = time("model", hosts, frames);
        let off = measured / expected - 1.0;
        assert!(
            off.abs() < 0.03,
            "{hosts} hosts, {frames} frames: {measured}, not {expected}"
        );
    }
}

#[test]
fn a_ring_of_16_rtl_nics_takes_the_time_of_its_closed_form() {
    let (latency, last) = latencies("rtl");
    let expected = 30.0 * (64.0 * FRAME_NS + latency) + last;
    let measured = time("rtl", 16, 64);
    assert!(
        (measured / expected - 1.0).abs() < 0.03,
        "{measured}, not {expected}"
    );
}

/// The time of a round of a pattern among 16 hosts, whose data are so many KiB, and its bus bandwidth.
fn round(nic: NicKind, pattern: &str, kib: u32) -> (f64, f64) {
    let settings = [
        ("topology.star.hosts", "16"),
        ("flows.reduce.pattern", pattern),
        ("flows.reduce.message", &format!("{kib} KiB")),
        ("duration", "3 ms"),
    ];
    let mut scenario = scenario("collectives", &settings);
    // An RTL NIC has QPs for this entry, not for all.
    scenario.flows.truncate(1);
    scenario.host.nic = nic;
    scenario.expect.clear();
    let options = RunOptions::new(xoff_cosim::endpoints());
    let metrics = execute::run(&scenario.checked().unwrap(), &options)
        .unwrap()
        .summary
        .metrics;
    assert_eq!(metrics["job_rounds.reduce"], 1.0);
    assert_eq!(metrics["payload_errors"], 0.0);
    let time = metrics["job_completion_ns.reduce.p50"];
    (time, metrics["bus_bandwidth_gbps.reduce"])
}

/// 2(n − 1)/n · S/B + 2(n − 1) · latency, with the latency from a ring of one frame a step.
#[test]
fn the_pattern_of_16_rtl_nics_takes_the_time_of_its_closed_form() {
    let (short, _) = round(NicKind::Rtl, "ring-all-reduce", 16);
    let latency = short / 30.0 - FRAME_NS;
    let (measured, bandwidth) = round(NicKind::Rtl, "ring-all-reduce", 16 * 64);
    let expected = 30.0 * (64.0 * FRAME_NS + latency);
    assert!(
        (measured / expected - 1.0).abs() < 0.03,
        "{measured}, not {expected}"
    );
    let bytes = 2.0 * 15.0 / 16.0 * f64::from(1 << 20);
    assert!((bandwidth - bytes * 8.0 / measured).abs() < 1e-6);
}

/// RTL and model NICs go through the same gates: their rounds differ by latencies of the NICs alone.
#[test]
fn patterns_of_rtl_and_model_nics_take_the_same_time() {
    for pattern in [
        "halving-doubling-all-reduce",
        "all-to-all",
        "tree-all-reduce",
    ] {
        let [(rtl, _), (model, _)] =
            [NicKind::Rtl, NicKind::Model].map(|nic| round(nic, pattern, 256));
        assert!((rtl / model - 1.0).abs() < 0.1, "{pattern}: {rtl}, {model}");
    }
}

/// A host that is late makes the whole ring late: nobody goes on without the step before.
#[test]
fn a_ring_waits_for_its_slowest() {
    let usual = time("model", 16, 16);
    let mut slow = scenario(
        "allreduce",
        &[
            ("host.nic", "model"),
            ("flows.ring.message", "16 KiB"),
            ("duration", "4 ms"),
        ],
    );
    let stall = "at = '30 us'\ndo.stall = { host = 'h5', for = '500 us' }";
    slow.events.push(toml::from_str(stall).unwrap());
    let options = RunOptions::new(xoff_cosim::endpoints());
    let metrics = execute::run(&slow.checked().unwrap(), &options)
        .unwrap()
        .summary
        .metrics;
    let fastest = metrics["flow_completion_ns.ring.p50"];
    assert!(fastest > usual + 400_000.0, "{fastest}, {usual}");
}

#[test]
fn what_is_no_ring_is_refused() {
    let why = "lockstep: each of the hosts has to send to one and to receive from one";
    for (key, value) in [
        ("flows.ring.to", "h0"),
        ("flows.ring.qps", "2"),
        ("flows.ring.pairs", "each"),
    ] {
        let setting = format!("{key}={value}");
        let (_, said) = said(&["run", "allreduce", "--set", &setting], [], 2);
        assert!(said.contains(why), "{key}={value}: {said}");
    }
}
