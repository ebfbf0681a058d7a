//! The frames of `testbenches/data/tunnels.pcap`, one of each kind: tshark 4.0.17 sees the same in them, but for the two
//! pseudowires under MPLS, where it takes the control word for an address, and the other way round.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::capture::{Reader, Record};

/// The frame inside of all of them.
const INSIDE: usize = 122;

fn file() -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/data/tunnels.pcap");
    std::fs::read(file).unwrap()
}

fn records() -> Vec<Record> {
    let file = file();
    let reader = Reader::new("tunnels", &file[..]).unwrap();
    (reader.map(Result::unwrap))
        .map(Record::into_inner)
        .collect()
}

/// What was on a wire is read as it was: only who looks for the frame inside takes tunnels off.
#[test]
fn the_reader_leaves_tunnels_on() {
    let file = file();
    let reader = Reader::new("tunnels", &file[..]).unwrap();
    let read: Vec<Record> = reader.map(Result::unwrap).collect();
    let bytes: Vec<&[u8]> = read.iter().map(|record| &record.bytes[..]).collect();
    assert_eq!(bytes, whole());
    assert!(
        read.iter()
            .all(|record| record.tunnels.is_empty() && record.line.is_none())
    );
}

/// The records as they are in the file.
fn whole() -> Vec<Vec<u8>> {
    let file = file();
    let mut rest = &file[24..];
    let mut whole = Vec::new();
    while let Some((header, body)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        whole.push(body[..length].to_vec());
        rest = &body[length..];
    }
    whole
}

#[test]
fn every_kind_is_read() {
    let texts: Vec<String> = (records().iter())
        .map(|record| {
            let tunnels: Vec<String> = record.tunnels.iter().map(ToString::to_string).collect();
            tunnels.join(" | ")
        })
        .collect();
    let v4 = "192.0.2.1→192.0.2.2";
    let over_v4 = |name: &str| format!("{name} {v4}");
    let expected = [
        over_v4("VXLAN 100"),
        "VXLAN 5000 2001:db8::1→2001:db8::2 CE".into(),
        over_v4("GENEVE 4660"),
        over_v4("NVGRE 2748"),
        over_v4("GRE"),
        over_v4("ERSPAN I"),
        over_v4("ERSPAN II session 42"),
        over_v4("ERSPAN III session 42"),
        over_v4("ERSPAN II session 42"),
        "MPLS 16001 42".into(),
        "MPLS 16001 42".into(),
        "MPLS 16001 42".into(),
        over_v4("IP"),
        format!("ERSPAN II session 42 {v4} | VXLAN 5000 198.51.100.1→198.51.100.2 CE"),
        over_v4("MPLS 42"),
        // No VNI; and a fragment.
        String::new(),
        String::new(),
    ];
    assert_eq!(texts, expected);
}

#[test]
fn the_frame_inside_is_the_same_in_all() {
    let records = records();
    let first = &records[0].bytes;
    assert_eq!(first.len(), INSIDE);
    for record in records.iter().filter(|record| !record.tunnels.is_empty()) {
        let packet = match record.link {
            Link::Ethernet => &record.bytes[..],
            _ => &[&first[..14], &record.bytes].concat(),
        };
        // The mirror has cut one of them.
        let there = packet.len().min(first.len());
        assert_eq!(packet[..there], first[..there], "{}", record.number);
        let expected = if record.link == Link::Ethernet {
            INSIDE
        } else {
            INSIDE - 14
        };
        assert_eq!(record.length, expected, "{}", record.number);
        assert_eq!(record.is_cut(), record.number == 9);
    }
}

/// The line that a frame was on: of a mirror's copy not that of the mirror.
#[test]
fn the_frame_on_the_line() {
    let (records, whole) = (records(), whole());
    for (record, whole) in records.iter().zip(&whole) {
        let line = record.line.as_deref();
        match record.number {
            6..=9 | 16.. => assert_eq!(line, None, "{}", record.number),
            // Ethernet, IPv4, GRE with a sequence number, ERSPAN II.
            14 => assert_eq!(line, Some(&whole[14 + 20 + 8 + 8..])),
            _ => assert_eq!(line, Some(&whole[..]), "{}", record.number),
        }
    }
}

#[test]
fn a_mark_of_the_fabric_is_handed_on_but_not_that_of_a_mirror() {
    let (ect, not_ect) = (0b10, 0b00);
    for record in records() {
        let marked = matches!(record.number, 2 | 14);
        assert_eq!(record.is_marked_outside(ect), marked, "{}", record.number);
        assert!(!record.is_marked_outside(not_ect));
    }
    let marked = |carrier| Tunnel {
        carrier,
        src_ip: None,
        dst_ip: None,
        dscp: Some(0),
        ecn: Some(3),
    };
    let mirror = Carrier::Erspan {
        version: 2,
        session: 1,
        vlan: 0,
        cos: 0,
    };
    assert!(!mark(&[marked(mirror)], ect));
}

/// A record that was cut within the headers of its tunnel is what is around; behind them it is what is inside.
#[test]
fn at_any_length_it_is_one_or_the_other() {
    for whole in whole() {
        let all = inner(&Link::Ethernet, &whole, whole.len());
        for kept in 0..whole.len() {
            match inner(&Link::Ethernet, &whole[..kept], whole.len()) {
                None => assert!(
                    all.as_ref()
                        .is_none_or(|all| kept < all.start + 14 || all.tunnels.len() > 1)
                ),
                Some(part) => {
                    let all = all.as_ref().unwrap();
                    assert!(part.start <= all.start && part.start < kept);
                    if part.tunnels.len() == all.tunnels.len() && !all.tunnels[0].is_mirror() {
                        assert_eq!(part.length, all.length);
                    }
                }
            }
        }
    }
}

proptest! {
    /// Damaged tunnels are read without a fault, and what is inside lies in the record.
    #[test]
    fn damaged_tunnels(
        number in 0_usize..17,
        damage in prop::collection::vec((0_usize..120, any::<u8>()), 0..6),
        kept in 0_usize..300,
    ) {
        let mut bytes = whole().swap_remove(number);
        for (at, value) in damage {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        let length = bytes.len();
        bytes.truncate(kept);
        if let Some(inner) = inner(&Link::Ethernet, &bytes, length) {
            prop_assert!(inner.start < bytes.len() && !inner.tunnels.is_empty());
            prop_assert!(inner.line.is_none_or(|line| line < inner.start));
        }
    }
}
