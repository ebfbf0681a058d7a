//! Every frame equals the one that the reference builder makes from its description.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::super::classify::look;
use super::*;
use crate::nic::Address;
use crate::protocol::gbn::{RequesterConfig, ResponderConfig, WorkKind};
use crate::protocol::parse;
use crate::strategies::pattern;
use crate::wire::frame::Verdict;
use crate::wire::{MacAddr, Msn, Psn, Syndrome, address_bits};

prop_compose! {
    fn settings()(ipv6: bool, own: u128, peer: u128, macs: [u8; 12], tags in prop::collection::vec(any::<u16>(), 0..=2),
        dscp in 0u8..64, answer_dscp in prop::option::of(0u8..64), answer_pcp in prop::option::of(0u8..8), hop_limit: u8,
        udp_port: u16, pkey: u16, pd: u16, peer_qpn in 0u32..1 << 24) -> QpSettings {
        let ip = |bits: u128| if ipv6 { Ipv6Addr::from(bits).into() } else { Ipv4Addr::from(bits as u32).into() };
        let mac = |at: usize| MacAddr(macs[at..at + 6].try_into().unwrap());
        QpSettings {
            own: Address { mac: mac(0), ip: ip(own) },
            peer: Address { mac: mac(6), ip: ip(peer) },
            tags,
            dscp,
            answer_dscp,
            answer_pcp,
            hop_limit,
            udp_port,
            pkey,
            pd,
            peer_qpn,
            requester: RequesterConfig::default(),
            requester_psn: Psn::default(),
            responder: ResponderConfig::default(),
            responder_psn: Psn::default(),
            selective: None,
        }
    }
}

/// Builds a frame again from what the parser reads of it, and checks that it is a valid packet.
fn rebuilt(frame: &[u8], verdict: Verdict) -> Result<Descriptor, TestCaseError> {
    let parsed = parse(frame);
    prop_assert_eq!((parsed.verdict, parsed.icrc_ok), (verdict, Some(true)));
    let descriptor = Descriptor::from_parsed(&parsed).unwrap();
    prop_assert_eq!(&descriptor.build().unwrap()[..], frame);
    Ok(descriptor)
}

fn packet(descriptor: Descriptor, qp: &QpSettings) -> Result<RocePacket, TestCaseError> {
    prop_assert_eq!((descriptor.dst, descriptor.src), (qp.peer.mac, qp.own.mac));
    prop_assert_eq!(descriptor.tags.len(), qp.tags.len());
    for (found, tag) in descriptor.tags.iter().zip(&qp.tags) {
        let bits = u16::from(found.pcp) << 13 | u16::from(found.dei) << 12 | found.vid;
        prop_assert_eq!(bits, *tag);
    }
    let Content::Roce(packet) = descriptor.content else {
        unreachable!("it was parsed as RoCE");
    };
    prop_assert_eq!(packet.udp_src_port, Some(qp.udp_port));
    prop_assert_eq!(packet.bth.dest_qp.get(), qp.peer_qpn);
    prop_assert_eq!(packet.bth.pkey, qp.pkey);
    prop_assert_eq!(packet.ip.hop_limit, qp.hop_limit);
    prop_assert_eq!(
        (packet.ip.src, packet.ip.dst),
        (address_bits(qp.own.ip), address_bits(qp.peer.ip))
    );
    Ok(packet)
}

proptest! {
    #[test]
    fn requests(qp in settings(), kind in 0u8..5, first: bool, last: bool, psn in 0u32..1 << 24, ack_req: bool, solicited: bool,
        payload in 0usize..300, va: u64, rkey: u32, dma_len: u32, imm: u32, ecn: bool, id: u16, named: bool) {
        let path = Path::new(&qp).unwrap();
        let request = Request {
            opcode: WorkKind(kind).opcode(first, last),
            psn: Psn::wrapping(psn),
            ack_req,
            solicited,
            payload_bytes: payload as u16,
            va,
            rkey,
            dma_len,
            imm,
            ..Request::default()
        };
        let data = match Extent::new(va, payload as u16).filter(|_| named) {
            Some(extent) => Payload::Content(extent),
            None => Bytes::from(pattern(7, payload)).into(),
        };
        let draft = path.request(&request, &data, ecn);
        prop_assert_eq!(path.request_bytes(&request), draft.len());
        let mut next = id;
        let frame = path.finish(draft, &mut next);
        prop_assert_eq!(next, if qp.own.ip.is_ipv4() { id.wrapping_add(1) } else { id });
        prop_assert_eq!(frame.content().is_some(), named && payload >= FrameBytes::CONTENT_MIN);
        let whole = frame.whole();
        prop_assert_eq!(look(&frame, qp.peer.mac), look(&whole.clone().into(), qp.peer.mac));
        let packet = packet(rebuilt(&whole, Verdict::RoceV2)?, &qp)?;
        prop_assert_eq!(packet.ip.traffic_class, qp.dscp << 2 | if ecn { 2 } else { 0 });
        prop_assert_eq!((packet.ip.id, packet.ip.flags), if qp.own.ip.is_ipv4() { (id, 2) } else { (0, 0) });
        prop_assert_eq!(&packet.payload, &data.bytes());
        let bth = packet.bth;
        prop_assert_eq!((bth.opcode, bth.psn, bth.ack_req, bth.solicited), (request.opcode, request.psn, ack_req, solicited));
        prop_assert!(!bth.becn && !bth.fecn && !bth.mig_req);
        if let Some(reth) = packet.ext.reth {
            prop_assert_eq!((reth.va, reth.rkey, reth.dma_len), (va, rkey, dma_len));
        }
        let brought = packet.ext.imm.map(|imm| imm.imm).or(packet.ext.ieth.map(|ieth| ieth.rkey));
        prop_assert_eq!(brought, (last && WorkKind(kind).has_imm()).then_some(imm));
    }

    #[test]
    fn answers_and_cnps(qp in settings(), psn in 0u32..1 << 24, syndrome: u8, msn in 0u32..1 << 24,
        dscp in 0u8..64, pcp in 0u8..8, id: u16) {
        let path = Path::new(&qp).unwrap();
        let response = Response {
            opcode: Opcode::RC_ACK,
            psn: Psn::wrapping(psn),
            syndrome: Syndrome(syndrome),
            msn: Msn::new(msn).unwrap(),
            original: 0,
        };
        let frame = path.finish(path.answer(&response), &mut id.clone());
        let with_pcp = |pcp: u8| {
            let mut marked = qp.clone();
            if let Some(outer) = marked.tags.first_mut() {
                *outer = u16::from(pcp) << 13 | *outer & 0x1FFF;
            }
            marked
        };
        let own = qp.tags.first().map_or(0, |outer| (outer >> 13) as u8);
        let marked = with_pcp(qp.answer_pcp.unwrap_or(own));
        let answer = packet(rebuilt(&frame.whole(), Verdict::RoceV2)?, &marked)?;
        let aeth = answer.ext.aeth.unwrap();
        prop_assert_eq!((answer.bth.psn, aeth.syndrome, aeth.msn), (response.psn, response.syndrome, response.msn));
        prop_assert_eq!(answer.ip.traffic_class, qp.answer_dscp.unwrap_or(qp.dscp) << 2);
        let frame = path.finish(path.cnp(dscp, pcp), &mut id.clone());
        // In a CNP, the PCP of the outer tag is that set for CNPs.
        let cnp = packet(rebuilt(&frame.whole(), Verdict::Cnp)?, &with_pcp(pcp))?;
        prop_assert_eq!(cnp.ip.traffic_class, dscp << 2 | 2);
        prop_assert!(cnp.bth.becn);
        prop_assert_eq!(cnp.bth.psn.get(), 0);
    }
}
