//! What a host's counters should say, given the frames at its port.
//!
//! The names are those that Linux drivers give to such counters (`rdma statistic`, `ethtool -S`), as Lumina's
//! checkers use them. Counters that only the host itself can know, such as timeouts, are not included.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_sim::kernel::Direction;
use xoff_sim::wire::{NakCode, Opcode, SyndromeMeaning};

use crate::packet::Packet;

/// An event that both a NIC and an observer of its port can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Frames received with a correct FCS.
    FramesIn,
    /// Frames sent.
    FramesOut,
    /// NAKs for a sequence error received.
    PacketSeqErr,
    /// NAKs for a sequence error sent.
    SeqNaksOut,
    /// RNR NAKs received.
    RnrNakRetryErr,
    /// RNR NAKs sent.
    RnrNaksOut,
    /// Packets received with a wrong ICRC.
    RxIcrcEncapsulated,
    /// CNPs sent.
    NpCnpSent,
    /// Packets received that are marked 'congestion experienced'.
    NpEcnMarkedRocePackets,
    /// CNPs received.
    RpCnpHandled,
    /// PFC and PAUSE frames received.
    RxPause,
    /// PFC and PAUSE frames sent.
    TxPause,
}

/// The counts at a port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<Counter, u64>);

impl Counts {
    /// The value of a counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// Returns the counters whose value in the NIC differs from the frames: the counter, the NIC's value, the frames'
    /// value.
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
