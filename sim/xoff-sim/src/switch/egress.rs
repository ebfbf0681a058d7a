//! The sending side of a port.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::scheduler::{Scheduler, Service};
use super::shown::{HOLLOW_BYTES, hollow};
use super::watchdog::{Decision, Watchdog};
use crate::frame::{FCS_BYTES, Frame, FrameBytes};
use crate::kernel::PortId;
use crate::mac::{PauseReceiver, PauseSender};
use crate::time::{LineRate, Time};
use crate::wire::{PRIORITIES, set_bits};

/// The ingress queue in whose buffer space a frame is accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Charge {
    pub(super) ingress: PortId,
    pub(super) priority: u8,
    /// Its size when it came. It may leave with other tags.
    pub(super) size: u64,
    /// Number of a flooded frame, whose copies share the space of one frame.
    pub(super) flooded: Option<u64>,
}

/// A frame waiting to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Queued {
    pub(super) bytes: FrameBytes,
    pub(super) fcs_ok: bool,
    pub(super) charge: Charge,
    /// Earliest instant at which it may start.
    pub(super) ready: Time,
}

impl Queued {
    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64 + FCS_BYTES
    }
}

/// The frames of a priority that wait, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Queue {
    frames: VecDeque<Queued>,
    bytes: u64,
    /// When the first frame may start, and its size: what each step looks at, without a look at the frame.
    head: Option<(Time, u64)>,
}

impl Queue {
    fn push(&mut self, frame: Queued) {
        self.bytes += frame.size();
        self.head.get_or_insert((frame.ready, frame.size()));
        self.frames.push_back(frame);
    }

    fn pop(&mut self) -> Option<Queued> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.size();
        self.head = self.frames.front().map(|next| (next.ready, next.size()));
        Some(frame)
    }
}

/// The sending side of a port: a FIFO for each priority, and the frame on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Egress {
    pub(super) rate: LineRate,
    queues: [Queue; PRIORITIES],
    /// Priorities whose queue is not empty, one bit each: most steps look at one or two queues, not at all.
    filled: u8,
    /// The frame on the wire, and where its buffer space is accounted; `None` for pause frames, which use no buffer.
    on_wire: Option<(Frame, Option<Charge>)>,
    line_free: Time,
    scheduler: Scheduler,
    pub(super) pauses: PauseReceiver,
    pub(super) xoff: PauseSender,
    pub(super) watchdog: Option<Watchdog>,
}

/// A port's sending side as it is [shown](super::shown): without the content of frames.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ShownEgress {
    /// The queues that are not empty, each with its bytes by ingress port.
    queues: Vec<(u8, Vec<(PortId, u64)>)>,
    rates: ShownRates,
    xoff: PauseSender,
    watchdog: Option<Watchdog>,
}

/// What rates of a port's sending side are measured by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ShownRates {
    /// Start and end of the frame on the wire.
    on_wire: Option<(Time, Time)>,
    line_free: Time,
    pauses: PauseReceiver,
}

impl Egress {
    pub(super) fn shown(&self) -> ShownEgress {
        let queue = |priority: u8| {
            let mut from = BTreeMap::new();
            for frame in self.queued(priority) {
                *from.entry(frame.charge.ingress).or_default() += frame.size();
            }
            (priority, from.into_iter().collect())
        };
        ShownEgress {
            queues: set_bits(self.filled).map(queue).collect(),
            rates: self.rates_shown(),
            xoff: self.xoff.clone(),
            watchdog: self.watchdog.clone(),
        }
    }

    pub(super) fn see(&mut self, shown: ShownEgress) {
        (self.queues, self.filled) = Default::default();
        for (priority, from) in shown.queues {
            for (ingress, bytes) in from {
                self.push_hollow(priority, ingress, bytes);
            }
        }
        self.see_rates(shown.rates);
        self.xoff = shown.xoff;
        self.watchdog = shown.watchdog;
    }

    pub(super) fn rates_shown(&self) -> ShownRates {
        ShownRates {
            on_wire: (self.on_wire.as_ref()).map(|(frame, _)| (frame.start, frame.end)),
            line_free: self.line_free,
            pauses: self.pauses.clone(),
        }
    }

    pub(super) fn see_rates(&mut self, shown: ShownRates) {
        self.on_wire = shown.on_wire.map(|(start, end)| {
            let frame = Frame {
                bytes: FrameBytes::default(),
                fcs_ok: true,
                start,
                end,
            };
            (frame, None)
        });
        self.line_free = shown.line_free;
        self.pauses = shown.pauses;
    }

    /// Fills a queue with so many bytes that came by a port, in as few frames without content as can be.
    fn push_hollow(&mut self, priority: u8, ingress: PortId, mut left: u64) {
        while left > 0 {
            let pieces = left.div_ceil(HOLLOW_BYTES as u64);
            let size = left / pieces;
            let queue = &mut self.queues[usize::from(priority)];
            queue.frames.push_back(Queued {
                bytes: hollow(size.saturating_sub(FCS_BYTES) as usize).into(),
                fcs_ok: true,
                charge: Charge {
                    ingress,
                    priority,
                    size,
                    flooded: None,
                },
                ready: Time::MAX,
            });
            queue.bytes += size;
            left -= size;
        }
    }

    pub(super) fn new(
        rate: LineRate,
        pauses: PauseReceiver,
        xoff: PauseSender,
        watchdog: Option<Watchdog>,
    ) -> Self {
        Self {
            rate,
            queues: Default::default(),
            filled: 0,
            on_wire: None,
            line_free: Time::ZERO,
            scheduler: Scheduler::default(),
            pauses,
            xoff,
            watchdog,
        }
    }

    /// Bytes waiting in all queues, without the frame on the wire.
    pub(super) fn waiting_in_all(&self) -> u64 {
        self.queues.iter().map(|queue| queue.bytes).sum()
    }

    /// Bytes waiting in a queue, without the frame on the wire.
    pub(super) fn waiting(&self, priority: u8) -> u64 {
        self.queues[usize::from(priority)].bytes
    }

    /// The frames that wait in a queue.
    pub(super) fn queued(&self, priority: u8) -> impl Iterator<Item = &Queued> {
        self.queues[usize::from(priority)].frames.iter()
    }

    /// Number of frames, including the one on the wire, but without pause frames.
    pub(super) fn frames(&self) -> u64 {
        let waiting: usize = self.queues.iter().map(|queue| queue.frames.len()).sum();
        let on_wire = self
            .on_wire
            .as_ref()
            .is_some_and(|(_, charge)| charge.is_some());
        waiting as u64 + u64::from(on_wire)
    }

    /// When the preamble of the frame on the wire started.
    pub(super) fn sending_since(&self) -> Option<Time> {
        self.on_wire.as_ref().map(|(frame, _)| frame.start)
    }

    pub(super) fn push(&mut self, frame: Queued) {
        let queue = usize::from(frame.charge.priority);
        self.queues[queue].push(frame);
        self.filled |= 1 << queue;
    }

    /// Takes the frame on the wire if its last bit has left by `now`.
    pub(super) fn depart(&mut self, now: Time) -> Option<(Frame, Option<Charge>)> {
        self.on_wire.take_if(|(frame, _)| frame.end <= now)
    }

    /// Removes the frames that wait in a queue.
    pub(super) fn drain(&mut self, priority: u8) -> VecDeque<Queued> {
        self.filled &= !(1 << priority);
        std::mem::take(&mut self.queues[usize::from(priority)]).frames
    }

    /// The next decision of the watchdog that is due, with its priority. Obeys it as far as pauses are concerned.
    pub(super) fn watchdog_decides(&mut self, now: Time) -> Option<(u8, Decision)> {
        let (priority, decision) = self.watchdog.as_mut()?.decide(now)?;
        self.pauses.ignore(now, priority, decision == Decision::Act);
        Some((priority, decision))
    }

    /// Whether the watchdog has given up a priority.
    pub(super) fn given_up(&self, priority: u8) -> bool {
        self.watchdog
            .as_ref()
            .is_some_and(|watchdog| watchdog.has_acted(priority))
    }

    /// Applies pauses that are due, and starts a frame if one may start. Returns what kind of frame it is.
    ///
    /// `leave` is called for a frame that starts, with the number of bytes that wait behind it, and returns its bytes
    /// as they are sent.
    pub(super) fn pump(
        &mut self,
        now: Time,
        services: &[Service; PRIORITIES],
        leave: impl FnOnce(u8, u64, FrameBytes) -> FrameBytes,
    ) -> Option<Sent> {
        let paused = self.pauses.tick(now, self.rate);
        self.xoff.tick(now);
        let sent = self.start(now, services, leave);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.paused(now, paused);
            for priority in 0..PRIORITIES {
                let waits =
                    self.queues[priority].head.is_some() && self.pauses.until(priority) > now;
                watchdog.waits(now, priority as u8, waits);
            }
        }
        sent
    }

    fn start(
        &mut self,
        now: Time,
        services: &[Service; PRIORITIES],
        leave: impl FnOnce(u8, u64, FrameBytes) -> FrameBytes,
    ) -> Option<Sent> {
        if self.on_wire.is_some() || now < self.line_free {
            return None;
        }
        if self.xoff.pending() {
            let bytes = self.xoff.frame(now);
            self.send(now, bytes.into(), true, None);
            return Some(Sent::Pause);
        }
        let mut heads = [None; PRIORITIES];
        let mut waiting = [false; PRIORITIES];
        let mut any = false;
        for queue in set_bits(self.filled).map(usize::from) {
            waiting[queue] = true;
            heads[queue] = self.queues[queue]
                .head
                .filter(|(ready, _)| *ready <= now && self.pauses.until(queue) <= now)
                .map(|(_, size)| size);
            any |= heads[queue].is_some();
        }
        if !any {
            return None;
        }
        let queue = self.scheduler.pick(services, &heads, &waiting)?;
        let from = &mut self.queues[queue];
        let frame = from.pop()?;
        let size = frame.size();
        if from.head.is_none() {
            self.filled &= !(1 << queue);
        }
        let bytes = leave(queue as u8, from.bytes, frame.bytes);
        self.send(now, bytes, frame.fcs_ok, Some(frame.charge));
        Some(Sent::Data(size))
    }

    fn send(&mut self, now: Time, bytes: FrameBytes, fcs_ok: bool, charge: Option<Charge>) {
        let frame = Frame {
            fcs_ok,
            ..Frame::sent(bytes, now, self.rate)
        };
        self.line_free = frame.line_free(self.rate);
        self.on_wire = Some((frame, charge));
    }

    /// When something happens next unless a frame is pushed. Call it right after `pump`.
    pub(super) fn next_event(&self) -> Option<Time> {
        let watchdog = self.watchdog.as_ref().and_then(Watchdog::next_event);
        let mut next = [self.pauses.next_event(), self.xoff.refresh_at(), watchdog]
            .into_iter()
            .flatten()
            .min();
        let mut earlier = |at: Time| next = Some(next.map_or(at, |next| next.min(at)));
        if let Some((frame, _)) = &self.on_wire {
            earlier(frame.end);
        } else if self.xoff.pending() {
            earlier(self.line_free);
        } else {
            for priority in set_bits(self.filled).map(usize::from) {
                if let Some((ready, _)) = self.queues[priority].head {
                    earlier(ready.max(self.line_free).max(self.pauses.until(priority)));
                }
            }
        }
        next
    }
}

/// The kind of a frame that started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// A pause frame.
    Pause,
    /// Any other frame, and how many bytes it took up in its queue.
    Data(u64),
}
