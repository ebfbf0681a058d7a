//! Aligned columns.

use std::io;

use crate::terminal::{Ink, Streams};

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under a heading. Columns are as wide as their widest cell, two spaces apart.
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<(Ink, Vec<String>)>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Align)>) -> Self {
        let columns = columns.into_iter();
        Self {
            columns: columns.map(|(head, align)| (head.into(), align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, which has a cell a column.
    pub fn row<S: Into<String>>(&mut self, ink: Ink, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push((ink, cells));
    }

    /// Writes heading and rows.
    pub fn write(&self, streams: &mut Streams) -> io::Result<()> {
        for (ink, line) in self.lines() {
            writeln!(streams.out, "{}", streams.paint.paint(ink, line))?;
        }
        Ok(())
    }

    /// Returns heading and rows as text.
    pub fn text(&self) -> String {
        let lines = self.lines();
        lines.iter().map(|(_, line)| format!("{line}\n")).collect()
    }

    fn lines(&self) -> Vec<(Ink, String)> {
        let head: Vec<String> = self.columns.iter().map(|it| it.0.clone()).collect();
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                let cells = self.rows.iter().map(|(_, row)| &row[column]);
                let widths = cells
                    .chain([&head[column]])
                    .map(|cell| cell.chars().count());
                widths.max().unwrap_or(0)
            })
            .collect();
        let rows = self.rows.iter().map(|(ink, row)| (*ink, row));
        let line = |(ink, row): (Ink, &Vec<String>)| {
            let cells = row.iter().zip(&self.columns).zip(&widths);
            let cells = cells.map(|((cell, (_, align)), width)| match align {
                Align::Left => format!("{cell:width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            (ink, line.trim_end().to_owned())
        };
        let all = std::iter::once((Ink::Heading, &head)).chain(rows);
        all.map(line).collect()
    }
}
