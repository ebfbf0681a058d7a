//! Reading the captures that scenarios inject.

use std::path::Path;

use xoff_network::scenario::{CapturedFrame, InjectEntry, Only};
use xoff_waves::capture::{Direction, Error, NoFrame, Record, open};

/// Maximum total size of the frames of an entry. All of them are in memory while the scenario runs.
const MOST_BYTES: usize = 1 << 30;

/// Reads the frames that an entry injects; relative paths start at `folder`.
///
/// # Errors
///
/// Returns the key that is wrong and the problem: a capture that cannot be read, one without matching frames, or one in
/// which a matching record is no whole Ethernet frame. Of the traffic that was recorded, a scenario sends all or
/// nothing: with frames left out, it would answer another question than the one that was asked.
pub fn captured(
    entry: &InjectEntry,
    folder: &Path,
) -> Result<Vec<CapturedFrame>, (&'static str, String)> {
    let said = |error: Error| ("file", error.to_string());
    let mut reader = open(folder.join(&entry.file)).map_err(said)?;
    let (mut frames, mut bytes, mut at_interface) = (Vec::new(), 0, 0);
    let mut unfit: Option<Unfit> = None;
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
        if let Err(why) = record.frame() {
            unfit.get_or_insert(Unfit::first(&record, why)).count += 1;
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
    if let Some(unfit) = unfit {
        let meant = frames.len() as u64 + unfit.count;
        return Err(("file", unfit.text(&entry.file, meant)));
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

/// The records that cannot be sent.
struct Unfit {
    /// The first of them.
    record: u64,
    why: NoFrame,
    /// How many there are.
    count: u64,
}

impl Unfit {
    fn first(record: &Record, why: NoFrame) -> Self {
        Self {
            record: record.number,
            why,
            count: 0,
        }
    }

    /// Says what is wrong in a file of which `meant` records were to be sent.
    fn text(&self, file: &str, meant: u64) -> String {
        let Self { record, why, count } = self;
        let others = match count {
            1 => format!("it is the only one of {meant} that cannot be injected"),
            _ => format!("{count} of {meant} records cannot be injected"),
        };
        let choose = match why {
            NoFrame::Link { .. } => "; interface = \"NAME\" takes the frames of one interface",
            NoFrame::Cut { .. } | NoFrame::TooLong(_) => "",
        };
        format!("{file}, record {record}: {why}{choose}; {others}")
    }
}
