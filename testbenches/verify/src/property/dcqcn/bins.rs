//! What happens to the DCQCN units, observed at events and in the references.

use xoff_sim::protocol::Cycle;
use xoff_sim::protocol::dcqcn::{
    Alpha, ByteGap, Increase, LimiterContext, Moment, NpContext, Rate, RpContext, RpEvent,
    RpParameters,
};

use crate::axis;
use crate::property::bins::{Bins, Group, Groups};

axis! {
    /// The unit that takes a step.
    pub enum Unit, "unit" {
        Step "dcqcn_rp_step",
        Qps64 "dcqcn_rp of 64 QPs",
        Qps4 "dcqcn_rp of 4 QPs",
    }
}

axis! {
    /// The kind of an event.
    pub enum Kind, "event" { Open "open", Close "close", Cnp "CNP", Bytes "bytes", Timer "timer" }
}

axis! {
    /// The QP before an event.
    pub enum Qp, "QP" { Closed "closed", Free "at line rate", Limited "limited" }
}

axis! {
    /// Where a QP is on its way back to line rate.
    pub enum Phase, "phase" {
        Free "at line rate",
        Recovery "fast recovery",
        Additive "additive increase",
        Hyper "hyper increase",
    }
}

axis! {
    /// The estimate of congestion.
    pub enum Estimate, "α" { Zero "0", Low "below 1/2", High "1/2 to 1", One "1" }
}

axis! {
    /// How far a rate is cut.
    pub enum Cut, "rate after it" { Minimum "the minimum", Above "above the minimum" }
}

axis! {
    /// What raises a rate.
    pub enum RaisedBy, "by" { Timer "the timer", Bytes "the byte counter" }
}

axis! {
    /// Where a rate is after an increase.
    pub enum Raised, "then" { Limited "still limited", Free "at line rate" }
}

axis! {
    /// Which deadlines a TIMER finds.
    pub enum Due, "due" { None "none", Alpha "α", Rate "the rate", Both "both" }
}

axis! {
    /// The QP of the event taken before.
    pub enum Neighbour, "event before" { Same "of this QP", Other "of another QP" }
}

axis! {
    /// Cycles since the event taken before.
    pub enum Spacing, "cycles since" { Next "1", Pipeline "2 to 16", Later "more" }
}

axis! {
    /// Whether an event waits until it is taken.
    pub enum Waits, "taken" { AtOnce "at once", Later "after waiting" }
}

axis! {
    /// When a mark comes.
    pub enum Mark, "since the last CNP" {
        First "there was none",
        Inside "within the interval",
        Early "one cycle less than the interval",
        Exact "exactly the interval",
        After "longer",
    }
}

axis! {
    /// The interval between CNPs.
    pub enum Interval, "interval" { Zero "0", Some "more" }
}

axis! {
    /// Whether a QP is limited.
    pub enum Limit, "QP" { Free "free", Limited "limited" }
}

axis! {
    /// When a packet starts.
    pub enum Start, "starts" {
        Early "before its time",
        Burst "late, and catches up",
        Lost "later than may be caught up",
    }
}

axis! {
    /// Bytes of a packet.
    pub enum Size, "bytes" { Zero "0", Frame "1 to 65,534", Most "65,535" }
}

axis! {
    /// Updates that are not in force when one comes.
    pub enum Pending, "under way" {
        None "none",
        Own "of this QP",
        Other "of other QPs",
        Both "of this and of others",
    }
}

axis! {
    /// The time of a byte at a new rate.
    pub enum Gap, "time of a byte" { Some "below 256 cycles", Saturated "saturated" }
}

axis! {
    /// Whether a QP may send when its new rate takes effect.
    pub enum May, "QP may send" { No "no", Yes "yes" }
}

axis! {
    /// The rate of a sender.
    pub enum Pace, "rate" {
        M100 "10 to 100 Mb/s",
        G1 "100 Mb/s to 1 Gb/s",
        G10 "1 to 10 Gb/s",
        G40 "10 to 40 Gb/s",
    }
}

axis! {
    /// The packets of a sender.
    pub enum Packet, "packets" { Least "84 bytes", Between "85 to 9,037", Most "9,038 bytes" }
}

/// Steps by event.
pub static EVENTS: Group<(Unit, Kind, Qp)> = Group {
    name: "rp_events",
    counts: "steps of the reaction point",
    unreachable: |(unit, kind, qp)| match (unit, kind, qp) {
        (Unit::Qps64 | Unit::Qps4, Kind::Timer, Qp::Closed) => {
            Some("dcqcn_rp steps a TIMER of a deadline, and a closed QP has none")
        }
        _ => None,
    },
};

/// Cuts.
pub static CUTS: Group<(Phase, Estimate, Cut)> = Group {
    name: "rp_cuts",
    counts: "CNPs of open QPs",
    unreachable: |_| None,
};

/// Increases.
pub static INCREASES: Group<(RaisedBy, Phase, Raised)> = Group {
    name: "rp_increases",
    counts: "increases of a rate",
    unreachable: |(_, phase, _)| {
        (phase == Phase::Free).then_some("a rate at line rate does not rise")
    },
};

/// Timers.
pub static TIMERS: Group<(Due, Qp)> = Group {
    name: "rp_timers",
    counts: "TIMER steps",
    unreachable: |_| None,
};

/// How close events are.
pub static SPACINGS: Group<(Neighbour, Spacing, Waits)> = Group {
    name: "rp_spacings",
    counts: "events that dcqcn_rp takes, but for the first",
    unreachable: |(neighbour, spacing, waits)| match (spacing, waits) {
        (Spacing::Next, _) if neighbour == Neighbour::Same => {
            Some("the next event of a QP is taken 9 cycles after the last one or later")
        }
        (Spacing::Next, Waits::Later) => Some("it was offered after the one before was taken"),
        _ => None,
    },
};

/// Marked packets.
pub static MARKS: Group<(Mark, Interval)> = Group {
    name: "np_marks",
    counts: "marked packets",
    unreachable: |(mark, interval)| match (mark, interval) {
        (Mark::Inside | Mark::Early, Interval::Zero) => Some("there is no time within 0 cycles"),
        (Mark::Exact, Interval::Zero) => Some("one mark comes in a cycle"),
        _ => None,
    },
};

/// Packets of the rate limiter.
pub static SENT: Group<(Limit, Start, Size)> = Group {
    name: "limiter_packets",
    counts: "packets started",
    unreachable: |_| None,
};

/// Updates of the rate limiter.
pub static UPDATES: Group<(Pending, Limit)> = Group {
    name: "limiter_updates",
    counts: "updates taken",
    unreachable: |_| None,
};

/// Rates that take effect.
pub static IN_FORCE: Group<(Gap, Limit, May)> = Group {
    name: "limiter_rates",
    counts: "rates that take effect",
    unreachable: |_| None,
};

/// Senders that keep to a rate.
pub static PACES: Group<(Pace, Packet)> = Group {
    name: "pace_senders",
    counts: "senders",
    unreachable: |_| None,
};

/// The groups.
pub const GROUPS: Groups = &[
    &EVENTS, &CUTS, &INCREASES, &TIMERS, &SPACINGS, &MARKS, &SENT, &UPDATES, &IN_FORCE, &PACES,
];

fn phase(context: &RpContext, parameters: &RpParameters) -> Phase {
    match context.increase(parameters) {
        _ if !context.limited => Phase::Free,
        Increase::FastRecovery => Phase::Recovery,
        Increase::Additive => Phase::Additive,
        Increase::Hyper => Phase::Hyper,
    }
}

/// Counts a step of the reference.
pub fn step(
    bins: &mut Bins,
    unit: Unit,
    before: &RpContext,
    (event, now): (RpEvent, Cycle),
    parameters: &RpParameters,
    after: &RpContext,
) {
    let qp = match (before.open, before.limited) {
        (false, _) => Qp::Closed,
        (true, false) => Qp::Free,
        (true, true) => Qp::Limited,
    };
    let alpha_due = before.alpha_runs && before.alpha_deadline <= now;
    let rate_due = before.rate_runs && before.rate_deadline <= now;
    let kind = match event {
        RpEvent::Open => Kind::Open,
        RpEvent::Close => Kind::Close,
        RpEvent::Cnp => Kind::Cnp,
        RpEvent::Bytes(_) => Kind::Bytes,
        RpEvent::Timer => Kind::Timer,
    };
    bins.hit(&EVENTS, (unit, kind, qp));
    if kind == Kind::Timer {
        let due = match (alpha_due, rate_due) {
            (false, false) => Due::None,
            (true, false) => Due::Alpha,
            (false, true) => Due::Rate,
            (true, true) => Due::Both,
        };
        bins.hit(&TIMERS, (due, qp));
    }
    if !before.open {
        return;
    }
    let mut counted = *before;
    let raised = match event {
        RpEvent::Timer if rate_due => {
            counted.timer_count = (before.timer_count + 1).min(31);
            Some(RaisedBy::Timer)
        }
        RpEvent::Bytes(bytes) => {
            let sum = u64::from(before.bytes) + u64::from(bytes);
            let limit = u64::from(parameters.byte_limit);
            counted.byte_count = (before.byte_count + 1).min(31);
            (before.limited && limit != 0 && sum >= limit).then_some(RaisedBy::Bytes)
        }
        RpEvent::Cnp => {
            let estimate = match before.alpha {
                Alpha(0) => Estimate::Zero,
                Alpha::ONE => Estimate::One,
                alpha if alpha.0 < Alpha::ONE.0 / 2 => Estimate::Low,
                _ => Estimate::High,
            };
            let cut = match after.rate_current <= parameters.rate_min {
                true => Cut::Minimum,
                false => Cut::Above,
            };
            bins.hit(&CUTS, (phase(before, parameters), estimate, cut));
            None
        }
        _ => None,
    };
    // A context of any bits may have a timer that raises a rate that is not limited; no QP has.
    if let (Some(by), true) = (raised, before.limited) {
        let then = match after.limited {
            true => Raised::Limited,
            false => Raised::Free,
        };
        bins.hit(&INCREASES, (by, phase(&counted, parameters), then));
    }
}

/// Counts an event that `dcqcn_rp` takes: its QP and cycle, those of the event before, and when it was offered.
pub fn spacing(bins: &mut Bins, before: (u16, Cycle), event: (u16, Cycle), offered: Cycle) {
    let neighbour = match before.0 == event.0 {
        true => Neighbour::Same,
        false => Neighbour::Other,
    };
    let spacing = match event.1.0 - before.1.0 {
        0 | 1 => Spacing::Next,
        2..=16 => Spacing::Pipeline,
        _ => Spacing::Later,
    };
    let waits = match offered == event.1 {
        true => Waits::AtOnce,
        false => Waits::Later,
    };
    bins.hit(&SPACINGS, (neighbour, spacing, waits));
}

/// Counts a marked packet.
pub fn mark(bins: &mut Bins, before: &NpContext, interval: u32, now: Cycle) {
    let since = now.0.saturating_sub(before.last.0);
    let mark = match since.cmp(&interval.into()) {
        _ if !before.sent => Mark::First,
        std::cmp::Ordering::Equal => Mark::Exact,
        std::cmp::Ordering::Greater => Mark::After,
        std::cmp::Ordering::Less if since + 1 == u64::from(interval) => Mark::Early,
        std::cmp::Ordering::Less => Mark::Inside,
    };
    let interval = match interval {
        0 => Interval::Zero,
        _ => Interval::Some,
    };
    bins.hit(&MARKS, (mark, interval));
}

fn limit(limited: bool) -> Limit {
    match limited {
        true => Limit::Limited,
        false => Limit::Free,
    }
}

/// Counts a packet that starts.
pub fn sent(bins: &mut Bins, before: &LimiterContext, bytes: u16, now: Cycle, burst: u16) {
    let earliest = Cycle(now.0.saturating_sub(burst.into()));
    let start = match before.next {
        next if next > Moment::of(now) => Start::Early,
        next if next >= Moment::of(earliest) => Start::Burst,
        _ => Start::Lost,
    };
    let size = match bytes {
        0 => Size::Zero,
        u16::MAX => Size::Most,
        _ => Size::Frame,
    };
    bins.hit(&SENT, (limit(before.limited), start, size));
}

/// Counts an update that is taken; `updating` are the QPs with one under way, one bit each.
pub fn update(bins: &mut Bins, qp: u16, limited: bool, updating: u64) {
    let (own, others) = (updating >> qp & 1 != 0, updating & !(1 << qp) != 0);
    let pending = match (own, others) {
        (false, false) => Pending::None,
        (true, false) => Pending::Own,
        (false, true) => Pending::Other,
        (true, true) => Pending::Both,
    };
    bins.hit(&UPDATES, (pending, limit(limited)));
}

/// Counts a rate that takes effect.
pub fn in_force(bins: &mut Bins, gap: ByteGap, limited: bool, eligible: bool) {
    let gap = match gap {
        ByteGap(u32::MAX) => Gap::Saturated,
        _ => Gap::Some,
    };
    let may = match eligible {
        true => May::Yes,
        false => May::No,
    };
    bins.hit(&IN_FORCE, (gap, limit(limited), may));
}

/// Counts a sender that keeps to a rate.
pub fn sender(bins: &mut Bins, rate: Rate, bytes: u16) {
    let pace = match rate.0 {
        0..100_000 => Pace::M100,
        100_000..1_000_000 => Pace::G1,
        1_000_000..10_000_000 => Pace::G10,
        _ => Pace::G40,
    };
    let packet = match bytes {
        84 => Packet::Least,
        9_038 => Packet::Most,
        _ => Packet::Between,
    };
    bins.hit(&PACES, (pace, packet));
}
