//! Runs a case: two NICs, their hosts and the path.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_cosim::network::RtlHost;
use xoff_cosim::units::UnitError;
use xoff_network::Endpoint;
use xoff_sim::kernel::Digest;
use xoff_sim::nic::{ReadRights, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::dcqcn::Alpha;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::time::Time;

use super::causes::Causes;
use super::events::{Event, Foreign, Head};
use super::faults::{Faults, pause};
use super::ledger::Ledger;
use super::outside::Outside;
use super::pair::{PERIOD, Pair, READ_AND_ATOMIC, STEP_MAX};
use super::sent::{Right, Sent};
use super::setup::{Setup, Shared};
use super::watch::Watch;
use super::{as_text, bins};
use crate::property::Disagreement;
use crate::property::bins::Bins;

/// Maximum number of cycles of a case; a longer case counts as hanging.
const CYCLES_MAX: u64 = 2_000_000;
/// Maximum number of cycles in which nothing happens: a pause, a stall and eight timeouts of 16 us.
const QUIET_MAX: u64 = 60_000;
/// Cycles after the last frame, pause or completion until nothing more can come of itself: a NIC that a pause of 2,000
/// quanta holds says that it is idle, and sends after it. The pause may have been late.
const HELD_MAX: u64 = 10_000;
/// Maximum number of cycles after the last message until both NICs are idle: the longest pause and stall, and DCQCN's
/// timers.
const REST_MAX: u64 = 60_000;

/// Runs the events and checks the outcome of every message. Returns the number of frames.
///
/// # Errors
///
/// Returns the first violation.
pub fn check(
    seed: u64,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    bins::case(bins, head, events);
    let (first, hit) = run(seed, head, events, true)?;
    bins.merge(&hit);
    if head.twice {
        let (whole, _) = run(seed, head, events, false)?;
        compare(&first, &whole)?;
    }
    Ok(first.frames.len() as u64)
}

/// Runs the events and returns a digest of what both NICs did: frames and their times, completions, and writes.
///
/// # Errors
///
/// Returns the first violation.
pub fn digest(seed: u64, head: &Head, events: &[Event]) -> Result<Digest, Disagreement> {
    let (pair, _) = run(seed, head, events, true)?;
    let mut sides = [Digest::default(); 2];
    for (side, frame, _) in &pair.frames {
        sides[*side].frame(frame);
    }
    let mut digest = Digest::default();
    sides.into_iter().for_each(|side| digest.part(side));
    let rest = postcard::to_stdvec(&(&pair.completions, &pair.written));
    digest.bytes(&rest.expect("memory takes it"));
    Ok(digest)
}

/// Compares two runs of a case, without idle cycles and with them.
///
/// # Errors
///
/// The first difference.
pub fn compare(first: &Pair, whole: &Pair) -> Result<(), Disagreement> {
    if let Some(cycle) = first_other_frame(first, whole) {
        return Err(format!(
            "cycle {cycle}: other frames when idle cycles are left out"
        ));
    }
    if first.completions != whole.completions || first.written != whole.written {
        return Err("other completions or bytes when idle cycles are left out".into());
    }
    Ok(())
}

/// The cycle in which the first frame begins that two runs do not have in common.
pub fn first_other_frame(first: &Pair, whole: &Pair) -> Option<u64> {
    let both = first.frames.iter().zip(&whole.frames);
    let same = both.take_while(|(a, b)| a == b).count();
    let next = [first, whole].map(|pair| pair.frames.get(same));
    let starts = next.into_iter().flatten();
    let start = starts.map(|(_, frame, _)| frame.start.as_ps()).min()?;
    Some(start / PERIOD.as_ps())
}

/// A message to be posted.
#[derive(Debug, Clone, Copy)]
struct Message {
    kind: WorkKind,
    length: u32,
    signaled: bool,
    /// Cycles by which its buffer is posted later.
    late: u64,
    foreign: Foreign,
}

impl Message {
    /// The last one of a QP, which reports those before it.
    const LAST: Self = Self {
        kind: WorkKind::WRITE,
        length: 0,
        signaled: true,
        late: 0,
        foreign: Foreign::Nothing,
    };
}

/// A pair in the middle of a case. In serialized form it is a checkpoint.
#[derive(Serialize, Deserialize)]
pub struct Bench {
    #[serde(with = "as_text")]
    head: Head,
    /// The NICs, their hosts and the path.
    pub pair: Pair,
    faults: Faults,
    /// By side.
    sent: [Sent; 2],
    /// By side, a bit for each spare region that SENDs have been told to invalidate.
    invalidated: [u16; 2],
    /// By side.
    right: [Right; 2],
    /// By sender's side and QP.
    ledgers: BTreeMap<(usize, u16), Ledger>,
    /// By receiver's side and QP: the cycle of the last buffer.
    last_buffer: BTreeMap<(usize, u16), u64>,
    /// Number of completions and writes already judged, by side.
    judged: [(usize, usize); 2],
    /// Cycle in which something happened last.
    stirred: u64,
    causes: Causes,
    stage: Stage,
    steps: u64,
    /// A bench that goes on from a checkpoint has none.
    #[serde(skip)]
    watch: Option<Watch>,
    /// As `watch`.
    #[serde(skip)]
    outside: Option<Outside>,
    /// By side, whether frames were dropped because the buffer was full.
    overflowed: [bool; 2],
}

/// Where a bench stands in its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// This event is next.
    Event(usize),
    /// A wait until a cycle; then this event is next.
    Wait { until: u64, next: usize },
    /// All messages are to be reported since this cycle.
    Drain { begin: u64 },
    /// Both NICs are to become idle; all messages were reported in this cycle.
    Rest { settled: u64 },
    /// The case is over, and everything held.
    Done,
}

/// Runs a case to its end and returns the pair and what was hit.
fn run(seed: u64, head: &Head, events: &[Event], skip: bool) -> Result<(Pair, Bins), Disagreement> {
    let mut bench = Bench::new(seed, head, skip).map_err(|error| error.to_string())?;
    while bench.advance(events)? {}
    let mut bins = bench.faults.bins;
    for (_, completion) in bench.pair.completions.iter().flatten() {
        bins::completion(&mut bins, completion);
    }
    for side in 0..2 {
        bins::translations(&mut bins, head, bench.pair.host(side).counters());
    }
    Ok((bench.pair, bins))
}

/// The oracle of a case, told of its memory and QPs.
fn outside(setup: Setup<'_>, right: &[Right; 2]) -> Outside {
    let mut outside = Outside::new();
    for (side, right) in right.iter().enumerate() {
        for (index, region) in setup.regions() {
            outside.registered(side, index, &region, ReadRights::default());
        }
        if setup.0.reads {
            for (index, region) in setup.sources() {
                outside.registered(side, index, &region, READ_AND_ATOMIC);
            }
        }
        for (index, settings) in right.qps() {
            outside.opened(Time::ZERO, side, setup.qpn(side, index), settings);
        }
    }
    outside
}

impl Bench {
    /// Creates the bench at the beginning of a case.
    pub fn new(seed: u64, head: &Head, skip: bool) -> Result<Self, UnitError> {
        let setup = Setup(head);
        let mut pair = setup.connect(seed)?;
        pair.set_skip(skip);
        let mut ledgers = BTreeMap::new();
        for side in 0..2 {
            for qp in setup.indices() {
                let sent = setup.sent_from(qp);
                let ledger = Ledger::new(setup.base(qp), sent, head.requester.restart);
                ledgers.insert((side, qp), ledger);
            }
        }
        let right = [0, 1].map(|side| Right::of(setup, side));
        Ok(Self {
            head: *head,
            stirred: pair.now(),
            pair,
            faults: Faults::new(head.path),
            sent: Default::default(),
            outside: Some(outside(setup, &right)),
            overflowed: [false; 2],
            right,
            invalidated: [0; 2],
            ledgers,
            last_buffer: BTreeMap::new(),
            judged: [(0, 0); 2],
            causes: Causes::of(head),
            stage: Stage::Event(0),
            steps: 0,
            watch: Watch::of(head),
        })
    }

    /// The next cycle of both NICs.
    pub fn now(&self) -> u64 {
        self.pair.now()
    }

    /// How often [`advance`](Self::advance) was called.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Carries out an event, or at most [`STEP_MAX`] cycles. Returns whether the case goes on.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn advance(&mut self, events: &[Event]) -> Result<bool, Disagreement> {
        let now = self.now();
        self.steps += 1;
        match self.stage {
            Stage::Event(place) => match events.get(place) {
                None => self.close(),
                Some(event) => {
                    let next = place + 1;
                    self.stage = match *event {
                        Event::Wait(cycles) => Stage::Wait {
                            until: now + u64::from(cycles),
                            next,
                        },
                        _ => Stage::Event(next),
                    };
                    self.apply(event)?;
                }
            },
            Stage::Wait { until, next } if now >= until => self.stage = Stage::Event(next),
            Stage::Wait { until, .. } => self.step((until - now).min(STEP_MAX))?,
            Stage::Drain { .. } if self.ledgers.values().all(Ledger::settled) => {
                self.stage = Stage::Rest { settled: now };
            }
            Stage::Drain { begin } => self.drain(begin)?,
            Stage::Rest { .. } if self.pair.rests() && now > self.stirred + HELD_MAX => {
                self.end()?;
                self.stage = Stage::Done;
            }
            Stage::Rest { settled } => {
                self.step(STEP_MAX)?;
                if self.now() > settled + REST_MAX {
                    return Err(format!("cycle {}: not idle, and all is done", self.now()));
                }
            }
            Stage::Done => return Ok(false),
        }
        Ok(true)
    }

    fn apply(&mut self, event: &Event) -> Result<(), Disagreement> {
        let now = self.now();
        match *event {
            Event::Wait(_) => {}
            Event::PostAll {
                kind,
                length,
                signaled,
                buffer_late,
            } => {
                let message = Message {
                    kind: WorkKind(kind),
                    length,
                    signaled,
                    late: buffer_late.into(),
                    foreign: Foreign::Nothing,
                };
                for side in 0..2 {
                    for index in Setup(&self.head).indices() {
                        self.post_if_room((side, index), message);
                    }
                }
            }
            Event::Post {
                side,
                qp,
                kind,
                length,
                signaled,
                buffer_late,
                foreign,
            } => {
                if let Some(index) = Setup(&self.head).existing(qp) {
                    let message = Message {
                        kind: WorkKind(kind),
                        length,
                        signaled,
                        late: buffer_late.into(),
                        foreign,
                    };
                    self.post_if_room((usize::from(side & 1), index), message);
                }
            }
            Event::Stall {
                side,
                what,
                of_16,
                cycles,
            } => {
                let until = now + u64::from(cycles);
                self.causes.held = true;
                self.pair.stall(usize::from(side & 1), what, of_16, until);
            }
            Event::Pause {
                side,
                quanta,
                class,
            } => {
                let side = usize::from(side & 1);
                self.causes.held = true;
                let frame = pause(quanta, Setup(&self.head).class_named(class));
                self.faults.arrived[side].count(1, frame.len());
                let at = self.pair.time();
                self.pair.receive(side, at, frame);
                self.stirred = now;
            }
            Event::Reopen { qp } => {
                if let Some(index) = Setup(&self.head).existing(qp) {
                    self.causes.reopened = true;
                    self.reopen(index)?;
                }
            }
            Event::Withdraw { side } => {
                self.withdraw(usize::from(side & 1), Setup(&self.head).memories());
            }
            Event::WithdrawSent { side } => {
                let side = usize::from(side & 1);
                self.withdraw(side, Setup(&self.head).sent().collect());
                for ((from, _), ledger) in &mut self.ledgers {
                    if *from == side {
                        ledger.forbid_reads();
                    }
                }
            }
            Event::Unreadable { side, qp } => {
                if let Some(index) = Setup(&self.head).existing(qp) {
                    self.forbid_reads(usize::from(side & 1), index);
                }
            }
        }
        Ok(())
    }

    /// Withdraws regions of a side.
    fn withdraw(&mut self, side: usize, regions: BTreeMap<u16, Region>) {
        self.causes.withdrawn = true;
        for (index, region) in &regions {
            if let Some(outside) = &mut self.outside {
                outside.withdrawn(self.pair.time(), side, region.key(*index));
            }
        }
        let regions: Vec<u16> = regions.into_keys().collect();
        self.pair.withdraw(side, &regions);
        for ledger in self.ledgers.values_mut() {
            ledger.withdraw();
        }
    }

    /// Has a host answer reads of what it sends of a QP with an error.
    fn forbid_reads(&mut self, side: usize, index: u16) {
        for (va, bytes) in Setup(&self.head).read_of(index) {
            if let Some(outside) = &mut self.outside {
                outside.unreadable(self.pair.time(), side, (va, bytes));
            }
            let forbid = |host: &mut RtlHost| host.host_mut().forbid_reads(va, bytes);
            self.pair.update(side, forbid);
        }
        self.expect_failure((side, index), true);
    }

    /// Closes a QP at both sides and opens it again.
    fn reopen(&mut self, index: u16) -> Result<(), Disagreement> {
        // The hosts hand over what was posted just before.
        self.step(STEP_MAX)?;
        let busy = |side: usize| {
            let host = self.pair.host(side).host();
            host.next_work().is_some() || host.next_recv().is_some()
        };
        if busy(0) || busy(1) {
            return Ok(());
        }
        let failed = |error: UnitError| error.to_string();
        // The monitors would take packets of the old connection that come late for packets of the new one.
        self.watch = None;
        for side in 0..2 {
            self.pair.close(side, index).map_err(failed)?;
            self.sent[side].end_qp();
            self.look();
            if let Some(outside) = &mut self.outside {
                outside.closed(self.pair.time(), side, Setup(&self.head).qpn(side, index));
            }
        }
        let now = self.now();
        self.judge(now)
            .map_err(|what| format!("cycle {now}: {what}"))?;
        for (side, qpn) in [0, 1].map(|side| (side, Setup(&self.head).qpn(side, index))) {
            self.faults.cnps[side].remove(&qpn);
        }
        for side in 0..2 {
            if let Some(ledger) = self.ledgers.get_mut(&(side, index)) {
                let place = |what| format!("from side {side} over QP {index}, closed: {what}");
                ledger.reopen().map_err(place)?;
            }
            if let Some(settings) = self.right[side].reopen(index) {
                let begin = self.pair.time();
                self.pair.open(side, index, settings).map_err(failed)?;
                if let Some(outside) = &mut self.outside {
                    let qpn = Setup(&self.head).qpn(side, index);
                    outside.opened(begin, side, qpn, settings);
                }
            }
        }
        self.stirred = self.now();
        Ok(())
    }

    /// Posts a message, unless as many are under way as the rings hold.
    fn post_if_room(&mut self, direction: (usize, u16), message: Message) {
        if self.ledgers.get(&direction).is_some_and(Ledger::has_room) {
            self.causes.late_buffer |= message.late > 0;
            self.post(direction, message);
        }
    }

    /// Posts a message over an existing QP.
    fn post(&mut self, direction: (usize, u16), message: Message) {
        let Message {
            kind,
            length,
            signaled,
            late,
            foreign,
        } = message;
        let (side, qp) = direction;
        let head = self.head;
        let setup = Setup(&head);
        let foreign = |what| setup.has_foreign() && foreign == what;
        let (own, peers) = (foreign(Foreign::Own), foreign(Foreign::Peers));
        let invalidated = kind == WorkKind::SEND_INV && foreign(Foreign::Invalidated);
        if own || peers || invalidated {
            self.expect_failure(direction, own);
        }
        let Some(ledger) = self.ledgers.get_mut(&direction) else {
            return;
        };
        if kind.returns() {
            let landing = setup.key(Shared::Landing, qp, own);
            let place = (setup.landing_base(qp), landing);
            let source = setup.source_of(qp, peers);
            let work = match kind.is_atomic() {
                true => ledger.post_atomic(kind, signaled, place, source),
                false => ledger.post_read(length, signaled, place, source),
            };
            return self.hand(direction, &work, None, late);
        }
        let spent = &mut self.invalidated[1 - side];
        let invalidates = match kind {
            // A region is invalidated once.
            WorkKind::SEND_INV => {
                let Some((number, key)) = setup.spare_key(qp, invalidated, *spent) else {
                    return;
                };
                if !invalidated {
                    *spent |= 1 << number;
                }
                Some(key)
            }
            _ => None,
        };
        let key = setup.key(Shared::Memory, qp, peers);
        let (mut work, buffer) = ledger.post(kind, length, signaled, key, invalidates);
        if own {
            work = ledger.send_with(setup.key(Shared::Sent, qp, true));
        }
        self.hand(direction, &work, buffer, late);
    }

    /// Notes that messages of a QP may fail because of memory; `own`: because of that of the side that posts them.
    fn expect_failure(&mut self, (side, qp): (usize, u16), own: bool) {
        self.causes.withdrawn = true;
        for from in 0..2 {
            if let Some(ledger) = self.ledgers.get_mut(&(from, qp)) {
                ledger.withdraw();
                if own && from == side {
                    ledger.forbid_reads();
                }
            }
        }
    }

    /// Hands a work request and the buffer that it needs to the hosts, and tells the oracle.
    fn hand(&mut self, (side, qp): (usize, u16), work: &Work, buffer: Option<Recv>, late: u64) {
        let now = self.now();
        let at = |cycle| Time::ZERO + PERIOD * cycle;
        let qpns = [0, 1].map(|side| Setup(&self.head).qpn(side, qp));
        if let Some(outside) = &mut self.outside {
            outside.posted(at(now), side, qpns[side], work);
        }
        self.pair.post(side, qp, *work);
        if let Some(buffer) = buffer {
            // In the order of the messages.
            let last = self.last_buffer.entry((1 - side, qp)).or_default();
            *last = (now + late).max(*last);
            if let Some(outside) = &mut self.outside {
                outside.buffer(at(*last), 1 - side, qpns[1 - side], &buffer);
            }
            self.pair.post_recv_at(1 - side, *last, qp, buffer);
        }
    }

    /// Runs a number of cycles, at most [`STEP_MAX`], and judges their results.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn step(&mut self, cycles: u64) -> Result<(), Disagreement> {
        let before = self.pair.frames.len();
        let stepped = self.run_on(cycles);
        stepped.map_err(|error| error.to_string())?;
        let now = self.now();
        if self.full() {
            // Monitors would count what was dropped as received.
            self.watch = None;
        }
        if let Some(watch) = &mut self.watch {
            watch.see(&self.pair);
            watch.judge(self.pair.watched())?;
        }
        self.look();
        if let Some(outside) = &mut self.outside {
            outside.judge(&self.pair)?;
        }
        for (side, frame, parsed) in &self.pair.frames[before..] {
            self.stirred = now;
            (self.sent[*side].judge(parsed, &self.right[*side])).map_err(|what| {
                let cycle = frame.start.as_ps() / PERIOD.as_ps();
                format!("cycle {cycle}: side {side} sends {what}")
            })?;
        }
        self.judge(now)
            .map_err(|what| format!("cycle {now}: {what}"))
    }

    /// Tells the oracle what it has not been told.
    fn look(&mut self) {
        let full = [0, 1].map(|side| self.is_full(side));
        let Some(outside) = &mut self.outside else {
            return;
        };
        let setup = Setup(&self.head);
        outside.see(&self.pair, |side, index| setup.qpn(side, index));
        for (side, full) in full.into_iter().enumerate() {
            if full && !std::mem::replace(&mut self.overflowed[side], true) {
                outside.overflowed(side);
            }
        }
    }

    /// Runs a number of cycles, at most [`STEP_MAX`], and judges nothing.
    ///
    /// # Errors
    ///
    /// A NIC failed.
    pub fn run_on(&mut self, cycles: u64) -> Result<(), UnitError> {
        let faults = &mut self.faults;
        (self.pair).step_over(cycles, &mut |side, sent, frame| {
            faults.carry(side, sent, frame)
        })
    }

    /// Whether a NIC has dropped frames because its buffer was full.
    fn full(&self) -> bool {
        (0..2).any(|side| self.is_full(side))
    }

    fn is_full(&self, side: usize) -> bool {
        self.pair.host(side).counters().get(reg::DROP_FULL) > 0
    }

    /// Judges new completions and writes.
    fn judge(&mut self, now: u64) -> Result<(), Disagreement> {
        let full = self.full();
        for side in 0..2 {
            let (completions, writes) = self.judged[side];
            for (qp, completion) in &self.pair.completions[side][completions..] {
                let qp = *qp;
                let place = |what| format!("side {side}, QP {qp}: {what}");
                let sender = if completion.receive { 1 - side } else { side };
                let ledger = (self.ledgers.get_mut(&(sender, qp)))
                    .ok_or_else(|| place(format!("no such QP: {completion:?}")))?;
                let judged = match completion.receive {
                    true => ledger.received(completion),
                    false => ledger.sent(completion),
                };
                judged.map_err(place)?;
                if !self.causes.allow(completion.status, full) {
                    return Err(place(format!("nothing makes this fail: {completion:?}")));
                }
                if completion.status != Status::Success {
                    self.sent.iter_mut().for_each(Sent::end_qp);
                }
                if !completion.receive
                    && completion.status != Status::Success
                    && let Some(back) = self.ledgers.get_mut(&(1 - side, qp))
                {
                    back.fail_receiver();
                }
            }
            for write in &self.pair.written[side][writes..] {
                let setup = Setup(&self.head);
                let place = |what| format!("memory of side {side}: {what}");
                let reads = setup.lander(write.va).filter(|_| self.head.reads);
                if let Some(ledger) = reads.and_then(|qp| self.ledgers.get_mut(&(side, qp))) {
                    ledger.fetched(write).map_err(place)?;
                    continue;
                }
                let owner = setup.owner(write.va);
                let ledger = owner
                    .and_then(|qp| self.ledgers.get_mut(&(1 - side, qp)))
                    .ok_or_else(|| place(format!("a write at {:#x}", write.va)))?;
                ledger.wrote(write).map_err(place)?;
            }
            let seen = (
                self.pair.completions[side].len(),
                self.pair.written[side].len(),
            );
            if seen != self.judged[side] {
                self.stirred = now;
            }
            self.judged[side] = seen;
        }
        Ok(())
    }

    /// Begins the end of the case: all messages are to be reported.
    fn close(&mut self) {
        let begin = self.now();
        self.stirred = begin;
        // A message without a completion is only known to be complete by a later completion.
        let used = |(_, ledger): &(&(usize, u16), &Ledger)| ledger.used();
        let used: Vec<_> = (self.ledgers.iter().filter(used))
            .map(|(direction, _)| *direction)
            .collect();
        for direction in used {
            self.post(direction, Message::LAST);
        }
        self.stage = Stage::Drain { begin };
    }

    fn drain(&mut self, begin: u64) -> Result<(), Disagreement> {
        self.step(STEP_MAX)?;
        let now = self.now();
        if now > self.stirred + QUIET_MAX || now > begin + CYCLES_MAX {
            let open = self.ledgers.iter().filter(|(_, ledger)| !ledger.settled());
            let open: Vec<_> = open.map(|(direction, _)| direction).collect();
            return Err(format!(
                "cycle {now}: no completion comes any more from (side, QP) {open:?}"
            ));
        }
        Ok(())
    }

    /// Judges what is left when all messages are reported and both NICs are idle.
    fn end(&mut self) -> Result<(), Disagreement> {
        for ((side, qp), ledger) in &self.ledgers {
            let place = |what| format!("from side {side} over QP {qp}: {what}");
            ledger.end().map_err(place)?;
        }
        if let Some(watch) = &mut self.watch {
            watch.see(&self.pair);
            watch.judge(Time::MAX)?;
        }
        self.look();
        if let Some(outside) = &mut self.outside {
            outside.finish()?;
        }
        for side in 0..2 {
            self.slowed(side)?;
            self.notified(side)?;
            self.counters(side)
                .map_err(|what| format!("side {side}: {what}"))?;
            let settings = self.pair.check_settings(side);
            settings.map_err(|error| format!("side {side}: {error}"))?;
        }
        Ok(())
    }

    /// Judges that a CNP has slowed down its QP: its rate is below the line's, or it was and α has decayed since.
    fn slowed(&self, side: usize) -> Result<(), Disagreement> {
        if !self.head.dcqcn {
            return Ok(());
        }
        for (index, qpn) in Setup(&self.head).qpns(side) {
            let rate = self.pair.host(side).rate(index);
            let slowed = rate.is_some_and(|(_, alpha, limited)| limited || alpha < Alpha::ONE);
            if self.faults.cnps[side].contains(&qpn) && !slowed {
                return Err(format!(
                    "side {side}, QP {index}: a CNP came, and its rate, α and limit are {rate:?}"
                ));
            }
        }
        Ok(())
    }

    /// Judges that a request with a mark has made the NIC send a CNP. A QP that has ended sends none.
    fn notified(&self, side: usize) -> Result<(), Disagreement> {
        let ended = self.sent[side].ended() || self.causes.withdrawn || self.full();
        if !self.head.dcqcn || ended {
            return Ok(());
        }
        for (index, qpn) in Setup(&self.head).qpns(side) {
            let peer = Setup(&self.head).qpn(1 - side, index);
            if self.faults.marked[side].contains(&qpn) && !self.sent[side].has_notified(peer) {
                return Err(format!(
                    "side {side}, QP {index}: a marked request came, and no CNP was sent"
                ));
            }
        }
        Ok(())
    }

    /// Judges the counters of a side.
    fn counters(&mut self, side: usize) -> Result<(), Disagreement> {
        let pulses = self.pair.host(side).counters().clone();
        let mut counted = BTreeMap::new();
        for counter in reg::COUNTERS {
            let mut read = |address| {
                let word = self.pair.read(side, address).map(u64::from);
                word.map_err(|error| error.to_string())
            };
            let mut count = read(counter.address)?;
            if counter.bytes {
                let high = match counter.address {
                    reg::BYTES_IN => reg::BYTES_IN_HIGH,
                    _ => reg::BYTES_OUT_HIGH,
                };
                count |= read(high)? << 32;
            }
            let pulses = pulses.get(counter.address);
            if count != pulses {
                return Err(format!("{} is {count}, not {pulses}", counter.name));
            }
            counted.insert(counter.address, count);
        }
        let counted = |address| counted[&address];
        self.sent[side].check(self.head.reads, counted)?;
        self.causes.check_drops(counted)?;
        self.faults.arrived[side].check(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::nic::events::history;
    use xoff_sim::seeded::SplitMix;

    #[test]
    fn a_case_goes_on_from_a_checkpoint() {
        let case = history(&mut SplitMix::new(7));
        let whole = |bench: &mut Bench| {
            while bench.advance(&case.events).unwrap() {}
            bench.now()
        };
        let mut bench = Bench::new(7, &case.head, true).unwrap();
        for _ in 0..case.events.len() {
            bench.advance(&case.events).unwrap();
        }
        let checkpoint = postcard::to_stdvec(&bench).unwrap();
        let end = whole(&mut bench);
        let mut again: Bench = postcard::from_bytes(&checkpoint).unwrap();
        assert_eq!(whole(&mut again), end);
        assert_eq!(again.pair.completions, bench.pair.completions);
        assert_eq!(again.pair.written, bench.pair.written);
    }
}
