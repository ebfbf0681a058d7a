//! `xoff shadow`: what it says of Linux's answers, and of input that cannot be judged.

use std::fs;

use serde_json::Value;

use crate::command_line::LOSS;
use crate::common::{argument, run, said};

const RNR: &str = "captures/rnr_nak_then_success_first30.pcap";
const RPING: &str = "captures/rping_ipv4_rdmacm_first39.pcap";
const VLAN: &str = "captures/vlan100.pcap";

fn judged(arguments: &[&str], code: i32) -> Value {
    let (out, err) = said(&[&["shadow", "--json"], arguments].concat(), [], code);
    assert_eq!(err, "");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn table_of_losses() {
    let path = argument("captures/loss_mtu256_all_ops.pcap");
    let said = run(
        &["shadow", &path, "--side", "192.0.2.2", "--model"],
        None,
        false,
    );
    said.outcome.expect("a good capture");
    let (_, text) = said.out.split_once("loss_mtu256_all_ops.pcap").unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn linuxs_answers_are_those_of_the_model() {
    for (capture, side, answers, rule) in [
        (LOSS, "192.0.2.2", 175, "lost-before-tap"),
        (RNR, "192.0.2.2", 10, "linux-nak-after-rnr"),
        (RPING, "192.0.2.1", 11, ""),
        (VLAN, "198.51.100.2", 38, ""),
    ] {
        let report = judged(&[capture, "--side", side, "--model"], 0);
        assert_eq!(report["answers"], answers, "{capture}");
        assert_eq!(report["different"], 0, "{capture}");
        let allowed = report["allowed"].as_object().unwrap();
        let sum: u64 = allowed.values().map(|it| it.as_u64().unwrap()).sum();
        assert_eq!(report["matched"].as_u64().unwrap() + sum, answers);
        match rule {
            "" => assert_eq!(sum, 0, "{capture}: {allowed:?}"),
            rule => assert!(allowed.contains_key(rule), "{capture}: {allowed:?}"),
        }
    }
}

/// The RTL NIC does, too: SENDs, WRITEs, READs and atomics.
#[test]
fn linuxs_answers_are_those_of_the_rtl() {
    let report = judged(&[RNR, "--side", "192.0.2.2"], 0);
    assert_eq!(
        (&report["answers"], &report["nic"]),
        (&10.into(), &"rtl".into())
    );
    let report = judged(&[VLAN, "--side", "198.51.100.2"], 0);
    assert_eq!(
        (&report["answers"], &report["different"]),
        (&38.into(), &0.into())
    );
    assert_eq!(report["unsupported"], serde_json::json!({}));
    assert_eq!(report["matched"], 38);
    let report = judged(&[RPING, "--side", "192.0.2.1"], 0);
    assert_eq!(
        (&report["answers"], &report["matched"]),
        (&11.into(), &11.into())
    );
}

#[test]
fn what_settings_say_is_judged() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let with = |text: &str, code| {
        fs::write(path, text).unwrap();
        let arguments = [RNR, "--side", "192.0.2.2", "--model", "--settings", path];
        said(&[&["shadow"], &arguments[..]].concat(), [], code)
    };
    let (out, _) = with("[[connection]]\nqpn = 0x44\nmsn = 3", 1);
    assert!(out.contains("different: msn"), "{out}");
    for (text, problem) in [
        (
            "[[connection]]\nqpn = 0x1000000",
            "connection.qpn: 0x1000000; 0xffffff is the largest",
        ),
        (
            "[[connection]]\nqpn = 1\nmtu = 100",
            "connection.mtu: 100; 256, 512",
        ),
        ("[[connection]]\nqp = 1", "unknown field `qp`"),
        (
            "[[region]]\nkey = 1\nbase = 1\nlength = 0x1000000000000",
            "region.length",
        ),
    ] {
        let (_, err) = with(text, 2);
        assert!(err.contains(path) && err.contains(problem), "{err}");
    }
}

#[test]
fn what_cannot_be_judged_is_said() {
    for (arguments, problem) in [
        (
            &[LOSS, "--side", "10.0.0.1"],
            "10.0.0.1: no packet is to this address; the capture has packets to 192.0.2.1",
        ),
        (
            &[LOSS, "--side", "192.0.2.1"],
            "192.0.2.1: no conversation of RC in which this end answers",
        ),
        (
            &["captures/udaddy_ud_rdmacm.pcap", "--side", "192.0.2.1"],
            "22 packets of UC and UD, which nothing answers",
        ),
        (
            &["captures/README.md", "--side", "192.0.2.1"],
            "captures/README.md",
        ),
    ] {
        let (out, err) = said(&[&["shadow", "--model"], &arguments[..]].concat(), [], 2);
        assert_eq!(out, "");
        assert!(err.contains(problem), "{err}");
    }
}

/// A run of Xoff is judged by the NIC that it has: all answers match, though those of a NIC at line rate come behind
/// later requests.
#[test]
fn the_answers_of_a_run_are_those_of_its_nic() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for (nic, count, answers) in [("model", "20", 160), ("rtl", "2", 16)] {
        for operation in ["write", "read"] {
            let settings = [
                format!("host.nic={nic}"),
                format!("flows.bulk.count={count}"),
                format!("flows.bulk.operation={operation}"),
            ];
            let mut arguments = vec!["run", "pair", "--pcap", "b", "--out", out];
            (settings.iter()).for_each(|setting| arguments.extend(["--set", setting]));
            drop(run(&arguments, None, false));
            let capture = folder.path().join("pair/capture.pcapng");
            let arguments = [capture.to_str().unwrap(), "--side", "10.0.0.2"];
            let model: &[&str] = if nic == "model" { &["--model"] } else { &[] };
            let report = judged(&[&arguments[..], model].concat(), 0);
            let answers = match operation {
                // Packets of 128 KiB each.
                "read" => count.parse::<u64>().unwrap() * 128,
                _ => answers,
            };
            assert_eq!(report["matched"], answers, "{nic} {operation}: {report}");
            assert_eq!(report["answers"], answers, "{nic} {operation}: {report}");
        }
    }
}
