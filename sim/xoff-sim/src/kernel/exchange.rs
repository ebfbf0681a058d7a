//! What the parts of a network give to each other, whatever is between them: channels here, MPI in the command.
//!
//! A network may run in several *parts* at the same time, each in a thread or a process of its own with a copy of the
//! whole network, of which it runs the nodes that it has ([`Network::take_part`](super::Network::take_part)). All parts
//! do the same steps, and in each step every part has a message for every other one.

use std::fmt::Debug;
use std::sync::mpsc::{Receiver, Sender, channel};

use thiserror::Error;

/// Why a step of the parts could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExchangeError {
    /// A part has ended before the others.
    #[error("part {part} of {parts} is gone")]
    Gone {
        /// Its number, from 0 on.
        part: u32,
        /// How many parts there are.
        parts: u32,
    },
    /// A message is longer than the way carries.
    #[error(
        "a message to part {part} of {parts} has {bytes} bytes, more than MPI carries in one (2^31)"
    )]
    TooLong {
        /// The other part's number, from 0 on.
        part: u32,
        /// How many parts there are.
        parts: u32,
        /// Bytes of the message.
        bytes: usize,
    },
    /// A part sent what is no message of this step: parts of different programs or scenarios.
    #[error("part {part} of {parts} sent a message that cannot be read: {why}")]
    Unreadable {
        /// Its number, from 0 on.
        part: u32,
        /// How many parts there are.
        parts: u32,
        /// What is wrong with the message.
        why: String,
    },
}

/// The way between the parts of a network.
pub trait Exchange: Debug + Send {
    /// The number of this part, below [`parts`](Self::parts).
    fn part(&self) -> u32;

    /// How many parts there are, 1 or more.
    fn parts(&self) -> u32;

    /// Gives each part its message and returns what the parts had for this one, both in the order of parts. All parts
    /// have to call it equally often. What a part has for itself is not delivered: its place in the result is empty.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::Gone`]: the other parts cannot go on without it either; or a message that is too long.
    fn exchange(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ExchangeError>;
}

/// Parts that are threads of one process.
#[derive(Debug)]
pub struct Channels {
    part: u32,
    /// To each part and from each part; the own place is not used.
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Channels {
    /// The ends of all parts, in their order, each for a thread of its own.
    pub fn between(parts: u32) -> Vec<Self> {
        let mut to: Vec<Vec<Sender<Vec<u8>>>> = (0..parts).map(|_| Vec::new()).collect();
        let mut from: Vec<Vec<Receiver<Vec<u8>>>> = (0..parts).map(|_| Vec::new()).collect();
        for sender in &mut to {
            for receiver in &mut from {
                let (near, far) = channel();
                sender.push(near);
                receiver.push(far);
            }
        }
        let ends = (0..).zip(to.into_iter().zip(from));
        ends.map(|(part, (to, from))| Self { part, to, from })
            .collect()
    }

    /// Runs each part in a thread of its own. Returns what they came to, in their order. Panics if one does.
    pub fn run<R: Send>(parts: u32, part: impl Fn(Self) -> R + Sync) -> Vec<R> {
        std::thread::scope(|scope| {
            let ends = Self::between(parts).into_iter();
            let threads: Vec<_> = ends.map(|end| scope.spawn(|| part(end))).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|came| came.expect("no part panics")).collect()
        })
    }
}

impl Exchange for Channels {
    fn part(&self) -> u32 {
        self.part
    }

    fn parts(&self) -> u32 {
        self.to.len() as u32
    }

    fn exchange(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let parts = self.parts();
        let gone = |part| ExchangeError::Gone { part, parts };
        let others = |part: &u32| *part != self.part;
        for (part, message) in (0..).zip(messages).filter(|(part, _)| others(part)) {
            let sent = self.to[part as usize].send(message);
            sent.map_err(|_| gone(part))?;
        }
        let receive = |part: u32| match others(&part) {
            true => self.from[part as usize].recv().map_err(|_| gone(part)),
            false => Ok(Vec::new()),
        };
        (0..parts).map(receive).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_what_the_others_gave_it() {
        Channels::run(3, |mut end| {
            let own = end.part() as u8;
            for step in 0..3 {
                let messages = (0..3).map(|to| vec![own, to, step]).collect();
                let got = end.exchange(messages).unwrap();
                for (from, message) in (0..).zip(got) {
                    let expected = match from == own {
                        true => vec![],
                        false => vec![from, own, step],
                    };
                    assert_eq!(message, expected);
                }
            }
        });
    }

    #[test]
    fn a_part_that_is_gone_is_named() {
        let mut ends = Channels::between(2);
        drop(ends.pop());
        let error = ends[0].exchange(vec![vec![], vec![1]]).unwrap_err();
        assert_eq!(error.to_string(), "part 1 of 2 is gone");
    }
}
