//! Runs one unit alone, with arbitrary behaviour of its peer: answers for packets that were never sent, packets that no
//! requester makes, events at any time.

use crate::units::gbn::{End, Requesting, Responding, Shown, Unit};
use xoff_sim::protocol::Cycle;

use super::bins::Binned;
use super::events::{Event, Head, due};
use super::judge::Judged;
use crate::property::bins::Bins;
use crate::property::{Disagreement, same_runs};

/// Deadlines further away than this are not waited for. They would cost too many cycles when nothing is skipped, as in
/// a second run and while timers are held, and too many steps while a timer is held again and again.
const LONG: u64 = 4_000;

/// A requester or responder whose events can be drawn.
pub trait Drawn: Binned {
    /// Returns the event for a QP in this state; `None` for events of the other end.
    fn resolve(event: &Event, stands: &Self::Qp) -> Option<Self::Event>;
}

impl Drawn for Requesting {
    fn resolve(event: &Event, stands: &Self::Qp) -> Option<Self::Event> {
        event.at_requester(stands)
    }
}

impl Drawn for Responding {
    fn resolve(event: &Event, stands: &Self::Qp) -> Option<Self::Event> {
        event.at_responder(stands)
    }
}

/// Runs the events and judges every step.
///
/// # Errors
///
/// Returns the first violation.
pub fn check<U: Unit<End: Drawn>>(
    unit: &mut U,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    let (count, skipped) = run(unit, head, events, true, bins)?;
    if head.twice {
        same_runs(&skipped, &run(unit, head, events, false, bins)?.1)?;
    }
    Ok(count)
}

type Run<E> = (u64, Vec<Shown<E>>);

fn run<U: Unit<End: Drawn>>(
    unit: &mut U,
    head: &Head,
    events: &[Event],
    skips: bool,
    bins: &mut Bins,
) -> Result<Run<U::End>, Disagreement> {
    let mut judged = Judged::new(unit, Cycle(head.start), skips, head.twice)?;
    let mut many = 1;
    for event in events {
        if let Event::Many(times) = event {
            many = *times;
            continue;
        }
        if let Event::Wait(cycles) = event {
            judged.run_to(Cycle(judged.now.0 + u64::from(*cycles)))?;
            continue;
        }
        if let Event::Hold(holds) = event {
            judged.hold(*holds);
            continue;
        }
        let Some(qp) = event.qp().filter(|qp| *qp < U::QPS) else {
            continue;
        };
        if U::End::TIMER.is_some() {
            match *event {
                Event::Asks { asks, .. } => judged.asks(qp, asks)?,
                Event::AnswerWaits { waits, .. } => judged.answer_waits(qp, waits)?,
                Event::Left { end, .. } => judged.left(qp, end)?,
                _ => {}
            }
        }
        if let Event::Due { offset, .. } = *event {
            let deadline = U::End::due(U::End::context(&judged.latest(qp)));
            let until = due(deadline, offset);
            let whole = head.twice || judged.holds() || judged.waits();
            let near = |at: &Cycle| !whole || at.0 < judged.now.0 + LONG;
            if let Some(until) = until.filter(near) {
                judged.run_to(until)?;
            }
            continue;
        }
        let times = match event {
            Event::Send { times, .. } => *times,
            _ => 1,
        };
        for _ in 0..std::mem::replace(&mut many, 1) {
            if let Some(event) = U::End::resolve(event, &judged.latest(qp)) {
                for _ in 0..times {
                    judged.offer(qp, &event)?;
                }
            }
        }
    }
    judged.end()?;
    bins.merge(&judged.bins);
    Ok((judged.count, std::mem::take(&mut judged.steps)))
}
