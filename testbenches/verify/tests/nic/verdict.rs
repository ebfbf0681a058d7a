//! IBTA volume 1, chapter 9: a responder that cannot carry out a request answers it by NAK, remote access error for a
//! WRITE and remote operational error for a receive buffer of its own, and the QP goes into the error state. So no
//! packet is acknowledged that is not written, whenever it turns out that it cannot be.

use std::collections::BTreeSet;

use crate::fixture::{MTU, SOURCE, Tested};
use xoff_network::Endpoint;
use xoff_sim::frame::Frame;
use xoff_sim::host::memory::content;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::wire::Psn;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_verify::property::nic::pair::{REGION, REGION_BYTES, REGIONS, all, qp};

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

/// The answers of side 1 to a message whose first PSN is this: how many packets of the message each acknowledges, and
/// its syndrome.
fn answers(frames: &[(usize, Frame, ParsedFrame)], first: Psn) -> Vec<(u32, u8)> {
    (frames.iter().filter(|(side, ..)| *side == 1))
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
    let mut pair = Tested::new(|_| {}, 0);
    // Cycles from the post until the region is withdrawn. The WRITE is written from cycle 341 to 520.
    let mut outcomes = BTreeSet::new();
    for cycles in (0..10).map(|step| 32 * step).chain(320..540) {
        // A QP and a region that are new each time.
        pair.reopen(&[0], &|side, index| {
            let mut setup = qp(side, index);
            setup.requester.timeout = 0;
            setup
        });
        let (index, region) = REGIONS[0];
        let gives = region.writes(index);
        for (address, word) in gives.into_iter().chain([(reg::REGION_RIGHTS, 0)]) {
            pair.write(1, address, word).unwrap();
        }
        pair.frames.clear();
        pair.completions.iter_mut().for_each(Vec::clear);
        pair.written[1].clear();
        write(&mut pair, WorkKind::WRITE);
        let buffer = recv(&pair, 5, REGION);
        pair.post_recv(1, 0, buffer);
        for _ in 0..cycles {
            pair.step(&mut all);
        }
        pair.write(1, reg::REGION_COMMAND, 1).unwrap();
        pair.rest(5_000, &mut all);
        assert_eq!(pair.completions[0].len(), 1, "after {cycles} cycles");
        let whole = written(&pair, REGION);
        let status = pair.completions[0][0].1.status;
        outcomes.insert((whole, status as u8));
        for (acknowledged, syndrome) in answers(&pair.frames, qp(0, 0).requester_psn) {
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
        let naks: Vec<_> = (answers(&pair.frames, qp(0, 0).requester_psn).into_iter())
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
        let answers = answers(&pair.frames, qp(0, 0).requester_psn);
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

/// Connections of QP 0, one after the other, on a pair that lives as long.
struct Anew {
    pair: Tested,
    round: u32,
}

impl Anew {
    /// Closes and opens the QP of a side for the present round, while frames go on.
    fn settle(&mut self, side: usize) {
        let begin = self.pair.now();
        while !self
            .pair
            .update(side, |host| host.driver_mut().registers().idle())
        {
            self.pair.step(&mut all);
            assert!(
                self.pair.now() < begin + 10_000,
                "a command does not come to an end"
            );
        }
    }

    fn open(&mut self) {
        for side in 0..2 {
            let mut setup = qp(side, 0);
            setup.requester.timeout = 0;
            let psn = |side: u32| Psn::wrapping(self.round * 0x1000 + side * 0x800);
            (setup.requester_psn, setup.responder_psn) = (psn(side as u32), psn(1 - side as u32));
            self.pair
                .update(side, |host| host.driver_mut().open(0, &setup));
            self.settle(side);
        }
        self.pair.completions = [vec![], vec![]];
        self.pair.written = [vec![], vec![]];
        self.pair.frames.clear();
    }

    /// Posts a SEND and a buffer for it.
    fn send(&mut self, va: u64) {
        let buffer = recv(&self.pair, self.round.into(), va);
        self.pair.post_recv(1, 0, buffer);
        let work = Work {
            kind: WorkKind::SEND,
            signaled: true,
            length: PACKETS * MTU,
            local_va: SOURCE,
            id: self.round.into(),
            ..Work::default()
        };
        self.pair.post(0, 0, work);
    }

    fn refused(&self) -> u64 {
        self.pair.host(1).counters().get(reg::LOCAL_ACCESS)
    }
}

/// IBTA volume 1, QP states: an error of a QP ends with its reset. What a refusal leaves behind in the NIC ends with
/// CLOSE, in whichever cycle before, at or after the refusal it comes.
#[test]
fn a_refusal_is_forgotten_with_its_qp() {
    let mut anew = Anew {
        pair: Tested::new(|setup| setup.requester.timeout = 0, 1),
        round: 0,
    };
    // The region ends in the middle of the second packet.
    let bad = REGION + REGION_BYTES - u64::from(MTU + MTU / 2);
    // How long it takes until the refusal, and how long a CLOSE takes.
    anew.open();
    anew.send(bad);
    let begin = anew.pair.now();
    anew.pair.run(2_000, &mut all, |pair| {
        pair.host(1).counters().get(reg::LOCAL_ACCESS) > 0
    });
    let refusal = anew.pair.now() - begin;
    let begin = anew.pair.now();
    anew.pair.close(1, 0).unwrap();
    let close = anew.pair.now() - begin;
    let mut outcomes = BTreeSet::new();
    for cycles in refusal - close - 5..refusal + 20 {
        anew.round += 1;
        anew.open();
        let refused = anew.refused();
        anew.send(bad);
        for _ in 0..cycles {
            anew.pair.step(&mut all);
        }
        anew.pair.update(1, |host| host.driver_mut().close(0));
        anew.settle(1);
        let refused = anew.refused() - refused;
        for _ in 0..200 {
            anew.pair.step(&mut all);
        }
        let naks = answers(&anew.pair.frames, Psn::wrapping(anew.round * 0x1000))
            .iter()
            .filter(|(_, syndrome)| *syndrome >= 0x60)
            .count();
        outcomes.insert((refused > 0, naks));
        // The QP is as good as new.
        anew.round += 1;
        anew.open();
        anew.send(REGION);
        anew.pair.run(3_000, &mut all, |pair| {
            !pair.completions[0].is_empty() && !pair.completions[1].is_empty()
        });
        for side in 0..2 {
            let told: Vec<_> = (anew.pair.completions[side].iter())
                .map(|(_, told)| (told.id, told.status))
                .collect();
            let right = (anew.round.into(), Status::Success);
            assert_eq!(
                told,
                [right],
                "closed {cycles} cycles after the post, refused after {refusal}, side {side}"
            );
        }
        assert_eq!(written(&anew.pair, REGION), PACKETS);
    }
    println!(
        "refused after {refusal} cycles, a CLOSE takes {close}: refused and NAKs {outcomes:?}"
    );
    // Closed before the refusal, between it and its answer, and behind that.
    assert_eq!(outcomes, BTreeSet::from([(false, 0), (true, 0), (true, 1)]));
}
