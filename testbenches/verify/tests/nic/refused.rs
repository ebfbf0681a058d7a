//! Tests that refused frames are dropped and counted, and that no write goes outside a region.

use crate::fixture::{MTU, SOURCE, Tested, done, good, post};
use crate::standard::packet;
use xoff_sim::host::Stalled;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::protocol::icrc;
use xoff_sim::wire::frame::{IpKind, ParsedFrame};
use xoff_sim::wire::{AethRepr, AtomicAckEthRepr, Ipv4, Opcode, Psn};
use xoff_verify::property::nic::pair::{REGION, all};

#[test]
fn what_is_dropped_is_counted() {
    let mut pair = Tested::new(|_| {}, 1);
    let (_, counts) = post(&mut pair, 0, 0, &[100]);
    let mut frame = vec![];
    let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        if side == 0 && frame.is_empty() {
            frame = bytes.clone();
        }
        true
    };
    pair.run(10_000, &mut wire, |pair| done(pair, counts));
    let before = pair.written[1].len();
    let damaged = |at: usize, bits: u8| {
        let mut bytes = frame.clone();
        bytes[at] ^= bits;
        bytes
    };
    // The changed frame gets a right ICRC and a right checksum.
    let sealed = |at: usize, bits: u8| {
        let mut bytes = damaged(at, bits);
        Ipv4::new_unchecked(&mut bytes[14..]).fill_checksum();
        let end = bytes.len() - 4;
        let right = icrc(IpKind::V4, &bytes[14..end]).unwrap();
        bytes[end..].copy_from_slice(&right);
        bytes
    };
    // Source address at 26 to 29. BTH at 42: QPN 47 to 49, P_Key 44 and 45.
    let mut other = frame.clone();
    other[12] = 0x08;
    other[13] = 0x06;
    // RoCEv1: BTH behind a GRH.
    let mut version1 = frame[..12].to_vec();
    version1.extend([0x89, 0x15, 0x60, 0, 0, 0]);
    version1.extend(((frame.len() - 42) as u16).to_be_bytes());
    version1.extend([0x1B, 64]);
    version1.extend([0; 32]);
    version1.extend(&frame[42..]);
    // Packets of a READ response, and the answer to an atomic operation.
    let response = |opcode: u8| sealed(42, frame[42] ^ opcode);
    let atomic_ack = packet(0, 0, Psn::wrapping(0), |roce| {
        roce.bth.opcode = Opcode::RC_ATOMIC_ACK;
        roce.ext.aeth = Some(AethRepr::default());
        roce.ext.atomic_ack = Some(AtomicAckEthRepr::default());
    });
    for (bytes, counter) in [
        (version1, reg::DROP_ROCE_V1),
        (response(0x0D), reg::DROP_RESPONSE),
        (response(0x0E), reg::DROP_RESPONSE),
        (response(0x0F), reg::DROP_RESPONSE),
        (response(0x10), reg::DROP_RESPONSE),
        (atomic_ack, reg::DROP_RESPONSE),
        (damaged(80, 1), reg::DROP_ICRC),
        (sealed(47, 0x10), reg::DROP_QP),
        (sealed(49, 1), reg::DROP_QP),
        (sealed(45, 1), reg::DROP_PKEY),
        (sealed(29, 1), reg::DROP_QP),
        (sealed(42, 0x20), reg::DROP_SERVICE),
        (damaged(24, 1), reg::DROP_MALFORMED),
        (other, reg::DROP_NOT_ROCE),
    ] {
        let count = pair.count(1, counter);
        let at = pair.time();
        pair.receive(1, at, bytes);
        for _ in 0..100 {
            pair.step(&mut all);
        }
        assert_eq!(pair.count(1, counter), count + 1, "{counter:#x}");
    }
    for _ in 0..100 {
        pair.step(&mut all);
    }
    assert_eq!(pair.written[1].len(), before);
    // Dropped frames left nothing in the receive buffer.
    let (expected, more) = post(&mut pair, 0, 0, &[3 * MTU]);
    pair.written[1].clear();
    pair.run(10_000, &mut all, |pair| {
        done(pair, [counts[0] + more[0], counts[1] + more[1]])
    });
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}

#[test]
fn no_write_leaves_a_region() {
    let past = |key: u32| (key, REGION + (1 << 30) - 10);
    for (what, pick) in [("tag", 0), ("index", 1), ("end", 2), ("begin", 3)] {
        let mut pair = Tested::new(|_| {}, 1);
        let key = pair.key[1];
        let (remote_key, remote_va) = match pick {
            0 => (key ^ 1, REGION),
            1 => (key + 256, REGION),
            2 => past(key),
            _ => (key, REGION - 1),
        };
        let work = Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length: 11,
            local_va: SOURCE,
            remote_va,
            remote_key,
            id: 5,
            ..Work::default()
        };
        pair.post(0, 0, work);
        pair.run(10_000, &mut all, |pair| done(pair, [1, 0]));
        assert_eq!(
            pair.completions[0][0].1.status,
            Status::RemoteAccess,
            "{what}"
        );
        assert_eq!(pair.count(1, reg::ACCESS_IN), 1);
        assert!(pair.written[1].is_empty(), "{what}");
    }
    // A receive buffer.
    let mut pair = Tested::new(|_| {}, 1);
    let local_key = pair.key[1];
    let recv = Recv {
        length: 11,
        local_va: REGION + (1 << 30) - 10,
        local_key,
        id: 9,
    };
    pair.post_recv(1, 0, recv);
    let work = Work {
        signaled: true,
        length: 11,
        local_va: SOURCE,
        ..Work::default()
    };
    pair.post(0, 0, work);
    pair.run(10_000, &mut all, |pair| done(pair, [1, 1]));
    assert_eq!(pair.completions[0][0].1.status, Status::RemoteOperate);
    assert_eq!(pair.completions[1][0].1.status, Status::LocalAccess);
    assert_eq!(pair.count(1, reg::LOCAL_ACCESS), 1);
    assert!(pair.written[1].is_empty());
}

#[test]
fn what_finds_no_room_is_dropped_and_sent_again() {
    // Without PFC, the receive buffer overflows while the host takes no writes.
    let mut pair = Tested::new(|setup| setup.requester.window = 0, 1);
    let (expected, counts) = post(&mut pair, 0, 0, &[200 * MTU]);
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    for _ in 0..9000 {
        pair.step(&mut all);
    }
    assert!(pair.count(1, reg::DROP_FULL) > 0);
    pair.stall(1, Stalled::Writes, 16, 0);
    pair.run(60_000, &mut all, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    pair.pulses_are_counted();
}
