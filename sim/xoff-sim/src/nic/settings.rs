//! Settings of a NIC, as in its global registers.

use serde::{Deserialize, Serialize};

use super::ClassCosts;
use crate::protocol::dcqcn::{Rate, RpParameters};
use crate::time::{Clock, Duration};
use crate::wire::MacAddr;
use crate::wire::PRIORITIES;

/// Settings of the pauses that the NIC sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcSettings {
    /// Lossless classes, one bit each: they obey PFC and send it.
    pub classes: u8,
    /// By class, bytes in the receive buffer from which on the peer is paused, 24 bits.
    pub xoff: [u32; PRIORITIES],
    /// By class, bytes in the receive buffer at or below which the peer may send again, 24 bits.
    pub xon: [u32; PRIORITIES],
    /// The pause time of an XOFF, in quanta of 512 bit times.
    pub quanta: u16,
    /// Cycles after which an XOFF is repeated.
    pub refresh: u32,
}

impl Default for PfcSettings {
    /// No lossless classes. Otherwise: XOFF at 32 KiB of a class, XON at 30 KiB; the longest pause time, repeated
    /// after half of it at 40 Gb/s.
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

/// Number of parts of the receive buffer.
pub const BUFFERS: usize = 8;

/// How the receive buffer is divided. Each class belongs to a part, and takes no room from the classes of other parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BufferParts {
    /// Sizes of parts 1 to 7 in cells of 64 bytes, 16 bits each in RTL. Part 0 has the rest.
    pub cells: [u32; BUFFERS - 1],
    /// The part of each class.
    pub of_class: [u8; PRIORITIES],
}

impl BufferParts {
    /// Bytes of a cell.
    pub const CELL: u64 = 64;

    /// Divides a buffer of `bytes` for these lossless classes, one bit each: an eighth for all other classes; the rest
    /// in equal parts, one for each lossless class. Where all classes are lossless, the last one has that eighth.
    /// Without a lossless class all is one part.
    pub fn new(lossless: u8, bytes: u64) -> Self {
        let parts = (lossless.count_ones() as usize).min(BUFFERS - 1);
        let mut divided = Self::default();
        if parts == 0 {
            return divided;
        }
        let cells = bytes / Self::CELL;
        let each = (cells - cells / 8) / parts as u64;
        divided.cells[..parts].fill(each.min(u32::MAX.into()) as u32);
        let of_lossless = (0..PRIORITIES).filter(|class| lossless >> class & 1 != 0);
        for (class, part) in of_lossless.zip(1..BUFFERS as u8) {
            divided.of_class[class] = part;
        }
        divided
    }

    /// The size in cells of a part of a buffer of `bytes`.
    pub fn cells(&self, part: u8, bytes: u64) -> u64 {
        match usize::from(part).checked_sub(1) {
            Some(part) => self.cells[part].into(),
            None => {
                let others: u64 = self.cells.iter().map(|cells| u64::from(*cells)).sum();
                bytes / Self::CELL - others
            }
        }
    }

    /// How many bytes of frames a part holds whatever their lengths are: 15/16 of it, because a frame of 60 bytes
    /// takes a cell.
    pub fn holds(&self, part: u8, bytes: u64) -> u64 {
        self.cells(part, bytes) * Self::CELL / 16 * 15
    }
}

/// Settings of the watchdog, which stops this port's pauses when reception does not progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WatchdogSettings {
    /// Cycles of stall after which it reports, 40 bits; 0: never.
    pub bark: u64,
    /// Cycles of stall after which it silences pauses, 40 bits; 0: never.
    pub bite: u64,
    /// Whether progress lifts the silence.
    pub auto_rearm: bool,
}

/// Settings of DCQCN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DcqcnSettings {
    /// Parameters of the reaction point.
    pub rp: RpParameters,
    /// Least number of cycles between two CNPs of a QP.
    pub cnp_interval: u32,
    /// DSCP of CNPs.
    pub cnp_dscp: u8,
    /// PCP of CNPs, in the outer tag on paths with tags.
    pub cnp_pcp: u8,
    /// Cycles that a QP may catch up at the rate limiter.
    pub burst: u16,
}

/// New values of parameters of DCQCN while the NIC runs. What is `None` stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DcqcnChange {
    /// Gain of α in units of 2⁻¹⁶.
    pub g: Option<u16>,
    /// Step of the target in additive increase.
    pub rate_ai: Option<Rate>,
    /// Step of the target in hyper increase.
    pub rate_hai: Option<Rate>,
    /// Time without a CNP after which α decays; 0: it does not decay.
    pub alpha_time: Option<Duration>,
    /// Time between rate increases; 0: none.
    pub rate_time: Option<Duration>,
    /// Bytes between rate increases by bytes; 0: none.
    pub byte_limit: Option<u32>,
    /// Stages of fast recovery: 0 to 31.
    pub stages: Option<u8>,
    /// Least time between two CNPs of a QP.
    pub cnp_interval: Option<Duration>,
}

/// A time in cycles, as registers have it.
pub fn register_cycles(clock: &Clock, time: Duration) -> u32 {
    clock.cycles_in(time).0.min(u32::MAX.into()) as u32
}

impl DcqcnChange {
    /// Makes the changes of the reaction point.
    pub fn of_reaction_point(&self, rp: &mut RpParameters, clock: &Clock) {
        fn put<T: Copy>(place: &mut T, value: Option<T>) {
            *place = value.unwrap_or(*place);
        }
        let cycles = |time: Duration| register_cycles(clock, time);
        put(&mut rp.g, self.g);
        put(&mut rp.rate_ai, self.rate_ai);
        put(&mut rp.rate_hai, self.rate_hai);
        put(&mut rp.alpha_time, self.alpha_time.map(cycles));
        put(&mut rp.rate_time, self.rate_time.map(cycles));
        put(&mut rp.byte_limit, self.byte_limit);
        put(&mut rp.stages, self.stages);
    }

    /// Makes all changes.
    pub fn of_nic(&self, settings: &mut DcqcnSettings, clock: &Clock) {
        self.of_reaction_point(&mut settings.rp, clock);
        if let Some(time) = self.cnp_interval {
            settings.cnp_interval = register_cycles(clock, time);
        }
    }
}

/// All settings of a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicSettings {
    /// QP number of QP index 0, 24 bits.
    pub qpn_base: u32,
    /// Source address of the NIC's PFC frames.
    pub mac: MacAddr,
    /// Whether a frame's class comes from the PCP of its outer tag; otherwise it comes from its DSCP.
    pub class_by_pcp: bool,
    /// Class of each PCP.
    pub pcp_classes: [u8; PRIORITIES],
    /// Class of each of the 64 DSCPs.
    pub dscp_classes: Vec<u8>,
    /// How classes share the port.
    pub class_costs: ClassCosts,
    /// Whether 802.3x PAUSE stops all classes; otherwise it is ignored.
    pub pause_obeyed: bool,
    /// Settings of the pauses that the NIC sends.
    pub pfc: PfcSettings,
    /// How the receive buffer is divided.
    pub buffer: BufferParts,
    /// The watchdog.
    pub watchdog: WatchdogSettings,
    /// DCQCN; `None` if it is off.
    pub dcqcn: Option<DcqcnSettings>,
    /// No payload is read by DMA while so many units of 256 bytes are still to come, 9 bits; 0: as many as slots hold.
    /// What is read for packets that are withdrawn holds up those behind, so more than
    /// [`PcieConfig::read_ahead`](crate::host::PcieConfig::read_ahead) is of no use.
    pub read_ahead: u16,
}

impl NicSettings {
    /// Default settings: QP numbers from 0x100 on, class = DSCP / 8 (class selectors, RFC 2474 §4.2.2), everything
    /// else off.
    pub fn new(mac: MacAddr) -> Self {
        Self {
            qpn_base: 0x100,
            mac,
            class_by_pcp: false,
            pcp_classes: std::array::from_fn(|pcp| pcp as u8),
            dscp_classes: (0..64).map(|dscp| dscp >> 3).collect(),
            class_costs: ClassCosts::default(),
            pause_obeyed: false,
            pfc: PfcSettings::default(),
            buffer: BufferParts::default(),
            watchdog: WatchdogSettings::default(),
            dcqcn: None,
            read_ahead: 0,
        }
    }

    /// The class of a DSCP.
    pub fn class_of(&self, dscp: u8) -> u8 {
        self.dscp_classes[usize::from(dscp & 63)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lossless_classes_have_parts_of_their_own() {
        const BYTES: u64 = 128 << 10;
        let one = BufferParts::new(1 << 3, BYTES);
        // 7/8 of 2,048 cells.
        assert_eq!(one.cells[..2], [1792, 0]);
        assert_eq!(one.of_class, [0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!((one.cells(0, BYTES), one.cells(1, BYTES)), (256, 1792));
        assert_eq!(one.holds(1, BYTES), 107_520);
        let two = BufferParts::new(1 << 3 | 1 << 4, BYTES);
        assert_eq!(two.cells[..3], [896, 896, 0]);
        assert_eq!(two.of_class, [0, 0, 0, 1, 2, 0, 0, 0]);
        let many = BufferParts::new(0b1011_0101, BYTES);
        assert_eq!(many.of_class, [1, 0, 2, 0, 3, 4, 0, 5]);
        assert_eq!(many.cells, [358, 358, 358, 358, 358, 0, 0]);
        let all = BufferParts::new(0xFF, BYTES);
        assert_eq!(all.of_class, [1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!((all.cells, all.cells(0, BYTES)), ([256; 7], 256));
        assert_eq!(BufferParts::new(0, BYTES), BufferParts::default());
        assert_eq!(BufferParts::default().cells(0, BYTES), 2048);
    }
}
