//! The ranks of MPI among which `mpirun` divides a run: processes with the same arguments, each of which has a part of
//! the network.
//!
//! Rank 0 measures, writes and prints; the others obey it (`xoff_network::parts`). What is wrong before a run begins is
//! said by one of them and ends all. What goes wrong later ends them at once, by `MPI_Abort`, and names the rank.
//!
//! Only `mpi.rs` knows MPI, and is there only with the feature `mpi`.

use std::sync::PoisonError;

use anyhow::bail;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use xoff_network::parts::Way;
use xoff_sim::kernel::ExchangeCounters;
use xoff_sim::kernel::part::exchange;

#[cfg(feature = "mpi")]
mod mpi;

/// The variables in which Open MPI, MPICH and Slurm tell a process how many ranks there are. Slurm's is set for programs
/// without MPI too, and counts beside that of the library by which it starts ranks.
const LAUNCHED: [(&str, Option<&str>); 3] = [
    ("OMPI_COMM_WORLD_SIZE", None),
    ("PMI_SIZE", None),
    ("SLURM_STEP_NUM_TASKS", Some("PMIX_RANK")),
];

/// An error that all ranks have agreed on. One of them says it.
#[derive(Debug, Error)]
#[error("{}", said.as_deref().unwrap_or("another rank says why"))]
pub struct Agreed {
    /// What is wrong, in rank 0.
    pub said: Option<String>,
}

/// The ranks of a run, and which of them this process is.
#[derive(Default)]
pub struct Ranks {
    /// The way to the others; absent: there are none.
    way: Option<Way>,
    rank: u32,
    number: u32,
    #[cfg(feature = "mpi")]
    library: Option<mpi::Library>,
}

impl Ranks {
    /// A process that has the whole network.
    pub fn alone() -> Self {
        Self {
            number: 1,
            ..Self::default()
        }
    }

    /// The ranks on a way, of which this process, or thread, is one.
    pub fn on(way: Way) -> Self {
        let (rank, number) = {
            let way = way.lock().unwrap_or_else(PoisonError::into_inner);
            (way.part(), way.parts())
        };
        Self {
            way: (number > 1).then_some(way),
            rank,
            number,
            #[cfg(feature = "mpi")]
            library: None,
        }
    }

    /// The ranks with which this process was started.
    ///
    /// # Errors
    ///
    /// There are several, and the program was built without MPI, or MPI cannot be used by several threads.
    pub fn of_process() -> anyhow::Result<Self> {
        let launched = LAUNCHED.into_iter().find_map(|(name, beside)| {
            let number = std::env::var(name).ok()?.parse().ok()?;
            let counts = beside.is_none_or(|beside| std::env::var_os(beside).is_some());
            (counts && number > 1).then_some((name, number))
        });
        match launched {
            None => Ok(Self::alone()),
            Some((name, number)) => Self::launched(name, number),
        }
    }

    #[cfg(feature = "mpi")]
    fn launched(_name: &str, _number: u32) -> anyhow::Result<Self> {
        let (library, way) = mpi::Library::start()?;
        let ranks = Self {
            library: Some(library),
            ..Self::on(way)
        };
        ranks.abort_on_panic();
        Ok(ranks)
    }

    #[cfg(not(feature = "mpi"))]
    fn launched(name: &str, number: u32) -> anyhow::Result<Self> {
        bail!(
            "{name}={number}: started as one of {number} ranks, and this program was built without MPI: each would run \
             the whole network; `cargo build --release --features mpi` builds one with it (docs/ranks.md)"
        )
    }

    /// The way to the other ranks. `None`: there are none.
    pub fn way(&self) -> Option<Way> {
        self.way.clone()
    }

    /// How many there are.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether this one measures, writes and prints.
    pub fn leads(&self) -> bool {
        self.rank == 0
    }

    /// Gives a message to all others. Returns those of the others with their ranks.
    fn share<M: Serialize + DeserializeOwned>(&self, message: &M) -> anyhow::Result<Vec<(u32, M)>> {
        let Some(way) = &self.way else {
            return Ok(Vec::new());
        };
        let mut way = way.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = ExchangeCounters::default();
        Ok(exchange(&mut *way, &mut counters, |_| message)?)
    }

    /// Goes on if it went well in all ranks.
    ///
    /// # Errors
    ///
    /// [`Agreed`]: rank 0 has its own error, or that of the first other one.
    pub fn agree<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        if self.way.is_none() {
            return result;
        }
        let own = result.as_ref().err().map(crate::program::message);
        let others = self.share(&own)?;
        let name =
            |(rank, said): (u32, Option<String>)| Some(format!("{}: {}", self.name(rank), said?));
        let first = own.or_else(|| others.into_iter().find_map(name));
        match (first, result) {
            (None, result) => result,
            (said, _) => bail!(Agreed {
                said: said.filter(|_| self.leads()),
            }),
        }
    }

    /// Whether the leading rank begins another run: what it says, in all ranks.
    ///
    /// # Errors
    ///
    /// A rank is gone.
    pub fn begin(&self, another: bool) -> anyhow::Result<bool> {
        self.of_leader(another)
    }

    /// What the leading rank says, in all ranks.
    ///
    /// # Errors
    ///
    /// A rank is gone.
    pub fn of_leader<M: Serialize + DeserializeOwned>(&self, own: M) -> anyhow::Result<M> {
        let others = self.share(&own)?;
        let of_leader = others.into_iter().find(|(rank, _)| *rank == 0);
        Ok(of_leader.map_or(own, |(_, said)| said))
    }

    fn name(&self, rank: u32) -> String {
        format!("rank {rank} of {}", self.number)
    }

    /// Who says something that goes wrong: `rank 2 of 4: `, and nothing if there is one.
    pub fn prefix(&self) -> String {
        match self.number {
            0 | 1 => String::new(),
            _ => format!("{}: ", self.name(self.rank)),
        }
    }

    /// Ends all ranks at once, if there are several.
    pub fn abort(&self, code: u8) {
        #[cfg(feature = "mpi")]
        if let Some(library) = &self.library {
            library.abort(code);
        }
        let _ = code;
    }

    /// A rank that panics ends the others, which would wait for it.
    #[cfg(feature = "mpi")]
    fn abort_on_panic(&self) {
        let prefix = self.prefix();
        let said = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            said(panic);
            eprintln!("xoff: {prefix}it panicked, and the others cannot go on without it");
            mpi::abort(101);
        }));
    }
}
