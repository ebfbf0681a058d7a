//! The memory that the messages of a flow go through.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::seeded::split_mix;

/// The order in which the messages of a flow go through its working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One behind the other, and from the start again.
    #[default]
    Walk,
    /// Each at a place that is drawn, all with the same chance.
    Uniform,
}

/// The memory in which the messages of a flow lie: a number of places of a message each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingSet {
    /// Its size, a multiple of a message, up to [`MOST_BYTES`](Self::MOST_BYTES).
    pub bytes: u64,
    /// In which order messages go through it.
    pub order: Order,
    /// What places are drawn from, if they are.
    pub seed: u64,
}

impl WorkingSet {
    /// Largest working set: the memory of a flow.
    pub const MOST_BYTES: u64 = 1 << 36;

    /// The offset of message `index` of flow `flow`, with messages of so many bytes.
    pub const fn offset(&self, flow: u32, index: u64, message: u32) -> u64 {
        let message = message as u64;
        let places = match self.bytes / message {
            0 => 1,
            places => places,
        };
        let place = match self.order {
            Order::Walk => index % places,
            // Both ends know where a message is, so the draw is a function of its number.
            Order::Uniform => {
                let drawn = split_mix(split_mix(self.seed ^ split_mix(flow as u64)) ^ index);
                ((drawn as u128 * places as u128) >> 64) as u64
            }
        };
        place * message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_round() {
        let walk = WorkingSet {
            bytes: 4_000,
            order: Order::Walk,
            seed: 1,
        };
        let offsets: Vec<u64> = (0..5).map(|index| walk.offset(9, index, 1_000)).collect();
        assert_eq!(offsets, [0, 1_000, 2_000, 3_000, 0]);
    }

    #[test]
    fn draws_are_even_and_differ_between_flows() {
        let drawn = WorkingSet {
            bytes: 64 << 10,
            order: Order::Uniform,
            seed: 1,
        };
        let mut hits = [0u32; 64];
        for index in 0..64_000 {
            let offset = drawn.offset(0, index, 1_024);
            assert_eq!(offset % 1_024, 0);
            hits[(offset / 1_024) as usize] += 1;
        }
        assert!(
            hits.iter().all(|count| (850..1_150).contains(count)),
            "{hits:?}"
        );
        let of = |flow| (0..100).map(move |index| drawn.offset(flow, index, 1_024));
        assert!(of(0).zip(of(1)).filter(|(a, b)| a == b).count() < 20);
        let other = WorkingSet { seed: 2, ..drawn };
        let other = (0..100).map(|index| other.offset(0, index, 1_024));
        assert!(of(0).zip(other).filter(|(a, b)| a == b).count() < 20);
    }
}
