//! Tests of `xoff calc`: the numbers of the papers and standards, tables and help, rejected input.

use serde_json::Value;

use crate::common::said;
use crate::common::{run, xoff};

/// The switch of the DCQCN paper: Trident II, 32 ports of 40 Gb/s.
const TRIDENT: &[&str] = &["--buffer", "12MB", "--ports", "32", "--headroom", "22.4KB"];
/// 40 Gb/s, 300 m, frames of 1,086 bytes, and a vendor's interface of 24,576 bit times.
const LEAF_SPINE: &[&str] = &[
    "headroom",
    "--rate",
    "40Gb/s",
    "--cable",
    "300m",
    "--frame",
    "1086B",
    "--interface",
    "614.4ns",
];

/// Runs a calculation with `--json`.
fn calculated(arguments: &[&[&str]]) -> Value {
    let arguments = [&["calc"], arguments.concat().as_slice(), &["--json"]].concat();
    let (out, err) = said(&arguments, [], 0);
    assert_eq!(err, "");
    out.parse().unwrap()
}

#[test]
fn headroom_has_the_terms_of_the_standard() {
    let plan = calculated(&[LEAF_SPINE, &["--classes", "2", "--ports", "32"]]);
    let terms: Vec<_> = plan["terms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|term| term["bytes"].as_u64().unwrap())
        .collect();
    // 2 · 300 m · 5 ns at 200 ps a byte; 2 · 24,576 bits; 118 quanta of 64 bytes.
    assert_eq!(terms, [1086, 84, 15_000, 6_144, 7_552, 1086]);
    for (form, class) in [
        ("annex_o", 30_952),
        ("worst_case", 30_952 + 1086),
        // (1,106 + 84 + 28,696) / 1,106 = 27.02, rounded up, and the frame that exceeds XOFF.
        ("exact", 29 * 1086),
        ("most_used", 28 * 1086),
        // A byte less than 1,106 + 60 + 28,696 on the wire is 26 frames and 1,105 bytes, with 20 each that are not
        // stored; a frame before and one behind.
        ("any_sizes", 2 * 1086 + 29_861 - 27 * 20),
    ] {
        assert_eq!(plan[form]["class_bytes"], class, "{form}");
        assert_eq!(plan[form]["port_bytes"], 2 * class, "{form}");
        assert_eq!(plan[form]["switch_bytes"], 64 * class, "{form}");
    }
}

#[test]
fn headroom_takes_operators_units() {
    // 10 Gb/s without a cable or interface: 12 quanta of 64 bytes. MTU 1024: 1,106 bytes, 1,126 on the wire.
    let base: &[&str] = &["headroom", "--rate", "10Gb/s", "--cable", "0"];
    let plan = calculated(&[base, &["--interface", "0", "--mtu", "1024"]]);
    assert_eq!(plan["frame_bytes"], 1106);
    assert_eq!(plan["annex_o"]["class_bytes"], 2 * 1106 + 84 + 768);
    assert_eq!(
        plan["exact"]["class_bytes"],
        3 * 1106,
        "1,978 / 1,126 is 1.8"
    );
    // The response as a time; a jumbo frame before the pause: (9,236 + 84 + 125) / 84.
    let jumbo: &[&str] = &["--other-frame", "9216B", "--response", "100ns"];
    let plan = calculated(&[base, &["--interface", "0", "--frame", "64B"], jumbo]);
    assert_eq!(plan["response"], "100 ns");
    assert_eq!(plan["annex_o"]["class_bytes"], 9216 + 84 + 125 + 64);
    assert_eq!(plan["exact"]["class_bytes"], 64 * (1 + 113));
}

#[test]
fn pfc_has_the_numbers_of_the_papers() {
    let plan = calculated(&[&["pfc"], TRIDENT, &["--alpha", "1/16,1/64"]]);
    assert_eq!(plan["shared_bytes"], 12_000_000 - 8 * 32 * 22_400);
    assert_eq!(plan["static_xoff_bytes"], 24_475, "the paper: 24.47 KB");
    assert_eq!(plan["static_xon_bytes"], 24_475 - 2 * 1086);
    let dynamic = plan["dynamic"].as_array().unwrap();
    let at = |alpha: &str, queues: u64| {
        let mut rows = dynamic.iter();
        let row = rows.find(|row| row["alpha"] == alpha && row["queues"] == queues);
        row.unwrap_or_else(|| panic!("{alpha} {queues}"))["xoff_bytes"].clone()
    };
    // 6,265,600 / 17, / (16 + 256), / 65.
    assert_eq!(at("1/16", 1), 368_564);
    assert_eq!(at("1/16", 256), 23_035);
    assert_eq!(at("1/64", 1), 96_393);
    // The incident of SIGCOMM 2016: 12 MB shared, 706 KB at 1/16 and 185 KB at 1/64.
    let all = &[
        "pfc",
        "--buffer",
        "12MB",
        "--ports",
        "32",
        "--headroom",
        "0",
    ];
    let plan = calculated(&[all, &["--alpha", "1/16,1/64", "--queues", "1"]]);
    assert_eq!(plan["dynamic"][0]["xoff_bytes"], 705_882);
    assert_eq!(plan["dynamic"][1]["xoff_bytes"], 184_615);
}

#[test]
fn ecn_has_the_numbers_of_the_paper() {
    let plan = calculated(&[&["ecn"], TRIDENT]);
    assert_eq!(plan["static_ecn_bytes"], 764);
    assert_eq!(plan["static_feasible"], false, "below one frame");
    assert_eq!(
        plan["dynamic_ecn_bytes"], 21_755,
        "the paper: 21.75 KB at β = 8"
    );
    assert_eq!(plan["dynamic_feasible"], true);
    assert_eq!(plan["marks"], Value::Array(vec![]));
    let red: &[&str] = &["--kmin", "5KB", "--kmax", "200KB", "--pmax", "1%"];
    let queues: &[&str] = &["--queue", "5KB,102.5KB,200KB,200001B"];
    let plan = calculated(&[&["ecn"], TRIDENT, red, queues]);
    let marks = plan["marks"].as_array().unwrap().iter();
    let marks: Vec<_> = marks.map(|mark| mark["probability"].clone()).collect();
    assert_eq!(marks, [0.0, 0.005, 0.01, 1.0]);
    assert_eq!(plan["red"]["below_dynamic"], true);
    assert_eq!(plan["red"]["below_static"], false);
    let plan = calculated(&[&["ecn"], TRIDENT, &["--kmin", "22KB"]]);
    assert_eq!(plan["red"]["below_dynamic"], false, "21.75 KB is the bound");
}

/// Time, event, R_C and R_T of the fixed point in Mb/s, α.
fn rows(trace: &Value) -> Vec<(f64, String, f64, f64, f64)> {
    let number = |value: &Value| value.as_f64().unwrap();
    let rows = trace["rows"].as_array().unwrap().iter();
    let row = |row: &Value| {
        let fixed = &row["fixed"];
        // Real arithmetic says the same.
        for key in ["rate_mbps", "target_mbps", "alpha"] {
            let (fixed, real) = (number(&fixed[key]), number(&row["real"][key]));
            assert!((fixed - real).abs() <= 1e-4 * real, "{key} in {row}");
        }
        (
            number(&row["time_us"]),
            row["event"].as_str().unwrap().to_owned(),
            number(&fixed["rate_mbps"]),
            number(&fixed["target_mbps"]),
            number(&fixed["alpha"]),
        )
    };
    rows.map(row).collect()
}

#[test]
fn dcqcn_cuts_and_recovers_as_in_the_paper() {
    let trace = calculated(&[&["dcqcn", "--cnps", "100us,150us,200us"]]);
    let g = 1.0 / 256.0_f64;
    let mut expected = vec![
        (0.0, "open", 40_000.0, 40_000.0, 1.0),
        // α is 1, and stays it: (1 − g) · 1 + g.
        (100.0, "cnp", 20_000.0, 40_000.0, 1.0),
        (150.0, "cnp", 10_000.0, 20_000.0, 1.0),
        (200.0, "cnp", 5_000.0, 10_000.0, 1.0),
    ];
    // Four halvings of the distance in fast recovery (T < F = 5), then 40 Mb/s a period.
    let (mut rate, mut target) = (5_000.0, 10_000.0);
    for period in 1..=9 {
        if period >= 5 {
            target += 40.0;
        }
        rate = (rate + target) / 2.0;
        let time = 200.0 + 55.0 * f64::from(period);
        expected.push((time, "both_timers", rate, target, (1.0 - g).powi(period)));
    }
    let rows = rows(&trace);
    for ((time, event, rate, target, alpha), expected) in rows.iter().zip(&expected) {
        // Times are rounded up to cycles of 5.12 ns, ten timers at most.
        assert!(
            (0.0..0.06).contains(&(time - expected.0)),
            "{time} {expected:?}"
        );
        assert_eq!(event, expected.1, "{time}");
        assert!(
            (rate - expected.2).abs() <= 0.01,
            "{time}: {rate} {expected:?}"
        );
        assert!(
            (target - expected.3).abs() <= 0.01,
            "{time}: {target} {expected:?}"
        );
        assert!(
            (alpha - expected.4).abs() <= 1e-5,
            "{time}: {alpha} {expected:?}"
        );
    }
    // A tenth period would end a few cycles after the 550 us that are shown.
    assert_eq!(rows.len(), expected.len());
    let every = calculated(&[&["dcqcn", "--every", "50us", "--count", "3"]]);
    let cnps = calculated(&[&["dcqcn", "--cnps", "50us,100us,150us"]]);
    assert_eq!(every, cnps);
}

#[test]
fn dcqcn_counts_the_bytes_that_the_rate_sends() {
    let settings: &[&str] = &["--byte-counter", "1MB", "--until", "3ms"];
    let trace = calculated(&[&["dcqcn", "--cnps", "10us"], settings]);
    let rows = rows(&trace);
    // In periods of 55 us at 20, 30, 35 and 37.5 Gb/s 842.2 KB are sent. The rest goes out at 38.75 Gb/s in 32.6 us.
    let first = rows.iter().find(|row| row.1 == "byte_counter").unwrap();
    assert!((first.0 - (10.0 + 220.0 + 32.6)).abs() < 0.5, "{first:?}");
    // The fifth period by time has not ended: it is fast recovery still.
    assert_eq!((first.2, first.3), (39_375.0, 40_000.0));
    let off = calculated(&[&[
        "dcqcn",
        "--cnps",
        "10us",
        "--until",
        "3ms",
        "--byte-counter",
        "0",
    ]]);
    let off = off["rows"].as_array().unwrap();
    assert!(off.iter().all(|row| row["event"] != "byte_counter"));
    // With fast counters both are past F = 5 while the rate is far below: hyper increase, 200 Mb/s a step.
    let fast: &[&str] = &["--byte-counter", "10KB", "--until", "1ms"];
    let trace = calculated(&[&["dcqcn", "--every", "1us", "--count", "8"], fast]);
    let rows = trace["rows"].as_array().unwrap();
    let hyper = rows
        .iter()
        .position(|row| row["increase"] == "hyper")
        .unwrap();
    let target = |row: &Value| row["fixed"]["target_mbps"].as_f64().unwrap();
    assert_eq!(target(&rows[hyper]) - target(&rows[hyper - 1]), 200.0);
    let count = |event: &str| {
        let events = rows[..=hyper].iter();
        events.filter(|row| row["event"] == event).count()
    };
    assert!(count("both_timers") > 6);
    assert_eq!(count("byte_counter"), 6, "min(T, BC) > 5");
}

#[test]
fn mtt_has_the_coverage_of_the_paper() {
    let plan = calculated(&[&["mtt", "--working-set", "8MiB,1GiB,4GiB,8GiB"]]);
    let rows = plan["rows"].as_array().unwrap();
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    let at = |page: u64, memory: u64| {
        let mut rows = rows.iter();
        let row =
            rows.find(|row| row["page_bytes"] == page && row["working_set_bytes"] == memory << 20);
        row.unwrap_or_else(|| panic!("{page} {memory}"))
    };
    let (small, large) = (4 << 10, 2 << 20);
    assert_eq!(at(small, 1_024)["coverage_bytes"], 8 << 20);
    assert_eq!(at(large, 1_024)["coverage_bytes"], 4u64 << 30);
    for (page, memory) in [(small, 8), (large, 8), (large, 1_024), (large, 4_096)] {
        let row = at(page, memory);
        let found = ["miss_rate", "pauses_per_second", "goodput_part"].map(|key| number(row, key));
        assert_eq!(found, [0.0, 0.0, 1.0], "{page} {memory}");
    }
    // 49 cycles of 5.12 ns there and as many back, and two for the packet; 1 - 8 MiB / 1 GiB of them.
    assert_eq!(number(&plan, "miss_ns"), 98.0 * 5.12);
    let slow = at(small, 1_024);
    assert!(
        (number(slow, "miss_rate") - (1.0 - 1.0 / 128.0)).abs() < 0.002,
        "{slow}"
    );
    let message = number(slow, "miss_rate") * 501.76 + 10.24;
    assert!(
        (number(slow, "message_ns") - message).abs() < 0.01,
        "{slow}"
    );
    assert!(
        (number(slow, "goodput_gbps") - 8_192.0 / message).abs() < 0.01,
        "{slow}"
    );
    assert!(number(slow, "pauses_per_second") > 1_000.0);
    let half = at(large, 8_192);
    assert!((number(half, "miss_rate") - 0.5).abs() < 0.01, "{half}");
    let walk = calculated(&[
        &["mtt", "--working-set", "16MiB", "--page", "4KiB"],
        &["--order", "walk", "--qps", "1"],
    ]);
    let rate = number(&walk["rows"][0], "miss_rate");
    assert!(
        (rate - 0.25).abs() < 0.01,
        "{rate}: of four messages in a page the first"
    );
}

#[test]
fn tables_and_help() {
    for (name, arguments) in [
        (
            "headroom",
            [LEAF_SPINE, &["--classes", "2", "--ports", "32"]].concat(),
        ),
        (
            "pfc",
            [&["pfc"], TRIDENT, &["--alpha", "1/16,1/64"]].concat(),
        ),
        ("ecn", [&["ecn"], TRIDENT, &["--kmin", "5KB"]].concat()),
        ("dcqcn", vec!["dcqcn", "--cnps", "100us,150us,200us"]),
        ("mtt", vec!["mtt", "--working-set", "4MiB,1GiB,8GiB"]),
    ] {
        let arguments = [&["calc"], arguments.as_slice()].concat();
        let said = run(&arguments, None, false);
        said.outcome.expect("good arguments");
        let longest = said.out.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(120), "{longest:?} columns");
        insta::assert_snapshot!(format!("calc_{name}"), said.out);
        let coloured = run(&arguments, None, true).out;
        assert_eq!(
            anstream::adapter::strip_str(&coloured).to_string(),
            said.out
        );
        let (help, _) = crate::common::said(&["calc", name, "--help"], [], 0);
        insta::assert_snapshot!(format!("calc_help_{name}"), help);
    }
}

/// Every example of the help can be run.
#[test]
fn examples_of_the_help_are_right() {
    let mut count = 0;
    for name in ["", "headroom", "pfc", "ecn", "dcqcn", "mtt"] {
        let arguments = ["calc", name];
        let arguments = &arguments[..if name.is_empty() { 1 } else { 2 }];
        for words in crate::common::help(arguments).1 {
            let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
            crate::common::said(&words, [], 0);
            count += 1;
        }
    }
    assert_eq!(count, 5 + 5 * 3);
}

#[test]
fn bad_input_is_one_message() {
    let headroom: &[&str] = &[
        "headroom", "--rate", "40Gb/s", "--cable", "2m", "--mtu", "1024",
    ];
    let ecn = [&["ecn"], TRIDENT].concat();
    let pfc = [&["pfc"], TRIDENT].concat();
    let dcqcn: &[&str] = &["dcqcn"];
    let mtt: &[&str] = &["mtt", "--working-set", "1GiB"];
    for (base, more, message) in [
        (
            headroom,
            &["--ports", "0"][..],
            "'--ports <N>': 0 is not in 1..=65535",
        ),
        (headroom, &["--classes", "9"], "9 is not in 1..=8"),
        (
            headroom,
            &["--response", "70000"],
            "70000 quanta: expected 0 to 65535",
        ),
        (
            headroom,
            &["--other-frame", "500B"],
            "--other-frame 500 B: the longest frame of any class is at least",
        ),
        (
            headroom,
            &["--other-frame", "63B"],
            "63 B: expected 64 B to 65.535 KB",
        ),
        (headroom, &["--frame", "1086B"], "cannot be used with"),
        (
            &[
                "headroom",
                "--rate",
                "40Gb/s",
                "--mtu",
                "1024",
                "--cable",
                "1000000000000km",
            ],
            &[],
            "1000000000000 km: expected 0 mm to 100000 km",
        ),
        (
            &[
                "headroom", "--rate", "40Gb/s", "--mtu", "1500", "--cable", "2m",
            ],
            &[],
            "a path MTU is 256, 512, 1024, 2048 or 4096",
        ),
        (
            &["headroom", "--rate", "40Gb/s", "--cable", "2m"],
            &[],
            "--mtu <MTU>",
        ),
        (
            &[
                "headroom", "--rate", "41Gb/s", "--cable", "2m", "--mtu", "1024",
            ],
            &[],
            "10, 25, 40",
        ),
        (
            &pfc,
            &["--queues", "257"],
            "--queues 257: there are 256, one for each of 32 ports and 8",
        ),
        (
            &pfc,
            &["--alpha", "0"],
            "expected a ratio of whole numbers above 0, such as 1/16",
        ),
        (
            &[
                "pfc",
                "--buffer",
                "5MB",
                "--ports",
                "32",
                "--headroom",
                "22.4KB",
            ],
            &[],
            "take 5.7344 MB of a buffer of 5 MB: nothing is left to share; 256 queues, one for each port and class, \
             can have less than 19.532 KB each",
        ),
        (
            &["ecn", "--buffer", "12MB", "--ports", "0", "--headroom", "0"],
            &[],
            "0 is not in 1..=65535",
        ),
        (
            &ecn,
            &["--pmax", "2"],
            "'2' for '--pmax <P>': a probability is 0 to 1, such as 0.01 or 1%",
        ),
        (
            &ecn,
            &["--kmin", "200KB", "--kmax", "5KB"],
            "--kmin 200 KB: it has to be below kmax, 5 KB",
        ),
        (&ecn, &["--beta", "0"], "0 is not in 1..=1000000"),
        (
            mtt,
            &["--page", "5KB"],
            "5 KB: a page has 4 KiB to 2 MiB, a power of two of bytes",
        ),
        (mtt, &["--entries", "0"], "--entries 0: 1 to 16777216"),
        (
            mtt,
            &["--sets", "600"],
            "--sets 600: a number that divides the 2048 entries, such as 512",
        ),
        (
            &["mtt", "--working-set", "10KB"],
            &[],
            "--working-set 10 KB: a multiple of 16 QPs · 1.024 KB of a message, such as 16.384 KB",
        ),
        (
            &["mtt", "--working-set", "512GiB", "--qps", "1"],
            &[],
            "1 QPs have 64 GiB at most",
        ),
        (
            mtt,
            &["--xon", "33KiB"],
            "--xon 33.792 KB: at most --xoff, 32.768 KB",
        ),
        (dcqcn, &[], "--cnps <TIMES>"),
        (
            dcqcn,
            &["--cnps", "2us,1us"],
            "--cnps: 1 us stands behind 2 us; the times have to rise",
        ),
        (dcqcn, &["--cnps", "2us,x"], "duration 'x'"),
        (dcqcn, &["--every", "50us"], "--count <N>"),
        (
            dcqcn,
            &["--every", "50us", "--count", "100000"],
            "the last CNP comes after 1 s",
        ),
        (
            dcqcn,
            &["--cnps", "2us", "--until", "1us"],
            "--until 1 us: the last CNP comes later, at 2 us",
        ),
        (
            dcqcn,
            &["--cnps", "2us", "--g", "1"],
            "a gain is 1/65536 to below 1, such as 1/256",
        ),
        (
            dcqcn,
            &["--cnps", "2us", "--byte-counter", "5GB"],
            "--byte-counter 5 GB: it has 32 bits",
        ),
        (
            dcqcn,
            &["--cnps", "2us", "--rate-ai", "5Tb/s"],
            "--rate-ai 5 Tb/s: rates have 32 bits",
        ),
        (
            dcqcn,
            &["--cnps", "2us", "--clock", "1ps"],
            "--clock 1 ps: expected at least 1 ns",
        ),
        (
            dcqcn,
            &[
                "--cnps",
                "1us,1us",
                "--rate-timer",
                "1ns",
                "--rate-ai",
                "0",
                "--rate-hai",
                "0",
                "--until",
                "1s",
            ],
            "more than 200000 events until 1 s, the last one 'rate timer': expected longer timers",
        ),
    ] {
        let (out, err) = said(&[&["calc"], base, more].concat(), [], 2);
        assert_eq!(out, "", "{base:?} {more:?}");
        assert!(err.contains(message), "{message}: {err}");
        assert!(!err.contains("panicked"), "{err}");
    }
    let no_calculation = xoff().args(["calc"]).output().unwrap();
    assert_eq!(no_calculation.status.code(), Some(2));
}
