//! Cases that are a list of events: drawn by a plain function, because a strategy for each field of each event costs more than the unit's cycles, and shrunk by
//! leaving out events and making those that stay simpler.

use proptest::prelude::*;
use proptest::strategy::{NewTree, ValueTree};
use proptest::test_runner::TestRunner;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::draw::Draw;

/// What holds for all of a case, and its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History<H, E> {
    /// What holds for all of it. Shrinking leaves it alone.
    pub head: H,
    /// What happens.
    pub events: Vec<E>,
}

impl<H: Serialize, E: Serialize> History<H, E> {
    /// As lines of text: `bench` and the head as JSON, then an event a line.
    pub fn write(&self) -> Vec<String> {
        let head = format!(
            "bench {}",
            serde_json::to_string(&self.head).expect("plain")
        );
        let events = self.events.iter().map(line);
        std::iter::once(head).chain(events).collect()
    }
}

impl<H: DeserializeOwned, E: DeserializeOwned> History<H, E> {
    /// The history that [`History::write`] wrote.
    ///
    /// # Errors
    ///
    /// What a line should have been.
    pub fn read(lines: &[&str]) -> Result<Self, String> {
        let (first, events) = lines.split_first().ok_or("a case without a line")?;
        let head = first
            .strip_prefix("bench ")
            .ok_or_else(|| "the first event is not 'bench JSON'".to_owned())
            .and_then(|json| serde_json::from_str(json).map_err(|error| error.to_string()))?;
        let events = (events.iter().enumerate())
            .map(|(i, line)| read_line(line).map_err(|error| format!("event {}: {error}", i + 1)))
            .collect::<Result<_, _>>()?;
        Ok(Self { head, events })
    }
}

/// Draws histories.
#[derive(Debug, Clone, Copy)]
pub struct Histories<H, E> {
    /// A random one.
    pub draw: fn(&mut Draw) -> History<H, E>,
    /// A simpler event in the place of this one. Again and again it must end.
    pub simpler: fn(&E) -> Option<E>,
}

impl<H, E> Strategy for Histories<H, E>
where
    H: std::fmt::Debug + Clone,
    E: std::fmt::Debug + Clone,
{
    type Tree = Shrinking<H, E>;
    type Value = History<H, E>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let seed = any::<u64>().new_tree(runner)?.current();
        let history = (self.draw)(&mut Draw::new(seed));
        Ok(Shrinking {
            chunk: history.events.len(),
            history,
            simpler: self.simpler,
            at: 0,
            before: None,
        })
    }
}

/// A history on its way to a smaller one.
#[derive(Debug, Clone)]
pub struct Shrinking<H, E> {
    history: History<H, E>,
    simpler: fn(&E) -> Option<E>,
    /// Events to leave out at once; 0: none any more, now they become simpler.
    chunk: usize,
    /// Where.
    at: usize,
    /// The events before the last attempt.
    before: Option<Vec<E>>,
}

impl<H, E: Clone> Shrinking<H, E> {
    fn attempt(&mut self) -> bool {
        let events = &mut self.history.events;
        loop {
            if self.at < events.len() {
                if self.chunk > 0 {
                    self.before = Some(events.clone());
                    events.drain(self.at..(self.at + self.chunk).min(events.len()));
                    return true;
                }
                if let Some(simpler) = (self.simpler)(&events[self.at]) {
                    self.before = Some(events.clone());
                    events[self.at] = simpler;
                    return true;
                }
                self.at += 1;
            } else if self.chunk > 0 {
                self.chunk /= 2;
                self.at = 0;
            } else {
                return false;
            }
        }
    }
}

impl<H, E> ValueTree for Shrinking<H, E>
where
    H: std::fmt::Debug + Clone,
    E: std::fmt::Debug + Clone,
{
    type Value = History<H, E>;

    fn current(&self) -> Self::Value {
        self.history.clone()
    }

    fn simplify(&mut self) -> bool {
        self.before = None;
        self.attempt()
    }

    fn complicate(&mut self) -> bool {
        let Some(before) = self.before.take() else {
            return false;
        };
        self.history.events = before;
        self.at += self.chunk.max(1);
        self.attempt()
    }
}

/// An enum's value as `name {"field":…}`.
pub fn line(value: &impl Serialize) -> String {
    match serde_json::to_value(value).expect("events have no keys but names") {
        serde_json::Value::Object(fields) => (fields.into_iter())
            .map(|(name, fields)| format!("{name} {fields}"))
            .collect(),
        name => name.as_str().unwrap_or_default().to_owned(),
    }
}

/// The value that [`line()`] wrote.
///
/// # Errors
///
/// What is wrong with the line.
pub fn read_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    let json = match line.trim().split_once(' ') {
        Some((name, fields)) => format!("{{\"{name}\":{fields}}}"),
        None => format!("\"{}\"", line.trim()),
    };
    serde_json::from_str(&json).map_err(|error| {
        let begin: String = line.chars().take(60).collect();
        format!("'{begin}': {error}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinks_to_the_events_that_matter() {
        // Fails with a 7 or more somewhere before a 3 or more.
        let fails = |events: &[u32]| {
            (events.iter().position(|&n| n >= 7))
                .is_some_and(|at| events[at + 1..].iter().any(|&n| n >= 3))
        };
        let histories = Histories {
            draw: |draw| History {
                head: (),
                events: (0..100).map(|_| draw.within(0, 9) as u32).collect(),
            },
            simpler: |&n: &u32| n.checked_sub(1),
        };
        let mut tree = histories
            .new_tree(&mut TestRunner::deterministic())
            .unwrap();
        assert!(fails(&tree.current().events));
        let mut best = Vec::new();
        let mut more = tree.simplify();
        while more {
            let events = tree.current().events;
            more = if fails(&events) {
                best = events;
                tree.simplify()
            } else {
                tree.complicate()
            };
        }
        assert_eq!(best, [7, 3]);
        assert_eq!(tree.current().events, best);
    }
}
