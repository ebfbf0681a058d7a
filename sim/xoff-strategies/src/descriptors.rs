//! Described frames.
//!
//! The fields of a header are drawn as one seed (see [`pattern`]): they have about a thousand bits, and shrinking
//! each field separately takes more steps than proptest allows.

use proptest::prelude::*;

use super::bytes::{pattern, payload, seed};
use xoff_sim::protocol::{Content, Descriptor, IpFields, RocePacket};
use xoff_sim::wire::frame::IpKind;
use xoff_sim::wire::{
    Bth, BthRepr, Ethernet, EthernetRepr, ExtHeaders, Ipv6, Ipv6Repr, MacAddr, Opcode, PauseRepr,
    PfcRepr, Tci,
};

/// A frame of any kind, for which [`Descriptor::build`] does not fail.
pub fn descriptor() -> impl Strategy<Value = Descriptor> {
    prop_oneof![12 => roce_descriptor(), 1 => control_descriptor()]
}

/// A RoCE packet of any opcode over IPv4, IPv6 or GRH, with 0 to 2 tags.
pub fn roce_descriptor() -> impl Strategy<Value = Descriptor> {
    let tags = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(tci(), 1..=2)];
    (roce_packet(), tags, seed()).prop_map(|(packet, tags, addresses)| {
        let addresses = EthernetRepr::parse(&Ethernet::new_unchecked(pattern(
            addresses,
            EthernetRepr::LEN,
        )));
        Descriptor {
            dst: addresses.dst,
            src: addresses.src,
            tags,
            content: Content::Roce(packet),
        }
    })
}

/// PFC or PAUSE.
pub fn control_descriptor() -> impl Strategy<Value = Descriptor> {
    // Mostly as the standard has them: the reserved half is zero, and some timers are.
    let classes = prop_oneof![
        2 => prop::sample::select(vec![0, 1, 8, 0x80, 0xFF, 0x0100, 0x8008, 0xFFFF]),
        2 => 0..=0xFFu16,
        1 => any::<u16>(),
    ];
    let timer = || prop_oneof![1 => Just(0), 2 => any::<u16>()];
    let timers = prop_oneof![
        1 => Just([0; 8]),
        2 => prop::array::uniform8(timer()),
        2 => any::<[u16; 8]>(),
    ];
    let pfc = (classes, timers).prop_map(|(class_enable, timers)| {
        (
            MacAddr::CONTROL,
            Content::Pfc(PfcRepr {
                class_enable,
                timers,
            }),
        )
    });
    let individual = mac_addr().prop_map(|mut address| {
        address.0[0] &= !1;
        address
    });
    let pause = (
        prop_oneof![Just(MacAddr::CONTROL), individual],
        any::<u16>(),
    )
        .prop_map(|(dst, timer)| (dst, Content::Pause(PauseRepr { timer })));
    (mac_addr(), prop_oneof![pfc, pause]).prop_map(|(src, (dst, content))| Descriptor {
        dst,
        src,
        tags: Vec::new(),
        content,
    })
}

fn mac_addr() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

fn tci() -> impl Strategy<Value = Tci> {
    (0..8u8, any::<bool>(), 0..0x1000u16).prop_map(|(pcp, dei, vid)| Tci { pcp, dei, vid })
}

fn roce_packet() -> impl Strategy<Value = RocePacket> {
    let kind = prop::sample::select(vec![IpKind::V4, IpKind::V6, IpKind::Grh]);
    // Opcodes with payload come first: select() shrinks by halves, and opcodes without payload in the middle would
    // stop it.
    let mut opcodes = Opcode::ALL.to_vec();
    opcodes.sort_by_key(|opcode| !opcode.has_payload());
    // CNPs are one entry in 38 of the table but have a contract of their own, so they are drawn more often.
    let opcode = prop_oneof![12 => prop::sample::select(opcodes), 1 => Just(Opcode::CNP)];
    (payload(), kind, opcode, seed(), seed(), seed()).prop_map(
        |(payload, kind, opcode, ip, bth, ext)| {
            // A CNP exists only in RoCEv2.
            let kind = if opcode == Opcode::CNP && kind == IpKind::Grh {
                IpKind::V6
            } else {
                kind
            };
            let layout = opcode.layout().unwrap_or_default();
            RocePacket {
                ip: ip_fields(kind, ip),
                udp_src_port: (kind != IpKind::Grh).then_some(ip.rotate_left(8)),
                bth: bth_fields(opcode, bth),
                ext: ExtHeaders::parse(layout, &pattern(ext, layout.bytes()))
                    .expect("the pattern is as long as the headers"),
                payload: if opcode.has_payload() {
                    payload
                } else {
                    Vec::new()
                },
            }
        },
    )
}

fn ip_fields(kind: IpKind, seed: u16) -> IpFields {
    let all = Ipv6Repr::parse(&Ipv6::new_unchecked(pattern(seed, Ipv6Repr::LEN)));
    let (v4, low) = (kind == IpKind::V4, u128::from(u32::MAX));
    IpFields {
        kind,
        traffic_class: all.traffic_class,
        flow_label: if v4 { 0 } else { all.flow_label },
        id: if v4 { all.payload_length } else { 0 },
        // DF and the reserved flag may be set, MF may not.
        flags: if v4 { all.next_header & 0b110 } else { 0 },
        hop_limit: all.hop_limit,
        src: if v4 { all.src & low } else { all.src },
        dst: if v4 { all.dst & low } else { all.dst },
    }
}

/// Reserved bits are drawn, too. The pad count is left to the builder.
fn bth_fields(opcode: Opcode, seed: u16) -> BthRepr {
    let all = BthRepr::parse(&Bth::new_unchecked(pattern(seed, BthRepr::LEN)));
    BthRepr {
        opcode,
        pad: 0,
        tver: 0,
        becn: all.becn || opcode == Opcode::CNP,
        ..all
    }
}
