//! NICs of your own, registered by the names that scenarios use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::host::{Host, PcieConfig};
use xoff_sim::protocol::gbn::WorkKind;

use super::device::{Device, Driver, HostSetup, Limits, PortShape};
use super::rtl_host::{RtlHost, RtlHostConfig, RtlNode};
use crate::scenario::check::Misfit;
use crate::scenario::{Connection, HostSettings, IpVersion, NicKind};
use crate::units::UnitError;

/// The NICs other than those of this repository that a simulation can create: `nic = { own = "NAME" }` in a scenario.
///
/// ```no_run
/// # use xoff_cosim::network::{Nics, XoffNic};
/// // Any type that implements `Driver`.
/// let nics = Nics::default().with::<XoffNic>("xoff");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Nics(BTreeMap<String, Kind>);

#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub port: PortShape,
    limits: fn() -> Limits,
    make: Make,
}

type Make = fn(RtlHostConfig, &HostSetup, &PcieConfig) -> Result<Box<dyn RtlNode>, UnitError>;

impl Nics {
    /// Adds a NIC under a name.
    #[must_use]
    pub fn with<D: Driver>(mut self, name: &str) -> Self {
        let kind = Kind {
            port: D::Device::PORT,
            limits: D::limits,
            make: |config, setup, pcie| {
                let host = Host::new(config.clock, D::DMA_BYTES, pcie);
                Ok(Box::new(RtlHost::<D>::with_setup(config, setup, host)?))
            },
        };
        self.0.insert(name.into(), kind);
        self
    }

    /// The kind of a host's NIC, or `None` if it is one of this repository's NICs.
    ///
    /// # Errors
    ///
    /// A name that is not known, or a NIC that does not speak the host's version of IP.
    pub(super) fn of(&self, host: &str, settings: &HostSettings) -> Result<Option<Kind>, Misfit> {
        let NicKind::Own(name) = &settings.nic else {
            return Ok(None);
        };
        if let Some(kind) = self.0.get(name) {
            if settings.ip == IpVersion::V6 && !(kind.limits)().ipv6 {
                return Err(Misfit {
                    place: format!("hosts.{host}.ip"),
                    problem: format!("v6: the NIC '{name}' has IPv4 only, \"v4\""),
                });
            }
            return Ok(Some(*kind));
        }
        let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let known = match known.as_slice() {
            [] => "this program has none; docs/own-nic.md says how to build one that has".into(),
            known => format!("there are {}", known.join(", ")),
        };
        Err(Misfit {
            place: format!("hosts.{host}.nic"),
            problem: format!("no own NIC of the name '{name}': {known}"),
        })
    }
}

impl Kind {
    pub(super) fn make(
        &self,
        config: RtlHostConfig,
        setup: &HostSetup,
        pcie: &PcieConfig,
    ) -> Result<Own, UnitError> {
        Ok(Own((self.make)(config, setup, pcie)?))
    }

    /// Checks whether the NIC can be an end of a flow, with this QP index.
    pub(super) fn check(
        &self,
        host: &str,
        connection: &Connection<'_>,
        qp: u16,
    ) -> Result<(), Misfit> {
        let flow = connection.settings;
        let limits = (self.limits)();
        let list = |values: Vec<String>| values.join(", ");
        let problem = if !limits.operations.contains(&flow.operation.into()) {
            let can = [
                ("send", WorkKind::SEND),
                ("send_imm", WorkKind::SEND_IMM),
                ("write", WorkKind::WRITE),
                ("write_imm", WorkKind::WRITE_IMM),
            ];
            let can = can
                .iter()
                .filter(|(_, kind)| limits.operations.contains(kind));
            let can = list(can.map(|(name, _)| (*name).into()).collect());
            Some(("operation", format!("the NIC of {host} does {can}")))
        } else if !limits.mtus.contains(&flow.mtu) {
            let can = list(limits.mtus.iter().map(u32::to_string).collect());
            Some(("mtu", format!("{}: the NIC of {host} has {can}", flow.mtu)))
        } else if connection.message.get() > limits.message.into() {
            let most = limits.message;
            Some((
                "message",
                format!(
                    "{}: the NIC of {host} carries {most} bytes at most",
                    connection.message
                ),
            ))
        } else if flow.outstanding > limits.outstanding {
            let most = limits.outstanding;
            Some((
                "outstanding",
                format!("{}: the NIC of {host} holds {most}", flow.outstanding),
            ))
        } else if qp >= limits.qps {
            let most = limits.qps;
            Some((
                "from",
                format!("host {host} has more than {most} flows, as many as its NIC has QPs"),
            ))
        } else {
            None
        };
        problem.map_or(Ok(()), |(key, problem)| {
            Err(Misfit {
                place: format!("flows.{}.{key}", flow.name),
                problem,
            })
        })
    }

    /// Number of receive buffers that a host keeps posted.
    pub(super) fn buffers(&self) -> u32 {
        (self.limits)().outstanding
    }
}

/// A host with a NIC of your own. It cannot be part of a checkpoint, because reading one back would require the NIC's
/// types.
#[derive(Debug)]
pub struct Own(pub(super) Box<dyn RtlNode>);

const NOT_SAVED: &str = "a host with an own NIC is in no checkpoint; \
    an `RtlHost` alone can be saved and restored by whoever knows its driver";

impl Serialize for Own {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(NOT_SAVED))
    }
}

impl<'de> Deserialize<'de> for Own {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(NOT_SAVED))
    }
}
