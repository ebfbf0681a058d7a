//! The exact maximum of headroom, over all phases of the traffic in the other direction.

use super::*;
use crate::testing::{pfc_frame, roce_frame};
use crate::time::ByteCount;

const FRAME: u64 = 1086;
/// The lossless class; the traffic in the other direction is of another class.
const LOSSLESS: u8 = 3;

/// Host 1 sends lossless frames without a gap to host 2, which never accepts any. Host 3 sends to host 1 without a
/// gap from `phase` on, so that the switch's port to host 1 is always busy. Returns the most bytes of headroom used,
/// and the number of drops.
fn headroom_used(link: Headroom, headroom: u64, phase: Duration) -> (u64, u64) {
    let mut config = star_config(3, link.rate);
    config.buffer.priorities[usize::from(LOSSLESS)] = PriorityBuffer::lossless(
        Limit::Static(ByteCount::new(5 * FRAME)),
        ByteCount::new(headroom),
    );
    let frames = 20 + 2 * headroom / FRAME;
    let start = us(10);
    let mut to_2 = Source::new(link.rate, link.response);
    let mut to_1 = Source::new(link.rate, Duration::ZERO);
    for psn in 0..frames as u32 {
        let dscp = LOSSLESS * 8;
        let frame = roce_frame(1, 2).dscp(dscp).psn(psn).bytes(FRAME as usize);
        to_2 = to_2.then(start, LOSSLESS, frame);
        let frame = roce_frame(3, 1).psn(psn).bytes(FRAME as usize);
        to_1 = to_1.then(us(9) + phase, 0, frame);
    }
    let paused =
        Source::new(link.rate, Duration::ZERO).then(Time::ZERO, 0, pfc_frame(LOSSLESS, u16::MAX));
    let wires = Link::new(link.cable, link.interface);
    let mut network = star(config, vec![to_2, paused, to_1], &wires);
    // Long enough for all frames, but not for the pause to end.
    network.run_until(
        us(10) + link.rate.time_of(frames * 1200) + Duration::from_us(6),
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

#[test]
fn no_frame_is_lost_at_the_exact_headroom_and_one_is_with_a_byte_less() {
    let interfaces = [
        (Duration::from_ns(100), Duration::ZERO),
        // 24,576 bit times at 40 Gb/s for the interface (from a vendor guide), and 6,144 bit times at 10 Gb/s for the
        // response.
        (Duration::from_ps(614_400), Duration::from_ps(614_400)),
    ];
    for rate in [LineRate::G10, LineRate::G40, LineRate::G100] {
        for metres in [2, 30, 300] {
            for (interface, response) in interfaces {
                let link = Headroom {
                    rate,
                    frame: ByteCount::new(FRAME),
                    other_frame: ByteCount::new(FRAME),
                    cable: Length::from_m(metres),
                    interface,
                    response,
                };
                let exact = link.exact().get();
                let period = rate.time_of(FRAME + 20).as_ps();
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
                let case = format!("{rate}, {metres} m, interface {interface}");
                assert_eq!(most, exact, "{case}: most used of {used:?}");
                assert_eq!(headroom_used(link, exact, worst), (exact, 0), "{case}");
                assert!(headroom_used(link, exact - 1, worst).1 > 0, "{case}");
            }
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
