//! Judges the answers of a responder against the requests that passed the tap.

use xoff_sim::time::Duration;
use xoff_sim::wire::{AethRepr, NakCode, Opcode, SyndromeMeaning};

use crate::operation::{self, Operation, Place};
use crate::packet::Packet;
use crate::report::Findings;
use crate::requests::{Counted, Nak, Requests, RnrWait, show};
use crate::{Habit, Rule};

impl Requests {
    /// Judges an answer to these requests.
    pub fn answer(&mut self, packet: &Packet, out: &mut Findings) {
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
            (Opcode::RC_ACK, Some(aeth)) => self.acknowledged(psn, aeth, packet, out),
            (Opcode::RC_ATOMIC_ACK, _) => self.atomic(psn, packet, out),
            _ => {
                if let Some(place) = operation::response(packet.bth.opcode) {
                    self.read(psn, place, packet, out);
                }
            }
        }
    }

    fn acknowledged(&mut self, psn: i64, aeth: AethRepr, packet: &Packet, out: &mut Findings) {
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
        // An ACK acknowledges everything up to its own PSN, a NAK everything before its PSN.
        let through = if positive { psn } else { psn - 1 };
        if let Some(acked) = self.acked {
            let holds = through + 1 >= acked;
            if packet.orderly {
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
                return;
            }
        }
        if sequence && !self.first_missing(psn, out) {
            return;
        }
        self.count(through, msn, out);
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
                let wait =
                    Duration::from_ns(u64::try_from(timer.duration().as_nanos()).unwrap_or(0));
                // A request that an earlier NAK asked for may be on its way, and an earlier RNR NAK may be unknown.
                let asked = (self.nak).is_some_and(|nak| nak.psn == psn && !nak.resent);
                let wait = RnrWait {
                    psn,
                    from: packet.time,
                    until: packet.time.saturating_add(wait),
                    judged: packet.orderly && !self.unsure && !asked,
                };
                // One more about the same request, while it waits, need not begin the wait anew.
                let runs = (self.rnr).filter(|rnr| rnr.psn == psn && packet.time < rnr.until);
                self.rnr = runs.or(Some(wait));
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
        self.acknowledge(through + 1);
        // Out of order it may be older than the one that was missed.
        self.unsure &= !packet.orderly;
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
        self.nak = Some(Nak { psn, resent: false });
    }

    /// Judges the MSN of an answer that covers all PSNs up to `through`.
    fn count(&mut self, through: i64, msn: u32, out: &mut Findings) {
        if let Some(before) = self.counted {
            if through < before.through {
                return;
            }
            if let Some((messages, invalidating)) = self.messages(before.through + 1, through) {
                let right = (before.msn + messages) & 0xFF_FFFF;
                let short = right.wrapping_sub(msn) & 0xFF_FFFF;
                out.check(Rule::Msn, short <= invalidating, || {
                    format!(
                        "MSN {msn} at PSN {}: {right} is right, {messages} messages after MSN {} at PSN {}",
                        show(through),
                        before.msn,
                        show(before.through)
                    )
                });
                if (1..=invalidating).contains(&short) {
                    out.remark(Habit::InvalidateUncounted, || {
                        format!("MSN {msn} at PSN {}", show(through))
                    });
                }
            }
        }
        self.counted = Some(Counted { through, msn });
    }

    fn read(&mut self, psn: i64, place: Place, packet: &Packet, out: &mut Findings) {
        if psn < self.oldest() {
            return;
        }
        let opcode = packet.bth.opcode;
        if matches!(place, Place::First | Place::Middle) && self.open_read_at(psn).is_some() {
            self.learn_mtu(packet.payload);
        }
        let mtu = self.mtu;
        let found = self.at(psn).or_else(|| self.open_read_at(psn));
        let Some((first, read)) = found.filter(|(_, it)| it.operation == Operation::Read) else {
            out.check(Rule::ReadResponse, false, || {
                format!("{opcode} for PSN {}: no READ with it was sent", show(psn))
            });
            return;
        };
        let start = read.asked.contains(&psn);
        let again = read.asked.len() > 1;
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
        let ordered = psn >= next || read.runs < read.asked.len();
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
        if let Some(read) = self.at_mut(first) {
            read.runs += usize::from(psn < next || read.runs == 0);
            read.next_response = psn + 1;
        }
        self.acknowledge(psn + 1);
    }

    fn atomic(&mut self, psn: i64, packet: &Packet, out: &mut Findings) {
        if psn < self.oldest() {
            return;
        }
        let found = self
            .at(psn)
            .filter(|(_, it)| it.operation == Operation::Atomic);
        let Some(((first, request), answer)) = found.zip(packet.ext.atomic_ack) else {
            out.check(Rule::AtomicAnswer, false, || {
                format!("answer for PSN {}: no atomic with it was sent", show(psn))
            });
            return;
        };
        let asked = request.asked.len();
        let value = request.original.unwrap_or(answer.original);
        let often = packet.orderly && request.runs >= asked;
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
        }
        self.acknowledge(psn + 1);
    }
}
