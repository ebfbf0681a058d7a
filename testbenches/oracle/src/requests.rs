//! The requests of a QP on the wire, and the answers that reach it.

use std::collections::VecDeque;

use crate::breach::{Breach, Place};
use crate::fact::{Ps, Qp};
use crate::message::{Message, Messages};
use crate::number::{number, rnr_wait};
use crate::oracle::Options;
use crate::packet::{Aeth, Packet};
use crate::rules;

/// The sender's half of a direction, as its frames show it. What arrived may not have been judged by the NIC yet, so
/// what is kept here is the most that it can know.
#[derive(Debug)]
pub struct Requests {
    qp: Qp,
    options: Options,
    /// The packet behind the last new one.
    pub top: u64,
    /// The packet sent last.
    last: Option<u64>,
    /// All packets before this one are acknowledged. A response that may be of an answer given before its READ was
    /// asked again counts.
    pub acked: u64,
    /// The same without such responses.
    sure: u64,
    /// The packet with which a READ or an atomic was asked for last.
    asked: Option<u64>,
    /// Sequence NAKs that have sent nothing back yet.
    naks: u32,
    /// RNR NAKs that have sent nothing back yet: when each lets requests go on.
    waits: VecDeque<Ps>,
    /// The ACK timer began no earlier than here.
    timer: Ps,
    /// A packet was sent again although it is acknowledged, since the last new one: its copy waited in the NIC.
    stale: Option<Ps>,
    /// The ACK timer may have run out before the last progress, and what it made the QP repeat is still to come.
    expired: bool,
    /// The last progress.
    progressed: Option<Ps>,
    /// Without progress since then, with something outstanding.
    waiting: Ps,
    /// Sequence NAKs since the last progress.
    naks_waiting: u32,
    /// RNR NAKs since the last progress.
    rnrs_waiting: u32,
    /// The NAK that ends the QP: its code and the packet.
    pub fatal: Option<(u8, u64)>,
}

impl Requests {
    /// Of a QP that has sent nothing.
    pub fn new(qp: Qp, options: Options) -> Self {
        Self {
            qp,
            options,
            top: 0,
            last: None,
            acked: 0,
            sure: 0,
            asked: None,
            naks: 0,
            waits: VecDeque::new(),
            timer: 0,
            stale: None,
            expired: false,
            progressed: None,
            waiting: 0,
            naks_waiting: 0,
            rnrs_waiting: 0,
            fatal: None,
        }
    }

    /// The number of a packet of this direction, if it is not before the first one.
    pub fn number(&self, psn: u32) -> Option<u64> {
        number(self.qp.first_psn, psn, self.top).try_into().ok()
    }

    /// Judges the place of a request among those before it. `lossy`: frames that arrived may have been dropped.
    pub fn sent(
        &mut self,
        place: &Place,
        number: u64,
        messages: &Messages,
        lossy: bool,
    ) -> Result<(), Breach> {
        let message = messages.of(number);
        let behind = message.map_or(number + 1, |message| message.behind(number));
        let reads = message.filter(|message| message.work.operation.returns());
        let next = self.last.map_or(0, |last| last + 1);
        let (last, top, acked) = (self.last, self.top, self.acked);
        let order = || {
            format!(
                "packet {number} behind {last:?}; {top} new ones were sent, {acked} are acknowledged"
            )
        };
        place.holds(number <= self.top, &rules::REQUEST_ORDER, order)?;
        if number > next {
            place.holds(number <= self.acked, &rules::REQUEST_ORDER, order)?;
        }
        if number < next {
            let cause = self.cause(place.at);
            place.holds(cause, &rules::REQUEST_REPEATED, || format!(
                "{}; no NAK, the next RNR wait ends at {:?}, the ACK timer runs since {} for {:?}",
                order(), self.waits.front(), self.timer, self.qp.timeout
            ))?;
            // A READ goes on where it stands.
            let inside = reads.is_some_and(|message| message.first < number);
            place.holds(
                !inside || number <= self.acked,
                &rules::REQUEST_ORDER,
                order,
            )?;
            self.timer = place.at;
        }
        if number < self.acked {
            self.stale.get_or_insert(place.at);
        }
        if reads.is_some() {
            self.asked = Some(number);
            // Responses that came between the decision to ask again and its frame do not answer it, and what came behind
            // them said that they are missing.
            if number < self.sure {
                self.sure = number;
                self.missing();
            }
        }
        if number == self.top {
            let waiting = |place: &Message| place.work.operation.returns() && place.end > acked;
            let open = messages.list()[messages.complete(acked)..]
                .iter()
                .take_while(|message| message.first < number)
                .filter(|message| waiting(message));
            let (mut count, mut psns) = (0, 0);
            for message in open {
                count += 1;
                psns += message.end - message.first.max(acked);
            }
            let granted = self.qp.reads.is_none_or(|most| count < most);
            place.holds(reads.is_none() || granted, &rules::REQUEST_GRANTED, || {
                format!("{count} READs and atomics are unanswered: {}", order())
            })?;
            let fence = message.is_some_and(|it| it.work.fence && it.first == number);
            place.holds(!fence || count == 0, &rules::REQUEST_FENCE, || {
                format!("{count} READs and atomics are unanswered: {}", order())
            })?;
            // The window is one of packets of this side.
            let outstanding = number + 1 - self.acked.min(number) - psns;
            let fits = self
                .qp
                .window
                .is_none_or(|window| reads.is_some() || outstanding <= window.into());
            place.holds(fits, &rules::REQUEST_WINDOW, || {
                format!("{outstanding} outstanding: {}", order())
            })?;
            let stale = self.stale.take();
            if self.sure == self.top && !lossy || self.top == 0 {
                // A stale copy asks for an ACK too, and the timer may run since then if this packet waited behind it.
                let earliest = place.at.saturating_sub(self.options.grace);
                let begin = stale.map_or(place.at, |at| at.max(earliest));
                (self.timer, self.waiting) = (begin, begin);
            }
            self.top = behind;
        }
        self.last = Some(behind - 1);
        Ok(())
    }

    /// Uses up what may have sent the QP back. The timeout comes first: the timer begins anew, while a NAK that came at
    /// the same time may still send the QP back.
    fn cause(&mut self, at: Ps) -> bool {
        if self.runs_out(at) || std::mem::take(&mut self.expired) {
            return true;
        }
        if self.waits.front().is_some_and(|end| *end <= at) {
            self.waits.pop_front();
            return true;
        }
        let nak = self.naks > 0;
        self.naks = self.naks.saturating_sub(1);
        nak
    }

    /// Whether the ACK timer can have run out at `at`.
    fn runs_out(&self, at: Ps) -> bool {
        let end = |timeout| self.timer.saturating_add(timeout);
        self.qp.timeout.is_some_and(|timeout| at >= end(timeout))
    }

    /// Notes an answer that arrived. `lossy`: it may have been dropped.
    pub fn answered(
        &mut self,
        at: Ps,
        packet: &Packet,
        aeth: Aeth,
        messages: &Messages,
        lossy: bool,
    ) {
        let Some(number) = self.number(packet.psn) else {
            return;
        };
        let nak = aeth.syndrome >> 5 != 0;
        // A receiver of go-back-0 returns to the start of a message.
        let low = match messages.of(self.acked) {
            Some(message) if nak && self.qp.restart => message.first,
            _ => self.acked,
        };
        if number < low && !lossy || number >= self.top {
            return;
        }
        let upto = if nak { number } else { number + 1 };
        // Behind a READ that is not answered it says that the response is missing, and no more.
        let [most, least] = [self.acked, self.sure].map(|acked| self.unanswered(acked, messages));
        self.sure = self.sure.max(upto.min(least));
        self.acknowledge(at, upto.min(most), messages, lossy);
        let kind = (aeth.syndrome >> 5, aeth.syndrome & 31);
        // The NIC may have taken a response that is not sure here.
        if let (3, code @ 1..=3) = kind {
            self.fatal = self.fatal.or(Some((code, number)));
        }
        if upto > least {
            self.missing();
            return;
        }
        match kind {
            (1, code) => {
                self.rnrs_waiting += 1;
                self.waits.push_back(at + rnr_wait(code));
            }
            (3, 0) => {
                self.naks += 1;
                self.naks_waiting += 1;
            }
            _ => {}
        }
    }

    /// The next packet of the first READ or atomic that was sent and is not answered, where all packets before `acked`
    /// are acknowledged.
    fn unanswered(&self, acked: u64, messages: &Messages) -> u64 {
        let mut left = messages.list()[messages.complete(acked)..]
            .iter()
            .take_while(|message| message.first < self.top);
        let first = left.find(|message| message.work.operation.returns());
        first.map_or(u64::MAX, |message| message.first.max(acked))
    }

    /// Notes that something skips a response: it may send the QP back, as a NAK does.
    fn missing(&mut self) {
        self.naks += 1;
        self.naks_waiting += 1;
    }

    /// Notes a response that arrived. Returns its number if it may be the next one.
    pub fn responded(
        &mut self,
        at: Ps,
        packet: &Packet,
        messages: &Messages,
        lossy: bool,
    ) -> Option<u64> {
        let number = self
            .number(packet.psn)
            .filter(|number| *number < self.top)?;
        let [most, least] = [self.acked, self.sure].map(|acked| self.unanswered(acked, messages));
        // Where it was asked for last, the answer begins.
        let begins = matches!(packet.opcode, 0x0D | 0x10 | 0x12);
        let first = messages
            .of(number)
            .is_some_and(|message| message.first == number);
        let sure = number == least && begins == (first || self.asked == Some(number));
        // All that is before the READ is acknowledged, whichever of its responses it is.
        if number >= least {
            self.sure = self.sure.max(least);
        }
        if number >= most {
            self.acknowledge(at, most, messages, lossy);
        }
        // A go-back-0 requester whose ACK timer has run out has gone back to the start of the READ, which is missing then.
        let restarted = self.qp.restart && !first && (self.expired || self.runs_out(at));
        if number > least || restarted {
            self.missing();
        }
        if sure && !lossy {
            self.sure = number + 1;
        }
        // If it may have come before, the NIC's timer does not begin anew.
        if number == most {
            self.acknowledge(at, number + 1, messages, lossy || !sure);
        }
        (number == most || number == least).then_some(number)
    }

    fn acknowledge(&mut self, at: Ps, upto: u64, messages: &Messages, lossy: bool) {
        if upto <= self.acked {
            return;
        }
        // The answer is on its way through the NIC for a while, in which the timer still runs. Responses wait for writes
        // in front of them, which the host may not take; and so does all that comes once a READ was asked for, or is
        // asked for meanwhile.
        let returns = || {
            let left = &messages.list()[messages.complete(self.acked)..];
            left.iter().any(|message| message.work.operation.returns())
        };
        let late = match self.asked.is_some() || returns() {
            true => self.options.grace.max(self.options.stall),
            false => self.options.grace,
        };
        self.expired |= self.acked < self.top && self.runs_out(at.saturating_add(late));
        self.acked = upto;
        self.progressed = Some(at);
        if !lossy {
            (self.timer, self.waiting) = (at, at);
            (self.naks_waiting, self.rnrs_waiting) = (0, 0);
        }
    }

    /// Whether a work request that ends at packet `end` can have failed at `at`: it was not acknowledged, or what
    /// acknowledged it came when it had failed.
    pub fn can_fail(&self, at: Ps, end: u64) -> bool {
        self.sure < end || self.progress_is_new(at)
    }

    fn progress_is_new(&self, at: Ps) -> bool {
        self.progressed
            .is_some_and(|time| at <= time + self.options.stall)
    }

    /// Whether all retries can have been used up at `at`, by sequence NAKs and timeouts.
    pub fn retries_are_used_up(&self, at: Ps) -> bool {
        let timeouts = match self.qp.timeout {
            Some(timeout) => (at.saturating_sub(self.waiting)) / timeout.max(1),
            None => 0,
        };
        self.progress_is_new(at) || timeouts + u64::from(self.naks_waiting) > self.qp.retries.into()
    }

    /// Whether all RNR retries can have been used up at `at`.
    pub fn rnr_retries_are_used_up(&self, at: Ps) -> bool {
        let used_up = self.progress_is_new(at) || self.rnrs_waiting > self.qp.rnr_retries.into();
        self.qp.rnr_retries < 7 && used_up
    }
}
