//! Translation whose entries are on chip: it takes nothing from the wire, and no time from answers.

use crate::fixture::{Tested, signaled_write};
use crate::seams::{answered_beside_requests, receive_sends};
use crate::translation::config;
use xoff_sim::nic::translation::{StallScope, TranslationConfig};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Work, WorkKind};
use xoff_sim::time::Duration;
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, all, qp};

const WARM_CYCLES: u64 = 4_000;
const CYCLES: u64 = 16_000;
/// Bytes of a 40 Gb/s wire in ten cycles of 5.12 ns.
const TEN_CYCLES: u64 = 256;

fn pair(translation: Option<TranslationConfig>, qps: u16, mtu: u8) -> Tested {
    Tested::of(&PairConfig {
        change: &|side, index, setup| {
            *setup = qp(side, index);
            (setup.requester.mtu, setup.responder.mtu) = (mtu, mtu);
            setup.requester.timeout = 0;
        },
        qps: &(0..qps).collect::<Vec<_>>(),
        translation: [translation; 2],
        read_delay: PERIOD * 20,
        ..PairConfig::default()
    })
}

/// Thousandths of the wire that each side fills: both send messages of this length, each of which the other one
/// acknowledges.
fn filled(translation: Option<TranslationConfig>, kind: WorkKind, length: u32) -> [u64; 2] {
    const QPS: u16 = 32;
    let mut pair = pair(translation, QPS, 3);
    let on_wire = |pair: &mut Tested, side| {
        let [bytes, frames] = [reg::BYTES_OUT, reg::FRAMES_OUT].map(|at| pair.count(side, at));
        // FCS, preamble and gap
        u64::from(bytes) + 24 * u64::from(frames)
    };
    let mut posted = [0; 2];
    let mut sent = [[0; 2]; 2];
    let mut times = [0; 2];
    for (part, cycles) in [WARM_CYCLES, CYCLES].into_iter().enumerate() {
        let end = pair.now() + cycles;
        while pair.now() < end {
            for (side, posted) in posted.iter_mut().enumerate() {
                let own = pair.completions[side].iter();
                let done = own.filter(|(_, completion)| !completion.receive).count();
                while *posted < done + 15 * usize::from(QPS) {
                    let index = (*posted % usize::from(QPS)) as u16;
                    if kind == WorkKind::SEND {
                        let recv = Recv {
                            length,
                            local_va: REGION,
                            local_key: pair.key[1 - side],
                            id: 0,
                        };
                        pair.post_recv(1 - side, index, recv);
                    }
                    let write = signaled_write(&pair, side, 0, length);
                    pair.post(side, index, Work { kind, ..write });
                    *posted += 1;
                }
            }
            pair.step(&mut all);
        }
        times[part] = pair.now();
        sent[part] = [0, 1].map(|side| on_wire(&mut pair, side));
    }
    let took = times[1] - times[0];
    [0, 1].map(|side| (sent[1][side] - sent[0][side]) * 10_000 / (TEN_CYCLES * took))
}

#[test]
fn hits_leave_the_wire_full() {
    for translation in [None, Some(config(512, StallScope::Receive))] {
        let filled = filled(translation, WorkKind::WRITE, 256);
        assert!(filled.into_iter().all(|side| side >= 985), "{filled:?}");
    }
}

/// The shortest frames both ways, each with an ACK: nearly as many as without translation.
#[test]
fn hits_of_the_shortest_frames_take_little() {
    for (kind, length) in [(WorkKind::SEND, 4), (WorkKind::WRITE, 8)] {
        let on_chip = filled(None, kind, length);
        let looked_up = filled(Some(config(512, StallScope::Receive)), kind, length);
        for side in 0..2 {
            assert!(
                100 * looked_up[side] >= 95 * on_chip[side],
                "{kind:?}: {looked_up:?} of {on_chip:?}"
            );
        }
    }
}

/// New SENDs with a byte each, back to back at line rate, of one QP or many; each asks for an ACK.
#[test]
fn shortest_frames_back_to_back_are_all_taken() {
    const SENDS: usize = 6_000;
    for (qps, stall) in [
        (1, StallScope::Receive),
        (16, StallScope::Receive),
        (16, StallScope::Part),
    ] {
        let mut pair = pair(Some(config(512, stall)), qps, 3);
        receive_sends(&mut pair, qps, SENDS, &[1]);
        assert_eq!(pair.count(1, reg::DROP_FULL), 0, "{qps} QPs, {stall:?}");
        // Those of one QP that came while the page was read found no buffer.
        let done = pair.completions[1].len();
        let missed = pair.count(1, reg::NO_BUFFER) + pair.count(1, reg::GAPS_IN);
        assert!(
            done + missed as usize == SENDS && (qps == 1 || missed == 0),
            "{done} and {missed}"
        );
    }
}

/// ACKs of 56 QPs take 0.9 us of the wire; beside them are two packets of 4,096 bytes, 1.7 us.
#[test]
fn answers_behind_hits_do_not_wait_for_a_request_each() {
    const QPS: u16 = 56;
    let mut pair = pair(Some(config(512, StallScope::Receive)), QPS + 1, 4);
    // For the cache
    answered_beside_requests(&mut pair, QPS);
    pair.run(100_000, &mut all, |pair| !pair.completions[1].is_empty());
    let (longest, _) = answered_beside_requests(&mut pair, QPS);
    assert!(longest < Duration::from_us(3), "{longest:?}");
}
