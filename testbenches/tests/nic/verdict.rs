//! IBTA volume 1, chapter 9: a responder that cannot carry out a request answers it by NAK, remote access error for a
//! WRITE and remote operational error for a receive buffer of its own, and the QP goes into the error state. So no
//! packet is acknowledged that is not written, whenever it turns out that it cannot be.

use std::collections::BTreeSet;

use crate::tested::{MTU, SOURCE, Tested};
use xoff::property::nic::pair::{REGION, REGION_BYTES, all, qp};
use xoff_sim::host::memory::content;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};

/// Number of packets of the WRITE whose region is withdrawn.
const PACKETS: u32 = 4;

/// Posts a WRITE of [`PACKETS`] packets to [`REGION`].
fn write(pair: &mut Tested, kind: WorkKind) {
    let work = Work {
        kind,
        signaled: true,
        length: PACKETS * MTU,
        local_va: SOURCE,
        remote_va: REGION,
        remote_key: pair.key[1],
        ..Work::default()
    };
    pair.post(0, 0, work);
}

fn recv(pair: &Tested, id: u64, va: u64) -> Recv {
    Recv {
        length: PACKETS * MTU,
        local_va: va,
        local_key: pair.key[1],
        id,
    }
}

/// The answers of side 1: how many packets of the message each acknowledges, and its syndrome.
fn answers(pair: &Tested) -> Vec<(u32, u8)> {
    let first = qp(0, 0).requester_psn;
    (pair.frames.iter().filter(|(side, ..)| *side == 1))
        .filter_map(|(_, _, frame)| Some((frame.bth?.psn, frame.ext?.aeth?.syndrome.0)))
        .map(|(psn, syndrome)| {
            let distance = psn.ahead_of(first);
            // A NAK acknowledges what is before it, an ACK also its own packet.
            let acknowledged = distance + i32::from(syndrome < 0x20);
            (u32::try_from(acknowledged).unwrap(), syndrome)
        })
        .collect()
}

/// The number of packets of the message, from the first one on, that are in the memory of side 1 as a whole. Nothing
/// may be there of later ones.
fn written(pair: &Tested, va: u64) -> u32 {
    let memory = pair.memory(1);
    for (at, byte) in &memory {
        assert_eq!(*byte, content(SOURCE + (at - va)), "at {at:#x}");
    }
    let whole = |packet: &u32| {
        let from = u64::from(packet * MTU);
        (from..from + u64::from(MTU)).all(|at| memory.contains_key(&(va + at)))
    };
    let whole = (0..PACKETS).take_while(whole).count() as u32;
    assert_eq!(memory.len() as u32, whole * MTU, "part of a packet");
    whole
}

#[test]
fn a_region_withdrawn_at_any_time_leaves_no_packet_acknowledged_and_unwritten() {
    // Cycles from the post until the region is withdrawn; the WRITE arrives within them.
    let mut outcomes = BTreeSet::new();
    for cycles in (0..20).map(|step| 16 * step).chain(320..620) {
        let mut pair = Tested::new(|setup| setup.requester.timeout = 0, 1);
        pair.write(1, reg::REGION_RIGHTS, 0).unwrap();
        write(&mut pair, WorkKind::WRITE);
        let buffer = recv(&pair, 5, REGION);
        pair.post_recv(1, 0, buffer);
        for _ in 0..cycles {
            pair.step(&mut all);
        }
        pair.write(1, reg::REGION_COMMAND, 1).unwrap();
        pair.run(5_000, &mut all, |pair| !pair.completions[0].is_empty());
        for _ in 0..300 {
            pair.step(&mut all);
        }
        let whole = written(&pair, REGION);
        let status = pair.completions[0][0].1.status;
        outcomes.insert((whole, status as u8));
        for (acknowledged, syndrome) in answers(&pair) {
            assert!(
                acknowledged <= whole,
                "withdrawn after {cycles} cycles: {acknowledged} packets are acknowledged by {syndrome:#x}, \
                 {whole} are written"
            );
        }
        if status == Status::Success {
            assert_eq!(whole, PACKETS);
            continue;
        }
        assert_eq!(status, Status::RemoteAccess, "after {cycles} cycles");
        assert!(whole < PACKETS);
        let naks: Vec<_> = (answers(&pair).into_iter())
            .filter(|(_, syndrome)| *syndrome >= 0x60)
            .collect();
        assert_eq!(naks, [(whole, 0x62)], "after {cycles} cycles");
        // The QP is in the error state: its receive queue is flushed.
        let told: Vec<_> = pair.completions[1]
            .iter()
            .map(|(_, told)| (told.id, told.status))
            .collect();
        assert_eq!(told, [(5, Status::Flushed)]);
    }
    let outcomes: Vec<u32> = outcomes.into_iter().map(|(whole, _)| whole).collect();
    println!("packets written before the region was withdrawn: {outcomes:?}");
    assert_eq!(
        outcomes,
        (0..=PACKETS).collect::<Vec<_>>(),
        "each number of packets should come up"
    );
}

#[test]
fn a_receive_buffer_that_cannot_be_written_is_refused_at_the_packet_that_finds_out() {
    for good in 0..PACKETS {
        let mut pair = Tested::new(|setup| setup.requester.timeout = 0, 1);
        // The region ends in the middle of the packet behind the good ones.
        let va = REGION + REGION_BYTES - u64::from(good * MTU + MTU / 2);
        let buffers = [recv(&pair, 1, va), recv(&pair, 2, REGION)];
        for buffer in buffers {
            pair.post_recv(1, 0, buffer);
        }
        let work = Work {
            kind: WorkKind::SEND,
            signaled: true,
            length: PACKETS * MTU,
            local_va: SOURCE,
            ..Work::default()
        };
        pair.post(0, 0, work);
        pair.run(5_000, &mut all, |pair| {
            !pair.completions[0].is_empty() && pair.completions[1].len() == 2
        });
        assert_eq!(pair.completions[0][0].1.status, Status::RemoteOperate);
        assert_eq!(written(&pair, va), good);
        let answers = answers(&pair);
        assert!(
            answers
                .iter()
                .all(|(acknowledged, _)| *acknowledged <= good)
        );
        assert_eq!(answers.last(), Some(&(good, 0x63)));
        let told: Vec<_> = pair.completions[1]
            .iter()
            .map(|(_, told)| (told.id, told.status, told.length))
            .collect();
        assert_eq!(
            told,
            [(1, Status::LocalAccess, 0), (2, Status::Flushed, 0)],
            "{good} good packets"
        );
        assert_eq!(pair.count(1, reg::NAKS_OUT), 0, "NAKs of sequence");
    }
}

#[test]
fn immediate_data_does_not_tell_of_a_write_that_was_refused() {
    let mut pair = Tested::new(|setup| setup.requester.timeout = 0, 1);
    let buffer = recv(&pair, 1, REGION);
    pair.post_recv(1, 0, buffer);
    // Checked when it arrives, as a whole, and withdrawn while the host holds up the packet before it.
    pair.write(1, reg::REGION_RIGHTS, 0).unwrap();
    write(&mut pair, WorkKind::WRITE_IMM);
    pair.run(2_000, &mut all, |pair| !pair.written[1].is_empty());
    pair.write(1, reg::REGION_COMMAND, 1).unwrap();
    pair.run(5_000, &mut all, |pair| {
        !pair.completions[0].is_empty() && !pair.completions[1].is_empty()
    });
    assert!(written(&pair, REGION) < PACKETS);
    assert_eq!(pair.completions[0][0].1.status, Status::RemoteAccess);
    let told = &pair.completions[1][0].1;
    assert_eq!((told.id, told.status, told.length), (1, Status::Flushed, 0));
}
