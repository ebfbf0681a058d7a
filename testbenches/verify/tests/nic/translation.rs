//! Translation of addresses: page tables in the host's memory, and the cache of their entries (SIGCOMM 2016, section 4.4,
//! and rtl/nic/README.md). Pages and reads are counted here from addresses and lengths.

use std::collections::BTreeMap;

use crate::fixture::{MTU, SOURCE, Tested, post, signaled_write};
use crate::standard::packet;
use xoff_network::Endpoint;
use xoff_sim::host::memory::content;
use xoff_sim::nic::Region;
use xoff_sim::nic::translation::{StallScope, TranslationConfig};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{Opcode, RethRepr};
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, REGIONS, all, qp};

pub const PAGE: u64 = 4_096;
/// Cycles from a read of an entry to the entry.
pub const DELAY: u64 = 400;

/// Settings of a cache of the RTL NIC.
pub fn config(sets: u32, stall: StallScope) -> TranslationConfig {
    TranslationConfig {
        entries: 4 * sets,
        sets,
        stall,
        ..TranslationConfig::default()
    }
}

/// Two NICs of which side 1 translates, what it receives in most tests.
fn pair(translation: Option<TranslationConfig>, qps: u16) -> Tested {
    pair_of([None, translation], qps)
}

fn pair_of(translation: [Option<TranslationConfig>; 2], qps: u16) -> Tested {
    Tested::of(&PairConfig {
        change: &|side, index, setup| {
            *setup = qp(side, index);
            setup.requester.timeout = 0;
        },
        qps: &(0..qps).collect::<Vec<_>>(),
        read_delay: PERIOD * DELAY,
        translation,
        ..PairConfig::default()
    })
}

/// Posts a WRITE to bytes of the region of side 1.
fn write(pair: &mut Tested, qp: u16, offset: u64, length: u32) {
    let work = signaled_write(pair, 0, offset, length);
    pair.post(0, qp, work);
}

/// Runs until so many messages of side 0 are completed. Returns their status, and the cycles that it took.
fn completed(pair: &mut Tested, messages: usize) -> (Vec<Status>, u64) {
    completed_at(pair, 0, messages)
}

fn completed_at(pair: &mut Tested, side: usize, messages: usize) -> (Vec<Status>, u64) {
    let begin = pair.now();
    pair.completions[side].clear();
    pair.run(60_000, &mut all, |pair| {
        pair.completions[side].len() == messages
    });
    let status = |(_, it): &(u16, xoff_sim::protocol::gbn::Completion)| it.status;
    let ended = pair.completions[side].iter().map(status).collect();
    (ended, pair.now() - begin)
}

/// Hits and misses of side 1 so far.
fn counted(pair: &mut Tested) -> (u32, u32) {
    counted_at(pair, 1)
}

fn counted_at(pair: &mut Tested, side: usize) -> (u32, u32) {
    (
        pair.count(side, reg::TRANSLATION_HITS),
        pair.count(side, reg::TRANSLATION_MISSES),
    )
}

/// Asserts that just these pieces of the region are written, from those of the same offsets at the source.
fn written(pair: &Tested, pieces: &[(u64, u64)]) {
    let bytes = pieces.iter().flat_map(|(from, to)| *from..*to);
    let expected: BTreeMap<_, _> = bytes
        .map(|at| (REGION + at, content(SOURCE + at)))
        .collect();
    assert!(pair.memory(1) == expected);
}

#[test]
fn each_page_is_read_once() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    // Eight packets in two pages; then one over the end of a page, into the third.
    write(&mut pair, 0, 0, 8 * MTU);
    assert_eq!(completed(&mut pair, 1).0, [Status::Success]);
    assert_eq!(counted(&mut pair), (6, 2));
    write(&mut pair, 0, 2 * PAGE - 512, MTU);
    completed(&mut pair, 1);
    assert_eq!(counted(&mut pair), (7, 3));
    // Without bytes, and without a page.
    write(&mut pair, 0, 0, 0);
    completed(&mut pair, 1);
    assert_eq!(counted(&mut pair), (7, 3));
    pair.rest(5_000, &mut all);
    // After reset all DSCPs are of class 0.
    let stalled = pair.count(1, reg::TRANSLATION_STALLED_0);
    assert!(
        (3 * DELAY - 30..3 * DELAY + 30).contains(&u64::from(stalled)),
        "{stalled}"
    );
    written(&pair, &[(0, 2 * PAGE + 512)]);
    pair.pulses_are_counted();
}

#[test]
fn the_entry_that_was_used_longest_ago_gives_way() {
    let mut pair = pair(Some(config(1, StallScope::Receive)), 1);
    let mut touch = |pages: &[u64]| {
        let before = counted(&mut pair);
        for page in pages {
            write(&mut pair, 0, page * PAGE, 8);
            completed(&mut pair, 1);
        }
        let after = counted(&mut pair);
        (after.0 - before.0, after.1 - before.1)
    };
    assert_eq!(touch(&[0, 1, 2, 3]), (0, 4));
    assert_eq!(touch(&[0, 3, 2, 1, 0]), (5, 0));
    // 3 is the oldest one now.
    assert_eq!(touch(&[4, 0, 1, 2, 4]), (4, 1));
    assert_eq!(touch(&[3, 0]), (0, 2));
}

#[test]
fn a_miss_takes_as_long_as_the_bus() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    let mut timed = |page: u64| {
        write(&mut pair, 0, page * PAGE, 8);
        completed(&mut pair, 1).1
    };
    let (cold, warm, other) = (timed(0), timed(0), timed(1));
    for miss in [cold, other] {
        assert!(
            (DELAY - 64..DELAY + 64).contains(&(miss - warm)),
            "{cold}, {warm}, {other}"
        );
    }
}

#[test]
fn what_is_behind_a_miss_waits_or_is_looked_up_meanwhile() {
    // How much longer it takes than when all is there
    let longer = |stall| {
        let mut pair = pair(Some(config(512, stall)), 16);
        let cycles = [(0, 16), (16, 16)].map(|hits_and_misses| {
            (0..16).for_each(|qp| write(&mut pair, qp, u64::from(qp) * PAGE, 8));
            let (ended, cycles) = completed(&mut pair, 16);
            assert_eq!(ended, [Status::Success; 16]);
            assert_eq!(counted(&mut pair), hits_and_misses);
            cycles
        });
        cycles[0] - cycles[1]
    };
    let alone = longer(StallScope::Receive);
    assert!((16 * DELAY - 100..17 * DELAY).contains(&alone), "{alone}");
    // Eight at a time
    let ahead = longer(StallScope::Behind);
    assert!((2 * DELAY - 100..3 * DELAY).contains(&ahead), "{ahead}");
}

/// Receive waits for an entry that it asked for, and behind that for one that transmit had asked for before, which comes
/// first. Transmit asks for more than may be under way, so that each place is taken as soon as it is free. The second
/// packet does not wait for the entry that would take the place of its own.
#[test]
fn none_waits_for_an_entry_that_another_asked_for_later() {
    let mut pair = pair(Some(config(512, StallScope::Behind)), 16);
    let send = |pair: &mut Tested, qp: u16, page: u64| {
        let work = Work {
            local_va: REGION + page * PAGE,
            local_key: pair.key[1],
            ..signaled_write(pair, 1, 0, 8)
        };
        pair.post(1, qp, work);
    };
    let step = |pair: &mut Tested, cycles: u64| (0..cycles).for_each(|_| pair.step(&mut all));
    write(&mut pair, 0, PAGE, 8);
    write(&mut pair, 1, 0, 8);
    // Their payload is read first, which takes as long as an entry.
    step(&mut pair, DELAY);
    send(&mut pair, 2, 0);
    pair.run(DELAY, &mut all, |pair| pair.arrivals.len() == 2);
    step(&mut pair, 60);
    let misses = pair.host(1).counters().get(reg::TRANSLATION_MISSES);
    assert_eq!(misses, 3);
    for qp in 3..15 {
        send(&mut pair, qp, u64::from(qp));
    }
    let mut times = vec![];
    while times.len() < 2 {
        pair.step(&mut all);
        times.resize(pair.written[1].len(), pair.now());
        assert!(pair.now() < 20 * DELAY, "{times:?}");
    }
    let pages = [0, 1].map(|at| (pair.written[1][at].va - REGION) / PAGE);
    assert_eq!(pages, [1, 0]);
    assert!(times[1] - times[0] < 50, "{times:?}");
    pair.rest(20_000, &mut all);
}

/// IBTA volume 1, 9.9.3: what cannot be written is refused with a NAK, nothing of it is written nor of what is behind it,
/// and what is before it is. Other QPs go on.
#[test]
fn a_page_that_is_gone_ends_its_qp() {
    for stall in [StallScope::Part, StallScope::Receive, StallScope::Behind] {
        let mut pair = pair(Some(config(512, stall)), 2);
        let gone = pair.update(1, |host| {
            host.driver_mut().free_pages(REGIONS[0].0, REGION + PAGE, 1)
        });
        assert!(gone);
        // Five packets, of which the fourth reaches into the page, and what comes behind them.
        write(&mut pair, 0, 512, 5 * MTU);
        write(&mut pair, 0, 8 * PAGE, MTU);
        write(&mut pair, 1, 16 * PAGE, MTU);
        let (mut ended, _) = completed(&mut pair, 3);
        ended.sort_by_key(|status| *status as u8);
        assert_eq!(
            ended,
            [Status::Success, Status::Flushed, Status::RemoteAccess]
        );
        pair.rest(20_000, &mut all);
        let mtu = u64::from(MTU);
        let pieces = [(512, 512 + 3 * mtu), (16 * PAGE, 16 * PAGE + mtu)];
        written(&pair, &pieces);
        let naks = (pair.frames.iter())
            .filter_map(|(side, _, frame)| Some((*side, frame.ext?.aeth?, frame.bth?.psn)));
        let naks: Vec<_> = naks
            .filter(|(_, aeth, _)| aeth.syndrome.0 >> 5 == 3)
            .collect();
        let [(1, aeth, psn)] = naks[..] else {
            panic!("{naks:?}")
        };
        let first = qp(0, 0).requester_psn;
        assert_eq!(
            (aeth.syndrome.0, psn, aeth.msn.get()),
            (0x62, first.advance(3), 0)
        );
    }
}

/// Of two pages the NIC asks for one, and the other one is there: both count.
#[test]
fn a_packet_waits_for_both_of_its_pages() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    write(&mut pair, 0, PAGE, 8);
    completed(&mut pair, 1);
    pair.update(1, |host| {
        host.driver_mut().free_pages(REGIONS[0].0, REGION, 1)
    });
    write(&mut pair, 0, PAGE - 512, MTU);
    assert_eq!(completed(&mut pair, 1).0, [Status::RemoteAccess]);
    written(&pair, &[(PAGE, PAGE + 8)]);
}

/// A page that is freed is known to the NIC until its region is registered again.
#[test]
fn a_region_that_is_registered_again_is_forgotten() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 2);
    let (index, region) = REGIONS[0];
    write(&mut pair, 0, 0, 8);
    completed(&mut pair, 1);
    pair.update(1, |host| host.driver_mut().free_pages(index, REGION, 1));
    write(&mut pair, 0, 0, 8);
    assert_eq!(completed(&mut pair, 1).0, [Status::Success]);
    pair.update(1, |host| host.driver_mut().register(index, &region));
    for _ in 0..200 {
        pair.step(&mut all);
    }
    write(&mut pair, 1, PAGE, 8);
    assert_eq!(
        completed(&mut pair, 1).0,
        [Status::Success],
        "its other pages are there"
    );
    write(&mut pair, 0, 0, 8);
    assert_eq!(completed(&mut pair, 1).0, [Status::RemoteAccess]);
}

/// Translation is turned off and on again between lives of QPs, and what was received meanwhile leaves nothing behind:
/// more READs and WRITEs than wait in any queue of receive.
#[test]
fn translation_is_turned_off_and_on_again() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    let on = pair.read(1, reg::TRANSLATION).unwrap();
    let readable = Region {
        remote_write: false,
        ..REGIONS[0].1
    };
    for (word, missed) in [(0, 0), (on, 8)] {
        (0..2).for_each(|side| pair.close(side, 0).unwrap());
        pair.write(1, reg::TRANSLATION, word).unwrap();
        for (index, region) in REGIONS {
            pair.update(1, |host| host.driver_mut().register(*index, region));
        }
        pair.let_read(1, 7, &readable).unwrap();
        let settings = |side, index| {
            let mut setup = qp(side, index);
            setup.requester.timeout = 0;
            setup
        };
        pair.reopen(&[0], &settings);
        for _ in 0..10 {
            let read = Work {
                kind: WorkKind::READ,
                local_va: REGION,
                local_key: pair.key[0],
                remote_key: readable.key(7),
                ..signaled_write(&pair, 0, 0, 8)
            };
            for work in [read; 20] {
                pair.post(0, 0, work);
            }
            write(&mut pair, 0, 0, 8);
            assert_eq!(completed(&mut pair, 21).0, [Status::Success; 21]);
        }
        let before = counted(&mut pair).1;
        (1..9).for_each(|page| write(&mut pair, 0, page * PAGE, 8));
        assert_eq!(completed(&mut pair, 8).0, [Status::Success; 8]);
        assert_eq!(counted(&mut pair).1 - before, missed);
    }
}

/// What is read of the table that a region had is not kept when it comes.
#[test]
fn a_read_under_way_is_forgotten_with_its_region() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    let (index, region) = REGIONS[0];
    write(&mut pair, 0, 0, 8);
    let missed = |pair: &Tested| pair.host(1).counters().get(reg::TRANSLATION_MISSES) == 1;
    pair.run(2_000, &mut all, missed);
    pair.update(1, |host| host.driver_mut().register(index, &region));
    completed(&mut pair, 1);
    write(&mut pair, 0, 0, 8);
    assert_eq!(completed(&mut pair, 1).0, [Status::Success]);
    assert_eq!(counted(&mut pair), (0, 2));
}

/// The same of a packet that was asked for before its region was registered again, and waited behind another.
#[test]
fn what_was_asked_before_is_forgotten_with_its_region() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 2);
    let (index, region) = REGIONS[0];
    (0..2).for_each(|qp| write(&mut pair, qp, u64::from(qp) * PAGE, 8));
    let missed = |pair: &Tested| pair.host(1).counters().get(reg::TRANSLATION_MISSES) == 1;
    pair.run(2_000, &mut all, missed);
    // The other one is in the NIC by then, and the entry is still under way.
    for _ in 0..DELAY / 2 {
        pair.step(&mut all);
    }
    assert!(missed(&pair));
    pair.update(1, |host| host.driver_mut().register(index, &region));
    assert_eq!(completed(&mut pair, 2).0, [Status::Success; 2]);
    assert_eq!(counted(&mut pair), (0, 2));
    write(&mut pair, 1, PAGE, 8);
    completed(&mut pair, 1);
    assert_eq!(counted(&mut pair), (0, 3));
}

/// The NAK of a refused packet goes out although a packet behind it waited, and its refusal came just in front of the
/// NAK.
#[test]
fn a_refusal_is_told_behind_a_packet_that_waited() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    pair.update(1, |host| {
        host.driver_mut().free_pages(REGIONS[0].0, REGION, 1)
    });
    // One packet in the page that is gone, one in the next page, and one that is lost, which would ask for an ACK.
    write(&mut pair, 0, PAGE - u64::from(MTU), 3 * MTU);
    let last = qp(0, 0).requester_psn.advance(2);
    let mut lose_last = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
        side != 0 || frame.bth.is_none_or(|bth| bth.psn != last)
    };
    pair.run(5_000, &mut lose_last, |pair| pair.completions[0].len() == 1);
    assert_eq!(pair.completions[0][0].1.status, Status::RemoteAccess);
    assert!(pair.memory(1).is_empty());
}

/// Each of many QPs that need the page at the same time is refused, and told so.
#[test]
fn a_page_that_is_gone_ends_all_qps_that_need_it() {
    const QPS: u16 = 48;
    let mut pair = pair(Some(config(512, StallScope::Behind)), QPS);
    pair.update(1, |host| {
        host.driver_mut().free_pages(REGIONS[0].0, REGION, 1)
    });
    (0..QPS).for_each(|qp| write(&mut pair, qp, 64 * u64::from(qp), 8));
    let (ended, _) = completed(&mut pair, QPS.into());
    assert_eq!(ended, [Status::RemoteAccess; QPS as usize]);
    assert!(pair.memory(1).is_empty());
}

/// More refusals than the NIC takes at once wait behind a miss, and what comes behind them leaves no room for one more
/// event: everything is answered. Two QPs end there, so that their receive buffers are flushed.
#[test]
fn refusals_pile_up_behind_a_miss() {
    const REFUSED: u16 = 14;
    const OTHER: u16 = REFUSED + 1;
    const ENDED: [u16; 2] = [OTHER + 1, OTHER + 2];
    const RECVS: usize = 16;
    for empty in 40..60 {
        let qps: Vec<_> = (0..OTHER + 3).collect();
        let mut pair = Tested::of(&PairConfig {
            qps: &qps,
            read_delay: PERIOD * 4 * DELAY,
            translation: [None, Some(config(512, StallScope::Behind))],
            ..PairConfig::default()
        });
        let key = pair.key[1];
        for qp in ENDED {
            for id in 0..RECVS as u64 {
                let recv = Recv {
                    length: 4,
                    local_va: REGION,
                    local_key: key,
                    id,
                };
                pair.post_recv(1, qp, recv);
            }
        }
        let psn = |index| qp(0, index).requester_psn;
        let write = |index, psn, page: u64, length: u32| {
            packet(0, index, psn, |roce| {
                roce.ext.reth = Some(RethRepr {
                    va: REGION + page * PAGE,
                    rkey: key,
                    dma_len: length,
                });
                roce.payload = vec![1; length as usize];
            })
        };
        // Longer than its receive buffer.
        let send = |index| {
            packet(0, index, psn(index), |roce| {
                roce.bth.opcode = Opcode::RC_SEND_ONLY;
                roce.payload = vec![1; 8];
            })
        };
        (0..500).for_each(|_| pair.step(&mut all));
        let gone = pair.update(1, |host| {
            (host.driver_mut()).free_pages(REGIONS[0].0, REGION + PAGE, 1)
        });
        assert!(gone);
        let mut frames = vec![write(0, psn(0), 0, 8)];
        frames.extend((1..=REFUSED).map(|qp| write(qp, psn(qp), 1, 8)));
        frames.extend((0..empty).map(|i| write(OTHER, psn(OTHER).advance(0xFF_FF00 + i), 0, 0)));
        frames.extend(ENDED.map(send));
        pair.receive_back_to_back(1, frames);
        let naks = |pair: &Tested| {
            let syndromes = (pair.frames.iter()).filter_map(|(_, _, frame)| frame.ext?.aeth);
            syndromes.filter(|aeth| aeth.syndrome.0 == 0x62).count()
        };
        pair.run(20_000, &mut all, |pair| {
            naks(pair) == usize::from(REFUSED) && pair.completions[1].len() == ENDED.len() * RECVS
        });
    }
}

/// While an entry is read the NIC is not idle: it has work to do when it comes.
#[test]
fn a_nic_with_a_miss_under_way_is_not_idle() {
    let mut pair = pair(Some(config(512, StallScope::Receive)), 1);
    write(&mut pair, 0, 0, 8);
    let missed = |pair: &Tested| pair.host(1).counters().get(reg::TRANSLATION_MISSES) == 1;
    pair.run(2_000, &mut all, missed);
    let mut idle = 0;
    pair.run(1_000, &mut all, |pair| {
        idle += usize::from(pair.host(1).rests());
        !pair.memory(1).is_empty()
    });
    assert_eq!(idle, 0);
}

/// Translation changes when memory is written, and nothing else: a cache of four entries, and one in which all is.
#[test]
fn memory_and_completions_are_as_with_all_on_chip() {
    let run = |translation| {
        let mut pair = pair_of([translation; 2], 4);
        let mut expected = BTreeMap::new();
        let mut completions = [0; 2];
        let lengths = [0, 1, 700, 5_000, 4_096, 1_024, 9_999, 64];
        for side in 0..2 {
            for index in 0..4 {
                let (memory, counts) = post(&mut pair, side, index, &lengths);
                if side == 0 {
                    expected.extend(memory);
                }
                (0..2).for_each(|side| completions[side] += counts[side]);
            }
        }
        pair.run(60_000, &mut all, |pair| {
            (0..2).all(|side| pair.completions[side].len() == completions[side])
        });
        pair.rest(5_000, &mut all);
        assert!(pair.memory(1) == expected);
        let of_qps = [0, 1].map(|side| pair.completions_by_qp(side));
        (
            of_qps,
            [0, 1].map(|side| pair.memory(side)),
            counted(&mut pair),
        )
    };
    let (completions, memory, none) = run(None);
    assert_eq!(none, (0, 0));
    for stall in [StallScope::Part, StallScope::Receive, StallScope::Behind] {
        for sets in [1, 512] {
            let (of_qps, bytes, (hits, misses)) = run(Some(config(sets, stall)));
            assert!(
                of_qps == completions && bytes == memory,
                "{sets} sets, {stall:?}"
            );
            assert!(hits > 0 && misses > 0, "{hits} and {misses}");
        }
    }
}

/// What is sent is looked up when it is granted: eight entries at a time, and its data is read when they have come.
#[test]
fn what_is_sent_is_looked_up_ahead() {
    for stall in [StallScope::Part, StallScope::Receive, StallScope::Behind] {
        let mut pair = pair_of([Some(config(512, stall)), None], 16);
        (0..16).for_each(|qp| write(&mut pair, qp, u64::from(qp) * PAGE, 8));
        let (ended, cold) = completed(&mut pair, 16);
        assert_eq!(ended, [Status::Success; 16]);
        assert_eq!(counted_at(&mut pair, 0), (0, 16));
        (0..16).for_each(|qp| write(&mut pair, qp, u64::from(qp) * PAGE, 8));
        let warm = completed(&mut pair, 16).1;
        assert_eq!(counted_at(&mut pair, 0), (16, 16));
        assert!(
            (2 * DELAY - 64..2 * DELAY + 64).contains(&(cold - warm)),
            "{cold}, {warm}"
        );
        // Eight and eight, of which each waits for the read in front of it only.
        let stalled = pair.count(0, reg::TRANSLATION_STALLED_0);
        assert!(
            (2 * DELAY - 64..2 * DELAY + 64).contains(&u64::from(stalled)),
            "{stalled}"
        );
        pair.pulses_are_counted();
    }
}

/// IBTA volume 1, 11.6.2: a message whose memory cannot be read ends with a local protection error. What is in front of
/// the page that is gone is sent, nothing of the page is, what is posted behind it is flushed, and other QPs go on.
#[test]
fn a_page_that_is_gone_is_not_sent() {
    for kind in [WorkKind::WRITE, WorkKind::SEND] {
        let mut pair = pair_of([Some(config(512, StallScope::Behind)), None], 2);
        let gone = pair.update(0, |host| host.driver_mut().free_pages(0, SOURCE + PAGE, 1));
        assert!(gone);
        let work = |pair: &Tested, id, offset, length| Work {
            kind,
            signaled: true,
            length,
            local_va: SOURCE + offset,
            remote_va: REGION + offset,
            remote_key: pair.key[1],
            id,
            ..Work::default()
        };
        for (qp, id, offset, length) in [
            (0, 1, 0, 100),
            // Five packets, of which the fourth reaches into the page.
            (0, 2, 512, 5 * MTU),
            (0, 3, 8 * PAGE, MTU),
            (1, 4, 16 * PAGE, MTU),
        ] {
            let recv = Recv {
                length,
                local_va: REGION + offset,
                local_key: pair.key[1],
                id,
            };
            pair.post_recv(1, qp, recv);
            let work = work(&pair, id, offset, length);
            pair.post(0, qp, work);
        }
        completed(&mut pair, 4);
        let mut ended: Vec<_> = (pair.completions[0].iter())
            .map(|(_, it)| (it.id, it.status))
            .collect();
        ended.sort_by_key(|(id, _)| *id);
        let right = [
            (1, Status::Success),
            (2, Status::LocalAccess),
            (3, Status::Flushed),
            (4, Status::Success),
        ];
        assert_eq!(ended, right, "{kind:?}");
        pair.rest(20_000, &mut all);
        assert_eq!(pair.count(0, reg::UNREAD), 1);
        let mtu = u64::from(MTU);
        let pieces = [(0, 100), (512, 512 + 3 * mtu), (16 * PAGE, 16 * PAGE + mtu)];
        written(&pair, &pieces);
    }
}

/// The entries of what is sent and of what comes back are in one cache, and neither waits for a miss of the other: while
/// messages to be sent wait for theirs, what the peer sends is written without one.
#[test]
fn receive_does_not_wait_for_what_is_sent() {
    let mut pair = pair_of([None, Some(config(512, StallScope::Receive))], 2);
    // Its page is there.
    write(&mut pair, 0, 0, 8);
    completed(&mut pair, 1);
    let mut timed = |sends: bool| {
        if sends {
            for packet in 0..4 {
                let work = signaled_write(&pair, 1, packet * PAGE, 64);
                pair.post(1, 1, work);
            }
            let before = counted(&mut pair).1;
            let all_missed = |pair: &Tested| {
                pair.host(1).counters().get(reg::TRANSLATION_MISSES) == u64::from(before) + 4
            };
            pair.run(2_000, &mut all, all_missed);
        }
        write(&mut pair, 0, 64, 8);
        completed(&mut pair, 1).1
    };
    let (alone, beside) = (timed(false), timed(true));
    assert!(beside <= alone + 30, "{alone} and {beside}");
    assert!(
        pair.completions[1].is_empty(),
        "its messages still wait for their entries"
    );
}

/// The other way round: what is received waits for its entries, one after the other, and what is sent has its own.
#[test]
fn what_is_sent_does_not_wait_for_receive() {
    let mut pair = pair_of([None, Some(config(512, StallScope::Receive))], 6);
    let mut timed = |received: u16| {
        (1..=received).for_each(|qp| write(&mut pair, qp, u64::from(qp) * PAGE, 8));
        let missed = pair.count(1, reg::TRANSLATION_MISSES);
        let stands = |pair: &Tested| {
            let now = pair.host(1).counters().get(reg::TRANSLATION_MISSES);
            received == 0 || now > u64::from(missed)
        };
        pair.run(2_000, &mut all, stands);
        let work = signaled_write(&pair, 1, 0, 8);
        pair.post(1, 0, work);
        completed_at(&mut pair, 1, 1).1
    };
    // The first one misses.
    let (_, alone, beside) = (timed(0), timed(0), timed(5));
    assert!(beside <= alone + 30, "{alone} and {beside}");
}

/// A page counts as soon as one byte of a packet is in it.
#[test]
fn the_last_byte_that_is_sent_has_a_page() {
    for (length, right) in [(8, Status::Success), (9, Status::LocalAccess)] {
        let mut pair = pair_of([Some(config(512, StallScope::Behind)), None], 1);
        pair.update(0, |host| host.driver_mut().free_pages(0, SOURCE + PAGE, 1));
        write(&mut pair, 0, PAGE - 8, length);
        assert_eq!(completed(&mut pair, 1).0, [right], "{length} bytes");
    }
}

/// A QP is closed while what it sends waits for entries: nothing of it is sent, and what is opened in its place sends
/// its own.
#[test]
fn what_waits_for_entries_is_withdrawn_with_its_qp() {
    let mut pair = pair_of([Some(config(512, StallScope::Behind)), None], 1);
    write(&mut pair, 0, 0, 4 * MTU);
    let missed = |pair: &Tested| pair.host(0).counters().get(reg::TRANSLATION_MISSES) > 0;
    pair.run(2_000, &mut all, missed);
    pair.reopen(&[0], &|side, index| {
        let mut setup = qp(side, index);
        setup.requester.timeout = 0;
        setup
    });
    let frames = pair.frames.len();
    assert_eq!(frames, 0, "frames before the entry came");
    write(&mut pair, 0, 2 * PAGE, MTU);
    assert_eq!(completed(&mut pair, 1).0, [Status::Success]);
    pair.rest(5_000, &mut all);
    written(&pair, &[(2 * PAGE, 2 * PAGE + u64::from(MTU))]);
}
