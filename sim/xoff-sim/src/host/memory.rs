//! Memory whose content is a function of the address, so that a receiver can check every byte without storing any.
//!
//! All hosts have the same content. A message that is sent from an address and written to the same address of another
//! host must therefore match what is already there.

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};

use crate::seeded::split_mix;

/// The content of so many bytes of memory, in place of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Address of the first byte.
    pub va: u64,
    bytes: NonZeroU16,
}

impl Extent {
    /// The content of `bytes` bytes from `va` on. Addresses wrap around. `None` for none.
    pub fn new(va: u64, bytes: u16) -> Option<Self> {
        let bytes = NonZeroU16::new(bytes)?;
        Some(Self { va, bytes })
    }

    /// Number of bytes, at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(self) -> usize {
        self.bytes.get() as usize
    }

    /// Reads it into `bytes`, which are as many.
    pub fn read(self, bytes: &mut [u8]) {
        debug_assert_eq!(bytes.len(), self.len());
        fill(self.va, bytes);
    }
}

/// The eight bytes at address 8 · `index`, the first one in the lowest bits. It is a hash, so that every wrong
/// address is noticed.
const fn word(index: u64) -> u64 {
    split_mix(index)
}

/// The byte at an address.
pub const fn content(va: u64) -> u8 {
    word(va >> 3).to_le_bytes()[(va & 7) as usize]
}

/// For `bytes` bytes from `va` on: how many come before the first whole word, and the index of that word. Whole words
/// are handled at once for speed, not byte by byte.
const fn first_word(va: u64, bytes: usize) -> (usize, u64) {
    let before = (va.wrapping_neg() & 7) as usize;
    let head = if before < bytes { before } else { bytes };
    (head, va.wrapping_add(head as u64) >> 3)
}

/// The index of the following word. Addresses wrap around, and so do word indices.
const fn next_word(index: u64) -> u64 {
    (index + 1) & (u64::MAX >> 3)
}

/// Reads the memory from `va` on into `bytes`.
pub fn fill(va: u64, bytes: &mut [u8]) {
    let (head, mut index) = first_word(va, bytes.len());
    let (head, rest) = bytes.split_at_mut(head);
    for (byte, at) in head.iter_mut().zip(0..) {
        *byte = content(va.wrapping_add(at));
    }
    let mut words = rest.chunks_exact_mut(8);
    for piece in &mut words {
        piece.copy_from_slice(&word(index).to_le_bytes());
        index = next_word(index);
    }
    let tail = words.into_remainder();
    tail.copy_from_slice(&word(index).to_le_bytes()[..tail.len()]);
}

/// The number in the eight bytes from `va` on, little-endian.
pub fn number(va: u64) -> u64 {
    let mut bytes = [0; 8];
    fill(va, &mut bytes);
    u64::from_le_bytes(bytes)
}

/// How many of `bytes`, written at `va`, differ from the memory's content.
pub fn differing(va: u64, bytes: &[u8]) -> u64 {
    let (head, mut index) = first_word(va, bytes.len());
    let (head, rest) = bytes.split_at(head);
    let other = |(byte, at): (&u8, u64)| u64::from(*byte != content(va.wrapping_add(at)));
    let mut wrong: u64 = head.iter().zip(0..).map(other).sum();
    let (words, tail) = rest.as_chunks::<8>();
    for piece in words {
        let expected = word(index);
        index = next_word(index);
        if u64::from_le_bytes(*piece) != expected {
            let pairs = piece.iter().zip(expected.to_le_bytes());
            wrong += pairs.filter(|(found, expected)| *found != expected).count() as u64;
        }
    }
    let pairs = tail.iter().zip(word(index).to_le_bytes());
    wrong + pairs.filter(|(found, expected)| *found != expected).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_the_whole(va: u64, length in 0usize..200, wrong in 0usize..200) {
            let mut bytes = vec![0; length];
            fill(va, &mut bytes);
            let one_by_one: Vec<u8> = (0..length as u64).map(|i| content(va.wrapping_add(i))).collect();
            prop_assert_eq!(&bytes, &one_by_one);
            prop_assert_eq!(differing(va, &bytes), 0);
            if wrong < length {
                bytes[wrong] ^= 1;
                prop_assert_eq!(differing(va, &bytes), 1);
            }
        }
    }

    #[test]
    fn addresses_go_round() {
        let va = u64::MAX - 20;
        let mut bytes = [0; 50];
        fill(va, &mut bytes);
        let one_by_one: Vec<u8> = (0..50).map(|i| content(va.wrapping_add(i))).collect();
        assert_eq!((&bytes[..], differing(va, &bytes)), (&one_by_one[..], 0));
    }

    #[test]
    fn a_shift_by_a_word_shows() {
        let mut bytes = vec![0; 1024];
        fill(0x1000, &mut bytes);
        assert!(differing(0x1008, &bytes) > 1000);
    }
}
