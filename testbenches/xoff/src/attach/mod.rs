//! `xoff attach`: a NIC whose peer is outside of the simulation, at the other end of a socket or of a TAP device.

mod arguments;
pub(crate) mod cable;
mod clock;
pub(crate) mod drive;
mod guest;
mod pace;
mod recording;
mod table;

use std::collections::BTreeMap;
use std::time::{Duration as Wall, Instant};

use anyhow::Context;
use serde::Serialize;
use xoff_network::attach::{Attached, Ended, Report, Settings};
use xoff_network::results::Stepped;
use xoff_network::{Endpoints, WaveWindow};
use xoff_sim::time::Time;

pub use arguments::{
    AtomicArgs, AtomicType, AttachArgs, CommonArgs, PerftestArgs, PingpongArgs, ReadArgs,
    RpingArgs, ToolArgs, Window,
};
pub(crate) use arguments::{pace, step};
pub use cable::Place;
pub(crate) use clock::Clock;
pub use clock::ClockOptions;
pub use guest::{Place as Monitor, StepOptions};

use cable::Cable;
use drive::End;
use recording::Recording;

use crate::Outcome;
use crate::terminal::Streams;
use crate::whole_file;

/// The end of waves that have none: longer than any run.
const FOREVER: Time = Time::from_ps(u64::MAX >> 1);

/// What `summary.json` has.
#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    report: Report,
    /// The steps of the guest, if it went in step.
    #[serde(skip_serializing_if = "Option::is_none")]
    stepped: Option<Stepped>,
    /// Why it ended before its time.
    error: Option<String>,
    /// Seconds on the wall.
    wall_s: f64,
}

/// Runs `xoff attach`.
///
/// # Errors
///
/// Returns an error if the cable or the NIC cannot be set up, if the peer never comes, goes away or says what no tool
/// says, if the NIC stops working, or if the results cannot be written. But for the first, results are written also
/// then.
pub fn run(
    arguments: &AttachArgs,
    endpoints: &Endpoints,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let clock = ClockOptions::of(arguments.pace, arguments.step, arguments.qmp.as_ref())?;
    let mut attached = Attached::new(&settings(arguments), endpoints)?;
    let out = &arguments.out;
    std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    set_waves(arguments, &mut attached)?;
    let mut recording = Recording::create(&out.join("capture.pcapng"))?;
    let started = Instant::now();
    let mut beside = Beside::default();
    let ended = attach(
        arguments,
        &clock,
        &mut attached,
        &mut recording,
        &mut beside,
        streams,
    );
    recording.close()?;
    if let Some(rtl) = attached.nic_mut().clocked_mut() {
        rtl.close_waves()?;
    }
    let mut report = attached.report();
    report.dropped.extend(beside.dropped);
    let refused = match &report.ended {
        Ended::Refused(why) => Some(why.clone()),
        _ => None,
    };
    let error = (ended.as_ref().err().map(|error| format!("{error:#}"))).or(refused);
    let summary = Summary {
        report,
        stepped: beside.stepped,
        error,
        wall_s: started.elapsed().as_secs_f64(),
    };
    let mut text = serde_json::to_string_pretty(&summary)?;
    text.push('\n');
    let path = out.join("summary.json");
    whole_file::write(&path, &text)
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    match arguments.json {
        true => write!(streams.out, "{text}")?,
        false => table::write(&summary, out, streams)?,
    }
    let ended = ended?;
    match (summary.report.ended, ended) {
        (_, End::Interrupted) => Ok(Outcome::Interrupted),
        (Ended::Complete, _) => Ok(Outcome::Held),
        (Ended::Refused(why), _) => Err(anyhow::Error::msg(why)),
        _ => Ok(Outcome::Failed),
    }
}

/// What is known of a run beside what the NIC and its host know.
#[derive(Debug, Default)]
struct Beside {
    /// Frames that the cable has lost, by reason.
    dropped: BTreeMap<String, u64>,
    /// The steps of a guest.
    stepped: Option<Stepped>,
}

/// Waits for the peer, and runs with it.
fn attach(
    arguments: &AttachArgs,
    clock: &ClockOptions,
    attached: &mut Attached,
    recording: &mut Recording,
    beside: &mut Beside,
    streams: &mut Streams,
) -> anyhow::Result<End> {
    let wait = Wall::from_secs(arguments.wait);
    let place = &arguments.cable;
    let cable = match arguments.connect {
        true => Some(Cable::connect(place)?),
        false => {
            let advice = place.advice();
            writeln!(streams.err, "attach: waits for a peer at {place}{advice}")?;
            streams.err.flush()?;
            Cable::listen(place, wait)?
        }
    };
    let Some(mut cable) = cable else {
        return Ok(End::Interrupted);
    };
    // A guest is left running when its clock ends.
    let Some(mut clock) = Clock::start(clock, wait)? else {
        return Ok(End::Interrupted);
    };
    let end = drive::drive(attached, &mut cable, recording, wait, &mut clock);
    beside.dropped = cable.dropped();
    beside.stepped = clock.stepped();
    end
}

fn settings(arguments: &AttachArgs) -> Settings {
    let (tool, role) = arguments.tool.tool();
    Settings {
        nic: arguments.nic.kind(),
        mac: arguments.mac,
        ipv4: arguments.ip,
        ipv6: arguments.ipv6,
        tool,
        role,
        dscp: 0,
        faults_in: arguments.fault_in.clone(),
        faults_out: arguments.fault_out.clone(),
        seed: arguments.seed,
    }
}

/// Has the NIC write waves.
fn set_waves(arguments: &AttachArgs, attached: &mut Attached) -> anyhow::Result<()> {
    let Some(window) = arguments.waves else {
        return Ok(());
    };
    let rtl = attached.nic_mut().clocked_mut();
    let rtl = rtl.context("--waves: this NIC has none; the RTL has")?;
    rtl.set_waves(WaveWindow {
        path: arguments.out.join("waves.fst"),
        from: Time::ZERO + window.from,
        until: window.until.map_or(FOREVER, |until| Time::ZERO + until),
        only: Vec::new(),
    });
    Ok(())
}
