//! `xoff encode`: sends described packets through the builder and writes them as hex or captures.

mod arguments;
mod description;
mod jsonl;
mod keys;
mod output;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, bail};
use xoff_network::words::{all, count};
use xoff_sim::protocol::Descriptor;

pub use arguments::{EncodeArgs, FrameFormat};
pub use description::{Description, DescriptionError, Packet, Seen};
pub use keys::{KEYS, KeyError, Kind};

use self::jsonl::{Item, LineError};
use self::output::Frames;
use crate::Outcome;
use crate::codec::{self, Codec, EngineArgs, FrameBuilder};
use crate::row::Row;
use crate::terminal::Streams;
use crate::text_file;

/// Packets per batch through the builder.
const BATCH_PACKETS: usize = 256;

/// Runs `xoff encode`. `rtl` is the RTL that the program has.
///
/// # Errors
///
/// Returns an error for an invalid description, and if a file cannot be read or written.
pub fn run(
    arguments: &EncodeArgs,
    rtl: Option<Codec>,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    // The whole command line is checked before any file is opened.
    let first = if arguments.jsonl.is_none() {
        Some(Description::from_arguments(&arguments.description)?.packet()?)
    } else {
        None
    };
    let mut builders = Builders::new(arguments.engine, rtl)?;
    if arguments.format != FrameFormat::Hex
        && arguments.output.is_none()
        && io::stdout().is_terminal()
    {
        bail!("a capture is no text for a terminal: give -o FILE, or pipe it on");
    }
    let differing = match &arguments.output {
        None => encode(
            arguments,
            first,
            &mut builders,
            &mut *streams.out,
            &mut *streams.err,
        )?,
        Some(path) => {
            let create = || format!("{}: cannot be written", path.display());
            let mut out = BufWriter::new(File::create(path).with_context(create)?);
            let differing = encode(arguments, first, &mut builders, &mut out, &mut *streams.err)?;
            out.flush().with_context(create)?;
            differing
        }
    };
    streams.out.flush()?;
    Ok(if differing == 0 {
        Outcome::Held
    } else {
        Outcome::Failed
    })
}

/// Writes all frames and reports for how many of them the two builders differ.
fn encode(
    arguments: &EncodeArgs,
    first: Option<Packet>,
    builders: &mut Builders,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<u64> {
    let mut frames = Frames::new(arguments.format, out)?;
    let mut session = Session {
        builders,
        frames: &mut frames,
        err,
        items: Vec::new(),
        built: 0,
        raw: 0,
        differing: 0,
    };
    if let Some(packet) = first {
        session.add(Item::Packet(Box::new(packet)))?;
        session.build()?;
    }
    if let Some(path) = &arguments.jsonl {
        let result = session.lines(path, arguments.skip);
        // Frames of the lines before an invalid one are written.
        session.build()?;
        result?;
    }
    match session.raw {
        0 => {}
        1 => writeln!(
            session.err,
            "1 frame written as it is in raw: the builder cannot build it"
        )?,
        raw => writeln!(
            session.err,
            "{raw} frames written as they are in raw: the builder cannot build them"
        )?,
    }
    if session.frames.lost() {
        writeln!(
            session.err,
            "interfaces and directions are left out: a pcapng has room for them, a pcap has not"
        )?;
    }
    if let Some(other) = &session.builders.other {
        let names = format!("{} and {}", session.builders.written.name(), other.name());
        match session.differing {
            0 => writeln!(
                session.err,
                "{names} agree about {}",
                all(session.built, "packet", "packets")
            )?,
            differing => writeln!(
                session.err,
                "{names} differ about {differing} of {}",
                count(session.built, "packet", "packets")
            )?,
        }
    }
    let differing = session.differing;
    frames.finish()?;
    Ok(differing)
}

/// The builder whose frames are written, and optionally a second one to compare it with.
struct Builders {
    written: Box<dyn FrameBuilder>,
    other: Option<Box<dyn FrameBuilder>>,
}

impl Builders {
    fn new(arguments: EngineArgs, rtl: Option<Codec>) -> anyhow::Result<Self> {
        let rtl = || anyhow::Ok((Codec::of(rtl)?.builder)()?);
        let model = || Box::new(codec::ModelBuilder);
        Ok(match arguments {
            EngineArgs { model: true, .. } => Self {
                written: model(),
                other: None,
            },
            EngineArgs { both: true, .. } => Self {
                written: rtl()?,
                other: Some(model()),
            },
            _ => Self {
                written: rtl()?,
                other: None,
            },
        })
    }
}

struct Session<'a, 'out> {
    builders: &'a mut Builders,
    frames: &'a mut Frames<'out>,
    err: &'a mut dyn Write,
    items: Vec<Item>,
    /// Number of packets built.
    built: u64,
    /// Number of frames written without the builder, from `raw`.
    raw: usize,
    /// Number of packets for which the two builders differ.
    differing: u64,
}

impl Session<'_, '_> {
    fn lines(&mut self, path: &Path, skip: bool) -> anyhow::Result<()> {
        let (name, input): (String, Box<dyn BufRead>) = if path == Path::new("-") {
            ("standard input".into(), Box::new(io::stdin().lock()))
        } else {
            let name = path.display().to_string();
            let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
            (name, Box::new(BufReader::new(file)))
        };
        let mut skipped = 0;
        for (index, line) in text_file::lines(input).enumerate() {
            let at = || format!("{name}, line {}", index + 1);
            let line = line.with_context(at)?;
            if line.trim().is_empty() {
                continue;
            }
            match jsonl::item(&line, skip) {
                Err(
                    LineError::Description(DescriptionError::NotOurs { .. })
                    | LineError::NoFrame { .. },
                ) if skip => skipped += 1,
                item => self.add(item.with_context(at)?)?,
            }
        }
        if skipped > 0 {
            let rows = match skipped {
                1 => "1 row of a frame".to_string(),
                _ => format!("{skipped} rows of frames"),
            };
            writeln!(
                self.err,
                "{rows} that cannot be built left out (verdict other, malformed, or no whole Ethernet frame)"
            )?;
        }
        Ok(())
    }

    fn add(&mut self, item: Item) -> anyhow::Result<()> {
        self.items.push(item);
        if self.items.len() >= BATCH_PACKETS {
            self.build()
        } else {
            Ok(())
        }
    }

    fn build(&mut self) -> anyhow::Result<()> {
        let items = std::mem::take(&mut self.items);
        let descriptors: Vec<Descriptor> = (items.iter())
            .filter_map(|item| match item {
                Item::Packet(packet) => Some(packet.descriptor.clone()),
                Item::Raw(..) => None,
            })
            .collect();
        let written = build(self.builders.written.as_mut(), &descriptors)?;
        if let Some(other) = &mut self.builders.other {
            let names = [self.builders.written.name(), other.name()];
            for (index, (left, right)) in written
                .iter()
                .zip(build(other.as_mut(), &descriptors)?)
                .enumerate()
            {
                if let Some(difference) = difference(names, left, &right) {
                    self.differing += 1;
                    writeln!(
                        self.err,
                        "packet {}: {difference}",
                        self.built + index as u64 + 1
                    )?;
                }
            }
        }
        let mut written = written.into_iter();
        for item in items {
            let (frame, seen) = match item {
                Item::Raw(frame, seen) => {
                    self.raw += 1;
                    (frame, seen)
                }
                Item::Packet(packet) => {
                    self.built += 1;
                    let frame = written.next().expect("a frame a packet");
                    let frame = packet.finish(frame);
                    let frame = frame.with_context(|| format!("packet {}", self.built))?;
                    (frame, packet.seen)
                }
            };
            self.frames.write(&frame, &seen)?;
        }
        Ok(())
    }
}

fn build(
    builder: &mut dyn FrameBuilder,
    descriptors: &[Descriptor],
) -> anyhow::Result<Vec<Vec<u8>>> {
    if descriptors.is_empty() {
        return Ok(Vec::new());
    }
    let frames = builder.build(descriptors)?;
    anyhow::ensure!(
        frames.len() == descriptors.len(),
        "{} gave {} frames for {} packets",
        builder.name(),
        frames.len(),
        descriptors.len()
    );
    Ok(frames)
}

/// Returns whether the keys of a row reproduce exactly `frame`.
pub fn rebuilds(row: &Row, frame: &[u8]) -> bool {
    let build = || {
        let packet = jsonl::parse(&serde_json::to_string(row).ok()?)
            .ok()?
            .packet()
            .ok()?;
        let built = packet.descriptor.build().ok()?;
        packet.finish(built).ok()
    };
    build().is_some_and(|built| built == frame)
}

/// Describes the first byte in which two frames differ.
fn difference(names: [&str; 2], left: &[u8], right: &[u8]) -> Option<String> {
    if let Some(at) = left
        .iter()
        .zip(right)
        .position(|(left, right)| left != right)
    {
        return Some(format!(
            "byte {at}: {} {:#04x}, {} {:#04x}",
            names[0], left[at], names[1], right[at]
        ));
    }
    (left.len() != right.len()).then(|| {
        format!(
            "length: {} {}, {} {}",
            names[0],
            left.len(),
            names[1],
            right.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::arguments::LONG_HELP;
    use super::*;

    #[test]
    fn help_names_every_key() {
        for (key, _) in KEYS {
            let named = LONG_HELP
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .any(|word| word == *key);
            assert!(named, "{key}");
        }
    }

    #[test]
    fn the_first_difference_of_two_frames() {
        assert_eq!(difference(["RTL", "model"], &[1, 2], &[1, 2]), None);
        assert_eq!(
            difference(["RTL", "model"], &[1, 2, 3], &[1, 9, 9]).unwrap(),
            "byte 1: RTL 0x02, model 0x09"
        );
        assert_eq!(
            difference(["RTL", "model"], &[1, 2], &[1]).unwrap(),
            "length: RTL 2, model 1"
        );
    }
}
