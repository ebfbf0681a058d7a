//! Frames by hand.

use etherparse::PacketBuilder;

use super::log::qpn;
use crate::icrc::icrc;

/// What a frame says, beside where it goes.
pub struct Bth {
    pub opcode: u8,
    pub solicited: bool,
    pub ack_request: bool,
    pub psn: u32,
}

/// A frame of a side.
pub fn frame(side: usize, bth: &Bth, headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let pad = payload.len().wrapping_neg() & 3;
    let mut transport = vec![
        bth.opcode,
        u8::from(bth.solicited) << 7 | (pad as u8) << 4,
        0xFF,
        0xFF,
    ];
    transport.extend(qpn(1 - side).to_be_bytes());
    transport.extend((u32::from(bth.ack_request) << 31 | bth.psn).to_be_bytes());
    transport.extend(headers);
    transport.extend(payload);
    transport.resize(transport.len() + pad, 0);
    let [own, peer] = [side, 1 - side].map(|side| 1 + side as u8);
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, own], [2, 0, 0, 0, 0, peer])
        .ipv4([10, 0, 0, own], [10, 0, 0, peer], 64)
        .udp(0xC000, 4791);
    let mut bytes = vec![];
    transport.extend([0; 4]);
    builder
        .write(&mut bytes, &transport)
        .expect("memory takes it");
    seal(&mut bytes);
    bytes
}

/// Makes the ICRC of a frame right.
pub fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let crc = icrc(&bytes[14..34], &bytes[34..42], &bytes[42..end]);
    bytes[end..].copy_from_slice(&crc);
}
