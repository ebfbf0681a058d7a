//! IBTA volume 1, chapter 10: a key permits access to the bytes of its region and to no other. Each region of the table
//! is asked for its last byte, for the byte behind it and for the byte before its first.

use crate::tested::{SOURCE, Tested, judged};
use xoff::property::nic::pair::{PERIOD, Pair, PairConfig, REGION, REGIONS, all, qp};
use xoff_sim::host::memory::content;
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::Cycles;

/// Regions of a NIC.
const REGION_COUNT: u16 = 256;
/// Path MTU in bytes, and its code.
const MTU: (u32, u8) = (4_096, 4);

/// A QP whose timer does not run.
fn settings(side: usize, index: u16) -> QpSettings {
    let mut setup = qp(side, index);
    setup.requester.timeout = 0;
    (setup.requester.mtu, setup.responder.mtu) = (MTU.1, MTU.1);
    setup
}

/// A pair with all QPs.
fn pair() -> Tested {
    let pair = judged(|| {
        Pair::of(&PairConfig {
            seed: 1,
            settings: None,
            regions: REGIONS,
            change: &|side, index, setup| *setup = settings(side, index),
            qps: &(0..xoff_rtl::nic::QPS as u16).collect::<Vec<_>>(),
            read_delay: PERIOD * 10,
            times: [Cycles(0); 2],
            record: false,
        })
    });
    Tested(pair.unwrap())
}

/// A message to these bytes of side 1, as a WRITE or as a SEND into a buffer that lies there. Returns how it ended.
fn message(pair: &mut Tested, index: u16, write: bool, va: u64, bytes: u32, key: u32) -> Status {
    pair.completions.iter_mut().for_each(Vec::clear);
    pair.written.iter_mut().for_each(Vec::clear);
    if !write {
        let recv = Recv {
            length: bytes,
            local_va: va,
            local_key: key,
            id: 1,
        };
        pair.post_recv(1, index, recv);
    }
    let work = Work {
        kind: if write {
            WorkKind::WRITE
        } else {
            WorkKind::SEND
        },
        signaled: true,
        length: bytes,
        local_va: SOURCE,
        remote_va: va,
        remote_key: key,
        ..Work::default()
    };
    pair.post(0, index, work);
    pair.run(20_000, &mut all, |pair| !pair.completions[0].is_empty());
    // A WRITE is acknowledged once it is permitted, while its last beats are on their way.
    for _ in 0..200 {
        pair.step(&mut all);
    }
    let status = pair.completions[0][0].1.status;
    let memory = pair.memory(1);
    if status == Status::Success {
        let right =
            (0..u64::from(bytes)).all(|at| memory.get(&(va + at)) == Some(&content(SOURCE + at)));
        assert!(
            right && memory.len() as u32 == bytes,
            "{bytes} bytes to {va:#x}"
        );
    } else {
        assert!(
            memory.is_empty(),
            "{bytes} bytes to {va:#x} were refused and written"
        );
        for side in 0..2 {
            pair.open(side, index, &settings(side, index)).unwrap();
        }
    }
    status
}

/// An empty SEND with invalidate of a key of side 1.
fn invalidate(pair: &mut Tested, index: u16, key: u32) {
    pair.completions.iter_mut().for_each(Vec::clear);
    pair.post_recv(1, index, Recv::default());
    let work = Work {
        kind: WorkKind::SEND_INV,
        signaled: true,
        imm: key,
        ..Work::default()
    };
    pair.post(0, index, work);
    pair.run(20_000, &mut all, |pair| !pair.completions[0].is_empty());
    assert_eq!(pair.completions[0][0].1.status, Status::Success, "{key:#x}");
}

/// IBTA volume 1, memory regions: a region that is withdrawn, by its host or by a SEND with invalidate, permits nothing
/// more, and the others are as before.
#[test]
fn a_region_is_withdrawn_and_given_by_itself() {
    let mut pair = pair();
    let mut draw = SplitMix::new(2);
    let mut given = vec![false; usize::from(REGION_COUNT)];
    // Every region is withdrawn twice, and at least once by a SEND.
    for round in 0..5_u16 {
        let mut order: Vec<_> = (0..REGION_COUNT).collect();
        order.sort_by_cached_key(|_| draw.bits());
        let region = |index: u16| Region {
            base: REGION + 0x1_0000 * u64::from(index),
            length: 64,
            tag: 7,
            local_write: true,
            remote_write: true,
        };
        for index in order {
            let gives = (index + round).is_multiple_of(2);
            let before = std::mem::replace(&mut given[usize::from(index)], gives);
            if before && !gives && !(index / 2 + round).is_multiple_of(4) {
                invalidate(&mut pair, index % 64, region(index).key(index));
            } else if gives {
                for (address, word) in region(index).writes(index) {
                    pair.write(1, address, word).unwrap();
                }
            } else {
                pair.write(1, reg::REGION_RIGHTS, 0).unwrap();
                pair.write(1, reg::REGION_COMMAND, index.into()).unwrap();
            }
        }
        for (index, gives) in (0..).zip(given.clone()) {
            let (at, key) = (region(index).base, region(index).key(index));
            // By a WRITE, or by a SEND into a buffer there.
            for write in [true, false] {
                let found = message(&mut pair, index % 64, write, at, 8, key);
                let right = match (gives, write) {
                    (true, _) => Status::Success,
                    (false, true) => Status::RemoteAccess,
                    (false, false) => Status::RemoteOperate,
                };
                assert_eq!(found, right, "region {index}, WRITE: {write}");
            }
        }
    }
}

#[test]
fn each_region_permits_all_of_its_bytes_and_no_other() {
    let mut pair = pair();
    let mut draw = SplitMix::new(1);
    let regions: Vec<(u16, Region)> = (0..REGION_COUNT)
        .map(|index| {
            let length = (1 + draw.bits() % u64::from(MTU.0)) << (draw.bits() % 22);
            let region = Region {
                base: (1 << 16) + (draw.bits() >> (1 + draw.bits() % 30)),
                length,
                tag: draw.bits() as u8,
                local_write: true,
                remote_write: true,
            };
            (index, region)
        })
        .collect();
    for (index, region) in &regions {
        for (address, word) in region.writes(*index) {
            pair.write(1, address, word).unwrap();
        }
    }
    for (index, region) in &regions {
        let qp = (draw.bits() % 64) as u16;
        let key = region.key(*index);
        let end = region.base + region.length;
        let most = region.length.min(u64::from(MTU.0));
        let bytes = match draw.bits() % 3 {
            // One byte more is a whole packet.
            0 => most.min(u64::from(MTU.0 - 1)),
            _ => 1 + draw.bits() % most,
        } as u32;
        let write = index % 2 == 0;
        let refused = match write {
            true => Status::RemoteAccess,
            false => Status::RemoteOperate,
        };
        for (va, bytes, status) in [
            (end - u64::from(bytes), bytes, Status::Success),
            (region.base, bytes, Status::Success),
            (end - u64::from(bytes), bytes + 1, refused),
            (region.base - 1, bytes, refused),
        ] {
            if bytes <= MTU.0 {
                let found = message(&mut pair, qp, write, va, bytes, key);
                assert_eq!(
                    found, status,
                    "region {index}: {bytes} bytes to {va:#x} of {region:x?}"
                );
            }
        }
    }
}
