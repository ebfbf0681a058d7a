//! READs by and from hosts with the RTL NIC: every byte is that of its address, every message comes once, and the
//! monitors at all ports find nothing.

use xoff_network::scenario::Scenario;
use xoff_sim::switch::Limit;
use xoff_sim::time::{ByteCount, Duration};
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

/// Two NICs READ each other, with long and short READs and atomics, while a third host WRITEs to both. The switch pauses
/// all three, and the buses of the two, which take 24 Gb/s, make them pause the switch. So both buses are full, also in
/// the last fifth of a run of so many microseconds, and the QPs of a flow have the same share. Returns how many frames
/// were seen, each at two ports.
fn reads_under_pauses(micros: u64) -> u64 {
    let flows = [
        ("long_b", ["b", "c"], "read", "4 KiB", 4),
        ("short_b", ["b", "c"], "read", "64 B", 2),
        ("atomic_b", ["b", "c"], "fetch_add", "8 B", 1),
        ("into_b", ["a", "b"], "write", "4 KiB", 2),
        ("long_c", ["c", "b"], "read", "4 KiB", 4),
        ("short_c", ["c", "b"], "read", "64 B", 2),
        ("atomic_c", ["c", "b"], "fetch_add", "8 B", 1),
        ("into_c", ["a", "c"], "write", "4 KiB", 2),
    ];
    let text = flows.map(|(name, ends, operation, message, qps)| {
        let more = format!("message = \"{message}\"\nqps = {qps}\nmtu = 256");
        flow(name, ends, operation, &more)
    });
    let mut scenario = scenario("", &text.concat());
    for host in &mut scenario.hosts[1..] {
        host.pcie_rate = Some("24 Gb/s".parse().unwrap());
    }
    scenario.switches[0].xoff = Limit::Static(ByteCount::new(24_470));
    scenario.duration = Duration::from_us(micros);
    scenario.measure_from = Duration::from_us(micros - micros / 5);
    let summary = ran(&scenario).summary;
    let metrics = &summary.metrics;
    for node in ["b", "c", "s"] {
        let pauses = metrics[format!("pause_frames_tx.{node}").as_str()];
        assert!(pauses > micros as f64 / 50.0, "{node}: {pauses} pauses");
    }
    for host in ["b", "c"] {
        let mut all = 0.0;
        for (name, _, _, _, qps) in flows.into_iter().filter(|flow| flow.0.ends_with(host)) {
            let of = |qp| match qps {
                1 => metrics[format!("goodput_gbps.{name}").as_str()],
                _ => metrics[format!("goodput_gbps.{name}.{qp}").as_str()],
            };
            let shares: Vec<f64> = (0..qps).map(of).collect();
            assert!(
                shares.iter().all(|share| *share > 0.9 * shares[0]),
                "{name}: {shares:?}"
            );
            all += shares.iter().sum::<f64>();
        }
        println!("{host}: {all} Gb/s");
        assert!((all / 24.0 - 1.0).abs() < 0.02, "{host}: {all} Gb/s");
    }
    assert_eq!(metrics["deadlocks"], 0.0);
    summary.monitored.map_or(0, |monitored| monitored.frames)
}

#[test]
fn two_nics_read_each_other_under_pauses() {
    assert!(reads_under_pauses(1_500) > 2 * 80_000);
}

#[test]
#[ignore = "some ten minutes: make check-all"]
fn ten_million_packets_of_reads_under_pauses() {
    assert!(reads_under_pauses(180_000) > 2 * 10_000_000);
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

/// Atomics of RTL and model NICs, with losses: 200 messages, each of which is performed once.
#[test]
fn atomics_are_performed_once() {
    for ends in PAIRS {
        for operation in ["fetch_add", "cmp_swap"] {
            let more = "message = \"8 B\"\ncount = 200\ntimeout = 2";
            let atomic = flow("f", ends, operation, more);
            let report = ran(&scenario("\"chance 1/50: drop\"", &atomic));
            let delivered = report.summary.metrics["messages.f"];
            assert_eq!(delivered, 200.0, "{ends:?} {operation}");
        }
    }
}

/// All operations take turns on each of four QPs, with losses: every message arrives once, at the end that its operation
/// brings it to.
#[test]
fn operations_take_turns() {
    let mix = "mix = { send = 2, send_imm = 1, write = 3, write_imm = 1, read = 3, cmp_swap = 1, fetch_add = 1 }";
    for ends in PAIRS {
        let more = format!("{mix}\nmessage = \"3000 B\"\ncount = 120\nqps = 4\ntimeout = 2");
        let report = ran(&scenario(
            "\"chance 1/100: drop\"",
            &flow("f", ends, "write", &more),
        ));
        for qp in 0..4 {
            let delivered = report.summary.metrics[format!("messages.f.{qp}").as_str()];
            assert_eq!(delivered, 120.0, "{ends:?} {qp}");
        }
    }
}

/// READs and WRITEs in turn on a QP fill the wire in both directions: what one brings leaves the other's wire free.
#[test]
fn a_mix_fills_both_wires() {
    for ends in PAIRS {
        let more = "mix = { read = 1, write = 1 }\nmessage = \"4 KiB\"\nqps = 4";
        let report = ran(&scenario("", &flow("f", ends, "write", more)));
        let all: f64 = (0..4).map(|qp| goodput(&report, &format!("f.{qp}"))).sum();
        println!("{ends:?}: {all} Gb/s");
        assert!(all > 72.0 && all < 74.0, "{ends:?}: {all}");
    }
}

/// Goodput of a run in Gb/s.
fn goodput(report: &Report, flow: &str) -> f64 {
    report.summary.metrics[format!("goodput_gbps.{flow}").as_str()]
}

/// READs of 4 KiB fill the wire although the host's memory is 1 us away, at both ends.
#[test]
fn reads_fill_the_wire_over_a_slow_bus() {
    for ends in PAIRS {
        let read = flow("f", ends, "read", "message = \"4 KiB\"");
        let slow = format!("{read}[host]\npcie_latency = \"1 us\"\n");
        let goodput = goodput(&ran(&scenario("", &slow)), "f");
        println!("{ends:?}: {goodput} Gb/s");
        assert!(goodput > 36.6 && goodput < 37.1, "{ends:?}: {goodput}");
    }
}

/// A bus that is slower than the wire has its rate, whatever part of a cycle a beat takes on it: for what arrives by
/// WRITEs, for what is read, and for what READs bring.
#[test]
fn a_slow_bus_has_its_rate() {
    for ends in PAIRS {
        for gbps in [20.0, 32.0] {
            for (operation, at) in [("write", ends[1]), ("read", ends[1]), ("read", ends[0])] {
                let f = flow("f", ends, operation, "message = \"4 KiB\"");
                let mut scenario = scenario("", &f);
                let mut hosts = scenario.hosts.iter_mut();
                let host = hosts.find(|host| host.name == at).unwrap();
                host.pcie_rate = Some(format!("{gbps} Gb/s").parse().unwrap());
                let goodput = goodput(&ran(&scenario), "f");
                println!("{operation} {ends:?}, bus of {at}: {goodput} Gb/s of {gbps}");
                assert!(
                    (goodput / gbps - 1.0).abs() < 0.01,
                    "{ends:?} {operation} {at}: {goodput}"
                );
            }
        }
    }
}

/// What limits READs of a byte is the number that may be unanswered: 8 of them bring 8 times what one brings, which
/// takes a round trip.
#[test]
fn short_reads_are_limited_by_what_is_granted() {
    let many = |limit: u32| {
        let read = flow("f", ["b", "c"], "read", "message = \"1 B\"");
        let text = format!("{read}[host]\nmax_rd_atomic = {limit}\n");
        ran(&scenario("", &text)).summary.metrics["messages.f"]
    };
    let (one, eight) = (many(1), many(8));
    println!("{one} and {eight} messages");
    assert!((eight / (8.0 * one) - 1.0).abs() < 0.05, "{one} {eight}");
}

/// Losses of READs on eight QPs do not slow a ninth.
#[test]
fn losses_of_eight_do_not_slow_a_ninth() {
    for ends in PAIRS {
        let more = "message = \"16 KiB\"\ntimeout = 4";
        let flows: String = (0..9)
            .map(|n| flow(&format!("f{n}"), ends, "read", more))
            .collect();
        // The first QP of a host has number 0x100. That of the ninth flow loses nothing.
        let rules: Vec<_> = (0..8)
            .map(|n| format!("\"read_response, qpn {:#x}, chance 1/50: drop\"", 0x100 + n))
            .collect();
        let [without, with] =
            ["", &rules.join(", ")].map(|rules| goodput(&ran(&scenario(rules, &flows)), "f8"));
        println!("{ends:?}: {without} Gb/s, {with} with losses of others");
        assert!(with > 0.98 * without, "{ends:?}: {without} {with}");
    }
}

/// What arrives of a READ with wrong bits is not taken for its data, and marks slow the NIC that is read. What comes twice
/// or late breaks rules of the monitors: the property of the NIC has it.
#[test]
fn whatever_becomes_of_responses_the_data_is_right() {
    for ends in PAIRS {
        for action in ["corrupt", "ecn"] {
            let more = "message = \"16 KiB\"\ncount = 100\ntimeout = 4";
            let read = flow("f", ends, "read", more);
            let rules = format!("\"read_response, chance 1/20: {action}\"");
            let report = ran(&scenario(&rules, &format!("{read}[host.dcqcn]\n")));
            let metrics = &report.summary.metrics;
            let messages = metrics["messages.f"];
            assert_eq!(messages < 100.0, action == "ecn", "{ends:?} {action}");
            let cnps = metrics[format!("cnps_rx.{}", ends[1]).as_str()];
            assert_eq!(cnps > 0.0, action == "ecn", "{ends:?} {action}: {cnps}");
        }
    }
}
