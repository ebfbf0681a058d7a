//! The network of a scenario: hosts, switches and cables in simulated time, what is measured of them, and what goes
//! wrong.
//!
//! Hosts are [`Endpoint`]s. Here are those of model NICs and of TCP; RTL NICs come from the crate `xoff-cosim`, by
//! [`Endpoints`]. Nothing here needs Verilator or a C++ compiler.
//!
//! | module | what is in it |
//! |---|---|
//! | [`scenario`] | the description of a network, its flows and what is expected of them |
//! | [`simulation`] | [`Simulation`]: a scenario that runs |
//! | [`endpoint`] | [`Endpoint`]: a host with its NIC, and the kinds of them by name |
//! | [`station`] | [`Station`]: an endpoint or a switch |
//! | `tcp` | hosts that speak TCP |
//! | [`plan`] | addresses, routes and headroom, derived from a scenario |
//! | [`mod@ideal`] | how long a message takes when nothing else is on its way |
//! | [`parts`] | a simulation in several parts, which run at the same time in threads or processes |
//! | `events` | what happens during the run |
//! | `convergence` | the routes that switches have once they know which links are down |
//! | [`on_links`] | fault rules and injected frames, and what they have done |
//! | [`detect`] | what went wrong in a simulation: cyclic waits, pause storms, victims of pauses |
//! | [`mod@run`] | [`Run`]: the run of a scenario from sample to sample, its [`Observer`]s and its [`Control`] |
//! | [`results`] | results of a run: what `summary.json` has, and reports show |
//! | `bench` | a NIC alone, with a hand at its line and one at its host |
//! | [`mod@attach`] | a NIC with its host whose peer is outside of the simulation |
//! | [`mod@shadow`] | a NIC in the place of an end of a captured conversation |
//! | [`messages`] | when each message began and ended |
//! | [`answer`] | what a run shows, in a sentence, and the settings that cure it |
//! | [`mod@watch`] | pauses and availability of servers, interval by interval, with alarms |
//! | [`mod@audit`] | what devices use, against what was wanted and against their neighbours |
//! | [`mod@onboarding`] | traffic that is let in stage by stage |
//! | [`nearest`] | the words that somebody may have meant |
//! | [`mod@policy`] | what changes settings again and again while the network runs |
//! | [`words`] | quantities in sentences |
//! | [`mod@judge`] | compares measured values with expectations |
//! | [`metrics`] | what a simulation measures: typed metric names, and samples over time |
//! | [`prelude`] | what nearly every bench of a network names |

pub mod answer;
pub mod arp;
mod as_text;
pub mod attach;
pub mod audit;
mod bench;
mod convergence;
pub mod detect;
pub mod endpoint;
mod events;
pub mod ideal;
pub mod judge;
pub mod messages;
pub mod metrics;
pub mod nearest;
pub mod on_links;
pub mod onboarding;
pub mod parts;
mod plain_port;
pub mod plan;
pub mod policy;
pub mod prelude;
#[cfg(test)]
mod reads_tests;
pub mod results;
pub mod run;
pub mod scenario;
pub mod shadow;
pub mod simulation;
pub mod station;
mod tcp;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod translation_tests;
pub mod watch;
pub mod words;

pub use endpoint::{Clocked, Endpoint, EndpointError, Endpoints, WaveWindow};
pub use run::{Control, Observer, ObserverError, Run};
pub use simulation::{FlowEnds, Simulation, SimulationError};
pub use station::Station;
