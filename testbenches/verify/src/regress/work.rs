//! Runs one item.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;
use std::{fs, io};

use anyhow::Context;
use xoff_network::Endpoints;
use xoff_network::scenario::Checked;
use xoff_waves::report::{State, Summary};

use super::baseline::{self, Baseline};
use super::journal::{Failure, Finished};
use super::plan::{Item, Work};

use crate::property::case_file::{self, CaseFile};
use crate::property::run::{SHRINK, first_failure_until, shrink};
use crate::property::unit::{Unit, WithProperty};
use crate::property::{Disagreement, Property};
use xoff::interruption::interrupted;
use xoff::run::diff::first_frame;
use xoff::run::execute::{self, RunOptions};
use xoff::scenario_file::{Setting, Source};
use xoff::shell;

/// Threads of a run at most: each has a pool of its own, though it may use one thread for most of the time.
const MOST_THREADS: usize = 8;

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
    /// Threads of the regression.
    pub jobs: usize,
    /// How many of these each run may use at the moment: one, until fewer items run than there are threads.
    pub per_run: Arc<AtomicU32>,
    /// The kinds of hosts.
    pub endpoints: &'a Endpoints,
}

/// What a run of an item gave.
struct Ran {
    failure: Option<Failure>,
    digest: Option<String>,
    case: Option<String>,
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
            Work::Case { unit, path } => Some(unit.with(Kept(path))?),
            Work::Scenario {
                source,
                origin,
                settings,
            } => self.scenario(item, source, origin, settings)?,
        };
        let Some(ran) = ran else {
            return Ok(None);
        };
        let mut entry = Finished {
            item: item.name.clone(),
            failure: ran.failure,
            digest: ran.digest,
            case: ran.case,
            repeat: ran.repeat,
            seconds: 0.0,
        };
        self.compare(item, &mut entry)?;
        entry.seconds = start.elapsed().as_secs_f64();
        Ok(Some(entry))
    }

    /// Compares the digest of a finished item with the baseline, also if it was compared with another one before. Of
    /// an item that failed by itself that says more than a digest that changed.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written.
    pub fn compare(&self, item: &Item, entry: &mut Finished) -> anyhow::Result<()> {
        if (entry.failure.as_ref()).is_some_and(|failure| failure.of_baseline) {
            entry.failure = None;
        }
        let work = (&item.work, &entry.digest, &entry.failure);
        if let (
            Work::Scenario {
                source, settings, ..
            },
            Some(digest),
            None,
        ) = work
        {
            entry.failure = self.changed(item, source, settings, digest)?;
        }
        Ok(())
    }

    /// Whether an item that has finished has the capture that is wanted, if one is.
    pub fn is_captured(&self, entry: &Finished) -> bool {
        let wanted = (self.capture_for).filter(|_| entry.digest.is_some());
        wanted.is_none_or(|file| baseline::capture(file, &entry.item).is_file())
    }

    fn unit(&self, unit: Unit, seed: u64) -> anyhow::Result<Option<Ran>> {
        unit.with(Check {
            seed,
            cases: self.cases,
            folder: self.out.join(super::CASES),
        })
    }

    fn scenario(
        &self,
        item: &Item,
        source: &Source,
        origin: &str,
        settings: &[Setting],
    ) -> anyhow::Result<Option<Ran>> {
        let mut repeat = format!("xoff run {}", shell::quoted(origin));
        for Setting { key, value } in settings {
            repeat += &format!(" --set {}", shell::quoted(&format!("{key}={value}")));
        }
        repeat += &format!(" --seed {}", item.seed);
        let scenario = source.read_with_seed(settings, Some(item.seed))?;
        let capture = self
            .capture_for
            .map(|file| baseline::capture(file, &item.name));
        let result = self.simulate(&scenario, capture)?;
        let (digest, failure) = match result {
            Ok(summary) if summary.state == State::Interrupted => return Ok(None),
            Err(said) => {
                let cause = format!("{}: {}", source.name, without_values(first_line(&said)));
                (
                    None,
                    Some(Failure {
                        cause,
                        detail: said,
                        of_baseline: false,
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
                    of_baseline: false,
                });
                (Some(summary.digest), failure)
            }
        };
        Ok(Some(Ran {
            failure,
            digest,
            case: None,
            repeat,
        }))
    }

    /// Compares the digest of a run with the baseline. If that has a capture, the run is repeated with one, and the
    /// first frame that differs is found.
    fn changed(
        &self,
        item: &Item,
        source: &Source,
        settings: &[Setting],
        digest: &str,
    ) -> anyhow::Result<Option<Failure>> {
        let Some((file, baseline)) = &self.baseline else {
            return Ok(None);
        };
        let Some(known) = baseline.digests.get(&item.name) else {
            return Ok(Some(Failure {
                cause: format!("{}: the baseline has no digest of it", source.name),
                detail: format!(
                    "digest {digest}; {} has none of {}: --update-baseline writes it",
                    file.display(),
                    item.name
                ),
                of_baseline: true,
            }));
        };
        if known == digest {
            return Ok(None);
        }
        let mut detail = format!("digest {known} → {digest}");
        let before = baseline::capture(file, &item.name);
        if before.is_file() {
            let after = baseline::capture(&self.out.join("baseline"), &item.name);
            let scenario = source.read_with_seed(settings, Some(item.seed))?;
            match self.simulate(&scenario, Some(after.clone()))? {
                Err(said) => detail += &format!("\nthe repetition for a capture failed: {said}"),
                Ok(summary) if summary.state == State::Interrupted => {}
                Ok(_) => {
                    let frame = first_frame([&before, &after])?;
                    detail.extend(frame.map(|frame| format!("\nfirst frame {frame}")));
                }
            }
        }
        let cause = format!("{}: other frames or times than the baseline", source.name);
        Ok(Some(Failure {
            cause,
            detail,
            of_baseline: true,
        }))
    }

    /// Runs a scenario, with a capture of all ports or without. An error of the run, such as a failing
    /// assertion, is the inner one. A file that cannot be written is no result of the scenario, so it is the outer one.
    fn simulate(
        &self,
        scenario: &Checked,
        capture: Option<PathBuf>,
    ) -> anyhow::Result<Result<Summary, String>> {
        let mut options = RunOptions {
            threads: Some(self.jobs.min(MOST_THREADS)),
            shared_threads: Some(Arc::clone(&self.per_run)),
            ..RunOptions::new(self.endpoints.clone())
        };
        if let Some(path) = &capture {
            let folder = path.parent().expect("it is in a folder");
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            options.capture = Some((execute::all_ports(scenario), path.with_extension("part")));
        }
        let run = || -> anyhow::Result<_> {
            let report = execute::run(scenario, &options)?;
            // A capture replaces the one of an earlier run when it is whole.
            if let (Some((_, part)), Some(path)) = (&options.capture, &capture) {
                match report.summary.state {
                    State::Finished => fs::rename(part, path),
                    _ => fs::remove_file(part),
                }
                .with_context(|| part.display().to_string())?;
            }
            Ok(report)
        };
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = (panic.downcast_ref::<String>().cloned())
                .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Err(anyhow::anyhow!("panic: {}", text.unwrap_or_default()))
        });
        Ok(match result {
            Err(error) if error.chain().any(|cause| cause.is::<io::Error>()) => return Err(error),
            Ok(report) => Ok(report.summary),
            Err(error) => Err(format!("{error:#}")),
        })
    }
}

/// Checks the property of a unit.
struct Check {
    seed: u64,
    cases: Option<u64>,
    folder: PathBuf,
}

impl WithProperty for Check {
    type Output = anyhow::Result<Option<Ran>>;

    fn with<P: Property>(self) -> anyhow::Result<Option<Ran>> {
        let cases = self.cases.unwrap_or(P::CASES);
        let seed = self.seed;
        let again = format!("xoff fuzz {} --seed {seed} --count {cases}", P::UNIT);
        let broken = |what: Disagreement| anyhow::anyhow!("{}: {what}", P::UNIT);
        let found = first_failure_until::<P>(seed, 0..cases, &interrupted).map_err(broken)?;
        let Some((number, first)) = found else {
            // A failure that was found before counts also if the process was asked to end.
            return Ok((!interrupted()).then_some(Ran {
                failure: None,
                digest: None,
                case: None,
                repeat: again,
            }));
        };
        let failing = shrink::<P>(seed, number, SHRINK).map_err(broken)?;
        let path = case_file::keep::<P>(&self.folder, seed, &failing)
            .with_context(|| format!("{first}\nfails, and its case cannot be kept"))?;
        // A case that fails only behind others is not repeated by its file.
        let alone = failing.alone;
        let said = if alone { &failing.disagreement } else { &first };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Some(Ran {
            failure: Some(Failure {
                detail: format!("case {number}: {said}\n{}", failing.disagreement),
                ..failure::<P>(said)
            }),
            digest: None,
            case: alone.then(|| format!("{}/{name}", P::UNIT)),
            repeat: match alone {
                true => replay(&path),
                false => again,
            },
        }))
    }
}

/// The failure of a property, whose cause is its first line without values.
fn failure<P: Property>(said: &str) -> Failure {
    Failure {
        cause: format!("{}: {}", P::UNIT, without_values(first_line(said))),
        detail: said.to_owned(),
        of_baseline: false,
    }
}

/// Runs a kept case.
struct Kept<'a>(&'a Path);

impl WithProperty for Kept<'_> {
    type Output = anyhow::Result<Ran>;

    fn with<P: Property>(self) -> anyhow::Result<Ran> {
        let ran = CaseFile::open(self.0)?.replay::<P>()?;
        Ok(Ran {
            failure: ran.err().map(|what| failure::<P>(&what)),
            digest: None,
            case: None,
            repeat: replay(self.0),
        })
    }
}

/// The command that repeats a kept case.
pub(super) fn replay(case: &Path) -> String {
    format!("xoff replay {}", shell::path(case))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Replaces values, which differ between failures of the same cause: what stands in brackets, as the fields of a
/// structure do, numbers and truth values.
fn without_values(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut word = String::new();
    // A space ends the last word.
    for c in without_brackets(text).chars().chain([' ']) {
        let of_number = c == '.' && word.starts_with(|c: char| c.is_ascii_digit());
        if c.is_ascii_alphanumeric() || c == '_' || of_number {
            word.push(c);
            continue;
        }
        let value = word.starts_with(|c: char| c.is_ascii_digit());
        plain.push_str(match word.as_str() {
            "true" | "false" => "N",
            _ if value => "N",
            other => other,
        });
        word.clear();
        plain.push(c);
    }
    plain.pop();
    plain
}

/// Replaces what stands in brackets of any kind. What is not closed is left out to its end.
fn without_brackets(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut depth = 0_u32;
    for c in text.chars() {
        if matches!(c, ')' | ']' | '}') && depth > 0 {
            depth -= 1;
            if depth == 0 {
                plain.push('…');
            }
        }
        if depth == 0 {
            plain.push(c);
        }
        if matches!(c, '(' | '[' | '{') {
            depth += 1;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_no_values() {
        assert_eq!(
            without_values("cycle 17, at 1.5us: tx_data_o is 0x1f, expected 0b1 at s0.2"),
            "cycle N, at N: tx_data_o is N, expected N at s0.N"
        );
        let said = |paused: &str, wake: &str, limited: bool| {
            without_values(&format!(
                "cycle 6: paused ({paused}), and wakes at {{ {wake} }}, limited {limited}"
            ))
        };
        let cause = "cycle N: paused (…), and wakes at {…}, limited N";
        assert_eq!(said("[16, 0]", "None", true), cause);
        assert_eq!(said("[]", "Some(Cycle(3))", false), cause);
        // What is not closed is a value to its end.
        assert_eq!(
            without_values("no completion from (side, QP"),
            "no completion from ("
        );
    }
}
