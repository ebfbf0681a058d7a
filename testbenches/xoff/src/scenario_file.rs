//! Reading scenarios.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_path_to_error::Segment;
use thiserror::Error;
use toml::de::{DeTable, Deserializer};
use toml::{Table, Value};
use xoff_network::scenario::check::{Issue, Issues};
use xoff_network::scenario::variant::BASE;
use xoff_network::scenario::{Checked, Scenario, VERSION, Variant};

use crate::{ns3_files, text_file};

use crate::injection::captured;
use crate::standard_input::UntilInterrupted;
use xoff_network::words::did_you_mean;

/// Built-in scenarios: name and text.
pub const BUILT_IN: [(&str, &str); 25] = [
    ("pair", include_str!("../../scenarios/pair.toml")),
    ("livelock", include_str!("../../scenarios/livelock.toml")),
    ("incast", include_str!("../../scenarios/incast.toml")),
    ("dcqcn", include_str!("../../scenarios/dcqcn.toml")),
    ("deadlock", include_str!("../../scenarios/deadlock.toml")),
    (
        "ring-deadlock",
        include_str!("../../scenarios/ring-deadlock.toml"),
    ),
    (
        "pause-storm",
        include_str!("../../scenarios/pause-storm.toml"),
    ),
    (
        "slow-receiver",
        include_str!("../../scenarios/slow-receiver.toml"),
    ),
    (
        "unfairness",
        include_str!("../../scenarios/unfairness.toml"),
    ),
    (
        "victim-flow",
        include_str!("../../scenarios/victim-flow.toml"),
    ),
    ("alpha", include_str!("../../scenarios/alpha.toml")),
    ("headroom", include_str!("../../scenarios/headroom.toml")),
    ("long-link", include_str!("../../scenarios/long-link.toml")),
    ("reroute", include_str!("../../scenarios/reroute.toml")),
    (
        "routing-loop",
        include_str!("../../scenarios/routing-loop.toml"),
    ),
    ("lossy", include_str!("../../scenarios/lossy.toml")),
    ("irn", include_str!("../../scenarios/irn.toml")),
    (
        "dscp-vs-vlan",
        include_str!("../../scenarios/dscp-vs-vlan.toml"),
    ),
    ("ecmp", include_str!("../../scenarios/ecmp.toml")),
    ("allreduce", include_str!("../../scenarios/allreduce.toml")),
    (
        "collectives",
        include_str!("../../scenarios/collectives.toml"),
    ),
    ("latency", include_str!("../../scenarios/latency.toml")),
    ("pingmesh", include_str!("../../scenarios/pingmesh.toml")),
    (
        "onboarding",
        include_str!("../../scenarios/onboarding.toml"),
    ),
    ("late-cnps", include_str!("../../scenarios/late-cnps.toml")),
];

/// A scenario that cannot be used.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// There is neither a built-in scenario nor a file of this name.
    #[error("scenario '{name}': neither one of {known} nor a file{}", hint(.nearest))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names of the built-in scenarios.
        known: String,
        /// The most similar name, if any.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not a valid scenario.
    #[error("{origin}: {problem}")]
    Parse {
        /// File or name, and the setting that was being read.
        origin: String,
        /// The problem, with line and key.
        problem: String,
    },
    /// A setting from the command line that cannot be applied.
    #[error("--set {setting}: {problem}")]
    Set {
        /// The setting as it was given.
        setting: String,
        /// What would be right.
        problem: String,
    },
    /// The scenario contradicts itself, or its files do: a line for each problem.
    #[error("{}", lines(.origin, .issues))]
    Issues {
        /// File or name.
        origin: String,
        /// Keys and problems.
        issues: Issues,
    },
}

fn lines(origin: &str, issues: &Issues) -> String {
    let line = |issue| format!("{origin}: {issue}");
    let lines: Vec<String> = issues.0.iter().map(line).collect();
    lines.join("\n")
}

fn hint(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or(String::new(), |name| format!("; did you mean '{name}'?"))
}

/// The name that stands for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// A key of a scenario and the text of its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Path such as `flows.a.message`: tables by key, list entries by name or index.
    pub key: String,
    /// A TOML value; anything else is taken as text.
    pub value: String,
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().into(),
                value: value.trim().into(),
            }),
            _ => Err(format!(
                "'{text}': expected KEY=VALUE, such as flows.a.message=\"1 MB\""
            )),
        }
    }
}

/// Text of a scenario, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Short name.
    pub name: String,
    /// File or name, for messages.
    pub origin: String,
    /// The text, TOML.
    pub text: String,
    /// Folder that relative paths in the scenario start from.
    pub folder: PathBuf,
}

impl Source {
    /// Finds a scenario by name, or reads it from a file, or for `-` from standard input.
    ///
    /// # Errors
    ///
    /// Returns an error if there is neither, or if the file cannot be read.
    pub fn find(name: &str) -> Result<Self, ScenarioError> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok(Self {
                name: (*name).into(),
                origin: format!("scenario {name}"),
                text: (*text).into(),
                folder: PathBuf::new(),
            });
        }
        if name == STANDARD_INPUT {
            let input = UntilInterrupted::new(std::io::stdin());
            let text = text_file::read_from(input).map_err(|source| ScenarioError::Read {
                path: "standard input".into(),
                source,
            })?;
            return Ok(Self {
                name: "stdin".into(),
                origin: "standard input".into(),
                text,
                folder: PathBuf::new(),
            });
        }
        let path = Path::new(name);
        let looks_like_a_file =
            path.extension().is_some_and(|ending| ending == "toml") || name.contains('/');
        if !looks_like_a_file && !path.is_file() {
            let near = |known: &&str| strsim::damerau_levenshtein(known, name) <= 2;
            let known = BUILT_IN.map(|(known, _)| known);
            return Err(ScenarioError::Unknown {
                name: name.into(),
                nearest: known.iter().copied().find(near).map(str::to_owned),
                known: known.join(", "),
            });
        }
        let text = text_file::read(path).map_err(|source| ScenarioError::Read {
            path: path.into(),
            source,
        })?;
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self {
            name: stem.unwrap_or_else(|| name.into()),
            origin: name.into(),
            text,
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        })
    }

    /// Reads the scenario with these settings and the files that it names, and checks it.
    ///
    /// # Errors
    ///
    /// Returns the first line or setting that is wrong, or all keys and lines of files that are, and what would be
    /// right.
    pub fn read(&self, settings: &[Setting]) -> Result<Checked, ScenarioError> {
        self.read_with_seed(settings, None)
    }

    /// The same with another seed, if there is one: flows are drawn from it, which have to fit too.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_with_seed(
        &self,
        settings: &[Setting],
        seed: Option<u64>,
    ) -> Result<Checked, ScenarioError> {
        let (table, mut scenario) = self.parse()?;
        if let (Some(seed), Some(Setting { key, value })) =
            (seed, settings.iter().find(|setting| setting.key == "seed"))
        {
            return Err(ScenarioError::Set {
                setting: format!("{key}={value}"),
                problem: format!("the seed is given twice: {seed} apart from the settings"),
            });
        }
        if !settings.is_empty() {
            scenario = with_settings(&table, settings).map_err(|problem| {
                // The first setting with which it is wrong.
                let applied = |number: usize| with_settings(&table, &settings[..number]).err();
                let first = (1..settings.len()).find_map(|number| Some((number, applied(number)?)));
                let (number, problem) = first.unwrap_or((settings.len(), problem));
                let Setting { key, value } = &settings[number - 1];
                ScenarioError::Set {
                    setting: format!("{key}={value}"),
                    problem,
                }
            })?;
        }
        if let Some(seed) = seed {
            scenario.seed = seed;
        }
        if scenario.name.is_empty() {
            scenario.name.clone_from(&self.name);
        }
        ns3_files::read(&mut scenario, &self.folder);
        let captures = read_captures(&mut scenario, &self.folder);
        let checked = scenario.checked();
        let mut found = checked.as_ref().err().cloned().unwrap_or_default().0;
        if !table.contains_key("flows") && scenario.pingmesh.is_none() && scenario.inject.is_empty()
        {
            found.push(Issue {
                key: "flows".into(),
                message:
                    "there are none: name some, or send probes by `pingmesh.interval = \"100 us\"`"
                        .into(),
            });
        }
        found.extend(captures.err().unwrap_or_default().0);
        match checked {
            Ok(checked) if found.is_empty() => Ok(checked),
            _ => Err(ScenarioError::Issues {
                origin: self.origin.clone(),
                issues: Issues(found),
            }),
        }
    }

    /// Parses the text: as it is, for settings, and as a scenario, both with the variant that it names.
    fn parse(&self) -> Result<(Table, Scenario), ScenarioError> {
        let parse = |problem: String| ScenarioError::Parse {
            origin: self.origin.clone(),
            problem,
        };
        let unreadable = |mut error: toml::de::Error| {
            error.set_input(Some(&self.text));
            parse(with_nearest(error.to_string().trim_end()))
        };
        let document = DeTable::parse(&self.text).map_err(unreadable)?;
        let mut table =
            Table::deserialize(Deserializer::from(document.clone())).map_err(unreadable)?;
        // Checked before the keys, because another version may have other keys.
        check_version(&table).map_err(parse)?;
        let scenario = Scenario::deserialize(Deserializer::from(document)).map_err(unreadable)?;
        let scenario = with_variant(&mut table, scenario).map_err(parse)?;
        Ok((table, scenario))
    }
}

/// The scenario of a table with these settings, one after the other: behind a variant come those of the variant.
fn with_settings(table: &Table, settings: &[Setting]) -> Result<Scenario, String> {
    let mut table = table.clone();
    for Setting { key, value: text } in settings {
        put(&mut table, key, value(text))?;
        if key == "variant" {
            let scenario = deserialized(&table)?;
            with_variant(&mut table, scenario)?;
        }
    }
    deserialized(&table)
}

fn deserialized(table: &Table) -> Result<Scenario, String> {
    serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let key = key_of(table, error.path());
        format!("{key}: {}", with_nearest(error.into_inner().message()))
    })
}

/// The key at a path in the table of a scenario: entries of lists are named, where they have names.
fn key_of(table: &Table, path: &serde_path_to_error::Path) -> String {
    let mut at = None;
    let mut steps = Vec::new();
    for segment in path {
        let (step, below) = match segment {
            Segment::Map { key } => {
                let below = at.map_or_else(|| table.get(key), |value: &Value| value.get(key));
                (key.clone(), below)
            }
            Segment::Seq { index } => {
                let entry = at.and_then(|list| list.get(index));
                let name = entry.and_then(|entry| entry.get("name")?.as_str());
                (name.map_or_else(|| index.to_string(), str::to_owned), entry)
            }
            other => (other.to_string(), None),
        };
        steps.push(step);
        at = below;
    }
    steps.join(".")
}

/// Reads the captures whose frames are injected. Relative paths start at `folder`.
fn read_captures(scenario: &mut Scenario, folder: &Path) -> Result<(), Issues> {
    let mut found = Vec::new();
    for (place, entry) in scenario.inject.iter_mut().enumerate() {
        match captured(entry, folder) {
            Ok(frames) => entry.frames = Some(frames),
            Err((key, message)) => found.push(Issue {
                key: format!("inject.{place}.{key}"),
                message,
            }),
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(Issues(found)),
    }
}

/// Adds the most similar key to serde's message about an unknown one: "unknown field `flow`, expected one of `flows`,
/// …".
fn with_nearest(problem: &str) -> String {
    let meant = || {
        let (_, rest) = problem.split_once("unknown field `")?;
        let (unknown, rest) = rest.split_once('`')?;
        let expected = rest.split('`').skip(1).step_by(2);
        Some(did_you_mean(unknown, expected))
    };
    problem.to_owned() + &meant().unwrap_or_default()
}

/// Rejects scenarios of an unknown version.
fn check_version(table: &Table) -> Result<(), String> {
    match table.get("version") {
        None => Ok(()),
        Some(Value::Integer(version)) if (1..=VERSION.into()).contains(version) => Ok(()),
        Some(Value::Integer(version)) if *version > VERSION.into() => Err(format!(
            "version: {version}: this xoff reads version {VERSION}; the scenario is for a newer one"
        )),
        Some(other) => Err(format!("version: {other}: expected {VERSION}")),
    }
}

/// Parses a TOML value; anything else is text.
fn value(text: &str) -> Value {
    let read: Result<Table, _> = toml::from_str(&format!("v = {text}"));
    let read = read.ok().and_then(|mut table| table.remove("v"));
    read.unwrap_or_else(|| Value::String(text.into()))
}

/// Applies the variant that a scenario names: its settings, title and expectations.
fn with_variant(table: &mut Table, scenario: Scenario) -> Result<Scenario, String> {
    let name = &scenario.variant;
    if name == BASE {
        return Ok(scenario);
    }
    let Some(Variant { title, set, expect }) = scenario.variants.get(name) else {
        // The check of the scenario says which variants there are.
        return Ok(scenario);
    };
    let place = |key: &str, problem: String| format!("variants.{name}.{key}: {problem}");
    for (key, value) in set {
        let to_toml = Value::try_from(value).map_err(|error| place(key, error.to_string()))?;
        put(table, key, to_toml).map_err(|problem| place(key, problem))?;
    }
    if let Some(title) = title {
        table.insert("title".into(), title.clone().into());
    }
    let mut read: Scenario = serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let key = key_of(table, error.path());
        place(&key, error.into_inner().message().into())
    })?;
    if let Some(expect) = expect {
        read.expect.clone_from(expect);
        let to_toml =
            Value::try_from(expect).map_err(|error| place("expect", error.to_string()))?;
        table.insert("expect".into(), to_toml);
    }
    Ok(read)
}

fn put(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let mut path: Vec<&str> = key.split('.').collect();
    let last = path.pop().unwrap_or_default();
    let (mut at, path) = match path[..] {
        [list, entry, ref rest @ ..] if is_list(list) => {
            (entry_of(table, list, entry)?, rest.to_vec())
        }
        [list] if is_list(list) => {
            return Err(format!("which of {list}, and which key? {list}.NAME.KEY"));
        }
        _ => (table, path),
    };
    for step in path {
        let next = at.entry(step).or_insert_with(|| Value::Table(Table::new()));
        at = next
            .as_table_mut()
            .ok_or_else(|| format!("'{step}' has no keys"))?;
    }
    at.insert(last.into(), value);
    Ok(())
}

/// Whether a key of a scenario is a list of tables.
fn is_list(key: &str) -> bool {
    [
        "hosts", "switches", "links", "flows", "routes", "events", "inject", "expect",
    ]
    .contains(&key)
}

fn entry_of<'a>(table: &'a mut Table, list: &str, entry: &str) -> Result<&'a mut Table, String> {
    let all = table.get_mut(list).and_then(Value::as_array_mut);
    let all = all.ok_or_else(|| format!("the scenario has no {list}"))?;
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = all
        .iter()
        .enumerate()
        .map(|(i, value)| name(value).unwrap_or_else(|| i.to_string()))
        .collect();
    let by_place = || entry.parse().ok().filter(|place| *place < names.len());
    let place = names
        .iter()
        .position(|known| known == entry)
        .or_else(by_place);
    let place =
        place.ok_or_else(|| format!("no {list} '{entry}': there are {}", names.join(", ")))?;
    all[place]
        .as_table_mut()
        .ok_or_else(|| format!("{list} '{entry}' is no table"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn read(settings: &[&str]) -> Result<Checked, String> {
        let settings: Vec<Setting> = settings.iter().map(|it| it.parse().unwrap()).collect();
        let source = Source::find("pair").unwrap();
        source.read(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_wrong_setting_is_named_with_the_key_as_it_is_written() {
        let said = read(&[
            "duration=2 ms",
            "flows.bulk.mesage=1",
            "host.nic=model",
            "hosts.b.nic=modl",
        ]);
        let said = said.unwrap_err();
        let begins = "--set flows.bulk.mesage=1: flows.bulk.mesage: unknown field `mesage`, expected one of `name`";
        assert!(said.starts_with(begins), "{said}");
        assert!(said.ends_with("; did you mean 'message'?"), "{said}");
        let said = read(&["hosts.b.nic=modl", "flows.none.count=1"]).unwrap_err();
        assert!(
            said.starts_with("--set hosts.b.nic=modl: hosts.b.nic: unknown variant"),
            "{said}"
        );
        let said = read(&["duration=2 ms", "flows.none.count=1"]).unwrap_err();
        assert_eq!(
            said,
            "--set flows.none.count=1: no flows 'none': there are bulk"
        );
    }

    /// A table with two keys that it needs can be set key by key.
    #[test]
    fn settings_are_read_together() {
        let [switches, hosts] = ["topology.ring.switches=3", "topology.ring.hosts=1"];
        let one = read(&[switches]).unwrap_err();
        assert_eq!(
            one,
            format!("--set {switches}: topology.ring: missing field `hosts`")
        );
        // The switch of the pair, beside those of the ring.
        let other = [
            "switches.s.name=t",
            "links.0.ends=[\"a\", \"t\"]",
            "links.1.ends=[\"b\", \"t\"]",
        ];
        let both = read(&[&other[..], &[switches, hosts]].concat()).unwrap();
        assert_eq!(
            both.hosts
                .iter()
                .map(|host| host.names().len())
                .sum::<usize>(),
            5
        );
    }

    #[test]
    fn a_scenario_is_kept_as_written() {
        let scenario = read(&["pingmesh.interval=100 us"]).unwrap();
        assert_eq!(
            (scenario.flows.len(), scenario.written().flows.len()),
            (2, 1)
        );
        assert!(scenario.pingmesh.is_none() && scenario.written().pingmesh.is_some());
    }

    /// Arrivals are drawn from the seed. About as many as a NIC has QPs fit with one seed and not with another.
    #[test]
    fn what_another_seed_draws_is_checked() {
        let source = Source {
            name: "arrivals".into(),
            origin: "arrivals".into(),
            text: "title = 'arrivals'
duration = '860 ms'
host.nic = 'model'
topology.star.hosts = 4
flows = [{ name = 'f', sizes = 'websearch', load = 0.8 }]"
                .into(),
            folder: PathBuf::new(),
        };
        let mut fitted = BTreeSet::new();
        for seed in 1..=8 {
            let given = source.read_with_seed(&[], Some(seed));
            let set = source.read(&[format!("seed={seed}").parse().unwrap()]);
            assert_eq!(given.is_ok(), set.is_ok(), "{seed}");
            fitted.insert(given.is_ok());
            if let Ok(scenario) = given {
                assert_eq!((scenario.seed, scenario.written().seed), (seed, seed));
            }
        }
        assert_eq!(fitted.len(), 2, "{fitted:?}");
    }
}
