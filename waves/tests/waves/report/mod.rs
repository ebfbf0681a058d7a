//! Pages and pictures: small ones are compared word by word, and in all of them no text can become markup.

mod invented;
mod uplot;

use proptest::prelude::*;
use xoff_waves::report::{
    Band, Chart, Drop, Expectation, Fault, Finding, FindingKind, Injection, Level, Line, Link,
    Marker, MessageRow, Node, NodeKind, Op, PauseRow, Pauses, Report, Shape, Summary, Topology,
    Way, sentence,
};

fn tiny() -> Chart {
    Chart {
        title: "Queue".into(),
        unit: "B".into(),
        lines: vec![
            Line {
                name: "port 1".into(),
                points: vec![(0, 0.0), (500, 1_500.0), (1_000, 300.0)],
                shape: Shape::Straight,
                ..Line::default()
            },
            Line {
                name: "port 2".into(),
                points: vec![(0, 900.0), (400, 100.0)],
                shape: Shape::Hold,
                ..Line::default()
            },
        ],
        bands: vec![Band {
            name: "paused".into(),
            spans: vec![(250, 500)],
        }],
        levels: vec![Level {
            name: "XOFF".into(),
            value: 1_000.0,
        }],
        markers: vec![Marker {
            at_ns: 250,
            text: "XOFF sent".into(),
        }],
        ..Chart::default()
    }
}

/// Returns the picture without its style sheet, one element per line.
fn lines(markup: &str) -> String {
    let (before, rest) = markup.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    (before.to_owned() + after).replace("><", ">\n<")
}

#[test]
fn a_small_chart() {
    insta::assert_snapshot!(lines(&tiny().svg()));
}

#[test]
fn a_small_page() {
    let node = |name: &str, kind| Node {
        name: name.into(),
        kind,
    };
    let link = |a: &str, b: &str| Link {
        a: a.into(),
        b: b.into(),
        rate: "40 Gb/s".into(),
        length: "2 m".into(),
        ..Link::default()
    };
    // Stopped for a tenth of the run in one direction and for half of it in the other; drops and marks of both add up.
    let stopped = Link {
        there: Way {
            paused_ns: 100,
            drops: 12_000,
            lost: 12_000,
            marks: 0,
        },
        back: Way {
            paused_ns: 500,
            drops: 345,
            lost: 345,
            marks: 7,
        },
        ..link("b", "t0")
    };
    let report = Report {
        title: "A queue".into(),
        description: "One sentence.\n\nAnother.".into(),
        command: "xoff run queue --seed 3".into(),
        summary: Summary {
            faults: vec![],
            injections: vec![],
            scenario: "queue".into(),
            seed: 3,
            settings: serde_json::json!({"switch": {"alpha": "1/16", "classes": [3, 4]}, "ports": [{"rate": "40 Gb/s"}]}),
            digest: "beef".into(),
            duration_ns: 1_000,
            wall_s: 0.25,
            nic_cycles: 200,
            nic_cycles_evaluated: 50,
            expectations: vec![
                Expectation::judge(
                    "queue.max_bytes",
                    Op::Le,
                    1_000.0,
                    Some(1_500.0),
                    Some("XOFF holds it.".into()),
                ),
                Expectation::judge("drops", Op::Eq, 0.0, Some(0.0), None),
            ],
            drops: vec![Drop {
                node: "t0".into(),
                reason: "no room".into(),
                count: 12_345,
            }],
            metrics: [("queue.max_bytes".into(), 1_500.0)].into(),
            ..Summary::default()
        },
        topology: Topology {
            nodes: vec![
                node("a", NodeKind::HostRtl),
                node("b", NodeKind::HostModel),
                node("t0", NodeKind::Switch),
            ],
            links: vec![link("a", "t0"), stopped],
        },
        ..Report::default()
    };
    insta::assert_snapshot!(lines(&report.html()));
}

#[test]
fn verdicts_in_words() {
    let said = |held: &[bool]| {
        let one = |&held: &bool| {
            let measured = if held { 1.0 } else { 0.0 };
            Expectation::judge("a.goodput_bps", Op::Ge, 1.0, Some(measured), None)
        };
        let expectations = held.iter().map(one).collect();
        sentence(&Summary {
            expectations,
            ..Summary::default()
        })
    };
    insta::assert_snapshot!(
        [&[][..], &[true], &[true, true], &[false], &[true, false], &[false, false]].map(said).join("\n"),
        @r"
    Ran to its end; nothing was expected of it.
    Held: the one expectation is met.
    Held: all 2 expectations are met.
    Failed: the one expectation is not met; a.goodput_bps is 0 b/s, expected ≥ 1 b/s.
    Failed: 1 of 2 expectations not met; a.goodput_bps is 0 b/s, expected ≥ 1 b/s.
    Failed: 2 of 2 expectations not met; a.goodput_bps is 0 b/s, expected ≥ 1 b/s.
    "
    );
    let unmeasured = Summary {
        expectations: vec![Expectation::judge("x", Op::Ne, 1.0, None, None)],
        ..Summary::default()
    };
    assert!(!unmeasured.held());
    assert!(sentence(&unmeasured).contains("x was not measured"));
}

/// Returns the tags of a text without its contents. Panics if an element is not closed.
fn tags(markup: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag is closed");
        let tag = &rest[start..=end];
        let name: String = tag[1..]
            .chars()
            .take_while(|c| !c.is_whitespace() && *c != '>')
            .collect();
        rest = &rest[end + 1..];
        if matches!(name.as_str(), "style" | "script") {
            rest = &rest[rest.find(&format!("</{name}>")).expect("closed")..];
        }
        tags.push(name);
    }
    tags
}

/// Returns a report in which every text is `text`.
fn full_of(text: &str) -> Report {
    let text = || text.to_owned();
    Report {
        title: text(),
        description: text(),
        command: text(),
        summary: Summary {
            faults: vec![Fault {
                place: text(),
                rule: text(),
                matched: 0,
                hit: 0,
            }],
            injections: vec![Injection {
                host: text(),
                direction: text(),
                frames: 3,
                injected: 2,
                waited: 1,
                delayed: 1,
            }],
            findings: vec![Finding {
                kind: FindingKind::Storm,
                text: text(),
                details: vec![text()],
                from_ns: 1,
                to_ns: None,
            }],
            scenario: text(),
            settings: serde_json::Value::Object(
                [("key".to_owned(), text().into())].into_iter().collect(),
            ),
            digest: text(),
            expectations: vec![Expectation::judge(
                text(),
                Op::Lt,
                1.0,
                Some(2.0),
                Some(text()),
            )],
            drops: vec![Drop {
                node: text(),
                reason: text(),
                count: 1,
            }],
            metrics: [(text(), 1.0), (format!("goodput_gbps.{}", text()), 1.0)].into(),
            files: vec![text()],
            ..Summary::default()
        },
        topology: Topology {
            nodes: vec![
                Node {
                    name: text(),
                    kind: NodeKind::HostRtl,
                },
                Node {
                    name: "t".into(),
                    kind: NodeKind::Switch,
                },
            ],
            links: vec![Link {
                a: "t".into(),
                b: "t".into(),
                rate: text(),
                length: text(),
                ..Link::default()
            }],
        },
        charts: vec![Chart {
            title: text(),
            unit: text(),
            note: text(),
            lines: vec![Line {
                name: text(),
                points: vec![(0, 1.0), (9, 2.0)],
                ..Line::default()
            }],
            bands: vec![Band {
                name: text(),
                // The whole time, so that the number of rectangles does not depend on the name's width.
                spans: vec![(0, 9)],
            }],
            markers: vec![Marker {
                at_ns: 3,
                text: text(),
            }],
            levels: vec![Level {
                name: text(),
                value: 1.0,
            }],
            ..Chart::default()
        }],
        pauses: Pauses {
            rows: vec![PauseRow {
                name: text(),
                ends: [text(), text()],
                spans: vec![(0, 9, 9)],
                ..PauseRow::default()
            }],
            left_out: 1,
        },
        messages: vec![MessageRow {
            group: text().into(),
            flow: text().into(),
            from: text().into(),
            to: text().into(),
            class: 3,
            start_ns: 0,
            end_ns: Some(9),
            bytes: 1,
            ideal_ns: 3,
            slowdown: Some(3.0),
        }],
        part_ns: None,
    }
}

/// A host stops its switch, which stops two senders, one of them before the host did.
#[test]
fn a_small_spread_of_pauses() {
    let row = |name: &str, distance, cause, spans: &[(u64, u64, u64)]| PauseRow {
        name: name.into(),
        ends: Default::default(),
        distance,
        cause,
        from_ns: spans[0].0,
        total_ns: spans.iter().map(|span| span.2).sum(),
        spans: spans.to_vec(),
    };
    let report = Report {
        summary: Summary {
            duration_ns: 1_000,
            findings: vec![Finding {
                kind: FindingKind::Storm,
                text: "h paused class 3".into(),
                details: vec!["t → h from 200 ns".into()],
                from_ns: 200,
                to_ns: None,
            }],
            ..Summary::default()
        },
        pauses: Pauses {
            rows: vec![
                row("h stops t", 0, None, &[(200, 1_000, 800)]),
                row("t stops a", 1, Some(0), &[(400, 900, 500)]),
                row("t stops b", 1, Some(0), &[(0, 500, 100)]),
            ],
            left_out: 1_234,
        },
        ..Report::default()
    };
    let page = lines(&report.html());
    let (_, section) = page.split_once("Who paused whom").unwrap();
    let (section, _) = section.split_once("</figure>").unwrap();
    insta::assert_snapshot!(section);
    let (_, findings) = page.split_once("Findings").unwrap();
    let (findings, _) = findings.split_once("</table>").unwrap();
    insta::assert_snapshot!(findings);
}

proptest! {
    #[test]
    fn no_text_becomes_markup(text in "[<>&\"'/=a\u{1b}\u{0}é-]{1,12}") {
        // The page must have the same tags as with a harmless text of the same letters.
        let harmless: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let (evil, good) = (full_of(&text), full_of(&harmless));
        // A text of another width may be shortened with an ellipsis, and then gets a title.
        let shape = |markup: &str| tags(markup).into_iter().filter(|tag| !tag.ends_with("title")).collect::<Vec<_>>();
        prop_assert_eq!(shape(&evil.html()), shape(&good.html()));
        prop_assert_eq!(shape(&evil.charts[0].svg()), shape(&good.charts[0].svg()));
        for markup in [evil.html(), evil.charts[0].svg()] {
            prop_assert!(!markup.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }

    #[test]
    fn any_numbers_make_finite_pictures(points in prop::collection::vec((any::<u64>(), any::<f64>()), 0..60), level in any::<f64>(), shape in prop::sample::select(&[Shape::Straight, Shape::Hold, Shape::Mean][..]), range in prop::option::of((any::<f64>(), any::<f64>()))) {
        let mut points = points;
        points.sort_by_key(|&(time, _)| time);
        let finite = points.iter().any(|point| point.1.is_finite());
        let spans = points.chunks_exact(2).map(|pair| (pair[0].0, pair[1].0)).collect();
        let markers = points.iter().map(|&(at_ns, value)| Marker { at_ns, text: value.to_string() }).collect();
        let chart = Chart {
            lines: vec![Line { name: "a".into(), points, shape, ..Line::default() }],
            bands: vec![Band { name: "b".into(), spans }],
            levels: vec![Level { name: "l".into(), value: level }],
            markers,
            range,
            ..tiny()
        };
        let svg = chart.svg();
        let (_, picture) = svg.split_once("</style>").unwrap();
        for attribute in ["x", "y", "d", "x1", "y1", "x2", "y2", "width", "height"] {
            for value in picture.split(&format!(" {attribute}=\"")).skip(1) {
                let value = value.split('"').next().unwrap();
                prop_assert!(!value.contains("NaN") && !value.contains("inf"), "{}=\"{}\"", attribute, value);
            }
        }
        prop_assert!(svg.len() < 100_000, "{} bytes", svg.len());
        // The paths that a page has of it are whole numbers.
        let page = Report { charts: vec![chart], ..Report::default() }.html();
        let paths = page.split("<path class=\"shared\"").skip(1);
        let paths: Vec<&str> = paths.filter_map(|path| path.split("d=\"").nth(2)?.split('"').next()).collect();
        prop_assert!(!paths.is_empty() || !finite);
        for path in paths {
            prop_assert!(path.chars().all(|c| "Mhvlz Z-".contains(c) || c.is_ascii_digit()), "{}", path);
        }
    }
}

#[test]
fn pages_need_nothing_else() {
    for report in [
        invented::livelock(),
        invented::incast(),
        invented::hostile(),
    ] {
        let page = report.html();
        // Names of elements of the page, and the names of things in comments.
        let allowed = page.replace("http://www.w3.org/2000/svg", "");
        let allowed = allowed.replace("href=\"#", "");
        let allowed = allowed.replace("/*! https://github.com/leeoniya/uPlot", "");
        for link in ["src=", "href=", "url(", "@import", "http://", "https://"] {
            assert!(!allowed.contains(link), "{link}");
        }
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
    }
}

#[test]
fn peaks_survive_in_pictures() {
    // One value among a million stands out, and the picture must reach it.
    let mut points: Vec<(u64, f64)> = (0..1_000_000).map(|time| (time, 1.0)).collect();
    points[123_457].1 = 8.0;
    let chart = Chart {
        range: Some((0.0, 8.0)),
        lines: vec![Line {
            points,
            ..Line::default()
        }],
        ..Chart::default()
    };
    let svg = chart.svg();
    assert!(svg.len() < 40_000, "{} bytes", svg.len());
    let (_, path) = svg.split_once("class=\"plot\"").unwrap();
    // The top edge of the plot, half a stroke below the frame's edge.
    assert!(path.contains(" 2 "), "the peak is gone");
}
