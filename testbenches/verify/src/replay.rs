//! `xoff replay`: runs a kept case again and, if it fails, shows the failure: waves around it, layouts for viewers, and
//! an account of what happened last.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use xoff_sim::time::Duration;
use xoff_waves::layout::{Beside, Layout, Marker, nic_layout};

use crate::property::Property;
use crate::property::case_file::{self, CaseFile};
use crate::property::retrace::{Failed, Reached, Retraced, Shows, Wanted, Waves};
use crate::property::run::{SHRINK, shrink_case};
use crate::property::unit::{Unit, WithProperty};
use xoff::Outcome;
use xoff::columns::{Align, Table};
use xoff::interruption::interrupted;
use xoff::terminal::{Ink, Streams};
use xoff::wave::short_names;
use xoff::{shell, whole_file};
use xoff_waves::read::file::Waves as WaveFile;
use xoff_waves::read::rows::{Window, rows};
use xoff_waves::read::value::Radix;

/// The name of the account in the folder of a replay.
pub const ACCOUNT: &str = "failure.txt";
/// The clock of every top.
const CLOCK: &str = "clk_i";
/// Number of clock edges in the account.
const EDGES: usize = 6;
/// Values of more hexadecimal digits than these, 64 bits, are shown in words of so many: the words that change.
const WORD_DIGITS: usize = 16;
/// The most events of the case in the account; the rest is in the case's file.
const MOST_EVENTS: usize = 40;

const HELP: &str = "\
A case that fails leaves a folder, out/replay/CASE/:
  UNIT.fst      waves from --before cycles before the failing cycle to --after
                cycles behind it
  UNIT.gtkw     layout for GTKWave, with a marker at the failing cycle
  UNIT.tcl      start file for GTKWave (-S), which opens it at the marker
  UNIT.sucl     commands for Surfer, with the same marker
  failure.txt   the difference, the case, the last frames or clock edges

The run to the failure has no waves. The window is then reached from the last checkpoint before it \
(nic), or by a second run from the start (units, whose cases are short). What a NIC did wrong may be \
found only when nothing moves any more, so waves of cases of up to 20,000 cycles begin with the \
case. A unit's case ends with its failing cycle unless the difference is found later, so --after \
may have no effect.

Examples:
  xoff replay testbenches/cases/gbn/1f2e3d4c.case
  xoff replay 1f2e3d4c.case --before 2000 --after 500
  # writes the simpler case to out/replay/
  xoff replay long.case --shrink
  xoff wave out/replay/1f2e3d4c/nic1.fst --signals 'write_*' --at clk_i

Exit codes: 0 no difference, 1 a difference, 2 bad input, 130 interrupted.";

/// Runs a kept case again
///
/// Runs the case, without waves and fast. If it fails, the part around the failure is run again with waves.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, after_help = "See --help for the files and examples.")]
pub struct ReplayArgs {
    /// The file of the case, which xoff fuzz or a test wrote
    pub case: PathBuf,
    /// Cycles before the failing cycle in the waves [default: 1000, or all of a case of nic that is short]
    #[arg(long, value_name = "N")]
    pub before: Option<u64>,
    /// Cycles behind the failing cycle in the waves
    #[arg(long, value_name = "M", default_value_t = 50)]
    pub after: u64,
    /// Say only whether it fails
    #[arg(long)]
    pub no_waves: bool,
    /// Waves from the beginning of the case, also if it holds, to compare them with those of another build
    #[arg(long, conflicts_with_all = ["no_waves", "before"])]
    pub whole: bool,
    /// Look for the simplest case that fails too, write it to the folder replay/, and go on with that one
    #[arg(long)]
    pub shrink: bool,
    /// Folder in which the folder replay/CASE/ is created
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    pub out: PathBuf,
}

/// Runs `xoff replay`.
///
/// # Errors
///
/// Returns an error if the file is not a case, or if the results cannot be written.
pub fn run(arguments: &ReplayArgs, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let case = CaseFile::open(&arguments.case)?;
    let unit = Unit::named(&case.unit)
        .map_err(|what| anyhow::anyhow!("{}: line 1: {what}", arguments.case.display()))?;
    unit.with(Replay(arguments, &case, streams))
}

struct Replay<'a>(&'a ReplayArgs, &'a CaseFile, &'a mut Streams);

impl WithProperty for Replay<'_> {
    type Output = anyhow::Result<Outcome>;

    fn with<P: Property>(self) -> anyhow::Result<Outcome> {
        let Self(arguments, case, streams) = self;
        let small = match arguments.shrink {
            true => smaller::<P>(arguments, case, streams)?,
            false => None,
        };
        if small.is_some() && interrupted() {
            writeln!(
                streams.err,
                "xoff: interrupted; the case may not be the smallest"
            )?;
            return Ok(Outcome::Interrupted);
        }
        let (path, case) = match &small {
            Some((path, case)) => (path, case),
            None => (&arguments.case, case),
        };
        match arguments.no_waves {
            true => only::<P>(path, case, streams),
            false => with_waves::<P>(arguments, path, case, streams),
        }
    }
}

/// Shrinks a case, and writes what it becomes. None if it does not fail.
fn smaller<P: Property>(
    arguments: &ReplayArgs,
    case: &CaseFile,
    streams: &mut Streams,
) -> anyhow::Result<Option<(PathBuf, CaseFile)>> {
    let history = case.case::<P>()?;
    let before = history.events.len();
    let shrunk = shrink_case::<P>(case.seed, history, SHRINK)
        .map_err(|error| anyhow::anyhow!("{}: {error}", P::UNIT))?;
    let Some(shrunk) = shrunk else {
        return Ok(None);
    };
    // Shown first, so that a folder that cannot be written loses nothing.
    writeln!(
        streams.out,
        "{}: shrunk in {} steps from {before} events to {}:",
        arguments.case.display(),
        shrunk.steps,
        shrunk.case.events.len()
    )?;
    for line in shrunk.case.explained() {
        writeln!(streams.out, "  {line}")?;
    }
    let folder = arguments.out.join("replay");
    let path = case_file::write::<P>(&folder, case.seed, &shrunk.case, &shrunk.disagreement)?;
    writeln!(streams.out, "written to {}", shell::path(&path))?;
    let case = CaseFile::open(&path)?;
    Ok(Some((path, case)))
}

/// Runs a case and says whether it holds.
///
/// # Errors
///
/// Returns an error if the file is not a case of the unit, or if the output cannot be written.
pub fn only<P: Property>(
    path: &Path,
    case: &CaseFile,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    match case.replay::<P>()? {
        Ok(events) => held::<P>(path, events, streams),
        Err(disagreement) => differs(path, &disagreement, streams),
    }
}

fn held<P: Property>(path: &Path, events: u64, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let good = streams.paint.paint(Ink::Good, "no difference");
    let file = path.display();
    writeln!(streams.out, "{file}: {events} {}, {good}", P::EVENTS)?;
    Ok(Outcome::Held)
}

fn differs(path: &Path, disagreement: &str, streams: &mut Streams) -> anyhow::Result<Outcome> {
    let bad = streams.paint.paint(Ink::Bad, "differs");
    writeln!(streams.out, "{}: {bad}\n{disagreement}", path.display())?;
    Ok(Outcome::Failed)
}

fn with_waves<P: Property>(
    arguments: &ReplayArgs,
    path: &Path,
    case: &CaseFile,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let history = case.case::<P>()?;
    let folder = arguments.out.join("replay");
    let folder = folder.join(path.file_stem().unwrap_or_default());
    let wanted = Wanted {
        folder: folder.clone(),
        before: arguments.before,
        after: arguments.after,
        whole: arguments.whole,
    };
    let failed = match P::retrace(case.seed, &history, &wanted)? {
        Retraced::Held { events, waves } => {
            let outcome = held::<P>(path, events, streams)?;
            for waves in &waves {
                tell(waves, streams)?;
            }
            return Ok(outcome);
        }
        Retraced::Interrupted => {
            writeln!(
                streams.err,
                "xoff: interrupted before a difference was found"
            )?;
            return Ok(Outcome::Interrupted);
        }
        Retraced::Failed(failed) => failed,
    };
    differs(path, &failed.disagreement, streams)?;
    if let Some(Reached {
        run,
        window,
        checkpoint,
    }) = failed.reached
    {
        writeln!(
            streams.out,
            "  reached again from a checkpoint at cycle {checkpoint} in {:.1} ms, {:.0} % of the run's {:.0} ms",
            window.as_secs_f64() * 1e3,
            100.0 * window.as_secs_f64() / run.as_secs_f64(),
            run.as_secs_f64() * 1e3
        )?;
    }
    let lines = history.explained();
    let mut text = account(path, case, &lines, &failed);
    for waves in &failed.waves {
        tell(waves, streams)?;
        if waves.shows == Shows::Unit {
            text += &last_edges(waves)?;
        }
    }
    let file = folder.join(ACCOUNT);
    whole_file::write(&file, text).with_context(|| format!("{}", file.display()))?;
    if let Some(capture) = &failed.capture {
        writeln!(streams.out, "  capture: {}", capture.display())?;
    }
    writeln!(streams.out, "  account: {}", file.display())?;
    if failed.interrupted {
        writeln!(
            streams.err,
            "xoff: interrupted; the waves end before the failing cycle"
        )?;
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Failed)
}

/// Writes the layouts beside a file of waves, and says how to open them.
fn tell(waves: &Waves, streams: &mut Streams) -> anyhow::Result<()> {
    let beside = layouts(waves)?;
    let [wave, gtkwave, start, surfer] =
        [&waves.path, &beside.gtkwave, &beside.start, &beside.surfer].map(|path| shell::path(path));
    writeln!(streams.out, "  waves: gtkwave -S {start} {wave} {gtkwave}")?;
    writeln!(
        streams.out,
        "      or surfer --command-file {surfer} {wave}"
    )?;
    Ok(())
}

/// Writes the layouts beside a file of waves.
fn layouts(waves: &Waves) -> anyhow::Result<Beside> {
    let layout = match &waves.shows {
        Shows::Nic(host) => nic_layout(host),
        Shows::Unit => Layout::of_ports(&waves.path)?,
        Shows::Network => return Ok(Beside::of(&waves.path)),
    };
    let marker = Marker {
        name: "failure".into(),
        time_ps: waves.failed_ps,
    };
    Ok(layout.write_marked(&waves.path, Some(marker))?)
}

/// Returns the account of a failure: the difference, the case, and the last events.
fn account(path: &Path, case: &CaseFile, lines: &[String], failed: &Failed) -> String {
    let mut text = format!(
        "{}: a case of {}, seed {}\n\n{}\n\nThe case:\n",
        path.display(),
        case.unit,
        case.seed,
        failed.disagreement
    );
    for line in lines.iter().take(MOST_EVENTS) {
        let _ = writeln!(text, "  {line}");
    }
    if lines.len() > MOST_EVENTS {
        let _ = writeln!(text, "  … and {} more events", lines.len() - MOST_EVENTS);
    }
    if !failed.events.is_empty() {
        text += "\nThe last frames and completions before the failure:\n";
        for line in &failed.events {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// Returns a table of the ports at the last clock edges until the failing cycle: those that change or are not 0.
fn last_edges(waves: &Waves) -> anyhow::Result<String> {
    let mut file = WaveFile::open(&waves.path)?;
    let is_port = |name: &str| name.matches('.').count() == 1 && !name.ends_with(CLOCK);
    let ports = file.signals.iter().filter(|signal| is_port(&signal.name));
    let ports: Vec<_> = ports.cloned().collect();
    let is_clock = |name: &str| name.matches('.').count() == 1 && name.ends_with(CLOCK);
    let clock = file.signals.iter().find(|signal| is_clock(&signal.name));
    let clock = clock.context("every top has a clock")?.clone();
    // The edge of the failing cycle is the first one behind its beginning.
    let to = Duration::from_ps(waves.failed_ps);
    let window = Window::new(&file, None, None)?;
    let all = rows(&mut file, &ports, window, Some(clock), None)?;
    let behind = all.partition_point(|row| row.tick <= file.tick_at(to.as_ps()));
    let last = &all[..(behind + 1).min(all.len())];
    let last = &last[last.len().saturating_sub(EDGES)..];
    let mut text = format!(
        "\n{}: values before the last {} clock edges; the last one is that of the failing cycle\n",
        waves.path.display(),
        last.len()
    );
    let names = short_names(&ports);
    let mut columns = vec![("time ns".to_owned(), Align::Left)];
    columns.extend(
        last.iter()
            .map(|row| (file.ns_text(row.tick), Align::Right)),
    );
    let mut table = Table::new(columns);
    for (place, (port, name)) in ports.iter().zip(names).enumerate() {
        let values: Vec<String> = (last.iter())
            .map(|row| {
                let value = row.values[place].as_ref();
                value.map_or("-".into(), |value| value.text(&port.kind, Radix::Hex))
            })
            .collect();
        for (name, values) in changing_words(name, values) {
            table.row(Ink::Plain, std::iter::once(name).chain(values));
        }
    }
    text += &table.text();
    Ok(text)
}

/// Returns the rows of a port: its values at the clock edges, unless all are 0. Of values that are too long for a row,
/// the words of 64 bits that change, or that are not 0 if none does; `data[127:64]` is the second of them.
fn changing_words(name: String, values: Vec<String>) -> Vec<(String, Vec<String>)> {
    let zero = |values: &[String]| {
        values
            .iter()
            .all(|value| value.bytes().all(|it| it == b'0'))
    };
    if zero(&values) {
        return Vec::new();
    }
    let longest = values.iter().map(String::len).max().unwrap_or(0);
    let numbers = |value: &String| value.bytes().all(|digit| digit.is_ascii_hexdigit());
    if longest <= WORD_DIGITS || !values.iter().all(numbers) {
        return vec![(name, values)];
    }
    let words = (0..longest.div_ceil(WORD_DIGITS)).rev().map(|word| {
        let of = |value: &String| {
            let end = value.len().saturating_sub(word * WORD_DIGITS);
            value[end.saturating_sub(WORD_DIGITS)..end].to_owned()
        };
        let low = word * WORD_DIGITS * 4;
        let high = (low + WORD_DIGITS * 4).min(longest * 4) - 1;
        let values: Vec<String> = values.iter().map(of).collect();
        (format!("{name}[{high}:{low}]"), values)
    });
    let words: Vec<(String, Vec<String>)> = words.collect();
    let changes = |values: &[String]| values.windows(2).any(|pair| pair[0] != pair[1]);
    let any = words.iter().any(|(_, values)| changes(values));
    let shown = |values: &[String]| if any { changes(values) } else { !zero(values) };
    words
        .into_iter()
        .filter(|(_, values)| shown(values))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_values_the_words_that_change_are_shown() {
        let word = |digit: &str| digit.repeat(WORD_DIGITS);
        let value = |middle: &str| format!("a{}{}{}", word("b"), middle, word("0"));
        let [before, after] = [word("1"), word("2")];
        let rows = changing_words("data".into(), vec![value(&before), value(&after)]);
        assert_eq!(
            rows,
            [("data[127:64]".to_owned(), vec![before.clone(), after])]
        );
        // Nothing changes: what is not 0.
        let names: Vec<String> = changing_words("data".into(), vec![value(&before); 2])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["data[195:192]", "data[191:128]", "data[127:64]"]);
        let short = vec!["0f".to_owned(), "10".to_owned()];
        assert_eq!(
            changing_words("depth".into(), short.clone()),
            [("depth".to_owned(), short)]
        );
        assert_eq!(changing_words("depth".into(), vec!["00".into(); 2]), []);
    }
}
