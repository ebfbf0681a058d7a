//! Cases: a Clos network, and what happens in it.

use serde::{Deserialize, Serialize};
use xoff_sim::seeded::SplitMix;

use crate::property::history::{History, Part, in_ranges, less_than};

/// Rates of links in Gb/s.
const RATES: [u16; 5] = [10, 25, 40, 100, 400];
/// Classes of flows: 3 and 4 are lossless.
pub const CLASSES: [u8; 4] = [0, 1, 3, 4];
/// The lossless classes.
pub const LOSSLESS: [u8; 2] = [3, 4];

/// The network of a case. Rates are in Gb/s and cables in metres, of links to hosts, to leafs and to spines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Seed of the scenario.
    pub seed: u64,
    /// Podsets, 1 or 2.
    pub podsets: u8,
    /// Racks of a podset, 1 to 4.
    pub tors: u8,
    /// Hosts of a rack, 2 to 8.
    pub hosts: u8,
    /// Leafs of a podset, 1 to 4.
    pub leafs: u8,
    /// Spines for each leaf of a podset, 0 to 4; 0 with one podset is a network of two tiers.
    pub spines: u8,
    /// Rates.
    pub rates: [u16; 3],
    /// Lengths of the cables, at most 30, 300 and 2,000.
    pub cables: [u16; 3],
    /// XOFF in bytes, or 0 for a part of the free buffer.
    pub xoff: u32,
    /// That part is 1 / 2^alpha.
    pub alpha: u8,
    /// Pause time in quanta, 200 and more.
    pub quanta: u16,
    /// Time until a switch obeys a pause, in nanoseconds, at most 500: what headroom and monitors allow at every rate,
    /// the least of which is 905 quanta at 800 Gb/s.
    pub response: u16,
    /// Switches mark, and hosts obey with DCQCN.
    pub dcqcn: bool,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Messages from a host to another one. Numbers of hosts count around.
    Flow {
        /// The sender.
        from: u8,
        /// How far behind the sender the receiver is; 0 is the next.
        to: u8,
        /// The class, one of [`CLASSES`].
        class: u8,
        /// The MTU is 256 « mtu bytes, 0 to 4.
        mtu: u8,
        /// Bytes of a message.
        message: u32,
        /// Number of messages.
        count: u8,
        /// When it starts, in nanoseconds.
        start: u32,
        /// Of 1,000 packets of a lossy class so many are lost: in the host's cable if odd, otherwise in a switch.
        loss: u8,
    },
    /// A host that takes nothing from its NIC.
    Stall {
        /// The host.
        host: u8,
        /// When, in nanoseconds.
        at: u32,
        /// For how long, in nanoseconds.
        time: u32,
    },
}

impl Head {
    /// Number of hosts.
    pub fn all_hosts(&self) -> u32 {
        u32::from(self.podsets) * u32::from(self.tors) * u32::from(self.hosts)
    }
}

impl Part for Head {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = Vec::new();
        let mut less = |change: fn(&mut Self)| {
            let mut head = *self;
            change(&mut head);
            if head != *self && head.valid().is_ok() {
                simpler.push(head);
            }
        };
        less(|head| (head.podsets, head.spines) = (1, 0));
        less(|head| head.tors -= 1);
        less(|head| head.hosts -= 1);
        less(|head| head.leafs -= 1);
        less(|head| head.dcqcn = false);
        less(|head| head.response = 0);
        less(|head| head.quanta = u16::MAX);
        less(|head| head.rates = [40; 3]);
        less(|head| head.cables = [1; 3]);
        simpler
    }

    fn valid(&self) -> Result<(), String> {
        let counts = [
            ("podsets", self.podsets, 1..=2),
            ("tors", self.tors, 1..=4),
            ("hosts", self.hosts, 2..=8),
            ("leafs", self.leafs, 1..=4),
            (
                "spines",
                self.spines,
                self.podsets - self.podsets.min(1)..=4,
            ),
            ("alpha", self.alpha, 0..=10),
        ];
        in_ranges(counts)?;
        if let Some(rate) = self.rates.iter().find(|rate| !RATES.contains(rate)) {
            return Err(format!("rate {rate}; expected one of {RATES:?}"));
        }
        if self.quanta < 200 || self.response > 500 {
            return Err("expected 200 quanta or more, and a response of 500 or less".into());
        }
        Ok(())
    }
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let mut simpler = Vec::new();
        match *self {
            Self::Flow { .. } => {
                let mut less = |change: fn(&mut [u32; 4]), loss: bool| {
                    let mut event = *self;
                    if let Self::Flow {
                        message,
                        count,
                        start,
                        loss: lost,
                        mtu,
                        ..
                    } = &mut event
                    {
                        let mut numbers = [*message, (*count).into(), *start, (*mtu).into()];
                        change(&mut numbers);
                        *message = numbers[0].max(1);
                        *count = numbers[1].max(1) as u8;
                        *start = numbers[2];
                        *mtu = numbers[3] as u8;
                        *lost = if loss { 0 } else { *lost };
                    }
                    if event != *self {
                        simpler.push(event);
                    }
                };
                less(|numbers| numbers[0] /= 2, false);
                less(|numbers| numbers[1] /= 2, false);
                less(|numbers| numbers[2] /= 2, false);
                less(|numbers| numbers[3] = 2, false);
                less(|_| (), true);
            }
            Self::Stall { host, at, time } => {
                simpler.extend(less_than(time.into()).map(|time| Self::Stall {
                    host,
                    at,
                    time: time as u32,
                }));
            }
        }
        simpler
    }

    fn valid(&self) -> Result<(), String> {
        match *self {
            Self::Flow { class, .. } if !CLASSES.contains(&class) => {
                Err(format!("class {class}; expected one of {CLASSES:?}"))
            }
            Self::Flow { mtu: 5.., .. } => Err("mtu; expected 0 to 4".into()),
            Self::Flow { message: 0, .. } | Self::Flow { count: 0, .. } => {
                Err("message and count; expected 1 or more".into())
            }
            Self::Flow { start, .. } if start > LATEST => {
                Err(format!("start {start}; expected {LATEST} or less"))
            }
            Self::Stall { at, .. } if at > LATEST => {
                Err(format!("at {at}; expected {LATEST} or less"))
            }
            _ => Ok(()),
        }
    }
}

/// The latest start of a flow or a stall, in nanoseconds.
const LATEST: u32 = 60_000;

/// Draws a case.
pub fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let podsets = draw.within(1, 2) as u8;
    let host_rate = draw.one_of(&[10, 25, 40, 40, 100]);
    let mut fabric = || draw.one_of(&[host_rate, host_rate, 10, 40, 100, 400]);
    let rates = [host_rate, fabric(), fabric()];
    let head = Head {
        seed: draw.bits(),
        podsets,
        tors: draw.within(1, 3) as u8,
        hosts: draw.within(2, 4) as u8,
        leafs: draw.within(1, 2) as u8,
        spines: draw.within(u64::from(podsets) - 1, 2) as u8,
        rates,
        cables: [30, 300, 2_000].map(|most| 1 + draw.within(0, most - 1) as u16),
        xoff: match draw.once_in(2) {
            true => 0,
            false => draw.within(1_000, 60_000) as u32,
        },
        alpha: draw.within(3, 9) as u8,
        quanta: match draw.once_in(2) {
            true => u16::MAX,
            false => draw.within(200, 5_000) as u16,
        },
        response: draw.within(0, 500) as u16,
        dcqcn: draw.once_in(2),
    };
    let hosts = u64::from(head.all_hosts());
    // In most cases several flows have one receiver.
    let hot = draw.within(0, hosts - 1);
    let mut events = Vec::new();
    for _ in 0..draw.within(2, 12) {
        if draw.once_in(8) {
            events.push(Event::Stall {
                host: if draw.once_in(2) {
                    hot
                } else {
                    draw.within(0, hosts - 1)
                } as u8,
                at: draw.within(0, u64::from(LATEST)) as u32,
                time: draw.any_length(17) as u32,
            });
            continue;
        }
        let from = draw.within(0, hosts - 1);
        let to = match draw.once_in(3) || from == hot {
            true => draw.within(0, hosts - 2),
            false => (hot + hosts - from - 1) % hosts,
        };
        events.push(Event::Flow {
            from: from as u8,
            to: to as u8,
            class: draw.one_of(&[0, 1, 3, 3, 3, 3, 4, 4]),
            mtu: draw.one_of(&[0, 1, 2, 2, 3, 4]),
            message: match draw.once_in(3) {
                true => 1 + draw.any_length(17) as u32,
                false => draw.within(50_000, 200_000) as u32,
            },
            count: draw.within(1, 3) as u8,
            start: match draw.once_in(2) {
                true => 0,
                false => draw.any_length(15) as u32,
            },
            loss: match draw.once_in(2) {
                true => draw.within(1, 20) as u8,
                false => 0,
            },
        });
    }
    History { head, events }
}
