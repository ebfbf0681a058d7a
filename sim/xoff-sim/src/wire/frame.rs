//! The result of parsing a frame. The RTL's driver and the reference parser both produce this type, so that `==`
//! compares them.
//!
//! The meaning of each verdict and reason, and the order of the checks, are described in `rtl/parser/README.md`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BthRepr, EtherType, ExtHeaders, MacAddr, Tci};

/// An enum whose variants have a snake-case name (for `Display` and serde) and the code of `roce_pkg.sv`.
macro_rules! named_codes {
    ($(#[$doc:meta])* $Type:ident { $($(#[$variant_doc:meta])* $Variant:ident = $code:literal $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $Type {
            $($(#[$variant_doc])* #[serde(rename = $name)] $Variant = $code,)*
        }

        impl $Type {
            /// All variants, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$Variant),*];

            /// The name in snake case, as `rtl/parser/README.md` has it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }

            /// The code in `roce_pkg.sv`.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The variant with that code in `roce_pkg.sv`.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$Variant),)* _ => None }
            }
        }

        impl fmt::Display for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named_codes! {
    /// The kind of a frame, as the parser classifies it.
    Verdict {
        /// Complete as far as it was read, and neither RoCE nor a pause.
        Other = 0 "other",
        /// A complete RoCEv2 packet over IPv4 or IPv6.
        RoceV2 = 1 "roce_v2",
        /// A complete RoCEv1 packet: EtherType 0x8915, GRH.
        RoceV1 = 2 "roce_v1",
        /// A congestion notification packet: RoCEv2, opcode 0x81.
        Cnp = 3 "cnp",
        /// An 802.1Qbb priority pause.
        Pfc = 4 "pfc",
        /// An 802.3x PAUSE.
        Pause = 5 "pause",
        /// Broken; [`ParsedFrame::reason`] says why.
        Malformed = 6 "malformed",
    }
}

impl Verdict {
    /// Whether a frame with this verdict has a payload that is handed on: `roce_v2`, `roce_v1`, `cnp`.
    pub const fn is_roce(self) -> bool {
        matches!(self, Self::RoceV2 | Self::RoceV1 | Self::Cnp)
    }
}

named_codes! {
    /// Why a frame is malformed: the first check that failed.
    Reason {
        /// Shorter than an Ethernet header.
        EthTruncated = 1 "eth_truncated",
        /// Ends inside a VLAN tag or the EtherType after it.
        VlanTruncated = 2 "vlan_truncated",
        /// Ends inside a MAC control header.
        ControlTruncated = 3 "control_truncated",
        /// PFC or PAUSE to a destination to which it must not be sent.
        ControlAddress = 4 "control_address",
        /// Ends before the end of the IP packet.
        IpTruncated = 5 "ip_truncated",
        /// The version does not match the EtherType.
        IpVersion = 6 "ip_version",
        /// IHL is below 5.
        IpHeaderLength = 7 "ip_header_length",
        /// The total length is shorter than the header.
        IpLength = 8 "ip_length",
        /// The IPv4 header checksum is wrong.
        IpChecksum = 9 "ip_checksum",
        /// A fragment of a UDP datagram.
        IpFragment = 10 "ip_fragment",
        /// The GRH is not followed by a BTH.
        GrhNextHeader = 11 "grh_next_header",
        /// The IP payload is shorter than a UDP header.
        UdpTruncated = 12 "udp_truncated",
        /// The UDP length differs from the length of the IP payload.
        UdpLength = 13 "udp_length",
        /// There is no room for BTH and ICRC.
        BthTruncated = 14 "bth_truncated",
        /// The transport packet is not a whole number of 4-byte words.
        IbAlignment = 15 "ib_alignment",
        /// The BTH's TVer is not 0.
        BthVersion = 16 "bth_version",
        /// The opcode is neither one of RC, UC or UD, nor the CNP's.
        UnknownOpcode = 17 "unknown_opcode",
        /// There is no room for the opcode's extension headers.
        HeaderTruncated = 18 "header_truncated",
        /// The pad count exceeds the number of bytes present.
        PadCount = 19 "pad_count",
        /// There is payload with an opcode that has none.
        UnexpectedPayload = 20 "unexpected_payload",
    }
}

/// Ethernet header and tags.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EthHead {
    /// Destination address.
    pub dst: MacAddr,
    /// Source address.
    pub src: MacAddr,
    /// The tags reported, the outer one first; at most two.
    pub tags: Vec<Tci>,
    /// The EtherType after the last tag reported.
    pub ether_type: EtherType,
}

/// MAC control: PFC or PAUSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ControlHead {
    /// [`CONTROL_PFC`](super::CONTROL_PFC) or [`CONTROL_PAUSE`](super::CONTROL_PAUSE).
    pub opcode: u16,
    /// PFC: class-enable vector as on the wire, the reserved high half included. PAUSE: 0.
    pub class_enable: u16,
    /// Pause times in quanta of 512 bit times. PFC: one for each class. PAUSE: the first one; the others are 0.
    pub timers: [u16; 8],
}

/// The kind of a network header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IpKind {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Global route header of RoCEv1.
    Grh,
}

/// A network header, in a common form for IPv4, IPv6 and GRH.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IpHead {
    /// The kind of header.
    pub kind: IpKind,
    /// IPv4: DSCP and ECN.
    pub traffic_class: u8,
    /// IPv6 and GRH, 20 bits; IPv4: 0.
    pub flow_label: u32,
    /// IPv4 identification; otherwise 0.
    pub id: u16,
    /// IPv4 flags, three bits from the high one: reserved, DF, MF; otherwise 0.
    pub flags: u8,
    /// IPv4 fragment offset in units of 8 bytes, 13 bits; otherwise 0.
    pub fragment_offset: u16,
    /// IPv4: TTL.
    pub hop_limit: u8,
    /// IPv4: protocol.
    pub next_header: u8,
    /// The length in bytes, as on the wire: IPv4 total length, IPv6 and GRH payload length.
    pub length: u16,
    /// Source. An IPv4 address is in the low 32 bits, and the others are 0.
    #[serde(with = "address")]
    pub src: u128,
    /// Destination. An IPv4 address is in the low 32 bits, and the others are 0.
    #[serde(with = "address")]
    pub dst: u128,
}

impl fmt::Debug for IpHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IpHead")
            .field("kind", &self.kind)
            .field(
                "traffic_class",
                &format_args!("{:#04x}", self.traffic_class),
            )
            .field("flow_label", &format_args!("{:#07x}", self.flow_label))
            .field("id", &format_args!("{:#06x}", self.id))
            .field("flags", &format_args!("{:#05b}", self.flags))
            .field("fragment_offset", &self.fragment_offset)
            .field("hop_limit", &self.hop_limit)
            .field("next_header", &self.next_header)
            .field("length", &self.length)
            .field("src", &format_args!("{:#x}", self.src))
            .field("dst", &format_args!("{:#x}", self.dst))
            .finish()
    }
}

/// Serde of 128-bit addresses as text `0x…`, because not every format supports numbers of this size.
pub(crate) mod address {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        address: &u128,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{address:#x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").ok_or_else(|| {
            D::Error::custom(format!(
                "address '{text}': expected 0x and hexadecimal digits"
            ))
        })?;
        u128::from_str_radix(digits, 16)
            .map_err(|error| D::Error::custom(format!("address '{text}': {error}")))
    }
}

/// The result of parsing a frame.
///
/// A layer is `Some` exactly when the contract reports it: see the `has_…` bits of `parse_result_t` in `roce_pkg.sv`.
/// Malformed frames have the layers outside the fault.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParsedFrame {
    /// The kind of frame.
    pub verdict: Verdict,
    /// Why it is malformed; `None` for every other verdict.
    pub reason: Option<Reason>,
    /// Length of the frame in bytes, without FCS.
    pub frame_bytes: usize,
    /// Ethernet header and tags.
    pub eth: Option<EthHead>,
    /// MAC control.
    pub control: Option<ControlHead>,
    /// Network header.
    pub ip: Option<IpHead>,
    /// UDP source port; reported together with the BTH, but absent under a GRH.
    pub udp_src_port: Option<u16>,
    /// Base transport header.
    pub bth: Option<BthRepr>,
    /// Extension headers: those of the opcode, which may be none.
    pub ext: Option<ExtHeaders>,
    /// Length of the payload in bytes, without pad and ICRC, as announced by the lengths on the wire.
    pub payload_bytes: Option<u16>,
    /// Whether the ICRC is correct.
    pub icrc_ok: Option<bool>,
    /// The payload bytes that were handed on. For a RoCE verdict this is the payload. For a packet that is cut short
    /// (`ip_truncated`) it may be the part of the payload that arrived; then [`payload_bytes`](Self::payload_bytes)
    /// is `None`. Otherwise it is empty.
    pub payload: Vec<u8>,
}

impl ParsedFrame {
    /// A result in which nothing but the length is known, with verdict `other`.
    pub fn empty(frame_bytes: usize) -> Self {
        Self {
            verdict: Verdict::Other,
            reason: None,
            frame_bytes,
            eth: None,
            control: None,
            ip: None,
            udp_src_port: None,
            bth: None,
            ext: None,
            payload_bytes: None,
            icrc_ok: None,
            payload: Vec::new(),
        }
    }
}

impl fmt::Debug for ParsedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParsedFrame")
            .field("verdict", &format_args!("{}", self.verdict))
            .field("reason", &self.reason.map_or("none", Reason::name))
            .field("frame_bytes", &self.frame_bytes)
            .field("eth", &self.eth)
            .field("control", &self.control)
            .field("ip", &self.ip)
            .field("udp_src_port", &self.udp_src_port)
            .field("bth", &self.bth)
            .field("ext", &self.ext)
            .field("payload_bytes", &self.payload_bytes)
            .field("icrc_ok", &self.icrc_ok)
            .field("payload", &Hex(&self.payload))
            .finish()
    }
}

/// Bytes, shown as hexadecimal on one line, because a payload of thousands of bytes as a list of numbers would hide
/// everything else.
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes", self.0.len())?;
        for (i, byte) in self.0.iter().enumerate() {
            f.write_str(match i {
                0 => ": ",
                _ if i % 4 == 0 => " ",
                _ => "",
            })?;
            write!(f, "{byte:02x}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes() {
        assert_eq!(Verdict::RoceV2.to_string(), "roce_v2");
        assert_eq!(
            serde_json::to_string(&Reason::GrhNextHeader).unwrap(),
            "\"grh_next_header\""
        );
        for &reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(reason));
            // The name must be the variant's name in snake case.
            let camel: String = reason
                .name()
                .split('_')
                .map(|word| word[..1].to_uppercase() + &word[1..])
                .collect();
            assert_eq!(camel, format!("{reason:?}"));
        }
        assert_eq!(Reason::from_code(0), None);
        assert_eq!(Reason::ALL.len(), 20);
        assert_eq!(Verdict::ALL.len(), 7);
    }

    #[test]
    fn json_both_ways() {
        let mut parsed = ParsedFrame::empty(60);
        parsed.ip = Some(IpHead {
            kind: IpKind::V6,
            traffic_class: 1,
            flow_label: 2,
            id: 0,
            flags: 0,
            fragment_offset: 0,
            hop_limit: 3,
            next_header: 17,
            length: 4,
            src: u128::MAX,
            dst: 1,
        });
        let text = serde_json::to_string(&parsed).unwrap();
        assert_eq!(serde_json::from_str::<ParsedFrame>(&text).unwrap(), parsed);
    }
}
