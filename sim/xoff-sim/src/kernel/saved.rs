//! A network that is saved in parts: each part saves the nodes that it has, and whoever has what all of them saved has
//! the whole network again, to run it in any number of parts.
//!
//! Part 0 saves its [`Network`], of which the serialized form has only the nodes that run there. The others save their
//! [`OwnNodes`], which [`Network::join`] puts into their places. All have to do it at the same time, between two runs:
//! then all frames on their way are with the nodes to which they go.

use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::context::NodeContext;
use super::{Network, Node, NodeId};

/// Nodes that were saved do not make a whole network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum JoinError {
    /// No part has saved it.
    #[error("node {} of {nodes} was saved by no part", node.0)]
    Missing {
        /// The node.
        node: NodeId,
        /// How many the network has.
        nodes: usize,
    },
    /// Two parts have saved it.
    #[error("node {} was saved by two parts", .0.0)]
    Twice(NodeId),
    /// The network has fewer nodes.
    #[error("node {} was saved, and the network has {nodes}", node.0)]
    Unknown {
        /// The node.
        node: NodeId,
        /// How many the network has.
        nodes: usize,
    },
}

/// The nodes that run in a part, with the frames on their way to them.
#[derive(Debug, Serialize)]
pub struct OwnNodes<'a, N>(Vec<&'a NodeContext<N>>);

/// [`OwnNodes`] that were read again.
#[derive(Debug, Deserialize)]
pub struct SavedNodes<N>(Vec<NodeContext<N>>);

impl<N> Network<N> {
    /// The nodes that run here, to be saved.
    pub fn own_nodes(&self) -> OwnNodes<'_, N> {
        let part = self.part.as_ref();
        let here = |node: &&NodeContext<N>| part.is_none_or(|part| part.has(node.id));
        OwnNodes(self.nodes.iter().filter(here).collect())
    }
}

/// With the nodes that run here alone: all of them, unless it is a part. The fields are those that are deserialized.
impl<N: Serialize> Serialize for Network<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut network = serializer.serialize_struct("Network", 5)?;
        network.serialize_field("nodes", &self.own_nodes())?;
        network.serialize_field("places", &self.places)?;
        network.serialize_field("now", &self.now)?;
        network.serialize_field("limit", &self.limit)?;
        network.serialize_field("parallel_from", &self.parallel_from)?;
        network.end()
    }
}

impl<N: Node> Network<N> {
    /// Makes the network of part 0 that was read again a whole one, with the nodes of the other parts. Until then those
    /// are not there, and it cannot be used.
    ///
    /// # Errors
    ///
    /// A node is missing, or there twice: the parts were not saved by one run.
    pub fn join(
        &mut self,
        others: impl IntoIterator<Item = SavedNodes<N>>,
    ) -> Result<(), JoinError> {
        let nodes = self.places.len();
        let mut all = std::mem::take(&mut self.nodes);
        all.extend(others.into_iter().flat_map(|others| others.0));
        all.sort_by_key(|context| context.id);
        for (place, context) in (0..).zip(&all) {
            let (node, expected) = (context.id, NodeId(place));
            if node.0 as usize >= nodes {
                return Err(JoinError::Unknown { node, nodes });
            }
            if node < expected {
                return Err(JoinError::Twice(node));
            }
            if node > expected {
                return Err(JoinError::Missing {
                    node: expected,
                    nodes,
                });
            }
        }
        if all.len() < nodes {
            let node = NodeId(all.len() as u32);
            return Err(JoinError::Missing { node, nodes });
        }
        // In the order of their numbers, until the next run arranges them and says so at all links.
        self.places = (0..nodes as u32).collect();
        self.nodes = all;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Channels, NetworkBuilder, PortId};
    use crate::link::Link;
    use crate::seeded::Seed;
    use crate::testing::Source;
    use crate::time::{Duration, Length, LineRate, Time};

    /// Four sources in a row of two pairs, with frames on long links between the pairs' ends.
    fn pairs() -> Network<Source> {
        let mut draws = Seed(5).draws();
        let mut builder = NetworkBuilder::new(Seed(6));
        for _ in 0..2 {
            let [a, b] =
                [(); 2].map(|()| builder.node(Source::random(&mut draws, LineRate::G40, 50)));
            let link = Link::new(Length::from_m(200), Duration::from_ns(100));
            let ends = [a, b].map(|node| (node, PortId(0)));
            builder.connect(ends[0], ends[1], &link).unwrap();
        }
        builder.build()
    }

    const MIDDLE: Time = Time::from_ps(3_000_000);
    const END: Time = Time::from_ps(100_000_000);

    /// What each of two parts saves in the middle. Both pairs have an end in each.
    fn saved() -> Vec<Vec<u8>> {
        Channels::run(2, |mut way| {
            use crate::kernel::Exchange as _;
            let mut network = pairs();
            let part = way.part();
            network.take_part(part, vec![0, 1, 1, 0]);
            network.run_part_until(MIDDLE, &mut way, |_| ()).unwrap();
            match part {
                0 => postcard::to_stdvec(&network).unwrap(),
                _ => postcard::to_stdvec(&network.own_nodes()).unwrap(),
            }
        })
    }

    fn read(saved: &[u8]) -> SavedNodes<Source> {
        postcard::from_bytes(saved).unwrap()
    }

    #[test]
    fn parts_that_were_saved_make_the_whole_network() {
        let mut whole = pairs();
        whole.run_until(MIDDLE, |_| ());
        let middle = whole.digest();
        whole.run_until(END, |_| ());
        let saved = saved();
        let joined = || {
            let mut joined: Network<Source> = postcard::from_bytes(&saved[0]).unwrap();
            joined.join([read(&saved[1])]).unwrap();
            joined
        };
        let mut alone = joined();
        assert_eq!((alone.now(), alone.digest()), (MIDDLE, middle));
        let under_way = |node| alone.in_flight(NodeId(node));
        assert!((0..4).map(under_way).sum::<usize>() > 0);
        alone.run_until(END, |_| ());
        assert_eq!(alone.digest(), whole.digest());
        // In other parts than those that saved it.
        let digests = Channels::run(2, |mut way| {
            use crate::kernel::Exchange as _;
            let mut network = joined();
            let part = way.part();
            network.take_part(part, vec![1, 1, 0, 1]);
            network.run_part_until(END, &mut way, |_| ()).unwrap();
            postcard::to_stdvec(&network.own_nodes()).unwrap()
        });
        let mut came: Network<Source> = joined();
        came.nodes.clear();
        came.join(digests.iter().map(|nodes| read(nodes))).unwrap();
        assert_eq!(came.digest(), whole.digest());
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let saved = saved();
        let join = |others: &[&Vec<u8>]| {
            let mut joined: Network<Source> = postcard::from_bytes(&saved[0]).unwrap();
            joined.join(others.iter().map(|nodes| read(nodes)))
        };
        let (node, nodes) = (NodeId(1), 4);
        assert_eq!(join(&[]), Err(JoinError::Missing { node, nodes }));
        assert_eq!(join(&[&saved[1], &saved[1]]), Err(JoinError::Twice(node)));
        let mut small: Network<Source> = postcard::from_bytes(&saved[0]).unwrap();
        small.places.pop();
        let unknown = JoinError::Unknown {
            node: NodeId(3),
            nodes: 3,
        };
        assert_eq!(small.join([read(&saved[1])]), Err(unknown));
    }
}
