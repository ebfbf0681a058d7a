//! Tests of `xoff check` as a process: findings in captures of real NICs and of scenarios, and rejected input.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::command_line::{CAPTURES, LOSS};
use crate::common::said;
use crate::common::{file, xoff};

/// Runs `xoff check --json` and expects the exit code that its violations imply.
fn checked(arguments: &[&str], code: i32) -> Value {
    let (out, err) = said(&[&["check", "--json"], arguments].concat(), [], code);
    assert_eq!(err, "");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        report["violations"].as_array().unwrap().is_empty(),
        code == 0
    );
    report
}

#[test]
fn check_finds_in_real_captures_what_was_damaged_and_nothing_else() {
    for (capture, frames, other) in [
        (CAPTURES[0], 438, 0),
        (CAPTURES[1], 114, 1),
        (CAPTURES[2], 22, 0),
        (CAPTURES[3], 89, 4),
    ] {
        let report = checked(&[capture], 0);
        assert_eq!(report["frames"], frames, "{capture}");
        assert_eq!(report["kinds"]["other"], other, "{capture}");
        let rules = report["rules"].as_array().unwrap();
        assert_eq!(rules.len(), xoff_monitor::Rule::ALL.len());
        assert!(
            rules
                .iter()
                .any(|rule| rule["rule"] == "icrc" && rule["checked"].as_u64() > Some(20))
        );
    }
    let report = checked(&[CAPTURES[4]], 1);
    let broken = |rule: &str| {
        let violations = report["violations"].as_array().unwrap().iter();
        violations.filter(|it| it["rule"] == rule).count()
    };
    assert_eq!(
        (broken("icrc"), broken("ip-checksum"), broken("opcode")),
        (15, 2, 1)
    );
    assert_eq!(report["violations"][0]["frame"], 1);
    let remarks = checked(&[LOSS], 0);
    let remarks: Vec<_> = remarks["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["remark"].clone())
        .collect();
    for habit in [
        "ack-coalesced",
        "ack-again",
        "read-again-middle",
        "resend-whole",
    ] {
        assert!(remarks.contains(&habit.into()), "{habit} in {remarks:?}");
    }
}

#[test]
fn check_takes_every_port_of_a_run_as_a_tap() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for settings in [
        &[
            "pair",
            "--set",
            "links.0.faults=[\"src 10.0.0.1, chance 1/40: drop\"]",
            "--set",
            "flows.bulk.message=20 KB",
        ][..],
        &[
            "incast",
            "--set",
            "variant=static",
            "--set",
            "measure_from=0 us",
            "--set",
            "switches.t.ecn.pmax=1.0",
        ],
    ] {
        let run = [
            "run",
            "--pcap",
            "all",
            "--set",
            "host.nic=model",
            "--set",
            "duration=400 us",
            "--out",
            out,
        ];
        let _ = xoff().args([&run[..], settings].concat()).output().unwrap();
        let capture = format!("{out}/{}/capture.pcapng", settings[0]);
        let hosts = if settings[0] == "pair" {
            "a.0,b.0"
        } else {
            "s0.0,s1.0,r.0"
        };
        let report = checked(
            &[&capture, "--host-port", hosts, "--cnp-interval", "50us"],
            0,
        );
        let count = |rule: &str| {
            let mut rules = report["rules"].as_array().unwrap().iter();
            rules.find(|it| it["rule"] == rule).unwrap()["checked"]
                .as_u64()
                .unwrap()
        };
        assert!(count("psn-order") > 300);
        let rule = if settings[0] == "pair" {
            "resend-start"
        } else {
            "pause-obeyed"
        };
        assert!(count(rule) > 3, "{rule}");
    }
    // The same frames, judged by a CNP interval that no receiver keeps.
    let capture = format!("{out}/incast/capture.pcapng");
    let report = checked(&[&capture, "--cnp-interval", "1ms"], 1);
    assert_eq!(report["violations"][0]["rule"], "cnp-interval");
    assert!(
        report["violations"][0]["interface"]
            .as_str()
            .unwrap()
            .contains('.')
    );
}

/// The IPv4 frames of a capture of RoCE packets that host 192.0.2.`host` sent, or all others.
fn of_host(whole: &[u8], host: u8, sent: bool) -> Vec<u8> {
    let (head, mut rest) = whole.split_at(24);
    let mut part = head.to_vec();
    while !rest.is_empty() {
        let bytes = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(16 + bytes);
        // The last byte of the source address.
        if (record[16 + 14 + 15] == host) == sent {
            part.extend(record);
        }
        rest = behind;
    }
    part
}

#[test]
fn several_captures_are_taps_of_one_network() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(file(LOSS)).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // A capture with what one host sent, and one with what the other sent.
    let a = write("a.pcap", &of_host(&whole, 1, true));
    let b = write("b.pcap", &of_host(&whole, 1, false));
    let report = checked(&[&b, &a], 0);
    assert_eq!(report["frames"], 438);
    // Both taps see the whole connection: each rule applies twice as often as with one.
    let copy = write("copy.pcap", &whole);
    let (one, two) = (checked(&[LOSS], 0), checked(&[LOSS, &copy], 0));
    let count = |report: &Value| {
        let rules = report["rules"].as_array().unwrap().iter();
        rules
            .map(|rule| rule["checked"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let twice: Vec<u64> = count(&one).iter().map(|count| 2 * count).collect();
    assert_eq!(count(&two), twice);
    // Taps have the names of their files.
    let corrupt = write("corrupt.pcap", &fs::read(file(CAPTURES[4])).unwrap());
    let report = checked(&[&a, &corrupt], 1);
    let violations = report["violations"].as_array().unwrap();
    assert!(
        violations
            .iter()
            .all(|it| it["interface"] == "corrupt.pcap"),
        "{violations:?}"
    );
    let (_, err) = said(&["check", &a, &b, "--host-port", "c.pcap"], [], 2);
    assert!(
        err.ends_with("no interface of that name; there are: a.pcap, b.pcap\n"),
        "{err}"
    );
    let (_, err) = said(&["check", &a, &a], [], 2);
    assert!(err.contains("a.pcap: named twice"), "{err}");
}

/// A plain pcap records neither names nor directions: its file names the port, the host's address the directions.
#[test]
fn a_plain_pcap_may_be_the_port_of_a_host() {
    const PAST_READ: &str = "data/ack_past_read.pcap";
    let applied = |report: &Value, rule: &str| {
        let rules = report["rules"].as_array().unwrap();
        let found = rules.iter().find(|it| it["rule"] == rule).unwrap();
        found["checked"].as_u64().unwrap()
    };
    // On the way the response may be lost before the tap.
    let report = checked(&[PAST_READ], 0);
    assert_eq!(report["remarks"][0]["remark"], "read-passed");
    assert_eq!(applied(&report, "psn-order"), 0);
    // The requester's port: so it is there.
    for host in ["10.0.0.1", "02:00:00:00:00:01"] {
        let port = format!("ack_past_read.pcap={host}");
        let mac = fs::read(file(PAST_READ)).unwrap()[46..52].to_vec();
        let mac: Vec<_> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        let port = port.replace("02:00:00:00:00:01", &mac.join(":"));
        let report = checked(&[PAST_READ, "--host-port", &port], 0);
        assert_eq!(applied(&report, "psn-order"), 1, "{port}");
    }
    // The responder's port: it was not sent.
    for port in [
        "ack_past_read.pcap=10.0.0.2",
        "data/ack_past_read.pcap=10.0.0.2",
    ] {
        let report = checked(&[PAST_READ, "--host-port", port], 1);
        assert_eq!(report["violations"][0]["rule"], "ack-past-read");
        assert_eq!(report["violations"][0]["frame"], 3);
    }
    let whole = fs::read(file(PAST_READ)).unwrap();
    let (out, _) = said(
        &["check", "-", "--host-port", "standard input=10.0.0.2"],
        whole,
        1,
    );
    assert!(out.contains("ack-past-read"), "{out}");
    let (_, err) = said(
        &["check", PAST_READ, "--host-port", "ack_past_read.pcap"],
        [],
        2,
    );
    assert!(
        err.ends_with(
            "record 1: --host-port ack_past_read.pcap: the frames have no direction, so that the host's address is \
             needed: ack_past_read.pcap=10.0.0.1 or ack_past_read.pcap=10.0.0.2\n"
        ),
        "{err}"
    );
    let (_, err) = said(&["check", PAST_READ, "--host-port", "a=10.0.0"], [], 2);
    assert!(err.contains("'10.0.0' is no address of a host"), "{err}");
}

/// Rules that a device is known to break do not fail the check.
#[test]
fn violations_of_rules_that_are_known_to_be_broken_are_counted_apart() {
    const PAST_READ: &str = "data/ack_past_read.pcap";
    let port = ["--host-port", "ack_past_read.pcap=10.0.0.2"];
    let known = ["--breaks", "ack-past-read,msn"];
    let report = checked(&[&[PAST_READ], &port[..], &known].concat(), 0);
    assert_eq!(report["by_design"][0]["rule"], "ack-past-read");
    let (out, _) = said(&[&["check", PAST_READ], &port[..], &known].concat(), [], 0);
    assert!(
        out.contains("0 violations, 1 of rules that --breaks names"),
        "{out}"
    );
    // Other rules do.
    checked(&[&[PAST_READ], &port[..], &["--breaks", "msn"]].concat(), 1);
    let (_, err) = said(&["check", PAST_READ, "--breaks", "mns"], [], 2);
    assert!(
        err.contains("no rule 'mns': rules are icrc, ip-length"),
        "{err}"
    );
}

/// FLUSH and ATOMIC WRITE belong to the connection; `xoff decode` names them although the parser does not read them.
#[test]
fn flush_and_atomic_write_have_names() {
    const FLUSH: &str = "data/flush_atomic_write.pcap";
    let report = checked(&[FLUSH], 0);
    assert_eq!(report["remarks"].as_array().unwrap().len(), 0);
    let applied = |rule: &str| {
        let rules = report["rules"].as_array().unwrap();
        rules.iter().find(|it| it["rule"] == rule).unwrap()["checked"].clone()
    };
    assert_eq!(
        (applied("icrc"), applied("read-response"), applied("msn")),
        (5.into(), 1.into(), 1.into())
    );
    let (out, _) = said(&["decode", FLUSH], [], 0);
    for text in [
        "unread    10.0.0.1→10.0.0.2   RC_FLUSH",
        "RC_ATOMIC_WRITE",
        "5 frames: 3 roce_v2, 2 unread; ICRC 5 ok",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
    assert!(!out.contains("malformed"), "{out}");
    let (out, _) = said(&["decode", FLUSH, "--summary"], [], 0);
    assert!(
        out.contains("unread") && out.contains("RC_FLUSH") && !out.contains("malformed"),
        "{out}"
    );
    // An opcode of XRC: the frames' ICRC does not hold then, and nothing else is wrong with them.
    let mut xrc = fs::read(file(FLUSH)).unwrap();
    xrc[24 + 16 + 42] = 0xAA;
    let (out, _) = said(&["decode", "-"], xrc.clone(), 0);
    assert!(out.contains("XRC_WRITE_ONLY"), "{out}");
    let (out, _) = said(&["check", "-"], xrc, 1);
    assert!(
        out.contains("other-service")
            && out.contains("XRC_WRITE_ONLY")
            && !out.contains("malformed"),
        "{out}"
    );
}

#[test]
fn a_capture_that_no_rule_is_about_is_no_success() {
    // The header of a capture without frames.
    let whole = fs::read(file(LOSS)).unwrap();
    let (out, err) = said(&["check", "-"], &whole[..24], 2);
    assert!(out.contains("0 frames: 0 RoCE"), "{out}");
    assert_eq!(
        err,
        "xoff: standard input: nothing was checked: 0 frames, and no RoCE packet (UDP port 4791, EtherType 0x8915) \
         or pause among them\n"
    );
    // Another UDP port.
    let (mut at, mut other) = (24, whole);
    while at < other.len() {
        let bytes = u32::from_le_bytes(other[at + 8..at + 12].try_into().unwrap()) as usize;
        other[at + 16 + 36..at + 16 + 38].copy_from_slice(&[0x12, 0x34]);
        at += 16 + bytes;
    }
    let (_, err) = said(&["check", "--json", "-"], other, 2);
    assert!(err.contains("nothing was checked: 438 frames"), "{err}");
}

#[test]
fn json_has_every_violation() {
    // The same damaged frames 100 times: more violations than the table keeps.
    let whole = fs::read(file(CAPTURES[4])).unwrap();
    let (head, frames) = whole.split_at(24);
    let many = [head, &frames.repeat(100)].concat();
    let (out, _) = said(&["check", "--json", "-"], many.clone(), 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    let rules = report["rules"].as_array().unwrap().iter();
    let sum: u64 = rules.map(|rule| rule["violations"].as_u64().unwrap()).sum();
    let listed = report["violations"].as_array().unwrap().len() as u64;
    assert!(listed >= 1_500 && listed == sum, "{listed} of {sum}");
    let (out, _) = said(&["check", "-"], many, 1);
    assert!(out.contains(" more; --json has them"), "{out}");
}

#[test]
fn an_interrupted_check_or_decode_shows_what_came_until_then() {
    use std::io::Write as _;
    let whole = fs::read(file(LOSS)).unwrap();
    for (command, signal) in [("check", Signal::SIGINT), ("decode", Signal::SIGTERM)] {
        let mut process = std::process::Command::new(crate::PROGRAM)
            .args([command, "-"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A frame is cut, and the pipe stays open, as that of a live capture.
        let mut input = process.stdin.take().unwrap();
        input.write_all(&whole[..whole.len() - 10]).unwrap();
        input.flush().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        kill(Pid::from_raw(process.id() as i32), signal).unwrap();
        let output = process.wait_with_output().unwrap();
        drop(input);
        assert_eq!(output.status.code(), Some(130), "{command}");
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(out.contains("437 "), "{command}: {out}");
        assert!(err.starts_with("xoff: interrupted"), "{command}: {err}");
    }
}

#[test]
fn check_names_bad_input_and_keeps_what_was_found() {
    let (out, err) = said(&["check", "-"], "GIF89a..........", 2);
    assert!(
        out.is_empty() && err.contains("not a packet capture"),
        "{err}"
    );
    let (_, err) = said(&["check", "captures/none.pcap"], [], 2);
    assert!(
        err.contains("captures/none.pcap: cannot be opened"),
        "{err}"
    );
    let (_, err) = said(&["check", "captures"], [], 2);
    assert!(err.contains("a directory"), "{err}");
    let (_, err) = said(&["check", LOSS, "--host-port", "eth0"], [], 2);
    assert!(
        err.contains("--host-port eth0: no interface of that name"),
        "{err}"
    );
    let (_, err) = said(&["check", LOSS, "--rate", "41Gb/s"], [], 2);
    assert!(err.contains("10, 25, 40"), "{err}");
    let whole = fs::read(file(LOSS)).unwrap();
    let (out, err) = said(&["check", "-"], &whole[..whole.len() - 10], 2);
    assert!(out.contains("437 frames: 437 RoCE"), "{out}");
    assert!(err.contains("record 438"), "{err}");
}

/// A classic pcap with at most so many bytes of each frame, as `tcpdump -s` writes it.
fn cut(capture: &str, most: usize) -> Vec<u8> {
    let whole = fs::read(file(capture)).unwrap();
    assert_eq!(whole[3], 0xa1, "{capture} is in little-endian order");
    let (header, mut rest) = whole.split_at(24);
    let mut out = header.to_vec();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let kept = length.min(most);
        out.extend_from_slice(&rest[..8]);
        out.extend_from_slice(&(kept as u32).to_le_bytes());
        out.extend_from_slice(&rest[12..16 + kept]);
        rest = &rest[16 + length..];
    }
    out
}

/// Of frames that were cut behind their headers, all is judged but what needs the end: ICRC, UDP checksum and pad.
#[test]
fn check_judges_the_headers_of_frames_that_were_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    let path = path.to_str().unwrap();
    let tallies = |report: &Value| -> Vec<(String, Value)> {
        let rules = report["rules"].as_array().unwrap().iter();
        rules
            .map(|rule| {
                (
                    rule["rule"].as_str().unwrap().to_owned(),
                    rule["checked"].clone(),
                )
            })
            .collect()
    };
    for capture in &CAPTURES[..4] {
        let whole = checked(&[capture], 0);
        fs::write(path, cut(capture, 96)).unwrap();
        let part = checked(&[path], 0);
        assert_eq!(part["kinds"]["roce"], whole["kinds"]["roce"], "{capture}");
        assert_eq!(part["kinds"]["headless"], 0, "{capture}");
        let ends = part["kinds"]["cut"].as_u64().unwrap();
        assert!(ends > 0, "{capture}");
        for ((rule, all), (_, some)) in tallies(&whole).into_iter().zip(tallies(&part)) {
            let missing = all.as_u64().unwrap() - some.as_u64().unwrap();
            match &rule[..] {
                "icrc" => assert_eq!(missing, ends, "{capture}"),
                "udp-checksum" | "cnp-form" => assert!(missing <= ends, "{capture}: {rule}"),
                _ => assert_eq!(missing, 0, "{capture}: {rule}"),
            }
        }
        // The table says what is not judged.
        let (out, err) = said(&["check", path], [], 0);
        assert_eq!(err, "");
        assert!(
            out.contains(&format!("Of {ends} RoCE packets the end was not recorded")),
            "{out}"
        );
    }
    // What the headers show is found without the ends.
    fs::write(path, cut(CAPTURES[4], 96)).unwrap();
    let report = checked(&[path], 1);
    // Frames of up to 96 bytes are whole.
    for (rule, count) in [("icrc", 7), ("ip-checksum", 2), ("opcode", 1)] {
        let violations = report["violations"].as_array().unwrap().iter();
        assert_eq!(
            violations.filter(|it| it["rule"] == rule).count(),
            count,
            "{rule}"
        );
    }
    // A packet without headers is missing in its connection, which would break rules that it has kept.
    fs::write(path, cut(LOSS, 60)).unwrap();
    let (_, err) = said(&["check", path], [], 2);
    assert!(
        err.ends_with(
            "record 1: 60 of its 86 bytes were recorded, and headers are missing; record at least 128 of each frame \
             (tcpdump -s 128)\n"
        ),
        "{err}"
    );
}
