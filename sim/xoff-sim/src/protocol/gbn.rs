//! Go-back-N (IBTA volume 1, chapter 9: the reliable connection), event for event as `rtl/gbn/README.md` states it.
//!
//! | module | what is in it |
//! |---|---|
//! | [`types`] | work requests, packets, answers, completions: what both ends share |
//! | [`times`] | ACK timeouts and RNR waits in cycles |
//! | [`requester`] | the sender: a QP's context and ring, stepped |
//! | [`responder`] | the receiver: the same |
//! | [`ends`] | many QPs of either, with the walks behind each event: what a NIC is made of |
//!
//! Everything is a value: a step takes a QP and an event, changes the QP and gives what came of it.

pub mod ends;
pub mod requester;
pub mod responder;
pub mod times;
pub mod types;

pub use super::dcqcn::Cycle;
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
    Arrival, Completion, Place, QpState, Recv, Request, Response, Status, Work, WorkKind, mtu_bytes,
};
