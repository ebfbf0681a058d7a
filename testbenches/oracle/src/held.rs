//! What a side's memory holds: where nothing was written, what the log's owner says.

use std::collections::BTreeMap;

/// Bytes of a page.
const PAGE: u64 = 256;

/// What was written, by page.
#[derive(Debug, Default)]
pub struct Held(BTreeMap<u64, Vec<Option<u8>>>);

impl Held {
    /// Notes a write.
    pub fn write(&mut self, va: u64, bytes: &[u8]) {
        for (at, byte) in (0..).zip(bytes) {
            let va = va.wrapping_add(at);
            let page = self.0.entry(va / PAGE);
            page.or_insert_with(|| vec![None; PAGE as usize])[(va % PAGE) as usize] = Some(*byte);
        }
    }

    /// The byte at an address, if it was written.
    pub fn at(&self, va: u64) -> Option<u8> {
        self.0.get(&(va / PAGE))?[(va % PAGE) as usize]
    }
}
