//! What happens to two NICs, observed at events, at the path between them and in their completions.

use xoff_sim::host::Stalled;
use xoff_sim::nic::NicCounters;
use xoff_sim::nic::translation::StallScope;
use xoff_sim::nic_registers as reg;
use xoff_sim::protocol::gbn::{Completion, Status, WorkKind, mtu_bytes};
use xoff_sim::wire::frame::{ParsedFrame, Verdict};
use xoff_sim::wire::{Opcode, SyndromeMeaning};

use super::events::{Event, Foreign, Head};
use crate::axis;
use crate::property::bins::{Bins, Group, Groups};
use crate::property::frames::Tags;

axis! {
    /// The operation of a message.
    pub enum Message, "message" {
        Send "SEND",
        SendImm "SEND with immediate data",
        SendInv "SEND with invalidate",
        Write "WRITE",
        WriteImm "WRITE with immediate data",
        Read "READ",
        Atomic "atomic",
    }
}

axis! {
    /// The length of a message.
    pub enum Length, "length" {
        Empty "0",
        Part "less than the MTU",
        One "the MTU",
        Whole "several MTUs",
        More "several MTUs and a part",
    }
}

axis! {
    /// Where packets lie.
    pub enum Ip, "network" { V4 "IPv4", V6 "IPv6" }
}

axis! {
    /// Whether the QPs' class pauses.
    pub enum Pfc, "PFC" { Off "off", On "on" }
}

axis! {
    /// Whether DCQCN is on.
    pub enum Dcqcn, "DCQCN" { Off "off", On "on" }
}

axis! {
    /// A packet on the path.
    pub enum Packet, "packet" {
        Request "request",
        Response "response",
        Ack "ACK",
        Nak "NAK",
    }
}

axis! {
    /// A frame that steers the sender.
    pub enum Control, "frame" { Cnp "CNP", Pfc "PFC" }
}

axis! {
    /// What the path does to a frame.
    pub enum Fate, "path" {
        Passes "passes it on",
        Loses "loses it",
        Flips "flips a bit",
        Doubles "doubles it",
        Delays "lets others overtake it",
        Marks "marks it",
    }
}

axis! {
    /// What stalls in a host.
    pub enum Stall, "stalls" {
        Reads "DMA reads",
        Data "data of reads",
        Writes "DMA writes",
        Completions "completions",
    }
}

axis! {
    /// In how many cycles it stalls.
    pub enum Share, "in" { All "all cycles", Some "some cycles" }
}

axis! {
    /// A pause that a NIC receives.
    pub enum Pause, "pause" { End "of 0", Short "below 64 quanta", Long "64 quanta and more" }
}

axis! {
    /// Which half reports.
    pub enum Half, "reported by" { Requester "the requester", Responder "the responder" }
}

axis! {
    /// How a work request or a buffer ends.
    pub enum Ends, "ends" {
        Success "success",
        RetryExceeded "retries exceeded",
        RnrExceeded "RNR retries exceeded",
        LocalAccess "local access error",
        Unread "local access error of what is sent",
        RemoteAccess "remote access error",
        RemoteOperation "remote operation error",
        Flushed "flushed",
    }
}

axis! {
    /// What a page table entry that is missing stops.
    pub enum Waits, "a miss stops" { Part "its part", Receive "all of receive", Behind "what is behind it" }
}

axis! {
    /// A page table entry that a packet needs.
    pub enum Entry, "entry" { Hit "in the cache", Miss "read from the host" }
}

axis! {
    /// A key that a message names, where QPs are in several protection domains.
    pub enum Key, "of another domain" {
        Nothing "none",
        Own "the sender's memory",
        Peers "the receiver's memory",
        Invalidated "the key to invalidate",
    }
}

/// Messages that are asked for.
pub static MESSAGES: Group<(Message, Length)> = Group {
    name: "messages",
    counts: "messages asked for",
    unreachable: |(message, length)| {
        let other = message == Message::Atomic && length != Length::Part;
        other.then_some("an atomic has 8 bytes")
    },
};

/// Settings of the NICs.
pub static SETTINGS: Group<(Ip, Tags, Pfc, Dcqcn)> = Group {
    name: "settings",
    counts: "cases",
    unreachable: |_| None,
};

/// Packets between the NICs.
pub static PACKETS: Group<(Packet, Fate)> = Group {
    name: "packets",
    counts: "packets between the NICs",
    unreachable: |(packet, fate)| match (packet, fate) {
        (Packet::Ack | Packet::Nak, Fate::Marks) => Some("answers are not ECN-capable"),
        _ => None,
    },
};

/// Frames that steer the other NIC.
pub static CONTROLS: Group<(Control,)> = Group {
    name: "controls",
    counts: "CNPs and PFC frames between the NICs",
    unreachable: |_| None,
};

/// Stalls of the hosts.
pub static STALLS: Group<(Stall, Share)> = Group {
    name: "stalls",
    counts: "stalls of a host",
    unreachable: |_| None,
};

/// Pauses from outside.
pub static PAUSES: Group<(Pause, Pfc)> = Group {
    name: "pauses",
    counts: "PFC frames that the bench sends to a NIC",
    unreachable: |_| None,
};

/// Completions.
pub static ENDS: Group<(Half, Ends)> = Group {
    name: "completions",
    counts: "completions",
    unreachable: |(half, ends)| match (half, ends) {
        (Half::Responder, Ends::RetryExceeded | Ends::RnrExceeded) => {
            Some("a responder does not retry")
        }
        (Half::Responder, Ends::Unread) => Some("a responder sends no messages"),
        (Half::Responder, Ends::RemoteAccess | Ends::RemoteOperation) => {
            Some("this is what the responder's peer is told")
        }
        _ => None,
    },
};

/// Translations.
pub static TRANSLATIONS: Group<(Waits, Entry)> = Group {
    name: "translations",
    counts: "pages of packets",
    unreachable: |_| None,
};

/// Keys of protection domains.
pub static KEYS: Group<(Key,)> = Group {
    name: "domains",
    counts: "messages of QPs in several protection domains",
    unreachable: |_| None,
};

/// The groups.
pub const GROUPS: Groups = &[
    &MESSAGES,
    &SETTINGS,
    &PACKETS,
    &CONTROLS,
    &STALLS,
    &PAUSES,
    &ENDS,
    &TRANSLATIONS,
    &KEYS,
];

/// Counts what translation met in a NIC.
pub fn translations(bins: &mut Bins, head: &Head, counters: &NicCounters) {
    let waits = match head.stall() {
        StallScope::Part => Waits::Part,
        StallScope::Receive => Waits::Receive,
        StallScope::Behind => Waits::Behind,
    };
    for (entry, counter) in [
        (Entry::Hit, reg::TRANSLATION_HITS),
        (Entry::Miss, reg::TRANSLATION_MISSES),
    ] {
        (0..counters.get(counter)).for_each(|_| bins.hit(&TRANSLATIONS, (waits, entry)));
    }
}

fn pfc(head: &Head) -> Pfc {
    match head.pfc {
        true => Pfc::On,
        false => Pfc::Off,
    }
}

/// Counts what a case asks for.
pub fn case(bins: &mut Bins, head: &Head, events: &[Event]) {
    let ip = match head.ipv6 {
        true => Ip::V6,
        false => Ip::V4,
    };
    let dcqcn = match head.dcqcn {
        true => Dcqcn::On,
        false => Dcqcn::Off,
    };
    bins.hit(
        &SETTINGS,
        (ip, Tags::of(head.tags.into()), pfc(head), dcqcn),
    );
    let mtu = mtu_bytes(head.requester.mtu);
    for event in events {
        if let Event::Post { foreign, .. } = *event
            && head.domains > 1
        {
            let key = match foreign {
                Foreign::Nothing => Key::Nothing,
                Foreign::Own => Key::Own,
                Foreign::Peers => Key::Peers,
                Foreign::Invalidated => Key::Invalidated,
            };
            bins.hit(&KEYS, (key,));
        }
        match *event {
            Event::Post { kind, length, .. } | Event::PostAll { kind, length, .. } => {
                let message = match kind {
                    0 => Message::Send,
                    1 => Message::SendImm,
                    2 => Message::SendInv,
                    3 => Message::Write,
                    4 => Message::WriteImm,
                    5 => Message::Read,
                    _ => Message::Atomic,
                };
                let length = match (length / mtu, length % mtu) {
                    _ if message == Message::Atomic => Length::Part,
                    (0, 0) => Length::Empty,
                    (0, _) => Length::Part,
                    (1, 0) => Length::One,
                    (_, 0) => Length::Whole,
                    _ => Length::More,
                };
                bins.hit(&MESSAGES, (message, length));
            }
            Event::Stall { what, of_16, .. } => {
                let stall = match what {
                    Stalled::Reads => Stall::Reads,
                    Stalled::Data => Stall::Data,
                    Stalled::Writes => Stall::Writes,
                    Stalled::Completions => Stall::Completions,
                };
                let share = match of_16 {
                    16.. => Share::All,
                    _ => Share::Some,
                };
                bins.hit(&STALLS, (stall, share));
            }
            Event::Pause { quanta, .. } => {
                let pause = match quanta {
                    0 => Pause::End,
                    1..64 => Pause::Short,
                    _ => Pause::Long,
                };
                bins.hit(&PAUSES, (pause, pfc(head)));
            }
            Event::Wait(_)
            | Event::Reopen { .. }
            | Event::Withdraw { .. }
            | Event::WithdrawSent { .. }
            | Event::Unreadable { .. } => {}
        }
    }
}

/// Counts what the path does to a frame.
pub fn frame(bins: &mut Bins, frame: &ParsedFrame, fate: Fate) {
    let meaning = (frame.ext.as_ref())
        .and_then(|ext| ext.aeth)
        .map(|aeth| aeth.syndrome.meaning());
    let packet = match (frame.verdict, frame.bth.map(|bth| bth.opcode), meaning) {
        (Verdict::Pfc, ..) => return bins.hit(&CONTROLS, (Control::Pfc,)),
        (Verdict::Cnp, ..) => return bins.hit(&CONTROLS, (Control::Cnp,)),
        (_, Some(Opcode::RC_ACK), Some(SyndromeMeaning::Ack(_))) => Packet::Ack,
        (_, Some(Opcode::RC_ACK), _) => Packet::Nak,
        (_, Some(opcode), _) if opcode.is_response() => Packet::Response,
        _ => Packet::Request,
    };
    bins.hit(&PACKETS, (packet, fate));
}

/// Counts a completion.
pub fn completion(bins: &mut Bins, completion: &Completion) {
    let half = match completion.receive {
        true => Half::Responder,
        false => Half::Requester,
    };
    let sends = !completion.receive && !WorkKind(completion.operation).returns();
    let ends = match completion.status {
        Status::Success => Ends::Success,
        Status::RetryExceeded => Ends::RetryExceeded,
        Status::RnrExceeded => Ends::RnrExceeded,
        Status::LocalAccess if sends => Ends::Unread,
        Status::LocalAccess => Ends::LocalAccess,
        Status::RemoteAccess => Ends::RemoteAccess,
        Status::RemoteOperate => Ends::RemoteOperation,
        Status::Flushed => Ends::Flushed,
        Status::LocalLength | Status::RemoteInvalid | Status::BadResponse => {
            unreachable!("the ledger refuses {:?}", completion.status)
        }
    };
    bins.hit(&ENDS, (half, ends));
}
