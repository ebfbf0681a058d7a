//! Judges the answers of a responder against the requests that passed the tap.

use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::{AethRepr, NakCode, Opcode, RnrTimer, SyndromeMeaning};

use crate::operation::{self, Operation, Place};
use crate::packet::Packet;
use crate::report::Findings;
use crate::requests::{self, Counted, Nak, Requests, RnrWait, show};
use crate::tap::Side;
use crate::{Habit, Rule};

impl Requests {
    /// Judges an answer to these requests. `at`: where the tap is, as seen from the requests.
    pub fn answer(&mut self, packet: &Packet, at: requests::Place, out: &mut Findings) {
        let psn = self.unwrapped(packet.bth.psn);
        self.quiet = 0;
        if let Some(fatal) = self.fatal {
            let nak = packet.bth.opcode == Opcode::RC_ACK
                && packet.ext.aeth.is_some_and(|aeth| aeth.syndrome.0 >= 0x20);
            out.check(Rule::AfterFatalNak, nak || psn < fatal, || {
                format!(
                    "{} for PSN {}: the NAK of PSN {} ended the connection",
                    packet.bth.opcode,
                    show(psn),
                    show(fatal)
                )
            });
        }
        match (packet.bth.opcode, packet.ext.aeth) {
            (Opcode::RC_ACK, Some(aeth)) => self.acknowledged(psn, aeth, packet, at, out),
            (Opcode::RC_ATOMIC_ACK, _) => self.atomic(psn, packet, at, out),
            _ => {
                if let Some(place) = operation::response(packet.bth.opcode) {
                    self.read(psn, place, packet, at, out);
                }
            }
        }
    }

    fn acknowledged(
        &mut self,
        psn: i64,
        aeth: AethRepr,
        packet: &Packet,
        at: requests::Place,
        out: &mut Findings,
    ) {
        let meaning = aeth.syndrome.meaning();
        let assigned = !matches!(
            meaning,
            SyndromeMeaning::Reserved | SyndromeMeaning::Nak(NakCode::InvalidRdRequest)
        );
        if !out.check(Rule::Syndrome, assigned, || {
            format!(
                "syndrome {:#04x}: RC has ACK, RNR NAK, and NAK codes 0 to 3",
                aeth.syndrome.0
            )
        }) {
            return;
        }
        if meaning == SyndromeMeaning::Nak(NakCode::PsnSequenceError) {
            self.asked_back = Some(psn);
        }
        let msn = aeth.msn.get();
        let sequence = meaning == SyndromeMeaning::Nak(NakCode::PsnSequenceError);
        if !sequence {
            let limit = self.limit();
            if !out.check(Rule::AckBeyondSent, psn < limit, || {
                format!(
                    "{} for PSN {}: the newest sent is {}",
                    aeth.syndrome,
                    show(psn),
                    show(limit - 1)
                )
            }) {
                return;
            }
        }
        let positive = matches!(meaning, SyndromeMeaning::Ack(_));
        let fatal = matches!(meaning, SyndromeMeaning::Nak(_)) && !sequence;
        // An ACK acknowledges everything up to its own PSN, a NAK everything before its PSN.
        let through = if positive { psn } else { psn - 1 };
        if let Some(acked) = self.acked {
            let holds = through + 1 >= acked;
            // What has another DSCP may have another class, which does not wait for it.
            let passed = self.acked_dscp.is_some_and(|dscp| dscp != packet.dscp());
            if packet.orderly && !passed && !(fatal && self.asked_data_again(psn)) {
                out.check(Rule::AckBack, holds, || {
                    format!(
                        "{} for PSN {}: all up to {} was acknowledged before",
                        aeth.syndrome,
                        show(psn),
                        show(acked - 1)
                    )
                });
            }
            if !holds {
                if fatal {
                    self.fatal = Some(psn);
                }
                return;
            }
        }
        if sequence && !self.first_missing(psn, out) {
            self.gap = None;
            return;
        }
        let counts = if positive {
            self.arrived(through, at, out);
            self.response_first(psn, packet.orderly, at, out)
        } else {
            self.gap_is_told(out);
            true
        };
        self.passes(through, at, out);
        self.covers(through, packet.orderly, at, out);
        if counts {
            self.count(through, through, msn, out);
        }
        match meaning {
            SyndromeMeaning::Ack(_) => {
                if self.acked == Some(psn + 1) {
                    out.remark(Habit::AckAgain, || format!("PSN {} MSN {msn}", show(psn)));
                } else if let Some(acked) = self.acked {
                    let asked = self.acks_asked(acked, psn);
                    if asked > 1 {
                        out.remark(Habit::AckCoalesced, || {
                            format!("PSN {} answers {asked} requests that asked", show(psn))
                        });
                    }
                }
            }
            SyndromeMeaning::RnrNak(timer) => {
                self.wait_for_rnr(psn, timer, packet);
            }
            SyndromeMeaning::Nak(NakCode::PsnSequenceError) => {
                self.sequence_nak(psn, packet.orderly, out)
            }
            SyndromeMeaning::Nak(code) => {
                self.fatal = Some(psn);
                out.remark(Habit::FatalNak, || format!("{code} at PSN {}", show(psn)));
                if code == NakCode::RemoteOperationalError {
                    out.remark(Habit::OperationalForLength, || format!("PSN {}", show(psn)));
                }
            }
            SyndromeMeaning::Reserved => {}
        }
        self.acknowledge(through + 1, packet);
        // Out of order it may be older than the one that was missed.
        self.unsure &= !packet.orderly;
    }

    /// Notes how long a request may not be sent again.
    fn wait_for_rnr(&mut self, psn: i64, timer: RnrTimer, packet: &Packet) {
        let wait = Duration::from_ns(u64::try_from(timer.duration().as_nanos()).unwrap_or(0));
        // A request that an earlier NAK asked for may be on its way, and an earlier RNR NAK may be unknown.
        let asked = (self.nak).is_some_and(|nak| nak.psn == psn && !nak.resent);
        let wait = RnrWait {
            psn,
            from: packet.time,
            until: packet.time.saturating_add(wait),
            judged: packet.orderly && !self.unsure && !asked,
            resends: self.resends,
        };
        // One more about the same request, while it waits, need not begin the wait anew.
        let runs = (self.rnr).filter(|rnr| rnr.psn == psn && packet.time < rnr.until);
        self.rnr = runs.or(Some(wait));
    }

    /// Whether a PSN is of a READ or an atomic that was asked for again: its memory may not be there any more, although
    /// it was answered, and what is behind it, too.
    fn asked_data_again(&self, psn: i64) -> bool {
        (self.at(psn)).is_some_and(|(_, it)| it.operation.has_response() && it.asked.len() > 1)
    }

    /// Judges the PSN of a NAK for a sequence error. Returns whether it holds.
    fn first_missing(&mut self, psn: i64, out: &mut Findings) -> bool {
        let from = self.acked.unwrap_or(psn).max(self.oldest());
        let missing = self.first_unseen(from, psn);
        out.check(
            Rule::NakFirstMissing,
            psn < self.limit() && missing.is_none(),
            || match missing {
                Some(first) => format!(
                    "NAK of PSN {}: {} is missing before it",
                    show(psn),
                    show(first)
                ),
                None => format!(
                    "NAK of PSN {}: nothing behind it was sent, the newest is {}",
                    show(psn),
                    show(self.limit() - 1)
                ),
            },
        )
    }

    fn sequence_nak(&mut self, psn: i64, orderly: bool, out: &mut Findings) {
        if self.rnr.take_if(|rnr| rnr.psn == psn).is_some() {
            out.remark(Habit::NakAfterRnr, || format!("PSN {}", show(psn)));
        }
        let again = self.nak.is_some_and(|nak| nak.psn == psn && !nak.resent);
        if orderly {
            out.check(Rule::NakOnce, !again, || {
                format!(
                    "NAK of PSN {} again, which was not sent again since the NAK before",
                    show(psn)
                )
            });
        }
        self.nak = Some(Nak {
            psn,
            resent: false,
            resends: self.resends,
        });
    }

    /// When the oldest marked request arrived that this answer shows not to have been dropped.
    pub fn confirmed_mark(&mut self, answer: &Packet) -> Option<Time> {
        let psn = self.unwrapped(answer.bth.psn);
        let (marked, time) = self.marked.filter(|(marked, _)| *marked <= psn)?;
        self.marked = None;
        let once = self.at(marked).is_some_and(|(_, it)| it.asked.len() == 1);
        let refused = answer.ext.aeth.is_some_and(|aeth| aeth.syndrome.0 >= 0x20);
        (once && !refused).then_some(time)
    }

    /// Judges that an ACK covers only what has arrived.
    fn arrived(&self, through: i64, at: requests::Place, out: &mut Findings) {
        if at.side != Side::Receiver {
            return;
        }
        let from = self.acked.unwrap_or(i64::MIN).max(self.oldest());
        let missing = self.first_unseen(from, through + 1);
        out.check(Rule::AckOfMissing, missing.is_none(), || {
            format!(
                "ACK of PSN {}: {} has not arrived",
                show(through),
                show(missing.unwrap_or(through))
            )
        });
    }

    /// Judges a plain ACK that has the PSN of a request which has a response of its own. Returns whether it may be.
    fn response_first(
        &mut self,
        psn: i64,
        orderly: bool,
        at: requests::Place,
        out: &mut Findings,
    ) -> bool {
        let Some((first, request)) = self.at(psn).filter(|(_, it)| it.operation.has_response())
        else {
            return true;
        };
        // The answer to a duplicate has the newest PSN, also where the response was lost before the tap.
        let duplicate = !orderly || request.resends != self.resends;
        if request.answered || (at.side != Side::Receiver && duplicate) {
            return true;
        }
        let opcode = request.opcode;
        out.check(Rule::AckPastRead, false, || {
            format!(
                "ACK of PSN {}, {opcode}, in place of its response",
                show(psn)
            )
        });
        if let Some(request) = self.at_mut(first) {
            request.answered = true;
        }
        false
    }

    /// Judges an answer that passes requests which have a response of their own: it covers all PSNs up to `through`.
    fn passes(&mut self, through: i64, at: requests::Place, out: &mut Findings) {
        let from = self.acked.unwrap_or(i64::MIN).max(self.oldest());
        let from = self.at(from).map_or(from, |(first, _)| first);
        while let Some((first, opcode)) = self.unanswered(from, through) {
            let text = || {
                format!(
                    "PSN {} passes {opcode} of PSN {}",
                    show(through),
                    show(first)
                )
            };
            if at.side == Side::Receiver {
                out.check(Rule::AckPastRead, false, text);
            } else {
                out.remark(Habit::ReadPassed, text);
                self.passed = self.passed.max(Some(through));
            }
            if let Some(request) = self.at_mut(first) {
                request.answered = true;
            }
        }
    }

    /// Judges that what was refused was sent again, and that gaps were told, before all up to `through` is answered.
    fn covers(&mut self, through: i64, orderly: bool, at: requests::Place, out: &mut Findings) {
        let nak = self.nak.map(|nak| (nak.psn, nak.resends));
        let rnr = self.rnr.map(|rnr| (rnr.psn, rnr.resends));
        for (psn, resends) in [nak, rnr].into_iter().flatten() {
            if through < psn || !orderly {
                continue;
            }
            // What was overtaken may have come while the NAK was on its way.
            let once = (self.at(psn)).is_none_or(|(_, it)| it.asked.len() == 1 && !it.overtaken);
            let holds = self.resends != resends || !once || self.high <= psn;
            out.check(Rule::NakHeeded, holds, || {
                format!(
                    "an answer for PSN {}: PSN {} was refused, and was not sent again since",
                    show(through),
                    show(psn)
                )
            });
        }
        if let Some(gap) = self.gap.filter(|gap| through >= gap.psn) {
            let behind = self.at(gap.behind);
            let kept = through >= gap.behind && behind.is_some_and(|(_, it)| it.asked.len() == 1);
            gap.acknowledged(kept, at.paused, out);
            self.gap = None;
        }
    }

    /// Records that a NAK was sent.
    fn gap_is_told(&mut self, out: &mut Findings) {
        if self.gap.take().is_some() {
            out.check(Rule::NakOwed, true, String::new);
        }
    }

    /// Judges the MSN of an answer that covers all PSNs up to `through`. It may also count messages up to `most`.
    fn count(&mut self, through: i64, most: i64, msn: u32, out: &mut Findings) {
        let Some((later, _)) = self.messages(through + 1, most) else {
            return;
        };
        if let Some(before) = self.counted {
            if through < before.through {
                return;
            }
            if let Some((messages, invalidating)) = self.messages(before.through + 1, through) {
                let short = |right: u32| right.wrapping_sub(msn) & 0xFF_FFFF;
                let counted = |from: u32| (from + messages) & 0xFF_FFFF;
                let fits = |right: u32| {
                    short(right) <= invalidating || short(right.wrapping_add(later)) <= later
                };
                // After a wrong MSN those behind it may count from it, or from the one that was right.
                let from = before.right.filter(|right| fits(counted(*right)));
                let from = from.unwrap_or(before.msn);
                let right = counted(from);
                let holds = out.check(Rule::Msn, fits(right), || {
                    format!(
                        "MSN {msn} at PSN {}: {right} is right, {messages} messages after MSN {from} at PSN {}",
                        show(through),
                        show(before.through)
                    )
                });
                if (1..=invalidating).contains(&short(right)) {
                    out.remark(Habit::InvalidateUncounted, || {
                        format!("MSN {msn} at PSN {}", show(through))
                    });
                }
                if holds && short(right) > invalidating {
                    return;
                }
                let right = (!holds).then_some(right);
                self.counted = Some(Counted {
                    through,
                    msn,
                    right,
                });
                return;
            }
        }
        if later == 0 {
            self.counted = Some(Counted {
                through,
                msn,
                right: None,
            });
        }
    }

    fn read(
        &mut self,
        psn: i64,
        place: Place,
        packet: &Packet,
        at: requests::Place,
        out: &mut Findings,
    ) {
        if psn < self.oldest() {
            self.before = Some(packet.time);
            return;
        }
        let opcode = packet.bth.opcode;
        if matches!(place, Place::First | Place::Middle) && self.open_read_at(psn).is_some() {
            self.learn_mtu(packet.payload);
        }
        // Without the MTU, the end of a READ says it, or is that of a READ that the tap does not have.
        if self.mtu.is_none()
            && place == Place::Last
            && let Some((first, read)) = self.open_read_at(psn)
        {
            match read.mtu_by_last(psn - first, packet.payload) {
                Some(mtu) => self.learn_mtu(mtu),
                None => return,
            }
        }
        let mtu = self.mtu;
        let found = self.at(psn).or_else(|| self.open_read_at(psn));
        let Some((first, read)) = found.filter(|(_, it)| it.operation.is_answered_by(opcode))
        else {
            if !self.lacks_some(packet.time, at) {
                out.check(Rule::ReadResponse, false, || {
                    format!("{opcode} for PSN {}: no READ with it was sent", show(psn))
                });
            }
            return;
        };
        let start = read.asked.contains(&psn);
        let older = self.lacks_some(read.since, at);
        let again = read.asked.len() > 1 || older;
        // As long as the MTU is unknown, an 'only' response is taken to be one PSN long.
        let last = first + read.span(mtu).unwrap_or(1) - 1;
        let fits = match place {
            Place::First => start && psn != last,
            Place::Only => start && psn == last,
            Place::Middle => psn != last && (!start || again),
            Place::Last => psn == last && (!start || again),
        };
        let rest =
            i64::from(read.read_bytes()) - mtu.map_or(0, |mtu| (psn - first) * i64::from(mtu));
        let bytes = match place {
            Place::First | Place::Middle => mtu.map_or(rest, i64::from),
            Place::Last | Place::Only => rest,
        };
        let holds = fits && i64::from(packet.payload) == bytes;
        out.check(Rule::ReadResponse, holds, || {
            format!(
                "{opcode} for PSN {} with {} B: packet {} of the {} of READ {}, {bytes} B",
                show(psn),
                packet.payload,
                psn - first + 1,
                last - first + 1,
                show(first)
            )
        });
        let next = read.next_response;
        let ordered = psn >= next || read.runs < read.asked.len() || older;
        if packet.orderly {
            out.check(Rule::ReadOrder, ordered, || {
                format!(
                    "response PSN {} after {}: READ {} was asked for {} times",
                    show(psn),
                    show(next - 1),
                    show(first),
                    read.asked.len()
                )
            });
        }
        if again && start && matches!(place, Place::Middle | Place::Last) {
            out.remark(Habit::ReadAgainMiddle, || {
                format!("{opcode} for PSN {}", show(psn))
            });
        }
        if psn > next {
            self.add_point(next);
        }
        let ends = place.ends();
        if let Some(read) = self.at_mut(first) {
            read.runs += usize::from(psn < next || read.runs == 0);
            read.next_response = psn + 1;
            read.answered |= ends;
        }
        self.responds(first, psn, packet, at, out);
        self.acknowledge(psn + 1, packet);
    }

    /// Judges the response to the request `first`, with the PSN `psn`, by the connection's other requests.
    fn responds(
        &mut self,
        first: i64,
        psn: i64,
        packet: &Packet,
        at: requests::Place,
        out: &mut Findings,
    ) {
        out.check(Rule::AckPastRead, true, String::new);
        self.arrived(first - 1, at, out);
        self.passes(first - 1, at, out);
        self.covers(psn, packet.orderly, at, out);
        if let Some(request) = self.at_mut(first) {
            request.replied = Some(packet.time);
        }
        let request = self
            .at(first)
            .map(|(_, it)| (it.span(self.mtu), it.asked.len() > 1));
        if let Some(aeth) = packet.ext.aeth
            && let Some((Some(span), again)) = request
        {
            let last = first + span - 1;
            // The answer to a duplicate may count what was completed since the first one.
            let most = if again { self.high - 1 } else { last };
            self.count(last, most, aeth.msn.get(), out);
        }
    }

    fn atomic(&mut self, psn: i64, packet: &Packet, at: requests::Place, out: &mut Findings) {
        if psn < self.oldest() {
            self.before = Some(packet.time);
            return;
        }
        let found = self
            .at(psn)
            .filter(|(_, it)| it.operation == Operation::Atomic);
        let Some(((first, request), answer)) = found.zip(packet.ext.atomic_ack) else {
            if !self.lacks_some(packet.time, at) {
                out.check(Rule::AtomicAnswer, false, || {
                    format!("answer for PSN {}: no atomic with it was sent", show(psn))
                });
            }
            return;
        };
        let asked = request.asked.len();
        let value = request.original.unwrap_or(answer.original);
        let often = packet.orderly && request.runs >= asked && !self.lacks_some(request.since, at);
        let holds = !often && value == answer.original;
        out.check(Rule::AtomicAnswer, holds, || {
            format!(
                "answer {} to PSN {}, sent {asked} times: {:#x}, the first said {value:#x}",
                request.runs + 1,
                show(psn),
                answer.original
            )
        });
        if let Some(request) = self.at_mut(first) {
            request.runs += 1;
            request.original = Some(value);
            request.answered = true;
        }
        self.responds(first, psn, packet, at, out);
        self.acknowledge(psn + 1, packet);
    }
}
