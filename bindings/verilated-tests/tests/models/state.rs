//! Saved state: it can be restored and compared, and nothing else is accepted as saved state.
#![cfg(not(feature = "coverage"))]

use proptest::prelude::*;
use verilated::{RestoreError, Settings};
use verilated_tests::{
    Counter, Counter12, LargeRam, Pipeline, Ram, counter, large_ram, pipeline, ram,
};

/// Returns the same pseudo-random inputs on each call with the same seed.
fn inputs(seed: u64) -> impl Iterator<Item = ram::In> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ram::In {
            write_i: (state & 1) as u8,
            addr_i: (state >> 8) as u16 & 0x3ff,
            data_i: state,
        }
    })
}

fn run(model: &mut Ram, inputs: impl Iterator<Item = ram::In>) -> Vec<u64> {
    let mut out = ram::Out::default();
    inputs
        .map(|inputs| {
            model.cycle(&inputs, &mut out).unwrap();
            out.data_o
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_restored_model_goes_on_as_before(seed: u64, before in 0usize..200, after in 0usize..200, fresh: bool) {
        let mut model = Ram::new(&Settings::new("ram").seed(seed)).unwrap();
        run(&mut model, inputs(seed).take(before));
        let saved = model.save().unwrap();
        let time = model.time_ps();
        let first = run(&mut model, inputs(seed).skip(before).take(after));
        if fresh {
            model = Ram::new(&Settings::new("other").seed(seed ^ 7)).unwrap();
        }
        model.restore(&saved).unwrap();
        prop_assert_eq!(model.time_ps(), time);
        prop_assert_eq!(model.save().unwrap(), saved);
        prop_assert_eq!(run(&mut model, inputs(seed).skip(before).take(after)), first);
    }
}

#[test]
fn the_same_state_is_the_same_bytes_whatever_the_time_the_name_or_the_waves() {
    let folder = tempfile::tempdir().unwrap();
    let mut a = Ram::new(&Settings::new("a").seed(3)).unwrap();
    let mut b = Ram::new(&Settings::new("b").seed(3).period_ps(64).start_ps(12_345)).unwrap();
    b.trace_open(folder.path().join("b.fst")).unwrap();
    run(&mut a, inputs(9).take(100));
    run(&mut b, inputs(9).take(100));
    assert_eq!(a.state().unwrap(), b.state().unwrap());
    assert_ne!(a.save().unwrap(), b.save().unwrap());
    run(&mut b, inputs(10).take(1));
    assert_ne!(a.state().unwrap(), b.state().unwrap());
}

#[test]
fn idle_cycles_leave_the_state_alone_once_the_inputs_agree() {
    let mut model = Counter::new(&Settings::new("c")).unwrap();
    let mut out = counter::Out::default();
    let idle = counter::In::default();
    model
        .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut out)
        .unwrap();
    model.cycle(&idle, &mut out).unwrap();
    model.eval(&idle, &mut out).unwrap();
    let entered = model.state().unwrap();
    for _ in 0..10 {
        model.cycle(&idle, &mut out).unwrap();
    }
    model.eval(&idle, &mut out).unwrap();
    assert_eq!(model.state().unwrap(), entered);
}

#[test]
fn foreign_cut_and_damaged_bytes_are_refused_and_change_nothing() {
    let mut model = Counter::new(&Settings::new("c")).unwrap();
    let mut out = counter::Out::default();
    model
        .cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut out)
        .unwrap();
    let saved = model.save().unwrap();
    let foreign = Counter12::new(&Settings::new("c")).unwrap().save().unwrap();
    let error = model.restore(&foreign).unwrap_err();
    assert_eq!(
        error.to_string(),
        "saved state is of model Counter12, this is an instance of Counter"
    );
    for length in 0..saved.len() {
        assert!(model.restore(&saved[..length]).is_err(), "{length} bytes");
    }
    let mut damaged = saved.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(
        model.restore(&damaged),
        Err(RestoreError::Damaged { model: "Counter" })
    );
    assert!(matches!(
        model.restore(b"nothing of the kind"),
        Err(RestoreError::NotSaved { .. })
    ));
    assert_eq!(model.save().unwrap(), saved);
    assert_eq!(model.failure(), None);
}

#[test]
fn states_larger_than_verilators_buffer() {
    let mut model = LargeRam::new(&Settings::new("large").seed(1)).unwrap();
    let mut out = large_ram::Out::default();
    let mut read = |model: &mut LargeRam, addr_i| {
        let inputs = large_ram::In {
            addr_i,
            ..Default::default()
        };
        model.eval(&inputs, &mut out).unwrap();
        out.data_o
    };
    let expected: Vec<_> = (0..=u16::MAX)
        .step_by(1000)
        .map(|at| read(&mut model, at))
        .collect();
    let saved = model.save().unwrap();
    assert!(saved.len() > 512 * 1024);
    let mut other = LargeRam::new(&Settings::new("other")).unwrap();
    other.restore(&saved).unwrap();
    assert_eq!(
        (0..=u16::MAX)
            .step_by(1000)
            .map(|at| read(&mut other, at))
            .collect::<Vec<_>>(),
        expected
    );
    // The large model has left nothing behind that would affect small ones on this thread.
    let mut small = Ram::new(&Settings::new("small").seed(2)).unwrap();
    let saved = small.save().unwrap();
    small.restore(&saved).unwrap();
    assert_eq!(small.save().unwrap(), saved);
}

#[test]
fn wide_state_too() {
    let mut model = Pipeline::new(&Settings::new("p").seed(5)).unwrap();
    let mut out = pipeline::Out::default();
    let inputs = pipeline::In {
        valid_i: 1,
        data_i: [0x1234_5678; 16],
        ..Default::default()
    };
    model
        .cycle(&pipeline::In { rst_i: 1, ..inputs }, &mut out)
        .unwrap();
    let saved = model.save().unwrap();
    let mut go = |model: &mut Pipeline| {
        for _ in 0..20 {
            model.cycle(&inputs, &mut out).unwrap();
        }
        out
    };
    let first = go(&mut model);
    model.restore(&saved).unwrap();
    assert_eq!(go(&mut model), first);
}
