//! Converts a finished FST file to VCD.
//!
//! A Verilated model can write only one wave format, fixed when it is compiled. That format is FST, and VCD is
//! converted from it afterwards. This keeps models small and works the same with every version of Verilator.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalValue, ReaderError};

/// Reads `fst` and writes `vcd`.
pub(crate) fn convert(fst: &Path, vcd: &Path) -> io::Result<()> {
    let mut reader = FstReader::open(BufReader::new(File::open(fst)?)).map_err(broken)?;
    let mut out = BufWriter::new(File::create(vcd)?);
    writeln!(out, "$timescale 1ps $end")?;
    let mut result = Ok(());
    let mut lengths: Vec<u32> = Vec::new();
    reader
        .read_hierarchy(|entry| {
            if result.is_ok() {
                result = declaration(&mut out, entry, &mut lengths);
            }
        })
        .map_err(broken)?;
    result?;
    writeln!(out, "$enddefinitions $end")?;

    let mut now = None;
    let changes = reader.read_signals(&FstFilter::all(), |time, signal, value| -> io::Result<()> {
        if now != Some(time) {
            writeln!(out, "#{time}")?;
            now = Some(time);
        }
        let index = signal.get_index();
        match value {
            FstSignalValue::String(bits) if lengths.get(index) == Some(&1) => {
                out.write_all(bits)?
            }
            FstSignalValue::String(bits) => {
                out.write_all(b"b")?;
                out.write_all(bits)?;
                out.write_all(b" ")?;
            }
            FstSignalValue::Real(value) => write!(out, "r{value} ")?,
        }
        writeln!(out, "{}", code(index))
    });
    changes.map_err(|error| match error {
        fst_reader::ReadSignalsError::ReadError(error) => broken(error),
        fst_reader::ReadSignalsError::CallbackError(error) => error,
    })?;
    out.flush()
}

fn declaration(
    out: &mut impl Write,
    entry: FstHierarchyEntry,
    lengths: &mut Vec<u32>,
) -> io::Result<()> {
    match entry {
        FstHierarchyEntry::Scope { name, .. } => writeln!(out, "$scope module {name} $end"),
        FstHierarchyEntry::UpScope => writeln!(out, "$upscope $end"),
        FstHierarchyEntry::Var {
            name,
            length,
            handle,
            ..
        } => {
            let index = handle.get_index();
            if lengths.len() <= index {
                lengths.resize(index + 1, 0);
            }
            lengths[index] = length;
            // In FST, a variable's range is part of its name.
            let (name, range) = name
                .split_once(" [")
                .map_or((name.as_str(), String::new()), |(name, range)| {
                    (name, format!(" [{range}"))
                });
            writeln!(out, "$var wire {length} {} {name}{range} $end", code(index))
        }
        _ => Ok(()),
    }
}

/// Returns the short name of a variable in VCD: a number in base 94, with digits from `!` to `~`.
fn code(mut index: usize) -> String {
    let mut code = String::new();
    loop {
        code.push(char::from(b'!' + (index % 94) as u8));
        index /= 94;
        if index == 0 {
            return code;
        }
        index -= 1;
    }
}

fn broken(error: ReaderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn codes_differ_and_are_printable() {
        let codes: std::collections::BTreeSet<_> = (0..20_000).map(code).collect();
        assert_eq!(codes.len(), 20_000);
        assert_eq!(
            (code(0), code(93), code(94)),
            ("!".into(), "~".into(), "!!".into())
        );
    }
}
