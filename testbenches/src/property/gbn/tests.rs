//! The benches on the models, which they must pass, and on broken models, which they must not.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::livelock::{Livelock, Measured, measure};
use super::*;
use crate::property::draw::Draw;

#[test]
fn cases_are_what_their_text_says() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let case = Gbn::cases().new_tree(&mut runner).unwrap().current();
        let lines = Gbn::write(&case);
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(Gbn::read(&lines), Ok(case));
    }
}

#[test]
fn models_pass_their_own_benches() {
    let mut requester = ModelUnit::<Requesting>::default();
    let mut responder = ModelUnit::<Responding>::default();
    let mut events = 0;
    for seed in 0..1_000 {
        let History { head, events: case } = histories::history(&mut Draw::new(seed));
        let held = match head.bench {
            Bench::Requester | Bench::Requester4 => alone::check(&mut requester, &head, &case),
            Bench::Responder | Bench::Responder4 => alone::check(&mut responder, &head, &case),
            _ => pair::check(&mut requester, &mut responder, &head, &case),
        };
        match held {
            Ok(count) => events += count,
            Err(what) => panic!("seed {seed}, {head:?}: {what}"),
        }
    }
    println!("{events} steps");
}

/// The same of the models and of the RTL.
fn livelock(restart: bool, packets: u32, wasted: u64) -> Measured {
    let setting = Livelock {
        restart,
        packets,
        wasted,
        slots: (512, 256 * 64),
    };
    let mut requester = ModelUnit::<Requesting>::default();
    let mut responder = ModelUnit::<Responding>::default();
    let of_models = measure(&mut requester, &mut responder, setting).unwrap();
    let mut requester = Rtl::<GbnRequester4>::new(1).unwrap();
    let mut responder = Rtl::<GbnResponder4>::new(1).unwrap();
    let of_rtl = measure(&mut requester, &mut responder, setting).unwrap();
    assert_eq!(of_rtl, of_models);
    of_rtl
}

#[test]
fn go_back_0_lives_up_to_255_less_w_packets() {
    for wasted in [1, 11, 40] {
        let lives = livelock(true, 255 - wasted as u32, wasted);
        let dies = livelock(true, 256 - wasted as u32, wasted);
        println!("W {wasted}: {lives:?}, a packet more: {dies:?}");
        assert_eq!(lives.messages, 64);
        assert_eq!((dies.sent, dies.messages, dies.delivered), (256 * 64, 0, 0));
    }
}

#[test]
fn go_back_n_wastes_w_packets_a_drop() {
    for wasted in [1, 11, 40] {
        let measured = livelock(false, 16, wasted);
        let goodput = measured.delivered as f64 / measured.sent as f64;
        let right = (255 - wasted) as f64 / 256.0;
        println!("W {wasted}: goodput {goodput:.4}, (255 - W) / 256 = {right:.4}");
        assert!((goodput / right - 1.0).abs() < 0.003);
    }
}
