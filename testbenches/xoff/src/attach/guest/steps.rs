//! How long a guest runs at a time, and how far it has come.

use std::time::Duration as Wall;

use xoff_sim::time::Duration;

use crate::attach::clock::on_wall;

/// How long the steps of a guest are. It runs longer than it is let, for as long as `stop` takes; what it ran too long,
/// its next step is shorter, so that the steps have their length in the mean.
#[derive(Debug)]
pub(super) struct Steps {
    step: Duration,
    /// How far the guest has run ahead of its steps, one step at most: what is more was lost to the machine, and no
    /// number of short steps is to make up for it.
    ahead: Duration,
}

impl Steps {
    /// Steps of a length.
    pub const fn new(step: Duration) -> Self {
        Self {
            step,
            ahead: Duration::ZERO,
        }
    }

    /// How long the guest is to be let run next, on the wall.
    pub fn next(&self) -> Wall {
        on_wall(self.step.saturating_sub(self.ahead))
    }

    /// It ran so long, of its own time.
    pub fn ran(&mut self, passed: Duration) {
        self.ahead = (self.ahead + passed)
            .saturating_sub(self.step)
            .min(self.step);
    }
}

/// The guest's clock: the ACPI power management timer, which counts the machine's virtual time and stands still with
/// it. 24 bits go round in 4.7 s.
#[derive(Debug, Default)]
pub(super) struct Timer {
    /// What was read last; `None`: there is none, or not yet.
    last: Option<u32>,
    /// What is not a whole picosecond yet, in picoseconds times the frequency.
    rest: u64,
}

impl Timer {
    /// Its frequency (ACPI specification 6.5, section 4.8.3.3).
    const HZ: u64 = 3_579_545;
    /// Its values.
    const VALUES: u64 = 1 << 24;
    const PS_PER_S: u64 = 1_000_000_000_000;

    /// Takes what was read of a port: a value of the timer, or what is read where no device is. Returns how far the
    /// guest has come since the last reading, which is about as far as is given; `None`: one of the two is not the timer's.
    pub fn passed(&mut self, read: u32, about: Duration) -> Option<Duration> {
        let read = (u64::from(read) < Self::VALUES).then_some(read);
        let (last, now) = (std::mem::replace(&mut self.last, read)?, read?);
        let once = (u64::from(now) + Self::VALUES - u64::from(last)) % Self::VALUES;
        // As often round as comes nearest.
        let about = u128::from(about.as_ps()) * u128::from(Self::HZ) / u128::from(Self::PS_PER_S);
        let (once, values) = (u128::from(once), u128::from(Self::VALUES));
        let rounds = (about.saturating_sub(once) + values / 2) / values;
        let ticks = once + rounds * values;
        let scaled = ticks * u128::from(Self::PS_PER_S) + u128::from(self.rest);
        self.rest = (scaled % u128::from(Self::HZ)) as u64;
        Some(Duration::from_ps(
            u64::try_from(scaled / u128::from(Self::HZ)).unwrap_or(u64::MAX),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Microseconds from `least` to `most`, none like the one before.
    fn jitter(seed: &mut u64, least: u64, most: u64) -> Duration {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Duration::from_us(least + (*seed >> 33) % (most - least + 1))
    }

    /// The time after `count` steps, each as long as it was let and what `stop` took.
    fn after(count: u64, step: Duration, late: impl Fn(&mut u64) -> Duration) -> Duration {
        let (mut steps, mut time, mut seed) = (Steps::new(step), Duration::ZERO, 1);
        for _ in 0..count {
            let let_run = Duration::from_ns(steps.next().as_nanos() as u64);
            let passed = let_run + late(&mut seed);
            steps.ran(passed);
            time += passed;
        }
        time
    }

    #[test]
    fn steps_have_their_length_in_the_mean_however_late_stops_are() {
        let step = Duration::from_us(500);
        let time = after(100_000, step, |seed| jitter(seed, 50, 450));
        assert!(time >= step * 100_000, "{time}");
        assert!(time <= step * 100_001, "{time}");
    }

    #[test]
    fn a_stop_that_takes_longer_than_a_step_is_the_step() {
        let late = Duration::from_us(350);
        let time = after(1000, Duration::from_us(50), |_| late);
        assert_eq!(time, late * 1000 + Duration::from_us(50));
        // Once too late by a second: no more than the next step is shorter.
        let mut steps = Steps::new(Duration::from_ms(1));
        steps.ran(Duration::from_s(1));
        assert_eq!(steps.next(), Wall::ZERO);
        steps.ran(Duration::from_us(300));
        assert_eq!(steps.next(), Wall::from_micros(700));
    }

    #[test]
    fn a_timer_that_goes_round_is_exact_over_many_readings() {
        let (mut timer, mut seed) = (Timer::default(), 7);
        assert_eq!(timer.passed(0xFF_FFF0, Duration::from_s(9)), None);
        let (mut ticks, mut time) = (0xFF_FFF0u64, Duration::ZERO);
        for _ in 0..200_000 {
            let more = jitter(&mut seed, 1, 5000).as_ps() / 1_000_000;
            ticks += more;
            let about = Duration::from_us(more);
            time += timer
                .passed((ticks % Timer::VALUES) as u32, about)
                .expect("both are the timer's");
        }
        let all = u128::from(ticks - 0xFF_FFF0);
        let exact = all * u128::from(Timer::PS_PER_S) / u128::from(Timer::HZ);
        assert_eq!(u128::from(time.as_ps()), exact);
    }

    #[test]
    fn a_timer_has_gone_round_as_often_as_comes_nearest() {
        let mut timer = Timer::default();
        timer.passed(0, Duration::ZERO);
        // 24 bits are 4.687 s.
        let passed = timer.passed(3_579_545, Duration::from_s(3)).unwrap();
        assert_eq!(passed, Duration::from_s(1));
        let passed = timer.passed(2 * 3_579_545, Duration::from_ms(10_500));
        let ms = passed.unwrap().as_ps() / 1_000_000_000;
        assert_eq!(ms, 1000 + 2 * 4686 + 1);
    }

    #[test]
    fn a_port_without_a_timer_is_none() {
        let mut timer = Timer::default();
        let about = Duration::from_ms(1);
        assert_eq!(timer.passed(u32::MAX, about), None);
        assert_eq!(timer.passed(100, about), None);
        assert!(timer.passed(200, about).is_some());
        assert_eq!(timer.passed(u32::MAX, about), None);
        assert_eq!(timer.passed(300, about), None);
    }
}
