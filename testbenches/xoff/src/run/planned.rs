//! The runs that a command line asks for, checked before the first begins.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use xoff_network::plan::Plan;
use xoff_network::scenario::{Checked, NicKind, Scenario};
use xoff_network::{Endpoints, WaveWindow};
use xoff_sim::kernel::{Digest, NodeId, PortId};
use xoff_sim::time::Time;
use xoff_waves::fabric::FABRIC;
use xoff_waves::read::condition::Condition;
use xoff_waves::results::CAPTURE;

use super::arguments::{RunArgs, SweepArg, WavesArg};
use super::checkpoint::Every;
use super::execute::{self, RunOptions};
use super::monitors::broken_by_design;
use super::outside::PeerOptions;
use super::trigger::{Signals, Trigger};
use crate::ranks::Ranks;
use crate::scenario_file::{STANDARD_INPUT, Setting, Source};
use crate::shell;
use crate::terminal::{Shown, Streams};

/// Returns every combination of the sweeps' values, or one empty combination if there are no sweeps.
fn combinations(sweeps: &[SweepArg]) -> Vec<Vec<Setting>> {
    let mut all = vec![vec![]];
    for sweep in sweeps {
        let with = |settings: &Vec<Setting>| {
            let settings = settings.clone();
            sweep.values.iter().map(move |value| {
                let mut settings = settings.clone();
                settings.push(Setting {
                    key: sweep.key.clone(),
                    value: value.clone(),
                });
                settings
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Longest name of a folder, in bytes. File systems take 255.
const LONGEST_NAME: usize = 200;

/// The name of the folder of a run: that of the scenario, with the keys and values of a sweep. A longer one than
/// file systems take ends with a digest of the whole.
fn folder_name(scenario: &str, swept: &[Setting]) -> String {
    let plain = |text: &str| {
        text.replace(
            |c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-',
            "_",
        )
    };
    let mut name = scenario.to_owned();
    for Setting { key, value } in swept {
        let _ = write!(name, ",{}={}", plain(key), plain(value));
    }
    if name.len() > LONGEST_NAME {
        let mut digest = Digest::default();
        digest.bytes(name.as_bytes());
        let end = name.floor_char_boundary(LONGEST_NAME - 17);
        name.truncate(end);
        let _ = write!(name, ",{digest}");
    }
    name
}

/// A run that is checked and not begun.
pub(super) struct PlannedRun {
    pub scenario: Checked,
    /// The name of its folder.
    pub name: String,
    /// The values of the sweep.
    pub values: Vec<String>,
    pub options: RunOptions,
}

/// All runs of a command line.
pub(super) struct Planned {
    /// The scenario's name, the title of its first run, and the folder that its paths start from.
    pub name: String,
    pub title: String,
    pub folder: PathBuf,
    pub runs: Vec<PlannedRun>,
}

/// Reads and checks all runs.
pub(super) fn plan(
    arguments: &RunArgs,
    endpoints: &Endpoints,
    ranks: &Ranks,
    streams: &Streams,
) -> anyhow::Result<Planned> {
    if ranks.number() > 1 && arguments.scenario == STANDARD_INPUT {
        bail!(
            "-: all ranks read the scenario, and standard input is that of one alone; name a file"
        );
    }
    let source = Source::find(&arguments.scenario)?;
    let mut runs = Vec::new();
    let mut title = String::new();
    let combinations = combinations(&arguments.sweep);
    let number = combinations.len();
    for (index, extra) in combinations.into_iter().enumerate() {
        let settings: Vec<Setting> = arguments.set.iter().chain(&extra).cloned().collect();
        let scenario = source.read_with_seed(&settings, arguments.seed)?;
        let name = folder_name(&scenario.name, &extra);
        let words = command(arguments, &settings, scenario.seed);
        let folder = arguments.out.join(&name);
        let mut options = options(arguments, endpoints, &scenario, words, &folder, streams)?;
        options.which = (number > 1).then(|| format!("run {} of {number}", index + 1));
        divide(&mut options, ranks)?;
        execute::check(&scenario, &options)?;
        if title.is_empty() {
            title.clone_from(&scenario.title);
        }
        runs.push(PlannedRun {
            scenario,
            name,
            values: extra.into_iter().map(|setting| setting.value).collect(),
            options,
        });
    }
    Ok(Planned {
        name: source.name,
        title,
        folder: source.folder,
        runs,
    })
}

/// Divides a run among ranks, if there are several.
fn divide(options: &mut RunOptions, ranks: &Ranks) -> anyhow::Result<()> {
    let Some(way) = ranks.way() else {
        return Ok(());
    };
    let number = ranks.number();
    let not_yet = [
        ("--attach", options.peer.is_some()),
        (
            "--waves",
            !options.waves.is_empty() || options.fabric.is_some(),
        ),
        ("--wave-when", options.trigger.is_some()),
    ];
    if let Some((option, _)) = not_yet.into_iter().find(|(_, wanted)| *wanted) {
        bail!(
            "{option}: not in a run of {number} ranks: one rank comes to the same result, and has it"
        );
    }
    // Each rank is a thread already.
    options.threads = options.threads.or(Some(1));
    options.way = Some(way);
    Ok(())
}

/// Returns the command line that repeats a run.
fn command(arguments: &RunArgs, settings: &[Setting], seed: u64) -> String {
    let mut words = format!("xoff run {}", shell::quoted(&arguments.scenario));
    for Setting { key, value } in settings {
        let _ = write!(words, " --set '{key}={value}'");
    }
    let _ = write!(words, " --seed {seed}");
    words
}

fn options(
    arguments: &RunArgs,
    endpoints: &Endpoints,
    scenario: &Checked,
    command: String,
    folder: &Path,
    streams: &Streams,
) -> anyhow::Result<RunOptions> {
    let plan = Plan::new(scenario);
    let capture = match &arguments.pcap {
        None => None,
        Some(ports) => Some((ports_of(&plan, "--pcap", ports)?, folder.join(CAPTURE))),
    };
    // Rules that do not exist are named without `--check` too.
    broken_by_design(scenario)?;
    let check = (arguments.check.as_ref())
        .map(|ports| ports_of(&plan, "--check", ports))
        .transpose()?;
    let mut waves = Vec::new();
    let mut network = Vec::new();
    let is_host = |name: &str| plan.names[..plan.hosts].iter().any(|host| host == name);
    for WavesArg { host, from, until } in &arguments.waves {
        let is_host = is_host(host);
        if !is_host && host != FABRIC {
            bail!(
                "--waves {host}: no such host: hosts are {}; {FABRIC} is the network",
                plan.names[..plan.hosts].join(", ")
            );
        }
        if *from >= scenario.duration {
            bail!(
                "--waves {host}: the window begins at {from}, and the run ends at {}",
                scenario.duration
            );
        }
        let until = until.map_or(Time::MAX, |until| Time::ZERO + until);
        if !is_host {
            network.push((Time::ZERO + *from, until));
            continue;
        }
        let without = match scenario.nic_of(host) {
            Some(NicKind::Model) => Some("its NIC is a model"),
            Some(NicKind::Tcp) => Some("it speaks TCP in software"),
            Some(NicKind::Attached) => Some("it is outside"),
            _ => None,
        };
        if let Some(why) = without {
            bail!("--waves {host}: {why}, and only RTL has waves: nic = \"rtl\"");
        }
        let window = WaveWindow {
            path: folder.join(format!("{host}.fst")),
            from: Time::ZERO + *from,
            until,
            only: Vec::new(),
        };
        waves.push((host.clone(), window));
    }
    let trigger = match &arguments.wave_when {
        None => None,
        Some(condition) => Some(trigger(
            arguments, condition, scenario, &plan, endpoints, folder,
        )?),
    };
    // A host with this name has the file.
    let wanted = !waves.is_empty() || trigger.is_some() || !network.is_empty();
    let fabric =
        (wanted && !is_host(FABRIC)).then(|| (folder.join(FABRIC).with_extension("fst"), network));
    if arguments.resume.is_some() && arguments.checkpoints == Every::Off {
        bail!("--resume: with --checkpoints off none is read");
    }
    let checkpoints = match arguments.checkpoints {
        // A sweep is many runs, few of which are looked at again.
        Every::Auto if !arguments.sweep.is_empty() => Every::Off,
        Every::Auto if arguments.attach.is_some() => Every::Off,
        Every::Interval(_) if arguments.attach.is_some() => {
            bail!("--checkpoints: not with --attach: nobody can save the peer")
        }
        every => every,
    };
    Ok(RunOptions {
        command,
        threads: arguments.threads.map(usize::from),
        shared_threads: None,
        no_skip: arguments.no_skip,
        fabric,
        capture,
        check,
        waves,
        trigger,
        checkpoints: Some((arguments.out.clone(), checkpoints)),
        progress: match (streams.shown(), arguments.json) {
            (Shown::Bar, true) => Shown::Nothing,
            (shown, _) => shown,
        },
        which: None,
        endpoints: endpoints.clone(),
        peer: PeerOptions::of(arguments)?,
        way: None,
    })
}

/// The trigger of `--wave-when`, whose signals exist.
fn trigger(
    arguments: &RunArgs,
    condition: &Condition,
    scenario: &Scenario,
    plan: &Plan,
    endpoints: &Endpoints,
    folder: &Path,
) -> anyhow::Result<Trigger> {
    let from = arguments.wave_from.unwrap_or_default();
    if from >= scenario.duration {
        bail!("--wave-from {from}: the run ends at {}", scenario.duration);
    }
    let host = Trigger::host(condition, scenario, plan)?;
    let nic = scenario.nic_of(&host).unwrap_or(&scenario.host.nic);
    let signals = Signals::find(condition, &host, nic, endpoints)?;
    Ok(Trigger {
        signals,
        path: folder.join(format!("{host}.fst")),
        host,
        condition: condition.clone(),
        from: Time::ZERO + from,
        cycles: [arguments.wave_before, arguments.wave_after],
    })
}

/// Parses the value of `option`: `all`, or names of nodes and ports: `a`, `s.2`.
fn ports_of(plan: &Plan, option: &str, text: &str) -> anyhow::Result<Vec<(NodeId, PortId)>> {
    let all =
        |node: usize| (0..plan.ports[node]).map(move |port| (NodeId(node as u32), PortId(port)));
    if text == "all" {
        return Ok(plan.all_ports());
    }
    let mut ports = Vec::new();
    for name in text.split(',') {
        let (node, port) = match name.split_once('.') {
            Some((node, port)) => (node, Some(port)),
            None => (name, None),
        };
        let number = plan.names.iter().position(|known| known == node);
        let number = number.with_context(|| {
            format!(
                "{option} {name}: no such node: nodes are {}",
                plan.names.join(", ")
            )
        })?;
        match port {
            None => ports.extend(all(number)),
            Some(port) => {
                let read = port.parse().ok().filter(|port| *port < plan.ports[number]);
                let read = read.with_context(|| {
                    format!(
                        "{option} {name}: {node} has ports 0 to {}",
                        plan.ports[number].saturating_sub(1)
                    )
                })?;
                ports.push((NodeId(number as u32), PortId(read)));
            }
        }
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of files have 255 bytes at most; two runs of a sweep never have the same.
    #[test]
    fn folders_of_long_sweeps_have_names_that_file_systems_take() {
        let swept = |last: &str| -> Vec<Setting> {
            let keys = (0..12).map(|switch| Setting {
                key: format!("switches.S{switch}.ecn.kmin"),
                value: "\"2.5 KB\"".into(),
            });
            let last = Setting {
                key: "seed".into(),
                value: last.into(),
            };
            keys.chain([last]).collect()
        };
        let [one, two] = ["1", "2"].map(|seed| folder_name("ä-long-scenario", &swept(seed)));
        assert!(one.len() <= LONGEST_NAME && two.len() <= LONGEST_NAME);
        assert!(one.starts_with("ä-long-scenario,switches.S0.ecn.kmin=_2.5_KB_,"));
        assert_ne!(one, two);
        let short = [swept("1").pop().unwrap()];
        assert_eq!(folder_name("pair", &short), "pair,seed=1");
    }
}
