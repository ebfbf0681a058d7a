//! Random numbers from a seed, the same on every platform.
//!
//! [`Draws`] is for the random choices of a simulation; restored from a checkpoint, it continues where it was.
//! [`SplitMix`] is for the histories of property tests and for payloads.

mod split_mix;

pub use split_mix::{SplitMix, split_mix};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use twox_hash::XxHash3_64;

/// A seed. A whole run has one seed, from which every place that draws random numbers derives its own, so that the
/// places do not affect each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of a place, identified by `path`, such as `[node, port]`.
    #[must_use]
    pub fn derive(self, path: &[u64]) -> Self {
        let bytes: Vec<u8> = path.iter().flat_map(|step| step.to_le_bytes()).collect();
        Self(XxHash3_64::oneshot_with_seed(self.0, &bytes))
    }

    /// The stream of random numbers from this seed.
    pub fn draws(self) -> Draws {
        Draws(ChaCha8Rng::seed_from_u64(self.0))
    }
}

/// A stream of random numbers (ChaCha with 8 rounds). It is plain data: restored from a checkpoint, it continues
/// where it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// A number in 0 … `n` − 1, uniform up to one part in 2⁶⁴ / `n`. Zero when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `chance`. Draws nothing if the result is certain.
    pub fn happens(&mut self, chance: Chance) -> bool {
        match chance {
            Chance { num: 0, .. } => false,
            Chance { num, den } if num == den => true,
            Chance { num, den } => self.below(den.into()) < num.into(),
        }
    }
}

/// A probability as a ratio of integers, at most 1. Text form `1/256`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Chance {
    num: u32,
    den: u32,
}

impl Chance {
    /// 1.
    pub const ALWAYS: Self = Self { num: 1, den: 1 };
    /// 0.
    pub const NEVER: Self = Self { num: 0, den: 1 };

    /// The ratio `num / den`. `None` if it is above 1, or if `den` is 0.
    pub const fn new(num: u32, den: u32) -> Option<Self> {
        if den == 0 || num > den {
            return None;
        }
        Some(Self { num, den })
    }

    /// The numerator.
    pub const fn num(self) -> u32 {
        self.num
    }

    /// The denominator.
    pub const fn den(self) -> u32 {
        self.den
    }
}

/// The error for a text that is not a [`Chance`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("probability '{0}': expected a ratio of at most 1, such as 1/256")]
pub struct ChanceError(String);

impl std::str::FromStr for Chance {
    type Err = ChanceError;

    fn from_str(text: &str) -> Result<Self, ChanceError> {
        let (num, den) = text.split_once('/').unwrap_or((text, "1"));
        num.trim()
            .parse()
            .ok()
            .zip(den.trim().parse().ok())
            .and_then(|(num, den)| Self::new(num, den))
            .ok_or_else(|| ChanceError(text.into()))
    }
}

impl TryFrom<String> for Chance {
    type Error = ChanceError;

    fn try_from(text: String) -> Result<Self, ChanceError> {
        text.parse()
    }
}

impl From<Chance> for String {
    fn from(chance: Chance) -> String {
        chance.to_string()
    }
}

impl std::fmt::Display for Chance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_on_after_a_checkpoint_where_it_was() {
        let mut draws = Seed(7).derive(&[1, 2]).draws();
        for _ in 0..13 {
            draws.below(10);
        }
        let mut copy = crate::testing::checkpointed(&draws);
        for _ in 0..100 {
            assert_eq!(draws.below(1 << 40), copy.below(1 << 40));
        }
    }

    #[test]
    fn the_numbers_are_these() {
        // Expected values are recorded here because every digest would change if a new release of a crate drew other
        // numbers.
        let mut draws = Seed(1).draws();
        let drawn: Vec<u64> = (0..4).map(|_| draws.below(1000)).collect();
        assert_eq!(drawn, NUMBERS_OF_SEED_1);
        assert_eq!(Seed(1).derive(&[2, 3]), Seed(DERIVED));
    }
    const NUMBERS_OF_SEED_1: [u64; 4] = [402, 80, 596, 219];
    const DERIVED: u64 = 2806482627441532945;

    #[test]
    fn a_quarter_is_a_quarter() {
        let quarter: Chance = "1/4".parse().unwrap();
        let mut draws = Seed(3).draws();
        let hits = (0..10_000).filter(|_| draws.happens(quarter)).count();
        // The standard deviation is 43.
        assert!((2_330..=2_670).contains(&hits), "{hits}");
        assert!(!draws.happens(Chance::NEVER) && draws.happens(Chance::ALWAYS));
        assert!("5/4".parse::<Chance>().is_err() && "1/0".parse::<Chance>().is_err());
        assert_eq!("1".parse(), Ok(Chance::ALWAYS));
    }
}
