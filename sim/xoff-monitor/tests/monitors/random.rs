//! Arbitrary bytes: the monitors must accept them without failing.

use proptest::prelude::*;
use xoff_monitor::{Monitor, Sighting, Tap};
use xoff_sim::kernel::Direction;
use xoff_sim::time::{Duration, LineRate, Time};

use crate::conversation::{Conversation, mend};

fn directions() -> impl Strategy<Value = Option<Direction>> {
    prop::sample::select(&[None, Some(Direction::Sent), Some(Direction::Received)][..])
}

/// Good frames, damaged frames and garbage.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        xoff_strategies::frame().prop_map(|frame| frame.bytes),
        xoff_strategies::damaged_frame().prop_map(|frame| frame.bytes),
        prop::collection::vec(any::<u8>(), 0..200),
    ]
}

/// Bytes, time in picoseconds, and direction.
type Seen = (Vec<u8>, u64, Option<Direction>);

fn watch(seen: &[Seen], host: bool) -> u64 {
    let mut monitor = Monitor::new().with_cnp_interval(Duration::from_us(50));
    let tap = monitor.add_tap(Tap {
        host,
        rate: Some(LineRate::G40),
        ..Tap::new("")
    });
    for (number, (bytes, ps, direction)) in (0..).zip(seen) {
        let (time, direction) = (Time::from_ps(*ps), *direction);
        monitor.see(&Sighting {
            tap,
            number,
            time,
            direction,
            bytes,
            line: None,
            kept: bytes.len(),
            addressed: true,
            fcs_ok: true,
        });
    }
    let report = monitor.into_report();
    let kinds = report.kinds;
    assert_eq!(kinds.roce + kinds.pause + kinds.other, report.frames);
    report.frames
}

proptest! {
    #[test]
    fn any_frames(
        seen in prop::collection::vec((frames(), any::<u64>(), directions()), 0..40),
        host: bool,
    ) {
        watch(&seen, host);
    }

    /// Frames of a conversation in any order, some repeated, with bytes changed and ICRCs corrected afterwards.
    #[test]
    fn any_conversation(
        picks in prop::collection::vec((any::<prop::sample::Index>(), 14usize..90, any::<u8>(), any::<bool>()), 0..80),
        host: bool,
    ) {
        let good = Conversation::good().0;
        let seen: Vec<Seen> = (0..).zip(&picks).map(|(number, (which, at, value, change))| {
            let step = which.get(&good);
            let mut bytes = step.bytes();
            if *change && step.name != "pfc" && (42..bytes.len() - 4).contains(at) {
                bytes[*at] = *value;
                mend(&mut bytes);
            }
            (bytes, number * 1_000_000, Some(step.direction))
        }).collect();
        watch(&seen, host);
    }
}
