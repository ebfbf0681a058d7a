//! Frames that others made: captures of Linux.

use std::fs::File;

use pcap_file::pcap::PcapReader;

use crate::packet::{ACKNOWLEDGE, Frame, read};

/// Reads all frames of a capture, and counts those with a right ICRC, requests, and answers.
fn count(name: &str) -> [usize; 4] {
    let path = format!("{}/../captures/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut counts = [0; 4];
    while let Some(packet) = reader.next_packet() {
        let Frame::Packet(packet) = read(&packet.unwrap().data) else {
            continue;
        };
        let found = [
            true,
            packet.icrc && packet.checksum && packet.plain,
            packet.reth.is_some(),
            packet.opcode == ACKNOWLEDGE && packet.aeth.is_some(),
        ];
        (0..4).for_each(|place| counts[place] += usize::from(found[place]));
    }
    counts
}

#[test]
fn headers_and_icrc_are_those_of_linux() {
    assert_eq!(count("loss_mtu256_all_ops.pcap"), [438, 438, 30, 38]);
    assert_eq!(count("nak_access_and_invalid.pcap"), [113, 113, 87, 16]);
    assert_eq!(count("vlan100.pcap"), [85, 85, 10, 11]);
}

#[test]
fn damaged_frames_have_a_wrong_icrc() {
    assert_eq!(count("corrupt_excerpt.pcap")[..2], [15, 0]);
}
