//! Small changes of a log, which the oracle has to find.

use xoff_oracle::{Fact, Status, What};

/// What is changed in a log.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    LoseWrite,
    WriteTwice,
    WrongByte,
    OtherPlace,
    LoseCompletion,
    CompleteTwice,
    SwapCompletions,
    OtherLength,
    LoseFirstRequest,
    LoseResponse,
    SendTwice,
    LoseArrival,
}

impl Change {
    pub const ALL: [Self; 12] = [
        Self::LoseWrite,
        Self::WriteTwice,
        Self::WrongByte,
        Self::OtherPlace,
        Self::LoseCompletion,
        Self::CompleteTwice,
        Self::SwapCompletions,
        Self::OtherLength,
        Self::LoseFirstRequest,
        Self::LoseResponse,
        Self::SendTwice,
        Self::LoseArrival,
    ];

    /// Whether it can be made at a fact.
    pub fn fits(self, facts: &[Fact], place: usize) -> bool {
        let success = |fact: &Fact| match &fact.what {
            What::Completed { completion, .. } => completion.status == Status::Success,
            _ => false,
        };
        // Over IPv4 without tags: the opcode, and whether it is one of a request.
        let request = |bytes: &[u8]| !(0x0D..=0x12).contains(&bytes[42]);
        let response = |bytes: &[u8]| !request(bytes) && bytes[42] != 0x11;
        let fact = &facts[place];
        match (self, &fact.what) {
            (
                Self::LoseWrite | Self::WriteTwice | Self::WrongByte | Self::OtherPlace,
                What::Written { .. },
            ) => true,
            (Self::LoseCompletion | Self::CompleteTwice | Self::OtherLength, _) => success(fact),
            (Self::SwapCompletions, _) => {
                success(fact)
                    && next_of_queue(facts, place).is_some_and(|next| success(&facts[next]))
            }
            (Self::LoseFirstRequest, What::Sent(bytes)) => {
                let same = |other: &Fact| other.what == fact.what;
                request(bytes) && !facts[..place].iter().any(same)
            }
            (Self::LoseResponse, What::Sent(bytes)) => response(bytes),
            (Self::SendTwice, What::Sent(bytes)) | (Self::LoseArrival, What::Arrived(bytes)) => {
                request(bytes)
            }
            _ => false,
        }
    }

    /// Makes it at a fact.
    pub fn make(self, facts: &mut Vec<Fact>, place: usize) {
        match self {
            Self::LoseWrite
            | Self::LoseCompletion
            | Self::LoseFirstRequest
            | Self::LoseResponse
            | Self::LoseArrival => {
                facts.remove(place);
            }
            Self::WriteTwice | Self::CompleteTwice | Self::SendTwice => {
                facts.insert(place, facts[place].clone())
            }
            Self::WrongByte | Self::OtherPlace => {
                if let What::Written { va, bytes } = &mut facts[place].what {
                    match self {
                        Self::WrongByte => bytes[0] ^= 1,
                        _ => *va += 1,
                    }
                }
            }
            Self::OtherLength => {
                if let What::Completed { completion, .. } = &mut facts[place].what {
                    completion.length += 1;
                }
            }
            Self::SwapCompletions => {
                if let Some(next) = next_of_queue(facts, place) {
                    let (left, right) = facts.split_at_mut(next);
                    std::mem::swap(&mut left[place].what, &mut right[0].what);
                }
            }
        }
    }
}

/// The place of the next completion of the same queue.
fn next_of_queue(facts: &[Fact], place: usize) -> Option<usize> {
    let queue = |fact: &Fact| match &fact.what {
        What::Completed { qpn, completion } => Some((fact.side, *qpn, completion.receive)),
        _ => None,
    };
    let own = queue(&facts[place])?;
    let next = facts[place + 1..]
        .iter()
        .position(|fact| queue(fact) == Some(own))?;
    Some(place + 1 + next)
}
