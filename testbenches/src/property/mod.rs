//! Property tests of the units: random histories, run through the verilated unit and its reference, compared, shrunk,
//! kept as text.
//!
//! | module | what it has |
//! |---|---|
//! | [`run`] | draws cases on all cores until a count or a time, shrinks the first that fails |
//! | [`history`] | cases: a head and events, drawn fast, shrunk, written and read |
//! | [`case_file`] | failing cases as files that people read and `xoff replay` runs |
//! | [`unit`] | the units by name |
//! | [`parser`], [`builder`], [`pfc`], [`dcqcn`], [`gbn`], [`nic`] | the properties |
//!
//! A property runs in three places: as a test with fixed seeds, as `xoff fuzz` for as long as wanted, and as `xoff
//! replay` on one kept case.

pub mod builder;
pub mod case_file;
pub mod dcqcn;
pub mod gbn;
pub mod history;
pub mod nic;
pub mod parser;
pub mod pfc;
pub mod run;
pub mod unit;

use std::fmt::Debug;

use proptest::strategy::BoxedStrategy;
use xoff_cosim::units::UnitError;

use history::{History, Part};

/// What does not hold, in words that name the place.
pub type Disagreement = String;

/// A history to put a property's unit through.
pub type Case<P> = History<<P as Property>::Head, <P as Property>::Event>;

/// A statement about a unit that every case must bear out.
///
/// The value of the type holds the verilated unit and its reference; a case starts with their reset, so cases do not
/// depend on each other.
pub trait Property: Sized {
    /// What holds for all of a case.
    type Head: Part;
    /// What happens in it.
    type Event: Part;

    /// The unit, as `xoff fuzz` calls it.
    const UNIT: &'static str;
    /// What [`Property::check`] counts, in the plural.
    const EVENTS: &'static str;
    /// Cases of a test run, and those that judge a mutant: some seconds' worth.
    const CASES: u64;

    /// Makes the unit and its reference. `seed` fixes the random start of the RTL's registers.
    ///
    /// # Errors
    ///
    /// They cannot be made.
    fn new(seed: u64) -> Result<Self, UnitError>;

    /// Draws cases.
    fn cases() -> BoxedStrategy<Case<Self>>;

    /// Runs a case and returns the number of events in it.
    ///
    /// # Errors
    ///
    /// The first thing that does not hold.
    fn check(&mut self, case: &Case<Self>) -> Result<u64, Disagreement>;
}

/// As an error of a property.
fn text(error: UnitError) -> Disagreement {
    error.to_string()
}

/// Compares two runs of the same case, one with idle cycles left out, one without.
fn same_runs<T: PartialEq + Debug>(skipped: &[T], whole: &[T]) -> Result<(), Disagreement> {
    let first = skipped.iter().zip(whole).position(|(a, b)| a != b);
    let end = (skipped.len() != whole.len()).then_some(skipped.len().min(whole.len()));
    match first.or(end) {
        None => Ok(()),
        Some(at) => Err(format!(
            "leaving out idle cycles makes a difference\nleft out:       {:?}\ncycle by cycle: {:?}",
            skipped.get(at),
            whole.get(at)
        )),
    }
}
