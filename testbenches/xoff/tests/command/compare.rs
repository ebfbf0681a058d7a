//! `xoff compare`: what differs between runs, beyond what seeds differ by.

use std::fs;
use std::path::Path;

use crate::common::xoff;

/// Runs two variants of two seeds each into folders, and returns the words that compare them.
fn runs(folder: &Path) -> Vec<String> {
    let mut words = vec!["compare".to_owned()];
    for (message, seed) in [("16 KiB", 1), ("64 KiB", 1), ("16 KiB", 2), ("64 KiB", 2)] {
        let out = folder.join(format!("{}-{seed}", &message[..2]));
        let (out, set) = (
            out.to_str().unwrap(),
            format!("flows.bulk.message={message}"),
        );
        let fixed = [
            "run",
            "pair",
            "--set",
            "host.nic=model",
            "--set",
            "duration=1ms",
        ];
        let more = ["--set", &set, "--seed", &seed.to_string(), "--out", out];
        xoff().args(fixed.iter().chain(&more)).assert().code(0);
        words.push(format!("{out}/pair"));
    }
    words.extend(["--out".into(), folder.join("out").to_str().unwrap().into()]);
    words
}

#[test]
fn variants_are_told_apart_by_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let words = runs(folder.path());
    let said = xoff().args(&words).assert().code(0);
    let said = String::from_utf8(said.get_output().stdout.clone()).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0], "4 runs of pair over flows.bulk.message, seed",
        "{said}"
    );
    // Runs of a variant stand together.
    let seeds = lines
        .iter()
        .filter(|line| line.ends_with("held") || line.ends_with(" –"));
    let rows: Vec<&str> = seeds.map(|line| line.trim_start()).take(4).collect();
    let variants: Vec<&str> = rows.iter().map(|row| &row[..6]).collect();
    assert_eq!(variants, ["16.384", "16.384", "65.536", "65.536"], "{said}");
    // Four times the bytes are a quarter of the messages, and no seed says otherwise.
    let messages = lines
        .iter()
        .find(|line| line.trim_start().starts_with("messages.total"));
    assert!(
        !messages.expect(&said).contains("within the seeds"),
        "{said}"
    );
    let page = fs::read_to_string(folder.path().join("out/comparison/comparison.html")).unwrap();
    assert!(page.contains("href=\"../../16-1/pair/report.html\""));
    let table = fs::read_to_string(folder.path().join("out/comparison/comparison.csv")).unwrap();
    assert_eq!(table.lines().count(), 5);
}

#[test]
fn programs_get_the_metrics_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = runs(folder.path());
    words.extend(["--json", "--metric", "messages.*"].map(String::from));
    let said = xoff().args(&words).assert().code(0);
    let json: serde_json::Value = serde_json::from_slice(&said.get_output().stdout).unwrap();
    assert_eq!(json["variants"].as_array().unwrap().len(), 2);
    let metrics = json["metrics"].as_array().unwrap();
    assert!(!metrics.is_empty());
    for metric in metrics {
        assert!(metric["metric"].as_str().unwrap().starts_with("messages."));
        let [few, many] = [1, 0].map(|variant| metric["values"][variant][1].as_f64().unwrap());
        assert!(many > 3.5 * few && many < 4.5 * few, "{metric}");
        assert_eq!(metric["apart"], true);
    }
}

#[test]
fn what_cannot_be_compared_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let words = runs(folder.path());
    let refused = |words: &[&str], expected: &str| {
        let said = xoff().arg("compare").args(words).assert().code(2);
        let said = String::from_utf8(said.get_output().stderr.clone()).unwrap();
        assert!(said.contains(expected), "{said}");
    };
    let [a, b] = [&*words[1], &*words[2]];
    let again = format!("{a}/../pair/summary.json");
    refused(&[a, &again], "the same run as");
    refused(&[a], "2 values required");
    refused(
        &[a, folder.path().to_str().unwrap()],
        "expected a folder of results",
    );
    let metric = "--metric 'mesages.total': no run has such a metric; near it: messages.total";
    refused(&[a, b, "--metric", "mesages.total"], metric);
    let text = fs::read_to_string(format!("{a}/summary.json")).unwrap();
    let killed = text.replace("\"state\": \"finished\"", "\"state\": \"running\"");
    fs::create_dir(folder.path().join("killed")).unwrap();
    fs::write(folder.path().join("killed/summary.json"), killed).unwrap();
    let killed = folder.path().join("killed");
    refused(
        &[a, killed.to_str().unwrap()],
        "Only finished runs are compared",
    );
}

/// Variants of a scenario differ in many settings, and one of them says all.
#[test]
fn variants_of_a_scenario_go_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = vec!["compare".to_owned()];
    for (variant, seed) in [("base", "1"), ("static", "1"), ("base", "2")] {
        let out = folder.path().join(format!("{variant}-{seed}"));
        let out = out.to_str().unwrap();
        let set = format!("variant={variant}");
        let run = [
            "run",
            "unfairness",
            "--set",
            "duration=3ms",
            "--set",
            "measure_from=1ms",
            "--set",
            &set,
            "--seed",
            seed,
            "--out",
            out,
        ];
        // What is expected of 20 ms need not hold in 3.
        let code = xoff().args(run).output().unwrap().status.code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
        words.push(format!("{out}/unfairness"));
    }
    words.extend([
        "--out".into(),
        folder.path().join("out").to_str().unwrap().into(),
    ]);
    let said = xoff().args(&words).assert().code(0);
    let said = String::from_utf8(said.get_output().stdout.clone()).unwrap();
    let lines: Vec<&str> = said.lines().map(str::trim_start).collect();
    assert_eq!(lines[0], "3 runs of unfairness over variant, seed");
    // What both seeds say in the same words is told once.
    assert!(lines[1].starts_with("base: Unfair: f4 gets "), "{said}");
    assert!(lines[1].ends_with(" (the first of 2 runs alike)"), "{said}");
    assert!(lines[2].starts_with("static: "), "{said}");
    assert!(said.contains("switches.T4.xoff.static"), "{said}");
}
