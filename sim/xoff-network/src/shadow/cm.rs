//! Messages of the communication manager: MADs over UD, from which both ends learn what they need to connect (IBTA
//! volume 1 §12.6; §13.4 for their header).

use xoff_sim::wire::{CmBody, CmMessage, Psn, QP_GENERAL_SERVICES};

use super::packet::Packet;

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

struct Message {
    src: u128,
    dst: u128,
    body: CmBody,
}

fn message(packet: &Packet) -> Option<Message> {
    let (ip, bth, _) = packet.roce?;
    let whole = bth.dest_qp.get() == QP_GENERAL_SERVICES;
    let body = whole.then(|| CmMessage::parse(&packet.frame.payload).ok())??;
    Some(Message {
        src: ip.src,
        dst: ip.dst,
        body: body.body,
    })
}

/// The connections whose request and reply are in the capture.
pub(super) fn agreed(packets: &[Packet]) -> Vec<Agreed> {
    let messages: Vec<Message> = packets.iter().filter_map(message).collect();
    let mut found = Vec::new();
    for reply in &messages {
        let CmBody::Rep(rep) = reply.body else {
            continue;
        };
        let asked = messages.iter().rev().find_map(|it| match it.body {
            CmBody::Req(req) => {
                let is_it =
                    req.local_id == rep.remote_id && (it.src, it.dst) == (reply.dst, reply.src);
                is_it.then_some((it, req))
            }
            _ => None,
        });
        let Some((asked, req)) = asked else { continue };
        let one = Agreed {
            ends: [
                End {
                    ip: asked.src,
                    qpn: req.qpn.get(),
                    psn: req.psn,
                },
                End {
                    ip: reply.src,
                    qpn: rep.qpn.get(),
                    psn: rep.psn,
                },
            ],
            mtu: 128 << req.mtu,
        };
        // Messages come again when they are lost.
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
