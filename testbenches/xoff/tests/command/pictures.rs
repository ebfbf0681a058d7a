//! Snapshots of output for people: tables, pictures, help. To change them on purpose, run `INSTA_UPDATE=always cargo
//! test` and review the difference.

use crate::common::{argument, run, xoff};

/// Decodes with the reference model. The output does not depend on which parser is used.
fn decode(capture: &str, more: &[&str], width: Option<usize>) -> String {
    let path = argument(capture);
    let said = run(
        &[&["decode", "--model", &path], more].concat(),
        width,
        false,
    );
    said.outcome.expect("a good capture");
    said.out
}

/// One frame of every kind, as a capture.
fn zoo() -> tempfile::TempPath {
    let capture = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let jsonl = argument("data/zoo.jsonl");
    let output = capture.to_str().unwrap();
    run(
        &[
            "encode", "--model", "--jsonl", &jsonl, "--format", "pcapng", "-o", output,
        ],
        None,
        false,
    )
    .outcome
    .unwrap();
    capture
}

#[test]
fn table_in_a_pipe() {
    insta::assert_snapshot!(decode(
        "captures/loss_mtu256_all_ops.pcap",
        &["--frames", "1-40"],
        None
    ));
}

#[test]
fn table_of_every_kind() {
    let capture = zoo();
    let path = capture.to_str().unwrap();
    for width in [None, Some(100), Some(140)] {
        let name = width.map_or("zoo_pipe".to_string(), |width| format!("zoo_{width}"));
        let text = run(&["decode", "--model", path], width, false).out;
        if let Some(width) = width {
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width, "{longest} columns on {width}");
        }
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn json_lines_of_every_kind() {
    let capture = zoo();
    insta::assert_snapshot!(
        run(
            &[
                "decode",
                "--model",
                "--format",
                "jsonl",
                capture.to_str().unwrap()
            ],
            None,
            false
        )
        .out
    );
}

#[test]
fn table_of_damaged_frames() {
    insta::assert_snapshot!(decode("captures/corrupt_excerpt.pcap", &[], Some(120)));
}

#[test]
fn colours_change_nothing_but_colour() {
    let path = argument("captures/corrupt_excerpt.pcap");
    for more in [&[][..], &["--summary"]] {
        let arguments = [&["decode", "--model", &path], more].concat();
        let plain = run(&arguments, Some(120), false).out;
        let coloured = run(&arguments, Some(120), true).out;
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    }
}

#[test]
fn summary_of_losses() {
    insta::assert_snapshot!(decode(
        "captures/loss_mtu256_all_ops.pcap",
        &["--summary"],
        Some(100)
    ));
}

#[test]
fn summary_of_damaged_frames() {
    insta::assert_snapshot!(decode(
        "captures/corrupt_excerpt.pcap",
        &["--summary"],
        Some(80)
    ));
}

#[test]
fn summary_of_refusals() {
    insta::assert_snapshot!(decode(
        "captures/nak_access_and_invalid.pcap",
        &["--summary"],
        None
    ));
}

#[test]
fn summary_of_every_kind() {
    let capture = zoo();
    let text = run(
        &["decode", "--model", "--summary", capture.to_str().unwrap()],
        Some(100),
        false,
    )
    .out;
    // The first line names a temporary file.
    insta::assert_snapshot!(text.lines().skip(1).collect::<Vec<_>>().join("\n"));
}

#[test]
fn help() {
    for (name, arguments) in [
        ("help", &["--help"][..]),
        ("help_decode", &["decode", "--help"]),
        ("help_encode", &["encode", "--help"]),
    ] {
        let output = xoff()
            .args(arguments)
            .assert()
            .success()
            .get_output()
            .stdout
            .clone();
        insta::assert_snapshot!(name, String::from_utf8(output).unwrap());
    }
}

#[test]
fn hex_of_an_acknowledgement() {
    insta::assert_snapshot!(
        run(
            &["encode", "--model", "name=RC_ACK", "psn=7", "msn=1"],
            None,
            false
        )
        .out
    );
}

#[test]
fn check_of_real_captures() {
    for name in ["loss_mtu256_all_ops", "corrupt_excerpt"] {
        let path = argument(&format!("captures/{name}.pcap"));
        let said = run(&["check", &path], None, false);
        said.outcome.expect("a good capture");
        insta::assert_snapshot!(format!("check_{name}"), said.out);
    }
}
