//! The reader: selects the format by the first bytes and returns records.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::link::has_devices;
use super::source::Source;
use super::{Error, Interface, Link, Problem, Record, flags, pcap, pcapng};

/// Opens a capture file.
///
/// # Errors
///
/// Fails if the file cannot be opened or is not a capture.
pub fn open(path: impl AsRef<Path>) -> Result<Reader<File>, Error> {
    let file = path.as_ref().display().to_string();
    match File::open(path) {
        Ok(inner) => Reader::new(file, inner),
        Err(source) => Err(Error::Open { file, source }),
    }
}

/// A frame as a format's reader finds it, before it gets its number.
pub(super) struct Found {
    pub offset: u64,
    pub time_ns: u64,
    pub interface: usize,
    /// What was recorded of it.
    pub frame: Vec<u8>,
    /// The number of bytes of the whole frame, at least those of `frame`.
    pub original: u32,
    /// `epb_flags`; 0 if unknown.
    pub flags: u32,
}

enum Format {
    Pcap(pcap::Format),
    Pcapng(pcapng::Format),
}

/// An iterator over the records of a capture. It ends after the first error.
pub struct Reader<R> {
    source: Source<R>,
    format: Format,
    /// The interfaces that the file describes.
    described: Vec<Interface>,
    /// The interfaces of records: a described one, or a device of one that records several.
    interfaces: Vec<Interface>,
    /// The places in `interfaces` by those in `described` and by devices.
    places: HashMap<(usize, Option<u32>), usize>,
    /// The bytes of the current record or block; kept to save allocations.
    scratch: Vec<u8>,
    records: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads a capture from `inner`. Messages call the file `file`.
    ///
    /// # Errors
    ///
    /// Fails if it is not a capture.
    pub fn new(file: impl Into<String>, inner: R) -> Result<Self, Error> {
        let mut source = Source::new(file.into(), inner);
        match Self::detect(&mut source) {
            Ok((format, described)) => {
                let mut reader = Self {
                    source,
                    format,
                    described,
                    interfaces: Vec::new(),
                    places: HashMap::new(),
                    scratch: Vec::new(),
                    records: 0,
                    ended: false,
                };
                reader.show_described();
                Ok(reader)
            }
            Err(problem) => Err(source.error(0, None, problem)),
        }
    }

    fn detect(source: &mut Source<R>) -> Result<(Format, Vec<Interface>), Problem> {
        let mut first = [0; 4];
        match source.fill(&mut first)? {
            4 => {}
            0 => return Err(Problem::Empty),
            have => {
                return Err(Problem::Truncated {
                    what: "the file header",
                    have: have as u64,
                    need: 24,
                });
            }
        }
        if pcap::is_magic(first) {
            let (format, interface) = pcap::Format::open(source, first)?;
            Ok((Format::Pcap(format), vec![interface]))
        } else if pcapng::is_magic(first) {
            Ok((Format::Pcapng(pcapng::Format::open(first)), Vec::new()))
        } else {
            Err(Problem::Foreign { first })
        }
    }

    /// Returns the interfaces described so far. In pcapng, an interface can be described anywhere before its first
    /// frame. An interface that records several devices at once (`tcpdump -i any`, Linux cooked v2) is one interface
    /// for each of them, from its first packet on, with the device's index in its name: `if2`.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Returns the number of bytes of the file that have been read, as a measure of progress.
    pub fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// Returns whether the next record, or a part of it, has been read ahead.
    ///
    /// On a live pipe, `false` means that the next record may take long to arrive, so show the current results now.
    pub fn is_ahead(&self) -> bool {
        self.source.is_ahead()
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        let mut start = self.source.offset();
        let found = match &mut self.format {
            Format::Pcap(format) => format.next(&mut self.source, &mut self.scratch),
            Format::Pcapng(format) => format.next(
                &mut self.source,
                &mut self.scratch,
                &mut self.described,
                &mut start,
            ),
        };
        match found {
            Ok(None) => Ok(None),
            Ok(Some(found)) => {
                self.records += 1;
                self.show_described();
                Ok(Some(self.record(found)))
            }
            Err(problem) => Err(self.source.error(start, Some(self.records + 1), problem)),
        }
    }

    fn record(&mut self, found: Found) -> Record {
        let Found {
            offset,
            time_ns,
            interface,
            frame: mut bytes,
            original,
            flags,
        } = found;
        let described = &self.described[interface];
        let length = (original as usize).saturating_sub(described.fcs_bytes);
        bytes.truncate(length);
        let link_type = described.link_type;
        let link = Link::of(link_type, &bytes);
        let (mut direction, mut device) = (flags::direction(flags), None);
        if let Link::Cooked(cooked) = &link {
            direction = direction.or(cooked.direction());
            device = cooked.device;
        }
        Record {
            number: self.records,
            time_ns,
            bytes,
            length,
            link_type,
            link,
            offset,
            interface: self.place(interface, device),
            direction,
            fcs_ok: flags & flags::CRC_ERROR == 0,
            tunnels: Vec::new(),
            line: None,
        }
    }

    /// Adds the described interfaces, but for those of several devices.
    fn show_described(&mut self) {
        for number in 0..self.described.len() {
            if !has_devices(self.described[number].link_type) {
                self.place(number, None);
            }
        }
    }

    /// Returns the place of a described interface, or of a device of it, which is added if it is new.
    fn place(&mut self, described: usize, device: Option<u32>) -> usize {
        *self.places.entry((described, device)).or_insert_with(|| {
            let mut interface = self.described[described].clone();
            if let Some(device) = device {
                interface.name = Some(match interface.name {
                    None => format!("if{device}"),
                    Some(name) => format!("{name}.if{device}"),
                });
            }
            self.interfaces.push(interface);
            self.interfaces.len() - 1
        })
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<R: Read> std::iter::FusedIterator for Reader<R> {}

impl Interface {
    /// Converts a time stamp of this interface to nanoseconds.
    pub(super) fn nanoseconds(&self, ticks: u64) -> Result<u64, Problem> {
        let within = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second);
        let time = within as i128 + i128::from(self.offset_seconds) * 1_000_000_000;
        u64::try_from(time).map_err(|_| Problem::Time {
            ticks,
            per_second: self.ticks_per_second,
            offset: self.offset_seconds,
        })
    }
}
