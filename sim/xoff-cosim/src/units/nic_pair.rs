//! Two NICs back to back, and the cable between them, which may lose, change, repeat and delay frames. A cycle a call.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use xoff_sim::nic::{Address, QpSettings, Region};
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Completion, RequesterConfig, ResponderConfig};
use xoff_sim::protocol::{icrc, parse};
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};
use xoff_sim::wire::{MacAddr, Psn};

use super::UnitError;
use super::nic::{Rest, RtlNic, Sent, Written};
use super::registers::Registers;

/// QP number of QP index 0, on both sides.
pub const QPN_BASE: u32 = 0x1000;
/// Cable, MAC and PHY, one way.
pub const DELAY_PS: u64 = 500_000;
/// Where each side's region 1 begins.
pub const REGION: u64 = 0x10_0000_0000;
/// Its bytes.
pub const REGION_BYTES: u64 = 1 << 30;

/// A port: 10.0.0.1 and 02::1, or 2.
fn address(side: usize) -> Address {
    Address {
        mac: MacAddr([2, 0, 0, 0, 0, 1 + side as u8]),
        ip: Ipv4Addr::new(10, 0, 0, 1 + side as u8).into(),
    }
}

/// A QP of a side, whose peer is the QP of the same index: IPv4, MTU 1,024, PSNs about to wrap.
pub fn qp(side: usize, index: u16) -> QpSettings {
    let mtu = 2;
    let psn = |side: usize| Psn::wrapping(0xFF_FFF0 + side as u32);
    QpSettings {
        own: address(side),
        peer: address(1 - side),
        tags: vec![],
        dscp: 26,
        hop_limit: 64,
        udp_port: 0xC000,
        pkey: 0xFFFF,
        peer_qpn: QPN_BASE + u32::from(index),
        requester: RequesterConfig {
            mtu,
            timeout: 3,
            retry: 7,
            nak_retry: false,
            rnr_retry: 7,
            ack_every: 4,
            window: 64,
            restart: false,
        },
        requester_psn: psn(side),
        responder: ResponderConfig {
            mtu,
            rnr_timer: 1,
            restart: false,
        },
        responder_psn: psn(1 - side),
    }
}

/// What may happen to a frame on its way: the side that sent it, its bytes, which may change, and what they say. False: it is lost.
pub type Wire<'a> = dyn FnMut(usize, &mut Vec<u8>, &ParsedFrame) -> bool + 'a;

/// What arrives of a frame: how many picoseconds late, and with which bytes.
pub type Path<'a> = dyn FnMut(usize, &Sent, &ParsedFrame) -> Vec<(u64, Vec<u8>)> + 'a;

/// Nothing happens to any.
pub fn all(_: usize, _: &mut Vec<u8>, _: &ParsedFrame) -> bool {
    true
}

/// Two NICs and the cable between them.
pub struct Pair {
    /// The NICs.
    pub nics: [RtlNic; 2],
    /// Keys of their regions.
    pub key: [u32; 2],
    /// What they said of rest in their last cycle.
    pub rest: [Rest; 2],
    /// Skips cycles in which a NIC says that nothing happens.
    pub skip: bool,
    /// How many.
    pub skipped: u64,
    /// Every frame, with the side that sent it.
    pub frames: Vec<(usize, Sent, ParsedFrame)>,
    /// All completions, by side, each with its QP index.
    pub completions: [Vec<(u8, Completion)>; 2],
    /// All DMA writes, by side.
    pub written: [Vec<Written>; 2],
}

impl Pair {
    /// Both NICs, with a region and open QPs. `change` is asked of each QP.
    ///
    /// # Errors
    ///
    /// The model cannot be made, or breaks a rule of its pins.
    pub fn new(seed: u64, change: impl Fn(&mut QpSettings), qps: u16) -> Result<Self, UnitError> {
        let nics = [RtlNic::new("nic0", seed)?, RtlNic::new("nic1", seed + 1)?];
        Self::of(nics, change, qps)
    }

    /// The same of two NICs of which nothing was asked yet.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn of(
        mut nics: [RtlNic; 2],
        change: impl Fn(&mut QpSettings),
        qps: u16,
    ) -> Result<Self, UnitError> {
        let mut key = [0; 2];
        for (side, nic) in nics.iter_mut().enumerate() {
            nic.write(reg::QPN_BASE, QPN_BASE)?;
            nic.write(reg::PORT_MAC_LOW, 1 + side as u32)?;
            nic.write(reg::PORT_MAC_HIGH, 0x0200)?;
            let region = Region {
                base: REGION,
                length: REGION_BYTES,
                tag: 0x5A,
                local_write: true,
                remote_write: true,
            };
            key[side] = nic.register(1, &region)?;
            for index in 0..qps {
                let mut setup = qp(side, index);
                change(&mut setup);
                nic.open(index, &setup)?;
            }
        }
        let mut this = Self {
            nics,
            key,
            rest: [Rest {
                idle: false,
                wake: 0,
            }; 2],
            skip: false,
            skipped: 0,
            frames: vec![],
            completions: [vec![], vec![]],
            written: [vec![], vec![]],
        };
        this.together()?;
        Ok(this)
    }

    /// Runs the one that is behind, until both are in the same cycle: after registers were written or read.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn together(&mut self) -> Result<(), UnitError> {
        let together = self.nics[0].now().max(self.nics[1].now());
        for nic in &mut self.nics {
            while nic.now() < together {
                nic.cycle()?;
            }
        }
        Ok(())
    }

    /// One cycle of both.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`], and a frame that is not whole.
    pub fn step(&mut self, wire: &mut Wire) -> Result<(), UnitError> {
        self.step_over(&mut |side, sent, parsed| {
            let mut bytes = sent.bytes.clone();
            match wire(side, &mut bytes, parsed) {
                true => vec![(0, bytes)],
                false => vec![],
            }
        })
    }

    /// One cycle of both.
    ///
    /// # Errors
    ///
    /// As [`Pair::step`].
    pub fn step_over(&mut self, path: &mut Path) -> Result<(), UnitError> {
        for side in 0..2 {
            let nic = &mut self.nics[side];
            let now = nic.now();
            let rests = self.rest[side].idle && now < self.rest[side].wake;
            if self.skip && rests && nic.next_input().is_none_or(|input| input > now) {
                nic.skip_to(now + 1);
                self.skipped += 1;
                continue;
            }
            self.rest[side] = nic.cycle()?;
            for sent in nic.take_sent() {
                let parsed = whole(&sent.bytes).map_err(|what| UnitError::Protocol {
                    unit: "nic",
                    cycle: now,
                    what,
                })?;
                for (late, bytes) in path(side, &sent, &parsed) {
                    self.nics[1 - side].receive(sent.end_ps + DELAY_PS + late, bytes);
                }
                self.frames.push((side, sent, parsed));
            }
            self.completions[side].extend(self.nics[side].take_completions());
            self.written[side].extend(self.nics[side].take_written());
        }
        Ok(())
    }

    /// A register.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn read(&mut self, side: usize, address: u16) -> Result<u32, UnitError> {
        self.nics[side].read(address)
    }

    /// Counters that are not 0, by name.
    ///
    /// # Errors
    ///
    /// As [`Pair::new`].
    pub fn counters(&mut self, side: usize) -> Result<Vec<(&'static str, u32)>, UnitError> {
        let mut counters = vec![];
        for counter in reg::COUNTERS {
            let count = self.read(side, counter.address)?;
            if count > 0 {
                counters.push((counter.name, count));
            }
        }
        Ok(counters)
    }

    /// What lies in a side's memory now.
    pub fn memory(&self, side: usize) -> BTreeMap<u64, u8> {
        let mut bytes = BTreeMap::new();
        for write in &self.written[side] {
            bytes.extend(write.bytes.iter().zip(write.va..).map(|(&b, va)| (va, b)));
        }
        bytes
    }
}

/// What a frame that left a NIC says, if it is whole, by the reference parser and the reference ICRC.
///
/// # Errors
///
/// What is wrong.
pub fn whole(bytes: &[u8]) -> Result<ParsedFrame, String> {
    let parsed = parse(bytes);
    match parsed.verdict {
        Verdict::RoceV2 | Verdict::Cnp => {
            let right = || {
                let ip = parsed.ip.as_ref()?;
                let start = 14 + 4 * parsed.eth.as_ref()?.tags.len();
                let length = usize::from(ip.length) + if ip.kind == IpKind::V6 { 40 } else { 0 };
                let packet = bytes.get(start..start + length)?;
                let (packet, found) = packet.split_at_checked(length.checked_sub(4)?)?;
                Some(parsed.icrc_ok == Some(true) && icrc(ip.kind, packet).ok()? == found)
            };
            if right() != Some(true) {
                return Err(format!("a frame with a wrong ICRC: {parsed:?}"));
            }
        }
        Verdict::Pfc => {}
        _ => return Err(format!("a frame that no NIC sends: {parsed:?}")),
    }
    Ok(parsed)
}
