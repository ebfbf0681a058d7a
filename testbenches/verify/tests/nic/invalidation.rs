//! IBTA volume 1, SEND with invalidate: when the receive of the message completes, the R_Key that it carries permits no
//! access any more. A key that cannot be invalidated is an access error.

use crate::fixture::{MTU, SOURCE, Tested};
use xoff_sim::host::memory::content;
use xoff_sim::nic::Region;
use xoff_sim::protocol::gbn::{Completion, Recv, Status, Work, WorkKind};
use xoff_sim::wire::Opcode;
use xoff_verify::property::nic::pair::{REGION, all, qp};

/// Base address of a second region of side 1, away from its first.
const SECOND: u64 = 0x20_0000_0000;

/// A pair whose side 1 has a second region. Returns its key.
fn with_second_region(qps: u16) -> (Tested, u32) {
    let mut pair = Tested::new(|setup| setup.requester.timeout = 0, qps);
    let region = Region {
        base: SECOND,
        length: 1 << 20,
        tag: 0xC3,
        pd: 0,
        local_write: false,
        remote_write: true,
    };
    for (address, word) in region.writes(2) {
        pair.write(1, address, word).unwrap();
    }
    (pair, region.key(2))
}

/// A WRITE of two packets into the second region.
fn write(id: u64, key: u32, offset: u64) -> Work {
    Work {
        kind: WorkKind::WRITE,
        signaled: true,
        length: 2 * MTU,
        local_va: SOURCE + offset,
        remote_va: SECOND + offset,
        remote_key: key,
        id,
        ..Work::default()
    }
}

fn invalidate(id: u64, key: u32, length: u32) -> Work {
    Work {
        kind: WorkKind::SEND_INV,
        signaled: true,
        length,
        local_va: SOURCE + 0x10_0000,
        imm: key,
        id,
        ..Work::default()
    }
}

fn recv(pair: &mut Tested, qp: u16) {
    let buffer = Recv {
        length: 8 * MTU,
        local_va: REGION,
        local_key: pair.key[1],
        id: 9,
    };
    pair.post_recv(1, qp, buffer);
}

/// Ids and statuses of the completions of a QP at a side.
fn told(pair: &Tested, side: usize, qp: u16) -> Vec<(u64, Status)> {
    (pair.completions[side].iter())
        .filter(|(of, _)| *of == qp)
        .map(|(_, told)| (told.id, told.status))
        .collect()
}

/// Whether the second region of side 1 has the bytes of this WRITE, all or none of them.
fn has(pair: &Tested, offset: u64) -> bool {
    let memory = pair.memory(1);
    let bytes = (offset..offset + u64::from(2 * MTU))
        .map(|at| memory.get(&(SECOND + at)) == Some(&content(SOURCE + at)));
    let there = bytes.filter(|there| *there).count() as u32;
    assert!([0, 2 * MTU].contains(&there), "{there} bytes are there");
    there > 0
}

#[test]
fn a_key_permits_what_is_before_its_invalidation_and_nothing_behind() {
    for length in [0, 5, 3 * MTU] {
        let (mut pair, key) = with_second_region(2);
        recv(&mut pair, 0);
        // Without a pause between them, so that the WRITE behind is on its way while the key becomes invalid.
        pair.post(0, 0, write(1, key, 0));
        pair.post(0, 0, invalidate(2, key, length));
        pair.post(0, 0, write(3, key, 0x8000));
        pair.run(10_000, &mut all, |pair| {
            pair.completions[0].len() == 3 && !pair.completions[1].is_empty()
        });
        assert_eq!(
            told(&pair, 0, 0),
            [
                (1, Status::Success),
                (2, Status::Success),
                (3, Status::RemoteAccess)
            ],
            "{length} bytes"
        );
        assert!(has(&pair, 0), "the WRITE before");
        assert!(!has(&pair, 0x8000), "the WRITE behind");
        let operation = match length > MTU {
            true => Opcode::RC_SEND_LAST_INV,
            false => Opcode::RC_SEND_ONLY_INV,
        };
        let received = Completion {
            receive: true,
            status: Status::Success,
            id: 9,
            operation: operation.0,
            length,
            imm: key,
            solicited: false,
        };
        assert_eq!(pair.completions[1], [(0, received)]);
        assert_eq!(received.invalidated(), Some(key));

        // The key is invalid for other QPs too; the first region is still there.
        let other = Work {
            remote_va: REGION + 0x10_0000,
            remote_key: pair.key[1],
            ..write(4, key, 0)
        };
        pair.post(0, 1, other);
        pair.post(0, 1, write(5, key, 0x8000));
        pair.run(10_000, &mut all, |pair| pair.completions[0].len() == 5);
        assert_eq!(
            told(&pair, 0, 1),
            [(4, Status::Success), (5, Status::RemoteAccess)]
        );
        assert!(!has(&pair, 0x8000));
    }
}

#[test]
fn a_region_can_be_registered_again() {
    let (mut pair, key) = with_second_region(1);
    recv(&mut pair, 0);
    pair.post(0, 0, invalidate(1, key, 5));
    pair.run(10_000, &mut all, |pair| !pair.completions[0].is_empty());
    let again = Region {
        base: SECOND,
        length: 1 << 20,
        tag: 0xC4,
        pd: 0,
        local_write: false,
        remote_write: true,
    };
    for (address, word) in again.writes(2) {
        pair.write(1, address, word).unwrap();
    }
    pair.post(0, 0, write(2, again.key(2), 0));
    pair.post(0, 0, write(3, key, 0x8000));
    pair.run(10_000, &mut all, |pair| pair.completions[0].len() == 3);
    assert_eq!(
        told(&pair, 0, 0),
        [
            (1, Status::Success),
            (2, Status::Success),
            (3, Status::RemoteAccess)
        ]
    );
    assert!(has(&pair, 0) && !has(&pair, 0x8000));
}

#[test]
fn a_key_that_names_no_region_is_an_access_error() {
    for length in [0, 5, 3 * MTU] {
        // Another tag, an index that has no region, an index that the table does not have.
        for wrong in [1, 1 << 8, 1 << 20] {
            let (mut pair, key) = with_second_region(2);
            recv(&mut pair, 0);
            pair.post(0, 0, invalidate(1, key ^ wrong, length));
            pair.run(10_000, &mut all, |pair| {
                !pair.completions[0].is_empty() && !pair.completions[1].is_empty()
            });
            let naks: Vec<_> = (pair.frames.iter().filter(|(side, ..)| *side == 1))
                .filter_map(|(_, _, frame)| Some(frame.ext?.aeth?.syndrome.0))
                .filter(|syndrome| *syndrome >= 0x60)
                .collect();
            assert_eq!(naks, [0x62], "{length} bytes, {wrong:#x}");
            assert_eq!(told(&pair, 0, 0), [(1, Status::RemoteAccess)]);
            assert_eq!(told(&pair, 1, 0), [(9, Status::Flushed)]);
            // The region is as it was.
            pair.post(0, 1, write(2, key, 0));
            pair.run(10_000, &mut all, |pair| pair.completions[0].len() == 2);
            assert_eq!(told(&pair, 0, 1), [(2, Status::Success)]);
            assert!(has(&pair, 0));
        }
    }
}

#[test]
fn a_key_is_named_by_all_bits_of_its_tag() {
    let (mut pair, _) = with_second_region(64);
    for tag in 0..=255 {
        let region = Region {
            base: SECOND,
            length: 1 << 20,
            tag,
            pd: 0,
            local_write: false,
            remote_write: true,
        };
        for (address, word) in region.writes(2) {
            pair.write(1, address, word).unwrap();
        }
        pair.completions.iter_mut().for_each(Vec::clear);
        let (right, wrong) = (u16::from(tag % 32), 32 + u16::from(tag % 32));
        recv(&mut pair, wrong);
        let other = region.key(2) ^ 1 << (tag % 8);
        pair.post(0, wrong, invalidate(1, other, 5));
        // Those of the right key come behind it.
        recv(&mut pair, right);
        pair.post(0, right, write(2, region.key(2), 0));
        pair.post(0, right, invalidate(3, region.key(2), 5));
        pair.run(10_000, &mut all, |pair| pair.completions[0].len() == 3);
        assert_eq!(
            told(&pair, 0, wrong),
            [(1, Status::RemoteAccess)],
            "{other:#x} for {:#x}",
            region.key(2)
        );
        assert_eq!(
            told(&pair, 0, right),
            [(2, Status::Success), (3, Status::Success)],
            "tag {tag:#x}"
        );
        // The QPs of wrong keys are in error at both sides.
        if wrong == 63 {
            pair.reopen(&(32..64).collect::<Vec<_>>(), &|side, index| {
                let mut setup = qp(side, index);
                setup.requester.timeout = 0;
                setup
            });
        }
    }
}
