//! `xoff decode`: sends a capture through the parser and prints the results as rows, JSON lines or a picture.

mod arguments;
pub mod compare;
mod conversation;
pub mod details;
mod draw;
mod iwarp;
mod range;
mod seen;
mod segment;
mod summary;
mod table;
mod tally;
mod timeline;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use indicatif::ProgressBar;
use xoff_network::words::{all, count};
use xoff_sim::wire::frame::{ParsedFrame, Reason, Verdict};
use xoff_waves::capture::{Filled, Link, Reader, Record};

pub use arguments::{DecodeArgs, RowFormat};
pub use compare::differences;
use iwarp::Iwarp;
pub use iwarp::Part;
pub use range::{FrameRange, FrameRangeError};
pub use seen::{Class, Seen};
pub use segment::Segment;
pub use summary::Summary;
pub use table::Table;
pub use tally::Tally;
pub use tally::link_text;

use crate::Outcome;
use crate::codec::{self, Codec, EngineArgs, FrameParser};
use crate::encode::rebuilds;
use crate::interruption::interrupted;
use crate::row::Row;
use crate::standard_input::UntilInterrupted;
use crate::terminal::Streams;

/// Frames per batch through the parser.
const BATCH_FRAMES: usize = 256;

/// Runs `xoff decode`. `rtl` is the RTL that the program has.
///
/// # Errors
///
/// Returns an error if the capture cannot be read (rows before the bad position are written), or if the output cannot
/// be written.
pub fn run(
    arguments: &DecodeArgs,
    rtl: Option<Codec>,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let (name, input, bytes) = open(&arguments.file)?;
    let reader = match Reader::new(name.clone(), input) {
        Err(_) if interrupted() => return Ok(Outcome::Interrupted),
        reader => reader?,
    };
    let title = Path::new(&name)
        .file_name()
        .map_or(name.clone(), |name| name.to_string_lossy().into_owned());
    let view = match arguments {
        DecodeArgs { summary: true, .. } => View::Summary(Box::default()),
        DecodeArgs {
            format: RowFormat::Jsonl,
            ..
        } => View::Jsonl,
        DecodeArgs {
            format: RowFormat::Table,
            ..
        } => View::Table(Table::new(streams.paint, streams.width)),
    };
    let progress = streams.progress_bar(bytes, !matches!(view, View::Summary(_)));
    let mut decoder = Decoder {
        parsers: Parsers::new(arguments.engine, rtl)?,
        view,
        tally: Tally::default(),
        compared: 0,
        differing: 0,
        progress,
        range: arguments.frames.unwrap_or_default(),
        limit: arguments.limit.unwrap_or(u64::MAX),
        iwarp: Iwarp::default(),
    };
    let result = decoder.decode(reader, streams);
    decoder.progress.finish_and_clear();
    // An error of the output ends the command. After an error of the input, the frames before it are still counted and
    // drawn.
    if let Err(error) = &result
        && error.downcast_ref::<io::Error>().is_some()
    {
        return result.map(|()| Outcome::Held);
    }
    decoder.close(&title, streams)?;
    if interrupted() {
        let frames = decoder.tally.frames;
        writeln!(
            streams.err,
            "xoff: interrupted behind frame {frames} of those to show"
        )?;
        return Ok(Outcome::Interrupted);
    }
    result?;
    Ok(if decoder.differing == 0 {
        Outcome::Held
    } else {
        Outcome::Failed
    })
}

/// Opens the capture. Returns its name for messages, its bytes, and their number if known.
pub fn open(path: &Path) -> anyhow::Result<(String, Box<dyn Read>, Option<u64>)> {
    if path == Path::new("-") {
        let input = UntilInterrupted::new(io::stdin());
        return Ok(("standard input".into(), Box::new(input), None));
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
    let metadata = file
        .metadata()
        .with_context(|| format!("{name}: cannot be opened"))?;
    if metadata.is_dir() {
        anyhow::bail!("{name}: a directory; a capture file is needed");
    }
    Ok((
        name,
        Box::new(file),
        Some(metadata.len()).filter(|_| metadata.is_file()),
    ))
}

/// The form of the output.
enum View {
    Table(Table),
    Jsonl,
    Summary(Box<Summary>),
}

/// The parser whose results are shown, and optionally a second one to compare it with.
struct Parsers {
    shown: Box<dyn FrameParser>,
    other: Option<Box<dyn FrameParser>>,
}

impl Parsers {
    fn new(arguments: EngineArgs, rtl: Option<Codec>) -> anyhow::Result<Self> {
        let rtl = || anyhow::Ok((Codec::of(rtl)?.parser)()?);
        let model = || Box::new(codec::ModelParser);
        Ok(match arguments {
            EngineArgs { model: true, .. } => Self {
                shown: model(),
                other: None,
            },
            EngineArgs { both: true, .. } => Self {
                shown: rtl()?,
                other: Some(model()),
            },
            _ => Self {
                shown: rtl()?,
                other: None,
            },
        })
    }
}

struct Decoder {
    parsers: Parsers,
    view: View,
    tally: Tally,
    /// Number of frames that the parsers were given.
    compared: u64,
    /// Number of frames for which the two parsers differ.
    differing: u64,
    progress: ProgressBar,
    range: FrameRange,
    limit: u64,
    iwarp: Iwarp,
}

impl Decoder {
    fn decode(
        &mut self,
        mut reader: Reader<Box<dyn Read>>,
        streams: &mut Streams,
    ) -> anyhow::Result<()> {
        let mut batch: Vec<Record> = Vec::with_capacity(BATCH_FRAMES);
        let mut taken = 0;
        let result = loop {
            if taken >= self.limit || interrupted() {
                break Ok(());
            }
            match reader.next() {
                None => break Ok(()),
                Some(Err(error)) => break Err(error.into()),
                Some(Ok(record)) if record.number > self.range.last => break Ok(()),
                Some(Ok(record)) if record.number < self.range.first => {}
                Some(Ok(record)) => {
                    batch.push(record.into_inner());
                    taken += 1;
                }
            }
            if batch.len() >= BATCH_FRAMES || !reader.is_ahead() {
                self.batch(&mut batch, &reader, streams)?;
                // On a live pipe the next frame may take long to arrive, so the rows are flushed now.
                if !reader.is_ahead() {
                    streams.out.flush()?;
                }
            }
        };
        self.batch(&mut batch, &reader, streams)?;
        result
    }

    fn batch(
        &mut self,
        batch: &mut Vec<Record>,
        reader: &Reader<Box<dyn Read>>,
        streams: &mut Streams,
    ) -> anyhow::Result<()> {
        let filled: Vec<Option<Filled>> = batch.iter().map(Record::filled).collect();
        // What is no frame is not given to a parser.
        let frames: Vec<&[u8]> = (filled.iter())
            .map(|filled| filled.as_ref().map_or(&[][..], |filled| &filled.bytes))
            .collect();
        let shown = parse(self.parsers.shown.as_mut(), &frames)?;
        if let Some(other) = &mut self.parsers.other {
            let names = [self.parsers.shown.name(), other.name()];
            for ((record, left), right) in batch
                .iter()
                .zip(&shown)
                .zip(parse(other.as_mut(), &frames)?)
            {
                let differences = differences(names, left, &right);
                self.differing += u64::from(!differences.is_empty());
                for difference in differences {
                    writeln!(streams.err, "frame {}: {difference}", record.number)?;
                }
            }
        }
        for ((record, filled), parsed) in batch.iter().zip(&filled).zip(shown) {
            let mut seen = Seen::new(record, filled.as_ref(), parsed);
            if let (Some(segment), Some(ip), Some(filled)) = (&seen.segment, seen.frame.ip, filled)
            {
                let ends = [ip.src, ip.dst];
                seen.iwarp = (self.iwarp).follow(ends, segment, &filled.bytes, filled.kept);
            }
            self.tally.add(&seen);
            self.compared += u64::from(filled.is_some());
            match &mut self.view {
                View::Table(table) => table.row(&mut *streams.out, &seen, reader.interfaces())?,
                View::Jsonl => {
                    let mut row =
                        Row::new(record.number, &seen.frame).captured(&seen, reader.interfaces());
                    let whole = matches!(seen.class, Class::Judged(_) | Class::Unread);
                    if !(whole && record.link == Link::Ethernet && rebuilds(&row, &record.bytes)) {
                        row = row.with_bytes(&record.bytes);
                    }
                    serde_json::to_writer(&mut *streams.out, &row).map_err(io::Error::from)?;
                    streams.out.write_all(b"\n")?;
                }
                View::Summary(summary) => summary.add(&seen),
            }
        }
        if let View::Summary(summary) = &mut self.view {
            summary.name_ports(reader.interfaces());
        }
        batch.clear();
        self.progress.set_position(reader.offset());
        if !self.progress.is_hidden() {
            self.progress.set_message(self.tally.frames.to_string());
        }
        Ok(())
    }

    /// Writes the output after the last row.
    fn close(&mut self, title: &str, streams: &mut Streams) -> anyhow::Result<()> {
        match &mut self.view {
            View::Jsonl => {}
            View::Table(_) => writeln!(streams.out, "\n{}", self.tally.line(streams.paint))?,
            View::Summary(summary) => {
                std::mem::take(summary).draw(
                    &mut *streams.out,
                    title,
                    &self.tally,
                    streams.paint,
                    streams.width,
                )?;
            }
        }
        streams.out.flush()?;
        if let Some(other) = &self.parsers.other {
            let names = format!("{} and {}", self.parsers.shown.name(), other.name());
            match self.differing {
                0 => writeln!(
                    streams.err,
                    "{names} agree about {}",
                    all(self.compared, "frame", "frames")
                )?,
                differing => writeln!(
                    streams.err,
                    "{names} differ about {differing} of {}",
                    count(self.compared, "frame", "frames")
                )?,
            }
        }
        Ok(())
    }
}

/// Parses a batch. A record of 0 bytes is not a frame for a MAC: it is not given to the parser, but it is counted.
fn parse(parser: &mut dyn FrameParser, frames: &[&[u8]]) -> anyhow::Result<Vec<ParsedFrame>> {
    let real: Vec<&[u8]> = frames
        .iter()
        .copied()
        .filter(|frame| !frame.is_empty())
        .collect();
    let results = if real.is_empty() {
        Vec::new()
    } else {
        parser.parse(&real)?
    };
    anyhow::ensure!(
        results.len() == real.len(),
        "{} gave {} results for {} frames",
        parser.name(),
        results.len(),
        real.len()
    );
    let mut results = results.into_iter();
    let empty = || ParsedFrame {
        verdict: Verdict::Malformed,
        reason: Some(Reason::EthTruncated),
        ..ParsedFrame::empty(0)
    };
    Ok(frames
        .iter()
        .map(|frame| {
            if frame.is_empty() {
                empty()
            } else {
                results.next().expect("a result a frame")
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use xoff_waves::capture::PcapWriter;

    use super::*;
    use crate::codec::{EngineError, ModelParser};
    use crate::terminal::Paint;

    /// A parser that reports a wrong length for one frame.
    struct Liar;

    impl FrameParser for Liar {
        fn name(&self) -> &'static str {
            "liar"
        }

        fn parse(&mut self, frames: &[&[u8]]) -> Result<Vec<ParsedFrame>, EngineError> {
            let mut results = ModelParser.parse(frames)?;
            if let Some(second) = results.get_mut(1) {
                second.frame_bytes += 1;
            }
            Ok(results)
        }
    }

    /// Decodes three frames with two parsers and compares them. Returns the number of differing frames and the messages
    /// about them.
    fn both(other: Box<dyn FrameParser>) -> (u64, String) {
        let mut file = Vec::new();
        let mut writer = PcapWriter::new(&mut file).unwrap();
        for length in [60, 0, 61] {
            writer.write(0, &vec![0; length]).unwrap();
        }
        let said = tempfile::NamedTempFile::new().unwrap();
        let mut streams = Streams {
            out: Box::new(io::sink()),
            err: Box::new(said.reopen().unwrap()),
            paint: Paint::default(),
            width: None,
            progress: false,
        };
        let mut decoder = Decoder {
            parsers: Parsers {
                shown: Box::new(ModelParser),
                other: Some(other),
            },
            view: View::Jsonl,
            tally: Tally::default(),
            compared: 0,
            differing: 0,
            progress: ProgressBar::hidden(),
            range: FrameRange::default(),
            limit: u64::MAX,
            iwarp: Iwarp::default(),
        };
        let input: Box<dyn Read> = Box::new(io::Cursor::new(file));
        decoder
            .decode(Reader::new("test", input).unwrap(), &mut streams)
            .unwrap();
        decoder.close("test", &mut streams).unwrap();
        (
            decoder.differing,
            std::fs::read_to_string(said.path()).unwrap(),
        )
    }

    #[test]
    fn a_mismatch_names_frame_and_field() {
        // The empty record never reaches a parser, so the second frame that it sees is the third of the file.
        let (differing, said) = both(Box::new(Liar));
        assert_eq!(differing, 1);
        assert_eq!(
            said,
            "frame 3: frame_bytes: model 61, liar 62\nmodel and liar differ about 1 of 3 frames\n"
        );
        assert_eq!(
            both(Box::new(ModelParser)),
            (0, "model and model agree about all 3 frames\n".into())
        );
    }
}
