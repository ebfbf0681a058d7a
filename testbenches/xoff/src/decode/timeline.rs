//! Traffic over time in a fixed number of columns, for captures of any length in one pass.

/// Number of columns kept: many more than are drawn, so that a picture fills its width. Even, because columns are
/// merged in pairs.
const COLUMNS: usize = 1024;
/// Initial width of a column.
const FIRST_COLUMN_NS: u64 = 16;

/// Counters for a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Bytes of frames.
    pub bytes: u64,
    /// Retransmitted packets.
    pub again: u64,
    /// NAKs.
    pub naks: u64,
    /// Congestion notifications and pauses.
    pub slowed: u64,
}

impl Stretch {
    fn merge(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            again: self.again + other.again,
            naks: self.naks + other.naks,
            slowed: self.slowed + other.slowed,
        }
    }
}

/// A timeline in columns. When a time is beyond the last column, the columns double their width.
#[derive(Debug, Clone)]
pub struct Timeline {
    start_ns: Option<u64>,
    last_ns: u64,
    column_ns: u64,
    columns: Vec<Stretch>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            start_ns: None,
            last_ns: 0,
            column_ns: FIRST_COLUMN_NS,
            columns: vec![Stretch::default(); COLUMNS],
        }
    }
}

impl Timeline {
    /// Adds counts at `time_ns`. A time before the first one counts as the first.
    pub fn add(&mut self, time_ns: u64, stretch: Stretch) {
        let since = time_ns.saturating_sub(*self.start_ns.get_or_insert(time_ns));
        self.last_ns = self.last_ns.max(since);
        while since / self.column_ns >= COLUMNS as u64 {
            for index in 0..COLUMNS {
                self.columns[index] = match self.columns.get(2 * index..2 * index + 2) {
                    Some(&[left, right]) => left.merge(right),
                    _ => Stretch::default(),
                };
            }
            self.column_ns *= 2;
        }
        let column = &mut self.columns[(since / self.column_ns) as usize];
        *column = column.merge(stretch);
    }

    /// Returns the span from the first time to the last.
    pub fn span_ns(&self) -> u64 {
        self.last_ns
    }

    /// Returns the width of a column and the whole span in at most `most` columns.
    pub fn columns(&self, most: usize) -> (u64, Vec<Stretch>) {
        let used = (self.last_ns / self.column_ns) as usize + 1;
        let group = used.div_ceil(most.max(1));
        let columns = self.columns[..used].chunks(group);
        let merged = columns
            .map(|chunk| {
                chunk
                    .iter()
                    .copied()
                    .fold(Stretch::default(), Stretch::merge)
            })
            .collect();
        (self.column_ns * group as u64, merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_columns_double() {
        let mut timeline = Timeline::default();
        let times = [
            1_000,
            1_001,
            1_100,
            900,
            50_000,
            10_000_000,
            123_456_789_000,
        ];
        for (index, time) in times.into_iter().enumerate() {
            timeline.add(
                time,
                Stretch {
                    bytes: 1 << index,
                    ..Stretch::default()
                },
            );
        }
        assert_eq!(timeline.span_ns(), 123_456_788_000);
        for most in [1, 7, 60, 500] {
            let (column_ns, columns) = timeline.columns(most);
            assert!(columns.len() <= most);
            assert!(column_ns * columns.len() as u64 > timeline.span_ns());
            assert_eq!(
                columns.iter().map(|column| column.bytes).sum::<u64>(),
                (1 << times.len()) - 1
            );
            assert!(columns.last().unwrap().bytes >= 1 << 6);
        }
    }
}
