//! The port between the peer outside and the host: fault rules, and what goes to the NIC, what to the communication
//! manager and what to the host's stack.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use xoff_sim::frame::{Frame, FrameBytes};
use xoff_sim::headers::{BthFields, Headers};
use xoff_sim::link::{FaultInjector, FaultRule};
use xoff_sim::mac::is_control;
use xoff_sim::seeded::Seed;
use xoff_sim::time::{LineRate, Time};
use xoff_sim::wire::{EtherType, EthernetRepr, MacAddr, UDP_PORT_ROCE};

use super::cm;

/// The EtherType of ARP (RFC 826).
const ARP: EtherType = EtherType(0x0806);

/// Whom a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// RoCE, and MAC control.
    Nic,
    /// RoCE to QP 1.
    Manager,
    /// ARP and all other IP to the host.
    Stack,
    /// Nobody here.
    Nobody,
}

/// Whom a frame is for at a port with this MAC address.
pub(super) fn addressee(frame: &[u8], mac: MacAddr) -> For {
    let Some(headers) = Headers::at(frame) else {
        return For::Nobody;
    };
    let to_manager = |bth: BthFields| cm::is_for_it(bth.dest_qp) && headers.dst == mac;
    if headers.bth.is_some_and(to_manager) {
        return For::Manager;
    }
    let roce = headers.ports.is_some_and(|(_, port)| port == UDP_PORT_ROCE);
    if is_control(frame) || roce {
        return For::Nic;
    }
    let group = headers.dst.0[0] & 1 != 0;
    let known = [ARP, EtherType::IPV4, EtherType::IPV6];
    match known.contains(&headers.ether_type) && (group || headers.dst == mac) {
        true => For::Stack,
        false => For::Nobody,
    }
}

/// One direction of the port.
#[derive(Debug)]
pub(super) struct Way {
    rate: LineRate,
    faults: FaultInjector,
    line_free: Time,
    /// Frames on their way, by their ends.
    on_the_way: BTreeMap<(Time, u64), Frame>,
    number: u64,
}

impl Way {
    pub fn new(rate: LineRate, rules: Vec<FaultRule>, seed: Seed) -> Self {
        Self {
            rate,
            faults: FaultInjector::new(rules, seed),
            line_free: Time::ZERO,
            on_the_way: BTreeMap::new(),
            number: 0,
        }
    }

    /// Puts a frame on the line at `now`, or behind those before it; padded, as a MAC sends it.
    pub fn enter(&mut self, bytes: Bytes, now: Time) {
        let bytes = FrameBytes::from(bytes);
        let bytes = match bytes.len() {
            EthernetRepr::LEN.. => bytes.padded(),
            _ => bytes,
        };
        let frame = Frame::sent(bytes, now.max(self.line_free), self.rate);
        self.line_free = frame.line_free(self.rate);
        self.pass(frame);
    }

    /// Has the rules see a frame that is on the line already.
    pub fn pass(&mut self, frame: Frame) {
        let (on_the_way, number) = (&mut self.on_the_way, &mut self.number);
        self.faults.pass(frame, |frame| {
            on_the_way.insert((frame.end, *number), frame);
            *number += 1;
        });
    }

    /// When the next frame is at its end.
    pub fn next(&self) -> Option<Time> {
        self.on_the_way.keys().next().map(|(end, _)| *end)
    }

    /// Takes the frames that have passed before a time.
    pub fn take(&mut self, before: Time) -> VecDeque<Frame> {
        let mut taken = VecDeque::new();
        while let Some(entry) = self.on_the_way.first_entry()
            && entry.key().0 < before
        {
            taken.push_back(entry.remove());
        }
        taken
    }

    /// Frames that rules have dropped.
    pub const fn lost(&self) -> u64 {
        self.faults.lost()
    }
}
