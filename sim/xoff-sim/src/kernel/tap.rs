//! Frames seen at ports, for captures.

use serde::{Deserialize, Serialize};

use super::{Frame, NodeId, PortId};

/// Which way a frame went through a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Into the node.
    Received,
    /// Out of it.
    Sent,
}

/// A frame seen at a tapped port. Records come in the order of the frames' ends, then node, port, direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Which node.
    pub node: NodeId,
    /// Which of its ports.
    pub port: PortId,
    /// Which way.
    pub direction: Direction,
    /// The frame with its times at this port.
    pub frame: Frame,
}
