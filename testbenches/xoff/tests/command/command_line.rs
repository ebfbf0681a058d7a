//! Tests of the command as a process: exit codes, output kept when the input is broken, output streams.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{file, said, xoff};
use serde_json::Value;
use xoff_waves::capture::{self, Direction};

pub const LOSS: &str = "captures/loss_mtu256_all_ops.pcap";
pub const CAPTURES: [&str; 5] = [
    LOSS,
    "captures/nak_access_and_invalid.pcap",
    "captures/udaddy_ud_rdmacm.pcap",
    "captures/vlan100.pcap",
    "captures/corrupt_excerpt.pcap",
];

fn rows(jsonl: &str) -> Vec<Value> {
    jsonl
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_frame_of_real_captures_is_a_row() {
    // The numbers come from the records of the capturing hosts, not from code of this project.
    let facts = [
        (438, 438, 0),
        (114, 113, 0),
        (22, 22, 0),
        (89, 85, 0),
        (17, 0, 15),
    ];
    for (capture, (frames, ok, bad)) in CAPTURES.into_iter().zip(facts) {
        let (out, err) = said(&["decode", "--model", "--format", "jsonl", capture], [], 0);
        let rows = rows(&out);
        assert_eq!(err, "");
        assert_eq!(rows.len(), frames, "{capture}");
        let count = |icrc: bool| rows.iter().filter(|row| row["icrc_ok"] == icrc).count();
        assert_eq!((count(true), count(false)), (ok, bad), "{capture}");
    }
}

#[test]
fn rows_have_the_keys_of_the_contract() {
    let (out, _) = said(
        &[
            "decode", "--model", "--format", "jsonl", "--limit", "1", LOSS,
        ],
        [],
        0,
    );
    let expected = concat!(
        r#"{"frame":1,"time_ns":"1795226840457004000","bytes":86,"verdict":"roce_v2","#,
        r#""src_mac":"52:54:00:00:00:01","dst_mac":"52:54:00:00:00:02","ip_version":4,"src_ip":"192.0.2.1","#,
        r#""dst_ip":"192.0.2.2","dscp":0,"ecn":0,"ttl":64,"ip_id":8925,"dont_fragment":true,"src_port":56208,"#,
        r#""opcode":19,"name":"RC_CMP_SWAP","solicited":false,"mig_req":false,"pad":0,"pkey":65535,"fecn":false,"becn":false,"dest_qp":84,"ack_req":true,"psn":4096,"#,
        r#""va":"0x00007f3c273c2c30","rkey":16141,"compare":"0x5f877031bc1e3ac1","swap_add":"0xc527e27951c34250","#,
        r#""payload_bytes":0,"icrc_ok":true}"#
    );
    assert_eq!(out.trim_end(), expected);
}

#[test]
fn decode_encode_decode_gives_the_same_rows() {
    for capture in CAPTURES {
        let (first, _) = said(&["decode", "--model", "--format", "jsonl", capture], [], 0);
        let (_, left_out) = said(
            &["encode", "--model", "--jsonl", "-", "--skip"],
            first.as_str(),
            0,
        );
        let whole: Vec<Value> = rows(&first)
            .into_iter()
            .filter(|row| row["verdict"] != "other" && row["verdict"] != "malformed")
            .collect();
        assert_eq!(
            !left_out.contains("left out"),
            whole.len() == rows(&first).len()
        );
        for format in ["pcap", "pcapng"] {
            let arguments = [
                "encode", "--model", "--jsonl", "-", "--skip", "--format", format,
            ];
            let again = xoff()
                .args(arguments)
                .write_stdin(first.as_str())
                .assert()
                .code(0)
                .get_output()
                .stdout
                .clone();
            let (second, _) = said(&["decode", "--model", "--format", "jsonl", "-"], again, 0);
            let second = rows(&second);
            assert_eq!(second.len(), whole.len(), "{capture}");
            for (mut expected, (number, row)) in whole.iter().cloned().zip((1..).zip(second)) {
                // Frames left out are not counted.
                expected["frame"] = Value::from(number);
                assert_eq!(row, expected, "{capture}");
            }
        }
    }
}

/// Time, name of the interface, direction, whether the FCS is right, bytes.
type Captured = (u64, Option<String>, Option<Direction>, bool, Vec<u8>);

/// Reads the frames of a file: time, interface, direction, FCS, bytes.
fn frames(path: &Path) -> Vec<Captured> {
    let mut reader = capture::open(path).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = reader.next() {
        let record = record.unwrap();
        let name = reader.interfaces()[record.interface].name.clone();
        frames.push((
            record.time_ns,
            name,
            record.direction,
            record.fcs_ok,
            record.bytes,
        ));
    }
    frames
}

/// Decodes a capture to rows and encodes these. Returns the path of the new file and the messages.
fn round_trip(folder: &Path, capture: &str, format: &str) -> (PathBuf, String) {
    let (lines, _) = said(&["decode", "--model", "--format", "jsonl", capture], [], 0);
    let path = folder.join(format!("again.{format}"));
    let output = path.to_str().unwrap();
    let arguments = [
        "encode", "--model", "--jsonl", "-", "--format", format, "-o", output,
    ];
    let (_, err) = said(&arguments, lines, 0);
    (path, err)
}

#[test]
fn decode_and_encode_give_the_file_back() {
    let folder = tempfile::tempdir().unwrap();
    for capture in CAPTURES {
        let before = frames(&file(capture));
        for format in ["pcap", "pcapng"] {
            let (path, err) = round_trip(folder.path(), capture, format);
            assert_eq!(frames(&path), before, "{capture}");
            // Frames with verdict `other` or `malformed` are not built by the builder, and a message says so.
            let (lines, _) = said(&["decode", "--model", "--format", "jsonl", capture], [], 0);
            let raw = rows(&lines)
                .iter()
                .filter(|row| row.get("raw").is_some())
                .count();
            let built = rows(&lines)
                .iter()
                .filter(|row| row["icrc_ok"] == true && row.get("raw").is_none())
                .count();
            assert_eq!(err.is_empty(), raw == 0, "{err}");
            assert!(
                raw == 0 || err.starts_with(&format!("{raw} frame")),
                "{err}"
            );
            match capture.contains("corrupt") {
                true => assert!(raw > 0, "{capture}"),
                false => assert!(
                    built * 10 >= before.len() * 9,
                    "{capture}: {built} of {} built",
                    before.len()
                ),
            }
        }
    }
}

/// Runs `incast` with model NICs. Returns its folder and the capture of all ports.
fn all_ports() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = [
        "run",
        "incast",
        "--set",
        "variant=static",
        "--pcap",
        "all",
        "--out",
        out,
        "--set",
        "host.nic=model",
        "--set",
        "duration=\"100 us\"",
        "--set",
        "measure_from=\"0 us\"",
        "--set",
        "links.1.faults=[\"any, skip 3, shots 2: corrupt\"]",
    ];
    let run = crate::common::run(&arguments, None, false);
    run.outcome.unwrap();
    let capture = folder.path().join("incast/capture.pcapng");
    (folder, capture.to_str().unwrap().to_owned())
}

#[test]
fn a_capture_of_many_ports_comes_back_with_interfaces_and_directions() {
    let (folder, capture) = all_ports();
    let (path, _) = round_trip(folder.path(), &capture, "pcapng");
    let (before, after) = (frames(Path::new(&capture)), frames(&path));
    assert!(
        before.iter().any(|frame| !frame.3)
            && before.iter().any(|frame| frame.2 == Some(Direction::Sent))
    );
    assert!(before == after);
    let (path, err) = round_trip(folder.path(), &capture, "pcap");
    assert!(err.contains(
        "interfaces and directions are left out: a pcapng has room for them, a pcap has not"
    ));
    assert_eq!(frames(&path).len(), before.len());
}

#[test]
fn a_conversation_over_many_ports_counts_a_frame_once() {
    let (_folder, capture) = all_ports();
    let (lines, _) = said(&["decode", "--model", "--format", "jsonl", &capture], [], 0);
    // Requests to the receiver, as seen at the senders' own ports.
    let is_request = |row: &&Value| {
        let port = row["interface"].as_str().unwrap();
        port.starts_with('s') && row["direction"] == "sent" && row["dst_ip"] == "10.0.0.3"
    };
    let requests = rows(&lines).iter().filter(is_request).count();
    let (picture, _) = said(&["decode", "--model", "--summary", &capture], [], 0);
    let (_, conversations) = picture.split_once("\nconversations\n").unwrap();
    let packets = |line: &str| {
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .replace(',', "")
            .parse::<usize>()
            .unwrap()
    };
    let counted: usize = conversations
        .lines()
        .filter(|line| line.starts_with("    →"))
        .map(packets)
        .sum();
    assert!(
        requests == counted && counted > 100,
        "{requests} sent, {counted} counted\n{picture}"
    );
    assert!(conversations.contains("seen at s0.0→ "), "{picture}");
    assert!(conversations.contains(", →r.0 "), "{picture}");
    let (table, _) = said(&["decode", "--model", "--limit", "20", &capture], [], 0);
    assert!(table.lines().next().unwrap().contains(" port "), "{table}");
    assert!(
        table.contains(" s0.0→ ") || table.contains(" →s0.0 "),
        "{table}"
    );
}

/// Without `--model` the RTL parses and builds. The other tests here use the model, because what they check is the same
/// with either.
#[test]
fn the_rtl_is_the_default_and_agrees_with_the_model() {
    for capture in CAPTURES {
        let (model, _) = said(&["decode", "--model", "--format", "jsonl", capture], [], 0);
        let (rtl, err) = said(&["decode", "--format", "jsonl", capture], [], 0);
        assert_eq!((rtl == model, err.as_str()), (true, ""), "{capture}");
        let (both, err) = said(&["decode", "--both", "--format", "jsonl", capture], [], 0);
        assert_eq!(both, model);
        let frames = model.lines().count();
        assert_eq!(
            err,
            format!("RTL and model agree about all {frames} frames\n")
        );
    }
    let zoo = ["--jsonl", "data/zoo.jsonl"];
    let (model, _) = said(&[&["encode", "--model"], &zoo[..]].concat(), [], 0);
    let (rtl, _) = said(&[&["encode"], &zoo[..]].concat(), [], 0);
    assert_eq!(rtl, model);
    let (_, err) = said(&[&["encode", "--both"], &zoo[..]].concat(), [], 0);
    assert_eq!(err, "RTL and model agree about all 20 packets\n");
}

#[test]
fn a_cut_file_keeps_its_rows() {
    let whole = fs::read(file(LOSS)).unwrap();
    let cut = tempfile::NamedTempFile::new().unwrap();
    // 24 bytes of file header, 16 + 86 of the first record, 10 of the second's header.
    fs::write(cut.path(), &whole[..24 + 102 + 10]).unwrap();
    let path = cut.path().to_str().unwrap();
    for format in ["table", "jsonl"] {
        let (out, err) = said(&["decode", "--model", "--format", format, path], [], 2);
        assert!(out.contains("RC_CMP_SWAP"), "{out}");
        assert_eq!(
            err,
            format!(
                "xoff: {path}, byte 126 (record 2): the file ends inside a record header: 10 of 16 bytes are there\n"
            )
        );
    }
    let (out, err) = said(&["decode", "--model", "--summary", path], [], 2);
    assert!(
        out.contains("1 frame, 86 bytes") && err.lines().count() == 1,
        "{out}"
    );
    // A file may end between two records.
    said(&["decode", "--model", "-"], &whole[..24 + 102], 0);
}

#[test]
fn files_that_are_no_captures() {
    let message = |arguments: &[&str], input: &[u8]| {
        let (out, err) = said(arguments, input, 2);
        assert_eq!(out, "");
        assert_eq!(err.lines().count(), 1, "{err}");
        err
    };
    let stdin = ["decode", "--model", "-"];
    assert_eq!(
        message(&stdin, b""),
        "xoff: standard input, byte 0: the file is empty; a capture starts with a file header\n"
    );
    assert!(message(&stdin, b"hello").starts_with(
        "xoff: standard input, byte 0: not a packet capture: it starts with 68 65 6c 6c (text)"
    ));
    assert_eq!(
        message(&["decode", "--model", "no/such.pcap"], b""),
        "xoff: no/such.pcap: cannot be opened: No such file or directory (os error 2)\n"
    );
    assert_eq!(
        message(&["decode", "--model", "captures"], b""),
        "xoff: captures: a directory; a capture file is needed\n"
    );
}

#[test]
fn some_frames() {
    let numbers = |more: &[&str]| {
        let (out, _) = said(
            &[&["decode", "--model", "--format", "jsonl", LOSS], more].concat(),
            [],
            0,
        );
        rows(&out)
            .iter()
            .map(|row| row["frame"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&["--limit", "3"]), [1, 2, 3]);
    assert_eq!(numbers(&["--frames", "436-"]), [436, 437, 438]);
    assert_eq!(numbers(&["--frames", "7"]), [7]);
    assert_eq!(numbers(&["--frames", "-2"]), [1, 2]);
    assert_eq!(
        numbers(&["--frames", "300-400", "--limit", "2"]),
        [300, 301]
    );
    assert_eq!(numbers(&["--limit", "0"]), [0_u64; 0]);
    assert_eq!(numbers(&["--frames", "1-"]).len(), 438);
    let (_, err) = said(&["decode", "--frames", "9-3", LOSS], [], 2);
    assert!(
        err.contains("expected frame numbers from 1, such as 7, 7-20, 7- or -20"),
        "{err}"
    );
}

#[test]
fn empty_frames_and_empty_captures() {
    let header = &fs::read(file(LOSS)).unwrap()[..24];
    let (out, _) = said(&["decode", "--model", "-"], header, 0);
    assert_eq!(out, "\n0 frames\n");
    said(&["decode", "--model", "--summary", "-"], header, 0);
    let (out, _) = said(
        &["decode", "--model", "--format", "jsonl", "-"],
        [header, &[0; 16]].concat(),
        0,
    );
    assert_eq!(
        out,
        "{\"frame\":1,\"time_ns\":\"0\",\"bytes\":0,\"verdict\":\"malformed\",\"reason\":\"eth_truncated\",\"raw\":\"hex:\"}\n"
    );
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = Command::new(crate::PROGRAM)
        .args(["decode", "--model"])
        .arg(file(LOSS))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(err, "");
}

#[test]
fn rows_come_while_the_capture_goes_on() {
    use std::io::{BufRead, BufReader, Write};
    let whole = fs::read(file(LOSS)).unwrap();
    let mut child = Command::new(crate::PROGRAM)
        .args(["decode", "--model", "--format", "jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    input.write_all(&whole[..24 + 102]).unwrap();
    input.flush().unwrap();
    // This would wait for ever if the row were buffered.
    assert!(lines.next().unwrap().unwrap().starts_with("{\"frame\":1,"));
    drop(input);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn no_colour_in_a_pipe() {
    let (out, _) = said(
        &["decode", "--model", "captures/corrupt_excerpt.pcap"],
        [],
        0,
    );
    assert!(!out.contains('\u{1b}'));
    let forced = xoff()
        .env("CLICOLOR_FORCE", "1")
        .args(["decode", "--model", LOSS])
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    assert!(forced.contains(&0x1b));
}

#[test]
fn encode_says_what_is_wrong() {
    let message = |arguments: &[&str]| said(&[&["encode", "--model"], arguments].concat(), [], 2).1;
    assert_eq!(
        message(&["opcode=4", "psn=0x1000000"]),
        "xoff: psn=0x1000000: 24 bits at most (0xffffff)\n"
    );
    assert_eq!(
        message(&["opcode=4", "pns=1"]),
        "xoff: pns: no such key; near it: psn\n"
    );
    assert_eq!(
        message(&["opcode=4", "-o", "no/such/folder/a.pcap"])
            .lines()
            .count(),
        1
    );

    let lines = |text: &str, more: &[&str]| {
        let output = xoff()
            .args([&["encode", "--model", "--jsonl", "-"], more].concat())
            .write_stdin(text)
            .assert()
            .get_output()
            .clone();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, err) = lines("{\"opcode\":4}\n\n{\"opcode\":4,\"psn\":\"x\"}\n", &[]);
    assert_eq!((code, out.lines().count()), (Some(2), 1));
    assert_eq!(
        err,
        "xoff: standard input, line 3: psn=x: a number, such as 17 or 0x11\n"
    );
    let (code, _, err) = lines("{\"verdict\":\"other\",\"bytes\":60}\n", &[]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("line 1: verdict=other: only whole frames of ours can be built"),
        "{err}"
    );
    let (code, out, err) = lines(
        "{\"verdict\":\"other\",\"bytes\":60}\n{\"opcode\":4}",
        &["--skip"],
    );
    assert_eq!((code, out.lines().count()), (Some(0), 1));
    assert!(
        err.starts_with("1 row of a frame that cannot be built left out"),
        "{err}"
    );
}

#[test]
fn encode_writes_captures_that_decode_reads() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["pcap", "pcapng"] {
        let path = folder.path().join(format);
        let path = path.to_str().unwrap();
        said(
            &[
                "encode",
                "--model",
                "opcode=RC_WRITE_ONLY",
                "payload=text:hello",
                "--format",
                format,
                "-o",
                path,
            ],
            [],
            0,
        );
        let (out, _) = said(&["decode", "--model", "--format", "jsonl", path], [], 0);
        let rows = rows(&out);
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (
                &rows[0]["payload_bytes"],
                &rows[0]["pad"],
                &rows[0]["icrc_ok"]
            ),
            (&5.into(), &3.into(), &true.into())
        );
    }
}

/// Checks the captures that `encode` writes with tshark, if it is installed.
#[test]
fn tshark_reads_what_encode_writes() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for format in ["pcap", "pcapng"] {
        let path = folder.path().join(format);
        said(
            &[
                "encode",
                "--model",
                "--jsonl",
                "data/zoo.jsonl",
                "--format",
                format,
                "-o",
                path.to_str().unwrap(),
            ],
            [],
            0,
        );
        let fields = [
            "-T",
            "fields",
            "-e",
            "frame.time_epoch",
            "-e",
            "frame.len",
            "-e",
            "infiniband.bth.psn",
        ];
        let output = Command::new("tshark")
            .arg("-r")
            .arg(&path)
            .args(fields)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        let (out, _) = said(
            &[
                "decode",
                "--model",
                "--format",
                "jsonl",
                path.to_str().unwrap(),
            ],
            [],
            0,
        );
        let lines: Vec<&str> = text.lines().collect();
        let rows = rows(&out);
        assert_eq!(lines.len(), rows.len());
        for (index, (line, row)) in lines.iter().zip(&rows).enumerate() {
            let mut fields = line.split('\t');
            // Version 4.2 prints times in another form; the digits after the point are the same.
            assert!(
                fields
                    .next()
                    .unwrap()
                    .contains(&format!(".{:09}", 1_000 * index)),
                "{line}"
            );
            assert_eq!(fields.next().unwrap(), row["bytes"].to_string());
            // tshark treats the opcode of a CNP as unknown and shows none of its fields.
            if let Some(psn) = row["psn"].as_u64().filter(|_| row["verdict"] == "roce_v2") {
                assert_eq!(fields.next().unwrap(), psn.to_string(), "{line}");
            }
        }
    }
}

#[test]
fn a_scenario_comes_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let text = fs::read_to_string(file("scenarios/pair.toml")).unwrap();
    let arguments = ["run", "-", "--set", "host.nic=model", "--out", out];
    let (said_of_it, _) = said(&arguments, text, 0);
    assert!(said_of_it.contains("held"), "{said_of_it}");
    assert!(folder.path().join("stdin/summary.json").is_file());
    let (_, wrong) = said(&["run", "-"], "title = 3", 2);
    assert!(
        wrong.starts_with("xoff: standard input: TOML parse error at line 1"),
        "{wrong}"
    );
}

#[test]
fn the_most_similar_key_is_named() {
    for (setting, meant) in [
        ("flow.bulk.message=1 MB", "flows"),
        ("flows.bulk.mesage=1 MB", "message"),
        ("host.dcqn.on=true", "dcqcn"),
    ] {
        let (_, wrong) = said(&["run", "pair", "--set", setting], [], 2);
        assert!(
            wrong.contains(&format!("did you mean '{meant}'?")),
            "{wrong}"
        );
    }
    let (_, wrong) = said(&["run", "-"], "title = \"x\"\nduraton = \"1 us\"", 2);
    assert!(wrong.contains("did you mean 'duration'?"), "{wrong}");
    let (_, wrong) = said(&["run", "pair", "--set", "entirely=1"], [], 2);
    assert!(!wrong.contains("did you mean"), "{wrong}");
}
