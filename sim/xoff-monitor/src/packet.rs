//! A RoCE packet whose place in a connection can be judged.

use twox_hash::XxHash3_64;
use xoff_sim::time::{Duration, Time};
use xoff_sim::wire::frame::{IpHead, ParsedFrame};
use xoff_sim::wire::{BthRepr, ExtHeaders, NakCode, SyndromeMeaning};

use crate::tap::Tap;

/// A RoCE packet with a correct ICRC, or one whose ICRC is not known, and the time at which it passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub time: Time,
    /// The actual time is at most this much later than `time`, since times of captures are truncated to the ticks of
    /// their clock.
    pub resolution: Duration,
    /// Whether packets are seen in the order in which they were sent, and exactly as often as they were sent.
    pub orderly: bool,
    pub ip: IpHead,
    pub bth: BthRepr,
    pub ext: ExtHeaders,
    /// Bytes of payload, without pad.
    pub payload: u32,
    /// A hash of the payload; `None` if it was not recorded.
    pub content: Option<u64>,
}

impl Packet {
    /// `cut`: the end of the packet was not recorded.
    pub fn of(
        parsed: &ParsedFrame,
        cut: bool,
        time: Time,
        tap: &Tap,
        orderly: bool,
    ) -> Option<Self> {
        Some(Self {
            time,
            resolution: tap.resolution,
            orderly,
            ip: parsed.ip?,
            bth: parsed.bth?,
            ext: parsed.ext?,
            payload: parsed.payload_bytes?.into(),
            content: (!cut).then(|| XxHash3_64::oneshot(&parsed.payload)),
        })
    }

    /// Whether a switch has marked it 'congestion experienced'.
    pub fn is_marked(&self) -> bool {
        self.ip.traffic_class & 0b11 == 0b11
    }

    /// Its DSCP.
    pub fn dscp(&self) -> u8 {
        self.ip.traffic_class >> 2
    }

    /// Whether it is a NAK for a sequence error.
    pub fn is_sequence_nak(&self) -> bool {
        let meaning = self.ext.aeth.map(|aeth| aeth.syndrome.meaning());
        meaning == Some(SyndromeMeaning::Nak(NakCode::PsnSequenceError))
    }

    /// The length in its RETH if it has one, otherwise the bytes of payload that it carries.
    pub fn length(&self) -> u32 {
        self.ext.reth.map_or(self.payload, |reth| reth.dma_len)
    }
}
