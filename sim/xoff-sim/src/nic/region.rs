//! Memory that packets may be written to.

use serde::{Deserialize, Serialize};

/// A registered region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// First address.
    pub base: u64,
    /// Length in bytes, 48 bits.
    pub length: u64,
    /// Low byte of its keys.
    pub tag: u8,
    /// Its protection domain: only QPs of it, and their peers, may use the region.
    pub pd: u16,
    /// Whether receive buffers may lie in it.
    pub local_write: bool,
    /// Whether the peer's WRITEs may go to it.
    pub remote_write: bool,
}

/// What else the peer may do with a region, at NICs that answer READs and atomics. None of it unless said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRights {
    /// Whether the peer's READs may be answered from it.
    pub read: bool,
    /// Whether the peer's atomics may be performed in it.
    pub atomic: bool,
}

impl Region {
    /// The key of the region when registered at an index of the table.
    pub const fn key(&self, index: u16) -> u32 {
        (index as u32) << 8 | self.tag as u32
    }

    /// Whether the `bytes` from `va` on are inside the region. Zero bytes always are.
    pub const fn holds(&self, va: u64, bytes: u64) -> bool {
        let Some(offset) = va.checked_sub(self.base) else {
            return bytes == 0;
        };
        bytes == 0 || offset < self.length && self.length - offset >= bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside() {
        let region = Region {
            base: 100,
            length: 10,
            tag: 0x5A,
            pd: 0,
            local_write: true,
            remote_write: true,
        };
        assert_eq!(region.key(3), 0x35A);
        assert!(region.holds(100, 10) && region.holds(109, 1) && region.holds(0, 0));
        assert!(!region.holds(99, 2) && !region.holds(105, 6) && !region.holds(110, 1));
        assert!(!region.holds(105, u64::MAX));
    }
}
