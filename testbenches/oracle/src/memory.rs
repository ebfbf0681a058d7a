//! What is written to the memory of a receiver, byte by byte in the order of messages.

use crate::answers::Answers;
use crate::breach::{Breach, Place};
use crate::content::differing;
use crate::fact::{Buffer, Ps};
use crate::message::{Message, Messages};
use crate::region::{Access, Permitted};
use crate::rules;

/// How far the messages of a direction are written.
#[derive(Debug)]
pub struct Writing {
    /// A message of which not all packets were written may be written again from its start.
    restart: bool,
    /// The message that is written, and how many of its bytes are.
    message: usize,
    offset: u64,
    /// The packet behind the last one of which a byte was written.
    pub reached: u64,
}

/// Where a write fits: the place of a message, and of its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    message: usize,
    offset: u64,
}

/// What a write is judged by.
pub struct Judged<'a> {
    /// The peer's messages.
    pub messages: &'a Messages,
    /// Receive buffers.
    pub buffers: &'a [(Ps, Buffer)],
    /// What arrived.
    pub answers: &'a Answers,
}

impl Judged<'_> {
    /// Where a message goes: address, key, and what the access needs.
    fn target(&self, message: &Message) -> Option<(u64, u32, Access)> {
        let work = &message.work;
        if work.operation.writes() {
            return Some((work.remote_va, work.remote_key, Access::Remote));
        }
        let (_, buffer) = self.buffers.get(message.buffer?)?;
        Some((buffer.va, buffer.key, Access::Local { write: true }))
    }
}

impl Writing {
    /// Nothing yet. `restart`: under go-back-0.
    pub fn new(restart: bool) -> Self {
        Self {
            restart,
            message: 0,
            offset: 0,
            reached: 0,
        }
    }

    /// Goes past messages of which all bytes are written.
    fn settle(&mut self, messages: &Messages) {
        while (messages.list().get(self.message))
            .is_some_and(|message| self.offset == message.carried())
        {
            (self.message, self.offset) = (self.message + 1, 0);
        }
    }

    /// Whether all bytes of a message, and of those before it, are written.
    pub fn has(&mut self, message: usize, messages: &Messages) -> bool {
        self.settle(messages);
        self.message > message
    }

    /// Where so many bytes at an address fit: as what comes next, or as the start of a message that is written again.
    pub fn fits(&mut self, va: u64, bytes: u64, judged: &Judged<'_>) -> Option<Fit> {
        self.settle(judged.messages);
        let message = judged.messages.list().get(self.message)?;
        let (base, ..) = judged.target(message)?;
        let again = self.restart && self.offset > 0 && judged.answers.arrivals(message.first) > 1;
        let mut offsets = [Some(self.offset), again.then_some(0)]
            .into_iter()
            .flatten();
        let fits = |offset: &u64| {
            let packet = message.packet_of(*offset, judged.messages.mtu);
            let (start, length) = message.part(packet, judged.messages.mtu);
            base.wrapping_add(*offset) == va && (1..=start + length - offset).contains(&bytes)
        };
        let offset = offsets.find(fits)?;
        Some(Fit {
            message: self.message,
            offset,
        })
    }

    /// Says which byte differs from the source's.
    pub fn differing(
        fit: Fit,
        bytes: &[u8],
        messages: &Messages,
        source: &dyn Fn(u64) -> u8,
    ) -> Option<String> {
        let work = &messages.list()[fit.message].work;
        let wrong = differing(bytes, work.va.wrapping_add(fit.offset), source)?;
        Some(format!("{wrong}; from byte {} of {work:?}", fit.offset))
    }

    /// Judges a write that fits.
    pub fn write(
        &mut self,
        place: &Place,
        fit: Fit,
        bytes: u64,
        judged: &Judged<'_>,
        regions: Permitted<'_>,
    ) -> Result<(), Breach> {
        let message = &judged.messages.list()[fit.message];
        let packet = message.packet_of(fit.offset, judged.messages.mtu);
        let seen = || {
            format!(
                "{bytes} bytes from {} of packet {packet}, {:?}",
                fit.offset, message.work
            )
        };
        place.holds(
            packet < judged.answers.could,
            &rules::MEMORY_ARRIVED,
            || {
                format!(
                    "{}: the packets before {} have arrived",
                    seen(),
                    judged.answers.could
                )
            },
        )?;
        // Under go-back-0 a copy may have been accepted before the one that was refused.
        let accepted = judged.answers.may_accept(packet)
            || judged.answers.fatal.is_some_and(|refused| {
                self.restart && judged.answers.arrivals(refused) > 1 && packet < message.end
            });
        place.holds(accepted, &rules::MEMORY_REFUSED, || {
            format!("{}: refused was {:?}", seen(), judged.answers.fatal)
        })?;
        if let Some((base, key, access)) = judged.target(message) {
            let permitted = regions.permits(access, key, base.wrapping_add(fit.offset), bytes);
            place.holds(permitted, &rules::MEMORY_RIGHT, || {
                format!("{}: no region of key {key:#x}", seen())
            })?;
        }
        (self.message, self.offset) = (fit.message, fit.offset + bytes);
        self.reached = self.reached.max(packet + 1);
        Ok(())
    }
}
