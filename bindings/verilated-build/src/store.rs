//! Where models are kept by content, for all profiles, tools and crates of a target folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crate::Error;
use crate::files::failed;

/// An empty file in each entry. Its time of modification is the entry's last use.
const USED: &str = "used";
/// What the entries of a store may take together before those that were not used for longest go.
const LIMIT: u64 = 2 << 30;
/// An entry that was used a moment ago stays, whatever the store takes: another build may be reading it.
const IN_USE: Duration = Duration::from_secs(3600);

/// A folder of entries. An entry is a folder named after the hash of all that went into it, so it never changes: it is
/// made under another name and renamed, and of two processes that make the same one the first wins.
pub(crate) struct Store {
    folder: PathBuf,
    /// Whether this process added an entry.
    grown: AtomicBool,
}

impl Store {
    /// The folder that `VERILATED_STORE` names; without it `verilated-store` in Cargo's target folder, which is the
    /// nearest one around `out_dir` that Cargo has put its tag in; or else in `out_dir`.
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

    /// Where the entry of this name is, if it is there.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The entry of this name, which counts as a use of it.
    pub fn entry(&self, name: &str) -> Option<PathBuf> {
        let entry = self.path(name);
        let used = fs::File::options().write(true).open(entry.join(USED));
        // A store that cannot be written to can still be read.
        match used {
            Ok(file) => drop(file.set_modified(SystemTime::now())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(_) => {}
        }
        Some(entry)
    }

    /// Names of the entries that start so, sorted.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let mut names = crate::files::names_in(&self.folder)?;
        names.retain(|name| name.starts_with(prefix));
        Ok(names)
    }

    /// An empty folder to make an entry in. It goes when it is dropped.
    pub fn draft(&self) -> Result<Draft, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{DRAFT}{}-{count}", std::process::id());
        let folder = self.folder.join(name);
        // What a process of the same number left behind when it was killed.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder).map_err(failed("write", &folder))?;
        Ok(Draft { folder })
    }

    /// Makes a draft the entry of this name.
    pub fn add(&self, draft: &Draft, name: &str) -> Result<PathBuf, Error> {
        let used = draft.folder.join(USED);
        fs::write(&used, "").map_err(failed("write", &used))?;
        let entry = self.folder.join(name);
        if let Err(error) = fs::rename(&draft.folder, &entry) {
            // Another process was first.
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

    /// Removes entries until the rest takes at most `limit` bytes, those that were not used for longest first, but none
    /// that was used within `in_use`; and drafts that nobody can be working on.
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
                // Gone in the meantime, or none of ours.
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
                // Renamed first, so that nobody finds half of it.
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

/// An entry in the making.
pub(crate) struct Draft {
    pub folder: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // There is nothing to remove once it is an entry.
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
        // Who comes second finds the first one's.
        let second = store.draft().unwrap();
        fs::write(second.folder.join("data"), "2").unwrap();
        let entry = store.add(&second, "a").unwrap();
        assert_eq!(fs::read_to_string(entry.join("data")).unwrap(), "1");
        // A draft that comes to nothing leaves nothing.
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
        // A use makes it young again.
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
