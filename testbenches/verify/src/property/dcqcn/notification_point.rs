//! `dcqcn_np`: a CNP for every mark that the reference answers, `CNP_LATENCY` cycles later, and no other.

use std::collections::VecDeque;

use crate::units::dcqcn::{CNP_LATENCY, NpEvent, RtlNp};
use xoff_sim::protocol::dcqcn::NpContext;
use xoff_sim::protocol::{Cycle, Idle};

use super::bins;
use super::events::{Event, Head};
use super::{Clock, Sleep};
use crate::property::bins::Bins;
use crate::property::{Disagreement, same_runs, text};

/// Runs the events and judges every CNP.
///
/// # Errors
///
/// Returns the first CNP that is superfluous, missing, or at a wrong time.
pub fn check(
    rtl: &mut RtlNp,
    head: &Head,
    events: &[Event],
    bins: &mut Bins,
) -> Result<u64, Disagreement> {
    let (skipped, count) = run(rtl, head, events, true, bins)?;
    if head.twice {
        same_runs(&skipped, &run(rtl, head, events, false, bins)?.0)?;
    }
    Ok(count)
}

/// Returns the CNPs with their cycles, and the number of events.
fn run(
    rtl: &mut RtlNp,
    head: &Head,
    events: &[Event],
    skips: bool,
    bins: &mut Bins,
) -> Result<(Vec<(Cycle, u16)>, u64), Disagreement> {
    let mut clock = Clock::new(head.start, skips, u64::from(RtlNp::QPS) + CNP_LATENCY);
    let mut qps = vec![NpContext::default(); usize::from(RtlNp::QPS)];
    let mut interval = 0;
    let mut expected: VecDeque<(Cycle, u16)> = VecDeque::new();
    let mut seen = Vec::new();
    let mut count = 0;
    rtl.reset(clock.now).map_err(text)?;
    clock.now.0 += 1;

    let mut sleep = Sleep::default();
    let mut cycle = |clock: &mut Clock, interval, event: Option<(NpEvent, u16)>| {
        let now = clock.now;
        sleep.look(clock, event.is_some(), |now| rtl.state(now, interval))?;
        let out = rtl.cycle(now, interval, event).map_err(text)?;
        let due = expected.front().copied().filter(|(at, _)| *at == now);
        if due.is_some() {
            expected.pop_front();
        }
        if out.cnp != due.map(|(_, qp)| qp) {
            return Err(format!(
                "cycle {}\nRTL:       CNP {:?}\nreference: CNP {due:?}",
                now.0, out.cnp
            ));
        }
        seen.extend(due);
        let taken = event.filter(|_| out.ready);
        match taken {
            Some((NpEvent::Open, qp)) => qps[usize::from(qp)] = NpContext::default(),
            Some((NpEvent::Marked, qp)) => {
                bins::mark(bins, &qps[usize::from(qp)], interval, now);
                let (context, cnp) = qps[usize::from(qp)].marked(interval, now);
                qps[usize::from(qp)] = context;
                expected.extend(cnp.then_some((Cycle(now.0 + CNP_LATENCY), qp)));
            }
            None => {}
        }
        count += u64::from(taken.is_some());
        if out.idle != Idle::No && !expected.is_empty() {
            return Err(format!("cycle {}: idle, and {expected:?} to come", now.0));
        }
        clock.tick(out.idle, event.is_some() || out.cnp.is_some())?;
        Ok(taken.is_some())
    };
    let end = Event::Wait(CNP_LATENCY as u32 + 2);
    for event in events.iter().chain([&end]) {
        let offered = match event {
            Event::Wait(cycles) => {
                clock.wait(*cycles, |clock| cycle(clock, interval, None))?;
                continue;
            }
            Event::Interval(cycles) => {
                interval = *cycles;
                clock.skip.wake();
                continue;
            }
            Event::Opened(qp) if *qp < RtlNp::QPS => (NpEvent::Open, *qp),
            Event::Marked(qp) if *qp < RtlNp::QPS => (NpEvent::Marked, *qp),
            _ => continue,
        };
        // Only the clearing of the memory after reset may delay an event.
        let cleared = head.start + u64::from(RtlNp::QPS) + 2;
        while !cycle(&mut clock, interval, Some(offered))? {
            if clock.now.0 > cleared {
                return Err(format!("cycle {}: {offered:?} is not taken", clock.now.0));
            }
        }
    }
    if let Some(lost) = expected.front() {
        return Err(format!("the CNP {lost:?} never came"));
    }
    Ok((seen, count))
}
