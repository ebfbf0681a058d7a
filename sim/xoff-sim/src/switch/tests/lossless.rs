//! No frame is lost without being counted, and with PFC no lossless frame is lost at all.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::frame::Frame;
use crate::kernel::Arrival;
use crate::seeded::Draws;
use crate::testing::{pfc_frame, roce_frame};
use crate::time::ByteCount;

/// Three hosts send to the fourth one at line rate. Returns how many frames arrived, how often the switch paused a
/// host, and how many frames it dropped.
fn incast(pause: PauseKind, total: u64, limit: Limit) -> (usize, u64, u64) {
    let mut config = star_config(4, LineRate::G40);
    config.pause.kind = pause;
    config.buffer.total = ByteCount::new(total);
    config.buffer.priorities[4] = PriorityBuffer::lossy(1, 1);
    config.buffer.priorities[3] = PriorityBuffer::lossless(limit, ByteCount::new(10_000));
    let sender = |host: u8| {
        (0..200).fold(Source::new(LineRate::G40, Duration::ZERO), |source, psn| {
            let frame = roce_frame(host, 4).dscp(24).psn(psn).bytes(1086);
            source.then(Time::ZERO, 3, frame)
        })
    };
    let receiver = Source::new(LineRate::G40, Duration::ZERO);
    let sources = vec![sender(1), sender(2), sender(3), receiver];
    let mut network = star(config, sources, &short_link());
    network.run_until(us(2_000), |_| ());
    let switch = switch(&network);
    conserved(switch).unwrap();
    assert_eq!((switch.occupancy(), switch.frames()), (0, 0));
    let ports = || (0..3).map(|port| switch.counters(PortId(port)));
    (
        source(&network, 4).received.len(),
        ports().map(|port| port.xoff[3]).sum(),
        ports().map(PortCounters::dropped_in_all).sum(),
    )
}

#[test]
fn pfc_keeps_an_incast_lossless() {
    let limit = Limit::Static(ByteCount::new(20_000));
    let (arrived, pauses, dropped) = incast(PauseKind::Pfc, 1_000_000, limit);
    assert_eq!((arrived, dropped), (600, 0));
    assert!(pauses > 10, "{pauses}");
    // Without pauses, frames are lost with the same buffer.
    let (arrived, _, dropped) = incast(PauseKind::Off, 1_000_000, limit);
    assert_eq!(arrived + dropped as usize, 600);
    assert!(dropped > 100, "{dropped}");
}

#[test]
fn a_smaller_alpha_pauses_what_a_larger_one_takes_in() {
    // Two thirds of 3 · 217 KB have to wait: 145 KB in each queue. At 1/16 of 4 MB less what is held, each queue may
    // hold 222 KB; at 1/64, 56 KB.
    let pauses = |den| incast(PauseKind::Pfc, 4_000_000, Limit::Alpha { num: 1, den });
    assert_eq!(pauses(16), (600, 0, 0));
    let (arrived, paused, dropped) = pauses(64);
    assert_eq!((arrived, dropped), (600, 0));
    assert!(paused > 10, "{paused}");
}

#[test]
fn a_pause_is_told_again_before_it_ends() {
    let mut config = star_config(2, LineRate::G40);
    // A pause lasts 12.8 us and is repeated after 6.4 us.
    config.pause.quanta = 1000;
    config.buffer.priorities[3] =
        PriorityBuffer::lossless(Limit::Static(ByteCount::new(3000)), ByteCount::new(10_000));
    let sender = (0..50).fold(Source::new(LineRate::G40, Duration::ZERO), |source, psn| {
        source.then(us(1), 3, roce_frame(1, 2).dscp(24).psn(psn).bytes(1086))
    });
    let receiver = Source::new(LineRate::G40, Duration::ZERO)
        .then(Time::ZERO, 0, pfc_frame(3, 10_000))
        .then(us(120), 0, pfc_frame(3, 0));
    let mut network = star(config, vec![sender, receiver], &short_link());
    network.run_until(us(119), |_| ());
    assert_eq!(source(&network, 2).received.len(), 0);
    // 119 us in intervals of 6.4 us, with one pause frame each.
    let told = source(&network, 1).pauses;
    assert!((18..=19).contains(&told), "{told}");
    assert_eq!(switch(&network).xoff(PortId(0)), 1 << 3);
    network.run_until(us(200), |_| ());
    assert_eq!(source(&network, 2).received.len(), 50);
    assert_eq!(switch(&network).counters(PortId(0)).dropped_in_all(), 0);
    assert_eq!(switch(&network).xoff(PortId(0)), 0);
}

#[test]
fn link_pause_stops_all_priorities() {
    let mut config = star_config(2, LineRate::G40);
    config.pause.kind = PauseKind::Link;
    let sender = (0..8).fold(Source::new(LineRate::G40, Duration::ZERO), |source, i| {
        source.then(us(1), i, roce_frame(1, 2).dscp(i * 8).bytes(200))
    });
    let receiver = Source::new(LineRate::G40, Duration::ZERO).then(
        Time::ZERO,
        0,
        crate::testing::pause_frame(1000),
    );
    let mut network = star(config, vec![sender, receiver], &short_link());
    // The pause frame arrives after 14.4 + 110 ns, and lasts 12.8 us.
    network.run_until(us(12), |_| ());
    assert_eq!(source(&network, 2).received.len(), 0);
    network.run_until(us(20), |_| ());
    assert_eq!(source(&network, 2).received.len(), 8);
}

/// A frame of any kind: intact, broken, unroutable or a pause, with any priority and size.
fn any_frame(draws: &mut Draws, ports: u64) -> (bytes::Bytes, bool) {
    let fcs_ok = draws.below(50) > 0;
    let class = draws.below(8) as u8;
    if draws.below(10) == 0 {
        return (pfc_frame(class, draws.below(40) as u16), fcs_ok);
    }
    // There is one host more than there are ports.
    let to = draws.below(ports + 1) as u8 + 1;
    let size = 64 + draws.below(1500) as usize;
    let mut bytes = roce_frame(200, to)
        .dscp(class * 8)
        .ecn(draws.below(4) as u8)
        .ttl(1 + draws.below(20) as u8)
        .bytes(size)
        .to_vec();
    match draws.below(40) {
        0 => bytes.truncate(draws.below(60) as usize),
        1 => bytes[..6].fill(0xFF),
        2 => bytes[..6].copy_from_slice(&[0x52, 0x54, 9, 9, 9, 9]),
        3 => bytes[12..14].copy_from_slice(&[0x88, 0xCC]),
        _ => (),
    }
    (bytes.into(), fcs_ok)
}

fn any_switch(draws: &mut Draws, ports: usize) -> Switch {
    let mut config = star_config(ports, LineRate::G40);
    config.buffer.total = ByteCount::new(60_000 + draws.below(200_000));
    for priority in 0..crate::wire::PRIORITIES {
        let limit = match draws.below(3) {
            0 => Limit::Static(ByteCount::new(draws.below(20_000))),
            _ => Limit::Alpha {
                num: 1,
                den: 1 + draws.below(8) as u32,
            },
        };
        let lossless = priority > 0 && draws.below(2) == 0;
        config.buffer.priorities[priority] = PriorityBuffer {
            lossless,
            reserved: ByteCount::new(draws.below(500)),
            limit,
            headroom: ByteCount::new(if lossless { draws.below(900) } else { 0 }),
            xon_offset: ByteCount::new(draws.below(3000)),
        };
        config.services[priority] = match draws.below(3) {
            0 => Service::Strict,
            _ => Service::Weighted(1 + draws.below(3000) as u32),
        };
        config.red[priority] = (draws.below(2) == 0).then_some(RedConfig {
            kmin: ByteCount::new(1000),
            kmax: ByteCount::new(9000),
            pmax_ppm: 300_000,
            drop_incapable: draws.below(2) == 0,
            line: None,
        });
    }
    config.latency = Duration::from_ps(draws.below(2_000_000));
    config.pause.quanta = 20;
    if draws.below(2) == 0 {
        config.forwarding.on_mac_miss = Miss::Flood;
    }
    config.faults = vec![
        "any, chance 1/30: drop".parse().unwrap(),
        "any, chance 1/30: duplicate, delay 300 ns".parse().unwrap(),
        "any, chance 1/30: corrupt".parse().unwrap(),
    ];
    Switch::new(config).unwrap()
}

/// Random frames at random times. `windows` determines where windows end, which must not matter. Returns the frames
/// that left.
fn storm(seed: u64, windows: u64) -> Result<(Vec<(PortId, Frame)>, Switch), String> {
    let mut draws = Seed(seed).draws();
    let ports = 2 + draws.below(4);
    let mut switch = any_switch(&mut draws, ports as usize);
    let mut arrivals = Vec::new();
    for port in 0..ports {
        let mut at = Time::ZERO;
        for _ in 0..120 {
            at += Duration::from_ps(draws.below(2) * draws.below(200_000));
            let (bytes, fcs_ok) = any_frame(&mut draws, ports);
            let frame = Frame {
                fcs_ok,
                ..Frame::sent(bytes.into(), at, LineRate::G40)
            };
            at = frame.line_free(LineRate::G40);
            let port = PortId(port as u16);
            arrivals.push(Arrival::new(port, frame));
        }
    }
    arrivals.sort_by_key(|arrival| (arrival.frame.end, arrival.port));
    let mut inbox = VecDeque::from(arrivals);
    let mut departures = Departures::default();
    let mut left = Vec::new();
    let mut until = Time::ZERO;
    while until < us(300) {
        until += Duration::from_ps(windows);
        switch.advance(
            until,
            &mut Arrivals::new(&mut inbox, until),
            &mut departures,
        );
        conserved(&switch)?;
        if switch.next_event().is_some_and(|next| next < until) {
            return Err(format!("an event is left before {until}"));
        }
        left.append(&mut departures.take());
    }
    Ok((left, switch))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn frames_are_conserved_and_windows_do_not_matter(seed: u64) {
        let (left, switch) = storm(seed, 1_700_000).map_err(TestCaseError::fail)?;
        let (again, _) = storm(seed, 90_001).map_err(TestCaseError::fail)?;
        // The traffic is over, so everything has left and no peer is paused.
        prop_assert_eq!(switch.frames(), 0);
        prop_assert_eq!(switch.occupancy(), 0);
        let by_port = |frames: &[(PortId, Frame)], port: u16| -> Vec<Frame> {
            frames.iter().filter(|(at, _)| at.0 == port).map(|(_, frame)| frame.clone()).collect()
        };
        for port in 0..switch.line_rates().len() as u16 {
            prop_assert_eq!(switch.xoff(PortId(port)), 0);
            prop_assert_eq!(by_port(&left, port), by_port(&again, port));
        }
    }
}
