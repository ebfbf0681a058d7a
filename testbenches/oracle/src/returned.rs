//! What READs and atomics bring back to the memory of the side that has posted them.

use std::collections::BTreeMap;

use crate::breach::{Breach, Place};
use crate::content::differing;
use crate::message::{Message, Messages};
use crate::packet::Packet;
use crate::region::{Access, Permitted};
use crate::rules;

/// How far what was asked for is in memory.
#[derive(Debug)]
pub struct Returned {
    /// What was read may be written again from its start.
    restart: bool,
    /// The message that is written, and how many of its bytes are.
    message: usize,
    offset: u64,
    /// What has arrived, by the packet.
    arrived: BTreeMap<u64, Vec<u8>>,
}

/// Where a write fits: the message, and its byte.
#[derive(Debug, Clone, Copy)]
pub struct Fit {
    message: usize,
    offset: u64,
}

/// What a message writes to the memory of its own side.
fn bytes(message: &Message) -> u64 {
    match message.work.operation.returns() {
        true => message.work.length.into(),
        false => 0,
    }
}

impl Returned {
    /// Nothing yet. `restart`: under go-back-0.
    pub fn new(restart: bool) -> Self {
        Self {
            restart,
            message: 0,
            offset: 0,
            arrived: BTreeMap::new(),
        }
    }

    /// Notes a response that arrived.
    pub fn arrived(&mut self, number: u64, packet: &Packet) {
        let bytes = match packet.original {
            Some(original) => original.to_le_bytes().to_vec(),
            None => packet.payload.clone(),
        };
        self.arrived.insert(number, bytes);
    }

    fn settle(&mut self, messages: &Messages) {
        while (messages.list().get(self.message)).is_some_and(|it| self.offset == bytes(it)) {
            (self.message, self.offset) = (self.message + 1, 0);
        }
    }

    /// Whether all that a message and those before it bring back is in memory.
    pub fn has(&mut self, message: usize, messages: &Messages) -> bool {
        self.settle(messages);
        self.message > message
    }

    /// Where so many bytes at an address fit.
    pub fn fits(&mut self, va: u64, length: u64, messages: &Messages) -> Option<Fit> {
        self.settle(messages);
        let message = messages.list().get(self.message)?;
        let again = (self.restart && self.offset > 0).then_some(0);
        let mut offsets = [Some(self.offset), again].into_iter().flatten();
        let fits = |offset: &u64| {
            let packet = message.packet_of(*offset, messages.mtu);
            let (start, part) = message.part(packet, messages.mtu);
            message.work.va.wrapping_add(*offset) == va
                && (1..=start + part - offset).contains(&length)
        };
        let offset = offsets.find(fits)?;
        Some(Fit {
            message: self.message,
            offset,
        })
    }

    /// Judges a write that fits.
    pub fn write(
        &mut self,
        place: &Place,
        fit: Fit,
        written: &[u8],
        messages: &Messages,
        regions: Permitted<'_>,
    ) -> Result<(), Breach> {
        let message = &messages.list()[fit.message];
        let work = &message.work;
        let packet = message.packet_of(fit.offset, messages.mtu);
        let (start, _) = message.part(packet, messages.mtu);
        let seen = || format!("{} bytes from {} of {work:?}", written.len(), fit.offset);
        let Some(arrived) = self.arrived.get(&packet) else {
            return place.breaks(
                &rules::MEMORY_ARRIVED,
                format!("{}: no response has", seen()),
            );
        };
        let from = (fit.offset - start) as usize;
        let holds = |at: u64| arrived.get(at as usize).copied().unwrap_or_default();
        let wrong = differing(written, from as u64, &holds);
        place.holds(wrong.is_none(), &rules::MEMORY_VALUE, || {
            format!("{}: {}", seen(), wrong.clone().unwrap_or_default())
        })?;
        let (va, length) = (work.va.wrapping_add(fit.offset), written.len() as u64);
        let access = Access::Local { write: true };
        let permitted = regions.permits(access, work.key, va, length);
        place.holds(permitted, &rules::MEMORY_RIGHT, || {
            format!("{}: no region of key {:#x}", seen(), work.key)
        })?;
        (self.message, self.offset) = (fit.message, fit.offset + length);
        Ok(())
    }
}
