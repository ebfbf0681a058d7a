//! What became of each request at the end that answered it, as far as its answers show: taken, refused, or never
//! received.

use xoff_sim::wire::{NakCode, Psn, Syndrome};

use super::connect::Connection;
use super::packet::{Answer, Class, Packet, Request};

/// What became of a request that was in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Taken, or nothing shows that it was not.
    Taken,
    /// It was lost behind the tap.
    Lost,
    /// There was no receive buffer.
    NotReady,
    /// It was acknowledged and not counted, because there was no key to invalidate. The QP failed at it.
    Uncounted,
    /// The QP failed at it.
    Refused(Syndrome),
}

/// A request, and what is to be done with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    /// Its place among the packets.
    pub at: usize,
    pub request: Request,
    /// Whether it is in order for the first time.
    pub new: bool,
    /// Whether the responder got it.
    pub fed: bool,
    /// Bytes of the receive buffer that has to be posted before.
    pub receive: Option<u32>,
    /// Whether its key was refused.
    pub denied: bool,
    /// Whether it was taken: the keys that it has permit it.
    pub taken: bool,
}

/// The end of a message.
#[derive(Debug, Clone, Copy)]
struct Complete {
    /// Its last PSN.
    psn: Psn,
    /// The place of its last packet.
    at: usize,
}

/// All requests of a connection.
#[derive(Debug, Default)]
pub(super) struct History {
    pub planned: Vec<Planned>,
    complete: Vec<Complete>,
    /// The PSN that is expected behind each taken request, with its place.
    expected: Vec<(usize, Psn)>,
    /// The place of the packet from which on nothing can be judged, because one before it is not in the capture
    /// although the responder got it.
    pub lost_at_tap: Option<usize>,
    /// Requests that were lost behind the tap.
    pub lost_behind: u64,
    /// Number of messages before the first request.
    pub msn: u32,
    /// The PSN of a SEND that was acknowledged and not counted.
    pub uncounted: Option<Psn>,
}

/// The requests and answers of a connection, with their places.
struct Seen {
    requests: Vec<(usize, Request)>,
    answers: Vec<(usize, Answer)>,
    mtu: u32,
}

impl History {
    pub fn of(connection: &Connection, packets: &[Packet]) -> Self {
        let requests = connection.requests.iter();
        let answers = connection.answers.iter();
        let seen = Seen {
            requests: requests
                .filter_map(|at| Some((*at, packets[*at].request?)))
                .collect(),
            answers: answers
                .filter_map(|at| Some((*at, packets[*at].answer.clone()?)))
                .collect(),
            mtu: connection.mtu,
        };
        let mut history = Self::default();
        let mut expected = connection.first_psn;
        let mut failed = false;
        for (place, &(at, request)) in seen.requests.iter().enumerate() {
            let ahead = request.psn.ahead_of(expected);
            if ahead > 0 && !failed && seen.was_lost_at_tap(place, expected) {
                history.lost_at_tap = Some(at);
                break;
            }
            let mut planned = Planned {
                at,
                request,
                new: ahead == 0 && !failed,
                fed: true,
                receive: None,
                denied: false,
                taken: false,
            };
            if planned.new {
                let complete = history.complete.len() as u32;
                match seen.fate(place, complete) {
                    Fate::Uncounted => {
                        failed = true;
                        planned.denied = true;
                        planned.receive = seen.buffer(place);
                        history.uncounted = Some(request.psn);
                        history.expected.push((at, request.psn.advance(1)));
                    }
                    Fate::Lost => {
                        planned.fed = false;
                        history.lost_behind += 1;
                    }
                    Fate::NotReady => {}
                    Fate::Refused(syndrome) => {
                        failed = true;
                        planned.denied = syndrome == Syndrome::nak(NakCode::RemoteAccessError);
                        planned.receive = seen.buffer(place);
                    }
                    Fate::Taken => {
                        planned.taken = true;
                        planned.receive = seen.buffer(place);
                        expected = request.psn.advance(request.psns(seen.mtu));
                        history.expected.push((at, expected));
                        if request.ends() {
                            let psn = expected.advance(Psn::MAX.get());
                            history.complete.push(Complete { psn, at });
                        }
                    }
                }
            }
            history.planned.push(planned);
        }
        history.end_where_the_tap_lost(&seen);
        history.msn = (connection.msn).unwrap_or_else(|| history.messages_before(&seen));
        history
    }

    /// Ends at the first answer that acknowledges what no request in the capture had.
    fn end_where_the_tap_lost(&mut self, seen: &Seen) {
        let lost = |(at, answer): &&(usize, Answer)| self.is_premature(answer, *at);
        let Some((answer, _)) = seen.answers.iter().find(lost) else {
            return;
        };
        let end = self.lost_at_tap.map_or(*answer, |at| at.min(*answer));
        self.planned.retain(|it| it.at < end);
        self.lost_at_tap = Some(end);
    }

    /// The number of messages before the first request, which the first answer shows: 0 if it may be.
    fn messages_before(&self, seen: &Seen) -> u32 {
        let counted = seen.answers.iter().find_map(|(at, answer)| {
            let msn = answer.msn?.get();
            Some((*at, answer, msn))
        });
        counted.map_or(0, |(at, answer, msn)| {
            let (least, most) = self.messages(answer, at);
            match (least..=most).contains(&msn) {
                true => 0,
                false => msn.wrapping_sub(least) & Psn::MAX.get(),
            }
        })
    }

    /// Whether an answer after the packet at a place acknowledges what was not taken by then.
    pub fn is_premature(&self, answer: &Answer, after: usize) -> bool {
        let taken = self.expected.partition_point(|(at, _)| *at <= after);
        let expected = taken.checked_sub(1).map(|last| self.expected[last].1);
        expected.is_some_and(|expected| {
            let ahead = answer.psn.ahead_of(expected);
            ahead > 0 || ahead == 0 && !answer.refuses()
        })
    }

    /// How many messages were complete with the packet at a place.
    pub fn complete_at(&self, at: usize) -> u32 {
        self.complete.partition_point(|it| it.at <= at) as u32
    }

    /// How many messages an answer at a place may count, from the first request on: those up to its PSN, and all that
    /// were complete before it.
    pub fn messages(&self, answer: &Answer, at: usize) -> (u32, u32) {
        let most = self.complete.partition_point(|it| it.at < at);
        let acknowledged = |complete: &Complete| answer.acknowledges(complete.psn);
        let before = &self.complete[..most];
        let least = before
            .iter()
            .rposition(acknowledged)
            .map_or(0, |last| last + 1);
        (least as u32, most as u32)
    }
}

impl Seen {
    /// The answers behind a place.
    fn behind(&self, at: usize) -> &[(usize, Answer)] {
        &self.answers[self.answers.partition_point(|(it, _)| *it <= at)..]
    }

    /// What became of a request in order: the first answer behind it that depends on it shows it.
    /// `complete` is the number of messages before it.
    fn fate(&self, place: usize, complete: u32) -> Fate {
        let (at, request) = self.requests[place];
        for (_, answer) in self.behind(at) {
            let own = answer.psn == request.psn;
            match answer.class() {
                Class::Ack if own && request.invalidates.is_some() => {
                    let counted = answer.msn.is_none_or(|msn| msn.get() != complete);
                    return if counted {
                        Fate::Taken
                    } else {
                        Fate::Uncounted
                    };
                }
                _ if answer.acknowledges(request.psn) => return Fate::Taken,
                Class::SequenceNak if own => return Fate::Lost,
                Class::RnrNak if own => return Fate::NotReady,
                Class::FatalNak if own => {
                    return Fate::Refused(answer.syndrome.unwrap_or_default());
                }
                _ => {}
            }
        }
        Fate::Taken
    }

    /// Whether the responder took a request although one before it is not in the capture: it was acknowledged before
    /// the missing one came.
    fn was_lost_at_tap(&self, place: usize, missing: Psn) -> bool {
        let (at, request) = self.requests[place];
        let later = &self.requests[place..];
        let came = later.iter().find(|(_, it)| it.covers(missing, self.mtu));
        let until = came.map_or(usize::MAX, |(at, _)| *at);
        let mut answers = self.behind(at).iter().take_while(|(it, _)| *it < until);
        answers.any(|(_, answer)| !answer.refuses() && answer.acknowledges(request.psn))
    }

    /// The buffer that a request needs. A SEND that was refused because it is too long shows how long it may be.
    fn buffer(&self, place: usize) -> Option<u32> {
        let (at, request) = self.requests[place];
        if !request.needs_receive() {
            return None;
        }
        if !request.is_send() {
            return Some(u32::MAX);
        }
        let too_long = Some(Syndrome::nak(NakCode::RemoteOperationalError));
        let refusal = (self.behind(at).iter()).find(|(_, answer)| answer.syndrome == too_long);
        let mut bytes = 0;
        let mut next = request.psn;
        for (_, packet) in &self.requests[place..] {
            if packet.psn != next {
                continue;
            }
            if refusal.is_some_and(|(_, answer)| answer.psn == packet.psn) {
                return Some(bytes);
            }
            bytes += packet.payload;
            next = next.advance(1);
            if packet.ends() {
                break;
            }
        }
        Some(u32::MAX)
    }
}
