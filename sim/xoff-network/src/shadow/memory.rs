//! Memory of the answering end: regions that the taken requests show, and content that its answers show.

use std::collections::BTreeMap;

use xoff_sim::nic::{ReadRights, Region};

use super::history::Planned;
use super::packet::Request;

/// A region as software knows it, where the capture does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownRegion {
    /// Its key.
    pub key: u32,
    /// First address.
    pub base: u64,
    /// Length in bytes.
    pub length: u64,
    /// Whether the peer's WRITEs may go to it.
    #[serde(default)]
    pub write: bool,
    /// Whether the peer's READs may be answered from it.
    #[serde(default)]
    pub read: bool,
    /// Whether the peer's atomics may be performed in it.
    #[serde(default)]
    pub atomic: bool,
}

/// Low byte of all keys.
const TAG: u8 = 0x5A;
/// Where receive buffers are, beside all memory of user space.
const RECEIVE_BASE: u64 = 1 << 60;
/// Bytes of that memory: one message.
const RECEIVE_BYTES: u64 = 1 << 32;

/// The memory for receive buffers.
pub(super) const RECEIVE: Region = Region {
    base: RECEIVE_BASE,
    length: RECEIVE_BYTES,
    tag: TAG,
    pd: 0,
    local_write: true,
    remote_write: false,
};

/// Memory with a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keyed {
    pub region: Region,
    pub rights: ReadRights,
}

impl Keyed {
    /// Memory that permits nothing yet.
    fn nothing(base: u64) -> Self {
        Self {
            region: Region {
                base,
                length: 0,
                tag: TAG,
                pd: 0,
                local_write: false,
                remote_write: false,
            },
            rights: ReadRights::default(),
        }
    }

    /// Has it permit a request.
    fn permit(&mut self, request: &Request) {
        match request {
            it if it.is_read() => self.rights.read = true,
            it if it.is_atomic() => self.rights.atomic = true,
            _ => self.region.remote_write = true,
        }
        let (Some(va), bytes) = (request.va, request.memory_bytes()) else {
            return;
        };
        let Region { base, length, .. } = self.region;
        if length == 0 {
            (self.region.base, self.region.length) = (va, bytes);
        } else if bytes > 0 {
            let end = (base + length).max(va.saturating_add(bytes));
            self.region.base = base.min(va);
            self.region.length = end - self.region.base;
        }
    }

    /// Whether it permits a request.
    pub fn permits(&self, request: &Request) -> bool {
        let right = match request {
            it if it.is_read() => self.rights.read,
            it if it.is_atomic() => self.rights.atomic,
            _ => self.region.remote_write,
        };
        let holds = |va| self.region.holds(va, request.memory_bytes());
        right && request.va.is_some_and(holds)
    }
}

/// The memory of each key that some taken request names: the least that permits them all. Known regions are as they
/// are.
pub(super) fn regions<'a>(
    taken: impl Iterator<Item = &'a Planned>,
    known: &[KnownRegion],
) -> BTreeMap<u32, Keyed> {
    let mut regions: BTreeMap<u32, Keyed> = BTreeMap::new();
    for Planned { request, .. } in taken.filter(|it| it.taken) {
        if let Some(key) = request.rkey.filter(|_| request.memory_bytes() > 0) {
            let region = regions.entry(key);
            region
                .or_insert_with(|| Keyed::nothing(request.va.unwrap_or_default()))
                .permit(request);
        }
        if let Some(key) = request.invalidates {
            regions.entry(key).or_insert_with(|| Keyed::nothing(0));
        }
    }
    for region in known {
        let mut keyed = Keyed::nothing(region.base);
        keyed.region.length = region.length;
        keyed.region.remote_write = region.write;
        keyed.rights = ReadRights {
            read: region.read,
            atomic: region.atomic,
        };
        regions.insert(region.key, keyed);
    }
    regions
}
