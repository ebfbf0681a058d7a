//! Runs whose results are in files, to be compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use xoff_waves::report::{State, Summary, SummaryVersion, sentence};
use xoff_waves::results::SUMMARY;

use crate::terminal::Streams;

/// Maximum size of a summary. A larger file is not one: a summary of 3,000 flows has 4 MB.
const MOST_BYTES: u64 = 256 << 20;

/// A run's results.
pub(super) struct Run {
    /// What was named: the folder, or its summary.
    pub path: PathBuf,
    /// The folder.
    pub folder: PathBuf,
    /// The results.
    pub summary: Summary,
}

impl Run {
    /// Reads a run from its folder or its `summary.json`.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file if it is not the summary of a run, or one of a later version.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let file = if path.is_dir() {
            path.join(SUMMARY)
        } else {
            path.to_owned()
        };
        let name = file.display();
        let meta = std::fs::metadata(&file).with_context(|| {
            format!("{name}: expected a folder of results, such as out/pair, or its {SUMMARY}")
        })?;
        if !meta.is_file() || meta.len() > MOST_BYTES {
            bail!("{name}: no {SUMMARY} of a run");
        }
        let text = std::fs::read(&file).with_context(|| name.to_string())?;
        // The version is checked first, because another version may have another structure.
        let value: Value = serde_json::from_slice(&text)
            .with_context(|| format!("{name}: no {SUMMARY} of a run"))?;
        let version = value.get("version").and_then(Value::as_u64).unwrap_or(1);
        let known = SummaryVersion::CURRENT.0;
        if version > known.into() {
            bail!("{name}: version {version} of the format; this xoff reads up to {known}");
        }
        let summary = serde_json::from_value(value)
            .with_context(|| format!("{name}: no {SUMMARY} of a run"))?;
        Ok(Self {
            path: path.to_owned(),
            folder: file.parent().unwrap_or(Path::new("")).to_owned(),
            summary,
        })
    }

    /// Refuses a run that did not finish, and says so if figures of an earlier version mean something else.
    ///
    /// # Errors
    ///
    /// Returns an error if the run did not finish, or if the output cannot be written.
    pub fn must_compare(&self, streams: &mut Streams) -> anyhow::Result<()> {
        let path = self.path.display();
        if self.summary.version != SummaryVersion::CURRENT {
            let version = self.summary.version.0;
            writeln!(
                streams.err,
                "xoff: {path} is of version {version}, which measured goodput from the first to the last completion"
            )?;
        }
        if self.summary.state != State::Finished {
            let sentence = sentence(&self.summary);
            bail!("{path}: {sentence} Only finished runs are compared");
        }
        Ok(())
    }

    /// The settings of the run as a flat map: `flows.bulk.mtu` and its value, and the seed. The name of the run, which
    /// contains the values of a sweep, is not a setting.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut flat = BTreeMap::new();
        flatten("", &self.summary.settings, &mut flat);
        flat.insert("seed".into(), self.summary.seed.to_string());
        flat
    }
}

/// Adds the fields of a value to a flat map, each by its key from the top on.
fn flatten(key: &str, value: &Value, flat: &mut BTreeMap<String, String>) {
    let under = |name: &str| match key {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&under(name), value, flat);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (place, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str);
                let name = name.map_or_else(|| place.to_string(), str::to_owned);
                flatten(&under(&name), item, flat);
            }
        }
        Value::Null => {}
        other => {
            flat.insert(key.to_owned(), other.to_string());
        }
    }
}
