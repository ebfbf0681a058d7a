//! The reaction point: determines a sender's rate (SIGCOMM 2015, section 3.1, 'RP algorithm', and figure 7).

use serde::{Deserialize, Serialize};

use super::{Alpha, Rate, RpParameters};
use crate::protocol::Cycle;

/// The value at which the counts of increases saturate: 5 bits.
const COUNT_MAX: u8 = 31;

/// The state of a reaction point for one QP (`rp_context_t`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RpContext {
    /// Whether the QP is open.
    pub open: bool,
    /// Whether the rate is limited: a CNP came, and the rate has not returned to the line rate since.
    pub limited: bool,
    /// Whether α decays at `alpha_deadline`.
    pub alpha_runs: bool,
    /// Whether the rate rises at `rate_deadline`.
    pub rate_runs: bool,
    /// The current rate, R_C.
    pub rate_current: Rate,
    /// The target rate, R_T.
    pub rate_target: Rate,
    /// The estimate of congestion, α.
    pub alpha: Alpha,
    /// Increases by time since the last CNP, T: at most 31.
    pub timer_count: u8,
    /// Increases by bytes since the last CNP, BC: at most 31.
    pub byte_count: u8,
    /// Bytes sent since the last increase by bytes.
    pub bytes: u32,
    /// When α decays next.
    pub alpha_deadline: Cycle,
    /// When the rate timer next raises the rate.
    pub rate_deadline: Cycle,
}

/// An event of a QP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RpEvent {
    /// The QP is opened, at line rate.
    Open,
    /// The QP is closed.
    Close,
    /// A CNP for the QP was received.
    Cnp,
    /// The QP sent this many bytes.
    Bytes(u16),
    /// A deadline of the QP may have passed.
    Timer,
}

/// An update for the rate limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateAction {
    /// The current rate.
    pub rate: Rate,
    /// Whether the QP is limited to the rate.
    pub limited: bool,
}

/// How the target rate rises (figure 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Increase {
    /// The target stays, and the rate halves its distance to it.
    FastRecovery,
    /// The target rises by R_AI.
    Additive,
    /// The target rises by R_HAI.
    Hyper,
}

impl RpContext {
    /// Handles an event at `now`. Returns the next context, and the update for the rate limiter, if any.
    #[must_use]
    pub fn step(
        &self,
        parameters: &RpParameters,
        event: RpEvent,
        now: Cycle,
    ) -> (RpContext, Option<RateAction>) {
        let next = match event {
            RpEvent::Open => Self::opened(parameters),
            RpEvent::Close => Self::default(),
            _ if !self.open => *self,
            RpEvent::Cnp => self.cut(parameters, now),
            RpEvent::Timer => self.timed(parameters, now).settled(parameters),
            RpEvent::Bytes(bytes) => self.sent(parameters, bytes).settled(parameters),
        };
        let told = |context: &Self| RateAction {
            rate: context.rate_current,
            limited: context.limited,
        };
        let tell = event == RpEvent::Open || told(&next) != told(self);
        (next, tell.then(|| told(&next)))
    }

    /// The earliest deadline of the timers that run.
    #[must_use]
    pub fn deadline(&self) -> Option<Cycle> {
        let alpha = self.alpha_runs.then_some(self.alpha_deadline);
        let rate = self.rate_runs.then_some(self.rate_deadline);
        alpha.into_iter().chain(rate).min()
    }

    /// How the target rises, or has just risen, at the present counts of increases.
    #[must_use]
    pub fn increase(&self, parameters: &RpParameters) -> Increase {
        let (timer, byte, stages) = (self.timer_count, self.byte_count, parameters.stages);
        // Figure 7, with strict and non-strict comparisons as in public code.
        let (recovers, hyper) = (timer.max(byte) < stages, timer.min(byte) > stages);
        match (recovers, hyper) {
            (true, _) => Increase::FastRecovery,
            (false, true) => Increase::Hyper,
            (false, false) => Increase::Additive,
        }
    }

    fn opened(parameters: &RpParameters) -> Self {
        Self {
            open: true,
            rate_current: parameters.rate_max,
            rate_target: parameters.rate_max,
            alpha: Alpha::ONE,
            ..Self::default()
        }
    }

    fn cut(self, parameters: &RpParameters, now: Cycle) -> Self {
        // Uses α as it was before this CNP. If it were raised first, light congestion would reduce the rate by twice
        // as much as it should.
        let product = u64::from(self.rate_current.0) * u64::from(self.alpha.0);
        let off = product >> (Alpha::FRACTION_BITS + 1);
        let current = Rate(self.rate_current.0 - off as u32);
        Self {
            rate_target: self.rate_current,
            rate_current: current.clamped(parameters.rate_min, parameters.rate_max),
            alpha: self.alpha.raised(parameters.g),
            timer_count: 0,
            byte_count: 0,
            bytes: 0,
            limited: true,
            alpha_runs: parameters.alpha_time != 0,
            alpha_deadline: now.after(parameters.alpha_time),
            rate_runs: parameters.rate_time != 0,
            rate_deadline: now.after(parameters.rate_time),
            ..self
        }
    }

    /// Handles at most one period of each timer; what is still due is handled by the next event.
    fn timed(mut self, parameters: &RpParameters, now: Cycle) -> Self {
        if self.alpha_runs && self.alpha_deadline <= now {
            self.alpha = self.alpha.decayed(parameters.g);
            self.alpha_deadline = self.alpha_deadline.after(parameters.alpha_time);
        }
        if self.rate_runs && self.rate_deadline <= now {
            self.timer_count = counted(self.timer_count);
            self = self.increased(parameters);
            self.rate_deadline = self.rate_deadline.after(parameters.rate_time);
        }
        self
    }

    fn sent(mut self, parameters: &RpParameters, bytes: u16) -> Self {
        if self.limited && parameters.byte_limit != 0 {
            self.bytes = self.bytes.saturating_add(u32::from(bytes));
            if self.bytes >= parameters.byte_limit {
                self.bytes -= parameters.byte_limit;
                self.byte_count = counted(self.byte_count);
                self = self.increased(parameters);
            }
        }
        self
    }

    fn increased(mut self, parameters: &RpParameters) -> Self {
        let clamp = |rate: Rate| rate.clamped(parameters.rate_min, parameters.rate_max);
        self.rate_target = clamp(match self.increase(parameters) {
            Increase::FastRecovery => self.rate_target,
            Increase::Hyper => self.rate_target.plus(parameters.rate_hai),
            Increase::Additive => self.rate_target.plus(parameters.rate_ai),
        });
        let middle = self.rate_target.midway(self.rate_current);
        // Halving the distance alone would stop one short of the target forever.
        let there = self.rate_target.0 <= middle.0.saturating_add(1);
        self.rate_current = clamp(if there { self.rate_target } else { middle });
        self
    }

    /// Frees a QP that is back at line rate and stops timers that have nothing to do, so that the QP becomes idle.
    fn settled(mut self, parameters: &RpParameters) -> Self {
        if self.rate_current >= parameters.rate_max {
            self.limited = false;
            self.rate_runs = false;
            self.timer_count = 0;
            self.byte_count = 0;
            self.bytes = 0;
        }
        self.alpha_runs &= self.alpha != Alpha(0) && parameters.alpha_time != 0;
        self.rate_runs &= parameters.rate_time != 0;
        self
    }
}

fn counted(count: u8) -> u8 {
    (count + 1).min(COUNT_MAX)
}

#[cfg(test)]
mod tests;
