//! How full switches were over intervals of different lengths: a switch says it once of each time that has passed, and
//! both the samples and a policy want to know.

use serde::{Deserialize, Serialize};
use xoff_sim::switch::Level;
use xoff_sim::time::Duration;

/// For each node, the fills of its egress and of its ingress queues in an interval that has been put together so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Fills {
    time: Duration,
    levels: Vec<[Level; 2]>,
}

impl Fills {
    /// Adds the levels of a time behind what is here.
    pub(super) fn add(&mut self, later: &[[Level; 2]], time: Duration) {
        if self.time == Duration::ZERO {
            self.levels = later.to_vec();
            self.time = time;
            return;
        }
        let [before, behind] = [self.time, time].map(|time| time.as_ps() as f64);
        let levels = self.levels.iter_mut().flatten();
        for (level, later) in levels.zip(later.iter().flatten()) {
            *level = Level {
                least: level.least.min(later.least),
                mean: (level.mean * before + later.mean * behind) / (before + behind),
                greatest: level.greatest.max(later.greatest),
            };
        }
        self.time += time;
    }

    /// The levels of the interval, which ends with that.
    pub(super) fn take(&mut self) -> Vec<[Level; 2]> {
        std::mem::take(self).levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(least: u64, mean: f64, greatest: u64) -> [Level; 2] {
        [Level {
            least,
            mean,
            greatest,
        }; 2]
    }

    #[test]
    fn parts_of_an_interval_count_by_their_length() {
        let mut fills = Fills::default();
        fills.add(&[level(2, 10.0, 20)], Duration::from_us(1));
        fills.add(&[level(5, 30.0, 70)], Duration::from_us(3));
        assert_eq!(fills.take(), [level(2, 25.0, 70)]);
        // The next interval knows nothing of that.
        fills.add(&[level(9, 9.0, 9)], Duration::from_us(1));
        assert_eq!(fills.take(), [level(9, 9.0, 9)]);
    }
}
