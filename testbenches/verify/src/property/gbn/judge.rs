//! Judges a unit against its reference, cycle by cycle: every step in order, timers in time, bits as the contexts say,
//! idle when there is nothing to do.

use std::collections::VecDeque;

use crate::units::gbn::{End, Shown, Unit, Wire};
use xoff_cosim::units::Skip;
use xoff_sim::protocol::{Cycle, Idle};

use super::bins::{Binned, GROUPS};
use crate::property::bins::Bins;
use crate::property::deadline_sweep::Swept;
use crate::property::{Disagreement, other_fields, text};

/// Maximum number of cycles from when an event is taken until its step shows.
const STEP_TIME: u64 = 8;
/// Maximum number of cycles in which a bit of `sendable_o` or `owed_o` may be ahead of a WALK or TIMER step under way.
const BIT_TIME: u64 = 4;
/// Number of cycles after timers are held in which a TIMER step may still take its `now`.
const HOLD_TIME: u64 = 2;
/// Number of times that the state is compared in a case.
const STATES: u32 = 8;

type EventOf<U> = <<U as Unit>::End as End>::Event;

/// The reference state of a QP, and the steps that are still expected.
struct Qp<E: End> {
    reference: E::Qp,
    /// Events taken and not stepped.
    inside: u32,
    /// The last step said that a WALK comes next; when that step showed.
    walks: Option<Cycle>,
    /// Cycle since which its bit differs from what its context says.
    odd: Option<Cycle>,
    /// What its ACK timer has been told, and since when; the latest last.
    told: Vec<(Cycle, Told)>,
}

/// What the wire has told an ACK timer.
#[derive(Clone, Copy, PartialEq, Default)]
struct Told {
    /// The timer was started, and no packet has left since.
    armed: bool,
    /// A packet waits for the wire.
    asks: bool,
    /// When the last packet left while the timer was armed.
    left: Option<Cycle>,
    /// An answer waits.
    answer: bool,
}

impl<E: End> Qp<E> {
    fn told(&self) -> Told {
        self.told.last().map_or(Told::default(), |(_, told)| *told)
    }

    /// What it had been told up to a cycle.
    fn told_until(&self, cycle: Cycle) -> Told {
        let count = self.told.partition_point(|(since, _)| *since <= cycle);
        count
            .checked_sub(1)
            .map_or(Told::default(), |last| self.told[last].1)
    }

    /// Whether a step at `at` finds a packet that waits for the wire, and when the last one left. The cycle before
    /// counts, too.
    fn wire_at(&self, at: Cycle) -> (bool, Option<Cycle>) {
        let told = [Cycle(at.0.saturating_sub(1)), at].map(|cycle| self.told_until(cycle));
        (
            told.iter().any(|told| told.armed && told.asks),
            told[1].left,
        )
    }
}

/// An event taken and not stepped.
struct Taken<E: End> {
    qp: u16,
    event: E::Event,
    at: Cycle,
}

/// A unit being judged.
pub struct Judged<'a, U: Unit> {
    unit: &'a mut U,
    /// The next cycle.
    pub now: Cycle,
    skip: Skip,
    /// Cycles since the unit was last idle or had an event or a step.
    awake: u64,
    /// Its state when it became idle.
    state: Option<Vec<u8>>,
    states_left: u32,
    qps: Vec<Qp<U::End>>,
    inside: VecDeque<Taken<U::End>>,
    /// QPs that walk.
    walking: usize,
    /// Slots that went to WALK and TIMER steps, the oldest first.
    own: Vec<Cycle>,
    /// By which it follows how late a timer may be.
    swept: Swept,
    /// Cycles in which timers were held, the oldest first.
    held: Vec<Cycle>,
    /// The cycles in which holding began.
    holds_from: Vec<Cycle>,
    holds: bool,
    /// Cycles in which an answer of some QP waited, the oldest first, and those in which one began to.
    answers: Vec<Cycle>,
    answers_from: Vec<Cycle>,
    wire: Wire,
    /// Bits of QPs with an outstanding step.
    busy: u64,
    /// Expected bits.
    bits: u64,
    /// A deadline was written since reset.
    timed: bool,
    /// Cycle since which an event is offered.
    offered: Option<Cycle>,
    /// Cycle from which on events are taken; before, reset clears the memories.
    clear: Cycle,
    /// Steps seen.
    pub steps: Vec<Shown<U::End>>,
    keeps_steps: bool,
    /// Number of steps seen.
    pub count: u64,
    /// The bins that they hit.
    pub bins: Bins,
}

/// Result of one cycle.
pub struct Seen<E: End> {
    /// The event is taken.
    pub taken: bool,
    /// The step that showed.
    pub step: Option<Shown<E>>,
    /// `sendable_o` or `owed_o`.
    pub bits: u64,
}

impl<'a, U: Unit<End: Binned>> Judged<'a, U> {
    /// Creates the judge and resets the unit at `start`. `keeps_steps`: keep the steps, for a comparison of two runs.
    ///
    /// # Errors
    ///
    /// Returns a failing assertion of the RTL.
    pub fn new(
        unit: &'a mut U,
        start: Cycle,
        skips: bool,
        keeps_steps: bool,
    ) -> Result<Self, Disagreement> {
        unit.reset(start).map_err(text)?;
        let qp = || Qp {
            reference: U::End::qp(U::SLOTS),
            inside: 0,
            walks: None,
            odd: None,
            told: Vec::new(),
        };
        Ok(Self {
            unit,
            now: Cycle(start.0 + 1),
            skip: Skip::new(skips),
            awake: 0,
            state: None,
            states_left: if skips { 0 } else { STATES },
            qps: (0..U::QPS).map(|_| qp()).collect(),
            inside: VecDeque::new(),
            swept: Swept::default(),
            walking: 0,
            own: Vec::new(),
            held: Vec::new(),
            holds_from: Vec::new(),
            holds: false,
            answers: Vec::new(),
            answers_from: Vec::new(),
            wire: Wire::default(),
            busy: 0,
            bits: 0,
            timed: false,
            offered: None,
            clear: Cycle(start.0 + 1 + u64::from(U::QPS) + STEP_TIME),
            steps: Vec::new(),
            keeps_steps,
            count: 0,
            bins: Bins::new(GROUPS),
        })
    }

    /// Maximum number of cycles by which a timer may be late if all QPs have one, not counting slots of WALK and TIMER
    /// steps.
    const LATE: u64 = 2 * U::QPS as u64 + U::QPS as u64 / 16 + 16;
    /// Maximum number of cycles that an event may wait or a QP may walk.
    const WAIT: u64 = 3 * U::SLOTS as u64 + if U::End::TIMER.is_some() { 16 } else { 8 };

    /// Most cycles from an event that was taken to its step: at the responder WALKs may come between.
    const TAKEN: u64 = if U::End::TIMER.is_some() {
        STEP_TIME
    } else {
        Self::WAIT
    };

    /// Returns the QP as it will be when all events taken have been stepped.
    pub fn latest(&self, qp: u16) -> <U::End as End>::Qp {
        let mut reference = self.qps[usize::from(qp)].reference.clone();
        let mut walks = self.qps[usize::from(qp)].walks.is_some();
        let mut events = self.inside.iter().filter(|taken| taken.qp == qp);
        loop {
            while walks {
                walks = U::End::step(&mut reference, U::End::WALK, self.now).1;
            }
            let Some(taken) = events.next() else {
                return reference;
            };
            walks = U::End::step(&mut reference, taken.event, self.now).1;
        }
    }

    /// Returns the context after the last step that showed.
    pub fn context(&self, qp: u16) -> &<U::End as End>::Context {
        U::End::context(&self.qps[usize::from(qp)].reference)
    }

    /// Returns whether the unit has something to do in the next cycle, whatever its inputs are.
    pub fn busy(&self) -> bool {
        (self.skip.idle().wake()).is_none_or(|wake| wake <= self.now)
    }

    /// Returns whether all events taken have been stepped and no QP walks.
    pub fn quiet(&self) -> bool {
        self.inside.is_empty() && self.walking == 0
    }

    /// Returns the next cycle to evaluate if no event comes before `until`; at the latest `until`.
    pub fn next(&self, until: Cycle) -> Cycle {
        self.skip.next(self.now, until)
    }

    /// Runs one cycle, with or without an event offered.
    ///
    /// # Errors
    ///
    /// Returns the first violation.
    pub fn cycle(
        &mut self,
        event: Option<(u16, &EventOf<U>)>,
    ) -> Result<Seen<U::End>, Disagreement> {
        let now = self.now;
        let idle = self.skip.idle();
        let resting = idle.wake().is_some_and(|wake| now < wake);
        if event.is_some() || !resting {
            self.compare_state()?;
        }
        if self.holds {
            self.held.push(now);
        }
        if self.wire.answers != 0 {
            self.answers.push(now);
        }
        let out = (self.unit.cycle(now, event)).map_err(text)?;
        if resting && event.is_none() && (idle != out.idle || out.step.is_some()) {
            return Err(format!(
                "cycle {}: it changes in a cycle for which it said that it is idle\nbefore: {idle:?}\nnow:    {out:?}",
                now.0
            ));
        }
        if let Some(shown) = &out.step {
            self.see(shown)?;
        }
        let taken = event.is_some() && out.ready;
        match event {
            Some((qp, event)) if taken => {
                self.swept.touch(qp);
                self.inside.push_back(Taken {
                    qp,
                    event: *event,
                    at: now,
                });
                self.qps[usize::from(qp)].inside += 1;
                self.busy |= 1 << qp;
                self.offered = None;
            }
            Some((qp, event)) => {
                let since = *self.offered.get_or_insert(now);
                if now.0 > since.max(self.clear).0 + Self::WAIT {
                    return Err(format!(
                        "cycle {}: {event:?} of QP {qp} waits since {}",
                        now.0, since.0
                    ));
                }
            }
            None => self.offered = None,
        }
        self.stuck()?;
        if event.is_some()
            || out.step.is_some()
            || out.idle != Idle::No
            || self.holds
            || self.wire.answers != 0
        {
            self.awake = 0;
        } else {
            self.awake += 1;
        }
        if self.awake > 2 * Self::LATE {
            return Err(format!(
                "cycle {}: awake for {} cycles, and for nothing",
                now.0, self.awake
            ));
        }
        let rests = out.idle != Idle::No && event.is_none();
        self.judge_bits(out.bits, rests)?;
        if rests {
            if out.step.is_some() {
                return Err(format!("cycle {}: idle, and a step shows", now.0));
            }
            self.rests(out.idle)?;
            self.judge_answerable(out.answerable)?;
            self.skip.said(out.idle);
        } else {
            self.skip.wake();
        }
        self.now.0 += 1;
        if self.skip.idle() != Idle::No && self.state.is_none() && self.states_left > 0 {
            self.state = Some(self.unit.rest_state().map_err(text)?);
        }
        Ok(Seen {
            taken,
            step: out.step,
            bits: out.bits,
        })
    }

    /// Runs without an event until cycle `until` (exclusive).
    ///
    /// # Errors
    ///
    /// As [`Judged::cycle`].
    pub fn run_to(&mut self, until: Cycle) -> Result<(), Disagreement> {
        self.now = self.next(until);
        while self.now < until {
            self.cycle(None)?;
            self.now = self.next(until);
        }
        Ok(())
    }

    /// Offers an event until it is taken.
    ///
    /// # Errors
    ///
    /// As [`Judged::cycle`].
    pub fn offer(&mut self, qp: u16, event: &EventOf<U>) -> Result<(), Disagreement> {
        while !self.cycle(Some((qp, event)))?.taken {}
        Ok(())
    }

    /// Checks that nothing is under way any more and no deadline was forgotten.
    ///
    /// # Errors
    ///
    /// Returns what is left.
    pub fn end(&mut self) -> Result<(), Disagreement> {
        self.hold(false);
        for qp in 0..U::QPS {
            self.answer_waits(qp, false)?;
        }
        let begin = self.now;
        let end = |own: &[Cycle]| begin.0 + 2 * Self::LATE + Self::WAIT + since(own, begin);
        while (self.skip.idle() == Idle::No || !self.inside.is_empty())
            && self.now.0 < end(&self.own)
        {
            self.cycle(None)?;
        }
        if let Some(lost) = self.inside.front() {
            return Err(format!(
                "QP {}: {:?} was taken in cycle {} and never stepped",
                lost.qp, lost.event, lost.at.0
            ));
        }
        if let Some(qp) = self.qps.iter().position(|qp| qp.walks.is_some()) {
            return Err(format!("QP {qp}: its walk never went on"));
        }
        self.overdue()
    }

    /// Tells the ACK timers from now on whether a packet of the QP waits for the wire.
    ///
    /// # Errors
    ///
    /// As [`Judged::cycle`].
    pub fn asks(&mut self, qp: u16, asks: bool) -> Result<(), Disagreement> {
        self.compare_state()?;
        match asks {
            true => self.wire.asks |= 1 << qp,
            false => self.wire.asks &= !(1 << qp),
        }
        let told = Told {
            asks,
            ..self.qps[usize::from(qp)].told()
        };
        self.qps[usize::from(qp)].told.push((self.now, told));
        self.unit.tell(self.wire);
        Ok(())
    }

    /// Runs until no event is inside: a timer that starts in this cycle may or may not be armed yet, so it starts before.
    ///
    /// # Errors
    ///
    /// As [`Judged::cycle`].
    fn settle(&mut self) -> Result<(), Disagreement> {
        let last = self.now.0 + Self::WAIT * u64::from(U::QPS);
        while !self.quiet() {
            self.cycle(None)?;
            if self.now.0 > last {
                return Err(format!("cycle {last}: an event or a walk never went on"));
            }
        }
        self.cycle(None)?;
        self.compare_state()
    }

    /// Tells the ACK timers from now on whether an answer of the QP's peer waits.
    ///
    /// # Errors
    ///
    /// As [`Judged::cycle`].
    pub fn answer_waits(&mut self, qp: u16, waits: bool) -> Result<(), Disagreement> {
        if U::End::TIMER.is_none() || (self.wire.answers >> qp & 1 != 0) == waits {
            return Ok(());
        }
        self.settle()?;
        self.wire.answers ^= 1 << qp;
        if waits {
            self.answers_from.push(self.now);
        }
        let told = Told {
            answer: waits,
            ..self.qps[usize::from(qp)].told()
        };
        self.qps[usize::from(qp)].told.push((self.now, told));
        self.unit.tell(self.wire);
        // What was due and waited for the answer is stepped without a further event.
        self.skip.wake();
        Ok(())
    }

    /// A packet of the QP leaves in the next cycle, or its last bit does (`end`).
    ///
    /// # Errors
    ///
    /// As [`Judged::cycle`].
    pub fn left(&mut self, qp: u16, end: bool) -> Result<(), Disagreement> {
        self.settle()?;
        let now = self.now;
        let this = &mut self.qps[usize::from(qp)];
        if let told @ Told { armed: true, .. } = this.told() {
            let left = Some(now);
            this.told.push((
                now,
                Told {
                    armed: !end,
                    left,
                    ..told
                },
            ));
        }
        let left = Some((qp, end));
        self.unit.tell(Wire { left, ..self.wire });
        self.skip.wake();
        self.cycle(None)?;
        self.unit.tell(self.wire);
        Ok(())
    }

    /// Holds timers or releases them, from the next cycle on.
    pub fn hold(&mut self, holds: bool) {
        if U::End::TIMER.is_some() && self.holds != holds {
            self.holds = holds;
            self.unit.let_timers(!holds);
            if holds {
                self.holds_from.push(self.now);
            }
        }
    }

    /// Returns whether a packet of some QP waits for the wire, or an answer for its turn.
    pub fn waits(&self) -> bool {
        self.wire.asks != 0 || self.wire.answers != 0
    }

    /// Returns whether timers are held.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Returns the cycles by which a deadline may be late by now.
    fn late(&self, due: Cycle) -> u64 {
        // A held deadline may need a second sweep, and another one each time timers are held again. So may one that an
        // answer has held.
        let (held, answers) = (since(&self.held, due), since(&self.answers, due));
        let sweeps = 1
            + u64::from(held > 0)
            + u64::from(answers > 0)
            + since(&self.holds_from, due)
            + since(&self.answers_from, due);
        let held = held + answers;
        sweeps * (self.swept.round(U::QPS) + 16) + since(&self.own, due) + held
    }

    /// Checks that the unit has not forgotten a deadline.
    fn overdue(&self) -> Result<(), Disagreement> {
        let late = |qp: &&Qp<U::End>| {
            let due = U::End::due(U::End::context(&qp.reference));
            let late = |due: Cycle| self.now.0 > due.0 + self.late(due) + STEP_TIME;
            qp.walks.is_none() && due.is_some_and(late)
        };
        match self.qps.iter().find(late) {
            None => Ok(()),
            Some(qp) => Err(format!(
                "cycle {}: its deadline is over and was not stepped: {:?}",
                self.now.0,
                U::End::context(&qp.reference)
            )),
        }
    }

    /// Checks that events taken come out in time.
    fn stuck(&self) -> Result<(), Disagreement> {
        match self.inside.front() {
            Some(oldest) if self.now.0 > oldest.at.0 + Self::WAIT => Err(format!(
                "cycle {}: {:?} of QP {} was taken in cycle {} and is not stepped",
                self.now.0, oldest.event, oldest.qp, oldest.at.0
            )),
            _ => Ok(()),
        }
    }

    /// Judges a step that shows.
    fn see(&mut self, shown: &Shown<U::End>) -> Result<(), Disagreement> {
        let now = self.now;
        let wrong = |what: String| Err(format!("cycle {}: {what}\n{shown:?}", now.0));
        if shown.qp >= U::QPS {
            return wrong("no such QP".to_owned());
        }
        let at = shown.now.unwrap_or(now);
        let due = U::End::due(U::End::context(&self.qps[usize::from(shown.qp)].reference));
        let late = due.map_or(0, |due| self.late(due));
        let holds = since(&self.held, Cycle(at.0.saturating_sub(HOLD_TIME)))
            - since(&self.held, Cycle(at.0 + 1))
            > HOLD_TIME;
        let qp = &mut self.qps[usize::from(shown.qp)];
        if at > now || at.0 + STEP_TIME < now.0 {
            return wrong("a step of another time".to_owned());
        }
        let event = if let Some(since) = qp.walks {
            if !shown.walks() {
                return wrong("its QP has to walk first".to_owned());
            }
            if now.0 > since.0 + Self::WAIT {
                return wrong(format!("it walks on since cycle {}", since.0));
            }
            qp.walks = None;
            self.walking -= 1;
            U::End::WALK
        } else if shown.walks() {
            return wrong("a WALK with nothing to walk".to_owned());
        } else if shown.times() {
            let context = U::End::context(&qp.reference);
            match U::End::due(context) {
                Some(due) if due > at => {
                    return wrong(format!("TIMER before its time: {context:?}"));
                }
                Some(due) if at.0 > due.0 + late => {
                    return wrong(format!("TIMER {} late: {context:?}", at.0 - due.0));
                }
                Some(_) if holds => return wrong("TIMER while timers are held".to_owned()),
                Some(_) if qp.told_until(at).answer && U::End::awaits_answer(context) => {
                    return wrong("TIMER while an answer waits".to_owned());
                }
                Some(_) => U::End::TIMER.expect("times() says so"),
                None => return wrong(format!("TIMER with nothing due: {context:?}")),
            }
        } else {
            let Some(taken) = self.inside.pop_front() else {
                return wrong("a step of no event".to_owned());
            };
            if taken.qp != shown.qp || U::End::kind(&taken.event) != shown.kind {
                return wrong(format!(
                    "the next to be stepped is {:?} of QP {}",
                    taken.event, taken.qp
                ));
            }
            if at < taken.at || now.0 > taken.at.0 + Self::TAKEN {
                return wrong(format!("its event was taken in cycle {}", taken.at.0));
            }
            qp.inside -= 1;
            taken.event
        };
        if shown.walks() || shown.times() {
            self.own.push(at);
        }
        let before = *U::End::context(&qp.reference);
        let held = match U::End::held() {
            Some(held) if shown.times() => {
                let (waits, left) = qp.wire_at(at);
                U::End::hold(&mut qp.reference, waits, left, at).then_some(held)
            }
            _ => None,
        };
        let (step, walks) = match held {
            Some(step) => (step, false),
            None => U::End::step(&mut qp.reference, event, at),
        };
        if U::End::starts(&before, &event, U::End::context(&qp.reference)) {
            let told = Told {
                armed: true,
                ..qp.told()
            };
            qp.told.push((now, told));
        }
        let context = *U::End::context(&qp.reference);
        U::End::see(&mut self.bins, &before, &event, &step);
        let pins = U::End::on_pins(context);
        if (U::End::on_pins(shown.context), shown.step) != (pins, step) {
            return Err(format!(
                "cycle {}, QP {}, {event:?} at {}\n{}\nbefore:    {before:?}\nRTL:       {:?}\nreference: {context:?}\nRTL:       {:?}\nreference: {step:?}",
                now.0,
                shown.qp,
                at.0,
                other_fields(&(shown.context, shown.step), &(pins, step)),
                shown.context,
                shown.step
            ));
        }
        if walks {
            qp.walks = Some(now);
            self.walking += 1;
        }
        let bit = 1 << shown.qp;
        match qp.inside > 0 || walks {
            true => self.busy |= bit,
            false => self.busy &= !bit,
        }
        match U::End::bit(&context) {
            true => self.bits |= bit,
            false => self.bits &= !bit,
        }
        qp.odd = None;
        self.timed |= U::End::due(&context).is_some();
        self.count += 1;
        if self.keeps_steps {
            self.steps.push(*shown);
        }
        Ok(())
    }

    /// Judges `sendable_o` or `owed_o`. A bit may be ahead of a TIMER under way for a limited time; in an idle unit
    /// nothing is under way.
    fn judge_bits(&mut self, bits: u64, idle: bool) -> Result<(), Disagreement> {
        let mut odd = (bits ^ self.bits) & !self.busy;
        if idle && odd != 0 {
            return Err(format!(
                "cycle {}, idle: bits {bits:#x} and not {:#x}",
                self.now.0, self.bits
            ));
        }
        while odd != 0 {
            let number = odd.trailing_zeros() as usize;
            odd &= odd - 1;
            let since = *self.qps[number].odd.get_or_insert(self.now);
            if self.now.0 > since.0 + BIT_TIME {
                return Err(format!(
                    "cycle {}, QP {number}: its bit is {} since cycle {}, in {:?}",
                    self.now.0,
                    bits >> number & 1,
                    since.0,
                    U::End::context(&self.qps[number].reference)
                ));
            }
        }
        Ok(())
    }

    /// Judges `reads_answerable_o` of an idle unit.
    fn judge_answerable(&self, bits: u64) -> Result<(), Disagreement> {
        for (number, qp) in self.qps.iter().enumerate() {
            let (bit, context) = (bits >> number & 1, U::End::context(&qp.reference));
            if (bit == 1) != U::End::answerable(context) {
                return Err(format!(
                    "cycle {}, idle: QP {number} has READs that can be answered {bit}, in {context:?}",
                    self.now.0
                ));
            }
        }
        Ok(())
    }

    /// Checks that the unit may be idle.
    fn rests(&self, idle: Idle) -> Result<(), Disagreement> {
        if !self.inside.is_empty() || self.walking > 0 {
            return Err(format!(
                "cycle {}: idle with {} events inside and {} QPs that walk",
                self.now.0,
                self.inside.len(),
                self.walking
            ));
        }
        // No step since the last check.
        if self.skip.idle() == idle {
            return Ok(());
        }
        let due = (self.qps.iter())
            .filter_map(|qp| U::End::due(U::End::context(&qp.reference)))
            .min();
        match due {
            Some(due) if idle.wake().is_some_and(|wake| due < wake) => Err(format!(
                "cycle {}: {idle:?} is behind the deadline {}",
                self.now.0, due.0
            )),
            None if !self.timed && !idle.waits_for_nothing(self.now) => {
                Err(format!("cycle {}: {idle:?}, and no timer ran", self.now.0))
            }
            _ => Ok(()),
        }
    }

    /// Checks at the end of an idle period that the state has not changed.
    fn compare_state(&mut self) -> Result<(), Disagreement> {
        let Some(before) = self.state.take() else {
            return Ok(());
        };
        self.states_left -= 1;
        let after = self.unit.rest_state().map_err(text)?;
        match before == after {
            true => Ok(()),
            false => Err(format!(
                "cycle {}: the state is another than when it became idle",
                self.now.0
            )),
        }
    }
}

/// Returns how many of these cycles are not before `first`.
fn since(cycles: &[Cycle], first: Cycle) -> u64 {
    (cycles.len() - cycles.partition_point(|at| *at < first)) as u64
}
