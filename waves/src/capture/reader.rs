//! The reader: selects the format by the first bytes and returns records.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::source::Source;
use super::{
    Error, Interface, LINK_TYPE_ETHERNET, MAX_FRAME_BYTES, Problem, Record, flags, pcap, pcapng,
};

/// Opens a capture file.
///
/// # Errors
///
/// Fails if the file cannot be opened, is not a capture, or has a link type other than Ethernet.
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
    interfaces: Vec<Interface>,
    /// The bytes of the current record or block; kept to save allocations.
    scratch: Vec<u8>,
    records: u64,
    take_cut: bool,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads a capture from `inner`. Messages call the file `file`.
    ///
    /// # Errors
    ///
    /// Fails if it is not a capture, or has a link type other than Ethernet.
    pub fn new(file: impl Into<String>, inner: R) -> Result<Self, Error> {
        let mut source = Source::new(file.into(), inner);
        match Self::detect(&mut source) {
            Ok((format, interfaces)) => Ok(Self {
                source,
                format,
                interfaces,
                scratch: Vec::new(),
                records: 0,
                take_cut: false,
                ended: false,
            }),
            Err(problem) => Err(source.error(0, None, problem)),
        }
    }

    /// Takes frames of which the recorder kept only the beginning (`tcpdump -s`), with [`Record::kept`] bytes. Without
    /// this, the first of them is an error.
    #[must_use]
    pub fn take_cut(mut self) -> Self {
        self.take_cut = true;
        self
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
    /// frame.
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
                &mut self.interfaces,
                &mut start,
            ),
        };
        let found = found.and_then(|found| match found {
            Some(found) => self.whole_enough(found).map(Some),
            None => Ok(None),
        });
        match found {
            Ok(None) => Ok(None),
            Ok(Some(found)) => {
                self.records += 1;
                let Found {
                    offset,
                    time_ns,
                    interface,
                    frame: mut bytes,
                    original,
                    flags,
                } = found;
                let fcs_bytes = self.interfaces[interface].fcs_bytes;
                let length = (original as usize).saturating_sub(fcs_bytes);
                let kept = bytes.len().min(length);
                bytes.resize(length, 0);
                Ok(Some(Record {
                    number: self.records,
                    time_ns,
                    bytes,
                    kept,
                    offset,
                    interface,
                    direction: flags::direction(flags),
                    fcs_ok: flags & flags::CRC_ERROR == 0,
                }))
            }
            Err(problem) => Err(self.source.error(start, Some(self.records + 1), problem)),
        }
    }
}

impl<R: Read> Reader<R> {
    /// Refuses a frame of which not enough was recorded, and one that is too long for a line.
    fn whole_enough(&self, found: Found) -> Result<Found, Problem> {
        let captured = found.frame.len() as u32;
        let original = found.original;
        if captured < original && !self.take_cut {
            return Err(Problem::SnapCut { captured, original });
        }
        if original as usize > MAX_FRAME_BYTES {
            return Err(Problem::FrameTooLong { bytes: original });
        }
        Ok(found)
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
    /// Fails unless the interface is Ethernet, the only link type that can be read.
    pub(super) fn check_link(&self) -> Result<(), Problem> {
        if self.link_type == LINK_TYPE_ETHERNET {
            Ok(())
        } else {
            Err(Problem::LinkType {
                found: self.link_type,
            })
        }
    }

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
