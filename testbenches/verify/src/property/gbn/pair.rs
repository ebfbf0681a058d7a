//! Requester and responder over a path that loses, duplicates, delays and reorders packets in both directions: every
//! message is delivered once and in order, or the QP reports an error and flushes what is left. Nothing hangs.
//!
//! The bench knows where the bytes of each message are and where they belong. A packet that the requester sends must
//! name the bytes of its PSN, the payload of a packet that the responder accepts must go to the right place, and the
//! packets of each message must come in order. This implies that memory would be right, byte for byte.

use std::collections::{BTreeMap, VecDeque};

use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::gbn::{
    Completion, QpState, Recv, Request, RequesterConfig, RequesterEvent, RequesterQp,
    ResponderEvent, ResponderNote, ResponderQp, Response, Status, Work, mtu_bytes,
};
use xoff_sim::wire::Psn;

use super::bins::{Carried, Fate, GROUPS, PATHS};
use super::events::{Event, Head, Path};
use super::judge::Judged;
use crate::property::bins::Bins;
use crate::property::{Disagreement, same_runs};
use crate::units::gbn::{Requesting, Responding, Shown, Unit};
use xoff_sim::seeded::SplitMix;

/// Evaluated cycles after which a run counts as hanging, while the path loses, duplicates and delays nothing.
const CYCLES_MAX: u64 = 400_000;
/// Packets per direction that the path may lose, duplicate or delay; all later ones arrive once and in order.
///
/// Without a limit a correct pair may take any time. Under go-back-0 a message ends with the first attempt in which
/// nothing is lost. With a window of 1, 15 packets, and 15 % of the packets and of the answers lost, that is one
/// attempt in 131.
const FAULTY_PACKETS: u64 = 5_000;
/// Maximum delay of a late packet in cycles.
const LATE_MAX: u64 = 400;
/// Maximum delay of a late buffer in cycles.
const BUFFER_LATE_MAX: u64 = 6_000;

/// Runs the events, judges both units, and checks the outcome of every message.
///
/// # Errors
///
/// Returns the first violation.
pub fn check<A, B>(
    a: &mut A,
    b: &mut B,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement>
where
    A: Unit<End = Requesting>,
    B: Unit<End = Responding>,
{
    let (count, skipped) = run(a, b, head, events, true, bins)?;
    if head.twice {
        let whole = run(a, b, head, events, false, bins)?.1;
        same_runs(&skipped.0, &whole.0)?;
        same_runs(&skipped.1, &whole.1)?;
    }
    Ok(count)
}

/// One direction of the path.
struct Wire<T> {
    path: Path,
    draw: SplitMix,
    /// Packets by the cycle of arrival; the number distinguishes those of one cycle.
    flight: BTreeMap<(Cycle, u64), (u16, T)>,
    /// Packets given to it.
    given: u64,
    /// Packets that have arrived or will.
    carried: u64,
    /// What happened to packets.
    bins: Bins,
}

impl<T: Copy + Carried> Wire<T> {
    fn new(path: Path, way: u64) -> Self {
        Self {
            path,
            draw: SplitMix::new(path.seed ^ way),
            flight: BTreeMap::new(),
            given: 0,
            carried: 0,
            bins: Bins::new(GROUPS),
        }
    }

    /// Returns whether the next packet may be lost, duplicated or delayed.
    fn faulty(&self) -> bool {
        !self.path.is_clean() && self.given < FAULTY_PACKETS
    }

    fn send(&mut self, now: Cycle, qp: u16, packet: T) {
        let faulty = self.faulty();
        let by_chance = |draw: &mut SplitMix, of_thousand: u16| {
            faulty && draw.below(1_000) < of_thousand.into()
        };
        self.given += 1;
        let kind = packet.packet();
        if by_chance(&mut self.draw, self.path.drops) {
            self.bins.hit(&PATHS, (kind, Fate::Loses));
            return;
        }
        let copies = 1 + u64::from(by_chance(&mut self.draw, self.path.doubles));
        if copies > 1 {
            self.bins.hit(&PATHS, (kind, Fate::Doubles));
        }
        for _ in 0..copies {
            let late = match by_chance(&mut self.draw, self.path.late) {
                true => self.draw.within(1, LATE_MAX),
                false => 0,
            };
            let fate = match late {
                0 => Fate::Passes,
                _ => Fate::Delays,
            };
            self.bins.hit(&PATHS, (kind, fate));
            let at = Cycle(now.0 + 1 + u64::from(self.path.delay) + late);
            self.flight.insert((at, self.carried), (qp, packet));
            self.carried += 1;
        }
    }

    fn next(&self) -> Option<Cycle> {
        self.flight.first_key_value().map(|(&(at, _), _)| at)
    }

    fn arrived(&mut self, now: Cycle) -> Option<(u16, T)> {
        let entry = self.flight.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}

/// A message on its way.
struct Message {
    work: Work,
    first: Psn,
    packets: u32,
    /// The address and key of its destination.
    place: (u64, u32),
    /// The buffer that it completes.
    buffer: Option<Recv>,
}

/// State of a connection in the bench.
#[derive(Default)]
struct Connection {
    configuration: RequesterConfig,
    restarts: bool,
    /// Work that waits for a slot.
    to_post: VecDeque<Work>,
    /// Buffers that wait until they are due and a slot is free.
    buffers: VecDeque<(Cycle, Recv)>,
    post_psn: Psn,
    messages: Vec<Message>,
    /// Messages that the requester reported, or completed without a completion.
    reported: usize,
    failed: bool,
    /// Messages that the responder received, and packets of the next one.
    delivered: usize,
    packets: u32,
}

impl Connection {
    fn mtu(&self) -> u32 {
        mtu_bytes(self.configuration.mtu)
    }

    fn post(&mut self, work: Work, buffer: Option<Recv>) {
        let packets = work.packets(self.mtu());
        self.messages.push(Message {
            work,
            first: self.post_psn,
            packets,
            place: match &buffer {
                Some(buffer) if !work.kind.writes() => (buffer.local_va, buffer.local_key),
                _ => (work.remote_va, work.remote_key),
            },
            buffer,
        });
        self.post_psn = self.post_psn.advance(packets);
    }

    /// Returns the message of a PSN among those not reported, and the index of the packet in it.
    fn find(&self, psn: Psn) -> Option<(&Message, u32)> {
        self.messages[self.reported.saturating_sub(8)..]
            .iter()
            .find_map(|message| {
                let i = psn.ahead_of(message.first);
                (0..message.packets as i32)
                    .contains(&i)
                    .then_some((message, i as u32))
            })
    }

    fn bytes_of(&self, message: &Message, i: u32) -> u32 {
        (message.work.length - i * self.mtu()).min(self.mtu())
    }

    /// Checks that a packet sent names the bytes of its PSN.
    fn sent(&self, request: &Request) -> Result<(), String> {
        let Some((message, i)) = self.find(request.psn) else {
            return Err(format!("a packet of no message: {request:?}"));
        };
        let offset = u64::from(i) * u64::from(self.mtu());
        let right = request.local_va == message.work.local_va.wrapping_add(offset)
            && u32::from(request.payload_bytes) == self.bytes_of(message, i);
        match right {
            true => Ok(()),
            false => Err(format!("packet {i} of {:?} is {request:?}", message.work)),
        }
    }

    /// Checks that the responder was right to accept the packet of a PSN.
    fn accepted(&mut self, psn: Psn, shown: &Shown<Responding>) -> Result<(), String> {
        let Some(message) = self.messages.get(self.delivered) else {
            return Err("a packet behind the last message".to_owned());
        };
        let i = psn.ahead_of(message.first) as u32;
        let again = self.restarts && i == 0;
        if i != self.packets && !again {
            return Err(format!(
                "packet {i} of message {}, of which {} came",
                self.delivered, self.packets
            ));
        }
        let bytes = self.bytes_of(message, i);
        let offset = u64::from(i) * u64::from(self.mtu());
        match shown.step.place {
            None if bytes == 0 => {}
            Some(place)
                if u32::from(place.bytes) == bytes
                    && place.va == message.place.0.wrapping_add(offset)
                    && place.key == message.place.1
                    && place.remote == message.work.kind.writes() => {}
            place => {
                return Err(format!(
                    "{bytes} bytes from {offset} on of a message for {:?} go to {place:?}",
                    message.place
                ));
            }
        }
        let ends = i + 1 == message.packets;
        let work = &message.work;
        let completion = message.buffer.filter(|_| ends).map(|buffer| Completion {
            receive: true,
            status: Status::Success,
            id: buffer.id,
            operation: work.kind.opcode(i == 0, true).0,
            length: work.length,
            imm: if work.kind.has_imm() { work.imm } else { 0 },
            solicited: work.solicited,
        });
        if shown.step.completion != completion {
            return Err(format!(
                "message {} makes {:?} and not {completion:?}",
                self.delivered, shown.step.completion
            ));
        }
        self.packets = if ends { 0 } else { i + 1 };
        self.delivered += usize::from(ends);
        Ok(())
    }

    /// Checks a completion of the requester.
    fn completed(&mut self, completion: &Completion) -> Result<(), String> {
        let success = completion.status == Status::Success;
        if self.failed && completion.status != Status::Flushed {
            return Err(format!("behind an error: {completion:?}"));
        }
        if !success && !self.failed {
            let allowed = matches!(
                completion.status,
                Status::RetryExceeded | Status::RnrExceeded
            );
            if !allowed {
                return Err(format!("the path does no such thing: {completion:?}"));
            }
        }
        // A success may be without a completion, an error never is.
        while let Some(message) = self.messages.get(self.reported) {
            let this = message.work.id == completion.id;
            let delivered = self.reported < self.delivered;
            if (success || !this) && !delivered {
                return Err(format!(
                    "message {} is passed by, and was not delivered: {completion:?}",
                    self.reported
                ));
            }
            self.reported += 1;
            if this {
                self.failed |= !success;
                return Ok(());
            }
            if message.work.signaled || self.failed {
                return Err(format!(
                    "message {} is left out: {completion:?}",
                    self.reported - 1
                ));
            }
        }
        Err(format!("a completion of no message: {completion:?}"))
    }

    /// Checks at the end that every message is accounted for.
    fn ended(&self, state: QpState, path: &Path) -> Result<(), String> {
        let patient = self.configuration.timeout >= 3
            && self.configuration.retry == 7
            && self.configuration.rnr_retry == 7;
        if self.failed != (state == QpState::Error) {
            return Err(format!("its state is {state:?}"));
        }
        if self.failed && path.is_clean() && patient {
            return Err("an error, and nothing was lost".to_owned());
        }
        if self.failed && self.reported != self.messages.len() {
            return Err(format!(
                "{} of {} messages were flushed or done",
                self.reported,
                self.messages.len()
            ));
        }
        if !self.failed && self.delivered != self.messages.len() {
            return Err(format!(
                "{} of {} messages were delivered",
                self.delivered,
                self.messages.len()
            ));
        }
        let silent = |message: &Message| !message.work.signaled;
        if !self.failed && !self.messages[self.reported..].iter().all(silent) {
            return Err(format!("message {} was not reported", self.reported));
        }
        Ok(())
    }
}

type Steps = (Vec<Shown<Requesting>>, Vec<Shown<Responding>>);

struct Bench<'a, A: Unit<End = Requesting>, B: Unit<End = Responding>> {
    requester: Judged<'a, A>,
    responder: Judged<'a, B>,
    connections: Vec<Connection>,
    requests: Wire<Request>,
    answers: Wire<Response>,
    draw: SplitMix,
    gap: u64,
    next_send: Cycle,
    next_grant: Cycle,
    turn: u32,
    sendable: u64,
    owed: u64,
    /// Events that are offered.
    at_requester: Option<(u16, RequesterEvent)>,
    at_responder: Option<(u16, ResponderEvent)>,
    /// Cycles evaluated since the path was given a packet that it might lose, duplicate or delay.
    evaluated: u64,
}

/// Runs the events, skipping idle cycles or not, and returns the number of steps and, for a case that runs twice, the
/// steps.
///
/// # Errors
///
/// As [`check`].
pub(super) fn run<A, B>(
    a: &mut A,
    b: &mut B,
    head: &Head,
    events: &[Event],
    skips: bool,
    bins: &mut Bins,
) -> Result<(u64, Steps), Disagreement>
where
    A: Unit<End = Requesting>,
    B: Unit<End = Responding>,
{
    let start = Cycle(head.start);
    let mut bench = Bench {
        requester: Judged::new(a, start, skips, head.twice)?,
        responder: Judged::new(b, start, skips, head.twice)?,
        connections: (0..A::QPS).map(|_| Connection::default()).collect(),
        requests: Wire::new(head.path, 1),
        answers: Wire::new(head.path, 2),
        draw: SplitMix::new(head.path.seed),
        gap: head.path.gap.into(),
        next_send: start,
        next_grant: start,
        turn: 0,
        sendable: 0,
        owed: 0,
        at_requester: None,
        at_responder: None,
        evaluated: 0,
    };
    let mut opened = [false; 64];
    for event in events {
        match *event {
            Event::Wait(cycles) => {
                let until = Cycle(bench.requester.now.0 + u64::from(cycles));
                while bench.requester.now < until {
                    bench.step(until)?;
                }
            }
            // A requester and the matching responder.
            Event::Open {
                qp,
                configuration,
                psn,
            } if qp < A::QPS => {
                let connection = &mut bench.connections[usize::from(qp)];
                if !std::mem::replace(&mut opened[usize::from(qp)], true) {
                    connection.configuration = configuration;
                    connection.post_psn = Psn::wrapping(psn);
                    let event = event.at_requester(&RequesterQp::new(2, crate::units::gbn::TIMES));
                    bench.hold(event.map(|event| (qp, event)), None)?;
                }
            }
            Event::Listen {
                qp, configuration, ..
            } if qp < A::QPS => {
                bench.connections[usize::from(qp)].restarts = configuration.restart;
                let event = event.at_responder(&ResponderQp::new(2));
                bench.hold(None, event.map(|event| (qp, event)))?;
            }
            Event::Post { qp, seed, .. } if qp < A::QPS && opened[usize::from(qp)] => {
                bench.post(qp, event, seed);
            }
            _ => {}
        }
    }
    while !bench.over() {
        bench.step(Cycle::MAX)?;
        if bench.requester.now == Cycle::MAX {
            return Err("it hangs: neither end waits for anything any more".to_owned());
        }
    }
    bench.requester.end()?;
    bench.responder.end()?;
    for (qp, connection) in (0..).zip(&bench.connections) {
        let state = bench.requester.context(qp).state;
        if opened[usize::from(qp)] {
            (connection.ended(state, &head.path)).map_err(|what| format!("QP {qp}: {what}"))?;
        }
    }
    for hit in [&bench.requester.bins, &bench.responder.bins] {
        bins.merge(hit);
    }
    for hit in [&bench.requests.bins, &bench.answers.bins] {
        bins.merge(hit);
    }
    let count = bench.requester.count + bench.responder.count;
    let steps = (
        std::mem::take(&mut bench.requester.steps),
        std::mem::take(&mut bench.responder.steps),
    );
    Ok((count, steps))
}

impl<A: Unit<End = Requesting>, B: Unit<End = Responding>> Bench<'_, A, B> {
    /// Offers events until they are taken.
    fn hold(
        &mut self,
        at_requester: Option<(u16, RequesterEvent)>,
        at_responder: Option<(u16, ResponderEvent)>,
    ) -> Result<(), Disagreement> {
        while self.at_requester.is_some() || self.at_responder.is_some() {
            self.step(Cycle(self.requester.now.0 + 1))?;
        }
        (self.at_requester, self.at_responder) = (at_requester, at_responder);
        while self.at_requester.is_some() || self.at_responder.is_some() {
            self.step(Cycle(self.requester.now.0 + 1))?;
        }
        Ok(())
    }

    /// Posts work for a QP and the buffer that it will need, in time or late.
    fn post(&mut self, qp: u16, event: &Event, seed: u64) {
        let now = self.requester.now;
        let connection = &mut self.connections[usize::from(qp)];
        let mut stands = RequesterQp::new(2, crate::units::gbn::TIMES);
        stands.context.configuration = connection.configuration;
        let Some(RequesterEvent::Post(work)) = event.at_requester(&stands) else {
            return;
        };
        if work.kind.0 > 4 {
            return;
        }
        let mut draw = SplitMix::new(!seed);
        let buffer = work.kind.takes_buffer().then(|| Recv {
            // The bytes of a WRITE do not go into the buffer, so that may be small.
            length: match work.kind.writes() {
                true => draw.edge(),
                false => (work.length).saturating_add(draw.below(3)),
            },
            local_va: draw.bits(),
            local_key: draw.bits() as u32,
            id: draw.bits(),
        });
        if let Some(buffer) = buffer {
            let late = match draw.once_in(3) {
                true => draw.within(0, BUFFER_LATE_MAX),
                false => 0,
            };
            let after = connection.buffers.back().map_or(now, |(at, _)| *at);
            let at = Cycle((now.0 + late).max(after.0));
            connection.buffers.push_back((at, buffer));
        }
        connection.to_post.push_back(work);
        connection.post(work, buffer);
    }

    fn over(&self) -> bool {
        let still = |(qp, connection): (u16, &Connection)| {
            let context = self.requester.context(qp);
            !connection.to_post.is_empty() || context.tail != context.head
        };
        self.at_requester.is_none()
            && self.at_responder.is_none()
            && self.requests.flight.is_empty()
            && self.answers.flight.is_empty()
            && self.owed == 0
            && !self.requester.busy()
            && !self.responder.busy()
            && !(0..).zip(&self.connections).any(still)
    }

    /// Returns the first QP from `turn` on whose bit is set.
    fn next_of(&mut self, bits: u64) -> u16 {
        let from = self.turn % 64;
        let rotated = bits.rotate_right(from);
        let number = (rotated.trailing_zeros() + from) % 64;
        self.turn = number + 1;
        number as u16
    }

    fn next_at_requester(&mut self, now: Cycle) -> Option<(u16, RequesterEvent)> {
        if let Some((qp, answer)) = self.answers.arrived(now) {
            let event = RequesterEvent::Ack {
                psn: answer.psn,
                syndrome: answer.syndrome,
            };
            return Some((qp, event));
        }
        for (qp, connection) in (0..).zip(&mut self.connections) {
            if let Some(work) = connection.to_post.front().copied() {
                let context = self.requester.latest(qp).context;
                if usize::from(context.head.wrapping_sub(context.tail)) < A::SLOTS {
                    connection.to_post.pop_front();
                    return Some((qp, RequesterEvent::Post(work)));
                }
            }
        }
        if self.sendable != 0 && now >= self.next_send {
            self.next_send = Cycle(now.0 + 1 + self.gap);
            let qp = self.next_of(self.sendable);
            return Some((qp, RequesterEvent::Send));
        }
        None
    }

    fn next_at_responder(&mut self, now: Cycle) -> Option<(u16, ResponderEvent)> {
        if let Some((qp, request)) = self.requests.arrived(now) {
            return Some((qp, ResponderEvent::Packet(request.arrival(true))));
        }
        for (qp, connection) in (0..).zip(&mut self.connections) {
            let first = connection.buffers.front().copied();
            if let Some((_, buffer)) = first.filter(|(at, _)| *at <= now) {
                let context = self.responder.latest(qp).context;
                if usize::from(context.head.wrapping_sub(context.tail)) < B::SLOTS {
                    connection.buffers.pop_front();
                    return Some((qp, ResponderEvent::Post(buffer)));
                }
            }
        }
        if self.owed != 0 && now >= self.next_grant {
            self.next_grant = Cycle(now.0 + 1 + self.draw.within(0, self.gap));
            let qp = self.next_of(self.owed);
            return Some((qp, ResponderEvent::Grant));
        }
        None
    }

    /// Runs one cycle, after skipping cycles before `until` in which nothing is to be done.
    fn step(&mut self, until: Cycle) -> Result<(), Disagreement> {
        let now = self.requester.now;
        if self.at_requester.is_none() {
            self.at_requester = self.next_at_requester(now);
        }
        if self.at_responder.is_none() {
            self.at_responder = self.next_at_responder(now);
        }
        if self.at_requester.is_none() && self.at_responder.is_none() {
            let send = (self.sendable != 0).then_some(self.next_send);
            let grant = (self.owed != 0).then_some(self.next_grant);
            let buffers = (self.connections.iter())
                .filter_map(|connection| Some(connection.buffers.front()?.0))
                .filter(|at| *at > now);
            let next = [send, grant, self.requests.next(), self.answers.next()];
            let until = next
                .into_iter()
                .flatten()
                .chain(buffers)
                .fold(until, Cycle::min);
            let to = self.requester.next(until).min(self.responder.next(until));
            if to > now {
                (self.requester.now, self.responder.now) = (to, to);
                return Ok(());
            }
        }
        self.evaluated += 1;
        if self.evaluated > CYCLES_MAX {
            return Err(format!(
                "cycle {}: it hangs, for {CYCLES_MAX} cycles in which no packet was lost, doubled or late",
                now.0
            ));
        }
        let offered = self.at_requester;
        let seen = (self.requester).cycle(offered.as_ref().map(|(qp, event)| (*qp, event)))?;
        if seen.taken {
            self.at_requester = None;
        }
        self.sendable = seen.bits;
        if let Some(shown) = seen.step {
            let connection = &mut self.connections[usize::from(shown.qp)];
            let wrong = |what| format!("cycle {}, QP {}: {what}", now.0, shown.qp);
            if let Some(request) = shown.step.request {
                connection.sent(&request).map_err(wrong)?;
                self.evaluated *= u64::from(!self.requests.faulty());
                self.requests.send(now, shown.qp, request);
            }
            if let Some(completion) = shown.step.completion {
                connection.completed(&completion).map_err(wrong)?;
            }
        }
        let offered = self.at_responder;
        let seen = (self.responder).cycle(offered.as_ref().map(|(qp, event)| (*qp, event)))?;
        if seen.taken {
            self.at_responder = None;
        }
        self.owed = seen.bits;
        if let Some(shown) = seen.step {
            let connection = &mut self.connections[usize::from(shown.qp)];
            let wrong = |what| format!("cycle {}, QP {}: {what}", now.0, shown.qp);
            match shown.step.note {
                ResponderNote::Accepted => {
                    let psn = shown.context.expected_psn.advance(Psn::MAX.get());
                    connection.accepted(psn, &shown).map_err(wrong)?;
                }
                ResponderNote::Invalid | ResponderNote::Access | ResponderNote::TooLong => {
                    return Err(wrong(format!("nothing is wrong with what came: {shown:?}")));
                }
                _ => {}
            }
            if let Some(answer) = shown.step.response {
                self.evaluated *= u64::from(!self.answers.faulty());
                self.answers.send(now, shown.qp, answer);
            }
        }
        Ok(())
    }
}
