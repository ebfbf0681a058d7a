//! Messages that a QP has posted, and the packets that they are cut into.

use crate::fact::{Operation, Ps, Work};

/// A message, and where its packets stand in its direction.
#[derive(Debug)]
pub struct Message {
    /// What was posted.
    pub work: Work,
    /// When.
    pub posted: Ps,
    /// Number of its first packet.
    pub first: u64,
    /// Number of the packet behind its last one.
    pub end: u64,
    /// Which of the peer's receive buffers it takes.
    pub buffer: Option<usize>,
}

impl Message {
    /// The place of a packet's payload in the message: its first byte, and how many.
    pub fn part(&self, number: u64, mtu: u32) -> (u64, u64) {
        let start = (number - self.first) * u64::from(mtu);
        (start, (u64::from(self.work.length) - start).min(mtu.into()))
    }

    /// How many bytes its packets carry, and so are written at the peer: none of a READ or an atomic.
    pub fn carried(&self) -> u64 {
        match self.work.operation.returns() {
            true => 0,
            false => self.work.length.into(),
        }
    }

    /// The packet behind those that a request with this number stands for: a READ takes as many as it has responses.
    pub fn behind(&self, number: u64) -> u64 {
        match self.work.operation.returns() {
            true => self.end,
            false => number + 1,
        }
    }

    /// The packet that carries a byte.
    pub fn packet_of(&self, offset: u64, mtu: u32) -> u64 {
        self.first + offset / u64::from(mtu)
    }

    /// The opcode of a packet (table 38).
    pub fn opcode(&self, number: u64) -> u8 {
        let first = number == self.first;
        let last = number + 1 == self.end;
        let only = first && last;
        // It asks for the rest of the READ.
        let last = last || self.work.operation.returns();
        match (self.work.operation.writes(), first, last) {
            (false, true, false) => 0x00,
            (false, false, false) => 0x01,
            (true, true, false) => 0x06,
            (true, false, false) => 0x07,
            (_, _, true) => {
                let last_and_only = match self.work.operation {
                    Operation::Send => [0x02, 0x04],
                    Operation::SendImmediate => [0x03, 0x05],
                    Operation::SendInvalidate => [0x16, 0x17],
                    Operation::Write => [0x08, 0x0A],
                    Operation::WriteImmediate => [0x09, 0x0B],
                    Operation::Read => [0x0C; 2],
                    Operation::CompareSwap => [0x13; 2],
                    Operation::FetchAdd => [0x14; 2],
                };
                last_and_only[usize::from(only)]
            }
        }
    }

    /// Whether a packet needs a receive buffer.
    pub fn needs_buffer(&self, number: u64) -> bool {
        match self.work.operation {
            operation if operation.returns() => false,
            Operation::Write => false,
            Operation::WriteImmediate => number + 1 == self.end,
            _ => true,
        }
    }
}

/// All messages of a direction.
#[derive(Debug)]
pub struct Messages {
    /// Path MTU in bytes.
    pub mtu: u32,
    list: Vec<Message>,
    /// The places of those that take a receive buffer.
    takers: Vec<usize>,
}

impl Messages {
    /// None yet.
    pub fn new(mtu: u32) -> Self {
        Self {
            mtu,
            list: vec![],
            takers: vec![],
        }
    }

    /// Adds one behind the others.
    pub fn post(&mut self, work: Work, posted: Ps) {
        let first = self.packets();
        let buffer = work.operation.takes_buffer().then_some(self.takers.len());
        if buffer.is_some() {
            self.takers.push(self.list.len());
        }
        self.list.push(Message {
            work,
            posted,
            first,
            end: first + u64::from(work.length.div_ceil(self.mtu).max(1)),
            buffer,
        });
    }

    /// How many packets all of them have.
    pub fn packets(&self) -> u64 {
        self.list.last().map_or(0, |last| last.end)
    }

    /// All of them.
    pub fn list(&self) -> &[Message] {
        &self.list
    }

    /// The message of a packet.
    pub fn of(&self, number: u64) -> Option<&Message> {
        self.list.get(self.complete(number))
    }

    /// How many messages are complete when all packets before this one are.
    pub fn complete(&self, number: u64) -> usize {
        self.list.partition_point(|message| message.end <= number)
    }

    /// How many receive buffers are needed for all packets before this one.
    pub fn buffers(&self, number: u64) -> usize {
        let complete = self.complete(number);
        let whole = self.takers.partition_point(|place| *place < complete);
        let begun = (self.of(number))
            .is_some_and(|next| number > next.first && next.needs_buffer(number - 1));
        whole + usize::from(begun)
    }

    /// The place of the message that takes a receive buffer.
    pub fn taking(&self, buffer: usize) -> Option<usize> {
        self.takers.get(buffer).copied()
    }
}
