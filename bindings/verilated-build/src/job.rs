//! Compiling models: only what changed, several at a time.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;
use crate::files::write;

/// A model whose C++ waits to be compiled.
pub(crate) struct Job {
    pub name: String,
    pub library: String,
    pub folder: PathBuf,
    pub build: cc::Build,
    /// Hash of all that the library is made of.
    pub stamp: u64,
}

impl Job {
    fn compile(&self) -> Result<(), Error> {
        let stamp_file = self.folder.join("stamp");
        let stamp = format!("{:016x}", self.stamp);
        let library = self.folder.join(format!("lib{}.a", self.library));
        if library.exists() && fs::read_to_string(&stamp_file).is_ok_and(|before| before == stamp) {
            return Ok(());
        }
        self.build
            .try_compile(&self.library)
            .map_err(|source| Error::Compile {
                what: format!("model {}", self.name),
                source,
            })?;
        write(&stamp_file, &stamp)
    }
}

/// As many at a time as Cargo gives jobs: a large model is a single translation unit, and compiles for long.
pub(crate) fn compile_all(jobs: &[Job]) -> Result<(), Error> {
    let workers = env::var("NUM_JOBS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1usize);
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = job.compile() {
                        failed
                            .lock()
                            .unwrap_or_else(|poisoned| poisoned.into_inner())
                            .get_or_insert(error);
                    }
                }
            });
        }
    });
    match failed
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
    {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
