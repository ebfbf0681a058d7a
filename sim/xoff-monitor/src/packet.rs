//! A RoCE packet that can be judged.

use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::frame::{IpHead, ParsedFrame};
use xoff_sim::wire::{BthRepr, ExtHeaders};

use crate::tap::Tap;

/// A whole RoCE packet with a right ICRC, and when it passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub time: Time,
    /// How much later than `time` it may have been: times of captures are cut to their clock's ticks.
    pub resolution: Duration,
    /// Whether its place among the frames is the one in which it was sent, and it was sent as often as it is seen.
    pub orderly: bool,
    pub ip: IpHead,
    pub bth: BthRepr,
    pub ext: ExtHeaders,
    /// Bytes of payload, without pad.
    pub payload: u32,
}

impl Packet {
    pub fn of(parsed: &ParsedFrame, time: Time, tap: &Tap, orderly: bool) -> Option<Self> {
        Some(Self {
            time,
            resolution: tap.resolution,
            orderly,
            ip: parsed.ip?,
            bth: parsed.bth?,
            ext: parsed.ext?,
            payload: parsed.payload_bytes?.into(),
        })
    }

    /// Whether a switch has marked it 'congestion experienced'.
    pub fn is_marked(&self) -> bool {
        self.ip.traffic_class & 0b11 == 0b11
    }

    /// Bytes that it asks for or carries.
    pub fn length(&self) -> u32 {
        self.ext.reth.map_or(self.payload, |reth| reth.dma_len)
    }
}
