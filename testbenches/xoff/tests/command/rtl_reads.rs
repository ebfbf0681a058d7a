//! READs by and from hosts with the RTL NIC: every byte is that of its address, every message comes once, and the
//! monitors at all ports find nothing.

use xoff_network::scenario::Scenario;
use xoff_waves::report::Report;

use crate::scenario_runs::run_watched;

/// Three hosts at a switch: `a` with the model NIC, `b` and `c` with the RTL NIC. `s` may have fault rules.
fn scenario(rules: &str, flows: &str) -> Scenario {
    let text = format!(
        r#"
title = "READs by and from RTL NICs"
duration = "1100 us"
measure_from = "100 us"
[[hosts]]
name = "a"
nic = "model"
[[hosts]]
name = "b"
nic = "rtl"
[[hosts]]
name = "c"
nic = "rtl"
[[switches]]
name = "s"
faults = [{rules}]
[[links]]
ends = ["a", "s"]
[[links]]
ends = ["b", "s"]
[[links]]
ends = ["c", "s"]
{flows}"#
    );
    toml::from_str(&text).unwrap()
}

fn flow(name: &str, [from, to]: [&str; 2], operation: &str, more: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\noperation = \"{operation}\"\noutstanding = 16\n{more}\n"
    )
}

fn ran(scenario: &Scenario) -> Report {
    let report = run_watched(scenario, &[]);
    for wrong in ["payload_errors", "completion_errors", "failed_qps"] {
        assert_eq!(report.summary.metrics[wrong], 0.0, "{wrong}");
    }
    report
}

/// Who READs from whom.
const PAIRS: [[&str; 2]; 3] = [["a", "b"], ["b", "a"], ["b", "c"]];

/// READs of 4 KiB with an MTU of 1,024 fill the wire: 1,024 bytes of 1,106, less an AETH in half of the responses.
#[test]
fn reads_fill_the_wire() {
    for ends in PAIRS {
        let read = flow("f", ends, "read", "message = \"4 KiB\"");
        let report = ran(&scenario("", &read));
        let goodput = report.summary.metrics["goodput_gbps.f"];
        println!("{ends:?}: {goodput} Gb/s");
        assert!(goodput > 36.6 && goodput < 37.1, "{ends:?}: {goodput}");
    }
}

#[test]
fn what_is_lost_is_asked_again() {
    for ends in PAIRS {
        let read = flow(
            "f",
            ends,
            "read",
            "message = \"16 KiB\"\ncount = 100\ntimeout = 4",
        );
        for rules in ["\"chance 1/50: drop\"", "\"chance 1/200: drop\""] {
            let report = ran(&scenario(rules, &read));
            let delivered = report.summary.metrics["messages.f"];
            assert_eq!(delivered, 100.0, "{ends:?} {rules}");
        }
    }
}

/// NICs that READ from each other: both wires are full of responses, and of the requests of the other side.
#[test]
fn two_nics_read_each_other() {
    let flows = [
        flow("there", ["b", "c"], "read", "message = \"64 KiB\""),
        flow("back", ["c", "b"], "read", "message = \"64 KiB\""),
    ];
    let report = ran(&scenario("", &flows.concat()));
    for name in ["there", "back"] {
        let goodput = report.summary.metrics[format!("goodput_gbps.{name}").as_str()];
        println!("{name}: {goodput} Gb/s");
        assert!(goodput > 36.5, "{name}: {goodput}");
    }
}

/// WRITEs of the NIC that is read have the same wire: both get as many bytes of it.
#[test]
fn writes_and_responses_share_the_wire() {
    let flows = [
        flow("reads", ["a", "b"], "read", "message = \"64 KiB\""),
        flow("writes", ["b", "a"], "write", "message = \"64 KiB\""),
    ];
    let report = ran(&scenario("", &flows.concat()));
    let [reads, writes] = ["reads", "writes"]
        .map(|name| report.summary.metrics[format!("goodput_gbps.{name}").as_str()]);
    println!("{reads} and {writes} Gb/s");
    assert!(reads + writes > 36.6, "{reads} {writes}");
    assert!((reads - writes).abs() < 0.4, "{reads} {writes}");
}

#[test]
fn an_rtl_nic_has_no_atomics() {
    for (ends, does) in [(["b", "a"], "does"), (["a", "b"], "answers")] {
        let atomic = flow("f", ends, "fetch_add", "message = \"8 B\"");
        let error = xoff_cosim::simulation(&scenario("", &atomic))
            .err()
            .unwrap();
        let error = error.to_string();
        let told = format!(
            "the NIC of b {does} send, send_imm, write, write_imm, read; model NICs alone have atomics"
        );
        assert!(error.contains(&told), "{error}");
    }
}
