//! Arguments and files that are refused: by `xoff fuzz`, `xoff replay` and `xoff run` alike.

use std::fs;

use clap::Parser as _;

use crate::common::{file, said};

const LOSS: &str = "captures/loss_mtu256_all_ops.pcap";

/// Expects an error on one line with exit code 2, and returns it.
fn refused(arguments: &[&str]) -> String {
    let (out, err) = said(arguments, [], 2);
    assert_eq!(out, "");
    assert_eq!(err.lines().count(), 1, "{err}");
    err.trim_end().to_owned()
}

#[test]
fn files_that_are_no_text() {
    for command in ["run", "replay"] {
        assert_eq!(
            refused(&[command, "/dev/zero"]),
            "xoff: /dev/zero: no text: byte 0 is 0"
        );
        assert_eq!(
            refused(&[command, "./captures"]),
            "xoff: ./captures: a directory; a file of text is needed"
        );
        let binary = refused(&[command, LOSS]);
        assert!(
            binary.starts_with(&format!("xoff: {LOSS}: no text: byte ")),
            "{binary}"
        );
        let missing = refused(&[command, "no/such.toml"]);
        assert!(
            missing.starts_with("xoff: no/such.toml: No such file"),
            "{missing}"
        );
    }
    assert_eq!(
        refused(&["encode", "--jsonl", "/dev/zero"]),
        "xoff: /dev/zero, line 1: more than 16 MiB without a line end"
    );
}

#[test]
fn files_that_are_no_cases() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("pfc")).unwrap();
    let path = folder.path().join("pfc/a.case");
    let replayed = |text: &str| {
        fs::write(&path, text).unwrap();
        let said = refused(&["replay", path.to_str().unwrap()]);
        said.strip_prefix(&format!("xoff: {}: ", path.display()))
            .expect(&said)
            .to_owned()
    };
    let begins = "a case begins with '# xoff case of UNIT, version 1, seed NUMBER'";
    assert_eq!(replayed(""), format!("line 1: ''; {begins}"));
    assert_eq!(
        replayed("name = \"pair\"\n"),
        format!("line 1: 'name = \"pair\"'; {begins}")
    );
    assert_eq!(
        replayed("# xoff case of gbm, version 1, seed 1\n"),
        "line 1: no unit 'gbm'; the units are parser, builder, pfc, dcqcn, gbn, translation, nic, network, hosts"
    );
    assert_eq!(
        replayed("# xoff case of gbn, version 9, seed 1\n"),
        "line 1: a case of version 9; this program reads version 1: draw it again with xoff fuzz gbn"
    );
    let kept = fs::read_to_string(file("cases/dcqcn/event_behind_timer_visits.case")).unwrap();
    let cut = replayed(&kept[..kept.len() - 4]);
    assert!(cut.starts_with("line 8: 'rp {"), "{cut}");
    let of_another = replayed(&kept.replacen("dcqcn", "gbn", 1));
    assert!(
        of_another.contains("line 3: ") && of_another.contains("expected one of `requester`"),
        "{of_another}"
    );
    // In the folder of another unit.
    fs::write(&path, kept).unwrap();
    let cases = folder.path().to_str().unwrap();
    let fuzz = refused(&["fuzz", "pfc", "--count", "1", "--cases", cases]);
    assert!(
        fuzz.ends_with("line 1: a case of 'dcqcn'; expected one of 'pfc'"),
        "{fuzz}"
    );
    let (out, _) = said(&["replay", path.to_str().unwrap()], [], 0);
    assert!(out.ends_with("5 events, no difference\n"), "{out}");
}

#[test]
fn cases_of_what_a_nic_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.case");
    let kept = fs::read_to_string(file("cases/nic/reopened.case")).unwrap();
    let replayed = |old: &str, new: &str| {
        fs::write(&path, kept.replacen(old, new, 1)).unwrap();
        let said = refused(&["replay", path.to_str().unwrap()]);
        said.strip_prefix(&format!("xoff: {}: ", path.display()))
            .expect(&said)
            .to_owned()
    };
    for (old, new, expected) in [
        (
            r#""qps":3"#,
            r#""qps":65"#,
            ("line 3: 'bench {", ": qps 65; expected 1 to 64"),
        ),
        (
            r#""mtu":3"#,
            r#""mtu":5"#,
            ("line 3: 'bench {", ": requester.mtu 5; expected 0 to 4"),
        ),
        (
            r#""side":0"#,
            r#""side":2"#,
            ("line 5: 'post {", ": side 2; expected 0 to 1"),
        ),
    ] {
        let said = replayed(old, new);
        assert!(
            said.starts_with(expected.0) && said.ends_with(expected.1),
            "{said}"
        );
    }
}

#[test]
fn threads_that_no_machine_has() {
    for arguments in [["run", "pair"], ["fuzz", "pfc"]] {
        for threads in ["0", "100000", "all"] {
            let (_, err) = said(&[&arguments[..], &["--threads", threads]].concat(), [], 2);
            assert!(
                err.contains(&format!("'{threads}' for '--threads <N>'")),
                "{err}"
            );
        }
        let (_, err) = said(&[&arguments[..], &["--threads", "100000"]].concat(), [], 2);
        assert!(err.contains("100000 is not in 1..=1024"), "{err}");
    }
}

#[test]
fn help_fits_and_its_examples_are_commands() {
    let mut examples = 0;
    for name in ["fuzz", "replay", "cover", "regress"] {
        for words in crate::common::help(&[name]).1 {
            // Others of the page are of other subcommands.
            if words[1] == name {
                let parsed = xoff_verify::cli::Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
                examples += 1;
            }
        }
    }
    assert!(examples > 8, "{examples} examples");
}
