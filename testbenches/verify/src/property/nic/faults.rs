//! The faults of the path between the NICs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use xoff_sim::frame::Frame;
use xoff_sim::headers::{Headers, rewrite};
use xoff_sim::nic::NicCounters;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::icrc;
use xoff_sim::seeded::SplitMix;
use xoff_sim::time::Duration;
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};
use xoff_sim::wire::{MacAddr, Opcode};

use super::as_text;
use super::bins::{self, Fate};
use super::events::{ALL_CLASSES, Path};
use super::pair::PERIOD;
use crate::property::Disagreement;
use crate::property::bins::Bins;

/// Maximum delay of a late frame in cycles.
const LATE_MAX: u64 = 1_000;

/// What reached a NIC.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub struct Arrived {
    frames: u64,
    /// Their bytes, without FCS.
    bytes: u64,
    /// ACKs, NAKs and READ responses among them.
    answers: u64,
}

/// Counters of answers that are received, which [`NicCounters::RECEIVED`] leaves out. ACKs and responses that are used
/// count in none.
const ANSWERS: [u16; 5] = [
    reg::NAKS_IN,
    reg::IMPLIED_NAKS,
    reg::RNR_NAKS_IN,
    reg::REMOTE_ERRORS_IN,
    reg::ANSWERS_UNUSED,
];

impl Arrived {
    /// Counts frames of this length.
    pub fn count(&mut self, frames: u64, bytes: usize) {
        self.frames += frames;
        self.bytes += frames * bytes as u64;
    }

    fn count_copies(&mut self, copies: u64, bytes: usize, frame: &ParsedFrame) {
        self.count(copies, bytes);
        let answer = |opcode: Opcode| opcode == Opcode::RC_ACK || opcode.is_response();
        if frame.bth.is_some_and(|bth| answer(bth.opcode)) {
            self.answers += copies;
        }
    }

    /// Compares the counters of a NIC that rests with what reached it.
    ///
    /// # Errors
    ///
    /// The first counter that counts something else.
    pub fn check(&self, counted: impl Fn(u16) -> u64) -> Result<(), Disagreement> {
        let (frames, bytes) = (counted(reg::FRAMES_IN), counted(reg::BYTES_IN));
        if (frames, bytes) != (self.frames, self.bytes) {
            return Err(format!(
                "{frames} frames, {bytes} bytes counted, of {self:?}"
            ));
        }
        let others: u64 = NicCounters::RECEIVED.into_iter().map(&counted).sum();
        let answers: u64 = ANSWERS.into_iter().map(&counted).sum();
        match (answers..=self.answers).contains(&frames.wrapping_sub(others)) {
            true => Ok(()),
            false => Err(format!(
                "{others} frames and {answers} answers have a result, of {self:?}"
            )),
        }
    }
}

/// The faults of the path between the NICs.
#[derive(Serialize, Deserialize)]
pub struct Faults {
    #[serde(with = "as_text")]
    path: Path,
    draw: SplitMix,
    /// By side, what reached it.
    pub arrived: [Arrived; 2],
    /// By side, the QP numbers of intact CNPs that reached it.
    pub cnps: [BTreeSet<u32>; 2],
    /// By side, the QP numbers of intact requests that reached it with a mark.
    pub marked: [BTreeSet<u32>; 2],
    /// What happened to frames. A bench that goes on from a checkpoint counts anew.
    #[serde(skip, default = "no_bins")]
    pub bins: Bins,
}

fn no_bins() -> Bins {
    Bins::new(bins::GROUPS)
}

impl Faults {
    /// A path with these faults.
    pub fn new(path: Path) -> Self {
        Self {
            path,
            draw: SplitMix::new(path.seed),
            arrived: Default::default(),
            cnps: Default::default(),
            marked: Default::default(),
            bins: no_bins(),
        }
    }

    /// What arrives of a frame: copies, each with its delay.
    pub fn carry(
        &mut self,
        from: usize,
        sent: &Frame,
        frame: &ParsedFrame,
    ) -> Vec<(Duration, Vec<u8>)> {
        let Path {
            drops,
            flips,
            doubles,
            late,
            marks,
            forged,
            ..
        } = self.path;
        let mut chance = |of_thousand: u16| self.draw.below(1_000) < of_thousand.into();
        let bins = &mut self.bins;
        let mut seen = |fate| bins::frame(bins, frame, fate);
        if chance(drops) {
            seen(Fate::Loses);
            return vec![];
        }
        if frame.verdict == Verdict::Pfc {
            seen(Fate::Passes);
            // The frame goes directly from port to port, so the path can only lose it.
            self.arrived[1 - from].count(1, sent.bytes.len());
            return vec![(Duration::ZERO, sent.bytes.whole().to_vec())];
        }
        let (flip, twice, mark) = (chance(flips), chance(doubles), chance(marks));
        let delays = [chance(late), chance(late)];
        let mut bytes = sent.bytes.whole().to_vec();
        // No draw where there is none, so that kept cases stay the same.
        if forged > 0 && chance(forged) {
            forge(&mut bytes, frame);
        }
        if mark
            && let Some(ip) = Headers::at(&bytes).and_then(|headers| headers.ip)
            && rewrite::ecn_capable(ip.traffic_class)
        {
            rewrite::mark_ce(&mut bytes, &ip);
            seen(Fate::Marks);
            if let (Verdict::RoceV2, false, Some(bth)) = (frame.verdict, flip, frame.bth) {
                self.marked[1 - from].insert(bth.dest_qp.into());
            }
        }
        if flip {
            seen(Fate::Flips);
            let bit = self.draw.below(8 * bytes.len() as u32);
            bytes[bit as usize / 8] ^= 1 << (bit % 8);
        }
        if twice {
            seen(Fate::Doubles);
        }
        seen(match delays[0] {
            true => Fate::Delays,
            false => Fate::Passes,
        });
        if let (Verdict::Cnp, false, Some(bth)) = (frame.verdict, flip, frame.bth) {
            self.cnps[1 - from].insert(bth.dest_qp.into());
        }
        let copies = 1 + usize::from(twice);
        self.arrived[1 - from].count_copies(copies as u64, bytes.len(), frame);
        let mut delay = |late| match late {
            true => PERIOD * self.draw.within(1, LATE_MAX),
            false => Duration::ZERO,
        };
        (delays.into_iter().take(copies))
            .map(|late| (delay(late), bytes.clone()))
            .collect()
    }
}

/// Changes the last byte of a packet's payload, and its ICRC.
fn forge(bytes: &mut [u8], frame: &ParsedFrame) {
    let (Some(eth), Some(ip)) = (&frame.eth, &frame.ip) else {
        return;
    };
    let pad = frame.bth.map_or(0, |bth| usize::from(bth.pad));
    let start = 14 + 4 * eth.tags.len();
    let length = usize::from(ip.length) + if ip.kind == IpKind::V6 { 40 } else { 0 };
    if frame.payload.is_empty() {
        return;
    }
    let end = start + length - 4;
    bytes[end - pad - 1] ^= 0xFF;
    if let Ok(right) = icrc(ip.kind, &bytes[start..end]) {
        bytes[end..end + 4].copy_from_slice(&right);
    }
}

/// Builds a PFC frame that pauses a class, or a PAUSE for [`ALL_CLASSES`].
pub fn pause(quanta: u16, class: u8) -> Vec<u8> {
    let mut frame = MacAddr::CONTROL.0.to_vec();
    frame.extend([2, 0, 0, 0, 0, 9, 0x88, 0x08]);
    if class == ALL_CLASSES {
        frame.extend([0, 1]);
        frame.extend(quanta.to_be_bytes());
    } else {
        frame.extend([1, 1, 0, 1 << class]);
        for of in 0..8 {
            let time = if of == class { quanta } else { 0 };
            frame.extend(time.to_be_bytes());
        }
    }
    frame.resize(60, 0);
    frame
}
