//! Settings of hosts that speak TCP.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::time::{ByteCount, Duration};

use super::check::{Issue, issue};
use super::{HostEntry, NicKind, Scenario};

/// How TCP's window follows losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpCongestion {
    /// Reno (RFC 5681).
    #[default]
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// None: a connection has as much under way as its buffers hold.
    None,
}

/// TCP of the hosts with `nic = "tcp"`: the stack of the crate smoltcp behind a kernel that takes its time.
///
/// A kernel's delay has a log-normal distribution with a median and a 99th percentile. It passes once for each message
/// that is posted, and once for each burst of frames that arrives: those that come while the kernel is on its way to
/// the first. A request of one segment and its answer pass four of them, and the defaults are calibrated: their sum has
/// the p99 of 700 µs that SIGCOMM 2016 measured under light load (section 5.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSettings {
    /// How the window follows losses: Reno, CUBIC, or not at all.
    pub congestion: TcpCongestion,
    /// Largest IP packet, 576 to 9000 bytes.
    pub mtu: u32,
    /// Size of a connection's send buffer and of its receive buffer, and so most of what it has under way, 4 KiB to
    /// 64 MiB.
    pub window: ByteCount,
    /// Median of the kernel's delay; 0: no delay.
    pub kernel_median: Duration,
    /// 99th percentile of the kernel's delay, at least the median.
    pub kernel_p99: Duration,
    /// Least time until a retransmission by timer, 1 ms to 1 s, and the first one before a round trip was measured.
    /// Below 1 s, which is RFC 6298's, the clock of the stack runs faster, so that CUBIC, which counts seconds, has 1 s
    /// only.
    pub min_rto: Duration,
    /// Processor time that a segment with data costs its sender, the acknowledgement included. It is counted and delays
    /// nothing. Calibrated: 8 connections that send 40 Gb/s took 6 % of 32 cores in SIGCOMM 2016 (section 1).
    pub cpu_send: Duration,
    /// Processor time that a segment with data costs its receiver, the acknowledgement included. Calibrated: receiving
    /// took 12 %.
    pub cpu_receive: Duration,
    /// Number of processor cores that the share of time is of, 1 to 4096.
    pub cores: u32,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            congestion: TcpCongestion::Reno,
            mtu: 1_500,
            window: ByteCount::new(1 << 20),
            kernel_median: Duration::from_us(50),
            kernel_p99: Duration::from_us(310),
            min_rto: Duration::from_s(1),
            cpu_send: Duration::from_ns(590),
            cpu_receive: Duration::from_ns(1_180),
            cores: 32,
        }
    }
}

impl TcpSettings {
    /// Whether all is as without the table.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Everything that does not fit in the table.
    pub(super) fn check(&self) -> Vec<Issue> {
        let mut found = Vec::new();
        let mut wrong = |key: &str, problem: String| {
            found.push(issue(format!("host.tcp.{key}"), problem));
        };
        let (least, most) = (ByteCount::new(4 << 10), ByteCount::new(64 << 20));
        if !(least..=most).contains(&self.window) {
            wrong("window", format!("{}: {least} to {most}", self.window));
        }
        if !(576..=9_000).contains(&self.mtu) {
            wrong("mtu", format!("{}: 576 to 9000 bytes", self.mtu));
        }
        if self.kernel_p99 < self.kernel_median {
            let problem = format!(
                "{} is below the median, {}",
                self.kernel_p99, self.kernel_median
            );
            wrong("kernel_p99", problem);
        }
        if self.kernel_median == Duration::ZERO && self.kernel_p99 > Duration::ZERO {
            let problem = "0 with a 99th percentile above: 0 for both, or a median such as '60 us'";
            wrong("kernel_median", problem.into());
        }
        let (least, most) = (Duration::from_ms(1), Duration::from_s(1));
        if !(least..=most).contains(&self.min_rto) {
            wrong("min_rto", format!("{}: {least} to {most}", self.min_rto));
        } else if self.congestion == TcpCongestion::Cubic && self.min_rto != most {
            wrong(
                "min_rto",
                format!(
                    "{}: {most} with cubic, whose growth counts seconds",
                    self.min_rto
                ),
            );
        }
        if !(1..=4_096).contains(&self.cores) {
            wrong("cores", format!("{}: 1 to 4096", self.cores));
        }
        found
    }
}

impl Scenario {
    /// Names of the hosts that speak TCP, of a scenario written out.
    pub fn tcp_hosts(&self) -> BTreeSet<String> {
        let tcp = |entry: &&HostEntry| self.settings_of(entry).nic == NicKind::Tcp;
        let hosts = self.hosts.iter().filter(tcp);
        hosts.flat_map(HostEntry::names).collect()
    }
}
