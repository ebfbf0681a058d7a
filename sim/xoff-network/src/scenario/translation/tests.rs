//! Tests of the keys.

use crate::endpoint::Endpoints;
use crate::scenario::{NicKind, Scenario};
use crate::testing::refusal;

const PAIR: &str = r#"
title = "pair"
duration = "100 us"
[host]
nic = "model"
[[hosts]]
name = "a"
[[hosts]]
name = "b"
[[links]]
ends = ["a", "b"]
[[flows]]
name = "f"
from = "a"
to = "b"
message = "4 KiB"
"#;

fn read(more: &str) -> Scenario {
    toml::from_str(&format!("{PAIR}{more}")).unwrap()
}

/// What is said of the pair with more keys of the flow, and of tables behind it.
fn said(more: &str) -> String {
    refusal(&read(more), &Endpoints::default())
}

#[test]
fn keys_that_do_not_fit_are_named_with_what_would_be_right() {
    for (more, message) in [
        (
            "[host.translation]\npage = '5 KB'",
            "host.translation.page: 5 KB: a page has 4 KiB to 2 MiB, a power of two of bytes",
        ),
        (
            "[host.translation]\npage = '4 MiB'",
            "host.translation.page: 4.194304 MB: a page has 4 KiB to 2 MiB, a power of two of bytes",
        ),
        (
            "[host.translation]\nentries = 0",
            "host.translation.entries: 0: 1 to 16777216",
        ),
        (
            "[host.translation]\nentries = 2048\nsets = 600",
            "host.translation.sets: 600: a number that divides the 2048 entries, such as 512",
        ),
        (
            "[host.translation]\nmisses = 0",
            "host.translation.misses: 0: 1 to 256",
        ),
        (
            "[host.translation]\njitter = '2 ms'",
            "host.translation.jitter: 2 ms: 0 to 1 ms",
        ),
        (
            "working_set = '10 KB'",
            "flows.f.working_set: 10 KB: a multiple of the message, 4.096 KB, such as 8.192 KB",
        ),
        (
            "working_set = '1 KiB'",
            "flows.f.working_set: 1.024 KB: a multiple of the message, 4.096 KB, such as 4.096 KB",
        ),
        (
            "working_set = '0 B'",
            "flows.f.working_set: 0 B: 1 B to 64 GiB",
        ),
        (
            "working_set = '128 GiB'",
            "flows.f.working_set: 137.438953472 GB: 1 B to 64 GiB",
        ),
        (
            "order = 'uniform'",
            "flows.f.order: goes with working_set: the memory that messages go through",
        ),
        (
            "page = '5 KB'\n[host.translation]",
            "flows.f.page: 5 KB: a page has 4 KiB to 2 MiB, a power of two of bytes",
        ),
        (
            "page = '2 MiB'",
            "flows.f.page: 2.097152 MB: neither a nor b translates addresses, which host.translation turns on",
        ),
        (
            "touched = true",
            "flows.f.touched: goes with working_set: the memory that messages go through",
        ),
    ] {
        assert_eq!(said(more), message);
    }
    let mut own = read("");
    own.hosts[1].translation = Some(super::TranslationSettings {
        entries: 0,
        ..Default::default()
    });
    let said = own.checked().unwrap_err().to_string();
    assert_eq!(said, "hosts.b.translation.entries: 0: 1 to 16777216");
}

#[test]
fn nics_without_a_cache_are_named() {
    let mut scenario = read("[host.translation]");
    scenario.checked().unwrap();
    scenario.hosts[1].nic = Some(NicKind::Custom("mine".into()));
    assert_eq!(
        scenario.checked().unwrap_err().to_string(),
        "host.translation: the NIC 'mine' of b has no cache of translations; those of \"rtl\" and \"model\" have one"
    );
}

#[test]
fn what_the_rtl_cannot_be_set_to_is_named() {
    let said = |more: &str| {
        let mut scenario = read(&format!("[host.translation]\n{more}"));
        scenario.hosts[1].nic = Some(NicKind::Rtl);
        scenario.checked().map_err(|issues| issues.to_string())
    };
    said("entries = 4").unwrap();
    said("page = \"2MiB\"").unwrap();
    said("stall = \"part\"").unwrap();
    let mut model = read("[host.translation]\nstall = \"behind\"");
    model.hosts[0].nic = Some(NicKind::Rtl);
    assert_eq!(
        model.checked().unwrap_err().to_string(),
        "host.translation.stall: behind: a miss of a model NIC stops `receive` as a whole, or its `part`"
    );
    for (more, message) in [
        (
            "entries = 12",
            "host.translation.entries: 12 in 3 sets: the RTL NIC has sets of 4 and uses 1 to 512 of them, a power of two, \
             such as 2048 entries in 512 sets",
        ),
        (
            "misses = 4",
            "host.translation.misses: 4: the RTL NIC has 8",
        ),
    ] {
        assert_eq!(said(more).unwrap_err(), message);
    }
}
