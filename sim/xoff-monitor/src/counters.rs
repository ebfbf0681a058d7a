//! What a host's counters ought to say of the frames at its port.
//!
//! Names are those that Linux' drivers give to such counters (`rdma statistic`, `ethtool -S`), as Lumina's checkers use
//! them. A counter that only the host itself can know, such as timeouts, is not here.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_sim::kernel::Direction;
use xoff_sim::wire::{NakCode, Opcode, SyndromeMeaning};

use crate::packet::Packet;

/// Something that both a NIC and the frames at its port count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Frames with a right FCS that arrived.
    FramesIn,
    /// Frames sent.
    FramesOut,
    /// NAKs for a sequence error that arrived.
    PacketSeqErr,
    /// NAKs for a sequence error sent.
    SeqNaksOut,
    /// RNR NAKs that arrived.
    RnrNakRetryErr,
    /// RNR NAKs sent.
    RnrNaksOut,
    /// Packets with a wrong ICRC that arrived.
    RxIcrcEncapsulated,
    /// CNPs sent.
    NpCnpSent,
    /// Packets marked 'congestion experienced' that arrived.
    NpEcnMarkedRocePackets,
    /// CNPs that arrived.
    RpCnpHandled,
    /// PFC and PAUSE frames that arrived.
    RxPause,
    /// PFC and PAUSE frames sent.
    TxPause,
}

/// What was counted at a port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<Counter, u64>);

impl Counts {
    /// What a counter has.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// Where the NIC's own counters say something else: counter, what the NIC says, what the frames say.
    pub fn differences(&self, nic: &[(Counter, u64)]) -> Vec<(Counter, u64, u64)> {
        nic.iter()
            .map(|(counter, says)| (*counter, *says, self.get(*counter)))
            .filter(|(_, says, seen)| says != seen)
            .collect()
    }

    fn add(&mut self, counter: Counter) {
        *self.0.entry(counter).or_default() += 1;
    }

    pub(crate) fn frame(&mut self, direction: Direction) {
        self.add(match direction {
            Direction::Received => Counter::FramesIn,
            Direction::Sent => Counter::FramesOut,
        });
    }

    pub(crate) fn pause(&mut self, direction: Direction) {
        self.add(match direction {
            Direction::Received => Counter::RxPause,
            Direction::Sent => Counter::TxPause,
        });
    }

    pub(crate) fn bad_icrc(&mut self, direction: Direction) {
        if direction == Direction::Received {
            self.add(Counter::RxIcrcEncapsulated);
        }
    }

    pub(crate) fn packet(&mut self, packet: &Packet, direction: Direction) {
        let received = direction == Direction::Received;
        let side = |counters: [Counter; 2]| counters[usize::from(!received)];
        if packet.bth.opcode == Opcode::CNP {
            self.add(side([Counter::RpCnpHandled, Counter::NpCnpSent]));
        }
        if received && packet.is_marked() {
            self.add(Counter::NpEcnMarkedRocePackets);
        }
        let aeth = packet
            .ext
            .aeth
            .filter(|_| packet.bth.opcode == Opcode::RC_ACK);
        match aeth.map(|aeth| aeth.syndrome.meaning()) {
            Some(SyndromeMeaning::Nak(NakCode::PsnSequenceError)) => {
                self.add(side([Counter::PacketSeqErr, Counter::SeqNaksOut]));
            }
            Some(SyndromeMeaning::RnrNak(_)) => {
                self.add(side([Counter::RnrNakRetryErr, Counter::RnrNaksOut]));
            }
            _ => {}
        }
    }
}
