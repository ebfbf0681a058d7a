//! A model with its waves in a second one: nothing that it does or writes differs from what one model does.
#![cfg(not(feature = "coverage"))]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use verilated::{Model, Settings};
use verilated_tests::{Hidden, HiddenApart, HiddenSampled, hidden, hidden_apart, hidden_sampled};
use wellen::simple;

/// The inputs of a cycle; they can be those of all three models.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Inputs {
    rst: bool,
    write: bool,
    row: u8,
    data: u128,
}

impl Inputs {
    /// Pseudo-random inputs: the first ones reset.
    fn of(seed: u64, cycle: u64) -> Inputs {
        let mut mixed = (seed ^ cycle.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 32;
        Inputs {
            rst: cycle < 2 || mixed.is_multiple_of(61),
            write: mixed & 3 != 0,
            row: (mixed >> 8) as u8 & 7,
            data: (u128::from(mixed) * u128::from(mixed | 1)) & ((1 << 100) - 1),
        }
    }
}

/// What the three models share for a test.
trait Face: Model {
    fn inputs(inputs: Inputs) -> Self::In;
    fn outputs(outputs: &Self::Out) -> (u16, [u32; 4]);

    /// Runs a cycle and returns the outputs.
    fn step(&mut self, inputs: Inputs) -> (u16, [u32; 4]) {
        let mut out = Self::Out::default();
        self.cycle(&Self::inputs(inputs), &mut out).unwrap();
        Self::outputs(&out)
    }
}

macro_rules! face {
    ($model:ident, $module:ident) => {
        impl Face for $model {
            fn inputs(inputs: Inputs) -> $module::In {
                let word = |at: u32| (inputs.data >> (32 * at)) as u32;
                $module::In {
                    rst_i: u8::from(inputs.rst),
                    write_i: u8::from(inputs.write),
                    row_i: inputs.row,
                    data_i: [word(0), word(1), word(2), word(3)],
                }
            }
            fn outputs(out: &$module::Out) -> (u16, [u32; 4]) {
                (out.sum_o, out.row_o)
            }
        }
    };
}

face!(Hidden, hidden);
face!(HiddenApart, hidden_apart);
face!(HiddenSampled, hidden_sampled);

/// The values of all signals at each time, by name.
pub fn waves(path: &Path) -> BTreeMap<String, Vec<(u64, String)>> {
    let mut waves = simple::read(path).unwrap();
    let hierarchy = waves.hierarchy();
    let vars: Vec<_> = (hierarchy.all_vars())
        .map(|var| &hierarchy[var])
        .map(|var| (var.full_name(hierarchy), var.signal_ref()))
        .collect();
    let signals: Vec<_> = vars.iter().map(|(_, signal)| *signal).collect();
    waves.load_signals(&signals);
    let times = waves.time_table().to_vec();
    let values = |signal| {
        let signal = waves.get_signal(signal).unwrap();
        let value = |at: usize| {
            let place = signal.get_offset(at as u32)?;
            Some((times[at], signal.get_value_at(&place, 0).to_string()))
        };
        (0..times.len()).filter_map(value).collect()
    };
    (vars.into_iter())
        .map(|(name, signal)| (name, values(signal)))
        .collect()
}

/// Waves of cycles 40 to 60 of a model that began to write them in cycle 0, and of one that began in cycle 40.
fn windows<M: Face>(whole: impl Face, scope: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut whole = whole;
    let mut model = M::new(&Settings::new("h").seed(5).period_ps(10)).unwrap();
    whole.trace_open(&folder.path().join("whole.fst")).unwrap();
    for cycle in 0..60 {
        if cycle == 40 {
            model.trace_open(&folder.path().join("part.fst")).unwrap();
        }
        let inputs = Inputs::of(1, cycle);
        let outputs = (model.step(inputs), whole.step(inputs));
        // Start values are random, and not the same.
        if cycle >= 2 {
            assert_eq!(outputs.0, outputs.1, "cycle {cycle}");
        }
    }
    whole.trace_close().unwrap();
    model.trace_close().unwrap();
    let whole = waves(&folder.path().join("whole.fst"));
    let part = waves(&folder.path().join("part.fst"));
    let names = |of: &BTreeMap<String, _>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&part), names(&whole));
    for name in [
        "writes_q",
        "last_q",
        "dead_mem_q",
        "ahead",
        "u_spare.seen_q",
    ] {
        let seen = whole.keys().any(|path| path.contains(name));
        assert!(seen, "{name} is in the waves");
    }
    for (name, values) in &whole {
        let after: Vec<_> = values.iter().filter(|(time, _)| *time >= 400).collect();
        let of_part: Vec<_> = part[name].iter().collect();
        assert_eq!(of_part.len(), 40, "{name}");
        // A loop variable is one of a process that has not run in the second model before the first edge.
        let same = usize::from(name.contains("unnamedblk"));
        assert_eq!(of_part[same..], after[same..], "{name} in {scope}");
    }
}

#[test]
fn every_signal_has_the_values_of_a_model_that_always_had_its_waves() {
    let settings = Settings::new("h").seed(99).period_ps(10);
    windows::<HiddenApart>(Hidden::new(&settings).unwrap(), "hidden");
    windows::<HiddenSampled>(HiddenSampled::new(&settings).unwrap(), "pins");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    /// Whatever is done with waves, saved states and readable signals, state and outputs are those without waves.
    #[test]
    fn waves_change_nothing(seed: u64, sampled: bool, steps in proptest::collection::vec(0u8..8, 1..60)) {
        if sampled {
            same::<HiddenSampled>(seed, &steps);
        } else {
            same::<HiddenApart>(seed, &steps);
        }
    }
}

fn same<M: Face>(seed: u64, steps: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new("h").seed(seed).period_ps(10);
    let [mut plain, mut waved] = [0, 1].map(|_| M::new(&settings).unwrap());
    let mut saved = None;
    for (at, step) in (0u64..).zip([5].iter().chain(steps)) {
        let inputs = Inputs::of(seed, at);
        match step {
            0 => waved
                .trace_open(&folder.path().join(format!("{at}.fst")))
                .unwrap(),
            1 => waved.trace_close().unwrap(),
            2 => {
                let mut outs = [M::Out::default(); 2];
                plain.eval(&M::inputs(inputs), &mut outs[0]).unwrap();
                waved.eval(&M::inputs(inputs), &mut outs[1]).unwrap();
                assert_eq!(outs[0], outs[1]);
            }
            3 => {
                let state = plain.save().unwrap();
                assert_eq!(waved.save().unwrap(), state, "step {at}");
                saved = Some(state);
            }
            4 => {
                if let Some(saved) = &saved {
                    plain.restore(saved).unwrap();
                    waved.restore(saved).unwrap();
                }
            }
            _ => assert_eq!(plain.step(inputs), waved.step(inputs), "step {at}"),
        }
        if at % 3 == 0 {
            assert_eq!(
                plain.state(),
                waved.state(),
                "after step {at}, which is {step}"
            );
        }
    }
}

#[test]
fn an_initial_block_runs_once_and_sees_plusargs() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new("h").plusarg("late");
    let mut model = HiddenApart::new(&settings).unwrap();
    model.trace_open(folder.path().join("a.fst")).unwrap();
    let first = model.step(Inputs::of(0, 0));
    model.trace_close().unwrap();
    model.step(Inputs::of(0, 1));
    model.trace_open(folder.path().join("b.fst")).unwrap();
    model.step(Inputs::of(0, 2));
    assert_eq!(model.take_output(), "started with 99\n");
    let mut plain = Hidden::new(&settings).unwrap();
    plain.step(Inputs::of(0, 0));
    assert_eq!(plain.take_output(), "started with 99\n");
    drop((model, first));
}

#[test]
fn a_failure_in_the_second_model_is_the_instances_and_a_restore_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = HiddenApart::new(&Settings::new("h").period_ps(10)).unwrap();
    for cycle in 0..5 {
        model.step(Inputs::of(3, cycle));
    }
    let saved = model.save().unwrap();
    model.trace_open(folder.path().join("w.fst")).unwrap();
    let bad = Inputs {
        rst: false,
        write: true,
        row: 6,
        data: 0xbad,
    };
    let mut out = hidden_apart::Out::default();
    let failure = model
        .cycle(&HiddenApart::inputs(bad), &mut out)
        .unwrap_err();
    assert_eq!(failure.time_ps(), 55);
    assert!(
        failure.to_string().contains("bad data in row 6"),
        "{failure}"
    );
    model.restore(&saved).unwrap();
    let good = Inputs {
        data: 0x600d,
        ..bad
    };
    model.step(good);
    assert_eq!(model.state().unwrap(), {
        let mut plain = HiddenApart::new(&Settings::new("p")).unwrap();
        plain.restore(&saved).unwrap();
        plain.step(good);
        plain.state().unwrap()
    });
}

/// What is read by name is what the model that evaluates has.
#[test]
fn readable_signals_follow() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = HiddenApart::new(&Settings::new("h")).unwrap();
    let rows = model.signal("rows_q").unwrap();
    model.step(Inputs {
        rst: true,
        write: false,
        row: 0,
        data: 0,
    });
    for (row, waves) in [(1u8, false), (2, true), (3, true), (4, false)] {
        if waves {
            model.trace_open(folder.path().join("w.fst")).unwrap();
        } else {
            model.trace_close().unwrap();
        }
        let data = 0x1234_5678_9abc_0000 + u128::from(row);
        model.step(Inputs {
            rst: false,
            write: true,
            row,
            data,
        });
        for before in 1..=row {
            let value: [u32; 4] = model.read(&rows, &[i32::from(before)]).unwrap();
            let word = 0x9abc_0000 + u32::from(before);
            assert_eq!(value, [word, 0x1234_5678, 0, 0], "row {before} after {row}");
        }
    }
}
