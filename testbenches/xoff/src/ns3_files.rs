//! Reading the files of other simulators that scenarios name: topologies, lists of flows and distributions of flow
//! sizes of ns-3, schedules of LogGOPSim and ATLAHS.

use std::path::Path;
use std::sync::Arc;

use xoff_network::scenario::check::{Issue, Issues};
use xoff_network::scenario::ns3::{FlowList, Network, Sizes};
use xoff_network::scenario::{Goal, Scenario};

use crate::text_file;

/// Reads the files that a scenario names, and puts what they have into it, or what is wrong with them: the check of the
/// scenario says it. Relative paths start at `folder`.
pub fn read(scenario: &mut Scenario, folder: &Path) {
    if let Some(topology) = &mut scenario.topology
        && let Some(path) = &topology.ns3
    {
        topology.file = Some(file("topology.ns3", folder, path, Network::parse));
    }
    for flow in &mut scenario.flows {
        if let Some(path) = &flow.ns3 {
            let key = format!("flows.{}.ns3", flow.name);
            flow.listed = Some(file(&key, folder, path, FlowList::parse));
        }
        if let Some(path) = &flow.goal {
            let key = format!("flows.{}.goal", flow.name);
            flow.schedule = Some(file(&key, folder, path, Goal::parse).map(Arc::new));
        }
        if let Some(path) = &flow.sizes {
            let key = format!("flows.{}.sizes", flow.name);
            let read = || file(&key, folder, path, Sizes::parse);
            flow.distribution = Some(match Sizes::known(path) {
                Some(known) => Ok(known),
                None if path.contains(['.', '/']) => read(),
                None => read().map_err(|wrong| with_names(wrong, &key)),
            });
        }
    }
}

/// Has what is wrong with `sizes` itself, which looks like a name, say which names there are.
fn with_names(mut wrong: Issues, key: &str) -> Issues {
    let names: Vec<&str> = Sizes::names().collect();
    for issue in wrong.0.iter_mut().filter(|issue| issue.key == key) {
        issue.message += &format!("; known without a file: {}", names.join(", "));
    }
    wrong
}

fn file<T>(
    key: &str,
    folder: &Path,
    path: &str,
    parse: impl FnOnce(&str, &str) -> Result<T, Issues>,
) -> Result<T, Issues> {
    let text = text_file::read(&folder.join(path)).map_err(|error| Issue {
        key: key.into(),
        message: format!("{path}: {error}"),
    })?;
    parse(path, &text)
}
