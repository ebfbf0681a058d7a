//! Property tests of the units: random histories, run through the verilated unit and its reference, compared, shrunk, kept as text.
//!
//! | module | what it has |
//! |---|---|
//! | [`run`] | draws cases on all cores until a count or a time, shrinks the first that fails |
//! | [`case_file`] | failing cases as files that people read and `xoff replay` runs |
//! | [`history`], [`draw`] | cases that are lists of events, drawn fast |
//! | [`parser`], [`builder`], [`pfc`], [`dcqcn`], [`gbn`], [`nic`] | the properties |
//!
//! A property runs in three places: as a test with fixed seeds, as `xoff fuzz` for as long as wanted, and as `xoff replay` on one kept case.

pub mod builder;
pub mod case_file;
pub mod dcqcn;
pub mod draw;
pub mod gbn;
pub mod history;
pub mod nic;
pub mod parser;
pub mod pfc;
pub mod run;

use proptest::strategy::BoxedStrategy;

/// What does not hold, in words that name the place.
pub type Disagreement = String;

/// A statement about a unit that every case must bear out.
///
/// The value of the type holds the verilated unit and its reference; a case starts with their reset, so cases do not depend on each other.
pub trait Property: Sized {
    /// A history to put the unit through.
    type Case: Clone + std::fmt::Debug;

    /// The unit, as `xoff fuzz` calls it.
    const UNIT: &'static str;
    /// What [`Property::check`] counts, in the plural.
    const EVENTS: &'static str;

    /// Makes the unit and its reference. `seed` fixes the random start of the RTL's registers.
    ///
    /// # Errors
    ///
    /// They cannot be made.
    fn new(seed: u64) -> Result<Self, Disagreement>;

    /// Draws cases.
    fn cases() -> BoxedStrategy<Self::Case>;

    /// Runs a case and returns the number of events in it.
    ///
    /// # Errors
    ///
    /// The first thing that does not hold.
    fn check(&mut self, case: &Self::Case) -> Result<u64, Disagreement>;

    /// The case as lines of text, an event a line.
    fn write(case: &Self::Case) -> Vec<String>;

    /// The case that [`Property::write`] wrote.
    ///
    /// # Errors
    ///
    /// What a line should have been.
    fn read(lines: &[&str]) -> Result<Self::Case, String>;
}
