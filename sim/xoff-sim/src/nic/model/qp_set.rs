//! Sets of QPs, for round robin.

use serde::{Deserialize, Serialize};

/// A set of QP indices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QpSet {
    /// One bit each.
    words: Vec<u64>,
    /// How many there are: most sets are empty most of the time, and are not looked through then.
    members: u32,
}

impl QpSet {
    /// Creates an empty set for `qps` QPs.
    pub(super) fn new(qps: usize) -> Self {
        Self {
            words: vec![0; qps.div_ceil(64)],
            members: 0,
        }
    }

    /// Adds a QP to the set or removes it.
    pub(super) fn set(&mut self, qp: usize, member: bool) {
        let bit = 1 << (qp % 64);
        let word = &mut self.words[qp / 64];
        match (*word & bit != 0, member) {
            (false, true) => self.members += 1,
            (true, false) => self.members -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    /// Whether a QP is a member.
    pub(super) fn has(&self, qp: usize) -> bool {
        self.words[qp / 64] >> (qp % 64) & 1 != 0
    }

    /// Removes all members.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.members = 0;
    }

    /// The words, or none if there are no members.
    fn filled(&self) -> &[u64] {
        match self.members {
            0 => &[],
            _ => &self.words,
        }
    }

    /// The members in ascending order.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        bits(self.filled().iter().copied())
    }

    /// The members that are not members of `others`, in ascending order.
    pub(super) fn without<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = usize> + 'a {
        bits((self.filled().iter().zip(&others.words)).map(|(word, others)| word & !others))
    }
}

/// The places of the bits that are 1.
fn bits(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(place, word)| {
        std::iter::successors((word != 0).then_some(word), |bits| {
            Some(bits & (bits - 1)).filter(|rest| *rest != 0)
        })
        .map(move |bits| 64 * place + bits.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn has_what_was_put_in(members in prop::collection::btree_set(0usize..200, 0..40), others in prop::collection::btree_set(0usize..200, 0..40)) {
            let [set, without] = [&members, &others].map(|members| {
                let mut set = QpSet::new(200);
                for qp in 0..200 {
                    set.set(qp, true);
                    set.set(qp, members.contains(&qp));
                }
                set
            });
            prop_assert_eq!(set.members().collect::<BTreeSet<_>>(), members.clone());
            prop_assert!(set.members().is_sorted());
            prop_assert!((0..200).all(|qp| set.has(qp) == members.contains(&qp)));
            prop_assert_eq!(set.members as usize, members.len());
            let rest: Vec<usize> = members.difference(&others).copied().collect();
            prop_assert_eq!(set.without(&without).collect::<Vec<_>>(), rest);
        }
    }
}
