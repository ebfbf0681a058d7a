//! Messages of the communication manager: MADs over UD, from which both ends learn what they need to connect (IBTA
//! volume 1 §12.6; §13.4 for their header).

use xoff_sim::wire::Psn;

use super::packet::Packet;

/// QP of general services.
const QP1: u32 = 1;
/// Bytes before a message: the common header of MADs.
const MAD_HEADER: usize = 24;
/// Management class of the communication manager.
const CLASS: u8 = 0x07;
const REQ: u16 = 0x0010;
const REP: u16 = 0x0013;

/// What an end says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub ip: u128,
    pub qpn: u32,
    /// PSN of the first request that it expects: what it tells the other end to begin with.
    pub psn: Psn,
}

/// A connection that was asked for and agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Who asked, and who agreed.
    pub ends: [End; 2],
    /// Path MTU in bytes.
    pub mtu: u32,
}

struct Message<'a> {
    id: u16,
    src: u128,
    dst: u128,
    body: &'a [u8],
}

fn message(packet: &Packet) -> Option<Message<'_>> {
    let (ip, bth, _) = packet.roce?;
    let mad = &packet.frame.payload[..];
    let whole = bth.dest_qp.get() == QP1 && mad.len() >= MAD_HEADER + 64 && mad[1] == CLASS;
    whole.then(|| Message {
        id: u16::from_be_bytes([mad[16], mad[17]]),
        src: ip.src,
        dst: ip.dst,
        body: &mad[MAD_HEADER..],
    })
}

fn number24(body: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, body[at], body[at + 1], body[at + 2]])
}

/// The connections whose request and reply are in the capture.
pub(super) fn agreed(packets: &[Packet]) -> Vec<Agreed> {
    let messages: Vec<Message<'_>> = packets.iter().filter_map(message).collect();
    let mut found = Vec::new();
    for reply in messages.iter().filter(|it| it.id == REP) {
        let asked = messages.iter().rev().find(|it| {
            let mine = it.body[0..4] == reply.body[4..8];
            it.id == REQ && mine && (it.src, it.dst) == (reply.dst, reply.src)
        });
        let Some(asked) = asked else { continue };
        let one = Agreed {
            ends: [
                End {
                    ip: asked.src,
                    qpn: number24(asked.body, 32),
                    psn: Psn::wrapping(number24(asked.body, 44)),
                },
                End {
                    ip: reply.src,
                    qpn: number24(reply.body, 12),
                    psn: Psn::wrapping(number24(reply.body, 20)),
                },
            ],
            mtu: 128 << (asked.body[50] >> 4),
        };
        // Messages come again when they are lost.
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
