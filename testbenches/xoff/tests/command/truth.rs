//! `xoff truth`: claims of papers against runs.

use serde_json::Value;

use crate::common::{said, xoff};

/// The line of a claim.
fn line<'a>(out: &'a str, id: &str) -> &'a str {
    out.lines().find(|line| line.contains(id)).unwrap()
}

/// A changed parameter of the model breaks the claims that rest on it, and no others.
#[test]
fn a_changed_parameter_breaks_its_claims() {
    let (out, _) = said(
        &[
            "truth",
            "livelock",
            "livelock-wire",
            "ring-three",
            "loop-above",
            "irn",
        ],
        [],
        0,
    );
    assert!(
        out.ends_with("5 claims: 5 hold, 0 differ for a reason that is named, 0 are broken\n"),
        "{out}"
    );

    // A standard responder, for which drops among duplicates do no harm, delivers something.
    let changed = [
        "livelock",
        "livelock-wire",
        "--set",
        "flows.go_back_0.recovery=go-back-n",
    ];
    let (out, _) = said(&[&["truth"], &changed[..]].concat(), [], 1);
    assert!(line(&out, " livelock ").starts_with("BROKEN"), "{out}");
    assert!(line(&out, " livelock-wire ").starts_with("holds"), "{out}");
    assert!(out.contains("xoff run livelock --set"), "{out}");

    // Half of the delay of CNPs is too little for pauses.
    let changed = [
        "truth",
        "lab-no-pauses",
        "lab-pauses",
        "--set",
        "links.1.faults=[\"opcode 0x81: delay 28 us\"]",
    ];
    let (out, _) = said(&changed, [], 1);
    assert!(line(&out, " lab-no-pauses ").starts_with("holds"), "{out}");
    assert!(line(&out, " lab-pauses ").starts_with("BROKEN"), "{out}");

    // Without marks the victim is one.
    let changed = [
        "truth",
        "victim-dcqcn",
        "--set",
        "host.dcqcn.on=false",
        "--json",
    ];
    let (out, _) = said(&changed, [], 1);
    let rows: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rows[0]["stands"], "broken");
    let measured = rows[0]["measured"].as_f64().unwrap();
    assert!((8.0..11.0).contains(&measured), "{measured}");
}

/// What differs for a reason has to differ, and by that much.
#[test]
fn a_claim_that_differs_may_neither_hold_nor_drift() {
    let stands = |set: &[&str]| {
        let output = xoff()
            .args([&["truth", "alpha", "--json"], set].concat())
            .output()
            .unwrap();
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            rows[0]["stands"].clone(),
            rows[0]["why"].as_str().unwrap().to_owned(),
        )
    };
    let (differs, because) = stands(&[]);
    assert_eq!(differs, "differs");
    assert!(because.contains("Two queries a second"), "{because}");
    let (broken, why) = stands(&["--set", "variant=restored"]);
    assert_eq!(
        (broken, &why[..]),
        (
            "broken".into(),
            "it differs by something else than until now"
        )
    );
}

#[test]
fn a_page_is_written_and_unknown_claims_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("truth.html");
    said(
        &["truth", "loop-below", "alpha", "-o", page.to_str().unwrap()],
        [],
        0,
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("id=\"loop-below\"")
            && page.contains("class=\"holds\"")
            && page.contains("class=\"differs\"")
    );
    // Before anything runs.
    let (_, err) = said(&["truth", "-o", "/nowhere/truth.html"], [], 2);
    assert!(err.contains("cannot write /nowhere/truth.html"), "{err}");
    let (_, err) = said(&["truth", "livelok"], [], 2);
    assert!(
        err.contains("claim 'livelok': the claims are livelock,"),
        "{err}"
    );
    assert!(
        err.trim_end().ends_with("did you mean 'livelock'?"),
        "{err}"
    );
}
