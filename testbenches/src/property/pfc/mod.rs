//! `pfc_rx`, `pfc_tx` and `pause_watchdog` against their references, every output of every cycle; and two NICs against the purpose of it all.
//!
//! A case is the history of one unit, or of a pair: [`history`] says how it is drawn and written.
//!
//! | module | what it has |
//! |---|---|
//! | [`rx`], [`tx`], [`watchdog`] | what can happen to a unit |
//! | [`lockstep`] | unit and reference, cycle by cycle; that jumps over idle cycles do no harm |
//! | [`pair`] | the pauses of one NIC as its peer obeys them |
//! | [`history`], [`words`] | histories of anything: drawn, shrunk, written and read |

pub mod history;
pub mod lockstep;
pub mod pair;
pub mod rx;
pub mod tx;
pub mod watchdog;
pub mod words;

use proptest::prelude::*;
use xoff_rtl::{PauseWatchdog as RtlWatchdog, PfcRx40, PfcRx100, PfcTx as RtlTx};
use xoff_sim::protocol::{CyclesPerQuantum, PauseWatchdog, PfcRx, PfcTx};

use self::history::{History, Vocabulary, histories};
use self::lockstep::Lockstep;
use self::pair::{Pair, PairEvent};
use self::rx::{Rate, RxEvent};
use self::tx::TxEvent;
use self::watchdog::WatchdogEvent;
use super::{Disagreement, Property};

/// A history of one of the units.
#[derive(Debug, Clone, PartialEq)]
pub enum PfcCase {
    /// Of `pfc_rx`.
    Rx(History<RxEvent>),
    /// Of `pfc_tx`.
    Tx(History<TxEvent>),
    /// Of `pause_watchdog`.
    Watchdog(History<WatchdogEvent>),
    /// Of a `pfc_tx` and the `pfc_rx` at the other end.
    Pair(History<PairEvent>),
}

/// The property.
pub struct Pfc {
    rx_40: Lockstep<PfcRx40, PfcRx>,
    rx_100: Lockstep<PfcRx100, PfcRx>,
    tx: Lockstep<RtlTx, PfcTx>,
    watchdog: Lockstep<RtlWatchdog, PauseWatchdog>,
    pair: Pair,
}

impl Property for Pfc {
    type Case = PfcCase;
    const UNIT: &'static str = "pfc";
    const EVENTS: &'static str = "events";

    fn new(seed: u64) -> Result<Self, Disagreement> {
        let make = || {
            Ok(Self {
                rx_40: Lockstep::new(seed, PfcRx::new(CyclesPerQuantum::AT_40G))?,
                rx_100: Lockstep::new(seed, PfcRx::new(CyclesPerQuantum::AT_100G))?,
                tx: Lockstep::new(seed, PfcTx::new())?,
                watchdog: Lockstep::new(seed, PauseWatchdog::new())?,
                pair: Pair::new(seed)?,
            })
        };
        make().map_err(|error: xoff_cosim::units::UnitError| error.to_string())
    }

    fn cases() -> BoxedStrategy<PfcCase> {
        prop_oneof![
            3 => histories().prop_map(PfcCase::Rx),
            3 => histories().prop_map(PfcCase::Tx),
            3 => histories().prop_map(PfcCase::Watchdog),
            1 => histories().prop_map(PfcCase::Pair),
        ]
        .boxed()
    }

    fn check(&mut self, case: &PfcCase) -> Result<u64, Disagreement> {
        match case {
            PfcCase::Rx(history) => match history.setup {
                Rate::At40G => self.rx_40.run(history),
                Rate::At100G => self.rx_100.run(history),
            },
            PfcCase::Tx(history) => self.tx.run(history),
            PfcCase::Watchdog(history) => self.watchdog.run(history),
            PfcCase::Pair(history) => self.pair.run(history),
        }
    }

    fn write(case: &PfcCase) -> Vec<String> {
        match case {
            PfcCase::Rx(history) => history.write(),
            PfcCase::Tx(history) => history.write(),
            PfcCase::Watchdog(history) => history.write(),
            PfcCase::Pair(history) => history.write(),
        }
    }

    fn read(lines: &[&str]) -> Result<PfcCase, String> {
        let (head, steps) = lines.split_first().ok_or("no events")?;
        let words: Vec<_> = head.split_whitespace().collect();
        match words[..] {
            ["unit", RxEvent::UNIT, ref rest @ ..] => History::read(rest, steps).map(PfcCase::Rx),
            ["unit", TxEvent::UNIT, ref rest @ ..] => History::read(rest, steps).map(PfcCase::Tx),
            ["unit", WatchdogEvent::UNIT, ref rest @ ..] => {
                History::read(rest, steps).map(PfcCase::Watchdog)
            }
            ["unit", PairEvent::UNIT, ref rest @ ..] => {
                History::read(rest, steps).map(PfcCase::Pair)
            }
            _ => Err(format!(
                "event 1 is '{head}'; expected 'unit NAME …', NAME one of {}, {}, {}, {}",
                RxEvent::UNIT,
                TxEvent::UNIT,
                WatchdogEvent::UNIT,
                PairEvent::UNIT
            )),
        }
    }
}

#[cfg(test)]
mod tests;
