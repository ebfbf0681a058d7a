//! Tests of `xoff regress`: reports, parts, continuing, baselines, rejected input, and interruption.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use xoff::Outcome;
use xoff_verify::regress::journal;

use crate::common::{Said, argument, file, run};

/// Two hosts with model NICs and one flow; `{message}` bytes a message, `{expect}` messages are expected.
fn scenario(message: u32, expect: u32) -> String {
    format!(
        "title = \"Tiny\"\nduration = \"20 us\"\nhosts = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n\
         [host]\nnic = \"model\"\n[[links]]\nends = [\"a\", \"b\"]\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nmessage = \"{message} B\"\ncount = 4\n\
         [[expect]]\nmetric = \"messages.f\"\nop = \"==\"\nvalue = {expect}\n\
         [variants.twice]\nset = {{ \"flows.f.count\" = 8 }}\n\
         [[variants.twice.expect]]\nmetric = \"messages.f\"\nop = \"==\"\nvalue = 8\n"
    )
}

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tiny.toml"), scenario(1_000, 4)).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Runs the items of the tiny scenario, and of `pfc` with two cases, into the folder `out`.
    fn regress(&self, out: &str, more: &[&str]) -> Said {
        self.only("scenario/tiny/*,unit/pfc/*", out, more)
    }

    fn only(&self, only: &str, out: &str, more: &[&str]) -> Said {
        let (file, out) = (self.text("tiny.toml"), self.text(out));
        let common = [
            "regress",
            "--scenario",
            &file,
            "--only",
            only,
            "--cases",
            "2",
            "--jobs",
            "2",
            "--out",
            &out,
        ];
        run(&[&common[..], more].concat(), None, false)
    }

    fn refused(&self, out: &str, more: &[&str]) -> String {
        let said = self.regress(out, more).outcome.unwrap_err();
        format!("{said:#}").replace(self.folder.path().to_str().unwrap(), "F")
    }
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

/// Names and digests of the finished items.
fn items(folder: &Path) -> Vec<(String, Value)> {
    let summary = summary(folder);
    let items = summary["items"].as_array().unwrap();
    (items.iter())
        .map(|item| {
            (
                item["item"].as_str().unwrap().to_owned(),
                item["digest"].clone(),
            )
        })
        .collect()
}

#[test]
fn every_item_is_reported_and_a_killed_regression_continues() {
    let bench = Bench::new();
    let said = bench.regress("r", &["--seeds", "1-2", "--times"]);
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    let lines: Vec<Vec<&str>> = said
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[1][..2], ["scenario/tiny", "4"], "{}", said.out);
    assert_eq!(lines[2][..2], ["unit/pfc", "2"], "{}", said.out);
    assert_eq!(
        lines[3][..6],
        ["all,", "one", "after", "the", "other", "6"],
        "{}",
        said.out
    );
    assert_eq!(lines[4].join(" "), "6 items: 6 passed, 0 failed");
    let folder = bench.path("r");
    let names: Vec<String> = items(&folder).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "scenario/tiny/base/1",
            "scenario/tiny/twice/1",
            "unit/pfc/1",
            "scenario/tiny/base/2",
            "scenario/tiny/twice/2",
            "unit/pfc/2",
        ]
    );
    let junit = fs::read_to_string(folder.join("junit.xml")).unwrap();
    assert!(
        junit.contains("tests=\"6\" skipped=\"0\" failures=\"0\" errors=\"0\""),
        "{junit}"
    );
    assert!(
        junit.contains("<testcase name=\"twice/2\" classname=\"scenario/tiny\""),
        "{junit}"
    );
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(page.contains("<td>unit/pfc/2</td>"), "{page}");

    // A process that was killed while it wrote its last line: that item runs again.
    let before = items(&folder);
    let journal = folder.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    let said = bench.regress("r", &["--seeds", "1-2"]);
    assert_eq!(said.outcome.unwrap(), Outcome::Held);
    assert_eq!(said.err, "xoff: 5 items finished before, 1 is left\n");
    assert_eq!(items(&folder), before);

    // Damage in the middle is an error that names the line.
    let lines: Vec<&str> = text.lines().collect();
    fs::write(
        &journal,
        [lines[0], "{\"item\":3}", lines[1], ""].join("\n"),
    )
    .unwrap();
    let why = bench.refused("r", &["--seeds", "1-2"]);
    assert!(
        why.starts_with("F/r/journal.jsonl, line 2: not a finished item: invalid type")
            && why.ends_with("--restart begins anew"),
        "{why}"
    );
    fs::write(&journal, "{\"version\":9}\n").unwrap();
    let why = bench.refused("r", &["--seeds", "1-2"]);
    assert_eq!(
        why,
        "F/r/journal.jsonl, line 1: version 9: this xoff reads version 1; --restart begins anew"
    );
    fs::write(&journal, &text).unwrap();
    let why = bench.refused("r", &["--seeds", "1-3"]);
    assert!(
        why.starts_with("F/r/journal.jsonl: of a regression with other seeds"),
        "{why}"
    );
    let said = bench.regress("r", &["--seeds", "3", "--restart"]);
    assert!(said.out.starts_with("3 items: 3 passed"), "{}", said.out);
}

#[test]
fn parts_merge_to_the_whole() {
    let bench = Bench::new();
    bench.regress("all", &["--seeds", "1-2"]).outcome.unwrap();
    let merge = |folders: &[&str], out: &str| {
        let folders: Vec<String> = folders.iter().map(|folder| bench.text(folder)).collect();
        let folders: Vec<&str> = folders.iter().map(|folder| &folder[..]).collect();
        let out = bench.text(out);
        run(
            &[&["regress", "merge"], &folders[..], &["--out", &out]].concat(),
            None,
            false,
        )
    };
    for (folder, shard) in [("1", "1/3"), ("2", "2/3"), ("3", "3/3")] {
        let said = bench.regress(folder, &["--seeds", "1-2", "--shard", shard]);
        assert!(
            said.out
                .starts_with(&format!("2 items of part {shard}: 2 passed")),
            "{}",
            said.out
        );
    }
    let said = merge(&["1", "2", "3"], "merged");
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    assert_eq!(items(&bench.path("merged")), items(&bench.path("all")));
    // A part is missing.
    let said = merge(&["1", "3"], "less");
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    assert!(
        said.out
            .starts_with("6 items: 4 passed, 0 failed, 2 missing\n"),
        "{}",
        said.out
    );
    let junit = fs::read_to_string(bench.path("less/junit.xml")).unwrap();
    assert!(
        junit.contains("tests=\"6\" skipped=\"0\" failures=\"0\" errors=\"2\"")
            && junit.contains("<error message=\"missing: it did not finish\""),
        "{junit}"
    );
    let missing = &summary(&bench.path("less"))["missing"];
    assert_eq!(
        *missing,
        serde_json::json!(["scenario/tiny/twice/1", "scenario/tiny/twice/2"])
    );

    fs::create_dir(bench.path("none")).unwrap();
    let why = merge(&["1", "none"], "x").outcome.unwrap_err().to_string();
    assert!(
        why.ends_with("none: no results of xoff regress: it has no journal.jsonl"),
        "{why}"
    );
    bench.regress("other", &["--seeds", "9"]).outcome.unwrap();
    let why = merge(&["1", "other"], "x").outcome.unwrap_err().to_string();
    assert!(
        why.contains("other: other seeds, items or settings than"),
        "{why}"
    );
}

#[test]
fn results_of_another_program_or_scenario_do_not_count() {
    let bench = Bench::new();
    let journal = bench.path("r/journal.jsonl");
    // Without its last item, so that there is something to continue with.
    let shorten = || {
        let text = fs::read_to_string(&journal).unwrap();
        let end = text.trim_end().rfind('\n').unwrap() + 1;
        fs::write(&journal, &text[..end]).unwrap();
    };
    let again = || {
        let said = bench.regress("r", &[]);
        assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
        assert!(said.out.starts_with("3 items: 3 passed"), "{}", said.out);
        said.err.replace(bench.folder.path().to_str().unwrap(), "F")
    };
    let anew = |why: &str| format!("xoff: F/r/journal.jsonl: {why}; begins anew\n");
    assert_eq!(again(), "");
    assert_eq!(again(), anew("of a regression that has finished"));
    shorten();
    assert_eq!(again(), "xoff: 2 items finished before, 1 is left\n");
    // What ran before the scenario changed counts no more.
    shorten();
    fs::write(bench.path("tiny.toml"), scenario(900, 4)).unwrap();
    assert_eq!(again(), anew("of before scenario/tiny/base changed"));
    shorten();
    let text = fs::read_to_string(&journal).unwrap();
    let other = text.replace("\"program\":\"", "\"program\":\"0");
    assert_ne!(other, text);
    fs::write(&journal, other).unwrap();
    assert_eq!(again(), anew("of another build of xoff"));
    // Of a version that did not say which program it was.
    fs::write(&journal, text.replace("\"program\":", "\"by\":")).unwrap();
    assert_eq!(again(), anew("of another build of xoff"));
}

#[test]
fn a_continued_regression_is_compared_with_the_baseline_that_is_given_now() {
    let bench = Bench::new();
    let only = "scenario/tiny/*";
    let digests = bench.text("digests.json");
    let baseline = ["--baseline", &digests];
    let update = [&baseline[..], &["--update-baseline"]].concat();
    assert_eq!(
        bench.only(only, "r", &update).outcome.unwrap(),
        Outcome::Held
    );
    let captures = bench.path("digests.json.captures");
    assert!(!captures.exists());
    // A regression that has finished has no captures; it begins anew, and then it has.
    let said = bench.only(only, "r", &[&update[..], &["--captures"]].concat());
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.err);
    assert_eq!(fs::read_dir(&captures).unwrap().count(), 2);

    fs::write(bench.path("tiny.toml"), scenario(900, 4)).unwrap();
    let said = bench.only(only, "new", &[]);
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    let journal = bench.path("new/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let end = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&journal, &text[..end]).unwrap();
    let said = bench.only(only, "new", &baseline);
    assert_eq!(said.err, "xoff: 1 item finished before, 1 is left\n");
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    let new = summary(&bench.path("new"));
    assert_eq!(new["failed"], 2, "{new}");
    let detail = new["buckets"][0]["detail"].as_str().unwrap();
    assert!(
        detail.contains("\nfirst frame that is different"),
        "{detail}"
    );

    // Without a baseline, and with one of these digests, the same results hold.
    let text = fs::read_to_string(&journal).unwrap();
    let first = text.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    for more in [&[][..], &update[..]] {
        fs::write(&journal, &first).unwrap();
        let said = bench.only(only, "new", more);
        assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    }
}

#[test]
fn two_regressions_do_not_write_to_one_folder() {
    let bench = Bench::new();
    bench.regress("r", &["--seeds", "1-2"]).outcome.unwrap();
    let recorded = journal::read(&bench.path("r")).unwrap();
    let held = journal::write(&bench.path("r"), &recorded.plan, &recorded.finished).unwrap();
    let why = bench.refused("r", &["--seeds", "1-2", "--restart"]);
    assert_eq!(
        why,
        "F/r: another xoff regress writes its results there: wait for its end, or give another folder with --out"
    );
    drop(held);
    let said = bench.regress("r", &["--seeds", "1-2", "--restart"]);
    assert_eq!(said.outcome.unwrap(), Outcome::Held);
    fs::write(bench.path("afile"), "").unwrap();
    let why = bench.regress("afile", &[]).outcome.unwrap_err().to_string();
    assert!(
        why.ends_with("/afile: a file; a folder for results is needed"),
        "{why}"
    );
}

#[test]
fn a_merged_report_has_the_cases_of_its_parts() {
    let bench = Bench::new();
    bench.regress("my part", &[]).outcome.unwrap();
    // As if the unit had failed.
    let part = bench.path("my part");
    let mut recorded = journal::read(&part).unwrap();
    let unit = (recorded.finished.iter_mut()).find(|entry| entry.item == "unit/pfc/1");
    let unit = unit.unwrap();
    unit.case = Some("pfc/12345678.case".into());
    unit.repeat = "xoff replay out/of/another/machine/cases/pfc/12345678.case".into();
    unit.failure = Some(journal::Failure {
        cause: "pfc: planted".into(),
        detail: "planted".into(),
        of_baseline: false,
    });
    drop(journal::write(&part, &recorded.plan, &recorded.finished).unwrap());
    fs::create_dir_all(part.join("cases/pfc")).unwrap();
    fs::write(part.join("cases/pfc/12345678.case"), "a case").unwrap();
    let (from, to) = (bench.text("my part"), bench.text("all parts"));
    let said = run(&["regress", "merge", &from, "--out", &to], None, false);
    assert_eq!(said.outcome.unwrap(), Outcome::Failed, "{}", said.out);
    let copy = bench.path("all parts").join("cases/pfc/12345678.case");
    assert_eq!(fs::read_to_string(&copy).unwrap(), "a case");
    let again = format!("    again: xoff replay '{}'\n", copy.display());
    assert!(said.out.contains(&again), "{}", said.out);
}

#[test]
fn a_file_that_cannot_be_written_is_no_failure_of_the_scenario() {
    let bench = Bench::new();
    let digests = bench.text("digests.json");
    let taken = bench.path("digests.json.captures/scenario,tiny,base,1.part");
    fs::create_dir_all(&taken).unwrap();
    let update = ["--baseline", &digests, "--update-baseline", "--captures"];
    let why = bench.refused("r", &update);
    assert!(
        why.contains("scenario/tiny/base/1: F/digests.json.captures/scenario,tiny,base,1.part: "),
        "{why}"
    );
    assert!(!Path::new(&digests).exists());
    // It runs again when there is room.
    fs::remove_dir(&taken).unwrap();
    let said = bench.regress("r", &update);
    assert!(said.out.starts_with("3 items: 3 passed"), "{}", said.out);
    assert_eq!(said.outcome.unwrap(), Outcome::Held);
}

#[test]
fn failures_are_grouped_and_changes_against_a_baseline_named() {
    let bench = Bench::new();
    let only = "scenario/tiny/*";
    let digests = bench.text("digests.json");
    let baseline = ["--baseline", &digests];
    let update = ["--update-baseline", "--captures"];
    let said = bench.only(only, "before", &[&baseline[..], &update].concat());
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.err);
    let said = bench.only(only, "same", &baseline);
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    // A seed that the baseline does not know.
    let more = [&baseline[..], &["--seeds", "3"]].concat();
    let said = bench.only("scenario/tiny/base/*", "more", &more);
    assert_eq!(said.outcome.unwrap(), Outcome::Failed, "{}", said.out);
    let cause = &summary(&bench.path("more"))["buckets"][0]["cause"];
    assert_eq!(cause, "tiny: the baseline has no digest of it");

    // Messages of another length: the first frame differs already.
    fs::write(bench.path("tiny.toml"), scenario(900, 4)).unwrap();
    let said = bench.only(only, "after", &baseline);
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    let summary_after = summary(&bench.path("after"));
    let bucket = &summary_after["buckets"][0];
    assert_eq!(
        bucket["cause"],
        "tiny: other frames or times than the baseline"
    );
    assert_eq!(bucket["items"].as_array().unwrap().len(), 2);
    let detail = bucket["detail"].as_str().unwrap();
    assert!(
        detail.contains("\nfirst frame that is different, number 1: ")
            && detail.contains(" at a.0 at "),
        "{detail}"
    );

    // The same expectation fails for both seeds: one cause, two items.
    fs::write(bench.path("tiny.toml"), scenario(1_000, 5)).unwrap();
    let said = bench.only("scenario/tiny/base/*", "failing", &["--seeds", "1-2"]);
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    let file = bench.text("tiny.toml");
    let (results, times) = said.out.trim_end().rsplit_once('\n').unwrap();
    assert!(
        times.contains(" on 2 threads, ") && times.contains(" items at a time; "),
        "{times}"
    );
    assert_eq!(
        results,
        format!(
            "2 items: 0 passed, 2 failed\n  tiny: expectation messages.f = 5, 2 items\n    \
             messages.f = 5: measured 4\n    again: xoff run {file} --seed 1\n  report: {}",
            bench.path("failing").join("index.html").display()
        )
    );
    let why = bench.refused("x", &["--baseline", &digests, "--set", "host.nic=model"]);
    assert_eq!(
        why,
        "F/digests.json: recorded with no --set, this regression has --set host.nic=model"
    );
    fs::write(&digests, "{}").unwrap();
    let why = bench.refused("x", &["--baseline", &digests]);
    assert!(
        why.starts_with("F/digests.json: not a baseline of xoff regress: missing field"),
        "{why}"
    );
}

/// Those of the repository hold, each once whatever the seeds; one that fails has its command.
#[test]
fn kept_cases_are_items() {
    let bench = Bench::new();
    let kept = argument("cases");
    let more = ["--kept", &kept, "--seeds", "1-2"];
    let said = bench.only("case/*", "held", &more);
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);
    let names: Vec<String> = items(&bench.path("held"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let files = ["dcqcn", "gbn", "hosts", "network", "nic", "translation"].map(|unit| {
        let folder = fs::read_dir(file("cases").join(unit)).unwrap();
        folder.count()
    });
    assert_eq!(names.len(), files.iter().sum::<usize>(), "{names:?}");
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("case/nic/reopened/")),
        "{names:?}"
    );

    fs::create_dir_all(bench.path("kept/nic")).unwrap();
    let case = bench.path("kept/nic/forged.case");
    fs::copy(file("cases/planted/forged_payload.case"), &case).unwrap();
    let kept = bench.text("kept");
    let said = bench.only("case/*", "failing", &["--kept", &kept]);
    assert_eq!(said.outcome.unwrap(), Outcome::Failed);
    let again = format!("    again: xoff replay {}\n", case.display());
    assert!(said.out.contains(&again), "{}", said.out);
    assert!(
        said.out
            .contains("  nic: cycle N: memory of side N: wrong bytes"),
        "{}",
        said.out
    );
    // A case that is mended is run again, not taken from the journal.
    let first = fs::read_to_string(&case).unwrap();
    let other = fs::read_to_string(file("cases/nic/reopened.case")).unwrap();
    let events = other.split_once('\n').unwrap().1;
    fs::write(
        &case,
        format!("{}\n{events}", first.lines().next().unwrap()),
    )
    .unwrap();
    let said = bench.only("case/*", "failing", &["--kept", &kept]);
    assert_eq!(said.outcome.unwrap(), Outcome::Held, "{}", said.out);

    fs::write(&case, "hello").unwrap();
    let why = bench.refused("x", &["--kept", &kept]);
    assert!(
        why.starts_with("F/kept/nic/forged.case: line 1: 'hello'; a case begins with"),
        "{why}"
    );
    let cut: String = first.chars().take(300).collect();
    fs::write(&case, cut).unwrap();
    let why = bench.refused("x", &["--kept", &kept]);
    assert!(why.starts_with("F/kept/nic/forged.case: line "), "{why}");
    assert!(!bench.path("x").exists());
    let why = bench.refused("x", &["--kept", &bench.text("none")]);
    assert_eq!(why, "--kept F/none: no such folder");
}

#[test]
fn what_is_wrong_is_named_before_anything_runs() {
    let bench = Bench::new();
    let why = bench.refused("x", &["--set", "flows.f.count=none"]);
    assert!(why.contains("count"), "{why}");
    let why = run(&["regress", "--only", "unit/nothing/*"], None, false);
    let why = why.outcome.unwrap_err().to_string();
    assert!(
        why.starts_with("--only unit/nothing/*: matches none of ") && why.len() < 250,
        "{why}"
    );
    let why = run(&["regress", "--only", "unit/prser/*"], None, false);
    let why = why.outcome.unwrap_err().to_string();
    assert!(
        why.contains(" items; the nearest are unit/parser, unit/"),
        "{why}"
    );
    assert!(!bench.path("x").exists());
}

#[test]
fn an_interrupted_regression_keeps_what_it_found() {
    let bench = Bench::new();
    // The second item would take much longer than the test waits.
    let long = scenario(1_000_000, 4)
        .replace("20 us", "1000 ms")
        .replace("count = 4", "window = 8");
    fs::write(bench.path("zlong.toml"), long).unwrap();
    let out = bench.path("r");
    let mut process = Command::new(env!("CARGO_BIN_EXE_xoff-verify"))
        .args([
            "regress",
            "--jobs",
            "1",
            "--only",
            "scenario/tiny/base/*,scenario/zlong/*",
        ])
        .args([
            "--scenario",
            &bench.text("tiny.toml"),
            "--scenario",
            &bench.text("zlong.toml"),
        ])
        .args(["--out", out.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let journal = out.join("journal.jsonl");
    while fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "no item finishes"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(process.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(130));
    let summary = summary(&out);
    assert_eq!(summary["state"], "incomplete");
    assert_eq!(summary["passed"], 1);
    assert_eq!(
        summary["missing"],
        serde_json::json!(["scenario/zlong/base/1", "scenario/zlong/twice/1"])
    );
    assert!(
        fs::read_to_string(out.join("junit.xml"))
            .unwrap()
            .contains("tests=\"3\" skipped=\"0\" failures=\"0\" errors=\"2\"")
    );
}
