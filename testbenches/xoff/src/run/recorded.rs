//! The scenario of a run with a policy as one without: its changes are events.

use std::path::{Path, absolute};

use anyhow::Context;
use xoff_network::policy::Steered;
use xoff_network::scenario::Scenario;
use xoff_network::scenario::ns3::Sizes;

/// The text of the scenario in which events are in place of the policy. Files that it names are found from everywhere:
/// `folder` is that of the scenario.
///
/// # Errors
///
/// Returns an error if the working folder is not there any more.
pub fn text(scenario: &Scenario, policy: &Steered, folder: &Path) -> anyhow::Result<String> {
    let mut recorded = scenario.recorded(&policy.changes);
    // Its results are beside those of this run, not in their place.
    recorded.name += "-recorded";
    let topology = recorded.topology.iter_mut();
    let topology = topology.filter_map(|topology| topology.ns3.as_mut());
    let flows = recorded.flows.iter_mut();
    let flows = flows.flat_map(|flow| {
        let sizes = flow.sizes.as_mut();
        // A distribution that is known by its name is no file.
        let sizes = sizes.filter(|sizes| Sizes::known(sizes).is_none());
        let lists = [flow.ns3.as_mut(), flow.goal.as_mut(), sizes];
        lists.into_iter().flatten()
    });
    let injected = recorded.inject.iter_mut().map(|entry| &mut entry.file);
    for file in topology.chain(flows).chain(injected) {
        let path = absolute(folder.join(&*file)).with_context(|| file.clone())?;
        *file = path.to_string_lossy().into_owned();
    }
    let settings = toml::to_string_pretty(&recorded).context("the scenario as text")?;
    Ok(format!(
        "# The scenario of the run, with the changes of its policy '{}' as events: its digest is the same.\n\n\
         {settings}",
        policy.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario_file::Source;

    #[test]
    fn files_are_found_from_everywhere() {
        let mut scenario = Source::find("pair")
            .unwrap()
            .read(&[])
            .unwrap()
            .written()
            .clone();
        let mut other = scenario.flows[0].clone();
        scenario.flows[0].sizes = Some("sizes/web.txt".into());
        other.name = "other".into();
        other.sizes = Some("websearch".into());
        let mut job = other.clone();
        (job.name, job.sizes) = ("job".into(), None);
        job.goal = Some("ring.goal".into());
        scenario.flows.extend([other, job]);
        let policy = Steered {
            name: "p".into(),
            every_ns: 1,
            looks: 0,
            changes: Vec::new(),
            recorded: None,
        };
        let text = text(&scenario, &policy, Path::new("/a/b")).unwrap();
        assert!(text.contains("sizes = \"/a/b/sizes/web.txt\""), "{text}");
        assert!(text.contains("sizes = \"websearch\""), "{text}");
        assert!(text.contains("goal = \"/a/b/ring.goal\""), "{text}");
        assert!(text.contains("name = \"pair-recorded\""), "{text}");
    }
}
