//! Registered memory of a side, with what was registered before.

use crate::fact::{Ps, Region};

#[derive(Debug)]
struct Entry {
    region: Region,
    since: Ps,
    removing: bool,
    removed: bool,
}

/// What an access needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A receive buffer, or the source of a message: nothing but memory with its key.
    Local {
        /// Whether it is written.
        write: bool,
    },
    /// A WRITE of the peer.
    Remote,
    /// A READ of the peer.
    RemoteRead,
    /// An atomic of the peer.
    RemoteAtomic,
    /// A key to invalidate.
    Invalidate,
}

/// Regions of a side.
#[derive(Debug, Default)]
pub struct Regions {
    entries: Vec<Entry>,
    /// Memory that cannot be read: first address, bytes.
    unreadable: Vec<(u64, u64)>,
    /// Whether any region's removal has ever begun.
    pub any_removed: bool,
}

impl Regions {
    /// Adds one.
    pub fn register(&mut self, region: Region, since: Ps) {
        self.entries.push(Entry {
            region,
            since,
            removing: false,
            removed: false,
        });
    }

    /// Begins to remove what has this key.
    pub fn remove_begins(&mut self, key: u32) {
        for entry in self.with_key(key) {
            entry.removing = true;
        }
        self.any_removed = true;
    }

    /// Ends the removal of what has this key.
    pub fn remove_ends(&mut self, key: u32) {
        for entry in self.with_key(key) {
            (entry.removing, entry.removed) = (true, true);
        }
        self.any_removed = true;
    }

    /// Notes that memory cannot be read any more.
    pub fn forbid_reads(&mut self, va: u64, bytes: u64) {
        self.unreadable.push((va, bytes));
    }

    /// Whether a read may have failed.
    fn may_fail(&self, va: u64, length: u64) -> bool {
        self.unreadable.iter().any(|(base, bytes)| {
            let meets = va.wrapping_sub(*base) < *bytes || base.wrapping_sub(va) < length;
            *bytes > 0 && length > 0 && meets
        })
    }

    fn with_key(&mut self, key: u32) -> impl Iterator<Item = &mut Entry> {
        (self.entries.iter_mut()).filter(move |entry| entry.region.key == key && !entry.removed)
    }

    /// What QPs of a protection domain may do.
    pub fn of_domain(&self, domain: u32) -> Permitted<'_> {
        Permitted {
            regions: self,
            domain,
        }
    }
}

/// What QPs of a protection domain may do with the regions of their side.
#[derive(Debug, Clone, Copy)]
pub struct Permitted<'a> {
    regions: &'a Regions,
    domain: u32,
}

impl<'a> Permitted<'a> {
    fn covered(
        self,
        access: Access,
        key: u32,
        va: u64,
        length: u64,
    ) -> impl Iterator<Item = &'a Entry> {
        let Self { regions, domain } = self;
        regions.entries.iter().filter(move |entry| {
            entry.region.domain == domain && covers(&entry.region, access, key, va, length)
        })
    }

    /// Whether an access may be permitted now.
    pub fn permits(self, access: Access, key: u32, va: u64, length: u64) -> bool {
        (self.covered(access, key, va, length)).any(|entry| !entry.removed)
    }

    /// Whether an access was permitted at any time.
    pub fn permitted(self, access: Access, key: u32, va: u64, length: u64) -> bool {
        self.covered(access, key, va, length).next().is_some()
    }

    /// Whether an access could have been refused at any time since `since`.
    pub fn may_refuse(self, access: Access, key: u32, va: u64, length: u64, since: Ps) -> bool {
        !(self.covered(access, key, va, length))
            .any(|entry| !entry.removing && entry.since <= since)
    }

    /// Whether a read may have failed.
    pub fn may_fail(self, va: u64, length: u64) -> bool {
        self.regions.may_fail(va, length)
    }
}

fn covers(region: &Region, access: Access, key: u32, va: u64, length: u64) -> bool {
    let right = match access {
        Access::Local { write } => !write || region.local_write,
        Access::Remote => region.remote_write,
        Access::RemoteRead => region.remote_read,
        Access::RemoteAtomic => region.remote_atomic,
        Access::Invalidate => return region.key == key,
    };
    let offset = va.wrapping_sub(region.base);
    right && region.key == key && offset <= region.length && region.length - offset >= length
}
