//! What SONiC's test plans ask of a switch, in their numbers (sonic-net/sonic-mgmt, docs/testplan: PFC, headroom, ECN).
//! The pause watchdog at both sides of its threshold, and the marks of a packet by its place, are in `incidents`.

use super::*;
use crate::headers::{Headers, rewrite};
use crate::testing::{pfc_frame, roce_frame};
use crate::time::ByteCount;

const FRAME: u64 = 1086;

fn quiet() -> Source {
    Source::new(LineRate::G40, Duration::ZERO)
}

/// Time of a frame on the wire, with preamble and gap.
fn frame_time() -> Duration {
    LineRate::G40.time_of(FRAME + 20)
}

/// 2 m of cable and the interface.
const WAY: Duration = Duration::from_ps(10_000 + 100_000);

/// `count` frames of a class to host 2, one in `every` frame times.
fn paced(from: u8, class: u8, every: u64, count: u32) -> Source {
    (0..count).fold(quiet(), |source, psn| {
        let at = Time::ZERO + frame_time() * (every * u64::from(psn));
        let frame = roce_frame(from, 2).dscp(class * 8).psn(psn);
        source.then(at, class, frame.bytes(FRAME as usize))
    })
}

/// When the frames of a class that host 2 received were started by the switch.
fn starts(network: &Network<Either>, class: u8) -> Vec<Time> {
    let received = source(network, 2).received.iter();
    let of_class = received.filter(|frame| {
        let ip = Headers::at(frame.bytes.headers()).unwrap().ip.unwrap();
        ip.traffic_class >> 5 == class
    });
    of_class
        .map(|frame| Time::from_ps(frame.start.as_ps() - WAY.as_ps()))
        .collect()
}

/// A paused priority has a rate of exactly 0, others are within 2 % of theirs; the pause lasts its quanta within 5 %,
/// and traffic is there again within 1 ms of the last pause.
#[test]
fn a_pause_stops_its_priority_for_its_quanta_and_no_other() {
    const QUANTA: u16 = 10_000;
    let mut config = star_config(3, LineRate::G40);
    config.buffer.priorities[3] = PriorityBuffer::lossless(
        Limit::Static(ByteCount::new(500_000)),
        ByteCount::new(20_000),
    );
    // A third and a half of the line, so that nothing waits but for the pauses.
    let sender = paced(1, 3, 3, 700);
    let other = paced(3, 0, 2, 1_050);
    let receiver =
        quiet()
            .then(us(100), 0, pfc_frame(3, QUANTA))
            .then(us(300), 0, pfc_frame(3, QUANTA));
    let mut network = star(config, vec![sender, receiver, other], &short_link());
    network.run_until(us(600), |_| ());
    let [lossless, lossy] = [3, 0].map(|class| starts(&network, class));
    // 10,000 quanta of 512 bits at 25 ps a bit.
    let pause = Duration::from_us(128);
    for sent in [us(100), us(300)] {
        // Preamble and 64 bytes.
        let from = sent + Duration::from_ps(72 * 200) + WAY;
        let until = from + pause;
        let within = |starts: &[Time]| {
            let within = starts.iter().filter(|start| (from..until).contains(*start));
            within.count() as f64
        };
        assert_eq!(within(&lossless), 0.0);
        let rate = pause.as_ps() as f64 / (frame_time().as_ps() * 2) as f64;
        let measured = within(&lossy);
        assert!((measured / rate - 1.0).abs() < 0.02, "{measured} of {rate}");
        let again = lossless.iter().find(|start| **start >= from).unwrap();
        let lasted = again.saturating_since(from).as_ps() as f64;
        assert!(
            (lasted / pause.as_ps() as f64 - 1.0).abs() < 0.05,
            "{lasted}"
        );
    }
    let again = lossless
        .iter()
        .find(|start| **start > us(300) + pause)
        .unwrap();
    assert!(again.saturating_since(us(300) + pause) < Duration::from_ms(1));
    // All of it came, and nothing was lost.
    assert_eq!((lossless.len(), lossy.len()), (700, 1_050));
}

/// Two hosts to one: when the first packet is marked, and when the first queue enters XOFF.
fn first_mark_and_pause(kmin: u64, kmax: u64) -> (Option<Time>, Option<Time>) {
    let mut config = star_config(3, LineRate::G40);
    // XOFF of the DCQCN paper, 24.47 KB for each ingress port.
    config.buffer.priorities[3] = PriorityBuffer::lossless(
        Limit::Static(ByteCount::new(24_470)),
        ByteCount::new(10_000),
    );
    config.red[3] = Some(RedConfig {
        kmin: ByteCount::new(kmin),
        kmax: ByteCount::new(kmax),
        pmax_ppm: 10_000,
        drop_incapable: false,
        line: None,
    });
    let sources = vec![paced(1, 3, 1, 400), quiet(), paced(3, 3, 1, 400)];
    let mut network = star(config, sources, &short_link());
    let (mut marked, mut paused) = (None, None);
    for step in 1..500 {
        let now = Time::from_ns(200 * step);
        network.run_until(now, |_| ());
        let count = |of: fn(&PortCounters) -> u64| {
            let ports = (0..3).map(|port| of(switch(&network).counters(PortId(port))));
            ports.sum::<u64>()
        };
        if marked.is_none() && count(|port| port.marked[3]) > 0 {
            marked = Some(now);
        }
        if paused.is_none() && count(|port| port.xoff[3]) > 0 {
            paused = Some(now);
        }
    }
    assert_eq!(switch(&network).counters(PortId(0)).dropped_in_all(), 0);
    (marked, paused)
}

#[test]
fn packets_are_marked_before_pauses_are_sent() {
    // Two ingress queues of up to 24.47 KB are an egress queue of 48.94 KB.
    let (marked, paused) = first_mark_and_pause(5_000, 20_000);
    assert!(marked.unwrap() < paused.unwrap(), "{marked:?} {paused:?}");
    // With a threshold above that pauses keep the queue below it.
    let (marked, paused) = first_mark_and_pause(100_000, 200_000);
    assert!(marked.is_none() && paused.is_some());
}

/// The oracle of SONiC's test of RED for all lengths: Kmax + 10 packets of 1 KB stand behind a pause, and packet i sees
/// Kmax + 10 - i KB. Each of 300 switches draws for itself.
#[test]
fn packets_are_marked_with_the_probability_of_the_queue_they_see() {
    const SWITCHES: u64 = 300;
    const PACKETS: u64 = 40;
    let mut marked = [0; PACKETS as usize];
    for seed in 0..SWITCHES {
        let mut config = star_config(2, LineRate::G40);
        config.seed = Seed(seed);
        config.buffer.priorities[3] = PriorityBuffer::lossless(
            Limit::Static(ByteCount::new(1_000_000)),
            ByteCount::new(10_000),
        );
        config.mark_at = MarkAt::Dequeue;
        config.red[3] = Some(RedConfig {
            kmin: ByteCount::new(10_000),
            kmax: ByteCount::new(30_000),
            pmax_ppm: 400_000,
            drop_incapable: false,
            line: None,
        });
        let sender = (0..PACKETS as u32).fold(quiet(), |source, psn| {
            let frame = roce_frame(1, 2).dscp(24).psn(psn).bytes(1_000);
            source.then(us(10), 3, frame)
        });
        let receiver = quiet().then(Time::ZERO, 0, pfc_frame(3, 3_000));
        let mut network = star(config, vec![sender, receiver], &short_link());
        network.run_until(us(80), |_| ());
        let received = &source(&network, 2).received;
        assert_eq!(received.len() as u64, PACKETS);
        for (frame, marked) in received.iter().zip(&mut marked) {
            let ip = Headers::at(frame.bytes.headers()).unwrap().ip.unwrap();
            *marked += u64::from(rewrite::is_ce(ip.traffic_class));
        }
    }
    for (i, marked) in (1..=PACKETS).zip(marked) {
        let queue = (PACKETS - i) as f64 * 1_000.0;
        let probability = match queue {
            ..=10_000.0 => 0.0,
            30_000.1.. => 1.0,
            _ => 0.4 * (queue - 10_000.0) / 20_000.0,
        };
        let expected = SWITCHES as f64 * probability;
        // Four standard deviations: one test of 16,000 would be outside.
        let off = 4.0 * (expected * (1.0 - probability)).sqrt();
        assert!(
            (marked as f64 - expected).abs() <= off,
            "packet {i} sees {queue} bytes: marked {marked} times, expected {expected} ± {off}"
        );
    }
}

/// Marks are those that a switch makes: what comes with congestion experienced is not counted again.
#[test]
fn packets_that_come_marked_are_not_counted() {
    for mark_at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        let mut config = star_config(2, LineRate::G40);
        config.pause.asymmetric = true;
        config.mark_at = mark_at;
        config.red[0] = Some(RedConfig {
            kmin: ByteCount::new(0),
            kmax: ByteCount::new(1),
            pmax_ppm: 0,
            drop_incapable: false,
            line: None,
        });
        // Ten that come marked and ten that do not, behind a pause, so that all but the first or the last see a queue.
        let sender = (0..20).fold(quiet(), |source, psn| {
            let frame = roce_frame(1, 2).ecn(if psn < 10 { 0b11 } else { 0b10 });
            source.then(us(10), 0, frame.psn(psn).bytes(1_000))
        });
        let receiver = quiet().then(Time::ZERO, 0, pfc_frame(0, 3_000));
        let mut network = star(config, vec![sender, receiver], &short_link());
        network.run_until(us(80), |_| ());
        let received = source(&network, 2).received.iter();
        let ce = received.filter(|frame| {
            let ip = Headers::at(frame.bytes.headers()).unwrap().ip.unwrap();
            rewrite::is_ce(ip.traffic_class)
        });
        // At dequeue nothing waits behind the last one.
        let new = if mark_at == MarkAt::Enqueue { 10 } else { 9 };
        assert_eq!(ce.count(), 10 + new);
        assert_eq!(switch(&network).counters(PortId(1)).marked[0], new as u64);
    }
}

/// PFC frames have no effect on a priority that is lossy (SONiC's tests of PFC and lossy priorities); those of a switch
/// with asymmetric PFC stop it, too.
#[test]
fn pfc_stops_a_lossy_priority_only_when_it_is_asymmetric() {
    const QUANTA: u16 = 10_000;
    for asymmetric in [false, true] {
        let mut config = star_config(2, LineRate::G40);
        config.pause.asymmetric = asymmetric;
        assert!(!config.buffer.priorities[0].lossless);
        let receiver = quiet().then(us(100), 0, pfc_frame(0, QUANTA));
        let sources = vec![paced(1, 0, 2, 1_000), receiver];
        let mut network = star(config, sources, &short_link());
        network.run_until(us(600), |_| ());
        let starts = starts(&network, 0);
        assert_eq!(starts.len(), 1_000);
        let longest = (starts.windows(2))
            .map(|pair| pair[1].saturating_since(pair[0]))
            .max();
        let pause = Duration::from_us(128);
        assert_eq!(longest >= Some(pause), asymmetric, "{longest:?}");
        // It is received in either case.
        let paused = switch(&network).paused_for(PortId(1), 0, us(600));
        assert_eq!(paused, if asymmetric { pause } else { Duration::ZERO });
    }
}
