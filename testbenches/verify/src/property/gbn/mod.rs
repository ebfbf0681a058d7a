//! The go-back-N units against their references, step for step, and against each other over a path that loses packets.
//!
//! | module | what is checked |
//! |---|---|
//! | [`mod@bins`] | what situations the cases bring about |
//! | [`judge`] | a unit and its reference, cycle by cycle |
//! | [`alone`] | one unit alone, with arbitrary behaviour of its peer |
//! | [`pair`] | requester and responder: every message is delivered once and in order, or there is an error |
//! | [`livelock`] | go-back-0 and go-back-N under the losses of SIGCOMM 2016 |
//! | [`model_unit`] | the references in the place of the units, to test the benches |
//!
//! A case is one of these benches with a list of [`events`], drawn in [`histories`].

pub mod alone;
pub mod bins;
pub mod events;
pub mod histories;
pub mod judge;
pub mod livelock;
pub mod model_unit;
pub mod pair;

use proptest::prelude::*;
use xoff_rtl_units::{GbnRequester, GbnRequester4, GbnResponder, GbnResponder4};

use super::bins::{Bins, Groups};
use super::history::Histories;
use super::{Case, Disagreement, Property, unit};
use crate::units::gbn::{Requesting, Responding, Rtl};
use events::{Bench, Event, Head};
use model_unit::ModelUnit;
use xoff_cosim::units::UnitError;

/// The property.
pub struct Gbn {
    requester: Rtl<GbnRequester>,
    requester4: Rtl<GbnRequester4>,
    responder: Rtl<GbnResponder>,
    responder4: Rtl<GbnResponder4>,
    requester_model: ModelUnit<Requesting>,
    responder_model: ModelUnit<Responding>,
}

impl Property for Gbn {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::GBN.name;
    const EVENTS: &'static str = "events";
    const CASES: u64 = unit::GBN.cases;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            requester: Rtl::new(seed)?,
            requester4: Rtl::new(seed)?,
            responder: Rtl::new(seed)?,
            responder4: Rtl::new(seed)?,
            requester_model: ModelUnit::default(),
            responder_model: ModelUnit::default(),
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        Histories(histories::history).boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        let (head, events) = (&case.head, &case.events);
        match head.bench {
            Bench::Requester => alone::check(&mut self.requester, head, events, bins),
            Bench::Requester4 => alone::check(&mut self.requester4, head, events, bins),
            Bench::Responder => alone::check(&mut self.responder, head, events, bins),
            Bench::Responder4 => alone::check(&mut self.responder4, head, events, bins),
            Bench::Pair => pair::check(
                &mut self.requester4,
                &mut self.responder4,
                head,
                events,
                bins,
            ),
            Bench::PairOfModels => pair::check(
                &mut self.requester_model,
                &mut self.responder_model,
                head,
                events,
                bins,
            ),
        }
    }
}

#[cfg(test)]
mod tests;
