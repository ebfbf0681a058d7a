//! Number of threads of commands that run in parallel.

/// Maximum of `--threads`: more than the cores of any current machine, and few enough to be started.
pub const MAX_THREADS: i64 = 1_024;

/// Returns the number of threads to start: as many as asked for, otherwise one per core.
pub fn threads(asked: Option<u16>) -> usize {
    (asked.map(usize::from))
        .or_else(|| std::thread::available_parallelism().map(usize::from).ok())
        .unwrap_or(1)
}
