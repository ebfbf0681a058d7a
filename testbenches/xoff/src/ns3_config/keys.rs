//! What each key means here. Meanings and units are those of HPCC's `third.cc` and of its description of the file.

use std::path::{Path, PathBuf};

use toml::Value;
use xoff_network::scenario::check::Issues;
use xoff_network::scenario::ns3::{FlowList, Network, bits_per_second};

use super::{Draft, Line};
use crate::text_file;

/// Output files, and what is written into them.
const OUTPUTS: [&str; 12] = [
    "TRACE_FILE",
    "TRACE_OUTPUT_FILE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "SEND_OUTPUT_FILE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
    "ENABLE_TRACE",
    "TRACE_START_TIME",
    "TRACE_END_TIME",
    "FLOW_OUTPUT_FILE",
];
/// Parameters of other congestion control than DCQCN.
const OTHER_CONTROL: [&str; 12] = [
    "DCTCP_RATE_AI",
    "U_TARGET",
    "MI_THRESH",
    "INT_MULTI",
    "MULTI_RATE",
    "SAMPLE_FEEDBACK",
    "PINT_LOG_BASE",
    "PINT_PROB",
    "FAST_REACT",
    "VAR_WIN",
    "GLOBAL_T",
    "TIMELY_BETA",
];
/// Names of congestion control by CC_MODE.
const CONTROLS: [(&str, &str); 5] = [
    ("3", "HPCC"),
    ("7", "TIMELY"),
    ("8", "DCTCP"),
    ("10", "HPCC-PINT"),
    ("11", "HPCC-PINT"),
];
/// Lengths of a path MTU.
const MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// Takes a line.
pub(super) fn take(draft: &mut Draft, line: &Line, config: &Path) {
    let file = config.display().to_string();
    if let Err(problem) = taken(draft, line, config) {
        draft.wrong(line, &file, problem);
    }
}

/// A number that a key has.
fn number(line: &Line) -> Result<f64, String> {
    let [value] = &line.values[..] else {
        return Err(format!("{} values: one", line.values.len()));
    };
    let number = value
        .parse()
        .ok()
        .filter(|value: &f64| *value >= 0.0 && value.is_finite());
    number.ok_or_else(|| format!("{value}: a number, 0 or more"))
}

fn switch(line: &Line) -> Result<bool, String> {
    match line.values.first().map(String::as_str) {
        Some("0") if line.values.len() == 1 => Ok(false),
        Some("1") if line.values.len() == 1 => Ok(true),
        _ => Err(format!("{}: 0 or 1", line.values.join(" "))),
    }
}

/// A rate such as `50Mb/s` or `100Gbps`, as a scenario has it.
fn rate(line: &Line) -> Result<String, String> {
    let [text] = &line.values[..] else {
        return Err(format!("{} values: one", line.values.len()));
    };
    match bits_per_second(text) {
        Some(bits) => Ok(format!("{} Mb/s", bits / 1e6)),
        None => Err(format!("{text}: a rate such as 50Mb/s")),
    }
}

/// Entries of a table by rate: their number, then rate and value in turn.
fn by_rate(line: &Line) -> Result<Vec<(u64, f64)>, String> {
    let wrong = || {
        format!(
            "{}: a number n, and n times a rate in bits a second and a value",
            line.values.join(" ")
        )
    };
    let numbers: Option<Vec<f64>> = line.values.iter().map(|value| value.parse().ok()).collect();
    let numbers = numbers.ok_or_else(wrong)?;
    match numbers.split_first() {
        Some((count, rest)) if rest.len() as f64 == 2.0 * count => Ok(rest
            .chunks_exact(2)
            .map(|pair| (pair[0] as u64, pair[1]))
            .collect()),
        _ => Err(wrong()),
    }
}

/// Reads a file that the line names: as its path says, or from the folder of the config, or from the one above it, from
/// which ns-3 is often started.
fn read<T>(
    line: &Line,
    config: &Path,
    parse: impl FnOnce(&str, &str) -> Result<T, Issues>,
) -> Result<(PathBuf, T), String> {
    let [name] = &line.values[..] else {
        return Err(format!("{} values: a path", line.values.len()));
    };
    let folders = [
        Some(Path::new("")),
        config.parent(),
        config.parent().and_then(Path::parent),
    ];
    let paths = folders
        .into_iter()
        .flatten()
        .map(|folder| folder.join(name));
    let path = paths.clone().find(|path| path.is_file()).ok_or_else(|| {
        let tried: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        format!("there is no file {}", tried.join(", nor "))
    })?;
    let text = text_file::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let read = parse(&path.display().to_string(), &text).map_err(|issues| {
        let issues: Vec<String> = issues
            .0
            .iter()
            .map(|it| format!("{}: {}", it.key, it.message))
            .collect();
        issues.join("; ")
    })?;
    Ok((path, read))
}

/// DCQCN, or none.
fn congestion_control(draft: &mut Draft, line: &Line) {
    let mode = line.values.first().map(String::as_str);
    draft.set("host.dcqcn.on", mode == Some("1"));
    if !matches!(mode, Some("0" | "1")) {
        let name = CONTROLS.iter().find(|(known, _)| Some(*known) == mode);
        let name = name.map_or("congestion control of its own", |(_, name)| name);
        let why = format!(
            "{name} is not built in: none is on; docs/own-congestion.md says how to add it"
        );
        draft.notes.push(line.note(&why));
    }
}

/// The path MTU that is nearest to the payload of a packet.
fn payload(draft: &mut Draft, line: &Line) -> Result<(), String> {
    let bytes = number(line)?;
    let nearest = MTUS
        .into_iter()
        .min_by_key(|mtu| (f64::from(*mtu) - bytes).abs() as u64);
    let mtu = nearest.unwrap_or(1024);
    draft.flow("mtu", i64::from(mtu));
    if f64::from(mtu) != bytes {
        let why = format!("no path MTU of InfiniBand; the nearest, {mtu}, is taken");
        draft.notes.push(line.note(&why));
    }
    Ok(())
}

fn taken(draft: &mut Draft, line: &Line, config: &Path) -> Result<(), String> {
    let not_taken = |draft: &mut Draft, why: &str| draft.notes.push(line.note(why));
    let micros = |line: &Line| number(line).map(|value| Value::from(format!("{value} us")));
    match &line.key[..] {
        "TOPOLOGY_FILE" => draft.network = Some(read(line, config, Network::parse)?),
        "FLOW_FILE" => draft.flows = Some(read(line, config, FlowList::parse)?),
        "SIMULATOR_STOP_TIME" => draft.stop = Some(number(line)?),
        "ENABLE_QCN" => draft.marks = switch(line)?,
        "CC_MODE" => congestion_control(draft, line),
        "ALPHA_RESUME_INTERVAL" => draft.set("host.dcqcn.alpha_timer", micros(line)?),
        "RP_TIMER" => draft.set("host.dcqcn.rate_timer", micros(line)?),
        "EWMA_GAIN" => draft.set("host.dcqcn.g", number(line)?),
        "FAST_RECOVERY_TIMES" => draft.set("host.dcqcn.stages", number(line)? as i64),
        "RATE_AI" => draft.set("host.dcqcn.rate_ai", rate(line)?),
        "RATE_HAI" => draft.set("host.dcqcn.rate_hai", rate(line)?),
        "MIN_RATE" => not_taken(draft, "the least rate is fixed here"),
        "RATE_DECREASE_INTERVAL" => not_taken(
            draft,
            "each CNP cuts the rate, and host.dcqcn.cnp_interval spaces them",
        ),
        "CLAMP_TARGET_RATE" => {
            if !switch(line)? {
                not_taken(
                    draft,
                    "each CNP has the target rate follow the current one, as the DCQCN paper says",
                );
            }
        }
        "RATE_BOUND" => {
            if !switch(line)? {
                not_taken(draft, "rates always bound what is sent");
            }
        }
        "HAS_WIN" => {
            if switch(line)? {
                not_taken(
                    draft,
                    "a window of one BDP: flows.f.window has it in packets, 256 if it is not set",
                );
            }
        }
        "PACKET_PAYLOAD_SIZE" => payload(draft, line)?,
        "L2_ACK_INTERVAL" => draft.ack_bytes = Some(number(line)?),
        "L2_BACK_TO_ZERO" => {
            if switch(line)? {
                draft.flow("recovery", "go-back-0");
            }
        }
        "L2_CHUNK_SIZE" => not_taken(
            draft,
            "a lost packet is sent again from its own PSN, or from its message's first",
        ),
        "BUFFER_SIZE" => draft.set("topology.switch.buffer", format!("{} MiB", number(line)?)),
        "USE_DYNAMIC_PFC_THRESHOLD" => {
            if switch(line)? {
                // An eighth of what is free, as the switch of that simulator has it.
                let alpha = toml::toml! { alpha = { num = 1, den = 8 } };
                draft.set("topology.switch.xoff", alpha);
            } else {
                not_taken(
                    draft,
                    "a fixed threshold: topology.switch.xoff has it, { static = \"…\" }",
                );
            }
        }
        "PAUSE_TIME" => not_taken(
            draft,
            "pauses last until XON, and are refreshed: topology.switch.pause_quanta",
        ),
        "ACK_HIGH_PRIO" => {
            if switch(line)? {
                draft.flow("ack_dscp", 56);
                not_taken(
                    draft,
                    "ACKs are in class 7, which is lossy: weights or strict priority are the switch's",
                );
            }
        }
        "ERROR_RATE_PER_LINK" => {
            if number(line)? > 0.0 {
                not_taken(
                    draft,
                    "links have the error rates of the topology file: its last column",
                );
            }
        }
        "LINK_DOWN" => link_down(draft, line)?,
        "KMIN_MAP" => draft.curves.kmin = by_rate(line)?.into_iter().collect(),
        "KMAX_MAP" => draft.curves.kmax = by_rate(line)?.into_iter().collect(),
        "PMAX_MAP" => draft.curves.pmax = by_rate(line)?.into_iter().collect(),
        "DATA_RATE" | "LINK_DELAY" => not_taken(draft, "links have those of the topology file"),
        key if OUTPUTS.contains(&key) => {
            not_taken(draft, "runs write their results as ever: docs/results.md")
        }
        key if OTHER_CONTROL.contains(&key) => not_taken(draft, "of no meaning for DCQCN"),
        _ => not_taken(draft, "not known here"),
    }
    Ok(())
}

/// A link that fails: time in microseconds from the start of flows, and its ends. Three zeros: none.
fn link_down(draft: &mut Draft, line: &Line) -> Result<(), String> {
    let numbers: Vec<u32> = line
        .values
        .iter()
        .filter_map(|value| value.parse().ok())
        .collect();
    let [at, ends @ ..] = &numbers[..] else {
        return Err("nothing: a time in microseconds and two nodes".into());
    };
    if numbers.len() != 3 || line.values.len() != 3 {
        return Err(format!(
            "{}: a time in microseconds and two nodes",
            line.values.join(" ")
        ));
    }
    if *at == 0 {
        return Ok(());
    }
    let Some((_, network)) = &draft.network else {
        return Err("stands before TOPOLOGY_FILE, which says which nodes are switches".into());
    };
    let name = |node: &u32| match network.switches.contains(node) {
        true => format!("s{node}"),
        false => format!("h{node}"),
    };
    let ends: Vec<Value> = ends.iter().map(|node| name(node).into()).collect();
    let mut event = toml::Table::new();
    event.insert("at".into(), format!("{at} us").into());
    event.insert(
        "do".into(),
        toml::Table::from_iter([("link_down".into(), ends.into())]).into(),
    );
    draft.set("events", vec![event]);
    Ok(())
}
