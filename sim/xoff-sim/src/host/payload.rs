//! The payload of a packet at its host: bytes, or the memory that they are a copy of.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::memory::{self, Extent};

/// What a packet carries. Copies of memory whose content is a function of the address need not be made: they are
/// told by their place.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
pub enum Payload {
    /// These bytes.
    Written(Bytes),
    /// The content of memory.
    Content(Extent),
}

impl Payload {
    /// Number of bytes.
    pub const fn len(&self) -> usize {
        match self {
            Self::Written(bytes) => bytes.len(),
            Self::Content(extent) => extent.len(),
        }
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes; shared if they are written.
    pub fn bytes(&self) -> Bytes {
        match self {
            Self::Written(bytes) => bytes.clone(),
            Self::Content(_) => self.view().to_vec().into(),
        }
    }

    /// Reads it into `bytes`, which are as many.
    pub fn read(&self, bytes: &mut [u8]) {
        match self {
            Self::Written(written) => bytes.copy_from_slice(written),
            Self::Content(extent) => extent.read(bytes),
        }
    }

    /// It as it is written to memory.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Written(bytes) => View::Written(bytes),
            Self::Content(extent) => View::Content(*extent),
        }
    }
}

/// Payload, or a part of it, as it is written to memory.
#[derive(Debug, Clone, Copy)]
pub enum View<'a> {
    /// These bytes.
    Written(&'a [u8]),
    /// The content of memory.
    Content(Extent),
}

impl View<'_> {
    /// Number of bytes.
    pub const fn len(self) -> usize {
        match self {
            Self::Written(bytes) => bytes.len(),
            Self::Content(extent) => extent.len(),
        }
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes.
    pub fn to_vec(self) -> Vec<u8> {
        match self {
            Self::Written(bytes) => bytes.to_vec(),
            Self::Content(extent) => {
                let mut bytes = vec![0; extent.len()];
                extent.read(&mut bytes);
                bytes
            }
        }
    }

    /// How many of the bytes, written at `va`, differ from the memory's content.
    pub fn differing(self, va: u64) -> u64 {
        match self {
            Self::Written(bytes) => memory::differing(va, bytes),
            Self::Content(extent) if extent.va == va => 0,
            Self::Content(_) => memory::differing(va, &self.to_vec()),
        }
    }
}

/// Equal are payloads of the same bytes, whether written or not.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.bytes() == other.bytes()
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::Written(Bytes::new())
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self::Written(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Named or written, as many bytes are wrong at an address.
        #[test]
        fn a_wrong_place_shows(va: u64, bytes in 1u16..300, off in -20i64..20) {
            let named = Payload::Content(Extent::new(va, bytes).unwrap());
            let written = Payload::Written(named.bytes());
            let at = va.wrapping_add_signed(off);
            prop_assert_eq!(named.len(), written.len());
            prop_assert_eq!(named.view().differing(at), written.view().differing(at));
            let same = Payload::Content(Extent::new(at, bytes).unwrap()).bytes() == named.bytes();
            prop_assert_eq!(named.view().differing(at) == 0, same);
        }
    }
}
