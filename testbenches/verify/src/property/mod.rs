//! Property tests of the units: random histories run through the verilated unit and its reference. The results are
//! compared; failing histories are shrunk and kept as text.
//!
//! | module | contents |
//! |---|---|
//! | [`run`] | draws cases on all cores until a count or a time is reached, and shrinks the first that fails |
//! | [`history`] | cases (a head and events): drawing, shrinking, writing and reading |
//! | [`bins`] | functional coverage: which situations the cases brought about |
//! | [`case_file`] | failing cases as files that people read and `xoff replay` runs |
//! | [`retrace`] | failing cases again, with waves around the failure |
//! | [`mod@unit`] | the units by name |
//! | [`deadline_sweep`] | how late a deadline may be |
//! | [`frames`] | axes of bins that frames have |
//! | [`parser`], [`builder`], [`pfc`], [`dcqcn`], [`gbn`], [`translation`], [`nic`], [`network`], [`hosts`] | the properties |
//!
//! A property runs in three places: as a test with fixed seeds, as `xoff fuzz` for any length of time, and as `xoff
//! replay` on one kept case.

pub mod bins;
pub mod builder;
pub mod case_file;
pub mod dcqcn;
pub mod deadline_sweep;
pub mod frames;
pub mod gbn;
pub mod history;
pub mod hosts;
pub mod network;
pub mod nic;
pub mod parser;
pub mod pfc;
pub mod retrace;
pub mod run;
pub mod translation;
pub mod unit;

use std::fmt::Debug;

use proptest::strategy::BoxedStrategy;
use xoff_cosim::units::UnitError;

use bins::{Bins, Groups};
use history::{History, Part};
use retrace::{Retraced, Wanted};

/// A message that says what does not hold and where.
pub type Disagreement = String;

/// The type of history that a property checks.
pub type Case<P> = History<<P as Property>::Head, <P as Property>::Event>;

/// A statement about a unit that must hold for every case.
///
/// An implementing value owns the verilated unit and its reference. Each case starts by resetting both, so cases do not
/// depend on each other.
pub trait Property: Sized {
    /// The head: settings that apply to a whole case.
    type Head: Part;
    /// The events of a case.
    type Event: Part;

    /// Name of the unit in `xoff fuzz`.
    const UNIT: &'static str;
    /// Name, in the plural, of what [`Property::check`] counts.
    const EVENTS: &'static str;
    /// Number of cases in a test run and in the run that judges a mutant: a few seconds' worth.
    const CASES: u64;
    /// Whether each case creates units of its own, so that it runs the same without the cases before it.
    const OWN_UNITS: bool = false;

    /// Creates the unit and its reference. `seed` determines the random initial values of the RTL's registers.
    ///
    /// # Errors
    ///
    /// Returns an error if either cannot be created.
    fn new(seed: u64) -> Result<Self, UnitError>;

    /// Draws cases.
    fn cases() -> BoxedStrategy<Case<Self>>;

    /// Declares the bins that cases fill.
    fn groups() -> Groups {
        &[]
    }

    /// Runs a case and returns the number of events in it. Counts in `bins`, which are those of [`Property::groups`],
    /// the situations that it brings about.
    ///
    /// # Errors
    ///
    /// Returns the first violation.
    fn check(&mut self, case: &Case<Self>, bins: &mut Bins) -> Result<u64, Disagreement>;

    /// Runs a case; if it fails, runs it again with waves around the failure. `seed` is that of [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// Returns an error if the units cannot be created, or if waves cannot be written.
    fn retrace(seed: u64, case: &Case<Self>, wanted: &Wanted) -> anyhow::Result<Retraced> {
        retrace::units::<Self>(seed, case, wanted)
    }
}

/// Converts an error into a violation of a property.
fn text(error: UnitError) -> Disagreement {
    error.to_string()
}

/// Names the fields in which the texts of two values of a type are different: `retries: RTL 6, reference 7`. Nothing if
/// one of them has other fields than the other.
fn other_fields(rtl: &impl Debug, reference: &impl Debug) -> String {
    let [rtl, reference] = [format!("{rtl:?}"), format!("{reference:?}")];
    let pairs = rtl.split(", ").zip(reference.split(", "));
    if rtl.split(", ").count() != reference.split(", ").count() {
        return String::new();
    }
    // The text of a last field ends with what ends the structures around it.
    fn alone(mut value: &str) -> &str {
        loop {
            let open = value.matches('(').count() >= value.matches(')').count();
            value = match (value.strip_suffix(" }"), value.strip_suffix(')')) {
                (Some(shorter), _) => shorter,
                (None, Some(shorter)) if !open => shorter,
                _ => return value,
            };
        }
    }
    let different = pairs.filter(|(rtl, reference)| rtl != reference);
    let described = different.map(|(rtl, reference)| {
        let (name, rtl) = rtl.rsplit_once(": ").unwrap_or(("value", rtl));
        let name = name.rsplit([' ', '(']).next().unwrap_or(name);
        let reference = reference
            .rsplit_once(": ")
            .map_or(reference, |(_, value)| value);
        let [rtl, reference] = [rtl, reference].map(alone);
        format!("{name}: RTL {rtl}, reference {reference}")
    });
    described.collect::<Vec<_>>().join("; ")
}

/// Compares two runs of the same case, one that skips idle cycles and one that does not.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_fields_have_their_names() {
        #[derive(Debug, Clone)]
        struct Context {
            _state: Option<u8>,
            _retries: u8,
            _deadline: Option<u64>,
        }
        let rtl = Context {
            _state: Some(1),
            _retries: 6,
            _deadline: Some(5),
        };
        let mut reference = rtl.clone();
        assert_eq!(other_fields(&rtl, &reference), "");
        reference._retries = 7;
        reference._deadline = Some(8);
        let said = "_retries: RTL 6, reference 7; _deadline: RTL Some(5), reference Some(8)";
        assert_eq!(other_fields(&rtl, &reference), said);
        assert_eq!(other_fields(&Some((1, 2)), &None::<(u8, u8)>), "");
    }
}
