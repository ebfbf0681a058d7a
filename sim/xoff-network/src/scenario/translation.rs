//! Translation of addresses in NICs, and the memory that flows go through.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::host::{FlowConfig, WorkingSet};
use xoff_sim::nic::translation::{PageSize, StallScope, TranslationConfig, Wrong};
use xoff_sim::time::{ByteCount, Duration};

use super::check::{Issue, issue};
use super::names::Names;
use super::{FlowSettings, HostEntry, HostSettings, NicKind, Scenario};

/// Page tables in the host's memory, and a cache of their entries in the NIC. An entry that the cache does not have is
/// read over the bus, and takes twice its latency. In a full set of the cache the entry gives way that was used longest
/// ago (LRU). Without other values it is the NIC of SIGCOMM 2016, section 4.4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TranslationSettings {
    /// Size of the pages: a power of two, 4 KiB to 2 MiB.
    pub page: ByteCount,
    /// Entries of the cache, 1 to 16777216.
    pub entries: u32,
    /// Sets of the cache, which divide the entries, with 64 entries each at most; without it sets of 4, or of 1 where 4
    /// does not divide the entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<u32>,
    /// Most entries that are read over the bus at the same time, 1 to 256.
    pub misses: u32,
    /// What a miss of a received packet stops: `receive` as a whole, or the `part` of the receive buffer with the packet's
    /// class alone; in RTL NICs it may be what comes `behind` it, of which the misses are read meanwhile. One of a packet
    /// that is sent stops its class in model NICs, in RTL NICs what is read behind it.
    pub stall: StallScope,
    /// A miss takes up to so much longer, drawn for each, 0 to 1 ms: memory that others use, too.
    pub jitter: Duration,
}

/// Longest `jitter`.
const MOST_JITTER: Duration = Duration::from_ms(1);

impl Default for TranslationSettings {
    fn default() -> Self {
        let paper = TranslationConfig::default();
        Self {
            page: ByteCount::new(paper.page.bytes()),
            entries: paper.entries,
            sets: None,
            misses: paper.misses,
            stall: paper.stall,
            jitter: paper.jitter,
        }
    }
}

impl TranslationSettings {
    /// The settings of a NIC.
    ///
    /// # Errors
    ///
    /// The first key that does not fit.
    pub fn config(&self) -> Result<TranslationConfig, Wrong> {
        let wrong = |key, message| Wrong { key, message };
        let config = TranslationConfig {
            entries: self.entries,
            sets: (self.sets).unwrap_or(TranslationConfig::sets_of(self.entries)),
            page: PageSize::new(self.page).map_err(|message| wrong("page", message))?,
            misses: self.misses,
            stall: self.stall,
            jitter: self.jitter,
        };
        config.check()?;
        match self.jitter > MOST_JITTER {
            true => Err(wrong(
                "jitter",
                format!("{}: 0 to {MOST_JITTER}", self.jitter),
            )),
            false => Ok(config),
        }
    }
}

impl HostSettings {
    /// The translation of a NIC, if it has any.
    ///
    /// # Panics
    ///
    /// When the scenario has not passed its check.
    pub fn translation(&self) -> Option<TranslationConfig> {
        let settings = self.translation.as_ref()?;
        Some(settings.config().expect("the scenario was checked"))
    }
}

impl FlowSettings {
    /// The memory that its messages go through, if it says so, in a scenario of this seed.
    pub fn working_set(&self, seed: u64) -> Option<WorkingSet> {
        Some(WorkingSet {
            bytes: self.working_set?.get(),
            order: self.order.unwrap_or_default(),
            seed,
        })
    }

    /// Bytes of the memory of each of its QPs.
    pub fn memory_bytes(&self) -> u64 {
        self.working_set.map_or(FlowConfig::WINDOW, ByteCount::get)
    }

    /// The size of its pages, if it says so.
    ///
    /// # Panics
    ///
    /// When the scenario has not passed its check.
    pub fn page_size(&self) -> Option<PageSize> {
        let size = PageSize::new(self.page?);
        Some(size.expect("the scenario was checked"))
    }

    /// Checks the keys of the working set.
    pub(super) fn check_working_set(&self) -> Option<Issue> {
        let wrong =
            |key: &str, problem: String| Some(issue(format!("flows.{}.{key}", self.name), problem));
        let Some(bytes) = self.working_set else {
            let without = "goes with working_set: the memory that messages go through";
            return match (self.order, self.touched) {
                (Some(_), _) => wrong("order", without.into()),
                (None, true) => wrong("touched", without.into()),
                (None, false) => None,
            };
        };
        let other = [
            ("pattern", self.pattern.is_some()),
            ("ns3", self.ns3.is_some()),
            ("goal", self.goal.is_some()),
            ("sizes", self.sizes.is_some()),
        ];
        if let Some((key, _)) = other.into_iter().find(|(_, given)| *given) {
            return wrong(
                "working_set",
                format!("not with {key}: its messages have places of their own"),
            );
        }
        if self.operations().iter().any(|it| it.is_atomic()) {
            let problem = "not with atomics: they all go to one word";
            return wrong("working_set", problem.into());
        }
        let (size, message) = (bytes.get(), self.message.get());
        let most = WorkingSet::MOST_BYTES;
        if !(1..=most).contains(&size) {
            return wrong("working_set", format!("{bytes}: 1 B to {} GiB", most >> 30));
        }
        if message > 0 && size % message != 0 {
            let below = size / message * message;
            let right = if below == 0 { message } else { below };
            let problem = format!(
                "{bytes}: a multiple of the message, {}, such as {}",
                self.message,
                ByteCount::new(right)
            );
            return wrong("working_set", problem);
        }
        None
    }
}

impl Scenario {
    /// The names of the hosts whose NICs translate addresses, in a scenario written out.
    pub fn translating_hosts(&self) -> BTreeSet<String> {
        let translates = |entry: &&HostEntry| self.settings_of(entry).translation.is_some();
        let hosts = self.hosts.iter().filter(translates);
        hosts.flat_map(HostEntry::names).collect()
    }

    /// Checks the translation of all hosts.
    pub(super) fn check_translation(&self) -> Vec<Issue> {
        let mut found = Vec::new();
        let mut check = |place: String, settings: &TranslationSettings| {
            if let Err(Wrong { key, message }) = settings.config() {
                found.push(issue(format!("{place}.{key}"), message));
            }
        };
        if let Some(settings) = &self.host.translation {
            check("host.translation".into(), settings);
        }
        for entry in &self.hosts {
            if let Some(settings) = &entry.translation {
                check(format!("hosts.{}.translation", entry.name), settings);
            }
        }
        for entry in &self.hosts {
            let settings = self.settings_of(entry);
            let Some(translation) = &settings.translation else {
                continue;
            };
            let place = match entry.translation {
                Some(_) => format!("hosts.{}.translation", entry.name),
                None => "host.translation".into(),
            };
            match settings.nic {
                NicKind::Model if translation.stall == StallScope::Behind => {
                    let problem =
                        "behind: a miss of a model NIC stops `receive` as a whole, or its `part`";
                    found.push(issue(format!("{place}.stall"), problem));
                }
                NicKind::Model => {}
                NicKind::Rtl => {
                    let config = translation.config().ok();
                    if let Some(Err(Wrong { key, message })) = config.map(|it| it.check_rtl()) {
                        found.push(issue(format!("{place}.{key}"), message));
                    }
                }
                NicKind::Tcp | NicKind::Attached | NicKind::Custom(_) => {
                    let problem = format!(
                        "the NIC '{}' of {} has no cache of translations; those of \"rtl\" and \"model\" have one",
                        settings.nic.name(),
                        entry.name
                    );
                    found.push(issue(place, problem));
                }
            }
        }
        found.extend(self.flows.iter().filter_map(|flow| self.check_page(flow)));
        found
    }

    /// Checks the size of a flow's pages.
    fn check_page(&self, flow: &FlowSettings) -> Option<Issue> {
        let page = flow.page?;
        let wrong = |problem| Some(issue(format!("flows.{}.page", flow.name), problem));
        if let Err(problem) = PageSize::new(page) {
            return wrong(problem);
        }
        let (names, translating) = (Names::of(self), self.translating_hosts());
        let ends = [&flow.from, &flow.to].into_iter();
        let mut hosts = ends.filter_map(|end| names.hosts_of(end)).flatten();
        match hosts.any(|host| translating.contains(&host)) {
            true => None,
            false => wrong(format!(
                "{page}: neither {} nor {} translates addresses, which host.translation turns on",
                flow.from, flow.to
            )),
        }
    }
}

#[cfg(test)]
mod tests;
