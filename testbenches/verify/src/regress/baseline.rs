//! Digests of earlier runs, with which later ones are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::journal::Finished;
use super::plan::{Plan, VERSION};
use xoff::{text_file, whole_file};

/// The file of a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Version of the format.
    pub version: u32,
    /// Settings of all scenarios, `KEY=VALUE`.
    pub set: Vec<String>,
    /// Digests by items.
    pub digests: BTreeMap<String, String>,
}

/// Reads a baseline and checks that it was recorded with the settings of the plan.
///
/// # Errors
///
/// Returns an error if the file cannot be read or has other settings.
pub fn read(path: &Path, plan: &Plan) -> anyhow::Result<Baseline> {
    let text = text_file::read(path).with_context(|| path.display().to_string())?;
    let baseline: Baseline = serde_json::from_str(&text)
        .with_context(|| format!("{}: not a baseline of xoff regress", path.display()))?;
    if baseline.version != VERSION {
        bail!(
            "{}: version {}: this xoff reads version {VERSION}",
            path.display(),
            baseline.version
        );
    }
    if baseline.set != plan.set {
        let set = |set: &[String]| match set {
            [] => "no --set".to_owned(),
            set => format!("--set {}", set.join(" --set ")),
        };
        bail!(
            "{}: recorded with {}, this regression has {}",
            path.display(),
            set(&baseline.set),
            set(&plan.set)
        );
    }
    Ok(baseline)
}

/// Writes the digests of finished items, and keeps those of other items that the file has.
///
/// # Errors
///
/// Returns an error if the file cannot be written, or has other settings.
pub fn update(path: &Path, plan: &Plan, finished: &[Finished]) -> anyhow::Result<usize> {
    let mut baseline = match path.exists() {
        true => read(path, plan)?,
        false => Baseline {
            version: VERSION,
            set: plan.set.clone(),
            digests: BTreeMap::new(),
        },
    };
    let digests = finished
        .iter()
        .filter_map(|entry| Some((&entry.item, entry.digest.as_ref()?)));
    let mut count = 0;
    for (item, digest) in digests {
        baseline.digests.insert(item.clone(), digest.clone());
        count += 1;
    }
    let text = serde_json::to_string_pretty(&baseline)? + "\n";
    whole_file::write(path, text).with_context(|| path.display().to_string())?;
    Ok(count)
}

/// The path of the capture of an item's run.
pub fn capture(baseline: &Path, item: &str) -> PathBuf {
    let mut folder = baseline.as_os_str().to_owned();
    folder.push(".captures");
    Path::new(&folder).join(format!("{}.pcapng", item.replace('/', ",")))
}
