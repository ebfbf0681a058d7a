//! Records: frames as they were recorded, and what a parser can be given of them.

use std::borrow::Cow;

use thiserror::Error;
use xoff_sim::kernel::Direction;
use xoff_sim::wire::{EtherType, EthernetRepr, MacAddr};

use super::{Link, MAX_FRAME_BYTES, Tunnel, link_name, tunnel};

/// One captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The number of the frame in the file, from 1, as Wireshark counts.
    pub number: u64,
    /// Nanoseconds since 1970-01-01, or since the recorder's own zero.
    pub time_ns: u64,
    /// What was recorded, from the header of its [`link`](Self::link) on; of an Ethernet frame from the destination
    /// address on, without preamble. The FCS is removed if the file says that there is one. Of a frame in
    /// [`tunnels`](Self::tunnels) that were taken off it is the frame inside.
    pub bytes: Vec<u8>,
    /// The number of bytes that there were on the line, without FCS: more than those recorded if the recorder kept only
    /// the beginning (`tcpdump -s`).
    pub length: usize,
    /// The link type of its interface; of an IP packet in a tunnel that of IPv4 or IPv6.
    pub link_type: u32,
    /// What the bytes begin with.
    pub link: Link,
    /// The byte offset of the record in the file.
    pub offset: u64,
    /// Index into [`Reader::interfaces`](super::Reader::interfaces) of the interface that saw it.
    pub interface: usize,
    /// The direction of the frame through the interface, if the file states it.
    pub direction: Option<Direction>,
    /// `false` if the file says that the frame's FCS was wrong. Most recorders never see such frames.
    pub fcs_ok: bool,
    /// The tunnels that [`into_inner`](Self::into_inner) has taken off, the outer one first.
    pub tunnels: Vec<Tunnel>,
    /// The Ethernet frame that was on the line, as far as it was recorded, if tunnels were taken off that it had there. A
    /// mirror's copy has been on another line before, perhaps without a tunnel.
    pub line: Option<Vec<u8>>,
}

/// Why a record is no frame that a port could send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoFrame {
    /// The link type is not Ethernet.
    #[error(
        "a packet of link type {link_type}{}, without the header of an Ethernet frame",
        name_in_parentheses(*.link_type)
    )]
    Link {
        /// The link type.
        link_type: u32,
    },
    /// The recorder kept only the beginning.
    #[error("{kept} of its {length} bytes were recorded; record whole frames (tcpdump -s 0)")]
    Cut {
        /// The number of bytes in the file.
        kept: usize,
        /// The number of bytes on the line.
        length: usize,
    },
    /// The frame is longer than any frame on a line.
    #[error(
        "a frame of {0} bytes, {MAX_FRAME_BYTES} at most fit on a line (receive offload glues frames together: record \
         with it off, ethtool -K DEV gro off lro off)"
    )]
    TooLong(usize),
}

fn name_in_parentheses(link_type: u32) -> String {
    link_name(link_type)
        .map(|name| format!(" ({name})"))
        .unwrap_or_default()
}

/// A record in the form of an Ethernet frame of its full length, for parsers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled<'a> {
    /// The frame. Zeros are in place of what was not recorded.
    pub bytes: Cow<'a, [u8]>,
    /// The number of bytes up to which the frame is what was recorded.
    pub kept: usize,
    /// Whether the MAC addresses are those of the frame. Behind other links they are not known.
    pub addressed: bool,
}

impl Record {
    /// Whether the recorder kept only the beginning of the frame.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.length
    }

    /// Whether the frame is longer than any frame on a line.
    pub fn is_too_long(&self) -> bool {
        self.length > MAX_FRAME_BYTES
    }

    /// Returns the frame inside of its tunnels (VXLAN, GENEVE, GRE, NVGRE, ERSPAN, MPLS, IP in IP), which is what a NIC at
    /// their end gets. Without a tunnel, the record as it is.
    #[must_use]
    pub fn into_inner(self) -> Self {
        match tunnel::inner(&self.link, &self.bytes, self.length) {
            Some(inner) => inner.of(self),
            None => self,
        }
    }

    /// Whether the end of its tunnels marks the packet with 'congestion experienced', whose traffic class this is: a
    /// fabric marks the packet around it (RFC 6040).
    pub fn is_marked_outside(&self, traffic_class: u8) -> bool {
        tunnel::mark(&self.tunnels, traffic_class)
    }

    /// Returns the Ethernet frame.
    ///
    /// # Errors
    ///
    /// Fails if the record has none, or not the whole of it, or one that is too long.
    pub fn frame(&self) -> Result<&[u8], NoFrame> {
        let (kept, length) = (self.bytes.len(), self.length);
        match self.link {
            Link::Ethernet if self.is_too_long() => Err(NoFrame::TooLong(length)),
            Link::Ethernet if self.is_cut() => Err(NoFrame::Cut { kept, length }),
            Link::Ethernet => Ok(&self.bytes),
            _ => Err(NoFrame::Link {
                link_type: self.link_type,
            }),
        }
    }

    /// Returns what was recorded in the form of an Ethernet frame; `None` if its link type is not read.
    ///
    /// Packets of other links get an Ethernet header of their EtherType. Its addresses are 0, but for MAC control,
    /// where the destination is the one that pauses have.
    pub fn beginning(&self) -> Option<Cow<'_, [u8]>> {
        if self.link == Link::Ethernet {
            return Some(Cow::Borrowed(&self.bytes));
        }
        let (header, ether_type) = self.link.before_packet()?;
        let dst = match ether_type {
            EtherType::MAC_CONTROL => MacAddr::CONTROL,
            _ => MacAddr([0; 6]),
        };
        let packet = &self.bytes[header..];
        let mut frame = Vec::with_capacity(EthernetRepr::LEN + packet.len());
        frame.extend(dst.0);
        frame.extend([0; 6]);
        frame.extend(ether_type.0.to_be_bytes());
        frame.extend(packet);
        Some(Cow::Owned(frame))
    }

    /// Returns the [beginning](Self::beginning), filled up to the length of the frame; `None` if there is none, or if
    /// the frame is too long.
    pub fn filled(&self) -> Option<Filled<'_>> {
        if self.is_too_long() {
            return None;
        }
        let mut bytes = self.beginning()?;
        let kept = bytes.len();
        let missing = self.length - self.bytes.len();
        if missing > 0 {
            bytes.to_mut().resize(kept + missing, 0);
        }
        Some(Filled {
            bytes,
            kept,
            addressed: self.link == Link::Ethernet,
        })
    }
}
