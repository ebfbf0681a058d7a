//! DCQCN (Zhu et al., 'Congestion Control for Large-Scale RDMA Deployments', SIGCOMM 2015), with exactly the integer
//! arithmetic that `rtl/dcqcn/README.md` specifies.
//!
//! | module | what is in it |
//! |---|---|
//! | [`numbers`] | rate and α: widths, units, and how their sums saturate |
//! | [`parameters`] | the parameters of a reaction point, and the paper's defaults |
//! | [`reaction_point`] | the sender: context and event in, context and rate out |
//! | [`notification_point`] | the receiver: when a marked packet causes a CNP |
//! | [`rate_limiter`] | the schedule of a QP's packets at its rate |
//! | [`real`] | the paper's equations in floating point, as a second reference for the integers |
//!
//! All types are plain values: a unit keeps one context for each QP, and a step computes the next context from it.

pub mod notification_point;
pub mod numbers;
pub mod parameters;
pub mod rate_limiter;
pub mod reaction_point;
pub mod real;

pub use notification_point::NpContext;
pub use numbers::{Alpha, Rate};
pub use parameters::RpParameters;
pub use rate_limiter::{ByteGap, LimiterContext, Moment};
pub use reaction_point::{Increase, RateAction, RpContext, RpEvent};

#[cfg(test)]
mod accuracy;
