//! Whole networks of switches and model NICs: lossless means lossless, and no frame is lost without a reason.
//!
//! A case is a small Clos network of two or three tiers, with rates, cables, thresholds and flows that are drawn, some
//! of them in lossy classes and with faults. The headroom is the one that follows from the links. In each case:
//!
//! - no switch and no NIC drops a frame of a lossless class, and every message of a lossless class arrives
//! - no deadlock is reported: up-down routing has no cyclic buffer dependency
//! - what hosts and switches took in is what they sent, what they hold, and what they dropped with a reason, in frames
//!   and in bytes, for each class; what was sent into a wire arrived, is under way, or was lost to a fault
//! - the protocol monitors find no violation at any port
//!
//! | module | contents |
//! |---|---|
//! | [`events`] | the network and its flows, and how they are drawn |
//! | [`mod@bench`] | makes a scenario of a case, and runs it |
//! | [`ledger`] | counts frames and bytes at every port, and balances them |
//! | `retrace` | a failing case again, with waves of the network and a capture |

pub mod bench;
pub mod events;
pub mod ledger;
mod retrace;

use proptest::prelude::*;
use xoff_cosim::units::UnitError;

use super::bins::Bins;
use super::history::Histories;
use super::retrace::{Retraced, Wanted};
use super::{Case, Disagreement, Property, unit};
use events::{Event, Head};

/// The property. The network of a case is drawn with it, so there is nothing to keep between two cases.
#[derive(Debug)]
pub struct Network;

impl Property for Network {
    type Head = Head;
    type Event = Event;
    const UNIT: &'static str = unit::NETWORK.name;
    const EVENTS: &'static str = "frames";
    const CASES: u64 = unit::NETWORK.cases;

    fn new(_: u64) -> Result<Self, UnitError> {
        Ok(Self)
    }

    fn cases() -> BoxedStrategy<Case<Self>> {
        Histories(events::history).boxed()
    }

    fn check(&mut self, case: &Case<Self>, _: &mut Bins) -> Result<u64, Disagreement> {
        let scenario = bench::scenario(&case.head, &case.events);
        let outcome = bench::check(&scenario).map_err(|violated| violated.what)?;
        Ok(outcome.frames)
    }

    fn retrace(_: u64, case: &Case<Self>, wanted: &Wanted) -> anyhow::Result<Retraced> {
        retrace::network(&bench::scenario(&case.head, &case.events), wanted)
    }
}

#[cfg(test)]
mod tests {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use xoff_network::scenario::Scenario;
    use xoff_sim::time::ByteCount;

    use super::super::history::{History, cases_are_what_their_text_says};
    use super::*;
    use xoff_waves::read::file::Waves;

    fn scenarios(count: usize) -> impl Iterator<Item = Scenario> {
        let mut runner = TestRunner::deterministic();
        (0..count).map(move |_| {
            let History { head, events } =
                Network::cases().new_tree(&mut runner).unwrap().current();
            bench::scenario(&head, &events)
        })
    }

    #[test]
    fn text_of_cases() {
        cases_are_what_their_text_says::<Network>();
    }

    /// Cases in which nothing happens would hold too.
    #[test]
    fn cases_have_pauses_marks_and_drops() {
        let mut all = bench::Outcome::default();
        for scenario in scenarios(16) {
            let outcome = bench::check(&scenario).unwrap();
            all.frames += outcome.frames;
            all.xoff += outcome.xoff;
            all.marked += outcome.marked;
            all.dropped += outcome.dropped;
            all.headroom = all.headroom.max(outcome.headroom);
        }
        assert!(all.frames > 10_000 && all.xoff > 100, "{all:?}");
        assert!(all.headroom > 10_000, "{all:?}");
        assert!(all.marked > 4 && all.dropped > 10, "{all:?}");
    }

    /// A planted fault: switches with headroom for two frames, which the links exceed. The run is repeated with waves,
    /// a capture and the last frames of the window before the drop.
    #[test]
    fn headroom_that_is_too_short_is_found_and_shown() {
        let found = scenarios(16).find_map(|mut scenario| {
            let switch = scenario.topology.as_mut()?.switch.as_mut()?;
            switch.headroom = Some(ByteCount::new(2_200));
            let violated = bench::check(&scenario).err()?;
            Some((scenario, violated))
        });
        let (scenario, violated) = found.expect("16 cases have one that needs more");
        assert!(violated.what.contains("lossless"), "{violated:?}");

        let folder = tempfile::tempdir().unwrap();
        let wanted = Wanted {
            folder: folder.path().join("case"),
            before: Some(100),
            after: 0,
            whole: false,
        };
        let Retraced::Failed(failed) = retrace::network(&scenario, &wanted).unwrap() else {
            panic!("it fails again");
        };
        assert_eq!(failed.disagreement, violated.what);
        assert_eq!(failed.events.len(), 20);
        let file = |name: &str| wanted.folder.join(name);
        for name in ["fabric.fst", "fabric.gtkw", "fabric.sucl"] {
            assert!(file(name).is_file(), "{name}");
        }
        let mut waves = Waves::open(&failed.waves[0].path).unwrap();
        let ps = |tick: u64| waves.ps(tick).0;
        let times: Vec<u64> = waves.times().iter().map(|tick| ps(*tick)).collect();
        assert_eq!(times.last(), Some(&violated.at.as_ps()));
        // The switch that is named had a class in XOFF in the window.
        let switch = violated.what.split(',').next().unwrap();
        let xoff = waves.select(&[format!("{switch}.port*.xoff")]).unwrap();
        waves.load(xoff.iter().map(|signal| signal.id)).unwrap();
        let changes = xoff.iter().filter_map(|signal| waves.changes(signal.id));
        let stopped = changes.flat_map(|signal| {
            let values = signal.iter_changes();
            values.filter_map(|(_, value)| value.to_bit_string())
        });
        assert!(stopped.filter(|bits| bits.contains('1')).count() > 0);
        let capture = xoff_waves::capture::open(failed.capture.unwrap()).unwrap();
        assert!(capture.count() > 100);
    }
}
