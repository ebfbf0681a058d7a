//! The reference builder: turns the description of a packet into a frame.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::protocol::icrc;
use crate::wire::frame::{self, Hex, IpKind, ParsedFrame, Verdict};
use crate::wire::{
    Bth, BthRepr, CONTROL_PFC, Cnp, CnpRepr, EtherType, Ethernet, EthernetRepr, ExtHeaders,
    ExtLayout, GRH_NEXT_HEADER_BTH, Grh, GrhRepr, ICRC_BYTES, IP_PROTOCOL_UDP, Ipv4, Ipv4Repr,
    Ipv6, Ipv6Repr, MIN_FRAME_BYTES, MacAddr, Opcode, Pause, PauseRepr, Pfc, PfcRepr, Tci,
    UDP_PORT_ROCE, Udp, UdpRepr, VlanTag, VlanTagRepr, room,
};

/// The description of a frame: everything that a sender chooses. Lengths, pad count, checksum, ICRC and Ethernet
/// padding follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Descriptor {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// Tags, the outer one first; at most two. A single tag is a customer tag (0x8100); of two, the outer one is a
    /// service tag (0x88A8).
    #[serde(default)]
    pub tags: Vec<Tci>,
    /// What the frame carries.
    pub content: Content,
}

/// The content of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    clippy::large_enum_variant,
    reason = "all but a few frames are RoCE: a box would cost more than the room it saves"
)]
pub enum Content {
    /// A RoCE packet: RoCEv2 over IPv4 or IPv6, a CNP, or RoCEv1, as [`IpFields::kind`] and the opcode say.
    Roce(RocePacket),
    /// Priority pause (PFC).
    Pfc(PfcRepr),
    /// PAUSE.
    Pause(PauseRepr),
}

/// The description of a RoCE packet.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RocePacket {
    /// Network header.
    pub ip: IpFields,
    /// UDP source port: `Some` over IPv4 and IPv6, `None` under a GRH.
    pub udp_src_port: Option<u16>,
    /// Base transport header. The pad count follows from the payload; the value here is ignored.
    pub bth: BthRepr,
    /// Extension headers, which must be those of the opcode.
    pub ext: ExtHeaders,
    /// Payload, without padding.
    pub payload: Vec<u8>,
}

impl fmt::Debug for RocePacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocePacket")
            .field("ip", &self.ip)
            .field("udp_src_port", &self.udp_src_port)
            .field("bth", &self.bth)
            .field("ext", &self.ext)
            .field("payload", &Hex(&self.payload))
            .finish()
    }
}

/// The fields of a network header that a sender chooses. Fields that the kind of header does not have are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IpFields {
    /// The kind of network header.
    pub kind: IpKind,
    /// IPv4: DSCP and ECN.
    pub traffic_class: u8,
    /// IPv6 and GRH, 20 bits.
    pub flow_label: u32,
    /// IPv4 identification.
    pub id: u16,
    /// IPv4 flags, three bits from the high one: reserved, DF, MF. MF must be 0.
    pub flags: u8,
    /// IPv4: TTL.
    pub hop_limit: u8,
    /// Source; IPv4 in the low 32 bits.
    #[serde(with = "frame::address")]
    pub src: u128,
    /// Destination; IPv4 in the low 32 bits.
    #[serde(with = "frame::address")]
    pub dst: u128,
}

/// Why a frame cannot be built from its description.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DescriptorError {
    /// There are more than two tags.
    #[error("{count} VLAN tags: a frame has at most 2")]
    TooManyTags {
        /// Number of tags.
        count: usize,
    },
    /// A value does not fit in its field.
    #[error("{field} is {value:#x}, which does not fit in its {bits} bits")]
    TooWide {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u128,
        /// Its width on the wire.
        bits: u32,
    },
    /// A field that this network header does not have is not 0.
    #[error("{field} is {value:#x}, but {kind:?} has no such field: leave it 0")]
    NotInHeader {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The network header.
        kind: IpKind,
    },
    /// PFC or PAUSE has a tag.
    #[error("a MAC control frame with a VLAN tag: it has none (IEEE 802.3 clause 31)")]
    TaggedControl,
    /// PFC or PAUSE has a destination to which it must not be sent.
    #[error(
        "MAC control frame to {dst}: PFC goes to 01:80:c2:00:00:01, PAUSE there or to an individual address"
    )]
    ControlAddress {
        /// The destination address.
        dst: MacAddr,
    },
    /// The MF flag is set.
    #[error("the IPv4 flag MF is set: a RoCE packet is never a fragment")]
    Fragment,
    /// There is no UDP source port over IP, or there is one under a GRH.
    #[error("UDP source port {src_port:?} with {kind:?}: IPv4 and IPv6 need one, a GRH has none")]
    SourcePort {
        /// The port given.
        src_port: Option<u16>,
        /// The network header.
        kind: IpKind,
    },
    /// The opcode is neither one of RC, UC or UD, nor the CNP's.
    #[error("opcode {opcode}: expected one of RC, UC, UD, or CNP")]
    UnknownOpcode {
        /// The opcode.
        opcode: Opcode,
    },
    /// The transport header version is not 0.
    #[error("TVer is {tver}: it must be 0")]
    TransportVersion {
        /// The version.
        tver: u8,
    },
    /// The packet is a CNP under a GRH.
    #[error("a CNP under a GRH: congestion notification is RoCEv2's")]
    CnpUnderGrh,
    /// The packet is a CNP without BECN.
    #[error("a CNP with BECN 0: it is 1 in every CNP (annex A17.9.3)")]
    CnpWithoutBecn,
    /// The extension headers are not those of the opcode.
    #[error("extension headers of {opcode}: there are {}, but the opcode has {}", names(*.given), names(*.expected))]
    ExtHeaders {
        /// The opcode.
        opcode: Opcode,
        /// The headers given.
        given: ExtLayout,
        /// The headers that the opcode requires.
        expected: ExtLayout,
    },
    /// There is payload with an opcode that carries none.
    #[error("{bytes} bytes of payload with {opcode}, which carries none")]
    UnexpectedPayload {
        /// The opcode.
        opcode: Opcode,
        /// Payload length.
        bytes: usize,
    },
    /// The payload is too long for the 16-bit lengths.
    #[error(
        "{bytes} bytes of payload: the 16-bit length of {kind:?} leaves room for {max} with {opcode}"
    )]
    PayloadTooLong {
        /// Payload length.
        bytes: usize,
        /// The longest payload that fits.
        max: usize,
        /// The network header.
        kind: IpKind,
        /// The opcode.
        opcode: Opcode,
    },
}

/// The names of the headers of a layout, for messages.
fn names(layout: ExtLayout) -> String {
    let all = [
        (layout.deth, "DETH"),
        (layout.reth, "RETH"),
        (layout.atomic, "AtomicETH"),
        (layout.aeth, "AETH"),
        (layout.atomic_ack, "AtomicAckETH"),
        (layout.imm, "ImmDt"),
        (layout.ieth, "IETH"),
    ];
    let there: Vec<&str> = all
        .into_iter()
        .filter_map(|(there, name)| there.then_some(name))
        .collect();
    if there.is_empty() {
        "none".into()
    } else {
        there.join(" + ")
    }
}

impl Descriptor {
    /// Checks whether the frame can be built.
    ///
    /// # Errors
    ///
    /// [`DescriptorError`]: the first thing that does not fit, and what would.
    pub fn check(&self) -> Result<(), DescriptorError> {
        if self.tags.len() > 2 {
            return Err(DescriptorError::TooManyTags {
                count: self.tags.len(),
            });
        }
        for tag in &self.tags {
            fits("PCP", tag.pcp, 3)?;
            fits("VID", tag.vid, 12)?;
        }
        match &self.content {
            Content::Roce(packet) => packet.check(),
            Content::Pfc(_) | Content::Pause(_) if !self.tags.is_empty() => {
                Err(DescriptorError::TaggedControl)
            }
            Content::Pfc(_) if self.dst != MacAddr::CONTROL => {
                Err(DescriptorError::ControlAddress { dst: self.dst })
            }
            Content::Pause(_) if self.dst != MacAddr::CONTROL && self.dst.is_group() => {
                Err(DescriptorError::ControlAddress { dst: self.dst })
            }
            Content::Pfc(_) | Content::Pause(_) => Ok(()),
        }
    }

    /// Builds the frame, from the destination address on, without preamble and FCS, at least 60 bytes long.
    ///
    /// # Errors
    ///
    /// What [`check`](Self::check) finds.
    pub fn build(&self) -> Result<Vec<u8>, DescriptorError> {
        self.check()?;
        let mut out = Vec::with_capacity(MIN_FRAME_BYTES);
        let ether_type = match &self.content {
            Content::Roce(packet) => match packet.ip.kind {
                IpKind::V4 => EtherType::IPV4,
                IpKind::V6 => EtherType::IPV6,
                IpKind::Grh => EtherType::ROCE_V1,
            },
            Content::Pfc(_) | Content::Pause(_) => EtherType::MAC_CONTROL,
        };
        self.emit_ethernet(ether_type, &mut out);
        match &self.content {
            Content::Roce(packet) => packet.emit(&mut out),
            Content::Pfc(pfc) => pfc.emit(&mut Pfc::new_unchecked(room(&mut out, PfcRepr::LEN))),
            Content::Pause(pause) => {
                pause.emit(&mut Pause::new_unchecked(room(&mut out, PauseRepr::LEN)))
            }
        }
        out.resize(out.len().max(MIN_FRAME_BYTES), 0);
        Ok(out)
    }

    /// The description of a frame that was parsed as RoCE, PFC or PAUSE; `None` for other frames.
    ///
    /// A [`ParsedFrame`] does not contain IPv4 options, TPIDs, a UDP checksum, or bytes after the packet. For a frame
    /// without these, [`build`](Self::build) produces the same frame again.
    pub fn from_parsed(parsed: &ParsedFrame) -> Option<Self> {
        let eth = parsed.eth.as_ref()?;
        let content = match parsed.verdict {
            Verdict::Pfc | Verdict::Pause => {
                let control = parsed.control?;
                if control.opcode == CONTROL_PFC {
                    Content::Pfc(PfcRepr {
                        class_enable: control.class_enable,
                        timers: control.timers,
                    })
                } else {
                    Content::Pause(PauseRepr {
                        timer: control.timers[0],
                    })
                }
            }
            Verdict::RoceV2 | Verdict::RoceV1 | Verdict::Cnp => {
                let ip = parsed.ip?;
                Content::Roce(RocePacket {
                    ip: IpFields {
                        kind: ip.kind,
                        traffic_class: ip.traffic_class,
                        flow_label: ip.flow_label,
                        id: ip.id,
                        flags: ip.flags,
                        hop_limit: ip.hop_limit,
                        src: ip.src,
                        dst: ip.dst,
                    },
                    udp_src_port: parsed.udp_src_port,
                    bth: parsed.bth?,
                    ext: parsed.ext?,
                    payload: parsed.payload.clone(),
                })
            }
            Verdict::Other | Verdict::Malformed => return None,
        };
        Some(Self {
            dst: eth.dst,
            src: eth.src,
            tags: eth.tags.clone(),
            content,
        })
    }

    fn emit_ethernet(&self, ether_type: EtherType, out: &mut Vec<u8>) {
        let header = EthernetRepr {
            dst: self.dst,
            src: self.src,
            ether_type,
        };
        header.emit(&mut Ethernet::new_unchecked(room(out, EthernetRepr::LEN)));
        // Tags go between the source address and the EtherType.
        out.truncate(EthernetRepr::LEN - 2);
        for (i, tag) in self.tags.iter().enumerate() {
            let tpid = if i + 1 < self.tags.len() {
                EtherType::S_TAG
            } else {
                EtherType::C_TAG
            };
            tag.tag(tpid)
                .emit(&mut VlanTag::new_unchecked(room(out, VlanTagRepr::LEN)));
        }
        out.extend(ether_type.0.to_be_bytes());
    }
}

impl RocePacket {
    fn check(&self) -> Result<(), DescriptorError> {
        let Self {
            ip,
            udp_src_port,
            bth,
            ext,
            payload,
        } = self;
        let kind = ip.kind;
        ip.check()?;
        if udp_src_port.is_some() == (kind == IpKind::Grh) {
            return Err(DescriptorError::SourcePort {
                src_port: *udp_src_port,
                kind,
            });
        }
        let opcode = bth.opcode;
        let expected = opcode
            .layout()
            .ok_or(DescriptorError::UnknownOpcode { opcode })?;
        if bth.tver != 0 {
            return Err(DescriptorError::TransportVersion { tver: bth.tver });
        }
        fits("reserved field after BECN", bth.reserved6, 6)?;
        fits("reserved field after A", bth.reserved7, 7)?;
        if opcode == Opcode::CNP && kind == IpKind::Grh {
            return Err(DescriptorError::CnpUnderGrh);
        }
        if opcode == Opcode::CNP && !bth.becn {
            return Err(DescriptorError::CnpWithoutBecn);
        }
        if !ext.fits(expected) {
            return Err(DescriptorError::ExtHeaders {
                opcode,
                given: ext.layout(),
                expected,
            });
        }
        let bytes = payload.len();
        if bytes > 0 && !opcode.has_payload() {
            return Err(DescriptorError::UnexpectedPayload { opcode, bytes });
        }
        // Headers and ICRC are whole words, so padding matters only by rounding down here.
        let headers = self.network_bytes_counted()
            + self.udp_bytes()
            + BthRepr::LEN
            + expected.bytes()
            + ICRC_BYTES;
        let max = (usize::from(u16::MAX) - headers) / 4 * 4;
        if bytes > max {
            return Err(DescriptorError::PayloadTooLong {
                bytes,
                max,
                kind,
                opcode,
            });
        }
        Ok(())
    }

    /// Bytes of the network header that its own length field includes.
    fn network_bytes_counted(&self) -> usize {
        match self.ip.kind {
            IpKind::V4 => Ipv4Repr::LEN,
            IpKind::V6 | IpKind::Grh => 0,
        }
    }

    fn udp_bytes(&self) -> usize {
        if self.ip.kind == IpKind::Grh {
            0
        } else {
            UdpRepr::LEN
        }
    }

    /// Appends the packet from network header to ICRC. [`check`](Self::check) must have passed.
    fn emit(&self, out: &mut Vec<u8>) {
        let network = out.len();
        let layout = self.bth.opcode.layout().unwrap_or_default();
        let pad = self.payload.len().wrapping_neg() % 4;
        let transport = BthRepr::LEN + layout.bytes() + self.payload.len() + pad + ICRC_BYTES;
        let length =
            |bytes: usize| u16::try_from(bytes).expect("check() has seen that the payload fits");
        self.ip.emit(
            length(self.network_bytes_counted() + self.udp_bytes() + transport),
            out,
        );
        if let Some(src_port) = self.udp_src_port {
            let udp = UdpRepr {
                src_port,
                dst_port: UDP_PORT_ROCE,
                length: length(UdpRepr::LEN + transport),
                checksum: 0,
            };
            udp.emit(&mut Udp::new_unchecked(room(out, UdpRepr::LEN)));
        }
        let bth = BthRepr {
            pad: pad as u8,
            ..self.bth
        };
        bth.emit(&mut Bth::new_unchecked(room(out, BthRepr::LEN)));
        if layout.cnp {
            CnpRepr::default().emit(&mut Cnp::new_unchecked(room(out, CnpRepr::LEN)));
        }
        self.ext.emit(out);
        out.extend(&self.payload);
        room(out, pad);
        let icrc = icrc(self.ip.kind, &out[network..]).expect("all headers have just been written");
        out.extend(icrc);
    }
}

impl IpFields {
    fn check(&self) -> Result<(), DescriptorError> {
        let absent = |field, value: u32| match value {
            0 => Ok(()),
            value => Err(DescriptorError::NotInHeader {
                field,
                value,
                kind: self.kind,
            }),
        };
        match self.kind {
            IpKind::V4 => {
                absent("flow label", self.flow_label)?;
                fits("IPv4 flags", self.flags, 3)?;
                fits("IPv4 source address", self.src, 32)?;
                fits("IPv4 destination address", self.dst, 32)?;
                if self.flags & 0b001 != 0 {
                    return Err(DescriptorError::Fragment);
                }
            }
            IpKind::V6 | IpKind::Grh => {
                fits("flow label", self.flow_label, 20)?;
                absent("identification", self.id.into())?;
                absent("flags", self.flags.into())?;
            }
        }
        Ok(())
    }

    /// Appends the network header; `length` is the value for its length field.
    fn emit(&self, length: u16, out: &mut Vec<u8>) {
        match self.kind {
            IpKind::V4 => {
                let header = Ipv4Repr {
                    traffic_class: self.traffic_class,
                    total_length: length,
                    id: self.id,
                    flags: self.flags,
                    fragment_offset: 0,
                    ttl: self.hop_limit,
                    protocol: IP_PROTOCOL_UDP,
                    src: self.src as u32,
                    dst: self.dst as u32,
                };
                header.emit(&mut Ipv4::new_unchecked(room(out, Ipv4Repr::LEN)));
            }
            IpKind::V6 => {
                let header = Ipv6Repr {
                    traffic_class: self.traffic_class,
                    flow_label: self.flow_label,
                    payload_length: length,
                    next_header: IP_PROTOCOL_UDP,
                    hop_limit: self.hop_limit,
                    src: self.src,
                    dst: self.dst,
                };
                header.emit(&mut Ipv6::new_unchecked(room(out, Ipv6Repr::LEN)));
            }
            IpKind::Grh => {
                let header = GrhRepr {
                    traffic_class: self.traffic_class,
                    flow_label: self.flow_label,
                    payload_length: length,
                    next_header: GRH_NEXT_HEADER_BTH,
                    hop_limit: self.hop_limit,
                    sgid: self.src,
                    dgid: self.dst,
                };
                header.emit(&mut Grh::new_unchecked(room(out, GrhRepr::LEN)));
            }
        }
    }
}

fn fits(field: &'static str, value: impl Into<u128>, bits: u32) -> Result<(), DescriptorError> {
    match value.into() {
        value if value >> bits == 0 => Ok(()),
        value => Err(DescriptorError::TooWide { field, value, bits }),
    }
}

#[cfg(test)]
mod tests;
