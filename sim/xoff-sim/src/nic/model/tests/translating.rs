//! Translation: what waits for it, what it stops, and memory that is gone.

use std::collections::BTreeMap;

use super::*;
use crate::host::{Order, WorkingSet};
use crate::nic::translation::{PageSize, StallScope, TranslationConfig};
use crate::nic::{BufferParts, ReadRights};
use crate::protocol::gbn::{Completion, Recv, Status, Work};
use crate::seeded::SplitMix;
use crate::time::ByteCount;

/// A cache of four pages, whose misses take up to 2 µs longer than the bus.
fn tiny() -> TranslationConfig {
    TranslationConfig {
        entries: 4,
        sets: 1,
        jitter: Duration::from_us(2),
        ..TranslationConfig::default()
    }
}

const QPS: u16 = 4;
/// Each QP has 48 pages at both ends: eight for each of what messages come from, what they are written to, what READs
/// come from, where these go, atomics, and their originals.
const AREA: u64 = 32 << 10;

/// The start of an area of a QP.
fn area(qp: u16, number: u64) -> u64 {
    ((u64::from(qp) + 1) << 36) + number * AREA
}

/// A work request of a history, and the receive buffer that the peer has to have for it.
fn draw(draws: &mut SplitMix, qp: u16, id: u64, key: u32) -> (Work, Option<Recv>) {
    let kinds = [
        WorkKind::SEND,
        WorkKind::WRITE,
        WorkKind::WRITE_IMM,
        WorkKind::READ,
        WorkKind::FETCH_ADD,
    ];
    let kind = kinds[draws.within(0, 4) as usize];
    let atomic = kind == WorkKind::FETCH_ADD;
    let length = match atomic {
        true => 8,
        false => draws.within(1, 9_000),
    };
    let mut place = |number| match atomic {
        true => area(qp, number) + 8 * draws.within(0, AREA / 8 - 1),
        false => area(qp, number) + draws.within(0, AREA - length),
    };
    let (local_va, remote_va) = match kind {
        WorkKind::READ => (place(3), place(2)),
        WorkKind::FETCH_ADD => (place(5), place(4)),
        _ => (place(0), place(1)),
    };
    let recv = kind.takes_buffer().then(|| Recv {
        length: 9_000,
        local_va: place(1).min(area(qp, 2) - 9_000),
        local_key: key,
        id,
    });
    let work = Work {
        kind,
        signaled: true,
        length: length as u32,
        local_va,
        local_key: key,
        remote_va,
        remote_key: key,
        swap_add: 3,
        id,
        ..Work::default()
    };
    (work, recv)
}

/// Completions of each half of each QP, and the memory of all QPs.
type Outcome = (BTreeMap<(usize, u16, bool), Vec<Completion>>, Vec<u8>);

/// Runs a history of both ends, and returns what it did.
fn history(seed: u64, translation: Option<TranslationConfig>) -> (Outcome, u64) {
    let mut nics = [1u8, 2].map(|host| {
        let mut nic = nic(host, &PcieConfig::default(), |config| {
            config.settings.pfc.classes = 1 << 3;
        });
        nic.enable_reads(4);
        if let Some(config) = translation {
            nic.enable_translation(config, Seed(seed + u64::from(host)));
        }
        nic.host_mut().take_over(Seed(1));
        nic
    });
    let mut draws = SplitMix::new(seed);
    let mut expected = 0;
    for index in 0..QPS {
        let mut keys = [0; 2];
        for (side, nic) in nics.iter_mut().enumerate() {
            let [own, peer] = [side as u8 + 1, 2 - side as u8];
            let mut settings = qp(own, peer, index);
            settings.requester.timeout = 0;
            nic.open(index, &settings);
            let region = Region {
                base: area(index, 0),
                length: 6 * AREA,
                tag: 0x5A,
                pd: 0,
                local_write: true,
                remote_write: true,
            };
            keys[side] = nic.register(index, region);
            let (read, atomic) = (true, true);
            nic.permit(index, ReadRights { read, atomic });
        }
        for side in 0..2 {
            for id in 0..12 {
                let (work, recv) = draw(&mut draws, index, id, keys[side]);
                let at = Cycles(draws.within(1_000, 20_000));
                nics[side].host_mut().post(at, index, work);
                expected += 1;
                if let Some(recv) = recv {
                    // All are there before the first message.
                    nics[1 - side].host_mut().post_recv(Cycles(id), index, recv);
                    expected += 1;
                }
            }
        }
    }
    let mut network = pair(nics, [&[], &[]]);
    let mut completions = BTreeMap::<_, Vec<_>>::new();
    let mut count = 0;
    while count < expected {
        assert!(
            network.now() < us(20_000),
            "seed {seed}: {count} of {expected}"
        );
        network.run_until(network.now() + Duration::from_us(20), |_| ());
        for (side, node) in [A, B].into_iter().enumerate() {
            let taken = network.update(node, |nic| nic.host_mut().take_completions());
            count += taken.len();
            for (qp, completion) in taken {
                assert_eq!(completion.status, Status::Success, "seed {seed}");
                let half = (side, qp, completion.receive);
                completions.entry(half).or_default().push(completion);
            }
        }
    }
    let mut memory = Vec::new();
    for node in [A, B] {
        for index in 0..QPS {
            let mut bytes = vec![0; 6 * AREA as usize];
            (network.node(node).host()).read_memory(area(index, 0), &mut bytes);
            memory.extend(bytes);
        }
    }
    let misses = [A, B].map(|node| network.node(node).translation().map_or(0, |it| it.misses));
    ((completions, memory), misses.iter().sum())
}

/// Translation changes when things happen, and not what.
#[test]
fn histories_are_those_with_all_translations_on_chip() {
    for seed in 0..12 {
        let (on_chip, none) = history(seed, None);
        assert_eq!(none, 0);
        for (sets, misses, stall) in [
            (1, 8, StallScope::Part),
            (4, 1, StallScope::Receive),
            (2, 2, StallScope::Part),
        ] {
            let config = TranslationConfig {
                sets,
                misses,
                stall,
                ..tiny()
            };
            let (cached, missed) = history(seed, Some(config));
            assert!(missed > 100, "seed {seed}: {missed}");
            assert_eq!(on_chip.0, cached.0, "seed {seed}, {config:?}");
            assert!(on_chip.1 == cached.1, "seed {seed}, {config:?}: memory");
        }
    }
}

/// Two NICs, of which the second translates, with a flow between them.
fn one(config: &FlowConfig, latency: Duration, translation: TranslationConfig) -> [ModelNic; 2] {
    let pcie = PcieConfig {
        latency,
        ..PcieConfig::default()
    };
    let mut nics = [1, 2].map(|host| nic(host, &pcie, |_| ()));
    for nic in &mut nics {
        nic.enable_reads(4);
        nic.enable_translation(translation, Seed(7));
    }
    let [a, b] = &mut nics;
    connect((a, 1), (b, 2), 0, config, |qp| qp.requester.timeout = 0);
    nics
}

#[test]
fn a_nic_that_waits_for_a_miss_is_not_idle() {
    let config = flow(0, WorkKind::WRITE, 100, Some(1));
    let nics = one(&config, Duration::from_us(20), TranslationConfig::default());
    let mut network = pair(nics, [&[], &[]]);
    let mut waited = 0;
    while !network.node(A).host().finished() {
        assert!(network.now() < us(300));
        network.run_until(network.now() + Duration::from_us(1), |_| ());
        let b = network.node(B);
        if b.buffer_bytes() > 0 {
            let next = b.next_event().expect("a packet waits for a translation");
            assert!(next <= network.now() + Duration::from_us(41));
            waited += 1;
        }
    }
    assert!((39..=41).contains(&waited), "{waited} µs: there and back");
    good(network.node(A));
    good(network.node(B));
    let stalled = network.node(B).translation().unwrap().stalled[3];
    assert!(
        (7_800..7_900).contains(&stalled),
        "{stalled} cycles of 5.12 ns"
    );
}

#[test]
fn where_a_run_is_interrupted_makes_no_difference() {
    let mut config = flow(0, WorkKind::WRITE, 3_000, Some(60));
    config.working_set = Some(WorkingSet {
        bytes: 300_000,
        order: Order::Uniform,
        seed: 1,
    });
    let run = |step: Duration| {
        let mut network = pair(one(&config, Duration::from_ns(250), tiny()), [&[], &[]]);
        while network.now() < us(1_000) {
            network.run_until(network.now() + step, |_| ());
        }
        assert!(network.node(A).host().finished());
        let counters = [A, B].map(|node| *network.node(node).translation().unwrap());
        (network.digest(), counters)
    };
    let whole = run(Duration::from_us(1_000));
    assert!(
        whole.1.iter().all(|it| it.stalled[3] > 1_000),
        "{:?}",
        whole.1
    );
    assert_eq!(whole, run(Duration::from_ns(800)));
    assert!(
        whole.1[0].misses > 50 && whole.1[1].misses > 50,
        "{:?}",
        whole.1
    );
}

/// Bytes that two flows bring in 400 µs: one of class 3, which misses with each packet, and one of class 4, which
/// always hits.
fn two_classes(stall: StallScope) -> [u64; 2] {
    let classes = 1 << 3 | 1 << 4;
    let pcie = PcieConfig {
        latency: Duration::from_us(1),
        ..PcieConfig::default()
    };
    let mut nics = [1, 2].map(|host| {
        nic(host, &pcie, |config| {
            config.settings.pfc.classes = classes;
            config.settings.pfc.xoff = [16 << 10; 8];
            config.settings.pfc.xon = [14 << 10; 8];
            config.settings.buffer = BufferParts::new(classes, config.buffer_bytes);
        })
    });
    let [a, b] = &mut nics;
    let translation = TranslationConfig {
        jitter: Duration::ZERO,
        stall,
        ..tiny()
    };
    b.enable_translation(translation, Seed(7));
    for (index, message, pages) in [(0, 1_024, 1_000), (1, 4_096, 1)] {
        let mut config = flow(index, WorkKind::WRITE, message, None);
        config.outstanding = 16;
        config.working_set = Some(WorkingSet {
            bytes: pages << 12,
            order: Order::Uniform,
            seed: 1,
        });
        connect((a, 1), (b, 2), index as u16, &config, |qp| {
            qp.dscp = 24 + 8 * index as u8;
            qp.requester.timeout = 0;
        });
    }
    let mut network = pair(nics, [&[], &[]]);
    network.run_until(us(400), |_| ());
    good(network.node(B));
    let receivers = network.node(B).host().receivers();
    assert_eq!(network.node(B).counters().get(reg::DROP_FULL), 0);
    [0, 1].map(|flow: usize| receivers[flow].fresh_bytes())
}

#[test]
fn a_miss_stops_its_part_alone_or_all_of_receive() {
    let [slow, beside] = two_classes(StallScope::Part);
    let [all_slow, all_beside] = two_classes(StallScope::Receive);
    // A packet of 1,024 bytes each 2 µs.
    for bytes in [slow, all_slow] {
        assert!((150_000..210_000).contains(&bytes), "{bytes}");
    }
    assert!(beside > 4 * slow, "{beside}: the other part goes on");
    assert!(
        all_beside < beside / 2,
        "{all_beside}, with parts {beside}: it waits for each miss"
    );
}

/// Runs a flow of 20 messages of 4 KiB, of which a page of the eleventh is freed at an end at a time. Returns what
/// became of its two ends.
fn freed(kind: WorkKind, node: NodeId, at: Time) -> [Option<Status>; 2] {
    let config = flow(0, kind, 4 << 10, Some(20));
    let nics = one(
        &config,
        Duration::from_ns(250),
        TranslationConfig::default(),
    );
    let mut network = pair(nics, [&[], &[]]);
    network.run_until(at, |_| ());
    let page = config.address(10) + 2_000;
    assert!(network.update(node, |nic| nic.free_pages(0, page, 1)));
    network.run_until(us(400), |_| ());
    let [a, b] = [A, B].map(|node| network.node(node).host());
    assert!(a.senders()[0].delivered().len() <= 10);
    for host in [a, b] {
        assert_eq!(host.errors().payload_bytes, 0);
        assert!(
            host.receivers()
                .iter()
                .all(|receiver| receiver.whole() <= 10)
        );
        assert_eq!(
            host.senders()
                .iter()
                .map(|sender| sender.open())
                .sum::<usize>(),
            0
        );
    }
    assert_eq!(network.node(A).next_event(), None, "nothing is left to do");
    [
        a.senders()[0].failed(),
        b.receivers().first().and_then(Receiver::failed),
    ]
}

#[test]
fn a_page_that_is_gone_ends_its_qp() {
    use Status::{LocalAccess, RemoteAccess, RemoteOperate};
    let start = Time::ZERO;
    for (kind, node, ends) in [
        (WorkKind::WRITE, B, [Some(RemoteAccess), None]),
        (WorkKind::WRITE, A, [Some(LocalAccess), None]),
        (WorkKind::READ, B, [Some(RemoteAccess), None]),
        (WorkKind::READ, A, [Some(LocalAccess), None]),
        (WorkKind::SEND, B, [Some(RemoteOperate), Some(LocalAccess)]),
    ] {
        assert_eq!(freed(kind, node, start), ends, "{kind:?} {node:?}");
    }
    // Under way: messages take 900 ns at the line.
    for ns in [5_000, 7_000, 9_000] {
        let at = Time::ZERO + Duration::from_ns(ns);
        assert_eq!(
            freed(WorkKind::WRITE, B, at)[0],
            Some(RemoteAccess),
            "{ns} ns"
        );
    }
}

#[test]
fn a_table_that_is_shorter_than_its_region_is_refused() {
    let mut own = nic(1, &PcieConfig::default(), |_| ());
    let region = Region {
        base: 0,
        length: 8 << 20,
        tag: 1,
        pd: 0,
        local_write: true,
        remote_write: true,
    };
    let size = PageSize::new(ByteCount::new(2 << 20)).unwrap();
    let said = own.register_pages(0, region, size, 4).unwrap_err();
    assert!(said.contains("on chip"), "{said}");
    own.enable_translation(TranslationConfig::default(), Seed(1));
    let said = own.register_pages(0, region, size, 3).unwrap_err();
    assert_eq!(
        said,
        "a page table of 3 entries: the region has 4 pages of 2 MiB"
    );
    assert_eq!(own.register_pages(0, region, size, 4), Ok(1));
    assert!(own.free_pages(0, (8 << 20) - 1, 1));
    assert!(own.deregister(1) && !own.deregister(1), "it is gone");
    assert!(!own.free_pages(0, 0, 1), "and so is its table");
}

/// What was translated for a region is of no use for the next one at its index.
#[test]
fn a_region_that_is_registered_again_is_translated_again() {
    let mut config = flow(0, WorkKind::WRITE, 1_000, None);
    config.working_set = Some(WorkingSet {
        bytes: 1_000_000,
        order: Order::Walk,
        seed: 0,
    });
    let mut nics = one(
        &config,
        Duration::from_ns(250),
        TranslationConfig::default(),
    );
    nics[1].touch(0);
    let mut network = pair(nics, [&[], &[]]);
    network.run_until(us(20), |_| ());
    let misses = |network: &Network<ModelNic>| network.node(B).translation().unwrap().misses;
    assert_eq!(misses(&network), 0);
    network.update(B, |nic| {
        assert!(nic.deregister(0x5A));
        nic.register(0, region(&config));
    });
    network.run_until(us(40), |_| ());
    assert!(misses(&network) > 5);
    good(network.node(B));
}
