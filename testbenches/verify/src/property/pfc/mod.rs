//! `pfc_rx`, `pfc_tx` and `pause_watchdog` against their references: every output is compared in every cycle. Also two
//! NICs that pause each other, checked against the purpose of PFC.
//!
//! A case is the history of one unit, or of a pair.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@bins`] | what situations the cases bring about |
//! | [`events`] | the events of a unit |
//! | [`histories`] | how histories are drawn |
//! | [`lockstep`] | unit and reference, cycle by cycle, with and without jumps over idle cycles |
//! | [`pair`] | the pauses of one NIC as its peer obeys them |

pub mod bins;
pub mod events;
pub mod histories;
pub mod lockstep;
pub mod pair;

use proptest::prelude::*;
use xoff_cosim::units::UnitError;
use xoff_rtl_units::{PauseWatchdog as RtlWatchdog, PfcRx40, PfcRx100, PfcTx as RtlTx};
use xoff_sim::protocol::{CyclesPerQuantum, PauseWatchdog, PfcRx, PfcTx};

use self::events::{Bench, Event, Head};
use self::lockstep::Lockstep;
use self::pair::Pair;
use super::bins::{Bins, Groups};
use super::history::Histories;
use super::{Case, Disagreement, Property, unit};

/// The property.
pub struct Pfc {
    rx_40: Lockstep<PfcRx40, PfcRx>,
    rx_100: Lockstep<PfcRx100, PfcRx>,
    tx: Lockstep<RtlTx, PfcTx>,
    watchdog: Lockstep<RtlWatchdog, PauseWatchdog>,
    pair: Pair,
}

impl Property for Pfc {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::PFC.name;
    const EVENTS: &'static str = "events";
    const CASES: u64 = unit::PFC.cases;

    fn new(seed: u64) -> Result<Self, UnitError> {
        Ok(Self {
            rx_40: Lockstep::new(seed, PfcRx::new(CyclesPerQuantum::AT_40G))?,
            rx_100: Lockstep::new(seed, PfcRx::new(CyclesPerQuantum::AT_100G))?,
            tx: Lockstep::new(seed, PfcTx::new())?,
            watchdog: Lockstep::new(seed, PauseWatchdog::new())?,
            pair: Pair::new(seed)?,
        })
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        prop_oneof![
            3 => Histories(histories::rx),
            3 => Histories(histories::tx),
            3 => Histories(histories::watchdog),
            1 => Histories(histories::pair),
        ]
        .boxed()
    }

    fn groups() -> Groups {
        bins::GROUPS
    }

    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement> {
        match &case.head.bench {
            Bench::Rx40 => self.rx_40.run(case, bins),
            Bench::Rx100 => self.rx_100.run(case, bins),
            Bench::Tx => self.tx.run(case, bins),
            Bench::Watchdog => self.watchdog.run(case, bins),
            Bench::Pair(wire) => self.pair.run(wire, &case.head, &case.events, bins),
        }
    }
}

#[cfg(test)]
mod tests;
