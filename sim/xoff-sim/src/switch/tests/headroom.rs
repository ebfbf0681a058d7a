//! The exact maximum of headroom, over the phases of the traffic in both directions.

use rayon::prelude::*;

use super::*;
use crate::testing::{pfc_frame, roce_frame};
use crate::time::ByteCount;

const FRAME: u64 = 1086;
/// Fill at which a pause is sent, in frames.
const XOFF_FRAMES: u64 = 5;
/// The lossless class; the traffic in the other direction is of another class.
const LOSSLESS: u8 = 3;

/// Host 1 sends lossless frames without a gap to host 2, which never accepts any. Host 3 sends to host 1 without a
/// gap from `phase` on, so that the switch's port to host 1 is always busy. Returns the most bytes of headroom used,
/// and the number of drops.
fn headroom_used(link: Headroom, headroom: u64, phase: Duration) -> (u64, u64) {
    headroom_at(link, headroom, [Duration::ZERO, phase])
}

/// The same with the lossless frames from the first phase on, and the others from the second on.
fn headroom_at(link: Headroom, headroom: u64, phases: [Duration; 2]) -> (u64, u64) {
    headroom_of(link, headroom, phases, &[])
}

/// The same with lossless frames of these sizes behind the one that exceeds XOFF, and of the largest size behind them.
fn headroom_of(link: Headroom, headroom: u64, phases: [Duration; 2], sizes: &[u64]) -> (u64, u64) {
    let mut config = star_config(3, link.rate);
    config.buffer.priorities[usize::from(LOSSLESS)] = PriorityBuffer::lossless(
        Limit::Static(ByteCount::new(XOFF_FRAMES * FRAME)),
        ByteCount::new(headroom),
    );
    // What the limit and the headroom hold, what the other stream sends before the first frame, and some that have to
    // stay behind.
    let frames = 30 + headroom / FRAME;
    let start = us(10) + phases[0];
    let mut to_2 = Source::new(link.rate, link.response);
    let mut to_1 = Source::new(link.rate, Duration::ZERO);
    for psn in 0..frames as u32 {
        let dscp = LOSSLESS * 8;
        // XOFF holds 5 frames, and the sixth exceeds it.
        let behind = (psn as usize).checked_sub(XOFF_FRAMES as usize + 1);
        let size = behind.and_then(|place| sizes.get(place)).unwrap_or(&FRAME);
        let frame = roce_frame(1, 2).dscp(dscp).psn(psn).bytes(*size as usize);
        to_2 = to_2.then(start, LOSSLESS, frame);
        let frame = roce_frame(3, 1).psn(psn).bytes(FRAME as usize);
        to_1 = to_1.then(us(9) + phases[1], 0, frame);
    }
    let paused =
        Source::new(link.rate, Duration::ZERO).then(Time::ZERO, 0, pfc_frame(LOSSLESS, u16::MAX));
    let wires = Link::new(link.cable, link.interface);
    let mut network = star(config, vec![to_2, paused, to_1], &wires);
    // Long enough for all frames, but not for the pause to end.
    network.run_until(
        start + link.rate.time_of(frames * 1200) + Duration::from_us(6),
        |_| (),
    );
    let switch = switch(&network);
    conserved(switch).unwrap();
    assert_eq!(
        switch.counters(PortId(1)).sent[usize::from(LOSSLESS)].frames,
        0
    );
    let port = switch.counters(PortId(0));
    (
        port.headroom_peak[usize::from(LOSSLESS)],
        port.dropped_for(DropReason::HeadroomFull),
    )
}

/// Links of the tests: three rates and lengths, with the interface and response that are given.
fn links(interface: Duration, response: Duration) -> impl Iterator<Item = Headroom> {
    let rates = [LineRate::G10, LineRate::G40, LineRate::G100];
    let lengths = move |rate| [2, 30, 300].map(|metres| (rate, metres));
    rates
        .into_iter()
        .flat_map(lengths)
        .map(move |(rate, metres)| Headroom {
            rate,
            frame: ByteCount::new(FRAME),
            other_frame: ByteCount::new(FRAME),
            cable: Length::from_m(metres),
            interface,
            response,
        })
}

/// Runs all of `steps` · `steps` phases: the lossless stream in steps of a part of a frame's time, the other one in
/// steps of a part of that, so that no two have the same distance. The most headroom that one needs is the exact form,
/// with which nothing is lost, and a frame less loses.
fn the_most_of_phases_is_exact(link: Headroom, steps: u64) {
    let exact = link.exact().get();
    let period = link.rate.time_of(FRAME + 20).as_ps();
    let phases: Vec<[Duration; 2]> = (0..steps * steps)
        .map(|place| {
            [
                place / steps * period / steps,
                place % steps * period / (steps * steps),
            ]
        })
        .map(|phases| phases.map(Duration::from_ps))
        .collect();
    let room = exact + 3 * FRAME;
    let used: Vec<u64> = (phases.par_iter())
        .map(|phases| headroom_at(link, room, *phases).0)
        .collect();
    let (most, worst) = used.iter().zip(&phases).max().unwrap();
    let least = used.iter().min().unwrap();
    println!(
        "{}, {}: {least} to {most} bytes, exact {exact}, worst case {}",
        link.rate,
        link.cable,
        link.worst_case()
    );
    assert_eq!(*most, exact, "{link:?}");
    assert!(link.worst_case().get() > *most, "{link:?}");
    assert_eq!(headroom_at(link, exact, *worst), (exact, 0), "{link:?}");
    let (_, lost) = headroom_at(link, exact - FRAME, *worst);
    assert!(lost > 0, "{link:?}: a frame less");
}

/// 18 links, each with 64 · 64 phases: `cargo test --release -p xoff-sim --lib phases -- --ignored --nocapture`.
#[test]
#[ignore = "73,728 runs, 40 s without optimization"]
fn the_most_of_64_by_64_phases_is_the_exact_headroom() {
    for (interface, response) in INTERFACES {
        for link in links(interface, response) {
            the_most_of_phases_is_exact(link, 64);
        }
    }
}

/// The same with fewer phases.
#[test]
fn the_most_of_12_by_12_phases_is_the_exact_headroom() {
    for (interface, response) in INTERFACES {
        for link in links(interface, response) {
            the_most_of_phases_is_exact(link, 12);
        }
    }
}

/// Interface and response.
const INTERFACES: [(Duration, Duration); 2] = [
    (Duration::from_ns(100), Duration::ZERO),
    // 24,576 bit times at 40 Gb/s for the interface (from a vendor guide), and 6,144 bit times at 10 Gb/s for the
    // response.
    (Duration::from_ps(614_400), Duration::from_ps(614_400)),
];

#[test]
fn no_frame_is_lost_at_the_exact_headroom_and_one_is_with_a_byte_less() {
    for (interface, response) in INTERFACES {
        for link in links(interface, response) {
            let exact = link.exact().get();
            let period = link.rate.time_of(FRAME + 20).as_ps();
            // Evenly spread; the last one is a picosecond before the first one repeats.
            let phases = (0..16)
                .map(|i| i * period / 16)
                .chain([period - 1])
                .chain(worst_phases(link, period))
                .map(Duration::from_ps);
            let used: Vec<_> = phases
                .map(|phase| (headroom_used(link, 2 * exact, phase).0, phase))
                .collect();
            let (most, worst) = used.iter().copied().max().unwrap();
            assert_eq!(most, exact, "{link:?}: most used of {used:?}");
            assert_eq!(headroom_used(link, exact, worst), (exact, 0), "{link:?}");
            assert!(headroom_used(link, exact - 1, worst).1 > 0, "{link:?}");
        }
    }
}

#[test]
fn the_gap_behind_a_pause_frame_needs_no_headroom() {
    // 1,106 + 60 + 28,696 bytes are 27 frames to the byte. With the gaps around the pause frame it would be one more.
    let link = Headroom {
        rate: LineRate::G40,
        frame: ByteCount::new(FRAME),
        other_frame: ByteCount::new(FRAME),
        cable: Length::from_m(300),
        interface: Duration::from_ps(614_400),
        response: LineRate::G40.time_of_quanta(118),
    };
    let period = link.rate.time_of(FRAME + 20).as_ps();
    let used = worst_phases(link, period)
        .map(|phase| headroom_used(link, 2 * link.exact().get(), Duration::from_ps(phase)).0);
    assert_eq!(used.max(), Some(28 * FRAME));
    assert_eq!(link.most_used().get(), 28 * FRAME);
    assert_eq!(link.exact().get(), 29 * FRAME);
}

/// A class whose frames have several sizes needs more than the exact form, which is that of the largest size alone: a
/// small frame among large ones lets the last large one start just before the peer stops. With as much as
/// [`Headroom::most_of_any_sizes`] says nothing is lost.
#[test]
fn frames_of_mixed_sizes_need_more_than_the_exact_form() {
    let mut more = 0;
    for (interface, response) in INTERFACES {
        for link in links(interface, response) {
            let (exact, mixed) = (link.exact().get(), link.most_of_any_sizes().get());
            let period = link.rate.time_of(FRAME + 20).as_ps();
            let phases: Vec<[Duration; 2]> = worst_phases(link, period)
                .map(|phase| [Duration::ZERO, Duration::from_ps(phase)])
                .collect();
            let used = |room: u64| {
                let used = phases
                    .iter()
                    .map(|phases| headroom_of(link, room, *phases, &link.between()));
                used.max().unwrap()
            };
            assert_eq!(used(2 * mixed), (mixed, 0), "{link:?}");
            assert_eq!(used(mixed), (mixed, 0), "{link:?}");
            let lost = phases
                .iter()
                .map(|phases| headroom_of(link, exact, *phases, &link.between()).1);
            assert_eq!(lost.max() > Some(0), mixed > exact, "{link:?}");
            more += usize::from(mixed > exact);
        }
    }
    assert!(more > 9, "{more} of 18 links");
}

/// Phases at which the frame in the other direction starts just as the limit is exceeded, or a picosecond earlier or
/// later.
fn worst_phases(link: Headroom, period: u64) -> impl Iterator<Item = u64> {
    let one_way = (link.cable.delay() + link.interface).as_ps();
    // Both sources start on time. A frame of the first one counts at the switch when it ends; a frame of the other
    // one starts there when its predecessor has ended.
    let arrives = us(10).as_ps() + link.rate.time_of(FRAME + 8).as_ps() + one_way;
    let starts = us(9).as_ps() + link.rate.time_of(FRAME + 8).as_ps() + one_way;
    let phase = (arrives - starts) % period;
    [phase + period - 1, phase, phase + 1]
        .into_iter()
        .map(move |phase| phase % period)
}
