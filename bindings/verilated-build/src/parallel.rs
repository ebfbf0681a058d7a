//! Runs as many tasks at a time as Cargo allows jobs.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Runs `work` for each item, several at a time, and returns the results in the order of the items. Stops at the
/// first error.
///
/// The first worker runs on the token that Cargo gave the build script. Every other worker takes one token per item,
/// so that no more processes run at a time than Cargo was told.
pub(crate) fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    // SAFETY: Cargo passes the descriptors that the variable names as open files, and nothing in a build script
    // closes them.
    let client = unsafe { jobserver::Client::from_env() };
    let workers = env::var("NUM_JOBS")
        .ok()
        .and_then(|count| count.parse().ok());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R, E>)>> = Mutex::default();
    let one = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(at) else { return };
        let result = work(item);
        if result.is_err() {
            next.store(items.len(), Ordering::Relaxed);
        }
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((at, result));
    };
    let left = || next.load(Ordering::Relaxed) < items.len();
    std::thread::scope(|scope| {
        for _ in 1..workers.unwrap_or(1usize).min(items.len()) {
            scope.spawn(|| {
                while left() {
                    // Not `acquire`, which would still wait for a token after the last item is taken.
                    match client.as_ref().map(jobserver::Client::try_acquire) {
                        Some(Ok(None)) => std::thread::sleep(Duration::from_millis(20)),
                        // The token is held until the item is done. Without a jobserver, only the number of workers
                        // is the limit.
                        token @ (None | Some(Ok(Some(_)) | Err(_))) => {
                            one();
                            drop(token);
                        }
                    }
                }
            });
        }
        while left() {
            one();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
