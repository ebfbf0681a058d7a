//! The reaction point's equations in floating point, as the paper has them: a second judge, which knows nothing of widths, rounding, or of QPs that are free.
//!
//! Times are in cycles, as the deadlines of the integers are, so that both hear of a timer at the same time.

use super::RpParameters;

/// A flow at its reaction point (SIGCOMM 2015, section 3.1).
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
    /// T and BC: increases since the last CNP.
    timer_count: u64,
    byte_count: u64,
    bytes: u64,
    /// When α and the rate change next by time; none before the first CNP.
    deadlines: Option<(u64, u64)>,
}

impl RealReactionPoint {
    /// A flow that starts: at line rate, with α = 1.
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

    /// Time goes on to `now`: both timers do what came due until then. Call it before any other event at `now`.
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

    /// A CNP at `now`: equation 1, and everything starts anew.
    pub fn cnp(&mut self, now: u64) {
        self.rate_target = self.rate_current;
        self.rate_current = self.clamp(self.rate_current * (1.0 - self.alpha / 2.0));
        self.alpha = (1.0 - self.g) * self.alpha + self.g;
        self.timer_count = 0;
        self.byte_count = 0;
        self.bytes = 0;
        self.deadlines = Some((now + self.alpha_time, now + self.rate_time));
    }

    /// So many bytes were sent.
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

    /// Figure 7, equations 3 and 4.
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
