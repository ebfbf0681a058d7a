//! What happens to the go-back-N units, observed at events and in the steps of the references.

use crate::units::gbn::{End, Requesting, Responding};
use xoff_sim::protocol::gbn::{
    QpState, Request, RequesterContext, RequesterEvent, RequesterNote, RequesterStep,
    ResponderContext, ResponderEvent, ResponderNote, ResponderStep, Response, Status, mtu_bytes,
};
use xoff_sim::wire::{NakCode, Opcode, Psn, Syndrome, SyndromeMeaning};

use crate::axis;
use crate::property::bins::{Bins, Group, Groups, Value};

axis! {
    /// How losses are repaired.
    pub enum Mode, "mode" { GoBackN "go-back-N", GoBack0 "go-back-0" }
}

axis! {
    /// The operation of a message.
    pub enum Message, "message" {
        Send "SEND",
        SendImm "SEND with immediate data",
        SendInv "SEND with invalidate",
        Write "WRITE",
        WriteImm "WRITE with immediate data",
        Read "READ",
        CompareSwap "compare and swap",
        Add "fetch and add",
    }
}

impl Message {
    /// Whether it is answered with data.
    fn returns(self) -> bool {
        self >= Self::Read
    }
}

axis! {
    /// Where a packet stands in its message.
    pub enum Position, "packet" { First "first", Middle "middle", Last "last", Only "only" }
}

axis! {
    /// Payload of a packet.
    pub enum Payload, "payload" {
        Empty "0",
        Part "less than the MTU",
        Full "the MTU",
    }
}

axis! {
    /// Payload of a packet that any peer may send.
    pub enum Length, "payload" {
        Empty "0",
        Part "less than the MTU",
        Full "the MTU",
        Longer "more than the MTU",
    }
}

axis! {
    /// Whether a packet was sent before.
    pub enum Again, "sent" { First "for the first time", Again "again" }
}

axis! {
    /// What an answer means.
    pub enum Answer, "answer" {
        Ack "ACK",
        Rnr "RNR NAK",
        Sequence "NAK, PSN sequence error",
        Invalid "NAK, invalid request",
        Access "NAK, remote access",
        Operation "NAK, remote operation",
        Reserved "reserved syndrome",
    }
}

axis! {
    /// The PSN of an answer.
    pub enum Answered, "PSN" {
        Before "acknowledged before",
        Oldest "the oldest sent",
        Inside "between the oldest and the newest",
        Newest "the newest sent",
        Next "the next to be sent",
        Unsent "later",
    }
}

axis! {
    /// Whether the requester waits because of an RNR NAK.
    pub enum Wait, "requester" { Runs "runs", Waits "waits for the RNR timer" }
}

axis! {
    /// What a timer was for.
    pub enum Timer, "timer" { Ack "of the ACK", Rnr "of the RNR NAK", Held "of the ACK, held" }
}

axis! {
    /// Whether retries are left.
    pub enum Retries, "retries" { None "used up", Some "left" }
}

axis! {
    /// The outcome of a step of the requester.
    pub enum Outcome, "outcome" {
        None "none", Progress "progress", Stale "stale answer", Unsent "answer to a PSN not sent",
        Reserved "reserved syndrome", Nak "NAK", Rnr "RNR NAK", RemoteError "remote error",
        Timeout "timeout", RnrOver "RNR wait over", Exhausted "retries exhausted",
        Blocked "nothing may be sent", RefusedFull "refused, ring full",
        RefusedState "refused, QP closed", RefusedWork "refused, no such work", Ignored "ignored",
        Implied "a response is missing", Unreadable "the payload cannot be read",
    }
}

axis! {
    /// How a work request ends.
    pub enum Ends, "ends" {
        Success "success", RetryExceeded "retries exceeded", RnrExceeded "RNR retries exceeded",
        Invalid "remote invalid request", Access "remote access error",
        Operation "remote operation error", Flushed "flushed",
        BadResponse "a response that cannot be", Unreadable "local access error",
    }
}

axis! {
    /// The packet whose payload cannot be read.
    pub enum Unread, "packet" {
        Wanted "to be sent", Unwanted "not to be sent any more",
    }
}

axis! {
    /// The operation of a packet that arrives.
    pub enum Arriving, "operation" {
        SendFirst "SEND first", SendMiddle "SEND middle", SendLast "SEND last",
        SendLastImm "SEND last, immediate", SendLastInv "SEND last, invalidate",
        SendOnly "SEND only", SendOnlyImm "SEND only, immediate",
        SendOnlyInv "SEND only, invalidate",
        WriteFirst "WRITE first", WriteMiddle "WRITE middle", WriteLast "WRITE last",
        WriteLastImm "WRITE last, immediate", WriteOnly "WRITE only",
        WriteOnlyImm "WRITE only, immediate",
        Read "READ request", CmpSwap "compare and swap", FetchAdd "fetch and add",
    }
}

axis! {
    /// The message under way at the responder.
    pub enum UnderWay, "under way" { Nothing "nothing", Send "a SEND", Write "a WRITE" }
}

axis! {
    /// The PSN of a packet that arrives, from the expected one on.
    pub enum Distance, "PSN" {
        Expected "expected",
        OneAhead "1 ahead",
        Ahead "2 to 2^22 ahead",
        FarAhead "more than 2^22 ahead",
        Half "2^23 away",
        FarBehind "more than 2^22 behind",
        Behind "2 to 2^22 behind",
        OneBehind "1 behind",
        First "the first of the message under way",
    }
}

axis! {
    /// Whether a NAK for a gap or for a missing buffer has been sent, and what is missing has not come.
    pub enum Gap, "gap" { None "none", Open "open: no second NAK" }
}

axis! {
    /// The outcome of a step of the responder.
    pub enum Result, "outcome" {
        None "none", Accepted "accepted", Duplicate "duplicate", Gap "gap",
        GapAgain "gap, NAK sent before", NoBuffer "no buffer", Invalid "invalid request",
        Access "access denied", TooLong "longer than the buffer", NotReady "QP not ready",
        NothingOwed "no answer owed", RefusedFull "refused, ring full",
        RefusedState "refused, QP closed", Unwritable "cannot be written", Ignored "ignored",
    }
}

axis! {
    /// The state of a QP that answers.
    pub enum State, "QP" { Ready "ready", Error "in error" }
}

axis! {
    /// A packet on the path of a pair.
    pub enum Packet, "packet" {
        First "first", Middle "middle", Last "last", Only "only", Ack "ACK", Rnr "RNR NAK",
        Nak "NAK",
    }
}

axis! {
    /// What a path does to a packet.
    pub enum Fate, "path" {
        Passes "passes it on",
        Loses "loses it",
        Doubles "doubles it",
        Delays "lets others overtake it",
    }
}

axis! {
    /// What a response is by its opcode.
    pub enum Returned, "response" {
        First "first", Middle "middle", Last "last", Only "only", Original "atomic ACK",
    }
}

axis! {
    /// What becomes of a READ response.
    pub enum Came, "outcome" {
        Taken "taken", Stale "stale", Unsent "not asked for", Implied "another one is missing",
        Exhausted "another one is missing, no retry is left", Reserved "with a NAK",
        Wrong "it cannot be",
    }
}

axis! {
    /// Whether an answer begins there in the inside of a READ, because it was asked for again.
    pub enum Resumed, "place" { Whole "as it was asked first", Rest "where its rest begins" }
}

/// Packets of the requester.
pub static PACKETS: Group<(Message, Position, Payload, Again)> = Group {
    name: "requester_packets",
    counts: "packets of the requester",
    unreachable: |(message, position, payload, _)| match (position, payload) {
        _ if message.returns() => {
            let right = (position, payload) == (Position::Only, Payload::Empty);
            (!right).then_some("the request of a READ or an atomic is one packet without payload")
        }
        (Position::First | Position::Middle, _)
            if !matches!(message, Message::Send | Message::Write) =>
        {
            Some("the opcode of a last packet alone says this: others count as SEND or WRITE")
        }
        (Position::First | Position::Middle, Payload::Empty | Payload::Part) => {
            Some("all packets of a message but the last are full")
        }
        (Position::Last, Payload::Empty) => Some("a last packet has a byte or more"),
        _ => None,
    },
};

/// Answers to a requester that is ready.
pub static ANSWERS: Group<(Answer, Answered, Wait)> = Group {
    name: "requester_answers",
    counts: "answers to the requester",
    unreachable: |_| None,
};

/// Responses to a requester that is ready.
pub static RESPONSES: Group<(Returned, Came)> = Group {
    name: "requester_responses",
    counts: "READ responses to the requester",
    unreachable: |_| None,
};

/// Responses that it takes.
pub static READS: Group<(Returned, Resumed)> = Group {
    name: "requester_reads",
    counts: "READ responses that the requester takes",
    unreachable: |(returned, resumed)| {
        let rest =
            resumed == Resumed::Rest && !matches!(returned, Returned::First | Returned::Only);
        rest.then_some("an answer begins with a First or an Only; then the rest has begun")
    },
};

/// Timers of the requester.
pub static TIMERS: Group<(Timer, Retries, Mode)> = Group {
    name: "requester_timers",
    counts: "timers of the requester that expire",
    unreachable: |_| None,
};

/// Outcomes at the requester.
pub static OUTCOMES: Group<(Outcome, Mode)> = Group {
    name: "requester_outcomes",
    counts: "steps of the requester",
    unreachable: |(outcome, mode)| match (outcome, mode) {
        (Outcome::RefusedState, Mode::GoBack0) => {
            Some("a closed QP has no mode: it counts as go-back-N")
        }
        _ => None,
    },
};

/// Packets whose payload cannot be read, of a requester that is ready.
pub static UNREADS: Group<(Unread, Mode)> = Group {
    name: "requester_unread",
    counts: "packets of the requester whose payload cannot be read",
    unreachable: |_| None,
};

/// Ends of work requests.
pub static ENDS: Group<(Message, Ends)> = Group {
    name: "requester_ends",
    counts: "completions of the requester",
    unreachable: |(message, ends)| {
        let other = ends == Ends::BadResponse && !message.returns();
        other.then_some("nothing else has responses")
    },
};

/// Packets that arrive in order.
pub static ARRIVALS: Group<(Arriving, UnderWay)> = Group {
    name: "responder_operations",
    counts: "packets with the expected PSN",
    unreachable: |_| None,
};

/// Payloads that arrive in order.
pub static LENGTHS: Group<(Arriving, Length)> = Group {
    name: "responder_payloads",
    counts: "SEND and WRITE packets with the expected PSN",
    unreachable: |(operation, _)| (operation >= Arriving::Read).then_some("it has none"),
};

/// PSNs that arrive.
pub static PSNS: Group<(Distance, UnderWay, Gap)> = Group {
    name: "responder_psns",
    counts: "packets to a responder that is ready",
    unreachable: |(distance, under_way, _)| match (distance, under_way) {
        (Distance::First, UnderWay::Nothing) => Some("there is no message under way"),
        _ => None,
    },
};

/// Outcomes at the responder.
pub static RESULTS: Group<(Result, Mode)> = Group {
    name: "responder_outcomes",
    counts: "steps of the responder",
    unreachable: |(result, mode)| match (result, mode) {
        (Result::RefusedState, Mode::GoBack0) => {
            Some("a closed QP has no mode: it counts as go-back-N")
        }
        _ => None,
    },
};

/// Answers that the responder sends.
pub static SENT: Group<(Answer, State)> = Group {
    name: "responder_answers",
    counts: "answers of the responder",
    unreachable: |(answer, state)| match (answer, state) {
        (Answer::Reserved, _) => Some("the responder knows no reserved syndrome"),
        (Answer::Invalid | Answer::Access | Answer::Operation, State::Ready) => {
            Some("the QP is in error when it owes this NAK")
        }
        _ => None,
    },
};

/// Packets between a requester and a responder.
pub static PATHS: Group<(Packet, Fate)> = Group {
    name: "pair_packets",
    counts: "packets and answers between the two units",
    unreachable: |_| None,
};

/// The groups.
pub const GROUPS: Groups = &[
    &PACKETS, &ANSWERS, &RESPONSES, &READS, &TIMERS, &OUTCOMES, &UNREADS, &ENDS, &ARRIVALS,
    &LENGTHS, &PSNS, &RESULTS, &SENT, &PATHS,
];

/// An end whose steps are counted.
pub trait Binned: End {
    /// Counts a step of the reference; `before` is the context before it.
    fn see(bins: &mut Bins, before: &Self::Context, event: &Self::Event, step: &Self::Step);
}

fn mode(restart: bool) -> Mode {
    match restart {
        true => Mode::GoBack0,
        false => Mode::GoBackN,
    }
}

fn answer(syndrome: Syndrome) -> Answer {
    match syndrome.meaning() {
        SyndromeMeaning::Ack(_) => Answer::Ack,
        SyndromeMeaning::RnrNak(_) => Answer::Rnr,
        SyndromeMeaning::Nak(NakCode::PsnSequenceError) => Answer::Sequence,
        SyndromeMeaning::Nak(NakCode::InvalidRequest) => Answer::Invalid,
        SyndromeMeaning::Nak(NakCode::RemoteAccessError) => Answer::Access,
        SyndromeMeaning::Nak(NakCode::RemoteOperationalError) => Answer::Operation,
        SyndromeMeaning::Nak(NakCode::InvalidRdRequest) | SyndromeMeaning::Reserved => {
            Answer::Reserved
        }
    }
}

/// Returns the message and the position that an opcode says.
fn place(opcode: Opcode) -> (Message, Position) {
    use Message::*;
    use Position::*;
    match opcode {
        Opcode::RC_SEND_FIRST => (Send, First),
        Opcode::RC_SEND_MIDDLE => (Send, Middle),
        Opcode::RC_SEND_LAST => (Send, Last),
        Opcode::RC_SEND_LAST_IMM => (SendImm, Last),
        Opcode::RC_SEND_LAST_INV => (SendInv, Last),
        Opcode::RC_SEND_ONLY => (Send, Only),
        Opcode::RC_SEND_ONLY_IMM => (SendImm, Only),
        Opcode::RC_SEND_ONLY_INV => (SendInv, Only),
        Opcode::RC_WRITE_FIRST => (Write, First),
        Opcode::RC_WRITE_MIDDLE => (Write, Middle),
        Opcode::RC_WRITE_LAST => (Write, Last),
        Opcode::RC_WRITE_LAST_IMM => (WriteImm, Last),
        Opcode::RC_WRITE_ONLY => (Write, Only),
        Opcode::RC_WRITE_ONLY_IMM => (WriteImm, Only),
        Opcode::RC_READ_REQUEST => (Read, Only),
        Opcode::RC_CMP_SWAP => (CompareSwap, Only),
        Opcode::RC_FETCH_ADD => (Add, Only),
        other => unreachable!("a requester sends no {other}"),
    }
}

fn packet(bins: &mut Bins, request: &Request, mtu: u32) {
    let (message, position) = place(request.opcode);
    let payload = match u32::from(request.payload_bytes) {
        0 => Payload::Empty,
        bytes if bytes < mtu => Payload::Part,
        _ => Payload::Full,
    };
    let again = match request.again {
        true => Again::Again,
        false => Again::First,
    };
    bins.hit(&PACKETS, (message, position, payload, again));
}

fn answered(context: &RequesterContext, psn: Psn) -> Answered {
    let (old, new) = (psn.ahead_of(context.una_psn), psn.ahead_of(context.top_psn));
    match (old, new) {
        (_, 0) => Answered::Next,
        (..0, _) => Answered::Before,
        (_, 1..) => Answered::Unsent,
        (0, _) => Answered::Oldest,
        (_, -1) => Answered::Newest,
        _ => Answered::Inside,
    }
}

impl Binned for Requesting {
    fn see(
        bins: &mut Bins,
        before: &RequesterContext,
        event: &RequesterEvent,
        step: &RequesterStep,
    ) {
        let mode = mode(before.configuration.restart);
        let outcome = RequesterNote::ALL
            .iter()
            .position(|note| *note == step.note);
        bins.hit(&OUTCOMES, (Outcome::at(outcome.unwrap_or_default()), mode));
        if let Some(request) = &step.request {
            packet(bins, request, mtu_bytes(before.configuration.mtu));
        }
        if let Some(completion) = &step.completion {
            let ends = match completion.status {
                Status::Success => Ends::Success,
                Status::RetryExceeded => Ends::RetryExceeded,
                Status::RnrExceeded => Ends::RnrExceeded,
                Status::RemoteInvalid => Ends::Invalid,
                Status::RemoteAccess => Ends::Access,
                Status::RemoteOperate => Ends::Operation,
                Status::Flushed => Ends::Flushed,
                Status::BadResponse => Ends::BadResponse,
                Status::LocalAccess => Ends::Unreadable,
                Status::LocalLength => {
                    unreachable!("a requester reports no {:?}", completion.status)
                }
            };
            bins.hit(&ENDS, (Message::at(completion.operation.into()), ends));
        }
        match *event {
            RequesterEvent::Response(returned) if before.state == QpState::Ready => {
                let opcode = match returned.opcode {
                    Opcode::RC_READ_RESP_FIRST => Returned::First,
                    Opcode::RC_READ_RESP_MIDDLE => Returned::Middle,
                    Opcode::RC_READ_RESP_LAST => Returned::Last,
                    Opcode::RC_READ_RESP_ONLY => Returned::Only,
                    Opcode::RC_ATOMIC_ACK => Returned::Original,
                    _ => return,
                };
                let came = match step.note {
                    RequesterNote::Progress => Came::Taken,
                    RequesterNote::Stale => Came::Stale,
                    RequesterNote::Unsent => Came::Unsent,
                    RequesterNote::Implied => Came::Implied,
                    RequesterNote::Exhausted => Came::Exhausted,
                    RequesterNote::Reserved => Came::Reserved,
                    RequesterNote::RemoteError => Came::Wrong,
                    note => unreachable!("a response does not make {note:?}"),
                };
                let resumed = match before.asking.resumed {
                    Some(psn) if psn == returned.psn => Resumed::Rest,
                    _ => Resumed::Whole,
                };
                bins.hit(&RESPONSES, (opcode, came));
                if came == Came::Taken {
                    bins.hit(&READS, (opcode, resumed));
                }
            }
            RequesterEvent::Ack { psn, syndrome } if before.state == QpState::Ready => {
                let wait = match before.rnr_wait {
                    true => Wait::Waits,
                    false => Wait::Runs,
                };
                bins.hit(&ANSWERS, (answer(syndrome), answered(before, psn), wait));
            }
            RequesterEvent::Unread { .. } if before.state == QpState::Ready => {
                let unread = match step.note {
                    RequesterNote::Stale => Unread::Unwanted,
                    _ => Unread::Wanted,
                };
                bins.hit(&UNREADS, (unread, mode));
            }
            RequesterEvent::Timer => {
                let timer = match (before.rnr_wait, step.note) {
                    (true, _) => Timer::Rnr,
                    (false, RequesterNote::None) => Timer::Held,
                    (false, _) => Timer::Ack,
                };
                let retries = match before.retries {
                    0 => Retries::None,
                    _ => Retries::Some,
                };
                bins.hit(&TIMERS, (timer, retries, mode));
            }
            _ => {}
        }
    }
}

fn distance(context: &ResponderContext, psn: Psn) -> Distance {
    const FAR: i32 = 1 << 22;
    const HALF: i32 = -(1 << 23);
    match psn.ahead_of(context.expected_psn) {
        0 => Distance::Expected,
        1 => Distance::OneAhead,
        2..=FAR => Distance::Ahead,
        ahead if ahead > FAR => Distance::FarAhead,
        HALF => Distance::Half,
        _ if context.under_way && psn == context.first_psn => Distance::First,
        -1 => Distance::OneBehind,
        behind if behind >= -FAR => Distance::Behind,
        _ => Distance::FarBehind,
    }
}

fn arriving(operation: u8) -> Option<Arriving> {
    use Arriving::*;
    Some(match Opcode(operation) {
        Opcode::RC_SEND_FIRST => SendFirst,
        Opcode::RC_SEND_MIDDLE => SendMiddle,
        Opcode::RC_SEND_LAST => SendLast,
        Opcode::RC_SEND_LAST_IMM => SendLastImm,
        Opcode::RC_SEND_LAST_INV => SendLastInv,
        Opcode::RC_SEND_ONLY => SendOnly,
        Opcode::RC_SEND_ONLY_IMM => SendOnlyImm,
        Opcode::RC_SEND_ONLY_INV => SendOnlyInv,
        Opcode::RC_WRITE_FIRST => WriteFirst,
        Opcode::RC_WRITE_MIDDLE => WriteMiddle,
        Opcode::RC_WRITE_LAST => WriteLast,
        Opcode::RC_WRITE_LAST_IMM => WriteLastImm,
        Opcode::RC_WRITE_ONLY => WriteOnly,
        Opcode::RC_WRITE_ONLY_IMM => WriteOnlyImm,
        Opcode::RC_READ_REQUEST => Read,
        Opcode::RC_CMP_SWAP => CmpSwap,
        Opcode::RC_FETCH_ADD => FetchAdd,
        _ => return None,
    })
}

impl Binned for Responding {
    fn see(
        bins: &mut Bins,
        before: &ResponderContext,
        event: &ResponderEvent,
        step: &ResponderStep,
    ) {
        let result = match step.note {
            ResponderNote::None => Result::None,
            ResponderNote::Accepted => Result::Accepted,
            ResponderNote::Duplicate => Result::Duplicate,
            ResponderNote::Gap => Result::Gap,
            ResponderNote::GapAgain => Result::GapAgain,
            ResponderNote::NoBuffer => Result::NoBuffer,
            ResponderNote::Invalid => Result::Invalid,
            ResponderNote::Access => Result::Access,
            ResponderNote::TooLong => Result::TooLong,
            ResponderNote::NotReady => Result::NotReady,
            ResponderNote::NothingOwed => Result::NothingOwed,
            ResponderNote::RefusedFull => Result::RefusedFull,
            ResponderNote::RefusedState => Result::RefusedState,
            ResponderNote::Unwritable => Result::Unwritable,
            ResponderNote::Ignored => Result::Ignored,
        };
        bins.hit(&RESULTS, (result, mode(before.configuration.restart)));
        if let Some(response) = &step.response {
            let state = match before.state {
                QpState::Error => State::Error,
                QpState::Ready | QpState::Closed => State::Ready,
            };
            bins.hit(&SENT, (answer(response.syndrome), state));
        }
        let ResponderEvent::Packet(arrival) = event else {
            return;
        };
        let Some(operation) = arriving(arrival.operation) else {
            return;
        };
        if before.state != QpState::Ready {
            return;
        }
        let under_way = match (before.under_way, before.writing) {
            (false, _) => UnderWay::Nothing,
            (true, false) => UnderWay::Send,
            (true, true) => UnderWay::Write,
        };
        let gap = match before.silent {
            true => Gap::Open,
            false => Gap::None,
        };
        let distance = distance(before, arrival.psn);
        bins.hit(&PSNS, (distance, under_way, gap));
        if distance == Distance::Expected {
            bins.hit(&ARRIVALS, (operation, under_way));
            if operation < Arriving::Read {
                let mtu = mtu_bytes(before.configuration.mtu);
                let length = match u32::from(arrival.payload_bytes) {
                    0 => Length::Empty,
                    bytes if bytes < mtu => Length::Part,
                    bytes if bytes == mtu => Length::Full,
                    _ => Length::Longer,
                };
                bins.hit(&LENGTHS, (operation, length));
            }
        }
    }
}

/// A packet that a path of a pair carries.
pub trait Carried {
    /// What it is.
    fn packet(&self) -> Packet;
}

impl Carried for Request {
    fn packet(&self) -> Packet {
        match place(self.opcode).1 {
            Position::First => Packet::First,
            Position::Middle => Packet::Middle,
            Position::Last => Packet::Last,
            Position::Only => Packet::Only,
        }
    }
}

impl Carried for Response {
    fn packet(&self) -> Packet {
        match answer(self.syndrome) {
            Answer::Ack => Packet::Ack,
            Answer::Rnr => Packet::Rnr,
            _ => Packet::Nak,
        }
    }
}
