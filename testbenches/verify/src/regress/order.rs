//! The order in which items run: what took longest for other seeds comes first, so that at the end no thread works
//! alone on something long.

use std::collections::HashMap;

use super::journal::Finished;
use super::plan::Item;
use super::report::counted;

/// Items that are still to run.
///
/// How long an item takes is known when the same unit or scenario ran with another seed, in this regression or in the
/// one whose results were in the folder. What is not known comes before all others, in the order of the plan.
pub struct Queue<'a> {
    /// Not begun, in the order of the plan.
    left: Vec<&'a Item>,
    /// Sum of the seconds, and number, of finished items by unit or scenario.
    known: HashMap<String, (f64, u32)>,
}

impl<'a> Queue<'a> {
    /// A queue of items in the order of the plan. `earlier` are finished ones.
    pub fn new<'b>(left: Vec<&'a Item>, earlier: impl IntoIterator<Item = &'b Finished>) -> Self {
        let known = HashMap::new();
        let mut queue = Self { left, known };
        earlier.into_iter().for_each(|entry| queue.learn(entry));
        queue
    }

    /// Takes the next item.
    pub fn take(&mut self) -> Option<&'a Item> {
        let mut best: Option<(usize, f64)> = None;
        for (at, item) in self.left.iter().enumerate() {
            let seconds = self.expected(&item.name);
            // Of those that take equally long, the first of the plan.
            if best.is_none_or(|(_, most)| seconds > most) {
                best = Some((at, seconds));
            }
        }
        best.map(|(at, _)| self.left.remove(at))
    }

    /// Takes in how long an item took.
    pub fn learn(&mut self, finished: &Finished) {
        let (sum, count) = self
            .known
            .entry(work(&finished.item).to_owned())
            .or_default();
        *sum += finished.seconds;
        *count += 1;
    }

    /// The expected time of an item in seconds, infinite if it is not known.
    fn expected(&self, name: &str) -> f64 {
        let known = self.known.get(work(name));
        known.map_or(f64::INFINITY, |(sum, count)| sum / f64::from(*count))
    }
}

/// What an item runs, without its seed: `scenario/deadlock/cured` of `scenario/deadlock/cured/7`.
fn work(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(work, _)| work)
}

/// How long a regression took, for its last line.
pub fn use_of_threads(finished: &[Finished], threads: usize, elapsed: f64) -> Option<String> {
    let longest = finished
        .iter()
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let busy: f64 = finished.iter().map(|entry| entry.seconds).sum();
    Some(format!(
        "{elapsed:.1} s on {}, {:.2} items at a time; the longest was {}, {:.1} s",
        counted(threads, "thread"),
        busy / elapsed,
        longest.item,
        longest.seconds
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::unit::Unit;
    use crate::regress::plan::Work;

    fn item(name: &str) -> Item {
        Item {
            name: name.into(),
            seed: 1,
            work: Work::Unit(Unit::Pfc),
        }
    }

    fn finished(name: &str, seconds: f64) -> Finished {
        Finished {
            item: name.into(),
            failure: None,
            digest: None,
            case: None,
            repeat: String::new(),
            seconds,
        }
    }

    #[test]
    fn what_is_not_known_is_first_and_then_what_takes_longest() {
        let names = ["a/1", "b/1", "c/1", "a/2", "b/2", "c/2"];
        let items = names.map(item);
        let before = [finished("c/9", 2.0), finished("c/8", 4.0)];
        let mut queue = Queue::new(items.iter().collect(), &before);
        let mut taken = Vec::new();
        // c takes 3 s on average, a takes 1 s, b takes 5 s.
        for seconds in [1.0, 5.0] {
            let name = &queue.take().unwrap().name;
            queue.learn(&finished(name, seconds));
            taken.push(&name[..]);
        }
        while let Some(item) = queue.take() {
            taken.push(&item.name);
        }
        assert_eq!(taken, ["a/1", "b/1", "b/2", "c/1", "c/2", "a/2"]);
    }

    #[test]
    fn threads_that_are_busy_all_the_time_count_whole() {
        let done = [
            finished("a/1", 3.0),
            finished("b/1", 4.5),
            finished("a/2", 3.0),
        ];
        // 10.5 s of work in 6 s.
        let said = use_of_threads(&done, 2, 6.0).unwrap();
        let expected = "6.0 s on 2 threads, 1.75 items at a time; the longest was b/1, 4.5 s";
        assert_eq!(said, expected);
        assert_eq!(use_of_threads(&[], 2, 6.0), None);
    }
}
