//! The least and the greatest of rates over short windows, whose length does not depend on `sample`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_sim::kernel::PortId;
use xoff_sim::time::{Duration, Time};

use super::credit::Credits;
use crate::Simulation;
use crate::detect::{LinkClass, Totals};

/// The least and the greatest of a value; not numbers where there was none.
pub type Range = (f64, f64);

const NONE: Range = (f64::NAN, f64::NAN);

fn join(range: &mut Range, value: f64) {
    *range = (range.0.min(value), range.1.max(value));
}

/// How long frames have held the line of each node's port 0.
pub(super) fn wire_times(simulation: &Simulation) -> Vec<Duration> {
    let network = simulation.network();
    let held = |(node, _)| network.wire_time(node, PortId(0));
    simulation.stations().map(held).collect()
}

/// Rates in the windows since the last sample.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Windows {
    /// The start of the window.
    from: Time,
    credits: Credits,
    /// Bytes credited to each flow until the start of the window.
    before: Vec<u64>,
    goodput: Vec<Range>,
    /// How long frames held the line of each node's port 0 until the start of the window.
    held: Vec<Duration>,
    wire: Vec<Range>,
    /// For how long each link was stopped until the start of the window.
    stopped: BTreeMap<LinkClass, Duration>,
    totals: Totals,
    paused: BTreeMap<LinkClass, Range>,
    /// Windows that ended since the last sample.
    ended: u32,
}

impl Windows {
    pub(super) fn new(simulation: &Simulation) -> Self {
        let credits = Credits::new(simulation);
        let mut this = Self {
            from: simulation.now(),
            before: credits.bytes.clone(),
            credits,
            goodput: vec![NONE; simulation.series().len()],
            held: wire_times(simulation),
            wire: vec![NONE; simulation.names().len()],
            stopped: BTreeMap::new(),
            totals: Totals::default(),
            paused: BTreeMap::new(),
            ended: 0,
        };
        this.pauses(simulation, |_, _| {});
        this
    }

    /// Ends a window now, and begins the next.
    pub(super) fn end(&mut self, simulation: &Simulation) {
        let ps = simulation.now().saturating_since(self.from).as_ps() as f64;
        if ps == 0.0 {
            return;
        }
        self.from = simulation.now();
        self.credits.credit(simulation);
        for (series, range) in simulation.series().iter().zip(&mut self.goodput) {
            let bytes = |flow: usize| self.credits.bytes[flow] - self.before[flow];
            let bytes: u64 = series.flows.clone().map(bytes).sum();
            join(range, bytes as f64 * 8e12 / ps);
        }
        self.before.clone_from(&self.credits.bytes);
        let held = wire_times(simulation);
        for ((range, now), before) in self.wire.iter_mut().zip(&held).zip(&self.held) {
            // A frame that waits behind one from outside is counted before it is on the wire.
            let held = now.as_ps().saturating_sub(before.as_ps());
            join(range, 100.0 * held as f64 / ps);
        }
        self.held = held;
        let mut paused = std::mem::take(&mut self.paused);
        // A link that is stopped for the first time stood in no window before.
        let before = if self.ended > 0 { (0.0, 0.0) } else { NONE };
        self.pauses(simulation, |link, time| {
            let range = paused.entry(link).or_insert(before);
            join(range, 100.0 * time.as_ps() as f64 / ps);
        });
        self.paused = paused;
        self.ended += 1;
    }

    /// Counts how long each link that was ever stopped stood since the last call.
    fn pauses(&mut self, simulation: &Simulation, mut stood: impl FnMut(LinkClass, Duration)) {
        let Self {
            stopped, totals, ..
        } = self;
        totals.each(simulation, |link, _, total| {
            let before = stopped.insert(link, total).unwrap_or(Duration::ZERO);
            let time = total.as_ps().saturating_sub(before.as_ps());
            stood(link, Duration::from_ps(time));
        });
    }

    /// The goodput of each series, and the part of the time for which frames held the line of each node in per cent, in the
    /// windows that ended since the last call.
    pub(super) fn take(&mut self) -> [Vec<Range>; 2] {
        self.ended = 0;
        [&mut self.goodput, &mut self.wire].map(|ranges| {
            let none = vec![NONE; ranges.len()];
            std::mem::replace(ranges, none)
        })
    }

    /// The part of the time for which a link was stopped in the windows that ended since the last call, in per cent.
    pub(super) fn take_paused(&mut self, link: LinkClass) -> Range {
        self.paused.remove(&link).unwrap_or(NONE)
    }
}
