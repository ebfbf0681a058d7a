//! `xoff regress`: runs the properties of all units and all scenarios over a range of seeds, in parallel, and reports.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | which items there are |
//! | `work` | runs one item |
//! | [`order`] | which item is next |
//! | [`journal`] | finished items, kept so that a killed regression continues and parts can be merged |
//! | [`baseline`] | digests of earlier runs |
//! | [`report`] | failures by cause; JSON, JUnit XML and an HTML page |

mod arguments;
pub mod baseline;
pub mod journal;
pub mod order;
pub mod plan;
pub mod report;
mod work;

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, bail};

pub use arguments::{MergeArgs, RegressArgs, RegressCommand, Seeds, Shard};
use xoff_network::Endpoints;

use self::journal::{Finished, Journal};
use self::order::{Queue, use_of_threads};
use self::plan::Item;
use self::report::{Summary, counted, in_shard};
use self::work::Bench;

use xoff::Outcome;
use xoff::columns::{Align, Table};
use xoff::interruption::interrupted;
use xoff::terminal::{Ink, Progress, Streams};
use xoff::threads::threads;
use xoff::whole_file;

/// Name of the folder of failing cases, in that of results.
const CASES: &str = "cases";
/// Failures shown on the terminal.
const MOST_SHOWN: usize = 20;

/// Runs `xoff regress`.
///
/// # Errors
///
/// Returns an error for invalid arguments, scenarios, journals and baselines, before anything runs, and for files that
/// cannot be written.
pub fn run(
    arguments: &RegressArgs,
    endpoints: &Endpoints,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    if let Some(RegressCommand::Merge(arguments)) = &arguments.command {
        return merge(arguments, streams);
    }
    let (plan, items) = plan::plan(arguments)?;
    let baseline = match &arguments.baseline {
        Some(path) if !arguments.update_baseline => {
            Some((path.as_path(), baseline::read(path, &plan)?))
        }
        _ => None,
    };
    let out = &*arguments.folder();
    // How long items take is also known from another regression in this folder, which a restart discards.
    let earlier = journal::read(out).map_or(Vec::new(), |recorded| recorded.finished);
    let opened = Journal::open(out, &plan, arguments.shard, arguments.restart)?;
    let (mut journal, mut finished) = (opened.journal, opened.finished);
    if let Some(why) = opened.anew {
        let path = out.join(journal::JOURNAL);
        writeln!(streams.err, "xoff: {}: {why}; begins anew", path.display())?;
    }
    let bench = Bench {
        cases: arguments.cases,
        out,
        baseline,
        capture_for: (arguments.baseline.as_deref()).filter(|_| arguments.captures),
        jobs: threads(arguments.jobs),
        per_run: Arc::new(AtomicU32::new(1)),
        endpoints,
    };
    // What ran without the capture that is wanted now runs again.
    finished.retain(|entry| bench.is_captured(entry));
    let mut left: HashMap<&str, &Item> = items.iter().map(|item| (&item.name[..], item)).collect();
    for entry in &mut finished {
        if let Some(item) = left.remove(&entry.item[..]) {
            let before = entry.failure.clone();
            bench.compare(item, entry)?;
            if entry.failure != before {
                journal.add(entry)?;
            }
        }
    }
    let shard = Some(arguments.shard);
    let todo: Vec<&Item> = (items.iter().enumerate())
        .filter(|(at, item)| in_shard(*at, shard) && left.contains_key(&item.name[..]))
        .map(|(_, item)| item)
        .collect();
    if !finished.is_empty() {
        let are = if todo.len() == 1 { "is" } else { "are" };
        writeln!(
            streams.err,
            "xoff: {} finished before, {} {are} left",
            counted(finished.len(), "item"),
            todo.len()
        )?;
    }
    let template = "{wide_bar} {msg}, {eta} left";
    let progress = Progress::new(streams.shown(), todo.len() as u64, template);
    let jobs = bench.jobs.min(todo.len());
    let start = Instant::now();
    let counted_by = (todo.len(), &progress);
    let (new, error) = in_parallel(
        &bench,
        Queue::new(todo, &earlier),
        journal,
        jobs,
        counted_by,
    );
    progress.end();
    let used = use_of_threads(&new, jobs, start.elapsed().as_secs_f64());
    finished.extend(new);
    let summary = Summary::new(&plan, shard, &finished);
    // What was found is kept, whatever happened after it.
    summary.write(out)?;
    if let Some(error) = error {
        return Err(error);
    }
    if arguments.times {
        print_times(&summary, streams)?;
    }
    print(&summary, out, streams)?;
    if let Some(used) = used {
        writeln!(streams.out, "  {used}")?;
    }
    if interrupted() {
        writeln!(
            streams.err,
            "xoff: interrupted; the same command continues with what is left: {}",
            counted(summary.missing.len(), "item")
        )?;
        return Ok(Outcome::Interrupted);
    }
    if let (Some(path), true) = (&arguments.baseline, arguments.update_baseline) {
        let count = baseline::update(path, &plan, &finished)?;
        let count = counted(count, "digest");
        writeln!(streams.out, "  {count}: {}", path.display())?;
    }
    Ok(outcome(&summary))
}

/// Runs items on several threads. Returns those that finished, and the first error, which ends the others.
fn in_parallel(
    bench: &Bench,
    queue: Queue,
    journal: Journal,
    jobs: usize,
    (items, progress): (usize, &Progress),
) -> (Vec<Finished>, Option<anyhow::Error>) {
    let queue = Mutex::new(queue);
    let locked = || queue.lock().expect("no thread panics while it holds this");
    let shared = Mutex::new((journal, Vec::new(), None));
    let next = || locked().take();
    let busy = AtomicU32::new(jobs as u32);
    // All threads are shared by the items that run.
    let share = |running: u32| {
        let each = (bench.jobs as u32).checked_div(running).unwrap_or(1);
        bench.per_run.fetch_max(each, Ordering::Relaxed);
    };
    let work = || {
        while let Some(item) = next() {
            if interrupted() {
                return;
            }
            let result = bench.run(item);
            if let Ok(Some(entry)) = &result {
                locked().learn(entry);
            }
            let mut shared = shared.lock().expect("no thread panics while it holds this");
            let (journal, finished, error) = &mut *shared;
            if error.is_some() {
                return;
            }
            let kept = match result {
                Ok(None) => return,
                Ok(Some(entry)) => journal.add(&entry).map(|()| entry).map_err(Into::into),
                Err(error) => Err(error.context(item.name.clone())),
            };
            match kept {
                Ok(entry) => {
                    finished.push(entry);
                    let failed = finished.iter().filter(|entry| entry.failure.is_some());
                    let words = format!(
                        "{} of {items} items, {} failed, {}",
                        finished.len(),
                        failed.count(),
                        item.name
                    );
                    progress.at(finished.len() as u64, &words);
                }
                Err(first) => {
                    *error = Some(first);
                    return;
                }
            }
        }
    };
    let worker = || {
        work();
        share(busy.fetch_sub(1, Ordering::Relaxed) - 1);
    };
    share(jobs as u32);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(worker);
        }
    });
    let (_, finished, error) = shared.into_inner().expect("no thread panicked");
    (finished, error)
}

/// Runs `xoff regress merge`: combines the journals of several folders.
fn merge(arguments: &MergeArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let mut whole: Option<(plan::Plan, Vec<Finished>)> = None;
    let cases = arguments.out.join(CASES);
    for folder in &arguments.folders {
        if !folder.join(journal::JOURNAL).is_file() {
            bail!(
                "{}: no results of xoff regress: it has no {}",
                folder.display(),
                journal::JOURNAL
            );
        }
        let mut recorded = journal::read(folder)?;
        for entry in &mut recorded.finished {
            adopt_case(entry, &folder.join(CASES), &cases)?;
        }
        let Some((plan, finished)) = &mut whole else {
            whole = Some((recorded.plan, recorded.finished));
            continue;
        };
        if let (true, Some(change)) = (
            plan.same_work(&recorded.plan),
            plan.change_since(&recorded.plan),
        ) {
            bail!(
                "{}: results {change}, if those of {} are right: parts of one regression are merged",
                folder.display(),
                arguments.folders[0].display()
            );
        }
        if *plan != recorded.plan {
            bail!(
                "{}: other seeds, items or settings than {}: parts of one regression are merged",
                folder.display(),
                arguments.folders[0].display()
            );
        }
        for entry in recorded.finished {
            match finished.iter().find(|known| known.item == entry.item) {
                None => finished.push(entry),
                Some(known)
                    if (&known.failure, &known.digest) == (&entry.failure, &entry.digest) => {}
                Some(known) => bail!(
                    "{}: {} has another result than before: digest {} → {}; the same item must give the same",
                    folder.display(),
                    entry.item,
                    known.digest.as_deref().unwrap_or("-"),
                    entry.digest.as_deref().unwrap_or("-")
                ),
            }
        }
    }
    let (plan, finished) = whole.context("no folder")?;
    journal::write(&arguments.out, &plan, &finished)?;
    let summary = Summary::new(&plan, None, &finished);
    summary.write(&arguments.out)?;
    print(&summary, &arguments.out, streams)?;
    Ok(match (outcome(&summary), summary.missing.is_empty()) {
        (Outcome::Held, false) => Outcome::Failed,
        (outcome, _) => outcome,
    })
}

/// Copies the kept case of an item from the folder of a part, and names the copy in the command that repeats it.
fn adopt_case(entry: &mut Finished, from: &Path, to: &Path) -> anyhow::Result<()> {
    let Some(case) = &entry.case else {
        return Ok(());
    };
    let (from, to) = (from.join(case), to.join(case));
    // The results of the part may have come without it.
    if from.is_file() {
        let text = fs::read(&from).with_context(|| from.display().to_string())?;
        let folder = to.parent().expect("it is in a folder");
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        whole_file::write(&to, text).with_context(|| to.display().to_string())?;
        entry.repeat = work::replay(&to);
    }
    Ok(())
}

fn outcome(summary: &Summary) -> Outcome {
    match summary.failed {
        0 => Outcome::Held,
        _ => Outcome::Failed,
    }
}

fn print(summary: &Summary, folder: &Path, streams: &mut Streams) -> anyhow::Result<()> {
    let ink = match summary.failed {
        0 => Ink::Good,
        _ => Ink::Bad,
    };
    let paint = streams.paint;
    writeln!(streams.out, "{}", paint.paint(ink, summary.sentence()))?;
    for bucket in summary.buckets.iter().take(MOST_SHOWN) {
        let count = counted(bucket.items.len(), "item");
        writeln!(
            streams.out,
            "  {}, {count}",
            paint.paint(Ink::Bad, &bucket.cause)
        )?;
        for line in bucket.detail.lines().take(3) {
            writeln!(streams.out, "    {line}")?;
        }
        writeln!(streams.out, "    again: {}", bucket.repeat)?;
    }
    if summary.buckets.len() > MOST_SHOWN {
        let more = summary.buckets.len() - MOST_SHOWN;
        writeln!(streams.out, "  and {more} more causes")?;
    }
    writeln!(
        streams.out,
        "  report: {}",
        folder.join("index.html").display()
    )?;
    Ok(())
}

/// Prints how long each unit and scenario took, and all of them.
fn print_times(summary: &Summary, streams: &mut Streams) -> anyhow::Result<()> {
    let times = summary.times();
    let mut table = Table::new([
        ("unit or scenario", Align::Left),
        ("items", Align::Right),
        ("seconds", Align::Right),
    ]);
    let row = |name: &str, items: usize, seconds: f64| {
        [name.to_owned(), items.to_string(), format!("{seconds:.1}")]
    };
    for took in &times {
        table.row(Ink::Plain, row(took.name, took.items, took.seconds));
    }
    let items = times.iter().map(|took| took.items).sum();
    let seconds = times.iter().map(|took| took.seconds).sum();
    table.row(Ink::Plain, row("all, one after the other", items, seconds));
    table.write(streams)?;
    Ok(())
}
