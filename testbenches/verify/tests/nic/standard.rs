//! Tests of statements of the standards that NICs are known to violate. Each test paraphrases the statement that it
//! checks.

use std::net::Ipv6Addr;

use crate::fixture::{
    MTU, SOURCE, Tested, done, dscp_maps, good, judged, mark_ce, opened, pfc, post, signaled_write,
};
use crate::receive_buffer;
use xoff_cosim::units::axi_lite::{AxiLite, Response};
use xoff_cosim::units::{PERIOD_256_PS, beat};
use xoff_network::Endpoint;
use xoff_sim::frame::{FCS_BYTES, Frame, wire_bytes};
use xoff_sim::host::{Stalled, Written};
use xoff_sim::nic::Region;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Recv, Status, Work, WorkKind};
use xoff_sim::protocol::{Content, Descriptor, IpFields, RocePacket};
use xoff_sim::time::Duration;
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Verdict};
use xoff_sim::wire::{
    AethRepr, BthRepr, ExtHeaders, MacAddr, Msn, Opcode, Psn, Qpn, RethRepr, Syndrome, Tci,
};
use xoff_verify::property::nic::pair::{QPN_BASE, REGION, REGION_BYTES, all, qp};

/// Builds a packet from a side's QP to its peer, independent of the requester.
pub fn packet(side: usize, index: u16, psn: Psn, change: impl FnOnce(&mut RocePacket)) -> Vec<u8> {
    let qp = qp(side, index);
    let (std::net::IpAddr::V4(src), std::net::IpAddr::V4(dst)) = (qp.own.ip, qp.peer.ip) else {
        unreachable!("the pair's addresses are IPv4");
    };
    let mut roce = RocePacket {
        ip: IpFields {
            kind: IpKind::V4,
            traffic_class: qp.dscp << 2,
            flow_label: 0,
            id: 0,
            flags: 0b010,
            hop_limit: qp.hop_limit,
            src: u32::from(src).into(),
            dst: u32::from(dst).into(),
        },
        udp_src_port: Some(qp.udp_port),
        bth: BthRepr {
            opcode: Opcode::RC_WRITE_ONLY,
            pkey: qp.pkey,
            dest_qp: Qpn::new(qp.peer_qpn).unwrap(),
            psn,
            ..BthRepr::default()
        },
        ext: ExtHeaders::default(),
        payload: vec![],
    };
    change(&mut roce);
    let frame = Descriptor {
        dst: qp.peer.mac,
        src: qp.own.mac,
        tags: vec![],
        content: Content::Roce(roce),
    };
    frame.build().unwrap()
}

/// Builds a CNP from a side's QP to its peer.
fn cnp(side: usize, index: u16) -> Vec<u8> {
    packet(side, index, Psn::wrapping(0), |roce| {
        roce.bth.opcode = Opcode::CNP;
        roce.bth.becn = true;
    })
}

/// Returns the time of a frame on the wire at 40 Gb/s, including preamble, FCS and gap.
fn wire_ps(bytes: usize) -> u64 {
    wire_bytes(bytes as u64 + FCS_BYTES) * 200
}

/// Delay from a side's last bit to the other side's.
const DELAY_PS: u64 = 500_000;

/// IBTA volume 1, 9.7.4.1.6 (length checks of a request): a packet's payload is at most the path MTU, and the largest
/// path MTU is 4,096 bytes. A request that carries more is invalid on any path: it ends its QP, and leaves others alone.
#[test]
fn more_payload_than_any_path_mtu_ends_a_qp_and_leaves_others_alone() {
    let mut pair = Tested::new(|setup| setup.responder.mtu = 4, 2);
    let (key, mut psn) = (pair.key[1], qp(0, 0).requester_psn);
    // Every length near the limits of a beat count or a path MTU, and some of all others. The MAC takes 9,216 bytes.
    let mut lengths: Vec<u32> = (0..9_140u32)
        .filter(|length| {
            length % 97 < 2
                || [255, 256, 1024, 4096, 8160, 8192]
                    .iter()
                    .any(|edge: &u32| length.abs_diff(*edge) < 40)
        })
        .collect();
    // In a shuffled order.
    lengths.sort_by_key(|length| length * 7_919 % 9_973);
    let (first, mut expected, mut too_long) = (psn, vec![], 0);
    let mut at = pair.time();
    for length in lengths {
        let payload: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
        let va = REGION + u64::from(length % 61);
        // Frames that are too long are addressed to another QP, which the first one ends.
        let to = u16::from(length > 4096);
        let frame = packet(0, to, [psn, first][usize::from(to)], |roce| {
            roce.ext.reth = Some(RethRepr {
                va,
                rkey: key,
                dma_len: length,
            });
            roce.payload = payload.clone();
        });
        at += Duration::from_ps(wire_ps(frame.len()));
        pair.receive(1, at, frame);
        if length > 4096 {
            too_long += 1;
        } else {
            psn = psn.advance(1);
            if length > 0 {
                expected.push((va, payload));
            }
        }
    }
    while pair.time() < at + Duration::from_us(10) {
        pair.step(&mut all);
    }
    let written: Vec<_> = pair.written[1]
        .iter()
        .map(|write| (write.va, write.bytes.clone()))
        .collect();
    let right = written
        .iter()
        .zip(&expected)
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        written == expected,
        "{} writes, {} expected, the first {right} are right",
        written.len(),
        expected.len()
    );
    let counts = [reg::INVALID_IN, reg::NOT_READY_IN].map(|register| pair.count(1, register));
    assert_eq!(counts, [1, too_long - 1]);
    assert_eq!(pair.count(1, reg::DROP_FULL), 0);
}

/// IEEE 802.3: the destination address says for whom a frame is. RFC 1122 (3.2.1.3): a host silently discards
/// a datagram that is not destined for it. IBTA volume 1: a packet whose P_Key does not match that of its QP is
/// silently dropped, and one of a connection comes from the QP's peer.
#[test]
fn frames_for_another_address_change_nothing() {
    let mut pair = Tested::new(|_| {}, 2);
    let (key, psn) = (pair.key[1], qp(0, 0).requester_psn);
    let write = |byte: u8, change: &dyn Fn(&mut RocePacket)| {
        packet(0, 0, psn, |roce| {
            let va = REGION + u64::from(byte) * 64;
            roce.ext.reth = Some(RethRepr {
                va,
                rkey: key,
                dma_len: 5,
            });
            roce.payload = vec![byte; 5];
            change(roce);
        })
    };
    let to = |mac: [u8; 6], mut frame: Vec<u8>| {
        frame[..6].copy_from_slice(&mac);
        frame
    };
    let own = qp(1, 0).own.mac.0;
    let neighbour = [own[0], own[1], own[2], own[3], own[4], own[5] ^ 1];
    let other_macs = [
        neighbour,
        [0xFF; 6],
        MacAddr::CONTROL.0,
        [own[0] ^ 1, own[1], own[2], own[3], own[4], own[5]],
    ];
    let mut frames: Vec<_> = other_macs.map(|mac| to(mac, write(1, &|_| {}))).into();
    let others: [&dyn Fn(&mut RocePacket); 5] = [
        &|roce| roce.ip.dst ^= 1,
        &|roce| roce.ip.dst ^= 1 << 31,
        &|roce| roce.ip.src ^= 1,
        &|roce| roce.bth.pkey ^= 1,
        &|roce| roce.bth.pkey ^= 0x4000,
    ];
    frames.extend(others.map(|change| write(2, change)));
    // The high bit of a P_Key says full or limited member.
    frames.push(write(3, &|roce| roce.bth.pkey ^= 0x8000));
    let mut at = pair.time();
    for frame in frames {
        at += Duration::from_ps(wire_ps(frame.len()));
        pair.receive(1, at, frame);
    }
    while pair.time() < at + Duration::from_us(5) {
        pair.step(&mut all);
    }
    let written: Vec<_> = pair.written[1]
        .iter()
        .map(|write| write.bytes.clone())
        .collect();
    assert_eq!(written, [vec![3; 5]]);
    let registers = [reg::DROP_ADDRESS, reg::DROP_QP, reg::DROP_PKEY];
    let dropped = registers.map(|register| pair.count(1, register));
    assert_eq!(dropped, [4, 3, 2]);
}

/// A change to a packet and to the addresses of its frame.
type Change = dyn Fn(&mut Vec<u8>, &mut RocePacket);

/// As above, for each kind of packet that a NIC receives: a WRITE, an ACK of a message that waits for it, a CNP. The
/// same for IPv6, all of whose bits count, and for IPv6 packets to a QP with IPv4 addresses that are in their last
/// bits.
#[test]
fn each_kind_of_packet_for_another_address_changes_nothing() {
    let v6 = |side: u128| 0x2001_0DB8_8765_4321_1234_5678_9ABC_DE00 + side;
    for ipv6 in [false, true] {
        let registers = [(reg::CONTROL, 1 << reg::DCQCN_ON_LOW)];
        let mut pair = opened(&registers, 1, |side, _, setup| {
            if ipv6 {
                let address = |side: usize| Ipv6Addr::from_bits(v6(side as u128)).into();
                (setup.own.ip, setup.peer.ip) = (address(side), address(1 - side));
            }
            setup.requester.timeout = 0;
        });
        // A message that waits for its ACK.
        let work = signaled_write(&pair, 1, 0, 8);
        pair.post(1, 0, work);
        let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
        pair.run(1_000, &mut nothing, |pair| !pair.frames.is_empty());
        let key = pair.key[1];
        let frame = |kind: usize, change: &Change| {
            let mut head = vec![];
            let psn = [
                qp(0, 0).requester_psn,
                qp(1, 0).requester_psn,
                Psn::wrapping(0),
            ][kind];
            let mut frame = packet(0, 0, psn, |roce| {
                if ipv6 {
                    (roce.ip.kind, roce.ip.src, roce.ip.dst) = (IpKind::V6, v6(0), v6(1));
                    (roce.ip.flags, roce.ip.id) = (0, 0);
                }
                match kind {
                    0 => {
                        roce.payload = vec![7; 5];
                        roce.ext.reth = Some(RethRepr {
                            va: REGION,
                            rkey: key,
                            dma_len: 5,
                        });
                    }
                    1 => {
                        roce.bth.opcode = Opcode::RC_ACK;
                        roce.ext.aeth = Some(AethRepr {
                            syndrome: Syndrome(0x1F),
                            msn: Msn::new(1).unwrap(),
                        });
                    }
                    _ => (roce.bth.opcode, roce.bth.becn) = (Opcode::CNP, true),
                }
                change(&mut head, roce);
            });
            frame[..head.len()].copy_from_slice(&head);
            frame
        };
        let own = qp(1, 0).own.mac.0;
        let bit = |at: u32| move |roce: &mut RocePacket| roce.ip.dst ^= 1 << at;
        let bits: &[u32] = if ipv6 {
            &[0, 15, 31, 32, 47, 63, 64, 95, 96, 127]
        } else {
            &[0, 15, 31]
        };
        let mut changes: Vec<(u16, Box<Change>)> = vec![
            (
                reg::DROP_ADDRESS,
                Box::new(move |head, _| *head = [&own[..5], &[own[5] ^ 1]].concat()),
            ),
            (reg::DROP_ADDRESS, Box::new(|head, _| *head = vec![0xFF; 6])),
            (reg::DROP_PKEY, Box::new(|_, roce| roce.bth.pkey ^= 1)),
        ];
        for &at in bits {
            changes.push((reg::DROP_QP, Box::new(move |_, roce| bit(at)(roce))));
            changes.push((
                reg::DROP_QP,
                Box::new(move |_, roce| roce.ip.src ^= 1 << at),
            ));
        }
        // The other version of IP, with the same last bits: IPv6 with zeros in front of them, or a mapped address.
        let as_v6 = |upper: u128| {
            move |roce: &mut RocePacket| {
                (roce.ip.kind, roce.ip.flags) = (IpKind::V6, 0);
                (roce.ip.src, roce.ip.dst) = (upper | roce.ip.src, upper | roce.ip.dst);
            }
        };
        if ipv6 {
            changes.push((
                reg::DROP_QP,
                Box::new(|_, roce| {
                    (roce.ip.kind, roce.ip.flags) = (IpKind::V4, 2);
                    (roce.ip.src, roce.ip.dst) =
                        (roce.ip.src & 0xFFFF_FFFF, roce.ip.dst & 0xFFFF_FFFF);
                }),
            ));
        } else {
            for upper in [0, 0xFFFF << 32, 1 << 127] {
                changes.push((reg::DROP_QP, Box::new(move |_, roce| as_v6(upper)(roce))));
            }
        }
        for kind in 0..3 {
            let state = |pair: &Tested| {
                let limited = pair.host(1).rate(0).is_some_and(|(_, _, limited)| limited);
                [
                    pair.written[1].len(),
                    pair.completions[1].len(),
                    usize::from(limited),
                ]
            };
            let before = state(&pair);
            for (place, (register, change)) in changes.iter().enumerate() {
                let count = pair.count(1, *register);
                let at = pair.time();
                pair.receive(1, at, frame(kind, change));
                for _ in 0..60 {
                    pair.step(&mut nothing);
                }
                let what = format!("IPv6 {ipv6}, kind {kind}, change {place}");
                assert_eq!(pair.count(1, *register), count + 1, "{what}");
                assert_eq!(state(&pair), before, "{what}");
            }
            // The same without a change does what it is for.
            let at = pair.time();
            pair.receive(1, at, frame(kind, &|_, _| {}));
            for _ in 0..100 {
                pair.step(&mut nothing);
            }
            let mut right = before;
            right[kind] += 1;
            assert_eq!(state(&pair), right, "IPv6 {ipv6}, kind {kind}");
        }
        good(&pair);
    }
}

/// IEEE 802.1Q: PFC is sent to 01-80-C2-00-00-01. IEEE 802.3 annex 31B: PAUSE is sent to that address or to
/// the station's own.
#[test]
fn pauses_to_another_address_pause_nothing() {
    let quanta: u16 = 200;
    let own = qp(1, 0).own.mac.0;
    let neighbour = [own[0], own[1], own[2], own[3], own[4], own[5] ^ 1];
    let mut pause = pfc([None; 8]);
    pause[14..].fill(0);
    pause[14..16].copy_from_slice(&[0x00, 0x01]);
    pause[16..18].copy_from_slice(&quanta.to_be_bytes());
    // PFC to an individual address is malformed. PAUSE is for the port, which does not obey it unless it is told to.
    for (obeyed, classes) in [(true, 0xFF), (false, 0)] {
        let control = u32::from(obeyed) << reg::PAUSE_OBEYED_LOW;
        let registers = [(reg::PFC_CLASSES, 0xFF), (reg::CONTROL, control)];
        let mut pair = opened(&registers, 1, |_, _, _| {});
        for (frame, to_own) in [(pfc([Some(quanta); 8]), 0), (pause.clone(), classes)] {
            let to_all = if frame[14] == 1 { 0xFF } else { classes };
            for (mac, paused) in [
                (neighbour, 0),
                ([0xFF; 6], 0),
                (own, to_own),
                (MacAddr::CONTROL.0, to_all),
            ] {
                let mut frame = frame.clone();
                frame[..6].copy_from_slice(&mac);
                let at = pair.time();
                pair.receive(1, at, frame.clone());
                let mut seen = 0;
                // 200 quanta are 500 cycles.
                for _ in 0..600 {
                    pair.step(&mut all);
                    seen |= pair.host(1).pauses().paused();
                }
                assert_eq!(seen, paused, "obeyed {obeyed}: {frame:02x?}");
                assert_eq!(
                    pair.host(1).pauses().paused(),
                    0,
                    "obeyed {obeyed}: {frame:02x?}"
                );
            }
        }
        let counts = [
            reg::DROP_ADDRESS,
            reg::DROP_MALFORMED,
            reg::PFC_IN,
            reg::PAUSE_IN,
            reg::PAUSE_IGNORED,
        ];
        let found = counts.map(|register| pair.count(1, register));
        let pauses = if obeyed { [2, 0] } else { [0, 2] };
        assert_eq!(found, [4, 1, 1, pauses[0], pauses[1]]);
    }
}

/// 802.1Q (36.1): PFC inhibits transmission of the priorities that it names, and of no other. So two paused classes
/// leave the third the whole wire.
#[test]
fn classes_that_are_paused_leave_the_others_the_wire() {
    const CYCLES: u64 = 10_000;
    let dscps = [8, 16, 24];
    // DSCP 8c is of class c.
    let mut registers: Vec<_> = dscp_maps().collect();
    registers.push((reg::PFC_CLASSES, 0xFF));
    let mut pair = opened(&registers, 3, |_, index, setup| {
        setup.dscp = dscps[usize::from(index)]
    });
    // The third starts when the others hold all the slots that they can get.
    for index in 0..2 {
        post(&mut pair, 0, index, &[100 * MTU]);
    }
    for _ in 0..2_000 {
        pair.step(&mut all);
    }
    let mut quanta = [None; 8];
    (quanta[1], quanta[2]) = (Some(u16::MAX), Some(u16::MAX));
    let at = pair.time();
    pair.receive(0, at, pfc(quanta));
    post(&mut pair, 0, 2, &[400 * MTU]);
    for _ in 0..2_000 {
        pair.step(&mut all);
    }
    let before = pair.frames.len();
    for _ in 0..CYCLES {
        pair.step(&mut all);
    }
    let sent: Vec<_> = pair.frames[before..]
        .iter()
        .filter(|(side, ..)| *side == 0)
        .collect();
    assert!(
        sent.iter()
            .all(|(_, _, frame)| frame.ip.unwrap().traffic_class >> 2 == 24)
    );
    let carried: u64 = sent
        .iter()
        .map(|(_, sent, _)| wire_ps(sent.bytes.len()))
        .sum();
    let share = carried as f64 / (CYCLES * PERIOD_256_PS) as f64;
    println!(
        "{} frames of the class that is not paused, {share:.3} of the wire",
        sent.len()
    );
    assert!(
        share > 0.98,
        "{share:.3} of the wire, {} frames",
        sent.len()
    );
}

/// DCQCN (SIGCOMM 2015, 3.1): the notification point answers an arriving packet that is marked, whatever the transport
/// does with the packet: also one after a gap, or one that meets RNR.
#[test]
fn a_mark_counts_behind_a_gap_and_without_a_buffer() {
    for gap in [true, false] {
        let mut pair = opened(&[(reg::CONTROL, 1 << reg::DCQCN_ON_LOW)], 1, |_, _, _| {});
        let work = Work {
            kind: if gap { WorkKind::WRITE } else { WorkKind::SEND },
            signaled: true,
            length: 6 * MTU,
            local_va: SOURCE,
            remote_va: REGION,
            remote_key: pair.key[1],
            ..Work::default()
        };
        pair.post(0, 0, work);
        let mut seen = 0;
        let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 1 {
                return true;
            }
            seen += 1;
            // Marked packets: with a gap, those after the second packet, which is lost; without a buffer, the first
            // one.
            if if gap {
                (3..=6).contains(&seen)
            } else {
                seen == 1
            } {
                mark_ce(bytes);
            }
            !(gap && seen == 2)
        };
        for _ in 0..3_000 {
            pair.step(&mut wire);
        }
        assert!(pair.count(1, if gap { reg::GAPS_IN } else { reg::NO_BUFFER }) > 0);
        assert!(pair.count(1, reg::MARKED_IN) > 0, "gap {gap}");
        assert_eq!(pair.count(1, reg::CNPS_OUT), 1, "gap {gap}");
        let cnps = pair
            .frames
            .iter()
            .filter(|(_, _, frame)| frame.verdict == Verdict::Cnp);
        assert_eq!(cnps.count(), 1);
    }
}

/// DCQCN (SIGCOMM 2015, 3.1): a CNP applies to the flow that it names. Rate and pace of others are as without it.
#[test]
fn a_flood_of_cnps_for_one_qp_costs_the_others_nothing() {
    let requests = |flood: bool| {
        let qps = 8;
        let mut pair = opened(
            &[(reg::CONTROL, 1 << reg::DCQCN_ON_LOW)],
            qps,
            |_, _, setup| {
                setup.requester.timeout = 0;
            },
        );
        let key = pair.key[1];
        let work = Work {
            kind: WorkKind::WRITE,
            signaled: true,
            length: 64,
            local_va: SOURCE,
            remote_va: REGION,
            remote_key: key,
            ..Work::default()
        };
        // QP 0 is slowed down and has nothing to send.
        for index in 1..qps {
            for _ in 0..12 {
                pair.post(0, index, work);
            }
        }
        let (mut reported, mut named) = (0, false);
        let begin = pair.frames.len();
        for cycle in 0..16_000 {
            let at = pair.time();
            // With the ACKs these CNPs fill 95 % of the wire.
            if flood && cycle % 7 == 0 {
                pair.receive(0, at, cnp(1, 0));
            }
            if cycle == 15_000 {
                pair.receive(0, at, cnp(1, 1));
            }
            pair.step(&mut all);
            while reported < pair.completions[0].len() {
                let index = pair.completions[0][reported].0;
                pair.post(0, index, work);
                reported += 1;
            }
            named |= pair.host(0).rate(1).is_some_and(|(_, _, limited)| limited);
        }
        good(&pair);
        assert!(named, "flood {flood}: the CNP for QP 1 is lost");
        assert_eq!(pair.count(0, reg::DROP_FULL), 0, "flood {flood}");
        pair.frames[begin..]
            .iter()
            .filter(|(side, ..)| *side == 0)
            .count()
    };
    let (quiet, flooded) = (requests(false), requests(true));
    println!("{quiet} requests, {flooded} under a flood of CNPs for another QP");
    assert!(
        flooded * 100 >= quiet * 97,
        "{flooded} requests, {quiet} without a flood"
    );
}

/// DCQCN (SIGCOMM 2015, 3.3): CNPs have a priority of their own and do not wait behind data, whichever of PCP and DSCP
/// says what the priority is.
#[test]
fn cnps_do_not_wait_for_a_paused_data_class() {
    let control = 1 << reg::DCQCN_ON_LOW | 1 << reg::CLASS_BY_PCP_LOW;
    let registers = [
        (reg::CONTROL, control),
        (reg::PFC_CLASSES, 0xFF),
        (reg::CNP_PCP, 6),
    ];
    let mut pair = opened(&registers, 1, |_, _, setup| setup.tags = vec![3 << 13 | 5]);
    // The receiver may send no frame of the data class.
    pair.pause(1, 3, u16::MAX);
    post(&mut pair, 0, 0, &[0, 3 * MTU]);
    let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
        if side == 0 {
            mark_ce(bytes);
        }
        true
    };
    for _ in 0..3_000 {
        pair.step(&mut wire);
    }
    let sent: Vec<_> = pair
        .frames
        .iter()
        .filter(|(side, ..)| *side == 1)
        .map(|(_, _, frame)| frame)
        .collect();
    assert_eq!(sent.len(), 1, "a CNP, and no ACK while its class is paused");
    assert_eq!(sent[0].verdict, Verdict::Cnp);
    assert_eq!(
        sent[0].eth.as_ref().unwrap().tags,
        [Tci {
            pcp: 6,
            dei: false,
            vid: 5
        }]
    );
}

/// IBTA volume 1, go-back-N: after a NAK the requester continues with the packet that
/// it names. Packets after it that are not yet on the wire are useless.
#[test]
fn a_nak_takes_back_what_waits_for_the_wire() {
    // A packet is lost. It has to be sent again within a frame's time and a microsecond of the NAK, not counting the
    // reads of the host (1.6 us).
    let mut pair = Tested::new(|setup| setup.requester.window = 200, 1);
    let (expected, counts) = post(&mut pair, 0, 0, &[150 * MTU]);
    let lost = qp(0, 0).requester_psn.advance(40);
    let mut drops = 1;
    let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
        let lose = side == 0 && frame.bth.unwrap().psn == lost && drops > 0;
        drops -= i32::from(lose);
        !lose
    };
    pair.run(20_000, &mut wire, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    let (at, nak) = pair
        .frames
        .iter()
        .enumerate()
        .find_map(|(i, (side, sent, frame))| {
            let nak = *side == 1 && frame.ext.as_ref()?.aeth?.syndrome.0 == 0x60;
            nak.then_some((i, sent.end.as_ps() + DELAY_PS))
        })
        .expect("a NAK");
    let behind: Vec<&(usize, Frame, ParsedFrame)> = pair.frames[at..]
        .iter()
        .filter(|(side, sent, _)| *side == 0 && sent.start.as_ps() > nak)
        .collect();
    let first = behind
        .iter()
        .position(|(_, _, frame)| frame.bth.unwrap().psn == lost)
        .expect("sent again");
    let useless = behind[..first].len();
    let took = behind[first].1.start.as_ps() - nak;
    println!(
        "NAK to resend: {} ns, {useless} packets between",
        took / 1_000
    );
    // The read of its payload, 1 us, and the frame on the wire.
    assert!(
        took <= 1_000_000 + 100 * PERIOD_256_PS + wire_ps(1_082),
        "{} ns",
        took / 1_000
    );
    assert!(useless <= 3, "{useless} packets that nobody waits for");
    let sent = pair.count(0, reg::FRAMES_OUT);
    assert_eq!(
        sent + pair.count(0, reg::WITHDRAWN),
        pair.count(0, reg::REQUESTS_OUT)
    );
    pair.pulses_are_counted();
}

/// The same while the class is paused: no old packet goes out first when the pause ends.
#[test]
fn a_nak_during_a_pause_takes_back_what_waits_for_its_end() {
    let registers = [(reg::DSCP_MAP + 4 * 3, 3 << 8), (reg::PFC_CLASSES, 1 << 3)];
    let mut pair = opened(&registers, 1, |_, _, setup| setup.requester.window = 200);
    let (expected, counts) = post(&mut pair, 0, 0, &[150 * MTU]);
    let lost = qp(0, 0).requester_psn.advance(40);
    let mut drops = 1;
    let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
        let lose = side == 0 && frame.bth.unwrap().psn == lost && drops > 0;
        drops -= i32::from(lose);
        !lose
    };
    pair.run(20_000, &mut wire, |pair| {
        pair.frames
            .iter()
            .any(|(side, _, frame)| *side == 0 && frame.bth.unwrap().psn == lost)
    });
    pair.pause(0, 3, 1_000);
    for _ in 0..2_000 {
        pair.step(&mut wire);
    }
    assert_eq!(pair.count(0, reg::NAKS_IN), 1, "during the pause");
    let before = pair.frames.len();
    pair.run(20_000, &mut wire, |pair| done(pair, counts));
    good(&pair);
    assert!(pair.memory(1) == expected);
    let (_, _, first) = pair.frames[before..]
        .iter()
        .find(|(side, ..)| *side == 0)
        .unwrap();
    assert_eq!(
        first.bth.unwrap().psn,
        lost,
        "the first behind the pause is what the NAK names"
    );
}

/// Waits until written data is in memory: the sender's completion of a WRITE may come before its last beats are
/// written.
fn settle(pair: &mut Tested) {
    for _ in 0..500 {
        pair.step(&mut all);
    }
}

/// T of timeout code 1: 4.096 us * 2 (IBTA volume 1, 9.7.6.1.3).
const TIMEOUT_1_PS: u64 = 8_192_000;

/// IBTA volume 1, 9.7.6.1.3: a requester waits for an ACK at least T and at most 4 T before it treats a packet as lost.
/// T counts from when the packet has left, not from when it was granted.
#[test]
fn the_ack_timer_counts_from_the_wire() {
    let change = |setup: &mut xoff_sim::nic::QpSettings| {
        (setup.requester.mtu, setup.responder.mtu) = (4, 4);
        (setup.requester.timeout, setup.requester.ack_every) = (1, 0);
        setup.dscp = 24;
    };
    // 16 packets take 13 us: the last one waits longer than T for the wire. Nothing is lost, and no retry is allowed.
    let mut pair = Tested::new(
        |setup| {
            change(setup);
            setup.requester.retry = 0;
        },
        1,
    );
    let (expected, counts) = post(&mut pair, 0, 0, &[0, 64 << 10]);
    pair.run(20_000, &mut all, |pair| done(pair, counts));
    settle(&mut pair);
    good(&pair);
    assert!(pair.memory(1) == expected);
    assert_eq!(pair.count(0, reg::TIMEOUTS), 0);
    // The last packet is lost, once; the second time its class is paused for 5 T while it waits for the wire.
    for paused in [false, true] {
        let registers = [(reg::DSCP_MAP + 4 * 3, 3), (reg::PFC_CLASSES, 1 << 3)];
        let mut pair = opened(&registers, 1, |_, _, setup| change(setup));
        let (expected, counts) = post(&mut pair, 0, 0, &[0, 64 << 10]);
        let last = qp(0, 0).requester_psn.advance(16);
        let mut lost = None;
        let mut wire = |side: usize, _: &mut Vec<u8>, frame: &ParsedFrame| {
            let lose = side == 0 && frame.bth.unwrap().psn == last && lost.is_none();
            if lose {
                lost = Some(());
            }
            !lose
        };
        if paused {
            pair.run(20_000, &mut wire, |pair| {
                pair.frames.iter().filter(|(side, ..)| *side == 0).count() == 4
            });
            pair.pause(0, 3, (5 * TIMEOUT_1_PS / 12_800) as u16);
        }
        pair.run(60_000, &mut wire, |pair| done(pair, counts));
        settle(&mut pair);
        good(&pair);
        assert!(pair.memory(1) == expected);
        let sent: Vec<_> = pair
            .frames
            .iter()
            .filter(|(side, _, frame)| *side == 0 && frame.bth.unwrap().psn == last)
            .map(|(_, sent, _)| sent)
            .collect();
        assert_eq!(sent.len(), 2, "paused {paused}: lost once, sent again once");
        let waited = sent[1].start.as_ps() - sent[0].end.as_ps();
        println!(
            "paused {paused}: again {} ns after the last bit, T is {} ns",
            waited / 1_000,
            TIMEOUT_1_PS / 1_000
        );
        assert!(
            (TIMEOUT_1_PS..=4 * TIMEOUT_1_PS).contains(&waited),
            "{} ns",
            waited / 1_000
        );
        assert_eq!(pair.count(0, reg::TIMEOUTS), 1);
    }
}

/// IBTA volume 1, 9.7.5.1: an ACK acknowledges the packets up to its PSN, and none of them is sent any more. So what a
/// timeout has made ready again leaves no more once the late ACK has come during a pause, and its slots are free.
#[test]
fn a_late_ack_takes_back_what_a_timeout_made_ready_during_a_pause() {
    // A paused class gets no slot. So the pause comes after the timeout, when the packets have theirs, or before it.
    for in_slots in [true, false] {
        let registers = [(reg::DSCP_MAP + 4 * 3, 3 << 8), (reg::PFC_CLASSES, 1 << 3)];
        let mut pair = opened(&registers, 1, |_, _, setup| setup.requester.timeout = 1);
        let packets = 6;
        let (expected, counts) = post(&mut pair, 0, 0, &[packets * MTU]);
        // Its ACKs are lost, and the last of them comes late.
        let mut ack = None;
        let mut wire = |side: usize, bytes: &mut Vec<u8>, _: &ParsedFrame| {
            if side == 1 {
                ack = Some(bytes.clone());
            }
            side == 0
        };
        let last = qp(0, 0).requester_psn.advance(packets - 1);
        pair.run(5_000, &mut wire, |pair| {
            let answers = pair.frames.iter().filter(|(side, ..)| *side == 1);
            answers
                .last()
                .is_some_and(|(_, _, frame)| frame.bth.unwrap().psn == last)
        });
        let again = |pair: &Tested| pair.host(0).counters().get(reg::RESENT_OUT);
        if in_slots {
            pair.run(20_000, &mut wire, |pair| again(pair) == u64::from(packets));
        }
        pair.pause(0, 3, u16::MAX);
        let timed_out = |pair: &Tested| pair.host(0).counters().get(reg::TIMEOUTS) == 1;
        pair.run(20_000, &mut wire, timed_out);
        for _ in 0..1_000 {
            pair.step(&mut wire);
        }
        let sent =
            |pair: &Tested| pair.frames.iter().filter(|(side, ..)| *side == 0).count() as u32;
        assert_eq!(sent(&pair), packets, "sent before the pause");
        let at = pair.time();
        pair.receive(0, at, ack.clone().expect("an ACK"));
        for _ in 0..200 {
            pair.step(&mut all);
        }
        assert!(done(&pair, counts), "{:?}", pair.completions);
        let at = pair.time();
        pair.receive(0, at, pfc([Some(0); 8]));
        for _ in 0..5_000 {
            pair.step(&mut all);
        }
        assert_eq!(sent(&pair), packets, "packets that were acknowledged");
        let withdrawn = if in_slots { packets } else { 0 };
        assert_eq!(again(&pair), u64::from(withdrawn));
        assert_eq!(pair.count(0, reg::WITHDRAWN), withdrawn);
        assert_eq!(pair.count(0, reg::TIMEOUTS), 1);
        good(&pair);
        assert!(pair.memory(1) == expected);
        // The slots are free: the class sends as before.
        let (_, counts) = post(&mut pair, 0, 0, &[40 * MTU]);
        pair.completions = [vec![], vec![]];
        pair.run(5_000, &mut all, |pair| done(pair, counts));
        good(&pair);
        pair.pulses_are_counted();
    }
}

/// IBTA volume 1, QP states: what arrived for a QP before it was reset has no effect on the QP after it is
/// opened again.
#[test]
fn close_leaves_nothing_of_a_qp_behind() {
    for part in 0..4 {
        // Alone, and behind packets of another QP, which are still in the queue when the host takes writes again. Their
        // number takes on many values of its low bits.
        for (others, own) in (240..256)
            .step_by(5)
            .map(|others| (others, 9))
            .chain([(0, 48)])
        {
            let mut cells = [116; 4];
            cells[part] = 1_700;
            let pair = opened(&receive_buffer::registers(&cells), 2, |_, _, setup| {
                setup.dscp = 8 * part as u8;
                setup.requester.ack_every = 1;
                setup.requester.timeout = 0;
                // Path MTU of 256 bytes.
                (setup.requester.mtu, setup.responder.mtu) = (0, 0);
                setup.requester.window = 0;
            });
            closes(pair, others, own);
        }
    }
}

/// Closes QP 0 of side 1 while its host takes no writes, and opens it for another peer. Before, QP 1 and then QP 0 have
/// got so many packets.
fn closes(mut pair: Tested, others: u32, own: u32) {
    pair.stall(1, Stalled::Writes, 16, u64::MAX);
    for (index, packets) in [(1, others), (0, own)] {
        if packets > 0 {
            let work = Work {
                kind: WorkKind::WRITE,
                length: packets * 256,
                local_va: SOURCE,
                remote_va: REGION + u64::from(index) * 0x1_0000,
                remote_key: pair.key[1],
                ..Work::default()
            };
            pair.post(0, index, work);
        }
        // Until all of them are with the NIC.
        let sent = |pair: &Tested| pair.frames.iter().filter(|(side, ..)| *side == 0).count();
        let before = sent(&pair);
        pair.run(4_000, &mut all, |pair| {
            sent(pair) - before >= packets as usize
        });
        for _ in 0..400 {
            pair.step(&mut all);
        }
    }
    // The host continues to take writes while the QP is being closed.
    let now = pair.now();
    pair.stall(1, Stalled::Writes, 16, now + 500);
    let mut setup = qp(1, 0);
    setup.peer_qpn += 5;
    setup.responder_psn = setup.responder_psn.advance(1_000);
    pair.close(1, 0).unwrap();
    // From here on, and so during OPEN too.
    let (written, closed) = (pair.written[1].len(), pair.time());
    pair.open(1, 0, &setup).unwrap();
    let mut nothing = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    pair.rest(5_000, &mut nothing);
    let of_old = |write: &&Written| write.va < REGION + 0x1_0000;
    let written = pair.written[1][written..].iter().filter(of_old).count();
    let of = |peer: u32| {
        let answers = pair.frames.iter().filter(move |(side, sent, frame)| {
            *side == 1 && sent.start > closed && frame.bth.unwrap().dest_qp.get() == peer
        });
        answers.count()
    };
    assert_eq!(
        (written, of(setup.peer_qpn)),
        (0, 0),
        "writes and answers of the old QP in the new one"
    );
    // Two packets may have been selected for the wire before.
    assert!(of(setup.peer_qpn - 5) <= 2, "answers to the old peer");
    assert_eq!(
        pair.count(1, reg::REQUESTS_IN) + pair.count(1, reg::NOT_READY_IN),
        others + own
    );
}

/// IBTA volume 1, error state of a QP: it is a state of the QP, not of a queue. Outstanding work in both queues
/// completes as flushed, and no packet is accepted any more.
#[test]
fn a_qp_that_fails_fails_as_a_whole() {
    let recv = |id| Recv {
        length: 100,
        local_va: REGION,
        local_key: 0x15A,
        id,
    };
    let send = |id| Work {
        signaled: true,
        length: 10,
        local_va: SOURCE,
        id,
        ..Work::default()
    };
    // The requester fails because nothing it sends arrives.
    let mut pair = Tested::new(
        |setup| (setup.requester.timeout, setup.requester.retry) = (1, 0),
        1,
    );
    for id in 0..3 {
        pair.post_recv(0, 0, recv(id));
    }
    pair.post(0, 0, send(7));
    let mut deaf = |_: usize, _: &mut Vec<u8>, _: &ParsedFrame| false;
    pair.run(20_000, &mut deaf, |pair| !pair.completions[0].is_empty());
    for _ in 0..500 {
        pair.step(&mut deaf);
    }
    let told: Vec<_> = pair.completions[0]
        .iter()
        .map(|(_, told)| (told.receive, told.id, told.status))
        .collect();
    assert_eq!(told[0], (false, 7, Status::RetryExceeded));
    assert_eq!(
        told[1..],
        [0, 1, 2].map(|id| (true, id, Status::Flushed)),
        "the receive queue"
    );
    // The QP accepts nothing from its peer any more.
    pair.post(1, 0, send(8));
    let before = pair.frames.len();
    for _ in 0..1_000 {
        pair.step(&mut all);
    }
    assert!(
        pair.frames[before..].iter().all(|(side, ..)| *side == 1),
        "an answer of a QP in error"
    );
    assert_eq!(pair.count(0, reg::REQUESTS_IN), 0);
    assert!(pair.count(0, reg::NOT_READY_IN) > 0);
    // The responder fails because its peer writes memory that it may not write. A message of its own is outstanding.
    let mut pair = Tested::new(|setup| setup.requester.timeout = 0, 1);
    pair.post(1, 0, send(9));
    for _ in 0..1_000 {
        pair.step(&mut deaf);
    }
    let work = Work {
        remote_key: pair.key[1] ^ 1,
        ..signaled_write(&pair, 0, 0, 10)
    };
    pair.post(0, 0, work);
    for _ in 0..3_000 {
        pair.step(&mut all);
    }
    assert_eq!(pair.completions[0][0].1.status, Status::RemoteAccess);
    let told: Vec<_> = pair.completions[1]
        .iter()
        .map(|(_, told)| (told.receive, told.id, told.status))
        .collect();
    assert_eq!(told, [(false, 9, Status::Flushed)], "the send queue");
}

/// AXI4-Lite: OKAY means that the write was carried out. A region registered in the first cycle after reset exists.
#[test]
fn a_region_registered_right_after_reset_is_there() {
    let region = Region {
        base: REGION,
        length: REGION_BYTES,
        tag: 0x5A,
        pd: 0,
        local_write: true,
        remote_write: true,
    };
    let mut registers = AxiLite::default();
    let mut writes = region.writes(1);
    let [a, b, c, d, e, f] = qp(1, 0).own.mac.0;
    writes.extend([
        (reg::QPN_BASE, QPN_BASE),
        (reg::PORT_MAC_LOW, u32::from_be_bytes([c, d, e, f])),
        (reg::PORT_MAC_HIGH, u32::from(u16::from_be_bytes([a, b]))),
    ]);
    writes.extend(qp(1, 0).writes(0));
    for (address, word) in writes {
        registers.write(address.into(), word);
    }
    registers.wait_for(reg::BUSY.into(), 0);
    let frame = packet(0, 0, qp(0, 0).requester_psn, |roce| {
        roce.ext.reth = Some(RethRepr {
            va: REGION,
            rkey: region.key(1),
            dma_len: 8,
        });
        roce.payload = vec![0x77; 8];
    });
    let mut beats: Vec<&[u8]> = frame.chunks(32).rev().collect();
    let nic = judged(|| xoff_rtl::Nic::new(&verilated::Settings::new("nic")));
    let mut model = nic.unwrap();
    let (mut pins, mut out) = (xoff_rtl::nic::In::default(), xoff_rtl::nic::Out::default());
    pins.rst_i = 1;
    model.cycle(&pins, &mut out).unwrap();
    pins.rst_i = 0;
    let (mut accepted, mut refused) = (0, 0);
    for cycle in 0..2_000 {
        pins.now_i = cycle;
        let request = registers.drive();
        (pins.awvalid_i, pins.awaddr_i) =
            (request.aw.is_some().into(), request.aw.unwrap_or(0) as u16);
        (pins.wvalid_i, pins.wdata_i, pins.wstrb_i) =
            (request.w.is_some().into(), request.w.unwrap_or(0), 0xF);
        (pins.arvalid_i, pins.araddr_i) =
            (request.ar.is_some().into(), request.ar.unwrap_or(0) as u16);
        (pins.bready_i, pins.rready_i) = (request.b_ready.into(), request.r_ready.into());
        pins.rx_valid_i = 0;
        if registers.idle()
            && cycle > 1_000
            && let Some(bytes) = beats.pop()
        {
            (pins.rx_valid_i, pins.rx_last_i, pins.rx_bytes_i) =
                (1, beats.is_empty().into(), bytes.len() as u8);
            beat::put(&mut pins.rx_data_i, bytes);
        }
        model.cycle(&pins, &mut out).unwrap();
        let response = Response {
            aw_ready: out.awready_o != 0,
            w_ready: out.wready_o != 0,
            b: (out.bvalid_o != 0).then_some(out.bresp_o),
            ar_ready: out.arready_o != 0,
            r: (out.rvalid_o != 0).then_some((out.rdata_o, out.rresp_o)),
        };
        if !registers.idle() {
            registers.sample(&response).unwrap();
        }
        accepted += out.event_o >> reg::event_bit(reg::REQUESTS_IN) & 1;
        refused += out.event_o >> reg::event_bit(reg::ACCESS_IN) & 1;
    }
    assert!(beats.is_empty(), "the registers never came to an end");
    assert_eq!(
        (accepted, refused),
        (1, 0),
        "WRITEs taken, and refused for want of a region"
    );
}

/// At 40 Gb/s 2^32 bytes pass in 0.86 s: byte counters have 64 bits (RFC 2863, 3.1.6, requires that above 20 Mb/s).
#[test]
fn bytes_are_counted_beyond_32_bits() {
    let mut model =
        xoff_rtl_units::NicCounters::new(&verilated::Settings::new("counters")).unwrap();
    let mut out = xoff_rtl_units::nic_counters::Out::default();
    let mut pins = xoff_rtl_units::nic_counters::In {
        rst_i: 1,
        ..Default::default()
    };
    model.cycle(&pins, &mut out).unwrap();
    pins.rst_i = 0;
    let bit = |register| 1 << reg::event_bit(register);
    pins.event_i = bit(reg::BYTES_IN) | bit(reg::FRAMES_IN);
    pins.bytes_in_i = u16::MAX;
    let cycles = 70_000u64;
    for _ in 0..cycles {
        model.cycle(&pins, &mut out).unwrap();
    }
    pins.event_i = bit(reg::BYTES_OUT);
    pins.bytes_out_i = 32;
    model.cycle(&pins, &mut out).unwrap();
    pins.event_i = 0;
    for _ in 0..2 {
        model.cycle(&pins, &mut out).unwrap();
    }
    let low = |register| u64::from(out.counters_o[reg::event_bit(register) as usize]);
    assert_eq!(
        (out.high_o & 0xFFFF_FFFF) << 32 | low(reg::BYTES_IN),
        cycles * u64::from(u16::MAX)
    );
    assert_eq!((out.high_o >> 32, low(reg::BYTES_OUT)), (0, 32));
    assert_eq!(low(reg::FRAMES_IN), cycles);
}

/// IBTA volume 1, 10.9: two P_Keys match when their low 15 bits are equal and at least one of them is that of a full
/// member, bit 15. A packet whose P_Key does not match that of its QP is silently dropped.
#[test]
fn two_limited_members_of_a_partition_do_not_talk() {
    for (own, peer, right) in [
        (0xFFFF, 0xFFFF, true),
        (0xFFFF, 0x7FFF, true),
        (0x7FFF, 0xFFFF, true),
        (0x7FFF, 0x7FFF, false),
        (0x8001, 0x0001, true),
        (0x0001, 0x0001, false),
    ] {
        let mut pair = opened(&[], 1, |side, _, setup| {
            setup.pkey = [peer, own][side];
            setup.requester.timeout = 0;
        });
        let (_, counts) = post(&mut pair, 0, 0, &[5, 2 * MTU]);
        for _ in 0..3_000 {
            pair.step(&mut all);
        }
        assert_eq!(done(&pair, counts), right, "{peer:#x} to {own:#x}");
        assert_eq!(pair.written[1].is_empty(), !right);
        let dropped = pair.count(1, reg::DROP_PKEY);
        assert_eq!(dropped > 0, !right, "{peer:#x} to {own:#x}");
        let answers = pair.frames.iter().filter(|(side, ..)| *side == 1).count();
        assert_eq!(
            answers > 0,
            right,
            "a packet that is dropped is not answered"
        );
    }
}

/// IEEE 802.1Q, 6.9: a frame belongs to the VLAN of its tag. 9.6: identifier 0 says that the tag has only a priority, and
/// the frame counts as one without a tag. RoCEv2 (IBTA annex A17): the VLAN is part of the address of a QP's path.
#[test]
fn a_packet_of_another_vlan_changes_nothing() {
    let tag = |vid: u16| 3 << 13 | vid;
    for (own, sent, right) in [
        (&[][..], &[][..], true),
        (&[], &[tag(0)], true),
        (&[], &[tag(20)], false),
        (&[tag(10)], &[tag(10)], true),
        (&[tag(10)], &[6 << 13 | 1 << 12 | 10], true),
        (&[tag(10)], &[tag(20)], false),
        (&[tag(10)], &[tag(10 ^ 0x800)], false),
        (&[tag(10)], &[], false),
        (&[tag(10)], &[tag(0)], false),
        (&[tag(0)], &[], true),
        (&[tag(10)], &[tag(10), tag(20)], false),
        (&[tag(10), tag(20)], &[tag(10), tag(20)], true),
        (&[tag(10), tag(20)], &[tag(10), tag(21)], false),
        (&[tag(10), tag(20)], &[tag(10)], false),
        (&[tag(10), tag(20)], &[tag(20), tag(10)], false),
    ] {
        let mut pair = opened(
            &[(reg::CONTROL, 1 << reg::DCQCN_ON_LOW)],
            1,
            |_, _, setup| {
                setup.tags = own.to_vec();
                setup.requester.timeout = 0;
            },
        );
        let (key, psn) = (pair.key[1], qp(0, 0).requester_psn);
        let tagged = |mut frame: Vec<u8>| {
            let tags = sent
                .iter()
                .flat_map(|tci| [[0x81, 0x00], tci.to_be_bytes()].concat());
            frame.splice(12..12, tags);
            frame
        };
        let write = packet(0, 0, psn, |roce| {
            roce.ext.reth = Some(RethRepr {
                va: REGION,
                rkey: key,
                dma_len: 5,
            });
            roce.payload = vec![7; 5];
        });
        for frame in [write, cnp(0, 0)] {
            let at = pair.time();
            pair.receive(1, at, tagged(frame));
            for _ in 0..200 {
                pair.step(&mut all);
            }
        }
        let what = format!("{sent:x?} to {own:x?}");
        assert_eq!(pair.written[1].len(), usize::from(right), "{what}");
        let counters = [reg::REQUESTS_IN, reg::CNPS_IN, reg::DROP_VLAN];
        let counts = counters.map(|register| pair.count(1, register));
        assert_eq!(counts, if right { [1, 1, 0] } else { [0, 0, 2] }, "{what}");
    }
}

/// Gives a packet another opcode, and the ICRC that it has then. The packet is untagged IPv4.
fn with_opcode(mut frame: Vec<u8>, opcode: u8) -> Vec<u8> {
    frame[42] = opcode;
    let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let icrc = xoff_sim::protocol::icrc(IpKind::V4, &frame[14..end - 4]).unwrap();
    frame[end - 4..end].copy_from_slice(&icrc);
    frame
}

/// IBTA volume 1, 9.7.4.1 (validation of requests): a responder of RC answers a request with a reserved opcode, or with
/// more payload than the path MTU, by NAK invalid request (syndrome 0x61) with the PSN of the request. Nothing of it is
/// carried out, and the QP is in error. The PSN is judged first.
#[test]
fn requests_that_no_responder_serves_are_answered() {
    let reserved = [0x15]
        .into_iter()
        .chain(0x18..=0x1F)
        .map(|opcode| (Some(opcode), 8));
    let long = [1_025, 4_096, 4_097, 5_000, 9_000].map(|bytes| (None, bytes));
    for (opcode, bytes) in reserved.chain(long) {
        let mut pair = Tested::new(|setup| setup.requester.timeout = 0, 2);
        let (key, psn) = (pair.key[1], qp(0, 0).requester_psn);
        let request = |qp: u16, psn: Psn, bytes: u32| {
            packet(0, qp, psn, |roce| {
                match opcode {
                    Some(_) => roce.bth.opcode = Opcode::RC_SEND_ONLY,
                    None => {
                        roce.ext.reth = Some(RethRepr {
                            va: REGION,
                            rkey: key,
                            dma_len: bytes,
                        });
                    }
                }
                roce.payload = vec![7; bytes as usize];
            })
        };
        let bad = |qp: u16, psn: Psn| match opcode {
            Some(opcode) => with_opcode(request(qp, psn, bytes), opcode),
            None => request(qp, psn, bytes),
        };
        let good = |psn: Psn| {
            packet(0, 0, psn, |roce| {
                roce.ext.reth = Some(RethRepr {
                    va: REGION,
                    rkey: key,
                    dma_len: 4,
                });
                roce.payload = vec![9; 4];
            })
        };
        // One ahead of its time is a gap. Then the packet before it, and it again.
        let next = psn.advance(1);
        for frame in [
            bad(1, next),
            bad(0, next),
            good(psn),
            bad(0, next),
            good(next),
        ] {
            let at = pair.time() + Duration::from_ps(wire_ps(frame.len()));
            pair.receive(1, at, frame);
            while pair.time() < at + Duration::from_us(4) {
                pair.step(&mut all);
            }
        }
        let what = format!("{opcode:x?}, {bytes} bytes");
        let answers: Vec<_> = (pair.frames.iter())
            .filter(|(side, ..)| *side == 1)
            .filter_map(|(_, _, frame)| {
                let (bth, aeth) = (frame.bth?, frame.ext?.aeth?);
                let to = bth.dest_qp.get() - QPN_BASE;
                Some((to, bth.opcode, bth.psn, aeth.syndrome.0, aeth.msn.get()))
            })
            .collect();
        let answer = |to, psn, syndrome, msn| (to, Opcode::RC_ACK, psn, syndrome, msn);
        let gap = [answer(1, psn, 0x60, 0), answer(0, psn, 0x60, 0)];
        // The packet that closes the gap is acknowledged, since a NAK was owed.
        let right: Vec<_> = gap
            .into_iter()
            .chain([answer(0, psn, 0x1F, 1), answer(0, next, 0x61, 1)])
            .collect();
        let answers_without_ack: Vec<_> =
            answers.iter().filter(|answer| answer.3 != 0x1F).collect();
        let right_without_ack: Vec<_> = right.iter().filter(|answer| answer.3 != 0x1F).collect();
        assert_eq!(answers_without_ack, right_without_ack, "{what}");
        let written: Vec<_> = pair.written[1]
            .iter()
            .map(|write| write.bytes.clone())
            .collect();
        assert_eq!(written, [vec![9; 4]], "{what}");
        let registers = [reg::INVALID_IN, reg::GAPS_IN, reg::NOT_READY_IN];
        let counts = registers.map(|register| pair.count(1, register));
        assert_eq!(counts, [1, 2, 1], "{what}");
    }
}

/// The map of classes may change at any time (rtl/nic/registers.md): each frame leaves the part of the buffer that it came
/// into, and no message is lost or late for it.
#[test]
fn the_map_of_the_receive_buffer_changes_under_traffic() {
    let classes = 8;
    let mut pair = opened(
        &receive_buffer::registers(&[512; 4]),
        classes,
        |_, index, setup| {
            setup.dscp = 8 * index as u8;
            setup.requester.timeout = 0;
        },
    );
    let mut expected = std::collections::BTreeMap::new();
    let mut counts = [0; 2];
    for index in 0..classes {
        let (bytes, more) = post(
            &mut pair,
            0,
            index,
            &[3 * MTU, 5, 7 * MTU + 1, 2 * MTU, 1, MTU],
        );
        expected.extend(bytes);
        counts = [counts[0] + more[0], counts[1] + more[1]];
    }
    pair.stall(1, Stalled::Writes, 4, u64::MAX);
    let mut draw = xoff_sim::seeded::SplitMix::new(3);
    let mut changes = 0;
    for cycle in 0..40_000 {
        if cycle % 7 == 0 && pair.update(1, |host| host.driver_mut().registers().idle()) {
            let map = draw.bits() as u32 & 0x3333_3333;
            pair.update(1, |host| {
                let registers = host.driver_mut().registers();
                registers.write(reg::BUFFER_MAP.into(), map);
            });
            changes += 1;
        }
        pair.step(&mut all);
        if done(&pair, counts) {
            break;
        }
    }
    assert!(done(&pair, counts), "{:?}", pair.counters(1).unwrap());
    assert!(changes > 200, "{changes}");
    good(&pair);
    pair.rest(10_000, &mut all);
    assert_eq!(pair.memory(1), expected);
    assert_eq!(pair.count(1, reg::DROP_FULL), 0);
}
