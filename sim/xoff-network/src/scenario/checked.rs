//! [`Checked`]: a scenario that has passed its check.

use std::ops::Deref;

use super::Scenario;
use super::check::Issues;

/// A scenario that has passed its check, with its topology and its probes written out as hosts, switches, links and
/// flows. Networks are made from it, and what describes them: nothing behind it checks a scenario again.
///
/// It is read as the [`Scenario`] that is written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    written: Scenario,
    /// The scenario written out, if it has something to write out.
    whole: Option<Scenario>,
}

impl Checked {
    /// The scenario as it was given, with what it leaves to a topology.
    pub const fn written(&self) -> &Scenario {
        &self.written
    }
}

impl Deref for Checked {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        self.whole.as_ref().unwrap_or(&self.written)
    }
}

impl Scenario {
    /// Checks the scenario for anything that does not fit together.
    ///
    /// # Errors
    ///
    /// Everything found, each with its key or with the line of a file. Where the network itself is wrong, what depends
    /// on it is not looked at.
    pub fn checked(&self) -> Result<Checked, Issues> {
        let whole = self.check()?;
        Ok(Checked {
            written: self.clone(),
            whole,
        })
    }
}
