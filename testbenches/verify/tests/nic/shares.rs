//! Classes share the transmit slots (rtl/nic/README.md): one is kept for each class of an open QP that holds none, and
//! a class takes another one while it holds fewer than are left. Slots of packets above 2 KiB count as three.
//!
//! A slot is held from the grant of a packet until its payload has been read and sent. With a bus so slow that a round
//! trip takes longer than sending all that is granted, a flow is sent in bursts, and the first burst of a message is
//! the share of its class.

use crate::fixture::{SOURCE, Tested, good, signaled_write};
use xoff_cosim::units::PERIOD_256_PS;
use xoff_sim::host::memory::content;
use xoff_sim::nic::QpSettings;
use xoff_sim::nic_registers as reg;
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, all, qp};

/// Round trip of the bus in cycles.
const ROUND: u64 = 600;
/// Transmit slots of the NIC.
const SLOTS: usize = 32;
/// Path MTU in bytes, and its code.
const MTU: (u32, u8) = (256, 0);
const QPS: u16 = xoff_rtl::nic::QPS as u16;

/// Slots that one class gets beside others that are open and have nothing to send: it takes one more while n, those
/// that it has, are fewer than SLOTS − n − others.
fn share(others: usize) -> usize {
    (SLOTS - others).div_ceil(2)
}

/// A QP of this class.
fn of_class(side: usize, index: u16, class: u8) -> QpSettings {
    let mut setup = qp(side, index);
    setup.dscp = class;
    (setup.requester.mtu, setup.responder.mtu) = (MTU.1, MTU.1);
    setup.requester.timeout = 0;
    setup
}

/// Sends a message of so many packets; returns how many of them were sent within the first round trip.
fn burst(pair: &mut Tested, index: u16, packets: usize) -> usize {
    burst_of(pair, index, (packets, MTU.0), ROUND)
}

/// The same with packets of so many bytes, and a round trip of so many cycles.
fn burst_of(pair: &mut Tested, index: u16, (packets, mtu): (usize, u32), round: u64) -> usize {
    pair.frames.clear();
    pair.completions[0].clear();
    let work = signaled_write(pair, 0, 0, packets as u32 * mtu);
    pair.post(0, index, work);
    pair.run(40 * round, &mut all, |pair| !pair.completions[0].is_empty());
    let starts: Vec<_> = (pair.frames.iter())
        .filter(|(side, ..)| *side == 0)
        .map(|(_, frame, _)| frame.start.as_ps())
        .collect();
    assert_eq!(starts.len(), packets);
    let first = starts
        .iter()
        .take_while(|at| *at - starts[0] < round / 2 * PERIOD_256_PS);
    first.count()
}

/// A pair whose DSCPs 0 to 7 are class 0 to 7, without QPs, and whose bus has this round trip in cycles.
fn slow_bus(round: u64) -> Tested {
    let mut pair = Tested::of(&PairConfig {
        read_delay: PERIOD * round,
        ..PairConfig::default()
    });
    for side in 0..2 {
        pair.write(side, reg::DSCP_MAP, 0x7654_3210).unwrap();
    }
    pair
}

#[test]
fn a_class_has_its_share_of_the_slots_while_qps_of_others_are_open() {
    let mut pair = slow_bus(ROUND);
    let mut classes: Vec<Option<u8>> = vec![None; usize::from(QPS)];
    let open = |pair: &mut Tested, index: u16, class: Option<u8>| {
        for side in 0..2 {
            match class {
                Some(class) => pair.open(side, index, &of_class(side, index, class)),
                None => pair.close(side, index),
            }
            .unwrap();
        }
    };
    // Each QP is opened, some again with another class, and closed while others are open.
    let mut steps: Vec<(u16, Option<u8>)> = vec![];
    for index in (0..QPS).rev() {
        let class = (index % 8) as u8;
        steps.push((index, Some(class)));
        if index % 3 == 0 {
            steps.push((index, Some((class + 3) % 8)));
        }
        // Up to four QPs are open.
        if index + 3 < QPS {
            steps.push((index + 3, None));
        }
    }
    for (index, class) in steps {
        open(&mut pair, index, class);
        classes[usize::from(index)] = class;
        let mut used: Vec<_> = classes.iter().flatten().collect();
        used.sort();
        used.dedup();
        let share = share(used.len() - 1);
        let sender = (0..QPS)
            .find(|index| classes[usize::from(*index)].is_some())
            .unwrap();
        let all: Vec<_> = (0..)
            .zip(&classes)
            .filter(|(_, class)| class.is_some())
            .collect();
        // Too small a share shows in what it is, too large a one in that nothing is left.
        assert_eq!(
            burst(&mut pair, sender, share + 1),
            share,
            "QP {sender}, of {all:?}"
        );
    }
}

/// Whichever two classes are open.
#[test]
fn one_of_two_classes_has_half_of_the_slots() {
    let mut pair = slow_bus(ROUND);
    for class in 0..8 {
        let other = (class + 3) % 8;
        for side in 0..2 {
            let (first, second) = (of_class(side, 0, class), of_class(side, 1, other));
            pair.open(side, 0, &first).unwrap();
            pair.open(side, 1, &second).unwrap();
        }
        let sent = burst(&mut pair, 0, SLOTS);
        assert_eq!(sent, share(1), "class {class} beside {other}");
    }
}

/// A class takes another slot for a packet above 2 KiB while three times what it has are fewer than are left. With
/// packets of 2 KiB again it has what every class has.
#[test]
fn slots_of_long_packets_count_as_three() {
    let round = 4_000;
    let mut pair = slow_bus(round);
    for side in 0..2 {
        for (index, class, code) in [(0, 3, 4), (1, 3, 3), (2, 5, 0)] {
            let mut setup = of_class(side, index, class);
            (setup.requester.mtu, setup.responder.mtu) = (code, code);
            pair.open(side, index, &setup).unwrap();
        }
    }
    let long = (SLOTS - 1).div_ceil(4);
    for (index, mtu, share) in [(0, 4_096, long), (1, 2_048, share(1)), (0, 4_096, long)] {
        let sent = burst_of(&mut pair, index, (SLOTS, mtu), round);
        assert_eq!(sent, share, "packets of {mtu} bytes");
    }
}

/// Classes that come into use while another one holds what it can get take none of its packets. With the sixth one all
/// slots are taken: those that come then have none until one is free.
#[test]
fn classes_that_come_late_find_slots() {
    // All of the first packets wait for their payload while the others come.
    let mut pair = slow_bus(20_000);
    for side in 0..2 {
        let mut setup = of_class(side, 0, 0);
        (setup.requester.mtu, setup.responder.mtu) = (2, 2);
        pair.open(side, 0, &setup).unwrap();
    }
    let first = signaled_write(&pair, 0, 0, 2 * SLOTS as u32 * 1_024);
    pair.post(0, 0, first);
    for _ in 0..2_000 {
        pair.step(&mut all);
    }
    for index in 1..8 {
        for side in 0..2 {
            let mut setup = of_class(side, index, index as u8);
            (setup.requester.mtu, setup.responder.mtu) = (2, 2);
            pair.open(side, index, &setup).unwrap();
        }
        let more = signaled_write(&pair, 0, 0x1_0000 * u64::from(index), 4_096);
        pair.post(0, index, more);
    }
    assert!(pair.frames.is_empty(), "the payload came before the others");
    pair.run(150_000, &mut all, |pair| pair.completions[0].len() == 8);
    for _ in 0..2_000 {
        pair.step(&mut all);
    }
    good(&pair);
    assert_eq!(pair.count(1, reg::GAPS_IN), 0);
    let memory = pair.memory(1);
    assert_eq!(memory.len(), 2 * SLOTS * 1_024 + 7 * 4_096);
    for (at, byte) in memory {
        assert_eq!(byte, content(SOURCE + (at - REGION)), "at {at:#x}");
    }
}
