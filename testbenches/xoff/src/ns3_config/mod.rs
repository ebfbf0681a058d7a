//! `config.txt` of ns-3's RDMA simulations (HPCC's artefact and what came from it) as a scenario: the keys that Xoff
//! has too, and for each other one why it is not taken.

mod keys;
mod rates;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use xoff_network::scenario::check::{Issue, Issues};
use xoff_network::scenario::ns3::{FlowList, Network};
use xoff_sim::time::{Duration, LineRate};

use crate::text_file;

/// How long a run goes on behind the start of the last flow, where the file has ns-3 stop later.
const BEHIND_THE_LAST: Duration = Duration::from_us(10_000);

/// A line of the file: a key and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    number: usize,
    key: String,
    values: Vec<String>,
}

impl Line {
    /// Something about it, as a line of its own.
    fn note(&self, why: &str) -> String {
        let text = format!("{} {}", self.key, self.values.join(" "));
        format!("line {}, {}: {why}", self.number, text.trim_end())
    }
}

/// What the lines have become so far.
#[derive(Debug, Default)]
struct Draft {
    scenario: Table,
    /// What is not taken as it is, a line each.
    notes: Vec<String>,
    issues: Vec<Issue>,
    /// The tables of thresholds by rate, in bits a second.
    curves: rates::Curves,
    /// The topology and the list of flows, with their paths.
    network: Option<(PathBuf, Network)>,
    flows: Option<(PathBuf, FlowList)>,
    stop: Option<f64>,
    /// Bytes behind which an ACK is sent with the next packet.
    ack_bytes: Option<f64>,
    marks: bool,
}

impl Draft {
    /// Sets a key of the scenario, such as `host.dcqcn.g`.
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        let (tables, last) = key.rsplit_once('.').unwrap_or(("", key));
        let tables = tables.split('.').filter(|name| !name.is_empty());
        let table = tables.fold(&mut self.scenario, |table, name| {
            let entry = table.entry(name).or_insert_with(|| Table::new().into());
            entry.as_table_mut().expect("only tables are set as tables")
        });
        table.insert(last.into(), value.into());
    }

    fn flow(&mut self, key: &str, value: impl Into<Value>) {
        self.set(&format!("flow.{key}"), value);
    }

    fn wrong(&mut self, line: &Line, file: &str, problem: impl Into<String>) {
        self.issues.push(Issue {
            key: format!("{file}:{}: {}", line.number, line.key),
            message: problem.into(),
        });
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line> {
    let numbered = (1..).zip(text.lines());
    numbered.filter_map(|(number, line)| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Line {
            number,
            key: words.next()?,
            values: words.collect(),
        })
    })
}

/// The scenario that a `config.txt` describes, as text with remarks about what it does not have.
///
/// # Errors
///
/// The file, or one that it names, cannot be read, or values are wrong: all that is wrong, with its line.
pub fn scenario(path: &Path) -> Result<String, Issues> {
    let file = path.display().to_string();
    let text = text_file::read(path).map_err(|error| Issue {
        key: file.clone(),
        message: error.to_string(),
    })?;
    let mut draft = Draft {
        marks: true,
        ..Draft::default()
    };
    draft.set("host.nic", "model");
    for line in lines(&text) {
        keys::take(&mut draft, &line, path);
    }
    if draft.network.is_none() && draft.issues.is_empty() {
        draft.issues.push(Issue {
            key: file.clone(),
            message: "no TOPOLOGY_FILE: a config.txt of ns-3's RDMA simulations names one".into(),
        });
    }
    if !draft.issues.is_empty() {
        return Err(Issues(draft.issues));
    }
    Ok(draft.finished(&file))
}

impl Draft {
    /// What needs several lines, and the text of all.
    fn finished(mut self, file: &str) -> String {
        self.set("title", format!("{file} of ns-3"));
        if let Some((path, network)) = self.network.take() {
            self.set("topology.ns3", path.display().to_string());
            let slowest = |rate: &LineRate| rate.byte_time();
            let of_hosts = network.links.iter().filter(|link| {
                let [a, b] = link.ends;
                !network.switches.contains(&a) || !network.switches.contains(&b)
            });
            if let Some(rate) = of_hosts.map(|link| link.rate).max_by_key(slowest) {
                self.set("host.rate", rate.to_string());
            }
            let rates = network.links.iter().map(|link| link.rate);
            if self.marks {
                let (curve, said) = self.curves.of(rates.collect());
                self.set("topology.switch.ecn", curve);
                self.notes.extend(said);
            }
        }
        let flows = self.flows.take();
        let starts = flows.iter().flat_map(|(_, list)| &list.flows);
        let (first, last) = (starts.clone().map(|flow| flow.start).min())
            .zip(starts.map(|flow| flow.start).max())
            .unwrap_or_default();
        let spread = last.saturating_sub(first) + BEHIND_THE_LAST;
        let stop = self.stop.map(|stop| stop * 1e12 - first.as_ps() as f64);
        let duration = match stop {
            Some(stop) if stop > 0.0 && stop < spread.as_ps() as f64 => {
                Duration::from_ps(stop as u64)
            }
            _ => {
                let later = "SIMULATOR_STOP_TIME is later, or not given: the run ends 10 ms behind the last start";
                self.notes.push(later.into());
                spread
            }
        };
        self.set("duration", duration.to_string());
        match flows {
            Some((path, _)) => self.flow("ns3", path.display().to_string()),
            None => self
                .notes
                .push("no FLOW_FILE: the scenario has no flows".into()),
        }
        if let Some(bytes) = self.ack_bytes {
            let mtu = self.scenario.get("flow").and_then(|flow| flow.get("mtu"));
            let packet = mtu.and_then(Value::as_integer).unwrap_or(1024) as f64;
            self.flow("ack_every", (bytes / packet).ceil().max(1.0) as i64);
        }
        let flow = self.scenario.remove("flow");
        if let Some(Value::Table(mut flow)) = flow.filter(|flow| flow.get("ns3").is_some()) {
            flow.insert("name".into(), "f".into());
            self.scenario.insert("flows".into(), vec![flow].into());
        }
        let mut text = format!("# {file} of ns-3, as far as Xoff has the same.\n");
        for note in &self.notes {
            let _ = writeln!(text, "# {note}");
        }
        let settings = toml::to_string_pretty(&self.scenario).expect("plain values");
        text + "\n" + settings.trim_end() + "\n"
    }
}

#[cfg(test)]
mod tests;
