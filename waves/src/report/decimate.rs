//! Reduces points without changing the picture.

/// Returns the points of `points` that draw the same picture in `bins` columns from `from` to `to`.
///
/// Of each column with more than two points, it keeps the least and the greatest, so that peaks stay. It also keeps
/// the first and the last point, and one gap per column for values that are not a number.
pub fn line(points: &[(u64, f64)], from: u64, to: u64, bins: usize) -> Vec<(u64, f64)> {
    let mut kept = Vec::new();
    let column = |time: u64| bin(time, from, to, bins);
    let mut start = 0;
    while start < points.len() {
        let this = column(points[start].0);
        let end = start
            + points[start..]
                .iter()
                .take_while(|&&(time, _)| column(time) == this)
                .count();
        keep_column(points, start..end, &mut kept);
        start = end;
    }
    kept.into_iter().map(|index| points[index]).collect()
}

fn keep_column(points: &[(u64, f64)], column: std::ops::Range<usize>, kept: &mut Vec<usize>) {
    let mut keep: Vec<usize> = Vec::with_capacity(5);
    let numbers = || column.clone().filter(|&index| !points[index].1.is_nan());
    let order = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
    keep.extend(numbers().min_by(order));
    keep.extend(numbers().max_by(order));
    keep.extend(column.clone().find(|&index| points[index].1.is_nan()));
    keep.extend((column.start == 0).then_some(0));
    keep.extend((column.end == points.len()).then_some(points.len() - 1));
    keep.sort_unstable();
    keep.dedup();
    kept.extend(keep);
}

/// Returns the share of each of `bins` columns from `from` to `to` that `spans` cover, 0 to 1.
pub fn coverage(spans: &[(u64, u64)], from: u64, to: u64, bins: usize) -> Vec<f64> {
    let mut covered = vec![0.0; bins];
    let width = to.saturating_sub(from) as f64 / bins as f64;
    if width <= 0.0 {
        return covered;
    }
    for &(start, end) in spans {
        let (start, end) = (start.clamp(from, to), end.clamp(from, to));
        if end <= start {
            continue;
        }
        // Positions in columns.
        let a = (start - from) as f64 / width;
        let b = (end - from) as f64 / width;
        for (index, share) in covered
            .iter_mut()
            .enumerate()
            .take((b.ceil() as usize).min(bins))
            .skip(a as usize)
        {
            let index = index as f64;
            *share += (b.min(index + 1.0) - a.max(index)).max(0.0);
        }
    }
    for share in &mut covered {
        *share = share.min(1.0);
    }
    covered
}

fn bin(time: u64, from: u64, to: u64, bins: usize) -> usize {
    let span = u128::from(to.saturating_sub(from).max(1));
    let place = u128::from(time.saturating_sub(from)) * bins as u128 / span;
    usize::try_from(place).map_or(bins, |place| place.min(bins))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series() -> impl Strategy<Value = Vec<(u64, f64)>> {
        let value = prop_oneof![9 => -1e9..1e9, 1 => Just(f64::NAN)];
        prop::collection::vec((0_u64..10_000, value), 0..400).prop_map(|mut points| {
            points.sort_by_key(|&(time, _)| time);
            points
        })
    }

    fn numbers(points: &[(u64, f64)]) -> impl Iterator<Item = f64> {
        points
            .iter()
            .map(|&(_, value)| value)
            .filter(|value| !value.is_nan())
    }

    proptest! {
        #[test]
        fn every_column_keeps_its_extremes(points in series(), bins in 1_usize..200) {
            let kept = line(&points, 0, 10_000, bins);
            for column in 0..=bins {
                let within = |points: &[(u64, f64)]| -> Vec<(u64, f64)> {
                    points.iter().copied().filter(|&(time, _)| bin(time, 0, 10_000, bins) == column).collect()
                };
                let (all, kept) = (within(&points), within(&kept));
                prop_assert_eq!(numbers(&all).reduce(f64::min), numbers(&kept).reduce(f64::min));
                prop_assert_eq!(numbers(&all).reduce(f64::max), numbers(&kept).reduce(f64::max));
            }
        }

        #[test]
        fn what_is_kept_is_short_ordered_and_was_there(points in series(), bins in 1_usize..200) {
            let kept = line(&points, 0, 10_000, bins);
            prop_assert!(kept.len() <= 3 * (bins + 1) + 2);
            prop_assert!(kept.is_sorted_by_key(|&(time, _)| time));
            let same = |a: &(u64, f64), b: &(u64, f64)| a.0 == b.0 && a.1.to_bits() == b.1.to_bits();
            // The kept points are a subsequence.
            let mut rest = points.iter();
            prop_assert!(kept.iter().all(|point| rest.any(|other| same(point, other))));
            for ends in [(points.first(), kept.first()), (points.last(), kept.last())] {
                prop_assert_eq!(ends.0.map(|p| p.0), ends.1.map(|p| p.0));
            }
        }

        #[test]
        fn coverage_adds_up(edges in prop::collection::btree_set(0_u64..10_000, 0..40), bins in 1_usize..300) {
            let edges: Vec<u64> = edges.into_iter().collect();
            let spans: Vec<(u64, u64)> = edges.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let covered: f64 = coverage(&spans, 0, 10_000, bins).iter().sum::<f64>() / bins as f64;
            let exact = spans.iter().map(|(from, to)| to - from).sum::<u64>() as f64 / 10_000.0;
            prop_assert!((covered - exact).abs() < 1e-6, "{} {}", covered, exact);
        }
    }

    #[test]
    fn a_short_peak_survives() {
        let mut points: Vec<(u64, f64)> = (0..100_000).map(|time| (time, 1.0)).collect();
        points[54_321].1 = 99.0;
        let kept = line(&points, 0, 100_000, 100);
        assert!(kept.len() < 210);
        assert!(kept.contains(&(54_321, 99.0)));
    }
}
