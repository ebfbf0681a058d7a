//! Work requests and receive buffers that a test posts itself, and their results.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::protocol::gbn::{Completion, Recv, Work};
use crate::seeded::Draws;
use crate::time::Cycles;

/// The payload of one packet in the host's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Address of the first byte.
    pub va: u64,
    /// Key; 0 from a model NIC, which names none.
    pub key: u32,
    /// Whether the key is the peer's, as for a WRITE, as opposed to a receive buffer's; `false` from a model NIC.
    pub remote: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// State of a host without flows: see [`Host::manual`](super::Host::manual).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Manual {
    pub work: VecDeque<(Cycles, u16, Work)>,
    pub recv: VecDeque<(Cycles, u16, Recv)>,
    /// Memory that may be read, as given by posted work requests, and by regions for a peer's READs: first address,
    /// bytes, key.
    pub readable: Vec<(u64, u64, u32)>,
    pub completions: Vec<(u16, Completion)>,
    pub written: Vec<Written>,
    /// Payload of the packet that is being written, beat by beat.
    pub packet: Vec<u8>,
    /// Draws which of the due reads is answered next.
    pub order: Draws,
}

impl Manual {
    pub fn new(order: Draws) -> Self {
        Self {
            work: VecDeque::new(),
            recv: VecDeque::new(),
            readable: Vec::new(),
            completions: Vec::new(),
            written: Vec::new(),
            packet: Vec::new(),
            order,
        }
    }

    /// Whether a posted work request, or a region for READs, covers a read with this key.
    pub fn covers(&self, va: u64, bytes: usize, key: u32) -> bool {
        self.readable.iter().any(|&(base, length, own)| {
            let offset = va.wrapping_sub(base);
            own == key && offset <= length && length - offset >= bytes as u64
        })
    }

    /// When the next post is at the NIC's pins.
    pub fn next_event(&self) -> Option<Cycles> {
        let work = self.work.front().map(|(at, ..)| *at);
        let recv = self.recv.front().map(|(at, ..)| *at);
        work.into_iter().chain(recv).min()
    }
}

/// Inserts a post in the order of cycles, after those of the same cycle.
pub(super) fn sort_in<T>(queue: &mut VecDeque<(Cycles, u16, T)>, post: (Cycles, u16, T)) {
    let place = queue.partition_point(|(at, ..)| *at <= post.0);
    queue.insert(place, post);
}
