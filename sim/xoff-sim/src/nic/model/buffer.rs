//! The receive buffer, and the DMA writes that empty it.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{NEVER, latency};
use crate::host::Host;
use crate::protocol::gbn::{Arrival, Completion};
use crate::time::Cycles;
use crate::wire::PRIORITIES;

/// A request that waits for the responder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// Earliest cycle of its step.
    pub(super) from: u64,
    pub(super) qp: u16,
    pub(super) arrival: Arrival,
    pub(super) payload: Bytes,
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

/// The work that remains after a step of the responder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    /// Earliest cycle.
    pub(super) from: u64,
    pub(super) qp: u16,
    /// The address and the payload to be written, if any.
    pub(super) write: Option<(u64, Bytes)>,
    pub(super) completion: Option<Completion>,
    /// The room that is freed when the job is done, if it belongs to a request.
    pub(super) room: Option<Room>,
}

/// The receive buffer: payload in a ring of beats and headers in a queue beside it, as in `receive_buffer`, followed
/// by the queue of `payload_writer`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReceiveBuffer {
    data_bytes: u64,
    /// Size of the ring in beats.
    ring: u32,
    headers: usize,
    /// The responder takes requests only while there are fewer jobs than this.
    jobs_max: usize,
    used: u32,
    depth: [u32; PRIORITIES],
    waiting: VecDeque<Waiting>,
    jobs: VecDeque<Job>,
    /// The cycle in which the last beat of the first job is taken.
    writing: Option<u64>,
    /// Earliest cycle of the next job.
    next_job: u64,
    /// Earliest cycle of the responder's next step.
    next_step: u64,
}

impl ReceiveBuffer {
    pub(super) fn new(bytes: u64, data_bytes: usize, recvs: usize) -> Self {
        Self {
            data_bytes: data_bytes as u64,
            ring: (bytes / data_bytes as u64) as u32,
            headers: (bytes / 64) as usize,
            jobs_max: 4 * (recvs + 1) + 4,
            used: 0,
            depth: [0; PRIORITIES],
            waiting: VecDeque::new(),
            jobs: VecDeque::new(),
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
        let beats = (request.payload.len() as u64).div_ceil(self.data_bytes) as u32;
        request.room.beats = beats;
        if self.used + beats > self.ring || self.waiting.len() >= self.headers {
            return false;
        }
        self.used += beats;
        self.depth[usize::from(request.room.class)] += request.room.bytes;
        self.waiting.push_back(request);
        true
    }

    /// When the responder takes the next request.
    pub(super) fn next_step(&self) -> u64 {
        match self.waiting.front() {
            Some(request) if self.jobs.len() < self.jobs_max => request.from.max(self.next_step),
            _ => NEVER,
        }
    }

    /// Takes the request that the responder handles at `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<Waiting> {
        if self.next_step() > now {
            return None;
        }
        self.next_step = now + latency::RESPOND_EVERY;
        self.waiting.pop_front()
    }

    /// Appends a job.
    pub(super) fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Removes the waiting requests of a QP that is closed. Returns how many there were, and their classes, one bit
    /// each.
    pub(super) fn forget(&mut self, qp: u16) -> (u64, u8) {
        let (mut count, mut classes) = (0, 0);
        let Self {
            waiting,
            used,
            depth,
            ..
        } = self;
        waiting.retain(|request| {
            if request.qp != qp {
                return true;
            }
            count += 1;
            classes |= 1 << request.room.class;
            *used -= request.room.beats;
            depth[usize::from(request.room.class)] -= request.room.bytes;
            false
        });
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
                Some(_) => from.max(host.write_free().0),
                None => from,
            }
        })
    }

    /// Works on the first job at `now`. Returns the job when it is done; its room is free from then on.
    pub(super) fn work(&mut self, now: u64, host: &mut Host) -> Option<Job> {
        if self.next_job(host) > now {
            return None;
        }
        if self.writing.is_none() {
            if let Some((va, payload)) = &self.jobs.front()?.write {
                host.write(Cycles(now), *va, payload);
                let beats = (payload.len() as u64).div_ceil(self.data_bytes).max(1);
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
        if let Some(Room {
            class,
            bytes,
            beats,
        }) = job.room
        {
            self.used -= beats;
            self.depth[usize::from(class)] -= bytes;
        }
        Some(job)
    }
}
