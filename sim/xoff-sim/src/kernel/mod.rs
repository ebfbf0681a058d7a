//! The kernel: nodes that run independently for a window of time, and frames that are exchanged between windows.
//!
//! A frame that leaves a node reaches no other node before the least link latency has passed. Within a window of that
//! length (the look-ahead), no node can therefore be affected by what another one does, and all nodes may run at the
//! same time, on any number of threads, with the same result. Frames are exchanged after each window. Where nothing
//! happens, the next window starts at the next event. Only nodes with an event in a window are looked at: a window
//! costs what happens in it, however large the network is. Where some links are much longer than others, the nodes
//! between long links form groups, which have longer windows in common and shorter ones each for itself.
//!
//! | module | what is in it |
//! |---|---|
//! | [`node`] | [`Node`]: the interface of a NIC, a switch or another machine's part of the network |
//! | [`builder`] | [`NetworkBuilder`]: nodes and links, checked |
//! | [`network`] | [`Network`]: runs, changes from outside, digest, checkpoint |
//! | `arrange` | which nodes form a group |
//! | `awake` | threads that wait awake for the next piece of work |
//! | `group` | groups: their windows, on one thread or several, and what is handed over after each |
//! | `wakes` | when each part of a group has something to do |
//! | [`digest`] | [`Digest`]: every frame at every port with its times, in 64 bits |
//! | [`injection`] | [`Injection`]: frames put on a wire from outside |
//! | [`exchange`] | [`Exchange`]: the way between parts of a network in several threads or processes |
//! | `partition` | which part has which nodes |
//! | [`part`] | the run of a part: its windows, and what it exchanges with the others |
//! | [`saved`] | a network that is saved in parts, and made whole again |
//! | [`shown`] | [`ShownPorts`]: what a part shows of its nodes |
//! | [`tap`] | [`Record`]: a frame seen at a port, for captures |
//!
//! A [`Network`] is plain data. Serialized between two runs, with all frames on their way, it is a checkpoint.

mod arrange;
mod awake;
pub mod builder;
mod context;
pub mod digest;
pub mod exchange;
mod group;
pub mod injection;
pub mod network;
pub mod node;
pub mod part;
mod partition;
pub mod saved;
pub mod shown;
pub mod tap;
mod wakes;

pub use builder::{BuildError, NetworkBuilder};
pub use context::PortCounters;
pub use digest::Digest;
pub use exchange::{Channels, Exchange, ExchangeError};
pub use injection::{Injection, InjectionCounters};
pub use network::Network;
pub use node::{Arrival, Arrivals, Departures, Node, NodeId, PortId};
pub use part::ExchangeCounters;
pub use saved::{JoinError, OwnNodes, SavedNodes};
pub use shown::ShownPorts;
pub use tap::{Direction, Record};

#[cfg(test)]
mod tests;
