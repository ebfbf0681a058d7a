//! What `ecn-tuner` does, against arithmetic, and where it makes no difference.

use std::collections::BTreeMap;

use xoff_sim::time::Duration;

use crate::results::Summary;
use crate::scenario::{PolicySettings, Scenario};
use crate::{Endpoints, Run};

/// What the wire carries in frames of 1,086 bytes, Gb/s of payload.
const WIRE: f64 = 40.0 * 1024.0 / 1106.0;

/// So many hosts write to one behind a switch with the paper's bound of a static XOFF, 24.47 KB. With Kmin of 1 MB no
/// packet is ever marked: PFC holds the senders at 24.47 KB each before the queue is that long.
fn incast(senders: u32, ecn: &str) -> Scenario {
    let text = format!(
        "
        title = 'incast'
        duration = '8 ms'
        measure_from = '5 ms'
        host.nic = 'model'
        host.dcqcn = {{}}
        hosts = [{{ name = 's', count = {senders} }}, {{ name = 'r' }}]
        switches = [{{ name = 't', xoff = {{ static = '24.47 KB' }}, ecn = {{ {ecn}, pmax = 0.1 }} }}]
        links = [{{ ends = ['s', 't'] }}, {{ ends = ['r', 't'] }}]
        flows = [{{ name = 'f', from = 's', to = 'r', message = '64 KiB' }}]
        "
    );
    toml::from_str(&text).unwrap()
}

const TOO_HIGH: &str = "kmin = '1 MB', kmax = '4 MB'";

fn tuned(mut scenario: Scenario) -> Scenario {
    scenario.policy = Some(PolicySettings {
        name: "ecn-tuner".into(),
        every: Duration::from_us(500),
        parameters: BTreeMap::new(),
    });
    scenario
}

fn run(scenario: &Scenario) -> Summary {
    let mut run = Run::new(&scenario.checked().unwrap(), &Endpoints::default()).unwrap();
    while !run.has_ended() {
        let end = run.end();
        run.advance(end, |_| ()).unwrap();
    }
    Summary::of(&mut run, &scenario.checked().unwrap()).unwrap()
}

fn changes(summary: &Summary) -> usize {
    summary.policy.as_ref().unwrap().changes.len()
}

/// 16:1 with Kmin too high, seeds 1 to 5. PFC alone: the queue is sixteen times 24.47 KB and what was on its way, and
/// each sender stands for 15/16 of the time. With the policy: no pause, less than a fifth of the queue, and goodput
/// within 2 % of what the wire carries.
#[test]
fn thresholds_that_are_too_high_come_down() {
    for seed in 1..=5 {
        let mut scenario = incast(16, TOO_HIGH);
        scenario.seed = seed;
        let [without, with] = [&scenario, &tuned(scenario.clone())].map(run);
        let of = |summary: &Summary, name: &str| summary.metrics[name];
        let held = 16.0 * 24_470.0;
        let queue = of(&without, "queue_bytes.t.3.p50");
        assert!((held..1.2 * held).contains(&queue), "{queue}");
        let stood: f64 = (0..16)
            .map(|s| of(&without, &format!("pause_time_ns.s{s}.3")))
            .sum();
        let part = stood / 16.0 / 3e6;
        assert!((part / (15.0 / 16.0) - 1.0).abs() < 0.02, "{part}");
        assert!(of(&without, "pause_frames_tx.t") > 4_000.0);
        assert_eq!(of(&with, "pause_frames_tx.t"), 0.0, "seed {seed}");
        let short = of(&with, "queue_bytes.t.3.p50");
        assert!(short * 5.0 < queue, "seed {seed}: {short}");
        let goodput = of(&with, "goodput_gbps.total");
        assert!(goodput > 0.98 * WIRE, "seed {seed}: {goodput}");
        assert_eq!(of(&with, "drops.total"), 0.0);
        // 4 MB halved until less than 40 us, 200 KB, wait: Kmax of 125 KB.
        assert_eq!(changes(&with), 5, "seed {seed}");
    }
}

/// Kmax below one packet has each queue of two packets marked: nothing moves. Doubled, it does.
#[test]
fn thresholds_that_are_too_low_come_up() {
    let scenario = incast(16, "kmin = '100 B', kmax = '500 B'");
    let [without, with] = [&scenario, &tuned(scenario.clone())].map(run);
    let goodput = |summary: &Summary| summary.metrics["goodput_gbps.total"];
    assert!(goodput(&without) < 0.5 * WIRE, "{}", goodput(&without));
    assert!(goodput(&with) > 0.93 * WIRE, "{}", goodput(&with));
    assert_eq!(with.metrics["pause_frames_tx.t"], 0.0);
}

/// Without a queue there is nothing to change, and without a reaction to marks changes have no effect: the digest is
/// that without the policy.
#[test]
fn it_makes_no_difference_where_marks_are_not_the_matter() {
    let alone = incast(1, TOO_HIGH);
    let with = run(&tuned(alone.clone()));
    assert_eq!((changes(&with), &with.digest), (0, &run(&alone).digest));
    let mut deaf = incast(16, TOO_HIGH);
    deaf.host.dcqcn = None;
    let with = run(&tuned(deaf.clone()));
    // Down to the least, 20 KB.
    assert_eq!((changes(&with), &with.digest), (8, &run(&deaf).digest));
}

/// Where it stops: 128 senders fill the queue before DCQCN has slowed them down. At the least threshold PFC still holds
/// each of them at 24.47 KB.
#[test]
fn too_many_senders_are_beyond_it() {
    let with = run(&tuned(incast(128, TOO_HIGH)));
    assert_eq!(changes(&with), 8);
    let (held, queue) = (128.0 * 24_470.0, with.metrics["queue_bytes.t.3.p50"]);
    assert!((0.95 * held..1.2 * held).contains(&queue), "{queue}");
    assert!(with.metrics["pause_frames_tx.t"] > 4_000.0);
}
