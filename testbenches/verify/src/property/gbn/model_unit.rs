//! The reference models as units with a pipeline of their own: to test the benches, and to run connections without RTL.

use std::collections::VecDeque;

use xoff_sim::protocol::{Cycle, Idle};

use crate::units::gbn::{End, Out, Requesting, Responding, Shown, Unit, Wire};
use xoff_cosim::units::UnitError;

/// Cycles from an event to its step.
const LATENCY: u64 = 3;

/// 4 QPs with rings of 4 slots.
#[derive(Debug)]
pub struct ModelUnit<E: End> {
    qps: Vec<E::Qp>,
    /// Steps under way, and the cycles in which they come out.
    pipeline: VecDeque<(Cycle, Shown<E>)>,
    /// First free slot; WALK steps have those before it.
    free: Cycle,
    bits: u64,
    timers: bool,
    wire: Wire,
    /// What the wire told of packets that wait, in the cycle that was evaluated last.
    asked: (Cycle, u64),
    /// By QP: its ACK timer was started and no packet has left since, and when the last one left in such a time.
    sent: Vec<(bool, Option<Cycle>)>,
}

impl<E: End> Default for ModelUnit<E> {
    fn default() -> Self {
        Self {
            qps: vec![E::qp(4); 4],
            pipeline: VecDeque::new(),
            free: Cycle(0),
            bits: 0,
            timers: true,
            wire: Wire::default(),
            asked: (Cycle(0), 0),
            sent: vec![(false, None); 4],
        }
    }
}

impl<E: End> ModelUnit<E> {
    /// Makes the step in slot `now`, and its WALK steps.
    fn step(&mut self, qp: u16, event: E::Event, now: Cycle) {
        let (mut event, mut at) = (event, now);
        loop {
            let reference = &mut self.qps[usize::from(qp)];
            let (armed, left) = &mut self.sent[usize::from(qp)];
            let before = *E::context(reference);
            // In a cycle that was left out nothing was told.
            let asked = match self.asked {
                (cycle, asked) if cycle.0 + 1 == at.0 => asked,
                _ => 0,
            };
            let asks = *armed && (self.wire.asks | asked) >> qp & 1 != 0;
            let (step, walks) = match E::held() {
                Some(held) if Some(event) == E::TIMER && E::hold(reference, asks, *left, at) => {
                    (held, false)
                }
                _ => E::step(reference, event, at),
            };
            *armed |= E::starts(&before, &event, E::context(reference));
            let shown = Shown {
                kind: E::kind(&event),
                qp,
                now: E::TIMER.map(|_| at),
                context: *E::context(reference),
                step,
            };
            self.pipeline.push_back((Cycle(at.0 + LATENCY), shown));
            if !walks {
                break;
            }
            event = E::WALK;
            at.0 += LATENCY;
        }
        self.free = Cycle(at.0 + 1);
    }

    /// Returns the earliest deadline that no answer holds, and its QP.
    fn timer_without_answer(&self) -> Option<(Cycle, u16)> {
        (self.qps.iter().zip(0..))
            .filter(|(qp, number)| {
                self.wire.answers >> number & 1 == 0 || !E::awaits_answer(E::context(qp))
            })
            .filter_map(|(qp, number)| Some((E::due(E::context(qp))?, number)))
            .min()
    }

    /// Returns the earliest deadline and its QP.
    fn timer(&self) -> Option<(Cycle, u16)> {
        (self.qps.iter().zip(0..))
            .filter_map(|(qp, number)| Some((E::due(E::context(qp))?, number)))
            .min()
    }
}

/// `reads_answerable_o`.
fn answerable<E: End>(qps: &[E::Qp]) -> u64 {
    let bit = |qp| u64::from(E::answerable(E::context(qp)));
    (0..).zip(qps).map(|(at, qp)| bit(qp) << at).sum()
}

/// The differences between the two ends in this module.
pub trait Named: End {
    /// Name of the unit.
    const NAME: &'static str;
}

impl Named for Requesting {
    const NAME: &'static str = "requester model";
}

impl Named for Responding {
    const NAME: &'static str = "responder model";
}

impl<E: Named> Unit for ModelUnit<E> {
    type End = E;
    const NAME: &'static str = E::NAME;
    const QPS: u16 = 4;
    const SLOTS: usize = 4;

    fn reset(&mut self, _: Cycle) -> Result<(), UnitError> {
        *self = Self::default();
        Ok(())
    }

    fn cycle(&mut self, now: Cycle, event: Option<(u16, &E::Event)>) -> Result<Out<E>, UnitError> {
        if let Some((qp, end)) = self.wire.left
            && let (armed @ true, left) = &mut self.sent[usize::from(qp)]
        {
            *left = Some(now);
            *armed = !end;
        }
        let over = self.timer().filter(|&(due, _)| due <= now);
        let due = self.timer_without_answer().filter(|&(due, _)| due <= now);
        let due = due.filter(|_| self.timers);
        let mut ready = now >= self.free;
        if let (true, Some((_, qp)), Some(timer)) = (ready, due, E::TIMER) {
            self.step(qp, timer, now);
            ready = false;
        } else if let (true, Some((qp, event))) = (ready, event) {
            self.step(qp, *event, now);
        }
        self.asked = (now, self.wire.asks);
        let mut step = None;
        if self.pipeline.front().is_some_and(|(at, _)| *at <= now) {
            step = self.pipeline.pop_front().map(|(_, shown)| shown);
        }
        if let Some(shown) = &step {
            let bit = 1 << shown.qp;
            match E::bit(&shown.context) {
                true => self.bits |= bit,
                false => self.bits &= !bit,
            }
        }
        let works = step.is_some()
            || !self.pipeline.is_empty()
            || event.is_some()
            || over.is_some()
            || now < self.free;
        Ok(Out {
            ready,
            step,
            bits: self.bits,
            answerable: answerable::<E>(&self.qps),
            idle: match self.timer() {
                _ if works => Idle::No,
                Some((due, _)) => Idle::Until(due),
                None => Idle::Forever,
            },
        })
    }

    fn let_timers(&mut self, allowed: bool) {
        self.timers = allowed;
    }

    fn tell(&mut self, wire: Wire) {
        self.wire = wire;
    }

    fn rest_state(&mut self) -> Result<Vec<u8>, UnitError> {
        // `timers` and `wire` are inputs, and `asked` was one.
        let Self {
            qps,
            pipeline,
            free,
            bits,
            timers: _,
            wire: _,
            asked: _,
            sent,
        } = self;
        Ok(format!("{qps:?} {pipeline:?} {free:?} {bits} {sent:?}").into_bytes())
    }
}
