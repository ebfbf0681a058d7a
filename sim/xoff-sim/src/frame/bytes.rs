//! The bytes of a frame. Payload that is a copy of memory may be named in place of being written.

use std::fmt;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::host::memory::Extent;
use crate::protocol::icrc;
use crate::wire::{ICRC_BYTES, MIN_FRAME_BYTES, Walk};

/// A frame from the destination address to the end of data, without FCS.
///
/// Either all bytes are written, or those of the headers are, and what follows is a payload with the content that
/// memory has at an address, its pad bytes, and a right ICRC. Most frames among model NICs are of the second kind: they
/// pass through a network as headers, and become [whole](Self::whole) where somebody looks at all bytes, such as an RTL
/// NIC, a capture or a fault. Clones share what is written.
#[derive(Clone, Default, Eq, Serialize, Deserialize)]
pub struct FrameBytes {
    written: Bytes,
    content: Option<Extent>,
}

impl FrameBytes {
    /// Fewest bytes of a payload that is named: with fewer, a frame could be shorter than the shortest on Ethernet.
    pub const CONTENT_MIN: usize = 64;

    /// A complete RoCEv2 packet of RC: all headers up to the payload, without options of IPv4, and the payload. The ICRC
    /// is the right one.
    ///
    /// # Panics
    ///
    /// If the payload is shorter than [`CONTENT_MIN`](Self::CONTENT_MIN).
    pub fn of(headers: Bytes, payload: Extent) -> Self {
        assert!(payload.len() >= Self::CONTENT_MIN, "{payload:?} is written");
        Self {
            written: headers,
            content: Some(payload),
        }
    }

    /// Length of the frame in bytes, without FCS.
    pub fn len(&self) -> usize {
        let content = self.content.map(|content| content.len());
        let behind = content.map_or(0, |bytes| bytes.next_multiple_of(4) + ICRC_BYTES);
        self.written.len() + behind
    }

    /// Whether there is no byte at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The headers, and all that follows them if it is written.
    pub const fn headers(&self) -> &Bytes {
        &self.written
    }

    /// The payload, if it is not written: it begins where [`headers`](Self::headers) ends.
    pub const fn content(&self) -> Option<Extent> {
        self.content
    }

    /// All bytes. Those that are written are shared.
    pub fn whole(&self) -> Bytes {
        let Some(content) = self.content else {
            return self.written.clone();
        };
        let mut bytes = Vec::with_capacity(self.len());
        bytes.extend_from_slice(&self.written);
        bytes.resize(self.written.len() + content.len().next_multiple_of(4), 0);
        content.read(&mut bytes[self.written.len()..][..content.len()]);
        let ip = Walk::of(&self.written).and_then(|walk| walk.ip());
        let icrc = ip.and_then(|ip| icrc(ip.head.kind, &bytes[ip.at..]).ok());
        let icrc = icrc.expect("the headers of a packet are written");
        bytes.extend_from_slice(&icrc);
        bytes.into()
    }

    /// Changes header fields that the ICRC does not protect: addresses and tags of Ethernet, traffic class, TTL or hop
    /// limit, checksum (IBTA annex A17). What is written is copied if somebody else holds it too.
    #[must_use]
    pub fn edited(self, change: impl FnOnce(BytesMut) -> BytesMut) -> Self {
        let written =
            (self.written.try_into_mut()).unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Self {
            written: change(written).freeze(),
            ..self
        }
    }

    /// The frame with zeros to the shortest length of Ethernet, 60 bytes without FCS (IEEE 802.3 §3.2.8).
    #[must_use]
    pub fn padded(self) -> Self {
        if self.len() >= MIN_FRAME_BYTES {
            return self;
        }
        self.edited(|mut bytes| {
            bytes.resize(MIN_FRAME_BYTES, 0);
            bytes
        })
    }
}

impl From<Bytes> for FrameBytes {
    fn from(bytes: Bytes) -> Self {
        Self {
            written: bytes,
            content: None,
        }
    }
}

impl From<Vec<u8>> for FrameBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

/// Equal are frames with the same bytes, whether written or not.
impl PartialEq for FrameBytes {
    fn eq(&self, other: &Self) -> bool {
        match self.content == other.content {
            true => self.written == other.written,
            false => self.len() == other.len() && self.whole() == other.whole(),
        }
    }
}

impl fmt::Debug for FrameBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, f)?;
        match self.content {
            Some(content) => write!(f, " + {content:?}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::headers::{Headers, rewrite};
    use crate::protocol::parse;
    use crate::wire::frame::{IpKind, Verdict};
    use crate::wire::{BthRepr, EthernetRepr, Ipv4Repr, Ipv6Repr, UdpRepr, VlanTagRepr};

    /// A packet of a SEND that names its payload, and the same packet as the builder writes it.
    fn both(ipv6: bool, tags: usize, extent: Extent) -> (FrameBytes, Bytes) {
        use crate::protocol::{Content, Descriptor, IpFields, RocePacket};
        use crate::wire::{ExtHeaders, MacAddr, Opcode, Qpn, Tci};
        let mut payload = vec![0; extent.len()];
        extent.read(&mut payload);
        let tag = |vid| Tci {
            pcp: 3,
            dei: false,
            vid,
        };
        let descriptor = Descriptor {
            dst: MacAddr([2; 6]),
            src: MacAddr([4; 6]),
            tags: (1..=tags as u16).map(tag).collect(),
            content: Content::Roce(RocePacket {
                ip: IpFields {
                    kind: if ipv6 { IpKind::V6 } else { IpKind::V4 },
                    traffic_class: 26 << 2 | 2,
                    flow_label: 0,
                    id: if ipv6 { 0 } else { 7 },
                    flags: if ipv6 { 0 } else { 2 },
                    hop_limit: 64,
                    src: 0x0A00_0001,
                    dst: 0x0A00_0002,
                },
                udp_src_port: Some(0xC000),
                bth: BthRepr {
                    opcode: Opcode::RC_SEND_ONLY,
                    pkey: 0xFFFF,
                    dest_qp: Qpn::new(9).unwrap(),
                    ..BthRepr::default()
                },
                ext: ExtHeaders::default(),
                payload,
            }),
        };
        let written = Bytes::from(descriptor.build().unwrap());
        let ip = if ipv6 { Ipv6Repr::LEN } else { Ipv4Repr::LEN };
        let network = EthernetRepr::LEN + tags * VlanTagRepr::LEN;
        let headers = network + ip + UdpRepr::LEN + BthRepr::LEN;
        (FrameBytes::of(written.slice(..headers), extent), written)
    }

    proptest! {
        #[test]
        fn is_the_frame_that_the_builder_writes(
            ipv6: bool, tags in 0usize..3, va: u64, length in 64u16..=4096,
        ) {
            let (named, written) = both(ipv6, tags, Extent::new(va, length).unwrap());
            prop_assert_eq!(named.len(), written.len());
            prop_assert_eq!(named.whole(), &written);
            prop_assert_eq!(parse(&named.whole()).icrc_ok, Some(true));
            prop_assert_eq!(&named, &FrameBytes::from(written));
        }

        /// What a switch changes, it changes in the same way whether the payload is written or not.
        #[test]
        fn switches_change_both_alike(ipv6: bool, tags in 0usize..3, vid in prop::option::of(1u16..4000), va: u64) {
            use crate::wire::Tci;
            let (named, written) = both(ipv6, tags, Extent::new(va, 64).unwrap());
            let ip = Headers::at(&written).unwrap().ip.unwrap();
            let tag = vid.map(|vid| Tci { pcp: 5, dei: false, vid });
            let changed = |frame: FrameBytes| {
                let frame = frame.edited(|mut bytes| {
                    rewrite::decrement_ttl(&mut bytes, &ip);
                    rewrite::mark_ce(&mut bytes, &ip);
                    rewrite::retag(&bytes, &ip, tag)
                });
                frame.padded().whole()
            };
            let (named, written) = (changed(named), changed(written.into()));
            prop_assert_eq!(parse(&named).verdict, Verdict::RoceV2);
            prop_assert_eq!(parse(&named).icrc_ok, Some(true));
            prop_assert_eq!(named, written);
        }
    }

    #[test]
    fn shared_bytes_are_not_changed() {
        let frame = FrameBytes::from(vec![1; 60]);
        let copy = frame.clone();
        let changed = frame.edited(|mut bytes| {
            bytes[0] = 2;
            bytes
        });
        assert_eq!((copy.whole()[0], changed.whole()[0]), (1, 2));
        assert_ne!(copy, changed);
    }
}
