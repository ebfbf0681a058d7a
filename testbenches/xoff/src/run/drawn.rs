//! Tests: what is drawn is what was there, however often it is looked at.

use xoff_network::Endpoints;
use xoff_waves::report::Chart;

use super::execute::{RunOptions, run};
use crate::scenario_file::{Setting, Source};

/// The texts of a picture, and the numbers of its paths and boxes.
fn parts(svg: &str) -> (Vec<&str>, Vec<f64>) {
    let picture = svg.split_once("</style>").unwrap().1;
    let texts = picture.split('>').filter_map(|part| part.split_once('<'));
    let texts = texts
        .map(|(text, _)| text.trim())
        .filter(|text| !text.is_empty());
    let quoted = picture.split('"').skip(1).step_by(2);
    let numbers =
        quoted.flat_map(|value| value.split(|c: char| !matches!(c, '0'..='9' | '.' | '-')));
    (
        texts.collect(),
        numbers.filter_map(|number| number.parse().ok()).collect(),
    )
}

/// The charts of `headroom` with a sample every so often.
fn charts(sample: &str) -> Vec<Chart> {
    let sample = Setting {
        key: "sample".into(),
        value: sample.into(),
    };
    let scenario = Source::find("headroom").unwrap().read(&[sample]).unwrap();
    let report = run(&scenario, &RunOptions::new(Endpoints::default())).unwrap();
    report.charts
}

/// Pauses come and go with a period of 8.6 µs there: samples every 25 µs, joined, show one of 244 µs.
#[test]
fn samples_of_1_and_of_25_us_draw_the_same() {
    let (fine, coarse) = (charts("1 us"), charts("25 us"));
    let titles = |charts: &[Chart]| -> Vec<String> {
        charts.iter().map(|chart| chart.title.clone()).collect()
    };
    assert_eq!(titles(&fine), titles(&coarse));
    assert!(titles(&fine).contains(&"Fullest ingress queue".to_owned()));
    for (fine, coarse) in fine.iter().zip(&coarse) {
        let (fine_svg, coarse_svg) = (fine.svg(), coarse.svg());
        let ((texts, places), (other_texts, other_places)) = (parts(&fine_svg), parts(&coarse_svg));
        assert_eq!(texts, other_texts, "{}", fine.title);
        assert_eq!(places.len(), other_places.len(), "{}", fine.title);
        let most = places
            .iter()
            .zip(&other_places)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        println!(
            "{}: {} numbers, at most {most} pixels apart",
            fine.title,
            places.len()
        );
        assert!(most <= 0.5, "{}: {most} pixels", fine.title);
    }
}
