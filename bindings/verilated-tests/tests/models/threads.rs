//! Many instances on several threads give the same results as one after another.

use std::thread;

use verilated::{Model, Settings};
use verilated_tests::{Counter, Pipeline, Regs, counter, pipeline, regs};

/// Returns a digest of what an instance does in 300 cycles from a random start, whether or not an assertion stops it.
fn digest(at: u64) -> String {
    let mut model = Pipeline::new(&Settings::new(format!("p{at}")).seed(at)).unwrap();
    let mut counter = Counter::new(&Settings::new(format!("c{at}")).seed(at)).unwrap();
    let (mut out, mut count) = (pipeline::Out::default(), counter::Out::default());
    let mut sum = 0u64;
    let mut failed = String::new();
    for cycle in 0..300u32 {
        let inputs = pipeline::In {
            rst_i: (cycle < 2).into(),
            valid_i: 1,
            last_i: (cycle % 5 == 0).into(),
            data_i: [cycle * 77; 16],
        };
        model.cycle(&inputs, &mut out).unwrap();
        sum = sum
            .wrapping_mul(31)
            .wrapping_add(u64::from(out.crc_o))
            .wrapping_add(out.total_o);
        if let Err(failure) = counter.cycle(&counter::In { rst_i: 0, en_i: 1 }, &mut count) {
            failed = failure.to_string();
        }
    }
    format!("{sum:x} {} {failed}", count.count_o)
}

#[test]
fn two_hundred_instances_on_two_threads_as_one_after_another() {
    let one: Vec<_> = (0..200).map(digest).collect();
    let mut two: Vec<(u64, String)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|odd| {
                scope.spawn(move || {
                    (0..100)
                        .map(|at| at * 2 + odd)
                        .map(|at| (at, digest(at)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    two.sort();
    assert_eq!(
        two.into_iter()
            .map(|(_, digest)| digest)
            .collect::<Vec<_>>(),
        one
    );
    assert!(one.iter().all(|digest| digest.contains("is over 200")));
}

#[test]
fn an_instance_may_move_between_threads() {
    let mut here = Regs::new(&Settings::new("here").seed(4)).unwrap();
    let mut moved = Regs::new(&Settings::new("moved").seed(4)).unwrap();
    let (mut a, mut b) = (regs::Out::default(), regs::Out::default());
    for _ in 0..20 {
        here.cycle(&regs::In { hold_i: 1 }, &mut a).unwrap();
        (moved, b) = thread::spawn(move || {
            moved.cycle(&regs::In { hold_i: 1 }, &mut b).unwrap();
            (moved, b)
        })
        .join()
        .unwrap();
        assert_eq!(a, b);
    }
}

/// Returns all registers and the memory of an instance that starts from this seed.
fn start(seed: Option<u64>) -> Vec<regs::Out> {
    let mut model = Regs::new(&Settings {
        seed,
        ..Settings::new("r")
    })
    .unwrap();
    let mut out = regs::Out::default();
    (0..32)
        .map(|_| {
            model.cycle(&regs::In { hold_i: 1 }, &mut out).unwrap();
            out
        })
        .collect()
}

#[test]
fn no_seed_is_zero() {
    assert!(start(None).iter().all(|out| *out == regs::Out::default()));
}

#[test]
fn a_seed_is_the_same_start_on_every_thread_whatever_else_is_built() {
    let expected: Vec<_> = (0..20).map(|seed| start(Some(seed))).collect();
    assert_ne!(expected[0], expected[1]);
    assert!(
        expected[0]
            .iter()
            .any(|out| out.wide_o.iter().all(|word| *word != 0))
    );
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let expected = &expected;
            scope.spawn(move || {
                for round in 0..60 {
                    let seed = (round * 7 + thread * 3) % 20;
                    assert_eq!(
                        start(Some(seed)),
                        expected[seed as usize],
                        "seed {seed} on thread {thread}"
                    );
                }
            });
        }
    });
}

#[test]
fn benches_are_written_once_for_any_model() {
    fn cycles<M: Model>(inputs: &M::In) -> (M::Out, u64, &'static str) {
        let mut model = M::new(&Settings::new("any").period_ps(10)).unwrap();
        let mut out = M::Out::default();
        for _ in 0..3 {
            model.cycle(inputs, &mut out).unwrap();
        }
        (out, model.time_ps(), M::NAME)
    }
    let (out, time, name) = cycles::<Counter>(&counter::In { rst_i: 0, en_i: 1 });
    assert_eq!((out.count_o, time, name), (2, 30, "Counter"));
}
