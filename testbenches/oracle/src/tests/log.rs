//! Logs by hand: two QPs, what they post, and frames between them.

use super::wire::{Bth, frame};
use crate::fact::*;
use crate::message::Messages;
use crate::{Breach, Options, Oracle};

/// Path MTU in bytes.
pub const MTU: u32 = 256;
/// The ACK timeout.
pub const TIMEOUT: Ps = 20 * US;
/// A microsecond.
pub const US: Ps = 1_000_000;
/// Key of the region of each side.
pub const KEY: u32 = 0x77;
/// Key of a region that a message may invalidate.
pub const SPARE: u32 = 0x99;
/// Key of a region like that of [`KEY`], of a protection domain that no QP is in.
pub const FOREIGN: u32 = 0x55;
/// Where the region of each side begins.
pub const BASE: u64 = 0x10_0000;
/// Where the region begins that each side sends from, and its key.
const SOURCE: u64 = 0x5000_0000;
const SOURCE_KEY: u32 = 0x33;

/// What each side's memory holds.
pub fn source(side: usize, va: u64) -> u8 {
    (va ^ va >> 8 ^ side as u64) as u8
}

/// First PSN of a side's requests: one is about to wrap.
fn first_psn(side: usize) -> u32 {
    [0xFF_FFFE, 100][side]
}

/// A side's QP.
pub fn qpn(side: usize) -> u32 {
    [0x11, 0x22][side]
}

/// The protection domain of all that a side has.
pub fn domain(side: usize) -> u32 {
    [1, 2][side]
}

pub fn psn(side: usize, number: u64) -> u32 {
    (first_psn(side) + number as u32) & 0xFF_FFFF
}

/// A log, and what its time is.
pub struct Log {
    pub now: Ps,
    pub facts: Vec<Fact>,
    /// By the sender's side.
    pub messages: [Messages; 2],
    /// By the receiver's side.
    pub buffers: [Vec<Buffer>; 2],
    pub qp: Qp,
}

impl Log {
    /// Two QPs that are open, with a region each.
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// As [`Log::new`], with a change to the settings of both QPs.
    pub fn with(change: impl Fn(&mut Qp)) -> Self {
        let mut log = Self {
            now: 0,
            facts: vec![],
            messages: [Messages::new(MTU), Messages::new(MTU)],
            buffers: [vec![], vec![]],
            qp: Qp {
                qpn: 0,
                peer_qpn: 0,
                domain: 0,
                first_psn: 0,
                peer_first_psn: 0,
                mtu: MTU,
                timeout: Some(TIMEOUT),
                retries: 1,
                rnr_retries: 1,
                restart: false,
                window: Some(4),
                reads: Some(2),
            },
        };
        change(&mut log.qp);
        for side in 0..2 {
            let region = |key, local_write| Region {
                base: BASE,
                length: 0x10_0000,
                key,
                domain: domain(side),
                local_write,
                remote_write: true,
                remote_read: true,
                remote_atomic: true,
            };
            let sent = Region {
                base: SOURCE,
                length: 0x1000_0000,
                remote_write: false,
                remote_read: false,
                remote_atomic: false,
                ..region(SOURCE_KEY, false)
            };
            log.push(side, What::Registered(sent));
            let foreign = Region {
                domain: domain(1 - side),
                ..region(FOREIGN, true)
            };
            log.push(side, What::Registered(foreign));
            log.push(side, What::Registered(region(KEY, true)));
            log.push(side, What::Registered(region(SPARE, false)));
            log.open(side);
        }
        log
    }

    pub fn open(&mut self, side: usize) {
        let qp = Qp {
            qpn: qpn(side),
            peer_qpn: qpn(1 - side),
            domain: domain(side),
            first_psn: first_psn(side),
            peer_first_psn: first_psn(1 - side),
            ..self.qp
        };
        self.push(side, What::Opened(qp));
    }

    /// Something happens, and 100 ns pass.
    pub fn push(&mut self, side: usize, what: What) {
        let at = self.now;
        self.facts.push(Fact { at, side, what });
        self.now += US / 10;
    }

    pub fn wait(&mut self, time: Ps) {
        self.now += time;
    }

    /// Posts a message, with its own source and, of a WRITE, its own place.
    pub fn post(&mut self, side: usize, operation: Operation, length: u32) {
        self.post_changed(side, operation, length, |_| ());
    }

    pub fn post_changed(
        &mut self,
        side: usize,
        operation: Operation,
        length: u32,
        change: impl Fn(&mut Work),
    ) {
        let id = self.messages[side].list().len() as u64;
        let mut work = Work {
            id: 1_000 + id,
            operation,
            signaled: true,
            solicited: id % 2 == 1,
            fence: false,
            length,
            va: SOURCE + 0x1_0000 * id,
            key: SOURCE_KEY,
            remote_va: BASE + 0x1000 * id,
            remote_key: KEY,
            swap_add: 3 + id,
            compare: 0,
            immediate: match operation {
                Operation::SendInvalidate => SPARE,
                _ => 0xABCD_0000 + id as u32,
            },
        };
        change(&mut work);
        self.messages[side].post(work, self.now);
        self.push(
            side,
            What::Posted {
                qpn: qpn(side),
                work,
            },
        );
    }

    /// Posts a receive buffer long before it is needed.
    pub fn buffer(&mut self, side: usize, length: u32) {
        let id = self.buffers[side].len() as u64;
        let buffer = Buffer {
            id: 2_000 + id,
            length,
            va: BASE + 0x8_0000 + 0x1000 * id,
            key: KEY,
        };
        self.buffers[side].push(buffer);
        self.push(
            side,
            What::Buffer {
                qpn: qpn(side),
                buffer,
            },
        );
        self.wait(10 * US);
    }

    /// The request with this number.
    pub fn request(&self, side: usize, number: u64) -> Vec<u8> {
        let message = self.messages[side].of(number).expect("posted");
        let work = &message.work;
        let opcode = message.opcode(number);
        let (start, length) = message.part(number, MTU);
        let last = number + 1 == message.end;
        let mut headers = vec![];
        if number == message.first && work.operation.writes() {
            headers.extend(work.remote_va.to_be_bytes());
            headers.extend(work.remote_key.to_be_bytes());
            headers.extend(work.length.to_be_bytes());
        }
        if last && work.operation.has_word() {
            headers.extend(work.immediate.to_be_bytes());
        }
        if work.operation == Operation::Read {
            headers.extend((work.remote_va + start).to_be_bytes());
            headers.extend(work.remote_key.to_be_bytes());
            headers.extend((work.length - start as u32).to_be_bytes());
        }
        if work.operation.is_atomic() {
            headers.extend(work.remote_va.to_be_bytes());
            headers.extend(work.remote_key.to_be_bytes());
            headers.extend(work.swap_add.to_be_bytes());
            headers.extend(work.compare.to_be_bytes());
        }
        let length = if work.operation.returns() { 0 } else { length };
        let last = last || work.operation.returns();
        let payload: Vec<u8> = (0..length)
            .map(|at| source(side, work.va + start + at))
            .collect();
        let first = Bth {
            opcode,
            solicited: last && work.solicited && !work.operation.returns(),
            ack_request: last,
            psn: psn(side, number),
        };
        frame(side, &first, &headers, &payload)
    }

    /// The response to a READ or an atomic of `side` with this number; `opcode` is what a READ's has.
    pub fn response(&self, side: usize, number: u64, opcode: u8) -> Vec<u8> {
        let message = self.messages[side].of(number).expect("posted");
        let (start, length) = message.part(number, MTU);
        let at = |offset: u64| source(1 - side, message.work.remote_va + offset);
        let payload: Vec<u8> = (start..start + length).map(at).collect();
        let mut headers = vec![];
        let atomic = message.work.operation.is_atomic();
        if opcode != 0x0E || atomic {
            let messages = self.messages[side].complete(message.end) as u32;
            headers.extend((0x1F << 24 | messages).to_be_bytes());
        }
        let (opcode, payload) = match atomic {
            true => {
                headers.extend(payload.iter().rev());
                (0x12, vec![])
            }
            false => (opcode, payload),
        };
        let bth = Bth {
            opcode,
            solicited: false,
            ack_request: false,
            psn: psn(side, number),
        };
        frame(1 - side, &bth, &headers, &payload)
    }

    /// The response crosses, and what it brings is written.
    pub fn respond(&mut self, side: usize, number: u64, opcode: u8) {
        self.cross(1 - side, self.response(side, number, opcode));
        self.bring(side, number);
    }

    /// Writes what a response has brought.
    pub fn bring(&mut self, side: usize, number: u64) {
        let message = self.messages[side].of(number).expect("posted");
        let (start, length) = message.part(number, MTU);
        let at = |offset: u64| source(1 - side, message.work.remote_va + offset);
        let bytes: Vec<u8> = (start..start + length).map(at).collect();
        let va = message.work.va + start;
        if !bytes.is_empty() {
            self.push(side, What::Written { va, bytes });
        }
    }

    /// Posts a READ or an atomic, with a place of its own at both sides.
    pub fn post_read(&mut self, side: usize, operation: Operation, length: u32) {
        let id = self.messages[side].list().len() as u64;
        self.post_changed(side, operation, length, |work| {
            (work.va, work.key) = (BASE + 0xC_0000 + 0x1000 * id, KEY);
        });
    }

    /// Sends a frame, which arrives a microsecond later.
    pub fn cross(&mut self, side: usize, bytes: Vec<u8>) {
        self.push(side, What::Sent(bytes.clone()));
        self.wait(US);
        self.push(1 - side, What::Arrived(bytes));
    }

    /// Sends a request, which arrives.
    pub fn ask(&mut self, side: usize, number: u64) {
        self.cross(side, self.request(side, number));
    }

    /// Sends a request, which is lost.
    pub fn lose(&mut self, side: usize, number: u64) {
        let bytes = self.request(side, number);
        self.push(side, What::Sent(bytes));
    }

    /// Writes the payload of a request at its receiver.
    pub fn write(&mut self, side: usize, number: u64) {
        let (va, bytes) = self.payload(side, number);
        if !bytes.is_empty() {
            self.push(1 - side, What::Written { va, bytes });
        }
    }

    /// Where the payload of a request goes, and what it is.
    pub fn payload(&self, side: usize, number: u64) -> (u64, Vec<u8>) {
        let message = self.messages[side].of(number).expect("posted");
        let (start, length) = message.part(number, MTU);
        let base = match message.work.operation.writes() {
            true => message.work.remote_va,
            false => self.buffers[1 - side][message.buffer.expect("a SEND")].va,
        };
        let from = message.work.va + start;
        (
            base + start,
            (0..length).map(|at| source(side, from + at)).collect(),
        )
    }

    /// An answer to requests of `side`, whose first `messages` messages are complete.
    pub fn answer(&self, side: usize, number: u64, syndrome: u8, messages: u32) -> Vec<u8> {
        let bth = Bth {
            opcode: 0x11,
            solicited: false,
            ack_request: false,
            psn: psn(side, number),
        };
        let aeth = u32::from(syndrome) << 24 | messages;
        frame(1 - side, &bth, &aeth.to_be_bytes(), &[])
    }

    /// The receiver acknowledges requests of `side` up to this one.
    pub fn ack(&mut self, side: usize, number: u64) {
        let messages = self.messages[side].complete(number + 1) as u32;
        self.cross(1 - side, self.answer(side, number, 0x1F, messages));
    }

    /// The receiver refuses a request of `side`.
    pub fn nak(&mut self, side: usize, number: u64, syndrome: u8) {
        let messages = self.messages[side].complete(number) as u32;
        self.cross(1 - side, self.answer(side, number, syndrome, messages));
    }

    pub fn completion(&mut self, side: usize, completion: Completion) {
        self.push(
            side,
            What::Completed {
                qpn: qpn(side),
                completion,
            },
        );
    }

    /// What a message of `side` completes with at its sender.
    pub fn sent(&self, side: usize, message: usize, status: Status) -> Completion {
        let work = &self.messages[side].list()[message].work;
        Completion {
            id: work.id,
            receive: false,
            status,
            length: if status == Status::Success {
                work.length
            } else {
                0
            },
            immediate: 0,
            solicited: false,
            operation: Some(work.operation),
        }
    }

    /// What a message of `side` completes with at its receiver.
    pub fn received(&self, side: usize, message: usize, status: Status) -> Completion {
        let message = &self.messages[side].list()[message];
        let id = self.buffers[1 - side][message.buffer.expect("takes one")].id;
        let work = &message.work;
        match status {
            Status::Success => Completion {
                id,
                receive: true,
                status,
                length: work.length,
                immediate: work.immediate,
                solicited: work.solicited,
                operation: Some(work.operation),
            },
            _ => Completion {
                id,
                receive: true,
                status,
                length: 0,
                immediate: 0,
                solicited: false,
                operation: None,
            },
        }
    }

    pub fn complete_send(&mut self, side: usize, message: usize, status: Status) {
        let completion = self.sent(side, message, status);
        self.completion(side, completion);
    }

    pub fn complete_receive(&mut self, side: usize, message: usize, status: Status) {
        let completion = self.received(side, message, status);
        self.completion(1 - side, completion);
    }

    /// A message of `side` arrives, is written, and is completed at its receiver.
    pub fn arrive(&mut self, side: usize, index: usize) {
        let message = &self.messages[side].list()[index];
        let (numbers, takes) = (message.first..message.end, message.buffer.is_some());
        for number in numbers {
            self.ask(side, number);
            self.write(side, number);
        }
        if takes {
            self.complete_receive(side, index, Status::Success);
        }
    }

    /// A message of `side` is carried out as a whole.
    pub fn carry(&mut self, side: usize, index: usize) {
        self.arrive(side, index);
        self.ack(side, self.messages[side].list()[index].end - 1);
        if self.messages[side].list()[index].work.signaled {
            self.complete_send(side, index, Status::Success);
        }
    }

    pub fn judge_with(&self, options: Options) -> Result<(), Breach> {
        let mut oracle = Oracle::new(options, source);
        self.facts
            .iter()
            .cloned()
            .for_each(|fact| oracle.tell(fact));
        oracle.finish()
    }

    /// All rules hold.
    #[track_caller]
    pub fn holds(&self) {
        if let Err(breach) = self.judge_with(Options::default()) {
            panic!("{breach}");
        }
    }

    /// This rule is the first that does not hold.
    #[track_caller]
    pub fn breaks(&self, rule: &str) {
        let breach = self.judge_with(Options::default()).expect_err(rule);
        assert_eq!(breach.rule.name, rule, "{breach}");
    }
}
