//! A checkpoint of a run in parts: each part keeps the nodes that it has, the leading part also what is measured.
//!
//! The leading part has the others keep theirs ([`Simulation::begin_keeping`]), keeps its own, which is its
//! [`Run`](crate::Run) in serialized form, and collects what they say ([`Simulation::kept`]). The run that is read from
//! that has the nodes of part 0 alone, until [`Simulation::join`] gives it the others'. Where parts are kept, and how
//! they are told from damaged ones, is the matter of whoever keeps them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::{NodeId, SavedNodes};
use xoff_sim::time::Time;

use super::Order;
use crate::{Simulation, SimulationError, Station};

/// Where a checkpoint is kept, and what its parts have in common. The leading part says it to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The folder of its parts.
    pub folder: PathBuf,
    /// Identifies the program that wrote it: that of the leading part.
    pub program: u64,
    /// Identifies the scenario, with its settings and files.
    pub content: u64,
    /// Its time.
    pub time: Time,
}

/// What a part has kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The file's name in the folder.
    pub file: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// A checksum of what is in it.
    pub sum: u64,
}

/// Why a part was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotKept {
    /// A host that can be in no checkpoint, and why.
    Unsaved(String),
    /// It could not be written, and where and why.
    Failed(String),
}

impl Simulation {
    /// Has all other parts keep the nodes that they have. What is done here until [`kept`](Self::kept) is done at the
    /// same time.
    ///
    /// # Errors
    ///
    /// A part that is gone.
    pub fn begin_keeping(&mut self, place: &Place) -> Result<(), SimulationError> {
        self.order(&Order::Keep(place.clone()));
        Ok(self.ordered()?)
    }

    /// What the other parts have kept, in their order, or why they could not.
    ///
    /// # Errors
    ///
    /// A part that is gone.
    pub fn kept(&mut self) -> Result<Vec<Result<Kept, NotKept>>, SimulationError> {
        type Said = Option<Result<Kept, NotKept>>;
        let said = self.exchange::<Said, Said>(|_| None)?;
        Ok(said.into_iter().filter_map(|(_, said)| said).collect())
    }

    /// The state of the nodes that this part has, for [`join`](Self::join).
    ///
    /// # Errors
    ///
    /// A host that can be in no checkpoint.
    pub fn save_nodes(&self) -> Result<Vec<u8>, SimulationError> {
        match self.unsaved() {
            Some(issue) => Err(issue.into()),
            None => Ok(postcard::to_stdvec(&self.network.own_nodes())?),
        }
    }

    /// Makes the simulation of part 0 that was read from a checkpoint a whole one, by what
    /// [`save_nodes`](Self::save_nodes) returned in the other parts.
    ///
    /// # Errors
    ///
    /// Parts that are not those of one checkpoint.
    pub fn join(&mut self, others: &[Vec<u8>]) -> Result<(), SimulationError> {
        let read = |bytes: &Vec<u8>| postcard::from_bytes::<SavedNodes<Station>>(bytes);
        let others: Result<Vec<_>, _> = others.iter().map(read).collect();
        Ok(self.network.join(others?)?)
    }

    /// The names of the nodes that each part has; all of them for a simulation in one part.
    pub fn nodes_of_parts(&self) -> Vec<Vec<&str>> {
        let mut names = vec![Vec::new(); self.parts() as usize];
        let owner = |node: NodeId| {
            let parts = self.parts.as_ref();
            parts.map_or(0, |parts| parts.owners[node.0 as usize])
        };
        for (number, name) in (0..).zip(&self.names) {
            names[owner(NodeId(number)) as usize].push(&name[..]);
        }
        names
    }
}
