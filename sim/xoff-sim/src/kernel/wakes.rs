//! When each part of a group has something to do.

use crate::time::Time;

/// Parts that share an entry of the next level.
const FANOUT: usize = 16;

/// For each part the instant of its next event, in a tree of minima: a window asks only the branches in which something
/// is due before its end, so parts that rest cost it nothing.
///
/// Parts without an event have [`Time::MAX`]. Parts come out in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Wakes {
    /// The first level has an instant for each part, filled up to a multiple of [`FANOUT`]; entry `i` of any other
    /// level is the least of entries `FANOUT * i` to `FANOUT * i + FANOUT - 1` of the level before. The last level has
    /// at most [`FANOUT`] entries.
    levels: Vec<Vec<Time>>,
}

fn least(times: &[Time]) -> Time {
    times.iter().copied().fold(Time::MAX, Time::min)
}

impl Wakes {
    /// The instants of all parts, in the order of their numbers.
    pub(super) fn new(next: impl Iterator<Item = Option<Time>>) -> Self {
        let mut level: Vec<Time> = next.map(|at| at.unwrap_or(Time::MAX)).collect();
        let mut levels = Vec::new();
        while level.len() > FANOUT {
            level.resize(level.len().next_multiple_of(FANOUT), Time::MAX);
            let above = level.chunks_exact(FANOUT).map(least).collect();
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Self { levels }
    }

    /// The first instant of all.
    pub(super) fn first(&self) -> Option<Time> {
        let first = self.levels.last().map_or(Time::MAX, |level| least(level));
        (first != Time::MAX).then_some(first)
    }

    /// Appends to `due` the parts whose instant is before `until`.
    pub(super) fn due(&self, until: Time, due: &mut Vec<u32>) {
        if let Some((top, below)) = self.levels.split_last() {
            Self::due_in(below, top, 0, until, due);
        }
    }

    fn due_in(below: &[Vec<Time>], times: &[Time], from: usize, until: Time, due: &mut Vec<u32>) {
        let early = (from..).zip(times).filter(|(_, at)| **at < until);
        match below.split_last() {
            None => due.extend(early.map(|(part, _)| part as u32)),
            Some((level, below)) => {
                for (place, _) in early {
                    let from = place * FANOUT;
                    Self::due_in(below, &level[from..from + FANOUT], from, until, due);
                }
            }
        }
    }

    /// Sets the instants of `parts`, which are sorted.
    pub(super) fn set(&mut self, parts: &[u32], next: impl Fn(u32) -> Option<Time>) {
        for part in parts {
            self.levels[0][*part as usize] = next(*part).unwrap_or(Time::MAX);
        }
        let mut width = 1;
        for level in 1..self.levels.len() {
            width *= FANOUT;
            let (below, above) = self.levels.split_at_mut(level);
            let mut last = usize::MAX;
            for place in parts.iter().map(|part| *part as usize / width) {
                if place != last {
                    let times = &below[level - 1][place * FANOUT..][..FANOUT];
                    above[0][place] = least(times);
                    last = place;
                }
            }
        }
    }

    /// Notes that a part has something to do at `at`, or earlier.
    pub(super) fn sooner(&mut self, part: u32, at: Time) {
        let mut place = part as usize;
        for level in &mut self.levels {
            if level[place] <= at {
                return;
            }
            level[place] = at;
            place /= FANOUT;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that is searched from end to end.
        #[test]
        fn finds_what_a_search_finds(
            start in prop::collection::vec(prop::option::of(0u64..50), 0..600),
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0u64..60, any::<bool>()), 0..80),
            until in 0u64..50,
        ) {
            let mut list: Vec<Option<Time>> = start.into_iter().map(|at| at.map(Time::from_ps)).collect();
            let mut wakes = Wakes::new(list.iter().copied());
            for (index, at, sooner) in steps {
                if list.is_empty() {
                    break;
                }
                let part = index.index(list.len());
                let at = Time::from_ps(at);
                if sooner {
                    list[part] = Some(list[part].map_or(at, |known| known.min(at)));
                    wakes.sooner(part as u32, at);
                } else {
                    // Every third part from there on.
                    let parts: Vec<u32> = (part as u32..list.len() as u32).step_by(3).collect();
                    let next = |part: u32| part.is_multiple_of(2).then_some(at);
                    parts.iter().for_each(|part| list[*part as usize] = next(*part));
                    wakes.set(&parts, next);
                }
                prop_assert_eq!(wakes.first(), list.iter().copied().flatten().min());
            }
            let until = Time::from_ps(until);
            let early = |at: &Option<Time>| at.is_some_and(|at| at < until);
            let expected: Vec<u32> = (0..).zip(&list).filter(|(_, at)| early(at)).map(|(part, _)| part).collect();
            let mut due = Vec::new();
            wakes.due(until, &mut due);
            prop_assert_eq!(due, expected);
        }
    }
}
