//! What a part shows of its nodes' ports, so that another part can measure all of the network.
//!
//! What was shown stays as it was until it is shown again. Frames on their way are not shown.

use serde::{Deserialize, Serialize};

use super::{Digest, InjectionCounters, Network, Node, NodeId, PortCounters};
use crate::link::FaultInjector;
use crate::time::Time;

/// A port as it was shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ShownPort {
    received: Digest,
    sent: Digest,
    counters: PortCounters,
    line_free: Time,
    /// The wire that starts there.
    wire: Option<(FaultInjector, InjectionCounters)>,
}

/// The ports of a node as they were shown: digests, counters, what fault rules and injections have done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShownPorts(Vec<ShownPort>);

impl<N: Node> Network<N> {
    /// What is to be seen of a node's ports now.
    pub fn ports_shown(&self, node: NodeId) -> ShownPorts {
        let ports = self.at(node).ports.iter().map(|port| ShownPort {
            received: port.received,
            sent: port.sent,
            counters: port.counters,
            line_free: port.line_free,
            wire: (port.out.as_ref()).map(|out| (out.faults.clone(), out.injection.counters())),
        });
        ShownPorts(ports.collect())
    }

    /// Takes what the part that has a node showed of its ports, and gives the node to `see`, which takes what was shown
    /// of itself. Panics when the node runs here, or has other ports.
    pub fn see(&mut self, node: NodeId, ports: ShownPorts, see: impl FnOnce(&mut N)) {
        assert!(!self.has(node), "node {} runs here", node.0);
        let context = self.at_mut(node);
        assert_eq!(
            context.ports.len(),
            ports.0.len(),
            "ports of node {}",
            node.0
        );
        for (port, shown) in context.ports.iter_mut().zip(ports.0) {
            port.received = shown.received;
            port.sent = shown.sent;
            port.counters = shown.counters;
            port.line_free = shown.line_free;
            if let (Some(out), Some((faults, injection))) = (&mut port.out, shown.wire) {
                out.faults = faults;
                out.injection.see(injection);
            }
        }
        see(&mut context.node);
    }
}
