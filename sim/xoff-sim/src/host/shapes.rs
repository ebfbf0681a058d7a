//! What the messages of a flow are.

use serde::{Deserialize, Serialize};

use crate::protocol::gbn::WorkKind;

/// Kind and bytes of a message: 1 to 2^31, 8 of an atomic.
pub type Shape = (WorkKind, u32);

/// The shapes of a flow's messages: message n has shape n modulo their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shapes(Vec<Shape>);

impl Shapes {
    /// Messages of one kind and length.
    pub fn all(kind: WorkKind, bytes: u32) -> Self {
        Self(vec![(kind, bytes)])
    }

    /// Messages that take turns.
    ///
    /// # Panics
    ///
    /// Without a shape.
    pub fn in_turn(shapes: Vec<Shape>) -> Self {
        assert!(!shapes.is_empty(), "a flow has messages of some kind");
        Self(shapes)
    }

    /// Kind and bytes of message `index`.
    pub fn of(&self, index: u64) -> Shape {
        match &*self.0 {
            [all] => *all,
            shapes => shapes[(index % shapes.len() as u64) as usize],
        }
    }

    /// Bytes of the longest message.
    pub fn longest(&self) -> u32 {
        let bytes = self.0.iter().map(|(_, bytes)| *bytes);
        bytes.max().unwrap_or_default()
    }

    /// Whether there is a message of such a kind.
    pub fn any(&self, such: impl Fn(WorkKind) -> bool) -> bool {
        self.0.iter().any(|(kind, _)| such(*kind))
    }

    /// How many of the messages before message `index` are of such a kind.
    pub fn before(&self, index: u64, such: impl Fn(WorkKind) -> bool) -> u64 {
        let count = |shapes: &[Shape]| shapes.iter().filter(|(kind, _)| such(*kind)).count() as u64;
        let round = self.0.len() as u64;
        let rest = (index % round) as usize;
        index / round * count(&self.0) + count(&self.0[..rest])
    }

    /// The message that is number `nth` among those of such a kind, of which there is one.
    pub fn nth(&self, nth: u64, such: impl Fn(WorkKind) -> bool) -> u64 {
        if self.0.len() == 1 {
            return nth;
        }
        let places = || (0..).zip(&self.0).filter(|(_, (kind, _))| such(*kind));
        let each = places().count() as u64;
        let in_round = places().nth((nth % each) as usize).map(|(place, _)| place);
        nth / each * self.0.len() as u64 + in_round.unwrap_or(0)
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
