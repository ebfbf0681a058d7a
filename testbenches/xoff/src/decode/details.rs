//! Details of a frame, as text.

use xoff_sim::wire::frame::{IpKind, ParsedFrame, Reason, Verdict};
use xoff_sim::wire::{
    CONTROL_PAUSE, CONTROL_PFC, CmMessage, IP_PROTOCOL_UDP, Opcode, QP_GENERAL_SERVICES,
    SyndromeMeaning,
};

use xoff_waves::capture::Link;

use super::seen::{Class, Seen};
use super::segment::Segment;
use super::tally::link_text;
use crate::terminal::Ink;

/// The default partition, which is not shown.
const DEFAULT_PKEY: u16 = 0xFFFF;
/// Pause time of zero quanta: traffic may continue.
const XON: u16 = 0;

/// A piece of text and its role.
pub type Piece = (Ink, String);

/// Whether it is a packet with an assigned opcode whose extension headers are not read, such as FLUSH or one of XRC.
/// The parser drops such packets as malformed, since no receive path of the NIC takes them.
pub fn is_unread(frame: &ParsedFrame) -> bool {
    let opcode = frame.bth.map(|bth| bth.opcode);
    frame.reason == Some(Reason::UnknownOpcode)
        && opcode.is_some_and(|opcode| opcode.unread_name().is_some())
}

/// Returns everything about a frame that has no column of its own.
pub fn details(frame: &ParsedFrame) -> Vec<Piece> {
    of_frame(frame, what_other(frame))
}

/// Returns everything about a record that has no column of its own.
pub fn details_of(seen: &Seen<'_>) -> Vec<Piece> {
    let record = seen.record;
    let piece = match seen.class {
        Class::Cut => {
            let kept = record.bytes.len();
            Some((Ink::Warning, format!("{kept} B of it recorded")))
        }
        Class::TooLong => Some((Ink::Warning, "longer than any frame on a line".into())),
        Class::OtherLink => Some((Ink::Dim, link_text(record.link_type))),
        Class::Judged(_) | Class::Unread => None,
    };
    let ether_type = seen.frame.eth.as_ref().map(|eth| eth.ether_type.0);
    let protocol = seen.frame.ip.map(|ip| ip.next_header);
    let other = match (seen.class, protocol, ether_type) {
        // Whether it is RoCE may depend on what was cut off.
        (Class::Cut, Some(IP_PROTOCOL_UDP), _) => Some("UDP".into()),
        (_, None, Some(protocol)) if protocol < 0x600 && record.link != Link::Ethernet => {
            Some(format!("protocol {protocol:#06x} of Linux"))
        }
        _ if seen.segment.is_some() => None,
        _ => what_other(&seen.frame),
    };
    let segment = seen.segment.iter().flat_map(Segment::pieces);
    let segment = segment.map(|text| (Ink::Plain, text));
    let iwarp = seen.iwarp.iter().enumerate().flat_map(|(place, part)| {
        // The first is named in a column.
        let name = (place > 0).then(|| (Ink::Plain, part.name()));
        name.into_iter().chain(part.pieces())
    });
    let tunnels = record.tunnels.iter().rev();
    let tunnels = tunnels.map(|tunnel| {
        let ink = if tunnel.is_marked() {
            Ink::Warning
        } else {
            Ink::Dim
        };
        (ink, format!("in {tunnel}"))
    });
    let pieces = piece.into_iter();
    pieces
        .chain(of_frame(&seen.frame, other))
        .chain(iwarp)
        .chain(segment)
        .chain(tunnels)
        .collect()
}

/// Returns everything about a frame; `other` says what it is if its verdict does not.
fn of_frame(frame: &ParsedFrame, other: Option<String>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut say = |ink: Ink, text: String| pieces.push((ink, text));

    match frame.reason {
        Some(_) if is_unread(frame) => say(Ink::Dim, "what follows the BTH is not read".into()),
        Some(reason) => say(Ink::Bad, reason.to_string()),
        None => {}
    }
    if frame.verdict == Verdict::Other
        && let Some(text) = other
    {
        say(Ink::Dim, text);
    }
    if frame.ip.is_some_and(|ip| ip.kind == IpKind::Grh) {
        say(Ink::Plain, "GRH".into());
    }
    if let Some(bytes) = frame.payload_bytes
        && frame.bth.is_some_and(|bth| bth.opcode.has_payload())
    {
        say(Ink::Data, format!("{bytes} B"));
    }
    pieces.extend(of_extensions(frame));
    let mut say = |ink: Ink, text: String| pieces.push((ink, text));
    if let Some(control) = frame.control {
        match control.opcode {
            CONTROL_PFC => {
                let classes = (0..8).filter(|class| control.class_enable >> class & 1 != 0);
                let text: Vec<String> = classes
                    .map(|class| format!("class {class} {}", quanta(control.timers[class])))
                    .collect();
                say(
                    Ink::Warning,
                    if text.is_empty() {
                        "no class".into()
                    } else {
                        text.join(", ")
                    },
                );
            }
            CONTROL_PAUSE => say(Ink::Warning, quanta(control.timers[0])),
            opcode => say(Ink::Dim, format!("MAC control opcode {opcode:#06x}")),
        }
    }
    if let Some(bth) = frame.bth
        && bth.pkey != DEFAULT_PKEY
    {
        say(Ink::Plain, format!("pkey {:#06x}", bth.pkey));
    }
    for tag in frame.eth.iter().flat_map(|eth| &eth.tags) {
        say(Ink::Dim, format!("vlan {} pcp {}", tag.vid, tag.pcp));
    }
    if let Some(ip) = frame.ip {
        if ip.traffic_class >> 2 != 0 {
            say(Ink::Dim, format!("dscp {}", ip.traffic_class >> 2));
        }
        match ip.traffic_class & 3 {
            0 => {}
            1 => say(Ink::Dim, "ECT(1)".into()),
            2 => say(Ink::Dim, "ECT(0)".into()),
            _ => say(Ink::Warning, "CE".into()),
        }
    }
    pieces
}

/// Returns what is in the headers behind the BTH, and in a message of the communication manager.
fn of_extensions(frame: &ParsedFrame) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut say = |ink: Ink, text: String| pieces.push((ink, text));
    let ext = frame.ext.unwrap_or_default();
    if let Some(reth) = ext.reth {
        say(
            Ink::Plain,
            format!(
                "va {:#x} rkey {:#x} len {}",
                reth.va, reth.rkey, reth.dma_len
            ),
        );
    }
    if let Some(atomic) = ext.atomic {
        say(
            Ink::Plain,
            format!("va {:#x} rkey {:#x}", atomic.va, atomic.rkey),
        );
        let compares = frame
            .bth
            .is_some_and(|bth| bth.opcode == Opcode::RC_CMP_SWAP);
        say(
            Ink::Plain,
            if compares {
                format!("swap {:#x} if {:#x}", atomic.swap_add, atomic.compare)
            } else {
                format!("add {:#x}", atomic.swap_add)
            },
        );
    }
    if let Some(aeth) = ext.aeth {
        let (ink, text) = match aeth.syndrome.meaning() {
            SyndromeMeaning::Ack(credits) => (
                Ink::Good,
                credits
                    .count()
                    .map_or("ACK".into(), |count| format!("ACK credits {count}")),
            ),
            SyndromeMeaning::RnrNak(timer) => {
                (Ink::Bad, format!("RNR NAK wait {:?}", timer.duration()))
            }
            SyndromeMeaning::Nak(code) => (Ink::Bad, format!("NAK {code}")),
            SyndromeMeaning::Reserved => (
                Ink::Bad,
                format!("syndrome {:#04x} (reserved)", aeth.syndrome.0),
            ),
        };
        say(ink, text);
        say(Ink::Plain, format!("msn {}", aeth.msn.get()));
    }
    if let Some(ack) = ext.atomic_ack {
        say(Ink::Plain, format!("was {:#x}", ack.original));
    }
    if let Some(imm) = ext.imm {
        say(Ink::Plain, format!("imm {:#010x}", imm.imm));
    }
    if let Some(ieth) = ext.ieth {
        say(Ink::Plain, format!("invalidate rkey {:#x}", ieth.rkey));
    }
    if let Some(bth) = frame.bth
        && ext.deth.is_some()
        && bth.dest_qp.get() == QP_GENERAL_SERVICES
        && let Ok(message) = CmMessage::parse(&frame.payload)
    {
        say(Ink::Plain, message.body.to_string());
    }
    if let Some(deth) = ext.deth {
        say(
            Ink::Plain,
            format!("from QP {:#x} qkey {:#x}", deth.src_qp.get(), deth.qkey),
        );
    }
    pieces
}

fn quanta(quanta: u16) -> String {
    if quanta == XON {
        "go on".into()
    } else {
        format!("pause {quanta} quanta")
    }
}

/// Describes a frame with verdict `other`.
fn what_other(frame: &ParsedFrame) -> Option<String> {
    if let Some(ip) = frame.ip {
        return Some(match ip.next_header {
            1 => "ICMP".into(),
            2 => "IGMP".into(),
            6 => "TCP".into(),
            17 => "UDP, port not 4791".into(),
            58 => "ICMPv6".into(),
            protocol => format!("IP protocol {protocol}"),
        });
    }
    let eth = frame.eth.as_ref()?;
    Some(match eth.ether_type.0 {
        0x0806 => "ARP".into(),
        0x8808 if eth.tags.is_empty() => "MAC control, neither PFC nor PAUSE".into(),
        0x8808 => "MAC control with a tag".into(),
        0x88CC => "LLDP".into(),
        length if length < 0x600 => format!("IEEE 802.3, length {length}"),
        other => format!("EtherType {other:#06x}"),
    })
}

/// Returns one letter for each flag that is set.
pub fn flags(frame: &ParsedFrame) -> String {
    let Some(bth) = frame.bth else {
        return String::new();
    };
    let congested = frame.ip.is_some_and(|ip| ip.traffic_class & 3 == 3);
    [
        (bth.solicited, 'S'),
        (bth.ack_req, 'A'),
        (bth.mig_req, 'M'),
        (bth.fecn, 'F'),
        (bth.becn, 'B'),
        (congested, 'C'),
    ]
    .into_iter()
    .filter_map(|(set, letter)| set.then_some(letter))
    .collect()
}
