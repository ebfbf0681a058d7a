//! Output of `xoff wave`.

use std::collections::HashMap;
use std::io::Write as _;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use super::{WaveArgs, WaveFormat};
use crate::columns::{Align, Table};
use crate::terminal::{Ink, Streams};
use xoff_waves::read::file::{Signal, Waves};
use xoff_waves::read::rows::Row;
use xoff_waves::read::value::Kind;

/// What is printed before the first value of a signal.
const NO_VALUE: &str = "-";

/// Prints the signals of a file.
pub(super) fn list(waves: &Waves, format: WaveFormat, streams: &mut Streams) -> anyhow::Result<()> {
    // The members of a struct as they are written behind its name.
    let members = |signal: &Signal| {
        let members = waves.members(signal).into_iter();
        members
            .map(|member| format!(".{member}"))
            .collect::<Vec<String>>()
            .join(" ")
    };
    let kind = |signal: &Signal| match &signal.kind {
        Kind::Text | Kind::Real | Kind::Event => (None, String::new()),
        Kind::Bits { bits, .. } => (Some(*bits), members(signal)),
        Kind::Enum(names) => {
            let bits = names.first().map(|(bits, _)| bits.len() as u32);
            let names: Vec<&str> = names.iter().map(|(_, name)| &name[..]).collect();
            (bits, names.join(" "))
        }
    };
    let rows = waves
        .signals
        .iter()
        .map(|signal| (&signal.name, kind(signal)));
    let text = |bits: Option<u32>| bits.map_or(String::new(), |bits| bits.to_string());
    match format {
        WaveFormat::Table => {
            let mut table = Table::new([
                ("signal", Align::Left),
                ("bits", Align::Right),
                ("names", Align::Left),
            ]);
            for (name, (bits, names)) in rows {
                table.row(Ink::Plain, [name.clone(), text(bits), names]);
            }
            table.write(streams)?;
        }
        WaveFormat::Csv => {
            let mut out = csv::Writer::from_writer(&mut streams.out);
            out.write_record(["signal", "bits", "names"])?;
            for (name, (bits, names)) in rows {
                out.write_record([name, &text(bits), &names])?;
            }
            out.flush()?;
        }
        WaveFormat::Json => {
            let signals = rows.map(|(name, (bits, names))| {
                let names: Vec<&str> = names.split_whitespace().collect();
                json!({ "signal": name, "bits": bits, "names": names })
            });
            let signals: Vec<serde_json::Value> = signals.collect();
            serde_json::to_writer_pretty(&mut streams.out, &signals)?;
            writeln!(streams.out)?;
        }
    }
    Ok(())
}

/// Prints rows.
pub(super) fn rows(
    waves: &Waves,
    shown: &[Signal],
    rows: &[Row],
    arguments: &WaveArgs,
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let cells = |row: &Row| {
        let values = row.values.iter().zip(shown).map(|(value, signal)| {
            value.as_ref().map_or_else(
                || NO_VALUE.to_owned(),
                |value| match arguments.format {
                    WaveFormat::Csv => value.marked(&signal.kind, arguments.radix.into()),
                    _ => value.text(&signal.kind, arguments.radix.into()),
                },
            )
        });
        let time = std::iter::once(waves.ns_text(row.tick));
        time.chain(values).collect::<Vec<String>>()
    };
    match arguments.format {
        WaveFormat::Table => {
            let columns = short_names(shown)
                .into_iter()
                .map(|name| (name, Align::Right));
            let time = std::iter::once(("time ns".to_owned(), Align::Right));
            let mut table = Table::new(time.chain(columns));
            for row in rows {
                table.row(Ink::Plain, cells(row));
            }
            table.write(streams)?;
        }
        WaveFormat::Csv => {
            let mut out = csv::Writer::from_writer(&mut streams.out);
            let names = shown.iter().map(|signal| &signal.name[..]);
            out.write_record(std::iter::once("time_ns").chain(names))?;
            for row in rows {
                out.write_record(cells(row))?;
            }
            out.flush()?;
        }
        WaveFormat::Json => {
            let rows: Vec<JsonRow> = rows
                .iter()
                .map(|row| JsonRow { waves, shown, row })
                .collect();
            serde_json::to_writer_pretty(&mut streams.out, &rows)?;
            writeln!(streams.out)?;
        }
    }
    Ok(())
}

/// A row for programs: the time in picoseconds, then the signals by their full names.
struct JsonRow<'a> {
    waves: &'a Waves,
    shown: &'a [Signal],
    row: &'a Row,
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.shown.len()))?;
        match self.waves.ps(self.row.tick) {
            (ps, 0) => map.serialize_entry("time_ps", &ps)?,
            (ps, fs) => map.serialize_entry("time_ps", &(ps as f64 + fs as f64 / 1_000.0))?,
        }
        for (signal, value) in self.shown.iter().zip(&self.row.values) {
            let value = value.as_ref().map(|value| value.json(&signal.kind));
            map.serialize_entry(&signal.name, &value)?;
        }
        map.end()
    }
}

/// Returns for each signal the shortest end of its name that no other one has.
pub fn short_names(signals: &[Signal]) -> Vec<String> {
    // The name that has an end alone; `None` where several have it.
    let mut alone: HashMap<&str, Option<&str>> = HashMap::new();
    for signal in signals {
        for end in std::iter::once(&signal.name[..]).chain(ends(&signal.name)) {
            let owner = alone.entry(end).or_insert(Some(&signal.name));
            if *owner != Some(&signal.name) {
                *owner = None;
            }
        }
    }
    let short = |signal: &Signal| {
        let alone = |end: &&str| alone[end].is_some();
        let end = ends(&signal.name).find(alone);
        end.unwrap_or(&signal.name).to_owned()
    };
    signals.iter().map(short).collect()
}

/// The ends of a name behind its dots, the shortest first.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    name.rmatch_indices('.').map(|(at, _)| &name[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_they_can_be() {
        let signal = |name: &str| Signal {
            name: name.into(),
            kind: Kind::Text,
            lsb: 0,
            part: None,
            id: wellen::SignalRef::from_index(0).unwrap(),
        };
        let names = ["x", "a.x", "a.b.x", "a.b.y"].map(signal);
        assert_eq!(short_names(&names), ["x", "a.x", "b.x", "y"]);
    }
}
