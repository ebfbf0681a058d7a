//! The store: models kept by content, for all profiles, tools and crates of a target folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crate::Error;
use crate::files::failed;

/// An empty file in each entry. Its modification time is the time of the entry's last use.
const USED: &str = "used";
/// The size in bytes above which the least recently used entries are removed.
const LIMIT: u64 = 2 << 30;
/// An entry that was used within this time stays, whatever the size of the store: another build may be reading it.
const IN_USE: Duration = Duration::from_secs(3600);

/// A folder of entries.
///
/// An entry is a folder named by the hash of all its inputs, so it never changes. It is made under another name and
/// then renamed. If two processes make the same entry, the first one wins.
pub(crate) struct Store {
    folder: PathBuf,
    /// Whether this process added an entry.
    grown: AtomicBool,
}

impl Store {
    /// Opens the folder in `VERILATED_STORE`. Without that variable, opens `verilated-store` in Cargo's target
    /// folder, which is the nearest folder around `out_dir` that has Cargo's tag, or in `out_dir` itself if there is
    /// none.
    pub fn from_environment(out_dir: &Path) -> Result<Store, Error> {
        const VARIABLE: &str = "VERILATED_STORE";
        println!("cargo::rerun-if-env-changed={VARIABLE}");
        let folder = match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(folder) => {
                let folder = PathBuf::from(folder);
                if !folder.is_absolute() {
                    return Err(Error::StorePath { path: folder });
                }
                folder
            }
            None => out_dir
                .ancestors()
                .find(|folder| folder.join("CACHEDIR.TAG").is_file())
                .unwrap_or(out_dir)
                .join("verilated-store"),
        };
        fs::create_dir_all(&folder).map_err(failed("write", &folder))?;
        Ok(Store {
            folder,
            grown: AtomicBool::new(false),
        })
    }

    /// Returns the path of the entry with this name, whether it exists or not.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the entry with this name and marks it as used.
    pub fn entry(&self, name: &str) -> Option<PathBuf> {
        let entry = self.path(name);
        let used = fs::File::options().write(true).open(entry.join(USED));
        // A store that is not writable can still be read.
        match used {
            Ok(file) => drop(file.set_modified(SystemTime::now())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(_) => {}
        }
        Some(entry)
    }

    /// Returns the names of the entries with this prefix, sorted.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let mut names = crate::files::names_in(&self.folder)?;
        names.retain(|name| name.starts_with(prefix));
        Ok(names)
    }

    /// Creates an empty folder in which to make an entry. It is deleted on drop.
    pub fn draft(&self) -> Result<Draft, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{DRAFT}{}-{count}", std::process::id());
        let folder = self.folder.join(name);
        // Remove what a killed process with the same id may have left behind.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder).map_err(failed("write", &folder))?;
        Ok(Draft { folder })
    }

    /// Turns a draft into the entry with this name.
    pub fn add(&self, draft: &Draft, name: &str) -> Result<PathBuf, Error> {
        let used = draft.folder.join(USED);
        fs::write(&used, "").map_err(failed("write", &used))?;
        let entry = self.folder.join(name);
        if let Err(error) = fs::rename(&draft.folder, &entry) {
            // Another process made the entry first.
            self.entry(name)
                .ok_or_else(|| failed("write", &entry)(error))?;
        }
        self.grown.store(true, Ordering::Relaxed);
        Ok(entry)
    }

    /// Keeps the store within its limit, if this process added to it.
    pub fn tidy(&self) -> Result<(), Error> {
        if self.grown.load(Ordering::Relaxed) {
            self.prune(LIMIT, IN_USE)?;
        }
        Ok(())
    }

    /// Removes entries, least recently used first, until the rest takes at most `limit` bytes. Keeps those that were
    /// used within `in_use`. Also removes drafts that no process can still be working on.
    fn prune(&self, limit: u64, in_use: Duration) -> Result<(), Error> {
        let now = SystemTime::now();
        let mut entries = Vec::new();
        for name in self.names("")? {
            let entry = self.folder.join(&name);
            let draft = name.starts_with(DRAFT);
            let time = fs::metadata(if draft {
                entry.clone()
            } else {
                entry.join(USED)
            });
            let Ok(time) = time.and_then(|metadata| metadata.modified()) else {
                // It was removed in the meantime, or is not an entry.
                continue;
            };
            let idle = now.duration_since(time).unwrap_or_default();
            if draft && idle > 24 * IN_USE {
                drop(fs::remove_dir_all(&entry));
            } else if !draft {
                entries.push((idle, bytes_in(&entry), name));
            }
        }
        entries.sort();
        let mut total = 0u64;
        for (idle, bytes, name) in entries {
            total += bytes;
            if total > limit && idle > in_use {
                // Rename it first, so that no other process finds a half-deleted entry.
                let gone = self.draft()?;
                let away = gone.folder.join("entry");
                drop(fs::rename(self.folder.join(name), away));
            }
        }
        Ok(())
    }
}

const DRAFT: &str = "draft-";

fn bytes_in(folder: &Path) -> u64 {
    let sizes = fs::read_dir(folder).into_iter().flatten().flatten();
    sizes
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// An entry that is being made.
pub(crate) struct Draft {
    pub folder: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // If the draft became an entry, there is nothing left to remove.
        drop(fs::remove_dir_all(&self.folder));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(folder: &Path) -> Store {
        Store {
            folder: folder.to_owned(),
            grown: AtomicBool::new(false),
        }
    }

    fn add(store: &Store, name: &str, bytes: usize, idle: u64) {
        let draft = store.draft().unwrap();
        fs::write(draft.folder.join("data"), vec![0; bytes]).unwrap();
        let entry = store.add(&draft, name).unwrap();
        let used = fs::File::options().write(true).open(entry.join(USED));
        let time = SystemTime::now() - Duration::from_secs(idle);
        used.unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn an_entry_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        assert_eq!(store.entry("a"), None);
        let draft = store.draft().unwrap();
        fs::write(draft.folder.join("data"), "1").unwrap();
        assert_eq!(store.entry("a"), None);
        let entry = store.add(&draft, "a").unwrap();
        assert_eq!(fs::read_to_string(entry.join("data")).unwrap(), "1");
        // The second process gets the first one's entry.
        let second = store.draft().unwrap();
        fs::write(second.folder.join("data"), "2").unwrap();
        let entry = store.add(&second, "a").unwrap();
        assert_eq!(fs::read_to_string(entry.join("data")).unwrap(), "1");
        // Drafts that were not added leave nothing behind.
        drop((draft, second, store.draft().unwrap()));
        assert_eq!(store.names("").unwrap(), ["a"]);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        for (name, idle) in [("a", 4000), ("b", 9000), ("c", 6000), ("d", 10)] {
            add(&store, name, 100, idle);
        }
        store.prune(400, IN_USE).unwrap();
        assert_eq!(store.names("").unwrap(), ["a", "b", "c", "d"]);
        store.prune(250, IN_USE).unwrap();
        assert_eq!(store.names("").unwrap(), ["a", "d"]);
        // Using an entry makes it recent again.
        store.entry("a").unwrap();
        store.prune(0, IN_USE).unwrap();
        assert_eq!(store.names("").unwrap(), ["a", "d"]);
        store.prune(0, Duration::ZERO).unwrap();
        assert_eq!(store.names("").unwrap(), [""; 0]);
    }

    #[test]
    fn drafts_of_killed_builds_go_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        for (name, hours) in [("draft-1-0", 23), ("draft-2-0", 25)] {
            let draft = folder.path().join(name);
            fs::create_dir(&draft).unwrap();
            let time = SystemTime::now() - Duration::from_secs(hours * 3600);
            fs::File::open(draft).unwrap().set_modified(time).unwrap();
        }
        store.prune(LIMIT, IN_USE).unwrap();
        assert_eq!(store.names("").unwrap(), ["draft-1-0"]);
    }
}
