//! Payloads and garbage.

use proptest::num;
use proptest::prelude::*;
use proptest::strategy::{NewTree, ValueTree};
use proptest::test_runner::TestRunner;

use xoff_sim::seeded::SplitMix;

/// Longest frame that the units accept, in bytes (`rtl/parser/README.md`, Beats).
pub(super) const MAX_FRAME_BYTES: usize = 16_383;

/// `len` bytes that depend only on `seed`: 0 gives zeros, 1 gives ones, others give pseudo-random bytes
/// ([`SplitMix`]).
pub fn pattern(seed: u16, len: usize) -> Vec<u8> {
    match seed {
        0 => return vec![0; len],
        1 => return vec![0xFF; len],
        _ => {}
    }
    let mut draw = SplitMix::new(seed.into());
    let words = std::iter::repeat_with(|| draw.bits());
    words.flat_map(u64::to_be_bytes).take(len).collect()
}

/// A seed for [`pattern`]. Zeros and ones are more frequent than one time in 65,536.
pub(super) fn seed() -> impl Strategy<Value = u16> {
    prop_oneof![1 => 0..=1u16, 8 => any::<u16>()]
}

/// Draws like the inner strategy but shrinks like a plain number, so that a length drawn as "four beats and one" does
/// not have to stay near a beat.
#[derive(Debug)]
struct ShrinksAsNumber<S>(S);

impl<S: Strategy<Value = usize>> Strategy for ShrinksAsNumber<S> {
    type Tree = num::usize::BinarySearch;
    type Value = usize;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        Ok(num::usize::BinarySearch::new(
            self.0.new_tree(runner)?.current(),
        ))
    }
}

/// Payload lengths in bytes: mostly 0 to 8, around multiples of a 32-byte beat, and PMTU values; some up to 4,096, a
/// few around 9,000.
fn payload_length() -> impl Strategy<Value = usize> {
    ShrinksAsNumber(prop_oneof![
        8 => 0..=8usize,
        6 => (1..=8usize, 0..=6usize).prop_map(|(beats, around)| 32 * beats + around - 3),
        3 => (prop::sample::select(vec![256usize, 512, 1024, 2048, 4096]), prop_oneof![Just(0), 0..=4usize]).prop_map(|(pmtu, less)| pmtu - less),
        2 => 0..=4096usize,
        1 => 8_900..=9_100usize,
    ])
}

/// A payload for a packet that may carry one.
pub fn payload() -> impl Strategy<Value = Vec<u8>> {
    (payload_length(), seed()).prop_map(|(len, seed)| pattern(seed, len))
}

/// Garbage of 0 to 16,383 bytes, mostly short. Half of it begins like a frame that a parser would continue to read:
/// with an EtherType that it knows, and perhaps the first bytes of that header.
pub fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..=128),
        2 => (0..=2048usize, any::<u16>()).prop_map(|(len, seed)| pattern(seed, len)),
        1 => (0..=MAX_FRAME_BYTES, any::<u16>()).prop_map(|(len, seed)| pattern(seed, len)),
    ];
    // The bytes to write from byte 12 on.
    let lure = prop_oneof![
        5 => Just(&[][..]),
        1 => Just(&[0x08, 0x00][..]),
        1 => Just(&[0x08, 0x00, 0x45][..]),
        1 => Just(&[0x86, 0xDD, 0x60][..]),
        1 => Just(&[0x89, 0x15, 0x60][..]),
        1 => Just(&[0x88, 0x08, 0x01, 0x01][..]),
        1 => Just(&[0x81, 0x00][..]),
        1 => Just(&[0x88, 0xA8, 0x00, 0x00, 0x81, 0x00][..]),
    ];
    (bytes, lure).prop_map(|(mut bytes, lure)| {
        for (byte, &lure) in bytes.iter_mut().skip(12).zip(lure) {
            *byte = lure;
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_prefix_of_the_longer_one() {
        assert_eq!(pattern(0, 3), [0; 3]);
        assert_eq!(pattern(1, 3), [0xFF; 3]);
        assert_eq!(pattern(7, 100)[..33], pattern(7, 33));
        assert_ne!(pattern(7, 32), pattern(8, 32));
    }
}
