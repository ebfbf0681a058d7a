//! Reports of a regression: groups of failures, `summary.json`, `junit.xml` and `index.html`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use maud::html;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use xoff_waves::document::tables;

use super::arguments::Shard;
use super::journal::Finished;
use super::plan::{Plan, VERSION};
use xoff::whole_file;

/// Style of the page.
const STYLE: &str = "\
table{width:100%}td,th{overflow-wrap:anywhere}\
pre{background:var(--shade);padding:10px 12px;white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0 12px}\
.failed{color:var(--bad);font-weight:600}.passed{color:var(--good)}.number{text-align:right}";

/// State of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All of its items finished.
    Finished,
    /// Items are missing.
    Incomplete,
}

/// Failures of the same cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bucket {
    /// The cause.
    pub cause: String,
    /// The items.
    pub items: Vec<String>,
    /// The command that repeats the first of them.
    pub repeat: String,
    /// What was seen in the first of them.
    pub detail: String,
}

/// How long the items of a unit or scenario took.
#[derive(Debug, Clone, PartialEq)]
pub struct Took<'a> {
    /// The first two parts of their names, such as `scenario/deadlock`.
    pub name: &'a str,
    /// Number of finished items: variants and seeds.
    pub items: usize,
    /// Time that they took, each on one thread, in seconds. Of items that run at the same time both count.
    pub seconds: f64,
}

/// The first two parts of an item's name, and the others.
fn suite(item: &str) -> (&str, &str) {
    let mut slashes = item.match_indices('/').skip(1);
    match slashes.next() {
        Some((at, _)) => (&item[..at], &item[at + 1..]),
        None => (item, ""),
    }
}

/// What `summary.json` says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary<'a> {
    /// Version of the format.
    pub version: u32,
    /// Whether all items finished.
    pub state: State,
    /// The part of the items that was to run.
    pub shard: Option<Shard>,
    /// Number of items that passed.
    pub passed: usize,
    /// Number of items that failed.
    pub failed: usize,
    /// Items that did not finish.
    pub missing: Vec<&'a str>,
    /// Failures by cause, the most frequent first.
    pub buckets: Vec<Bucket>,
    /// All finished items, in the order of the plan.
    pub items: Vec<&'a Finished>,
}

impl<'a> Summary<'a> {
    /// Sums up the finished items of a plan, or of a part of it.
    pub fn new(plan: &'a Plan, shard: Option<Shard>, finished: &'a [Finished]) -> Self {
        let by_name: BTreeMap<&str, &Finished> = finished
            .iter()
            .map(|entry| (&entry.item[..], entry))
            .collect();
        let wanted = plan
            .items
            .iter()
            .enumerate()
            .filter(|(at, _)| in_shard(*at, shard));
        let (mut items, mut missing) = (Vec::new(), Vec::new());
        for (_, name) in wanted {
            match by_name.get(&name[..]) {
                Some(entry) => items.push(*entry),
                None => missing.push(&name[..]),
            }
        }
        let mut buckets: Vec<Bucket> = Vec::new();
        for entry in &items {
            let Some(failure) = &entry.failure else {
                continue;
            };
            match buckets
                .iter_mut()
                .find(|bucket| bucket.cause == failure.cause)
            {
                Some(bucket) => bucket.items.push(entry.item.clone()),
                None => buckets.push(Bucket {
                    cause: failure.cause.clone(),
                    items: vec![entry.item.clone()],
                    repeat: entry.repeat.clone(),
                    detail: failure.detail.clone(),
                }),
            }
        }
        // Stable: of equally frequent ones the first in the plan stays first.
        buckets.sort_by_key(|bucket| std::cmp::Reverse(bucket.items.len()));
        let failed = items.iter().filter(|entry| entry.failure.is_some()).count();
        Self {
            version: VERSION,
            state: match missing.is_empty() {
                true => State::Finished,
                false => State::Incomplete,
            },
            shard,
            passed: items.len() - failed,
            failed,
            missing,
            buckets,
            items,
        }
    }

    /// Writes the three reports.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            whole_file::write(&path, text)
                .with_context(|| format!("{}: cannot be written", path.display()))
        };
        write("summary.json", serde_json::to_string_pretty(self)? + "\n")?;
        write("junit.xml", self.junit()?)?;
        write("index.html", self.html())
    }

    /// Returns how long each unit and scenario took, in the order of the plan.
    pub fn times(&self) -> Vec<Took<'a>> {
        let mut times: Vec<Took<'a>> = Vec::new();
        for entry in &self.items {
            let (name, _) = suite(&entry.item);
            let place = times.iter().position(|took| took.name == name);
            let place = place.unwrap_or_else(|| {
                times.push(Took {
                    name,
                    items: 0,
                    seconds: 0.0,
                });
                times.len() - 1
            });
            times[place].items += 1;
            times[place].seconds += entry.seconds;
        }
        times
    }

    /// Returns a sentence about the results.
    pub fn sentence(&self) -> String {
        let missing = match self.missing.len() {
            0 => String::new(),
            missing => format!(", {missing} missing"),
        };
        let part = match self.shard {
            Some(shard) if shard.parts > 1 => format!(" of part {shard}"),
            _ => String::new(),
        };
        format!(
            "{}{part}: {} passed, {} failed{missing}",
            counted(self.items.len() + self.missing.len(), "item"),
            self.passed,
            self.failed
        )
    }

    /// A suite for each unit and scenario, with a test case for each variant and seed. A missing item is an error.
    fn junit(&self) -> anyhow::Result<String> {
        let mut suites: Vec<TestSuite> = Vec::new();
        let mut add = |suite: &str, mut test: TestCase| {
            test.set_classname(suite);
            let known = suites.iter().position(|known| known.name.as_str() == suite);
            let place = known.unwrap_or_else(|| {
                suites.push(TestSuite::new(suite));
                suites.len() - 1
            });
            suites[place].add_test_case(test);
        };
        for entry in &self.items {
            let (suite, case) = suite(&entry.item);
            let status = match &entry.failure {
                None => TestCaseStatus::success(),
                Some(failure) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(failure.cause.clone());
                    status.set_description(format!("{}\n{}", failure.detail, entry.repeat));
                    status
                }
            };
            let mut test = TestCase::new(case, status);
            test.set_time(Duration::from_secs_f64(entry.seconds.max(0.0)));
            add(suite, test);
        }
        for missing in &self.missing {
            let (suite, case) = suite(missing);
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message("missing: it did not finish");
            add(suite, TestCase::new(case, status));
        }
        let mut report = Report::new("xoff regress");
        report.add_test_suites(suites);
        Ok(report.to_string()?)
    }

    fn html(&self) -> String {
        let body = html! {
            h1 { "Regression" }
            p class=(if self.failed > 0 || !self.missing.is_empty() { "failed" } else { "passed" }) { (self.sentence()) }
            @if !self.buckets.is_empty() {
                h2 { "Failures by cause" }
            }
            @for bucket in &self.buckets {
                h3 { (bucket.cause) }
                p { (counted(bucket.items.len(), "item")) ": " (bucket.items.join(", ")) }
                p { "Repeat the first: " code { (bucket.repeat) } }
                pre { (bucket.detail) }
            }
            @if !self.missing.is_empty() {
                h2 { "Missing" }
                p { (self.missing.join(", ")) }
            }
            h2 { "Times" }
            table {
                tr { th { "unit or scenario" } th { "items" } th { "seconds" } }
                @for took in self.times() {
                    tr {
                        td { (took.name) }
                        td class="number" { (took.items) }
                        td class="number" { (format!("{:.1}", took.seconds)) }
                    }
                }
            }
            h2 { "Items" }
            table {
                tr { th { "item" } th { "result" } th { "seconds" } th { "repeat" } th { "digest" } }
                @for entry in &self.items {
                    tr {
                        td { (entry.item) }
                        @match entry.failure {
                            None => td class="passed" { "passed" },
                            Some(_) => td class="failed" { "failed" },
                        }
                        td class="number" { (format!("{:.1}", entry.seconds)) }
                        td { code { (entry.repeat) } }
                        td { code { (entry.digest.as_deref().unwrap_or_default()) } }
                    }
                }
            }
        };
        tables("xoff regress", STYLE, &body).into_string()
    }
}

/// Returns a number of things in words: `1 item`, `2 items`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Returns whether an item of the plan belongs to a part. The items are dealt out in turn, so that parts have about the
/// same work.
pub fn in_shard(place: usize, shard: Option<Shard>) -> bool {
    shard.is_none_or(|shard| place % shard.parts as usize == shard.part as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regress::arguments::Seeds;

    #[test]
    fn times_are_those_of_all_variants_and_seeds() {
        let finished = |item: &str, seconds: f64| Finished {
            item: item.into(),
            failure: None,
            digest: None,
            case: None,
            repeat: String::new(),
            seconds,
        };
        let all = [
            finished("unit/pfc/1", 0.5),
            finished("scenario/lossy/base/1", 1.0),
            finished("scenario/lossy/pfc/2", 2.25),
        ];
        let plan = Plan {
            version: VERSION,
            seeds: Seeds { first: 1, last: 2 },
            cases: None,
            set: Vec::new(),
            program: String::new(),
            contents: BTreeMap::new(),
            items: all.iter().map(|entry| entry.item.clone()).collect(),
        };
        let summary = Summary::new(&plan, None, &all);
        let times: Vec<_> = (summary.times().into_iter())
            .map(|took| (took.name, took.items, took.seconds))
            .collect();
        assert_eq!(times, [("unit/pfc", 1, 0.5), ("scenario/lossy", 2, 3.25)]);
    }
}
