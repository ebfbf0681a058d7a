//! A described packet: keys with values, converted to the input of the builder.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;
use xoff_sim::protocol::{Content, Descriptor, DescriptorError, IpFields, RocePacket};
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, DethRepr, ExtHeaders, IethRepr, ImmDtRepr,
    MacAddr, Msn, Opcode, PauseRepr, PfcRepr, Psn, Qpn, RethRepr, Syndrome, Tci,
};
use xoff_waves::capture::{Direction, MAX_FRAME_BYTES};

use super::keys::{self, KeyError, Value};

/// Locally administered addresses, so that no real device is meant.
const DEFAULT_SRC_MAC: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x01]);
const DEFAULT_DST_MAC: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x02]);
/// Addresses for documentation (RFC 5737, RFC 3849).
const DEFAULT_IPV4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const DEFAULT_IPV6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
];
/// The first of the ports from which RoCEv2 senders choose (annex A17.3).
const DEFAULT_SRC_PORT: u64 = 0xC000;
const DEFAULT_TTL: u64 = 64;
const DEFAULT_DEST_QP: u64 = 0x11;
/// The default partition.
const DEFAULT_PKEY: u64 = 0xFFFF;
/// ACK without credits.
const DEFAULT_SYNDROME: u64 = 0x1F;

/// Maximum number of bytes around a payload: Ethernet with two tags, IPv6, UDP, BTH, the longest extension headers, pad
/// and ICRC.
const MOST_AROUND_PAYLOAD: usize = 14 + 8 + 40 + 8 + 12 + 28 + 3 + 4;
/// Maximum length of a payload, chosen so that every frame that is written can be read again.
const MOST_PAYLOAD: usize = MAX_FRAME_BYTES - MOST_AROUND_PAYLOAD;

/// An invalid description.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DescriptionError {
    /// An invalid key or value.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No key says which kind of packet is meant.
    #[error(
        "opcode: missing; name a packet with opcode=RC_SEND_ONLY (or its number, 0x04), verdict=cnp, verdict=pfc or verdict=pause"
    )]
    NoOpcode,
    /// A key that belongs to another kind of packet.
    #[error("{key}: {packet} has no such field")]
    NotHere {
        /// The key.
        key: &'static str,
        /// The packet described.
        packet: String,
    },
    /// Two keys that contradict each other.
    #[error("{key}={text}: but {other}")]
    Disagree {
        /// The key.
        key: &'static str,
        /// Its value.
        text: String,
        /// What the other keys say.
        other: String,
    },
    /// A row with verdict `other` or `malformed`.
    #[error(
        "verdict={verdict}: only whole frames of ours can be built (roce_v2, roce_v1, cnp, pfc, pause); --skip leaves such rows out"
    )]
    NotOurs {
        /// `other` or `malformed`.
        verdict: String,
    },
    /// An error of the builder.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
}

/// A packet for the builder, and changes to its frame after building.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Input of the builder.
    pub descriptor: Descriptor,
    /// Length of the frame with Ethernet padding, if it is not to be the shortest possible.
    bytes: Option<usize>,
    /// Whether to make the ICRC wrong.
    spoil_icrc: bool,
    /// When and where, for captures.
    pub seen: Seen,
}

/// When and where a frame was seen, for captures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// Its time; `None`: a microsecond after the frame before.
    pub time_ns: Option<u64>,
    /// The name of the interface.
    pub interface: Option<String>,
    /// Its direction at the interface.
    pub direction: Option<Direction>,
    /// Whether its FCS was wrong.
    pub bad_fcs: bool,
}

/// Keys with values, before they are combined into a packet.
#[derive(Debug, Clone, Default)]
pub struct Description {
    values: BTreeMap<&'static str, (String, Value)>,
}

impl Description {
    /// Parses `key=value` arguments.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid argument.
    pub fn from_arguments(arguments: &[String]) -> Result<Self, DescriptionError> {
        let mut description = Self::default();
        for argument in arguments {
            let (key, text) = argument.split_once('=').ok_or_else(|| KeyError::NoValue {
                text: argument.clone(),
            })?;
            description.set(key, text)?;
        }
        Ok(description)
    }

    /// Adds a key.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such key, if it has been given before, or if it cannot have this value.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), DescriptionError> {
        if let ("verdict", "other" | "malformed") = (key, text) {
            return Err(DescriptionError::NotOurs {
                verdict: text.into(),
            });
        }
        let (key, kind) = keys::find(key)?;
        let value = keys::read(key, kind, text)?;
        if self.values.insert(key, (text.into(), value)).is_some() {
            return Err(KeyError::Twice { key }.into());
        }
        Ok(())
    }

    /// Combines the keys into a packet.
    ///
    /// # Errors
    ///
    /// Returns an error if keys are missing, contradict each other, or belong to another kind of packet.
    pub fn packet(self) -> Result<Packet, DescriptionError> {
        let mut keys = Keys {
            values: self.values,
        };
        // The number of a row is not used here.
        keys.take("frame");
        let seen = keys.seen();
        let verdict = keys.word("verdict");
        let bytes = keys.number("bytes").map(|bytes| bytes as usize);
        let (descriptor, spoil_icrc, what) = match verdict {
            Some("pfc") => (keys.pfc()?, false, "a PFC frame".to_string()),
            Some("pause") => (keys.pause()?, false, "a PAUSE frame".to_string()),
            verdict => keys.roce(verdict)?,
        };
        if let Some((key, _)) = keys.values.into_iter().next() {
            return Err(DescriptionError::NotHere { key, packet: what });
        }
        descriptor.check()?;
        Ok(Packet {
            descriptor,
            bytes,
            spoil_icrc,
            seen,
        })
    }

    /// Removes and returns the keys that say when and where the frame was seen.
    pub fn seen(self) -> Seen {
        let values = self.values;
        Keys { values }.seen()
    }
}

impl Packet {
    /// Applies what the builder cannot do to the built frame: Ethernet padding to a stated length, a wrong ICRC.
    ///
    /// # Errors
    ///
    /// Returns an error if the stated length is shorter than the packet.
    pub fn finish(&self, mut frame: Vec<u8>) -> Result<Vec<u8>, DescriptionError> {
        let end = self.packet_end(&frame);
        if self.spoil_icrc {
            for byte in &mut frame[end - 4..end] {
                *byte = !*byte;
            }
        }
        match self.bytes {
            Some(bytes) if bytes < end => Err(DescriptionError::Disagree {
                key: "bytes",
                text: bytes.to_string(),
                other: format!("the packet has {end} bytes; what is longer is Ethernet padding"),
            }),
            Some(bytes) => {
                frame.resize(bytes, 0);
                Ok(frame)
            }
            None => Ok(frame),
        }
    }

    /// Returns the offset in the frame where the packet ends and Ethernet padding begins.
    fn packet_end(&self, frame: &[u8]) -> usize {
        let start = 14 + 4 * self.descriptor.tags.len();
        let half = |at: usize| usize::from(frame[at]) << 8 | usize::from(frame[at + 1]);
        match &self.descriptor.content {
            Content::Roce(packet) if packet.ip.kind == IpKind::V4 => start + half(start + 2),
            Content::Roce(_) => start + 40 + half(start + 4),
            Content::Pfc(_) => start + PfcRepr::LEN,
            Content::Pause(_) => start + PauseRepr::LEN,
        }
    }
}

/// Values that have not been used yet. Those left at the end belong to another kind of packet.
struct Keys {
    values: BTreeMap<&'static str, (String, Value)>,
}

impl Keys {
    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.values.remove(key).map(|(_, value)| value)
    }

    fn number(&mut self, key: &'static str) -> Option<u64> {
        match self.take(key)? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn seen(&mut self) -> Seen {
        Seen {
            time_ns: self.number("time_ns"),
            interface: match self.take("interface") {
                Some(Value::Text(name)) => Some(name),
                _ => None,
            },
            direction: self.word("direction").map(|word| match word {
                "received" => Direction::Received,
                _ => Direction::Sent,
            }),
            bad_fcs: self.flag("fcs_ok") == Some(false),
        }
    }

    fn number_or(&mut self, key: &'static str, default: u64) -> u64 {
        self.number(key).unwrap_or(default)
    }

    fn number24(&mut self, key: &'static str, default: u64) -> u32 {
        self.number_or(key, default) as u32
    }

    fn flag(&mut self, key: &'static str) -> Option<bool> {
        match self.take(key)? {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    fn word(&mut self, key: &'static str) -> Option<&'static str> {
        match self.take(key)? {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    fn mac(&mut self, key: &'static str, default: MacAddr) -> MacAddr {
        match self.take(key) {
            Some(Value::Mac(mac)) => mac,
            _ => default,
        }
    }

    fn pfc(&mut self) -> Result<Descriptor, DescriptionError> {
        let timers = match self.quanta() {
            None => [0; 8],
            Some(quanta) => {
                quanta
                    .as_slice()
                    .try_into()
                    .map_err(|_| DescriptionError::Disagree {
                        key: "quanta",
                        text: quanta[0].to_string(),
                        other: "PFC has eight, with commas between, class 0 first".into(),
                    })?
            }
        };
        // By default the classes with a time other than 0 are enabled.
        let with_time = (0..8)
            .filter(|&class| timers[class] != 0)
            .fold(0, |enable, class| enable | 1 << class);
        let class_enable = self.number_or("class_enable", with_time) as u16;
        Ok(self.control(Content::Pfc(PfcRepr {
            class_enable,
            timers,
        })))
    }

    fn pause(&mut self) -> Result<Descriptor, DescriptionError> {
        let quanta = self.quanta().unwrap_or(vec![0]);
        let &[timer] = quanta.as_slice() else {
            return Err(DescriptionError::Disagree {
                key: "quanta",
                text: quanta
                    .iter()
                    .map(u16::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
                other: "PAUSE has one time for all classes".into(),
            });
        };
        Ok(self.control(Content::Pause(PauseRepr { timer })))
    }

    fn quanta(&mut self) -> Option<Vec<u16>> {
        match self.take("quanta")? {
            Value::Quanta(quanta) => Some(quanta),
            _ => None,
        }
    }

    fn control(&mut self, content: Content) -> Descriptor {
        let dst = self.mac("dst_mac", MacAddr::CONTROL);
        Descriptor {
            dst,
            src: self.mac("src_mac", DEFAULT_SRC_MAC),
            tags: Vec::new(),
            content,
        }
    }

    /// Returns a RoCE packet, whether to make its ICRC wrong, and its name for messages.
    fn roce(
        &mut self,
        verdict: Option<&'static str>,
    ) -> Result<(Descriptor, bool, String), DescriptionError> {
        let opcode = self.opcode(verdict)?;
        let layout = opcode.layout().expect("only known opcodes are read");
        let payload = self.payload()?;
        let length = payload.len();

        let ip = self.ip(verdict)?;
        let udp_src_port =
            (ip.kind != IpKind::Grh).then(|| self.number_or("src_port", DEFAULT_SRC_PORT) as u16);
        let ext = ExtHeaders {
            deth: layout.deth.then(|| DethRepr {
                qkey: self.number_or("qkey", 0) as u32,
                src_qp: qpn(self.number24("src_qp", 0)),
            }),
            reth: layout.reth.then(|| RethRepr {
                va: self.number_or("va", 0),
                rkey: self.number_or("rkey", 0) as u32,
                dma_len: self.number_or("dma_len", length as u64) as u32,
            }),
            atomic: layout.atomic.then(|| AtomicEthRepr {
                va: self.number_or("va", 0),
                rkey: self.number_or("rkey", 0) as u32,
                swap_add: self.number_or("swap_add", 0),
                compare: self.number_or("compare", 0),
            }),
            aeth: layout.aeth.then(|| AethRepr {
                syndrome: Syndrome(self.number_or("syndrome", DEFAULT_SYNDROME) as u8),
                msn: Msn::new(self.number24("msn", 0)).expect("24 bits were checked"),
            }),
            atomic_ack: layout.atomic_ack.then(|| AtomicAckEthRepr {
                original: self.number_or("original", 0),
            }),
            imm: layout.imm.then(|| ImmDtRepr {
                imm: self.number_or("imm", 0) as u32,
            }),
            ieth: layout.ieth.then(|| IethRepr {
                rkey: self.number_or("inv_rkey", 0) as u32,
            }),
        };
        let bth = BthRepr {
            opcode,
            solicited: self.flag("solicited").unwrap_or(false),
            mig_req: self.flag("mig_req").unwrap_or(false),
            pkey: self.number_or("pkey", DEFAULT_PKEY) as u16,
            fecn: self.flag("fecn").unwrap_or(false),
            becn: self.flag("becn").unwrap_or(opcode == Opcode::CNP),
            dest_qp: qpn(self.number24("dest_qp", DEFAULT_DEST_QP)),
            ack_req: self.flag("ack_req").unwrap_or(false),
            psn: Psn::wrapping(self.number24("psn", 0)),
            ..BthRepr::default()
        };
        let pad = length.next_multiple_of(4) - length;
        if let Some(given) = self.number("pad")
            && given != pad as u64
        {
            let other = format!("{length} bytes of payload need a pad of {pad}");
            return Err(DescriptionError::Disagree {
                key: "pad",
                text: given.to_string(),
                other,
            });
        }
        let spoil_icrc = self.flag("icrc_ok") == Some(false);
        let tags = self.tags();
        let (src, dst) = (
            self.mac("src_mac", DEFAULT_SRC_MAC),
            self.mac("dst_mac", DEFAULT_DST_MAC),
        );
        let content = Content::Roce(RocePacket {
            ip,
            udp_src_port,
            bth,
            ext,
            payload,
        });
        let carrier = match ip.kind {
            IpKind::V4 => "IPv4",
            IpKind::V6 => "IPv6",
            IpKind::Grh => "a GRH",
        };
        Ok((
            Descriptor {
                dst,
                src,
                tags,
                content,
            },
            spoil_icrc,
            format!("{opcode} over {carrier}"),
        ))
    }

    /// Returns the opcode, from any of its three keys, which must not contradict each other.
    fn opcode(&mut self, verdict: Option<&'static str>) -> Result<Opcode, DescriptionError> {
        let implied = (verdict == Some("cnp")).then_some(Opcode::CNP);
        let mut found = implied;
        for key in ["opcode", "name"] {
            let Some((text, Value::Opcode(opcode))) = self.values.remove(key) else {
                continue;
            };
            match found {
                Some(other) if other != opcode => {
                    return Err(DescriptionError::Disagree {
                        key,
                        text,
                        other: format!("the opcode is {other}"),
                    });
                }
                _ => found = Some(opcode),
            }
        }
        match (found, verdict) {
            (Some(Opcode::CNP), Some(verdict @ "roce_v2")) => Err(DescriptionError::Disagree {
                key: "verdict",
                text: verdict.into(),
                other: "that of a CNP is cnp".into(),
            }),
            (found, _) => found.ok_or(DescriptionError::NoOpcode),
        }
    }

    fn payload(&mut self) -> Result<Vec<u8>, DescriptionError> {
        let length = self.number("payload_bytes").map(|length| length as usize);
        let payload = match (self.take("payload"), length) {
            (Some(Value::Payload(payload)), Some(length)) if payload.len() != length => {
                let other = format!("payload= gives {}", payload.len());
                return Err(DescriptionError::Disagree {
                    key: "payload_bytes",
                    text: length.to_string(),
                    other,
                });
            }
            (Some(Value::Payload(payload)), _) => payload,
            (_, length) => keys::pattern(length.unwrap_or(0)),
        };
        if payload.len() > MOST_PAYLOAD {
            let right = format!("{MOST_PAYLOAD} bytes at most");
            return Err(KeyError::Value {
                key: "payload_bytes",
                text: payload.len().to_string(),
                right,
            }
            .into());
        }
        Ok(payload)
    }

    fn tags(&mut self) -> Vec<Tci> {
        let (vid, pcp, dei) = (self.number("vlan"), self.number("pcp"), self.flag("dei"));
        if vid.is_none() && pcp.is_none() && dei.is_none() {
            return Vec::new();
        }
        // VID 0: a priority tag.
        vec![Tci {
            pcp: pcp.unwrap_or(0) as u8,
            dei: dei.unwrap_or(false),
            vid: vid.unwrap_or(0) as u16,
        }]
    }

    fn ip(&mut self, verdict: Option<&'static str>) -> Result<IpFields, DescriptionError> {
        let mut address = |key| match self.values.remove(key) {
            Some((text, Value::Ip(address))) => Some((key, text, address)),
            _ => None,
        };
        let given = [address("src_ip"), address("dst_ip")];
        let kind = match (verdict, self.word("ip_version")) {
            (Some("roce_v1"), None) => IpKind::Grh,
            (Some("roce_v1"), Some(version)) => {
                let other = "RoCEv1 has a GRH in place of IP".into();
                return Err(DescriptionError::Disagree {
                    key: "ip_version",
                    text: version.into(),
                    other,
                });
            }
            (_, Some("6")) => IpKind::V6,
            (_, None)
                if given
                    .iter()
                    .flatten()
                    .any(|(_, _, address)| address.is_ipv6()) =>
            {
                IpKind::V6
            }
            _ => IpKind::V4,
        };
        let mut addresses = match kind {
            IpKind::V4 => DEFAULT_IPV4.map(|address| u128::from(u32::from(address))),
            _ => DEFAULT_IPV6.map(u128::from),
        };
        for (slot, given) in addresses.iter_mut().zip(given) {
            let Some((key, text, address)) = given else {
                continue;
            };
            *slot = match (kind, address) {
                (IpKind::V4, IpAddr::V4(address)) => u32::from(address).into(),
                (IpKind::V6 | IpKind::Grh, IpAddr::V6(address)) => address.into(),
                // RoCEv1 names IPv4 hosts by mapped addresses (annex A16).
                (IpKind::Grh, IpAddr::V4(address)) => address.to_ipv6_mapped().into(),
                (kind, _) => {
                    let other = if kind == IpKind::V4 {
                        "the packet goes over IPv4"
                    } else {
                        "the packet goes over IPv6"
                    };
                    return Err(DescriptionError::Disagree {
                        key,
                        text,
                        other: other.into(),
                    });
                }
            };
        }
        let [src, dst] = addresses;
        let (dscp, ecn) = (self.number_or("dscp", 0), self.number_or("ecn", 0));
        let is_v4 = kind == IpKind::V4;
        Ok(IpFields {
            kind,
            traffic_class: (dscp << 2 | ecn) as u8,
            flow_label: if is_v4 {
                0
            } else {
                self.number24("flow_label", 0)
            },
            id: if is_v4 {
                self.number_or("ip_id", 0) as u16
            } else {
                0
            },
            // DF is the middle one of three flags.
            flags: if is_v4 && self.flag("dont_fragment").unwrap_or(true) {
                0b010
            } else {
                0
            },
            hop_limit: self.number_or("ttl", DEFAULT_TTL) as u8,
            src,
            dst,
        })
    }
}

fn qpn(number: u32) -> Qpn {
    Qpn::new(number).expect("24 bits were checked")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(arguments: &str) -> Result<Packet, DescriptionError> {
        let arguments: Vec<String> = arguments.split_whitespace().map(String::from).collect();
        Description::from_arguments(&arguments)?.packet()
    }

    fn message(arguments: &str) -> String {
        describe(arguments).unwrap_err().to_string()
    }

    fn roce(arguments: &str) -> RocePacket {
        match describe(arguments).unwrap().descriptor.content {
            Content::Roce(packet) => packet,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn defaults() {
        let packet = roce("opcode=RC_WRITE_ONLY payload=text:hello");
        assert_eq!(packet.payload, b"hello");
        assert_eq!(packet.ext.reth.unwrap().dma_len, 5);
        assert_eq!(
            (
                packet.bth.dest_qp.get(),
                packet.bth.pkey,
                packet.bth.psn.get()
            ),
            (0x11, 0xffff, 0)
        );
        assert_eq!(
            (packet.ip.kind, packet.ip.src as u32, packet.udp_src_port),
            (IpKind::V4, 0xc000_0201, Some(0xc000))
        );
        assert_eq!(roce("name=RC_ACK").ext.aeth.unwrap().syndrome.0, 0x1f);
        assert!(roce("verdict=cnp").bth.becn);
    }

    #[test]
    fn the_network_header_follows_from_verdict_version_and_addresses() {
        assert_eq!(roce("opcode=4 src_ip=2001:db8::9").ip.kind, IpKind::V6);
        assert_eq!(
            roce("opcode=4 ip_version=6").ip.dst,
            u128::from(DEFAULT_IPV6[1])
        );
        let v1 = roce("verdict=roce_v1 opcode=4");
        assert_eq!((v1.ip.kind, v1.udp_src_port), (IpKind::Grh, None));
        assert_eq!(
            message("opcode=4 ip_version=4 src_ip=2001:db8::9"),
            "src_ip=2001:db8::9: but the packet goes over IPv4"
        );
        assert_eq!(
            message("opcode=4 verdict=roce_v1 src_port=1"),
            "src_port: RC_SEND_ONLY over a GRH has no such field"
        );
        assert_eq!(
            message("opcode=4 ip_version=6 ip_id=1"),
            "ip_id: RC_SEND_ONLY over IPv6 has no such field"
        );
    }

    #[test]
    fn contradictions() {
        assert_eq!(
            message("psn=1"),
            "opcode: missing; name a packet with opcode=RC_SEND_ONLY (or its number, 0x04), verdict=cnp, verdict=pfc or verdict=pause"
        );
        assert_eq!(
            message("opcode=4 va=1"),
            "va: RC_SEND_ONLY over IPv4 has no such field"
        );
        assert_eq!(
            message("opcode=4 name=RC_ACK"),
            "name=RC_ACK: but the opcode is RC_SEND_ONLY"
        );
        assert_eq!(
            message("opcode=4 payload_bytes=5 payload=text:hi"),
            "payload_bytes=5: but payload= gives 2"
        );
        assert_eq!(
            message("opcode=4 payload_bytes=5 pad=1"),
            "pad=1: but 5 bytes of payload need a pad of 3"
        );
        assert_eq!(
            message("opcode=RC_ACK payload=text:hi"),
            "2 bytes of payload with RC_ACK, which carries none"
        );
        assert_eq!(
            message("verdict=pause quanta=1,2,3,4,5,6,7,8"),
            "quanta=1,2,3,4,5,6,7,8: but PAUSE has one time for all classes"
        );
        assert_eq!(
            message("verdict=pfc quanta=7"),
            "quanta=7: but PFC has eight, with commas between, class 0 first"
        );
        assert_eq!(
            message("verdict=pfc psn=7"),
            "psn: a PFC frame has no such field"
        );
        assert_eq!(
            message("verdict=roce_v2 opcode=0x81"),
            "verdict=roce_v2: but that of a CNP is cnp"
        );
        assert_eq!(message("opcode=4 psn=1 psn=2"), "psn: given twice");
        assert_eq!(
            message("opcode=4 payload=pattern:16001"),
            format!("payload_bytes=16001: {MOST_PAYLOAD} bytes at most")
        );
        assert!(
            message("verdict=malformed")
                .starts_with("verdict=malformed: only whole frames of ours can be built")
        );
        assert_eq!(message("send"), "send: expected key=value, such as psn=7");
    }

    #[test]
    fn pfc_means_the_classes_with_a_time() {
        let Content::Pfc(pfc) = describe("verdict=pfc quanta=0,0,0,65535,1,0,0,0")
            .unwrap()
            .descriptor
            .content
        else {
            panic!()
        };
        assert_eq!(pfc.class_enable, 0b11000);
        let Content::Pfc(pfc) = describe("verdict=pfc class_enable=8")
            .unwrap()
            .descriptor
            .content
        else {
            panic!()
        };
        assert_eq!((pfc.class_enable, pfc.timers), (8, [0; 8]));
    }

    #[test]
    fn a_frame_of_a_stated_length() {
        let build = |arguments: &str| {
            let packet = describe(arguments)?;
            packet.finish(packet.descriptor.build().unwrap())
        };
        // A packet of 58 bytes is shorter than the minimum Ethernet frame, as it occurs in captures on the sending
        // host.
        assert_eq!(build("opcode=4").unwrap().len(), 60);
        assert_eq!(build("opcode=4 bytes=58").unwrap().len(), 58);
        assert_eq!(build("opcode=4 bytes=100").unwrap().len(), 100);
        assert_eq!(
            build("opcode=4 bytes=57").unwrap_err().to_string(),
            "bytes=57: but the packet has 58 bytes; what is longer is Ethernet padding"
        );
        let (good, bad) = (
            build("opcode=4").unwrap(),
            build("opcode=4 icrc_ok=false").unwrap(),
        );
        assert_eq!(good[..54], bad[..54]);
        assert!((54..58).all(|at| good[at] == !bad[at]));
    }
}
