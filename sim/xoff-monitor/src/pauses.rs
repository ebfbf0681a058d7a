//! Pauses at a port: what its node was asked to stop, and whether it still sent frames.

use std::collections::VecDeque;

use xoff_sim::headers::Headers;
use xoff_sim::kernel::Direction;
use xoff_sim::time::Time;
use xoff_sim::wire::CONTROL_PFC;
use xoff_sim::wire::frame::ControlHead;

use crate::report::Findings;
use crate::tap::Tap;
use crate::{Habit, Rule};

/// How many pauses of a class are remembered: as many as can end while one frame is on the wire.
const REMEMBERED: usize = 16;
/// The longest frame in bytes; a pause renewed within its time after the end is reported as 'lapsed'.
const LONGEST_FRAME: u64 = 9_216;

/// A span in which a class must not be sent: from the last bit of the first pause to the end of the last one that
/// follows it without a gap.
#[derive(Debug, Clone, Copy)]
struct Pause {
    since: Time,
    until: Time,
    /// Whether the peer ended it, as opposed to its time running out.
    ended: bool,
}

/// The pauses that a port's node received.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    classes: [VecDeque<Pause>; 8],
}

impl Pauses {
    /// Takes in a PFC or PAUSE frame.
    pub fn pause(
        &mut self,
        control: &ControlHead,
        time: Time,
        direction: Option<Direction>,
        tap: &Tap,
        out: &mut Findings,
    ) {
        let (Some(Direction::Received), Some(rate)) = (direction, tap.rate) else {
            return;
        };
        for (class, pauses) in self.classes.iter_mut().enumerate() {
            let quanta = match control.opcode {
                CONTROL_PFC
                    if control.class_enable & u16::from(tap.pfc_classes) & 1 << class == 0 =>
                {
                    continue;
                }
                CONTROL_PFC => control.timers[class],
                _ if !tap.pause => continue,
                _ => control.timers[0],
            };
            let mut pause = Pause {
                since: time,
                until: time.saturating_add(rate.time_of_quanta(quanta)),
                ended: false,
            };
            if let Some(last) = pauses.back_mut() {
                let lapsed = time.saturating_since(last.until);
                if last.until >= time {
                    last.until = time;
                    last.ended = quanta == 0;
                    if quanta > 0 {
                        pause.since = last.since;
                        pauses.pop_back();
                    }
                } else if quanta > 0 && !last.ended && lapsed < rate.time_of(LONGEST_FRAME) {
                    out.remark(Habit::PauseLapsed, || {
                        format!("class {class}, {lapsed} after its end")
                    });
                }
            }
            if quanta > 0 {
                pauses.push_back(pause);
                if pauses.len() > REMEMBERED {
                    pauses.pop_front();
                }
            }
        }
    }

    /// Judges a frame that is not a pause.
    pub fn frame(
        &mut self,
        frame: &[u8],
        headers: &Headers,
        time: Time,
        direction: Option<Direction>,
        tap: &Tap,
        out: &mut Findings,
    ) {
        let (Some(Direction::Sent), Some(rate)) = (direction, tap.rate) else {
            return;
        };
        let class = tap.class(headers);
        let pauses = &self.classes[usize::from(class)];
        if pauses.is_empty() {
            return;
        }
        // Preamble and FCS are on the wire, too.
        let start = Time::from_ps(
            time.as_ps()
                .saturating_sub(rate.time_of(frame.len() as u64 + 12).as_ps()),
        );
        let response = tap.response();
        let bound = |pause: &&Pause| {
            let from = pause
                .since
                .saturating_add(response)
                .saturating_add(tap.resolution);
            let until = Time::from_ps(pause.until.as_ps().saturating_sub(tap.resolution.as_ps()));
            from < start && start < until
        };
        let broken = pauses.iter().find(bound);
        out.check(Rule::PauseObeyed, broken.is_none(), || {
            let pause = broken.copied().unwrap_or(Pause { since: time, until: time, ended: false });
            format!(
                "a frame of class {class} starts {} after the pause, {} before its end; {response} are allowed",
                start.saturating_since(pause.since),
                pause.until.saturating_since(start)
            )
        });
    }
}
