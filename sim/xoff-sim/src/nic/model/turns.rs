//! Turns of QPs, in rounds (`qp_picker` and `class_turns` of the RTL).

use serde::{Deserialize, Serialize};

use super::qp_set::QpSet;

/// Which QPs have had their turn in this round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turns {
    had: QpSet,
}

impl Turns {
    /// Turns of `qps` QPs, none of which has had its own.
    pub(super) fn new(qps: usize) -> Self {
        let had = QpSet::new(qps);
        Self { had }
    }

    /// The QPs that have had their turn.
    pub(super) const fn had(&self) -> &QpSet {
        &self.had
    }

    /// Whether a QP has had its turn.
    pub(super) fn has_had(&self, qp: usize) -> bool {
        self.had.has(qp)
    }

    /// Notes that a QP has its turn now.
    pub(super) fn take(&mut self, qp: usize) {
        self.had.set(qp, true);
    }

    /// Gives a QP a turn again: a round begins for it.
    pub(super) fn again(&mut self, qp: usize) {
        self.had.set(qp, false);
    }

    /// The next of `waiting` that can be served: the lowest that has its turn. If there is none, a round begins for
    /// those that can be served, and no others.
    pub(super) fn next(&mut self, waiting: &QpSet, can: impl Fn(usize) -> bool) -> Option<usize> {
        let next = waiting.without(&self.had).find(|qp| can(*qp));
        let next = next.or_else(|| {
            let again = waiting.members().filter(|qp| can(*qp));
            again.inspect(|qp| self.had.set(*qp, false)).min()
        })?;
        self.take(next);
        Some(next)
    }

    /// The class whose offer is next, of offers of one QP each in the order of their classes: the lowest whose QP has
    /// its turn. If there is none, a round begins for all QPs.
    pub(super) fn next_class(
        &mut self,
        offers: impl Iterator<Item = (u8, usize)> + Clone,
    ) -> Option<u8> {
        let turn = offers.clone().find(|(_, qp)| !self.has_had(*qp));
        let (class, qp) = match turn {
            Some(offer) => offer,
            None => {
                let first = offers.min()?;
                self.had.clear();
                first
            }
        };
        self.take(qp);
        Some(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one class gets does not cost the QPs of another their order, whichever can be served when.
    #[test]
    fn a_turn_is_kept_while_only_others_can_be_served() {
        let mut turns = Turns::new(3);
        let mut waiting = QpSet::new(3);
        (0..3).for_each(|qp| waiting.set(qp, true));
        let mut served = [0; 3];
        for step in 0..600 {
            // QPs 0 and 1 are of one class, 2 of another, and their slots become free in turn.
            let can = |qp: usize| (qp == 2) == (step % 2 == 1);
            served[turns.next(&waiting, can).unwrap()] += 1;
        }
        assert_eq!(served, [150, 150, 300]);
    }

    /// Of QPs 0 and 1 of one class and 2 of another each is sent equally often, although the classes are offered alike.
    #[test]
    fn classes_take_turns_by_qp() {
        let mut turns = Turns::new(3);
        let mut sent = [0; 3];
        for _ in 0..300 {
            let first = sent[0] + sent[1];
            let offers = [(3, first % 2), (4, 2)];
            match turns.next_class(offers.into_iter()) {
                Some(3) => sent[first % 2] += 1,
                _ => sent[2] += 1,
            }
        }
        assert_eq!(sent, [100; 3]);
    }
}
