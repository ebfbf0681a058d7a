//! Packets that are withdrawn while their payload is still to come (rtl/nic/transmit_slots.sv): their slots are free
//! only once it has come, and packets of other QPs beside them are sent as they are.

use crate::fixture::{MTU, SOURCE, Tested, good, signaled_write};
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic_registers as reg;
use xoff_sim::seeded::SplitMix;
use xoff_sim::wire::Syndrome;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, all};

const QPS: u16 = 4;
/// Packets of a message.
const PACKETS: u32 = 90;

/// The round trip of the bus is longer than that of the network, so that a NAK finds all slots waiting for payload. QPs
/// are of two classes, and some lose packets.
#[test]
fn slots_of_withdrawn_packets_come_back() {
    for seed in 1..=4 {
        let mut pair = Tested::of(&PairConfig {
            seed,
            // T is 65.5 us.
            change: &|_, index, setup| {
                (setup.requester.timeout, setup.requester.retry) = (4, 7);
                setup.dscp = 8 * (index % 2) as u8;
            },
            qps: &(0..QPS).collect::<Vec<_>>(),
            read_delay: PERIOD * (600 + seed),
            ..PairConfig::default()
        });
        pair.write(0, reg::DSCP_MAP + 4, 1).unwrap();
        if seed == 1 {
            // Reads are taken slowly, so that some are withdrawn before they are asked for.
            pair.stall(0, Stalled::Reads, 15, u64::MAX);
        }
        for index in 0..QPS {
            let place = 0x2_0000 * u64::from(index);
            let work = signaled_write(&pair, 0, place, PACKETS * MTU);
            pair.post(0, index, work);
        }
        let mut draw = SplitMix::new(seed);
        let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
            let loses = !frame.bth.unwrap().dest_qp.get().is_multiple_of(4);
            !(side == 0 && loses && draw.bits().is_multiple_of(8))
        };
        pair.run(400_000, &mut wire, |pair| {
            pair.completions[0].len() == usize::from(QPS)
        });
        good(&pair);
        pair.rest(20_000, &mut all);
        let withdrawn = pair.count(0, reg::WITHDRAWN);
        assert!(withdrawn > 100, "{withdrawn} withdrawn, seed {seed}");
        let memory = pair.memory(1);
        assert_eq!(memory.len() as u32, u32::from(QPS) * PACKETS * MTU);
        for (at, byte) in memory {
            assert_eq!(byte, content(SOURCE + (at - REGION)), "at {at:#x}");
        }
        nothing_leaves_between_a_nak_and_what_it_asks_for(&pair);
        // CLOSE waits for the slots of its QP.
        for index in 0..QPS {
            pair.close(0, index).unwrap();
        }
    }
}

/// IBTA volume 1, go back N: behind a NAK, a requester goes on with the packet that it names. What was on its way to
/// the wire may still leave, but nothing that waits for its payload.
fn nothing_leaves_between_a_nak_and_what_it_asks_for(pair: &Tested) {
    const ON_THE_WAY_PS: u64 = 2_000_000;
    let mut naks = 0;
    for (_, nak, frame) in pair.frames.iter().filter(|(side, ..)| *side == 1) {
        let aeth = frame.ext.and_then(|ext| ext.aeth);
        if aeth.is_none_or(|aeth| aeth.syndrome != Syndrome::PSN_SEQUENCE_ERROR) {
            continue;
        }
        let bth = frame.bth.unwrap();
        let next = pair.frames.iter().find(|(side, sent, frame)| {
            *side == 0
                && frame.bth.unwrap().dest_qp == bth.dest_qp
                && sent.start.as_ps() > nak.end.as_ps() + ON_THE_WAY_PS
        });
        let (.., next) = next.unwrap();
        assert_eq!(next.bth.unwrap().psn, bth.psn, "QP {}", bth.dest_qp.get());
        naks += 1;
    }
    assert!(naks > 10, "{naks} NAKs");
}
