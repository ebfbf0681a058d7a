//! Files of results hold what was measured, and are written as a whole or not at all.

use std::fs;

use xoff_waves::report::{Band, Chart, Expectation, Line, MessageRow, Op, Report, Summary};
use xoff_waves::results::OutDir;

fn line(name: &str, points: &[(u64, f64)]) -> Line {
    Line {
        name: name.into(),
        points: points.to_vec(),
        ..Line::default()
    }
}

fn report() -> Report {
    Report {
        summary: Summary {
            scenario: "tiny".into(),
            seed: 7,
            settings: serde_json::json!({"alpha": "1/16"}),
            digest: "0123".into(),
            duration_ns: 30,
            expectations: vec![Expectation::judge("a", Op::Ge, 0.5, Some(0.25), None)],
            metrics: [("a".into(), 0.25), ("none".into(), f64::NAN)].into(),
            ..Summary::default()
        },
        charts: vec![
            Chart {
                title: "Rate".into(),
                unit: "b/s".into(),
                lines: vec![
                    line("a, \"b\"", &[(10, 4e10), (20, 0.1), (20, 0.3)]),
                    line("c", &[(5, f64::NAN), (20, -1.0)]),
                ],
                ..Chart::default()
            },
            Chart {
                title: "Paused".into(),
                bands: vec![Band {
                    name: "a".into(),
                    spans: vec![(10, 12), (12, 30)],
                }],
                ..Chart::default()
            },
        ],
        ..Report::default()
    }
}

#[test]
fn series_have_a_row_a_value() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let path = out.write_series(&report().charts).unwrap();
    insta::assert_snapshot!(fs::read_to_string(path).unwrap(), @r#"
    chart,line,unit,time_ns,mean,least,greatest
    Rate,"a, ""b""",b/s,10,40000000000,,
    Rate,"a, ""b""",b/s,20,0.1,,
    Rate,"a, ""b""",b/s,20,0.3,,
    Rate,c,b/s,5,,,
    Rate,c,b/s,20,-1,,
    "#);
}

/// Reads a table as pandas does: the type of each column, `None` for an empty one.
fn types(path: &std::path::Path) -> Vec<(String, Option<&'static str>)> {
    let text = fs::read_to_string(path).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let of = |(place, name): (usize, String)| {
        let fields = rows.iter().map(|row| &row[place]);
        let filled: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
        let all = |is: fn(&str) -> bool| filled.iter().all(|field| is(field));
        let kind = match filled.is_empty() {
            true => None,
            false if all(|field| field.parse::<u64>().is_ok()) => Some("int"),
            false if all(|field| field.parse::<f64>().is_ok()) => Some("float"),
            false => Some("text"),
        };
        (name, kind)
    };
    names.into_iter().enumerate().map(of).collect()
}

#[test]
fn tables_have_numbers_without_units() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let row = |end_ns, slowdown| MessageRow {
        group: "f".into(),
        flow: "f.a".into(),
        from: "a".into(),
        to: "b".into(),
        class: 3,
        start_ns: 10,
        end_ns,
        bytes: 4096,
        ideal_ns: 5,
        slowdown,
    };
    let mut report = report();
    report.messages = vec![
        row(Some(30), Some(4.0)),
        row(Some(20), Some(2.25)),
        row(None, None),
    ];
    report
        .summary
        .metrics
        .insert("goodput_gbps.f.a".into(), 1.5);
    report.charts[0].lines[1].ranges = vec![(f64::NAN, f64::NAN), (-2.0, 3.5)];
    out.write_all(&report).unwrap();
    let text = fs::read_to_string(out.file("flows.csv")).unwrap();
    assert!(text.ends_with("\nf,f.a,a,b,3,10,,4096,5,\n"), "{text}");
    let kinds = |file| {
        types(&out.file(file))
            .into_iter()
            .map(|(_, kind)| kind.unwrap())
            .collect::<Vec<_>>()
    };
    let text = "text";
    let (int, float) = ("int", "float");
    assert_eq!(
        kinds("flows.csv"),
        [text, text, text, text, int, int, int, int, int, float]
    );
    assert_eq!(kinds("metrics.csv"), [text, text, text, float, text]);
    assert_eq!(
        kinds("series.csv"),
        [text, text, text, int, float, float, float]
    );
    let metrics = fs::read_to_string(out.file("metrics.csv")).unwrap();
    assert!(
        metrics.contains("\ngoodput_gbps.f.a,goodput_gbps,f.a,1.5,Gb/s\n"),
        "{metrics}"
    );
}

#[test]
fn bands_have_columns_for_their_ends() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let mut charts = report().charts;
    charts[0].lines[1].ranges = vec![(f64::NAN, f64::NAN), (-2.0, 3.0)];
    let path = out.write_series(&charts).unwrap();
    insta::assert_snapshot!(fs::read_to_string(path).unwrap(), @r#"
    chart,line,unit,time_ns,mean,least,greatest
    Rate,"a, ""b""",b/s,10,40000000000,,
    Rate,"a, ""b""",b/s,20,0.1,,
    Rate,"a, ""b""",b/s,20,0.3,,
    Rate,c,b/s,5,,,
    Rate,c,b/s,20,-1,-2,3
    "#);
}

#[test]
fn spans_have_a_row_each() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let path = out.write_spans(&report().charts).unwrap();
    insta::assert_snapshot!(fs::read_to_string(path).unwrap(), @r"
    chart,row,from_ns,to_ns
    Paused,a,10,12
    Paused,a,12,30
    ");
}

#[test]
fn the_summary_is_json() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let path = out.write_summary(&report().summary).unwrap();
    insta::assert_snapshot!(fs::read_to_string(path).unwrap());
}

#[test]
fn all_files_are_there_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let out = OutDir::create(root.path().join("deep/out"), "tiny").unwrap();
        out.write_all(&report()).unwrap();
        out.write_chart("rate.svg", &report().charts[0]).unwrap();
        let mut names: Vec<_> = fs::read_dir(out.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "flows.csv",
                "goodput.svg",
                "metrics.csv",
                "rate.svg",
                "report.html",
                "series.csv",
                "spans.csv",
                "summary.json"
            ]
        );
    }
}

#[test]
fn files_that_a_summary_lists_are_removed_and_no_others() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    fs::write(root.path().join("outside"), "").unwrap();
    for file in ["a.fst", "notes.txt", "report.html"] {
        fs::write(out.file(file), "").unwrap();
    }
    drop(out);
    // Without a summary, nothing says that these files belong to a run.
    let out = OutDir::create(root.path(), "tiny").unwrap();
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 3);
    let files = ["a.fst", "../outside", "gone.fst"].map(String::from);
    out.begin("tiny", &files).unwrap();
    drop(out);
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let left: Vec<_> = fs::read_dir(out.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert!(out.file("notes.txt").exists() && root.path().join("outside").exists());
}

#[test]
fn what_fails_leaves_the_file_before() {
    let root = tempfile::tempdir().unwrap();
    let out = OutDir::create(root.path(), "tiny").unwrap();
    let path = out
        .write("a.txt", |file| file.write_all(b"before"))
        .unwrap();
    let error = out
        .write("a.txt", |file| {
            file.write_all(b"half")?;
            Err(std::io::Error::other("no more"))
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: cannot be written: no more", path.display())
    );
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
}

#[test]
fn two_runs_do_not_write_one_folder_at_a_time() {
    let root = tempfile::tempdir().unwrap();
    let first = OutDir::create(root.path(), "tiny").unwrap();
    let summary = first.begin("tiny", &[]).unwrap();
    let error = OutDir::create(root.path(), "tiny").unwrap_err().to_string();
    assert!(
        error.contains("tiny: another run writes its results there"),
        "{error}"
    );
    assert!(summary.exists(), "the second run removes nothing");
    OutDir::create(root.path(), "other").unwrap();
    drop(first);
    OutDir::create(root.path(), "tiny").unwrap();
}

#[test]
fn errors_name_the_place() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("out");
    fs::write(&file, "in the way").unwrap();
    let error = OutDir::create(&file, "tiny").unwrap_err().to_string();
    let start = format!(
        "{}: the folder for results cannot be made: ",
        file.join("tiny").display()
    );
    assert!(error.starts_with(&start), "{error}");

    let out = OutDir::create(root.path(), "gone").unwrap();
    fs::remove_dir(out.path()).unwrap();
    let error = out
        .write_summary(&Summary::default())
        .unwrap_err()
        .to_string();
    let start = format!(
        "{}: cannot be written: ",
        out.file("summary.json").display()
    );
    assert!(error.starts_with(&start), "{error}");

    for name in ["", "..", "a/b", "a\\b", ".hidden", "a\nb"] {
        let error = OutDir::create(root.path(), name).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{name:?} cannot be the name")),
            "{error}"
        );
    }
}
