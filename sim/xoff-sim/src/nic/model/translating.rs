//! Translation in the model: packets that wait for it, in the receive buffer and in the slots, and what becomes of
//! those whose memory is gone.

use serde::{Deserialize, Serialize};

use super::ModelNic;
use super::buffer::Received;
use super::reads::Read;
use super::slots::Granted;
use crate::host::Host;
use crate::nic::Region;
use crate::nic::translation::{PageSize, Translation, TranslationConfig, TranslationCounters};
use crate::nic_registers as reg;
use crate::protocol::gbn::responder::answered::Asked;
use crate::protocol::gbn::{Place, Refusal, RequesterEvent, ResponderEvent};
use crate::seeded::Seed;
use crate::time::Cycles;

/// What the model keeps for translation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Translating {
    pub(super) unit: Translation,
    /// Whether a page of the packet is gone that takes its step now.
    pub(super) gone: bool,
}

/// The read of a page table's entry over the bus: the cycle in which it comes.
fn over_the_bus(host: &mut Host) -> impl FnMut(u64) -> u64 {
    |now| host.read_entry(Cycles(now)).0
}

/// Why payload cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its region or its page is gone. A peer's READ is refused, as it would be now.
    Gone,
    /// The host answers with an error. A peer's READ cannot be carried out.
    Failed,
}

impl ModelNic {
    /// Has the NIC translate addresses by page tables in the host's memory, with a cache of their entries. Regions have
    /// tables from then on, so it is for NICs without regions. Lengths of misses are drawn from `seed`.
    ///
    /// # Panics
    ///
    /// When the settings do not pass their [check](TranslationConfig::check).
    pub fn enable_translation(&mut self, config: TranslationConfig, seed: Seed) {
        let unit = Translation::new(config, &self.config.clock, seed);
        self.slots.reads.let_classes_pass();
        self.translation = Some(Box::new(Translating { unit, gone: false }));
    }

    /// What translation has counted, if the NIC translates.
    pub fn translation(&self) -> Option<&TranslationCounters> {
        Some(self.translation.as_ref()?.unit.counters())
    }

    /// Writes the page table of a region that is registered.
    pub(super) fn map(&mut self, index: u16, region: &Region) {
        if let Some(translation) = &mut self.translation {
            let unit = &mut translation.unit;
            unit.map(index, unit.table(region, unit.page(index)));
            self.buffer.look_again();
        }
    }

    /// Registers a region as [`register`](Self::register) does, whose driver has written a page table of `entries`
    /// entries for pages of this size. Returns its key.
    ///
    /// # Errors
    ///
    /// A table that is shorter than the region, or a NIC that does not translate.
    pub fn register_pages(
        &mut self,
        index: u16,
        region: Region,
        size: PageSize,
        entries: u64,
    ) -> Result<u32, String> {
        let Some(translation) = &mut self.translation else {
            return Err("a page table: the NIC has all translations on chip".into());
        };
        let unit = &mut translation.unit;
        let table = unit.table(&region, size).of_entries(entries)?;
        unit.map(index, table);
        self.buffer.look_again();
        Ok(self.memory.register(index, region))
    }

    /// Removes the region that a key names. Returns whether there was one.
    pub fn deregister(&mut self, key: u32) -> bool {
        let there = self.memory.remove(key);
        if let Some(translation) = self.translation.as_mut().filter(|_| there) {
            translation.unit.unmap((key >> 8) as u16);
            self.buffer.look_again();
        }
        there
    }

    /// Frees the pages that have the `bytes` from an address of the region at an index on, although it is registered.
    /// Returns whether one of them was there. A packet that needs one ends its QP.
    pub fn free_pages(&mut self, index: u16, va: u64, bytes: u64) -> bool {
        let translation = self.translation.as_mut();
        translation.is_some_and(|translation| translation.unit.free(index, va, bytes))
    }

    /// Has regions that are registered at an index from now on pages of a size of their own, if the NIC translates.
    pub fn set_page(&mut self, index: u16, size: PageSize) {
        if let Some(translation) = &mut self.translation {
            translation.unit.set_page(index, size);
        }
    }

    /// Has the pages of the region at an index used, one after the other, before anything else.
    pub fn touch(&mut self, index: u16) {
        if let Some(translation) = &mut self.translation {
            translation.unit.touch(index);
        }
    }

    /// The memory that a packet of the receive buffer is written to if its QP takes it now, and whether the peer names
    /// it: none if it is refused anyway.
    fn memory_of(&self, qp: u16, received: &Received) -> Option<Place> {
        let index = usize::from(qp);
        let allows = |place: &Place| {
            (self.memory).allows(qp, place.key, place.va, place.bytes.into(), place.remote)
        };
        match received {
            Received::Request(arrival) => match Asked::of(arrival) {
                // Those of a READ are translated response by response.
                Some(Asked::Read { .. }) => None,
                Some(asked @ Asked::Atomic(_)) if self.responses.is_some() => {
                    let place = Place {
                        va: arrival.va,
                        key: arrival.rkey,
                        remote: true,
                        bytes: asked.bytes() as u16,
                    };
                    Some(place).filter(|it| self.memory.answers(qp, it.key, it.va, asked))
                }
                _ => self.responder.qps[index].place_of(arrival).filter(allows),
            },
            Received::Response(returned) => {
                (self.requester.qps[index].place_of(returned)).filter(allows)
            }
            Received::Answer(..) => None,
        }
    }

    /// Whether the packet that is next in the receive buffer may take its step: not while a translation is missing.
    pub(super) fn is_translated(&mut self, now: u64) -> bool {
        let Some((waiting, _)) = self.buffer.next(now) else {
            return true;
        };
        let (qp, class, received) = (waiting.qp, waiting.room.class, waiting.received);
        let place = self.memory_of(qp, &received);
        let Self {
            translation: Some(translation),
            buffer,
            host,
            ..
        } = self
        else {
            return true;
        };
        let Some((_, state)) = buffer.next(now) else {
            return true;
        };
        let unit = &mut translation.unit;
        let until = unit.resolve(now, class, place, state, &mut over_the_bus(host));
        translation.gone = until.is_none() && place.is_some_and(|place| unit.is_gone(&place));
        if let Some(until) = until {
            buffer.delay(now, until, unit.stops_receive());
        }
        until.is_none()
    }

    /// Looks up the memory that a packet's payload is read from.
    pub(super) fn look_up(&mut self, now: u64, read: u64, (key, va): (u32, u64), bytes: usize) {
        let Self {
            translation, host, ..
        } = self;
        if let Some(translation) = translation {
            let place = Place {
                va,
                key,
                remote: false,
                bytes: bytes as u16,
            };
            (translation.unit).ask(now, read, place, &mut over_the_bus(host));
        }
    }

    /// Forgets the translations of payload that is not read any more.
    pub(super) fn forget_reads(&mut self) {
        if let Some(translation) = &mut self.translation {
            let reads = &self.slots.reads;
            translation.unit.keep(|number| reads.waits(number));
        }
    }

    /// Whether the payload of a read that is due at `at` may be read. If its translation is missing, it waits; if its
    /// memory is gone, its QP ends.
    pub(super) fn may_read(&mut self, at: u64, read: Read) -> bool {
        let Self {
            translation: Some(translation),
            slots,
            host,
            ..
        } = self
        else {
            return true;
        };
        let Read { class, number, .. } = read;
        let (until, there) = (translation.unit)
            .send(at, class, number, &mut over_the_bus(host))
            .map_or_else(|until| (until, None), |there| (at + 1, Some(there)));
        if there != Some(true) {
            slots.reads.put_back(read, until);
        }
        if there == Some(false) {
            self.end_unread(at, (class, number), Unread::Gone);
        }
        there == Some(true)
    }

    /// Ends the QP of a packet whose payload cannot be read, when all before it is complete: with a NAK in the packet's
    /// place if it is a READ response.
    pub(super) fn end_unread(&mut self, now: u64, (class, number): (u8, u64), unread: Unread) {
        let Some(slot) = self.slots.reading(class, number) else {
            return;
        };
        let (qp, psn, granted) = (slot.qp, slot.psn, slot.granted);
        self.count(reg::UNREAD);
        if granted != Granted::Response {
            self.requester_event(now, qp, RequesterEvent::Unread { psn });
            return;
        }
        self.withdraw_responses(now, qp, psn);
        if let Some(responses) = &mut self.responses {
            responses.answered[usize::from(qp)].fail();
        }
        let msn = self.responder.qps[usize::from(qp)].context.msn;
        let refusal = Refusal {
            psn,
            msn: msn.advance(u32::MAX),
            remote: unread == Unread::Gone,
        };
        self.responder_event(now, qp, ResponderEvent::Refuse(refusal), None);
    }
}
