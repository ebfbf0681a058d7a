//! Runs a history through a unit and its reference and compares every output in every evaluated cycle.
//!
//! Time jumps as in a simulation: over cycles in which, according to the unit, nothing changes. Some histories also run
//! a second instance that skips no cycle. Its outputs in the skipped cycles, and its saved state after them, must equal
//! those of the first instance.

use crate::units::pfc::{PauseTop, RtlPause};
use xoff_cosim::units::{Skip, UnitError};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::pause_watchdog::{WatchdogIn, WatchdogOut};
use xoff_sim::protocol::pfc_rx::{PfcRxIn, PfcRxOut};
use xoff_sim::protocol::pfc_tx::{PfcTxIn, PfcTxOut};
use xoff_sim::protocol::{Idle, PauseWatchdog, PfcRx, PfcTx};

use super::bins::{Observer, RxObserver, TxObserver, WatchdogObserver};
use super::events::{Driven, Event, Head, LAST_EVENT};
use crate::property::bins::Bins;
use crate::property::history::History;
use crate::property::{Disagreement, text};

/// Maximum number of cycles evaluated in one wait; then the next step comes early. Bounds the cost of a unit that has
/// something to do in every cycle.
const MAX_EVALUATED: u32 = 300;
/// Maximum number of cycles until a unit that has nothing to do is idle, with a margin.
const MAX_SETTLING: u32 = 8;
/// Number of cycles evaluated after the last step, for deadlines that it left.
const TAIL: u32 = 12;

/// A cycle-accurate reference.
pub trait Reference {
    /// Inputs in a cycle.
    type Inputs;
    /// Outputs in a cycle.
    type Outputs;
    /// Counts what happens to the unit.
    type Observer: Observer<Inputs = Self::Inputs, Outputs = Self::Outputs>;
    /// Creates the observer of a history.
    fn observer(&self) -> Self::Observer;
    /// Runs a cycle with reset.
    fn reset(&mut self);
    /// Returns the outputs, then applies the clock edge.
    fn cycle(&mut self, now: u64, inputs: &Self::Inputs) -> Self::Outputs;
    /// Returns what the outputs say about the next cycles.
    fn idle(outputs: &Self::Outputs) -> Idle;
}

macro_rules! reference {
    ($Model:ty, $In:ty, $Out:ty, $Observer:ty, $observer:expr) => {
        impl Reference for $Model {
            type Inputs = $In;
            type Outputs = $Out;
            type Observer = $Observer;
            fn observer(&self) -> $Observer {
                $observer(self)
            }
            fn reset(&mut self) {
                self.reset();
            }
            fn cycle(&mut self, now: u64, inputs: &$In) -> $Out {
                self.cycle(now, inputs)
            }
            fn idle(outputs: &$Out) -> Idle {
                outputs.idle
            }
        }
    };
}

reference!(PfcRx, PfcRxIn, PfcRxOut, RxObserver, |unit: &PfcRx| {
    RxObserver::new(unit.quantum())
});
reference!(PfcTx, PfcTxIn, PfcTxOut, TxObserver, |_| {
    TxObserver::default()
});
reference!(
    PauseWatchdog,
    WatchdogIn,
    WatchdogOut,
    WatchdogObserver,
    |_| WatchdogObserver::default()
);

/// A unit and its reference.
pub struct Lockstep<M: PauseTop, R> {
    /// For histories without a second instance.
    alone: RtlPause<M>,
    /// For histories with a second instance. Both have run the same histories, so registers without a reset are equal
    /// in them too.
    pair: [RtlPause<M>; 2],
    reference: R,
}

impl<M, R> Lockstep<M, R>
where
    M: PauseTop,
    R: Reference<Inputs = M::Inputs, Outputs = M::Outputs>,
{
    /// Creates the unit with `seed`, and its reference.
    ///
    /// # Errors
    ///
    /// Returns an error if the unit cannot be created.
    pub fn new(seed: u64, reference: R) -> Result<Self, UnitError> {
        Ok(Self {
            alone: RtlPause::new(seed)?,
            pair: [RtlPause::new(seed)?, RtlPause::new(seed)?],
            reference,
        })
    }

    /// Runs a history and returns the number of its events.
    ///
    /// # Errors
    ///
    /// Returns the first difference.
    pub fn run(
        &mut self,
        history: &History<Head, Event>,
        bins: &mut Bins,
    ) -> Result<u64, Disagreement>
    where
        M::Inputs: Driven,
    {
        let Head { start, walk, .. } = history.head;
        let (rtl, walker) = match (walk, &mut self.pair) {
            (0, _) => (&mut self.alone, None),
            (reach, [rtl, walker]) => (
                rtl,
                Some(Walker {
                    rtl: walker,
                    reach: u64::from(reach),
                }),
            ),
        };
        let mut run = Run {
            rtl,
            walker,
            observer: self.reference.observer(),
            bins,
            reference: &mut self.reference,
            now: start,
            inputs: M::Inputs::default(),
            last: None,
            skip: Skip::new(true),
        };
        run.reset(start)?;
        for group in history.events.chunk_by(|_, next| !next.waits()) {
            let at = match group[0] {
                Event::Wait(cycles) => run.now.saturating_add(cycles),
                Event::Wake(offset) => run.next_wake()?.saturating_add_signed(offset.into()),
                _ => run.now + 1,
            };
            let at = if at > LAST_EVENT { run.now + 1 } else { at };
            let at = run.wait_until(at)?;

            let mut inputs = run.inputs;
            group.iter().for_each(|event| inputs.apply(event));
            run.change_to(at, inputs)?;
            match group.contains(&Event::Reset) {
                true => run.reset(at)?,
                false => run.evaluate(at)?,
            }
            let mut quiet = inputs;
            quiet.quiet();
            if quiet != inputs {
                run.inputs = quiet;
                run.wake();
            }
        }
        for _ in 0..TAIL {
            match run.next(u64::MAX) {
                u64::MAX => break,
                at => run.jump_and_evaluate(at)?,
            }
        }
        Ok((history.events.iter().filter(|event| !event.waits()).count()) as u64)
    }
}

/// The instance that skips no cycle.
struct Walker<'a, M: PauseTop> {
    rtl: &'a mut RtlPause<M>,
    reach: u64,
}

/// A history being run.
struct Run<'a, M: PauseTop, R: Reference> {
    rtl: &'a mut RtlPause<M>,
    walker: Option<Walker<'a, M>>,
    reference: &'a mut R,
    observer: R::Observer,
    bins: &'a mut Bins,
    /// The last cycle that was evaluated.
    now: u64,
    /// The inputs of the next cycle.
    inputs: M::Inputs,
    /// The outputs of the last cycle, if the inputs are still the same.
    last: Option<M::Outputs>,
    skip: Skip,
}

impl<M, R> Run<'_, M, R>
where
    M: PauseTop,
    R: Reference<Inputs = M::Inputs, Outputs = M::Outputs>,
{
    /// Notes that an input changes.
    fn wake(&mut self) {
        self.last = None;
        self.skip.wake();
    }

    /// Returns the next cycle that has to be evaluated, at the latest `end`.
    fn next(&self, end: u64) -> u64 {
        self.skip.next(Cycle(self.now + 1), Cycle(end)).0
    }

    /// Returns `wake_o` once the unit is idle. If the unit does not become idle or has no deadline: the cycle just
    /// evaluated.
    fn next_wake(&mut self) -> Result<u64, Disagreement> {
        for _ in 0..MAX_SETTLING {
            match self.skip.idle() {
                Idle::No => self.jump_and_evaluate(self.now + 1)?,
                Idle::Until(wake) => return Ok(wake.0),
                Idle::Forever => break,
            }
        }
        Ok(self.now)
    }

    /// Evaluates the cycles before `at` that have to be evaluated. Returns `at`, or the cycle in which the limit was
    /// reached.
    fn wait_until(&mut self, at: u64) -> Result<u64, Disagreement> {
        for _ in 0..MAX_EVALUATED {
            let next = self.next(at);
            if next >= at {
                return Ok(next);
            }
            self.jump_and_evaluate(next)?;
        }
        Ok(self.now + 1)
    }

    fn reset(&mut self, at: u64) -> Result<(), Disagreement> {
        self.rtl.reset(at, &self.inputs).map_err(text)?;
        if let Some(walker) = &mut self.walker {
            walker.rtl.reset(at, &self.inputs).map_err(text)?;
        }
        self.reference.reset();
        self.observer.reset();
        self.now = at;
        self.wake();
        Ok(())
    }

    fn jump_and_evaluate(&mut self, at: u64) -> Result<(), Disagreement> {
        self.change_to(at, self.inputs)?;
        self.evaluate(at)
    }

    /// Advances to cycle `at` and its inputs. The second instance also runs the cycles that the first one skips.
    fn change_to(&mut self, at: u64, inputs: R::Inputs) -> Result<(), Disagreement> {
        if let (Some(walker), Some(last)) = (&mut self.walker, &self.last) {
            walker.walk::<R>(self.now + 1..at, &self.inputs, last)?;
            if at > self.now + 1 {
                let jumped = self.rtl.state(at, &inputs).map_err(text)?;
                let walked = walker.rtl.state(at, &inputs).map_err(text)?;
                if jumped != walked {
                    return Err(format!(
                        "{}, cycle {at}: the saved state after a jump from cycle {} is not the one after every cycle between\nin the idle cycle: {last:?}",
                        M::NAME,
                        self.now
                    ));
                }
            }
        }
        self.inputs = inputs;
        Ok(())
    }

    /// Evaluates cycle `at` in all instances.
    #[inline]
    fn evaluate(&mut self, at: u64) -> Result<(), Disagreement> {
        let expected = self.reference.cycle(at, &self.inputs);
        self.observer.see(at, &self.inputs, &expected, self.bins);
        let got = self.rtl.cycle(at, &self.inputs).map_err(text)?;
        if got != expected {
            return Err(self.difference(at, "RTL", &got, "reference", &expected));
        }
        if let Some(walker) = &mut self.walker {
            let walked = walker.rtl.cycle(at, &self.inputs).map_err(text)?;
            if walked != got {
                return Err(self.difference(at, "every cycle", &walked, "with jumps", &got));
            }
        }
        self.now = at;
        self.skip.said(R::idle(&got));
        self.last = Some(got);
        Ok(())
    }

    #[cold]
    fn difference(
        &self,
        at: u64,
        left: &str,
        got: &R::Outputs,
        right: &str,
        expected: &R::Outputs,
    ) -> Disagreement {
        format!(
            "{}, cycle {at}\n{left}: {got:?}\n{right}: {expected:?}\ninputs: {:?}\nthe cycle evaluated before: {}",
            M::NAME,
            self.inputs,
            self.now
        )
    }
}

impl<M: PauseTop> Walker<'_, M> {
    /// Evaluates the skipped cycles, all of them or `reach` at either end, and compares their outputs with those of the
    /// idle cycle before.
    fn walk<R>(
        &mut self,
        left_out: std::ops::Range<u64>,
        inputs: &R::Inputs,
        expected: &R::Outputs,
    ) -> Result<(), Disagreement>
    where
        R: Reference<Inputs = M::Inputs, Outputs = M::Outputs>,
    {
        let first = left_out.start..left_out.end.min(left_out.start + self.reach);
        let last = first.end.max(left_out.end.saturating_sub(self.reach))..left_out.end;
        for at in first.chain(last) {
            let got = self.rtl.cycle(at, inputs).map_err(text)?;
            if got != *expected {
                return Err(format!(
                    "{}, cycle {at}: an output changed while idle\nnow:               {got:?}\nin the idle cycle: {expected:?}\ninputs: {inputs:?}",
                    M::NAME
                ));
            }
        }
        Ok(())
    }
}
