//! Files that are replaced as a whole: a disk that is full, or a process that is killed, leaves what was there before.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a temporary file beside `path` and renames it to `path`. Where something other than a file is, such as
/// `/dev/stdout`, it is written to.
///
/// # Errors
///
/// Returns an error if the file cannot be written; then `path` is as it was.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    match Place::of(path)? {
        Place::Device => OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(bytes.as_ref()),
        Place::File(path) => {
            let mut draft = draft(&path)?;
            draft.as_file_mut().write_all(bytes.as_ref())?;
            draft.persist(path).map(drop).map_err(|error| error.error)
        }
    }
}

/// Finds out whether [`write()`] can write a file, and changes nothing.
///
/// # Errors
///
/// Returns the error that [`write()`] would return.
pub fn check(path: &Path) -> io::Result<()> {
    match Place::of(path)? {
        Place::Device => OpenOptions::new().write(true).open(path).map(drop),
        Place::File(path) => draft(&path).map(drop),
    }
}

enum Place {
    /// A file, or nothing yet. A symbolic link is followed, so that it stays one.
    File(PathBuf),
    /// A pipe or a device, which a file must not replace.
    Device,
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(about) if about.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(about) if !about.is_file() => Ok(Self::Device),
            Ok(_) => fs::canonicalize(path).map(Self::File),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::File(path.to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

/// A temporary file beside `path`, with the permissions of the file there, or of a new one.
fn draft(path: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let known = fs::metadata(path).map(|about| about.permissions()).ok();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let file = tempfile::Builder::new()
        .prefix(".xoff-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    if let Some(permissions) = known {
        file.as_file().set_permissions(permissions)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        write(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_cannot_be_written_is_known_before_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("none/a")] {
            let why = check(&path).unwrap_err();
            assert_eq!(write(&path, "x").unwrap_err().kind(), why.kind());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // A device is written to and not replaced.
        assert!(check(Path::new("/dev/full")).is_ok());
        let full = write(Path::new("/dev/full"), "x").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }
}
