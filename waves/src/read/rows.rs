//! The rows of the output.

use std::collections::BTreeSet;

use wellen::SignalRef;
use xoff_sim::time::Duration;

use super::condition::Resolved;
use super::file::{Signal, WaveError, Waves};
use super::value::{Kind, Value};

/// A window of time in units of the file; both ends are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First time.
    pub from: u64,
    /// Last time.
    pub to: u64,
}

impl Window {
    /// The part of a file from `from` to `to`, by default all of it.
    ///
    /// # Errors
    ///
    /// Returns an error if no time of the file is in the window.
    pub fn new(
        waves: &Waves,
        from: Option<Duration>,
        to: Option<Duration>,
    ) -> Result<Self, WaveError> {
        let wrong = |what: String| Err(WaveError::Window(what));
        let (Some(&first), Some(&last)) = (waves.times().first(), waves.times().last()) else {
            return wrong("the file has signals, but no values of them".into());
        };
        let whole = || {
            let [first, last] = [first, last].map(|tick| waves.time_text(tick));
            format!("the file has values from {first} to {last}")
        };
        let start = from.map_or(first, |from| waves.tick_from(from.as_ps()));
        let end = to.map_or(last, |to| waves.tick_at(to.as_ps()));
        match (from, to) {
            (Some(from), Some(to)) if from > to => wrong(format!(
                "--from {from} --to {to}: the window ends before it begins"
            )),
            (Some(from), _) if start > last => wrong(format!("--from {from}: {}", whole())),
            (_, Some(to)) if end < first => wrong(format!("--to {to}: {}", whole())),
            _ => Ok(Self {
                from: start.max(first),
                to: end.min(last),
            }),
        }
    }
}

/// Values at a point of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The time, in units of the file.
    pub tick: u64,
    /// The values of the signals shown; none before the first one in the file.
    pub values: Vec<Option<Value>>,
}

/// Returns the rows of a window: one for its beginning and one for each time at which a signal changes; or, with
/// `clock`, one for each of its rising edges with the values before the edge. With `when` only those for which it
/// holds.
///
/// # Errors
///
/// Returns an error if the file is damaged.
pub fn rows(
    waves: &mut Waves,
    shown: &[Signal],
    window: Window,
    clock: Option<Signal>,
    when: Option<&Resolved>,
) -> Result<Vec<Row>, WaveError> {
    let mut used: Vec<SignalRef> = shown.iter().map(|signal| signal.id).collect();
    let named = when.map(Resolved::signals).into_iter().flatten();
    used.extend(named.map(|signal| signal.id));
    let watched = used.clone();
    used.extend(clock.iter().map(|clock| clock.id));
    waves.load(used)?;
    // Places in the list of times: the time of a row, and that of its values.
    let places: Vec<(usize, usize)> = match &clock {
        None => changes(waves, &watched, window)
            .into_iter()
            .map(|at| (at, at))
            .collect(),
        Some(clock) => edges(waves, clock, window)
            .into_iter()
            .map(|at| (at, at - 1))
            .collect(),
    };
    let times = waves.times();
    let mut rows = Vec::new();
    for (at, before) in places {
        let value = |signal| value(waves, signal, before);
        if when.is_none_or(|when| when.holds(&value)) {
            rows.push(Row {
                tick: times[at].max(window.from),
                values: (shown.iter())
                    .map(|signal| signal.part_of(value(signal.id)?))
                    .collect(),
            });
        }
    }
    Ok(rows)
}

/// Returns the place of the beginning of the window, and the places in it at which a signal changes.
fn changes(waves: &Waves, signals: &[SignalRef], window: Window) -> BTreeSet<usize> {
    let times = waves.times();
    // The last time at or before the window's beginning, whose values last until then.
    let start = times.partition_point(|time| *time <= window.from) - 1;
    let end = times.partition_point(|time| *time <= window.to);
    let mut places = BTreeSet::from([start]);
    for signal in signals {
        let changes = waves
            .changes(*signal)
            .map_or(&[][..], |all| all.time_indices());
        let first = changes.partition_point(|at| (*at as usize) <= start);
        let inside = changes[first..].iter().map(|at| *at as usize);
        places.extend(inside.take_while(|at| *at < end));
    }
    places
}

/// Returns the places at which a clock goes from 0 to 1, or at which an event happens.
fn edges(waves: &Waves, clock: &Signal, window: Window) -> Vec<usize> {
    let times = waves.times();
    let mut last = None;
    let mut edges = Vec::new();
    let changes = waves.changes(clock.id).into_iter();
    for (at, value) in changes.flat_map(|changes| changes.iter_changes()) {
        let value = Value::from(value);
        let bit = value.known().map(|bits| bits.contains('1'));
        let at = at as usize;
        let rises = clock.kind == Kind::Event || (last, bit) == (Some(false), Some(true));
        if rises && at > 0 && (window.from..=window.to).contains(&times[at]) {
            edges.push(at);
        }
        last = bit;
    }
    // An event may happen several times at one time.
    edges.dedup();
    edges
}

/// Returns the value of a signal at a place in the list of times.
fn value(waves: &Waves, signal: SignalRef, at: usize) -> Option<Value> {
    let changes = waves.changes(signal)?;
    if waves.is_event(signal) {
        let happens = changes.time_indices().binary_search(&(at as u32)).is_ok();
        return Some(Value::Bits(u8::from(happens).to_string()));
    }
    let offset = changes.get_offset(at as u32)?;
    // The last of several values at the same time.
    Some(changes.get_value_at(&offset, offset.elements - 1).into())
}
