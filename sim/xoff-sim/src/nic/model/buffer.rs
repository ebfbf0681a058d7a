//! The receive buffer, and the DMA writes that empty it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{NEVER, latency};
use crate::host::Host;
use crate::host::payload::Payload;
use crate::nic::translation::unit::Resolving;
use crate::nic::{BUFFERS, BufferParts};
use crate::protocol::gbn::requester::reading::Returned;
use crate::protocol::gbn::responder::answered::Accepted;
use crate::protocol::gbn::{Arrival, Completion};
use crate::time::Cycles;
use crate::wire::{PRIORITIES, Psn, Syndrome};

/// What waits in the buffer for a step of its QP.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Received {
    /// A request, for the responder.
    Request(Arrival),
    /// A READ response or that of an atomic, for the requester.
    Response(Returned),
    /// An ACK or NAK that must not pass such responses.
    Answer(Psn, Syndrome),
}

// Every frame of a QP is moved with it.
const _: () = assert!(size_of::<Received>() == size_of::<Arrival>());

/// A packet that waits for its step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// Earliest cycle of its step.
    pub(super) from: u64,
    pub(super) qp: u16,
    pub(super) received: Received,
    pub(super) payload: Payload,
    pub(super) room: Room,
}

/// The room that a request takes in the buffer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Room {
    pub(super) class: u8,
    /// Bytes of the frame.
    pub(super) bytes: u32,
    /// Beats in the ring of payload.
    pub(super) beats: u32,
}

impl Room {
    /// The room of a packet that has left the buffer already.
    pub(super) const fn freed(self) -> Self {
        Self {
            bytes: 0,
            beats: 0,
            ..self
        }
    }

    /// Whether its packet has left the buffer already.
    pub(super) const fn is_freed(self) -> bool {
        self.bytes == 0
    }
}

/// A DMA write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Write {
    /// Of a payload to an address.
    Whole(u64, Payload),
    /// Of the bytes of a packet that is ahead of a missing one. They are in memory with the missing one.
    Ahead(usize),
    /// To an address of a payload that has crossed PCIe before.
    Placed(u64, Payload),
}

/// The work that remains after a step of the responder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    /// Earliest cycle.
    pub(super) from: u64,
    pub(super) qp: u16,
    /// What is to be written, if anything.
    pub(super) write: Option<Write>,
    pub(super) completion: Option<Completion>,
    /// The READ or atomic that may be answered then.
    pub(super) asked: Option<Accepted>,
    /// The room that is freed when the job is done, if it belongs to a request.
    pub(super) room: Option<Room>,
}

impl Job {
    /// Nothing yet of a QP, behind a step in cycle `now`.
    pub(super) fn after(now: u64, qp: u16) -> Self {
        Self {
            from: now + latency::WRITE,
            qp,
            write: None,
            completion: None,
            asked: None,
            room: None,
        }
    }

    /// Whether it completes a work request.
    fn completes_work(&self) -> bool {
        (self.completion.as_ref()).is_some_and(|completion| !completion.receive)
    }
}

/// A part of the receive buffer: payload in a ring of beats, and headers in a queue beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    /// Size of the ring in beats.
    ring: u64,
    headers: usize,
    used: u64,
    waiting: VecDeque<Waiting>,
    /// How far the translation of the first one's memory is, while it waits for it.
    resolving: Option<Box<Resolving>>,
}

/// The receive buffer with its parts, as in `receive_buffer`, followed by the queue of `payload_writer`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReceiveBuffer {
    data_bytes: u64,
    parts: [Part; BUFFERS],
    of_class: [u8; PRIORITIES],
    /// The part that is looked at first for the next request.
    turn: usize,
    /// The responder takes requests only while there are fewer jobs than this.
    jobs_max: usize,
    depth: [u32; PRIORITIES],
    jobs: VecDeque<Job>,
    /// Jobs that complete a work request.
    completing: u32,
    /// The cycle in which the last beat of the first job is taken.
    writing: Option<u64>,
    /// Earliest cycle of the next job.
    next_job: u64,
    /// Earliest cycle of the responder's next step.
    next_step: u64,
}

impl ReceiveBuffer {
    pub(super) fn new(bytes: u64, parts: &BufferParts, data_bytes: usize, recvs: usize) -> Self {
        let data_bytes = data_bytes as u64;
        let of = |part| {
            let cells = parts.cells(part, bytes);
            Part {
                ring: cells * BufferParts::CELL / data_bytes,
                headers: cells as usize,
                used: 0,
                waiting: VecDeque::new(),
                resolving: None,
            }
        };
        Self {
            data_bytes,
            parts: std::array::from_fn(|part| of(part as u8)),
            of_class: parts.of_class,
            turn: 0,
            jobs_max: 4 * (recvs + 1) + 4,
            depth: [0; PRIORITIES],
            jobs: VecDeque::new(),
            completing: 0,
            writing: None,
            next_job: 0,
            next_step: 0,
        }
    }

    /// Bytes of the frames in the buffer, by class.
    pub(super) const fn depth(&self) -> &[u32; PRIORITIES] {
        &self.depth
    }

    /// Puts a request into the buffer. Returns false if it does not fit.
    pub(super) fn put(&mut self, mut request: Waiting) -> bool {
        let beats = (request.payload.len() as u64).div_ceil(self.data_bytes);
        request.room.beats = beats as u32;
        let class = usize::from(request.room.class);
        let part = &mut self.parts[usize::from(self.of_class[class])];
        if part.used + beats > part.ring || part.waiting.len() >= part.headers {
            return false;
        }
        part.used += beats;
        self.depth[class] += request.room.bytes;
        part.waiting.push_back(request);
        true
    }

    /// When the responder takes the next request.
    pub(super) fn next_step(&self) -> u64 {
        if self.jobs.len() >= self.jobs_max {
            return NEVER;
        }
        let fronts = self.parts.iter().filter_map(|part| part.waiting.front());
        let first = fronts.map(|request| request.from).min();
        first.map_or(NEVER, |from| from.max(self.next_step))
    }

    /// The part whose request the responder handles at `now`. The parts take turns.
    fn next_part(&self, now: u64) -> Option<usize> {
        if self.next_step() > now {
            return None;
        }
        let mut parts = (0..BUFFERS).map(|behind| (self.turn + behind) % BUFFERS);
        parts.find(|part| {
            let front = self.parts[*part].waiting.front();
            front.is_some_and(|request| request.from <= now)
        })
    }

    /// Takes the request that the responder handles at `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<Waiting> {
        let part = self.next_part(now)?;
        self.next_step = now + latency::RESPOND_EVERY;
        self.turn = (part + 1) % BUFFERS;
        self.parts[part].waiting.pop_front()
    }

    /// What [`take`](Self::take) would take at `now`, and how far the translation of its memory is.
    pub(super) fn next(&mut self, now: u64) -> Option<(&Waiting, &mut Option<Box<Resolving>>)> {
        let part = self.next_part(now)?;
        let Part {
            waiting, resolving, ..
        } = &mut self.parts[part];
        Some((waiting.front()?, resolving))
    }

    /// Has what would be taken at `now` wait `until` a cycle, and everything else if it stops `all`.
    pub(super) fn delay(&mut self, now: u64, until: u64, all: bool) {
        let Some(part) = self.next_part(now) else {
            return;
        };
        if let Some(front) = self.parts[part].waiting.front_mut() {
            front.from = until;
        }
        if all {
            self.next_step = until;
        }
    }

    /// Has the translations looked up again that requests wait for.
    pub(super) fn look_again(&mut self) {
        self.parts.iter_mut().for_each(|part| part.resolving = None);
    }

    /// Appends a job.
    pub(super) fn push(&mut self, job: Job) {
        self.completing += u32::from(job.completes_work());
        self.jobs.push_back(job);
    }

    /// Whether a work request of a QP is still to be completed by a job.
    pub(super) fn completes_work(&self, qp: u16) -> bool {
        let mut jobs = self.jobs.iter();
        self.completing > 0 && jobs.any(|job| job.qp == qp && job.completes_work())
    }

    /// Removes the waiting requests of a QP that is closed, and what was to be answered after its writes. Returns how
    /// many requests there were, and their classes, one bit each.
    pub(super) fn forget(&mut self, qp: u16) -> (u64, u8) {
        let (mut count, mut classes) = (0, 0);
        let Self {
            parts, depth, jobs, ..
        } = self;
        for job in jobs.iter_mut().filter(|job| job.qp == qp) {
            job.asked = None;
        }
        for Part {
            waiting,
            used,
            resolving,
            ..
        } in parts
        {
            if waiting.front().is_some_and(|request| request.qp == qp) {
                *resolving = None;
            }
            waiting.retain(|request| {
                if request.qp != qp {
                    return true;
                }
                count += 1;
                classes |= 1 << request.room.class;
                *used -= u64::from(request.room.beats);
                depth[usize::from(request.room.class)] -= request.room.bytes;
                false
            });
        }
        (count, classes)
    }

    /// When the first job can make progress.
    pub(super) fn next_job(&self, host: &Host) -> u64 {
        if let Some(end) = self.writing {
            return end;
        }
        self.jobs.front().map_or(NEVER, |job| {
            let from = job.from.max(self.next_job);
            match job.write {
                Some(Write::Whole(..) | Write::Ahead(_)) => from.max(host.write_free().0),
                Some(Write::Placed(..)) | None => from,
            }
        })
    }

    /// Works on the first job at `now`. Returns the job when it is done; its room is free from then on.
    pub(super) fn work(&mut self, now: u64, host: &mut Host) -> Option<Job> {
        if self.next_job(host) > now {
            return None;
        }
        if self.writing.is_none() {
            let crossing = match &self.jobs.front()?.write {
                Some(Write::Whole(va, payload)) => {
                    host.write(Cycles(now), *va, payload.view());
                    Some(payload.len())
                }
                Some(Write::Ahead(bytes)) => {
                    host.occupy(Cycles(now), *bytes);
                    Some(*bytes)
                }
                Some(Write::Placed(va, payload)) => {
                    host.place(Cycles(now), *va, payload.view());
                    None
                }
                None => None,
            };
            if let Some(bytes) = crossing {
                let beats = (bytes as u64).div_ceil(self.data_bytes).max(1);
                // The bus is busy after the last beat for as long as after each of the others.
                let busy = host.write_free().0.saturating_sub(now);
                self.writing = Some(now + busy - (busy / beats).max(1));
            }
            if self.writing.is_some_and(|end| end > now) {
                return None;
            }
        }
        self.writing = None;
        self.next_job = now + 1;
        let job = self.jobs.pop_front()?;
        self.completing -= u32::from(job.completes_work());
        if let Some(Room {
            class,
            bytes,
            beats,
        }) = job.room
        {
            let class = usize::from(class);
            self.parts[usize::from(self.of_class[class])].used -= u64::from(beats);
            self.depth[class] -= bytes;
        }
        Some(job)
    }
}
