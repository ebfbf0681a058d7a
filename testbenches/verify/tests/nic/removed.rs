//! IBTA volume 1, memory regions: a key permits access to the region that it names, as long as that is registered. Here
//! a region is removed, and its place in the table is taken by another one, while packets are on their way to it.

use crate::fixture::{MTU, SOURCE, Tested};
use xoff_sim::host::Stalled;
use xoff_sim::nic::Region;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, all, qp};

const QPS: u16 = 32;
/// The QP that is asked last, whether the new region is there.
const LAST: u16 = QPS - 1;
/// Where the region is that is removed, and the one that follows in its place.
const OLD: u64 = 0x20_0000_0000;
const NEW: u64 = 0x30_0000_0000;
const LENGTH: u32 = 64;
/// Cycles before and behind the time at which a packet is written without any of this: both register commands are in
/// between.
const BEFORE: u64 = 80;
const BEHIND: u64 = 10;

fn region(index: u16, base: u64, tag: u8) -> Region {
    Region {
        base: base + (u64::from(index) << 16),
        length: 4_096,
        tag,
        pd: 0,
        local_write: true,
        remote_write: true,
    }
}

fn settings(side: usize, index: u16) -> xoff_sim::nic::QpSettings {
    let mut setup = qp(side, index);
    setup.requester.timeout = 0;
    setup
}

fn pair() -> Tested {
    Tested::of(&PairConfig {
        change: &|side, index, setup| *setup = settings(side, index),
        qps: &(0..QPS).collect::<Vec<_>>(),
        read_delay: PERIOD * 10,
        ..PairConfig::default()
    })
}

/// How a packet names the old region.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Names {
    /// A WRITE to it.
    Write,
    /// A SEND into a buffer that lies in it.
    Send,
    /// A SEND that invalidates its key.
    Invalidate,
}

impl Names {
    /// How it ends when there is no such region.
    fn refused(self) -> Status {
        match self {
            Self::Send => Status::RemoteOperate,
            Self::Write | Self::Invalidate => Status::RemoteAccess,
        }
    }

    fn post(self, pair: &mut Tested, qp: u16, old: &Region, key: u32) {
        let (va, local_key) = match self {
            Self::Send => (old.base, key),
            _ => (REGION, pair.key[1]),
        };
        if self != Self::Write {
            let recv = Recv {
                length: LENGTH,
                local_va: va,
                local_key,
                id: 1,
            };
            pair.post_recv(1, qp, recv);
        }
        let kind = match self {
            Self::Write => WorkKind::WRITE,
            Self::Send => WorkKind::SEND,
            Self::Invalidate => WorkKind::SEND_INV,
        };
        let work = Work {
            kind,
            signaled: true,
            length: LENGTH,
            local_va: SOURCE,
            remote_va: old.base,
            remote_key: key,
            imm: if self == Self::Invalidate { key } else { 0 },
            ..Work::default()
        };
        pair.post(0, qp, work);
    }
}

/// Register writes that remove a region and put another one into its place: what the host may do in the fewest cycles.
/// The window still has the old region.
fn replace(index: u16, old: &Region, new: &Region) -> Vec<(u16, u32)> {
    let rights = |region: &Region, valid: u32| {
        u32::from(region.tag) << reg::REGION_TAG_LOW
            | 1 << reg::REGION_LOCAL_WRITE_LOW
            | 1 << reg::REGION_REMOTE_WRITE_LOW
            | valid << reg::REGION_VALID_LOW
    };
    vec![
        (reg::REGION_RIGHTS, rights(old, 0)),
        (reg::REGION_COMMAND, index.into()),
        (reg::REGION_BASE_HIGH, (new.base >> 32) as u32),
        (reg::REGION_RIGHTS, rights(new, 1)),
        (reg::REGION_COMMAND, index.into()),
    ]
}

/// Sends a packet that names the old region; `after` so many cycles the region is replaced, if at all. Returns how the
/// message ended, and the cycles from its post to its last byte in memory.
fn send(pair: &mut Tested, names: Names, index: u16, after: Option<u64>) -> (Status, Option<u64>) {
    let (old, new) = (region(index, OLD, 7), region(index, NEW, 9));
    let qp = index % LAST;
    for (address, word) in old.writes(index) {
        pair.write(1, address, word).unwrap();
    }
    pair.completions.iter_mut().for_each(Vec::clear);
    pair.written.iter_mut().for_each(Vec::clear);
    names.post(pair, qp, &old, old.key(index));
    let start = pair.now();
    let mut written = None;
    for cycle in 0..2_000 {
        if after == Some(cycle) {
            pair.update(1, |host| {
                for (address, word) in replace(index, &old, &new) {
                    host.driver_mut().registers().write(address.into(), word);
                }
            });
        }
        pair.step(&mut all);
        if written.is_none() && !pair.written[1].is_empty() {
            written = Some(pair.now() - start);
        }
        if !pair.completions[0].is_empty() && after.is_none_or(|after| cycle > after + 100) {
            break;
        }
    }
    let [(_, told)] = &pair.completions[0][..] else {
        panic!("{names:?}, {after:?}: {:?}", pair.completions[0]);
    };
    let status = told.status;
    // Whatever became of the old key, the new one permits what it should.
    if after.is_some() {
        let work = Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length: LENGTH,
            local_va: SOURCE,
            remote_va: new.base,
            remote_key: new.key(index),
            ..Work::default()
        };
        pair.post(0, LAST, work);
        pair.run(2_000, &mut all, |pair| pair.completions[0].len() == 2);
        assert_eq!(
            pair.completions[0][1].1.status,
            Status::Success,
            "{names:?}, {after:?}: the new region"
        );
    }
    if status != Status::Success {
        pair.reopen(&[qp], &settings);
    }
    (status, written)
}

/// The later a region is removed, the more is permitted: there is one time from which on the old key is of use, and what
/// follows in the region's place does not bring it back.
#[test]
fn a_key_of_a_removed_region_permits_nothing_whatever_is_registered_in_its_place() {
    for names in [Names::Write, Names::Send, Names::Invalidate] {
        let mut pair = pair();
        let (status, written) = send(&mut pair, names, 2, None);
        assert_eq!(status, Status::Success);
        let usual = written.unwrap();
        let mut ends = vec![];
        for (index, after) in (3..).zip(usual - BEFORE..usual + BEHIND) {
            let (status, _) = send(&mut pair, names, index, Some(after));
            let to_old = |write: &&xoff_sim::host::Written| write.va < NEW && write.va >= OLD;
            let bytes: usize = (pair.written[1].iter().filter(to_old))
                .map(|write| write.bytes.len())
                .sum();
            let permitted = status == Status::Success;
            assert!(permitted || status == names.refused(), "{status:?}");
            if names != Names::Invalidate {
                let right = if permitted { LENGTH as usize } else { 0 };
                assert_eq!(bytes, right, "{names:?}, replaced after {after} cycles");
            }
            ends.push(permitted);
        }
        let first = ends.iter().position(|permitted| *permitted);
        let first = first.expect("a packet comes before the removal");
        assert!(first > 40, "{first}");
        assert!(
            ends[first..].iter().all(|permitted| *permitted),
            "{names:?}: permitted by phase {ends:?}"
        );
    }
}

/// When the command that removes a region has ended, nothing is written there any more, however long the host takes for
/// what came before.
#[test]
fn when_its_removal_has_ended_a_region_is_not_written_any_more() {
    const PACKETS: u32 = 8;
    let mut pair = pair();
    let old = region(2, OLD, 7);
    let old = Region {
        length: 1 << 20,
        ..old
    };
    for (address, word) in old.writes(2) {
        pair.write(1, address, word).unwrap();
    }
    while pair.read(1, reg::REGION_BUSY).unwrap() != 0 {}
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    let work = Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length: PACKETS * MTU,
        local_va: SOURCE,
        remote_va: old.base,
        remote_key: old.key(2),
        ..Work::default()
    };
    pair.post(0, 0, work);
    for _ in 0..2_000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.count(1, reg::REQUESTS_IN), PACKETS);
    assert!(pair.written[1].is_empty());
    for (address, word) in [(reg::REGION_RIGHTS, 0), (reg::REGION_COMMAND, 2)] {
        pair.write(1, address, word).unwrap();
    }
    for _ in 0..500 {
        pair.step(&mut all);
    }
    assert_eq!(pair.read(1, reg::REGION_BUSY).unwrap(), 1, "packets wait");
    pair.stall(1, Stalled::Writes, 12, u64::MAX);
    let mut reads = 0;
    while pair.read(1, reg::REGION_BUSY).unwrap() != 0 {
        reads += 1;
        assert!(reads < 10_000, "it never ends");
    }
    let written = pair.written[1].len();
    assert_eq!(written, PACKETS as usize, "what was permitted before");
    pair.post(0, 1, Work { id: 2, ..work });
    pair.run(5_000, &mut all, |pair| pair.completions[0].len() == 2);
    assert_eq!(pair.completions[0][1].1.status, Status::RemoteAccess);
    assert_eq!(pair.written[1].len(), written);
    // Without packets it ends at once.
    pair.write(1, reg::REGION_COMMAND, 2).unwrap();
    let reads = [(); 3].map(|()| pair.read(1, reg::REGION_BUSY).unwrap());
    assert_eq!(reads[2], 0, "{reads:?}");
}
