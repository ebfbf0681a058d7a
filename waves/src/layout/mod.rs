//! Layouts of waveform viewers: groups of signals that GTKWave or Surfer shows when it opens a wave file.
//!
//! A [`Layout`] names signals. [`Layout::find_in`] looks up each of them in a wave file and fails if one is missing,
//! so that a layout never silently loses a signal that was renamed. The result is written as a GTKWave save file or a
//! Surfer command file.
//!
//! Signals of an enum show the names of its values, whatever format the layout gives them: Verilator writes the names
//! into FST files, and both viewers read them there. Surfer does so by default, and GTKWave if the save file requests
//! it.
//!
//! Open the files like this:
//!
//! ```text
//! gtkwave -S nic.tcl nic.fst nic.gtkw
//! surfer --command-file nic.sucl nic.fst
//! ```

mod error;
mod gtkwave;
mod hierarchy;
mod nic;
mod surfer;

use std::path::{Path, PathBuf};

pub use error::Error;
pub use nic::nic_layout;

/// Signals in groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// The groups, from top to bottom.
    pub groups: Vec<Group>,
}

/// Signals under one heading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// The heading.
    pub name: String,
    /// The signals, from top to bottom.
    pub signals: Vec<Signal>,
}

/// A signal and its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// Scopes and name, separated by dots and without a range: `nic.u_parser.verdict`.
    pub path: String,
    /// The format of its values.
    pub format: Format,
}

/// The format in which values are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// In base 16.
    #[default]
    Hex,
    /// In base 10.
    Unsigned,
    /// In base 2; a single bit as a line.
    Binary,
    /// As stairs whose height is the value, for depths and rates. GTKWave only; elsewhere in base 10.
    Stairs,
}

/// A layout whose signals were all found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file's name without its folder.
    file: String,
    groups: Vec<(String, Vec<FoundSignal>)>,
    marker: Option<Marker>,
}

/// A marked point of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Its name, a single word.
    pub name: String,
    /// The time in picoseconds, the unit of Verilator's files.
    pub time_ps: u64,
}

/// A signal as the file stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundSignal {
    path: String,
    /// The range as the file writes it, such as `[47:0]`; empty for a single bit.
    range: String,
    format: Format,
    /// Whether the file has names for its values.
    named: bool,
}

impl Layout {
    /// Looks up every signal in an FST file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or with [`Error::Missing`], which names all signals that are not in it.
    pub fn find_in(&self, waves: impl AsRef<Path>) -> Result<Found, Error> {
        let waves = waves.as_ref();
        let there = hierarchy::read(waves)?;
        let mut missing = Vec::new();
        let mut groups = Vec::new();
        for group in &self.groups {
            let mut signals = Vec::new();
            for signal in &group.signals {
                match there.get(&signal.path) {
                    Some(entry) => signals.push(FoundSignal {
                        path: signal.path.clone(),
                        range: entry.range.clone(),
                        format: signal.format,
                        named: entry.named,
                    }),
                    None => missing.push(signal.path.clone()),
                }
            }
            groups.push((group.name.clone(), signals));
        }
        if !missing.is_empty() {
            return Err(Error::missing(waves, missing, &there));
        }
        let file = waves.file_name().unwrap_or_default();
        Ok(Found {
            file: file.to_string_lossy().into_owned(),
            groups,
            marker: None,
        })
    }

    /// Returns a layout of the ports of a top: its clock, inputs and outputs, as they are named in an FST file. The
    /// ports are the signals of the outermost scope.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn of_ports(waves: impl AsRef<Path>) -> Result<Self, Error> {
        let there = hierarchy::read(waves.as_ref())?;
        let ports = there
            .iter()
            .filter(|(path, _)| path.matches('.').count() == 1);
        let mut groups = ["time", "inputs", "outputs"].map(|name| Group {
            name: name.into(),
            signals: Vec::new(),
        });
        for (path, entry) in ports {
            let name = path.split_once('.').map_or("", |(_, name)| name);
            let place = match name {
                "clk_i" | "rst_i" | "now_i" => 0,
                _ if name.ends_with("_o") => 2,
                _ => 1,
            };
            groups[place].signals.push(Signal {
                path: path.clone(),
                format: match (name, &entry.range[..]) {
                    ("now_i", _) => Format::Unsigned,
                    (_, "") => Format::Binary,
                    _ => Format::Hex,
                },
            });
        }
        let groups = groups.into_iter();
        Ok(Self {
            groups: groups.filter(|group| !group.signals.is_empty()).collect(),
        })
    }

    /// Writes the layouts beside a wave file, under its name with the extensions `.gtkw`, `.tcl` and `.sucl`, and returns
    /// their paths.
    ///
    /// # Errors
    ///
    /// As [`find_in`](Self::find_in), and fails if a file cannot be written.
    pub fn write_beside(&self, waves: impl AsRef<Path>) -> Result<Beside, Error> {
        self.write_marked(waves, None)
    }

    /// Like [`write_beside`](Self::write_beside), with a marker at a point of time, at which the viewers open.
    ///
    /// # Errors
    ///
    /// As [`write_beside`](Self::write_beside).
    pub fn write_marked(
        &self,
        waves: impl AsRef<Path>,
        marker: Option<Marker>,
    ) -> Result<Beside, Error> {
        let waves = waves.as_ref();
        let found = Found {
            marker,
            ..self.find_in(waves)?
        };
        let beside = Beside::of(waves);
        for (path, text) in [
            (&beside.gtkwave, found.gtkwave()),
            (&beside.start, found.start()),
            (&beside.surfer, found.surfer()),
        ] {
            crate::results::write_whole(path, |file| file.write_all(text.as_bytes())).map_err(
                |source| Error::Write {
                    path: path.clone(),
                    source,
                },
            )?;
        }
        Ok(beside)
    }
}

/// The files of the layouts of a wave file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// GTKWave's save file.
    pub gtkwave: PathBuf,
    /// GTKWave's start file, with which it opens at the marker: `gtkwave -S START WAVES SAVE`.
    pub start: PathBuf,
    /// Surfer's command file.
    pub surfer: PathBuf,
}

impl Beside {
    /// The extensions of the files.
    pub const EXTENSIONS: [&str; 3] = ["gtkw", "tcl", "sucl"];

    /// The files of a wave file.
    pub fn of(waves: &Path) -> Self {
        let [gtkwave, start, surfer] = Self::EXTENSIONS.map(|ending| waves.with_extension(ending));
        Self {
            gtkwave,
            start,
            surfer,
        }
    }
}

impl Found {
    /// Returns the text of a GTKWave save file.
    pub fn gtkwave(&self) -> String {
        gtkwave::save_file(self)
    }

    /// Returns the text of a GTKWave start file.
    pub fn start(&self) -> String {
        gtkwave::start_file(self)
    }

    /// Returns the text of a Surfer command file.
    pub fn surfer(&self) -> String {
        surfer::commands(self)
    }
}
