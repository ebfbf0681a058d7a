//! Stretches of time for the scripts of a page, which enlarge what is drawn of them.

/// Cells of the finest grid on which they are joined.
const FINEST: u64 = 1 << 20;

/// Start, end, and for how long of it something was so, in nanoseconds.
pub type Span = (u64, u64, u64);

/// Returns the spans of rows in a run of `duration_ns` as JSON: a list for each row with start, length, and for how long
/// of it, of each span; without the last where it is all of the length.
///
/// If there are more than `most`, those next to each other are joined, on an ever coarser grid.
pub fn json<'a>(
    rows: impl Iterator<Item = &'a [Span]> + Clone,
    duration_ns: u64,
    most: usize,
) -> String {
    let mut cells = FINEST;
    loop {
        let cell = (duration_ns / cells).max(1);
        let rows: Vec<Vec<Span>> = rows.clone().map(|row| joined(row, cell)).collect();
        if rows.iter().map(Vec::len).sum::<usize>() <= most || cells == 1 {
            let row = |row: &Vec<Span>| {
                let span = |&(from, length, part): &Span| match part == length {
                    true => format!("[{from},{length}]"),
                    false => format!("[{from},{length},{part}]"),
                };
                format!("[{}]", row.iter().map(span).collect::<Vec<_>>().join(","))
            };
            return format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(","));
        }
        cells /= 2;
    }
}

/// Joins spans that begin in the same cell of a grid. Returns start, length, and for how long of it, of each.
fn joined(spans: &[Span], cell: u64) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for &(from, to, part) in spans {
        match joined.last_mut() {
            Some(last) if last.0 / cell == from / cell => {
                last.1 = to.saturating_sub(last.0);
                last.2 += part;
            }
            _ => joined.push((from, to.saturating_sub(from), part)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is joined keeps its ends and the sum of its parts.
    #[test]
    fn spans_are_joined_until_there_are_few_enough() {
        let few: &[Span] = &[(10, 20, 10), (30, 50, 5)];
        let text = json([few, &[]].into_iter(), 100, 2);
        assert_eq!(text, "[[[10,10],[30,20,5]],[]]");
        assert_eq!(joined(few, 100), [(10, 40, 15)]);
        // 40,000 spans of 10 ns in 400 µs; 12,000 may stay, so that four are joined: 3 * 10 + 6 ns.
        let many: Vec<Span> = (0..40_000).map(|i| (10 * i, 10 * i + 6, 6)).collect();
        let text = json([&*many].into_iter(), 400_000, 12_000);
        let all: Vec<Vec<Vec<u64>>> = serde_json::from_str(&text).unwrap();
        assert!(
            (6_000..=12_000).contains(&all[0].len()),
            "{} spans",
            all[0].len()
        );
        let parts = all[0].iter().map(|span| span[span.len() - 1]);
        assert_eq!(parts.sum::<u64>(), 240_000);
        let last = all[0].last().unwrap();
        assert_eq!(last[0] + last[1], 399_996);
    }
}
