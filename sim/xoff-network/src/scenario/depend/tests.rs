use std::collections::BTreeSet;

use xoff_sim::time::Time;

use super::*;
use crate::metrics::jobs::rounds;
use crate::metrics::{Metric, Quantity, Recorder};
use crate::testing::{finished, ran};
use crate::{Endpoints, Simulation};

/// What a frame of 1,024 bytes of payload takes at 40 Gb/s: 1,024 and 62 of headers, ICRC and FCS, 20 of preamble and
/// gap.
const FRAME_NS: f64 = 1_106.0 * 8.0 / 40.0;

/// Model NICs at one switch whose buffer is large enough for any number of them, and these entries of flows.
fn scenario(hosts: u32, us: u64, flows: &str) -> Scenario {
    let text = format!(
        "title = 't'\nduration = '{us} us'\nhost.nic = 'model'\ntopology.star.hosts = {hosts}\n\
         topology.switch.buffer = '64 MB'\n{flows}"
    );
    toml::from_str(&text).unwrap()
}

/// An entry of flows with these keys.
fn entry(name: &str, keys: &str) -> String {
    format!("[[flows]]\nname = '{name}'\n{keys}\n")
}

/// Checks that no message was posted before everything that it waits for was seen, and that none waited longer than a
/// clock.
fn in_order(scenario: &Scenario, simulation: &Simulation) {
    let whole = scenario.checked().unwrap();
    let (flows, _) = whole.connections();
    let (gates, _) = whole.gates(&flows);
    assert!(!gates.is_empty());
    let seen = |end: End, message: u64| match end {
        End::Arrived(flow) => {
            let receiver = simulation.receiver(&simulation.flows()[flow]);
            receiver.arrivals().get(message as usize).copied()
        }
        End::Sent(flow) => {
            let sender = simulation.sender(&simulation.flows()[flow]);
            sender
                .delivered()
                .get(message as usize)
                .map(|delivered| delivered.at)
        }
    };
    for gate in &gates {
        for &flow in &gate.senders {
            let sender = simulation.sender(&simulation.flows()[flow]);
            let mut message = 0;
            while let Some(posted) = sender.due_at(message) {
                let round = message / gate.batch;
                if let Some(before) = (round + 1)
                    .checked_sub(gate.lead)
                    .filter(|before| *before > 0)
                {
                    for (end, per) in &gate.ends {
                        // Arrivals of what comes before an `after` are not kept.
                        let Some(seen) = seen(*end, before * per - 1) else {
                            assert!(gate.batch == u64::MAX, "{}: {message}", flows[flow].name);
                            continue;
                        };
                        let thinks = round % gate.think_every == 0;
                        let least = seen + if thinks { gate.think } else { Duration::ZERO };
                        assert!(posted >= least, "{}: {message}", flows[flow].name);
                    }
                }
                message += 1;
            }
        }
    }
}

/// The time of the only round of a job in nanoseconds.
fn time(simulation: &Simulation) -> f64 {
    let rounds = rounds(simulation, &simulation.jobs()[0], Time::ZERO);
    assert_eq!(rounds.len(), 1);
    rounds[0].end.saturating_since(rounds[0].begin).as_ps() as f64 / 1e3
}

#[test]
fn every_pattern_goes_in_its_order() {
    for (hosts, keys) in [
        (
            5,
            "pattern = 'ring-all-reduce'\nmessage = '20 KB'\nthink = '3 us'",
        ),
        (2, "pattern = 'ring-all-reduce'\nmessage = '20 KB'"),
        (
            7,
            "pattern = 'tree-all-reduce'\nmessage = '24 KB'\nchunk = '4 KB'\nthink = '3 us'",
        ),
        (2, "pattern = 'tree-all-reduce'\nmessage = '24 KB'"),
        (
            8,
            "pattern = 'halving-doubling-all-reduce'\nmessage = '32 KB'\nthink = '3 us'",
        ),
        (6, "pattern = 'all-gather'\nmessage = '24 KB'"),
        (6, "pattern = 'reduce-scatter'\nmessage = '24 KB'"),
        (
            6,
            "pattern = 'all-to-all'\nmessage = '24 KB'\nthink = '3 us'",
        ),
        (6, "pattern = 'barrier'\nthink = '3 us'"),
        (5, "pattern = 'barrier'\noperation = 'send'"),
        (
            6,
            "to = 'h'\npattern = 'queries'\nmessage = '100 B'\nresponse = '5 KB'\nthink = '3 us'",
        ),
        (6, "to = 'h'\nlockstep = true\nmessage = '5 KB'"),
        (
            6,
            "to = 'h'\nqps = 3\nlockstep_qps = true\nmessage = '5 KB'",
        ),
    ] {
        let scenario = scenario(
            hosts,
            2_000,
            &entry("f", &format!("from = 'h'\ncount = 4\n{keys}")),
        );
        let simulation = ran(&scenario);
        finished(&simulation);
        if keys.contains("pattern") {
            in_order(&scenario, &simulation);
            let job = &simulation.jobs()[0];
            let of_unit = if keys.contains("queries") {
                hosts as usize
            } else {
                1
            };
            assert_eq!(
                rounds(&simulation, job, Time::ZERO).len(),
                4 * of_unit,
                "{keys}"
            );
        }
    }
}

/// Each part of the data reaches each host: whoever has a part, and whom it is sent to, step by step.
#[test]
fn halving_doubling_brings_every_part_everywhere() {
    let scenario = scenario(
        8,
        100,
        &entry(
            "f",
            "from = 'h'\npattern = 'halving-doubling-all-reduce'\nmessage = '8 KiB'\ncount = 1",
        ),
    );
    let whole = scenario.checked().unwrap();
    let (flows, _) = whole.connections();
    // By step: each host has contributions of some hosts, and sends them all.
    let mut has: Vec<BTreeSet<usize>> = (0..8).map(|host| BTreeSet::from([host])).collect();
    let number = |name: &str| name[1..].parse::<usize>().unwrap();
    for step in flows[..24].chunks(8) {
        let before = has.clone();
        for flow in step {
            has[number(&flow.to)].extend(&before[number(&flow.from)]);
        }
    }
    assert!(has.iter().all(|has| has.len() == 8));
    let bytes: u64 = flows
        .iter()
        .filter(|flow| flow.from == "h3")
        .map(|flow| flow.messages[0].1.get())
        .sum();
    assert_eq!(bytes, 2 * 7 * 1024);
}

fn ring(hosts: u32, frames: u32) -> f64 {
    let keys = format!(
        "from = 'h'\npattern = 'ring-all-reduce'\nmessage = '{} KiB'\ncount = 1\nstart = '20 us'",
        hosts * frames
    );
    let simulation = ran(&scenario(hosts, 8_000, &entry("f", &keys)));
    finished(&simulation);
    time(&simulation)
}

/// 2(n − 1)/n · S/B + 2(n − 1) · latency, with the latency of a step from rings of four and eight hosts whose steps are
/// a frame.
#[test]
fn a_ring_of_256_takes_the_time_of_its_closed_form() {
    let [four, eight] = [4, 8].map(|hosts| ring(hosts, 1));
    let latency = (eight - four) / 8.0 - FRAME_NS;
    for (hosts, frames) in [(16, 64), (256, 2)] {
        let steps = f64::from(2 * (hosts - 1));
        let expected = steps * (f64::from(frames) * FRAME_NS + latency);
        let measured = ring(hosts, frames);
        let off = measured / expected - 1.0;
        println!(
            "{hosts} hosts, {frames} frames a step: {measured:.0} ns, {expected:.0} ns, {:.2} %",
            off * 100.0
        );
        assert!(
            off.abs() < 0.03,
            "{hosts} hosts: {measured}, not {expected}"
        );
    }
}

/// Each host sends 15/16 of its data and receives as much: the max-min share of a flow is 1/15 of the line.
#[test]
fn all_to_all_takes_the_time_of_max_min() {
    let keys = "from = 'h'\npattern = 'all-to-all'\nmessage = '4 MiB'\ncount = 1\nstart = '20 us'";
    let simulation = ran(&scenario(16, 2_000, &entry("f", keys)));
    finished(&simulation);
    let expected = 15.0 * 256.0 * FRAME_NS;
    let off = time(&simulation) / expected - 1.0;
    println!(
        "all-to-all: {:.0} ns, max-min {expected:.0} ns, {:.2} %",
        time(&simulation),
        off * 100.0
    );
    assert!((0.0..0.03).contains(&off), "{off}");
}

#[test]
fn an_entry_begins_when_its_host_has_seen_the_one_before() {
    let flows = entry("a", "from = 'h0'\nto = 'h1'\nmessage = '10 KB'\ncount = 3")
        + &entry(
            "b",
            "from = 'h0'\nto = 'h2'\nmessage = '1 KB'\ncount = 1\nafter = ['a']\nthink = '7 us'",
        )
        + &entry(
            "c",
            "from = 'h2'\nto = 'h1'\nmessage = '1 KB'\ncount = 1\nafter = ['b']\noperation = 'send'",
        );
    let scenario = scenario(3, 100, &flows);
    let simulation = ran(&scenario);
    finished(&simulation);
    let [a, b, c] = [0, 1, 2].map(|flow| simulation.sender(&simulation.flows()[flow]));
    let clock = |from: Time, to: Option<Time>| to.unwrap().saturating_since(from).as_ps();
    // The next edge of the host's clock.
    let seen = a.delivered()[2].at + Duration::from_us(7);
    assert!(clock(seen, b.due_at(0)) <= 5_120);
    // h2 sees the message before h0 knows that it is there.
    assert!(c.due_at(0).unwrap() < b.delivered()[0].at);
}

#[test]
fn requests_wait_for_answers_and_answers_for_requests() {
    let flows = entry(
        "ask",
        "from = 'h0..1'\nto = 'h2'\nmessage = '100 B'\ncount = 9\ndepth = 3\nthink = '5 us'\noperation = 'send'",
    ) + &entry("tell", "answers = 'ask'\nmessage = '4 KB'\nthink = '2 us'");
    let scenario = scenario(3, 500, &flows);
    let simulation = ran(&scenario);
    finished(&simulation);
    in_order(&scenario, &simulation);
    let flow = |name: &str| {
        simulation
            .flows()
            .iter()
            .find(|flow| flow.name == name)
            .unwrap()
    };
    let ask = simulation.sender(flow("ask.h1"));
    let told = simulation.receiver(flow("tell.h1")).arrivals();
    // Three are under way; each of the others goes 5 us behind the answer three before it, at the next edge.
    for message in 3..9 {
        let due = ask.due_at(message).unwrap();
        let waited = due.saturating_since(told[message as usize - 3] + Duration::from_us(5));
        assert!(waited.as_ps() <= 5_120, "{message}: {waited}");
    }
    assert_eq!(
        rounds(&simulation, &simulation.jobs()[0], Time::ZERO).len(),
        18
    );
}

/// I/O operations a second, over 10 ms.
fn iops(keys: &str) -> f64 {
    iops_at("64 Gb/s", keys)
}

/// The same with a bus of this rate between NICs and memory.
fn iops_at(bus: &str, keys: &str) -> f64 {
    let flows = entry(
        "io",
        &format!("from = 'h0'\nto = 'h1'\noutstanding = 16\n{keys}"),
    );
    let mut scenario = scenario(2, 10_500, &flows);
    scenario.host.pcie_rate = Some(bus.parse().unwrap());
    let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
    simulation.run_until(Time::from_us(500)).unwrap();
    let mut recorder = Recorder::new(&simulation);
    simulation.run_until(Time::from_us(10_500)).unwrap();
    in_order(&scenario, &simulation);
    let metrics = recorder.metrics(&simulation);
    assert_eq!(metrics[&Metric::network(Quantity::PayloadErrors)], 0.0);
    assert_eq!(metrics[&Metric::network(Quantity::CompletionErrors)], 0.0);
    metrics[&Metric::flow(Quantity::Iops, "io")]
}

/// The time from a post until the application at the other end has seen the message, alone, in nanoseconds.
fn one_way(keys: &str) -> f64 {
    let flows = entry("f", &format!("from = 'h0'\nto = 'h1'\ncount = 1\n{keys}"))
        + &entry("g", "answers = 'f'");
    let simulation = ran(&scenario(2, 2_000, &flows));
    let flow = &simulation.flows()[0];
    let posted = simulation.sender(flow).due_at(0).unwrap();
    let seen = simulation.receiver(flow).arrivals()[0];
    seen.saturating_since(posted).as_ps() as f64 / 1e3
}

/// The time from the post of a READ until it is complete, alone, in nanoseconds.
fn read(bytes: u32) -> f64 {
    let keys = format!("operation = 'read'\nmessage = '{bytes} B'\noutstanding = 1");
    let flows = entry("f", &format!("from = 'h1'\nto = 'h0'\n{keys}"));
    let mut simulation = Simulation::new(&scenario(2, 2_000, &flows).checked().unwrap()).unwrap();
    simulation.run_until(Time::from_us(1_000)).unwrap();
    let mut recorder = Recorder::new(&simulation);
    simulation.run_until(Time::from_us(2_000)).unwrap();
    let metrics = recorder.metrics(&simulation);
    f64::from(bytes) * 8.0 / metrics[&Metric::flow(Quantity::GoodputGbps, "f")]
}

/// What asks, the device, and data with the frame of the answer behind them, or data that are fetched before.
#[test]
fn an_operation_of_storage_takes_the_sum_of_its_parts() {
    let send = |bytes: u32| one_way(&format!("operation = 'send'\nmessage = '{bytes} B'"));
    // On the wire the answer is a frame of 82 bytes more than its payload.
    let behind = |bytes: f64| (bytes + 82.0) * 8.0 / 40.0;
    let data = |kib: u32| one_way(&format!("message = '{kib} KiB'"));
    let device = 10_000.0;
    let of = [
        ("nvme-read", 4, send(64) + device + data(4) + behind(16.0)),
        ("nvme-write", 4, send(64 + 4096) + device + send(16)),
        (
            "nvme-write",
            64,
            send(64) + read(65_536) + device + send(16),
        ),
        (
            "nfs-read",
            64,
            send(168) + device + data(64) + behind(180.0),
        ),
        (
            "nfs-write",
            64,
            send(176) + read(65_536) + device + send(188),
        ),
        (
            "smb-read",
            64,
            send(152) + device + data(64) + behind(104.0),
        ),
        (
            "smb-write",
            64,
            send(152) + read(65_536) + device + send(104),
        ),
    ];
    for (pattern, kib, parts) in of {
        let keys = format!("pattern = '{pattern}'\nmessage = '{kib} KiB'\nthink = '10 us'");
        let measured = iops(&keys);
        let off = measured * parts / 1e9 - 1.0;
        println!(
            "{pattern} of {kib} KiB: {measured:.0} IOPS, parts {parts:.0} ns, {:.2} %",
            off * 100.0
        );
        assert!(off.abs() < 0.02, "{pattern}: {measured}, {parts}");
    }
}

/// A target fetches the data of as many writes at once as there are commands, until the wire is full: 64 KiB in frames
/// of 1,106 bytes with AETH in the first and the last, and ACKs, requests and calls in the other direction.
#[test]
fn fetched_data_fill_the_wire() {
    for pattern in ["nvme-write", "nfs-write", "smb-write"] {
        let of = |depth: u32| {
            let keys = "message = '64 KiB'\nthink = '10 us'";
            iops(&format!("pattern = '{pattern}'\n{keys}\ndepth = {depth}"))
        };
        let [one, two, deep] = [1, 2, 16].map(of);
        println!("{pattern}: IOPS at depth 1, 2, 16: {one:.0} {two:.0} {deep:.0}");
        assert!(
            (two / one / 2.0 - 1.0).abs() < 0.15,
            "{pattern}: {one}, {two}"
        );
        let full = 40e9 / 8.0 / (64.0 * 1_106.0 + 8.0);
        assert!(
            deep <= full * 1.001 && deep > full * 0.97,
            "{pattern}: {deep}, {full}"
        );
    }
}

/// Depth multiplies operations until the wire is full: 4 KiB of data in four frames, and a completion, at 40 Gb/s.
#[test]
fn nvme_operations_fill_the_wire() {
    let of = |depth: u32| {
        iops(&format!(
            "pattern = 'nvme-read'\nmessage = '4 KiB'\ndepth = {depth}\nthink = '10 us'"
        ))
    };
    let [one, two, four, deep] = [1, 2, 4, 64].map(of);
    println!("IOPS at depth 1, 2, 4, 64: {one:.0} {two:.0} {four:.0} {deep:.0}");
    assert!((two / one / 2.0 - 1.0).abs() < 0.05 && (four / one / 4.0 - 1.0).abs() < 0.05);
    // RETH in the first of the four frames.
    let bytes = 4.0 * 1_106.0 + 16.0 + 98.0;
    let full = 40e9 / 8.0 / bytes;
    assert!(deep <= full * 1.001 && deep > full * 0.9, "{deep}, {full}");
    // A slower bus is full first: it carries the data, the completion and the command.
    let bus = iops_at(
        "20 Gb/s",
        "pattern = 'nvme-read'\nmessage = '4 KiB'\ndepth = 64",
    );
    let full = 20e9 / 8.0 / (4096.0 + 16.0);
    println!("IOPS at 20 Gb/s of PCIe: {bus:.0} of {full:.0}");
    assert!(bus <= full * 1.001 && bus > full * 0.9, "{bus}, {full}");
}

#[test]
fn incasts_come_at_random_from_hosts_that_differ() {
    let keys =
        "from = 'h'\nto = 'h0'\npattern = 'incast'\nmessage = '2 KB'\nsenders = 5\nload = 0.2";
    let scenario = scenario(9, 2_000, &entry("f", keys));
    let whole = scenario.checked().unwrap();
    let (flows, _) = whole.connections();
    for incast in flows.chunks(5) {
        let senders: BTreeSet<&String> = incast.iter().map(|flow| &flow.from).collect();
        assert!(senders.len() == 5 && !senders.contains(&"h0".to_owned()));
        assert!(incast.iter().all(|flow| flow.start == incast[0].start));
    }
    // 0.2 of 40 Gb/s are 200 incasts of 10 KB in 2 ms: three standard deviations are 42.
    assert!((158..=242).contains(&(flows.len() / 5)), "{}", flows.len());
    let simulation = ran(&scenario);
    assert!(rounds(&simulation, &simulation.jobs()[0], Time::ZERO).len() + 3 >= flows.len() / 5);
}

#[test]
fn checkpoints_and_threads_change_nothing() {
    let flows = entry(
        "a",
        "from = 'h'\npattern = 'tree-all-reduce'\nmessage = '64 KB'\nchunk = '4 KB'\ncount = 2",
    ) + &entry(
        "b",
        "from = 'h'\npattern = 'barrier'\ncount = 1\nafter = ['a']\nthink = '9 us'",
    ) + &entry(
        "c",
        "from = 'h'\npattern = 'all-to-all'\nmessage = '8 KB'\ncount = 2\nafter = ['b']\nthink = '4 us'",
    );
    let scenario = scenario(8, 400, &flows);
    let end = Time::ZERO + scenario.duration;
    let whole = ran(&scenario);
    finished(&whole);
    for stop in [13, 40, 77, 120] {
        let mut first = Simulation::new(&scenario.checked().unwrap()).unwrap();
        first.run_until(Time::from_us(stop)).unwrap();
        let saved = first.save().unwrap();
        let mut second = Simulation::restore(&saved, &Endpoints::default()).unwrap();
        second.run_until(end).unwrap();
        assert_eq!(second.digest(), whole.digest(), "stopped at {stop} us");
        for (one, other) in whole.jobs().iter().zip(second.jobs()) {
            assert_eq!(
                rounds(&whole, one, Time::ZERO),
                rounds(&second, other, Time::ZERO)
            );
        }
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut simulation = Simulation::new(&scenario.checked().unwrap()).unwrap();
        simulation.network_mut().set_parallel_from(0);
        pool.install(|| simulation.run_until(end)).unwrap();
        assert_eq!(simulation.digest(), whole.digest(), "{threads} threads");
    }
}

/// What is said of entries of flows that do not fit, in a network of six hosts.
fn said(flows: &str) -> String {
    let checked = scenario(6, 100, flows).checked();
    checked
        .err()
        .map_or("nothing".into(), |issues| issues.to_string())
}

#[test]
fn patterns_that_do_not_fit_are_refused() {
    for (keys, right) in [
        (
            "pattern = 'all-gather'",
            "flows.f.from: required: the name of hosts",
        ),
        (
            "from = 'x'\npattern = 'all-gather'",
            "flows.f.from: 'x' is no host: hosts are h0, h1, h2, h3, h4, h5",
        ),
        (
            "from = 'h0'\npattern = 'all-gather'",
            "flows.f.from: 1 host: 2 or more",
        ),
        (
            "from = 'h'\npattern = 'ring-all-reduce'\nmessage = '1000 B'",
            "flows.f.message: 1000 bytes among 6 hosts: a multiple of 6, such as 996 bytes",
        ),
        (
            "from = 'h'\npattern = 'halving-doubling-all-reduce'\nmessage = '600 B'",
            "flows.f.from: 6 hosts: halving needs a power of two, such as 4 or 8",
        ),
        (
            "from = 'h'\npattern = 'tree-all-reduce'\nmessage = '600 B'\nchunk = '250 B'",
            "flows.f.chunk: 250 bytes: a part of message, 600 bytes, that goes into it",
        ),
        (
            "from = 'h'\npattern = 'barrier'\nmessage = '600 B'",
            "flows.f.message: 600 B: messages of a barrier have 8 B",
        ),
        (
            "from = 'h'\nto = 'h'\npattern = 'all-gather'\nmessage = '600 B'",
            "flows.f.to: not with pattern = \"all-gather\": the hosts are those of from",
        ),
        (
            "from = 'h'\nqps = 2\npattern = 'all-gather'\nmessage = '600 B'",
            "flows.f.qps: not with pattern = \"all-gather\": each pair has one QP",
        ),
        (
            "from = 'h'\nto = 'h'\nchunk = '1 KB'",
            "flows.f.chunk: goes with pattern = \"tree-all-reduce\"",
        ),
        (
            "from = 'h'\nto = 'h0'\npattern = 'incast'\nmessage = '1 KB'",
            "flows.f.load: required with incast: such as 0.1\nflows.f.senders: required with incast: such as 8",
        ),
        (
            "from = 'h'\nto = 'h0'\npattern = 'incast'\nmessage = '1 KB'\nload = 0.1\nsenders = 6",
            "flows.f.senders: 6: 1 to 5, the hosts of from other than the receiver",
        ),
        (
            "from = 'h0'\nto = 'h0'\npattern = 'queries'\nmessage = '1 KB'",
            "flows.f.to: 'h0' would ask itself",
        ),
        (
            "from = 'h0'\nto = 'h1'\nload = 0.1",
            "flows.f.load: goes with sizes, or with pattern = \"incast\"",
        ),
        (
            "from = 'h0'\nto = 'h1'\nthink = '1 us'",
            "flows.f.think: nothing to wait for before: goes with pattern, after, answers, depth or lockstep",
        ),
        (
            "from = 'h0'\nto = 'h1'\ndepth = 2",
            "flows.f.depth: goes with another entry that answers 'f'",
        ),
    ] {
        assert_eq!(said(&entry("f", keys)), right, "{keys}");
    }
}

#[test]
fn what_waits_for_nothing_that_comes_is_refused() {
    let plain = |name: &str, more: &str| entry(name, &format!("from = 'h0'\nto = 'h1'\n{more}"));
    for (flows, right) in [
        (
            plain("a", "count = 1\nafter = ['x']"),
            "flows.a.after: 'x' is no entry of flows: there are a",
        ),
        (
            plain("a", "count = 1\nafter = ['a']"),
            "flows.a.after: a wait for each other, so none begins",
        ),
        (
            plain("a", "count = 1\nafter = ['c']")
                + &plain("b", "count = 1\nafter = ['a']")
                + &plain("c", "count = 1\nafter = ['b']"),
            "flows.a.after: a, c, b wait for each other, so none begins",
        ),
        (
            plain("a", "") + &plain("b", "after = ['a']"),
            "flows.b.after: 'a' does not end: flows.a.count says how often it sends",
        ),
        (
            plain("a", "count = 1") + &entry("b", "from = 'h'\npattern = 'barrier'\nafter = ['a']"),
            "flows.b.after: 'a' does not reach h2: no flow of it starts or ends there, so h2 sees nothing of its end; \
             pattern = \"barrier\" with hosts of both, in between, tells it",
        ),
        (
            plain("a", "") + &entry("b", "answers = 'c'"),
            "flows.b.answers: 'c' is no entry of flows: there are a, b",
        ),
        (
            plain("a", "") + &entry("b", "answers = 'a'\nfrom = 'h1'\ncount = 2"),
            "flows.b.from: not with answers: those who are asked send\n\
             flows.b.count: not with answers: each request has an answer",
        ),
        (
            entry("a", "from = 'h'\npattern = 'barrier'") + &entry("b", "answers = 'a'"),
            "flows.b.answers: 'a': only flows between pairs can be answered, not answers, patterns, workloads or flows in \
             lockstep",
        ),
        (
            plain("a", "") + &entry("b", "answers = 'a'") + &entry("c", "answers = 'a'"),
            "flows.c.answers: 'a' is answered by another entry already",
        ),
    ] {
        assert_eq!(said(&flows), right);
    }
}
