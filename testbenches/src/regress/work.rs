//! Runs one item.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use xoff_cosim::network::topology::Plan as Network;
use xoff_cosim::scenario::Scenario;
use xoff_sim::kernel::{NodeId, PortId};

use super::baseline::{self, Baseline};
use super::journal::{Failure, Finished};
use super::plan::{Item, Work};
use crate::property::case_file;
use crate::property::run::{first_failure_until, shrink};
use crate::property::unit::{Unit, WithProperty};
use crate::property::{Disagreement, Property};
use crate::run::diff::first_frame;
use crate::run::execute::{self, RunOptions, interrupted};
use crate::scenario_file::{Setting, Source};

/// How items are run.
pub(super) struct Bench<'a> {
    /// Cases of a unit; `None`: as many as its test runs.
    pub cases: Option<u64>,
    /// Folder of results.
    pub out: &'a Path,
    /// Digests to compare with, and their file.
    pub baseline: Option<(&'a Path, Baseline)>,
    /// Baseline for which each scenario's run is captured.
    pub capture_for: Option<&'a Path>,
}

/// What a run of an item gave.
struct Ran {
    failure: Option<Failure>,
    digest: Option<String>,
    repeat: String,
}

impl Bench<'_> {
    /// Runs an item. Returns `None` if it was interrupted.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written; failures of the item are results.
    pub fn run(&self, item: &Item) -> anyhow::Result<Option<Finished>> {
        let start = Instant::now();
        let ran = match &item.work {
            Work::Unit(unit) => self.unit(*unit, item.seed)?,
            Work::Scenario {
                source,
                origin,
                settings,
            } => self.scenario(item, source, origin, settings)?,
        };
        if interrupted() {
            return Ok(None);
        }
        Ok(Some(Finished {
            item: item.name.clone(),
            failure: ran.failure,
            digest: ran.digest,
            repeat: ran.repeat,
            seconds: start.elapsed().as_secs_f64(),
        }))
    }

    fn unit(&self, unit: Unit, seed: u64) -> anyhow::Result<Ran> {
        unit.with(Check {
            seed,
            cases: self.cases,
            folder: self.out.join("cases"),
        })
    }

    fn scenario(
        &self,
        item: &Item,
        source: &Source,
        origin: &str,
        settings: &[Setting],
    ) -> anyhow::Result<Ran> {
        let mut repeat = format!("xoff run {origin}");
        for Setting { key, value } in settings {
            repeat += &format!(" --set '{key}={value}'");
        }
        repeat += &format!(" --seed {}", item.seed);
        let mut scenario = source.read(settings)?;
        scenario.seed = item.seed;
        let capture = self
            .capture_for
            .map(|file| baseline::capture(file, &item.name));
        let result = simulate(&scenario, capture)?;
        let (digest, mut failure) = match result {
            Err(said) => {
                let cause = format!("{}: {}", source.name, without_numbers(first_line(&said)));
                (
                    None,
                    Some(Failure {
                        cause,
                        detail: said,
                    }),
                )
            }
            Ok(summary) => {
                let broken: Vec<String> = (summary.expectations.iter())
                    .filter(|expectation| !expectation.held)
                    .map(|it| {
                        let measured = it.measured.map_or("nothing".into(), |it| it.to_string());
                        format!(
                            "{} {} {}: measured {measured}",
                            it.metric,
                            it.op.sign(),
                            it.value
                        )
                    })
                    .collect();
                let failure = broken.first().map(|first| Failure {
                    cause: format!(
                        "{}: expectation {}",
                        source.name,
                        first.split(": ").next().unwrap_or_default()
                    ),
                    detail: broken.join("\n"),
                });
                (Some(summary.digest), failure)
            }
        };
        // An expectation that fails says more than a digest that changed.
        if let (None, Some(digest)) = (&failure, &digest) {
            failure = self.changed(item, source, &scenario, digest)?;
        }
        Ok(Ran {
            failure,
            digest,
            repeat,
        })
    }

    /// Compares the digest of a run with the baseline. If that has a capture, the run is repeated with one, and the
    /// first frame that differs is found.
    fn changed(
        &self,
        item: &Item,
        source: &Source,
        scenario: &Scenario,
        digest: &str,
    ) -> anyhow::Result<Option<Failure>> {
        let Some((file, baseline)) = &self.baseline else {
            return Ok(None);
        };
        let Some(known) = baseline.digests.get(&item.name) else {
            return Ok(None);
        };
        if known == digest {
            return Ok(None);
        }
        let mut detail = format!("digest {known} → {digest}");
        let before = baseline::capture(file, &item.name);
        if before.is_file() {
            let after = baseline::capture(&self.out.join("baseline"), &item.name);
            if let Err(said) = simulate(scenario, Some(after.clone()))? {
                detail += &format!("\nthe repetition for a capture failed: {said}");
            } else if !interrupted()
                && let Some(frame) = first_frame([&before, &after])?
            {
                detail += &format!("\nfirst frame {frame}");
            }
        }
        let cause = format!("{}: other frames or times than the baseline", source.name);
        Ok(Some(Failure { cause, detail }))
    }
}

/// Runs a scenario on this thread, with a capture of all ports or without. An error of the run, such as a failing
/// assertion, is the inner one.
fn simulate(
    scenario: &Scenario,
    capture: Option<PathBuf>,
) -> anyhow::Result<Result<xoff_waves::report::Summary, String>> {
    let capture = match capture {
        None => None,
        Some(path) => {
            let folder = path.parent().expect("it is in a folder");
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            Some((all_ports(scenario)?, path))
        }
    };
    let options = RunOptions {
        threads: Some(1),
        capture,
        ..RunOptions::default()
    };
    let run = || execute::run(scenario, &options);
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = (panic.downcast_ref::<String>().cloned())
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(anyhow::anyhow!("panic: {}", text.unwrap_or_default()))
    });
    Ok(match result {
        Ok(report) => Ok(report.summary),
        Err(error) => Err(format!("{error:#}")),
    })
}

fn all_ports(scenario: &Scenario) -> anyhow::Result<Vec<(NodeId, PortId)>> {
    let whole = scenario.expanded()?;
    let network = Network::new(&whole);
    let ports = network.ports.iter().enumerate();
    let of_node = |(node, ports): (usize, &u16)| {
        (0..*ports).map(move |port| (NodeId(node as u32), PortId(port)))
    };
    Ok(ports.flat_map(of_node).collect())
}

/// Checks the property of a unit.
struct Check {
    seed: u64,
    cases: Option<u64>,
    folder: PathBuf,
}

impl WithProperty for Check {
    type Output = anyhow::Result<Ran>;

    fn with<P: Property>(self) -> anyhow::Result<Ran> {
        let cases = self.cases.unwrap_or(P::CASES);
        let seed = self.seed;
        let again = format!("xoff fuzz {} --seed {seed} --count {cases}", P::UNIT);
        let broken = |what: Disagreement| anyhow::anyhow!("{}: {what}", P::UNIT);
        let found = first_failure_until::<P>(seed, cases, &interrupted).map_err(broken)?;
        let Some((number, first)) = found else {
            return Ok(Ran {
                failure: None,
                digest: None,
                repeat: again,
            });
        };
        let failing = shrink::<P>(seed, number).map_err(broken)?;
        let path = case_file::keep::<P>(&self.folder, seed, &failing)?;
        // A case that fails only behind others is not repeated by its file.
        let alone = failing.shrink_steps > 0;
        let said = if alone { &failing.disagreement } else { &first };
        Ok(Ran {
            failure: Some(Failure {
                cause: format!("{}: {}", P::UNIT, without_numbers(first_line(said))),
                detail: format!("case {number}: {said}\n{}", failing.disagreement),
            }),
            digest: None,
            repeat: match alone {
                true => format!("xoff replay {}", path.display()),
                false => again,
            },
        })
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Replaces numbers, which differ between failures of the same cause.
fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_word = false;
    while let Some(c) = rest.next() {
        if c.is_ascii_digit() && !in_word {
            plain.push('N');
            while rest
                .next_if(|c| c.is_ascii_alphanumeric() || *c == '.')
                .is_some()
            {}
            continue;
        }
        in_word = c.is_ascii_alphabetic() || c == '_' || (in_word && c.is_ascii_digit());
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_no_numbers() {
        assert_eq!(
            without_numbers("cycle 17, at 1.5us: tx_data_o is 0x1f, expected 0b1 at s0.2"),
            "cycle N, at N: tx_data_o is N, expected N at s0.N"
        );
    }
}
