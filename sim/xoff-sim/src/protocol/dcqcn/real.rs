//! The reaction point's equations in floating point, as in the paper: a second reference, without widths, rounding,
//! or the notion of a QP that is not limited.
//!
//! Times are in cycles, like the deadlines of the integer model, so that the timers of both expire at the same time.

use super::RpParameters;

/// A flow's reaction point (SIGCOMM 2015, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RealReactionPoint {
    /// R_C in kb/s.
    pub rate_current: f64,
    /// R_T in kb/s.
    pub rate_target: f64,
    /// α, 0 to 1.
    pub alpha: f64,
    rate_min: f64,
    rate_max: f64,
    rate_ai: f64,
    rate_hai: f64,
    g: f64,
    stages: u64,
    alpha_time: u64,
    rate_time: u64,
    byte_limit: u64,
    /// T and BC: the increases by time and by bytes since the last CNP.
    timer_count: u64,
    byte_count: u64,
    bytes: u64,
    /// When α and the rate next change by time; `None` before the first CNP.
    deadlines: Option<(u64, u64)>,
}

impl RealReactionPoint {
    /// Creates the state of a flow that starts: at line rate, with α = 1.
    #[must_use]
    pub fn new(parameters: &RpParameters) -> Self {
        let rate_max = f64::from(parameters.rate_max.0);
        Self {
            rate_current: rate_max,
            rate_target: rate_max,
            alpha: 1.0,
            rate_min: f64::from(parameters.rate_min.0),
            rate_max,
            rate_ai: f64::from(parameters.rate_ai.0),
            rate_hai: f64::from(parameters.rate_hai.0),
            g: f64::from(parameters.g) / 65_536.0,
            stages: u64::from(parameters.stages),
            alpha_time: u64::from(parameters.alpha_time),
            rate_time: u64::from(parameters.rate_time),
            byte_limit: u64::from(parameters.byte_limit),
            timer_count: 0,
            byte_count: 0,
            bytes: 0,
            deadlines: None,
        }
    }

    /// Advances time to `now`: both timers perform what has become due. Call it before any other event at `now`.
    pub fn advance(&mut self, now: u64) {
        let Some((mut alpha, mut rate)) = self.deadlines else {
            return;
        };
        while self.alpha_time != 0 && alpha <= now {
            self.alpha *= 1.0 - self.g;
            alpha += self.alpha_time;
        }
        while self.rate_time != 0 && rate <= now {
            self.timer_count += 1;
            self.increase();
            rate += self.rate_time;
        }
        self.deadlines = Some((alpha, rate));
    }

    /// Handles a CNP at `now`: applies equation 1 and restarts the timers and counters.
    pub fn cnp(&mut self, now: u64) {
        self.rate_target = self.rate_current;
        self.rate_current = self.clamp(self.rate_current * (1.0 - self.alpha / 2.0));
        self.alpha = (1.0 - self.g) * self.alpha + self.g;
        self.timer_count = 0;
        self.byte_count = 0;
        self.bytes = 0;
        self.deadlines = Some((now + self.alpha_time, now + self.rate_time));
    }

    /// Notes that this many bytes were sent.
    pub fn sent(&mut self, bytes: u16) {
        if self.deadlines.is_none() || self.byte_limit == 0 {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= self.byte_limit {
            self.bytes -= self.byte_limit;
            self.byte_count += 1;
            self.increase();
        }
    }

    /// Raises the rate by figure 7, equations 3 and 4.
    fn increase(&mut self) {
        let least = self.timer_count.min(self.byte_count);
        if least > self.stages {
            self.rate_target += self.rate_hai;
        } else if self.timer_count >= self.stages || self.byte_count >= self.stages {
            self.rate_target += self.rate_ai;
        }
        self.rate_target = self.clamp(self.rate_target);
        self.rate_current = self.clamp((self.rate_target + self.rate_current) / 2.0);
    }

    fn clamp(&self, rate: f64) -> f64 {
        rate.max(self.rate_min).min(self.rate_max)
    }
}
