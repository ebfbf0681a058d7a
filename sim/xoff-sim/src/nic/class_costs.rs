//! What a byte of each class costs, from the weights by which classes share the port.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::wire::PRIORITIES;

/// What a class pays for a byte of a request or READ response on the wire, 10 bits each. Classes that wait share the
/// port in inverse proportion. A class of cost 0 goes before all others, the highest of several first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCosts(pub [u16; PRIORITIES]);

impl Default for ClassCosts {
    /// All classes alike.
    fn default() -> Self {
        Self([1; PRIORITIES])
    }
}

/// Weights to which no costs of ten bits come near enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "class {class} would have {got} in place of {weight}: beside weights from {least} to {most} the NIC does not keep it \
     within 1 %"
)]
pub struct WeightsError {
    /// The class whose share is the furthest off.
    pub class: u8,
    /// Its weight.
    pub weight: u32,
    /// What its weight would be, rounded.
    pub got: u32,
    /// The least weight but 0.
    pub least: u32,
    /// The largest weight.
    pub most: u32,
}

impl ClassCosts {
    /// The largest cost.
    pub const MOST: u16 = (1 << 10) - 1;
    /// How far a weight may be off, as a part of it.
    const PRECISION: f64 = 0.01;

    /// Costs for these weights; weight 0 is a strict class. The smallest costs that keep the weights best are taken.
    ///
    /// # Errors
    ///
    /// If no costs keep every weight within 1 %.
    pub fn of_weights(weights: [u32; PRIORITIES]) -> Result<Self, WeightsError> {
        let shared = || weights.iter().copied().filter(|weight| *weight > 0);
        let (Some(least), Some(most)) = (shared().min(), shared().max()) else {
            return Ok(Self([0; PRIORITIES]));
        };
        let costs = |dearest: u16| {
            weights.map(|weight| match weight {
                0 => 0,
                _ => cost(dearest, least, weight),
            })
        };
        // How far the weights of some costs are off, and the class that is the furthest.
        let off = |dearest: u16| {
            let costs = costs(dearest);
            let of_class = |class: usize| match (weights[class], costs[class]) {
                (0, _) => 0.0,
                (_, 0) => f64::INFINITY,
                (weight, cost) => {
                    let had = f64::from(dearest) * f64::from(least) / f64::from(cost);
                    (had / f64::from(weight) - 1.0).abs()
                }
            };
            let all = (0..PRIORITIES).map(|class| (of_class(class), class));
            all.fold(
                (0.0, 0),
                |worst, it| if it.0 > worst.0 { it } else { worst },
            )
        };
        // Mostly the first costs are exact, and no others are looked at.
        let (mut best, (mut furthest, mut class)) = (1, off(1));
        for dearest in 2..=Self::MOST {
            if furthest == 0.0 {
                break;
            }
            let there = off(dearest);
            if there.0 < furthest {
                (best, (furthest, class)) = (dearest, there);
            }
        }
        if furthest > Self::PRECISION {
            let cost = costs(best)[class].max(1);
            let got = f64::from(best) * f64::from(least) / f64::from(cost);
            return Err(WeightsError {
                class: class as u8,
                weight: weights[class],
                got: got.round() as u32,
                least,
                most,
            });
        }
        Ok(Self(costs(best)))
    }
}

/// The cost of a class where the class with the `least` weight pays `dearest`.
fn cost(dearest: u16, least: u32, weight: u32) -> u16 {
    let (dearest, least, weight) = (u64::from(dearest), u64::from(least), u64::from(weight));
    ((2 * dearest * least + weight) / (2 * weight)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_inversely_proportional_to_weights() {
        let costs = |weights| ClassCosts::of_weights(weights).map(|costs| costs.0);
        assert_eq!(costs([7; 8]), Ok([1; 8]));
        assert_eq!(
            costs([1600, 1600, 800, 0, 1600, 400, 0, 0]),
            Ok([1, 1, 2, 0, 1, 4, 0, 0])
        );
        assert_eq!(
            costs([1, 3, 7, 1, 1, 1, 1, 1]),
            Ok([21, 7, 3, 21, 21, 21, 21, 21])
        );
        assert_eq!(costs([0; 8]), Ok([0; 8]));
    }

    #[test]
    fn weights_that_cannot_be_kept_are_an_error() {
        let weights = [1, 1, 1, 1, 1, 1, 700, 999];
        let error = ClassCosts::of_weights(weights).unwrap_err();
        assert_eq!((error.class, error.got), (7, 823));
        assert_eq!((error.least, error.most), (1, 999));
        // One class of a large weight is no trouble: 999 to 1.
        let weights = [1, 1, 1, 1, 1, 1, 1, 999];
        assert_eq!(ClassCosts::of_weights(weights).unwrap().0[7], 1);
    }
}
