//! What devices were meant to use, and in which stages traffic is let in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::switch::{Limit, PauseKind};
use xoff_sim::time::{ByteCount, Duration};

use super::Scenario;
use super::check::{Issue, issue};
use super::switch::Curve;

/// What devices were meant to use. Each is compared with it, and with what the other end of each of its links uses, at the
/// start and whenever a point of the charts is taken.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// What switches were meant to use. What is left out is not compared.
    pub switch: WantedSwitch,
    /// What hosts were meant to use. What is left out is not compared.
    pub host: WantedHost,
}

/// What switches were meant to use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WantedSwitch {
    /// Size of the shared buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<ByteCount>,
    /// Priorities that pause instead of dropping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Vec<u8>>,
    /// Fill of an ingress queue at which a lossless priority pauses its peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Limit>,
    /// How far below XOFF the fill has to fall for XON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon_offset: Option<ByteCount>,
    /// Curve of the marks of lossless priorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Curve>,
    /// How the priorities share a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<[u32; 8]>,
    /// Which pauses are sent and obeyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseKind>,
}

/// What hosts were meant to use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WantedHost {
    /// Classes that obey PFC and send it. Hosts with TCP have none, and are not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Vec<u8>>,
    /// Whether DCQCN, or another congestion control, is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<bool>,
    /// Time after which a NIC stops pausing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog_bite: Option<Duration>,
}

/// Traffic that is let in stage by stage: rack, podset, all (SIGCOMM 2016 §6.1). A stage begins when the one before it has
/// run for its time without harm, and the devices on its way use what was wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Onboarding {
    /// How long a stage runs until the next one may begin.
    pub every: Duration,
    /// For each stage the names of the entries of `flows` that begin with it. Those that are in none run from the start.
    pub stages: Vec<Vec<String>>,
    /// Whether differences that `audit` finds on the way of a stage's flows keep it from beginning.
    #[serde(default = "yes")]
    pub heed_audit: bool,
}

const fn yes() -> bool {
    true
}

impl Scenario {
    /// Checks what is wanted of devices, and the stages.
    pub(super) fn check_audit(&self) -> Vec<Issue> {
        let mut found = Vec::new();
        if let Some(audit) = &self.audit {
            let classes = [
                ("switch", &audit.switch.lossless),
                ("host", &audit.host.lossless),
            ];
            for (kind, lossless) in classes {
                let wrong = lossless.iter().flatten().find(|class| **class > 7);
                found.extend(wrong.map(|class| {
                    issue(format!("audit.{kind}.lossless"), format!("{class}: 0 to 7"))
                }));
            }
            if let Some(Limit::Alpha { den: 0, .. }) = audit.switch.xoff {
                found.push(issue("audit.switch.xoff", "den must not be 0"));
            }
        }
        if let Some(onboarding) = &self.onboarding {
            if onboarding.every == Duration::ZERO {
                let problem = "must be above 0, for example '1 ms'";
                found.push(issue("onboarding.every", problem));
            }
            if onboarding.stages.is_empty() {
                let problem = "there are none: such as [['rack'], ['podset'], ['all']], names of entries of `flows`";
                found.push(issue("onboarding.stages", problem));
            }
            let entries: Vec<&str> = self.flows.iter().map(|flow| &*flow.name).collect();
            let mut known = Vec::new();
            for name in onboarding.stages.iter().flatten() {
                let problem = match (entries.contains(&&**name), known.contains(&name)) {
                    (false, _) => format!(
                        "'{name}' is no entry of flows: they are {}",
                        entries.join(", ")
                    ),
                    (true, true) => format!("'{name}' is in two stages"),
                    (true, false) => {
                        known.push(name);
                        continue;
                    }
                };
                found.push(issue("onboarding.stages", problem));
            }
        }
        found
    }
}
