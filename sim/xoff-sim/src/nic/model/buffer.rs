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
    /// No step before.
    pub(super) from: u64,
    pub(super) qp: u16,
    pub(super) arrival: Arrival,
    pub(super) payload: Bytes,
    pub(super) room: Room,
}

/// What a request takes of the buffer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Room {
    pub(super) class: u8,
    /// Of the frame.
    pub(super) bytes: u32,
    /// Of the ring of payload.
    pub(super) beats: u32,
}

/// What a responder's step leaves to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    /// Not before.
    pub(super) from: u64,
    pub(super) qp: u16,
    /// Where payload goes, and what.
    pub(super) write: Option<(u64, Bytes)>,
    pub(super) completion: Option<Completion>,
    /// A request leaves the buffer with it.
    pub(super) room: Option<Room>,
}

/// Payload in a ring of beats, headers in a queue beside it, as in `receive_buffer`; then `payload_writer`'s queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReceiveBuffer {
    data_bytes: u64,
    /// Beats of the ring.
    ring: u32,
    headers: usize,
    /// Jobs below which the responder goes on.
    jobs_max: usize,
    used: u32,
    depth: [u32; PRIORITIES],
    waiting: VecDeque<Waiting>,
    jobs: VecDeque<Job>,
    /// The last beat of the first job is taken in this cycle.
    writing: Option<u64>,
    /// No job before.
    next_job: u64,
    /// No step before.
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

    /// Bytes of frames in it, by class.
    pub(super) const fn depth(&self) -> &[u32; PRIORITIES] {
        &self.depth
    }

    /// Puts a request in. False: it does not fit.
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

    /// The request that the responder takes at `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<Waiting> {
        if self.next_step() > now {
            return None;
        }
        self.next_step = now + latency::RESPOND_EVERY;
        self.waiting.pop_front()
    }

    /// Something to do behind all there is.
    pub(super) fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Takes out what waits of a QP that is gone. Gives how many requests, and the classes that they were of.
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

    /// When something happens to the first job.
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

    /// Works on the first job at `now`. Gives it when it is done; its room is free then.
    pub(super) fn work(&mut self, now: u64, host: &mut Host) -> Option<Job> {
        if self.next_job(host) > now {
            return None;
        }
        if self.writing.is_none() {
            if let Some((va, payload)) = &self.jobs.front()?.write {
                host.write(Cycles(now), *va, payload);
                let beats = (payload.len() as u64).div_ceil(self.data_bytes).max(1);
                // The bus is busy for as long behind the last beat as behind each.
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
