//! Settings of a NIC, as its global registers have them.

use serde::{Deserialize, Serialize};

use crate::protocol::dcqcn::RpParameters;
use crate::wire::MacAddr;
use crate::wire::PRIORITIES;

/// Pauses that the NIC sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcSettings {
    /// Lossless classes, a bit each: they obey PFC and ask for it.
    pub classes: u8,
    /// Bytes of a class in the receive buffer from which on the peer is paused, 24 bits.
    pub xoff: [u32; PRIORITIES],
    /// Bytes down to which it stays paused, 24 bits.
    pub xon: [u32; PRIORITIES],
    /// What an XOFF asks for, in quanta of 512 bit times.
    pub quanta: u16,
    /// Cycles after which an XOFF is repeated.
    pub refresh: u32,
}

impl Default for PfcSettings {
    /// No lossless class. Else: XOFF at 32 KiB of a class, XON at 30 KiB; the longest quanta, told again after half of them at 40 Gb/s.
    fn default() -> Self {
        Self {
            classes: 0,
            xoff: [32 << 10; PRIORITIES],
            xon: [30 << 10; PRIORITIES],
            quanta: u16::MAX,
            refresh: 81_918,
        }
    }
}

/// The watchdog that ends this port's pauses when receive has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WatchdogSettings {
    /// Cycles of stall before it reports, 40 bits; 0: never.
    pub bark: u64,
    /// Cycles of stall before it silences pauses, 40 bits; 0: never.
    pub bite: u64,
    /// Progress lifts the silence.
    pub auto_rearm: bool,
}

/// DCQCN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DcqcnSettings {
    /// The reaction point's.
    pub rp: RpParameters,
    /// Cycles between two CNPs of a QP.
    pub cnp_interval: u32,
    /// DSCP of CNPs.
    pub cnp_dscp: u8,
    /// PCP of CNPs, in the outer tag of paths with tags.
    pub cnp_pcp: u8,
    /// Cycles that a QP may catch up at the limiter.
    pub burst: u16,
}

/// All of a NIC's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicSettings {
    /// QP number of QP index 0, 24 bits.
    pub qpn_base: u32,
    /// Source address of its PFC frames.
    pub mac: MacAddr,
    /// A frame's class comes from its outer tag's PCP; else from its DSCP.
    pub class_by_pcp: bool,
    /// Class of each PCP.
    pub pcp_classes: [u8; PRIORITIES],
    /// Class of each of the 64 DSCPs.
    pub dscp_classes: Vec<u8>,
    /// 802.3x PAUSE stops all classes.
    pub pause_obeyed: bool,
    /// Pauses that it sends.
    pub pfc: PfcSettings,
    /// The watchdog.
    pub watchdog: WatchdogSettings,
    /// DCQCN; `None`: off.
    pub dcqcn: Option<DcqcnSettings>,
}

impl NicSettings {
    /// QP numbers from 0x100 on, class = DSCP / 8 (class selectors, RFC 2474 §4.2.2), nothing else on.
    pub fn new(mac: MacAddr) -> Self {
        Self {
            qpn_base: 0x100,
            mac,
            class_by_pcp: false,
            pcp_classes: std::array::from_fn(|pcp| pcp as u8),
            dscp_classes: (0..64).map(|dscp| dscp >> 3).collect(),
            pause_obeyed: false,
            pfc: PfcSettings::default(),
            watchdog: WatchdogSettings::default(),
            dcqcn: None,
        }
    }

    /// The class of a DSCP.
    pub fn class_of(&self, dscp: u8) -> u8 {
        self.dscp_classes[usize::from(dscp & 63)]
    }
}
