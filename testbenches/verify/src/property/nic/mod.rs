//! Two whole NICs over a path that loses, corrupts, duplicates, delays and marks packets, with hosts that stall: every
//! message is delivered once and in order, or the QP reports an error.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@bins`] | what situations the cases bring about |
//! | [`causes`] | what makes messages fail and frames be dropped |
//! | [`events`] | the events, and how they are drawn |
//! | [`setup`] | the settings of the NICs and their QPs |
//! | [`pair`] | two hosts with the NIC on links, and the path between them |
//! | [`faults`] | what the path does to frames |
//! | [`mod@bench`] | runs a case on a pair |
//! | `as_text` | how checkpoints hold settings of a case |
//! | `retrace` | runs a failing case again from a checkpoint, with waves |
//! | [`ledger`] | what was posted, and which results are allowed |
//! | `facts` | the simulator's types in the oracle's words |
//! | `outside` | the oracle, which shares nothing with the NICs |
//! | `watch` | protocol monitors at the ports of the NICs |
//! | [`sent`] | which headers and counters are right for what a NIC sends |

mod as_text;
pub mod bench;
pub mod bins;
pub mod causes;
pub mod events;
// Shared with the histories of the oracle.
#[path = "../../../../oracle/tests/histories/facts.rs"]
mod facts;
pub mod faults;
pub mod ledger;
mod outside;
pub mod pair;
mod retrace;
pub mod sent;
pub mod setup;
mod watch;

use proptest::prelude::*;
use xoff_cosim::units::UnitError;

use super::bins::{Bins, Groups};
use super::history::Histories;
use super::retrace::{Retraced, Wanted};
use super::{Case, Disagreement, Property, unit};
use events::{Event, Head};

/// The property. Each case creates new NICs, because they are configured by registers, which have their reset values
/// only in a new instance.
pub struct Nic {
    seed: u64,
}

impl Property for Nic {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::NIC.name;
    const EVENTS: &'static str = "frames";
    const CASES: u64 = unit::NIC.cases;
    const OWN_UNITS: bool = true;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self { seed })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        Histories(events::history).boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        bench::check(self.seed, &case.head, &case.events, bins)
    }

    fn retrace(seed: u64, case: &Case<Self>, wanted: &Wanted) -> anyhow::Result<Retraced> {
        retrace::nics(seed, &case.head, &case.events, wanted)
    }
}
