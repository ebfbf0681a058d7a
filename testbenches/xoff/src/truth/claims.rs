//! The claims of `testbenches/truth.toml`.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use serde::Deserialize;
use xoff_network::scenario::Expectation;

use crate::scenario_file::Setting;

/// The file, which is part of the program.
const TEXT: &str = include_str!("../../../truth.toml");

/// A statement of a paper, and how it is held against a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name for the command line.
    pub id: String,
    /// The paper and its section.
    pub source: String,
    /// The statement, one sentence.
    pub claim: String,
    /// The paper's number, as text.
    pub paper: String,
    /// The built-in scenario that is run.
    scenario: String,
    /// Its settings.
    #[serde(default)]
    set: Vec<String>,
    /// What has to be measured for the statement to hold.
    agrees: Expectation,
    /// What is measured in its place.
    #[serde(default)]
    ours: Option<Expectation>,
    /// Why something else is measured, and which parameter would give the paper's number.
    #[serde(default)]
    because: Option<String>,
    /// What else has to be known of the run.
    #[serde(default)]
    pub note: Option<String>,
    /// The unit in which the measured value is shown.
    #[serde(default)]
    pub unit: String,
    /// The factor by which it is shown.
    #[serde(default = "one")]
    pub scale: f64,
}

const fn one() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// How a claim is held against what is measured.
#[derive(Debug, Clone)]
pub enum Check<'a> {
    /// The run has to agree.
    Agrees(&'a Expectation),
    /// The run must not agree with the first, and has to be what the second says, for a reason.
    Differs(&'a Expectation, &'a Expectation, &'a str),
}

/// A run of a scenario: its name and settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunOf {
    /// The built-in scenario.
    pub scenario: String,
    /// Settings as of `xoff run --set`.
    pub set: Vec<String>,
}

impl RunOf {
    /// The settings, parsed.
    ///
    /// # Errors
    ///
    /// Returns an error for one that is no setting.
    pub fn settings(&self) -> anyhow::Result<Vec<Setting>> {
        let parsed = self.set.iter().map(|text| text.parse());
        parsed.collect::<Result<_, _>>().map_err(anyhow::Error::msg)
    }

    /// The command that makes the same run.
    pub fn command(&self) -> String {
        let set: String = (self.set.iter())
            .map(|setting| format!(" --set {}", crate::shell::quoted(setting)))
            .collect();
        format!("xoff run {}{set}", self.scenario)
    }
}

impl Claim {
    /// The run that it is held against, with model NICs.
    pub fn run(&self) -> RunOf {
        let mut set = vec!["host.nic=model".to_owned()];
        set.extend(self.set.iter().cloned());
        let scenario = self.scenario.clone();
        RunOf { scenario, set }
    }

    /// How it is held against the run.
    pub const fn check(&self) -> Check<'_> {
        match (&self.ours, &self.because) {
            (Some(ours), Some(because)) => Check::Differs(&self.agrees, ours, because.as_str()),
            _ => Check::Agrees(&self.agrees),
        }
    }
}

/// All claims.
///
/// # Errors
///
/// Returns an error if the text is none of claims.
pub fn all() -> anyhow::Result<Vec<Claim>> {
    parse(TEXT).context("truth.toml")
}

fn parse(text: &str) -> anyhow::Result<Vec<Claim>> {
    let File { claim: claims } = toml::from_str(text)?;
    let mut ids = BTreeSet::new();
    for claim in &claims {
        if claim.ours.is_some() != claim.because.is_some() {
            bail!("{}: ours and because go together", claim.id);
        }
        if !ids.insert(&claim.id) {
            bail!("{}: the name of two claims", claim.id);
        }
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_one_of_claims() {
        let claims = all().unwrap();
        assert!(claims.len() > 25);
        for claim in &claims {
            assert!(
                !claim.paper.is_empty() && claim.claim.ends_with('.'),
                "{}",
                claim.id
            );
        }
    }

    #[test]
    fn claims_that_cannot_be_judged_are_refused() {
        let wrong = |keys: &str| {
            let text =
                format!("[[claim]]\nid = 'a'\nsource = 's'\nclaim = 'c.'\npaper = '1'\n{keys}");
            format!("{:#}", parse(&text).unwrap_err())
        };
        assert!(wrong("").contains("missing field `scenario`"));
        assert!(wrong("scenario = 'pair'").contains("missing field `agrees`"));
        let agrees =
            "scenario = 'pair'\nagrees = { metric = 'drops.total', op = '==', value = 0.0 }";
        assert_eq!(
            wrong(&format!("{agrees}\nbecause = 'x'")),
            "a: ours and because go together"
        );
        assert!(wrong("metric = 'x'").contains("unknown field `metric`"));
    }
}
