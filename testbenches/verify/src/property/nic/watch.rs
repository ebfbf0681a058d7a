//! Protocol monitors at the ports of both NICs: whether the frames that a NIC sends fit those that reached it.

use std::collections::BTreeMap;

use bytes::Bytes;
use xoff_monitor::{Monitor, Sighting, Tap};
use xoff_sim::frame::Frame;
use xoff_sim::kernel::Direction;
use xoff_sim::time::{Duration, LineRate, Time};

use super::events::Head;
use super::pair::{PERIOD, Pair};
use super::setup::Setup;
use crate::property::Disagreement;

/// A frame that has yet to be shown to the monitors.
struct Seen {
    side: usize,
    direction: Direction,
    bytes: Bytes,
}

/// The monitors of a case.
pub struct Watch {
    monitor: Monitor,
    /// By the time of the last bit, then in the order in which they became known.
    pending: BTreeMap<(Time, u64), Seen>,
    /// Number of frames taken in: sent, and received.
    taken: (usize, usize),
    /// Number of the next frame.
    number: u64,
    /// Violations looked at.
    judged: usize,
}

impl Watch {
    /// The monitors of a case; `None` where they would judge what is no conversation of the standard: a NIC ignores
    /// frames with wrong bits that it notices and uses others, which a tap does not tell apart; go-back-0 sends again
    /// what was acknowledged; and whose answer it is cannot be seen where all QPs have the same addresses and PSNs.
    pub fn of(head: &Head) -> Option<Self> {
        let alike = head.values == 0 && head.qps > 1;
        if (head.path.flips, head.path.forged) != (0, 0) || head.requester.restart || alike {
            return None;
        }
        let mut monitor = Monitor::new();
        for side in 0..2 {
            let nic = Setup(head).nic(side);
            // A frame without a tag counts as one with PCP 0.
            let (classes, pcp_classes) = match nic.class_by_pcp {
                true => ([nic.pcp_classes[0]; 64], Some(nic.pcp_classes)),
                false => (std::array::from_fn(|dscp| nic.class_of(dscp as u8)), None),
            };
            monitor.add_tap(Tap {
                host: true,
                orderly: (head.path.late, head.path.doubles) == (0, 0),
                rate: Some(LineRate::G40),
                classes,
                pcp_classes,
                pfc_classes: nic.pfc.classes,
                pause: nic.pause_obeyed,
                // The watchdog ends pauses.
                pause_response: head.watchdog.then_some(Duration::MAX),
                ..Tap::new(format!("nic{side}"))
            });
        }
        Some(Self {
            monitor,
            pending: BTreeMap::new(),
            taken: (0, 0),
            number: 0,
            judged: 0,
        })
    }

    fn add(&mut self, side: usize, direction: Direction, frame: &Frame) {
        let seen = Seen {
            side,
            direction,
            bytes: frame.bytes.whole(),
        };
        self.pending.insert((frame.end, self.number), seen);
        self.number += 1;
    }

    /// Takes in what the records of a pair have more than the last time.
    pub fn see(&mut self, pair: &Pair) {
        let (sent, arrivals) = self.taken;
        for (side, frame, _) in &pair.frames[sent..] {
            self.add(*side, Direction::Sent, frame);
        }
        for (side, frame) in &pair.arrivals[arrivals..] {
            self.add(*side, Direction::Received, frame);
        }
        self.taken = (pair.frames.len(), pair.arrivals.len());
    }

    /// Judges the frames before a point of time. All of them must be known.
    ///
    /// # Errors
    ///
    /// The first frame of a NIC that breaks a rule.
    pub fn judge(&mut self, until: Time) -> Result<(), Disagreement> {
        while let Some(first) = self.pending.first_entry() {
            let (time, number) = *first.key();
            if time >= until {
                break;
            }
            let seen = first.remove();
            self.monitor.see(&Sighting {
                tap: seen.side,
                number,
                time,
                direction: Some(seen.direction),
                bytes: &seen.bytes,
                line: None,
                kept: seen.bytes.len(),
                addressed: true,
                fcs_ok: true,
            });
            let violations = &self.monitor.report().violations;
            let found = violations.get(self.judged);
            self.judged = violations.len();
            if let (Direction::Sent, Some(violation)) = (seen.direction, found) {
                return Err(format!(
                    "cycle {}: side {} sends what breaks {:?}: {}",
                    time.as_ps() / PERIOD.as_ps(),
                    seen.side,
                    violation.rule,
                    violation.text
                ));
            }
        }
        Ok(())
    }
}
