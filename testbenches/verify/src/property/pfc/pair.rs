//! `pfc_tx` of a NIC and `pfc_rx` of its peer with a wire between them: the second one has to do in time what the
//! buffer of the first one asks for.
//!
//! There is no reference. When a class has been full (or empty, or silenced) for as long as a frame may need to reach
//! the peer, the peer has to be stopped (or running) in every cycle from then on. `refresh` and the longest wait
//! together are no longer than the pause, so the peer never runs in between.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use xoff_rtl_units::{PfcRx40, PfcTx};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::pfc_rx::PfcRxIn;
use xoff_sim::protocol::pfc_tx::PfcTxIn;
use xoff_sim::protocol::{CyclesPerQuantum, Idle, Quanta};
use xoff_sim::wire::frame::ControlHead;

use super::bins;
use super::events::{Event, Head, LAST_EVENT};
use crate::property::bins::Bins;
use crate::property::{Disagreement, text};
use crate::units::pfc::RtlPause;
use xoff_cosim::units::{Skip, UnitError};
use xoff_sim::seeded::SplitMix;

/// Bytes at which a class of this test asks for XOFF.
pub const XOFF: u32 = 1_000;
/// Bytes at which it asks for XON.
pub const XON: u32 = 500;
/// Maximum number of cycles evaluated in one wait; then the next step comes early.
const MAX_EVALUATED: u32 = 400;

/// The wire and the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Time that an XOFF asks for.
    quanta: u16,
    /// Cycles after which an XOFF is repeated.
    refresh: u32,
    /// Cycles that frame k waits until it is taken; the index wraps around.
    waits: Vec<u16>,
    /// Cycles from when a frame is taken until it arrives; 1 or more.
    delay: u16,
}

impl Wire {
    /// How long an XOFF stops the peer.
    fn duration(&self) -> u64 {
        CyclesPerQuantum::AT_40G.duration(Quanta(self.quanta))
    }

    fn longest_wait(&self) -> u64 {
        u64::from(self.waits.iter().copied().max().unwrap_or(0))
    }

    /// Maximum number of cycles from a change of the wanted state until the peer obeys it. One frame may be in the way
    /// and wait; then there is a cycle in which the next frame is formed, and one in which it becomes valid and begins
    /// to wait in its turn; then it travels; and the timer takes effect one cycle later.
    fn latency(&self) -> u64 {
        2 * self.longest_wait() + 2 + u64::from(self.delay) + 1
    }

    /// Checks that two frames arrive no further apart than the pause lasts. The second is formed `refresh` cycles after
    /// the first or, if that was not yet taken by then, two cycles after it was. Otherwise the peer may run in between,
    /// and the case would prove nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if they do not, or if there is no wire.
    pub fn valid(&self) -> Result<(), String> {
        let apart = self.longest_wait() + u64::from(self.refresh).max(2);
        if self.waits.is_empty() || self.delay == 0 {
            return Err("expected one wait or more, and a delay of 1 or more".to_owned());
        }
        match apart <= self.duration() {
            true => Ok(()),
            false => Err(format!(
                "frames {apart} cycles apart; expected at most {}, which the pause lasts",
                self.duration()
            )),
        }
    }

    /// Draws a wire and settings for it.
    pub fn draw(draw: &mut SplitMix) -> Self {
        let bits = if draw.once_in(4) { 15 } else { 6 };
        let quanta = 2 + draw.up_to_bits(bits) as u16;
        let mut wire = Self {
            quanta,
            refresh: 0,
            waits: vec![0],
            delay: 1 + draw.up_to_bits(10) as u16,
        };
        let longest = (wire.duration() - 2).min(200) as u32;
        if !draw.once_in(4) {
            wire.waits = (0..1 + draw.below(4))
                .map(|_| draw.below(longest + 1) as u16)
                .collect();
        }
        let most = (wire.duration() - wire.longest_wait()) as u32;
        // The maximum that is safe, or less.
        wire.refresh = match draw.once_in(2) {
            true => most,
            false => draw.below(most + 1),
        };
        wire
    }
}

/// How full a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// At or above XOFF.
    Full,
    /// Between the thresholds: what the peer was last told still applies.
    Between,
    /// At or below XON.
    Empty,
}

/// What the peer has to do with a class, and from which cycle on. `None`: not determined, because the wanted state was
/// too short or came too late.
#[derive(Debug, Clone, Copy)]
struct Demand {
    stopped: Option<bool>,
    from: u64,
}

/// Two units and a wire.
pub struct Pair {
    tx: RtlPause<PfcTx>,
    rx: RtlPause<PfcRx40>,
}

impl Pair {
    /// Creates the units with `seed`.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be created.
    pub fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            tx: RtlPause::new(seed)?,
            rx: RtlPause::new(seed)?,
        })
    }

    /// Runs a history over a wire and returns the number of its events.
    ///
    /// # Errors
    ///
    /// Returns the first cycle in which the peer does not do what it has to.
    pub fn run(
        &mut self,
        wire: &Wire,
        head: &Head,
        events: &[Event],
        bins: &mut Bins,
    ) -> Result<u64, Disagreement> {
        let mut run = Run::new(self, wire, head.start)?;
        let mut count = 0;
        for event in events {
            match *event {
                Event::Wait(cycles) => {
                    let end = run.now.saturating_add(cycles);
                    run.advance(if end < LAST_EVENT { end } else { run.now + 1 })?;
                    continue;
                }
                Event::Wake(_) => {
                    run.advance(run.now + 1)?;
                    continue;
                }
                Event::Reset => run.reset()?,
                Event::Depth(set, bytes) => run.set_depth(set, bytes, bins),
                Event::Silence(on) => run.set_silence(on),
                _ => {}
            }
            count += 1;
        }
        let rest = wire.latency() + wire.duration();
        run.advance(run.now + 2 * rest)?;
        Ok(count)
    }
}

/// A history being run.
struct Run<'a> {
    units: &'a mut Pair,
    wire: &'a Wire,
    /// The next cycle; its inputs may still change.
    now: u64,
    tx_in: PfcTxIn,
    rx_in: PfcRxIn,
    /// Frames in flight, by the cycle of their arrival.
    flying: VecDeque<(u64, ControlHead)>,
    /// Frames taken so far.
    taken: usize,
    /// Cycles that the frame in `frame_o` has waited.
    waited: u64,
    demands: [Demand; 8],
    /// After a silence the peer's timers expire by themselves, at the latest in this cycle.
    timers_out: u64,
}

impl<'a> Run<'a> {
    fn new(units: &'a mut Pair, wire: &'a Wire, start: u64) -> Result<Self, Disagreement> {
        let mut run = Self {
            units,
            wire,
            now: start,
            tx_in: PfcTxIn {
                xoff: [XOFF; 8],
                xon: [XON; 8],
                classes: 0xFF,
                quanta: Quanta(wire.quanta),
                refresh: wire.refresh,
                ..PfcTxIn::default()
            },
            rx_in: PfcRxIn {
                link_down: false,
                frame: None,
                pfc_classes: 0xFF,
                pause_enable: true,
            },
            flying: VecDeque::new(),
            taken: 0,
            waited: 0,
            demands: [Demand {
                stopped: Some(false),
                from: 0,
            }; 8],
            timers_out: 0,
        };
        run.reset()?;
        Ok(run)
    }

    /// Resets both units and the wire.
    fn reset(&mut self) -> Result<(), Disagreement> {
        (self.units.tx.reset(self.now, &self.tx_in)).map_err(text)?;
        (self.units.rx.reset(self.now, &self.rx_in)).map_err(text)?;
        self.now += 1;
        self.flying.clear();
        self.waited = 0;
        self.timers_out = 0;
        for p in 0..8 {
            self.demands[p] = Demand {
                stopped: Some(false),
                from: 0,
            };
            if !self.tx_in.silence {
                self.wish(p);
            }
        }
        Ok(())
    }

    fn set_depth(&mut self, set: u8, bytes: u32, bins: &mut Bins) {
        let flying = !self.flying.is_empty();
        for p in (0..8).filter(|p| set >> p & 1 != 0) {
            let from = level(self.tx_in.depth[p]);
            bins::depth(bins, from, level(bytes), self.tx_in.silence, flying);
            self.tx_in.depth[p] = bytes;
            if !self.tx_in.silence {
                self.wish(p);
            }
        }
    }

    fn set_silence(&mut self, on: bool) {
        if on == self.tx_in.silence {
            return;
        }
        self.tx_in.silence = on;
        if on {
            self.timers_out = self.now + self.wire.latency() + self.wire.duration();
        }
        for p in 0..8 {
            // Silence that lasts a cycle makes the unit forget what it told the peer. Silence that is switched on and
            // off in one cycle does not last one, and then nothing is certain.
            match on {
                true => {
                    self.demands[p] = Demand {
                        stopped: Some(false),
                        from: self.timers_out,
                    }
                }
                false => self.wish(p),
            }
        }
    }

    /// Updates what the depth of class p asks for from this cycle on.
    fn wish(&mut self, p: usize) {
        let soon = self.now + self.wire.latency();
        let demand = &mut self.demands[p];
        let stopped = match level(self.tx_in.depth[p]) {
            Level::Full => Some(true),
            Level::Empty => Some(false),
            // What the peer has been told still applies, if it has been told anything.
            Level::Between => demand.stopped.filter(|_| demand.from <= self.now),
        };
        if stopped != demand.stopped {
            *demand = Demand {
                stopped,
                from: match stopped {
                    Some(false) => soon.max(self.timers_out),
                    _ => soon,
                },
            };
        }
    }

    /// Runs until cycle `end` (exclusive), whose inputs may change before it is evaluated.
    fn advance(&mut self, end: u64) -> Result<(), Disagreement> {
        for _ in 0..MAX_EVALUATED {
            if self.now >= end {
                break;
            }
            let mut next = Cycle(end);
            for idle in self.evaluate()? {
                let mut skip = Skip::new(true);
                skip.said(idle);
                next = skip.next(Cycle(self.now + 1), next);
            }
            let mut next = next.0;
            if let Some(&(arrival, _)) = self.flying.front() {
                next = next.min(arrival);
            }
            self.now = next.max(self.now + 1);
        }
        Ok(())
    }

    /// Evaluates cycle `now`. Returns what both units say about the next cycles.
    fn evaluate(&mut self) -> Result<[Idle; 2], Disagreement> {
        let now = self.now;
        let wait = u64::from(self.wire.waits[self.taken % self.wire.waits.len()]);
        self.tx_in.frame_ready = self.waited >= wait;
        self.rx_in.frame = match self.flying.front() {
            Some(&(arrival, frame)) if arrival == now => {
                self.flying.pop_front();
                Some(frame)
            }
            _ => None,
        };
        let tx = self.units.tx.cycle(now, &self.tx_in).map_err(text)?;
        let rx = self.units.rx.cycle(now, &self.rx_in).map_err(text)?;
        if let Some(frame) = tx.frame {
            self.waited += 1;
            if self.tx_in.frame_ready {
                self.flying
                    .push_back((now + u64::from(self.wire.delay), frame));
                self.taken += 1;
                self.waited = 0;
            }
        }
        for (p, demand) in self.demands.iter().enumerate() {
            let stopped = rx.paused >> p & 1 != 0;
            if demand.stopped.is_some_and(|wanted| wanted != stopped) && now >= demand.from {
                let done = if stopped { "stopped" } else { "running" };
                return Err(format!(
                    "cycle {now}: the peer's class {p} is {done}, which it may not be from cycle {} on: {} bytes in the buffer, silence {}",
                    demand.from, self.tx_in.depth[p], self.tx_in.silence
                ));
            }
        }
        Ok([tx.idle, rx.idle])
    }
}

fn level(bytes: u32) -> Level {
    match bytes {
        XOFF.. => Level::Full,
        0..=XON => Level::Empty,
        _ => Level::Between,
    }
}
