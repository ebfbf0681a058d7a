//! Payload that cannot be read: its key is wrong, its region was removed, or the host answers with an error. IBTA volume
//! 1, 10.6.3.1 and 11.6.2: the work request ends with a local protection error, what was posted before it completes,
//! what was posted behind it is flushed. 9.7.5.2.4: a responder that cannot carry out a READ says so in a NAK.

use crate::fixture::{MTU, SOURCE, Tested, opened};
use xoff_network::Endpoint;
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::wire::frame::ParsedFrame;
use xoff_sim::wire::{Opcode, Psn};
use xoff_verify::property::nic::pair::{PERIOD, Pair, PairConfig, QPN_BASE, REGION, all, qp};

/// A region of side 0 of which messages are sent, beside that of all tests.
const OWN: Region = Region {
    base: 0x21_0000_0000,
    length: 1 << 16,
    tag: 0x44,
    pd: 0,
    local_write: false,
    remote_write: false,
};
const INDEX: u16 = 9;

fn without_timers(qps: u16) -> Tested {
    opened(&[], qps, |_, _, setup| setup.requester.timeout = 0)
}

/// The same, where a host answers a DMA read after so many cycles.
fn with_delay(cycles: u64, qps: u16) -> Tested {
    Tested::of(&PairConfig {
        change: &|_, _, setup: &mut QpSettings| setup.requester.timeout = 0,
        qps: &(0..qps).collect::<Vec<_>>(),
        read_delay: PERIOD * cycles,
        ..PairConfig::default()
    })
}

/// A WRITE from an address with a key, to a place of its own.
fn write(pair: &Pair, id: u64, (local_va, local_key): (u64, u32), length: u32) -> Work {
    Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length,
        local_va,
        local_key,
        remote_va: REGION + (id << 20),
        remote_key: pair.key[1],
        id,
        ..Work::default()
    }
}

/// Runs until a QP of side 0 has so many completions. Returns their ids and statuses.
fn ended(pair: &mut Tested, qp: u16, count: usize) -> Vec<(u64, Status)> {
    let of = |pair: &Tested| -> Vec<(u64, Status)> {
        let own = pair.completions[0].iter().filter(|(index, _)| *index == qp);
        own.map(|(_, it)| (it.id, it.status)).collect()
    };
    pair.run(60_000, &mut all, |pair| of(pair).len() == count);
    of(pair)
}

/// Opcodes and PSNs, from the first of the QP on, of what a side sent.
fn sent(pair: &Pair, side: usize) -> Vec<(Opcode, i32)> {
    let own = pair.frames.iter().filter(|(from, ..)| *from == side);
    let headers = own.filter_map(|(.., parsed)| parsed.bth);
    let first = Psn::wrapping(0xFF_FFF0 + side as u32);
    headers
        .map(|bth| (bth.opcode, bth.psn.ahead_of(first)))
        .collect()
}

/// An address lies in a region with all of its 64 bits, also where the region crosses a multiple of 2^48.
#[test]
fn all_bits_of_an_address_count() {
    let crossing = (1 << 48) - 0x8000;
    let upper: u64 = 5 << 48;
    let last = u64::MAX - 0xFFF;
    for (base, length, va, right) in [
        (crossing, 1 << 16, crossing, Status::Success),
        (crossing, 1 << 16, (1 << 48) + 0x7F00, Status::Success),
        (crossing, 1 << 16, (1 << 48) + 0x7F01, Status::LocalAccess),
        (crossing, 1 << 16, crossing - 1, Status::LocalAccess),
        (crossing, 1 << 16, crossing + (1 << 48), Status::LocalAccess),
        (crossing, 1 << 16, 0x7F00, Status::LocalAccess),
        (upper, 1 << 12, upper, Status::Success),
        (upper, 1 << 12, upper - 1, Status::LocalAccess),
        (upper, 1 << 12, upper - (1 << 48), Status::LocalAccess),
        (upper, 1 << 12, upper + (1 << 48), Status::LocalAccess),
        (last, 1 << 12, last, Status::Success),
        (last, 1 << 12, 0, Status::LocalAccess),
    ] {
        let region = Region {
            base,
            length,
            ..OWN
        };
        let mut pair = without_timers(1);
        pair.permit(0, INDEX, &region, Default::default()).unwrap();
        let work = write(&pair, 7, (va, region.key(INDEX)), 0x100);
        pair.post(0, 0, work);
        assert_eq!(ended(&mut pair, 0, 1), [(7, right)], "{va:#x} in {base:#x}");
    }
}

#[test]
fn a_message_needs_a_key_of_its_own_memory() {
    let key = OWN.key(INDEX);
    let inside = OWN.base + OWN.length;
    for (va, key, length, right) in [
        (OWN.base, key, 1 << 16, Status::Success),
        // Without bytes no memory is used.
        (OWN.base, 0x5555_5500, 0, Status::Success),
        (OWN.base, key ^ 1, 100, Status::LocalAccess),
        (OWN.base, key + 0x100, 100, Status::LocalAccess),
        (OWN.base, key + 0x1_0000, 100, Status::LocalAccess),
        (OWN.base - 1, key, 100, Status::LocalAccess),
        (inside - 99, key, 100, Status::LocalAccess),
        (inside - 100, key, 100, Status::Success),
    ] {
        for kind in [WorkKind::WRITE, WorkKind::SEND] {
            let mut pair = without_timers(2);
            pair.permit(0, INDEX, &OWN, Default::default()).unwrap();
            let recv = Recv {
                length,
                local_va: REGION,
                local_key: pair.key[1],
                id: 0,
            };
            pair.post_recv(1, 0, recv);
            let work = Work {
                kind,
                ..write(&pair, 7, (va, key), length)
            };
            pair.post(0, 0, work);
            let other = write(&pair, 8, (SOURCE, 0), 100);
            pair.post(0, 1, other);
            let place = format!("{kind:?} of {length} bytes at {va:#x} with key {key:#x}");
            assert_eq!(ended(&mut pair, 0, 1), [(7, right)], "{place}");
            assert_eq!(ended(&mut pair, 1, 1), [(8, Status::Success)], "{place}");
            pair.rest(10_000, &mut all);
            let refused = u32::from(right != Status::Success);
            assert_eq!(pair.count(0, reg::UNREAD), refused, "{place}");
            if refused > 0 {
                let own = sent(&pair, 0);
                assert_eq!(own.len(), 1, "only the other QP sends: {own:?}, {place}");
            }
            pair.pulses_are_counted();
        }
    }
}

/// The first three packets can be read, the fourth cannot: they are sent, and are not acknowledged. What is posted behind
/// is not sent, what was posted before completes.
#[test]
fn a_message_ends_in_its_inside_and_what_was_before_it_completes() {
    for delay in [10, 400] {
        let mut pair = with_delay(delay, 1);
        let wrong = SOURCE + 0x10_0000;
        let fails = wrong + u64::from(3 * MTU);
        pair.update(0, |host| host.host_mut().forbid_reads(fails, 1));
        for (id, va) in [(1, SOURCE), (2, wrong), (3, SOURCE)] {
            let work = write(&pair, id, (va, 0), 5 * MTU);
            pair.post(0, 0, work);
        }
        let right = [
            (1, Status::Success),
            (2, Status::LocalAccess),
            (3, Status::Flushed),
        ];
        assert_eq!(ended(&mut pair, 0, 3), right);
        pair.rest(10_000, &mut all);
        let psns: Vec<i32> = sent(&pair, 0).into_iter().map(|(_, psn)| psn).collect();
        assert_eq!(
            psns,
            (0..8).collect::<Vec<_>>(),
            "each once, up to the fourth"
        );
        let memory = pair.memory(1);
        let mut expected = std::collections::BTreeMap::new();
        for (id, va, bytes) in [(1, SOURCE, 5 * MTU), (2, wrong, 3 * MTU)] {
            let place = REGION + (id << 20);
            expected.extend((0..u64::from(bytes)).map(|i| (place + i, content(va + i))));
        }
        assert!(memory == expected, "{} bytes", memory.len());
        assert_eq!(pair.count(0, reg::UNREAD), 1);
        pair.pulses_are_counted();
    }
}

/// The peer needs the message before: it is sent again when it is lost, although the QP is about to fail.
#[test]
fn a_loss_before_it_is_repaired_first() {
    let mut pair = Tested::new(|_| {}, 1);
    let wrong = SOURCE + 0x10_0000;
    pair.update(0, |host| {
        host.host_mut().forbid_reads(wrong, u64::from(MTU))
    });
    for (id, va) in [(1, SOURCE), (2, wrong)] {
        let work = write(&pair, id, (va, 0), 2 * MTU);
        pair.post(0, 0, work);
    }
    let mut lost = false;
    let mut lose = |side: usize, bytes: &mut Vec<u8>, parsed: &_| {
        let first = side == 0 && !std::mem::replace(&mut lost, true);
        !first && all(side, bytes, parsed)
    };
    pair.run(60_000, &mut lose, |pair| pair.completions[0].len() == 2);
    let right = [(1, Status::Success), (2, Status::LocalAccess)];
    assert_eq!(ended(&mut pair, 0, 2), right);
    let firsts = sent(&pair, 0).into_iter().filter(|(_, psn)| *psn == 0);
    assert_eq!(firsts.count(), 2, "lost once");
    assert!(sent(&pair, 0).iter().all(|(_, psn)| *psn < 2));
}

/// When the register says that the region is gone, its memory may be another one's.
#[test]
fn nothing_is_read_of_a_region_that_is_gone() {
    let mut pair = with_delay(600, 1);
    pair.permit(0, INDEX, &OWN, Default::default()).unwrap();
    let stalled = pair.now() + 2_000;
    pair.stall(0, Stalled::Reads, 16, stalled);
    for id in 1..4 {
        let work = write(&pair, id, (OWN.base, OWN.key(INDEX)), 8 * MTU);
        pair.post(0, 0, work);
    }
    for _ in 0..300 {
        pair.step(&mut all);
    }
    pair.withdraw(0, &[INDEX]);
    // The register is read again until it is 0.
    while pair.read(0, reg::REGION_BUSY).unwrap() != 0 {
        pair.step(&mut all);
    }
    assert!(pair.now() > stalled, "what is to be read waits");
    let over = pair.now();
    let read = sent(&pair, 0).len();
    pair.update(0, |host| host.host_mut().forbid_reads(OWN.base, OWN.length));
    let ended = ended(&mut pair, 0, 3);
    assert_eq!(ended[2], (3, Status::LocalAccess), "{ended:?}");
    pair.rest(10_000, &mut all);
    let late = sent(&pair, 0).len() - read;
    // What is read is sent, and no more.
    assert!(late < 16, "{late} packets behind cycle {over}");
    // Not a wrong byte, as reads from now on have.
    for (va, byte) in pair.memory(1) {
        let offset = (va - REGION) & 0xF_FFFF;
        assert_eq!(byte, content(OWN.base + offset), "{va:#x}");
    }
}

/// Reads that fail in one QP, again and again, take nothing from another one of the same class.
#[test]
fn another_qp_of_its_class_loses_nothing() {
    let mut pair = without_timers(4);
    let wrong = SOURCE + 0x100_0000;
    pair.update(0, |host| host.host_mut().forbid_reads(wrong, 1 << 20));
    for qp in 0..4 {
        for id in 0..4 {
            let va = if qp == 2 { wrong } else { SOURCE };
            let work = Work {
                remote_va: REGION + (u64::from(qp) << 24) + (id << 20),
                ..write(&pair, id, (va, 0), 8 * MTU)
            };
            pair.post(0, qp, work);
        }
    }
    for qp in [0, 1, 3] {
        let right: Vec<_> = (0..4).map(|id| (id, Status::Success)).collect();
        assert_eq!(ended(&mut pair, qp, 4), right);
    }
    let flushed = |id| (id, Status::Flushed);
    let right = [(0, Status::LocalAccess), flushed(1), flushed(2), flushed(3)];
    assert_eq!(ended(&mut pair, 2, 4), right);
    // The QP is there again.
    pair.update(0, |host| host.host_mut().allow_reads());
    pair.rest(10_000, &mut all);
    pair.reopen(&[2], &|side, index| qp(side, index));
    let again = write(&pair, 9, (wrong, 0), 8 * MTU);
    pair.post(0, 2, again);
    assert_eq!(ended(&mut pair, 2, 5)[4], (9, Status::Success));
}

/// A message that cannot be read waits for the one before it, which is never acknowledged. Others of its class do not.
#[test]
fn a_message_that_waits_to_fail_holds_nobody_up() {
    let mut pair = without_timers(2);
    let wrong = SOURCE + 0x100_0000;
    pair.update(0, |host| host.host_mut().forbid_reads(wrong, 1 << 20));
    for (id, va) in [(0, SOURCE), (1, wrong), (2, SOURCE)] {
        let work = write(&pair, id, (va, 0), 2 * MTU);
        pair.post(0, 0, work);
    }
    let lost = QPN_BASE;
    let mut lose = |side: usize, bytes: &mut Vec<u8>, parsed: &ParsedFrame| {
        let answers = side == 1 && parsed.bth.is_some_and(|bth| bth.dest_qp.get() == lost);
        !answers && all(side, bytes, parsed)
    };
    (0..3_000).for_each(|_| pair.step(&mut lose));
    for id in 3..12 {
        let work = write(&pair, id, (SOURCE, 0), 8 * MTU);
        pair.post(0, 1, work);
    }
    pair.run(20_000, &mut lose, |pair| pair.completions[0].len() == 9);
    assert!(pair.completions[0].iter().all(|(qp, _)| *qp == 1));
}

/// Failures wait while their completions have no room, and none is lost.
#[test]
fn many_failures_at_once_are_all_told() {
    const QPS: u16 = 64;
    let mut pair = without_timers(QPS);
    pair.update(0, |host| host.host_mut().forbid_reads(SOURCE, 1 << 20));
    let until = pair.now() + 20_000;
    pair.stall(0, Stalled::Completions, 16, until);
    for qp in 0..QPS {
        for id in 0..10 {
            let work = write(&pair, id, (SOURCE, 0), 64);
            pair.post(0, qp, work);
        }
    }
    for qp in 0..QPS {
        let found = ended(&mut pair, qp, 10);
        let right = (0..10).map(|id| match id {
            0 => (id, Status::LocalAccess),
            _ => (id, Status::Flushed),
        });
        assert!(found.into_iter().eq(right), "QP {qp}");
    }
    pair.rest(10_000, &mut all);
    assert_eq!(pair.count(0, reg::UNREAD), u32::from(QPS));
    assert!(sent(&pair, 0).is_empty());
}

/// A READ of which the third response cannot be read: those before it come, then a NAK of a responder that cannot go on,
/// in its place, and nothing behind it. The QP of the responder has failed; another one has not.
#[test]
fn a_read_that_cannot_be_carried_out_is_refused_in_its_place() {
    for delay in [10, 400] {
        let mut pair = with_delay(delay, 2);
        let readable = Region {
            base: 0x20_0000_0000,
            length: 1 << 31,
            tag: 0x33,
            pd: 0,
            local_write: false,
            remote_write: false,
        };
        pair.let_read(1, 7, &readable).unwrap();
        let fails = readable.base + u64::from(2 * MTU);
        pair.update(1, |host| host.host_mut().forbid_reads(fails, 1));
        let key = readable.key(7);
        let read = |pair: &Pair, id: u64, va: u64| Work {
            kind: WorkKind::READ,
            signaled: true,
            length: 6 * MTU,
            local_va: REGION + (id << 20),
            local_key: pair.key[0],
            remote_va: va,
            remote_key: key,
            id,
            ..Work::default()
        };
        let far = readable.base + (1 << 20);
        for (qp, id, va) in [(0, 1, far), (0, 2, readable.base), (0, 3, far), (1, 4, far)] {
            let work = read(&pair, id, va);
            pair.post(0, qp, work);
        }
        let behind = write(&pair, 5, (SOURCE, 0), 100);
        pair.post(0, 0, behind);
        let right = [
            (1, Status::Success),
            (2, Status::RemoteOperate),
            (3, Status::Flushed),
            (5, Status::Flushed),
        ];
        assert_eq!(ended(&mut pair, 0, 4), right);
        assert_eq!(ended(&mut pair, 1, 1), [(4, Status::Success)]);
        pair.rest(20_000, &mut all);
        let of_first = |(from, _, parsed): &&(usize, _, ParsedFrame)| {
            let to = parsed.bth.unwrap().dest_qp.get();
            *from == 1 && to == QPN_BASE
        };
        let answers: Vec<_> = pair.frames.iter().filter(of_first).collect();
        let (.., nak) = answers.last().unwrap();
        let aeth = nak.ext.as_ref().unwrap().aeth.unwrap();
        let first = Psn::wrapping(0xFF_FFF0);
        let place = |parsed: &ParsedFrame| parsed.bth.unwrap().psn.ahead_of(first);
        assert_eq!((aeth.syndrome.0, place(nak)), (0x63, 8));
        // The READ before it is one message; 9.7.5.1.7.
        assert_eq!(aeth.msn.get(), 1);
        let places: Vec<i32> = answers.iter().map(|(.., parsed)| place(parsed)).collect();
        assert_eq!(
            places,
            (0..9).collect::<Vec<_>>(),
            "eight responses and the NAK"
        );
        assert_eq!(pair.count(1, reg::UNREAD), 1);
        pair.pulses_are_counted();
    }
}
