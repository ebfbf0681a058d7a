//! One test for each rule of `rtl/parser/README.md`. Frames are written out, or built and then edited by hand.

use proptest::prelude::*;

use super::*;
use crate::protocol::{Content, Descriptor, IpFields, RocePacket};
use crate::strategies::{Repair, any_bytes, any_frame, frame, repair};
use crate::wire::{EthernetRepr, Psn, Qpn, RethRepr, Tci};

const ETH: usize = EthernetRepr::LEN;
const NO_BYTES: [u8; 0] = [];

/// A WRITE only packet with ten bytes; 14 + IP + 8 + 12 + 16 + 12 + 4.
fn write_only(kind: IpKind) -> Descriptor {
    let (src, dst) = if kind == IpKind::V4 {
        (0xC000_0201, 0xC000_0202)
    } else {
        (0x2001_0DB8 << 96 | 1, 0x2001_0DB8 << 96 | 2)
    };
    Descriptor {
        dst: MacAddr([0x52, 0x54, 0, 0, 0, 2]),
        src: MacAddr([0x52, 0x54, 0, 0, 0, 1]),
        tags: Vec::new(),
        content: Content::Roce(RocePacket {
            ip: IpFields {
                kind,
                traffic_class: 0x6A,
                flow_label: 0,
                id: 0,
                flags: 0,
                hop_limit: 64,
                src,
                dst,
            },
            udp_src_port: (kind != IpKind::Grh).then_some(0xC001),
            bth: BthRepr {
                opcode: Opcode::RC_WRITE_ONLY,
                pkey: 0xFFFF,
                dest_qp: Qpn::new(0x11).unwrap(),
                psn: Psn::wrapping(0x1000),
                ..Default::default()
            },
            ext: ExtHeaders {
                reth: Some(RethRepr {
                    va: 0x1000,
                    rkey: 7,
                    dma_len: 10,
                }),
                ..Default::default()
            },
            payload: (1..=10).collect(),
        }),
    }
}

fn v4() -> Vec<u8> {
    write_only(IpKind::V4).build().unwrap()
}

fn v6() -> Vec<u8> {
    write_only(IpKind::V6).build().unwrap()
}

fn v1() -> Vec<u8> {
    write_only(IpKind::Grh).build().unwrap()
}

/// Offset of the BTH in [`v4`].
const V4_BTH: usize = ETH + 20 + 8;

/// A frame after `edit`, with its checksums corrected.
fn edited(mut frame: Vec<u8>, edit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    edit(&mut frame);
    repair(&mut frame, Repair::ChecksumAndIcrc);
    frame
}

/// Sets IPv4 total length and UDP length so that `transport_bytes` are left for BTH to ICRC.
fn v4_with_transport(frame: Vec<u8>, transport_bytes: u16) -> Vec<u8> {
    edited(frame, |frame| {
        frame[ETH + 2..ETH + 4].copy_from_slice(&(28 + transport_bytes).to_be_bytes());
        frame[ETH + 24..ETH + 26].copy_from_slice(&(8 + transport_bytes).to_be_bytes());
    })
}

#[track_caller]
fn malformed(frame: &[u8], reason: Reason) -> ParsedFrame {
    let parsed = parse(frame);
    assert_eq!(
        (parsed.verdict, parsed.reason),
        (Verdict::Malformed, Some(reason)),
        "{parsed:?}"
    );
    parsed
}

/// Which layers are reported: eth, control, ip, bth, icrc, ext, payload.
fn reported(parsed: &ParsedFrame) -> [bool; 7] {
    let ParsedFrame {
        eth,
        control,
        ip,
        bth,
        icrc_ok,
        ext,
        payload_bytes,
        ..
    } = parsed;
    [
        eth.is_some(),
        control.is_some(),
        ip.is_some(),
        bth.is_some(),
        icrc_ok.is_some(),
        ext.is_some(),
        payload_bytes.is_some(),
    ]
}

const NOTHING: [bool; 7] = [false; 7];
const TO_ETH: [bool; 7] = [true, false, false, false, false, false, false];
const TO_CONTROL: [bool; 7] = [true, true, false, false, false, false, false];
const TO_IP: [bool; 7] = [true, false, true, false, false, false, false];
const TO_BTH: [bool; 7] = [true, false, true, true, false, false, false];
const TO_ICRC: [bool; 7] = [true, false, true, true, true, false, false];
const TO_EXT: [bool; 7] = [true, false, true, true, true, true, false];
const ALL: [bool; 7] = [true, false, true, true, true, true, true];

#[test]
fn whole_packets() {
    for (frame, verdict) in [
        (v4(), Verdict::RoceV2),
        (v6(), Verdict::RoceV2),
        (v1(), Verdict::RoceV1),
    ] {
        let parsed = parse(&frame);
        assert_eq!(
            (parsed.verdict, parsed.reason, parsed.frame_bytes),
            (verdict, None, frame.len())
        );
        assert_eq!(reported(&parsed), ALL);
        assert_eq!(parsed.icrc_ok, Some(true));
        assert_eq!(parsed.payload_bytes, Some(10));
        assert_eq!(parsed.payload, (1..=10).collect::<Vec<u8>>());
        assert_eq!(parsed.bth.unwrap().pad, 2);
        assert_eq!(
            parsed.udp_src_port,
            (verdict == Verdict::RoceV2).then_some(0xC001)
        );
        assert_eq!(
            parsed.ip.unwrap().length,
            if frame == v4() {
                28 + 44
            } else {
                44 + if verdict == Verdict::RoceV2 { 8 } else { 0 }
            }
        );
    }
}

#[test]
fn eth_truncated() {
    assert_eq!(reported(&malformed(&[], Reason::EthTruncated)), NOTHING);
    assert_eq!(
        reported(&malformed(&v4()[..13], Reason::EthTruncated)),
        NOTHING
    );
    assert_eq!(reported(&parse(&v4()[..14])), TO_ETH);
}

/// Two tags, then an unassigned EtherType.
const TAGGED: [u8; 22] = [
    0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1, // addresses
    0x88, 0xA8, 0xE0, 0x01, // service tag: PCP 7, VID 1
    0x81, 0x00, 0x10, 0x02, // customer tag: PCP 0, DEI, VID 2
    0x88, 0xB5,
];

#[test]
fn vlan_truncated() {
    let tags = |frame: &[u8]| {
        malformed(frame, Reason::VlanTruncated)
            .eth
            .map(|eth| (eth.tags, eth.ether_type))
            .unwrap()
    };
    let outer = Tci {
        pcp: 7,
        dei: false,
        vid: 1,
    };
    assert_eq!(tags(&TAGGED[..14]), (vec![], EtherType::S_TAG));
    assert_eq!(tags(&TAGGED[..17]), (vec![], EtherType::S_TAG));
    assert_eq!(tags(&TAGGED[..18]), (vec![outer], EtherType::C_TAG));
    assert_eq!(tags(&TAGGED[..21]), (vec![outer], EtherType::C_TAG));
}

#[test]
fn two_tags_are_read_and_a_third_is_not() {
    let parsed = parse(&TAGGED);
    let eth = parsed.eth.unwrap();
    assert_eq!(
        (parsed.verdict, eth.ether_type),
        (Verdict::Other, EtherType(0x88B5))
    );
    assert_eq!(
        eth.tags,
        [
            Tci {
                pcp: 7,
                dei: false,
                vid: 1
            },
            Tci {
                pcp: 0,
                dei: true,
                vid: 2
            }
        ]
    );
    let mut third = TAGGED;
    third[20..].copy_from_slice(&[0x81, 0x00]);
    let parsed = parse(&third);
    assert_eq!(
        (parsed.verdict, parsed.eth.unwrap().ether_type),
        (Verdict::Other, EtherType::C_TAG)
    );
}

#[test]
fn tags_of_either_kind_in_any_order() {
    for (outer, inner) in [(0x8100, 0x8100), (0x8100, 0x88A8), (0x88A8, 0x88A8)] {
        let mut frame = write_only(IpKind::V4);
        frame.tags = vec![
            Tci::default(),
            Tci {
                pcp: 3,
                dei: false,
                vid: 100,
            },
        ];
        let mut frame = frame.build().unwrap();
        frame[12..14].copy_from_slice(&u16::to_be_bytes(outer));
        frame[16..18].copy_from_slice(&u16::to_be_bytes(inner));
        let parsed = parse(&frame);
        assert_eq!(
            (parsed.verdict, parsed.eth.unwrap().tags.len()),
            (Verdict::RoceV2, 2)
        );
    }
}

/// As 802.1Qbb shows it: classes 0 and 3, 65535 and 16 quanta.
const PFC: [u8; 34] = [
    0x01, 0x80, 0xC2, 0x00, 0x00, 0x01, 0x52, 0x54, 0, 0, 0, 1, 0x88, 0x08, // Ethernet
    0x01, 0x01, 0x00, 0x09, // opcode, class enable
    0xFF, 0xFF, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, // timers
];

/// As 802.3x shows it: 256 quanta.
const PAUSE: [u8; 18] = [
    0x01, 0x80, 0xC2, 0x00, 0x00, 0x01, 0x52, 0x54, 0, 0, 0, 1, 0x88, 0x08, 0x00, 0x01, 0x01, 0x00,
];

#[test]
fn pfc() {
    let mut padded = PFC.to_vec();
    padded.resize(60, 0);
    for frame in [&PFC[..], &padded] {
        let parsed = parse(frame);
        assert_eq!(parsed.verdict, Verdict::Pfc);
        assert_eq!(
            parsed.control,
            Some(ControlHead {
                opcode: 0x0101,
                class_enable: 9,
                timers: [0xFFFF, 0, 0, 16, 0, 0, 0, 0]
            })
        );
    }
}

#[test]
fn the_reserved_half_of_class_enable_is_reported_and_does_no_harm() {
    let mut frame = PFC;
    frame[16] = 0xA5;
    let parsed = parse(&frame);
    assert_eq!(
        (parsed.verdict, parsed.control.unwrap().class_enable),
        (Verdict::Pfc, 0xA509)
    );
}

#[test]
fn pause() {
    let parsed = parse(&PAUSE);
    assert_eq!(parsed.verdict, Verdict::Pause);
    assert_eq!(
        parsed.control,
        Some(ControlHead {
            opcode: 1,
            class_enable: 0,
            timers: [256, 0, 0, 0, 0, 0, 0, 0]
        })
    );
    let mut individual = PAUSE;
    individual[..6].copy_from_slice(&[0x52, 0x54, 0, 0, 0, 2]);
    assert_eq!(parse(&individual).verdict, Verdict::Pause);
}

#[test]
fn control_truncated() {
    for bytes in [14, 15, 16, 33] {
        assert_eq!(
            reported(&malformed(&PFC[..bytes], Reason::ControlTruncated)),
            TO_ETH
        );
    }
    for bytes in [15, 16, 17] {
        malformed(&PAUSE[..bytes], Reason::ControlTruncated);
    }
}

#[test]
fn control_address() {
    let mut pfc = PFC;
    pfc[..6].copy_from_slice(&[0x52, 0x54, 0, 0, 0, 2]);
    assert_eq!(
        reported(&malformed(&pfc, Reason::ControlAddress)),
        TO_CONTROL
    );
    let mut pause = PAUSE;
    pause[5] = 2;
    assert_eq!(
        reported(&malformed(&pause, Reason::ControlAddress)),
        TO_CONTROL
    );
}

#[test]
fn control_of_others() {
    let mut foreign = PFC;
    foreign[15] = 2;
    assert_eq!(
        (parse(&foreign).verdict, reported(&parse(&foreign[..16]))),
        (Verdict::Other, TO_ETH)
    );
    let mut tagged = PFC.to_vec();
    tagged.splice(12..12, [0x81, 0x00, 0, 0]);
    assert_eq!(
        (parse(&tagged).verdict, reported(&parse(&tagged))),
        (Verdict::Other, TO_ETH)
    );
}

#[test]
fn ip_truncated_inside_the_header() {
    assert_eq!(
        reported(&malformed(&v4()[..ETH + 19], Reason::IpTruncated)),
        TO_ETH
    );
    assert_eq!(
        reported(&malformed(&v6()[..ETH + 39], Reason::IpTruncated)),
        TO_ETH
    );
    assert_eq!(
        reported(&malformed(&v1()[..ETH + 39], Reason::IpTruncated)),
        TO_ETH
    );
    // With options: IHL 6, but only 23 bytes are present.
    let frame = edited(v4(), |frame| frame[ETH] = 0x46);
    assert_eq!(
        reported(&malformed(&frame[..ETH + 23], Reason::IpTruncated)),
        TO_IP
    );
}

#[test]
fn ip_truncated_after_the_header_hands_on_what_came() {
    for frame in [v4(), v6(), v1()] {
        // The frame ends with 10 bytes of payload, 2 of pad, and 4 of ICRC.
        let cut = |bytes: usize| malformed(&frame[..bytes], Reason::IpTruncated);
        let payload_at = frame.len() - 16;
        for there in 0..=15 {
            let parsed = cut(payload_at + there);
            assert_eq!(
                parsed.payload,
                (1..=there.min(10) as u8).collect::<Vec<_>>()
            );
            assert_eq!(reported(&parsed), TO_IP);
            assert_eq!(parsed.udp_src_port, None);
        }
        assert_eq!(cut(payload_at - 1).payload, NO_BYTES);
    }
}

#[test]
fn ip_truncated_hands_on_nothing_of_what_would_not_be_roce_anyway() {
    let cut = |edit: &dyn Fn(&mut [u8])| {
        let frame = edited(v4(), |frame| edit(frame));
        malformed(&frame[..frame.len() - 1], Reason::IpTruncated).payload
    };
    assert_eq!(cut(&|_| ()).len(), 10);
    assert_eq!(cut(&|frame| frame[ETH + 9] = 6), NO_BYTES, "TCP");
    assert_eq!(cut(&|frame| frame[ETH + 6] = 0x20), NO_BYTES, "MF");
    assert_eq!(cut(&|frame| frame[ETH + 22] ^= 1), NO_BYTES, "another port");
    assert_eq!(cut(&|frame| frame[ETH + 25] ^= 4), NO_BYTES, "UDP length");
    assert_eq!(cut(&|frame| frame[V4_BTH] = 0x15), NO_BYTES, "opcode");
    assert_eq!(
        cut(&|frame| frame[V4_BTH] = Opcode::RC_READ_REQUEST.0),
        NO_BYTES,
        "payload after a READ request"
    );
    assert_eq!(cut(&|frame| frame[V4_BTH + 1] |= 1), NO_BYTES, "TVer");
    // A wrong checksum takes precedence over the cut.
    let mut frame = v4();
    frame[ETH + 8] ^= 1;
    assert_eq!(
        malformed(&frame[..frame.len() - 1], Reason::IpChecksum).payload,
        NO_BYTES
    );
}

#[test]
fn ip_version() {
    for (frame, version) in [(v4(), 0x65), (v6(), 0x40), (v1(), 0x40)] {
        let frame = edited(frame, |frame| frame[ETH] = version);
        assert_eq!(reported(&malformed(&frame, Reason::IpVersion)), TO_ETH);
    }
}

#[test]
fn ip_header_length() {
    let frame = edited(v4(), |frame| frame[ETH] = 0x44);
    assert_eq!(reported(&malformed(&frame, Reason::IpHeaderLength)), TO_IP);
}

#[test]
fn ip_length() {
    let frame = edited(v4(), |frame| {
        frame[ETH + 2..ETH + 4].copy_from_slice(&[0, 19])
    });
    assert_eq!(reported(&malformed(&frame, Reason::IpLength)), TO_IP);
}

#[test]
fn ip_checksum_and_the_walk_goes_on() {
    let mut frame = v4();
    frame[ETH + 8] ^= 1; // TTL: not covered by the ICRC
    let parsed = malformed(&frame, Reason::IpChecksum);
    assert_eq!(reported(&parsed), ALL);
    assert_eq!(
        (parsed.icrc_ok, parsed.payload_bytes, &parsed.payload[..]),
        (Some(true), Some(10), &[][..])
    );
    // A failure further in ends the walk, but the wrong checksum came first and remains the reason.
    frame[V4_BTH] = 0x15;
    assert_eq!(reported(&malformed(&frame, Reason::IpChecksum)), TO_ICRC);
    frame[ETH + 9] = 6;
    assert_eq!(reported(&malformed(&frame, Reason::IpChecksum)), TO_IP);
}

#[test]
fn ip_fragment() {
    for fragment in [[0x20, 0], [0, 1], [0x1F, 0xFF]] {
        let frame = edited(v4(), |frame| {
            frame[ETH + 6..ETH + 8].copy_from_slice(&fragment)
        });
        assert_eq!(reported(&malformed(&frame, Reason::IpFragment)), TO_IP);
        let tcp = edited(frame, |frame| frame[ETH + 9] = 6);
        assert_eq!(parse(&tcp).verdict, Verdict::Other);
    }
    for harmless in [0x40, 0x80] {
        let frame = edited(v4(), |frame| frame[ETH + 6] = harmless);
        assert_eq!(parse(&frame).verdict, Verdict::RoceV2);
    }
}

#[test]
fn ip_fragment_over_ipv6() {
    let fragment = |length: u8, of| {
        edited(v6(), |frame| {
            frame[ETH + 4..ETH + 7].copy_from_slice(&[0, length, 44]);
            frame[ETH + 40] = of;
        })
    };
    assert_eq!(
        reported(&malformed(&fragment(8, 17), Reason::IpFragment)),
        TO_IP
    );
    assert_eq!(parse(&fragment(7, 17)).verdict, Verdict::Other);
    assert_eq!(parse(&fragment(8, 6)).verdict, Verdict::Other);
}

#[test]
fn grh_next_header() {
    let frame = edited(v1(), |frame| frame[ETH + 6] = 17);
    assert_eq!(reported(&malformed(&frame, Reason::GrhNextHeader)), TO_IP);
}

#[test]
fn udp_truncated() {
    let frame = edited(v4(), |frame| {
        frame[ETH + 2..ETH + 4].copy_from_slice(&[0, 27])
    });
    assert_eq!(reported(&malformed(&frame, Reason::UdpTruncated)), TO_IP);
    let frame = edited(v6(), |frame| {
        frame[ETH + 4..ETH + 6].copy_from_slice(&[0, 7])
    });
    assert_eq!(reported(&malformed(&frame, Reason::UdpTruncated)), TO_IP);
}

#[test]
fn udp_length() {
    for by in [-4i8, 4] {
        let frame = edited(v4(), |frame| {
            frame[ETH + 25] = frame[ETH + 25].wrapping_add_signed(by)
        });
        assert_eq!(reported(&malformed(&frame, Reason::UdpLength)), TO_IP);
        // The length of a datagram for another port is not checked.
        let frame = edited(frame, |frame| frame[ETH + 23] ^= 1);
        assert_eq!(
            (parse(&frame).verdict, reported(&parse(&frame))),
            (Verdict::Other, TO_IP)
        );
    }
}

#[test]
fn bth_truncated() {
    assert_eq!(
        reported(&malformed(
            &v4_with_transport(v4(), 12),
            Reason::BthTruncated
        )),
        TO_IP
    );
    assert_eq!(
        reported(&malformed(
            &v4_with_transport(v4(), 0),
            Reason::BthTruncated
        )),
        TO_IP
    );
    let frame = edited(v1(), |frame| {
        frame[ETH + 4..ETH + 6].copy_from_slice(&[0, 15])
    });
    assert_eq!(reported(&malformed(&frame, Reason::BthTruncated)), TO_IP);
}

#[test]
fn ib_alignment() {
    for transport in [17, 18, 19, 43] {
        let parsed = malformed(&v4_with_transport(v4(), transport), Reason::IbAlignment);
        assert_eq!(reported(&parsed), TO_BTH);
        assert_eq!(parsed.udp_src_port, Some(0xC001));
    }
}

#[test]
fn bth_version() {
    let frame = edited(v4(), |frame| frame[V4_BTH + 1] |= 0x08);
    let parsed = malformed(&frame, Reason::BthVersion);
    assert_eq!(
        (reported(&parsed), parsed.icrc_ok, parsed.bth.unwrap().tver),
        (TO_ICRC, Some(true), 8)
    );
}

#[test]
fn unknown_opcode() {
    // RESYNC, RD, XRC, an UC READ.
    for opcode in [0x15, 0x44, 0xA4, 0x2C] {
        let frame = edited(v4(), |frame| frame[V4_BTH] = opcode);
        let parsed = malformed(&frame, Reason::UnknownOpcode);
        assert_eq!((reported(&parsed), parsed.icrc_ok), (TO_ICRC, Some(true)));
    }
    let cnp_under_grh = edited(v1(), |frame| frame[ETH + 40] = Opcode::CNP.0);
    malformed(&cnp_under_grh, Reason::UnknownOpcode);
}

#[test]
fn header_truncated() {
    assert_eq!(
        reported(&malformed(
            &v4_with_transport(v4(), 28),
            Reason::HeaderTruncated
        )),
        TO_ICRC
    );
    let cnp = edited(v4_with_transport(v4(), 28), |frame| {
        frame[V4_BTH] = Opcode::CNP.0
    });
    malformed(&cnp, Reason::HeaderTruncated);
}

#[test]
fn pad_count() {
    let frame = edited(v4_with_transport(v4(), 32), |frame| {
        frame[V4_BTH + 1] = 0x10
    });
    assert_eq!(reported(&malformed(&frame, Reason::PadCount)), TO_EXT);
    // Padding alone does not count as payload.
    let frame = edited(v4_with_transport(v4(), 36), |frame| {
        frame[V4_BTH + 1] = 0x30
    });
    assert_eq!(parse(&frame).payload_bytes, Some(1));
}

#[test]
fn unexpected_payload() {
    for opcode in [
        Opcode::RC_READ_REQUEST,
        Opcode::RC_ACK,
        Opcode::RC_ATOMIC_ACK,
        Opcode::RC_CMP_SWAP,
        Opcode::RC_FETCH_ADD,
        Opcode::CNP,
    ] {
        // One word more than the headers need, with every pad count.
        let needs = 16 + opcode.layout().unwrap().bytes() as u16;
        for pad in 0..4 {
            let frame = |transport| {
                v4_with_transport(
                    edited(v4(), |frame| {
                        frame[V4_BTH..V4_BTH + 2].copy_from_slice(&[opcode.0, pad << 4])
                    }),
                    transport,
                )
            };
            let mut long = frame(needs + 4);
            long.resize(100, 0);
            repair(&mut long, Repair::ChecksumAndIcrc);
            assert_eq!(
                reported(&malformed(&long, Reason::UnexpectedPayload)),
                TO_EXT
            );
            let mut exact = frame(needs);
            exact.resize(100, 0);
            match pad {
                0 => assert_eq!(parse(&exact).payload_bytes, Some(0)),
                _ => assert_eq!(malformed(&exact, Reason::PadCount).payload_bytes, None),
            }
        }
    }
}

#[test]
fn others() {
    let mut arp = v4();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(
        (parse(&arp).verdict, reported(&parse(&arp))),
        (Verdict::Other, TO_ETH)
    );
    let tcp = edited(v6(), |frame| frame[ETH + 6] = 6);
    assert_eq!(
        (parse(&tcp).verdict, reported(&parse(&tcp))),
        (Verdict::Other, TO_IP)
    );
}

#[test]
fn a_wrong_icrc_is_no_verdict() {
    let mut frame = v4();
    *frame.last_mut().unwrap() ^= 1;
    let parsed = parse(&frame);
    assert_eq!(
        (parsed.verdict, parsed.icrc_ok, parsed.payload.len()),
        (Verdict::RoceV2, Some(false), 10)
    );
}

#[test]
fn what_a_standard_says_to_ignore_is_ignored() {
    type Edit<'a> = &'a dyn Fn(&mut [u8]);
    let ignored: [(&str, Edit); 3] = [
        ("UDP checksum", &|frame| frame[ETH + 26] = 0xAB),
        ("reserved bits and FECN", &|frame| frame[V4_BTH + 4] = 0xBF),
        ("reserved bits after A", &|frame| frame[V4_BTH + 8] = 0x7F),
    ];
    for (what, edit) in ignored {
        let parsed = parse(&edited(v4(), |frame| edit(frame)));
        assert_eq!(
            (parsed.verdict, parsed.icrc_ok),
            (Verdict::RoceV2, Some(true)),
            "{what}"
        );
    }
}

#[test]
fn cnp_with_or_without_becn() {
    for byte4 in [0x40, 0x00] {
        let frame = v4_with_transport(
            edited(v4(), |frame| {
                (frame[V4_BTH], frame[V4_BTH + 1], frame[V4_BTH + 4]) = (0x81, 0, byte4)
            }),
            32,
        );
        let parsed = parse(&frame);
        assert_eq!(
            (parsed.verdict, parsed.payload_bytes, parsed.ext),
            (Verdict::Cnp, Some(0), Some(ExtHeaders::default()))
        );
    }
}

#[test]
fn bytes_after_the_packet_are_ignored() {
    let mut frame = v4();
    frame.extend([0xEE; 37]);
    assert_eq!(parse(&frame).payload, (1..=10).collect::<Vec<u8>>());
    assert_eq!(parse(&frame).icrc_ok, Some(true));
}

/// What must hold for any result.
fn consistent(parsed: &ParsedFrame) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        parsed.reason.is_some(),
        parsed.verdict == Verdict::Malformed
    );
    let [eth, control, ip, bth, icrc, ext, payload] = reported(parsed);
    prop_assert!(!control || eth && !ip);
    prop_assert!(!ip || eth);
    prop_assert!(!bth || ip);
    prop_assert!(!icrc || bth);
    prop_assert!(!ext || icrc);
    prop_assert!(!payload || ext);
    prop_assert_eq!(
        parsed.udp_src_port.is_some(),
        bth && parsed.ip.is_some_and(|ip| ip.kind != IpKind::Grh)
    );
    if parsed.verdict.is_roce() {
        prop_assert!(payload);
        prop_assert_eq!(
            usize::from(parsed.payload_bytes.unwrap()),
            parsed.payload.len()
        );
    } else if parsed.reason != Some(Reason::IpTruncated) {
        prop_assert!(parsed.payload.is_empty());
    }
    prop_assert_eq!(
        parsed.verdict == Verdict::Pfc || parsed.verdict == Verdict::Pause,
        control && parsed.reason.is_none()
    );
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_have_a_consistent_answer(bytes in any_bytes()) {
        consistent(&parse(&bytes))?;
    }

    #[test]
    fn any_frame_has_a_consistent_answer(bytes in any_frame()) {
        consistent(&parse(&bytes))?;
    }

    // A frame and the same frame with more bytes after it differ only in their length.
    #[test]
    fn a_valid_frame_says_the_same_with_a_longer_tail(frame in frame(), tail in 0usize..40) {
        let mut longer = frame.bytes.clone();
        longer.resize(longer.len() + tail, 0x5A);
        let mut parsed = parse(&longer);
        parsed.frame_bytes = frame.bytes.len();
        prop_assert_eq!(parsed, parse(&frame.bytes));
    }

    // A valid frame that is cut anywhere hands on a prefix of its payload, and no layer that is still reported
    // changes.
    #[test]
    fn a_cut_frame_says_less_and_nothing_else(frame in frame(), to: prop::sample::Index) {
        let whole = parse(&frame.bytes);
        let cut = parse(&frame.bytes[..to.index(frame.bytes.len())]);
        prop_assert!(whole.payload.starts_with(&cut.payload));
        prop_assert!(cut.ip.is_none() || cut.ip == whole.ip);
        prop_assert!(cut.bth.is_none() || cut.bth == whole.bth);
        prop_assert!(cut.ext.is_none() || cut.ext == whole.ext);
        prop_assert!(cut.icrc_ok.is_none() || cut.icrc_ok == whole.icrc_ok);
    }
}
