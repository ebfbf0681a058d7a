//! Answers that wait for the wire (`answer_scheduler` and `transmit_select` of the RTL).

use serde::{Deserialize, Serialize};

use super::NEVER;
use super::path::Draft;
use crate::wire::{PRIORITIES, set_bits};

/// How many answers go ahead of a request that waits.
const AHEAD_MAX: u8 = 15;

/// An answer, from its GRANT on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Earliest cycle of its selection.
    pub(super) from: u64,
    pub(super) qp: u16,
    pub(super) frame: Draft,
}

/// Two answers a class, the older one first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Answers {
    held: [[Option<Answer>; 2]; PRIORITIES],
    /// Classes that hold one, one bit each.
    classes: u8,
    /// Answers that went ahead of the request that waits.
    ahead: u8,
}

impl Answers {
    /// Whether a class has room for one more.
    pub(super) const fn has_room(&self, class: u8) -> bool {
        self.held[class as usize][1].is_none()
    }

    /// Puts an answer behind those of its class, which has room.
    pub(super) fn put(&mut self, class: u8, answer: Answer) {
        let [first, second] = &mut self.held[usize::from(class)];
        let place = if first.is_none() { first } else { second };
        debug_assert!(place.is_none(), "an answer that has no room");
        *place = Some(answer);
        self.classes |= 1 << class;
    }

    /// The first answer of a class.
    pub(super) const fn first(&self, class: u8) -> Option<&Answer> {
        self.held[class as usize][0].as_ref()
    }

    /// When an answer of these classes, one bit each, can be selected: [`NEVER`] if they have none.
    pub(super) fn from(&self, classes: u8) -> u64 {
        let first = set_bits(self.classes & classes).filter_map(|class| self.first(class));
        first.map(|answer| answer.from).min().unwrap_or(NEVER)
    }

    /// Whether a request waits for the answers of these classes, also for one that is about to come.
    pub(super) const fn go_first(&self, classes: u8) -> bool {
        self.classes & classes != 0 && self.ahead < AHEAD_MAX
    }

    /// Takes the first answer of a class. `ahead` is whether a request waits for it.
    pub(super) fn take(&mut self, class: u8, ahead: bool) -> Option<Answer> {
        let [first, second] = &mut self.held[usize::from(class)];
        let answer = first.take();
        self.ahead = if ahead { self.ahead + 1 } else { 0 };
        *first = second.take();
        if first.is_none() {
            self.classes &= !(1 << class);
        }
        answer
    }

    /// Notes that a request is selected.
    pub(super) const fn request_taken(&mut self) {
        self.ahead = 0;
    }

    /// Discards the answers of a QP.
    pub(super) fn discard(&mut self, qp: u16) {
        for (class, held) in self.held.iter_mut().enumerate() {
            for place in held.iter_mut() {
                place.take_if(|answer| answer.qp == qp);
            }
            let [first, second] = held;
            if first.is_none() {
                *first = second.take();
            }
            if first.is_none() {
                self.classes &= !(1 << class);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(qp: u16) -> Answer {
        Answer {
            from: 7,
            qp,
            frame: Draft::none(),
        }
    }

    #[test]
    fn two_of_a_class_leave_in_order_and_a_discard_takes_those_of_its_qp() {
        let mut answers = Answers::default();
        answers.put(3, answer(1));
        answers.put(3, answer(2));
        answers.put(4, answer(1));
        assert!(!answers.has_room(3) && answers.has_room(4));
        answers.discard(1);
        assert_eq!(answers.first(3).unwrap().qp, 2);
        assert!(answers.first(4).is_none() && answers.has_room(3));
        assert_eq!((answers.from(!0), answers.from(1 << 4)), (7, NEVER));
        assert_eq!(answers.take(3, false).unwrap().qp, 2);
        assert!(!answers.go_first(!0), "none is left");
    }

    #[test]
    fn a_request_waits_for_15_answers_at_most() {
        let mut answers = Answers::default();
        for round in 0..2 {
            for ahead in 0..15 {
                answers.put(3, answer(0));
                assert!(answers.go_first(1 << 3), "{ahead} answers in round {round}");
                assert!(!answers.go_first(1 << 4), "of a class that is paused");
                answers.take(3, true);
            }
            answers.put(3, answer(0));
            assert!(!answers.go_first(1 << 3), "it is the request's turn");
            answers.request_taken();
            answers.take(3, false);
        }
    }
}
