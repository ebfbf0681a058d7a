//! The requests of a connection that are remembered, by their PSNs.

use std::collections::VecDeque;

/// Requests in the order of their PSNs, extended to 64 bits.
///
/// Nearly all come behind the newest one and leave as the oldest, and most take one PSN each: so the place of a request
/// is mostly its distance to the oldest, and is searched where it is not.
#[derive(Debug)]
pub(crate) struct Log<R>(VecDeque<(i64, R)>);

impl<R> Default for Log<R> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<R> Log<R> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The request with the least PSN.
    pub fn oldest(&self) -> Option<(i64, &R)> {
        self.0.front().map(|(first, request)| (*first, request))
    }

    /// The request with the greatest PSN.
    pub fn newest(&self) -> Option<(i64, &R)> {
        self.0.back().map(|(first, request)| (*first, request))
    }

    /// The last request that begins at `psn` or before.
    pub fn until(&self, psn: i64) -> Option<(i64, &R)> {
        let place = self.behind(psn).checked_sub(1)?;
        let (first, request) = &self.0[place];
        Some((*first, request))
    }

    /// The request that begins at `first`.
    pub fn get_mut(&mut self, first: i64) -> Option<&mut R> {
        let place = self.behind(first).checked_sub(1)?;
        let (psn, request) = &mut self.0[place];
        (*psn == first).then_some(request)
    }

    /// The requests that begin in `from..=through`.
    pub fn within(&self, from: i64, through: i64) -> impl Iterator<Item = (i64, &R)> {
        let begin = self.behind(from - 1);
        let end = self.behind(through).max(begin);
        (self.0.range(begin..end)).map(|(first, request)| (*first, request))
    }

    /// Adds a request that begins at `first`, or puts it in the place of the one that does.
    pub fn insert(&mut self, first: i64, request: R) {
        let behind = self.behind(first);
        match behind.checked_sub(1).map(|place| &mut self.0[place]) {
            Some((psn, known)) if *psn == first => *known = request,
            _ => self.0.insert(behind, (first, request)),
        }
    }

    /// Forgets the request with the least PSN.
    pub fn forget_oldest(&mut self) {
        self.0.pop_front();
    }

    /// Number of requests that begin at `psn` or before.
    fn behind(&self, psn: i64) -> usize {
        let Some((oldest, _)) = self.oldest().filter(|(oldest, _)| *oldest <= psn) else {
            return 0;
        };
        let most =
            usize::try_from(psn - oldest).map_or(self.len(), |past| self.len().min(past + 1));
        match self.0[most - 1].0 <= psn {
            true => most,
            false => self.0.partition_point(|(first, _)| *first <= psn),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A log and an ordered map agree, whatever comes behind its end, again, late or after a gap.
        #[test]
        fn is_a_map_in_order(changes in prop::collection::vec((-4i64..12, 0usize..4), 1..200)) {
            let (mut log, mut map, mut end) = (Log::default(), BTreeMap::new(), 1 << 40);
            for (number, (ahead, kind)) in changes.into_iter().enumerate() {
                let psn = end + ahead;
                match kind {
                    0 => {
                        log.forget_oldest();
                        map.pop_first();
                    }
                    1 => prop_assert_eq!(log.get_mut(psn), map.get_mut(&psn)),
                    _ => {
                        log.insert(psn, number);
                        map.insert(psn, number);
                        end = end.max(psn + 1);
                    }
                }
                let pair = |(first, request): (&i64, &usize)| (*first, *request);
                let own = |(first, request): (i64, &usize)| (first, *request);
                prop_assert_eq!(log.len(), map.len());
                prop_assert_eq!(log.oldest().map(own), map.first_key_value().map(pair));
                prop_assert_eq!(log.newest().map(own), map.last_key_value().map(pair));
                for at in end - 20..end + 4 {
                    prop_assert_eq!(log.until(at).map(own), map.range(..=at).next_back().map(pair));
                    let within: Vec<_> = log.within(at, psn).map(own).collect();
                    let right: Vec<_> = map.range(at..=psn.max(at)).map(pair).collect();
                    prop_assert_eq!(within, if psn < at { Vec::new() } else { right });
                }
            }
        }
    }
}
