//! Go-back-N (IBTA volume 1, chapter 9: the reliable connection), with exactly the events that `rtl/gbn/README.md`
//! specifies.
//!
//! | module | what is in it |
//! |---|---|
//! | [`types`] | work requests, packets, answers, completions: what both ends share |
//! | [`times`] | ACK timeouts and RNR waits in cycles |
//! | [`requester`] | the sender: a QP's context and ring, and its steps |
//! | [`responder`] | the receiver: a QP's context and ring, and its steps |
//! | [`requester::reading`], [`responder::answered`] | READs and atomics, which model NICs ask for and answer |
//! | [`requester::selective`] | selective repeat in place of going back, which model NICs can do |
//! | [`ends`] | many QPs of either end, with the walks after each event, for models of a NIC |
//!
//! All types are plain values: a step takes a QP and an event, changes the QP and returns the results.

pub mod ends;
pub mod requester;
pub mod responder;
pub mod times;
pub mod types;

pub use ends::{RequesterEnd, ResponderEnd};
pub use requester::{
    After, RequesterConfig, RequesterContext, RequesterEvent, RequesterNote, RequesterQp,
    RequesterStep,
};
pub use responder::{
    Owed, ResponderConfig, ResponderContext, ResponderEvent, ResponderNote, ResponderQp,
    ResponderStep,
};
pub use times::Times;
pub use types::{
    Arrival, Completion, Place, QpState, Recv, Refusal, Request, Response, Status, Work, WorkKind,
    mtu_bytes, mtu_code,
};
