//! What frames the builder is asked for, and how it is held up.

use xoff_sim::protocol::{Content, Descriptor};

use super::{Event, Stalls};
use crate::axis;
use crate::property::bins::{Bins, Group, Groups};
use crate::property::frames::{LastBeat, Network, Operation, Payload, Tags};

axis! {
    /// How many bytes fill the payload up to words of four.
    pub enum Pad, "pad" { None "0", One "1", Two "2", Three "3" }
}

axis! {
    /// What a frame is made of.
    pub enum Kind, "frame" {
        Payload "a packet with payload",
        Headers "a packet of headers alone",
        Pfc "PFC",
        Pause "PAUSE",
    }
}

impl Kind {
    fn of(packet: &Descriptor) -> Self {
        match &packet.content {
            Content::Roce(roce) if roce.payload.is_empty() => Self::Headers,
            Content::Roce(_) => Self::Payload,
            Content::Pfc(_) => Self::Pfc,
            Content::Pause(_) => Self::Pause,
        }
    }
}

axis! {
    /// What the frame after it is made of.
    pub enum Next, "next" {
        Payload "a packet with payload",
        Headers "a packet of headers alone",
        Pfc "PFC",
        Pause "PAUSE",
        Nothing "nothing",
    }
}

axis! {
    /// Whether descriptors come late.
    pub enum Descriptors, "descriptors" { InTime "in time", Late "late" }
}

axis! {
    /// Whether payload comes late.
    pub enum Payloads, "payload data" { InTime "in time", Late "late" }
}

axis! {
    /// Whether the receiver stalls.
    pub enum Receiver, "receiver" { Takes "takes every beat", Stalls "stalls" }
}

/// RoCE packets by opcode and payload.
pub static PACKETS: Group<(Operation, Payload)> = Group {
    name: "packets",
    counts: "RoCE packets",
    unreachable: |(Operation(opcode), payload)| {
        (!opcode.has_payload() && payload != Payload::Empty).then_some("this opcode has no payload")
    },
};

/// RoCE packets by what is around them.
pub static NETWORKS: Group<(Network, Tags, Pad)> = Group {
    name: "networks",
    counts: "RoCE packets",
    unreachable: |_| None,
};

/// Frames by kind and by who holds the builder up.
pub static STALLS: Group<(Kind, Descriptors, Payloads, Receiver)> = Group {
    name: "stalls",
    counts: "frames",
    unreachable: |_| None,
};

/// Frames by kind and by what comes after them.
pub static ORDER: Group<(Kind, Next)> = Group {
    name: "order",
    counts: "frames",
    unreachable: |_| None,
};

/// Frames by how full their last beat is, and by whether the receiver stalls.
pub static ENDS: Group<(LastBeat, Receiver)> = Group {
    name: "ends",
    counts: "frames",
    // 60 is the length of the shortest frames, MAC control among them.
    unreachable: |(last, _)| {
        (last.bytes() % 4 != 2 && last.bytes() != 60).then_some(
            "words of 4 bytes follow 14 bytes of Ethernet; shorter frames are padded to 60",
        )
    },
};

/// The groups.
pub const GROUPS: Groups = &[&PACKETS, &NETWORKS, &STALLS, &ORDER, &ENDS];

/// Counts what the frames of a case are. `built` are the frames that the reference builds.
pub fn see(bins: &mut Bins, events: &[Event], stalls: Stalls, built: &[Vec<u8>]) {
    let never = |pattern: u32| pattern == u32::MAX;
    let receiver = match never(stalls.receiver) {
        true => Receiver::Takes,
        false => Receiver::Stalls,
    };
    let descriptors = match never(stalls.descriptor) {
        true => Descriptors::InTime,
        false => Descriptors::Late,
    };
    let payloads = match never(stalls.payload) {
        true => Payloads::InTime,
        false => Payloads::Late,
    };
    for (at, event) in events.iter().enumerate() {
        let kind = Kind::of(event.packet());
        let next = match events.get(at + 1).map(|event| Kind::of(event.packet())) {
            None => Next::Nothing,
            Some(Kind::Payload) => Next::Payload,
            Some(Kind::Headers) => Next::Headers,
            Some(Kind::Pfc) => Next::Pfc,
            Some(Kind::Pause) => Next::Pause,
        };
        bins.hit(&STALLS, (kind, descriptors, payloads, receiver));
        bins.hit(&ORDER, (kind, next));
        bins.hit(&ENDS, (LastBeat::of(built[at].len()), receiver));
        if let Content::Roce(roce) = &event.packet().content {
            let bytes = roce.payload.len();
            let pad = [Pad::None, Pad::Three, Pad::Two, Pad::One][bytes % 4];
            bins.hit(&PACKETS, (Operation(roce.bth.opcode), Payload::of(bytes)));
            let tags = Tags::of(event.packet().tags.len());
            bins.hit(&NETWORKS, (Network::from(roce.ip.kind), tags, pad));
        }
    }
}
