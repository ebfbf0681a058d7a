//! One direction of a connection: a sender's requests as they pass a tap, and how far they have been answered.
//!
//! PSNs are extended to 64 bits here, so that the wrap at 2^24 needs no special treatment.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{ExtHeaders, Opcode, Psn};

use crate::gap::Gap;
use crate::log::Log;
use crate::operation::{self, Operation, Service};
use crate::packet::Packet;
use crate::report::Findings;
use crate::tap::Side;
use crate::{Habit, Rule};

/// How many requests are remembered. Older ones are not judged.
const REMEMBERED: usize = 16_384;
/// How many PSNs before the acknowledged ones are remembered.
const BEHIND: i64 = 512;
/// How many places where a resend may begin are remembered.
const POINTS: usize = 1_024;
/// A request whose PSN is farther than this from all known PSNs belongs to a new connection.
const FAR: i64 = 1 << 16;
/// Half of the PSN space.
const HALF: i64 = 1 << 23;
/// The path MTUs that exist, in bytes.
const MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];
/// Number of consecutive resends without an answer from which on a remark is made.
const OFTEN: u32 = 2;
/// How long after an ACK arrived a resend that crosses it may still be sent, and after a packet about requests that the
/// tap does not have, others of them.
const CROSSING: Duration = Duration::from_us(100);

/// A request as it was first seen.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub opcode: Opcode,
    pub operation: Operation,
    pub place: operation::Place,
    pub payload: u32,
    pub ext: ExtHeaders,
    /// A hash of the payload, if it was recorded.
    content: Option<u64>,
    pub ack_req: bool,
    /// How often the sender had gone back before it sent this.
    pub resends: u64,
    /// Whether later packets were seen before it.
    pub overtaken: bool,
    /// Whether its response was seen, if it has one.
    pub answered: bool,
    /// Bytes of the message that follow after this packet; `None` if not known.
    remaining: Option<u32>,
    /// When it was first seen.
    pub since: Time,
    /// The PSN of each time that it was sent: its own PSN, or for a READ also one within its range.
    pub asked: Vec<i64>,
    /// Number of answers: runs of READ responses, or atomic answers.
    pub runs: usize,
    /// When the newest packet of one was seen.
    pub replied: Option<Time>,
    /// For a READ: the PSN of the next response in order.
    pub next_response: i64,
    /// For an atomic: the value in the first answer.
    pub original: Option<u64>,
}

impl Request {
    /// Bytes that a READ asks for.
    pub fn read_bytes(&self) -> u32 {
        let reth = self.ext.reth.filter(|_| self.operation == Operation::Read);
        reth.map_or(0, |reth| reth.dma_len)
    }

    /// The length in its RETH if it has one, otherwise the bytes of payload that it carries.
    fn length(&self) -> u32 {
        self.ext.reth.map_or(self.payload, |reth| reth.dma_len)
    }

    /// Number of PSNs that it takes up; `None` for a READ while the MTU is not known.
    pub fn span(&self, mtu: Option<u32>) -> Option<i64> {
        match (self.operation, mtu) {
            (Operation::Read, _) if self.read_bytes() <= MTUS[0] => Some(1),
            (Operation::Read, mtu) => Some(i64::from(self.read_bytes().div_ceil(mtu?))),
            _ => Some(1),
        }
    }
}

/// A NAK for a sequence error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nak {
    pub psn: i64,
    /// Whether the request has been sent again since the NAK.
    pub resent: bool,
    /// How often the sender had gone back when the NAK passed.
    pub resends: u64,
}

/// What is known of the place where a packet is seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Which end of the requests it is.
    pub side: Side,
    /// When a pause was received the last time, at a host's own port.
    pub paused: Option<Time>,
    /// How long a packet may have waited for a frame on the wire.
    pub wire_wait: Duration,
    /// When an answer to requests that are not known passed the last time.
    pub stray: Option<Time>,
}

/// An RNR NAK whose waiting time is running.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RnrWait {
    pub psn: i64,
    pub from: Time,
    pub until: Time,
    /// Whether resends are judged by it.
    pub judged: bool,
    /// How often the sender had gone back when the NAK passed.
    pub resends: u64,
}

/// The MSN of the newest answer, and the PSN up to which it answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub through: i64,
    pub msn: u32,
    /// The MSN that would have been right, if it was another one.
    pub right: Option<u32>,
}

/// The requests of one direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    log: Log<Request>,
    /// The PSN after the last request seen; `None` if none was seen.
    next: Option<i64>,
    /// The PSN after the highest one in use.
    pub high: i64,
    /// All PSNs before this one are acknowledged; `None` if nothing has been answered yet.
    pub acked: Option<i64>,
    /// When the newest of them was, and with which DSCP.
    acked_at: Time,
    pub acked_dscp: Option<u8>,
    /// The newest PSN that was acknowledged before a READ in front of it was answered. A requester takes such an ACK for
    /// a sign that a response is missing, and no more.
    pub passed: Option<i64>,
    /// DSCP of the last request.
    dscp: Option<u8>,
    /// PSNs where a resend may begin: the first request seen, the PSN after each ACK, the PSN of each NAK, and
    /// missing READ responses.
    points: BTreeSet<i64>,
    /// Path MTU in bytes; known once a full packet has been seen.
    pub mtu: Option<u32>,
    pub nak: Option<Nak>,
    pub rnr: Option<RnrWait>,
    pub counted: Option<Counted>,
    /// PSN of a NAK that has ended the connection.
    pub fatal: Option<i64>,
    /// PSN of the newest NAK for a sequence error, right or not: the sender may heed it.
    pub asked_back: Option<i64>,
    /// Whether the current requests are a resend.
    resending: bool,
    /// Whether requests have been lost before this tap, which is not at the sender.
    lossy: bool,
    /// Number of resends.
    pub resends: u64,
    /// Number of resends since the last answer.
    pub quiet: u32,
    /// At the sender's port: number of PSNs, at most, of broken packets since the last one that was not.
    pub broken: u64,
    /// At the receiver's port: the oldest marked request that was not answered, and when it arrived.
    pub marked: Option<(i64, Time)>,
    /// At the receiver's port: the oldest gap, as long as no NAK was sent since.
    pub gap: Option<Gap>,
    /// When there was a packet about requests before the first one seen, the last time.
    pub before: Option<Time>,
    /// Whether there was an answer, since the last one, of which it is not known whether it is to these requests.
    pub unsure: bool,
}

/// Converts an extended PSN to the 24-bit PSN on the wire.
pub(crate) fn show(psn: i64) -> Psn {
    Psn::wrapping((psn & 0xFF_FFFF) as u32)
}

impl Requests {
    /// Whether any request was seen.
    pub fn seen(&self) -> bool {
        self.next.is_some()
    }

    /// Extends `psn` to 64 bits, choosing the value nearest to the newest requests.
    pub fn unwrapped(&self, psn: Psn) -> i64 {
        self.high + i64::from(psn.ahead_of(show(self.high)))
    }

    /// The oldest PSN that is remembered.
    pub fn oldest(&self) -> i64 {
        self.log.oldest().map_or(self.high, |(first, _)| first)
    }

    /// The request that covers this PSN, with its first PSN. For a READ whose MTU is not known, only its first PSN
    /// counts.
    pub fn at(&self, psn: i64) -> Option<(i64, &Request)> {
        let (first, request) = self.log.until(psn)?;
        (psn - first < request.span(self.mtu).unwrap_or(1)).then_some((first, request))
    }

    /// The request whose first PSN is `first`.
    pub fn at_mut(&mut self, first: i64) -> Option<&mut Request> {
        self.log.get_mut(first)
    }

    /// The last request before `psn`, if it is a READ with an unknown number of packets.
    fn open_read(&self, psn: i64) -> Option<(i64, &Request)> {
        let last = self.log.until(psn - 1);
        last.filter(|(_, request)| request.span(self.mtu).is_none())
    }

    /// The READ with an unknown number of packets that may have the response `psn`.
    pub fn open_read_at(&self, psn: i64) -> Option<(i64, &Request)> {
        let (first, request) = self.open_read(psn + 1)?;
        (psn - first < i64::from(request.read_bytes().div_ceil(MTUS[0])))
            .then_some((first, request))
    }

    /// An upper bound of the PSNs in use (exclusive).
    pub fn limit(&self) -> i64 {
        let open = self.open_read(self.high);
        let longest =
            open.map(|(first, read)| first + i64::from(read.read_bytes().div_ceil(MTUS[0])));
        longest.map_or(self.high, |end| end.max(self.high))
    }

    /// Whether this answer may belong to requests that were seen and are still remembered.
    pub fn may_answer(&self, answer: &Packet) -> bool {
        if self.next.is_none() {
            return false;
        }
        let psn = self.unwrapped(answer.bth.psn);
        match answer.bth.opcode {
            // A NAK may be about a request that was lost before the tap.
            Opcode::RC_ACK if answer.is_sequence_nak() => {
                return psn >= self.oldest() - BEHIND && psn < self.limit();
            }
            Opcode::RC_ACK => return psn >= self.oldest() && psn < self.limit(),
            _ => {}
        }
        let found = self.at(psn).or_else(|| self.open_read_at(psn));
        found.is_some_and(|(_, request)| request.operation.is_answered_by(answer.bth.opcode))
    }

    /// Whether requests may be known at this time that the tap does not have: there was a packet about others before
    /// the first one seen, not long ago. So one that came until then may have been sent before.
    pub fn lacks_some(&self, time: Time, at: Place) -> bool {
        let before = at.stray.max(self.before);
        before.is_some_and(|before| time <= before.saturating_add(CROSSING))
    }

    /// Records that a resend may begin at `psn`.
    pub fn add_point(&mut self, psn: i64) {
        self.points.insert(psn);
        if self.points.len() > POINTS {
            self.points.pop_first();
        }
    }

    /// Records that a packet has acknowledged all PSNs before `psn`.
    pub fn acknowledge(&mut self, psn: i64, packet: &Packet) {
        if self.acked.is_none_or(|acked| acked < psn) {
            self.acked_at = packet.time;
            self.acked_dscp = Some(packet.dscp());
            self.asked_back = None;
        }
        self.acked = Some(self.acked.map_or(psn, |acked| acked.max(psn)));
        self.add_point(psn);
        self.nak = self.nak.filter(|nak| nak.psn >= psn);
        self.rnr = self.rnr.filter(|rnr| rnr.psn >= psn);
    }

    /// Takes the MTU from the size of a packet that fills it.
    pub fn learn_mtu(&mut self, bytes: u32) {
        if self.mtu.is_none() && MTUS.contains(&bytes) {
            self.mtu = Some(bytes);
            let end = self.log.newest();
            let end = end.and_then(|(first, request)| Some(first + request.span(self.mtu)?));
            let high = end.map_or(self.high, |end| end.max(self.high));
            // What comes next came behind a READ whose end was not known.
            if self.next == Some(self.high) {
                self.next = Some(high);
            }
            self.high = high;
        }
    }

    /// The first PSN in `from..until` that belongs to no request seen.
    pub fn first_unseen(&self, from: i64, until: i64) -> Option<i64> {
        let mut psn = from;
        while psn < until {
            match self.at(psn) {
                // How many PSNs a READ takes up may not be known: then nothing behind it is.
                Some((first, request)) => psn = first + request.span(self.mtu)?,
                None => return Some(psn),
            }
        }
        None
    }

    /// Number of messages that end in `from..=through`, and how many of them invalidate a key; `None` when a request
    /// in that range was not seen.
    pub fn messages(&self, from: i64, through: i64) -> Option<(u32, u32)> {
        let (mut psn, mut messages, mut invalidating) = (from, 0, 0);
        while psn <= through {
            let (first, request) = self.at(psn)?;
            psn = first + request.span(self.mtu)?;
            messages += u32::from(request.place.ends());
            let invalidates = [Opcode::RC_SEND_LAST_INV, Opcode::RC_SEND_ONLY_INV];
            invalidating += u32::from(invalidates.contains(&request.opcode));
        }
        Some((messages, invalidating))
    }

    /// The first request in `from..=through` that has responses of its own, of which some up to `through` were not seen:
    /// its PSN and opcode.
    pub fn unanswered(&self, from: i64, through: i64) -> Option<(i64, Opcode)> {
        let lacks = |it: &Request| !it.answered && it.next_response <= through;
        let mut range = self.log.within(from, through);
        let (psn, found) = range.find(|(_, it)| it.operation.has_response() && lacks(it))?;
        Some((psn, found.opcode))
    }

    /// Number of requests in `from..=through` that ask for an acknowledgement.
    pub fn acks_asked(&self, from: i64, through: i64) -> usize {
        let range = self.log.within(from, through.max(from));
        range.filter(|(_, request)| request.ack_req).count()
    }

    /// Judges a request.
    pub fn see(&mut self, packet: &Packet, at: Place, out: &mut Findings) {
        let Some((operation, place)) = operation::request(packet.bth.opcode) else {
            return;
        };
        self.packet_length(packet, place, operation, out);
        let reliable = Service::of(packet.bth.opcode) == Service::Rc;
        if !self.is_near(packet, place, out) {
            // Where it belongs is not known, as of one that is broken.
            self.broken += u64::from(at.side == Side::Sender);
            return;
        }
        let dscp = packet.dscp();
        if let Some(before) = self.dscp.replace(dscp)
            && before != dscp
        {
            out.remark(Habit::DscpChanges, || {
                let (psn, qpn) = (packet.bth.psn, packet.bth.dest_qp);
                format!("PSN {psn} to QP {qpn} with DSCP {dscp}, {before} before")
            });
        }
        let psn = match self.next {
            None => {
                let psn = (1 << 40) + i64::from(packet.bth.psn.get());
                self.high = psn;
                self.next = Some(psn);
                self.add_point(psn);
                psn
            }
            Some(next) => {
                let psn = self.unwrapped(packet.bth.psn);
                if psn < self.oldest() {
                    self.before = Some(packet.time);
                }
                if reliable {
                    self.order(psn, next, packet, at, out);
                } else if packet.orderly {
                    out.check(Rule::UcOrder, psn >= next, || {
                        format!("PSN {} behind PSN {}", show(psn), show(next - 1))
                    });
                }
                psn
            }
        };
        self.broken = 0;
        if psn >= self.high && at.side == Side::Receiver && packet.is_marked() {
            self.marked.get_or_insert((psn, packet.time));
        }
        let end = self.log(psn, packet, operation, place, reliable, out);
        self.next = Some(end);
        self.high = self.high.max(end);
    }

    /// Whether the PSN belongs to the known connection or starts a new one.
    ///
    /// If the PSN does not belong to the known connection but may begin a new one, the state is reset for it.
    fn is_near(&mut self, packet: &Packet, place: operation::Place, out: &mut Findings) -> bool {
        if self.next.is_none() {
            return true;
        }
        let psn = self.unwrapped(packet.bth.psn);
        let near = psn <= self.high + FAR && psn >= self.oldest() - FAR;
        let over = self.fatal.is_some()
            && place.begins()
            && (psn > self.high || self.at(psn).is_some_and(|(_, it)| !it.is(packet)));
        if near && !over {
            if psn >= self.high
                && let Some(acked) = self.acked
            {
                out.check(Rule::PsnWindow, psn - acked < HALF, || {
                    format!("PSN {} is 2^23 or more ahead of {}", show(psn), show(acked))
                });
            }
            return true;
        }
        if place.begins() {
            out.remark(Habit::NewConnection, || {
                format!("PSN {} after {}", show(psn), show(self.high - 1))
            });
        } else {
            let oldest = self.acked.unwrap_or_else(|| self.oldest());
            let within = psn > self.high && psn - oldest < HALF;
            if !out.check(Rule::PsnWindow, within, || {
                format!(
                    "{} with PSN {}: the oldest that is not acknowledged is {}, the newest {}, and no message begins here",
                    packet.bth.opcode,
                    show(psn),
                    show(oldest),
                    show(self.high - 1)
                )
            }) {
                return false;
            }
            out.remark(Habit::GapBeforeTap, || {
                format!("PSN {} to {}", show(self.high), show(psn - 1))
            });
        }
        *self = Self::default();
        true
    }

    /// Judges the position of `psn` relative to the previous request.
    fn order(&mut self, psn: i64, next: i64, packet: &Packet, at: Place, out: &mut Findings) {
        let own = at.side == Side::Sender;
        let says = |own: bool, holds: bool, out: &mut Findings| {
            // A frame that another rule names is not named twice.
            if own && !out.named {
                out.check(Rule::PsnOrder, holds, || {
                    format!("PSN {} where {} is next", show(psn), show(next))
                });
            }
        };
        match psn.cmp(&next) {
            Ordering::Equal => {
                says(own, true, out);
                if self.resending && psn < self.high {
                    out.remark(Habit::ResendWhole, || {
                        format!("PSN {} again behind {}", show(psn), show(psn - 1))
                    });
                }
                self.resending &= psn < self.high;
            }
            Ordering::Greater if psn > self.high => {
                self.resending = false;
                let read = self.open_read(self.high).filter(|_| next == self.high);
                // One MTU at most: a READ has two responses or more here, and twice the MTU would make fewer.
                let fitting = read.and_then(|(first, read)| {
                    let packets = |mtu| i64::from(read.read_bytes().div_ceil(mtu));
                    MTUS.into_iter().find(|mtu| packets(*mtu) == psn - first)
                });
                let fits = fitting.is_some();
                // Nothing is lost in front of a sender's own port.
                if let Some(mtu) = fitting.filter(|_| own) {
                    self.learn_mtu(mtu);
                }
                // The missing ones were broken, which other rules have said.
                let broken = psn - next <= self.broken as i64;
                says(own, fits || broken, out);
                // While it waits for what it has refused, a responder drops the rest in silence.
                let refused = self.rnr.is_some() || self.nak.is_some_and(|nak| !nak.resent);
                if !fits && at.side == Side::Receiver && self.gap.is_none() && !refused {
                    self.gap = Some(Gap {
                        psn: self.high,
                        behind: psn,
                        since: packet.time,
                        filled: None,
                    });
                }
                if !fits && !own {
                    self.lossy = true;
                    out.remark(Habit::GapBeforeTap, || {
                        format!("PSN {} to {}", show(next), show(psn - 1))
                    });
                }
            }
            // A resend skips what an answer has acknowledged in the meantime and goes on after it, or with the READ of
            // which it is a part, or with a READ or atomic whose own answer it has overtaken.
            Ordering::Greater => {
                let begins = self.at(psn).filter(|(first, _)| *first == psn);
                let span = begins.and_then(|(_, it)| it.span(self.mtu)).unwrap_or(1);
                let overtaken = begins.is_some_and(|(_, it)| it.operation.has_response());
                let end = if overtaken { i64::MAX } else { psn + span };
                let answered = self.points.range(psn..end).next().is_some();
                says(own && !self.unsure, answered, out);
            }
            Ordering::Less => {
                self.resending = true;
                self.resends += 1;
                self.quiet += 1;
                if self.quiet >= OFTEN {
                    out.remark(Habit::Unanswered, || format!("PSN {} again", show(psn)));
                }
                if packet.orderly {
                    self.resend(psn, packet.time, at, out);
                }
            }
        }
        if !(self.gap.as_mut()).is_none_or(|gap| gap.arrives(psn, packet.time)) {
            self.gap = None;
        }
        self.waits(psn, packet, at, out);
        if let Some(nak) = &mut self.nak
            && psn == nak.psn
        {
            nak.resent = true;
        }
    }

    /// Judges the place where a resend begins. Where requests are lost before the tap, its first packets may be, and
    /// then it begins anywhere.
    fn resend(&mut self, psn: i64, time: Time, at: Place, out: &mut Findings) {
        let own = at.side == Side::Sender;
        let remembered = self.points.first().copied().unwrap_or(psn);
        let Some(acked) = self.acked else { return };
        if self.unsure || psn < self.oldest() || psn < remembered {
            return;
        }
        let unanswered = (self.at(psn)).is_some_and(|(_, it)| it.operation.has_response());
        let behind = !own && (self.lossy || psn >= acked);
        // Its first packets may be broken, which other rules have said.
        let broken = self.broken as i64;
        let asked = self.points.range(psn - broken..=psn).next().is_some();
        // What was acknowledged since may have been on its way, unless that is long ago.
        let crosses = time <= self.acked_at.saturating_add(CROSSING)
            || at.paused.is_some_and(|paused| paused >= self.acked_at);
        let passed = self.passed.is_some_and(|passed| psn <= passed);
        // Of a READ that was asked again, the requester may have waited for another answer than the one that came. It
        // takes neither this one nor the ACK behind it, and goes on when it has its answer.
        let behind_read = self.at(psn - 1).is_some_and(|(_, it)| {
            let again = it.operation.has_response() && it.asked.len() > 1;
            again && it.replied.is_some_and(|at| at >= self.acked_at)
        });
        let asked = asked && (psn >= acked || crosses || passed || behind_read || !own);
        let holds = asked || unanswered || behind || self.asked_back == Some(psn);
        out.check(Rule::ResendStart, holds, || {
            let before = self.points.range(..=psn).next_back();
            let after = self.points.range(psn..).next();
            let near: Vec<_> = before.into_iter().chain(after).map(|it| show(*it).to_string()).collect();
            format!(
                "goes back to PSN {}: no answer asked for it; {} may be sent again, and all before {} is acknowledged",
                show(psn),
                near.join(" or "),
                show(acked)
            )
        });
    }

    /// Judges the waiting time after an RNR NAK.
    fn waits(&mut self, psn: i64, packet: &Packet, here: Place, out: &mut Findings) {
        let Some(rnr) = self.rnr.filter(|rnr| rnr.judged) else {
            return;
        };
        if psn <= rnr.psn {
            self.rnr = None;
            if psn == rnr.psn && packet.orderly {
                let at = packet.time.saturating_add(packet.resolution);
                let text = || {
                    format!(
                        "PSN {} again {} after its RNR NAK, which asked for {}",
                        show(psn),
                        packet.time.saturating_since(rnr.from),
                        rnr.until.saturating_since(rnr.from)
                    )
                };
                let waits = at >= rnr.until;
                let crosses = packet.time < rnr.from.saturating_add(here.wire_wait);
                if here.side == Side::Sender {
                    out.check(Rule::RnrWait, waits || crosses, text);
                } else if !waits {
                    out.remark(Habit::ResendInRnrWait, text);
                }
            }
        } else if psn >= self.high && packet.time < rnr.until {
            let since = packet.time.saturating_since(rnr.from);
            // Requests that were already on their way when the NAK arrived are not the sender's fault.
            if since > rnr.until.saturating_since(rnr.from) / 10 {
                out.remark(Habit::SendsInRnrWait, || {
                    format!(
                        "PSN {} {since} after an RNR NAK of PSN {}",
                        show(psn),
                        show(rnr.psn)
                    )
                });
            }
        }
    }

    fn packet_length(
        &mut self,
        packet: &Packet,
        place: operation::Place,
        operation: Operation,
        out: &mut Findings,
    ) {
        use operation::Place;
        if !operation.has_data() {
            return;
        }
        let (bytes, opcode) = (packet.payload, packet.bth.opcode);
        if matches!(place, Place::First | Place::Middle) {
            self.learn_mtu(bytes);
        }
        let most = self.mtu.unwrap_or(MTUS[4]);
        let (holds, right) = match place {
            Place::First | Place::Middle => (Some(bytes) == self.mtu, "exactly"),
            Place::Last => ((1..=most).contains(&bytes), "1 to"),
            Place::Only => (bytes <= most, "at most"),
        };
        out.check(Rule::PacketLength, holds, || {
            format!("{opcode} with {bytes} B of payload: {right} {most} would be right")
        });
    }

    /// Compares the packet with what is known about its message, and remembers it. Returns the PSN after it.
    fn log(
        &mut self,
        psn: i64,
        packet: &Packet,
        operation: Operation,
        place: operation::Place,
        reliable: bool,
        out: &mut Findings,
    ) -> i64 {
        let mtu = self.mtu;
        if reliable && let Some((first, known)) = self.at(psn) {
            let end = first + known.span(mtu).unwrap_or(1);
            let same = if first == psn {
                known.is(packet)
            } else {
                known.is_rest(psn - first, mtu, packet)
            };
            out.check(Rule::ResendSame, same, || {
                format!(
                    "PSN {} is {} of {} B now, and was {} of {} B{}",
                    show(psn),
                    packet.bth.opcode,
                    packet.length(),
                    known.opcode,
                    known.length(),
                    if first == psn {
                        ""
                    } else {
                        ", the PSN within it"
                    },
                )
            });
            if first != psn && same {
                out.remark(Habit::ReadFromMiddle, || {
                    format!("PSN {} of the READ {}", show(psn), show(first))
                });
            }
            if same
                && known
                    .content
                    .zip(packet.content)
                    .is_some_and(|(was, is)| was != is)
            {
                out.remark(Habit::ResendOtherPayload, || {
                    format!("PSN {}, {}", show(psn), packet.bth.opcode)
                });
            }
            if let Some(known) = self.log.get_mut(first)
                && same
            {
                known.asked.push(psn);
            }
            return end;
        }
        let remaining = self.message(psn, packet, operation, place, out);
        if reliable && operation.has_data() && place.ends() && !packet.bth.ack_req {
            out.remark(Habit::NoAckRequest, || {
                format!("PSN {}, {}", show(psn), packet.bth.opcode)
            });
        }
        let request = Request {
            opcode: packet.bth.opcode,
            operation,
            place,
            payload: packet.payload,
            ext: packet.ext,
            content: packet.content,
            ack_req: packet.bth.ack_req,
            resends: self.resends,
            overtaken: psn < self.high,
            answered: false,
            remaining,
            since: packet.time,
            asked: vec![psn],
            runs: 0,
            replied: None,
            next_response: psn,
            original: None,
        };
        let end = psn + request.span(mtu).unwrap_or(1);
        self.log.insert(psn, request);
        let behind = self.acked.map_or(i64::MIN, |acked| acked - BEHIND);
        while let Some((first, oldest)) = self.log.oldest()
            && (self.log.len() > REMEMBERED
                || first + oldest.span(mtu).unwrap_or(i64::MAX >> 1) < behind)
        {
            self.log.forget_oldest();
        }
        end
    }

    /// Judges a new packet's place in its message. Returns the number of bytes of the message that are still to come,
    /// if known.
    fn message(
        &self,
        psn: i64,
        packet: &Packet,
        operation: Operation,
        place: operation::Place,
        out: &mut Findings,
    ) -> Option<u32> {
        let opcode = packet.bth.opcode;
        let before = self.at(psn - 1).map(|(_, request)| request);
        if let Some(before) = before {
            let goes_on = !before.place.ends();
            let holds = goes_on != place.begins() && (!goes_on || before.operation == operation);
            out.check(Rule::MessageSequence, holds, || {
                format!("{opcode} after {}", before.opcode)
            });
        }
        if operation != Operation::Write {
            return None;
        }
        let left = match (place.begins(), packet.ext.reth) {
            (true, reth) => reth?.dma_len,
            (false, _) => {
                before
                    .filter(|before| before.operation == operation)?
                    .remaining?
            }
        };
        let holds = match place.ends() {
            true => packet.payload == left,
            false => packet.payload < left,
        };
        out.check(Rule::MessageLength, holds, || {
            format!(
                "{opcode} with {} B of payload: the RETH leaves {left} B",
                packet.payload
            )
        });
        left.checked_sub(packet.payload)
    }
}

impl Request {
    /// The MTU at which the last packet of this READ has so many others before it and so many bytes.
    pub fn mtu_by_last(&self, before: i64, payload: u32) -> Option<u32> {
        let left = |mtu: u32| i64::from(self.read_bytes()) - before * i64::from(mtu);
        MTUS.into_iter()
            .find(|mtu| left(*mtu) == i64::from(payload) && (1..=*mtu).contains(&payload))
    }

    /// Whether `packet` repeats this request.
    fn is(&self, packet: &Packet) -> bool {
        self.opcode == packet.bth.opcode && self.payload == packet.payload && self.ext == packet.ext
    }

    /// Whether `packet` asks for the rest of this READ, from its packet number `at` on.
    fn is_rest(&self, at: i64, mtu: Option<u32>, packet: &Packet) -> bool {
        let (Some(whole), Some(rest), Some(mtu)) = (self.ext.reth, packet.ext.reth, mtu) else {
            return false;
        };
        let skipped = at as u64 * u64::from(mtu);
        packet.bth.opcode == Opcode::RC_READ_REQUEST
            && rest.va == whole.va.wrapping_add(skipped)
            && rest.rkey == whole.rkey
            && u64::from(rest.dma_len) + skipped == u64::from(whole.dma_len)
    }
}
