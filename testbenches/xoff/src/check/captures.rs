//! Several captures of one network, read in the order of their times.

use std::io::Read;
use std::path::PathBuf;

use anyhow::bail;
use xoff_waves::capture::{Interface, Reader, Record};

use crate::decode;

/// Open captures.
pub(super) struct Captures {
    all: Vec<Capture>,
    /// Names of taps with their interfaces, in the order in which they appeared.
    taps: Vec<(String, Interface)>,
    /// Bytes of all of them, if known.
    bytes: Option<u64>,
}

struct Capture {
    name: String,
    /// The last part of its path.
    file: String,
    /// What the names of its taps begin with; nothing if it is the only capture.
    label: String,
    reader: Reader<Box<dyn Read>>,
    /// Its next record, once it was read.
    next: Option<Record>,
    ended: bool,
    /// The tap of each interface.
    taps: Vec<usize>,
}

impl Captures {
    /// Opens captures.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be read or is no capture, or if one is named twice.
    pub fn open(files: &[PathBuf]) -> anyhow::Result<Self> {
        let mut captures = Self {
            all: Vec::new(),
            taps: Vec::new(),
            bytes: Some(0),
        };
        for (at, path) in files.iter().enumerate() {
            if files[..at].contains(path) {
                bail!(
                    "{}: named twice; each capture is a tap of its own",
                    path.display()
                );
            }
            let last = |path: &PathBuf| path.file_name().unwrap_or_default().to_owned();
            let alone = files
                .iter()
                .filter(|other| last(other) == last(path))
                .count()
                == 1;
            let label = match (files.len(), alone) {
                (1, _) => String::new(),
                (_, true) => last(path).to_string_lossy().into_owned(),
                (_, false) => path.display().to_string(),
            };
            let file = last(path).to_string_lossy().into_owned();
            let (name, input, bytes) = decode::open(path)?;
            captures.bytes = (captures.bytes.zip(bytes)).map(|(sum, bytes)| sum + bytes);
            captures.all.push(Capture {
                reader: Reader::new(name.clone(), input)?,
                name,
                file,
                label,
                next: None,
                ended: false,
                taps: Vec::new(),
            });
        }
        Ok(captures)
    }

    /// Number of bytes of all files, if all are files.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Number of bytes that were read.
    pub fn offset(&self) -> u64 {
        self.all.iter().map(|capture| capture.reader.offset()).sum()
    }

    /// The names of the captures, for messages.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.all.iter().map(|capture| &capture.name[..]).collect();
        names.join(", ")
    }

    /// The name of the capture that a tap is in, for messages.
    pub fn name(&self, tap: usize) -> &str {
        let capture = self.all.iter().find(|capture| capture.taps.contains(&tap));
        capture.map_or("", |capture| &capture.name)
    }

    /// Whether `name` names the tap: its own name, that of its interface, or that of its capture.
    pub fn is_named(&self, tap: usize, name: &str) -> bool {
        let (own, interface) = &self.taps[tap];
        let capture = self.all.iter().find(|capture| capture.taps.contains(&tap));
        own == name
            || interface.name.as_deref() == Some(name)
            || capture.is_some_and(|capture| capture.name == name || capture.file == name)
    }

    /// The name of a tap, for messages: that of its capture if it has none of its own.
    pub fn tap_name(&self, tap: usize) -> &str {
        match &self.taps[tap].0[..] {
            "" => self.name(tap),
            name => name,
        }
    }

    /// The taps so far: the name of each, and its interface.
    pub fn taps(&self) -> &[(String, Interface)] {
        &self.taps
    }

    /// Returns the next record and the number of its tap; of records of the same time that of the first file.
    ///
    /// # Errors
    ///
    /// Returns an error if the next part of a capture is damaged.
    pub fn next(&mut self) -> anyhow::Result<Option<(usize, Record)>> {
        for capture in &mut self.all {
            if capture.next.is_none() && !capture.ended {
                let next = capture.reader.next().transpose()?;
                capture.next = next.map(Record::into_inner);
                capture.ended = capture.next.is_none();
                capture.find_taps(&mut self.taps);
            }
        }
        let time = |capture: &&mut Capture| capture.next.as_ref().map_or(u64::MAX, |it| it.time_ns);
        let first = self
            .all
            .iter_mut()
            .filter(|it| it.next.is_some())
            .min_by_key(time);
        Ok(first.and_then(|capture| {
            let record = capture.next.take()?;
            Some((capture.taps[record.interface], record))
        }))
    }
}

impl Capture {
    /// Names the interfaces that have appeared.
    fn find_taps(&mut self, taps: &mut Vec<(String, Interface)>) {
        for interface in &self.reader.interfaces()[self.taps.len()..] {
            let name = match (&self.label[..], interface.name.as_deref()) {
                ("", name) => name.unwrap_or_default().to_owned(),
                (label, None) => label.to_owned(),
                (label, Some(name)) => format!("{label}:{name}"),
            };
            self.taps.push(taps.len());
            taps.push((name, interface.clone()));
        }
    }
}
