//! Events of the DCQCN units, and how they are drawn.

use serde::{Deserialize, Serialize};
use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::dcqcn::{Alpha, Rate, RpContext, RpEvent, RpParameters};

use crate::property::history::{History, Part, any_start, less_than, valid_start};
use xoff_cosim::units::PERIOD_256_PS;

use crate::units::dcqcn::RtlNp;
use xoff_sim::seeded::SplitMix;

/// The unit, its number of QPs, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names of the modules beside this one")]
pub enum Bench {
    Step,
    ReactionPoint,
    ReactionPoint4,
    NotificationPoint,
    RateLimiter,
    RateLimiter4,
    Pace,
    Pace4,
}

/// Settings of a whole case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The bench.
    pub bench: Bench,
    /// The cycle of reset.
    pub start: u64,
    /// Run the case a second time without skipping idle cycles, and compare.
    pub twice: bool,
}

/// An event. Events of other units than the bench's, and of QPs that the unit does not have, do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// This many cycles without another event.
    Wait(u32),
    /// `dcqcn_rp_step`: a context and an event.
    Step {
        /// The cycle.
        now: Cycle,
        /// The event.
        event: RpEvent,
        /// The context before the event.
        context: RpContext,
        /// The parameters.
        parameters: RpParameters,
    },
    /// `dcqcn_rp`: the parameters change.
    Set(RpParameters),
    /// `dcqcn_rp`: an event, offered until it is taken.
    Rp {
        /// The event.
        event: RpEvent,
        /// The QP.
        qp: u16,
    },
    /// `dcqcn_np`: the interval between CNPs changes.
    Interval(u32),
    /// `dcqcn_np`: a QP is opened.
    Opened(u16),
    /// `dcqcn_np`: a marked packet came on a QP.
    Marked(u16),
    /// `rate_limiter`: how much lateness may be caught up, in cycles.
    Burst(u16),
    /// `rate_limiter`: a QP's rate.
    Update {
        /// The QP.
        qp: u16,
        /// The rate.
        rate: Rate,
        /// Whether the QP is limited to it.
        limited: bool,
    },
    /// `rate_limiter`: a packet started, whether or not its QP was eligible.
    Sent {
        /// The QP.
        qp: u16,
        /// Bytes on the wire.
        bytes: u16,
    },
    /// `rate_limiter`: from now on the QP always has such a packet ready.
    Sender {
        /// The QP.
        qp: u16,
        /// Its rate.
        rate: Rate,
        /// Bytes of each packet on the wire.
        bytes: u16,
    },
}

const PAPER: RpParameters = RpParameters::paper(Rate::mbps(40_000), PERIOD_256_PS);

impl Part for Head {
    fn valid(&self) -> Result<(), String> {
        valid_start(self.start)
    }
}

impl Part for Event {
    fn simpler(&self) -> Vec<Self> {
        let less16 = |n: u16| less_than(n.into()).map(|n| n as u16);
        match *self {
            Self::Wait(cycles) => (less_than(cycles.into()))
                .map(|cycles| Self::Wait(cycles as u32))
                .collect(),
            Self::Set(parameters) if parameters != PAPER => vec![Self::Set(PAPER)],
            Self::Rp {
                event: RpEvent::Bytes(bytes),
                qp,
            } => less16(bytes)
                .map(|bytes| Self::Rp {
                    event: RpEvent::Bytes(bytes),
                    qp,
                })
                .collect(),
            Self::Sent { qp, bytes } => less16(bytes)
                .map(|bytes| Self::Sent { qp, bytes })
                .collect(),
            Self::Burst(burst) => less16(burst).map(Self::Burst).collect(),
            _ => vec![],
        }
    }
}

/// Draws a case.
pub fn history(draw: &mut SplitMix) -> History<Head, Event> {
    let (bench, events) = match draw.within(0, 199) {
        0..75 => (Bench::Step, steps(draw)),
        75..95 => (Bench::ReactionPoint, reaction_point(draw, 64)),
        95..120 => (Bench::ReactionPoint4, reaction_point(draw, 4)),
        120..150 => (Bench::NotificationPoint, notification_point(draw)),
        150..175 => (Bench::RateLimiter, limiter(draw, 64)),
        175..198 => (Bench::RateLimiter4, limiter(draw, 4)),
        198 => (Bench::Pace4, pace(draw, 4)),
        _ if draw.once_in(4) => (Bench::Pace, pace(draw, 64)),
        _ => (Bench::Pace4, pace(draw, 4)),
    };
    let waits: u64 = (events.iter())
        .map(|event| match event {
            Event::Wait(cycles) => u64::from(*cycles),
            _ => 0,
        })
        .sum();
    let head = Head {
        bench,
        start: any_start(draw),
        twice: waits < 5_000 && draw.once_in(2),
    };
    History { head, events }
}

fn steps(draw: &mut SplitMix) -> Vec<Event> {
    let count = draw.within(1, 400);
    let mut parameters = any_parameters(draw);
    (0..count)
        .map(|_| {
            if draw.once_in(8) {
                return Event::Wait(draw.within(1, 9) as u32);
            }
            if draw.once_in(3) {
                parameters = any_parameters(draw);
            }
            // All deadlines are less than 2^46 cycles away.
            let now = Cycle((1 << 46) + any_start(draw));
            Event::Step {
                now,
                event: any_event(draw),
                context: any_context(draw, &parameters, now),
                parameters,
            }
        })
        .collect()
}

fn any_event(draw: &mut SplitMix) -> RpEvent {
    match draw.within(0, 15) {
        0 => RpEvent::Open,
        1 => RpEvent::Close,
        2..6 => RpEvent::Cnp,
        6..10 => RpEvent::Bytes(match draw.within(0, 2) {
            0 => 0,
            1 => u16::MAX,
            _ => draw.any_length(16) as u16,
        }),
        _ => RpEvent::Timer,
    }
}

/// Draws parameters: the paper's, with some replaced by any value; sometimes all at one end of their range.
fn any_parameters(draw: &mut SplitMix) -> RpParameters {
    if draw.once_in(16) {
        let all = draw.one_of(&[0, u32::MAX]);
        return RpParameters {
            rate_max: Rate(all),
            rate_min: Rate(all),
            rate_ai: Rate(all),
            rate_hai: Rate(all),
            g: (all & 0xFFFF) as u16,
            alpha_time: all,
            rate_time: all,
            byte_limit: all,
            stages: (all & 31) as u8,
        };
    }
    let which = draw.bits() & draw.bits();
    let mut value = |bit: u32, paper: u32| match which >> bit & 1 {
        0 => paper,
        _ => draw.edge(),
    };
    RpParameters {
        rate_max: Rate(value(0, PAPER.rate_max.0)),
        rate_min: Rate(value(1, PAPER.rate_min.0)),
        rate_ai: Rate(value(2, PAPER.rate_ai.0)),
        rate_hai: Rate(value(3, PAPER.rate_hai.0)),
        g: (value(4, PAPER.g.into()) & 0xFFFF) as u16,
        alpha_time: value(5, PAPER.alpha_time),
        rate_time: value(6, PAPER.rate_time),
        byte_limit: value(7, PAPER.byte_limit),
        stages: (value(8, PAPER.stages.into()) & 31) as u8,
    }
}

/// Draws any context, mostly near the values at which the behaviour changes.
fn any_context(draw: &mut SplitMix, parameters: &RpParameters, now: Cycle) -> RpContext {
    if draw.once_in(16) {
        return RpContext::default();
    }
    let flags = draw.bits() | draw.bits();
    let rate = |draw: &mut SplitMix| {
        let by = draw.within(0, 4) as u32;
        Rate(match draw.within(0, 5) {
            0 => parameters.rate_max.0.wrapping_add(by).wrapping_sub(2),
            1 => parameters.rate_min.0.wrapping_add(by).wrapping_sub(2),
            2 => draw.edge(),
            _ => draw.within(0, u64::from(parameters.rate_max.0)) as u32,
        })
    };
    let rate_target = rate(draw);
    let rate_current = match draw.within(0, 2) {
        0 => Rate(
            rate_target
                .0
                .wrapping_sub(draw.within(0, 5) as u32)
                .wrapping_add(1),
        ),
        _ => rate(draw),
    };
    let alpha = match draw.within(0, 5) {
        0 => Alpha(0),
        1 => Alpha::ONE,
        2 => Alpha(draw.within(0, 3) as u32),
        3 => Alpha(Alpha::ONE.0 - draw.within(0, 3) as u32),
        _ => Alpha(draw.within(0, u64::from(Alpha::ONE.0)) as u32),
    };
    let count = |draw: &mut SplitMix| match draw.within(0, 3) {
        0 => draw.within(0, 31) as u8,
        1 => 31,
        _ => (u64::from(parameters.stages) + draw.within(0, 3))
            .saturating_sub(2)
            .min(31) as u8,
    };
    let deadline = |draw: &mut SplitMix| {
        Cycle(match draw.within(0, 2) {
            0 => now.0 + draw.within(0, 2) - 1,
            1 => now.0 - draw.any_length(46),
            _ => now.0 + draw.any_length(46),
        })
    };
    RpContext {
        open: flags & 7 != 0,
        limited: flags & 8 != 0,
        alpha_runs: flags & 16 != 0,
        rate_runs: flags & 32 != 0,
        rate_current,
        rate_target,
        alpha,
        timer_count: count(draw),
        byte_count: count(draw),
        bytes: match draw.within(0, 2) {
            0 => draw.edge(),
            _ => (parameters.byte_limit)
                .saturating_add(draw.within(0, 2) as u32)
                .saturating_sub(draw.any_length(16) as u32),
        },
        alpha_deadline: deadline(draw),
        rate_deadline: deadline(draw),
    }
}

/// Draws parameters under which timers expire often enough to coincide with events.
fn lively_parameters(draw: &mut SplitMix) -> RpParameters {
    match draw.within(0, 7) {
        0 => any_parameters(draw),
        1 => PAPER,
        _ => RpParameters {
            g: draw.up_to_bits(16) as u16,
            alpha_time: draw.up_to_bits(13) as u32,
            rate_time: draw.up_to_bits(13) as u32,
            byte_limit: draw.up_to_bits(20) as u32,
            stages: draw.within(0, 6) as u8,
            ..PAPER
        },
    }
}

/// Draws QPs: a few get most events, and often the same one again.
fn qps(draw: &mut SplitMix, qps: u64) -> impl FnMut(&mut SplitMix) -> u16 + use<> {
    let hot = [(); 3].map(|()| draw.within(0, qps - 1) as u16);
    move |draw| match draw.within(0, 5) {
        0..3 => hot[0],
        3 => hot[1],
        4 => hot[2],
        _ => draw.within(0, qps - 1) as u16,
    }
}

/// Draws a wait: mostly none, so events are back to back; in some cases occasionally a long one.
fn wait(draw: &mut SplitMix, long: u32) -> Option<Event> {
    match draw.within(0, 31) {
        0..6 => Some(Event::Wait(draw.within(1, 12) as u32)),
        6 => Some(Event::Wait(draw.any_length(long) as u32)),
        _ => None,
    }
}

fn reaction_point(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    let long = draw.one_of(&[5, 8, 10, 13]);
    let mut qp = qps(draw, count);
    let mut events = vec![Event::Set(lively_parameters(draw))];
    let opens = draw.within(1, count.min(8));
    events.extend((0..opens).map(|_| Event::Rp {
        event: RpEvent::Open,
        qp: qp(draw),
    }));
    if count > 9 && draw.once_in(4) {
        events.extend(flood(draw, count));
    }
    for _ in 0..draw.within(1, 300) {
        events.extend(wait(draw, long));
        events.push(match draw.within(0, 63) {
            0 => Event::Set(lively_parameters(draw)),
            n => Event::Rp {
                event: match n {
                    1..4 => RpEvent::Open,
                    4 => RpEvent::Close,
                    5..24 => RpEvent::Cnp,
                    _ => RpEvent::Bytes(draw.any_length(16) as u16),
                },
                qp: qp(draw),
            },
        });
    }
    events
}

/// Draws an event in every cycle that takes one, each of another QP, while timers expire.
fn flood(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    let rp = |event, qp| Event::Rp {
        event,
        qp: qp as u16,
    };
    let (first, stride) = (draw.within(0, count - 1), draw.one_of(&[1, 5, 11, 63]));
    let limited = draw.within(0, count - 1);
    let mut events = vec![rp(RpEvent::Open, limited), rp(RpEvent::Cnp, limited)];
    events.extend((0..4 * count + draw.within(0, 2 * count)).map(|n| {
        let bytes = draw.up_to_bits(16) as u16;
        rp(RpEvent::Bytes(bytes), (first + stride * n) % count)
    }));
    events
}

fn notification_point(draw: &mut SplitMix) -> Vec<Event> {
    let interval = |draw: &mut SplitMix| match draw.within(0, 5) {
        0 => 9_766,
        1 => draw.edge(),
        _ => draw.any_length(8) as u32,
    };
    let mut qp = qps(draw, RtlNp::QPS.into());
    let mut events = vec![Event::Interval(interval(draw))];
    for _ in 0..draw.within(1, 500) {
        events.extend(wait(draw, 15));
        events.push(match draw.within(0, 63) {
            0 => Event::Interval(interval(draw)),
            1..4 => Event::Opened(qp(draw)),
            _ => Event::Marked(qp(draw)),
        });
    }
    events
}

fn limiter(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    let rate = |draw: &mut SplitMix| match draw.within(0, 7) {
        0 => Rate(draw.edge()),
        1 => Rate::mbps(40_000),
        // Where the gap saturates.
        2 => Rate(draw.within(6_102, 6_105) as u32),
        // 100 Mb/s to 40 Gb/s.
        _ => Rate((100_000 << draw.within(0, 8)) + draw.within(0, 99_999) as u32),
    };
    let long = draw.one_of(&[5, 8, 11, 16]);
    let mut qp = qps(draw, count);
    let mut events = vec![Event::Burst(draw.any_length(16) as u16)];
    for _ in 0..draw.within(1, 300) {
        events.extend(wait(draw, long));
        events.push(match draw.within(0, 63) {
            0 => Event::Burst(draw.any_length(16) as u16),
            1..6 => Event::Update {
                qp: qp(draw),
                rate: rate(draw),
                limited: !draw.once_in(5),
            },
            n => Event::Sent {
                qp: qp(draw),
                bytes: match n {
                    6 => u16::MAX,
                    7 => 0,
                    _ => draw.within(84, 9_038) as u16,
                },
            },
        });
    }
    events
}

/// Draws senders of similar pace, so that a run has some packets of each.
fn pace(draw: &mut SplitMix, count: u64) -> Vec<Event> {
    let senders = draw.within(1, count);
    // 10 Mb/s to 40 Gb/s.
    let scale = 10_000 << draw.within(0, 11);
    let mut events = vec![Event::Burst(draw.one_of(&[256, 1_024, 4_096]))];
    // Packets per cycle of one QP and of all QPs: at most 0.15 and 0.5, so that a QP that is behind can catch up (the
    // bench starts at most one packet of a QP in five cycles).
    let mut all = 0.0;
    for qp in 0..senders as u16 {
        let bytes = match draw.within(0, 2) {
            0 => 84,
            1 => 9_038,
            _ => draw.within(84, 9_038),
        };
        let rate = draw.within(scale, 2 * scale).min(40_000_000);
        let per_cycle = rate as f64 * PERIOD_256_PS as f64 / 8e9 / bytes as f64;
        if per_cycle <= 0.15 && all + per_cycle <= 0.5 {
            all += per_cycle;
            events.push(Event::Sender {
                qp,
                rate: Rate(rate as u32),
                bytes: bytes as u16,
            });
        }
    }
    events
}
