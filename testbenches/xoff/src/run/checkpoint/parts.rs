//! The checkpoint of a run of several ranks: a file for each rank with the nodes that it had, and a list of these
//! files.
//!
//! ```text
//! out/.checkpoints/6b0c6d1e2f3a4b5c/00000000029850000000.parts/0-of-2.part   its nodes, and what was measured
//! out/.checkpoints/6b0c6d1e2f3a4b5c/00000000029850000000.parts/1-of-2.part   its nodes
//! out/.checkpoints/6b0c6d1e2f3a4b5c/00000000029850000000.ckpt                the list, as JSON behind 48 bytes
//! ```
//!
//! The list has the place of the checkpoint of one rank and is written last, when all parts are there: without it
//! there is no checkpoint. Nodes are saved one by one, so any number of ranks can go on from it; each reads all parts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xoff_network::parts::kept::{Kept, NotKept, Place};
use xoff_network::{Endpoints, Run, Simulation, SimulationError};

use super::file::{self, Head, Kind, Unusable};
use super::{compressed, decompressed, save};

/// The files of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    scenario: String,
    time_ns: f64,
    ranks: usize,
    parts: Vec<Part>,
}

/// The file of a rank.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    #[serde(flatten)]
    kept: Kept,
    nodes: Vec<String>,
}

/// The folder of the parts that a list names.
fn folder(list: &Path) -> PathBuf {
    list.with_extension("parts")
}

fn head(place: &Place) -> Head {
    Head {
        program: place.program,
        content: place.content,
        time: place.time,
    }
}

/// Writes a checkpoint, each rank its part. Returns its bytes.
///
/// # Errors
///
/// A rank is gone. Within that: a part could not be written or saved, and then there is no checkpoint.
pub fn write(
    list: &Path,
    head: Head,
    run: &mut Run,
    scenario: &str,
) -> Result<Result<u64, NotKept>, SimulationError> {
    let folder = folder(list);
    // That of an earlier run, whose parts may be replaced now.
    if let Err(error) = remove(list).and_then(|()| fs::create_dir_all(&folder)) {
        return Ok(Err(failed(&folder, &error)));
    }
    let place = Place {
        folder,
        program: head.program,
        content: head.content,
        time: head.time,
    };
    run.simulation.begin_keeping(&place)?;
    let own = match save(run) {
        Ok(state) => write_part(&run.simulation, &place, &state),
        Err(error) => Err(unsaved(&run.simulation, &error)),
    };
    let others = run.simulation.kept()?;
    let written = listed(&place, own, others).and_then(|kept| {
        let nodes = run.simulation.nodes_of_parts();
        let parts = kept.into_iter().zip(nodes).map(|(kept, nodes)| Part {
            kept,
            nodes: nodes.into_iter().map(str::to_owned).collect(),
        });
        let files = List {
            scenario: scenario.into(),
            time_ns: head.time.as_ps() as f64 / 1e3,
            ranks: run.simulation.parts() as usize,
            parts: parts.collect(),
        };
        let text = serde_json::to_vec_pretty(&files).expect("a list is plain data");
        let written = file::write(list, Kind::List, head, &text);
        let (bytes, _) = written.map_err(|error| failed(list, &error))?;
        Ok(bytes + files.parts.iter().map(|part| part.kept.bytes).sum::<u64>())
    });
    if written.is_err() {
        // Why it was not written is more important than what is left.
        let _ = remove(list);
    }
    Ok(written)
}

/// The parts, if all were written and can be seen from here.
fn listed(
    place: &Place,
    own: Result<Kept, NotKept>,
    others: Vec<Result<Kept, NotKept>>,
) -> Result<Vec<Kept>, NotKept> {
    let all: Vec<Kept> = std::iter::once(own)
        .chain(others)
        .collect::<Result<_, _>>()?;
    for (rank, kept) in all.iter().enumerate() {
        let path = place.folder.join(&kept.file);
        let here = fs::metadata(&path).map(|about| about.len());
        if here.ok() != Some(kept.bytes) {
            return Err(NotKept::Failed(format!(
                "{}: rank {rank} has written it, and rank 0 does not see it: --out has to be a folder that all ranks \
                 share",
                path.display()
            )));
        }
    }
    Ok(all)
}

/// Keeps the part of a rank that obeys.
///
/// # Errors
///
/// It cannot be saved or written.
pub fn keep(simulation: &Simulation, place: &Place) -> Result<Kept, NotKept> {
    let state = simulation.save_nodes();
    let state = state.map_err(|error| unsaved(simulation, &error))?;
    // Where it is not shared it is not there. The first rank finds out that it does not see the part.
    fs::create_dir_all(&place.folder).map_err(|error| failed(&place.folder, &error))?;
    write_part(simulation, place, &compressed(&state))
}

fn write_part(simulation: &Simulation, place: &Place, state: &[u8]) -> Result<Kept, NotKept> {
    let file = format!("{}-of-{}.part", simulation.part(), simulation.parts());
    let path = place.folder.join(&file);
    let written = file::write(&path, Kind::Part, head(place), state);
    let (bytes, sum) = written.map_err(|error| failed(&path, &error))?;
    Ok(Kept { file, bytes, sum })
}

fn failed(path: &Path, error: &io::Error) -> NotKept {
    NotKept::Failed(format!("{}: {error}", path.display()))
}

fn unsaved(simulation: &Simulation, error: &dyn std::error::Error) -> NotKept {
    let why = simulation.unsaved();
    NotKept::Unsaved(why.map_or(error.to_string(), |why| why.to_string()))
}

/// Restores the run of a list, whose text is `files`.
///
/// # Errors
///
/// A part that is not there, is damaged, or is another one than the list names.
pub fn restore(
    list: &Path,
    head: Head,
    files: &[u8],
    endpoints: &Endpoints,
) -> Result<Run, Unusable> {
    let damaged = |why: &dyn std::fmt::Display| Unusable::Damaged(why.to_string());
    let files: List = serde_json::from_slice(files).map_err(|error| damaged(&error))?;
    let (folder, parts) = (folder(list), files.parts.len());
    if parts != files.ranks || parts == 0 {
        let ranks = files.ranks;
        return Err(damaged(&format!("it lists {parts} parts of {ranks} ranks")));
    }
    let mut states = Vec::new();
    for (part, Part { kept, .. }) in files.parts.iter().enumerate() {
        let file = folder.join(&kept.file);
        let state = read_part(&file, head, kept);
        let wrong = |why| Unusable::Part {
            part,
            parts,
            file,
            why,
        };
        states.push(state.map_err(wrong)?);
    }
    let mut run: Run = postcard::from_bytes(&states[0]).map_err(|error| damaged(&error))?;
    let joined = run.simulation.join(&states[1..]);
    joined.map_err(|error| damaged(&error))?;
    run.attach(endpoints).map_err(|error| damaged(&error))?;
    Ok(run)
}

fn read_part(path: &Path, head: Head, kept: &Kept) -> Result<Vec<u8>, String> {
    let (kind, state, sum) = file::read(path, head).map_err(|why| match why {
        Unusable::Io(error) if error.kind() == io::ErrorKind::NotFound => "is not there".into(),
        Unusable::Io(_) => why.to_string(),
        why => format!("is of no use: {why}"),
    })?;
    if kind != Kind::Part || sum != kept.sum {
        return Err("is that of another checkpoint: the list names another checksum".into());
    }
    decompressed(&state)
}

/// Removes a checkpoint, of one rank or several.
///
/// # Errors
///
/// Something of it cannot be removed.
pub fn remove(list: &Path) -> io::Result<()> {
    let unless_gone = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    // The list first: a checkpoint is whole or not there.
    unless_gone(fs::remove_file(list))?;
    unless_gone(fs::remove_dir_all(folder(list)))
}

/// Bytes of a checkpoint, with its parts.
///
/// # Errors
///
/// It is gone.
pub fn size(list: &Path) -> io::Result<u64> {
    let mut bytes = fs::metadata(list)?.len();
    match fs::read_dir(folder(list)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        entries => {
            for entry in entries? {
                bytes += entry?.metadata()?.len();
            }
        }
    }
    Ok(bytes)
}

/// Removes parts in a folder of checkpoints that no list names: their run was ended before it wrote that.
///
/// # Errors
///
/// They cannot be removed.
pub fn remove_unlisted(checkpoints: &Path) -> io::Result<()> {
    for entry in fs::read_dir(checkpoints)? {
        let path = entry?.path();
        let parts = path.extension().is_some_and(|ending| ending == "parts");
        if parts && !path.with_extension("ckpt").exists() {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}
