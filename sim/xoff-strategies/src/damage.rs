//! Frames, intact and damaged.

use std::fmt;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::bytes::{MAX_FRAME_BYTES, any_bytes, pattern, seed};
use super::descriptors::{control_descriptor, descriptor};
use xoff_sim::protocol::{Content, Descriptor, icrc};
use xoff_sim::wire::frame::{Hex, IpKind};
use xoff_sim::wire::{
    EtherType, EthernetRepr, GrhRepr, ICRC_BYTES, IP_PROTOCOL_UDP, Ipv4, Ipv4Repr, Ipv6, Ipv6Repr,
    NEXT_HEADER_FRAGMENT, UdpRepr, VlanTagRepr, Walk,
};

/// A frame and its origin, to be shown when a case fails.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFrame {
    /// The frame.
    pub bytes: Vec<u8>,
    /// The description that was built.
    pub descriptor: Descriptor,
    /// IPv4 options inserted after the fixed header, in words of 4 bytes; lengths, checksum and ICRC were corrected
    /// afterwards.
    pub ip_options: Vec<u32>,
    /// Number of bytes appended after the packet.
    pub trailer: usize,
    /// The damage then done to the frame, in this order.
    pub damage: Vec<Damage>,
    /// What was corrected at the end.
    pub repair: Repair,
}

impl fmt::Debug for TestFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestFrame")
            .field("descriptor", &self.descriptor)
            .field("ip_options", &self.ip_options)
            .field("trailer", &self.trailer)
            .field("damage", &self.damage)
            .field("repair", &self.repair)
            .field("bytes", &Hex(&self.bytes))
            .finish()
    }
}

/// One kind of damage to a frame. A place that is beyond the frame's end, or that the frame does not have, is not
/// changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// A bit flips.
    FlipBit {
        /// Index of the byte in the frame.
        byte: usize,
        /// Index of the bit in the byte; 0 is the most significant.
        bit: u8,
    },
    /// The frame ends early.
    Truncate {
        /// Number of bytes left.
        to: usize,
    },
    /// All lengths that count the payload, IP's and UDP's, are wrong by the same amount, so that they agree.
    Lengths {
        /// The amount added, modulo 2¹⁶.
        by: i16,
    },
    /// A header field gets another value.
    Field {
        /// The field.
        field: HeaderField,
        /// The new value, of which the low bits are stored.
        value: u16,
    },
    /// A single length field is wrong.
    Length {
        /// [`HeaderField::IpLength`] or [`HeaderField::UdpLength`].
        field: HeaderField,
        /// The amount added, modulo 2¹⁶.
        by: i16,
    },
}

/// A field that determines how a parser continues to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderField {
    /// First byte of the destination address.
    DstFirstByte,
    /// The two bytes after the source address: EtherType, or the outer TPID.
    FirstEtherType,
    /// The EtherType after the tags.
    LastEtherType,
    /// MAC control opcode.
    ControlOpcode,
    /// Version of IPv4, IPv6 or GRH, 4 bits.
    IpVersion,
    /// IPv4 header length, 4 bits.
    Ihl,
    /// Total length or payload length.
    IpLength,
    /// IPv4 flags and fragment offset.
    Fragment,
    /// Protocol or next header.
    NextHeader,
    /// First byte after the network header: a fragment header's next header.
    FirstAfterIp,
    /// UDP destination port.
    UdpDstPort,
    /// UDP length.
    UdpLength,
    /// BTH opcode.
    Opcode,
    /// BTH pad count, 2 bits.
    Pad,
    /// BTH transport header version, 4 bits.
    Tver,
}

/// What is corrected after the damage, so that more than a checksum test is exercised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// IPv4 header checksum and ICRC.
    ChecksumAndIcrc,
    /// IPv4 header checksum.
    Checksum,
    /// Nothing.
    Nothing,
}

/// Offsets of the headers of a built frame.
#[derive(Debug, Clone, Copy)]
struct Places {
    /// The EtherType after the tags.
    ether_type: usize,
    /// Network header, or MAC control.
    network: usize,
    /// `None` in MAC control frames.
    kind: Option<IpKind>,
    /// First byte after the network header.
    after_ip: usize,
    bth: usize,
}

impl Places {
    fn of(descriptor: &Descriptor, ip_options: &[u32]) -> Self {
        let network = EthernetRepr::LEN + VlanTagRepr::LEN * descriptor.tags.len();
        let kind = match &descriptor.content {
            Content::Roce(packet) => Some(packet.ip.kind),
            Content::Pfc(_) | Content::Pause(_) => None,
        };
        let (ip_bytes, udp_bytes) = match kind {
            Some(IpKind::V4) => (Ipv4Repr::LEN + 4 * ip_options.len(), UdpRepr::LEN),
            Some(IpKind::V6) => (Ipv6Repr::LEN, UdpRepr::LEN),
            Some(IpKind::Grh) => (GrhRepr::LEN, 0),
            None => (0, 0),
        };
        Self {
            ether_type: network - 2,
            network,
            kind,
            after_ip: network + ip_bytes,
            bth: network + ip_bytes + udp_bytes,
        }
    }

    /// First byte of the field, number of bytes, and a mask of the field's bits in them; `None` when the frame has no
    /// such field.
    fn field(&self, field: HeaderField) -> Option<(usize, usize, u16)> {
        let network = |at: usize| self.network + at;
        let ip = |at| self.kind.map(|_| network(at));
        let v4 = |at| (self.kind == Some(IpKind::V4)).then(|| network(at));
        let of_kind = |v4, others| {
            ip(if self.kind == Some(IpKind::V4) {
                v4
            } else {
                others
            })
        };
        let udp = |at| {
            self.kind
                .filter(|&kind| kind != IpKind::Grh)
                .map(|_| self.after_ip + at)
        };
        let bth = |at| self.kind.map(|_| self.bth + at);
        Some(match field {
            HeaderField::DstFirstByte => (0, 1, 0xFF),
            HeaderField::FirstEtherType => (12, 2, 0xFFFF),
            HeaderField::LastEtherType => (self.ether_type, 2, 0xFFFF),
            HeaderField::ControlOpcode => (self.kind.is_none().then(|| network(0))?, 2, 0xFFFF),
            HeaderField::IpVersion => (ip(0)?, 1, 0xF0),
            HeaderField::Ihl => (v4(0)?, 1, 0x0F),
            HeaderField::IpLength => (of_kind(2, 4)?, 2, 0xFFFF),
            HeaderField::Fragment => (v4(6)?, 2, 0xFFFF),
            HeaderField::NextHeader => (of_kind(9, 6)?, 1, 0xFF),
            HeaderField::FirstAfterIp => (self.kind.map(|_| self.after_ip)?, 1, 0xFF),
            HeaderField::UdpDstPort => (udp(2)?, 2, 0xFFFF),
            HeaderField::UdpLength => (udp(4)?, 2, 0xFFFF),
            HeaderField::Opcode => (bth(0)?, 1, 0xFF),
            HeaderField::Pad => (bth(1)?, 1, 0x30),
            HeaderField::Tver => (bth(1)?, 1, 0x0F),
        })
    }

    /// Passes the field's value, right-aligned, to `change`, and stores the result.
    fn edit(&self, frame: &mut [u8], field: HeaderField, change: impl FnOnce(u16) -> u16) {
        let Some((at, len, mask)) = self.field(field) else {
            return;
        };
        let Some(bytes) = frame.get_mut(at..at + len) else {
            return;
        };
        let old = bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u16::from(byte));
        let shift = mask.trailing_zeros();
        let new = old & !mask | (change((old & mask) >> shift) << shift) & mask;
        bytes.copy_from_slice(&new.to_be_bytes()[2 - len..]);
    }
}

impl Damage {
    fn apply(self, frame: &mut Vec<u8>, places: &Places) {
        match self {
            Self::FlipBit { byte, bit } => {
                if let Some(byte) = frame.get_mut(byte) {
                    *byte ^= 0x80 >> (bit % 8);
                }
            }
            Self::Truncate { to } => frame.truncate(to),
            Self::Lengths { by } => {
                for field in [HeaderField::IpLength, HeaderField::UdpLength] {
                    places.edit(frame, field, |length| length.wrapping_add_signed(by));
                }
            }
            Self::Field { field, value } => places.edit(frame, field, |_| value),
            Self::Length { field, by } => {
                places.edit(frame, field, |length| length.wrapping_add_signed(by))
            }
        }
    }

    /// Maps a place that was drawn without knowledge of the frame's length into the frame.
    fn within(self, frame_bytes: usize) -> Self {
        match self {
            Self::FlipBit { byte, bit } => Self::FlipBit {
                byte: byte % frame_bytes.max(1),
                bit,
            },
            Self::Truncate { to } => Self::Truncate {
                to: to % (frame_bytes + 1),
            },
            other => other,
        }
    }
}

/// Corrects the checksums of a frame according to its headers: the IPv4 header checksum, and also the ICRC if `what`
/// asks for it and the packet is complete. Frames without an IPv4, IPv6 or GRH header are not changed.
pub fn repair(frame: &mut [u8], what: Repair) {
    if what == Repair::Nothing {
        return;
    }
    let Some(Walk { ether_type, at, .. }) = Walk::of(frame) else {
        return;
    };
    let network = &mut frame[at..];
    let (kind, announced) = match ether_type {
        EtherType::IPV4 => match Ipv4::new_checked(&mut *network) {
            Ok(mut view) => {
                view.fill_checksum();
                (IpKind::V4, usize::from(view.total_length()))
            }
            Err(_) => return,
        },
        EtherType::IPV6 | EtherType::ROCE_V1 => match Ipv6::new_checked(&*network) {
            Ok(view) => {
                let kind = if ether_type == EtherType::IPV6 {
                    IpKind::V6
                } else {
                    IpKind::Grh
                };
                (kind, Ipv6Repr::LEN + usize::from(view.payload_length()))
            }
            Err(_) => return,
        },
        _ => return,
    };
    if what == Repair::Checksum {
        return;
    }
    if let Some(packet) = network.get_mut(..announced)
        && let Some((covered, icrc_bytes)) = packet.split_last_chunk_mut::<ICRC_BYTES>()
        && let Ok(right) = icrc(kind, covered)
    {
        *icrc_bytes = right;
    }
}

/// Builds a frame, inserts options and trailer, damages it, and repairs it.
fn assemble(
    descriptor: Descriptor,
    ip_options: Vec<u32>,
    trailer: usize,
    damage: Vec<Damage>,
    then: Repair,
) -> TestFrame {
    let is_v4 =
        matches!(&descriptor.content, Content::Roce(packet) if packet.ip.kind == IpKind::V4);
    let ip_options = if is_v4 { ip_options } else { Vec::new() };
    let mut bytes = descriptor
        .build()
        .expect("the strategy describes only what can be built");

    if !ip_options.is_empty() {
        let network = Places::of(&descriptor, &[]).network;
        let mut view = Ipv4::new_unchecked(&mut bytes[network..]);
        let words = ip_options.len();
        view.set_ihl(5 + words as u8);
        view.set_total_length(view.total_length() + 4 * words as u16);
        let at = network + Ipv4Repr::LEN;
        bytes.splice(
            at..at,
            ip_options.iter().flat_map(|word| word.to_be_bytes()),
        );
        repair(&mut bytes, Repair::ChecksumAndIcrc);
    }
    bytes.extend(pattern(2, trailer.min(MAX_FRAME_BYTES - bytes.len())));

    let places = Places::of(&descriptor, &ip_options);
    let mut applied = Vec::with_capacity(damage.len());
    for damage in damage {
        let damage = damage.within(bytes.len());
        damage.apply(&mut bytes, &places);
        applied.push(damage);
    }
    if !applied.is_empty() {
        repair(&mut bytes, then);
    }
    TestFrame {
        bytes,
        descriptor,
        ip_options,
        trailer,
        damage: applied,
        repair: then,
    }
}

/// IPv4 options of 0 to 10 words, mostly none.
fn ip_options() -> impl Strategy<Value = Vec<u32>> {
    let some = (1..=10usize, seed()).prop_map(|(words, seed)| {
        let bytes = pattern(seed, 4 * words);
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|&word| u32::from_be_bytes(word))
            .collect()
    });
    prop_oneof![3 => Just(Vec::new()), 1 => some]
}

/// Number of bytes after the packet, mostly none.
fn trailer() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 1 => 0..=70usize]
}

/// A valid frame, including everything that the builder does not emit but a parser must accept: IPv4 options, bytes
/// after the packet.
pub fn frame() -> impl Strategy<Value = TestFrame> {
    (descriptor(), ip_options(), trailer()).prop_map(|(descriptor, options, trailer)| {
        assemble(descriptor, options, trailer, Vec::new(), Repair::Nothing)
    })
}

/// A valid frame after one to four kinds of damage.
pub fn damaged_frame() -> impl Strategy<Value = TestFrame> {
    let repair = prop_oneof![3 => Just(Repair::ChecksumAndIcrc), 1 => Just(Repair::Checksum), 2 => Just(Repair::Nothing)];
    // A fragment over IPv6 needs two fields that agree, which would rarely be drawn by chance.
    let fragment = vec![
        Damage::Field {
            field: HeaderField::NextHeader,
            value: NEXT_HEADER_FRAGMENT.into(),
        },
        Damage::Field {
            field: HeaderField::FirstAfterIp,
            value: IP_PROTOCOL_UDP.into(),
        },
    ];
    let damages = prop_oneof![
        40 => prop::collection::vec(damage(), 1..=1),
        10 => prop::collection::vec(damage(), 2..=4),
        1 => Just(fragment),
    ];
    (descriptor(), ip_options(), trailer(), damages, repair).prop_map(
        |(descriptor, options, trailer, damages, repair)| {
            assemble(descriptor, options, trailer, damages, repair)
        },
    )
}

/// Bytes of any frame: valid, damaged or garbage.
pub fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    // Boxed, since what they are drawn from is large, and a test's thread has a stack of 2 MiB.
    prop_oneof![
        6 => frame().prop_map(|frame| frame.bytes).boxed(),
        12 => damaged_frame().prop_map(|frame| frame.bytes).boxed(),
        2 => any_bytes(),
        1 => tagged_control(),
    ]
}

/// MAC control behind one or two VLAN tags, which is not treated as MAC control: a well-formed frame that no builder
/// emits.
fn tagged_control() -> impl Strategy<Value = Vec<u8>> {
    (control_descriptor(), 1..=2usize, any::<bool>()).prop_map(|(control, tags, service)| {
        let mut bytes = control
            .build()
            .expect("the strategy describes what can be built");
        let outer = if service {
            EtherType::S_TAG
        } else {
            EtherType::C_TAG
        };
        for tpid in [outer, EtherType::C_TAG].iter().take(tags).rev() {
            let [high, low] = tpid.0.to_be_bytes();
            bytes.splice(12..12, [high, low, 0, 1]);
        }
        bytes
    })
}

fn damage() -> impl Strategy<Value = Damage> {
    // Most of the places are in the headers, which have 14 + 8 + 60 + 8 + 12 + 28 bytes at most and mostly far fewer.
    let place = || prop_oneof![4 => 0..90usize, 1 => 0..=MAX_FRAME_BYTES];
    prop_oneof![
        2 => (place(), 0..8u8).prop_map(|(byte, bit)| Damage::FlipBit { byte, bit }),
        4 => place().prop_map(|to| Damage::Truncate { to }),
        3 => change_of_length().prop_map(|by| Damage::Lengths { by }),
        2 => (prop::sample::select(vec![HeaderField::IpLength, HeaderField::UdpLength]), change_of_length())
            .prop_map(|(field, by)| Damage::Length { field, by }),
        8 => field_damage(),
    ]
}

fn change_of_length() -> impl Strategy<Value = i16> {
    prop_oneof![6 => -48..=48i16, 1 => any::<i16>()]
}

fn field_damage() -> impl Strategy<Value = Damage> {
    let select = |values: &[u16]| prop::sample::select(values.to_vec());
    // A comparison that omits a bit is detected only by a value in which that bit alone is wrong.
    let one_bit_off =
        |values: &[u16]| (select(values), 0..16u8).prop_map(|(value, bit)| value ^ (1 << bit));
    let known = &[0x0800, 0x86DD, 0x8100, 0x88A8, 0x8808, 0x8915];
    let ether_type = || prop_oneof![4 => select(known), 2 => one_bit_off(known), 1 => any::<u16>()];
    let of = |field: HeaderField| move |value| Damage::Field { field, value };
    prop_oneof![
        1 => (0..=0xFFu16).prop_map(of(HeaderField::DstFirstByte)),
        2 => ether_type().prop_map(of(HeaderField::FirstEtherType)),
        2 => ether_type().prop_map(of(HeaderField::LastEtherType)),
        1 => prop_oneof![select(&[0x0001, 0x0101]), one_bit_off(&[0x0001, 0x0101]), any::<u16>()].prop_map(of(HeaderField::ControlOpcode)),
        1 => (0..16u16).prop_map(of(HeaderField::IpVersion)),
        2 => (0..16u16).prop_map(of(HeaderField::Ihl)),
        1 => any::<u16>().prop_map(of(HeaderField::IpLength)),
        // MF; offset 1; DF and offset; each bit alone.
        1 => prop_oneof![select(&[0x2000, 0x0001, 0x4001, 0x8000]), one_bit_off(&[0]), any::<u16>()].prop_map(of(HeaderField::Fragment)),
        2 => prop_oneof![3 => select(&[17, 44, 6, 0x1B, 0]), 2 => one_bit_off(&[17, 44, 0x1B]), 1 => 0..=0xFFu16].prop_map(of(HeaderField::NextHeader)),
        1 => select(&[17, 44, 6]).prop_map(of(HeaderField::FirstAfterIp)),
        1 => prop_oneof![2 => one_bit_off(&[4791]), 1 => any::<u16>()].prop_map(of(HeaderField::UdpDstPort)),
        1 => any::<u16>().prop_map(of(HeaderField::UdpLength)),
        4 => (0..=0xFFu16).prop_map(of(HeaderField::Opcode)),
        2 => (0..4u16).prop_map(of(HeaderField::Pad)),
        1 => (0..16u16).prop_map(of(HeaderField::Tver)),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::strategy::ValueTree;
    use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};

    use super::*;
    use xoff_sim::protocol::parse;
    use xoff_sim::wire::Opcode;
    use xoff_sim::wire::frame::{Reason, Verdict};

    #[test]
    fn damage_reaches_every_reason_and_every_verdict() {
        let mut runner = TestRunner::deterministic();
        let strategy = any_frame();
        let mut seen = BTreeMap::<String, u32>::new();
        for _ in 0..30_000 {
            let parsed = parse(&strategy.new_tree(&mut runner).unwrap().current());
            *seen.entry(parsed.verdict.to_string()).or_default() += 1;
            if let Some(reason) = parsed.reason {
                *seen.entry(reason.to_string()).or_default() += 1;
                if !parsed.payload.is_empty() {
                    *seen
                        .entry("payload of a packet cut short".into())
                        .or_default() += 1;
                }
            }
        }
        let all = Verdict::ALL
            .iter()
            .map(|v| v.name())
            .chain(Reason::ALL.iter().map(|r| r.name()))
            .chain(["payload of a packet cut short"]);
        for name in all {
            assert!(
                seen.get(name).is_some_and(|&times| times >= 20),
                "{name}: {seen:#?}"
            );
        }
    }

    #[test]
    fn frames_are_valid_and_damaged_ones_mostly_not() {
        let mut runner = TestRunner::deterministic();
        let mut damaged = 0;
        for _ in 0..2_000 {
            let parsed = parse(&frame().new_tree(&mut runner).unwrap().current().bytes);
            assert!(
                parsed.verdict != Verdict::Malformed && parsed.verdict != Verdict::Other,
                "{parsed:?}"
            );
            assert_ne!(parsed.icrc_ok, Some(false));
            let parsed = parse(
                &damaged_frame()
                    .new_tree(&mut runner)
                    .unwrap()
                    .current()
                    .bytes,
            );
            damaged +=
                u32::from(parsed.verdict == Verdict::Malformed || parsed.icrc_ok == Some(false));
        }
        assert!(
            (600..1_800).contains(&damaged),
            "{damaged} of 2,000 damaged frames are malformed or have a wrong ICRC"
        );
    }

    /// The smallest frame of `strategy` for which `fails` holds.
    fn least(
        strategy: impl Strategy<Value = TestFrame>,
        fails: impl Fn(&TestFrame) -> bool,
    ) -> TestFrame {
        let config = ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let mut runner =
            TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let result = runner.run(&strategy, |frame| {
            if fails(&frame) {
                Err(TestCaseError::fail(""))
            } else {
                Ok(())
            }
        });
        match result {
            Err(TestError::Fail(_, least)) => least,
            other => panic!("nothing found: {other:?}"),
        }
    }

    #[test]
    fn shrinks_to_the_shortest_plain_frame() {
        let frame = least(frame(), |frame| parse(&frame.bytes).payload.len() >= 100);
        let Content::Roce(packet) = &frame.descriptor.content else {
            panic!("{frame:?}")
        };
        assert_eq!(packet.payload, [0; 100]);
        assert_eq!(
            (packet.ip.kind, packet.bth.opcode),
            (IpKind::V4, Opcode::RC_SEND_FIRST)
        );
        assert_eq!(
            (packet.ip.src, packet.ip.dst, packet.bth.psn.get()),
            (0, 0, 0)
        );
        assert!(
            frame.descriptor.tags.is_empty() && frame.ip_options.is_empty() && frame.trailer == 0
        );
    }

    #[test]
    fn shrinks_to_the_one_damage_that_counts() {
        let frame = least(damaged_frame(), |frame| {
            parse(&frame.bytes).reason == Some(Reason::BthVersion)
        });
        let [
            Damage::Field {
                field: HeaderField::Tver,
                value: 1,
            },
        ] = frame.damage[..]
        else {
            panic!("{frame:?}")
        };
        assert_eq!(frame.bytes.len(), 60);
    }

    #[test]
    fn repair_takes_any_bytes() {
        let mut runner = TestRunner::deterministic();
        for _ in 0..2_000 {
            let mut bytes = any_frame().new_tree(&mut runner).unwrap().current();
            repair(&mut bytes, Repair::ChecksumAndIcrc);
            let parsed = parse(&bytes);
            assert_ne!(parsed.reason, Some(Reason::IpChecksum));
            assert_ne!(parsed.icrc_ok, Some(false));
        }
    }
}
