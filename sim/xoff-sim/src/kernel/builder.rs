//! Networks: put together from nodes and links, and checked.

use thiserror::Error;

use super::context::{NodeContext, Outgoing};
use super::{Digest, Injection, Network, Node, NodeId, PortId};
use crate::link::{FaultInjector, LatencyTooSmall, Link};
use crate::seeded::Seed;
use crate::time::LineRate;

/// Why two ports cannot be connected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// There is no such node.
    #[error("node {0} does not exist: the network has {1} nodes")]
    NoNode(u32, usize),
    /// There is no such port.
    #[error("node {node} has no port {port}: it has {ports}")]
    NoPort {
        /// The node.
        node: u32,
        /// The port asked for.
        port: u16,
        /// Number of ports that the node has.
        ports: usize,
    },
    /// The port already has a link, or both ends of the link are the same port.
    #[error("node {0}, port {1} is connected already")]
    Connected(u32, u16),
    /// The rates of the two ends differ.
    #[error(
        "rates differ: node {a}, port {a_port} has {a_rate}, node {b}, port {b_port} has {b_rate}"
    )]
    Rates {
        /// One end's node.
        a: u32,
        /// One end's port.
        a_port: u16,
        /// One end's rate.
        a_rate: LineRate,
        /// The other end's node.
        b: u32,
        /// The other end's port.
        b_port: u16,
        /// The other end's rate.
        b_rate: LineRate,
    },
    /// The link is too short.
    #[error(transparent)]
    Latency(#[from] LatencyTooSmall),
}

/// Nodes and links, before time starts.
#[derive(Debug)]
pub struct NetworkBuilder<N> {
    nodes: Vec<NodeContext<N>>,
    seed: Seed,
}

impl<N: Node> NetworkBuilder<N> {
    /// Creates an empty network. The seed is for the faults of links; nodes have their own.
    pub fn new(seed: Seed) -> Self {
        Self {
            nodes: Vec::new(),
            seed,
        }
    }

    /// Adds a node and returns its number, counted from 0.
    pub fn node(&mut self, node: N) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(NodeContext::new(id, node));
        id
    }

    fn rate(&self, (node, port): (NodeId, PortId)) -> Result<LineRate, BuildError> {
        let context = self
            .nodes
            .get(node.0 as usize)
            .ok_or(BuildError::NoNode(node.0, self.nodes.len()))?;
        let found = context
            .ports
            .get(usize::from(port.0))
            .ok_or(BuildError::NoPort {
                node: node.0,
                port: port.0,
                ports: context.ports.len(),
            })?;
        match found.out {
            Some(_) => Err(BuildError::Connected(node.0, port.0)),
            None => Ok(found.rate),
        }
    }

    /// Connects two ports with a link in both directions.
    ///
    /// # Errors
    ///
    /// The node, port or rate that does not fit, or a link whose latency is below
    /// [`MIN_LATENCY`](crate::link::MIN_LATENCY).
    pub fn connect(
        &mut self,
        a: (NodeId, PortId),
        b: (NodeId, PortId),
        link: &Link,
    ) -> Result<(), BuildError> {
        let (a_rate, b_rate) = (self.rate(a)?, self.rate(b)?);
        if a == b {
            return Err(BuildError::Connected(b.0.0, b.1.0));
        }
        if a_rate != b_rate {
            return Err(BuildError::Rates {
                a: a.0.0,
                a_port: a.1.0,
                a_rate,
                b: b.0.0,
                b_port: b.1.0,
                b_rate,
            });
        }
        let latency = link.latency()?;
        for (from, to, rules) in [(a, b, &link.faults[0]), (b, a, &link.faults[1])] {
            let seed = self.seed.derive(&[from.0.0.into(), from.1.0.into()]);
            self.nodes[from.0.0 as usize].ports[usize::from(from.1.0)].out = Some(Outgoing {
                to: to.0,
                place: to.0.0,
                to_port: to.1,
                latency,
                faults: FaultInjector::new(rules.clone(), seed),
                arriving: Some(Digest::default()),
                injection: Injection::default(),
            });
        }
        Ok(())
    }

    /// Builds the network, at time zero. Frames sent from ports without a link are lost.
    pub fn build(self) -> Network<N> {
        Network::new(self.nodes)
    }
}
