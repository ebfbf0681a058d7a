//! Memory that remembers: what was written lies over the content that is a function of the address.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::memory;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// What was written, in pages. A page begins with the content that its addresses have.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Overlay {
    pages: BTreeMap<u64, Vec<u8>>,
    /// Whether it remembers DMA writes, too, and not only atomics and what software writes.
    pub whole: bool,
}

impl Overlay {
    /// Whether anything was written to a page of these bytes.
    pub fn holds(&self, va: u64, bytes: usize) -> bool {
        let mut holds = false;
        pieces(va, bytes, |at, _| {
            holds |= self.pages.contains_key(&(at / PAGE))
        });
        holds
    }

    /// Reads the memory from `va` on. Addresses wrap around.
    pub fn read(&self, va: u64, bytes: &mut [u8]) {
        pieces(va, bytes.len(), |at, range| {
            let piece = &mut bytes[range];
            let from = (at % PAGE) as usize;
            match self.pages.get(&(at / PAGE)) {
                Some(page) => piece.copy_from_slice(&page[from..from + piece.len()]),
                None => memory::fill(at, piece),
            }
        });
    }

    /// Writes to the memory from `va` on. Addresses wrap around.
    pub fn write(&mut self, va: u64, bytes: &[u8]) {
        pieces(va, bytes.len(), |at, range| {
            let piece = &bytes[range];
            let from = (at % PAGE) as usize;
            let page = self.pages.entry(at / PAGE).or_insert_with(|| {
                let mut page = vec![0; PAGE as usize];
                memory::fill(at - at % PAGE, &mut page);
                page
            });
            page[from..from + piece.len()].copy_from_slice(piece);
        });
    }
}

/// Calls `each` for the parts of `bytes` bytes from `va` on that lie in one page.
fn pieces(va: u64, bytes: usize, mut each: impl FnMut(u64, std::ops::Range<usize>)) {
    let mut from = 0;
    while from < bytes {
        let at = va.wrapping_add(from as u64);
        let room = (PAGE - at % PAGE) as usize;
        let to = bytes.min(from + room);
        each(at, from..to);
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_was_not_is_as_ever() {
        let mut overlay = Overlay::default();
        let (va, written) = (3 * PAGE - 5, [0xA5; 12]);
        overlay.write(va, &written);
        let mut around = [0; 20];
        overlay.read(va - 4, &mut around);
        let mut expected = [0; 20];
        memory::fill(va - 4, &mut expected);
        expected[4..16].copy_from_slice(&written);
        assert_eq!(around, expected);
    }

    #[test]
    fn addresses_go_round() {
        let mut overlay = Overlay::default();
        overlay.write(u64::MAX - 1, &[1, 2, 3, 4]);
        let mut found = [0; 2];
        overlay.read(0, &mut found);
        assert_eq!(found, [3, 4]);
    }
}
