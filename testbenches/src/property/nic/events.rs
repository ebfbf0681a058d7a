//! What can happen to two NICs.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Stalled;
use xoff_sim::protocol::gbn::{RequesterConfig, mtu_bytes};

use crate::property::history::{History, Part};
use xoff_sim::seeded::SplitMix;

/// QPs of each NIC at most.
const QPS_MAX: u64 = 6;

/// What the path does to frames, of a thousand each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Of its draws.
    pub seed: u64,
    /// Lost.
    pub drops: u16,
    /// With one bit wrong somewhere.
    pub flips: u16,
    /// Twice there.
    pub doubles: u16,
    /// Later than those that were sent after it.
    pub late: u16,
    /// Marked CE, of those that may be.
    pub marks: u16,
}

/// What holds for all of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// QPs of each NIC, connected index by index.
    pub qps: u16,
    /// All requesters.
    pub requester: RequesterConfig,
    /// The RNR timer's code.
    pub rnr_timer: u8,
    /// IPv6, else IPv4.
    pub ipv6: bool,
    /// VLAN tags.
    pub tags: u8,
    /// DCQCN is on.
    pub dcqcn: bool,
    /// The QPs' class is lossless.
    pub pfc: bool,
    /// Cycles from a DMA read to its data.
    pub read_delay: u16,
    /// Between the two.
    pub path: Path,
    /// The case runs again with every cycle evaluated, and has to give the same.
    pub twice: bool,
}

/// An event. Those for which there is no room or no QP do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// So many cycles without another event.
    Wait(u32),
    /// A message, and the receive buffer for it if it takes one.
    Post {
        /// From this side.
        side: u8,
        /// Over this QP.
        qp: u16,
        /// `work_e`: SEND or WRITE, with or without immediate data.
        kind: u8,
        /// Bytes.
        length: u32,
        /// Success makes a completion too.
        signaled: bool,
        /// Cycles by which the buffer is posted later than the message.
        buffer_late: u16,
    },
    /// A host stalls.
    Stall {
        /// Which.
        side: u8,
        /// What it does not do.
        what: Stalled,
        /// In so many of 16 cycles.
        of_16: u8,
        /// For so many cycles.
        cycles: u16,
    },
    /// A NIC is told to pause the QPs' class.
    Pause {
        /// Which.
        side: u8,
        /// For so many quanta; 0 ends it.
        quanta: u16,
    },
}

impl Part for Head {}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = *self;
        match &mut simpler {
            Event::Wait(cycles) if *cycles > 0 => *cycles /= 2,
            Event::Post { length, .. } if *length > 0 => *length /= 2,
            Event::Post { buffer_late, .. } if *buffer_late > 0 => *buffer_late /= 2,
            Event::Stall { cycles, .. } if *cycles > 0 => *cycles /= 2,
            Event::Pause { quanta, .. } if *quanta > 0 => *quanta /= 2,
            _ => return vec![],
        }
        vec![simpler]
    }
}

fn requester(draw: &mut SplitMix) -> RequesterConfig {
    RequesterConfig {
        mtu: draw.within(0, 4) as u8,
        // 8 and 16 us: what fails, fails soon.
        timeout: draw.within(1, 2) as u8,
        retry: draw.within(0, 7) as u8,
        nak_retry: draw.once_in(4),
        rnr_retry: draw.one_of(&[0, 1, 6, 7, 7, 7]),
        ack_every: draw.within(0, 8) as u8,
        window: draw.any_length(7) as u32,
        restart: draw.once_in(6),
    }
}

fn path(draw: &mut SplitMix, restarts: bool) -> Path {
    // Go-back-0 needs a message to come whole in one go.
    let cap = if restarts { 20 } else { u64::MAX };
    // Most often one thing is wrong, and seldom all.
    let mut often = |most: u64| match draw.once_in(3) {
        true => draw.any_length(10).min(most).min(cap) as u16,
        false => 0,
    };
    Path {
        drops: often(200),
        flips: often(100),
        doubles: often(200),
        late: often(200),
        marks: often(1000),
        seed: draw.bits(),
    }
}

/// A random history.
pub fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let requester = requester(draw);
    let head = Head {
        qps: draw.within(1, QPS_MAX) as u16,
        requester,
        rnr_timer: draw.within(1, 2) as u8,
        ipv6: draw.once_in(3),
        tags: draw.one_of(&[0, 0, 1, 2]),
        dcqcn: draw.once_in(2),
        pfc: draw.once_in(2),
        read_delay: draw.any_length(9) as u16,
        path: path(draw, requester.restart),
        twice: draw.once_in(8),
    };
    let mtu = mtu_bytes(requester.mtu);
    let longest = if requester.restart { 8 * mtu } else { u32::MAX };
    let mut events = Vec::new();
    for _ in 0..draw.within(1, 40) {
        let side = draw.within(0, 1) as u8;
        events.push(match draw.within(0, 15) {
            0..4 => Event::Wait(draw.any_length(12) as u32),
            4 => Event::Stall {
                side,
                what: match draw.within(0, 3) {
                    0 => Stalled::Reads,
                    1 => Stalled::Data,
                    2 => Stalled::Writes,
                    _ => Stalled::Completions,
                },
                of_16: match draw.once_in(2) {
                    true => 16,
                    false => draw.within(1, 15) as u8,
                },
                cycles: draw.any_length(14) as u16,
            },
            5 => Event::Pause {
                side,
                quanta: match draw.once_in(4) {
                    true => 0,
                    false => draw.any_length(10) as u16,
                },
            },
            _ => Event::Post {
                side,
                qp: draw.within(0, u64::from(head.qps) - 1) as u16,
                kind: draw.one_of(&[0, 1, 3, 4]),
                length: match draw.within(0, 3) {
                    0 => draw.within(0, 5) as u32,
                    // Whole packets, and a byte more or less.
                    1 => (draw.within(1, 4) as u32 * mtu + 1) - draw.within(0, 2) as u32,
                    _ => draw.any_length(14) as u32,
                }
                .min(longest),
                signaled: !draw.once_in(3),
                buffer_late: match draw.once_in(6) {
                    true => draw.any_length(13) as u16,
                    false => 0,
                },
            },
        });
    }
    History { head, events }
}
