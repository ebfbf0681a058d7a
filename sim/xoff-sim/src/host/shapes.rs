//! What the messages of a flow are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::gbn::WorkKind;

/// Kind and bytes of a message: 1 to 2^31, 8 of an atomic.
pub type Shape = (WorkKind, u32);

/// The shapes of a flow's messages: message n has shape n modulo their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Shape>", into = "Vec<Shape>")]
pub struct Shapes {
    /// Shared, for a flow of a file may have a shape for each of its messages, and its settings are copied often.
    list: Arc<[Shape]>,
    /// Whether all are of one kind. Every packet asks for kinds.
    alike: bool,
    longest: u32,
}

impl Shapes {
    /// Messages of one kind and length.
    pub fn all(kind: WorkKind, bytes: u32) -> Self {
        Self::in_turn(vec![(kind, bytes)])
    }

    /// Messages that take turns.
    ///
    /// # Panics
    ///
    /// Without a shape.
    pub fn in_turn(shapes: Vec<Shape>) -> Self {
        assert!(!shapes.is_empty(), "a flow has messages of some kind");
        let longest = shapes.iter().map(|(_, bytes)| *bytes).max();
        Self {
            alike: shapes.iter().all(|(kind, _)| *kind == shapes[0].0),
            longest: longest.unwrap_or_default(),
            list: shapes.into(),
        }
    }

    /// Kind and bytes of message `index`.
    pub fn of(&self, index: u64) -> Shape {
        match &*self.list {
            [all] => *all,
            shapes => shapes[(index % shapes.len() as u64) as usize],
        }
    }

    /// Bytes of the longest message.
    pub const fn longest(&self) -> u32 {
        self.longest
    }

    /// Whether there is a message of such a kind.
    pub fn any(&self, such: impl Fn(WorkKind) -> bool) -> bool {
        match self.alike {
            true => such(self.list[0].0),
            false => self.list.iter().any(|(kind, _)| such(*kind)),
        }
    }

    /// How many of the messages before message `index` are of such a kind.
    pub fn before(&self, index: u64, such: impl Fn(WorkKind) -> bool) -> u64 {
        if self.alike {
            return if such(self.list[0].0) { index } else { 0 };
        }
        let count = |shapes: &[Shape]| shapes.iter().filter(|(kind, _)| such(*kind)).count() as u64;
        let round = self.list.len() as u64;
        let rest = (index % round) as usize;
        index / round * count(&self.list) + count(&self.list[..rest])
    }

    /// The message that is number `nth` among those of such a kind, of which there is one.
    pub fn nth(&self, nth: u64, such: impl Fn(WorkKind) -> bool) -> u64 {
        if self.alike {
            return nth;
        }
        let places = || (0..).zip(&*self.list).filter(|(_, (kind, _))| such(*kind));
        let each = places().count() as u64;
        let in_round = places().nth((nth % each) as usize).map(|(place, _)| place);
        nth / each * self.list.len() as u64 + in_round.unwrap_or(0)
    }
}

impl From<Vec<Shape>> for Shapes {
    fn from(shapes: Vec<Shape>) -> Self {
        Self::in_turn(shapes)
    }
}

impl From<Shapes> for Vec<Shape> {
    fn from(shapes: Shapes) -> Self {
        shapes.list.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted one by one.
    #[test]
    fn messages_of_a_kind_are_found_and_counted() {
        let (write, read, add) = (WorkKind::WRITE, WorkKind::READ, WorkKind::FETCH_ADD);
        let shapes = Shapes::in_turn(vec![(write, 100), (read, 50), (write, 100), (add, 8)]);
        assert_eq!(shapes.longest(), 100);
        let alike = Shapes::in_turn(vec![(write, 3), (write, 5), (write, 4)]);
        assert_eq!((alike.longest(), alike.of(4)), (5, (write, 5)));
        for index in 0..8 {
            assert_eq!(alike.before(index, WorkKind::writes), index);
            assert_eq!(alike.nth(index, WorkKind::writes), index);
            assert_eq!(alike.before(index, WorkKind::returns), 0);
        }
        for such in [WorkKind::returns, WorkKind::is_atomic, WorkKind::writes] {
            let all: Vec<u64> = (0..40).filter(|n| such(shapes.of(*n).0)).collect();
            for (nth, index) in all.iter().enumerate() {
                assert_eq!(shapes.nth(nth as u64, such), *index);
            }
            for index in 0..40 {
                let before = all.iter().filter(|it| **it < index).count() as u64;
                assert_eq!(shapes.before(index, such), before, "{index}");
            }
        }
        assert!(shapes.any(WorkKind::is_atomic) && !shapes.any(WorkKind::takes_buffer));
    }
}
