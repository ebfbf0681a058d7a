//! IBTA volume 1, chapter 10: a key permits access to the bytes of its region and to no other. Each region of the table
//! is asked for its last byte, for the byte behind it and for the byte before its first.

use crate::every_qp::shuffled;
use crate::fixture::{SOURCE, Tested, good};
use xoff_sim::host::memory::content;
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_verify::property::nic::pair::{PERIOD, PairConfig, REGION, all, qp};

const QPS: usize = xoff_rtl::nic::QPS as usize;
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
    Tested::of(&PairConfig {
        change: &|side, index, setup| *setup = settings(side, index),
        qps: &(0..QPS as u16).collect::<Vec<_>>(),
        read_delay: PERIOD * 10,
        ..PairConfig::default()
    })
}

/// A message to bytes of side 1, as a WRITE or as a SEND into a buffer that lies there, and how it has to end.
struct Message {
    region: u16,
    write: bool,
    va: u64,
    bytes: u32,
    key: u32,
    status: Status,
}

/// Sends messages, each from a QP of its own, all at once. What is permitted has to be written, and nothing else.
fn send(pair: &mut Tested, messages: &[Message], draw: &mut SplitMix) {
    pair.completions.iter_mut().for_each(Vec::clear);
    pair.written.iter_mut().for_each(Vec::clear);
    let qps = shuffled(draw);
    // A message has bytes of its own.
    let source = |place: usize| SOURCE + 0x1_0003 * place as u64;
    for (place, message) in messages.iter().enumerate() {
        let &Message {
            write,
            va,
            bytes,
            key,
            ..
        } = message;
        if !write {
            let recv = Recv {
                length: bytes,
                local_va: va,
                local_key: key,
                id: 1,
            };
            pair.post_recv(1, qps[place], recv);
        }
        let work = Work {
            kind: if write {
                WorkKind::WRITE
            } else {
                WorkKind::SEND
            },
            signaled: true,
            length: bytes,
            local_va: source(place),
            remote_va: va,
            remote_key: key,
            ..Work::default()
        };
        pair.post(0, qps[place], work);
    }
    // A WRITE is acknowledged once it is permitted, while its last beats are on their way.
    pair.rest(100_000, &mut all);
    assert_eq!(pair.completions[0].len(), messages.len());
    for (index, told) in &pair.completions[0] {
        let place = qps.iter().position(|qp| qp == index).unwrap();
        let Message {
            region,
            write,
            va,
            bytes,
            status,
            ..
        } = messages[place];
        assert_eq!(
            told.status, status,
            "region {region}, WRITE: {write}, {bytes} bytes to {va:#x}"
        );
    }
    let mut bytes_written: usize = (pair.written[1].iter())
        .map(|write| write.bytes.len())
        .sum();
    for (place, message) in messages.iter().enumerate() {
        let Message { va, bytes, .. } = *message;
        if message.status == Status::Success {
            let there = va..va + u64::from(bytes);
            let found: Vec<u8> = (pair.written[1].iter())
                .filter(|write| there.contains(&write.va))
                .flat_map(|write| write.bytes.iter().copied())
                .collect();
            let right = (source(place)..).take(bytes as usize).map(content);
            assert!(right.eq(found), "{bytes} bytes to {va:#x}");
            bytes_written -= bytes as usize;
        }
    }
    assert_eq!(bytes_written, 0, "more was written than was permitted");
    let failed: Vec<_> = (qps.iter().zip(messages))
        .filter(|(_, message)| message.status != Status::Success)
        .map(|(qp, _)| *qp)
        .collect();
    pair.reopen(&failed, &settings);
}

/// Invalidates keys of side 1 by empty SENDs, each of a QP of its own.
fn invalidate(pair: &mut Tested, keys: &[u32], draw: &mut SplitMix) {
    pair.completions.iter_mut().for_each(Vec::clear);
    for (key, index) in keys.iter().zip(shuffled(draw)) {
        pair.post_recv(1, index, Recv::default());
        let work = Work {
            kind: WorkKind::SEND_INV,
            signaled: true,
            imm: *key,
            ..Work::default()
        };
        pair.post(0, index, work);
    }
    pair.run(20_000, &mut all, |pair| {
        pair.completions[0].len() == keys.len()
    });
    good(pair);
}

/// The regions of the next test.
fn region(index: u16) -> Region {
    Region {
        base: REGION + 0x1_0000 * u64::from(index),
        length: 64,
        tag: 7,
        pd: 0,
        local_write: true,
        remote_write: true,
    }
}

/// Gives a region, or withdraws it by the host.
fn set(pair: &mut Tested, index: u16, gives: bool) {
    let writes = match gives {
        true => region(index).writes(index),
        false => vec![(reg::REGION_RIGHTS, 0), (reg::REGION_COMMAND, index.into())],
    };
    for (address, word) in writes {
        pair.write(1, address, word).unwrap();
    }
}

/// Sends a message to each region, by a WRITE or by a SEND into a buffer there; another one in each round.
fn ask(pair: &mut Tested, given: &[bool], order: &[u16], round: u16, draw: &mut SplitMix) {
    for some in order.chunks(QPS) {
        let message = |&index: &u16| {
            let write = ((index + round) / 2).is_multiple_of(2);
            Message {
                region: index,
                write,
                va: region(index).base,
                bytes: 8,
                key: region(index).key(index),
                status: match (given[usize::from(index)], write) {
                    (true, _) => Status::Success,
                    (false, true) => Status::RemoteAccess,
                    (false, false) => Status::RemoteOperate,
                },
            }
        };
        let messages: Vec<_> = some.iter().map(message).collect();
        send(pair, &messages, draw);
    }
}

/// IBTA volume 1, memory regions: a region that is withdrawn, by its host or by a SEND with invalidate, permits nothing
/// more, and the others are as before.
#[test]
fn a_region_is_withdrawn_and_given_by_itself() {
    let mut pair = pair();
    let mut draw = SplitMix::new(2);
    let mut given = vec![false; usize::from(REGION_COUNT)];
    let mut order: Vec<_> = (0..REGION_COUNT).collect();
    // Every region is withdrawn twice, and at least once by a SEND.
    for round in 0..5_u16 {
        order.sort_by_cached_key(|_| draw.bits());
        for some in order.chunks(QPS) {
            let mut keys = vec![];
            for &index in some {
                let gives = (index + round).is_multiple_of(2);
                let before = std::mem::replace(&mut given[usize::from(index)], gives);
                if before && !gives && !(index / 2 + round).is_multiple_of(4) {
                    keys.push(region(index).key(index));
                } else {
                    set(&mut pair, index, gives);
                }
            }
            invalidate(&mut pair, &keys, &mut draw);
        }
        ask(&mut pair, &given, &order, round, &mut draw);
    }
    // What the host does last to one is done to no other.
    for gives in [false, true] {
        set(&mut pair, 0, gives);
        given[0] = gives;
        ask(&mut pair, &given, &order, 5, &mut draw);
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
                pd: 0,
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
    for some in regions.chunks(QPS) {
        // By what is asked, the message of each region.
        let mut messages: [Vec<Message>; 4] = Default::default();
        for (index, region) in some {
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
            let asked = [
                (end - u64::from(bytes), bytes, Status::Success),
                (region.base, bytes, Status::Success),
                (end - u64::from(bytes), bytes + 1, refused),
                (region.base - 1, bytes, refused),
            ];
            for (messages, (va, bytes, status)) in messages.iter_mut().zip(asked) {
                if bytes <= MTU.0 {
                    messages.push(Message {
                        region: *index,
                        write,
                        va,
                        bytes,
                        key: region.key(*index),
                        status,
                    });
                }
            }
        }
        for messages in &messages {
            send(&mut pair, messages, &mut draw);
        }
    }
}
