//! The way between ranks by MPI.

use std::fmt;
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use xoff_network::parts::Way;
use xoff_sim::kernel::{Exchange, ExchangeError};

/// MPI, from its start to its end.
pub(super) struct Library {
    /// Ends MPI when it is dropped.
    _universe: Universe,
}

impl Library {
    /// Starts MPI.
    pub(super) fn start() -> anyhow::Result<(Self, Way)> {
        // Windows run in a pool of threads, so it is not always the same thread that exchanges, but never two.
        let started = mpi::initialize_with_threading(Threading::Serialized);
        let (universe, threads) = started.context("MPI was started before")?;
        ensure!(
            threads >= Threading::Serialized,
            "MPI provides {threads:?}: runs of several ranks need MPI_THREAD_SERIALIZED, which Open MPI and MPICH have"
        );
        let way: Way = Arc::new(Mutex::new(Mpi));
        let _universe = universe;
        Ok((Self { _universe }, way))
    }

    /// Ends all ranks at once.
    pub(super) fn abort(&self, code: u8) -> ! {
        abort(code)
    }
}

/// Ends all ranks at once. MPI has been started.
pub(super) fn abort(code: u8) -> ! {
    SimpleCommunicator::world().abort(code.into())
}

/// Messages between all ranks. If one of them is gone, MPI ends the others.
struct Mpi;

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MPI, rank {} of {}", self.part(), self.parts())
    }
}

impl Exchange for Mpi {
    fn part(&self) -> u32 {
        SimpleCommunicator::world().rank() as u32
    }

    fn parts(&self) -> u32 {
        SimpleCommunicator::world().size() as u32
    }

    fn exchange(&mut self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let world = SimpleCommunicator::world();
        let (own, parts) = (self.part(), self.parts());
        for (part, message) in (0..).zip(&messages) {
            if i32::try_from(message.len()).is_err() {
                let bytes = message.len();
                return Err(ExchangeError::TooLong { part, parts, bytes });
            }
        }
        let rank = |part: u32| world.process_at_rank(part as i32);
        Ok(mpi::request::scope(|scope| {
            let others = (0..).zip(&messages).filter(|(part, _)| *part != own);
            let sends =
                others.map(|(part, message)| rank(part).immediate_send(scope, &message[..]));
            let sends: Vec<_> = sends.collect();
            // Messages of one rank to another one arrive in their order, so they need no tag.
            let receive = |part: u32| match part == own {
                true => Vec::new(),
                false => rank(part).receive_vec::<u8>().0,
            };
            let got = (0..parts).map(receive).collect();
            for send in sends {
                send.wait();
            }
            got
        }))
    }
}
