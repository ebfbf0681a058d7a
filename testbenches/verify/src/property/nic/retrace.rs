//! A failing case of two NICs, with waves. The run to the failure keeps checkpoints in memory; the window of waves is
//! reached from the last one before it.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use xoff_network::{Clocked, WaveWindow};
use xoff_sim::frame::Frame;
use xoff_sim::kernel::{Direction, NodeId, PortId, Record};
use xoff_sim::time::{LineRate, Time};
use xoff_waves::capture::{TapPort, TapWriter};

use super::bench::{Bench, compare, first_other_frame};
use super::events::{Event, Head};
use super::pair::{PERIOD, STEP_MAX};
use crate::property::Disagreement;
use crate::property::retrace::{
    BEFORE, Failed, Reached, Retraced, Shows, Wanted, Waves, in_a_line,
};
use crate::property::run::caught;
use xoff::interruption::interrupted;

/// Cycles between two checkpoints at the beginning of a run.
const GAP: u64 = 500;
/// The most checkpoints. When there are more, every second one is dropped and the gap is doubled, so the way from a
/// checkpoint to a window is at most a sixteenth of the run.
const MOST_CHECKPOINTS: usize = 32;
/// The most frames and completions in the account of a failure.
const MOST_EVENTS: usize = 20;

/// How the message of a [`verilated::TraceError`] begins when a disk is full.
const CANNOT_TRACE: &str = "cannot write waves of";

/// A case of so many cycles is shown from its beginning.
const SHORT: u64 = 20_000;

/// Checkpoints by cycle, ascending.
struct Checkpoints {
    kept: Vec<(u64, Vec<u8>)>,
    gap: u64,
    next: u64,
}

impl Checkpoints {
    fn offer(&mut self, bench: &Bench) -> anyhow::Result<()> {
        let now = bench.now();
        if now < self.next {
            return Ok(());
        }
        self.kept.push((now, postcard::to_stdvec(bench)?));
        if self.kept.len() > MOST_CHECKPOINTS {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.gap *= 2;
        }
        self.next = now + self.gap;
        Ok(())
    }

    /// The last one at or before a cycle. The first is at cycle 0.
    fn before(&self, cycle: u64) -> &(u64, Vec<u8>) {
        let behind = self.kept.partition_point(|(at, _)| *at <= cycle);
        &self.kept[behind.saturating_sub(1)]
    }
}

/// A run to its first violation.
struct Violated {
    disagreement: Disagreement,
    checkpoints: Checkpoints,
    /// The step in which it failed, by its number; none if it is the comparison of two runs that failed.
    number: Option<u64>,
    /// The cycles in which that step began and ended; without it twice that of the first difference.
    step: (u64, u64),
    bench: Bench,
}

/// Runs a case, and its failure again with waves of both NICs.
///
/// # Errors
///
/// A NIC cannot be created, or waves cannot be written.
pub fn nics(seed: u64, head: &Head, events: &[Event], wanted: &Wanted) -> anyhow::Result<Retraced> {
    let began = Instant::now();
    let failed = match to_failure(seed, head, events)? {
        Run::Held(frames) => {
            let waves = match wanted.whole {
                true => whole(seed, head, events, wanted)?,
                false => {
                    wanted.clear()?;
                    Vec::new()
                }
            };
            return Ok(Retraced::Held {
                events: frames,
                waves,
            });
        }
        Run::Interrupted => return Ok(Retraced::Interrupted),
        Run::Violated(failed) => failed,
    };
    let run = began.elapsed();
    wanted.create()?;

    let began = Instant::now();
    let from = match wanted.whole {
        true => 0,
        false => match wanted.before {
            Some(cycles) => failed.step.0.saturating_sub(cycles),
            // What a NIC did wrong may be found when nothing moves any more, long after it. An idle NIC is not
            // evaluated, so that waves of a short case are small.
            None if failed.step.0 <= SHORT => 0,
            None => last_frame(&failed.bench)
                .min(failed.step.0)
                .saturating_sub(BEFORE),
        },
    };
    let (checkpoint, state) = failed.checkpoints.before(from);
    let mut bench: Bench = postcard::from_bytes(state).context("a checkpoint of this run")?;
    let mut waves = Vec::new();
    let due = |bench: &Bench| match failed.number {
        _ if interrupted() => false,
        Some(number) => bench.steps() < number,
        None => bench.now() < failed.step.0,
    };
    // The first run went on here without a failure, so what fails now is the waves.
    let folder = wanted.folder.display();
    let goes_on = |bench: &mut Bench| {
        caught(|| bench.advance(events))
            .map_err(|what| anyhow::anyhow!("{folder}: no waves of the failure: {what}"))
    };
    while due(&bench) && bench.now() + STEP_MAX < from && goes_on(&mut bench)? {}
    let window = began.elapsed();
    for side in 0..2 {
        waves.push(trace(
            &mut bench,
            side,
            wanted,
            from..failed.step.1 + wanted.after,
        ));
    }
    while due(&bench) && goes_on(&mut bench)? {}
    // The cycle of the failure within the step. It may also be found by what the case has no step for.
    let mut cycle = failed.step.1;
    while bench.now() < failed.step.1 && !interrupted() {
        if let Err(what) = caught(|| bench.step(1)) {
            if what.contains(CANNOT_TRACE) {
                bail!("{folder}: no waves of the failure: {what}");
            }
            cycle = bench.now();
            break;
        }
    }
    // What comes behind it is not judged.
    let end = cycle + wanted.after;
    while bench.now() < end && !interrupted() {
        let cycles = (end - bench.now()).min(STEP_MAX);
        if caught(|| bench.run_on(cycles).map_err(|error| error.to_string())).is_err() {
            break;
        }
    }
    Ok(Retraced::Failed(Failed {
        interrupted: interrupted(),
        disagreement: failed.disagreement,
        waves: traced(&mut bench, waves, cycle)?,
        events: account(&failed.bench, cycle),
        capture: Some(capture(&failed.bench, cycle, wanted)?),
        // There is no way to a window that begins with the case.
        reached: (from > 0).then_some(Reached {
            run,
            window,
            checkpoint: *checkpoint,
        }),
    }))
}

/// The cycle in which the last frame was sent or had arrived.
fn last_frame(bench: &Bench) -> u64 {
    let sent = bench.pair.frames.iter().map(|(_, frame, _)| frame.end);
    let arrived = bench.pair.arrivals.iter().map(|(_, frame)| frame.end);
    let last = sent.chain(arrived).max();
    last.map_or(0, |last| last.since_start().as_ps() / PERIOD.as_ps())
}

/// Begins waves of a NIC in a window of cycles, and returns their file.
fn trace(bench: &mut Bench, side: usize, wanted: &Wanted, cycles: Range<u64>) -> PathBuf {
    let path = wanted.folder.join(format!("nic{side}.fst"));
    let window = WaveWindow {
        path: path.clone(),
        from: Time::ZERO + PERIOD * cycles.start,
        until: Time::ZERO + PERIOD * cycles.end,
        only: Vec::new(),
    };
    bench.pair.update(side, |host| host.set_waves(window));
    path
}

/// Ends the waves of both NICs, with their mark at a cycle.
fn traced(bench: &mut Bench, files: Vec<PathBuf>, cycle: u64) -> anyhow::Result<Vec<Waves>> {
    for side in 0..2 {
        bench.pair.update(side, |host| host.close_waves())?;
    }
    let marked = Time::ZERO + PERIOD * (cycle.max(1) - 1);
    // An idle NIC is not evaluated, so it may have nothing in the window.
    let files = (0..2).zip(files).filter(|(_, path)| path.exists());
    let waves = files.map(|(side, path)| Waves {
        path,
        shows: Shows::Nic(format!("nic{side}")),
        failed_ps: marked.as_ps(),
    });
    Ok(waves.collect())
}

/// Waves of both NICs from the beginning to the end of a case that holds.
fn whole(seed: u64, head: &Head, events: &[Event], wanted: &Wanted) -> anyhow::Result<Vec<Waves>> {
    /// More than any case has.
    const END: u64 = 1 << 40;
    wanted.create()?;
    let mut bench = Bench::new(seed, head, true)?;
    let files = (0..2)
        .map(|side| trace(&mut bench, side, wanted, 0..END))
        .collect();
    let goes_on = |bench: &mut Bench| {
        let folder = wanted.folder.display();
        caught(|| bench.advance(events)).map_err(|what| anyhow::anyhow!("{folder}: {what}"))
    };
    while !interrupted() && goes_on(&mut bench)? {}
    let last = bench.now();
    traced(&mut bench, files, last)
}

/// The result of a run.
enum Run {
    Held(u64),
    Violated(Box<Violated>),
    Interrupted,
}

/// Runs a case to its first violation.
fn to_failure(seed: u64, head: &Head, events: &[Event]) -> anyhow::Result<Run> {
    let mut done: Vec<Bench> = Vec::new();
    let passes: &[bool] = if head.twice { &[true, false] } else { &[true] };
    for &skip in passes {
        let mut bench = Bench::new(seed, head, skip)?;
        let mut checkpoints = Checkpoints {
            kept: Vec::new(),
            gap: GAP,
            next: 0,
        };
        let violated = loop {
            if interrupted() {
                return Ok(Run::Interrupted);
            }
            checkpoints.offer(&bench)?;
            let (before, number) = (bench.now(), bench.steps());
            match caught(|| bench.advance(events)) {
                Ok(true) => {}
                // Of two passes that held, the difference may be what does not.
                Ok(false) => {
                    break match done.first().map(|first| compare(&first.pair, &bench.pair)) {
                        Some(Err(disagreement)) => {
                            let cycle = first_other_frame(&done[0].pair, &bench.pair);
                            let cycle = cycle.unwrap_or(bench.now());
                            Some((disagreement, None, (cycle, cycle)))
                        }
                        _ => None,
                    };
                }
                Err(disagreement) => {
                    break Some((disagreement, Some(number), (before, bench.now())));
                }
            }
        };
        if let Some((disagreement, number, step)) = violated {
            return Ok(Run::Violated(Box::new(Violated {
                disagreement,
                checkpoints,
                number,
                step,
                bench,
            })));
        }
        done.push(bench);
    }
    Ok(Run::Held(done[0].pair.frames.len() as u64))
}

/// Writes a capture of what both NICs sent and received, with a comment at the failing cycle, and returns its file.
fn capture(bench: &Bench, cycle: u64, wanted: &Wanted) -> anyhow::Result<PathBuf> {
    let record = |side: usize, direction: Direction, frame: &Frame| Record {
        node: NodeId(side as u32),
        port: PortId(0),
        direction,
        frame: frame.clone(),
    };
    let sent =
        (bench.pair.frames.iter()).map(|(side, frame, _)| record(*side, Direction::Sent, frame));
    let arrived =
        (bench.pair.arrivals.iter()).map(|(side, frame)| record(*side, Direction::Received, frame));
    let mut records: Vec<_> = sent.chain(arrived).collect();
    records.sort_by_key(|record| record.frame.end);
    let path = wanted.folder.join("capture.pcapng");
    let write = || -> std::io::Result<()> {
        let ports = (0..2).map(|side| TapPort {
            node: NodeId(side),
            port: PortId(0),
            name: format!("nic{side}"),
            rate: Some(LineRate::G40),
        });
        let mut writer = TapWriter::new(File::create(&path)?, ports)?;
        let failed = Time::ZERO + PERIOD * cycle;
        let before = records.partition_point(|record| record.frame.end <= failed);
        records[..before]
            .iter()
            .try_for_each(|record| writer.write(record))?;
        let text = format!("the failure was found here, in cycle {cycle}");
        writer.comment(failed.as_ps() / 1_000, &text)?;
        records[before..]
            .iter()
            .try_for_each(|record| writer.write(record))?;
        writer.flush()
    };
    write().with_context(|| format!("{}: cannot be written", path.display()))?;
    Ok(path)
}

/// Returns the last frames and completions until a cycle.
fn account(bench: &Bench, cycle: u64) -> Vec<String> {
    let until = Time::ZERO + PERIOD * cycle;
    let frames = bench.pair.frames.iter();
    let mut frames: Vec<_> = frames.filter(|(_, frame, _)| frame.start < until).collect();
    frames.sort_by_key(|(_, frame, _)| frame.start);
    frames.drain(..frames.len().saturating_sub(MOST_EVENTS));
    let mut lines = Vec::new();
    for (side, frame, parsed) in frames {
        lines.push(format!(
            "{:>9} ns  nic{side} sent {}",
            frame.start.as_ps() / 1_000,
            in_a_line(parsed)
        ));
    }
    for (side, completions) in bench.pair.completions.iter().enumerate() {
        if let Some((qp, last)) = completions.last() {
            lines.push(format!(
                "nic{side}: {} completions, the last at QP {qp}: {last:?}",
                completions.len()
            ));
        }
    }
    lines
}
