//! `dcqcn_rp_step`: the context after an event, `STEP_LATENCY` cycles later.

use crate::units::dcqcn::{RtlRpStep, STEP_LATENCY};
use std::collections::VecDeque;

use super::bins;
use super::events::Event;
use super::on_pins;
use crate::property::bins::Bins;
use crate::property::{Disagreement, other_fields, text};

/// Steps every context, one event per cycle.
///
/// # Errors
///
/// Returns the first step that differs from the reference.
pub fn check(rtl: &mut RtlRpStep, events: &[Event], bins: &mut Bins) -> Result<u64, Disagreement> {
    rtl.reset().map_err(text)?;
    // The events in the pipeline, the oldest first.
    let mut inside: VecDeque<Option<&Event>> = VecDeque::with_capacity(STEP_LATENCY + 1);
    inside.extend([None; STEP_LATENCY]);
    let mut count = 0;
    let mut cycle = |event: Option<&'_ Event>| -> Result<Option<_>, Disagreement> {
        let ports = match event {
            Some(Event::Step {
                now,
                event,
                context,
                parameters,
            }) => Some((parameters, context, *event, *now)),
            _ => None,
        };
        rtl.cycle(ports).map_err(text)
    };
    let bubbles = std::iter::repeat_n(&Event::Wait(1), STEP_LATENCY);
    for event in events.iter().chain(bubbles) {
        let (event, cycles) = match event {
            Event::Step { .. } => (Some(event), 1),
            Event::Wait(cycles) => (None, *cycles),
            _ => continue,
        };
        for _ in 0..cycles {
            let out = cycle(event)?;
            inside.push_back(event);
            let Some(Event::Step {
                now,
                event,
                context,
                parameters,
            }) = inside.pop_front().flatten()
            else {
                match out {
                    None => continue,
                    Some(out) => return Err(format!("a context without an event: {out:?}")),
                }
            };
            let (after, action) = context.step(parameters, *event, *now);
            bins::step(
                bins,
                bins::Unit::Step,
                context,
                (*event, *now),
                parameters,
                &after,
            );
            let expected = Some((on_pins(after), action.is_some()));
            if out != expected {
                return Err(format!(
                    "{event:?} at {} under {parameters:?}\n{}\nbefore:    {context:?}\nRTL:       {out:?}\nreference: {expected:?}",
                    now.0,
                    other_fields(&out, &expected)
                ));
            }
            count += 1;
        }
    }
    Ok(count)
}
