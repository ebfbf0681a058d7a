//! An oracle that judges two RoCEv2 NICs from outside: by memory, completions and frames alone.
//!
//! It is told plain [facts](fact), and knows neither RTL, model nor reference: nothing of it is shared with what it
//! judges. Every [rule](rules) is a statement of the standard. What a rule assumes of a NIC's inside is as little as
//! can be: a frame that arrived may wait, and may be dropped if the NIC [says so](What::Overflowed).
//!
//! | module | what is in it |
//! |---|---|
//! | [`fact`] | what the oracle is told |
//! | [`rules`], `breach` | the rules by name, and how one is reported that does not hold |
//! | `oracle`, `seen` | [`Oracle`]: the log in order, QPs that open and close, and which rule looks at what |
//! | `packet`, `icrc`, `number` | frames, by `etherparse` and a few lines from the standard |
//! | `message`, `content` | messages, and the packets that they have to become |
//! | `requests`, `answers` | frames of the two halves of a connection |
//! | `responses`, `returned` | READs and atomics: what they are answered with, and what is in memory of it |
//! | `memory`, `held`, `region` | what is written, what memory holds, and where it may be |
//! | `send_queue`, `receive_queue`, `connection` | completions, QPs in error |
//! | [`stats`] | shares and latencies, for tests to bound |
//!
//! ```
//! use xoff_oracle::{Fact, Options, Oracle, Region, What};
//!
//! let mut oracle = Oracle::new(Options::default(), |_side, va| va as u8);
//! let region = Region {
//!     base: 0x1000,
//!     length: 0x100,
//!     key: 7,
//!     domain: 0,
//!     local_write: true,
//!     remote_write: true,
//!     remote_read: false,
//!     remote_atomic: false,
//! };
//! oracle.tell(Fact { at: 0, side: 0, what: What::Registered(region) });
//! oracle.tell(Fact { at: 5, side: 0, what: What::Written { va: 0x1000, bytes: vec![0] } });
//! let breach = oracle.finish().unwrap_err();
//! assert_eq!(breach.rule.name, "memory.place");
//! ```

mod answers;
mod breach;
mod connection;
mod content;
pub mod fact;
mod held;
mod icrc;
mod memory;
mod message;
mod number;
mod oracle;
mod packet;
mod receive_queue;
mod region;
mod requests;
mod responses;
mod returned;
pub mod rules;
mod seen;
mod send_queue;
pub mod stats;
#[cfg(test)]
mod tests;

pub use breach::{Breach, Place};
pub use fact::{Buffer, Completion, Fact, Operation, Ps, Qp, Region, Status, What, Work};
pub use oracle::{Options, Oracle};
