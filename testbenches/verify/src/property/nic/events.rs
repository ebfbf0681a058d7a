//! Events of two NICs.

use serde::{Deserialize, Serialize};
use xoff_sim::host::Stalled;
use xoff_sim::nic::translation::StallScope;
use xoff_sim::protocol::gbn::{RequesterConfig, WorkKind, mtu_bytes};

use super::ledger::LENGTH_MAX;
use crate::property::history::{History, Part, in_ranges};
use xoff_sim::seeded::SplitMix;

/// Maximum number of QPs per NIC: all.
const QPS_MAX: u64 = xoff_rtl::nic::QPS as u64;
/// Most cases have a few QPs, with which they can do more.
pub const FEW: u64 = 6;

/// What the path does to frames; each number is of a thousand frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Seed of its random choices.
    pub seed: u64,
    /// Lost frames.
    pub drops: u16,
    /// Frames with one wrong bit.
    pub flips: u16,
    /// Duplicated frames.
    pub doubles: u16,
    /// Frames that are overtaken by later ones.
    pub late: u16,
    /// Frames marked CE, of those that may be marked.
    pub marks: u16,
    /// RoCE packets with another last byte of payload and the ICRC that fits it, so that no NIC can notice. Never
    /// drawn: every such case fails. It is for trying out what happens then.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub forged: u16,
}

/// Settings of a whole case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// QPs of each NIC, connected index by index.
    pub qps: u16,
    /// Configuration of all requesters.
    pub requester: RequesterConfig,
    /// Code of the RNR timer.
    pub rnr_timer: u8,
    /// IPv6, else IPv4.
    pub ipv6: bool,
    /// Number of VLAN tags.
    pub tags: u8,
    /// DCQCN is on.
    pub dcqcn: bool,
    /// The QPs' class is lossless.
    pub pfc: bool,
    /// Cycles from a DMA read to its data.
    pub read_delay: u16,
    /// The path between the NICs.
    pub path: Path,
    /// Run the case again with every cycle evaluated; the results have to be equal.
    pub twice: bool,
    /// How QPs are spread over the indices of the NICs; 0: from 0 on.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub scatter: u8,
    /// Number of classes that QPs have, 1 to 3; 0 is 1.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub classes: u8,
    /// Classes come from PCPs, else from DSCPs.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub by_pcp: bool,
    /// The NICs obey 802.3x PAUSE.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub pause: bool,
    /// The watchdog is on.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub watchdog: bool,
    /// Seed of addresses, QP numbers, keys, tags, first PSNs and class maps; 0: plain ones.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub values: u64,
    /// NICs translate addresses, with a cache of so many sets: 1 is 1, each more doubles them; 0: all is on chip. It says
    /// what a miss stops, too: [`stall`](Self::stall).
    #[serde(default, skip_serializing_if = "is_plain")]
    pub translation: u8,
    /// Messages may be READs and atomics: there is memory for them.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub reads: bool,
    /// Number of protection domains that QPs are in, 1 to 4; 0 is 1.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub domains: u8,
}

impl Head {
    /// What a miss of a received packet stops.
    pub const fn stall(&self) -> StallScope {
        match self.translation % 3 {
            0 => StallScope::Part,
            1 => StallScope::Receive,
            _ => StallScope::Behind,
        }
    }
}

/// Whether a setting that older cases lack has the value that they have.
fn is_plain<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}

/// The class that a pause stops, where a case does not say it.
const fn class_of_pause() -> u8 {
    3
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
const fn is_class_of_pause(class: &u8) -> bool {
    *class == class_of_pause()
}

/// What of a message names a key of a protection domain that its QP is not in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Foreign {
    /// Nothing.
    #[default]
    Nothing,
    /// The memory of the side that posts it.
    Own,
    /// The memory of the other side: the request, or the receive buffer.
    Peers,
    /// The key that it invalidates.
    Invalidated,
}

/// The class of an [`Event::Pause`] that stops all of them: 802.3x PAUSE.
pub const ALL_CLASSES: u8 = 8;

/// An event. Events for which there is no room or no QP do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// This many cycles without another event.
    Wait(u32),
    /// A message over every QP in both directions, and their receive buffers.
    PostAll {
        /// As in `Post`.
        kind: u8,
        /// As in `Post`.
        length: u32,
        /// As in `Post`.
        signaled: bool,
        /// As in `Post`.
        #[serde(default, skip_serializing_if = "is_plain")]
        buffer_late: u16,
    },
    /// A message, and its receive buffer if it needs one.
    Post {
        /// The sending side.
        side: u8,
        /// The QP.
        qp: u16,
        /// `work_e`: SEND or WRITE, with or without immediate data, SEND with invalidate, READ, atomics,
        /// which have 8 bytes whatever their length.
        kind: u8,
        /// Length in bytes.
        length: u32,
        /// Success makes a completion too.
        signaled: bool,
        /// Cycles by which the buffer is posted later than the message.
        buffer_late: u16,
        /// What names a key of another protection domain, where the case has several.
        #[serde(default, skip_serializing_if = "is_plain")]
        foreign: Foreign,
    },
    /// A host stalls.
    Stall {
        /// Which.
        side: u8,
        /// The action that stalls.
        what: Stalled,
        /// Number of cycles in 16 in which it stalls.
        of_16: u8,
        /// Duration in cycles.
        cycles: u16,
    },
    /// A NIC receives a PFC frame that pauses a class, or a PAUSE.
    Pause {
        /// Which.
        side: u8,
        /// Pause time in quanta; 0 ends the pause.
        quanta: u16,
        /// The class, or the one that stands for it where the case has random values; [`ALL_CLASSES`] for PAUSE.
        #[serde(default = "class_of_pause", skip_serializing_if = "is_class_of_pause")]
        class: u8,
    },
    /// A QP is closed at both sides, whatever is under way, and opened again with other first PSNs. It does nothing
    /// while a host has work or buffers of any QP to hand over.
    Reopen {
        /// Which.
        qp: u16,
    },
    /// The region of a NIC is withdrawn: nothing can be written from then on.
    Withdraw {
        /// Which.
        side: u8,
    },
    /// The region is withdrawn from which a NIC sends.
    WithdrawSent {
        /// Which.
        side: u8,
    },
    /// From then on a host answers reads of what a QP sends with an error.
    Unreadable {
        /// Which host.
        side: u8,
        /// Which QP.
        qp: u16,
    },
}

impl Part for Head {
    /// Each setting that a failure may do without, at its plainest.
    fn simpler(&self) -> Vec<Self> {
        let plainer: [fn(&mut Self); 22] = [
            |head| head.twice = false,
            |head| head.path.drops = 0,
            |head| head.path.flips = 0,
            |head| head.path.doubles = 0,
            |head| head.path.late = 0,
            |head| head.path.marks = 0,
            |head| head.dcqcn = false,
            |head| head.pfc = false,
            |head| head.ipv6 = false,
            |head| head.tags = 0,
            |head| head.read_delay = 0,
            |head| head.requester.restart = false,
            |head| head.qps = 1,
            |head| head.path.seed = 0,
            |head| head.scatter = 0,
            |head| head.classes = 0,
            |head| head.by_pcp = false,
            |head| head.pause = false,
            |head| head.watchdog = false,
            |head| head.values = 0,
            |head| head.translation = 0,
            |head| head.domains = 0,
        ];
        let plainer = plainer.into_iter().filter_map(|change| {
            let mut head = *self;
            change(&mut head);
            (head != *self).then_some(head)
        });
        plainer.collect()
    }

    fn valid(&self) -> Result<(), String> {
        let (requester, path) = (&self.requester, &self.path);
        in_ranges([
            ("qps", u64::from(self.qps), 1..=QPS_MAX),
            ("requester.mtu", requester.mtu.into(), 0..=4),
            ("requester.timeout", requester.timeout.into(), 0..=31),
            ("requester.retry", requester.retry.into(), 0..=7),
            ("requester.rnr_retry", requester.rnr_retry.into(), 0..=7),
            ("rnr_timer", self.rnr_timer.into(), 0..=31),
            ("tags", self.tags.into(), 0..=2),
            ("classes", self.classes.into(), 0..=3),
            ("translation", self.translation.into(), 0..=10),
            ("domains", self.domains.into(), 0..=4),
            ("requester.reads", requester.reads.into(), 0..=31),
            ("path.drops", path.drops.into(), 0..=1_000),
            ("path.flips", path.flips.into(), 0..=1_000),
            ("path.doubles", path.doubles.into(), 0..=1_000),
            ("path.late", path.late.into(), 0..=1_000),
            ("path.marks", path.marks.into(), 0..=1_000),
            ("path.forged", path.forged.into(), 0..=1_000),
        ])
    }
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = *self;
        match &mut simpler {
            Event::Wait(cycles) if *cycles > 0 => *cycles /= 2,
            Event::Post { length, .. } | Event::PostAll { length, .. } if *length > 0 => {
                *length /= 2;
            }
            Event::Post { buffer_late, .. } | Event::PostAll { buffer_late, .. }
                if *buffer_late > 0 =>
            {
                *buffer_late /= 2;
            }
            Event::Stall { cycles, .. } if *cycles > 0 => *cycles /= 2,
            Event::Pause { quanta, .. } if *quanta > 0 => *quanta /= 2,
            _ => {}
        }
        let mut own = *self;
        if let Event::Post { foreign, .. } = &mut own {
            *foreign = Foreign::Nothing;
        }
        let mut all = vec![own, simpler];
        all.retain(|it| it != self);
        all
    }

    fn valid(&self) -> Result<(), String> {
        let side = |side: u8| ("side", u64::from(side), 0..=1);
        match *self {
            Event::Wait(_) | Event::Reopen { .. } => Ok(()),
            Event::Post {
                side: at,
                kind,
                length,
                ..
            } => in_ranges([
                side(at),
                ("kind", kind.into(), 0..=7),
                ("length", length.into(), 0..=LENGTH_MAX),
            ]),
            Event::PostAll { kind, length, .. } => in_ranges([
                ("kind", kind.into(), 0..=7),
                ("length", length.into(), 0..=LENGTH_MAX),
            ]),
            Event::Stall {
                side: at, of_16, ..
            } => in_ranges([side(at), ("of_16", of_16.into(), 0..=16)]),
            Event::Pause {
                side: at, class, ..
            } => in_ranges([side(at), ("class", class.into(), 0..=ALL_CLASSES.into())]),
            Event::Withdraw { side: at }
            | Event::WithdrawSent { side: at }
            | Event::Unreadable { side: at, .. } => in_ranges([side(at)]),
        }
    }
}

fn requester(draw: &mut SplitMix) -> RequesterConfig {
    RequesterConfig {
        mtu: draw.within(0, 4) as u8,
        // 8 and 16 us, so that failures show soon.
        timeout: draw.within(1, 2) as u8,
        retry: draw.within(0, 7) as u8,
        nak_retry: !draw.once_in(4),
        rnr_retry: draw.one_of(&[0, 1, 6, 7, 7, 7]),
        ack_every: draw.within(0, 8) as u8,
        window: draw.any_length(7) as u32,
        restart: draw.once_in(6),
        reads: 0,
    }
}

fn path(draw: &mut SplitMix, restarts: bool) -> Path {
    // Under go-back-0 a message has to arrive without any loss.
    let cap = if restarts { 20 } else { u64::MAX };
    // Mostly there is one kind of fault, rarely all.
    let mut often = |most: u64| match draw.once_in(3) {
        true => draw.any_length(10).min(most).min(cap) as u16,
        false => 0,
    };
    Path {
        drops: often(200),
        flips: often(100),
        doubles: often(200),
        late: often(200),
        marks: often(1000),
        forged: 0,
        seed: draw.bits(),
    }
}

/// Draws a random history.
pub fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let qps = match draw.once_in(4) {
        true => draw.within(FEW + 1, QPS_MAX) as u16,
        false => draw.within(1, FEW) as u16,
    };
    let mut history = history_of(qps, draw);
    // Under go-back-0 a READ begins anew at each timeout. Between two of its responses come those of all other QPs, and of
    // many they take longer than that: no READ would ever end.
    let livelocked = history.head.requester.restart && u64::from(qps) > FEW;
    if draw.once_in(3) && !livelocked {
        with_reads(&mut history, draw);
    }
    if draw.once_in(4) {
        history.head.translation = draw.within(1, 10) as u8;
    }
    if draw.once_in(4) {
        with_domains(&mut history, draw);
    }
    history
}

/// Puts the QPs of a history into several protection domains, and has some of its messages name keys of another one.
fn with_domains(history: &mut History<Head, Event>, draw: &mut SplitMix) {
    history.head.domains = draw.within(2, 4) as u8;
    for event in &mut history.events {
        if let Event::Post { kind, foreign, .. } = event
            && draw.once_in(12)
        {
            *foreign = match WorkKind(*kind) {
                WorkKind::SEND_INV => Foreign::Invalidated,
                _ => draw.one_of(&[Foreign::Own, Foreign::Peers]),
            };
        }
    }
}

/// Makes READs and atomics of some of a history's messages.
fn with_reads(history: &mut History<Head, Event>, draw: &mut SplitMix) {
    history.head.reads = true;
    history.head.requester.reads = draw.one_of(&[0, 0, 1, 2, 16]);
    let of = draw.within(1, 4);
    for event in &mut history.events {
        if let Event::Post { kind, .. } | Event::PostAll { kind, .. } = event
            && draw.within(0, 4) < of
        {
            let kinds = [
                WorkKind::READ,
                WorkKind::READ,
                WorkKind::READ,
                WorkKind::CMP_SWAP,
                WorkKind::FETCH_ADD,
            ];
            *kind = draw.one_of(&kinds).0;
        }
    }
}

/// Draws a random history of so many QPs.
pub fn history_of(qps: u16, draw: &mut SplitMix) -> History<Head, Event> {
    let requester = requester(draw);
    let head = Head {
        qps,
        requester,
        rnr_timer: draw.within(1, 2) as u8,
        ipv6: draw.once_in(3),
        tags: draw.one_of(&[0, 0, 1, 2]),
        dcqcn: draw.once_in(2),
        pfc: draw.once_in(2),
        read_delay: draw.any_length(9) as u16,
        path: path(draw, requester.restart),
        twice: draw.once_in(8),
        scatter: match draw.once_in(2) {
            true => draw.within(1, 63) as u8,
            false => 0,
        },
        classes: draw.within(1, 3) as u8,
        by_pcp: draw.once_in(4),
        pause: draw.once_in(2),
        watchdog: draw.once_in(3),
        values: match draw.once_in(2) {
            true => draw.bits(),
            false => 0,
        },
        translation: 0,
        reads: false,
        domains: 0,
    };
    let mtu = mtu_bytes(requester.mtu);
    let longest = if requester.restart { 8 * mtu } else { u32::MAX };
    // Many QPs would take long over long messages.
    let many = u64::from(head.qps) > FEW;
    let of_all = longest.min(if many { 2 * mtu } else { 1 << 14 });
    let kind = |draw: &mut SplitMix| draw.one_of(&[0, 1, 3, 4, 0, 1, 3, 4, 2]);
    let length = |draw: &mut SplitMix| match draw.within(0, 3) {
        0 => draw.within(0, 5) as u32,
        // Whole packets, and a byte more or less.
        1 => (draw.within(1, 4) as u32 * mtu + 1) - draw.within(0, 2) as u32,
        _ => draw.any_length(14) as u32,
    };
    let late = |draw: &mut SplitMix| match draw.once_in(6) {
        true => draw.any_length(13) as u16,
        false => 0,
    };
    let mut events = Vec::new();
    for _ in 0..draw.within(1, 40) {
        let side = draw.within(0, 1) as u8;
        events.push(match draw.within(0, 15) {
            0..4 => Event::Wait(draw.any_length(12) as u32),
            4 => Event::Stall {
                side,
                what: match draw.within(0, 3) {
                    0 => Stalled::Reads,
                    1 => Stalled::Data,
                    2 => Stalled::Writes,
                    _ => Stalled::Completions,
                },
                of_16: match draw.once_in(2) {
                    true => 16,
                    false => draw.within(1, 15) as u8,
                },
                cycles: draw.any_length(14) as u16,
            },
            5 => Event::Pause {
                side,
                quanta: match draw.once_in(4) {
                    true => 0,
                    false => draw.any_length(10) as u16,
                },
                class: draw.one_of(&[3, 3, 4, 1, ALL_CLASSES]),
            },
            6 if draw.once_in(8) => Event::Withdraw { side },
            9 if draw.once_in(12) => Event::WithdrawSent { side },
            10 if draw.once_in(8) => Event::Unreadable {
                side,
                qp: draw.within(0, u64::from(head.qps) - 1) as u16,
            },
            7 if draw.once_in(4) => Event::Reopen {
                qp: draw.within(0, u64::from(head.qps) - 1) as u16,
            },
            8 if many || draw.once_in(4) => Event::PostAll {
                kind: kind(draw),
                length: length(draw).min(of_all),
                signaled: !draw.once_in(3),
                buffer_late: late(draw),
            },
            _ => Event::Post {
                side,
                qp: draw.within(0, u64::from(head.qps) - 1) as u16,
                kind: kind(draw),
                length: length(draw).min(longest),
                signaled: !draw.once_in(3),
                buffer_late: late(draw),
                foreign: Foreign::Nothing,
            },
        });
    }
    // All QPs fail while they have work under way.
    if many && draw.once_in(3) {
        events.push(Event::PostAll {
            kind: kind(draw),
            length: length(draw).min(of_all),
            signaled: !draw.once_in(3),
            buffer_late: late(draw),
        });
        events.push(Event::Wait(draw.any_length(10) as u32));
        events.push(Event::Withdraw {
            side: draw.within(0, 1) as u8,
        });
    }
    History { head, events }
}
