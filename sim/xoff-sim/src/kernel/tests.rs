use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::frame::Frame;
use crate::link::{Link, MIN_LATENCY};
use crate::seeded::Seed;
use crate::testing::{Source, checkpointed, roce_frame};
use crate::time::{Duration, Length, LineRate, Time};

/// Pairs of sources that send to each other over links of different lengths, some with faults.
fn pairs(n: u64) -> Network<Source> {
    let mut draws = Seed(1).draws();
    let mut builder = NetworkBuilder::new(Seed(2));
    for pair in 0..n {
        let a = builder.node(Source::random(&mut draws, LineRate::G40, 50));
        let b = builder.node(Source::random(&mut draws, LineRate::G40, 50));
        let mut link = Link::new(
            Length::from_m(10 * pair),
            MIN_LATENCY + Duration::from_ps(draws.below(1000)),
        );
        link.faults[0] = vec!["any, chance 1/5: drop".parse().unwrap()];
        link.faults[1] = vec!["any, chance 1/5: delay 700 ns".parse().unwrap()];
        builder
            .connect((a, PortId(0)), (b, PortId(0)), &link)
            .unwrap();
    }
    builder.build()
}

const END: Time = Time::from_ps(200_000_000);

fn threads<R: Send>(n: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(n)
        .build()
        .unwrap()
        .install(run)
}

fn digest(threads_used: usize, change: impl FnOnce(&mut Network<Source>) + Send) -> Digest {
    threads(threads_used, || {
        let mut network = pairs(6);
        network.set_parallel_from(0);
        change(&mut network);
        network.run_until(END, |_| ());
        network.digest()
    })
}

#[test]
fn a_frame_arrives_when_cable_and_interface_say() {
    let mut builder = NetworkBuilder::new(Seed(0));
    let frame = roce_frame(1, 2).bytes(1086);
    let a = builder.node(Source::new(LineRate::G40, Duration::ZERO).then(Time::ZERO, 0, frame));
    let b = builder.node(Source::new(LineRate::G40, Duration::ZERO));
    let link = Link::new(Length::from_m(300), Duration::from_ns(200));
    builder
        .connect((a, PortId(0)), (b, PortId(0)), &link)
        .unwrap();
    let mut network = builder.build();
    assert_eq!(network.lookahead(), Some(Duration::from_ns(1700)));
    network.run_until(END, |_| ());
    let received = &network.node(b).received;
    // 8 + 1,086 bytes of 200 ps, 1.5 us of cable, 200 ns of MAC and PHY.
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].start, Time::from_ps(1_700_000));
    assert_eq!(received[0].end, Time::from_ps(1_700_000 + 1094 * 200));
    assert_eq!(network.counters(a, PortId(0)).bytes_sent, 1086);
    assert_eq!(network.counters(b, PortId(0)).bytes_received, 1086);
}

#[test]
fn one_digest_whatever_threads_and_windows() {
    let one = digest(1, |_| ());
    assert_eq!(one, digest(2, |_| ()));
    assert_eq!(
        one,
        digest(3, |network| network.limit_lookahead(Duration::from_ns(7)))
    );
    // The number of threads changes while the network runs.
    let changes = digest(3, |network| {
        let at_most = Arc::new(AtomicU32::new(0));
        network.share_threads(Arc::clone(&at_most));
        for number in 0..10 {
            at_most.store(number, Ordering::Relaxed);
            network.run_until(Time::from_ps(u64::from(number) * 10_000_000), |_| ());
        }
    });
    assert_eq!(one, changes);
    assert_ne!(
        one,
        digest(1, |network| network.update(NodeId(0), |source| {
            *source = Source::new(LineRate::G40, Duration::ZERO);
        }))
    );
}

#[test]
fn one_digest_with_a_checkpoint_between() {
    let resumed = digest(2, |network| {
        // Run on to an instant at which a frame is on its way.
        let in_flight = |network: &Network<Source>| {
            (0..network.nodes()).any(|node| network.in_flight(NodeId(node as u32)) > 0)
        };
        while network.now() < Time::from_ps(30_000_000) || !in_flight(network) {
            let next = network.now() + Duration::from_ns(10);
            network.run_until(next, |_| ());
        }
        *network = checkpointed(network);
    });
    assert_eq!(resumed, digest(1, |_| ()));
}

#[test]
fn records_come_in_the_order_of_time_and_change_nothing() {
    let mut network = pairs(6);
    for node in 0..network.nodes() as u32 {
        network.tap(NodeId(node), PortId(0), true);
    }
    let mut records = Vec::new();
    network.run_until(END, |window| records.extend_from_slice(window));
    assert_eq!(network.digest(), digest(1, |_| ()));
    assert!(records.is_sorted_by_key(|record| record.frame.end));
    let sent = records
        .iter()
        .filter(|record| record.direction == Direction::Sent)
        .count();
    let received = records.len() - sent;
    let dropped: u64 = (0..6)
        .flat_map(|pair| {
            network
                .faults(NodeId(2 * pair), PortId(0))
                .unwrap()
                .counters()
        })
        .map(|(_, counters)| counters.hit)
        .sum();
    assert_eq!((sent, received), (600, 600 - dropped as usize));
    assert!(dropped > 20);
}

/// The digest of a network by its definition, from the records of all ports.
fn by_definition(network: &Network<Source>, records: &[Record]) -> Digest {
    let mut all = Digest::default();
    for node in (0..network.nodes() as u32).map(NodeId) {
        for direction in [Direction::Received, Direction::Sent] {
            let mut port = Digest::default();
            let of_port = |record: &&Record| (record.node, record.direction) == (node, direction);
            (records.iter().filter(of_port)).for_each(|record| port.frame(&record.frame));
            all.part(port);
        }
    }
    all
}

#[test]
fn the_digest_is_that_of_all_frames_with_faults_that_come_and_go() {
    let (mut network, a, b) = paced();
    for node in [a, b] {
        network.tap(node, PortId(0), true);
    }
    let mut records = Vec::new();
    let mut run = |network: &mut Network<Source>, us: u64| {
        let end = Time::from_ps(us * 1_000_000);
        network.run_until(end, |window| records.extend_from_slice(window));
        assert_eq!(network.digest(), by_definition(network, &records), "{us}");
        network.digest()
    };
    let three = run(&mut network, 3);
    let faults = network.faults_mut(a, PortId(0)).unwrap();
    faults.add("psn 4-5: delay 3us".parse().unwrap(), Seed(1));
    let injected = [hostile(0, 4_500_000), hostile(1, 6_300_000)];
    network.inject(a, PortId(0), injected);
    let six = run(&mut network, 6);
    assert_ne!(three, six);
    network.faults_mut(a, PortId(0)).unwrap().set_cut(true);
    run(&mut network, 8);
    network.faults_mut(a, PortId(0)).unwrap().set_cut(false);
    run(&mut network, 20);
    // The frames of 6 and 7 us are lost; those of 4 and 5 us come after them.
    assert_eq!(network.node(b).received.len(), 8 + 1);
}

#[test]
fn what_does_not_fit_is_said() {
    let mut builder = NetworkBuilder::new(Seed(0));
    let a = builder.node(Source::new(LineRate::G40, Duration::ZERO));
    let b = builder.node(Source::new(LineRate::G100, Duration::ZERO));
    let link = Link::new(Length::from_m(20), Duration::ZERO);
    let error = |builder: &mut NetworkBuilder<Source>, a, b| {
        builder.connect(a, b, &link).unwrap_err().to_string()
    };
    assert_eq!(
        error(&mut builder, (a, PortId(0)), (b, PortId(0))),
        "rates differ: node 0, port 0 has 40 Gb/s, node 1, port 0 has 100 Gb/s"
    );
    assert_eq!(
        error(&mut builder, (a, PortId(1)), (b, PortId(0))),
        "node 0 has no port 1: it has 1"
    );
    assert_eq!(
        error(&mut builder, (a, PortId(0)), (NodeId(7), PortId(0))),
        "node 7 does not exist: the network has 2 nodes"
    );
    let c = builder.node(Source::new(LineRate::G40, Duration::ZERO));
    builder
        .connect((a, PortId(0)), (c, PortId(0)), &link)
        .unwrap();
    assert_eq!(
        error(&mut builder, (a, PortId(0)), (c, PortId(0))),
        "node 0, port 0 is connected already"
    );
}

/// A network in which `a` sends to `b` over 100 ns: a frame of 1,086 bytes each microsecond.
fn paced() -> (Network<Source>, NodeId, NodeId) {
    let mut builder = NetworkBuilder::new(Seed(0));
    let mut source = Source::new(LineRate::G40, Duration::ZERO);
    for psn in 0..10 {
        let at = Time::from_ps(1_000_000 * u64::from(psn));
        source = source.then(at, 0, roce_frame(1, 2).psn(psn).bytes(1086));
    }
    let a = builder.node(source);
    let b = builder.node(Source::new(LineRate::G40, Duration::ZERO));
    let link = Link::new(Length::from_m(0), MIN_LATENCY);
    let ends = ((a, PortId(0)), (b, PortId(0)));
    builder.connect(ends.0, ends.1, &link).unwrap();
    (builder.build(), a, b)
}

/// A frame of 100 bytes to inject.
fn hostile(psn: u32, start: u64) -> Frame {
    let bytes = roce_frame(9, 2).psn(psn).bytes(100);
    Frame::sent(bytes.into(), Time::from_ps(start), LineRate::G40)
}

/// When the frames of `src` that arrived had started at the sending end.
fn starts(network: &Network<Source>, node: NodeId, src: u8) -> Vec<u64> {
    let from = |frame: &&Frame| frame.bytes.headers()[29] == src;
    let start = |frame: &Frame| (frame.start - Time::ZERO - MIN_LATENCY).as_ps();
    let received = network.node(node).received.iter();
    received.filter(from).map(start).collect()
}

#[test]
fn frames_that_are_the_ports_own_are_counted_and_shown() {
    let (mut network, a, b) = paced();
    network.tap(a, PortId(0), true);
    let own = [hostile(0, 500_000), hostile(1, 1_500_000)];
    network.send_as(a, PortId(0), own);
    network.inject(a, PortId(0), [hostile(2, 2_500_000)]);
    let mut shown = 0;
    network.run_until(Time::from_ps(20_000_000), |records| shown += records.len());
    let counted = |node| network.counters(node, PortId(0));
    assert_eq!((shown, counted(a).frames_sent), (12, 12));
    assert_eq!(counted(b).frames_received, 13);
    let injection = network.injection(a, PortId(0)).unwrap().counters();
    assert_eq!((injection.injected, injection.of_port), (1, 2));
    // Ten frames of 1,086 bytes and two of 100, each with 20 of preamble and gap, 200 ps a byte.
    let held = network.wire_time(a, PortId(0)).as_ps();
    assert_eq!(held, (10 * 1_106 + 2 * 120) * 200);
}

#[test]
fn injected_frames_wait_for_the_wire_and_others_only_for_them() {
    let (mut network, a, b) = paced();
    // Each frame of the source holds the wire for 1,094 bytes of 200 ps and a gap of 12: until 221,200 ps after its
    // start.
    let injected = [
        // Finds the wire free.
        hostile(0, 500_000),
        // Ready while the source's frame of 1 us is on the wire but not finished: goes first, and delays that frame.
        hostile(1, 1_100_000),
        // Ready after the end of the source's frame of 2 us, but within its gap.
        hostile(2, 2_000_000 + 218_800 - 21_600 + 1),
        // Two at the same time.
        hostile(3, 3_500_000),
        hostile(4, 3_500_000),
    ];
    network.inject(a, PortId(0), injected);
    network.run_until(END, |_| ());
    // 108 bytes of 200 ps including the preamble, and the gap: 24,000 ps.
    assert_eq!(
        starts(&network, b, 9),
        [500_000, 1_100_000, 2_221_200, 3_500_000, 3_524_000]
    );
    let mut undisturbed: Vec<u64> = (0..10).map(|i| 1_000_000 * i).collect();
    undisturbed[1] = 1_124_000;
    assert_eq!(starts(&network, b, 1), undisturbed);
    let injection = network.injection(a, PortId(0)).unwrap();
    let InjectionCounters {
        injected,
        of_port,
        waited,
        delayed,
    } = injection.counters();
    assert_eq!(
        (injected, of_port, waited, delayed, injection.waiting()),
        (5, 0, 2, 1, 0)
    );
    // The port does not count injected frames.
    assert_eq!(network.counters(a, PortId(0)).frames_sent, 10);
    assert_eq!(network.counters(b, PortId(0)).frames_received, 15);
}

#[test]
fn injected_frames_come_out_the_same_whatever_windows_threads_and_checkpoints() {
    let run = |change: fn(&mut Network<Source>)| {
        let mut network = pairs(4);
        let mut draws = Seed(9).draws();
        for node in 0..4 {
            let frames = (0..300).map(|psn| hostile(psn, draws.below(60_000_000)));
            network.inject(NodeId(node), PortId(0), frames.collect::<Vec<_>>());
        }
        change(&mut network);
        network.run_until(END, |_| ());
        network.digest()
    };
    let one = run(|_| ());
    assert_ne!(one, {
        let mut network = pairs(4);
        network.run_until(END, |_| ());
        network.digest()
    });
    assert_eq!(
        one,
        run(|network| network.limit_lookahead(Duration::from_ns(3)))
    );
    assert_eq!(one, run(|network| network.set_parallel_from(0)));
    assert_eq!(
        one,
        run(|network| {
            network.run_until(Time::from_ps(30_000_000), |_| ());
            *network = checkpointed(network);
        })
    );
}

#[test]
fn faults_of_the_link_hit_injected_frames_too() {
    let mut builder = NetworkBuilder::new(Seed(0));
    let a = builder.node(Source::new(LineRate::G40, Duration::ZERO));
    let b = builder.node(Source::new(LineRate::G40, Duration::ZERO));
    let mut link = Link::new(Length::from_m(0), MIN_LATENCY);
    link.faults[0] = vec!["psn +1-+2: drop".parse().unwrap()];
    let ends = ((a, PortId(0)), (b, PortId(0)));
    builder.connect(ends.0, ends.1, &link).unwrap();
    let mut network = builder.build();
    let frames = (0..4).map(|psn| hostile(70 + psn, 1_000_000 * u64::from(psn)));
    network.inject(a, PortId(0), frames);
    network.run_until(END, |_| ());
    assert_eq!(starts(&network, b, 9), [0, 3_000_000]);
}

/// A node that does what it is told at once, where its last `advance` ended.
#[derive(Debug, Default)]
struct Sleeper {
    reached: Time,
    told: bool,
    done: Option<Time>,
}

impl Node for Sleeper {
    fn line_rates(&self) -> Vec<LineRate> {
        vec![LineRate::G40]
    }

    fn next_event(&self) -> Option<Time> {
        self.told.then_some(self.reached)
    }

    fn advance(&mut self, until: Time, arrivals: &mut Arrivals<'_>, _: &mut Departures) {
        assert_eq!(arrivals.count(), 0);
        if self.told && self.reached < until {
            self.done = Some(self.reached);
            self.told = false;
        }
        self.reached = until;
    }
}

#[test]
fn a_node_that_slept_is_changed_now_and_not_before() {
    let mut builder = NetworkBuilder::new(Seed(0));
    let node = builder.node(Sleeper::default());
    let mut network = builder.build();
    network.run_until(END, |_| ());
    network.update(node, |sleeper| sleeper.told = true);
    network.run_until(END + Duration::from_us(1), |_| ());
    assert_eq!(network.node(node).done, Some(END));
}
