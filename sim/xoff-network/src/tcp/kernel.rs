//! How long a kernel takes.

use xoff_sim::seeded::Draws;
use xoff_sim::time::Duration;

/// The normal distribution's 99th percentile, in standard deviations.
const Z99: f64 = 2.326_347_874_040_841;
/// Steps of a random number from 0 to 1: those of a double's mantissa.
const STEPS: u64 = 1 << 53;

/// A log-normal distribution of delays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    median_ps: f64,
    /// Standard deviation of the logarithm.
    sigma: f64,
}

impl Delay {
    /// The distribution with this median and this 99th percentile, which is at least the median. 0: no delay.
    pub(super) fn new(median: Duration, p99: Duration) -> Self {
        let [median_ps, p99] = [median, p99].map(|time| time.as_ps() as f64);
        let sigma = match median_ps > 0.0 {
            true => libm::log(p99 / median_ps) / Z99,
            false => 0.0,
        };
        Self { median_ps, sigma }
    }

    /// Draws a delay (Box and Muller). The functions are a library's, for those of the platform may differ in the last
    /// bit.
    pub(super) fn draw(&self, draws: &mut Draws) -> Duration {
        let mut uniform = || (draws.below(STEPS) + 1) as f64 / STEPS as f64;
        let radius = (-2.0 * libm::log(uniform())).sqrt();
        let normal = radius * libm::cos(std::f64::consts::TAU * uniform());
        Duration::from_ps((self.median_ps * libm::exp(self.sigma * normal)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use xoff_sim::seeded::Seed;

    use super::*;

    #[test]
    fn it_has_the_median_and_the_p99_that_were_asked_for() {
        let delay = Delay::new(Duration::from_us(60), Duration::from_us(370));
        let mut draws = Seed(1).draws();
        let mut all: Vec<u64> = (0..100_000)
            .map(|_| delay.draw(&mut draws).as_ps())
            .collect();
        all.sort_unstable();
        let us = |part: f64| all[(part * all.len() as f64) as usize] as f64 / 1e6;
        assert!((us(0.5) / 60.0 - 1.0).abs() < 0.02, "{}", us(0.5));
        assert!((us(0.99) / 370.0 - 1.0).abs() < 0.05, "{}", us(0.99));
    }

    #[test]
    fn without_a_median_there_is_none() {
        let delay = Delay::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(delay.draw(&mut Seed(1).draws()), Duration::ZERO);
    }
}
