//! NICs of your own, registered by the names that scenarios use.

use std::collections::BTreeMap;

use bytes::Bytes;
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
    restore: Restore,
}

type Make = fn(RtlHostConfig, &HostSetup, &PcieConfig) -> Result<Box<dyn RtlNode>, UnitError>;
type Restore = fn(&[u8]) -> Result<Box<dyn RtlNode>, String>;

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
            restore: |saved| Ok(Box::new(RtlHost::<D>::restore(saved)?)),
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
        let kind = self.named(host, name)?;
        if settings.ip == IpVersion::V6 && !(kind.limits)().ipv6 {
            return Err(Misfit {
                place: format!("hosts.{host}.ip"),
                problem: format!("v6: the NIC '{name}' has IPv4 only, \"v4\""),
            });
        }
        Ok(Some(kind))
    }

    /// The NIC of a name.
    fn named(&self, host: &str, name: &str) -> Result<Kind, Misfit> {
        if let Some(kind) = self.0.get(name) {
            return Ok(*kind);
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

    /// The host with its NIC, for a host that was read from a checkpoint. `None` if it has its NIC already.
    ///
    /// # Errors
    ///
    /// A name that is not known, or a NIC whose driver or model is not the one that was saved.
    pub(super) fn restore(&self, host: &str, own: &Own) -> Result<Option<Own>, Misfit> {
        let Content::Saved(saved) = &own.content else {
            return Ok(None);
        };
        let kind = self.named(host, &own.nic)?;
        let node = (kind.restore)(saved).map_err(|why| Misfit {
            place: format!("hosts.{host}.nic"),
            problem: format!("the NIC '{}' cannot go on from saved state: {why}", own.nic),
        })?;
        Ok(Some(Own {
            nic: own.nic.clone(),
            content: Content::Node(node),
        }))
    }
}

impl Kind {
    pub(super) fn make(
        &self,
        nic: &str,
        config: RtlHostConfig,
        setup: &HostSetup,
        pcie: &PcieConfig,
    ) -> Result<Own, UnitError> {
        Ok(Own {
            nic: nic.into(),
            content: Content::Node((self.make)(config, setup, pcie)?),
        })
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

/// A host with a NIC of your own.
///
/// It can be part of a checkpoint if its device says so. Since only the program knows the types of its NICs, a host
/// that was read from a checkpoint is of no use until [`Simulation::attach`](super::Simulation::attach) gives it its
/// NIC.
#[derive(Debug)]
pub struct Own {
    /// The NIC's name.
    nic: String,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Node(Box<dyn RtlNode>),
    /// The state of a node that was read from a checkpoint.
    Saved(Bytes),
}

/// What is said of a host that cannot be part of a checkpoint.
pub(super) const NOT_SAVED: &str = "a host with an own NIC is in no checkpoint unless its device says \
    `const CHECKPOINTS: bool = true`; an `RtlHost` alone can be saved and restored by whoever knows its driver";
const NOT_ATTACHED: &str =
    "a simulation that was read from a checkpoint gets its own NICs by `attach`";

impl Own {
    /// The host. Panics if it was read from a checkpoint and has not got its NIC, as does
    /// [`node_mut`](Self::node_mut).
    pub(super) fn node(&self) -> &dyn RtlNode {
        match &self.content {
            Content::Node(node) => &**node,
            Content::Saved(_) => panic!("{NOT_ATTACHED}"),
        }
    }

    pub(super) fn node_mut(&mut self) -> &mut dyn RtlNode {
        match &mut self.content {
            Content::Node(node) => &mut **node,
            Content::Saved(_) => panic!("{NOT_ATTACHED}"),
        }
    }

    /// Whether it can be part of a checkpoint.
    pub(super) fn saves(&self) -> bool {
        match &self.content {
            Content::Node(node) => node.saves(),
            Content::Saved(_) => true,
        }
    }
}

impl Serialize for Own {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let custom = <S::Error as serde::ser::Error>::custom;
        let saved = match &self.content {
            Content::Saved(saved) => saved.clone(),
            Content::Node(node) if node.saves() => node.save().map_err(custom)?.into(),
            Content::Node(_) => return Err(custom(NOT_SAVED.into())),
        };
        (&self.nic, saved).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Own {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (nic, saved) = Deserialize::deserialize(deserializer)?;
        Ok(Self {
            nic,
            content: Content::Saved(saved),
        })
    }
}
