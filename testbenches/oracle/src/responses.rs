//! What a QP answers READs and atomics with, on the wire.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::{Breach, Place};
use crate::content;
use crate::fact::Operation;
use crate::message::{Message, Messages};
use crate::number::wrapped;
use crate::packet::Packet;
use crate::rules;

/// The responses of a direction's receiver, as its frames show them.
#[derive(Debug, Default)]
pub struct Responses {
    /// Packets with which a READ or an atomic was asked for, first or again, and which arrived.
    asked: BTreeSet<u64>,
    /// By the first packet of a request, the response that was sent last.
    last: BTreeMap<u64, u64>,
    /// By the first packet of a request, the packet behind the furthest response that was sent.
    reached: BTreeMap<u64, u64>,
}

impl Responses {
    /// Notes a READ or an atomic that arrived.
    pub fn asked(&mut self, number: u64) {
        self.asked.insert(number);
    }

    /// Whether something of a READ or an atomic from packet `first` on was asked for no later than with this packet.
    pub fn was_asked(&self, first: u64, number: u64) -> bool {
        self.asked.range(first..=number).next().is_some()
    }

    /// The packet behind the responses that were sent in their order: what an acknowledgement may name.
    pub fn before(&self, messages: &Messages) -> u64 {
        let missing = |message: &&Message| {
            let reached = self.reached.get(&message.first);
            message.work.operation.returns() && reached.is_none_or(|end| *end < message.end)
        };
        let first = messages.list().iter().find(missing);
        first.map_or(u64::MAX, |message| message.first)
    }

    /// Judges a response. `could`: all packets before this one have arrived, in order; `memory` is the sender's, as it
    /// is now without what atomics did.
    pub fn sent(
        &mut self,
        place: &Place,
        packet: &Packet,
        number: Option<u64>,
        (messages, could): (&Messages, u64),
        memory: &dyn Fn(u64) -> u8,
    ) -> Result<(), Breach> {
        let seen = || format!("PSN {:#x}, opcode {:#x}", packet.psn, packet.opcode);
        let of = number
            .filter(|number| *number < could)
            .and_then(|number| Some((number, messages.of(number)?)))
            .filter(|(number, message)| {
                message.work.operation.returns() && self.was_asked(message.first, *number)
            });
        let Some((number, message)) = of else {
            return place.breaks(
                &rules::RESPONSE_ASKED,
                format!(
                    "{}: packet {number:?}, before {could} all have arrived",
                    seen()
                ),
            );
        };
        let last = self.last.get(&message.first).copied();
        let (begins, goes_on) = (
            self.asked.contains(&number),
            last.map(|it| it + 1) == Some(number),
        );
        place.holds(begins || goes_on, &rules::RESPONSE_ORDER, || {
            format!(
                "{}: packet {number}, behind {last:?} of {message:?}",
                seen()
            )
        })?;
        let ends = number + 1 == message.end;
        let right: &[(bool, u8)] = match (message.work.operation, ends) {
            (Operation::Read, true) => &[(begins, 0x10), (goes_on, 0x0F)],
            (Operation::Read, false) => &[(begins, 0x0D), (goes_on, 0x0E)],
            _ => &[(true, 0x12)],
        };
        let opcode = right.contains(&(true, packet.opcode));
        place.holds(opcode, &rules::RESPONSE_OPCODE, || {
            format!("{}: packet {number} of {message:?}; it begins an answer: {begins}, goes on: {goes_on}", seen())
        })?;
        if let Some(aeth) = packet.aeth {
            let [least, most] = [message.end, could].map(|end| messages.complete(end) as u64);
            let msn = (least..=most).any(|msn| wrapped(msn) == aeth.msn);
            place.holds(
                msn && aeth.syndrome >> 5 == 0,
                &rules::RESPONSE_HEADERS,
                || {
                    format!(
                        "{}: {aeth:x?}, {least} to {most} messages are complete",
                        seen()
                    )
                },
            )?;
        }
        let index = messages.complete(number);
        let place_of = |offset: u64| message.work.remote_va.wrapping_add(offset);
        if message.work.operation == Operation::Read {
            let (start, length) = message.part(number, messages.mtu);
            let sizes = (packet.payload.len() as u64, packet.pad);
            let pad = (length.wrapping_neg() & 3) as usize;
            place.holds(sizes == (length, pad), &rules::RESPONSE_PAYLOAD, || {
                format!(
                    "{}: payload and pad of {sizes:?} bytes, not {:?}",
                    seen(),
                    (length, pad)
                )
            })?;
            // What comes behind a READ may be carried out before it, but for a fence.
            let wrong = |count: usize| {
                let words = words(messages, count, memory);
                let holds = |va: u64| byte(&words, va).unwrap_or_else(|| memory(va));
                content::differing(&packet.payload, place_of(start), &holds)
            };
            let first = wrong(index);
            let later =
                || (index + 1..=messages.complete(could)).any(|count| wrong(count).is_none());
            place.holds(first.is_none() || later(), &rules::RESPONSE_PAYLOAD, || {
                format!("{}: {}", seen(), first.clone().unwrap_or_default())
            })?;
        } else {
            let before = words(messages, index, memory);
            let va = message.work.remote_va;
            let original = before.get(&va).copied().unwrap_or_else(|| word(va, memory));
            place.holds(
                packet.original == Some(original),
                &rules::ATOMIC_ONCE,
                || {
                    format!(
                        "{}: {:x?}, and those before it have left {original:#x}",
                        seen(),
                        packet.original
                    )
                },
            )?;
        }
        self.last.insert(message.first, number);
        let reached = self.reached.entry(message.first).or_default();
        *reached = (*reached).max(number + 1);
        Ok(())
    }
}

/// The eight bytes at an address, little-endian.
fn word(va: u64, memory: &dyn Fn(u64) -> u8) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| memory(va.wrapping_add(at as u64))))
}

/// What the atomics among the first so many messages have left, by address.
fn words(messages: &Messages, count: usize, memory: &dyn Fn(u64) -> u8) -> BTreeMap<u64, u64> {
    let mut words = BTreeMap::new();
    for message in &messages.list()[..count] {
        let work = &message.work;
        if !work.operation.is_atomic() {
            continue;
        }
        let value = words
            .entry(work.remote_va)
            .or_insert_with(|| word(work.remote_va, memory));
        *value = match work.operation {
            Operation::FetchAdd => value.wrapping_add(work.swap_add),
            _ if *value == work.compare => work.swap_add,
            _ => *value,
        };
    }
    words
}

/// The byte at an address, if an atomic was performed there.
fn byte(words: &BTreeMap<u64, u64>, va: u64) -> Option<u8> {
    let (base, word) = words.range(..=va).next_back()?;
    word.to_le_bytes()
        .get(usize::try_from(va - base).ok()?)
        .copied()
}
