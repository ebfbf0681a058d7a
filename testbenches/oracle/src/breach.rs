//! A rule that does not hold, and where.

use std::fmt;

use crate::fact::Ps;
use crate::rules::Rule;

/// The first rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule.
    pub rule: &'static Rule,
    /// Where and when.
    pub place: Place,
    /// What was seen, and what would be right.
    pub facts: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { at, side, qpn } = self.place;
        let Rule { name, section, .. } = self.rule;
        let (us, rest) = (at / 1_000_000, at % 1_000_000);
        write!(f, "{us}.{rest:06} us, side {side}")?;
        if let Some(qpn) = qpn {
            write!(f, ", QP {qpn:#x}")?;
        }
        write!(f, ": {name} ({section}): {}", self.facts)
    }
}

impl std::error::Error for Breach {}

/// Where and when something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// When.
    pub at: Ps,
    /// At which side.
    pub side: usize,
    /// The number of the side's QP, if it is one's.
    pub qpn: Option<u32>,
}

impl Place {
    /// Says that a rule does not hold here.
    pub fn breaks<T>(&self, rule: &'static Rule, facts: impl Into<String>) -> Result<T, Breach> {
        Err(Breach {
            rule,
            place: *self,
            facts: facts.into(),
        })
    }

    /// Says that a rule does not hold here, unless `holds`.
    pub fn holds<S: Into<String>>(
        &self,
        holds: bool,
        rule: &'static Rule,
        facts: impl FnOnce() -> S,
    ) -> Result<(), Breach> {
        match holds {
            true => Ok(()),
            false => self.breaks(rule, facts()),
        }
    }
}
