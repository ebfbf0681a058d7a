//! Beats: the words of a stream's data port, with the first byte of the wire in the most significant bits.

/// The value that a driver puts into the unused bytes of a beat, which a unit must ignore.
pub const LEFT_OVER: u8 = 0xA5;

/// Puts up to `4 * words.len()` bytes on a data port. Unused bytes are set to [`LEFT_OVER`].
///
/// # Panics
///
/// If there are more bytes than the port has.
pub fn put(words: &mut [u32], bytes: &[u8]) {
    assert!(bytes.len() <= 4 * words.len());
    let mut chunks = bytes.chunks_exact(4);
    let mut free = words.iter_mut().rev();
    for chunk in &mut chunks {
        let word = free.next().expect("as many words as chunks");
        *word = u32::from_be_bytes(chunk.try_into().expect("4 bytes"));
    }
    if !chunks.remainder().is_empty() {
        let mut last = [LEFT_OVER; 4];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        *free.next().expect("a word for the rest") = u32::from_be_bytes(last);
    }
    free.for_each(|word| *word = u32::from_be_bytes([LEFT_OVER; 4]));
}

/// Appends the first `bytes` bytes of a data port to `into`.
///
/// # Panics
///
/// If the port has fewer bytes.
pub fn take(words: &[u32], bytes: usize, into: &mut Vec<u8>) {
    assert!(bytes <= 4 * words.len());
    let end = into.len() + bytes;
    for word in words.iter().rev().take(bytes.div_ceil(4)) {
        into.extend_from_slice(&word.to_be_bytes());
    }
    into.truncate(end);
}

/// Whether all bytes of a data port after the first `bytes` are zero.
pub fn zero_behind(words: &[u32], bytes: usize) -> bool {
    words.iter().rev().enumerate().all(|(i, word)| {
        let used = bytes.saturating_sub(4 * i).min(4);
        used == 4 || word << (8 * used) == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_byte_on_top() {
        let mut words = [0; 2];
        put(&mut words, &[1, 2, 3, 4, 5]);
        assert_eq!(words, [0x05A5_A5A5, 0x0102_0304]);
        let mut bytes = vec![9];
        take(&words, 5, &mut bytes);
        assert_eq!(bytes, [9, 1, 2, 3, 4, 5]);
        assert!(!zero_behind(&words, 5));
        assert!(zero_behind(&[0x0500_0000, 0x0102_0304], 5));
        assert!(!zero_behind(&[0x0500_0000, 0x0102_0304], 4));
        assert!(zero_behind(&words, 8));
    }
}
