use proptest::prelude::*;

use super::*;
use crate::protocol::parse;
use crate::strategies::descriptor;
use crate::wire::{AethRepr, Msn, Psn, Qpn, RethRepr, Syndrome};

fn ack() -> Descriptor {
    Descriptor {
        dst: MacAddr([0x52, 0x54, 0, 0, 0, 2]),
        src: MacAddr([0x52, 0x54, 0, 0, 0, 1]),
        tags: Vec::new(),
        content: Content::Roce(RocePacket {
            ip: IpFields {
                kind: IpKind::V4,
                traffic_class: 0,
                flow_label: 0,
                id: 0,
                flags: 0b010,
                hop_limit: 64,
                src: 0xC0A8_0001,
                dst: 0xC0A8_00C7,
            },
            udp_src_port: Some(0xC001),
            bth: BthRepr {
                opcode: Opcode::RC_ACK,
                pkey: 0xFFFF,
                dest_qp: Qpn::new(0x37).unwrap(),
                psn: Psn::wrapping(0xFF_FFE0),
                pad: 3, // ignored
                ..Default::default()
            },
            ext: ExtHeaders {
                aeth: Some(AethRepr {
                    syndrome: Syndrome::ACK,
                    msn: Msn::new(1).unwrap(),
                }),
                ..Default::default()
            },
            payload: Vec::new(),
        }),
    }
}

fn cnp() -> Descriptor {
    with(|packet| {
        packet.bth.opcode = Opcode::CNP;
        packet.bth.becn = true;
        packet.ext = ExtHeaders::default();
    })
}

/// [`ack`] with an edit applied.
fn with(edit: impl FnOnce(&mut RocePacket)) -> Descriptor {
    let mut descriptor = ack();
    let Content::Roce(packet) = &mut descriptor.content else {
        unreachable!("an ACK is RoCE")
    };
    edit(packet);
    descriptor
}

#[test]
fn an_ack_byte_by_byte() {
    let frame = ack().build().unwrap();
    let expected = [
        &[0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, 0x08, 0x00][..], // Ethernet
        &[
            0x45, 0x00, 0x00, 48, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xB8, 0xA4, 0xC0, 0xA8, 0x00,
            0x01, 0xC0, 0xA8, 0x00, 0xC7,
        ], // IPv4
        &[0xC0, 0x01, 0x12, 0xB7, 0x00, 28, 0x00, 0x00],                   // UDP
        &[
            0x11, 0x00, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x37, 0x00, 0xFF, 0xFF, 0xE0,
        ], // BTH
        &[0x1F, 0x00, 0x00, 0x01],                                         // AETH
    ]
    .concat();
    assert_eq!(frame[..58], expected);
    assert_eq!(frame.len(), 62);
}

#[test]
fn a_cnp_is_74_bytes_over_ipv4() {
    // 78 bytes with FCS. After the BTH there are 16 reserved bytes and the ICRC.
    let frame = cnp().build().unwrap();
    assert_eq!(frame.len(), 74);
    assert_eq!(
        frame[42..54],
        [
            0x81, 0x00, 0xFF, 0xFF, 0x40, 0x00, 0x00, 0x37, 0x00, 0xFF, 0xFF, 0xE0
        ]
    );
    assert_eq!(frame[54..70], [0; 16]);
    assert_eq!(parse(&frame).verdict, Verdict::Cnp);
}

#[test]
fn one_tag_is_a_customer_tag_and_of_two_the_outer_is_a_service_tag() {
    let mut descriptor = ack();
    descriptor.tags = vec![Tci {
        pcp: 3,
        dei: false,
        vid: 100,
    }];
    assert_eq!(
        descriptor.build().unwrap()[12..18],
        [0x81, 0x00, 0x60, 0x64, 0x08, 0x00]
    );
    descriptor.tags.insert(
        0,
        Tci {
            pcp: 0,
            dei: true,
            vid: 5,
        },
    );
    assert_eq!(
        descriptor.build().unwrap()[12..22],
        [0x88, 0xA8, 0x10, 0x05, 0x81, 0x00, 0x60, 0x64, 0x08, 0x00]
    );
}

#[test]
fn control_frames_are_padded_to_60() {
    let src = MacAddr([0x52, 0x54, 0, 0, 0, 1]);
    let pause = Descriptor {
        dst: MacAddr::CONTROL,
        src,
        tags: Vec::new(),
        content: Content::Pause(PauseRepr { timer: 0x1234 }),
    };
    let frame = pause.build().unwrap();
    assert_eq!(
        frame[..18],
        [
            0x01, 0x80, 0xC2, 0, 0, 1, 0x52, 0x54, 0, 0, 0, 1, 0x88, 0x08, 0x00, 0x01, 0x12, 0x34
        ]
    );
    assert_eq!(frame[18..], [0; 42]);
    let timers = [1, 2, 3, 4, 5, 6, 7, 0xFFFF];
    let pfc = Descriptor {
        content: Content::Pfc(PfcRepr {
            class_enable: 0x80,
            timers,
        }),
        ..pause
    };
    let frame = pfc.build().unwrap();
    assert_eq!(frame[12..18], [0x88, 0x08, 0x01, 0x01, 0x00, 0x80]);
    assert_eq!(
        frame[18..34],
        [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0xFF, 0xFF]
    );
    assert_eq!(frame[34..], [0; 26]);
}

#[test]
fn what_cannot_be_built_says_why() {
    let message = |descriptor: Descriptor| descriptor.build().unwrap_err().to_string();
    let tagged = |tags| Descriptor { tags, ..ack() };
    assert_eq!(
        message(tagged(vec![Tci::default(); 3])),
        "3 VLAN tags: a frame has at most 2"
    );
    assert_eq!(
        message(tagged(vec![Tci {
            pcp: 8,
            ..Tci::default()
        }])),
        "PCP is 0x8, which does not fit in its 3 bits"
    );
    assert_eq!(
        message(tagged(vec![Tci {
            vid: 4096,
            ..Tci::default()
        }])),
        "VID is 0x1000, which does not fit in its 12 bits"
    );
    let pause = |dst, tags| Descriptor {
        dst,
        tags,
        content: Content::Pause(PauseRepr { timer: 0 }),
        ..ack()
    };
    assert_eq!(
        message(pause(MacAddr::CONTROL, vec![Tci::default()])),
        "a MAC control frame with a VLAN tag: it has none (IEEE 802.3 clause 31)"
    );
    assert!(
        message(pause(MacAddr::BROADCAST, vec![]))
            .starts_with("MAC control frame to ff:ff:ff:ff:ff:ff: PFC goes to")
    );
    let pfc = Descriptor {
        content: Content::Pfc(PfcRepr::default()),
        ..ack()
    };
    assert!(message(pfc).starts_with("MAC control frame to 52:54:00:00:00:02: PFC goes to"));

    assert_eq!(
        message(with(|packet| packet.ip.flags = 1)),
        "the IPv4 flag MF is set: a RoCE packet is never a fragment"
    );
    assert_eq!(
        message(with(|packet| packet.ip.flow_label = 1)),
        "flow label is 0x1, but V4 has no such field: leave it 0"
    );
    assert_eq!(
        message(with(|packet| packet.ip.src = 1 << 32)),
        "IPv4 source address is 0x100000000, which does not fit in its 32 bits"
    );
    assert_eq!(
        message(with(|packet| packet.ip.kind = IpKind::V6)),
        "flags is 0x2, but V6 has no such field: leave it 0"
    );
    assert_eq!(
        message(with(|packet| packet.udp_src_port = None)),
        "UDP source port None with V4: IPv4 and IPv6 need one, a GRH has none"
    );
    assert_eq!(
        message(with(|packet| packet.bth.opcode = Opcode(0x15))),
        "opcode 0x15: expected one of RC, UC, UD, or CNP"
    );
    assert_eq!(
        message(with(|packet| packet.bth.tver = 1)),
        "TVer is 1: it must be 0"
    );
    assert_eq!(
        message(with(|packet| packet.bth.reserved6 = 64)),
        "reserved field after BECN is 0x40, which does not fit in its 6 bits"
    );
    assert_eq!(
        message(with(|packet| packet.ext.reth = Some(RethRepr::default()))),
        "extension headers of RC_ACK: there are RETH + AETH, but the opcode has AETH"
    );
    assert_eq!(
        message(with(|packet| packet.payload = vec![0; 3])),
        "3 bytes of payload with RC_ACK, which carries none"
    );

    let without_becn = |packet: &mut RocePacket| {
        packet.bth.opcode = Opcode::CNP;
        packet.ext = ExtHeaders::default();
    };
    assert_eq!(
        message(with(without_becn)),
        "a CNP with BECN 0: it is 1 in every CNP (annex A17.9.3)"
    );
    let under_grh = |packet: &mut RocePacket| {
        without_becn(packet);
        packet.bth.becn = true;
        packet.ip.kind = IpKind::Grh;
        packet.ip.flags = 0;
        packet.udp_src_port = None;
    };
    assert_eq!(
        message(with(under_grh)),
        "a CNP under a GRH: congestion notification is RoCEv2's"
    );
}

#[test]
fn the_longest_payload_fits_exactly() {
    for kind in [IpKind::V4, IpKind::V6, IpKind::Grh] {
        let send = |bytes| {
            with(|packet| {
                packet.ip = IpFields {
                    kind,
                    flags: 0,
                    ..packet.ip
                };
                packet.udp_src_port = packet.udp_src_port.filter(|_| kind != IpKind::Grh);
                packet.bth.opcode = Opcode::RC_SEND_ONLY;
                packet.ext = ExtHeaders::default();
                packet.payload = vec![0x5A; bytes];
            })
        };
        let Err(DescriptorError::PayloadTooLong { max, .. }) = send(65_535).build() else {
            panic!("65,535 bytes fit {kind:?}")
        };
        let parsed = parse(&send(max).build().unwrap());
        assert_eq!(
            (parsed.payload_bytes.map(usize::from), parsed.icrc_ok),
            (Some(max), Some(true))
        );
        assert!(
            parsed.ip.unwrap().length > u16::MAX - 4,
            "{kind:?}: not the longest"
        );
        assert!(send(max + 1).build().is_err());
    }
}

#[test]
fn json_both_ways() {
    let text = serde_json::to_string(&cnp()).unwrap();
    assert!(
        text.contains(r#""opcode":"CNP""#) && text.contains(r#""dst":"52:54:00:00:00:02""#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Descriptor>(&text).unwrap(), cnp());
}

proptest! {
    #[test]
    fn what_was_built_is_parsed_and_built_again(descriptor in descriptor()) {
        let frame = descriptor.build().unwrap();
        prop_assert!(frame.len() >= MIN_FRAME_BYTES);
        let parsed = parse(&frame);
        prop_assert_eq!(parsed.reason, None);
        prop_assert_ne!(parsed.icrc_ok, Some(false));
        let mut again = Descriptor::from_parsed(&parsed).unwrap();
        prop_assert_eq!(&again.build().unwrap(), &frame);
        // The pad count is the only field that the builder determines itself.
        if let Content::Roce(packet) = &mut again.content {
            packet.bth.pad = 0;
        }
        prop_assert_eq!(again, descriptor);
    }
}
