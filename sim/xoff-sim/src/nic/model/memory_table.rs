//! Registered memory: which keys permit access to which addresses, and which QPs may use them.

use serde::{Deserialize, Serialize};

use crate::nic::Region;
use crate::nic::region::ReadRights;
use crate::protocol::gbn::responder::answered::Asked;

/// Regions by index, and the protection domains of QPs. A QP and its peer may use the regions of its domain alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MemoryTable {
    regions: Vec<Option<(Region, ReadRights)>>,
    /// By QP; 0 for those behind the last one.
    domains: Vec<u16>,
}

impl MemoryTable {
    /// Registers a region at an index of the table and returns its key.
    pub(super) fn register(&mut self, index: u16, region: Region) -> u32 {
        let place = usize::from(index);
        if self.regions.len() <= place {
            self.regions.resize(place + 1, None);
        }
        self.regions[place] = Some((region, ReadRights::default()));
        region.key(index)
    }

    /// Sets the protection domain of a QP.
    pub(super) fn open(&mut self, qp: u16, pd: u16) {
        let place = usize::from(qp);
        if pd != 0 && self.domains.len() <= place {
            self.domains.resize(place + 1, 0);
        }
        if let Some(domain) = self.domains.get_mut(place) {
            *domain = pd;
        }
    }

    /// Whether a key permits a write of `bytes` from `va` on: by the QP's peer (`remote`), or into a receive buffer.
    pub(super) fn allows(&self, qp: u16, key: u32, va: u64, bytes: u64, remote: bool) -> bool {
        self.holds(qp, key, va, bytes, |region, _| match remote {
            true => region.remote_write,
            false => region.local_write,
        })
    }

    /// Whether a key names a region that holds the payload of a request: its owner may read any region of the domain.
    pub(super) fn reads(&self, qp: u16, key: u32, va: u64, bytes: u64) -> bool {
        self.holds(qp, key, va, bytes, |_, _| true)
    }

    /// Sets whether the peer's READs and atomics may go to the region at an index.
    pub(super) fn permit(&mut self, index: u16, rights: ReadRights) {
        if let Some(Some((_, own))) = self.regions.get_mut(usize::from(index)) {
            *own = rights;
        }
    }

    /// Whether a key permits what the QP's peer asks for at an address: a READ, or an atomic.
    pub(super) fn answers(&self, qp: u16, key: u32, va: u64, asked: Asked) -> bool {
        self.holds(qp, key, va, asked.bytes().into(), |_, rights| match asked {
            Asked::Read { .. } => rights.read,
            Asked::Atomic(_) => rights.atomic,
        })
    }

    fn domain(&self, qp: u16) -> u16 {
        self.domains.get(usize::from(qp)).copied().unwrap_or(0)
    }

    /// Whether a key names a region of the QP's domain that has a right and holds `bytes` from `va` on.
    fn holds(
        &self,
        qp: u16,
        key: u32,
        va: u64,
        bytes: u64,
        right: impl Fn(&Region, ReadRights) -> bool,
    ) -> bool {
        let entry = self
            .regions
            .get((key >> 8) as usize)
            .and_then(Option::as_ref);
        entry.is_some_and(|(region, rights)| {
            right(region, *rights)
                && region.tag == key as u8
                && region.pd == self.domain(qp)
                && region.holds(va, bytes)
        })
    }

    /// Removes the region that a key names, as its owner does. Returns whether there was one.
    pub(super) fn remove(&mut self, key: u32) -> bool {
        let region = self.regions.get_mut((key >> 8) as usize);
        region.is_some_and(|region| {
            let named = |(region, _): &mut (Region, _)| region.tag == key as u8;
            region.take_if(named).is_some()
        })
    }

    /// Removes the region that the key of a QP's peer names. Returns whether there was one that the peer may access.
    pub(super) fn invalidate(&mut self, qp: u16, key: u32) -> bool {
        let pd = self.domain(qp);
        let region = self.regions.get_mut((key >> 8) as usize);
        region.is_some_and(|region| {
            let named = |(region, _): &mut (Region, _)| {
                region.tag == key as u8 && region.remote_write && region.pd == pd
            };
            region.take_if(named).is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::gbn::responder::answered::AtomicKind;

    const REGION: Region = Region {
        base: 0x1000,
        length: 0x100,
        tag: 7,
        pd: 0,
        local_write: true,
        remote_write: true,
    };

    #[test]
    fn reads_and_atomics_have_rights_of_their_own() {
        let mut table = MemoryTable::default();
        let key = table.register(0, REGION);
        let read = Asked::Read { bytes: 0x100 };
        let add = Asked::Atomic(AtomicKind::FetchAdd { add: 1 });
        assert!(!table.answers(0, key, 0x1000, read), "no right");
        table.permit(
            0,
            ReadRights {
                read: true,
                atomic: false,
            },
        );
        assert!(table.answers(0, key, 0x1000, read));
        assert!(!table.answers(0, key, 0x1008, read), "past the end");
        assert!(!table.answers(0, key, 0x1000, add), "no right");
        table.permit(
            0,
            ReadRights {
                read: false,
                atomic: true,
            },
        );
        assert!(table.answers(0, key, 0x10F8, add));
        assert!(!table.answers(0, key, 0x10FC, add), "past the end");
        assert!(!table.answers(0, key, 0x1000, read), "no right");
    }

    #[test]
    fn index_tag_right_and_range_have_to_agree() {
        let mut table = MemoryTable::default();
        let region = Region {
            local_write: false,
            ..REGION
        };
        let key = table.register(2, region);
        assert_eq!(key, 0x207);
        assert!(table.allows(0, key, 0x1000, 0x100, true));
        assert!(!table.allows(0, key, 0x1000, 0x101, true));
        assert!(
            !table.allows(0, key, 0x1000, 0x100, false),
            "no local right"
        );
        assert!(table.reads(0, key, 0x1000, 0x100), "needs no right");
        assert!(!table.reads(0, key, 0x1001, 0x100), "past the end");
        assert!(!table.allows(0, key ^ 1, 0x1000, 1, true), "tag");
        assert!(!table.allows(0, key + 256, 0x1000, 1, true), "index");
        assert!(!table.allows(0, u32::MAX, 0x1000, 1, true), "no such index");
        assert!(!table.invalidate(0, key ^ 1), "tag");
        assert!(!table.invalidate(0, u32::MAX), "no such index");
        assert!(table.allows(0, key, 0x1000, 0x100, true));
        assert!(table.invalidate(0, key));
        assert!(!table.allows(0, key, 0x1000, 0x100, true), "invalidated");
        assert!(!table.invalidate(0, key), "invalidated");
        assert!(!table.reads(0, key, 0x1000, 1), "invalidated");
        let own = Region {
            remote_write: false,
            local_write: true,
            ..region
        };
        let key = table.register(2, own);
        assert!(!table.invalidate(0, key), "no remote right");
        assert!(table.allows(0, key, 0x1000, 0x100, false));
    }

    #[test]
    fn a_region_is_for_qps_of_its_domain() {
        let mut table = MemoryTable::default();
        let region = Region { pd: 3, ..REGION };
        let key = table.register(0, region);
        table.permit(
            0,
            ReadRights {
                read: true,
                atomic: true,
            },
        );
        table.open(5, 3);
        table.open(4, 2);
        let read = Asked::Read { bytes: 1 };
        for (qp, may) in [(5, true), (4, false), (0, false), (9, false)] {
            assert_eq!(table.allows(qp, key, 0x1000, 1, true), may, "QP {qp}");
            assert_eq!(table.allows(qp, key, 0x1000, 1, false), may, "QP {qp}");
            assert_eq!(table.reads(qp, key, 0x1000, 1), may, "QP {qp}");
            assert_eq!(table.answers(qp, key, 0x1000, read), may, "QP {qp}");
        }
        assert!(!table.invalidate(4, key));
        assert!(table.invalidate(5, key));
    }
}
