//! Threads that wait awake for the next piece of work.
//!
//! A thread of rayon's that finds no work goes to sleep after some microseconds, and waking it costs as much as a whole
//! window of two RTL NICs: with threads that sleep, two of them were no faster than one. While a network runs, the
//! threads of its pool therefore look for work for longer than the pause between two windows.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{available_parallelism, yield_now};

use rayon::Yield;

/// How often a thread looks for work before it may sleep: for about 0.2 ms.
const LOOKS: u32 = 2_000;

/// The number of processors; to ask for it takes longer than a short run.
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| available_parallelism().map_or(1, usize::from));

thread_local! {
    /// Whether this thread is already in [`look`], or runs a network.
    static AWAKE: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the threads of the current pool awake during the run of a network.
#[derive(Debug)]
pub(super) struct Awake {
    /// Absent if nobody waits awake: there are no other threads, or fewer processors than threads, so that one that
    /// waits would keep another one from its work.
    state: Option<Arc<State>>,
    /// What the calling thread was before.
    caller: bool,
}

#[derive(Debug)]
struct State {
    /// Threads that may sleep.
    resting: AtomicUsize,
    /// The run has ended.
    over: AtomicBool,
}

impl Awake {
    /// Begins the run of a network on the calling thread and the others of its pool.
    pub(super) fn new() -> Self {
        let others = rayon::current_num_threads() - 1;
        let wait = others > 0 && others < *PROCESSORS;
        let state = || State {
            resting: AtomicUsize::new(others),
            over: AtomicBool::new(false),
        };
        Self {
            state: wait.then(|| Arc::new(state())),
            caller: AWAKE.replace(true),
        }
    }

    /// Calls threads that rest. They look for work from now on.
    pub(super) fn call(&self) {
        if let Some(state) = &self.state
            && state.resting.swap(0, Ordering::Relaxed) > 0
        {
            let state = Arc::clone(state);
            rayon::spawn_broadcast(move |_| look(&state));
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Some(state) = &self.state {
            state.over.store(true, Ordering::Relaxed);
        }
        AWAKE.set(self.caller);
    }
}

/// Does what the pool has to do, until the run is over or there has been nothing for a while.
fn look(state: &State) {
    if AWAKE.replace(true) {
        return;
    }
    let over = || state.over.load(Ordering::Relaxed);
    look_until(over);
    AWAKE.set(false);
    state.resting.fetch_add(1, Ordering::Relaxed);
}

/// Does what the pool has to do, until something has happened or there has been nothing to do for a while.
fn look_until(happened: impl Fn() -> bool) {
    let mut looks = 0;
    while !happened() && looks < LOOKS {
        looks = match rayon::yield_now() {
            Some(Yield::Executed) => 0,
            _ => looks + 1,
        };
        if looks % 8 == 7 {
            // Other programs may need this processor.
            yield_now();
        }
    }
}

/// Runs both, at the same time if a thread is free, as [`rayon::join`] does, and waits awake for the second one.
pub(super) fn both(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    let done = AtomicBool::new(false);
    rayon::join(
        || {
            first();
            look_until(|| done.load(Ordering::Relaxed));
        },
        || {
            second();
            done.store(true, Ordering::Relaxed);
        },
    );
}
