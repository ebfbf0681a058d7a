//! Translation where each part of the receive buffer waits for page table entries by itself (rtl/nic/README.md). The
//! order of what a QP does is that of its packets, whatever parts they come from.

use crate::fixture::{MTU, Tested, done, dscp_maps, good, post, signaled_write};
use crate::standard::packet;
use crate::translation::{DELAY, PAGE, config};
use xoff_network::Endpoint;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::host::memory::content;
use xoff_sim::nic::translation::{StallScope, TranslationConfig};
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Status, Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{Opcode, RethRepr};
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, QPN_BASE, REGION, REGIONS, all, qp};

const PARTS: u16 = 8;

/// Class c has DSCP 8c and part c of the buffer, 256 cells each. Of QP i all is of class i modulo 8.
fn settings(side: usize, index: u16) -> QpSettings {
    let mut setup = qp(side, index);
    setup.dscp = 8 * (index % PARTS) as u8;
    setup.requester.timeout = 0;
    setup.requester.reads = 4;
    setup
}

/// Two NICs of which both translate, or side 1 alone.
fn pair_of(translation: [Option<TranslationConfig>; 2], qps: u16) -> Tested {
    pair_of_timed(translation, qps, 0)
}

fn pair_of_timed(translation: [Option<TranslationConfig>; 2], qps: u16, timeout: u8) -> Tested {
    let mut pair = Tested::of(&PairConfig {
        read_delay: PERIOD * DELAY,
        translation,
        ..PairConfig::default()
    });
    for side in 0..2 {
        let cells = (0..7).map(|part| (reg::BUFFER_CELLS + 4 * part, 256));
        for (address, data) in dscp_maps()
            .chain(cells)
            .chain([(reg::BUFFER_MAP, 0x7654_3210)])
        {
            pair.write(side, address, data).unwrap();
        }
        for index in 0..qps {
            let mut setup = settings(side, index);
            setup.requester.timeout = timeout;
            pair.open(side, index, &setup).unwrap();
        }
    }
    pair
}

fn pair(stall: StallScope) -> Tested {
    pair_of([None, Some(config(512, stall))], PARTS)
}

/// The frame of a WRITE of eight bytes to a page of side 1: the `count`-th packet of its QP.
fn frame(pair: &Tested, index: u16, count: u32, page: u64) -> Vec<u8> {
    packet(
        0,
        index,
        qp(0, index).requester_psn.advance(count),
        |roce| {
            roce.ip.traffic_class = 32 * (index % PARTS) as u8;
            roce.bth.opcode = Opcode::RC_WRITE_ONLY;
            roce.bth.ack_req = true;
            roce.ext.reth = Some(RethRepr {
                va: REGION + page * PAGE + 8 * u64::from(count),
                rkey: pair.key[1],
                dma_len: 8,
            });
            roce.payload = vec![index as u8; 8];
        },
    )
}

/// The pages that are written, in their order.
fn written(pair: &Tested) -> Vec<u64> {
    let page = |va: u64| (va - REGION) / PAGE;
    pair.written[1].iter().map(|it| page(it.va)).collect()
}

/// Has page p of side 1 in the cache, for 1 to 7.
fn warm(pair: &mut Tested) {
    let frames: Vec<_> = (1..PARTS).map(|i| frame(pair, i, 0, i.into())).collect();
    pair.receive_back_to_back(1, frames);
    pair.run(20 * DELAY, &mut all, |pair| pair.written[1].len() == 7);
    pair.rest(5_000, &mut all);
    pair.written[1].clear();
}

#[test]
fn a_miss_stops_its_part_alone() {
    for stall in [StallScope::Part, StallScope::Receive, StallScope::Behind] {
        let mut pair = pair(stall);
        warm(&mut pair);
        let stalled = |pair: &mut Tested| {
            [0, 1, 2, 3, 4, 5, 6, 7].map(|c| pair.count(1, reg::TRANSLATION_STALLED_0 + 4 * c))
        };
        let before = stalled(&mut pair);
        // Of part 0 two, of which the first misses; of the others several each, behind them.
        let mut frames = vec![frame(&pair, 0, 0, 100), frame(&pair, 0, 1, 100)];
        for count in 1..5 {
            frames.extend((1..PARTS).map(|i| frame(&pair, i, count, i.into())));
        }
        pair.receive_back_to_back(1, frames);
        pair.run(10 * DELAY, &mut all, |pair| pair.written[1].len() == 30);
        let order = written(&pair);
        let others = order.iter().position(|&page| page == 100).unwrap();
        let alone = stall == StallScope::Part;
        assert_eq!(others, if alone { 28 } else { 0 }, "{stall:?}: {order:?}");
        pair.rest(5_000, &mut all);
        let now = stalled(&mut pair);
        assert_eq!(now[1..], before[1..], "{stall:?}");
        let waited = u64::from(now[0] - before[0]);
        assert!((DELAY - 30..DELAY + 30).contains(&waited), "{waited}");
    }
}

/// Each part has a read of its own under way.
#[test]
fn misses_of_all_parts_are_read_at_the_same_time() {
    let timed = |stall| {
        let mut pair = pair(stall);
        let frames: Vec<_> = (0..PARTS).map(|i| frame(&pair, i, 0, i.into())).collect();
        pair.receive_back_to_back(1, frames);
        let begin = pair.now();
        pair.run(20 * DELAY, &mut all, |pair| pair.written[1].len() == 8);
        pair.now() - begin
    };
    let (parts, receive) = (timed(StallScope::Part), timed(StallScope::Receive));
    assert!((DELAY..DELAY + 200).contains(&parts), "{parts}");
    assert!(receive >= 8 * DELAY, "{receive}");
}

/// A part waits for one packet at a time, as all of receive does.
#[test]
fn a_part_looks_up_one_packet_after_the_other() {
    let mut pair = pair(StallScope::Part);
    let frames: Vec<_> = (0..4).map(|i| frame(&pair, 0, i, i.into())).collect();
    pair.receive_back_to_back(1, frames);
    let begin = pair.now();
    pair.run(20 * DELAY, &mut all, |pair| pair.written[1].len() == 4);
    let took = pair.now() - begin;
    assert!((4 * DELAY..4 * DELAY + 200).contains(&took), "{took}");
}

/// More misses than are read at a time, in all parts, do not stop what a part has in the cache.
#[test]
fn what_is_there_passes_while_all_reads_are_under_way() {
    let mut pair = pair_of([None, Some(config(512, StallScope::Part))], 2 * PARTS);
    warm(&mut pair);
    // Two pages each: seven parts want fourteen entries.
    let mut frames = vec![];
    for i in [0, 2, 3, 4, 5, 6, 7] {
        let over = 100 * (u64::from(i) + 1) * PAGE - 4;
        frames.push(packet(
            0,
            PARTS + i,
            qp(0, PARTS + i).requester_psn,
            |roce| {
                roce.ip.traffic_class = 32 * i as u8;
                roce.ext.reth = Some(RethRepr {
                    va: REGION + over,
                    rkey: pair.key[1],
                    dma_len: 8,
                });
                roce.payload = vec![1; 8];
            },
        ));
    }
    frames.push(frame(&pair, 1, 1, 1));
    pair.receive_back_to_back(1, frames);
    pair.run(DELAY / 2, &mut all, |pair| written(pair) == [1]);
    pair.run(4 * DELAY, &mut all, |pair| pair.written[1].len() == 8);
}

/// Packets of a QP come from any part, and wait there for entries or not: each is written once, in their order, and
/// acknowledged in it.
#[test]
fn a_qp_that_moves_between_parts_keeps_its_order() {
    const FRAMES: u32 = 150;
    for seed in 0..4 {
        let mut draw = SplitMix::new(seed);
        let mut pair = pair_of([None, Some(config(1, StallScope::Part))], 4);
        let mut counts = [0; 4];
        let mut expected = [const { vec![] }; 4];
        let mut frames = vec![];
        for _ in 0..FRAMES {
            let index = draw.below(4) as u16;
            let count = &mut counts[usize::from(index)];
            // Most pages are those of their part, and four entries are not enough.
            let class = match draw.below(3) {
                0 => draw.below(8) as u8,
                _ => index as u8,
            };
            let page = u64::from(draw.below(6));
            let mut bytes = frame(&pair, index, *count, page);
            let ip = Headers::at(&bytes).unwrap().ip.unwrap();
            rewrite::set_dscp(&mut bytes, &ip, 8 * class);
            frames.push(bytes);
            expected[usize::from(index)].push(REGION + page * PAGE + 8 * u64::from(*count));
            *count += 1;
        }
        // So slowly that each is taken before the next one comes: what waits, waits behind the responder.
        let mut naks = 0;
        for bytes in frames {
            let now = pair.time();
            pair.receive(1, now, bytes);
            (0..50 + draw.below(300)).for_each(|_| pair.step(&mut all));
        }
        pair.run(1_000 * DELAY, &mut all, |pair| {
            pair.written[1].len() == FRAMES as usize
        });
        pair.rest(10_000, &mut all);
        assert_eq!(pair.count(1, reg::GAPS_IN), 0);
        let mut order = [const { vec![] }; 4];
        for it in &pair.written[1] {
            order[usize::from(it.bytes[0])].push(it.va);
        }
        assert_eq!(order, expected, "seed {seed}");
        let mut acked = [None; 4];
        for (side, _, frame) in &pair.frames {
            let (Some(bth), Some(aeth)) = (frame.bth, frame.ext.as_ref().and_then(|ext| ext.aeth))
            else {
                continue;
            };
            assert_eq!(*side, 1);
            naks += usize::from(aeth.syndrome.0 >> 5 != 0);
            let index = (bth.dest_qp.get() - QPN_BASE) as usize;
            let last = acked[index].replace(bth.psn);
            assert!(
                last.is_none_or(|last| bth.psn.ahead_of(last) > 0),
                "seed {seed}"
            );
        }
        assert_eq!(naks, 0, "seed {seed}");
        for index in 0..4 {
            let last = qp(0, index)
                .requester_psn
                .advance(counts[usize::from(index)] - 1);
            assert_eq!(
                acked[usize::from(index)],
                Some(last),
                "seed {seed}, QP {index}"
            );
        }
    }
}

/// The same with messages and READs of both sides, whose frames get any DSCP on the wire: memory and completions are as
/// with all on chip.
#[test]
fn frames_of_any_part_leave_memory_and_completions_as_they_are() {
    let run = |translation: Option<TranslationConfig>, seed| {
        // Frames overtake others of their QP in other parts, so that some are sent again.
        let mut pair = pair_of_timed([translation; 2], 4, 3);
        let mut draw = SplitMix::new(seed);
        let mut any = |_: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if draw.below(2) == 0 {
                let ip = Headers::at(bytes).unwrap().ip.unwrap();
                rewrite::set_dscp(bytes, &ip, 8 * draw.below(8) as u8);
            }
            true
        };
        let mut counts = [0; 2];
        let lengths = [0, 1, 700, 5_000, 4_096, 1_024, 9_999, 64];
        for side in 0..2 {
            let readable = Region {
                remote_write: false,
                ..REGIONS[0].1
            };
            pair.let_read(1 - side, 7, &readable).unwrap();
            for index in 0..4 {
                let (_, posted) = post(&mut pair, side, index, &lengths);
                (0..2).for_each(|side| counts[side] += posted[side]);
                for length in [3_000, 1, 8_000] {
                    let read = Work {
                        kind: WorkKind::READ,
                        local_va: REGION + 0x100_0000 * u64::from(index + 1) + u64::from(length),
                        local_key: pair.key[side],
                        remote_key: readable.key(7),
                        ..signaled_write(&pair, side, 0, length)
                    };
                    pair.post(side, index, read);
                    counts[side] += 1;
                }
            }
        }
        pair.run(400_000, &mut any, |pair| done(pair, counts));
        good(&pair);
        pair.rest(5_000, &mut any);
        let of_qps = [0, 1].map(|side| pair.completions_by_qp(side));
        let misses = pair.count(1, reg::TRANSLATION_MISSES);
        (of_qps, [0, 1].map(|side| pair.memory(side)), misses)
    };
    let (completions, memory, none) = run(None, 0);
    assert_eq!(none, 0);
    for seed in 0..4 {
        let (of_qps, bytes, misses) = run(Some(config(1, StallScope::Part)), seed);
        assert!(of_qps == completions, "seed {seed}");
        assert!(bytes == memory, "seed {seed}");
        assert!(misses > 100, "{misses}");
    }
}

/// The same with all QPs, eight in each part, whose packets of both kinds, requests and answers, come from all parts.
#[test]
fn all_qps_in_all_parts_leave_memory_and_completions_as_they_are() {
    let qps = xoff_rtl::nic::QPS as u16;
    let run = |translation: Option<TranslationConfig>| {
        let mut pair = pair_of([translation; 2], qps);
        for side in 0..2 {
            let readable = Region {
                remote_write: false,
                ..REGIONS[0].1
            };
            pair.let_read(1 - side, 7, &readable).unwrap();
            for index in 0..qps {
                let write = signaled_write(&pair, side, PAGE * u64::from(index), 1_500);
                let read = Work {
                    kind: WorkKind::READ,
                    local_va: REGION + 0x100_0000 + PAGE * u64::from(index),
                    local_key: pair.key[side],
                    remote_va: REGION + 0x200_0000 + PAGE * u64::from(index),
                    remote_key: readable.key(7),
                    ..write
                };
                pair.post(side, index, write);
                pair.post(side, index, read);
            }
        }
        let counts = [2 * usize::from(qps); 2];
        pair.run(400_000, &mut all, |pair| done(pair, counts));
        good(&pair);
        pair.rest(5_000, &mut all);
        let of_qps = [0, 1].map(|side| pair.completions_by_qp(side));
        let misses = [0, 1].map(|side| pair.count(side, reg::TRANSLATION_MISSES));
        (of_qps, [0, 1].map(|side| pair.memory(side)), misses)
    };
    let (completions, memory, _) = run(None);
    let (of_qps, bytes, misses) = run(Some(config(1, StallScope::Part)));
    assert!(of_qps == completions);
    assert!(bytes == memory);
    assert!(misses.iter().all(|misses| *misses > 100), "{misses:?}");
}

/// IBTA volume 1, 9.7.5.1: what is acknowledged is in memory. WRITEs miss their pages in one part, while small READ
/// responses come through the others in nearly every cycle in which the responder steps.
#[test]
fn what_is_acknowledged_is_written_whatever_passes_beside_it() {
    const WRITERS: [u16; 4] = [0, PARTS, 2 * PARTS, 3 * PARTS];
    const MESSAGES: u64 = 12;
    let mut pair = pair_of([None, Some(config(512, StallScope::Part))], WRITERS[3] + 1);
    let readable = Region {
        remote_write: false,
        ..REGIONS[0].1
    };
    pair.let_read(0, 7, &readable).unwrap();
    let place = |writer: u64, message: u64| (4 * message + writer) * PAGE;
    for message in 0..MESSAGES {
        for (writer, index) in (0..).zip(WRITERS) {
            let work = signaled_write(&pair, 0, place(writer, message), 8);
            pair.post(0, index, work);
        }
    }
    let (mut reads, mut seen) = (0, 0);
    while pair.completions[0].len() < WRITERS.len() * MESSAGES as usize {
        assert!(pair.now() < 100 * DELAY, "{:?}", pair.completions);
        if reads < pair.completions[1].len() + 40 {
            let read = Work {
                kind: WorkKind::READ,
                local_va: REGION + 1_000 * PAGE,
                local_key: pair.key[1],
                remote_key: readable.key(7),
                ..signaled_write(&pair, 1, 0, 8)
            };
            pair.post(1, 1 + (reads % 7) as u16, read);
            reads += 1;
        }
        pair.step(&mut all);
        for (_, _, frame) in &pair.frames[seen..] {
            let aeth = frame.ext.as_ref().and_then(|ext| ext.aeth);
            let (Some(bth), Some(_)) = (frame.bth, aeth) else {
                continue;
            };
            let index = (bth.dest_qp.get() - QPN_BASE) as u16;
            let Some(writer) = WRITERS.iter().position(|it| *it == index) else {
                continue;
            };
            let acknowledged = bth.psn.ahead_of(qp(0, index).requester_psn) as u64 + 1;
            for message in 0..acknowledged {
                let va = REGION + place(writer as u64, message);
                let there = pair.written[1].iter().any(|it| it.va == va);
                assert!(there, "QP {index}, message {message}");
            }
        }
        seen = pair.frames.len();
    }
    assert!(reads > 500, "{reads}");
}

/// A completion of a READ tells that its data is in memory, whatever part the data of others waits in.
#[test]
fn a_read_is_completed_behind_its_data() {
    for stall in [StallScope::Part, StallScope::Receive] {
        let mut pair = pair_of([Some(config(512, stall)), None], PARTS);
        let readable = Region {
            remote_write: false,
            ..REGIONS[0].1
        };
        pair.let_read(1, 7, &readable).unwrap();
        let va = |index: u16, page: u64| REGION + (16 * u64::from(index) + page) * PAGE;
        for page in 0..4 {
            for index in 0..PARTS {
                let read = Work {
                    kind: WorkKind::READ,
                    local_va: va(index, page),
                    local_key: pair.key[0],
                    remote_key: readable.key(7),
                    id: page,
                    ..signaled_write(&pair, 0, 0, MTU)
                };
                pair.post(0, index, read);
            }
        }
        let mut seen = 0;
        pair.run(100 * DELAY, &mut all, |pair| {
            for (index, it) in &pair.completions[0][seen..] {
                assert_eq!(it.status, Status::Success);
                let memory = pair.memory(0);
                let there = (0..MTU.into())
                    .all(|at| memory.get(&(va(*index, it.id) + at)) == Some(&content(REGION + at)));
                assert!(there, "{stall:?}: QP {index}, READ {}", it.id);
            }
            seen = pair.completions[0].len();
            seen == 4 * usize::from(PARTS)
        });
    }
}

/// CLOSE waits for what the QP has left in the ring of its part.
#[test]
fn a_qp_is_closed_behind_what_waits_in_its_part() {
    for index in 0..PARTS {
        let mut pair = pair(StallScope::Part);
        let frames = [0, 1].map(|count| frame(&pair, index, count, 100 + u64::from(count)));
        pair.receive_back_to_back(1, frames);
        let missed = |pair: &Tested| pair.host(1).counters().get(reg::TRANSLATION_MISSES) == 1;
        pair.run(5_000, &mut all, missed);
        pair.close(1, index).unwrap();
        assert_eq!(written(&pair), [100, 101]);
        pair.open(1, index, &settings(1, index)).unwrap();
        let again = frame(&pair, index, 0, 102);
        pair.receive_back_to_back(1, [again]);
        pair.run(5_000, &mut all, |pair| written(pair) == [100, 101, 102]);
    }
}
