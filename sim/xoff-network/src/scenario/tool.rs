//! Hosts whose peer is outside of the simulation, and what those do with which it speaks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::ByteCount;

use crate::attach::Rping;

use super::check::{Issue, issue};
use super::connection::Connection;
use super::{HostEntry, IpVersion, NicKind, Scenario};

/// Most hosts of a network with an attached one: those that a mask of 24 bits has.
const MOST_HOSTS: usize = 254;
/// Largest message of a tool.
const LARGEST: ByteCount = ByteCount::new(1 << 24);

/// A tool of libibverbs, perftest or librdmacm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum ToolName {
    IbvRcPingpong,
    IbSendBw,
    IbWriteBw,
    IbReadBw,
    IbAtomicBw,
    Rping,
}

/// The tool that a host runs with its peer at an attached host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSettings {
    /// The tool: `ibv_rc_pingpong`, `ib_send_bw`, `ib_write_bw`, `ib_read_bw`, `ib_atomic_bw`, which adds, or `rping`.
    pub name: ToolName,
    /// The attached host to whose server the tool connects; without it the tool is the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Bytes of a message, 1 byte to 16 MiB. Atomics have 8, a buffer of `rping` 23 to 65535.
    #[serde(default = "message")]
    pub message: ByteCount,
    /// Number of messages, 1 or more.
    #[serde(default = "count")]
    pub count: u64,
    /// Path MTU, 256, 512, 1024, 2048 or 4096 bytes. In perftest the smaller one of both ends counts, in `rping` the
    /// client's.
    #[serde(default = "mtu")]
    pub mtu: u32,
    /// DSCP of the NIC's packets, 0 to 63. Linux's tools take theirs from an option.
    #[serde(default)]
    pub dscp: u8,
}

const fn message() -> ByteCount {
    ByteCount::new(4096)
}

const fn count() -> u64 {
    1000
}

const fn mtu() -> u32 {
    1024
}

impl Scenario {
    /// The names of the hosts whose peers are outside, of a scenario written out.
    pub fn attached_hosts(&self) -> Vec<String> {
        let attached = |entry: &&HostEntry| self.settings_of(entry).nic == NicKind::Attached;
        let hosts = self.hosts.iter().filter(attached);
        hosts.flat_map(HostEntry::names).collect()
    }

    /// Checks attached hosts and tools.
    pub(super) fn check_attached(&self, flows: &[Connection<'_>]) -> Vec<Issue> {
        let mut found = Vec::new();
        let attached = self.attached_hosts();
        let tools: Vec<(&HostEntry, &ToolSettings)> = (self.hosts.iter())
            .filter_map(|entry| Some((entry, entry.tool.as_ref()?)))
            .collect();
        if attached.is_empty() {
            let lonely = tools.iter().map(|(entry, _)| {
                let problem = "no host is outside: nic = \"attached\" in one of the others";
                issue(format!("hosts.{}.tool", entry.name), problem)
            });
            return lonely.collect();
        }
        if attached.len() > 1 {
            let problem = format!("{}: one host is attached at most", attached.join(", "));
            found.push(issue("hosts", problem));
        }
        let hosts: usize = self.hosts.iter().map(|entry| entry.names().len()).sum();
        if hosts > MOST_HOSTS {
            let problem = format!(
                "{hosts}: {MOST_HOSTS} at most with an attached one, whose network has a mask of 24 bits"
            );
            found.push(issue("hosts", problem));
        }
        if tools.is_empty() {
            let problem = "nobody speaks with it: a host with [hosts.tool] is right";
            found.push(issue(format!("hosts.{}", attached[0]), problem));
        }
        for (entry, tool) in &tools {
            let mut wrong = |key: &str, problem: String| {
                found.push(issue(format!("hosts.{}.{key}", entry.name), problem));
            };
            let settings = self.settings_of(entry);
            if !matches!(settings.nic, NicKind::Rtl | NicKind::Model) {
                let nic = settings.nic.name();
                wrong(
                    "nic",
                    format!("{nic}: a host with a tool has \"rtl\" or \"model\""),
                );
            }
            if let Some(server) = tool.server.as_ref().filter(|it| !attached.contains(it)) {
                let problem = format!("{server}: {} is attached", attached.join(", "));
                wrong("tool.server", problem);
            }
            if tool.message == ByteCount::new(0) || tool.message > LARGEST {
                wrong(
                    "tool.message",
                    format!("{}: 1 byte to {LARGEST}", tool.message),
                );
            }
            let buffers = u64::from(Rping::MIN_SIZE)..=u64::from(Rping::MAX_SIZE);
            if tool.name == ToolName::Rping && !buffers.contains(&tool.message.get()) {
                let (least, most) = (Rping::MIN_SIZE, Rping::MAX_SIZE);
                let problem = format!("{}: {least} to {most} bytes with rping", tool.message);
                wrong("tool.message", problem);
            }
            if tool.count == 0 {
                wrong("tool.count", "0: 1 or more".into());
            }
            if ![256, 512, 1024, 2048, 4096].contains(&tool.mtu) {
                let problem = format!("{}: 256, 512, 1024, 2048 or 4096", tool.mtu);
                wrong("tool.mtu", problem);
            }
            if tool.dscp > 63 {
                wrong("tool.dscp", format!("{}: 0 to 63", tool.dscp));
            }
        }
        let outside = |entry: &&HostEntry| {
            entry.tool.is_some() || self.settings_of(entry).nic == NicKind::Attached
        };
        for entry in self.hosts.iter().filter(outside) {
            if self.settings_of(entry).ip != IpVersion::V4 {
                let problem = "v6: attached hosts and those with a tool have IPv4, \"v4\"";
                found.push(issue(format!("hosts.{}.ip", entry.name), problem));
            }
            let names = entry.names();
            let flow =
                (flows.iter()).find(|flow| names.contains(&flow.from) || names.contains(&flow.to));
            if let Some(flow) = flow {
                let problem = format!(
                    "begins or ends at {}, which is attached or has a tool: flows are of the other hosts",
                    entry.name
                );
                found.push(issue(format!("flows.{}", flow.settings.name), problem));
            }
        }
        found
    }
}
