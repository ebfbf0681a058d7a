//! Settings of hosts.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::host::PcieConfig;
use xoff_sim::time::{ByteCount, Duration, LineRate, Rate};

use super::switch::Classify;
use super::tcp::TcpSettings;
use super::translation::TranslationSettings;

/// The kind of a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NicKind {
    /// The verilated pipeline, cycle by cycle.
    #[default]
    Rtl,
    /// The reference models, packet by packet.
    Model,
    /// No RDMA: TCP in the host's kernel, as `tcp` says.
    Tcp,
    /// A host outside of the simulation, at a socket that `xoff run --attach` names (docs/interop.md).
    Attached,
    /// A NIC top of one's own, by the name that the program gives it: `nic = { own = "NAME" }` (docs/own-nic.md).
    #[serde(rename = "own")]
    Custom(String),
}

impl NicKind {
    /// The name of the kind, by which a program knows it.
    pub fn name(&self) -> &str {
        match self {
            Self::Rtl => "rtl",
            Self::Model => "model",
            Self::Tcp => "tcp",
            Self::Attached => "attached",
            Self::Custom(name) => name,
        }
    }
}

/// The version of IP that a host has an address of.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IpVersion {
    /// IPv4: the hosts are 10.0.0.1, 10.0.0.2, … in the scenario's order.
    #[default]
    V4,
    /// IPv6: the hosts are fd00::1, fd00::2, …, unique local addresses (RFC 4193).
    V6,
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// Settings of a host and its NIC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSettings {
    /// The kind of all NICs: RTL, models, TCP, or a top of one's own, `{ own = "NAME" }`.
    pub nic: NicKind,
    /// Rate of all links that have none of their own, 10 to 800 Gb/s. RTL NICs have 40 Gb/s, which is what 256 bits
    /// a cycle carry.
    pub rate: LineRate,
    /// The version of IP of their addresses, and so of their packets: 10.0.0.1, 10.0.0.2, … or fd00::1, fd00::2, …, in
    /// the order of the hosts. Both ends of a flow have the same version.
    pub ip: IpVersion,
    /// Classes that obey PFC and send it, 0 to 7. A class is DSCP / 8.
    pub lossless: Vec<u8>,
    /// Where the class of a packet comes from.
    pub classify: Classify,
    /// How the classes share the port of a model or RTL NIC, in bytes on the wire of requests and READ responses: in
    /// these proportions while they wait, or 0 for a class that goes before all others, the highest of several first.
    pub weights: [u32; 8],
    /// Size of the receive buffer of model NICs, 4 KiB to 1 GiB; without it 128 KiB at 40 Gb/s, more at higher rates.
    /// RTL NICs have 128 KiB. Seven eighths are divided among the lossless classes; all others share the rest.
    pub buffer: Option<ByteCount>,
    /// Fill of a class in the receive buffer from which on the NIC pauses its peer; without it 32 KiB, or less where
    /// the class's part of the buffer has to leave more for what arrives after the pause.
    pub xoff: Option<ByteCount>,
    /// Fill at which the NIC lets its peer send again, at most `xoff`; without it 15/16 of `xoff`.
    pub xon: Option<ByteCount>,
    /// How long receive has to stand still during a pause until the NIC reports it; without it never.
    pub watchdog_bark: Option<Duration>,
    /// How long receive has to stand still until the NIC stops pausing; without it never.
    pub watchdog_bite: Option<Duration>,
    /// Congestion control of model NICs: `dcqcn`, or one that the program has by this name (docs/own-congestion.md).
    /// Without it DCQCN, if there is the table `dcqcn`. Receivers answer marks with CNPs as that table says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Numbers that `congestion` takes, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub congestion_parameters: BTreeMap<String, f64>,
    /// DCQCN; without this table it is off.
    pub dcqcn: Option<Dcqcn>,
    /// TCP of the hosts with `nic = "tcp"`.
    #[serde(skip_serializing_if = "TcpSettings::is_default")]
    pub tcp: TcpSettings,
    /// Most READs and atomics of a QP that are not answered, in each direction, 1 to 128. An RTL NIC has 16 at most.
    pub max_rd_atomic: u16,
    /// Page tables and their cache, of model and RTL NICs; without it all translations are on chip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationSettings>,
    /// Latency between NIC and host memory, one way.
    pub pcie_latency: Duration,
    /// Payload rate of the bus, each direction, 2 Mb/s or more; without it 64 Gb/s (Gen3 ×8), or 1.6 times the rate of
    /// the port if that is more.
    pub pcie_rate: Option<Rate>,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            nic: NicKind::Rtl,
            rate: LineRate::G40,
            ip: IpVersion::V4,
            lossless: vec![3],
            classify: Classify::Dscp,
            weights: [1; 8],
            buffer: None,
            xoff: None,
            xon: None,
            watchdog_bark: None,
            watchdog_bite: None,
            congestion: None,
            congestion_parameters: BTreeMap::new(),
            dcqcn: None,
            tcp: TcpSettings::default(),
            max_rd_atomic: 16,
            translation: None,
            pcie_latency: PcieConfig::default().latency,
            pcie_rate: None,
        }
    }
}

/// Name of the congestion control that every NIC has.
pub const DCQCN: &str = "dcqcn";

impl HostSettings {
    /// The settings of DCQCN, of which any congestion control has the notification point; `None` if none is on.
    pub fn marks(&self) -> Option<Dcqcn> {
        match &self.congestion {
            Some(_) => Some(self.dcqcn.clone().unwrap_or_default()),
            None => self.dcqcn.clone().filter(|dcqcn| dcqcn.on),
        }
    }

    /// The name of what is in place of DCQCN.
    pub fn own_congestion(&self) -> Option<&str> {
        self.congestion.as_deref().filter(|name| *name != DCQCN)
    }

    /// The bus of a host, whose port has [`rate`](Self::rate).
    ///
    /// The default leaves each port what Gen3 ×8, 64 Gb/s, leaves one of 40 Gb/s (SIGCOMM 2016, section 4.4).
    pub fn pcie(&self) -> PcieConfig {
        let default = PcieConfig::default();
        let least = default.rate.unwrap_or_default();
        let line = Rate::from(self.rate).as_bits_per_second();
        let beside = Rate::from_bits_per_second(line / 5 * 8);
        PcieConfig {
            latency: self.pcie_latency,
            rate: Some(self.pcie_rate.unwrap_or(least.max(beside))),
        }
    }
}

/// DCQCN. Without other values it has the paper's parameters (SIGCOMM 2015, figure 14), which are those of 40 Gb/s; at
/// faster ports the steps of increase grow with the rate, as in the evaluation of HPCC (SIGCOMM 2019).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dcqcn {
    /// Whether DCQCN is on.
    pub on: bool,
    /// Gain of α, 0 to below 1: 1/256 is 0.00390625. Rounded to 2⁻¹⁶.
    pub g: f64,
    /// Time without a CNP after which α decays.
    pub alpha_timer: Duration,
    /// Period of the rate timer.
    pub rate_timer: Duration,
    /// Bytes between rate increases.
    pub byte_counter: ByteCount,
    /// Stages of fast recovery, 0 to 31.
    pub stages: u8,
    /// Step of additive increase; without it 40 Mb/s, above 40 Gb/s a thousandth of the port's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_ai: Option<Rate>,
    /// Step of hyper increase; without it five times the default step of additive increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_hai: Option<Rate>,
    /// Least time between two CNPs of a flow.
    pub cnp_interval: Duration,
    /// DSCP of CNPs, 0 to 63; 48 is class 6.
    pub cnp_dscp: u8,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            on: true,
            g: 1.0 / 256.0,
            alpha_timer: Duration::from_us(55),
            rate_timer: Duration::from_us(55),
            byte_counter: ByteCount::new(10_000_000),
            stages: 5,
            rate_ai: None,
            rate_hai: None,
            cnp_interval: Duration::from_us(50),
            cnp_dscp: 48,
        }
    }
}

impl Dcqcn {
    /// The steps of additive and of hyper increase at a port.
    pub fn steps(&self, port: LineRate) -> [Rate; 2] {
        let port = Rate::from(port).max(Rate::from_gbps(40));
        let part = |of: u64| Rate::from_bits_per_second(port.as_bits_per_second() / of);
        [
            self.rate_ai.unwrap_or(part(1_000)),
            self.rate_hai.unwrap_or(part(200)),
        ]
    }
}
