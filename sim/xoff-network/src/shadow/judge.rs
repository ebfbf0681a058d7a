//! Holds a NIC's answers against those of a capture.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_sim::nic::ReadRights;
use xoff_sim::wire::{NakCode, Opcode, Psn, Syndrome};

use super::connect::Connection;
use super::feed::Sent;
use super::history::{History, Planned};
use super::packet::{Answer, Class, Packet};
use super::rules::Allowed;

/// An answer that is not the capture's, and that nothing allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The number of the capture's answer; without one, that of the last request before the NIC's.
    pub frame: u64,
    /// Number of the answering end's QP.
    pub qpn: u32,
    /// The fields that are different; empty if one side has no answer.
    pub fields: Vec<&'static str>,
    /// The answer in the capture.
    pub capture: Option<Answer>,
    /// The NIC's answer.
    pub nic: Option<Answer>,
    /// The payload's first byte that is different, if the payload is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_from: Option<usize>,
}

/// What became of the answers of a connection.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub matched: u64,
    pub allowed: BTreeMap<Allowed, u64>,
    pub unsupported: BTreeMap<&'static str, u64>,
    pub different: Vec<Difference>,
    /// Answers of the capture behind a loss at the tap.
    pub unjudged: u64,
}

/// The answers of both sides.
struct Sides<'a> {
    /// Which of READs and atomics the NIC answers.
    answers: ReadRights,
    connection: &'a Connection,
    history: &'a History,
    packets: &'a [Packet],
    /// Each with its place.
    capture: Vec<(usize, Answer)>,
    nic: &'a [Sent],
    /// For each of the capture the NIC's, and back.
    partner: Vec<Option<usize>>,
    taken: Vec<bool>,
}

/// Judges a connection. `answers` is which of READs and atomics the NIC answers.
pub(super) fn judge(
    connection: &Connection,
    history: &History,
    packets: &[Packet],
    nic: &[Sent],
    answers: ReadRights,
) -> Verdict {
    let mut verdict = Verdict::default();
    let end = history.lost_at_tap.unwrap_or(usize::MAX);
    let mut capture: Vec<(usize, Answer)> = (connection.answers.iter())
        .filter_map(|at| Some((*at, packets[*at].answer.clone()?)))
        .collect();
    let judged = capture.partition_point(|(at, _)| *at < end);
    verdict.unjudged = (capture.len() - judged) as u64;
    capture.truncate(judged);
    // The request of an answer to what came before the first one is not fed.
    if connection.skipped > 0 {
        capture.retain(|(_, answer)| answer.psn.ahead_of(connection.first_psn) >= 0);
        verdict.unjudged += (judged - capture.len()) as u64;
    }
    if !(answers.read && answers.atomic) {
        capture.retain(|(_, answer)| {
            let what = data_of(history, answer);
            let answered = |what: &&str| match *what {
                READ => answers.read,
                _ => answers.atomic,
            };
            let Some(what) = what.filter(|what| !answered(what)) else {
                return true;
            };
            *verdict.unsupported.entry(what).or_default() += 1;
            false
        });
    }
    let mut sides = Sides {
        answers,
        connection,
        history,
        packets,
        partner: vec![None; capture.len()],
        taken: vec![false; nic.len()],
        capture,
        nic,
    };
    sides.pair();
    sides.judge(&mut verdict);
    verdict
}

const READ: &str = "READ";
const ATOMIC: &str = "atomic";

/// What a NIC has to be able to do for an answer, beside SEND and WRITE.
fn data_of(history: &History, answer: &Answer) -> Option<&'static str> {
    let asked = || {
        let mut requests = history.planned.iter().map(|it| it.request);
        requests.find(|it| it.psn == answer.psn)
    };
    match answer.class() {
        Class::Read => Some(READ),
        Class::Atomic => Some(ATOMIC),
        Class::FatalNak if asked().is_some_and(|it| it.is_read()) => Some(READ),
        Class::FatalNak if asked().is_some_and(|it| it.is_atomic()) => Some(ATOMIC),
        _ => None,
    }
}

impl Sides<'_> {
    /// Pairs answers of one kind to one PSN. Each of the capture's goes with the NIC's last one before it, because the
    /// NIC is the faster one of most; where it is not, with its next one, unless it was asked again meanwhile. What
    /// either has more is judged apart.
    fn pair(&mut self) {
        let mut by_key: BTreeMap<(Class, u32), Vec<usize>> = BTreeMap::new();
        for (place, sent) in self.nic.iter().enumerate() {
            if self.history.is_premature(&sent.answer, sent.after) {
                continue;
            }
            let key = (sent.answer.class(), sent.answer.psn.get());
            by_key.entry(key).or_default().push(place);
        }
        for place in (0..self.capture.len()).rev() {
            let (at, answer) = &self.capture[place];
            let Some(nics) = by_key.get_mut(&(answer.class(), answer.psn.get())) else {
                continue;
            };
            let before = nics.partition_point(|it| self.nic[*it].after <= *at);
            if let Some(last) = before.checked_sub(1) {
                let nic = nics.remove(last);
                self.partner[place] = Some(nic);
                self.taken[nic] = true;
            }
        }
        for place in 0..self.capture.len() {
            let (at, answer) = &self.capture[place];
            let key = (answer.class(), answer.psn.get());
            if self.partner[place].is_none()
                && let Some(nics) = by_key.get_mut(&key)
                && let Some(next) = nics.iter().position(|it| self.nic[*it].after > *at)
                && !self.asked_again(*at, self.nic[nics[next]].after, answer.psn)
            {
                let nic = nics.remove(next);
                self.partner[place] = Some(nic);
                self.taken[nic] = true;
            }
        }
    }

    /// Whether a request with this PSN was sent again behind packet `from`, up to packet `to`.
    fn asked_again(&self, from: usize, to: usize, psn: Psn) -> bool {
        let planned = &self.history.planned;
        let first = planned.partition_point(|it| it.at <= from);
        let mut between = planned[first..].iter().take_while(|it| it.at <= to);
        between.any(|it| !it.new && it.request.covers(psn, self.connection.mtu))
    }

    fn judge(&self, verdict: &mut Verdict) {
        let mut missing = Vec::new();
        let mut latest = 0;
        for (place, (at, answer)) in self.capture.iter().enumerate() {
            let Some(nic) = self.partner[place] else {
                match self.may_be_missing(place) {
                    Some(rule) => *verdict.allowed.entry(rule).or_default() += 1,
                    None if self.needs_atomics(*at, answer) => {
                        *verdict.unsupported.entry(ATOMIC).or_default() += 1;
                    }
                    None => missing.push(place),
                }
                continue;
            };
            let late = nic < latest;
            latest = latest.max(nic);
            let nic = &self.nic[nic].answer;
            let mut fields = fields(answer, nic);
            fields.extend(late.then_some("order"));
            let rules: Vec<Option<Allowed>> = (fields.iter())
                .map(|field| self.allows(field, *at, answer, nic))
                .collect();
            match rules.first() {
                None => verdict.matched += 1,
                Some(Some(rule)) if rules.iter().all(Option::is_some) => {
                    *verdict.allowed.entry(*rule).or_default() += 1;
                }
                Some(_) => {
                    let wrong = fields.iter().zip(&rules).filter(|(_, rule)| rule.is_none());
                    let wrong = wrong.map(|(field, _)| *field).collect();
                    let both = (Some(answer), Some(nic));
                    verdict.different.push(self.difference(*at, wrong, both));
                }
            }
        }
        let mut extra = Vec::new();
        for place in (0..self.nic.len()).filter(|place| !self.taken[*place]) {
            match self.may_be_extra(&self.nic[place]) {
                Some(rule) => *verdict.allowed.entry(rule).or_default() += 1,
                None => extra.push(place),
            }
        }
        // An answer of another kind to the same PSN stands in the place of one that is missing.
        for place in missing {
            let (at, answer) = &self.capture[place];
            let other = extra
                .iter()
                .position(|it| self.nic[*it].answer.psn == answer.psn);
            let other = other.map(|it| &self.nic[extra.remove(it)].answer);
            let fields = other.map_or_else(Vec::new, |other| fields(answer, other));
            if let Some(other) = other
                && self.is_invalidation(answer, other)
            {
                *verdict.allowed.entry(Allowed::Invalidation).or_default() += 1;
                continue;
            }
            let both = (Some(answer), other);
            verdict.different.push(self.difference(*at, fields, both));
        }
        for place in extra {
            let Sent { after, answer } = &self.nic[place];
            let both = (None, Some(answer));
            verdict
                .different
                .push(self.difference(*after, Vec::new(), both));
        }
        verdict.different.sort_by_key(|it| it.frame);
    }

    /// Whether a NIC without atomics cannot have this answer: an atomic, which it did not get, brought it about; or it
    /// is to a READ that is asked again behind an atomic, where the NIC was set up again, so that it answered once.
    fn needs_atomics(&self, at: usize, answer: &Answer) -> bool {
        if self.answers.atomic {
            return false;
        }
        let planned = &self.history.planned;
        if answer.class() != Class::Read {
            let before = &planned[..planned.partition_point(|it| it.at < at)];
            return before.last().is_some_and(|it| it.request.is_atomic());
        }
        let mtu = self.connection.mtu;
        let asks = |it: &Planned| it.request.is_read() && it.request.covers(answer.psn, mtu);
        let first = planned.iter().position(|it| it.new && asks(it));
        let last = planned.iter().rposition(asks);
        first.zip(last).is_some_and(|(first, last)| {
            let mut between = planned[first..=last].iter();
            !planned[last].new && between.any(|it| it.new && it.request.is_atomic())
        })
    }

    fn difference(
        &self,
        at: usize,
        fields: Vec<&'static str>,
        (capture, nic): (Option<&Answer>, Option<&Answer>),
    ) -> Difference {
        let payload_from = capture.zip(nic).and_then(|(capture, nic)| {
            let (one, other) = (&capture.payload, &nic.payload);
            let wrong = one.iter().zip(other).position(|(one, other)| one != other);
            wrong.or((one.len() != other.len()).then(|| one.len().min(other.len())))
        });
        Difference {
            frame: self.packets[at].number,
            qpn: self.connection.qpn,
            fields,
            capture: capture.cloned(),
            nic: nic.cloned(),
            payload_from,
        }
    }

    /// Whether the capture acknowledges a SEND whose key was not there to be invalidated.
    fn is_invalidation(&self, capture: &Answer, nic: &Answer) -> bool {
        let access = Syndrome::nak(NakCode::RemoteAccessError);
        let uncounted = self.history.uncounted == Some(capture.psn);
        uncounted && capture.class() == Class::Ack && nic.syndrome == Some(access)
    }

    /// Why a field may differ between two answers to the same PSN.
    fn allows(&self, field: &str, at: usize, capture: &Answer, nic: &Answer) -> Option<Allowed> {
        let goes_on = goes_on(capture, nic);
        match field {
            "opcode" | "syndrome" | "msn" if goes_on => Some(Allowed::ReadGoesOn),
            "msn" => {
                let (least, most) = self.history.messages(capture, at);
                let counts = |answer: &Answer| {
                    let before = self.history.msn;
                    let counted = answer.msn?.get().wrapping_sub(before) & Psn::MAX.get();
                    Some((least..=most).contains(&counted))
                };
                let both = counts(capture) == Some(true) && counts(nic) == Some(true);
                both.then_some(Allowed::MsnWhenBuilt)
            }
            "syndrome" => match (capture.class(), nic.syndrome) {
                (Class::FatalNak, Some(syndrome)) => {
                    let operational = Syndrome::nak(NakCode::RemoteOperationalError);
                    let invalid = Syndrome::nak(NakCode::InvalidRequest);
                    let known = capture.syndrome == Some(operational) && syndrome == invalid;
                    known.then_some(Allowed::OperationalError)
                }
                (class, Some(Syndrome::ACK)) if !matches!(class, Class::RnrNak) => {
                    Some(Allowed::Credits)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Why an answer of the capture may have none of the NIC.
    fn may_be_missing(&self, place: usize) -> Option<Allowed> {
        let (at, answer) = &self.capture[place];
        let before = self.capture[..place].iter();
        match answer.class() {
            Class::Ack => {
                let in_time =
                    |it: &&Sent| it.after <= *at || !self.asked_again(*at, it.after, answer.psn);
                let mut sent = self.nic.iter().take_while(in_time);
                if sent.any(|it| it.answer.acknowledges(answer.psn)) {
                    let again = before.clone().any(|(_, old)| old.acknowledges(answer.psn));
                    return Some(match again {
                        true => Allowed::DuplicateAck,
                        false => Allowed::Coalesced,
                    });
                }
                None
            }
            Class::SequenceNak => {
                let mut refusals = before.rev().take_while(|(_, old)| old.refuses());
                let after =
                    refusals.any(|(_, old)| old.class() == Class::RnrNak && old.psn == answer.psn);
                after.then_some(Allowed::NakAfterRnr)
            }
            _ => None,
        }
    }

    /// Why an answer of the NIC may be absent from the capture.
    fn may_be_extra(&self, sent: &Sent) -> Option<Allowed> {
        let Sent { after, answer } = sent;
        if self.history.is_premature(answer, *after) {
            return None;
        }
        let behind = self.capture.partition_point(|(at, _)| at < after);
        let later = &self.capture[behind..];
        // Responses of a READ come one behind the other, and the capture may end between them.
        let ends = |(_, it): &(usize, Answer)| it.psn.ahead_of(answer.psn) < 0;
        if later.is_empty() || (answer.class() == Class::Read && later.iter().all(ends)) {
            return Some(Allowed::Silent);
        }
        if answer.class() == Class::Ack {
            let covers = |(_, it): &(usize, Answer)| it.acknowledges(answer.psn);
            if self.capture[..behind].iter().any(covers) {
                return Some(Allowed::DuplicateAck);
            }
            if later.iter().any(covers) && !self.is_asked_again(*after, answer) {
                return Some(Allowed::Coalesced);
            }
        }
        self.is_asked_again(*after, answer).then_some(Allowed::Lost)
    }

    /// Whether the requester sends again what an answer is to, and has not got an answer to it before.
    fn is_asked_again(&self, after: usize, answer: &Answer) -> bool {
        let mtu = self.connection.mtu;
        let requests = &self.history.planned;
        let first = requests.partition_point(|it| it.at <= after);
        let again = (requests[first..].iter()).find(|it| it.request.covers(answer.psn, mtu));
        again.is_some_and(|again| {
            let between = self
                .capture
                .iter()
                .filter(|(at, _)| (after..again.at).contains(at));
            let told = |it: &Answer| match answer.class() {
                Class::Ack => it.acknowledges(answer.psn),
                class => it.class() == class && it.psn == answer.psn,
            };
            !between.into_iter().any(|(_, it)| told(it))
        })
    }
}

/// Whether the answers differ because the capture's goes on with a READ that the NIC's begins with.
fn goes_on(capture: &Answer, nic: &Answer) -> bool {
    let pairs = [
        (Opcode::RC_READ_RESP_MIDDLE, Opcode::RC_READ_RESP_FIRST),
        (Opcode::RC_READ_RESP_LAST, Opcode::RC_READ_RESP_ONLY),
    ];
    pairs.contains(&(capture.opcode, nic.opcode))
}

/// The fields in which two answers to the same PSN are different.
fn fields(capture: &Answer, nic: &Answer) -> Vec<&'static str> {
    let different = [
        ("opcode", capture.opcode != nic.opcode),
        ("psn", capture.psn != nic.psn),
        ("syndrome", capture.syndrome != nic.syndrome),
        ("msn", capture.msn != nic.msn),
        ("original", capture.original != nic.original),
        ("payload", capture.payload != nic.payload),
    ];
    let different = different.into_iter().filter(|(_, wrong)| *wrong);
    different.map(|(field, _)| field).collect()
}
