//! The settings of the NICs and QPs of a case.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use xoff_cosim::units::{PERIOD_256_PS, UnitError};
use xoff_sim::nic::translation::TranslationConfig;
use xoff_sim::nic::{
    BufferParts, DcqcnSettings, NicSettings, PfcSettings, QpSettings, Region, WatchdogSettings,
};
use xoff_sim::protocol::dcqcn::{Rate, RpParameters};
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::Cycles;
use xoff_sim::wire::{MacAddr, PRIORITIES, Psn};

use super::events::Head;
use super::ledger::Source;
use super::pair::{PERIOD, Pair, PairConfig, QPN_BASE, READ_AND_ATOMIC, REGION, REGIONS};

/// QPs of a NIC.
const QPS: u16 = xoff_rtl::nic::QPS as u16;
/// The plain classes of QPs, in turn: two that are lossless with PFC, and one that is lossy. Events name them.
const CLASSES: [u8; 3] = [3, 4, 1];
/// Place of the lossy class among them.
const LOSSY: usize = 2;
/// Number of regions that SENDs may invalidate, of each side.
pub const SPARE_REGIONS: u16 = 4;
/// Index of the first of them, where they have the plain ones.
const SPARE: u16 = 200;
/// Regions of a NIC.
const REGION_COUNT: u16 = 256;
/// Bits of an address in a QP's part of the memory.
const QP_BITS: u32 = 24;
/// Bits of an address in the memory of all QPs.
const MEMORY_BITS: u32 = 30;
/// Where memory that READs write to and read from begins, by what its addresses differ in from those of the QPs.
const LANDING: u64 = 1 << 40;
const SOURCE: u64 = 1 << 41;
/// Likewise memory that messages are sent from.
const SENT: u64 = 1 << 42;

/// Regions that all QPs of a protection domain share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// To which the data of READs goes.
    Landing,
    /// That peers may read.
    Source,
    /// From which messages are sent.
    Sent,
    /// Of receive buffers, and to which peers write: where there are several domains.
    Memory,
}

impl Shared {
    const COUNT: u16 = 4;
}

/// The settings of a case.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a>(pub &'a Head);

impl Setup<'_> {
    /// Indices of the QPs in the NICs.
    pub fn indices(self) -> Vec<u16> {
        (0..self.0.qps).map(|qp| self.index(qp)).collect()
    }

    /// Index in the NICs of a QP of the case.
    pub fn index(self, qp: u16) -> u16 {
        let scatter = u16::from(self.0.scatter);
        // An odd step meets every index once.
        (scatter + qp * (2 * scatter + 1)) % QPS
    }

    /// Index in the NICs of a QP that an event names; `None` if the case has no such QP.
    pub fn existing(self, qp: u16) -> Option<u16> {
        (qp < self.0.qps).then(|| self.index(qp))
    }

    /// Number of classes that QPs have.
    fn class_count(self) -> usize {
        usize::from(self.0.classes).clamp(1, CLASSES.len())
    }

    /// The classes that stand for [`CLASSES`].
    fn classes(self) -> [u8; 3] {
        let Some(mut draw) = self.draw(12) else {
            return CLASSES;
        };
        let first = draw.within(0, 7);
        // An odd step meets every class once.
        let step = draw.one_of(&[1, 3, 5, 7]);
        [0, 1, 2].map(|place| ((first + place * step) % PRIORITIES as u64) as u8)
    }

    /// The class that stands for one of the three plain classes; any other is itself.
    pub fn class_named(self, class: u8) -> u8 {
        let place = CLASSES.iter().position(|of| *of == class);
        place.map_or(class, |place| self.classes()[place])
    }

    /// The place among the classes of a QP, by its index in the NICs.
    fn place(self, index: u16) -> usize {
        let qp = (0..self.0.qps).find(|qp| self.index(*qp) == index);
        usize::from(qp.unwrap_or(0)) % self.class_count()
    }

    /// Random values for one purpose; `None` for the plain ones.
    fn draw(self, purpose: u64) -> Option<SplitMix> {
        (self.0.values != 0).then(|| SplitMix::new(self.0.values ^ purpose << 32))
    }

    /// DSCP of each of the classes, and class of each DSCP.
    fn dscps(self) -> ([u8; 3], Vec<u8>) {
        let Some(mut draw) = self.draw(1) else {
            return ([26, 34, 10], (0..64).map(|dscp| dscp >> 3).collect());
        };
        let mut classes: Vec<u8> = (0..64).map(|_| draw.within(0, 7) as u8).collect();
        let first = draw.within(0, 63) as u8;
        let dscps = [0, 21, 42].map(|step| (first + step) % 64);
        for (dscp, class) in dscps.into_iter().zip(self.classes()) {
            classes[usize::from(dscp)] = class;
        }
        (dscps, classes)
    }

    /// What is added to a PCP to get its class.
    fn pcp_shift(self) -> u8 {
        self.draw(2).map_or(0, |mut draw| draw.within(0, 7) as u8)
    }

    /// The PCP of a class.
    fn pcp(self, class: u8) -> u8 {
        (class + PRIORITIES as u8 - self.pcp_shift()) % PRIORITIES as u8
    }

    fn mac(self, side: usize) -> MacAddr {
        let mut mac = [2, 0, 0, 0, 0, 1];
        if let Some(mut draw) = self.draw(3) {
            mac.copy_from_slice(&draw.bits().to_be_bytes()[..6]);
            // No group address; and the two differ.
            mac[0] &= 0xFE;
        }
        mac[5] = mac[5] & 0xF8 | (1 + side as u8);
        MacAddr(mac)
    }

    fn qpn_base(self, side: usize) -> u32 {
        self.draw(4 + side as u64)
            .map_or(QPN_BASE, |mut draw| draw.within(2, 0xFF_0000) as u32)
    }

    /// The number of a QP of a side, by its index in the NICs.
    pub fn qpn(self, side: usize, index: u16) -> u32 {
        self.qpn_base(side) + u32::from(index)
    }

    /// Index and number of each QP of a side.
    pub fn qpns(self, side: usize) -> impl Iterator<Item = (u16, u32)> {
        (self.indices().into_iter()).map(move |index| (index, self.qpn(side, index)))
    }

    /// Page tables and cache, if the case has them: misses of random length.
    fn translation(self) -> Option<TranslationConfig> {
        let sets = 1 << self.0.translation.checked_sub(1)?;
        Some(TranslationConfig {
            entries: TranslationConfig::RTL_WAYS * sets,
            sets,
            jitter: PERIOD * 200,
            stall: self.0.stall(),
            ..TranslationConfig::default()
        })
    }

    /// The settings of a NIC.
    pub fn nic(self, side: usize) -> NicSettings {
        let head = self.0;
        let mut pfc = PfcSettings::default();
        if head.pfc {
            let lossless = self.class_count().min(LOSSY);
            for class in self.classes().into_iter().take(lossless) {
                pfc.classes |= 1 << class;
                pfc.xoff[usize::from(class)] = 6_000;
                pfc.xon[usize::from(class)] = 3_000;
            }
            pfc.quanta = 2_000;
            pfc.refresh = 2_500;
        }
        let mut cnp = self.draw(6);
        let mut cnp = |most: u64, plain| {
            cnp.as_mut()
                .map_or(plain, |draw| draw.within(0, most) as u8)
        };
        let shift = self.pcp_shift();
        NicSettings {
            qpn_base: self.qpn_base(side),
            class_by_pcp: head.by_pcp,
            pcp_classes: std::array::from_fn(|pcp| (pcp as u8 + shift) % PRIORITIES as u8),
            dscp_classes: self.dscps().1,
            pause_obeyed: head.pause,
            pfc,
            buffer: BufferParts::new(pfc.classes, xoff_rtl::nic::BUFFER_BYTES.into()),
            watchdog: match head.watchdog {
                // Stalls of hosts last up to 16,384 cycles.
                true => WatchdogSettings {
                    bark: 1_000,
                    bite: 3_000,
                    auto_rearm: true,
                },
                false => WatchdogSettings::default(),
            },
            dcqcn: head.dcqcn.then(|| DcqcnSettings {
                rp: RpParameters {
                    // At a lower rate a packet would take longer than this bench waits.
                    rate_min: Rate(1_000_000),
                    ..RpParameters::paper(Rate(40_000_000), PERIOD_256_PS)
                },
                cnp_interval: 1_000,
                cnp_dscp: cnp(63, 48),
                cnp_pcp: cnp(7, 6),
                burst: 144,
            }),
            read_ahead: self
                .draw(11)
                .map_or(0, |mut draw| draw.within(0, 40) as u16),
            ..NicSettings::new(self.mac(side))
        }
    }

    fn ip(self, side: usize, index: u16) -> IpAddr {
        let plain = Ipv4Addr::new(10, 0, 0, 1 + side as u8);
        let draw = self.draw(0x100 + 2 * u64::from(index) + side as u64);
        match (draw, self.0.ipv6) {
            (None, false) => plain.into(),
            (None, true) => plain.to_ipv6_mapped().into(),
            (Some(mut draw), false) => Ipv4Addr::from_bits(draw.bits() as u32).into(),
            (Some(mut draw), true) => {
                Ipv6Addr::from_bits(u128::from(draw.bits()) << 64 | u128::from(draw.bits())).into()
            }
        }
    }

    /// Changes a QP's settings of [`pair::qp`](super::pair::qp) to those of the case.
    pub fn qp(self, side: usize, index: u16, qp: &mut QpSettings) {
        let head = self.0;
        qp.requester = head.requester;
        qp.responder.mtu = head.requester.mtu;
        qp.responder.rnr_timer = head.rnr_timer;
        qp.responder.restart = head.requester.restart;
        let (own, peer) = (side, 1 - side);
        (qp.own.mac, qp.peer.mac) = (self.mac(own), self.mac(peer));
        (qp.own.ip, qp.peer.ip) = (self.ip(own, index), self.ip(peer, index));
        qp.peer_qpn = self.qpn(peer, index);
        qp.pd = self.pd(self.domain(index));
        let place = self.place(index);
        let class = self.classes()[place];
        qp.dscp = self.dscps().0[place];
        let mut vids = [5, 6];
        // The same for both sides.
        if let Some(mut draw) = self.draw(0x200 + u64::from(index)) {
            qp.hop_limit = draw.within(1, 255) as u8;
            qp.udp_port = 0xC000 | draw.bits() as u16;
            // Full members, so that each may talk to the other. 0 is no key.
            qp.pkey = 0x8000 | (draw.bits() as u16 & 0x7FFF).max(1);
            vids = [0; 2].map(|_| draw.bits() as u16 & 0x1FFF);
            let psns = [0; 2].map(|_| Psn::wrapping(draw.bits() as u32));
            (qp.requester_psn, qp.responder_psn) = (psns[own], psns[peer]);
            if draw.bits().is_multiple_of(4) {
                let place = (place + 1) % self.class_count();
                qp.answer_dscp = Some(self.dscps().0[place]);
                qp.answer_pcp = Some(self.pcp(self.classes()[place]));
            }
        }
        let pcp = u16::from(self.pcp(class));
        qp.tags = vids[..head.tags.into()]
            .iter()
            .map(|vid| pcp << 13 | vid)
            .collect();
    }

    /// Where the memory of all QPs begins, on both sides.
    fn memory(self) -> u64 {
        self.draw(8)
            .map_or(REGION, |mut draw| draw.bits() >> MEMORY_BITS << MEMORY_BITS)
    }

    /// Where memory of all QPs begins, on both sides.
    fn begin(self, what: Shared) -> u64 {
        self.memory()
            ^ match what {
                Shared::Landing => LANDING,
                Shared::Source => SOURCE,
                Shared::Sent => SENT,
                Shared::Memory => 0,
            }
    }

    /// Where a QP's part of it begins, by its index in the NICs.
    fn part(self, what: Shared, index: u16) -> u64 {
        self.begin(what) + (u64::from(index) << QP_BITS)
    }

    /// Where the memory of a QP begins, by its index in the NICs.
    pub fn base(self, index: u16) -> u64 {
        self.part(Shared::Memory, index)
    }

    /// The index in the NICs of the QP to whose memory an address belongs.
    pub fn owner(self, va: u64) -> Option<u16> {
        let offset = va.wrapping_sub(self.memory());
        (offset >> MEMORY_BITS == 0).then_some((offset >> QP_BITS) as u16)
    }

    /// Where the data of a QP's READs goes, by its index in the NICs.
    pub fn landing_base(self, index: u16) -> u64 {
        self.part(Shared::Landing, index)
    }

    /// The index in the NICs of the QP to whose READs an address belongs.
    pub fn lander(self, va: u64) -> Option<u16> {
        self.owner(va ^ LANDING)
    }

    /// Number of protection domains.
    fn domain_count(self) -> u16 {
        u16::from(self.0.domains).max(1)
    }

    /// The place among the protection domains of a QP, by its index in the NICs.
    fn domain(self, index: u16) -> u16 {
        index % self.domain_count()
    }

    /// The number of a protection domain.
    fn pd(self, domain: u16) -> u16 {
        let first = self.draw(14).map_or(0, |mut draw| draw.bits() as u16);
        first.wrapping_add(domain)
    }

    /// Index and settings of a region of a protection domain.
    fn shared(self, what: Shared, domain: u16) -> (u16, Region) {
        let region = Region {
            base: self.begin(what),
            length: 1 << MEMORY_BITS,
            tag: 0x71 + what as u8,
            pd: self.pd(domain),
            local_write: matches!(what, Shared::Landing | Shared::Memory),
            remote_write: what == Shared::Memory,
        };
        let place = SPARE_REGIONS + domain * Shared::COUNT + what as u16;
        let index = self.region_index(QPS + place);
        (index.unwrap_or(SPARE + place), region)
    }

    /// Regions of all protection domains.
    fn all(self, what: Shared) -> impl Iterator<Item = (u16, Region)> {
        (0..self.domain_count()).map(move |domain| self.shared(what, domain))
    }

    /// The key of memory that a QP uses, by its index in the NICs; `foreign`: that of the same memory in another
    /// protection domain.
    pub fn key(self, what: Shared, index: u16, foreign: bool) -> u32 {
        let domain = self.domain(index) + u16::from(foreign);
        let (place, region) = match what {
            Shared::Memory if !foreign => self.region(index),
            _ => self.shared(what, domain % self.domain_count()),
        };
        region.key(place)
    }

    /// Whether there are keys of other protection domains.
    pub fn has_foreign(self) -> bool {
        self.domain_count() > 1
    }

    /// Indices and settings of the regions that peers may read.
    pub fn sources(self) -> impl Iterator<Item = (u16, Region)> {
        self.all(Shared::Source)
    }

    /// Indices and settings of the regions that messages are sent from.
    pub fn sent(self) -> impl Iterator<Item = (u16, Region)> {
        self.all(Shared::Sent)
    }

    /// Where the messages of a QP are sent from, by its index in the NICs, and with which key.
    pub fn sent_from(self, index: u16) -> (u64, u32) {
        let va = self.part(Shared::Sent, index);
        (va, self.key(Shared::Sent, index, false))
    }

    /// What a side sends of a QP, by its index in the NICs: its messages, and the answers to its peer's READs. First
    /// address and bytes of each.
    pub fn read_of(self, index: u16) -> [(u64, u64); 2] {
        let source = self.source_of(index, false);
        [
            (self.sent_from(index).0, 1 << QP_BITS),
            (source.va, source.bytes),
        ]
    }

    /// Where the bytes of a QP's READs come from, by its index in the NICs; `foreign`: with the key of another protection
    /// domain.
    pub fn source_of(self, index: u16, foreign: bool) -> Source {
        Source {
            va: self.part(Shared::Source, index),
            bytes: 1 << QP_BITS,
            key: self.key(Shared::Source, index, foreign),
        }
    }

    /// Random index of a region, different for each place; `None` for the plain ones.
    fn region_index(self, place: u16) -> Option<u16> {
        let mut draw = self.draw(7)?;
        let first = draw.bits() as u16 % REGION_COUNT;
        // An odd step meets every index once.
        let step = draw.one_of(&[1, 3, 7, 9, 13, 19, 77, 255]);
        Some((first + place * step) % REGION_COUNT)
    }

    /// Index and settings of the region in which the memory of a QP lies: one for all QPs, one for each, or one for each
    /// of several protection domains.
    fn region(self, index: u16) -> (u16, Region) {
        if self.has_foreign() {
            return self.shared(Shared::Memory, self.domain(index));
        }
        let (Some(mut draw), Some(place)) = (self.draw(13), self.region_index(index)) else {
            return REGIONS[0];
        };
        let region = Region {
            base: self.base(index),
            length: 1 << QP_BITS,
            tag: (draw.bits() as u8).wrapping_add(index as u8),
            pd: self.pd(0),
            ..REGIONS[0].1
        };
        (place, region)
    }

    /// Index of a region that a SEND may invalidate.
    fn spare_index(self, number: u16) -> u16 {
        self.region_index(QPS + number).unwrap_or(SPARE + number)
    }

    /// Indices and settings of the regions that are written.
    pub fn memories(self) -> BTreeMap<u16, Region> {
        let memory = self.indices().into_iter().map(|index| self.region(index));
        let foreign = self.has_foreign().then(|| self.all(Shared::Memory));
        let landing = self.0.reads.then(|| self.all(Shared::Landing));
        memory
            .chain(foreign.into_iter().flatten())
            .chain(landing.into_iter().flatten())
            .collect()
    }

    /// Indices and settings of the regions of both sides.
    pub fn regions(self) -> Vec<(u16, Region)> {
        let spares =
            (0..SPARE_REGIONS).map(|number| (self.spare_index(number), self.spare(number)));
        self.memories()
            .into_iter()
            .chain(spares)
            .chain(self.sent())
            .collect()
    }

    /// What the time input of a side's NIC shows at the start: often shortly before a carry.
    fn time(self, side: usize) -> Cycles {
        self.draw(9 + side as u64).map_or(Cycles(0), |mut draw| {
            let carry = 1u64 << draw.within(0, 48);
            Cycles(carry.saturating_sub(draw.any_length(14)))
        })
    }

    /// A region that a SEND may invalidate. No message lies in it.
    fn spare(self, number: u16) -> Region {
        Region {
            base: u64::from(number) << 40,
            length: 1 << 12,
            tag: 0xC0 + number as u8,
            pd: self.pd(number % self.domain_count()),
            local_write: false,
            remote_write: true,
        }
    }

    /// Number and key of a region that a QP may invalidate, by its index in the NICs, but for those whose bits are set;
    /// `foreign`: one that it may not, since it is of another protection domain. `None` if none is left.
    pub fn spare_key(self, index: u16, foreign: bool, but: u16) -> Option<(u16, u32)> {
        let domain = (self.domain(index) + u16::from(foreign)) % self.domain_count();
        let left = |number: &u16| number % self.domain_count() == domain && but >> number & 1 == 0;
        let number = (0..SPARE_REGIONS).find(left)?;
        let key = self.spare(number).key(self.spare_index(number));
        Some((number, key))
    }

    /// Two NICs with these settings.
    ///
    /// # Errors
    ///
    /// As [`Pair::of`].
    pub fn connect(self, seed: u64) -> Result<Pair, UnitError> {
        let mut pair = Pair::of(&PairConfig {
            seed,
            settings: Some(&|side| self.nic(side)),
            regions: &self.regions(),
            change: &|side, index, qp| self.qp(side, index, qp),
            qps: &self.indices(),
            read_delay: PERIOD * u64::from(self.0.read_delay),
            translation: [self.translation(); 2],
            times: [0, 1].map(|side| self.time(side)),
            record: false,
        })?;
        if self.0.reads {
            for (index, region) in self.sources() {
                for side in 0..2 {
                    pair.permit(side, index, &region, READ_AND_ATOMIC)?;
                }
            }
        }
        Ok(pair)
    }
}
