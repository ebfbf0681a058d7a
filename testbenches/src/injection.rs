//! Reading the captures that scenarios inject.

use std::path::Path;

use xoff_cosim::scenario::{CapturedFrame, InjectEntry, Only};
use xoff_waves::capture::{Direction, Error, open};

/// Maximum total size of the frames of an entry. All of them are in memory while the scenario runs.
const MOST_BYTES: usize = 1 << 30;

/// Reads the frames that an entry injects; relative paths start at `folder`.
///
/// # Errors
///
/// Returns the key that is wrong and the problem: a capture that cannot be read, or one without matching frames.
pub fn captured(
    entry: &InjectEntry,
    folder: &Path,
) -> Result<Vec<CapturedFrame>, (&'static str, String)> {
    let said = |error: Error| ("file", error.to_string());
    let mut reader = open(folder.join(&entry.file)).map_err(said)?;
    let (mut frames, mut bytes, mut at_interface) = (Vec::new(), 0, 0);
    while let Some(record) = reader.next() {
        let record = record.map_err(said)?;
        let name = reader.interfaces()[record.interface].name.as_ref();
        if entry.interface.is_some() && name != entry.interface.as_ref() {
            continue;
        }
        at_interface += 1;
        let meant = match entry.only {
            None => true,
            Some(Only::Received) => record.direction == Some(Direction::Received),
            Some(Only::Sent) => record.direction == Some(Direction::Sent),
        };
        if !meant {
            continue;
        }
        bytes += record.bytes.len();
        if bytes > MOST_BYTES {
            let problem = format!(
                "{}: more than 1 GiB of frames: take a part (editcap -c)",
                entry.file
            );
            return Err(("file", problem));
        }
        frames.push(CapturedFrame {
            time_ns: record.time_ns,
            bytes: record.bytes.into(),
            fcs_ok: record.fcs_ok,
        });
    }
    if !frames.is_empty() {
        return Ok(frames);
    }
    if at_interface > 0 {
        return Err(("only", format!("{} marks no frame so", entry.file)));
    }
    if let Some(interface) = &entry.interface {
        let names: Vec<&str> = (reader.interfaces().iter())
            .map(|known| known.name.as_deref().unwrap_or("one without a name"))
            .collect();
        let problem = format!(
            "no frame of '{interface}' in {}: its interfaces are {}",
            entry.file,
            names.join(", ")
        );
        return Err(("interface", problem));
    }
    Err(("file", format!("{} has no frame", entry.file)))
}
