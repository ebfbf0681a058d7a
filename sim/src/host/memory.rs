//! Memory whose content is a function of the address: a receiver can check every byte and nobody stores any.
//!
//! All hosts have the same content, so a message that is sent from an address and put at the same address of another host has to bring what is there already.

/// The eight bytes at 8 · `index`: a hash (SplitMix64's finalizer), so that every wrong address shows.
const fn word(index: u64) -> [u8; 8] {
    let mut x = index.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ (x >> 31)).to_le_bytes()
}

/// What lies at an address.
pub const fn content(va: u64) -> u8 {
    word(va >> 3)[(va & 7) as usize]
}

/// Reads from `va` on.
pub fn fill(va: u64, bytes: &mut [u8]) {
    each_word(va, bytes, |piece, expected| piece.copy_from_slice(expected));
}

/// How many of `bytes`, written at `va`, are not what belongs there.
pub fn differing(va: u64, bytes: &[u8]) -> u64 {
    let mut wrong = 0;
    let mut at = 0;
    while at < bytes.len() {
        let from = (va.wrapping_add(at as u64) & 7) as usize;
        let length = (8 - from).min(bytes.len() - at);
        let expected = word(va.wrapping_add(at as u64) >> 3);
        if bytes[at..at + length] != expected[from..from + length] {
            let pairs = bytes[at..at + length].iter().zip(&expected[from..]);
            wrong += pairs.filter(|(found, expected)| found != expected).count() as u64;
        }
        at += length;
    }
    wrong
}

fn each_word(va: u64, bytes: &mut [u8], mut each: impl FnMut(&mut [u8], &[u8])) {
    let mut at = 0;
    while at < bytes.len() {
        let from = (va.wrapping_add(at as u64) & 7) as usize;
        let length = (8 - from).min(bytes.len() - at);
        let expected = word(va.wrapping_add(at as u64) >> 3);
        each(&mut bytes[at..at + length], &expected[from..from + length]);
        at += length;
    }
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
    fn a_shift_by_a_word_shows() {
        let mut bytes = vec![0; 1024];
        fill(0x1000, &mut bytes);
        assert!(differing(0x1008, &bytes) > 1000);
    }
}
