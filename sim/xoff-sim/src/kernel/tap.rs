//! Frames seen at ports, for captures.

use serde::{Deserialize, Serialize};

use super::{NodeId, PortId};
use crate::frame::Frame;

/// The direction of a frame at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Into the node.
    Received,
    /// Out of the node.
    Sent,
}

/// A frame seen at a tapped port. Records are ordered by the frames' ends, then node, port, direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The node.
    pub node: NodeId,
    /// The port of the node.
    pub port: PortId,
    /// The direction.
    pub direction: Direction,
    /// The frame, with its times at this port.
    pub frame: Frame,
}
