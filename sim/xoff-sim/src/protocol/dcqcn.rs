//! DCQCN (Zhu et al., 'Congestion Control for Large-Scale RDMA Deployments', SIGCOMM 2015), integer for integer as `rtl/dcqcn/README.md` states it.
//!
//! | module | what is in it |
//! |---|---|
//! | [`numbers`] | rate, α, cycle: widths, units, and how their sums saturate |
//! | [`parameters`] | what a reaction point is set to, and the paper's defaults |
//! | [`reaction_point`] | the sender: context and event in, context and rate out |
//! | [`notification_point`] | the receiver: when a marked packet asks for a CNP |
//! | [`rate_limiter`] | the schedule of a QP's packets at its rate |
//! | [`real`] | the paper's equations in floating point: a second judge of the integers |
//!
//! Everything is a value: a unit keeps one context a QP, and a step makes the next one of it.

pub mod notification_point;
pub mod numbers;
pub mod parameters;
pub mod rate_limiter;
pub mod reaction_point;
pub mod real;

pub use notification_point::NpContext;
pub use numbers::{Alpha, Cycle, Rate};
pub use parameters::RpParameters;
pub use rate_limiter::{ByteGap, LimiterContext, Moment};
pub use reaction_point::{RateAction, RpContext, RpEvent};

#[cfg(test)]
mod accuracy;
