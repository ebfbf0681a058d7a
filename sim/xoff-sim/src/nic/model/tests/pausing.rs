//! Pauses: obeyed, sent, and silenced.

use super::flows::share;
use super::*;
use crate::frame::Frame;
use crate::kernel::Direction;
use crate::switch::headroom::longest_response;
use crate::time::Rate;
use crate::wire::PRIORITIES;
use crate::wire::{Pfc, PfcRepr, control_frame};

/// Most cycles after a pause in which frames may still begin (`rtl/nic/README.md`).
const BOUND: u64 = 20;

/// Makes class 3 lossless.
pub fn lossless(config: &mut ModelNicConfig) {
    config.settings.pfc.classes = 1 << 3;
    config.settings.pfc.xoff[3] = 20_000;
    config.settings.pfc.xon[3] = 10_000;
    config.settings.pfc.quanta = 6_553;
    config.settings.pfc.refresh = 8_000;
}

/// Two NICs with lossless class 3; the bus of the second one's host has this rate.
fn slow(rate: Rate, change: impl Fn(&mut ModelNicConfig)) -> Network<ModelNic> {
    let global = |config: &mut ModelNicConfig| {
        lossless(config);
        change(config);
    };
    let pcie = PcieConfig {
        rate: Some(rate),
        ..PcieConfig::default()
    };
    let mut nics = [
        nic(1, &PcieConfig::default(), global),
        nic(2, &pcie, global),
    ];
    let [a, b] = &mut nics;
    let config = flow(0, WorkKind::SEND, 1 << 20, None);
    connect((a, 1), (b, 2), 0, &config, |_| ());
    pair(nics, [&[], &[]])
}

#[test]
fn a_slow_receiver_pauses_its_peer_and_drops_nothing() {
    let mut network = slow(Rate::from_gbps(10), |_| ());
    let share = share(&mut network, us(200), us(1_200));
    // 10 Gb/s of payload, of the 37 that the wire carries.
    let expected = 10.0 / (40.0 * 1024.0 / 1106.0);
    println!("{:.4} of the bus", share / expected);
    assert!(
        (share / expected - 1.0).abs() < 0.01,
        "{}",
        share / expected
    );
    let [a, b] = [A, B].map(|node| network.node(node));
    good(b);
    for register in [reg::DROP_FULL, reg::GAPS_IN] {
        assert_eq!(b.counters().get(register), 0);
    }
    assert!(b.counters().get(reg::PFC_OUT) > 20);
    let received = b.counters().get(reg::PFC_OUT) - a.counters().get(reg::PFC_IN);
    assert!(received <= 1, "the last may be on its way");
}

/// What the standard allows, and what the monitors judge by; at 10 Gb/s 614.4 ns. Frames sent are as short as they get,
/// so that one starts in every instant; pauses come behind frames as long as they get, which the parser sees before.
#[test]
fn pauses_are_obeyed_in_time_at_every_rate() {
    for gbps in [10, 25, 40, 100, 400] {
        let rate: LineRate = format!("{gbps} Gb/s").parse().unwrap();
        let at_rate = |config: &mut ModelNicConfig| {
            config.rate = rate;
            config.clock = Clock::new(ModelNicConfig::period(rate), config.clock.phase);
            config.buffer_bytes = ModelNicConfig::buffer_at(rate);
            config.settings.pfc.classes = 1 << 3;
        };
        let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), at_rate));
        let [a, b] = &mut nics;
        for index in 0..8 {
            let config = flow(u32::from(index), WorkKind::WRITE, 4, None);
            connect((a, 1), (b, 2), index, &config, |_| ());
        }
        let [a, b] = &mut nics;
        connect(
            (b, 2),
            (a, 1),
            8,
            &flow(8, WorkKind::WRITE, 1 << 20, None),
            |qp| {
                (qp.requester.mtu, qp.responder.mtu) = (4, 4);
            },
        );
        let mut network = pair(nics, [&[], &[]]);
        // 100 quanta of class 3, every 7.3 us: at 10 Gb/s 5.12 us.
        let pause = |number: u64| {
            let bytes = control_frame(MacAddr([2; 6]), |control| {
                let timers = [100; PRIORITIES];
                let class_enable = 1 << 3;
                let pfc = PfcRepr {
                    class_enable,
                    timers,
                };
                pfc.emit(&mut Pfc::new_unchecked(control));
            });
            Frame::sent(
                bytes.into(),
                Time::from_ps(20_000_000 + 7_300_003 * number),
                rate,
            )
        };
        network.inject(B, PortId(0), (0..100).map(pause));
        network.tap(A, PortId(0), true);
        let mut records = Vec::new();
        network.run_until(us(800), |seen| records.extend_from_slice(seen));
        let mut pause: Option<(Time, Time)> = None;
        let (mut stopped, mut latest) = (0, Duration::ZERO);
        for record in &records {
            let frame = &record.frame;
            if frame.bytes.headers()[12..14] == [0x88, 0x08] {
                pause = Some((frame.end, frame.end + rate.time_of_quanta(100)));
            } else if record.direction == Direction::Sent
                && let Some((since, until)) = pause
            {
                if frame.start < until {
                    latest = latest.max(frame.start.saturating_since(since));
                } else {
                    stopped += 1;
                    pause = None;
                }
            }
        }
        println!("{rate}: the last frame starts {latest} after a pause");
        assert!(stopped > 50, "{rate}: {stopped}");
        assert!(latest <= longest_response(rate), "{rate}: {latest}");
    }
}

#[test]
fn a_paused_class_starts_no_frame_and_goes_on_when_told() {
    let mut network = slow(Rate::from_gbps(10), |_| ());
    network.tap(A, PortId(0), true);
    let clock = network.node(A).config().clock;
    let mut paused_since = None;
    let (mut late, mut pauses, mut resumed) = (0, 0, Vec::new());
    let mut records = Vec::new();
    network.run_until(us(500), |seen| records.extend_from_slice(seen));
    for record in &records {
        let bytes = record.frame.bytes.headers();
        if record.direction == Direction::Received {
            if bytes[12..14] != [0x88, 0x08] {
                continue;
            }
            let [high, low] = [bytes[18 + 6], bytes[18 + 7]];
            // The pause is in force once the NIC has seen its two beats.
            let seen = clock.edge_from(record.frame.end).0 + 1 + latency::CONTROL + 1;
            let on = u16::from_be_bytes([high, low]) != 0;
            pauses += u32::from(on);
            if !on {
                resumed.push((seen, clock.edge_from(record.frame.end)));
            }
            paused_since = on.then(|| paused_since.unwrap_or(seen));
        } else if let Some(since) = paused_since {
            let bound = clock.edge(Cycles(since + BOUND));
            late += u32::from(record.frame.start > bound);
        }
    }
    assert!(
        pauses > 10 && resumed.len() > 5,
        "{pauses} {}",
        resumed.len()
    );
    assert_eq!(late, 0);
    // After an XON a frame starts at once, since it is waiting in its slot.
    for (seen, _) in resumed {
        let (from, to) = (clock.edge(Cycles(seen)), clock.edge(Cycles(seen + 25)));
        let starts = records.iter().any(|record| {
            record.direction == Direction::Sent
                && record.frame.start > from
                && record.frame.start < to
        });
        assert!(
            starts || to > us(499),
            "nothing starts after the XON in force at {from}"
        );
    }
}

#[test]
fn a_pause_that_nobody_refreshes_ends() {
    // The receiver takes almost nothing: it asks for a pause of 100 quanta, and repeats that only after a very long
    // time.
    let mut network = slow(Rate::from_bits_per_second(1_000), |config| {
        config.settings.pfc.quanta = 100;
        config.settings.pfc.refresh = u32::MAX;
    });
    network.run_until(us(300), |_| ());
    let b = network.node(B);
    assert_eq!(b.counters().get(reg::PFC_OUT), 1);
    assert_eq!(b.xoff(), 1 << 3);
    // The sender did not get another pause, and sent until nothing more fitted.
    assert!(b.counters().get(reg::DROP_FULL) > 0);
    assert!(b.buffer_bytes() >= 65_536 / 16 * 15);
    // With refresh, the sender waits.
    let mut network = slow(Rate::from_bits_per_second(1_000), |_| ());
    network.run_until(us(300), |_| ());
    let b = network.node(B);
    assert_eq!(b.counters().get(reg::DROP_FULL), 0);
    // 8,000 cycles are 40.96 us.
    assert!((6..=8).contains(&b.counters().get(reg::PFC_OUT)));
    assert_eq!(network.node(A).pauses().paused(), 1 << 3);
}

#[test]
fn the_watchdog_barks_and_bites() {
    let stuck = |bark, bite| {
        let mut network = slow(Rate::from_bits_per_second(1_000), |config| {
            config.settings.watchdog.bark = bark;
            config.settings.watchdog.bite = bite;
        });
        network.run_until(us(600), |_| ());
        network
    };
    let network = stuck(20_000, 40_000);
    let b = network.node(B);
    assert_eq!(
        (b.counters().get(reg::BARKS), b.counters().get(reg::BITES)),
        (1, 1)
    );
    // The watchdog has silenced the pauses, so the peer's pause has run out: 6,553 quanta are 84 us.
    assert_eq!((b.xoff(), network.node(A).pauses().paused()), (0, 0));
    assert!(b.counters().get(reg::DROP_FULL) > 0);
    let network = stuck(200_000, 0);
    let b = network.node(B);
    assert_eq!(
        (b.counters().get(reg::BARKS), b.counters().get(reg::BITES)),
        (0, 0)
    );
    assert_eq!(b.xoff(), 1 << 3);
    // A slow receiver is not a stuck one.
    let mut network = slow(Rate::from_gbps(1), |config| {
        config.settings.watchdog.bark = 2_000;
        config.settings.watchdog.bite = 4_000;
    });
    network.run_until(us(600), |_| ());
    assert_eq!(network.node(B).counters().get(reg::BARKS), 0);
}

#[test]
fn a_paused_class_does_not_hold_another() {
    let global = |config: &mut ModelNicConfig| config.settings.pfc.classes = 1 << 3 | 1 << 4;
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), global));
    let [a, b] = &mut nics;
    let config = flow(0, WorkKind::WRITE, 1 << 20, None);
    connect((a, 1), (b, 2), 0, &config, |_| ());
    let config = flow(1, WorkKind::WRITE, 1 << 20, None);
    connect((a, 1), (b, 2), 1, &config, |qp| qp.dscp = 32);
    let mut network = pair(nics, [&[], &[]]);
    let fresh = |network: &Network<ModelNic>| {
        let host = network.node(B).host();
        [0, 1].map(|i: usize| host.receivers()[i].fresh_bytes() as f64)
    };
    network.run_until(us(200), |_| ());
    let both = fresh(&network);
    assert!((both[0] / both[1] - 1.0).abs() < 0.05, "{both:?}: in turn");
    // Class 3 is stopped for good: the longest quanta, repeated all the time.
    let control = |timer: u16| ControlHead {
        opcode: crate::wire::CONTROL_PFC,
        class_enable: 1 << 3,
        timers: std::array::from_fn(|p| if p == 3 { timer } else { 0 }),
    };
    use crate::wire::frame::ControlHead;
    network.update(A, |nic| {
        let now = nic.cycle;
        nic.pauses
            .receive(now, control(u16::MAX), &nic.config.settings);
    });
    network.run_until(us(210), |_| ());
    let from = fresh(&network);
    network.run_until(us(510), |_| ());
    let to = fresh(&network);
    assert_eq!(to[0], from[0]);
    let share = (to[1] - from[1]) / 1024.0 * 1106.0 * 200.0 / 300e6;
    assert!(share > 0.99, "{share}");
    network.update(A, |nic| {
        let now = nic.cycle;
        nic.pauses.receive(now, control(0), &nic.config.settings);
    });
    network.run_until(us(600), |_| ());
    assert!(fresh(&network)[0] > to[0]);
}

/// 802.1Q (36.1): PFC inhibits transmission of the priorities that it names, and of no other. So two paused classes
/// leave the third the whole wire.
#[test]
fn two_paused_classes_leave_the_third_the_wire() {
    let lossless = |config: &mut ModelNicConfig| config.settings.pfc.classes = 0xFF;
    let mut nics = [1, 2].map(|host| nic(host, &PcieConfig::default(), lossless));
    for index in 0..3 {
        let [a, b] = &mut nics;
        let config = flow(u32::from(index), WorkKind::WRITE, 1 << 20, None);
        connect((a, 1), (b, 2), index, &config, |qp| {
            qp.dscp = 8 + 8 * index as u8
        });
    }
    let mut network = pair(nics, [&[], &[]]);
    let bytes = control_frame(MacAddr([2; 6]), |control| {
        let pfc = PfcRepr {
            class_enable: 1 << 1 | 1 << 2,
            timers: [u16::MAX; PRIORITIES],
        };
        pfc.emit(&mut Pfc::new_unchecked(control));
    });
    let pause = Frame::sent(bytes.into(), us(20), LineRate::G40);
    network.inject(B, PortId(0), [pause]);
    network.tap(A, PortId(0), true);
    let mut records: Vec<Record> = Vec::new();
    network.run_until(us(300), |seen| records.extend_from_slice(seen));
    let sent = |from: Time| {
        let sent = records.iter().filter(move |record| {
            record.direction == Direction::Sent && record.frame.start >= from
        });
        let dscps = sent.map(|record| {
            (
                record.frame.bytes.headers()[15] >> 2,
                record.frame.wire_bytes(),
            )
        });
        dscps.collect::<Vec<_>>()
    };
    let before: std::collections::BTreeSet<_> = sent(us(0)).iter().map(|(dscp, _)| *dscp).collect();
    assert_eq!(before.into_iter().collect::<Vec<_>>(), [8, 16, 24]);
    let behind = sent(us(23));
    assert!(behind.iter().all(|(dscp, _)| *dscp == 24), "{behind:?}");
    let carried: Duration = behind.iter().fold(Duration::ZERO, |sum, (_, bytes)| {
        sum + LineRate::G40.time_of(*bytes)
    });
    let share = carried.as_ps() as f64 / Duration::from_us(277).as_ps() as f64;
    println!("{share:.4} of the wire");
    assert!(share > 0.98, "{share}");
}
