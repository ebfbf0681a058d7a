//! A model with clock gates whose logic is evaluated once a cycle: nothing that anybody sees of it differs.
#![cfg(not(feature = "coverage"))]

use std::path::Path;

use proptest::prelude::*;
use verilated::{Instance, Model, Settings, Top};
use verilated_tests::{Gated, GatedApart, GatedRescheduled, gated, gated_apart, gated_rescheduled};

use crate::apart::waves;

/// What a cycle has for the three models, and what is done behind it.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    rst: bool,
    step: u8,
    open: u8,
    /// Evaluated before, with another step.
    before: Option<u8>,
    read: bool,
    restored: bool,
    /// Waves begin or end before it.
    waves: bool,
}

fn cycle() -> impl Strategy<Value = Cycle> {
    let seldom = || prop::bool::weighted(0.1);
    let before = prop::option::weighted(0.2, 0u8..16);
    let inputs = (seldom(), 0u8..16, 0u8..4, before);
    (inputs, any::<bool>(), seldom(), seldom()).prop_map(
        |((rst, step, open, before), read, restored, waves)| Cycle {
            rst,
            step,
            open,
            before,
            read,
            restored,
            waves,
        },
    )
}

/// What the three models share for a test.
trait Face: Sized {
    fn make() -> Self;
    fn eval(&mut self, rst: bool, step: u8, open: u8) -> [u8; 2];
    fn cycle(&mut self, rst: bool, step: u8, open: u8) -> [u8; 2];
    /// The value of a signal of its logic.
    fn turned(&self) -> u8;
    /// A model with its state.
    fn again(&mut self) -> Self;
    /// Begins to write waves, or ends it.
    fn turn_waves(&mut self, path: &Path);

    /// Everything that is seen of the model in these cycles and between them.
    fn see(cycles: &[Cycle], folder: &Path) -> (Vec<u8>, Vec<String>) {
        let mut model = Self::make();
        let mut seen = model.cycle(true, 0, 0).to_vec();
        let mut files = Vec::new();
        for (number, cycle) in cycles.iter().enumerate() {
            let path = folder.join(format!("{number}.fst"));
            let Cycle {
                rst, step, open, ..
            } = *cycle;
            if cycle.waves {
                model.turn_waves(&path);
                files.push(path);
            }
            if let Some(step) = cycle.before {
                seen.extend(model.eval(rst, step, open));
            }
            seen.extend(model.cycle(rst, step, open));
            if cycle.read {
                seen.push(model.turned());
            }
            if cycle.restored {
                model = model.again();
            }
        }
        drop(model);
        let files = files.iter().filter(|path| path.exists());
        (seen, files.map(|path| in_waves(path)).collect())
    }
}

/// The values of the registers and of logic in a file of waves.
fn in_waves(path: &Path) -> String {
    let names = [".a_q", ".b_q", ".c_q", ".turned"];
    let values = waves(path);
    let values = values.iter().filter_map(|(name, values)| {
        let name = names.iter().find(|end| name.ends_with(**end))?;
        Some(format!("{name} {values:?}\n"))
    });
    let mut values: Vec<String> = values.collect();
    values.sort();
    assert_eq!(values.len(), names.len());
    values.concat()
}

fn turned<T: Top>(model: &Instance<T>, path: &str) -> u8 {
    let signal = model.signal(path).unwrap();
    model.read(&signal, &[]).unwrap()
}

macro_rules! face {
    ($model:ident, $module:ident, $path:literal) => {
        impl Face for $model {
            fn make() -> Self {
                $model::new(&Settings::new("gated").period_ps(10)).unwrap()
            }
            fn eval(&mut self, rst: bool, step_i: u8, open_i: u8) -> [u8; 2] {
                let (rst_i, mut out) = (u8::from(rst), $module::Out::default());
                let inputs = $module::In {
                    rst_i,
                    step_i,
                    open_i,
                };
                Model::eval(self, &inputs, &mut out).unwrap();
                [out.mixed_o, out.sum_o]
            }
            fn cycle(&mut self, rst: bool, step_i: u8, open_i: u8) -> [u8; 2] {
                let (rst_i, mut out) = (u8::from(rst), $module::Out::default());
                let inputs = $module::In {
                    rst_i,
                    step_i,
                    open_i,
                };
                Model::cycle(self, &inputs, &mut out).unwrap();
                [out.mixed_o, out.sum_o]
            }
            fn turned(&self) -> u8 {
                turned(self, $path)
            }
            fn again(&mut self) -> Self {
                let mut other = Self::make();
                other.restore(&self.save().unwrap()).unwrap();
                other
            }
            fn turn_waves(&mut self, path: &Path) {
                match self.tracing() {
                    true => self.trace_close().unwrap(),
                    false => self.trace_open(path).unwrap(),
                }
            }
        }
    };
}

face!(Gated, gated, "turned");
face!(GatedRescheduled, gated_rescheduled, "gated.turned");
face!(GatedApart, gated_apart, "gated.turned");

proptest! {
    /// Outputs, a signal of the logic between two cycles, waves, and what comes behind a checkpoint.
    #[test]
    fn once_a_cycle_is_enough(cycles in prop::collection::vec(cycle(), 1..60)) {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let right = Gated::see(&cycles, folders[0].path());
        prop_assert_eq!(&right, &GatedRescheduled::see(&cycles, folders[1].path()));
        prop_assert_eq!(&right, &GatedApart::see(&cycles, folders[2].path()));
    }
}
