//! QPs that are closed and opened again under load.

use crate::fixture::{SOURCE, Tested};
use xoff_network::Endpoint;
use xoff_sim::host::Stalled;
use xoff_sim::host::memory::content;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::Psn;
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, all, qp};

/// QPs of a NIC, and those of them that are open.
const QPS: usize = 6;
const OPEN: usize = 4;
/// Path MTU in bytes, and its code.
const MTU: (u32, u8) = (512, 1);
/// Connections that are made, each of which has an OPEN and a CLOSE on both sides: a thousand of each.
const CONNECTIONS: u32 = 500;
/// Messages of a connection in each direction.
const MESSAGES: u64 = 4;
/// Bits of an address in the memory of a connection, and of a message.
const CONNECTION_BITS: u32 = 20;
const MESSAGE_BITS: u32 = 14;
/// Bits of a PSN in a connection.
const PSN_BITS: u32 = 12;
/// Frames that were selected for the wire before a CLOSE may begin until this time after it: two, and the one that is
/// on the wire.
const SELECTED: Duration = Duration::from_ps(3 * 1_106 * 200);

/// A connection: from which QP of the first side to which of the other, and when it was closed on each side.
struct Connection {
    index: [u16; 2],
    closed: [Option<Time>; 2],
}

/// QP indices, PSNs, identifiers, memory and data say to which connection something belongs.
struct Run {
    pair: Tested,
    connections: Vec<Connection>,
    /// By side and QP index: the connection, until its CLOSE has ended.
    owner: [[Option<u32>; QPS]; 2],
    /// By side: completions and writes that are judged. Frames that are judged.
    judged: [(usize, usize); 2],
    frames: usize,
}

impl Run {
    /// Runs a cycle and judges what came of it.
    fn step(&mut self) {
        self.pair.step(&mut all);
        for side in 0..2 {
            let (completions, writes) = self.judged[side];
            for (index, told) in &self.pair.completions[side][completions..] {
                let of = (told.id >> 8) as u32;
                let owner = self.owner[side][usize::from(*index)];
                assert_eq!(
                    owner,
                    Some(of),
                    "side {side}, QP {index}: a completion of connection {of}"
                );
                assert_eq!(told.status, Status::Success, "connection {of}");
            }
            for write in &self.pair.written[side][writes..] {
                let of = ((write.va - REGION) >> CONNECTION_BITS) as u32;
                let owned = self.owner[side].contains(&Some(of));
                assert!(
                    owned,
                    "side {side}: a write of connection {of}, which is closed"
                );
                let source = source(1 - side, of) + (write.va - memory(of));
                let right = (source..)
                    .map(content)
                    .zip(&write.bytes)
                    .all(|(a, b)| a == *b);
                assert!(
                    right,
                    "side {side}, connection {of}: wrong bytes at {:#x}",
                    write.va
                );
            }
            self.judged[side] = (
                self.pair.completions[side].len(),
                self.pair.written[side].len(),
            );
        }
        for (side, sent, frame) in &self.pair.frames[self.frames..] {
            let bth = frame.bth.unwrap();
            let of = bth.psn.get() >> PSN_BITS;
            let Connection { index, closed } = &self.connections[of as usize];
            let late = closed[*side].is_some_and(|closed| sent.start > closed + SELECTED);
            assert!(
                !late,
                "side {side}: a frame of connection {of}, which is closed: {frame:?}"
            );
            let to = QPN_BASE + u32::from(index[1 - side]);
            assert_eq!(
                bth.dest_qp.get(),
                to,
                "side {side}, connection {of}: {frame:?}"
            );
        }
        self.frames = self.pair.frames.len();
    }

    fn steps(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Runs until the driver of a side has carried out its commands.
    fn settle(&mut self, side: usize) {
        let begin = self.pair.now();
        while !self
            .pair
            .update(side, |host| host.driver_mut().registers().idle())
        {
            self.step();
            assert!(
                self.pair.now() < begin + 50_000,
                "a command does not come to an end"
            );
        }
    }

    /// Opens a connection of unused QPs, and posts its messages.
    fn open(&mut self, draw: &mut SplitMix) {
        let number = self.connections.len() as u32;
        let index = [0, 1].map(|side| {
            let unused = (0..QPS).filter(|index| self.owner[side][*index].is_none());
            draw.one_of(&unused.collect::<Vec<_>>()) as u16
        });
        // An answer to a packet of an old connection has the PSN before the first one.
        let psn = |side: u32| Psn::wrapping((number << PSN_BITS | side << (PSN_BITS - 1)) + 16);
        self.connections.push(Connection {
            index,
            closed: [None; 2],
        });
        for side in 0..2 {
            let mut setup = qp(side, index[side]);
            setup.peer_qpn = QPN_BASE + u32::from(index[1 - side]);
            (setup.requester.mtu, setup.responder.mtu) = (MTU.1, MTU.1);
            setup.requester.ack_every = draw.within(0, 4) as u8;
            (setup.requester_psn, setup.responder_psn) = (psn(side as u32), psn(1 - side as u32));
            self.owner[side][usize::from(index[side])] = Some(number);
            self.pair
                .update(side, |host| host.driver_mut().open(index[side], &setup));
        }
        self.settle(0);
        self.settle(1);
        for side in 0..2 {
            let key = self.pair.key[1 - side];
            for message in 0..MESSAGES {
                let id = u64::from(number) << 8 | message;
                let place = message << MESSAGE_BITS;
                let length = draw.within(0, u64::from(4 * MTU.0)) as u32;
                let send = draw.once_in(2);
                if send {
                    let recv = Recv {
                        length,
                        local_va: memory(number) + place,
                        local_key: key,
                        id,
                    };
                    self.pair.post_recv(1 - side, index[1 - side], recv);
                }
                let work = Work {
                    kind: if send {
                        WorkKind::SEND
                    } else {
                        WorkKind::WRITE
                    },
                    signaled: true,
                    length,
                    local_va: source(side, number) + place,
                    remote_va: if send { 0 } else { memory(number) + place },
                    remote_key: key,
                    id,
                    ..Work::default()
                };
                self.pair.post(side, index[side], work);
            }
        }
        // A QP that is closed before its messages are handed over would leave them to the next one.
        let waits = |pair: &Tested| {
            let hosts = [0, 1].map(|side| pair.host(side).host());
            hosts
                .iter()
                .any(|host| host.next_work().is_some() || host.next_recv().is_some())
        };
        while waits(&self.pair) {
            self.step();
        }
    }

    fn close(&mut self, number: u32, draw: &mut SplitMix) {
        let index = self.connections[number as usize].index;
        let begins = usize::from(draw.once_in(2));
        for side in [begins, 1 - begins] {
            // Sometimes in the middle of what the host does not take for a while.
            if draw.once_in(3) {
                let until = self.pair.now() + draw.within(0, 300);
                self.pair.stall(
                    side,
                    draw.one_of(&[Stalled::Writes, Stalled::Completions]),
                    16,
                    until,
                );
            }
            self.steps(draw.any_length(7));
            self.pair
                .update(side, |host| host.driver_mut().close(index[side]));
            self.settle(side);
            self.connections[number as usize].closed[side] = Some(self.pair.time());
            self.owner[side][usize::from(index[side])] = None;
        }
    }
}

/// Where the memory of a connection is, on both sides.
fn memory(connection: u32) -> u64 {
    REGION + (u64::from(connection) << CONNECTION_BITS)
}

/// Where a side's messages of a connection are.
fn source(side: usize, connection: u32) -> u64 {
    SOURCE + (u64::from(connection) << CONNECTION_BITS) + ((side as u64) << (CONNECTION_BITS - 1))
}

/// IBTA volume 1, 10.3 (QP states): what belongs to a QP before it was reset has no effect on the QP after it is
/// opened again: no write, no completion and no frame of an old connection.
#[test]
fn a_qp_made_anew_under_load_has_its_own_packets_only() {
    let mut draw = SplitMix::new(2);
    let mut run = Run {
        pair: Tested::new(|_| {}, 0),
        connections: vec![],
        owner: [[None; QPS]; 2],
        judged: [(0, 0); 2],
        frames: 0,
    };
    run.step();
    let mut open = vec![];
    for number in 0..CONNECTIONS {
        run.open(&mut draw);
        open.push(number);
        if open.len() == OPEN {
            run.steps(draw.any_length(8));
            let which = draw.within(0, OPEN as u64 - 1) as usize;
            let closes = open.swap_remove(which);
            run.close(closes, &mut draw);
        }
    }
    // What is open is whole in the end, whatever was there before.
    run.steps(10_000);
    let mut whole = vec![0; CONNECTIONS as usize];
    for (_, told) in run.pair.completions.iter().flatten() {
        whole[(told.id >> 8) as usize] += u64::from(!told.receive);
    }
    for number in open {
        assert_eq!(whole[number as usize], 2 * MESSAGES, "connection {number}");
        run.close(number, &mut draw);
    }
    let part = whole
        .iter()
        .filter(|messages| (1..2 * MESSAGES).contains(*messages))
        .count();
    let all = whole
        .iter()
        .filter(|messages| **messages == 2 * MESSAGES)
        .count();
    // Packets for a QP that is closed, is being closed, or is another one by then.
    let late = [reg::DROP_QP, reg::NOT_READY_IN, reg::DUPLICATES_IN];
    let old = [0, 1].map(|side| late.map(|register| run.pair.count(side, register)));
    println!(
        "{all} connections whole, {part} in part; {old:?} packets for old ones; {} cycles",
        run.pair.now()
    );
    assert!(all > 50 && part > 50, "closed too late or too early");
    for old in old {
        assert!(
            old[0] > 50 && old[1] > 0 && old[2] > 0,
            "little is under way when a QP is closed"
        );
    }
}
