//! What frames come to the parser.

use xoff_sim::wire::Opcode;
use xoff_sim::wire::frame::{IpKind, ParsedFrame, Reason, Verdict};

use super::Event;
use crate::axis;
use crate::property::bins::{Bins, Group, Groups};
use crate::property::frames::{Asks, Classes, LastBeat, Network, Operation, Payload, Tags};

axis! {
    /// Whether the ICRC is right.
    pub enum Icrc, "ICRC" { Right "right", Wrong "wrong" }
}

axis! {
    /// When the beats of a frame come.
    pub enum Pace, "beats" {
        BackToBack "back to back, also with the frame before",
        Gap "after a gap",
        Stutter "with gaps between them",
    }
}

axis! {
    /// What the frame before was.
    pub enum Before, "behind" {
        Nothing "nothing",
        Whole "a whole frame",
        Malformed "a malformed frame",
    }
}

axis! {
    /// What the reserved half of a class-enable vector holds.
    pub enum Reserved, "reserved half" { Zero "zero", Set "not zero" }
}

/// RoCE packets by opcode and payload.
pub static PACKETS: Group<(Operation, Payload)> = Group {
    name: "packets",
    counts: "frames with a verdict of RoCE",
    unreachable: |(Operation(opcode), payload)| {
        (!opcode.has_payload() && payload != Payload::Empty)
            .then_some("this opcode has no payload: the verdict is unexpected_payload")
    },
};

/// RoCE packets by what is around them.
pub static NETWORKS: Group<(Network, Tags, Icrc)> = Group {
    name: "networks",
    counts: "frames with a verdict of RoCE",
    unreachable: |_| None,
};

/// CNPs, which have a contract of their own.
pub static CNPS: Group<(Network, Icrc)> = Group {
    name: "cnps",
    counts: "CNPs",
    unreachable: |(network, _)| (network == Network::Grh).then_some("a CNP exists in RoCEv2 alone"),
};

/// Malformed frames.
pub static MALFORMED: Group<(Reason, Tags)> = Group {
    name: "malformed",
    counts: "malformed frames",
    unreachable: |(reason, tags)| match (reason, tags) {
        (Reason::EthTruncated, Tags::One | Tags::Two) => {
            Some("it ends before there could be a tag")
        }
        (Reason::VlanTruncated, Tags::Two) => Some("the parser reads at most two tags"),
        (Reason::ControlTruncated | Reason::ControlAddress, Tags::One | Tags::Two) => {
            Some("MAC control is not tagged: the verdict is other")
        }
        _ => None,
    },
};

/// Frames by their place in the last beat, and by what is before them.
pub static ENDS: Group<(LastBeat, Pace)> = Group {
    name: "ends",
    counts: "frames",
    unreachable: |_| None,
};

/// Frames by verdict and by the frame before.
pub static ORDER: Group<(Before, Verdict, Pace)> = Group {
    name: "order",
    counts: "frames",
    unreachable: |_| None,
};

/// PFC frames.
pub static PFC: Group<(Classes, Asks, Reserved)> = Group {
    name: "pfc",
    counts: "PFC frames",
    unreachable: |(classes, asks, _)| match (classes, asks) {
        (Classes::None, Asks::Nothing) => None,
        (Classes::None, _) => Some("no class is enabled"),
        (_, Asks::Nothing) => Some("a class is enabled"),
        (Classes::One, Asks::Both) => Some("one class has one timer"),
        _ => None,
    },
};

/// The groups.
pub const GROUPS: Groups = &[&PACKETS, &NETWORKS, &CNPS, &MALFORMED, &ENDS, &ORDER, &PFC];

/// Counts what the frames of a case are, as the reference parses them.
pub fn see(bins: &mut Bins, events: &[Event], frames: &[ParsedFrame]) {
    let mut before = Before::Nothing;
    for (event, frame) in events.iter().zip(frames) {
        let Event::Frame {
            gap,
            stutter,
            bytes,
        } = event;
        // A stutter shows only where the frame has more than one beat of 32 bytes.
        let beats = bytes.len().div_ceil(32);
        let between = (1..beats.min(16)).any(|beat| stutter >> beat & 1 != 0);
        let pace = match (between, gap) {
            (true, _) => Pace::Stutter,
            (false, 0) => Pace::BackToBack,
            (false, _) => Pace::Gap,
        };
        bins.hit(&ENDS, (LastBeat::of(bytes.len()), pace));
        bins.hit(&ORDER, (before, frame.verdict, pace));
        before = match frame.verdict {
            Verdict::Malformed => Before::Malformed,
            _ => Before::Whole,
        };
        one(bins, frame);
    }
}

fn one(bins: &mut Bins, frame: &ParsedFrame) {
    let tags = Tags::of(frame.eth.as_ref().map_or(0, |eth| eth.tags.len()));
    if let Some(reason) = frame.reason {
        bins.hit(&MALFORMED, (reason, tags));
    }
    if let (true, Some(bth), Some(ip), Some(icrc_ok)) =
        (frame.verdict.is_roce(), frame.bth, frame.ip, frame.icrc_ok)
    {
        let icrc = if icrc_ok { Icrc::Right } else { Icrc::Wrong };
        let network = Network::from(ip.kind);
        bins.hit(
            &PACKETS,
            (Operation(bth.opcode), Payload::of(frame.payload.len())),
        );
        bins.hit(&NETWORKS, (network, tags, icrc));
        if bth.opcode == Opcode::CNP && ip.kind != IpKind::Grh {
            bins.hit(&CNPS, (network, icrc));
        }
    }
    if let (Verdict::Pfc, Some(control)) = (frame.verdict, frame.control) {
        let [reserved, enable] = control.class_enable.to_be_bytes();
        let reserved = if reserved == 0 {
            Reserved::Zero
        } else {
            Reserved::Set
        };
        bins.hit(
            &PFC,
            (
                Classes::of(enable),
                Asks::of(enable, &control.timers),
                reserved,
            ),
        );
    }
}
