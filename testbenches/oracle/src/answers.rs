//! The answers of a QP on the wire, and the requests that reach it.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::{Breach, Place};
use crate::content;
use crate::fact::{Buffer, Operation, Ps, Qp};
use crate::message::{Message, Messages};
use crate::number::{number, wrapped};
use crate::packet::{Aeth, Packet};
use crate::region::{Access, Permitted};
use crate::responses::Responses;
use crate::rules;

/// What an answer is judged by, beside what arrived.
pub struct Judged<'a> {
    /// The peer's messages.
    pub messages: &'a Messages,
    /// Receive buffers, with when they were posted.
    pub buffers: &'a [(Ps, Buffer)],
    /// The receiver's memory.
    pub regions: Permitted<'a>,
    /// The packet whose payload is written next.
    pub writing: u64,
    /// Responses to READs and atomics that were sent.
    pub responses: &'a Responses,
    /// Frames that arrived may have been dropped.
    pub lossy: bool,
    /// Time for which a buffer may wait until the NIC has it.
    pub stall: Ps,
}

/// The receiver's half of a direction, as its frames show it. The NIC may still wait to judge what arrived, so what is
/// kept here is the most that it can have accepted.
#[derive(Debug)]
pub struct Answers {
    qp: Qp,
    /// All packets before this one have arrived, in order.
    pub could: u64,
    /// How often each packet arrived.
    count: BTreeMap<u64, u32>,
    /// The packet behind the last one that arrived.
    beyond: u64,
    /// Packets that were missing when a later one arrived.
    gaps: BTreeSet<u64>,
    /// Packets that arrived when there may have been no receive buffer for them.
    short: BTreeSet<u64>,
    /// Something arrived that is not of this direction's messages.
    foreign: bool,
    /// All packets before this one were acknowledged.
    pub acked: u64,
    /// How often a sequence NAK named a packet.
    told: BTreeMap<u64, u32>,
    /// RNR NAKs by packet.
    rnrs: BTreeMap<u64, u32>,
    /// The packet that a NAK has refused, which ends the QP.
    pub fatal: Option<u64>,
    /// Packets from this one on are not accepted, since one is refused.
    barred: u64,
}

impl Answers {
    /// Of a QP to which nothing has come.
    pub fn new(qp: Qp) -> Self {
        Self {
            qp,
            could: 0,
            count: BTreeMap::new(),
            beyond: 0,
            gaps: BTreeSet::new(),
            short: BTreeSet::new(),
            foreign: false,
            acked: 0,
            told: BTreeMap::new(),
            rnrs: BTreeMap::new(),
            fatal: None,
            barred: u64::MAX,
        }
    }

    /// The number of a packet of this direction, if it is not before the first one.
    pub fn number(&self, psn: u32) -> Option<u64> {
        number(self.qp.peer_first_psn, psn, self.could)
            .try_into()
            .ok()
    }

    /// How often a packet arrived.
    pub fn arrivals(&self, number: u64) -> u32 {
        self.count.get(&number).copied().unwrap_or(0)
    }

    /// Whether a packet may have been accepted: in front of a refused one, and behind a READ that cannot be read, which
    /// is found when its data is wanted, what had arrived until then.
    pub fn may_accept(&self, number: u64) -> bool {
        number < self.could.min(self.barred)
    }

    /// Whether an answer may name this PSN: the packet before the first, one that arrived, or the next.
    pub fn may_name(&self, psn: u32) -> bool {
        let number = number(self.qp.peer_first_psn, psn, self.could);
        (-1..=self.beyond as i64).contains(&number)
    }

    /// Notes a request that arrived. Returns its number if it is one of the messages.
    pub fn arrived(&mut self, at: Ps, packet: &Packet, judged: &Judged<'_>) -> Option<u64> {
        let number = u64::try_from(number(self.qp.peer_first_psn, packet.psn, self.could)).ok();
        let mtu = judged.messages.mtu;
        let own = number.and_then(|number| Some((number, judged.messages.of(number)?)));
        let Some((number, message)) =
            own.filter(|(number, message)| content::resembles(message, *number, mtu, packet))
        else {
            self.foreign = true;
            return None;
        };
        *self.count.entry(number).or_default() += 1;
        self.beyond = self.beyond.max(message.behind(number));
        if message.needs_buffer(number) && number <= self.could {
            let buffer = message.buffer.and_then(|index| judged.buffers.get(index));
            if buffer.is_none_or(|(posted, _)| posted + judged.stall > at) {
                self.short.insert(number);
            }
        }
        match number.cmp(&self.could) {
            std::cmp::Ordering::Equal => self.could = message.behind(number),
            std::cmp::Ordering::Greater => drop(self.gaps.insert(self.could)),
            std::cmp::Ordering::Less => {}
        }
        Some(number)
    }

    /// Judges an answer.
    pub fn sent(
        &mut self,
        place: &Place,
        packet: &Packet,
        aeth: Aeth,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        let kind = (aeth.syndrome >> 5, aeth.syndrome & 31);
        // An ACK names the last packet that was accepted, a NAK the one behind it.
        let named = match kind.0 {
            0 => packet.psn + 1,
            _ => packet.psn,
        };
        let next = number(self.qp.peer_first_psn, named, self.could);
        let before = judged.responses.before(judged.messages);
        let seen = format!(
            "PSN {:#x}, syndrome {:#04x}, MSN {:#x}",
            packet.psn, aeth.syndrome, aeth.msn
        );
        let Some(next) = u64::try_from(next).ok().filter(|next| *next <= self.could) else {
            return place.breaks(
                &rules::ANSWER_ARRIVED,
                format!("{seen}: the packets before {} have arrived", self.could),
            );
        };
        let msn = judged.messages.complete(next) as u64;
        place.holds(aeth.msn == wrapped(msn), &rules::ANSWER_MSN, || {
            format!("{seen}: {msn} messages are complete")
        })?;
        // A NAK may take the place of a response.
        let refused = judged
            .messages
            .of(next)
            .map_or(before, |message| message.first);
        let behind = next <= before || kind.0 != 0 && refused <= before;
        place.holds(behind, &rules::ANSWER_BEHIND, || {
            format!("{seen}: the responses from packet {before} on were not sent")
        })?;
        let (needed, posted) = (judged.messages.buffers(next), judged.buffers.len());
        place.holds(needed <= posted, &rules::ANSWER_BUFFER, || {
            format!("{seen}: {posted} buffers of {needed} were posted")
        })?;
        let after = self
            .fatal
            .is_some_and(|refused| next > refused || kind.0 != 0);
        place.holds(!after, &rules::ANSWER_REFUSED, || {
            format!("{seen}: packet {:?} was refused", self.fatal)
        })?;
        // What was read once may be refused when it is asked for again.
        let reads = (judged.messages.of(next)).is_some_and(|it| it.work.operation.returns());
        if kind.0 != 0 && !self.qp.restart && !reads {
            place.holds(next >= self.acked, &rules::ANSWER_REFUSED, || {
                format!(
                    "{seen}: the packets before {} were acknowledged",
                    self.acked
                )
            })?;
        }
        match kind {
            (0, _) => self.acked = self.acked.max(next),
            (1, _) => self.not_ready(place, next, &seen, judged)?,
            (3, 0) => self.gap(place, next, &seen, judged)?,
            (3, code @ 1..=3) => self.refuses(place, next, code, &seen, judged)?,
            _ => return place.breaks(&rules::ANSWER_SYNDROME, seen),
        }
        Ok(())
    }

    fn gap(
        &mut self,
        place: &Place,
        next: u64,
        seen: &str,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        // All that arrived is judged in its order, unless something of it was not accepted.
        let exact = !judged.lossy && !self.qp.restart && !self.foreign && self.short.is_empty();
        let behind = self.foreign || self.beyond > next + 1;
        let right = behind && (!exact || self.gaps.contains(&next));
        place.holds(right, &rules::ANSWER_GAP, || {
            format!(
                "{seen} is packet {next}: missing were {:?}, the last that arrived is before {}",
                self.gaps, self.beyond
            )
        })?;
        // Only go-back-0 accepts a packet more than once, each time to lose what follows.
        let arrivals = if self.qp.restart {
            self.arrivals(next)
        } else {
            0
        };
        let told = self.told.entry(next).or_default();
        *told += 1;
        place.holds(*told <= arrivals + 1, &rules::ANSWER_ONCE, || {
            format!("{seen}: packet {next} was named {told} times, and was accepted at most {arrivals} times")
        })
    }

    fn not_ready(
        &mut self,
        place: &Place,
        next: u64,
        seen: &str,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        let naks = self.rnrs.entry(next).or_default();
        *naks += 1;
        let naks = *naks;
        let needs = judged
            .messages
            .of(next)
            .is_some_and(|message| message.needs_buffer(next));
        let right = needs && self.short.contains(&next) && naks <= self.arrivals(next);
        place.holds(right, &rules::ANSWER_NOT_READY, || {
            format!(
                "{seen}: packet {next} arrived {} times, this is RNR NAK {naks}; short: {:?}",
                self.arrivals(next),
                self.short
            )
        })
    }

    fn refuses(
        &mut self,
        place: &Place,
        next: u64,
        code: u8,
        seen: &str,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        let arrived = |message: &&Message| match message.work.operation.returns() {
            true => judged.responses.was_asked(message.first, next),
            false => self.arrivals(next) > 0,
        };
        let message = judged.messages.of(next).filter(arrived);
        let right = message.is_some_and(|message| refusable(message, next, code, judged));
        place.holds(right, &rules::ANSWER_CAUSE, || match message {
            Some(message) => format!("{seen}: nothing is wrong with {:?}", message.work),
            None => format!("{seen}: packet {next} did not arrive"),
        })?;
        // What is read again may be refused behind what was written since.
        let reads = message.is_some_and(|message| message.work.operation.returns());
        if !self.qp.restart && !reads {
            place.holds(judged.writing <= next, &rules::MEMORY_REFUSED, || {
                format!("{seen}: the packets before {} are written", judged.writing)
            })?;
        }
        self.fatal = Some(next);
        self.barred = if reads { self.could } else { next };
        Ok(())
    }
}

/// Whether a packet may be refused with this code of a NAK.
fn refusable(message: &Message, number: u64, code: u8, judged: &Judged<'_>) -> bool {
    let work = &message.work;
    let buffer = message.buffer.and_then(|index| judged.buffers.get(index));
    let (start, length) = message.part(number, judged.messages.mtu);
    match code {
        _ if work.operation.returns() => {
            let access = match work.operation {
                Operation::Read => Access::RemoteRead,
                _ => Access::RemoteAtomic,
            };
            let (key, va, length) = (work.remote_key, work.remote_va, work.length.into());
            let refused = || {
                judged
                    .regions
                    .may_refuse(access, key, va, length, message.posted)
            };
            match code {
                1 => work.operation.is_atomic() && !va.is_multiple_of(8),
                2 => length > 0 && refused(),
                _ => access == Access::RemoteRead && judged.regions.may_fail(va, length),
            }
        }
        1 => {
            !work.operation.writes()
                && buffer.is_some_and(|(_, buffer)| start + length > buffer.length.into())
        }
        2 if work.operation.writes() => {
            let length = work.length.into();
            length > 0
                && judged.regions.may_refuse(
                    Access::Remote,
                    work.remote_key,
                    work.remote_va,
                    length,
                    message.posted,
                )
        }
        2 => {
            work.operation == Operation::SendInvalidate
                && number + 1 == message.end
                && judged.regions.may_refuse(
                    Access::Invalidate,
                    work.immediate,
                    0,
                    0,
                    message.posted,
                )
        }
        _ => {
            !work.operation.writes()
                && buffer.is_some_and(|(posted, buffer)| {
                    let access = Access::Local { write: true };
                    let va = buffer.va.wrapping_add(start);
                    length > 0
                        && judged
                            .regions
                            .may_refuse(access, buffer.key, va, length, *posted)
                })
        }
    }
}
