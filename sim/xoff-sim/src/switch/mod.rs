//! A shared-buffer switch: store-and-forward, accounted at ingress, queued at egress.
//!
//! | module | what is in it |
//! |---|---|
//! | [`config`] | [`SwitchConfig`]: all settings, checked |
//! | [`classify`] | the priority of a frame, from DSCP or from the VLAN tag |
//! | [`routes`] | routes: longest prefix, ECMP |
//! | [`tables`] | ARP and MAC tables with time-outs |
//! | [`forwarding`] | where a frame goes, by routes and tables: out of a port, flooded, or dropped |
//! | [`buffer`] | admission: reserves, shared part with a static or alpha limit, headroom; when to pause the peer |
//! | [`red`] | ECN marking by the length of the egress queue |
//! | [`scheduler`] | strict priority and deficit round robin |
//! | [`egress`] | a port's queues, and the frame that it has on the wire |
//! | [`counters`] | frames and bytes for each port and priority; drops by reason |
//! | [`levels`] | how full the fullest queues were over time |
//! | [`headroom`] | how much headroom a link needs |
//! | [`thresholds`] | the possible range of PFC and ECN thresholds |
//! | [`watchdog`] | ends pauses that do not end by themselves |
//! | [`shown`] | [`ShownSwitch`]: what it shows of itself to other parts of the network |
//! | [`node`] | [`Switch`], which combines all of it as a node of the kernel |
//!
//! At any instant, first the frames that have left release their buffer, then arrivals are taken in the order of
//! ports, then free ports start to send.

pub mod buffer;
pub mod classify;
pub mod config;
pub mod counters;
pub mod egress;
pub mod forwarding;
pub mod headroom;
pub mod levels;
pub mod node;
pub mod red;
pub mod routes;
pub mod scheduler;
pub mod shown;
pub mod tables;
pub mod thresholds;
pub mod watchdog;

pub use buffer::{BufferConfig, Limit, PriorityBuffer};
pub use classify::Classify;
pub use config::{ConfigError, PauseConfig, PauseKind, PortConfig, SwitchConfig};
pub use counters::{DropReason, PortCounters};
pub use forwarding::{ForwardingConfig, Miss};
pub use headroom::Headroom;
pub use levels::Level;
pub use node::Switch;
pub use red::{MarkAt, RedConfig};
pub use routes::{NextHop, Route};
pub use scheduler::Service;
pub use shown::{ShownRates, ShownSwitch};
pub use thresholds::Thresholds;
pub use watchdog::WatchdogConfig;

#[cfg(test)]
mod tests;
