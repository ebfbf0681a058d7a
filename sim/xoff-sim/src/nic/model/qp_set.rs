//! Sets of QPs, for round robin.

use serde::{Deserialize, Serialize};

use crate::kernel::prefetch::prefetch;

/// A set of QP indices, one bit each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QpSet(Vec<u64>);

impl QpSet {
    /// Creates an empty set for `qps` QPs.
    pub(super) fn new(qps: usize) -> Self {
        Self(vec![0; qps.div_ceil(64)])
    }

    /// Asks for the memory of the set.
    pub(super) fn prefetch(&self) {
        prefetch(&self.0);
    }

    /// Adds a QP to the set or removes it.
    pub(super) fn set(&mut self, qp: usize, member: bool) {
        let bit = 1 << (qp % 64);
        let word = &mut self.0[qp / 64];
        *word = if member { *word | bit } else { *word & !bit };
    }

    /// The first member after `last`, wrapping around.
    pub(super) fn first_after(&self, last: usize) -> Option<usize> {
        let (word, bit) = ((last / 64) % self.0.len(), last % 64);
        let behind = self.0[word] & (!0u64 << bit << 1);
        if behind != 0 {
            return Some(64 * word + behind.trailing_zeros() as usize);
        }
        // The word that contains `last` comes last; what is behind it there is known to be empty.
        let others = (word + 1..self.0.len()).chain(0..=word);
        others
            .map(|word| (word, self.0[word]))
            .find(|(_, bits)| *bits != 0)
            .map(|(word, bits)| 64 * word + bits.trailing_zeros() as usize)
    }

    /// The members of the set, starting after `last` and wrapping around, for round robin.
    pub(super) fn after(&self, last: usize) -> impl Iterator<Item = usize> + '_ {
        let (word, bit) = ((last / 64) % self.0.len(), last % 64);
        // The word that contains `last` comes twice: first with the bits after `last`, at the end with the others.
        let behind = !0u64 << bit << 1;
        let first = std::iter::once((word, self.0[word] & behind));
        let words = self.0.len();
        let others = (1..words).map(move |i| (word + i) % words);
        let others = others.map(|word| (word, self.0[word]));
        let wrapped = std::iter::once((word, self.0[word] & !behind));
        first.chain(others).chain(wrapped).flat_map(|(word, bits)| {
            std::iter::successors((bits != 0).then_some(bits), |bits| {
                Some(bits & (bits - 1)).filter(|rest| *rest != 0)
            })
            .map(move |bits| 64 * word + bits.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn goes_round_from_the_one_behind_the_last(members in prop::collection::btree_set(0usize..200, 0..40), last in 0usize..200) {
            let mut set = QpSet::new(200);
            for qp in 0..200 {
                set.set(qp, true);
                set.set(qp, members.contains(&qp));
            }
            let (behind, others): (BTreeSet<_>, BTreeSet<_>) = members.iter().copied().partition(|qp| *qp > last);
            let expected: Vec<usize> = behind.into_iter().chain(others).collect();
            prop_assert_eq!(set.first_after(last), expected.first().copied());
            prop_assert_eq!(set.after(last).collect::<Vec<_>>(), expected);
        }
    }
}
